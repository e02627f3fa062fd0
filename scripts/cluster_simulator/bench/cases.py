# SPDX-License-Identifier: GPL-2.0-only
"""What is measured. Permutations have an ACK for every packet, as the yardstick has; of an
all-to-all there are both: with one, and with one for 16 packets, as the programs have it."""

import dataclasses
import fnmatch

from ..errors import InvalidInput
from ..nearest import nearest


@dataclasses.dataclass(frozen=True)
class Case:
    name: str
    program: str
    options: dict
    quick: dict  # options of --quick, in the place of those
    k: int  # of the fat-tree, if no option says it
    algorithm: str = ""
    engine: str = ""  # "": the one that the program takes by itself
    threads: int = 1
    ranks: int = 1  # processes (MPI)

    def options_of(self, quick):
        return {**self.options, **(self.quick if quick else {})}

    def k_of(self, quick):
        """Ports of a switch of the yardstick's fat-tree."""
        return 4 if quick and "k" not in self.quick else self.options_of(quick).get("k", self.k)

    @property
    def cores(self):
        return self.threads * self.ranks


def permutation(k, size, quick=4):
    return Case(
        f"permutation-k{k}",
        "traffic",
        {"k": k, "pattern": "permutation", "bytes": size, "ack_every": 1},
        {"k": quick, "bytes": "50kB"},
        k,
    )


def growth(hosts):
    """The same load on every host. The fat-tree is the smallest that has room."""

    def smallest(count):
        return next(k for k in range(4, 129, 2) if k**3 // 4 >= count)

    return Case(
        f"growth-{hosts}",
        "traffic",
        {
            "hosts": hosts,
            "k": smallest(hosts),
            "pattern": "permutation",
            "bytes": "2MB",
            "ack_every": 1,
        },
        {"hosts": hosts // 8, "k": smallest(hosts // 8), "bytes": "20kB"},
        smallest(hosts),
    )


def all_to_all(name, **more):
    """Of 128 hosts."""
    return Case(
        name,
        "traffic",
        {"k": 8, "pattern": "all-to-all", "bytes": "64kB", **more},
        {"k": 4, "bytes": "4kB"},
        8,
    )


def ring(ranks, k, size):
    """All-reduce over one GPU a server."""
    return Case(
        f"all-reduce-ring-{ranks}",
        "collperf",
        {
            "op": "all_reduce",
            "algorithm": "ring",
            "ranks": ranks,
            "topology": "fat-tree",
            "k": k,
            "minbytes": size,
        },
        {"ranks": min(ranks, 16), "k": 4, "minbytes": "256kB"},
        k,
        algorithm="ring",
    )


def main_job(fabric):
    return Case(
        f"main-job-{fabric}",
        "dltrain",
        {"model": "bloom560m", "zero": 2, "fabric": fabric},
        {"model": "gpt2", "servers": 2, "warmup": 0},
        4,
        algorithm="ring",
    )


STEP_3072 = Case(
    "step-3072",
    "dltrain",
    {"scenario": "scenarios/presets/bloom560m-3072.json"},
    {"model": "gpt2", "servers": 2, "k": 4},
    12,
    algorithm="ring",
)


def variants(case, engines=(), threads=(), ranks=()):
    """The case, and the same in other ways."""
    yield case
    for engine in engines:
        yield dataclasses.replace(case, name=f"{case.name}-{engine}", engine=engine)
    for count in threads:
        yield dataclasses.replace(case, name=f"{case.name}-threads-{count}", threads=count)
    for count in ranks:
        yield dataclasses.replace(case, name=f"{case.name}-ranks-{count}", ranks=count)


DOUBLING = (128, 256, 512, 1024, 2048, 4096, 8192)  # hosts
CASES = [
    *variants(permutation(4, "40MB"), ["ns3"]),
    *variants(permutation(8, "40MB"), ["ns3"], [2], [2]),
    *variants(permutation(16, "8MB", quick=6), ["ns3"], [2], [2]),
    *variants(permutation(32, "2MB", quick=8), [], [2]),
    Case(
        "incast-64",
        "traffic",
        {"k": 8, "pattern": "incast", "fan_in": 64, "bytes": "20MB"},
        {"k": 4, "fan_in": 8, "bytes": "50kB"},
        8,
    ),
    all_to_all("all-to-all-128"),
    all_to_all("all-to-all-128-acks", ack_every=1),
    ring(16, 4, "256MB"),
    ring(128, 8, "64MB"),
    ring(1024, 16, "16MB"),
    *variants(main_job("roce"), ["ns3"], [2], [2]),
    *variants(main_job("ib"), ["ns3"], [2], [2]),
    *variants(STEP_3072, [], [2], [2]),
    *map(growth, DOUBLING),
]
NAMES = [case.name for case in CASES]

# Two hosts: what a program takes whatever it simulates.
SMALLEST = {
    "traffic": {"topology": "single-switch", "hosts": 2, "bytes": "4kB"},
    "collperf": {"ranks": 2, "minbytes": "4kB"},
    "dltrain": {"model": "gpt2", "servers": 2, "warmup": 0, "topology": "single-switch"},
}


def smallest_of(case):
    return dataclasses.replace(case, options=SMALLEST[case.program], quick={}, threads=1)


def chosen(text):
    """The cases of --cases, in the order of the table; a name may have * for any text."""
    if text is None:
        return CASES
    names = set()
    for word in text.split(","):
        found = fnmatch.filter(NAMES, word)
        if not found:
            raise InvalidInput(
                f"--cases={text}: unknown case {word!r}; --list shows all{nearest(word, NAMES)}"
            )
        names.update(found)
    return [case for case in CASES if case.name in names]
