# SPDX-License-Identifier: GPL-2.0-only
# ctest: TIMEOUT 600
"""Parts (TCP and UDP, MPI): no program links them, the first run that needs one lets the clone
build it, and no other run does. Programs run from a copy without parts, whose clone is a script."""

import os
import shutil
import subprocess
import sys
import unittest

sys.path.append(sys.path[0] + "/../shared")
from _mpi import ENVIRONMENT, MPIRUN
from _system_test import PROGRAMS, Run, SystemTest, repeatable

BIN = os.path.dirname(os.path.realpath(os.path.join(PROGRAMS, "traffic")))
LIB = os.path.join(os.path.dirname(BIN), "lib")
PARTS = {name: f"libdltrain-part-{name}.so" for name in ("tcp", "mpi")}
# In an ns-3 source tree programs find their libraries by absolute paths, and link all modules.
INSTALLED = os.path.basename(BIN) == "bin" and all(
    os.path.exists(os.path.join(LIB, part)) for part in PARTS.values()
)

LINE = "traffic --topology=single-switch --hosts=4 --pattern=permutation --bytes=50kB --report=0"
TCP = LINE + " --protocol=tcp"
MIN_RTO = "--ns3::TcpSocketBase::MinRto"
MPI = LINE + " --mpi-ranks=2"
JOB = (
    "collperf --op=allreduce -b 100k -e 100k -n 1 -w 0 --servers=4 --gpus-per-server=1 --report=0"
    " --background=pattern=random,load=0.1"
)


def link(source, target):
    try:
        os.link(source, target)
    except OSError:
        shutil.copy2(source, target)


@unittest.skipUnless(INSTALLED, "of a build on an installed ns-3, with all parts")
class Parts(SystemTest):
    def setUp(self):
        super().setUp()
        self.bin, self.lib = self.path("bin"), self.path("lib")
        os.mkdir(self.bin)
        os.mkdir(self.lib)
        for name in ("collperf", "traffic"):
            link(os.path.join(BIN, name), os.path.join(self.bin, name))
        for name in os.listdir(LIB):
            if name not in PARTS.values() and ".so" in name:
                link(os.path.join(LIB, name), os.path.join(self.lib, name))
        # "./ns3 build --part=NAME" takes the library from the build that is tested.
        self.clone(f'cp "{LIB}/libdltrain-part-${{2#--part=}}.so" "{self.lib}/"')

    def path(self, name):
        return os.path.join(self.folder, name)

    def clone(self, script):
        text = f'#!/bin/sh\necho "$*" >>"{self.path("calls")}"\n{script}\n'
        os.chmod(self.write("ns3", text), 0o755)

    def calls(self):
        if not os.path.exists(self.path("calls")):
            return []
        with open(self.path("calls"), encoding="utf-8") as file:
            return file.read().splitlines()

    def run_copy(self, line, status=0, **environment):
        words, out = self.command(line)
        words[0] = os.path.join(self.bin, os.path.basename(words[0]))
        done = subprocess.run(
            words,
            cwd=self.folder,
            env={**ENVIRONMENT, "DLTRAIN_ROOT": self.folder, **environment},
            capture_output=True,
            text=True,
            stdin=subprocess.DEVNULL,
            timeout=120,
            check=False,
        )
        run = Run(words, done.returncode, done.stdout, done.stderr, out)
        self.assertEqual(run.status, status, str(run))
        return run

    def test_nothing_is_linked(self):
        for name in ("dltrain", "collperf", "traffic"):
            needed = subprocess.run(
                ["ldd", os.path.join(BIN, name)], capture_output=True, text=True, check=True
            ).stdout
            self.assertIn("ns3-core", needed)
            self.assertNotRegex(needed, r"libmpi|ns3-mpi|ns3-internet|ns3-ordinary|not found")

    def test_rdma_alone_builds_nothing(self):
        self.run_copy(LINE)
        self.run_copy(JOB)
        self.run_copy(LINE + " --PrintTypeIds")
        self.assertEqual(self.calls(), [])

    def test_first_tcp_run_builds_it(self):
        first = self.run_copy(TCP)
        self.assertEqual(self.calls(), ["build --part=tcp"])
        second = self.run_copy(TCP)
        self.assertEqual(self.calls(), ["build --part=tcp"])
        built = self.run_program(TCP)
        for run in (first, second):
            self.assertEqual(repeatable(run.stats), repeatable(built.stats))
            self.assertEqual(run.text("flows.csv"), built.text("flows.csv"))

    def test_background_and_attributes_ask_for_it(self):
        scenario = self.write("rto.json", {"ns3": {MIN_RTO[2:]: "10ms"}})
        for line in (
            f"{JOB},protocol=udp",
            f"{LINE} {MIN_RTO}=10ms",
            f"{LINE} --scenario={scenario}",
            f"{LINE} --PrintGroup=Internet",
            f"{LINE} --PrintAttributes=TcpSocketBase",
        ):
            with self.subTest(line=line):
                library = os.path.join(self.lib, PARTS["tcp"])
                if os.path.exists(library):
                    os.remove(library)
                before = len(self.calls())
                run = self.run_copy(line)
                self.assertEqual(self.calls()[before:], ["build --part=tcp"], str(run))
        self.assertIn(f"{MIN_RTO}=[", run.out)

    def test_attributes_are_checked(self):
        for words, said in (
            (f"{MIN_RTO}=soon", "allowed: a time such as 500ns"),
            ("--ns3::TcpSocketBase::MinRt=1ms", "MinRto"),
            ("--ns3::TcpSocketBas::MinRto=1ms", "did you mean ns3::TcpSocketBase?"),
        ):
            self.assertIn(said, self.run_copy(f"{TCP} {words}", status=2).err)
        # And they hold: behind a link that was cut for 20 ms TCP goes on after a time-out of the
        # least there is, which doubles until one finds the link up: 200 ms, or 10 ms + 20 ms.
        for least, begin, end in (("200ms", 200e3, 210e3), ("10ms", 30e3, 40e3)):
            flows = self.run_copy(
                f"{TCP} --fault=link-down,at=15us,on=server-0-switch-0,for=20ms {MIN_RTO}={least}"
            ).stats["flows"]
            self.assertGreater(flows["time_outs"], 0)
            self.assertGreater(flows["last_arrival_us"], begin)
            self.assertLess(flows["last_arrival_us"], end)

    def test_log_components_are_known(self):
        probe = subprocess.run(
            [os.path.join(BIN, "traffic"), "--dry-run"],
            env={**ENVIRONMENT, "NS_LOG": "Simulator"},
            capture_output=True,
            check=False,
        )
        if probe.returncode:
            self.skipTest("an ns-3 without NS_LOG")
        run = self.run_copy(TCP, NS_LOG="TcpSocketBase=level_function")
        self.assertIn("TcpSocketBase:Connect(", run.err)

    def test_dry_run_builds_nothing(self):
        plan = self.run_copy(f"{TCP} --dry-run")
        self.assertEqual(plan.err, "")
        run = self.run_copy(f"{TCP} --dry-run {MIN_RTO}=10ms")
        self.assertEqual(
            run.err,
            f"traffic: note: {MIN_RTO} is checked when TCP and UDP are built;"
            " type: ./ns3 build --part=tcp\n",
        )
        self.run_copy(f"{MPI} --dry-run")
        self.run_copy(f"{MPI} --engine=ns3 --dry-run")
        self.assertEqual(self.calls(), [])
        built = self.run_program(f"{TCP} --dry-run").out
        self.assertEqual(built.replace("run-5", "run-1"), plan.out)

    def test_build_that_fails(self):
        self.clone("echo 'error: no compiler' >&2; exit 1")
        for line, part in ((TCP, "tcp"), (MPI, "mpi")):
            run = self.run_copy(line, status=2)
            self.assertEqual(
                run.err,
                "error: no compiler\n"
                f"traffic: error: the part {part} is missing, and {self.path('ns3')} could not"
                f" build it; type: ./ns3 build --part={part}\n",
            )
            self.assertEqual(run.out, "")
            self.assertFalse(os.path.exists(run.folder), "a folder is left")

    def test_library_that_cannot_be_loaded(self):
        with open(os.path.join(self.lib, PARTS["tcp"]), "wb"):
            pass
        run = self.run_copy(TCP, status=2)
        self.assertRegex(run.err, "^traffic: error: the part tcp cannot be loaded: .* too short;")
        self.assertIn("type: ./ns3 build --part=tcp\n", run.err)
        self.assertEqual(self.calls(), [])

    @unittest.skipUnless(MPIRUN, "no mpirun")
    def test_ranks_find_it_built(self):
        alone = self.run_copy(LINE)
        for engine in ("windows", "ns3"):
            run = self.run_copy(f"{MPI} --engine={engine}")
            self.assertEqual(self.calls(), ["build --part=mpi"])
            self.assertEqual(run.text("flows.csv"), alone.text("flows.csv"))

    def test_refused_run_builds_nothing(self):
        self.run_copy(f"{TCP} --mpi-ranks=2", status=2)
        self.run_copy(f"{MPI} --hosts=1", status=2)
        self.run_copy(f"{TCP} --fabric=ib", status=2)
        self.assertEqual(self.calls(), [])


if __name__ == "__main__":
    unittest.main(verbosity=2)
