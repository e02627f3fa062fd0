/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "contrib/rdma/core/packet-set.h"

#include <gtest/gtest.h>
#include <random>
#include <set>

using rdma::PacketSet;

// Against a set, for windows that do and do not fill their words, wherever they begin.
TEST(PacketSet, IsASet)
{
    std::mt19937_64 random(7);
    for (const uint64_t capacity : {1ULL, 2ULL, 63ULL, 64ULL, 65ULL, 127ULL, 130ULL, 1000ULL})
    {
        for (const uint64_t start : {0ULL, 1ULL, 63ULL, 64ULL, 1000003ULL})
        {
            uint64_t base = start;
            PacketSet packets(base, capacity);
            std::set<uint64_t> expected;
            for (int step = 0; step < 2000; ++step)
            {
                const uint64_t n = base + random() % capacity;
                switch (random() % 4)
                {
                case 0:
                case 1:
                    ASSERT_EQ(packets.Insert(n), expected.insert(n).second);
                    break;
                case 2:
                    packets.Erase(n);
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
                    ASSERT_EQ(packets.First(), *expected.begin());
                }
                const uint64_t look = base + random() % capacity;
                ASSERT_EQ(packets.Has(look), expected.count(look) == 1);
                ASSERT_TRUE(packets.Covers(look));
            }
            EXPECT_FALSE(packets.Covers(base + capacity));
            EXPECT_FALSE(packets.Has(base + capacity));
            if (base)
            {
                EXPECT_FALSE(packets.Covers(base - 1));
            }
        }
    }
}
