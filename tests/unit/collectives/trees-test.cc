/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Trees over servers: their shape, who sends how much, how long the chain of messages is.
 */
#include "collectives/core/checker.h"
#include "collectives/core/cost.h"
#include "collectives/core/placement.h"
#include "collectives/core/registry.h"
#include "collectives/schedules/server-trees.h"

#include <algorithm>
#include <gtest/gtest.h>

namespace coll
{
namespace
{

TEST(ServerTrees, AreThoseOfNccl)
{
    // The drawing in NCCL's src/graph/trees.cc, of 14: 0-8, 8-4, 8-12, 4-2, 4-6, 12-10, 12-13, ...
    const uint32_t above[] = {0, 2, 4, 2, 8, 6, 4, 6, 0, 10, 12, 10, 8, 12};
    for (uint32_t i = 1; i < 14; i++)
    {
        EXPECT_EQ(ServerAbove(i, 14), above[i]) << i;
    }
    // One rank a server: its second trees, mirrored for 12 servers and shifted for 13.
    const ServerTrees even(UniformPlacement(12, 1), 1, 2, kNoRank);
    EXPECT_EQ(even.Of(1, 11).parent, kNoRank);
    EXPECT_EQ(even.Of(1, 3).parent, 11U);
    EXPECT_EQ(even.Of(1, 1).parent, 3U);
    EXPECT_EQ(even.Of(1, 7).parent, 3U);
    EXPECT_EQ(even.Of(1, 10).parent, 9U);
    const ServerTrees odd(UniformPlacement(13, 1), 1, 2, kNoRank);
    EXPECT_EQ(odd.Of(1, 1).parent, kNoRank);
    EXPECT_EQ(odd.Of(1, 9).parent, 1U);
    EXPECT_EQ(odd.Of(1, 5).parent, 9U);
    EXPECT_EQ(odd.Of(1, 0).parent, 9U);
    EXPECT_EQ(odd.Of(1, 11).parent, 0U);
    EXPECT_EQ(odd.Of(1, 12).parent, 11U);
}

TEST(ServerTrees, NobodyWorksInBoth)
{
    for (uint32_t k = 2; k <= 200; k++)
    {
        const ServerTrees trees(UniformPlacement(k, 1), 1, 2, kNoRank);
        uint32_t links = 0;
        for (Rank r = 0; r < k; r++)
        {
            const TreeNode& a = trees.Of(0, r);
            const TreeNode& b = trees.Of(1, r);
            links += a.Degree() + b.Degree();
            // An inner one has up to three links and a leaf one. With odd k server 0, the root of
            // the first with one link, is also last in the second, with two at most.
            EXPECT_LE(a.Degree() + b.Degree(), 4U) << k;
            EXPECT_TRUE(a.children == 0 || b.children == 0 || (k % 2 == 1 && r == 0)) << k;
        }
        EXPECT_EQ(links, 2 * 2 * (k - 1));
        // Halving: a tree of 2^d servers has depth d.
        const uint32_t depth = std::max(trees.Depth(0), trees.Depth(1));
        EXPECT_LE(depth, CeilLog2(k)) << k;
        EXPECT_GE(depth + 1, CeilLog2(k)) << k;
    }
}

TEST(ServerTrees, ChainsInsideServersHangBetween)
{
    // 3 servers of 4 GPUs, ring order 0 3 2 1 (ring-order.h): the chain of server s begins at rank
    // 4 s. Server 2 is below 0, server 1 below 2 as its first child, so at the second of the chain.
    const ServerTrees trees(UniformPlacement(3, 4), 1, 1, kNoRank);
    EXPECT_EQ(trees.Of(0, 0).parent, kNoRank);
    EXPECT_EQ(trees.Of(0, 3).parent, 0U);
    EXPECT_EQ(trees.Of(0, 2).parent, 3U);
    EXPECT_EQ(trees.Of(0, 1).parent, 2U);
    EXPECT_EQ(trees.Of(0, 8).parent, 0U);
    EXPECT_EQ(trees.Of(0, 11).parent, 8U);
    EXPECT_EQ(trees.Of(0, 4).parent, 11U);
    EXPECT_EQ(trees.Of(0, 4).depth, 3U);
    EXPECT_EQ(trees.Depth(0), 6U);
    // From another root, which is not the one that its server is entered at.
    const ServerTrees rooted(UniformPlacement(3, 4), 1, 1, 6);
    EXPECT_EQ(rooted.Of(0, 6).parent, kNoRank);
    EXPECT_EQ(rooted.Of(0, 5).parent, 6U);
    EXPECT_EQ(rooted.Of(0, 4).parent, 5U);
    EXPECT_EQ(rooted.Of(0, 7).parent, 4U);
    EXPECT_EQ(rooted.Of(0, 0).parent, 6U) << "two servers further";
    EXPECT_EQ(rooted.Of(0, 8).parent, 3U) << "one further, its first child";
}

CheckReport
Checked(Op op,
        const std::string& name,
        uint64_t bytes,
        const Placement& placement,
        uint64_t largest)
{
    const auto n = static_cast<uint32_t>(placement.serverOf.size());
    const CheckReport report =
        Check(*Find(op, name)->Make({op, bytes, n, 0}, placement, {1, largest}));
    EXPECT_TRUE(report.Ok()) << report.Problems();
    return report;
}

TEST(TreeAllReduce, BytesOfEachRank)
{
    // 7 servers of one GPU. Links of the tree in server-trees.h: 0 has 1, 4 and 2 have 3, 6 has 2,
    // the leaves 1, 3, 5 one each. A rank sends S over each of its links, and receives as much.
    const auto placement = UniformPlacement(7, 1);
    EXPECT_EQ(Checked(Op::kAllReduce, "tree", 1000, placement, 0).bytesSent,
              (std::vector<uint64_t>{1000, 1000, 3000, 1000, 3000, 1000, 2000}));
    // The second tree is that of 1, 2, ... 6, 0: links 2, 1, 1, 3, 1, 3, 1. Half of S each.
    EXPECT_EQ(Checked(Op::kAllReduce, "double-binary-tree", 1000, placement, 0).bytesSent,
              (std::vector<uint64_t>{1500, 1000, 2000, 2000, 2000, 2000, 1500}));

    // As many together; the ports of the single tree's inner ranks carry half as much again.
    const Collective what{Op::kAllReduce, 1 << 20, 64, 0};
    const auto servers = UniformPlacement(64, 1);
    const Cost one = *Find(what.op, "tree")->CostOf(what, servers, {});
    const Cost two = *Find(what.op, "double-binary-tree")->CostOf(what, servers, {});
    EXPECT_EQ(one.totalBytes, 2 * 63UL << 20);
    EXPECT_EQ(two.totalBytes, one.totalBytes);
    EXPECT_DOUBLE_EQ(one.sentPerRank, 3.0 * (1 << 20));
    EXPECT_DOUBLE_EQ(two.sentPerRank, 2.0 * (1 << 20));
    EXPECT_DOUBLE_EQ(one.reducedPerRank, 2.0 * (1 << 20));
    EXPECT_DOUBLE_EQ(two.reducedPerRank, 1.0 * (1 << 20));
    EXPECT_DOUBLE_EQ(one.outOfServer, 3.0 * (1 << 20));
    EXPECT_DOUBLE_EQ(two.outOfServer, 2.0 * (1 << 20));
}

TEST(TreeAllReduce, BytesWithChainsInside)
{
    // 4 servers of 3 GPUs, one tree 0-2, 2-1, 2-3. In each server the chain has two links, which
    // make 1, 2, 1 of its ranks; links between servers go from the first of 0 to the first of 2,
    // from the second of 2 (its first child) to the first of 1, from the first of 2 to the first of
    // 3. Ring order 0 2 1.
    EXPECT_EQ(Checked(Op::kAllReduce, "tree", 100, UniformPlacement(4, 3), 0).bytesSent,
              (std::vector<uint64_t>{200, 100, 200, 200, 100, 200, 300, 100, 300, 200, 100, 200}));
}

TEST(TreeAllReduce, ChainGrowsByTheRoundTripsOfItsWindow)
{
    // 8 servers: D = 3 (0-4-2-1). Up to 5 chunks no rank at depth 1 waits for what comes down: 2 D.
    // The longest way round is 2 x 3 messages in 4 x 3 + 1 = 13 chunks.
    const auto placement = UniformPlacement(8, 1);
    const auto chain = [&](uint64_t chunks) {
        return Checked(Op::kAllReduce, "tree", chunks, placement, 1).longestChain;
    };
    EXPECT_EQ(chain(1), 6U);
    EXPECT_EQ(chain(5), 6U);
    EXPECT_EQ(chain(6), 8U);
    EXPECT_EQ(chain(10), 10U);
    EXPECT_EQ(chain(14), 12U);
    EXPECT_EQ(chain(1 + 5 * 13), 6U + 5 * 6);
}

TEST(TreeAllReduce, CostOfManyChunks)
{
    for (const char* name : {"tree", "double-binary-tree"})
    {
        for (const uint32_t n : {2, 3, 5, 8, 13})
        {
            for (const uint64_t bytes : {37, 100, 333})
            {
                for (const auto& placement :
                     {UniformPlacement(n, 1), UniformPlacement(1, n), UniformPlacement(n, 2)})
                {
                    const Collective what{Op::kAllReduce,
                                          bytes,
                                          static_cast<uint32_t>(placement.serverOf.size()),
                                          0};
                    const Algorithm& tree = *Find(what.op, name);
                    const AlgorithmOptions options{1, 1};
                    const auto report = Check(*tree.Make(what, placement, options));
                    const auto cost = tree.CostOf(what, placement, options);
                    ASSERT_TRUE(report.Ok()) << report.Problems();
                    EXPECT_EQ(report.longestChain, cost->chain)
                        << name << " " << what.ranks << " ranks " << bytes;
                    EXPECT_EQ(report.totalBytes, cost->totalBytes);
                    EXPECT_TRUE(report.zeroCopySafe);
                }
            }
        }
    }
}

TEST(TreeAllReduce, CutsAsNcclDoes)
{
    // 16 servers of one GPU, depth 4; two trees of 32 MiB: 64 chunks of 512 KiB are not fewer than
    // 8 x 4. Of 512 KiB: 256 KiB and 128 KiB would still be too few, 64 KiB make 8, which is below
    // 4 x 4, and above 4.
    const auto placement = UniformPlacement(16, 1);
    const Algorithm& tree = *Find(Op::kAllReduce, "double-binary-tree");
    const auto largest = [&](uint64_t bytes) {
        const auto schedule = tree.Make({Op::kAllReduce, bytes, 16, 0}, placement, {});
        uint64_t most = 0;
        for (StepIndex k = 0; k < schedule->Steps(5, 0); k++)
        {
            most = std::max(most, schedule->At(5, 0, k).sendBytes);
        }
        return most;
    };
    EXPECT_EQ(largest(64 << 20), 512U << 10);
    EXPECT_EQ(largest(1 << 20), 64U << 10);
    EXPECT_EQ(largest(100 << 10), 25U << 10) << "32 KiB at most, in two";
}

TEST(Trees, FewLatenciesForManyRanks)
{
    // 128 servers of 8: 7 levels between servers; inside, each server on the way is left by the
    // second of its chain at most, and the last chain has 7 links. A ring has 2 x 1023.
    const auto placement = UniformPlacement(128, 8, 8);
    const Collective what{Op::kAllReduce, 1024, 1024, 0};
    const Cost cost = *Find(what.op, "tree")->CostOf(what, placement, {});
    EXPECT_LE(cost.chain, 2 * (2 * 7 + 7U));
    EXPECT_GE(cost.chain, 2 * (7 + 7U));
    EXPECT_EQ(Find(what.op, "ring")->CostOf(what, placement, {})->chain, 2046U);
}

TEST(Trees, TooManyChunksAreRefused)
{
    const auto placement = UniformPlacement(4, 1);
    const Algorithm& tree = *Find(Op::kAllReduce, "tree");
    EXPECT_EQ(tree.WhyNot({Op::kAllReduce, (1UL << 29) - 1, 4, 0}, placement, {1, 1}), "");
    EXPECT_EQ(tree.WhyNot({Op::kAllReduce, 1UL << 29, 4, 0}, placement, {1, 1}),
              "messages of at most 1 bytes cut 536870912 bytes into more than 2^29");
}

} // namespace
} // namespace coll
