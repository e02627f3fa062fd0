/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "ib-link-layer.h"

#include "contrib/rdma/core/ib/ib-congestion.h"
#include "contrib/rdma/core/ib/ib-sizes.h"
#include "contrib/rdma/core/set-up-phase.h"
#include "ib-capture-encoder.h"
#include "rdma-fabric.h"

#include "ns3/boolean.h"
#include "ns3/ib-switch.h"
#include "ns3/uinteger.h"

namespace ns3
{

IbLinkLayer::IbLinkLayer(const IbFabricConfig& config)
    : m_config(config)
{
}

IbSubnetHelper*
IbLinkLayer::GetSubnet(const RdmaFabric& fabric)
{
    auto* self = dynamic_cast<IbLinkLayer*>(&fabric.GetLinkLayer());
    return self ? &self->m_subnet : nullptr;
}

const rdma::LinkWords&
IbLinkLayer::GetWords() const
{
    return m_config.flitBytes ? rdma::kScaleUpWords : rdma::kInfiniBandWords;
}

TypeId
IbLinkLayer::GetSwitchType() const
{
    return IbSwitch::GetTypeId();
}

void
IbLinkLayer::SetFrameSizes(ObjectFactory& nic, ObjectFactory& port) const
{
    const rdma::FrameSizes sizes =
        m_config.flitBytes ? rdma::FrameSizes::OfFlits(m_config.flitBytes) : rdma::IbFrameSizes();
    port.Set("LineOverhead", UintegerValue(sizes.lineOverhead));
    nic.Set("HeaderBytes", UintegerValue(sizes.dataOverhead - sizes.lineOverhead));
    nic.Set("AckFrameBytes", UintegerValue(sizes.ackWire - sizes.lineOverhead));
    nic.Set("CnpFrameBytes", UintegerValue(sizes.cnpWire - sizes.lineOverhead));
    nic.Set("LeastFrameBytes", UintegerValue(0));
    nic.Set("FlitBytes", UintegerValue(m_config.flitBytes));
    nic.Set("ExtensionHeaders", BooleanValue(sizes.HasExtensions()));
}

RdmaLinkLayer::Marking
IbLinkLayer::GetMarking(const RdmaSwitchBase& device) const
{
    UintegerValue threshold;
    device.GetAttribute("CongestionThreshold", threshold);
    const auto level = static_cast<uint8_t>(threshold.Get());
    return {level ? rdma::IbThresholdBytes(level, rdma::Bytes(m_config.laneBuffer / 64 * 64))
                  : rdma::Bytes(0),
            rdma::BitRate(0)};
}

std::string
IbLinkLayer::Start(RdmaFabric& fabric, int64_t stream)
{
    if (fabric.HasStaticRoutes())
    {
        return "static routes are of Ethernet; allowed: the forwarding tables of an InfiniBand "
               "subnet";
    }
    const rdma::SetUpPhase phase("routing the subnet");
    std::string error = Route(fabric);
    if (error.empty())
    {
        error = StartNics(fabric);
    }
    if (error.empty())
    {
        error = StartCredits(fabric);
    }
    if (!error.empty())
    {
        return error;
    }
    AssignStreams(fabric, stream);
    ConfigureSwitches(fabric);
    const uint32_t largest = fabric.GetFrameSizes().LargestFrame(fabric.GetMtu());
    for (uint32_t node = 0; node < fabric.GetNNodes(); ++node)
    {
        const RdmaPlaceSettings::Scope scope(fabric.GetSettings(node));
        RdmaSwitchBase* device = fabric.GetSwitch(node);
        error = device && device->GetNPorts() ? device->Start(largest) : "";
        if (!error.empty())
        {
            return error;
        }
    }
    return {};
}

std::string
IbLinkLayer::Route(const RdmaFabric& fabric)
{
    rdma::IbFabric cabling;
    for (uint32_t node = 0; node < fabric.GetNNodes(); ++node)
    {
        cabling.isHost.push_back(!fabric.IsSwitch(node));
        cabling.isUnit.push_back(fabric.IsUnit(node));
        cabling.names.push_back(fabric.GetNodeName(node));
    }
    cabling.links = fabric.GetRouteLinks();
    cabling.endpoints = fabric.GetEndpoints();
    std::vector<uint64_t> rates;
    for (uint32_t end = 0; end < fabric.GetNEnds(); end += 2)
    {
        rates.push_back(fabric.GetLink(end).rateBps);
    }
    return m_subnet.Route(m_config, std::move(cabling), std::move(rates));
}

std::string
IbLinkLayer::StartNics(RdmaFabric& fabric)
{
    for (uint32_t e = 0; e < fabric.GetNEndpoints(); ++e)
    {
        const Ptr<RdmaNic> nic = fabric.GetNic(e);
        if (!nic)
        {
            continue;
        }
        UintegerValue receiveBuffer;
        nic->GetAttribute("PcieReceiveBuffer", receiveBuffer);
        const std::string error =
            receiveBuffer.Get()
                ? "ns3::RdmaNic::PcieReceiveBuffer: an InfiniBand NIC holds what its bus has not "
                  "taken in the buffers of its VLs; allowed: 0; those buffers have a size"
                : nic->StartLimits(0, fabric.GetFrameSizes().LargestFrame(fabric.GetMtu()));
        if (!error.empty())
        {
            return error;
        }
        nic->SetPaths(&m_subnet);
    }
    return {};
}

std::string
IbLinkLayer::StartCredits(RdmaFabric& fabric)
{
    std::set<const RdmaPort*> limited;
    for (uint32_t e = 0; e < fabric.GetNEndpoints(); ++e)
    {
        if (fabric.IsLocal(e) && fabric.GetNic(e)->GetLimits())
        {
            limited.insert(PeekPointer(fabric.GetNic(e)->GetPort()));
        }
    }
    for (uint32_t end = 0; end < fabric.GetNEnds(); ++end)
    {
        std::string error;
        IbPortConfig config =
            MakeIbPortConfig(m_config, fabric.GetLink(end).rateBps, fabric.GetMtu(), error);
        if (!error.empty())
        {
            return error;
        }
        // A ghost too: what the port that it stands for has told of its buffers, ours must know.
        RdmaPort* port = fabric.GetPortOfEnd(end);
        RdmaPort* peer = fabric.GetPortOfEnd(end ^ 1);
        port = port ? port : peer ? peer->GetPeer() : nullptr;
        if (!port)
        {
            continue;
        }
        config.adapter = !fabric.IsSwitch(fabric.GetNodeOfEnd(end));
        config.consumes = config.adapter && !limited.count(port);
        port->SetMtu(static_cast<uint16_t>(fabric.GetMtu()));
        port->UseCredits(config);
    }
    for (const auto& port : fabric.GetPorts())
    {
        if (port->WantsRetry())
        {
            return port->GetName() + ": ns3::RdmaPort::LinkRetry: is of Ethernet's links; allowed "
                                     "with InfiniBand: false";
        }
        port->StartCredits();
        if (port->GetPeer()->IsRemote())
        {
            port->GetPeer()->StartCredits(); // so that ours knows what it has told
        }
    }
    return {};
}

void
IbLinkLayer::ConfigureSwitches(RdmaFabric& fabric)
{
    for (uint32_t node = 0; node < fabric.GetNNodes(); ++node)
    {
        if (fabric.GetSwitch(node))
        {
            Configure(fabric, node);
        }
    }
}

void
IbLinkLayer::Configure(RdmaFabric& fabric, uint32_t node)
{
    const rdma::IbSubnet& subnet = m_subnet.GetSubnet();
    auto& device = dynamic_cast<IbSwitch&>(*fabric.GetSwitch(node));
    m_subnet.Configure(node, device, [&fabric, node](uint16_t port) {
        return fabric.IsPortDead(node, port);
    });
    if (!device.GetLoadBalancer())
    {
        return;
    }
    const std::vector<uint16_t>& setOf = fabric.GetRoutes().GroupOfEndpoint(node);
    std::vector<uint16_t> setOfLid(subnet.TopLid() + 1, RdmaSwitchBase::NO_SET);
    for (uint32_t e = 0; e < fabric.GetNEndpoints(); ++e)
    {
        const rdma::IbSubnet::Endpoint& endpoint = subnet.Endpoints()[e];
        for (uint32_t l = 0; l < 1U << endpoint.lmc && endpoint.lid; ++l)
        {
            setOfLid[endpoint.lid + l] = setOf[e];
        }
    }
    device.SetRoutes(std::move(setOfLid), fabric.GetPortSets(node));
}

uint16_t
IbLinkLayer::GetNextPort(const RdmaFabric&, uint32_t node, uint32_t endpoint) const
{
    return m_subnet.GetNextPort(node, endpoint);
}

uint16_t
IbLinkLayer::GetPortOfFlow(const RdmaFabric&,
                           uint32_t node,
                           uint32_t endpoint,
                           uint32_t flowHash) const
{
    return m_subnet.GetNextPort(node, endpoint, flowHash);
}

std::string
IbLinkLayer::SetLinkDown(RdmaFabric& fabric, uint32_t link, bool down)
{
    const std::string error = m_subnet.SetLinkDown(link, down);
    if (error.empty())
    {
        ConfigureSwitches(fabric);
    }
    return error;
}

std::string
IbLinkLayer::Reroute(RdmaFabric& fabric)
{
    std::vector<bool> down;
    for (uint32_t link = 0; link < fabric.GetNEnds() / 2; ++link)
    {
        down.push_back(fabric.IsLinkDown(link));
    }
    const std::string error = m_subnet.SetLinksDown(std::move(down));
    if (error.empty())
    {
        ConfigureSwitches(fabric);
    }
    return error;
}

std::string
IbLinkLayer::DescribeDestination(const RdmaFabric&, const RdmaFrame& frame) const
{
    return "LID " + std::to_string(frame.route.GetDestinationLid());
}

std::vector<std::string>
IbLinkLayer::GetNotes() const
{
    return m_subnet.GetNotes();
}

std::unique_ptr<RdmaCaptureEncoder>
IbLinkLayer::MakeCaptureEncoder(const RdmaFabric&) const
{
    return std::make_unique<IbCaptureEncoder>();
}

} // namespace ns3
