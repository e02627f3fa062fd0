// SPDX-License-Identifier: GPL-2.0-only
#include "reports/base/quantile-sketch.h"

#include <gtest/gtest.h>
#include <random>
#include <vector>

namespace reports
{
namespace
{

TEST(Quantiles, OfNoValuesAreZero)
{
    EXPECT_EQ(QuantileSketch().Quantile(0.5), 0);
}

// 1 .. 1000 in any order: the quantile p is 1000 p.
TEST(Quantiles, AreExactByNearestRankAndThenWithinAFifthOfAPercent)
{
    std::vector<double> values;
    for (int i = 1; i <= 1000; ++i)
    {
        values.push_back(i);
    }
    std::mt19937 random(1);
    for (std::size_t i = values.size(); i > 1; --i)
    {
        std::swap(values[i - 1], values[random() % i]);
    }
    QuantileSketch exact;
    QuantileSketch coarse(100);
    for (const double v : values)
    {
        exact.Add(v);
        coarse.Add(v);
    }
    EXPECT_TRUE(exact.IsExact()) << "1000 values are few";
    EXPECT_FALSE(coarse.IsExact()) << "more than its limit of 100";
    for (const double p : {0.001, 0.5, 0.9, 0.99, 0.999, 1.0})
    {
        EXPECT_EQ(exact.Quantile(p), 1000 * p) << "nearest rank";
        EXPECT_NEAR(coarse.Quantile(p), 1000 * p, 0.002 * 1000 * p) << "bucket";
    }
    EXPECT_EQ(coarse.Max(), 1000) << "the largest stays exact";
    EXPECT_EQ(coarse.Mean(), 500.5) << "the mean stays exact";
    exact.Add(2000); // after it was asked
    EXPECT_EQ(exact.Quantile(1), 2000) << "values may come after a question";
}

TEST(Quantiles, ReachFromNanosecondsToHours)
{
    QuantileSketch wide(1); // ps
    wide.Add(1e3);
    wide.Add(3.6e15);
    wide.Add(3.6e15);
    EXPECT_NEAR(wide.Quantile(0.3), 1e3, 2);
    EXPECT_EQ(wide.Quantile(0.9), 3.6e15);
}

} // namespace
} // namespace reports
