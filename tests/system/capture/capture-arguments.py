# SPDX-License-Identifier: GPL-2.0-only
# ctest: TIMEOUT 300 FULL
"""Arguments that do not fit an operator are an error on a simulated GPU as on the CPU, whose words
are the expected ones; those that fit are none. Small tensors (with values) and large ones.
"""

import os
import subprocess
import sys

sys.path.append(sys.path[0] + "/../shared")
from _capture import SCRIPTS, CaptureTest
from _system_test import main

SIZES = ("64", "100001")
SCRIPT = os.path.join("mistakes", "arguments.py")
# Where this PyTorch's CPU says in words of its own kernels what a GPU says in others.
OTHER_WORDS = ("groups", "softmax of whole numbers", "triangle of a vector")


def said(text):
    """{(size, kind, name): words}"""
    lines = [line.split(" | ", 3) for line in text.splitlines() if line.count(" | ") >= 3]
    return {(size, kind, name): words for size, kind, name, words in lines}


class Arguments(CaptureTest):
    def test_as_on_the_cpu(self):
        done = subprocess.run(
            ["/usr/bin/python3", os.path.join(SCRIPTS, SCRIPT), "cpu", *SIZES],
            capture_output=True,
            text=True,
            check=True,
        )
        gpu = said(self.capture("python3", SCRIPT, "cuda", *SIZES).output)
        cpu = said(done.stdout)
        self.assertEqual(list(gpu), list(cpu))
        self.assertEqual({size for size, _, _ in gpu}, set(SIZES))
        for key, words in gpu.items():
            _, kind, name = key
            with self.subTest(key):
                if kind == "gpu":
                    self.assertRegex(words, "^RuntimeError: (expected scalar type|.* not impl)")
                    continue
                self.assertEqual(kind == "right", words == "nothing", words)
                if name in OTHER_WORDS and kind == "wrong":
                    self.assertNotEqual(cpu[key], "nothing")
                else:
                    self.assertEqual(words, cpu[key])


if __name__ == "__main__":
    main()
