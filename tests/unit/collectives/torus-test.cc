/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Torus collectives on tori of given dimensions: proved, held to their formulas, and to what they
 * are for: every link carries as much as every other.
 */
#include "collectives/schedules/torus.h"
#include "prove.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <random>

namespace coll
{
namespace
{

AlgorithmOptions
Torus(std::vector<uint32_t> dimensions, uint32_t channels = 1, uint64_t pipelineBytes = 0)
{
    AlgorithmOptions options;
    options.channels = channels;
    options.pipelineBytes = pipelineBytes;
    options.dimensions = std::move(dimensions);
    return options;
}

Rank
Product(const std::vector<uint32_t>& dimensions)
{
    return std::accumulate(dimensions.begin(), dimensions.end(), 1U, std::multiplies<>());
}

TEST(Torus, OfAnyDimensionsIsProved)
{
    for (const std::vector<uint32_t>& dimensions : std::vector<std::vector<uint32_t>>{{2, 2},
                                                                                      {4, 3},
                                                                                      {3, 4},
                                                                                      {1, 6, 1},
                                                                                      {2, 3, 5},
                                                                                      {2, 2, 2, 2},
                                                                                      {7},
                                                                                      {5, 1},
                                                                                      {1}})
    {
        const Rank n = Product(dimensions);
        uint64_t hops = 0;
        for (const uint32_t size : dimensions)
        {
            hops += size - 1;
        }
        for (const uint64_t bytes : {0UL, 1UL, n - 1UL, 1000UL * n, 100003UL})
        {
            for (const uint32_t channels : {1U, 2U, 3U})
            {
                for (const uint64_t pipeline : {uint64_t{0}, bytes / n / 3 + 1})
                {
                    SCOPED_TRACE(std::to_string(n) + " ranks, " + std::to_string(bytes) + " B");
                    const AlgorithmOptions options = Torus(dimensions, channels, pipeline);
                    const auto servers = UniformPlacement(n, 1);
                    for (const Op op : {Op::kAllReduce, Op::kReduceScatter, Op::kAllGather})
                    {
                        const uint64_t rounds = op == Op::kAllReduce ? 2 : 1;
                        const auto report =
                            ProveByFormula(op, "torus", {op, bytes, n, 0}, servers, options);
                        // Along every dimension d - 1 hops; as many bytes as the shortest
                        // schedules have.
                        EXPECT_EQ(report.totalBytes, rounds * (n - 1) * bytes);
                        if (pipeline == 0)
                        {
                            EXPECT_EQ(report.longestChain, rounds * hops);
                        }
                    }
                }
            }
        }
    }
    // The one of the issue: 128 ranks, 3 + 3 + 7 hops either way.
    const auto report = ProveByFormula(Op::kAllReduce,
                                       "torus",
                                       {Op::kAllReduce, 1 << 20, 128, 0},
                                       UniformPlacement(128, 1),
                                       Torus({4, 4, 8}));
    EXPECT_EQ(report.longestChain, 26U);
}

// Of m equal dimensions a share of S / 2m begins along each, in each direction, and has the same to
// do along each place of its turn: every one of the 2m links out of a rank carries 2 S (n-1) / n /
// 2m. On 4 x 4 and 160,000 bytes: 2 * 160,000 * 15 / 16 / 4 = 75,000. On 4 x 4 x 4 and 1,920,000
// bytes: 2 * 1,920,000 * 63 / 64 / 6 = 630,000.
TEST(Torus, UsesAllLinksAlike)
{
    for (const auto& [dimensions, bytes, each] :
         {std::tuple{std::vector<uint32_t>{4, 4}, 160000UL, 75000UL},
          std::tuple{std::vector<uint32_t>{4, 4, 4}, 1920000UL, 630000UL}})
    {
        const Rank n = Product(dimensions);
        const auto schedule =
            Find(Op::kAllReduce, "torus")
                ->Make({Op::kAllReduce, bytes, n, 0}, UniformPlacement(n, 1), Torus(dimensions));
        const Rank rank = 6; // x = 2, y = 1: not at an edge
        std::map<Rank, uint64_t> sent;
        for (Lane lane = 0; lane < schedule->Lanes(rank); lane++)
        {
            for (StepIndex k = 0; k < schedule->Steps(rank, lane); k++)
            {
                const Step step = schedule->At(rank, lane, k);
                if (step.sendPeer != kNoRank)
                {
                    sent[step.sendPeer] += step.sendBytes;
                }
            }
        }
        std::map<Rank, uint64_t> expected{{5, each}, {7, each}, {2, each}, {10, each}};
        if (dimensions.size() == 3)
        {
            expected[6 + 16] = expected[6 + 48] = each;
        }
        EXPECT_EQ(sent, expected);
    }
}

// A share that begins inside servers takes 2 S (k-1) / k out of one, one that begins between them g
// times that. 2 servers of 4, S = 800: half of it 800 * 1 / 2 * 2 = 800, half 3,200: 2,000.
TEST(Torus, ByItselfIsGpusByServers)
{
    EXPECT_EQ(TorusDimensions(UniformPlacement(3, 8), {}), (std::vector<uint32_t>{8, 3}));
    EXPECT_EQ(TorusDimensions(UniformPlacement(1, 8), {}), (std::vector<uint32_t>{2, 4}));
    EXPECT_EQ(TorusDimensions(UniformPlacement(36, 1), {}), (std::vector<uint32_t>{6, 6}));
    EXPECT_EQ(TorusDimensions(UniformPlacement(7, 1), {}), (std::vector<uint32_t>{7}));
    EXPECT_EQ(TorusDimensions(UniformPlacement(1, 1), {}), (std::vector<uint32_t>{}));
    Placement uneven = UniformPlacement(2, 8);
    uneven.serverOf.resize(12);
    uneven.gpuOf.resize(12);
    EXPECT_EQ(TorusDimensions(uneven, {}), (std::vector<uint32_t>{3, 4}));

    const auto report = ProveByFormula(Op::kAllReduce,
                                       "torus",
                                       {Op::kAllReduce, 800, 8, 0},
                                       UniformPlacement(2, 4),
                                       {1, 0});
    EXPECT_EQ(report.bytesOutOfServer, (std::vector<uint64_t>{2000, 2000}));
}

TEST(Torus, SaysWhyNot)
{
    const auto placement = UniformPlacement(8, 1);
    const Algorithm& torus = *Find(Op::kAllGather, "torus");
    const Collective what{Op::kAllGather, 100, 8, 0};
    EXPECT_EQ(torus.WhyNot(what, placement, Torus({2, 4})), "");
    EXPECT_EQ(torus.WhyNot(what, placement, Torus({3, 3})), "a torus of 3x3 does not have 8 ranks");
    EXPECT_EQ(torus.WhyNot(what, placement, Torus({8, 0})), "a torus of 8x0 does not have 8 ranks");
    EXPECT_EQ(torus.WhyNot(what, placement, Torus({1U << 31, 1U << 31, 1U << 31, 8})),
              "a torus of 2147483648x2147483648x2147483648x8 does not have 8 ranks");
    EXPECT_THROW(torus.Make(what, placement, Torus({3, 3})), std::invalid_argument);
}

/// Servers on a grid of switches, the last coordinate the fastest, in an order of their own.
Placement
OnGrid(const std::vector<uint32_t>& sizes, uint32_t perSwitch, const std::vector<uint32_t>& order)
{
    Placement placement = UniformPlacement(static_cast<uint32_t>(order.size()), 1);
    for (const uint32_t place : order)
    {
        std::vector<uint32_t> at(sizes.size());
        uint32_t rest = place / perSwitch;
        for (size_t d = sizes.size(); d-- > 0;)
        {
            at[d] = rest % sizes[d];
            rest /= sizes[d];
        }
        placement.at.push_back(at);
    }
    return placement;
}

// Whatever order the servers stand in: a rank sends to switches that a cable joins to its own, and
// to its own switch, alone.
TEST(Torus, OnATorusFollowsItsCables)
{
    std::mt19937 random(7);
    for (const auto& [sizes, perSwitch] : {std::pair{std::vector<uint32_t>{4, 3, 5}, 1U},
                                           std::pair{std::vector<uint32_t>{8, 2}, 1U},
                                           std::pair{std::vector<uint32_t>{3, 4}, 2U},
                                           std::pair{std::vector<uint32_t>{6}, 3U}})
    {
        std::vector<uint32_t> order(Product(sizes) * perSwitch);
        std::iota(order.begin(), order.end(), 0);
        for (int shuffle = 0; shuffle < 3; ++shuffle)
        {
            const Placement placement = OnGrid(sizes, perSwitch, order);
            std::vector<uint32_t> closestFirst(sizes.rbegin(), sizes.rend());
            if (perSwitch > 1)
            {
                closestFirst.insert(closestFirst.begin(), perSwitch);
            }
            EXPECT_EQ(TorusDimensions(placement, {}), closestFirst);
            const auto n = static_cast<Rank>(order.size());
            const auto schedule =
                Find(Op::kAllReduce, "torus")->Make({Op::kAllReduce, 100000, n, 0}, placement, {});
            for (Rank rank = 0; rank < n; rank++)
            {
                for (Lane lane = 0; lane < schedule->Lanes(rank); lane++)
                {
                    for (StepIndex k = 0; k < schedule->Steps(rank, lane); k++)
                    {
                        const Rank peer = schedule->At(rank, lane, k).sendPeer;
                        uint32_t apart = 0;
                        for (size_t d = 0; peer != kNoRank && d < sizes.size(); ++d)
                        {
                            const uint32_t way =
                                (placement.at[peer][d] + sizes[d] - placement.at[rank][d]) %
                                sizes[d];
                            apart += std::min(way, sizes[d] - way);
                        }
                        ASSERT_LE(apart, 1U) << rank << " to " << peer;
                    }
                }
            }
            std::shuffle(order.begin(), order.end(), random);
        }
    }
}

// Part of a grid that is a box has that box's dimensions; one that is none has what it would have
// elsewhere. Dimensions that were given stay, the last the closest.
TEST(Torus, OnAPartOfATorusIsABoxOrNone)
{
    const std::vector<uint32_t> sizes{4, 4};
    EXPECT_EQ(TorusDimensions(OnGrid(sizes, 1, {5, 6, 9, 10, 13, 14}), {}),
              (std::vector<uint32_t>{2, 3}));
    EXPECT_EQ(TorusDimensions(OnGrid(sizes, 1, {0, 1, 2, 3}), {}), (std::vector<uint32_t>{4}));
    EXPECT_EQ(TorusDimensions(OnGrid(sizes, 1, {0, 1, 2, 3, 4, 8}), {}),
              (std::vector<uint32_t>{2, 3}));
    EXPECT_EQ(TorusDimensions(OnGrid(sizes, 1, {0, 1, 2, 3}), Torus({2, 2})),
              (std::vector<uint32_t>{2, 2}));
    EXPECT_EQ(TorusDimensions(UniformPlacement(8, 1), Torus({4, 2})),
              (std::vector<uint32_t>{2, 4}));
}

} // namespace
} // namespace coll
