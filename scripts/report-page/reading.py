# SPDX-License-Identifier: GPL-2.0-only
"""Files of a results folder that anybody may have written: read within bounds, and nothing in them is believed.

What cannot be read is said in words and never raised: half of a run is worth a page.
"""

import io
import json
import math
import os

LONGEST_TIME_US = 1e13  # a hundred days: no time of a run is later
MOST_ROWS = 2000000     # of a table; the programs write a million at most
BLOCK = 1 << 22         # characters read at a time
LONGEST_ROW = 1 << 16   # a line longer than that is none of a program's
DEEPEST = 8             # objects in objects, in stats.json
MOST_ENTRIES = 2000     # of an object or a list in it; `collectives` is cut by who shows it
LONGEST_TEXT = 20000    # a message of a stuck run names hundreds of queue pairs


def open_file(path):
    """(the file as text, or None; why it cannot be read). A file that is not there is no reason."""
    if not os.path.lexists(path):
        return None, ""
    if not os.path.isfile(path):  # a pipe would let us wait for ever
        return None, "it is no regular file"
    try:
        return open(path, encoding="utf-8", errors="replace", newline=""), ""
    except OSError as error:
        return None, error.strerror


def read_json(path, most_bytes):
    """(what it holds, a dictionary, or None; why it cannot be read)"""
    file, why = open_file(path)
    if not file:
        return None, why
    with file:
        try:
            if os.fstat(file.fileno()).st_size > most_bytes:
                return None, f"it has more than {most_bytes >> 20} MiB"
            value = json.load(file)
        except RecursionError:
            return None, "it is nested too deeply"
        except (OSError, ValueError) as error:
            return None, cut(error)
    return (value, "") if isinstance(value, dict) else (None, "it is no JSON object")


def blocks(file, name, problems):
    """Lists of whole lines, some megabytes at a time; a last one that was cut off too. A line longer than LONGEST_ROW
    is left out, and never held in memory."""
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
            text, skipping = text[newline + 1:], False
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
        problems.append(f"{name}: {long} line{'s' if long > 1 else ''} of more than {LONGEST_ROW:,} characters left out")


def bounded(value, problems, depth=0, key=""):
    """The same, within what a page holds and JavaScript can read: no number beyond a double, no text and no list without end."""
    if isinstance(value, dict):
        if depth == DEEPEST:
            return None
        return {cut(name): bounded(part, problems, depth + 1, name) for name, part in list(value.items())[:MOST_ENTRIES]}
    if isinstance(value, list):
        if depth == DEEPEST:
            return None
        most = 50 * MOST_ENTRIES if key == "collectives" else MOST_ENTRIES
        return [bounded(part, problems, depth + 1) for part in value[:most]]
    if isinstance(value, str):
        return cut(value, LONGEST_TEXT)
    if isinstance(value, (int, float)) and not isinstance(value, bool) and not is_number(value):
        problems.append(f"stats.json: {cut(key) or 'a value'} is no number that a run has: left out")
        return None
    return value


def is_number(value):
    """One that a result can be."""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return False
    return -(1 << 70) < value < 1 << 70 if isinstance(value, int) else math.isfinite(value) and abs(value) < 1e30


def is_count(value):
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= 10**15


def cut(text, most=160):
    text = str(text)
    return text if len(text) <= most else text[: most - 1] + "\u2026"
