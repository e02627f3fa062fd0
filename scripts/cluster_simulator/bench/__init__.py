# SPDX-License-Identifier: GPL-2.0-only
"""scripts/bench: whole runs of the programs, timed, each beside a bare data plane that is run
before and after it (tests/bench/yardstick.cc), so that what else the machine does is seen.

    cases.py      what is run
    builds.py     the programs of a build, their options, the commands of a case
    yardstick.py  compiled once, then run
    measuring.py  repeats of a case, pairs of two builds, and what follows from their numbers
    machine.py    what all this ran on
    tables.py     rows of the tables, in a terminal and in docs/measured.md

No package that is not Python's own.
"""

from .commands import main

__all__ = ["main"]
