# SPDX-License-Identifier: GPL-2.0-only
# ctest: TIMEOUT 300 RUN_SERIAL TRUE
"""Input of scripts/golden, nccl-tables, published and fit-compute that is none: one error that
names file, place and value, at once and not behind the runs. What ends them early ends their runs.
"""

import os
import shutil
import signal
import stat
import subprocess
import sys
import time

sys.path.append(sys.path[0] + "/../shared")
from _system_test import ROOT, SystemTest, captured, main

FLOWS = "case,flow,src,dst,size_bytes,start_ns,fct_ns,ideal_fct_ns\n"
STEPS = "id,iter_time_s\n"
COLLECTIVES = "set_id,nodes,gpus_per_node,collective,size_bytes,time_us\n"
CASES = os.path.join(ROOT, "tests", "golden", "hpcc-cc-cases.json")
CASES_FLOWS = os.path.join(ROOT, "tests", "golden", "hpcc-cc-flows.csv")
# Stand-ins for compute-times.
SPOILED = (
    ("exit 3", "ended early"),
    ("yes '['", "answers other than compute-times"),
    ("yes '[]'", "answers other than compute-times"),
    ("yes '{}'", "answers other than compute-times"),
    ("""yes '{"seconds": [1]}'""", "answers other than compute-times"),
)


class Studies(SystemTest):
    def script(self, *words, status):
        script = os.path.join(ROOT, "scripts", words[0])
        done = captured([script, *words[1:]], cwd=self.folder, timeout=60)
        self.assertEqual(done.returncode, status, f"{words}: {done.stdout}{done.stderr}")
        self.assertNotIn("Traceback", done.stderr)
        return done

    def refused(self, *words, says):
        done = self.script(*words, status=2)
        self.assertEqual(done.stdout, "", words)
        self.assertEqual(done.stderr, f"{words[0]}: error: {says}\n")

    def no_files(self):
        """(name, why) of what is there and is no text."""
        os.mkdir(os.path.join(self.folder, "folder"))
        os.mkfifo(os.path.join(self.folder, "pipe"))
        with open(os.path.join(self.folder, "bytes"), "wb") as file:
            file.write(b"\xff\xfe" * 500)
        return (
            ("folder", "is no file"),
            ("pipe", "is no file"),
            ("/dev/zero", "is no file"),
            ("nowhere", "No such file or directory"),
        )

    def test_tables_that_are_none(self):
        for name, why in self.no_files():
            self.refused("nccl-tables", name, says=f"{name}: {why}")
            self.refused("published", name, says=f"{name}: {why}")
            self.write("cases.json", "[]")
            golden = why if name != "nowhere" else "no such file"
            self.refused("golden", "cases.json", name, says=f"{name}: {golden}")
            self.refused("golden", name, "flows.csv", says=f"{name}: {golden}")
        self.refused(
            "nccl-tables", "bytes", says="bytes: is no table of collectives: is no UTF-8 text"
        )
        self.refused(
            "published", "bytes", says="bytes: is no table of published steps: is no UTF-8 text"
        )
        self.write("none.csv", COLLECTIVES)
        self.refused("nccl-tables", "none.csv", says="none.csv: no rows")
        self.assertFalse(os.path.exists(os.path.join(self.folder, "results")))

    def test_what_stands_twice(self):
        twice = "line 1: the column 'time_us' stands twice"
        self.write("twice.csv", COLLECTIVES.strip() + ",time_us\na,1,8,all_reduce,8,1,2\n")
        self.refused("nccl-tables", "twice.csv", says=f"twice.csv: {twice}")
        self.write("twice.csv", "id,iter_time_s,id\na,1,b\n")
        says = "twice.csv: line 1: the column 'id' stands twice"
        self.refused("published", "twice.csv", says=says)
        self.write("more.csv", "id,iter_time_s\na,1,moe_act\n")
        says = "more.csv: line 2: has more fields than the 2 of the first line; fields with commas"
        self.refused("published", "more.csv", says=f"{says} stand in quotes")
        self.write("cases.json", [{"case": 1, "cc": "a", "config": {}}])
        self.write("twice.csv", FLOWS.strip() + ",flow\n1,0,0,2,8,0,9,9,1\n")
        says = "twice.csv: the column 'flow' is there twice"
        self.refused("golden", "cases.json", "twice.csv", says=says)
        self.write("twice.csv", FLOWS + "1,0,0,2,8,0,9,9\n1,0,0,2,8,0,9,9\n")
        says = "twice.csv, row 3: case 1 has a flow 0 already"
        self.refused("golden", "cases.json", "twice.csv", says=says)
        self.write("flows.csv", FLOWS + "1,0,0,2,8,0,9,9\n")
        self.write("null.csv", "case,mean_slowdown_fluid\n1,1.5\n1,1.6\n")
        says = "null.csv, row 3: case 1 is there twice"
        self.refused("golden", "cases.json", "flows.csv", "--null=null.csv", says=says)
        self.write("flows.csv", FLOWS + "2,0,0,2,8,0,9,9\n")
        says = "flows.csv: has no flow of case 1 of cases.json"
        self.refused("golden", "cases.json", "flows.csv", says=says)

    def test_values_of_a_configuration_are_named(self):
        config = {"CC_MODE": "8", "KMIN_MAP": "1", "KMAX_MAP": "1", "PMAX_MAP": "1"}
        self.write("flows.csv", FLOWS + "1,0,0,2,8,0,9,9\n")
        for more, says in (
            ({}, "KMIN_MAP: '1' has no value for 10 Gb/s"),
            (
                {
                    "KMIN_MAP": "1 10000000000 4",
                    "KMAX_MAP": "1 10000000000 4",
                    "MIN_RATE": "1e999Gb/s",
                },
                "MIN_RATE: '1e999Gb/s' is no rate; allowed: such as 100Mb/s",
            ),
        ):
            self.write("cases.json", [{"case": 1, "cc": "a", "config": {**config, **more}}])
            done = self.script("golden", "cases.json", "flows.csv", status=1)
            self.assertEqual(done.stderr, f"golden: case 1: {says}\n")

    def test_times_that_nothing_takes(self):
        """No factor is infinite, and braces of --machine are text."""
        self.write("a.csv", COLLECTIVES + "a,1,8,all_reduce,1024,1e-300\n")
        says = "a.csv: line 2: time_us='1e-300'; allowed: a number of microseconds above 0, "
        self.refused("nccl-tables", "a.csv", says=says + "1e-09 to 1e+15")
        self.write("a.csv", COLLECTIVES + "a,1,8,all_reduce,1024,10\n")
        done = self.script("nccl-tables", "a.csv", "--machine=--server={x}", status=1)
        self.assertIn("nccl-tables: not run, 1 rows: a all_reduce: --server={x}: ", done.stderr)

    def test_pages_without_a_place(self):
        """Known before the first run."""
        mark = "<!-- TABLE: published-{} -->\n"
        for text, says in (
            ("", "<!-- TABLE: published-rows --> stands there 0 times"),
            (mark.format("rows"), "no table stands below <!-- TABLE: published-rows -->"),
            (2 * mark.format("rows"), "<!-- TABLE: published-rows --> stands there 2 times"),
            (
                mark.format("rows") + "| a |",
                "<!-- TABLE: published-groups --> stands there 0 times",
            ),
        ):
            self.write("page.md", text)
            self.refused("published", "--page=page.md", says=f"--page=page.md: {says}")

    def test_places_of_results(self):
        os.mkdir(os.path.join(self.folder, "folder"))
        os.symlink("/dev/full", os.path.join(self.folder, "full"))
        for words in (["nccl-tables"], ["published"], ["fit-compute", "--reference=nowhere"]):
            for name, why in (
                ("folder", "is a folder; allowed: a file"),
                ("full", "is no regular file"),
                ("/dev/null", "is no regular file"),
            ):
                says = f"--json={name}: {why}"
                self.refused(*words, f"--json={name}", says=says)
        self.assertTrue(stat.S_ISCHR(os.stat("/dev/null").st_mode))
        done = self.script("published", "--commands", "--out=/proc/x", status=1)
        says = "published: error: --out=/proc/x: cannot be written: No such file or directory\n"
        self.assertEqual(done.stderr, says)

    def test_programs_that_are_not_compute_times(self):
        self.write("gemm_efficiency_vidur.csv", "")
        says = "./gemm_efficiency_vidur.csv: line 1: there is no column M"
        self.refused("fit-compute", "--reference=.", says=says)
        source = os.path.join(ROOT, "scripts", "fit-compute")
        for script, why in SPOILED:
            path = self.write("program", f"#!/bin/sh\n{script}\n")
            os.chmod(path, 0o755)
            # Without tables of the reference data: what is asked is the class that asks.
            code = (
                "import importlib.machinery as m, importlib.util as u\n"
                f"loader = m.SourceFileLoader('fit', {source!r})\n"
                "fit = u.module_from_spec(u.spec_from_loader('fit', loader))\n"
                "loader.exec_module(fit)\n"
                "def ask(_):\n"
                "    table = fit.Table('a', 'A100', [1.0, 2.0])\n"
                "    table.question = {}\n"
                f"    program = fit.Program({path!r})\n"
                "    program.load(table)\n"
                "    program.seconds('A100', {}, {})\n"
                "fit.main = ask\n"
                "fit.console.run('fit-compute', fit.checked)\n"
            )
            done = captured(["/usr/bin/python3", "-c", code], timeout=60)
            self.assertEqual(done.returncode, 2, done.stderr)
            self.assertIn(f"fit-compute: error: {path}: {why}", done.stderr)
            self.assertNotIn("Traceback", done.stderr)

    def running(self):
        """Whether the program of a test runs."""
        mine = []
        for process in filter(str.isdigit, os.listdir("/proc")):
            try:
                with open(f"/proc/{process}/cmdline", "rb") as file:
                    mine += [process] if self.folder.encode() in file.read() else []
            except OSError:  # it has ended
                pass
        return mine

    def test_what_ends_them_ends_their_runs(self):
        """By Ctrl-C and SIGTERM, with nothing left in the folder for temporary files; by SIGKILL,
        too.
        """
        for name in ("traffic", "dltrain", "collperf"):
            path = self.write(
                name, f"#!/bin/sh\n[ $1 = --dry-run ] && exit 0\n: >{self.folder}/runs\n"
                "exec sleep 50\n",
            )
            os.chmod(path, 0o755)
        runs = os.path.join(self.folder, "runs")
        temporary = os.path.join(self.folder, "temporary")
        os.mkdir(temporary)
        for words in (
            ["golden", CASES, CASES_FLOWS, "--jobs=2"],
            ["nccl-tables", "--jobs=2"],
            ["published", "--jobs=2", "--out=out"],
        ):
            for number, status in (
                (signal.SIGINT, 130),
                (signal.SIGTERM, 143),
                (signal.SIGKILL, -signal.SIGKILL),
            ):
                with self.subTest(words=words, signal=number):
                    script = os.path.join(ROOT, "scripts", words[0])
                    process = subprocess.Popen(
                        [script, *words[1:]],
                        cwd=self.folder,
                        env={**os.environ, "DLTRAIN_PROGRAMS": self.folder, "TMPDIR": temporary},
                        stdin=subprocess.DEVNULL,
                        stdout=subprocess.DEVNULL,
                        stderr=subprocess.PIPE,
                        text=True,
                    )
                    begin = time.monotonic()
                    while not os.path.exists(runs) and time.monotonic() - begin < 30:
                        time.sleep(0.05)
                    process.send_signal(number)
                    _, said = process.communicate(timeout=120)
                    self.assertEqual((process.returncode, said), (status, ""))
                    time.sleep(0.3)
                    self.assertEqual(self.running(), [])
                    if number != signal.SIGKILL:
                        self.assertEqual(os.listdir(temporary), [])
                    shutil.rmtree(temporary)
                    os.mkdir(temporary)
                    os.remove(runs)


if __name__ == "__main__":
    main()
