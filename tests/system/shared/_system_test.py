# SPDX-License-Identifier: GPL-2.0-only
"""What the system tests share: run a program in a folder of its own, and read what it wrote.

    class MyTest(SystemTest):
        def test_something(self):
            run = self.run_program("dltrain --gpus=16 --servers=2")
            self.assertGreater(run.stats["step_time_us"], 0)

Closed forms stand here too, in Python and written anew: they share no code with the simulator.
"""

import csv
import functools
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

ROOT = os.path.abspath(
    os.environ.get("DLTRAIN_ROOT")
    or os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "..")
)
# Whole, as programs run in folders of their own.
PROGRAMS = os.path.abspath(
    os.environ.get("DLTRAIN_PROGRAMS") or os.path.join(ROOT, ".ns3", "programs")
)
sys.path.insert(0, os.path.join(ROOT, "scripts"))
from cluster_simulator.folder.lists import add_lists  # noqa: E402  (needs the path)
from cluster_simulator.folder.tables import COLUMNS  # noqa: E402

# Under the sanitizers (./ns3 test --sanitize) everything takes some five times as long.
SLOWER = 5 if os.environ.get("DLTRAIN_SANITIZED") == "1" else 1

# "./ns3 test --full", and a script that is run by hand with --full.
FULL = os.environ.get("DLTRAIN_FULL") == "1" or "--full" in sys.argv
full = unittest.skipUnless(FULL, "long: ./ns3 test --full")


def is_share():
    """A default "./ns3 test", in which long tests do a share (scripts/setup/test.sh sets "0"). With
    --full ("1") they do everything; so does a test that is named by -R or -L (unset).
    """
    return os.environ.get("DLTRAIN_FULL") == "0"


def share_of(cases, one_in, first=0):
    """One case in so many, from the first on, where a share is enough; else all of them. Of many
    cases half as many: the whole test must end in 25 minutes.
    """
    cases = list(cases)
    if not is_share():
        return cases
    return cases[first :: 2 * one_in if one_in > 2 else one_in] or cases[:1]


long_test = unittest.skipIf(is_share(), "a share of the tests: the rest with ./ns3 test --full")

# A line of progress on a standard error that is no terminal: on a slow machine any run has some.
PROGRESS = re.compile(r"^.* ms simulated, +[0-9.]+% done, .*ETA .*\n", re.MULTILINE)

# Outputs that hold wall time, rates and memory: reports/stats/stats-file.h, NONDETERMINISTIC_KEYS.
NONDETERMINISTIC = {
    "wall_s",
    "event_loop_s",
    "frame_hops_per_s",
    "peak_rss_bytes",
    "simulated_gpu_s_per_core_s",
    "threads",
    "parallel_share",
    "turns",
}

# What a run of traffic leaves, without options that add something.
TRAFFIC_FILES = [
    "attribution.csv",
    "flows.csv",
    "links.csv",
    "network_events.log",
    "report.html",
    "slowdown.csv",
    "stats.json",
    "timeline.json",
    "topology.json",
]


def captured(words, check=False, **more):
    """The process that these words start, after its end, with what it said; it is told nothing."""
    return subprocess.run(
        words, capture_output=True, text=True, stdin=subprocess.DEVNULL, check=check, **more
    )


class Run:
    """A run that ended: exit status, both streams, and the files of its folder."""

    def __init__(self, command, status, out, err, folder):
        self.command = command
        self.status = status
        self.out = out
        self.err = err
        self.folder = folder

    def __str__(self):
        return (
            f"{' '.join(self.command)}\nstatus"
            f" {self.status}\n{self.out[-3000:]}\n{self.err[-3000:]}"
        )

    def path(self, name):
        return os.path.join(self.folder, name)

    def text(self, name):
        with open(self.path(name), encoding="utf-8") as file:
            return file.read()

    @property
    def stats(self):
        """stats.json, with the lists that are tables beside it."""
        return add_lists(json.loads(self.text("stats.json")), self.folder)

    def rows(self, name):
        """Rows of a CSV file as dictionaries, numbers as numbers."""
        with open(self.path(name), encoding="utf-8", newline="") as file:
            return [
                {key: number(value) for key, value in row.items()}
                for row in csv.DictReader(file, strict=True)
            ]

    def header(self, name):
        return self.text(name).split("\n", 1)[0]


def header_of(name):
    """The first line of a table, as the schema declares it, of a run without traffic classes."""
    return ",".join(c for c in COLUMNS[name] if (name, c) != ("flows.csv", "class"))


def number(text):
    try:
        return int(text)
    except (TypeError, ValueError):
        try:
            return float(text)
        except (TypeError, ValueError):
            return text


class SystemTest(unittest.TestCase):
    maxDiff = None

    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="dltrain-test-")
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)
        self.runs = 0

    def write(self, name, content):
        """A file in the test's folder; a dictionary becomes JSON. Returns its path."""
        path = os.path.join(self.folder, name)
        with open(path, "w", encoding="utf-8") as file:
            file.write(content if isinstance(content, str) else json.dumps(content))
        return path

    def command(self, line, out=None):
        """The arguments of a run, whose folder is a new one unless the line names it."""
        words = line.split() if isinstance(line, str) else list(line)
        words[0] = os.path.join(PROGRAMS, words[0])
        if not os.access(words[0], os.X_OK):
            self.fail(f"{words[0]} is not built")
        if out is None:
            self.runs += 1
            out = os.path.join(self.folder, f"run-{self.runs}")
        if not any(word.split("=")[0] == "--out" for word in words):
            words.append(f"--out={out}")
        return words, out

    def run_program(self, line, status=0, timeout=120, out=None):
        words, out = self.command(line, out)
        done = captured(words, cwd=self.folder, timeout=SLOWER * timeout)
        run = Run(words, done.returncode, done.stdout, PROGRESS.sub("", done.stderr), out)
        self.assertEqual(run.status, status, str(run))
        return run

    def refuse(self, line, *words):
        """The run ends with 2 and one error in one line, in which all these words stand."""
        run = self.run_program(line, status=2)
        errors = [text for text in run.err.splitlines() if text.strip()]
        self.assertEqual(len(errors), 1, f"not exactly one line on standard error\n{run}")
        self.assertRegex(errors[0], r"^\w+: error: ", str(run))
        for word in words:
            self.assertIn(word, errors[0], str(run))
        self.assertEqual(run.out, "", str(run))
        return run

    def assertWithin(self, value, expected, share, message=None):
        """|value - expected| <= share * |expected|"""
        self.assertLessEqual(
            abs(value - expected),
            share * abs(expected),
            f"{value} is not within {100 * share:g}% of {expected}"
            + (f": {message}" if message else ""),
        )


def quantile(values, share):
    """Nearest rank: the smallest value that at least this share of all do not exceed."""
    ordered = sorted(values)
    rank = -(-share * len(ordered) // 1)  # ceiling
    return ordered[max(0, int(rank) - 1)]


def repeatable(stats):
    """stats.json without what may differ from run to run."""
    return {key: value for key, value in stats.items() if key not in NONDETERMINISTIC}


# ---- closed forms

MTU = 4096
# preamble 8, Ethernet 14, IPv4 20, UDP 8, BTH 12, ICRC 4, FCS 4, gap 12 (IEEE 802.3, RFC 791 and
# 768, IBTA vol. 1 and A17)
HEADERS = 8 + 14 + 20 + 8 + 12 + 4 + 4 + 12
RETH = 16  # first packet of a WRITE
IMMEDIATE = 4  # last packet of a WRITE with immediate


# Keys of the parts of a step: together step_time_us.
STEP_PARTS = (
    "compute_time_us",
    "exposed_communication_time_us",
    "bubble_time_us",
    "waiting_time_us",
    "offload_time_us",
    "host_time_us",
    "data_loading_time_us",
)


def parts_of_step(stats):
    """The parts of a step of stats.json, by key; those that a run does not have are 0."""
    return {key: stats.get(key, 0) for key in STEP_PARTS}


def write_packets(size, mtu=MTU, immediate=True):
    """Wire bytes of the packets of an RDMA WRITE: (bytes, how many in a row)."""
    packets = max(1, -(-size // mtu))
    tail = size - (packets - 1) * mtu
    padded = -(-tail // 4) * 4
    extra = IMMEDIATE if immediate else 0
    if packets == 1:
        return [(padded + HEADERS + RETH + extra, 1)]
    runs = [(mtu + HEADERS + RETH, 1), (mtu + HEADERS, packets - 2), (padded + HEADERS + extra, 1)]
    return [run for run in runs if run[1]]


@functools.lru_cache(maxsize=None)
def write_time_us(size, gbps=100.0, links=2, delay_us=1.0, switch_us=0.5, mtu=MTU):
    """Completion time of a WRITE with immediate over `links` idle links and the switches between
    them: store-and-forward,

        F(i, j) = max(F(i-1, j) + delay + switch, F(i, j-1)) + bytes(j) / rate

    for frame j on link i, plus the last link's delay. Frame by frame, so that nothing is assumed
    about their sizes.
    """
    free = [0.0] * links
    for wire, count in write_packets(size, mtu):
        serialization = wire * 8e-3 / gbps
        for _ in range(count):
            arrived = 0.0
            for i in range(links):
                free[i] = max(arrived, free[i]) + serialization
                arrived = free[i] + delay_us + switch_us
    return free[-1] + delay_us


def write_wire_bytes(size, mtu=MTU):
    return sum(wire * count for wire, count in write_packets(size, mtu))


# ---- collperf's table

ROW = re.compile(
    r"^\s+\d+\s+\d+\s+\S+\s+\S+\s+-?\d+(\s+[\d.]+\s+[\d.]+\s+[\d.]+\s+(\d+|N/A)){2}\s*$"
)


def nccl_table(text):
    """Rows of an nccl-tests table, as its users' scripts read it: lines without '#', thirteen
    fields.
    """
    rows = []
    for line in text.splitlines():
        if line.startswith("#") or not line.strip():
            continue
        if not ROW.match(line):
            raise AssertionError(f"not a row of nccl-tests: {line!r}")
        f = line.split()
        rows.append(
            {
                "size": int(f[0]),
                "count": int(f[1]),
                "type": f[2],
                "redop": f[3],
                "root": int(f[4]),
                "time_us": float(f[5]),
                "algbw": float(f[6]),
                "busbw": float(f[7]),
                "in_place_time_us": float(f[9]),
                "in_place_busbw": float(f[11]),
            }
        )
    return rows


def taken(start):
    """The word of the command line that begins so, taken away from unittest; or ""."""
    word = next((word for word in sys.argv[1:] if word.startswith(start)), "")
    if word:
        sys.argv.remove(word)
    return word


def main():
    unittest.main(verbosity=2)
