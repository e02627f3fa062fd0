# SPDX-License-Identifier: GPL-2.0-only
"""What the tests of programs of C++ share: compiling one of cuda-programs/ against the simulated
GPUs, and running it on them.
"""

import os
import shlex
import shutil
import subprocess
import sys

from _system_test import PROGRAMS, ROOT, SystemTest, captured

sys.path.insert(0, os.path.join(ROOT, "scripts"))
os.environ["DLTRAIN_PROGRAMS"] = PROGRAMS

from cluster_simulator.capture import cuda  # noqa: E402

SOURCES = os.path.join(ROOT, "tests", "system", "capture", "cuda-programs")


class CudaTest(SystemTest):
    """built: {name: path} of programs, compiled once for the class."""

    programs = ()

    @classmethod
    def setUpClass(cls):
        cls.binaries = os.path.join(cuda.libraries(), "tests-" + str(os.getpid()))
        os.makedirs(cls.binaries, exist_ok=True)
        cls.addClassCleanup(shutil.rmtree, cls.binaries, ignore_errors=True)
        cls.built = {name: cls.compile(name) for name in cls.programs}

    @classmethod
    def compile(cls, name, *more):
        made = os.path.join(cls.binaries, name)
        words = ["g++", "-std=c++17", "-g", "-Wall", "-Werror", os.path.join(SOURCES, f"{name}.cc")]
        subprocess.run([*words, "-o", made, *shlex.split(cuda.flags()), *more], check=True)
        return made

    def run_capture(self, *words, status=0, env=None):
        """`capture` with these words, in the test's folder; returns what it said."""
        done = captured(
            [sys.executable, "-m", "cluster_simulator.capture", *map(str, words)],
            cwd=self.folder,
            env={**os.environ, "PYTHONPATH": os.path.join(ROOT, "scripts"), **(env or {})},
            timeout=100,
        )
        self.assertEqual(done.returncode, status, done.stdout + done.stderr)
        return done
