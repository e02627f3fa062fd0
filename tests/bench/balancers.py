# SPDX-License-Identifier: GPL-2.0-only
"""Load balancers against traffic, narrowness and congestion control: the large table of
docs/load-balancing.md and its picture (tests/bench/tables.py --only=balancers --update).
"""

PAGE = "docs/load-balancing.md"
PICTURE = "docs/load-balancing.png"

BALANCERS = [
    ("ecmp", ""),
    ("flowlet", "--load-balancer=flowlet"),
    ("conga", "--load-balancer=conga"),
    ("plb", "--load-balancer=plb"),
    ("adaptive", "--load-balancer=adaptive"),
    ("adaptive, sticky", "--load-balancer=adaptive --ns3::AdaptiveLoadBalancer::Sticky=1"),
    ("reps", "--load-balancer=reps"),
    ("drill", "--load-balancer=drill"),
    ("spray, random", "--load-balancer=spray --spray=random"),
    ("spray, round-robin", "--load-balancer=spray --spray=round-robin"),
    ("spray, least-queue", "--load-balancer=spray --spray=least-queue"),
    ("spray, permuted", "--load-balancer=spray --spray=permuted"),
]
CONTROLS = ["dcqcn", "dctcp"]
NARROW = [1, 2, 4]

FLOWS = "traffic --topology=fat-tree --k=8 --attribution=0"
TRAFFIC = [
    ("permutation", f"{FLOWS} --pattern=permutation --bytes=4MB"),
    ("incast", f"{FLOWS} --pattern=incast --fan-in=32 --bytes=1MB"),
    ("all-to-all", f"{FLOWS} --pattern=all-to-all --bytes=64kB"),
    ("training", "dltrain --warmup=0 --placement=random"),
]
# Hosts in order: what the steps are compared with.
LINEAR = "dltrain --warmup=0 --placement=linear"

HEADER = ["balancer", "`--cc`"] + [f"{name} {by}:1" for name, _ in TRAFFIC for by in NARROW]


def rows():
    """(names, commands, function of their runs): flows: the slowest against an idle network;
    training: the step against that of hosts in order at 1:1.
    """

    def cells(linear, *runs):
        return [
            f"{run['step_time_us'] / linear['step_time_us']:.2f}"
            if "step_time_us" in run
            else digits(run["fct_slowdown"]["max"])
            for run in runs
        ]

    return [
        (
            [name, control],
            [f"{LINEAR} --cc={control}"]
            + [
                f"{line} --oversubscription={by} {options} --cc={control}"
                for _, line in TRAFFIC
                for by in NARROW
            ],
            cells,
        )
        for control in CONTROLS
        for name, options in BALANCERS
    ]


def digits(value):
    return f"{value:.2f}" if value < 9.995 else f"{value:.1f}" if value < 99.95 else f"{value:.0f}"


def draw(measured, path):
    """A panel for each traffic and control: balancers below one another, a mark for each
    narrowness. \\param measured the table's rows
    """
    from cluster_simulator.plots import style  # noqa: PLC0415  (matplotlib takes a while)
    from matplotlib import figure, rc_context, ticker  # noqa: PLC0415

    count = len(NARROW)
    with rc_context(style.STYLE):
        page = figure.Figure(figsize=(style.WIDTH * 1.35, 6.4), layout="constrained")
        panels = page.subplots(len(CONTROLS), len(TRAFFIC), sharex="col", sharey=True)
        for at, control in enumerate(CONTROLS):
            lines = [row for row in measured if row[1] == control]
            names = [row[0] for row in lines]
            for column, (traffic, _) in enumerate(TRAFFIC):
                panel = panels[at][column]
                first = 2 + column * count
                table = [[float(cell) for cell in row[first : first + count]] for row in lines]
                for y, values in enumerate(table):
                    panel.plot(values, [y] * count, color=style.PALE, zorder=1)
                for n, by in enumerate(NARROW):
                    panel.plot(
                        [values[n] for values in table],
                        range(len(names)),
                        linestyle="none",
                        marker=style.MARKERS[n],
                        markersize=4,
                        color=style.COLOURS[n],
                        label=f"{by}:1",
                    )
                panel.set_xscale("log", base=2)
                panel.xaxis.set_major_formatter(ticker.FormatStrFormatter("%g"))
                panel.xaxis.set_minor_locator(ticker.NullLocator())
                panel.set_yticks(range(len(names)), names)
                panel.set_ylim(len(names) - 0.5, -0.5)
                panel.set_title(f"{traffic}, {control}")
                if at == len(CONTROLS) - 1:
                    panel.set_xlabel(
                        "step, of hosts in order at 1:1"
                        if traffic == "training"
                        else "slowest flow, of an idle network"
                    )
        handles, labels = panels[0][0].get_legend_handles_labels()
        page.legend(handles, labels, loc="outside upper center", ncols=count)
        page.savefig(path, dpi=150, metadata={"Software": None})
