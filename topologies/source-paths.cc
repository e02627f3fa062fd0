/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "topologies/source-paths.h"

#include "contrib/rdma/core/shown-text.h"
#include "topologies/names.h"

#include <algorithm>
#include <charconv>
#include <optional>

namespace topo
{

namespace
{

/// The port of a node to a neighbour. \param cable of several, from 0 \return nothing: none
std::optional<PortId>
PortTo(const Topology& t, NodeId node, NodeId neighbour, uint32_t cable)
{
    for (std::size_t p = 0; p < t.Nodes()[node].ports.size(); ++p)
    {
        const auto port = static_cast<PortId>(p);
        if (t.Peer(node, port) == neighbour && cable-- == 0)
        {
            return port;
        }
    }
    return std::nullopt;
}

/// Takes the number of "spine-1#1". \return 0: it has none
uint32_t
TakeCable(const Topology& t, std::string* name)
{
    const std::size_t mark = name->rfind('#');
    uint32_t number = 0;
    if (mark != std::string::npos && !t.FindNode(*name))
    {
        const char* end = name->data() + name->size();
        const auto [after, bad] = std::from_chars(name->data() + mark + 1, end, number);
        if (bad == std::errc() && after == end)
        {
            name->resize(mark);
            return number;
        }
    }
    return 0;
}

} // namespace

std::string
AddSourcePath(const Topology& topology,
              EndpointId from,
              EndpointId to,
              const std::vector<std::string>& via,
              std::vector<rdma::SourceHop>* hops)
{
    const auto& nodes = topology.Nodes();
    const Endpoint& source = topology.Endpoints()[from];
    const Endpoint& target = topology.Endpoints()[to];
    const NodeId last = topology.Peer(target.host, target.port);
    const LinkId lastLink = nodes[target.host].ports[target.port];
    std::vector<NodeId> passed;
    for (const std::string& element : via)
    {
        std::string name = element;
        const uint32_t cable = TakeCable(topology, &name);
        const auto node = topology.FindNode(name);
        if (!node || nodes[*node].kind != NodeKind::kSwitch)
        {
            std::vector<std::string> names;
            for (const Node& one : nodes)
            {
                if (one.kind == NodeKind::kSwitch && nodes.size() <= 10000)
                {
                    names.push_back(one.name);
                }
            }
            return rdma::Shown(element, 64) + " is no switch" + DidYouMean(name, names);
        }
        if (std::find(passed.begin(), passed.end(), *node) != passed.end())
        {
            return "goes over " + name + " twice";
        }
        if (passed.empty())
        {
            if (*node != topology.Peer(source.host, source.port))
            {
                return "begins at " + name + "; allowed: the sender's switch, " +
                       nodes[topology.Peer(source.host, source.port)].name;
            }
        }
        else
        {
            const auto port = PortTo(topology, passed.back(), *node, cable);
            if (!port)
            {
                return nodes[passed.back()].name + " has no link to " + rdma::Shown(element, 64);
            }
            hops->push_back({passed.back(), from, to, *port});
        }
        passed.push_back(*node);
    }
    if (passed.empty() || passed.back() != last)
    {
        return (passed.empty() ? "names no switch" : "ends at " + nodes[passed.back()].name) +
               "; allowed: the receiver's switch, " + nodes[last].name;
    }
    const Link& link = topology.Links()[lastLink];
    const bool isA = link.a == last && !(link.b == last);
    hops->push_back({last, from, to, isA ? link.portA : link.portB});
    return {};
}

} // namespace topo
