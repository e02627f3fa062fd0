# SPDX-License-Identifier: GPL-2.0-only
# ctest: TIMEOUT 600
"""Settings of a script: those that a capture hears have the effect that PyTorch gives them, of the
others a note says that they have none.
"""

import os
import re
import sys
from unittest import mock

sys.path.append(sys.path[0] + "/../shared")
from _capture import CaptureTest
from _system_test import PROGRAMS, captured, main

from cluster_simulator.capture.inside import unheard_settings  # noqa: E402


class Settings(CaptureTest):
    def test_memory_fraction(self):
        """A quarter of 16 GiB are 4: three fit, two more do not, until all is allowed again."""
        script = self.write(
            "fraction.py",
            """
import torch
GIB = 1 << 28  # of float
torch.cuda.set_per_process_memory_fraction(0.25)
x = torch.empty(3 * GIB, device="cuda")
try:
    torch.empty(2 * GIB, device="cuda")
except torch.cuda.OutOfMemoryError as error:
    print(error)
torch.cuda.set_per_process_memory_fraction(1.0, 0)
y = torch.empty(2 * GIB, device="cuda")
print(torch.cuda.memory_reserved() >> 30)
try:
    torch.cuda.set_per_process_memory_fraction(1.5)
except ValueError as error:
    print(error)
""",
        )
        run = self.capture(script, memory=16 << 30)
        self.assertEqual(run.mistakes, [], run.errors)
        words, reserved, wrong = run.output.splitlines()
        total = float(re.search(r"([\d.]+) GiB total capacity", words)[1])
        allowed = float(re.search(r"([\d.]+) GiB allowed; 3.00 GiB reserved", words)[1])
        self.assertAlmostEqual(allowed, total / 4, delta=0.01)
        self.assertEqual(reserved, "5")
        self.assertIn("1.5", wrong)

    def test_unheard(self):
        script = self.write(
            "settings.py",
            """
import os
os.environ["NCCL_ALGO"] = "Tree"
os.environ["NCCL_DEBUG"] = "INFO"
os.environ["CUDA_LAUNCH_BLOCKING"] = "0"
import torch
x = torch.ones(4, device="cuda")
print(torch.cuda.memory_snapshot())
""",
        )
        with mock.patch.dict(os.environ, PYTORCH_CUDA_ALLOC_CONF="max_split_size_mb:64"):
            run = self.capture(script)
        self.assertEqual(run.mistakes, [], run.errors)
        self.assertEqual(run.output.strip(), "[]")
        for words in (
            "NCCL_ALGO=Tree is not heard by a capture: give the simulation --nccl-env=NCCL_ALGO=",
            "PYTORCH_CUDA_ALLOC_CONF=max_split_size_mb:64 has no effect in a capture",
            "memory_snapshot() at settings.py:8 is empty",
        ):
            self.assertEqual(sum(words in note for note in run.meta["notes"]), 1, run.meta["notes"])
        for name in ("NCCL_DEBUG", "CUDA_LAUNCH_BLOCKING"):
            self.assertNotIn(name, " ".join(run.meta["notes"]))

    def test_list(self):
        """Those of --help=nccl-env that do something, but for what has one value only."""
        help_ = captured([os.path.join(PROGRAMS, "dltrain"), "--help=nccl-env"]).stdout
        entries = re.findall(r"^  (NCCL_\w+) +((?:.*)(?:\n   +.*)*)", help_, re.MULTILINE)
        self.assertGreater(len(entries), 50)
        one_value = {"NCCL_IB_DISABLE", "NCCL_NET", "NCCL_P2P_DISABLE", "NCCL_P2P_LEVEL"}
        heard = {
            name for name, what in entries if not re.match("without meaning|no effect", what)
        } - one_value
        self.assertEqual(heard, set(unheard_settings.NCCL))


if __name__ == "__main__":
    main()
