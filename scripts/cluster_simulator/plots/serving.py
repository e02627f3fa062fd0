# SPDX-License-Identifier: GPL-2.0-only
"""Answers of a served model: what dlserve writes."""

import matplotlib.ticker
import numpy

from . import style as p
from .messages import cdf
from .ticks import with_round_ends

# Columns of requests.csv that are latencies.
LATENCIES = (
    ("ttft_ms", "time to the first token"),
    ("tpot_ms", "time of a token after the first"),
    ("e2e_ms", "end to end"),
)
# Keys of pools[].time_s, their words and colours; as stats.json has them in time_share, without _s.
PARTS = (
    ("products_s", "matrix products", p.BLUE),
    ("attention_s", "attention", p.SKY),
    ("tensor_s", "tensor parallel collectives", p.RED),
    ("pipeline_s", "waiting for a stage", p.ORANGE),
    ("experts_s", "expert dispatch and combine", p.PURPLE),
    ("kv_s", "waiting for KV", p.MAROON),
    ("draft_s", "draft model", p.LEAF),
    ("host_s", "host", p.BLACK),
    ("idle_s", "idle", p.PALE),
    ("recomputed_s", "computed again", p.GREEN),
)
SECONDS = ((1e-3, "ms"), (1, "s"), (60, "min"), (3600, "h"))
WHY_NOT = "no answers to requests (dlserve has them)"
MOST_LINES = 7  # instances of a run with a line each; of more there is one for all
WIDEST, THINNEST = 1.8, 0.8  # lines of the load: those below others are wider
SMALL_TOPS = (0.01, 0.02, 0.05, 0.1, 0.2, 0.5)  # of the axis of KV, in percent


def told(item):
    """`serving` of stats.json."""
    found = item.run.stats.get("serving")
    return found if isinstance(found, dict) else {}


def measured(item):
    """Requests without those of the warm-up."""
    table = item.run.requests()
    return table[table["warmup"] == 0]


# ---- latencies


def draw_latency(items, width):
    """Cumulative distributions of TTFT, TPOT and end to end, with objectives."""
    items = p.shown_of(
        items, lambda item: measured(item)["e2e_ms"].notna().any(), "no request was answered"
    )
    columns = 3 if width >= p.NARROW else 1
    figure, axes = p.make_figure(width, 2.5 if columns > 1 else 6.2, 3 // columns, columns)
    axes = list(axes.flat)
    for axis, (column, words) in zip(axes, LATENCIES):
        values = {
            item: 1e3 * table[column].dropna().to_numpy()
            for item in items
            for table in [measured(item)]
        }
        values = {item: numpy.maximum(each, 1e-3) for item, each in values.items() if len(each)}
        axis.set_xlabel(words)
        axis.set_ylim(0, 101)
        if not values:
            p.say_empty(axis, "no answer has two tokens")
            continue
        for item, each in values.items():
            x, y = cdf(each, numpy.ones(len(each)), 0, True)
            axis.plot(x, y, color=item.colour, linestyle=item.dashes, drawstyle="steps-post")
        every = [value for each in values.values() for value in (each.min(), each.max())]
        goals = {
            1e3 * goal
            for item in items
            for goal in [(told(item).get("slo") or {}).get(column)]
            if isinstance(goal, (int, float)) and goal > 0
        }
        p.widen_log(axis, "x", with_round_ends([*every, *goals]))
        p.time_ticks(axis, "x", most=4 if columns > 1 else 5, thirds=False)
        for goal in goals:
            axis.axvline(goal, color=p.GREY, linewidth=0.8, linestyle=(0, (2, 2)))
        if len(goals) == 1:
            name_goal(axis, *goals, values)
    axes[0].set_ylabel("requests (%)")
    goals = any(told(item).get("slo") for item in items)
    more = ([p.line_handle(p.GREY, (0, (2, 2)))], ["objective"]) if goals else ((), ())
    if len(items) > 1 or goals:
        p.run_legend(axes[0], items if len(items) > 1 else [], width, more=more)
        for axis in axes[1:columns]:
            p.no_legend(axis, axes[0])
    p.heading(figure, items)
    return figure


def name_goal(axis, goal, values):
    """The objective beside its line: above the curves or below them."""
    early = all((each <= goal).mean() >= 0.5 for each in values.values())
    axis.annotate(
        p.human_time(goal),
        (goal, 3 if early else 98),
        (-2, 0),
        textcoords="offset points",
        rotation=90,
        ha="right",
        va="bottom" if early else "top",
        fontsize=6,
        color=p.GREY,
    )


# ---- load


def lines_of(item, alone):
    """[(words, table of time_s, waiting, running, kv_blocks)]: of each instance if there are few
    and no other run, else their sum.
    """
    table = item.run.load()
    instances = sorted(table["instance"].unique())
    if alone and len(instances) <= MOST_LINES:
        known = item.run.instances()
        names = dict(zip(known["instance"], known["name"]))
        return [
            (str(names.get(number, f"instance {number}")), table[table["instance"] == number])
            for number in instances
        ]
    times = numpy.unique(table["time_s"])
    total = {"time_s": times}
    columns = ("waiting", "running", "kv_blocks")
    for column in columns:
        total[column] = numpy.zeros(len(times))
    for number in instances:
        mine = table[table["instance"] == number]
        place = numpy.searchsorted(mine["time_s"].to_numpy(), times, side="right") - 1
        for column in columns:
            values = mine[column].to_numpy()
            total[column] += numpy.where(place >= 0, values[numpy.maximum(place, 0)], 0)
    return [(item.label, total)]


def blocks_of(item, words):
    """KV blocks of the instance of this name, or of all."""
    table = item.run.instances()
    mine = table[table["name"] == words]
    mine = mine if len(mine) else table
    return float((mine["kv_blocks"] * mine["engines"]).sum())


def kv_top(largest):
    """Where the axis of KV ends, in percent."""
    return next((top for top in SMALL_TOPS if 0 < largest <= 0.97 * top), p.nice_top(largest))


def draw_load(items, width):
    """Requests that wait, that run, and KV blocks in use, over time."""
    items = p.shown_of(items, lambda item: len(item.run.load()) > 0, WHY_NOT)
    alone = len(items) == 1
    drawn = []  # (item, words, table, look)
    for item in items:
        lines = lines_of(item, alone)
        for number, (words, table) in enumerate(lines):
            look = {"color": item.colour, "linestyle": item.dashes}
            if alone and len(lines) > 1:
                look = {"color": p.COLOURS[number], "linestyle": p.DASHES[number % len(p.DASHES)]}
            drawn.append((item, words, table, look))
    # Instances that do the same cover one another: those below are wider, and seen on both sides.
    for number, (*_, look) in enumerate(drawn):
        above = (len(drawn) - 1 - number) / max(1, len(drawn) - 1)
        look["linewidth"] = THINNEST + above * (WIDEST - THINNEST)
    figure, axes = p.make_figure(width, 4.6, 3, 1, sharex=True)
    axes = list(axes.flat)
    factor, unit = p.unit_for(max(max(table["time_s"]) for _, _, table, _ in drawn) / 4, SECONDS)
    most_kv = 0.0
    for item, words, table, look in drawn:
        times = numpy.asarray(table["time_s"]) / factor
        whole = blocks_of(item, words)
        kv = 100 * numpy.asarray(table["kv_blocks"]) / whole if whole else table["kv_blocks"]
        most_kv = max(most_kv, max(kv))
        for axis, values in zip(axes, (table["waiting"], table["running"], kv)):
            axis.plot(times, values, drawstyle="steps-post", **look)
    top = kv_top(most_kv)
    bound = f"KV in use (%),\naxis to {top:g}%" if top < 100 else "KV in use (%)"
    for axis, words in zip(axes, ("waiting", "running", bound)):
        axis.set_ylabel(words)
        axis.set_ylim(bottom=0)
        if axis is not axes[2]:
            whole_numbers = matplotlib.ticker.MaxNLocator(5, integer=True, steps=[1, 2, 5, 10])
            axis.yaxis.set_major_locator(whole_numbers)
        if axis.get_ylim()[1] < 1.05:
            axis.set_ylim(0, 1.05)
    figure.align_ylabels(axes)
    axes[2].set_ylim(0, top)
    axes[2].set_xlim(left=0)
    p.time_axis(axes[2], unit)
    if len(drawn) > 1:
        p.legend_above(
            axes[0],
            [
                p.line_handle(look["color"], look["linestyle"], linewidth=look["linewidth"])
                for *_, look in drawn
            ],
            [p.text(words) for _, words, _, _ in drawn],
            width,
            handlelength=2.6,
        )
    p.heading(figure, items)
    return figure


# ---- where the time went


def draw_time(items, width):
    """A bar for each pool of each run: where its GPUs' time went."""
    items = p.shown_of(items, lambda item: bool(told(item).get("pools")), WHY_NOT)
    bars = [(item, pool) for item in items for pool in told(item)["pools"]]
    whole = [sum(pool.get("time_s", {}).values()) or 1 for _, pool in bars]
    figure, axes = p.make_figure(width, 0.75 + 0.38 * len(bars))
    axis = axes[0, 0]
    lefts, handles, labels = numpy.zeros(len(bars)), [], []
    places = range(len(bars))
    for key, words, colour in PARTS:
        shares = numpy.array(
            [
                100 * pool.get("time_s", {}).get(key, 0) / all_of
                for (_, pool), all_of in zip(bars, whole)
            ]
        )
        if shares.max() > 0:
            axis.barh(places, shares, 0.66, left=lefts, color=colour)
            lefts += shares
            handles.append(p.patch_handle(colour))
            labels.append(words)
    names = []
    for item, pool in bars:
        role = str(pool.get("role", ""))
        words = [] if len(items) == 1 else [p.text(item.label, 24)]
        words += [] if role == "both" else [role]
        names.append("\n".join(words))
    axis.set_yticks(places, names)
    axis.invert_yaxis()
    axis.set_xlim(0, 100)
    axis.set_xlabel("time of the GPUs (%)")
    axis.grid(False, axis="y")
    p.legend_above(axis, handles, labels, width)
    p.heading(figure, items)
    return figure


# ---- rates


def draw_rates(items, width):
    """What --find-rate and --sweep-rate tried: SLO attainment, TTFT and TPOT over the rate."""
    items = p.shown_of(
        items,
        lambda item: len(item.run.serving_rates()) > 0,
        "no rates were tried (--sweep-rate, --find-rate)",
    )
    columns = 3 if width >= p.NARROW else 1
    figure, axes = p.make_figure(width, 2.5 if columns > 1 else 6.2, 3 // columns, columns)
    axes = list(axes.flat)
    rates, times = [], [[], []]
    attained = False
    for item in items:
        table = item.run.serving_rates().sort_values("rate_per_s")
        rates += list(table["rate_per_s"])
        look = {"color": item.colour, "marker": item.marker, "markersize": 3}
        known = table[table["attainment"].notna()]
        if len(known):
            attained = True
            axes[0].plot(
                known["rate_per_s"], 100 * known["attainment"], linestyle=item.dashes, **look
            )
        for axis, what, all_of in zip(axes[1:], ("ttft", "tpot"), times):
            for quantile, dashes in (("p50", "-"), ("p99", (0, (1.8, 1)))):
                values = 1e3 * table[f"{what}_{quantile}_ms"]
                shown = values > 0
                axis.plot(table["rate_per_s"][shown], values[shown], linestyle=dashes, **look)
                all_of += list(values[shown])
    for axis in axes:
        p.widen_log(axis, "x", rates)
        p.number_ticks(axis, "x")
        axis.set_xlabel("requests/s")
    axes[0].set_ylim(0, 104)
    axes[0].set_ylabel("SLO met (%)")
    if attained:
        wanted = {told(item).get("wanted_attainment") for item in items} - {None}
        for share in wanted:
            axes[0].axhline(100 * share, color=p.GREY, linewidth=0.8, linestyle=(0, (2, 2)))
    else:
        p.say_empty(axes[0], "no objectives (--slo)")
    for axis, words, values in zip(axes[1:], ("TTFT", "TPOT"), times):
        axis.set_ylabel(words)
        if values:
            p.widen_log(axis, "y", values)
            p.time_ticks(axis, "y", thirds=False)
        else:
            p.say_empty(axis, "no answer")
    more = (
        [p.line_handle(p.GREY, dashes) for dashes in ("-", (0, (1.8, 1)))],
        ["p50", "p99"],
    )
    p.run_legend(axes[0], items if len(items) > 1 else [], width, marked=True, more=more)
    for axis in axes[1:columns]:
        p.no_legend(axis, axes[0])
    p.heading(figure, items)
    return figure
