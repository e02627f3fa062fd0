# SPDX-License-Identifier: GPL-2.0-only
# ctest: TIMEOUT 600 FULL
"""Files that a captured script writes: the user's are as they were before, and what the script
wrote is in the capture's folder.
"""

import contextlib
import os
import signal
import subprocess
import sys
import time

sys.path.append(sys.path[0] + "/../shared")
from _capture import CaptureTest
from _system_test import ROOT, main

# Writes in most ways that there are: over, at the end, in place, another name, no longer there.
SCRIPT = """import os, shutil, sqlite3, sys, time
import torch
import torch.distributed as dist

dist.init_process_group("nccl")
rank = dist.get_rank()
torch.cuda.set_device(rank)
print(rank, sorted(os.listdir(".")))
model = torch.nn.Linear(4, 4).cuda()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for step in range(2):
    model(torch.ones(4).cuda()).sum().backward()
    optimizer.step()
    with open("all.log", "a") as log:
        log.write(f"rank {rank} step {step}\\n")
    if rank == 0:
        os.makedirs("new/folder", exist_ok=True)
        torch.save(model.state_dict(), "new/folder/last.pt.part")
        os.replace("new/folder/last.pt.part", "new/folder/last.pt")
        torch.save(model.state_dict(), "last.pt")
        if os.path.lexists("latest"):
            os.remove("latest")
        os.symlink("new/folder/last.pt", "latest")
if rank == 0:
    with open("in-place", "r+b") as file:
        file.seek(2)
        file.write(b"zz")
    os.truncate("cut", 1)
    with open("read-only-use") as file:
        file.read()
    os.rename("best.pt", "older.pt")
    os.rename("before", "after")
    shutil.rmtree("tree")
    os.mkdir("tree")
    sqlite3.connect("runs.db").execute("create table runs (n)").connection.commit()
if len(sys.argv) > 1:
    open(sys.argv[1] + f"-{rank}", "w").close()
    time.sleep(600)
"""
BEFORE = {
    "all.log": b"what was\n",
    "last.pt": b"trained for days",
    "best.pt": b"trained for weeks",
    "in-place": b"abcdef",
    "cut": b"whole",
    "read-only-use": b"read",
    "before/1/x": b"1x",
    "before/y": b"y",
    "tree/a/b": b"ab",
    "runs.db": b"",
}


class OutFolder(CaptureTest):
    """--out names a folder by mistake: what is in it is the user's."""

    def refused(self, *names):
        out = os.path.join(self.folder, f"named-{len(os.listdir(self.folder))}")
        for name in names:
            path = os.path.join(out, name)
            os.makedirs(os.path.dirname(path), exist_ok=True)
            with open(path, "w", encoding="utf-8") as file:
                file.write("{}")
        script = self.write("one.py", "import torch\ntorch.ones(4, device='cuda').add_(1)\n")
        command = [sys.executable, "-m", "cluster_simulator.capture", f"--out={out}", script]
        done = subprocess.run(
            command,
            env={**os.environ, "PYTHONPATH": os.path.join(ROOT, "scripts")},
            capture_output=True,
            text=True,
            check=False,
        )
        for name in names:
            self.assertEqual(
                os.path.exists(os.path.join(out, name)), done.returncode == 2, (names, done.stderr)
            )
        if done.returncode == 2:
            self.assertIn("of something else, which a capture would remove", done.stderr)
        return done.returncode == 2

    def test_what_no_capture_made_stays(self):
        self.assertTrue(self.refused("files/mine.txt", "notes.txt"))
        self.assertTrue(self.refused("meta.json"))
        self.assertTrue(self.refused("rank-7.jsonl", "train.py"))
        self.assertTrue(self.refused("stdout.txt", "train.py"))

    def test_what_an_ended_capture_left_goes(self):
        self.assertFalse(self.refused("files/a/b", "rank-7.jsonl"))


class Files(CaptureTest):
    def prepare(self):
        """A folder of the user's, in which the script runs."""
        self.work = os.path.join(self.folder, f"work-{len(os.listdir(self.folder))}")
        for name, content in BEFORE.items():
            path = os.path.join(self.work, name)
            os.makedirs(os.path.dirname(path), exist_ok=True)
            with open(path, "wb") as file:
                file.write(content)
            os.utime(path, (10**9, 10**9))
        os.chmod(os.path.join(self.work, "best.pt"), 0o640)
        os.symlink("best.pt", os.path.join(self.work, "latest"))
        self.script = self.write("writes.py", SCRIPT)

    def there(self):
        """{name: (content, time, permissions), or where a link leads}

        What goes away while this looks, as a capture puts things back, is left out.
        """
        found = {}
        for folder, folders, files in os.walk(self.work):
            for name in (*folders, *files):
                path = os.path.join(folder, name)
                told = os.path.relpath(path, self.work)
                with contextlib.suppress(FileNotFoundError):
                    if os.path.islink(path):
                        found[told] = os.readlink(path)
                    elif os.path.isdir(path):
                        found[told] = None
                    else:
                        with open(path, "rb") as file:
                            about = os.fstat(file.fileno())
                            found[told] = (file.read(), about.st_mtime, about.st_mode)
        return found

    def command(self, *words):
        return [sys.executable, "-m", "cluster_simulator.capture", f"--out={self.out}", *words]

    def start(self, *words, **options):
        self.out = os.path.join(self.work + "-out")
        return subprocess.Popen(
            self.command(*options.pop("options", ()), "torchrun", "--nproc_per_node=2", self.script)
            + list(words),
            cwd=self.work,
            env={**os.environ, "PYTHONPATH": os.path.join(ROOT, "scripts")},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )

    def written(self, name):
        with open(os.path.join(self.out, "files", name), "rb") as file:
            return file.read()

    def test_all_is_as_it_was(self):
        self.prepare()
        before = self.there()
        for _ in range(2):  # the second finds what the first one found
            process = self.start()
            said, _ = process.communicate(timeout=200)
            self.assertEqual(process.returncode, 0, said)
            self.assertEqual(self.there(), before)
            self.assertIn("note: the script wrote after/1/x, after/y, all.log, ", said)
            with open(os.path.join(self.out, "stdout.txt"), encoding="utf-8") as file:
                names = sorted({name.split("/")[0] for name in BEFORE} | {"latest"})
                self.assertEqual(sorted(file), [f"{rank} {names}\n" for rank in (0, 1)])
            self.assertEqual(
                sorted(self.written("all.log").decode().splitlines()),
                ["rank 0 step 0", "rank 0 step 1", "rank 1 step 0", "rank 1 step 1", "what was"],
            )
            self.assertEqual(self.written("in-place"), b"abzzef")
            self.assertEqual(self.written("cut"), b"w")
            self.assertEqual(self.written("older.pt"), BEFORE["best.pt"])
            self.assertEqual(self.written("after/1/x"), b"1x")
            for name in ("last.pt", "new/folder/last.pt"):
                self.assertTrue(self.written(name).startswith(b"PK"), name)
            self.assertEqual(
                os.readlink(os.path.join(self.out, "files", "latest")), "new/folder/last.pt"
            )
            self.assertFalse(os.path.exists(os.path.join(self.out, "files", "read-only-use")))

    def test_killed(self):
        for number in (signal.SIGKILL, signal.SIGTERM):
            with self.subTest(number):
                self.prepare()
                before = self.there()
                marks = os.path.join(self.folder, f"mark-{number}")
                process = self.start(marks)
                while process.poll() is None and not all(
                    os.path.exists(f"{marks}-{rank}") for rank in (0, 1)
                ):
                    time.sleep(0.05)
                self.assertNotEqual(self.there(), before)
                process.send_signal(number)
                process.communicate(timeout=100)
                while self.there() != before:  # for ever: the test's time-out
                    time.sleep(0.05)

    def test_downloads_stay(self):
        """With the network what is new stays; what was there is as it was."""
        self.prepare()
        before = self.there()
        process = self.start(options=["--capture-network"])
        said, _ = process.communicate(timeout=200)
        self.assertEqual(process.returncode, 0, said)
        after = self.there()
        self.assertEqual({name: after.get(name) for name in before}, before)
        self.assertIn("new/folder/last.pt", after)


if __name__ == "__main__":
    main()
