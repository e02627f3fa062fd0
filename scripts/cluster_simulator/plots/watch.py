# SPDX-License-Identifier: GPL-2.0-only
"""Queue, rate, pauses and marks of the ports that a run watched (--watch)."""

import numpy

from ..measures import part
from . import style
from .queue_pairs import thinned

MOST_PORTS = 6  # of one run
MOST_SHARED = 3  # of several
# Frames of a third of an interval make its rate jump between three and four of them: of more
# intervals than these, rates and pauses are means over several.
MOST_MEANS = 100
MEANS = ("rate_gbps", "pause_share")


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
    shown = chosen(ports, tables, MOST_PORTS if len(items) == 1 else MOST_SHARED)
    figure, axes = style.make_figure(width, 1.3 * 4 + 0.9, 4, 1, sharex=True)
    axes = axes[:, 0]
    end = max(float(table["time_us"].max()) for table in tables)
    factor, unit = style.unit_for(end, style.TIMES)
    size, size_unit = style.unit_for(max(*peaks.values(), 1), style.BYTES)
    begin = min(item.times[0] for item in items)
    steps = [step_of(item, begin, end) for item in items]
    mean = ""
    if max(steps) > 1:
        most = max(step * interval_of(item) for step, item in zip(steps, items))
        scale, word = style.unit_for(most, style.TIMES)
        mean = f"\nmean of {most / scale:.4g} {word}"
    panels = (
        ("queue_bytes", size, f"queue ({size_unit})"),
        ("rate_gbps", 1, "rate (Gb/s)" + mean),
        ("pause_share", 0.01, "paused (%)" + mean),
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
                if column in MEANS and steps[run] > 1:
                    times, values = means(rows, column, interval_of(item), steps[run], begin, end)
                else:
                    times, values = filled(rows, column, interval_of(item))
                draw(axis, times / factor, values / divisor, column, look)
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


def chosen(ports, tables, most):
    """The first ports, and the one that is paused most and the one with the most marks in place of
    the last ones.
    """
    shown, kept = ports[:most], set()
    for column in ("pause_share", "ecn_marks"):
        sums = {}
        for table in tables:
            for port, total in table.groupby("port")[column].sum().items():
                sums[port] = sums.get(port, 0) + total
        best = min(sums, key=lambda port: (-sums[port], port))
        if sums[best] > 0:
            kept.add(best)
    for port in ports:
        if port in kept and port not in shown:
            last = max(place for place, one in enumerate(shown) if one not in kept)
            shown[last] = port
    return sorted(shown, key=ports.index)


def step_of(item, begin, end):
    """Intervals that one mean is over."""
    return max(int(numpy.ceil((end - begin) / interval_of(item) / MOST_MEANS)), 1)


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


def means(rows, column, interval, step, begin, end):
    """Over so many intervals from `begin` on; the last one ends at `end`. A row is of the interval
    before its time, and what has no row is zero.
    """
    width = step * interval
    count = max(int(numpy.ceil((end - begin) / width - 1e-9)), 1)
    place = numpy.ceil((rows["time_us"].to_numpy() - begin) / width - 1e-9).astype(int) - 1
    sums = numpy.bincount(
        numpy.clip(place, 0, count - 1), weights=rows[column].to_numpy(), minlength=count
    )
    times = numpy.minimum(begin + width * numpy.arange(count + 1), end)
    values = sums * interval / numpy.maximum(numpy.diff(times), interval)
    return times, numpy.append(values[0], values)


def filled(rows, column, interval):
    """What has no row is zero: a gap begins with a row of zeros, and ends an interval before the
    next row.
    """
    times = rows["time_us"].to_numpy()
    values = rows[column].to_numpy()
    first = numpy.append(True, numpy.diff(times) > 1.5 * interval)
    places = numpy.flatnonzero(first)
    times = numpy.insert(times, places, times[places] - interval)
    values = numpy.insert(values, places, 0.0)
    return thinned(times, values)


def draw(axis, times, values, column, look):
    axis.plot(
        times,
        values,
        color=look[0],
        linestyle=look[1],
        linewidth=0.9,
        drawstyle="default" if column == "queue_bytes" else "steps-pre",
    )
