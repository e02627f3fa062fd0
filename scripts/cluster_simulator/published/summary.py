# SPDX-License-Identifier: GPL-2.0-only
"""One line a kind of comparison: rows, median error, bias, the worst source. It is the table that a
stranger reads first (docs/validation.md). Bias is the median of simulated over measured, less 1:
a few rows far off do not decide it.
"""

import collections
import statistics

# A measured value beside a simulated one. `source`: page or software that rows are split by.
Pair = collections.namedtuple("Pair", "kind source measured simulated")
Line = collections.namedtuple("Line", "kind rows median bias within worst")

LEAST = 10  # rows of a source whose median says something


def errors(pairs):
    return [abs(pair.simulated / pair.measured - 1) for pair in pairs]


def bias(pairs):
    return statistics.median(pair.simulated / pair.measured for pair in pairs) - 1


def by_source(pairs):
    of = collections.defaultdict(list)
    for pair in pairs:
        of[pair.source].append(pair)
    return of


def line(kind, pairs):
    """Of the pairs of one kind."""
    large = {
        source: members for source, members in by_source(pairs).items() if len(members) >= LEAST
    }
    worst = max(
        large.items(), key=lambda item: statistics.median(errors(item[1])), default=(None, None)
    )
    of_all = errors(pairs)
    return Line(
        kind,
        len(pairs),
        statistics.median(of_all),
        bias(pairs),
        sum(error <= 0.12 for error in of_all) / len(of_all),
        None if worst[0] is None else (worst[0], statistics.median(errors(worst[1])),
                                       bias(worst[1])),
    )


def lines(pairs):
    """In the order in which kinds come."""
    of = collections.OrderedDict()
    for pair in pairs:
        of.setdefault(pair.kind, []).append(pair)
    return [line(kind, members) for kind, members in of.items()]


HEAD = ("what", "rows", "median error", "bias", "within 12%", "worst source of ten rows and more")


def percent(value, sign=False):
    return f"{100 * value:{'+' if sign else ''}.1f}%"


def cells(pairs):
    for one in lines(pairs):
        worst = "" if one.worst is None else (
            f"{one.worst[0]}: {percent(one.worst[1])}, bias {percent(one.worst[2], True)}"
        )
        yield (one.kind, str(one.rows), percent(one.median), percent(one.bias, True),
               percent(one.within), worst)


SOURCE_HEAD = ("what", "source", "rows", "median error", "bias", "within 12%")


def source_cells(pairs):
    """Of each kind all sources, those with most rows first."""
    of = collections.OrderedDict()
    for pair in pairs:
        of.setdefault(pair.kind, []).append(pair)
    for kind, members in of.items():
        for source, own in sorted(by_source(members).items(), key=lambda i: (-len(i[1]), i[0])):
            one = line(kind, own)
            yield (kind, source, str(one.rows), percent(one.median), percent(one.bias, True),
                   percent(one.within))
