/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Capacities of ways and the weights that WCMP makes of them, against arithmetic by hand.
 */
#include "contrib/rdma/core/wcmp-weights.h"

#include <gtest/gtest.h>
#include <vector>

using namespace rdma;

namespace
{

constexpr uint64_t kGbps = 1000000000;

/// \return of the ways from a switch to an edge: Gb/s by port, 0 where there is no way
std::vector<uint64_t>
WaysOf(const PathCapacity& capacity, uint32_t node, uint32_t edge, uint32_t ports)
{
    std::vector<uint64_t> gbps(ports, 0);
    for (const PathCapacity::Way& way : capacity.GetWays(node, edge))
    {
        gbps.at(way.port) = way.bps / kGbps;
    }
    return gbps;
}

} // namespace

// Two leaves (0, 1) and four spines (2 to 5), all links 100 Gb/s but spine 5's to leaf 1, 50.
TEST(WcmpWeights, CountTheSlowestLinkOfAWay)
{
    std::vector<RouteLink> links;
    std::vector<uint64_t> rates;
    for (uint16_t spine = 0; spine < 4; ++spine)
    {
        links.push_back({0, 2U + spine, spine, 0});
        rates.push_back(100 * kGbps);
        links.push_back({1, 2U + spine, spine, 1});
        rates.push_back((spine == 3 ? 50 : 100) * kGbps);
    }
    const PathCapacity capacity(std::vector<bool>(6, false), links, rates, {0, 1});
    EXPECT_EQ(WaysOf(capacity, 0, 1, 4), (std::vector<uint64_t>{100, 100, 100, 50}));
    // Back, leaf 1's own link is the slow one.
    EXPECT_EQ(WaysOf(capacity, 1, 0, 4), (std::vector<uint64_t>{100, 100, 100, 50}));
    EXPECT_EQ(WaysOf(capacity, 2, 1, 2), (std::vector<uint64_t>{0, 100}));
    EXPECT_TRUE(capacity.GetWays(0, 0).empty());
}

// Leaf 0 has two links to spine 2 and one to spine 3; each spine has one link to leaf 1: 50 for
// each of the two, as they share 100 Gb/s.
TEST(WcmpWeights, LinksInParallelShareWhatTheyLeadTo)
{
    const std::vector<RouteLink> links{{0, 2, 0, 0},
                                       {0, 2, 1, 1},
                                       {0, 3, 2, 0},
                                       {1, 2, 0, 2},
                                       {1, 3, 1, 1}};
    const PathCapacity capacity(std::vector<bool>(4, false),
                                links,
                                std::vector<uint64_t>(5, 100 * kGbps),
                                {0, 1});
    EXPECT_EQ(WaysOf(capacity, 0, 1, 3), (std::vector<uint64_t>{50, 50, 100}));
}

// A fat-tree's pod: edge 0 under aggregations 1 and 2, which have two core links each (cores 3, 4;
// 5, 6), and the same on the other side (edge 7, aggregations 8 and 9). Without aggregation 1's
// link to core 4, edge 0 can send half as much by aggregation 1.
TEST(WcmpWeights, CountLinksThatHaveFailedFurtherUp)
{
    std::vector<RouteLink> links{{0, 1, 0, 0}, {0, 2, 1, 0}, {7, 8, 0, 0}, {7, 9, 1, 0}};
    std::vector<uint64_t> rates(4, 400 * kGbps);
    const uint32_t aggregations[2][2] = {{1, 2}, {8, 9}};
    for (uint32_t side = 0; side < 2; ++side)
    {
        for (uint32_t a = 0; a < 2; ++a)
        {
            for (uint16_t c = 0; c < 2; ++c)
            {
                if (side == 0 && a == 0 && c == 1)
                {
                    continue;
                }
                links.push_back({aggregations[side][a],
                                 3 + 2 * a + c,
                                 static_cast<uint16_t>(1 + c),
                                 static_cast<uint16_t>(side)});
                rates.push_back(100 * kGbps);
            }
        }
    }
    const PathCapacity capacity(std::vector<bool>(10, false), links, rates, {0, 7});
    EXPECT_EQ(WaysOf(capacity, 0, 1, 2), (std::vector<uint64_t>{100, 200}));
    EXPECT_EQ(WaysOf(capacity, 7, 0, 2), (std::vector<uint64_t>{100, 200}));
    EXPECT_EQ(WaysOf(capacity, 2, 1, 3), (std::vector<uint64_t>{0, 100, 100}));
}

// Edges 0 and 1 under aggregations 2 and 3, links of 100 Gb/s. 2 has one link to core 4, 3 has two,
// to cores 5 and 6; from the cores one link each to aggregation 7, which has 400 Gb/s to edge 8.
// The cores' links to 7 carry 100 each. So 3 has 200, of which each edge has half, 100, and 2 has
// 100, of which each has 50, although its links are of 100.
TEST(WcmpWeights, SwitchesShareWhatIsBehindTheNext)
{
    const std::vector<RouteLink> links{{0, 2, 0, 0},
                                       {0, 3, 1, 0},
                                       {1, 2, 0, 1},
                                       {1, 3, 1, 1},
                                       {2, 4, 2, 0},
                                       {3, 5, 2, 0},
                                       {3, 6, 3, 0},
                                       {4, 7, 1, 0},
                                       {5, 7, 1, 1},
                                       {6, 7, 1, 2},
                                       {7, 8, 3, 0}};
    std::vector<uint64_t> rates(links.size(), 100 * kGbps);
    rates.back() = 400 * kGbps;
    const PathCapacity capacity(std::vector<bool>(9, false), links, rates, {8, 0, 1});
    EXPECT_EQ(WaysOf(capacity, 3, 0, 4), (std::vector<uint64_t>{0, 0, 100, 100}));
    EXPECT_EQ(WaysOf(capacity, 0, 0, 2), (std::vector<uint64_t>{50, 100}));
    EXPECT_EQ(WaysOf(capacity, 1, 0, 2), (std::vector<uint64_t>{50, 100}));
}

TEST(WcmpWeights, AreInTheProportionOfCapacities)
{
    EXPECT_EQ(WcmpWeights({100, 100, 100, 50}), (std::vector<uint32_t>{2, 2, 2, 1}));
    EXPECT_EQ(WcmpWeights({100, 100}), (std::vector<uint32_t>{1, 1}));
    EXPECT_TRUE(WcmpWeights({}).empty());
}

// 1,1,1,1: the last has 1/4 instead of 1/7 (1.75); 2,1,1,1: the first has 2/5 instead of 2/7 (1.4);
// 2,2,1,1: 2/6 instead of 2/7, and 1/6 instead of 1/7 (7/6): below 1.2, and one entry less than 7.
TEST(WcmpWeights, MayTakeFewerEntriesIfNotMuchIsLost)
{
    const std::vector<uint64_t> capacity{100, 100, 100, 50};
    EXPECT_EQ(WcmpWeights(capacity, 1.2), (std::vector<uint32_t>{2, 2, 1, 1}));
    EXPECT_NEAR(WcmpOversubscription(capacity, {2, 2, 1, 1}), 7. / 6, 1e-12);
    EXPECT_EQ(WcmpWeights(capacity, 1.01), (std::vector<uint32_t>{2, 2, 2, 1}));
    EXPECT_EQ(WcmpWeights(capacity, 2), (std::vector<uint32_t>{1, 1, 1, 1}));
}

// 99,999 and 1 do not fit: 4,096 x 0.99999 = 4,095.96, and the other has one all the same.
TEST(WcmpWeights, FitTheTable)
{
    EXPECT_EQ(WcmpWeights({99999, 1}), (std::vector<uint32_t>{4095, 1}));
}
