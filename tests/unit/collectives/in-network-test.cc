/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Collectives that switches add up and copy: what ports and NICs carry, what switches hold, who is
 * refused; and that a switch's missing, doubled or displaced step is found. That each is right for
 * all shapes is algorithms-test.cc.
 */
#include "collectives/checker.h"
#include "collectives/cost.h"
#include "collectives/state-bytes.h"
#include "prove.h"

#include <gtest/gtest.h>
#include <numeric>
#include <set>

namespace coll
{
namespace
{

std::unique_ptr<Schedule>
Made(Op op,
     const std::string& name,
     uint64_t bytes,
     const Placement& placement,
     const AlgorithmOptions& options = {})
{
    const auto n = static_cast<uint32_t>(placement.serverOf.size());
    return Find(op, name)->Make({op, bytes, n, 0}, placement, options);
}

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

} // namespace
} // namespace coll
