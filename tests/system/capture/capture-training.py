# SPDX-License-Identifier: GPL-2.0-only
# ctest: TIMEOUT 900 FULL
"""Training scripts as users write them, captured unmodified: what GPUs compute and send."""

import collections
import math
import os
import sys
import unittest

sys.path.append(sys.path[0] + "/../shared")
from _capture import SCRIPTS, CaptureTest, collectives, total
from _system_test import main

# ResNet-50 (He et al. 2016, as torchvision has it): stages of blocks, width of a block's middle.
STAGES = ((3, 64), (4, 128), (6, 256), (3, 512))


def resnet50():
    """(parameters, multiply-adds of convolutions and the last layer for a picture of 224 x 224),
    layer by layer. The stride is in a block's 3x3 convolution.
    """
    parameters = multiply_adds = 0

    def convolution(inward, outward, kernel, size):
        nonlocal parameters, multiply_adds
        weights = inward * outward * kernel * kernel
        parameters += weights + 2 * outward  # and a batch norm behind each
        multiply_adds += weights * size * size

    convolution(3, 64, 7, 112)
    inward, size = 64, 56
    for stage, (blocks, width) in enumerate(STAGES):
        for block in range(blocks):
            convolution(inward, width, 1, size)
            if block == 0 and stage > 0:
                size //= 2
            convolution(width, width, 3, size)
            convolution(width, 4 * width, 1, size)
            if block == 0:
                convolution(inward, 4 * width, 1, size)
            inward = 4 * width
    parameters += 2048 * 1000 + 1000
    multiply_adds += 2048 * 1000
    return parameters, multiply_adds


class Training(CaptureTest):
    def test_resnet50_with_amp(self):
        captured = self.capture("resnet50_amp.py", "--batch-size=48")
        self.assertEqual(captured.errors, "")
        self.assertIn("training on cuda NVIDIA A100", captured.output)
        parameters, multiply_adds = resnet50()
        self.assertEqual(parameters, 25557032)
        self.assertIn(f"parameters: {parameters}", captured.output)
        self.assertEqual(captured.meta["world"], 1)
        self.assertEqual(captured.meta["steps"]["count"], 3)
        self.assertRegex(captured.meta["steps"]["ended_by"], r"^SGD.step at resnet50_amp.py:\d+$")
        self.assertEqual(captured.mistakes, [])
        step = captured.tasks(0, 1)
        forward = [task for task in step if task["phase"] == "forward"]
        self.assertEqual(total(forward, "flops"), 2 * 48 * multiply_adds)
        # Twice as many backward, but for the gradient of the pictures, which nobody needs.
        backward = [task for task in step if task["phase"] == "backward"]
        first = 64 * 3 * 7 * 7 * 112 * 112
        self.assertEqual(total(backward, "flops"), 2 * 48 * (2 * multiply_adds - first))
        for task in step:
            if task["kind"] in ("conv", "gemm"):
                self.assertEqual(
                    task["flops"], 2 * task["batch"] * task["m"] * task["n"] * task["k"]
                )
                self.assertEqual(task["dtype"], "f16")
        # A backward operator has the line and the module of its forward.
        lines = {task["line"] for task in backward if task["kind"] == "conv"}
        self.assertEqual(len(lines), 1)
        modules = collections.Counter(
            task["module"] for task in backward if task["kind"] == "conv"
        )
        self.assertEqual(modules["layer1.0.conv1"], 2)
        self.assertEqual(modules["conv1"], 1)
        self.assertTrue(any("read as 0" in note for note in captured.meta["notes"]))
        # Parameters, gradients and a momentum each, in fp32, at least.
        self.assertGreater(captured.meta["memory"][0]["peak_allocated_bytes"], 12 * parameters)

    def test_resnet50_with_ddp(self):
        """DDP's buckets: all gradients in one in the first step, then the first one of 1 MiB and
        others of 25 MiB (bucket_cap_mb), filled from the last layer.
        """
        captured = self.capture("torchrun", "--nproc_per_node=2", "resnet50_ddp.py")
        self.assertEqual(captured.mistakes, [])
        self.assertEqual(captured.meta["world"], 2)
        # Rank 0 reads the loss, to print it.
        self.assertEqual(captured.meta["role_of"], [0, 1])
        self.assertEqual(captured.meta["steps"]["count"], 3)
        parameters, _ = resnet50()
        gradients = []
        for step in range(3):
            reduced = [
                task["bytes"]
                for task in collectives(captured.tasks(1, step))
                if task["op"] == "all_reduce" and task["dtype"] == "f32"
            ]
            self.assertEqual(sum(reduced), 4 * parameters)
            gradients.append(reduced)
        self.assertEqual([len(buckets) for buckets in gradients], [1, 5, 5])
        self.assertGreater(gradients[1][0], 2**20)
        for bucket in gradients[1][1:-1]:
            self.assertGreater(bucket, 25 * 2**20)
        # They overlap with backward: computing waits for them only when the last is under way.
        step = captured.tasks(0, 2)
        buckets = [task for task in collectives(step) if task["op"] == "all_reduce"]
        self.assertEqual({task["phase"] for task in buckets}, {"backward"})
        self.assertEqual(len({task["line"] for task in buckets}), 1)
        # (Before it, statistics of batch norms come from rank 0.)
        shared = [task for task in collectives(step) if task["op"] == "broadcast"]
        self.assertEqual([task["bytes"] for task in shared], [4 * 2 * 26560, 8 * 53])
        streams = {task["stream"] for task in buckets}
        self.assertEqual(len(streams), 1)
        self.assertNotIn(0, streams)
        ids = {task["id"] for task in buckets}
        waits = [task["id"] for task in step if ids & set(task.get("after", []))]
        self.assertGreater(min(waits), max(ids))
        for bucket in buckets:
            self.assertTrue(bucket["async"])
            for before in bucket["after"]:
                self.assertLess(before, bucket["id"])

    def test_gpt_with_fsdp(self):
        captured = self.capture("torchrun", "--standalone", "--nproc_per_node=4", "gpt_fsdp.py")
        self.assertEqual(captured.mistakes, [], captured.errors)
        self.assertEqual(captured.meta["steps"]["count"], 3)
        # A block of width w: 4 w^2 of attention, 8 w^2 of the two products, biases and norms.
        w = 256
        block = 12 * w * w + (3 + 1 + 4 + 1) * w + 4 * w
        self.assertEqual(block, 789760)
        rest = 1000 * w + 128 * w + 2 * w + 1000 * w
        for step in (1, 2):
            gathers = [
                task["bytes"]
                for task in collectives(captured.tasks(0, step))
                if task["op"] == "all_gather"
            ]
            # Each block for forward and for backward, 2 B a parameter; the rest stays gathered.
            self.assertEqual(gathers.count(2 * block), 2 * 4)
            self.assertEqual(sum(gathers), 2 * (2 * 4 * block + rest))
            scatters = [
                task["bytes"]
                for task in collectives(captured.tasks(0, step))
                if task["op"] == "reduce_scatter"
            ]
            self.assertEqual(sorted(scatters), sorted([2 * block] * 4 + [2 * rest]))

    def test_zero_optimizer_spawned_by_the_script(self):
        captured = self.capture("zero_optimizer.py")
        self.assertEqual(captured.mistakes, [], captured.errors)
        self.assertEqual(captured.meta["world"], 3)
        step = captured.tasks(0, 2)
        parameters = 6 * (512 * 512 + 512)
        reduced = [task for task in collectives(step) if task["op"] == "all_reduce"]
        self.assertEqual(total(reduced, "bytes"), 4 * parameters)
        shared = [task for task in collectives(step) if task["op"] == "broadcast"]
        self.assertEqual(total(shared, "bytes"), 4 * parameters)
        self.assertEqual({task["root"] for task in shared}, {0, 1, 2})

    def test_imagenet_example(self):
        """To its end: loaders, a checkpoint written by one rank behind a barrier, read by all."""
        captured = self.capture("imagenet.py", self.folder, steps=0)
        self.assertEqual(captured.mistakes, [], captured.errors)
        for rank in range(2):
            for epoch in range(2):
                self.assertIn(f"rank {rank} epoch {epoch} done", captured.output)
        # 16 samples, 2 ranks, batches of 4, 2 epochs
        self.assertEqual(captured.meta["steps"]["count"], 4)
        barriers = [task for task in collectives(captured.tasks(1)) if task["op"] == "barrier"]
        self.assertEqual(len(barriers), 2)

    def test_tensor_and_pipeline_by_hand(self):
        captured = self.capture("torchrun", "--nproc_per_node=4", "tensor_pipeline.py")
        self.assertEqual(captured.mistakes, [], captured.errors)
        # Both stages have a role, the GPUs of a stage share it.
        self.assertEqual(captured.meta["role_of"], [0, 0, 2, 2])
        self.assertEqual(captured.meta["groups"][1]["groups"], [[0, 1], [2, 3]])
        message = 8 * 384 * 4
        first, last = captured.tasks(0, 1), captured.tasks(3, 1)
        for tasks, peer in ((first, 2), (last, -2)):
            for kind in ("send", "recv"):
                of_kind = [task for task in tasks if task["kind"] == kind]
                self.assertEqual(
                    [(task["bytes"], task["peer"]) for task in of_kind], [(message, peer)] * 4
                )
            # 2 layers x 4 micro-batches, forward and backward; the first layer of the first stage
            # has nobody who wants its gradient
            reduced = [task for task in collectives(tasks) if task["op"] == "all_reduce"]
            times = 16 if tasks is last else 12
            self.assertEqual([task["bytes"] for task in reduced], [message] * times)
            self.assertEqual({task["group"] for task in reduced}, {1})

    def test_experts_with_all_to_all(self):
        captured = self.capture("torchrun", "--nproc_per_node", 3, "moe.py")
        self.assertEqual(captured.mistakes, [], captured.errors)
        step = collectives(captured.tasks(0, 1))
        exchanged = [task["bytes"] for task in step if task["op"] == "alltoall"]
        self.assertEqual(exchanged, [120 * 64 * 4] * 2)
        self.assertEqual(
            {task["reduce"] for task in step if task["op"] == "all_reduce"}, {"avg"}
        )

    def test_sync_batch_norm_and_accumulation(self):
        captured = self.capture("torchrun", "--nproc_per_node=2", "sync_batch_norm.py")
        self.assertEqual(captured.mistakes, [], captured.errors)
        # Which counts are not zero is not known: all are taken, in the result's shape as well.
        self.assertNotIn("resized", captured.errors)
        self.in_order(captured.tasks(1))
        step = captured.tasks(0, 2)
        # Of two micro-batches one reduces gradients: 3*9*16+16, two of the norm, 160 + 10.
        parameters = 3 * 9 * 16 + 16 + 2 * 16 + 16 * 10 + 10
        gathered = [task for task in collectives(step) if task["op"] == "all_gather"]
        self.assertEqual(len(gathered), 2)  # statistics, each micro-batch
        self.assertEqual({task["phase"] for task in gathered}, {"forward"})
        reduced = [task["bytes"] for task in collectives(step) if task["op"] == "all_reduce"]
        self.assertEqual(reduced.count(4 * parameters), 1)
        self.assertTrue(any(task["kind"] == "sync" for task in step))

    def in_order(self, tasks):
        """Ids count up, what a task waits for stands before it, streams exist."""
        self.assertEqual([task["id"] for task in tasks], list(range(len(tasks))))
        for task in tasks:
            for before in task.get("after", []):
                self.assertLess(before, task["id"])
                self.assertNotEqual(tasks[before].get("stream"), task.get("stream", -1))
            self.assertEqual("stream" in task, task["kind"] not in ("sync", "host"))
            for key in ("read", "written", "flops", "bytes"):
                self.assertGreaterEqual(task.get(key, 0), 0)
        steps = [task["step"] for task in tasks]
        self.assertEqual(steps, sorted(steps))


class Records(CaptureTest):
    def test_many_ranks_of_few(self):
        """128 ranks from a sample: all play one role, in groups of their own."""
        captured = self.capture(
            "torchrun", "--nnodes=16", "--nproc_per_node=8", "resnet50_ddp.py", steps=2
        )
        self.assertEqual(captured.mistakes, [])
        self.assertEqual(captured.meta["captured"], [0, 7, 64, 127])
        self.assertEqual(captured.meta["ranks"], [0, 7])
        self.assertEqual(captured.meta["role_of"], [0] + [7] * 127)
        self.assertEqual(captured.meta["gpus_per_server"], 8)
        self.assertEqual(len(captured.meta["groups"][0]["groups"][0]), 128)

    def test_launch_script(self):
        """A batch script with what such scripts have around the launcher."""
        script = self.write(
            "launch.sh",
            "#!/bin/bash\nset -e\nexport NCCL_DEBUG=INFO\nNODES=${SLURM_NNODES:-1}\n"
            f"cd {SCRIPTS}\npython -c 'print(\"checked\")'\n"
            "srun torchrun --nnodes=$NODES --nproc_per_node=2 --rdzv_backend=c10d"
            " --rdzv_endpoint=$MASTER_ADDR:29500 moe.py\necho finished\n",
        )
        captured = self.capture(script, servers=2)
        self.assertEqual(captured.mistakes, [], captured.errors)
        self.assertEqual(captured.meta["world"], 4)
        self.assertEqual(captured.meta["gpus_per_server"], 2)
        self.assertIn("checked", captured.output)
        self.assertTrue(captured.output.endswith("finished\n"), captured.output)

    def test_memory_is_that_of_a_caching_allocator(self):
        """A script reads what the allocator says; sizes by its rules (see the header)."""
        mib = 1 << 20
        script = self.write(
            "memory.py",
            "import torch\n"
            "from torch import cuda\n"
            "def told():\n"
            "    print(cuda.memory_allocated(), cuda.memory_reserved())\n"
            "a = torch.empty(100, device='cuda', dtype=torch.uint8); told()\n"
            "b = torch.empty(3 << 20, device='cuda', dtype=torch.uint8); told()\n"
            "c = torch.empty(11 << 20, device='cuda', dtype=torch.uint8); told()\n"
            "del b; told()\n"
            "d = torch.empty(19 << 20, device='cuda', dtype=torch.uint8); told()\n"
            "del a, c, d; cuda.empty_cache(); told()\n"
            "print(cuda.max_memory_allocated())\n",
        )
        captured = self.capture(script)
        told = [tuple(map(int, line.split())) for line in captured.output.splitlines()]
        self.assertEqual(
            told,
            [
                (512, 2 * mib),  # 100 B are 512, in a segment of 2 MiB
                (3 * mib + 512, 22 * mib),  # 3 MiB in one of 20
                (14 * mib + 512, 22 * mib),  # 11 MiB fit into the 17 that are left of it
                (11 * mib + 512, 22 * mib),
                # 19 MiB do not into 3 and 6 MiB: a segment of 20, whose last MiB is not split off
                (31 * mib + 512, 42 * mib),
                (0, 0),
                (31 * mib + 512,),
            ],
        )

    def test_nothing_of_an_earlier_capture_stays(self):
        captured = self.capture("torchrun", "--nproc_per_node=4", "tensor_pipeline.py")
        self.assertTrue(os.path.exists(os.path.join(captured.folder, "rank-2.jsonl")))
        from cluster_simulator.capture import capture

        again = capture(
            ["torchrun", "--nproc_per_node=3", os.path.join(SCRIPTS, "moe.py")], captured.folder
        )
        self.assertFalse(os.path.exists(os.path.join(again.folder, "rank-2.jsonl")))
        self.assertEqual(again.meta["world"], 3)
        self.assertTrue(math.isfinite(total(again.tasks(0), "flops")))


if __name__ == "__main__":
    unittest.installHandler()
    main()
