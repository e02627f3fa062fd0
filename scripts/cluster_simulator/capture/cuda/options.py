# SPDX-License-Identifier: GPL-2.0-only
"""Options of `capture` for programs of C and C++."""

import re

from ...errors import InvalidInput
from ...shown import shown
from . import running

# Of those options, what is not given.
DEFAULTS = {"cluster": "", "keep": "64M", "clock": "simulated", "kernel_times": None, "cuda": False}
UNITS = {"": 1, "k": 1 << 10, "m": 1 << 20, "g": 1 << 30}


def add(words):
    group = words.add_argument_group("programs of C and C++ (docs/cuda-programs.md)")
    add_one = group.add_argument
    add_one(
        "--cuda",
        action="store_true",
        help="the command is a script that starts such programs; else they are recognized",
    )
    add_one(
        "--cuda-flags",
        action="store_true",
        help="print what a compiler needs, behind its sources, and end",
    )
    add_one(
        "--cluster",
        metavar="OPTIONS",
        default=DEFAULTS["cluster"],
        help="servers and network, as collperf has them: '--server=dgx-h100 --topology=fat-tree'",
    )
    add_one(
        "--keep",
        metavar="SIZE",
        default=DEFAULTS["keep"],
        help="larger allocations have no contents (default 64M)",
    )
    add_one(
        "--clock",
        default=DEFAULTS["clock"],
        help="what the program sees: simulated; measured: its own work counts, too; off: the real"
        " one (default simulated)",
    )
    add_one("--kernel-times", metavar="FILE", help="CSV with columns kernel (a pattern) and us")


def size(text):
    found = re.fullmatch(r"(\d{1,18})([kKmMgG]?)(i?[bB])?", text)
    if not found:
        raise InvalidInput(f"--keep={shown(text)}: is no size: 65536, 64M, 1G")
    return int(found[1]) * UNITS[found[2].lower()]


def wanted(given):
    """Whether the command is a program, not a training script."""
    return given.cuda or (bool(given.command) and running.uses_cuda(given.command))


def refuse(given):
    """Options that have no meaning for a training script."""
    for name, default in DEFAULTS.items():
        if getattr(given, name) != default:
            raise InvalidInput(
                f"--{name.replace('_', '-')}: is for programs of C and C++ that use CUDA; the"
                " command is none (a script that starts some: --cuda)"
            )
