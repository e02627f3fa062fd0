# SPDX-License-Identifier: GPL-2.0-only
"""Samples and tokens of a step, where the record tells them: of data parallelism alone, with the
batch as the first dimension of what the model is called with (assumed).
"""

from . import graphs

WRAPPERS = {"DistributedDataParallel", "FullyShardedDataParallel", "FSDPModule"}


def of_step(records, tasks, steps, role_of, step):
    """{"samples": of all ranks, "tokens": the same, of whole numbers in two dimensions}; None: not
    known.
    """
    found = {}
    for rank in sorted(set(role_of)):
        record = records[rank].like or records[rank]
        if not _is_data_parallel(record, tasks[rank], len(role_of)):
            return None
        found[rank] = _of_rank(record, steps[rank], step)
    samples = sum(found[role][0] for role in role_of)
    tokens = sum(found[role][1] for role in role_of)
    if samples == 0:
        return None
    return {"samples": samples, **({"tokens": tokens} if tokens else {})}


def _is_data_parallel(record, tasks, ranks):
    """Whether a rank has a batch of its own. With tensor or pipeline parallelism several share one,
    and the record does not tell which.
    """
    if ranks == 1:
        return True
    if any(task["kind"] in ("send", "recv") or task.get("group", 0) > 0 for task in tasks):
        return False
    if any(line["n"] in WRAPPERS for line in record.of_type("input")):
        return True
    return not any(task["kind"] == "collective" and task["phase"] == "forward" for task in tasks)


def _of_rank(record, steps, step):
    """(samples, tokens) of the passes of one step of the module with most parameters."""
    inputs = [
        line
        for at, line in enumerate(graphs.replayed(record.lines))
        if line["t"] == "input" and steps.at(at) == step
    ]
    largest = max((int(line["parameters"]) for line in inputs), default=0)
    samples = tokens = 0
    for line in inputs:
        if int(line["parameters"]) == largest:
            sizes = [int(size) for size in line["sizes"].lstrip("i").split("x")]
            samples += sizes[0]
            if line["sizes"].startswith("i") and len(sizes) == 2:
                tokens += sizes[0] * sizes[1]
    return samples, tokens
