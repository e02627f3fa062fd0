# SPDX-License-Identifier: GPL-2.0-only
# ctest: TIMEOUT 900
"""dlplan: no option changes a step that its estimate ignores without a word."""

import json
import os
import subprocess
import sys

sys.path.append(sys.path[0] + "/../shared")
from _system_test import Run, SystemTest, is_share, main, share_of

# Servers of one NIC for four GPUs, so that collectives between servers count; an odd number.
JOB = (
    "--model=gpt2 --gpu=V100 --gpus-per-server=4 --nics-per-server=1 --servers=3 --seq=256"
    " --global-batch=24 --no-report --no-progress --top=1"
)
PIPELINE = f"{JOB} --fix=tp=1,pp=3,micro-batch=1,zero=1,cp=1,virtual-stages=1,recompute=none"
COPIES = f"{JOB} --fix=tp=1,pp=1,micro-batch=2,zero=1,cp=1,recompute=none"
# What an example needs beside it.
WITH = {
    "fabric-rate": "--topology=leaf-spine --hosts-per-leaf=1",
    "planes": "--topology=leaf-spine",
    "bond": "--topology=leaf-spine",
    "hyperx": "--topology=hyperx",
    "groups": "--topology=dragonfly",
    "group-switches": "--topology=dragonfly",
}
# Values that are more than the table's example asks for.
VALUES = {
    "fabric-rate": ["10Gbps"],
    "pipeline": ["4kB"],
    "mtu": ["256", "4096"],
    "loader": ["10", "100"],
    "bit-error-rate": ["1e-9"],
    "planes": ["2"],
    "bond": ["2"],
    "topology": ["hyperx", "dragonfly", "torus", "rail-optimized", "leaf-spine"],
    "link-delay": ["100us"],
    "load-balancer": ["drill"],
    "cc": ["none", "timely", "hpcc"],
}
SEARCHED = {"tp", "pp", "dp", "cp", "ep", "etp", "virtual-stages", "zero", "recompute"}
SEARCHED |= {"sequence-parallel", "fused-attention", "micro-batch", "rank-order"}
# These describe the job or the search, whose difference is the point.
SKIPPED = {"model", "server", "gpus", "servers", "global-batch", "fix", "search", "verify"}
SKIPPED |= {"gpus-per-server", "nics-per-server", "gpu", "profile", "resume", "scenario", "out"}
SKIPPED |= {"time", "top", "list", "help", "version", "dry-run", "objective", "verify-network"}
SKIPPED |= {"on", "slurm-options"}
SKIPPED |= {"report", "progress", "moves", "price", "tokens", "memory-margin"}


class Options(SystemTest):
    def examples(self):
        """(option, value) of all options that change a run."""
        table = json.loads(self.run_program("dlplan --help=options").out)
        for option in table["options"]:
            name = option["name"]
            if name not in SEARCHED | SKIPPED:
                other = "0" if option.get("default") == "1" else "1"
                usual = other if option["kind"] == "flag" else option.get("example")
                for value in VALUES.get(name, [usual]):
                    if value:
                        yield name, value

    def measured(self, job, more):
        """(packets over estimate less 1, notes) of the best layout; None: it is refused."""
        words, out = self.command(f"dlplan {job} {more} --verify=1 --verify-network=packet")
        done = subprocess.run(words, capture_output=True, text=True, check=False, cwd=self.folder)
        run = Run(words, done.returncode, done.stdout, done.stderr, out)
        if done.returncode == 2:
            self.assertFalse(os.path.exists(out), f"refused after the search: {run}")
            return None
        self.assertEqual(done.returncode, 0, str(run))
        (row,) = run.rows("plans.csv")
        note = " ".join(line for line in done.stderr.splitlines() if "do not know --" in line)
        return row["verified_us"] / row["estimate_us"] - 1, note.replace(",", " ").replace(";", " ")

    def test_estimates_know_or_say(self):
        """By packets, of an example of each option: within a tenth, or a note names it. (Others
        need what this job does not have, and are refused before the search.)
        """
        measured = 0
        for i, (name, value) in enumerate(share_of(self.examples(), one_in=4)):
            for job in [COPIES, PIPELINE][i % 2 :: 2 if is_share() else 1]:
                found = self.measured(job, f"--{name}={value} {WITH.get(name, '')}")
                if found:
                    error, note = found
                    known = abs(error) < 0.1 or f"--{name}" in note.split()
                    self.assertTrue(known, (name, value, job, error, note))
                    measured += 1
        self.assertGreater(measured, 3)


if __name__ == "__main__":
    main()
