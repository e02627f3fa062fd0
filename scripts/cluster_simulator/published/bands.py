# SPDX-License-Identifier: GPL-2.0-only
"""How sure a simulated number is, from measured ones beside their simulations.

The definition is that of scenarios/compared/band.h. The CSV files below have the rows, bands.json
the groups that the programs read.
"""

import collections
import csv
import io
import json
import math

from . import figures

STEPS = "tests/golden/measured/compared-steps.csv"
SERVING = "tests/golden/measured/compared-serving.csv"
CODE = "scenarios/zoo/bands.json"
FACETS = {
    STEPS: ("software", "generation", "precision", "model", "scale"),
    SERVING: ("software", "generation", "model"),
}
HEAD = ("metric", "row", "source", "series")
VALUES = ("measured", "simulated")

LEVEL = 0.8
LEAST_ROWS = 8
# Below four, the weight of a source that nobody has seen, 1 / (sources + 1), is above 1 - LEVEL;
# with four or five the band is as wide as the worst row of all.
LEAST_UNITS = 6

# Facets that groups have in common, the narrowest first. A job takes the first group that it fits.
GROUPS = {
    "step": (
        ("software", "generation", "precision", "model", "scale"),
        ("software", "precision", "model", "scale"),
        ("software", "generation", "precision", "model"),
        ("software", "precision", "model"),
        ("software", "model"),
        ("generation", "precision", "model", "scale"),
        ("precision", "model", "scale"),
        ("generation", "model"),
        ("model",),
    ),
    "serving": (
        ("software", "generation", "model"),
        ("software", "model"),
        ("generation", "model"),
        ("software",),
        ("model",),
    ),
}

# `least` and `most`: of measured over simulated values. `held`: of the rows of a unit that is left
# out, those in the band of the others, mean of units.
Band = collections.namedtuple("Band", "metric of rows sources unit least most share held")


def factor(row):
    return float(row["measured"]) / float(row["simulated"])


def weighted_quantile(pairs, share):
    """The smallest value of (value, weight) up to which the weights add up to this share of all."""
    total = sum(weight for _, weight in pairs)
    added = 0
    for value, weight in sorted(pairs):
        added += weight
        if added >= share * total * (1 - 1e-12):
            return value
    raise ValueError("no weights")


def spread(units, level=LEVEL):
    """(least, most, share) of the factors of a further unit's row; None: too few units. `units`:
    lists of factors.
    """
    if len(units) < LEAST_UNITS:
        return None
    values = [(math.log(f), 1 / len(unit)) for unit in units for f in unit]
    centre = weighted_quantile(values, 0.5)
    low, high = (weighted_quantile(values, share) for share in (0.25, 0.75))
    # Half of all lie within a quartile. One that no row differs from would have no unit.
    below, above = (max(1e-3, abs(centre - end)) for end in (low, high))
    scores = sorted(
        ((v - centre) / above if v > centre else (centre - v) / below, weight)
        for v, weight in values
    )
    added = 0
    for score, weight in scores:
        added += weight / (len(units) + 1)
        if added >= level - 1e-12:
            return math.exp(centre - score * below), math.exp(centre + score * above), added
    return None


NO_RECIPE = "no recipe"  # kNoRecipe of step-band.h


def units_of(rows, of):
    """(what counts, {its name: factors}): sources; of one software series, where its sources are
    too few. Other rows of one source say nothing of other sources.
    """
    one = of.get("software", NO_RECIPE) != NO_RECIPE
    for unit in ("source", "series") if one else ("source",):
        by = collections.defaultdict(list)
        for row in rows:
            by[row["source"], row[unit]].append(factor(row))
        if len(by) >= LEAST_UNITS:
            return unit, dict(sorted(by.items()))
    return None, {}


def held_share(units):
    """Mean coverage of units by the band of all others; None: too few."""
    shares = []
    for name, factors in units.items():
        others = spread([unit for other, unit in units.items() if other != name])
        if others is None:
            return None
        shares.append(sum(others[0] <= f <= others[1] for f in factors) / len(factors))
    return sum(shares) / len(shares)


def plan_of(metric):
    return GROUPS["step" if metric == "step" else "serving"]


def groups(rows, held=True):
    """Bands, the narrowest first."""
    bands = []
    for metric in dict.fromkeys(row["metric"] for row in rows):
        for facets in plan_of(metric):
            of = collections.defaultdict(list)
            for row in rows:
                if row["metric"] == metric:
                    of[tuple(row[facet] for facet in facets)].append(row)
            for values, members in sorted(of.items()):
                if len(members) < LEAST_ROWS or not all(values):
                    continue
                of_all = dict(zip(facets, values))
                unit, units = units_of(members, of_all)
                band = spread(list(units.values()))
                if band:
                    share = held_share(units) if held else None
                    bands.append(
                        Band(metric, of_all, len(members), len(units), unit, *band, share)
                    )
    return bands


def find(bands, row):
    """The band of a row; None: no rows like this."""
    return next(
        (
            band
            for band in bands
            if band.metric == row["metric"]
            and all(row[facet] == value for facet, value in band.of.items())
        ),
        None,
    )


def holds(band, value, width):
    middle = math.sqrt(band.least * band.most)
    half = (band.most / middle) ** width
    return middle / half <= value <= middle * half


Held = collections.namedtuple("Held", "metric source rows banded inside")


def left_out(rows, width=1.0):
    """Of each source: rows that have a band of all other sources, and those inside it. `width`: of
    the band, 1 being its own.
    """
    results = []
    for metric, source in sorted({(row["metric"], row["source"]) for row in rows}):
        known = [r for r in rows if r["metric"] == metric and r["source"] != source]
        bands = groups(known, held=False)
        tried = [r for r in rows if r["metric"] == metric and r["source"] == source]
        found = [(find(bands, row), factor(row)) for row in tried]
        banded = [(band, f) for band, f in found if band]
        inside = sum(holds(band, f, width) for band, f in banded)
        results.append(Held(metric, source, len(tried), len(banded), inside))
    return results


def page_of(row):
    """What a row is from: a repository, a paper, or an older table."""
    words = row.facts.get("source", "").split()
    if not words:
        return row.table
    return " ".join(words[:2]) if words[0] == "arXiv" else words[0].partition("@")[0]


def compared(results):
    """Rows of the CSV file, from runs of steps: those of zoo GPUs that ran."""
    for row, step in figures.timed(results):
        kind = step.stats.get("compared_with")
        if kind and kind["generation"]:
            yield {
                "metric": "step",
                "row": row.id,
                "source": page_of(row),
                "series": row.facts.get("family") or f"{row.table}, {row.kind}",
                **{key: kind[key] for key in FACETS[STEPS]},
                "measured": f"{row.seconds:.6g}",
                "simulated": f"{step.seconds:.6g}",
            }


def read(path):
    with open(path, encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def csv_text(path, rows):
    text = io.StringIO()
    writer = csv.DictWriter(text, (*HEAD, *FACETS[path], *VALUES), lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue()


def floor(value):
    return math.floor(value * 1e4) / 1e4


def ceiling(value):
    return math.ceil(value * 1e4) / 1e4


def code_text(rows):
    lines = [
        json.dumps(
            {
                **band._asdict(),
                "least": floor(band.least),
                "most": ceiling(band.most),
                "share": floor(band.share),
                "held": None if band.held is None else round(band.held, 4),
            }
        )
        for band in groups(rows)
    ]
    about = f"Made by scripts/published --update from {STEPS} and {SERVING}."
    return f'{{"about": "{about}",\n "bands": [\n  ' + ",\n  ".join(lines) + "\n]}\n"
