# SPDX-License-Identifier: GPL-2.0-only
"""Layouts of a training job, step against memory: what dlplan writes."""

import matplotlib.lines

from . import style as p

GIB = 1 << 30
WHY_NOT = "no search for a layout (dlplan has one)"
STEP_UNITS = ((1e3, "ms"), (1e6, "s"))


def planning(item):
    found = item.run.stats.get("planning")
    return found if isinstance(found, dict) else {}


def frontier(table):
    """Rows that no other one beats in both step and memory, the least memory first."""
    rows, best = [], float("inf")
    for row in table.sort_values(["memory_bytes", "estimate_us"]).itertuples():
        if row.estimate_us < best:
            best = row.estimate_us
            rows.append(row)
    return rows


def draw_plans(items, width):
    """Every estimated layout; the frontier; those that dltrain ran, at their own steps."""
    items = p.shown_of(items, lambda item: bool(planning(item)), WHY_NOT)
    figure, axes = p.make_figure(width, 3.2 * len(items), len(items), 1)
    for axis, item in zip(axes.flat, items):
        panel(axis, item, width, len(items) > 1)
    p.heading(figure, items)
    return figure


def panel(axis, item, width, named):
    table = item.run.estimates()
    if not len(table):
        p.say_empty(axis, "no layout has an estimate")
        return
    factor, unit = p.unit_for(table["estimate_us"].max(), STEP_UNITS)
    axis.plot(
        table["memory_bytes"] / GIB,
        table["estimate_us"] / factor,
        "o",
        markersize=2.5,
        color=p.GREY,
        alpha=0.6,
        markeredgewidth=0,
    )
    best = frontier(table)
    axis.plot(
        [row.memory_bytes / GIB for row in best],
        [row.estimate_us / factor for row in best],
        "o-",
        drawstyle="steps-post",
        markersize=4,
        color=p.BLUE,
    )
    handles = [
        mark("o", p.GREY, 3),
        matplotlib.lines.Line2D([], [], marker="o", markersize=4, color=p.BLUE),
    ]
    labels = [f"{len(table):,} estimated", "frontier"]
    runs = item.run.plans()
    runs = runs[runs["verified_us"] > 0]
    if len(runs):
        axis.plot(
            runs["memory_bytes"] / GIB,
            runs["verified_us"] / factor,
            "D",
            markersize=4.5,
            color=p.RED,
            markerfacecolor="none",
        )
        handles.append(mark("D", p.RED, 4.5, markerfacecolor="none"))
        labels.append("run by dltrain")
    room = planning(item).get("gpu_memory_bytes", 0) / GIB
    right = max(table["memory_bytes"].max() / GIB, room) * 1.04
    if room:
        axis.axvline(room, color=p.BLACK, linewidth=0.8, linestyle=(0, (2, 2)))
        handles.append(p.line_handle(p.BLACK, (0, (2, 2)), linewidth=0.8))
        labels.append(f"memory of a GPU, {room:.0f} GiB")
    axis.set_xlim(0, right)
    p.widen_log(axis, "y", [*(table["estimate_us"] / factor), *(runs["verified_us"] / factor)])
    p.number_ticks(axis, "y")
    axis.set_xlabel("tensors of a GPU (GiB)")
    axis.set_ylabel(f"step ({unit})")
    title = p.text(item.label) if named else ""
    p.legend_above(axis, handles, labels, width, title=title)


def mark(marker, colour, size, **look):
    return matplotlib.lines.Line2D(
        [], [], linestyle="", marker=marker, color=colour, markersize=size, **look
    )
