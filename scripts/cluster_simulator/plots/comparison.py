# SPDX-License-Identifier: GPL-2.0-only
"""One scenario under several congestion controls: the picture of scripts/compare."""

import matplotlib.ticker
import numpy

from ..port_classes import held_up, paused, port_class
from . import style as p
from .traffic import has_groups, jain_panel, jain_rows, need, quantiles_of, slowdown_panels


LONGEST_NAME = 12  # letters beside a bar: of four panels in a row none may lose its room to names


def bars(axis, items, values, label, factor=1.0, names=None):
    """A bar a run from the top down, with its value; the first panel names the runs."""
    places = numpy.arange(len(items))
    values = [value / factor for value in values]
    axis.barh(places, values, color=[item.colour for item in items], height=0.7)
    most = max(values) or 1.0
    for place, value in zip(places, values):
        axis.text(value + 0.02 * most, place, p.digits(value), va="center", fontsize=6.5)
    axis.set_yticks(places, names or [""] * len(items))
    axis.set_ylim(len(items) - 0.4, -0.6)
    axis.set_xlim(0, 1.3 * most)
    axis.xaxis.set_major_locator(matplotlib.ticker.MaxNLocator(4))
    axis.grid(False, axis="y")
    axis.set_xlabel(label)


def draw_comparison(items, width):
    """Slowdown by size, queues, pauses and use of links, Jain's index over time: a colour a run.

    A panel that would be empty is left out, and the picture says why.
    """
    items = need(
        items, has_groups, "no flow sizes with slowdowns (slowdown.csv is missing or empty)"
    )
    quantiles, left_out = quantiles_of(items)
    jain, no_jain = jain_of(items)
    measures, no_measures = measures_of(items)
    left_out += no_jain + no_measures
    panels = [len(quantiles) + len(jain), len(measures)]
    # Three over four leave the layout no room to work in: of four places one stays free.
    places = [count if count and max(panels) % count == 0 else max(panels) for count in panels]
    # Names that are too long for a place beside the bars are numbers there; the legend has both.
    numbered = any(len(p.text(item.label)) > LONGEST_NAME for item in items)
    names = [str(i) if numbered else p.text(item.label) for i, item in enumerate(items, 1)]
    heights = [1.9 + 0.12 * -(-len(items) // 3), 0.35 + 0.2 * len(items)]
    rows = list(zip(heights, places))
    figure, axes = p.make_panels(width, rows if measures else rows[:1])
    above, below = axes[: places[0]], axes[places[0] :]
    for axis in above[panels[0] :] + below[panels[1] :]:
        axis.remove()
    kinds = slowdown_panels(above, items, quantiles)
    for axis, draw in zip(above[len(quantiles) :], jain):
        draw(axis)
    p.run_legend(above[0], items, width, marked=True, more=kinds, numbered=numbered)
    for axis in above[1 : panels[0]]:
        p.no_legend(axis, above[0])
    for place, (axis, (label, factor, values)) in enumerate(zip(below, measures)):
        bars(axis, items, values, label, factor, None if place else names)
    p.say_left_out(figure, left_out)
    return figure


def jain_of(items):
    """([what draws Jain's index into an axis], [why it is left out])"""
    with_jain = [item for item in items if jain_rows(item)["jain"].notna().any()]
    if with_jain:
        last = max(jain_rows(item)["time_us"].max() for item in with_jain)
        factor, unit = p.unit_for(last, p.TIMES)

        def draw(axis):
            jain_panel(axis, with_jain, factor)
            p.time_axis(axis, unit, "time")

        return [draw], []
    if all(jain_mean(item.run) is None for item in items):
        return [], ["Jain's index: not measured (--rate-interval)"]
    return [lambda axis: mean_jain_panel(axis, items)], []


def measures_of(items):
    """([(label, factor, a value for each run)], [why others are left out]) of the bars."""
    shown, left_out = [], []

    def measure(what, none, values, units=((1, "%"),)):
        """`none`: what there is nothing of, if all values are 0."""
        if any(values):
            factor, unit = p.unit_for(max(values), units)
            shown.append((f"{what} ({unit})", factor, values))
        else:
            left_out.append(none)

    for kind, where in (("switch_to_host", "to hosts"), ("switch_to_switch", "in the fabric")):
        if any(kind in (item.run.stats.get("port_classes") or {}) for item in items):
            queues = [port_class(item.run, "queue_bytes", "p99", kind) for item in items]
            none = f"queue {where}: none in 99% of the time"
            measure(f"queue {where}, p99", none, queues, p.BYTES)
        else:
            left_out.append(f"queue {where}: no such ports")
    pauses = [100 * (paused(item.run) or 0) for item in items]
    held = f"ports {held_up(item.run for item in items)}"
    measure(held, f"{held}: none", pauses, ((1, "% of time"),))
    use = [100 * port_class(item.run, "utilization") for item in items]
    measure("use of links to hosts", "use of links to hosts: none", use)
    return shown, left_out


def jain_mean(run):
    """Of stats.json, as the table has it; None if it is not there."""
    value = (run.stats.get("fairness") or {}).get("jain_mean")
    return value if isinstance(value, (int, float)) else None


def mean_jain_panel(axis, items):
    """Where no run has Jain's index over time: the mean of each, a mark a run."""
    for place, item in enumerate(items):
        value = jain_mean(item.run)
        if value is not None:
            axis.plot([place], [value], marker=item.marker, color=item.colour, linestyle="none")
    axis.set_xlim(-0.6, len(items) - 0.4)
    axis.set_ylim(0, 1.04)
    axis.set_xticks([])
    axis.set_xlabel("mean; none over time")
    axis.set_ylabel("Jain's index (1: fair)")
