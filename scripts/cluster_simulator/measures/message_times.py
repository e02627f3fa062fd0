# SPDX-License-Identifier: GPL-2.0-only
"""Completion times and slowdowns of messages, from flows.csv."""

import math

import numpy

from ..folder.tables import SLOWEST
from ..quantiles import LEAST
from ..sizes import merged

QUANTILES = (("p50", 0.5, "o"), ("p99", 0.99, "s"), ("p999", 0.999, "D"))


def slowdown(flows):
    ideal = flows["ideal_fct_us"].to_numpy()
    return numpy.where(
        ideal > 0, flows["fct_us"].to_numpy() / numpy.where(ideal > 0, ideal, 1), 1.0
    )


def weights(run):
    """How many messages a row of flows.csv stands for: 1, unless the file is a sample plus the
    slowest.
    """
    flows = run.flows()
    result = numpy.ones(len(flows))
    messages = run.stats.get("messages") or 0
    if run.flows_are_sample() and messages > len(flows) > SLOWEST:
        slowest = numpy.argsort(-slowdown(flows), kind="stable")[:SLOWEST]
        result[:] = (messages - SLOWEST) / (len(flows) - SLOWEST)
        result[slowest] = 1
    return result


def quantile(values, shares, weight=None):
    """Nearest rank, as stats.json has it: the smallest value that at least this share does not
    exceed.
    """
    order = numpy.argsort(values, kind="stable")
    total = numpy.cumsum(
        numpy.ones(len(values)) if weight is None else numpy.asarray(weight)[order]
    )
    # A millionth of a millionth less, for the rounding that makes 0.9 x 10 a little more than 9.
    places = numpy.searchsorted(total, numpy.asarray(shares) * total[-1] * (1 - 1e-12))
    return numpy.asarray(values)[order][numpy.minimum(places, len(values) - 1)]


def marks(run, key, values, weight):
    """{p50: ...}: exact, from stats.json, where it has them."""
    known = run.stats.get(key) or {}
    computed = dict(
        zip(
            [name for name, _, _ in QUANTILES],
            quantile(values, [share for _, share, _ in QUANTILES], weight),
        )
    )
    return {
        name: float(known.get(name) if known.get(name) is not None else computed[name])
        for name in computed
    }


def size_groups(sizes, weight, groups):
    """The number of each message's group: about the same number in each, a size never in two.

    As slowdown.csv has them (scenarios/traffic/size-groups.h): a size is where the middle one of
    its messages is when all are cut at i n / groups. Groups that are empty have no number.
    """
    different, place = numpy.unique(sizes, return_inverse=True)
    count = numpy.bincount(place, weight)
    end = numpy.cumsum(count)
    middle = end - count + numpy.maximum(count - 1, 0) / 2  # the first one is 0
    cuts = numpy.floor(numpy.arange(1, groups) * end[-1] / groups)
    return numpy.unique(
        numpy.searchsorted(cuts, numpy.floor(middle), side="right"), return_inverse=True
    )[1][place]


def by_size(run, key, sizes, most=24):
    """Columns bytes, p50, p99, p999, ideal: by the sizes themselves if they are few, else groups of
    about equal number.

    `sizes` are all different ones, ascending, of all runs that are compared; those that are nearly
    equal are one. p99 needs a hundred messages, p99.9 a thousand: of fewer it is only the slowest
    one, and NaN.
    """
    flows, weight = run.flows(), weights(run)
    size = numpy.maximum(flows["bytes"].to_numpy(), 1)
    values = flows["fct_us"].to_numpy() if key == "fct_us" else slowdown(flows)
    ideal = flows["ideal_fct_us"].to_numpy()
    firsts = numpy.array(merged(sizes))
    alike = firsts[numpy.searchsorted(sizes, size)]
    different = numpy.unique(firsts)
    if len(different) <= most:
        place = numpy.searchsorted(different, alike)
    else:
        place = size_groups(alike, weight, int(min(most, max(4, weight.sum() // 100))))
    order = numpy.argsort(place, kind="stable")
    starts = numpy.flatnonzero(numpy.append(True, numpy.diff(place[order]) > 0))
    table = {"bytes": [], "p50": [], "p99": [], "p999": [], "ideal": []}
    for mine in numpy.split(order, starts[1:]):
        count = weight[mine].sum()
        p50, p99, p999 = quantile(values[mine], [0.5, 0.99, 0.999], weight[mine])
        table["bytes"].append(float(numpy.sqrt(float(size[mine].min()) * float(size[mine].max()))))
        table["p50"].append(float(p50))
        table["p99"].append(float(p99) if count >= LEAST["p99"] else math.nan)
        table["p999"].append(float(p999) if count >= LEAST["p999"] else math.nan)
        # As the median beside it: no message is faster than alone, so neither is that.
        table["ideal"].append(float(quantile(ideal[mine], [0.5], weight[mine])[0]))
    return table
