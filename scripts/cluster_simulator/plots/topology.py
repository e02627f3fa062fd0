# SPDX-License-Identifier: GPL-2.0-only
"""The network, with its traffic."""

import re

import matplotlib.cm
import matplotlib.collections
import matplotlib.colors
import numpy

from ..measures import Graph, natural
from .links import need_links
from .style import (
    BYTES,
    GREY,
    NARROW,
    PALE,
    NothingToShow,
    heading,
    human_bytes,
    line_handle,
    make_figure,
    text,
    unit_for,
)
from .topology_grid import Grid


MOST_LINKS = 100000
LINK_COLOURS = matplotlib.colors.LinearSegmentedColormap.from_list(
    "utilization", ["#F3D36B", "#E69F00", "#D55E00", "#7A0403"]
)


def graph_arc(graph):
    """How far the arcs of the highest tier rise over it."""
    places, top = graph.places(), len(graph.tiers) - 1
    arcs = [(places[a], places[b]) for a, b, *_ in graph.links]
    return max((arc_height(a, b) for a, b in arcs if a[1] == b[1] == top), default=0.0)


def graph_height(graph, width):
    """Inches."""
    if graph.grid:
        grid = Grid(graph)
        return min(8.0, max(1.2, grid.height * min(0.8, width / (grid.width + 0.5)))) + 0.4
    return 0.62 * (len(graph.tiers) - 1 + graph_arc(graph)) + 0.8


def draw_topology(items, width):
    items = need_links(items)
    graphs = [Graph(item.run) for item in items]
    many = max(len(graph.links) for graph in graphs)
    if many > MOST_LINKS:
        raise NothingToShow(
            f"{many:,} pairs of nodes are linked, too many for a picture (at most {MOST_LINKS:,})"
        )
    heights = [graph_height(graph, width) for graph in graphs]
    figure, axes = make_figure(
        width,
        sum(heights) + 0.25 * len(items) + 0.9,
        len(items),
        1,
        gridspec_kw={"height_ratios": heights},
    )
    # the same in every picture, so that two can be compared
    norm = matplotlib.colors.Normalize(0, 100)
    most = max(max(carried for _, _, carried, _ in graph.links) for graph in graphs) or 1
    crowd = min(1, 60 / max(len(graph.links) for graph in graphs)) ** 0.5  # many lines: thinner
    for axis, item, graph in zip(axes[:, 0], items, graphs):
        draw = draw_grid if graph.grid else draw_graph
        draw(axis, graph, norm, most, width, crowd)
        if len(items) > 1:
            axis.set_title(text(item.label))
    factor, unit = unit_for(most, BYTES)
    handles = [
        line_handle(GREY, linewidth=max(0.3, thickness(share) * crowd)) for share in (0.1, 0.5, 1)
    ]
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
    bar.set_label(
        "mean utilization" + (" of the busier direction" if width >= NARROW else "") + " (%)",
        fontsize=7,
    )
    bar.outline.set_linewidth(0.4)
    heading(figure, items)
    return figure


def thickness(share):
    return 0.5 + 4.5 * share


def path(a, b):
    """A straight line between tiers; within a tier an arc over what stands between, the higher the
    farther.
    """
    if a[1] != b[1]:
        return [a, b]
    along = numpy.linspace(0, 1, 21)
    high = arc_height(a, b)
    return numpy.column_stack([a[0] + (b[0] - a[0]) * along, a[1] + 4 * high * along * (1 - along)])


def arc_height(a, b):
    return 0.12 + 0.9 * abs(a[0] - b[0])


def draw_links(axis, graph, way, norm, most, crowd):
    # the busiest on top
    order = sorted(graph.links, key=lambda link: (link[3], natural(link[0]), natural(link[1])))
    axis.add_collection(
        matplotlib.collections.LineCollection(
            [way(a, b) for a, b, _, _ in order],
            colors=[LINK_COLOURS(norm(100 * busy)) if busy else PALE for *_, busy in order],
            linewidths=[max(0.3, thickness(carried / most) * crowd) for _, _, carried, _ in order],
            capstyle="round",
            zorder=1,
        )
    )


def draw_grid(axis, graph, norm, most, width, crowd):
    grid = Grid(graph)
    draw_links(axis, graph, grid.path, norm, most, crowd)
    room = width / (grid.width + 0.5)  # inches for a cell
    hosts = max(1, len(grid.hosts) / len(grid.switches))
    for places, mark, size in (
        (grid.switches, "o", min(7, room * 12)),
        (grid.hosts, "s", min(4, room * 16 / hosts)),
    ):
        axis.plot(
            [x for x, _ in places.values()],
            [y for _, y in places.values()],
            mark,
            linestyle="none",
            markersize=max(1.2, size),
            markerfacecolor="white",
            markeredgecolor="black",
            markeredgewidth=0.7 if size > 3 else 0.3,
            zorder=2,
        )
    draw_units(axis, graph, list(grid.switches), min(7, room * 12), norm, grid.places)
    if room > 0.062 * max(map(len, grid.switches)) + 0.04:
        for switch, place in grid.switches.items():
            axis.annotate(
                text(switch, 20),
                place,
                (-2, -5),
                textcoords="offset points",
                fontsize=6,
                ha="right",
                va="top",
                zorder=3,
                bbox={"facecolor": "white", "edgecolor": "none", "alpha": 0.75, "pad": 0.3},
            )
    arcs = [numpy.array(grid.path(a, b)) for a, b, *_ in graph.links]
    axis.set_xlim(min(arc[:, 0].min() for arc in arcs) - 0.4, grid.width - 0.45)
    axis.set_ylim(-(grid.height - 0.45), max(arc[:, 1].max() for arc in arcs) + 0.25)
    axis.axis("off")


def draw_graph(axis, graph, norm, most, width, crowd):
    places = graph.places()
    left, lowest = -0.01, -0.4
    draw_links(axis, graph, lambda a, b: path(places[a], places[b]), norm, most, crowd)
    for height, nodes in enumerate(graph.tiers):
        room = width * 0.88 / len(nodes)  # inches for a node
        size = min(7, max(1.2, room * 72 * 0.5))
        draw_units(axis, graph, nodes, size, norm, places)
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
                    bbox={"facecolor": "white", "edgecolor": "none", "alpha": 0.75, "pad": 0.3}
                    if not below
                    else None,
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
    axis.set_ylim(lowest, len(graph.tiers) - 1 + 0.4 + graph_arc(graph))
    axis.axis("off")


def draw_units(axis, graph, nodes, size, norm, places):
    """Parts of switches that add up: a plus beside each, in the colour of its busiest link."""
    for node in nodes:
        if node in graph.units:
            busy = graph.units[node]
            axis.annotate(
                "+",
                places[node],
                (size / 2 + 2, size / 2 - 2),
                textcoords="offset points",
                fontsize=max(4, size),
                fontweight="bold",
                color=LINK_COLOURS(norm(100 * busy)) if busy else GREY,
                zorder=3,
            )
