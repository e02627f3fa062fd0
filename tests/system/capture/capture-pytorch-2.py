# SPDX-License-Identifier: GPL-2.0-only
# ctest: TIMEOUT 1200 FULL
"""FSDP2, tensor parallel plans, device meshes, checkpoints and defaults of PyTorch 2: bytes and
counts of a captured step against closed forms. Skipped where there is no PyTorch 2.
"""

import os
import sys

sys.path.append(sys.path[0] + "/../shared")
from _pytorch_2 import PyTorch2Test, sent
from _system_test import main

BF16, FP32 = 2, 4
WIDTH, LENGTH, SAMPLES = 512, 256, 2  # defaults of the scripts


def block(width=WIDTH):
    """Parameters of a block of fsdp2.py: 3 + 1 + 4 + 4 matrices, two norms."""
    return 12 * width**2 + 2 * width


def ends(vocabulary, width=WIDTH):
    """Embedding, head, the last norm."""
    return 2 * vocabulary * width + width


class FullyShard(PyTorch2Test):
    VOCABULARY, LAYERS = 8192, 4

    def units(self, bytes_each):
        return ends(self.VOCABULARY) * bytes_each, [block() * bytes_each] * self.LAYERS

    def test_parameters_are_gathered_twice_and_gradients_scattered_once(self):
        """The root stays after forward: it would be gathered again at once. Gradients are reduced
        in fp32, whatever parameters have.
        """
        made = self.torchrun(4, "fsdp2.py")
        self.assertIn(f"parameters: {ends(self.VOCABULARY) + 4 * block()}", made.output)
        step = made.tasks(0, 2)
        root, blocks = self.units(BF16)
        self.assertEqual(sent(step, "all_gather"), [root, *blocks, *blocks])
        self.assertEqual(sent(step, "all_gather", "backward"), blocks)
        root, blocks = self.units(FP32)
        self.assertEqual(sent(step, "reduce_scatter"), [*blocks, root])
        self.assertEqual({one.get("reduce") for one in step if "reduce" in one}, {"avg"})
        work = {"samples": 4 * SAMPLES, "tokens": 4 * SAMPLES * LENGTH}
        self.assertEqual(made.meta["work"], work)
        # Backward gathers the next block before it scatters the gradients of this one.
        order = [
            one["name"]
            for one in step
            if one["kind"] == "collective" and one["phase"] == "backward"
        ]
        self.assertEqual(order[:4], ["all_gather", "all_gather", "reduce_scatter", "all_gather"])
        # By the formula of docs/capture-format.md: causal halves.
        forward = 2 * (SAMPLES * WIDTH // 64) * LENGTH**2 * (64 + 64) // 2
        flops = [one["flops"] for one in step if one["kind"] == "attention"]
        self.assertEqual(flops, [forward] * 4 + [forward * 5 // 2] * 4)
        # Products of a block: 12 width^2 multiply-adds a token; of the head width x vocabulary.
        # Backward has twice as many.
        products = 2 * SAMPLES * LENGTH * (4 * 12 * WIDTH**2 + WIDTH * self.VOCABULARY)
        flops = sum(one["flops"] for one in step if one["kind"] == "gemm")
        self.assertEqual(flops, 3 * products)

    def test_kept_parameters_and_a_norm(self):
        """reshard_after_forward=False gathers once; clipping sums one number over all ranks."""
        step = self.torchrun(4, "fsdp2.py", "--keep", "--clip", "--fp32").tasks(0, 2)
        root, blocks = self.units(FP32)
        self.assertEqual(sent(step, "all_gather"), [root, *blocks])
        self.assertEqual(sent(step, "reduce_scatter"), [*blocks, root])
        self.assertEqual(sent(step, "all_reduce"), [FP32])

    def test_replicas(self):
        """Two replicas of two shards: a shard's gradients are summed over the replicas."""
        made = self.torchrun(4, "fsdp2.py", "--replicas=2")
        step = made.tasks(0, 2)
        kinds = [group["groups"] for group in made.meta["groups"]]
        over, within = kinds.index([[0, 2], [1, 3]]), kinds.index([[0, 1], [2, 3]])
        root, blocks = self.units(BF16)
        self.assertEqual(sent(step, "all_gather", group=within), [root, *blocks, *blocks])
        root, blocks = self.units(FP32)
        self.assertEqual(sent(step, "reduce_scatter", group=within), [*blocks, root])
        self.assertEqual(
            sent(step, "all_reduce", group=over), [size // 2 for size in [*blocks, root]]
        )

    def test_compile_is_captured_operator_by_operator(self):
        plain, compiled = (
            self.torchrun(2, "fsdp2.py", "--layers=2", *words) for words in ((), ("--compile",))
        )
        self.assertEqual(
            [(one["kind"], one["name"]) for one in compiled.tasks(0, 2)],
            [(one["kind"], one["name"]) for one in plain.tasks(0, 2)],
        )
        notes = [note for note in compiled.meta["notes"] if "torch.compile" in note]
        self.assertEqual(len(notes), 1, compiled.meta["notes"])
        self.assertIn("nothing is fused", notes[0])

    def test_many_ranks_are_sampled(self):
        made = self.capture("torchrun", "--nnodes=4", "--nproc_per_node=8", "fsdp2.py")
        self.assertEqual((made.meta["world"], len(made.meta["captured"])), (32, 4))
        root, blocks = self.units(BF16)
        self.assertEqual(sent(made.tasks(31, 2), "all_gather"), [root, *blocks, *blocks])


class TensorParallel(PyTorch2Test):
    VOCABULARY, LAYERS = 4096, 2
    ACTIVATIONS = SAMPLES * LENGTH * WIDTH * BF16
    LOGITS = SAMPLES * LENGTH * VOCABULARY * BF16

    def test_plan(self):
        """Forward sums the outputs of the embedding and of both row parallel layers of a block;
        backward sums the gradient of each column parallel layer's input: q, k, v, both gates, the
        head. The head's outputs are gathered.
        """
        step = self.torchrun(4, "tensor_parallel.py").tasks(0, 2)
        forward, backward = 1 + 2 * self.LAYERS, 5 * self.LAYERS + 1
        self.assertEqual(sent(step, "all_reduce", "forward"), [self.ACTIVATIONS] * forward)
        self.assertEqual(sent(step, "all_reduce", "backward"), [self.ACTIVATIONS] * backward)
        self.assertEqual(sent(step, "all_gather"), [self.LOGITS])

    def test_sequence_parallelism(self):
        """Gathers before, and reduce-scatters behind, both halves of a block, the embedding and the
        head; backward the other way round. A norm's gradient is summed where the optimizer reads
        it: three times (AdamW by foreach).
        """
        step = self.torchrun(4, "tensor_parallel.py", "--sequence").tasks(0, 2)
        each = [self.ACTIVATIONS] * (2 * self.LAYERS + 1)
        self.assertEqual(sent(step, "reduce_scatter", "forward"), each)
        self.assertEqual(sent(step, "all_gather", "forward"), [*each, self.LOGITS])
        self.assertEqual(sent(step, "reduce_scatter", "backward"), each)
        self.assertEqual(sent(step, "all_gather", "backward"), each)
        norms = 2 * self.LAYERS + 1
        self.assertEqual(sent(step, "all_reduce"), [WIDTH * BF16] * 3 * norms)

    def test_two_dimensions(self):
        """fully_shard over four groups of two: units have half of each matrix and whole norms."""
        made = self.torchrun(8, "tensor_parallel.py", "--sequence", "--data=4", "--checkpoints")
        kinds = [group["groups"] for group in made.meta["groups"]]
        data = kinds.index([[0, 2, 4, 6], [1, 3, 5, 7]])
        tensor = kinds.index([[0, 1], [2, 3], [4, 5], [6, 7]])
        step = made.tasks(0, 2)
        # Four matrices of attention, three of four times the width.
        layer = 16 * WIDTH**2 // 2 + 2 * WIDTH
        root = 2 * self.VOCABULARY * WIDTH // 2 + WIDTH
        gathered = [root] + [layer] * 2 * self.LAYERS
        self.assertEqual(
            sent(step, "all_gather", group=data), [BF16 * count for count in gathered]
        )
        self.assertEqual(
            sent(step, "reduce_scatter", group=data),
            [FP32 * count for count in [layer] * self.LAYERS + [root]],
        )
        # Checkpoints compute a block again in backward, but for its last reduce-scatter, which
        # nothing needs (early stop).
        each = self.ACTIVATIONS
        blocks = 2 * self.LAYERS
        self.assertEqual(
            sent(step, "all_gather", "backward", tensor), [each] * (2 * blocks + 1)
        )
        self.assertEqual(
            sent(step, "reduce_scatter", "backward", tensor), [each] * (blocks + self.LAYERS + 1)
        )


class Rest(PyTorch2Test):
    def test_distributed_data_parallel(self):
        """25,557,032 gradients of fp32."""
        step = self.torchrun(2, "resnet50_ddp.py").tasks(0, 2)
        gradients = [
            one["bytes"]
            for one in step
            if one["kind"] == "collective" and one["phase"] == "backward"
        ]
        self.assertEqual(sum(gradients), FP32 * 25557032)

    def test_fsdp_has_other_defaults(self):
        """In backward the next unit is gathered before gradients are scattered."""
        made = self.torchrun(4, "gpt_fsdp.py")
        step = made.tasks(0, 2)
        order = [
            one["name"]
            for one in step
            if one["kind"] == "collective" and one["phase"] == "backward"
        ]
        self.assertEqual(order[:3], ["all_gather", "all_gather", "reduce_scatter"])
        forward = sent(step, "all_gather", "other") + sent(step, "all_gather", "forward")
        self.assertEqual(sorted(sent(step, "reduce_scatter")), sorted(forward))
        self.assertEqual(sent(step, "all_gather", "backward"), forward[1:])
        notes = "\n".join(made.meta["notes"])
        self.assertRegex(
            notes, r"defaults of FSDP at gpt_fsdp\.py:\d+: backward_prefetch=BACKWARD_PRE, limit"
        )
        self.assertIn("PyTorch 1.13: backward_prefetch=None, limit_all_gathers=False", notes)
        self.assertIn("frees gradients", notes)

    def test_checkpoint(self):
        """A shard of the parameters and of Adam's two moments leaves each GPU; what was written is
        kept in the capture.
        """
        for words in ((), ("--asynchronous",)):
            with self.subTest(words=words):
                made = self.torchrun(4, "fsdp2_checkpoint.py", *words)
                shard = 3 * (256 * 256 + 256) // 4
                copied = [
                    one["bytes"]
                    for one in made.tasks(0, 1)
                    if one["kind"] == "memcpy" and one["direction"] == "from-gpu"
                ]
                self.assertEqual(sum(copied), 3 * shard * FP32)
                folder = "checkpoint-1" if words else "checkpoint"
                files = os.listdir(os.path.join(made.folder, "files", folder))
                self.assertEqual(len([name for name in files if name.endswith(".distcp")]), 4)
                self.assertIn(".metadata", files)

    def test_checkpoint_of_sampled_ranks(self):
        made = self.capture("torchrun", "--nnodes=4", "--nproc_per_node=8", "fsdp2_checkpoint.py")
        self.assertIn("ranks that do not run have no part in it", "\n".join(made.meta["notes"]))

    def test_states_of_generators(self):
        """16 bytes; what is drawn behind a state is drawn again behind it."""
        script = self.write(
            "states.py",
            "import torch\n"
            "torch.manual_seed(3)\n"
            "def draw():\n"
            "    return torch.randn(4, device='cuda').tolist()\n"
            "first = torch.cuda.get_rng_state()\n"
            "one = draw()\n"
            "second = torch.cuda.get_rng_state()\n"
            "two = draw()\n"
            "torch.cuda.set_rng_state(first)\n"
            "assert draw() == one and draw() == two\n"
            "torch.cuda.set_rng_state(second)\n"
            "assert draw() == two\n"
            "assert first.numel() == 16 and first.view(torch.int64)[0] == 3\n"
            "assert first.view(torch.int64)[1] < second.view(torch.int64)[1]\n"
            "print('alike')\n",
        )
        self.assertIn("alike", self.capture(script).output)

    def test_products_of_fp8(self):
        script = self.write(
            "fp8.py",
            "import torch\n"
            "def of(*sizes):\n"
            "    return torch.randn(*sizes, device='cuda').to(torch.float8_e4m3fn)\n"
            "scale = torch.ones((), device='cuda')\n"
            "a, b = of(256, 512), of(1024, 512).t()\n"
            "torch._scaled_mm(a, b, scale_a=scale, scale_b=scale, out_dtype=torch.bfloat16)\n",
        )
        (product,) = [one for one in self.capture(script).tasks() if one["kind"] == "gemm"]
        self.assertEqual([product[key] for key in "mnk"], [256, 1024, 512])
        self.assertEqual((product["dtype"], product["flops"]), ("f8", 2 * 256 * 1024 * 512))

    def test_which_attention(self):
        """FlashAttention has no mask and no single precision; without either choice, products."""
        script = self.write(
            "attention.py",
            "import torch\n"
            "import torch.nn.functional as F\n"
            "from torch.nn.attention import SDPBackend, sdpa_kernel\n"
            "def one(dtype, backend=None, **options):\n"
            "    q = torch.zeros(1, 2, 64, 32, device='cuda', dtype=dtype, requires_grad=True)\n"
            "    out = F.scaled_dot_product_attention(q, q, q, **options)\n"
            "    print(type(out.grad_fn).__name__.partition('Backward')[0])\n"
            "one(torch.bfloat16)\n"
            "one(torch.float32)\n"
            "mask = torch.ones(64, 64, device='cuda', dtype=torch.bool)\n"
            "one(torch.bfloat16, attn_mask=mask)\n"
            "with sdpa_kernel(SDPBackend.EFFICIENT_ATTENTION):\n"
            "    one(torch.bfloat16)\n"
            "one(torch.float64)\n",
        )
        made = self.capture(script)
        flash, efficient = "ScaledDotProductFlashAttention", "ScaledDotProductEfficientAttention"
        self.assertEqual(
            made.output.split()[:4], [flash, efficient, efficient, efficient], made.output
        )
        self.assertNotIn("ScaledDot", made.output.split()[4])


if __name__ == "__main__":
    main()
