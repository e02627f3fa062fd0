# SPDX-License-Identifier: GPL-2.0-only
# ctest: TIMEOUT 300 RESOURCE_LOCK capture
"""Arguments that do not fit an operator are an error on a simulated GPU as on the CPU, whose words
are the expected ones; those that fit are none. Small tensors (with values) and large ones.
"""

import os
import subprocess

from _capture import SCRIPTS, CaptureTest
from _system_test import main

SCRIPT = os.path.join("mistakes", "arguments.py")
# Where this PyTorch's CPU says in words of its own kernels what a GPU says in others.
OTHER_WORDS = ("groups", "softmax of whole numbers", "triangle of a vector")


def said(text):
    """{(kind, name): words}"""
    lines = [line.split(" | ", 2) for line in text.splitlines() if line.count(" | ") >= 2]
    return {(kind, name): words for kind, name, words in lines}


class Arguments(CaptureTest):
    def test_as_on_the_cpu(self):
        for size in (64, 100001):
            with self.subTest(size):
                self.one(size)

    def one(self, size):
        done = subprocess.run(
            ["/usr/bin/python3", os.path.join(SCRIPTS, SCRIPT), "cpu", str(size)],
            capture_output=True,
            text=True,
            check=True,
        )
        made = self.capture("python3", SCRIPT, "cuda", size)
        with open(os.path.join(made.folder, "stdout.txt"), encoding="utf-8") as file:
            gpu = said(file.read())
        cpu = said(done.stdout)
        self.assertEqual(list(gpu), list(cpu))
        for (kind, name), words in gpu.items():
            with self.subTest(name):
                if kind == "gpu":
                    self.assertRegex(words, "^RuntimeError: (expected scalar type|.* not impl)")
                    continue
                self.assertEqual(kind == "right", words == "nothing", words)
                if name in OTHER_WORDS and kind == "wrong":
                    self.assertNotEqual(cpu[kind, name], "nothing")
                else:
                    self.assertEqual(words, cpu[kind, name])


if __name__ == "__main__":
    main()
