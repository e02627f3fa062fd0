# SPDX-License-Identifier: GPL-2.0-only
# ctest: TIMEOUT 600
"""scripts/sweep: a grid or a list of runs into one SQLite file, whatever happens in between."""

import csv
import fcntl
import importlib.util
import io
import itertools
import json
import os
import pty
import re
import select
import shutil
import signal
import sqlite3
import stat
import subprocess
import sys
import time
import unittest
import unittest.mock

sys.path.append(sys.path[0] + "/../shared")
from _system_test import PROGRAMS, ROOT, SystemTest, long_test, main, share_of

SWEEP = os.path.join(ROOT, "scripts", "sweep")
FAST = ["dltrain", "--model=gpt2", "--servers=2", "--warmup=0"]  # a third of a second
sys.path.insert(0, os.path.join(ROOT, "scripts"))

from cluster_simulator.plots.sweep import over  # noqa: E402


class SweepTest(SystemTest):
    def setUp(self):
        super().setUp()
        self.out = os.path.join(self.folder, "sweep")
        # Every program notes that it was started, and then is the real one.
        self.log = os.path.join(self.folder, "started")
        programs = os.path.join(self.folder, "programs")
        os.mkdir(programs)
        for name in ("dltrain", "traffic", "collperf"):
            path = os.path.join(programs, name)
            with open(path, "w", encoding="utf-8") as file:
                file.write(
                    f'#!/bin/sh\ncase "$*" in *--dry-run*) ;; *) echo "$*" >> {self.log} ;; esac\n'
                    f'exec {PROGRAMS}/{name} "$@"\n'
                )
            os.chmod(path, 0o755)
        self.environment = {**os.environ, "DLTRAIN_PROGRAMS": programs, "MPLBACKEND": "Agg"}

    def sweep(self, *arguments, status=0, timeout=120):
        done = subprocess.run(
            [SWEEP, *arguments],
            cwd=self.folder,
            env=self.environment,
            capture_output=True,
            text=True,
            timeout=timeout,
            stdin=subprocess.DEVNULL,
        )
        self.assertEqual(done.returncode, status, f"{arguments}\n{done.stdout}\n{done.stderr}")
        return done

    def start(self, *arguments, **streams):
        streams = streams or {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        return subprocess.Popen(
            [SWEEP, *arguments],
            cwd=self.folder,
            env=self.environment,
            stdin=subprocess.DEVNULL,
            **streams,
        )

    def refuse(self, *arguments_and_words):
        """Words after None have to stand in the one line of the error."""
        place = arguments_and_words.index(None)
        done = self.sweep(*arguments_and_words[:place], status=2)
        self.assertRegex(done.stderr, r"\Asweep: error: [^\n]+\n\Z")
        self.assertEqual(done.stdout, "")
        for word in arguments_and_words[place + 1 :]:
            self.assertIn(word, done.stderr)

    def rows(self):
        db = sqlite3.connect(os.path.join(self.out, "sweep.sqlite"), timeout=60)
        db.row_factory = sqlite3.Row
        rows = [dict(row) for row in db.execute("SELECT * FROM runs ORDER BY id")]
        db.close()
        return rows

    def started(self):
        """How often each point was started, by its options."""
        counts = {}
        if os.path.exists(self.log):
            with open(self.log, encoding="utf-8") as file:
                for line in file:
                    point = re.sub(r" --out=\S+| --progress=0", "", line.strip())
                    counts[point] = counts.get(point, 0) + 1
        return counts

    def wait_for(self, condition, what):
        begin = time.monotonic()
        while not condition():
            self.assertLess(time.monotonic() - begin, 60, what)
            time.sleep(0.01)

    def count(self, status):
        try:
            return sum(row["status"] == status for row in self.rows())
        except sqlite3.Error:  # not there yet
            return 0

    def still_running(self):
        """Processes of programs that write into the sweep's folder."""
        found = []
        for process in filter(str.isdigit, os.listdir("/proc")):
            try:
                with open(f"/proc/{process}/cmdline", "rb") as file:
                    if f"--out={self.out}/".encode() in file.read():
                        found.append(process)
            except OSError:
                pass
        return found


class Killed(SweepTest):
    GRID = [*FAST, "--zero=0,1,2,3", "--nic=25GbE,100GbE,400GbE", "--jobs=2"]  # 4 x 3 = 12 points

    def check_twelve(self, done_before):
        rows, started = self.rows(), self.started()
        self.assertEqual([row["status"] for row in rows], ["done"] * 12)
        self.assertEqual(
            {(row["zero"], row["nic"]) for row in rows},
            {(zero, nic) for zero in range(4) for nic in ("25GbE", "100GbE", "400GbE")},
        )
        self.assertEqual(len(started), 12)
        for row in rows:
            point = " ".join(
                f"--{name}={value}" for name, value in json.loads(row["options"]).items()
            )
            self.assertEqual(started[point], row["attempts"], point)
            if row["id"] in done_before:
                self.assertEqual(started[point], 1, f"{point} was done and ran again")
        self.assertLessEqual(sum(started.values()), 12 + 2)  # two were under way, at most
        self.assertEqual(sorted(os.listdir(self.out)), ["sweep.lock", "sweep.sqlite"])

    def test_twelve_points_killed_half_way(self):
        """SIGKILL: nothing can be put right at the end. The same command again ends with 12 rows;
        what was done is not run again, and what was running dies with the sweep.
        """
        sweep = self.start(*self.GRID, f"--out={self.out}")
        self.wait_for(lambda: self.count("done") >= 5, "no five points were done")
        sweep.kill()
        sweep.wait()
        self.wait_for(lambda: not self.still_running(), "a run outlives its sweep")
        before = self.rows()
        done_before = {row["id"] for row in before if row["status"] == "done"}
        self.assertTrue(5 <= len(done_before) < 12, done_before)
        self.assertEqual(len(before), 12)
        said = self.sweep(*self.GRID, f"--out={self.out}")
        self.assertIn(f"12 points in {self.out}: ", said.stderr)
        self.assertIn("12 of 12 points done", said.stdout)
        self.check_twelve(done_before)
        # Once more: nothing is left to do.
        started = self.started()
        self.assertIn(
            "12 done, 0 failed, 0 to run", self.sweep(*self.GRID, f"--out={self.out}").stderr
        )
        self.assertEqual(self.started(), started)
        # The numbers are the program's.
        run = self.run_program([*FAST, "--zero=3", "--nic=400GbE"])
        row = next(row for row in self.rows() if (row["zero"], row["nic"]) == (3, "400GbE"))
        self.assertEqual(row["step_time_us"], run.stats["step_time_us"])
        self.assertEqual(row["fct_us_p99"], run.stats["fct_us"]["p99"])
        self.assertEqual(
            row["bytes_sent_per_gpu_all_gather"], run.stats["bytes_sent_per_gpu"]["all_gather"]
        )
        self.assertEqual(row["links_0_utilization"], run.stats["links"][0]["utilization"])
        self.assertEqual(json.loads(row["stats"])["attribution"], run.stats["attribution"])

    def test_killed_between_the_run_and_its_row(self):
        """A run that was complete, though its row was not written, counts; one that was cut off
        does not.
        """
        self.sweep(*FAST, "--zero=0,1", f"--out={self.out}", "--keep")
        db = sqlite3.connect(os.path.join(self.out, "sweep.sqlite"))
        with db:
            db.execute(
                "UPDATE runs SET status = 'running', stats = NULL, step_time_us = NULL, folder ="
                " NULL"
            )
        db.close()
        os.truncate(os.path.join(self.out, "runs", "2", "stats.json"), 100)
        # Nobody holds the lock, so nothing runs, whatever the rows say; of one that does hold it
        # they are right.
        status = self.sweep("status", self.out).stdout
        self.assertIn("2 cut off, of a sweep that was killed", status)
        self.assertNotIn("running", status)
        with open(os.path.join(self.out, "sweep.lock"), encoding="utf-8") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            self.assertIn("2 running\n", self.sweep("status", self.out).stdout)
        self.sweep("resume", self.out)
        self.assertEqual([row["attempts"] for row in self.rows()], [1, 2])
        # --keep was not said again
        self.assertEqual(sorted(os.listdir(self.out)), ["sweep.lock", "sweep.sqlite"])
        self.assertTrue(
            all(row["status"] == "done" and row["step_time_us"] > 0 for row in self.rows())
        )

    @long_test
    def test_stopped_by_ctrl_c(self):
        sweep = self.start(
            *self.GRID,
            f"--out={self.out}",
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        self.wait_for(lambda: self.count("done") >= 3, "no three points were done")
        sweep.send_signal(signal.SIGINT)
        _, said = sweep.communicate(timeout=60)
        self.assertEqual(sweep.returncode, 130, said)
        self.assertIn(f"scripts/sweep resume {self.out}", said)
        self.assertEqual(self.still_running(), [])
        done_before = {row["id"] for row in self.rows() if row["status"] == "done"}
        self.assertTrue(3 <= len(done_before) < 12)
        self.assertEqual(self.count("pending"), 12 - len(done_before))
        self.sweep("resume", self.out, "--jobs=2")
        self.check_twelve(done_before)


class Points(SweepTest):
    def planned(self, *arguments):
        return self.sweep(*arguments, "--dry-run").stdout.splitlines()

    def test_plan_names_points_that_would_be_refused(self):
        """8 GPUs: 3 does not divide them; and nothing is run."""
        words = [*FAST, "--gpus-per-server=4", "--tp=2,3", "--seq=64"]
        done = self.sweep(*words, "--dry-run", "--jobs=1", status=3)
        self.assertEqual(len(done.stdout.splitlines()), 2)
        self.assertEqual(done.stderr.count("--tp=3: "), 1)
        self.assertNotIn("--tp=2: ", done.stderr)
        self.assertIn("1 of 2 points refused", done.stderr)
        self.assertFalse(os.path.exists(self.log))

    def test_plan_names_points_that_do_not_fit(self):
        """Parameters, gradients and the optimizer of 7 B are 100 GiB on a GPU of 80, fewer with
        ZeRO 2. A point that says what is to become of memory is asked as it is."""
        words = ["dltrain", "--gpus=8", "--model=llama-7b", "--micro-batch=1", "--zero=0,2"]
        words += ["--seq=96", "--dry-run", "--jobs=1"]
        done = self.sweep(*words, status=3)
        self.assertIn("1 of 2 points refused", done.stderr)
        self.assertIn("--zero=0 --seq=96", done.stderr)
        for path, ignored in (("yes.json", True), ("no.json", False)):
            scenario = self.write(path, json.dumps({"training": {"ignore_memory": ignored}}))
            self.sweep(*words, f"--scenario={scenario}", status=0 if ignored else 3)
        self.sweep(*words, "--ignore-memory=1", status=0)

    def test_files_of_jobs(self):
        """--jobs is the sweep's where it is a number, and else dltrain's; a column of every job."""
        def jobs(size):
            job = {"servers": 2, "collective": {"op": "all_reduce", "bytes": size}}
            return json.dumps({"jobs": [{"name": name, **job} for name in ("a_b", "a-b", "last")]})

        files = ",".join(
            os.path.basename(self.write(name, jobs(size)))
            for name, size in (("small.json", "1MB"), ("large.json", "16MB"))
        )
        words = ["dltrain", f"--jobs={files}", "--jobs=2", "--topology=leaf-spine"]
        done = self.sweep(*words, f"--out={self.out}")
        self.assertIn("2 to run, 2 at a time", done.stderr)
        small, large = self.rows()
        self.assertEqual((small["jobs"], large["jobs"]), ("small.json", "large.json"))
        columns = [f"jobs_{job}_time_us" for job in ("a_b", "a-b", "last")]
        table = self.sweep("table", self.out, "--columns=" + ",".join(columns)).stdout
        self.assertEqual(table.splitlines()[0], ",".join(columns))
        for name in columns:
            # 16 times the bytes: more than 4 times the time, whatever a round costs beside them.
            self.assertGreater(float(large[name]), 4 * float(small[name]))
        self.refuse("dltrain", "--jobs=1.5", f"--out={self.out}", None, "--jobs=1.5", "1 to 4096")

    @unittest.skipUnless(shutil.which("mpirun"), "no mpirun")
    def test_several_processes(self):
        """A run of two processes takes two cores."""
        cores = len(os.sched_getaffinity(0))
        words = ["traffic", "--k=4", "--bytes=1kB,2kB", "--mpi-ranks=2"]
        done = self.sweep(*words, f"--out={self.out}")
        self.assertIn(f"2 to run, {max(1, cores // 2)} at a time", done.stderr)
        self.assertEqual([(row["status"], row["ranks"]) for row in self.rows()], [("done", 2)] * 2)

    def test_grid(self):
        self.assertEqual(
            self.planned("dltrain", "--zero=0,1", "--k=4,8", "--recompute", "--no-pfc"),
            [
                f"dltrain --zero={zero} --k={k} --recompute=1 --pfc=0"
                for zero in (0, 1)
                for k in (4, 8)
            ],
        )
        self.assertEqual(self.planned("dltrain"), ["dltrain"])
        self.assertFalse(os.path.exists(self.log))

    def test_commas_within_a_value(self):
        """[1MB,2MB] is one value with two sizes: of 8 flows 4 take each. 4 x (1 + 2) MB = 12 MB."""
        self.sweep("traffic", "--k=4", "--hosts=8", "--bytes=[1MB,2MB],4MB", f"--out={self.out}")
        self.assertEqual(
            [(row["bytes"], row["message_bytes"]) for row in self.rows()],
            [("1MB,2MB", 12000000), ("4MB", 32000000)],
        )
        self.assertEqual(
            self.planned(
                "dltrain", "--algorithm=[all_gather=ring,reduce_scatter=ring],hierarchical"
            ),
            [
                "dltrain --algorithm=all_gather=ring,reduce_scatter=ring",
                "dltrain --algorithm=hierarchical",
            ],
        )
        self.refuse(
            "traffic",
            "--bytes=[1MB,2MB",
            f"--out={self.out}",
            None,
            "--bytes=[1MB,2MB",
            "brackets do not match",
        )

    def test_a_value_with_its_own_keys(self):
        """A '=' outside of brackets: all is one value. In brackets there may be several."""
        at = "link-down,at=1us,on=core-0:1"
        self.assertEqual(
            self.planned("traffic", "--k=4", f"--fault={at}"), [f"traffic --k=4 --fault={at}"]
        )
        later = at.replace("1us", "2us")
        self.assertEqual(
            self.planned("traffic", "--k=4", f"--fault=[{at}],[{later}]"),
            [f"traffic --k=4 --fault={at}", f"traffic --k=4 --fault={later}"],
        )

    def test_csv(self):
        table = self.write("points.csv", 'bytes,cc,ack-every\n"1MB,2MB",none,\n4MB,,2\n\n')
        self.assertEqual(
            self.planned("traffic", f"--points={table}", "--seed=1,2"),
            [
                "traffic --bytes=1MB,2MB --cc=none --seed=1",
                "traffic --bytes=1MB,2MB --cc=none --seed=2",
                "traffic --bytes=4MB --ack-every=2 --seed=1",
                "traffic --bytes=4MB --ack-every=2 --seed=2",
            ],
        )

    def test_json(self):
        points = self.write(
            "list.json", '[{"bytes": ["1MB", "2MB"], "pfc": false}, {"bytes": "4MB", "cc": null}]'
        )
        self.assertEqual(
            self.planned("traffic", f"--points={points}"),
            ["traffic --bytes=1MB,2MB --pfc=0", "traffic --bytes=4MB"],
        )
        points = self.write("grid.json", '{"bytes": [["1MB", "2MB"], "4MB"], "seed": [1, 2]}')
        self.assertEqual(
            self.planned("traffic", f"--points={points}"),
            [
                f"traffic --bytes={size} --seed={seed}"
                for size in ("1MB,2MB", "4MB")
                for seed in (1, 2)
            ],
        )

    def test_more_points_later(self):
        """The folder grows: old points stay done, a new option is a new column that they have
        not.
        """
        self.sweep(*FAST, "--zero=0,1", f"--out={self.out}")
        said = self.sweep(*FAST, "--zero=1,2", f"--out={self.out}")
        self.assertIn("2 points", said.stderr)
        self.assertIn("1 done", said.stderr)
        self.sweep(*FAST, "--zero=2", "--mtu=1024", f"--out={self.out}")
        self.assertEqual(
            [(row["zero"], row["mtu"], row["attempts"]) for row in self.rows()],
            [(0, None, 1), (1, None, 1), (2, None, 1), (2, 1024, 1)],
        )

    def test_bad_use(self):
        out = f"--out={self.out}"
        twice = self.write("g.json", '{"zero": [0], "zero": [1]}')
        bad = (
            ("dltrian", out, None, "dltrian", "did you mean 'dltrain'"),
            ("dltrain", "--zero=0,1", None, "--out=DIR is missing"),
            ("dltrain", "--zeero=0,1", out, None, "--zeero", "unknown option", "--zero"),
            ("dltrain", "--zero", "0,1", out, None, "0,1", "written with '='"),
            ("collperf", "-b=1M", out, None, "-b=1M", "--minbytes=1M"),
            ("dltrain", "--zero=0", "--zero=1", out, None, "--zero=1", "given twice"),
            ("dltrain", "--zero=0,,1", out, None, "--zero=0,,1", "empty value"),
            ("dltrain", "--jobs=0", out, None, "--jobs=0", "1 to 4096"),
            ("dltrain", "--points=no.csv", out, None, "--points=no.csv", "No such file"),
            ("dltrain", f"--points={self.write('a.json', '[1]')}", out, None, "a list of objects"),
            ("dltrain", f"--points={self.write('b.json', '[{')}", out, None, "no JSON"),
            ("dltrain", f"--points={self.write('c.csv', 'zero,k')}", out, None, "no points"),
            (
                "dltrain",
                f"--points={self.write('d.csv', chr(10).join(('zero', '1,2')))}",
                out,
                None,
                "line 2 has 2 fields",
            ),
            (
                "dltrain",
                f"--points={self.write('e.csv', chr(10).join(('zero,steps', '1,1', '2')))}",
                out,
                None,
                "line 3 has 1 of the 2 fields",
            ),
            ("dltrain", f"--points={twice}", out, None, '"zero" stands twice'),
            (
                "dltrain",
                f"--points={self.write('f.csv', chr(10).join(('out', 'x')))}",
                out,
                None,
                "out is the sweep's own",
            ),
            (
                "dltrain",
                f"--points={self.write('g.csv', chr(10).join(('zero', '1')))}",
                "--zero=2",
                out,
                None,
                "given twice",
            ),
            ("resume", self.folder, None, self.folder, "no sweep.sqlite"),
            ("plot", self.folder, "--x=zero", None, "no sweep.sqlite"),
            ("status", None, "one folder"),
        )
        for case in share_of(bad, one_in=4):
            self.refuse(*case)
        self.assertFalse(os.path.exists(self.out))
        os.makedirs(os.path.join(self.out, "runs"))
        self.refuse("dltrain", out, None, "has a folder runs, but no sweep.sqlite")

    def test_a_file_that_has_changed(self):
        """Points that are done are of the file as it was: nobody is told old numbers for new."""
        for kind in share_of(("scenario", "jobs"), one_in=2):
            out = self.out + kind

            def text(size, kind=kind):
                job = {"servers": 2, "collective": {"op": "all_reduce", "bytes": size}}
                small = {"cluster": {"servers": 2}, "collectives": {"channels": size}}
                return json.dumps({"jobs": [job]} if kind == "jobs" else small)

            words = ["dltrain", "--seed=1,2", f"--{kind}=it.json", f"--out={out}"]
            words += ["--topology=single-switch"]
            words += [] if kind == "jobs" else ["--model=gpt2", "--seq=64"]
            self.write("it.json", text(1))
            self.assertIn("2 of 2 points done", self.sweep(*words).stdout)
            self.assertIn("2 of 2 points done", self.sweep(*words).stdout)
            self.write("it.json", text(2))
            for again in (words, ["resume", out]):
                refused = self.sweep(*again, status=2)
                self.assertIn("it.json has changed since point 1 was run", refused.stderr)
            self.write("it.json", text(1))
            self.assertIn("2 of 2 points done", self.sweep(*words).stdout)
            self.assertNotIn("files", self.sweep("table", out).stdout.splitlines()[0].split(","))

    def test_help(self):
        text = self.sweep("--help").stdout
        for option in (
            "--out",
            "--points",
            "--jobs",
            "--retry-failed",
            "--keep",
            "--dry-run",
            "--x",
            "--by",
            "--log",
        ):
            self.assertIn(option, text)


class Failures(SweepTest):
    def test_recorded_and_retried_on_request_only(self):
        scenario = os.path.join(self.folder, "later.json")
        out = f"--out={self.out}"
        said = self.sweep(*FAST, "--zero=1,9", "--scenario=later.json", out, status=3)
        self.assertIn("2 failed", said.stdout)
        with open(scenario, "w", encoding="utf-8") as file:
            json.dump({"fabric": {"mtu": 1024}}, file)
        error = self.run_program(["dltrain", "--zero=9"], status=2).err
        self.assertIn(
            "0 to run",
            self.sweep(*FAST, "--zero=1,9", "--scenario=later.json", out, status=3).stderr,
        )
        self.sweep("resume", self.out, status=3)
        self.assertEqual(
            [(row["status"], row["attempts"], row["exit_status"]) for row in self.rows()],
            [("failed", 1, 2)] * 2,
        )
        self.assertIn("later.json", self.rows()[0]["error"])
        self.sweep("resume", self.out, "--retry-failed", status=3)
        rows = self.rows()
        self.assertEqual(
            [(row["status"], row["attempts"], row["exit_status"]) for row in rows],
            [("done", 2, 0), ("failed", 2, 2)],
        )
        self.assertIsNone(rows[0]["error"])
        self.assertEqual(f"dltrain: error: {rows[1]['error']}\n", error)
        status = self.sweep("status", self.out).stdout
        self.assertIn("1 done\n1 failed\n", status)
        self.assertIn("zero=9", status)
        self.assertIn("--zero=9: allowed: 0, 1, 2, 3", status)

    def test_failed_in_the_middle(self):
        """Status 3 with its message; no numbers of a failed run in the columns, but all of
        stats.json beside.
        """
        self.sweep(
            "traffic",
            "--topology=single-switch",
            "--hosts=3",
            "--pattern=incast",
            "--fan-in=2",
            "--bytes=1MB",
            "--timeout-exponent=4",
            "--bit-error-rate=0,0.001",
            f"--out={self.out}",
            status=3,
        )
        good, bad = self.rows()
        self.assertEqual((good["status"], good["failed_queue_pairs"]), ("done", 0))
        self.assertEqual(
            (bad["status"], bad["exit_status"], bad["failed_queue_pairs"]), ("failed", 3, None)
        )
        self.assertIn("2 failed queue pairs", bad["error"])
        self.assertEqual(json.loads(bad["stats"])["failed_queue_pairs"], 2)

    def test_a_run_that_is_killed(self):
        sweep = self.start("traffic", "--k=4", "--bytes=100GB", f"--out={self.out}")
        self.wait_for(
            lambda: os.path.exists(os.path.join(self.out, "runs", "1", "flows.csv")),
            "the run did not begin",
        )
        for process in self.still_running():
            os.kill(int(process), signal.SIGKILL)
        self.assertEqual(sweep.wait(timeout=60), 3)
        self.assertRegex(self.rows()[0]["error"], "ended by SIGKILL")

    @long_test
    def test_a_damaged_database(self):
        self.sweep(
            "traffic",
            "--topology=single-switch",
            "--hosts=3",
            "--bytes=1kB,2kB",
            f"--out={self.out}",
        )
        db = sqlite3.connect(os.path.join(self.out, "sweep.sqlite"))
        with db:
            db.execute(
                "UPDATE runs SET status = 'failed', error = ? WHERE id = 2", ("\x1b[31mred",)
            )
        for command in ("status", "table"):
            done = self.sweep(command, self.out)
            self.assertIn("red", done.stdout + done.stderr)
            self.assertNotIn("\x1b", done.stdout + done.stderr)
        # What scripts/sweep never writes: one check and one message, whoever reads it.
        damages = (
            ("options", "[" * 100000),
            ("options", "3"),
            ("options", '{"--k": 4}'),
            ("status", "dnoe"),
            ("program", "rm"),
            ("folder", b"\xff"),
            ("cwd", b"x"),
        )
        commands = (["status"], ["table"], ["plot", "--x=bytes", "--y=fct_us_p99"])
        for (column, value), command in share_of(itertools.product(damages, commands), one_in=4):
            with db:
                ((kept,),) = db.execute(f"SELECT {column} FROM runs WHERE id = 2")
                db.execute(f"UPDATE runs SET {column} = ? WHERE id = 2", (value,))
            verb = "are" if column == "options" else "is"
            done = self.sweep(command[0], self.out, *command[1:], status=2)
            self.assertEqual(
                done.stderr, f"sweep: error: sweep.sqlite: run 2: its {column} {verb} damaged\n"
            )
            with db:
                db.execute(f"UPDATE runs SET {column} = ? WHERE id = 2", (kept,))
        db.close()
        with open(os.path.join(self.out, "sweep.sqlite"), "r+b") as file:
            file.write(b"no database")
        for command in ("status", "table", "resume"):
            self.assertRegex(
                self.sweep(command, self.out, status=2).stderr,
                r"\Asweep: error: [^\n]*sweep.sqlite[^\n]*\n\Z",
            )

    @long_test
    def test_two_sweeps_in_one_folder(self):
        sweep = self.start("traffic", "--k=4", "--bytes=100GB", f"--out={self.out}")
        self.wait_for(
            lambda: os.path.exists(os.path.join(self.out, "runs", "1", "flows.csv")),
            "the run did not begin",
        )
        self.refuse(
            *FAST,
            f"--out={self.out}",
            None,
            f"another sweep (process {sweep.pid}) is working in this folder",
        )
        self.assertEqual(len(self.rows()), 1)
        sweep.terminate()
        self.assertEqual(sweep.wait(timeout=60), 143)
        self.assertEqual(self.rows()[0]["status"], "pending")


class Showing(SweepTest):
    def test_progress_in_a_terminal(self):
        """A line for each point that ended, and below a line that moves, with what is left."""
        ours, its = pty.openpty()
        sweep = self.start(
            *FAST,
            "--zero=0,1,2",
            "--nic=25GbE,100GbE",
            "--jobs=1",
            f"--out={self.out}",
            stdout=subprocess.PIPE,
            stderr=its,
        )
        os.close(its)
        shown = b""
        while True:
            try:
                select.select([ours], [], [], 60)
                data = os.read(ours, 65536)
            except OSError:
                break
            if not data:
                break
            shown += data
        os.close(ours)
        self.assertEqual(sweep.wait(timeout=60), 0)
        sweep.stdout.close()
        text = shown.decode()
        self.assertEqual(
            re.findall(r"\[(\d)/6\] dltrain zero=\d nic=\w+: done in [\d.]+ s", text),
            list("123456"),
        )
        self.assertRegex(text, r"\r\x1b\[K\d of 6 done, 1 running, ETA (\d+ s|\d+:\d\d min)")
        ends = dict(re.findall(r"\[(\d)/6\] [^\r\n]*: done in [\d.]+ s([^\r\n]*)", text))
        self.assertRegex(ends["1"], r"^, ETA \d")  # five are left
        self.assertEqual(ends["6"], "")  # none is

    @long_test
    def test_time_left(self):
        """Of points that take 10 s each, as the two did that are done."""
        from cluster_simulator.sweep.progress import Show

        show = Show(total=9, done_before=0, failed_before=0, quiet=True)
        clock = unittest.mock.patch.object(time, "monotonic", return_value=1000.0)
        clock.start()
        self.addCleanup(clock.stop)
        ran_for = lambda *seconds: {
            number: (None, 1000.0 - s) for number, s in enumerate(seconds)
        }
        self.assertEqual(show._eta(3, ran_for(4), 2), "")  # none is done yet
        show.seconds = [8, 12]
        for waiting, running, jobs, expected in (
            (0, ran_for(), 2, ""),  # all are done
            (0, ran_for(4), 2, ", ETA 6 s"),
            (0, ran_for(9, 1), 2, ", ETA 9 s"),  # the later of the two
            (1, ran_for(9, 1), 2, ", ETA 11 s"),  # begins in 1 s
            # One begins at once, one in 6 s, one in 10 s: to 10, 16 and 20 s.
            (3, ran_for(4), 2, ", ETA 20 s"),
            (0, ran_for(11), 2, ""),  # it takes longer than the others: nobody knows
            (1, ran_for(11), 1, ", ETA 10 s"),
        ):
            self.assertEqual(show._eta(waiting, running, jobs), expected)

    def test_options_that_change_nothing(self):
        """Said in one note: the seed, where one message crosses one switch and nothing is drawn by
        chance; the rate of the NICs does change its time.
        """
        done = self.sweep(
            "traffic",
            "--topology=single-switch",
            "--hosts=2",
            "--pattern=incast",
            "--fan-in=1",
            "--bytes=4kB",
            "--seed=1,2",
            "--nic=25GbE,100GbE",
            f"--out={self.out}",
        )
        self.assertEqual(
            [line for line in done.stderr.splitlines() if "note" in line],
            [
                "sweep: note: --seed changes nothing here: points that differ in it alone have the"
                " same numbers"
            ],
        )

    def test_kept_results(self):
        self.sweep(*FAST, f"--out={self.out}", "--keep")
        folder = os.path.join(self.out, self.rows()[0]["folder"])
        self.assertTrue({"stats.json", "flows.csv", "links.csv"} <= set(os.listdir(folder)))

    def test_table(self):
        done = self.sweep(*FAST, "--zero=3,0", f"--out={self.out}", "--best=step_time_us")

        def table(*words):
            words = ["table", self.out, "--columns=zero,step_time_us", *words]
            rows = csv.DictReader(io.StringIO(self.sweep(*words).stdout))
            return [(int(row["zero"]), float(row["step_time_us"])) for row in rows]

        exact = {row["zero"]: row["step_time_us"] for row in self.rows()}
        first = min(exact, key=exact.get)
        self.assertIn(
            f"best step_time_us (smallest): {float(f'{exact[first]:.6g}'):g}".split(".")[0],
            done.stdout,
        )
        self.assertIn(f", dltrain zero={first}\n", done.stdout)
        # By the option that varies, with six digits; or all of them, or in another order.
        self.assertEqual(table(), [(zero, float(f"{exact[zero]:.6g}")) for zero in (0, 3)])
        self.assertEqual(table("--digits=17"), [(zero, exact[zero]) for zero in (0, 3)])
        self.assertEqual([zero for zero, _ in table("--sort=-zero")], [3, 0])
        self.assertEqual(table("--best=step_time_us")[0][0], first)
        self.assertEqual(table("--best=samples_per_s")[0][0], first)
        self.refuse("table", self.out, "--best=zero", None, "--best=zero", "is no result")
        self.refuse("table", self.out, "--digits=0", None, "--digits=0", "1 to 17")
        self.assertIn("fct_us_p99", self.sweep("table", self.out).stdout.split("\n")[0].split(","))
        self.refuse(
            "table",
            self.out,
            "--columns=step_time",
            None,
            "--columns=step_time",
            "did you mean 'step_time_us'",
        )

    def test_order_of_a_table(self):
        """Numbers before words before nothing; the largest first only where more is better."""
        from cluster_simulator.sweep.showing import MORE_IS_BETTER, in_order, rounded, varying

        rows = [{"a": value} for value in (10, 9, "x", None, 2.5)]
        order = lambda *columns: [row["a"] for row in in_order(rows, columns)]
        self.assertEqual(order("a"), [2.5, 9, 10, "x", None])
        self.assertEqual(order("-a"), ["x", 10, 9, 2.5, None])
        points = [{"a": "1", "b": "2"}, {"a": "1", "b": "3", "c": "0"}]
        self.assertEqual(varying(points), ["b", "c"])
        self.assertEqual(varying([{"a": "1", "b": "2"}]), ["a", "b"])
        shown = [rounded(x, 6) for x in (447138.1234, 1.23456789e-7, 12345678.9, 3, "x", None)]
        self.assertEqual(shown, [447138, 1.23457e-07, 12345700, 3, "x", None])
        for name, more in (
            ("step_time_us", False),
            ("fct_slowdown_p99", False),
            ("retransmitted_packets", False),
            ("gpu_memory_bytes_estimate", False),
            ("samples_per_s", True),
            ("collectives_0_busbw_GBps", True),
            ("flows_goodput_gbps", True),
            ("mfu", True),
            ("fairness_jain_mean", True),
            ("collectives_0_efficiency", True),
        ):
            self.assertEqual(bool(MORE_IS_BETTER.search(name)), more, name)

    def test_what_a_mean_is_over(self):
        """Not the axis, nor what the lines are; options of --set have braces, columns have not."""
        rows = [
            {"options": json.dumps({"{n}": str(n), "{b}": b, "nic": nic})}
            for n in (1, 2)
            for b in ("x", "y")
            for nic in ("25GbE", "100GbE")
        ]
        for x, by, said in (
            ("n", ("b",), " over nic"),
            ("n", ("nic",), " over b"),
            ("nic", (), " over n, b"),
            ("n", ("b", "nic"), ""),
        ):
            self.assertEqual(over(rows, x, by), said)

    @long_test
    def test_plot(self):
        if importlib.util.find_spec("matplotlib") is None:
            self.skipTest("python3-matplotlib is not installed")
        self.sweep(*FAST, "--zero=0,3", "--nic=25GbE,100GbE", f"--out={self.out}")
        said = self.sweep("plot", self.out, "--x=zero", "--y=step_time_us", "--by=nic").stdout
        picture = os.path.join(self.out, "step_time_us-over-zero-by-nic.png")
        self.assertEqual(said, f"{picture}: 4 of 4 points\n")
        with open(picture, "rb") as file:
            first = file.read()
        self.sweep("plot", self.out, "--x=zero", "--y=step_time_us", "--by=nic")
        with open(picture, "rb") as file:
            self.assertTrue(file.read() == first, "not the same bytes")
        svg = os.path.join(self.folder, "a.svg")
        self.sweep("plot", self.out, "--x=nic", "--y=fct_us_p99", "--log=y", f"--out={svg}")
        with open(svg, encoding="utf-8") as file:
            text = file.read()
        for label in (
            "25GbE",
            "100GbE",
            "fct p99 (ms)",
            "lines: means over zero; dots: single runs",
        ):
            self.assertIn(f"<!-- {label} -->", text)
        said = self.sweep(
            "plot", self.out, "--x=zero", "--y=step_time_us", "--where=nic=25GbE"
        ).stdout
        self.assertEqual(said, f"{self.out}/step_time_us-over-zero-nic-25GbE.png: 2 of 2 points\n")
        self.sweep(
            "plot", self.out, "--x=model", "--y=step_time_us", "--by=nic,zero", f"--out={svg}"
        )
        with open(svg, encoding="utf-8") as file:
            text = file.read()
        self.assertTrue("<!-- nic 25GbE, zero 0 -->" in text and "means" not in text)
        bad = (
            (
                "plot",
                self.out,
                "--x=zero",
                "--y=step_time_us",
                "--where=nic=25GBE",
                None,
                "--where=nic=25GBE",
                "100GbE, 25GbE",
            ),
            ("plot", self.out, "--x=zero", "--y=step_time_us", "--where=nic", None, "NAME=VALUE"),
            (
                "plot",
                self.out,
                "--x=zero",
                "--y=step_time",
                None,
                "--y=step_time",
                "did you mean 'step_time_us'",
            ),
            ("plot", self.out, "--x=zero", None, "--y=NAME is missing"),
            ("plot", self.out, "--x=zero", "--y=error", None, "nothing to plot"),
            (
                "plot",
                self.out,
                "--x=zero",
                "--y=step_time_us",
                "--out=a.jpg",
                None,
                ".png, .svg or .pdf",
            ),
            ("plot", self.out, "--x=zero", "--y=step_time_us", "--log=x", None, "--log=x", "zero"),
            (
                "plot",
                self.out,
                "--x=zero",
                "--y=step_time_us",
                "--bye=nic",
                None,
                "--bye=nic",
                "did you mean '--by'",
            ),
        )
        for case in share_of(bad, one_in=4):
            self.refuse(*case)
        self.refuse_places_of_pictures()

    def refuse_places_of_pictures(self):
        """What is no file is left as it is, and a picture that was there before is not lost."""
        plot = ["plot", self.out, "--x=zero", "--y=step_time_us"]
        os.symlink("/dev/full", os.path.join(self.folder, "full.png"))
        os.symlink("/dev/null", os.path.join(self.folder, "null.svg"))
        os.mkfifo(os.path.join(self.folder, "pipe.pdf"))
        os.mkdir(os.path.join(self.folder, "folder.png"))
        places = (
            ("full.png", "is no regular file"),
            ("null.svg", "is no regular file"),
            ("pipe.pdf", "is no regular file"),
            ("folder.png", "is a folder; allowed: a file"),
            ("nowhere/x.png", "there is no folder"),
        )
        for name, why in share_of(places, one_in=5):
            self.refuse(*plot, f"--out={name}", None, f"--out={name}", why)
        for device in ("/dev/full", "/dev/null"):
            self.assertTrue(stat.S_ISCHR(os.stat(device).st_mode))
        done = self.sweep(*plot, "--out=/proc/x.png", status=1)  # nobody can make a file there
        self.assertEqual(
            done.stderr,
            "sweep: error: --out=/proc/x.png: cannot be written: No such file or directory\n",
        )
        old = self.write("old.png", "old")
        os.symlink("old.png", os.path.join(self.folder, "link.png"))
        self.sweep(*plot, "--out=link.png")
        self.assertTrue(os.path.islink(os.path.join(self.folder, "link.png")))
        with open(old, "rb") as file:
            self.assertEqual(file.read(4), b"\x89PNG")
        self.assertEqual([name for name in os.listdir(self.folder) if name.endswith(".part")], [])

    @long_test
    def test_lines_of_a_plot_differ(self):
        if importlib.util.find_spec("matplotlib") is None:
            self.skipTest("python3-matplotlib is not installed")
        from cluster_simulator.plots import sweep as sweep_plot

        looks = [sweep_plot.look_of(number) for number in range(56)]  # 14 colours, 4 dashes
        self.assertEqual(len({(look["color"], look["linestyle"]) for look in looks}), 56)
        # Lines upon one another are told apart by colour alone: those of a grid of 4 x 3.
        self.assertEqual(len({look["color"] for look in looks[:12]}), 12)

    def test_plot_shows_the_numbers(self):
        if importlib.util.find_spec("matplotlib") is None:
            self.skipTest("python3-matplotlib is not installed")
        from cluster_simulator.plots import sweep as sweep_plot

        # us as ms from 1,000 on; numbers with units in the order of their size; a hostile name is
        # text.
        rows = [
            {
                "status": "done",
                "options": json.dumps({"nic": nic, "k": str(k)}),
                "nic": nic,
                "k": k,
                "step_time_us": 1000.0 * number + k,
            }
            for number, nic in enumerate(("400GbE", "25GbE", "$x$<script>"), 1)
            for k in (4, 8)
        ]
        figure = sweep_plot._figure(rows, "nic", "step_time_us", ["k"], [], 7)
        axes = figure.axes[0]
        self.assertEqual(
            [label.get_text() for label in axes.get_xticklabels()],
            ["25GbE", "400GbE", r"\$x\$<script>"],
        )
        self.assertEqual(
            [list(line.get_ydata()) for line in axes.lines],
            [[2.004, 1.004, 3.004], [2.008, 1.008, 3.008]],
        )
        self.assertEqual(axes.get_ylabel(), "step time (ms)")
        self.assertEqual(
            [entry.get_text() for entry in axes.get_legend().get_texts()], ["k 4", "k 8"]
        )
        self.assertIn("1 of 7 points have no result", figure.texts[0].get_text())

    def test_from_python(self):
        if importlib.util.find_spec("pandas") is None:
            self.skipTest("python3-pandas is not installed")
        from cluster_simulator import sweep

        before = dict(os.environ)
        self.addCleanup(lambda: (os.environ.clear(), os.environ.update(before)))
        os.environ.update(self.environment)
        points = [
            {"model": "gpt2", "servers": 2, "warmup": 0, "zero": zero, "pfc": False}
            for zero in (0, 2)
        ]
        frame = sweep.run("dltrain", points, self.out, quiet=True)
        self.assertEqual(list(frame["zero"]), [0, 2])
        self.assertEqual(list(frame["pfc"]), [0, 0])
        self.assertTrue((frame["step_time_us"] > 0).all() and (frame["status"] == "done").all())
        self.assertEqual(len(sweep.read(self.out)), 2)


if __name__ == "__main__":
    main()
