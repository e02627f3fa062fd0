/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Recursive doubling and halving: who sends how much, with powers of two and without, and where the
 * formulas of the two all-reduces cross.
 */
#include "collectives/core/checker.h"
#include "collectives/core/cost.h"
#include "collectives/core/placement.h"
#include "collectives/core/registry.h"
#include "collectives/schedules/folding.h"

#include <gtest/gtest.h>

namespace coll
{
namespace
{

CheckReport
Checked(Op op, const std::string& name, uint64_t bytes, uint32_t n)
{
    const CheckReport report =
        Check(*Find(op, name)->Make({op, bytes, n, 0}, UniformPlacement(n, 1), {}));
    EXPECT_TRUE(report.Ok()) << report.Problems();
    return report;
}

TEST(Folding, PlacesOfSixRanks)
{
    // The drawing: 0 and 2 step back, 1 and 3 stand for pairs at places 0 and 1.
    const Folding six(6);
    EXPECT_EQ(six.Places(), 4U);
    EXPECT_EQ(six.Rounds(), 2U);
    EXPECT_EQ(six.Folded(), 2U);
    EXPECT_TRUE(six.StepsBack(0) && six.StepsBack(2));
    EXPECT_FALSE(six.StepsBack(1) || six.StepsBack(3) || six.StepsBack(4) || six.StepsBack(5));
    const Rank ranks[] = {1, 3, 4, 5};
    for (uint32_t place = 0; place < 4; place++)
    {
        EXPECT_EQ(six.RankAt(place), ranks[place]);
        EXPECT_EQ(six.PlaceOf(ranks[place]), place);
    }
    EXPECT_EQ(six.Begin(1), 2U);
    EXPECT_EQ(six.Begin(2), 4U);
    EXPECT_EQ(six.Begin(4), 6U);
    EXPECT_EQ(Folding(1).Rounds(), 0U);
    EXPECT_EQ(Folding(8).Folded(), 0U);
    EXPECT_EQ(Folding(1U << 20).Rounds(), 20U);
}

TEST(RecursiveDoubling, BytesOfAllReduce)
{
    // 3 rounds of all 600 bytes.
    EXPECT_EQ(Checked(Op::kAllReduce, "recursive-doubling", 600, 8).bytesSent,
              std::vector<uint64_t>(8, 1800));
    // 4 places: 2 rounds; ranks 0 and 2 send once, 1 and 3 give back what they have.
    EXPECT_EQ(Checked(Op::kAllReduce, "recursive-doubling", 600, 6).bytesSent,
              (std::vector<uint64_t>{600, 1800, 600, 1800, 1200, 1200}));
}

TEST(RecursiveDoubling, ExchangesWhatItAddsToAndSaysSo)
{
    const auto schedule = Find(Op::kAllReduce, "recursive-doubling")
                              ->Make({Op::kAllReduce, 99, 2, 0}, UniformPlacement(2, 1), {});
    EXPECT_TRUE(schedule->CopiesOut());
    EXPECT_FALSE(Check(*schedule).zeroCopySafe) << "else there is nothing to say";
    EXPECT_FALSE(Find(Op::kAllReduce, "halving-doubling")
                     ->Make({Op::kAllReduce, 99, 6, 0}, UniformPlacement(6, 1), {})
                     ->CopiesOut());
}

TEST(RecursiveDoubling, BytesOfAllGather)
{
    // Pieces of 100. Rank 5 of 8 sends 1, 2, 4 of them.
    EXPECT_EQ(Checked(Op::kAllGather, "recursive-doubling", 800, 8).bytesSent,
              std::vector<uint64_t>(8, 700));
    // Places {0 1} {2 3} {4} {5}: rank 1 sends 0-1 to 3, 0-3 to 4, and 1-5 to 0; rank 3 sends 2-3
    // to 1, 0-3 to 5, and 0-1, 3-5 to 2; rank 4 sends 4 to 5, 4-5 to 1; rank 5 likewise.
    const auto six = Checked(Op::kAllGather, "recursive-doubling", 600, 6);
    EXPECT_EQ(six.bytesSent, (std::vector<uint64_t>{100, 1100, 100, 1100, 300, 300}));
    EXPECT_EQ(six.messagesSent, (std::vector<uint64_t>{1, 3, 1, 4, 2, 2}));
    EXPECT_EQ(six.longestChain, 3U);
    EXPECT_EQ(Checked(Op::kAllGather, "recursive-doubling", 700, 7).longestChain, 4U)
        << "place 2, in the upper half, is a pair, too";
}

TEST(RecursiveDoubling, PiecesThatAreCutAreMessagesOfTheirOwn)
{
    // 8 ranks, 2 channels: 7 pieces each instead of 3 blocks; the chain stays.
    const Collective what{Op::kAllGather, 800, 8, 0};
    const auto placement = UniformPlacement(8, 1);
    const auto report = Check(*Find(what.op, "recursive-doubling")->Make(what, placement, {2, 0}));
    ASSERT_TRUE(report.Ok()) << report.Problems();
    EXPECT_EQ(report.messagesSent, std::vector<uint64_t>(8, 14));
    EXPECT_EQ(report.largestMessage, 50U);
    EXPECT_EQ(report.longestChain, 3U);
}

TEST(HalvingDoubling, BytesOfReduceScatter)
{
    // Everybody sends n - 1 pieces: what all-gather's ranks are sent.
    EXPECT_EQ(Checked(Op::kReduceScatter, "halving-doubling", 800, 8).bytesSent,
              std::vector<uint64_t>(8, 700));
    const auto six = Checked(Op::kReduceScatter, "halving-doubling", 600, 6);
    EXPECT_EQ(six.bytesSent, std::vector<uint64_t>(6, 500));
    EXPECT_EQ(six.bytesReduced, (std::vector<uint64_t>{100, 1100, 100, 1100, 300, 300}));
}

TEST(HalvingDoubling, BytesOfAllReduce)
{
    // 8 ranks: 400, 200, 100 bytes there and back.
    const auto eight = Checked(Op::kAllReduce, "halving-doubling", 800, 8);
    EXPECT_EQ(eight.bytesSent, std::vector<uint64_t>(8, 1400));
    EXPECT_EQ(eight.bytesReduced, std::vector<uint64_t>(8, 700));
    EXPECT_EQ(eight.longestChain, 6U);
    // 4 places: 300, 150 there and back; 600 once by 0 and 2, and back by 1 and 3.
    const auto six = Checked(Op::kAllReduce, "halving-doubling", 600, 6);
    EXPECT_EQ(six.bytesSent, (std::vector<uint64_t>{600, 1500, 600, 1500, 900, 900}));
    EXPECT_EQ(six.longestChain, 6U);
}

TEST(HalvingDoubling, KeepsHalvesNear)
{
    // 4 servers of 8: rounds 0, 1, 2 of 5 stay inside, then 1/16 and 1/32 of S go out, and come
    // back: 8 GPUs x 2 x 3/32 S = 3/2 S, what hierarchical needs: 2 x 3/4 S.
    const Collective what{Op::kAllReduce, 32 << 20, 32, 0};
    const auto placement = UniformPlacement(4, 8);
    const Cost cost = *Find(what.op, "halving-doubling")->CostOf(what, placement, {});
    EXPECT_DOUBLE_EQ(cost.outOfServer, 1.5 * what.bytes);
    EXPECT_DOUBLE_EQ(cost.outOfServer, LeastBytesPerServer(what.op, what.bytes, 32, 4));
    // Reduce-scatter ends with piece r at rank r, so its large halves go far: 8 x (1/2 + 1/4) S.
    const Collective scatter{Op::kReduceScatter, 32 << 20, 32, 0};
    EXPECT_DOUBLE_EQ(
        Find(scatter.op, "halving-doubling")->CostOf(scatter, placement, {})->outOfServer,
        6.0 * what.bytes);
}

TEST(Doubling, CrossesHalvingWhereTheFormulasDo)
{
    // 16 ranks: 4 (alpha + S beta) against 8 alpha + 2 S (15/16) beta: equal at S = 4 alpha / ((4 -
    // 15/8) beta), with 2 us and 10 GB/s 37,647 bytes.
    const AlphaBeta link{2e-6, 1e-10, 0, 0};
    const auto placement = UniformPlacement(16, 1);
    const auto seconds = [&](const std::string& name, uint64_t bytes) {
        const Collective what{Op::kAllReduce, bytes, 16, 0};
        return Seconds(*Find(what.op, name)->CostOf(what, placement, {}), link);
    };
    const double crossing = 4 * link.alpha / ((4 - 15.0 / 8) * link.beta);
    EXPECT_NEAR(crossing, 37647, 1);
    EXPECT_LT(seconds("recursive-doubling", 37600), seconds("halving-doubling", 37600));
    EXPECT_GT(seconds("recursive-doubling", 37700), seconds("halving-doubling", 37700));
}

TEST(Doubling, FewBytesStayInOneMessage)
{
    // 8 NICs a server would cut 16 KiB into halves of 1 KiB each: below a packet.
    const auto placement = UniformPlacement(2, 8, 8);
    const Algorithm& halving = *Find(Op::kAllReduce, "halving-doubling");
    EXPECT_EQ(halving.Make({Op::kAllReduce, 16 << 10, 16, 0}, placement, {})->Lanes(0), 1U);
    EXPECT_EQ(halving.Make({Op::kAllReduce, 64 << 10, 16, 0}, placement, {})->Lanes(0), 8U);
    EXPECT_EQ(halving.Make({Op::kAllReduce, 16 << 10, 16, 0}, placement, {4, 0})->Lanes(0), 4U);
}

} // namespace
} // namespace coll
