# SPDX-License-Identifier: GPL-2.0-only
"""Messages by size, and kinds of them (operations, the patterns of traffic) beside one another."""

import itertools
import math

MOST_SIZES = 16  # of a kind shown one by one; beyond that GROUPS groups of about as many messages each
GROUPS = 16


def by_size(sizes, slowdowns, weights):
    """{kind: [[bytes from, bytes to, messages, p50, p95, p99 of slowdown], ...]}, by size.

    Messages of one size are never in two groups. A flows.csv that is a sample has each message count for as many as it
    stands for."""
    out = {}
    for kind, of in sizes.items():
        rows = sorted(zip(of, slowdowns[kind], weigh(slowdowns[kind], weights)))
        distinct = [(size, list(group)) for size, group in itertools.groupby(rows, key=lambda row: row[0])]
        groups = []
        if len(distinct) <= MOST_SIZES:
            groups = [group for _, group in distinct]
        else:
            left, want = [], len(rows) / GROUPS
            for _, group in distinct:
                left += group
                if len(left) >= want:
                    groups.append(left)
                    left = []
            if left:
                groups.append(left)
        out[kind] = [[group[0][0], group[-1][0], round(sum(row[2] for row in group)),
                      *quantiles([(row[1], row[2]) for row in group], (0.5, 0.95, 0.99))] for group in groups]
    return out


def compared(sizes, times, slowdowns, weights):
    """[{name, messages, bytes, completion times, slowdowns, jain}, ...], of all kinds and, if there are several, together.

    jain: Jain's index, (sum x)^2 / (n sum x^2), of the pace x of each message: the idle network's time over its own. 1: all are
    held up alike; 1/n: one has it all."""
    def row(name, size, time, slow):
        weight = list(weigh(slow, weights))
        pace = [1 / value if value > 0 else 1.0 for value in slow]
        total = sum(weight)
        mean, square = (sum(w * x ** power for w, x in zip(weight, pace)) / total for power in (1, 2))
        shares = (0.5, 0.99, 1)
        return {"name": name, "messages": round(total), "bytes": round(sum(w * s for w, s in zip(weight, size))),
                "fct_us": quantiles(list(zip(time, weight)), shares), "slowdown": quantiles(list(zip(slow, weight)), shares),
                "jain": round(min(1.0, mean * mean / square), 4)}
    rows = [row(kind, sizes[kind], times[kind], slowdowns[kind]) for kind in sizes]
    if len(rows) > 1:
        chain = lambda of: list(itertools.chain(*(of[kind] for kind in sizes)))
        rows.insert(0, row("all", chain(sizes), chain(times), chain(slowdowns)))
    return rows


def weigh(slowdowns, weights):
    """What each message counts for: itself, or, in a sample, several below the slowdown from which on all are there."""
    if not weights:
        return itertools.repeat(1, len(slowdowns))
    threshold, weight = weights
    return [1 if slowdown >= threshold else weight for slowdown in slowdowns]


def quantiles(pairs, shares):
    """Nearest rank: the smallest value that at least this share of all do not exceed."""
    pairs.sort()
    total, out = math.fsum(weight for _, weight in pairs), []
    at, cumulated = 0, 0.0
    for share in shares:
        while at < len(pairs) and (at == 0 or cumulated < share * total * (1 - 1e-12)):
            cumulated += pairs[at][1]
            at += 1
        out.append(round(pairs[at - 1][0], 6))
    return out
