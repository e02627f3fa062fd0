# SPDX-License-Identifier: GPL-2.0-only
"""Many models on a GPU: what dlserve writes with --multiplex and --share-curve."""

import matplotlib.lines
import matplotlib.patches

from . import style as p

MOST_CURVES = 12
MOST_BATCHES = 600  # of a Gantt chart
MOST_PANELS = 12  # of a GPU of a policy each
# Of policies over the rate: no two of the eight share a colour or a marker.
POLICY_COLOURS = (*p.COLOURS, p.BROWN)
POLICY_MARKERS = "osD^vPX*"
NO_CURVE = "no curve (dlserve --share-curve has one)"
NO_MIX = "no mix of models (dlserve --multiplex has one)"
NO_BATCHES = "no batches over time (executions.csv is empty, as with --sweep-rate)"
NO_SWEEP = "one rate only (dlserve --sweep-rate has several)"


def listed(item, key):
    found = item.run.stats.get(key)
    return found if isinstance(found, list) else []


def look_of(number):
    return {
        "color": p.COLOURS[number % len(p.COLOURS)],
        "linestyle": p.DASHES[number // len(p.COLOURS) % len(p.DASHES)],
    }


def policy_look(number):
    count = len(POLICY_COLOURS)
    return {
        "color": POLICY_COLOURS[number % count],
        "linestyle": p.DASHES[(number + number // count) % len(p.DASHES)],
        "marker": POLICY_MARKERS[number % len(POLICY_MARKERS)],
        "markersize": 3.5,
    }


# ---- latency against the share


def draw_share_curve(items, width):
    """Latency over the share of a GPU, a curve for each batch, with a mark at the knee."""
    items = p.shown_of(items, lambda item: len(listed(item, "share_curves")) > 0, NO_CURVE)
    models = [
        (item, model)
        for item in items
        for model in dict.fromkeys(curve["model"] for curve in listed(item, "share_curves"))
    ]
    left_out = [f"{len(models) - 6} more models"] if len(models) > 6 else []
    models = models[:6]
    columns = 1 if width < p.NARROW or len(models) == 1 else min(len(models), 3)
    rows = -(-len(models) // columns)
    figure, axes = p.make_figure(width, 2.5 * rows, rows, columns)
    panels = list(axes.flat)
    for axis, (item, model) in zip(panels, models):
        one_model(axis, items, item, model)
    for axis in panels[len(models) :]:
        axis.set_visible(False)
    p.say_left_out(figure, left_out)
    p.heading(figure, items)
    return figure


def one_model(axis, items, item, model):
    table = item.run.curve()
    all_y = []
    curves = [curve for curve in listed(item, "share_curves") if curve["model"] == model]
    for number, curve in enumerate(curves[:MOST_CURVES]):
        mine = table[(table["model"] == model) & (table["batch"] == curve["batch"])]
        mine = mine[mine["gpu_percent"] >= 5]
        look = look_of(number)
        knee = curve["knee_percent"]
        words = f"batch {curve['batch']:,.0f}" + (
            f": knee {knee:.0f}%" if knee is not None else ": no knee"
        )
        axis.plot(mine["gpu_percent"], mine["latency_ms"], label=words, **look)
        all_y.extend(mine["latency_ms"])
        if knee is not None:
            axis.plot(
                [knee],
                [curve["knee_latency_ms"]],
                marker="o",
                markersize=5,
                color=look["color"],
                markeredgecolor="white",
                zorder=3,
            )
    p.widen_log(axis, "y", all_y)
    p.number_ticks(axis, "y")
    axis.set_xlim(0, 102)
    axis.set_xlabel("share of the GPU (%)")
    axis.set_ylabel("latency (ms)")
    name = model if len(items) == 1 else f"{item.label}: {model}"
    axis.set_title(p.text(name))
    axis.legend(loc="upper right")


# ---- policies


def draw_policies(items, width):
    """Bars for each policy: requests served, those in time, and use of the GPU."""
    items = p.shown_of(items, lambda item: len(listed(item, "multiplex")) > 0, NO_MIX)
    one = width < p.NARROW
    figure, axes = p.make_figure(width, 5.4 if one else 2.7, *((2, 1) if one else (1, 2)))
    left, right = axes.flat
    runs = [(item, run) for item in items for run in unscaled(listed(item, "multiplex"))]
    room = width if one else width / 2
    served(left, items, runs, room)
    used(right, items, runs, room, 0 if one else 0.5)
    rates = {run["rate_scale"] for _, run in runs}
    if len(rates) == 1 and (rates != {1} or any(len(scales(item)) > 1 for item in items)):
        for axis in axes.flat:
            axis.set_xlabel(f"at {p.digits(100 * max(rates))}% of the mix's rates")
    p.heading(figure, items)
    return figure


def scales(item):
    return {run["rate_scale"] for run in listed(item, "multiplex")}


def unscaled(runs):
    """Of a sweep, those at the rates of the mix; else at the largest below them."""
    scales = sorted({run["rate_scale"] for run in runs})
    chosen = max((scale for scale in scales if scale <= 1), default=scales[0])
    return [run for run in runs if run["rate_scale"] == chosen]


def name_bars(axis, items, runs):
    differ = len({run["rate_scale"] for _, run in runs}) > 1
    names = []
    for item, run in runs:
        words = run["policy"] + (f" at {p.digits(100 * run['rate_scale'])}%" if differ else "")
        names.append(words if len(items) == 1 else p.text(f"{words}, {item.label}", 30))
    turned = 0 if len(runs) < 4 and len(items) == 1 else 45 if len(items) == 1 else 90
    axis.set_xticks(range(len(runs)), names, rotation=turned)
    for words in axis.get_xticklabels():
        words.set_ha("right" if turned == 45 else "center")
        words.set_rotation_mode("anchor" if turned == 45 else "default")
    axis.set_xlim(-0.7, len(runs) - 0.3)
    axis.grid(False, axis="x")


def served(axis, items, runs, room):
    in_time, late, missing = [], [], []
    for _, run in runs:
        per_s = [
            (
                model["throughput_per_s"] * min(1, share_in_time(model)),
                model["throughput_per_s"],
                model["rate_per_s"],
            )
            for model in run["models"]
        ]
        good, all_of_them, asked = (sum(values) for values in zip(*per_s))
        in_time.append(good)
        late.append(max(0, all_of_them - good))
        missing.append(max(0, asked - all_of_them))
    places = range(len(runs))
    below = [a + b for a, b in zip(in_time, late)]
    axis.bar(places, in_time, 0.62, color=p.GREEN)
    axis.bar(places, late, 0.62, bottom=in_time, color=p.ORANGE)
    axis.bar(places, missing, 0.62, bottom=below, color=p.PALE)
    name_bars(axis, items, runs)
    axis.set_ylabel("requests/s")
    words = ["within the SLO", "later", "not served"]
    p.legend_above(axis, [p.patch_handle(c) for c in (p.GREEN, p.ORANGE, p.PALE)], words, room)


def share_in_time(model):
    """Of the requests that were served."""
    return model["slo_attainment"] * model["arrived"] / model["served"] if model["served"] else 0


def used(axis, items, runs, room, left):
    values = [
        (100 * run["utilization"], 100 * run["effective_utilization"], run["gpus"])
        for _, run in runs
    ]
    for place, (use, least, gpus) in enumerate(values):
        axis.bar(place - 0.17, use, 0.32, color=p.SKY)
        axis.bar(place + 0.17, least, 0.32, color=p.DEEP)
        if gpus > 1:
            axis.annotate(
                f"{gpus:,.0f} GPUs",
                (place, max(use, least)),
                ha="center",
                va="bottom",
                fontsize=6,
                color=p.GREY,
            )
    name_bars(axis, items, runs)
    axis.set_ylim(0, 109)
    axis.set_ylabel("share of the GPUs (%)")
    p.legend_above(
        axis,
        [p.patch_handle(p.SKY), p.patch_handle(p.DEEP)],
        ["in use", "needed at least"],
        room,
        left=left,
    )


def draw_sweep(items, width):
    """Requests within their SLO over the rate, a line for each policy."""
    items = p.shown_of(items, lambda item: len(listed(item, "multiplex")) > 0, NO_MIX)
    items = p.shown_of(items, lambda item: len(scales(item)) > 1, NO_SWEEP)
    figure, axes = p.make_figure(width, 2.9)
    axis = axes.flat[0]
    handles, labels = [], []
    for item in items:
        runs = listed(item, "multiplex")
        for policy in dict.fromkeys(run["policy"] for run in runs):
            mine = sorted(
                (run["rate_scale"], run["slo_attainment"])
                for run in runs
                if run["policy"] == policy
            )
            look = policy_look(len(handles))
            axis.plot(
                [100 * scale for scale, _ in mine],
                [100 * share for _, share in mine],
                clip_on=False,
                **look,
            )
            handles.append(matplotlib.lines.Line2D([], [], **look))
            labels.append(policy if len(items) == 1 else p.text(f"{item.label}: {policy}"))
    every = sorted({100 * scale for item in items for scale in scales(item)})
    p.widen_log(axis, "x", every)
    p.number_ticks(axis, "x")
    if len(every) <= 8:
        axis.set_xticks(every, [p.digits(value) for value in every])
        axis.minorticks_off()
    axis.set_ylim(0, 101)
    axis.set_xlabel("rates (% of the mix's)")
    axis.set_ylabel("requests within the SLO (%)")
    p.legend_above(axis, handles, labels, width, handlelength=3.6)
    p.heading(figure, items)
    return figure


# ---- batches over time


def draw_shares(items, width):
    """Which model has which share of a GPU over time: a box for each batch, a panel for each GPU of
    each policy.
    """

    items = p.shown_of(items, lambda item: len(listed(item, "multiplex")) > 0, NO_MIX)
    items = p.shown_of(items, lambda item: len(item.run.executions()) > 0, NO_BATCHES)
    panels = [
        (item, policy, gpu)
        for item in items
        for policy in dict.fromkeys(run["policy"] for run in listed(item, "multiplex"))
        for gpu in gpus_of(item, policy)
    ]
    # Where there are too many, each policy has its first GPU before any has its second.
    places = {}
    for place, (item, policy, gpu) in enumerate(panels):
        nth = sum(other[:2] == (item, policy) for other in panels[:place])
        places[place] = (nth, place)
    first = sorted(sorted(places, key=places.get)[:MOST_PANELS])
    shown = [panels[place] for place in first]
    missing = [panel for place, panel in enumerate(panels) if place not in first]
    figure, axes = p.make_figure(width, 0.5 + 1.05 * len(shown), len(shown), 1, sharex=True)
    names = list(
        dict.fromkeys(
            model["model"]
            for item in items
            for run in listed(item, "multiplex")
            for model in run["models"]
        )
    )
    colours = {name: p.COLOURS[i % len(p.COLOURS)] for i, name in enumerate(names)}
    begin, end = window(shown)
    for axis, panel in zip(axes.flat, shown):
        boxes(axis, panel, (begin, end), colours)
        axis.set_ylabel(p.text(panel_name(items, panel), 22) + f"\nGPU {panel[2]} (%)")
    axes.flat[-1].set_xlabel("time since the first request could arrive (ms)")
    p.legend_above(
        axes.flat[0],
        [p.patch_handle(colours[name]) for name in names],
        [p.text(name) for name in names],
        width,
    )
    p.say_left_out(figure, told_of(items, missing))
    p.heading(figure, items)
    return figure


def panel_name(items, panel):
    item, policy, _ = panel
    return policy if len(items) == 1 else f"{item.label}: {policy}"


def told_of(items, missing):
    """["GPUs 1, 2 of igniter"]: what has no panel."""
    gpus = {}
    for panel in missing:
        gpus.setdefault(panel_name(items, panel), []).append(panel[2])
    return [
        f"GPU{'s' if len(of) > 1 else ''} {', '.join(str(gpu) for gpu in of[:6])}"
        f"{f' and {len(of) - 6} more' if len(of) > 6 else ''} of {p.text(name)}"
        for name, of in gpus.items()
    ]


def gpus_of(item, policy):
    """That ran a batch."""
    table = item.run.executions()
    return sorted(int(gpu) for gpu in table[table["policy"] == policy]["gpu"].unique())


def of_panel(item, policy, gpu):
    table = item.run.executions()
    return table[(table["policy"] == policy) & (table["gpu"] == gpu)]


def window(panels):
    """Some batches of the GPU that has fewest of them, behind the beginning."""
    begin, span = 0.0, 0.0
    for panel in panels:
        table = of_panel(*panel)
        if not len(table):
            continue
        last = table["end_ms"].max()
        begin = max(begin, 0.02 * last)
        each = last / max(1, len(table))
        span = max(span, min(last, 30 * each))
    return begin, begin + max(span, 1e-3)


def boxes(axis, panel, times, colours):
    begin, end = times
    table = of_panel(*panel)
    table = table[(table["end_ms"] > begin) & (table["begin_ms"] < end)].head(MOST_BATCHES)
    lanes = lanes_of(*panel)
    for row in table.itertuples():
        height = min(row.gpu_percent, 100 / lanes) if lanes else row.gpu_percent
        axis.add_patch(
            matplotlib.patches.Rectangle(
                (row.begin_ms, row.floor_percent),
                row.end_ms - row.begin_ms,
                height,
                facecolor=colours[row.model],
                edgecolor="white",
                linewidth=0.5,
            )
        )
    axis.set_xlim(begin, end)
    axis.set_ylim(0, 100)
    axis.set_yticks([0, 50, 100])
    axis.grid(False)


def lanes_of(item, policy, gpu):
    """Models of a GPU that share it as they come, and have lanes of equal height; 0: each has a
    share of its own.
    """
    if policy not in ("mps", "ideal"):
        return 0
    run = next(run for run in listed(item, "multiplex") if run["policy"] == policy)
    return sum(model["gpu"] == gpu for model in run["models"])
