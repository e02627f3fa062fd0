# SPDX-License-Identifier: GPL-2.0-only
"""Raw records, as device/record.h writes them."""

import glob
import hashlib
import json
import math
import os
import re
from collections import namedtuple

from . import one_process


FIELDS = "dtype sizes storage item_bytes device offset"


class Tensor(namedtuple("Tensor", FIELDS, defaults=(0, 0))):
    """storage: -1 on the host. device: number in the process. offset: of its first element in the
    storage.
    """

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
        return Tensor(*raw["T"], **({"offset": raw["f"]} if "f" in raw else {}))
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


def storages(raw):
    """Of all tensors on the GPU in a list as the record has it."""
    for item in raw:
        if isinstance(item, dict):
            if item["T"][2] >= 0:
                yield item["T"][2]
        elif isinstance(item, list):
            yield from storages(item)


# Lines that tell of the process, not of what its GPU did.
OWN_LINES = re.compile(rb'^\{"t":"(rank|group|note|end|failed|mistake|unused)".*$', re.M)
FIRST_COLLECTIVE = re.compile(rb'^\{"t":"coll".*$', re.M)
DEVICE = re.compile(rb'"d":(\d+)[,}]')


def _mark(text):
    """Equal for records of which the same tasks are made, whatever the number of the process's GPU;
    None: nothing can be said of it before it is read.
    """
    device = DEVICE.search(text)
    if device is None or b'"peer":' in text:
        return None
    mine = device[1]
    told = sum(text.count(b'"d":' + mine + end) for end in (b",", b"}"))
    if text.count(b'"d":') != told:
        return None  # it uses several GPUs
    for end in (b",", b"}"):
        text = text.replace(b'"d":' + mine + end, b'"d":0' + end)
    if mine != b"0":
        # Of a tensor the last number, which GPU 0 does not have.
        text = re.sub(rb"(\],\d+,\d+)," + mine + rb"\](\}|,\"f\":)", rb"\1]\2", text)
    return hashlib.sha256(OWN_LINES.sub(rb"\1", text)).digest()


class Record:
    """Of one process: its rank, and its lines. `visible`: numbers or names of the server's GPUs
    that it saw; None: all. `is_cut`: its end is missing. `like`: a Record read before in which the
    GPU did the same; then `lines` are those of the process and the first collective, until
    read_all().
    """

    def __init__(self, path=None, rank=0, world=None, lines=(), like=None):
        self.path = path
        self.lines = list(lines)
        self.rank = rank
        self.world = world
        self.visible = None
        self.is_cut = False
        self.like = like
        self.says_rank = True
        if path is not None:
            self._read(_text(path))

    def read_all(self):
        self.lines, self.like = [], None
        self._read(_text(self.path))

    def _read(self, text):
        self.rank = None
        if self.like is None:
            lines = text.splitlines()
        else:
            first = FIRST_COLLECTIVE.search(text)
            lines = [found[0] for found in OWN_LINES.finditer(text)] + ([first[0]] if first else [])
        for one in lines:
            try:
                line = json.loads(one.decode("utf-8", "replace"))
            except ValueError:
                self.is_cut = True
                break  # a process that was killed in the middle of a line, or a full disk
            self.lines.append(line)
            if line["t"] == "rank":
                self.rank, self.world = int(line["rank"]), int(line["world"])
                if line.get("visible"):
                    self.visible = line["visible"].split(",")
        # (A process that a script forks by itself does not say that it ends.)
        if os.path.basename(self.path).startswith("rank-"):
            self.is_cut = self.is_cut or not self.of_type("end")
        named = os.path.basename(self.path).startswith("rank-")
        self.says_rank = self.rank is not None or named
        if self.rank is None:
            name = os.path.basename(self.path).split(".")[0]
            self.rank = int(name[len("rank-") :]) if name.startswith("rank-") else 0

    def of_type(self, *types):
        return [line for line in self.lines if line["t"] in types]

    @property
    def works(self):
        """Whether it used a GPU at all: helpers of a script do not."""
        if self.like is not None and self.like.works:
            return True
        return any(line["t"] in ("op", "coll", "failed", "mistake") for line in self.lines)


def _text(path):
    with open(path, "rb") as file:
        return file.read()


def read(folder):
    """{rank: Record}, of processes that used a GPU."""
    records, first = [], {}  # mark: Record
    for path in sorted(glob.glob(os.path.join(folder, "*.jsonl")), key=lambda one: (len(one), one)):
        mark = _mark(_text(path))
        record = Record(path, like=first.get(mark))
        if mark is not None:
            first.setdefault(mark, record)
        records.append(record)
    working = [record for record in records if record.works]
    if len(working) == 1 and not working[0].world:
        working = one_process.ranks_of(working[0])
    return _by_rank(working)


def _by_rank(working):
    """A helper that a rank has forked is none: of it there is what it did wrong."""
    found = {}

    def first_are_ranks(one):
        return not one.says_rank, not one.of_type("op", "coll")

    for record in sorted(working, key=first_are_ranks):
        first = found.setdefault(record.rank, record)
        if first is not record and record.says_rank:
            found[record.rank] = record
        elif first is not record:
            first.lines += record.of_type("mistake")
    return dict(sorted(found.items()))
