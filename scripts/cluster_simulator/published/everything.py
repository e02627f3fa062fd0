# SPDX-License-Identifier: GPL-2.0-only
"""scripts/published --update: all tables of tests/golden, and the pages and bands made of them."""

import os
import sys

from .. import files, lines, marked, programs
from ..errors import InvalidInput
from . import bands, figures, own, rows, runs, served, serving, sheets, software, summary
from .summary import Pair

MEASURED = "tests/golden/measured"
SERVING = f"{MEASURED}/measured_serving.csv"
STEPS = f"{MEASURED}/measured_training.csv"
OWN = (f"{MEASURED}/measured_kernels.csv", f"{MEASURED}/measured_multiplex.csv")
SUMMARY = "docs/validation.md"
PAGE = "docs/measured.md"

# Kinds of comparisons of steps by table; those of rows that say whose software they are follow.
OLDER = {
    "2024 to 2026": "steps of 2024 to 2026",
    "one server of B200": "steps of one server of B200",
}


def without_recipe(row):
    """The row as somebody runs it who names no software."""
    options = [option for option in row.options if not option.startswith("--recipe=")]
    return row._replace(options=options)


def step_pairs(results):
    older = [pair for pair in figures.timed(results) if not pair[0].facts.get("framework")]
    for row, step in older:
        kind = OLDER.get(row.table, f"steps of {row.gpu}, to 2023")
        yield Pair(kind, row.table, row.seconds, step.seconds)
    judged = figures.timed(software.judged(results))
    for row, step in judged:
        yield Pair("steps that users measured", row.facts["framework"], row.seconds, step.seconds)
    for row, step in judged:
        if row.facts["gpus"] >= 256:
            yield Pair("of these on 256 GPUs and more", row.facts["framework"], row.seconds,
                       step.seconds)
    for row, step in software.judged(results):
        if not isinstance(step, str) and row.facts.get("memory_gib"):
            yield Pair("peak memory", row.facts["framework"], row.facts["memory_gib"],
                       software.estimated(step))


def serving_pairs(compared):
    for one in compared:
        source = one.row.source.partition("@")[0]
        yield Pair(f"inference, {one.metric}", source, one.measured, one.simulated)


METRICS = {"tokens/s": "output tokens/s", "TPOT": "TPOT", "TTFT": "TTFT"}


def series_of(one):
    """Rows that err alike. First tokens depend on how a page loads its engine, whatever the model:
    all rows of an engine and a GPU are one."""
    return f"{one.row.engine} {one.row.gpu}" if one.metric == "TTFT" else one.row.series


def serving_rows(compared, kinds):
    """Rows of compared-serving.csv."""
    for one in compared:
        kind = kinds.get(one.row.id)
        if kind and kind["generation"]:
            yield {
                "metric": METRICS[one.metric],
                "row": one.row.id,
                "source": one.row.source.partition("@")[0],
                "series": series_of(one),
                **{facet: kind[facet] for facet in bands.FACETS[bands.SERVING]},
                "measured": f"{one.measured:.6g}",
                "simulated": f"{one.simulated:.6g}",
            }


def say(text):
    print(f"published: {text}", file=sys.stderr, flush=True)


def steps(args, tables):
    """(row, Step or why not) of all tables; rows with a recipe once more without it."""
    program = files.built(args.programs, "dltrain")
    found = [row for path in tables for row in rows.read(path)]
    say(f"{len(found)} steps")
    results = runs.all_of(program, found, args.out, args.jobs, args.time_limit, args.options)
    plain = [bare for row in found if (bare := without_recipe(row)).options != row.options]
    say(f"{len(plain)} steps without their recipe")
    return results, runs.all_of(program, plain, args.out, args.jobs, args.time_limit, args.options)


def servings(args, table):
    program = files.built(args.programs, "dlserve")
    found = [row for row in served.read(table) if not row.unjudged and row.metrics]
    say(f"{len(found)} runs of inference")
    pairs = [(row, serving.words_of(row, args.out, args.options)) for row in found]
    values = programs.each(
        args.jobs, lambda one: serving.run(program, *one, args.out, args.time_limit), pairs
    )
    kinds = {
        row.id: serving.kind_of(program, words, args.out)
        for (row, words), made in zip(pairs, values)
        if not isinstance(made, str)
    }
    return list(serving.compare(zip(found, values))), kinds


def replaced(page, text, name, head, cells):
    try:
        return marked.replace(text, name, head, cells)
    except ValueError as error:
        raise InvalidInput(f"{page}: {error}") from None


def left_out_cells(rows_):
    for one in bands.left_out(rows_):
        if one.banded >= summary.LEAST:
            yield (one.metric, one.source, str(one.rows), str(one.banded),
                   f"{one.inside / one.banded:.0%}")


LEFT_OUT_HEAD = ("what", "source", "rows", "with a band", "inside")


def write_pages(root, pairs, results, compared):
    path = os.path.join(root, SUMMARY)
    text = replaced(SUMMARY, files.read_text(path), "published-summary", summary.HEAD,
                    list(summary.cells(pairs)))
    text = replaced(SUMMARY, text, "published-left-out", LEFT_OUT_HEAD,
                    list(left_out_cells(compared)))
    files.write_text("--update", path, text)
    path = os.path.join(root, PAGE)
    text = files.read_text(path)
    for name, head, cells in (
        ("published-sources", summary.SOURCE_HEAD, summary.source_cells(pairs)),
        ("published-sheets", sheets.HEAD, sheets.cells(results)),
    ):
        text = replaced(PAGE, text, name, head, list(cells))
    files.write_text("--update", path, text)


def main(args, tables, root, fill):
    """Runs all, and writes bands and pages. `fill` writes the tables of older steps. \\return the
    exit status"""
    results, plain = steps(args, [os.path.join(root, path) for path in tables])
    compared, kinds = servings(args, os.path.join(root, SERVING))
    pairs = [*step_pairs(results), *serving_pairs(compared)]
    program = files.built(args.programs, "dlserve")
    for path in OWN:
        table = os.path.join(root, path)
        kind = own.of_columns(lines.columns(table))
        pairs += own.compare(kind, program, table, args.out, args.time_limit)
    csv_rows = {
        bands.STEPS: list(bands.compared([
            *(pair for pair in [*results, *plain] if pair[0].facts.get("confidence") != "low")
        ])),
        bands.SERVING: list(serving_rows(compared, kinds)),
    }
    for path, of in csv_rows.items():
        files.write_text("--update", os.path.join(root, path), bands.csv_text(path, of))
    every = [row for of in csv_rows.values() for row in of]
    files.write_text("--update", os.path.join(root, bands.CODE), bands.code_text(every))
    fill(os.path.join(root, PAGE), [pair for pair in results
                                    if not pair[0].facts.get("framework")])
    write_pages(root, pairs, results, every)
    print(marked.table(summary.HEAD, list(summary.cells(pairs))))
    failed = [(row.id, step) for row, step in results if isinstance(step, str)]
    for name, why in failed:
        say(f"not run: {name}: {why}")
    return 0
