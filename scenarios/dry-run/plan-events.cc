/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "scenarios/dry-run/plan-events.h"

#include "contrib/rdma/core/shown-text.h"
#include "contrib/rdma/core/unit-strings.h"
#include "scenarios/launch/ns3-environment.h"
#include "scenarios/network/network-kinds.h"
#include "scenarios/network/recovery-options.h"
#include "scenarios/options/format.h"
#include "topologies/names.h"

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <vector>

namespace scenario
{

namespace
{

/// Entries of a list that a line of a plan shows.
constexpr std::size_t kShown = 4;

std::string
Hosts(const std::vector<uint32_t>& hosts, const topo::Topology& topology)
{
    std::string text;
    for (std::size_t i = 0; i < std::min(kShown, hosts.size()); ++i)
    {
        text += (i ? ", " : "") + topology.Nodes()[topology.Hosts()[hosts[i]]].name;
    }
    return text +
           (hosts.size() > kShown ? " and " + std::to_string(hosts.size() - kShown) + " more" : "");
}

std::string
CheckpointText(const RecoverySpec& recovery, const topo::Topology& topology)
{
    const std::vector<uint64_t> bytes = recovery.checkpoint.WrittenBy();
    std::string text =
        "; a checkpoint every " + (recovery.checkpointEvery == 1
                                       ? "step"
                                       : std::to_string(recovery.checkpointEvery) + " steps");
    text += ", " + SizeText(std::accumulate(bytes.begin(), bytes.end(), 0.0));
    text += recovery.checkpointHosts.empty()
                ? ", " + rdma::ToString(recovery.TimeAtRate(bytes)) + " at " +
                      rdma::ToString(recovery.checkpointRate) + " a server"
                : ", sent to " + Hosts(recovery.checkpointHosts, topology);
    if (recovery.writesBehind)
    {
        text += ", behind the steps, copied before in " + rdma::ToString(recovery.CopyTime(bytes)) +
                " at " + rdma::ToString(recovery.copyRate) + " a GPU";
    }
    return text;
}

} // namespace

std::string
FaultsText(const FaultPlan& plan)
{
    std::string text;
    const std::size_t faults =
        plan.faults.size() - (plan.faults.empty() || !plan.faults.back().circuits ? 0 : 1);
    for (std::size_t i = 0; i < std::min(kShown, faults); ++i)
    {
        const Fault& fault = plan.faults[i];
        text += (i ? "; " : "") + fault.what + " on " + fault.where + " at " +
                CanonicalDuration(fault.at.ps) +
                (fault.length.ps > 0 ? " for " + CanonicalDuration(fault.length.ps) : "");
    }
    const std::size_t more = faults - std::min(kShown, faults);
    return text + (more ? "; and " + std::to_string(more) + " more" : "");
}

std::string
CircuitsText(const FaultPlan& faults)
{
    if (faults.faults.empty() || !faults.faults.back().circuits)
    {
        return "";
    }
    const topo::CircuitPlan& plan = *faults.faults.back().circuits;
    const std::size_t changes = plan.every.ps ? plan.again : plan.changes.size();
    std::string text = topo::Counted(plan.links.size(), "circuit") + " of " +
                       faults.faults.back().where + ", " + topo::Counted(changes, "change") +
                       " from " + CanonicalDuration(plan.changes[0].at.ps) + " on";
    text += plan.every.ps ? ", again every " + CanonicalDuration(plan.every.ps) + " until " +
                                CanonicalDuration(plan.until.ps)
                          : "";
    text += plan.dark.ps ? ", dark for " + CanonicalDuration(plan.dark.ps) : "";
    return text + (plan.drain.ps ? ", drained for " + CanonicalDuration(plan.drain.ps) : "");
}

std::string
RecoveryText(const RecoverySpec& recovery, const topo::Topology& topology)
{
    std::string text = recovery.policy->name;
    if (recovery.policy->recovers)
    {
        text += ", watchdog " + rdma::ToString(recovery.watchdog);
    }
    if (recovery.policy->MayRestart())
    {
        text += ", at most " + topo::Counted(recovery.mostRestarts, "restart");
    }
    if (!recovery.spares.empty())
    {
        text += "; spare: " + Hosts(recovery.spares, topology);
    }
    return text + (recovery.checkpointEvery > 0 ? CheckpointText(recovery, topology) : "");
}

std::string
SchedulingText(const FabricSpec& fabric)
{
    const std::string before = fabric.queueDisc.empty() ? "" : fabric.queueDisc + "; ";
    const std::string behind = fabric.shapers.empty() ? "" : "at most " + fabric.shapers;
    const EtsSpec& ets = fabric.ets;
    if (!ets.given)
    {
        return behind.empty() ? fabric.queueDisc : before + behind;
    }
    // Relative to the least, which priorities without a weight of their own have.
    const uint32_t least = *std::min_element(ets.weights.begin(), ets.weights.end());
    std::string text;
    for (std::size_t p = 0; p < ets.weights.size(); ++p)
    {
        const bool strict = ets.strict >> p & 1;
        if (strict || ets.weights[p] > least)
        {
            text += (text.empty() ? "priority " : ", ") + std::to_string(p) +
                    (strict ? " strict" : Format(" weighs %.3g", 1.0 * ets.weights[p] / least));
        }
    }
    text = text.empty() ? "all priorities alike" : text + ", others 1";
    return before + text + (behind.empty() ? "" : "; " + behind);
}

std::string
LosslessText(const TrafficScenario& s)
{
    constexpr const char* kAttribute = "ns3::RdmaSwitch::LosslessPriorities";
    constexpr uint32_t kOfSwitches = 1U << 3; // the attribute's default
    const uint32_t lossless = s.LosslessPriorities();
    const auto settings = Ns3SettingsOf(s.run);
    const auto set = settings.find(kAttribute);
    if (s.fabric.infiniBand || !s.fabric.pfc || !HasPackets(s.fabric) ||
        (s.run.protocol.IsOrdinary() && set == settings.end()))
    {
        return "";
    }
    if (set != settings.end())
    {
        return std::string("by ") + kAttribute + "=" + rdma::Shown(set->second, 60) +
               ", a bit a priority";
    }
    if (lossless == kOfSwitches)
    {
        return "priority 3, the one of flows";
    }
    std::vector<std::string> priorities;
    for (uint32_t p = 0; p < 8; ++p)
    {
        if (lossless >> p & 1)
        {
            priorities.push_back(std::to_string(p));
        }
    }
    return "priorities " + Join(priorities, ", ") + ": 3 and those of flows; --" + kAttribute +
           "=" + std::to_string(kOfSwitches) + " leaves all but 3 lossy";
}

std::string
LeftOutText(const RunOptions& run)
{
    std::vector<std::string> left;
    if (!run.faults.faults.empty())
    {
        left.push_back("faults");
    }
    if (run.recovery && run.recovery->policy->recovers)
    {
        left.push_back("recovery");
    }
    if (run.recovery && run.recovery->checkpointEvery > 0)
    {
        left.push_back("checkpoints");
    }
    std::string text;
    for (std::size_t i = 0; i < left.size(); ++i)
    {
        text += (i == 0 ? "" : i + 1 == left.size() ? " and " : ", ") + left[i];
    }
    return text.empty() ? "" : "; without " + text;
}

} // namespace scenario
