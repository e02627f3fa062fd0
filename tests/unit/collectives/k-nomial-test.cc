/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * K-nomial trees: their shape, and who sends how much. That every radix and root is right is
 * algorithms-test.cc.
 */
#include "collectives/core/checker.h"
#include "collectives/core/cost.h"
#include "collectives/core/placement.h"
#include "collectives/core/registry.h"
#include "collectives/schedules/k-nomial-tree.h"

#include <gtest/gtest.h>

namespace coll
{
namespace
{

std::vector<uint32_t>
ChildrenOf(const KNomialTree& tree, uint32_t v)
{
    std::vector<uint32_t> children;
    for (uint32_t c = 0; c < tree.Children(v); c++)
    {
        children.push_back(tree.Child(v, c));
    }
    return children;
}

KNomialTree
Tree(uint32_t n, uint32_t radix, Rank root = 0)
{
    AlgorithmOptions options;
    options.radix = radix;
    return KNomialTree({Op::kBroadcast, 0, n, root}, options);
}

using Numbers = std::vector<uint32_t>;

TEST(KNomialTree, IsThatOfTheDrawings)
{
    const KNomialTree binomial = Tree(8, 2);
    EXPECT_EQ(ChildrenOf(binomial, 0), (Numbers{4, 2, 1}));
    EXPECT_EQ(ChildrenOf(binomial, 4), (Numbers{6, 5}));
    EXPECT_EQ(ChildrenOf(binomial, 6), (Numbers{7}));
    EXPECT_EQ(ChildrenOf(binomial, 7), (Numbers{}));
    EXPECT_EQ(binomial.Parent(7), 6U);
    EXPECT_EQ(binomial.Parent(6), 4U);
    EXPECT_EQ(binomial.Depth(), 3U);
    const KNomialTree three = Tree(9, 3);
    EXPECT_EQ(ChildrenOf(three, 0), (Numbers{3, 6, 1, 2}));
    EXPECT_EQ(ChildrenOf(three, 6), (Numbers{7, 8}));
    EXPECT_EQ(three.Depth(), 2U);
    // 7 of radix 3: 0, 1, 2, 10, 11, 12, 20: only the numbers below n.
    EXPECT_EQ(ChildrenOf(Tree(7, 3), 0), (Numbers{3, 6, 1, 2}));
    EXPECT_EQ(ChildrenOf(Tree(7, 3), 6), (Numbers{}));
    EXPECT_EQ(Tree(7, 3).Below(3), 3U);
    EXPECT_EQ(Tree(7, 3).Below(6), 1U);
    // n - 1 = 100 in base 2 is less than 111: 11 is the deepest.
    EXPECT_EQ(Tree(5, 2).Depth(), 2U);
    EXPECT_EQ(Tree(4, 4).Depth(), 1U);
    EXPECT_EQ(Tree(1, 2).Depth(), 0U);
    // Counted from the root.
    EXPECT_EQ(Tree(5, 2, 3).RankOf(4), 2U);
    EXPECT_EQ(Tree(5, 2, 3).NumberOf(2), 4U);
}

TEST(KNomialTree, EveryRankHangsBelowItsParent)
{
    for (const uint32_t radix : {2, 3, 4, 7, 1000})
    {
        for (const uint32_t n : {1, 2, 5, 16, 17, 63, 64, 65, 200})
        {
            const KNomialTree tree = Tree(n, radix);
            uint32_t children = 0;
            for (uint32_t v = 0; v < n; v++)
            {
                uint32_t below = 1;
                for (const uint32_t child : ChildrenOf(tree, v))
                {
                    EXPECT_EQ(tree.Parent(child), v);
                    below += tree.Below(child);
                    children++;
                }
                EXPECT_EQ(below, v == 0 ? n : tree.Below(v));
            }
            EXPECT_EQ(children, n - 1);
        }
    }
}

CheckReport
Checked(Op op, uint64_t bytes, uint32_t n, Rank root, uint32_t radix)
{
    AlgorithmOptions options;
    options.radix = radix;
    const auto report =
        Check(*Find(op, "k-nomial")->Make({op, bytes, n, root}, UniformPlacement(n, 1), options));
    EXPECT_TRUE(report.Ok()) << report.Problems();
    EXPECT_TRUE(report.zeroCopySafe);
    return report;
}

TEST(KNomial, Bytes)
{
    using Bytes = std::vector<uint64_t>;
    // The binomial tree of 8: 3, 0, 1, 0, 2, 0, 1, 0 children.
    EXPECT_EQ(Checked(Op::kBroadcast, 100, 8, 0, 2).bytesSent,
              (Bytes{300, 0, 100, 0, 200, 0, 100, 0}));
    EXPECT_EQ(Checked(Op::kReduce, 100, 8, 0, 2).bytesReduced,
              (Bytes{300, 0, 100, 0, 200, 0, 100, 0}));
    EXPECT_EQ(Checked(Op::kReduce, 100, 8, 0, 2).bytesSent,
              (Bytes{0, 100, 100, 100, 100, 100, 100, 100}));
    // Pieces at and below a rank: 8, 1, 2, 1, 4, 1, 2, 1.
    EXPECT_EQ(Checked(Op::kGather, 800, 8, 0, 2).bytesSent,
              (Bytes{0, 100, 200, 100, 400, 100, 200, 100}));
    // Below: of 4 three more, of 2 and 6 one.
    EXPECT_EQ(Checked(Op::kScatter, 800, 8, 0, 2).bytesSent,
              (Bytes{700, 0, 100, 0, 300, 0, 100, 0}));
    // From rank 5 on; 5 is number 0, so 1 is 4, and ranks 1..4 are what it passes on.
    EXPECT_EQ(Checked(Op::kGather, 800, 8, 5, 2).bytesSent,
              (Bytes{100, 400, 100, 200, 100, 0, 100, 200}));
    // Number 2 is rank 7, and with number 3, rank 0, goes round the end: two messages.
    EXPECT_EQ(Checked(Op::kGather, 800, 8, 5, 2).messagesSent[7], 2U);
    // As large a radix as there are ranks is direct.
    const auto direct = Checked(Op::kScatter, 800, 8, 3, 8);
    EXPECT_EQ(direct.bytesSent, (Bytes{0, 0, 0, 700, 0, 0, 0, 0}));
    EXPECT_EQ(direct.longestChain, 1U);
}

TEST(KNomial, ScattersMessagesShareThePort)
{
    // n = 8, k = 2, pieces of 100: the root has 4, 2 and 1 pieces for its children 4, 2 and 1. In
    // turns the one with 1 has it after 3 x 1, that with 2 after 1 + 2 + 2, that with 4 after 1 + 2
    // + 4 = 7; then 4 has 2 and 1 for 6 and 5: 6 after 1 + 2, and 6 1 for 7: 7 + 3 + 1 pieces.
    const auto placement = UniformPlacement(8, 1);
    AlgorithmOptions binomial;
    binomial.radix = 2;
    const auto serial = [&](Op op) {
        return Find(op, "k-nomial")->CostOf({op, 800, 8, 0}, placement, binomial)->serialBytes;
    };
    EXPECT_DOUBLE_EQ(serial(Op::kScatter), 1100);
    EXPECT_DOUBLE_EQ(serial(Op::kGather), 700);
    // Broadcast: 3 children, then 2, then 1, of 800 B each.
    EXPECT_DOUBLE_EQ(serial(Op::kBroadcast), 6 * 800);
    EXPECT_DOUBLE_EQ(serial(Op::kReduce), 3 * 800);
    // Direct: all of the root's port, and no more.
    AlgorithmOptions direct;
    direct.radix = 8;
    EXPECT_DOUBLE_EQ(Find(Op::kScatter, "k-nomial")
                         ->CostOf({Op::kScatter, 800, 8, 3}, placement, direct)
                         ->serialBytes,
                     700);
}

TEST(KNomial, TakesRadix4ByItself)
{
    const auto placement = UniformPlacement(64, 1);
    const Collective what{Op::kBroadcast, 1000, 64, 0};
    const Cost cost = *Find(what.op, "k-nomial")->CostOf(what, placement, {});
    // log4 64 = 3 levels of 3 children.
    EXPECT_EQ(cost.chain, 3U);
    EXPECT_EQ(cost.posts, 9U);
    // The root has 9 children, whose messages share its port; the first of them 6, the first of
    // these 3.
    EXPECT_DOUBLE_EQ(cost.serialBytes, (9 + 6 + 3) * 1000);
    // Up the tree the last child of all comes when the root's others have.
    EXPECT_DOUBLE_EQ(Find(Op::kReduce, "k-nomial")
                         ->CostOf({Op::kReduce, 1000, 64, 0}, placement, {})
                         ->serialBytes,
                     9000);
    AlgorithmOptions binomial;
    binomial.radix = 2;
    EXPECT_EQ(Find(what.op, "k-nomial")->CostOf(what, placement, binomial)->chain, 6U);
    AlgorithmOptions none;
    none.radix = 1;
    EXPECT_EQ(Find(what.op, "k-nomial")->WhyNot(what, placement, none),
              "a tree of radix 1 has no branches; 2 is the least");
}

} // namespace
} // namespace coll
