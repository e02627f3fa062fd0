# SPDX-License-Identifier: GPL-2.0-only
"""scripts/sweep plot: one column of a sweep over another."""

import os
import re

import matplotlib

from ..amounts import counted
from ..errors import InvalidInput
from ..files import replaced
from ..sweep.store import options_of
from .style import (
    BROWN,
    COLOURS,
    DASHES,
    DEEP,
    LEAF,
    MARKERS,
    MAROON,
    STYLE,
    VIOLET,
    WIDTH,
    make_figure,
)

# Unit of a column's name: (factor, unit) from the smallest on; the largest that leaves the values
# above one is taken.
SCALES = {
    "us": [(1, "µs"), (1e3, "ms"), (1e6, "s")],
    "bytes": [(1, "B"), (1e3, "kB"), (1e6, "MB"), (1e9, "GB"), (1e12, "TB")],
}
# Seven more than pictures of runs have: a grid has many lines.
LINES = (*COLOURS, MAROON, BROWN, VIOLET, LEAF, "#999999", DEEP, "#FF66CC")
UNITS = {"GBps": "GB/s", "gbps": "Gb/s", "s": "s", "per_s": "1/s"}


def draw(rows, x, y, by, log, file):
    """Write the picture; returns a line that says what is in it."""
    shown = [
        row
        for row in rows
        if row["status"] == "done" and row[x] is not None and isinstance(row[y], (int, float))
    ]
    if not shown:
        done = sum(row["status"] == "done" for row in rows)
        raise InvalidInput(
            f"nothing to plot: {done} of {counted(len(rows), 'point')} done, and none has numbers"
            f" in {y} and a value in {x}"
        )
    for name, axis in ((x, "x"), (y, "y")):
        if axis in log and any(
            not isinstance(row[name], (int, float)) or row[name] <= 0 for row in shown
        ):
            raise InvalidInput(
                f"--log={','.join(log)}: {name} has values that are no numbers above 0"
            )
    figure = _figure(shown, x, y, by, log, len(rows))
    metadata = {"pdf": {"CreationDate": None}, "svg": {"Date": None}, "png": {"Software": None}}[
        file[-3:]
    ]
    with replaced("--out", file) as part, matplotlib.rc_context(STYLE):
        figure.savefig(part, format=file[-3:], bbox_inches="tight", metadata=metadata)
    return f"{file}: {len(shown)} of {counted(len(rows), 'point')}"


def _figure(shown, x, y, by, log, total):
    with matplotlib.rc_context(STYLE):
        return _styled_figure(shown, x, y, by, log, total)


def _styled_figure(shown, x, y, by, log, total):
    figure, axes = make_figure(WIDTH, 3.2)
    ax = axes[0, 0]
    numeric = all(isinstance(row[x], (int, float)) for row in shown) and (
        len({row[x] for row in shown}) > 1 or "x" in log
    )
    places = {
        value: value if numeric else number
        for number, value in enumerate(sorted({row[x] for row in shown}, key=order))
    }
    x_factor, x_label = scale(x, [row[x] for row in shown]) if numeric else (1, label(x))
    y_factor, y_label = scale(y, [row[y] for row in shown])
    repeated = False
    groups = sorted(
        {tuple(row[name] for name in by) for row in shown},
        key=lambda group: [order(value) for value in group],
    )
    for number, group in enumerate(groups):
        points = {}
        for row in shown:
            if tuple(row[name] for name in by) == group:
                points.setdefault(row[x], []).append(row[y] / y_factor)
        values = sorted(points, key=order)
        at = [places[value] / x_factor for value in values]
        look = look_of(number)
        means = [sum(points[value]) / len(points[value]) for value in values]
        ax.plot(
            at,
            means,
            **look,
            markersize=4,
            label=plain(", ".join(f"{label(name)} {text(value)}" for name, value in zip(by, group)))
            or None,
        )
        # several points of one x: each is shown, the line is their mean
        for place, value in zip(at, values):
            if len(points[value]) > 1:
                repeated = True
                ax.plot(
                    [place] * len(points[value]),
                    points[value],
                    color=look["color"],
                    marker=".",
                    linestyle="none",
                    alpha=0.5,
                )
    _dress(ax, places, numeric, x_label, y_label, log, [row[y] / y_factor for row in shown])
    if by:
        ax.legend(loc="upper left", bbox_to_anchor=(1, 1))
    notes = (
        [f"{total - len(shown)} of {total} points have no result and are not shown"]
        if total > len(shown)
        else []
    ) + ([f"lines: means{over(shown, x, by)}; dots: single runs"] if repeated else [])
    if notes:
        figure.text(0.5, -0.05, "; ".join(notes), ha="center", fontsize=7, color="#666666")
    return figure


def look_of(number):
    """Colour, dashes and mark of a line: the next fourteen have the colours again, but other
    dashes.
    """
    turn, place = divmod(number, len(LINES))
    return {
        "color": LINES[place],
        "marker": MARKERS[(place + turn) % len(MARKERS)],
        "linestyle": DASHES[(place + turn) % len(DASHES)],
    }


def over(shown, x, by):
    """What differs between the points that a mean is of."""
    values, points = {}, [options_of(row) for row in shown]
    for point in points:
        for name, value in point.items():
            values.setdefault(name, set()).add(value)
    # (Of --set the options have "{name}", the columns have "name".)
    given = [
        name.strip("{}")
        for name, different in values.items()
        if len(different) + any(name not in point for point in points) > 1
        and name.strip("{}") not in (x, *by)
    ]
    return f" over {', '.join(given)}" if given else ""


def _dress(ax, places, numeric, x_label, y_label, log, values):
    ax.set_xlabel(plain(x_label))
    ax.set_ylabel(plain(y_label))
    if "x" in log:
        ax.set_xscale("log")
    if "y" in log:
        ax.set_yscale("log")
    elif min(values) >= 0:
        ax.set_ylim(0, 1.08 * max(values) or 1)
    if not numeric:
        ax.set_xticks(
            range(len(places)),
            [plain(text(value)) for value in places],
            rotation=30 if max(len(text(value)) for value in places) > 8 else 0,
        )
        ax.set_xlim(-0.4, len(places) - 0.6)
    elif "x" not in log and len(places) <= 8 and all(isinstance(value, int) for value in places):
        ax.set_xticks(
            [value for value in places] if all(value < 1e5 for value in places) else ax.get_xticks()
        )


def scale(name, values):
    """(factor, label): microseconds as ms where that reads better."""
    for unit, steps in SCALES.items():
        found = re.fullmatch(rf"(.+?)_{unit}(_.+)?", name)
        if found:
            largest = max(abs(value) for value in values)
            factor, shown = [step for step in steps if step[0] <= max(largest, 1)][-1]
            return factor, f"{label(found[1] + (found[2] or ''))} ({shown})"
    return 1, label(name)


def label(name):
    """step_time_us is a time in a step; busbw_GBps has a unit behind it."""
    for unit, shown in UNITS.items():
        if name.endswith(f"_{unit}"):
            return f"{name[:-len(unit) - 1].replace('_', ' ')} ({shown})"
    return name.replace("_", " ")


def order(value):
    """Numbers by size, also those with a unit (1MB, 100GbE), then words; 9 before 10."""
    if value is None:
        return (2, 0, "")
    if isinstance(value, (int, float)):
        return (0, value, "")
    found = re.match(r"([\d.]+)\s*([kKMGT]?)", value)
    if found and re.fullmatch(r"\d+(\.\d+)?", found[1]):
        return (
            0,
            float(found[1]) * {"": 1, "k": 1e3, "K": 1e3, "M": 1e6, "G": 1e9, "T": 1e12}[found[2]],
            value,
        )
    return (1, 0, value)


def text(value):
    if value is None:
        return "(default)"
    if isinstance(value, float):
        return f"{value:g}"
    return os.path.basename(value) if isinstance(value, str) and "/" in value else str(value)


def plain(string):
    """matplotlib takes what stands between dollars for a formula."""
    return string.replace("$", r"\$")
