/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Rail-aligned all-to-all: what goes over rails and inside servers, on machines as they are sold
 * and on groups that leave GPUs out.
 */
#include "prove.h"

#include <random>

namespace coll
{
namespace
{

// 4 servers of 8 GPUs and NICs, S = 32,000, blocks of 1,000: inside a server 7 blocks for its own
// ranks, and of 24 for others all but the 3 of the own rail: 28,000 = (g-1)/g S. Over the rail 3
// messages of 8 blocks: 24,000 = (k-1)/k S. 7 + 21 + 3 = 31 posts.
TEST(Pxn, KeepsToRails)
{
    const auto placement = UniformPlacement(4, 8, 8);
    const Collective what{Op::kAllToAll, 32000, 32, 0};
    const auto report = ProveByFormula(what.op, "pxn", what, placement, {});
    EXPECT_EQ(report.bytesSent, std::vector<uint64_t>(32, 28000 + 24000));
    EXPECT_EQ(report.bytesOutOfServer, std::vector<uint64_t>(4, 8 * 24000));
    EXPECT_EQ(report.messagesSent, std::vector<uint64_t>(32, 31));
    EXPECT_EQ(report.longestChain, 2U);
    EXPECT_EQ(report.bytesCopied, std::vector<uint64_t>(32, 3000)); // its own blocks of its rail

    const auto schedule = Find(what.op, "pxn")->Make(what, placement, {});
    uint64_t outside = 0;
    for (Rank rank = 0; rank < 32; rank++)
    {
        for (Lane lane = 0; lane < schedule->Lanes(rank); lane++)
        {
            for (StepIndex k = 0; k < schedule->Steps(rank, lane); k++)
            {
                const Step step = schedule->At(rank, lane, k);
                if (step.sendPeer != kNoRank && step.sendPeer / 8 != rank / 8)
                {
                    EXPECT_EQ(step.sendPeer % 8, rank % 8);
                    EXPECT_EQ(schedule->Channel(lane), rank % 8);
                    EXPECT_EQ(step.sendBytes, 8000U);
                    outside++;
                }
            }
        }
    }
    EXPECT_EQ(outside, 32U * 3);
}

// 8 GPUs and 4 NICs: a rail has two GPUs, each forwards for those like itself.
TEST(Pxn, SharesARailAmongItsGpus)
{
    const auto placement = UniformPlacement(2, 8, 4);
    const Collective what{Op::kAllToAll, 16000, 16, 0};
    const auto report = ProveByFormula(what.op, "pxn", what, placement, {});
    EXPECT_EQ(report.messagesSent, std::vector<uint64_t>(16, 7 + 7 + 1));
    EXPECT_EQ(Find(what.op, "pxn")->Make(what, placement, {})->Lanes(0), 4U);
}

TEST(Pxn, DoesAnyGroup)
{
    std::mt19937 random(5);
    for (uint32_t trial = 0; trial < 300; trial++)
    {
        // Some GPUs of some servers, in any order.
        const uint32_t gpus = std::array<uint32_t, 4>{2, 4, 5, 8}[random() % 4];
        const uint32_t nics = 1 + random() % gpus;
        Placement all = UniformPlacement(1 + random() % 5, gpus, nics);
        std::vector<std::pair<uint32_t, uint32_t>> places;
        for (size_t i = 0; i < all.serverOf.size(); i++)
        {
            if (random() % 3 != 0)
            {
                places.emplace_back(all.serverOf[i], all.gpuOf[i]);
            }
        }
        if (places.empty())
        {
            continue;
        }
        if (random() % 2 == 0)
        {
            std::shuffle(places.begin(), places.end(), random);
        }
        Placement some = all;
        some.serverOf.clear();
        some.gpuOf.clear();
        for (const auto& [server, gpu] : places)
        {
            some.serverOf.push_back(server);
            some.gpuOf.push_back(gpu);
        }
        const auto n = static_cast<Rank>(places.size());
        const Collective what{Op::kAllToAll,
                              std::array<uint64_t, 3>{3, 1000, 54321}[trial % 3],
                              n,
                              0};
        AlgorithmOptions options;
        options.pipelineBytes = std::array<uint64_t, 3>{0, 100, 7000}[random() % 3];
        SCOPED_TRACE("trial " + std::to_string(trial));
        const CheckReport report = ProveByFormula(what.op, "pxn", what, some, options);
        // Exact, and not only where it is more than what is sent.
        const Cost cost = *Find(what.op, "pxn")->CostOf(what, some, options);
        EXPECT_EQ(MostOf(report.messagesReceived), cost.receives);
        EXPECT_EQ(MostOf(report.bytesOutOfServer), cost.outOfServer);
        EXPECT_EQ(MostOf(report.bytesIntoServer), cost.intoServer);
        if (testing::Test::HasFailure())
        {
            return;
        }
    }
}

TEST(Pxn, ForwardersOfUnevenServersReceiveMore)
{
    // Servers of 8 GPUs, of which these are used; NIC 0 is of GPUs 0 and 1, NIC n of GPU n + 1.
    const std::vector<std::vector<uint32_t>> used{{1, 2, 3, 4, 6, 7}, {1, 2, 7}, {0, 5, 6, 7}};
    Placement placement = UniformPlacement(0, 8, 7);
    for (uint32_t server = 0; server < used.size(); server++)
    {
        for (const uint32_t gpu : used[server])
        {
            placement.serverOf.push_back(server);
            placement.gpuOf.push_back(gpu);
        }
    }
    const Collective what{Op::kAllToAll, 13 * 100, 13, 0};
    const CheckReport report = ProveByFormula(what.op, "pxn", what, placement, {});
    const Cost cost = *Find(what.op, "pxn")->CostOf(what, placement, {});
    // GPU 7 of server 0 forwards to the other two GPUs 7 and, as it has no GPU 5 and nobody at that
    // NIC and 5 mod 6 is its last, to GPU 5 of server 2. So of its five neighbours it gets three
    // blocks each to forward, and its own; and a message of each of the two other servers. It sends
    // as many messages as all do, one to each of 12 ranks.
    EXPECT_EQ(report.messagesReceived[5], 5 * (3 + 1) + 2U);
    EXPECT_EQ(cost.receives, 22U);
    EXPECT_EQ(cost.posts, 12U);
    // 6 x 7, 3 x 10 and 4 x 9 blocks, in as out.
    EXPECT_EQ(report.bytesIntoServer, (std::vector<uint64_t>{4200, 3000, 3600}));
    EXPECT_EQ(cost.intoServer, 4200);
}

TEST(Pxn, NeedsAsManyChannelsForEachRail)
{
    const auto placement = UniformPlacement(2, 4, 4);
    const Collective what{Op::kAllToAll, 8003, 8, 0};
    EXPECT_EQ(Find(what.op, "pxn")->WhyNot(what, placement, {6, 0}),
              "6 channels over 4 rails; every rail needs as many");
    const auto report = ProveByFormula(what.op, "pxn", what, placement, {8, 0});
    // Two parts of each block: what comes from a server, 4 blocks of 1,000, is put in its places.
    EXPECT_NEAR(MostOf(report.bytesCopied), 1000 + 4000, 8);
}

} // namespace
} // namespace coll
