# SPDX-License-Identifier: GPL-2.0-only
"""Utilization of links."""

import numpy

from ..measures import Links, tier
from .style import (
    COLOURS,
    DASHES,
    GREY,
    NothingToShow,
    TIMES,
    heading,
    legend_above,
    line_handle,
    make_figure,
    nice_top,
    run_legend,
    text,
    time_axis,
    unit_for,
)


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
