# SPDX-License-Identifier: GPL-2.0-only
"""Messages by size, and kinds of them (operations, the patterns of traffic) beside one another."""

import itertools
import math
import operator

from cluster_simulator.sizes import merged

MOST_SIZES = (
    16  # of a kind shown one by one; beyond that GROUPS groups of about as many messages each
)
GROUPS = 16


def by_size(sizes, slowdowns, weights):
    """{kind: [[bytes from, bytes to, messages, p50, p95, p99 of slowdown], ...]}, by size.

    Messages of one size are never in two groups, and sizes that are nearly equal (sizes.py) are one
    size. A flows.csv that is a sample has each message count for as many as it stands for.
    """
    out = {}
    for kind, of in sizes.items():
        alike = {}  # slowdowns by size
        for size, slowdown in zip(of, slowdowns[kind]):
            if size in alike:
                alike[size].append(slowdown)
            else:
                alike[size] = [slowdown]
        ascending = sorted(alike)
        firsts = merged(ascending)
        groups, most, before = [], 0 if len(set(firsts)) <= MOST_SIZES else len(of) / GROUPS, None
        for size, first in zip(ascending, firsts):
            if first != before and (not groups or len(groups[-1][2]) >= most):
                groups.append([size, size, []])
            before = first
            groups[-1][1] = size
            groups[-1][2] += alike[size]
        out[kind] = [
            [
                low,
                high,
                round(weight_of(values, weights)),
                *quantiles(values, values, weights, (0.5, 0.95, 0.99)),
            ]
            for low, high, values in groups
        ]
    return out


def compared(sizes, times, slowdowns, weights):
    """[{name, messages, bytes, completion times, slowdowns, jain}, ...], of all kinds and, if there
    are several, together.

    jain: Jain's index, (sum x)^2 / (n sum x^2), of the pace x of each message: the idle network's
    time over its own. 1: all are held up alike; 1/n: one has it all.
    """
    shares = (0.5, 0.99, 1)

    def row(name, size, time, slow):
        pace = [1 / value if value > 0 else 1.0 for value in slow]
        if weights:
            weight = list(weigh(slow, weights))
            total, volume = math.fsum(weight), sum(map(operator.mul, weight, size))
            mean = math.fsum(map(operator.mul, weight, pace)) / total
            square = math.fsum(w * x * x for w, x in zip(weight, pace)) / total
        else:
            total, volume = len(slow), sum(size)
            mean, square = math.fsum(pace) / total, math.fsum(map(operator.mul, pace, pace)) / total
        return {
            "name": name,
            "messages": round(total),
            "bytes": round(volume),
            "fct_us": quantiles(time, slow, weights, shares),
            "slowdown": quantiles(slow, slow, weights, shares),
            "jain": round(min(1.0, mean * mean / square), 4),
        }

    rows = [row(kind, sizes[kind], times[kind], slowdowns[kind]) for kind in sizes]
    if len(rows) > 1:
        chain = lambda of: list(itertools.chain(*(of[kind] for kind in sizes)))
        rows.insert(0, row("all", chain(sizes), chain(times), chain(slowdowns)))
    return rows


def weigh(slowdowns, weights):
    """What each message counts for: itself, or, in a sample, several below the slowdown from which
    on all are there.
    """
    if not weights:
        return itertools.repeat(1, len(slowdowns))
    threshold, weight = weights
    return [1 if slowdown >= threshold else weight for slowdown in slowdowns]


def weight_of(slowdowns, weights):
    return math.fsum(weigh(slowdowns, weights)) if weights else len(slowdowns)


def quantiles(values, slowdowns, weights, shares):
    """Nearest rank: the smallest value that at least this share of all do not exceed."""
    if not weights:  # straight to the ranks
        ordered = sorted(values)
        return [
            round(ordered[max(1, math.ceil(share * len(ordered) - 1e-9)) - 1], 6)
            for share in shares
        ]
    pairs = sorted(zip(values, weigh(slowdowns, weights)))
    total, out = math.fsum(weight for _, weight in pairs), []
    at, cumulated = 0, 0.0
    for share in shares:
        while at < len(pairs) and (at == 0 or cumulated < share * total * (1 - 1e-12)):
            cumulated += pairs[at][1]
            at += 1
        out.append(round(pairs[at - 1][0], 6))
    return out
