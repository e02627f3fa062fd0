# SPDX-License-Identifier: GPL-2.0-only
"""How a picture that is drawn differs from the usual one, if somebody asks: logarithmic axes, a
range of the y axis, no caption.
"""

from collections import namedtuple

from .style import NothingToShow

# y: (from, to) of the first panel's y axis, in the numbers on it, and of panels like it; or None.
# log: "", "x", "y" or "xy". caption: words over and below a picture that tell what it shows.
Looks = namedtuple("Looks", "y log caption", defaults=(None, "", True))


def dress(figure, looks):
    """Change a drawn figure. Raises NothingToShow if an axis cannot be as it is asked for."""
    for which in looks.log:
        make_log(figure, which)
    if looks.y:
        first = figure.axes[0]
        for axis in figure.axes:
            if axis.get_ylabel() == first.get_ylabel():
                axis.set_ylim(*looks.y)
    if not looks.caption:
        figure.suptitle("")
        figure.supxlabel("")
    return figure


def make_log(figure, which):
    """Axes of lines become logarithmic. Zeros cannot be drawn: they are below the axis."""
    found = False
    for axis in figure.axes:
        values = [
            value
            for line in axis.get_lines()
            if line.get_transform() == axis.transData
            for value in getattr(line, f"get_{which}data")()
            if value > 0
        ]
        if not values or not len(getattr(axis, f"get_{which}ticks")()):
            continue
        found = True
        getattr(axis, f"set_{which}scale")("log")
        low, high = min(values), max(values)
        getattr(axis, f"set_{which}lim")(low / 1.2, max(high, 1.01 * low) * 1.2)
    if not found:
        raise NothingToShow(f"no lines to draw on a logarithmic {which} axis (--log)")
