# SPDX-License-Identifier: GPL-2.0-only
"""Bus bandwidth of collectives."""

import matplotlib.lines
import numpy

from ..measures import host_nodes, part
from .style import (
    COLOURS,
    DASHES,
    MARKERS,
    GREY,
    NARROW,
    NothingToShow,
    are_binary,
    byte_ticks,
    heading,
    legend_above,
    make_figure,
    text,
    widen_log,
)


MOST_CURVES = 28  # as many as colours and dashes tell apart


def draw_busbw(items, width):
    curves = []
    for item in items:
        groups = {}
        for one in item.run.stats.get("collectives") or []:
            if one.get("busbw_GBps") and one.get("bytes"):
                groups.setdefault((one.get("op", "?"), one.get("algorithm", "")), []).append(
                    (one["bytes"], one["busbw_GBps"])
                )
        curves += [(item, op, algorithm, sorted(points)) for (op, algorithm), points in sorted(groups.items())]
    if not curves:
        raise NothingToShow("no collective was measured (dltrain and collperf have them)")
    curves = curves[:MOST_CURVES]
    lines = len(curves) if width < NARROW else -(-len(curves) // 2)
    figure, axes = make_figure(width, max(2.1, min(width * 0.48, 3.2)) + 0.2 + 0.14 * lines, 1, 1)
    axis = axes[0][0]
    single = len(items) == 1
    handles, labels = [], []
    for number, (item, op, algorithm, points) in enumerate(curves):
        colour = COLOURS[number % 7] if single else item.colour
        operations_of_run = [curve for curve in curves if curve[0] is item]
        place = number if single else operations_of_run.index(curves[number])
        look = {"linestyle": DASHES[place % len(DASHES)], "marker": MARKERS[place % len(MARKERS)], "markersize": 3}
        sizes = numpy.unique([size for size, _ in points])
        low, mean, high = (
            numpy.array([how([bw for s, bw in points if s == size]) for size in sizes])
            for how in (min, lambda x: sum(x) / len(x), max)
        )
        axis.plot(sizes, mean, color=colour, **look)
        axis.vlines(sizes, low, high, color=colour, linewidth=0.8)
        handles.append(matplotlib.lines.Line2D([], [], color=colour, **look))
        name = f"{op} ({algorithm})" if algorithm else op
        labels.append(text(name if single else f"{item.label}: {name}", 48))
    everything = [point for curve in curves for point in curve[3]]
    widen_log(axis, "x", [size for size, _ in everything], 4)
    axis.set_xscale("log", base=2)
    byte_ticks(axis, "x", binary=are_binary([size for size, _ in everything]))
    axis.set_ylim(0, max(bw for _, bw in everything) * 1.12)
    line = line_rate(items)
    if line:
        axis.axhline(line, color=GREY, linewidth=0.8, linestyle=(0, (1, 1.5)))
        axis.set_ylim(0, max(line, max(bw for _, bw in everything)) * 1.12)
        axis.annotate(
            f"{8 * line:g} Gb/s, the NICs of a server",
            (0.01, line),
            (0, 2),
            xycoords=("axes fraction", "data"),
            textcoords="offset points",
            fontsize=6.5,
            color=GREY,
        )
    axis.set_xlabel("size of the collective")
    axis.set_ylabel("bus bandwidth (GB/s)")
    legend_above(axis, handles, labels, width)
    heading(figure, items)
    return figure


def line_rate(items):
    """GB/s of a server's NICs if all runs have the same, else None."""
    rates = set()
    for item in items:
        links = item.run.links()
        cluster = part(item.run.stats, "configuration", "cluster")
        hosts = host_nodes(item.run)
        rates |= {
            rate / 8 * int(cluster.get("nics_per_server") or 1)
            for rate in links.loc[links["from"].isin(hosts), "rate_gbps"].unique()
        }
    return rates.pop() if len(rates) == 1 else None
