# SPDX-License-Identifier: GPL-2.0-only
# ctest: TIMEOUT 600 FULL
"""How long ranks wait for each other: one that computes is only slow; one that sleeps, or waits for
what never comes, is a mistake.
"""

import sys

sys.path.append(sys.path[0] + "/../shared")
from _capture import CaptureTest
from _system_test import main

# Rank 1 is late: before a group is made, or before a collective whose values are known.
SCRIPT = """import os, sys, time
import torch, torch.distributed as dist

def late():
    if int(os.environ["RANK"]) == 1:
        until = time.monotonic() + 5
        while time.monotonic() < until:
            %s

if sys.argv[1] == "group":
    late()
dist.init_process_group("nccl")
torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
if sys.argv[1] == "collective":
    late()
x = torch.ones(1, dtype=torch.int64, device="cuda")
dist.all_reduce(x)
print(x.item())
"""
COMPUTES = "sum(range(10000))"
SLEEPS = "time.sleep(0.1)"


class Patience(CaptureTest):
    def made(self, does, where):
        script = self.write("late.py", SCRIPT % does)
        return self.capture("torchrun", "--nproc_per_node=3", script, where, patience=2)

    def test_one_that_computes(self):
        for where in ("group", "collective"):
            with self.subTest(where):
                made = self.made(COMPUTES, where)
                self.assertEqual(made.mistakes, [])
                self.assertEqual(made.output, "3\n" * 3)

    def missing(self, *words):
        """What is said of the one mistake of its kind: GPUs would wait, and no script fails."""
        (mistake,) = self.capture(*words, patience=2).mistakes
        self.assertEqual(mistake["kind"], "missing")
        return mistake["text"]

    def test_one_that_sleeps(self):
        words = ("torchrun", "--nproc_per_node=3", self.write("late.py", SCRIPT % SLEEPS))
        self.assertRegex(
            str(self.fails(*words, "group", patience=2)),
            r"rank \d makes group 1 at late.py:\d+ and waits for rank 1, which did not",
        )
        self.assertRegex(
            self.missing(*words, "collective"),
            r"for rank 1, which does something else: it did not compute for",
        )

    def test_one_that_sleeps_alone(self):
        """Nobody waits for it but the capture; a mistake with its line."""
        script = self.write(
            "alone.py",
            "import time, torch\ntorch.ones(2).cuda()\nwhile True:\n    time.sleep(100)\n",
        )
        error = self.fails(script, patience=1)
        (mistake,) = error.mistakes
        self.assertEqual((mistake["kind"], mistake["lines"]), ("died", ["alone.py:4"]))
        self.assertIn("nothing computed for 1 s (the capture's patience", mistake["text"])
        self.assertNotIn("idleness", str(error))
        # (That nothing ends a step is not said beside that.)
        self.assertEqual(error.captured.meta["notes"], [])

    def test_one_that_catches_its_end(self):
        """And would go on for ever, with an optimizer anew each time: three steps, as of others."""
        script = self.write(
            "catches.py",
            "import torch\nwhile True:\n    try:\n"
            "        p = torch.ones(2).cuda().requires_grad_()\n"
            "        optimizer = torch.optim.SGD([p], 0.1)\n        for _ in range(9):\n"
            "            p.sum().backward()\n            optimizer.step()\n"
            "    except BaseException:\n        pass\n",
        )
        made = self.capture("torchrun", "--nproc_per_node=1", script, patience=5)
        self.assertEqual((made.mistakes, made.meta["steps"]["count"]), ([], 3))

    def test_one_that_computes_behind_its_end(self):
        """Its record is cut in no line."""
        self.ended_late(
            "spins.py",
            "try:\n    for _ in range(9):\n        p.sum().backward()\n"
            "        optimizer.step()\nexcept BaseException:\n"
            "    while True:\n        p * torch.randn(8, 2, device='cuda')\n",
        )

    def ended_late(self, name, text):
        head = (
            "import time, torch\np = torch.ones(2).cuda().requires_grad_()\n"
            "optimizer = torch.optim.SGD([p], 0.1)\n"
        )
        made = self.capture(self.write(name, head + text), patience=3)
        self.assertEqual((made.mistakes, made.meta["steps"]["count"]), ([], 3))
        notes = made.meta["notes"]
        self.assertTrue([note for note in notes if "went on for 3 s" in note], notes)

    def test_one_that_catches_its_end_and_trains_no_more(self):
        self.ended_late(
            "nothing.py",
            "while True:\n    try:\n        if optimizer is None:\n            raise ValueError\n"
            "        p.sum().backward()\n        optimizer.step()\n"
            "    except BaseException:\n        optimizer = None\n",
        )

    def test_one_that_sleeps_at_last(self):
        self.ended_late(
            "sleeps.py",
            "try:\n    while True:\n        p.sum().backward()\n        optimizer.step()\n"
            "finally:\n    time.sleep(1000)\n",
        )

    def test_one_that_does_a_little_at_last(self):
        script = self.write(
            "saves.py",
            "import time, torch\np = torch.ones(2).cuda().requires_grad_()\n"
            "optimizer = torch.optim.SGD([p], 0.1)\n"
            "try:\n    while True:\n        p.sum().backward()\n        optimizer.step()\n"
            "finally:\n    time.sleep(1)\n    print('saved')\n",
        )
        made = self.capture(script, patience=8)
        self.assertEqual((made.mistakes, made.output), ([], "saved\n"))
        self.assertEqual(made.meta["notes"], ["the script was ended after 3 steps"])

    def test_who_is_slower_changes_nothing(self):
        """Rank 0 does another collective than the others, who wait for it in a barrier. One of them
        still computes when the first gives up waiting: it is not ended before it waits, too.
        """
        script = self.write(
            "slow.py",
            "import os, time, torch, torch.distributed as dist\n"
            "dist.init_process_group('nccl')\n"
            "rank = dist.get_rank()\n"
            "torch.cuda.set_device(int(os.environ['LOCAL_RANK']))\n"
            "x = torch.empty(1 << 20, device='cuda')\n"
            "if rank == 0:\n    dist.all_reduce(x)\n"
            "until = time.monotonic() + SLOW.get(rank, 0)\n"
            "while time.monotonic() < until:\n    sum(range(10000))\n"
            "dist.barrier()\n",
        )
        with open(script, encoding="utf-8") as file:
            text = file.read()
        told = set()
        for slow in ({}, {3: 8}, {1: 9, 2: 5}):
            with open(script, "w", encoding="utf-8") as file:
                file.write(text.replace("SLOW", str(slow)))
            made = self.capture("torchrun", "--nproc_per_node=4", script, patience=3)
            (mistake,) = made.mistakes
            told.add(mistake["text"])
        (text,) = told
        self.assertIn("rank 0 does all_reduce", text)
        self.assertIn("ranks 1, 2, 3 do barrier", text)

    def test_one_whose_child_computes(self):
        child = "import time; until = time.monotonic() + 8\nwhile time.monotonic() < until: pass"
        script = self.write(
            "child.py",
            "import subprocess, sys, torch\ntorch.ones(2).cuda()\n"
            f"subprocess.run([sys.executable, '-S', '-c', {child!r}])\nprint('ran')\n",
        )
        self.assertEqual(self.capture(script, patience=1).output, "ran\n")

    def test_gradients_that_wait(self):
        """DDP's all-reduce has no line of its own: that of backward is told."""
        script = self.write(
            "backward.py",
            "import os, time, torch, torch.distributed as dist\n"
            "dist.init_process_group('nccl')\n"
            "torch.cuda.set_device(int(os.environ['LOCAL_RANK']))\n"
            "model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(2, 2).cuda())\n"
            "loss = model(torch.ones(2, 2, device='cuda')).sum()\n"
            "time.sleep(100 * dist.get_rank())\n"
            "loss.backward()\n",
        )
        self.assertRegex(
            self.missing("torchrun", "--nproc_per_node=2", script),
            r"rank 0 (does|waits in) all_reduce .*at backward.py:7"
            r"(; rank 1 does nothing| for rank 1)",
        )


if __name__ == "__main__":
    main()
