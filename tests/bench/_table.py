# SPDX-License-Identifier: GPL-2.0-only
"""What tests/bench/tables.py measures with: rows and their commands, runs, numbers as text."""

import csv
import hashlib
import json
import os
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
PROGRAMS = os.environ.get("DLTRAIN_PROGRAMS") or os.path.join(ROOT, ".ns3", "programs")
sys.path.insert(0, os.path.join(ROOT, "tests", "system", "shared"))
sys.path.insert(0, os.path.join(ROOT, "scripts"))

from _system_test import number  # noqa: E402


class Table:
    """Rows of (cells that name it, commands, function of their runs that gives the measured
    cells).
    """

    def __init__(self, file, header, rows, more=False, picture=None):
        self.file = file
        self.header = header
        self.rows = rows
        self.more = more  # of sentences: printed, in no file
        self.picture = picture  # (file, function of the measured rows and its path), or None


class Result(dict):
    """stats.json of a run; its other files by rows()."""

    def __init__(self, folder):
        self.folder = folder
        with open(os.path.join(folder, "stats.json"), encoding="utf-8") as file:
            super().__init__(json.load(file))

    @property
    def stats(self):
        return self

    def rows(self, name):
        with open(os.path.join(self.folder, name), encoding="utf-8", newline="") as file:
            return [
                {key: number(value) for key, value in row.items()} for row in csv.DictReader(file)
            ]


class Runs:
    """The result of a command, run once."""

    def __init__(self, folder):
        self.folder = folder

    @staticmethod
    def is_done(path):
        """A run that was interrupted has a stats.json, too."""
        return (
            os.path.exists(os.path.join(path, "stats.json"))
            and Result(path).get("completed") is True
        )

    def __call__(self, line):
        path = os.path.join(self.folder, hashlib.sha1(line.encode()).hexdigest()[:16])
        if not self.is_done(path):
            program, *options = line.split()
            command = [
                os.path.join(PROGRAMS, program),
                *options,
                f"--out={path}",
                "--report=0",
                "--timeline=0",
                "--progress=0",
            ]
            run = subprocess.run(
                command,
                capture_output=True,
                text=True,
                stdin=subprocess.DEVNULL,
                cwd=ROOT,
                check=False,
            )
            if run.returncode:
                raise RuntimeError(f"{' '.join(command)}: status {run.returncode}\n{run.stderr}")
            print(".", end="", file=sys.stderr, flush=True)
        return Result(path)


# ---- how numbers are written


def digits(value):
    return f"{value:.3g}" if value < 999.5 else f"{value:,.0f}"


def time(us):
    for unit, factor in (("us", 1), ("ms", 1e3), ("s", 1e6)):
        if us < 999.5 * factor or unit == "s":
            return "0" if us == 0 else f"{us / factor:.3g} {unit}"
    raise AssertionError


def step(stats):
    return f"{stats['step_time_us'] / 1e3:,.0f} ms"


def size(count):
    return f"{count / 1e6:.1f} MB" if count >= 999.5e3 else f"{count / 1e3:.0f} kB"


def kilobytes(*counts):
    return ", ".join(f"{count / 1e3:.1f}" for count in counts)


def busiest(stats):
    link = stats["links"][0]
    rate = "" if link["rate_gbps"] == 100 else f" of {link['rate_gbps']:g} Gb/s"
    return f"{100 * link['utilization']:.0f}%{rate} {link['link']}"


def waits(s):
    credits = s.get("credits")
    count, us = (
        (credits["stalls"], credits["stall_time_us"])
        if credits
        else (s["pfc_pauses"], s["pfc_pause_time_us"])
    )
    return f"{count:,}, {time(us)}" if count else "0"


def name_of(algorithm):
    return algorithm.replace(" --cc-preset=", ", ")
