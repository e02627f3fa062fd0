# SPDX-License-Identifier: GPL-2.0-only
"""What cannot be written is said, with status 1 (2 if it is the folder): standard output, and every
file.
"""

import json
import os
import signal
import subprocess
import sys
import time
import unittest

sys.path.append(sys.path[0] + "/../shared")
from _robust import RobustTest
from _system_test import ROOT, main

SCRIPTS = ("compare", "plot", "report", "sweep", "timeline")


class Folder(RobustTest):
    def test_the_root_is_no_folder_of_a_run(self):
        for program in ("dltrain", "collperf", "traffic"):
            for out in ("/", "//", "/.", "/usr/.."):
                for more in ("", " --dry-run"):
                    self.refuse(f"{program} --out={out}{more}", f"--out={out}", "the root")


class StandardOutput(RobustTest):
    WAYS = ("full", "closed", "pipe")

    def into(self, way, words):
        """(status, standard error) with a standard output that takes nothing."""
        if way == "closed":
            words = ["bash", "-c", 'exec "$@" >&-', "bash", *words]
        how = {
            "stdin": subprocess.DEVNULL,
            "stderr": subprocess.PIPE,
            "text": True,
            "timeout": 60,
            "cwd": self.folder,
        }
        if way == "pipe":
            reader, writer = os.pipe()
            os.close(reader)
        else:
            writer = os.open("/dev/full", os.O_WRONLY)
        try:
            done = subprocess.run(words, stdout=writer, **how)
        finally:
            os.close(writer)
        return done.returncode, done.stderr

    WHY = {
        "full": "No space left on device",
        "closed": "Bad file descriptor",
    }

    def lost(self, status, errors, program, way):
        self.assertEqual(status, 1, errors)
        self.assertRegex(errors, rf"(?m)^{program}: error: standard output: cannot be written: ")

    def test_runs(self):
        for name, line in self.lines():
            for way in self.WAYS:
                with self.subTest(f"{name}, {way}"):
                    words, out = self.command(line)
                    status, errors = self.into(way, words)
                    self.lost(status, errors, name.split()[0], way)
                    # The files are complete, and none has got what was printed.
                    with open(os.path.join(out, "stats.json"), encoding="utf-8") as file:
                        self.assertTrue(json.load(file)["completed"])
                    with open(os.path.join(out, "flows.csv"), encoding="utf-8") as file:
                        self.assertTrue(file.readline().startswith("flow,"))

    def test_what_is_only_printed(self):
        for program in ("dltrain", "collperf", "traffic"):
            for option in ("--help", "--version", "--list=nics", "--dry-run", "--PrintGlobals"):
                with self.subTest(f"{program} {option}"):
                    status, errors = self.into("full", [self.program(program), option])
                    self.lost(status, errors, program, "full")
                    # A reader that has seen enough (head).
                    status, errors = self.into("pipe", [self.program(program), option])
                    self.assertEqual((status, errors), (141, ""))
        status, errors = self.into("full", [self.program("timeline"), "--help"])
        self.lost(status, errors, "timeline", "full")
        status, errors = self.into("pipe", [self.program("timeline"), "--help"])
        self.assertEqual((status, errors), (141, ""))

    def test_scripts(self):
        for script in SCRIPTS:
            for way in self.WAYS:
                with self.subTest(f"{script}, {way}"):
                    status, errors = self.into(
                        way, [os.path.join(ROOT, "scripts", script), "--help"]
                    )
                    if way == "pipe":
                        self.assertEqual((status, errors), (141, ""))
                        continue
                    self.assertEqual(status, 1, errors)
                    self.assertEqual(
                        errors,
                        f"{script}: error: standard output: cannot be written: {self.WHY[way]}\n",
                    )

    def test_nobody_hears_of_it(self):
        """Without standard error the status still tells, and no file is opened in its place."""
        words, out = self.command(
            "traffic --topology=single-switch --hosts=3 --bytes=10kB --report=0"
        )
        done = subprocess.run(
            ["bash", "-c", 'exec "$@" >&- 2>&- <&-', "bash", *words], cwd=self.folder, timeout=60
        )
        self.assertEqual(done.returncode, 1)
        with open(os.path.join(out, "flows.csv"), encoding="utf-8") as file:
            self.assertEqual({row.count(",") for row in file}, {10})


class Files(RobustTest):
    """A pipe, a folder or a full device where a file should go: no waiting, and a status."""

    def obstruct(self, kind, path):
        os.makedirs(os.path.dirname(path), exist_ok=True)
        if kind == "pipe":
            os.mkfifo(path)
        elif kind == "folder":
            os.makedirs(os.path.join(path, "in the way"))
        else:
            os.symlink("/dev/full", path)

    def test_every_file(self):
        # Opened before the simulation begins or completed after it: 1. A file that is renamed into
        # its place replaces a pipe. A folder in the place of a file: 2, before anything is made.
        files = {
            "dltrain": (
                "calls.log",
                "links.csv",
                "network_events.log",
                "stats.json.part",
                "timeline.json.part",
            ),
            "collperf": ("flows.csv", "links.csv", "stats.json.part"),
            "traffic": (
                "flows.csv",
                "topology.json",
                "slowdown.csv",
                "stats.json.part",
                "timeline.json.part",
            ),
        }
        number = 0
        for name, line in self.lines():
            program = name.split()[0]
            for file in files[program]:
                for kind in ("pipe", "folder"):
                    number += 1
                    out = os.path.join(self.folder, f"out-{number}")
                    with self.subTest(f"{name}, {file} is a {kind}"):
                        self.obstruct(kind, os.path.join(out, file))
                        ended, _, errors, _ = self.ended(line, timeout=30, out=out)
                        seen = kind == "folder" and not file.endswith(".part")
                        self.assertEqual(ended, 2 if seen else 1, errors)
                        self.assertIn(file.removesuffix(".part"), errors)
                        self.assertRegex(
                            errors, r"(?m)^\w+: error: .*(is a pipe|[Ii]s a (directory|folder))"
                        )

    def test_captures(self):
        for fabric, name in (("", "server-0-0.pcap"), (" --fabric=ib", "server-0-0.pcap")):
            for kind, said in (("pipe", "is a pipe"), ("full", "No space left on device")):
                with self.subTest(f"{fabric} {kind}"):
                    out = os.path.join(self.folder, f"capture{fabric.strip()}-{kind}")
                    self.obstruct(kind, os.path.join(out, name))
                    line = (
                        "traffic --topology=single-switch --hosts=3 --bytes=100kB --report=0"
                        f" --pcap=server-0{fabric}"
                    )
                    status, _, errors, _ = self.ended(line, out=out)
                    self.assertEqual(status, 1, errors)
                    self.assertIn(said, errors)
                    self.assertIn(name, errors)

    def test_report_and_timeline(self):
        """Pictures that could not be made are as much an error as other files; the results are
        there.
        """
        line = "traffic --topology=single-switch --hosts=3 --bytes=10kB"
        out = os.path.join(self.folder, "pictures")
        self.obstruct("folder", os.path.join(out, "report.html.part"))
        status, _, errors, _ = self.ended(line, out=out)
        self.assertEqual(status, 1, errors)
        self.assertRegex(
            errors,
            r"(?m)^traffic: error: .*/report.html: not written: .*; the other files are complete$",
        )
        self.assertTrue(os.path.isfile(os.path.join(out, "stats.json")))
        out = os.path.join(self.folder, "timeline")
        self.obstruct("folder", os.path.join(out, "timeline.json.part"))
        status, _, errors, _ = self.ended(line + " --report=0", out=out)
        self.assertEqual(status, 1, errors)
        self.assertRegex(
            errors, r"(?m)^traffic: error: .*/timeline.json.*; the other files are complete$"
        )

    def limited(self, limit, line, out):
        words, out = self.command(line, os.path.join(self.folder, out))
        done = subprocess.run(
            ["bash", "-c", f'ulimit {limit}; exec "$@"', "bash", *words],
            cwd=self.folder,
            capture_output=True,
            text=True,
            timeout=60,
        )
        return done.returncode, done.stderr, out

    def test_files_of_limited_size(self):
        """ulimit -f (in KiB) is an error of writing, no signal that kills; nothing half done is
        left.
        """
        for name, line in self.lines(" --timeline=0"):
            with self.subTest(name):
                status, errors, out = self.limited("-f 1", line, f"small-{name.replace(' ', '')}")
                self.assertEqual(status, 1, errors)
                self.assertRegex(
                    errors, r"(?m)^\w+: error: .*/[\w.]+: cannot be written: File too large"
                )
                self.assertEqual([file for file in os.listdir(out) if file.endswith(".part")], [])

    def test_a_cut_file_is_named(self):
        """Every table that is cut is named, by a line and in stats.json, which says that the run is
        not complete.
        """
        line = (
            "traffic --topology=fat-tree --k=6 --pattern=permutation --bytes=300kB --report=0"
            " --timeline=0"
        )
        status, errors, out = self.limited("-f 12", line, "cut")
        self.assertEqual(status, 1, errors)
        with open(os.path.join(out, "stats.json"), encoding="utf-8") as file:
            stats = json.load(file)
        self.assertIs(stats["completed"], False)
        self.assertIn("links.csv", stats["incomplete_files"])
        whole = self.run_program(line)
        for name in sorted(os.listdir(whole.folder)):
            with self.subTest(name):
                lost = os.path.getsize(os.path.join(whole.folder, name)) > 12 * 1024
                self.assertEqual(name in stats["incomplete_files"], lost)
                self.assertEqual(f"/{name}: cannot be written: File too large" in errors, lost)

    def test_cut_pictures_are_named(self):
        """Files that are written after stats.json: it is written again, and names them."""
        model = self.write(
            "layers.json",
            json.dumps({"name": "m", "sequence": 256, "layers": [
                {"name": f"layer {i}", "parameters": 1 << 18, "flops": 1.0e9} for i in range(24)
            ]}),
        )
        line = f"dltrain --gpus=4 --gpus-per-server=2 --model={model} --micro-batch=1 --steps=2"
        status, errors, out = self.limited("-f 48", line, "pictures-cut")
        self.assertEqual(status, 1, errors)
        with open(os.path.join(out, "stats.json"), encoding="utf-8") as file:
            stats = json.load(file)
        self.assertIs(stats["completed"], False)
        self.assertEqual(stats["incomplete_files"], ["timeline.json", "report.html"])
        for name in stats["incomplete_files"]:
            self.assertNotIn(name, os.listdir(out))
            said = [text for text in errors.splitlines() if name in text]
            self.assertEqual(len(said), 1, errors)
            self.assertEqual(said[0].count(name), 1, errors)
            self.assertIn(f"/{name}: not written: File too large", said[0])

    def test_few_descriptors(self):
        """What cannot be opened once the input is right is status 1, whichever file it is."""
        for name, line in self.lines(" --pcap=all --timeline=0"):
            for descriptors in (4, 5, 7, 11):
                with self.subTest(f"{name}, {descriptors}"):
                    status, errors, out = self.limited(
                        f"-n {descriptors}", line, f"few-{name.replace(' ', '')}-{descriptors}"
                    )
                    self.assertIn("Too many open files", errors)
                    self.assertEqual(status, 1, errors)
                    self.assertEqual(
                        [
                            file
                            for file in (os.listdir(out) if os.path.isdir(out) else [])
                            if file.endswith(".part")
                        ],
                        [],
                    )

    def test_dry_run_checks_the_folder(self):
        file = self.write("file", "")
        for name, line in self.lines(" --dry-run"):
            # (Root may write to /proc, says access(2); no folder can be made there.)
            for out in (file, os.path.join(file, "below"), "/dev/null/x", "/proc/x/y"):
                with self.subTest(f"{name} {out}"):
                    run = self.refuse(line + f" --out={out}", "--out", "cannot be written")
                    self.assertFalse(os.path.exists(os.path.join(self.folder, "results")), str(run))
        run = self.run_program("traffic --dry-run --out=a/b/c")
        self.assertFalse(os.path.exists(os.path.join(self.folder, "a")), str(run))

    def test_a_folder_in_the_place_of_a_file(self):
        for program, line in self.lines():
            for name in ("flows.csv", "stats.json", "report.html"):
                out = os.path.join(self.folder, f"{program}-{name}".replace(" ", ""))
                os.makedirs(os.path.join(out, name))
                for more in ("", " --dry-run"):
                    self.refuse(f"{line} --out={out}{more}", "--out", f"{name} in it is a folder")
                self.assertEqual(os.listdir(out), [name])

    def test_a_killed_run_writes_no_report_later(self):
        """The script that makes report.html ends with the run that started it: the page would stand
        beside the results of a later run.
        """
        clone = os.path.join(self.folder, "clone")
        os.makedirs(os.path.join(clone, "scripts"))
        script = os.path.join(clone, "scripts", "report")
        with open(script, "w", encoding="utf-8") as file:
            file.write('#!/bin/sh\necho $$ > "$3/pid.part"; mv "$3/pid.part" "$3/pid"\n')
            file.write("exec sleep 30\n")
        os.chmod(script, 0o755)
        out = os.path.join(self.folder, "killed")
        run, _ = self.start(
            "traffic --topology=single-switch --hosts=3 --bytes=1kB",
            out=out,
            env={**os.environ, "DLTRAIN_ROOT": clone},
        )
        deadline = time.time() + 60
        while not os.path.exists(os.path.join(out, "pid")) and time.time() < deadline:
            time.sleep(0.01)
        with open(os.path.join(out, "pid"), encoding="utf-8") as file:
            child = f"/proc/{int(file.read())}/stat"

        def lives():
            try:
                with open(child, encoding="utf-8") as file:
                    return file.read().rpartition(")")[2].split()[0] not in "ZX"
            except OSError:
                return False

        self.assertTrue(lives())
        # While the page is made, the folder is that run's.
        self.refuse(
            f"traffic --topology=single-switch --hosts=3 --bytes=1kB --out={out}",
            "another run is writing to it",
        )
        run.kill()
        run.communicate(timeout=60)
        deadline = time.time() + 20
        while lives() and time.time() < deadline:
            time.sleep(0.01)
        self.assertFalse(lives())

    def test_exports_of_an_earlier_run(self):
        """An exported step goes with the other files of an earlier run, but for one that is
        read.
        """
        out = os.path.join(self.folder, "exports")
        model = self.model()
        job = (
            f"dltrain --gpus=2 --gpus-per-server=1 --model={model} --micro-batch=1 --steps=1"
            f" --warmup=0 --report=0 --timeline=0 --out={out}"
        )
        self.run_program(job + " --export=goal,chakra-json")
        self.assertIn("trace.goal", os.listdir(out))
        self.run_program(
            f"dltrain --trace={out}/chakra-json --gpus-per-server=1 --report=0 --timeline=0"
            f" --steps=1 --warmup=0 --out={out}"
        )
        self.assertNotIn("trace.goal", os.listdir(out))
        self.assertIn("chakra-json", os.listdir(out))
        self.run_program(job)
        self.assertNotIn("chakra-json", os.listdir(out))

    def test_a_line_break_in_the_folder(self):
        out = os.path.join(self.folder, "a\nb")
        for more in ("", " --dry-run"):
            words, _ = self.command("traffic --topology=single-switch --hosts=3 --bytes=1kB" + more)
            words = [word for word in words if not word.startswith("--out=")] + [f"--out={out}"]
            done = subprocess.run(
                words, cwd=self.folder, capture_output=True, text=True, timeout=60
            )
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertIn("a\\x0ab", done.stdout)
            self.assertNotRegex(done.stdout, r"(?m)^b")

    def test_one_run_a_folder(self):
        """Of two runs that are told to write to one folder the second is refused, and the first
        one's files are its own.
        """
        out = os.path.join(self.folder, "same")
        first, _ = self.start(
            f"traffic --topology=single-switch --hosts=4 --bytes=20GB --progress=0 --out={out}",
            out=out,
        )
        try:
            deadline = time.time() + 60
            while not os.path.exists(os.path.join(out, "topology.json")) and time.time() < deadline:
                time.sleep(0.01)
            for name, line in self.lines():
                with self.subTest(name):
                    self.refuse(line + f" --out={out}", "--out", "another run is writing to it")
        finally:
            first.send_signal(signal.SIGINT)
            first.communicate(timeout=60)
        self.assertEqual(first.returncode, 130)
        # ... and then it is free again.
        self.run_program(
            f"traffic --topology=single-switch --hosts=4 --bytes=1kB --report=0 --out={out}"
        )


if __name__ == "__main__":
    main()
