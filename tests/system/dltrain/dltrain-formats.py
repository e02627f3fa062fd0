# SPDX-License-Identifier: GPL-2.0-only
"""dltrain --trace and --export: a step that is written and read takes the same time."""

import json
import os
import sys

sys.path.append(sys.path[0] + "/../shared")
from _system_test import SystemTest, main

QUIET = "--report=0 --timeline=0 --network=analytic"
JOBS = [
    "--model=gpt2 --gpus=8",
    "--model=gpt2 --gpus=6 --gpus-per-server=2 --zero=3",
    "--model=gpt2 --gpus=16 --pp=4 --accumulation=4",
    "--model=gpt2 --servers=3 --gpus-per-server=1 --zero=1",
]


class Formats(SystemTest):
    def test_chakra_and_back(self):
        for job in JOBS:
            with self.subTest(job):
                run = self.run_program(f"dltrain {job} {QUIET} --export=chakra,chakra-json")
                stats = run.stats
                cluster = (
                    f"--gpus={stats['gpus']}"
                    f" --gpus-per-server={stats['configuration']['cluster']['gpus_per_server']}"
                )
                for folder in ("chakra", "chakra-json"):
                    back = self.run_program(
                        f"dltrain --trace={run.path(folder)} {cluster} {QUIET}"
                    ).stats
                    self.assertWithin(back["step_time_us"], stats["step_time_us"], 1e-6)
                    self.assertWithin(back["compute_time_us"], stats["compute_time_us"], 1e-6)
                    self.assertEqual(back["trace"]["ranks"], stats["gpus"])
                    for op, sent in stats["bytes_sent_per_gpu"].items():
                        self.assertWithin(back["bytes_sent_per_gpu"][op], sent, 1e-6)

    def test_goal_and_back(self):
        # Without a library's times, messages of a ring take what its collective takes: the last of
        # a step that nobody waits for may differ, as a send has ended when it is there.
        for job in JOBS:
            with self.subTest(job):
                options = f"{QUIET} --library=none --algorithm=ring"
                run = self.run_program(f"dltrain {job} {options} --export=goal")
                stats = run.stats
                cluster = (
                    f"--gpus={stats['gpus']}"
                    f" --gpus-per-server={stats['configuration']['cluster']['gpus_per_server']}"
                )
                back = self.run_program(
                    f"dltrain --trace={run.path('trace.goal')} {cluster} {QUIET} --library=none"
                ).stats
                self.assertWithin(back["step_time_us"], stats["step_time_us"], 0.02)
                sent = sum(stats["bytes_sent_per_gpu"].values())
                self.assertWithin(back["bytes_sent_per_gpu"]["send"], sent, 1e-6)

    def test_files_are_all_there(self):
        run = self.run_program(
            f"dltrain --model=gpt2 --gpus=8 {QUIET} --warmup=0 --export=chakra,goal"
        )
        self.assertEqual(
            sorted(os.listdir(run.path("chakra"))),
            ["comm_groups.json"] + [f"trace.{rank}.et" for rank in range(8)],
        )
        groups = json.loads(run.text("chakra/comm_groups.json"))
        self.assertIn(list(range(8)), groups.values())
        self.assertTrue(run.text("trace.goal").startswith("num_ranks 8\n"))

    def test_engines_and_processes_agree(self):
        run = self.run_program(f"dltrain --model=gpt2 --gpus=16 {QUIET} --export=goal --warmup=0")
        plain = "dltrain --trace=" + run.path("trace.goal") + " --warmup=0 --report=0 --timeline=0"
        first = self.run_program(plain)
        for options in ("--engine=ns3", "--threads=2"):
            other = self.run_program(f"{plain} {options}")
            self.assertEqual(other.stats["step_time_us"], first.stats["step_time_us"])
            self.assertEqual(other.text("calls.log"), first.text("calls.log"))

    def test_layers(self):
        # Two layers on 4 GPUs in 2 servers: computing is what the text has, 1 + 2 forward, 4 + 5
        # of weights, 3 of inputs: 15 ms; an all-reduce of n ranks sends 2 (n - 1)/n of its bytes.
        text = (
            "{}\n2\na -1 1000000 NONE 0 0 NONE 0 4000000 ALLREDUCE 1000000 0\n"
            "b -1 2000000 NONE 0 3000000 NONE 0 5000000 ALLREDUCE 3000000 0\n"
        )
        for policy, ranks in (
            ("DATA", 4),
            ("HYBRID_DATA_MODEL", 2),
            ("HYBRID_TRANSFORMER_FWD_IN_BCKWD model_parallel_NPU_group: 1 all_gpus: 4", 4),
        ):
            with self.subTest(policy):
                path = self.write("layers.txt", text.format(policy))
                stats = self.run_program(
                    f"dltrain --trace={path} --gpus=4 --gpus-per-server=2 {QUIET}"
                ).stats
                self.assertWithin(stats["compute_time_us"], 15000, 1e-9)
                self.assertEqual(stats["trace"]["ranks"], 4)
                sent = stats["bytes_sent_per_gpu"]["all_reduce"]
                self.assertWithin(sent, 4e6 * 2 * (ranks - 1) / ranks, 1e-4)
        self.refuse(f"dltrain --trace={path.replace('layers', 'none')}", "cannot be read")
        path = self.write("layers.txt", text.format("DATA"))
        self.refuse(f"dltrain --trace={path}", "--trace", "give --gpus=N")

    def test_matrices_of_htsim(self):
        # 1 -> 2 begins when 0 -> 1 is there.
        path = self.write(
            "a.cm",
            "Nodes 3\nConnections 2\nTriggers 1\n0->1 id 1 start 5000000 size 1000000 "
            "recv_done_trigger 1\n1->2 id 2 trigger 1 size 1000000\ntrigger id 1 oneshot\n",
        )
        run = self.run_program(f"dltrain --trace={path} --gpus-per-server=1 {QUIET} --warmup=0")
        self.assertGreater(run.stats["step_time_us"], 5 + 2 * 1e6 * 8 / 100e3)
        self.assertEqual(run.stats["bytes_sent_per_gpu"]["send"] * 3, 2e6)
        self.refuse(f"traffic --hosts=4 --flows={path}", "a.cm:5", "dltrain --trace")

    def test_messages_of_a_connection(self):
        # Whole packets: three messages of 30 packets leave as one of 90 does, on one queue pair.
        head = "Nodes 2\nConnections {}\nTriggers 0\n"
        line = "0->1 id 1 msg start 0 size {}\n"
        parts = self.write("parts.cm", head.format(3) + 3 * line.format(30000))
        whole = self.write("whole.cm", head.format(1) + line.format(90000))
        options = "traffic --hosts=2 --topology=single-switch --payload=1000 --cc=none"
        options += " --no-extension-headers --report=0 --flows="
        ends = {}
        for path in (parts, whole):
            rows = self.run_program(options + path).rows("flows.csv")
            ends[path] = sorted(float(row["end_us"]) for row in rows)
        first, second, third = ends[parts]
        self.assertAlmostEqual(second - first, third - second, 6)
        self.assertGreater(second - first, 30000 * 8 / 100e3)
        self.assertEqual(third, ends[whole][0])
        for more, name in (
            ("--operation=read", "operation"),
            ("--protocol=udp", "protocol"),
            ("--queue-pairs=reused", "queue-pairs"),
        ):
            self.refuse(f"{options}{parts} {more}", f"--{name}", "(msg)")

    def test_topology_files(self):
        # htsim's fat-tree of two tiers is a leaf-spine, with its times.
        tiers = self.write(
            "a.topo",
            "Nodes 16\nTiers 2\nPodsize 16\n\nTier 0\nDownlink_speed_Gbps 100\nRadix_Down 4\n"
            "Radix_Up 2\nDownlink_Latency_ns 500\n\nTier 1\nDownlink_speed_Gbps 200\n"
            "Radix_Down 4\nDownlink_Latency_ns 500\n",
        )
        runs = [
            self.run_program(
                f"traffic --pattern=permutation --bytes=100kB --report=0 --seed=4 {network}"
            )
            for network in (
                f"--topology={tiers}",
                "--topology=leaf-spine --hosts=16 --leaves=4 --spines=2 --hosts-per-leaf=4"
                " --fabric-rate=200Gbps --link-delay=500ns",
            )
        ]
        self.assertEqual(runs[0].text("flows.csv"), runs[1].text("flows.csv"))
        # What the file says of switches, unless the option does.
        slow = self.write("b.topo", open(tiers).read() + "Switch_Latency_ns 0\n")
        for option, expected in (("", "0ns"), ("--switch-latency=300ns", "300ns")):
            stats = self.run_program(
                f"traffic --topology={slow} --bytes=9kB --report=0 {option}"
            ).stats
            self.assertEqual(stats["configuration"]["fabric"]["switch_latency"], expected)

        # SimAI's: two servers of four H100, a rail for each GPU, one spine.
        links = [(gpu, 8 + gpu // 4, 3600, 25) for gpu in range(8)]
        links += [(gpu, 10 + gpu % 4, 400, 500) for gpu in range(8)]
        links += [(rail, 14, 1600, 500) for rail in range(10, 14)]
        servers = self.write(
            "servers.txt",
            "15 4 2 5 20 H100\n8 9 10 11 12 13 14\n"
            + "".join("%d %d %dGbps %dns 0\n" % link for link in links),
        )
        job = "collperf --op=all_reduce --algorithm=ring -b 256M -e 256M -n 1 -w 0 --report=0"
        run = self.run_program(f"{job} --topology={servers}")
        cluster = run.stats["configuration"]["cluster"]
        self.assertEqual((cluster["servers"], cluster["gpus_per_server"]), (2, 4))
        self.assertEqual(cluster["nics_per_server"], 4)
        # 400 Gb/s less what headers of 4 KiB packets take is 49 GB/s.
        busbw = float(run.rows("collectives.csv")[0]["busbw_GBps"])
        self.assertLess(busbw, 4 * 49)
        self.assertGreater(busbw, 0.8 * 4 * 49)
        # Run again from its configuration, it is the same; and another server may stand there.
        again = self.write("again.json", json.dumps(run.stats["configuration"]))
        self.assertEqual(
            self.run_program(f"collperf --scenario={again}").text("collectives.csv"),
            run.text("collectives.csv"),
        )
        line = f"{job} --topology={servers} --server=dgx-a100 --nics-per-server=4"
        other = self.run_program(line)
        self.assertEqual(other.stats["collectives"][0]["ranks"], 16)

    def test_traces_of_the_profiler(self):
        def trace(rank):
            launch = {"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "dur": 1}
            kernel = {"ph": "X", "cat": "kernel"}
            nccl = {
                "Collective name": "allreduce",
                "In msg nelems": 250000,
                "Out msg nelems": 250000,
                "dtype": "Float",
                "Process Group Name": "0",
                "Process Group Ranks": "[0, 1]",
            }
            return {
                "schemaVersion": 1,
                "distributedInfo": {"rank": rank, "world_size": 2},
                "traceEvents": [
                    dict(launch, ts=10, args={"correlation": 1}),
                    dict(kernel, ts=20, dur=700, name="k", args={"correlation": 1, "stream": 7}),
                    dict(launch, ts=12, args={"correlation": 2}),
                    dict(
                        kernel,
                        ts=721,
                        dur=99,
                        name="ncclDevKernel_AllReduce",
                        args=dict(nccl, correlation=2, stream=20),
                    ),
                ],
            }

        folder = os.path.join(self.folder, "profile")
        os.mkdir(folder)
        for rank in range(2):
            self.write(f"profile/rank{rank}.pt.trace.json", trace(rank))
        stats = self.run_program(f"dltrain --trace={folder} --gpus-per-server=1 {QUIET}").stats
        self.assertWithin(stats["compute_time_us"], 700, 1e-9)
        self.assertEqual(stats["bytes_sent_per_gpu"]["all_reduce"], 1e6)
        self.assertGreater(stats["step_time_us"], 700 + 1e6 * 8 / 100e3)
        os.remove(os.path.join(folder, "rank1.pt.trace.json"))
        self.refuse(
            f"dltrain --trace={folder}",
            "there is no trace of rank 1",
            "--trace-ranks=0 for that rank alone",
            "--replicate=2",
        )
        # Rank 0 alone takes what was recorded: its all-reduce, too.
        alone = self.run_program(f"dltrain --trace={folder} --trace-ranks=0 {QUIET}")
        self.assertEqual(alone.stats["gpus"], 1)
        self.assertGreater(alone.stats["step_time_us"], 799 - 1e-6)
        self.assertLess(alone.stats["step_time_us"], 830)
        # Its work for 4 ranks: two groups of two, as with both traces.
        four = self.run_program(
            f"dltrain --trace={folder} --replicate=4 --gpus-per-server=1 {QUIET}"
        ).stats
        self.assertEqual(four["trace"]["ranks"], 4)
        self.assertWithin(four["step_time_us"], stats["step_time_us"], 0.05)
        self.assertEqual(four["bytes_sent_per_gpu"]["all_reduce"], 1e6)
        self.refuse(f"dltrain --trace={folder} --replicate=3", "--replicate=3", "does not fill 3")
        self.refuse(f"dltrain --trace={folder} --trace-ranks=1", "--trace-ranks", "allowed: 0")
        self.refuse("dltrain --model=gpt2 --trace-ranks=0", "--trace-ranks", "--trace")
        goal = self.write("one.goal", "num_ranks 1\nrank 0 {\ncalc 5\n}\n")
        self.refuse(f"dltrain --trace={goal} --replicate=4", "--replicate", "PyTorch's profiler")

    def test_a_trace_is_not_written_over(self):
        run = self.run_program(f"dltrain --model=gpt2 --gpus=2 {QUIET} --export=goal --warmup=0")
        out = os.path.dirname(run.path("trace.goal"))
        self.refuse(
            f"dltrain --trace={run.path('trace.goal')} --export=goal --out={out}",
            "--export=goal",
            "would write over",
        )

    def test_bad_input(self):
        bad = self.write("bad.goal", "num_ranks 1\nrank 0 {\ncalc x\n}\n")
        self.refuse(f"dltrain --trace={bad}", "bad.goal:3", '"x"')
        good = self.write("good.goal", "num_ranks 1\nrank 0 {\ncalc 5\n}\n")
        self.refuse(f"dltrain --trace={good} --model=gpt2", "cannot be combined with --trace")
        self.refuse("dltrain --trace=/none", "/none", "cannot be read")
        self.refuse("dltrain --export=svg", "chakra, chakra-json, goal")


if __name__ == "__main__":
    main()
