/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "topologies/rank-partition.h"

#include <algorithm>
#include <limits>
#include <map>
#include <stdexcept>
#include <string>

namespace topo
{

namespace
{

constexpr uint32_t kNone = std::numeric_limits<uint32_t>::max();

/// The first switch behind each host, or kNone.
std::vector<uint32_t>
EdgeSwitches(const Topology& topology)
{
    std::vector<uint32_t> edges;
    for (const NodeId host : topology.Hosts())
    {
        uint32_t edge = kNone;
        const size_t ports = topology.Nodes()[host].ports.size();
        for (size_t p = 0; p < ports && edge == kNone; ++p)
        {
            const NodeId peer = topology.Peer(host, static_cast<PortId>(p));
            edge = topology.Nodes()[peer].kind == NodeKind::kSwitch ? peer : kNone;
        }
        edges.push_back(edge);
    }
    return edges;
}

/// Hosts, and the edge switches that are dealt out with them.
void
DealHosts(const Topology& topology, uint32_t ranks, std::vector<uint32_t>* rankOf)
{
    const auto& hosts = topology.Hosts();
    const uint64_t n = hosts.size();
    const std::vector<uint32_t> edges = EdgeSwitches(topology);
    // Groups of hosts behind one switch, in the order of their first host.
    std::vector<std::vector<NodeId>> groups;
    std::map<uint32_t, size_t> groupOf;
    for (size_t i = 0; i < n; ++i)
    {
        const auto [known, isNew] = groupOf.emplace(edges[i], groups.size());
        if (isNew || edges[i] == kNone)
        {
            known->second = groups.size();
            groups.emplace_back();
        }
        groups[known->second].push_back(hosts[i]);
    }
    std::vector<uint32_t> rankOfGroup;
    std::vector<bool> has(ranks);
    uint64_t before = 0;
    for (const auto& group : groups)
    {
        // By the middle of the group.
        const uint64_t middle = 2 * before + group.size();
        rankOfGroup.push_back(static_cast<uint32_t>(middle * ranks / (2 * n)));
        has[rankOfGroup.back()] = true;
        before += group.size();
    }
    if (std::find(has.begin(), has.end(), false) != has.end())
    {
        for (size_t i = 0; i < n; ++i)
        {
            (*rankOf)[hosts[i]] = static_cast<uint32_t>(i * ranks / n);
            if (edges[i] != kNone && (*rankOf)[edges[i]] == kNone)
            {
                (*rankOf)[edges[i]] = (*rankOf)[hosts[i]];
            }
        }
        return;
    }
    for (size_t g = 0; g < groups.size(); ++g)
    {
        for (const NodeId host : groups[g])
        {
            (*rankOf)[host] = rankOfGroup[g];
        }
    }
    for (size_t i = 0; i < n; ++i)
    {
        if (edges[i] != kNone && (*rankOf)[edges[i]] == kNone)
        {
            (*rankOf)[edges[i]] = (*rankOf)[hosts[i]];
        }
    }
}

} // namespace

std::vector<uint32_t>
PartitionAmongRanks(const Topology& topology, uint32_t ranks)
{
    const uint32_t nodes = static_cast<uint32_t>(topology.Nodes().size());
    if (ranks == 0 || ranks > topology.Hosts().size())
    {
        throw std::invalid_argument(std::to_string(ranks) + " ranks for " +
                                    std::to_string(topology.Hosts().size()) + " hosts");
    }
    std::vector<uint32_t> rankOf(nodes, kNone);
    DealHosts(topology, ranks, &rankOf);

    // Outwards from the edge, a tier at a time: what a switch sees of the tier below decides.
    std::vector<uint64_t> ports(ranks);
    for (uint32_t node = 0; node < nodes; ++node)
    {
        if (rankOf[node] != kNone)
        {
            ports[rankOf[node]] += topology.Nodes()[node].ports.size();
        }
    }
    for (;;)
    {
        std::vector<uint32_t> tier;
        for (uint32_t node = 0; node < nodes; ++node)
        {
            bool seesOne = false;
            const size_t degree = topology.Nodes()[node].ports.size();
            for (size_t p = 0; p < degree && rankOf[node] == kNone && !seesOne; ++p)
            {
                seesOne = rankOf[topology.Peer(node, static_cast<PortId>(p))] != kNone;
            }
            if (seesOne)
            {
                tier.push_back(node);
            }
        }
        if (tier.empty())
        {
            break;
        }
        std::vector<uint32_t> chosen;
        for (const uint32_t node : tier)
        {
            std::vector<uint32_t> below(ranks);
            const size_t degree = topology.Nodes()[node].ports.size();
            for (size_t p = 0; p < degree; ++p)
            {
                const uint32_t rank = rankOf[topology.Peer(node, static_cast<PortId>(p))];
                if (rank != kNone)
                {
                    ++below[rank];
                }
            }
            uint32_t best = 0;
            for (uint32_t rank = 1; rank < ranks; ++rank)
            {
                if (below[rank] > below[best] ||
                    (below[rank] == below[best] && ports[rank] < ports[best]))
                {
                    best = rank;
                }
            }
            ports[best] += degree;
            chosen.push_back(best);
        }
        for (size_t i = 0; i < tier.size(); ++i)
        {
            rankOf[tier[i]] = chosen[i];
        }
    }
    // Switches that no host can reach.
    std::replace(rankOf.begin(), rankOf.end(), kNone, 0U);
    return rankOf;
}

std::vector<uint32_t>
PartitionSwitchesAmongRanks(const Topology& topology, uint32_t ranks)
{
    const auto nodes = static_cast<uint32_t>(topology.Nodes().size());
    if (ranks == 0 || ranks - 1 > topology.SwitchCount())
    {
        throw std::invalid_argument(std::to_string(ranks) + " ranks for hosts and " +
                                    std::to_string(topology.SwitchCount()) + " switches");
    }
    std::vector<uint32_t> rankOf(nodes, 0);
    const uint32_t others = ranks - 1;
    if (others == 0)
    {
        return rankOf;
    }
    std::vector<uint32_t> switches;
    for (uint32_t node = 0; node < nodes; ++node)
    {
        if (topology.Nodes()[node].kind == NodeKind::kSwitch)
        {
            switches.push_back(node);
        }
    }
    std::vector<bool> has(ranks);
    if (others <= topology.Hosts().size())
    {
        const std::vector<uint32_t> near = PartitionAmongRanks(topology, others);
        for (const uint32_t node : switches)
        {
            rankOf[node] = near[node] + 1;
            has[rankOf[node]] = true;
        }
    }
    if (std::find(has.begin() + 1, has.end(), false) != has.end())
    {
        for (size_t i = 0; i < switches.size(); ++i)
        {
            rankOf[switches[i]] = static_cast<uint32_t>(i * others / switches.size()) + 1;
        }
    }
    return rankOf;
}

} // namespace topo
