# SPDX-License-Identifier: GPL-2.0-only
"""What every table of published steps is read into."""

import collections

# One published time. `seconds`: of a step, or None where only ratios are published. `kind` tells
# rows of a table apart whose errors have other causes. `facts`: numbers that ratios are made of.
# `shorter`: options that only make a run shorter.
Row = collections.namedtuple(
    "Row", "id table gpu kind seconds options model facts proves shorter", defaults=((),)
)


def flag(name, value, unless=("", "0", "1")):
    return [] if str(value) in unless else [f"--{name}={value}"]
