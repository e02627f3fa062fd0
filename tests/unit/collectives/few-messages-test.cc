/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Algorithms for few or short waits: Bruck, pairwise, direct and every-to-every, each against its
 * own numbers, worked out by hand.
 */
#include "collectives/core/packed-pieces.h"
#include "prove.h"

#include <random>

namespace coll
{
namespace
{

/// Bytes of the messages a rank sends on lane 0, in order.
std::vector<uint64_t>
SentBy(const Schedule& schedule, Rank rank)
{
    std::vector<uint64_t> sent;
    for (StepIndex k = 0; k < schedule.Steps(rank, 0); k++)
    {
        const Step step = schedule.At(rank, 0, k);
        if (step.sendPeer != kNoRank)
        {
            sent.push_back(step.sendBytes);
        }
    }
    return sent;
}

std::unique_ptr<Schedule>
MakeOn(Op op, const std::string& name, uint64_t bytes, Rank n, uint64_t pipelineBytes = 0)
{
    return Find(op, name)->Make({op, bytes, n, 0}, UniformPlacement(n, 1), {1, pipelineBytes});
}

TEST(FloorSum, IsTheSum)
{
    std::mt19937 random(1);
    for (uint32_t trial = 0; trial < 2000; trial++)
    {
        const uint64_t n = random() % 50;
        const uint64_t m = 1 + random() % 60;
        const uint64_t a = random() % 5000;
        const uint64_t b = random() % 5000;
        uint64_t sum = 0;
        for (uint64_t i = 0; i < n; i++)
        {
            sum += (a * i + b) / m;
        }
        ASSERT_EQ(FloorSum(n, m, a, b), sum) << n << " " << m << " " << a << " " << b;
    }
}

TEST(LaneOfPieces, SumsWhatItsPiecesHave)
{
    for (const uint64_t bytes : {0UL, 3UL, 100UL, 1000003UL})
    {
        for (const uint32_t pieces : {1U, 7U, 12U})
        {
            for (const uint32_t lanes : {1U, 2U, 5U})
            {
                uint64_t all = 0;
                for (uint32_t lane = 0; lane < lanes; lane++)
                {
                    const LaneOfPieces of(bytes, pieces, lanes, lane);
                    for (const uint32_t stride : {1U, 2U, 4U})
                    {
                        for (uint32_t first = 0; first < 2 * pieces; first++)
                        {
                            uint64_t sum = 0;
                            for (uint32_t count = 0; count * stride < pieces; count++)
                            {
                                ASSERT_EQ(of.Sum(first, stride, count), sum);
                                sum += of.Of((first + count * stride) % pieces).bytes;
                            }
                        }
                    }
                    all += of.Sum(0, 1, pieces);
                }
                EXPECT_EQ(all, bytes); // lanes share it out
            }
        }
    }
}

// 5 ranks: 1, 2 and then the 1 that is missing, pieces of 1,000 bytes: 4 S in all, 3 rounds.
TEST(BruckAllGather, DoublesWhatARankHas)
{
    const auto schedule = MakeOn(Op::kAllGather, "bruck", 5000, 5);
    EXPECT_EQ(SentBy(*schedule, 3), (std::vector<uint64_t>{1000, 2000, 1000}));
    const auto report = Check(*schedule);
    ASSERT_TRUE(report.Ok()) << report.Problems();
    EXPECT_EQ(report.totalBytes, 20000U);
    EXPECT_EQ(report.bytesSent, std::vector<uint64_t>(5, 4000));
    EXPECT_EQ(report.bytesCopied, std::vector<uint64_t>(5, 5000));
    EXPECT_EQ(report.longestChain, 3U);
    // In parts of 900: 2, 3, 2.
    EXPECT_EQ(SentBy(*MakeOn(Op::kAllGather, "bruck", 5000, 5, 900), 0),
              (std::vector<uint64_t>{500, 500, 666, 667, 667, 500, 500}));
}

// 6 ranks, blocks of 1,000 bytes: blocks 1 3 5 in round 0, 2 3 in 1, 4 5 in 2, so 7,000 bytes a
// rank; 8 ranks: 4 of 8 blocks each in 3 rounds, S log2(n) / 2.
TEST(BruckAllToAll, SendsABlockAsOftenAsItsDistanceHasOnes)
{
    const auto six = MakeOn(Op::kAllToAll, "bruck", 6000, 6);
    EXPECT_EQ(SentBy(*six, 2), (std::vector<uint64_t>{3000, 2000, 2000}));
    const auto report = Check(*six);
    ASSERT_TRUE(report.Ok()) << report.Problems();
    EXPECT_EQ(report.bytesSent, std::vector<uint64_t>(6, 7000));
    EXPECT_EQ(report.bytesCopied, std::vector<uint64_t>(6, 12000)); // and 5 blocks in the end
    EXPECT_EQ(report.longestChain, 3U);

    const auto eight = Check(*MakeOn(Op::kAllToAll, "bruck", 8000, 8));
    EXPECT_EQ(eight.bytesSent, std::vector<uint64_t>(8, 12000));
    // Uneven blocks: 100 bytes over 7 ranks, blocks of 14 but for two of 15. Of all, block j of
    // every rank goes popcount(j) times: 1 + 1 + 2 + 1 + 2 + 2 = 9 times S.
    EXPECT_EQ(Check(*MakeOn(Op::kAllToAll, "bruck", 100, 7)).totalBytes, 900U);
}

TEST(Pairwise, HasOnePartnerARound)
{
    // 8: r xor k; 5: to r + k, from r - k. Step k receives round k and sends round k + 1.
    const auto eight = MakeOn(Op::kAllToAll, "pairwise", 800, 8);
    const auto five = MakeOn(Op::kAllToAll, "pairwise", 500, 5);
    for (StepIndex k = 1; k < 7; k++)
    {
        EXPECT_EQ(eight->At(5, 0, k).recvPeer, 5 ^ k);
        EXPECT_EQ(eight->At(5, 0, k).sendPeer, 5 ^ (k + 1));
    }
    for (StepIndex k = 1; k < 4; k++)
    {
        EXPECT_EQ(five->At(3, 0, k).recvPeer, (8 - k) % 5);
        EXPECT_EQ(five->At(3, 0, k).sendPeer, (4 + k) % 5);
    }
    EXPECT_EQ(Check(*eight).longestChain, 7U);
    EXPECT_EQ(Check(*five).longestChain, 4U);
    EXPECT_EQ(Check(*five).bytesSent, std::vector<uint64_t>(5, 400));
}

// 4 ranks, S = 4,000: direct reduce-scatter and all-gather send 3 pieces of 1,000 in one latency,
// all-reduce both; every-to-every 3 S and adds up as much. Out of a server of 2: 2 ranks send 2
// pieces each to the other server, 4,000 bytes; or each its vector to both there, 16,000.
TEST(Direct, IsOneLatencyOrTwo)
{
    const auto servers = UniformPlacement(2, 2);
    const auto prove = [&](Op op, const std::string& name) {
        return ProveByFormula(op, name, {op, 4000, 4, 0}, servers, {1, 0});
    };
    for (const Op op : {Op::kReduceScatter, Op::kAllGather})
    {
        const auto report = prove(op, "direct");
        EXPECT_EQ(report.longestChain, 1U);
        EXPECT_EQ(report.bytesSent, std::vector<uint64_t>(4, 3000));
        EXPECT_EQ(report.bytesReduced,
                  std::vector<uint64_t>(4, op == Op::kReduceScatter ? 3000 : 0));
        EXPECT_EQ(report.bytesOutOfServer, std::vector<uint64_t>(2, 4000));
    }
    const auto both = prove(Op::kAllReduce, "direct");
    EXPECT_EQ(both.longestChain, 2U);
    EXPECT_EQ(both.bytesSent, std::vector<uint64_t>(4, 6000));
    EXPECT_EQ(both.bytesOutOfServer, std::vector<uint64_t>(2, 8000));
    const auto naive = prove(Op::kAllReduce, "every-to-every");
    EXPECT_EQ(naive.longestChain, 1U);
    EXPECT_EQ(naive.bytesSent, std::vector<uint64_t>(4, 12000));
    EXPECT_EQ(naive.bytesReduced, std::vector<uint64_t>(4, 12000));
    EXPECT_EQ(naive.bytesOutOfServer, std::vector<uint64_t>(2, 16000));
    EXPECT_EQ(naive.bytesCopied, std::vector<uint64_t>(4, 4000));
}

} // namespace
} // namespace coll
