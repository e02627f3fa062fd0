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

// Ports by the end that they are, as another rank may have them.

const std::string&
NodeNameOf(const RdmaFabric& fabric, uint32_t end)
{
    return fabric.GetNodeName(fabric.GetNodeOfEnd(end));
}

/// Whether one selector (no comma) means this port.
bool
Selects(const RdmaFabric& fabric, const std::string& selector, uint32_t end)
{
    return rdma::SelectsPort(selector,
                             NodeNameOf(fabric, end),
                             fabric.GetPortNumber(end),
                             NodeNameOf(fabric, end ^ 1)) != rdma::Selection::kNo;
}

/// Endpoints of a host, or the one of a port.
std::vector<uint32_t>
EndpointsOf(const RdmaFabric& fabric, const std::string& name)
{
    std::vector<uint32_t> endpoints;
    for (uint32_t e = 0; e < fabric.GetNEndpoints(); ++e)
    {
        const rdma::RouteEndpoint& at = fabric.GetEndpoints()[e];
        if (rdma::SelectsByNode(name, fabric.GetNodeName(at.host), at.port) != rdma::Selection::kNo)
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
        // Two nodes without a link between them: a link of the first.
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
                const rdma::RouteEndpoint& at = m_fabric.GetEndpoints()[e];
                known.push_back(m_fabric.GetNodeName(at.host));
                known.push_back(known.back() + ":" + std::to_string(at.port));
            }
            return "no host or port of a host is called \"" + rdma::Shown(names[side], 60) + "\"" +
                   NearestHint(names[side], known);
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
RdmaPcapHelper::SelectEnds(const RdmaFabric& fabric,
                           const std::string& selector,
                           std::vector<uint32_t>& ends)
{
    ends.clear();
    std::set<uint32_t> selected;
    for (const std::string& one : Split(selector))
    {
        bool any = false;
        for (uint32_t end = 0; end < fabric.GetNEnds(); ++end)
        {
            if (Selects(fabric, one, end))
            {
                any = true;
                selected.insert(end);
            }
        }
        if (any)
        {
            continue;
        }
        std::vector<std::string> known{"all"};
        for (uint32_t end = 0; end < fabric.GetNEnds(); ++end)
        {
            known.push_back(NodeNameOf(fabric, end));
            known.push_back(fabric.GetPortName(end));
            known.push_back(fabric.GetLinkName(end));
        }
        return "no port is called \"" + one + "\"" + NearestHint(one, known) +
               " (allowed: all, a node, node:port, a->b)";
    }
    ends.assign(selected.begin(), selected.end());
    return {};
}

std::string
RdmaPcapHelper::Select(const RdmaFabric& fabric,
                       const std::string& selector,
                       std::vector<Ptr<RdmaPort>>& ports)
{
    std::vector<uint32_t> ends;
    const std::string error = SelectEnds(fabric, selector, ends);
    ports.clear();
    for (const uint32_t end : ends)
    {
        if (RdmaPort* port = fabric.GetPortOfEnd(end))
        {
            ports.emplace_back(port);
        }
    }
    return error;
}

} // namespace ns3
