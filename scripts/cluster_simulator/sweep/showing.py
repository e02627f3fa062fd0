# SPDX-License-Identifier: GPL-2.0-only
"""Rows of a sweep for people: what varies, in which order, with how many digits, and the best."""

import re

from .errors import BadUse
from .launching import column_of
from .store import BOOK_KEEPING, DONE, describe, options_of

DIGITS = 6
# Of these numbers of stats.json more is better; of times, bytes, losses and slowdowns less is.
MORE_IS_BETTER = re.compile(
    r"_gbps|_gbytes_per_s|_per_s\b|_per_core_s|tflops|mfu|efficiency|jain|goodput|utilization|gain",
    re.IGNORECASE,
)


def varying(points):
    """Names of the options that points differ in, in their order; of a single point all."""
    names = list(dict.fromkeys(name for point in points for name in point))
    return [name for name in names if len({point.get(name) for point in points}) > 1] or names


def digits_of(text):
    if text is None:
        return DIGITS
    if not text.isascii() or not text.isdigit() or not 1 <= int(text) <= 17:
        raise BadUse(f"--digits={text}: allowed: 1 to 17")
    return int(text)


def rounded(value, digits):
    """A number with so many digits, and never 1e+06; anything else as it is."""
    if not isinstance(value, float):
        return value
    short = float(f"{value:.{digits}g}")
    return int(short) if short.is_integer() and abs(short) < 1e15 else short


def key(value):
    """Numbers before words before nothing."""
    return (value is None, isinstance(value, str), value if value is not None else 0)


def in_order(rows, columns):
    """By columns, the first one first; "-NAME" from the largest."""
    for column in reversed(columns):
        down, name = column.startswith("-"), column.lstrip("-")
        known = [row for row in rows if row[name] is not None]
        rows = sorted(known, key=lambda row: key(row[name]), reverse=down) + [
            row for row in rows if row[name] is None
        ]
    return rows


def usual_order(rows):
    """By the options that vary."""
    names = varying([options_of(row) for row in rows]) if rows else []
    known = {name.lower(): name for name in rows[0].keys()} if rows else {}
    columns = [known.get(column_of(name).lower()) for name in names]
    return in_order(rows, [column for column in columns if column])


def best_first(rows, column):
    """Points that are done, the best by a number of stats.json first, and the word for it."""
    options = {column_of(name).lower() for row in rows for name in options_of(row)}
    if column.lower() in options or column.lower() in BOOK_KEEPING:
        raise BadUse(f"--best={column}: is no result; allowed: a number of stats.json")
    done = [row for row in rows if row["status"] == DONE and row[column] is not None]
    if not done or isinstance(done[0][column], str):
        raise BadUse(f"--best={column}: no point that is done has this number")
    largest = bool(MORE_IS_BETTER.search(column))
    return in_order(done, [("-" if largest else "") + column]), "largest" if largest else "smallest"


def best_text(rows, column):
    """ "best step_time_us (smallest): 447138, dltrain zero=2" """
    (first, *_), word = best_first(rows, column)
    names = varying([options_of(row) for row in rows])
    return f"best {column} ({word}): {rounded(first[column], DIGITS)}, {describe(first, names)}"
