# SPDX-License-Identifier: GPL-2.0-only
"""Pictures of studies of congestion control: what traffic writes about flow sizes, queues and
rates.
"""

import operator

import matplotlib.lines
import numpy

from ..amounts import counted
from ..quantiles import LEAST
from . import style as p

FILLS = ("full", "none", "left", "top", "right", "bottom")  # of marks, a kind of flows each
SHOWN = (("p50", "median"), ("p95", "95th percentile"), ("p99", "99th percentile"))
MOST_PORTS = 8  # lines of one run's queues
MOST_PANELS = 6  # of compared runs' queues
MOST_FLOWS = 12  # lines of single flows in a picture


def during(item, table):
    """Rows of a table over time that lie in the part of the run that is shown."""
    begin, end = item.times
    return table[(table["time_us"] > begin) & (table["time_us"] <= end)]


def limit(axis, items, factor):
    """The axis of time begins where that part does."""
    begin, end = items[0].times
    axis.set_xlim(left=begin / factor)
    if end < p.ALWAYS[1]:
        axis.set_xlim(right=end / factor)


def need(items, table, why):
    return p.shown_of(items, lambda item: len(table(item.run)), why)


# Tables over time, by the method of a run that reads them: what is said if there is no row at all,
# and if there is none then.
OVER_TIME = {
    "queues": (
        p.without_packets(
            "queues are not simulated",
            "no queues over time (queues.csv is missing or empty; --queue-interval)",
        ),
        "no queue at the times asked for (--from, --until)",
    ),
    "fairness": (
        p.without_packets(
            "rates over time are not recorded",
            "no rates over time (fairness.csv is missing or empty; --rate-interval)",
        ),
        "no flow under way at the times asked for (--from, --until)",
    ),
}


def need_during(items, name):
    """The same of a table over time: those with rows in the part of the run that is shown."""
    table = operator.methodcaller(name)
    why, why_not_then = OVER_TIME[name]
    return p.shown_of(
        need(items, table, why), lambda item: len(during(item, table(item.run))), why_not_then
    )


# ---- slowdown by size


def kinds_of(items):
    """Kinds of flows (the load, an incast) that are drawn apart, those with the most flows first;
    of one kind: all.
    """
    count = {}
    for item in items:
        table = item.run.slowdowns()
        table = table[(table["tag"] != "all") & (table["kind"] == "group")]
        for tag, flows in table.groupby("tag")["flows"].sum().items():
            count[tag] = count.get(tag, 0) + flows
    return sorted(count, key=lambda tag: (-count[tag], tag)) if len(count) > 1 else ["all"]


def groups_of(item, kind):
    table = item.run.slowdowns()
    return table[(table["tag"] == kind) & (table["kind"] == "group")]


def quantiles_of(items):
    """(those of SHOWN that some group has flows enough for, why each of the others is left out)"""
    tables = [groups_of(item, kind) for kind in kinds_of(items)[: len(FILLS)] for item in items]
    most = max(int(table["flows"].max()) for table in tables if len(table))
    shown = [quantile for quantile in SHOWN if LEAST[quantile[0]] <= most]
    # Flows of one size are one group, however many there may be.
    hint = " (fewer of traffic's --size-groups)" if any(len(table) > 1 for table in tables) else ""
    return shown, [
        f"{name}: a group has at most {counted(most, 'flow')}, {LEAST[name]} are wanted{hint}"
        for name, _ in SHOWN[len(shown) :]
    ]


def slowdown_panels(axes, items, quantiles, most_ticks=3):
    """Into an axis for each of the quantiles, over flow size: the groups of slowdown.csv, of about
    as many flows each. Handles and labels.

    A group is a mark at the middle of its sizes and a line from its smallest to its largest. Kinds
    of flows are lines of their own: of one run in the colours of runs, of several with marks filled
    in different ways. The handles tell the kinds; of one kind there are none. A quantile of too few
    flows is not drawn, which the axis says.
    """
    kinds = kinds_of(items)
    shown = kinds[: len(FILLS)]
    looks, handles, labels = {}, [], []
    for i, kind in enumerate(shown):
        looks[kind] = {"fillstyle": FILLS[i], "markerfacecoloralt": "white", "markeredgewidth": 0.7}
        if len(items) == 1 and len(kinds) > 1:
            looks[kind] = {
                "color": p.COLOURS[i],
                "linestyle": p.DASHES[i % len(p.DASHES)],
                "marker": p.MARKERS[i],
            }
        if len(kinds) > 1:
            look = {"color": p.GREY, "linestyle": "none", "marker": "o", **looks[kind]}
            handles.append(matplotlib.lines.Line2D([], [], markersize=3, **look))
            labels.append(p.text(kind, 30))
    if len(kinds) > len(shown):
        labels[-1] += f" ({len(kinds) - len(shown)} kinds of fewer flows are left out)"
    tables, lines = [], []
    for item in items:
        for kind in shown:
            tables.append(groups_of(item, kind))
            line = {
                "color": item.colour,
                "linestyle": item.dashes,
                "marker": item.marker,
                **looks[kind],
            }
            lines.append(line)
    every = [
        size
        for table in tables
        for column in ("from_bytes", "to_bytes")
        for size in table[column]
        if size > 0
    ]
    for axis, (name, title) in zip(axes, quantiles):
        values, least = [1.0], LEAST[name]
        for every_group, line in zip(tables, lines):
            table = every_group[every_group["flows"] >= least]
            low, high = (
                numpy.maximum(table[column].to_numpy(), 1) for column in ("from_bytes", "to_bytes")
            )
            axis.plot(
                numpy.sqrt(low.astype(float) * high),
                table[name],
                markersize=2.5,
                linewidth=0.9,
                **line,
            )
            axis.hlines(table[name], low, high, color=line["color"], linewidth=0.5)
            values += list(table[name])
        p.widen_log(axis, "x", every or [1], 4)
        axis.set_yscale("log")
        axis.set_ylim(0.93, max(values) * 1.15)
        p.byte_ticks(axis, "x", most=most_ticks)
        p.number_ticks(axis, "y")
        left_out = any((table["flows"] < least).any() for table in tables)
        axis.set_xlabel("flow size" + (f"\n(groups of {least} or more)" if left_out else ""))
        axis.set_ylabel("slowdown, " + title)
    return handles, labels


def draw_slowdown(items, width):
    items = need(
        items, has_groups, "no flow sizes with slowdowns (slowdown.csv is missing or empty)"
    )
    need_sizes(items)
    quantiles, missing = quantiles_of(items)
    columns = len(quantiles) if width >= p.NARROW else 1
    rows = len(quantiles) // columns
    figure, axes = p.make_figure(width, 2.3 * rows + 0.2, rows, columns)
    kinds = slowdown_panels(axes.flat, items, quantiles, most_ticks=3 if columns > 1 else 6)
    if len(items) > 1 or kinds[0]:
        p.run_legend(axes.flat[0], items if len(items) > 1 else [], width, marked=True, more=kinds)
        for axis in axes.flat[1:columns]:
            p.no_legend(axis, axes.flat[0])
    p.say_left_out(figure, missing)
    p.heading(figure, items)
    return figure


def need_sizes(items):
    """Of one run there would be a dot over one size."""
    if len(items) > 1:
        return
    kinds = kinds_of(items)
    tables = [groups_of(item, kind) for kind in kinds for item in items]
    edges = ("from_bytes", "to_bytes")
    sizes = {size for table in tables for edge in edges for size in table[edge]}
    if len(kinds) == 1 and len(sizes) == 1:
        raise p.NothingToShow(p.all_of_one_size("flows", *sizes))


def has_groups(run):
    table = run.slowdowns()
    return table[(table["tag"] == "all") & (table["kind"] == "group")]


# ---- queues


def steps_of(table, interval):
    """(times, bytes) with what is between two rows far apart drawn as empty."""
    times, values = table["time_us"].to_numpy(), table["mean_bytes"].to_numpy()
    if not len(times):
        return times, values
    gaps = numpy.flatnonzero(numpy.diff(times) > 1.5 * interval) + 1
    return (
        numpy.insert(times.astype(float), gaps, times[gaps - 1] + interval),
        numpy.insert(values.astype(float), gaps, 0.0),
    )


def interval_of(run, key, default):
    part = run.stats.get(key)
    return float(part.get("interval_us") or default) if isinstance(part, dict) else default


def draw_queues(items, width):
    items = need_during(items, "queues")
    left_out = []
    if len(items) == 1:
        table = during(items[0], items[0].run.queues())
        ports = list(dict.fromkeys(table["link"]))
        shown = ports[:MOST_PORTS]
        panels = [[link_of(items[0], table, link, i) for i, link in enumerate(shown)]]
        names = [""]
        if len(ports) > len(shown):
            left_out = [f"{len(ports) - len(shown)} of {len(ports)} ports in queues.csv"]
    else:
        names = ports_of_all(items)
        panels = [
            [link_of(item, during(item, item.run.queues()), name) for item in items]
            for name in names
        ]
    figure, axes = p.make_figure(
        width, (2.4 if len(panels) == 1 else 1.45 * len(panels)) + 0.4, len(panels), 1, sharex=True
    )
    axes = axes[:, 0]
    small = p.STYLE["legend.fontsize"]
    drawn = [series for panel in panels for *_, series in panel if len(series[0])]
    factor, unit = p.unit_for(max(times[-1] for times, _ in drawn), p.TIMES)
    size, size_unit = p.unit_for(max(values.max() for _, values in drawn), p.BYTES)
    titles = []
    for axis, panel, name in zip(axes, panels, names):
        for _, colour, dashes, (times, values) in reversed(panel):  # the longest is on top
            p.line_over_time(
                axis, times / factor, values / size, color=colour, linestyle=dashes, linewidth=0.8
            )
        axis.set_ylim(bottom=0)
        limit(axis, items, factor)
        axis.set_ylabel(f"queue ({size_unit})")
        if name:
            missing = [p.text(label, 30) for label, *_, (times, _) in panel if not len(times)]
            note = f"; not among the longest of: {', '.join(missing)}" if missing else ""
            words = p.text(name) + note
            titles.append("\n".join(p.wrapped(words, small, (width - 0.8) * 72)))
            p.make_higher(figure, titles[-1].count("\n"), small)
    p.time_axis(axes[-1], unit)
    if names[0]:
        p.run_legend(axes[0], items, width, title=titles[0].replace("\n", " "))
        for axis, title in zip(axes[1:], titles[1:]):
            axis.set_title(title, fontsize=small)
        left_out = queues_left_out(items, names)
    else:
        p.legend_above(
            axes[0],
            [p.line_handle(colour, dashes) for _, colour, dashes, _ in panels[0]],
            [p.text(label, 36) for label, *_ in panels[0]],
            width,
        )
    p.say_left_out(figure, left_out)
    p.heading(figure, items)
    return figure


def link_of(item, table, link, number=None):
    """(name, colour, dashes, (times, bytes)) of one port of one run; of several ports the number
    says which.
    """
    series = steps_of(table[table["link"] == link], interval_of(item.run, "queues_csv", 1.0))
    if number is None:
        return item.label, item.colour, item.dashes, series
    return link, p.COLOURS[number % len(p.COLOURS)], p.DASHES[number % len(p.DASHES)], series


def queues_left_out(items, names):
    """What a picture of these ports does not show of the runs' queues, in words."""
    tables = [during(item, item.run.queues()) for item in items]
    words = [
        f"the queues of {p.text(item.label, 30)}, which has none at these ports"
        for item, table in zip(items, tables)
        if not table["link"].isin(names).any()
    ]
    ports = {link for table in tables for link in table["link"].unique()}
    other = len(ports - set(names))
    return [*words, f"{other} of {len(ports)} ports in queues.csv"] if other else words


def ports_of_all(items, most=3):
    """The ports that compared runs are drawn at: of those that most runs have, the ones with the
    most bytes in time; then the one with the longest queue of each run that is at none of these,
    the run with the longest first.

    queues.csv has the longest queues of each run only.
    """
    runs, total, longest = {}, {}, []
    for item in items:
        table = during(item, item.run.queues())
        interval = interval_of(item.run, "queues_csv", 1.0)
        for link, bytes_ in table.groupby("link")["mean_bytes"].sum().items():
            runs[link] = runs.get(link, 0) + 1
            total[link] = total.get(link, 0.0) + bytes_ * interval
        peaks = table.groupby("link")["max_bytes"].max()
        longest.append((-peaks.max(), peaks.idxmax(), set(peaks.index)))
    chosen = sorted(runs, key=lambda link: (-runs[link], -total[link], link))[:most]
    for number, (_, link, own) in enumerate(sorted(longest, key=lambda one: one[:2])):
        # The longest queue of all is seen, whatever else the run with it is seen at.
        missing = link not in chosen if number == 0 else own.isdisjoint(chosen)
        if missing and len(chosen) < MOST_PANELS:
            chosen.append(link)
    return chosen


# ---- rates


def jain_rows(item):
    """Intervals of the part of the run that is shown in which flows ran; in some all stood still,
    which is no index but a gap.
    """
    table = during(item, item.run.fairness())
    return table[table["flows"] > 0]


def jain_panel(axis, items, factor):
    for item in items:
        table = jain_rows(item)
        look = {
            "color": item.colour,
            "linestyle": item.dashes,
            "linewidth": 0.9,
            "marker": item.marker,
        }
        p.line_over_time(axis, table["time_us"] / factor, table["jain"], **look)
    axis.set_ylim(0, 1.04)
    limit(axis, items, factor)
    axis.set_ylabel("Jain's index (1: fair)")


def over_intervals(axis, times, values, interval, factor, colour, dashes):
    """An interval's rate stands from its begin to its end."""
    axis.plot(
        numpy.append(times - interval, times[-1]) / factor,
        numpy.append(values, values[-1]),
        drawstyle="steps-post",
        color=colour,
        linestyle=dashes,
        linewidth=0.9,
    )


def draw_rates(items, width):
    items = need_during(items, "fairness")
    detailed = [
        item for item in items if 0 < during(item, item.run.rates())["flow"].nunique() <= MOST_FLOWS
    ]
    rows = len(detailed) + 2
    figure, axes = p.make_figure(width, 1.6 * rows + 0.4, rows, 1, sharex=True)
    axes = axes[:, 0]
    factor, unit = p.unit_for(
        max(during(item, item.run.fairness())["time_us"].max() for item in items), p.TIMES
    )
    for axis, item in zip(axes, detailed):
        interval = interval_of(item.run, "fairness", 100.0)
        labels, handles = [], []
        for i, (flow, table) in enumerate(during(item, item.run.rates()).groupby("flow")):
            colour, dashes = p.COLOURS[i % len(p.COLOURS)], p.DASHES[i % len(p.DASHES)]
            over_intervals(
                axis,
                table["time_us"].to_numpy(),
                table["gbps"].to_numpy(),
                interval,
                factor,
                colour,
                dashes,
            )
            handles.append(p.line_handle(colour, dashes))
            labels.append(p.text(f"{flow}: {table['src'].iloc[0]}->{table['dst'].iloc[0]}", 30))
        axis.set_ylabel("a flow (Gb/s)")
        axis.set_ylim(bottom=0)
        p.legend_above(
            axis, handles, labels, width, title=p.text(item.label, 60) if len(items) > 1 else ""
        )
    many = [(item, during(item, item.run.rates())["flow"].nunique()) for item in items]
    p.say_left_out(
        figure,
        [
            f"{count:,} single flows{f' of {p.text(item.label, 30)}' if len(items) > 1 else ''} (at"
            f" most {MOST_FLOWS} are drawn)"
            for item, count in many
            if count > MOST_FLOWS
        ],
    )
    for item in items:
        table = during(item, item.run.fairness())
        over_intervals(
            axes[-2],
            table["time_us"].to_numpy(),
            table["gbps"].to_numpy(),
            interval_of(item.run, "fairness", 100.0),
            factor,
            item.colour,
            item.dashes,
        )
    axes[-2].set_ylim(bottom=0)
    axes[-2].set_ylabel("all flows (Gb/s)")
    jain_panel(axes[-1], items, factor)
    if len(items) > 1:
        p.run_legend(axes[-2], items, width)
    p.time_axis(axes[-1], unit)
    p.heading(figure, items)
    return figure
