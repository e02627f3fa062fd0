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
    are_binary,
    byte_ticks,
    each_job,
    heading,
    legend_above,
    make_figure,
    say_left_out,
    shown_of,
    text,
    widen_log,
)


WHY_NOT = "no collective was measured (dltrain and collperf have them)"
MOST_CURVES = 28  # as many as colours and dashes tell apart
FAR = 4  # times the highest point: beyond that a line of the hardware is told in words


def has_busbw(item):
    own = item.run.stats.get("collectives") or []
    return any(one.get("busbw_GBps") and one.get("bytes") for one in own)


def draw_busbw(items, width):
    items = shown_of(items, has_busbw, WHY_NOT + each_job(items))
    curves = []
    for item in items:
        groups = {}
        own = item.run.stats.get("collectives") or []
        compared = (item.run.stats.get("compared") or []) if own else []
        for one in [*own, *compared]:
            if one.get("busbw_GBps") and one.get("bytes"):
                # A choice of --compare is one curve, whatever it takes at each size; "table" is
                # what the run itself takes, as in collectives.csv.
                what = one.get("choice", "table") if compared else one.get("algorithm", "")
                groups.setdefault((one.get("op", "?"), what), []).append(
                    (one["bytes"], one["busbw_GBps"])
                )
        # Choices in the order in which they were named.
        curves += [
            (item, op, what, sorted(points))
            for (op, what), points in (groups.items() if compared else sorted(groups.items()))
        ]
    more, curves = curves[MOST_CURVES:], curves[:MOST_CURVES]
    lines = len(curves) if width < NARROW else -(-len(curves) // 2)
    figure, axes = make_figure(width, max(2.1, min(width * 0.48, 3.2)) + 0.2 + 0.14 * lines, 1, 1)
    axis = axes[0][0]
    single = len(items) == 1
    handles, labels, of_colour = [], [], {}
    for number, (item, op, algorithm, points) in enumerate(curves):
        colour = COLOURS[number % 7] if single else item.colour
        # Of several runs two may share a colour, as there are seven: curves of one colour differ in
        # dashes and marks, of which there are 24 pairs, or in whether the marks are filled.
        place = number if single else of_colour.get(colour, 0)
        of_colour[colour] = place + 1
        turn = 0 if single else place // len(DASHES)
        look = {
            "linestyle": DASHES[place % len(DASHES)],
            "marker": MARKERS[(place + turn) % len(MARKERS)],
            "markersize": 3,
            "fillstyle": "full" if place < len(DASHES) * len(MARKERS) or single else "none",
        }
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
    draw_rates(
        axis,
        [what for what in (line_rate(items), inside_rate(items)) if what],
        max(bw for _, bw in everything),
    )
    axis.set_xlabel("size of the collective")
    axis.set_ylabel("bus bandwidth (GB/s)")
    legend_above(axis, handles, labels, width)
    if more:
        say_left_out(figure, [f"{len(more):,} more curves, {MOST_CURVES} are drawn"])
    heading(figure, items)
    return figure


def draw_rates(axis, rates, highest):
    """A line at each [(GB/s, words)]. One that would press the curves to the floor is told at the
    top.
    """
    near = [rate for rate, _ in rates if rate <= FAR * highest]
    told = bool(near) and len(near) < len(rates)
    top = max([highest, *(near or [rate for rate, _ in rates])]) * (1.28 if told else 1.12)
    axis.set_ylim(0, top)
    inside = sorted(rate for rate, _ in rates if rate < top)
    for rate, words in rates:
        words = f"{8 * rate:,.6g} Gb/s, {words}"
        if rate >= top:
            words, place, offset, at = (
                f"\N{UPWARDS ARROW} {words}",
                (0.99, top),
                -2,
                ("right", "top"),
            )
        else:
            axis.axhline(rate, color=GREY, linewidth=0.8, linestyle=(0, (1, 1.5)))
            # Of two that are close the lower one's words are below it.
            below = rate < inside[-1] < rate + 0.1 * top
            place, offset, at = (
                (0.01, rate),
                -2 if below else 2,
                ("left", "top" if below else "bottom"),
            )
        axis.annotate(
            words,
            place,
            (0, offset),
            xycoords=("axes fraction", "data"),
            textcoords="offset points",
            ha=at[0],
            va=at[1],
            fontsize=6.5,
            color=GREY,
        )


def line_rate(items):
    """(GB/s, words) of a server's NICs if all runs have the same, else None."""
    rates = set()
    for item in items:
        links = item.run.links()
        cluster = part(item.run.stats, "configuration", "cluster")
        hosts = host_nodes(item.run)
        rates |= {
            rate / 8 * int(cluster.get("nics_per_server") or 1)
            for rate in links.loc[links["from"].isin(hosts), "rate_gbps"].unique()
        }
    return (rates.pop(), "the NICs of a server") if len(rates) == 1 else None


def inside_rate(items):
    """(GB/s, words) of a GPU's NVLink port if all runs have the same, else None; GPUs on PCIe share
    their bridge.
    """
    rates = set()
    for item in items:
        inside = part(item.run.stats, "scale_up")
        nvlink = str(inside.get("kind") or "").startswith("nv")
        rates.add((inside.get("gpu_gbps") or 0) / 8 if nvlink else 0)
    rate = rates.pop() if len(rates) == 1 else 0
    return (rate, "NVLink of a GPU") if rate else None
