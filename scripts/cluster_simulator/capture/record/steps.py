# SPDX-License-Identifier: GPL-2.0-only
"""What ends a step: the optimizer's, or, where several take turns, the last one's; or what a user
has named (../inside/step_mark.py).
"""

import bisect
import dataclasses


class Steps:
    """`named`: whether only what a user has named ends one."""

    def __init__(self, lines, named=False):
        marks = _named(lines) if named else _stepped(lines)
        if named:
            self.ended_by, ends = (marks[-1].key if marks else None), range(len(marks))
        else:
            keys = [mark.key for mark in marks]
            if len(set(keys)) == len(keys):  # one that is made anew each time
                keys = [(name, line, 0) for name, line, _ in keys]
            self.ended_by, ends = _ends(keys)
        self._ends = [marks[end].position for end in ends]
        # Bytes of GPU memory in use at the end of each.
        self.memory = [marks[end].memory for end in ends]

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
        name, line, _ = self.ended_by
        return f"{name} at {line}" if line else name


@dataclasses.dataclass
class _Mark:
    """Where a step may end."""

    position: int  # in the record
    key: tuple  # (name, source line, number of the optimizer)
    memory: int  # bytes
    in_backward: bool = False


def _mark(position, line):
    key = (line["n"], line.get("l", "?"), line.get("o"))
    return _Mark(position, key, line.get("memory"), "b" in line)


def _named(lines):
    return [_mark(at, line) for at, line in enumerate(lines) if line["t"] == "mark"]


def _stepped(lines):
    """Optimizers that step one after the other, as one for each parameter, or for matrices and for
    vectors, end a step together: those between which no backward pass begins. Those that step
    within one, as its gradients come, end it with it. Before there was one nothing ends.
    """
    marks = []
    # Of the record since the last of them: is there backward, is there anything else?
    backward = other = False
    for position, line in enumerate(lines):
        if line["t"] == "step" and (marks or backward):
            mark = _mark(position, line)
            if marks and not (other if mark.in_backward else backward):
                mark.in_backward = marks.pop().in_backward
            marks.append(mark)
            backward = other = False
        elif line["t"] in ("op", "coll"):
            if "b" not in line:
                other = True
                continue
            backward = True
            if marks and marks[-1].in_backward and not other:
                marks[-1].position = position
    return marks or [_mark(at, line) for at, line in enumerate(lines) if line["t"] == "step"]


def _ends(keys):
    """(what ends a step, places of it). Of a b b a b b: b, at 2 and 5; of a a a: a, everywhere; of
    a a b b b, where a loop follows another one (a warm-up), everywhere; of a b c b c, where a is
    never again: a, at 0, and c, at 2 and 4.
    """
    if len(keys) > len(set(keys)) > 1 and keys.count(keys[0]) == 1:
        last, rest = _ends(keys[1:])
        return last, [0, *(end + 1 for end in rest)]
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
