# SPDX-License-Identifier: GPL-2.0-only
"""estimates.csv of dlplan as points of a picture: step against memory."""

from cluster_simulator.folder.streams import number

FIELDS = ["rank", "gpus"]
MOST_POINTS = 3000


def rows_of(files, name):
    """[memory in bytes, estimate in us, verified in us or None, layout], the best first."""
    rows = []
    for columns in files.columns(name, FIELDS):
        numbers = [files.numbers(name, columns[key]) for key in ("memory_bytes", "estimate_us")]
        verified = [number(value) or None for value in columns["verified_us"]]
        rows += zip(*numbers, verified, columns["gpus"], columns["options"])
    return [
        [memory, estimate, run, f"{gpus} GPU{'' if gpus == '1' else 's'} {options}"]
        for memory, estimate, run, gpus, options in rows
    ]


def estimates_of(files):
    """All that is drawn, or None: the frontier and what was run are never left out."""
    rows = rows_of(files, "estimates.csv")
    if not rows:
        return None
    least, frontier = float("inf"), set()
    for row in sorted(rows, key=lambda row: (row[0], row[1])):
        if row[1] < least:
            least = row[1]
            frontier.add(id(row))
    kept = [
        row
        for place, row in enumerate(rows)
        if place < MOST_POINTS or id(row) in frontier or row[2]
    ]
    return {
        "points": [[*row, id(row) in frontier] for row in kept],
        "left_out": len(rows) - len(kept),
    }
