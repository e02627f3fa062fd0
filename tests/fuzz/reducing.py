# SPDX-License-Identifier: GPL-2.0-only
"""Makes a failing case smaller while it fails in the same way."""

import copy
import time

MOST_S = 40  # for one case
MOST_TRIES = 150


def reduce(case, fault, judge):
    """(a smaller case with a fault of the same kind, that fault); judge(case) gives a Fault or
    None.
    """
    if fault.kind == "hang":
        return case, fault  # each try would take so long again
    wanted, last = fault.signature(case), [fault]
    end, tries = time.monotonic() + MOST_S, [MOST_TRIES]

    def fails(smaller):
        if time.monotonic() > end or tries[0] <= 0:
            return False
        tries[0] -= 1
        found = judge(smaller)
        if found is None or found.signature(smaller) != wanted:
            return False
        last[0] = found
        return True

    case = _fewer_words(case, fails)
    case = _fewer_files(case, fails)
    for name, what in list(case.get("files", {}).items()):
        if isinstance(what, str) and 1 < len(what) < 1 << 20:
            case = _shorter_text(case, name, fails)
    return case, last[0]


def _fewer_words(case, fails):
    place = len(case["run"]) - 1
    while place >= 1:
        word = case["run"][place]
        if word not in ("--dry-run", "--report=0", "--out=new"):
            smaller = dict(case, run=case["run"][:place] + case["run"][place + 1 :])
            if fails(smaller):
                case = smaller
        place -= 1
    return case


def _fewer_files(case, fails):
    for name in list(case.get("files", {})):
        smaller = copy.copy(case)
        smaller["files"] = {key: what for key, what in case["files"].items() if key != name}
        if fails(smaller):
            case = smaller
    return case


def _shorter_text(case, name, fails):
    """Leave out blocks of lines, then of characters, smaller and smaller ones."""
    for joint in ("\n", ""):
        units = case["files"][name].split("\n") if joint else list(case["files"][name])
        size = len(units) // 2
        while size >= 1 and len(units) > 1:
            place = 0
            while place < len(units):
                fewer = units[:place] + units[place + size :]
                smaller = dict(case, files={**case["files"], name: joint.join(fewer)})
                if fails(smaller):
                    units, case = fewer, smaller
                else:
                    place += size
            size //= 2
            if len(units) > 400 and size < len(units) // 16:
                break
    return case
