/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "topologies/up-down-routes.h"

#include "contrib/rdma/core/flow-hash.h"

namespace topo
{

UpDownRoutes::UpDownRoutes(const Topology& topology)
{
    const auto& nodes = topology.Nodes();
    m_number.assign(nodes.size(), rdma::kIbNone);
    for (NodeId n = 0; n < nodes.size(); ++n)
    {
        if (nodes[n].kind == NodeKind::kSwitch)
        {
            m_number[n] = static_cast<uint32_t>(m_nodes.size());
            m_nodes.push_back(n);
        }
    }
    m_graph.begin.push_back(0);
    for (const NodeId n : m_nodes)
    {
        uint32_t hosts = 0;
        for (std::size_t p = 0; p < nodes[n].ports.size(); ++p)
        {
            const NodeId peer = topology.Peer(n, static_cast<PortId>(p));
            if (nodes[peer].kind == NodeKind::kHost)
            {
                ++hosts;
                continue;
            }
            m_graph.arcs.push_back({m_number[peer], 0, 0, 0});
            m_ports.push_back(static_cast<PortId>(p));
        }
        m_graph.begin.push_back(static_cast<uint32_t>(m_graph.arcs.size()));
        m_graph.hosts.push_back(hosts);
    }
    m_search.emplace(m_graph, rdma::IbOrderFromRoots(m_graph, rdma::IbCentres(m_graph)));
}

void
UpDownRoutes::Search(NodeId to)
{
    m_to = m_number[to];
    m_search->Search(m_to);
}

std::optional<PortId>
UpDownRoutes::PortOf(NodeId at) const
{
    const uint32_t s = m_number[at];
    if (s == m_to || m_search->Distance(s) == rdma::kIbNone)
    {
        return std::nullopt;
    }
    std::vector<PortId> good;
    for (uint32_t a = m_graph.begin[s]; a < m_graph.begin[s + 1]; ++a)
    {
        if (m_search->Allowed(s, a))
        {
            good.push_back(m_ports[a]);
        }
    }
    return good[rdma::Mix64(uint64_t{s} << 32 | m_to) % good.size()];
}

} // namespace topo
