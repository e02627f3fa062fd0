# SPDX-License-Identifier: GPL-2.0-only
"""What the GPUs do over time."""

import matplotlib.colors
import numpy

from ..folder.recovery import left_at
from ..measures import (
    group_size,
    main_kinds,
    measured_from,
    operations,
    part,
    segments,
    stream_order,
    time_in_bins,
)
from .style import (
    BLACK,
    STATES,
    TIMES,
    call_handles,
    call_looks,
    each_job,
    heading,
    legend_above,
    make_figure,
    make_higher,
    measured_axis,
    patch_handle,
    say_left_out,
    shown_of,
    state_names,
    text,
    unit_for,
)


MOST_STREAMS = 12
MOST_CALLS = 16  # operations in a legend
WHY_NOT = "no call that took time was measured (only dltrain writes calls.log)"
GONE = "#ffffff"


def state_image(run, edges, rows=128, levels=8):
    """(colours as rows * levels x bins x 3, ranks in a row, ranks): what the ranks of a row did in
    a bin.

    The states stand upon one another, each as high as its share of the time: a call that is shorter
    than a bin is a low bar of its own colour, at least one of the levels, and not a pale one. What
    has left the job is no state any more.
    """
    calls = run.calls()
    numbers = numpy.sort(calls["rank"].unique())
    group = group_size(len(numbers), max(1, gpus_per_server(run) // run.rank_stride()), rows)
    rank, begin, end, state = segments(calls)
    left = left_at(run.stats)
    row = numpy.searchsorted(numbers, rank) // group
    names = [colour for _, colour in STATES]
    names.insert(-1, GONE)
    colours = numpy.array([matplotlib.colors.to_rgb(colour) for colour in names])
    count = -(-len(numbers) // group)
    image = numpy.empty((count * levels, len(edges) - 1, 3))
    width = numpy.diff(edges)
    for i in range(count):
        ranks = numbers[i * group : (i + 1) * group]
        members = len(ranks)
        mine = row == i
        gone = numpy.array([left[rank] for rank in ranks.tolist() if rank in left], dtype=float)
        shares = numpy.array(
            [
                time_in_bins(begin[mine & (state == s)], end[mine & (state == s)], edges)
                for s in range(3)
            ]
            + [time_in_bins(gone, numpy.full(len(gone), edges[-1]), edges)]
        )
        heights = levels_of(shares / (width * members), levels)
        # From the top down: waiting, gone, exposed, hidden, computing.
        tops = numpy.cumsum(heights[::-1], axis=0)
        place = numpy.arange(levels)[:, None]
        image[i * levels : (i + 1) * levels] = colours[
            4 - (place[:, None] >= tops[None, :4]).sum(axis=1)
        ]
    return image, group, numbers


def levels_of(shares, levels):
    """How many of the levels each state gets in each bin, waiting last: of any share above 0 at
    least one.
    """
    counts = numpy.where(shares > 1e-9, numpy.maximum(1, numpy.rint(shares * levels)), 0).astype(
        int
    )
    while (over := counts.sum(axis=0) > levels).any():
        counts[counts.argmax(axis=0)[over], numpy.flatnonzero(over)] -= 1
    # nothing waited: no level of it
    short = (shares.sum(axis=0) > 1 - 1e-6) & (counts.sum(axis=0) < levels)
    bins = numpy.flatnonzero(short)
    counts[shares.argmax(axis=0)[short], bins] += levels - counts.sum(axis=0)[short]
    return numpy.vstack([counts, levels - counts.sum(axis=0)])


def gpus_per_server(run):
    count = part(run.stats, "configuration", "cluster").get("gpus_per_server")
    return int(count) if isinstance(count, (int, float)) and count >= 1 else 1


def draw_timeline(items, width):
    why_not = WHY_NOT + each_job(items)
    items = shown_of(items, lambda item: span_of(item.run) is not None, why_not)
    lanes = len(items) == 1
    streams = used_streams(items[0].run) if lanes else []
    more, streams = streams[MOST_STREAMS:], streams[:MOST_STREAMS]
    heights = ([0.26 * len(streams) + 0.05] if lanes else []) + [
        raster_height(item.run) for item in items
    ]
    figure, axes = make_figure(
        width,
        sum(heights) + 0.62 * len(heights) + 0.75,
        len(heights),
        1,
        gridspec_kw={"height_ratios": heights},
        sharex=True,
    )
    # Everything from when the last rank begins; a rank that was early began some time before.
    spans = [span_of(item.run) for item in items]
    factor, unit = unit_for(max(end - begin for begin, end in spans), TIMES)
    for number, (axis, item, (begin, end)) in enumerate(zip(axes[-len(items) :, 0], items, spans)):
        edges = numpy.linspace(begin, end, 1501)
        image, group, numbers = state_image(item.run, edges)
        axis.imshow(
            image,
            aspect="auto",
            interpolation="nearest",
            origin="upper",
            extent=(0, (end - begin) / factor, -(-len(numbers) // group), 0),
        )
        rank_ticks(axis, numbers, group)
        axis.grid(False)
        axis.set_ylabel("GPU" if group == 1 else f"GPU\n({group} a row)")
        title = text(item.label) if len(items) > 1 else ""
        if number == 0:
            handles = [patch_handle(colour) for _, colour in STATES]
            names = state_names([item.run for item in items])
            if any(left_at(one.run.stats) for one in items):
                handles.append(patch_handle(GONE, edgecolor=BLACK, linewidth=0.5))
                names.append("has left the job")
            legend_above(
                axis,
                handles,
                names,
                width,
                size=6.5,
                title=title,
            )
        else:
            axis.set_title(title, fontsize=6.5)
    longest = max(end - begin for begin, end in spans)
    axes[-1, 0].set_xlim(0, longest / factor)
    measured_axis(axes[-1, 0], unit, [begin for begin, _ in spans])
    if lanes:
        draw_lanes(axes[0, 0], items[0].run, streams, spans[0], factor, width)
    if more:
        say_left_out(figure, [f"{len(more):,} more streams, {MOST_STREAMS} are drawn"])
    heading(figure, items)
    return figure


def span_of(run):
    """From where measuring began to the last call's end; None if no call took any time since."""
    calls = run.calls()
    begin = measured_from(run)
    lasting = calls[(calls["end_us"] > calls["start_us"]) & (calls["end_us"] > begin)]
    return None if lasting.empty else (begin, lasting["end_us"].max())


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
    axis.set_yticks(
        [tick + 0.5 for tick in ticks], [f"{numbers[tick * group]:,}" for tick in ticks]
    )


def drawn_calls(run):
    """(rank that ended last, its calls that took time since measuring began)."""
    calls = run.calls()
    rank = calls.loc[calls["end_us"].idxmax(), "rank"]
    begin = span_of(run)[0]
    lasting = (calls["end_us"] > begin) & (calls["end_us"] > calls["start_us"])
    return rank, calls[(calls["rank"] == rank) & lasting]


def used_streams(run):
    """Those in which something is drawn: a capture has one for each group of ranks."""
    used = set(drawn_calls(run)[1]["stream"])
    return [stream for stream in stream_order(run.calls()) if stream in used]


def draw_lanes(axis, run, streams, span, factor, width):
    """The streams of the rank that ended last, call by call."""
    rank, mine = drawn_calls(run)
    kinds = main_kinds(operations(mine["call"]), mine["end_us"] - mine["start_us"], MOST_CALLS)
    looks = call_looks(kinds.unique())
    for y, stream in enumerate(streams):
        here = mine["stream"] == stream
        for kind in kinds[here].unique():
            these, (colour, hatch) = mine[here & (kinds == kind)], looks[kind]
            begin = numpy.maximum(these["start_us"].to_numpy(), span[0])
            bars = numpy.column_stack(
                [(begin - span[0]) / factor, (these["end_us"].to_numpy() - begin) / factor]
            )
            # White edges part calls that are wide; short ones would be nothing but edges.
            wide = bars[:, 1] > (span[1] - span[0]) / factor * 0.006
            for some, edge in ((wide, "white"), (~wide, colour)):
                axis.broken_barh(
                    bars[some],
                    (y - 0.4, 0.8),
                    facecolors=colour,
                    hatch=hatch,
                    edgecolor=edge,
                    linewidth=0.25,
                )
    axis.set_ylim(len(streams) - 0.5, -0.5)
    axis.set_yticks(range(len(streams)), [text(stream, 16) for stream in streams])
    axis.grid(False, axis="y")
    axis.tick_params(labelbottom=False)
    size = 6.5
    lines = legend_above(
        axis, call_handles(looks), [text(name, 32) for name in looks], width, size=size
    )
    # There is room for some; of more the lanes would become lower.
    make_higher(axis.figure, max(0, lines - 4), size)
    axis.set_ylabel(f"GPU {rank}")
