# SPDX-License-Identifier: GPL-2.0-only
# ctest: TIMEOUT 300
"""Forward, backward and optimizer are found whatever way a script calls its layers."""

import sys

sys.path.append(sys.path[0] + "/../shared")
from _capture import CaptureTest, capture_together
from _system_test import main

BEGIN = """import torch
import torch.nn.functional as F
torch.manual_seed(1)
x = torch.ones(8, 16, device="cuda")
labels = torch.zeros(8, dtype=torch.long, device="cuda")
"""
# Three products forward; of backward the gradients of three weights and of two inputs.
WAYS = {
    "a module": (
        "layers = [torch.nn.Linear(16, 16) for _ in range(3)]\n"
        "model = torch.nn.Sequential(*layers).cuda()\n"
        "parameters = list(model.parameters())\n",
        "y = model(x)\n",
    ),
    "layers one by one": (
        "layers = [torch.nn.Linear(16, 16).cuda() for _ in range(3)]\n"
        "parameters = [p for layer in layers for p in layer.parameters()]\n",
        "y = x\n    for layer in layers:\n        y = layer(y)\n",
    ),
    "functions": (
        "parameters = [torch.ones(16, 16, device='cuda', requires_grad=True) for _ in range(3)]\n",
        "y = x\n    for one in parameters:\n        y = F.linear(y, one)\n",
    ),
    "products": (
        "parameters = [torch.ones(16, 16, device='cuda', requires_grad=True) for _ in range(3)]\n",
        "y = x\n    for one in parameters:\n        y = (y @ one).relu()\n",
    ),
}
UPDATES = {
    "an optimizer": (
        "optimizer = torch.optim.SGD(parameters, lr=0.1)\n",
        "optimizer.step()\n    optimizer.zero_grad()\n",
    ),
    "by hand": (
        "",
        "with torch.no_grad():\n        for one in parameters:\n"
        "            one.sub_(one.grad, alpha=0.1)\n            one.grad = None\n",
    ),
    "of data": ("", "for one in parameters:\n        one.data.add_(one.grad, alpha=-0.1)\n"),
}


class Phases(CaptureTest):
    def test_ways_with_an_optimizer(self):
        self.one_behind_the_other("an optimizer")

    def test_ways_without_an_optimizer(self):
        """No optimizer makes a step in the whole script."""
        self.one_behind_the_other("by hand", "of data")

    def one_behind_the_other(self, *updates):
        """A script of all ways, each in three rounds."""
        ways = [(way, update) for way in WAYS for update in updates]
        texts = []
        for way, update in ways:
            (make, forward), (begin, step) = WAYS[way], UPDATES[update]
            texts.append(
                f"{make}{begin}"
                f"for _ in range(3):\n    {forward}"
                f"    loss = F.cross_entropy(y, labels)\n    loss.backward()\n    {step}"
            )
        for (way, update), tasks in zip(ways, capture_together(BEGIN, texts)):
            with self.subTest(way=way, update=update):
                phases = [task["phase"] for task in tasks if task["kind"] == "gemm"]
                self.assertEqual(phases, (["forward"] * 3 + ["backward"] * 5) * 3)
                losses = [task for task in tasks if "log_softmax" in task["name"]]
                self.assertEqual([task["phase"] for task in losses], ["forward", "backward"] * 3)
                updated = [task for task in tasks if task["kind"] == "optimizer"]
                self.assertEqual({task["phase"] for task in updated}, {"optimizer"})
                if update != "an optimizer":
                    each = 6 if way in ("a module", "layers one by one") else 3
                    self.assertEqual(len(updated), each * 3)

    def test_new_inputs_are_no_updates(self):
        """A batch that is copied into the place of the one before, noise in place of old noise."""
        script = self.write(
            "inputs.py",
            f"{BEGIN}w = torch.ones(16, 16, device='cuda', requires_grad=True)\n"
            "noise = torch.zeros(8, 16, device='cuda')\n"
            "optimizer = torch.optim.SGD([w], lr=0.1)\n"
            "for _ in range(3):\n"
            "    x.copy_(torch.ones(8, 16))\n    noise.normal_()\n"
            "    ((x + noise) @ w).sum().backward()\n    optimizer.step()\n",
        )
        tasks = self.capture(script).tasks(0, 2)
        phases = {task["name"]: task["phase"] for task in tasks}
        self.assertEqual(phases["aten::copy_"], "other")
        self.assertEqual(phases["aten::normal_"], "other")
        self.assertEqual(phases["aten::mm"], "backward")


if __name__ == "__main__":
    main()
