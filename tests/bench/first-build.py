#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
"""What the first build of a fresh clone costs, by part.

    tests/bench/first-build.py             clones this tree into an empty folder, builds with an
                                           empty compiler cache, prints the table
    tests/bench/first-build.py --test      the same of all that "./ns3 test" builds

Seconds are those of the compiler processes, from Ninja's log: two run at a time on two cores, so
measure on an idle machine. Packages have to be installed before.
"""

import argparse
import collections
import os
import re
import resource
import shutil
import subprocess
import sys
import tempfile
import time

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(ROOT, "scripts"))

from cluster_simulator import marked  # noqa: E402

FIRST = "dltrain --model=bloom560m --zero=2"
HEAD = ["part", "commands", "seconds of compiling and linking"]

# By the name of what is made: the first expression that matches.
PARTS = (
    ("tests", r"^tests/|-test\.dir/|-test\.so|test-runner"),
    ("parts: TCP and MPI", r"ordinary|dltrain-part|ns3-mpi"),
    ("contrib/rdma", r"rdma"),
    ("topologies", r"^topologies/|dltrain-topologies"),
    ("collectives", r"^collectives/|dltrain-collectives"),
    ("scenarios", r"^scenarios/|dltrain-scenarios"),
    ("reports", r"^reports/|dltrain-reports"),
    ("contrib/dltrain", r"^contrib/dltrain|ns3-dltrain"),
    ("programs", r"scratch_|^bin/"),
)


def edges(log):
    """(output, seconds) of every command of a Ninja log; of a command with several outputs, one."""
    seen = {}
    with open(log, encoding="utf-8") as file:
        for line in file:
            if line.startswith("#"):
                continue
            start, end, _, output, command = line.rstrip("\n").split("\t")
            seen[(start, end, command)] = (output, (int(end) - int(start)) / 1000)
    return seen.values()


def part_of(output, root):
    name = output.replace(root + "/", "")
    return next((part for part, words in PARTS if re.search(words, name)), "the rest")


def rows_of(log, root):
    seconds, count = collections.Counter(), collections.Counter()
    for output, took in edges(log):
        part = part_of(output, root)
        seconds[part] += took
        count[part] += 1
    rows = [
        [part, str(count[part]), f"{seconds[part]:.0f}"]
        for part, _ in (*PARTS, ("the rest", ""))
        if count[part]
    ]
    return [*rows, ["together", str(sum(count.values())), f"{sum(seconds.values()):.0f}"]]


def build(folder, words):
    """In a clone of what is committed. Returns the clone, seconds and seconds of processor time."""
    clone = os.path.join(folder, "dltrain")
    subprocess.run(["git", "clone", "-q", ROOT, clone], check=True)
    environment = {
        **os.environ,
        "CCACHE_DIR": os.path.join(folder, "ccache"),
        "DLTRAIN_CACHE": os.path.join(folder, "archives"),
    }
    used, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
    subprocess.run(["./ns3", *words], cwd=clone, env=environment, stdout=sys.stderr, check=True)
    took, after = time.monotonic() - began, resource.getrusage(resource.RUSAGE_CHILDREN)
    return clone, took, sum(after[:2]) - sum(used[:2])


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--test", action="store_true", help="build what the tests need, too")
    options = parser.parse_args()
    folder = tempfile.mkdtemp(prefix="dltrain-first-build-")
    try:
        words = ["test", "-R", "^setup.layering$|^core"] if options.test else ["run", FIRST]
        clone, took, used = build(folder, words)
        rows = rows_of(os.path.join(clone, ".ns3", "build", ".ninja_log"), clone + "/.ns3/build")
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    print(marked.table(HEAD, rows))
    print(f"{took / 60:.1f} minutes, {used / 60:.1f} minutes of processor time")


if __name__ == "__main__":
    main()
