# SPDX-License-Identifier: GPL-2.0-only
"""Completion times, slowdown and sizes of messages."""

import math

import matplotlib.lines
import matplotlib.ticker
import numpy

from ..amounts import counted
from ..measures import (
    QUANTILES,
    by_size,
    drawn_as,
    is_other,
    main_kinds,
    marks,
    operations,
    slowdown,
    weights,
)
from ..sizes import NEAR, merged
from .style import (
    BLACK,
    BLUE,
    BYTES,
    DASHES,
    GREEN,
    GREY,
    NARROW,
    NothingToShow,
    ORANGE,
    PURPLE,
    RED,
    SKY,
    STYLE,
    all_of_one_size,
    are_binary,
    byte_ticks,
    call_handles,
    call_looks,
    columns_for,
    heading,
    human_time,
    legend_above,
    legends_above,
    line_handle,
    make_figure,
    make_panels,
    no_legend,
    number_ticks,
    patch_handle,
    say_left_out,
    shown_of,
    text,
    time_ticks,
    unit_for,
    widen_log,
    wrapped,
)


# ---- completion times


def need_flows(items):
    return shown_of(
        items,
        lambda item: not item.run.flows().empty,
        "no message arrived in the measured time (flows.csv is missing or empty)",
    )


def nines(share):
    """Where a share stands on an axis on which 90, 99, 99.9 % are equally far apart."""
    return -numpy.log10(1 - numpy.asarray(share, dtype=float))


def cdf(values, weight, top, linear):
    """Points of a cumulative distribution as a step function, at most some 3,000: shares in % or as
    nines().
    """
    order = numpy.argsort(values, kind="stable")
    values, total = numpy.asarray(values)[order], numpy.cumsum(weight[order])
    share = total / total[-1]
    last = numpy.flatnonzero(numpy.append(values[1:] != values[:-1], True))
    values, share = values[last], share[last]
    height = 100 * share if linear else numpy.minimum(numpy.append(nines(share[:-1]), top), top)
    if len(values) > 3000:
        by_height = numpy.searchsorted(height, numpy.linspace(0, height[-2], 1500))
        by_number = numpy.linspace(0, len(values) - 1, 1500).astype(int)
        keep = numpy.unique(
            numpy.clip(
                numpy.concatenate([[0, len(values) - 1], by_height, by_number]), 0, len(values) - 1
            )
        )
        values, height = values[keep], height[keep]
    return numpy.concatenate([values[:1], values]), numpy.concatenate([[0], height])


def draw_completion(items, width):
    """Two distributions, each on a linear axis, where the bulk is seen, and on a logarithmic one,
    where the tail is.
    """
    items = need_flows(items)
    whats = (
        ("fct_us", "completion time of a message"),
        ("fct_slowdown", "slowdown (1: as on an idle network)"),
    )
    beside = width >= NARROW
    legend = 0.16 * (len(items) + 1) if len(items) > 1 else 0.3
    figure, axes = make_panels(
        width,
        [(1.5 + legend, 2), (1.75, 2)] if beside else [(1.5 + legend, 1), (1.75, 1)] * 2,
        room=0.45,
    )
    columns = 2 if beside else 1
    legends = []
    for number, (key, name) in enumerate(whats):
        upper, lower = (
            (axes[number], axes[2 + number]) if beside else axes[2 * number : 2 * number + 2]
        )
        curves = curves_of(items, key)
        handles, labels = draw_cdf(upper, items, key, curves, linear=True)
        draw_cdf(lower, items, key, curves, linear=False)
        for axis in (upper, lower):
            axis.set_xlabel(name)
        options = {"size": 6 if len(items) > 1 else 6.5}
        legends.append(
            ((upper, handles, labels, width / columns, number % columns / columns), options)
        )
    legends_above(legends)
    heading(figure, items)
    return figure


def curves_of(items, key):
    """[(item, flows, values, weight, quantiles)]"""
    curves = []
    for item in items:
        flows, weight = item.run.flows(), weights(item.run)
        values = flows["fct_us"].to_numpy() if key == "fct_us" else slowdown(flows)
        values = numpy.maximum(values, 1e-6)
        curves.append((item, flows, values, weight, marks(item.run, key, values, weight)))
    return curves


def draw_cdf(axis, items, key, curves, linear):
    """Shares of the messages, from 0 to 100% or with 90, 99, 99.9% equally far apart. Returns
    handles and labels.
    """
    most = max(max(item.run.stats.get("messages") or 0, len(item.run.flows())) for item in items)
    top = max(3.35, min(6.0, math.log10(most) + 0.15))
    single = len(items) == 1
    everything, handles, labels, notes = [], [], [], []
    height_of = (lambda share: 100 * share) if linear else nines
    show = human_time if key == "fct_us" else lambda x: f"{x:.3g}"
    for item, flows, values, weight, found in curves:
        if single:
            handles, labels = draw_cdf_by_operation(axis, flows, values, weight, top, linear)
        colour = BLACK if single else item.colour
        axis.plot(
            *cdf(values, weight, top, linear),
            color=colour,
            linestyle=item.dashes,
            drawstyle="steps-post",
            zorder=3,
            solid_joinstyle="round",
        )
        for name, share, marker in QUANTILES:
            if nines(share) > top:
                continue
            axis.plot(
                found[name],
                height_of(share),
                marker,
                color=colour,
                markersize=4,
                markeredgecolor="white",
                markeredgewidth=0.5,
                zorder=4,
            )
            if single and (name == "p50") == linear:
                word = {"p999": "p99.9"}.get(name, name)
                notes.append((f"{word} {show(found[name])}", found[name], height_of(share)))
        if not single:
            handles.append(line_handle(colour, item.dashes))
            labels.append(
                f"{text(item.label, 22)}: "
                + " / ".join(show(found[name]) for name, _, _ in QUANTILES)
            )
        everything += [values.min(), values.max(), found["p999"]]
    widen_log(axis, "x", everything, 4)
    if key == "fct_slowdown":
        axis.set_xlim(0.9, max(axis.get_xlim()[1], 2.1))
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
    if linear:
        axis.set_ylim(0, 104)
        axis.set_yticks([0, 25, 50, 75, 100])
        axis.set_ylabel("messages (%)")
    else:
        ticks = [tick for tick in (0, 0.5, 0.9, 0.99, 0.999, 0.9999, 0.99999) if nines(tick) <= top]
        axis.set_ylim(0, top)
        axis.set_yticks(
            [float(nines(tick)) for tick in ticks], [f"{100 * tick:.10g}" for tick in ticks]
        )
        axis.set_ylabel("messages (%), tail stretched")
    if single:
        return [line_handle(BLACK), *handles], ["all messages", *labels]
    return [line_handle("none"), *handles], ["p50 / p99 / p99.9 (dot, square, diamond)", *labels]


def draw_cdf_by_operation(axis, flows, values, weight, top, linear):
    """Thin lines, one an operation, if there are several. Returns handles and labels."""
    kinds = main_kinds(operations(flows["tag"]), weight)
    names = list(dict.fromkeys(kinds))
    if len(names) < 2:
        return [], []
    names = sorted(
        names, key=lambda name: (is_other(name), -weight[(kinds == name).to_numpy()].sum(), name)
    )
    palette = dict(zip(names, (ORANGE, GREEN, PURPLE, SKY, RED, GREY)))
    looks = {
        name: {"linestyle": DASHES[(i + 1) % len(DASHES)], "linewidth": 0.9}
        for i, name in enumerate(names)
    }
    for name in names:
        mine = (kinds == name).to_numpy()
        points = cdf(values[mine], weight[mine], top, linear)
        axis.plot(*points, color=palette[name], drawstyle="steps-post", zorder=2, **looks[name])
    handles = [
        matplotlib.lines.Line2D([], [], color=palette[name], **looks[name]) for name in names
    ]
    return handles, [text(name, 32) for name in names]


# ---- sizes


MOST_ROWS = 6  # of compared runs, an operation each
LOW_ROWS = 4  # beyond so many they are lower


def draw_sizes(items, width):
    items = need_flows(items)
    sizes = numpy.concatenate([item.run.flows()["bytes"].to_numpy() for item in items])
    empty, sizes = (sizes <= 0).sum(), sizes[sizes > 0]
    if len(sizes) == 0:
        raise NothingToShow("no message carried a byte")
    # Four bins a doubling, so that sizes that differ by a fifth stand apart; two where that gives
    # too many.
    span = math.log2(sizes.max() / sizes.min())
    per_doubling = 4 if span < 10 and len(items) == 1 else 2
    low = math.floor(math.log2(sizes.min()) * per_doubling - 1.5)
    high = math.ceil(math.log2(sizes.max()) * per_doubling + 1.5)
    edges = 2 ** ((numpy.arange(low, high + 1) + 0.5) / per_doubling)
    draw_one = draw_sizes_of_one if len(items) == 1 else draw_sizes_of_several
    figure = draw_one(items, width, edges)
    if empty:  # an axis of powers has no place for them
        say_left_out(figure, [f"{counted(empty, 'message')} of 0 B"])
    heading(figure, items)
    return figure


def draw_sizes_of_one(items, width, edges):
    run = items[0].run
    flows, weight = run.flows(), weights(run)
    kinds = main_kinds(operations(flows["tag"]), weight)
    looks = call_looks(kinds.unique())
    columns = columns_for(width)
    figure, axes = make_figure(width, 2.6 * (2 // columns) + 0.35, 2 // columns, columns)
    for number, what in enumerate(("messages", "bytes")):
        axis = axes.flat[number]
        bottom = numpy.zeros(len(edges) - 1)
        for name, (colour, hatch) in looks.items():
            mine = (kinds == name).to_numpy()
            size = flows["bytes"].to_numpy()[mine]
            count, _ = numpy.histogram(
                size, edges, weights=weight[mine] * (1 if what == "messages" else size)
            )
            axis.bar(
                edges[:-1],
                count,
                numpy.diff(edges),
                bottom,
                align="edge",
                color=colour,
                hatch=hatch,
                linewidth=0.3,
                edgecolor="white",
            )
            bottom += count
        finish_sizes(axis, what, edges, bottom.max(), items)
        legend_above(
            axis,
            call_handles(looks),
            [text(name, 32) for name in looks],
            width / columns,
            number % columns / columns,
        )
    return figure


def draw_sizes_of_several(items, width, edges):
    """A row of panels an operation, the runs side by side in each bin."""
    totals = {}
    for item in items:
        flows = item.run.flows()
        for name, size in (
            (flows["bytes"] * weights(item.run)).groupby(operations(flows["tag"])).sum().items()
        ):
            totals[name] = totals.get(name, 0) + size
    drawn = drawn_as(totals, MOST_ROWS)
    sums = {}
    for name, as_ in drawn.items():
        sums[as_] = sums.get(as_, 0) + totals[name]
    names = sorted(sums, key=lambda name: (is_other(name), -sums[name], name))
    columns = columns_for(width)
    height = 1.75 if len(names) <= LOW_ROWS else 1.45
    figure, axes = make_figure(
        width,
        height * len(names) * 2 / columns + 0.3 + 0.16 * len(items),
        len(names) * 2 // columns,
        columns,
        sharex=True,
    )
    for number, name in enumerate(names):
        for axis, what in zip(axes.flat[2 * number :], ("messages", "bytes")):
            tallest = 0
            for place, item in enumerate(items):
                flows, weight = item.run.flows(), weights(item.run)
                mine = (operations(flows["tag"]).map(drawn) == name).to_numpy()
                size = flows["bytes"].to_numpy()[mine]
                count, _ = numpy.histogram(
                    size, edges, weights=weight[mine] * (1 if what == "messages" else size)
                )
                # The runs share a bin, side by side: they often send the very same messages.
                ratio = (edges[1:] / edges[:-1]) ** (1 / len(items))
                left = edges[:-1] * ratio**place
                axis.bar(
                    left, count, left * (ratio - 1), align="edge", color=item.colour, linewidth=0
                )
                tallest = max(tallest, count.max())
            finish_sizes(axis, what, edges, tallest, items)
            words = wrapped(f"{text(name, 32)}:", STYLE["axes.labelsize"], (height - 0.55) * 72)
            axis.set_ylabel("\n".join([*words, axis.get_ylabel()]))
            if axis not in axes[-1]:
                axis.set_xlabel("")
    handles = [patch_handle(item.colour) for item in items]
    title = "from left to right in each bar:"
    legend_above(axes[0][0], handles, [text(item.label) for item in items], width, title=title)
    if columns == 2:
        no_legend(axes[0][1], axes[0][0])
    return figure


def finish_sizes(axis, what, edges, tallest, items):
    axis.set_xscale("log", base=2)
    axis.set_xlim(edges[0], edges[-1])
    byte_ticks(
        axis, "x", binary=all(are_binary(item.run.flows()["bytes"].unique()) for item in items)
    )
    axis.tick_params(axis="x", labelrotation=0)
    axis.grid(False, axis="x")
    if what == "messages":
        axis.set_ylabel("messages")
        axis.yaxis.set_major_formatter(
            matplotlib.ticker.FuncFormatter(lambda value, _: f"{value:,.0f}")
        )
        axis.yaxis.set_major_locator(matplotlib.ticker.MaxNLocator(5, integer=True))
    else:
        factor, unit = unit_for(max(tallest, 1), BYTES)
        axis.set_ylabel(f"bytes in them ({unit})")
        axis.yaxis.set_major_locator(matplotlib.ticker.MaxNLocator(5, steps=[1, 2, 5, 10]))
        axis.yaxis.set_major_formatter(
            matplotlib.ticker.FuncFormatter(lambda value, _: f"{value / factor:g}")
        )
    axis.set_ylim(0, 1.06 * max(tallest, 1e-9))
    axis.set_xlabel("size of a message")


# ---- by size


def draw_by_size(items, width):
    """Of one run three quantiles over one another; of several a panel a quantile."""
    items = need_flows(items)
    sizes = numpy.unique(numpy.concatenate([item.run.flows()["bytes"].unique() for item in items]))
    if len(items) == 1 and len(sizes) == 1:
        raise NothingToShow(all_of_one_size("messages", sizes[0]))
    sizes = numpy.unique(numpy.maximum(sizes, 1))
    keys = ("fct_us", "fct_slowdown")
    tables = {key: [by_size(item.run, key, sizes) for item in items] for key in keys}
    if len(items) > 1:
        return draw_by_size_of_several(items, width, sizes, tables)
    columns = columns_for(width)
    figure, axes = make_figure(width, 2.75 * (2 // columns) + 0.3, 2 // columns, columns)
    shown = [one for one in BY_SIZE if numpy.isfinite(tables[keys[0]][0][one[0]]).any()]
    for axis, key in zip(axes.flat, keys):
        table = tables[key][0]
        for column, _, dashes, marker, colour in shown:
            look = {
                "color": colour,
                "linestyle": dashes,
                "marker": marker,
                "markersize": 2.6,
                "linewidth": 1,
            }
            axis.plot(table["bytes"], table[column], **look)
        if key == "fct_us":
            idle_line(axis, table)
        finish_by_size(axis, key, sizes, [table], [column for column, *_ in shown])
    handles = [
        line_handle(colour, dashes, marker=marker, markersize=3)
        for _, _, dashes, marker, colour in shown
    ]
    legends_above(
        [
            (
                (
                    axes.flat[0],
                    [*handles, line_handle(GREY, marker="_", markersize=5)],
                    [*(name for _, name, *_ in shown), "idle network (p50)"],
                    width / columns,
                ),
                {},
            ),
            (
                (
                    axes.flat[1],
                    handles,
                    [name for _, name, *_ in shown],
                    width / columns,
                    1 - 1 / columns,
                ),
                {},
            ),
        ]
    )
    heading(figure, items)
    return figure


BY_SIZE = (
    ("p50", "p50", "-", "o", BLUE),
    ("p99", "p99", DASHES[1], "s", RED),
    ("p999", "p99.9", DASHES[2], "D", BLACK),
)


def idle_line(axis, table):
    axis.plot(
        table["bytes"],
        table["ideal"],
        color=GREY,
        linewidth=0.9,
        marker="_",
        markersize=5,
        zorder=1,
    )


def finish_by_size(axis, key, sizes, tables, columns):
    values = [
        value for table in tables for column in columns for value in table[column] if value > 0
    ]
    if key == "fct_us":
        values += [value for table in tables for value in table["ideal"] if value > 0]
    widen_log(axis, "x", sizes, 4)
    widen_log(axis, "y", values or [1], 4)
    if key == "fct_slowdown":
        axis.set_ylim(0.93, max(axis.get_ylim()[1], 2.1))
    byte_ticks(axis, "x", binary=are_binary(sizes), most=5)
    (time_ticks if key == "fct_us" else number_ticks)(axis, "y")
    near = len(numpy.unique(merged(sizes))) < len(sizes)
    axis.set_xlabel(
        "size of a message" + (f" (nearer than {100 * NEAR - 100:.0f}%: one)" if near else "")
    )
    axis.set_ylabel("completion time" if key == "fct_us" else "slowdown")


def draw_by_size_of_several(items, width, sizes, tables):
    columns = columns_for(width)
    shown = [
        (column, name)
        for column, name, *_ in BY_SIZE[:2]
        if any(numpy.isfinite(table[column]).any() for table in tables["fct_us"])
    ]
    figure, axes = make_panels(width, [(1.7, columns)] * (2 * len(shown) // columns))
    places = iter(axes)
    for column, name in shown:
        for key, of in tables.items():
            axis = next(places)
            for item, table in zip(items, of):
                axis.plot(
                    table["bytes"],
                    table[column],
                    color=item.colour,
                    linestyle=item.dashes,
                    marker=item.marker,
                    markersize=2.6,
                    linewidth=1,
                )
            if key == "fct_us":
                for table in of:
                    idle_line(axis, table)
            finish_by_size(axis, key, sizes, of, [column])
            axis.set_ylabel(f"{axis.get_ylabel()}, {name}")
    handles = [
        line_handle(item.colour, item.dashes, marker=item.marker, markersize=3) for item in items
    ]
    legend_above(
        axes[0],
        [*handles, line_handle(GREY, marker="_", markersize=5)],
        [*(text(item.label, 24) for item in items), "idle network"],
        width,
    )
    if columns == 2:
        no_legend(axes[1], axes[0])
    heading(figure, items)
    return figure
