# SPDX-License-Identifier: GPL-2.0-only
# ctest: TIMEOUT 600 FULL
"""Memory of a GPU that several streams use (record_stream, NCCL's collectives), and that of a GPU
which several processes use.

Expected values are by the rules of caching-allocator.h: a block that a second stream used is no
one's, from its end until the program knows that this stream has passed it; then a next request of
its size takes it, before it takes another segment.
"""

import sys
import unittest

sys.path.append(sys.path[0] + "/../shared")
from _capture import CaptureTest
from _system_test import main

HEAD = """
import os
import torch
import torch.distributed as dist

MIB = 1 << 20
def block(mib):
    return torch.empty(mib * MIB // 4, device="cuda")
def used(mib, side):
    x = block(mib)
    with torch.cuda.stream(side):
        x.add_(1)
    x.record_stream(side)
    return x
def told():
    stats = torch.cuda.memory_stats()
    names = ("allocated", "active", "reserved")
    print(*(stats[f"{name}_bytes.all.current"] // MIB for name in names))
"""


class Memory(CaptureTest):
    def told(self, body, *words, **options):
        script = self.write("script.py", HEAD + body)
        captured = self.capture(*words, script, **options)
        self.assertEqual(captured.mistakes, [], captured.errors)
        return [tuple(map(int, line.split())) for line in captured.output.splitlines()]

    def test_block_of_two_streams(self):
        told = self.told(
            """
side = torch.cuda.Stream()
for mib in (30, 64):
    x = block(mib); del x
    x = block(mib); told()             # its stream's own: at once
    x.record_stream(torch.cuda.current_stream()); del x; told()
    x = used(mib, side); del x; told()
    y = block(mib); told(); del y      # another segment
    torch.cuda.current_stream().synchronize()
    y, z = block(mib), block(mib); told(); del y, z   # nothing is known of the side stream
    torch.cuda.current_stream().wait_stream(side)
    torch.cuda.current_stream().synchronize()
    y, z, a = block(mib), block(mib), block(mib); told()
    del y, z, a
    torch.cuda.empty_cache()
"""
        )
        self.assertEqual(
            told,
            [
                numbers
                for one in (30, 64)
                for numbers in (
                    (one, one, one),
                    (0, 0, one),
                    (0, one, one),
                    (one, 2 * one, 2 * one),
                    (2 * one, 3 * one, 3 * one),
                    (3 * one, 3 * one, 3 * one),
                )
            ],
        )

    def test_what_the_program_waits_for(self):
        """Each way to wait gives the block back; without one it stays held."""
        waits = {
            "pass": 2,
            "torch.cuda.synchronize()": 1,
            "side.synchronize()": 1,
            "event.synchronize()": 2,  # recorded before the side stream used it
            "late = side.record_event(); late.synchronize()": 1,
            "with torch.cuda.stream(side): torch.ones(4, device='cuda').sum().item()": 1,
            "with torch.cuda.stream(side): torch.ones(4, device='cuda').cpu()": 1,
            "torch.ones(4, device='cuda').cpu()": 2,
            "torch.cuda.empty_cache()": 1,
        }
        body = "side = torch.cuda.Stream()\n"
        for wait in waits:
            body += f"""
torch.cuda.synchronize(); torch.cuda.empty_cache()
event = side.record_event(); x = used(40, side); del x
{wait}
y = block(40); told(); del y
"""
        told = [reserved // 40 for _, _, reserved in self.told(body)]
        # (Small tensors take a segment of 2 MiB.)
        self.assertEqual(told, list(waits.values()))

    def test_a_full_gpu_waits(self):
        told = self.told(
            """
side = torch.cuda.Stream()
for _ in range(5):
    x = used(30, side); del x
    told()
print(torch.cuda.memory_stats()["num_alloc_retries"])
""",
            memory=100 << 20,
        )
        # Three fit; with the fourth all are waited for and given back.
        self.assertEqual([one[-1] for one in told], [30, 60, 90, 30, 60, 1])

    def test_a_step_of_an_optimizer_ends_it(self):
        told = self.told(
            """
side = torch.cuda.Stream()
w = torch.nn.Linear(8, 8).cuda()
optimizer = torch.optim.SGD(w.parameters(), lr=0.1)
for step in range(3):
    x = used(50, side); del x
    w(torch.ones(2, 8, device="cuda")).sum().backward()
    optimizer.step()
    told()
""",
        )
        self.assertEqual([reserved // 50 for *_, reserved in told], [1, 1, 1])

    def test_a_collective_holds_what_it_sends(self):
        body = """
dist.init_process_group("nccl")
torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
for waits in (False, True):
    torch.cuda.synchronize(); torch.cuda.empty_cache()
    for _ in range(3):
        x = torch.empty(6 * MIB, device="cuda"); work = dist.all_reduce(x, async_op=True)
        if waits:
            work.wait()
        del x, work
        if waits:
            torch.cuda.current_stream().synchronize()
    if dist.get_rank() == 0:
        told()
"""
        told = self.told(body, "torchrun", "--nproc_per_node=3", gpus_per_server=3)
        self.assertEqual([reserved // 24 for *_, reserved in told], [3, 1])


class Shared(CaptureTest):
    """Ranks of a server on one GPU, without NCCL, which refuses that."""

    SCRIPT = """
import os, sys, torch
rank = int(os.environ["LOCAL_RANK"])
torch.cuda.set_device({gpu})
x = torch.empty(({each} + rank) << 20, dtype=torch.uint8, device="cuda")
(x[:4].float() + 1).sum()
"""

    def ranks(self, gpu, each, **options):
        script = self.write("shared.py", self.SCRIPT.format(gpu=gpu, each=each))
        return self.capture("torchrun", "--nproc_per_node=3", script, **options)

    def test_memory_adds_up(self):
        # 3 x 1,000 MiB, 2 and 4 MiB more, a segment of 2 MiB each for what is small, 512 MiB of
        # context each: 4.44 GiB.
        made = self.ranks(0, 1000, gpus_per_server=4, memory=5 << 30)
        self.assertEqual(made.mistakes, [])
        self.assertTrue(
            [
                note
                for note in made.meta["notes"]
                if note.startswith("ranks 0, 1, 2 of a server use the same GPU, 0: they reserve")
                and "4.44 of its 5.00 GiB" in note
            ],
            made.meta["notes"],
        )
        made = self.ranks(0, 1000, gpus_per_server=4, memory=4 << 30)
        (mistake,) = made.mistakes
        self.assertEqual(mistake["kind"], "out-of-memory")
        self.assertEqual(mistake["ranks"], [0, 1, 2])
        self.assertIn("4.44 of its 4.00 GiB", mistake["text"])

    def test_a_gpu_each(self):
        made = self.ranks("rank", 1000, gpus_per_server=4, memory=2 << 30)
        self.assertEqual(made.mistakes, [])
        self.assertFalse([note for note in made.meta["notes"] if "same GPU" in note])

    def test_two_of_three(self):
        made = self.ranks("min(rank, 1)", 700, gpus_per_server=3, memory=2 << 30)
        (mistake,) = made.mistakes
        self.assertEqual(mistake["ranks"], [1, 2])
        self.assertIn("the same GPU, 1:", mistake["text"])

    def test_garbage_that_holds_tensors(self):
        """Python collects it when it likes, also while it asks for memory, steps, or has none."""
        text = """import gc, torch
weight = torch.nn.Parameter(torch.ones(4, device="cuda"))
optimizer = torch.optim.SGD([weight], lr=0.1)
def too_much():
    try:
        torch.empty(1 << 50, device="cuda")
    except torch.cuda.OutOfMemoryError:
        pass
def leave():
    ring = [torch.empty(10, device="cuda")]
    ring.append(ring)
for turn in range(90):
    for ask in (torch.cuda.memory_stats, optimizer.step, too_much):
        gc.collect()
        leave()
        gc.set_threshold(gc.get_count()[0] + 1 + turn // 3)
        ask()
        gc.set_threshold(700)
print("end")
"""
        made = self.capture(self.write("garbage.py", text), steps=0)
        self.assertEqual(made.output.split(), ["end"])


if __name__ == "__main__":
    unittest.installHandler()
    main()
