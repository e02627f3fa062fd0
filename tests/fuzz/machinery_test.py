#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
"""That the fuzzer finds what it looks for: a program that misbehaves in every way, and one that
does not.
"""

import os
import random
import shutil
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
sys.dont_write_bytecode = True
import judging  # noqa: E402
import mutating  # noqa: E402
import reducing  # noqa: E402
import running  # noqa: E402

PROGRAM = r"""#!/bin/bash
fail() { echo "traffic: error: $1" >&2; exit 2; }
for word; do
  case $word in
  --fine) echo fine ;;
  --refused) fail "--refused: is not allowed" ;;
  --crash) kill -SEGV $$ ;;
  --abort) echo "terminate called after throwing an instance of 'std::bad_alloc'" >&2; kill -ABRT $$ ;;
  --status) exit 7 ;;
  --mute) exit 2 ;;
  --nothing) fail "that is wrong" ;;
  --escape) fail "$(printf -- '--escape: \033[31m')" ;;
  --broken) fail "$(printf -- '--broken: \377')" ;;
  --long) fail "--long: $(printf '%05000d' 0)" ;;
  --half) echo x >f.part ;;
  --left) echo x >left; fail "--left: refused" ;;
  --changed) echo x >given ;;
  --nan) echo '{"x": NaN}' >stats.json ;;
  --sleep) sleep 100 ;;
  --spin) trap 'exit 3' INT; while :; do :; done ;;
  --slow) trap 'echo "{}" >stats.json; exit 130' INT; echo "traffic: 10.0% done, ETA 5 min" >&2; while :; do :; done ;;
  --zero-error) echo "traffic: error: --zero-error" >&2 ;;
  --three) exit 3 ;;
  esac
done
"""


class Machinery(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="dltrain-fuzz-test-")
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)
        for name, value in (("PROGRAMS", self.folder), ("WAITING_S", 1), ("ENDING_S", 2)):
            self.addCleanup(setattr, running, name, getattr(running, name))
            setattr(running, name, value)
        with open(os.path.join(self.folder, "traffic"), "w", encoding="utf-8") as file:
            file.write(PROGRAM)
        os.chmod(os.path.join(self.folder, "traffic"), 0o755)
        self.runner = running.Runner(os.path.join(self.folder, "scratch"))

    def fault(self, *words, files=None, **more):
        case = {"run": ["traffic", *words], "files": files or {}, **more}
        return judging.judge(case, self.runner.run(case, seconds=1), self.runner.folder)

    def test_what_is_right_passes(self):
        for words in (["--fine"], ["--refused"], []):
            self.assertIsNone(self.fault(*words), words)

    def test_every_misbehaviour_is_found(self):
        for word, kind in {
            "--crash": "signal",
            "--abort": "inside",
            "--status": "status",
            "--mute": "silence",
            "--nothing": "words",
            "--escape": "terminal",
            "--broken": "terminal",
            "--long": "terminal",
            "--half": "files",
            "--left": "files",
            "--nan": "files",
            "--sleep": "hang",
            "--spin": "hang",
            "--zero-error": "status",
            "--three": "silence",
        }.items():
            found = self.fault(word)
            self.assertEqual(found and found.kind, kind, word)
        self.assertEqual(self.fault("--changed", files={"given": "as it was"}).kind, "files")
        self.assertEqual(self.fault("--half", "--dry-run").kind, "files")

    def test_a_slow_run_with_progress_that_can_be_stopped_is_no_hang(self):
        self.assertIsNone(self.fault("--slow"))

    def test_what_a_case_expects(self):
        self.assertIsNone(self.fault("--refused", expect={"status": [2], "says": ["--refused"]}))
        self.assertEqual(self.fault("--refused", expect={"status": [0]}).kind, "expected")
        self.assertEqual(self.fault("--refused", expect={"says": ["other words"]}).kind, "expected")

    def test_a_case_is_made_smaller(self):
        case = {
            "run": ["traffic", "--fine", "--crash", "--x=1"],
            "files": {"a": "1\n2\n3", "b": "x"},
        }
        judge = lambda one: judging.judge(
            one, self.runner.run(one, seconds=1), self.runner.folder
        )  # noqa: E731
        smaller, fault = reducing.reduce(case, judge(case), judge)
        self.assertEqual(smaller["run"], ["traffic", "--crash"])
        self.assertEqual(smaller["files"], {})
        self.assertEqual(fault.kind, "signal")

    def test_scripts_run_as_python_would_run_them(self):
        self.addCleanup(setattr, running, "ROOT", running.ROOT)
        running.ROOT = self.folder
        os.mkdir(os.path.join(self.folder, "scripts"))
        for name, text, kind in (
            ("good", "import sys; sys.exit(0)", None),
            ("bad", "raise KeyError('x')", "inside"),
            ("word", "import sys; sys.exit('--x: wrong')", None),
            ("mute", "import sys; sys.exit(2)", "silence"),
            ("stuck", "open('fifo')", "hang"),
        ):
            with open(os.path.join(self.folder, "scripts", name), "w", encoding="utf-8") as file:
                file.write(text)
            case = {"run": [f"scripts/{name}"], "files": {"fifo": {"fifo": True}}}
            found = judging.judge(case, self.runner.run(case, seconds=1), self.runner.folder)
            self.assertEqual(found and found.kind, kind, name)

    def test_mutations_are_the_same_each_time_and_differ(self):
        text = '{"a": [1, 2, {"b": "c"}], "d": 1.5}'
        made = [
            [str(mutating.mutation(random.Random(f"{seed}"), text, "json")) for seed in range(300)]
            for _ in range(2)
        ]
        self.assertEqual(made[0], made[1])
        self.assertGreater(len(set(made[0])), 200)
        self.assertTrue(
            all(
                "\n" in mutating.table_mutation(random.Random(seed), "a b\n1 2\n3 4\n5 6\n", None)
                for seed in range(50)
            )
        )


if __name__ == "__main__":
    unittest.main()
