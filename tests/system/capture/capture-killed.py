# SPDX-License-Identifier: GPL-2.0-only
# ctest: TIMEOUT 600 FULL
"""A capture that is killed, or whose disk is full: nothing hangs, nothing stays, the next works."""

import glob
import os
import signal
import subprocess
import sys
import time

sys.path.append(sys.path[0] + "/../shared")
from _capture import CaptureTest
from _system_test import PROGRAMS, ROOT, main

# Says that it has begun, and then takes its time.
SLOW = """import os, sys, time, torch
x = torch.ones(8, device="cuda") + 1
open(sys.argv[1] + "-" + os.environ.get("RANK", "0"), "w").write(str(os.getpid()))
time.sleep(600)
"""
LAUNCH = """sleep 600 &
setsid sleep 601 &
torchrun --nproc_per_node=2 %s %s
"""
QUICK = """import torch
for _ in range(%d):
    x = torch.ones(8, device="cuda") + 1
"""


class Killed(CaptureTest):
    def setUp(self):
        super().setUp()
        self.temporary = os.path.join(self.folder, "tmp")
        os.makedirs(self.temporary, exist_ok=True)
        self.out = os.path.join(self.folder, "out")
        self.environment = {
            **os.environ,
            "PYTHONPATH": os.path.join(ROOT, "scripts"),
            "TMPDIR": self.temporary,
        }

    def start(self, *words):
        return subprocess.Popen(
            [sys.executable, "-m", "cluster_simulator.capture", f"--out={self.out}", *words],
            env=self.environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )

    def begun(self, name, ranks):
        """Process numbers of ranks, once all are in the script."""
        until = time.monotonic() + 200
        while True:
            there = sorted(glob.glob(os.path.join(self.folder, f"{name}-*")))
            numbers = []
            for path in there:
                with open(path, encoding="utf-8") as file:
                    numbers.append(file.read())
            if len(numbers) == ranks and all(numbers):
                return [int(number) for number in numbers]
            self.assertLess(time.monotonic(), until, "the script did not begin")
            time.sleep(0.1)

    def left(self):
        """Processes that the captures of this test started: TMPDIR is theirs alone."""
        found = []
        for number in filter(str.isdigit, os.listdir("/proc")):
            try:
                with open(f"/proc/{number}/environ", "rb") as file:
                    environment = file.read()
                with open(f"/proc/{number}/stat", encoding="utf-8") as file:
                    state = file.read().rpartition(")")[2].split()[0]
            except OSError:
                continue
            if self.temporary.encode() in environment and state != "Z":
                found.append(int(number))
        return found

    def nothing_stays(self):
        until = time.monotonic() + 60
        while self.left() or os.listdir(self.temporary):
            self.assertLess(time.monotonic(), until, (self.left(), os.listdir(self.temporary)))
            time.sleep(0.1)

    def works_again(self):
        script = self.write("quick.py", QUICK % 3)
        done = self.start(script)
        said, errors = done.communicate(timeout=200)
        self.assertEqual(done.returncode, 0, said + errors)
        self.assertTrue(os.path.isfile(os.path.join(self.out, "rank-0.jsonl")))

    def test_whatever_is_killed(self):
        """Each leaves the folder of captures as the next one needs it: the capture, with its
        session, where a script of bash has started more than ranks; a rank, which is told; and,
        when another one wanted the folder, the capture by SIGTERM.
        """
        slow = self.write("slow.py", SLOW)
        mark = os.path.join(self.folder, "session")
        capture = self.start(self.write("launch.sh", LAUNCH % (slow, mark)))
        self.begun("session", 2)
        os.killpg(capture.pid, signal.SIGKILL)
        capture.communicate()
        self.nothing_stays()

        mark = os.path.join(self.folder, "rank")
        capture = self.start("torchrun", "--nproc_per_node=3", slow, mark)
        os.kill(self.begun("rank", 3)[1], signal.SIGKILL)
        said, errors = capture.communicate(timeout=100)
        self.assertEqual(capture.returncode, 128 + signal.SIGKILL, said + errors)
        self.assertIn("mistake (died): rank 1 ended with signal 9", said)
        self.nothing_stays()

        first = self.start(slow, os.path.join(self.folder, "first"))
        self.begun("first", 1)
        second = self.start(slow, os.path.join(self.folder, "second"))
        _, errors = second.communicate(timeout=100)
        self.assertEqual(second.returncode, 2, errors)
        self.assertIn("another capture writes into this folder", errors)
        first.send_signal(signal.SIGTERM)
        first.communicate(timeout=100)
        self.nothing_stays()
        self.works_again()

    def on_small_disk(self, folder, size, words):
        """Runs them where a folder is a file system of that size."""
        mounted = f"mount -t tmpfs -o size={size} small {folder}"
        possible = ["unshare", "-m", "sh", "-c", f"{mounted} 2> /dev/null"]
        if subprocess.run(possible, stderr=subprocess.DEVNULL).returncode != 0:
            self.skipTest("no small file system can be mounted")
        return subprocess.run(
            ["unshare", "-m", "sh", "-c", f"{mounted} && exec {words}"],
            env=self.environment,
            capture_output=True,
            text=True,
            timeout=200,
        )

    def test_a_full_disk(self):
        """Of 1 MiB for temporary files, which the record of 20,000 operators needs more of."""
        script = self.write("long.py", QUICK % 10000)
        words = f"{sys.executable} -m cluster_simulator.capture --out={self.out} {script}"
        done = self.on_small_disk(self.temporary, "1m", words)
        self.assertEqual(done.returncode, 1, done.stdout + done.stderr)
        self.assertRegex(done.stderr, r"capture: error: .*tmp is full \(\d MiB left; TMPDIR names")
        self.assertNotIn("Traceback", done.stderr)
        self.works_again()

    def test_a_full_disk_in_one_command(self):
        """dltrain --launch: one error that names the folder which is full, and blames no option;
        status 1, as of all that cannot be written. Full are by turns: the temporary folder, for the
        record; the same for the copy of a file that the script writes over; the run's own folder,
        for what the script prints and for what the tasks are written to.
        """
        small = os.path.join(self.folder, "results")
        os.mkdir(small)
        large = self.write("large.bin", "x" * (3 << 20))
        tmp, out = self.temporary, f"{small}/run"
        for name, folder, size, script in (
            ("the record", tmp, "1m", QUICK % 10000),
            ("a copy", tmp, "1m", (QUICK % 3) + f"open({large!r}, 'wb').write(b'x')\n"),
            ("tasks", small, "128k", QUICK % 10000),
            ("words", small, "128k", (QUICK % 3) + "print('x' * 1000000)\n"),
        ):
            with self.subTest(name):
                path = self.write(f"{name.split()[-1]}.py", script)
                program = os.path.join(PROGRAMS, "dltrain")
                words = f"{program} --launch={path} --gpus-per-server=1 --servers=1 --out={out}"
                done = self.on_small_disk(folder, size, words)
                said = done.stdout + done.stderr
                self.assertEqual(done.returncode, 1, said)
                where = tmp if folder == tmp else f"{out}/capture"
                self.assertRegex(
                    done.stderr,
                    rf"(^|\n)dltrain: error: (.*: )?{where}[^:]*( is full \(|: No space left on)",
                )
                self.assertEqual(done.stderr.count("error"), 1, said)
                self.assertNotIn("Traceback", said)
        with open(large, encoding="utf-8") as file:
            self.assertEqual(len(file.read()), 3 << 20)

    def test_a_full_disk_for_the_capture(self):
        """64 KiB, of which the tasks of 20,000 operators need more; what the script wrote does not
        fit either, and its file is as it was before.
        """
        small = os.path.join(self.folder, "small")
        os.mkdir(small)
        mine = self.write("mine.bin", "as it was")
        for name, text in (
            ("tasks.py", QUICK % 10000),
            ("files.py", (QUICK % 3) + f"open({mine!r}, 'wb').write(bytes(1 << 20))\n"),
        ):
            script = self.write(name, text)
            words = f"{sys.executable} -m cluster_simulator.capture --out={small}/out {script}"
            done = self.on_small_disk(small, "64k", words)
            self.assertEqual(done.returncode, 1, done.stdout + done.stderr)
            self.assertRegex(
                done.stderr, f"capture: error: {small}/out[^:]*: No space left on device\n$"
            )
            with open(mine, encoding="utf-8") as file:
                self.assertEqual(file.read(), "as it was")

    def test_a_script_that_writes_nothing(self):
        for operators, words in ((3, "did nothing on a GPU"), (10000, "not recorded to its end")):
            script = self.write("exit.py", (QUICK % operators) + "import os\nos._exit(0)\n")
            done = self.start(script)
            _, errors = done.communicate(timeout=100)
            self.assertEqual(done.returncode, 2, errors)
            self.assertRegex(errors, f"{words}.*os._exit")


if __name__ == "__main__":
    main()
