# SPDX-License-Identifier: GPL-2.0-only
"""What the tests of captures share: the optional part, installed as the other packages of tests
are, and capturing a script of capture-scripts/.
"""

import os
import sys
import tempfile

from _system_test import ROOT, SystemTest

sys.path.insert(0, os.path.join(ROOT, "scripts"))

from cluster_simulator.capture import CaptureFailed, capture, set_up  # noqa: E402

SCRIPTS = os.path.join(ROOT, "tests", "system", "capture", "capture-scripts")


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


def capture_together(begin, texts, **options):
    """[tasks of each] of several short scripts that begin alike, captured as one: PyTorch is
    imported once, which is most of what a capture takes. Whose a task is its line tells.
    """
    whole, ends = begin, []
    for text in texts:
        whole += text
        ends.append(whole.count("\n"))
    found = [[] for _ in texts]
    with tempfile.TemporaryDirectory(prefix="dltrain-test-") as folder:
        script = os.path.join(folder, "together.py")
        with open(script, "w", encoding="utf-8") as file:
            file.write(whole)
        made = capture([script], os.path.join(folder, "captured"), steps=0, **options)
        if made.mistakes:
            raise AssertionError(made.mistakes, made.errors)
        for task in made.tasks():
            line = int(task["line"].rpartition(":")[2])
            found[next(i for i, end in enumerate(ends) if line <= end)].append(task)
    return found


def collectives(tasks):
    return [task for task in tasks if task["kind"] == "collective"]


def total(tasks, key):
    return sum(task.get(key, 0) for task in tasks)
