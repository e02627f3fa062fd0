/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * What a collective loses with a link: a tree its leaves, a ring nobody.
 */
#include "collectives/core/cut-off.h"
#include "collectives/schedules/server-trees.h"
#include "prove.h"

namespace coll
{
namespace
{

/// Ranks at and below one of a tree, by their parents alone.
std::vector<Rank>
Below(const ServerTrees& trees, uint32_t tree, Rank top, Rank ranks)
{
    std::vector<Rank> below;
    for (Rank rank = 0; rank < ranks; ++rank)
    {
        Rank at = rank;
        while (at != kNoRank && at != top)
        {
            at = trees.Of(tree, at).parent;
        }
        if (at == top)
        {
            below.push_back(rank);
        }
    }
    return below;
}

std::set<Edge>
BothWays(Rank a, Rank b)
{
    return {{a, b}, {b, a}};
}

TEST(CutOff, ATreeLosesTheLeavesBelow)
{
    for (const Rank servers : {2U, 3U, 5U, 8U, 13U})
    {
        for (const Rank gpus : {1U, 2U, 3U})
        {
            const Placement placement = UniformPlacement(servers, gpus);
            const Rank n = servers * gpus;
            for (const Op op : {Op::kAllReduce, Op::kReduce, Op::kBroadcast})
            {
                const auto schedule = Made(op, "tree", 1000, placement);
                const ServerTrees trees(placement, 1, 1, op == Op::kAllReduce ? kNoRank : 0);
                for (Rank rank = 0; rank < n; ++rank)
                {
                    const Rank parent = trees.Of(0, rank).parent;
                    if (parent == kNoRank)
                    {
                        continue;
                    }
                    const auto split = SplitWithout(*schedule, BothWays(rank, parent));
                    ASSERT_EQ(split.size(), 1U);
                    ASSERT_EQ(split[0].parts.size(), 2U);
                    const auto below = Below(trees, 0, rank, n);
                    const auto& parts = split[0].parts;
                    EXPECT_EQ(std::count(parts.begin(), parts.end(), below), 1) << n << " " << rank;
                    EXPECT_EQ(parts[0].size() + parts[1].size(), n);
                }
            }
        }
    }
}

// Cut in one direction only: of all-reduce the other one still joins them.
TEST(CutOff, OneDirection)
{
    const auto schedule = Made(Op::kBroadcast, "tree", 1000, UniformPlacement(7, 1));
    const ServerTrees trees(UniformPlacement(7, 1), 1, 1, 0);
    for (Rank rank = 0; rank < 7; ++rank)
    {
        const Rank parent = trees.Of(0, rank).parent;
        if (parent != kNoRank)
        {
            EXPECT_TRUE(SplitWithout(*schedule, {{rank, parent}}).empty());
            EXPECT_EQ(SplitWithout(*schedule, {{parent, rank}}).at(0).parts.size(), 2U);
        }
    }
}

// Two trees: only the one with the link is split, the other one's bytes get everywhere.
TEST(CutOff, OneOfTwoTrees)
{
    for (const Rank n : {4U, 7U, 12U})
    {
        const auto schedule =
            Made(Op::kAllReduce, "double-binary-tree", 100000, UniformPlacement(n, 1));
        const ServerTrees trees(UniformPlacement(n, 1), 1, 2, kNoRank);
        for (uint32_t tree = 0; tree < 2; ++tree)
        {
            for (Rank rank = 0; rank < n; ++rank)
            {
                const Rank parent = trees.Of(tree, rank).parent;
                const Rank other = parent == kNoRank ? kNoRank : trees.Of(1 - tree, rank).parent;
                const bool inBoth = parent != kNoRank &&
                                    (other == parent || trees.Of(1 - tree, parent).parent == rank);
                if (parent == kNoRank || inBoth)
                {
                    continue;
                }
                const auto split = SplitWithout(*schedule, BothWays(rank, parent));
                ASSERT_EQ(split.size(), 1U) << n << " " << tree << " " << rank;
                const auto below = Below(trees, tree, rank, n);
                const auto& parts = split[0].parts;
                EXPECT_EQ(std::count(parts.begin(), parts.end(), below), 1);
            }
        }
    }
}

TEST(CutOff, ARingIsOpen)
{
    for (const Rank n : {2U, 3U, 8U})
    {
        const auto schedule = Made(Op::kAllReduce, "ring", 8 * n, UniformPlacement(n, 1));
        const auto one = SplitWithout(*schedule, {{0, 1}});
        ASSERT_EQ(one.size(), 1U);
        EXPECT_EQ(one[0].parts.size(), 1U) << n;
        EXPECT_TRUE(SplitWithout(*schedule, {}).empty());
        if (n == 8)
        {
            // Two links: two pieces.
            const auto two = SplitWithout(*schedule, {{0, 1}, {4, 5}});
            ASSERT_EQ(two[0].parts.size(), 2U);
            EXPECT_EQ(two[0].parts[0], (std::vector<Rank>{0, 5, 6, 7}));
        }
    }
}

} // namespace
} // namespace coll
