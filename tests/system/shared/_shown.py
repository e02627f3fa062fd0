# SPDX-License-Identifier: GPL-2.0-only
"""Pages that show what programs print. A block

    ```console
    $ ./ns3 run "dltrain --model=bloom560m --zero=2"
    what it prints
    ```

is compared with a run of its command. Lines that tell wall time, speed or where the folder is may
be anything; "..." stands for lines left out; a block without it is all that the program prints. A
block that shows an error shows nothing else, and the run has to end with status 2.
"""

import os
import re
import shutil
import tempfile

from _pages import blocks, read
from _system_test import PROGRAMS, ROOT, captured

# Lines of this run alone.
OF_THIS_RUN = re.compile(r"^(Simulation|Files|Timeline|Report|Plan|Network) ")
# What the line of the simulation says of the machine: the rest of it is compared.
OF_THIS_MACHINE = re.compile(
    r" in [\d.,]+ \w+|, [\d.,]+ \w* ?frame-hops/s(?:; (?:\d+ threads for|one thread, as) [^;]+)?"
    r"|[\d.,]+ GPU-seconds a core-second|peak memory [\d.]+ \w+"
)


def of_the_simulation(lines):
    """What is simulated, and how much of it, as the last line says."""
    return [OF_THIS_MACHINE.sub("*", line) for line in lines if line.startswith("Simulation  ")]


class Shown:
    """One block: its page, where it is, its command and lines."""

    def __init__(self, page, lines, start):
        self.page = page
        self.start = start  # number of the line of the command
        self.lines = [line.rstrip() for line in lines[1:]]
        match = re.fullmatch(r'\$ \./ns3 run "([^"]+)"', lines[0])
        if not match:
            raise AssertionError(
                f'{page}:{start}: a block of a console starts with $ ./ns3 run "PROGRAM OPTIONS"'
            )
        self.command = match.group(1)
        self.is_error = bool(self.lines) and ": error: " in self.lines[0]

    def __str__(self):
        return f"{self.page}:{self.start}, output of {self.command}"

    def run(self, programs=PROGRAMS):
        """What the command prints, as lines."""
        folder = tempfile.mkdtemp(prefix="dltrain-shown-")
        try:
            words = self.command.split()
            words[0] = os.path.join(programs, words[0])
            # Files named in pages are those of the repository.
            words = [
                re.sub(
                    r"^((?:--[\w-]+=)?)(scenarios/|docs/)",
                    lambda m: m.group(1) + os.path.join(ROOT, m.group(2)),
                    word,
                )
                for word in words
            ]
            if self.command.split()[0] in ("dltrain", "collperf", "traffic", "dlserve"):
                words.append(f"--out={os.path.join(folder, 'out')}")
            done = captured(words, cwd=folder, timeout=300)
        finally:
            shutil.rmtree(folder, ignore_errors=True)
        if done.returncode != (2 if self.is_error else 0):
            raise AssertionError(
                f"{self}: status {done.returncode}\n{done.stdout[-2000:]}{done.stderr[-2000:]}"
            )
        return [
            line.rstrip()
            for line in (done.stderr if self.is_error else done.stdout)
            .replace(os.path.join(folder, "out"), f"results/{self.command.split()[0]}-1")
            .replace(ROOT + "/", "")
            .splitlines()
        ]

    def difference(self, printed):
        """The first line of the page that is not what the program prints, in words; empty: there
        is none.
        """
        told, telling = of_the_simulation(self.lines), of_the_simulation(printed)
        if told and told != telling:
            return f"{self}:\n  the page has     {told}\n  the program has  {telling}"
        printed = [line for line in printed if not OF_THIS_RUN.match(line)]
        shown = [line for line in self.lines if not OF_THIS_RUN.match(line)]
        place, may_skip = 0, False
        for line in shown:
            if line == "...":
                may_skip = True
                continue
            rest = printed[place:] if may_skip else printed[place : place + 1]
            if line not in rest:
                has = rest[0] if rest else "(nothing more)"
                return f"{self}:\n  the page has     {line}\n  the program has  {has}"
            place += rest.index(line) + 1
            may_skip = False
        if place < len(printed) and not may_skip:
            return f"{self}: the program goes on with\n  {printed[place]}"
        return ""

    def renewed(self, printed):
        """The lines of the page with what is printed now. Lines of this run stay; of a block with
        lines left out, each takes the printed line of the same words."""
        # The line of the simulation is of now, if what is simulated is another.
        same = of_the_simulation(self.lines) == of_the_simulation(printed)
        old = {
            line.split()[0]: line
            for line in self.lines
            if OF_THIS_RUN.match(line) and (same or not line.startswith("Simulation  "))
        }
        if "..." not in self.lines:
            return [
                old.get(line.split()[0], line) if OF_THIS_RUN.match(line) else line
                for line in printed
            ]

        def words(line):
            return re.sub(r"[\d.,]+|\s+", " ", line).split()[:3]

        lines, place = [], 0
        for line in self.lines:
            alike = [i for i in range(place, len(printed)) if words(printed[i]) == words(line)]
            kept = old.get(line.split()[0]) == line if line.strip() else False
            if line == "..." or kept or not alike:
                lines.append(line)
            else:
                lines.append(printed[alike[0]])
                place = alike[0] + 1
        return lines


def shown_in(page):
    return [
        Shown(page, lines, start)
        for words, lines, start in blocks(read(page))
        if words == "console"
    ]


def update(shown, printed):
    """Writes what is printed into the page; of several blocks of a page the last one first."""
    lines = read(shown.page).split("\n")
    lines[shown.start : shown.start + len(shown.lines)] = shown.renewed(printed)
    with open(os.path.join(ROOT, shown.page), "w", encoding="utf-8") as file:
        file.write("\n".join(lines))
