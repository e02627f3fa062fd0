# SPDX-License-Identifier: GPL-2.0-only
"""Tables of scenarios/presets/cc/README.md: runs of papers on congestion control, and ours."""

import statistics

from _cc_models import LINE, dcqcn_fixed_point, dcqcn_integrated, dctcp_bounds
from _queues import Queue, late
from _system_test import HEADERS
from _table import Table, digits, kilobytes, size, time

REPLICAS = "scenarios/presets/cc/README.md"
FOLDER = "scenarios/presets/cc"
FULL = 1024 / (1024 + HEADERS)  # payload of a full packet of 1 KiB over its time on the line


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


TABLES = {f.__name__: f for f in (replicas, fattree)}
