/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * How even links were used, as numbers.
 */
#include "reports/stats/load-spread.h"

#include <cmath>
#include <gtest/gtest.h>
#include <random>

using namespace reports;

TEST(LoadSpread, EvenAndOneHasAll)
{
    for (const size_t n : {1, 2, 3, 7, 16, 33})
    {
        const LoadSpread even = SpreadOf(std::vector<double>(n, 0.1));
        EXPECT_NEAR(even.maxOverMean, 1, 1e-12);
        EXPECT_NEAR(even.cov, 0, 1e-7);
        EXPECT_NEAR(even.jain, 1, 1e-12);
        std::vector<double> one(n, 0);
        one[n / 2] = 5;
        const LoadSpread all = SpreadOf(one);
        EXPECT_NEAR(all.maxOverMean, static_cast<double>(n), 1e-9);
        EXPECT_NEAR(all.jain, 1. / static_cast<double>(n), 1e-12);
        // sum (x - mean)^2 / n = mean^2 (n - 1).
        EXPECT_NEAR(all.cov, std::sqrt(static_cast<double>(n) - 1), 1e-9);
        EXPECT_EQ(SpreadOf(std::vector<double>(n, 0)).maxOverMean, 1);
    }
}

TEST(LoadSpread, JainFollowsFromTheVariation)
{
    std::mt19937 random(3);
    for (int i = 0; i < 200; ++i)
    {
        std::vector<double> loads(1 + random() % 20);
        for (double& load : loads)
        {
            load = static_cast<double>(random() % 1000);
        }
        loads[0] += 1;
        const LoadSpread spread = SpreadOf(loads);
        EXPECT_NEAR(spread.jain, 1 / (1 + spread.cov * spread.cov), 1e-9);
        EXPECT_GE(spread.maxOverMean, 1 - 1e-12);
        EXPECT_LE(spread.maxOverMean, static_cast<double>(loads.size()) + 1e-9);
    }
}

TEST(LoadSpread, TiersWeighSetsByTheirBytes)
{
    const auto set = [](uint32_t tier, uint32_t node, double bytes, double most) {
        LinkSetLoad s;
        s.tier = tier;
        s.node = node;
        s.links = 2;
        s.bytes = bytes;
        s.spread = {most, 0, 1};
        return s;
    };
    const auto tiers = TiersOf({set(2, 1, 10, 1.5),
                                set(1, 0, 300, 1.2),
                                set(1, 2, 100, 1.6),
                                set(1, 3, 0, 1),
                                set(1, 4, 160, 1.4)},
                               {"a", "b", "c", "d", "e"});
    ASSERT_EQ(tiers.size(), 2U);
    EXPECT_EQ(tiers[0].tier, 1U);
    EXPECT_EQ(tiers[0].sets, 3U);
    EXPECT_EQ(tiers[0].links, 6U);
    // (300 x 1.2 + 100 x 1.6 + 160 x 1.4) / 560
    EXPECT_NEAR(tiers[0].mean.maxOverMean, 744. / 560, 1e-12);
    EXPECT_EQ(tiers[0].where, "e") << "of those with 150 bytes or more";
    EXPECT_EQ(tiers[0].worst, 1.4);
    EXPECT_EQ(tiers[1].where, "b");
    EXPECT_TRUE(TiersOf({}, {}).empty());
}
