# SPDX-License-Identifier: GPL-2.0-only
# ctest: TIMEOUT 300
"""Captures that PyTorch 2.6 made, read and simulated: captures-pytorch-2.6.tar.xz holds three, two
steps each, by the commands in their meta.json. (capture-pytorch-2.py makes such captures anew.)
"""

import json
import os
import sys
import tarfile

sys.path.append(sys.path[0] + "/../shared")
from _system_test import ROOT, SystemTest, main

ARCHIVE = os.path.join(ROOT, "tests", "system", "capture", "captures-pytorch-2.6.tar.xz")
BF16, FP32 = 2, 4
WIDTH, LENGTH, SAMPLES = 512, 256, 2


class Captures(SystemTest):
    def setUp(self):
        super().setUp()
        with tarfile.open(ARCHIVE) as archive:
            for member in archive.getmembers():
                self.assertTrue(member.isfile() and not member.name.startswith(("/", "..")))
                path = os.path.join(self.folder, member.name)
                os.makedirs(os.path.dirname(path), exist_ok=True)
                with open(path, "wb") as file:
                    file.write(archive.extractfile(member).read())

    def run_trace(self, name, *words):
        return self.run_program(
            ["dltrain", f"--trace={os.path.join(self.folder, name)}", "--warmup=0", *words]
        )

    def step(self, run, op):
        """Bytes of each collective of a kind in a step, over all groups."""
        return sorted(one["bytes"] for one in run.stats["collectives"] if one["op"] == op)

    def test_fully_shard(self):
        """Six blocks: root and blocks gathered forward, blocks again backward, in bf16; gradients
        scattered in fp32.
        """
        block = 12 * WIDTH**2 + 2 * WIDTH
        root = 2 * 8192 * WIDTH + WIDTH
        run = self.run_trace("fsdp2", "--gpus-per-server=2", "--servers=2", "--nic=100GbE")
        self.assertEqual(run.stats["trace"]["torch"], "2.6.0")
        self.assertIn("capture of 4 ranks, PyTorch 2.6.0", run.out)
        self.assertEqual(
            self.step(run, "all_gather"), sorted(BF16 * n for n in [root] + [block] * 12)
        )
        self.assertEqual(
            self.step(run, "reduce_scatter"), sorted(FP32 * n for n in [root] + [block] * 6)
        )
        # Rings send three quarters of a vector over each of their links; between the servers there
        # are two NICs of 100 Gb/s.
        sent = BF16 * (root + 12 * block) + FP32 * (root + 6 * block)
        self.assertGreater(run.stats["step_time_us"], 0.75 * sent / (2 * 12.5e9) * 1e6)
        notes = "\n".join(run.stats["trace"]["notes"])
        self.assertIn("zero_grad()", notes)
        self.assertIn("PyTorch 1.13: fills them with zeros", notes)

    def test_fewer_layers(self):
        """Each block is a unit that takes as long as the others: the line through fewer of them is
        the whole step, where NVLink hides what is sent.
        """
        whole = self.run_trace("fsdp2", "--gpus-per-server=4", "--servers=1").stats
        part = self.run_trace("fsdp2", "--gpus-per-server=4", "--servers=1", "--layers=5").stats
        self.assertEqual(part["extrapolation"]["blocks"], 6)
        self.assertWithin(part["step_time_us"], whole["step_time_us"], 0.002)

    def test_tensor_parallel(self):
        """One block: sums of activations, and the logits gathered."""
        activations, logits = SAMPLES * LENGTH * WIDTH * BF16, SAMPLES * LENGTH * 4096 * BF16
        run = self.run_trace("tensor-parallel", "--gpus-per-server=4", "--servers=1")
        self.assertEqual(self.step(run, "all_reduce"), [activations] * (1 + 2 + 5 + 1))
        self.assertEqual(self.step(run, "all_gather"), [logits])

    def test_two_dimensions(self):
        """Tensor parallel pairs, fully sharded over four: 8 ranks in two servers. Each of the four
        pairs, and of the two groups of four, has its own collectives.
        """
        run = self.run_trace("two-dimensions", "--gpus-per-server=4", "--servers=2")
        layer, root = 16 * WIDTH**2 // 2 + 2 * WIDTH, 4096 * WIDTH + WIDTH
        scattered = self.step(run, "reduce_scatter")
        for size in (layer, root):
            self.assertEqual(scattered.count(FP32 * size), 2)

    def test_products_of_fp8(self):
        """With inputs of 8 bits products are faster where the GPU has such, and are said to be
        others' where it has not.
        """
        path = os.path.join(self.folder, "fsdp2", "rank-0.jsonl")
        words = ("--gpus-per-server=4", "--servers=1")
        before = self.run_trace("fsdp2", *words, "--gpu=H100").stats["step_time_us"]
        with open(path, encoding="utf-8") as file:
            tasks = [json.loads(line) for line in file]
        for task in tasks:
            if task["kind"] == "gemm":
                task["dtype"] = "f8"
        with open(path, "w", encoding="utf-8") as file:
            file.writelines(json.dumps(task) + "\n" for task in tasks)
        self.assertLess(
            self.run_trace("fsdp2", *words, "--gpu=H100").stats["step_time_us"], before
        )
        run = self.run_trace("fsdp2", *words, "--gpu=A100")
        self.assertIn("has no fp8", "\n".join(run.stats["trace"]["notes"]))

    def test_other_versions(self):
        """A capture that tells none, or something else, is as good as before."""
        for torch in (None, 2.6, "9.9\n"):
            path = os.path.join(self.folder, "fsdp2", "meta.json")
            with open(path, encoding="utf-8") as file:
                meta = json.load(file)
            meta.pop("torch", None)
            if torch is not None:
                meta["torch"] = torch
            with open(path, "w", encoding="utf-8") as file:
                json.dump(meta, file)
            with self.subTest(torch=torch):
                trace = self.run_trace("fsdp2").stats["trace"]
                self.assertEqual("torch" in trace, isinstance(torch, str))


if __name__ == "__main__":
    main()
