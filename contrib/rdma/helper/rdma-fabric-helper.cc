/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "rdma-fabric-helper.h"

#include "contrib/rdma/core/set-up-phase.h"
#include "ethernet-link-layer.h"
#include "ib-link-layer.h"

#include "ns3/boolean.h"
#include "ns3/double.h"
#include "ns3/enum.h"
#include "ns3/global-value.h"
#include "ns3/node-window-simulator-impl.h"
#include "ns3/node.h"
#include "ns3/nstime.h"
#include "ns3/quad-heap-scheduler.h"
#include "ns3/string.h"
#include "ns3/uinteger.h"

#include <algorithm>
#include <functional>
#include <optional>
#include <set>
#include <stdexcept>

namespace ns3
{

namespace
{

/// A full packet takes some 33 ps: with faster links times of a whole number of ps are no times.
constexpr uint64_t FASTEST_LINK = 1000000000000000;

} // namespace

RdmaFabricHelper::RdmaFabricHelper()
{
    m_nic.SetTypeId(RdmaNic::GetTypeId());
    m_port.SetTypeId(RdmaPort::GetTypeId());
    m_makeLinkLayer = [] { return std::make_unique<EthernetLinkLayer>(); };
    m_switch.SetTypeId(EthernetLinkLayer().GetSwitchType());
}

void
RdmaFabricHelper::SetNicAttribute(const std::string& name, const AttributeValue& value)
{
    m_nic.Set(name, value);
}

void
RdmaFabricHelper::SetSwitchAttribute(const std::string& name, const AttributeValue& value)
{
    m_switch.Set(name, value);
    m_switchSet.insert(name);
}

void
RdmaFabricHelper::SetPortAttribute(const std::string& name, const AttributeValue& value)
{
    m_port.Set(name, value);
}

void
RdmaFabricHelper::SetCongestionOps(Ptr<RdmaCongestionOps> prototype)
{
    m_prototype = prototype;
}

void
RdmaFabricHelper::SetInfiniBand(const IbFabricConfig& config)
{
    m_makeLinkLayer = [config] { return std::make_unique<IbLinkLayer>(config); };
    const IbLinkLayer like(config);
    m_switch.SetTypeId(like.GetSwitchType());
    like.SetFrameSizes(m_nic, m_port);
}

void
RdmaFabricHelper::SetLargestFrame(uint32_t bytes)
{
    m_largestFrame = bytes;
}

void
RdmaFabricHelper::SetPartition(const RdmaPartition& partition)
{
    m_partition = partition;
}

void
RdmaFabricHelper::KeepMarking()
{
    m_keepsMarking = true;
}

std::unique_ptr<RdmaFabric>
RdmaFabricHelper::Build(const std::vector<RdmaNodeSpec>& nodes,
                        const std::vector<RdmaLinkSpec>& links,
                        std::string& error,
                        int64_t stream)
{
    RdmaClock::Update();
    std::unique_ptr<RdmaFabric> fabric(new RdmaFabric);
    fabric->m_linkLayer = m_makeLinkLayer();
    RdmaLinkLayer& linkLayer = *fabric->m_linkLayer;
    const uint32_t n = static_cast<uint32_t>(nodes.size());
    error = CheckPartition(n);
    if (!error.empty())
    {
        return nullptr;
    }
    if (m_prototype && !m_keepsMarking)
    {
        linkLayer.SetEcn(*m_prototype, m_switchSet, m_switch);
    }
    fabric->m_partition = m_partition;
    fabric->m_largestFrame = m_largestFrame;
    fabric->m_switchOfNode.resize(n);
    fabric->m_endsOfNode.resize(n);
    std::vector<bool> isHost(n);
    for (uint32_t i = 0; i < n; ++i)
    {
        fabric->m_nodes.Create(1, m_partition.rankOfNode.empty() ? 0 : m_partition.rankOfNode[i]);
        fabric->m_names.push_back(nodes[i].name);
        fabric->m_isSwitch.push_back(nodes[i].isSwitch);
        fabric->m_isUnit.push_back(nodes[i].isUnit);
        fabric->m_group.push_back(nodes[i].group);
        isHost[i] = !nodes[i].isSwitch;
        if (nodes[i].isSwitch && fabric->IsLocalNode(i))
        {
            Ptr<RdmaSwitchBase> device = m_switch.Create<RdmaSwitchBase>();
            device->SetName(nodes[i].name);
            fabric->m_nodes.Get(i)->AggregateObject(device);
            fabric->m_switchOfNode[i] = PeekPointer(device);
            fabric->m_switches.push_back(device);
        }
    }

    StringValue scheduler;
    GlobalValue::GetValueByName("SchedulerType", scheduler);
    StringValue engine;
    GlobalValue::GetValueByName("SimulatorImplementationType", engine);
    const bool ordered = scheduler.Get() == QuadHeapScheduler::GetTypeId().GetName() ||
                         engine.Get() == NodeWindowSimulatorImpl::GetTypeId().GetName();
    std::vector<rdma::RouteLink> routeLinks;
    std::optional<rdma::SetUpPhase> phase;
    phase.emplace("making ports and links", links.size());
    for (const RdmaLinkSpec& link : links)
    {
        phase->Done(routeLinks.size());
        if (link.a >= n || link.b >= n || link.a == link.b || link.rateBps == 0 ||
            link.rateBps > FASTEST_LINK || link.delayPs < 0)
        {
            error = "link " + std::to_string(&link - links.data()) +
                    ": ends must be two different nodes, the rate positive and at most 1000Tbps, "
                    "the delay not negative";
            return nullptr;
        }
        const uint32_t first = static_cast<uint32_t>(2 * fabric->m_links.size());
        fabric->m_links.push_back(link);
        const bool here = fabric->IsLocalNode(link.a) || fabric->IsLocalNode(link.b);
        Ptr<RdmaPort> ends[2];
        uint16_t numbers[2];
        for (int side = 0; side < 2; ++side)
        {
            const uint32_t node = side ? link.b : link.a;
            numbers[side] = static_cast<uint16_t>(fabric->m_endsOfNode[node].size());
            fabric->m_endsOfNode[node].push_back(first + side);
            fabric->m_portOfEnd.push_back(nullptr);
            if (!here)
            {
                Mac48Address::Allocate(); // so that all ports have the addresses they always have
                continue;
            }
            Ptr<RdmaPort> port = m_port.Create<RdmaPort>();
            port->SetRate(link.rateBps);
            port->SetName(nodes[node].name + ":" + std::to_string(numbers[side]));
            fabric->m_nodes.Get(node)->AddDevice(port);
            // A ghost's node is bare, it has only the devices of cut links.
            port->SetIfIndex(numbers[side]);
            ends[side] = port;
            if (!fabric->IsLocalNode(node))
            {
                continue;
            }
            if (ordered)
            {
                port->SetArrivalOrder(numbers[side]);
            }
            port->SetEnd(first + side);
            fabric->m_portOfEnd.back() = PeekPointer(port);
            fabric->m_endOfPort.push_back(first + side);
            fabric->m_ports.push_back(port);
            if (fabric->m_switchOfNode[node])
            {
                fabric->m_switchOfNode[node]->AddPort(port, nodes[side ? link.a : link.b].isUnit);
            }
        }
        if (here)
        {
            Ptr<RdmaChannel> channel = CreateObject<RdmaChannel>();
            channel->SetDelayPs(link.delayPs);
            if (link.bitErrorRate > 0)
            {
                channel->SetAttribute("BitErrorRate", DoubleValue(link.bitErrorRate));
            }
            channel->Attach(ends[0], ends[1]);
        }
        routeLinks.push_back({link.a, link.b, numbers[0], numbers[1]});
    }
    error = fabric->MakeGateways();
    if (!error.empty())
    {
        return nullptr;
    }

    const Ptr<RdmaSwitchBase> like = m_switch.Create<RdmaSwitchBase>();
    const RdmaLinkLayer::Marking marking = linkLayer.GetMarking(*like);
    for (uint32_t i = 0; i < n; ++i)
    {
        if (!isHost[i])
        {
            continue;
        }
        for (uint16_t p = 0; p < fabric->m_endsOfNode[i].size(); ++p)
        {
            Ptr<RdmaNic> nic;
            if (RdmaPort* port = fabric->m_portOfEnd[fabric->m_endsOfNode[i][p]])
            {
                nic = m_nic.Create<RdmaNic>();
                if (m_prototype)
                {
                    nic->SetCongestionOps(m_prototype);
                }
                nic->SetMarking(marking.queue, marking.at);
                nic->Attach(port, static_cast<uint32_t>(fabric->m_nics.size()));
                if (fabric->m_endsOfNode[i].size() == 1)
                {
                    fabric->m_nodes.Get(i)->AggregateObject(nic);
                }
            }
            fabric->m_nics.push_back(nic);
            fabric->m_endpoints.push_back({i, p});
        }
    }
    NS_ABORT_MSG_IF(fabric->m_nics.size() > RdmaFrame::MAX_ENDPOINTS,
                    "a fabric has at most " << RdmaFrame::MAX_ENDPOINTS
                                            << " NICs: frames have 24 bits for their numbers");
    fabric->m_queuePairsOf.resize(fabric->m_nics.size());
    for (uint32_t end = 0; end < fabric->GetNEnds(); ++end)
    {
        // A port whose link has bit errors takes one stream, in whichever rank it is.
        stream += fabric->m_portOfEnd[end] ? fabric->m_portOfEnd[end]->AssignStreams(stream)
                                           : links[end / 2].bitErrorRate > 0;
    }

    phase.emplace("computing routes");
    fabric->m_routeLinks = std::move(routeLinks);
    fabric->m_linkDown.resize(links.size());
    error = fabric->ComputeRoutes();
    if (!error.empty())
    {
        return nullptr;
    }
    ReadAttributes(*fabric, *like);
    phase.reset();
    error = linkLayer.Start(*fabric, *like, stream);
    if (error.empty())
    {
        error = CheckTrimming(*fabric, *like);
    }
    return error.empty() ? std::move(fabric) : nullptr;
}

std::string
RdmaFabricHelper::CheckPartition(uint32_t nodes) const
{
    if (m_partition.rankOfNode.empty())
    {
        return {};
    }
    if (m_partition.rankOfNode.size() != nodes || m_partition.rank >= m_partition.ranks)
    {
        return "the partition has " + std::to_string(m_partition.rankOfNode.size()) +
               " nodes and rank " + std::to_string(m_partition.rank) + " of " +
               std::to_string(m_partition.ranks) + "; the fabric has " + std::to_string(nodes) +
               " nodes";
    }
    for (const uint32_t rank : m_partition.rankOfNode)
    {
        if (rank >= m_partition.ranks)
        {
            return "the partition gives a node to rank " + std::to_string(rank) + " of " +
                   std::to_string(m_partition.ranks);
        }
    }
    return {};
}

std::string
RdmaFabricHelper::CheckTrimming(const RdmaFabric& fabric, const RdmaSwitchBase& like) const
{
    const RdmaRecoveryScheme* recovery = fabric.m_nicDefaults.recovery;
    if (recovery && recovery->check)
    {
        const std::string error = recovery->check(PeekPointer(recovery->makeParameters()));
        if (!error.empty())
        {
            return error;
        }
    }
    UintegerValue packets(0);
    if (!recovery || !recovery->needsTrimming ||
        std::find(fabric.m_isSwitch.begin(), fabric.m_isSwitch.end(), true) ==
            fabric.m_isSwitch.end() ||
        (like.GetAttributeFailSafe("TrimPackets", packets) && packets.Get() > 0))
    {
        return {};
    }
    return "ns3::RdmaSwitch::TrimPackets: 0: ns3::RdmaNic::LossRecovery '" + recovery->name +
           "' needs switches that trim packets; allowed with it: 1 or more";
}

void
RdmaFabricHelper::ReadAttributes(RdmaFabric& fabric, const RdmaSwitchBase& like) const
{
    if (!fabric.m_nics.empty())
    {
        const auto here = std::find_if(fabric.m_nics.begin(),
                                       fabric.m_nics.end(),
                                       [](const auto& n) { return n != nullptr; });
        Ptr<RdmaNic> nic = here == fabric.m_nics.end() ? nullptr : *here;
        if (!nic) // one as another rank has it
        {
            nic = m_nic.Create<RdmaNic>();
            if (m_prototype) // which may make frames longer
            {
                nic->SetCongestionOps(m_prototype);
            }
            nic->Attach(m_port.Create<RdmaPort>(), 0);
        }
        fabric.m_mtu = nic->GetMtu();
        fabric.m_ackEvery = nic->GetAckEvery();
        fabric.m_sizes = nic->GetFrameSizes();
        UintegerValue initialPsn;
        nic->GetAttribute("InitialPsn", initialPsn);
        UintegerValue bdpCap;
        nic->GetAttribute("BdpCap", bdpCap);
        fabric.m_nicDefaults.initialPsn = static_cast<uint32_t>(initialPsn.Get());
        fabric.m_nicDefaults.bdpCap = bdpCap.Get();
        fabric.m_nicDefaults.recovery = &nic->GetLossRecovery();
    }
    if (std::find(fabric.m_isSwitch.begin(), fabric.m_isSwitch.end(), true) !=
        fabric.m_isSwitch.end())
    {
        fabric.m_pipelinePs = like.GetLatencyPs();
        fabric.m_cutThrough = like.IsCutThrough();
    }
    if (!fabric.m_ports.empty())
    {
        fabric.m_timeUnitPs = fabric.m_ports.front()->GetTransmitTimeUnitPs();
        // For closed forms; the ports have it in their own delay.
        for (RdmaLinkSpec& link : fabric.m_links)
        {
            link.delayPs += fabric.m_ports.front()->GetInterfaceDelayPs(link.rateBps);
        }
    }
    // What a NIC finds out from the ports it can see; across ranks it cannot see them all.
    const RdmaRecoveryScheme* recovery = fabric.m_nicDefaults.recovery;
    if (fabric.GetNRanks() > 1 &&
        (((m_prototype ? m_prototype->GetNeeds() : 0) | (recovery ? recovery->needs : 0)) &
         RdmaCongestionOps::BASE_RTT))
    {
        for (uint32_t e = 0; e < fabric.GetNEndpoints(); ++e)
        {
            TimeValue given;
            if (fabric.m_nics[e])
            {
                fabric.m_nics[e]->GetAttribute("BaseRtt", given);
            }
            if (fabric.m_nics[e] && given.Get().IsZero())
            {
                fabric.m_nics[e]->SetBaseRtt(fabric.GetBaseRtt(e));
            }
        }
    }
    if (fabric.GetNRanks() > 1 && fabric.m_nicDefaults.recovery &&
        fabric.m_nicDefaults.recovery->bdpFactor && fabric.m_nicDefaults.bdpCap == 0)
    {
        for (uint32_t e = 0; e < fabric.GetNEndpoints(); ++e)
        {
            if (fabric.m_nics[e])
            {
                fabric.m_nics[e]->SetAttribute("BdpCap", UintegerValue(fabric.GetBdpCap(e)));
            }
        }
    }
}

} // namespace ns3
