/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "contrib/rdma/core/connection-numbers.h"
#include "contrib/rdma/core/flow-hash.h"
#include "contrib/rdma/core/number-table.h"

#include <gtest/gtest.h>
#include <random>
#include <set>
#include <unordered_map>

namespace
{

TEST(NumberTable, DoesWhatAMapDoes)
{
    // Keys of few values, in clusters and far apart, so that probes collide and wrap.
    for (const uint32_t stride : {1U, 2U, 1U << 16, 0x9e3779b9U})
    {
        rdma::NumberTable<uint64_t> table;
        std::unordered_map<uint32_t, uint64_t> map;
        std::mt19937 random(stride);
        for (uint32_t i = 0; i < 20000; ++i)
        {
            const uint32_t key = (random() % 300 + 1) * stride;
            if (key == 0)
            {
                continue;
            }
            switch (random() % 3)
            {
            case 0:
                table[key] = map[key] = i;
                break;
            case 1:
                ASSERT_EQ(table.Erase(key), map.erase(key) == 1);
                break;
            default:
                const uint64_t* value = table.Find(key);
                const auto known = map.find(key);
                ASSERT_EQ(value != nullptr, known != map.end());
                if (value)
                {
                    ASSERT_EQ(*value, known->second);
                }
            }
            ASSERT_EQ(table.Size(), map.size());
        }
    }
}

TEST(NumberTable, AnEmptyOneHasNothing)
{
    rdma::NumberTable<int> table;
    EXPECT_EQ(table.Find(2), nullptr);
    EXPECT_FALSE(table.Erase(2));
    EXPECT_EQ(table[7], 0) << "as Value's default";
}

TEST(ConnectionNumbers, EachIsOnceAndBothEndsAgree)
{
    for (const uint32_t endpoints : {1U, 2U, 3U, 17U, 1000U})
    {
        const rdma::ConnectionNumbers numbers(endpoints);
        const uint32_t self = endpoints - 1;
        std::set<uint32_t> seen;
        for (uint32_t peer = 0; peer < endpoints; ++peer)
        {
            for (const uint32_t slot : {0U, 1U, 5U, numbers.MostSlots() - 1})
            {
                const uint32_t active = numbers.Active(peer, slot);   // here
                const uint32_t passive = numbers.Passive(self, slot); // there
                EXPECT_TRUE(seen.insert(active).second);
                EXPECT_TRUE(seen.insert(numbers.Passive(peer, slot)).second);
                EXPECT_GE(active, 2U);
                EXPECT_LE(numbers.Passive(peer, slot), 0xffffffU) << "24 bits";
                EXPECT_EQ(numbers.Other(self, active), passive);
                EXPECT_EQ(numbers.Other(peer, passive), active);
                const auto place = numbers.At(active);
                EXPECT_EQ(place.peer, peer);
                EXPECT_EQ(place.slot, slot);
                EXPECT_TRUE(place.active);
                EXPECT_FALSE(numbers.At(passive).active);
            }
        }
    }
}

TEST(RoceSourcePortOfName, LiesInTheRangeAndSpreads)
{
    // 16,384 names over as many ports: if they fall as balls into bins, a share 1 - 1/e = 63% of
    // the ports is hit; 3 sigma of that count is below 1.2%.
    std::set<uint16_t> ports;
    for (uint64_t name = 0; name < 16384; ++name)
    {
        const uint16_t port = rdma::RoceSourcePortOfName(name, false);
        ASSERT_GE(port, 0xC000);
        ports.insert(port);
    }
    EXPECT_NEAR(static_cast<double>(ports.size()) / 16384, 0.632, 0.012);
    EXPECT_NE(rdma::RoceSourcePortOfName(1, false), rdma::RoceSourcePortOfName(1, true));
}

} // namespace
