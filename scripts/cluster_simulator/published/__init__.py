# SPDX-License-Identifier: GPL-2.0-only
"""Runs training steps whose times were published, and says how far off the simulator is.

    scripts/published                                 # the tables of tests/golden/training
    scripts/published TABLE.csv
    scripts/published --only=seqsel --commands        # what it would run

TABLE.csv has the columns of one of these tables, and is told by them. A row runs as dltrain with
the options that a user would write who reads it, without packets (--network=analytic); what it does
not say is left to the defaults. A run is kept in --out, and not run again for the same program and
options. Options that are not known here go to dltrain, in every run. Tables of
tests/golden/measured run as what they are: steps and peak memory by software and scale, measured
servings as dlserve (tokens/s, TPOT and TTFT by engine, GPU and source), kernels and MIG instances
by dlserve's own comparison.

    scripts/published --update                        # everything, pages and bands

--update runs all tables, and writes docs/validation.md, docs/measured.md and the bands that the
programs print.

`ratio` is simulated over published time, its error the ratio less 1. Of a group: median and 90th
percentile of errors without sign, bias (geometric mean of ratios, less 1), and the same of a
constant MFU, the median of the group's own published ones: what FLOPs alone can say. The exit
status says whether all rows could be run, not how well they agree.
"""

import collections
import json
import os
import shlex
import sys

from .. import files, lines, marked, programs
from ..arguments import Parser, whole_number
from ..errors import CannotWrite, InvalidInput
from ..shown import complaint
from . import (
    bands,
    everything,
    figures,
    own,
    rows,
    runs,
    served,
    serving,
    sheets,
    software,
    summary,
)

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))
TABLES = tuple(
    f"tests/golden/training/{name}.csv"
    for name in (
        "train-throughput",
        "bloom-pretune",
        "mpt-fsdp",
        "nvidia-examples",
        "pipedream",
        "perceptron",
    )
)
# What --update compares with besides.
NEWER = (
    *(f"tests/golden/training/{name}.csv" for name in ("train-2024-2026", "memory-peaks")),
    everything.STEPS,
)

MOST_SECONDS = 10**8  # three years: more is no time that subprocess waits for


def seconds(value):
    """Four digits, as papers give them."""
    if value is None:
        return ""
    return f"{value:.4g} s" if value < 1000 else f"{value:.0f} s"


def percent(value, sign=True):
    return f"{100 * value:{'+' if sign else ''}.1f}%"


def number(value, unit):
    """A number, "2-1-1", or nothing."""
    if value is None or isinstance(value, str):
        return value or ""
    return f"{value:.1f}%" if unit == "%" else f"{value:.3g}"


def how(step):
    """What is to be known of a run besides its options."""
    notes = []
    part = step.stats.get("extrapolation")
    if part:
        error = part.get("error")
        notes.append(
            f"{', '.join(map(str, part['blocks_simulated']))} of {part['blocks']} blocks"
            + ("" if error is None else f" (line off by {percent(error)})")
        )
    if not step.fits:
        notes.append("does not fit by the estimate")
    return "; ".join(notes)


def row_cells(results):
    for row, step in results:
        ran = not isinstance(step, str)
        ratio = step.seconds / row.seconds if ran and row.seconds else None
        yield (
            row.id,
            row.gpu,
            seconds(row.seconds),
            seconds(step.seconds) if ran else "not run",
            "" if ratio is None else f"{ratio:.3f}",
            row.proves,
            how(step) if ran else "",
        )


def group_cells(results):
    for (table, gpu, kind), members in figures.groups(results).items():
        ours = figures.summary([step.seconds / row.seconds for row, step in members])
        constant = figures.summary(figures.constant_mfu(members))
        yield (
            table,
            gpu,
            kind,
            str(ours.rows),
            percent(ours.median, False),
            percent(ours.p90, False),
            percent(ours.bias),
            percent(ours.worst),
            percent(constant.median, False),
            percent(constant.p90, False),
        )


def derived_cells(results):
    for name, published, simulated, unit in figures.derived(results):
        yield name, number(published, unit), number(simulated, unit)


def software_cells(results):
    for name, ours, middle in software.step_groups(results):
        yield (
            name,
            str(ours.rows),
            percent(ours.median, False),
            percent(ours.p90, False),
            percent(middle),
            percent(ours.bias),
            percent(ours.worst),
        )


def scaling_cells(results):
    for name, points, within, error in software.scaling(results):
        yield name, str(points), str(within), f"{error:+.3f}"


def memory_cells(results):
    for name, peaks, within, bias, refused, ran in software.memory(results):
        yield (
            name,
            str(peaks),
            str(within),
            "" if bias is None else percent(bias),
            f"{refused} of {ran}",
        )


SOFTWARE_HEAD = ("steps by software", "rows", "median", "p90", "median with sign", "bias",
                 "worst")
SCALING_HEAD = ("scaling series of", "points", f"within {software.SCALING:g}", "mean error")
MEMORY_HEAD = (
    *("peak memory by software", "peaks", f"within {software.MEMORY:.0%}", "bias"),
    "refused of what ran",
)
ROW_HEAD = ("row", "GPU", "published", "simulated", "ratio", "what it proves", "run")
GROUP_HEAD = (
    *("table", "GPU", "rows with", "rows", "median", "p90", "bias", "worst"),
    *("constant MFU: median", "p90"),
)
DERIVED_HEAD = ("between rows", "published", "simulated")


# What a page has of a sweep is its group: single rows are a hundred there.
SWEEPS = ("MPT with FSDP", "NVIDIA's examples")


def check_page(path):
    """What tables have no place in it, before hours of runs and not after."""
    try:
        text = files.read_text(path)
        for name in ("rows", "groups", "ratios"):
            marked.find(text, f"published-{name}")
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", None) or error
        raise InvalidInput(f"--page={path}: {why}") from None


def fill(path, results, parts):
    """Writes the tables into a page, behind <!-- TABLE: published-rows --> and the like."""
    try:
        text = files.read_text(path)
        for name, head, cells in parts:
            if name == "rows":
                cells = row_cells([pair for pair in results if pair[0].table not in SWEEPS])
            text = marked.replace(text, f"published-{name}", head, cells)
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", None) or error
        raise InvalidInput(f"--page={path}: {why}") from None
    files.write_text("--page", path, text)


def report(results, args):
    parts = (
        ("rows", ROW_HEAD, list(row_cells(results))),
        ("groups", GROUP_HEAD, list(group_cells(results))),
        ("ratios", DERIVED_HEAD, list(derived_cells(results))),
    )
    measured_parts = (
        ("software", SOFTWARE_HEAD, list(software_cells(results))),
        ("scaling", SCALING_HEAD, list(scaling_cells(results))),
        ("memory", MEMORY_HEAD, list(memory_cells(results))),
        ("sheets", sheets.HEAD, list(sheets.cells(results))),
    )
    for _, head, cells in (*parts, *measured_parts):
        if cells:
            print(marked.table(head, cells))
    if args.page:
        fill(args.page, results, parts)
    if args.json:
        files.write_text("--json", args.json, json.dumps(as_json(results), indent=1))


def software_json(row, step):
    """Facts of rows that say whose software they are."""
    if not row.facts.get("framework"):
        return {}
    names = ("framework", "gpus", "scale", "source", "confidence", "family", "memory_gib")
    ran = not isinstance(step, str)
    return {
        "model_kind": row.facts["kind"],
        **{name: row.facts.get(name) for name in names},
        "memory_estimated_gib": software.estimated(step) if ran else None,
        "fits": step.fits if ran else None,
    }


def as_json(results):
    return {
        "rows": [
            {
                "id": row.id,
                "table": row.table,
                "gpu": row.gpu,
                "kind": row.kind,
                "published_s": row.seconds,
                "options": row.options,
                "simulated_s": None if isinstance(step, str) else step.seconds,
                "exposed_s": None if isinstance(step, str) else step.exposed,
                "run": "" if isinstance(step, str) else how(step),
                **software_json(row, step),
                "why_not": step if isinstance(step, str) else None,
            }
            for row, step in results
        ],
        "derived": [ratio._asdict() for ratio in figures.derived(results)],
    }


def options_of(arguments):
    parser = Parser("published", description=__doc__)
    parser.add_argument("tables", nargs="*", help="CSV files; default: tests/golden/training")
    parser.add_argument("--only", default="", metavar="TEXT,...",
                        help="only rows with one of these in their names")
    parser.add_argument("--commands", action="store_true", help="print what would run, run nothing")
    parser.add_argument("--json", metavar="FILE", help="write all rows to it")
    parser.add_argument("--page", metavar="FILE",
                        help="write the tables into a page of the documentation, too")
    parser.add_argument("--update", action="store_true",
                        help="run all tables, and write pages and bands:"
                        f" {everything.SUMMARY}, {everything.PAGE}, {bands.CODE}")
    parser.add_argument("--out", default="results/published", metavar="DIR",
                        help="where models and runs are kept (default: results/published)")
    parser.add_argument("--jobs", default="2", metavar="N", help="runs at once (default: 2)")
    parser.add_argument("--time-limit", default="600", metavar="S",
                        help="seconds after which a run is given up (default: 600)")
    parser.add_argument("--programs", default=files.programs_of(ROOT), metavar="DIR",
                        help="folder of the built programs (default: $DLTRAIN_PROGRAMS, or the"
                        " clone's)")
    args, args.options = parser.parse_known_args(arguments)
    bad = [word for word in args.options if not word.startswith("--")]
    if bad:
        raise InvalidInput(f"{bad[0]}: tables come before options of dltrain")
    args.jobs = whole_number("--jobs", args.jobs, 1, 4096)
    for option in ("json", "page"):
        if getattr(args, option) is not None:
            files.check_new_file(f"--{option}", getattr(args, option))
    if args.update and (args.tables or args.only or args.options or args.commands or args.page):
        raise InvalidInput("--update: takes all rows of all tables as they are")
    if args.update:
        check_page(os.path.join(ROOT, everything.PAGE))
    if args.page is not None:
        check_page(args.page)
    files.check_new_folder("--out", args.out)
    args.time_limit = limit_of(args.time_limit)
    args.kind = kind_of(args.tables)
    if args.kind is not STEPS and args.page:
        raise InvalidInput("--page: takes tables of steps")
    if isinstance(args.kind, own.Own):
        for what in ("only", "commands", "json", "options"):
            if getattr(args, what):
                raise InvalidInput(f"{args.tables[0]}: dlserve compares {args.kind.kind} as a"
                                   f" whole; allowed: no --only, --commands, --json, other options")
    if not args.commands:
        program = files.built(args.programs, "dltrain" if args.kind is STEPS else "dlserve")
        programs.check_options(program, args.options, parser.names())
    return args


# Kinds of tables, beside those of own.py.
STEPS = "steps"
SERVINGS = "servings"


def kind_of(tables):
    """The one kind of all tables."""
    kinds = []
    for path in tables:
        columns = lines.columns(path)
        kinds.append(
            SERVINGS if served.COLUMN in columns else own.of_columns(columns) or STEPS
        )
        if kinds[-1] != kinds[0]:
            raise InvalidInput(f"{path}: is not of the kind of {tables[0]}; allowed: one kind")
    return kinds[0] if kinds else STEPS


def compare_own(args):
    """Kernels, MIG instances: by the program itself."""
    program = files.built(args.programs, "dlserve")
    pairs = [
        pair
        for path in args.tables
        for pair in own.compare(args.kind, program, path, args.out, args.time_limit)
    ]
    print(marked.table(summary.SOURCE_HEAD, list(summary.source_cells(pairs))))
    print(marked.table(summary.HEAD, list(summary.cells(pairs))))
    return 0


def limit_of(text):
    """Seconds."""
    try:
        seconds_ = float(text) if text.isascii() else 0
    except ValueError:
        seconds_ = 0
    if not 0 < seconds_ <= MOST_SECONDS:
        raise InvalidInput(f"--time-limit={text}: allowed: seconds, above 0, to {MOST_SECONDS}")
    return seconds_


def tables_of(args):
    return args.tables or [os.path.join(ROOT, path) for path in TABLES]


def main(arguments):
    try:
        args = options_of(arguments)
        if args.update:
            return everything.main(args, TABLES + NEWER, ROOT, fill)
        if args.kind is SERVINGS:
            return serving.main(args, [row for path in args.tables for row in served.read(path)])
        if isinstance(args.kind, own.Own):
            return compare_own(args)
        found = []
        for path in tables_of(args):
            found += [
                row
                for row in rows.read(path)
                if any(text in row.id for text in args.only.split(","))
            ]
        if not found and not args.only:
            raise InvalidInput(f"{', '.join(args.tables)}: no rows")
        if not found:
            raise InvalidInput(f"--only={args.only}: no row has that in its name")
        program = None if args.commands else files.built(args.programs, "dltrain")
    except InvalidInput as error:
        print(f"published: error: {complaint(str(error))}", file=sys.stderr)
        return 2
    except CannotWrite as error:
        print(f"published: error: {complaint(str(error))}", file=sys.stderr)
        return 1
    try:
        if args.commands:
            for row in found:
                words = runs.words_of(row, args.out, args.options)
                print(f"{row.id}: ./ns3 run \"dltrain {shlex.join(words)}\"")
            return 0
        results = runs.all_of(program, found, args.out, args.jobs, args.time_limit, args.options)
        report(results, args)
    except InvalidInput as error:
        print(f"published: error: {complaint(str(error))}", file=sys.stderr)
        return 2
    except CannotWrite as error:
        print(f"published: error: {complaint(str(error))}", file=sys.stderr)
        return 1
    failed = collections.OrderedDict()
    for row, step in results:
        if isinstance(step, str):
            failed.setdefault(step, []).append(row.id)
    for why, names in failed.items():
        print(f"published: not run: {', '.join(names)}: {why}", file=sys.stderr)
    return 1 if failed else 0
