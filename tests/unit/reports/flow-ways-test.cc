/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * FlowWays: pairs of flows that share a link while another of the same choice is empty.
 */
#include "reports/attribution/flow-ways.h"

#include <algorithm>
#include <gtest/gtest.h>
#include <random>

namespace reports
{
namespace
{

MessageParts
Through(const std::vector<uint32_t>& ends)
{
    MessageParts parts;
    for (const uint32_t end : ends)
    {
        parts.hops.emplace_back().port = end;
    }
    return parts;
}

TEST(FlowWays, OnlyBesideAnEmptyLink)
{
    FlowWays ways;
    EXPECT_EQ(ways.CountCollisions({{1, 2}}), 0u);
    for (uint64_t flow = 0; flow < 3; ++flow)
    {
        ways.Add(flow, Through({0, 1, 9}));
        ways.Add(flow, Through({0, 2, 9})); // another message: the flow is known
    }
    EXPECT_EQ(ways.CountCollisions({{1, 2}}), 3u); // 3 flows on one of two links
    EXPECT_EQ(ways.CountCollisions({{1, 2}, {1, 3}}), 3u) << "the link counts once";
    EXPECT_EQ(ways.CountCollisions({{2, 3}}), 0u);
    ways.Add(7, Through({0, 2, 9}));
    EXPECT_EQ(ways.CountCollisions({{1, 2}}), 0u) << "none is empty";
    EXPECT_EQ(ways.CountCollisions({{1, 2, 3}}), 3u);
    ways.Clear();
    EXPECT_EQ(ways.CountCollisions({{1, 2, 3}}), 0u);
}

// What runs at another time neither shares a link nor takes what is empty: 3 pairs of the first,
// then 1, and none.
TEST(FlowWays, OfThoseThatDoNotMeetTheMost)
{
    FlowWays ways(5);
    for (uint64_t flow = 0; flow < 3; ++flow)
    {
        ways.Add(flow, Through({1}));
    }
    ways.Next();
    EXPECT_EQ(ways.CountCollisions({{1, 2}}), 3u);
    ways.Add(0, Through({2})); // known from before, and has another way now
    ways.Add(1, Through({2}));
    EXPECT_EQ(ways.CountCollisions({{1, 2}}), 3u);
    ways.Next();
    ways.Next();
    ways.Add(9, Through({1}));
    EXPECT_EQ(ways.CountCollisions({{1, 2}}), 3u);
    for (uint64_t flow = 10; flow < 15; ++flow)
    {
        ways.Add(flow, Through({4}));
    }
    ways.Next();
    EXPECT_EQ(ways.CountCollisions({{1, 2}}), std::nullopt) << "too many of one of them";
    ways.Clear();
    EXPECT_EQ(ways.CountCollisions({{1, 2}}), 0u);
}

TEST(FlowWays, OfTooManyFlowsNothingIsSaid)
{
    FlowWays ways(5);
    for (uint64_t flow = 0; flow < 5; ++flow)
    {
        ways.Add(flow, Through({1}));
    }
    EXPECT_EQ(ways.CountCollisions({{1, 2}}), 10u);
    ways.Add(5, Through({1}));
    EXPECT_EQ(ways.CountCollisions({{1, 2}}), std::nullopt);
}

/// By chance, n flows on m links. P(no pair shares and none is empty) apart: where a link is empty,
/// pairs that share are sum over links of C(n_l, 2), and else 0.
TEST(FlowWays, ByChance)
{
    std::mt19937 random(7);
    for (const auto& [n, m] : {std::pair<uint32_t, uint32_t>{2, 2}, {3, 2}, {5, 4}, {17, 7}})
    {
        for (int trial = 0; trial < 20; ++trial)
        {
            FlowWays ways;
            std::vector<uint32_t> links;
            std::vector<uint32_t> chosen(m, 0);
            for (uint32_t l = 0; l < m; ++l)
            {
                links.push_back(10 + l);
            }
            uint64_t together = 0;
            for (uint64_t flow = 0; flow < n; ++flow)
            {
                const uint32_t l = random() % m;
                together += chosen[l]++; // with each that is there
                ways.Add(flow, Through({0, 10 + l}));
            }
            const bool empty = std::count(chosen.begin(), chosen.end(), 0) > 0;
            EXPECT_EQ(ways.CountCollisions({links}), empty ? together : 0);
        }
    }
}

} // namespace
} // namespace reports
