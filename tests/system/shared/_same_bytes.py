# SPDX-License-Identifier: GPL-2.0-only
"""Runs that are to write the same bytes, however they are run."""

import json
import os

from _system_test import SystemTest

# Threads that run every window, however little is in it, and change nodes now and then.
ALWAYS = " --ns3::NodeWindowSimulatorImpl::ThreadsAlways=1"


class SameBytesTest(SystemTest):
    def written(self, line, status=0, without=()):
        """{file: bytes} of a run, but for what stats.json itself calls nondeterministic, and these
        keys of it.
        """
        run = self.run_program(f"{line} --progress=0", status=status)
        files = {}
        for name in sorted(os.listdir(run.folder)):
            with open(run.path(name), "rb") as file:
                files[name] = file.read()
        stats = json.loads(files["stats.json"])
        for key in [*stats["nondeterministic"], *without]:
            stats.pop(key, None)
        # ALWAYS, and what was given, which differs between the lines of a command.
        for key in ("ns3", "given"):
            stats["configuration"].pop(key, None)
        stats["configuration"].get("run", {}).pop("mpi_ranks", None)
        files["stats.json"] = json.dumps(stats)
        files.pop("report.html", None)  # has those keys too
        return files

    def check_same(self, written, expected):
        self.assertEqual(sorted(written), sorted(expected))
        for name, content in expected.items():
            self.assertTrue(written[name] == content, f"{name} differs")

    def compare_ranks(self, line, ranks, more="", status=0):
        """Runs of so many processes write what one writes."""
        without = ["events", "ranks"]
        without += ["message", "share_done"] if status else []  # docs/ranks.md
        expected = self.written(f"{line} --attribution=0", status, without)
        for number in ranks:
            several = f"{line} --mpi-ranks={number}{more}"
            with self.subTest(several):
                self.check_same(self.written(several, status, without), expected)
