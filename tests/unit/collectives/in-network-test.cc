/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Collectives that switches add up and copy: what ports and NICs carry, who is head, the order of
 * chunks, formulas. That each is right for all shapes is algorithms-test.cc, that damage to a
 * switch's steps is found checker-test.cc.
 */
#include "collectives/aggregation/aggregation.h"
#include "collectives/core/checker.h"
#include "collectives/core/cost.h"
#include "collectives/schedules/server-trees.h"
#include "prove.h"

#include <array>
#include <gtest/gtest.h>
#include <numeric>

namespace coll
{
namespace
{

/// By rank: bytes sent, and received, to and from a switch of its server, and in all.
struct Ports
{
    std::vector<uint64_t> sent;
    std::vector<uint64_t> received;
    std::vector<uint64_t> up;   ///< out of its server, or to a switch between
    std::vector<uint64_t> down; ///< from there
};

Ports
PortsOf(const Schedule& schedule, const Placement& placement)
{
    const Rank n = schedule.What().ranks;
    Ports ports;
    for (auto* one : {&ports.sent, &ports.received, &ports.up, &ports.down})
    {
        one->assign(n, 0);
    }
    const auto outside = [&](Rank rank, Rank peer) {
        if (peer < n)
        {
            return placement.serverOf[rank] != placement.serverOf[peer];
        }
        return schedule.NetworkNodes()[peer - n].kind == NetworkNode::kFabricSwitch;
    };
    for (Rank r = 0; r < n; r++)
    {
        for (Lane lane = 0; lane < schedule.Lanes(r); lane++)
        {
            for (StepIndex k = 0; k < schedule.Steps(r, lane); k++)
            {
                const Step step = schedule.At(r, lane, k);
                ports.sent[r] += step.sendBytes;
                ports.received[r] += step.recvBytes;
                ports.up[r] +=
                    step.sendPeer != kNoRank && outside(r, step.sendPeer) ? step.sendBytes : 0;
                ports.down[r] +=
                    step.recvPeer != kNoRank && outside(r, step.recvPeer) ? step.recvBytes : 0;
            }
        }
    }
    return ports;
}

TEST(Nvls, BytesAtAPort)
{
    // n GPUs of one server, 100 bytes a piece. To the switch: the contribution to every piece, also
    // to the own one, and the own piece's sum; as much comes back.
    for (const uint32_t n : {2, 3, 8, 17})
    {
        const auto placement = WithSwitches(UniformPlacement(1, n), 2);
        const auto all = PortsOf(*Made(Op::kAllReduce, "nvls", 100 * n, placement), placement);
        const auto scatter =
            PortsOf(*Made(Op::kReduceScatter, "nvls", 100 * n, placement), placement);
        const auto gather = PortsOf(*Made(Op::kAllGather, "nvls", 100 * n, placement), placement);
        for (Rank r = 0; r < n; r++)
        {
            EXPECT_EQ(all.sent[r], 100 * n + 100);
            EXPECT_EQ(all.received[r], 100 * n + 100);
            EXPECT_EQ(scatter.sent[r], 100 * n);
            EXPECT_EQ(scatter.received[r], 100U);
            EXPECT_EQ(gather.sent[r], 100U);
            EXPECT_EQ(gather.received[r], 100 * n);
        }
    }
}

TEST(Nvls, GpusAddUpNothing)
{
    const auto placement = WithSwitches(UniformPlacement(2, 8, 4), 2);
    const auto schedule = Made(Op::kAllReduce, "nvls", 1 << 20, placement);
    const CheckReport report = Check(*schedule, {&placement, true});
    EXPECT_TRUE(report.Ok()) << report.Problems();
    EXPECT_EQ(MostOfRanks(report.bytesReduced, 16), 0U);
    // The switches: 7 contributions of 8 in each server, one of two between.
    EXPECT_EQ(std::accumulate(report.bytesReduced.begin(), report.bytesReduced.end(), 0UL),
              (7 + 7 + 1) * (1UL << 20));
}

TEST(Sharp, HalfOfARingAtTheNic)
{
    // S up and S down a NIC, where a ring sends 2 S (n-1) / n.
    for (const uint32_t n : {2, 3, 8, 33})
    {
        const auto placement = WithSwitches(UniformPlacement(n, 1), 4);
        const uint64_t bytes = 1000 * n;
        const auto sharp = Made(Op::kAllReduce, "sharp", bytes, placement);
        const Ports ports = PortsOf(*sharp, placement);
        const CheckReport ring = Check(*Made(Op::kAllReduce, "ring", bytes, placement));
        const CheckReport report = Check(*sharp, {&placement, true});
        EXPECT_TRUE(report.Ok()) << report.Problems();
        for (Rank r = 0; r < n; r++)
        {
            EXPECT_EQ(ports.up[r], bytes);
            EXPECT_EQ(ports.down[r], bytes);
            EXPECT_EQ(ring.bytesSent[r], 2000 * (n - 1));
            EXPECT_EQ(report.bytesOutOfServer[r], bytes) << "what switches send counts for none";
        }
    }
}

TEST(Sharp, LatenciesGrowWithTheLogarithm)
{
    // Up h levels of switches and down again: 2 h messages. Radix 4: 2 levels up to 16 servers, 3
    // up to 64. A ring has 2 (n-1).
    for (const auto& [n, levels] :
         std::vector<std::pair<uint32_t, uint32_t>>{{3, 1}, {4, 1}, {16, 2}, {64, 3}})
    {
        const auto placement = WithSwitches(UniformPlacement(n, 1), 4);
        const Collective what{Op::kAllReduce, 1000, n, 0};
        const Cost cost = *Find(what.op, "sharp")->CostOf(what, placement, {});
        EXPECT_EQ(cost.chain, 2 * levels);
        EXPECT_EQ(cost.chainOutside, 2 * levels);
        EXPECT_EQ(Check(*Made(what.op, "sharp", 1000, placement)).longestChain, 2 * levels);
    }
}

TEST(NvlsTree, BytesOutOfServers)
{
    // k servers of g GPUs with a NIC each. Every tree has half of every head's piece, so half of S
    // in all, and a server sends it over each of its links in that tree: those of NCCL's two trees.
    for (const uint32_t k : {2, 3, 4, 5, 8, 13})
    {
        for (const uint32_t g : {1, 2, 4})
        {
            const auto placement = WithSwitches(UniformPlacement(k, g, g), 2);
            const uint64_t bytes = 1000 * 2 * g;
            const auto schedule = Made(Op::kAllReduce, "nvls-tree", bytes, placement);
            const CheckReport report = Check(*schedule, {&placement, true});
            EXPECT_TRUE(report.Ok()) << report.Problems();
            const ServerTrees trees(UniformPlacement(k, 1), 1, 2, kNoRank);
            const Ports ports = PortsOf(*schedule, placement);
            for (Rank r = 0; r < k * g; r++)
            {
                const uint32_t s = r / g;
                const uint64_t links = trees.Of(0, s).Degree() + trees.Of(1, s).Degree();
                EXPECT_EQ(report.bytesOutOfServer[s], links * bytes / 2);
                EXPECT_LE(report.bytesOutOfServer[s], 2 * bytes);
                EXPECT_EQ(ports.up[r], links * bytes / 2 / g);
                EXPECT_EQ(ports.down[r], links * bytes / 2 / g);
                // Inside: S to the switch, and the own piece's sum; alone there is no switch.
                EXPECT_EQ(ports.sent[r] - ports.up[r], g > 1 ? bytes + bytes / g : 0);
                EXPECT_EQ(ports.received[r] - ports.down[r], g > 1 ? bytes + bytes / g : 0);
            }
        }
    }
}

TEST(Nvls, BytesOnSeveralServers)
{
    // Inside as on one server, S out of each server and S in: what nvls-tree needs two of, and a
    // ring 2 S (n-1) / n.
    for (const uint32_t k : {2, 3, 9})
    {
        for (const uint32_t g : {1, 2, 8})
        {
            const auto placement = WithSwitches(UniformPlacement(k, g, g), 3);
            const uint64_t bytes = 500 * g;
            const auto schedule = Made(Op::kAllReduce, "nvls", bytes, placement);
            const CheckReport report = Check(*schedule, {&placement, true});
            EXPECT_TRUE(report.Ok()) << report.Problems();
            EXPECT_EQ(report.bytesOutOfServer, std::vector<uint64_t>(k, bytes));
            const Ports ports = PortsOf(*schedule, placement);
            for (Rank r = 0; r < k * g; r++)
            {
                EXPECT_EQ(ports.up[r], bytes / g);
                EXPECT_EQ(ports.down[r], bytes / g);
                EXPECT_EQ(ports.sent[r] - ports.up[r], g > 1 ? bytes + bytes / g : 0);
            }
        }
    }
}

TEST(CollnetDirect, Bytes)
{
    // Out of a GPU: g-1 of g pieces to their heads, the own piece's sum up, its result to g-1
    // others. It adds up what g-1 others have for its piece.
    for (const uint32_t g : {1, 2, 4, 8})
    {
        const auto placement = WithSwitches(UniformPlacement(3, g, g), 2);
        const uint64_t bytes = 800;
        const auto schedule = Made(Op::kAllReduce, "collnet-direct", bytes, placement);
        const CheckReport report = Check(*schedule, {&placement, true});
        EXPECT_TRUE(report.Ok()) << report.Problems();
        const Ports ports = PortsOf(*schedule, placement);
        for (Rank r = 0; r < 3 * g; r++)
        {
            EXPECT_EQ(ports.sent[r], 2 * (g - 1) * bytes / g + bytes / g);
            EXPECT_EQ(ports.received[r], ports.sent[r]);
            EXPECT_EQ(ports.up[r], bytes / g);
            EXPECT_EQ(report.bytesReduced[r], (g - 1) * bytes / g);
        }
        EXPECT_EQ(report.bytesOutOfServer, std::vector<uint64_t>(3, bytes));
    }
}

TEST(CollnetChain, Bytes)
{
    // One NIC, so the head is GPU 0 and the chain 0 3 2 1, in the order of rings. S up and S down
    // for all but the end, 1, which passes nothing down.
    const auto placement = WithSwitches(UniformPlacement(2, 4), 2);
    const auto schedule = Made(Op::kAllReduce, "collnet-chain", 100, placement);
    const CheckReport report = Check(*schedule, {&placement, true});
    EXPECT_TRUE(report.Ok()) << report.Problems();
    const Ports ports = PortsOf(*schedule, placement);
    EXPECT_EQ(ports.sent, (std::vector<uint64_t>{200, 100, 200, 200, 200, 100, 200, 200}));
    EXPECT_EQ(ports.up, (std::vector<uint64_t>{100, 0, 0, 0, 100, 0, 0, 0}));
    EXPECT_EQ(report.bytesOutOfServer, (std::vector<uint64_t>{100, 100}));
    // Up 1 -> 2 -> 3 -> 0 -> switch, and back.
    EXPECT_EQ(report.longestChain, 8U);
    EXPECT_EQ(Find(Op::kAllReduce, "collnet-chain")
                  ->CostOf(schedule->What(), placement, {})
                  ->chainOutside,
              2U);
}

TEST(InNetwork, HeadsAreTheGpusNextToNics)
{
    // 8 GPUs and 4 NICs: heads 0, 2, 4, 6 of each server; lane i is NIC i's.
    const auto placement = WithSwitches(UniformPlacement(2, 8, 4), 2);
    for (const char* name : {"nvls", "nvls-tree", "collnet-direct", "collnet-chain"})
    {
        const auto schedule = Made(Op::kAllReduce, name, 1 << 20, placement);
        const Ports ports = PortsOf(*schedule, placement);
        for (Rank r = 0; r < 16; r++)
        {
            EXPECT_EQ(ports.up[r] > 0, r % 2 == 0) << name << " " << r;
        }
        const uint32_t lanesOfNic = schedule->Lanes(0) / 4;
        for (Lane lane = 0; lane < schedule->Lanes(0); lane++)
        {
            EXPECT_EQ(schedule->Channel(lane) % 4, lane / lanesOfNic) << name;
        }
    }
}

TEST(InNetwork, AGroupUsesTheSwitchesItNeeds)
{
    // GPU 5 of servers 2, 5 and 7 of 10, in a machine with a tree of radix 2 for each of 8 NICs:
    // of NIC 5's switches those where they meet. Over servers 0..9 stations are 0..4, pairs of them
    // 5..7, of those 8 and 9, 10 the root: 5 and 7 (stations 2 and 3) meet at 6, 2 (station 1,
    // below 5) meets them at 8.
    Placement placement = UniformPlacement(3, 1, 8);
    placement.gpusPerServer = 8;
    placement.serverOf = {2, 5, 7};
    placement.gpuOf = {5, 5, 5};
    for (uint32_t nic = 0; nic < 8; nic++)
    {
        placement.aggregation.push_back(MakeAggregationTree(10, 2, 100 * nic));
    }
    const auto schedule = Made(Op::kAllReduce, "sharp", 96, placement);
    EXPECT_TRUE(Check(*schedule).Ok());
    ASSERT_EQ(schedule->Lanes(0), 1U);
    EXPECT_EQ(schedule->Channel(0), 5U);
    std::vector<uint32_t> nodes;
    for (const NetworkNode& node : schedule->NetworkNodes())
    {
        EXPECT_EQ(node.kind, NetworkNode::kFabricSwitch);
        nodes.push_back(node.where);
    }
    EXPECT_EQ(nodes, (std::vector<uint32_t>{508, 506}));
    // A server's switch is told by its server.
    placement.serverOf = {7, 7, 7};
    placement.gpuOf = {1, 3, 6};
    placement.serverSwitchAdds = true;
    const auto inside = Made(Op::kReduceScatter, "nvls", 96, placement);
    EXPECT_TRUE(Check(*inside).Ok());
    ASSERT_EQ(inside->NetworkNodes().size(), 1U);
    EXPECT_EQ(inside->NetworkNodes()[0].kind, NetworkNode::kServerSwitch);
    EXPECT_EQ(inside->NetworkNodes()[0].where, 7U);
    EXPECT_EQ(inside->Channel(1), 3U) << "the head's NIC";
}

TEST(InNetwork, AServerWithFewRanksHasOneHeadForSeveralPieces)
{
    // Servers with 4 GPUs and 1: NICs 0..3 each have a piece; the lone rank is head of them all.
    Placement placement = UniformPlacement(2, 4, 4);
    placement.serverOf.resize(5);
    placement.gpuOf.resize(5);
    placement = WithSwitches(placement, 2);
    for (const char* name : {"nvls", "nvls-tree", "collnet-direct", "collnet-chain"})
    {
        const auto schedule = Made(Op::kAllReduce, name, 4000, placement);
        const Ports ports = PortsOf(*schedule, placement);
        EXPECT_EQ(ports.up, (std::vector<uint64_t>{1000, 1000, 1000, 1000, 4000})) << name;
        EXPECT_EQ(ports.sent[4], 4000U) << name << ": nothing inside";
        EXPECT_TRUE(Check(*schedule).Ok()) << name;
    }
}

TEST(InNetwork, CostOfManyChunks)
{
    // The longest chain goes up and down again as often as chunks allow.
    for (const char* name : {"nvls", "nvls-tree", "sharp", "collnet-direct", "collnet-chain"})
    {
        for (const Op op : {Op::kAllReduce, Op::kReduceScatter, Op::kAllGather})
        {
            for (const auto& [servers, gpus, nics] :
                 std::vector<std::array<uint32_t, 3>>{{1, 2, 1},
                                                      {1, 5, 2},
                                                      {2, 1, 1},
                                                      {3, 2, 2},
                                                      {5, 3, 1},
                                                      {9, 1, 2},
                                                      {7, 4, 4}})
            {
                const auto placement = WithSwitches(UniformPlacement(servers, gpus, nics), 2);
                const auto n = servers * gpus;
                const Algorithm* algorithm = Find(op, name);
                for (const uint64_t bytes : {1, 5, 6, 9, 10, 11, 37, 200})
                {
                    const Collective what{op, bytes * n, n, 0};
                    const AlgorithmOptions options{0, n > 12 ? 5U : 1U};
                    if (algorithm && algorithm->WhyNot(what, placement, options).empty())
                    {
                        SCOPED_TRACE(std::string(name) + " " + OpName(op) + " " +
                                     std::to_string(servers) + " x " + std::to_string(gpus) + ", " +
                                     std::to_string(bytes));
                        ProveByFormula(op, name, what, placement, options);
                    }
                }
            }
        }
    }
}

TEST(InNetwork, ChunksFollowOneAnother)
{
    // `sharp`, 4 servers below one switch: a rank is kLag / 2 slots from it, so it has sent 4
    // chunks when the first comes back, and 5 when it waits for that.
    const auto placement = WithSwitches(UniformPlacement(4, 1), 4);
    const auto schedule = Made(Op::kAllReduce, "sharp", 80, placement, {0, 10});
    std::vector<char> order;
    for (StepIndex k = 0; k < schedule->Steps(2, 0); k++)
    {
        order.push_back(schedule->At(2, 0, k).sendPeer != kNoRank ? 's' : 'r');
    }
    EXPECT_EQ(std::string(order.begin(), order.end()), "sssssrsrsrsrrrrr");
    // The switch does one chunk after the other: the first contribution as it comes, then sums.
    for (StepIndex k = 0; k < schedule->Steps(4, 0); k++)
    {
        const Step step = schedule->At(4, 0, k);
        const bool up = k % 8 < 4;
        EXPECT_EQ(step.recvPeer, up ? k % 4 : kNoRank);
        EXPECT_EQ(step.sendPeer, up ? kNoRank : k % 4);
        EXPECT_EQ(step.reduce, up && k % 4 > 0);
        EXPECT_EQ(up ? step.recvOffset : step.sendOffset, k / 8 * 10);
    }
}

TEST(InNetwork, SerialBytes)
{
    // nvls, n GPUs, C chunks of c bytes a piece. A slot of the pipeline is (n + 1) c of a port, and
    // the first chunk takes four hops: n c of contributions, c to the head, c from it, n c of
    // copies.
    const uint32_t n = 4;
    const auto placement = WithSwitches(UniformPlacement(1, n), 2);
    for (const uint64_t chunks : {1, 2, 10})
    {
        const uint64_t c = 100;
        const Cost cost = *Find(Op::kAllReduce, "nvls")
                               ->CostOf({Op::kAllReduce, n * chunks * c, n, 0}, placement, {0, c});
        EXPECT_DOUBLE_EQ(cost.serialBytes, (n + 1) * c * (chunks + 1.0));
        const Cost half = *Find(Op::kAllGather, "nvls")
                               ->CostOf({Op::kAllGather, n * chunks * c, n, 0}, placement, {0, c});
        EXPECT_DOUBLE_EQ(half.serialBytes, c + n * c + n * c * (chunks - 1.0));
    }
    // sharp, two levels, two NICs of a rank: S of its ports, and the first chunks' two more hops
    // over links of one lane.
    const auto servers = WithSwitches(UniformPlacement(4, 1, 2), 2);
    const Cost sharp =
        *Find(Op::kAllReduce, "sharp")->CostOf({Op::kAllReduce, 2000, 4, 0}, servers, {0, 100});
    EXPECT_DOUBLE_EQ(sharp.serialBytes, 2 * (200 + 100) + 9 * 200);
}

} // namespace
} // namespace coll
