/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "contrib/rdma/core/receive-bitmap.h"

#include <gtest/gtest.h>
#include <random>
#include <set>

using rdma::ReceiveBitmap;

TEST(ReceiveBitmap, CoversItsWindow)
{
    ReceiveBitmap bitmap(100, 10);
    EXPECT_FALSE(bitmap.Covers(99));
    EXPECT_TRUE(bitmap.Covers(100));
    EXPECT_TRUE(bitmap.Covers(109));
    EXPECT_FALSE(bitmap.Covers(110));
    EXPECT_EQ(bitmap.Count(), 0U);
}

TEST(ReceiveBitmap, SetsOnce)
{
    ReceiveBitmap bitmap(0, 64);
    EXPECT_TRUE(bitmap.Set(63));
    EXPECT_FALSE(bitmap.Set(63));
    EXPECT_TRUE(bitmap.Test(63));
    EXPECT_FALSE(bitmap.Test(62));
    EXPECT_EQ(bitmap.Count(), 1U);
}

TEST(ReceiveBitmap, FirstClearStopsAtTheLimitAndAtTheEndOfTheWindow)
{
    ReceiveBitmap bitmap(60, 10); // across two words
    for (uint64_t n = 60; n < 70; ++n)
    {
        bitmap.Set(n);
    }
    EXPECT_EQ(bitmap.FirstClear(60, 65), 65U);
    EXPECT_EQ(bitmap.FirstClear(60, 100), 70U); // not covered: clear
    EXPECT_EQ(bitmap.FirstClear(60, 60), 60U);  // nothing to look at
}

TEST(ReceiveBitmap, AdvancingFarForgetsAll)
{
    ReceiveBitmap bitmap(0, 100);
    bitmap.Set(3);
    bitmap.Set(99);
    bitmap.AdvanceTo(1000000);
    EXPECT_EQ(bitmap.Count(), 0U);
    EXPECT_EQ(bitmap.FirstClear(1000000, 1000100), 1000000U);
}

// Against a std::set, with windows of all sizes around the words' and beyond the 24-bit wrap.
TEST(ReceiveBitmap, EqualsAReferenceOverRandomOperations)
{
    std::mt19937_64 random(1);
    for (const uint64_t capacity : {1, 2, 3, 18, 63, 64, 65, 127, 128, 129, 1000})
    {
        const uint64_t start = (1ULL << 24) - 40;
        ReceiveBitmap bitmap(start, capacity);
        std::set<uint64_t> reference;
        uint64_t base = start;
        for (int i = 0; i < 20000; ++i)
        {
            const uint64_t n = base + random() % capacity;
            switch (random() % 4)
            {
            case 0:
            case 1:
                ASSERT_EQ(bitmap.Set(n), reference.insert(n).second);
                break;
            case 2: {
                const uint64_t limit = n + random() % (capacity + 3);
                uint64_t expected = n;
                while (expected < limit && reference.count(expected))
                {
                    ++expected;
                }
                ASSERT_EQ(bitmap.FirstClear(n, limit), expected) << capacity;
                ASSERT_EQ(bitmap.Test(n), reference.count(n) == 1);
                break;
            }
            default:
                base += random() % 8 ? random() % 3 : random() % (2 * capacity);
                bitmap.AdvanceTo(base);
                reference.erase(reference.begin(), reference.lower_bound(base));
            }
            ASSERT_EQ(bitmap.Count(), reference.size()) << capacity;
            ASSERT_EQ(bitmap.Base(), base);
        }
    }
}

// Against a set, for windows that do and do not fill their words, wherever they begin.
TEST(ReceiveBitmap, IsASetWhoseFirstCanBeFound)
{
    std::mt19937_64 random(7);
    for (const uint64_t capacity : {1ULL, 2ULL, 63ULL, 64ULL, 65ULL, 127ULL, 130ULL, 1000ULL})
    {
        for (const uint64_t start : {0ULL, 1ULL, 63ULL, 64ULL, 1000003ULL})
        {
            uint64_t base = start;
            ReceiveBitmap packets(base, capacity);
            std::set<uint64_t> expected;
            for (int step = 0; step < 2000; ++step)
            {
                const uint64_t n = base + random() % capacity;
                switch (random() % 4)
                {
                case 0:
                case 1:
                    ASSERT_EQ(packets.Set(n), expected.insert(n).second);
                    break;
                case 2:
                    packets.Clear(n);
                    expected.erase(n);
                    break;
                default:
                    base += random() % (random() % 8 ? 3 : 2 * capacity);
                    packets.AdvanceTo(base);
                    expected.erase(expected.begin(), expected.lower_bound(base));
                }
                ASSERT_EQ(packets.Count(), expected.size());
                ASSERT_EQ(packets.IsEmpty(), expected.empty());
                if (!expected.empty())
                {
                    ASSERT_EQ(packets.FirstSet(), *expected.begin());
                }
                const uint64_t look = base + random() % capacity;
                ASSERT_EQ(packets.Test(look), expected.count(look) == 1);
                ASSERT_TRUE(packets.Covers(look));
            }
            EXPECT_FALSE(packets.Covers(base + capacity));
            EXPECT_FALSE(packets.Test(base + capacity));
            if (base)
            {
                EXPECT_FALSE(packets.Covers(base - 1));
            }
        }
    }
}
