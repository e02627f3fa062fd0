# SPDX-License-Identifier: GPL-2.0-only
"""Messages by size, and kinds of them (operations, the patterns of traffic) beside one another."""

import itertools
import math
import operator
from bisect import bisect_left, bisect_right

from cluster_simulator.quantiles import LEAST
from cluster_simulator.sizes import merged

MOST_SIZES = (
    16  # of a kind shown one by one; beyond that GROUPS groups of about as many messages each
)
GROUPS = 16


class Ranked:
    """Ascending values, of which each counts for itself (`single`) or for `weight` messages
    (`several`): the ranks are those of all messages. Both lists are sorted once; what is asked of
    them takes bisection, not a sum over a million.
    """

    def __init__(self, single, several=(), weight=1):
        self.single, self.several, self.weight = single, several, weight
        self.total = len(single) + weight * len(several)

    def reached(self, target):
        """(messages up to there, value): the first value up to which at least `target` messages
        are counted; of equal values those that count for themselves are first.
        """
        value = min(
            own[place]
            for own, place in (
                (self.single, _first(target, self.single, 1, self.several, self.weight)),
                (self.several, _first(target, self.several, self.weight, self.single, 1)),
            )
            if place < len(own)
        )
        before = bisect_left(self.single, value)
        equal = bisect_right(self.single, value) - before
        before += self.weight * bisect_left(self.several, value)
        missing = target - before
        if equal and missing <= equal:
            return before + max(1, math.ceil(missing - 1e-9)), value
        more = max(1, math.ceil((missing - equal) / self.weight - 1e-9))
        return before + equal + more * self.weight, value

    def quantiles(self, shares):
        """Nearest rank: the smallest value that at least this share of all do not exceed."""
        if not self.several:  # straight to the ranks
            last = len(self.single)
            places = [max(1, math.ceil(share * last - 1e-9)) - 1 for share in shares]
            return [round(self.single[place], 6) for place in places]
        return [round(self.reached(share * self.total * (1 - 1e-12))[1], 6) for share in shares]

    @property
    def largest(self):
        return max(values[-1] for values in (self.single, self.several) if values)


def _first(target, own, each, other, of_other):
    """Place of the first of `own` up to which at least `target` messages are counted in both, less
    what rounding takes; its last place if there is none.
    """
    target = target * (1 - 1e-13)
    low, high = 0, len(own) - 1
    while low < high:
        middle = (low + high) // 2
        if (middle + 1) * each + of_other * bisect_right(other, own[middle]) >= target:
            high = middle
        else:
            low = middle + 1
    if own and low == len(own) - 1:
        reached = (low + 1) * each + of_other * bisect_right(other, own[low])
        if reached < target and other and other[-1] > own[low]:
            return len(own)  # it is in the other list
    return low


def ranked(values, slowdowns, weights):
    """What each message counts for: itself, or, in a sample, several below the slowdown from which
    on all are there.
    """
    if not weights:
        return Ranked(sorted(values))
    threshold, weight = weights
    single = sorted(v for v, slowdown in zip(values, slowdowns) if slowdown >= threshold)
    several = sorted(v for v, slowdown in zip(values, slowdowns) if slowdown < threshold)
    return Ranked(single, several, weight)


def ranked_slowdowns(ordered, weights):
    """The same of slowdowns themselves, which are sorted already."""
    if not weights:
        return Ranked(ordered)
    at = bisect_left(ordered, weights[0])
    return Ranked(ordered[at:], ordered[:at], weights[1])


def together(parts):
    """The messages of all: lists that are sorted are merged, in about a pass."""
    parts = list(parts)
    return Ranked(
        sorted(itertools.chain(*(part.single for part in parts))),
        sorted(itertools.chain(*(part.several for part in parts))),
        parts[0].weight,
    )


def by_size(sizes, slowdowns, weights, ordered=None):
    """{kind: [[bytes from, bytes to, messages, p50, p95, p99 of slowdown], ...]}, by size; None for
    a quantile of too few messages.

    Messages of one size are never in two groups, and sizes that are nearly equal (sizes.py) are one
    size. A flows.csv that is a sample has each message count for as many as it stands for.
    ordered: the slowdowns of each kind, ascending, if they are known.
    """
    out = {}
    for kind, of in sizes.items():
        alike = {}  # slowdowns by size
        if ordered and of.count(of[0]) == len(of):
            alike[of[0]] = ordered[kind]
        else:
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
        out[kind] = []
        for low, high, values in groups:
            values.sort()
            of_group = ranked_slowdowns(values, weights)
            quantiles = zip(("p50", "p95", "p99"), of_group.quantiles((0.5, 0.95, 0.99)))
            count = round(of_group.total)
            shown = [value if count >= LEAST[name] else None for name, value in quantiles]
            out[kind].append([low, high, count, *shown])
    return out


def compared(sizes, slowdowns, times, ranks, weights):
    """[{name, messages, bytes, completion times, slowdowns, jain}, ...], of all kinds and, if there
    are several, together. times, ranks: the Ranked completion times and slowdowns of each kind;
    sizes, slowdowns: of each message.

    jain: Jain's index, (sum x)^2 / (n sum x^2), of the pace x of each message: the idle network's
    time over its own. 1: all are held up alike; 1/n: one has it all.
    """
    shares = (0.5, 0.99, 1)

    def row(name, volume, time, slow):
        total, mean, square = slow.total, 0.0, 0.0
        for each, values in ((1, slow.single), (slow.weight, slow.several)):
            pace = [1 / value if value > 0 else 1.0 for value in values]
            mean += each * math.fsum(pace) / total
            square += each * math.fsum(map(operator.mul, pace, pace)) / total
        return {
            "name": name,
            "messages": round(total),
            "bytes": round(volume),
            "fct_us": time.quantiles(shares),
            "slowdown": slow.quantiles(shares),
            "jain": round(min(1.0, mean * mean / square), 4),
        }

    def bytes_of(kind):
        if not weights:
            return sum(sizes[kind])
        threshold, weight = weights
        single = sum(
            size for size, slowdown in zip(sizes[kind], slowdowns[kind]) if slowdown >= threshold
        )
        return single + weight * (sum(sizes[kind]) - single)

    volumes = {kind: bytes_of(kind) for kind in sizes}
    rows = [row(kind, volumes[kind], times[kind], ranks[kind]) for kind in sizes]
    if len(rows) > 1:
        everything = together(times.values()), together(ranks.values())
        rows.insert(0, row("all", sum(volumes.values()), *everything))
    return rows
