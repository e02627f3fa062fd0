# SPDX-License-Identifier: GPL-2.0-only
"""Pictures of studies of congestion control: what traffic writes about flow sizes, queues and rates."""

import numpy

from . import style as p

SHOWN = (("p50", "median"), ("p95", "95th percentile"), ("p99", "99th percentile"))
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
    found = [item for item in items if len(table(item.run))]
    if not found:
        raise p.NothingToShow(why)
    return found


# ---- slowdown by size


def slowdown_panels(axes, items, tag="all"):
    """Into three axes: over flow size, each group of as many flows at the same distance, as in HPCC's figures."""
    for axis, (name, title) in zip(axes, SHOWN):
        highest, labels = 1.0, []
        for item in items:
            table = item.run.slowdowns()
            table = table[(table["tag"] == tag) & (table["kind"] == "group")]
            if len(table) > len(labels):
                labels = [p.human_bytes(size) for size in table["to_bytes"]]
            # A group's place is its share of the flows, so that runs with different numbers of groups can be compared.
            places = (table["flows"].cumsum() / max(1, table["flows"].sum())).to_numpy()
            axis.plot(places, table[name], color=item.colour, linestyle=item.dashes, marker="o", markersize=2)
            highest = max([highest, *table[name]])
        every = max(1, -(-len(labels) // 5))
        ticks = [i for i in range(len(labels)) if i % every == every - 1] or list(range(len(labels)))
        axis.set_xticks([(i + 1) / len(labels) for i in ticks], [labels[i] for i in ticks], rotation=90)
        axis.set_yscale("log")
        axis.set_ylim(0.93, highest * 1.15)
        p.number_ticks(axis, "y")
        axis.set_xlabel("flow size")
        axis.set_ylabel("slowdown, " + title)


def draw_slowdown(items, width):
    items = need(items, lambda run: run.slowdowns(), "no flow sizes with slowdowns (slowdown.csv is missing or empty)")
    columns = 3 if width >= p.NARROW else 1
    figure, axes = p.make_figure(width, 2.4 * (3 // columns) + 0.2, 3 // columns, columns)
    slowdown_panels(axes.flat, items)
    if len(items) > 1:
        p.run_legend(axes.flat[0], items, width)
        for axis in axes.flat[1:columns]:
            axis.set_title("\n" * axes.flat[0].get_title().count("\n") + " ", fontsize=p.STYLE["legend.fontsize"])
    p.heading(figure, items)
    return figure


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
    items = need(
        items, lambda run: run.queues(), "no queues over time (queues.csv is missing or empty; --queue-interval)"
    )
    items = [item for item in items if len(during(item, item.run.queues()))]
    if not items:
        raise p.NothingToShow("no queue at the times asked for (--from, --until)")
    single = len(items) == 1
    series = []
    for item in items:
        table = during(item, item.run.queues())
        links = list(dict.fromkeys(table["link"]))
        for i, link in enumerate(links if single else links[:1]):
            series.append(
                (
                    link if single else f"{item.label}: {link}",
                    p.COLOURS[i % len(p.COLOURS)] if single else item.colour,
                    item.dashes,
                    steps_of(table[table["link"] == link], interval_of(item.run, "queues_csv", 1.0)),
                )
            )
    figure, axes = p.make_figure(width, 2.6, 1, 1)
    axis = axes[0, 0]
    factor, unit = p.unit_for(max(times[-1] for *_, (times, _) in series), p.TIMES)
    size, size_unit = p.unit_for(max(values.max() for *_, (_, values) in series), p.BYTES)
    for _, colour, dashes, (times, values) in reversed(series):  # the longest is on top
        axis.plot(times / factor, values / size, color=colour, linestyle=dashes, linewidth=0.8)
    axis.set_ylim(bottom=0)
    limit(axis, items, factor)
    axis.set_ylabel(f"queue ({size_unit})")
    p.time_axis(axis, unit, "time")
    p.legend_above(
        axis, [p.line_handle(c, d) for _, c, d, _ in series], [p.text(label, 36) for label, *_ in series], width
    )
    p.heading(figure, items)
    return figure


# ---- rates


def jain_panel(axis, items, factor):
    for item in items:
        table = during(item, item.run.fairness())
        table = table[table["flows"] > 0]
        axis.plot(table["time_us"] / factor, table["jain"], color=item.colour, linestyle=item.dashes, linewidth=0.9)
    axis.set_ylim(0, 1.04)
    limit(axis, items, factor)
    axis.set_ylabel("Jain's index")


def draw_rates(items, width):
    items = need(
        items, lambda run: run.fairness(), "no rates over time (fairness.csv is missing or empty; --rate-interval)"
    )
    items = [item for item in items if len(during(item, item.run.fairness()))]
    if not items:
        raise p.NothingToShow("no flow under way at the times asked for (--from, --until)")
    detailed = [item for item in items if 0 < during(item, item.run.rates())["flow"].nunique() <= MOST_FLOWS]
    rows = len(detailed) + 1
    figure, axes = p.make_figure(width, 1.9 * rows + 0.4, rows, 1, sharex=True)
    axes = axes[:, 0]
    factor, unit = p.unit_for(max(during(item, item.run.fairness())["time_us"].max() for item in items), p.TIMES)
    for axis, item in zip(axes, detailed):
        interval = interval_of(item.run, "fairness", 100.0)
        labels, handles = [], []
        for i, (flow, table) in enumerate(during(item, item.run.rates()).groupby("flow")):
            colour, dashes = p.COLOURS[i % len(p.COLOURS)], p.DASHES[i // len(p.COLOURS) % len(p.DASHES)]
            times, rates = table["time_us"].to_numpy(), table["gbps"].to_numpy()
            # An interval's rate stands from its begin to its end.
            axis.plot(
                numpy.append(times - interval, times[-1]) / factor,
                numpy.append(rates, rates[-1]),
                drawstyle="steps-post",
                color=colour,
                linestyle=dashes,
                linewidth=0.9,
            )
            handles.append(p.line_handle(colour, dashes))
            labels.append(p.text(f"{flow}: {table['src'].iloc[0]}->{table['dst'].iloc[0]}", 30))
        which = p.text(item.label, 22) + "\n" if len(items) > 1 else ""
        axis.set_ylabel(which + "throughput (Gb/s)")
        axis.set_ylim(bottom=0)
        p.legend_above(axis, handles, labels, width)
    jain_panel(axes[-1], items, factor)
    if len(items) > 1:
        p.run_legend(axes[-1], items, width)
    p.time_axis(axes[-1], unit, "time")
    p.heading(figure, items)
    return figure
