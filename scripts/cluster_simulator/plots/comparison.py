# SPDX-License-Identifier: GPL-2.0-only
"""One scenario under several congestion controls: the picture of scripts/compare."""

import numpy

from . import style as p
from .traffic import jain_panel, need, slowdown_panels


def bars(axis, items, values, label, factor=1.0):
    """A bar a run, in its colour: the legend above says which."""
    places = numpy.arange(len(items))
    axis.bar(places, [value / factor for value in values], color=[item.colour for item in items], width=0.7)
    axis.set_xticks([])
    axis.set_ylabel(label)
    axis.set_xlim(-0.6, len(items) - 0.4)
    axis.set_ylim(bottom=0)
    if not any(values):
        axis.set_ylim(0, 1)
        axis.set_yticks([0])


def draw_comparison(items, width):
    """Slowdown by size, queues, pauses and use of links, Jain's index over time: a colour a run."""
    items = need(items, lambda run: run.slowdowns(), "no flow sizes with slowdowns (slowdown.csv is missing or empty)")
    figure, axes = p.make_figure(width, 4.0 + 0.16 * -(-len(items) // 4), 2, 4)
    slowdown_panels(axes[0, :3], items)
    with_jain = [item for item in items if len(item.run.fairness())]
    if with_jain:
        factor, unit = p.unit_for(max(item.run.fairness()["time_us"].max() for item in with_jain), p.TIMES)
        jain_panel(axes[0, 3], with_jain, factor)
        p.time_axis(axes[0, 3], unit, "time")
    else:
        axes[0, 3].set_visible(False)
    p.run_legend(axes[0, 0], items, width)
    for axis in axes[0, 1:]:
        axis.set_title("\n" * axes[0, 0].get_title().count("\n") + " ", fontsize=p.STYLE["legend.fontsize"])
    for axis, kind, where in (
        (axes[1, 0], "switch_to_host", "to hosts"),
        (axes[1, 1], "switch_to_switch", "in the fabric"),
    ):
        queues = [port_class(item.run, "queue_bytes", "p99", kind) for item in items]
        factor, unit = p.unit_for(max(queues), p.BYTES)
        bars(axis, items, queues, f"queue {where}, p99 ({unit})", factor)
    bars(axes[1, 2], items, [100 * paused(item.run) for item in items], "ports paused by PFC (%)")
    bars(axes[1, 3], items, [100 * port_class(item.run, "utilization") for item in items], "use of links to hosts (%)")
    return figure


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
    return sum(c.get("ports", 0) * c.get("pause_share", 0) for c in classes) / ports if ports else 0.0
