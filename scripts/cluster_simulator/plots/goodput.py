# SPDX-License-Identifier: GPL-2.0-only
"""Weeks of a job with failures: what dlgoodput writes."""

import matplotlib.lines

from ..amounts import counted
from . import style as p

# Keys of goodput_runs[].time_s: what they are, and their colour.
LOST = (
    ("checkpoint_s", "checkpoints", p.BLUE),
    ("lost_s", "lost work", p.RED),
    ("detection_s", "detection", p.BLACK),
    ("replacing_s", "replacing servers", p.PURPLE),
    ("restart_s", "restart", p.ORANGE),
    ("waiting_s", "waiting for repairs", p.GREEN),
    ("fewer_s", "replicas in repair", p.SKY),
)
TIMES = ((1, "s"), (60, "min"), (3600, "h"))
MOST = 7  # numbers of GPUs with a curve of their own
WHY_NOT = "no weeks of failures (dlgoodput has them)"


def runs_of(item):
    found = item.run.stats.get("goodput_runs")
    return found if isinstance(found, list) else []


def draw_goodput(items, width):
    """Goodput over the interval between checkpoints; what the rest of the time is lost to."""
    items = p.shown_of(items, lambda item: len(runs_of(item)) > 0, WHY_NOT)
    one = width < p.NARROW
    rows, columns = (2, 1) if one else (1, 2)
    figure, axes = p.make_figure(width, 4.6 if one else 2.7, rows, columns)
    left, right = axes.flat
    room = width if one else width / 2
    left_out = curves(left, items, room)
    parts(right, items, room, 0 if one else 0.5)
    p.say_left_out(figure, left_out)
    p.heading(figure, items)
    return figure


def name_of(items, item, run):
    gpus = counted(round(run["gpus"]), "GPU")
    return gpus if len(items) == 1 else p.text(f"{item.label}: {gpus}")


def curves(axis, items, room):
    """A curve for each number of GPUs, with a mark at what was simulated."""
    wanted = [
        (item, run, table)
        for item in items
        for run in runs_of(item)
        for table in [item.run.intervals()]
        if len(table[table["gpus"] == run["gpus"]])
    ]
    if not wanted:
        p.say_empty(axis, "without failures nothing has to be saved")
        return []
    longest = max(table["interval_s"].max() for _, _, table in wanted)
    factor, unit = p.unit_for(longest / 8, TIMES)
    handles, labels, all_x, all_y, used = [], [], [], [], []
    for number, (item, run, table) in enumerate(wanted[:MOST]):
        look = {
            "color": p.COLOURS[number % len(p.COLOURS)],
            "linestyle": p.DASHES[number % len(p.DASHES)],
        }
        mine = table[table["gpus"] == run["gpus"]]
        x, y = mine["interval_s"] / factor, 100 * mine["goodput"]
        axis.plot(x, y, **look)
        axis.errorbar(
            [run["interval_s"] / factor],
            [100 * run["goodput"]],
            yerr=[100 * (run["goodput_half_width"] or 0)],
            marker=p.MARKERS[number % len(p.MARKERS)],
            markersize=4,
            capsize=2,
            clip_on=False,
            zorder=3,
            color=look["color"],
        )
        handles.append(
            matplotlib.lines.Line2D([], [], marker=p.MARKERS[number % len(p.MARKERS)], **look)
        )
        labels.append(name_of(items, item, run))
        all_x.extend(x)
        all_y.extend([*y, 100 * run["goodput"]])
        used.append(100 * run["goodput"])
    p.widen_log(axis, "x", all_x)
    p.number_ticks(axis, "x")
    # Intervals shorter than an asynchronous write only wait: their steep fall may be cut off.
    low, high = max(min(all_y), 4 * min(used) - 300), max(all_y)
    margin = max(0.05 * (high - low), 0.05)
    axis.set_ylim(low - margin, min(100, high + margin))
    axis.set_xlabel(f"work between checkpoints ({unit}); marks: simulated")
    axis.set_ylabel("goodput (%)")
    p.legend_above(axis, handles, labels, room)
    more = len(wanted) - MOST
    return [f"{more} more numbers of GPUs, {MOST} have a curve"] if more > 0 else []


def parts(axis, items, room, left):
    """A bar for each number of GPUs: the time that does not count."""
    runs = [(item, run) for item in items for run in runs_of(item)]
    bottoms = [0.0] * len(runs)
    handles, labels = [], []
    for key, words, colour in LOST:
        shares = [100 * run["time_s"][key] / sum(run["time_s"].values()) for _, run in runs]
        if max(shares) > 0:
            axis.bar(range(len(runs)), shares, 0.6, bottom=bottoms, color=colour)
            bottoms = [bottom + share for bottom, share in zip(bottoms, shares)]
            handles.append(p.patch_handle(colour))
            labels.append(words)
    names = [
        f"{run['gpus']:,.0f}" + ("" if len(items) == 1 else f"\n{p.text(item.label, 14)}")
        for item, run in runs
    ]
    axis.set_xticks(range(len(runs)), names, rotation=0 if len(runs) < 6 else 45)
    axis.set_xlim(-0.7, len(runs) - 0.3)
    axis.set_xlabel("GPUs")
    axis.set_ylabel("lost time (%)")
    axis.grid(False, axis="x")
    if handles:
        p.legend_above(axis, handles, labels, room, left=left)
    else:
        p.say_empty(axis, "no time is lost")
