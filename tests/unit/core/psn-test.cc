/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "contrib/rdma/core/psn.h"

#include <gtest/gtest.h>
#include <random>

using namespace rdma;

TEST(Psn, ComparesAroundTheWrap)
{
    EXPECT_EQ(PsnDistance(5, 3), 2);
    EXPECT_EQ(PsnDistance(3, 5), -2);
    EXPECT_EQ(PsnDistance(0, 0xffffff), 1);
    EXPECT_EQ(PsnDistance(0xffffff, 0), -1);
    EXPECT_EQ(PsnDistance(0x7fffff, 0), 0x7fffff);
    EXPECT_EQ(PsnDistance(0x800000, 0), -0x800000); // half the circle counts as old
    EXPECT_EQ(PsnDistance(0x0, 0x800000), -0x800000);
    EXPECT_TRUE(PsnBefore(0xffffff, 0));
    EXPECT_FALSE(PsnBefore(0, 0xffffff));
    EXPECT_FALSE(PsnBefore(7, 7));
}

TEST(Psn, ExtendsToTheNearestCount)
{
    EXPECT_EQ(ExtendPsn(0, 0), 0u);
    EXPECT_EQ(ExtendPsn(1, 0x1000000), 0x1000001u);
    EXPECT_EQ(ExtendPsn(0xffffff, 0x1000000), 0xffffffu);
    EXPECT_EQ(ExtendPsn(0xffffff, 0), 0xffffffu); // nothing below zero
    EXPECT_EQ(ExtendPsn(0xffffff, 5), 0xffffffu);
    EXPECT_EQ(ExtendPsn(0, 0x800000), 0u); // a tie: the older
    EXPECT_EQ(ExtendPsn(0, 0x800001), 0x1000000u);
    std::mt19937_64 random(1);
    for (int i = 0; i < 100000; ++i)
    {
        const uint64_t expected = (random() >> (random() % 40 + 2)) + (1 << 23);
        const int64_t offset = static_cast<int64_t>(random() % (1 << 24)) - (1 << 23);
        const uint64_t counter = expected + static_cast<uint64_t>(offset);
        ASSERT_EQ(ExtendPsn(WirePsn(counter), expected), counter);
    }
}
