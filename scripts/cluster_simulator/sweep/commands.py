# SPDX-License-Identifier: GPL-2.0-only
"""scripts/sweep: the command line."""

import csv
import os
import shlex
import sqlite3
import sys
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing

from .. import programs
from ..amounts import counted
from ..errors import CannotWrite, InvalidInput, ProgramNotFound, missing_library
from ..files import check_new_file
from ..nearest import nearest
from ..shown import complaint
from . import launching
from .arguments import (
    cores,
    is_file_of_jobs,
    jobs_of,
    option_of,
    place_of,
    said_too_many,
    set_own,
)
from .effects import without_effect
from .errors import BadUse
from .lock import Lock
from .points import grid, option_name, option_values, read_points, split_values
from .showing import best_first, best_text, digits_of, in_order, rounded, usual_order
from .store import DATABASE, DONE, FAILED, PENDING, RUNNING, Store, as_number, describe
from .sweeping import run_points

UNSEEN = ("point", "options", "cwd", "stats", "files")  # columns of the book-keeping

HELP = """sweep - many runs of a program, in parallel, into one SQLite file

Usage
  scripts/sweep PROGRAM --out=DIR [--OPTION=VALUE,VALUE,... ...]  run every combination of values
  scripts/sweep PROGRAM --out=DIR --points=FILE [--OPTION=...]    run a list from a file
  scripts/sweep resume DIR                                        run what is not done yet
  scripts/sweep status DIR                                        what is done; what failed
  scripts/sweep table DIR [--columns=NAME,...] [--best=NAME]      the results as CSV
  scripts/sweep plot DIR --x=NAME --y=NAME [--by=NAME,...]        one column over another

PROGRAM is dltrain, collperf or traffic; its options: ./ns3 run "PROGRAM --help". A comma separates
values; a value that has commas itself stands in brackets: --bytes=[1MB,2MB],4MB is two values. With
a '=' outside of brackets all is one value: --fault=link-down,at=1ms,on=core-0:1. Two of them:
"--fault=[link-down,at=1ms,on=core-0:1],[link-down,at=2ms,on=core-0:1]". Shells want the quotes.
--recompute is --recompute=1, --no-pfc is --pfc=0.

Running
  --out=DIR         folder of the sweep. The same folder again: what is done is skipped, the rest is
                    run, new points are added; refused where a file that options name has changed
  --points=FILE     .csv: a column for each option, a row for each point, an empty cell leaves the
                    option out. .json: a list of objects, each a point, {"zero": 2, "bytes": ["1MB",
                    "2MB"]}; or one object whose lists are a grid, {"zero": [0, 1], "bytes":
                    [["1MB", "2MB"], "4MB"]}. Options of the command line apply to each point
  --jobs=N          runs at a time [default: as many as there are cores, by the most processes
                    that a point has, --mpi-ranks]. Not a number: dltrain's own --jobs=FILE,...
  --on=local|slurm  where points run: on this machine, or as tasks of job arrays of a cluster, of
                    which --jobs=N run at a time [default: local]. See docs/cluster.md
  --slurm-options=TEXT
                    options for sbatch and srun: --slurm-options="--partition=short --time=10"
  --retry-failed    run failed points again; otherwise they stay failed
  --set=NAME=VALUE,...
                    values of one's own, which stand wherever an option has {NAME}, as in the
                    command of a script: --launch="torchrun --nproc_per_node={n} train.py"
                    --set=n=2,4. May be given several times. Equal captures are made once
  --best=NAME       a number of stats.json: at the end, the point that has the best one
  --keep            keep all result files of each run in DIR/runs/ID, for plots and reports
  --dry-run         list the points, and which of them the program refuses, with its reason; run
                    nothing, write nothing

Tables, of all columns of points and results, ordered by the options that vary
  --columns=NAME,...  only these
  --sort=NAME,...   by these columns, the first one first; -NAME from the largest
  --best=NAME       points that are done, the best by this column first: the smallest time, size,
                    loss or slowdown, the largest rate, efficiency, utilization or Jain's index
  --digits=N        digits of a number, 1 to 17 [default: 6]; sweep.sqlite has all

Plotting
  --x, --y, --by    columns: an option (zero, micro_batch) or a number of stats.json (step_time_us,
                    fct_us_p99); a line for each value of --by. Where several points share a place,
                    the line is their mean and each is a dot
  --where=NAME=VALUE,...
                    only the points that were run with these
  --out=FILE        .png, .svg or .pdf [default: DIR/Y-over-X.png, with -by-BY and -NAME-VALUE]
  --log=x|y|x,y     logarithmic axes

Exit status: 0 all points done, 2 bad input, 3 some points failed or are refused, 130 stopped by
Ctrl-C.
"""

# Options of running a sweep, as they are when they are not given.
RUNNING_A_SWEEP = {
    "jobs": None,
    "out": None,
    "points": None,
    "retry_failed": False,
    "best": None,
    "keep": False,
    "dry_run": False,
    "on": None,
    "slurm_options": None,
}
PLOTTING = ("x", "y", "by", "where", "out", "log")
OWN = [f"--{name.replace('_', '-')}" for name in (*RUNNING_A_SWEEP, "set")]


def main(arguments):
    try:
        return _main(arguments)
    except (BadUse, InvalidInput, ProgramNotFound) as error:
        print(f"sweep: error: {complaint(error)}", file=sys.stderr)
        return 2
    except CannotWrite as error:
        print(f"sweep: error: {complaint(error)}", file=sys.stderr)
        return 1
    except ImportError as error:  # matplotlib, for plot only
        print(f"sweep: error: {missing_library(error)}", file=sys.stderr)
        return 2
    except sqlite3.Error as error:  # a full disk; what was done is in the file
        print(f"sweep: error: {DATABASE}: {complaint(error)}", file=sys.stderr)
        return 1


def _main(arguments):
    if not arguments or arguments[0] in ("-h", "--help", "help"):
        print(HELP, end="")
        return 0 if arguments else 2
    command, rest = arguments[0], arguments[1:]
    if "--help" in rest or "-h" in rest:
        print(HELP, end="")
        return 0
    if command in programs.NAMES:
        return _sweep_command(command, rest)
    commands = {
        "resume": _resume_command,
        "status": _status_command,
        "table": _table_command,
        "plot": _plot_command,
    }
    names = [*programs.NAMES, *commands]
    if command.startswith("-"):
        known = [*OWN, "--help", *(f"--{name}" for name in PLOTTING)]
        raise BadUse(
            f"{command}: a program or a command comes first, such as: scripts/sweep dltrain"
            f" {command}; allowed: {', '.join(names)}{nearest(command.partition('=')[0], known)}"
        )
    if command not in commands:
        raise BadUse(
            f"{command}: unknown program or command; allowed:"
            f" {', '.join(names)}{nearest(command, names)}"
        )
    return commands[command](rest)


def _sweep_command(program, arguments):
    own, values = dict(RUNNING_A_SWEEP), {}
    for argument in launching.joined(arguments):
        name, text = option_of(argument)
        if name in own and not (name == "jobs" and is_file_of_jobs(program, text)):
            set_own(own, name, text, argument)
        elif name in ("progress", "no_progress", "list", "version"):
            raise BadUse(f"{argument}: has no meaning in a sweep")
        elif name == "set":
            launching.set_values(text or "", values, split_values)
        else:
            if text is None:  # --recompute, --no-pfc
                name, text = (name[3:], "0") if name.startswith("no_") else (name, "1")
            if name in values:
                raise BadUse(
                    f"{argument}: given twice; all values go into one:"
                    f" --{name.replace('_', '-')}=A,B"
                )
            values[name] = option_values(text, name.replace("_", "-"))
    if own["out"] is None and not own["dry_run"]:
        raise BadUse("--out=DIR is missing: the folder of the sweep")
    points = grid(values)
    if own["points"] is not None:
        listed = read_points(own["points"])
        twice = [name for name in values if any(name in point for point in listed)]
        if twice:
            raise BadUse(
                f"--{twice[0].replace('_', '-')}: given twice, here and in {own['points']}"
            )
        points = [{**point, **extra} for point in listed for extra in points]
    for name in ("out", "progress", "dry_run", "help"):
        if any(name in point for point in points):
            raise BadUse(
                f"--points={own['points']}: {name} is the sweep's own, not an option of a point"
            )
    launching.check(points)
    _refuse_unknown_options(program, points)
    if own["dry_run"]:
        return _list_points(program, points, jobs_of(own["jobs"]))
    stopped_by, numbers = run_points(
        program,
        points,
        own["out"],
        jobs_of(own["jobs"]),
        own["keep"],
        own["retry_failed"],
        False,
        *place_of(own),
    )
    return _conclude(own["out"], numbers, stopped_by, own["best"])


def _refuse_unknown_options(program, points):
    """A misspelt option would fail every point: the program is asked first. Values are each point's
    own affair.
    """
    asked = {
        name: value for point in points for name, value in launching.filled(point).items()
    }
    if launching.uses_script(asked):
        del asked["launch"]  # else it would be captured
    _, messages = programs.dry_run(program, asked)
    unknown = programs.unknown_option(messages, OWN)
    if unknown:
        raise BadUse(unknown)


def _list_points(program, points, jobs):
    """--dry-run: the points, as command lines; behind them those that would be refused. What a
    script would do is known once it was captured.
    """

    def why_refused(options):
        if launching.uses_script(options):
            return None
        status, messages = programs.dry_run(program, options)
        return programs.why_failed(status, messages) if status else None

    asked = [launching.filled(point) for point in points]
    lines = [
        " ".join(
            [program, *(shlex.quote(word) if " " in word else word for word in programs.words(one))]
        )
        for one in asked
    ]
    print(*lines, sep="\n", flush=True)
    with ThreadPoolExecutor(jobs or cores()) as pool:
        reasons = list(pool.map(why_refused, asked))
    refused = [(line, reason) for line, reason in zip(lines, reasons) if reason]
    for line, reason in refused:
        print(f"\n{line}\n  " + "\n  ".join(reason.strip().split("\n")), file=sys.stderr)
    if refused:
        print(
            f"\nsweep: error: {len(refused)} of {counted(len(points), 'point')} refused",
            file=sys.stderr,
        )
    return 3 if refused else 0


def _conclude(out, numbers, stopped_by, best=None):
    store = Store(out)
    try:
        wanted = set(numbers)
        rows = [row for row in store.rows() if row["id"] in wanted]
        idle = without_effect(store, rows)
    finally:
        store.close()
    count = {
        status: sum(row["status"] == status for row in rows) for status in (DONE, FAILED, PENDING)
    }
    print(
        f"{count[DONE]} of {counted(len(rows), 'point')} done"
        + (f", {count[FAILED]} failed" if count[FAILED] else "")
        + f": {os.path.join(out, DATABASE)}"
    )
    if best:
        with closing(Store(out)) as store:
            print(best_text(rows, column_of(store, "best", best)))
    if idle:
        names = [
            launching.own_name(name) or f"--{name.replace('_', '-')}" for name in idle
        ]
        one = len(idle) == 1
        print(
            f"sweep: note: {', '.join(names)} {'changes' if one else 'change'} nothing here: points"
            f" that differ in {'it' if one else 'one of them'} alone have the same numbers",
            file=sys.stderr,
        )
    if stopped_by:
        print(
            f"sweep: stopped; {counted(count[PENDING], 'point')} left: scripts/sweep resume {out}",
            file=sys.stderr,
        )
        return 128 + stopped_by
    if count[FAILED]:
        points = counted(count[FAILED], "point")
        print(f"sweep: {points} failed: scripts/sweep status {out}", file=sys.stderr)
    return 3 if count[FAILED] else 0


def _folder_and_options(arguments, allowed):
    folders = [argument for argument in arguments if not argument.startswith("-")]
    if len(folders) != 1:
        raise BadUse(
            f"{said_too_many(folders)}one folder of a sweep is wanted, such as: scripts/sweep"
            " status DIR"
        )
    own = dict(allowed)
    for argument in arguments:
        if argument.startswith("-"):
            name, text = option_of(argument)
            if name not in own:
                names = ["--" + known.replace("_", "-") for known in own]
                raise BadUse(
                    f"{argument}: unknown option; allowed: {', '.join(names) or 'none'}"
                    + nearest(argument.partition("=")[0], names)
                )
            set_own(own, name, text, argument)
    return folders[0], own


def _resume_command(arguments):
    folder, own = _folder_and_options(
        arguments,
        {
            "jobs": None,
            "retry_failed": False,
            "keep": False,
            "best": None,
            "on": None,
            "slurm_options": None,
        },
    )
    Store(folder).close()  # says so if it is none
    stopped_by, numbers = run_points(
        None,
        None,
        folder,
        jobs_of(own["jobs"]),
        own["keep"],
        own["retry_failed"],
        False,
        *place_of(own),
    )
    return _conclude(folder, numbers, stopped_by, own["best"])


def _status_command(arguments):
    folder, _ = _folder_and_options(arguments, {})
    store = Store(folder)
    held = Lock.is_held(folder)
    rows = store.rows()
    held = held or Lock.is_held(folder)  # it may have begun, or ended, in between
    store.close()
    for status in (DONE, FAILED, RUNNING, PENDING):
        count = sum(row["status"] == status for row in rows)
        if count and status == RUNNING and not held:
            print(f"{count} cut off, of a sweep that was killed: scripts/sweep resume {folder}")
        elif count:
            print(f"{count} {status}")
    for row in rows:
        if row["status"] == FAILED:
            lines = (row["error"] or "").strip().split("\n")
            print(f"\n{describe(row)}\n  " + "\n  ".join(lines))
    if not rows:
        print("no points")
    return 0


def _table_command(arguments):
    folder, own = _folder_and_options(
        arguments, dict.fromkeys(("columns", "sort", "best", "digits"))
    )
    digits = digits_of(own["digits"])
    if own["sort"] and own["best"]:
        raise BadUse("--best: orders the table, as --sort does; allowed: one of them")
    store = Store(folder)
    rows, columns = store.rows(), [name for name in store.columns if name not in UNSEEN]
    if own["columns"]:
        columns = [column_of(store, "columns", name) for name in own["columns"].split(",")]
    if own["best"]:
        rows, _ = best_first(rows, column_of(store, "best", own["best"]))
    elif own["sort"]:
        wanted = own["sort"].split(",")
        named = [("-" * (name[:1] == "-"), name.lstrip("-")) for name in wanted]
        rows = in_order(rows, [down + column_of(store, "sort", name) for down, name in named])
    else:
        rows = usual_order(rows)
    store.close()
    writer = csv.writer(sys.stdout, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows([rounded(row[name], digits) for name in columns] for row in rows)
    sys.stdout.flush()
    return 0


def column_of(store, option, name):
    # As it is written, or as an option: names of jobs are in columns as they are.
    for wanted in (name.lower(), option_name(name).lower()):
        for column in store.columns:
            if column.lower() == wanted:
                return column
    known = [column for column in store.columns if column not in UNSEEN]
    raise BadUse(
        f"--{option}={name}: no such column{nearest(name, known)}; scripts/sweep table DIR"
        " shows all"
    )


def _plot_command(arguments):
    folder, own = _folder_and_options(
        arguments, dict.fromkeys(PLOTTING)
    )
    store = Store(folder)
    for name in ("x", "y"):
        if own[name] is None:
            raise BadUse(f"--{name}=NAME is missing: a column; scripts/sweep table DIR shows all")
    x, y = column_of(store, "x", own["x"]), column_of(store, "y", own["y"])
    by = [column_of(store, "by", name) for name in own["by"].split(",")] if own["by"] else []
    rows, chosen = _where(store, own["where"])
    store.close()
    log = own["log"].split(",") if own["log"] else []
    if set(log) - {"x", "y"}:
        raise BadUse(f"--log={own['log']}: allowed: x, y, or x,y")
    name = (
        f"{y}-over-{x}"
        + (f"-by-{'-'.join(by)}" if by else "")
        + "".join(f"-{column}-{value}" for column, value in chosen)
    )
    file = own["out"] or os.path.join(folder, f"{name}.png".replace("/", "_"))
    if not file.endswith((".png", ".svg", ".pdf")):
        raise BadUse(f"--out={file}: allowed: a name that ends in .png, .svg or .pdf")
    check_new_file("--out", file)
    from ..plots.sweep import draw

    print(draw(rows, x, y, by, log, file))
    return 0


def _where(store, text):
    """(rows, [(column, value)]): the rows with these values; all without --where."""
    rows, chosen = store.rows(), []
    for part in split_values(text, "where") if text else []:
        name, equals, value = part.partition("=")
        if not equals:
            raise BadUse(f"--where={text}: allowed: NAME=VALUE, such as --where=k=4,nic=100GbE")
        column = column_of(store, "where", name)
        known = sorted({str(row[column]) for row in rows if row[column] is not None})
        rows = [
            row
            for row in rows
            if row[column] is not None and as_number(str(row[column])) == as_number(value)
        ]
        if not rows:
            raise BadUse(
                f"--where={part}: no such point; {column} has"
                f" {', '.join(known[:20]) or 'no values'}"
                + nearest(value, known)
            )
        chosen.append((column, value))
    return rows, chosen
