# SPDX-License-Identifier: GPL-2.0-only
# ctest: TIMEOUT 300 FULL
"""Tensors of several devices in one operator: what PyTorch 1.13 refuses on a GPU is refused here,
and what it takes is taken.

Expected by native_functions.yaml of 1.13 (device_check), by its torchgen's register_dispatch_key.py
(the order of arguments, the method's name), and by what its TensorIterator takes.
"""

import sys

sys.path.append(sys.path[0] + "/../shared")
from _capture import CaptureTest
from _system_test import main

BEGIN = """import torch, torch.nn as nn, torch.nn.functional as F
def gpu(*sizes): return torch.randn(*sizes, device="cuda")
def numbers(device): return torch.randint(10, (64,), device=device)
def outcome(name, f):
    try:
        f()
        print(name, "taken", sep="|", flush=True)
    except Exception as error:
        print(name, type(error).__name__, str(error).splitlines()[0], sep="|", flush=True)
g, c, s = gpu(64, 100), torch.randn(64, 100), torch.tensor(2.0)
"""
SAME = "Expected all tensors to be on the same device, but found at least two devices, "


def same(first, second, argument="", method=""):
    behind = f" (when checking argument for argument {argument} in method {method})"
    return f"{SAME}{first} and {second}!" + (behind if argument else "")


# A call: the error; devices in the order of the operator's arguments.
REFUSED = {
    # addmm(bias, input, weight); mm(input, weight) without a bias
    "nn.Linear(100, 10).cuda()(c)": same("cuda:0", "cpu", "mat1", "wrapper_addmm"),
    "nn.Linear(100, 10)(g)": same("cpu", "cuda:0", "mat1", "wrapper_addmm"),
    "nn.Linear(100, 10, bias=False).cuda()(c)": same("cpu", "cuda:0", "mat2", "wrapper_mm"),
    "g.T @ c": same("cuda:0", "cpu", "mat2", "wrapper_mm"),
    "torch.bmm(g[None], c.T[None])": same("cuda:0", "cpu", "mat2", "wrapper_bmm"),
    # labels
    "F.cross_entropy(g, numbers('cpu'))": same(
        "cuda:0", "cpu", "target", "wrapper_nll_loss_forward"
    ),
    "F.cross_entropy(g, numbers('cuda'), weight=torch.ones(100))": same(
        "cuda:0", "cpu", "weight", "wrapper_nll_loss_forward"
    ),
    "F.mse_loss(g, c)": same("cuda:0", "cpu"),
    "F.binary_cross_entropy(g.sigmoid(), torch.ones(64, 100))": same("cuda:0", "cpu"),
    # indices
    "nn.Embedding(100, 8).cuda()(numbers('cpu'))": same(
        "cuda:0", "cpu", "index", "wrapper__index_select"
    ),
    "nn.Embedding(100, 8)(numbers('cuda'))": same(
        "cpu", "cuda:0", "index", "wrapper__index_select"
    ),
    "g.gather(1, numbers('cpu')[:, None])": same("cuda:0", "cpu", "index", "wrapper_gather"),
    "c[numbers('cuda')]": (
        "indices should be either on cpu or on the same device as the indexed tensor (cpu)"
    ),
    "g.__setitem__(numbers('cpu'), c)": same("cuda:0", "cpu"),
    # models
    "nn.Conv2d(3, 8, 3).cuda()(torch.randn(2, 3, 8, 8))": (
        "Input type (torch.FloatTensor) and weight type (torch.cuda.FloatTensor) should be the same"
    ),
    "nn.Conv2d(3, 8, 3)(gpu(2, 3, 8, 8))": (
        "Input type (torch.cuda.FloatTensor) and weight type (torch.FloatTensor) should be the same"
    ),
    "nn.BatchNorm1d(100).cuda()(c)": same(
        "cpu", "cuda:0", "weight", "wrapper__native_batch_norm"
    ),
    "nn.LayerNorm(100).cuda()(c)": same("cpu", "cuda:0", "weight", "wrapper__native_layer_norm"),
    "nn.LSTM(100, 10).cuda()(c[None])": (
        "Input and parameter tensors are not at the same device, found input tensor at cpu and"
        " parameter tensor at cuda:0"
    ),
    # pointwise, lists, masks
    "g + c": same("cuda:0", "cpu"),
    "c.add_(g)": same("cuda:0", "cpu"),
    "s.add_(g.sum())": same("cuda:0", "cpu"),  # a number may be read, not written
    "torch.add(g, g, out=c)": same("cuda:0", "cpu"),
    "torch.maximum(g, c)": same("cuda:0", "cpu"),
    "torch.where(c > 0, g, g)": same("cuda:0", "cpu"),
    "torch.cat([g, c])": same("cuda:0", "cpu", "tensors", "wrapper_cat"),
    "g.masked_fill(c > 0, 0)": (
        "expected self and mask to be on the same device, but got mask on cpu and self on cuda:0"
    ),
    # two GPUs
    "g + g.to('cuda:1')": same("cuda:0", "cuda:1"),
    "g.T @ g.to('cuda:1')": same("cuda:0", "cuda:1", "mat2", "wrapper_mm"),
}
TAKEN = (
    "g + s",
    "s * g",
    "g.add_(s)",
    "g > s",
    "1 - g",
    "torch.maximum(g, s)",
    "torch.where(g > 0, g, 0.0)",
    "g[numbers('cpu')]",
    "g[torch.arange(64) > 3]",
    "g.__setitem__(numbers('cpu'), s)",
    "g.__setitem__(g > 0, s)",
    "g.__setitem__(slice(0, 3), c[:3])",
    "g.fill_(s)",
    "g.masked_fill(g > 0, s)",
    "g.copy_(c)",
    "c.copy_(g)",
    "c.pin_memory().to('cuda', non_blocking=True)",
    "g.to('cuda:1').cpu()",
    "torch.tensor([g.sum(), g.mean()])",
    "torch.rand(3, device='cuda', generator=torch.Generator('cuda'))",
    "torch._foreach_add([g, c], [g, c])",
    "nn.utils.clip_grad_norm_([nn.Parameter(g)], 1.0)",
    "nn.LSTM(100, 8).cuda()("
    "nn.utils.rnn.pack_padded_sequence(gpu(6, 2, 100), torch.tensor([6, 5])))",
    "F.ctc_loss(gpu(50, 2, 20).log_softmax(2), torch.ones(2, 30).long(), torch.full((2,), 50),"
    " torch.full((2,), 20))",
)


class Devices(CaptureTest):
    def test_refused_and_taken(self):
        """All by one script: most of what a capture takes is the import of PyTorch."""
        calls = [*REFUSED, *TAKEN]
        script = self.write(
            "calls.py", BEGIN + "".join(f"outcome({one!r}, lambda: {one})\n" for one in calls)
        )
        made = self.capture("python3", script, gpus_per_server=2)
        self.assertEqual(made.mistakes, [])
        found = dict(line.split("|", 1) for line in made.output.splitlines())
        for call, expected in REFUSED.items():
            with self.subTest(call):
                self.assertEqual(found[call], f"RuntimeError|{expected}")
        for call in TAKEN:
            with self.subTest(call):
                self.assertEqual(found[call], "taken")

    def test_labels_of_a_training_script(self):
        """Not moved on rank 1: the mistake is at the line of the loss, in the forward pass."""
        script = self.write(
            "labels.py",
            "import os, torch, torch.nn as nn, torch.distributed as dist\n"
            "dist.init_process_group('nccl')\n"
            "rank = int(os.environ['LOCAL_RANK'])\n"
            "torch.cuda.set_device(rank)\n"
            "model = nn.parallel.DistributedDataParallel(nn.Linear(1000, 10).cuda())\n"
            "labels = torch.randint(10, (64,), device='cuda' if rank != 1 else 'cpu')\n"
            "for _ in range(3):\n"
            "    loss = nn.functional.cross_entropy(model(torch.randn(64, 1000).cuda()), labels)\n"
            "    loss.backward()\n",
        )
        error = self.fails("torchrun", "--nproc_per_node=3", script, patience=10)
        self.assertEqual(error.exit_status, 1)
        self.assertEqual(
            [(one["kind"], one["ranks"], one["lines"]) for one in error.mistakes],
            [("died", [1], ["labels.py:8"])],
        )
        self.assertIn(
            same("cuda:1", "cpu", "target", "wrapper_nll_loss_forward"), error.mistakes[0]["text"]
        )


if __name__ == "__main__":
    main()
