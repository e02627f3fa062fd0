/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Collectives that switches add up and copy: how they are cut into messages, what switches hold,
 * who is refused.
 */
#include "collectives/core/checker.h"
#include "prove.h"

#include <gtest/gtest.h>

namespace coll
{
namespace
{

/// The largest message of a schedule's ranks.
uint64_t
Largest(const Schedule& schedule)
{
    uint64_t most = 0;
    for (Lane lane = 0; lane < schedule.Lanes(0); lane++)
    {
        most = std::max(most, schedule.At(0, lane, 0).sendBytes);
    }
    return most;
}

TEST(Nvls, CutsAsNcclDoes)
{
    // 8 heads, 16 channels: 128 chunks at once. From 64 x 128 x 128 KiB = 1 GiB on chunks have 128
    // KiB, 16 of them 2 MiB; from 8 x 128 x 64 KiB = 64 MiB on 64; from 2 x 128 x 32 KiB = 8 MiB on
    // 32 KiB, below 16. Where a piece is shorter, it is one message.
    const auto one = WithSwitches(UniformPlacement(1, 8), 2);
    const auto largest = [&](uint64_t bytes, const AlgorithmOptions& options) {
        return Largest(*Made(Op::kAllReduce, "nvls", bytes, one, options));
    };
    EXPECT_EQ(largest(1UL << 30, {}), 2UL << 20);
    EXPECT_EQ(largest(512UL << 20, {}), 1UL << 20);
    EXPECT_EQ(largest(64UL << 20, {}), 1UL << 20);
    EXPECT_EQ(largest(32UL << 20, {}), 512UL << 10);
    EXPECT_EQ(largest(4UL << 20, {}), 256UL << 10);
    EXPECT_EQ(largest(1UL << 20, {}), 128UL << 10);
    // Half the channels: half as much at once, and bounds of half the size.
    EXPECT_EQ(largest(512UL << 20, {8, 0}), 1UL << 20);
    EXPECT_EQ(largest(256UL << 20, {8, 0}), 512UL << 10);
    // What the user says; and no more than that when he says both.
    EXPECT_EQ(largest(64UL << 20, {0, 4UL << 20}), 4UL << 20);
    EXPECT_EQ(largest(64UL << 20, {16, 4UL << 20}), 1UL << 20);
    EXPECT_EQ(largest(64UL << 20, {16, 64UL << 10}), 64UL << 10);
    // Halves: pieces are the ranks', bounds those of the whole.
    EXPECT_EQ(Largest(*Made(Op::kReduceScatter, "nvls", 64UL << 20, one)), 1UL << 20);
}

TEST(NvlsTree, CutsAsNcclDoes)
{
    // 8 heads, 16 channels, each with messages of its own. On 2 servers from 4 x 128 x 128 KiB = 64
    // MiB on 128 KiB, then 64 from 1 x 128 x 64 KiB = 8 MiB on, then 32. From 4 servers on 64 KiB
    // at most.
    const auto largest = [&](uint32_t servers, uint64_t bytes) {
        const auto placement = WithSwitches(UniformPlacement(servers, 8, 8), 2);
        const auto schedule = Made(Op::kAllReduce, "nvls-tree", bytes, placement);
        return Check(*schedule, {nullptr, false}).largestMessage;
    };
    EXPECT_EQ(largest(2, 64UL << 20), 128UL << 10);
    EXPECT_EQ(largest(2, 32UL << 20), 64UL << 10);
    EXPECT_EQ(largest(2, 4UL << 20), 32UL << 10);
    EXPECT_EQ(largest(4, 64UL << 20), 64UL << 10);
    EXPECT_EQ(largest(4, 4UL << 20), 32UL << 10);
}

TEST(Collnet, CutsAsNcclDoes)
{
    // collnet-direct, depth 2, one lane: 512 KiB from 128 of them (64 MiB) on; 16 of 128 KiB are 2
    // MiB, below that 64 and 32. Chains of d ranks: 256 KiB from 64 d on, 128 from 8 d, 64 from d.
    const auto largest = [&](const std::string& name, uint32_t gpus, uint64_t bytes) {
        const auto placement = WithSwitches(UniformPlacement(2, gpus), 2);
        const auto schedule = Made(Op::kAllReduce, name, bytes, placement);
        return Check(*schedule, {nullptr, false}).largestMessage;
    };
    EXPECT_EQ(largest("collnet-direct", 2, 64UL << 20), 512UL << 10);
    EXPECT_EQ(largest("collnet-direct", 2, 32UL << 20), 256UL << 10);
    EXPECT_EQ(largest("collnet-direct", 2, 2UL << 20), 128UL << 10);
    EXPECT_EQ(largest("collnet-direct", 2, 1UL << 20), 64UL << 10);
    EXPECT_EQ(largest("collnet-direct", 2, 512UL << 10), 32UL << 10);
    EXPECT_EQ(largest("collnet-chain", 2, 32UL << 20), 256UL << 10);
    EXPECT_EQ(largest("collnet-chain", 2, 16UL << 20), 128UL << 10);
    EXPECT_EQ(largest("collnet-chain", 2, 1UL << 20), 64UL << 10);
    EXPECT_EQ(largest("collnet-chain", 2, 64UL << 10), 32UL << 10);
    EXPECT_EQ(largest("sharp", 1, 16UL << 20), 256UL << 10);
    EXPECT_EQ(largest("sharp", 1, 512UL << 10), 64UL << 10);
}

TEST(InNetwork, SwitchesHoldAChunkALane)
{
    // 4 servers of 2 GPUs and 2 NICs, 2 lanes on trees of their own; with 4 channels two on each.
    // Server switches are in all lanes of their server.
    const auto placement = WithSwitches(UniformPlacement(4, 2, 2), 4);
    for (const uint32_t channels : {2, 4})
    {
        const auto schedule =
            Made(Op::kAllReduce, "collnet-direct", 4096, placement, {channels, 128});
        ASSERT_EQ(schedule->NetworkNodes().size(), 2U);
        EXPECT_EQ(schedule->StateBytes(8), channels / 2 * 128);
        EXPECT_EQ(schedule->StateBytes(9), channels / 2 * 128);
        EXPECT_EQ(schedule->StateBytes(0), 0U) << "a rank";
    }
    const auto nvls = Made(Op::kAllReduce, "nvls", 4096, placement, {0, 128});
    for (Rank i = 0; i < nvls->NetworkNodes().size(); i++)
    {
        const bool inServer = nvls->NetworkNodes()[i].kind != NetworkNode::kFabricSwitch;
        EXPECT_EQ(nvls->StateBytes(8 + i), inServer ? 256U : 128U);
    }
}

TEST(InNetwork, MessagesFitIntoTheSwitches)
{
    Placement placement = WithSwitches(UniformPlacement(4, 2, 2), 4);
    placement.aggregationBytes = 1000;
    for (const char* name : {"nvls", "collnet-direct", "collnet-chain"})
    {
        const Algorithm& algorithm = *Find(Op::kAllReduce, name);
        const Collective what{Op::kAllReduce, 1 << 20, 8, 0};
        // By itself it takes smaller ones; two lanes on a tree share the room.
        EXPECT_EQ(algorithm.WhyNot(what, placement, {}), "");
        const uint32_t lanes = name == std::string("nvls") ? 1 : 2;
        const auto schedule = algorithm.Make(what, placement, {4, 0});
        for (Rank i = 0; i < schedule->NetworkNodes().size(); i++)
        {
            if (schedule->NetworkNodes()[i].kind == NetworkNode::kFabricSwitch)
            {
                EXPECT_LE(schedule->StateBytes(8 + i), 1000U);
                EXPECT_GT(schedule->StateBytes(8 + i), 1000U - 2 * lanes) << "no smaller than need";
            }
        }
        // What the user says is done, or refused.
        EXPECT_EQ(algorithm.WhyNot(what, placement, {0, 1000}), "");
        EXPECT_EQ(algorithm.WhyNot(what, placement, {0, 1024}),
                  "switch 1000 would hold 1024 bytes at once for NIC 0, and has room for 1000; "
                  "smaller messages (--pipeline) need less, --aggregation-memory is the room");
        EXPECT_THROW(algorithm.Make(what, placement, {0, 1024}), std::invalid_argument);
    }
}

TEST(InNetwork, RefusesWhatCannotBe)
{
    const auto why = [](Op op,
                        const std::string& name,
                        const Placement& placement,
                        const AlgorithmOptions& options = {}) {
        const auto n = static_cast<uint32_t>(placement.serverOf.size());
        return Find(op, name)->WhyNot({op, 1000, n, 0}, placement, options);
    };
    const auto plain = UniformPlacement(2, 4, 2);
    const auto server = UniformPlacement(1, 4);
    const auto full = WithSwitches(plain, 2);
    for (const Op op : {Op::kAllReduce, Op::kReduceScatter, Op::kAllGather})
    {
        EXPECT_EQ(why(op, "nvls", server), "the servers' switches do not add up (no NVLS)");
    }
    EXPECT_EQ(why(Op::kAllReduce, "nvls-tree", plain),
              "the servers' switches do not add up (no NVLS)");
    EXPECT_EQ(why(Op::kAllReduce, "sharp", UniformPlacement(4, 1)),
              "no switch between the servers adds up (no SHARP)");
    EXPECT_EQ(why(Op::kAllReduce, "collnet-direct", plain),
              "no switch between the servers adds up (no SHARP)");
    EXPECT_EQ(why(Op::kAllReduce, "collnet-chain", plain),
              "no switch between the servers adds up (no SHARP)");
    Placement inside = full;
    inside.aggregation.clear();
    EXPECT_EQ(why(Op::kAllReduce, "nvls", inside),
              "no switch between the servers adds up (no SHARP); on several servers nvls needs "
              "that, and nvls-tree does without");
    EXPECT_EQ(why(Op::kAllReduce, "nvls-tree", inside), "");

    EXPECT_EQ(why(Op::kReduceScatter, "nvls", full),
              "reduce_scatter goes through the switch of one server, and the group is on 2");
    EXPECT_EQ(why(Op::kAllGather, "nvls", full),
              "all_gather goes through the switch of one server, and the group is on 2");
    EXPECT_EQ(why(Op::kAllReduce, "sharp", full),
              "it takes one rank of a server, but server 0 has 4; collnet-direct and collnet-chain "
              "add up inside servers first");
    const auto one = WithSwitches(server, 2);
    EXPECT_EQ(why(Op::kAllReduce, "nvls-tree", one),
              "it has trees between servers, and the group is on one; there it is nvls");
    EXPECT_EQ(why(Op::kAllReduce, "collnet-direct", one),
              "it adds up in switches between servers, and the group is on one");
    EXPECT_EQ(why(Op::kAllReduce, "collnet-chain", one),
              "it adds up in switches between servers, and the group is on one");

    Placement fewer = full;
    fewer.aggregation.pop_back();
    EXPECT_EQ(why(Op::kAllReduce, "collnet-direct", fewer),
              "there is no tree of switches that add up for NIC 1, only of 1 NICs of a server");
    Placement missing = full;
    missing.aggregation[1].stationOf[1] = AggregationTree::kNone;
    EXPECT_EQ(why(Op::kAllReduce, "collnet-direct", missing),
              "the tree of switches that add up for NIC 1 does not reach server 1");
    missing.aggregation[1].stationOf.pop_back();
    EXPECT_EQ(why(Op::kAllReduce, "nvls", missing),
              "the tree of switches that add up for NIC 1 does not reach server 1; on several "
              "servers nvls needs that, and nvls-tree does without");
    Placement apart = WithSwitches(UniformPlacement(4, 1), 2);
    apart.aggregation[0].parent.assign(3, AggregationTree::kNone);
    EXPECT_EQ(why(Op::kAllReduce, "sharp", apart),
              "the tree of switches that add up for NIC 0 does not join servers 0 and 2");

    EXPECT_EQ(why(Op::kAllGather, "nvls", WithSwitches(UniformPlacement(1, 1025), 2)),
              "1025 ranks of one server; at most 1024 are possible");

    // What nobody could do is said first.
    EXPECT_EQ(Find(Op::kAllReduce, "sharp")->WhyNot({Op::kAllReduce, 8, 3, 0}, plain, {}),
              "3 ranks, but the placement has 8 servers and 8 GPUs listed");
    // Steps of a lane are counted in 32 bits. The switch has 4 up and 4 down for each chunk.
    const Algorithm& sharp = *Find(Op::kAllReduce, "sharp");
    const auto four = WithSwitches(UniformPlacement(4, 1), 4);
    EXPECT_EQ(sharp.WhyNot({Op::kAllReduce, 536870910, 4, 0}, four, {0, 1}), "");
    EXPECT_EQ(sharp.WhyNot({Op::kAllReduce, 1U << 29, 4, 0}, four, {0, 1}),
              "messages of at most 1 bytes cut 536870912 bytes into too many; 536870911 are "
              "possible");

    Placement none = full;
    none.aggregationBytes = 1;
    EXPECT_EQ(why(Op::kAllReduce, "collnet-direct", none, {4, 0}),
              "switch 1000 would hold 2 bytes at once for NIC 0, and has room for 1; smaller "
              "messages (--pipeline) need less, --aggregation-memory is the room");

    AlgorithmOptions levels;
    levels.levels = {"direct", "sharp"};
    EXPECT_EQ(why(Op::kAllReduce, "hierarchical", full, levels),
              "level 1: sharp adds up in switches, which a level does not");
}

TEST(InNetwork, UsesAreTold)
{
    for (const Op op : AllOps())
    {
        for (const Algorithm* algorithm : AlgorithmsFor(op))
        {
            // With and without the switches that it says it uses.
            const InNetwork uses = algorithm->Uses();
            for (const auto& [servers, gpus] :
                 std::vector<std::pair<uint32_t, uint32_t>>{{1, 4}, {3, 1}, {3, 4}})
            {
                const Collective what{op, op == Op::kBarrier ? 0UL : 999UL, servers * gpus, 0};
                Placement placement = WithSwitches(UniformPlacement(servers, gpus, 2), 2);
                if (!algorithm->WhyNot(what, placement, {}).empty())
                {
                    continue;
                }
                const auto schedule = algorithm->Make(what, placement, {});
                for (const NetworkNode& node : schedule->NetworkNodes())
                {
                    EXPECT_TRUE(node.kind != NetworkNode::kFabricSwitch ? uses.serverSwitch
                                                                        : uses.fabricSwitches);
                }
                if (!uses.serverSwitch)
                {
                    placement.serverSwitchAdds = false;
                }
                if (!uses.fabricSwitches)
                {
                    placement.aggregation.clear();
                }
                EXPECT_EQ(algorithm->WhyNot(what, placement, {}), "");
                EXPECT_TRUE(uses.serverSwitch || uses.fabricSwitches ||
                            schedule->NetworkNodes().empty());
            }
        }
    }
}

TEST(InNetwork, NoneIsTakenByItself)
{
    const auto placement = WithSwitches(UniformPlacement(4, 8, 8), 4);
    for (const Op op : AllOps())
    {
        const InNetwork uses = DefaultAlgorithm(op, placement).Uses();
        EXPECT_FALSE(uses.serverSwitch || uses.fabricSwitches) << OpName(op);
    }
}

} // namespace
} // namespace coll
