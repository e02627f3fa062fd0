# SPDX-License-Identifier: GPL-2.0-only
"""Options of a sweep that change nothing, so that nobody looks for a reason in a flat line."""

from ..flat import repeatable
from .launching import column_of
from .store import BOOK_KEEPING, DONE, object_of, options_of


def without_effect(store, rows):
    """Those options whose values all give the same numbers, wherever points that are done differ in
    one of them alone.
    """
    done = [row for row in rows if row["status"] == DONE]
    if len(done) < 2:
        return []
    stats = object_of(store.row(done[0]["id"]), "stats")
    points = [options_of(row) for row in done]
    given = sorted({name for point in points for name in point})
    no_result = {*BOOK_KEEPING, *(column_of(name).lower() for name in given)}
    columns = enumerate(done[0].keys())
    numbers = {name: place for place, name in columns if name.lower() not in no_result}
    places = repeatable(numbers, stats).values()
    different = {}  # results, by a number
    results = [
        different.setdefault(tuple(row[place] for place in places), len(different)) for row in done
    ]
    return [name for name in given if _changes_nothing(name, points, results)]


def _changes_nothing(option, points, results):
    alike = {}  # by the other options: the values of this one, and what came out
    for point, result in zip(points, results):
        others = frozenset(item for item in point.items() if item[0] != option)
        values, came_out = alike.setdefault(others, (set(), set()))
        values.add(point.get(option))
        came_out.add(result)
    compared = [came_out for values, came_out in alike.values() if len(values) > 1]
    return bool(compared) and all(len(came_out) == 1 for came_out in compared)
