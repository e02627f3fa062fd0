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

using Flows = std::vector<FlowEnds>;

TEST(FlowPairs, LaneIsTheNumberAmongThoseOfItsPair)
{
    // Back and forth are two pairs; so are two priorities.
    const Flows flows = {{1, 2, 3}, {2, 1, 3}, {1, 2, 3}, {1, 2, 4}, {1, 2, 3}, {2, 1, 3}};
    EXPECT_EQ(LanesOf(flows), (std::vector<uint32_t>{0, 0, 1, 0, 2, 1}));
    EXPECT_TRUE(LanesOf({}).empty());
}

TEST(FlowPairs, LaneDoesNotDependOnOtherPairs)
{
    Flows flows = {{7, 2, 3}, {7, 2, 3}};
    const auto alone = LanesOf(flows);
    const Flows others = {{7, 3, 3}, {0, 2, 3}, {2, 7, 3}};
    flows.insert(flows.begin() + 1, others.begin(), others.end());
    const auto among = LanesOf(flows);
    EXPECT_EQ(among.front(), alone.front());
    EXPECT_EQ(among.back(), alone.back());
}

TEST(FlowPairs, EachPairIsWalkedInTheOrderOfTheList)
{
    // 997 flows of 5 x 5 x 2 pairs, in some order.
    const auto key = [](const FlowEnds& of) {
        return std::make_tuple(of.src, of.dst, of.priority);
    };
    Flows flows;
    for (uint32_t i = 0; i < 997; ++i)
    {
        flows.push_back({i * 7 % 5, i * i % 5, static_cast<uint8_t>(i * 3 % 11 % 2)});
    }
    std::map<std::tuple<uint32_t, uint32_t, uint8_t>, std::vector<uint32_t>> expected;
    for (uint32_t i = 0; i < flows.size(); ++i)
    {
        expected[key(flows[i])].push_back(i);
    }
    const FlowPairs pairs(flows);
    ASSERT_EQ(pairs.first.size(), expected.size());
    for (uint32_t pair = 0; pair < pairs.first.size(); ++pair)
    {
        uint32_t flow = pairs.first[pair];
        const std::vector<uint32_t>& of = expected.at(key(flows[flow]));
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
