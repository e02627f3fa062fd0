# SPDX-License-Identifier: GPL-2.0-only
"""Small runs of every program on both fabrics, for rules that hold for all of them."""

import os
import resource
import subprocess

from _system_test import PROGRAMS, SLOWER, SystemTest

LAYERS = [{"name": "layer", "parameters": 1 << 18, "flops": 1.0e9}]
LINES = (
    (
        "dltrain --gpus=4 --gpus-per-server=2 --model={model} --micro-batch=1 --steps=1 --warmup=0"
        " --report=0"
    ),
    "collperf --ranks=6 --gpus-per-server=2 -b 64K -e 128K -n 1 -w 0 --report=0",
    "traffic --topology=single-switch --hosts=5 --bytes=100kB --report=0",
)
FABRICS = ("", " --fabric=ib")


class RobustTest(SystemTest):
    def model(self):
        return self.write("small.json", {"name": "small", "sequence": 256, "layers": LAYERS})

    def lines(self, more=""):
        """(name, command line): every program on every fabric."""
        model = self.model()
        for line in LINES:
            for fabric in FABRICS:
                text = line.format(model=model) + fabric + more
                yield text.split()[0] + fabric, text

    def start(self, line, out=None, **how):
        words, out = self.command(line, out)
        how = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True, **how}
        return subprocess.Popen(words, cwd=self.folder, stdin=subprocess.DEVNULL, **how), out

    def ended(self, line, timeout=60, out=None, **how):
        """(status, standard output, standard error, folder)"""
        process, out = self.start(line, out, **how)
        try:
            output, errors = process.communicate(timeout=SLOWER * timeout)
        except subprocess.TimeoutExpired:
            process.kill()
            process.communicate()
            self.fail(f"{line}: nothing in {timeout} s")
        return process.returncode, output, errors, out

    def one_error(self, errors, *words):
        """Exactly one line on standard error, an error with these words."""
        lines = [line for line in errors.splitlines() if line.strip()]
        self.assertEqual(len(lines), 1, errors)
        self.assertRegex(lines[0], r"^\w+: error: ")
        for word in words:
            self.assertIn(word, lines[0])

    def program(self, name):
        return os.path.join(PROGRAMS, name)


def star(names, switch="s"):
    """A topology file: hosts of these names at one switch."""
    return {
        "defaults": {"rate": "100Gbps", "delay": "1us"},
        "nodes": [{"name": name, "kind": "host"} for name in names]
        + [{"name": switch, "kind": "switch"}],
        "links": [{"from": name, "to": switch} for name in names],
    }


def at_most(memory):
    """For preexec_fn: so much address space (bytes)."""
    return lambda: resource.setrlimit(resource.RLIMIT_AS, (memory, memory))
