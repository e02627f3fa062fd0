# SPDX-License-Identifier: GPL-2.0-only
"""A sweep: its folder, which may be new, its points run, its table."""

import os
import shutil
import sys

from .. import programs
from ..amounts import counted
from .arguments import runs_at_once
from .errors import BadUse
from .lock import Lock
from .places import LocalPlace
from .points import option_name
from .progress import Show
from .runner import Runner, read_stats
from .showing import varying
from .slurm import SlurmPlace, cancel_old
from .store import DATABASE, DONE, FAILED, PENDING, RUNNING, Store, changed_file, options_of


def open_sweep(folder, keep):
    """The folder of a sweep, which may be new: (lock, store), with what was cut off put right."""
    try:
        os.makedirs(folder, exist_ok=True)
        if not os.path.exists(os.path.join(folder, DATABASE)) and os.path.exists(
            os.path.join(folder, "runs")
        ):
            raise BadUse(
                f"--out={folder}: has a folder runs, but no {DATABASE}; allowed: a new folder, or"
                " an earlier sweep's"
            )
        lock = Lock(folder)
    except OSError as error:
        # of a folder to make
        why = "is no folder" if isinstance(error, FileExistsError) else error.strerror
        raise BadUse(f"--out={folder}: {why}") from None
    try:
        store = Store(folder, create=True)
    except BadUse:
        lock.release()
        raise
    cancel_old(folder)
    _put_right(folder, store, keep)
    return lock, store


def _put_right(folder, store, keep):
    """What a sweep that was killed has left: runs that were done or cut off, and folders nobody
    asked for.
    """
    runs = os.path.join(folder, "runs")
    for row in store.rows():
        if row["status"] == RUNNING:
            name = str(row["id"])
            stats = read_stats(os.path.join(runs, name))
            if stats and stats.get("completed"):  # it was done; only the row was not written
                store.finish(
                    row["id"], DONE, 0, None, stats, os.path.join("runs", name) if keep else None
                )
            else:
                store.change(row["id"], status=PENDING)
    kept = {os.path.basename(row["folder"]) for row in store.rows() if row["folder"]}
    for name in os.listdir(runs) if os.path.isdir(runs) else []:
        if name.isdigit() and name not in kept:
            shutil.rmtree(os.path.join(runs, name), ignore_errors=True)


def _refuse_changed(out, rows):
    """Points that are done are of files as they were."""
    for row in rows:
        name = changed_file(row) if row["status"] == DONE else None
        if name:
            raise BadUse(
                f"--out={out}: {name} has changed since point {row['id']} was run with it; choose"
                " another folder"
            )


def run(
    program,
    points,
    out,
    jobs=None,
    keep=False,
    retry_failed=False,
    quiet=False,
    on="local",
    slurm_options=None,
):
    """Run points, dictionaries of options, as scripts/sweep does: what is done is skipped. Returns
    a data frame.

    run("dltrain", [{"zero": zero, "model": "bloom560m"} for zero in range(4)], out="zero-sweep")

    on="slurm": as tasks of a cluster; slurm_options as sbatch takes them.
    """
    points = [
        {
            option_name(name): programs.text(value)
            for name, value in point.items()
            if value is not None
        }
        for point in points
    ]
    stopped_by, numbers = run_points(
        program, points, out, jobs, keep, retry_failed, quiet, on, slurm_options
    )
    if stopped_by:
        raise KeyboardInterrupt(f"the sweep was stopped; what is done is kept in {out}")
    frame = read(out)
    return frame[frame["id"].isin(numbers)].reset_index(drop=True)


def read(folder):
    """All rows of a sweep as a data frame, without the text of stats.json."""
    import pandas

    store = Store(os.fspath(folder))
    try:
        columns = [name for name in store.columns if name not in ("point", "stats", "files")]
        return pandas.DataFrame(
            [tuple(row[name] for name in columns) for row in store.rows()], columns=columns
        )
    finally:
        store.close()


def run_points(
    program, points, out, jobs, keep, retry_failed, quiet, on="local", slurm_options=None
):
    """(signal that stopped it or 0, ids). points None: all that the folder has; jobs None: as many
    as there are cores for.
    """
    folder = os.path.abspath(os.fspath(out))
    lock, store = open_sweep(folder, keep)
    try:
        if points is None:
            numbers = [row["id"] for row in store.rows()]
        else:
            with store.db:  # all of them, or none
                numbers = list(
                    dict.fromkeys(store.add(program, point, os.getcwd()) for point in points)
                )
        rows = {row["id"]: row for row in store.rows()}
        _refuse_changed(out, [rows[number] for number in numbers])
        waiting = [
            number
            for number in numbers
            if rows[number]["status"] == PENDING
            or (retry_failed and rows[number]["status"] == FAILED)
        ]
        for name in {rows[number]["program"] for number in waiting}:
            programs.find(name)  # else each point would fail for it
        if on == "slurm" and waiting:
            found = programs.find(rows[waiting[0]]["program"])
            place = SlurmPlace(folder, slurm_options, jobs, found, quiet)
        else:
            jobs = jobs or runs_at_once(options_of(rows[number]) for number in waiting)
            place = LocalPlace(lock, jobs)
        done = sum(rows[number]["status"] == DONE for number in numbers)
        names = varying([options_of(rows[number]) for number in numbers])
        show = Show(len(numbers), done, len(numbers) - len(waiting) - done, quiet, names)
        if not quiet:
            print(
                (
                    f"{counted(len(numbers), 'point')} in {out}: {done} done, {show.failed} failed,"
                    f" {len(waiting)} to run"
                    + (f", {jobs} at a time" if on == "local" else ", by Slurm")
                ),
                file=sys.stderr,
                flush=True,
            )
        runner = Runner(folder, store, place, keep, show)
        runner.run(waiting)
        try:
            os.rmdir(os.path.join(folder, "runs"))
        except OSError:  # has kept results, or was never made
            pass
        return runner.stopped_by, numbers
    finally:
        store.close()
        lock.release()
