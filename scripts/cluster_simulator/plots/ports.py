# SPDX-License-Identifier: GPL-2.0-only
"""Queues, ECN marks, pauses and losses of ports over time."""

import matplotlib.lines
import matplotlib.ticker
import numpy

from ..measures import (
    Links,
    marks_per_interval,
    measured_from,
    part,
    port_scores,
    worst_ports,
)
from .links import need_links
from .style import (
    BYTES,
    COLOURS,
    DASHES,
    STYLE,
    TIMES,
    heading,
    legend_above,
    line_handle,
    make_figure,
    measured_axis,
    say_empty,
    say_left_out,
    text,
    unit_for,
)

BINS = 300  # of queues, marks and pauses, each of whole intervals of links.csv


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
    more = 0
    if single:
        series, more = ports_of_one(items[0], every[0])
    else:
        series = [worst_of(item, links) for item, links in zip(items, every)]
    draw_series(axes, series, factor, fabrics(items))
    if extra:
        draw_losses(axes[3], extra, factor, width, max(links.end - links.begin for links in every))
    handles = [line_handle(one["colour"], one["dashes"]) for one in series]
    if handles:
        legend_above(axes[0], handles, [text(one["label"], 36) for one in series], width)
    axes[-1].set_xlim(0, max(links.end - links.begin for links in every) / factor)
    measured_axis(axes[-1], unit, [links.begin for links in every])
    if more:
        of = f"{more + len(series):,} ports with queues, marks or pauses"
        say_left_out(figure, [f"{more:,} of {of}"])
    heading(figure, items)
    return figure


def ports_of_one(item, links):
    """(the worst ports, how many more there are that something can be told of)"""
    table = links.table
    scores = port_scores(item.run, links)
    chosen = worst_ports(scores, links)
    if not chosen:
        return [], 0
    more = int((sum(scores) > 0).sum()) - len(chosen)
    queue = links.over_time(links.queues, BINS, chosen, "max")
    paused = links.over_time(table["pause_share"].to_numpy(), BINS, chosen)
    marks = marks_per_interval(item.run, links, BINS, chosen)
    series = [
        {
            "label": links.names[port],
            "colour": COLOURS[i % 7],
            "dashes": DASHES[i % len(DASHES)],
            "queue": (queue[0], queue[1][i]),
            "paused": (paused[0], paused[1][i]),
            "marks": (marks[0], marks[1][i]),
        }
        for i, port in enumerate(chosen)
    ]
    return series, more


def worst_of(item, links):
    """Of all ports of a run: the longest queue, the marks together, the largest pause share, at
    each time.
    """
    table = links.table
    queue = links.over_time(links.queues, BINS, None, "max")
    paused = links.over_time(table["pause_share"].to_numpy(), BINS)
    marks = marks_per_interval(item.run, links, BINS)
    return {
        "label": item.label,
        "colour": item.colour,
        "dashes": item.dashes,
        "queue": (queue[0], queue[1].max(axis=0)),
        "paused": (paused[0], paused[1].max(axis=0)),
        "marks": (marks[0], marks[1][0]),
        "all": True,
    }


def fabrics(items):
    """Which there are, as {"roce", "ib"}: they have other words for the same."""
    return {
        str(part(item.run.stats, "configuration", "fabric").get("fabric", "roce")) for item in items
    }


def draw_series(axes, series, factor, kinds):
    ecn = {"roce": "ECN marks", "ib": "FECN marks"}.get("".join(kinds), "(F)ECN marks")
    held = {"roce": "paused", "ib": "without credits"}.get(
        "".join(kinds), "paused or without credits"
    )
    everywhere = bool(series and series[0].get("all"))
    tallest = max((one["queue"][1].max() for one in series), default=0)
    scale, unit = unit_for(max(tallest, 1), BYTES)
    empty = {
        "queue": "no queue",
        "marks": f"no {ecn[:-1]}",
        "paused": f"never {held}",
    }
    for axis, key, label, divisor in (
        (
            axes[0],
            "queue",
            f"longest queue\nof a port ({unit})",
            scale,
        ),
        (axes[1], "marks", ecn + "\n" + ("of all ports, per ms" if everywhere else "per ms"), 1),
        (
            axes[2],
            "paused",
            ("largest share" if everywhere else "share of time") + f"\n{held} (%)",
            0.01,
        ),
    ):
        drawn = any(one[key][1].max() > 0 for one in series)
        for one in series if drawn else []:
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
        axis.yaxis.set_major_formatter(
            matplotlib.ticker.FuncFormatter(lambda value, _: f"{value:,.10g}")
        )
        if not drawn:
            say_empty(axis, empty[key])


def losses(items):
    """[(label, how its line looks, times)] of drops, retransmissions and time-outs, if there are
    any: of one run a colour a kind; of several dashes, in the run's colour.
    """
    rows = []
    kinds = (
        ("drop", "drops"),
        ("retransmission", "retransmissions"),
        ("timeout", "time-outs"),
        ("qp_error", "failed queue pairs"),
    )
    for place, item in enumerate(items):
        events = item.run.events()
        for number, (kind, name) in enumerate(kinds):
            times = events.loc[events["what"] == kind, "time_us"].to_numpy() - measured_from(
                item.run
            )
            times = times[times >= 0]
            if len(times):
                look = {"color": COLOURS[number], "linestyle": DASHES[number]}
                if len(items) > 1:
                    # The eighth run has the colour of the first, and thinner lines.
                    look["color"] = item.colour
                    look["linewidth"] = STYLE["lines.linewidth"] / (1 + place // len(COLOURS))
                    name = f"{item.label}: {name}"
                rows.append((name, look, times))
    return rows


def draw_losses(axis, rows, factor, width, end):
    """Running totals: single events would not be seen."""
    for _, look, times in rows:
        times = numpy.sort(times)
        axis.step(
            numpy.concatenate([[0], times, [end]]) / factor,
            numpy.append(numpy.arange(len(times) + 1), len(times)),
            where="post",
            **look,
        )
    axis.set_ylabel("losses so far")
    axis.set_ylim(0)
    axis.yaxis.set_major_locator(matplotlib.ticker.MaxNLocator(4, integer=True))
    legend_above(
        axis,
        [matplotlib.lines.Line2D([], [], **look) for _, look, _ in rows],
        [text(row[0], 36) for row in rows],
        width,
    )
