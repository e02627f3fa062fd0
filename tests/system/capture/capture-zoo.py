# SPDX-License-Identifier: GPL-2.0-only
# ctest: TIMEOUT 900 FULL
"""The same network by the zoo and by a capture: the same bytes of collectives, FLOPs within 2%,
step time within 5% but for kernels that only the script has (_zoo_kernels.py), whose time is known.

Of transformers the zoo has PyTorch's kernels (--kernels=eager), and an optimizer whose states are
of 16 bits, as the script's model is: both launch the same ones, and are within 2%.

What the zoo has fused is so in the script: attention or not, the optimizer (fused, foreach), and
gradients are views of DDP's buckets. (The gradient of the pictures is not computed.)
"""

import sys
import unittest

sys.path.append(sys.path[0] + "/../shared")
from _capture import CaptureTest, collectives, total
from _system_test import main
from _zoo_kernels import only_in_script


class Zoo(CaptureTest):
    def same(self, script, zoo, parameters, dtype="bf16", within=0.05):
        made = self.capture(
            "torchrun", "--nproc_per_node=2", "zoo_model.py", *script, gpus_per_server=2
        )
        self.assertEqual(made.mistakes, [], made.errors)
        self.assertIn(f"parameters: {parameters}\n", made.output)
        cluster = "--servers=1 --gpus-per-server=2"
        for gpu in ("H100", "A100"):
            own = self.run_program(f"dltrain {zoo} --dtype={dtype} --gpu={gpu} {cluster}").stats
            run = self.run_program(f"dltrain --trace={made.folder} --gpu={gpu} {cluster}")
            captured = run.stats
            only = only_in_script(made.folder, run.folder)
            with self.subTest(gpu, **only):
                without = captured["step_time_us"] - sum(only.values())
                self.assertAlmostEqual(without / own["step_time_us"], 1, delta=within)
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

    def language(self, model, batch, length, parameters, fused=True, dtype="bf16"):
        zoo = model.replace("bert", "bert-base")
        return self.same(
            [f"--model={model}", f"--batch-size={batch}", f"--length={length}"]
            + ["--fused"] * fused
            + ["--dtype=float16"] * (dtype == "fp16"),
            f"--model={zoo} --zero=0 --micro-batch={batch} --seq={length} --kernels=eager"
            f" --master-weights=0{' --fused-attention' if fused else ''}",
            parameters,
            dtype,
            0.02,
        )

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
        self.language("gpt2", 4, 512, 124439808)

    def test_gpt2_with_plain_attention(self):
        for batch, length in ((4, 512), (3, 200)):
            with self.subTest(batch=batch, length=length):
                self.language("gpt2", batch, length, 124439808, fused=False)

    def test_bert(self):
        self.language("bert", 8, 512, 109482240)

    def test_bert_with_plain_attention(self):
        self.language("bert", 5, 384, 109482240, fused=False, dtype="fp16")


if __name__ == "__main__":
    unittest.installHandler()
    main()
