# SPDX-License-Identifier: GPL-2.0-only
"""Hostile result folders for scripts/report, plot, timeline, sweep, compare and the program
timeline.
"""

import os
import random
import subprocess

import mutating
import running
from option_cases import SCENARIO, TINY_MODEL

# Runs whose folders are attacked. They are made anew each time, so they are what the programs write
# today.
MADE_BY = {
    "traffic": [
        [
            "traffic",
            "--topology=single-switch",
            "--hosts=4",
            "--pattern=incast",
            "--fan-in=3",
            "--bytes=60kB",
            "--report=0",
            "--out=run",
        ]
    ],
    "load": [
        [
            "traffic",
            "--topology=leaf-spine",
            "--hosts=8",
            "--pattern=poisson",
            "--sizes=fb-hadoop",
            "--duration=200us",
            "--load=0.4",
            "--queue-interval=5us",
            "--rate-interval=20us",
            "--report=0",
            "--out=run",
        ]
    ],
    "training": [
        [
            "dltrain",
            "--model=tiny.json",
            "--servers=2",
            "--gpus-per-server=2",
            "--report=0",
            "--out=run",
        ]
    ],
    "collperf": [
        [
            "collperf",
            "--ranks=4",
            "--gpus-per-server=2",
            "--minbytes=1K",
            "--maxbytes=16K",
            "--fabric=ib",
            "--report=0",
            "--out=run",
        ]
    ],
    "stuck": [
        [
            "traffic",
            "--topology=single-switch",
            "--hosts=3",
            "--bytes=60kB",
            "--stop-after=2us",
            "--report=0",
            "--out=run",
        ]
    ],
    "sweep": [
        [
            "scripts/sweep",
            "traffic",
            "--topology=single-switch",
            "--hosts=3",
            "--bytes=1kB,2kB",
            "--cc=none,dcqcn",
            "--jobs=1",
            "--keep",
            "--out=run",
        ]
    ],
    "compare": [
        [
            "scripts/compare",
            "scenario.json",
            "--cc=none,dcqcn",
            "--jobs=1",
            "--format=svg",
            "--out=run",
        ]
    ],
}
PICTURES = [
    "step",
    "timeline",
    "completion",
    "sizes",
    "by-size",
    "topology",
    "links",
    "ports",
    "busbw",
    "slowdown",
    "queues",
    "rates",
]
FORM_OF = {".json": "json", ".csv": ",", ".log": "\t", ".sqlite": "bytes", ".txt": " "}


def make(name, folder, scratch):
    """Run what makes a folder; its results end in `folder`."""
    environment = dict(
        os.environ, DLTRAIN_PROGRAMS=running.PROGRAMS, DLTRAIN_ROOT=running.ROOT, MPLBACKEND="agg"
    )
    os.makedirs(scratch)
    for file, text in (("tiny.json", TINY_MODEL), ("scenario.json", SCENARIO)):
        running.lay(scratch, file, text)
    for words in MADE_BY[name]:
        first = (
            [os.path.join(running.PROGRAMS, words[0])]
            if not words[0].startswith("scripts/")
            else ["/usr/bin/python3", os.path.join(running.ROOT, words[0])]
        )
        done = subprocess.run(
            [*first, *words[1:]],
            cwd=scratch,
            env=environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            encoding="utf-8",
            errors="replace",
            timeout=120,
            check=False,
        )
        if not os.path.isdir(os.path.join(scratch, "run")):
            raise RuntimeError(f"{' '.join(words)}: status {done.returncode}: {done.stderr[-500:]}")
    os.rename(os.path.join(scratch, "run"), folder)


class Part:
    name = "folders"

    def __init__(self, seed, folders):
        self.seed = seed
        self.folders = folders  # {name: where it is}
        self.files = {}
        for name, folder in folders.items():
            found = []
            for top, _, names in sorted(os.walk(folder)):
                found += [
                    os.path.relpath(os.path.join(top, file), folder)
                    for file in sorted(names)
                    if os.path.splitext(file)[1] in FORM_OF
                ]
            self.files[name] = found

    def case(self, index):
        rng = random.Random(f"{self.seed}/folders/{index}")
        name = rng.choice(
            ["traffic", "load", "training", "training", "collperf", "stuck", "sweep", "compare"]
        )
        changed = {}
        for file in rng.sample(
            self.files[name], min(len(self.files[name]), rng.choice((1, 1, 1, 2, 3)))
        ):
            changed["run/" + file] = self._changed(rng, os.path.join(self.folders[name], file))
        if rng.random() < 0.06:  # also where the outputs go
            changed[
                "run/"
                + rng.choice(
                    [
                        "report.html",
                        "timeline.json",
                        "plots",
                        "report.html.part",
                        "plots/completion.svg",
                        "compare.txt",
                    ]
                )
            ] = rng.choice(
                [
                    {"directory": True},
                    {"fifo": True},
                    {"link": "nowhere/at/all"},
                    "",
                    {"link": "/dev/full"},
                ]
            )
        return {
            "run": self._command(rng, name),
            "folder": name,
            "files": changed,
            "overwrites": True,
        }

    def _changed(self, rng, path):
        with open(path, "rb") as file:
            content = file.read()
        try:
            text = content.decode("utf-8")
        except UnicodeDecodeError:
            text = None
        form = FORM_OF[os.path.splitext(path)[1]]
        if text is None or form == "bytes":
            return running.packed(mutating.byte_damage(rng, content))
        if os.path.basename(path) == "stats.json" and rng.random() < 0.05:
            return text.replace(
                '"schema_version": ', '"schema_version": ' + rng.choice(["9", "-", "1e", "0."]), 1
            )
        if os.path.basename(path) == "network_events.log":
            form = " "
        return mutating.mutation(rng, text, form)

    @staticmethod
    def _command(rng, name):
        if name == "sweep":
            return rng.choice(
                [
                    ["scripts/sweep", "status", "run"],
                    ["scripts/sweep", "table", "run"],
                    ["scripts/sweep", "resume", "run"],
                    [
                        "scripts/sweep",
                        "plot",
                        "run",
                        "--x=bytes",
                        "--y=simulated_time_us",
                        "--out=p.svg",
                    ],
                ]
            )
        if name == "compare":
            return (
                list(MADE_BY["compare"][0])
                if rng.random() < 0.3
                else [
                    "scripts/plot",
                    "run/runs/1",
                    "run/runs/2",
                    "--only=completion",
                    "--format=svg",
                    "--out=p",
                ]
            )
        how = rng.randrange(7)
        if how <= 2:
            return ["scripts/report", "run"]
        if how == 3:
            return ["scripts/timeline", "run"]
        if how == 4:
            return ["timeline", "run", "new.json", rng.choice(["1", "100", "100000"])]
        return [
            "scripts/plot",
            "run",
            "--format=svg",
            "--only=" + ",".join(rng.sample(PICTURES, rng.choice((1, 2)))),
        ]
