# SPDX-License-Identifier: GPL-2.0-only
# ctest: TIMEOUT 300 RESOURCE_LOCK capture
"""A program like nccl-tests on simulated GPUs: it prints the times that collperf tells, whatever it
measures them with, in one process or several; and its results are right.
"""

import os
import re
import shlex
import shutil
import subprocess
import sys

sys.path.append(sys.path[0] + "/../shared")
from _cuda import SOURCES, CudaTest, cuda
from _system_test import main

if shutil.which("g++") is None:
    print("g++ is not installed")
    sys.exit(77)


class Times(CudaTest):
    programs = ("perf",)

    def table(self, done):
        """{bytes: (us, wrong)} of what the program prints."""
        rows = [line.split() for line in done.stdout.splitlines() if not line.startswith("#")]
        return {int(row[0]): (float(row[1]), row[4]) for row in rows}

    def collperf(self, op, size, servers, gpus, *more):
        """us, as collperf's table has it; for vectors of the same bytes."""
        run = self.run_program(
            ["collperf", f"--op={op}", f"--minbytes={size}", f"--servers={servers}"]
            + [f"--gpus-per-server={gpus}", f"--ranks={servers * gpus}", "--no-report", *more]
        )
        return run.rows("collectives.csv")[0]["time_us"]

    def compare(self, op, sizes, launcher, servers, gpus, *more):
        """Every time of the program is collperf's, but for its clock's nanosecond."""
        for name in os.listdir(self.folder):
            if name == "nccl-id":
                os.remove(os.path.join(self.folder, name))
        cluster = ["--cluster=" + " ".join(more)] if more else []
        done = self.run_capture(
            f"--servers={servers}",
            f"--gpus-per-server={gpus}",
            *cluster,
            *launcher,
            *([self.built["perf"], op, "-b", sizes[0], "-e", sizes[1], "-f", sizes[2], "-c", 1]),
            *(["-g", gpus] if not launcher else []),
        )
        rows = self.table(done)
        self.assertTrue(rows, done.stdout + done.stderr)
        for size, (time, wrong) in rows.items():
            self.assertEqual(wrong, "0", done.stdout)
            self.assertAlmostEqual(time, self.collperf(op, size, servers, gpus, *more), delta=0.002)
        return rows

    def test_operations_in_one_process(self):
        """3 GPUs, whose shares of a vector are no powers of two."""
        for op in ("all_reduce", "reduce_scatter", "all_gather", "broadcast", "reduce"):
            with self.subTest(op):
                self.assertEqual(len(self.compare(op, ("4K", "1M", 256), (), 1, 3)), 2)

    def test_exchanges(self):
        for op in ("alltoall", "sendrecv"):
            with self.subTest(op):
                self.compare(op, ("60K", "60K", 2), (), 1, 5)

    def test_processes_on_servers(self):
        """One process a GPU, on two servers; what they share goes through the network."""
        more = ("--nic=400GbE", "--topology=leaf-spine")
        launcher = ("srun", "-n", "4")
        rows = self.compare("all_reduce", ("1K", "1M", 1024), launcher, 2, 2, *more)
        slower = self.compare("all_reduce", ("1M", "1M", 2), launcher, 2, 2, "--nic=100GbE")
        self.assertGreater(slower[1 << 20][0], rows[1 << 20][0])
        self.compare("alltoall", ("64K", "64K", 2), launcher, 2, 2)

    def test_servers_of_launchers(self):
        """What the launcher says: two processes on two servers, or on one."""
        for launcher, servers in ((("srun", "-N", 2, "-n", 2), 2), (("srun", "-n", 2), 1)):
            with self.subTest(launcher):
                words = [*launcher, self.built["perf"], "all_reduce", "-b", "1M"]
                done = self.run_capture("--gpus-per-server=2", *words, "--id", f"id-{servers}")
                ((time, _),) = self.table(done).values()
                self.assertAlmostEqual(
                    time, self.collperf("all_reduce", 1 << 20, servers, 2 // servers), delta=0.002
                )

    def test_many_calls_before_a_wait(self):
        """Of more than the lines to and from the coordinator have room for."""
        perf = [self.built["perf"], "all_reduce", "-b", "1K", "-g", 4]
        done = self.run_capture("--gpus-per-server=4", *perf, "-n", 1500)
        ((time, _),) = self.table(done).values()
        self.assertAlmostEqual(time, self.collperf("all_reduce", 1024, 1, 4), delta=0.002)

    def test_processes_of_mpi(self):
        """4 processes of Open MPI on 2 servers; results are added up, and right."""
        if shutil.which("mpicxx") is None or shutil.which("mpirun") is None:
            self.skipTest("mpicxx and mpirun are not installed")
        program = self.compile_with_mpi("with-mpi")
        words = ("--servers=2", "--gpus-per-server=2", "mpirun", "-n", 4, program)
        found = re.search(r"([0-9.]+) us, 4 of 4 right", self.run_capture(*words).stdout)
        self.assertAlmostEqual(
            float(found[1]), self.collperf("all_reduce", 8 << 18, 2, 2), delta=0.002
        )

    def compile_with_mpi(self, name):
        made = os.path.join(self.folder, name)
        source = os.path.join(SOURCES, f"{name}.cc")
        words = ["mpicxx", "-g", source, "-o", made, *shlex.split(cuda.flags())]
        subprocess.run(words, check=True)
        return made

    def test_the_same_again(self):
        """The same times and the same record, byte for byte."""
        words = ["--gpus-per-server=4", self.built["perf"], "all_reduce", "-b", "1K", "-g", 4]
        first = self.run_capture("--out=a", *words)
        second = self.run_capture("--out=b", *words)
        self.assertEqual(first.stdout, second.stdout)
        for name in ("meta.json", "rank-0.jsonl", "rank-3.jsonl", "stdout.txt"):
            with open(os.path.join(self.folder, "a", name), encoding="utf-8") as a:
                with open(os.path.join(self.folder, "b", name), encoding="utf-8") as b:
                    self.assertEqual(a.read(), b.read(), name)

    def test_the_record_is_a_workload(self):
        """The collectives of the program are what dltrain runs: 1 to warm up and 5, of 1 MiB."""
        perf = self.built["perf"]
        self.run_capture(
            "--out=made", "--gpus-per-server=2", perf, "all_reduce", "-b", "1M", "-g", 2
        )
        run = self.run_program(
            f"dltrain --trace={self.folder}/made --servers=1 --gpus-per-server=2 --topology"
            "=single-switch --warmup=0 --no-report"
        )
        done = [(one["op"], one["bytes"]) for one in run.stats["collectives"]]
        self.assertEqual(done, [("all_reduce", 1 << 20)] * 6)


if __name__ == "__main__":
    main()
