# SPDX-License-Identifier: GPL-2.0-only
"""What ends a step: the optimizer's, or, where several take turns, the last one's; or what a user
has named (../inside/step_mark.py).
"""

import bisect


class Steps:
    """`named`: whether only what a user has named ends one."""

    def __init__(self, lines, named=False):
        marks = [
            (position, (line["n"], line.get("l", "?")))
            for position, line in enumerate(lines)
            if line["t"] == ("mark" if named else "step")
        ]
        if named:
            self.ended_by, ends = (marks[-1][1] if marks else None), range(len(marks))
        else:
            self.ended_by, ends = _ends([key for _, key in marks])
        self._ends = [marks[end][0] for end in ends]
        # Bytes of GPU memory in use at the end of each.
        self.memory = [lines[position].get("memory") for position in self._ends]

    @property
    def ends(self):
        """How often a step ended."""
        return len(self._ends)

    @property
    def count(self):
        """Complete steps; a program without an optimizer is one step."""
        return len(self._ends) if self._ends else 1

    def at(self, position):
        """Number of the step that a line of the record is in."""
        return bisect.bisect_left(self._ends, position)

    @property
    def told(self):
        if not self._ends:
            return "the end of the program: no optimizer made a step"
        name, line = self.ended_by
        return f"{name} at {line}" if line else name


def _ends(keys):
    """(what ends a step, places of it). Of a b b a b b: b, at 2 and 5; of a a a: a, everywhere; of
    a a b b b, where a loop follows another one (a warm-up), everywhere.
    """
    loops = sum(1 for i, key in enumerate(keys) if i == 0 or keys[i - 1] != key)
    if len(set(keys)) == loops and len(keys) > 1 and keys[0] == keys[1]:
        return keys[-1], list(range(len(keys)))
    if len(set(keys)) < 2:
        return (keys[0] if keys else None), list(range(len(keys)))
    again = next(
        (i for i in range(1, len(keys)) if keys[i] == keys[0] and keys[i - 1] != keys[0]), len(keys)
    )
    last = keys[again - 1]
    return last, [
        i
        for i, key in enumerate(keys)
        if key == last and (i + 1 == len(keys) or keys[i + 1] == keys[0])
    ]
