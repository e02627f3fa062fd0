# SPDX-License-Identifier: GPL-2.0-only
# ctest: TIMEOUT 1200 PROCESSORS 2
"""docs/extending.md and the tutorial for ns-3 developers are followed to the letter: their files
are written into a copy of the repository, their lines added, all of it built, their tests and
commands run.

    docs-extending.py --update     writes what the commands print now into the pages
    docs-extending.py --keep=DIR   leaves the copy there, and takes it up again
"""

import csv
import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

sys.path.append(sys.path[0] + "/../shared")
from _pages import blocks, read
from _shown import Shown, update
from _system_test import ROOT, captured, long_test, main, taken

PAGES = ["docs/extending.md", "docs/tutorial-ns-3-developer.md"]
NS3 = os.environ.get("DLTRAIN_NS3")  # of programs that are built in a source tree
FOLDERS = [
    "contrib",
    "topologies",
    "collectives",
    "scenarios",
    "reports",
    "scratch",
    "scripts",
    "tests",
]

UPDATE = taken("--update")
KEEP = taken("--keep=")


class Step:
    """A block: a file, a change of a file, or a command with what it prints."""

    def __init__(self, kind, path, lines, page, start):
        self.kind, self.path, self.lines, self.page, self.start = kind, path, lines, page, start

    def __str__(self):
        return f"{self.page}:{self.start}"


def steps():
    """Of all pages, in their order."""
    return [step for page in PAGES for step in steps_of(page)]


def steps_of(page):
    text = read(page).split("\n")
    found = []
    for number, line in enumerate(text, 1):
        for path, source in re.findall(r"\[`([^`]+)`\]\((extending/[^)]+)\)", line):
            lines = read(os.path.join("docs", source)).splitlines()
            found.append(Step("file", path, lines, page, number))
    for words, lines, start in blocks("\n".join(text)):
        if words == "console":
            found.append(Step("run", "", lines, page, start))
            continue
        before = next(
            line
            for line in reversed(text[: start - 1])
            if line.strip() and not line.startswith("```")
        )
        match = re.search(r"(File|In) `([^`]+)`:$", before)
        if words == "cpp" and match and match.group(1) == "File":
            found.append(Step("file", match.group(2), lines, page, start))
        elif words == "diff":
            # A second change of the same file stands right behind the first.
            path = (
                match.group(2)
                if match
                else next(step.path for step in reversed(found) if step.kind == "change")
            )
            found.append(Step("change", path, lines, page, start))
        else:
            raise AssertionError(f"{page}:{start}: neither a file, a change nor a command")
    return found


def changed(text, lines, where):
    """The text with the lines that begin with + added, behind or before those that begin with a
    blank.
    """
    context = [line[1:].strip() for line in lines if not line.startswith("+")]
    old = text.split("\n")
    places = [
        i
        for i in range(len(old))
        if [line.strip() for line in old[i : i + len(context)]] == context
    ]
    if len(places) != 1:
        raise AssertionError(
            f"{where}: the lines around the change are {len(places)} times there: {context}"
        )
    new, place = [], places[0]
    for line in lines:
        if line.startswith("+"):
            new.append(line[1:])
        else:
            new.append(old[place])
            place += 1
    return "\n".join(old[: places[0]] + new + old[place:])


class Followed(unittest.TestCase):
    """A copy with the files and lines of the pages."""

    maxDiff = None

    @classmethod
    def setUpClass(cls):
        cls.folder = KEEP[len("--keep=") :] or tempfile.mkdtemp(prefix="dltrain-extending-")
        if not KEEP:
            cls.addClassCleanup(shutil.rmtree, cls.folder, ignore_errors=True)
        cls.copy()
        cls.follow()

    @classmethod
    def copy(cls):
        """The repository, with a build of its own; ccache has all but what the pages add."""
        os.makedirs(cls.folder, exist_ok=True)
        for name in FOLDERS:
            shutil.rmtree(os.path.join(cls.folder, name), ignore_errors=True)
            if os.path.isdir(os.path.join(ROOT, name)):
                shutil.copytree(
                    os.path.join(ROOT, name),
                    os.path.join(cls.folder, name),
                    symlinks=True,
                    ignore=shutil.ignore_patterns("__pycache__"),
                )
        for name in ("ns3", "CMakeLists.txt"):
            shutil.copy(os.path.join(ROOT, name), cls.folder)
        os.makedirs(os.path.join(cls.folder, ".ns3"), exist_ok=True)
        if NS3:
            cls.link_tree()

    @classmethod
    def link_tree(cls):
        """An ns-3 tree of links to the one that is there."""
        with open(os.path.join(cls.folder, ".ns3", "ns3-from"), "w", encoding="utf-8") as file:
            file.write("source\n")
        tree = os.path.join(cls.folder, ".ns3", "ns-3.37")
        for name in ("contrib", "scratch"):
            os.makedirs(os.path.join(tree, name), exist_ok=True)
        for folder, skipped in (
            ("", {"build", "cmake-cache", "contrib", "scratch"}),
            ("contrib", {"rdma", "dltrain"}),
            ("scratch", None),
        ):
            for name in os.listdir(os.path.join(NS3, folder)):
                path = os.path.join(tree, folder, name)
                ours = (
                    skipped is None
                    and name != "CMakeLists.txt"
                    or skipped is not None
                    and name in skipped
                    or name.startswith(".lock")
                )
                if not ours and not os.path.lexists(path):
                    os.symlink(os.path.join(NS3, folder, name), path)

    @classmethod
    def follow(cls):
        for step in steps():
            name = os.path.join(cls.folder, step.path)
            if step.kind == "file":
                if os.path.exists(name):
                    raise AssertionError(f"{step}: {step.path} is there already")
                text = "\n".join(step.lines) + "\n"
            elif step.kind == "change":
                with open(name, encoding="utf-8") as file:
                    text = changed(file.read(), step.lines, f"{step}, {step.path}")
            else:
                continue
            with open(name, "w", encoding="utf-8") as file:
                file.write(text)


class Written(Followed):
    """What needs no build: each file of the pages is new and each change has its place, or
    setUpClass fails.
    """

    def test_files_are_there(self):
        files = [step for step in steps() if step.kind == "file"]
        self.assertGreaterEqual(len(files), 5)
        for step in files:
            with open(os.path.join(self.folder, step.path), encoding="utf-8") as file:
                self.assertEqual(file.read().splitlines(), step.lines, str(step))


    def test_an_option_is_few_files(self):
        """Its changes, and what "To keep it" asks for: a test, docs/options.md with the report's
        words, which one command writes.
        """
        text = read("docs/extending.md").split("\n")
        first = text.index("## An option")
        changes = {
            step.path
            for step in steps_of("docs/extending.md")
            if step.start > first and step.kind in ("file", "change")
        }
        self.assertLessEqual(len(changes) + 2, 5, changes)


@long_test
class Extending(Followed):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.build()

    @classmethod
    def build(cls):
        environment = {
            key: value
            for key, value in os.environ.items()
            if not key.startswith(("DLTRAIN_", "NS3_"))
        }
        environment["DLTRAIN_NO_INSTALL"] = "1"
        for program in sorted({shown.command.split()[0] for shown in cls.commands()}):
            done = captured(
                [os.path.join(cls.folder, "ns3"), "run", f"{program} --help"], env=environment
            )
            if done.returncode:
                raise AssertionError(
                    f"{', '.join(PAGES)}: do not build\n{done.stdout[-6000:]}{done.stderr[-6000:]}"
                )
        cls.programs = os.path.join(cls.folder, ".ns3", "programs")

    @staticmethod
    def commands():
        return [Shown(step.page, step.lines, step.start) for step in steps() if step.kind == "run"]

    def test_commands_print_what_the_pages_show(self):
        self.assertGreaterEqual(len(self.commands()), 8)
        for shown in reversed(self.commands()):
            printed = shown.run(self.programs)
            if UPDATE:
                update(shown, printed)
                continue
            with self.subTest(shown.command):
                self.assertEqual(shown.difference(printed), "")

    def test_unit_tests_of_the_page(self):
        tests = [
            step.path
            for step in steps()
            if step.kind == "file" and step.path.startswith("tests/unit/")
        ]
        self.assertTrue(tests)
        binary = os.path.join(self.folder, "unit-tests")
        subprocess.run(
            [
                "g++",
                "-std=c++17",
                "-I",
                self.folder,
                *(os.path.join(self.folder, path) for path in tests),
                "-o",
                binary,
                "-lgtest_main",
                "-lgtest",
                "-lpthread",
            ],
            check=True,
        )
        subprocess.run([binary], check=True, stdout=subprocess.DEVNULL)

    def test_names_are_known(self):
        """They are listed with the others, and only where they belong."""
        for program, what, name in (
            ("traffic", "cc", "aimd"),
            ("collperf", "algorithms", "binomial"),
            ("traffic", "topologies", "full-mesh"),
            ("traffic", "markers", "ramp"),
            ("traffic", "buffer-policies", "capped"),
            ("traffic", "queue-discs", "las"),
        ):
            done = captured([os.path.join(self.programs, program), f"--list={what}"], check=True)
            self.assertRegex(done.stdout, rf"(?m)^  {name} ", done.stdout)

    def test_column_is_in_the_file(self):
        """Two files declare it: the record and its row."""
        changed_files = {step.path for step in steps() if step.kind == "change"}
        self.assertEqual(
            {path for path in changed_files if path.startswith("reports/")},
            {"reports/tables/flow-table.h", "reports/tables/flow-table.cc"},
        )
        out = os.path.join(self.folder, "with-column")
        line = ["--hosts=4", "--topology=single-switch", "--bytes=1MB", f"--out={out}"]
        captured([os.path.join(self.programs, "traffic"), *line], check=True)
        with open(os.path.join(out, "flows.csv"), encoding="utf-8", newline="") as file:
            rows = list(csv.DictReader(file))
        for row in rows:
            self.assertAlmostEqual(
                float(row["mean_gbps"]), 8e-3 * int(row["bytes"]) / float(row["fct_us"]), places=4
            )
        self.assertTrue(rows)

    def test_what_is_wrong_is_refused(self):
        for command, words in (
            (
                "traffic --cc=aimd --ns3::AimdCongestionOps::Decrease=1 --dry-run",
                ["ns3::AimdCongestionOps::Decrease", "(0, 1)"],
            ),
            ("traffic --topology=full-mesh --hosts=16 --k=4 --dry-run", ["--k", "fat-tree"]),
            ("collperf --op=all_gather --algorithm=binomial --dry-run", ["binomial", "ring"]),
            (
                "traffic --flows=flows.txt --stagger=1us",
                ["--stagger=1us", "cannot be combined with --flows=flows.txt"],
            ),
        ):
            program, *options = command.split()
            done = captured([os.path.join(self.programs, program), *options], cwd=self.folder)
            self.assertEqual(done.returncode, 2, command + done.stderr)
            for word in words:
                self.assertIn(word, done.stderr)


if __name__ == "__main__":
    main()
