/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Groups of flows by size: whole sizes, about the same number in each.
 */
#include "scenarios/traffic/size-groups.h"

#include <algorithm>
#include <gtest/gtest.h>
#include <map>
#include <random>
#include <set>

using namespace scenario;

namespace
{

/// {flows in each group}
std::vector<std::size_t>
Counts(const std::vector<uint64_t>& sizes, uint32_t groups)
{
    std::vector<std::size_t> result;
    for (const SizeGroup& group : GroupBySize(sizes, groups))
    {
        result.push_back(group.end - group.begin);
    }
    return result;
}

using Numbers = std::vector<std::size_t>;

TEST(SizeGroups, NoFlowsNoGroups)
{
    EXPECT_TRUE(GroupBySize({}, 20).empty());
}

TEST(SizeGroups, OneSizeIsOneGroup)
{
    EXPECT_EQ(Counts(std::vector<uint64_t>(1000, 4096), 20), Numbers{1000});
    EXPECT_EQ(Counts({1}, 20), Numbers{1});
}

TEST(SizeGroups, TwoSizesAreTwoGroupsOrOne)
{
    std::vector<uint64_t> sizes(990, 10);
    sizes.resize(1000, 20);
    // The middle ones are flows 494 and 994 of 1,000, of which a group of twenty has 50: 9 and 19.
    EXPECT_EQ(Counts(sizes, 20), (Numbers{990, 10}));
    // Of two groups, 0 to 499 and 500 to 999, as well; one group holds all.
    EXPECT_EQ(Counts(sizes, 2), (Numbers{990, 10}));
    EXPECT_EQ(Counts(sizes, 1), Numbers{1000});
}

/// Where sizes differ these are HPCC's: flows i n / g to (i + 1) n / g - 1, the division cut.
TEST(SizeGroups, DifferentSizesAreCutAtEqualNumbers)
{
    for (const std::size_t n : {1, 2, 7, 19, 20, 21, 100, 1003})
    {
        std::vector<uint64_t> sizes;
        for (std::size_t i = 0; i < n; ++i)
        {
            sizes.push_back(3 * i + 1);
        }
        for (const uint32_t g : {1U, 2U, 3U, 20U, 1000U})
        {
            Numbers expected;
            for (std::size_t i = 0; i < g; ++i)
            {
                if (const std::size_t count = (i + 1) * n / g - i * n / g)
                {
                    expected.push_back(count);
                }
            }
            EXPECT_EQ(Counts(sizes, g), expected) << n << " flows, " << g << " groups";
        }
    }
}

TEST(SizeGroups, HeavyTies)
{
    // 2 of 1 B, 90 of 2 B, 1 each of 3 to 10 B; ten groups of ten: 1 B's middle is flow 0, in
    // group 0; 2 B's is 2 + 89 / 2 = 46, group 4; 3 to 10 B are 92 to 99, group 9.
    std::vector<uint64_t> sizes{1, 1};
    sizes.resize(92, 2);
    for (uint64_t size = 3; size <= 10; ++size)
    {
        sizes.push_back(size);
    }
    EXPECT_EQ(Counts(sizes, 10), (Numbers{2, 90, 8}));
}

/// Of any flows: all in a group, none in two, sizes ascending and whole, at most as many groups as
/// asked for or as sizes, and none larger than its share by as much as two sizes, of which only
/// the middle has to be within it.
TEST(SizeGroups, WholeSizesOfAnyFlows)
{
    std::mt19937_64 random(7);
    for (int round = 0; round < 3000; ++round)
    {
        const std::size_t n = 1 + random() % 200;
        const uint64_t different = 1 + random() % (round % 2 ? 8 : 400);
        const auto groups = static_cast<uint32_t>(1 + random() % 30);
        std::vector<uint64_t> sizes;
        std::map<uint64_t, std::size_t> count;
        for (std::size_t i = 0; i < n; ++i)
        {
            sizes.push_back(random() % different);
            ++count[sizes.back()];
        }
        std::sort(sizes.begin(), sizes.end());
        const auto found = GroupBySize(sizes, groups);
        ASSERT_LE(found.size(), std::min<std::size_t>(groups, count.size()));
        std::size_t next = 0;
        for (const SizeGroup& group : found)
        {
            ASSERT_EQ(group.begin, next);
            ASSERT_LT(group.begin, group.end);
            next = group.end;
            ASSERT_TRUE(next == n || sizes[next - 1] < sizes[next]) << "a size in two groups";
            const std::size_t ends = count[sizes[group.begin]] + count[sizes[next - 1]];
            ASSERT_LE(next - group.begin, n / groups + 1 + ends);
        }
        ASSERT_EQ(next, n);
    }
}

} // namespace
