/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "collectives/core/placement.h"
#include "collectives/core/ring-order.h"

#include <algorithm>
#include <gtest/gtest.h>
#include <random>
#include <set>

namespace coll
{
namespace
{

std::vector<Rank>
Ring(const RingOrder& order, uint32_t channel)
{
    std::vector<Rank> ring;
    for (uint32_t i = 0; i < order.Ranks(); i++)
    {
        ring.push_back(order.At(channel, i));
    }
    return ring;
}

TEST(RingOrder, GoesRoundEachServerAsNcclDoes)
{
    const RingOrder order(UniformPlacement(2, 8, 1), 1);
    EXPECT_EQ(Ring(order, 0),
              (std::vector<Rank>{0, 7, 6, 5, 4, 3, 2, 1, 8, 15, 14, 13, 12, 11, 10, 9}));
    EXPECT_EQ(order.Of(0, 1).next, 8U);
    EXPECT_EQ(order.Of(0, 9).next, 0U);
    EXPECT_EQ(order.Of(0, 0).prev, 9U);
    EXPECT_EQ(order.Of(0, 15).position, 9U);
    EXPECT_EQ(order.Servers(), 2U);
    EXPECT_EQ(order.ServerBegin(1), 8U);
}

TEST(RingOrder, ChannelsEnterAtTheGpuNextToTheirNic)
{
    const auto placement = UniformPlacement(3, 8, 4);
    ASSERT_EQ(ChannelCount(placement, {}), 4U);
    const RingOrder order(placement, 5);
    for (uint32_t c = 0; c < 5; c++)
    {
        EXPECT_EQ(order.ChannelNumber(c), c);
        EXPECT_EQ(order.At(c, 0), c % 4 * 2);
        EXPECT_EQ(order.At(c, 8), 8 + c % 4 * 2);
        // It leaves from the GPU that shares the NIC.
        EXPECT_EQ(order.At(c, 7), c % 4 * 2 + 1);
    }
}

TEST(RingOrder, MoreNicsThanGpus)
{
    const auto placement = UniformPlacement(2, 2, 4);
    ASSERT_EQ(ChannelCount(placement, {}), 4U);
    const RingOrder order(placement, 4);
    EXPECT_EQ(order.At(0, 0), 0U);
    EXPECT_EQ(order.At(1, 0), 0U);
    EXPECT_EQ(order.At(2, 0), 1U);
    EXPECT_EQ(order.At(3, 0), 1U);
}

TEST(RingOrder, AGroupOfOneGpuAServerUsesThatGpusNic)
{
    Placement placement;
    placement.serverOf = {4, 2, 9};
    placement.gpuOf = {5, 5, 5};
    placement.gpusPerServer = 8;
    placement.nicsPerServer = 4;
    EXPECT_EQ(Rails(placement), (std::vector<uint32_t>{2}));
    EXPECT_EQ(ChannelCount(placement, {}), 1U);
    const RingOrder order(placement, 3);
    for (uint32_t c = 0; c < 3; c++)
    {
        EXPECT_EQ(order.ChannelNumber(c) % 4, 2U);
        EXPECT_EQ(order.ChannelNumber(c) / 4, c);
        EXPECT_EQ(Ring(order, c), (std::vector<Rank>{0, 1, 2})); // servers by first appearance
    }
}

TEST(RingOrder, ServersThatUseOtherNicsFallBackToAllNics)
{
    Placement placement;
    placement.serverOf = {0, 1};
    placement.gpuOf = {0, 7};
    placement.nicsPerServer = 2;
    EXPECT_EQ(Rails(placement), (std::vector<uint32_t>{0, 1}));
}

TEST(RingOrder, OneServerNeedsOneChannel)
{
    EXPECT_EQ(ChannelCount(UniformPlacement(1, 8, 8), {}), 1U);
    EXPECT_EQ(ChannelCount(UniformPlacement(1, 8, 8), {3, 0}), 3U);
    EXPECT_EQ(ChannelCount(UniformPlacement(2, 8, 8), {}), 8U);
}

TEST(RingOrder, ScatteredRanksStillEnterEachServerOnce)
{
    std::mt19937 random(3);
    for (int trial = 0; trial < 300; trial++)
    {
        const uint32_t servers = 1 + random() % 9;
        const uint32_t gpus = 1 + random() % 8;
        auto placement = UniformPlacement(servers, gpus, 1 + random() % 8);
        std::vector<size_t> shuffled(placement.serverOf.size());
        for (size_t i = 0; i < shuffled.size(); i++)
        {
            shuffled[i] = i;
        }
        std::shuffle(shuffled.begin(), shuffled.end(), random);
        shuffled.resize(1 + random() % shuffled.size()); // and some GPUs are not in the group
        Placement some = placement;
        some.serverOf.clear();
        some.gpuOf.clear();
        for (const size_t i : shuffled)
        {
            some.serverOf.push_back(placement.serverOf[i]);
            some.gpuOf.push_back(placement.gpuOf[i]);
        }
        const uint32_t n = shuffled.size();
        ASSERT_EQ(Problem({Op::kAllReduce, 1, n, 0}, some, {}), "");
        const RingOrder order(some, 1 + random() % 5); // checks itself, too
        const size_t used = std::set<uint32_t>(some.serverOf.begin(), some.serverOf.end()).size();
        for (uint32_t c = 0; c < order.Channels(); c++)
        {
            const auto ring = Ring(order, c);
            EXPECT_EQ(std::set<Rank>(ring.begin(), ring.end()).size(), n);
            size_t crossings = 0;
            for (Rank r = 0; r < n; r++)
            {
                EXPECT_EQ(order.Of(c, order.Of(c, r).next).prev, r);
                EXPECT_EQ(order.At(c, order.Of(c, r).position), r);
                crossings += some.serverOf[r] != some.serverOf[order.Of(c, r).next] ? 1 : 0;
            }
            EXPECT_EQ(crossings, used > 1 ? used : 0);
        }
    }
}

TEST(PlacementProblem, IsSaidInWords)
{
    const auto placement = UniformPlacement(2, 2);
    EXPECT_EQ(Problem({Op::kAllReduce, 8, 4, 0}, placement, {}), "");
    EXPECT_NE(Problem({Op::kAllReduce, 8, 0, 0}, {}, {}), "");
    EXPECT_NE(Problem({Op::kAllReduce, 8, 5, 0}, placement, {}), "");
    EXPECT_NE(Problem({Op::kBroadcast, 8, 4, 4}, placement, {}), "");
    EXPECT_NE(Problem({Op::kAllReduce, 8, 4, 0}, placement, {65, 0}), "");
    EXPECT_NE(Problem({Op::kAllReduce, 1UL << 50, 4, 0}, placement, {1, 16}), "");
    auto twice = placement;
    twice.gpuOf[1] = 0;
    EXPECT_NE(Problem({Op::kAllReduce, 8, 4, 0}, twice, {}).find("same GPU"), std::string::npos);
    auto beyond = placement;
    beyond.gpuOf[1] = 2;
    EXPECT_NE(Problem({Op::kAllReduce, 8, 4, 0}, beyond, {}), "");
}

} // namespace
} // namespace coll
