/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * All shortest paths (ECMP) of a graph in which hosts do not forward.
 *
 *   endpoint e = (host, port): a network interface. A frame for e enters the host through that very
 *   port, so the last hop is one port, and every other switch uses all its ports that lead one hop
 *   nearer to e's *attachment*, the switch on the other side of e's link.
 *
 * Everything behind one switch shares that switch's shortest paths, so one breadth-first search a
 * switch with endpoints is enough: O(attachments x links) time. Distances in hops; rates do not
 * count.
 *
 * What the data plane reads: at a switch, GroupOfEndpoint(switch)[endpoint] is a group, and
 * Group(switch, group) its ports, ascending. Equal port sets of a switch are one group, so a k = 16
 * fat-tree needs at most 16 groups a switch. Memory is 2 B per switch and endpoint, plus 2 B per
 * pair of attachments for Hops().
 *
 * Special cases: links in parallel between two switches are separate ports of one group; a host
 * wired straight to a host reaches that one endpoint in one hop, and nothing else through that
 * port; a port without a link, a link from a node to itself and a separate part of the graph are
 * unreachable: kNoGroup.
 *
 * Errors: a node, host or port number that does not exist, a "host" that is a switch, two links on
 * one port are mistakes of the caller, and throw std::invalid_argument. More than 65,534 different
 * groups at one switch throw std::length_error.
 */
#ifndef RDMA_CORE_ECMP_ROUTES_H
#define RDMA_CORE_ECMP_ROUTES_H

#include <algorithm>
#include <cstdint>
#include <limits>
#include <stdexcept>
#include <string>
#include <unordered_map>
#include <vector>

namespace rdma
{

/// A cable: port `portA` of node `a` to port `portB` of node `b`. Works in both directions.
struct RouteLink
{
    uint32_t a = 0;
    uint32_t b = 0;
    uint16_t portA = 0;
    uint16_t portB = 0;
};

/// A network interface: port `port` of the host `host` (a node). Endpoint i is entry i of the list.
struct RouteEndpoint
{
    uint32_t host = 0;
    uint16_t port = 0;
};

/// Immutable once computed; moved and copied as a value.
/// A route of a user's own: at a switch these ports lead to an endpoint, whatever way is shortest.
struct StaticRoute
{
    uint32_t node = 0;
    uint32_t endpoint = 0;
    std::vector<uint16_t> ports; ///< none: no way from there
};

class EcmpRoutes
{
  public:
    /// In GroupOfEndpoint: this endpoint cannot be reached from here.
    static constexpr uint16_t kNoGroup = 0xFFFF;

    /// A slice of ports in ascending order, valid as long as the EcmpRoutes.
    struct Ports
    {
        const uint16_t* data = nullptr;
        uint32_t size = 0;

        const uint16_t* begin() const
        {
            return data;
        }

        const uint16_t* end() const
        {
            return data + size;
        }

        bool empty() const
        {
            return size == 0;
        }

        uint16_t operator[](uint32_t i) const
        {
            return data[i];
        }
    };

    /// `isHost` has one entry a node; nodes are 0..isHost.size()-1.
    static EcmpRoutes Compute(const std::vector<bool>& isHost,
                              const std::vector<RouteLink>& links,
                              const std::vector<RouteEndpoint>& endpoints);

    /// Ports of `switchNode` on a shortest path to `endpoint`; empty when unreachable or for a
    /// host.
    Ports NextHops(uint32_t switchNode, uint32_t endpoint) const
    {
        const auto& groups = m_nodes[switchNode].groupOfEndpoint;
        if (groups.empty() || groups[endpoint] == kNoGroup)
        {
            return {};
        }
        return Group(switchNode, groups[endpoint]);
    }

    /// Group of every endpoint at this switch (kNoGroup: unreachable); an empty vector for a host.
    const std::vector<uint16_t>& GroupOfEndpoint(uint32_t switchNode) const
    {
        return m_nodes[switchNode].groupOfEndpoint;
    }

    /// How many groups this switch has; group ids are 0..GroupCount()-1.
    uint32_t GroupCount(uint32_t switchNode) const
    {
        const auto& begin = m_nodes[switchNode].groupBegin;
        return begin.empty() ? 0 : static_cast<uint32_t>(begin.size() - 1);
    }

    Ports Group(uint32_t switchNode, uint16_t group) const
    {
        const PerNode& node = m_nodes[switchNode];
        const uint32_t begin = node.groupBegin[group];
        return {node.groupPorts.data() + begin, node.groupBegin[group + 1u] - begin};
    }

    /// Endpoints that stand in for each other: a switch that has no way to one takes its ways to
    /// another. \param next by endpoint: the next one of its ring, itself if it is alone
    void StandIn(const std::vector<uint32_t>& next);

    /// Routes that are others than the shortest ones. Hops() stays that of the shortest.
    void Apply(const std::vector<StaticRoute>& routes);

    /// Links crossed on a shortest path that leaves through the first endpoint and enters through
    /// the second; 0 if they are the same endpoint or there is no path.
    uint32_t Hops(uint32_t fromEndpoint, uint32_t toEndpoint) const
    {
        if (fromEndpoint == toEndpoint)
        {
            return 0;
        }
        if (m_directPeer[fromEndpoint] == toEndpoint)
        {
            return 1;
        }
        const uint32_t from = m_attachmentOf[fromEndpoint];
        const uint32_t to = m_attachmentOf[toEndpoint];
        if (from == kNone || to == kNone)
        {
            return 0;
        }
        const uint16_t between = m_distance[static_cast<size_t>(to) * m_attachments + from];
        return between == kUnreached ? 0 : between + 2u;
    }

    /// Bytes held, for reports and tests.
    size_t MemoryBytes() const;

  private:
    static constexpr uint32_t kNone = std::numeric_limits<uint32_t>::max();
    static constexpr uint16_t kUnreached = 0xFFFF;

    struct PerNode
    {
        std::vector<uint16_t> groupOfEndpoint; ///< empty for hosts
        std::vector<uint32_t> groupBegin; ///< first index into groupPorts per group, and the end
        std::vector<uint16_t> groupPorts;
    };

    /// The groups of one switch while they are collected.
    class GroupBuilder
    {
      public:
        uint16_t Find(PerNode& node, const std::vector<uint16_t>& ports);

      private:
        std::unordered_multimap<uint64_t, uint16_t> m_byHash;
    };

    std::vector<PerNode> m_nodes;
    std::vector<uint32_t> m_attachmentOf; ///< per endpoint: index of its attachment, or kNone
    std::vector<uint32_t>
        m_directPeer; ///< per endpoint: the endpoint it is wired to without a switch, or kNone
    std::vector<uint16_t> m_distance; ///< switch-to-switch links, [to x attachments + from]
    uint32_t m_attachments = 0;
};

inline uint16_t
EcmpRoutes::GroupBuilder::Find(PerNode& node, const std::vector<uint16_t>& ports)
{
    uint64_t hash = 1469598103934665603ULL; // FNV-1a
    for (const uint16_t port : ports)
    {
        hash = (hash ^ port) * 1099511628211ULL;
    }
    const auto [first, last] = m_byHash.equal_range(hash);
    for (auto it = first; it != last; ++it)
    {
        const uint32_t begin = node.groupBegin[it->second];
        const uint32_t end = node.groupBegin[it->second + 1u];
        if (end - begin == ports.size() &&
            std::equal(ports.begin(), ports.end(), node.groupPorts.begin() + begin))
        {
            return it->second;
        }
    }
    const size_t id = node.groupBegin.size() - 1;
    if (id >= kNoGroup)
    {
        throw std::length_error(
            "EcmpRoutes: more than 65534 different next-hop groups at one switch");
    }
    node.groupPorts.insert(node.groupPorts.end(), ports.begin(), ports.end());
    node.groupBegin.push_back(static_cast<uint32_t>(node.groupPorts.size()));
    m_byHash.emplace(hash, static_cast<uint16_t>(id));
    return static_cast<uint16_t>(id);
}

inline void
EcmpRoutes::StandIn(const std::vector<uint32_t>& next)
{
    for (PerNode& node : m_nodes)
    {
        const std::vector<uint16_t> own = node.groupOfEndpoint;
        for (uint32_t e = 0; e < own.size(); ++e)
        {
            uint32_t other = e;
            while (own[other] == kNoGroup && next[other] != e)
            {
                other = next[other];
            }
            node.groupOfEndpoint[e] = own[other];
        }
    }
}

inline void
EcmpRoutes::Apply(const std::vector<StaticRoute>& routes)
{
    for (const StaticRoute& route : routes)
    {
        PerNode& node = m_nodes.at(route.node);
        uint16_t& group = node.groupOfEndpoint.at(route.endpoint);
        if (route.ports.empty())
        {
            group = kNoGroup;
            continue;
        }
        std::vector<uint16_t> ports = route.ports;
        std::sort(ports.begin(), ports.end());
        const uint32_t groups = GroupCount(route.node);
        uint32_t found = 0;
        const auto is = [&](uint32_t g) {
            const Ports has = Group(route.node, static_cast<uint16_t>(g));
            return std::equal(has.begin(), has.end(), ports.begin(), ports.end());
        };
        while (found < groups && !is(found))
        {
            ++found;
        }
        if (found >= kNoGroup)
        {
            throw std::length_error(
                "EcmpRoutes: more than 65534 different next-hop groups at one switch");
        }
        if (found == groups)
        {
            if (node.groupBegin.empty())
            {
                node.groupBegin.push_back(0);
            }
            node.groupPorts.insert(node.groupPorts.end(), ports.begin(), ports.end());
            node.groupBegin.push_back(static_cast<uint32_t>(node.groupPorts.size()));
        }
        group = static_cast<uint16_t>(found);
    }
}

inline EcmpRoutes
EcmpRoutes::Compute(const std::vector<bool>& isHost,
                    const std::vector<RouteLink>& links,
                    const std::vector<RouteEndpoint>& endpoints)
{
    struct Hop
    {
        uint16_t port;
        uint16_t peerPort;
        uint32_t peer;
    };

    const uint32_t nodes = static_cast<uint32_t>(isHost.size());

    // Adjacency in one array, each node's slice in ascending port order.
    std::vector<uint32_t> begin(nodes + 1u, 0);
    for (const RouteLink& link : links)
    {
        if (link.a >= nodes || link.b >= nodes)
        {
            throw std::invalid_argument("EcmpRoutes: a link names a node that does not exist");
        }
        ++begin[link.a + 1];
        ++begin[link.b + 1];
    }
    for (uint32_t n = 0; n < nodes; ++n)
    {
        begin[n + 1] += begin[n];
    }
    std::vector<Hop> hops(begin[nodes]);
    {
        std::vector<uint32_t> next(begin.begin(), begin.end() - 1);
        for (const RouteLink& link : links)
        {
            hops[next[link.a]++] = {link.portA, link.portB, link.b};
            hops[next[link.b]++] = {link.portB, link.portA, link.a};
        }
    }
    for (uint32_t n = 0; n < nodes; ++n)
    {
        const auto first = hops.begin() + begin[n];
        const auto last = hops.begin() + begin[n + 1];
        const auto byPort = [](const Hop& x, const Hop& y) { return x.port < y.port; };
        if (!std::is_sorted(first, last, byPort))
        {
            std::sort(first, last, byPort);
        }
        const auto samePort = [](const Hop& x, const Hop& y) { return x.port == y.port; };
        if (std::adjacent_find(first, last, samePort) != last)
        {
            throw std::invalid_argument("EcmpRoutes: two links on one port of node " +
                                        std::to_string(n));
        }
    }
    const auto hopOfPort = [&](uint32_t node, uint16_t port) -> const Hop* {
        const Hop* first = hops.data() + begin[node];
        const Hop* last = hops.data() + begin[node + 1];
        const Hop* it = std::lower_bound(first, last, port, [](const Hop& h, uint16_t p) {
            return h.port < p;
        });
        return it != last && it->port == port ? it : nullptr;
    };

    EcmpRoutes routes;
    routes.m_nodes.resize(nodes);
    routes.m_attachmentOf.assign(endpoints.size(), kNone);
    routes.m_directPeer.assign(endpoints.size(), kNone);

    // Where every endpoint is attached.
    std::vector<uint32_t> attachmentIndex(nodes, kNone);
    std::vector<uint32_t> attachments;                   // switch nodes
    std::vector<uint16_t> lastPort(endpoints.size(), 0); // at the attachment
    std::unordered_map<uint64_t, uint32_t> waiting;      // (host, port) wired to a host -> endpoint
    const auto key = [](uint32_t host, uint16_t port) {
        return (static_cast<uint64_t>(host) << 16) | port;
    };
    for (uint32_t e = 0; e < endpoints.size(); ++e)
    {
        const auto [host, port] = endpoints[e];
        if (host >= nodes || !isHost[host])
        {
            throw std::invalid_argument("EcmpRoutes: endpoint " + std::to_string(e) +
                                        " is not on a host");
        }
        const Hop* hop = hopOfPort(host, port);
        if (!hop || hop->peer == host)
        {
            continue;
        }
        if (isHost[hop->peer])
        {
            const auto other = waiting.find(key(hop->peer, hop->peerPort));
            if (other != waiting.end())
            {
                routes.m_directPeer[e] = other->second;
                routes.m_directPeer[other->second] = e;
            }
            waiting.emplace(key(host, port), e);
            continue;
        }
        if (attachmentIndex[hop->peer] == kNone)
        {
            attachmentIndex[hop->peer] = static_cast<uint32_t>(attachments.size());
            attachments.push_back(hop->peer);
        }
        routes.m_attachmentOf[e] = attachmentIndex[hop->peer];
        lastPort[e] = hop->peerPort;
    }
    const uint32_t nAttachments = static_cast<uint32_t>(attachments.size());
    routes.m_attachments = nAttachments;
    routes.m_distance.assign(static_cast<size_t>(nAttachments) * nAttachments, kUnreached);

    std::vector<GroupBuilder> builders(nodes);
    std::vector<std::vector<uint16_t>> groupOfAttachment(nodes);
    for (uint32_t n = 0; n < nodes; ++n)
    {
        if (!isHost[n])
        {
            routes.m_nodes[n].groupBegin.push_back(0);
            groupOfAttachment[n].assign(nAttachments, kNoGroup);
        }
    }

    // One search a switch with endpoints, outwards from it; hosts are not entered.
    std::vector<uint32_t> distance(nodes);
    std::vector<uint32_t> queue;
    std::vector<uint16_t> ports;
    queue.reserve(nodes);
    for (uint32_t t = 0; t < nAttachments; ++t)
    {
        std::fill(distance.begin(), distance.end(), kNone);
        queue.assign(1, attachments[t]);
        distance[attachments[t]] = 0;
        for (size_t i = 0; i < queue.size(); ++i)
        {
            const uint32_t node = queue[i];
            if (attachmentIndex[node] != kNone)
            {
                if (distance[node] >= kUnreached)
                {
                    throw std::length_error("EcmpRoutes: a shortest path of more than 65534 links");
                }
                routes.m_distance[static_cast<size_t>(t) * nAttachments + attachmentIndex[node]] =
                    static_cast<uint16_t>(distance[node]);
            }
            ports.clear();
            for (uint32_t h = begin[node]; h < begin[node + 1]; ++h)
            {
                const uint32_t peer = hops[h].peer;
                if (isHost[peer])
                {
                    continue;
                }
                if (distance[peer] == kNone)
                {
                    distance[peer] = distance[node] + 1;
                    queue.push_back(peer);
                }
                else if (distance[peer] + 1 == distance[node])
                {
                    // All nodes one hop nearer were numbered before this one left the queue.
                    ports.push_back(hops[h].port);
                }
            }
            if (i > 0)
            {
                groupOfAttachment[node][t] = builders[node].Find(routes.m_nodes[node], ports);
            }
        }
    }

    for (uint32_t n = 0; n < nodes; ++n)
    {
        if (isHost[n])
        {
            continue;
        }
        auto& groups = routes.m_nodes[n].groupOfEndpoint;
        groups.assign(endpoints.size(), kNoGroup);
        for (uint32_t e = 0; e < endpoints.size(); ++e)
        {
            const uint32_t t = routes.m_attachmentOf[e];
            if (t == kNone)
            {
                continue;
            }
            if (attachments[t] == n)
            {
                ports.assign(1, lastPort[e]);
                groups[e] = builders[n].Find(routes.m_nodes[n], ports);
            }
            else
            {
                groups[e] = groupOfAttachment[n][t];
            }
        }
        groupOfAttachment[n] = {};
    }
    return routes;
}

inline size_t
EcmpRoutes::MemoryBytes() const
{
    size_t bytes =
        m_nodes.capacity() * sizeof(PerNode) + m_attachmentOf.capacity() * sizeof(uint32_t) +
        m_directPeer.capacity() * sizeof(uint32_t) + m_distance.capacity() * sizeof(uint16_t);
    for (const PerNode& node : m_nodes)
    {
        bytes += node.groupOfEndpoint.capacity() * sizeof(uint16_t) +
                 node.groupBegin.capacity() * sizeof(uint32_t) +
                 node.groupPorts.capacity() * sizeof(uint16_t);
    }
    return bytes;
}

} // namespace rdma

#endif // RDMA_CORE_ECMP_ROUTES_H
