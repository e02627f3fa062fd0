# SPDX-License-Identifier: GPL-2.0-only
"""Makes a capture of raw records: meta.json and a file for each role."""

import collections
import json
import os

from . import mistakes, raw, roles, samples, shared_gpus
from .groups import Groups
from .order import Tasks

FORMAT = "dltrain-capture"
VERSION = 1
# Steps whose work differs by more are not alike.
ALIKE = 0.02
GROWS = 1 << 20  # bytes a step, of memory that is never freed


class Capture:
    """`world`: ranks that the launcher meant to start, 0: as the script says. `died`: {rank: exit
    status}. `each`: ranks of a server that see all its GPUs; 0: not known. `host_us`: microseconds
    of the program on the CPU before each operator, beside what was measured. `named`: whether a
    user has named what ends a step. `gpu_bytes`: memory of a GPU; 0: that of a rank alone counts.
    """

    def __init__(self, folder, world, died, each=0, host_us=0, named=False, gpu_bytes=0):
        self._named = named
        self.records = raw.read(folder)
        told = [record.world for record in self.records.values() if record.world]
        self.world = world or max(told, default=max(len(self.records), 1))
        self.groups = Groups(self.records, self.world)
        made = {}
        # First those that others are like: files need not be in the order of their ranks.
        own_first = lambda item: (item[1].like is not None, item[0])
        for rank, record in sorted(self.records.items(), key=own_first):
            made[rank] = self._like(record, made) or Tasks(record, self.groups, host_us, named)
        made = dict(sorted(made.items()))
        self._steps = {rank: one.steps for rank, one in made.items()}
        self.tasks = {rank: one.tasks for rank, one in made.items()}
        self.streams = {rank: one.streams for rank, one in made.items()}
        self.roles = roles.assign(self.tasks)
        shared = shared_gpus.find(self.records, each, gpu_bytes) if gpu_bytes else []
        self._shared = [one.told() for one in shared if not one.is_full]
        self.mistakes = mistakes.find(self.records, self.tasks, self.groups, died, each, shared)

    def _like(self, record, made):
        """The Tasks of another rank that are this one's as well; None: it has its own."""
        like = record.like
        if like is None:
            return None
        if self.records.get(like.rank) is like and self.groups.are_alike(record.rank, like.rank):
            return made[like.rank]
        record.read_all()
        return None

    def only_waited(self):
        """Whether ranks failed only where the capture ended their waiting for others, or behind a
        mismatch.
        """
        behind = mistakes.follows_a_mismatch(self.mistakes)
        failures = [
            line
            for rank, one in self.records.items()
            if rank not in behind
            for line in one.of_type("failed")
        ]
        return all(mistakes.WAITS.match(line["text"]) for line in failures)

    @property
    def ends(self):
        """{rank: how often something ended a step}."""
        return {rank: steps.ends for rank, steps in sorted(self._steps.items())}

    @property
    def complete(self):
        return len(self.records) == self.world

    @property
    def usual_role(self):
        """What ranks play that were not captured; None: captured ones do not agree. Rank 0 prints
        and saves, so it counts only where it does as the others.
        """
        others = {role for rank, role in self.roles.items() if rank > 0} or {0}
        return others.pop() if len(others) == 1 else None

    def difference(self):
        """In words, the first between two roles of ranks beside rank 0; "" if there is none."""
        found = sorted({role for rank, role in self.roles.items() if rank > 0})
        if len(found) < 2:
            return ""
        first, other = found[:2]
        i = roles.first_difference(self.tasks[first], self.tasks[other])

        def told(rank):
            mine = self.tasks[rank]
            return f"rank {rank} does {roles.describe(mine[i] if i < len(mine) else None)}"

        return f"task {i}: {told(first)}, {told(other)}"

    def role_of(self):
        """For each rank of the world."""
        usual = self.usual_role
        if usual is None:
            usual = min(self.tasks, default=0)  # of a list of ranks that a user gave
        return [self.roles.get(rank, usual) for rank in range(self.world)]

    def steps(self):
        steps = self._steps[min(self._steps)]
        return {
            "count": steps.count,
            "ended_by": steps.told,
            "take": [max(steps.count - 1, 0)],
        }

    def notes(self):
        """What is to be known of the result, the step that is taken first."""
        told = {}
        unsteady = self.unsteady()
        if unsteady:
            told[
                f"{unsteady}; it is simulated: if later ones are not like it either, capture more"
                f" (--capture-steps={self.step_count + 1})"
            ] = None
        computes = self.computes_otherwise()
        if computes:
            told[f"{computes}; it is simulated: {self._another()}"] = None
        told.update((text, None) for text in self._shared)
        growth = self._growth()
        if growth:
            told[growth] = None
        fails = any(one.get("kind") == "died" for one in self.mistakes) or any(
            record.of_type("failed") for record in self.records.values()
        )
        if (
            self._steps
            and not self._steps[min(self._steps)].ends
            and not self._named
            and not fails
        ):
            told[
                "no optimizer made a step: all that the script did is taken as one"
                " (--capture-step=MARK names what ends a step)"
            ] = None
        for _, record in sorted(self.records.items()):
            told.update((line["text"], None) for line in record.of_type("note"))
        return list(told)

    def _another(self):
        """How to get another step than the last."""
        was_ended = any(
            line["text"].startswith("the script was ended after")
            for record in self.records.values()
            for line in record.of_type("note")
        )
        if was_ended:
            return f"the step behind it is by --capture-steps={self.step_count + 1}"
        return (
            "the script ends with it; the step before it is by"
            f" --capture-steps={self.step_count - 1}"
        )

    @property
    def step_count(self):
        return self._steps[min(self._steps)].count if self._steps else 0

    def unsteady(self):
        """That the last step, which is simulated, communicates what the one before did not, as
        where DDP makes its buckets anew; "": it does not. (In the first step are beginnings of all
        kinds.)
        """
        last = self.step_count - 1
        if last < 2:
            return ""
        for rank in sorted(set(self.roles.values())):
            before = collections.Counter(map(_sent, self._calls(rank, last - 1)))
            for task in self._calls(rank, last):
                if not before[_sent(task)]:
                    return (
                        f"step {last + 1} is not like the one before it: on rank {rank} it has"
                        f" {roles.describe(task)}, which that has not"
                    )
                before[_sent(task)] -= 1
        return ""

    def computes_otherwise(self):
        """That the last step computes more or less than the one before, as with an evaluation every
        few steps, and where most of it is; "": it does not.
        """
        last = self.step_count - 1
        if last < 2:
            return ""
        for rank in sorted(set(self.roles.values())):
            now, before = self._work(rank, last), self._work(rank, last - 1)
            for what, place in (("FLOPs", 0), ("bytes of memory", 1)):
                sums = [sum(line[place] for line in one.values()) for one in (now, before)]
                if abs(sums[0] - sums[1]) <= ALIKE * max(sums[1], 1):
                    continue
                if place == 1 and sums[0] < sums[1]:
                    continue  # early steps move more: DDP makes its buckets anew
                apart = {
                    line: now.get(line, (0, 0))[place] - before.get(line, (0, 0))[place]
                    for line in {**now, **before}
                }
                line = max(apart, key=lambda line: abs(apart[line]))
                more = sums[0] > sums[1]
                share = f"{100 * abs(sums[0] / sums[1] - 1):.0f}% " if sums[1] else ""
                return (
                    f"step {last + 1} computes {share}{'more' if more else 'less'} than the one"
                    f" before it on rank {rank} ({what})"
                    + (f", most of it at {line}" if line else "")
                )
        return ""

    def _growth(self):
        """That a step leaves as much more GPU memory in use as the one before it; "": it does not.
        """
        for rank, steps in sorted(self._steps.items()):
            memory = [size for size in steps.memory if size is not None]
            if len(memory) < 3:
                continue
            more = memory[-1] - memory[-2]
            if more > GROWS and more == memory[-2] - memory[-3]:
                return (
                    f"GPU memory in use grows by {more / 2**20:.0f} MiB with each step (rank"
                    f" {rank}), so a longer run would need more than is told here"
                )
        return ""

    def _work(self, rank, step):
        """{line: (FLOPs, bytes of memory)} of its kernels."""
        work = {}
        for task in self.tasks[rank]:
            if task["step"] == step and ("flops" in task or "read" in task):
                flops, moved = work.get(task.get("line", ""), (0, 0))
                work[task.get("line", "")] = (
                    flops + task.get("flops", 0),
                    moved + task.get("read", 0) + task.get("written", 0),
                )
        return work

    def _calls(self, rank, step):
        return [
            task
            for task in self.tasks[rank]
            if task["step"] == step and task["kind"] in ("collective", "send", "recv")
        ]

    def memory(self):
        found = []
        for rank, record in sorted(self.records.items()):
            for line in record.of_type("end")[-1:]:
                found.append(
                    {
                        "rank": rank,
                        "peak_allocated_bytes": int(line["allocated"]),
                        "peak_reserved_bytes": int(line["reserved"]),
                    }
                )
        return found

    def throughput(self):
        """What the step that is taken trains; {}: not known."""
        if not self._steps or sorted(self._steps) != sorted(self.tasks):
            return {}
        work = samples.of_step(
            self.records, self.tasks, self._steps, self.role_of(), self.steps()["take"][0]
        )
        return {"work": work} if work else {}

    def write(self, folder, more):
        """`more`: what of meta.json the launcher knows."""
        files = sorted(set(self.roles.values()))
        meta = {
            "format": FORMAT,
            "version": VERSION,
            **more,
            "world": self.world,
            "captured": sorted(self.records),
            "ranks": files,
            "role_of": self.role_of(),
            "groups": self.groups.kinds,
            "steps": self.steps() if self.records else None,
            **self.throughput(),
            "memory": self.memory(),
            "mistakes": self.mistakes,
            "notes": self.notes() + more.get("notes", []),
        }
        for rank in files:
            head = {
                "kind": "rank",
                "rank": rank,
                "streams": self.streams[rank],
                "tasks": len(self.tasks[rank]),
            }
            _write_lines(os.path.join(folder, f"rank-{rank}.jsonl"), [head, *self.tasks[rank]])
        with open(os.path.join(folder, "meta.json"), "w", encoding="utf-8") as file:
            json.dump(meta, file, indent=1)
            file.write("\n")
        return meta


def _sent(task):
    return task["name"], task["bytes"], task.get("dtype"), task["group"], task.get("peer")


def _write_lines(path, lines):
    with open(path, "w", encoding="utf-8") as file:
        for line in lines:
            file.write(json.dumps(line, separators=(",", ":")) + "\n")
