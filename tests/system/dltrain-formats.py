# SPDX-License-Identifier: GPL-2.0-only
"""dltrain --trace and --export: a step that is written and read takes the same time."""

import json
import os

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

    def test_bad_input(self):
        bad = self.write("bad.goal", "num_ranks 1\nrank 0 {\ncalc x\n}\n")
        self.refuse(f"dltrain --trace={bad}", "bad.goal:3", '"x"')
        good = self.write("good.goal", "num_ranks 1\nrank 0 {\ncalc 5\n}\n")
        self.refuse(f"dltrain --trace={good} --model=gpt2", "no meaning with --trace")
        self.refuse("dltrain --trace=/none", "/none", "cannot be read")
        self.refuse("dltrain --export=svg", "chakra, chakra-json, goal")


if __name__ == "__main__":
    main()
