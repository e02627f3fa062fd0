# SPDX-License-Identifier: GPL-2.0-only
# ctest: TIMEOUT 600
"""sim.run(): a script that is captured and simulated in one call."""

import importlib.util
import os
import sys
import unittest.mock

sys.path.append(sys.path[0] + "/../shared")
from _capture import SCRIPTS, CaptureTest
from _system_test import PROGRAMS, main

for module in ("pandas", "matplotlib"):
    if importlib.util.find_spec(module) is None:
        print(f"python3-{module} is not installed")
        sys.exit(77)

os.environ["DLTRAIN_PROGRAMS"] = PROGRAMS

from cluster_simulator import GPUmodel, ServerConfig, Simulator  # noqa: E402
from cluster_simulator.capture import CaptureFailed  # noqa: E402


class Run(CaptureTest):
    def test_lines_of_ranks_are_not_mixed(self):
        """Python without buffers writes a line's end by a call of its own."""
        script = self.write(
            "lines.py",
            "import os, torch\n"
            "import torch.distributed as dist\n"
            'dist.init_process_group("nccl")\n'
            'torch.ones(4, device="cuda").add_(1)\n'
            'for line in range(2000):\n    print("rank", os.environ["RANK"], "line", line)\n',
        )
        expected = sorted(f"rank {rank} line {line}" for rank in range(3) for line in range(2000))
        for unbuffered in ("", "1"):
            with self.subTest(unbuffered=unbuffered):
                with unittest.mock.patch.dict(os.environ, PYTHONUNBUFFERED=unbuffered):
                    made = self.capture("torchrun", "--nproc_per_node=3", script)
                self.assertEqual(sorted(made.output.splitlines()), expected)

    def test_a_script_on_a_cluster(self):
        """DDP's gradients are what the network carries: 25,557,032 parameters, 4 B each."""
        sim = Simulator(servers=[ServerConfig([GPUmodel.A100] * 2)] * 2)
        run = sim.run(
            ["torchrun", "--nproc_per_node=2", os.path.join(SCRIPTS, "resnet50_ddp.py")],
            warmup=0,
            progress=False,
        )
        self.assertEqual(run.captured.meta["world"], 4)
        last = max(one["step"] for one in run.stats["collectives"])
        reduced = [
            one
            for one in run.stats["collectives"]
            if one["op"] == "all_reduce" and one["step"] == last
        ]
        self.assertEqual(sum(one["bytes"] for one in reduced), 4 * 25557032)
        self.assertGreater(run.stats["step_time_us"], 0)
        self.assertTrue(os.path.isdir(run.captured.folder))

    def test_a_script_that_fails(self):
        sim = Simulator(servers=[ServerConfig([GPUmodel.A100] * 2)])
        script = os.path.join(SCRIPTS, "mistakes", "died.py")
        with self.assertRaisesRegex(CaptureFailed, "FileNotFoundError"):
            sim.run(["torchrun", "--nproc_per_node=2", script], progress=False)


if __name__ == "__main__":
    main()
