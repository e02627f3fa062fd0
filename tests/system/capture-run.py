# SPDX-License-Identifier: GPL-2.0-only
# ctest: TIMEOUT 600 RESOURCE_LOCK capture
"""sim.run(): a script that is captured and simulated in one call."""

import importlib.util
import os
import sys

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
