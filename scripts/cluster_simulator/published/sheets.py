# SPDX-License-Identifier: GPL-2.0-only
"""Sheets of layouts: one job that was measured with many layouts. What would a planner have picked?

A sheet has at least LEAST rows of one model, software, number of GPUs, sequence and global batch.
The pick is the layout whose step is the shortest by simulation, its regret what its measured step
is longer than the shortest measured one.
"""

import collections
import statistics

from . import figures, software

LEAST = 4

Sheet = collections.namedtuple("Sheet", "software model gpus sequence rows regret pick best rank")


def key(row):
    sequence = next((o.partition("=")[2] for o in row.options if o.startswith("--seq=")), "")
    return (row.facts["framework"], row.model, row.facts["gpus"], sequence,
            row.facts["global_batch"])


def sheets(results):
    """Of all judged rows that ran."""
    rows = figures.timed(software.judged(results))
    for (name, model, gpus, sequence, _), members in software.by(
        rows, lambda row: key(row)
    ).items():
        layouts = {row.proves for row, _ in members}
        if len(members) < LEAST or len(layouts) < LEAST:
            continue
        pick = min(members, key=lambda pair: pair[1].seconds)[0]
        best = min(members, key=lambda pair: pair[0].seconds)[0]
        measured = figures.ranks([row.seconds for row, _ in members])
        simulated = figures.ranks([step.seconds for _, step in members])
        yield Sheet(
            name,
            model.rpartition("/")[2].removesuffix(".json"),
            gpus,
            int(sequence),
            len(members),
            pick.seconds / best.seconds - 1,
            pick.proves,
            best.proves,
            figures.correlation(measured, simulated) or 0.0,
        )


HEAD = ("software", "model", "GPUs", "sequence", "layouts", "pick", "fastest", "pick is slower by",
        "rank correlation")


def cells(results):
    for sheet in sheets(results):
        yield (sheet.software, sheet.model, str(sheet.gpus), f"{sheet.sequence:,}",
               str(sheet.rows), sheet.pick, sheet.best, f"{100 * sheet.regret:.1f}%",
               f"{sheet.rank:.2f}")


def summary(results):
    """(sheets, of these with a pick within 5% of the best, median rank correlation); None."""
    found = list(sheets(results))
    if not found:
        return None
    return (len(found), sum(sheet.regret <= 0.05 for sheet in found),
            statistics.median(sheet.rank for sheet in found))
