/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "topologies/hop-counter.h"

#include <algorithm>

namespace topo
{

HopCounter::HopCounter(const Topology& topology, uint64_t budget)
    : m_topology(topology),
      m_budget(budget),
      m_attachmentOf(topology.Endpoints().size(), kNone),
      m_direct(topology.Endpoints().size(), kNone),
      m_index(topology.Nodes().size(), kNone),
      m_distance(topology.Nodes().size())
{
    const auto& nodes = topology.Nodes();
    for (EndpointId e = 0; e < topology.Endpoints().size(); ++e)
    {
        const Endpoint& endpoint = topology.Endpoints()[e];
        const Link& link = topology.Links()[nodes[endpoint.host].ports[endpoint.port]];
        const bool isA = link.a == endpoint.host && link.portA == endpoint.port;
        const NodeId peer = isA ? link.b : link.a;
        if (nodes[peer].kind == NodeKind::kHost)
        {
            m_direct[e] = topology.EndpointOf(peer, isA ? link.portB : link.portA);
            continue;
        }
        if (m_index[peer] == kNone)
        {
            m_index[peer] = static_cast<uint32_t>(m_attachments.size());
            m_attachments.push_back(peer);
        }
        m_attachmentOf[e] = m_index[peer];
    }
    m_distances.resize(m_attachments.size());
}

std::optional<uint32_t>
HopCounter::Hops(EndpointId from, EndpointId to)
{
    if (from == to)
    {
        return 0;
    }
    if (m_direct[from] == to)
    {
        return 1;
    }
    // The same in both directions, so whichever is known.
    uint32_t a = m_attachmentOf[from];
    uint32_t b = m_attachmentOf[to];
    if (a == kNone || b == kNone)
    {
        return 0;
    }
    if (a == b)
    {
        return 2;
    }
    if (m_distances[b].empty())
    {
        std::swap(a, b);
    }
    if (m_distances[b].empty())
    {
        std::swap(a, b);
        if (!m_budget)
        {
            return std::nullopt;
        }
        Search(b);
    }
    const uint16_t between = m_distances[b][a];
    return between == kUnreached ? 0 : between + 2U;
}

void
HopCounter::Search(uint32_t attachment)
{
    std::vector<uint16_t>& found = m_distances[attachment];
    found.assign(m_attachments.size(), kUnreached);
    std::fill(m_distance.begin(), m_distance.end(), kNone);
    m_queue.assign(1, m_attachments[attachment]);
    m_distance[m_queue[0]] = 0;
    uint64_t work = 0;
    for (size_t i = 0; i < m_queue.size(); ++i)
    {
        const NodeId node = m_queue[i];
        if (m_index[node] != kNone)
        {
            found[m_index[node]] =
                static_cast<uint16_t>(std::min<uint32_t>(m_distance[node], kUnreached));
        }
        const auto& ports = m_topology.Nodes()[node].ports;
        work += ports.size();
        for (const LinkId l : ports)
        {
            const Link& link = m_topology.Links()[l];
            const NodeId peer = link.a == node ? link.b : link.a;
            if (m_distance[peer] == kNone && m_topology.Nodes()[peer].kind == NodeKind::kSwitch)
            {
                m_distance[peer] = m_distance[node] + 1;
                m_queue.push_back(peer);
            }
        }
    }
    m_budget -= std::min(m_budget, work);
}

} // namespace topo
