/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "ethernet-link-layer.h"

#include "contrib/rdma/core/flow-hash.h"
#include "contrib/rdma/core/set-up-phase.h"
#include "rdma-fabric.h"
#include "roce-capture-encoder.h"

#include "ns3/boolean.h"
#include "ns3/double.h"
#include "ns3/rdma-switch.h"
#include "ns3/uinteger.h"

#include <algorithm>
#include <map>
#include <memory>
#include <utility>
#include <vector>

namespace ns3
{

namespace
{

/// \return which switch each endpoint hangs on
RdmaEdges
EdgesOf(const RdmaFabric& fabric, std::vector<uint32_t>& edgeOfNode)
{
    RdmaEdges edges;
    edges.routes = &fabric.GetRoutes();
    edgeOfNode.assign(fabric.GetNNodes(), RdmaEdges::NONE);
    for (uint32_t e = 0; e < fabric.GetNEndpoints(); ++e)
    {
        const uint32_t node = fabric.GetNodeBehind(e);
        if (!fabric.IsSwitch(node))
        {
            edges.edgeOf.push_back(RdmaEdges::NONE);
            continue;
        }
        if (edgeOfNode[node] == RdmaEdges::NONE)
        {
            edgeOfNode[node] = edges.edges++;
            edges.endpointOf.push_back(e);
        }
        edges.edgeOf.push_back(edgeOfNode[node]);
    }
    return edges;
}

/// \return number of each node's group, as RdmaEdges has them
std::vector<uint32_t>
FindGroups(const RdmaFabric& fabric, const std::vector<uint32_t>& edgeOfNode, RdmaEdges& edges)
{
    std::map<uint32_t, uint32_t> numbers; // of groups that have a name
    edges.groupOf.assign(edges.edges, RdmaEdges::NONE);
    for (uint32_t node = 0; node < fabric.GetNNodes(); ++node)
    {
        const uint32_t edge = edgeOfNode[node];
        if (edge == RdmaEdges::NONE)
        {
            continue;
        }
        const uint32_t next = static_cast<uint32_t>(edges.edgesOfGroup.size());
        const uint32_t named = fabric.GetGroup(node);
        const uint32_t group =
            named == RdmaNodeSpec::NO_GROUP ? next : numbers.emplace(named, next).first->second;
        edges.edgesOfGroup.resize(std::max(next, group + 1));
        edges.edgesOfGroup[group].push_back(edge);
        edges.groupOf[edge] = group;
    }
    std::vector<uint32_t> groups(fabric.GetNNodes(), RdmaEdges::NONE);
    for (uint32_t node = 0; node < fabric.GetNNodes(); ++node)
    {
        const auto named = numbers.find(fabric.GetGroup(node));
        groups[node] = edgeOfNode[node] != RdmaEdges::NONE ? edges.groupOf[edgeOfNode[node]]
                       : named != numbers.end()            ? named->second
                                                           : RdmaEdges::NONE;
    }
    return groups;
}

/// For load balancers that look at more than their own switch. \return the node of each edge
std::vector<uint32_t>
TellPlaces(const RdmaFabric& fabric)
{
    std::vector<uint32_t> edgeOfNode;
    RdmaEdges found = EdgesOf(fabric, edgeOfNode);
    const std::vector<uint32_t> groups = FindGroups(fabric, edgeOfNode, found);
    const auto edges = std::make_shared<const RdmaEdges>(std::move(found));
    for (uint32_t node = 0; node < fabric.GetNNodes(); ++node)
    {
        RdmaSwitchBase* device = fabric.GetSwitch(node);
        if (!device)
        {
            continue;
        }
        const uint32_t own = edgeOfNode[node];
        std::vector<bool> near(edges->edges);
        for (uint32_t other = 0; other < edges->edges && own != RdmaEdges::NONE; ++other)
        {
            // Up to the edge, over one switch to the other edge, and down.
            near[other] = other != own && fabric.GetRoutes().Hops(edges->endpointOf[own],
                                                                  edges->endpointOf[other]) == 4;
        }
        device->SetPlace({edges, own, groups[node], std::move(near)});
    }
    std::vector<uint32_t> nodes(edges->edges);
    for (uint32_t node = 0; node < fabric.GetNNodes(); ++node)
    {
        if (edgeOfNode[node] != RdmaEdges::NONE)
        {
            nodes[edgeOfNode[node]] = node;
        }
    }
    return nodes;
}

/// \return priorities without loss of whatever receives at an end, by credits if the link has them
uint8_t
GetLosslessMask(const RdmaFabric& fabric, uint32_t end)
{
    // A host does as its switch.
    const uint32_t own = fabric.GetNodeOfEnd(end);
    const RdmaSwitchBase& device =
        fabric.GetSwitchAttributes(fabric.IsSwitch(own) ? own : fabric.GetNodeOfEnd(end ^ 1));
    BooleanValue pfc;
    UintegerValue lossless;
    device.GetAttribute("Pfc", pfc);
    device.GetAttribute("LosslessPriorities", lossless);
    return pfc.Get() ? static_cast<uint8_t>(lossless.Get()) : 0;
}

/// Credits in place of PFC, on links that want them. \return what is wrong, or nothing
std::string
StartCells(const RdmaFabric& fabric, uint32_t largest)
{
    for (uint32_t end = 0; end < fabric.GetNEnds(); ++end)
    {
        RdmaPort* port = fabric.GetPortOfEnd(end);
        if (!port || (port->GetFlowControl() != RdmaPort::CBFC &&
                      port->GetPeer()->GetFlowControl() != RdmaPort::CBFC))
        {
            continue;
        }
        const auto bytes = [&](const RdmaPort& receiver, uint32_t at) -> uint64_t {
            const uint32_t node = fabric.GetNodeOfEnd(at);
            const int64_t pipeline =
                fabric.IsSwitch(node) ? fabric.GetSwitchAttributes(node).GetLatencyPs() : 0;
            return receiver.GetCreditBuffer() ? receiver.GetCreditBuffer()
                                              : port->GetCreditsForRate(largest, pipeline);
        };
        RdmaPort::CellSetUp setUp;
        setUp.receiveMask = GetLosslessMask(fabric, end);
        setUp.receiveBytes = bytes(*port, end);
        setUp.sendMask = GetLosslessMask(fabric, end ^ 1);
        setUp.sendBytes = bytes(*port->GetPeer(), end ^ 1);
        setUp.largestFrame = largest;
        setUp.consumes = !fabric.IsSwitch(fabric.GetNodeOfEnd(end));
        const std::string error =
            !setUp.receiveMask && !setUp.sendMask
                ? port->GetName() + ": ns3::RdmaPort::FlowControl=cbfc: no priority is lossless; "
                                    "allowed where ns3::RdmaSwitch::Pfc says so"
                : port->StartCells(setUp);
        if (!error.empty())
        {
            return error;
        }
    }
    for (uint32_t e = 0; e < fabric.GetNEndpoints(); ++e)
    {
        const Ptr<RdmaNic> nic = fabric.GetNic(e);
        if (nic && nic->GetLimits() && nic->GetPort()->GetCells())
        {
            return nic->GetPort()->GetName() +
                   ": ns3::RdmaPort::FlowControl=cbfc: a NIC with limits pauses its switch; "
                   "allowed with them: pfc";
        }
    }
    return {};
}

/// Link-level retry, on links that want it. \return what is wrong, or nothing
std::string
StartRetries(const RdmaFabric& fabric, uint32_t largest)
{
    for (const auto& port : fabric.GetPorts())
    {
        if (port->WantsRetry() || port->GetPeer()->WantsRetry())
        {
            const std::string error = port->StartRetry(largest);
            if (!error.empty())
            {
                return error;
            }
        }
        else if (port->GetCells() && port->GetBitErrorRate() > 0)
        {
            return port->GetName() + ": ns3::RdmaPort::FlowControl=cbfc: credits of frames with "
                                     "bit errors do not come back; allowed with "
                                     "ns3::RdmaPort::LinkRetry=true";
        }
    }
    return {};
}

} // namespace

const rdma::LinkWords&
RdmaEthernetLinkLayer::GetWords() const
{
    return *m_words;
}

TypeId
RdmaEthernetLinkLayer::GetSwitchType() const
{
    return RdmaSwitch::GetTypeId();
}

void
RdmaEthernetLinkLayer::SetEcn(const RdmaCongestionOps& ops,
                              const std::set<std::string>& given,
                              ObjectFactory& device) const
{
    rdma::EcnParameters ecn;
    if (!ops.GetEcn(rdma::Gbps(100), ecn))
    {
        return;
    }
    const auto set = [&](const std::string& name, const AttributeValue& value) {
        // Neither in the factory nor as a default.
        TypeId::AttributeInformation info;
        RdmaSwitch::GetTypeId().LookupAttributeByName(name, &info);
        const auto text = [&info](const Ptr<const AttributeValue>& v) {
            return v->SerializeToString(info.checker);
        };
        if (!given.count(name) && text(info.initialValue) == text(info.originalInitialValue))
        {
            device.Set(name, value);
        }
    };
    set("EcnKmin", UintegerValue(ecn.kmin.value));
    set("EcnKmax", UintegerValue(ecn.kmax.value));
    set("EcnPmax", DoubleValue(ecn.pmax));
}

RdmaLinkLayer::Marking
RdmaEthernetLinkLayer::GetMarking(const RdmaSwitchBase& device) const
{
    UintegerValue threshold;
    BooleanValue marks;
    BooleanValue scaled;
    device.GetAttribute("Ecn", marks);
    device.GetAttribute("EcnKmax", threshold);
    device.GetAttribute("EcnPer100G", scaled);
    return {rdma::Bytes(marks.Get() ? threshold.Get() : 0),
            scaled.Get() ? rdma::Gbps(100) : rdma::BitRate(0)};
}

void
RdmaEthernetLinkLayer::Configure(RdmaFabric& fabric, uint32_t node)
{
    RdmaSwitchBase* device = fabric.GetSwitch(node);
    device->SetRoutes(fabric.GetRoutes().GroupOfEndpoint(node), fabric.GetPortSets(node));
    if (!m_tellsCapacity)
    {
        return;
    }
    std::vector<std::vector<rdma::PathCapacity::Way>> ways;
    for (uint32_t edge = 0; edge < m_edgeNodes.size(); ++edge)
    {
        ways.push_back(m_capacity.GetWays(node, edge));
        auto& these = ways.back();
        these.erase(std::remove_if(these.begin(),
                                   these.end(),
                                   [&fabric, node](const rdma::PathCapacity::Way& way) {
                                       return fabric.IsPortDead(node, way.port);
                                   }),
                    these.end());
    }
    device->GetLoadBalancer()->OnCapacity(ways);
}

void
RdmaEthernetLinkLayer::ComputeCapacity(const RdmaFabric& fabric)
{
    if (!m_tellsCapacity)
    {
        return;
    }
    std::vector<bool> isHost;
    for (uint32_t node = 0; node < fabric.GetNNodes(); ++node)
    {
        isHost.push_back(!fabric.IsSwitch(node));
    }
    std::vector<rdma::RouteLink> links;
    std::vector<uint64_t> rates;
    for (uint32_t link = 0; link < fabric.GetRouteLinks().size(); ++link)
    {
        if (!fabric.IsLinkDown(link))
        {
            links.push_back(fabric.GetRouteLinks()[link]);
            rates.push_back(fabric.GetLink(2 * link).rateBps);
        }
    }
    m_capacity = rdma::PathCapacity(isHost, links, rates, m_edgeNodes);
}

std::string
RdmaEthernetLinkLayer::Start(RdmaFabric& fabric, int64_t stream)
{
    // The largest frame that a buffer must be prepared for: a full first packet with immediate, or
    // an ordinary one.
    const uint32_t largest = fabric.GetLargestFrame();
    for (uint32_t e = 0; e < fabric.GetNEndpoints(); ++e)
    {
        const Ptr<RdmaNic> nic = fabric.GetNic(e);
        if (!nic)
        {
            continue;
        }
        // It pauses what its switch does.
        BooleanValue pfc;
        UintegerValue lossless;
        const RdmaSwitchBase& device = fabric.GetSwitchAttributes(fabric.GetNodeBehind(e));
        device.GetAttribute("Pfc", pfc);
        device.GetAttribute("LosslessPriorities", lossless);
        const std::string error =
            nic->StartLimits(pfc.Get() ? static_cast<uint8_t>(lossless.Get()) : 0, largest);
        if (!error.empty())
        {
            return nic->GetPort()->GetName() + ": " + error;
        }
    }
    bool needsPlaces = false;
    for (const auto& device : fabric.GetSwitches())
    {
        if (const Ptr<RdmaLoadBalancer> balancer = device->GetLoadBalancer())
        {
            m_tellsCapacity |= balancer->NeedsCapacity();
            needsPlaces |=
                balancer->NeedsFrames() || balancer->MakesDetours() || balancer->TakesFrames();
        }
    }
    if (needsPlaces || m_tellsCapacity)
    {
        m_edgeNodes = TellPlaces(fabric);
    }
    ComputeCapacity(fabric);
    // By what ports are if no place says otherwise: the same in all processes.
    if (CreateObject<RdmaPort>()->GetFlowControl() == RdmaPort::CBFC)
    {
        m_words = &rdma::kEthernetCreditWords;
    }
    const std::string wrong = StartCells(fabric, largest);
    if (!wrong.empty())
    {
        return wrong;
    }
    AssignStreams(fabric, stream);
    const rdma::SetUpPhase phase("configuring switches", fabric.GetNNodes());
    for (uint32_t node = 0; node < fabric.GetNNodes(); ++node)
    {
        phase.Done(node);
        if (RdmaSwitchBase* device = fabric.GetSwitch(node))
        {
            const RdmaPlaceSettings::Scope scope(fabric.GetSettings(node));
            Configure(fabric, node);
            const std::string error = device->GetNPorts() ? device->Start(largest) : "";
            if (!error.empty())
            {
                return error;
            }
        }
    }
    return StartRetries(fabric, largest);
}

uint16_t
RdmaEthernetLinkLayer::GetNextPort(const RdmaFabric& fabric, uint32_t node, uint32_t endpoint) const
{
    const auto hops = fabric.GetRoutes().NextHops(node, endpoint);
    return hops.empty() ? RdmaSwitchBase::NO_PORT : hops[0];
}

uint16_t
RdmaEthernetLinkLayer::GetPortOfFlow(const RdmaFabric& fabric,
                                     uint32_t node,
                                     uint32_t endpoint,
                                     uint32_t flowHash) const
{
    const auto hops = fabric.GetRoutes().NextHops(node, endpoint);
    const Ptr<RdmaLoadBalancer> balancer = fabric.GetSwitch(node)->GetLoadBalancer();
    return hops.empty() ? RdmaSwitchBase::NO_PORT
           : hops.size == 1 || !balancer
               ? hops[0]
               : hops[balancer->PickOfFlow(flowHash, hops.data, hops.size)];
}

std::string
RdmaEthernetLinkLayer::Reroute(RdmaFabric& fabric)
{
    ComputeCapacity(fabric);
    for (uint32_t node = 0; node < fabric.GetNNodes(); ++node)
    {
        if (fabric.GetSwitch(node))
        {
            Configure(fabric, node);
        }
    }
    return {};
}

std::string
RdmaEthernetLinkLayer::SetLinkDown(RdmaFabric& fabric, uint32_t link, bool down)
{
    // First the ways, so that nothing takes the link, and pauses that end at it find new ones.
    Reroute(fabric);
    RdmaClock::Update();
    const int64_t now = RdmaClock::Now();
    RdmaPort* ends[2] = {fabric.GetPortOfEnd(2 * link), fabric.GetPortOfEnd(2 * link + 1)};
    for (RdmaPort* end : ends)
    {
        end->SetLinkUp(!down, now);
    }
    return {};
}

std::string
RdmaEthernetLinkLayer::DescribeDestination(const RdmaFabric& fabric, const RdmaFrame& frame) const
{
    // A datagram may be for an endpoint that does not exist.
    return fabric.GetEndpointName(frame.src) + "->" +
           (frame.dst < fabric.GetNEndpoints() ? fabric.GetEndpointName(frame.dst)
                                               : "endpoint " + std::to_string(frame.dst));
}

std::unique_ptr<RdmaCaptureEncoder>
RdmaEthernetLinkLayer::MakeCaptureEncoder(const RdmaFabric& fabric) const
{
    return std::make_unique<RdmaRoceCaptureEncoder>(fabric);
}

} // namespace ns3
