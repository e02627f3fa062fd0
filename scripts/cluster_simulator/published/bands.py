# SPDX-License-Identifier: GPL-2.0-only
"""How sure a simulated step is, from rows of published ones beside their simulations.

The definition is that of scenarios/compared/step-band.h. compared-steps.csv has the rows,
compared-steps.cc the groups that the programs read.
"""

import collections
import csv
import io
import math

from . import figures

ROWS = "tests/golden/training/compared-steps.csv"
CODE = "scenarios/compared/compared-steps.cc"
HEAD = ("row", "table", "gpu", "generation", "precision", "model", "published_s", "simulated_s")
KIND = ("generation", "precision", "model")
LEAST_ROWS = 5  # a range of fewer says little

# `least` and `most`: of published over simulated times.
Band = collections.namedtuple("Band", "rows least most share")


def band(factors):
    """Of at least two factors."""
    ordered = sorted(factors)
    n = len(ordered)
    k = max(1, (n + 1) // 10)
    return Band(n, ordered[k - 1], ordered[n - k], (n + 1 - 2 * k) / (n + 1))


def factor(row):
    return float(row["published_s"]) / float(row["simulated_s"])


def groups(rows):
    """Factors by kind, and by kind of any precision."""
    of = collections.defaultdict(list)
    for row in rows:
        generation, precision, model = (row[key] for key in KIND)
        of[generation, precision, model].append(factor(row))
        of[generation, "", model].append(factor(row))
    return {kind: of[kind] for kind in sorted(of) if len(of[kind]) >= LEAST_ROWS}


def compared(results):
    """Rows of the CSV file, from runs: those of zoo GPUs that ran."""
    for row, step in figures.timed(results):
        kind = step.stats.get("compared_with")
        if kind and kind["generation"]:
            yield {
                "row": row.id,
                "table": row.table,
                "gpu": row.gpu,
                **{key: kind[key] for key in KIND},
                "published_s": f"{row.seconds:.6g}",
                "simulated_s": f"{step.seconds:.6g}",
            }


def csv_text(rows):
    text = io.StringIO()
    writer = csv.DictWriter(text, HEAD, lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue()


def floor(value):
    return math.floor(value * 1e4) / 1e4


def ceiling(value):
    return math.ceil(value * 1e4) / 1e4


def strings(words):
    return ", ".join(f'"{word}"' for word in words)


def code_text(rows):
    lines = []
    for kind, factors in groups(rows).items():
        one = band(factors)
        among = sorted(
            {row["precision"] for row in rows if (row["generation"], row["model"]) == kind[::2]}
        )
        lines.append(
            f"        {{{{{strings(kind)}}},\n         {one.rows}, {floor(one.least):.4f}, "
            f"{ceiling(one.most):.4f}, {one.share:.4f}, "
            f"{{{'' if kind[1] else strings(among)}}}}},"
        )
    table = "\n".join(lines)
    return f"""/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Made by `scripts/published --bands` from tests/golden/training/compared-steps.csv.
 */
#include "scenarios/compared/step-band.h"

namespace compared
{{

// clang-format off

const std::vector<StepBand>&
ComparedSteps()
{{
    static const std::vector<StepBand> groups{{
{table}
    }};
    return groups;
}}

}} // namespace compared
"""
