# SPDX-License-Identifier: GPL-2.0-only
"""One scenario under several congestion controls: the picture of scripts/compare."""

import matplotlib.ticker
import numpy

from . import style as p
from .traffic import has_groups, jain_panel, need, slowdown_panels


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


def no_bars(axis, label, why):
    axis.set_xticks([])
    axis.set_yticks([])
    axis.set_xlabel(label)
    axis.text(
        0.5, 0.5, why, transform=axis.transAxes, ha="center", va="center", color=p.GREY, fontsize=7
    )


def draw_comparison(items, width):
    """Slowdown by size, queues, pauses and use of links, Jain's index over time: a colour a run."""
    items = need(
        items, has_groups, "no flow sizes with slowdowns (slowdown.csv is missing or empty)"
    )
    with_jain = [item for item in items if len(item.run.fairness())]
    columns = 4  # in both rows: three over four leave the layout no room to work in
    # Names that are too long for a place beside the bars are numbers there; the legend has both.
    numbered = any(len(p.text(item.label)) > LONGEST_NAME for item in items)
    names = [str(i) if numbered else p.text(item.label) for i, item in enumerate(items, 1)]
    figure, axes = p.make_panels(
        width, [(1.9 + 0.12 * -(-len(items) // 3), columns), (0.35 + 0.2 * len(items), 4)]
    )
    above, below = axes[:columns], axes[columns:]
    kinds = slowdown_panels(above[:3], items)
    if with_jain:
        factor, unit = p.unit_for(
            max(item.run.fairness()["time_us"].max() for item in with_jain), p.TIMES
        )
        jain_panel(above[3], with_jain, factor)
        p.time_axis(above[3], unit, "time")
    elif all(jain_mean(item.run) is None for item in items):
        no_bars(above[3], "Jain's index", "not measured\n(--rate-interval)")
    else:
        mean_jain_panel(above[3], items)
    p.run_legend(above[0], items, width, marked=True, more=kinds, numbered=numbered)
    for axis in above[1:]:
        p.no_legend(axis, above[0])
    for axis, kind, where in (
        (below[0], "switch_to_host", "to hosts"),
        (below[1], "switch_to_switch", "in the fabric"),
    ):
        queues = [port_class(item.run, "queue_bytes", "p99", kind) for item in items]
        if not any(kind in (item.run.stats.get("port_classes") or {}) for item in items):
            no_bars(axis, f"queue {where}", "no such ports")
            continue
        factor, unit = p.unit_for(max(queues), p.BYTES)
        named = names if axis is below[0] else None
        bars(axis, items, queues, f"queue {where}, p99 ({unit})", factor, named)
    bars(below[2], items, [100 * paused(item.run) for item in items], "ports paused (% of time)")
    bars(
        below[3],
        items,
        [100 * port_class(item.run, "utilization") for item in items],
        "use of links to hosts (%)",
    )
    return figure


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


def port_class(run, key, part=None, kind="switch_to_host"):
    """A number of stats.json's port_classes; 0 if it is not there."""
    value = ((run.stats.get("port_classes") or {}).get(kind) or {}).get(key, 0)
    if part is not None:
        value = value.get(part, 0) if isinstance(value, dict) else 0
    return float(value or 0)


def paused(run):
    """Share of the time in which PFC held a port, mean over all ports."""
    classes = [c for c in (run.stats.get("port_classes") or {}).values() if isinstance(c, dict)]
    ports = sum(c.get("ports", 0) for c in classes)
    return (
        sum(c.get("ports", 0) * c.get("pause_share", 0) for c in classes) / ports if ports else 0.0
    )
