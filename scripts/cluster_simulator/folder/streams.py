# SPDX-License-Identifier: GPL-2.0-only
"""The files of a run's folder read some megabytes at a time, whatever their size, and by Python
alone.

What cannot be read is said in words and never raised: half of a run is worth a page.
"""

import csv
import io
import math
import os

from .opening import Unreadable, open_text, read_json

LONGEST_TIME_US = 1e13  # a hundred days: no time of a run is later
MOST_ROWS = 2000000  # of a table; the programs write a million at most
BLOCK = 1 << 22  # characters read at a time
LONGEST_ROW = 1 << 16  # a line longer than that is none of a program's


class Streams:
    """The files of a folder. `problems`: what could not be read, and why."""

    def __init__(self, folder):
        self.folder = folder
        self.problems = []

    def path(self, name):
        return os.path.join(self.folder, name)

    def json(self, name):
        """The object that a file holds, or None."""
        try:
            return read_json(self.path(name))
        except Unreadable as why:
            self.problems.append(f"{name} cannot be read: {why}")
            return None

    def open(self, name):
        """The file, or None if there is none, which is a problem unless the program does not write
        it.
        """
        try:
            return open_text(self.path(name))
        except Unreadable as why:
            self.problems.append(f"{name} cannot be read: {why}")
            return None

    def lines(self, name, file):
        """Its lines, as far as they are of a length that a program writes."""
        for lines in blocks(file, name, self.problems):
            yield from lines

    def columns(self, name, fields):
        """Columns of some 50,000 rows at a time, by the names in the first line: converting columns
        is what Python does fast. More of them may have come than `fields`.
        """
        file = self.open(name)
        if not file:
            return
        with file:
            broken, rows, found = 0, 0, None
            for lines in blocks(file, name, self.problems):
                if found is None:
                    found = lines.pop(0).rstrip("\r\n").split(",")
                    if found[: len(fields)] != fields:
                        self.problems.append(
                            f"{name} has other columns than {','.join(fields)}: not shown"
                        )
                        return
                columns, bad = _columns(lines, len(found)) if lines else (None, 0)
                broken += bad
                if columns:
                    rows += len(columns[0])
                    yield dict(zip(found, columns))
                if rows > MOST_ROWS:
                    self.problems.append(
                        f"{name} has more than {MOST_ROWS:,} rows: those after them are left out"
                    )
                    break
            if broken:
                self.problems.append(
                    f"{name}: {broken} broken row{'s' if broken > 1 else ''} left out"
                )

    def numbers(self, name, column, most=1e15):
        """Its values; what is none, or out of any range that a run has (0 to `most`), counts as 0,
        and that is said once.
        """
        try:
            values = list(map(float, column))
            if not values or (
                0 <= min(values) and max(values) <= most and math.isfinite(sum(values))
            ):
                return values
        except ValueError:
            pass
        problem = f"{name}: values that are no numbers of a run count as 0"
        if problem not in self.problems:
            self.problems.append(problem)
        return [value if 0 <= value <= most else 0.0 for value in map(number, column)]


def blocks(file, name, problems):
    """Lists of whole lines, some megabytes at a time; a last one that was cut off too. A line
    longer than LONGEST_ROW is left out, and never held in memory.
    """
    rest, skipping, long = "", False, 0
    while True:
        try:
            text = file.read(BLOCK)
        except OSError as error:
            problems.append(f"{name} cannot be read: {error.strerror}")
            text = ""
        ends = not text
        if skipping:
            newline = text.find("\n")
            if newline < 0 and not ends:
                continue
            text, skipping = text[newline + 1 :], False
        whole = rest + text
        end = len(whole) if ends else whole.rfind("\n") + 1
        rest = whole[end:]
        lines = list(io.StringIO(whole[:end], newline="\n"))
        if len(rest) > LONGEST_ROW:
            rest, skipping, long = "", True, long + 1
        if lines and max(map(len, lines)) > LONGEST_ROW:
            long += sum(len(line) > LONGEST_ROW for line in lines)
            lines = [line for line in lines if len(line) <= LONGEST_ROW]
        if lines:
            yield lines
        if ends:
            break
    if long:
        problems.append(
            f"{name}: {long} line{'s' if long > 1 else ''} of more than {LONGEST_ROW:,} characters"
            " left out"
        )


def _columns(lines, fields):
    """Columns of these CSV lines, and how many were broken. Hardly a file has a quoted field: then
    one split does it for all lines, three times as fast as the csv module.
    """
    text = "".join(lines)
    if '"' not in text and text.endswith("\n"):
        parts = text.replace("\r", "").replace("\n", ",").split(",")
        if len(parts) == fields * len(lines) + 1 and _is_number(parts[-1 - fields]) == _is_number(
            parts[0]
        ):
            return [parts[i:-1:fields] for i in range(fields)], 0
    lines = [line.replace("\r", "").replace("\0", "") for line in lines]
    try:
        rows = list(csv.reader(lines))
    except (
        csv.Error
    ):  # a quotation mark that nothing closes takes all that follows: each line by itself then
        rows = [row for line in lines for row in _row(line)]
    whole = [row for row in rows if len(row) == fields]
    return list(zip(*whole)), len(rows) - len(whole)


def _row(line):
    try:
        return list(csv.reader([line]))
    except csv.Error:
        return [[]]


def _is_number(text):
    return text.replace(".", "", 1).isdigit()


def number(text):
    try:
        value = float(text)
        return value if math.isfinite(value) else 0.0
    except ValueError:
        return 0.0
