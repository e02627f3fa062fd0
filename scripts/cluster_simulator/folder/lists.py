# SPDX-License-Identifier: GPL-2.0-only
"""Lists of a run that grow with its ranks, collectives and steps. They are tables beside
stats.json, so that it stays small; readers find them at keys of it, as older versions wrote them.

No import of anything that is not Python's own: scripts/report runs at the end of every simulation.
"""

import csv
import itertools
import math
import os

from .opening import Unreadable, open_text
from .tables import COLUMNS, plain

MOST_ROWS = 1000000
TIMES = ("start_us", "end_us", "waited_us", "straggling_us")  # of a row; others are parts of it


def add_lists(stats, folder):
    """Adds to the contents of stats.json, as far as there are such tables: `step_times_us`,
    `step_begins_us`, `collectives`, and of `critical_path` the lists `path` and `longest_messages`.
    """
    steps = _rows(folder, "steps.csv")
    if steps is not None:
        stats["step_times_us"] = [row["time_us"] for row in steps]
        if steps and all(row["begin_us"] is not None for row in steps):
            stats["step_begins_us"] = [row["begin_us"] for row in steps]
    collectives = _rows(folder, "step_collectives.csv")
    if collectives is not None:
        stats["collectives"] = [{**row, "protocol": row["protocol"] or None} for row in collectives]
    path = stats.get("critical_path")
    if isinstance(path, dict):
        for key, name, shown in (
            ("path", "critical_path.csv", _call),
            ("longest_messages", "critical_messages.csv", _message),
        ):
            rows = _rows(folder, name)
            if rows is not None:
                path[key] = [shown(row) for row in rows]
    return stats


def _parts(row):
    return {
        name[: -len("_us")]: value
        for name, value in row.items()
        if name.endswith("_us") and name not in TIMES and value
    }


def _call(row):
    call = {name: row[name] for name in ("call", "rank", "start_us", "end_us")}
    if row["waited_us"] is not None:
        return {
            **call,
            "waited_us": row["waited_us"],
            "messages": int(row["messages"] or 0),
            "parts_us": _parts(row),
        }
    return {**call, **({"straggling_us": row["straggling_us"]} if row["straggling_us"] else {})}


def _message(row):
    names = ("call", "from", "to", "messages", "start_us", "end_us")
    return {
        **{name: row[name] for name in names},
        "link": row["link"] or None,
        "behind": row["behind"] or None,
        "parts_us": _parts(row),
    }


def _rows(folder, name):
    """The whole rows of a table as dictionaries; None: there is none to read."""
    try:
        file = open_text(os.path.join(folder, name))
    except Unreadable:
        return None
    if not file:
        return None
    kinds, rows = COLUMNS[name], []
    with file:
        lines = (line.replace("\0", "") for line in file if line.endswith("\n"))
        try:
            reader = csv.reader(lines)
            head = next(reader, [])
            if not set(kinds) <= set(head):
                return None
            for fields in itertools.islice(reader, MOST_ROWS):
                row = _row(dict(zip(head, fields)), kinds) if len(fields) == len(head) else None
                if row:
                    rows.append(row)
        except (csv.Error, OSError):
            pass  # what came before is whole
    return rows


def _row(fields, kinds):
    """None: a field is no number that a run has."""
    row = {}
    for name, kind in kinds.items():
        text, of = fields[name], plain(kind)
        try:
            if of == "str":
                row[name] = text
            elif not text and "?" in kind:
                row[name] = None
            else:
                row[name] = int(text) if of == "int64" else float(text)
                if not math.isfinite(row[name]) or abs(row[name]) > 1e18:
                    return None
        except ValueError:
            return None
    return row
