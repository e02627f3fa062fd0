/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * The part of RdmaPcapHelper that reads what a user wants to capture: ports and flows, by name.
 */
#include "contrib/rdma/core/nearest-name.h"
#include "contrib/rdma/core/port-selector.h"
#include "contrib/rdma/core/shown-text.h"
#include "rdma-pcap-helper.h"

#include <algorithm>
#include <set>

namespace ns3
{

namespace
{

const std::string&
NodeNameOf(const RdmaFabric& fabric, const RdmaPort* port)
{
    return fabric.GetNodeName(port->GetNode()->GetId() - fabric.GetNodes().Get(0)->GetId());
}

/// Whether one selector (no comma) means this port.
bool
Selects(const RdmaFabric& fabric, const std::string& selector, const RdmaPort* port)
{
    static const std::string nobody;
    const RdmaPort* peer = port->GetPeer();
    return rdma::SelectsPort(selector,
                             NodeNameOf(fabric, port),
                             port->GetIfIndex(),
                             peer ? NodeNameOf(fabric, peer) : nobody) != rdma::Selection::kNo;
}

/// Endpoints of a host, or the one of a port.
std::vector<uint32_t>
EndpointsOf(const RdmaFabric& fabric, const std::string& name)
{
    std::vector<uint32_t> endpoints;
    for (uint32_t e = 0; e < fabric.GetNEndpoints(); ++e)
    {
        const RdmaPort* port = PeekPointer(fabric.GetNic(e)->GetPort());
        if (rdma::SelectsByNode(name, NodeNameOf(fabric, port), port->GetIfIndex()) !=
            rdma::Selection::kNo)
        {
            endpoints.push_back(e);
        }
    }
    return endpoints;
}

/// The parts of a list separated by commas, empty ones too.
std::vector<std::string>
Split(const std::string& list)
{
    std::vector<std::string> parts;
    for (size_t begin = 0; begin <= list.size();)
    {
        const size_t end = std::min(list.find(',', begin), list.size());
        parts.push_back(list.substr(begin, end - begin));
        begin = end + 1;
    }
    return parts;
}

/// "; the nearest name is "x"", or "" if none is near.
std::string
NearestHint(const std::string& text, const std::vector<std::string>& names)
{
    std::string nearest = rdma::NearestName(text, names);
    const size_t arrow = text.find("->");
    if (arrow != std::string::npos && nearest.find("->") == std::string::npos)
    {
        // Of two nodes without a link: a link of the first.
        const auto link = std::find_if(names.begin(), names.end(), [&](const std::string& name) {
            return name.compare(0, arrow + 2, text, 0, arrow + 2) == 0;
        });
        nearest = link == names.end() ? nearest : *link;
    }
    return nearest.empty() ? "" : "; the nearest name is \"" + nearest + "\"";
}

} // namespace

std::string
RdmaPcapHelper::FindFlows(const std::string& flows, FlowFilter& filter) const
{
    const std::string control = m_fabric.GetLinkLayer().GetWords().control;
    for (const std::string& one : flows.empty() ? std::vector<std::string>{} : Split(flows))
    {
        if (one == control)
        {
            filter.linkControl = true;
            continue;
        }
        const size_t arrow = one.find("->");
        if (arrow == std::string::npos)
        {
            return "\"" + rdma::Shown(one, 60) +
                   "\" is no flow (allowed: a->b, of hosts or their ports, host:port; " + control +
                   ")";
        }
        const std::string names[] = {one.substr(0, arrow), one.substr(arrow + 2)};
        std::vector<uint32_t> ends[2];
        for (int side = 0; side < 2; ++side)
        {
            ends[side] = EndpointsOf(m_fabric, names[side]);
            if (!ends[side].empty())
            {
                continue;
            }
            std::vector<std::string> known;
            for (uint32_t e = 0; e < m_fabric.GetNEndpoints(); ++e)
            {
                const RdmaPort* port = PeekPointer(m_fabric.GetNic(e)->GetPort());
                known.push_back(NodeNameOf(m_fabric, port));
                known.push_back(port->GetName());
            }
            return "no host or port of a host is called \"" + rdma::Shown(names[side], 60) +
                   "\"" + NearestHint(names[side], known);
        }
        if (ends[0] == ends[1])
        {
            return "\"" + rdma::Shown(one, 60) + "\" is from a host to itself";
        }
        for (const uint32_t from : ends[0])
        {
            for (const uint32_t to : ends[1])
            {
                filter.flows.insert(FlowFilter::Key(from, to));
            }
        }
    }
    return {};
}

std::string
RdmaPcapHelper::Select(const RdmaFabric& fabric,
                       const std::string& selector,
                       std::vector<Ptr<RdmaPort>>& ports)
{
    ports.clear();
    std::set<Ptr<RdmaPort>> selected;
    for (const std::string& one : Split(selector))
    {
        bool any = false;
        for (const auto& port : fabric.GetPorts())
        {
            if (Selects(fabric, one, PeekPointer(port)))
            {
                any = true;
                selected.insert(port);
            }
        }
        if (any)
        {
            continue;
        }
        std::vector<std::string> known{"all"};
        for (const auto& port : fabric.GetPorts())
        {
            known.push_back(NodeNameOf(fabric, PeekPointer(port)));
            known.push_back(port->GetName());
            known.push_back(fabric.GetLinkName(PeekPointer(port)));
        }
        ports.clear();
        return "no port is called \"" + one + "\"" + NearestHint(one, known) +
               " (allowed: all, a node, node:port, a->b)";
    }
    for (const auto& port : fabric.GetPorts())
    {
        if (selected.count(port))
        {
            ports.push_back(port);
        }
    }
    return {};
}

} // namespace ns3
