# SPDX-License-Identifier: GPL-2.0-only
"""Rate and window of queue pairs over time, as their congestion control sets them."""

import numpy

from ..measures import natural, part
from . import style

MOST_LINES = 8  # of one run
MOST_PAIRS = 3  # of several
SHORT = 0.01  # of the axis: a line of a millimetre
IDLE = "no line: no flow under way"
# which has not all flows: another one may be
IDLE_OF_PART = "no line: no flow of flows.csv under way"


def draw_queue_pairs(items, width):
    items = style.shown_of(
        items,
        lambda item: len(item.run.queue_pairs()),
        style.without_packets(
            "rates and windows of queue pairs are not simulated",
            "no queue pair was watched (queue_pairs.csv is missing or empty; --trace-qps)",
        ),
    )
    figure = (draw_of_one if len(items) == 1 else draw_of_several)(items, width)
    style.heading(figure, items)
    return figure


def by_pair(table):
    """[((src, dst, number), its rows)], those with the most changes first."""
    groups = sorted(
        table.groupby(["src", "dst", "qp"]), key=lambda group: (-len(group[1]), group[0])
    )
    return [(name, rows) for name, rows in groups]


def thinned(times, values, bins=1500):
    """At most four points a bin, with its extremes: what a line of a page's width can show."""
    if len(times) <= 4 * bins:
        return times, values
    place = numpy.minimum(
        ((times - times[0]) / (times[-1] - times[0] or 1) * bins).astype(int), bins - 1
    )
    starts = numpy.flatnonzero(numpy.append(True, numpy.diff(place) > 0))
    ends = numpy.append(starts[1:], len(times))
    keep = [starts, ends - 1]
    for how in (numpy.nanargmin, numpy.nanargmax):
        keep.append(
            [
                a + how(some)
                for a, b in zip(starts, ends)
                if not numpy.isnan(some := values[a:b]).all()
            ]
        )
    keep = numpy.unique(numpy.concatenate(keep).astype(int))
    return times[keep], values[keep]


def messages_of(item):
    """flows.csv by number; None if it is empty."""
    flows = item.run.flows()
    return flows.set_index("flow") if len(flows) else None


def has_all_messages(run):
    """Not if it is a sample, or flows were not measured, failed or had not arrived at the end."""
    count, told = len(run.flows()), part(run.stats, "flows")
    return bool(count) and run.stats.get("messages") == count == told.get("all", count)


def idle_words(items):
    known = [item.run for item in items if len(item.run.flows())]
    return IDLE if all(map(has_all_messages, known)) else IDLE_OF_PART


def end_of(item, shown):
    """Of the time axis: the run's end, or the last thing that is known to have happened."""
    times = [item.run.queue_pairs()["time_us"].max(), *(rows["time_us"].max() for rows in shown)]
    if isinstance(known := item.run.stats.get("simulated_time_us"), (int, float)):
        times.append(known)
    return float(max(times))


def under_way(name, rows, table, messages):
    """The rows of a queue pair (src, dst, number), with the values of times without a flow not
    numbers.

    They are rows without a flow, and those that a flow has outlived: a queue pair whose rate does
    not change when its last message has arrived has no row then. Rows of READs never have a flow:
    nothing is known of those queue pairs.
    """
    src, dst, qp = name
    if rows["flow"].isna().all():
        return rows
    rows = rows.assign(idle=rows["flow"].isna())
    if messages is not None:
        between = messages[(messages["src"] == src) & (messages["dst"] == dst)]
        others = table[(table["src"] == src) & (table["dst"] == dst) & (table["qp"] != qp)]["flow"]
        rows = cut(rows, between[~between.index.isin(others)])
    rows.loc[rows["idle"], ["rate_gbps", "window_bytes"]] = numpy.nan
    return rows


def cut(rows, messages):
    """The rows, with more of them where messages begin and end."""
    if messages.empty:
        return rows
    messages = messages.sort_values("start_us")
    starts, ends = messages["start_us"].to_numpy(), numpy.maximum.accumulate(
        messages["end_us"].to_numpy()
    )
    times = rows["time_us"].to_numpy()
    points = numpy.unique(numpy.concatenate([times, starts, ends]))
    points = points[points >= times[0]]
    rows = rows.iloc[numpy.searchsorted(times, points, side="right") - 1].assign(time_us=points)
    begun = numpy.searchsorted(starts, points, side="right") - 1
    over = (begun < 0) | (points >= ends[begun])
    return rows.assign(idle=rows["idle"] | (over & rows["flow"].isin(messages.index).to_numpy()))


def has_idle(rows):
    return "idle" in rows and bool(rows["idle"].any())


def draw_line(axis, rows, column, divisor, factor, end, colour, dashes):
    """A value holds until the next one, the last to the end. Whether there was any.

    A stretch between two times without a flow that is too short to be seen has a mark.
    """
    times, values = thinned(rows["time_us"].to_numpy(), rows[column].to_numpy(dtype=float))
    times, values = numpy.append(times, end), numpy.append(values, values[-1])
    known = numpy.concatenate([[False], numpy.isfinite(values), [False]])
    begins, ends = (
        numpy.flatnonzero(edge) for edge in (known[1:-1] & ~known[:-2], known[1:-1] & ~known[2:])
    )
    ends = numpy.minimum(ends + 1, len(times) - 1)
    short = begins[times[ends] - times[begins] < SHORT * end]
    axis.plot(
        times / factor,
        values / divisor,
        drawstyle="steps-post",
        marker="o" if len(short) else None,
        markevery=short.tolist(),
        markersize=2.5,
        color=colour,
        linestyle=dashes,
        linewidth=0.9,
    )
    return not numpy.isnan(values).all()


def finish(axis, some, label, times, factor, end):
    axis.set_ylim(bottom=0)
    begin, until = times
    axis.set_xlim(begin / factor, min(until, end) / factor)
    axis.set_ylabel(label)
    if not some:
        style.say_empty(axis, "no window")


def scales(tables, end):
    """(factor and unit of time, of windows)"""
    largest = max(
        float(table["window_bytes"].max()) if table["window_bytes"].notna().any() else 1.0
        for table in tables
    )
    return style.unit_for(end, style.TIMES), style.unit_for(max(largest, 1.0), style.BYTES)


def draw_of_one(items, width):
    (item,) = items
    table, messages = item.run.queue_pairs(), messages_of(item)
    pairs = by_pair(table)
    # The most interesting ones, in an order in which one is found.
    drawn = sorted(
        pairs[:MOST_LINES],
        key=lambda pair: (natural(str(pair[0][0])), natural(str(pair[0][1])), pair[0][2]),
    )
    shown = [(name, under_way(name, rows, table, messages)) for name, rows in drawn]
    end = end_of(item, [rows for _, rows in shown])
    (factor, unit), (size, size_unit) = scales([rows for _, rows in shown], end)
    panels = [("rate_gbps", 1, "rate (Gb/s)")]
    has_window = any(rows["window_bytes"].notna().any() for _, rows in shown)
    if has_window:
        panels.append(("window_bytes", size, f"window ({size_unit})"))
    figure, axes = style.make_panels(width, [(1.7, 1)] * len(panels), room=0.55)
    for axis, (column, divisor, label) in zip(axes, panels):
        some = False
        for number, (_, rows) in enumerate(shown):
            look = (
                style.COLOURS[number % len(style.COLOURS)],
                style.DASHES[number % len(style.DASHES)],
            )
            some |= draw_line(axis, rows, column, divisor, factor, end, *look)
        finish(axis, some, label, item.times, factor, end)
    style.time_axis(axes[-1], unit)
    words = (
        [f"{len(shown)} of {len(pairs):,} queue pairs, with the most changes"]
        if len(pairs) > len(shown)
        else []
    )
    words += [idle_words([item])] if any(has_idle(rows) for _, rows in shown) else []
    words += [] if has_window else ["no window"]
    style.legend_above(
        axes[0],
        [
            style.line_handle(
                style.COLOURS[i % len(style.COLOURS)], style.DASHES[i % len(style.DASHES)]
            )
            for i in range(len(shown))
        ],
        [style.text(f"{src}->{dst}, queue pair {qp}", 44) for (src, dst, qp), _ in shown],
        width,
        title="; ".join(words),
    )
    return figure


def draw_of_several(items, width):
    """The same ends in all runs; of several queue pairs between them the one with the most
    changes.
    """
    found = []
    for item in items:
        ends = {}
        for (src, dst, qp), rows in by_pair(item.run.queue_pairs()):
            ends.setdefault((src, dst), (qp, rows))
        found.append(ends)
    count, changes = {}, {}
    for ends in found:
        for name, (_, rows) in ends.items():
            count[name] = count.get(name, 0) + 1
            changes[name] = changes.get(name, 0) + len(rows)
    shown = sorted(count, key=lambda name: (-count[name], -changes[name], name))[:MOST_PAIRS]
    end = 0.0
    for item, ends in zip(items, found):
        table, messages = item.run.queue_pairs(), messages_of(item)
        for name in set(shown).intersection(ends):
            qp, rows = ends[name]
            ends[name] = under_way((*name, qp), rows, table, messages)
        end = max(end, end_of(item, [ends[name] for name in set(shown).intersection(ends)]))
    (factor, unit), (size, size_unit) = scales(
        [ends[name] for ends in found for name in shown if name in ends], end
    )
    columns = 2 if width >= style.NARROW else 1
    figure, axes = style.make_panels(
        width, [(1.3, columns)] * (len(shown) * 2 // columns), room=0.6
    )
    small = style.STYLE["legend.fontsize"]
    if len(count) > len(shown):
        left_out = f"{len(count) - len(shown):,} of {len(count):,} pairs of ends"
        style.say_left_out(figure, [left_out])
    for row, name in enumerate(shown):
        missing = [item.label for item, ends in zip(items, found) if name not in ends]
        title = f"{name[0]}->{name[1]}" + (
            f"; not watched in: {', '.join(missing)}" if missing else ""
        )
        idle = any(has_idle(ends[name]) for ends in found if name in ends)
        title += f"; {idle_words(items)}" if idle and row == 0 else ""
        for number, (column, divisor, label) in enumerate(
            (("rate_gbps", 1, "rate (Gb/s)"), ("window_bytes", size, f"window ({size_unit})"))
        ):
            axis = axes[2 * row + number]
            some = False
            for item, ends in zip(items, found):
                if name in ends:
                    some |= draw_line(
                        axis, ends[name], column, divisor, factor, end, item.colour, item.dashes
                    )
            finish(axis, some, label, items[0].times, factor, end)
            style.time_axis(axis, unit, "time")
            if row == 0 and number == 0:
                style.run_legend(axis, items, width, title=style.text(title, 400))
            elif number == 0:
                room = (width / columns - 0.8) * 72
                lines = style.wrapped(style.text(title, 400), small, room)
                style.make_higher(figure, len(lines) - 1, small)
                axis.set_title("\n".join(lines), fontsize=small)
            elif columns == 2:
                style.no_legend(axis, axes[2 * row])
    return figure
