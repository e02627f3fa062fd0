/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Collectives dimension after dimension: proved on random networks, with their cost.
 */
#include "collectives/core/checker.h"
#include "collectives/core/placement.h"
#include "collectives/core/registry.h"
#include "collectives/schedules/by-dimension.h"
#include "tests/unit/collectives/prove.h"

#include <algorithm>
#include <gtest/gtest.h>
#include <numeric>
#include <random>
#include <string>
#include <vector>

namespace coll
{

namespace
{

/// Single GPUs on a product of dimensions, the last the closest, in an order of their own.
Placement
OnDimensions(const std::vector<uint32_t>& sizes,
             const std::vector<GridDimension::Kind>& kinds,
             const std::vector<uint32_t>& order)
{
    Placement placement = UniformPlacement(static_cast<uint32_t>(order.size()), 1);
    for (const uint32_t place : order)
    {
        std::vector<uint32_t> at(sizes.size());
        uint32_t rest = place;
        for (std::size_t d = sizes.size(); d-- > 0;)
        {
            at[d] = rest % sizes[d];
            rest /= sizes[d];
        }
        placement.at.push_back(at);
    }
    for (std::size_t d = 0; d < kinds.size(); ++d)
    {
        placement.along.push_back({kinds[d], 1e9 * (d + 1), 1e-6});
    }
    return placement;
}

// 300 random networks of 1 to 4 dimensions, operations, chunks, orders, ways in a row and sizes:
// every byte ends where the operation promises, and messages, bytes and chain are as by formula.
TEST(ByDimension, RandomNetworksAreProved)
{
    std::mt19937 random(80);
    const auto some = [&random](uint32_t least, uint32_t most) {
        return std::uniform_int_distribution<uint32_t>(least, most)(random);
    };
    for (int run = 0; run < 300; ++run)
    {
        std::vector<uint32_t> sizes;
        std::vector<GridDimension::Kind> kinds;
        uint32_t ranks = 1;
        const uint32_t count = some(1, 4);
        for (uint32_t d = 0; d < count; ++d)
        {
            sizes.push_back(some(1, count > 2 ? 4 : 8));
            kinds.push_back(static_cast<GridDimension::Kind>(some(0, 3)));
            ranks *= sizes.back();
        }
        std::vector<uint32_t> order(ranks);
        std::iota(order.begin(), order.end(), 0);
        std::shuffle(order.begin(), order.end(), random);
        const Placement placement = OnDimensions(sizes, kinds, order);
        AlgorithmOptions options;
        options.channels = some(0, 3);
        options.splits = some(0, 9);
        options.order = static_cast<DimensionOrder>(some(0, 2));
        options.phases = static_cast<WaitOrder>(some(0, 2));
        if (some(0, 1))
        {
            for (uint32_t d = 0; d < count; ++d)
            {
                const char* const names[] = {"ring", "one-way-ring", "direct"};
                options.rows.emplace_back(names[some(0, 2)]);
            }
        }
        const Op op = std::vector<Op>{Op::kAllReduce,
                                      Op::kReduceScatter,
                                      Op::kAllGather,
                                      Op::kAllToAll}[some(0, 3)];
        const Collective what{op, some(0, 3) ? some(1, 100000) : some(0, 2 * ranks), ranks, 0};
        const Algorithm& algorithm = *Find(op, "by-dimension");
        const std::string about = "run " + std::to_string(run) + ", " + OpName(op) + " of " +
                                  std::to_string(what.bytes) + " B, " + std::to_string(ranks) +
                                  " ranks, splits " + std::to_string(options.splits);
        ASSERT_EQ(algorithm.WhyNot(what, placement, options), "") << about;
        const auto schedule = algorithm.Make(what, placement, options);
        const CheckReport report = Check(*schedule);
        ASSERT_TRUE(report.problems.empty()) << about << ": " << report.problems.front();
        const Cost cost = *algorithm.CostOf(what, placement, options);
        EXPECT_EQ(report.totalBytes, cost.totalBytes) << about;
        EXPECT_EQ(report.longestChain, cost.chain) << about;
        const uint64_t posts =
            *std::max_element(report.messagesSent.begin(), report.messagesSent.end());
        EXPECT_EQ(posts, cost.posts) << about;
    }
}

// Rows of switches halve and double if they are a power of two.
TEST(ByDimension, RowsGoAsTheirLinksSuggest)
{
    std::vector<uint32_t> order(48);
    std::iota(order.begin(), order.end(), 0);
    const Placement placement =
        OnDimensions({3, 4, 4},
                     {GridDimension::kSwitch, GridDimension::kFull, GridDimension::kSwitch},
                     order);
    const std::vector<PlanDimension> plan = PlanDimensions(placement, {});
    ASSERT_EQ(plan.size(), 3U);
    EXPECT_EQ(plan[0].algorithm, RowAlgorithm::kHalving);
    EXPECT_EQ(plan[1].algorithm, RowAlgorithm::kDirect);
    EXPECT_EQ(plan[2].algorithm, RowAlgorithm::kDirect); // of three
    // One chunk in ascending order: 2 x (2 + 1 + 1) messages in series.
    AlgorithmOptions options;
    options.splits = 1;
    options.order = DimensionOrder::kAscending;
    EXPECT_EQ(Find(Op::kAllReduce, "by-dimension")
                  ->CostOf({Op::kAllReduce, 48000, 48, 0}, placement, options)
                  ->chain,
              8U);
    options.rows = {"direct", "direct", "halving-doubling"};
    EXPECT_EQ(Find(Op::kAllReduce, "by-dimension")
                  ->WhyNot({Op::kAllReduce, 48000, 48, 0}, placement, options),
              "halving-doubling is for rows of a power of two; dimension 3 has 3");
}

} // namespace

} // namespace coll
