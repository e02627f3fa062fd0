# SPDX-License-Identifier: GPL-2.0-only
"""Lines of a CSV file of somebody else's: what is wrong is told with file, line, column and value.

No import of anything that is not Python's own: scripts/nccl-tables and scripts/published.
"""

import csv
import math
import re
import sys

from .errors import InvalidInput
from .files import refuse_no_file
from .shown import shown

LEAST, MOST = 1e-9, 1e15  # of a measured time or rate: nothing is infinite that is made of it


class Line:
    """A line, by column."""

    def __init__(self, path, number, values):
        self.path = path
        self.number = number
        self.values = values

    def raw(self, column):
        """The text of a column, "" if there is none."""
        return (self.values.get(column) or "").strip()

    def text(self, column):
        value = self.raw(column)
        if not value:
            self.refuse(column, "a value")
        return value

    def count(self, column, default=None):
        """A whole number from 1 on; `default`, if given, where the column is empty."""
        if default is not None and not self.raw(column):
            return default
        text = self.text(column)
        if not re.fullmatch("0*[1-9][0-9]{0,15}", text, re.ASCII):
            self.refuse(column, "a whole number from 1 on")
        return int(text)

    def positive(self, column, of):
        """A number above 0; `of` says what it counts, "seconds"."""
        try:
            value = float(self.text(column))
        except ValueError:
            value = math.nan
        if not LEAST <= value <= MOST:
            self.refuse(column, f"a number of {of} above 0, {LEAST:g} to {MOST:g}")
        return value

    def known(self, column, pattern, taken):
        """Says of a text that has nothing of `pattern` in it what it is `taken` for: tables of
        others have remarks in their cells, of which no list is complete.
        """
        if self.raw(column) and not re.search(pattern, self.raw(column), re.I):
            print(
                f"{self.path}: line {self.number}: {column}={shown(self.raw(column))} is not "
                f"known: taken for {taken}",
                file=sys.stderr,
            )

    def refuse(self, column, allowed):
        raise InvalidInput(
            f"{self.path}: line {self.number}: {column}={shown(self.values.get(column) or '')}; "
            f"allowed: {allowed}"
        )


def read(path, kind, use):
    """What use(columns) gives for each line, which is a function of one: read(path, "is no table of
    collectives", use). `use` may refuse the columns.
    """
    table = None
    try:
        refuse_no_file(path)
        with open(path, newline="", encoding="utf-8-sig") as file:
            table = csv.DictReader(file)
            names = table.fieldnames or []
            twice = [name for name in names if names.count(name) > 1]
            if twice:
                raise InvalidInput(f"{path}: line 1: the column {shown(twice[0])} stands twice")
            each = use(names)
            for values in table:
                if None in values:  # the rest of a line, which a comma without quotes cuts
                    raise InvalidInput(
                        f"{path}: line {table.line_num}: has more fields than the {len(names)} of"
                        " the first line; fields with commas stand in quotes"
                    )
                yield each(Line(path, table.line_num, values))
    except InvalidInput:
        raise
    except UnicodeDecodeError:
        raise InvalidInput(f"{path}: is no {kind}: is no UTF-8 text") from None
    except (OSError, ValueError) as error:  # ValueError: a name with a NUL
        why = getattr(error, "strerror", None) or "cannot be read"
        raise InvalidInput(f"{path}: {why}") from None
    except csv.Error as error:
        raise InvalidInput(f"{path}: line {table.line_num}: is no {kind}: {error}") from None


def columns(path):
    """Names of the columns of a file; none of one that is no table: read() says what is wrong."""
    try:
        refuse_no_file(path)
        with open(path, newline="", encoding="utf-8-sig") as file:
            return csv.DictReader(file).fieldnames or []
    except (InvalidInput, OSError, ValueError, csv.Error):
        return []
