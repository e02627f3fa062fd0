# SPDX-License-Identifier: GPL-2.0-only
"""Completion times, slowdown and sizes of messages."""

import math

import matplotlib.ticker
import numpy

from ..measures import QUANTILES, by_size, main_kinds, marks, operations, slowdown, weights
from .style import (
    BLACK,
    BLUE,
    BYTES,
    CALL_COLOURS,
    GREEN,
    GREY,
    NothingToShow,
    ORANGE,
    PURPLE,
    RED,
    SKY,
    STYLE,
    byte_ticks,
    columns_for,
    heading,
    human_time,
    legend_above,
    line_handle,
    make_figure,
    number_ticks,
    patch_handle,
    text,
    time_ticks,
    unit_for,
    widen_log,
)


# ---- completion times


def need_flows(items):
    items = [item for item in items if not item.run.flows().empty]
    if not items:
        raise NothingToShow("no message arrived in the measured time (flows.csv is missing or empty)")
    return items


def nines(share):
    """Where a share stands on an axis on which 90, 99, 99.9 % are equally far apart."""
    return -numpy.log10(1 - numpy.asarray(share, dtype=float))


def cdf(values, weight, top):
    """Points of a cumulative distribution as a step function, at most some 3,000."""
    order = numpy.argsort(values, kind="stable")
    values, total = numpy.asarray(values)[order], numpy.cumsum(weight[order])
    share = total / total[-1]
    last = numpy.flatnonzero(numpy.append(values[1:] != values[:-1], True))
    values, share = values[last], share[last]
    height = numpy.append(nines(share[:-1]), top)
    height = numpy.minimum(height, top)
    if len(values) > 3000:
        by_height = numpy.searchsorted(height, numpy.linspace(0, height[-2], 1500))
        by_number = numpy.linspace(0, len(values) - 1, 1500).astype(int)
        keep = numpy.unique(
            numpy.clip(numpy.concatenate([[0, len(values) - 1], by_height, by_number]), 0, len(values) - 1)
        )
        values, height = values[keep], height[keep]
    return numpy.concatenate([values[:1], values]), numpy.concatenate([[0], height])


def draw_completion(items, width):
    items = need_flows(items)
    columns = columns_for(width)
    rows = 2 // columns
    figure, axes = make_figure(
        width, (2.75 + (0.16 * len(items) if len(items) > 1 else 0.3)) * rows + 0.2, rows, columns
    )
    for number, (key, name) in enumerate(
        (("fct_us", "completion time of a message"), ("fct_slowdown", "slowdown (1: as on an idle network)"))
    ):
        axis = axes.flat[number]
        draw_cdf(axis, items, key, width / columns, number % columns / columns)
        axis.set_xlabel(name)
    heading(figure, items)
    return figure


def draw_cdf(axis, items, key, width, left):
    most = max(max(item.run.stats.get("messages") or 0, len(item.run.flows())) for item in items)
    top = max(3.35, min(6.0, math.log10(most) + 0.15))
    everything, handles, labels, notes = [], [], [], []
    for item in items:
        flows, weight = item.run.flows(), weights(item.run)
        values = flows["fct_us"].to_numpy() if key == "fct_us" else slowdown(flows)
        values = numpy.maximum(values, 1e-6)
        if len(items) == 1:
            handles, labels = draw_cdf_by_operation(axis, flows, values, weight, top)
        colour = BLACK if len(items) == 1 else item.colour
        axis.plot(
            *cdf(values, weight, top),
            color=colour,
            linestyle=item.dashes,
            drawstyle="steps-post",
            zorder=3,
            solid_joinstyle="round",
        )
        found = marks(item.run, key, values, weight)
        show = human_time if key == "fct_us" else lambda x: f"{x:.3g}"
        for name, share, marker in QUANTILES:
            axis.plot(
                found[name],
                nines(share),
                marker,
                color=colour,
                markersize=4,
                markeredgecolor="white",
                markeredgewidth=0.5,
                zorder=4,
            )
            if len(items) == 1:
                word = {"p999": "p99.9"}.get(name, name)
                notes.append((f"{word} {show(found[name])}", found[name], nines(share)))
        if len(items) > 1:
            handles.append(line_handle(colour, item.dashes))
            labels.append(f"{text(item.label, 22)}: " + " / ".join(show(found[name]) for name, _, _ in QUANTILES))
        everything += [values.min(), values.max(), found["p999"]]
    widen_log(axis, "x", everything + ([min(everything) / 2.2] if len(items) == 1 else []), 4)
    (time_ticks if key == "fct_us" else number_ticks)(axis, "x")
    for words, x, y in notes:  # above the curve, which is on its left, unless there is no room
        room = x > math.sqrt(axis.get_xlim()[0] * axis.get_xlim()[1])
        axis.annotate(
            words,
            (x, y),
            (-6 if room else 6, 0),
            textcoords="offset points",
            ha="right" if room else "left",
            va="center",
            fontsize=6.5,
            zorder=5,
            bbox={"facecolor": "white", "edgecolor": "none", "alpha": 0.8, "pad": 0.6},
        )
    ticks = [0, 0.5, 0.9, 0.99, 0.999, 0.9999, 0.99999]
    axis.set_ylim(0, top)
    axis.set_yticks(
        [float(nines(tick)) for tick in ticks if nines(tick) <= top],
        [f"{100 * tick:.10g} %" for tick in ticks if nines(tick) <= top],
    )
    axis.set_ylabel("share of messages")
    if len(items) > 1:
        handles = [line_handle("none")] + handles
        labels = ["p50 / p99 / p99.9 (dot, square, diamond)"] + labels
        legend_above(axis, handles, labels, width, left, size=6)
    else:
        handles.insert(0, line_handle(BLACK))
        labels.insert(0, "all messages")
        legend_above(axis, handles, labels, width, left, size=6.5)


def draw_cdf_by_operation(axis, flows, values, weight, top):
    """Thin lines, one an operation, if there are several. Returns handles and labels."""
    kinds = main_kinds(operations(flows["tag"]), weight)
    names = list(dict.fromkeys(kinds))
    if len(names) < 2:
        return [], []
    names = sorted(names, key=lambda name: (name == "other", -weight[(kinds == name).to_numpy()].sum(), name))
    palette = dict(zip(names, (ORANGE, GREEN, PURPLE, SKY, RED, GREY)))
    for name in names:
        mine = (kinds == name).to_numpy()
        axis.plot(
            *cdf(values[mine], weight[mine], top), color=palette[name], linewidth=0.9, drawstyle="steps-post", zorder=2
        )
    return [line_handle(palette[name], linewidth=0.9) for name in names], [text(name, 24) for name in names]


# ---- sizes


def draw_sizes(items, width):
    items = need_flows(items)
    sizes = numpy.concatenate([item.run.flows()["bytes"].to_numpy() for item in items])
    sizes = sizes[sizes > 0]
    if len(sizes) == 0:
        raise NothingToShow("no message carried a byte")
    # Four bins a doubling, so that sizes that differ by a fifth stand apart; two where that gives too many.
    span = math.log2(sizes.max() / sizes.min())
    per_doubling = 4 if span < 10 else 2
    low = math.floor(math.log2(sizes.min()) * per_doubling - 1.5)
    high = math.ceil(math.log2(sizes.max()) * per_doubling + 1.5)
    edges = 2 ** ((numpy.arange(low, high + 1) + 0.5) / per_doubling)
    draw_one = draw_sizes_of_one if len(items) == 1 else draw_sizes_of_several
    return draw_one(items, width, edges)


def draw_sizes_of_one(items, width, edges):
    run = items[0].run
    flows, weight = run.flows(), weights(run)
    kinds = main_kinds(operations(flows["tag"]), weight)
    names = sorted(kinds.unique(), key=lambda name: (name == "other", name))
    palette = {name: CALL_COLOURS.get(name) for name in names}
    spare = [SKY, PURPLE, BLUE, GREY, BLACK, "#8C6D1F"]
    for name in names:
        palette[name] = palette[name] or spare.pop(0)
    columns = columns_for(width)
    figure, axes = make_figure(width, 2.6 * (2 // columns) + 0.35, 2 // columns, columns)
    for number, what in enumerate(("messages", "bytes")):
        axis = axes.flat[number]
        bottom = numpy.zeros(len(edges) - 1)
        for name in names:
            mine = (kinds == name).to_numpy()
            size = flows["bytes"].to_numpy()[mine]
            count, _ = numpy.histogram(size, edges, weights=weight[mine] * (1 if what == "messages" else size))
            axis.bar(
                edges[:-1],
                count,
                numpy.diff(edges),
                bottom,
                align="edge",
                color=palette[name],
                linewidth=0.3,
                edgecolor="white",
            )
            bottom += count
        finish_sizes(axis, what, edges, bottom.max())
        legend_above(
            axis,
            [patch_handle(palette[name]) for name in names],
            [text(name, 24) for name in names],
            width / columns,
            number % columns / columns,
        )
    heading(figure, items)
    return figure


def draw_sizes_of_several(items, width, edges):
    """A row of panels an operation, the runs side by side in each bin."""
    totals = {}
    for item in items:
        flows = item.run.flows()
        for name, size in (flows["bytes"] * weights(item.run)).groupby(operations(flows["tag"])).sum().items():
            totals[name] = totals.get(name, 0) + size
    names = sorted(totals, key=lambda name: (-totals[name], name))[:4]
    columns = columns_for(width)
    figure, axes = make_figure(
        width,
        1.75 * len(names) * 2 / columns + 0.3 + 0.16 * len(items),
        len(names) * 2 // columns,
        columns,
        sharex=True,
    )
    for number, name in enumerate(names):
        for axis, what in zip(axes.flat[2 * number :], ("messages", "bytes")):
            tallest = 0
            for place, item in enumerate(items):
                flows, weight = item.run.flows(), weights(item.run)
                mine = (operations(flows["tag"]) == name).to_numpy()
                size = flows["bytes"].to_numpy()[mine]
                count, _ = numpy.histogram(size, edges, weights=weight[mine] * (1 if what == "messages" else size))
                # The runs share a bin, side by side: they often send the very same messages.
                ratio = (edges[1:] / edges[:-1]) ** (1 / len(items))
                left = edges[:-1] * ratio**place
                axis.bar(left, count, left * (ratio - 1), align="edge", color=item.colour, linewidth=0)
                tallest = max(tallest, count.max())
            finish_sizes(axis, what, edges, tallest)
            axis.set_ylabel(f"{text(name, 20)}:\n{axis.get_ylabel()}")
            if axis not in axes[-1]:
                axis.set_xlabel("")
    handles = [patch_handle(item.colour) for item in items]
    legend_above(axes[0][0], handles, [text(item.label) for item in items], width)
    if columns == 2:  # keeps the right panel as high as the left one
        axes[0][1].set_title(axes[0][0].get_title("left"), fontsize=STYLE["legend.fontsize"], linespacing=1.42, pad=4)
    return figure


def finish_sizes(axis, what, edges, tallest):
    axis.set_xscale("log", base=2)
    axis.set_xlim(edges[0], edges[-1])
    byte_ticks(axis, "x", binary=True)
    axis.tick_params(axis="x", labelrotation=0)
    axis.grid(False, axis="x")
    if what == "messages":
        axis.set_ylabel("messages")
        axis.yaxis.set_major_formatter(matplotlib.ticker.FuncFormatter(lambda value, _: f"{value:,.0f}"))
        axis.yaxis.set_major_locator(matplotlib.ticker.MaxNLocator(5, integer=True))
    else:
        factor, unit = unit_for(max(tallest, 1), BYTES)
        axis.set_ylabel(f"bytes in them ({unit})")
        axis.yaxis.set_major_locator(matplotlib.ticker.MaxNLocator(5, steps=[1, 2, 5, 10]))
        axis.yaxis.set_major_formatter(matplotlib.ticker.FuncFormatter(lambda value, _: f"{value / factor:g}"))
    axis.set_xlabel("size of a message")


# ---- by size


def draw_by_size(items, width):
    items = need_flows(items)
    columns = columns_for(width)
    figure, axes = make_figure(width, 2.75 * (2 // columns) + 0.3, 2 // columns, columns)
    sizes = numpy.unique(numpy.concatenate([item.run.flows()["bytes"].unique() for item in items]))
    sizes = numpy.maximum(sizes, 1)
    for axis, key in zip(axes.flat, ("fct_us", "fct_slowdown")):
        lowest, highest = [], []
        for item in items:
            table = by_size(item.run, key, sizes)
            colour = BLUE if len(items) == 1 else item.colour
            for column, dashes, marker in (
                ("p50", "-", "o"),
                ("p99", (0, (4, 1.5)), "s"),
                ("p999", (0, (1, 1.2)), "D"),
            ):
                axis.plot(
                    table["bytes"],
                    table[column],
                    color=colour,
                    linestyle=dashes,
                    marker=marker,
                    markersize=2.6,
                    linewidth=1,
                )
            if key == "fct_us":
                axis.plot(table["bytes"], table["ideal"], color=GREY, linewidth=0.9, marker="_", markersize=5, zorder=1)
                lowest += [value for value in table["ideal"] if value > 0]
            lowest += [value for value in table["p50"] if value > 0]
            highest += [value for value in table["p999"] + table["p99"] if value > 0]
        widen_log(axis, "x", sizes, 4)
        widen_log(axis, "y", lowest + highest, 4)
        byte_ticks(axis, "x")
        (time_ticks if key == "fct_us" else number_ticks)(axis, "y")
        axis.set_xlabel("size of a message")
        axis.set_ylabel("completion time" if key == "fct_us" else "slowdown")
    first = axes.flat[0]
    grey = BLUE if len(items) == 1 else BLACK
    handles = [
        line_handle(grey, "-", marker="o", markersize=3),
        line_handle(grey, (0, (4, 1.5)), marker="s", markersize=3),
        line_handle(grey, (0, (1, 1.2)), marker="D", markersize=3),
    ]
    legend_above(axes.flat[1], handles, ["p50", "p99", "p99.9"], width / columns, 1 - 1 / columns)
    if len(items) == 1:
        legend_above(
            first, [line_handle(GREY, marker="_", markersize=5)], ["on an idle network (mean)"], width / columns
        )
    else:
        legend_above(
            first,
            [line_handle(item.colour) for item in items] + [line_handle(GREY)],
            [text(item.label, 24) for item in items] + ["idle network"],
            width / columns,
        )
    heading(figure, items)
    return figure
