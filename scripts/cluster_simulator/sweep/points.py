# SPDX-License-Identifier: GPL-2.0-only
"""Points of a sweep, dictionaries of options: from the command line's values, a CSV or a JSON
file.
"""

import csv
import itertools

from .. import programs
from ..errors import InvalidInput
from ..files import parse_json, read_text
from .errors import BadUse


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
            f"--{option}={text}: brackets do not match; a value that has commas stands in brackets:"
            " [1MB,2MB],4MB"
        )
    values = [part[1:-1] if part.startswith("[") and part.endswith("]") else part for part in parts]
    if "" in values:
        raise BadUse(
            f"--{option}={text}: an empty value; allowed: values with a comma between each two"
        )
    return values


def option_values(text, option):
    """Values of a program's option: "0,1" are two; "link-down,at=1ms", which has a '=', is one."""
    depth = 0
    for character in text:
        depth += {"[": 1, "]": -1}.get(character, 0)
        if character == "=" and depth == 0:
            return [text]
    return split_values(text, option)


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
            raise BadUse(
                f"--points={path}: point {number} has a NUL character, which no option can have"
            )
    return points


def _points_of_csv(path, content):
    rows = csv.reader(content.splitlines(), strict=True)
    try:
        names = [option_name(name.strip().lstrip("-")) for name in next(rows, [])]
        points = []
        for row in rows:
            if len(row) > len(names):
                raise BadUse(
                    f"--points={path}: line {rows.line_num} has {len(row)} fields, the first line"
                    f' names {len(names)}; a value that has commas stands in quotes: "1MB,2MB"'
                )
            if row and len(row) < len(names) and any(field.strip() for field in row):
                raise BadUse(
                    f"--points={path}: line {rows.line_num} has {len(row)} of the"
                    f" {len(names)} fields that the first line names; an empty one leaves the"
                    " option out"
                )
            if any(field.strip() for field in row):
                points.append(
                    {name: field.strip() for name, field in zip(names, row) if field.strip()}
                )
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
            option_name(name): [
                text(name, item) for item in (value if isinstance(value, list) else [value])
            ]
            for name, value in data.items()
        }
        empty = [name for name, items in values.items() if not items]
        if empty:
            raise BadUse(f"--points={path}: {empty[0]!r} has no values")
        return grid(values)
    if not all(isinstance(point, dict) for point in data):
        raise BadUse(
            f'--points={path}: a list of objects is wanted, such as [{{"zero": 0}}, {{"zero": 1}}]'
        )
    return [
        {option_name(name): text(name, value) for name, value in point.items() if value is not None}
        for point in data
    ]
