#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
"""A run is repeated from `configuration` in its stats.json: every file has the same bytes.

Random options of all programs. Combinations that a program refuses are drawn anew.
"""

import json
import os
import random
import subprocess
import sys

sys.path.append(sys.path[0] + "/../shared")
from _system_test import SystemTest, long_test, main, share_of

QUIET = ["--progress=0"]
CASES = 40  # seeds of each program

NETWORKS = [
    "--topology=single-switch",
    "--topology=fat-tree",
    "--topology=fat-tree --k=4",
    "--topology=fat-tree --oversubscription=2",
    "--topology=leaf-spine",
    "--topology=leaf-spine --hosts-per-leaf=2 --oversubscription=2",
    "--topology=leaf-spine --spines=3",
    "--topology=rail-optimized",
    "--topology=dragonfly",
    "--topology=dragonfly --groups=3",
    "--topology=dragonfly-plus --groups=3",
    "--topology=dragonfly-plus --leaves=2",
    "--topology=torus",
    "--topology=torus --torus=2x3",
    "--topology=hyperx",
    "--topology=slim-fly",
    "--topology=xgft",
    "--topology=mesh",
    "--planes=2",
    "",
]
FABRICS = [
    "",
    "",
    "",
    "--fabric=ib",
    "--fabric=ib --cc=ib-cc",
    "--fabric=ib --adaptive-routing --loss-recovery=out-of-order",
    "--cc=hpcc",
    "--cc=swift --ack-every=1",
    "--cc=timely",
    "--cc=dctcp --no-pfc",
    "--cc=none --ecn-kmin=40kB",
    "--transport=eqds",
    "--transport=uet",
    "--transport=ndp",
    "--load-balancing=packet-spray --loss-recovery=out-of-order",
    "--load-balancing=flowlet",
    "--load-balancing=drill --loss-recovery=selective-repeat",
    "--ecmp-resilient",
    "--set=*:switch-latency=700ns --set=tier-1:ecn-kmin=60kB --hash-seed=5",
    "--bit-error-rate=1e-7",
    "--network=analytic",
    "--network=fluid",
    "--compat=hpcc",
    "--payload=1000 --no-extension-headers",
    "--mtu=1024 --window=64kB",
    "--nic=100GbE --fabric-rate=200Gbps",
    "--nic=400GbE",
    "--ns3::RdmaSwitch::PipelineLatency=300ns",
]
RUNS = [
    "",
    "",
    "--seed=7",
    "--timeline=0",
    "--attribution=0",
    "--engine=ns3",
    "--threads=2",
    "--trace-qps=all",
    "--trace-paths=all",
    "--pcap=all",
    "--fault=link-down,on=all,at=3us,for=2us",
]
WORK = {
    "traffic": [
        "--hosts=4 --bytes=20kB",
        "--hosts=6 --bytes=1kB --pattern=incast --fan-in=3",
        "--hosts=5 --bytes=[1kB,30kB] --pattern=permutation --starts=2us",
        "--hosts=4 --bytes=8kB --operation=read",
        "--hosts=4 --pattern=poisson --sizes=fb-hadoop --load=0.3 --duration=100us",
        "--hosts=4 --pattern=on-off --sizes=websearch --load=0.3 --duration=60us --warmup=10us",
        "--bytes=3kB --pattern=all-to-all --hosts=4 --queue-pairs=per-pair",
        "--bytes=40kB --protocol=udp --hosts=4",
        "--bytes=40kB --protocol=tcp --hosts=4",
        "--bytes=5kB --stop-after=40us --hosts=4",
    ],
    "collperf": [
        "--ranks=4 -b 1K -e 4K",
        "--ranks=6 --gpus-per-server=2 -b 64K -e 64K --op=alltoall",
        "--servers=2 -g 2 -b 8K -e 8K --algorithm=ring --channels=2",
        "--ranks=4 -b 32K -e 32K --op=all_gather --protocol=ll",
        "--ranks=5 -b 1K -e 1K --op=broadcast --root=2 --library=none",
        "--servers=2 --server=dgx-h100 -b 1M -e 1M",
        "--ranks=4 -b 16K -e 16K --compare=ring,tree",
        "--ranks=4 -b 16K -e 16K -n 2 -w 1 --placement=random",
        "--ranks=4 -b 64K -e 64K --background=permutation",
    ],
    "dltrain": [
        "--servers=2 --gpus-per-server=1",
        "--gpus=4 --gpus-per-server=2 --zero=2 --warmup=1",
        "--servers=2 --gpus-per-server=2 --tp=2 --accumulation=2",
        "--servers=3 --gpus-per-server=1 --pp=3 --micro-batch=1",
        "--servers=2 --gpus-per-server=1 --export=goal,chakra-json",
        "--servers=2 --gpus-per-server=2 --bucket=200kB --no-overlap",
        "--servers=3 --gpus-per-server=1 --strategy=downpour --steps=2",
        "--servers=2 --gpus-per-server=1 --jitter=0.1 --slow-gpu=0:1.5",
        "--servers=2 --gpus-per-server=1 --background=permutation",
        "--servers=2 --gpus-per-server=1 --recovery=restart --checkpoint-every=1 --steps=2",
    ],
}


class Replay(SystemTest):
    def setUp(self):
        super().setUp()
        layers = [{"name": f"layer-{i}", "parameters": 1 << 14, "flops": 1.0e7} for i in range(4)]
        self.model = self.write("tiny.json", {"name": "tiny", "sequence": 64, "layers": layers})

    def drawn(self, program, rng):
        """The words of a run that the program takes."""
        for _ in range(100):
            chosen = [rng.choice(WORK[program]), rng.choice(NETWORKS), rng.choice(FABRICS)]
            chosen += [rng.choice(RUNS), *(["--report=0"] if rng.random() < 0.8 else [])]
            if program == "dltrain":
                chosen.append(f"--model={self.model}")
            words = " ".join([program, *chosen]).split()
            words = [word.replace("[", "").replace("]", "") for word in words] + QUIET
            command, _ = self.command([*words, "--dry-run"])
            if self.quietly(command) == 0:
                return words
        self.fail(f"{program}: nothing that it takes")

    def quietly(self, command):
        return self.captured(command).returncode

    def captured(self, command):
        return subprocess.run(
            command, cwd=self.folder, capture_output=True, text=True, check=False, timeout=120
        )

    def files(self, words):
        """(status, {name: bytes} of all that a run writes, but for the keys of stats.json that
        differ from run to run)"""
        command, out = self.command(words)
        done = self.captured(command)
        self.assertIn(done.returncode, (0, 3), f"{' '.join(command)}\n{done.stderr}")
        files = {}
        for folder, _, names in os.walk(out):
            for name in names:
                path = os.path.join(folder, name)
                with open(path, "rb") as file:
                    files[os.path.relpath(path, out)] = file.read()
        stats = json.loads(files["stats.json"])
        for key in stats["nondeterministic"]:
            stats.pop(key, None)
        files["stats.json"] = json.dumps(stats, indent=1)
        if "report.html" in files:
            files["report.html"] = "is there"  # has those keys, too
        return done.returncode, files, stats["configuration"]

    def check(self, words):
        status, first, configuration = self.files(words)
        replay = [words[0], "--scenario=" + self.write("again.json", configuration), *QUIET]
        again = self.files(replay)
        self.assertEqual(status, again[0])
        self.assertEqual(sorted(first), sorted(again[1]))
        self.assertEqual(configuration, again[2])
        for name, content in first.items():
            self.assertTrue(again[1][name] == content, f"{name} differs")

    def random_runs(self, program):
        for seed in share_of(range(CASES), one_in=10):
            words = self.drawn(program, random.Random(f"{program} {seed}"))
            with self.subTest(" ".join(words)):
                self.check(words)

    def test_traffic(self):
        self.random_runs("traffic")

    def test_collperf(self):
        self.random_runs("collperf")

    def test_dltrain(self):
        self.random_runs("dltrain")

    def test_what_was_not_the_same(self):
        """Choices that follow from others, and options about outputs."""
        for line in (
            "traffic --topology=dragonfly-plus --groups=3 --hosts=4 --bytes=3kB --report=0",
            "traffic --topology=leaf-spine --hosts=4 --bytes=3kB --timeline=0 --report=0",
            f"dltrain --servers=2 --gpus-per-server=1 --model={self.model} --export=goal"
            " --report=0 --timeline=0",
        ):
            with self.subTest(line):
                self.check(line.split() + QUIET)

    @long_test
    def test_several_processes(self):
        self.check("traffic --k=4 --bytes=9kB --mpi-ranks=2 --report=0 --progress=0".split())

    def test_a_changed_configuration(self):
        """A value that somebody changes counts, whether or not `given` names it."""
        line = "traffic --topology=leaf-spine --hosts=4 --bytes=3kB --report=0 --timeline=0"
        configuration = self.run_program(line).stats["configuration"]
        self.assertNotIn("seed", configuration["given"])
        self.assertNotIn("mtu", configuration["given"])
        changed = json.loads(json.dumps(configuration))
        changed["fabric"]["mtu"] = 1024
        run = self.run_program("traffic --scenario=" + self.write("changed.json", changed))
        self.assertEqual(run.stats["configuration"]["fabric"]["mtu"], 1024)
        self.assertEqual(run.stats["data_packets"], 4 * 3)
        wrong = {**configuration, "given": ["hotss"]}
        self.refuse(
            "traffic --scenario=" + self.write("wrong.json", wrong), "/given", "hosts", "hotss"
        )

    def test_options_on_top(self):
        """What follows from an option on top is derived anew: the same as without the file."""
        quiet = " --network=analytic --report=0 --timeline=0"
        first = self.run_program("dltrain --model=gpt2 --servers=2" + quiet)
        file = self.write("first.json", first.stats["configuration"])
        for more in ("--model=gpt2-medium --recipe=torchtitan", "--pp=2", "--global-batch=96"):
            with self.subTest(more):
                direct = self.run_program(
                    f"dltrain --model=gpt2 --servers=2 {quiet} {more}"
                    if "--model" not in more
                    else f"dltrain --servers=2 {quiet} {more}"
                )
                top = self.run_program(f"dltrain --scenario={file} {more}")
                self.assertEqual(top.stats["step_time_us"], direct.stats["step_time_us"])


if __name__ == "__main__":
    main()
