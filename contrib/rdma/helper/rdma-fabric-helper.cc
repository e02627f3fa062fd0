/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "rdma-fabric-helper.h"

#include "ns3/boolean.h"
#include "ns3/double.h"
#include "ns3/node.h"
#include "ns3/none-congestion-ops.h"
#include "ns3/nstime.h"
#include "ns3/uinteger.h"

#include <algorithm>
#include <stdexcept>

namespace ns3
{

RdmaFabric::~RdmaFabric() = default;

std::string
RdmaFabric::GetLinkName(const RdmaPort* port) const
{
    return m_names[port->GetNode()->GetId() - m_nodes.Get(0)->GetId()] + "->" +
           m_names[port->GetPeer()->GetNode()->GetId() - m_nodes.Get(0)->GetId()];
}

std::vector<rdma::PathLink>
RdmaFabric::GetPath(uint32_t from, uint32_t to) const
{
    std::vector<rdma::PathLink> path;
    const uint32_t base = m_nodes.Get(0)->GetId();
    const RdmaPort* port = PeekPointer(m_nics[from]->GetPort());
    const uint32_t target = m_nics[to]->GetPort()->GetNode()->GetId() - base;
    for (;;)
    {
        const uint32_t next = port->GetPeer()->GetNode()->GetId() - base;
        const bool atSwitch = m_switchOfNode[next] != nullptr;
        path.push_back({rdma::BitRate(port->GetRate()),
                        rdma::Duration(port->GetDelayPs()),
                        rdma::Duration(atSwitch ? m_pipelinePs : 0),
                        rdma::Duration(port->GetTransmitTimeUnitPs())});
        if (!atSwitch)
        {
            return next == target ? path : std::vector<rdma::PathLink>{};
        }
        const auto hops = m_routes.NextHops(next, to);
        if (hops.empty())
        {
            return {};
        }
        port = m_portsOfNode[next][hops[0]];
    }
}

uint32_t
RdmaFabric::GetPathClass(uint32_t from, uint32_t to)
{
    const uint64_t pair = static_cast<uint64_t>(from) << 32 | to;
    const auto known = m_classOfPair.find(pair);
    if (known != m_classOfPair.end())
    {
        return known->second;
    }
    std::vector<int64_t> signature;
    for (const rdma::PathLink& link : GetPath(from, to))
    {
        signature.insert(signature.end(),
                         {static_cast<int64_t>(link.rate.bps), link.delay.ps, link.pipeline.ps});
    }
    const uint32_t number = static_cast<uint32_t>(m_pathClasses.size());
    return m_classOfPair[pair] = m_pathClasses.emplace(signature, number).first->second;
}

int64_t
RdmaFabric::GetIdealCompletion(uint32_t from,
                               uint32_t to,
                               uint64_t bytes,
                               bool withImmediate,
                               RdmaOperation operation,
                               bool atSender)
{
    int64_t request = 0;
    if (operation == RdmaOperation::READ)
    {
        // The request on its way there; the rest is the way back, to who asked.
        const rdma::FrameRun frame{rdma::Bytes(m_sizes.DataWire(rdma::RoceOpcode::kReadRequest, 0)),
                                   1,
                                   rdma::Bytes(0)};
        request = rdma::IdealCompletion(GetPath(from, to), {frame}).ps;
        std::swap(from, to);
        atSender = false;
    }
    const auto key = std::make_tuple((GetPathClass(from, to) * 2 + withImmediate) * 4 +
                                         static_cast<uint32_t>(operation),
                                     atSender ? GetPathClass(to, from) + 1 : 0,
                                     bytes);
    const auto known = m_ideal.find(key);
    if (known != m_ideal.end())
    {
        return request + known->second;
    }
    const rdma::Bytes message(bytes);
    auto runs = operation == RdmaOperation::READ
                    ? rdma::RoceReadResponseRuns(message, m_mtu, m_sizes)
                : operation == RdmaOperation::SEND
                    ? rdma::RoceSendRuns(message, m_mtu, withImmediate, m_sizes)
                    : rdma::RoceWriteRuns(message, m_mtu, withImmediate, m_sizes);
    auto path = GetPath(from, to);
    if (atSender)
    {
        rdma::AddAcks(runs, rdma::Bytes(m_sizes.ackWire), m_ackEvery == 1);
        for (rdma::PathLink link : GetPath(to, from))
        {
            link.carriesAcks = true;
            path.push_back(link);
        }
    }
    const int64_t ideal = rdma::IdealCompletion(path, runs).ps;
    if (m_ideal.size() <
        1000000) // all sizes different: then there is nothing to gain from remembering
    {
        m_ideal.emplace(key, ideal);
    }
    return request + ideal;
}

RdmaNicCounters
RdmaFabric::GetNicTotals() const
{
    RdmaNicCounters sum;
    for (const auto& nic : m_nics)
    {
        const RdmaNicCounters& c = nic->GetCounters();
        sum.dataPackets += c.dataPackets;
        sum.dataBytes += c.dataBytes;
        sum.retransmittedPackets += c.retransmittedPackets;
        sum.acksSent += c.acksSent;
        sum.naksSent += c.naksSent;
        sum.cnpsSent += c.cnpsSent;
        sum.cnpsReceived += c.cnpsReceived;
        sum.timeouts += c.timeouts;
        sum.failedQps += c.failedQps;
        sum.ecnMarkedReceived += c.ecnMarkedReceived;
        sum.outOfOrderDropped += c.outOfOrderDropped;
        sum.duplicatesReceived += c.duplicatesReceived;
        sum.messagesReceived += c.messagesReceived;
        sum.readRequests += c.readRequests;
        sum.rnrNaksSent += c.rnrNaksSent;
        sum.rnrNaksReceived += c.rnrNaksReceived;
        sum.datagramsDropped += c.datagramsDropped;
        sum.notReadyDropped += c.notReadyDropped;
        sum.qpCacheMisses += c.qpCacheMisses;
        sum.receiveBufferDrops += c.receiveBufferDrops;
        sum.nicPauses += c.nicPauses;
    }
    return sum;
}

RdmaPortCounters
RdmaFabric::GetPortTotals() const
{
    RdmaPortCounters sum;
    const int64_t now = RdmaClock::Now();
    for (const auto& port : m_ports)
    {
        const RdmaPortCounters& c = port->GetCounters();
        sum.txFrames += c.txFrames;
        sum.txWireBytes += c.txWireBytes;
        sum.txDataFrames += c.txDataFrames;
        sum.rxFrames += c.rxFrames;
        sum.rxWireBytes += c.rxWireBytes;
        sum.corrupted += c.corrupted;
        sum.ecnMarks += c.ecnMarks;
        sum.pausesSent += c.pausesSent;
        sum.resumesSent += c.resumesSent;
        sum.pausesReceived += c.pausesReceived;
        sum.pausedPs += port->GetPausedPs(now);
        sum.maxQueueBytes = std::max(sum.maxQueueBytes, c.maxQueueBytes);
    }
    return sum;
}

uint64_t
RdmaFabric::GetDrops(RdmaSwitch::DropReason reason) const
{
    uint64_t sum = 0;
    for (const auto& device : m_switches)
    {
        sum += device->GetDrops(reason);
    }
    return sum;
}

RdmaFabricHelper::RdmaFabricHelper()
{
    m_nic.SetTypeId(RdmaNic::GetTypeId());
    m_switch.SetTypeId(RdmaSwitch::GetTypeId());
    m_port.SetTypeId(RdmaPort::GetTypeId());
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

std::unique_ptr<RdmaFabric>
RdmaFabricHelper::Build(const std::vector<RdmaNodeSpec>& nodes,
                        const std::vector<RdmaLinkSpec>& links,
                        std::string& error,
                        int64_t stream)
{
    RdmaClock::Update();
    std::unique_ptr<RdmaFabric> fabric(new RdmaFabric);
    const uint32_t n = static_cast<uint32_t>(nodes.size());
    fabric->m_nodes.Create(n);
    fabric->m_switchOfNode.resize(n);
    fabric->m_portsOfNode.resize(n);
    std::vector<bool> isHost(n);
    for (uint32_t i = 0; i < n; ++i)
    {
        fabric->m_names.push_back(nodes[i].name);
        isHost[i] = !nodes[i].isSwitch;
        if (nodes[i].isSwitch)
        {
            Ptr<RdmaSwitch> device = m_switch.Create<RdmaSwitch>();
            device->SetName(nodes[i].name);
            fabric->m_nodes.Get(i)->AggregateObject(device);
            fabric->m_switchOfNode[i] = PeekPointer(device);
            fabric->m_switches.push_back(device);
        }
    }

    std::vector<rdma::RouteLink> routeLinks;
    for (const RdmaLinkSpec& link : links)
    {
        if (link.a >= n || link.b >= n || link.a == link.b || link.rateBps == 0 || link.delayPs < 0)
        {
            error = "link " + std::to_string(&link - links.data()) +
                    ": ends must be two different nodes, the rate positive, the delay not negative";
            return nullptr;
        }
        Ptr<RdmaPort> ends[2];
        uint16_t numbers[2];
        for (int side = 0; side < 2; ++side)
        {
            const uint32_t node = side ? link.b : link.a;
            Ptr<RdmaPort> port = m_port.Create<RdmaPort>();
            port->SetRate(link.rateBps);
            numbers[side] = static_cast<uint16_t>(fabric->m_portsOfNode[node].size());
            port->SetName(nodes[node].name + ":" + std::to_string(numbers[side]));
            fabric->m_nodes.Get(node)->AddDevice(port);
            fabric->m_portsOfNode[node].push_back(PeekPointer(port));
            fabric->m_ports.push_back(port);
            if (fabric->m_switchOfNode[node])
            {
                fabric->m_switchOfNode[node]->AddPort(port);
            }
            ends[side] = port;
        }
        Ptr<RdmaChannel> channel = CreateObject<RdmaChannel>();
        channel->SetDelayPs(link.delayPs);
        if (link.bitErrorRate > 0)
        {
            channel->SetAttribute("BitErrorRate", DoubleValue(link.bitErrorRate));
        }
        channel->Attach(ends[0], ends[1]);
        routeLinks.push_back({link.a, link.b, numbers[0], numbers[1]});
    }

    std::vector<rdma::RouteEndpoint> endpoints;
    for (uint32_t i = 0; i < n; ++i)
    {
        if (!isHost[i])
        {
            continue;
        }
        for (uint16_t p = 0; p < fabric->m_portsOfNode[i].size(); ++p)
        {
            Ptr<RdmaNic> nic = m_nic.Create<RdmaNic>();
            if (m_prototype)
            {
                nic->SetCongestionOps(m_prototype);
            }
            nic->Attach(fabric->m_portsOfNode[i][p], static_cast<uint32_t>(fabric->m_nics.size()));
            fabric->m_nics.push_back(nic);
            endpoints.push_back({i, p});
        }
    }
    for (const auto& port : fabric->m_ports)
    {
        stream += port->AssignStreams(stream);
    }

    try
    {
        fabric->m_routes = rdma::EcmpRoutes::Compute(isHost, routeLinks, endpoints);
    }
    catch (const std::exception& e)
    {
        error = e.what();
        return nullptr;
    }
    // The largest frame that a buffer must be prepared for: a full first packet with immediate.
    if (!fabric->m_nics.empty())
    {
        const RdmaNic& nic = *fabric->m_nics.front();
        fabric->m_mtu = nic.GetMtu();
        fabric->m_ackEvery = nic.GetAckEvery();
        fabric->m_sizes = nic.GetFrameSizes();
    }
    const uint32_t largest = fabric->m_sizes.LargestFrame(fabric->m_mtu);
    // NICs pause what switches do.
    Ptr<RdmaSwitch> like =
        fabric->m_switches.empty() ? m_switch.Create<RdmaSwitch>() : fabric->m_switches.front();
    BooleanValue pfc;
    UintegerValue lossless;
    like->GetAttribute("Pfc", pfc);
    like->GetAttribute("LosslessPriorities", lossless);
    for (const auto& nic : fabric->m_nics)
    {
        error = nic->StartLimits(pfc.Get() ? static_cast<uint8_t>(lossless.Get()) : 0, largest);
        if (!error.empty())
        {
            error = nic->GetPort()->GetName() + ": " + error;
            return nullptr;
        }
    }
    for (uint32_t i = 0; i < n; ++i)
    {
        RdmaSwitch* device = fabric->m_switchOfNode[i];
        if (!device)
        {
            continue;
        }
        std::vector<std::vector<uint16_t>> groups;
        for (uint32_t g = 0; g < fabric->m_routes.GroupCount(i); ++g)
        {
            const auto ports = fabric->m_routes.Group(i, static_cast<uint16_t>(g));
            groups.emplace_back(ports.begin(), ports.end());
        }
        device->SetRoutes(fabric->m_routes.GroupOfEndpoint(i), groups);
        stream += device->AssignStreams(stream);
        error = device->GetNPorts() ? device->Start(largest) : "";
        if (!error.empty())
        {
            return nullptr;
        }
        TimeValue pipeline;
        device->GetAttribute("PipelineLatency", pipeline);
        fabric->m_pipelinePs = pipeline.Get().GetPicoSeconds();
    }
    return fabric;
}

} // namespace ns3
