# SPDX-License-Identifier: GPL-2.0-only
"""Ticks of logarithmic axes."""

import math

import matplotlib.ticker


def set_log_ticks(axis, formatter, base=10, most=7, thirds=True):
    """Three to `most` round ticks: 1, 10; with `thirds` 1, 3, 10; 1, 2, 5, 10; or steps of 1, 2 or
    5 where that is too few. Of powers of two at most five.
    """
    low, high = sorted(axis.get_view_interval())
    low, high = max(low, 1e-300), max(high, 1e-300)
    if base == 2:
        doublings = math.log2(high / low)
        base = next(
            (power for power in (2, 4, 16, 64, 256, 1024) if doublings / math.log2(power) <= 4.5),
            2**20,
        )
        axis.set_major_locator(matplotlib.ticker.LogLocator(base=base, numticks=8))
    else:
        for steps in ((1,), *([(1, 3)] if thirds else []), (1, 2, 5)):
            ticks = [tick for tick in tens(low, high, steps) if low <= tick <= high]
            if len(ticks) >= 3:
                break
        else:
            ticks = even_ticks(low, high, most)
        ticks = ticks[:: -(-len(ticks) // most)]
        if not thirds:  # 1, 2, 5 are nearer to one another
            ticks = far_apart(ticks, low, high, most)
        axis.set_major_locator(matplotlib.ticker.FixedLocator(ticks))
    axis.set_minor_locator(matplotlib.ticker.NullLocator())
    axis.set_major_formatter(formatter)


def tens(low, high, steps):
    """Each power of ten times each of the steps, from below `low` to above `high`."""
    powers = range(math.floor(math.log10(low)) - 1, math.ceil(math.log10(high)) + 1)
    return [step * 10.0**power for power in powers for step in steps]


def with_round_ends(values):
    """The values, and those of 1, 2, 5 that are next to them where these have fewer than three
    between them: a logarithmic axis has ticks there. Near values have ticks at even steps.
    """
    low, high = float(min(values)), float(max(values))
    if high < 2 * low:
        return list(values)
    round_ones = tens(low, high, (1, 2, 5))
    count = sum(low <= one <= high for one in round_ones)
    below = [one for one in round_ones if one < low][-1:] if count < 3 else []
    above = [one for one in round_ones if one > high][:1] if count + len(below) < 3 else []
    return [*values, *below, *above]


def far_apart(ticks, low, high, most):
    """Without those whose words would lie upon those of the one before."""
    least, kept = math.log(high / low) / (most + 0.3), []
    for tick in ticks:
        if not kept or abs(math.log(tick / kept[-1])) >= least:
            kept.append(tick)
    return kept


def even_ticks(low, high, most):
    """Ticks at equal steps on a logarithmic axis of less than a decade: three if there is room."""
    best, uneven = [], []
    for bins in range(2, 4 * most):
        locator = matplotlib.ticker.MaxNLocator(bins, steps=[1, 2, 5, 10])
        ticks = [tick for tick in locator.tick_values(low, high) if low <= tick <= high]
        for some in (ticks, ticks[::2], ticks[1::2]):
            if some == far_apart(some, low, high, most):
                best = max(best, some, key=len)
        if len(best) >= 3:
            return best
        uneven = max(uneven, far_apart(ticks, low, high, most), key=len)
    return max(best, uneven, key=len)
