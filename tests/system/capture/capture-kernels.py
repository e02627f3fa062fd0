# SPDX-License-Identifier: GPL-2.0-only
# ctest: TIMEOUT 300
"""Which kernels a capture has for an operator, and what they read and write."""

import sys

sys.path.append(sys.path[0] + "/../shared")
from _capture import CaptureTest, capture_together
from _system_test import main

BEGIN = """import torch
from torch import nn
from torch.nn import functional as F
"""
ROWS, WIDTH = 6, 40
BYTES = 4 * ROWS * WIDTH
# A function, the kernel of its gradient, and what that reads.
GRADIENTS = (
    ("F.relu(x)", "threshold_backward", 2 * BYTES),
    ("F.gelu(x)", "gelu_backward", 2 * BYTES),
    ("F.leaky_relu(x)", "leaky_relu_backward", 2 * BYTES),
    ("torch.sigmoid(x)", "sigmoid_backward", 2 * BYTES),
    ("torch.tanh(x)", "tanh_backward", 2 * BYTES),
    ("F.hardtanh(x)", "hardtanh_backward", 2 * BYTES),
    ("F.softplus(x)", "softplus_backward", 2 * BYTES),
    ("F.silu(x)", "silu_backward", 2 * BYTES),
    ("F.mish(x)", "mish_backward", 2 * BYTES),
    ("F.softmax(x, 1)", "_softmax_backward_data", 2 * BYTES),
    # Of half the size: the gradient and whole numbers of 8 bytes for the places.
    (
        "F.max_pool2d(x.view(1, 1, 6, 40), (1, 2))",
        "max_pool2d_with_indices_backward",
        BYTES // 2 + BYTES + BYTES // 4 // 2 * 8,
    ),
    ("F.avg_pool2d(x.view(1, 1, 6, 40), (1, 2))", "avg_pool2d_backward", 3 * BYTES // 2),
)
# A layer, how often forward and backward read as much as its input is, and backward's kernels.
NORMS = (
    ("nn.BatchNorm2d(3)", 2, 4, 1),
    ("nn.BatchNorm2d(3).eval()", 1, 2, 1),  # frozen: a factor for each channel
    ("nn.LayerNorm(8)", 1, 4, 2),
    ("nn.LayerNorm(8, elementwise_affine=False)", 1, 2, 1),
)

SCRIPTS = {}  # name of a test: its scripts


def of_scripts(*texts):
    """A test looks at the tasks of these: self.tasks has them by number."""

    def keep(test):
        SCRIPTS[test.__name__] = texts
        return test

    return keep


class Kernels(CaptureTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        found = iter(capture_together(BEGIN, [one for texts in SCRIPTS.values() for one in texts]))
        cls.found = {name: [next(found) for _ in texts] for name, texts in SCRIPTS.items()}

    def setUp(self):
        super().setUp()
        self.tasks = self.found[self._testMethodName]

    def named(self, tasks, name):
        found = [task for task in tasks if task["name"] == f"aten::{name}"]
        self.assertTrue(found, sorted({task["name"] for task in tasks if "name" in task}))
        return found

    @of_scripts(
        *(
            f"x = torch.ones({ROWS}, {WIDTH}, device='cuda', requires_grad=True)\n"
            f"{function}.sum().backward()\n"
            for function, _, _ in GRADIENTS
        )
    )
    def test_gradients_are_kernels(self):
        """Gradients whose place has a name of its own ("grad_input"). Each reads the gradient of
        what forward made and what forward kept, and writes the gradient of its input; of a place
        for a result nothing is read.
        """
        for (function, name, read), tasks in zip(GRADIENTS, self.tasks):
            with self.subTest(function):
                (task,) = self.named(tasks, name)
                self.assertEqual((task["read"], task["written"]), (read, BYTES))
                self.assertEqual(task["phase"], "backward")

    @of_scripts(
        *(
            f"x = torch.ones({shape}, device='cuda', requires_grad=True)\n"
            f"t = torch.zeros({targets}, dtype=torch.long, device='cuda')\n"
            "F.nll_loss(x, t).backward()\n"
            for shape, targets in (((ROWS, WIDTH), (ROWS,)), ((1, WIDTH, 2, 3), (1, 2, 3)))
        )
    )
    def test_losses_read_what_their_targets_say(self):
        """A number for each target, of 40 that there are, and the targets (8 bytes); the loss and
        the sum of weights are written. Backward fills the gradient with zeros, then reads the
        loss's gradient, targets and the sum of weights, and writes a number for each target.
        """
        for number, tasks in enumerate(self.tasks):
            with self.subTest(number):
                moved = [
                    (task["read"], task["written"]) for task in tasks if "nll_loss" in task["name"]
                ]
                self.assertEqual(
                    moved,
                    [(12 * ROWS, 8), (0, BYTES), (4 + 8 * ROWS + 4, 4 * ROWS)],
                )

    @of_scripts(
        f"x = torch.ones({ROWS}, {WIDTH}, device='cuda')\n"
        "i = torch.zeros(3, dtype=torch.long, device='cuda')\n"
        "x.index_select(0, i), F.embedding(i, x), x[i], x[:1].index_select(0, i)\n"
    )
    def test_rows_of_a_table(self):
        """Three of 6 rows are read, and their numbers; of a table with one row that is taken three
        times no more than there is.
        """
        (tasks,) = self.tasks
        moved = [(task["read"], task["written"]) for task in tasks if task["kind"] == "embedding"]
        rows = 4 * 3 * WIDTH
        self.assertEqual(moved, [(rows + 24, rows)] * 3 + [(rows // 3 + 24, rows)])

    @of_scripts(
        f"x = torch.ones({ROWS}, {WIDTH}, device='cuda')\n"
        "i = torch.zeros(2, dtype=torch.long, device='cuda')\n"
        f"r = torch.ones(2, {WIDTH}, device='cuda')\n"
        "p = torch.zeros(2, 3, dtype=torch.long, device='cuda')\n"
        "x.index_add_(0, i, r)\n"
        "x.index_copy_(0, i, r)\n"
        "x[i] = r\n"
        "x.index_put_((i,), r, accumulate=True)\n"
        "x[i, i] = r[0, :2]\n"
        "x.scatter_(1, p, r)\n"
        "x.scatter_add_(1, p, r)\n"
        "F.embedding_bag(i, x, torch.zeros(1, dtype=torch.long, device='cuda'))\n"
        "torch.scatter(x, 1, p, 2.0)\n"
    )
    def test_places_of_a_table(self):
        """Two rows of 6 are written, and read where something is added; of places one by one these.
        A row of numbers (8 bytes each) says which, and what is put there is read.
        """
        (tasks,) = self.tasks
        rows, number = 4 * 2 * WIDTH, 8
        moved = [(task["read"], task["written"]) for task in tasks if task["kind"] == "embedding"]
        self.assertEqual(
            moved[:7],
            [
                (rows + 2 * number + rows, rows),
                (rows + 2 * number, rows),
                (rows + 2 * number, rows),
                (rows + 2 * number + rows, rows),
                (2 * 4 + 2 * number, 2 * 4),
                (rows + 6 * number, 6 * 4),
                (rows + 6 * number + 6 * 4, 6 * 4),
            ],
        )
        self.assertEqual(moved[7][0], rows + 2 * number + number)
        # What is not in place copies first.
        self.assertEqual((tasks[-2]["read"], tasks[-2]["written"]), (BYTES, BYTES))
        self.assertEqual(moved[8], (6 * number, 6 * 4))

    @of_scripts(
        *(
            "x = torch.ones(4, 3, 8, 8, device='cuda', requires_grad=True)\n"
            f"{layer}.cuda()(x).sum().backward()\n"
            for layer, *_ in NORMS
        )
    )
    def test_norms_read_twice(self):
        """Batch norm in training: the input for statistics and to be normalized; backward gradient
        and input for their sums and for the gradient of the input. Layer norm: the gradients of
        input and of weights are a kernel each. Numbers of a channel or row beside these count once.
        """
        once = 4 * 4 * 3 * 64
        for (layer, forward, backward, launches), tasks in zip(NORMS, self.tasks):
            with self.subTest(layer):
                first, second = (task for task in tasks if task["kind"] == "norm")
                # Means, variances, weights: at most 8 of each row of 8 numbers.
                self.assertEqual(first["read"] // once, forward)
                self.assertEqual(second["read"] // once, backward)
                self.assertEqual(second.get("launches", 1), launches)

    @of_scripts(
        f"a, b, c = (torch.ones({ROWS}, {WIDTH}, device='cuda') for _ in range(3))\n"
        "torch.sub(a, b)\n"
        "torch.add(a, b, out=c)\n"
        "a.mul_(b)\n"
        "torch.neg(a)\n"
        "a.div_(2)\n"
    )
    def test_results_are_not_read(self):
        """A sum of two matrices reads two and writes one, whoever makes the place for it; in place
        it reads what it writes over.
        """
        (tasks,) = self.tasks
        for name, read in (("sub", 2), ("add", 2), ("mul_", 2), ("neg", 1), ("div_", 1)):
            with self.subTest(name):
                found = [
                    task
                    for task in tasks
                    if task["name"].removeprefix("aten::").rstrip("_") == name.rstrip("_")
                ]
                self.assertEqual(
                    [(task["read"], task["written"]) for task in found], [(read * BYTES, BYTES)]
                )

    @of_scripts(
        f"a, b, c = torch.ones({ROWS}, {3 * WIDTH}, device='cuda').chunk(3, 1)\n"
        "torch.addcmul(a, b, c)\n"
        "torch.mul(b, b)\n"
    )
    def test_parts_of_one_tensor(self):
        """Each is read by itself; the same one once."""
        (tasks,) = self.tasks
        self.assertEqual([task["read"] for task in tasks[1:]], [3 * BYTES, BYTES])

    @of_scripts(
        *(
            "ps = [nn.Parameter(torch.ones(n, device='cuda')) for n in (24, 100)]\n"
            "o = torch.optim.Adam(ps, fused=True)\n"
            f"scaler = torch.cuda.amp.GradScaler(enabled={scaled})\n"
            "scaler.scale(sum(p.sum() for p in ps)).backward()\n"
            "scaler.step(o)\n"
            for scaled in (False, True)
        )
    )
    def test_adam_in_one_kernel(self):
        """It reads parameters, gradients and two states, of 24 and 100 numbers, and how many steps
        there were of each tensor; it writes parameters and states, and gradients where they are
        divided by a scale, which it reads as well, with whether one is infinite.
        """
        for scaled, tasks in zip((False, True), self.tasks):
            with self.subTest(scaled=scaled):
                (task,) = self.named(tasks, "_fused_adam_")
                self.assertEqual(task["read"], 4 * (4 * 124 + 2 + (2 if scaled else 0)))
                self.assertEqual(task["written"], 4 * (4 if scaled else 3) * 124)

    @of_scripts(
        "x = torch.ones(6, 40, device='cuda')\n"
        "x.view(40, 6), x.t(), x[1:3], x.expand(2, 6, 40), x.unsqueeze(0), x.detach()\n"
        "x.split(2), x.chunk(3, 1), x.unbind()\n"
    )
    def test_views_are_none(self):
        (tasks,) = self.tasks
        self.assertEqual([task["name"] for task in tasks], ["aten::fill_"])

    @of_scripts(
        *(
            "x = torch.ones(2, 3, 16, 16, device='cuda', requires_grad=True)\n"
            "conv = nn.Conv2d(3, 8, 3, padding=1).cuda()\n"
            f"{change}"
            "conv(x).sum().backward()\n"
            for change in (
                "",
                "x = x.to(memory_format=torch.channels_last)\n",
                "conv = conv.to(memory_format=torch.channels_last)\n",
            )
        ),
        "x = torch.ones(2, 8, 16, 16, device='cuda')\n"
        "nn.Conv2d(8, 8, 3, groups=8).cuda()(x)\n"
        "nn.Conv2d(8, 8, 3, groups=2).cuda()(x)\n",
    )
    def test_convolutions_turn_pictures_round(self):
        """PyTorch's own order is channel by channel: of 2 pictures of 3 channels and of the 8 that
        are made of them, 16 x 16. With channels_last, in whatever way the script says it, and of a
        depthwise convolution, which is PyTorch's own kernel, nothing is turned.
        """
        pictures = 4 * 2 * 16 * 16
        *changed, groups = self.tasks
        for number, tasks in enumerate(changed):
            with self.subTest(number):
                turned = {
                    task["pass"]: task.get("channels_first")
                    for task in tasks
                    if task["kind"] == "conv"
                }
                expected = (3 + 8) * pictures if number == 0 else None
                self.assertEqual(
                    turned,
                    dict.fromkeys(("forward", "backward-input", "backward-weights"), expected),
                )
        turned = ["channels_first" in task for task in groups if task["kind"] == "conv"]
        self.assertEqual(turned, [False, True])

    @of_scripts(
        "import torchvision\n"
        "model = torchvision.models.resnet18().cuda().to(memory_format=torch.channels_last)\n"
        "x = torch.ones(2, 3, 64, 64, device='cuda').to(memory_format=torch.channels_last)\n"
        "with torch.autocast('cuda', torch.float16):\n"
        "    model(x).sum().backward()\n"
    )
    def test_a_network_with_channels_last(self):
        """All that stands between convolutions leaves the order as it is."""
        (tasks,) = self.tasks
        turned = [task for task in tasks if "channels_first" in task]
        self.assertEqual(turned, [])
        # 20 of ResNet-18 forward and their weights', and of all but the first the input's.
        self.assertEqual(len([task for task in tasks if task["kind"] == "conv"]), 20 + 20 + 19)


if __name__ == "__main__":
    main()
