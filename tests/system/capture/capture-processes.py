# SPDX-License-Identifier: GPL-2.0-only
# ctest: TIMEOUT 600 FULL
"""Captured scripts that start their ranks themselves, by each start method of multiprocessing."""

import os
import sys

sys.path.append(sys.path[0] + "/../shared")
from _capture import CaptureTest, collectives
from _system_test import main

from cluster_simulator.errors import SimulatorError

RANKS = """
import os, sys
import multiprocessing
import torch, torch.distributed as dist, torch.multiprocessing, torch.nn as nn

def train(rank, ranks):
    os.environ.update(MASTER_ADDR="localhost", MASTER_PORT="29511")
    dist.init_process_group("nccl", rank=rank, world_size=ranks)
    torch.cuda.set_device(rank)
    model = nn.parallel.DistributedDataParallel(nn.Linear(30, 7).cuda())
    optimizer = torch.optim.SGD(model.parameters(), 0.1)
    for _ in range(2):
        model(torch.randn(5, 30, device=rank)).sum().backward()
        optimizer.step()

def start(methods, ranks):
    methods = methods.split(",")  # several take turns
    processes = [
        multiprocessing.get_context(methods[rank % len(methods)]).Process(
            target=train, args=(rank, ranks)
        )
        for rank in range(ranks)
    ]
    for process in processes:
        process.start()
    for process in processes:
        process.join()
    print("statuses", [process.exitcode for process in processes])

def start_by_torch(method, ranks):
    torch.multiprocessing.start_processes(train, (ranks,), nprocs=ranks, start_method=method)

def fork(method, ranks):
    for rank in range(ranks):
        if os.fork() == 0:
            train(rank, ranks)
            sys.exit(0)
    for _ in range(ranks):
        os.wait()

if __name__ == "__main__":
    exec(sys.argv[4])
    globals()[sys.argv[1]](sys.argv[2], int(sys.argv[3]))
"""

TRAINING = """
import os, torch, torch.distributed as dist
dist.init_process_group("nccl"); torch.cuda.set_device(dist.get_rank())
model = torch.nn.Linear(30, 7).cuda()
optimizer = torch.optim.SGD(model.parameters(), 0.1)
for _ in range(2):
    model(torch.randn(5, 30, device="cuda")).sum().backward()
    dist.all_reduce(model.weight.grad)
    optimizer.step()
"""


class Processes(CaptureTest):
    def ranks(self, how, method, ranks, before="pass", **options):
        path = self.write("ranks.py", RANKS)
        return self.capture("python3", path, how, method, ranks, before, **options)

    def test_each_start_method(self):
        """What DDP reduces: 30 x 7 + 7 numbers of 4 B a step; and each has its record's end. Two
        ranks by each method of Python's, and of one job, so that PyTorch is imported less often.
        """
        for how, method, ranks in (
            ("start", "fork,forkserver,spawn", 6),
            ("start_by_torch", "fork", 2),
            ("start_by_torch", "forkserver", 3),
            ("fork", "-", 2),
        ):
            with self.subTest(how=how, method=method):
                # (How many GPUs there are NVML tells, without CUDA.)
                made = self.ranks(how, method, ranks, "assert torch.cuda.device_count() == 8")
                self.assertEqual((made.meta["world"], made.mistakes), (ranks, []))
                self.assertEqual(made.errors, "")
                self.assertEqual(len(made.meta["memory"]), ranks)
                for rank in range(ranks):
                    sent = [
                        task["bytes"]
                        for task in collectives(made.tasks(rank, 1))
                        if task["op"] == "all_reduce"
                    ]
                    self.assertEqual(sent, [4 * (30 * 7 + 7)])

    def test_cuda_does_not_outlive_a_fork(self):
        """PyTorch's words; the mistake names the line that used a GPU in the forked process."""
        line = 1 + RANKS.splitlines().index("    torch.cuda.set_device(rank)")
        for before in ("torch.zeros(3).cuda()", "torch.cuda.is_available()", "torch.cuda.init()"):
            with self.subTest(before=before):
                made = self.ranks("start", "fork", 2, before)
                self.assertIn("statuses [1, 1]", made.output)
                self.assertIn("RuntimeError: Cannot re-initialize CUDA in forked", made.errors)
                [mistake] = made.mistakes
                self.assertEqual(
                    (mistake["kind"], mistake["ranks"], mistake["lines"]),
                    ("died", [0, 1], [f"ranks.py:{line}"]),
                )
        error = self.fails(
            "python3",
            self.write("ranks.py", RANKS),
            "start_by_torch",
            "fork",
            2,
            "torch.zeros(3).cuda()",
        )
        self.assertIn("Cannot re-initialize CUDA in forked subprocess", str(error))
        made = self.ranks("start", "forkserver", 2, "torch.zeros(3).cuda()")
        self.assertEqual((made.meta["world"], made.mistakes), (2, []))

    def test_workers_of_a_loader_use_no_gpu(self):
        """As each training script has them: they are no ranks, and no mistake; one that asks for a
        GPU is.
        """
        script = """
import torch, torch.nn as nn
from torch.utils.data import DataLoader

class Numbers(torch.utils.data.Dataset):
    def __len__(self):
        return 12
    def __getitem__(self, i):
        torch.cuda.is_available(), torch.manual_seed(i), torch.cuda.empty_cache()
        return torch.full((8,), float(i))%s

model = nn.Linear(8, 2).cuda()
optimizer = torch.optim.SGD(model.parameters(), 0.1)
for batch in DataLoader(Numbers(), batch_size=4, num_workers=2):
    model(batch.cuda()).sum().backward()
    optimizer.step()
"""
        made = self.capture("python3", self.write("loader.py", script % ""))
        self.assertEqual((made.meta["world"], made.mistakes, made.errors), (1, [], ""))
        self.assertEqual(made.meta["steps"]["count"], 3)
        error = self.fails("python3", self.write("loader.py", script % ".cuda()"))
        self.assertIn("Cannot re-initialize CUDA in forked subprocess", str(error))

    def test_an_environment_of_its_own(self):
        """What the capture put into the environment is there again, whoever drops it."""
        training = self.write("training.py", TRAINING)
        own = "{name: os.environ[name] for name in ('PATH', 'RANK', 'WORLD_SIZE')}"
        starts = [
            f"subprocess.check_call([sys.executable, {training!r}], env={own})",
            f"os.execve(sys.executable, [sys.executable, {training!r}], {own})",
            f"os.waitpid(os.posix_spawn(sys.executable, ['p', {training!r}], {own}), 0)",
            f"subprocess.check_call(['python3', '-I', {training!r}])",
        ]
        # Each rank in a way of its own: who is not captured is missed by the others.
        each = "".join(
            f"if os.environ['RANK'] == '{rank}':\n    {start}\n"
            for rank, start in enumerate(starts)
        )
        script = self.write("each.py", "import os, subprocess, sys\n" + each)
        for ranks, command in (
            (4, ("torchrun", "--nproc_per_node=4", script)),
            (2, (f"env -i PATH=$PATH torchrun --nproc_per_node=2 {training}",)),
            (2, (f"PYTHONPATH= torchrun --nproc_per_node=2 {training}",)),
        ):
            if len(command) == 1:
                command = (self.write("line.sh", command[0] + "\n"),)
            with self.subTest(command=command):
                made = self.capture(*command)
                self.assertEqual((made.meta["world"], made.mistakes), (ranks, []))
                self.assertEqual(made.meta["steps"]["count"], 2)
                for rank in range(ranks):
                    sent = [task["bytes"] for task in collectives(made.tasks(rank, 1))]
                    self.assertEqual(sent, [4 * 30 * 7])  # the gradient of the weight
        alone = self.write("alone.py", "import torch\ntorch.ones(3).cuda()\n")
        one = self.write("one.sh", f"PYTHONPATH= python3 -I {alone}\n")
        self.assertEqual(self.capture(one).meta["world"], 1)

    def test_a_folder_is_a_program(self):
        """As for Python: its __main__.py runs, and imports what is beside it."""
        os.mkdir(os.path.join(self.folder, "program"))
        self.write("program/beside.py", "import torch\ntorch.cuda.set_device(0)\n")
        text = "import beside, torch\ntorch.ones(3).cuda()\n"
        main_file = self.write("program/__main__.py", text)
        made = self.capture("torchrun", "--nproc_per_node=2", os.path.dirname(main_file))
        self.assertEqual(made.meta["world"], 2)
        self.assertEqual(made.tasks(0)[0]["line"], "__main__.py:2")
        empty = os.path.join(self.folder, "empty")
        os.mkdir(empty)
        for path, said in (
            (empty, f"can't find '__main__' module in '{empty}'"),
            (f"{empty}/none", f"can't open file '{empty}/none': No such file or directory"),
        ):
            with self.assertRaisesRegex(SimulatorError, said):
                self.capture("torchrun", "--nproc_per_node=2", path)


if __name__ == "__main__":
    main()
