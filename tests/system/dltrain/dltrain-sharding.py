# SPDX-License-Identifier: GPL-2.0-only
# ctest: TIMEOUT 300
"""dltrain --auto-parallel: what is sent, what is written, what is found, and what is refused."""

import json
import os
import signal
import subprocess
import sys
import time
import xml.etree.ElementTree as ElementTree

sys.path.append(sys.path[0] + "/../shared")
from _system_test import ROOT, SystemTest, main, share_of

GRAPHS = os.path.join(ROOT, "scenarios", "graphs")
QUIET = "--no-report --no-timeline --no-attribution --no-progress --warmup=0"
FFN = f"dltrain --model={GRAPHS}/ffn.json --servers=1 {QUIET}"
DENSE = "--shard=dense=((2,1),(1,4))"


def strategies(run):
    return json.loads(run.text("sharding.json"))["strategies"]


class Results(SystemTest):
    def test_a_feed_forward_network_follows_from_one_strategy(self):
        run = self.run_program(
            f"{FFN} --auto-parallel=sharding_propagation {DENSE} --dtype=fp32 --explain-sharding"
        )
        self.assertEqual(
            strategies(run),
            {"dense": [[2, 1], [1, 4]], "relu": [[2, 4]], "dense2": [[2, 4], [4, 1]]},
        )
        # B/2 x H x 4 B: partial sums over 4 forward, the gradient of x backward; W and V / 4.
        sums = 1024 // 2 * 2048 * 4
        sharding = json.loads(run.text("sharding.json"))
        exchanged = [
            (e["when"], e["bytes"], e["group"])
            for operator in sharding["operators"]
            for e in operator["exchanges"]
        ]
        self.assertEqual(
            exchanged,
            [
                ("backward", sums, "4"),
                ("gradients", 2048 * 8192 * 4 // 4, "2x4"),
                ("forward", sums, "4"),
                ("gradients", 2048 * 8192 * 4 // 4, "2x4"),
            ],
        )
        self.assertEqual(sharding["groups"]["4"], [[0, 1, 2, 3], [4, 5, 6, 7]])
        self.assertEqual(sharding["groups"]["2x4"], [[0, 4], [1, 5], [2, 6], [3, 7]])
        self.assertFalse([e for edge in sharding["edges"] for e in edge["exchanges"]])
        # A ring's, or any bandwidth-optimal, all-reduce over n sends 2 (n - 1) / n of it; a pair
        # sends all. NVLink's switches may add up: no more than that.
        sent = run.stats["bytes_sent_per_gpu"]["all_reduce"]
        self.assertLessEqual(sent, 2 * sums * 2 * 3 / 4 + 2 * 2048 * 8192 * 4 / 4)
        self.assertGreater(sent, 0)
        for words in ("(a) Graph", "(b) Strategies", "(c) Costs of edges", "relu: from dense"):
            self.assertIn(words, run.out)
        root = ElementTree.fromstring(run.text("sharding.svg"))
        texts = [e.text for e in root.iter() if e.tag.endswith("text")]
        self.assertIn("((2,1),(1,4))", texts)

    def test_a_file_of_strategies_gives_the_same_run(self):
        first = self.run_program(f"{FFN} --auto-parallel=dynamic-programming")
        again = self.run_program(
            f"{FFN} --auto-parallel=semi --shard-file={first.path('sharding.json')}"
        )
        self.assertEqual(strategies(first), strategies(again))
        self.assertEqual(first.stats["step_time_us"], again.stats["step_time_us"])
        line = json.loads(first.text("sharding.json"))["shard"]
        typed = self.run_program(f"{FFN} --auto-parallel=semi --shard={line}")
        self.assertEqual(first.stats["step_time_us"], typed.stats["step_time_us"])

    def test_a_file_says_along_which_devices(self):
        """Of a matrix (2,2,2), 4 parts lie along any two dimensions: a second run has the same."""
        job = f"{FFN} --network=analytic --servers=2 --gpus-per-server=4"
        job = job.replace(" --servers=1", "")
        first = self.run_program(
            f"{job} --auto-parallel=dynamic-programming --device-matrix=2,2,2"
        )
        again = f"{job} --auto-parallel=semi --shard-file={first.path('sharding.json')}"
        run = self.run_program(again + " --device-matrix=2,2,2")
        self.assertEqual(first.stats["step_time_us"], run.stats["step_time_us"])
        axes = [
            [operator["axes"] for operator in json.loads(r.text("sharding.json"))["operators"]]
            for r in (first, run)
        ]
        self.assertEqual(*axes)
        for other in ("", " --device-matrix=2,4"):
            self.refuse(again + other, "was made with --device-matrix=2,2,2")

    def test_the_last_sums_are_waited_for(self):
        """Without a loss, backward begins with the output: dense2's sums are exposed, dense's run
        beside the gradient of w.
        """
        run = self.run_program(
            f"{FFN} --network=analytic --auto-parallel=semi"
            " --shard=dense=((1,1),(1,8));relu=((1,8));dense2=((1,8),(8,1))"
        )
        times = {row["name"]: row["time_us"] for row in run.rows("step_collectives.csv")}
        self.assertEqual(sorted(times), ["gradient of dense", "partial sums of dense2"])
        exposed = run.stats["exposed_communication_time_us"]
        self.assertGreaterEqual(exposed, 0.999 * times["partial sums of dense2"])
        self.assertLess(exposed, sum(times.values()))

    def test_mindspores_file_gives_the_same_run(self):
        first = self.run_program(f"{FFN} --auto-parallel=dynamic-programming --network=analytic")
        again = self.run_program(
            f"{FFN} --auto-parallel=semi --network=analytic"
            f" --shard-file={first.path('mindspore-strategy.json')}"
        )
        self.assertEqual(strategies(first), strategies(again))
        self.assertEqual(first.stats["step_time_us"], again.stats["step_time_us"])
        items = json.loads(first.text("mindspore-strategy.json"))["parallel_strategy_item"]
        for name, cuts in strategies(first).items():
            self.assertEqual(items[name], {"stage": 0, "parallel_strategy": cuts})
        for line in first.text("mindspore-shard.py").splitlines()[1:]:
            name, cuts = line.split(".shard(")
            self.assertEqual([list(c) for c in eval(cuts[:-1])], strategies(first)[name])

    def test_sums_that_are_wanted_cut_are_scattered(self):
        """dense2's sums over the 4 GPUs that cut its inner dimension go to rows cut in 8: each of
        the 4 keeps its rows. Half of an all-reduce's bytes: 3/4 of B/2 x H x 2 B.
        """
        graph = os.path.join(self.folder, "scatter.json")
        with open(graph, "w", encoding="utf-8") as file:
            json.dump(
                {
                    "name": "scatter",
                    "graph": [
                        ["x", "data", [1024, 2048]],
                        ["w", "parameter", [2048, 2048]],
                        ["m", "matmul", "x", "w"],
                        ["r", "relu", "m"],
                    ],
                },
                file,
            )
        sent = {}
        for rows, what in ((8, "reduce_scatter"), (2, "all_reduce")):
            run = self.run_program(
                f"dltrain --model={graph} --servers=1 {QUIET} --network=analytic --dtype=bf16"
                f" --auto-parallel=semi --shard=m=((2,4),(4,1));r=(({rows},1))"
            )
            sent[what] = run.stats["bytes_sent_per_gpu"]
        self.assertNotIn("reduce_scatter", sent["all_reduce"])
        self.assertWithin(
            sent["reduce_scatter"]["reduce_scatter"], 1024 / 2 * 2048 * 2 * 3 / 4, 0.01
        )

    def test_the_best_ones_are_run_and_the_fastest_is_taken(self):
        run = self.run_program(
            f"{FFN} --auto-parallel=dynamic-programming --shard-verify=3 --network=fluid"
        )
        ranked = json.loads(run.text("sharding.json"))["ranked"]
        self.assertEqual(len(ranked), 3)
        self.assertWithin(
            run.stats["step_time_us"] * 1e-6, min(r["step_s"] for r in ranked), 1e-9
        )
        self.assertEqual(run.out.count("taken"), 1)
        # Regret of the formula's order.
        self.assertLess(ranked[0]["step_s"] / min(r["step_s"] for r in ranked), 1.05)

    def test_interrupted_while_the_best_ones_are_run(self):
        """It says where their runs are, and these end with it."""
        words, out = self.command(
            f"{FFN} --auto-parallel=dynamic-programming --shard-verify=3 --steps=1000000"
        )
        process = subprocess.Popen(words, stderr=subprocess.PIPE, text=True, cwd=self.folder)
        begun = os.path.join(out, "shard-verify", "1.txt")
        end = time.monotonic() + 60
        while not os.path.exists(begun) and time.monotonic() < end:
            time.sleep(0.02)
        process.send_signal(signal.SIGHUP)
        _, errors = process.communicate(timeout=60)
        self.assertEqual(process.returncode, 129, errors)
        self.assertIn(f"runs of --shard-verify are in {out}/shard-verify", errors)
        self.assertNotIn("nothing was written", errors)
        left = subprocess.run(["pgrep", "-f", f"{out}/shard-verify"], stdout=subprocess.PIPE)
        self.assertEqual(left.stdout, b"", "it waits for its runs")

    def test_stages_are_searched(self):
        run = self.run_program(
            "dltrain --model=gpt2 --seq=256 --servers=2 --gpus-per-server=2 --nics-per-server=1"
            f" --nic=10GbE --micro-batch=1 --accumulation=4 {QUIET} --network=fluid"
            " --auto-parallel=dynamic-programming --pp=auto"
        )
        stages = json.loads(run.text("sharding.json"))["stages"]
        self.assertEqual(sum(stage["gpus"] for stage in stages), 4)
        self.assertGreater(len(stages), 1)
        # On such NICs no collective leaves its server.
        for stage in stages:
            self.assertLessEqual(stage["gpus"], 2)
            self.assertTrue(os.path.exists(run.path(f"sharding-{stages.index(stage)}.svg")))
        # Of a pipeline the step is longer than the search's, which knows no messages.
        formula = json.loads(run.text("sharding.json"))["step_by_formula_s"] * 1e6
        self.assertGreater(run.stats["step_time_us"], 0.95 * formula)
        self.assertLess(run.stats["step_time_us"], 2 * formula)
        again = self.run_program(
            "dltrain --model=gpt2 --seq=256 --servers=2 --gpus-per-server=2 --nics-per-server=1"
            f" --nic=10GbE --micro-batch=1 --accumulation=4 {QUIET} --network=fluid"
            " --auto-parallel=dynamic-programming"
        )
        self.assertLess(run.stats["step_time_us"], again.stats["step_time_us"])

    def test_modes(self):
        """The searches that are exact cost the least; each result runs."""
        for cost in ("simulator", "mindspore"):
            totals = {}
            for mode in share_of(
                ["exhaustive", "dynamic-programming", "sharding-propagation", "recursive", "semi"],
                one_in=2,
            ):
                run = self.run_program(
                    f"{FFN} --auto-parallel={mode} --shard-cost={cost} --network=analytic"
                )
                self.assertGreater(run.stats["step_time_us"], 0)
                totals[mode] = json.loads(run.text("sharding.json"))["total"]
            if cost == "mindspore":
                least = totals["exhaustive"]
                for mode, total in totals.items():
                    self.assertGreaterEqual(total, least * (1 - 1e-12), mode)

    def test_a_perceptron_on_two_gpus(self):
        """784-512-512-10, batches of 32 on two GPUs: 3.90 minutes become 2.57 when two layers are
        cut (published). perceptron-profile.json derives from them an overhead of 3.753 ms a step
        and 8.727 ms of computing on one GPU, which a GPU of that speed takes here.
        """
        graph = {
            "name": "perceptron",
            "graph": [
                ["x", "data", [32, 784]],
                ["w1", "parameter", [784, 512]],
                ["w2", "parameter", [512, 512]],
                ["w3", "parameter", [512, 10]],
                ["dense1", "matmul", "x", "w1"],
                ["relu1", "relu", "dense1"],
                ["dense2", "matmul", "relu1", "w2"],
                ["relu2", "relu", "dense2"],
                ["dense3", "matmul", "relu2", "w3"],
                ["loss", "loss", "dense3"],
            ],
        }
        gpu = {
            "name": "slow",
            "fp32_tflops": 0.01,
            "sustained_ratio": 1,
            "memory_bandwidth_GBps": 1e5,
            "memory_GB": 16,
            "launch_us": 0,
        }

        def step_on(gpus, mode):
            with open(os.path.join(self.folder, "g.json"), "w", encoding="utf-8") as file:
                json.dump(gpu, file)
            run = self.run_program(
                f"dltrain --model={self.folder}/p.json --gpu={self.folder}/g.json --dtype=fp32"
                f" --servers=1 --nics-per-server=1 --gpus-per-server={gpus} {QUIET}"
                f" --auto-parallel={mode}"
            )
            return run.stats["step_time_us"]

        with open(os.path.join(self.folder, "p.json"), "w", encoding="utf-8") as file:
            json.dump(graph, file)
        gpu["fp32_tflops"] *= step_on(1, "semi") / 8727
        steps = {
            "one": step_on(1, "semi"),
            "data parallel": step_on(2, "semi"),
            "found": step_on(2, "dynamic-programming"),
        }
        minutes = {name: 18750 * (3753 + step) * 1e-6 / 60 for name, step in steps.items()}
        self.assertLess(abs(minutes["one"] / 3.90 - 1), 0.02, minutes)
        self.assertLessEqual(minutes["found"], 2.57 * 1.02, minutes)
        self.assertLessEqual(steps["found"], steps["data parallel"] * 1.0001, minutes)

    def test_a_transformer_stays_in_its_servers(self):
        """On slow NICs the tensor cuts are those of a server's GPUs."""
        run = self.run_program(
            "dltrain --model=gpt2-medium --servers=2 --gpus-per-server=4 --nics-per-server=1"
            f" --nic=25GbE --micro-batch=2 --seq=512 --network=analytic {QUIET}"
            " --auto-parallel=dynamic-programming"
        )
        sharding = json.loads(run.text("sharding.json"))
        for operator in sharding["operators"]:
            for exchange in operator["exchanges"]:
                if exchange["when"] != "gradients":
                    for ranks in sharding["groups"][exchange["group"]]:
                        self.assertEqual(len({rank // 4 for rank in ranks}), 1, operator["name"])


class Mistakes(SystemTest):
    def test_each_is_one_error(self):
        on = "--auto-parallel=semi"
        norm = os.path.join(self.folder, "norm.json")
        with open(norm, "w", encoding="utf-8") as file:
            json.dump(
                {
                    "name": "norm",
                    "graph": [["x", "data", [64, 64]], ["n", "layernorm", "x"]],
                },
                file,
            )
        wrong = os.path.join(self.folder, "wrong.json")
        with open(wrong, "w", encoding="utf-8") as file:
            json.dump({"name": "w", "graph": [["x", "data", [4, 4]], ["m", "matmull", "x"]]}, file)
        shapes = os.path.join(self.folder, "shapes.json")
        with open(shapes, "w", encoding="utf-8") as file:
            json.dump(
                {
                    "name": "s",
                    "graph": [
                        ["x", "data", [4, 4]],
                        ["w", "parameter", [5, 4]],
                        ["m", "matmul", "x", "w"],
                    ],
                },
                file,
            )
        for options, says in (
            (f"{on} --shard=dense=((3,1),(1,1))", "allowed: a divisor of 1024"),
            (f"{on} --shard=dense=((4,1),(1,4))", "makes 16 parts"),
            (f"{on} --shard=dense=((2,4),(2,1))", "allowed: 4"),
            (f"{on} --shard=dense=((2,1))", "cuts 1 input; allowed: the 2"),
            (f"{on} --shard=dense3=((2,1),(1,4))", "dense"),
            (f"{on} --shard=dense=(2,1)", "allowed: NAME=((parts,...),...)"),
            (f"{on} --device-matrix=2,3", "whose product is 8"),
            (f"{on} --device-matrix=8 --shard=dense=((2,1),(1,4))", "device matrix 8"),
            (f"{on} --tp=2", "--auto-parallel"),
            (f"{on} --pp=2", "--auto-parallel"),
            (f"{on} --zero=3", "--auto-parallel"),
            (f"{on} --global-batch=64", "samples are in the shapes"),
            ("--auto-parallel=dynamic", "dynamic-programming"),
            ("--shard=dense=((2,1),(1,4))", "--auto-parallel"),
            ("", "allowed: with --auto-parallel"),
            (f"{on} --pp=auto", "dynamic-programming"),
            ("--pp=auto", "--auto-parallel=dynamic-programming"),
            (f"{on} --shard-verify=2", "compares results"),
            (
                "--auto-parallel=dynamic-programming --pp=auto --device-matrix=2,4",
                "without --pp=auto",
            ),
        ):
            with self.subTest(options):
                self.refuse(f"{FFN} {options}", says)
        job = f"dltrain --servers=1 {QUIET} {on}"
        self.refuse(f"{job} --model={norm} --shard=n=((1,2))", "the norm's axis")
        self.refuse(f"{job} --model={wrong}", "matmul")
        self.refuse(f"{job} --model={shapes}", "/graph/2")
        self.refuse(f"{job} --model=mixtral-8x7b", "experts")


if __name__ == "__main__":
    main()
