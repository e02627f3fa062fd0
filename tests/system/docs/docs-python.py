# SPDX-License-Identifier: GPL-2.0-only
# ctest: TIMEOUT 600
"""The Python of docs/: sessions (>>>) are run as they stand, and what they show is what comes;
other blocks of Python at least have the names and arguments that the package has, by being run
too."""

import contextlib
import doctest
import importlib.util
import io
import os
import sys
import tempfile
import unittest

sys.path.append(sys.path[0] + "/../shared")
from _pages import blocks, pages, read
from _system_test import PROGRAMS, ROOT, main

for module in ("pandas", "matplotlib"):
    if importlib.util.find_spec(module) is None:
        print(f"python3-{module} is not installed")
        sys.exit(77)

sys.path.insert(0, os.path.join(ROOT, "scripts"))
os.environ["DLTRAIN_PROGRAMS"] = PROGRAMS
os.environ["MPLBACKEND"] = "Agg"


class Python(unittest.TestCase):
    maxDiff = None

    def setUp(self):
        folder = self.enterContext(tempfile.TemporaryDirectory())
        self.addCleanup(os.chdir, os.getcwd())
        os.chdir(folder)

    def test_sessions(self):
        sessions = 0
        for page in pages():
            shown = [
                words
                for words, lines, _ in blocks(read(page))
                if lines[:1] and lines[0].startswith(">>>")
            ]
            self.assertLessEqual(set(shown), {"python"}, page)
            sessions += len(shown)
            if shown:
                path = os.path.join(ROOT, page)
                self.assertEqual(doctest.testfile(path, module_relative=False).failed, 0, page)
        self.assertGreaterEqual(sessions, 4)

    def test_blocks(self):
        """Blocks without >>>, each page's in one name space."""
        for page in pages():
            names = {}
            for words, lines, start in blocks(read(page)):
                if words == "python" and not lines[0].startswith(">>>"):
                    with self.subTest(page=page, line=start), contextlib.redirect_stdout(
                        io.StringIO()
                    ):
                        exec(
                            compile("\n" * (start - 1) + "\n".join(lines), page, "exec"), names
                        )  # pylint: disable=exec-used


if __name__ == "__main__":
    main()
