/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "collectives/core/block-sizes.h"
#include "reports/attribution/collective-join.h"

#include <algorithm>
#include <gtest/gtest.h>
#include <random>
#include <stdexcept>
#include <vector>

namespace reports
{

namespace
{

CollectivePart
PartOf(uint32_t ranks, coll::Rank position, int64_t entered, int64_t left)
{
    CollectivePart part;
    part.communicator = 3;
    part.sequence = 5;
    part.position = position;
    part.round = 2;
    part.op = coll::Op::kAllGather;
    part.bytes = 4096;
    part.ranks = ranks;
    part.tag = 9;
    part.bytesSent = 100 + position;
    part.entered = entered;
    part.left = left;
    return part;
}

} // namespace

// Rank 0 is there from 10 to 30, rank 1 from 20 to 34, rank 2 from 15 to 20: 20 + 14 + 5 = 39, a
// third of which is 13. Rank 1 is the last to enter: until then rank 0 waits 10 and rank 2, which
// leaves just then, 5, a third of which is 5.
TEST(CollectiveJoin, MakesARecordOfItsRanksParts)
{
    const std::vector<CollectivePart> parts = {PartOf(3, 0, 10, 30),
                                               PartOf(3, 1, 20, 34),
                                               PartOf(3, 2, 15, 20)};
    std::vector<std::size_t> order = {0, 1, 2};
    do
    {
        CollectiveJoin join;
        EXPECT_FALSE(join.Add(parts[order[0]]));
        EXPECT_FALSE(join.Add(parts[order[1]]));
        EXPECT_EQ(join.GetOpen(), 1U);
        const auto whole = join.Add(parts[order[2]]);
        ASSERT_TRUE(whole);
        EXPECT_EQ(join.GetOpen(), 0U);
        EXPECT_EQ(whole->communicator, 3U);
        EXPECT_EQ(whole->sequence, 5U);
        EXPECT_EQ(whole->round, 2U);
        EXPECT_EQ(whole->op, coll::Op::kAllGather);
        EXPECT_EQ(whole->bytes, 4096U);
        EXPECT_EQ(whole->ranks, 3U);
        EXPECT_EQ(whole->tag, 9U);
        EXPECT_EQ(whole->bytesSent, 303U);
        EXPECT_EQ(whole->firstStart, 10);
        EXPECT_EQ(whole->lastStart, 20);
        EXPECT_EQ(whole->end, 34);
        EXPECT_EQ(whole->meanPs, 13);
        EXPECT_EQ(whole->waitPs, 5);
    } while (std::next_permutation(order.begin(), order.end()));
}

// Times whose sum as floating-point numbers depends on the order, and whose sum needs more than 64
// bits: 33 x 2^62 ps.
TEST(CollectiveJoin, IsTheSameInAnyOrder)
{
    constexpr int64_t LONG = int64_t(1) << 62;
    std::mt19937 random(5);
    std::vector<CollectivePart> parts;
    for (coll::Rank rank = 0; rank < 33; ++rank)
    {
        parts.push_back(PartOf(33, rank, rank, rank + LONG + rank * 1001));
    }
    parts[7].round = 4; // the last that any rank is in
    for (int i = 0; i < 20; ++i)
    {
        std::shuffle(parts.begin(), parts.end(), random);
        CollectiveJoin join;
        for (std::size_t p = 0; p + 1 < parts.size(); ++p)
        {
            EXPECT_FALSE(join.Add(parts[p]));
        }
        const auto whole = join.Add(parts.back());
        ASSERT_TRUE(whole);
        // 2^62 and 1001 x (0 + .. + 32) / 33 = 16,016; such doubles are 1,024 apart.
        EXPECT_EQ(whole->meanPs, 4611686018427387904.0 + 16 * 1024);
        EXPECT_EQ(whole->round, 4U);
    }
}

// Ranks run ahead: of two collectives and two communicators none is taken for another.
TEST(CollectiveJoin, KeepsCollectivesApart)
{
    CollectiveJoin join;
    CollectivePart a = PartOf(2, 0, 0, 1);
    CollectivePart b = a;
    b.sequence = 6;
    CollectivePart c = a;
    c.communicator = 4;
    c.op = coll::Op::kBarrier;
    EXPECT_FALSE(join.Add(a));
    EXPECT_FALSE(join.Add(b));
    EXPECT_FALSE(join.Add(c));
    EXPECT_EQ(join.GetOpen(), 3U);
    EXPECT_EQ(join.Add(c)->op, coll::Op::kBarrier);
    EXPECT_EQ(join.Add(b)->sequence, 6U);
    EXPECT_EQ(join.Add(a)->sequence, 5U);
}

TEST(CollectiveJoin, OfOneRankIsDoneAtOnce)
{
    CollectiveJoin join;
    const auto whole = join.Add(PartOf(1, 0, 4, 9));
    EXPECT_EQ(whole->meanPs, 5);
    EXPECT_EQ(whole->waitPs, 0);
}

// A root of a broadcast is there from 0 to 10 and waits for nobody; the other enters at 40: what
// the root was in it is all before that.
TEST(CollectiveJoin, WaitingEndsWhereARankLeaves)
{
    for (const bool rootFirst : {true, false})
    {
        CollectiveJoin join;
        const CollectivePart root = PartOf(2, 0, 0, 10);
        const CollectivePart late = PartOf(2, 1, 40, 50);
        EXPECT_FALSE(join.Add(rootFirst ? root : late));
        const auto whole = join.Add(rootFirst ? late : root);
        EXPECT_EQ(whole->meanPs, 10);
        EXPECT_EQ(whole->waitPs, 5); // (10 + 0) / 2
    }
}

TEST(CollectiveJoin, RefusesPartsOfDifferentCollectives)
{
    const CollectivePart part = PartOf(2, 0, 0, 1);
    CollectivePart other = part;
    other.bytes = 4097;
    CollectiveJoin join;
    join.Add(part);
    EXPECT_THROW(join.Add(other), std::logic_error);
    other = part;
    other.op = coll::Op::kBroadcast;
    EXPECT_THROW(join.Add(other), std::logic_error);
    const coll::BlockSizes sizes(2, {1, 2, 3, 4});
    other = part;
    other.blocks = &sizes;
    EXPECT_THROW(join.Add(other), std::logic_error);
    const coll::BlockSizes same(2, {1, 2, 3, 4});
    CollectivePart first = other;
    first.sequence = other.sequence = 7;
    other.blocks = &same;
    join.Add(first);
    EXPECT_TRUE(join.Add(other));
}

} // namespace reports
