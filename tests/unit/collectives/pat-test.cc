/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * PAT: which pieces travel how far together, as the drawing in pat.cc has it.
 */
#include "prove.h"

namespace coll
{
namespace
{

/// Receiver less sender and bytes of each message that rank 0 sends, in order.
std::vector<std::pair<uint32_t, uint64_t>>
HopsOf(Op op, Rank n, uint64_t bytes, uint64_t pipelineBytes)
{
    const Collective what{op, bytes, n, 0};
    const auto placement = UniformPlacement(n, 1);
    const AlgorithmOptions options{1, pipelineBytes};
    ProveByFormula(op, "pat", what, placement, options);
    const auto schedule = Find(op, "pat")->Make(what, placement, options);
    std::vector<std::pair<uint32_t, uint64_t>> hops;
    for (StepIndex k = 0; k < schedule->Steps(0, 0); k++)
    {
        const Step step = schedule->At(0, 0, k);
        if (step.sendPeer != kNoRank)
        {
            const Rank up = step.sendPeer;
            hops.emplace_back(op == Op::kAllGather ? up : n - up, step.sendBytes);
        }
    }
    return hops;
}

using Hops = std::vector<std::pair<uint32_t, uint64_t>>;

TEST(Pat, GoesFarWithLittleAndNearWithMuch)
{
    // 8 pieces of 100 bytes: all of them together, two, or one.
    EXPECT_EQ(HopsOf(Op::kAllGather, 8, 800, 0), (Hops{{4, 100}, {2, 200}, {1, 400}}));
    EXPECT_EQ(HopsOf(Op::kAllGather, 8, 800, 399), // not 400
              (Hops{{4, 100}, {1, 200}, {2, 200}, {1, 200}}));
    EXPECT_EQ(HopsOf(Op::kAllGather, 8, 800, 100),
              (Hops{{1, 100}, {2, 100}, {1, 100}, {4, 100}, {1, 100}, {2, 100}, {1, 100}}));
    // A piece in two messages.
    EXPECT_EQ(HopsOf(Op::kAllGather, 2, 200, 50), (Hops{{1, 50}, {1, 50}}));
    // 6 ranks: of the last round's pieces 1 3 5 7 the last is none. 5: 2 at once at most.
    EXPECT_EQ(HopsOf(Op::kAllGather, 6, 600, 0), (Hops{{4, 100}, {2, 100}, {1, 300}}));
    EXPECT_EQ(HopsOf(Op::kAllGather, 5, 500, 0), (Hops{{4, 100}, {1, 100}, {2, 100}, {1, 100}}));
}

TEST(Pat, ReducesTheSameWayBack)
{
    for (const Rank n : {2U, 3U, 6U, 8U, 13U})
    {
        for (const uint64_t limit : {0U, 100U, 250U})
        {
            Hops back = HopsOf(Op::kReduceScatter, n, n * 100UL, limit);
            std::reverse(back.begin(), back.end());
            EXPECT_EQ(back, HopsOf(Op::kAllGather, n, n * 100UL, limit));
        }
    }
}

// 512 KiB in a message: at 64 ranks pieces of 16 KiB go 32 together, log2 n = 6 messages in series;
// of 32 KiB 16: 4 far rounds and 64 / 16 - 1 near ones; of 1 MiB one: n - 1.
TEST(Pat, PacksWhatFitsASlot)
{
    const auto chain = [](uint64_t piece) {
        return Find(Op::kAllGather, "pat")
            ->CostOf({Op::kAllGather, 64 * piece, 64, 0}, UniformPlacement(64, 1), {1, 0})
            ->chain;
    };
    EXPECT_EQ(chain(16 << 10), 6U);
    EXPECT_EQ(chain(32 << 10), 4U + 3U);
    EXPECT_EQ(chain(1 << 20), 63U);
}

TEST(Pat, IsForOneRankAServer)
{
    EXPECT_EQ(Find(Op::kAllGather, "pat")
                  ->WhyNot({Op::kAllGather, 100, 8, 0}, UniformPlacement(2, 4), {}),
              "it is for one rank a server, and server 0 has 4");
}

} // namespace
} // namespace coll
