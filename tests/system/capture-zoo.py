# SPDX-License-Identifier: GPL-2.0-only
# ctest: TIMEOUT 900 RESOURCE_LOCK capture
"""The same network by the zoo and by a capture: the same bytes of collectives, FLOPs within 2%,
step time within 5% but for kernels that only the script has (_zoo_kernels.py), whose time is known.

What the zoo has fused is so in the script: attention, the optimizer (fused, foreach), and gradients
are views of DDP's buckets. (The gradient of the pictures is not computed.)
"""

import unittest

from _capture import CaptureTest, collectives, total
from _system_test import main
from _zoo_kernels import only_in_script


class Zoo(CaptureTest):
    def same(self, script, zoo, parameters):
        made = self.capture(
            "torchrun", "--nproc_per_node=2", "zoo_model.py", *script, gpus_per_server=2
        )
        self.assertEqual(made.mistakes, [], made.errors)
        self.assertIn(f"parameters: {parameters}\n", made.output)
        cluster = "--servers=1 --gpus-per-server=2"
        for gpu in ("H100", "A100"):
            own = self.run_program(f"dltrain {zoo} --dtype=bf16 --gpu={gpu} {cluster}").stats
            run = self.run_program(f"dltrain --trace={made.folder} --gpu={gpu} {cluster}")
            captured = run.stats
            only = only_in_script(made.folder, run.folder)
            with self.subTest(gpu, **only):
                without = captured["step_time_us"] - sum(only.values())
                self.assertAlmostEqual(without / own["step_time_us"], 1, delta=0.05)
        # Gradients of bf16; buckets are the same ones, too.
        sizes = [
            sorted(
                one["bytes"]
                for one in stats["collectives"]
                if one["op"] == "all_reduce" and one["step"] == stats["collectives"][-1]["step"]
            )
            for stats in (own, captured)
        ]
        self.assertEqual(sum(sizes[0]), 2 * parameters)
        self.assertEqual(sum(sizes[1]), 2 * parameters)
        self.assertEqual(len(sizes[0]), len(sizes[1]))
        flops = own["tflops_per_gpu"] * own["step_time_us"] * 1e6
        step = made.tasks(0, made.meta["steps"]["take"][0])
        self.assertAlmostEqual(self.model_flops(step) / flops, 1, delta=0.02)
        return step, only

    def model_flops(self, step):
        """As the zoo's tflops_per_gpu counts them: of attention three times forward's, of the whole
        matrix. The record has what FlashAttention computes: 2.5 times forward's backward, and half
        of both where causal.
        """
        attention = [task for task in step if task["kind"] == "attention"]
        forward = [task for task in attention if task["pass"] == "forward"]
        self.assertEqual(total(attention, "flops"), 3.5 * total(forward, "flops"))
        model = sum(3 * task["flops"] * (2 if task["causal"] else 1) for task in forward)
        return total(step, "flops") - total(attention, "flops") + model

    def test_resnet50(self):
        step, only = self.same(
            ["--model=resnet50", "--optimizer=sgd", "--batch-size=32"],
            "--model=resnet50 --zero=0 --optimizer=momentum --micro-batch=32",
            25557032,
        )
        # Running means and variances of 53 batch norms, and how many batches they saw.
        shared = [one["bytes"] for one in collectives(step) if one["op"] == "broadcast"]
        self.assertEqual(shared, [2 * 2 * 26560, 8 * 53])
        self.assertIn("running statistics", only)

    def test_vgg16(self):
        self.same(
            ["--model=vgg16", "--optimizer=sgd", "--batch-size=32"],
            "--model=vgg-16 --zero=0 --optimizer=momentum --micro-batch=32",
            138357544,
        )

    def test_gpt2(self):
        self.same(
            ["--model=gpt2", "--batch-size=4", "--length=512", "--fused"],
            "--model=gpt2 --zero=0 --micro-batch=4 --seq=512 --fused-attention",
            124439808,
        )

    def test_bert(self):
        self.same(
            ["--model=bert", "--batch-size=8", "--length=512", "--fused"],
            "--model=bert-base --zero=0 --micro-batch=8 --seq=512 --fused-attention",
            109482240,
        )


if __name__ == "__main__":
    unittest.installHandler()
    main()
