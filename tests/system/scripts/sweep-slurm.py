# SPDX-License-Identifier: GPL-2.0-only
# ctest: TIMEOUT 600
"""Runs on a cluster, --on=slurm: two nodes of Slurm on this machine's loopback, with their own
process ids. In --full, where Slurm (slurm-wlm, munge) is installed.
"""

import csv
import io
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
import unittest

sys.path.append(sys.path[0] + "/../shared")
from _system_test import ROOT, SystemTest, full, main

TOOLS = ("slurmctld", "slurmd", "srun", "sbatch", "squeue", "munged", "runuser")
CONFIGURATION = """ClusterName=test
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort=17817
AuthType=auth/munge
CredType=cred/munge
SlurmUser=root
SlurmdUser=root
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool/%n
SlurmctldPidFile={folder}/ctld.pid
SlurmdPidFile={folder}/%n.pid
SlurmctldLogFile={folder}/ctld.log
SlurmdLogFile={folder}/%n.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
ReturnToService=2
SlurmdTimeout=10
MpiDefault=none
NodeName=n[1-2] NodeHostname={host} NodeAddr=127.0.0.1 Port=[17821-17822] CPUs=1 State=UNKNOWN
PartitionName=all Nodes=ALL Default=YES MaxTime=INFINITE State=UP
"""
POINTS = (
    "traffic --topology=leaf-spine --hosts=64 --pattern=alltoall --seed=1,2,3,4,5,6,7,8,9,10"
    " --cc=dcqcn,hpcc,none --ecn-kmin=50KB,100KB --threads=1"
)
WALL = ("event_loop_s", "frame_hops_per_s", "wall_s", "peak_rss_bytes")


def missing():
    path = os.environ["PATH"] + ":/usr/sbin:/sbin"
    return [tool for tool in TOOLS if not shutil.which(tool, path=path)]


@full
@unittest.skipIf(missing() or os.geteuid() != 0, "needs Slurm, and root")
class Slurm(SystemTest):
    @classmethod
    def setUpClass(cls):
        """Munge, of this class alone, unless the machine has it."""
        cls.munge = None
        if not os.path.exists("/run/munge/munge.socket.2"):
            os.makedirs("/run/munge", exist_ok=True)
            shutil.chown("/run/munge", "munge", "munge")
            cls.munge = subprocess.Popen(
                ["runuser", "-u", "munge", "--", "/usr/sbin/munged", "--foreground"],
                stderr=subprocess.DEVNULL,
            )
            time.sleep(2)

    @classmethod
    def tearDownClass(cls):
        if cls.munge:
            cls.munge.terminate()
            cls.munge.wait()

    def setUp(self):
        super().setUp()
        self.folder = os.path.join(os.path.dirname(self.write("empty", "")), "slurm")
        for name in ("state", "spool"):
            os.makedirs(os.path.join(self.folder, name))
        self.conf = os.path.join(self.folder, "slurm.conf")
        with open(self.conf, "w", encoding="utf-8") as file:
            file.write(CONFIGURATION.format(host=socket.gethostname(), folder=self.folder))
        self.environment = {**os.environ, "SLURM_CONF": self.conf}
        self.environment["PATH"] += ":/usr/sbin:/sbin"
        os.environ["SLURM_CONF"] = self.conf
        self.addCleanup(os.environ.pop, "SLURM_CONF")
        self.addCleanup(self.take_down)
        self.slurm("slurmctld", "-f", self.conf)
        for node in ("n1", "n2"):
            self.slurm("slurmd", "-f", self.conf, "-N", node)
        self.wait_for(lambda: self.slurm("sinfo", "-h", "-o", "%D %t").split() == ["2", "idle"])

    def slurm(self, *words):
        return subprocess.run(
            words, env=self.environment, stdout=subprocess.PIPE, check=True, text=True
        ).stdout

    def wait_for(self, holds, seconds=60):
        until = time.monotonic() + seconds
        while not holds():
            self.assertLess(time.monotonic(), until)
            time.sleep(0.2)

    def pid(self, name):
        with open(os.path.join(self.folder, name + ".pid"), encoding="utf-8") as file:
            return int(file.read())

    def take_down(self):
        subprocess.run(["scancel", "--user=root"], env=self.environment, check=False)
        for name in ("n1", "n2", "ctld"):
            try:
                os.kill(self.pid(name), signal.SIGTERM)
            except (OSError, ValueError):
                pass
        time.sleep(1)  # their ports are free again

    def sweep(self, *words):
        return subprocess.Popen(
            [sys.executable, os.path.join(ROOT, "scripts/sweep"), *words],
            env=self.environment,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
        )

    def table(self, out):
        text = subprocess.run(
            [sys.executable, os.path.join(ROOT, "scripts/sweep"), "table", out, "--digits=17"],
            env=self.environment,
            stdout=subprocess.PIPE,
            check=True,
            text=True,
        ).stdout
        rows = list(csv.DictReader(io.StringIO(text)))
        return [{k: v for k, v in row.items() if k not in WALL} for row in rows]

    def test_a_sweep_with_a_lost_node(self):
        here, there = os.path.join(self.folder, "here"), os.path.join(self.folder, "there")
        words = [*POINTS.split(), "--bytes=1MB"]
        sweep = self.sweep(*words, f"--out={there}", "--on=slurm")
        self.wait_for(lambda: self.slurm("squeue", "-h", "-t", "R", "-w", "n1"))
        time.sleep(4)
        # The node and all that runs there.
        task = self.slurm("squeue", "-h", "-t", "R", "-w", "n1", "-o", "%A").split()[0]
        found = subprocess.run(
            ["pgrep", "-f", rf"slurmstepd: \[{task}\."], stdout=subprocess.PIPE, text=True
        ).stdout.split()
        victims = [self.pid("n1")]
        while found:
            victims += map(int, found)
            found = subprocess.run(
                ["pgrep", "-P", ",".join(found)], stdout=subprocess.PIPE, text=True
            ).stdout.split()
        for victim in victims:
            try:
                os.kill(victim, signal.SIGKILL)
            except OSError:
                pass
        said = sweep.communicate(timeout=400)[1]
        self.assertEqual(sweep.returncode, 0, said)
        self.assertIn("n1", said)
        local = self.sweep(*words, f"--out={here}")
        local.communicate()
        rows = self.table(there)
        self.assertEqual(len(rows), 60)
        self.assertEqual(rows, self.table(here))

    def test_stopped_and_resumed(self):
        out = os.path.join(self.folder, "out")
        words = [*POINTS.split(), "--bytes=1MB", f"--out={out}", "--on=slurm"]
        sweep = self.sweep(*words)
        self.wait_for(lambda: os.path.exists(os.path.join(out, "slurm", "rc.2")))
        sweep.send_signal(signal.SIGINT)
        sweep.communicate(timeout=60)
        self.assertEqual(sweep.returncode, 130)
        self.assertEqual(self.slurm("squeue", "-h"), "")
        # Killed, it leaves jobs: the next one ends them first.
        sweep = self.sweep("resume", out, "--on=slurm")
        self.wait_for(lambda: os.path.exists(os.path.join(out, "slurm", "jobs")))
        sweep.kill()
        sweep.communicate()
        sweep = self.sweep("resume", out, "--on=slurm")
        said = sweep.communicate(timeout=300)[1]
        self.assertEqual(sweep.returncode, 0, said)
        self.assertEqual({row["status"] for row in self.table(out)}, {"done"})

    def test_a_verified_plan(self):
        line = "dlplan --model=gpt2 --gpus=8 --global-batch=32 --verify=5"
        local = self.run_program(line)
        there = self.run_program(f"{line} --on=slurm")
        self.assertEqual(there.text("plans.csv"), local.text("plans.csv"))
        bad = self.run_program(f"{line} --on=slurm --slurm-options=--partition=none", status=1)
        self.assertIn("invalid partition", bad.out + bad.err)

    def test_rates_of_a_service(self):
        line = (
            "dlserve --model=gpt2 --count=200 --prompt=256 --output=32 --servers=1"
            " --gpus-per-server=1 --slo=ttft:20ms,tpot:3ms --no-report"
        )
        for more in ("--sweep-rate=50..400:4", "--rate=100 --find-rate=90%"):
            here = self.run_program(f"{line} {more}")
            there = self.run_program(f"{line} {more} --on=slurm")
            self.assertEqual(here.text("serving_rates.csv"), there.text("serving_rates.csv"))
            self.assertEqual(here.stats["serving"], there.stats["serving"])
        self.refuse(f"{line} --rate=100 --on=slurm", "--on", "--find-rate")

    def test_bad_input(self):
        out = os.path.join(self.folder, "out")
        sweep = self.sweep("traffic", f"--out={out}", "--on=slurm", "--slurm-options=-p none")
        said = sweep.communicate(timeout=60)[1]
        self.assertEqual(sweep.returncode, 2, said)
        self.assertIn("invalid partition", said)


if __name__ == "__main__":
    main()
