/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "balance-statistics.h"

#include "contrib/dltrain/ranks/ranks.h"

#include <algorithm>
#include <cstring>
#include <string>
#include <unordered_map>
#include <vector>

namespace dltrain
{

namespace
{

/// \return links from each node to the nearest host; 0 of hosts, and where there is none
std::vector<uint32_t>
TiersOfNodes(const ns3::RdmaFabric& fabric)
{
    std::vector<std::vector<uint32_t>> neighbours(fabric.GetNNodes());
    for (uint32_t end = 0; end < fabric.GetNEnds(); ++end)
    {
        neighbours[fabric.GetNodeOfEnd(end)].push_back(fabric.GetNodeOfEnd(end ^ 1));
    }
    std::vector<uint32_t> tiers(fabric.GetNNodes());
    std::vector<uint32_t> level;
    for (uint32_t node = 0; node < fabric.GetNNodes(); ++node)
    {
        if (!fabric.IsSwitch(node))
        {
            level.push_back(node);
        }
    }
    for (uint32_t tier = 1; !level.empty(); ++tier)
    {
        std::vector<uint32_t> next;
        for (const uint32_t node : level)
        {
            for (const uint32_t other : neighbours[node])
            {
                if (fabric.IsSwitch(other) && tiers[other] == 0)
                {
                    tiers[other] = tier;
                    next.push_back(other);
                }
            }
        }
        level.swap(next);
    }
    return tiers;
}

/// By group of a switch's ports: whether packets to somewhere choose from it. Static routes leave
/// some shortest ways aside.
std::vector<bool>
ChosenFrom(const ns3::RdmaFabric& fabric, uint32_t node)
{
    const rdma::EcmpRoutes& routes = fabric.GetRoutes();
    std::vector<bool> chosen(routes.GroupCount(node), !fabric.HasStaticRoutes());
    if (fabric.HasStaticRoutes())
    {
        for (const uint16_t group : routes.GroupOfEndpoint(node))
        {
            if (group < chosen.size())
            {
                chosen[group] = true;
            }
        }
    }
    return chosen;
}

/// Links that one choice is between. In one rank only.
std::vector<std::vector<uint32_t>>
EndsOfSets(const ns3::RdmaFabric& fabric)
{
    const rdma::EcmpRoutes& routes = fabric.GetRoutes();
    std::vector<std::vector<uint32_t>> sets;
    for (uint32_t node = 0; node < fabric.GetNNodes(); ++node)
    {
        const ns3::RdmaSwitchBase* device = fabric.GetSwitch(node);
        const std::vector<bool> chosen = device ? ChosenFrom(fabric, node) : std::vector<bool>();
        for (uint32_t group = 0; group < chosen.size(); ++group)
        {
            if (!chosen[group])
            {
                continue;
            }
            const auto members = routes.Group(node, static_cast<uint16_t>(group));
            std::vector<uint32_t> ends;
            for (const uint16_t member : members)
            {
                ends.push_back(device->GetPort(member)->GetEnd());
            }
            if (ends.size() > 1)
            {
                sets.push_back(std::move(ends));
            }
        }
    }
    return sets;
}

/// The loads of the link sets at this rank's switches.
std::vector<reports::LinkSetLoad>
LoadsOfSets(const ns3::RdmaFabric& fabric, const FabricBaseline& base, int64_t now)
{
    const auto& ports = fabric.GetPorts();
    std::unordered_map<const ns3::RdmaPort*, uint32_t> indices;
    for (uint32_t i = 0; i < ports.size(); ++i)
    {
        indices.emplace(ns3::PeekPointer(ports[i]), i);
    }
    const std::vector<uint32_t> tiers = TiersOfNodes(fabric);
    const rdma::EcmpRoutes& routes = fabric.GetRoutes();
    std::vector<reports::LinkSetLoad> sets;
    for (uint32_t node = 0; node < fabric.GetNNodes(); ++node)
    {
        const ns3::RdmaSwitchBase* device = fabric.GetSwitch(node);
        const std::vector<bool> chosen = device ? ChosenFrom(fabric, node) : std::vector<bool>();
        for (uint32_t group = 0; group < chosen.size(); ++group)
        {
            const auto members = routes.Group(node, static_cast<uint16_t>(group));
            if (!chosen[group] || members.size < 2)
            {
                continue;
            }
            reports::LinkSetLoad set;
            set.tier = tiers[node];
            set.node = node;
            set.links = members.size;
            std::vector<double> loads;
            for (const uint16_t member : members)
            {
                const auto port = device->GetPort(member);
                const uint32_t index = indices.at(ns3::PeekPointer(port));
                const uint64_t before =
                    index < base.txWireBytes.size() ? base.txWireBytes[index] : 0;
                const double bytes = static_cast<double>(port->GetTxWireBytes() - before);
                set.bytes += bytes;
                loads.push_back(bytes / port->GetMeanRate(base.time, now));
            }
            set.spread = reports::SpreadOf(loads);
            sets.push_back(set);
        }
    }
    return sets;
}

} // namespace

std::vector<reports::LinkNotes::Load>
LoadsOfLinks(const ns3::RdmaFabric& fabric, const FabricBaseline& base, int64_t now)
{
    const auto& ports = fabric.GetPorts();
    const std::vector<uint32_t> tiers = TiersOfNodes(fabric);
    std::vector<reports::LinkNotes::Load> loads;
    for (uint32_t i = 0; i < ports.size(); ++i)
    {
        const uint32_t end = fabric.GetEnd(i);
        const uint64_t before = i < base.txWireBytes.size() ? base.txWireBytes[i] : 0;
        loads.push_back({end,
                         tiers[fabric.GetNodeOfEnd(end)],
                         tiers[fabric.GetNodeOfEnd(end ^ 1)],
                         static_cast<double>(ports[i]->GetTxWireBytes() - before) /
                             ports[i]->GetMeanRate(base.time, now)});
    }
    return loads;
}

reports::BalanceStats
CollectBalance(const ns3::RdmaFabric& fabric,
               const FabricBaseline& base,
               int64_t now,
               const ns3::RdmaNicCounters& nics,
               const reports::FlowWays* ways)
{
    reports::BalanceStats balance;
    const bool tables = fabric.GetLinkLayer().HasCredits();
    const Ranks& ranks = Ranks::Get();
    if (!fabric.GetSwitches().empty())
    {
        const auto balancer = fabric.GetSwitches().front()->GetLoadBalancer();
        balance.balancer = balancer ? balancer->GetName() : reports::BalanceStats::TABLES;
    }
    for (uint32_t e = 0; e < fabric.GetNEndpoints(); ++e)
    {
        if (fabric.IsLocal(e) && fabric.GetNic(e) &&
            !fabric.GetNic(e)->GetPathSelectorName().empty())
        {
            balance.balancer = fabric.GetNic(e)->GetPathSelectorName();
            break;
        }
    }
    if (ranks.Several()) // this one may have no switch
    {
        const std::vector<std::string> all = ranks.Gather(balance.balancer);
        const auto known =
            std::find_if(all.begin(), all.end(), [](const auto& name) { return !name.empty(); });
        balance.balancer = known == all.end() ? "" : *known;
    }
    balance.usual = balance.balancer.empty() ||
                    balance.balancer == (tables ? reports::BalanceStats::TABLES : "ecmp");
    balance.outOfOrder = nics.outOfOrderReceived - base.nics.outOfOrderReceived;
    balance.notKept = nics.outOfOrderDropped - base.nics.outOfOrderDropped;
    balance.pathChanges = nics.pathChanges - base.nics.pathChanges;
    balance.largestReorder = nics.largestReorder;
    balance.largestHeldBytes = nics.largestHeldBytes;
    if (ways && balance.usual)
    {
        balance.hashCollisions = ways->CountCollisions(EndsOfSets(fabric));
    }
    std::vector<reports::LinkSetLoad> sets = LoadsOfSets(fabric, base, now);
    if (ranks.Several())
    {
        std::string mine(sets.size() * sizeof(reports::LinkSetLoad), '\0');
        if (!sets.empty())
        {
            std::memcpy(mine.data(), sets.data(), mine.size());
        }
        sets.clear();
        for (const std::string& theirs : ranks.Gather(mine))
        {
            for (std::size_t at = 0; at < theirs.size(); at += sizeof(reports::LinkSetLoad))
            {
                reports::LinkSetLoad set;
                std::memcpy(&set, theirs.data() + at, sizeof(set));
                sets.push_back(set);
            }
        }
    }
    std::vector<std::string> names;
    for (uint32_t node = 0; node < fabric.GetNNodes(); ++node)
    {
        names.push_back(fabric.GetNodeName(node));
    }
    balance.tiers = reports::TiersOf(std::move(sets), names);
    return balance;
}

} // namespace dltrain
