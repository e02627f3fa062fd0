# SPDX-License-Identifier: GPL-2.0-only
"""Tables of docs/load-balancing.md, docs/transports.md, docs/topologies.md and docs/collectives.md
that compare ways through a network, for tests/bench/tables.py.
"""

from balancers import digits

# ---- sprayed permutations

PERMUTATION = "traffic --topology=fat-tree --k={k} --pattern=permutation --bytes=16MB"
SPRAYS = [
    ("ecmp", "ecmp"),
    ("spray, random", "spray --spray=random"),
    ("spray, round-robin", "spray --spray=round-robin"),
    ("spray, least-queue", "spray --spray=least-queue"),
    ("drill", "drill"),
    ("adaptive", "adaptive"),
    ("adaptive, sticky", "adaptive --ns3::AdaptiveLoadBalancer::Sticky=1"),
    ("reps", "reps"),
    ("flowlet", "flowlet"),
    ("conga", "conga"),
    ("plb", "plb"),
]


def sprays():
    def cells(small, large):
        did = large["load_balancing"]
        tiers = [tier["max_over_mean"] for tier in did["equal_cost_links"]]
        late, ahead = did["out_of_order_packets"], did["largest_reorder_packets"]
        share = 100 * late / large["data_packets"]
        return [
            *(digits(run["fct_slowdown"]["max"]) for run in (small, large)),
            ", ".join(map(digits, tiers)),
            "0" if not late else f"{share:.0f}%" if share >= 1 else f"{share:.1g}%",
            str(ahead) if late else "",
        ]

    return [
        ([name], [f"{PERMUTATION.format(k=k)} --load-balancer={way}" for k in (4, 8)], cells)
        for name, way in SPRAYS
    ]


# ---- transports

TRANSPORTS = [
    ("`rc`", "rc"),
    ("`irn`", "irn"),
    ("`ndp`", "ndp"),
    ("`eqds`", "eqds"),
    ("`uet`", "uet"),
    ("`uet`, credits", "uet --ns3::UetParameters::ReceiverCredits=1"),
]
FLOWS = (
    [
        (
            f"permutation {by}:1",
            f"--k=8 --oversubscription={by} --pattern=permutation --bytes=4MB",
        )
        for by in (1, 2, 4)
    ]
    + [
        (f"all-to-all {by}:1", f"--k=4 --oversubscription={by} --pattern=all-to-all --bytes=1MB")
        for by in (1, 2, 4)
    ]
    + [
        (f"incast {senders}", f"--k=8 --pattern=incast --fan-in={senders} --bytes=1MB")
        for senders in (8, 64)
    ]
    + [("incast 127", "--k=8 --pattern=incast --fan-in=127 --bytes=450kB")]
    + [("incast 431", "--k=12 --pattern=incast --fan-in=431 --bytes=450kB")]
)


def _over(transports, cell):
    def cells(*runs):
        return [cell(run) for run in runs]

    return [
        (
            [name],
            [
                f"traffic --topology=fat-tree {options} --transport={transport}"
                for _, transport in transports
            ],
            cells,
        )
        for name, options in FLOWS
    ]


def transports():
    return _over(TRANSPORTS, lambda run: f"{run['fct_us']['max']:,.0f}")


def trimmed():
    """`rc` has PFC and drops nothing."""

    def cell(run):
        count = run.get("trimming", {}).get("trimmed_packets", 0)
        return f"{count:,}; {sum(run['drops'].values()):,}"

    return _over(TRANSPORTS[1:], cell)


# What the simulators of EQDS' and UET's authors are validated by (docs/transports.md says where).
VALIDATED = [
    (["one flow", "below 180", "176.2 (below 190)"], "--k=4 --pattern=incast --fan-in=1"),
    (["15 to 1, `--k=4`", "below 2,500", "below 2,550"], "--k=4 --pattern=incast --fan-in=15"),
    (["127 to 1, `--k=8`", "below 23,000", "below 23,000"], "--k=8 --pattern=incast --fan-in=127"),
    (
        ["permutation of 16, `--k=4`", "below 210", "below 210"],
        "--k=4 --pattern=random-permutation",
    ),
    (
        ["permutation of 1,024, `--k=16`", "below 220", "below 220"],
        "--k=16 --pattern=random-permutation",
    ),
]


def simulators():
    def cells(*runs):
        last = [run["fct_us"]["max"] for run in runs]
        return [f"{us:,.0f}" if us >= 1000 else f"{us:.1f}" for us in last]

    return [
        (
            names,
            [
                f"traffic --topology=fat-tree {options} --bytes=2000000B --switch-latency=0ns"
                f" --transport={transport}"
                for _, transport in TRANSPORTS[3:]
            ],
            cells,
        )
        for names, options in VALIDATED
    ]


# ---- rails

EXCHANGE = (
    "collperf --servers=16 --gpus-per-server=8 --nics-per-server=8 --minbytes=8M --maxbytes=8M"
    " --warmup-iters=0 --iters=1 --library=none --peer-nic=own --attribution=0"
)
RAILS = [
    ("leaf-spine", "leaf-spine --hosts-per-leaf=8", ["16 + 8, 256", "16 + 4, 192", "16 + 2, 160"]),
    (
        "rail-optimized",
        "rail-optimized --switch-ports=16",
        ["16 + 8, 256", "16 + 4, 192", "16 + 2, 160"],
    ),
]
RAIL_ONLY = "rail-only, one switch a rail (`--hosts-per-rail=16`)"


def _busbw(run):
    return f"{run['collectives'][0]['busbw_GBps']:.1f}"


def rails():
    ring = "--op=all_reduce --algorithm=ring"
    exchanges = [f"--op=alltoall --algorithm={name}" for name in ("direct", "pxn")]

    def pairs(*runs):
        return [f"{_busbw(a)}, {_busbw(b)}" for a, b in zip(runs[::2], runs[1::2])]

    rows = [
        (
            [f"{name} {by}:1", costs[at]],
            [
                f"{EXCHANGE} --topology={options} --oversubscription={by} {what}"
                f" --load-balancer={ways}"
                for what in (ring, *exchanges)
                for ways in ("ecmp", "spray")
            ],
            pairs,
        )
        for at, by in enumerate((1, 2, 4))
        for name, options, costs in RAILS
    ]
    one = f"{EXCHANGE} --topology=rail-only --hosts-per-rail=16"
    rows.append(
        (
            [RAIL_ONLY, "8, 128"],
            [f"{one} {ring}", f"{one} {exchanges[1]}"],
            lambda reduced, exchanged: [_busbw(reduced), "refused", _busbw(exchanged)],
        )
    )
    return rows


# ---- all-to-all where the network is narrow

CONTROLS = ["dcqcn", "dctcp", "hpcc", "swift", "timely", "none"]


def narrow():
    def late(us):
        return f"{us / 1000:.2f} ms" if us >= 1000 else f"{us:.0f} us"

    def cells(*runs):
        return [
            f"{run['collectives'][0]['busbw_GBps']:.2f}, {late(run['fct_us']['p99'])}"
            for run in runs
        ]

    return [
        (
            [f"{by}:1", algorithm, ways],
            [
                "collperf --op=alltoall --minbytes=4M --servers=8 --gpus-per-server=8"
                " --nics-per-server=8 --topology=fat-tree --k=8 --library=none"
                f" --ns3::RdmaNic::LossRecovery=out-of-order --algorithm={algorithm}"
                f" --oversubscription={by} --ns3::RdmaSwitch::LoadBalancer={ways} --cc={control}"
                " --attribution=0"
                for control in CONTROLS
            ],
            cells,
        )
        for by in (2, 4)
        for algorithm in ("direct", "pairwise", "pxn")
        for ways in ("ecmp", "adaptive", "spray")
    ]


# Name: file, header, rows.
TABLES = {
    "sprays": (
        "docs/load-balancing.md",
        [
            "",
            "k = 4",
            "k = 8",
            "busiest over mean, k = 8 (edge, aggregation)",
            "out of order, k = 8",
            "ahead",
        ],
        sprays,
    ),
    "transports": (
        "docs/transports.md",
        ["last flow after, us", *(name for name, _ in TRANSPORTS)],
        transports,
    ),
    "trimmed": (
        "docs/transports.md",
        ["packets trimmed; dropped", *(name for name, _ in TRANSPORTS[1:])],
        trimmed,
    ),
    "simulators": (
        "docs/transports.md",
        ["us", "published, EQDS", "published, NSCC", *(name for name, _ in TRANSPORTS[3:])],
        simulators,
    ),
    "rails": (
        "docs/topologies.md",
        [
            "network",
            "switches, cables",
            "ring all-reduce: ecmp, spray",
            "alltoall direct",
            "alltoall pxn",
        ],
        rails,
    ),
    "narrow": ("docs/measured.md", ["network", "algorithm", "ways", *CONTROLS], narrow),
}
