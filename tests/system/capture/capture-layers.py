# SPDX-License-Identifier: GPL-2.0-only
# ctest: TIMEOUT 900 FULL
"""--layers of captured scripts: a step extrapolated from some of a GPT's blocks against all of
it, by packets, and what is refused.

GPT-2 has 12 blocks. By FSDP they are a unit each, so any number from 3 on may be simulated. By DDP
in bf16 the buckets (25 MiB, of blocks of 7,087,872 parameters: 14.2 MB) end within every second
block, so blocks are left out by twos.
"""

import sys

sys.path.append(sys.path[0] + "/../shared")
from _capture import SCRIPTS, CaptureTest
from _system_test import main

BLOCK = 12 * 768 * 768 + 13 * 768  # parameters: products, biases and two norms
MODEL = 12 * BLOCK + 2 * 768 + (50257 + 1024) * 768  # the head is the embedding's


class Layers(CaptureTest):
    CLUSTER = ("--gpus-per-server=2", "--nic=100GbE")

    def captured(self, *words):
        made = self.capture(
            *("torchrun", "--nnodes=2", "--nproc_per_node=2", "zoo_model.py", "--model=gpt2"),
            *("--batch-size=2", "--length=256", "--fused", *words),
            gpus_per_server=2,
        )
        self.assertEqual(made.mistakes, [], made.errors)
        return f"--trace={made.folder}"

    def compare(self, trace, several, smallest, within=0.02):
        whole = self.run_program(["dltrain", trace, *self.CLUSTER]).stats
        self.assertNotIn("extrapolation", whole)
        for layers in several:
            with self.subTest(layers=layers):
                run = self.run_program(["dltrain", trace, *self.CLUSTER, f"--layers={layers}"])
                part = run.stats["extrapolation"]
                self.assertEqual(part["blocks"], 12)
                self.assertEqual(part["blocks_simulated"][0], layers)
                self.assertGreaterEqual(part["blocks_simulated"][-1], smallest)
                self.assertLess(abs(part["error"] or 0), 0.05)
                self.assertIn("of 12 blocks, extrapolated from", run.out)
                self.assertIn('of the 12 blocks of each rank ("blocks")', run.err + run.out)
                # The line through what was simulated, by hand.
                (n, m), (t, u) = part["blocks_simulated"][:2], part["step_times_us"][:2]
                line = t + (12 - n) * (t - u) / (n - m)
                self.assertAlmostEqual(run.stats["step_time_us"], line, delta=1e-6 * line)
                ratio = run.stats["step_time_us"] / whole["step_time_us"]
                self.assertAlmostEqual(ratio, 1, delta=within)
        return whole

    def test_fsdp(self):
        """Each block is a unit of its own, so all of them take what the line says."""
        self.compare(self.captured("--fsdp"), (4, 6), 2, within=0.002)

    def test_ddp_leaves_out_blocks_by_twos(self):
        trace = self.captured()
        whole = self.compare(trace, (6, 8), 2)
        reduced = sum(one["bytes"] for one in whole["collectives"] if one["op"] == "all_reduce")
        self.assertEqual(reduced, 2 * MODEL * len({one["step"] for one in whole["collectives"]}))
        self.refuse(
            f"dltrain {trace} {' '.join(self.CLUSTER)} --layers=5",
            *("--layers=5", "12 blocks of", "allowed: ", "or all 12"),
        )

    def test_in_one_command(self):
        """By --launch the same as by --trace of what it has captured."""
        words = f"--nproc_per_node=2 {SCRIPTS}/zoo_model.py --model=gpt2 --batch-size=2"
        run = self.run_program(
            [
                "dltrain",
                f"--launch=torchrun {words} --length=128 --fused --fsdp",
                *("--servers=1", "--gpus-per-server=2", "--layers=4"),
            ]
        )
        self.assertEqual(run.stats["extrapolation"]["blocks"], 12)
        self.assertEqual(run.stats["extrapolation"]["blocks_simulated"][0], 4)
        again = self.run_program(
            ["dltrain", f"--trace={run.path('capture')}", "--gpus-per-server=2", "--layers=4"]
        )
        self.assertEqual(again.stats["step_time_us"], run.stats["step_time_us"])

    def test_refused(self):
        # An LSTM is one call of cuDNN for all its layers: nothing is numbered.
        made = self.capture("rnn_language_model.py", gpus_per_server=1)
        self.refuse(f"dltrain --trace={made.folder} --layers=2", "--layers=2", "no blocks")
        goal = self.write("two.goal", "num_ranks 2\nrank 0 {\nl1: calc 100\n}\nrank 1 {\n}\n")
        self.refuse(
            f"dltrain --trace={goal} --layers=2", "--layers=2", "which does not tell them"
        )


if __name__ == "__main__":
    main()
