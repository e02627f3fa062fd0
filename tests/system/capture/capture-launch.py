# SPDX-License-Identifier: GPL-2.0-only
# ctest: TIMEOUT 1200 FULL
"""dltrain --launch: a training script is captured and simulated by one command."""

import json
import os
import shlex
import signal
import subprocess
import sys
import time

sys.path.append(sys.path[0] + "/../shared")
from _capture import SCRIPTS, CaptureFailed, CaptureTest, capture
from _report import page_data
from _system_test import PROGRAMS, ROOT, captured, main

from cluster_simulator.capture import command_line  # noqa: E402
from cluster_simulator.capture.launch import words as words_of  # noqa: E402
from cluster_simulator.capture.launch.counts import WrongWords  # noqa: E402
from cluster_simulator.capture.launch.mpirun import mpirun  # noqa: E402
from cluster_simulator.errors import InvalidInput  # noqa: E402

PARAMETERS = 25557032  # of ResNet-50
FILES = ("calls.log", "network_events.log", "stats.json", "stdout.txt", "stderr.txt", "report.html")


def script(*parts):
    return os.path.join(SCRIPTS, *parts)


def torchrun(each, *parts):
    return f"--launch=torchrun --nproc_per_node={each} {script(*parts)}"


class OneCommand(CaptureTest):
    def test_a_script_on_the_cluster_of_the_run(self):
        """DDP's gradients are what the network carries, 4 B a parameter; the folder has all there
        is, and what is recorded of it runs by --trace as well.
        """
        cluster = ["--servers=2", "--gpus-per-server=2", "--warmup=0"]
        run = self.run_program(["dltrain", torchrun(2, "resnet50_ddp.py"), *cluster])
        stats = run.stats
        self.assertEqual(stats["gpus"], 4)
        self.assertEqual(stats["trace"]["ranks"], 4)
        self.assertEqual(stats["mistakes"], [])
        self.assertGreater(
            stats["gpu_memory_peak"]["reserved_bytes"], stats["gpu_memory_peak"]["allocated_bytes"]
        )
        # Parameters, gradients and a momentum-free SGD: two copies in fp32 at least.
        self.assertGreater(stats["gpu_memory_peak"]["allocated_bytes"], 8 * PARAMETERS)
        reduced = [one["bytes"] for one in stats["collectives"] if one["op"] == "all_reduce"]
        self.assertEqual(sum(reduced), 4 * PARAMETERS)
        for name in FILES:
            self.assertTrue(os.path.isfile(run.path(name)), name)
        self.assertIn("step 0 loss", run.text("stdout.txt"))
        self.assertEqual(run.text("stderr.txt"), "")
        self.assertIn("SGD.step at resnet50_ddp.py:", stats["trace"]["step_ended_by"])
        self.assertIn("GPU memory ", run.out)
        again = self.run_program(["dltrain", f"--trace={run.path('capture')}", *cluster])
        self.assertEqual(again.stats["step_time_us"], stats["step_time_us"])
        # The configuration as run captures it anew.
        self.assertEqual(
            stats["configuration"]["launch"], {"command": torchrun(2, "resnet50_ddp.py")[9:]}
        )
        self.assertNotIn("trace", stats["configuration"]["training"])

    def test_servers_are_those_of_the_launcher_unless_they_are_given(self):
        job = self.write("job.sh", f"torchrun --nnodes=2 --nproc_per_node=2 {script('moe.py')}\n")
        run = self.run_program(["dltrain", f"--launch={job}", "--capture-steps=2"])
        self.assertEqual((run.stats["servers"], run.stats["gpus"]), (2, 4))
        self.assertEqual(run.stats["trace"]["captured_steps"], 2)
        run = self.run_program(["dltrain", f"--launch={job}", "--servers=3", "--gpus-per-server=4"])
        self.assertEqual((run.stats["servers"], run.stats["trace"]["ranks"]), (3, 6))
        self.assertEqual(run.stats["gpus"], 12)
        # Ranks 0 and 1 are server 0's, 2 and 3 server 1's: all talk to all, so all ports are used.
        hosts = {row["src"] for row in run.rows("flows.csv")}
        self.assertEqual(len(hosts), 3)

    def test_one_gpu_of_a_server(self):
        """What it takes is what it takes alone: GPUs that do nothing wait for nobody. Copies from
        the host are the host's.
        """
        path = self.write(
            "one.py",
            "import torch\n"
            "model = torch.nn.Linear(4096, 4096).cuda()\n"
            "o = torch.optim.SGD(model.parameters(), lr=0.1)\n"
            "for _ in range(4):\n"
            "    model(torch.ones(512, 4096, device='cuda')).sum().backward()\n"
            "    o.step()\n    o.zero_grad()\n",
        )
        several = self.run_program(["dltrain", f"--launch=python3 {path}", "--servers=1"])
        self.assertEqual(several.stats["gpus"], 8)
        self.assertIn("7 of 8 GPUs do nothing: means are of the others", several.err)
        alone = self.run_program(
            ["dltrain", f"--trace={several.path('capture')}", "--gpus-per-server=1"]
        )
        for key in ("step_time_us", "compute_time_us", "exposed_communication_time_us"):
            self.assertAlmostEqual(several.stats[key], alone.stats[key], places=6, msg=key)
        self.assertLess(
            several.stats["exposed_communication_time_us"], 0.01 * several.stats["step_time_us"]
        )
        # The folder of a run is not its capture.
        self.refuse(f"dltrain --trace={several.folder}", "its capture is", "/capture")

    def test_bytes_of_gpus_that_work(self):
        """Six of 16 GPUs have a rank, and make a ring: each of them sends 2 (6 - 1) / 6 of the
        gradients. The other ten are no part of a GPU's mean, as in its times.
        """
        path = self.write(
            "three.py",
            "import os, torch, torch.distributed as dist\n"
            "dist.init_process_group('nccl')\n"
            "torch.cuda.set_device(int(os.environ['LOCAL_RANK']))\n"
            "model = torch.nn.Linear(1024, 1536, bias=False).cuda()\n"
            "model = torch.nn.parallel.DistributedDataParallel(model)\n"
            "o = torch.optim.SGD(model.parameters(), lr=0.1)\n"
            "for _ in range(4):\n"
            "    model(torch.ones(8, 1024, device='cuda')).sum().backward()\n"
            "    o.step()\n    o.zero_grad()\n",
        )
        run = self.run_program(
            [
                *("dltrain", f"--launch=torchrun --nproc_per_node=3 {path}"),
                *("--servers=2", "--algorithm=ring"),
            ]
        )
        gradients = 4 * 1024 * 1536
        self.assertEqual((run.stats["gpus"], run.stats["trace"]["ranks"]), (16, 6))
        sent = 2 * 5 / 6 * gradients
        self.assertAlmostEqual(run.stats["bytes_sent_per_gpu"]["all_reduce"] / sent, 1, places=6)
        self.assertIn(f"{sent / 1e6:.1f} MB", run.out)

    def test_a_rank_that_others_do_not_do_as(self):
        """Rank 0 begins a chain of three; of it alone nobody else's part can be made."""
        path = self.write(
            "chain.py",
            "import os, torch, torch.distributed as dist\n"
            "dist.init_process_group('nccl')\n"
            "rank = dist.get_rank()\n"
            "torch.cuda.set_device(rank)\n"
            "x = torch.ones(1 << 20, device='cuda')\n"
            "if rank > 0:\n    dist.recv(x, rank - 1)\n"
            "if rank < 2:\n    dist.send(x, rank + 1)\n",
        )
        run = self.run_program(
            ["dltrain", f"--launch=torchrun --nproc_per_node=3 {path}", "--capture-ranks=0"],
            status=2,
        )
        self.assertIn("; only 1 of 3 ranks were captured, and the others", run.err)
        self.assertIn("--capture-ranks=all", run.err)

    def test_a_dry_run_leaves_nothing(self):
        out = os.path.join(self.folder, "none")
        before = sorted(os.listdir(self.folder))
        run = self.run_program(["dltrain", torchrun(2, "moe.py"), "--dry-run"], out=out)
        self.assertIn("Estimate", run.out)
        self.assertEqual(sorted(os.listdir(self.folder)), before)

    def test_words_of_a_shell(self):
        path = self.write(
            "say.py",
            "import os, sys, torch\n"
            "x = torch.ones(8, device='cuda') * 2\n"
            "print(sys.argv[1:], os.environ['A'], os.environ.get('PYTHONPATH'))\n",
        )
        run = self.run_program(["dltrain", f"--launch=A='1 2' python3 {path} 'b c' d"])
        self.assertEqual(run.text("stdout.txt").split("]")[0], "['b c', 'd'")
        self.assertIn(" 1 2 ", run.text("stdout.txt"))
        self.assertNotIn(os.path.join(ROOT, "scripts") + "\n", run.text("stdout.txt"))


class Lines(CaptureTest):
    """What a line is run by: itself, or a shell, where there is something for one."""

    def test_words(self):
        shell = ["bash", "-o", "pipefail", "-c"]
        for line, words in (
            ("torchrun --nproc_per_node=8 train.py -x 'a b'", None),
            ("A=1 B='x y' torchrun train.py", ["env", "A=1", "B=x y", "torchrun", "train.py"]),
            ("train.py --lr 1e-3 --where=a~b,c#d -- '|' \"&& ;\" \\;", None),
            ("train.py 'a $HOME `x` *'", None),
            (" launch.sh\n", ["launch.sh"]),
        ):
            self.assertEqual(command_line.of_line(line), words or shlex.split(line), line)
        for line in (
            "cd there && torchrun train.py",
            "python a.py; python b.py",
            "python a.py | tee log",
            "python a.py > log 2>&1",
            "python a.py &",
            'python a.py "$HOME"',
            "python a.py ${STEPS:-3}",
            'python a.py "`pwd`"',
            "python $(ls)",
            "python a.py *.json",
            "python a.py ~/data",
            "python {a,b}.py",
            "python a.py # of today",
        ):
            self.assertEqual(command_line.of_line(line), [*shell, line])
        with self.assertRaisesRegex(InvalidInput, "No closing quotation"):
            command_line.of_line("python 'a.py")

    def test_a_line_for_a_shell(self):
        os.mkdir(os.path.join(self.folder, "there"))
        self.write(
            "there/say.py", "import sys, torch\ntorch.ones(2).cuda()\nprint(sys.argv[1:])\n"
        )
        line = f"cd {self.folder}/there && python3 say.py $((2 + 3)) | tr 5 6 && echo done > log"
        made = self.capture_line(line)
        self.assertEqual((made.meta["world"], made.output), (1, "['6']\n"))
        self.assertTrue(os.path.isfile(os.path.join(self.folder, "there", "log")))
        self.assertEqual(made.meta["command"][0], "bash")
        self.write("five.py", "import sys, torch\ntorch.ones(2).cuda()\nsys.exit(5)\n")
        with self.assertRaises(CaptureFailed) as caught:
            self.capture_line(f"python3 {self.folder}/five.py | cat")
        self.assertEqual(caught.exception.exit_status, 5)

    def test_what_is_left_in_the_background(self):
        """It would end with the command; which may wait for it."""
        path = self.write(
            "slow.py",
            "import time, torch\ntorch.ones(2).cuda()\ntime.sleep(2)\nprint('ran')\n",
        )
        for line in (f"python3 {path} &", f"torchrun --nproc_per_node=2 {path} & sleep 1"):
            with self.subTest(line):
                with self.assertRaisesRegex(InvalidInput, "in the background .*leave out the &"):
                    self.capture_line(line)
        self.assertEqual(self.capture_line(f"python3 {path} & wait").output, "ran\n")
        # What is not the script may stay.
        self.assertEqual(self.capture_line(f"sleep 100 & python3 {path}").output, "ran\n")

    def test_what_fails_beside_the_script(self):
        self.write("tell.py", "import torch\ntorch.ones(2).cuda()\n")
        with self.assertRaises(CaptureFailed) as caught:
            self.capture_line(f"false | python3 {self.folder}/tell.py")
        self.assertEqual(caught.exception.exit_status, 1)
        self.assertRegex(
            str(caught.exception),
            r"^the command ended with status 1, though the script ended well: .*'false \| python3",
        )
        with self.assertRaises(InvalidInput) as caught:
            self.capture_line("torchrun --nproc_per_node=2 /tmp/not/there.py || true")
        self.assertRegex(str(caught.exception), "words; it said: .*not/there.py': No such file")
        self.assertNotIn("\n", str(caught.exception))

    def capture_line(self, line):
        return capture(line, os.path.join(self.folder, f"line-{len(os.listdir(self.folder))}"))

    def test_files_that_are_no_scripts(self):
        """What runs a file; of each kind that can be run one is."""
        python = "import torch\ntorch.ones(2).cuda()\nprint('ran')\n"
        shell = f"python3 {self.write('run.py', python)}\n"
        for name, text, mode, by in (
            ("words.txt", shell, 0o644, None),
            ("words.sh", shell, 0o644, "bash"),
            ("words", shell, 0o644, None),
            ("words-x", shell, 0o755, "bash"),
            ("first", f"#!/bin/bash\n{shell}", 0o644, "bash"),
            ("tool", f"#!/usr/bin/env python3\n{python}", 0o644, "python3"),
            ("perl", f"#!/usr/bin/perl\n{python}", 0o644, None),
        ):
            with self.subTest(name):
                path = self.write(name, text)
                os.chmod(path, mode)
                if by:
                    self.assertEqual(command_line.of_command(path), [by, path])
                    if name in ("words-x", "tool"):
                        self.assertEqual(self.capture_line(path).output, "ran\n")
                    continue
                with self.assertRaisesRegex(InvalidInput, f"{name}.*: is no script of Python"):
                    self.capture_line(path)
        with self.assertRaisesRegex(InvalidInput, "'/etc/passwd': is no script of Python or bash"):
            self.capture_line("/etc/passwd")


class Failures(CaptureTest):
    def test_a_script_that_fails(self):
        """Its own traceback and status; what it did until then is there, and no result."""
        run = self.run_program(
            ["dltrain", torchrun(2, "mistakes", "died.py"), "--capture-patience=10"], status=1
        )
        self.assertIn("FileNotFoundError: [Errno 2]", run.err)
        self.assertIn("Mistake                died, rank 1, at died.py:", run.out)
        self.assertEqual(run.stats["completed"], False)
        self.assertNotIn("step_time_us", run.stats)
        self.assertEqual([one["kind"] for one in run.stats["mistakes"]], ["died"])
        page = page_data(run.path("report.html"))
        self.assertEqual(page["stats"]["mistakes"][0]["ranks"], [1])
        self.assertFalse(os.path.exists(run.path("calls.log")))
        # Nor is it a result later on.
        again = self.run_program(["dltrain", f"--trace={run.path('capture')}"], status=3)
        self.assertIn("not simulated: the script failed (status 1)", again.err)
        five = self.write("five.py", "import sys, torch\ntorch.ones(2).cuda()\nsys.exit(5)\n")
        self.run_program(["dltrain", f"--launch={five}"], status=5)

    def test_ranks_that_do_not_fit_together(self):
        run = self.run_program(["dltrain", torchrun(3, "mistakes", "operation.py")], status=3)
        self.assertIn("not simulated", run.err)
        # The mistake is told once, and the end says that there is one.
        said = " ".join((run.out + run.err).split())
        self.assertEqual(said.count("ranks 1, 2 do all_gather"), 1)
        self.assertTrue(run.err.rstrip().endswith("with which its ranks would wait for ever"))
        self.assertEqual([one["kind"] for one in run.stats["mistakes"]], ["mismatch"])
        self.assertEqual(run.stats["mistakes"][0]["ranks"], [0, 1, 2])
        self.assertTrue(os.path.isfile(run.path("report.html")))

    def test_refused(self):
        right = f"--launch={script('moe.py')}"
        for words, said in (
            (["--launch=no-such.sh"], "--launch=no-such.sh: 'no-such.sh': no such script"),
            (["--launch=python3 'x"], "No closing quotation"),
            ([right, "--zero=2"], "--zero=2: cannot be combined with --launch"),
            ([right, "--trace=x"], "--trace=x: cannot be combined with --launch"),
            ([right, "--capture-ranks=1,x"], "--capture-ranks=1,x: allowed: auto, all"),
            ([right, "--capture-ranks=1,2,1"], "=1,2,1: rank 1 stands twice; allowed: each"),
            ([right, "--mpi-ranks=2"], "is captured by one process"),
            (["--capture-steps=2"], "--capture-steps=2: needs --launch"),
            (["--capture-network"], "needs --launch"),
            ([right, "--gpus=12", "--gpus-per-server=8"], "--gpus=12: does not fill servers"),
        ):
            with self.subTest(words=words):
                run = self.run_program(["dltrain", *words], status=2)
                self.assertIn(said, run.err)
                self.assertFalse(os.path.exists(run.folder), os.listdir(self.folder))

    def test_more_ranks_than_gpus(self):
        run = self.run_program(
            ["dltrain", torchrun(4, "moe.py"), "--servers=1", "--gpus-per-server=2"], status=2
        )
        self.assertIn("has 4 ranks", run.err)
        self.assertFalse(os.path.exists(run.folder))

    def test_without_the_optional_part(self):
        """Where Debian's packages cannot be asked there are none."""
        words, out = self.command(["dltrain", f"--launch={script('moe.py')}"])
        run = captured(words, env={**os.environ, "PATH": self.folder})
        self.assertEqual(run.returncode, 2, run.stderr)
        self.assertIn("./ns3 capture --setup", run.stderr)
        self.assertFalse(os.path.exists(out))

    def test_a_signal_ends_all_that_was_started(self):
        """And nothing is left, whoever made the folders: also where no handler runs (SIGKILL)."""
        for number, folder in (
            (signal.SIGTERM, "term"),
            (signal.SIGINT, "int/a/b"),
            (signal.SIGKILL, "kill/a/b"),
        ):
            with self.subTest(number):
                self.end_by(number, folder)

    def end_by(self, number, folder):
        pids = os.path.join(self.folder, f"pids-{number}")
        os.mkdir(pids)
        path = self.write(
            "slow.py",
            "import os, time, torch\n"
            f"open(os.path.join({pids!r}, str(os.getpid())), 'w').close()\n"
            "time.sleep(600)\n",
        )
        out = os.path.join(self.folder, folder)
        words, _ = self.command(
            ["dltrain", f"--launch=bash -c 'torchrun --nproc_per_node=2 {path}; true'"], out=out
        )
        process = subprocess.Popen(words, stderr=subprocess.PIPE, text=True)
        while len(os.listdir(pids)) < 2 and process.poll() is None:
            time.sleep(0.05)
        started = os.listdir(pids)
        process.send_signal(number)
        _, said = process.communicate(timeout=60)
        first = os.path.join(self.folder, folder.split("/")[0])
        if number == signal.SIGKILL:
            self.assertEqual(process.returncode, -number, said)
            while os.path.exists(first):
                time.sleep(0.05)
        else:
            self.assertEqual(process.returncode, 128 + number, said)
            self.assertIn("interrupted before the simulation began", said)
        self.assertFalse(os.path.exists(first))
        while any(map(is_alive, started)):
            time.sleep(0.05)  # (killed, and not gone yet; for ever: the test's time-out)


def is_alive(process):
    try:
        with open(f"/proc/{process}/stat", encoding="utf-8") as file:
            return file.read().rpartition(") ")[2][0] not in "ZX"
    except (FileNotFoundError, ProcessLookupError):
        return False


class Words(CaptureTest):
    """What launchers' words ask for, on servers of 4 GPUs."""

    def test_torchrun(self):
        for words, shape in (
            ("--nproc_per_node=auto", (1, 4)),
            ("--nproc_per_node 3 --nnodes 2", (2, 3)),
            ("--nnodes=1:3 --nproc_per_node=2", (3, 2)),
            ("--standalone --nnodes=1:3 --nproc_per_node=2", (1, 2)),
            ("--standalone --nproc_per_node=gpu", (1, 4)),
        ):
            job = words_of.torchrun([*words.split(), "a.py"], 4)
            self.assertEqual(((job.servers, job.each), job.program), (shape, ["a.py"]), words)
        # Where somebody says how many servers there are.
        self.assertEqual(words_of.torchrun(["--standalone", "a.py"], 4, 5).servers, 5)
        for words, said in (
            ("--standalone --nnodes=2", "is of one server, and --nnodes says 2"),
            ("--nproc_per_node=cpu", "=cpu: is not .*; allowed: gpu, auto, 1 to"),
            ("--nnodes=3:2", "=3:2: allowed: N, or MIN:MAX"),
            ("--nnodes=1:2:3", "=1:2:3: allowed: N, or MIN:MAX"),
            ("--nnodes=0:2", "=0: is not a number of servers"),
        ):
            with self.assertRaisesRegex(WrongWords, said):
                words_of.torchrun([*words.split(), "a.py"], 4)

    def test_srun(self):
        before = dict(os.environ)
        self.addCleanup(lambda: (os.environ.clear(), os.environ.update(before)))
        for words, shape in (
            ("", (1, 1)),
            ("-N2 -n 8", (2, 4)),
            ("-N 2-3 --ntasks-per-node=2", (3, 2)),
            ("--nodes 2 --cpu-bind none --gpu-bind=closest -l -u --mpi pmix --export ALL", (2, 1)),
            ("-N 2 --ntasks-per-gpu=1", (2, 4)),
            ("-N 2 --gpus-per-node=3 --ntasks-per-gpu 2", (2, 6)),
            ("-N 2 --gpus 4 --ntasks-per-gpu=1", (2, 2)),
            ("-C a100 -q high --kill-on-bad-exit=1 -K -n 3 --container-image=x", (1, 3)),
        ):
            split = words_of.srun([*words.split(), "python", "a.py"], 4)
            self.assertEqual(split, (*shape, ["python", "a.py"]), words)
        for words, said in (
            ("--bogus", "--bogus: is no option that is known here; .*: --bogus=VALUE"),
            ("-N 0", "-N=0: is not a number"),
            ("-N 2-0", "-N=0: is not a number"),
            ("--multi-prog", "--multi-prog: several programs"),
        ):
            with self.assertRaisesRegex(WrongWords, f"^srun: {said}"):
                words_of.srun([*words.split(), "a.py"], 4)

    def test_mpirun(self):
        hosts = self.write("hosts", "# of the cluster\na slots=3\nb slots=3\n")
        for words, shape, sets in (
            ("", (1, 4), {}),
            ("-np 8 --allow-run-as-root -x PATH", (2, 4), {}),
            ("-np 2 -npernode 1", (2, 1), {}),
            ("-np 6 --map-by ppr:3:node --bind-to none -x A=7", (2, 3), {"A": "7"}),
            ("-np 4 --map-by slot", (1, 4), {}),
            ("-H one:2,two:2", (2, 2), {}),
            ("-H one:8,two:8 -np 8", (2, 4), {}),  # as many as there are GPUs
            ("-host a,b,c", (3, 1), {}),
            (f"--hostfile {hosts} --mca btl ^openib --tag-output", (2, 3), {}),
            ("--hostfile /not/here -np 4", (1, 4), {}),
            ("-n 4 -ppn 2 -genv A 8", (2, 2), {"A": "8"}),
        ):
            found = {}
            split = mpirun([*words.split(), "python", "a.py"], 4, None, found)
            self.assertEqual((split, found), ((*shape, ["python", "a.py"]), sets), words)
        self.assertEqual(mpirun(["-npernode", "2", "a"], 4, 3)[:2], (3, 2))
        for words, said in (
            ("-np 3 -npernode 2 a", "3 processes do not fill servers of 2 evenly; allowed: mult"),
            ("--bogus -np 2 a", "--bogus: is none of its options"),
            ("-np", "-np needs a value"),
            ("-np 0 a", "-np=0: is not a number of processes"),
            ("-np 2", "no command is named"),
            ("-np 1 a : -np 1 b", "several programs"),
        ):
            with self.assertRaisesRegex(WrongWords, f"^mpirun: {said}"):
                mpirun(words.split(), 4)


class Launchers(CaptureTest):
    """What scripts ask of a cluster beside its launchers."""

    TELL = (
        "import os, torch\n"
        "torch.ones(8, device='cuda')\n"
        "print(os.environ.get('RANK', os.environ.get('SLURM_PROCID')), torch.cuda.device_count())\n"
    )

    def job(self, text, **options):
        self.write("tell.py", self.TELL)
        options.setdefault("gpus_per_server", 4)
        return self.capture(self.write("job.sh", f"cd {self.folder}\n{text}\n"), **options)

    def test_batch_scripts(self):
        head = "#!/bin/bash\n#SBATCH --nodes=2\n#SBATCH --ntasks-per-node=3\n"
        self.write("tell.py", self.TELL)
        path = self.write(
            "batch.sh",
            f"{head}cd {self.folder}\necho $SLURM_NTASKS $SLURM_NTASKS_PER_NODE\n"
            "scontrol show hostnames $SLURM_JOB_NODELIST\nsrun python tell.py\n",
        )
        made = self.capture(path, gpus_per_server=4)
        self.assertEqual(made.meta["world"], 6)
        self.assertEqual(made.output.splitlines()[:3], ["6 3", "server0", "server1"])
        # The cluster's servers count, where somebody says how many there are.
        self.assertEqual(self.capture(path, gpus_per_server=4, servers=3).meta["world"], 9)

    def test_gpus_of_batch_scripts(self):
        """However a script asks for its GPUs, it sees so many; with --gpus-per-task a task its own
        ones alone. What else a list of --gres has does not count. Lines that ask for the same have
        the same environment, by which all else goes: the last of them is run.
        """
        self.write("tell.py", self.TELL)
        for alike, tasks, told, gpus in (
            (
                (
                    "--gres=gpu:2",
                    "--gres=gpu:a100:2,nvme:8",
                    "-J 'a b' --gres=gpu:2 -t 01:00:00 # all on a line",
                    "--gpus=4",  # of two servers
                ),
                2,
                "2 0,1",
                2,
            ),
            (("--gpus-per-node=3", "-N2 -n4 --exclusive --gpus-per-node 3"), 2, "3 0,1,2", 3),
            (("--gpus-per-task=2",), 2, "4 none", 2),
            (("--gres=gpu:4",), 4, "4 none", 4),
        ):
            there = set()
            for lines in alike:
                text = (
                    f"#!/bin/bash\n#SBATCH --nodes=2\n#SBATCH --ntasks-per-node={tasks}\n"
                    f"#SBATCH {lines}\ncd {self.folder}\n"
                    "echo $SLURM_GPUS_ON_NODE ${CUDA_VISIBLE_DEVICES:-none}"
                    " $(env | grep -E '^(SLURM|CUDA)' | sort) >&2\n"
                )
                # Without a Python script what it says is in the error.
                with self.subTest(lines), self.assertRaises(InvalidInput) as caught:
                    self.capture(self.write("gpus.sh", text), gpus_per_server=4)
                there.add(str(caught.exception).partition("; it said: ")[2])
            with self.subTest(alike):
                (environment,) = there
                self.assertEqual(environment.split()[:2], told.split())
                self.assertIn(f"SLURM_NTASKS_PER_NODE={tasks}", environment)
                made = self.capture(
                    self.write("gpus.sh", f"{text}srun python tell.py\n"), gpus_per_server=4
                )
                self.assertEqual(made.errors, environment + "\n")
                ranks = sorted(made.output.splitlines())
                self.assertEqual(ranks, [f"{rank} {gpus}" for rank in range(2 * tasks)])

    def test_a_program_that_is_not_there(self):
        with self.assertRaisesRegex(InvalidInput, "^srun: no-such-program: No such file"):
            self.job("srun -n2 no-such-program exec python tell.py")

    def test_more_gpus_than_a_server_has(self):
        """As SLURM does, who asks for them gets nothing; GPUs of no number of servers are on as
        many as they need.
        """
        for line, told in (
            ("--gres=gpu:8", "ask for 8 GPUs of a server, which has 4"),
            ("--nodes=2\n#SBATCH --gpus=10", "ask for 5 GPUs of a server, which has 4"),
        ):
            with self.subTest(line), self.assertRaisesRegex(InvalidInput, told):
                path = self.write("job.sh", f"#SBATCH {line}\npython x.py\n")
                self.capture(path, gpus_per_server=4)
        self.write("tell.py", self.TELL)
        path = self.write(
            "two.sh",
            f"#SBATCH --gpus=8\necho $SLURM_NNODES\npython {self.folder}/tell.py\n",
        )
        self.assertEqual(self.capture(path, gpus_per_server=4).output.splitlines()[0], "2")

    def test_gpus_of_srun(self):
        """What stands on srun's own line: of each of 2 tasks, or of the server."""
        seen = {
            "--gpus-per-task=2": 2,
            "--gpus-per-node=3": 3,
            "--gres=gpu:a100:2,nvme:8": 2,
            "-G 2": 2,
            "--gpus=4": 4,
            "--gres=nvme:8": 4,
        }
        made = self.job("\n".join(f"srun -n2 {words} python tell.py" for words in seen))
        said = made.output.splitlines()
        for (words, gpus), at in zip(seen.items(), range(0, 2 * len(seen), 2)):
            with self.subTest(words):
                self.assertEqual(sorted(said[at : at + 2]), [f"0 {gpus}", f"1 {gpus}"])
        self.assertEqual(len(said), 2 * len(seen))
        for words, needed in (("--gpus-per-task=3", 6), ("--gres=gpu:5", 5), ("-G 7", 7)):
            with self.subTest(words):
                told = rf"srun: .* are {needed} GPUs of a server, which has 4"
                with self.assertRaisesRegex(InvalidInput, told):
                    self.job(f"srun -n2 {words} python tell.py")

    def test_visible_gpus(self):
        made = self.job("CUDA_VISIBLE_DEVICES=0,2 torchrun --nproc_per_node=gpu tell.py")
        self.assertEqual(made.meta["world"], 2)
        self.assertEqual(sorted(made.output.splitlines()), ["0 2", "1 2"])

    def test_nvidia_smi(self):
        made = self.job(
            "nvidia-smi -L | wc -l\n"
            "nvidia-smi --query-gpu=name,memory.total --format=csv,noheader | head -1\n"
            "python tell.py"
        )
        self.assertEqual(
            made.output.splitlines()[:2], ["4", "NVIDIA A100-SXM4-80GB, 81920 MiB"]
        )

    def test_a_process_in_the_background(self):
        self.assertEqual(self.job("python tell.py &\nwait").meta["world"], 1)

    def test_ranks_that_were_not_captured(self):
        """Of 20 four run; the record says it, and so does what reads it."""
        notes = self.job("torchrun --nnodes=5 --nproc_per_node=4 tell.py").meta["notes"]
        self.assertTrue(any("16 of 20 ranks were not captured" in note for note in notes), notes)
        notes = self.job("torchrun --nnodes=4 --nproc_per_node=4 tell.py").meta["notes"]
        self.assertFalse(any("not captured" in note for note in notes), notes)

    def test_code_in_place_of_a_script(self):
        """Of -c and of the standard input; what only asks something is none of the jobs."""
        code = "import sys, torch; torch.ones(2).cuda(); print(sys.argv)"
        for line, said in (
            (f"python -c '{code}' a", "['-c', 'a']"),
            (f"echo '{code}' | python - b", "['-', 'b']"),
            (f"python <<'END'\n{code}\nEND", "['']"),
        ):
            with self.subTest(line):
                made = self.job(line)
                self.assertEqual((made.output, made.meta["world"]), (said + "\n", 1))
        made = self.job(
            "N=$(python -c 'import torch; print(torch.cuda.device_count())')\n"
            "torchrun --nproc_per_node=$N tell.py\npython -c 'import torch; print(\"end\")'\n"
            "echo 'print(2 + 3)' | python -"
        )
        self.assertEqual(made.meta["world"], 4)
        self.assertEqual(made.output.splitlines()[-2:], ["end", "5"])
        self.assertFalse(any("jobs" in note for note in made.meta["notes"]), made.meta["notes"])
        made = self.job("mpirun -n 2 python -c 'import torch; torch.ones(2).cuda()'")
        self.assertEqual(made.meta["world"], 2)
        with self.assertRaises(CaptureFailed) as caught:
            self.job("python -c 'import torch; raise ValueError(3)'")
        self.assertIn('File "<string>", line 1, in <module>\nValueError: 3', str(caught.exception))
        with self.assertRaisesRegex(InvalidInput, "mpirun: python without a script: .* -c$"):
            self.job("mpirun -n 2 python - < tell.py")

    def test_what_comes_behind_the_training(self):
        """It uses no GPU: it is not what was meant."""
        self.write("plot.py", "print('plotted')\n")
        made = self.job("torchrun --nproc_per_node=2 tell.py\npython plot.py")
        self.assertEqual(made.meta["world"], 2)
        self.assertIn("2 jobs: the last one that used a GPU", " ".join(made.meta["notes"]))

    def test_encodings(self):
        """A coding cookie counts; without one it is Python's own error."""
        for head, status in (("# -*- coding: latin-1 -*-\n", 0), ("", 1)):
            path = self.write("latin.py", "")
            with open(path, "wb") as file:
                file.write(head.encode() + b"import torch\ntorch.ones(2).cuda()\ns = '\xe9'\n")
            if status == 0:
                self.assertEqual(self.capture(path).meta["world"], 1)
                continue
            error = self.fails(path)
            self.assertEqual(error.exit_status, 1)
            self.assertIn("SyntaxError: (unicode error) 'utf-8' codec can't", str(error))

    def test_the_older_launcher_tells_ranks_by_an_argument(self):
        """As torch.distributed.launch of 1.13 does, without --use_env."""
        path = self.write(
            "local.py",
            "import sys, torch\ntorch.ones(2).cuda()\nprint(sys.argv[1:])\n",
        )
        for words, said in (("", "['--local_rank={}', 'x']"), ("--use_env", "['x']")):
            line = f"python -m torch.distributed.launch {words} --nproc_per_node=2 {path} x"
            out = self.job(line).output.splitlines()
            self.assertEqual(sorted(out), [said.format(rank) for rank in range(2)])

    def test_launchers_under_launchers(self):
        """One on each server, if it says that there are so many; else they would be several jobs,
        which use the same GPUs.
        """
        line = "mpirun -np 2 -npernode 1 torchrun --nnodes=2 --nproc_per_node=3 tell.py"
        self.assertEqual(self.job(line).meta["world"], 6)
        told = "starts torchrun 2 times, and --nnodes=1 is of each: .*; allowed: --nnodes=2"
        for line in ("mpirun -np 2 torchrun", "srun -n 2 python -m torch.distributed.run"):
            with self.subTest(line), self.assertRaisesRegex(InvalidInput, told):
                self.job(f"{line} --nproc_per_node=2 tell.py")

    def test_a_shell_between_launcher_and_python(self):
        """It says what each rank's words and variables are; Python's status comes back to it."""
        self.write(
            "told.py",
            "import os, sys, torch\ntorch.ones(8, device='cuda')\n"
            "print('rank', os.environ['RANK'], sys.argv[1:], 'A' in os.environ)\n",
        )
        self.write("wrap.sh", "export RANK=$OMPI_COMM_WORLD_RANK\nexec python told.py $RANK\n")
        for line in (
            "srun -N 2 --ntasks-per-node=2 bash -c 'N=$(python -c \"import torch\"; echo 1);"
            " test $SLURM_PROCID = 2 || export A=7;"
            " RANK=$SLURM_PROCID python told.py $SLURM_LOCALID $N; echo $?'",
            "mpirun -np 3 bash wrap.sh",
        ):
            with self.subTest(line):
                made = self.job(line)
                ranks = 4 if "srun" in line else 3
                self.assertEqual(made.meta["world"], ranks)
                told = sorted(one for one in made.output.splitlines() if one.startswith("rank"))
                if ranks == 4:
                    wanted = [f"rank {r} ['{r % 2}', '1'] {r != 2}" for r in range(4)]
                    self.assertEqual(made.output.splitlines()[-1], "0")
                else:
                    wanted = [f"rank {r} ['{r}'] False" for r in range(3)]
                self.assertEqual(told, wanted)
        with self.assertRaisesRegex(InvalidInput, "mpirun: bash starts Python as rank 0, and not"):
            self.job("mpirun -np 2 bash -c 'test $OMPI_COMM_WORLD_RANK = 1 || python told.py'")

    def test_a_rank_by_hand(self):
        """One GPU of a script for several: no launcher, its variables given."""
        for line in (
            "RANK=0 WORLD_SIZE=1 LOCAL_RANK=0 MASTER_ADDR=h MASTER_PORT=1 python3 tell.py",
            "export RANK=0 WORLD_SIZE=1\npython3 -m tell",
        ):
            with self.subTest(line):
                made = self.job(line)
                self.assertEqual(made.meta["world"], 1)
                self.assertEqual(len(made.output.splitlines()), 1)

    def test_programs_by_their_path(self):
        """What PATH finds by its name is meant; tools of the system are none of it."""
        for line, world in (
            ("/usr/bin/python3 -u tell.py", 1),
            ("/usr/bin/torchrun --nproc_per_node=2 tell.py", 2),
            ("srun -n 2 bash -c 'SLURM_LOCALID=7 /usr/bin/python3 -m tell'", 2),
        ):
            with self.subTest(line):
                made = self.job(f"/usr/bin/python3 -c 'print(2 + 3)'\n{line}")
                self.assertEqual(made.meta["world"], world)
                self.assertEqual(made.output.splitlines()[0], "5")
                self.assertEqual(len(made.output.splitlines()), 1 + world)
                self.assertFalse(any("jobs" in note for note in made.meta["notes"]))
        self.write("tell.py", self.TELL)
        made = self.capture("/usr/bin/python3", os.path.join(self.folder, "tell.py"))
        self.assertEqual(made.meta["world"], 1)

    def test_where_mpirun_starts_what(self):
        """Rank, ranks, place on the server; a variable that is handed on."""
        self.write(
            "mpi.py",
            "import os, torch\ntorch.ones(8, device='cuda')\n"
            "print(*(os.environ['OMPI_COMM_WORLD_' + one] for one in"
            " ('RANK', 'SIZE', 'LOCAL_RANK', 'NODE_RANK')), os.environ['A'])\n",
        )
        made = self.job("mpirun -np 6 --map-by ppr:3:node -x A=7 python mpi.py")
        self.assertEqual(
            sorted(made.output.splitlines()), [f"{r} 6 {r % 3} {r % 3} 7" for r in range(6)]
        )

    def test_launchers_of_other_packages(self):
        for line, said in (
            ("accelerate launch --num_processes 2 tell.py", "torchrun --nproc_per_node=N"),
            ("deepspeed --num_gpus 2 tell.py", "torchrun --nproc_per_node=N"),
            ("horovodrun -np 2 python tell.py", "mpirun -np N"),
        ):
            name = line.split()[0]
            told = f"{name} is not there where scripts are captured; allowed: {said}"
            if name == "deepspeed":
                with self.assertRaisesRegex(InvalidInput, told):
                    self.job(line)  # in a script
            with self.subTest(line), self.assertRaisesRegex(InvalidInput, told):
                self.capture(*line.split())

    def test_servers_that_the_words_do_not_have(self):
        made = self.job("torchrun --nproc_per_node=2 tell.py", servers=2)
        self.assertEqual(made.meta["world"], 4)
        self.assertTrue(any("each of 2 servers" in note for note in made.meta["notes"]))


class Missing(CaptureTest):
    def test_what_pytorch_does_not_have(self):
        told = (
            ("import deepspeed", "deepspeed is not there where scripts are captured: use Fully"),
            ("from transformers import AutoModel", "transformers is not there"),
            ("from torch.distributed.fsdp import fully_shard", "PyTorch 1.13 has no FSDP2"),
            ("import torch.distributed.device_mesh", "no device meshes"),
            ("from torch.distributed._composable.fsdp import fully_shard", "has no FSDP2; PyTorch"),
            ("import torch.distributed.checkpoint as dcp", "write state_dict() with torch.save"),
            ("from torch.distributed.pipelining import pipeline", "torch.distributed.send"),
            ("import bitsandbytes as bnb", "bitsandbytes is not there"),
            ("import horovod.torch as hvd", "use torch.distributed and"),
        )
        line, said = told[0]
        error = self.fails(self.write("new.py", f"import torch\n{line}\n"))
        self.assertIn(said, str(error).splitlines()[-1])
        # A script that goes on without it still does.
        caught = "".join(
            f"try:\n    {line}\nexcept ImportError as error:\n    print(error)\n"
            for line, _ in told
        )
        path = self.write(
            "without.py",
            f"import importlib.util, torch\n{caught}"
            "print(importlib.util.find_spec('transformers'))\n"
            "torch.ones(2, device='cuda')\n",
        )
        *lines, spec = self.capture(path).output.splitlines()
        self.assertEqual(spec, "None")
        for (line, said), words in zip(told, lines, strict=True):
            with self.subTest(line):
                self.assertIn(said, words)


class Sweep(CaptureTest):
    def test_values_in_the_command(self):
        """Four points, two captures: what else changes (the NIC) needs none of its own."""
        path = self.write(
            "train.py",
            "import os, sys, torch, torch.distributed as dist\n"
            "dist.init_process_group('nccl')\n"
            "torch.cuda.set_device(int(os.environ['LOCAL_RANK']))\n"
            "x = torch.ones(int(sys.argv[1]) << 20, device='cuda')\n"
            "o = torch.optim.SGD([torch.nn.Parameter(x[:1].clone())], lr=1.0)\n"
            "for _ in range(5):\n    dist.all_reduce(x)\n    o.step()\n"
            f"open({self.folder!r} + '/started', 'a').write('x')\n"
            "if not os.path.lexists('latest'):\n    os.symlink('nowhere', 'latest')\n",
        )
        out = os.path.join(self.folder, "sweep")
        command = [os.path.join(ROOT, "scripts", "sweep"), "dltrain", f"--out={out}"]
        command += [f"--launch=torchrun --nnodes=2 --nproc_per_node=1 {path} {{mib}}"]
        command += ["--set", "mib=1,4", "--nic=100GbE,200GbE", "--capture-steps=2", "--jobs=2"]
        environment = {**os.environ, "DLTRAIN_PROGRAMS": PROGRAMS, "MPLBACKEND": "Agg"}
        run = captured(command, env=environment)
        self.assertEqual(run.returncode, 0, run.stdout + run.stderr)
        self.assertEqual(len(os.listdir(os.path.join(out, "captures"))), 2)
        table = captured(
            [command[0], "table", out, "--columns=mib,nic,step_time_us"], env=environment
        ).stdout.splitlines()
        self.assertEqual(table[0], "mib,nic,step_time_us")
        times = {tuple(row.split(",")[:2]): float(row.split(",")[2]) for row in table[1:]}
        self.assertEqual(len(times), 4)
        for nic in ("100GbE", "200GbE"):
            self.assertLess(times["1", nic], times["4", nic])
        self.assertLess(times["4", "200GbE"], times["4", "100GbE"])
        plot = captured(
            [command[0], "plot", out, "--x=mib", "--y=step_time_us", "--by=nic"], env=environment
        )
        self.assertEqual(plot.returncode, 0, plot.stderr)

    def test_points_that_do_not_fit_a_gpu(self):
        """The reason and how much memory there was, where the note in front says nothing of it."""
        path = self.write(
            "large.py",
            "import sys, torch\n"
            "w = torch.nn.Linear(1024, 1024).cuda()\no = torch.optim.SGD(w.parameters(), lr=1.0)\n"
            "for _ in range(3):\n"
            "    w(torch.ones(int(sys.argv[1]) << 20, 1024, device='cuda')).sum().backward()\n"
            "    o.step()\n",
        )
        out = os.path.join(self.folder, "large")
        sweep = os.path.join(ROOT, "scripts", "sweep")
        command = [sweep, "dltrain", f"--out={out}", f"--launch=python3 {path} {{n}}"]
        command += ["--set", "n=1,16", "--gpu=V100", "--servers=1"]
        environment = {**os.environ, "DLTRAIN_PROGRAMS": PROGRAMS}
        run = captured(command, env=environment)
        self.assertEqual(run.returncode, 3, run.stdout + run.stderr)
        # 16 Mi x 1,024 x 4 B are 64 GiB.
        said = "failed: out-of-memory: rank 0 failed at large.py:5: OutOfMemoryError: CUDA out of"
        self.assertIn(said, run.stderr)
        columns = "--columns=n,status,error,gpu_memory_peak_reserved_bytes"
        table = captured([sweep, "table", out, columns], env=environment).stdout
        self.assertNotIn("Traceback", table)
        self.assertRegex(table.splitlines()[2], r"^16,failed,.*64.00 GiB.*,\d+$")

    def test_names_that_do_not_fit(self):
        for words, said in (
            (["--launch=python {a}.py"], "{a} has no values"),
            (["--launch=python a.py", "--set=b=1"], "no option has {b}"),
            (["--launch=python {a}.py", "--set=a"], "allowed: NAME=VALUE"),
        ):
            run = captured(
                [os.path.join(ROOT, "scripts", "sweep"), "dltrain", "--dry-run", *words],
                env={**os.environ, "DLTRAIN_PROGRAMS": PROGRAMS},
            )
            self.assertEqual(run.returncode, 2, run.stdout + run.stderr)
            self.assertIn(said, run.stderr)


if __name__ == "__main__":
    main()
