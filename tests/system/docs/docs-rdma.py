# SPDX-License-Identifier: GPL-2.0-only
# ctest: TIMEOUT 60
"""The documentation of the ns-3 module names what the code has: trace sources, its one header."""

import glob
import os
import re
import sys
import unittest

sys.path.append(sys.path[0] + "/../shared")
from _pages import read
from _system_test import ROOT, main


def sources_of_code():
    """{class: names} of AddTraceSource, without those of tests and examples."""
    found = {}
    for path in glob.glob(os.path.join(ROOT, "contrib", "rdma", "*", "*.cc")):
        if os.path.basename(os.path.dirname(path)) in ("test", "examples"):
            continue
        with open(path, encoding="utf-8") as file:
            text = file.read()
        for source in re.finditer(r'AddTraceSource\(\s*"(\w+)"', text):
            owner = re.findall(r'TypeId\("ns3::(\w+)"\)', text[: source.start()])[-1]
            found.setdefault(owner, set()).add(source.group(1))
    return found


def sources_of_table():
    """{class: names} of the table in rdma.rst, whose first column may say more than the class."""
    text = read("contrib/rdma/doc/rdma.rst")
    section = text[text.index("\nTrace Sources\n") :]
    table = section[section.index("class ") :]
    lines = table[table.index("\n", table.index("=====")) + 1 :].split("\n")
    found, owner = {}, None
    for line in lines[: next(i for i, line in enumerate(lines) if line.startswith("====="))]:
        first, rest = line[:36].strip(), re.sub(r"\([^)]*\)", "", line[36:])
        owner = re.match(r"\w+", first).group(0) if first else owner
        words = re.sub(r": .*", "", rest)  # "SilentDrop: frames lost"
        found.setdefault(owner, set()).update(re.findall(r"\b[A-Z]\w+", words))
    return found


class RdmaDocumentation(unittest.TestCase):
    def test_every_trace_source_is_in_the_table(self):
        code = sources_of_code()
        self.assertGreater(sum(map(len, code.values())), 30)
        self.assertEqual(sources_of_table(), code)

    def test_the_tutorial_shows_the_header_of_the_module(self):
        shown = '#include "ns3/rdma-module.h"' in read("docs/tutorial-ns-3-developer.md")
        self.assertTrue(shown)


if __name__ == "__main__":
    main()
