# SPDX-License-Identifier: GPL-2.0-only
"""The forecast of --dry-run beside the run: messages and frame-hops within a tenth where nothing is
random, else within half; events within half. Times are printed, not judged: other programs share
the machine. No cost in assumed-speed.cc was measured on one of these runs, or changed after it.

    forecasts.py            # the quick ones
    forecasts.py --full     # all: a minute of a core
    forecasts.py --table    # all, as the rows of docs/speed.md, "The forecast"
"""

import re
import resource
import sys
import unittest

sys.path.append(sys.path[0] + "/../shared")
from _system_test import FULL, ROOT, SystemTest, main

TABLE = "--table" in sys.argv
if TABLE:
    sys.argv.remove("--table")
if "--full" in sys.argv:
    sys.argv.remove("--full")

FACTORS = {"": 1, "thousand": 1e3, "million": 1e6, "billion": 1e9, "trillion": 1e12}
SECONDS = {"us": 1e-6, "ms": 1e-3, "s": 1, "min": 60, "h": 3600}

TENTH, HALF = 1.1, 1.5

# Kind, line, by how much frame-hops may differ; the quick ones run in every test.
QUICK = (
    (
        "TCP, permutation",
        "traffic --protocol=tcp --pattern=random-permutation --topology=leaf-spine --hosts=40"
        " --bytes=1500kB",
        TENTH,
    ),
    (
        "small messages, Poisson",
        "traffic --pattern=poisson --sizes=ali-storage --load=0.6 --hosts=48 --duration=1ms"
        " --topology=leaf-spine --no-attribution",
        TENTH,
    ),
    (
        "incast",
        "traffic --pattern=incast --fan-in=20 --hosts=21 --topology=single-switch --bytes=3MB",
        HALF,
    ),
    (
        "training beside Poisson flows",
        "dltrain --model=gpt2 --servers=6 --background=pattern=poisson,load=0.15",
        HALF,
    ),
    (
        "fluid",
        "dltrain --model=bert-large --gpus=64 --gpus-per-server=4 --network=fluid",
        TENTH,
    ),
)
LONG = (
    ("default job, RoCE", "dltrain", TENTH),
    ("default job, InfiniBand", "dltrain --fabric=ib", TENTH),
    (
        "TCP, Poisson",
        "traffic --pattern=poisson --protocol=tcp --sizes=fb-hadoop --load=0.3 --hosts=12"
        " --topology=single-switch --duration=2ms",
        TENTH,
    ),
    (
        "TCP, incast",
        "traffic --protocol=tcp --pattern=incast --fan-in=23 --hosts=24 --bytes=1MB",
        HALF,
    ),
    ("UDP", "traffic --protocol=udp --hosts=20 --topology=leaf-spine --bytes=2MB", HALF),
    (
        "messages of 1 kB",
        "traffic --pattern=all-to-all --hosts=100 --bytes=1kB --topology=leaf-spine",
        TENTH,
    ),
    (
        "`--outstanding`",
        "traffic --pattern=all-to-all --hosts=60 --bytes=4kB --outstanding=8 --k=8",
        TENTH,
    ),
    (
        "all-to-all beside Poisson flows",
        "collperf --op=alltoall --ranks=40 -b 24M -n 4 --background=pattern=poisson,load=0.5",
        HALF,
    ),
    (
        "ring beside an incast that repeats",
        "collperf --ranks=24 -b 64M --background=pattern=incast,bytes=500kB,fan-in=6",
        HALF,
    ),
    (
        "ring beside TCP",
        "collperf --ranks=16 --gpus-per-server=8 -b 64M"
        " --background=pattern=poisson,load=0.05,protocol=tcp",
        HALF,
    ),
    (
        "MoE, all-to-all",
        "dltrain --model=qwen3-30b-a3b --servers=2 --gpus-per-server=8 --ep=16 --micro-batch=1"
        " --seq=256 --ignore-memory --warmup=0",
        TENTH,
    ),
    (
        "all-to-all, oversubscribed",
        "collperf --op=alltoall --ranks=36 --topology=fat-tree --oversubscription=2 -b 20M -n 2",
        HALF,
    ),
    (
        "tp 8, pp 4",
        "dltrain --model=llama2-7b --gpus=64 --tp=8 --pp=4 --accumulation=6 --nic=400GbE",
        TENTH,
    ),
    (
        "ZeRO-3",
        "dltrain --model=gpt2-large --gpus=16 --gpus-per-server=2 --zero=3 --nic=25GbE",
        TENTH,
    ),
    (
        "halving-doubling",
        "collperf --ranks=64 --algorithm=halving-doubling -b 32M -n 2 --topology=fat-tree",
        TENTH,
    ),
    (
        "fluid, MoE",
        "dltrain --model=moonlight-16b-a3b --servers=8 --gpus-per-server=8 --ep=64"
        " --micro-batch=1 --seq=256 --ignore-memory --network=fluid",
        TENTH,
    ),
    ("analytic", "dltrain --model=bert-large --gpus=512 --network=analytic", TENTH),
    (
        "serving, pp 2",
        "dlserve --model=llama2-70b --tp=8 --pp=2 --gpus=16 --count=80 --requests=poisson:4",
        HALF,
    ),
    (
        "serving, prompts apart",
        "dlserve --model=llama3-8b --split=prefill:1x(tp=4),decode:1x(tp=4) --gpus-per-server=4"
        " --count=100",
        HALF,
    ),
    (
        "two rings and a copy",
        "dltrain --jobs={root}/scenarios/jobs/two-rings-and-a-copy.json --alone=0",
        TENTH,
    ),
    ("HPCC", "traffic --k=6 --pattern=random-permutation --bytes=20MB --cc=hpcc", TENTH),
    ("ns-3's engine", "traffic --k=6 --bytes=15MB --engine=ns3", TENTH),
    ("two threads", "traffic --k=8 --bytes=25MB --threads=2 --pattern=random-permutation", TENTH),
)


def number(text):
    """ "1.29 million" is 1290000."""
    value, unit = re.match(r"(?:about )?([\d.]+(?:e[+-]?\d+)?) ?(\w*)", text).groups()
    return float(value) * FACTORS.get(unit, 1)


class Forecast:
    def __init__(self, plan):
        self.lines = dict(re.findall(r"(?m)^  (\w[\w -]*?)  +(.*)$", plan))

    def count(self, name):
        return number(self.lines[name]) if name in self.lines else None

    def seconds(self):
        value, unit = re.match(r"about ([\d.]+) (\w+)", self.lines["wall time"]).groups()
        return float(value) * SECONDS[unit]

    def bytes_of_memory(self):
        value, unit = re.match(r"about ([\d.]+) (\w+)", self.lines["host memory"]).groups()
        return float(value) * {"KiB": 2**10, "MiB": 2**20, "GiB": 2**30}[unit]


def processor_seconds():
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def share(forecast, run):
    """Forecast over run; 1 where there is nothing of both."""
    return forecast / run if run else 1 if not forecast else float("inf")


def text_of(value):
    for factor, unit in ((1e9, " G"), (1e6, " M"), (1e3, " k")):
        if value >= factor:
            return f"{value / factor:.3g}{unit}"
    return f"{value:.3g}"


class Forecasts(SystemTest):
    def compare(self, kind, line, most):
        line = line.format(root=ROOT)
        threads = "" if "--threads" in line else " --threads=1"
        forecast = Forecast(self.run_program(line + threads + " --dry-run").out)
        before = processor_seconds()
        run = self.run_program(line + threads, timeout=300)
        # Several threads: what a clock shows, from the first event on.
        took = processor_seconds() - before if threads else run.stats["wall_s"]
        stats = run.stats
        steps = stats.get("steps_measured", 1)
        messages = stats["messages"] * (steps + stats.get("warmup_steps", 0)) / steps
        ratios = {
            "messages": share(forecast.count("messages"), messages),
            "frame-hops": share(forecast.count("frame-hops") or 0, stats.get("frame_hops", 0)),
            "events": share(forecast.count("events"), stats["events"]),
            "time": share(forecast.seconds(), took),
            "memory": share(forecast.bytes_of_memory(), stats["peak_rss_bytes"]),
        }
        print(
            f"{kind}: {stats.get('frame_hops') or 0} frame-hops, {took:.2f} s; forecast over run: "
            + ", ".join(f"{name} {value:.2f}" for name, value in ratios.items()),
            file=sys.stderr,
        )
        # What is drawn, or depends on times, is not in the messages that a plan knows.
        if line.split()[0] != "dlserve" and "--jobs" not in line and "udp" not in line:
            self.assertWithin(ratios["messages"], 1, 0.1, line)
        self.assertFactor(ratios["frame-hops"], most, f"frame-hops of {line}")
        self.assertFactor(ratios["events"], HALF, f"events of {line}")
        return {
            "kind": kind,
            "forecast": forecast.seconds(),
            "run": took,
            "counted": text_of(stats.get("frame_hops") or messages)
            + (" frame-hops" if stats.get("frame_hops") else " messages"),
            **ratios,
        }

    def assertFactor(self, ratio, most, what):
        self.assertLess(ratio, most, what)
        self.assertGreater(ratio, 1 / most, what)

    def run_all(self, cases):
        rows = []
        for case in cases:
            with self.subTest(kind=case[0]):
                rows.append(self.compare(*case))
        return rows

    def test_quick_runs(self):
        self.run_all(QUICK)

    @unittest.skipUnless(FULL or TABLE, "long: ./ns3 test --full")
    def test_long_runs(self):
        rows = self.run_all(LONG)
        if TABLE:
            print_table(rows + self.run_all(QUICK))


def print_table(rows):
    print("| kind | counted | frame-hops | events | forecast | run | time |")
    print("|---|---|---|---|---|---|---|")
    for row in rows:
        print(
            f"| {row['kind']} | {row['counted']} | {row['frame-hops']:.2f} | {row['events']:.2f}"
            f" | {row['forecast']:.2f} s | {row['run']:.2f} s | {row['time']:.2f} |"
        )
    for name in ("frame-hops", "events", "time", "memory"):
        # How far from 1, by whichever factor.
        factors = sorted(max(row[name], 1 / row[name]) for row in rows)
        print(f"{name}: median {factors[len(factors) // 2]:.2f}, worst {factors[-1]:.2f}")


if __name__ == "__main__":
    main()
