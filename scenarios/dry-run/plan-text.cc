/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * The plans of collperf and traffic; that of dltrain: training-plan-text.cc.
 */
#include "scenarios/dry-run/plan-text.h"

#include "collectives/core/block-sizes.h"
#include "collectives/core/placement.h"
#include "collectives/core/registry.h"
#include "contrib/rdma/core/unit-strings.h"
#include "scenarios/collective/collective-options.h"
#include "scenarios/collective/network-choices.h"
#include "scenarios/dry-run/background-count.h"
#include "scenarios/dry-run/estimate.h"
#include "scenarios/dry-run/formula-text.h"
#include "scenarios/dry-run/plan-events.h"
#include "scenarios/dry-run/plan-lines.h"
#include "scenarios/network/cluster-options.h"
#include "scenarios/options/format.h"
#include "scenarios/options/options.h"
#include "topologies/names.h"

#include <algorithm>

namespace scenario
{

namespace
{

std::string
FromTo(uint64_t least, uint64_t most)
{
    const auto text = [](uint64_t bytes) { return rdma::ToString(rdma::Bytes(bytes)); };
    return least == most ? text(most) : text(least) + " to " + text(most);
}

/// The text about an all-to-all-v's blocks, for the largest size.
std::string
BlocksText(const CollperfScenario& s)
{
    const coll::Blocks blocks(s.CollectiveOf(s.sizes.back()));

    struct Extremes
    {
        uint64_t least = UINT64_MAX;
        uint64_t most = 0;

        void Add(uint64_t bytes)
        {
            least = std::min(least, bytes);
            most = std::max(most, bytes);
        }
    };

    Extremes each;
    Extremes out;
    Extremes in;
    for (coll::Rank r = 0; r < s.ranks; ++r)
    {
        for (coll::Rank to = 0; to < s.ranks; ++to)
        {
            each.Add(blocks.InputRange(r, to).bytes);
        }
        const uint64_t own = blocks.InputRange(r, r).bytes;
        out.Add(blocks.InputBytes(r) - own);
        in.Add(blocks.OutputBytes(r) - own);
    }
    return FromTo(each.least, each.most) + "; a rank sends " + FromTo(out.least, out.most) +
           " to others and receives " + FromTo(in.least, in.most) +
           (s.sizes.size() == 1 ? "" : " (of the largest size)");
}

} // namespace

std::string
PlanText(const CollperfScenario& s)
{
    std::string text =
        "collperf: " + coll::OpName(s.op) + ", " + topo::Counted(s.ranks, "rank") + "\n\nPlan\n";
    text += PlanLine(
        "sizes",
        std::to_string(s.sizes.size()) + (s.sizes.size() == 1 ? " size, " : " sizes, ") +
            rdma::ToString(rdma::Bytes(s.sizes.front())) +
            (s.sizes.size() == 1 ? "" : " to " + rdma::ToString(rdma::Bytes(s.sizes.back()))) +
            ", " + s.datatype);
    text += PlanLine("repetitions",
                     std::to_string(s.iterations) + " measured" + AfterWarmup(s.warmupIterations) +
                         ", seed " + std::to_string(s.run.seed));
    if (s.op == coll::Op::kAllToAllV)
    {
        text += PlanLine("blocks", BlocksText(s));
    }
    std::vector<coll::Collective> whats;
    for (const uint64_t bytes : s.sizes)
    {
        whats.push_back(s.CollectiveOf(bytes));
    }
    const coll::Placement placement = RankPlacement(s.cluster);
    text += PlanLine("algorithm", AlgorithmText(s.collectives, placement, {{s.op, whats}}));
    for (const Compared& other : s.compare)
    {
        text += PlanLine("compared", AlgorithmText(other.collectives, placement, {{s.op, whats}}));
    }
    text += PlanLineIf("tuner", NetworkAdvice(s.collectives, s.cluster, s.fabric, {{{}, whats}}));
    text += NcclLine(s.collectives.nccl);
    text += ClusterText(s.cluster, s.fabric, s.run) + EventLines(s.run, s.cluster.topology);
    text += FabricText(s.fabric, s.cluster.topology) +
            PlanLineIf("scheduling", SchedulingText(s.fabric)) + ProcessesLine(s.run);
    text += FormulaText(s, whats);
    Estimate e = EstimateRun(s);
    CountBackground(s.run, s.fabric, s.cluster.topology, &e);
    return text + EstimateText(e, s.fabric, s.run);
}

std::string
PlanText(const TrafficScenario& s)
{
    double bytes = 0;
    uint64_t smallest = UINT64_MAX;
    uint64_t largest = 0;
    rdma::TimePoint last;
    for (const auto& f : s.flows)
    {
        bytes += static_cast<double>(f.bytes);
        smallest = std::min(smallest, f.bytes);
        largest = std::max(largest, f.bytes);
        last = std::max(last, f.start);
    }
    std::string text =
        "traffic: " + s.pattern + ", " + topo::Counted(s.flows.size(), "flow") + "\n\nPlan\n";
    text +=
        PlanLine("flows",
                 std::to_string(s.flows.size()) + ", " + s.pattern + ", " +
                     (smallest == largest ? ExactBytes(smallest) + " each"
                                          : ExactBytes(smallest) + " to " + ExactBytes(largest)) +
                     ", " + SizeText(bytes) + " together, seed " + std::to_string(s.run.seed));
    if (const ProtocolSpec& protocol = s.run.protocol; protocol.IsOrdinary())
    {
        text += PlanLine("protocol",
                         protocol.Text() + ", " +
                             (!protocol.control.empty()
                                  ? protocol.control + (protocol.IsUdp() ? " a flow" : "")
                                  : "what a NIC's port carries") +
                             ", packets of at most " + std::to_string(protocol.packetMtu) + " B");
    }
    text += PlanLine("starts",
                     last.ps == 0 ? "all at 0" : "0 to " + rdma::ToString(rdma::Duration(last.ps)));
    text += PlanLine("network", NetworkText(s.topology, s.topologyName));
    text += EventLines(s.run, s.topology) +
            FabricText(s.fabric, s.topology, !s.run.protocol.IsOrdinary()) +
            PlanLineIf("lossless", LosslessText(s)) +
            PlanLineIf("scheduling", SchedulingText(s.fabric)) + ProcessesLine(s.run);
    return text + EstimateText(EstimateRun(s), s.fabric, s.run);
}

} // namespace scenario
