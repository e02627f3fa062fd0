# SPDX-License-Identifier: GPL-2.0-only
"""How far a run is: a bar in Jupyter, one line in a terminal, a line now and then elsewhere.

The programs print, to a terminal, a line every half second: "warm-up step 1 of 1: 301 ms simulated,
45.0% done, ...", and before, if it takes long, "dltrain: setting up: computing routes, 40%, 7 s".
"""

import html
import re
import shutil
import sys
import time

from .amounts import counted

LINE = re.compile(r"(?:.*: )?(?:[-+.\de]+ ms simulated, +([\d.]+)% done, .*|setting up: .*)$")
LOG_EVERY_S = 10


def share(line):
    """How much is done, 0 to 1, if a line is one of progress; else None."""
    found = LINE.match(line)
    return min(1.0, float(found[1] or 0) / 100) if found else None


def capture_line(done, total, what):
    """Of a capture, whose ranks have done so many training steps."""
    return f"{what}: {done} of {counted(total, 'step')}" if total else what


def shown(name):
    """Where progress of a program is best shown just now."""
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython else None
    if getattr(shell, "kernel", None) is not None:
        return Jupyter(name)
    return Terminal(name) if sys.stderr is not None and sys.stderr.isatty() else Log(name)


class Silent:
    """For progress=False, and what the others have in common."""

    def __init__(self, name=""):
        self.name = name
        self.begin = time.monotonic()

    def update(self, done, text):
        """done: 0 to 1; text: the program's line."""

    def finish(self, how):
        """The run is over: "done", "failed", "interrupted"."""

    def elapsed(self):
        return f"{time.monotonic() - self.begin:.1f} s"


class Log(Silent):
    """No terminal: a line every ten seconds, as the programs do."""

    def __init__(self, name):
        super().__init__(name)
        self.last = self.begin

    def update(self, done, text):
        if sys.stderr is not None and time.monotonic() - self.last >= LOG_EVERY_S:
            self.last = time.monotonic()
            print(f"{self.name}: {text}", file=sys.stderr, flush=True)


class Terminal(Silent):
    """One line that is written over, and gone at the end."""

    used = False

    def update(self, done, text):
        width = shutil.get_terminal_size().columns - 1
        bar = "#" * round(20 * done)
        sys.stderr.write("\r\033[K" + f"{self.name} [{bar:<20}] {text}"[:width])
        sys.stderr.flush()
        self.used = True

    def finish(self, how):
        if self.used:
            sys.stderr.write("\r\033[K")
            sys.stderr.flush()


class Jupyter(Silent):
    """A bar below the cell, which becomes one line at the end."""

    handle = None

    def update(self, done, text):
        self._show(
            (
                f'<progress max="1000" value="{round(1000 * done)}" style="width: 20em"></progress>'
                f' <code>{html.escape(f"{self.name}: {text}")}</code>'
            ),
            f"{self.name}: {text}",
        )

    def finish(self, how):
        if self.handle:  # short runs never showed a bar
            text = f"{self.name}: {how} after {self.elapsed()}"
            self._show(f"<code>{html.escape(text)}</code>", text)

    def _show(self, markup, plain):
        from IPython.display import display

        content = {"text/html": markup, "text/plain": plain}
        if self.handle:
            self.handle.update(content, raw=True)
        else:
            self.handle = display(content, raw=True, display_id=True)
