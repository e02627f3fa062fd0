# SPDX-License-Identifier: GPL-2.0-only
"""Tables of docs/training.md, docs/congestion-control.md and docs/infiniband.md, the default job
and small ones under other options, and of docs/validation.md, both networks side by side.
"""

from _table import Table, busiest, name_of, step, time, waits
from replica_tables import REPLICAS

TRAINING = "docs/training.md"
CONGESTION = "docs/congestion-control.md"
INFINIBAND = "docs/infiniband.md"
VALIDATION = "docs/validation.md"

ALGORITHMS = [
    "none",
    "dcqcn",
    "dctcp",
    "hpcc",
    "timely",
    "timely --cc-preset=conext16",
    "swift",
    "powertcp",
    "theta-powertcp",
    "ib-cc",
]
CLUSTERS = [
    ("default", ""),
    ("2:1", "--oversubscription=2"),
    ("4:1", "--oversubscription=4"),
    ("2:1, random", "--oversubscription=2 --placement=random"),
    ("4:1, random", "--oversubscription=4 --placement=random"),
]
RANDOM = ("random placement", "--placement=random")
WITH_INFINIBAND = [CLUSTERS[0], RANDOM, *CLUSTERS[2:]]


def changes():
    options = [
        "",
        "--nic=200GbE",
        "--nic=400GbE --gpu=H100",
        "--no-overlap",
        "--zero=0",
        "--zero=3",
        "--accumulation=4",
        "--slow-gpu=77:1.3",
        "--algorithm=hierarchical",
        "--nics-per-server=2",
    ]
    first = [(f"`{line}`" if line else "(default)", [f"dltrain {line}"]) for line in options]
    yield Table(
        TRAINING,
        ["options", "step", "exposed"],
        [
            (
                [name],
                lines,
                lambda s: [
                    time(s["step_time_us"]),
                    f"{s['exposed_communication_time_us'] / 1e3:.0f} ms",
                ],
            )
            for name, lines in first
        ],
    )
    yield Table(
        TRAINING,
        ["options", "computing", "straggling on the critical path", "samples/s", "ECN marks"],
        [
            (
                [name],
                lines,
                lambda s: [
                    time(s["compute_time_us"]),
                    time(s["critical_path"]["parts_us"].get("straggling", 0)),
                    f"{s['samples_per_s']:.1f}",
                    f"{s['ecn_marks']:,}",
                ],
            )
            for name, lines in first
        ],
        more=True,
    )


def placement():
    options = [
        "--placement=linear",
        "--oversubscription=4",
        "--placement=random",
        "--placement=random --topology=leaf-spine --hosts-per-leaf=4",
    ]
    yield Table(
        TRAINING,
        ["options", "step", "ECN marks", "PFC pauses", "slowdown p99", "busiest link"],
        [
            (
                [f"`{line}`" + (" (default)" if line == options[0] else "")],
                [f"dltrain {line}"],
                lambda s: [
                    step(s),
                    f"{s['ecn_marks']:,}",
                    f"{s['pfc_pauses']:,}",
                    f"{s['fct_slowdown']['p99']:.3g}",
                    busiest(s),
                ],
            )
            for line in options
        ],
    )


def job(cluster, name):
    return f"dltrain --warmup=0 --library=none {cluster} --cc={name}"


def training():
    short = [cluster for _, cluster in (CLUSTERS[0], *CLUSTERS[2:])]
    yield Table(
        CONGESTION,
        ["`--cc=`", "default", "4:1", "2:1, random", "4:1, random"],
        [
            (
                ["`" + name_of(name).replace(", ", "`, `") + "`"],
                [job(cluster, name) for cluster in short],
                lambda *runs: [
                    step(runs[0]),
                    *(f"{step(s)}, {time(s['pfc_pause_time_us'])}" for s in runs[1:]),
                ],
            )
            for name in ALGORITHMS
        ],
    )
    yield Table(
        REPLICAS,
        [
            "cluster",
            "`--cc`",
            "step",
            "FCT p99",
            "FCT p99.9",
            "ECN marks",
            "CNPs",
            "pauses",
            "paused, all ports together",
        ],
        [
            (
                [title if name == ALGORITHMS[0] else "", name_of(name)],
                [job(cluster, name)],
                lambda s: [
                    step(s),
                    time(s["fct_us"]["p99"]),
                    time(s["fct_us"]["p999"]),
                    f"{s['ecn_marks']:,}",
                    f"{s['cnps']:,}",
                    f"{s['pfc_pauses']:,}",
                    time(s["pfc_pause_time_us"]),
                ],
            )
            for title, cluster in CLUSTERS
            for name in ALGORITHMS
        ],
    )


def acks():
    yield Table(
        REPLICAS,
        ["`--cc`", "step", "with `--ack-priority=6`", "FCT p99.9", "with `--ack-priority=6`"],
        [
            (
                [name_of(name)],
                [
                    job(f"--oversubscription=4 {priority}", name)
                    for priority in ("", "--ack-priority=6")
                ],
                lambda same, above: [
                    step(same),
                    step(above),
                    time(same["fct_us"]["p999"]),
                    time(above["fct_us"]["p999"]),
                ],
            )
            for name in ("swift", "theta-powertcp", "timely", "powertcp")
        ],
    )


def dcqcn():
    options = [
        "--cc=dcqcn --cc-preset=hpcc19-vendor",
        "--cc-preset=nvidia-nic",
        "--cc-preset=sigcomm15",
        "--cc=none",
        "--pfc=0",
    ]
    yield Table(
        CONGESTION,
        [
            "options",
            "step",
            "ECN marks",
            "CNPs",
            "PFC pauses (their time)",
            "drops",
            "retransmitted",
        ],
        [
            (
                [f"(`{line}`)" if line == options[0] else f"`{line}`"],
                [f"dltrain --placement=random {line}"],
                lambda s: [
                    step(s),
                    f"{s['ecn_marks']:,}",
                    f"{s['cnps']:,}",
                    f"{s['pfc_pauses']:,} ({time(s['pfc_pause_time_us'])})"
                    if s["pfc_pauses"]
                    else "0",
                    f"{sum(s['drops'].values()):,}",
                    f"{s['retransmitted_packets']:,}",
                ],
            )
            for line in options
        ],
    )


def infiniband():
    def command(cluster, name, fabric):
        return (
            f"dltrain --warmup=0 --library=none --fabric={fabric} {cluster} --cc={name}"
            if fabric == "ib"
            else job(cluster, name)
        )

    names = ("none", "dcqcn", "ib-cc")
    short = [cluster for _, cluster in (CLUSTERS[0], RANDOM, CLUSTERS[2], CLUSTERS[4])]
    yield Table(
        INFINIBAND,
        ["`--cc=`", "default", "`--placement=random`", "`--oversubscription=4`", "both"],
        [
            (
                [f"`{name}`"],
                [command(cluster, name, fabric) for cluster in short for fabric in ("roce", "ib")],
                lambda *runs: [
                    f"{step(roce).removesuffix(' ms')}, {step(ib)}"
                    for roce, ib in zip(runs[::2], runs[1::2])
                ],
            )
            for name in names
        ],
    )
    yield Table(
        REPLICAS,
        [
            "cluster",
            "`--cc`",
            "step, RoCE",
            "step, InfiniBand",
            "FCT p99.9, RoCE",
            "InfiniBand",
            "pauses, RoCE",
            "waits for credits, InfiniBand",
        ],
        [
            (
                [title if name == names[0] else "", name],
                [command(cluster, name, fabric) for fabric in ("roce", "ib")],
                lambda roce, ib: [
                    step(roce),
                    step(ib),
                    time(roce["fct_us"]["p999"]),
                    time(ib["fct_us"]["p999"]),
                    waits(roce),
                    waits(ib),
                ],
            )
            for title, cluster in WITH_INFINIBAND
            for name in names
        ],
    )


def adaptive():
    def credits(s):
        rerouted = s["credits"]["rerouted_packets"]
        return f"{s['credits']['stalls']:,} ({time(s['credits']['stall_time_us'])})" + (
            f"; {rerouted / 1e6:.1f} M packets took another way than the table's"
            if rerouted
            else ""
        )

    options = ["", "--adaptive-routing", "--cc=ib-cc", "--cc=ib-cc --fecn-threshold=8"]
    yield Table(
        INFINIBAND,
        ["options", "step", "slowdown p99", "FECN marks", "waits for credits (their time)"],
        [
            (
                [f"`{line}`" if line else ""],
                [f"dltrain --fabric=ib --placement=random {line}"],
                lambda s: [
                    step(s),
                    f"{s['fct_slowdown']['p99']:.3g}",
                    f"{s['ecn_marks']:,}",
                    credits(s),
                ],
            )
            for line in options
        ],
    )


def analytic():
    """All networks in the same words; those without packets know no congestion control, so packets
    have their defaults.
    """
    scenarios = [
        (
            "fat-tree k = 8, permutation, 1 MB",
            "traffic --topology=fat-tree --k=8 --pattern=permutation --bytes=1MB",
        ),
        (
            "leaf-spine 4:1, permutation across leaves, 1 MB",
            (
                "traffic --topology=leaf-spine --leaves=4 --hosts-per-leaf=16 --spines=4"
                " --pattern=permutation --offset=16 --bytes=1MB"
            ),
        ),
        (
            "incast 32 to 1, 100 kB",
            (
                "traffic --topology=single-switch --hosts=33 --pattern=incast --fan-in=32"
                " --bytes=100kB"
            ),
        ),
        (
            "all-to-all of 32 hosts, 100 kB",
            "traffic --topology=single-switch --hosts=32 --pattern=all-to-all --bytes=100kB",
        ),
        (
            "websearch flows, load 0.3, fat-tree k = 8",
            (
                "traffic --topology=fat-tree --k=8 --pattern=poisson --sizes=websearch --load=0.3"
                " --duration=2ms --warm-up=500us"
            ),
        ),
        (
            "websearch flows, load 0.7, fat-tree k = 8",
            (
                "traffic --topology=fat-tree --k=8 --pattern=poisson --sizes=websearch --load=0.7"
                " --duration=2ms --warm-up=500us"
            ),
        ),
        (
            "InfiniBand HDR, all-to-all of 32 hosts, 100 kB",
            (
                "traffic --fabric=ib --nic=HDR --topology=fat-tree --k=8 --hosts=32"
                " --pattern=all-to-all --bytes=100kB"
            ),
        ),
        (
            "ring all-reduce, 64 ranks, 64 MB",
            "collperf --library=none -b 64M -e 64M --ranks=64 --gpus-per-server=1 --algorithm=ring",
        ),
        (
            "hierarchical all-reduce, 64 ranks in 8 servers, 64 MB, random placement",
            "collperf --library=none -b 64M -e 64M --ranks=64 --algorithm=hierarchical"
            " --placement=random",
        ),
        (
            "all-reduce, 64 ranks in 8 servers, 8 kB",
            "collperf --library=none -b 8K -e 8K --ranks=64",
        ),
        (
            "all-to-all, 64 ranks, 64 MB, random placement",
            (
                "collperf --library=none --op=all_to_all -b 64M -e 64M --ranks=64"
                " --gpus-per-server=1 --placement=random"
            ),
        ),
        (
            "InfiniBand NDR, ring all-reduce, 64 ranks, 64 MB",
            (
                "collperf --library=none -b 64M -e 64M --ranks=64 --gpus-per-server=1"
                " --algorithm=ring --fabric=ib --nic=NDR"
            ),
        ),
        (
            "ZeRO-2 step, bloom-560m, 64 GPUs",
            "dltrain --gpus=64 --steps=1 --warmup=0 --library=none",
        ),
        (
            "ZeRO-2 step of the default job, 4:1, random placement",
            "dltrain --steps=1 --warmup=0 --library=none --oversubscription=4 --placement=random",
        ),
    ]

    def took(s):
        if "step_time_us" in s:
            return s["step_time_us"]
        return (
            s["collectives"][0]["time_us"] if "collectives" in s else s["flows"]["last_arrival_us"]
        )

    def cells(packet, fluid, formula):
        def error(of):
            return f"{100 * (took(of) / took(packet) - 1):+.1f}%"

        faster = float(f"{packet['event_loop_s'] / max(1e-4, fluid['event_loop_s']):.1g}")
        return [
            time(took(packet)),
            time(took(fluid)),
            error(fluid),
            f"{faster:,.0f}",
            time(took(formula)),
            error(formula),
        ]

    return [
        Table(
            VALIDATION,
            [
                "scenario",
                "packets",
                "fluid",
                "error",
                "times as fast",
                "analytic",
                "error",
            ],
            [
                (
                    [name],
                    [line, *(f"{line} --network={kind}" for kind in ("fluid", "analytic"))],
                    cells,
                )
                for name, line in scenarios
            ],
        )
    ]


TABLES = {
    f.__name__: f
    for f in (changes, placement, training, acks, dcqcn, infiniband, adaptive, analytic)
}
