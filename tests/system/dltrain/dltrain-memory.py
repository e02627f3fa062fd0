# SPDX-License-Identifier: GPL-2.0-only
# ctest: TIMEOUT 300
"""Memory beyond the GPUs: ASTRA-sim's remote memory; tiers by links, at switches, on a network."""

import json
import os
import sys

sys.path.append(sys.path[0] + "/../shared")
from _system_test import SystemTest, main

QUIET = "--no-report --no-timeline"
# ASTRA-sim 2 (astra-sim/astra-sim@6c41279, analytical, built and run): 8 NPUs, each loads so many
# bytes, computes 100 us, stores as many; memory, GB/s, ns, bytes, and its time in ns.
ASTRA = [
    ("PER_NPU_MEMORY_EXPANSION", 100, 100, 1 << 20, 121170),
    ("PER_NPU_MEMORY_EXPANSION", 400, 2000, 1 << 26, 439544),
    ("MEMORY_POOL", 100, 100, 1 << 26, 10739008),
    ("MEMORY_POOL", 400, 2000, 1 << 20, 141589),
    ("PER_NODE_MEMORY_EXPANSION", 100, 100, 1 << 26, 5369504),
    ("PER_NODE_MEMORY_EXPANSION", 400, 2000, 1 << 20, 123105),
]
TIERS = [
    {"name": "host", "attached": "link", "rate": "100GBps", "latency": "1us"},
    {"name": "small", "rate": "100GBps", "capacity": "1MB"},
    {"name": "own", "per": "gpu", "rate": "50GBps", "latency": "1us"},
    {"name": "plain", "per": "cluster", "rate": "100GBps", "latency": "1us"},
    {
        "name": "pool",
        "per": "cluster",
        "attached": "switch",
        "reduces": True,
        "rate": "100GBps",
        "latency": "1us",
    },
    {"name": "far", "attached": "network"},
]


class Memory(SystemTest):
    def trace(self, name, size, npus=8):
        folder = os.path.join(os.path.dirname(self.write("empty", "")), name)
        os.makedirs(folder, exist_ok=True)
        for rank in range(npus):
            nodes = [
                {"Id": 0, "Name": "in", "NodeType": "MEM_LOAD_NODE", "tensor_size": size},
                {"Id": 1, "Name": "work", "NodeType": "COMP_NODE", "runtime": 100},
                {"Id": 2, "Name": "out", "NodeType": "MEM_STORE_NODE", "tensor_size": size},
            ]
            nodes[1]["data_deps"] = [0]
            nodes[2]["data_deps"] = [1]
            self.write(f"{name}/t.{rank}.json", json.dumps({"workload_graph": nodes}))
        return folder

    def remote(self, kind, rate, latency):
        memory = {"memory-type": kind, "remote-mem-latency": latency, "remote-mem-bw": rate}
        if "NODE" in kind:
            memory.update({"num-nodes": 2, "num-npus-per-node": 4})
        return self.write("remote.json", json.dumps(memory))

    def tiers(self, tiers=TIERS):
        return self.write("tiers.json", json.dumps({"tiers": tiers}))

    def calls(self, run):
        """(kind, begin, end, bytes, name) of loads and stores."""
        calls = []
        for line in run.text("calls.log").splitlines():
            word = line.split("\t")
            if len(word) > 7 and word[4] in ("load", "store"):
                calls.append((word[4], float(word[0]), float(word[1]), int(word[7]), word[6]))
        return calls

    def gpt2(self, place, more=""):
        return self.run_program(
            f"dltrain --model=gpt2 --seq=64 --servers=2 --gpus-per-server=4 --zero=1 {QUIET}"
            f" --memory={self.tiers()} --place={place} --steps=1 --warmup=0 {more}"
        )

    def test_astra_sims_times(self):
        for number, (kind, rate, latency, size, ns) in enumerate(ASTRA):
            # Ranks of a device in one server, in several, and on ns-3's engine.
            gpus = ("8", "2 --engine=ns3", "4")[number % 3]
            run = self.run_program(
                f"dltrain --trace={self.trace(f't{number}', size)} --steps=1 --warmup=0 {QUIET}"
                f" --remote-memory={self.remote(kind, rate, latency)} --gpus-per-server={gpus}"
            )
            self.assertWithin(run.stats["step_time_us"] * 1e3, ns, 0.001, kind)
            tier = run.stats["memory_tiers"][0]
            self.assertEqual((tier["loaded_bytes"], tier["stored_bytes"]), (8 * size, 8 * size))

    def test_a_trace_comes_back(self):
        memory = self.remote("MEMORY_POOL", 100, 100)
        line = f"--steps=1 --warmup=0 {QUIET} --remote-memory={memory}"
        trace = self.trace("t", 1 << 20)
        first = self.run_program(f"dltrain --trace={trace} {line} --export=chakra")
        again = self.run_program(f"dltrain --trace={first.path('chakra')} {line}")
        self.assertEqual(again.stats["step_time_us"], first.stats["step_time_us"])
        # Without a memory they take what the GPU needs for so many bytes.
        plain = self.run_program(f"dltrain --trace={trace} --steps=1 --warmup=0")
        self.assertNotEqual(plain.stats["step_time_us"], first.stats["step_time_us"])

    def test_a_device_serves_one_after_another(self):
        run = self.gpt2("optimizer:host")
        loads = sorted(c for c in self.calls(run) if c[0] == "load")
        # 4 GPUs of each server: every access has the device for 1 us and its bytes at 100 GB/s.
        ends = sorted(c[2] for c in loads)
        each = 1 + loads[0][3] / 100e3
        for i in range(2, len(ends)):
            self.assertAlmostEqual(ends[i] - ends[i - 2], each, 3)
        # GPUs with devices of their own do not wait for each other.
        own = self.gpt2("optimizer:own")
        for kind, begin, end, size, _ in self.calls(own):
            self.assertAlmostEqual(end - begin, 1 + size / 50e3, 3, kind)

    def test_a_switch_gathers_and_adds_up(self):
        plain = self.gpt2("parameters:plain,gradients:plain")
        pool = self.gpt2("parameters:pool,gradients:pool")
        load = "load parameters forward block 3"

        def took(run):
            calls = [c for c in self.calls(run) if c[4] == load]
            self.assertEqual(len(calls), 8)
            return calls

        # All 8 ranks at once, in the time of one.
        gathered = took(pool)
        self.assertEqual(len({c[2] for c in gathered}), 1)
        size = gathered[0][3]
        alone = 1 + size / 100e3
        first = [c for c in self.calls(pool) if c[4] == "load parameters forward embedding"]
        self.assertAlmostEqual(first[0][2] - first[0][1], 1 + first[0][3] / 100e3, 3)
        # One after another: 8 times that between the first and the last, less one.
        ends = sorted(c[2] for c in took(plain))
        self.assertGreater(ends[-1] - ends[0], 0.99 * 7 * alone)
        # Data parallelism sends nothing itself.
        self.assertEqual(len(pool.rows("flows.csv")), 0)
        self.assertGreater(len(plain.rows("flows.csv")), 0)

    def test_what_all_update_is_loaded_once(self):
        # Every rank updates all parameters: gradients added up on their way, then loaded together,
        # and states loaded and stored together: 4, 12 and 12 bytes of each of 124,439,808.
        for place, size in (("gradients", 2 * 2), ("optimizer", 2 * 12)):
            run = self.run_program(
                "dltrain --model=gpt2 --seq=32 --micro-batch=1 --servers=3 --gpus-per-server=1"
                f" --zero=0 --memory={self.tiers()} --place={place}:pool --memory-rate=pool=1GBps"
                f" --steps=1 --warmup=0 {QUIET}"
            )
            least = 124439808 * size / 1e9 * 1e6
            self.assertGreater(run.stats["step_time_us"], least)
            self.assertLess(run.stats["step_time_us"], 1.03 * least + 40e3, place)  # computing

    def test_readers_of_one_memory_server(self):
        for readers in (2, 5, 8):
            run = self.run_program(
                f"dltrain --model=gpt2 --seq=64 --servers={readers + 1} --gpus={readers}"
                " --gpus-per-server=1 --nics-per-server=1 --topology=single-switch --fabric=ib"
                f" --nic=EDR --zero=1 --steps=1 --warmup=0 {QUIET} --memory={self.tiers()}"
                " --place=parameters:far --memory-servers=1 --prefetch-layers=100"
            )
            loads = [c for c in self.calls(run) if " forward " in c[4]]
            took = max(c[2] for c in loads) - min(c[1] for c in loads)
            self.assertWithin(took, sum(c[3] for c in loads) / 12.5e3, 0.02)

    def test_collectives_and_loads_share_ports(self):
        def step(more):
            return self.run_program(
                "dltrain --model=gpt2 --seq=64 --servers=5 --gpus=4 --gpus-per-server=1"
                " --nics-per-server=1 --topology=single-switch --zero=0 --steps=1 --warmup=0"
                f" {QUIET} {more}"
            ).stats

        alone = step("")
        far = f"--memory={self.tiers()} --place=activations:far --memory-servers=1"
        both = step(far)
        self.assertGreater(both["communication_time_us"], 1.05 * alone["communication_time_us"])
        self.assertGreater(both["memory_time_us"], 0)

    def test_prefetching(self):
        times = [
            self.gpt2("parameters:own", f"--prefetch-layers={k}").stats["step_time_us"]
            for k in (0, 1, 3)
        ]
        self.assertGreater(times[0], times[1])
        self.assertGreaterEqual(times[1], times[2])
        # What is loaded does not depend on when.
        self.assertGreater(
            self.gpt2("parameters:own", "--prefetch-layers=0").stats["memory_time_us"], 0
        )

    def test_a_sweep(self):
        run = self.run_program(
            f"dltrain --model=gpt2 --seq=64 --servers=1 --gpus-per-server=2 --zero=1 {QUIET}"
            f" --memory={self.tiers()} --place=optimizer:host --steps=1 --warmup=0"
            " --memory-sweep=host:25GBps..100GBps"
        )
        rows = run.rows("study.csv")
        self.assertEqual(len(rows), 3)
        self.assertEqual(len({row["step_us"] for row in rows}), 3)

    def test_bad_input(self):
        line = "dltrain --model=gpt2 --servers=1"
        tiers = f"--memory={self.tiers()}"
        for more, words in [
            (f"{tiers} --place=optimiser:host", ("optimiser", "optimizer")),
            (f"{tiers} --place=optimizer:hots", ("hots", "host")),
            (f"{tiers} --place=experts:host", ("experts", "none")),
            (f"{tiers} --place=optimizer:small", ("too much", "optimizer", "small")),
            (f"{tiers} --place=optimizer:far", ("--memory-servers",)),
            (f"{tiers} --place=optimizer:host --memory-servers=1", ("--memory-servers=1",)),
            (f"{tiers} --place=optimizer:host --offload", ("--offload",)),
            (f"{tiers} --place=optimizer:host --mpi-ranks=2", ("one process",)),
            (f"{tiers} --place=parameters:pool --zero=3", ("--zero=0 to 2",)),
            (f"{tiers} --place=optimizer:host --memory-rate=host=fast", ("host=fast",)),
            (f"{tiers} --place=optimizer:host --memory-sweep=host:4..2", ("TIER:FROM..TO",)),
            (f"{tiers} --place=optimizer:host --memory-sweep=own:1Gbps..2Gbps", ("own", "--place")),
            (f"{tiers} --place=optimizer:host --memory-rate=own=1Gbps", ("own", "--place")),
            (f"{tiers} --place=optimizer:host --prefetch-layers=2", ("--prefetch-layers=2",)),
            (
                f"{tiers} --place=optimizer:host --memory-rate=host=1Gbps,host=2Gbps",
                ("two rates of host",),
            ),
            (
                f"{tiers} --place=optimizer:host --study=in-flight"
                " --memory-sweep=host:1Gbps..2Gbps",
                ("--memory-sweep", "--study"),
            ),
            (tiers, ("--memory", "--place")),
            ("--place=optimizer:host", ("--place", "--memory")),
            ("--remote-memory=x.json", ("--trace",)),
        ]:
            self.refuse(f"{line} {more}", *words)
        for tier, words in [
            ({"name": "a"}, ("/tiers/0/rate", "missing")),
            ({"name": "a", "rate": "1Gbps", "attached": "cable"}, ("cable", "network")),
            ({"name": "a", "rate": "1Gbps", "reduces": True}, ("reduces", "switch")),
            ({"name": "a", "rate": "1Gbps", "attached": "network"}, ("rate", "NICs")),
            ({"name": "a", "rate": "1Gbps", "speed": 1}, ("speed",)),
        ]:
            bad = f"--memory={self.tiers([tier])} --place=optimizer:a"
            self.refuse(f"{line} {bad}", *words)
        none = self.write("none.json", '{"memory-type": "NO_MEMORY_EXPANSION"}')
        self.refuse(
            f"dltrain --trace={self.trace('n', 8)} --remote-memory={none}", "in", "memory-type"
        )
        for text in ("[]", "5", "null"):
            none = self.write("none.json", text)
            self.refuse(
                f"dltrain --trace={self.trace('n', 8)} --remote-memory={none}", "none.json"
            )
        plan = "dlplan --model=gpt2 --gpus=8 --global-batch=8"
        self.refuse(f"{plan} {tiers} --place=optimizer:host", "--memory")


if __name__ == "__main__":
    main()
