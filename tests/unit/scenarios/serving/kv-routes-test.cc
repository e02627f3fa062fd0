/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * KV goes once from who has it to who needs it, whatever the cuts of both sides are.
 */
#include "scenarios/inference/kv-routes.h"
#include "scenarios/traffic/random.h"

#include <gtest/gtest.h>
#include <map>
#include <set>
#include <tuple>
#include <vector>

using namespace serving;

namespace
{

/// Heads that a rank has: its share of them, or one of which tp / heads ranks have a copy each.
uint32_t
CountHeads(uint32_t tp, uint32_t heads)
{
    return tp >= heads ? 1 : heads / tp;
}

uint32_t
FirstHead(uint32_t rank, uint32_t tp, uint32_t heads)
{
    return tp >= heads ? rank / (tp / heads) : rank * (heads / tp);
}

/// Stages of any lengths, at least one block each.
KvSide
SideOf(scenario::Random* random, uint32_t tp, uint32_t blocks)
{
    KvSide side;
    side.tp = tp;
    std::set<uint32_t> cuts{0, blocks};
    for (uint64_t more = random->Below(5); more > 0; --more)
    {
        cuts.insert(static_cast<uint32_t>(random->Below(blocks)));
    }
    side.firstBlock.assign(cuts.begin(), cuts.end());
    return side;
}

void
CheckRoutes(const KvSide& from, const KvSide& to, uint32_t heads)
{
    const std::vector<KvRoute> routes = KvRoutes(from, to, heads);
    // By (receiver's stage, rank, block): heads that come, by sender.
    std::map<std::tuple<uint32_t, uint32_t, uint32_t>, std::map<uint32_t, uint32_t>> come;
    std::map<uint32_t, uint64_t> sentBy; // heads x blocks by sending rank
    for (const KvRoute& route : routes)
    {
        ASSERT_LT(route.fromTensor, from.tp);
        ASSERT_LT(route.toTensor, to.tp);
        ASSERT_GT(route.blocks, 0U);
        // Both stages have all of the blocks.
        const uint32_t end = route.firstBlock + route.blocks;
        ASSERT_GE(route.firstBlock, from.firstBlock[route.fromStage]);
        ASSERT_LE(end, from.firstBlock[route.fromStage + 1]);
        ASSERT_GE(route.firstBlock, to.firstBlock[route.toStage]);
        ASSERT_LE(end, to.firstBlock[route.toStage + 1]);
        // As many heads as both ranks have.
        const uint32_t first = std::max(FirstHead(route.fromTensor, from.tp, heads),
                                        FirstHead(route.toTensor, to.tp, heads));
        const uint32_t last =
            std::min(FirstHead(route.fromTensor, from.tp, heads) + CountHeads(from.tp, heads),
                     FirstHead(route.toTensor, to.tp, heads) + CountHeads(to.tp, heads));
        ASSERT_EQ(first + route.heads, last);
        sentBy[route.fromTensor] += uint64_t{route.heads} * route.blocks;
        for (uint32_t block = route.firstBlock; block < end; ++block)
        {
            for (uint32_t head = first; head < last; ++head)
            {
                const bool isNew = come[{route.toStage, route.toTensor, block}]
                                       .emplace(head, route.fromTensor)
                                       .second;
                ASSERT_TRUE(isNew) << "head " << head << " of block " << block << " comes twice";
            }
        }
    }
    for (uint32_t stage = 0; stage + 1 < to.firstBlock.size(); ++stage)
    {
        for (uint32_t rank = 0; rank < to.tp; ++rank)
        {
            for (uint32_t block = to.firstBlock[stage]; block < to.firstBlock[stage + 1]; ++block)
            {
                const auto& got = come[{stage, rank, block}];
                ASSERT_EQ(got.size(), CountHeads(to.tp, heads));
                ASSERT_EQ(got.begin()->first, FirstHead(rank, to.tp, heads));
            }
        }
    }
    // A head's copies are sent in turn: ranks of a side differ by one receiver at most.
    uint64_t most = 0;
    uint64_t least = UINT64_MAX;
    for (uint32_t rank = 0; rank < from.tp; ++rank)
    {
        most = std::max(most, sentBy[rank]);
        least = std::min(least, sentBy[rank]);
    }
    const uint64_t all = from.firstBlock.back();
    ASSERT_LE(most - least, all * CountHeads(to.tp, heads)) << "senders are not balanced";
}

} // namespace

TEST(KvRoutes, EveryHeadOfEveryBlockArrivesOnce)
{
    scenario::Random random(3);
    for (uint32_t i = 0; i < 400; ++i)
    {
        const auto heads = static_cast<uint32_t>(1 + random.Below(12));
        const auto tpOf = [&] {
            // It divides the heads, or is a multiple of them.
            uint32_t tp = 0;
            do
            {
                tp = static_cast<uint32_t>(1 + random.Below(24));
            } while (heads % tp != 0 && tp % heads != 0);
            return tp;
        };
        const auto blocks = static_cast<uint32_t>(5 + random.Below(40));
        const KvSide from = SideOf(&random, tpOf(), blocks);
        const KvSide to = SideOf(&random, tpOf(), blocks);
        SCOPED_TRACE(std::to_string(heads) + " heads, tp " + std::to_string(from.tp) + " to " +
                     std::to_string(to.tp));
        CheckRoutes(from, to, heads);
        if (HasFatalFailure())
        {
            return;
        }
    }
}

TEST(KvRoutes, LikeCutsGoFromRankToRank)
{
    const KvSide side{4, {0, 10, 20}};
    for (const uint32_t heads : {4U, 8U})
    {
        const std::vector<KvRoute> routes = KvRoutes(side, side, heads);
        ASSERT_EQ(routes.size(), 8U);
        for (const KvRoute& route : routes)
        {
            EXPECT_EQ(route.fromStage, route.toStage);
            EXPECT_EQ(route.fromTensor, route.toTensor);
            EXPECT_EQ(route.blocks, 10U);
            EXPECT_EQ(route.heads, heads / 4);
        }
    }
}

/// Each of 4 ranks has the one latent (MLA): receivers share them out, and none sends for all.
TEST(KvRoutes, CopiesOfALatentAreSharedOut)
{
    for (const uint32_t receivers : {1U, 2U, 4U, 8U})
    {
        std::map<uint32_t, uint32_t> sends;
        for (const KvRoute& route : KvRoutes({4, {0, 6}}, {receivers, {0, 6}}, 1))
        {
            ++sends[route.fromTensor];
        }
        EXPECT_EQ(sends.size(), std::min(4U, receivers));
        for (const auto& [sender, count] : sends)
        {
            EXPECT_EQ(count, std::max(1U, receivers / 4)) << sender;
        }
    }
}
