# SPDX-License-Identifier: GPL-2.0-only
"""Which kernels of capture-scripts/zoo_model.py the zoo's model of the same network (of
transformers with --kernels=eager) does not have, and how long they take in a run: running
statistics of batch norms, which DDP shares before each forward pass, and masks of scores that are
made in each block.
"""

import json
import os

from _capture import SCRIPTS

KERNELS = "gemm conv attention norm softmax embedding reduction pointwise optimizer memory".split()


def _source():
    with open(os.path.join(SCRIPTS, "zoo_model.py"), encoding="utf-8") as file:
        return file.read().splitlines()


def _what(task, text):
    """Which of the differences it is; None: the zoo has it."""
    name = task["name"].removeprefix("aten::")
    if "mask" in text and name in ("fill_", "tril", "bitwise_not"):
        return "masks made"
    if "torch.zeros(b" in text and name == "zero_":
        return "masks made"
    if "model(images)" in text and (
        name in ("copy_", "cat") or (name == "add" and task.get("dtype") == "i64")
    ):
        return "running statistics"
    return None


def only_in_script(captured, run):
    """{what: microseconds} of rank 0 in the step that was simulated; `captured`: the folder of the
    capture; `run`: that of its run, with a timeline.
    """
    with open(os.path.join(captured, "meta.json"), encoding="utf-8") as file:
        meta = json.load(file)
    step = meta["steps"]["take"][0]
    with open(os.path.join(captured, "rank-0.jsonl"), encoding="utf-8") as file:
        tasks = [json.loads(line) for line in file]
    tasks = [one for one in tasks if one["kind"] in KERNELS and one["step"] == step]
    with open(os.path.join(run, "timeline.json"), encoding="utf-8") as file:
        events = json.load(file)["traceEvents"]
    server = min(one["pid"] for one in events if one.get("cat") == "compute")
    lane = min(one["tid"] for one in events if one.get("cat") == "compute" and one["pid"] == server)
    events = [
        one
        for one in events
        if one.get("cat") in ("compute", "memory") and (one["pid"], one["tid"]) == (server, lane)
    ]
    # The order of the stream, and nothing else is on it.
    events.sort(key=lambda one: one["ts"])
    names = [one["name"].split()[0] for one in events]
    assert names == [one["name"] for one in tasks], (len(names), len(tasks))
    source = _source()
    taken = {}
    for task, event in zip(tasks, events):
        number = int(task["line"].partition(":")[2])
        what = _what(task, source[number - 1])
        if what:
            taken[what] = taken.get(what, 0) + event["dur"]
    return taken
