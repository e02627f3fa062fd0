# SPDX-License-Identifier: GPL-2.0-only
"""sweep.sqlite: a row for each point, which says how it stands and, when it is done, what came
out.
"""

import functools
import hashlib
import json
import os
import sqlite3

from .. import programs
from ..files import parse_json
from ..flat import flat
from .errors import BadUse
from .launching import column_of

DATABASE = "sweep.sqlite"
MEMORY = "gpu_memory_peak"  # in stats.json
PENDING, RUNNING, DONE, FAILED = "pending", "running", "done", "failed"
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
    "files",
)
LARGEST = 2**26  # bytes of a file that is read for its digest


class Store:
    """sweep.sqlite. Columns beside the book-keeping: options of the points, and numbers of
    stats.json of those done.
    """

    def __init__(self, folder, create=False):
        self.path = os.path.join(folder, DATABASE)
        if not create and not os.path.isfile(self.path):
            raise BadUse(
                f"{folder}: no {DATABASE} in this folder; it is no sweep's (--out=DIR of an earlier"
                " scripts/sweep)"
            )
        try:
            self.db = sqlite3.connect(self.path, timeout=60)
            self.db.row_factory = sqlite3.Row
            if create:
                with self.db:
                    self.db.execute(
                        "CREATE TABLE IF NOT EXISTS runs (id INTEGER PRIMARY KEY, program TEXT NOT"
                        " NULL, point TEXT NOT NULL UNIQUE, options TEXT NOT NULL, cwd TEXT NOT"
                        " NULL, status TEXT NOT NULL, attempts INTEGER NOT NULL DEFAULT 0,"
                        " exit_status INTEGER, error TEXT, stats TEXT, folder TEXT, files TEXT)"
                    )
            self.columns = [row["name"] for row in self.db.execute("PRAGMA table_info(runs)")]
            if create and "id" in self.columns and "files" not in self.columns:  # older sweeps
                with self.db:
                    self.db.execute("ALTER TABLE runs ADD COLUMN files TEXT")
                self.columns.append("files")
        except sqlite3.Error as error:
            raise BadUse(f"{self.path}: {error}") from None
        if not {"id", "program", "point", "options", "cwd", "status", "error", "folder"} <= set(
            self.columns
        ):
            raise BadUse(f"{self.path}: not written by scripts/sweep")

    def close(self):
        self.db.close()

    def add(self, program, point, cwd):
        """The id of a point, which is new or not."""
        key = key_of(program, point)
        self.db.execute(
            (
                "INSERT OR IGNORE INTO runs (program, point, options, cwd, status) VALUES (?, ?, ?,"
                " ?, ?)"
            ),
            (program, key, json.dumps(point), cwd, PENDING),
        )
        number = self.db.execute("SELECT id FROM runs WHERE point = ?", (key,)).fetchone()["id"]
        self._set(number, {column_of(name): as_number(value) for name, value in point.items()})
        return number

    def change(self, number, **values):
        """One transaction."""
        with self.db:
            self._set(number, values, book_keeping=True)

    def finish(self, number, status, exit_status, error, stats, folder):
        row = self.row(number)
        given = {column_of(name) for name in options_of(row)}
        # Of a script that failed the memory that it took until then says by how much.
        told = stats if status == DONE else {name: (stats or {}).get(name) for name in (MEMORY,)}
        results = flat({name: value for name, value in (told or {}).items() if value is not None})
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
        """The types are SQLite's only where its users keep to them: another's file may hold
        anything.
        """
        options_of(row)
        fits = {
            "status": row["status"] in (DONE, FAILED, RUNNING, PENDING),
            "program": row["program"] in programs.NAMES,
            **{
                name: isinstance(row[name], (str, type(None)))
                for name in ("error", "folder", "cwd", "files")
                if name in row.keys()  # older sweeps have no files
            },
        }
        for name in row.keys():
            if not fits.get(name, True) or isinstance(row[name], bytes):
                raise damaged(row, name)

    def _set(self, number, values, book_keeping=False):
        columns = {self._column(name, book_keeping): value for name, value in values.items()}
        if columns:
            self.db.execute(
                (
                    f"UPDATE runs SET {', '.join(f'{quoted(name)} = ?' for name in columns)} WHERE"
                    " id = ?"
                ),
                [*columns.values(), number],
            )

    def _column(self, name, book_keeping):
        """A column's name, which may be new. SQLite does not tell capital letters from small
        ones.
        """
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


@functools.lru_cache(maxsize=1024)
def _digest(path, written):
    """Of a file as it was at that time: thousands of points may name the same one."""
    with open(path, "rb") as file:
        return hashlib.sha256(file.read()).hexdigest()


def files_of(options, cwd):
    """{name: digest} of the files that options name."""
    found = {}
    for value in options.values():
        for name in value.split(","):
            if "." not in name and "/" not in name:  # a number, or the name of a preset
                continue
            path = os.path.join(cwd, name)
            try:
                if os.path.isfile(path) and os.path.getsize(path) <= LARGEST:
                    found[name] = _digest(path, os.stat(path).st_mtime_ns)
            except (OSError, ValueError):  # it is no name of a file, or was none of ours to read
                pass
    return found


def changed_file(row):
    """The name of a file that is another one now than when this point was run; None: there is
    none.
    """
    if "files" not in row.keys() or not row["files"]:
        return None
    now = files_of(options_of(row), row["cwd"] or "")
    was = object_of(row, "files")
    return next((name for name, digest in was.items() if now.get(name, digest) != digest), None)


def key_of(program, point):
    return json.dumps([program, dict(sorted(point.items()))])


def options_of(row):
    """The options of a point, as the database has them."""
    options = object_of(row, "options")
    if not all(isinstance(value, str) for value in options.values()):
        raise damaged(row, "options")
    return options


def object_of(row, column):
    """The JSON object that a column holds."""
    try:
        value = parse_json(row[column])
    except (TypeError, ValueError):
        value = None
    if not isinstance(value, dict):
        raise damaged(row, column)
    return value


def damaged(row, column):
    return BadUse(
        f"{DATABASE}: run {row['id']}: its"
        f" {column} {'are' if column == 'options' else 'is'} damaged"
    )


def describe(row, names=None):
    """The point in words; `names` are the options that tell it from others."""
    return row["program"] + "".join(
        f" {column_of(name)}={value}"
        for name, value in options_of(row).items()
        if names is None or name in names
    )
