# SPDX-License-Identifier: GPL-2.0-only
"""Every ns-3 attribute of our modules, and every global value, times absurd values: short real runs
on both fabrics, under every congestion control.
"""

import functools
import math
import os
import random
import re
import subprocess

import running
import values

GROUP = "Rdma"  # of our TypeIds
NETWORKS = [
    ["--topology=single-switch", "--hosts=4", "--pattern=incast", "--fan-in=3", "--bytes=30kB"],
    ["--topology=fat-tree", "--k=4", "--bytes=6kB"],
    ["--topology=leaf-spine", "--hosts=8", "--pattern=all-to-all", "--bytes=9kB"],
    ["--topology=torus", "--torus=4", "--bytes=10kB"],
    ["--topology=single-switch", "--hosts=3", "--bytes=3kB", "--operation=read"],
    ["--topology=single-switch", "--hosts=3", "--bytes=20kB", "--operation=send"],
    [
        "--topology=single-switch",
        "--hosts=4",
        "--bytes=20kB",
        "--loss-recovery=selective-repeat",
        "--ns3::RdmaChannel::BitErrorRate=1e-6",
    ],
    [
        "--topology=single-switch",
        "--hosts=4",
        "--bytes=20kB",
        "--no-pfc",
        "--ns3::RdmaChannel::BitErrorRate=1e-6",
    ],
    [
        "--topology=single-switch",
        "--hosts=6",
        "--pattern=poisson",
        "--sizes=fb-hadoop",
        "--duration=200us",
        "--load=0.4",
    ],
]


def _ask(*words):
    return subprocess.run(
        [os.path.join(running.PROGRAMS, "traffic"), *words],
        capture_output=True,
        encoding="utf-8",
        check=True,
    ).stdout


@functools.lru_cache(maxsize=None)
def attributes():
    """[(name as an option has it, default)]"""
    found = []
    for name in re.findall(r"ns3::\w+", _ask(f"--PrintGroup={GROUP}")):
        found += re.findall(
            r"^ +--(ns3::\w+::\w+)=\[(.*)\]$", _ask(f"--PrintAttributes={name}"), re.MULTILINE
        )
    found += [
        ("ns3::" + name, default)
        for name, default in re.findall(
            r"^ +--(\w+)=\[(.*)\]$", _ask("--PrintGlobals"), re.MULTILINE
        )
    ]
    return sorted(set(found) - {("ns3::RngRun", "1"), ("ns3::RngSeed", "1")})


@functools.lru_cache(maxsize=None)
def congestion_controls():
    return re.findall(r"^  ([\w-]+) ", _ask("--list=cc"), re.MULTILINE)


@functools.lru_cache(maxsize=None)
def taken(name):
    """(kind, lowest, highest, names) of the values that an attribute takes, as its error tells; of
    texts None, ...
    """
    done = subprocess.run(
        [
            os.path.join(running.PROGRAMS, "traffic"),
            "--topology=single-switch",
            "--hosts=3",
            "--dry-run",
            f"--{name}=~",
        ],
        capture_output=True,
        encoding="utf-8",
        check=False,
    )
    said = done.stderr
    found = re.search(
        r"allowed: (a whole number|a number|a time|a rate|true)\b[^,(]*(?:, (\S+) to (\S+))? \(",
        said,
    )
    names = re.search(r"allowed: ((?:[\w:-]+, )+[\w:-]+)", said)
    choices = names[1].split(", ") if names else []
    if not found or found[1] == "true":
        return None, None, None, choices
    # Times in ps, as values are made here.
    scale = {"ps": 1, "ns": 1e3, "us": 1e6, "ms": 1e9, "s": 1e12}
    limits = (
        re.fullmatch(r"(.*?)(ps|ns|us|ms|s)?", part) if part else None
        for part in found.groups()[1:]
    )
    low, high = (float(limit[1]) * scale.get(limit[2], 1) if limit else None for limit in limits)
    kind = {
        "a whole number": "uint64_t",
        "a number": "double",
        "a time": "Time",
        "a rate": "DataRate",
    }[found[1]]
    return kind, low, high, choices


def usable(name, default, rng):
    """A value that an attribute takes, and that may hurt all the same."""
    kind, low, high, names = taken(name)
    if names and rng.random() < 0.9:
        return rng.choice(names)
    if kind is None or low is None or rng.random() < 0.1:
        return values.usable_of_attribute(default, rng)
    how = rng.random()
    if how < 0.25:
        number = rng.choice((low, high))
    elif how < 0.45:
        number = (
            rng.choice((low + 1, low + 2, low + 3, low + 8))
            if kind != "double"
            else low + rng.choice((1e-9, 1e-3, 0.5, 1))
        )
    elif how < 0.6 and re.match(r"[+-]?[\d.e+]+", default):
        number = float(default.rstrip("bps")) * rng.choice((0.01, 0.5, 0.99, 1.01, 2, 100))
    else:  # as likely in each decade
        number = low + 10 ** rng.uniform(
            -3 if kind == "double" else 0, math.log10(max(10, min(high - low, 1e19)))
        )
    number = min(max(number, low), high)
    if kind == "double":
        return f"{number:.12g}"
    return str(
        min(
            int(number),
            int(high) if high < 1e18 else 2**63 - 1 if kind == "Time" else 2**64 - 1,
        )
    ) + ("ps" if kind == "Time" else "")


class Part:
    name = "attributes"

    def __init__(self, seed):
        self.seed = seed
        self.singles = [
            (number, value)
            for number, (_, default) in enumerate(attributes())
            for value in values.of_attribute(default)
        ]
        random.Random(f"{seed}/attributes").shuffle(self.singles)
        self.next_usable = list(range(len(attributes())))
        random.Random(f"{seed}/usable").shuffle(self.next_usable)

    def case(self, index):
        rng = random.Random(f"{self.seed}/attributes/{index}")
        # Most absurd values are refused at once; those that are taken are what runs with.
        if index % 3 == 0:
            number, value = self.singles[index // 3 % len(self.singles)]
            given = [(attributes()[number][0], value)]
        else:
            name, default = attributes()[self.next_usable[index % len(self.next_usable)]]
            given = [(name, usable(name, default, rng))]
            for name, default in rng.sample(attributes(), rng.choice((0, 0, 1, 2))):
                if name not in (known for known, _ in given):
                    given.append((name, usable(name, default, rng)))
        words = list(rng.choice(NETWORKS)) + [
            f"--fabric={rng.choice(('roce', 'roce', 'ib'))}",
            f"--cc={self._control(rng, given)}",
        ]
        if any("--no-pfc" == word for word in words) and "--fabric=ib" in words:
            words.remove("--no-pfc")
        words = [
            word for word in words if word.split("=")[0][2:] not in (name for name, _ in given)
        ]
        words += [f"--{name}={value}" for name, value in given] + [
            "--report=0",
            "--timeline=0",
            "--out=new",
        ]
        return {"run": ["traffic", *words], "files": {}, "longest_line": max(map(len, words))}

    @staticmethod
    def _control(rng, given):
        """An attribute of a congestion control matters under that one."""
        for name, _ in given:
            owner = re.fullmatch(r"ns3::(\w+)CongestionOps::\w+", name)
            for control in congestion_controls():
                if owner and control.replace("-", "").replace("ibcc", "ib") == owner[1].lower():
                    return control
        return rng.choice(congestion_controls())
