# SPDX-License-Identifier: GPL-2.0-only
"""Load balancers against traffic, narrowness and congestion control: the large table of
docs/load-balancing.md and its picture (tests/bench/tables.py --only=balancers --update).
"""

import statistics

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


PERMUTATIONS = "traffic --topology=fat-tree --k=8 --bytes=16MB --attribution=0"
PERMUTATIONS_HEADER = ["balancer", "shift by a pod", "random", "worst random draw"]
SEEDS = range(1, 6)


def permutations():
    """Two kinds of permutations, five seeds each: the slowest flow against an idle network. The
    shift puts all flows of an edge switch behind one other switch; a draw mixes them.
    """

    def cells(*runs):
        slowest = [run["fct_slowdown"]["max"] for run in runs]
        shift, drawn = slowest[: len(SEEDS)], slowest[len(SEEDS) :]
        return [digits(x) for x in (statistics.median(shift), statistics.median(drawn), max(drawn))]

    return [
        (
            [name],
            [
                f"{PERMUTATIONS} --pattern={pattern} {options} --seed={seed}"
                for pattern in ("permutation", "random-permutation")
                for seed in SEEDS
            ],
            cells,
        )
        for name, options in BALANCERS
    ]


PLACEMENTS_HEADER = [
    "balancer",
    "least",
    "a quarter below",
    "half below",
    "three quarters below",
    "most",
]


def placements():
    """The default job on hosts by chance: the step of each seed over that of hosts in order."""

    def cells(linear, *runs):
        times = [run["step_time_us"] / linear["step_time_us"] for run in runs]
        quarters = statistics.quantiles(times, n=4)
        return [f"{time:.2f}" for time in (min(times), *quarters, max(times))]

    return [
        (
            [name],
            [LINEAR]
            + [
                f"dltrain --warmup=0 --placement=random {options} --seed={seed}"
                for seed in range(1, 17)
            ],
            cells,
        )
        for name, options in BALANCERS
        if name in ("ecmp", "spray, round-robin")
    ]


# ---- against published figures

# REPS' experiment with a slow link: as many flows as ways, one of which has half its rate. How many
# there are was not told in what was opened.
SLOW_LINK = (
    "traffic --attribution=0 --nic=400GbE --topology=leaf-spine --leaves=2 --hosts={hosts}"
    " --hosts-per-leaf={ways} --spines={ways} --pattern=permutation --offset={ways}"
    " --bytes=33554432B --fault=rate,at=0us,on=leaf-0-spine-0,to=200Gbps"
)
TORNADO = (
    "traffic --attribution=0 --nic=400GbE --topology=leaf-spine --leaves=8 --hosts=128"
    " --hosts-per-leaf=16 --spines=16 --pattern=permutation --offset=64 --bytes=16777216B"
    " --transport=uet"
)
# Nothing but senders notices: detection and new tables come after the end.
FAILING = (
    "traffic --attribution=0 --nic=400GbE --topology=leaf-spine --leaves=2 --hosts=16"
    " --hosts-per-leaf=8 --spines=8 --pattern=permutation --offset=8 --bytes=67108864B"
    " --fault=link-down,at=100us,for=100us,on=leaf-0-spine-0"
    " --fault=link-down,at=350us,for=200us,on=leaf-0-spine-1 --fault-detection=10ms"
    " --convergence=10ms --transport=uet --ns3::RdmaNic::CreditTimeout=100us"
    " --ns3::RepsPathSelector::FreezingTime=100us"
)
TCP = (
    "--attribution=0 --protocol=tcp --ns3::TcpSocketBase::MinRto=10ms --queue-interval=0"
    " --rate-interval=0"
)
# Two leaves of 8 hosts, two spines, two links from each leaf to each spine, one of which is gone.
DAMAGED = (
    "traffic --topology=tests/bench/damaged-leaf-spine.txt --pattern=poisson --sizes=websearch"
    f" --load=0.6 --warm-up=5ms --duration=40ms --cool-down=5ms {TCP}"
)
BUSY = (
    "traffic --attribution=0 --nic=10GbE --topology=leaf-spine --leaves=4 --hosts=32"
    " --hosts-per-leaf=8 --spines=8 --pattern=poisson --sizes=websearch --load=0.8 --warm-up=5ms"
    " --duration=20ms --cool-down=5ms --queue-interval=0 --rate-interval=0 --cc=dctcp"
)
TURNS = f"traffic --nic=10GbE --topology=fat-tree --k=4 --pattern=permutation --bytes=4MB {TCP}"
ELEPHANTS = (
    "traffic --attribution=0 --topology=leaf-spine --leaves=4 --hosts=64 --hosts-per-leaf=16"
    " --spines=8 --pattern=permutation --offset=16 --bytes=20MB --cc=dctcp"
)
# Sensitive enough to see the marks of DCTCP at 100 Gb/s, of which there are few.
PLB = (
    "--load-balancer=plb --ns3::PlbPathSelector::Threshold=0.01 --ns3::PlbPathSelector::Rounds=3"
)
ALL_REDUCE = (
    "collperf --op=allreduce -b 64M -e 64M --servers=16 --gpus-per-server=8 --nics-per-server=8"
    " --placement=random --topology=leaf-spine --hosts-per-leaf=16"
)

PUBLISHED_HEADER = ["set-up", "published", "here"]


def published():
    """(set-up, what was published; commands, function of their runs)."""

    def last(run):
        return [f"{run['fct_us']['max']:,.0f} us"]

    def ratio(of, to, key=lambda run: run["fct_us"]["mean"]):
        return [f"{key(of) / key(to):.2f}"]

    def rate(run):  # of a flow, on average
        rows = run.rows("flows.csv")
        return sum(row["bytes"] / row["fct_us"] for row in rows) / len(rows)

    def losses(of, to):
        lost = [sum(run["drops"].values()) for run in (of, to)]
        return [
            f"{of['fct_us']['p50'] / to['fct_us']['p50']:.2f} (median),"
            f" {of['fct_us']['max'] / to['fct_us']['max']:.2f} (last);"
            f" {lost[0] / lost[1]:.1f} times"
        ]

    def even(of, to):
        cov = [run["load_balancing"]["equal_cost_links"][0]["cov"] for run in (of, to)]
        return [f"{100 * (1 - cov[1] / cov[0]):.0f}%"]

    def bus(*runs):
        first, *more = (run["collectives"][0]["busbw_GBps"] for run in runs)
        return [", ".join(f"{100 * (one / first - 1):+.0f}%" for one in more)]

    slow = [SLOW_LINK.format(hosts=2 * ways, ways=ways) for ways in (4, 8)]
    return [
        (
            ["REPS: one of 4 links slow, sprayed by chance", "1,400 us"],
            [f"{slow[0]} --cc=dctcp --load-balancer=spray"],
            last,
        ),
        (
            ["the same of 8 links", "1,400 us"],
            [f"{slow[1]} --cc=dctcp --load-balancer=spray"],
            last,
        ),
        (["REPS: one of 4 links slow, `reps`", "799 us"], [f"{slow[0]} --transport=uet"], last),
        (["the same of 8 links, `reps`", "799 us"], [f"{slow[1]} --transport=uet"], last),
        (
            ["the same of 4 links, `reps` on RoCE with DCQCN", "none"],
            [f"{slow[0]} --load-balancer=reps"],
            last,
        ),
        (
            ["REPS: 16 MiB tornado, sprayed over `reps`", "about 1.04, at most 1.25"],
            [f"{TORNADO} --load-balancer=spray --spray=random", TORNADO],
            ratio,
        ),
        (
            ["REPS: two links fail for a time, sprayed over `reps`", "more than 1.35; 2.5 times"],
            [f"{FAILING} --load-balancer=spray --spray=random", FAILING],
            losses,
        ),
        (
            ["SOPA: rate of a permutation by TCP, sprayed by chance over `ecmp`", "1.37"],
            [f"{TURNS} --load-balancer=spray --spray=random", TURNS],
            lambda of, to: ratio(of, to, rate),
        ),
        (
            ["SOPA: in turns over by chance", "1.30"],
            [
                f"{TURNS} --load-balancer=spray --spray={order}"
                for order in ("round-robin", "random")
            ],
            lambda of, to: ratio(of, to, rate),
        ),
        (
            ["CONGA: a failed link, TCP, `ecmp` over `conga`, mean", "5"],
            [DAMAGED, f"{DAMAGED} --load-balancer=conga"],
            ratio,
        ),
        (
            ["LetFlow: the same, `flowlet` over `conga`", "1.1 to 1.2; simulated up to 2"],
            [f"{DAMAGED} --load-balancer=flowlet", f"{DAMAGED} --load-balancer=conga"],
            ratio,
        ),
        (
            ["DRILL: 80% load, mean of `conga` over `drill`", "1.3 to 1.4"],
            [f"{BUSY} --load-balancer=conga", f"{BUSY} --load-balancer=drill"],
            ratio,
        ),
        (
            ["PLB: imbalance of uplinks falls by", "60%"],
            [ELEPHANTS, f"{ELEPHANTS} {PLB}"],
            even,
        ),
        (
            ["Meta: AllReduce with 2, 4, 8 queue pairs a connection", "up to +40%"],
            [f"{ALL_REDUCE} --qps-per-connection={count}" for count in (1, 2, 4, 8)],
            bus,
        ),
    ]


def digits(value):
    return f"{value:.2f}" if value < 9.995 else f"{value:.1f}" if value < 99.95 else f"{value:.0f}"


# A value so many times the median of its panel is written beside its mark, as the scale alone says
# little; what it comes from is told below the table.
OUTLIER = 8


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
                usual = statistics.median(value for values in table for value in values)
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
                for y, values in enumerate(table):
                    for n, value in enumerate(values):
                        if value > OUTLIER * usual:
                            panel.annotate(
                                f"{digits(value)} at {NARROW[n]}:1",
                                (value, y),
                                xytext=(-4, -6),
                                textcoords="offset points",
                                ha="right",
                                va="top",
                                fontsize="small",
                            )
                if traffic != "training":
                    panel.set_xscale("log", base=2)
                    if max(map(max, table)) < 2 * min(map(min, table)):
                        # All alike; a scale of their own would make much of it.
                        panel.set_xlim(usual / 3, usual * 3)
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
        # Where an incast's balancers are all alike there is room.
        panels[0][1].legend(loc="lower right", title="uplinks")
        page.savefig(path, dpi=150, metadata={"Software": None})
