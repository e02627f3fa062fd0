# SPDX-License-Identifier: GPL-2.0-only
"""sharding.json of --auto-parallel: how each operator is cut."""

from bounds import cut

MOST_OPERATORS = 500


def strategies_of(files):
    """{"rows": [[stage or None, operator, kind, cuts], ...], "left_out"}; None if there is none."""
    whole = files.json("sharding.json")
    if not isinstance(whole, dict):
        return None
    stages = whole.get("stages")
    parts = list(enumerate(stages)) if isinstance(stages, list) else [(None, whole)]
    rows = []
    for stage, part in parts:
        strategies = part.get("strategies") or {}
        words = {op.get("name"): op.get("kind") for op in part.get("operators") or []}
        for name, cuts in strategies.items():
            rows.append([stage, cut(name, 100), cut(str(words.get(name) or ""), 40), _cuts(cuts)])
    return {"rows": rows[:MOST_OPERATORS], "left_out": max(0, len(rows) - MOST_OPERATORS)}


def _cuts(cuts):
    """"((2, 1), (1, 4))", as --shard takes them."""
    inputs = ["(" + ",".join(str(int(part)) for part in one) + ")" for one in cuts]
    return cut("(" + ",".join(inputs) + ")", 200)
