# SPDX-License-Identifier: GPL-2.0-only
"""Makes a capture of raw records: meta.json and a file for each role."""

import collections
import json
import os

from . import mistakes, raw, roles
from .groups import Groups
from .order import Tasks

VERSION = 1


class Capture:
    """`world`: ranks that the launcher meant to start, 0: as the script says. `died`: {rank: exit
    status}. `each`: ranks of a server that see all its GPUs; 0: not known. `host_us`: microseconds
    of the program on the CPU before each operator, beside what was measured. `named`: whether a
    user has named what ends a step.
    """

    def __init__(self, folder, world, died, each=0, host_us=0, named=False):
        self.records = raw.read(folder)
        told = [record.world for record in self.records.values() if record.world]
        self.world = world or max(told, default=max(len(self.records), 1))
        self.groups = Groups(self.records, self.world)
        made = {}
        for rank, record in sorted(self.records.items()):
            made[rank] = self._like(record, made) or Tasks(record, self.groups, host_us, named)
        self._steps = {rank: one.steps for rank, one in made.items()}
        self.tasks = {rank: one.tasks for rank, one in made.items()}
        self.streams = {rank: one.streams for rank, one in made.items()}
        self.roles = roles.assign(self.tasks)
        self.mistakes = mistakes.find(self.records, self.tasks, self.groups, died, each)

    def _like(self, record, made):
        """The Tasks of an earlier rank that are this one's as well; None: it has its own."""
        like = record.like
        if like is None:
            return None
        if self.records.get(like.rank) is like and self.groups.are_alike(record.rank, like.rank):
            return made[like.rank]
        record.read_all()
        return None

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
        told = dict.fromkeys(
            line["text"]
            for _, record in sorted(self.records.items())
            for line in record.of_type("note")
        )
        unsteady = self.unsteady()
        if unsteady:
            told[
                f"{unsteady}; it is simulated: if later ones are not like it either, capture more"
                f" (--capture-steps={self.step_count + 1})"
            ] = None
        return list(told)

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

    def write(self, folder, more):
        """`more`: what of meta.json the launcher knows."""
        files = sorted(set(self.roles.values()))
        meta = {
            "format": "dltrain-capture",
            "version": VERSION,
            **more,
            "world": self.world,
            "captured": sorted(self.records),
            "ranks": files,
            "role_of": self.role_of(),
            "groups": self.groups.kinds,
            "steps": self.steps() if self.records else None,
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
