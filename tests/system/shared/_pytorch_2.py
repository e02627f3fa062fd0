# SPDX-License-Identifier: GPL-2.0-only
"""Captures by PyTorch 2: this system's own, or that of the Debian 13 beside it. Where there is
neither, a test that imports this leaves with status 77 (skipped).
"""

import os
import sys

from _system_test import ROOT, SystemTest, captured

from cluster_simulator.capture import installing
from cluster_simulator.capture.captured import Captured

SCRIPTS = os.path.join(ROOT, "tests", "system", "capture", "capture-scripts")
BESIDE = os.path.join(ROOT, "scripts", "debian-13")
SYSTEM = os.environ.get("DLTRAIN_DEBIAN_13") or os.path.join(ROOT, ".ns3", "debian-13")


def _prefix():
    """What stands before a command that needs PyTorch 2; None: there is none."""
    try:
        if installing.torch_version().startswith("2."):
            return []
    except OSError:
        pass  # no Debian
    return [BESIDE] if os.path.isdir(SYSTEM) and os.geteuid() == 0 else None


PREFIX = _prefix()
if PREFIX is None:
    print("skipped: needs PyTorch 2 (Debian 13, or as root: scripts/debian-13 --make)")
    sys.exit(77)


class PyTorch2Test(SystemTest):
    @classmethod
    def setUpClass(cls):
        captured([*PREFIX, os.path.join(ROOT, "ns3"), "capture", "--setup"], check=True)

    def run_capture(self, *words):
        """(the process that ended, its folder). Scripts of capture-scripts/ by their name."""
        out = os.path.join(self.folder, f"capture-{len(os.listdir(self.folder))}")
        paths = [
            os.path.join(SCRIPTS, word) if word.endswith(".py") and "/" not in word else word
            for word in map(str, words)
        ]
        command = [*PREFIX, os.path.join(ROOT, "ns3"), "capture", f"--out={out}", *paths]
        return captured(command, cwd=self.folder), out

    def capture(self, *words):
        process, out = self.run_capture(*words)
        self.assertEqual(process.returncode, 0, process.stdout + process.stderr)
        made = Captured(out)
        self.assertRegex(made.meta["torch"], r"^2\.")
        self.assertEqual(made.mistakes, [], made.errors)
        return made

    def torchrun(self, ranks, script, *words):
        return self.capture("torchrun", f"--nproc_per_node={ranks}", script, *words)


def sent(tasks, name, phase=None, group=None):
    """Bytes of each collective of a kind, in order."""
    return [
        task["bytes"]
        for task in tasks
        if task["kind"] == "collective"
        and task["name"] == name
        and phase in (None, task["phase"])
        and group in (None, task["group"])
    ]
