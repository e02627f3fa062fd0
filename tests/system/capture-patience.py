# SPDX-License-Identifier: GPL-2.0-only
# ctest: TIMEOUT 600 RESOURCE_LOCK capture
"""How long ranks wait for each other: one that computes is only slow; one that sleeps, or waits for
what never comes, is a mistake.
"""

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

    def test_one_that_sleeps(self):
        for where, said in (
            ("group", r"rank \d makes group 1 at late.py:\d+ and waits for rank 1, which did not"),
            ("collective", r"waits for rank 1, which does something else: it did not compute for"),
        ):
            with self.subTest(where):
                script = self.write("late.py", SCRIPT % SLEEPS)
                words = ("torchrun", "--nproc_per_node=3", script, where)
                self.assertRegex(str(self.fails(*words, patience=2)), said)


if __name__ == "__main__":
    main()
