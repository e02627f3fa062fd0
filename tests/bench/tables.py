#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
"""Measures the tables of docs/ and scenarios/presets/cc/README.md anew and prints them as Markdown.

    tests/bench/tables.py [--only=changes,placement,training,...] [--keep=DIR] [--jobs=N] [--update]

A table stands in its file behind a line <!-- TABLE: NAME -->. --update writes the measured rows
there; columns that are not measured (what happens, what a paper says) stay. Sentences around the
tables are for a human: read them again. What they draw from the runs beside the tables is printed
as "NAME, more". --list: tables and commands, nothing is run. The programs have to be built (./ns3
test -N does that). A run that --keep has from before is not run again, so take a new DIR after the
simulator has changed. All of it: 500 runs, some 70 minutes of a core.
"""

import argparse
import concurrent.futures
import csv
import hashlib
import json
import os
import statistics
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
PROGRAMS = os.environ.get("DLTRAIN_PROGRAMS") or os.path.join(ROOT, ".ns3", "programs")
sys.path.insert(0, os.path.join(ROOT, "tests", "system"))
sys.path.insert(0, os.path.join(ROOT, "scripts"))

import balancers  # noqa: E402
import networks  # noqa: E402
from _cc_models import LINE, dcqcn_fixed_point, dcqcn_integrated, dctcp_bounds  # noqa: E402
from _queues import Queue, late  # noqa: E402
from _system_test import HEADERS, number  # noqa: E402
from cluster_simulator.marked import merge  # noqa: E402

TRAINING = "docs/training.md"
CONGESTION = "docs/congestion-control.md"
INFINIBAND = "docs/infiniband.md"
VALIDATION = "docs/validation.md"
REPLICAS = "scenarios/presets/cc/README.md"

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


class Table:
    """Rows of (cells that name it, commands, function of their runs that gives the measured
    cells).
    """

    def __init__(self, file, header, rows, more=False, picture=None):
        self.file = file
        self.header = header
        self.rows = rows
        self.more = more  # of sentences: printed, in no file
        self.picture = picture  # (file, function of the measured rows and its path), or None


class Result(dict):
    """stats.json of a run; its other files by rows()."""

    def __init__(self, folder):
        self.folder = folder
        with open(os.path.join(folder, "stats.json"), encoding="utf-8") as file:
            super().__init__(json.load(file))

    @property
    def stats(self):
        return self

    def rows(self, name):
        with open(os.path.join(self.folder, name), encoding="utf-8", newline="") as file:
            return [
                {key: number(value) for key, value in row.items()} for row in csv.DictReader(file)
            ]


class Runs:
    """The result of a command, run once."""

    def __init__(self, folder):
        self.folder = folder

    @staticmethod
    def is_done(path):
        """A run that was interrupted has a stats.json, too."""
        return (
            os.path.exists(os.path.join(path, "stats.json"))
            and Result(path).get("completed") is True
        )

    def __call__(self, line):
        path = os.path.join(self.folder, hashlib.sha1(line.encode()).hexdigest()[:16])
        if not self.is_done(path):
            program, *options = line.split()
            command = [
                os.path.join(PROGRAMS, program),
                *options,
                f"--out={path}",
                "--report=0",
                "--timeline=0",
                "--progress=0",
            ]
            run = subprocess.run(
                command,
                capture_output=True,
                text=True,
                stdin=subprocess.DEVNULL,
                cwd=ROOT,
                check=False,
            )
            if run.returncode:
                raise RuntimeError(f"{' '.join(command)}: status {run.returncode}\n{run.stderr}")
            print(".", end="", file=sys.stderr, flush=True)
        return Result(path)


# ---- how numbers are written


def digits(value):
    return f"{value:.3g}" if value < 999.5 else f"{value:,.0f}"


def time(us):
    for unit, factor in (("us", 1), ("ms", 1e3), ("s", 1e6)):
        if us < 999.5 * factor or unit == "s":
            return "0" if us == 0 else f"{us / factor:.3g} {unit}"
    raise AssertionError


def step(stats):
    return f"{stats['step_time_us'] / 1e3:,.0f} ms"


def size(count):
    return f"{count / 1e6:.1f} MB" if count >= 999.5e3 else f"{count / 1e3:.0f} kB"


def kilobytes(*counts):
    return ", ".join(f"{count / 1e3:.1f}" for count in counts)


def busiest(stats):
    link = stats["links"][0]
    rate = "" if link["rate_gbps"] == 100 else f" of {link['rate_gbps']:g} Gb/s"
    return f"{100 * link['utilization']:.0f}%{rate} {link['link']}"


def waits(s):
    credits = s.get("credits")
    count, us = (
        (credits["stalls"], credits["stall_time_us"])
        if credits
        else (s["pfc_pauses"], s["pfc_pause_time_us"])
    )
    return f"{count:,}, {time(us)}" if count else "0"


def name_of(algorithm):
    return algorithm.replace(" --cc-preset=", ", ")


# ---- docs/


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


# ---- scenarios/presets/cc/README.md


FOLDER = "scenarios/presets/cc"
FULL = 1024 / (1024 + HEADERS)  # payload of a full packet of 1 KiB over its time on the line


def analytic():
    """Both networks in the same words; the formula knows no congestion control, so packets have
    their defaults.
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

    def cells(packet, formula):
        def error(of):
            return f"{100 * (of(formula) / of(packet) - 1):+.1f}%"

        faster = float(f"{packet['event_loop_s'] / max(1e-4, formula['event_loop_s']):.1g}")
        return [
            time(took(packet)),
            time(took(formula)),
            error(took),
            error(lambda s: s["fct_us"]["p50"]),
            error(lambda s: s["fct_us"]["p99"]),
            f"{faster:,.0f}",
        ]

    return [
        Table(
            VALIDATION,
            [
                "scenario",
                "packets",
                "analytic",
                "error",
                "p50 of messages",
                "p99 of messages",
                "times as fast",
            ],
            [([name], [line, line + " --network=analytic"], cells) for name, line in scenarios],
        )
    ]


def second_half(run):
    return Queue(run, run["simulated_time_us"] / 2)


def goodput(run, gbps, begin_us):
    """Share of what `gbps` of line carry of payload, in packets of 1 KiB."""
    return f"{100 * late(run, begin_us)[1] / (gbps * FULL):.3g}% of the goodput"


def replicas():
    def command(name, options=""):
        return f"traffic --scenario={FOLDER}/{name}.json {options}"

    def row(name, lines, cells):
        return [name], lines if isinstance(lines, list) else [lines], lambda *runs: [cells(*runs)]

    def dctcp(run):
        queue = second_half(run)
        return (
            f"{kilobytes(queue.mean)}; {kilobytes(queue.quantile(0.05), queue.quantile(0.95))};"
            f" {kilobytes(queue.most)} kB"
        )

    def loop(*names):
        """mean, standard deviation, percentiles"""

        def cells(run):
            queue = second_half(run)
            numbers = {
                "mean": queue.mean,
                "deviation": queue.deviation,
                "p5": queue.quantile(0.05),
                "p95": queue.quantile(0.95),
            }
            return ", ".join(digits(numbers[name] / 1e3) for name in names) + " kB"

        return cells

    def joins(run):
        rows = run.rows("fairness.csv")
        means = [
            statistics.fmean(r["jain"] for r in rows if begin * 1e3 < r["time_us"] < end * 1e3)
            for begin, end in ((12, 20), (22, 30), (33, 40))
        ]
        return ", ".join(f"{mean:.2f}" for mean in means)

    def growth(run):
        # 10 ms
        alone = [r for r in run.rows("fairness.csv") if r["flows"] == 1 and r["time_us"] > 50000][
            10:111
        ]
        slope = (
            statistics.fmean(r["gbps"] for r in alone[-10:])
            - statistics.fmean(r["gbps"] for r in alone[:10])
        ) / 9.1
        return f"{slope:.3f} Gb/s a ms"

    def timely(run):
        rows = run.rows("rates.csv")
        end = max(r["time_us"] for r in rows)
        rates = sorted(
            (
                statistics.fmean(
                    r["gbps"] for r in rows if r["flow"] == flow and r["time_us"] > end - 10e3
                )
                for flow in {r["flow"] for r in rows}
            ),
            reverse=True,
        )
        return f"{rates[0]:.1f} and {rates[1]:.1f} Gb/s; {late(run, end / 2)[0]:.2f}"

    def patched(run):
        queue = second_half(run)
        return (
            f"{late(run, run['simulated_time_us'] / 2)[0]:.3f}; {kilobytes(queue.mean)} kB"
            f" ({kilobytes(queue.deviation)} standard deviation)"
        )

    def hpcc(run):
        queue = Queue(run, 1000)
        share = late(run, 1000)[1] * (4096 + HEADERS + 42) / 4096
        return (
            f"{kilobytes(queue.quantile(0.5))} and {kilobytes(queue.quantile(0.95))} kB (a packet:"
            f" 4.2); {share:.1f}%"
        )

    def swift(run):
        """use of the line; mean, median and 99th percentile of the delay: idle, and what the queue
        takes at 50 Gb/s; lost; time-outs
        """
        idle = 4 + 1 + 2 * (4096 + HEADERS + HEADERS + 4) * 8 / 50e3  # us
        queue = Queue(run, 60000)
        delays = [
            idle + count * 8 / 50e3
            for count in (queue.mean, queue.quantile(0.5), queue.quantile(0.99))
        ]
        used = 100 * late(run, 60000)[1] / (50 * 4096 / (4096 + HEADERS))
        lost = sum(run["drops"].values()) / run["data_packets"]
        return (
            f"{used:.0f}%; {', '.join(time(delay) for delay in delays)};"
            f" {f'{100 * lost:.1f}%' if lost else 'none'}; {run['timeouts']:,}"
        )

    instability = "--hosts=65 --fan-in=64"
    hpcc_queue = (
        "traffic --topology=single-switch --hosts=5 --pattern=incast --bytes=1GB --stop-after=6ms"
        " --cc=hpcc --queue-interval=1us --rate-interval=100us"
    )
    yield Table(
        REPLICAS,
        ["what", "here"],
        [
            row(
                "DCTCP, 2 flows: mean; 5th and 95th percentile; highest",
                command("dctcp-queue"),
                dctcp,
            ),
            row("DCTCP, 10 flows", command("dctcp-queue", "--hosts=11"), dctcp),
            row("DCTCP, 40 flows", command("dctcp-queue", "--hosts=41 --fan-in=40"), dctcp),
            row(
                "DCQCN, 4 us, 2 flows: mean queue",
                command("dcqcn-queue", "--hosts=3"),
                lambda run: kilobytes(second_half(run).mean) + " kB",
            ),
            row(
                "DCQCN, 4 us, 4 and 10 flows",
                [command("dcqcn-queue", "--hosts=5"), command("dcqcn-queue")],
                lambda *runs: kilobytes(*(second_half(run).mean for run in runs)) + " kB",
            ),
            row(
                "DCQCN, 4 us, 64 flows",
                command("dcqcn-queue", instability),
                lambda run: (
                    f"{digits(second_half(run).mean / 1e3)} kB"
                    f" ({kilobytes(second_half(run).deviation)} standard deviation)"
                ),
            ),
            row(
                "DCQCN, 85 us, 10 flows: mean, standard deviation, 5th and 95th percentile",
                command("dcqcn-instability"),
                lambda run: loop("mean", "deviation", "p5", "p95")(run)
                + "; "
                + goodput(run, 40, 100e3),
            ),
            row(
                "DCQCN, 85 us, 2 flows: 95th percentile",
                command("dcqcn-instability", "--hosts=3"),
                lambda run: loop("p95")(run) + "; " + goodput(run, 40, 100e3),
            ),
            row(
                "DCQCN, 85 us, 64 flows: mean, standard deviation, 95th percentile",
                command("dcqcn-instability", instability),
                loop("mean", "deviation", "p95"),
            ),
            row(
                "DCQCN joins: Jain's index, mean over 2, 3, 4 flows, from 2 ms after the join on",
                command("dcqcn-fairness"),
                joins,
            ),
            row("DCQCN alone again: growth of the rate", command("dcqcn-fairness"), growth),
            row(
                "TIMELY, two flows after 300 ms: rates; Jain's index of the second half",
                command("timely-oscillation"),
                timely,
            ),
            row("patched TIMELY: Jain's index; queue", command("timely-patched"), patched),
            row(
                "HPCC, 4 flows, 100 Gb/s: median and 95th percentile of the queue; use of the line",
                hpcc_queue,
                hpcc,
            ),
            row(
                (
                    "Swift, 5,000 flows to 50 Gb/s: use of the line; mean, median and 99th"
                    " percentile of the delay; lost; time-outs in 60 ms"
                ),
                command("swift-incast"),
                swift,
            ),
            row(
                "the same with windows of a packet at least",
                command("swift-incast", "--ns3::SwiftCongestionOps::MinCwnd=1"),
                swift,
            ),
        ],
    )
    yield Table(
        REPLICAS,
        ["what", "here"],
        [
            row(
                "DCQCN, 85 us, 64 flows, a line that goes on: mean, standard deviation",
                command("dcqcn-instability", instability + " --ecn-kmax=48762.5kB --ecn-pmax=1"),
                loop("mean", "deviation"),
            ),
            row(
                "DCQCN, 4 us, 2 flows: standard deviation, highest",
                command("dcqcn-queue", "--hosts=3"),
                lambda run: kilobytes(second_half(run).deviation, second_half(run).most) + " kB",
            ),
            row(
                "theory: DCTCP, 2, 10, 40 flows",
                [],
                lambda: "; ".join(
                    kilobytes(*((high - part * span) * (1024 + HEADERS - LINE) for part in (1, 0)))
                    for high, span in map(dctcp_bounds, (2, 10, 40))
                )
                + " kB",
            ),
            row(
                "theory: DCQCN's fixed point, 2, 4, 10 flows",
                [],
                lambda: kilobytes(*(dcqcn_fixed_point(flows) for flows in (2, 4, 10))) + " kB",
            ),
            *(
                row(
                    (
                        f"theory: DCQCN's model, integrated, 85 us, {flows} flows{text}: mean,"
                        " standard deviation, 5th and 95th percentile"
                    ),
                    [],
                    lambda flows=flows, goes_on=goes_on: ", ".join(
                        digits(v / 1e3) for v in dcqcn_integrated(flows, 85e-6, goes_on).values()
                    )
                    + " kB",
                )
                for flows, goes_on, text in (
                    (2, False, ""),
                    (10, False, ""),
                    (64, False, ""),
                    (64, True, ", a line that goes on"),
                )
            ),
        ],
        more=True,
    )


FAT_TREES = [
    ("WebSearch 30%", "hpcc-fattree", "--load=0.3"),
    ("WebSearch 50%", "hpcc-fattree", ""),
    ("FB_Hadoop 30%", "hpcc-fattree-hadoop", ""),
    ("FB_Hadoop 50%", "hpcc-fattree-hadoop", "--load=0.5"),
    ("FB_Hadoop 30%, incasts", "hpcc-fattree-incast", ""),
]
# ACK_HIGH_PRIO of HPCC's run script: 0 for HPCC and DCTCP, 1 for these two.
OF_FAT_TREES = ["hpcc", "dctcp", "dcqcn --ack-priority=6", "timely --ack-priority=6"]


def fattree():
    def command(name, load, algorithm):
        return (
            f"traffic --scenario={FOLDER}/{name}.json {load} --cc={algorithm} --warm-up=500us"
            " --duration=2ms --cool-down=500us --queue-interval=1us --rate-interval=100us"
        )

    def tails(s):
        classes = {
            row["from_bytes"]: row
            for row in s["slowdown_by_size"]
            if row["kind"] == "class" and row["tag"] == "all"
        }
        # 0 to 100 kB, to 10 MB, above: --size-bins
        found = [
            next((row for low, row in classes.items() if begin <= low < end), None)
            for begin, end in ((0, 100e3), (100e3, 10e6), (10e6, 1e12))
        ]
        return [
            " / ".join(
                f"{row[part]:.2f}" if row[part] < 10 else digits(row[part])
                for part in ("p50", "p95", "p99")
            )
            if row
            else "--"
            for row in found
        ]

    def cells(s):
        ports = s["port_classes"]
        count = sum(part["ports"] for part in ports.values())
        paused = 100 * sum(part["ports"] * part["pause_share"] for part in ports.values()) / count
        queue = ports["switch_to_host"]["queue_bytes"]
        return [
            *tails(s),
            size(queue["p99"]),
            size(queue["max"]),
            f"{paused:.2f}%" if paused else "0",
        ]

    yield Table(
        REPLICAS,
        [
            "traffic",
            "algorithm",
            "to 100 kB: p50 / p95 / p99",
            "to 10 MB",
            "over 10 MB",
            "queue to hosts, p99",
            "its maximum",
            "paused",
        ],
        [
            (
                [title if algorithm == OF_FAT_TREES[0] else "", algorithm.split()[0]],
                [command(name, load, algorithm)],
                cells,
            )
            for title, name, load in FAT_TREES
            for algorithm in OF_FAT_TREES
        ],
    )

    def groups(s):
        return {
            row["from_bytes"]: row
            for row in s.rows("slowdown.csv")
            if row["kind"] == "group" and row["tag"] == "all"
        }

    def against(hpcc, other):
        """HPCC's tails in each group of sizes against another's: the flows are the same, so the
        groups are.
        """
        pairs = [(row, groups(other)[low]) for low, row in groups(hpcc).items()]
        small = [(a, b) for a, b in pairs if a["to_bytes"] <= 100e3]
        large = [(a, b) for a, b in pairs if a["from_bytes"] >= 3e6]
        above = f"{100 * max(a['p95'] / b['p95'] - 1 for a, b in large):.0f}%" if large else "--"
        return [
            f"{100 * max(1 - a['p99'] / b['p99'] for a, b in pairs):.0f}%",
            *(
                f"{sum(a[part] < b[part] for a, b in small)} of {len(small)}"
                for part in ("p95", "p99")
            ),
            above,
        ]

    yield Table(
        REPLICAS,
        [
            "traffic",
            "HPCC against",
            "flows",
            "in a group",
            "group's p99, at most shorter by",
            "groups to 100 kB with a smaller p95",
            "p99",
            "groups over 3 MB: p95 at most above by",
        ],
        [
            (
                [title, algorithm.split()[0]],
                [command(name, load, "hpcc"), command(name, load, algorithm)],
                lambda hpcc, other: [
                    f"{hpcc['messages']:,}",
                    (
                        f"{min(r['flows'] for r in groups(hpcc).values()):,} to"
                        f" {max(r['flows'] for r in groups(hpcc).values()):,}"
                    ),
                    *against(hpcc, other),
                ],
            )
            for title, name, load in FAT_TREES
            for algorithm in OF_FAT_TREES[1:]
        ],
        more=True,
    )


TABLES = {
    f.__name__: f
    for f in (
        changes,
        placement,
        training,
        acks,
        dcqcn,
        infiniband,
        adaptive,
        analytic,
        replicas,
        fattree,
    )
}


def of_balancers():
    yield Table(
        balancers.PAGE,
        balancers.HEADER,
        balancers.rows(),
        picture=(balancers.PICTURE, balancers.draw),
    )


def of_balancers_published():
    yield Table(balancers.PAGE, balancers.PUBLISHED_HEADER, balancers.published())


def spread_of_placements():
    """The default job on hosts by chance: the step of each seed over that of hosts in order."""

    def cells(linear, *runs):
        times = [run["step_time_us"] / linear["step_time_us"] for run in runs]
        low, median, high = statistics.quantiles(times, n=4)
        return [
            f"{min(times):.2f}",
            f"{low:.2f}",
            f"{median:.2f}",
            f"{high:.2f}",
            f"{max(times):.2f}",
        ]

    yield Table(
        balancers.PAGE,
        ["balancer", "least", "a quarter below", "half below", "three quarters below", "most"],
        [
            (
                [name],
                [f"{balancers.LINEAR}"]
                + [
                    f"dltrain --warmup=0 --placement=random {options} --seed={seed}"
                    for seed in range(1, 17)
                ],
                cells,
            )
            for name, options in balancers.BALANCERS
            if name in ("ecmp", "spray, round-robin")
        ],
    )


TABLES["balancers"] = of_balancers
TABLES["balancers-published"] = of_balancers_published
TABLES["placements"] = spread_of_placements


def compares(table):
    def make():
        yield Table(*table())

    return make


TABLES.update((name, compares(table)) for name, table in networks.TABLES.items())


def line_of(command):
    return " ".join(command.split())


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--only", default=",".join(TABLES), help="tables, of " + ", ".join(TABLES))
    parser.add_argument("--keep", help="folder for the results of the runs")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--update", action="store_true", help="write the tables into their files")
    parser.add_argument("--list", action="store_true", help="print the commands and run none")
    arguments = parser.parse_args()
    names = arguments.only.split(",")
    unknown = [name for name in names if name not in TABLES]
    if unknown:
        parser.error(f"no table '{unknown[0]}'; there are: {', '.join(TABLES)}")
    tables = [(name, list(TABLES[name]())) for name in names]
    commands = dict.fromkeys(
        line_of(line)
        for _, parts in tables
        for table in parts
        for _, lines, _ in table.rows
        for line in lines
    )
    if arguments.list:
        print("\n".join(commands))
        return 0
    with tempfile.TemporaryDirectory() as temporary, concurrent.futures.ThreadPoolExecutor(
        arguments.jobs
    ) as pool:
        results = dict(
            zip(commands, pool.map(Runs(os.path.abspath(arguments.keep or temporary)), commands))
        )
        for name, parts in tables:
            for table in parts:
                measured = [
                    [*first, *cells(*(results[line_of(line)] for line in lines))]
                    for first, lines, cells in table.rows
                ]
                print(
                    f"\n{name}{', more' if table.more else ', ' + table.file}\n\n|"
                    f" {' | '.join(table.header)} |\n|{'---|' * len(table.header)}"
                )
                for row in measured:
                    print(f"| {' | '.join(row)} |")
                if arguments.update and not table.more:
                    path = os.path.join(ROOT, table.file)
                    with open(path, encoding="utf-8") as file:
                        text = merge(file.read(), name, measured)
                    with open(path, "w", encoding="utf-8") as file:
                        file.write(text)
                    if table.picture:
                        picture, draw = table.picture
                        draw(measured, os.path.join(ROOT, picture))
    return 0


if __name__ == "__main__":
    sys.exit(main())
