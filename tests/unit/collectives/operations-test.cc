/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * What reduce, gather, scatter and sendrecv promise: wrong ends are found, and who sends how much
 * is what the operation says. That their algorithms are right is algorithms-test.cc.
 */
#include "collectives/core/checker.h"
#include "collectives/core/placement.h"
#include "collectives/core/registry.h"

#include <gtest/gtest.h>

namespace coll
{
namespace
{

/// A schedule of one collective, judged as another.
class Relabelled final : public Schedule
{
  public:
    Relabelled(std::unique_ptr<Schedule> schedule, const Collective& what)
        : Schedule(what),
          m_schedule(std::move(schedule))
    {
    }

    Lane Lanes(Rank rank) const override
    {
        return m_schedule->Lanes(rank);
    }

    StepIndex Steps(Rank rank, Lane lane) const override
    {
        return m_schedule->Steps(rank, lane);
    }

    Step At(Rank rank, Lane lane, StepIndex k) const override
    {
        return m_schedule->At(rank, lane, k);
    }

    uint32_t Channel(Lane lane) const override
    {
        return m_schedule->Channel(lane);
    }

  private:
    std::unique_ptr<Schedule> m_schedule;
};

/// The default algorithm of what is `made`, judged as what is `asked`.
std::string
Judged(const Collective& made, const Collective& asked)
{
    const auto placement = UniformPlacement(made.ranks, 1);
    const Relabelled schedule(DefaultAlgorithm(made.op, placement).Make(made, placement, {}),
                              asked);
    return Check(schedule).Problems();
}

TEST(Operations, RootsAreMeant)
{
    for (const Op op : {Op::kBroadcast, Op::kReduce, Op::kGather, Op::kScatter})
    {
        EXPECT_EQ(Judged({op, 30, 3, 1}, {op, 30, 3, 1}), "") << OpName(op);
        EXPECT_NE(Judged({op, 30, 3, 1}, {op, 30, 3, 2}), "") << OpName(op);
    }
    EXPECT_NE(Judged({Op::kReduce, 30, 3, 1}, {Op::kReduce, 30, 3, 2})
                  .find("rank 2 bytes [0, 30) end with contributions of {2}, not {0,1,2}"),
              std::string::npos);
    EXPECT_NE(Judged({Op::kGather, 30, 3, 1}, {Op::kGather, 30, 3, 2})
                  .find("rank 2 bytes [0, 10) end with contributions of {}, not {0}"),
              std::string::npos);
    EXPECT_NE(Judged({Op::kScatter, 30, 3, 1}, {Op::kScatter, 30, 3, 2})
                  .find("rank 0 bytes [0, 10) end with contributions of {}, not {2}"),
              std::string::npos);
}

TEST(Operations, AReduceIsNoAllReduce)
{
    EXPECT_NE(Judged({Op::kReduce, 30, 3, 1}, {Op::kAllReduce, 30, 3, 0}).find("rank 0 bytes"),
              std::string::npos);
    EXPECT_EQ(Judged({Op::kAllReduce, 30, 3, 0}, {Op::kReduce, 30, 3, 1}), "")
        << "all have what one has to have";
    EXPECT_EQ(Judged({Op::kAllGather, 30, 3, 0}, {Op::kGather, 30, 3, 1}), "");
    EXPECT_EQ(Judged({Op::kBroadcast, 30, 3, 1}, {Op::kScatter, 30, 3, 1}), "");
}

TEST(Operations, SendRecvGoesToTheNextRank)
{
    const auto placement = UniformPlacement(5, 1);
    const auto schedule =
        Find(Op::kSendRecv, "direct")->Make({Op::kSendRecv, 100, 5, 0}, placement, {2, 30});
    ASSERT_EQ(schedule->Lanes(4), 2U);
    // 50 bytes a channel in two messages of at most 30: sent first, then received.
    ASSERT_EQ(schedule->Steps(4, 1), 4U);
    EXPECT_EQ(schedule->At(4, 1, 0).sendPeer, 0U);
    EXPECT_EQ(schedule->At(4, 1, 1).sendOffset, 75U);
    EXPECT_EQ(schedule->At(4, 1, 1).sendBytes, 25U);
    EXPECT_EQ(schedule->At(4, 1, 1).recvPeer, kNoRank);
    EXPECT_EQ(schedule->At(4, 1, 2).recvPeer, 3U);
    EXPECT_EQ(schedule->At(4, 1, 3).recvOffset, 75U);
    const CheckReport report = Check(*schedule);
    ASSERT_TRUE(report.Ok()) << report.Problems();
    EXPECT_EQ(report.bytesSent, std::vector<uint64_t>(5, 100));
    EXPECT_EQ(report.longestChain, 1U);
    EXPECT_TRUE(report.zeroCopySafe) << "the result is another buffer";
}

TEST(Operations, BytesOfGatherAndScatter)
{
    // 5 ranks, 103 bytes: pieces begin at 0, 20, 41, 61, 82 (floor(103 r / 5)), so they have 20,
    // 21, 20, 21, 21 bytes.
    const std::vector<uint64_t> pieces{20, 21, 20, 21, 21};
    const auto placement = UniformPlacement(5, 1);
    for (Rank root = 0; root < 5; root++)
    {
        const auto gather =
            Check(*Find(Op::kGather, "direct")->Make({Op::kGather, 103, 5, root}, placement, {}));
        const auto scatter =
            Check(*Find(Op::kScatter, "direct")->Make({Op::kScatter, 103, 5, root}, placement, {}));
        ASSERT_TRUE(gather.Ok() && scatter.Ok());
        for (Rank r = 0; r < 5; r++)
        {
            EXPECT_EQ(gather.bytesSent[r], r == root ? 0 : pieces[r]);
            EXPECT_EQ(scatter.bytesSent[r], r == root ? 103 - pieces[root] : 0);
            EXPECT_EQ(gather.messagesSent[r], r == root ? 0U : 1U);
            EXPECT_EQ(scatter.messagesSent[r], r == root ? 4U : 0U);
        }
    }
}

TEST(Operations, BytesOfAReduceChain)
{
    // Every rank but the root sends all it has, every rank but the first of the chain adds it up.
    const auto placement = UniformPlacement(4, 1);
    const auto report =
        Check(*Find(Op::kReduce, "ring")->Make({Op::kReduce, 1000, 4, 2}, placement, {1, 100}));
    ASSERT_TRUE(report.Ok()) << report.Problems();
    EXPECT_EQ(report.bytesSent, (std::vector<uint64_t>{1000, 1000, 0, 1000}));
    EXPECT_EQ(report.bytesReduced, (std::vector<uint64_t>{1000, 1000, 1000, 0}));
    EXPECT_EQ(report.largestMessage, 100U);
    EXPECT_EQ(report.longestChain, 3U);
}

TEST(Operations, RootsThatAreNoRanksAreRefused)
{
    const auto placement = UniformPlacement(3, 1);
    for (const Op op : {Op::kBroadcast, Op::kReduce, Op::kGather, Op::kScatter})
    {
        for (const Algorithm* algorithm : AlgorithmsFor(op))
        {
            EXPECT_EQ(algorithm->WhyNot({op, 30, 3, 3}, placement, {}),
                      "root 3 is none of the ranks 0..2")
                << OpName(op) << " " << algorithm->Name();
        }
    }
    EXPECT_EQ(Find(Op::kSendRecv, "direct")->WhyNot({Op::kSendRecv, 30, 3, 3}, placement, {}), "")
        << "it has none";
}

} // namespace
} // namespace coll
