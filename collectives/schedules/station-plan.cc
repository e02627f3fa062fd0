/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "collectives/schedules/station-plan.h"

#include "collectives/aggregation/aggregation.h"
#include "collectives/core/looped-schedule.h"
#include "collectives/core/partition.h"
#include "collectives/core/placement.h"

#include <algorithm>

namespace coll
{

namespace
{

std::string
CutProblem(uint64_t largest, uint64_t bytes, uint64_t mostChunks, uint64_t pieces)
{
    return "messages of at most " + std::to_string(largest) + " bytes cut " +
           std::to_string(bytes) + " bytes into too many; " + std::to_string(mostChunks * pieces) +
           " are possible";
}

} // namespace

Rank
StationPlan::Member(const NetworkNode& node)
{
    const auto [known, isNew] = m_members.try_emplace({node.kind, node.where}, Members());
    if (isNew)
    {
        nodes.push_back(node);
    }
    return known->second;
}

uint64_t
StationPlan::BytesOf(const StationTree& tree) const
{
    return Partition(what.bytes, pieces).Part(tree.piece).bytes;
}

uint64_t
StationPlan::LargestChunk(const StationTree& tree) const
{
    const uint64_t bytes = BytesOf(tree);
    return bytes / chunks + (bytes % chunks != 0 ? 1 : 0);
}

void
StationPlan::Cut(uint64_t largest)
{
    // For each chunk a station does one step per child, or one if it has none, up and down.
    uint64_t most = 1;
    for (const StationTree& tree : trees)
    {
        std::vector<uint64_t> children(tree.stations.size(), 0);
        for (const Station& station : tree.stations)
        {
            if (station.parent != Station::kNone)
            {
                children[station.parent]++;
            }
        }
        std::vector<uint64_t> steps(Members(), 0);
        for (size_t i = 0; i < children.size(); i++)
        {
            const uint64_t each = std::max<uint64_t>(children[i], 1);
            steps[tree.stations[i].member] += each;
            steps[tree.stations[i].Down()] += each;
        }
        most = std::max(most, *std::max_element(steps.begin(), steps.end()));
    }
    const uint64_t mostChunks = UINT32_MAX / most;
    const uint64_t piece = what.bytes / pieces + (what.bytes % pieces != 0 ? 1 : 0);
    if (piece / largest >= mostChunks)
    {
        problem = CutProblem(largest, what.bytes, mostChunks, pieces);
        return;
    }
    chunks = LoopsFor(what.bytes, pieces, largest);
}

std::vector<Rail>
ChannelRails(const Placement& placement, uint32_t channels)
{
    const auto nics = Rails(placement);
    const auto count = static_cast<uint32_t>(nics.size());
    std::vector<Rail> rails;
    for (uint32_t c = 0; c < channels && count > 0; c++)
    {
        const uint32_t nic = nics[c % count];
        rails.push_back({nic, nic + NicsPerServer(placement) * (c / count)});
    }
    return rails;
}

uint32_t
PlaceNear(const std::vector<Rank>& ranks, const Placement& placement, uint32_t nic)
{
    const uint32_t near = GpuNearNic(nic, GpusPerServer(placement), NicsPerServer(placement));
    uint32_t place = 0;
    while (place < ranks.size() && placement.gpuOf[ranks[place]] < near)
    {
        place++;
    }
    return place < ranks.size() ? place : 0;
}

uint32_t
AddServerBySwitch(StationPlan& plan,
                  StationTree& tree,
                  const std::vector<Rank>& ranks,
                  uint32_t server,
                  Rank head,
                  uint32_t parent)
{
    const bool alone = ranks.size() == 1;
    const uint32_t top = tree.Add(head, parent, alone);
    if (!alone)
    {
        const Rank node = plan.Member({NetworkNode::kServerSwitch, server});
        const uint32_t middle = tree.Add(node, top, false);
        if (plan.what.op == Op::kAllReduce)
        {
            // So that a head's sum does not wait behind its own contributions of later chunks.
            tree.stations[middle].copier = plan.Member({NetworkNode::kServerCopier, server});
        }
        for (const Rank rank : ranks)
        {
            tree.Add(rank, middle, true);
        }
    }
    return top;
}

std::string
WhyNoServerSwitch(const Placement& placement)
{
    return placement.serverSwitchAdds ? "" : "the servers' switches do not add up (no NVLS)";
}

Aggregation::Aggregation(const Placement& placement, const std::vector<Rail>& rails)
    : m_rails(rails),
      m_room(placement.aggregationBytes)
{
    if (placement.aggregation.empty())
    {
        m_problem = "no switch between the servers adds up (no SHARP)";
        return;
    }
    std::vector<uint32_t> servers;
    for (const auto& ranks : RanksByServer(placement))
    {
        servers.push_back(placement.serverOf[ranks.front()]);
    }
    for (const Rail& rail : rails)
    {
        if (m_trees.count(rail.nic) > 0)
        {
            continue;
        }
        const std::string name =
            "the tree of switches that add up for NIC " + std::to_string(rail.nic);
        if (rail.nic >= placement.aggregation.size())
        {
            m_problem = "there is no " + name.substr(4) + ", only of " +
                        std::to_string(placement.aggregation.size()) + " NICs of a server";
            return;
        }
        const AggregationTree& tree = placement.aggregation[rail.nic];
        if (const std::string why = WhyNotJoined(tree, servers); !why.empty())
        {
            m_problem = name + " " + why;
            return;
        }
        m_trees[rail.nic] = Pruned(tree, servers);
    }
}

std::vector<uint32_t>
Aggregation::AddTo(StationPlan& plan, StationTree& tree, const Rail& rail) const
{
    const AggregationTree& switches = m_trees.at(rail.nic);
    std::vector<uint32_t> stations;
    for (size_t i = 0; i < switches.nodes.size(); i++)
    {
        const uint32_t above = switches.parent[i];
        stations.push_back(
            tree.Add(plan.Member({NetworkNode::kFabricSwitch, switches.nodes[i]}),
                     above == AggregationTree::kNone ? Station::kNone : stations[above],
                     false));
    }
    std::vector<uint32_t> above;
    for (const uint32_t station : switches.stationOf)
    {
        above.push_back(stations[station]);
    }
    return above;
}

void
Aggregation::Cut(StationPlan& plan, uint64_t largest, bool asked) const
{
    if (plan.trees.empty())
    {
        return;
    }
    std::map<uint32_t, std::vector<size_t>> lanesOf; // by NIC
    for (size_t lane = 0; lane < plan.trees.size(); lane++)
    {
        lanesOf[m_rails[lane].nic].push_back(lane);
    }
    if (m_room != 0 && !asked)
    {
        for (const auto& [nic, lanes] : lanesOf)
        {
            largest = std::min(largest, std::max<uint64_t>(m_room / lanes.size(), 1));
        }
    }
    plan.Cut(largest);
    if (m_room == 0 || !plan.problem.empty())
    {
        return;
    }
    for (const auto& [nic, lanes] : lanesOf)
    {
        uint64_t needed = 0;
        for (const size_t lane : lanes)
        {
            needed += plan.LargestChunk(plan.trees[lane]);
        }
        if (needed > m_room)
        {
            plan.problem =
                "switch " + std::to_string(m_trees.at(nic).nodes.front()) + " would hold " +
                std::to_string(needed) + " bytes at once for NIC " + std::to_string(nic) +
                ", and has room for " + std::to_string(m_room) +
                "; smaller messages (--pipeline) need less, --aggregation-memory is the room";
            return;
        }
    }
}

StationPlan
AggregatedPlan(const Collective& what,
               const Placement& placement,
               const AlgorithmOptions& options,
               uint64_t largest,
               AddServer addServer)
{
    StationPlan plan(what);
    const auto rails = ChannelRails(placement, ChannelCount(placement, options));
    const Aggregation switches(placement, rails);
    const auto servers = RanksByServer(placement);
    plan.problem = servers.size() == 1 && what.ranks > 1
                       ? "it adds up in switches between servers, and the group is on one"
                       : switches.Problem();
    if (!plan.problem.empty() || what.ranks == 1)
    {
        return plan;
    }
    plan.pieces = static_cast<uint32_t>(rails.size());
    for (const Rail& rail : rails)
    {
        StationTree tree;
        tree.channel = rail.channel;
        tree.piece = static_cast<uint32_t>(plan.trees.size());
        const auto above = switches.AddTo(plan, tree, rail);
        for (size_t server = 0; server < servers.size(); server++)
        {
            addServer(tree,
                      servers[server],
                      PlaceNear(servers[server], placement, rail.nic),
                      above[server]);
        }
        plan.trees.push_back(std::move(tree));
    }
    const bool asked = options.pipelineBytes != 0;
    switches.Cut(plan, asked ? options.pipelineBytes : largest, asked);
    return plan;
}

} // namespace coll
