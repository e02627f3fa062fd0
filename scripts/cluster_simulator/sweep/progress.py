# SPDX-License-Identifier: GPL-2.0-only
"""How far a sweep is, on standard error."""

import shutil
import sys
import time

from .store import DONE, FAILED, PENDING, describe


class Show:
    """Progress on standard error: a line for each point that ended; in a terminal, below them, a
    line that moves.
    """

    def __init__(self, total, done_before, failed_before, quiet=False, names=None):
        self.names = names  # options that vary
        self.total, self.done, self.failed = total, done_before, failed_before
        self.seconds = []
        self.quiet = quiet
        self.terminal = not quiet and sys.stderr is not None and sys.stderr.isatty()
        self.last, self.shown = 0, False

    def ended(self, row, seconds, waiting, running, jobs):
        if row["status"] == PENDING:
            return
        self.done += row["status"] == DONE
        self.failed += row["status"] == FAILED
        if row["status"] == DONE:
            self.seconds.append(seconds)
        if self.quiet:
            return
        self.clear()
        how = (
            f"done in {seconds:.1f} s"
            if row["status"] == DONE
            else f"failed: {first_line(row['error'])}"
        )
        print(
            f"[{self.done + self.failed}/{self.total}] {describe(row, self.names)}: {how}"
            + self._eta(waiting, running, jobs),
            file=sys.stderr,
            flush=True,
        )

    def state(self, waiting, running, jobs):
        if not self.terminal or time.monotonic() - self.last < 0.5:
            return
        self.last = time.monotonic()
        text = f"{self.done} of {self.total} done" + (
            f", {self.failed} failed" if self.failed else ""
        )
        text += f", {len(running)} running" + (
            self._eta(waiting, running, jobs) or ", ETA unknown"
        )
        sys.stderr.write("\r\033[K" + text[: shutil.get_terminal_size().columns - 1])
        sys.stderr.flush()
        self.shown = True

    def clear(self):
        if self.shown:
            sys.stderr.write("\r\033[K")
            sys.stderr.flush()
            self.shown = False

    def _eta(self, waiting, running, jobs):
        """Until all are done, if each takes as long as those that are: a point that waits begins
        where a place is free first. Nothing when no point is done yet, or those that run take
        longer already: nobody knows.
        """
        if not self.seconds or jobs is None:  # Slurm knows how many run at a time
            return ""
        mean, now = sum(self.seconds) / len(self.seconds), time.monotonic()
        left = [max(0.0, mean - (now - begin)) for _, begin in running.values()]
        free = sorted([0.0] * (jobs - len(left)) + left)
        rounds, more = divmod(waiting, jobs)  # no place is free later than `mean` after another
        last = max(at + mean * (rounds + (place < more)) for place, at in enumerate(free))
        return f", ETA {clock(last)}" if last else ""


def clock(seconds):
    seconds = round(seconds)
    if seconds >= 3600:
        return f"{seconds // 3600}:{seconds // 60 % 60:02}:{seconds % 60:02} h"
    return f"{seconds // 60}:{seconds % 60:02} min" if seconds >= 60 else f"{seconds} s"


def first_line(text):
    return (text or "").strip().split("\n")[0]
