/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "topologies/reach.h"

#include <cstdint>

namespace topo
{

namespace
{

bool
Forwards(const Topology& topology, NodeId node)
{
    return topology.Nodes()[node].kind == NodeKind::kSwitch;
}

/// The node at the other end of an endpoint's link.
NodeId
Attachment(const Topology& topology, EndpointId endpoint)
{
    const Endpoint& end = topology.Endpoints()[endpoint];
    return topology.Peer(end.host, end.port);
}

/// Whether a link joins both endpoints.
bool
AreWired(const Topology& topology, EndpointId from, EndpointId to)
{
    const Endpoint& a = topology.Endpoints()[from];
    const Endpoint& b = topology.Endpoints()[to];
    return topology.Nodes()[a.host].ports[a.port] == topology.Nodes()[b.host].ports[b.port];
}

} // namespace

Reach::Reach(const Topology& topology)
    : m_topology(topology),
      m_part(topology.Nodes().size())
{
    for (NodeId n = 0; n < m_part.size(); ++n)
    {
        m_part[n] = n;
    }
    const auto find = [this](NodeId n) {
        while (m_part[n] != n)
        {
            n = m_part[n] = m_part[m_part[n]];
        }
        return n;
    };
    for (const Link& link : topology.Links())
    {
        if (Forwards(topology, link.a) && Forwards(topology, link.b))
        {
            m_part[find(link.a)] = find(link.b);
        }
    }
    for (NodeId n = 0; n < m_part.size(); ++n)
    {
        m_part[n] = find(n);
    }
}

bool
Reach::IsThere(EndpointId from, EndpointId to) const
{
    if (from == to)
    {
        return false;
    }
    const NodeId a = Attachment(m_topology, from);
    const NodeId b = Attachment(m_topology, to);
    return AreWired(m_topology, from, to) || (Forwards(m_topology, a) && m_part[a] == m_part[b]);
}

std::vector<std::pair<NodeId, PortId>>
ShortestPath(const Topology& topology, EndpointId from, EndpointId to)
{
    if (from == to)
    {
        return {};
    }
    const Endpoint& start = topology.Endpoints()[from];
    const Endpoint& end = topology.Endpoints()[to];
    std::vector<std::pair<NodeId, PortId>> path{{start.host, start.port}};
    if (AreWired(topology, from, to))
    {
        return path;
    }
    const NodeId first = Attachment(topology, from);
    const NodeId last = Attachment(topology, to);
    if (!Forwards(topology, first) || !Forwards(topology, last))
    {
        return {};
    }
    constexpr uint32_t kNone = UINT32_MAX;
    std::vector<uint32_t> distance(topology.Nodes().size(), kNone);
    distance[last] = 0;
    std::vector<NodeId> queue{last};
    for (size_t i = 0; i < queue.size() && distance[first] == kNone; ++i)
    {
        const NodeId node = queue[i];
        for (PortId port = 0; port < topology.Nodes()[node].ports.size(); ++port)
        {
            const NodeId peer = topology.Peer(node, port);
            if (distance[peer] == kNone && Forwards(topology, peer))
            {
                distance[peer] = distance[node] + 1;
                queue.push_back(peer);
            }
        }
    }
    if (distance[first] == kNone)
    {
        return {};
    }
    for (NodeId node = first; node != last;)
    {
        PortId port = 0;
        while (distance[topology.Peer(node, port)] != distance[node] - 1)
        {
            ++port;
        }
        path.emplace_back(node, port);
        node = topology.Peer(node, port);
    }
    const Link& link = topology.Links()[topology.Nodes()[end.host].ports[end.port]];
    path.emplace_back(last, link.a == end.host && link.portA == end.port ? link.portB : link.portA);
    return path;
}

} // namespace topo
