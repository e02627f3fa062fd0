// SPDX-License-Identifier: GPL-2.0-only
#include "contrib/rdma/core/look-ahead.h"

#include <gtest/gtest.h>
#include <random>

namespace
{

using rdma::SplitDelay;

TEST(LookAhead, HalfForCollectingHalfForTheWay)
{
    const auto split = SplitDelay(1000000);
    ASSERT_TRUE(split);
    EXPECT_EQ(split->holdPs, 500000);
    EXPECT_EQ(split->lookAheadPs, 500000);
}

TEST(LookAhead, TheShortestDelaysLeaveNothingToCollectIn)
{
    EXPECT_FALSE(SplitDelay(0));
    EXPECT_FALSE(SplitDelay(-5));
    const auto one = SplitDelay(1);
    ASSERT_TRUE(one);
    EXPECT_EQ(one->holdPs, 0);
    EXPECT_EQ(one->lookAheadPs, 1);
    // 1 ns resolution: a tick for the look-ahead, and one that an event may come late.
    EXPECT_FALSE(SplitDelay(1000, 1000));
    EXPECT_FALSE(SplitDelay(1999, 1000));
    const auto two = SplitDelay(2000, 1000);
    ASSERT_TRUE(two);
    EXPECT_EQ(two->holdPs, 0);
    EXPECT_EQ(two->lookAheadPs, 1000);
}

TEST(LookAhead, AnyShareLeavesALookAhead)
{
    for (const double share : {0.0, 0.3, 1.0, 7.0, -1.0})
    {
        const auto split = SplitDelay(100, 1, share);
        ASSERT_TRUE(split);
        EXPECT_GE(split->holdPs, 0);
        EXPECT_GE(split->lookAheadPs, 1);
        EXPECT_EQ(split->holdPs + split->lookAheadPs, 100);
    }
}

// The law it is for: what is collected at any time of the hold and sent at its end is received
// before the frame arrives, even if the event of the frame came a tick late.
TEST(LookAhead, WhatIsSentAtTheEndOfTheHoldIsInTime)
{
    std::mt19937_64 random(3);
    for (int i = 0; i < 100000; ++i)
    {
        const int64_t tick = i % 2 ? 1 : 1000;
        const int64_t delay = static_cast<int64_t>(random() >> (2 + random() % 60));
        const auto split = SplitDelay(delay, tick, static_cast<double>(random() % 101) / 100);
        if (!split)
        {
            EXPECT_LT(delay, tick == 1 ? 1 : 2 * tick);
            continue;
        }
        EXPECT_EQ(split->holdPs % tick, 0);
        EXPECT_EQ(split->lookAheadPs % tick, 0);
        EXPECT_GT(split->lookAheadPs, 0);
        EXPECT_GE(split->holdPs, 0);
        const int64_t late = tick - 1; // from the exact time to the tick of its event
        EXPECT_LE(late + split->holdPs + split->lookAheadPs, delay);
    }
}

} // namespace
