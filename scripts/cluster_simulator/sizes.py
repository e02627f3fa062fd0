# SPDX-License-Identifier: GPL-2.0-only
"""Which sizes of messages count as one: one rule for scripts/plot, the notebook and the report.

No import of anything that is not Python's own: scripts/report runs at the end of every simulation.
"""

# Sizes next to one another that are nearer are one; from the smallest to the largest of them at
# most NEAR^4.
NEAR = 1.05


def merged(sizes):
    """For each of these ascending sizes the smallest of those that count as one with it.

    What a collective cuts into parts differs by a few bytes (67,448 and 67,449 of 202,346 for three
    ranks).
    """
    first, before, firsts = 0, 0, []
    for size in sizes:
        if not firsts or size > before * NEAR or size > first * NEAR**4:
            first = size
        before = size
        firsts.append(first)
    return firsts
