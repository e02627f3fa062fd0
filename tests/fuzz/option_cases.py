# SPDX-License-Identifier: GPL-2.0-only
"""Options of every program and script times absurd values; pairs and triples of options; the same
in scenario files.

The programs say themselves which options they have (--list=options), the scripts in their --help:
what is new is covered without a change here.
"""

import functools
import json
import os
import random
import re
import subprocess

import mutating
import running
import values

PROGRAMS = ("dltrain", "collperf", "traffic", "dlserve")
FOLDER = "traffic"  # of folder_cases.MADE_BY: the results that scripts find
TINY_MODEL = '{"name": "tiny", "layers": 2, "hidden": 64, "heads": 2, "vocab": 100, "sequence": 16}'

# Small runs to which an option is added, so that whatever it does, it does it soon.
BASES = {
    "dlserve": [
        {"model": "tiny.json", "gpus": "1", "count": "5", "prompt": "8", "output": "3"},
        {
            "model": "tiny.json",
            "servers": "2",
            "gpus-per-server": "1",
            "tp": "2",
            "count": "3",
            "prompt": "8",
            "output": "2",
        },
        {
            "model": "tiny.json",
            "gpus-per-server": "1",
            "split": "prefill:1x(tp=1),decode:1x(pp=2)",
            "count": "3",
            "prompt": "8",
            "output": "3",
        },
        {},
    ],
    "dltrain": [
        {"model": "tiny.json", "servers": "2", "gpus-per-server": "2", "warmup": "0"},
        {
            "model": "tiny.json",
            "servers": "3",
            "gpus-per-server": "1",
            "warmup": "0",
            "fabric": "ib",
            "topology": "single-switch",
        },
        {
            "model": "tiny.json",
            "servers": "2",
            "gpus-per-server": "4",
            "nics-per-server": "2",
            "zero": "3",
            "topology": "leaf-spine",
            "hosts-per-leaf": "2",
        },
        {},
    ],
    "collperf": [
        {"ranks": "4", "gpus-per-server": "2", "minbytes": "1K", "maxbytes": "4K"},
        {"ranks": "3", "gpus-per-server": "1", "minbytes": "8K", "maxbytes": "8K", "fabric": "ib"},
        {
            "op": "alltoall",
            "ranks": "8",
            "gpus-per-server": "4",
            "minbytes": "1K",
            "maxbytes": "1K",
            "topology": "leaf-spine",
        },
        {},
    ],
    "traffic": [
        {"topology": "single-switch", "hosts": "4", "bytes": "20kB"},
        {"topology": "fat-tree", "k": "4", "bytes": "2kB", "pattern": "incast", "fan-in": "5"},
        {"topology": "torus", "torus": "3x3", "fabric": "ib", "bytes": "5kB"},
        {
            "topology": "leaf-spine",
            "hosts": "8",
            "pattern": "poisson",
            "sizes": "fb-hadoop",
            "duration": "150us",
            "load": "0.3",
        },
        {"topology": "single-switch", "hosts": "3", "fabric": "ib", "cc": "ib-cc", "bytes": "9kB"},
        {"topology": "single-switch", "hosts": "3", "compat": "hpcc", "cc": "hpcc", "bytes": "9kB"},
        {
            "topology": "single-switch",
            "hosts": "5",
            "pattern": "on-off",
            "sizes": "fb-hadoop",
            "duration": "150us",
            "operation": "read",
        },
        {},
    ],
}
# Real runs of the default job take seconds: only in a dry run.
SCRIPTS = {
    "scripts/report": [["run"]],
    "scripts/plot": [["run", "--only=completion", "--format=svg"]],
    "scripts/timeline": [["run"]],
    "scripts/sweep": [
        [
            "traffic",
            "--topology=single-switch",
            "--hosts=3",
            "--bytes=1kB",
            "--dry-run",
            "--out=new",
        ],
        ["status", "run"],
        ["table", "run"],
    ],
    "scripts/compare": [["scenario.json", "--cc=none", "--out=new", "--dry-run"]],
    "scripts/golden": [["cases.json", "flows.csv"]],
    "scripts/bench": [["--list"]],
}
SCENARIO = (
    '{"program": "traffic", "traffic": {"bytes": "1kB", "hosts": 3}, "network": {"topology":'
    ' "single-switch"}}'
)


def printed(*command):
    return subprocess.run(command, capture_output=True, encoding="utf-8", check=True).stdout


@functools.lru_cache(maxsize=None)
def table(program):
    """The options of a program."""
    return json.loads(printed(os.path.join(running.PROGRAMS, program), "--list=options"))["options"]


@functools.lru_cache(maxsize=None)
def of_script(script):
    """[(option, takes a value)] as its --help has them."""
    words = printed(os.path.join(running.ROOT, script), "--help")
    return sorted(
        {
            name: bool(value)
            for name, value in re.findall(
                r"(--[a-z][\w-]+)([= ][A-Z\[][\w,.:|/=\[\]-]*)?", words
            )
        }.items()
    )


class Part:
    name = "options"

    def __init__(self, seed):
        self.seed = seed
        self.singles = [
            (program, number, place)
            for program in PROGRAMS
            for number, option in enumerate(table(program))
            if option["name"] != "scenario"
            for place in range(len(values.of_option(option)))
        ]
        random.Random(f"{seed}/singles").shuffle(self.singles)
        self.all_values = functools.lru_cache(maxsize=None)(
            lambda program, number: values.of_option(table(program)[number])
        )

    def case(self, index):
        rng = random.Random(f"{self.seed}/options/{index}")
        how = index % 10
        if how <= 4:
            return self._single(rng, self.singles[(index // 10 * 5 + how) % len(self.singles)])
        if how <= 6:
            return self._in_scenario(rng)
        if how == 7:
            return self._several(rng, dry=True)
        if how == 8:
            return self._several(rng, dry=False)
        return (
            self._script(rng)
            if index % 30 == 9
            else self._positional(rng)
            if index % 30 == 19
            else self._several(rng, dry=False)
        )

    # ---- of programs

    def _words(self, base, given):
        taken = {name for name, _ in given}
        return [f"--{name}={value}" for name, value in base.items() if name not in taken] + [
            f"--{name}={value}" for name, value in given
        ]

    def _case(self, program, words, dry, files=None):
        case = {
            "run": [program, *words],
            "files": {"tiny.json": TINY_MODEL, **at_hand(words), **(files or {})},
        }
        if dry:
            case["run"].append("--dry-run")
        else:
            case["run"] += [
                word
                for word in ("--report=0", "--out=new")
                if not any(given.startswith(word[:6]) for given in words)
            ]
        case["longest_line"] = max(map(len, case["run"]))
        return case

    def _single(self, rng, single):
        program, number, place = single
        option = table(program)[number]
        value = self.all_values(program, number)[place]
        base = rng.choice(BASES[program])
        name = rng.choice([option["name"]] + option.get("aliases", []))
        if rng.random() < 0.01:
            words = self._words(base, []) + [
                rng.choice(
                    [
                        "--PrintGroup",
                        "--PrintAttributes",
                        "--PrintTypeIds",
                        "--PrintGlobals",
                        "--PrintGroups",
                        "--PrintHelp",
                        "--Print",
                    ]
                )
                + rng.choice(["", "=" + value])
            ]
        elif rng.random() < 0.03:  # odd ways to write it
            words = self._words(base, []) + rng.choice(
                [
                    [f"--{name}", value],
                    [f"--{name}"],
                    [f"-{name}={value}"],
                    [f"--{name}={value}", f"--{name}={value}"],
                    [f"--{name.upper()}={value}"],
                    [f"--{name.replace('-', '_')}={value}"],
                    [f"--no-{name}"],
                    [f"--no-{name}={value}"],
                    [f"--{name[:-1]}={value}"],
                    [value],
                    [f"-{option.get('letter', 'x')}", value],
                ]
            )
        else:
            words = self._words(
                {key: text for key, text in base.items() if key != option["name"]}, [(name, value)]
            )
        return self._case(program, words, dry=True)

    def _several(self, rng, dry):
        program = rng.choice(PROGRAMS)
        base = rng.choice(BASES[program] if dry else BASES[program][:-1])
        given = []
        for option in rng.sample(
            table(program), rng.choice((1, 2, 2, 3) if not dry else (2, 2, 3, 4))
        ):
            if option["name"] in ("scenario", "help", "list", "version", "dry-run"):
                continue
            value = (
                rng.choice(values.of_option(option))
                if rng.random() < 0.25
                else values.valid_of_option(option, rng)
            )
            if option["name"] == "out" and (value.startswith(values.NEVER_WRITTEN) or not value):
                continue
            given.append((option["name"], value))
        return self._case(program, self._words(base, given), dry)

    def _in_scenario(self, rng):
        program = rng.choice(PROGRAMS)
        tree = mutating.Pairs()
        names = []
        for option in rng.sample(
            [option for option in table(program) if "path" in option], rng.choice((1, 1, 2))
        ):
            value = (
                rng.choice(
                    mutating.JSON_VALUES
                    + [mutating.Raw(text) for text in values.of_option(option)[:20]]
                )
                if rng.random() < 0.7
                else rng.choice(values.of_option(option))
            )
            if option["name"] == "out":
                continue
            names.append(option["name"])
            section, _, key = option["path"].lstrip("/").partition("/")
            if not key:  # the list of faults has no section
                tree.append((section, value))
                continue
            for present, content in tree:
                if present == section:
                    content.append((key, value))
                    break
            else:
                tree.append((section, mutating.Pairs([(key, value)])))
        if rng.random() < 0.1:
            tree.append(
                (rng.choice(["program", "ns3", "extra", ""]), rng.choice(mutating.JSON_VALUES))
            )
        words = self._words(
            {key: value for key, value in rng.choice(BASES[program]).items() if key not in names},
            [("scenario", "scenario.json")],
        )
        return self._case(program, words, True, {"scenario.json": mutating.text_of(tree)})

    def _positional(self, rng):
        """timeline, which scripts/timeline calls: DIR FILE EVENTS."""
        words = ["run", "new.json", "1000"]
        for _ in range(rng.choice((1, 1, 2))):
            words[rng.randrange(3)] = rng.choice(
                [
                    value
                    for value in values.common() + values.FILES
                    if not value.startswith(values.NEVER_WRITTEN)
                ]
            )
        if rng.random() < 0.1:
            words = rng.choice([words[:2], words + ["1"], [], ["--help", "x"], ["--nope"]])
        return {
            "run": ["timeline", *words],
            "folder": FOLDER,
            "files": at_hand(words),
            "overwrites": True,
            "longest_line": max(map(len, words), default=0),
        }

    # ---- of scripts

    def _script(self, rng):
        script = rng.choice(sorted(SCRIPTS))
        words = list(rng.choice(SCRIPTS[script]))
        options = of_script(script)
        for _ in range(rng.choice((1, 1, 2))):
            name, takes = rng.choice(options)
            value = rng.choice(
                [
                    value
                    for value in values.common() + values.FILES + values.TIMES
                    if not value.startswith(values.NEVER_WRITTEN)
                ]
            )
            words = [word for word in words if not word.startswith(name + "=")]
            words.append(f"{name}={value}" if takes or rng.random() < 0.3 else name)
        if rng.random() < 0.1:
            words[0] = rng.choice(values.FILES[:8] + values.WORDS[:20])
        files = {
            "scenario.json": SCENARIO,
            "tiny.json": TINY_MODEL,
            "cases.json": "[]",
            "flows.csv": "case,flow,src,dst,size_bytes,start_ns,fct_ns,ideal_fct_ns\n",
            **at_hand(words),
        }
        return {
            "run": [script, *words],
            "folder": FOLDER,
            "files": files,
            "overwrites": True,
            "longest_line": max(map(len, words)),
        }


def at_hand(words):
    """The files that absurd values name."""
    return {
        name: what for name, what in values.AT_HAND.items() if any(name in word for word in words)
    }
