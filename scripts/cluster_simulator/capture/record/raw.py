# SPDX-License-Identifier: GPL-2.0-only
"""Raw records, as device/record.h writes them."""

import glob
import json
import math
import os
from collections import namedtuple


class Tensor(namedtuple("Tensor", "dtype sizes storage item_bytes")):
    """storage: -1 on the host."""

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
    """Of one process: its rank, and its lines."""

    def __init__(self, path):
        self.path = path
        self.lines = []
        self.rank = None
        self.world = None
        with open(path, encoding="utf-8", errors="replace") as file:
            for text in file:
                try:
                    line = json.loads(text)
                except ValueError:
                    break  # a process that was killed in the middle of a line
                self.lines.append(line)
                if line["t"] == "rank":
                    self.rank, self.world = int(line["rank"]), int(line["world"])
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
    return {record.rank: record for record in records if record.works}
