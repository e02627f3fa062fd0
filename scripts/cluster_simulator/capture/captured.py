# SPDX-License-Identifier: GPL-2.0-only
"""A capture's folder, from Python."""

import json
import os

from ..amounts import counted
from ..errors import SimulatorError


class CaptureFailed(SimulatorError):
    """The script failed: the message is its own traceback. `captured` holds what there is until
    then, `exit_status` is the script's, `mistakes` what was found.
    """

    def __init__(self, message, captured=None, exit_status=None, mistakes=()):
        super().__init__(message)
        self.mistakes = list(mistakes) or (captured.mistakes if captured else [])
        self.captured = captured
        self.exit_status = exit_status


class NotWritten(CaptureFailed):
    """A disk is full, or the like: the message names its folder. Nothing was captured."""

    def __init__(self, message):
        super().__init__(message, exit_status=1)


class Captured:
    """meta: what meta.json has; mistakes: what is wrong with the script; folder."""

    def __init__(self, folder):
        self.folder = os.path.abspath(folder)
        with open(os.path.join(folder, "meta.json"), encoding="utf-8") as file:
            self.meta = json.load(file)

    def __repr__(self):
        meta = self.meta
        steps = (meta["steps"] or {}).get("count", 0)
        told = (meta["world"], "rank"), (steps, "step"), (len(self.mistakes), "mistake")
        return f"Captured({', '.join(counted(*one) for one in told)})"

    @property
    def mistakes(self):
        return self.meta["mistakes"]

    @property
    def output(self):
        return self._text("stdout.txt")

    @property
    def errors(self):
        return self._text("stderr.txt")

    def _text(self, name):
        with open(os.path.join(self.folder, name), encoding="utf-8", errors="replace") as file:
            return file.read()

    def tasks(self, rank=0, step=None):
        """What a rank does, as a list of dictionaries; of one step only, or of all."""
        path = os.path.join(self.folder, f"rank-{self.meta['role_of'][rank]}.jsonl")
        with open(path, encoding="utf-8") as file:
            next(file)  # the rank's own line
            tasks = [json.loads(line) for line in file]
        return [task for task in tasks if step is None or task["step"] == step]

    def summary(self):
        """Lines for people."""
        meta = self.meta
        lines = []
        if meta["steps"]:
            roles = len(meta["ranks"])
            # (Of a script that failed nobody knows what would have ended its step.)
            steps = (
                f"; {counted(meta['steps']['count'], 'step')}, ended by {meta['steps']['ended_by']}"
            )
            lines.append(
                f"{counted(meta['world'], 'rank')}, {len(meta['captured'])} captured,"
                f" {counted(roles, 'role')}"
                + ("" if meta["exit_status"] else steps)
            )
        if meta["memory"]:
            most = max(meta["memory"], key=lambda one: one["peak_reserved_bytes"])
            lines.append(
                f"GPU memory: {most['peak_allocated_bytes'] / 2**30:.2f} GiB allocated,"
                f" {most['peak_reserved_bytes'] / 2**30:.2f} GiB reserved (rank {most['rank']})"
            )
        lines += [f"note: {note}" for note in meta["notes"]]
        for mistake in self.mistakes:
            lines.append(f"mistake ({mistake['kind']}): {mistake['text']}")
        return lines
