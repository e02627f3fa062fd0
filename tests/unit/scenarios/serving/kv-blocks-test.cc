/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * KV blocks belong to one request or to none, whatever grows and shrinks.
 */
#include "scenarios/inference/kv-blocks.h"
#include "scenarios/traffic/random.h"

#include <gtest/gtest.h>
#include <set>
#include <vector>

using serving::BlockTable;
using serving::KvBlocks;

TEST(KvBlocks, RoundUpToWholeBlocks)
{
    const KvBlocks blocks(10, 16);
    EXPECT_EQ(blocks.BlocksFor(0), 0U);
    EXPECT_EQ(blocks.BlocksFor(1), 1U);
    EXPECT_EQ(blocks.BlocksFor(16), 1U);
    EXPECT_EQ(blocks.BlocksFor(17), 2U);
}

TEST(KvBlocks, GrowsWhollyOrNotAtAll)
{
    KvBlocks blocks(3, 4);
    BlockTable first;
    BlockTable second;
    EXPECT_TRUE(blocks.Grow(&first, 8)); // 2 of 3
    const BlockTable before = first;
    EXPECT_FALSE(blocks.Grow(&second, 5)); // 2 of 1
    EXPECT_TRUE(second.empty());
    EXPECT_FALSE(blocks.Grow(&first, 13)); // 2 more
    EXPECT_EQ(first, before);
    EXPECT_TRUE(blocks.Grow(&first, 3)); // it has them
    EXPECT_EQ(first, before);
    EXPECT_EQ(blocks.FreeCount(), 1U);
    EXPECT_EQ(blocks.Peak(), 2U);
}

TEST(KvBlocks, NoTwoRequestsShareABlock)
{
    for (uint64_t seed = 0; seed < 40; ++seed)
    {
        scenario::Random random(seed);
        const auto all = 1 + random.Below(60);
        const auto tokens = static_cast<uint32_t>(1 + random.Below(20));
        KvBlocks blocks(all, tokens);
        std::vector<BlockTable> tables(1 + random.Below(8));
        uint64_t peak = 0;
        for (uint32_t step = 0; step < 400; ++step)
        {
            BlockTable& table = tables[random.Below(tables.size())];
            const uint64_t wanted = random.Below(all * tokens + 1);
            const BlockTable before = table;
            const uint64_t free = blocks.FreeCount();
            const uint64_t needs = (wanted + tokens - 1) / tokens;
            switch (random.Below(4))
            {
            case 0:
                blocks.Free(&table);
                ASSERT_TRUE(table.empty());
                break;
            case 1:
                // The first blocks stay as they are.
                blocks.Trim(&table, wanted);
                ASSERT_EQ(table.size(), std::min<uint64_t>(before.size(), needs));
                ASSERT_TRUE(std::equal(table.begin(), table.end(), before.begin()));
                break;
            default:
                const bool fits = needs <= before.size() + free;
                ASSERT_EQ(blocks.Grow(&table, wanted), fits);
                ASSERT_EQ(table.size(),
                          fits ? std::max<uint64_t>(before.size(), needs) : before.size());
                ASSERT_TRUE(std::equal(before.begin(), before.end(), table.begin()));
            }
            std::set<uint32_t> owned;
            uint64_t sum = 0;
            for (const BlockTable& one : tables)
            {
                owned.insert(one.begin(), one.end());
                sum += one.size();
            }
            ASSERT_EQ(owned.size(), sum) << "a block has two owners";
            ASSERT_TRUE(owned.empty() || *owned.rbegin() < all);
            ASSERT_EQ(blocks.Used(), sum);
            ASSERT_EQ(blocks.Used() + blocks.FreeCount(), blocks.All());
            peak = std::max(peak, sum);
            ASSERT_EQ(blocks.Peak(), peak);
        }
    }
}
