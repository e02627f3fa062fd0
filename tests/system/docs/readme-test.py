# SPDX-License-Identifier: GPL-2.0-only
# ctest: TIMEOUT 900
"""README.md and the pages of docs/ show what the programs print: every ```console block is compared
with a run of its command.

    readme-test.py --update            writes what they print now into the pages instead
    readme-test.py --page=PAGE         looks at this page only

The pages whose programs have to be built first belong to docs-extending.py.
"""

import functools
import json
import os
import re
import subprocess
import sys
import tempfile
import unittest

sys.path.append(sys.path[0] + "/../shared")
from _pages import blocks, pages, read
from _shown import Shown, shown_in, update
from _system_test import PROGRAMS, main, share_of, taken

BUILT_FIRST = {"docs/extending.md", "docs/tutorial-ns-3-developer.md"}
UPDATE = taken("--update")
ONLY = taken("--page=")


@functools.lru_cache(maxsize=None)
def printed_by(command):
    """What a command prints; several pages may show the same one."""
    return next(
        shown for page in pages() for shown in shown_in(page) if shown.command == command
    ).run()


def looked_at():
    return [page for page in pages() if page not in BUILT_FIRST and ONLY in ("", f"--page={page}")]


class Readme(unittest.TestCase):
    maxDiff = None

    def test_pages_show_what_the_programs_print(self):
        for page in looked_at():
            # the last first, since an update moves what is behind
            blocks_of_page = shown_in(page)[::-1]
            for shown in share_of(blocks_of_page, one_in=1 if page == "README.md" else 3):
                if UPDATE:
                    update(shown, printed_by(shown.command))
                    continue
                with self.subTest(page=page, command=shown.command):
                    self.assertEqual(shown.difference(printed_by(shown.command)), "")

    def test_pages_name_no_folder_of_who_made_them(self):
        """Files are below results/, or where the command says."""
        for page in pages():
            for shown in shown_in(page):
                for line in shown.lines:
                    with self.subTest(f"{shown}: {line}"):
                        named = re.findall(r"(?<![\w.>-])/(?:tmp|root|home|work)/\S*", line)
                        self.assertEqual(
                            [path for path in named if path.split("/")[2] not in shown.command], []
                        )

    def test_the_command_of_the_first_page(self):
        """README shows all that its own command prints, and the three programs are each shown
        somewhere.
        """
        first = [
            shown
            for shown in shown_in("README.md")
            if shown.command == "dltrain --model=bloom560m --zero=2"
        ]
        self.assertEqual(len(first), 1)
        self.assertNotIn("...", first[0].lines)
        programs = {shown.command.split()[0] for page in pages() for shown in shown_in(page)}
        self.assertLessEqual({"dltrain", "collperf", "traffic"}, programs)

    def test_no_output_stands_untested(self):
        """What looks like the output of a program stands in a block that is compared."""
        looks = re.compile(
            r"^(Step time +[\d.]+|# nThread|Completion time +p50|Slowdown +p50|\w+: error: )"
        )
        for page in pages():
            for words, lines, start in blocks(read(page)):
                if words != "console":
                    for line in lines:
                        self.assertIsNone(looks.match(line), f"{page}:{start}: {line}")

    def test_files_of_json_are_accepted(self):
        """Every JSON of docs/scenarios.md, a block or between backticks, is a valid file of its
        kind.
        """
        kinds = (
            ("program", "--scenario"),
            ("hidden", "--model"),
            ("layers", "--model"),
            ("nics", "--server"),
            ("base", "--gpu"),
            ("servers", "--server"),
            ("nodes", "--topology"),
        )
        text = read("docs/scenarios.md")
        found = ["\n".join(lines) for words, lines, _ in blocks(text) if words == "json"]
        found += [words for words in re.findall(r"`(\{[^`]*\})`", text) if "..." not in words]
        used = []
        for content in found:
            keys = json.loads(content)
            option = (
                "--profile"
                if "optimizer_us" in keys
                else next(option for key, option in kinds if key in keys)
            )
            program = keys.get("program", "dltrain")
            with self.subTest(content), tempfile.TemporaryDirectory() as folder:
                with open(os.path.join(folder, "file.json"), "w", encoding="utf-8") as file:
                    file.write(content)
                run = subprocess.run(
                    [os.path.join(PROGRAMS, program), f"{option}=file.json", "--dry-run"],
                    cwd=folder,
                    capture_output=True,
                    text=True,
                    check=False,
                    stdin=subprocess.DEVNULL,
                    timeout=60,
                )
                self.assertEqual(run.returncode, 0, run.stderr)
            used.append(option)
        self.assertEqual(
            set(used), {"--scenario", "--model", "--gpu", "--server", "--topology", "--profile"}
        )

    def test_what_the_test_finds(self):
        def block(*lines):
            return Shown("page", ['$ ./ns3 run "dltrain --x"', *lines], 1)

        printed = ["a 1", "b 2", "Simulation 3", "c 4"]
        for lines, wrong in (
            (("a 1", "b 2", "Simulation 9", "c 4"), ""),
            (("a 1", "...", "c 4"), ""),
            (("...",), ""),
            (("a 1", "b 2"), "goes on with"),
            (("a 1", "c 4"), "the program has  b 2"),
            (("...", "b 3", "..."), "b 3"),
            (("...", "c 4", "b 2"), "b 2"),
            ((), "goes on with"),
        ):
            found = block(*lines).difference(printed)
            self.assertEqual(bool(found), bool(wrong), found)
            self.assertIn(wrong, found)
        self.assertEqual(block("a 7", "...", "c 5").renewed(printed), ["a 1", "...", "c 4"])
        self.assertEqual(block("...", "a 7", "a 7").renewed(["a 1", "a 2"]), ["...", "a 1", "a 2"])
        self.assertEqual(
            block("a 7", "Simulation 9").renewed(printed), ["a 1", "b 2", "Simulation 9", "c 4"]
        )
        # Of the simulation's line what is the machine's is left out, and what is simulated is not.
        run = "Simulation       {} ms simulated in {} s: {} frame-hops; peak memory {} MB"
        for now, wrong in (((1, 8, 5, 7), False), ((1, 8, 6, 7), True), ((2, 8, 5, 9), True)):
            shown = block("a 1", run.format(1, 2, 5, 4))
            printed = ["a 1", run.format(*now)]
            self.assertEqual(bool(shown.difference(printed)), wrong, now)
            self.assertEqual(shown.renewed(printed) == printed, wrong, now)
        # As are the threads, which idle cores decide.
        run = "Simulation       1 ms simulated in 1 s: 5 frame-hops, 5 M frame-hops/s{}; peak 1 MB"
        shown = block("a 1", run.format(""))
        for threads in ("; 2 threads for 69% of the events", "; one thread, as more is slower"):
            self.assertEqual(shown.difference(["a 1", run.format(threads)]), "", threads)
        self.assertRaises(AssertionError, Shown, "page", ["$ dltrain"], 1)


if __name__ == "__main__":
    main()
