/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "rdma-fabric-helper.h"

#include "contrib/rdma/core/ib-congestion.h"
#include "contrib/rdma/core/ib-sizes.h"
#include "contrib/rdma/core/set-up-phase.h"

#include "ns3/boolean.h"
#include "ns3/double.h"
#include "ns3/enum.h"
#include "ns3/global-value.h"
#include "ns3/node.h"
#include "ns3/none-congestion-ops.h"
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

RdmaFabric::~RdmaFabric() = default;

std::string
RdmaFabric::GetLinkName(uint32_t end) const
{
    return m_names[GetNodeOfEnd(end)] + "->" + m_names[GetNodeOfEnd(end ^ 1)];
}

std::string
RdmaFabric::GetLinkName(const RdmaPort* port) const
{
    return m_names[port->GetNode()->GetId() - m_nodes.Get(0)->GetId()] + "->" +
           m_names[port->GetPeer()->GetNode()->GetId() - m_nodes.Get(0)->GetId()];
}

std::string
RdmaFabric::GetEndpointName(uint32_t endpoint) const
{
    const rdma::RouteEndpoint& at = m_endpoints[endpoint];
    const bool several = m_endsOfNode[at.host].size() > 1;
    return m_names[at.host] + (several ? ":" + std::to_string(at.port) : "");
}

std::vector<rdma::PathLink>
RdmaFabric::GetPath(uint32_t from, uint32_t to) const
{
    std::vector<rdma::PathLink> path;
    uint32_t end = m_endsOfNode[m_endpoints[from].host][m_endpoints[from].port];
    for (;;)
    {
        const RdmaLinkSpec& link = m_links[end / 2];
        if (m_linkDown[end / 2])
        {
            return {};
        }
        const uint32_t next = GetNodeOfEnd(end ^ 1);
        const bool atSwitch = m_isSwitch[next];
        path.push_back({rdma::BitRate(link.rateBps),
                        rdma::Duration(link.delayPs),
                        rdma::Duration(atSwitch ? m_pipelinePs : 0),
                        rdma::Duration(m_timeUnitPs)});
        path.back().cutThrough = m_cutThrough;
        if (!atSwitch)
        {
            return next == m_endpoints[to].host ? path : std::vector<rdma::PathLink>{};
        }
        if (m_subnet)
        {
            const uint16_t port = m_subnet->GetNextPort(next, to);
            if (port == IbSwitch::NO_PORT || path.size() > m_names.size())
            {
                return {};
            }
            end = m_endsOfNode[next][port];
            continue;
        }
        const auto hops = m_routes.NextHops(next, to);
        if (hops.empty())
        {
            return {};
        }
        end = m_endsOfNode[next][hops[0]];
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
        if (!nic)
        {
            continue;
        }
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
        sum.linkDownLost += c.linkDownLost;
        sum.linkDownQueued += c.linkDownQueued;
        sum.ecnMarks += c.ecnMarks;
        sum.pausesSent += c.pausesSent;
        sum.resumesSent += c.resumesSent;
        sum.pausesReceived += c.pausesReceived;
        sum.pausedPs += port->GetPausedPs(now);
        sum.creditUpdatesSent += c.creditUpdatesSent;
        sum.creditUpdatesReceived += c.creditUpdatesReceived;
        sum.creditStalls += c.creditStalls;
        sum.creditBlocksLost += c.creditBlocksLost;
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
    for (const auto& device : m_ibSwitches)
    {
        sum += reason == RdmaSwitch::NO_ROUTE ? device->GetNoRouteDrops() : 0;
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
    m_ib = std::make_unique<IbFabricConfig>(config);
    m_switch.SetTypeId(IbSwitch::GetTypeId());
    const rdma::FrameSizes sizes = rdma::IbFrameSizes();
    m_port.Set("LineOverhead", UintegerValue(sizes.lineOverhead));
    m_nic.Set("HeaderBytes", UintegerValue(sizes.dataOverhead - sizes.lineOverhead));
    m_nic.Set("AckFrameBytes", UintegerValue(sizes.ackWire - sizes.lineOverhead));
    m_nic.Set("CnpFrameBytes", UintegerValue(sizes.cnpWire - sizes.lineOverhead));
    m_nic.Set("LeastFrameBytes", UintegerValue(0));
}

std::string
RdmaFabricHelper::BuildSubnet(RdmaFabric& fabric, const std::vector<rdma::RouteLink>& links) const
{
    rdma::IbFabric cabling;
    for (const bool isSwitch : fabric.m_isSwitch)
    {
        cabling.isHost.push_back(!isSwitch);
    }
    cabling.links = links;
    cabling.endpoints = fabric.m_endpoints;
    cabling.names = fabric.m_names;
    fabric.m_subnet = std::make_unique<IbSubnetHelper>();
    std::vector<uint64_t> rates;
    for (const RdmaLinkSpec& link : fabric.m_links)
    {
        rates.push_back(link.rateBps);
    }
    std::string error = fabric.m_subnet->Route(*m_ib, std::move(cabling), std::move(rates));
    std::set<const RdmaPort*> limited;
    for (std::size_t i = 0; error.empty() && i < fabric.m_nics.size(); ++i)
    {
        const Ptr<RdmaNic>& nic = fabric.m_nics[i];
        UintegerValue receiveBuffer;
        nic->GetAttribute("PcieReceiveBuffer", receiveBuffer);
        error =
            receiveBuffer.Get()
                ? "ns3::RdmaNic::PcieReceiveBuffer: an InfiniBand NIC holds what its bus has not "
                  "taken in the buffers of its VLs; allowed: 0; those buffers have a size"
                : nic->StartLimits(0, fabric.m_sizes.LargestFrame(fabric.m_mtu));
        if (nic->GetLimits())
        {
            limited.insert(PeekPointer(nic->GetPort()));
        }
        nic->SetPaths(fabric.m_subnet.get());
    }
    for (uint32_t end = 0; error.empty() && end < fabric.GetNEnds(); ++end)
    {
        const uint64_t rate = fabric.m_links[end / 2].rateBps;
        IbPortConfig config = MakeIbPortConfig(*m_ib, rate, fabric.m_mtu, error);
        config.adapter = !fabric.m_isSwitch[fabric.GetNodeOfEnd(end)];
        config.consumes = config.adapter && !limited.count(fabric.m_portOfEnd[end]);
        fabric.m_portOfEnd[end]->SetMtu(static_cast<uint16_t>(fabric.m_mtu));
        fabric.m_portOfEnd[end]->UseCredits(config);
    }
    if (!error.empty())
    {
        return error;
    }
    for (const auto& port : fabric.m_ports)
    {
        port->StartCredits();
    }
    fabric.ConfigureIbSwitches();
    for (const auto& device : fabric.m_ibSwitches)
    {
        error = device->GetNPorts() ? device->Start() : "";
        if (!error.empty())
        {
            return error;
        }
    }
    return {};
}

void
RdmaFabric::ConfigureIbSwitches()
{
    bool adaptive = false;
    for (std::size_t i = 0; i < m_ibSwitches.size(); ++i)
    {
        m_subnet->Configure(m_nodeOfIbSwitch[i], *m_ibSwitches[i]);
        adaptive |= m_ibSwitches[i]->IsAdaptive();
    }
    if (!adaptive)
    {
        return;
    }
    // Shortest ways by the cables that work.
    const rdma::IbFabric& cabling = m_subnet->GetCabling();
    std::vector<rdma::RouteLink> live;
    for (std::size_t i = 0; i < cabling.links.size(); ++i)
    {
        if (!cabling.linkDown[i])
        {
            live.push_back(cabling.links[i]);
        }
    }
    const auto routes = rdma::EcmpRoutes::Compute(cabling.isHost, live, cabling.endpoints);
    for (std::size_t i = 0; i < m_ibSwitches.size(); ++i)
    {
        std::vector<std::vector<uint16_t>> choices(m_subnet->GetSubnet().TopLid() + 1);
        for (uint32_t e = 0; e < m_endpoints.size(); ++e)
        {
            const rdma::IbSubnet::Endpoint& endpoint = m_subnet->GetSubnet().Endpoints()[e];
            const auto ports = routes.NextHops(m_nodeOfIbSwitch[i], e);
            for (uint32_t l = 0; l < 1U << endpoint.lmc && endpoint.lid; ++l)
            {
                choices[endpoint.lid + l].assign(ports.begin(), ports.end());
            }
        }
        m_ibSwitches[i]->SetChoices(std::move(choices));
    }
}

std::string
RdmaFabric::SetLinkDown(uint32_t link, bool down)
{
    if (link >= m_links.size())
    {
        return "link " + std::to_string(link) + "; allowed: 0 to " +
               std::to_string(m_links.size() - 1) + ", as the fabric has " +
               std::to_string(m_links.size()) + " links";
    }
    if (m_partition.ranks > 1)
    {
        return "links of a fabric that several ranks simulate do not go down; allowed: one rank";
    }
    if (m_linkDown[link] == down)
    {
        return {};
    }
    m_linkDown[link] = down;
    const std::string error = m_subnet ? m_subnet->SetLinkDown(link, down) : ComputeRoutes();
    if (!error.empty())
    {
        m_linkDown[link] = !down;
        return error;
    }
    m_classOfPair.clear();
    m_farthestHost.clear();
    if (m_subnet)
    {
        ConfigureIbSwitches();
        return {};
    }
    // First the ways, so that nothing takes the link, and pauses that end at it find new ones.
    for (uint32_t node = 0; node < m_switchOfNode.size(); ++node)
    {
        ConfigureSwitch(node);
    }
    RdmaClock::Update();
    const int64_t now = RdmaClock::Now();
    RdmaPort* ends[2] = {m_portOfEnd[2 * link], m_portOfEnd[2 * link + 1]};
    for (RdmaPort* end : ends)
    {
        end->SetLinkUp(!down, now);
    }
    return {};
}

std::string
RdmaFabric::ComputeRoutes()
{
    std::vector<bool> isHost(m_isSwitch.size());
    std::transform(m_isSwitch.begin(), m_isSwitch.end(), isHost.begin(), std::logical_not<>());
    std::vector<rdma::RouteLink> live;
    for (std::size_t i = 0; i < m_routeLinks.size(); ++i)
    {
        if (!m_linkDown[i])
        {
            live.push_back(m_routeLinks[i]);
        }
    }
    try
    {
        m_routes = rdma::EcmpRoutes::Compute(isHost, live, m_endpoints);
    }
    catch (const std::exception& e)
    {
        return e.what();
    }
    return {};
}

void
RdmaFabric::ConfigureSwitch(uint32_t node)
{
    RdmaSwitch* device = m_switchOfNode[node];
    if (!device)
    {
        return;
    }
    std::vector<std::vector<uint16_t>> groups;
    for (uint32_t g = 0; g < m_routes.GroupCount(node); ++g)
    {
        const auto ports = m_routes.Group(node, static_cast<uint16_t>(g));
        groups.emplace_back(ports.begin(), ports.end());
    }
    device->SetRoutes(m_routes.GroupOfEndpoint(node), groups);
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

void
RdmaFabricHelper::SetEcn()
{
    rdma::EcnParameters ecn;
    if (m_ib || m_keepsMarking || !m_prototype || !m_prototype->GetEcn(rdma::Gbps(100), ecn))
    {
        return;
    }
    const auto set = [this](const std::string& name, const AttributeValue& value) {
        // Neither by SetSwitchAttribute nor as a default.
        TypeId::AttributeInformation info;
        RdmaSwitch::GetTypeId().LookupAttributeByName(name, &info);
        const auto text = [&info](const Ptr<const AttributeValue>& v) {
            return v->SerializeToString(info.checker);
        };
        if (!m_switchSet.count(name) && text(info.initialValue) == text(info.originalInitialValue))
        {
            m_switch.Set(name, value);
        }
    };
    set("EcnKmin", UintegerValue(ecn.kmin.value));
    set("EcnKmax", UintegerValue(ecn.kmax.value));
    set("EcnPmax", DoubleValue(ecn.pmax));
}

rdma::Bytes
RdmaFabricHelper::GetMarking(const RdmaFabric& fabric) const
{
    UintegerValue threshold;
    if (m_ib)
    {
        const Ptr<IbSwitch> like =
            fabric.m_ibSwitches.empty() ? m_switch.Create<IbSwitch>() : fabric.m_ibSwitches.front();
        like->GetAttribute("CongestionThreshold", threshold);
        const auto level = static_cast<uint8_t>(threshold.Get());
        return level ? rdma::IbThresholdBytes(level, rdma::Bytes(m_ib->laneBuffer / 64 * 64))
                     : rdma::Bytes(0);
    }
    // A rank may have no switch of its own.
    const Ptr<RdmaSwitch> like =
        fabric.m_switches.empty() ? m_switch.Create<RdmaSwitch>() : fabric.m_switches.front();
    BooleanValue marks;
    like->GetAttribute("Ecn", marks);
    like->GetAttribute("EcnKmax", threshold);
    return rdma::Bytes(marks.Get() ? threshold.Get() : 0);
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
    error = CheckPartition(n);
    if (error.empty() && m_partition.ranks > 1 && m_prototype &&
        (m_prototype->GetNeeds() & (RdmaCongestionOps::TIME_STAMP | RdmaCongestionOps::TELEMETRY)))
    {
        error = "the congestion control '" + m_prototype->GetName() +
                "' needs time stamps or telemetry in packets, which cannot cross to another "
                "process; allowed: one process, or an algorithm without (none, dcqcn, dctcp)";
    }
    if (!error.empty())
    {
        return nullptr;
    }
    SetEcn();
    fabric->m_partition = m_partition;
    fabric->m_switchOfNode.resize(n);
    fabric->m_endsOfNode.resize(n);
    std::vector<bool> isHost(n);
    std::vector<IbSwitch*> ibSwitchOfNode(n);
    for (uint32_t i = 0; i < n; ++i)
    {
        fabric->m_nodes.Create(1, m_partition.rankOfNode.empty() ? 0 : m_partition.rankOfNode[i]);
        fabric->m_names.push_back(nodes[i].name);
        fabric->m_isSwitch.push_back(nodes[i].isSwitch);
        isHost[i] = !nodes[i].isSwitch;
        if (nodes[i].isSwitch && m_ib)
        {
            Ptr<IbSwitch> device = m_switch.Create<IbSwitch>();
            device->SetName(nodes[i].name);
            fabric->m_nodes.Get(i)->AggregateObject(device);
            ibSwitchOfNode[i] = PeekPointer(device);
            fabric->m_ibSwitches.push_back(device);
            fabric->m_nodeOfIbSwitch.push_back(i);
        }
        else if (nodes[i].isSwitch && fabric->IsLocalNode(i))
        {
            Ptr<RdmaSwitch> device = m_switch.Create<RdmaSwitch>();
            device->SetName(nodes[i].name);
            fabric->m_nodes.Get(i)->AggregateObject(device);
            fabric->m_switchOfNode[i] = PeekPointer(device);
            fabric->m_switches.push_back(device);
        }
    }

    StringValue scheduler;
    GlobalValue::GetValueByName("SchedulerType", scheduler);
    const bool ordered = scheduler.Get() == QuadHeapScheduler::GetTypeId().GetName();
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
            fabric->m_portOfEnd.back() = PeekPointer(port);
            fabric->m_endOfPort.push_back(first + side);
            fabric->m_ports.push_back(port);
            if (fabric->m_switchOfNode[node])
            {
                fabric->m_switchOfNode[node]->AddPort(port);
            }
            if (ibSwitchOfNode[node])
            {
                ibSwitchOfNode[node]->AddPort(port);
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

    const rdma::Bytes marking = GetMarking(*fabric);
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
                nic->SetMarking(marking, m_ib ? rdma::BitRate(0) : rdma::Gbps(100));
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
    ReadAttributes(*fabric);
    phase.reset();
    if (m_ib)
    {
        phase.emplace("routing the subnet");
        error = BuildSubnet(*fabric, fabric->m_routeLinks);
        return error.empty() ? std::move(fabric) : nullptr;
    }
    // The largest frame that a buffer must be prepared for: a full first packet with immediate.
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
        error =
            nic ? nic->StartLimits(pfc.Get() ? static_cast<uint8_t>(lossless.Get()) : 0, largest)
                : "";
        if (!error.empty())
        {
            error = nic->GetPort()->GetName() + ": " + error;
            return nullptr;
        }
    }
    phase.emplace("configuring switches", n);
    for (uint32_t i = 0; i < n; ++i)
    {
        phase->Done(i);
        RdmaSwitch* device = fabric->m_switchOfNode[i];
        if (!device)
        {
            stream += nodes[i].isSwitch; // another rank's
            continue;
        }
        fabric->ConfigureSwitch(i);
        stream += device->AssignStreams(stream);
        error = device->GetNPorts() ? device->Start(largest) : "";
        if (!error.empty())
        {
            return nullptr;
        }
    }
    return fabric;
}

std::string
RdmaFabricHelper::CheckPartition(uint32_t nodes) const
{
    if (m_partition.rankOfNode.empty())
    {
        return {};
    }
    if (m_ib && m_partition.ranks > 1)
    {
        return "InfiniBand's credits do not cross ranks; allowed: one rank";
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

void
RdmaFabricHelper::ReadAttributes(RdmaFabric& fabric) const
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
            nic->Attach(m_port.Create<RdmaPort>(), 0);
        }
        fabric.m_mtu = nic->GetMtu();
        fabric.m_ackEvery = nic->GetAckEvery();
        fabric.m_sizes = nic->GetFrameSizes();
        UintegerValue initialPsn;
        nic->GetAttribute("InitialPsn", initialPsn);
        UintegerValue bdpCap;
        nic->GetAttribute("BdpCap", bdpCap);
        EnumValue lossRecovery;
        nic->GetAttribute("LossRecovery", lossRecovery);
        fabric.m_nicDefaults.initialPsn = static_cast<uint32_t>(initialPsn.Get());
        fabric.m_nicDefaults.bdpCap = bdpCap.Get();
        fabric.m_nicDefaults.selectiveRepeat = lossRecovery.Get() != RdmaNic::GO_BACK_N;
    }
    if (std::find(fabric.m_isSwitch.begin(), fabric.m_isSwitch.end(), true) !=
        fabric.m_isSwitch.end())
    {
        TimeValue pipeline;
        m_switch.Create<Object>()->GetAttribute(m_ib ? "Latency" : "PipelineLatency", pipeline);
        fabric.m_pipelinePs = pipeline.Get().GetPicoSeconds();
        BooleanValue cutThrough(false);
        if (m_ib)
        {
            m_switch.Create<Object>()->GetAttribute("CutThrough", cutThrough);
        }
        fabric.m_cutThrough = cutThrough.Get();
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
    if (fabric.GetNRanks() > 1 && m_prototype &&
        (m_prototype->GetNeeds() & RdmaCongestionOps::BASE_RTT))
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
                fabric.m_nics[e]->SetAttribute(
                    "BaseRtt",
                    TimeValue(PicoSeconds(static_cast<uint64_t>(fabric.GetBaseRtt(e)))));
            }
        }
    }
    if (fabric.GetNRanks() > 1 && fabric.m_nicDefaults.selectiveRepeat &&
        fabric.m_nicDefaults.bdpCap == 0)
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
