/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "scenarios/traffic/flow-pairs.h"

#include <cstdint>
#include <gtest/gtest.h>
#include <map>
#include <tuple>
#include <vector>

using namespace scenario;

namespace
{

std::vector<Flow>
Flows(const std::vector<std::tuple<uint32_t, uint32_t, uint8_t>>& pairs)
{
    std::vector<Flow> flows;
    for (const auto& [src, dst, priority] : pairs)
    {
        flows.emplace_back();
        flows.back().src = src;
        flows.back().dst = dst;
        flows.back().priority = priority;
    }
    return flows;
}

TEST(FlowPairs, LaneIsTheNumberAmongThoseOfItsPair)
{
    // Back and forth are two pairs; so are two priorities.
    const auto flows = Flows({{1, 2, 3}, {2, 1, 3}, {1, 2, 3}, {1, 2, 4}, {1, 2, 3}, {2, 1, 3}});
    EXPECT_EQ(LanesOf(flows), (std::vector<uint32_t>{0, 0, 1, 0, 2, 1}));
    EXPECT_TRUE(LanesOf({}).empty());
}

TEST(FlowPairs, LaneDoesNotDependOnOtherPairs)
{
    auto flows = Flows({{7, 2, 3}, {7, 2, 3}});
    const auto alone = LanesOf(flows);
    const auto others = Flows({{7, 3, 3}, {0, 2, 3}, {2, 7, 3}});
    flows.insert(flows.begin() + 1, others.begin(), others.end());
    const auto among = LanesOf(flows);
    EXPECT_EQ(among.front(), alone.front());
    EXPECT_EQ(among.back(), alone.back());
}

TEST(FlowPairs, EachPairIsWalkedInTheOrderOfTheList)
{
    // 997 flows of 5 x 5 x 2 pairs, in some order.
    std::vector<std::tuple<uint32_t, uint32_t, uint8_t>> list;
    for (uint32_t i = 0; i < 997; ++i)
    {
        list.emplace_back(i * 7 % 5, i * i % 5, i * 3 % 11 % 2);
    }
    const auto flows = Flows(list);
    std::map<std::tuple<uint32_t, uint32_t, uint8_t>, std::vector<uint32_t>> expected;
    for (uint32_t i = 0; i < list.size(); ++i)
    {
        expected[list[i]].push_back(i);
    }
    const FlowPairs pairs(flows);
    ASSERT_EQ(pairs.first.size(), expected.size());
    for (uint32_t pair = 0; pair < pairs.first.size(); ++pair)
    {
        uint32_t flow = pairs.first[pair];
        const std::vector<uint32_t>& of = expected.at(list[flow]);
        for (std::size_t k = 0; k < of.size(); ++k)
        {
            ASSERT_EQ(flow, of[k]);
            EXPECT_EQ(pairs.pairOf[flow], pair);
            flow = pairs.next[flow];
        }
        EXPECT_EQ(flow, of.back()) << "nothing follows";
    }
}

} // namespace
