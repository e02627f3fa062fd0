# SPDX-License-Identifier: GPL-2.0-only
"""Raw records, as device/record.h writes them."""

import glob
import json
import math
import os
from collections import namedtuple

from . import one_process


class Tensor(namedtuple("Tensor", "dtype sizes storage item_bytes device", defaults=(0,))):
    """storage: -1 on the host. device: number in the process."""

    @property
    def elements(self):
        return math.prod(self.sizes)

    @property
    def bytes(self):
        return self.elements * self.item_bytes

    @property
    def on_gpu(self):
        return self.storage >= 0


def value(raw):
    """A value of an operator: tensors as Tensor, lists as lists."""
    if isinstance(raw, dict):
        return Tensor(*raw["T"])
    if isinstance(raw, list):
        return [value(item) for item in raw]
    return raw


def tensors(values):
    """All tensors of a list of values, also of lists in it."""
    for item in values:
        if isinstance(item, Tensor):
            yield item
        elif isinstance(item, list):
            yield from tensors(item)


class Record:
    """Of one process: its rank, and its lines. `visible`: numbers or names of the server's GPUs
    that it saw; None: all.
    """

    def __init__(self, path=None, rank=0, world=None, lines=()):
        self.path = path
        self.lines = list(lines)
        self.rank = rank
        self.world = world
        self.visible = None
        if path is not None:
            self._read(path)

    def _read(self, path):
        self.rank = None
        with open(path, encoding="utf-8", errors="replace") as file:
            for text in file:
                try:
                    line = json.loads(text)
                except ValueError:
                    break  # a process that was killed in the middle of a line
                self.lines.append(line)
                if line["t"] == "rank":
                    self.rank, self.world = int(line["rank"]), int(line["world"])
                    if line.get("visible"):
                        self.visible = line["visible"].split(",")
        if self.rank is None:
            name = os.path.basename(path).split(".")[0]
            self.rank = int(name[len("rank-") :]) if name.startswith("rank-") else 0

    def of_type(self, *types):
        return [line for line in self.lines if line["t"] in types]

    @property
    def works(self):
        """Whether it used a GPU at all: helpers of a script do not."""
        return any(line["t"] in ("op", "coll", "failed", "mistake") for line in self.lines)


def read(folder):
    """{rank: Record}, of processes that used a GPU."""
    records = [Record(path) for path in sorted(glob.glob(os.path.join(folder, "*.jsonl")))]
    working = [record for record in records if record.works]
    if len(working) == 1 and not working[0].world:
        working = one_process.ranks_of(working[0])
    return {record.rank: record for record in working}
