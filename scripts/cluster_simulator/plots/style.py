# SPDX-License-Identifier: GPL-2.0-only
"""How all pictures look: colours, sizes, words, numbers, axes and legends. No data of a run is read
here but its name.
"""

import functools
import io
import math
import os
import re
import warnings
from collections import namedtuple

import matplotlib
import matplotlib.figure
import matplotlib.lines
import matplotlib.patches
import matplotlib.textpath
import matplotlib.ticker
import matplotlib.transforms
import numpy

from .. import parallelism
from ..amounts import BINARY, BYTES, TIMES, counted, digits, human, human_bytes, human_time
from ..measures import family, is_other, natural, some_blocks
from .ticks import set_log_ticks

# inches between the margins of A4 or letter paper; a column of a two-column paper has 3.3
WIDTH = 6.3
NARROW = 4.6  # below this, panels stand below one another
FORMATS = ("png", "svg", "pdf")

BLUE, RED, GREEN, PURPLE = "#0072B2", "#D55E00", "#009E73", "#CC79A7"
DEEP, ORANGE, SKY, BLACK = "#004B77", "#E69F00", "#56B4E9", "#000000"
GREY, PALE = "#777777", "#E4E4E4"
VIOLET, LEAF, MAROON, BROWN = "#6A3D9A", "#66A61E", "#7A0019", "#8C6D1F"
COLOURS = (BLUE, RED, GREEN, PURPLE, ORANGE, SKY, BLACK)
MARKERS = "osD^vP"
DASHES = ("-", (0, (4.5, 1.5)), (0, (1.8, 1)), (0, (6, 1.2, 1.6, 1.2)))

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

# A GPU is in one of these states at any time of a step; as grey they are dark, light, middle and
# pale.
STATES = (
    ("computing", DEEP),
    ("computing, communication hidden behind it", SKY),
    ("exposed communication, waiting for slower ranks included", RED),
    ("waiting", PALE),
)

CALL_COLOURS = {
    "forward": BLUE,
    "recompute": BLACK,
    "backward": DEEP,
    "weights": SKY,
    "optimizer": PURPLE,
    "all-gather": ORANGE,
    "reduce-scatter": GREEN,
    "all-reduce": RED,
    "send activations": VIOLET,
    "receive activations": LEAF,
    "send gradients": MAROON,
    "receive gradients": BROWN,
}
# Of operations that have no colour of their own, in this order as far as no other has it.
SPARE = (SKY, PURPLE, BLUE, BLACK, BROWN, VIOLET, LEAF, MAROON, ORANGE, GREEN, RED)
HATCHES = ("", "/////", ".....", "xxxxx", "-----")
REST = "#BBBBBB"  # of operations that are drawn together, and of nothing else

ALWAYS = (0.0, float("inf"))
# times: the part of the run that pictures over time show, in us.
Item = namedtuple("Item", "run label colour dashes marker times", defaults=("o", ALWAYS))


class NothingToShow(Exception):
    """The runs have not what this picture shows; says why."""


# ---- words and numbers


def text(words, longest=44):
    """A name from the input as text for matplotlib: no mathematics, no hidden legend entry, one
    line, not too long.
    """
    words = "".join(c if c.isprintable() else " " for c in str(words))
    if len(words) > longest:
        words = re.sub(r"\bns3::(?:\w+::)+", "", words)  # an attribute's own name tells more
    if len(words) > longest:
        words = words[: longest // 2 - 1] + "…" + words[-longest // 2 :]
    words = words.replace("\\", "\u29f5").replace("$", r"\$")
    return " " + words if words.startswith("_") else words


def say_instead(axis, words):
    """In place of curves: why there are none."""
    axis.text(
        0.5,
        0.5,
        words,
        transform=axis.transAxes,
        ha="center",
        va="center",
        color=GREY,
        fontsize=7,
    )


def say_empty(axis, words):
    """The same where the axis has no numbers, either."""
    axis.set_ylim(0, 1)
    axis.set_yticks([])
    say_instead(axis, words)


def all_of_one_size(what, count):
    """Why a picture over size is left out, and which one tells what it would."""
    return f"all {what} have {human_bytes(count)}; completion has their times and slowdowns"


def are_binary(sizes):
    """Sizes of an axis are told in KiB, MiB, GiB if all of them are whole KiB (or less than one),
    as in report.html.
    """
    return any(size >= 1024 for size in sizes) and all(
        size < 1024 or size % 1024 == 0 for size in sizes
    )


def unit_for(largest, units):
    """(factor, name) in which `largest` has one to three digits before the point, and stays above
    1.
    """
    chosen = units[0]
    for unit in units:
        if largest >= unit[0] * 2:
            chosen = unit
    return chosen


# ---- axes


class Page(matplotlib.figure.Figure):
    """A figure that a notebook shows without pyplot."""

    left_out = ()  # words

    def _repr_png_(self):
        with io.BytesIO() as file, matplotlib.rc_context(STYLE), warnings.catch_warnings():
            warnings.filterwarnings("ignore", "Glyph .* missing")
            self.savefig(file, format="png", dpi=STYLE["figure.dpi"])
            return file.getvalue()


def dress(axis):
    """Axes that were made without STYLE as those that were."""
    for side in ("top", "right"):
        axis.spines[side].set_visible(False)
    for spine in axis.spines.values():
        spine.set_linewidth(STYLE["axes.linewidth"])
    axis.tick_params(labelsize=STYLE["xtick.labelsize"], width=STYLE["xtick.major.width"])
    axis.xaxis.label.set_size(STYLE["axes.labelsize"])
    axis.yaxis.label.set_size(STYLE["axes.labelsize"])
    axis.grid(True, linewidth=STYLE["grid.linewidth"], color=STYLE["grid.color"])
    axis.set_axisbelow(True)
    return axis


def make_figure(width, height, rows=1, columns=1, **options):
    figure = Page(figsize=(width, height), layout="constrained")
    figure.get_layout_engine().set(w_pad=0.04, h_pad=0.04, hspace=0.03, wspace=0.03)
    axes = figure.subplots(rows, columns, squeeze=False, **options)
    return figure, axes


def make_panels(width, rows, room=0.62):
    """(figure, axes): rows of (height in inches, panels beside one another), each with `room` for
    its words.
    """
    figure = Page(
        figsize=(width, sum(height + room for height, _ in rows) + 0.2), layout="constrained"
    )
    figure.get_layout_engine().set(w_pad=0.04, h_pad=0.04, hspace=0.03, wspace=0.03)
    columns = math.lcm(*(count for _, count in rows))
    grid = figure.add_gridspec(len(rows), columns, height_ratios=[height for height, _ in rows])
    return figure, [
        figure.add_subplot(grid[row, place * columns // count : (place + 1) * columns // count])
        for row, (_, count) in enumerate(rows)
        for place in range(count)
    ]


def columns_of(widths, room):
    """How many columns a legend has whose entries have these widths: as many as fit into the room,
    but no more than its lines need, so that no entry stands alone in a line where two are even.
    """

    def needed(columns):  # matplotlib fills one column after the other
        return sum(max(part) for part in numpy.array_split(widths, columns))

    fit = next((n for n in range(len(widths), 1, -1) if needed(n) <= room), 1)
    lines = -(-len(widths) // fit)
    even = -(-len(widths) // lines)
    return even if needed(even) <= room else fit


def legend_above(
    axis, handles, labels, width, left=0.0, size=None, title="", lines=0, handlelength=1.6
):
    """A legend over a panel that is `width` inches wide and begins at `left` of the figure, in as
    many columns as fit.

    The layout must not shrink the panel to the legend's width, so the legend is no part of it: an
    empty title of as many lines keeps the place free, of at least `lines`. Returns how many it has
    itself.
    """
    size = size or STYLE["legend.fontsize"]
    room, handle = (width - 0.1) * 72, (2 + handlelength) * size  # points
    labels = [fitting(label, size, room - handle) for label in labels]
    columns = columns_of([text_width(label, size) + handle for label in labels], room)
    own = -(-len(labels) // columns)
    title = wrapped(title, size, room) if title else []
    transform = matplotlib.transforms.blended_transform_factory(
        axis.figure.transFigure, axis.transAxes
    )
    legend = axis.legend(
        handles,
        labels,
        loc="lower left",
        bbox_to_anchor=(left, 1.0),
        bbox_transform=transform,
        ncol=columns,
        fontsize=size,
        handletextpad=0.5,
        handlelength=handlelength,
        borderpad=0.3,
        labelspacing=0.25,
        title="\n".join(title) or None,
        title_fontsize=size,
        alignment="left",
    )
    legend.set_in_layout(False)
    own += len(title)
    axis.set_title("\n" * (max(own, lines) - 1) + " ", fontsize=size, linespacing=1.42, pad=4)
    return own


def legends_above(calls):
    """legend_above for panels beside one another, which are equally high if the places of their
    legends are.
    """
    lines = max(legend_above(*words, **options) for words, options in calls)
    for words, options in calls:
        legend_above(*words, **options, lines=lines)


def no_legend(axis, other):
    """As much place over a panel as over the one beside it, which has a legend."""
    size = STYLE["legend.fontsize"]
    axis.set_title(
        "\n" * other.get_title().count("\n") + " ", fontsize=size, linespacing=1.42, pad=4
    )


def line_over_time(axis, times, values, marker="o", **look):
    """A line, and a mark at samples that have no neighbour: a line through one point is nothing."""
    known = numpy.isfinite(
        numpy.concatenate([[numpy.nan], numpy.asarray(values, dtype=float), [numpy.nan]])
    )
    lone = numpy.flatnonzero(known[1:-1] & ~known[:-2] & ~known[2:])
    axis.plot(
        times,
        values,
        marker=marker if len(lone) else None,
        markevery=lone.tolist(),
        markersize=3,
        **look,
    )


def line_handle(colour, dashes="-", **options):
    return matplotlib.lines.Line2D([], [], color=colour, linestyle=dashes, **options)


def call_looks(names):
    """{operation: (colour, hatch)}, no two alike, of some twenty: the well-known ones always have
    the same colour, chunks of one its colour with different hatches.
    """
    own = {name: REST if is_other(name) else CALL_COLOURS.get(family(name)) for name in names}
    spare = [colour for colour in SPARE if colour not in own.values()] or SPARE
    looks, families = {}, {}
    # First those that have a colour for themselves: nothing else may take it.
    for name in sorted(names, key=lambda name: (name not in CALL_COLOURS, natural(name))):
        colour = own[name]
        if colour is None:
            number = families.setdefault(family(name), len(families))
            colour = spare[number % len(spare)]
        # Of chunk 1 the same hatch in all operations.
        chunk = re.search(r" chunk (\d{1,3})$", name)
        first = int(chunk[1]) % len(HATCHES) if chunk else 0
        choice = [(colour, hatch) for hatch in HATCHES[first:] + HATCHES]
        choice += [(other, hatch) for hatch in HATCHES for other in SPARE]
        looks[name] = next(look for look in choice if look not in looks.values())
    known = list(CALL_COLOURS)
    place = {name: known.index(of) if (of := family(name)) in known else len(known) for name in own}
    order = sorted(own, key=lambda name: (is_other(name), place[name], natural(name)))
    return {name: looks[name] for name in order}


def call_handles(looks):
    """For a legend: white is what parts bars, and what hatches them."""
    return [
        patch_handle(colour, hatch=hatch, edgecolor="white", linewidth=0)
        for colour, hatch in looks.values()
    ]


def patch_handle(colour, **options):
    return matplotlib.patches.Patch(facecolor=colour, **options)


def run_legend(axis, items, width, title="", marked=False, more=((), ()), numbered=False):
    """Of the runs, with their numbers from 1 if these are their names elsewhere, and of what else
    there is: handles and labels.
    """
    numbers = [f"{number}  " if numbered else "" for number in range(1, len(items) + 1)]
    markers = [{"marker": item.marker, "markersize": 3} if marked else {} for item in items]
    handles = [
        line_handle(item.colour, item.dashes, **marker) for item, marker in zip(items, markers)
    ]
    legend_above(
        axis,
        handles + [*more[0]],
        [number + text(item.label) for number, item in zip(numbers, items)] + [*more[1]],
        width,
        title=title,
    )


def say_left_out(figure, words):
    """Below a picture: which panels and runs have nothing to show, and why."""
    if words:
        size, room = STYLE["legend.fontsize"], (figure.get_figwidth() - 0.1) * 72
        before = len(wrapped("; ".join(figure.left_out), size, room)) if figure.left_out else 1
        figure.left_out = [*figure.left_out, *words]
        lines = wrapped("Left out: " + "; ".join(figure.left_out), size, room)
        make_higher(figure, len(lines) - before, size)
        figure.supxlabel("\n".join(lines), x=0.01, ha="left", fontsize=size, color=GREY)


class Shown(list):
    """Of runs those that a picture has something of; the others are told below it."""

    missing = ""


def each_job(items):
    """Behind why there is no picture of what each of several jobs has of its own."""
    many = any(isinstance(item.run.stats.get("jobs"), list) for item in items)
    return "; what each job did is in stats.json and report.html" if many else ""


def without_packets(what, otherwise):
    """What tells why a run has nothing of a thing that packets alone make: `what` is not known of
    its --network; of a run with packets `otherwise`.
    """

    def why(run):
        network = run.stats.get("network")  # only a run without packets has it
        known = isinstance(network, str)
        return f"{what} with --network={text(network, 20)}" if known else otherwise

    return why


def shown_of(items, has, why):
    """Those that has(item); raises NothingToShow if there are none. `why` a run has nothing: words,
    or what tells them of it.
    """
    shown, missing = Shown(), {}
    for item in items:
        if has(item):
            shown.append(item)
        else:
            reason = why(item.run) if callable(why) else why
            missing.setdefault(reason, []).append(text(item.label, 30))
    earlier = getattr(items, "missing", "")
    if not shown and len(missing) == 1 and not earlier:
        raise NothingToShow(*missing)
    told = [f"{', '.join(names)}: {reason}" for reason, names in missing.items()]
    shown.missing = "; ".join([earlier, *told] if earlier else told)
    if not shown:
        raise NothingToShow(shown.missing)
    return shown


def heading(figure, items):
    """Over a picture of one run: which, and what it was. Below one of several: which of them are
    not in it.
    """
    missing = getattr(items, "missing", "")
    say_left_out(figure, [missing] if missing else [])
    if len(items) == 1:
        about = describe(items[0].run)
        words = text(items[0].label) + (f":  {text(about, 240)}" if about else "")
        size, room = STYLE["figure.titlesize"], figure.get_figwidth() * 0.97 * 72
        lines = wrapped(words, size, room)
        make_higher(figure, len(lines) - 1, size)
        figure.suptitle("\n".join(lines), x=0.01, ha="left", color=GREY)


def make_higher(figure, lines, size):
    """By so many lines of text: panels stay as high as they are."""
    figure.set_figheight(figure.get_figheight() + lines * 1.3 * size / 72)


@functools.lru_cache(maxsize=4096)
def text_width(words, size):
    """In points."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Glyph .* missing")
        return (
            matplotlib.textpath.TextPath((0, 0), words.replace(r"\$", "S"), size=size)
            .get_extents()
            .width
        )


def fitting(words, size, room):
    """The words, without their end if they are wider than `room` points."""
    if text_width(words, size) <= room:
        return words
    while len(words) > 1 and text_width(words + "…", size) > room:
        words = words[:-1]
    return words.rstrip("\\") + "…"


def wrapped(words, size, room):
    """The words in lines of `room` points; a single word that is wider loses its end."""
    lines = []
    for word in words.split(" "):
        longer = f"{lines[-1]} {word}" if lines else word
        if lines and text_width(longer, size) <= room:
            lines[-1] = longer
        else:
            lines.append(fitting(word, size, room))
    return lines


def state_names(runs):
    """Of STATES: what no call is in is also held up where jobs write checkpoints or recover."""
    names = [name for name, _ in STATES]
    if any(run.stats.get("recovery") for run in runs):
        names[-1] = "waiting, or held up by a checkpoint or a recovery"
    return names


def describe(run):
    """ "bloom-560m, ZeRO-2, 128 GPUs, fat-tree" """
    stats = run.stats
    configuration = stats.get("configuration", {})
    words = []
    if "model" in stats:
        words += [str(stats["model"]), parallelism.words(stats)]
        # Of some blocks is all that is drawn of a run with --layers.
        if some_blocks(run):
            words.append(some_blocks(run))
    if run.program in ("dlgoodput", "dlplan"):
        words.append(str(configuration.get("training", {}).get("model", "")))
    serving = stats.get("serving")
    if isinstance(serving, dict):
        words.append(str(serving.get("model", "")))
        words.append(f"{serving.get('gpus', 0):,} x {serving.get('gpu', 'GPU')}")
    if run.program == "dlserve":
        mixes = stats.get("multiplex") or [{}]
        curves = stats.get("share_curves") or []
        names = [str(model.get("model", "")) for model in mixes[0].get("models", [])]
        names += dict.fromkeys(str(curve.get("model", "")) for curve in curves)
        words.append(", ".join(names) if len(names) < 6 else f"{len(names)} models")
    if "pattern" in stats:
        words.append(str(stats["pattern"]))
    if run.program == "collperf":
        words.append(str(configuration.get("collperf", {}).get("op", "")) or "collperf")
    jobs = stats.get("jobs")
    if isinstance(jobs, list):  # GPUs of the servers of flows do nothing
        words.append(counted(len(jobs), "job"))
        servers = stats.get("servers", 0)
        words.append(counted(servers, "server"))
    elif "gpus" in stats:
        words.append(counted(stats["gpus"], "GPU"))
    elif isinstance(stats.get("topology"), dict):
        words.append(counted(stats["topology"].get("hosts", 0), "host"))
    network = configuration.get("network", {})
    words.append(os.path.basename(str(network.get("topology", ""))))
    words.append(_nics(configuration))
    return ", ".join(word for word in words if word)


def _nics(configuration):
    """ "2 x 200GbE", of a server."""
    nic = str(configuration.get("fabric", {}).get("nic", ""))
    number = int(configuration.get("cluster", {}).get("nics_per_server") or 1)
    return f"{number} x {nic}" if nic and number > 1 else nic


SINCE_BEGIN = "time since the simulation began"


def time_axis(axis, factor_name, what=SINCE_BEGIN):
    axis.set_xlabel(f"{what} ({factor_name})")


def measured_axis(axis, factor_name, begins):
    """Of times since measuring began, at `begins` of each run (us): at 0 if there is no warm-up."""
    time_axis(axis, factor_name, "time since measuring began" if any(begins) else SINCE_BEGIN)


def byte_ticks(axis, which, binary=False, most=7):
    units = BINARY if binary else BYTES
    formatter = matplotlib.ticker.FuncFormatter(
        lambda value, _: human(value, units) if value > 0 else "0"
    )
    set_log_ticks(getattr(axis, f"{which}axis"), formatter, 2 if binary else 10, most)


def time_ticks(axis, which, most=7, thirds=True):
    set_log_ticks(
        getattr(axis, f"{which}axis"),
        matplotlib.ticker.FuncFormatter(lambda value, _: human_time(value)),
        most=most,
        thirds=thirds,
    )


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


def number_ticks(axis, which):
    set_log_ticks(
        getattr(axis, f"{which}axis"),
        matplotlib.ticker.FuncFormatter(lambda value, _: f"{value:g}"),
    )


def nice_top(value):
    """An upper limit in percent."""
    for top in (1, 2, 5, 10, 20, 30, 40, 50, 60, 80):
        if value <= top * 0.97:
            return top
    return 105
