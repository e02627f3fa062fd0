#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
"""Measures the tables of README.md and scenarios/presets/cc/README.md anew and prints them as Markdown.

    tests/bench/tables.py [--only=changes,placement,training,dcqcn,infiniband,adaptive] [--keep=DIR] [--jobs=N]

The programs have to be built (./ns3 test -N does that). A run that --keep has from before is not run again. 90 runs, some 15 minutes.
"""

import argparse
import concurrent.futures
import hashlib
import json
import os
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
PROGRAMS = os.environ.get("DLTRAIN_PROGRAMS") or os.path.join(ROOT, ".ns3", "programs")

ALGORITHMS = ["none", "dcqcn", "dctcp", "hpcc", "timely", "timely --cc-preset=conext16", "swift", "powertcp", "theta-powertcp", "ib-cc"]
CLUSTERS = [("default", ""), ("2:1", "--oversubscription=2"), ("4:1", "--oversubscription=4"),
            ("2:1, random", "--oversubscription=2 --placement=random"), ("4:1, random", "--oversubscription=4 --placement=random")]
WITH_INFINIBAND = [CLUSTERS[0], ("random placement", "--placement=random"), *CLUSTERS[2:]]


def time(us):
    for unit, factor in (("us", 1), ("ms", 1e3), ("s", 1e6)):
        if us < 999.5 * factor or unit == "s":
            return "0" if us == 0 else f"{us / factor:.3g} {unit}"
    raise AssertionError


def step(stats):
    return f"{stats['step_time_us'] / 1e3:.0f} ms"


def busiest(stats):
    link = stats["links"][0]
    return f"{100 * link['utilization']:.0f}% of {link['rate_gbps']:g} Gb/s {link['link']}"


class Runs:
    """stats.json of a command, run once."""

    def __init__(self, folder):
        self.folder = folder

    def __call__(self, options):
        path = os.path.join(self.folder, hashlib.sha1(options.encode()).hexdigest()[:16])
        done = os.path.join(path, "stats.json")
        if not os.path.exists(done):
            command = [os.path.join(PROGRAMS, "dltrain"), *options.split(), f"--out={path}", "--report=0", "--timeline=0"]
            run = subprocess.run(command, capture_output=True, text=True, stdin=subprocess.DEVNULL, check=False)
            if run.returncode:
                raise RuntimeError(f"{' '.join(command)}: status {run.returncode}\n{run.stderr}")
            print(".", end="", file=sys.stderr, flush=True)
        with open(done, encoding="utf-8") as file:
            return json.load(file)


def changes():
    options = ["", "--nic=200GbE", "--nic=400GbE --gpu=H100", "--no-overlap", "--zero=0", "--zero=3", "--accumulation=4", "--slow-gpu=77:1.3",
               "--algorithm=hierarchical", "--nics-per-server=2"]
    yield ["options", "step", "exposed", "computing", "samples/s", "ECN marks"], [
        (line, lambda s: [step(s), time(s["exposed_communication_time_us"]), time(s["compute_time_us"]), f"{s['samples_per_s']:.1f}", f"{s['ecn_marks']:,}"])
        for line in options]


def placement():
    options = ["--placement=linear", "--oversubscription=4", "--placement=random", "--placement=random --topology=leaf-spine --hosts-per-leaf=4"]
    yield ["options", "step", "ECN marks", "PFC pauses", "slowdown p99", "busiest link"], [
        (line, lambda s: [step(s), f"{s['ecn_marks']:,}", f"{s['pfc_pauses']:,}", f"{s['fct_slowdown']['p99']:.3g}", busiest(s)]) for line in options]


def training():
    yield ["options", "step", "FCT p99", "FCT p99.9", "ECN marks", "CNPs", "pauses", "paused, all ports together"], [
        (f"--warmup=0 {cluster} --cc={name}",
         lambda s: [step(s), time(s["fct_us"]["p99"]), time(s["fct_us"]["p999"]), f"{s['ecn_marks']:,}", f"{s['cnps']:,}", f"{s['pfc_pauses']:,}",
                    time(s["pfc_pause_time_us"])])
        for _, cluster in CLUSTERS for name in ALGORITHMS]


def dcqcn():
    options = ["--cc=dcqcn --cc-preset=hpcc19-vendor", "--cc-preset=nvidia-nic", "--cc-preset=sigcomm15", "--cc=none", "--pfc=0"]
    yield ["options", "step", "ECN marks", "CNPs", "PFC pauses (their time)", "drops", "retransmitted"], [
        (f"--placement=random {line}",
         lambda s: [step(s), f"{s['ecn_marks']:,}", f"{s['cnps']:,}", f"{s['pfc_pauses']:,} ({time(s['pfc_pause_time_us'])})",
                    f"{sum(s['drops'].values()):,}", f"{s['retransmitted_packets']:,}"]) for line in options]


def infiniband():
    def waits(s):
        credits = s.get("credits")
        return f"{credits['stalls']:,}, {time(credits['stall_time_us'])}" if credits else f"{s['pfc_pauses']:,}, {time(s['pfc_pause_time_us'])}"
    yield ["options", "step", "FCT p99.9", "pauses or waits for credits"], [
        (f"--warmup=0 --fabric={fabric} --cc={name} {cluster}", lambda s: [step(s), time(s["fct_us"]["p999"]), waits(s)])
        for _, cluster in WITH_INFINIBAND for name in ("none", "dcqcn", "ib-cc") for fabric in ("roce", "ib")]


def adaptive():
    options = ["", "--adaptive-routing", "--cc=ib-cc", "--cc=ib-cc --fecn-threshold=8"]
    yield ["options", "step", "slowdown p99", "FECN marks", "waits for credits (their time)", "rerouted packets"], [
        (f"--fabric=ib --placement=random {line}",
         lambda s: [step(s), f"{s['fct_slowdown']['p99']:.3g}", f"{s['ecn_marks']:,}", f"{s['credits']['stalls']:,} ({time(s['credits']['stall_time_us'])})",
                    f"{s['credits']['rerouted_packets']:,}"]) for line in options]


TABLES = {f.__name__: f for f in (changes, placement, training, dcqcn, infiniband, adaptive)}


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--only", default=",".join(TABLES), help="tables, of " + ", ".join(TABLES))
    parser.add_argument("--keep", help="folder for the results of the runs")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    arguments = parser.parse_args()
    names = arguments.only.split(",")
    unknown = [name for name in names if name not in TABLES]
    if unknown:
        parser.error(f"no table '{unknown[0]}'; there are: {', '.join(TABLES)}")
    with tempfile.TemporaryDirectory() as temporary, concurrent.futures.ThreadPoolExecutor(arguments.jobs) as pool:
        run = Runs(arguments.keep or temporary)
        tables = [(name, list(TABLES[name]())) for name in names]
        options = dict.fromkeys(" ".join(line.split()) for _, parts in tables for _, rows in parts for line, _ in rows)
        results = dict(zip(options, pool.map(run, options)))
        for name, parts in tables:
            for header, rows in parts:
                print(f"\n{name}\n\n| {' | '.join(header)} |\n|{'---|' * len(header)}")
                for line, cells in rows:
                    line = " ".join(line.split())
                    print(f"| `{line}` | {' | '.join(cells(results[line]))} |")
    return 0


if __name__ == "__main__":
    sys.exit(main())
