# SPDX-License-Identifier: GPL-2.0-only
"""README.md shows what the programs print: its blocks of output are compared with runs of the commands they belong to.

    readme-test.py --update     writes what they print now into README.md instead
"""

import os
import re
import sys

from _system_test import ROOT, SystemTest, main

UPDATE = "--update" in sys.argv
if UPDATE:
    sys.argv.remove("--update")

# Lines that tell wall time, speed or where the folder is.
OF_THIS_RUN = re.compile(r"^(Simulation|Files|Timeline|Report|Plan|Network) ")


def fenced(text, first):
    """The fenced block whose first line starts so, as a list of lines."""
    blocks = re.findall(r"^```\w*\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    found = [block for block in blocks if block.startswith(first)]
    if len(found) != 1:
        raise AssertionError(f"README.md has {len(found)} blocks that start with {first!r}")
    return found[0].splitlines()


class Readme(SystemTest):
    def setUp(self):
        super().setUp()
        with open(os.path.join(ROOT, "README.md"), encoding="utf-8") as file:
            self.readme = file.read()

    def shows(self, command, first):
        """The block that starts with `first` is what the command prints; "..." stands for lines left out."""
        self.assertIn(f'./ns3 run "{command}"', self.readme)
        block = fenced(self.readme, first)
        run = self.run_program(command)
        printed = [line.rstrip() for line in run.out.splitlines() if not OF_THIS_RUN.match(line)]
        if UPDATE:
            self.update(block, [line.rstrip() for line in run.out.splitlines()])
            return run, block, printed
        place = 0
        for line in block:
            if line == "..." or OF_THIS_RUN.match(line):
                continue
            # In order: what stands between two lines of the block may be left out.
            self.assertIn(line.rstrip(), printed[place:], f"README.md, output of {command}")
            place += printed[place:].index(line.rstrip()) + 1
        return run, block, printed

    def update(self, block, printed):
        """What is printed takes the block's place; of a block with lines left out, each line that of the same words. Lines of
        this run alone (how fast it was, where its files are) stay."""
        old = {line.split()[0]: line for line in block if OF_THIS_RUN.match(line)}
        printed = [old.get(line.split()[0], line) if OF_THIS_RUN.match(line) else line for line in printed]
        if "..." in block:
            def words(line):
                return re.sub(r"[\d.,]+|\s+", " ", line).split()[:3]
            printed = [line if line == "..." else next((new for new in printed if words(new) == words(line)), line) for line in block]
        with open(os.path.join(ROOT, "README.md"), encoding="utf-8") as file:
            text = file.read()
        with open(os.path.join(ROOT, "README.md"), "w", encoding="utf-8") as file:
            file.write(text.replace("\n".join(block), "\n".join(printed)))

    def complete(self, block, printed):
        if UPDATE:
            return
        self.assertEqual([line.rstrip() for line in block if line != "..." and not OF_THIS_RUN.match(line)], printed)

    def test_the_default_run(self):
        _, block, printed = self.shows("dltrain --model=bloom560m --zero=2", "bloom-560m, ZeRO-2 (paper), bf16: 128 GPUs (A100) in 16 servers, fat-tree k=4, 100GbE")
        self.complete(block, printed)

    def test_the_default_run_on_infiniband(self):
        self.shows("dltrain --fabric=ib", "bloom-560m, ZeRO-2 (paper), bf16: 128 GPUs (A100) in 16 servers, fat-tree k=4, EDR")

    def test_collperf(self):
        _, block, printed = self.shows("collperf --op=all_reduce -b 1M -e 1G -f 4 --ranks=16 --algorithm=ring", "# nThread")
        self.complete(block, printed)

    def test_traffic(self):
        _, block, printed = self.shows("traffic --topology=fat-tree --k=8 --pattern=permutation --offset=16 --bytes=40MB --ack-every=1", "Network          fat-tree k=8")
        self.complete(block, printed)


if __name__ == "__main__":
    main()
