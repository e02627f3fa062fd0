# SPDX-License-Identifier: GPL-2.0-only
"""Only rows of options know how options are spelled. Other layers name the member that a row is
bound to (scenario::Spell).
"""

import os
import re
import sys
import unittest

sys.path.append(sys.path[0] + "/../shared")
from _system_test import ROOT, main

LAYERS = ["scenarios/training", "scenarios/formats", "scenarios/traffic", "contrib/dltrain"]
STRING = re.compile(r'"((?:\\.|[^"\\])*)"')
OPTION = re.compile(r"(?<![\w-])--(?!ns3::)[a-z][a-z-]+")
#: A key of stats.json with its meaning, which the schema of results has.
KEY = re.compile(r"[a-z_]+( \([^)]*\))?: ")
#: Of other programs: apt-get.
FOREIGN = ("--no-install-recommends",)
#: They start dltrain, by its command line.
STARTING = (
    "child-runs.h",
    "child-runs.cc",
    "layout-runs.cc",
    "plan-verification.cc",
    "planner.cc",
    "goodput-measurement.cc",
    "shard-verification.cc",
    "slurm.cc",
    "study.cc",
)


def strings():
    """(file, text) of all string literals, comments aside."""
    for layer in LAYERS:
        for folder, _, names in os.walk(os.path.join(ROOT, layer)):
            for name in names:
                path = os.path.join(folder, name)
                if (
                    not name.endswith((".cc", ".h"))
                    or name in STARTING
                    or f"{os.sep}test{os.sep}" in path
                    or f"{os.sep}options{os.sep}" in path
                ):
                    continue
                with open(path, encoding="utf-8") as file:
                    for line in file:
                        if not line.strip().startswith(("//", "*", "/*", "#include")):
                            for match in STRING.finditer(line):
                                yield os.path.relpath(path, ROOT), match.group(1)


class Spellings(unittest.TestCase):
    def test_no_layer_spells_an_option(self):
        found = [
            (path, text)
            for path, text in strings()
            if OPTION.search(text)
            and not KEY.match(text)
            and not any(foreign in text for foreign in FOREIGN)
        ]
        self.assertEqual(found, [])

    def test_strings_are_read(self):
        self.assertGreater(len(list(strings())), 1000)


if __name__ == "__main__":
    main()
