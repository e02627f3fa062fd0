# SPDX-License-Identifier: GPL-2.0-only
"""What a page has room for: texts, lists and numbers of somebody's stats.json within bounds."""

import math

DEEPEST = 8  # objects in objects, in stats.json
MOST_ENTRIES = 2000  # of an object or a list in it; `collectives` is cut by who shows it
LONGEST_TEXT = 20000  # a message of a stuck run names hundreds of queue pairs


def bounded(value, problems, depth=0, key=""):
    """The same, within what a page holds and JavaScript can read: no number beyond a double, no
    text and no list without end.
    """
    if isinstance(value, dict):
        if depth == DEEPEST:
            return None
        return {
            cut(name): bounded(part, problems, depth + 1, name)
            for name, part in list(value.items())[:MOST_ENTRIES]
        }
    if isinstance(value, list):
        if depth == DEEPEST:
            return None
        most = 500 * MOST_ENTRIES if key == "collectives" else MOST_ENTRIES
        return [bounded(part, problems, depth + 1) for part in value[:most]]
    if isinstance(value, str):
        return cut(value, LONGEST_TEXT)
    if isinstance(value, (int, float)) and not isinstance(value, bool) and not is_number(value):
        problems.append(
            f"stats.json: {cut(key) or 'a value'} is no number that a run has: left out"
        )
        return None
    return value


def is_number(value):
    """One that a result can be."""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return False
    return (
        -(1 << 70) < value < 1 << 70
        if isinstance(value, int)
        else math.isfinite(value) and abs(value) < 1e30
    )


def cut(text, most=160):
    text = str(text)
    return text if len(text) <= most else text[: most - 1] + "\u2026"
