# SPDX-License-Identifier: GPL-2.0-only
"""Published servings beside the simulator's: scripts/published TABLE.csv of measured servings.

Each row runs as dlserve with the options that served.py makes of it; a run is kept in --out.
"""

import collections
import json
import os
import shlex
import statistics
import subprocess
import sys

from .. import files, marked, programs
from ..shown import complaint
from . import figures, runs, served

COMMON = ("--report=0", "--timeline=0", "--attribution=0", "--progress=0")
METRICS = ("tokens/s", "TPOT", "TTFT")
# Files of a run that nobody reads, a few GB over all rows.
LEFT = ("iterations.csv", "load.csv", "requests.csv", "flows.csv", "topology.json",
        "attribution.csv", "network_events.log", "instances.csv")

# A comparison: a metric of a row.
Compared = collections.namedtuple("Compared", "row metric measured simulated")


def words_of(row, folder, more=()):
    words = list(row.words)
    if row.model:
        words.append(f"--model={runs.written(row.model, row.model['name'], folder)}")
    return [*words, *COMMON, *more]


def simulated(row, stats):
    """Values of stats.json by metric, of all instances."""
    made = stats["serving"]
    ttft = made["ttft_ms"]
    values = {
        # As clients count: all tokens over the time from the first request to the last answer.
        "tokens/s": row.copies * made["tokens_out"] / made["duration_s"],
        "TTFT": {"mean": ttft["max" if row.last else "mean"], "p50": ttft["p50"]},
        "TPOT": {"mean": made["tpot_ms"]["mean"], "p50": made["tpot_ms"]["p50"]},
    }
    return {
        metric: values[metric] if metric == "tokens/s" else values[metric][kind]
        for metric, (kind, _) in row.metrics.items()
    }


def run(program, row, words, folder, limit):
    """Values by metric, or a string that says why there are none."""
    where = os.path.join(folder, "runs", runs.identity(program, words))
    kept = os.path.join(where, "stats.json")
    if not os.path.exists(kept):
        try:
            process = programs.captured([program, *words, f"--out={where}"], limit)
        except subprocess.TimeoutExpired:
            return f"takes longer than {limit:g} s: --time-limit"
        if process.returncode:
            said = process.stderr.strip().splitlines() or [f"status {process.returncode}"]
            return next((line for line in said if ": error: " in line), said[-1])
        for name in LEFT:
            path = os.path.join(where, name)
            if os.path.exists(path):
                os.remove(path)
    try:
        stats = files.parse_json(files.read_text(kept))
        if stats["serving"]["answered"] < stats["serving"]["requests"]:
            return "requests are not answered"
        return simulated(row, stats)
    except (OSError, ValueError, LookupError, TypeError, ZeroDivisionError):
        return f"{kept}: is no result of a serving"


def kind_of(program, words, folder):
    """What stats.json says of its kind (scenarios/compared/serving-band.h), of a run that is there;
    None: nothing."""
    kept = os.path.join(folder, "runs", runs.identity(program, words), "stats.json")
    try:
        return files.parse_json(files.read_text(kept))["serving"]["compared_with"][0]
    except (OSError, ValueError, LookupError, TypeError):
        return None


def compare(results):
    for row, values in results:
        if isinstance(values, str):
            continue
        for metric in METRICS:
            if metric in values and values[metric] > 0:
                yield Compared(row, metric, row.metrics[metric][1], values[metric])


GROUPS = (
    ("all", lambda row: ("all rows", "", "")),
    ("by kind", lambda row: (row.kind, "", "")),
    ("by engine", lambda row: (row.engine, "", row.kind)),
    ("by GPU", lambda row: ("", row.gpu, row.kind)),
    ("by source", lambda row: (row.source, "", row.engine)),
    ("by engine and GPU", lambda row: (row.engine, row.gpu, row.kind)),
)
HEAD = ("of", "GPU", "rows with", *(f"{m}: {of}" for m in METRICS
                                    for of in ("rows", "median", "bias", "ratio")))


def percent(value, sign):
    return f"{100 * value:{'+' if sign else ''}.1f}%"


def cells(compared):
    """A line a group, of each metric: rows, median error, bias (geometric mean of ratios, less 1)
    and the median ratio of simulated over measured, which a few rows far off do not move.
    """
    for _, key in GROUPS:
        of = collections.OrderedDict()
        for one in compared:
            of.setdefault(key(one.row), {}).setdefault(one.metric, []).append(
                one.simulated / one.measured
            )
        for name, metrics in sorted(of.items()):
            line = list(name)
            for metric in METRICS:
                ratios = metrics.get(metric)
                if not ratios:
                    line += [""] * 4
                    continue
                summary = figures.summary(ratios)
                line += [
                    str(summary.rows),
                    percent(summary.median, False),
                    percent(summary.bias, True),
                    f"{statistics.median(ratios):.2f}",
                ]
            yield tuple(line)


def as_json(results, compared):
    return {
        "compared": [
            {
                "row_id": one.row.id,
                "source": one.row.source,
                "engine": one.row.engine,
                "gpu": one.row.gpu,
                "kind": one.row.kind,
                "metric": one.metric,
                "measured": one.measured,
                "simulated": one.simulated,
                "options": one.row.words,
            }
            for one in compared
        ],
        "not_judged": [{"row_id": row.id, "why": row.unjudged} for row, _ in results
                       if row.unjudged],
        "not_run": [
            {"row_id": row.id, "why": values, "options": row.words}
            for row, values in results
            if isinstance(values, str) and not row.unjudged
        ],
    }


def left_out(results):
    """Rows by the reason why they are not compared, most first."""
    why = collections.Counter()
    for row, values in results:
        if row.unjudged:
            why[f"not judged: {row.unjudged}"] += 1
        elif isinstance(values, str):
            said = values.partition(": error: ")[2] or values
            why[f"not run: {said.partition('; allowed')[0]}"] += 1
    return why.most_common()


def main(args, found):
    """Runs and compares the rows. \\return the exit status"""
    rows = [row for row in found if any(text in row.id for text in args.only.split(","))]
    judged = [row for row in rows if not row.unjudged and row.metrics]
    if args.commands:
        for row in judged:
            words = words_of(row, args.out, args.options)
            print(f"{row.id}: ./ns3 run \"dlserve {shlex.join(words)}\"")
        return 0
    program = files.built(args.programs, "dlserve")
    pairs = [(row, words_of(row, args.out, args.options)) for row in judged]
    values = programs.each(
        args.jobs, lambda one: run(program, *one, args.out, args.time_limit), pairs
    )
    results = [(row, "") for row in rows if row.unjudged] + list(zip(judged, values))
    compared = list(compare(results))
    if compared:
        print(marked.table(HEAD, list(cells(compared))))
    for why, count in left_out(results):
        print(f"published: {count} rows: {complaint(why)}", file=sys.stderr)
    if args.json:
        files.write_text("--json", args.json, json.dumps(as_json(results, compared), indent=1))
    return 1 if any(isinstance(made, str) and not row.unjudged for row, made in results) else 0
