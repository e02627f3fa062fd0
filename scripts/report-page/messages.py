# SPDX-License-Identifier: GPL-2.0-only
"""flows.csv and fairness.csv: sizes and completion times of messages, and how evenly they were
served.
"""

import itertools
import math
import re

import kinds
from bounds import cut
from cluster_simulator.folder.tables import FAIRNESS, FLOWS, SLOWEST, always
from cluster_simulator.sizes import merged

MOST_OPERATIONS = 8  # curves by operation; the rest is one
MOST_SIZES = 64  # distinct message sizes shown one by one; beyond that classes, four an octave
MOST_POINTS = 240  # of a distribution
MOST_FAIRNESS = 2000  # points of fairness.csv
OPERATION = re.compile(r"(all|reduce|broadcast|gather|scatter|send|recv|point)[\w-]*")


def messages_of(files, stats):
    """Sizes and completion times, of flows.csv; None if there is none."""
    sizes, times, slowdowns, flow_sizes, rows, bytes_all = {}, {}, {}, {}, 0, 0
    operations, known = {}, {}
    for column in files.columns("flows.csv", always(FLOWS)):
        size = [int(value) for value in files.numbers("flows.csv", column["bytes"])]
        fct = files.numbers("flows.csv", column["fct_us"])
        ideal = files.numbers("flows.csv", column["ideal_fct_us"])
        rows += len(size)
        bytes_all += sum(size)
        tags = column["tag"]
        for tag in dict.fromkeys(tags):  # in order, as all here: the same run gives the same bytes
            if tag not in operations:
                name = _operation(cut(tag, 60))
                known.setdefault(name, name if len(known) < 64 else "other")
                operations[tag] = known[name]
        for operation in dict.fromkeys(operations[tag] for tag in dict.fromkeys(tags)):
            chosen = [operations[tag] == operation for tag in tags] if len(operations) > 1 else None
            pick = (
                (lambda values: list(itertools.compress(values, chosen)))
                if chosen
                else (lambda values: values)
            )
            times.setdefault(operation, []).extend(pick(fct))
            slowdowns.setdefault(operation, []).extend(
                [t / alone if alone > 0 else 1.0 for t, alone in zip(pick(fct), pick(ideal))]
            )
            of_size = pick(size)
            flow_sizes.setdefault(operation, []).extend(of_size)
            _count(sizes.setdefault(operation, {}), of_size)
    if not rows:
        return None
    messages = stats.get("messages") or rows
    ranked = sorted(
        times, key=lambda operation: (operation == "other", -len(times[operation]), operation)
    )
    kept, rest = ranked[:MOST_OPERATIONS], ranked[MOST_OPERATIONS:]
    merge = lambda of: {
        **{name: of[name] for name in kept},
        **({"other": list(itertools.chain(*(of[name] for name in rest)))} if rest else {}),
    }
    if rest:
        other = {}
        for name in rest:
            for size, count in sizes.pop(name).items():
                other[size] = other.get(size, 0) + count
        sizes["other"] = other
    times, slowdowns, flow_sizes = merge(times), merge(slowdowns), merge(flow_sizes)
    ordered = {name: sorted(of) for name, of in slowdowns.items()}
    threshold = _sample_threshold(ordered, rows, messages)
    weights = (threshold, (messages - SLOWEST) / (rows - SLOWEST)) if threshold else None
    by_time = {name: kinds.ranked(of, slowdowns[name], weights) for name, of in times.items()}
    by_slowdown = {name: kinds.ranked_slowdowns(of, weights) for name, of in ordered.items()}
    return {
        "rows": rows,
        "messages": messages,
        "bytes": bytes_all,
        "sizes": _size_classes(sizes),
        "fct": _distributions(by_time),
        "slowdown": _distributions(by_slowdown),
        "by_size": kinds.by_size(flow_sizes, slowdowns, weights, ordered),
        "kinds": kinds.compared(flow_sizes, slowdowns, by_time, by_slowdown, weights),
    }


def fairness_of(files):
    """Points of fairness.csv, which traffic writes with --rate-interval; None if there is none."""
    names = always(FAIRNESS)
    points = []
    for column in files.columns("fairness.csv", names):
        still = [value == "" for value in column["jain"]]  # all flows stand still: there is none
        column["jain"] = [value or "0" for value in column["jain"]]
        series = {name: files.numbers("fairness.csv", column[name]) for name in names}
        series["jain"] = [
            None if none else value for none, value in zip(still, series["jain"])
        ]
        points += zip(*(series[name] for name in names))
    every = -(-len(points) // MOST_FAIRNESS)
    return {"points": points[:: max(1, every)], "every": max(1, every)} if points else None


def _count(into, values):
    for value in values:
        into[value] = into.get(value, 0) + 1


def _operation(tag):
    """What a message's tag belongs to: "reduce-scatter bucket 3" is of reduce-scatter; of several
    jobs, whose names are one word without a slash, each has its own.
    """
    job, _, rest = tag.partition("/")
    if job and rest and " " not in job:
        return f"{job}/{_operation(rest)}"
    known = OPERATION.match(tag)
    name = known.group(0) if known else re.sub(r"[\s#-]*\d+\s*$", "", tag).strip() or "untagged"
    return "all (tag)" if name == "all" else name  # "all" is the sum over operations


def _sample_threshold(ordered, rows, messages):
    """Slowdown from which on a sampled flows.csv holds every message; None if it is no sample. The
    rest of its rows are a uniform sample of the rest of the messages, and count for several
    each. ordered: the slowdowns of each operation, ascending.
    """
    if rows >= messages or rows <= SLOWEST:
        return None
    return sorted(itertools.chain(*(of[-SLOWEST:] for of in ordered.values())))[-SLOWEST]


def _distributions(ranked):
    out = {name: distribution_of(of) for name, of in ranked.items()}
    if len(out) > 1:
        out = {"all": distribution_of(kinds.together(ranked.values())), **out}
    return out


def distribution_of(of):
    """[share of messages that took at most, value] at points that become denser towards the
    tail.
    """
    total, last = of.total, round(of.largest, 6)
    wanted = [1 - 10 ** (-step / 40) for step in range(MOST_POINTS)]
    points, target = [], 0
    if not of.several:  # no weights: straight to the ranks
        for share in wanted:
            rank = max(1, math.ceil(share * total - 1e-9))
            if not points or rank != target:
                points.append([round(rank / total, 9), round(of.single[rank - 1], 6)])
                target = rank
        if target != total:
            points.append([1, last])
    else:
        while target < len(wanted):
            cumulated, value = of.reached((wanted[target] - 1e-12) * total)
            points.append([round(min(1, cumulated / total), 9), round(value, 6)])
            target += 1
            while target < len(wanted) and cumulated / total >= wanted[target] - 1e-12:
                target += 1
        points.append([1, last])
    return {"n": round(total), "points": points}


def _size_classes(sizes):
    """Per operation [bytes from, bytes to, messages, bytes in all]: each size by itself if there
    are few (nearly equal ones are one, sizes.py), else classes of a quarter of an octave.
    """
    distinct = sorted({size for of in sizes.values() for size in of})
    alike = {}  # the sizes that count as one, by the smallest of them
    first_of = dict(zip(distinct, merged(distinct)))
    for size, first in first_of.items():
        alike[first] = (first, size)  # ascending: the largest stays
    exact = len(distinct) <= MOST_SIZES
    out = {}
    for operation, of in sizes.items():
        classes = {}
        for size, count in of.items():
            if exact or size <= 0:
                key = alike[first_of[size]] if exact else (size, size)
            else:
                octave = math.floor(4 * math.log2(size) + 1e-9)
                key = (math.ceil(2 ** (octave / 4)), math.ceil(2 ** ((octave + 1) / 4)) - 1)
            entry = classes.setdefault(key, [0, 0])
            entry[0] += count
            entry[1] += count * size
        out[operation] = [[*key, *entry] for key, entry in sorted(classes.items())]
    return {"exact": exact, "operations": out}
