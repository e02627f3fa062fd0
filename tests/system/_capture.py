# SPDX-License-Identifier: GPL-2.0-only
"""What the tests of captures share: the optional part, installed as the other packages of tests
are, and capturing a script of capture-scripts/.
"""

import os
import sys

from _system_test import ROOT, SystemTest

sys.path.insert(0, os.path.join(ROOT, "scripts"))

from cluster_simulator.capture import CaptureFailed, capture, set_up  # noqa: E402

SCRIPTS = os.path.join(ROOT, "tests", "system", "capture-scripts")


class CaptureTest(SystemTest):
    @classmethod
    def setUpClass(cls):
        set_up()

    def capture(self, *words, **options):
        """Words with a script of capture-scripts/ among them, by its name."""
        options.setdefault("patience", 60)
        out = os.path.join(self.folder, f"capture-{len(os.listdir(self.folder))}")
        paths = [
            os.path.join(SCRIPTS, word) if str(word).endswith((".py", ".sh")) else str(word)
            for word in words
        ]
        return capture(paths, out, **options)

    def fails(self, *words, **options):
        with self.assertRaises(CaptureFailed) as caught:
            self.capture(*words, **options)
        return caught.exception


def collectives(tasks):
    return [task for task in tasks if task["kind"] == "collective"]


def total(tasks, key):
    return sum(task.get(key, 0) for task in tasks)
