/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "scenarios/placement/placement.h"

#include "scenarios/placement/switch-groups.h"
#include "scenarios/traffic/random.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <set>
#include <stdexcept>
#include <tuple>
#include <utility>

namespace scenario
{

namespace
{

const std::vector<std::pair<std::string, PlacementPolicy>>&
Names()
{
    static const std::vector<std::pair<std::string, PlacementPolicy>> names = {
        {"linear", PlacementPolicy::kLinear},
        {"packed", PlacementPolicy::kPacked},
        {"spread", PlacementPolicy::kSpread},
        {"random", PlacementPolicy::kRandom},
        {"rail", PlacementPolicy::kRail},
        {"fragmented", PlacementPolicy::kFragmented}};
    return names;
}

/// Hosts that belong together, in the order of the network.
using Group = std::vector<uint32_t>;

/// Hosts by what `keyOf` says of them, in the order in which the keys come first.
template <class F>
std::vector<Group>
GroupsBy(const std::vector<uint32_t>& hosts, const F& keyOf)
{
    std::vector<Group> groups;
    std::map<decltype(keyOf(0)), std::size_t> groupOf;
    for (const uint32_t host : hosts)
    {
        const auto [found, isNew] = groupOf.emplace(keyOf(host), groups.size());
        if (isNew)
        {
            groups.emplace_back();
        }
        groups[found->second].push_back(host);
    }
    return groups;
}

class ServerPlacer
{
  public:
    ServerPlacer(const topo::Topology& topology, std::vector<uint32_t> hosts)
        : m_topology(topology),
          m_hosts(std::move(hosts))
    {
    }

    std::vector<uint32_t> Packed() const
    {
        std::vector<uint32_t> order;
        for (const Group& pod : Pods(m_hosts))
        {
            Append(&order, Edges(pod));
        }
        return order;
    }

    std::vector<uint32_t> Spread() const
    {
        // The first edge of each pod, then the second of each: neighbours in turn are far away.
        std::vector<std::vector<Group>> pods;
        std::size_t most = 0;
        for (const Group& pod : Pods(m_hosts))
        {
            pods.push_back(Edges(pod));
            most = std::max(most, pods.back().size());
        }
        std::vector<Group> edges;
        for (std::size_t i = 0; i < most; ++i)
        {
            for (const std::vector<Group>& pod : pods)
            {
                if (i < pod.size())
                {
                    edges.push_back(pod[i]);
                }
            }
        }
        std::vector<uint32_t> order;
        for (std::size_t i = 0; order.size() < m_hosts.size(); ++i)
        {
            for (const Group& edge : edges)
            {
                if (i < edge.size())
                {
                    order.push_back(edge[i]);
                }
            }
        }
        return order;
    }

    std::vector<uint32_t> Rail(uint32_t servers) const
    {
        for (const std::vector<Group>& groups : {Rails(m_hosts), Pods(m_hosts)})
        {
            const Group* best = nullptr;
            for (const Group& group : groups)
            {
                if (group.size() >= servers && (!best || group.size() < best->size()))
                {
                    best = &group;
                }
            }
            if (best)
            {
                return LargestFirst(*best);
            }
        }
        std::vector<Group> pods = Pods(m_hosts);
        SortBySize(&pods);
        std::vector<uint32_t> order;
        for (const Group& pod : pods)
        {
            const std::vector<uint32_t> hosts = LargestFirst(pod);
            order.insert(order.end(), hosts.begin(), hosts.end());
        }
        return order;
    }

  private:
    static void SortBySize(std::vector<Group>* groups)
    {
        std::stable_sort(groups->begin(), groups->end(), [](const Group& a, const Group& b) {
            return a.size() > b.size();
        });
    }

    static void Append(std::vector<uint32_t>* order, const std::vector<Group>& groups)
    {
        for (const Group& group : groups)
        {
            order->insert(order->end(), group.begin(), group.end());
        }
    }

    std::vector<uint32_t> LargestFirst(const Group& hosts) const
    {
        std::vector<Group> groups = Rails(hosts);
        SortBySize(&groups);
        std::vector<uint32_t> order;
        Append(&order, groups);
        return order;
    }

    /// A switch, or a host without one: hosts and switches have different nodes.
    uint32_t EdgeOf(uint32_t host) const
    {
        const ServerPlace place = PlaceOfHost(m_topology, host);
        return place.rack == ServerPlace::NONE ? m_topology.Hosts()[host] : place.rack;
    }

    std::vector<Group> Edges(const std::vector<uint32_t>& hosts) const
    {
        return GroupsBy(hosts, [this](uint32_t host) { return EdgeOf(host); });
    }

    std::vector<Group> Pods(const std::vector<uint32_t>& hosts) const
    {
        return GroupsBy(hosts,
                        [this](uint32_t host) { return PlaceOfHost(m_topology, host).part; });
    }

    std::vector<Group> Rails(const std::vector<uint32_t>& hosts) const
    {
        return GroupsBy(hosts, [this](uint32_t host) {
            const topo::NodeId node = m_topology.Hosts()[host];
            std::set<topo::NodeId> rails;
            for (std::size_t port = 0; port < m_topology.Nodes()[node].ports.size(); ++port)
            {
                const topo::NodeId peer = m_topology.Peer(node, static_cast<topo::PortId>(port));
                // Without a switch it is alone with itself.
                rails.insert(m_topology.Nodes()[peer].kind == topo::NodeKind::kSwitch ? peer
                                                                                      : node);
            }
            return rails;
        });
    }

    const topo::Topology& m_topology;
    std::vector<uint32_t> m_hosts; ///< free hosts, in order
};

bool
IsTaken(const PlacementRequest& request, uint32_t host)
{
    return host < request.taken.size() && request.taken[host];
}

/// In the order of the network.
std::vector<uint32_t>
HostsToChooseFrom(const PlacementRequest& request)
{
    std::vector<uint32_t> hosts;
    for (uint32_t host = 0; host < request.hosts; ++host)
    {
        if (!IsTaken(request, host))
        {
            hosts.push_back(host);
        }
    }
    if (request.policy == PlacementPolicy::kFragmented)
    {
        // Others have the first of a shuffle.
        const auto others = static_cast<std::size_t>(
            std::llround(request.occupied * static_cast<double>(hosts.size())));
        Random random(request.seed, kPlacementStream);
        random.Shuffle(&hosts);
        hosts.erase(hosts.begin(),
                    hosts.begin() + static_cast<std::ptrdiff_t>(std::min(others, hosts.size())));
        std::sort(hosts.begin(), hosts.end());
    }
    return hosts;
}

} // namespace

PlacementPolicy
ParsePlacement(const std::string& name)
{
    for (const auto& [known, policy] : Names())
    {
        if (known == name)
        {
            return policy;
        }
    }
    throw std::logic_error("no placement " + name);
}

std::string
PlacementName(PlacementPolicy policy)
{
    for (const auto& [name, known] : Names())
    {
        if (known == policy)
        {
            return name;
        }
    }
    return {};
}

bool
ChoosesAmongAll(PlacementPolicy policy)
{
    return policy != PlacementPolicy::kLinear && policy != PlacementPolicy::kRandom;
}

uint32_t
FreeHosts(const PlacementRequest& request)
{
    return static_cast<uint32_t>(HostsToChooseFrom(request).size());
}

std::vector<uint32_t>
PlaceServers(const PlacementRequest& request, const topo::Topology& topology)
{
    std::vector<uint32_t> order = HostsToChooseFrom(request);
    switch (request.policy)
    {
    case PlacementPolicy::kLinear:
        break;
    case PlacementPolicy::kRandom: {
        Random random(request.seed, kPlacementStream);
        random.Shuffle(&order);
        break;
    }
    case PlacementPolicy::kPacked:
    case PlacementPolicy::kFragmented:
        order = ServerPlacer(topology, std::move(order)).Packed();
        break;
    case PlacementPolicy::kSpread:
        order = ServerPlacer(topology, std::move(order)).Spread();
        break;
    case PlacementPolicy::kRail:
        order = ServerPlacer(topology, std::move(order)).Rail(request.servers);
        break;
    }
    order.resize(std::min<std::size_t>(request.servers, order.size()));
    return order;
}

} // namespace scenario
