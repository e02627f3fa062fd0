# SPDX-License-Identifier: GPL-2.0-only
"""What every table of published steps is read into."""

import collections

# One published time. `seconds`: of a step, or None where only ratios are published. `kind` tells
# rows of a table apart whose errors have other causes. `facts`: numbers that ratios are made of.
# `shorter`: options that only make a run shorter.
Row = collections.namedtuple(
    "Row", "id table gpu kind seconds options model facts proves shorter", defaults=((),)
)


LAYOUT = {"tp": "tp", "pp": "pp", "cp": "cp", "virtual_stages": "virtual-stages", "ep": "ep"}


def flag(name, value, unless=("", "0", "1")):
    return [] if str(value) in unless else [f"--{name}={value}"]


def step_options(line):
    """Options of a row of steps by its columns: layout, sequence, batches, type of data."""
    options = []
    for column, option in LAYOUT.items():
        options += flag(option, line.count(column, 1))
    options += [f"--seq={line.count('sequence')}", f"--zero={line.text('zero')}"]
    options += [
        f"--micro-batch={line.count('micro_batch')}",
        f"--global-batch={line.count('global_batch')}",
    ]
    options += flag("dtype", line.text("dtype"), unless=("bf16",))
    return options
