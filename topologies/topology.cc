/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "topologies/topology.h"

#include <algorithm>
#include <stdexcept>
#include <utility>

namespace topo
{

Topology::Graph&
Topology::Own()
{
    if (m_graph.use_count() > 1)
    {
        m_graph = std::make_shared<Graph>(*m_graph);
    }
    return *m_graph;
}

NodeId
Topology::Add(std::string name, NodeKind kind, uint8_t tier)
{
    Graph& own = Own();
    const NodeId id = static_cast<NodeId>(own.nodes.size());
    if (!own.byName.emplace(name, id).second)
    {
        throw std::invalid_argument("Topology: two nodes named " + name);
    }
    own.nodes.push_back({std::move(name), kind, tier, {}, false});
    own.firstCoordinate.push_back(static_cast<uint32_t>(own.coordinates.size()));
    own.endpointsValid = false;
    return id;
}

NodeId
Topology::AddHost(std::string name)
{
    Graph& own = Own();
    const NodeId id = Add(std::move(name), NodeKind::kHost, 0);
    own.hosts.push_back(id);
    return id;
}

NodeId
Topology::AddUnit(std::string name)
{
    const NodeId id = AddHost(std::move(name));
    Own().nodes[id].isUnit = true;
    return id;
}

NodeId
Topology::AddSwitch(std::string name, uint8_t tier, const std::vector<uint32_t>& coordinates)
{
    Graph& own = Own();
    const NodeId id = Add(std::move(name), NodeKind::kSwitch, tier);
    own.coordinates.insert(own.coordinates.end(), coordinates.begin(), coordinates.end());
    own.firstCoordinate.back() = static_cast<uint32_t>(own.coordinates.size());
    return id;
}

NodeId
Topology::AddSwitchAt(const std::string& kind,
                      uint8_t tier,
                      const std::vector<uint32_t>& coordinates)
{
    std::string name = kind;
    for (const uint32_t c : coordinates)
    {
        name += "-" + std::to_string(c);
    }
    return AddSwitch(std::move(name), tier, coordinates);
}

LinkId
Topology::Connect(NodeId a, NodeId b, rdma::BitRate rate, rdma::Duration delay, double bitErrorRate)
{
    Graph& own = Own();
    if (a >= own.nodes.size() || b >= own.nodes.size() || a == b)
    {
        throw std::invalid_argument("Topology: a link needs two different nodes that exist");
    }
    if (rate.bps == 0 || delay.ps < 0 || !(bitErrorRate >= 0 && bitErrorRate < 1))
    {
        throw std::invalid_argument(
            "Topology: a link needs a rate above 0, a delay of at least 0 and a bit error "
            "rate of at least 0 and below 1");
    }
    constexpr size_t kMostPorts = 65535;
    if (own.nodes[a].ports.size() >= kMostPorts || own.nodes[b].ports.size() >= kMostPorts)
    {
        throw std::invalid_argument("Topology: more than 65535 ports at one node");
    }
    const LinkId id = static_cast<LinkId>(own.links.size());
    Link link;
    link.a = a;
    link.b = b;
    link.portA = static_cast<PortId>(own.nodes[a].ports.size());
    link.portB = static_cast<PortId>(own.nodes[b].ports.size());
    link.rate = rate;
    link.delay = delay;
    link.bitErrorRate = bitErrorRate;
    own.links.push_back(link);
    own.nodes[a].ports.push_back(id);
    own.nodes[b].ports.push_back(id);
    own.ordinal.push_back(
        own.between[(static_cast<uint64_t>(std::min(a, b)) << 32) | std::max(a, b)]++);
    own.endpointsValid = false;
    return id;
}

void
Topology::SetRate(LinkId link, rdma::BitRate rate)
{
    if (rate.bps == 0)
    {
        throw std::invalid_argument("Topology: a link needs a rate above 0");
    }
    Own().links.at(link).rate = rate;
}

void
Topology::SetDelay(LinkId link, rdma::Duration delay)
{
    if (delay.ps < 0)
    {
        throw std::invalid_argument("Topology: a link needs a delay of at least 0");
    }
    Own().links.at(link).delay = delay;
}

void
Topology::SetTier(NodeId node, uint8_t tier)
{
    Own().nodes.at(node).tier = tier;
}

const std::vector<Node>&
Topology::Nodes() const
{
    return m_graph->nodes;
}

const std::vector<Link>&
Topology::Links() const
{
    return m_graph->links;
}

void
Topology::BuildEndpoints() const
{
    if (m_graph->endpointsValid)
    {
        return;
    }
    m_graph->endpoints.clear();
    m_graph->firstEndpoint.clear();
    for (const NodeId host : m_graph->hosts)
    {
        m_graph->firstEndpoint.push_back(static_cast<EndpointId>(m_graph->endpoints.size()));
        for (size_t p = 0; p < m_graph->nodes[host].ports.size(); ++p)
        {
            m_graph->endpoints.push_back({host, static_cast<PortId>(p)});
        }
    }
    m_graph->firstEndpoint.push_back(static_cast<EndpointId>(m_graph->endpoints.size()));
    m_graph->endpointsValid = true;
}

const std::vector<Endpoint>&
Topology::Endpoints() const
{
    BuildEndpoints();
    return m_graph->endpoints;
}

const std::vector<NodeId>&
Topology::Hosts() const
{
    return m_graph->hosts;
}

EndpointId
Topology::EndpointOf(uint32_t host, PortId port) const
{
    BuildEndpoints();
    if (host >= m_graph->hosts.size() ||
        m_graph->firstEndpoint[host] + port >= m_graph->firstEndpoint[host + 1])
    {
        throw std::out_of_range("Topology: host " + std::to_string(host) + " has no port " +
                                std::to_string(port));
    }
    return m_graph->firstEndpoint[host] + port;
}

std::string
Topology::LinkName(LinkId link, bool fromA) const
{
    const Link& l = m_graph->links[link];
    std::string name =
        m_graph->nodes[fromA ? l.a : l.b].name + "->" + m_graph->nodes[fromA ? l.b : l.a].name;
    if (m_graph->ordinal[link] > 0)
    {
        name += "#" + std::to_string(m_graph->ordinal[link]);
    }
    return name;
}

std::optional<NodeId>
Topology::FindNode(std::string_view name) const
{
    const auto it = m_graph->byName.find(std::string(name));
    return it == m_graph->byName.end() ? std::nullopt : std::optional<NodeId>(it->second);
}

std::optional<DirectedLink>
Topology::FindLink(std::string_view name) const
{
    const size_t arrow = name.find("->");
    const auto from = FindNode(name.substr(0, arrow));
    if (arrow == std::string_view::npos || !from)
    {
        return std::nullopt;
    }
    for (const LinkId id : m_graph->nodes[*from].ports)
    {
        const bool fromA = m_graph->links[id].a == *from;
        if (LinkName(id, fromA) == name)
        {
            return DirectedLink{id, fromA};
        }
    }
    return std::nullopt;
}

NodeId
Topology::Peer(NodeId node, PortId port) const
{
    const Link& link = m_graph->links[m_graph->nodes[node].ports[port]];
    return link.a == node ? link.b : link.a;
}

uint32_t
Topology::SwitchCount() const
{
    return static_cast<uint32_t>(m_graph->nodes.size() - m_graph->hosts.size());
}

std::vector<uint32_t>
Topology::Coordinates(NodeId node) const
{
    return {m_graph->coordinates.begin() + m_graph->firstCoordinate[node],
            m_graph->coordinates.begin() + m_graph->firstCoordinate[node + 1]};
}

void
Topology::Describe(Description about)
{
    Graph& own = Own();
    own.about = std::move(about);
}

const Description&
Topology::About() const
{
    return m_graph->about;
}

} // namespace topo
