# SPDX-License-Identifier: GPL-2.0-only
# ctest: TIMEOUT 300
"""Scripts that log with TensorBoard and look at themselves with PyTorch's profiler."""

import importlib.util
import os
import sys

sys.path.append(sys.path[0] + "/../shared")
from _capture import CaptureTest, capture_together
from _system_test import main

BEGIN = """import torch
model = torch.nn.Linear(4, 4).cuda()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
x = torch.ones(4, device="cuda")
"""
WRITER = """from torch.utils.tensorboard import SummaryWriter
with SummaryWriter("runs/first") as writer:
    writer.add_graph(model, x)
    for step in range(3):
        loss = model(x).sum()
        loss.backward()
        writer.add_scalar("loss", loss, step)
        writer.add_scalars("rates", {"lr": 0.1}, global_step=step)
        writer.add_histogram("weights", model.weight, step)
        optimizer.step()
    writer.add_hparams({"lr": 0.1}, {"loss": 2.0})
    writer.flush()
    print(writer.log_dir, writer.get_logdir())
print(SummaryWriter(comment="-x").log_dir)
"""
PROFILER = """from torch.profiler import ProfilerActivity, profile, record_function, schedule
from torch.profiler import tensorboard_trace_handler
with profile(
    activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA],
    schedule=schedule(wait=1, warmup=1, active=1, repeat=1),
    on_trace_ready=tensorboard_trace_handler("log"),
    record_shapes=True, profile_memory=True, with_stack=True, with_flops=True,
) as p:
    for _ in range(3):
        with record_function("one step"):
            model(x).sum().backward()
            optimizer.step()
        p.step()
print(p.key_averages().table(sort_by="cuda_time_total", row_limit=10))
with profile(activities=[ProfilerActivity.CUDA]) as p:
    model(x)
p.export_chrome_trace("trace.json")
with torch.autograd.profiler.profile(use_cuda=True) as p:
    model(x)
print(p.total_average())
"""


class Logs(CaptureTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        loop = "for _ in range(3):\n    model(x).sum().backward()\n    optimizer.step()\n"
        (tasks,) = capture_together(BEGIN, [loop])
        cls.plain = cls.without([task for task in tasks if task["step"] == 2])

    @staticmethod
    def without(tasks):
        """What a step computes."""
        return [task["name"] for task in tasks if task["kind"] not in ("memcpy", "sync")]

    def test_writer(self):
        if importlib.util.find_spec("tensorboard"):
            self.skipTest("TensorBoard is installed")
        made = self.capture(self.write("writer.py", BEGIN + WRITER))
        self.assertRegex(made.output, r"^runs/first runs/first\nruns/\w{3}\d\d_[-\d]+_.*-x\n$")
        self.assertIn("SummaryWriter at writer.py:6 writes nothing", made.meta["notes"][0])
        step = made.tasks(0, 2)
        # The loss and the 4 x 4 weights are fetched, and waited for.
        fetched = [task["bytes"] for task in step if task["kind"] == "memcpy"]
        self.assertEqual(fetched, [4, 64])
        self.assertEqual(self.without(step), self.plain)

    def test_profiler(self):
        made = self.capture(self.write("profiler.py", BEGIN + PROFILER), steps=0)
        self.assertIn("one step", made.output)
        self.assertRegex(made.meta["notes"][0], r"times of the profiler at profiler.py:\d+ are")
        self.assertTrue(os.path.isfile(os.path.join(made.folder, "files", "trace.json")))
        # Of the last step all is as without it.
        self.assertEqual(self.without(made.tasks(0, 2)), self.plain)


if __name__ == "__main__":
    main()
