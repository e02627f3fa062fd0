# SPDX-License-Identifier: GPL-2.0-only
"""Groups of ranks. All ranks make all groups, in the same order; groups that were made at one line
and share no rank are of one kind, so that a rank finds its own where another one was captured.
"""

from collections import namedtuple

Group = namedtuple("Group", "kind name ranks")


class Groups:
    def __init__(self, records, world):
        self.world = world
        self.kinds = [{"name": "world", "line": "", "groups": [list(range(world))]}]
        self._made = {}  # (place in the order, ranks): kind
        self._of = {}  # (rank, number in its process): Group
        for rank in sorted(records):
            self._read(rank, records[rank])

    def _read(self, rank, record):
        for place, line in enumerate(record.of_type("group")):
            ranks = tuple(line["ranks"])
            kind = self._made.get((place, ranks))
            if kind is None:
                kind = self._made[place, ranks] = self._find(place, ranks, line["l"])
            if line["g"] >= 0:
                self._of[rank, line["g"]] = Group(kind, self.kinds[kind]["name"], list(ranks))

    def _find(self, place, ranks, line):
        if place == 0 and len(ranks) == self.world:
            self.kinds[0]["line"] = line
            return 0
        for number, kind in enumerate(self.kinds[1:], 1):
            if kind["line"] == line and not any(
                set(ranks) & set(group) for group in kind["groups"]
            ):
                kind["groups"].append(list(ranks))
                return number
        self.kinds.append(
            {"name": f"new_group {len(self.kinds)}", "line": line, "groups": [list(ranks)]}
        )
        return len(self.kinds) - 1

    def of(self, rank, number):
        return self._of[rank, number]

    def are_alike(self, rank, other):
        """Whether the groups that two ranks know by the same numbers are of the same kinds."""
        return self._kinds_of(rank) == self._kinds_of(other)

    def _kinds_of(self, rank):
        return {
            number: group.kind for (owner, number), group in self._of.items() if owner == rank
        }
