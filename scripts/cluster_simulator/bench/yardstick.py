# SPDX-License-Identifier: GPL-2.0-only
"""The bare data plane beside the simulator: compiled on first use, then run for a fraction of a
second.
"""

import hashlib
import os
import re
import sys

from . import machine, running

SOURCE = os.path.join("tests", "bench", "yardstick.cc")
COMPILER = ["c++", "-O3", "-march=native", "-std=c++17", "-pthread"]
PACKET = 4096
HOPS = 12  # of a packet and its ACK, between pods


class Yardstick:
    """With another source than ours: one that takes the same arguments, K BYTES THREADS, and prints
    "Mhop/s=".
    """

    def __init__(self, root, source=None):
        self.root = root
        self.source = os.path.abspath(source) if source else os.path.join(root, SOURCE)
        self.name = os.path.relpath(self.source, root) if source is None else source
        self.program = None

    def compile(self):
        """Into .ns3/bench, unless the same was compiled there before, by this compiler for this
        processor.
        """
        folder = os.path.join(self.root, ".ns3", "bench")
        try:
            with open(self.source, "rb") as file:
                text = file.read()
            os.makedirs(folder, exist_ok=True)
        except OSError as error:
            raise running.Failed(f"{error.filename}: {error.strerror}") from error
        what = [text, *(word.encode() for word in (*COMPILER, machine.compiler(), machine.flags()))]
        name = os.path.splitext(os.path.basename(self.source))[0]
        made = os.path.join(folder, f"{name}-{hashlib.sha1(b'|'.join(what)).hexdigest()[:12]}")
        if not os.path.exists(made):
            print(f"bench: compiling {self.name}", file=sys.stderr)
            unfinished = f"{made}.{os.getpid()}"
            try:
                running.run([*COMPILER, self.source, "-o", unfinished], self.root)
                os.replace(unfinished, made)  # whoever else compiles it now gets the same
            finally:
                if os.path.exists(unfinished):
                    os.remove(unfinished)
        self.program = made

    def words(self, k, threads, quick):
        """Some 12 million frame-hops, but for large networks, in which frames are to come back
        several times.
        """
        hosts = k**3 // 4
        packets = (100_000 if quick else 12_000_000) // HOPS // hosts
        size = PACKET * max(packets, 10 if quick else 250)
        return [str(k), str(size), str(threads)]

    def run(self, k, threads, quick):
        """Million frame-hops a second."""
        words = [self.program, *self.words(k, threads, quick)]
        ended = running.run(words, self.root)
        found = re.search(r"Mhop/s=([0-9.]+)", ended.output)
        if not found or float(found[1]) <= 0:
            raise running.Failed(f"{' '.join(words)}: it printed no Mhop/s=: {ended.output[:200]}")
        return float(found[1])
