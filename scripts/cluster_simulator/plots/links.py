# SPDX-License-Identifier: GPL-2.0-only
"""Utilization of links: both directions, and over time."""

import numpy

from ..measures import Graph, Links, tier
from .style import (
    COLOURS,
    DASHES,
    GREY,
    MARKERS,
    NARROW,
    STYLE,
    TIMES,
    heading,
    legend_above,
    legends_above,
    line_handle,
    make_panels,
    measured_axis,
    nice_top,
    no_legend,
    run_legend,
    shown_of,
    text,
    unit_for,
    without_packets,
)

BINS = 500  # of the map of all links over time, at most
COLUMNS = 1000  # of its image


NO_LINKS = "no link carried anything in the measured time (links.csv is missing or empty)"


def why_no_links(run):
    """Why a run has no links.csv with rows."""
    # The others share links, but write none over time.
    if run.stats.get("network") == "analytic":
        what = "links are not simulated"
    else:
        what = "what links carry over time is not recorded"
    return without_packets(what, NO_LINKS)(run)


def need_links(items):
    return shown_of(items, lambda item: not item.run.links().empty, why_no_links)


def draw_links(items, width):
    items = need_links(items)
    every = [Links(item.run) for item in items]
    directions = [direction_of(item.run, links) for item, links in zip(items, every)]
    sides = [side for side in (0, 1) if any((found == side).any() for found in directions)]
    if len(items) == 1:
        return draw_links_of_one(items, every[0], directions[0], sides, width)
    return draw_links_of_several(items, every, directions, sides, width)


def direction_of(run, links):
    """Of every link 1 if it leads towards the servers, else 0."""
    level = Graph(run).level
    ends = links.table.drop_duplicates("link").set_index("link")[["from", "to"]].loc[links.names]
    return numpy.array(
        [int(level[begin] > level[end]) for begin, end in ends.itertuples(index=False)]
    )


def side_title(side, sides, kinds):
    """What a panel shows: links of a torus lead neither up nor down."""
    if len(sides) == 1:
        return "all links"
    if side == 1:
        return "towards the servers"
    same = any(len(set(kind.split("→"))) == 1 for kind in kinds)
    return "away from the servers, or between equals" if same else "away from the servers"


def panels(width, sides, last):
    """(figure, an axis a direction with the same limits, the axis below): beside one another if
    there is room.
    """
    beside = len(sides) == 2 and width >= NARROW
    rows = 1 if beside else len(sides)
    return make_panels(width, [(1.75, 2 if beside else 1)] * rows + [(last, 1)])


def finish_sides(axes, top):
    for axis in axes:
        axis.set_ylim(0, top)
        axis.set_xlim(0, 100)
        axis.set_xlabel("links that were used, busiest first (%)")
        axis.set_ylabel("mean utilization (%)")


def draw_links_of_one(items, links, direction, sides, width):
    kinds = numpy.array([tier(name) for name in links.names])
    names = sorted(set(kinds), key=lambda kind: (-links.mean[kinds == kind].max(), kind))
    if len(names) > 8:  # names of one's own: there is nothing to tell them apart by
        kinds = numpy.where(direction == 1, "towards servers", "other links")
        names = sorted(set(kinds), reverse=True)
    # both directions look alike
    pairs = list(dict.fromkeys(frozenset(name.split("→")) for name in names))
    figure, axes = panels(width, sides, 2.4)
    legends = []
    for side, axis in zip(sides, axes):
        here = [name for name in names if ((kinds == name) & (direction == side)).any()]
        handles, labels = [], []
        for name in here:
            number = pairs.index(frozenset(name.split("→")))
            values = numpy.sort(links.mean[(kinds == name) & (direction == side)])[::-1] * 100
            look = {
                "color": COLOURS[number % len(COLOURS)],
                "linestyle": DASHES[number % len(DASHES)],
                "marker": MARKERS[number % len(MARKERS)],
                "markersize": 2.5,
            }
            axis.plot(
                (numpy.arange(len(values)) + 0.5) / len(values) * 100, values, linewidth=0.8, **look
            )
            handles.append(
                line_handle(look["color"], look["linestyle"], marker=look["marker"], markersize=3)
            )
            labels.append(f"{text(name, 30)} ({len(values):,})")
        beside = len(sides) == 2 and width >= NARROW
        place = (width / 2, 0.5 * axes.index(axis)) if beside else (width,)
        legends.append(((axis, handles, labels, *place), {"title": side_title(side, sides, here)}))
    legends_above(legends)
    finish_sides(axes[: len(sides)], nice_top(links.mean.max() * 100))
    draw_link_map(figure, axes[-1], links, kinds, names)
    heading(figure, items)
    return figure


def draw_link_map(figure, axis, links, kinds, names, most=160):
    """Utilization of every link over time; the busiest of a kind on top, neighbours averaged if
    they are too many.

    A kind of few links is drawn as high as its name needs.
    """
    edges, image = links.over_time(links.table["utilization"].to_numpy(), BINS, how="use")
    # The first bin and the last may be shorter than the others, the columns of an image may not.
    columns = (numpy.arange(COLUMNS) + 0.5) * (edges[-1] / COLUMNS)
    image = image[:, numpy.searchsorted(edges, columns, side="right") - 1]
    factor, unit = unit_for(links.end - links.begin, TIMES)
    group = -(-len(links.names) // most)
    bands = []
    for name in names:
        mine = numpy.flatnonzero(kinds == name)
        mine = mine[numpy.lexsort((links.names[mine], -links.mean[mine]))]
        bands.append(
            numpy.array(
                [image[mine[i : i + group]].mean(axis=0) for i in range(0, len(mine), group)]
            )
        )
    least = sum(map(len, bands)) * 0.09
    bounds = numpy.concatenate([[0], numpy.cumsum([max(len(band), least) for band in bands])])
    for band, low, high in zip(bands, bounds, bounds[1:]):
        picture = axis.imshow(
            100 * band,
            aspect="auto",
            interpolation="nearest",
            cmap="Blues",
            vmin=0,
            vmax=100,
            extent=(0, edges[-1] / factor, high, low),
        )
    for bound in bounds[1:-1]:
        axis.axhline(bound, color=GREY, linewidth=0.5)
    axis.set_ylim(bounds[-1], 0)
    axis.set_yticks((bounds[:-1] + bounds[1:]) / 2, [text(name, 18) for name in names])
    axis.tick_params(axis="y", length=0)
    axis.grid(False)
    axis.set_ylabel("links" if group == 1 else f"links ({group} a row)")
    measured_axis(axis, unit, [links.begin])
    bar = figure.colorbar(picture, ax=axis, pad=0.01, fraction=0.04, aspect=18)
    bar.set_label("utilization (%)")
    bar.outline.set_linewidth(0.4)


def draw_links_of_several(items, every, directions, sides, width):
    factor, unit = unit_for(max(links.end - links.begin for links in every), TIMES)
    figure, axes = panels(width, sides, 1.7)
    top, legends = 0, []
    for side, axis in zip(sides, axes):
        for item, links, direction in zip(items, every, directions):
            values = numpy.sort(links.mean[direction == side])[::-1] * 100
            if len(values):
                top = max(top, values[0])
                axis.plot(
                    (numpy.arange(len(values)) + 0.5) / len(values) * 100,
                    values,
                    color=item.colour,
                    linestyle=item.dashes,
                )
        kinds = {
            tier(name)
            for links, found in zip(every, directions)
            for name in links.names[found == side]
        }
        legends.append((axis, side_title(side, sides, kinds)))
    finish_sides(axes[: len(sides)], nice_top(top))
    # One link in all of them, or they could not be compared: the busiest of any run that the others
    # have too.
    common = set.intersection(*(set(links.names) for links in every))
    busiest = max(
        (
            (links.mean[place], str(name))
            for links in every
            for place, name in enumerate(links.names)
            if name in common
        ),
        default=(0, ""),
    )[1]
    named = []
    for item, links in zip(items, every):
        place = list(links.names).index(busiest) if busiest else int(links.mean.argmax())
        edges, share = links.over_time(
            links.table["utilization"].to_numpy(), 150, [place], "use"
        )
        axes[-1].stairs(
            100 * share[0],
            edges / factor,
            color=item.colour,
            linestyle=item.dashes,
            linewidth=0.9,
            baseline=None,
        )
        named.append(f"{text(item.label, 24)}: {text(links.names[place], 36)}")
    if busiest:
        words = f"the link {text(busiest, 36)}, the busiest that all have"
        axes[-1].set_title(words, fontsize=STYLE["legend.fontsize"])
    else:
        handles = [line_handle(item.colour, item.dashes) for item in items]
        legend_above(
            axes[-1], handles, named, width, title="the busiest link of each, as no link is in all"
        )
    axes[-1].set_ylabel("utilization (%)")
    axes[-1].set_ylim(0, 105)
    axes[-1].set_xlim(0)
    for number, (axis, title) in enumerate(legends):
        if number == 0:
            run_legend(axis, items, width, title)
        elif width >= NARROW:
            no_legend(axis, axes[0])
            axis.set_title(
                title + axis.get_title(), fontsize=STYLE["legend.fontsize"], linespacing=1.42, pad=4
            )
        else:
            axis.set_title(title, fontsize=STYLE["legend.fontsize"])
    measured_axis(axes[-1], unit, [links.begin for links in every])
    heading(figure, items)
    return figure
