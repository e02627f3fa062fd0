# SPDX-License-Identifier: GPL-2.0-only
"""scripts/compare: one scenario of traffic under several congestion controls, as one table and one
picture.

The runs are points of a sweep (sweep/) that keep their files: a comparison that was cut off goes on
where it stopped, and one more algorithm costs one more run. compare.json says which scenario the
folder is of.
"""

import csv
import hashlib
import json
import os
import sqlite3
import sys

from . import programs
from .amounts import human_time
from .errors import InvalidInput, ProgramNotFound, SimulatorError, missing_library
from .files import own, parse_json, read_text
from .flat import flat, repeatable
from .nearest import nearest
from .port_classes import held_up, paused, port_class
from .quantiles import LEAST
from .results import ResultsError, load
from .shown import complaint
from .sweep import errors as sweep_errors
from .sweep.arguments import jobs_of, option_of, said_too_many, set_own
from .sweep.points import option_name, split_values
from .sweep.progress import first_line
from .sweep.store import DATABASE, DONE, FAILED, Store
from .sweep.sweeping import run_points

HELP = """compare - one scenario under several congestion controls, side by side

Usage
  scripts/compare SCENARIO.json --cc=NAME,NAME,... --out=DIR [--OPTION=VALUE ...]

SCENARIO.json is one of traffic, such as those in scenarios/presets/cc. Each NAME of --cc is a run
with that congestion control; NAME+OPTION=VALUE+OPTION=VALUE one with options of its own, so that
one algorithm can be compared with itself:

  scripts/compare scenarios/presets/cc/hpcc-fattree.json --cc=dcqcn,none --duration=2ms --out=tree
  scripts/compare job.json --cc=dcqcn,dcqcn+cc-preset=sigcomm15,none+window=150kB --out=presets

Other options are traffic's and go to every run: ./ns3 run "traffic --help". What the table needs
is measured unless the scenario or an option says otherwise: --queue-interval=1us,
--rate-interval=100us.

  --cc=NAME,...     congestion controls, and options of single runs
  --out=DIR         folder of the comparison. The same folder again: what is done is skipped
  --jobs=N          runs at a time [default: as many as there are cores, by --mpi-ranks]
  --retry-failed    run what failed again; otherwise it stays failed
  --format=LIST     of the picture, comma-separated: png, svg, pdf [default: all; without
                    matplotlib no picture]
  --dry-run         list the runs; run nothing, write nothing

Into DIR: compare.txt, which is also printed, compare.csv (the same numbers and more, a row a run,
quantiles of few flows included), compare.png, .svg and .pdf, and runs/N with all files of each run,
for scripts/plot and scripts/report.

Exit status: 0 all runs done, 2 bad input, 3 some runs failed, 130 stopped by Ctrl-C.
"""

FORMATS = ("png", "svg", "pdf")
OWN = ("cc", "out", "jobs", "retry_failed", "format", "dry_run")
SHOWN = ("p50", "p95", "p99")


class BadUse(SimulatorError):
    """Exit status 2, one line."""


# ---- what to run


def read_scenario(path):
    """(content, digest) of a scenario of traffic."""
    if os.path.exists(path) and not os.path.isfile(path):
        raise BadUse(f"{path}: is no regular file")
    try:
        text = read_text(path)
        content = parse_json(text)
    except OSError as error:
        raise BadUse(f"{path}: {error.strerror}") from None
    except (ValueError, RecursionError) as error:
        raise BadUse(f"{path}: no JSON: {error}") from None
    if not isinstance(content, dict) or content.get("program", "traffic") != "traffic":
        raise BadUse(f'{path}: is no scenario of traffic; allowed: one with "program": "traffic"')
    return content, hashlib.sha256(text.encode()).hexdigest()


def variants(text):
    """ "dcqcn,none+window=1MB" -> [("dcqcn", {"cc": "dcqcn"}), ("none+window=1MB", {"cc": "none",
    "window": "1MB"})]
    """
    found = {}
    for label in split_values(text, "cc"):
        name, *extras = label.split("+")
        options = {"cc": name}
        for extra in extras:
            option, equals, value = extra.partition("=")
            option = option_name(option.lstrip("-"))
            if not option or not equals or not value:
                raise BadUse(
                    f"--cc={label}: allowed: NAME, or NAME+OPTION=VALUE+OPTION=VALUE, such as"
                    " none+window=150kB"
                )
            if option in options or option in OWN or option in ("scenario", "progress"):
                raise BadUse(f"--cc={label}: --{option.replace('_', '-')} cannot be given here")
            options[option] = value
        if label in found:
            raise BadUse(f"--cc={text}: {label} is given twice")
        found[label] = options
    return list(found.items())


def points_of(scenario, path, chosen, common):
    """[(label, options of its run)]"""
    traffic = scenario.get("traffic")
    given = set(traffic) if isinstance(traffic, dict) else set()
    result = []
    for label, own in chosen:
        twice = [name for name in own if name in common]
        if twice:
            raise BadUse(f"--cc={label}: --{twice[0].replace('_', '-')} is given to all runs too")
        point = {"scenario": os.path.abspath(path), "report": "0", **common, **own}
        for name, value in (("queue_interval", "1us"), ("rate_interval", "100us")):
            if name not in given and name not in point:
                point[name] = value
        result.append((label, point))
    return result


def check(points):
    """All runs as the program sees them, before the first one begins: its own words about what is
    wrong.
    """
    for label, point in points:
        status, messages = programs.dry_run("traffic", point)
        if status != 0:
            own = [f"--{name.replace('_', '-')}" for name in OWN]
            said = programs.unknown_option(messages, own) or programs.error_text(messages)
            said = said or f"exit status {status}"
            raise BadUse(first_line(said) + (f" (in {label})" if label not in said else ""))


def claim(folder, digest, path):
    """Remember of which scenario a folder is; refuse another one: runs that are done would be of
    the old.
    """
    record = os.path.join(folder, "compare.json")
    if os.path.exists(record) and not os.path.isfile(record):
        raise BadUse(f"--out={folder}: {record} is no regular file")
    try:
        before = parse_json(read_text(record))
    except FileNotFoundError:
        before = None
    except (OSError, ValueError, RecursionError) as error:
        why = getattr(error, "strerror", None) or error
        raise BadUse(f"--out={folder}: {record} cannot be read: {why}") from None
    if before is not None and (not isinstance(before, dict) or before.get("sha256") != digest):
        was = before.get("scenario") if isinstance(before, dict) else None
        raise BadUse(
            f"--out={folder}: holds a comparison of another scenario, or {was or path} has changed"
            " since; choose another folder"
        )
    if before is None:
        try:
            os.makedirs(folder, exist_ok=True)
            with open(own(record + ".part"), "w", encoding="utf-8") as file:
                json.dump({"scenario": os.path.abspath(path), "sha256": digest}, file, indent=1)
                file.write("\n")
            os.replace(record + ".part", record)
        except OSError as error:
            raise BadUse(f"--out={folder}: {error.strerror}") from None


# ---- what came out


def classes_of(stats):
    """{(from, to): row} of the classes of sizes, of all flows."""
    rows = stats.get("slowdown_by_size") or []
    return {
        (row["from_bytes"], row["to_bytes"]): row
        for row in rows
        if row.get("kind") == "class"
        and row.get("tag") == "all"
        and {"from_bytes", "to_bytes", "flows", *SHOWN} <= set(row)
    }


def lows_of(runs):
    """Where the classes of sizes begin, ascending, of all runs: one may have no flow of a class."""
    return sorted({low for run in runs for low, _ in classes_of(run.stats)})


def numbers_of(label, run, lows):
    """One row of compare.csv. A class has the same number in all rows; empty if this run has no
    flow of it.
    """
    stats = run.stats
    slowdown, jain = stats.get("fct_slowdown") or {}, stats.get("fairness") or {}
    row = {"run": label, "flows": stats.get("messages") or 0}
    # Of no flow there is none of these; older stats.json have zeros there.
    arrived = row["flows"] > 0
    row.update(
        {
            f"slowdown_{name}": slowdown.get(name) if arrived else None
            for name in ("mean", "p50", "p99", "p999", "max")
        }
    )
    last = (stats.get("flows") or {}).get("last_arrival_us")
    row["last_arrival_us"] = last if arrived else None
    for (low, _), part in classes_of(stats).items():
        n = lows.index(low)
        row.update(
            {
                f"class{n}_{name}": part.get(name)
                for name in ("from_bytes", "to_bytes", "flows", *SHOWN)
            }
        )
    for kind in ("switch_to_host", "switch_to_switch"):
        if kind in (stats.get("port_classes") or {}):
            for name in ("p50", "p99", "max"):
                row[f"queue_{kind}_{name}_bytes"] = port_class(run, "queue_bytes", name, kind)
    row["pause_share"] = paused(run)
    for kind in ("host_to_switch", "switch_to_host", "switch_to_switch"):
        if kind in (stats.get("port_classes") or {}):
            row[f"utilization_{kind}"] = port_class(run, "utilization", None, kind)
    row["jain_mean"], row["jain_min"] = jain.get("jain_mean"), jain.get("jain_min")
    row.update(
        {
            name: stats.get(name)
            for name in ("pfc_pauses", "ecn_marks", "retransmitted_packets", "timeouts")
        }
    )
    row["dropped_frames"] = sum((stats.get("drops") or {}).values())
    row["simulated_time_us"], row["event_loop_s"] = stats.get("simulated_time_us"), stats.get(
        "event_loop_s"
    )
    return row


def size(count):
    for unit, factor in (("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
        if count >= factor:
            return f"{count / factor:.3g} {unit}"
    return f"{count:.0f} B"


def enough(part, name):
    """Whether a class has flows enough for this quantile, as the picture wants them."""
    return part is not None and part["flows"] >= LEAST[name]


def percent_or_dash(share):
    return "-" if share is None else f"{100 * share:.2f}%"


def text_table(runs, rows):
    """For a terminal: a line a run; above its columns what they are."""
    every = [edge for _, run in runs for edge in classes_of(run.stats)]
    # The last class ends with the largest flow of any run.
    edges = [
        (low, max(high for other, high in every if other == low))
        for low in lows_of(run for _, run in runs)
    ]
    columns = [("", "run", [label for label, _ in runs])]
    for low, high in edges:
        parts = [
            next((part for edge, part in classes_of(run.stats).items() if edge[0] == low), None)
            for _, run in runs
        ]
        for i, name in enumerate(SHOWN):
            head = f"{size(low)} to {size(high)}" if i == 0 else ""
            cells = [f"{part[name]:.2f}" if enough(part, name) else "-" for part in parts]
            columns.append((head, name, cells))
    # The slowest flow is told of any number of them: it is one, no quantile.
    slowest = [row["slowdown_max"] for row in rows]
    columns.append(
        ("all sizes", "max", ["-" if value is None else f"{value:.2f}" for value in slowest])
    )
    last = [row["last_arrival_us"] for row in rows]
    columns.append(
        (
            "last",
            "arrives",
            ["-" if value is None else human_time(value).replace("µ", "u") for value in last],
        )
    )
    for head, name, key in (
        ("queue p99", "to hosts", "queue_switch_to_host_p99_bytes"),
        ("", "fabric", "queue_switch_to_switch_p99_bytes"),
    ):
        if any(key in row for row in rows):
            columns.append((head, name, [size(row[key]) if key in row else "-" for row in rows]))
    held = held_up(run for _, run in runs)
    columns.append((held, "", [percent_or_dash(row["pause_share"]) for row in rows]))
    use = [row.get("utilization_switch_to_host") for row in rows]
    columns.append(
        ("used", "to hosts", ["-" if value is None else f"{100 * value:.1f}%" for value in use])
    )
    jain = [row["jain_mean"] for row in rows]
    columns.append(("Jain", "mean", ["-" if value is None else f"{value:.3f}" for value in jain]))
    lines = ["", "", *("" for _ in runs)]
    for i, (head, name, cells) in enumerate(columns):
        width = max(map(len, [name, *cells]))
        begin = max(map(len, lines[1:])) + 2 * (i > 0)
        begin = (
            max(begin, len(lines[0]) + 2) if head and i else begin
        )  # heads are over their first column, and may be long
        if head:
            lines[0] = lines[0].ljust(begin) + head
        for n, cell in enumerate([name, *cells], 1):
            lines[n] = lines[n].ljust(begin) + (cell.ljust(width) if i == 0 else cell.rjust(width))
    return "\n".join(line.rstrip() for line in lines) + "\n"


def few_flows_note(runs):
    """Why quantiles of the table are not told; nothing if all are."""
    few = [
        name
        for run in runs
        for part in classes_of(run.stats).values()
        for name in SHOWN
        if not enough(part, name)
    ]
    if not few:
        return ""
    wanted = ", ".join(f"{LEAST[name]} for {name}" for name in SHOWN if name in few)
    return f"\n-: too few flows of this size; a quantile wants {wanted}\n"


def write(path, content):
    with open(own(path + ".part"), "w", encoding="utf-8", newline="") as file:
        file.write(content)
    os.replace(path + ".part", path)


def write_csv(path, rows):
    names = list(dict.fromkeys(name for row in rows for name in row))
    with open(own(path + ".part"), "w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, names, restval="", lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
    os.replace(path + ".part", path)


def alike(runs):
    """Labels of runs, two or more, in which all numbers are the same that a repetition repeats."""
    labels = {}
    for label, run in runs:
        numbers = repeatable(flat(run.stats), run.stats)
        labels.setdefault(tuple(numbers.items()), []).append(label)
    return [same for same in labels.values() if len(same) > 1]


def loaded(path):
    """A run that was done; raises BadUse where its files are not what they were."""
    try:
        run = load(path)
        problem = None if run.complete else f"{path}: {run.problem}"
    except ResultsError as error:
        problem = str(error)
    if problem:
        raise BadUse(f"{problem}; it was done: choose another folder for the comparison")
    return run


def present(folder, runs, title, formats):
    """Table of the runs that are done, [(label, folder)], and a picture unless `formats` is
    empty.
    """
    runs = [(label, loaded(path)) for label, path in runs]
    lows = lows_of(run for _, run in runs)
    rows = [numbers_of(label, run, lows) for label, run in runs]
    text = (
        f"Slowdown of flows by size (completion time over that of an idle network), {title}\n\n"
        + text_table(runs, rows)
        + few_flows_note(run for _, run in runs)
    )
    write(os.path.join(folder, "compare.txt"), text)
    write_csv(os.path.join(folder, "compare.csv"), rows)
    print("\n" + text)
    for labels in alike(runs):
        print(
            f"compare: note: {', '.join(labels)} have the same numbers: what differs between them"
            " changes nothing here",
            file=sys.stderr,
        )
    files = ["compare.txt", "compare.csv", *(picture(folder, runs, formats) if formats else [])]
    print(f"Files       {os.path.join(folder, '')}: {', '.join(files)}; runs/")


def picture(folder, runs, formats):
    """Names of the files of the picture; none if there is nothing to show."""
    import matplotlib

    from . import plots
    from .plots import comparison, style

    items = plots.items_of([run for _, run in runs], [label for label, _ in runs])
    try:
        with matplotlib.rc_context(style.STYLE):
            figure = comparison.draw_comparison(items, 8.5)
        return [os.path.basename(path) for path in plots.save(figure, "compare", folder, formats)]
    except plots.NothingToShow as reason:
        print(f"compare: no picture: {reason}", file=sys.stderr)
        return []


# ---- the command line


def main(arguments):
    try:
        return _main(arguments)
    except (BadUse, sweep_errors.BadUse, InvalidInput, ProgramNotFound, ResultsError) as error:
        print(f"compare: error: {complaint(error)}", file=sys.stderr)
        return 2
    except ImportError as error:
        print(f"compare: error: {missing_library(error)}", file=sys.stderr)
        return 2
    except OSError as error:
        print(
            f"compare: error: {error.filename or ''}: cannot be written: {error.strerror}",
            file=sys.stderr,
        )
        return 1
    except sqlite3.Error as error:
        print(f"compare: error: {DATABASE}: {error}", file=sys.stderr)
        return 1


def _main(arguments):
    if not arguments or "--help" in arguments or "-h" in arguments:
        print(HELP, end="")
        return 0 if arguments else 2
    files = [argument for argument in arguments if not argument.startswith("-")]
    if len(files) != 1:
        raise BadUse(
            f"{said_too_many(files)}one scenario is wanted, such as: scripts/compare"
            " scenarios/presets/cc/hpcc-fattree.json --cc=dcqcn,none --out=DIR"
        )
    own = {
        "cc": None,
        "out": None,
        "jobs": None,
        "format": None,
        "retry_failed": False,
        "dry_run": False,
    }
    common = {}
    for argument in arguments:
        if not argument.startswith("-"):
            continue
        name, text = option_of(argument)
        if name in own:
            set_own(own, name, text, argument)
        elif name in ("scenario", "progress", "no_progress", "list", "version"):
            raise BadUse(f"{argument}: has no meaning in a comparison")
        else:
            if text is None:
                name, text = (name[3:], "0") if name.startswith("no_") else (name, "1")
            if name in common:
                raise BadUse(f"{argument}: given twice")
            common[name] = text
    if own["cc"] is None:
        raise BadUse(
            "--cc=NAME,... is missing: the congestion controls to compare; traffic --list=cc"
            " shows all"
        )
    if own["out"] is None and not own["dry_run"]:
        raise BadUse("--out=DIR is missing: the folder of the comparison")
    formats = _formats(own["format"])
    jobs = jobs_of(own["jobs"])
    scenario, digest = read_scenario(files[0])
    points = points_of(scenario, files[0], variants(own["cc"]), common)
    check(points)
    if own["dry_run"]:
        for _, point in points:
            print("traffic", *programs.words(point))
        return 0
    try:  # missing: said before an hour of runs and not after
        import matplotlib  # noqa: F401
        import pandas  # noqa: F401
    except ImportError as error:
        if own["format"] is not None:
            raise
        print(f"compare: no picture: {missing_library(error)}", file=sys.stderr)
        formats = ()

    out = own["out"]
    claim(out, digest, files[0])
    stopped_by, numbers = run_points(
        "traffic", [point for _, point in points], out, jobs, True, own["retry_failed"], False
    )
    return _conclude(out, points, numbers, stopped_by, os.path.basename(files[0]), formats)


def _formats(text):
    if text is None:
        return FORMATS
    chosen = [name.strip() for name in text.split(",")]
    wrong = [name for name in chosen if name not in FORMATS]
    if wrong:
        raise BadUse(
            f"--format={text}: unknown name {wrong[0]!r}; allowed: {', '.join(FORMATS)}"
            + nearest(wrong[0], FORMATS)
        )
    return tuple(name for name in FORMATS if name in chosen)


def _conclude(out, points, numbers, stopped_by, title, formats):
    store = Store(out)
    try:
        rows = {row["id"]: row for row in store.rows()}
    finally:
        store.close()
    done = []
    failed = 0
    for (label, _), number in zip(points, numbers):
        row = rows[number]
        if row["status"] == DONE and row["folder"]:
            done.append((label, os.path.join(out, row["folder"])))
        elif row["status"] == FAILED:
            failed += 1
            print(f"compare: {label} failed: {first_line(row['error'])}", file=sys.stderr)
    if done:
        present(out, done, title, formats)
    if stopped_by:
        print("compare: stopped; the same command goes on where it stopped", file=sys.stderr)
        return 128 + stopped_by
    return 3 if failed else 0
