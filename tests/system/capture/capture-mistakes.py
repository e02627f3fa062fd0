# SPDX-License-Identifier: GPL-2.0-only
# ctest: TIMEOUT 900 FULL
"""The commonest mistakes of distributed scripts, one script each: found and named, with ranks and
lines. (That correct scripts have none: capture-training.py.)
"""

import contextlib
import io
import os
import signal
import subprocess
import sys

sys.path.append(sys.path[0] + "/../shared")
from _capture import SCRIPTS, CaptureTest
from _system_test import ROOT, captured, main

from cluster_simulator.capture import CaptureFailed
from cluster_simulator.capture import __main__ as command
from cluster_simulator.errors import InvalidInput


def line_of(script, comment):
    """"operation.py:13" of the line with that comment."""
    with open(os.path.join(SCRIPTS, "mistakes", script), encoding="utf-8") as file:
        return next(
            f"{script}:{number}"
            for number, line in enumerate(file, 1)
            if line.rstrip().endswith(f"# {comment}")
        )


class Mistakes(CaptureTest):
    def one(self, script, kind, ranks, comments, *words, each=3, **options):
        """The script has this mistake and no other one; its text has these words. Returns the error
        of a script that fails.
        """
        options.setdefault("patience", 20)
        command = ("torchrun", f"--nproc_per_node={each}", os.path.join("mistakes", script))
        failed = None
        try:
            made = self.capture(*command, **options)
        except CaptureFailed as error:
            failed, made = error, error.captured
        self.assertEqual([mistake["kind"] for mistake in made.mistakes], [kind], made.mistakes)
        mistake = made.mistakes[0]
        self.assertEqual(mistake["ranks"], ranks, mistake)
        self.assertEqual(
            sorted(mistake["lines"]), sorted(line_of(script, comment) for comment in comments)
        )
        for word in words:
            self.assertIn(word, mistake["text"])
        return failed

    def test_operation(self):
        self.one(
            "operation.py",
            "mismatch",
            [0, 1, 2],
            ["rank 0", "others"],
            "rank 0 does all_reduce of 256 B (f32)",
            "ranks 1, 2 do all_gather of 768 B (f32)",
        )

    def test_size(self):
        self.one("size.py", "mismatch", [0, 1, 2], ["sizes"], "rank 2 does all_reduce of 192 B")

    def test_data_type(self):
        """As many bytes, so that only the type tells."""
        self.one("dtype.py", "mismatch", [0, 1, 2], ["types"], "256 B (f16)", "256 B (f32)")

    def test_order(self):
        self.one("order.py", "order", [0, 1, 2], ["x first", "y first"], "collective 1")

    def test_root(self):
        self.one("root.py", "mismatch", [0, 1, 2], ["root"], "root 0", "root 1", "root 2")

    def test_reduction(self):
        self.one(
            "reduction.py",
            "mismatch",
            [0, 1, 2],
            ["reduction"],
            "rank 0 does all_reduce of 40 B (f32), max,",
            "ranks 1, 2 do all_reduce of 40 B (f32), sum,",
        )

    def test_rows_of_an_all_to_all(self):
        """50 rows of 16 numbers of 4 bytes for 100."""
        self.one(
            "splits.py",
            "mismatch",
            [0, 1],
            ["rows"],
            "rank 0 sends 3200 B to rank 1",
            "which expects 6400 B",
        )

    def test_a_rank_that_never_comes(self):
        self.one(
            "asleep.py",
            "missing",
            [0, 1, 2],
            ["others"],
            "ranks 1, 2 wait in all_reduce at asleep.py:13 for rank 0, which does something else",
            patience=5,
        )

    def test_missing_participant(self):
        self.one("missing.py", "missing", [0, 1, 2], ["alone"], "ranks 1, 2 do nothing")

    def test_a_backward_of_the_script(self):
        """The line is that of the collective, not of what autograd does."""
        self.one("own_backward.py", "missing", [0, 1, 2], ["but one"], "rank 2 does nothing")

    def test_group_made_by_members_only(self):
        self.one("group.py", "missing", [0, 1], ["not on all"], "waits for rank 2, which ended")

    def test_send_without_receive(self):
        self.one("send.py", "unmatched", [0, 1], ["into the void"], "rank 1 does nothing")

    def test_world_size(self):
        self.one("world_size.py", "world-size", [0, 1, 2], ["not 8"], "8 ranks", "3 were started")

    def test_device(self):
        self.one(
            "device.py",
            "world-size",
            [2, 3],
            ["not the local rank"],
            "invalid device ordinal: there is no GPU 2: this process sees 2 GPUs (0 to 1)",
            each=2,
            servers=2,
            gpus_per_server=2,
        )

    def test_more_processes_than_gpus(self):
        """9 on servers of 8; the error says it as well as the mistake."""
        script = self.write(
            "nine.py",
            "import os, torch, torch.distributed as dist\n"
            'dist.init_process_group("nccl")\n'
            'torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))\n'
            'dist.all_reduce(torch.ones(4, device="cuda"))\n',
        )
        error = self.fails("torchrun", "--nproc_per_node=9", script)
        said = (
            "there is no GPU 8: this process sees 8 GPUs (0 to 7), and 9 processes were started on"
            " its server"
        )
        self.assertTrue(str(error).endswith(said), error)
        found = error.captured.mistakes
        self.assertEqual([(one["kind"], one["ranks"]) for one in found], [("world-size", [8])])
        self.assertIn(said, found[0]["text"])

    def test_devices_of_tensors(self):
        """A script that never says set_device, and puts its tensors where they belong: NCCL works
        on the tensors' GPUs, so nothing is wrong.
        """
        script = self.write(
            "to_device.py",
            "import os, torch, torch.distributed as dist\n"
            'dist.init_process_group("nccl")\n'
            """device = f"cuda:{os.environ['LOCAL_RANK']}"\n"""
            "total = torch.ones(4).to(device) * 2\n"
            "dist.all_reduce(total)\n"
            "model = torch.nn.Linear(4, 4).to(device)\n"
            "model = torch.nn.parallel.DistributedDataParallel(model)\n"
            "optimizer = torch.optim.SGD(model.parameters(), lr=0.1)\n"
            "for _ in range(3):\n    model(total).sum().backward()\n    optimizer.step()\n",
        )
        made = self.capture("torchrun", "--nproc_per_node=3", script)
        self.assertEqual(made.mistakes, [])
        self.assertEqual(set(made.meta["role_of"]), {0})

    def test_all_receive_first(self):
        self.one(
            "receive_first.py",
            "order",
            [0, 1, 2],
            ["nobody has sent"],
            "rank 0 is in recv of 4194304 B (f32)",
            "from rank 2",
        )

    def test_groups_in_another_order(self):
        """Also where the numbers are known, for which ranks of the capture wait."""
        self.one(
            "groups_order.py",
            "order",
            [0, 1, 2],
            ["in turns"],
            "ranks wait for each other: rank 0 is in all_reduce of 4000 B (f32)",
            patience=5,
        )

    def test_a_batch_more(self):
        self.one("uneven.py", "missing", [0, 1, 2], ["once more"], "ranks 1, 2 do nothing")

    def test_tensor_of_the_host(self):
        self.one(
            "host_tensor.py",
            "died",
            [0, 1, 2],
            ["not on the GPU"],
            "Tensors must be CUDA and dense",
        )

    def test_a_collective_of_one_rank_in_training(self):
        """It meets the broadcast of DDP's indices of buckets: of 6 parameters, and how many buckets
        there are, each of 4 bytes; and no rank dies of bytes that were not meant for it. That ranks
        waited in vain is the capture's own word: no failure of the script, as on GPUs.
        """
        failed = self.one(
            "ddp_alone.py",
            "mismatch",
            [0, 1, 2, 3],
            ["alone", "the step"],
            "rank 0 does all_reduce of 4 B (f32), sum,",
            "ranks 1, 2, 3 do broadcast of 28 B (i32) with root 0",
            each=4,
        )
        self.assertIsNone(failed)

    def test_an_evaluation_of_one_rank(self):
        """DDP broadcasts mean and variance of 8 channels, 64 bytes, before each forward pass."""
        self.one(
            "bn_alone.py",
            "mismatch",
            [0, 1, 2],
            ["alone", "the step"],
            "rank 0 does broadcast of 64 B (f32)",
            "ranks 1, 2 do broadcast of 28 B (i32)",  # 6 parameters
        )

    def test_a_validation_of_one_rank(self):
        """The first collective that ranks do at different lines is told first: FSDP's calls are
        alike for three more, the layers that rank 0 gathers alone.
        """
        alone, step = (line_of("fsdp_alone.py", comment) for comment in ("alone", "the step"))
        self.one(
            "fsdp_alone.py",
            "mismatch",
            [0, 1, 2],
            ["alone", "the step", "the gradients"],
            f"on: rank 0 is at {alone}; ranks 1, 2 are at {step}",
        )

    def test_lines_of_each_rank_are_no_mistake(self):
        """Where they are followed by one, only that is told."""
        script = self.write(
            "branches.py",
            "import os, torch, torch.distributed as dist\n"
            'dist.init_process_group("nccl")\n'
            'torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))\n'
            "x = torch.ones(6, device='cuda')\n"
            "for i in range(2):\n"
            "    if dist.get_rank() == 0:\n        dist.broadcast(x, 0)\n"
            "    else:\n        dist.broadcast(x, 0)\n"
            "dist.all_reduce(x[: 2 + dist.get_rank()])\n",
        )
        made = self.capture("torchrun", "--nproc_per_node=2", script)
        (mistake,) = made.mistakes
        self.assertEqual((mistake["kind"], mistake["lines"]), ("mismatch", ["branches.py:10"]))
        self.assertNotIn("apart", mistake["text"])

    def test_masks_warn_of_nothing(self):
        """Which of unknown numbers are large enough is not known: all are taken, in the result's
        shape as well.
        """
        script = self.write(
            "masked.py",
            "import torch\n"
            "known = torch.tensor([0, 1, 1, 0, 1], device='cuda')\n"
            "unknown = torch.randn(1 << 20, device='cuda')[:5] * 0 + torch.ones(5, device='cuda')\n"
            "x = torch.ones(5, 2, device='cuda')\n"
            "print(list(x[known >= 1].shape), list(x[unknown >= 1].shape))\n",
        )
        made = self.capture("python3", script)
        self.assertEqual(made.output, "[3, 2] [5, 2]\n")
        self.assertNotIn("resized", made.errors)

    def test_strides(self):
        """PyTorch's words for what NCCL cannot do; parts of lists are copied, so they may be."""
        self.one(
            "strided.py",
            "died",
            [0, 1, 2],
            ["strided"],
            "RuntimeError: Tensors must be non-overlapping and dense",
        )
        script = self.write(
            "lists.py",
            "import os, torch, torch.distributed as dist\n"
            'dist.init_process_group("nccl")\n'
            'torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))\n'
            "x = torch.ones(6, 2, device='cuda')\n"
            "dist.all_gather([torch.zeros(6, 4, device='cuda')[:, :2] for _ in range(2)], x)\n"
            "dist.reduce_scatter(x, [torch.zeros(6, 4, device='cuda')[:, :2] for _ in range(2)])\n"
            "dist.all_reduce(x.t())\n"  # dense, in another order
            "for bad in (lambda: dist.all_to_all_single(x.t(), x.t()),\n"
            "            lambda: dist.broadcast(x[::2], 0), lambda: dist.send(x[:, 1], 1)):\n"
            "    try:\n        bad()\n"
            "    except RuntimeError as error:\n        print(error)\n",
        )
        made = self.capture("torchrun", "--nproc_per_node=2", script)
        self.assertEqual(made.mistakes, [])
        dense = "Tensors must be non-overlapping and dense"
        self.assertEqual(
            sorted(made.output.splitlines()),
            2 * ["Tensors must be contiguous"] + 4 * [dense],
        )

    def test_a_gpu_of_two_ranks(self):
        self.one(
            "shared_gpu.py",
            "world-size",
            [0, 1, 2],
            ["without set_device"],
            "ranks 0, 1, 2 of a server use the same GPU, 0, in all_reduce",
        )

    def test_a_gpu_for_each_by_what_it_sees(self):
        """One that sees its own GPU only calls it the first."""
        script = self.write(
            "own.py",
            "import os\n"
            "os.environ['CUDA_VISIBLE_DEVICES'] = os.environ['LOCAL_RANK']\n"
            "import torch\nimport torch.distributed as dist\n"
            "dist.init_process_group('nccl')\n"
            "assert torch.cuda.device_count() == 1\n"
            "dist.all_reduce(torch.ones(4, device='cuda'))\n",
        )
        made = self.capture("torchrun", "--nproc_per_node=2", script)
        self.assertEqual(made.mistakes, [])

    def test_out_of_memory(self):
        """The input and an activation are of 32 GiB each, so the next one has no place."""
        self.one("memory.py", "out-of-memory", [0], ["too large"], "32.00 GiB", each=1)

    def test_a_rank_that_dies(self):
        error = self.one("died.py", "died", [1], ["dies"], "FileNotFoundError", "/no/such/file")
        # What is said of it is its traceback, and its status.
        self.assertIn("Traceback (most recent call last):", str(error))
        self.assertIn("FileNotFoundError: [Errno 2]", str(error))
        self.assertNotIn("workers.py", str(error))
        self.assertEqual(error.exit_status, 1)
        # One that dies in its first lines: that no optimizer made a step is no news.
        first = self.write("first.py", "import torch\ntorch.ones(2).cuda()\nimport nothing_such\n")
        self.assertEqual(self.fails(first).captured.meta["notes"], [])

    def test_what_follows_of_a_rank_that_dies(self):
        """Is no mistake of its own: what rank 0 sent and rank 1 did not come to take."""
        self.one("pipeline_died.py", "died", [2], ["dies"], "ValueError: no labels", patience=5)

    def test_what_follows_of_a_mismatch(self):
        """Objects that cannot be read behind it are no mistake of their own; a bug behind it is
        told with it.
        """
        script = self.write(
            "objects.py",
            "import torch, torch.distributed as dist\n"
            "dist.init_process_group('nccl')\n"
            "rank = dist.get_rank()\n"
            "torch.cuda.set_device(rank)\n"
            "x = torch.ones(3000, device='cuda')\n"
            "dist.all_reduce(x.half() if rank == 1 else x)\n"
            "raise EOFError('nothing to read')\n",
        )
        for each in (2, 3):
            run = captured(
                [sys.executable, "-m", "cluster_simulator.capture", "--check", "torchrun"]
                + [f"--nproc_per_node={each}", script],
                cwd=os.path.join(ROOT, "scripts"),
            )
            self.assertEqual(run.returncode, 3, run.stderr)
            told = [line for line in run.stdout.splitlines() if line.startswith("mistake")]
            self.assertEqual(len(told), 1, run.stdout)
            self.assertRegex(
                told[0],
                r"\(mismatch\): .*12000 B .* objects\.py:6.*6000 B .*"
                r"\(then rank 0 failed at objects\.py:7: EOFError: nothing to read",
            )
            self.assertNotIn("no optimizer", run.stdout)

    def test_an_error_without_words(self):
        script = self.write(
            "wordless.py",
            "import torch\n"
            "class Wordless(Exception):\n"
            "    def __str__(self):\n"
            "        raise RuntimeError('no words')\n"
            "torch.ones(2).cuda()\n"
            "raise Wordless()\n",
        )
        error = self.fails("torchrun", "--nproc_per_node=2", script)
        [mistake] = error.mistakes
        self.assertEqual((mistake["kind"], mistake["lines"]), ("died", ["wordless.py:6"]))
        self.assertIn("Wordless: <its __str__ raises RuntimeError>", mistake["text"])
        self.assertIn("Wordless: <exception str() failed>", str(error))

    def test_unused_parameters(self):
        self.one(
            "unused.py",
            "unused-parameters",
            [0, 1],
            ["second time"],
            "for the parameters unused.weight, unused.bias; use them for the loss, leave",
            "find_unused_parameters=True (so does rank 1)",
            each=2,
        )
        with open(os.path.join(SCRIPTS, "mistakes", "unused.py"), encoding="utf-8") as file:
            many = file.read().replace("= torch.nn.Linear(8, 8)", "= torch.nn.LSTM(8, 8, 2)")
        many = many.replace("return self.used(x)", "return self.used(x)[0]")
        error = self.fails("torchrun", "--nproc_per_node=2", self.write("many.py", many))
        self.assertRegex(
            error.mistakes[0]["text"],
            r"unused\.weight_ih_l0, unused\.weight_hh_l0, unused\.bias_ih_l0,"
            r" unused\.bias_hh_l0 and 4 more; use them",
        )

    def test_shapes(self):
        self.one("shapes.py", "shapes", [1], ["differ"], "[9, 8]", each=2)

    def test_a_status_of_the_script(self):
        script = self.write("five.py", "import sys, torch\nprint('so far')\nsys.exit(5)\n")
        self.assertEqual(self.fails(script).exit_status, 5)


def in_this_process(words):
    """(status, standard error) of the command: a process of its own begins for half a second."""
    signals = [(number, signal.getsignal(number)) for number in (signal.SIGTERM, signal.SIGHUP)]
    errors = io.StringIO()
    try:
        with contextlib.redirect_stderr(errors):
            return command.main(words), errors.getvalue()
    finally:
        for number, before in signals:
            signal.signal(number, before)


class CommandLine(CaptureTest):
    def command_line(self, *words):
        return captured(
            [sys.executable, "-m", "cluster_simulator.capture", *words],
            cwd=os.path.join(ROOT, "scripts"),
        )

    def test_check(self):
        wrong = os.path.join(SCRIPTS, "mistakes", "order.py")
        run = self.command_line("--check", "torchrun", "--nproc_per_node=2", wrong)
        self.assertEqual(run.returncode, 3, run.stderr)
        self.assertIn("mistake (order)", run.stdout)
        right = os.path.join(SCRIPTS, "moe.py")
        run = self.command_line("--check", "torchrun", "--nproc_per_node=2", right)
        self.assertEqual(run.returncode, 0, run.stderr)
        self.assertNotIn("mistake", run.stdout)

    def test_wrong_words(self):
        right = os.path.join(SCRIPTS, "moe.py")
        wrong = (
            (["train.py"], "--out=DIR is needed"),
            (["--check"], "there is no command"),
            (["--check", "no-such.py"], "'no-such.py'"),
            (["--check", "--gpu=H999", right], "--gpu='H999': allowed: K80"),
            (["--check", "--gpus-per-server=0", right], "--gpus-per-server=0"),
            (["--check", "--capture-ranks=some", right], "--capture-ranks=some: allowed"),
            (["--check", "--capture-ranks=0,1,0", right], "=0,1,0: rank 0 stands twice"),
            (["--check", "true"], "started no Python script"),
            (["--check", "--memory=-5", right], "--memory=-5: allowed: 2MiB to"),
            (["--check", "--servers=131073", right], "--servers=131073: allowed: 1 to 131072"),
            (["--check", "torchrun", "--nosuch=1", right], "--nosuch: is none of its options"),
            (["--check", "torchrun", "--nnodes=4:2", right], "4:2: allowed: N, or MIN:MAX"),
            (["--check", "torchrun", "--master_port=65536", right], "=65536: is no port; allowed"),
            (["--check", "torchrun", "--master_port=-1", right], "--master_port=-1: is no port"),
            (
                ["--check", "torchrun", "--nnodes=2", "--node_rank=2", right],
                "--node_rank=2: of 2 servers (--nnodes); allowed: 0 to 1",
            ),
            (["--check", "torchrun", "--nnodes=131073", right], "--nnodes=131073: allowed: 1 to"),
            (
                ["--check", "torchrun", "--nnodes=131072", "--nproc_per_node=2", right],
                "262144 ranks; allowed: at most 131072",
            ),
            (["--setup", right], "--setup takes no command"),
            (["--out=/dev/null", right], "--out=/dev/null: is no folder"),
        )
        for words, said in wrong:
            with self.subTest(words=words):
                status, errors = in_this_process(words)
                self.assertEqual(status, 2, errors)
                self.assertIn(said, errors)
                self.assertEqual(errors.count("error: "), 1)
        run = self.command_line("--check", "torchrun", "--nproc_per_node=none", right)
        self.assertEqual(run.returncode, 2, run.stderr)
        self.assertIn("--nproc_per_node=none", run.stderr)

    def test_isolation(self):
        """A script reaches no network, if the kernel can see to that."""
        script = self.write(
            "net.py",
            "import torch, socket\n"
            "print(sorted(name for _, name in socket.if_nameindex()))\n"
            "torch.ones(3, device='cuda')\n",
        )
        if subprocess.run(["unshare", "-rn", "true"], capture_output=True).returncode:
            made = self.capture(script)
            self.assertTrue(any("not isolated" in note for note in made.meta["notes"]))
            return
        self.assertEqual(self.capture(script).output, "['lo']\n")
        self.assertEqual(
            self.capture(script, network=True).output,
            str(sorted(os.listdir("/sys/class/net"))) + "\n",
        )

    def test_bad_arguments_of_python(self):
        for options in ({"steps": -1}, {"ranks": [9]}, {"ranks": "few"}, {"patience": 0}):
            with self.subTest(options=options):
                with self.assertRaises((InvalidInput, CaptureFailed)):
                    self.capture("torchrun", "--nproc_per_node=2", "moe.py", **options)


if __name__ == "__main__":
    main()
