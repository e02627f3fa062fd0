# SPDX-License-Identifier: GPL-2.0-only
# ctest: TIMEOUT 120
"""tests/bench/tables.py: every table that it measures has its place in a page, with the same rows;
every command is one.
"""

import os
import re
import sys

sys.path.append(sys.path[0] + "/../shared")
from _pages import pages
from _system_test import ROOT, SystemTest, main

sys.path.insert(0, os.path.join(ROOT, "tests", "bench"))
sys.path.insert(0, os.path.join(ROOT, "scripts"))

import _table  # noqa: E402
import replica_tables  # noqa: E402
import tables  # noqa: E402
from cluster_simulator import marked  # noqa: E402
from cluster_simulator.bench import tables as bench  # noqa: E402


def read(path):
    with open(os.path.join(ROOT, path), encoding="utf-8") as file:
        return file.read()


class TablesTest(SystemTest):
    def places(self):
        return [
            (name, table)
            for name, make in tables.TABLES.items()
            for table in make()
            if not table.more
        ]

    def test_every_table_stands_in_its_file_with_the_rows_that_are_measured(self):
        for name, table in self.places():
            with self.subTest(f"{name}, {table.file}"):
                text = read(table.file)
                begin, end = marked.find(text, name)
                lines = text.split("\n")
                columns = len(marked.cells_of(lines[begin - 2]))
                self.assertLessEqual(len(table.header), columns)
                rows = [marked.cells_of(line) for line in lines[begin:end]]
                self.assertEqual({len(row) for row in rows}, {columns})
                names = [first for first, _, _ in table.rows]
                self.assertEqual([row[: len(first)] for row, first in zip(rows, names)], names)
                self.assertEqual(len(rows), len(names))

    def test_every_mark_in_a_file_is_one_of_a_table(self):
        measured = sorted(
            [(table.file, name) for name, table in self.places()]
            + [(bench.PAGE, name) for name in (bench.MACHINE, bench.CASES, bench.GROWTH)]
            + [("docs/measured.md", name) for name in ("nccl-tables", "nccl-medians")]
            + [("docs/measured.md", "captured-scripts")]  # tests/bench/captured.py
            + [("docs/measured.md", "zoo-and-capture")]  # tests/bench/zoo.py
            + [("docs/speed.md", "first-build")]  # tests/bench/first-build.py
            + [
                ("docs/measured.md", f"published-{part}")
                for part in ("rows", "groups", "ratios", "sources", "sheets")
            ]
            + [("docs/validation.md", f"published-{part}") for part in ("summary", "left-out")]
        )
        marked = sorted(
            (path, name)
            for path in pages()
            for name in re.findall(r"(?m)^<!-- TABLE: (.*?) -->$", read(path))
        )
        self.assertEqual(marked, measured)

    def test_measured_columns_are_replaced_and_the_others_stay(self):
        text = (
            "a\n<!-- TABLE: x -->\n\n| of | n | why |\n|---|---|---|\n| one | 1 | because |\n| two"
            " | 2 | so it is |\n\n| other | 3 |\n"
        )
        self.assertEqual(
            marked.merge(text, "x", [["two", "22"], ["one", "11"], ["new", "33"]]),
            (
                "a\n<!-- TABLE: x -->\n\n| of | n | why |\n|---|---|---|\n| two | 22 | so it is"
                " |\n| one | 11 | because |\n| new | 33 |\n\n| other | 3 |\n"
            ),
        )
        with self.assertRaisesRegex(ValueError, "<!-- TABLE: y --> stands there 0 times"):
            marked.merge(text, "y", [])

    def test_numbers_are_written_with_three_digits(self):
        for us, text in (
            (0, "0"),
            (36.6, "36.6 us"),
            (999.4, "999 us"),
            (999.6, "1 ms"),
            (12345, "12.3 ms"),
            (12.1e6, "12.1 s"),
        ):
            self.assertEqual(_table.time(us), text)

    def test_what_is_said_of_scaling_is_what_the_rows_say(self):
        """Losses over servers, of the rows "scaling from": published, and as measured here."""
        text = read("docs/validation.md")
        row = re.compile(
            r"^\| scaling from \d+ GPUs, (\w+)-\S+ \| ([\d.]+)% \| ([\d.]+)% \|$", re.MULTILINE
        )
        losses = {}
        for name, published, here in row.findall(read("docs/measured.md")):
            for kind, share in (("published", published), ("here", here)):
                losses.setdefault((name, kind), []).append(round(100 - float(share), 1))
        mpt, bert, resnet = "mpt", "bert", "goyal"
        said = {
            "MPT": f"| up to {max(losses[mpt, 'published'])}%; two rows gain 20% and 22% |",
            "BERT": f"| {min(losses[bert, 'published'])} to {max(losses[bert, 'published'])}% |",
            "ResNet-50": f"| {losses[resnet, 'published'][0]}% |",
        }
        ours = {
            "MPT": "{} to {}%".format(min(losses[mpt, "here"]), max(losses[mpt, "here"])),
            "BERT": "{} to {}%".format(min(losses[bert, "here"]), max(losses[bert, "here"])),
            "ResNet-50": f"{losses[resnet, 'here'][0]}%",
        }
        for name, words in said.items():
            self.assertIn(f"\n| {name} {words} {ours[name]} |\n", text)
        self.assertEqual(sum(loss < 0 for loss in losses[mpt, "published"]), 3)  # one by 0.1%

    def test_every_command_is_accepted(self):
        # One of each scenario and table with the first of its options; all of them differ in values
        # that others check.
        seen = {}
        for name, make in tables.TABLES.items():
            for table in make():
                for _, lines, _ in table.rows:
                    for line in lines:
                        words = line.split()
                        seen.setdefault(
                            (name, words[0], *sorted(word.split("=")[0] for word in words[1:])),
                            tables.line_of(line),
                        )
        self.assertGreater(len(seen), 20)
        for line in seen.values():
            with self.subTest(line):
                self.run_program(
                    line.replace(
                        f"--scenario={replica_tables.FOLDER}",
                        f"--scenario={os.path.join(ROOT, replica_tables.FOLDER)}",
                    ).replace("--topology=tests/", f"--topology={os.path.join(ROOT, 'tests/')}")
                    + " --dry-run"
                )


if __name__ == "__main__":
    main()
