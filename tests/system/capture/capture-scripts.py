# SPDX-License-Identifier: GPL-2.0-only
# ctest: TIMEOUT 1200 FULL
"""More scripts as users write them, captured unmodified, each with what is special about it. None
has a mistake, and none may be told one.

    capture-scripts.py --all    also all 80 classifiers of torchvision (some minutes)
"""

import collections
import os
import sys

sys.path.append(sys.path[0] + "/../shared")
from _capture import SCRIPTS, CaptureTest, collectives, total
from _system_test import main

# A few of torchvision's classifiers, of kinds that differ; and their parameters by its own table.
SAMPLE = {
    "shufflenet_v2_x0_5": 1366792,
    "mobilenet_v3_small": 2542856,
    "squeezenet1_1": 1235496,
    "efficientnet_b0": 5288548,
    "swin_t": 28288354,
}
ALL = "--all" in sys.argv
if ALL:
    sys.argv.remove("--all")


def of_kind(tasks, *kinds):
    return [task for task in tasks if task["kind"] in kinds]


def named(tasks, *names):
    return [task for task in tasks if task["name"] in names]


class Scripts(CaptureTest):
    def correct(self, *words, **options):
        made = self.capture(*words, **options)
        self.assertEqual(made.mistakes, [], made.errors)
        return made

    def test_imagenet_main(self):
        """Spawned workers, a process for each GPU, in its own folder: two epochs of two steps, with
        validation, schedule and checkpoints that replace each other.
        """
        before = os.getcwd()
        os.chdir(self.folder)
        try:
            made = self.correct(
                "imagenet_main.py",
                "--dummy",
                "--images=16",
                "--workers=0",
                "--multiprocessing-distributed",
                "--world-size=1",
                "--rank=0",
                gpus_per_server=2,
                steps=0,
            )
        finally:
            os.chdir(before)
        self.assertEqual(made.meta["world"], 2)
        # 16 pictures, 2 ranks of 4 each
        self.assertEqual(made.meta["steps"]["count"], 4)
        # A checkpoint of weights that nobody trained is kept beside the capture.
        self.assertFalse(os.path.exists(os.path.join(self.folder, "checkpoint.pth.tar")))
        self.assertTrue(os.path.exists(os.path.join(made.folder, "files", "checkpoint.pth.tar")))
        # Accuracies, sum and count, of the top 1 and the top 5, behind each epoch.
        sums = [task for task in collectives(made.tasks(1)) if task["bytes"] == 8]
        self.assertEqual(len([task for task in sums if task["op"] == "all_reduce"]), 2 * 2)

    def test_fsdp_with_everything(self):
        made = self.correct("torchrun", "--nproc_per_node=4", "fsdp_gpt_full.py")
        step = made.tasks(0, 1)
        fused = named(step, "capture::attention", "capture::attention_backward")
        # 4 blocks, forward again in backward as activations are not kept
        self.assertEqual(len(fused), 3 * 4)
        for task in fused:
            self.assertEqual(task["kind"], "attention")
            self.assertEqual((task["heads"], task["queries"], task["keys"]), (16, 128, 128))
            self.assertEqual((task["head_size"], task["causal"]), (32, True))
            # A multiply-add is 2; two products forward, five backward (the scores anew, then the
            # gradients of values, scores, queries and keys), half of each as it is causal.
            products = 2 if task["pass"] == "forward" else 5
            self.assertEqual(task["flops"], products * 16 * 128 * 128 * 32)
            self.assertEqual(task["dtype"], "bf16")
        # The norm of gradients: one number is summed up.
        self.assertEqual(
            [task["bytes"] for task in collectives(step) if task["op"] == "all_reduce"], [4]
        )

    def test_fsdp_to_its_end(self):
        """With a checkpoint that rank 0 gets whole."""
        made = self.correct("torchrun", "--nproc_per_node=2", "fsdp_gpt_full.py", steps=0)
        self.assertRegex(made.output, r"saved \d\d")
        self.assertIn("PyTorch CUDA memory summary", made.output)

    def test_fsdp_on_the_host(self):
        """Half of 4 x 512 x 512 gradients, in fp16's size or fp32's, go to the host for each of two
        micro-batches. (That it ends at all: 1.13 looks at each of them by itself.)
        """
        made = self.correct("torchrun", "--nproc_per_node=2", "fsdp_offload.py")
        self.assertEqual(made.meta["steps"]["count"], 3)
        copies = [
            task["bytes"]
            for task in of_kind(made.tasks(0, 1), "memcpy")
            if task["direction"] == "from-gpu" and task["bytes"] > 1 << 16
        ]
        self.assertIn(set(copies), ({4 * 512 * 512 // 2 * 2}, {4 * 512 * 512 // 2 * 4}))
        self.assertEqual(len(copies), 2)

    def test_what_is_not_simulated(self):
        """One error that says what to do; a script that catches it goes on."""
        start = "import torch\nfrom torch import nn\ntorch.ones(2).cuda()\n"
        words = 'torch.randint(0, 9, (4, 4), device="cuda")'
        wrong = {
            f"nn.Embedding(9, 8, sparse=True).cuda()({words})": "Embedding without sparse=True",
            f'nn.EmbeddingBag(9, 8, mode="sum", sparse=True).cuda()({words})': (
                "EmbeddingBag without sparse=True"
            ),
            'torch.eye(4, device="cuda").to_sparse()': "sparse tensors of GPUs",
            'torch.sparse_coo_tensor(size=(2, 2), device="cuda")': "sparse tensors of GPUs",
            'torch.distributed.rpc.init_rpc("worker", rank=0, world_size=1)': (
                "rpc.* are not simulated: use torchrun with sends and receives"
            ),
        }
        first = next(iter(wrong))
        error = self.fails(self.write("not.py", f"{start}{first}\n"))
        self.assertRegex(str(error), wrong[first])
        self.assertNotIn("registered at", str(error))
        caught = "".join(
            f"try:\n    {call}\nexcept Exception as error:\n    print(repr(str(error)))\n"
            for call in wrong
        )
        # On the host they are what they are.
        made = self.correct(
            self.write(
                "host.py",
                f"{start}{caught}"
                "nn.Embedding(9, 8, sparse=True)(torch.arange(3)).sum().backward()\n"
                "torch.eye(4).to_sparse()\n",
            )
        )
        for (call, said), line in zip(wrong.items(), made.output.splitlines(), strict=True):
            with self.subTest(call):
                self.assertRegex(line, said)
                self.assertNotIn("registered at", line)

    def test_recurrent_language_model(self):
        """cuDNN has one call of a network: for each layer a product of all steps' inputs, and for
        each step one of the state, and the gates.
        """
        for kind, gates in (("LSTM", 4), ("GRU", 3), ("RNN_TANH", 1)):
            layer = kind.lower()
            with self.subTest(kind=kind):
                made = self.correct(
                    "rnn_language_model.py", f"--model={kind}", "--nhid=96", "--emsize=80"
                )
                step = made.tasks(0, 1)
                self.assertEqual(of_kind(step, "host"), [])  # but for --capture-host
                forward = named(step, f"capture::{layer}")
                products = [
                    (task["m"], task["n"], task["k"], task["launches"])
                    for task in of_kind(forward, "gemm")
                ]
                rows, wide = 35 * 20, gates * 96
                self.assertEqual(
                    products,
                    [
                        (rows, wide, 80, 1),
                        (20, wide, 96, 35),
                        (rows, wide, 96, 1),
                        (20, wide, 96, 35),
                    ],
                )
                self.assertEqual({task["module"] for task in forward}, {"rnn"})
                # Twice as many backward: each matrix for its input and for itself.
                backward = named(step, f"capture::{layer}_backward")
                self.assertEqual(total(backward, "flops"), 2 * total(forward, "flops"))
                self.assertEqual({task["phase"] for task in backward}, {"backward"})

    def test_transformer_parts(self):
        made = self.correct("torchrun", "--nproc_per_node=2", "transformer_ddp.py", steps=0)
        self.assertEqual(made.meta["steps"]["count"], 4)
        step = collectives(made.tasks(1, 2))
        gradients = [
            task for task in step if task["op"] == "all_reduce" and task["phase"] == "backward"
        ]
        # Of three micro-batches the last one reduces: each parameter once.
        d, vocabulary = 128, 1000
        norms, product = 2 * 2 * d, 3 * d * d + 3 * d + d * d + d
        layer = product + 2 * 4 * d * d + 4 * d + d + norms
        attention = product
        parameters = vocabulary * d + 3 * layer + attention + 8 * d + vocabulary * d + vocabulary
        self.assertEqual(total(gradients, "bytes"), 4 * parameters)
        # Copies of the host's memory that is pinned are not waited for.
        uploads = [
            task
            for task in made.tasks(1, 2)
            if task["kind"] == "memcpy"
            and task["direction"] == "to-gpu"
            and task["bytes"] == 4 * 64 * 8
        ]
        self.assertEqual([task["blocking"] for task in uploads], [False] * 3)

    def test_streams(self):
        made = self.correct("torchrun", "--nproc_per_node=2", "streams_overlap.py")
        step = made.tasks(0, 1)
        side = {task["stream"] for task in step if task["kind"] in ("memcpy", "pointwise")}
        self.assertGreater(len(side), 1)
        reduced = [task for task in collectives(step) if task["op"] == "all_reduce"]
        # Weights and biases of two layers, each by itself.
        self.assertEqual(
            sorted(task["bytes"] for task in reduced),
            sorted([4 * 3072 * 2048, 4 * 2048, 4 * 2048 * 10, 4 * 10]),
        )
        self.assertTrue(all(task["async"] for task in reduced))
        self.assertEqual(len(made.meta["ranks"]), 1)

    def test_pipeline_of_grouped_messages(self):
        """1F1B of 4 micro-batches: each stage sends as many activations down as gradients up."""
        message = 4 * 32 * 64 * 4
        for stages in (2, 4):
            with self.subTest(stages=stages):
                made = self.correct(
                    *("python", "-m", "torch.distributed.launch", "--nproc_per_node=4"),
                    *("pipeline_batched.py", "--stages", stages),
                )
                for rank in range(4):
                    stage = rank * stages // 4
                    ends = (stage == 0) + (stage == stages - 1)
                    for kind in ("send", "recv"):
                        messages = of_kind(made.tasks(rank, 1), kind)
                        self.assertEqual(
                            [task["bytes"] for task in messages], [message] * 4 * (2 - ends)
                        )
                        self.assertTrue(all("batch" in task for task in messages))

    def test_experts_of_uneven_counts(self):
        """Who gets how much only a GPU would know: all experts get as much. 8 x 32 tokens for two
        experts each, over 4 ranks.
        """
        made = self.correct("torchrun", "--nproc_per_node=4", "moe_uneven.py")
        exchanged = [
            task for task in collectives(made.tasks(2, 1)) if task["op"] == "alltoallv"
        ]
        rows = 8 * 32 * 2 // 4
        self.assertEqual([task["sends"] for task in exchanged], [[rows * 64 * 4] * 4] * 4)
        counts = [task for task in collectives(made.tasks(2, 1)) if task["op"] == "alltoall"]
        self.assertEqual([(task["bytes"], task["dtype"]) for task in counts], [(32, "i64")])
        self.assertTrue(any("spread evenly" in note for note in made.meta["notes"]))

    def on(self, world, script):
        """On one server, or two with half of the ranks each."""
        nodes = 2 if world > 4 else 1
        made = self.correct(
            "torchrun", f"--nnodes={nodes}", f"--nproc_per_node={world // nodes}", script
        )
        self.assertEqual(made.meta["world"], world)
        return made

    def test_tables_of_each_rank(self):
        """DLRM: 12 samples of each rank, 16 floats of a table for each; 5 tables, so that of 6
        ranks one has none. The dense layers have 13 -> 64 -> 16 and 31 -> 64 -> 1 (16 + 6 * 5 / 2).
        """
        dense = [4 * (13 * 64 + 64 + 64 * 16 + 16), 4 * (31 * 64 + 64 + 64 + 1)]
        for world in (1, 3, 6):
            with self.subTest(world=world):
                made = self.on(world, "dlrm.py")
                of_each = [12 * len(range(rank, 5, world)) * 16 * 4 for rank in range(world)]
                for rank in range(world):
                    step = collectives(made.tasks(rank, 1))
                    sends = [task["sends"] for task in step if task["op"] == "alltoallv"]
                    self.assertEqual(sends, [[of_each[rank]] * world, of_each])
                    reduced = [task["bytes"] for task in step if task["op"] == "all_reduce"]
                    self.assertEqual(sorted(reduced), dense)

    def test_contrastive_learning(self):
        """SimCLR with SyncBN: 5 norms of 64, 128, 256 and 512 channels, each of which gathers mean,
        variance and count, and sums up two numbers a channel backward; two matrices of 8 x 64
        embeddings; gradients of ResNet-18 without its last layer and of 512 -> 256 -> 64.
        """
        parameters = 11689512 - 513000 + 512 * 256 + 256 + 256 * 64 + 64
        channels = [64 << i for i in range(4) for _ in range(5)]
        for world in (1, 3):
            with self.subTest(world=world):
                step = collectives(self.on(world, "contrastive.py").tasks(world - 1, 1))
                norms = channels if world > 1 else []
                gathered = [task["bytes"] for task in step if task["op"] == "all_gather"]
                expected = [4 * world * (2 * one + 1) for one in norms] + [4 * world * 8 * 64] * 2
                self.assertEqual(sorted(gathered), sorted(expected))
                reduced = [task["bytes"] for task in step if task["op"] == "all_reduce"]
                self.assertEqual(
                    sum(reduced), 4 * (parameters + 2 * sum(norms) + 2 * world * 8 * 64)
                )

    def test_translation(self):
        """nn.Transformer with two layers a side, 64 wide, 128 within, for 500 words; the table of
        positions is a buffer, which DDP sends at each step (at its second also its buckets).
        """
        attention, within, norm = 4 * (64 * 64 + 64), 2 * 64 * 128 + 128 + 64, 2 * 64
        encoder, decoder = attention + within + 2 * norm, 2 * attention + within + 3 * norm
        parameters = 2 * 500 * 64 + 64 * 500 + 500 + 2 * (encoder + decoder) + 2 * norm
        for world in (1, 3):
            with self.subTest(world=world):
                made = self.on(world, "translation.py")
                self.assertEqual(made.meta["steps"]["count"], 3)
                step = collectives(made.tasks(0, 2))
                for op, expected in (("all_reduce", 4 * parameters), ("broadcast", 4 * 100 * 64)):
                    sizes = [task["bytes"] for task in step if task["op"] == op]
                    self.assertEqual(sum(sizes), expected, op)

    def test_several_gpus_of_one_process(self):
        made = self.correct("data_parallel.py", gpus_per_server=2)
        self.assertEqual(made.meta["world"], 2)
        self.assertIn("Let's use 2 GPUs!", made.output)
        one, other = made.tasks(0, 1), made.tasks(1, 1)
        sent = [task["bytes"] for task in of_kind(one, "send")]
        received = [task["bytes"] for task in of_kind(other, "recv")]
        self.assertEqual(sent, received)
        # Half the pictures, all parameters (and those of the other network's first half: none),
        # running statistics; the activation between the halves.
        parameters = 3 * 16 * 9 + 16 + 2 * 16 + 16 * 16 * 16 * 10 + 10
        self.assertIn(4 * 8 * 3 * 32 * 32, sent)
        self.assertIn(4 * parameters, sent)
        self.assertIn(4 * 16 * 64, sent)
        gradients = [task["bytes"] for task in of_kind(other, "send")]
        self.assertIn(4 * parameters, gradients)
        self.assertGreater(total(other, "flops"), 0)

    def test_graphs(self):
        made = self.correct("cuda_graph.py", steps=0)
        # Three steps of warm-up, five replays; the others are another optimizer's.
        step = made.tasks(0, 5)
        products = [(task["m"], task["n"], task["k"]) for task in of_kind(step, "gemm")]
        self.assertEqual(
            sorted(products),
            sorted(
                [(64, 128, 256), (64, 16, 128), (16, 128, 64), (64, 128, 16), (128, 256, 64)]
            ),
        )
        self.assertEqual({task["stream"] for task in of_kind(step, "gemm")}, {0})
        self.assertIn("done", made.output)

    def test_processes_that_meet_in_a_file(self):
        made = self.correct("spawn_file.py", steps=0)
        self.assertEqual(made.meta["world"], 2)
        self.assertIn("trained with seed 7", made.output)
        # Gradients of the one in 16 bits, of the other, twice, in 32.
        generator = 16 * 64 + 64 + 64 * 32 + 32
        critic = 32 * 64 + 64 + 64 + 1
        sent = collections.Counter(
            (task["dtype"], task["bytes"])
            for task in collectives(made.tasks(1, 1))
            if task["op"] == "all_reduce"
        )
        self.assertEqual(sent["f16", 2 * generator], 1)
        self.assertEqual(sent["f32", 4 * critic], 2)

    def test_clipping_of_today(self):
        """foreach of PyTorch 2: what is computed is the same."""
        path = self.write(
            "clip.py",
            "import torch\n"
            "model = torch.nn.Linear(8, 4).cuda()\n"
            "optimizer = torch.optim.SGD(model.parameters(), 0.1)\n"
            "model(torch.ones(2, 8, device='cuda')).sum().backward()\n"
            "clip = torch.nn.utils.clip_grad_norm_\n"
            "norm = clip(model.parameters(), 1.0, foreach=True)\n"
            "torch.nn.utils.clip_grad_value_(model.parameters(), 1.0, foreach=False)\n"
            "print(round(norm.item(), 3))\n"
            "optimizer.step()\n",
        )
        made = self.correct(path)
        # Each of 4 x 8 weights and 4 biases has the gradient 2: 2 x sqrt(36).
        self.assertEqual(made.output, "12.0\n")
        told = [note for note in made.meta["notes"] if "foreach" in note]
        self.assertEqual(len(told), 1)
        self.assertIn("clip_grad_norm_ at clip.py:6", told[0])

    def test_single_file_trainer(self):
        for command in ((), ("torchrun", "--nproc_per_node=2")):
            with self.subTest(command=command):
                made = self.correct(*command, "nanogpt_like.py", steps=0)
                self.assertIn("using fused AdamW: True", made.output)
                self.assertEqual(made.meta["steps"]["count"], 5)
                step = made.tasks(0, 3)
                updates = named(step, "aten::_fused_adam_")
                # One kernel for matrices, one for norms.
                self.assertEqual(len(updates), 2)
                self.assertEqual({task["kind"] for task in updates}, {"optimizer"})
                self.assertTrue(any("torch.compile" in note for note in made.meta["notes"]))

    def test_classifiers_of_torchvision(self):
        names = [] if ALL else list(SAMPLE)
        made = self.correct("torchvision_models.py", *names, steps=0)
        told = dict(line.split() for line in made.output.splitlines())
        self.assertEqual(len(told), 80 if ALL else len(SAMPLE))
        for name, parameters in SAMPLE.items():
            self.assertEqual(int(told[name]), parameters)


class Values(CaptureTest):
    def test_tensor_cores_for_single_precision(self):
        """By default in cuDNN, not in cuBLAS."""
        script = self.write(
            "tf32.py",
            "import torch\nfrom torch import nn\n"
            "net = nn.Sequential(nn.Conv2d(3, 8, 3), nn.Flatten(), nn.Linear(8 * 36, 4)).cuda()\n"
            "for precision in ('highest', 'high'):\n"
            "    torch.set_float32_matmul_precision(precision)\n"
            "    torch.backends.cudnn.allow_tf32 = precision == 'highest'\n"
            "    net(torch.randn(2, 3, 8, 8, device='cuda'))\n",
        )
        tasks = of_kind(self.capture(script).tasks(0), "conv", "gemm")
        self.assertEqual(
            [(task["kind"], task["dtype"]) for task in tasks],
            [("conv", "tf32"), ("gemm", "f32"), ("conv", "f32"), ("gemm", "tf32")],
        )

    def test_guards_and_numbers_of_all_ranks(self):
        """A loss that is not known is finite; small known numbers are those of all ranks."""
        script = self.write(
            "values.py",
            "import os, torch, torch.distributed as dist\n"
            "dist.init_process_group('nccl')\n"
            "rank, world = dist.get_rank(), dist.get_world_size()\n"
            "torch.cuda.set_device(int(os.environ['LOCAL_RANK']))\n"
            "big = torch.randn(1024, 1024, device='cuda')\nbig = big @ big\n"
            "loss = big.mean()\n"
            "assert torch.isfinite(loss) and loss == loss and torch.isfinite(big).all()\n"
            "assert not torch.isnan(loss) and torch.allclose(loss, loss)\n"
            "total = torch.tensor([rank + 0.5], device='cuda')\n"
            "dist.all_reduce(total)\n"
            "assert total.item() == sum(r + 0.5 for r in range(world)), total\n"
            "most = torch.tensor([rank], device='cuda', dtype=torch.int32)\n"
            "dist.all_reduce(most, op=dist.ReduceOp.MAX)\n"
            "assert most.item() == world - 1\n"
            "part = torch.zeros(2, dtype=torch.int64, device='cuda')\n"
            "dist.reduce_scatter_tensor(part, torch.arange(2 * world, device='cuda'))\n"
            "assert part.tolist() == [2 * rank * world, (2 * rank + 1) * world], part\n"
            "swapped = torch.empty(world, dtype=torch.int64, device='cuda')\n"
            "dist.all_to_all_single(swapped, 10 * rank + torch.arange(world, device='cuda'))\n"
            "assert swapped.tolist() == [10 * r + rank for r in range(world)], swapped\n"
            "told = [None] * world if rank == 0 else None\n"
            "dist.gather_object({'rank': rank}, told, dst=0)\n"
            "assert told is None or [one['rank'] for one in told] == list(range(world))\n"
            "assert torch.ones(3).pin_memory().is_pinned()\n"
            "print('fine')\n",
        )
        made = self.capture("torchrun", "--nproc_per_node=3", script)
        self.assertEqual(made.mistakes, [], made.errors)
        self.assertEqual(made.output, 3 * "fine\n")

    def test_options_of_ddp_and_names_of_today(self):
        script = self.write(
            "today.py",
            "import os, torch, torch.distributed as dist\nfrom torch import nn\n"
            "from torch.nn.parallel import DistributedDataParallel as DDP\n"
            "from tqdm import tqdm\n"
            "accelerator = torch.accelerator.current_accelerator()\n"
            "local = int(os.environ['LOCAL_RANK'])\n"
            "dist.init_process_group('cpu:gloo,cuda:nccl', device_id=torch.device('cuda', local))\n"
            "count = torch.tensor([1])\ndist.all_reduce(count)\n"
            "assert count.item() == dist.get_world_size()\n"
            "class Net(nn.Module):\n"
            "    def __init__(self):\n"
            "        super().__init__()\n"
            "        self.used, self.spare = nn.Linear(8, 8), nn.Linear(8, 8)\n"
            "        self.norm = nn.RMSNorm(8)\n"
            "    def forward(self, x):\n"
            "        return self.norm(self.used(x))\n"
            "with torch.device('cuda', local):\n"
            "    net = Net()\n"
            "assert net.used.weight.is_cuda\n"
            "nets = [DDP(net, find_unused_parameters=True),\n"
            "        DDP(nn.Linear(8, 8).cuda(), static_graph=True)]\n"
            "for net in nets:\n"
            "    optimizer = torch.optim.AdamW(net.parameters(), fused=True)\n"
            "    for _ in tqdm(range(3)):\n"
            "        torch.cuda.nvtx.range_push('step')\n"
            "        net(torch.randn(4, 8, device=accelerator)).sum().backward()\n"
            "        optimizer.step()\n"
            "        optimizer.zero_grad()\n"
            "        torch.cuda.nvtx.range_pop()\n"
            "print('fine')\n",
        )
        made = self.capture("torchrun", "--nproc_per_node=2", script, steps=0)
        self.assertEqual(made.mistakes, [], made.errors)
        self.assertEqual(made.output, 2 * "fine\n")


class Repeated(CaptureTest):
    def test_the_same_seed_gives_the_same_bytes(self):
        """Autograd's threads, DDP, seeds of three kinds: the record does not depend on time."""
        made = [
            self.capture("torchrun", "--nproc_per_node=2", "transformer_ddp.py") for _ in range(2)
        ]
        for name in ("meta.json", "rank-0.jsonl", "rank-1.jsonl"):
            written = []
            for one in made:
                with open(os.path.join(one.folder, name), "rb") as file:
                    written.append(file.read())
            self.assertEqual(*written, name)

    def test_time_of_the_program(self):
        """Given: as much before each operator; measured: some, which differs."""
        given = self.capture("rnn_language_model.py", host=7.5)
        before = of_kind(given.tasks(0, 1), "host")
        self.assertEqual({task["us"] for task in before}, {7.5})
        kernels = [task for task in given.tasks(0, 1) if task["kind"] == "softmax"]
        self.assertTrue(kernels)
        for task in kernels:
            self.assertEqual(given.tasks(0)[task["id"] - 1]["kind"], "host")
        measured = self.capture("rnn_language_model.py", host="measured")
        times = [task["us"] for task in of_kind(measured.tasks(0, 1), "host")]
        self.assertGreater(len(set(times)), 5)
        self.assertGreater(min(times), 0)


if __name__ == "__main__":
    assert os.path.isdir(SCRIPTS)
    main()
