# SPDX-License-Identifier: GPL-2.0-only
"""Ranks that do the same play one role: their tasks are equal, with groups by kind and peers by
distance.
"""

# What may differ between ranks that do the same: nothing a GPU or the network would notice.
NOT_COMPARED = {"line", "module", "name"}


def first_difference(one, other):
    """Index of the first task in which two ranks differ; None: in none."""
    if one is other:
        return None
    for i, (a, b) in enumerate(zip(one, other)):
        if a is not b and _seen(a) != _seen(b):
            return i
    return None if len(one) == len(other) else min(len(one), len(other))


def _seen(task):
    return {key: value for key, value in task.items() if key not in NOT_COMPARED}


def assign(tasks):
    """{rank: the lowest rank that does the same} of {rank: tasks}."""
    roles = {}
    for rank in sorted(tasks):
        roles[rank] = next(
            (
                role
                for role in sorted(set(roles.values()))
                if first_difference(tasks[role], tasks[rank]) is None
            ),
            rank,
        )
    return roles


def describe(task):
    """For messages: "all_reduce of 4096 B (f32) at train.py:31"."""
    if task is None:
        return "nothing"
    words = task.get("op") or task["name"]
    if "bytes" in task:
        words += f" of {task['bytes']} B"
    if "dtype" in task:
        words += f" ({task['dtype']})"
    if "reduce" in task:
        words += f", {task['reduce']},"
    if "root" in task:
        words += f" with root {task['root']}"
    if "line" in task:
        words += f" at {task['line']}"
    return words.rstrip(",")
