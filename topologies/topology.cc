/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "topologies/topology.h"

#include <algorithm>
#include <stdexcept>
#include <utility>

namespace topo
{

NodeId
Topology::Add(std::string name, NodeKind kind, uint8_t tier)
{
    const NodeId id = static_cast<NodeId>(m_nodes.size());
    if (!m_byName.emplace(name, id).second)
    {
        throw std::invalid_argument("Topology: two nodes named " + name);
    }
    m_nodes.push_back({std::move(name), kind, tier, {}, false});
    m_firstCoordinate.push_back(static_cast<uint32_t>(m_coordinates.size()));
    m_endpointsValid = false;
    return id;
}

NodeId
Topology::AddHost(std::string name)
{
    const NodeId id = Add(std::move(name), NodeKind::kHost, 0);
    m_hosts.push_back(id);
    return id;
}

NodeId
Topology::AddUnit(std::string name)
{
    const NodeId id = AddHost(std::move(name));
    m_nodes[id].isUnit = true;
    return id;
}

NodeId
Topology::AddSwitch(std::string name, uint8_t tier, const std::vector<uint32_t>& coordinates)
{
    const NodeId id = Add(std::move(name), NodeKind::kSwitch, tier);
    m_coordinates.insert(m_coordinates.end(), coordinates.begin(), coordinates.end());
    m_firstCoordinate.back() = static_cast<uint32_t>(m_coordinates.size());
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
    if (a >= m_nodes.size() || b >= m_nodes.size() || a == b)
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
    if (m_nodes[a].ports.size() >= kMostPorts || m_nodes[b].ports.size() >= kMostPorts)
    {
        throw std::invalid_argument("Topology: more than 65535 ports at one node");
    }
    const LinkId id = static_cast<LinkId>(m_links.size());
    Link link;
    link.a = a;
    link.b = b;
    link.portA = static_cast<PortId>(m_nodes[a].ports.size());
    link.portB = static_cast<PortId>(m_nodes[b].ports.size());
    link.rate = rate;
    link.delay = delay;
    link.bitErrorRate = bitErrorRate;
    m_links.push_back(link);
    m_nodes[a].ports.push_back(id);
    m_nodes[b].ports.push_back(id);
    m_ordinal.push_back(
        m_between[(static_cast<uint64_t>(std::min(a, b)) << 32) | std::max(a, b)]++);
    m_endpointsValid = false;
    return id;
}

const std::vector<Node>&
Topology::Nodes() const
{
    return m_nodes;
}

const std::vector<Link>&
Topology::Links() const
{
    return m_links;
}

void
Topology::BuildEndpoints() const
{
    if (m_endpointsValid)
    {
        return;
    }
    m_endpoints.clear();
    m_firstEndpoint.clear();
    for (const NodeId host : m_hosts)
    {
        m_firstEndpoint.push_back(static_cast<EndpointId>(m_endpoints.size()));
        for (size_t p = 0; p < m_nodes[host].ports.size(); ++p)
        {
            m_endpoints.push_back({host, static_cast<PortId>(p)});
        }
    }
    m_firstEndpoint.push_back(static_cast<EndpointId>(m_endpoints.size()));
    m_endpointsValid = true;
}

const std::vector<Endpoint>&
Topology::Endpoints() const
{
    BuildEndpoints();
    return m_endpoints;
}

const std::vector<NodeId>&
Topology::Hosts() const
{
    return m_hosts;
}

EndpointId
Topology::EndpointOf(uint32_t host, PortId port) const
{
    BuildEndpoints();
    if (host >= m_hosts.size() || m_firstEndpoint[host] + port >= m_firstEndpoint[host + 1])
    {
        throw std::out_of_range("Topology: host " + std::to_string(host) + " has no port " +
                                std::to_string(port));
    }
    return m_firstEndpoint[host] + port;
}

std::string
Topology::LinkName(LinkId link, bool fromA) const
{
    const Link& l = m_links[link];
    std::string name = m_nodes[fromA ? l.a : l.b].name + "->" + m_nodes[fromA ? l.b : l.a].name;
    if (m_ordinal[link] > 0)
    {
        name += "#" + std::to_string(m_ordinal[link]);
    }
    return name;
}

std::optional<NodeId>
Topology::FindNode(std::string_view name) const
{
    const auto it = m_byName.find(std::string(name));
    return it == m_byName.end() ? std::nullopt : std::optional<NodeId>(it->second);
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
    for (const LinkId id : m_nodes[*from].ports)
    {
        const bool fromA = m_links[id].a == *from;
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
    const Link& link = m_links[m_nodes[node].ports[port]];
    return link.a == node ? link.b : link.a;
}

uint32_t
Topology::SwitchCount() const
{
    return static_cast<uint32_t>(m_nodes.size() - m_hosts.size());
}

std::vector<uint32_t>
Topology::Coordinates(NodeId node) const
{
    return {m_coordinates.begin() + m_firstCoordinate[node],
            m_coordinates.begin() + m_firstCoordinate[node + 1]};
}

void
Topology::Describe(Description about)
{
    m_about = std::move(about);
}

const Description&
Topology::About() const
{
    return m_about;
}

} // namespace topo
