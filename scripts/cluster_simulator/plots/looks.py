# SPDX-License-Identifier: GPL-2.0-only
"""How a picture that is drawn differs from the usual one, if somebody asks: logarithmic axes, a
range of the y axis, no caption.
"""

import re
from collections import namedtuple

from ..amounts import BYTES, TIMES
from .style import NothingToShow

# y: ((number, unit), (number, unit)) of the first panel's y axis, and of panels like it; or None.
# log: "", "x", "y" or "xy". caption: words over and below a picture that tell what it shows.
Looks = namedtuple("Looks", "y log caption", defaults=(None, "", True))


def dress(figure, looks):
    """Change a drawn figure. Raises NothingToShow if an axis cannot be as it is asked for."""
    for which in looks.log:
        make_log(figure, which)
    if looks.y:
        first = figure.axes[0].get_ylabel()
        ends = [on_axis(number, unit, first) for number, unit in looks.y]
        for axis in figure.axes:
            if axis.get_ylabel() == first:
                axis.set_ylim(*ends)
    if not looks.caption:
        figure.suptitle("")
        figure.supxlabel("")
    return figure


def on_axis(number, unit, label):
    """A number with a unit as the axis of this label has it. Its unit follows from the data, so
    bytes and times need one of their own, or pictures of several runs would not compare.
    """
    unit = {"us": "µs"}.get(unit, unit)
    found = re.search(r"\(([^()]*)\)$", label)
    named = found.group(1) if found else ""
    for units in (BYTES, TIMES):
        factors = {name: factor for factor, name in units}
        if named in factors:
            if unit in factors:
                return number * factors[unit] / factors[named]
            if unit or number:
                allowed = ", ".join(name for _, name in units)
                raise NothingToShow(f"'{label}' needs a unit in --y-range: {allowed}")
    if unit and unit != named:
        raise NothingToShow(f"'{label}' is no axis of {unit} (--y-range)")
    return number


def make_log(figure, which):
    """Axes of lines become logarithmic, but for shares in %. Zeros cannot be drawn: gaps."""
    found = False
    for axis in figure.axes:
        values = [
            value
            for line in axis.get_lines()
            if line.get_transform() == axis.transData
            for value in getattr(line, f"get_{which}data")()
            if value > 0
        ]
        share = which == "y" and axis.get_ylabel().endswith("(%)")
        if share or not values or not len(getattr(axis, f"get_{which}ticks")()):
            continue
        found = True
        getattr(axis, f"set_{which}scale")("log", nonpositive="mask")
        low, high = min(values), max(values)
        getattr(axis, f"set_{which}lim")(low / 1.2, max(high, 1.01 * low) * 1.2)
    if not found:
        raise NothingToShow(f"no lines to draw on a logarithmic {which} axis (--log)")
