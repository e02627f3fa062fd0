/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "collectives/aggregation/aggregators.h"

#include <algorithm>
#include <deque>
#include <limits>
#include <stdexcept>
#include <unordered_map>

namespace coll
{

namespace
{

using topo::NodeId;

constexpr uint32_t kFar = std::numeric_limits<uint32_t>::max();
/// Roots that are looked at in larger networks, evenly spaced; assumed: each costs a walk over all
/// links.
constexpr std::size_t kMostRoots = 2000;
/// Equally good roots that are tried for a NIC, evenly spaced; assumed, for the same reason.
constexpr std::size_t kMostTried = 64;

/// Hops from a switch to every other over switches.
std::vector<uint32_t>
HopsFrom(const topo::Topology& topology, NodeId root)
{
    std::vector<uint32_t> hops(topology.Nodes().size(), kFar);
    std::deque<NodeId> queue{root};
    hops[root] = 0;
    while (!queue.empty())
    {
        const NodeId at = queue.front();
        queue.pop_front();
        const topo::Node& node = topology.Nodes()[at];
        for (topo::PortId port = 0; port < node.ports.size(); ++port)
        {
            const NodeId peer = topology.Peer(at, port);
            if (hops[peer] == kFar && topology.Nodes()[peer].kind == topo::NodeKind::kSwitch)
            {
                hops[peer] = hops[at] + 1;
                queue.push_back(peer);
            }
        }
    }
    return hops;
}

/// Switches that are best for all of some.
class Roots
{
  public:
    void Offer(NodeId root, const std::vector<uint32_t>& hops, const std::vector<NodeId>& leaves)
    {
        uint32_t most = 0;
        uint64_t sum = 0;
        for (const NodeId leaf : leaves)
        {
            most = std::max(most, hops[leaf]);
            sum += hops[leaf];
        }
        if (most == kFar || most > m_most || (most == m_most && sum > m_sum))
        {
            return;
        }
        if (most < m_most || sum < m_sum)
        {
            m_roots.clear();
        }
        m_most = most;
        m_sum = sum;
        m_roots.push_back(root);
    }

    const std::vector<NodeId>& All() const
    {
        return m_roots;
    }

  private:
    uint32_t m_most = kFar - 1;
    uint64_t m_sum = std::numeric_limits<uint64_t>::max();
    std::vector<NodeId> m_roots;
};

/// A switch on the way from leaves to a root.
struct Stop
{
    NodeId at;
    topo::PortId way; ///< on towards the root, of all but that
};

/// The switches between leaves and a root, the farthest first. Among several shortest paths it
/// takes the one whose link the fewest trees use so far.
std::vector<Stop>
StopsOf(const topo::Topology& topology,
        const std::vector<NodeId>& leaves,
        const std::vector<uint32_t>& hops,
        const std::vector<uint32_t>& trees)
{
    std::vector<std::vector<NodeId>> byHops;
    std::vector<bool> known(hops.size(), false);
    const auto add = [&](NodeId node) {
        if (!known[node])
        {
            known[node] = true;
            byHops.resize(std::max<std::size_t>(byHops.size(), hops[node] + 1));
            byHops[hops[node]].push_back(node);
        }
    };
    for (const NodeId leaf : leaves)
    {
        add(leaf);
    }
    std::vector<Stop> stops;
    for (std::size_t distance = byHops.size(); distance-- > 0;)
    {
        for (std::size_t i = 0; i < byHops[distance].size(); ++i)
        {
            const NodeId at = byHops[distance][i];
            Stop stop{at, 0};
            uint32_t fewest = kFar;
            const topo::Node& node = topology.Nodes()[at];
            for (topo::PortId port = 0; distance > 0 && port < node.ports.size(); ++port)
            {
                const NodeId peer = topology.Peer(at, port);
                if (peer < hops.size() && hops[peer] == distance - 1 && // units are new
                    trees[node.ports[port]] < fewest)
                {
                    fewest = trees[node.ports[port]];
                    stop.way = port;
                }
            }
            stops.push_back(stop);
            if (distance > 0)
            {
                add(topology.Peer(at, stop.way));
            }
        }
    }
    return stops;
}

/// A child of a switch in a tree: a server, or a station.
struct Item
{
    bool isServer;
    uint32_t number;    ///< number of the server or station
    rdma::BitRate rate; ///< rate of the link it comes by
};

} // namespace

Aggregators::Aggregators(topo::Topology* topology,
                         const std::vector<uint32_t>& hostOfServer,
                         uint32_t nics,
                         rdma::Duration delay)
{
    const auto servers = static_cast<uint32_t>(hostOfServer.size());
    // Leaves, of each NIC.
    std::vector<std::vector<NodeId>> leafOf(nics);
    std::vector<std::vector<NodeId>> leaves(nics);
    for (uint32_t nic = 0; nic < nics; ++nic)
    {
        for (const uint32_t host : hostOfServer)
        {
            leafOf[nic].push_back(
                topology->Peer(topology->Hosts()[host], static_cast<topo::PortId>(nic)));
        }
        leaves[nic] = leafOf[nic];
        std::sort(leaves[nic].begin(), leaves[nic].end());
        leaves[nic].erase(std::unique(leaves[nic].begin(), leaves[nic].end()), leaves[nic].end());
    }
    if (servers < 2)
    {
        return;
    }
    // Those that the first server's NICs reach: what joins all servers is one of them.
    std::vector<bool> reached(topology->Nodes().size(), false);
    for (uint32_t nic = 0; nic < nics; ++nic)
    {
        if (!reached[leafOf[nic][0]])
        {
            const std::vector<uint32_t> hops = HopsFrom(*topology, leafOf[nic][0]);
            for (NodeId node = 0; node < hops.size(); ++node)
            {
                reached[node] = reached[node] || hops[node] != kFar;
            }
        }
    }
    std::vector<NodeId> switches;
    for (NodeId node = 0; node < topology->Nodes().size(); ++node)
    {
        if (reached[node] && topology->Nodes()[node].kind == topo::NodeKind::kSwitch)
        {
            switches.push_back(node);
        }
    }
    std::vector<Roots> roots(nics);
    const std::size_t stride = (switches.size() + kMostRoots - 1) / kMostRoots;
    for (std::size_t i = 0; i < switches.size(); i += std::max<std::size_t>(1, stride))
    {
        const std::vector<uint32_t> hops = HopsFrom(*topology, switches[i]);
        for (uint32_t nic = 0; nic < nics; ++nic)
        {
            roots[nic].Offer(switches[i], hops, leaves[nic]);
        }
    }

    std::unordered_map<NodeId, uint32_t> unitAt;
    std::vector<uint32_t> trees(topology->Links().size(), 0); // by link of the network
    // The unit of a switch gets one more port. \return which
    const auto addPort = [&](uint32_t unit, rdma::BitRate rate) {
        const NodeId host = topology->Hosts()[m_units[unit].host];
        topology->Connect(host, m_units[unit].at, rate, delay);
        return static_cast<uint32_t>(topology->Nodes()[host].ports.size() - 1);
    };
    for (uint32_t nic = 0; nic < nics; ++nic)
    {
        const std::vector<NodeId>& best = roots[nic].All();
        if (best.empty())
        {
            m_trees.clear(); // some servers do not reach others, which is an error elsewhere
            m_ports.clear();
            return;
        }
        // The root whose tree meets least of the trees of other NICs.
        std::vector<Stop> stops;
        std::pair<uint32_t, uint64_t> least{kFar, 0};
        const std::size_t step = std::max<std::size_t>(1, best.size() / kMostTried);
        for (std::size_t i = 0; i < best.size(); i += step)
        {
            const std::vector<Stop> tried =
                StopsOf(*topology, leaves[nic], HopsFrom(*topology, best[i]), trees);
            std::pair<uint32_t, uint64_t> met{0, 0}; // on a link, on all
            for (std::size_t s = 0; s + 1 < tried.size(); ++s)
            {
                const uint32_t on = trees[topology->Nodes()[tried[s].at].ports[tried[s].way]];
                met = {std::max(met.first, on), met.second + on};
            }
            if (met < least)
            {
                least = met;
                stops = tried;
            }
        }
        std::vector<std::vector<Item>> below(switches.back() + 1);
        for (uint32_t server = 0; server < servers; ++server)
        {
            const NodeId host = topology->Hosts()[hostOfServer[server]];
            const topo::Link& link = topology->Links()[topology->Nodes()[host].ports[nic]];
            below[leafOf[nic][server]].push_back({true, server, link.rate});
        }
        AggregationTree tree;
        tree.stationOf.assign(servers, AggregationTree::kNone);
        Ports ports;
        ports.toServer.assign(servers, 0);
        for (const Stop& stop : stops)
        {
            const NodeId at = stop.at;
            std::vector<Item>& items = below[at];
            Item result = items.front();
            if (items.size() > 1)
            {
                const auto station = static_cast<uint32_t>(tree.nodes.size());
                const auto [unit, isNew] =
                    unitAt.try_emplace(at, static_cast<uint32_t>(m_units.size()));
                if (isNew)
                {
                    m_units.push_back({at, static_cast<uint32_t>(topology->Hosts().size())});
                    std::string name = "sharp-" + topology->Nodes()[at].name;
                    while (topology->FindNode(name)) // a user's
                    {
                        name = "sharp-" + name;
                    }
                    topology->AddUnit(std::move(name));
                }
                tree.nodes.push_back(unit->second);
                tree.parent.push_back(AggregationTree::kNone);
                ports.up.push_back(0);
                ports.down.push_back(0);
                for (const Item& item : items)
                {
                    const uint32_t port = addPort(unit->second, item.rate);
                    if (item.isServer)
                    {
                        tree.stationOf[item.number] = station;
                        ports.toServer[item.number] = port;
                    }
                    else
                    {
                        tree.parent[item.number] = station;
                        ports.down[item.number] = port;
                    }
                }
                result = {false, station, {}};
            }
            if (at == stops.back().at)
            {
                break; // the root
            }
            const topo::LinkId link = topology->Nodes()[at].ports[stop.way];
            ++trees[link];
            result.rate = topology->Links()[link].rate;
            if (items.size() > 1)
            {
                ports.up[result.number] = addPort(tree.nodes[result.number], result.rate);
            }
            below[topology->Peer(at, stop.way)].push_back(result);
        }
        ports.stationOf.assign(m_units.size(), AggregationTree::kNone);
        for (uint32_t station = 0; station < tree.nodes.size(); ++station)
        {
            ports.stationOf[tree.nodes[station]] = station;
        }
        m_trees.push_back(std::move(tree));
        m_ports.push_back(std::move(ports));
    }
}

uint32_t
Aggregators::StationOf(uint32_t tree, uint32_t unit) const
{
    const std::vector<uint32_t>& stations = m_ports[tree].stationOf;
    if (unit >= stations.size() || stations[unit] == AggregationTree::kNone)
    {
        throw std::logic_error("Aggregators: a switch that is not in the tree");
    }
    return stations[unit];
}

uint32_t
Aggregators::PortTowards(uint32_t tree, uint32_t station, uint32_t other) const
{
    const std::vector<uint32_t>& parent = m_trees[tree].parent;
    for (uint32_t below = other; below != AggregationTree::kNone; below = parent[below])
    {
        if (parent[below] == station)
        {
            return m_ports[tree].down[below];
        }
    }
    return m_ports[tree].up[station];
}

uint32_t
Aggregators::PortToServer(uint32_t tree, uint32_t unit, uint32_t server) const
{
    const uint32_t station = StationOf(tree, unit);
    const uint32_t its = m_trees[tree].stationOf[server];
    return its == station ? m_ports[tree].toServer[server] : PortTowards(tree, station, its);
}

uint32_t
Aggregators::PortToUnit(uint32_t tree, uint32_t unit, uint32_t other) const
{
    return PortTowards(tree, StationOf(tree, unit), StationOf(tree, other));
}

uint32_t
Aggregators::PortTo(uint32_t tree, uint32_t unit, uint32_t host) const
{
    const auto servers = static_cast<uint32_t>(m_trees[tree].stationOf.size());
    return host < servers ? PortToServer(tree, unit, host) : PortToUnit(tree, unit, host - servers);
}

} // namespace coll
