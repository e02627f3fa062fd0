# SPDX-License-Identifier: GPL-2.0-only
"""Whether all ranks get to their end: they are played, without times. A task is done once what it
waits for is, and all before it on its stream; a collective when all members are there, a receive
when its send is, a large send when its receive is. Small sends do not wait: NCCL has buffers.
"""

import collections

# A send of more than NCCL's buffers waits for its receive (assumed).
MOST_BUFFERED = 4 << 20


class Stuck:
    """`at`: {rank: the first communication that it waits in, or None}; `absent`: {rank: those that
    it waits for there}.
    """

    def __init__(self, at, absent):
        self.at = at
        self.absent = absent

    def circle(self):
        """Ranks that wait for each other, and none of them for one that has ended; or those that
        wait for such ranks.
        """
        waiting = {rank for rank, task in self.at.items() if task}
        while True:
            left = {rank for rank in waiting if self.absent[rank] <= waiting}
            if left == waiting:
                return sorted(waiting)
            waiting = left


class _Rank:
    def __init__(self, tasks):
        self.tasks = tasks
        self.followers = collections.defaultdict(list)
        self.waits = [0] * len(tasks)  # for so many others
        self.done = [False] * len(tasks)
        last = {}  # of each stream
        program = None
        for i, task in enumerate(tasks):
            before = set(task.get("after", ()))
            if program is not None:
                before.add(program)
            if "stream" in task:
                before |= last.get(task["stream"], set())
                batch = task.get("batch")
                if batch is not None and i and tasks[i - 1].get("batch") == batch:
                    before -= {j for j in before if tasks[j].get("batch") == batch}
                    last[task["stream"]] = last.get(task["stream"], set()) | {i}
                else:
                    last[task["stream"]] = {i}
            else:
                program = i
            self.waits[i] = len(before)
            for other in before:
                self.followers[other].append(i)


def play(tasks, instance_of, members_of, peer_of):
    """None, or a Stuck. tasks: {rank: its tasks}, of all ranks. instance_of(rank, task): the group
    of a task; members_of(instance): its ranks; peer_of(rank, task): the other rank of a message.
    """
    ranks = {rank: _Rank(mine) for rank, mine in tasks.items()}
    arrived = collections.defaultdict(dict)  # a collective or message: {rank: task}
    ready = [(rank, i) for rank, one in ranks.items() for i, n in enumerate(one.waits) if n == 0]

    def finish(rank, i):
        one = ranks[rank]
        if one.done[i]:
            return
        one.done[i] = True
        for follower in one.followers[i]:
            one.waits[follower] -= 1
            if one.waits[follower] == 0:
                ready.append((rank, follower))

    while ready:
        rank, i = ready.pop()
        task = tasks[rank][i]
        kind = task["kind"]
        if kind == "collective":
            instance = instance_of(rank, task)
            there = arrived[instance, task["sequence"]]
            there[rank] = i
            if len(there) == len(members_of(instance)):
                for member, its in there.items():
                    finish(member, its)
        elif kind in ("send", "recv"):
            peer = peer_of(rank, task)
            ends = (rank, peer) if kind == "send" else (peer, rank)
            there = arrived[instance_of(rank, task), ends, task["sequence"]]
            there[kind] = i
            if kind == "send" and task["bytes"] <= MOST_BUFFERED:
                finish(rank, i)
            if len(there) == 2:
                finish(ends[0], there["send"])
                finish(ends[1], there["recv"])
        else:
            finish(rank, i)
    if all(all(one.done) for one in ranks.values()):
        return None
    at = {rank: _waits_in(one) for rank, one in ranks.items() if not all(one.done)}

    def absent(rank, task):
        if task["kind"] == "collective":
            instance = instance_of(rank, task)
            return set(members_of(instance)) - set(arrived[instance, task["sequence"]])
        return {peer_of(rank, task)}

    return Stuck(at, {rank: absent(rank, task) for rank, task in at.items() if task})


def _waits_in(one):
    return next(
        (
            task
            for i, task in enumerate(one.tasks)
            if not one.done[i]
            and one.waits[i] == 0
            and task["kind"] in ("collective", "send", "recv")
        ),
        None,
    )
