# SPDX-License-Identifier: GPL-2.0-only
"""Raw records of ranks that did the same are read once; what is made of them does not change by it.
"""

import json
import os
import random
import sys
from unittest import mock

sys.path.append(sys.path[0] + "/../shared")
from _system_test import ROOT, SystemTest, main

sys.path.insert(0, os.path.join(ROOT, "scripts"))

from cluster_simulator.capture.record import raw  # noqa: E402
from cluster_simulator.capture.record.capture_files import Capture  # noqa: E402

WORLD = 6


class Rank:
    """A made-up record as device/record.h has it, of a rank on GPU `device`."""

    def __init__(self, rank, device, seed):
        self.device = device
        self.random = random.Random(seed)
        self.lines = [
            {"t": "rank", "rank": str(rank), "world": str(WORLD), "l": "train.py:1"},
            {"t": "group", "g": 0, "ranks": list(range(WORLD)), "l": "train.py:1"},
        ]
        pair = [rank // 2 * 2, rank // 2 * 2 + 1]
        for first in range(0, WORLD, 2):
            ranks = [first, first + 1]
            self.lines.append(
                {"t": "group", "g": 1 if ranks == pair else -1, "ranks": ranks, "l": "train.py:2"}
            )
        self.lines.append({"t": "note", "text": f'rank {rank} says "d":3, and ],1,4,3]}}'})
        for number in range(self.random.randrange(20, 60)):
            self.random.choice([self.operator, self.operator, self.collective])(number)
        self.lines.append({"t": "step", "n": "SGD.step", **self.place(), "l": "train.py:9"})
        self.lines.append({"t": "end", "allocated": str(1000 + rank), "reserved": "2000", "l": ""})

    def place(self):
        return {"d": self.device, "s": 0, "th": 0, "l": f"train.py:{self.random.randrange(3, 9)}"}

    def tensor(self):
        """Storages and sizes of elements that look like numbers of GPUs are among them."""
        kind, size = self.random.choice([("bool", 1), ("f16", 2), ("f32", 4), ("i64", 8)])
        storage = self.random.choice([-1, 1, 2, 3, 4, 5, 7, 8, 11])
        sizes = [self.random.randrange(1, 9) for _ in range(self.random.randrange(3))]
        told = [kind, sizes, storage, size]
        begins = self.random.choice([0, 0, 1, 3, 4])
        return {
            "T": told + ([self.device] if storage >= 0 and self.device else []),
            **({"f": begins} if storage >= 0 and begins else {}),
        }

    def operator(self, number):
        name = self.random.choice(["aten::add.Tensor", "aten::relu", "aten::copy_"])
        arguments = [self.tensor(), self.tensor(), False]
        self.lines.append(
            {"t": "op", "n": name, **self.place(), "q": 5, "a": arguments, "o": [self.tensor()]}
        )

    def collective(self, number):
        group = self.random.randrange(2)
        self.lines.append(
            {
                **{"t": "coll", "c": number, "n": "all_reduce", "g": group},
                **{**self.place(), "on": 1 + group, "i": [self.tensor()], "o": []},
                **{"bytes": 64 * self.random.randrange(1, 9), "reduce": "sum"},
            }
        )
        self.lines.append({"t": "done", "c": number, "d": self.device, "s": 0})

    def write(self, folder, rank):
        text = "".join(json.dumps(line, separators=(",", ":")) + "\n" for line in self.lines)
        with open(os.path.join(folder, f"rank-{rank}.jsonl"), "w", encoding="utf-8") as file:
            file.write(text)


class Records(SystemTest):
    def made(self, ranks, backwards=False):
        """What is made of ranks, told by records that are alike and by each record alone.
        `backwards`: the last rank's file comes first.
        """
        folder = os.path.join(self.folder, f"raw-{len(os.listdir(self.folder))}")
        os.mkdir(folder)
        for rank, one in enumerate(ranks):
            one.write(folder, len(ranks) - 1 - rank if backwards else rank)
        quick = Capture(folder, WORLD, {})
        with mock.patch.object(raw, "_mark", lambda text: None):
            slow = Capture(folder, WORLD, {})
        for key in ("tasks", "streams", "roles", "mistakes", "world"):
            self.assertEqual(getattr(quick, key), getattr(slow, key), key)
        for key in ("notes", "memory", "steps", "role_of"):
            self.assertEqual(getattr(quick, key)(), getattr(slow, key)(), key)
        self.assertEqual(quick.groups.kinds, slow.groups.kinds)
        self.assertTrue(all(one.like is None for one in slow.records.values()))
        return quick

    def test_ranks_of_one_role(self):
        """On GPUs 0, 1, 2, ...: one record is read."""
        for seed in range(40):
            made = self.made([Rank(rank, rank, seed) for rank in range(WORLD)])
            self.assertEqual(set(made.roles.values()), {0})
            like = [record.like for _, record in sorted(made.records.items())]
            self.assertEqual([one and one.rank for one in like], [None, 0, 0, 0, 0, 0])

    def test_files_in_another_order_than_their_ranks(self):
        """As those of processes whose environment has no rank: by the numbers of processes."""
        for seed in range(5):
            made = self.made([Rank(rank, rank, seed) for rank in range(WORLD)], backwards=True)
            self.assertEqual(list(made.tasks), list(range(WORLD)))
            like = [record.like for _, record in sorted(made.records.items())]
            self.assertEqual([one and one.rank for one in like], [WORLD - 1] * (WORLD - 1) + [None])

    def test_a_rank_that_differs(self):
        """In one number, anywhere: it is a role of its own where a GPU or the network sees it."""
        chosen = random.Random(1)
        roles = 0
        for seed in range(60):
            ranks = [Rank(rank, rank, seed) for rank in range(WORLD)]
            odd = chosen.randrange(1, WORLD)
            line = chosen.choice([one for one in ranks[odd].lines if one["t"] in ("op", "coll")])
            if line["t"] == "coll":
                key = chosen.choice(["bytes", "g"])
                line[key] = line[key] * 2 if key == "bytes" else 1 - line[key]
            else:
                line["a"][0]["T"][1].append(chosen.randrange(2, 5))
            made = self.made(ranks)
            roles += len(set(made.roles.values())) == 2
        self.assertGreater(roles, 40)

    def test_samples_of_a_step(self):
        """What the largest module is called with, of all ranks; where ranks share a batch, as with
        tensor parallelism, it is not known.
        """
        forward = {"t": "input", "n": "GPT", "parameters": "100", "sizes": "i3x16", "l": ""}
        other = {"t": "input", "n": "Critic", "parameters": "9", "sizes": "5x16", "l": ""}
        for group, kind, work in (
            (0, "GPT", {"samples": 2 * 3 * WORLD, "tokens": 2 * 3 * 16 * WORLD}),
            (0, "DistributedDataParallel", {"samples": 2 * 3 * WORLD, "tokens": 96 * WORLD}),
            (1, "DistributedDataParallel", None),
        ):
            ranks = [Rank(rank, rank, 7) for rank in range(WORLD)]
            for one in ranks:
                one.lines = [line for line in one.lines if line["t"] not in ("op", "coll", "done")]
                one.collective(0)
                one.lines[-2].update({"g": group, "b": 3, "q": 1})
                step = next(at for at, line in enumerate(one.lines) if line["t"] == "step")
                one.lines[step:step] = [{**forward, "n": kind}, other, {**forward, "n": kind}]
                end = next(at for at, line in enumerate(one.lines) if line["t"] == "end")
                one.lines.insert(end, forward)  # behind the step
            self.assertEqual(self.made(ranks).throughput(), {"work": work} if work else {})

    def test_groups_that_differ(self):
        """The same lines mean another collective where the group is another one."""
        ranks = [Rank(rank, rank, 3) for rank in range(WORLD)]
        whole = next(line for line in ranks[4].lines if line["t"] == "group" and line["g"] == 1)
        whole["ranks"] = [4]  # of another kind
        self.assertEqual(len(set(self.made(ranks).roles.values())), 2)

    def test_several_gpus(self):
        ranks = [Rank(rank, rank, 4) for rank in range(WORLD)]
        next(line for line in ranks[2].lines if line["t"] == "op")["d"] = 5
        self.assertIsNone(self.made(ranks).records[2].like)


if __name__ == "__main__":
    main()
