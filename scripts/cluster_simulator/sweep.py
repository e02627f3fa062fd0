# SPDX-License-Identifier: GPL-2.0-only
"""scripts/sweep: runs a grid or a list of options in parallel and keeps all results in one SQLite file.

A folder holds sweep.sqlite (table runs, a row for each point), sweep.lock, and runs/ID while a point runs. The row says
how a point stands: pending, running, done or failed. Each change is one transaction, so that a sweep can be killed at
any time: what was running is then simply not done. The runs die with their sweep, and hold its lock as long as they
live, so that nothing runs twice.
"""

import csv
import difflib
import fcntl
import itertools
import json
import os
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
import threading
import time

from . import programs
from .errors import InvalidInput, ProgramNotFound, SimulatorError, missing_library
from .files import parse_json, read_text
from .flat import flat
from .shown import complaint

HELP = """sweep - many runs of a program, in parallel, into one SQLite file

Usage
  scripts/sweep PROGRAM --out=DIR [--OPTION=VALUE,VALUE,... ...]   run every combination of the values
  scripts/sweep PROGRAM --out=DIR --points=FILE [--OPTION=...]     run a list from a file
  scripts/sweep resume DIR                                         run what is not done yet
  scripts/sweep status DIR                                         how many points are done; what failed
  scripts/sweep table DIR [--columns=NAME,...]                     the results as CSV
  scripts/sweep plot DIR --x=NAME --y=NAME [--by=NAME,...]         one column over another

PROGRAM is dltrain, collperf or traffic; its options: ./ns3 run "PROGRAM --help". A comma separates
values; a value that has commas itself stands in brackets: --bytes=[1MB,2MB],4MB is two values.
--recompute is --recompute=1, --no-pfc is --pfc=0.

Running
  --out=DIR         folder of the sweep. The same folder again: what is done is skipped, the rest is
                    run, new points are added
  --points=FILE     .csv: a column for each option, a row for each point, an empty cell leaves the
                    option out. .json: a list of objects, each a point, {"zero": 2, "bytes": ["1MB",
                    "2MB"]}; or one object whose lists are a grid, {"zero": [0, 1], "bytes":
                    [["1MB", "2MB"], "4MB"]}. Options of the command line apply to each point
  --jobs=N          runs at a time [default: as many as there are cores]
  --retry-failed    run failed points again; otherwise they stay failed
  --keep            keep all result files of each run in DIR/runs/ID, for plots and reports
  --dry-run         list the points; run nothing, write nothing

Plotting
  --x, --y, --by    columns: an option (zero, micro_batch) or a number of stats.json (step_time_us,
                    fct_us_p99); a line for each value of --by. Where several points share a place,
                    the line is their mean and each is a dot
  --where=NAME=VALUE,...
                    only the points that were run with these
  --out=FILE        .png, .svg or .pdf [default: DIR/Y-over-X.png, with -by-BY and -NAME-VALUE]
  --log=x|y|x,y     logarithmic axes

Exit status: 0 all points done, 2 bad input, 3 some points failed, 130 stopped by Ctrl-C.
"""

PROGRAM_NAMES = programs.NAMES
BOOK_KEEPING = (
    "id",
    "program",
    "point",
    "options",
    "cwd",
    "status",
    "attempts",
    "exit_status",
    "error",
    "stats",
    "folder",
)
DATABASE = "sweep.sqlite"
PENDING, RUNNING, DONE, FAILED = "pending", "running", "done", "failed"


class BadUse(SimulatorError):
    """Exit status 2, one line."""


# ---- points


def split_values(text, option):
    """ "a,[b,c],d" -> ["a", "b,c", "d"]"""
    parts, depth, start = [], 0, 0
    for place, character in enumerate(text + ","):
        depth += {"[": 1, "]": -1}.get(character, 0)
        if depth < 0:
            break
        if character == "," and depth == 0:
            parts.append(text[start:place])
            start = place + 1
    if depth != 0:
        raise BadUse(
            f"--{option}={text}: brackets do not match; a value that has commas stands in brackets: [1MB,2MB],4MB"
        )
    values = [part[1:-1] if part.startswith("[") and part.endswith("]") else part for part in parts]
    if "" in values:
        raise BadUse(f"--{option}={text}: an empty value; allowed: values with a comma between each two")
    return values


def option_name(name):
    return name if name.startswith("ns3::") else name.replace("-", "_")


def grid(values):
    """{"zero": ["0", "1"], "k": ["4"]} -> [{"zero": "0", "k": "4"}, {"zero": "1", "k": "4"}]"""
    return [dict(zip(values, chosen)) for chosen in itertools.product(*values.values())]


def read_points(path):
    """The points of a CSV or JSON file."""
    try:
        content = read_text(path)
    except (OSError, ValueError) as error:
        raise BadUse(f"--points={path}: {getattr(error, 'strerror', None) or error}") from None
    is_json = content.lstrip()[:1] in ("[", "{")
    points = _points_of_json(path, content) if is_json else _points_of_csv(path, content)
    if not points:
        raise BadUse(f"--points={path}: no points in it")
    for number, point in enumerate(points, 1):
        if any("\0" in name + value for name, value in point.items()):
            raise BadUse(f"--points={path}: point {number} has a NUL character, which no option can have")
    return points


def _points_of_csv(path, content):
    rows = csv.reader(content.splitlines(), strict=True)
    try:
        names = [option_name(name.strip().lstrip("-")) for name in next(rows, [])]
        points = []
        for row in rows:
            if len(row) > len(names):
                raise BadUse(
                    f"--points={path}: line {rows.line_num} has {len(row)} fields, the first line names {len(names)}; "
                    'a value that has commas stands in quotes: "1MB,2MB"'
                )
            if any(field.strip() for field in row):
                points.append({name: field.strip() for name, field in zip(names, row) if field.strip()})
    except csv.Error as error:
        raise BadUse(f"--points={path}: line {rows.line_num}: {error}") from None
    if "" in names or len(set(names)) < len(names):
        raise BadUse(f"--points={path}: the first line names the options, each once")
    return points


def _points_of_json(path, content):
    try:
        data = parse_json(content)
    except ValueError as error:
        raise BadUse(f"--points={path}: no JSON: {error}") from None

    def text(name, value):
        try:
            return programs.text(value)
        except InvalidInput as error:
            raise BadUse(f"--points={path}: /{name}: {error}") from None

    if isinstance(data, dict):
        values = {
            option_name(name): [text(name, item) for item in (value if isinstance(value, list) else [value])]
            for name, value in data.items()
        }
        empty = [name for name, items in values.items() if not items]
        if empty:
            raise BadUse(f"--points={path}: {empty[0]!r} has no values")
        return grid(values)
    if not all(isinstance(point, dict) for point in data):
        raise BadUse(f'--points={path}: a list of objects is wanted, such as [{{"zero": 0}}, {{"zero": 1}}]')
    return [
        {option_name(name): text(name, value) for name, value in point.items() if value is not None}
        for point in data
    ]


def key_of(program, point):
    return json.dumps([program, dict(sorted(point.items()))])


# ---- the database


class Store:
    """sweep.sqlite. Columns beside the book-keeping: options of the points, and numbers of stats.json of those done."""

    def __init__(self, folder, create=False):
        self.path = os.path.join(folder, DATABASE)
        if not create and not os.path.isfile(self.path):
            raise BadUse(
                f"{folder}: no {DATABASE} in this folder; it is no sweep's (--out=DIR of an earlier scripts/sweep)"
            )
        try:
            self.db = sqlite3.connect(self.path, timeout=60)
            self.db.row_factory = sqlite3.Row
            if create:
                with self.db:
                    self.db.execute(
                        "CREATE TABLE IF NOT EXISTS runs (id INTEGER PRIMARY KEY, program TEXT NOT NULL, "
                        "point TEXT NOT NULL UNIQUE, options TEXT NOT NULL, cwd TEXT NOT NULL, status TEXT NOT NULL, "
                        "attempts INTEGER NOT NULL DEFAULT 0, exit_status INTEGER, error TEXT, stats TEXT, folder TEXT)"
                    )
            self.columns = [row["name"] for row in self.db.execute("PRAGMA table_info(runs)")]
        except sqlite3.Error as error:
            raise BadUse(f"{self.path}: {error}") from None
        if not {"id", "program", "point", "options", "cwd", "status", "error", "folder"} <= set(self.columns):
            raise BadUse(f"{self.path}: not written by scripts/sweep")

    def close(self):
        self.db.close()

    def add(self, program, point, cwd):
        """The id of a point, which is new or not."""
        key = key_of(program, point)
        self.db.execute(
            "INSERT OR IGNORE INTO runs (program, point, options, cwd, status) VALUES (?, ?, ?, ?, ?)",
            (program, key, json.dumps(point), cwd, PENDING),
        )
        number = self.db.execute("SELECT id FROM runs WHERE point = ?", (key,)).fetchone()["id"]
        self._set(number, {name: as_number(value) for name, value in point.items()})
        return number

    def change(self, number, **values):
        """One transaction."""
        with self.db:
            self._set(number, values, book_keeping=True)

    def finish(self, number, status, exit_status, error, stats, folder):
        row = self.row(number)
        given = options_of(row)
        results = flat(stats) if status == DONE and stats else {}
        with self.db:
            # What a point was given counts, where a result has the same name: "gpus".
            self._set(number, {name: value for name, value in results.items() if name not in given})
            self._set(
                number,
                {
                    "status": status,
                    "exit_status": exit_status,
                    "error": error,
                    "stats": json.dumps(stats) if stats else None,
                    "folder": folder,
                },
                book_keeping=True,
            )

    def row(self, number):
        return self.db.execute("SELECT * FROM runs WHERE id = ?", (number,)).fetchone()

    def rows(self):
        """All of them, without the long texts."""
        wanted = ", ".join(quoted(name) for name in self.columns if name not in ("point", "stats"))
        found = self.db.execute(f"SELECT {wanted} FROM runs ORDER BY id").fetchall()
        for row in found:
            self._check(row)
        return found

    def _check(self, row):
        """The types are SQLite's only where its users keep to them: another's file may hold anything."""
        options_of(row)
        fits = {
            "status": row["status"] in (DONE, FAILED, RUNNING, PENDING),
            "program": row["program"] in PROGRAM_NAMES,
            **{name: isinstance(row[name], (str, type(None))) for name in ("error", "folder", "cwd")},
        }
        for name in row.keys():
            if not fits.get(name, True) or isinstance(row[name], bytes):
                raise damaged(row, name)

    def _set(self, number, values, book_keeping=False):
        columns = {self._column(name, book_keeping): value for name, value in values.items()}
        if columns:
            self.db.execute(
                f"UPDATE runs SET {', '.join(f'{quoted(name)} = ?' for name in columns)} WHERE id = ?",
                [*columns.values(), number],
            )

    def _column(self, name, book_keeping):
        """A column's name, which may be new. SQLite does not tell capital letters from small ones."""
        if book_keeping:
            return name
        if name.lower() in BOOK_KEEPING:
            name += "_"
        for column in self.columns:
            if column.lower() == name.lower():
                return column
        self.db.execute(f"ALTER TABLE runs ADD COLUMN {quoted(name)}")
        self.columns.append(name)
        return name


def quoted(name):
    return '"' + name.replace('"', '""') + '"'


def as_number(text):
    for kind in (int, float):
        try:
            value = kind(text)
            return value if abs(value) < 2**63 else text  # "inf" and "nan" stay words
        except (ValueError, OverflowError):
            pass
    return text


# ---- the lock


class Lock:
    """One sweep at a time in a folder. Its runs inherit the lock: it is free when the last of them has ended too."""

    def __init__(self, folder):
        self.file = open(os.path.join(folder, "sweep.lock"), "a+", encoding="utf-8")
        wait_until = time.monotonic() + 10
        while True:
            try:
                fcntl.flock(self.file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except OSError:
                self.file.seek(0)
                owner = self.file.read().strip()
                if _alive(owner):
                    raise BadUse(f"{folder}: another sweep (process {owner}) is working in this folder") from None
                if time.monotonic() > wait_until:  # those of a sweep that was killed end within a moment
                    raise BadUse(
                        f"{folder}: runs of a sweep that was killed are still going; wait, or end them"
                    ) from None
                time.sleep(0.1)
        self.file.truncate(0)
        self.file.write(str(os.getpid()))
        self.file.flush()

    def release(self):
        self.file.truncate(0)
        self.file.close()

    @staticmethod
    def is_held(folder):
        """Whether a sweep works in the folder, or a run of one that was killed is still going."""
        try:
            with open(os.path.join(folder, "sweep.lock"), encoding="utf-8") as file:
                fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except FileNotFoundError:
            return False
        except OSError:
            return True
        return False


def _alive(process):
    if not process.isdigit():
        return False
    try:
        os.kill(int(process), 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        pass
    return True


# ---- running


class Runner:
    """Runs points, several at a time, from one thread: the runs are to die with it."""

    def __init__(self, folder, store, lock, jobs, keep, show):
        self.folder, self.store, self.lock, self.jobs, self.keep, self.show = folder, store, lock, jobs, keep, show
        self.running = {}  # id: (process, its standard error, when it began)
        self.stopped_by = 0
        self.signals = 0

    def run(self, numbers):
        """Until all are done or failed, or a signal comes."""
        waiting = list(numbers)
        main_thread = threading.current_thread() is threading.main_thread()  # others never see signals
        before = {
            number: signal.signal(number, self._on_signal)
            for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
            if main_thread and not (number == signal.SIGHUP and signal.getsignal(number) == signal.SIG_IGN)  # nohup
        }
        try:
            while self.running or (waiting and not self.stopped_by):
                while waiting and len(self.running) < self.jobs and not self.stopped_by:
                    self._start(waiting.pop(0))
                self._collect()
                self.show.state(len(waiting), self.running, self.jobs)
                time.sleep(0.03)
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)
            for process, _, _ in self.running.values():  # only after an exception
                process.kill()
                process.wait()
            self.show.clear()

    def _on_signal(self, number, _):
        self.stopped_by = self.stopped_by or number
        self.signals += 1
        for process, _, _ in list(self.running.values()):
            process.send_signal(signal.SIGINT if self.signals == 1 else signal.SIGKILL)

    def _start(self, number):
        row = self.store.row(number)
        out = self._out(number)
        shutil.rmtree(out, ignore_errors=True)
        self.store.change(
            number, status=RUNNING, attempts=row["attempts"] + 1, exit_status=None, error=None, folder=None
        )
        point = options_of(row)
        said = tempfile.TemporaryFile()
        try:
            command = programs.dies_with_us("KILL") + [programs.find(row["program"])]
            command += programs.words({**point, "out": out, "progress": False})
            process = subprocess.Popen(
                command,
                cwd=row["cwd"],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=said,
                start_new_session=True,
                pass_fds=[self.lock.file.fileno()],
            )
        except (OSError, ProgramNotFound) as error:
            self._end(number, FAILED, None, f"cannot be started: {error}", None, 0)
            return
        self.running[number] = (process, said, time.monotonic())
        if self.stopped_by:  # the signal came while it was being started
            process.send_signal(signal.SIGINT)

    def _collect(self):
        for number, (process, said, begin) in list(self.running.items()):
            status = process.poll()
            if status is None:
                continue
            del self.running[number]
            said.seek(0)
            messages = said.read().decode("utf-8", "replace").splitlines()
            said.close()
            stats = read_stats(self._out(number))
            if status == 0 and stats and stats.get("completed"):
                self._end(number, DONE, 0, None, stats, time.monotonic() - begin)
            elif self.stopped_by:
                self._end(number, PENDING, None, None, None, 0)
            else:
                self._end(number, FAILED, status, why_failed(status, messages), stats, time.monotonic() - begin)

    def _end(self, number, status, exit_status, error, stats, seconds):
        keep = self.keep and status != PENDING and os.path.isdir(self._out(number))
        self.store.finish(
            number, status, exit_status, error, stats, os.path.join("runs", str(number)) if keep else None
        )
        if not keep:
            shutil.rmtree(self._out(number), ignore_errors=True)
        self.show.ended(self.store.row(number), seconds)

    def _out(self, number):
        return os.path.join(self.folder, "runs", str(number))


def read_stats(folder):
    try:
        stats = parse_json(read_text(os.path.join(folder, "stats.json")))
    except (OSError, ValueError):
        return None
    return stats if isinstance(stats, dict) else None


def why_failed(status, messages):
    """The program's own words."""
    if status == 2:
        return programs.error_text(messages)
    said = programs.why(messages)
    if status < 0:
        name = signal.Signals(-status).name
        said = f"ended by {name}" + (" (out of memory?)" if name == "SIGKILL" else "") + (f"\n{said}" if said else "")
    return said or (f"exit status {status}" if status else "it left no complete stats.json")


class Show:
    """Progress on standard error: a line for each point that ended; in a terminal, below them, a line that moves."""

    def __init__(self, total, done_before, failed_before, quiet=False):
        self.total, self.done, self.failed = total, done_before, failed_before
        self.seconds = []
        self.quiet = quiet
        self.terminal = not quiet and sys.stderr is not None and sys.stderr.isatty()
        self.last, self.shown, self.eta = 0, False, ""

    def ended(self, row, seconds):
        if row["status"] == PENDING:
            return
        self.done += row["status"] == DONE
        self.failed += row["status"] == FAILED
        if row["status"] == DONE:
            self.seconds.append(seconds)
        if self.quiet:
            return
        self.clear()
        how = f"done in {seconds:.1f} s" if row["status"] == DONE else f"failed: {first_line(row['error'])}"
        print(f"[{self.done + self.failed}/{self.total}] {describe(row)}: {how}{self.eta}", file=sys.stderr, flush=True)

    def state(self, waiting, running, jobs):
        self.eta = self._eta(waiting, running, jobs)
        if not self.terminal or time.monotonic() - self.last < 0.5:
            return
        self.last = time.monotonic()
        text = f"{self.done} of {self.total} done" + (f", {self.failed} failed" if self.failed else "")
        text += f", {len(running)} running{self.eta or ', ETA unknown'}"
        sys.stderr.write("\r\033[K" + text[: shutil.get_terminal_size().columns - 1])
        sys.stderr.flush()
        self.shown = True

    def clear(self):
        if self.shown:
            sys.stderr.write("\r\033[K")
            sys.stderr.flush()
            self.shown = False

    def _eta(self, waiting, running, jobs):
        if not self.seconds or not waiting + len(running):
            return ""
        mean = sum(self.seconds) / len(self.seconds)
        now = time.monotonic()
        left = waiting * mean + sum(max(0.0, mean - (now - begin)) for _, _, begin in running.values())
        return f", ETA {clock(left / min(jobs, waiting + len(running)))}"


def clock(seconds):
    seconds = round(seconds)
    if seconds >= 3600:
        return f"{seconds // 3600}:{seconds // 60 % 60:02}:{seconds % 60:02} h"
    return f"{seconds // 60}:{seconds % 60:02} min" if seconds >= 60 else f"{seconds} s"


def first_line(text):
    return (text or "").strip().split("\n")[0]


def options_of(row):
    """The options of a point, as the database has them."""
    try:
        options = parse_json(row["options"])
    except (TypeError, ValueError):
        options = None
    if not isinstance(options, dict) or not all(isinstance(value, str) for value in options.values()):
        raise damaged(row, "options")
    return options


def damaged(row, column):
    return BadUse(f"{DATABASE}: run {row['id']}: its {column} {'are' if column == 'options' else 'is'} damaged")


def describe(row):
    return row["program"] + "".join(f" {name}={value}" for name, value in options_of(row).items())


def open_sweep(folder, keep):
    """The folder of a sweep, which may be new: (lock, store), with what was cut off put right."""
    try:
        os.makedirs(folder, exist_ok=True)
        if not os.path.exists(os.path.join(folder, DATABASE)) and os.path.exists(os.path.join(folder, "runs")):
            raise BadUse(
                f"--out={folder}: has a folder runs, but no {DATABASE}; allowed: a new folder, or an earlier sweep's"
            )
        lock = Lock(folder)
    except OSError as error:
        raise BadUse(f"--out={folder}: {error.strerror}") from None
    try:
        store = Store(folder, create=True)
    except BadUse:
        lock.release()
        raise
    _put_right(folder, store, keep)
    return lock, store


def _put_right(folder, store, keep):
    """What a sweep that was killed has left: runs that were done or cut off, and folders nobody asked for."""
    runs = os.path.join(folder, "runs")
    for row in store.rows():
        if row["status"] == RUNNING:
            name = str(row["id"])
            stats = read_stats(os.path.join(runs, name))
            if stats and stats.get("completed"):  # it was done; only the row was not written
                store.finish(row["id"], DONE, 0, None, stats, os.path.join("runs", name) if keep else None)
            else:
                store.change(row["id"], status=PENDING)
    kept = {os.path.basename(row["folder"]) for row in store.rows() if row["folder"]}
    for name in os.listdir(runs) if os.path.isdir(runs) else []:
        if name.isdigit() and name not in kept:
            shutil.rmtree(os.path.join(runs, name), ignore_errors=True)


def run(program, points, out, jobs=None, keep=False, retry_failed=False, quiet=False):
    """Run points, dictionaries of options, as scripts/sweep does: what is done is skipped. Returns a data frame.

    run("dltrain", [{"zero": zero, "model": "bloom560m"} for zero in range(4)], out="zero-sweep")
    """
    points = [
        {option_name(name): programs.text(value) for name, value in point.items() if value is not None}
        for point in points
    ]
    stopped_by, numbers = _run(program, points, out, jobs or cores(), keep, retry_failed, quiet)
    if stopped_by:
        raise KeyboardInterrupt(f"the sweep was stopped; what is done is kept in {out}")
    frame = read(out)
    return frame[frame["id"].isin(numbers)].reset_index(drop=True)


def read(folder):
    """All rows of a sweep as a data frame, without the text of stats.json."""
    import pandas

    store = Store(os.fspath(folder))
    try:
        rows = store.rows()
        return pandas.DataFrame(
            [tuple(row) for row in rows], columns=[name for name in store.columns if name not in ("point", "stats")]
        )
    finally:
        store.close()


def _run(program, points, out, jobs, keep, retry_failed, quiet):
    """(signal that stopped it or 0, ids). points None: all that the folder has."""
    folder = os.path.abspath(os.fspath(out))
    lock, store = open_sweep(folder, keep)
    try:
        if points is None:
            numbers = [row["id"] for row in store.rows()]
        else:
            with store.db:  # all of them, or none
                numbers = list(dict.fromkeys(store.add(program, point, os.getcwd()) for point in points))
        rows = {row["id"]: row for row in store.rows()}
        waiting = [
            number
            for number in numbers
            if rows[number]["status"] == PENDING or (retry_failed and rows[number]["status"] == FAILED)
        ]
        for name in {rows[number]["program"] for number in waiting}:
            programs.find(name)  # else each point would fail for it
        done = sum(rows[number]["status"] == DONE for number in numbers)
        show = Show(len(numbers), done, len(numbers) - len(waiting) - done, quiet)
        if not quiet:
            print(
                f"{len(numbers)} points in {out}: {done} done, {show.failed} failed, {len(waiting)} to run, "
                f"{jobs} at a time",
                file=sys.stderr,
                flush=True,
            )
        runner = Runner(folder, store, lock, jobs, keep, show)
        runner.run(waiting)
        try:
            os.rmdir(os.path.join(folder, "runs"))
        except OSError:  # has kept results, or was never made
            pass
        return runner.stopped_by, numbers
    finally:
        store.close()
        lock.release()


def cores():
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


# ---- the command line


def main(arguments):
    try:
        return _main(arguments)
    except (BadUse, InvalidInput, ProgramNotFound) as error:
        print(f"sweep: error: {complaint(error)}", file=sys.stderr)
        return 2
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
    if command in PROGRAM_NAMES:
        return _sweep_command(command, rest)
    commands = {"resume": _resume_command, "status": _status_command, "table": _table_command, "plot": _plot_command}
    if command not in commands:
        names = [*PROGRAM_NAMES, *commands]
        raise BadUse(
            f"{command}: unknown program or command; allowed: {', '.join(names)}{did_you_mean(command, names)}"
        )
    return commands[command](rest)


def did_you_mean(name, names):
    near = difflib.get_close_matches(name, names, 1, 0.5)
    return f"; did you mean {near[0]!r}?" if near else ""


def _sweep_command(program, arguments):
    own, values = {
        "jobs": None,
        "out": None,
        "points": None,
        "retry_failed": False,
        "keep": False,
        "dry_run": False,
    }, {}
    for argument in arguments:
        name, text = _option(argument)
        if name in own:
            _set_own(own, name, text, argument)
        elif name in ("progress", "no_progress", "list", "version"):
            raise BadUse(f"{argument}: has no meaning in a sweep")
        else:
            if text is None:  # --recompute, --no-pfc
                name, text = (name[3:], "0") if name.startswith("no_") else (name, "1")
            if name in values:
                raise BadUse(f"{argument}: given twice; all values go into one: --{name.replace('_', '-')}=A,B")
            values[name] = split_values(text, name.replace("_", "-"))
    if own["out"] is None and not own["dry_run"]:
        raise BadUse("--out=DIR is missing: the folder of the sweep")
    points = grid(values)
    if own["points"] is not None:
        listed = read_points(own["points"])
        twice = [name for name in values if any(name in point for point in listed)]
        if twice:
            raise BadUse(f"--{twice[0].replace('_', '-')}: given twice, here and in {own['points']}")
        points = [{**point, **extra} for point in listed for extra in points]
    for name in ("out", "progress", "dry_run", "help"):
        if any(name in point for point in points):
            raise BadUse(f"--points={own['points']}: {name} is the sweep's own, not an option of a point")
    _refuse_unknown_options(program, points)
    if own["dry_run"]:
        for point in points:
            print(program, *programs.words(point))
        return 0
    stopped_by, numbers = _run(program, points, own["out"], _jobs(own["jobs"]), own["keep"], own["retry_failed"], False)
    return _conclude(own["out"], numbers, stopped_by)


def _option(argument):
    """ "--micro-batch=4" -> ("micro_batch", "4")"""
    if not argument.startswith("--"):
        hint = (
            "; write options in full and with '=': --minbytes=1M"
            if argument.startswith("-")
            else "; options are written with '=': --zero=0,1"
        )
        raise BadUse(f"{argument}: unexpected argument{hint}")
    name, equals, text = argument[2:].partition("=")
    return option_name(name), text if equals else None


def _set_own(own, name, text, argument):
    if isinstance(own[name], bool):
        if text is not None:
            raise BadUse(f"{argument}: takes no value")
        own[name] = True
        return
    if own[name] is not None:
        raise BadUse(f"{argument}: given twice")
    if not text:
        raise BadUse(f"{argument}: needs a value")
    own[name] = text


def _jobs(text):
    if text is None:
        return cores()
    if not text.isascii() or not text.isdigit() or not 1 <= int(text) <= 4096:
        raise BadUse(f"--jobs={text}: allowed: 1 to 4096")
    return int(text)


def _refuse_unknown_options(program, points):
    """A misspelt option would fail every point: the program is asked first. Values are each point's own affair."""
    asked = {name: value for point in points for name, value in point.items()}
    command = [programs.find(program), "--dry-run"] + programs.words(asked)
    ended = subprocess.run(
        command, stdin=subprocess.DEVNULL, capture_output=True, text=True, errors="replace", check=False
    )
    for line in ended.stderr.splitlines():
        if "unknown option" in line:
            raise BadUse(line.split("error: ", 1)[-1])


def _conclude(out, numbers, stopped_by):
    store = Store(out)
    try:
        wanted = set(numbers)
        rows = [row for row in store.rows() if row["id"] in wanted]
    finally:
        store.close()
    count = {status: sum(row["status"] == status for row in rows) for status in (DONE, FAILED, PENDING)}
    print(
        f"{count[DONE]} of {len(rows)} points done"
        + (f", {count[FAILED]} failed" if count[FAILED] else "")
        + f": {os.path.join(out, DATABASE)}"
    )
    if stopped_by:
        print(f"sweep: stopped; {count[PENDING]} points are left: scripts/sweep resume {out}", file=sys.stderr)
        return 128 + stopped_by
    if count[FAILED]:
        print(f"sweep: {count[FAILED]} points failed: scripts/sweep status {out}", file=sys.stderr)
    return 3 if count[FAILED] else 0


def _folder_and_options(arguments, allowed):
    folders = [argument for argument in arguments if not argument.startswith("-")]
    if len(folders) != 1:
        raise BadUse("one folder of a sweep is wanted, such as: scripts/sweep status DIR")
    own = dict(allowed)
    for argument in arguments:
        if argument.startswith("-"):
            name, text = _option(argument)
            if name not in own:
                names = ["--" + known.replace("_", "-") for known in own]
                raise BadUse(
                    f"{argument}: unknown option; allowed: {', '.join(names) or 'none'}"
                    + did_you_mean(argument.partition("=")[0], names)
                )
            _set_own(own, name, text, argument)
    return folders[0], own


def _resume_command(arguments):
    folder, own = _folder_and_options(arguments, {"jobs": None, "retry_failed": False, "keep": False})
    Store(folder).close()  # says so if it is none
    stopped_by, numbers = _run(None, None, folder, _jobs(own["jobs"]), own["keep"], own["retry_failed"], False)
    return _conclude(folder, numbers, stopped_by)


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
    folder, own = _folder_and_options(arguments, {"columns": None})
    store = Store(folder)
    rows, columns = store.rows(), [name for name in store.columns if name not in ("point", "options", "cwd", "stats")]
    if own["columns"]:
        columns = [column_of(store, "columns", name) for name in own["columns"].split(",")]
    store.close()
    writer = csv.writer(sys.stdout, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows([row[name] for name in columns] for row in rows)
    sys.stdout.flush()
    return 0


def column_of(store, option, name):
    for column in store.columns:
        if column.lower() == option_name(name).lower():
            return column
    known = [column for column in store.columns if column not in ("point", "options", "cwd", "stats")]
    raise BadUse(f"--{option}={name}: no such column{did_you_mean(name, known)}; scripts/sweep table DIR shows all")


def _plot_command(arguments):
    folder, own = _folder_and_options(arguments, dict.fromkeys(("x", "y", "by", "where", "out", "log")))
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
    from .plots.sweep import draw

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
        rows = [row for row in rows if row[column] is not None and as_number(str(row[column])) == as_number(value)]
        if not rows:
            raise BadUse(
                f"--where={part}: no such point; {column} has {', '.join(known[:20]) or 'no values'}"
                + did_you_mean(value, known)
            )
        chosen.append((column, value))
    return rows, chosen
