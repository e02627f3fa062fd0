# SPDX-License-Identifier: GPL-2.0-only
"""What the GPUs do over time."""

import matplotlib.colors
import numpy

from ..measures import group_size, measured_from, operations, segments, stream_order, time_in_bins
from .style import (
    BLACK,
    CALL_COLOURS,
    NothingToShow,
    SKY,
    STATES,
    TIMES,
    heading,
    legend_above,
    make_figure,
    patch_handle,
    text,
    time_axis,
    unit_for,
)


def state_image(run, edges, rows=128):
    """(colours as rows x bins x 3, ranks in a row, ranks): the mean colour of what the ranks of a row did in a bin."""
    calls = run.calls()
    numbers = numpy.sort(calls["rank"].unique())
    per_server = int(run.stats.get("configuration", {}).get("cluster", {}).get("gpus_per_server") or 1)
    group = group_size(len(numbers), max(1, per_server // run.rank_stride()), rows)
    rank, begin, end, state = segments(calls)
    row = numpy.searchsorted(numbers, rank) // group
    colours = numpy.array([matplotlib.colors.to_rgb(colour) for _, colour in STATES])
    count = -(-len(numbers) // group)
    image = numpy.empty((count, len(edges) - 1, 3))
    width = numpy.diff(edges)
    for i in range(count):
        members = min(group, len(numbers) - i * group)
        mine = row == i
        shares = numpy.array(
            [time_in_bins(begin[mine & (state == s)], end[mine & (state == s)], edges) for s in range(3)]
        )
        shares = shares / (width * members)
        shares = numpy.vstack([shares, numpy.clip(1 - shares.sum(axis=0), 0, 1)])
        image[i] = numpy.clip(numpy.tensordot(shares.T, colours, 1), 0, 1)
    return image, group, numbers


def draw_timeline(items, width):
    items = [item for item in items if not item.run.calls().empty]
    if not items:
        raise NothingToShow("no call was measured (only dltrain writes calls.log)")
    lanes = len(items) == 1
    streams = stream_order(items[0].run.calls()) if lanes else []
    heights = ([0.26 * len(streams) + 0.05] if lanes else []) + [raster_height(item.run) for item in items]
    figure, axes = make_figure(
        width,
        sum(heights) + 0.62 * len(heights) + 0.75,
        len(heights),
        1,
        gridspec_kw={"height_ratios": heights},
        sharex=True,
    )
    # Everything from when the last rank begins; a rank that was early began some time before.
    spans = [(measured_from(item.run), item.run.calls()["end_us"].max()) for item in items]
    factor, unit = unit_for(max(end - begin for begin, end in spans), TIMES)
    for number, (axis, item, (begin, end)) in enumerate(zip(axes[-len(items) :, 0], items, spans)):
        edges = numpy.linspace(begin, end, 1501)
        image, group, numbers = state_image(item.run, edges)
        axis.imshow(
            image,
            aspect="auto",
            interpolation="nearest",
            origin="upper",
            extent=(0, (end - begin) / factor, len(image), 0),
        )
        rank_ticks(axis, numbers, group)
        axis.grid(False)
        axis.set_ylabel("GPU" if group == 1 else f"GPU\n({group} a row)")
        title = text(item.label) if len(items) > 1 else ""
        if number == 0:
            legend_above(
                axis,
                [patch_handle(colour) for _, colour in STATES],
                [name for name, _ in STATES],
                width,
                size=6.5,
                title=title,
            )
        else:
            axis.set_title(title, fontsize=6.5)
    longest = max(end - begin for begin, end in spans)
    axes[-1, 0].set_xlim(0, longest / factor)
    time_axis(axes[-1, 0], unit)
    if lanes:
        draw_lanes(axes[0, 0], items[0].run, streams, spans[0], factor, width)
    heading(figure, items)
    return figure


def raster_height(run):
    ranks = run.calls()["rank"].nunique()
    return min(2.6, max(0.5, 0.09 * ranks))


def rank_ticks(axis, numbers, group):
    rows = -(-len(numbers) // group)
    step = max(1, -(-rows // 8))
    for nice in (1, 2, 4, 8, 16, 32, 64, 128):
        if nice >= step:
            step = nice
            break
    ticks = list(range(0, rows, step))
    axis.set_yticks([tick + 0.5 for tick in ticks], [f"{numbers[tick * group]:,}" for tick in ticks])


def draw_lanes(axis, run, streams, span, factor, width):
    """The streams of the rank that ended last, call by call."""
    calls = run.calls()
    rank = calls.loc[calls["end_us"].idxmax(), "rank"]
    mine = calls[(calls["rank"] == rank) & (calls["end_us"] > span[0])]
    kinds = operations(mine["call"])
    palette = call_palette(kinds)
    for y, stream in enumerate(streams):
        here = mine["stream"] == stream
        for kind in kinds[here].unique():
            these = mine[here & (kinds == kind)]
            begin = numpy.maximum(these["start_us"].to_numpy(), span[0])
            bars = numpy.column_stack([(begin - span[0]) / factor, (these["end_us"].to_numpy() - begin) / factor])
            thin = 0.25 if len(these) < 400 else 0
            axis.broken_barh(bars, (y - 0.4, 0.8), facecolors=palette[kind], edgecolor="white", linewidth=thin)
    axis.set_ylim(len(streams) - 0.5, -0.5)
    axis.set_yticks(range(len(streams)), [text(stream, 16) for stream in streams])
    axis.grid(False, axis="y")
    axis.tick_params(labelbottom=False)
    names = [kind for kind in palette if kind != "other calls"] + (
        ["other calls"] if "other calls" in palette.values() else []
    )
    legend_above(
        axis, [patch_handle(palette[name]) for name in names], [text(f"{name}", 24) for name in names], width, size=6.5
    )
    axis.set_ylabel(f"GPU {rank}")


def call_palette(kinds):
    """{operation: colour}, the well-known ones always alike; beyond eight the rest is grey."""
    palette = {}
    spare = [colour for colour in (SKY, BLACK, "#8C6D1F", "#999999")]
    for kind in kinds.value_counts().index.sort_values():
        palette[kind] = CALL_COLOURS.get(kind) or (spare.pop(0) if spare else "#BBBBBB")
    order = list(CALL_COLOURS)
    return dict(sorted(palette.items(), key=lambda pair: order.index(pair[0]) if pair[0] in order else len(order)))
