# SPDX-License-Identifier: GPL-2.0-only
# ctest: TIMEOUT 300
"""Command lines of all scripts: what is wrong is one line that names the word and the nearest one
that is allowed, with status 2, and nothing is written.
"""

import itertools
import os
import sys

sys.path.append(sys.path[0] + "/../shared")
from _system_test import ROOT, SystemTest, captured, main, share_of

SCENARIO = os.path.join(ROOT, "scenarios", "presets", "cc", "hpcc-fattree.json")
# [(script and what it needs first, an option that it has not, the one that is meant, an option with
# a value)]
SCRIPTS = (
    (["bench"], "--quik", "--quick", "--json=a.json"),
    (["compare", SCENARIO, "--cc=none", "--out=o"], "--retry-faild", "--retry-failed", "--jobs=1"),
    (["fit-compute", "--reference=nowhere"], "--chek", "--check", "--json=a.json"),
    (["fit-serving", "--reference=nowhere"], "--chek", "--check", "--only=A100"),
    (["golden", "cases.json", "flows.csv"], "--prnt-flows", "--print-flows", "--cc=dcqcn"),
    (["nccl-tables"], "--row", "--rows", "--machine=a"),
    (["plot", "nowhere"], "--labls=a", "--labels", "--format=png"),
    (["published"], "--comands", "--commands", "--only=gpt"),
    (["report", "nowhere"], "--ot=a", "--out", "--out=a"),
    (["sweep", "traffic", "--out=o"], "--kep", "--keep", "--jobs=1"),
    (["sweep", "plot", "nowhere"], "--wher=k=4", "--where", "--x=k"),
    (["timeline", "nowhere"], "--max-event=1000", "--max-events", "--max-events=1000"),
)


class Arguments(SystemTest):
    def refused(self, words, *says):
        done = captured(
            [os.path.join(ROOT, "scripts", words[0]), *words[1:]], cwd=self.folder, timeout=60
        )
        self.assertEqual((done.returncode, done.stdout), (2, ""), f"{words}: {done.stderr}")
        self.assertRegex(done.stderr, rf"\A{words[0]}: error: [^\n]+\n\Z")
        for text in says:
            self.assertIn(text, done.stderr, words)
        self.assertEqual(os.listdir(self.folder), [], words)

    def test_all_scripts_are_here(self):
        folder = os.path.join(ROOT, "scripts")
        scripts = {name for name in os.listdir(folder) if os.path.isfile(f"{folder}/{name}")}
        # A shell script, whose words are a command; and one that takes none.
        others = {"pyproject.toml", "debian-13", "fit-multiplex"}
        self.assertEqual({words[0] for words, *_ in SCRIPTS}, scripts - others, "a script is new")

    def test_an_option_that_is_unknown(self):
        for words, wrong, meant, _ in SCRIPTS:
            name = wrong.split("=")[0]
            with self.subTest(words=words):
                self.refused([*words, wrong], name, "unknown option", f"did you mean '{meant}'?")
                if words[0] not in ("nccl-tables", "published", "compare"):
                    self.refused([*words, "--qqqq"], "--qqqq: unknown option")

    def test_an_option_that_is_given_twice(self):
        for words, _, _, good in share_of(SCRIPTS, one_in=3):
            with self.subTest(words=words):
                self.refused([*words, good, good], f"{good}: given twice")

    def test_an_option_without_its_value(self):
        for words, _, _, good in share_of(SCRIPTS, one_in=3, first=1):
            name = good.split("=")[0]
            with self.subTest(words=words):
                self.refused([*words, name], name, "needs")

    def test_a_switch_with_a_value(self):
        for words in (
            ["bench", "--quick=no"],
            ["compare", SCENARIO, "--cc=none", "--out=o", "--dry-run=no"],
            ["fit-compute", "--reference=nowhere", "--check=no"],
            ["fit-serving", "--reference=nowhere", "--rows=no"],
            ["golden", "cases.json", "flows.csv", "--print-flows=no"],
            ["nccl-tables", "--rows=no"],
            ["published", "--commands=no"],
            ["sweep", "traffic", "--out=o", "--keep=no"],
        ):
            with self.subTest(words=words):
                self.refused(words, f"{words[-1]}: takes no value")

    def test_an_argument_too_many(self):
        for words in (
            ["bench", "one"],
            ["compare", SCENARIO, "two.json", "--cc=none", "--out=o"],
            ["fit-compute", "--reference=nowhere", "two"],
            ["fit-serving", "--reference=nowhere", "two"],
            ["golden", "cases.json", "flows.csv", "three"],
            ["report", "one", "two"],
            ["sweep", "status", "one", "two"],
            ["timeline", "one", "two"],
        ):
            with self.subTest(words=words):
                extra = next(word for word in words[::-1] if not word.startswith("--"))
                self.refused(words, f"{extra}: unexpected argument")

    def test_an_argument_that_is_missing(self):
        for words, what in (
            (["compare", "--cc=none"], "one scenario is wanted"),
            (["fit-compute"], "--reference=DIR is missing: folder of the tables"),
            (["fit-serving"], "--reference=DIR is missing: folder of the tables"),
            (["golden", "cases.json"], "FLOWS.csv is missing"),
            (["plot"], "DIR is missing: folder of a run"),
            (["report"], "needs one folder of results"),
            (["sweep", "status"], "one folder of a sweep is wanted"),
            (["sweep", "--keep"], "--keep: a program or a command comes first"),
            (["timeline"], "DIR is missing: folder of a run"),
        ):
            with self.subTest(words=words):
                self.refused(words, what)

    def test_capture(self):
        """Before a command, whose own options are nobody else's."""
        for words, says in (
            (["--gup=A100", "true"], "unknown option, see --help; did you mean '--gpu'?"),
            (["--gpus-per-server=x", "true"], "--gpus-per-server=x: allowed: a whole number"),
            (["--out=a", "--out=b", "true"], "--out=b: given twice"),
            (["--check=1", "true"], "--check=1: takes no value"),
            (["--out"], "--out: needs a value: --out=DIR"),
            (["--gpu", "A100", "true", "--gup=1", "--gpu=2"], "--out=DIR is needed"),
            (["--gpu=A100", "--", "true", "--gup=1"], "--out=DIR is needed"),
        ):
            done = captured(
                [sys.executable, "-m", "cluster_simulator.capture", *words],
                cwd=os.path.join(ROOT, "scripts"),
                timeout=60,
            )
            self.assertEqual((done.returncode, done.stdout), (2, ""), f"{words}: {done.stderr}")
            self.assertRegex(done.stderr, r"\Acapture: error: [^\n]+\n\Z")
            self.assertIn(says, done.stderr)

    def test_numbers(self):
        options = (
            (["bench"], "--repeat"),
            (["golden", "cases.json", "flows.csv"], "--jobs"),
            (["golden", "cases.json", "flows.csv"], "--case"),
            (["nccl-tables"], "--jobs"),
            (["nccl-tables"], "--packets"),
            (["published"], "--jobs"),
            (["published"], "--time-limit"),
            (["timeline", "nowhere"], "--max-events"),
        )
        values = ("-1", "x", "", "1e999", "nan", "\u0663", "9" * 30)
        for (words, option), value in share_of(itertools.product(options, values), one_in=4):
            with self.subTest(words=words, option=option, value=value):
                says = f"{option}={value}: allowed: " if value else option
                self.refused([*words, f"{option}={value}"], says)


if __name__ == "__main__":
    main()
