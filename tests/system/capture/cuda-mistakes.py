# SPDX-License-Identifier: GPL-2.0-only
# ctest: TIMEOUT 300 RESOURCE_LOCK capture
"""Mistakes of programs that use NCCL: found and named, with ranks and lines, in place of a hang."""

import json
import os
import re
import shutil
import subprocess
import sys

sys.path.append(sys.path[0] + "/../shared")
from _cuda import SOURCES, CudaTest
from _system_test import long_test, main

if shutil.which("g++") is None:
    print("g++ is not installed")
    sys.exit(77)


def line_of(text, after):
    """FILE:NUMBER of a text in mistakes.cc, behind another one."""
    with open(os.path.join(SOURCES, "mistakes.cc"), encoding="utf-8") as file:
        lines = file.read().split("\n")
    begin = next(i for i, line in enumerate(lines) if after in line)
    number = next(i for i, line in enumerate(lines[begin:], begin) if text in line)
    return f"mistakes.cc:{number + 1}"


class Mistakes(CudaTest):
    programs = ("mistakes",)

    def mistake(self, name, *, ranks=2, status=1):
        """The one mistake of a run, which ends with an error that tells it."""
        out = os.path.join(self.folder, name)
        launcher = [] if name == "alone" else ["srun", "-n", ranks]
        done = self.run_capture(
            f"--out={out}",
            f"--gpus-per-server={ranks}",
            "--patience=2",
            *launcher,
            self.built["mistakes"],
            name,
            os.path.join(self.folder, f"{name}.id"),
            status=status,
        )
        with open(os.path.join(out, "meta.json"), encoding="utf-8") as file:
            (mistake,) = json.load(file)["mistakes"]
        errors = [line for line in done.stderr.splitlines() if line.startswith("capture: error: ")]
        self.assertEqual(errors, [f"capture: error: {mistake['kind']}: {mistake['text']}"])
        return mistake

    def expect(self, name, kind, words, lines, ranks=(0, 1), of=2):
        with self.subTest(name):
            mistake = self.mistake(name, ranks=of)
            self.assertEqual(mistake["kind"], kind, mistake)
            self.assertEqual(tuple(mistake["ranks"]), ranks, mistake)
            for word in words:
                self.assertRegex(mistake["text"], word)
            for line in lines:
                self.assertIn(line, mistake["text"])
                self.assertTrue(
                    any(one.endswith(line) for one in mistake["lines"]), mistake["lines"]
                )

    def test_collectives_that_differ(self):
        def expect(name, kind, *words):
            where = line_of("nccl", f'"{name}"')
            self.expect(name, kind, [r"collective 1 of communicator 0", *words], [where])

        expect("count", "mismatch", "rank 0 calls all_reduce of 100 x f32", "rank 1 .* of 99 x f32")
        expect("type", "mismatch", "rank 0 .* 64 x f32", "rank 1 .* 64 x i32")
        expect("reduction", "mismatch", r"rank 0 .*\(sum\)", r"rank 1 .*\(max\)")
        expect("root", "mismatch", "with root 0", "with root 1")
        expect("order", "order", "rank 0 calls all_reduce", "rank 1 calls all_gather")

    def test_the_odd_one_out(self):
        """Of three ranks 1 is not as 0 and 2, whichever came first."""
        where = line_of("nccl", '"count"')
        words = [
            "rank 1 is not as the others: rank 1 calls all_reduce of 99 x f32",
            "; ranks 0, 2 call all_reduce of 100 x f32",
        ]
        self.expect("count", "mismatch", words, [where], (1,), of=3)

    def test_ranks_that_do_not_come(self):
        where = line_of("ncclAllReduce", '"absent"')
        self.expect("absent", "missing", ["rank 1 never calls it: its process"], [where], (1, 0))
        where = line_of("ncclCommSplit", '"split"')
        self.expect("split", "missing", ["ncclCommSplit", "rank 1 never called it"], [where], (0,))
        where = line_of("ncclCommInitRank", "main(")
        self.expect("world", "missing", ["of 2 ranks", "rank 1 never joined"], [where], (0,))
        where = line_of("ncclAllReduce", "Alone()")
        self.expect("alone", "missing", ["rank 1 did not call it"], [where], (0,))

    @long_test
    def test_ranks_that_wait_for_each_other(self):
        words = ["wait for each other", "rank 0 of communicator [01] waits in all_reduce"]
        lines = [line_of("ncclAllReduce", '"communicators"')]
        self.expect("communicators", "missing", words, lines)
        lines = [line_of("ncclSend", '"sends"')]
        self.expect("sends", "unmatched", ["rank 0 .* to rank 1", "rank 1 .* to rank 0"], lines)

    def test_messages(self):
        lines = [line_of("ncclSend", '"message"'), line_of("ncclRecv", '"message"')]
        words = ["rank 0 calls send of 32", "128 bytes", "rank 1 calls recv of 64", "256 bytes"]
        self.expect("message", "mismatch", words, lines)

    def test_groups_and_buffers(self):
        for name, kind, word, call in (
            ("group", "group", "no ncclGroupEnd; 1 calls", "ncclGroupStart"),
            ("empty-group", "group", "no ncclGroupEnd; nothing was called", "ncclGroupStart"),
            ("buffer", "buffer", "4194304 bytes of a buffer that has 4096", "ncclAllReduce"),
        ):
            mistake = self.mistake(name)
            self.assertEqual(mistake["kind"], kind)
            self.assertIn(word, mistake["text"])
            self.assertIn(line_of(call, f'"{name}"'), mistake["text"])

    def test_ranks_that_die(self):
        """By a signal (128 + 6 of SIGABRT is the status), or by itself while others wait for it:
        they are ended with 1, and the first of them gives the status.
        """
        mistake = self.mistake("aborts", status=134)
        self.assertEqual((mistake["kind"], mistake["ranks"]), ("died", [1]))
        self.assertEqual(mistake["text"], "rank 1 was ended by SIGABRT")
        mistake = self.mistake("fails", ranks=3, status=1)
        self.assertEqual((mistake["kind"], mistake["ranks"]), ("died", [1]))
        self.assertIn("rank 1 of communicator 0 ended with status 7, before", mistake["text"])
        self.assertIn(line_of("ncclAllReduce", '"fails"'), mistake["text"])
        for name in ("aborts", "fails"):
            words = [self.built["mistakes"], name, os.path.join(self.folder, f"{name}.check")]
            launcher = ["--gpus-per-server=2", "srun", "-n", 2]
            self.run_capture("--check", *launcher, *words, status=3)

    @long_test
    def test_a_single_process_that_dies(self):
        """Not by a word of its own: its end is heard whenever it comes."""
        for _ in range(3):
            made = self.run_capture("--check", self.built["mistakes"], "dies", status=3)
            self.assertIn("capture: error: died: the program was ended by SIGABRT", made.stderr)

    def test_nothing_is_left(self):
        """Of a process in a session of its own."""
        file = os.path.join(self.folder, "pid")
        self.run_capture(self.built["mistakes"], "daemon", file)
        with open(file, encoding="utf-8") as opened:
            process = opened.read().strip()
        try:
            with open(f"/proc/{process}/stat", encoding="utf-8") as opened:
                state = opened.read().rpartition(")")[2].split()[0]
        except FileNotFoundError:
            return
        self.assertEqual(state, "Z")  # nobody has asked for its status yet

    @long_test
    def test_communicators_of_other_ranks(self):
        where = line_of("ncclCommInitRank", "main(")
        said = ["ranks 0, 1 use the same GPU, GPU 0 of server 0, .*by cudaSetDevice"]
        self.expect("same-gpu", "world-size", said, [where])
        self.expect("ranks", "world-size", ["rank 0 of 2 ranks; rank 1 of 3 ranks"], [where])

    @long_test
    def test_check_ends_with_3(self):
        words = [self.built["mistakes"], "count", os.path.join(self.folder, "id")]
        launcher = ["--gpus-per-server=2", "srun", "-n", 2]
        self.run_capture("--check", *launcher, *words, status=3)

    def test_a_program_without_debugging_information(self):
        """Its function and offset are told."""
        stripped = os.path.join(self.folder, "stripped")
        subprocess.run(["strip", "-o", stripped, self.built["mistakes"]], check=True)
        done = self.run_capture(
            "--gpus-per-server=2", "--patience=2", stripped, "alone", status=1
        )
        self.assertRegex(done.stderr, r"waits in all_reduce .* at .*stripped\+0x[0-9a-f]+")
        self.assertIsNone(re.search(r"mistakes\.cc", done.stderr))


if __name__ == "__main__":
    main()
