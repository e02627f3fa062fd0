# SPDX-License-Identifier: GPL-2.0-only
# ctest: TIMEOUT 600
"""Hashed flows against balls in bins, in whole runs: how often no two meet, and the busiest link,
on fat-trees of several sizes and leaf-spines where flows and ways are not as many; by many seeds.
"""

import itertools
import math
import random
import sys
from collections import Counter, defaultdict

sys.path.append(sys.path[0] + "/../shared")
from _system_test import SystemTest, main

QUIET = " --report=0 --timeline=0 --progress=0 --bytes=4kB --trace-paths=all"


def exact(flows, ways):
    """(P(no two meet), expected busiest, its variance), by all ways^flows draws, where a draw
    counts by its occupancies alone.
    """
    chance = defaultdict(float)
    # How many ways each have so many flows: (occupancies) -> number of draws that make them.
    for parts in partitions(flows, ways):
        draws = math.factorial(flows)
        for part in parts:
            draws //= math.factorial(part)
        counts = Counter(parts)
        counts[0] = ways - len(parts)
        orders = math.factorial(ways)
        for count in counts.values():
            orders //= math.factorial(count)
        chance[max(parts)] += draws * orders / ways**flows
    assert math.isclose(sum(chance.values()), 1)
    mean = sum(most * p for most, p in chance.items())
    variance = sum(most**2 * p for most, p in chance.items()) - mean**2
    return chance.get(1, 0.0), mean, variance


def partitions(total, most_parts, largest=None):
    """Of a number into at most so many parts, the larger ones first."""
    if total == 0:
        yield ()
        return
    for part in range(min(total, largest or total), 0, -1):
        if most_parts:
            for rest in partitions(total - part, most_parts - 1, part):
                yield (part, *rest)


class HashedFlows(SystemTest):
    def test_the_closed_form_itself(self):
        # Counted one by one, and drawn where they are too many.
        for flows, ways in ((1, 3), (2, 2), (3, 2), (3, 4), (5, 3), (4, 4)):
            most = [
                max(Counter(draw).values())
                for draw in itertools.product(range(ways), repeat=flows)
            ]
            apart, mean, _ = exact(flows, ways)
            self.assertAlmostEqual(mean, sum(most) / len(most))
            self.assertAlmostEqual(apart, most.count(1) / len(most))
        draw = random.Random(1)
        for flows, ways in ((16, 16), (40, 8)):
            most = [
                max(Counter(draw.randrange(ways) for _ in range(flows)).values())
                for _ in range(4000)
            ]
            _, mean, variance = exact(flows, ways)
            self.assertLess(abs(sum(most) / 4000 - mean), 5 * math.sqrt(variance / 4000))

    def check(self, network, leaving, ways, first, seeds):
        """\\param leaving flows that leave each edge switch \\param first begins the names of edge
        switches
        """
        busiest = []
        for seed in seeds:
            run = self.run_program(f"traffic {network} --seed={seed}{QUIET}")
            links = defaultdict(Counter)
            for row in run.rows("paths.csv"):
                _, edge, above, *_ = row["path"].split("->")
                self.assertTrue(edge.startswith(first), row["path"])
                links[edge][above] += row["messages"]
            for edge, loads in links.items():
                self.assertEqual(sum(loads.values()), leaving, edge)
                self.assertLessEqual(len(loads), ways)
                busiest.append(max(loads.values()))
        apart, mean, variance = exact(leaving, ways)
        draws = len(busiest)
        # Switches have seeds of their own, so the draws are independent: 5 standard errors.
        self.assertLess(
            abs(sum(busiest) / draws - mean),
            5 * math.sqrt(max(0, variance) / draws) + 1e-9,
            (network, draws),
        )
        self.assertLess(
            abs(busiest.count(1) / draws - apart),
            5 * math.sqrt(apart * (1 - apart) / draws) + 1e-9,
            (network, draws),
        )

    def test_permutations_on_fat_trees(self):
        # Every host of an edge switch sends to another pod: k/2 flows on k/2 ways.
        for k, seeds in ((4, 20), (6, 12), (8, 8)):
            offset = k * k // 4
            self.check(
                f"--topology=fat-tree --k={k} --pattern=permutation --offset={offset}",
                k // 2,
                k // 2,
                "edge-",
                range(1, seeds + 1),
            )

    def test_other_numbers_of_flows_and_ways(self):
        # hosts of a leaf on spines: fewer, more, primes.
        for hosts, spines in ((1, 4), (3, 7), (7, 3), (5, 5), (8, 2)):
            self.check(
                f"--topology=leaf-spine --leaves=6 --hosts={6 * hosts} --hosts-per-leaf={hosts}"
                f" --spines={spines} --pattern=permutation --offset={hosts}",
                hosts,
                spines,
                "leaf-",
                range(1, 13),
            )


if __name__ == "__main__":
    main()
