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

    def __init__(self, total, done_before, failed_before, quiet=False):
        self.total, self.done, self.failed = total, done_before, failed_before
        self.seconds = []
        self.quiet = quiet
        self.terminal = not quiet and sys.stderr is not None and sys.stderr.isatty()
        self.last, self.shown, self.eta = 0, False, ""

    def ended(self, row, seconds):
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
            f"[{self.done + self.failed}/{self.total}] {describe(row)}: {how}{self.eta}",
            file=sys.stderr,
            flush=True,
        )

    def state(self, waiting, running, jobs):
        self.eta = self._eta(waiting, running, jobs)
        if not self.terminal or time.monotonic() - self.last < 0.5:
            return
        self.last = time.monotonic()
        text = f"{self.done} of {self.total} done" + (
            f", {self.failed} failed" if self.failed else ""
        )
        text += f", {len(running)} running{self.eta or ', ETA unknown'}"
        sys.stderr.write("\r\033[K" + text[: shutil.get_terminal_size().columns - 1])
        sys.stderr.flush()
        self.shown = True

    def clear(self):
        if self.shown:
            sys.stderr.write("\r\033[K")
            sys.stderr.flush()
            self.shown = False

    def _eta(self, waiting, running, jobs):
        if not self.seconds or not waiting + len(running):
            return ""
        mean = sum(self.seconds) / len(self.seconds)
        now = time.monotonic()
        left = waiting * mean + sum(
            max(0.0, mean - (now - begin)) for _, _, begin in running.values()
        )
        return f", ETA {clock(left / min(jobs, waiting + len(running)))}"


def clock(seconds):
    seconds = round(seconds)
    if seconds >= 3600:
        return f"{seconds // 3600}:{seconds // 60 % 60:02}:{seconds % 60:02} h"
    return f"{seconds // 60}:{seconds % 60:02} min" if seconds >= 60 else f"{seconds} s"


def first_line(text):
    return (text or "").strip().split("\n")[0]
