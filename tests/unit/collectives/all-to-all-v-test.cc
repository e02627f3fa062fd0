/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * All-to-all with a size of its own for each pair: where blocks stand, and the algorithm proved on
 * random sizes, many of them zero, held to its formula and to the sums of the sizes themselves.
 */
#include "collectives/core/block-sizes.h"
#include "collectives/core/checker.h"
#include "collectives/core/cost.h"
#include "collectives/core/placement.h"
#include "collectives/core/registry.h"

#include <algorithm>
#include <gtest/gtest.h>
#include <random>
#include <stdexcept>

namespace coll
{
namespace
{

Collective
AllToAllV(Rank ranks, const std::vector<uint64_t>& bytes)
{
    Collective what;
    what.op = Op::kAllToAllV;
    what.ranks = ranks;
    what.blocks = std::make_shared<BlockSizes>(ranks, bytes);
    what.bytes = what.blocks->LargestInput();
    return what;
}

const Algorithm&
Direct()
{
    return *Find(Op::kAllToAllV, "direct");
}

/// Sizes of which a share is zero, a few are large and some lead only to rank 0.
std::vector<uint64_t>
RandomSizes(Rank n, std::mt19937& random)
{
    std::uniform_real_distribution<double> any;
    const double zeros = std::array<double, 4>{0, 0.3, 0.9, 1}[random() % 4];
    const uint64_t most = std::array<uint64_t, 4>{1, 7, 1000, 1 << 20}[random() % 4];
    std::vector<uint64_t> bytes(static_cast<std::size_t>(n) * n);
    for (uint64_t& b : bytes)
    {
        b = any(random) < zeros ? 0 : random() % (most + 1);
    }
    if (random() % 4 == 0)
    {
        for (Rank from = 0; from < n; from++)
        {
            bytes[static_cast<std::size_t>(from) * n] += 12345; // an incast
        }
    }
    return bytes;
}

// 0 sends 4, 0, 3; 1 sends 1, 2, 0; 2 sends 0, 5, 6.
TEST(BlockSizes, StandOneAfterTheOther)
{
    const BlockSizes sizes(3, {4, 0, 3, 1, 2, 0, 0, 5, 6});
    EXPECT_EQ(sizes.Ranks(), 3U);
    EXPECT_EQ(sizes.InputBytes(0), 7U);
    EXPECT_EQ(sizes.InputBytes(1), 3U);
    EXPECT_EQ(sizes.InputBytes(2), 11U);
    EXPECT_EQ(sizes.LargestInput(), 11U);
    EXPECT_EQ(sizes.OutputBytes(0), 5U);
    EXPECT_EQ(sizes.OutputBytes(1), 7U);
    EXPECT_EQ(sizes.OutputBytes(2), 9U);
    EXPECT_DOUBLE_EQ(sizes.MeanSent(), (3 + 1 + 5) / 3.0);
    EXPECT_EQ(sizes.InputRange(0, 2).offset, 4U);
    EXPECT_EQ(sizes.InputRange(0, 2).bytes, 3U);
    EXPECT_EQ(sizes.OutputRange(2, 0).offset, 0U);
    EXPECT_EQ(sizes.OutputRange(2, 0).bytes, 3U);
    EXPECT_EQ(sizes.OutputRange(1, 2).offset, 2U); // after 0 of rank 0 and 2 of its own
    EXPECT_EQ(sizes.OutputRange(1, 2).bytes, 5U);
    EXPECT_EQ(sizes.Bytes(1, 2), 0U);
}

TEST(BlockSizes, AreRefusedWhenTheyAreNoMatrixOrTooMuch)
{
    EXPECT_THROW(BlockSizes(0, {}), std::invalid_argument);
    EXPECT_THROW(BlockSizes(2, {1, 2, 3}), std::invalid_argument);
    EXPECT_THROW(BlockSizes(2, {UINT64_MAX, 2, 3, 4}), std::invalid_argument);
    EXPECT_THROW(BlockSizes(2, {1UL << 62, 1, 3, 4}), std::invalid_argument); // an input
    EXPECT_THROW(BlockSizes(2, {1UL << 62, 0, 3, 4}), std::invalid_argument); // an output
    EXPECT_NO_THROW(BlockSizes(2, {1UL << 61, 1UL << 61, 1UL << 61, 0}));
}

TEST(BlockSizes, AreTheSameByValue)
{
    const BlockSizes a(2, {1, 2, 3, 4});
    const BlockSizes same(2, {1, 2, 3, 4});
    const BlockSizes other(2, {1, 2, 4, 3});
    EXPECT_TRUE(SameBlocks(&a, &a));
    EXPECT_TRUE(SameBlocks(&a, &same));
    EXPECT_FALSE(SameBlocks(&a, &other));
    EXPECT_FALSE(SameBlocks(&a, nullptr));
    EXPECT_TRUE(SameBlocks(nullptr, nullptr));
    Collective x = AllToAllV(2, {1, 2, 3, 4});
    EXPECT_TRUE(x == AllToAllV(2, {1, 2, 3, 4}));
    EXPECT_FALSE(x == AllToAllV(2, {2, 1, 3, 4}));
    x.root = 1;
    EXPECT_FALSE(x == AllToAllV(2, {1, 2, 3, 4}));
}

// Rank 0's sum of weights is 4, the most: of 1,000 bytes a weight of 1 is 250.
TEST(BlocksByWeight, GivesTheRankWithMostAllBytes)
{
    EXPECT_EQ(BlocksByWeight(2, {1, 3, 0, 2}, 1000), (std::vector<uint64_t>{250, 750, 0, 500}));
    EXPECT_EQ(BlocksByWeight(2, {1, 3, 0, 2}, 1003, 4), // 250 units
              (std::vector<uint64_t>{62 * 4, 187 * 4, 0, 125 * 4}));
}

class AllToAllVBy : public testing::TestWithParam<const Algorithm*>
{
};

TEST_P(AllToAllVBy, IsProvedOnRandomSizes)
{
    const Algorithm& algorithm = *GetParam();
    std::mt19937 random(7);
    uint32_t silent = 0;
    for (uint32_t trial = 0; trial < 600; trial++)
    {
        const Rank n = 1 + trial % 17;
        const uint32_t gpus = std::array<uint32_t, 3>{1, 2, 8}[random() % 3];
        Placement placement = UniformPlacement((n + gpus - 1) / gpus, gpus, 1 + random() % gpus);
        placement.serverOf.resize(n);
        placement.gpuOf.resize(n);
        const Collective what = AllToAllV(n, RandomSizes(n, random));
        const AlgorithmOptions options{static_cast<uint32_t>(random() % 4),
                                       std::array<uint64_t, 3>{0, 100000, 1 << 20}[random() % 3]};
        SCOPED_TRACE("trial " + std::to_string(trial) + ", " + std::to_string(n) + " ranks");
        ASSERT_EQ(algorithm.WhyNot(what, placement, options), "");
        const auto schedule = algorithm.Make(what, placement, options);
        const CheckReport report = Check(*schedule, {&placement, true});
        ASSERT_TRUE(report.Ok()) << report.Problems();
        EXPECT_TRUE(report.zeroCopySafe);
        if (options.pipelineBytes != 0)
        {
            EXPECT_LE(report.largestMessage, options.pipelineBytes);
        }
        const Cost cost = *algorithm.CostOf(what, placement, options);
        uint64_t total = 0;
        uint64_t most = 0;
        for (Rank r = 0; r < n; r++)
        {
            const uint64_t own = what.blocks->Bytes(r, r);
            const uint64_t sent = what.blocks->InputBytes(r) - own;
            EXPECT_EQ(report.bytesSent[r], sent);
            total += sent;
            most = std::max({most, sent, what.blocks->OutputBytes(r) - own});
        }
        EXPECT_EQ(report.totalBytes, total);
        EXPECT_EQ(cost.totalBytes, total);
        EXPECT_EQ(cost.serialBytes, static_cast<double>(most));
        EXPECT_EQ(cost.posts,
                  *std::max_element(report.messagesSent.begin(), report.messagesSent.end()));
        EXPECT_EQ(
            cost.receives,
            *std::max_element(report.messagesReceived.begin(), report.messagesReceived.end()));
        EXPECT_EQ(cost.intoServer,
                  *std::max_element(report.bytesIntoServer.begin(), report.bytesIntoServer.end()));
        // A rank that receives nothing does not wait from loop to loop.
        EXPECT_GE(cost.chain, report.longestChain);
        EXPECT_EQ(cost.chain > 0, report.longestChain > 0);
        EXPECT_EQ(
            cost.outOfServer,
            *std::max_element(report.bytesOutOfServer.begin(), report.bytesOutOfServer.end()));
        silent += report.messages == 0 ? 1 : 0;
    }
    EXPECT_GT(silent, 10U); // some where nobody has anything for another
    EXPECT_LT(silent, 300U);
}

INSTANTIATE_TEST_SUITE_P(Registry,
                         AllToAllVBy,
                         testing::ValuesIn(AlgorithmsFor(Op::kAllToAllV)),
                         [](const auto& info) { return info.param->Name(); });

TEST(AllToAllV, OfEqualBlocksIsAllToAll)
{
    for (const Rank n : {1U, 2U, 5U, 8U})
    {
        const auto placement = UniformPlacement(n, 1);
        const uint64_t each = 4000;
        Collective plain{Op::kAllToAll, n * each, n, 0, nullptr};
        Collective null = plain;
        null.op = Op::kAllToAllV;
        const Collective sized = AllToAllV(n, std::vector<uint64_t>(n * n, each));
        ASSERT_EQ(sized.bytes, plain.bytes);
        for (const AlgorithmOptions& options : {AlgorithmOptions{1, 0}, {2, 700}})
        {
            const auto expected = Find(Op::kAllToAll, "direct")->Make(plain, placement, options);
            for (const Collective& what : {null, sized})
            {
                const auto made = Direct().Make(what, placement, options);
                if (n > 1)
                {
                    ASSERT_EQ(made->PartsOfMessage(), expected->PartsOfMessage());
                }
                for (Lane lane = 0; lane < made->Lanes(0); lane++)
                {
                    ASSERT_EQ(made->Steps(n - 1, lane), expected->Steps(n - 1, lane));
                    for (StepIndex k = 0; k < made->Steps(n - 1, lane); k++)
                    {
                        const Step a = made->At(n - 1, lane, k);
                        const Step b = expected->At(n - 1, lane, k);
                        ASSERT_EQ(a.sendPeer, b.sendPeer);
                        ASSERT_EQ(a.recvPeer, b.recvPeer);
                        ASSERT_EQ(a.sendOffset, b.sendOffset);
                        ASSERT_EQ(a.recvOffset, b.recvOffset);
                        ASSERT_EQ(a.sendBytes, b.sendBytes);
                        ASSERT_EQ(a.recvBytes, b.recvBytes);
                    }
                }
            }
        }
    }
}

/// The steps of one, under the name of another: what the checker must refuse.
class Claim final : public Schedule
{
  public:
    Claim(const Collective& what, const Schedule& steps)
        : Schedule(what),
          m_steps(steps)
    {
    }

    Lane Lanes(Rank rank) const override
    {
        return m_steps.Lanes(rank);
    }

    StepIndex Steps(Rank rank, Lane lane) const override
    {
        return m_steps.Steps(rank, lane);
    }

    Step At(Rank rank, Lane lane, StepIndex k) const override
    {
        return m_steps.At(rank, lane, k);
    }

    uint32_t Channel(Lane lane) const override
    {
        return m_steps.Channel(lane);
    }

  private:
    const Schedule& m_steps;
};

TEST(AllToAllV, OfOtherSizesIsRefusedByTheChecker)
{
    std::mt19937 random(3);
    const Rank n = 5;
    std::vector<uint64_t> bytes(n * n, 100);
    const Collective good = AllToAllV(n, bytes);
    const auto schedule = Direct().Make(good, UniformPlacement(n, 1), {});
    ASSERT_TRUE(Check(*schedule).Ok());
    for (std::size_t i = 0; i < bytes.size(); i++)
    {
        for (const uint64_t other : {0UL, 99UL, 101UL})
        {
            std::vector<uint64_t> changed = bytes;
            changed[i] = other;
            // The own block of the last rank is at the end of both of its buffers, and its copy is
            // given: nobody's steps depend on it.
            const bool free = i + 1 == bytes.size();
            EXPECT_EQ(Check(Claim(AllToAllV(n, changed), *schedule)).Ok(), free)
                << i << " " << other;
        }
    }
}

TEST(AllToAllV, SaysWhyNot)
{
    const auto placement = UniformPlacement(2, 1);
    Collective what = AllToAllV(2, {1, 2, 3, 4});
    what.bytes = 8;
    EXPECT_NE(Direct().WhyNot(what, placement, {}).find("at most 7"), std::string::npos);
    EXPECT_THROW(Direct().Make(what, placement, {}), std::invalid_argument);
    what.bytes = 7;
    EXPECT_EQ(Direct().WhyNot(what, placement, {}), "");
    what.op = Op::kAllToAll;
    EXPECT_EQ(Find(Op::kAllToAll, "direct")->WhyNot(what, placement, {}),
              "sizes of blocks are for alltoallv alone");
    what = AllToAllV(3, std::vector<uint64_t>(9, 1));
    what.ranks = 2;
    what.bytes = 3;
    EXPECT_NE(Direct().WhyNot(what, placement, {}), "");
    // A block of 2^40 bytes by the byte.
    EXPECT_NE(Direct().WhyNot(AllToAllV(2, {0, 1UL << 40, 0, 0}), placement, {0, 1}), "");
}

} // namespace
} // namespace coll
