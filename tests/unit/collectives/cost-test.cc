/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Formulas against numbers worked out by hand. That they are what the schedules do is
 * algorithms-test.cc.
 */
#include "collectives/core/cost.h"
#include "collectives/schedules/hierarchical-cost.h"
#include "prove.h"

#include <algorithm>
#include <gtest/gtest.h>
#include <stdexcept>

namespace coll
{
namespace
{

TEST(BusBw, FactorsAreThoseOfNcclTests)
{
    // nccl-tests doc/PERFORMANCE.md, "Summary"
    EXPECT_DOUBLE_EQ(BusBwFactor(Op::kAllReduce, 8), 1.75);
    EXPECT_DOUBLE_EQ(BusBwFactor(Op::kAllReduce, 2), 1);
    EXPECT_DOUBLE_EQ(BusBwFactor(Op::kReduceScatter, 8), 0.875);
    EXPECT_DOUBLE_EQ(BusBwFactor(Op::kAllGather, 4), 0.75);
    EXPECT_DOUBLE_EQ(BusBwFactor(Op::kAllToAll, 16), 0.9375);
    EXPECT_DOUBLE_EQ(BusBwFactor(Op::kBroadcast, 16), 1);
    EXPECT_DOUBLE_EQ(BusBwFactor(Op::kReduce, 16), 1);
    // src/gather.cu, scatter.cu, sendrecv.cu: GetBw
    EXPECT_DOUBLE_EQ(BusBwFactor(Op::kGather, 4), 0.75);
    EXPECT_DOUBLE_EQ(BusBwFactor(Op::kScatter, 8), 0.875);
    EXPECT_DOUBLE_EQ(BusBwFactor(Op::kSendRecv, 8), 1);
    EXPECT_DOUBLE_EQ(BusBwFactor(Op::kSendRecv, 1), 1);
    EXPECT_DOUBLE_EQ(BusBwFactor(Op::kBarrier, 16), 0);
    EXPECT_DOUBLE_EQ(BusBwFactor(Op::kAllReduce, 1), 0);
    EXPECT_THROW(BusBwFactor(Op::kAllReduce, 0), std::invalid_argument);
}

TEST(Cost, CeilLog2)
{
    EXPECT_EQ(CeilLog2(1), 0U);
    EXPECT_EQ(CeilLog2(2), 1U);
    EXPECT_EQ(CeilLog2(3), 2U);
    EXPECT_EQ(CeilLog2(4), 2U);
    EXPECT_EQ(CeilLog2(5), 3U);
    EXPECT_EQ(CeilLog2(1U << 31), 31U);
    EXPECT_EQ(CeilLog2(UINT32_MAX), 32U);
}

/// Of 16 MB on 16 servers of one GPU.
Cost
OnServers(Op op, const std::string& algorithm, uint64_t pipelineBytes = 0)
{
    const Collective what{op, op == Op::kBarrier ? 0UL : 16000000UL, 16, 0};
    return *Find(op, algorithm)->CostOf(what, UniformPlacement(16, 1), {0, pipelineBytes});
}

TEST(Cost, TimesOfTheTextbooks)
{
    // 16 ranks, 16 MB, 1 us, 10 GB/s (1e-10 s/byte): a chunk is 1 MB, 100 us.
    const AlphaBeta link{1e-6, 1e-10, 0, 0};
    EXPECT_NEAR(Seconds(OnServers(Op::kAllReduce, "ring"), link), 30 * 101e-6, 1e-12);
    EXPECT_NEAR(Seconds(OnServers(Op::kReduceScatter, "ring"), link), 15 * 101e-6, 1e-12);
    EXPECT_NEAR(Seconds(OnServers(Op::kAllGather, "ring"), link), 15 * 101e-6, 1e-12);
    EXPECT_NEAR(Seconds(OnServers(Op::kAllToAll, "direct"), link), 1e-6 + 15 * 100e-6, 1e-12);
    EXPECT_NEAR(Seconds(OnServers(Op::kGather, "direct"), link), 1e-6 + 15 * 100e-6, 1e-12);
    EXPECT_NEAR(Seconds(OnServers(Op::kScatter, "direct"), link), 1e-6 + 15 * 100e-6, 1e-12);
    EXPECT_NEAR(Seconds(OnServers(Op::kSendRecv, "direct"), link), 1e-6 + 16 * 100e-6, 1e-12);
    EXPECT_NEAR(Seconds(OnServers(Op::kReduce, "ring", 500000), link),
                15e-6 + (31 + 15) * 50e-6,
                1e-12);
    EXPECT_NEAR(Seconds(OnServers(Op::kBarrier, "dissemination"), link), 4e-6, 1e-15);

    // Broadcast in 32 slices of 50 us over 15 links: the last slice sets out after 31 and crosses
    // 15.
    EXPECT_NEAR(Seconds(OnServers(Op::kBroadcast, "ring", 500000), link),
                15e-6 + (31 + 15) * 50e-6,
                1e-12);

    // Reduction and posting are charged where they happen.
    EXPECT_NEAR(Seconds(OnServers(Op::kAllReduce, "ring"), {0, 0, 1e-9, 0}),
                15 * 1e6 * 1e-9,
                1e-12);
    EXPECT_NEAR(Seconds(OnServers(Op::kAllToAll, "direct"), {0, 0, 0, 2e-6}), 30e-6, 1e-12);
}

TEST(Cost, LoopsOfTwoLevelsOverlap)
{
    // 4 servers of 8: a phase inside takes 7/8 S b_in, all-reduce between 2 3/4 S b_out. With N
    // loops, A and B being a loop's: A + max(A, B) + (N - 2) max(2 A, B) + max(B, A) + A, as the
    // two phases inside share ports.
    Extent e;
    e.bytes = 1 << 30;
    e.ranks = 32;
    e.servers = 4;
    e.gpusPerServer = 8;
    TwoLevels levels;
    levels.inner.beta = 1 / 360e9;
    levels.outer.beta = 1 / 300e9;
    const double inside = 7 / 8. * e.bytes * levels.inner.beta;
    const double between = 2 * 3 / 4. * e.bytes * levels.outer.beta;
    EXPECT_DOUBLE_EQ(HierarchicalSeconds(Op::kAllReduce, e, levels), 2 * inside + between);
    EXPECT_DOUBLE_EQ(HierarchicalSeconds(Op::kReduceScatter, e, levels), inside + between / 2);
    EXPECT_DOUBLE_EQ(HierarchicalSeconds(Op::kAllGather, e, levels), inside + between / 2);
    for (const uint32_t n : {2, 3, 10, 1000})
    {
        e.loops = n;
        const double a = inside / n;
        const double b = between / n;
        EXPECT_NEAR(HierarchicalSeconds(Op::kAllReduce, e, levels),
                    2 * a + 2 * std::max(a, b) + (n - 2) * std::max(2 * a, b),
                    1e-12);
        EXPECT_NEAR(HierarchicalSeconds(Op::kReduceScatter, e, levels),
                    a + (n - 1) * std::max(a, b / 2) + b / 2,
                    1e-12);
    }
    // Many loops: the slower level.
    EXPECT_NEAR(HierarchicalSeconds(Op::kAllReduce, e, levels) / std::max(2 * inside, between),
                1,
                0.003);
    // Latency: the longest chain of a period. 2 x 7 messages inside at the ends, 7 against 6 in the
    // N others.
    levels = {};
    levels.inner.alpha = 3;
    levels.outer.alpha = 4;
    e.loops = 5;
    EXPECT_DOUBLE_EQ(HierarchicalSeconds(Op::kAllReduce, e, levels),
                     2 * 7 * 3 + 5 * std::max(7 * 3, 6 * 4));
    EXPECT_EQ(PipelinedChain(Op::kAllReduce, e), 2 * 7 + 5 * 7U);
    e.servers = 1;
    e.ranks = 8;
    EXPECT_EQ(PipelinedChain(Op::kAllReduce, e), 7 * (5 + 1U))
        << "scatter of a loop, gather of the one before";
    EXPECT_THROW(HierarchicalSeconds(Op::kBroadcast, e, levels), std::invalid_argument);
}

TEST(Cost, HierarchyTradesNothingButLatency)
{
    const Collective what{Op::kAllReduce, 1 << 20, 64, 0};
    const auto placement = UniformPlacement(8, 8);
    const Cost flat = *Find(what.op, "ring")->CostOf(what, placement, {});
    const Cost levels = *Find(what.op, "hierarchical")->CostOf(what, placement, {});
    EXPECT_EQ(flat.chain, 126U);
    EXPECT_EQ(levels.chain, 28U);
    EXPECT_EQ(flat.totalBytes, levels.totalBytes);
    EXPECT_DOUBLE_EQ(flat.sentPerRank, levels.sentPerRank);
    EXPECT_DOUBLE_EQ(flat.outOfServer, 2.0 * what.bytes * 63 / 64);
    EXPECT_DOUBLE_EQ(levels.outOfServer, 2.0 * what.bytes * 7 / 8);
    EXPECT_DOUBLE_EQ(levels.outOfServer, LeastBytesPerServer(Op::kAllReduce, what.bytes, 64, 8));
}

TEST(Cost, LatenciesBetweenServersAreTold)
{
    // 4 servers of 8: what the tuner counts at the NICs' latency.
    const auto placement = UniformPlacement(4, 8);
    const auto outside = [&](Op op, const std::string& name) {
        const Cost cost = *Find(op, name)->CostOf({op, 1 << 20, 32, 0}, placement, {});
        EXPECT_LE(cost.chainOutside, cost.chain) << OpName(op) << " " << name;
        return cost.chainOutside;
    };
    EXPECT_EQ(outside(Op::kReduce, "ring"), 4U);
    // Ranks that differ in bits 3 and 4 are on two servers.
    EXPECT_EQ(outside(Op::kAllReduce, "halving-doubling"), 4U);
    EXPECT_EQ(outside(Op::kAllReduce, "recursive-doubling"), 2U);
    EXPECT_EQ(outside(Op::kAllGather, "recursive-doubling"), 2U);
    // Radix 4: from 0 to 16, to 8 of those 16 (24), then inside.
    EXPECT_EQ(outside(Op::kBroadcast, "k-nomial"), 2U);
    // Tree 0-2, 2-1, 2-3: server 1 is the deepest, at the end of 0, 2 (by its second GPU), 1: 1 + 1
    // + 1 + 7 messages, 2 of them between servers.
    const Cost tree =
        *Find(Op::kBroadcast, "tree")->CostOf({Op::kBroadcast, 8, 32, 0}, placement, {});
    EXPECT_EQ(tree.chain, 10U);
    EXPECT_EQ(tree.chainOutside, 2U);
}

TEST(Cost, LowerBounds)
{
    EXPECT_DOUBLE_EQ(LeastBytesPerRank(Op::kAllReduce, 800, 8), 1400);
    EXPECT_DOUBLE_EQ(LeastBytesPerRank(Op::kBroadcast, 800, 8), 800);
    EXPECT_DOUBLE_EQ(LeastBytesPerRank(Op::kBroadcast, 800, 1), 0);
    EXPECT_DOUBLE_EQ(LeastBytesPerServer(Op::kAllToAll, 800, 8, 2),
                     1600); // 4 ranks, 4 of 8 pieces of 100 each
    EXPECT_DOUBLE_EQ(LeastBytesPerServer(Op::kAllGather, 800, 8, 2), 400);
    EXPECT_DOUBLE_EQ(LeastBytesPerServer(Op::kAllReduce, 800, 8, 1), 0);
    EXPECT_DOUBLE_EQ(LeastBytesPerServer(Op::kReduce, 800, 8, 2), 800);
    // 4 ranks of either server have 4 of 8 pieces of 100.
    EXPECT_DOUBLE_EQ(LeastBytesPerServer(Op::kGather, 800, 8, 2), 400);
    EXPECT_DOUBLE_EQ(LeastBytesPerServer(Op::kScatter, 800, 8, 2), 400);
    EXPECT_DOUBLE_EQ(LeastBytesPerServer(Op::kScatter, 800, 8, 4), 600);
    EXPECT_DOUBLE_EQ(LeastBytesPerServer(Op::kGather, 800, 8, 4), 600);
    EXPECT_DOUBLE_EQ(LeastBytesPerServer(Op::kSendRecv, 800, 8, 2), 800);
    EXPECT_DOUBLE_EQ(LeastBytesPerRank(Op::kGather, 800, 8), 700);
    EXPECT_DOUBLE_EQ(LeastBytesPerRank(Op::kSendRecv, 800, 8), 800);
    EXPECT_DOUBLE_EQ(LeastBytesPerRank(Op::kSendRecv, 800, 1), 0);
    // Switches that add up take each vector once; two ranks exchange no more without them.
    EXPECT_DOUBLE_EQ(LeastBytesWithSwitches(Op::kAllReduce, 800, 1400), 800);
    EXPECT_DOUBLE_EQ(LeastBytesWithSwitches(Op::kAllReduce, 800, 800), 800);
    EXPECT_DOUBLE_EQ(LeastBytesWithSwitches(Op::kAllReduce, 800, 0), 0);
    EXPECT_DOUBLE_EQ(LeastBytesWithSwitches(Op::kAllGather, 800, 700), 700);
    EXPECT_EQ(LeastChain(Op::kAllToAll, 8), 1U);
    EXPECT_EQ(LeastChain(Op::kAllReduce, 8), 1U) << "everybody to everybody at once";
    EXPECT_EQ(LeastChain(Op::kAllToAll, 1), 0U);
    EXPECT_DOUBLE_EQ(LeastSeconds(Op::kAllReduce, 800, 8, {1, 0.0001, 0, 0}), 1);
    EXPECT_DOUBLE_EQ(LeastSeconds(Op::kAllReduce, 800, 8, {1, 0.01, 0, 0}), 14);
}

TEST(Cost, OneRankCostsNothing)
{
    const auto placement = WithSwitches(UniformPlacement(1, 1), 2);
    for (const Op op : AllOps())
    {
        for (const Algorithm* algorithm : AlgorithmsFor(op))
        {
            const Collective what{op, op == Op::kBarrier ? 0UL : 1000UL, 1, 0};
            const auto cost = algorithm->CostOf(what, placement, {});
            ASSERT_TRUE(cost.has_value());
            EXPECT_EQ(Seconds(*cost, {1, 1, 1, 1}), 0) << OpName(op) << " " << algorithm->Name();
            const auto schedule = algorithm->Make(what, placement, {});
            for (Lane lane = 0; lane < schedule->Lanes(0); lane++)
            {
                EXPECT_EQ(schedule->Steps(0, lane), 0U);
            }
        }
    }
}

} // namespace
} // namespace coll
