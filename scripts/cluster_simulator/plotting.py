# SPDX-License-Identifier: GPL-2.0-only
"""Pictures of runs for papers and talks, with matplotlib.

    figure = draw("completion", [load("results/a"), load("results/b")], labels=["linear", "random"])
    save(figure, "completion", "plots", ["png", "pdf"])

PICTURES lists all of them. Several runs are laid over one another, one colour a run; where that makes no sense
(timelines) they stand below one another. Colours are those of Okabe and Ito, which colour-blind people can tell apart.
The same input gives the same bytes. Names that come from the input are text: no markup in them is obeyed.
"""

import functools
import math
import os
import re
import warnings
from collections import namedtuple

import matplotlib
import matplotlib.cm
import matplotlib.collections
import matplotlib.colors
import matplotlib.figure
import matplotlib.lines
import matplotlib.patches
import matplotlib.textpath
import matplotlib.ticker
import matplotlib.transforms
import numpy

from .measures import (
    Graph,
    Links,
    QUANTILES,
    by_size,
    call_times,
    group_size,
    host_nodes,
    main_kinds,
    marks,
    marks_per_interval,
    measured_from,
    natural,
    operations,
    segments,
    slowdown,
    step_parts,
    stream_order,
    tier,
    time_in_bins,
    weights,
    worst_ports,
)

WIDTH = 6.3  # inches between the margins of A4 or letter paper; a column of a two-column paper has 3.3
NARROW = 4.6  # below this, panels stand below one another
FORMATS = ("png", "svg", "pdf")

BLUE, RED, GREEN, PURPLE = "#0072B2", "#D55E00", "#009E73", "#CC79A7"
ORANGE, SKY, BLACK = "#E69F00", "#56B4E9", "#000000"
GREY, PALE = "#777777", "#E4E4E4"
COLOURS = (BLUE, RED, GREEN, PURPLE, ORANGE, SKY, BLACK)
DASHES = ("-", (0, (4, 1.5)), (0, (1, 1.2)), (0, (5, 1.5, 1, 1.5)))

STYLE = {
    "font.family": "DejaVu Sans",
    "font.size": 8,
    "axes.titlesize": 8,
    "axes.labelsize": 8,
    "legend.fontsize": 7,
    "xtick.labelsize": 7,
    "ytick.labelsize": 7,
    "figure.titlesize": 8,
    "axes.linewidth": 0.6,
    "lines.linewidth": 1.2,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "grid.linewidth": 0.4,
    "grid.color": "#D8D8D8",
    "axes.axisbelow": True,
    "xtick.major.width": 0.6,
    "ytick.major.width": 0.6,
    "legend.frameon": False,
    "legend.handlelength": 1.6,
    "legend.columnspacing": 1.2,
    "legend.borderaxespad": 0.2,
    "savefig.dpi": 300,
    "figure.dpi": 110,
    "figure.facecolor": "white",
    "savefig.facecolor": "white",
    "pdf.fonttype": 42,
    "svg.hashsalt": "dltrain",
    "svg.fonttype": "path",
    "hatch.linewidth": 0.5,
    "axes.titlelocation": "left",
}

# A GPU is in one of these states at any time of a step.
STATES = (
    ("computing", BLUE),
    ("computing, communication hidden behind it", SKY),
    ("exposed communication", RED),
    ("waiting", PALE),
)
CALL_COLOURS = {
    "forward": BLUE,
    "backward": "#004B77",
    "optimizer": PURPLE,
    "all-gather": ORANGE,
    "reduce-scatter": GREEN,
    "all-reduce": RED,
}

ALWAYS = (0.0, float("inf"))
# times: the part of the run that pictures over time show, in us.
Item = namedtuple("Item", "run label colour dashes times", defaults=(ALWAYS,))
Picture = namedtuple("Picture", "what draw")


class NothingToShow(Exception):
    """The runs have not what this picture shows; says why."""


def draw(name, runs, labels=None, width=WIDTH, times=ALWAYS):
    """One picture of PICTURES as a matplotlib Figure. Raises NothingToShow if the runs have not what it needs.

    `times` (us, from and until) is the part that queues and rates show.
    """
    labels = list(labels) if labels else default_labels(runs)
    if len(labels) != len(runs):
        raise ValueError(f"{len(labels)} labels for {len(runs)} runs")
    items = [
        Item(
            run,
            label + ("" if run.complete else " (incomplete)"),
            COLOURS[i % len(COLOURS)],
            DASHES[i // len(COLOURS) % len(DASHES)],
            times,
        )
        for i, (run, label) in enumerate(zip(runs, labels))
    ]
    with matplotlib.rc_context(STYLE):
        return PICTURES[name].draw(items, width)


def save(figure, name, folder, formats=FORMATS):
    """Write a figure in several formats, without dates, so that the bytes repeat. Returns the paths."""
    metadata = {"png": {"Software": None}, "svg": {"Date": None}, "pdf": {"CreationDate": None}}
    os.makedirs(folder, exist_ok=True)
    paths = []
    for form in formats:
        path = os.path.join(folder, f"{name}.{form}")
        with matplotlib.rc_context(STYLE):
            with warnings.catch_warnings():
                warnings.filterwarnings("ignore", "Glyph .* missing")  # a letter that the font has not: a box is drawn
                figure.savefig(path + ".part", format=form, metadata=metadata[form])
        os.replace(path + ".part", path)  # whoever looks meanwhile sees the old picture or the new one
        paths.append(path)
    return paths


def default_labels(runs):
    """The folders' names; where they are the same, as much of the path as tells them apart."""
    paths = [os.path.abspath(run.folder).split(os.sep) for run in runs]
    labels = []
    for path in paths:
        count = 1
        while count < len(path) and sum(other[-count:] == path[-count:] for other in paths) > 1:
            count += 1
        labels.append("/".join(path[-count:] if count < len(path) else path[-1:]))
    return labels


# ---- words and numbers


def text(words, longest=44):
    """A name from the input as text for matplotlib: no mathematics, no hidden legend entry, one line, not too long."""
    words = "".join(c if c.isprintable() else " " for c in str(words))
    if len(words) > longest:
        words = words[: longest // 2 - 1] + "…" + words[-longest // 2 :]
    words = words.replace("\\", "\u29f5").replace("$", r"\$")
    return " " + words if words.startswith("_") else words


def human(value, units):
    """A number in the unit that suits it: units are (factor, name), ascending."""
    factor, name = units[0]
    for f, n in units:
        if abs(value) >= f * 0.9995:
            factor, name = f, n
    number = value / factor
    return f"{number:,.0f} {name}" if abs(number) >= 999.5 else f"{number:.3g} {name}"


TIMES = ((1e-3, "ns"), (1, "µs"), (1e3, "ms"), (1e6, "s"))
BYTES = ((1, "B"), (1e3, "kB"), (1e6, "MB"), (1e9, "GB"), (1e12, "TB"))
BINARY = ((1, "B"), (2**10, "KiB"), (2**20, "MiB"), (2**30, "GiB"))


def human_time(us):
    return "0" if us == 0 else human(us, TIMES)


def human_bytes(count):
    return human(count, BYTES)


def unit_for(largest, units):
    """(factor, name) in which `largest` has one to three digits before the point, and stays above 1."""
    chosen = units[0]
    for unit in units:
        if largest >= unit[0] * 2:
            chosen = unit
    return chosen


# ---- axes


def make_figure(width, height, rows=1, columns=1, **options):
    figure = matplotlib.figure.Figure(figsize=(width, height), layout="constrained")
    figure.get_layout_engine().set(w_pad=0.04, h_pad=0.04, hspace=0.03, wspace=0.03)
    axes = figure.subplots(rows, columns, squeeze=False, **options)
    return figure, axes


def legend_above(axis, handles, labels, width, left=0.0, size=None, title=""):
    """A legend over a panel that is `width` inches wide and begins at `left` of the figure, in as many columns as fit.

    The layout must not shrink the panel to the legend's width, so the legend is no part of it: an empty title of as
    many lines keeps the place free.
    """
    size = size or STYLE["legend.fontsize"]
    room, handle = (width - 0.1) * 72, 3.6 * size  # points
    labels = [fitting(label, size, room - handle) for label in labels]
    longest = max(text_width(label, size) for label in labels)
    columns = max(1, min(len(labels), int(room / (longest + handle))))
    lines = -(-len(labels) // columns)
    transform = matplotlib.transforms.blended_transform_factory(axis.figure.transFigure, axis.transAxes)
    legend = axis.legend(
        handles,
        labels,
        loc="lower left",
        bbox_to_anchor=(left, 1.0),
        bbox_transform=transform,
        ncol=columns,
        fontsize=size,
        handletextpad=0.5,
        borderpad=0.3,
        labelspacing=0.25,
    )
    legend.set_in_layout(False)
    axis.set_title(title + "\n" * (lines + 1 if title else lines - 1) + " ", fontsize=size, linespacing=1.42, pad=4)


def line_handle(colour, dashes="-", **options):
    return matplotlib.lines.Line2D([], [], color=colour, linestyle=dashes, **options)


def patch_handle(colour, **options):
    return matplotlib.patches.Patch(facecolor=colour, **options)


def run_legend(axis, items, width):
    legend_above(
        axis, [line_handle(item.colour, item.dashes) for item in items], [text(item.label) for item in items], width
    )


def heading(figure, items):
    """Over a picture of one run: which, and what it was."""
    if len(items) == 1:
        about = describe(items[0].run)
        words = text(items[0].label) + (f":  {text(about, 120)}" if about else "")
        room = figure.get_figwidth() * 0.97 * 72
        figure.suptitle(fitting(words, STYLE["figure.titlesize"], room), x=0.01, ha="left", color=GREY)


@functools.lru_cache(maxsize=4096)
def text_width(words, size):
    """In points."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Glyph .* missing")
        return matplotlib.textpath.TextPath((0, 0), words.replace(r"\$", "S"), size=size).get_extents().width


def fitting(words, size, room):
    """The words, without their end if they are wider than `room` points."""
    if text_width(words, size) <= room:
        return words
    while len(words) > 1 and text_width(words + "…", size) > room:
        words = words[:-1]
    return words.rstrip("\\") + "…"


def describe(run):
    """ "bloom-560m, ZeRO-2, 128 GPUs, fat-tree" """
    stats = run.stats
    configuration = stats.get("configuration", {})
    words = []
    if "model" in stats:
        words += [str(stats["model"]), f"ZeRO-{stats.get('zero', '?')}"]
    if "pattern" in stats:
        words.append(str(stats["pattern"]))
    if run.program == "collperf":
        words.append(str(configuration.get("collperf", {}).get("op", "")) or "collperf")
    if "gpus" in stats:
        words.append(f"{stats['gpus']:,} GPUs")
    elif isinstance(stats.get("topology"), dict):
        words.append(f"{stats['topology'].get('hosts', 0):,} hosts")
    network = configuration.get("network", {})
    words.append(os.path.basename(str(network.get("topology", ""))))
    words.append(str(configuration.get("fabric", {}).get("nic", "")))
    return ", ".join(word for word in words if word)


def time_axis(axis, factor_name, what="time since measuring began"):
    axis.set_xlabel(f"{what} ({factor_name})")


def byte_ticks(axis, which, binary=False):
    units = BINARY if binary else BYTES
    formatter = matplotlib.ticker.FuncFormatter(lambda value, _: human(value, units) if value > 0 else "0")
    set_log_ticks(getattr(axis, f"{which}axis"), formatter, 2 if binary else 10)


def time_ticks(axis, which):
    set_log_ticks(getattr(axis, f"{which}axis"), matplotlib.ticker.FuncFormatter(lambda value, _: human_time(value)))


def set_log_ticks(axis, formatter, base=10):
    """Three to seven round ticks; of powers of two at most five."""
    low, high = sorted(axis.get_view_interval())
    low, high = max(low, 1e-300), max(high, 1e-300)
    if base == 2:
        doublings = math.log2(high / low)
        base = next((power for power in (2, 4, 16, 64, 256, 1024) if doublings / math.log2(power) <= 4.5), 2**20)
        axis.set_major_locator(matplotlib.ticker.LogLocator(base=base, numticks=8))
    else:
        for steps in ((1,), (1, 3), (1, 2, 5), (1, 1.5, 2, 3, 4, 5, 7)):
            ticks = [
                step * 10.0**power
                for power in range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
                for step in steps
                if low <= step * 10.0**power <= high
            ]
            if len(ticks) >= 3:
                break
        else:
            ticks = matplotlib.ticker.MaxNLocator(3).tick_values(low, high)
        ticks = [tick for tick in ticks if low <= tick <= high]
        axis.set_major_locator(matplotlib.ticker.FixedLocator(ticks[:: -(-len(ticks) // 7)]))
    axis.set_minor_locator(matplotlib.ticker.NullLocator())
    axis.set_major_formatter(formatter)


def widen_log(axis, which, values, least=1.6):
    """Limits of a logarithmic axis that leave a margin and are never one point."""
    low, high = float(min(values)), float(max(values))
    margin = max((high / low) ** 0.05, 1.08)
    low, high = low / margin, high * margin
    if high / low < least:
        middle = math.sqrt(low * high)
        low, high = middle / math.sqrt(least), middle * math.sqrt(least)
    getattr(axis, f"set_{which}scale")("log")
    getattr(axis, f"set_{which}lim")(low, high)


def columns_for(width):
    return 2 if width >= NARROW else 1


# ---- the step


def draw_step(items, width):
    rows = []
    for item in items:
        steps = len(item.run.stats.get("step_times_us") or [])
        each = range(1, steps + 1) if len(items) == 1 and 2 <= steps <= 12 else [None]
        for step in each:
            parts = step_parts(item.run, step)
            if parts:
                rows.append((item.label if step is None else f"step {step}", *parts))
    if not rows:
        raise NothingToShow("no training step was measured (only dltrain has steps)")
    single = len(items) == 1 and not items[0].run.calls().empty
    kinds = call_times(items[0].run) if single else []
    heights = [0.30 * len(rows) + 0.1] + ([0.26 * len(kinds) + 0.1] if kinds else [])
    legend_lines = 2 if width >= NARROW else 4
    figure, axes = make_figure(
        width,
        sum(heights) + 0.55 * len(heights) + 0.17 * legend_lines + 0.5,
        len(heights),
        1,
        gridspec_kw={"height_ratios": heights},
    )
    draw_step_bars(axes[0][0], rows, width)
    if kinds:
        draw_call_bars(axes[1][0], kinds, width)
    heading(figure, items)
    return figure


def limit_for(end, words, size, width):
    """Where a bar's axis must end for words behind the bar; the axis is as wide as the picture but for 1.3 inches."""
    share = (text_width(words, size) + 8) / ((width - 1.3) * 72)
    return end / max(1 - share, 0.2)


def draw_step_bars(axis, rows, width):
    factor, unit = unit_for(max(total for _, _, total, _ in rows), TIMES)
    span = max(max(total, sum(parts)) for _, parts, total, _ in rows)
    right = 0
    for y, (_, parts, total, ended) in enumerate(rows):
        left = 0
        for part, (_, colour) in zip(parts, STATES):
            axis.barh(y, part / factor, left=left / factor, color=colour, height=0.72, linewidth=0)
            if part > 0.07 * span:
                axis.text(
                    (left + part / 2) / factor,
                    y,
                    f"{part / factor:.3g}",
                    ha="center",
                    va="center",
                    fontsize=6.5,
                    color="white" if colour in (BLUE, RED) else "black",
                )
            left += part
        words = human_time(total) + ("" if ended else " so far")
        axis.text(max(left, total) / factor, y, " " + words, va="center", fontsize=7, fontweight="bold")
        right = max(right, limit_for(max(left, total) / factor, words, 8, width))  # bold is wider
    axis.set_xlim(0, right)
    axis.set_yticks(range(len(rows)), [text(label, 30) for label, _, _, _ in rows])
    if len(rows) == 1:
        axis.set_yticks([])
    axis.invert_yaxis()
    axis.grid(False, axis="y")
    axis.set_xlabel(f"step, mean over the GPUs ({unit})")
    shown = [i for i in range(4) if any(parts[i] > 0 for _, parts, _, _ in rows)]
    legend_above(axis, [patch_handle(STATES[i][1]) for i in shown], [STATES[i][0] for i in shown], width)


def draw_call_bars(axis, rows, width):
    factor, unit = unit_for(max(row[1] + row[2] for row in rows), TIMES)
    right = 0
    for y, (name, behind, exposed, collective) in enumerate(rows):
        axis.barh(y, behind / factor, color=SKY if collective else BLUE, height=0.72, linewidth=0)
        axis.barh(y, exposed / factor, left=behind / factor, color=RED, height=0.72, linewidth=0)
        words = human_time(behind + exposed)
        if collective:
            words += f", {human_time(exposed)} exposed"
        axis.text((behind + exposed) / factor, y, " " + words, va="center", fontsize=6.5)
        right = max(right, limit_for((behind + exposed) / factor, words, 6.5, width))
    axis.set_xlim(0, max(right, max(row[1] + row[2] for row in rows) / factor * 1.02))
    axis.set_yticks(range(len(rows)), [text(row[0], 24) for row in rows])
    axis.invert_yaxis()
    axis.grid(False, axis="y")
    axis.set_xlabel(f"time a GPU spends in it, a step ({unit})")


# ---- timelines


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


def number_ticks(axis, which):
    set_log_ticks(getattr(axis, f"{which}axis"), matplotlib.ticker.FuncFormatter(lambda value, _: f"{value:g}"))


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


# ---- links


def need_links(items):
    items = [item for item in items if not item.run.links().empty]
    if not items:
        raise NothingToShow("no link carried anything in the measured time (links.csv is missing or empty)")
    return items


def draw_links(items, width):
    items = need_links(items)
    single = len(items) == 1
    figure, axes = make_figure(
        width,
        2.0 + (2.6 if single else 2.0) + 0.16 * (1 if single else len(items)),
        2,
        1,
        gridspec_kw={"height_ratios": (2.0, 2.6) if single else (1, 1)},
    )
    if single:
        draw_links_of_one(figure, axes[:, 0], items[0], width)
    else:
        draw_links_of_several(axes[:, 0], items, width)
    heading(figure, items)
    return figure


def draw_links_of_one(figure, axes, item, width):
    links = Links(item.run)
    kinds = numpy.array([tier(name) for name in links.names])
    names = sorted(set(kinds), key=lambda kind: (-links.mean[kinds == kind].max(), kind))
    if len(names) > 8:
        kinds, names = numpy.full(len(kinds), "all links"), ["all links"]
    for number, name in enumerate(names):
        values = numpy.sort(links.mean[kinds == name])[::-1] * 100
        place = (numpy.arange(len(values)) + 0.5) / len(values) * 100
        axes[0].plot(
            place,
            values,
            marker=".",
            color=COLOURS[number % 7],
            linestyle=DASHES[number // 7 % 4],
            markersize=3,
            linewidth=0.8,
        )
    counts = [int((kinds == name).sum()) for name in names]
    legend_above(
        axes[0],
        [line_handle(COLOURS[i % 7], DASHES[i // 7 % 4], marker=".", markersize=4) for i in range(len(names))],
        [f"{text(name, 30)} ({count:,})" for name, count in zip(names, counts)],
        width,
    )
    axes[0].set_xlabel("links of this kind that were used, busiest first (%)")
    axes[0].set_ylabel("mean utilization (%)")
    axes[0].set_ylim(0, nice_top(links.mean.max() * 100))
    axes[0].set_xlim(0, 100)
    draw_link_map(figure, axes[1], links, kinds, names)


def nice_top(value):
    """An upper limit in percent."""
    for top in (1, 2, 5, 10, 20, 30, 40, 50, 60, 80):
        if value <= top * 0.97:
            return top
    return 105


def draw_link_map(figure, axis, links, kinds, names, most=160):
    """Utilization of every link over time; the busiest of a kind on top, neighbours averaged if they are too many."""
    edges, image = links.over_time(links.table["utilization"].to_numpy(), 500)
    factor, unit = unit_for(links.end - links.begin, TIMES)
    group = -(-len(links.names) // most)
    rows, bounds = [], [0]
    for name in names:
        mine = numpy.flatnonzero(kinds == name)
        mine = mine[numpy.lexsort((links.names[mine], -links.mean[mine]))]
        rows += [image[mine[i : i + group]].mean(axis=0) for i in range(0, len(mine), group)]
        bounds.append(len(rows))
    picture = axis.imshow(
        100 * numpy.array(rows),
        aspect="auto",
        interpolation="nearest",
        cmap="Blues",
        vmin=0,
        vmax=100,
        extent=(0, edges[-1] / factor, len(rows), 0),
    )
    for bound in bounds[1:-1]:
        axis.axhline(bound, color=GREY, linewidth=0.5)
    spread_labels(axis, bounds, names, len(rows))
    axis.grid(False)
    axis.set_ylabel("link" if group == 1 else f"link ({group} a row)")
    time_axis(axis, unit)
    bar = figure.colorbar(picture, ax=axis, pad=0.01, fraction=0.04, aspect=18)
    bar.set_label("utilization (%)")
    bar.outline.set_linewidth(0.4)


def spread_labels(axis, bounds, names, rows):
    """A label in the middle of each band of rows, if the band is thick enough for one."""
    ticks, labels = [], []
    for low, high, name in zip(bounds, bounds[1:], names):
        place = (low + high) / 2
        if not ticks or place - ticks[-1] > rows * 0.055:
            ticks.append(place)
            labels.append(text(name, 18))
    axis.set_yticks(ticks, labels)
    axis.tick_params(axis="y", length=0)


def draw_links_of_several(axes, items, width):
    every = [Links(item.run) for item in items]
    factor, unit = unit_for(max(links.end - links.begin for links in every), TIMES)
    top = 0
    for item, links in zip(items, every):
        values = numpy.sort(links.mean)[::-1] * 100
        top = max(top, values[0])
        axes[0].plot(
            (numpy.arange(len(values)) + 0.5) / len(values) * 100, values, color=item.colour, linestyle=item.dashes
        )
        busiest = int(links.mean.argmax())
        edges, share = links.over_time(links.table["utilization"].to_numpy(), 150, [busiest])
        axes[1].stairs(
            100 * share[0], edges / factor, color=item.colour, linestyle=item.dashes, linewidth=0.9, baseline=None
        )
    run_legend(axes[0], items, width)
    axes[0].set_xlabel("links that were used, busiest first (%)")
    axes[0].set_ylabel("mean utilization (%)")
    axes[0].set_ylim(0, nice_top(top))
    axes[0].set_xlim(0, 100)
    axes[1].set_ylabel("utilization of the\nbusiest link (%)")
    axes[1].set_ylim(0, 105)
    axes[1].set_xlim(0)
    legend_above(
        axes[1],
        [line_handle(item.colour, item.dashes) for item in items],
        [text(links.names[links.mean.argmax()], 36) for links in every],
        width,
    )
    time_axis(axes[1], unit)


# ---- queues, ECN, pauses


def draw_ports(items, width):
    items = need_links(items)
    single = len(items) == 1
    every = [Links(item.run) for item in items]
    extra = losses(items)
    count = 4 if extra else 3
    height = 1.25 * count + 0.75 + 0.16 * (3 if single else len(items))
    figure, axes = make_figure(width, height, count, 1, sharex=True)
    axes = axes[:, 0]
    factor, unit = unit_for(max(links.end - links.begin for links in every), TIMES)
    series = (
        ports_of_one(items[0], every[0]) if single else [worst_of(item, links) for item, links in zip(items, every)]
    )
    draw_series(axes, series, factor)
    if extra:
        draw_losses(axes[3], extra, factor, width)
    handles = [line_handle(one["colour"], one["dashes"]) for one in series]
    if handles:
        legend_above(axes[0], handles, [text(one["label"], 36) for one in series], width)
    axes[-1].set_xlim(0, max(links.end - links.begin for links in every) / factor)
    time_axis(axes[-1], unit)
    heading(figure, items)
    return figure


def ports_of_one(item, links):
    table = links.table
    chosen = worst_ports(item.run, links)
    if not chosen:
        return []
    queue = links.over_time(table["queue_bytes"].to_numpy(), 160, chosen, "max")
    paused = links.over_time(table["pause_share"].to_numpy(), 160, chosen)
    return [
        {
            "label": links.names[port],
            "colour": COLOURS[i % 7],
            "dashes": "-",
            "queue": (queue[0], queue[1][i]),
            "paused": (paused[0], paused[1][i]),
            "marks": marks_per_interval(item.run, links, links.names[port]),
        }
        for i, port in enumerate(chosen)
    ]


def worst_of(item, links):
    """Of all ports of a run: the longest queue, the marks together, the largest pause share, at each time."""
    table = links.table
    queue = links.over_time(table["queue_bytes"].to_numpy(), 300, None, "max")
    paused = links.over_time(table["pause_share"].to_numpy(), 300)
    return {
        "label": item.label,
        "colour": item.colour,
        "dashes": item.dashes,
        "queue": (queue[0], queue[1].max(axis=0)),
        "paused": (paused[0], paused[1].max(axis=0)),
        "marks": marks_per_interval(item.run, links),
        "all": True,
    }


def draw_series(axes, series, factor):
    everywhere = bool(series and series[0].get("all"))
    tallest = max((one["queue"][1].max() for one in series), default=0)
    scale, unit = unit_for(max(tallest, 1), BYTES)
    empty = {"queue": "no queue at the end of any interval", "marks": "no ECN mark", "paused": "no pause"}
    for axis, key, label, divisor in (
        (axes[0], "queue", ("longest queue" if everywhere else "queue") + f"\nof a port ({unit})", scale),
        (axes[1], "marks", "ECN marks\n" + ("of all ports, per ms" if everywhere else "per ms"), 1),
        (axes[2], "paused", ("largest share" if everywhere else "share of time") + "\npaused (%)", 0.01),
    ):
        drawn = [one for one in series if one[key][1].max() > 0]
        for one in drawn:
            edges, values = one[key]
            axis.stairs(
                values / divisor,
                edges / factor,
                color=one["colour"],
                linestyle=one["dashes"],
                linewidth=0.9,
                baseline=None,
            )
        axis.set_ylabel(label)
        axis.set_ylim(0)
        axis.yaxis.set_major_locator(matplotlib.ticker.MaxNLocator(4))
        axis.yaxis.set_major_formatter(matplotlib.ticker.FuncFormatter(lambda value, _: f"{value:,.10g}"))
        if not drawn:
            axis.set_ylim(0, 1)
            axis.set_yticks([])
            axis.text(0.5, 0.5, empty[key], transform=axis.transAxes, ha="center", va="center", color=GREY, fontsize=7)


def losses(items):
    """[(label, colour, dashes, times)] of drops, retransmissions and time-outs, if there are any."""
    rows = []
    kinds = (
        ("drop", "drops"),
        ("retransmission", "retransmissions"),
        ("timeout", "time-outs"),
        ("qp_error", "failed queue pairs"),
    )
    for item in items:
        events = item.run.events()
        for number, (kind, name) in enumerate(kinds):
            times = events.loc[events["what"] == kind, "time_us"].to_numpy() - measured_from(item.run)
            times = times[times >= 0]
            if len(times):
                single = len(items) == 1
                rows.append(
                    (
                        name if single else f"{item.label}: {name}",
                        COLOURS[number] if single else item.colour,
                        "-" if single else DASHES[number % 4],
                        times,
                    )
                )
    return rows


def draw_losses(axis, rows, factor, width):
    """Running totals: single events would not be seen."""
    for _, colour, dashes, times in rows:
        times = numpy.sort(times)
        axis.step(
            numpy.concatenate([[0], times]) / factor,
            numpy.arange(len(times) + 1),
            where="post",
            color=colour,
            linestyle=dashes,
        )
    axis.set_ylabel("losses so far")
    axis.set_ylim(0)
    axis.yaxis.set_major_locator(matplotlib.ticker.MaxNLocator(4, integer=True))
    legend_above(
        axis, [line_handle(colour, dashes) for _, colour, dashes, _ in rows], [text(row[0], 36) for row in rows], width
    )


# ---- collectives


def draw_busbw(items, width):
    curves = []
    for item in items:
        groups = {}
        for one in item.run.stats.get("collectives") or []:
            if one.get("busbw_GBps") and one.get("bytes"):
                groups.setdefault((one["op"], one.get("algorithm", "")), []).append((one["bytes"], one["busbw_GBps"]))
        curves += [(item, op, algorithm, sorted(points)) for (op, algorithm), points in sorted(groups.items())]
    if not curves:
        raise NothingToShow("no collective was measured (dltrain and collperf have them)")
    lines = len(curves) if width < NARROW else -(-len(curves) // 2)
    figure, axes = make_figure(width, max(2.1, min(width * 0.48, 3.2)) + 0.2 + 0.14 * lines, 1, 1)
    axis = axes[0][0]
    single = len(items) == 1
    handles, labels = [], []
    for number, (item, op, algorithm, points) in enumerate(curves):
        colour = COLOURS[number % 7] if single else item.colour
        operations_of_run = [curve for curve in curves if curve[0] is item]
        dashes = DASHES[number // 7 % 4] if single else DASHES[operations_of_run.index(curves[number]) % 4]
        sizes = numpy.unique([size for size, _ in points])
        low, mean, high = (
            numpy.array([how([bw for s, bw in points if s == size]) for size in sizes])
            for how in (min, lambda x: sum(x) / len(x), max)
        )
        axis.plot(sizes, mean, color=colour, linestyle=dashes, marker="o", markersize=3)
        axis.vlines(sizes, low, high, color=colour, linewidth=0.8)
        handles.append(line_handle(colour, dashes, marker="o", markersize=3))
        name = f"{op} ({algorithm})" if algorithm else op
        labels.append(text(name if single else f"{item.label}: {name}", 48))
    everything = [point for curve in curves for point in curve[3]]
    widen_log(axis, "x", [size for size, _ in everything], 4)
    axis.set_xscale("log", base=2)
    byte_ticks(axis, "x", binary=True)
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
        cluster = item.run.stats.get("configuration", {}).get("cluster", {})
        hosts = host_nodes(item.run)
        rates |= {
            rate / 8 * int(cluster.get("nics_per_server") or 1)
            for rate in links.loc[links["from"].isin(hosts), "rate_gbps"].unique()
        }
    return rates.pop() if len(rates) == 1 else None


# ---- topology

LINK_COLOURS = matplotlib.colors.LinearSegmentedColormap.from_list(
    "utilization", ["#F3D36B", "#E69F00", "#D55E00", "#7A0403"]
)


def draw_topology(items, width):
    items = need_links(items)
    graphs = [Graph(item.run) for item in items]
    heights = [0.62 * (len(graph.tiers) - 1) + 0.8 for graph in graphs]
    figure, axes = make_figure(
        width, sum(heights) + 0.25 * len(items) + 0.9, len(items), 1, gridspec_kw={"height_ratios": heights}
    )
    busiest = max(busy for graph in graphs for _, _, _, busy in graph.links)
    norm = matplotlib.colors.Normalize(0, nice_top(100 * busiest) if busiest < 0.8 else 100)
    most = max(max(carried for _, _, carried, _ in graph.links) for graph in graphs) or 1
    crowd = min(1, 60 / max(len(graph.links) for graph in graphs)) ** 0.5  # many lines: thinner
    for axis, item, graph in zip(axes[:, 0], items, graphs):
        draw_graph(axis, graph, norm, most, width, crowd)
        if len(items) > 1:
            axis.set_title(text(item.label), color=item.colour)
    factor, unit = unit_for(most, BYTES)
    handles = [line_handle(GREY, linewidth=max(0.3, thickness(share) * crowd)) for share in (0.1, 0.5, 1)]
    axes[-1, 0].legend(
        handles,
        [human_bytes(share * most) for share in (0.1, 0.5, 1)],
        loc="upper left",
        ncol=3,
        bbox_to_anchor=(0, -0.01),
        title="carried in both directions",
        title_fontsize=7,
        alignment="left",
    )
    mapping = matplotlib.cm.ScalarMappable(norm, LINK_COLOURS)
    bar = figure.colorbar(
        mapping,
        ax=list(axes[:, 0]),
        orientation="horizontal",
        fraction=0.06,
        aspect=40,
        pad=0.01,
        shrink=0.5,
        anchor=(1.0, 1.0),
    )
    bar.set_label("mean utilization" + (" of the busier direction" if width >= NARROW else "") + " (%)", fontsize=7)
    bar.outline.set_linewidth(0.4)
    heading(figure, items)
    return figure


def thickness(share):
    return 0.5 + 4.5 * share


def draw_graph(axis, graph, norm, most, width, crowd):
    places = graph.places()
    order = sorted(graph.links, key=lambda link: (link[3], natural(link[0]), natural(link[1])))  # the busiest on top
    left, lowest = -0.01, -0.4
    axis.add_collection(
        matplotlib.collections.LineCollection(
            [(places[a], places[b]) for a, b, _, _ in order],
            colors=[LINK_COLOURS(norm(100 * busy)) if busy else PALE for *_, busy in order],
            linewidths=[max(0.3, thickness(carried / most) * crowd) for _, _, carried, _ in order],
            capstyle="round",
            zorder=1,
        )
    )
    for height, nodes in enumerate(graph.tiers):
        room = width * 0.88 / len(nodes)  # inches for a node
        size = min(7, max(1.2, room * 72 * 0.5))
        axis.plot(
            [places[node][0] for node in nodes],
            [height] * len(nodes),
            "s" if height == 0 else "o",
            markersize=size,
            markerfacecolor="white",
            markeredgecolor="black",
            markeredgewidth=0.7 if size > 3 else 0.3,
            zorder=2,
        )
        kind = re.sub(r"[-_.\d]+$", "", nodes[0]) or "node"
        longest = max(map(len, nodes))
        fits = room > 0.062 * longest + 0.04
        upright = not fits and height == 0 and room > 0.13
        if fits or upright:
            for node in nodes:
                x, y = places[node]
                below = height == 0
                axis.annotate(
                    text(node, 20),
                    (x, y),
                    (0, -6 if below else 6),
                    textcoords="offset points",
                    fontsize=6,
                    ha="center",
                    va="top" if below else "bottom",
                    rotation=90 if upright else 0,
                    zorder=3,
                    bbox={"facecolor": "white", "edgecolor": "none", "alpha": 0.75, "pad": 0.3} if not below else None,
                )
        else:
            axis.annotate(
                f"{len(nodes):,} × {text(kind, 16)}",
                (0, height),
                (-6, 0),
                textcoords="offset points",
                fontsize=6.5,
                ha="right",
                va="center",
            )
            left = -0.05 - 0.058 * (len(kind) + 6) / width
        lowest = -0.85 if upright else lowest
    axis.set_xlim(left, 1.01)
    axis.set_ylim(lowest, len(graph.tiers) - 1 + 0.4)
    axis.axis("off")


PICTURES = {
    "step": Picture("where the time of a training step goes, and in which calls", draw_step),
    "timeline": Picture("what every GPU does over time, and the streams of one of them", draw_timeline),
    "completion": Picture(
        "completion times and slowdown of messages, cumulative, with p50, p99, p99.9", draw_completion
    ),
    "sizes": Picture("sizes of messages by operation: how many, how many bytes", draw_sizes),
    "by-size": Picture("completion time and slowdown by size of message", draw_by_size),
    "topology": Picture("the network: thickness of a line is traffic, its colour utilization", draw_topology),
    "links": Picture("utilization of links: mean, and over time", draw_links),
    "ports": Picture("queue, ECN marks, pauses and losses of the worst ports over time", draw_ports),
    "busbw": Picture("bus bandwidth of collectives over their size", draw_busbw),
}

from . import traffic_plots  # noqa: E402  (uses what stands above)

PICTURES.update(
    {
        "slowdown": Picture("slowdown of flows over their size: p50, p95, p99 (traffic)", traffic_plots.draw_slowdown),
        "queues": Picture("the longest queues over time (traffic)", traffic_plots.draw_queues),
        "rates": Picture("throughput of each flow, and Jain's index, over time (traffic)", traffic_plots.draw_rates),
    }
)
