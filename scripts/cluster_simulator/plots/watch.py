# SPDX-License-Identifier: GPL-2.0-only
"""Queue, rate, pauses and marks of the ports that a run watched (--watch)."""

import numpy

from ..measures import part
from . import style
from .queue_pairs import thinned

MOST_PORTS = 6  # of one run
MOST_SHARED = 3  # of several


def draw_watch(items, width):
    items = style.shown_of(
        items,
        lambda item: len(item.run.watch()),
        style.without_packets(
            "ports are not simulated",
            "no port was watched (watch.csv is missing or empty; --watch)",
        ),
    )
    items = style.shown_of(
        items,
        lambda item: len(during(item)),
        "no port did anything at the times asked for (--from, --until)",
    )
    tables = [during(item) for item in items]
    peaks = {}
    for table in tables:
        for port, peak in table.groupby("port")["queue_bytes"].max().items():
            peaks[port] = max(peaks.get(port, 0), int(peak))
    ports = sorted(peaks, key=lambda port: (-peaks[port], port))
    shown = ports[: MOST_PORTS if len(items) == 1 else MOST_SHARED]
    figure, axes = style.make_figure(width, 1.3 * 4 + 0.9, 4, 1, sharex=True)
    axes = axes[:, 0]
    end = max(float(table["time_us"].max()) for table in tables)
    factor, unit = style.unit_for(end, style.TIMES)
    size, size_unit = style.unit_for(max(*peaks.values(), 1), style.BYTES)
    panels = (
        ("queue_bytes", size, f"queue ({size_unit})"),
        ("rate_gbps", 1, "rate (Gb/s)"),
        ("pause_share", 0.01, "paused (%)"),
        ("ecn_marks", 1, "marks an\ninterval"),
    )
    handles, labels = [], []
    for run, (item, table) in enumerate(zip(items, tables)):
        for number, port in enumerate(shown):
            look = look_of(items, item, number)
            rows = table[table["port"] == port]
            if not len(rows):
                continue
            handles.append(style.line_handle(*look))
            labels.append(style.text(port if len(items) == 1 else f"{item.label}: {port}", 44))
            for axis, (column, divisor, _) in zip(axes, panels):
                draw(axis, rows, column, divisor, factor, interval_of(item), look)
    begin = min(item.times[0] for item in items)
    for axis, (column, _, label) in zip(axes, panels):
        axis.set_ylabel(label)
        axis.set_ylim(bottom=0)
        axis.set_xlim(begin / factor, end / factor)
        if not any(table[column].max() > 0 for table in tables):
            style.say_empty(axis, {"pause_share": "never paused"}.get(column, "none"))
    style.time_axis(axes[-1], unit)
    style.legend_above(axes[0], handles, labels, width)
    if len(ports) > len(shown):
        style.say_left_out(figure, [f"{len(ports) - len(shown):,} of {len(ports):,} ports"])
    style.heading(figure, items)
    return figure


def during(item):
    table = item.run.watch()
    begin, until = item.times
    return table[(table["time_us"] >= begin) & (table["time_us"] <= until)]


def interval_of(item):
    return float(part(item.run.stats, "watch_csv").get("interval_us") or 1)


def look_of(items, item, number):
    """(colour, dashes): of one run by port, of several the run's colour."""
    dashes = style.DASHES[number % len(style.DASHES)]
    return (style.COLOURS[number % len(style.COLOURS)] if len(items) == 1 else item.colour), dashes


def draw(axis, rows, column, divisor, factor, interval, look):
    """What has no row is zero: a gap begins with a row of zeros, and ends an interval before the
    next row.
    """
    times = rows["time_us"].to_numpy()
    values = rows[column].to_numpy() / divisor
    first = numpy.append(True, numpy.diff(times) > 1.5 * interval)
    places = numpy.flatnonzero(first)
    times = numpy.insert(times, places, times[places] - interval)
    values = numpy.insert(values, places, 0.0)
    times, values = thinned(times, values)
    axis.plot(
        times / factor,
        values,
        color=look[0],
        linestyle=look[1],
        linewidth=0.9,
        drawstyle="default" if column == "queue_bytes" else "steps-pre",
    )
