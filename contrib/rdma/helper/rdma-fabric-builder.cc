/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "rdma-fabric-builder.h"

#include "contrib/rdma/core/set-up-phase.h"
#include "ethernet-link-layer.h"
#include "ib-link-layer.h"

#include "ns3/double.h"
#include "ns3/global-value.h"
#include "ns3/node-window-simulator-impl.h"
#include "ns3/node.h"
#include "ns3/nstime.h"
#include "ns3/quad-heap-scheduler.h"
#include "ns3/rdma-channel.h"
#include "ns3/rdma-transport-schemes.h"
#include "ns3/string.h"
#include "ns3/uinteger.h"

#include <algorithm>
#include <utility>

namespace ns3
{

namespace
{

/// A full packet takes some 33 ps: with faster links times of a whole number of ps are no times.
constexpr uint64_t FASTEST_LINK = 1000000000000000;

/// End of a port whose cable is still to come.
constexpr uint32_t NO_END = UINT32_MAX;

/// \return whether the engine or the scheduler keeps RdmaEventOrder
bool
IsOrdered()
{
    StringValue scheduler;
    GlobalValue::GetValueByName("SchedulerType", scheduler);
    StringValue engine;
    GlobalValue::GetValueByName("SimulatorImplementationType", engine);
    return scheduler.Get() == RdmaQuadHeapScheduler::GetTypeId().GetName() ||
           engine.Get() == NodeWindowSimulatorImpl::GetTypeId().GetName();
}

} // namespace

RdmaFabricSettings::RdmaFabricSettings()
{
    nic.SetTypeId(RdmaNic::GetTypeId());
    port.SetTypeId(RdmaPort::GetTypeId());
    makeLinkLayer = [] { return std::make_unique<RdmaEthernetLinkLayer>(); };
    device.SetTypeId(RdmaEthernetLinkLayer().GetSwitchType());
}

void
RdmaFabricSettings::SetSwitchAttribute(const std::string& name, const AttributeValue& value)
{
    device.Set(name, value);
    deviceGiven.insert(name);
}

void
RdmaFabricSettings::SetInfiniBand(const IbFabricConfig& config)
{
    makeLinkLayer = [config] { return std::make_unique<IbLinkLayer>(config); };
    const IbLinkLayer like(config);
    device.SetTypeId(like.GetSwitchType());
    like.SetFrameSizes(nic, port);
}

RdmaFabricBuilder::RdmaFabricBuilder(const RdmaFabricSettings& settings)
    : m_settings(settings),
      m_plainDevice(settings.device),
      m_fabric(new RdmaFabric),
      m_ordered(IsOrdered())
{
    RdmaClock::Update();
    m_fabric->m_linkLayer = m_settings.makeLinkLayer();
    m_fabric->m_partition = m_settings.partition;
    m_fabric->m_largestFrame = m_settings.largestFrame;
    m_fabric->m_staticRoutes = m_settings.routes;
    if (m_settings.prototype && !m_settings.keepsMarking)
    {
        m_fabric->m_linkLayer->SetEcn(*m_settings.prototype,
                                      m_settings.deviceGiven,
                                      m_settings.device);
    }
}

RdmaFabricBuilder::~RdmaFabricBuilder() = default;

void
RdmaFabricBuilder::SetCongestionOps(Ptr<RdmaCongestionOps> prototype)
{
    const Ptr<RdmaSwitchBase> before = MakeSwitch(nullptr);
    m_settings.prototype = prototype;
    m_settings.device = m_plainDevice;
    if (prototype && !m_settings.keepsMarking)
    {
        m_fabric->m_linkLayer->SetEcn(*prototype, m_settings.deviceGiven, m_settings.device);
    }
    const Ptr<RdmaSwitchBase> after = MakeSwitch(nullptr);
    const TypeId type = after->GetInstanceTypeId();
    for (std::size_t i = 0; i < type.GetAttributeN(); ++i)
    {
        const TypeId::AttributeInformation about = type.GetAttribute(i);
        const auto textOf = [&about](const RdmaSwitchBase& device) {
            StringValue text;
            device.GetAttribute(about.name, text);
            return text.Get();
        };
        const std::string was = textOf(*before);
        const std::string is = textOf(*after);
        for (const Ptr<RdmaSwitchBase>& device : m_fabric->m_switches)
        {
            if (was != is && textOf(*device) == was)
            {
                device->SetAttribute(about.name, StringValue(is));
            }
        }
    }
}

uint32_t
RdmaFabricBuilder::AddNode(Ptr<Node> node, const RdmaNodeSpec& spec)
{
    const uint32_t number = m_fabric->GetNNodes();
    m_fabric->m_nodes.Add(node);
    m_fabric->m_names.push_back(spec.name);
    m_fabric->m_isSwitch.push_back(spec.isSwitch);
    m_fabric->m_isUnit.push_back(spec.isUnit);
    m_fabric->m_group.push_back(spec.group);
    m_fabric->m_settings.push_back(spec.settings);
    m_fabric->m_switchOfNode.push_back(nullptr);
    m_fabric->m_endsOfNode.emplace_back();
    m_ports.emplace_back();
    if (spec.isSwitch && m_fabric->IsLocalNode(number))
    {
        Ptr<RdmaSwitchBase> device = MakeSwitch(spec.settings.get());
        device->SetName(spec.name);
        node->AggregateObject(device);
        m_fabric->m_switchOfNode.back() = PeekPointer(device);
        m_fabric->m_switches.push_back(device);
    }
    return number;
}

Ptr<RdmaSwitchBase>
RdmaFabricBuilder::MakeSwitch(const RdmaPlaceSettings* settings) const
{
    const RdmaPlaceSettings::Scope scope(settings);
    Ptr<RdmaSwitchBase> device = m_settings.device.Create<RdmaSwitchBase>();
    if (settings)
    {
        settings->Apply(*device);
    }
    return device;
}

uint16_t
RdmaFabricBuilder::AddPort(uint32_t node, bool here, const RdmaPlaceSettings* settings)
{
    const auto number = static_cast<uint16_t>(m_ports[node].size());
    m_fabric->m_endsOfNode[node].push_back(NO_END);
    m_ports[node].push_back(nullptr);
    if (!here)
    {
        Mac48Address::Allocate(); // so that all ports have the addresses they always have
        return number;
    }
    const RdmaPlaceSettings* ofNode = m_fabric->GetSettings(node);
    const RdmaPlaceSettings::Scope outer(ofNode);
    const RdmaPlaceSettings::Scope inner(settings);
    Ptr<RdmaPort> port = m_settings.port.Create<RdmaPort>();
    for (const RdmaPlaceSettings* own : {ofNode, settings})
    {
        if (own)
        {
            own->Apply(*port);
        }
    }
    port->SetName(m_fabric->m_names[node] + ":" + std::to_string(number));
    m_fabric->m_nodes.Get(node)->AddDevice(port);
    if (!m_fabric->IsLocalNode(node))
    {
        // A ghost's node is bare, it has only the devices of cut links.
        port->SetIfIndex(number);
    }
    else if (m_ordered)
    {
        port->SetArrivalOrder(number);
    }
    m_ports[node].back() = port;
    return number;
}

std::string
RdmaFabricBuilder::Check(const RdmaLinkSpec& link) const
{
    const uint32_t nodes = m_fabric->GetNNodes();
    const bool right = link.a < nodes && link.b < nodes && link.a != link.b && link.rateBps > 0 &&
                       link.rateBps <= FASTEST_LINK && link.delayPs >= 0;
    return right ? ""
                 : "link " + std::to_string(m_fabric->m_links.size()) +
                       ": ends must be two different nodes, the rate positive and at most "
                       "1000Tbps, the delay not negative";
}

std::string
RdmaFabricBuilder::CheckRoutes() const
{
    const RdmaFabric& fabric = *m_fabric;
    for (std::size_t i = 0; i < m_settings.routes.size(); ++i)
    {
        const rdma::StaticRoute& route = m_settings.routes[i];
        const bool right = route.node < fabric.GetNNodes() && fabric.IsSwitch(route.node) &&
                           route.endpoint < fabric.GetNEndpoints() &&
                           std::all_of(route.ports.begin(), route.ports.end(), [&](uint16_t port) {
                               return port < fabric.GetEndsOfNode(route.node).size();
                           });
        if (!right)
        {
            return "static route " + std::to_string(i) +
                   ": allowed: a switch, an endpoint and ports of that switch";
        }
    }
    return {};
}

std::string
RdmaFabricBuilder::AddLink(const RdmaLinkSpec& link)
{
    const std::string error = Check(link);
    if (!error.empty())
    {
        return error;
    }
    const bool here = m_fabric->IsLocalNode(link.a) || m_fabric->IsLocalNode(link.b);
    const uint16_t portA = AddPort(link.a, here, link.settingsA.get());
    const uint16_t portB = AddPort(link.b, here, link.settingsB.get());
    return Join(link, portA, portB);
}

std::string
RdmaFabricBuilder::Join(const RdmaLinkSpec& link, uint16_t portA, uint16_t portB)
{
    const std::string error = Check(link);
    if (!error.empty())
    {
        return error;
    }
    const uint32_t nodes[2] = {link.a, link.b};
    const uint16_t numbers[2] = {portA, portB};
    const uint32_t first = m_fabric->GetNEnds();
    m_fabric->m_links.push_back(link);
    m_fabric->m_routeLinks.push_back({link.a, link.b, portA, portB});
    for (int side = 0; side < 2; ++side)
    {
        const uint32_t node = nodes[side];
        const Ptr<RdmaPort> port = m_ports[node][numbers[side]];
        m_fabric->m_endsOfNode[node][numbers[side]] = first + side;
        m_fabric->m_portOfEnd.push_back(nullptr);
        if (port)
        {
            port->SetRate(link.rateBps);
        }
        if (!port || !m_fabric->IsLocalNode(node))
        {
            continue;
        }
        port->SetEnd(first + side);
        m_fabric->m_portOfEnd.back() = PeekPointer(port);
        m_fabric->m_endOfPort.push_back(first + side);
        m_fabric->m_ports.push_back(port);
        if (RdmaSwitchBase* device = m_fabric->m_switchOfNode[node])
        {
            device->AddPort(port, m_fabric->m_isUnit[nodes[1 - side]]);
        }
    }
    if (const Ptr<RdmaPort> port = m_ports[link.a][portA])
    {
        Ptr<RdmaChannel> channel = CreateObject<RdmaChannel>();
        channel->SetDelayPs(link.delayPs);
        if (link.bitErrorRate > 0)
        {
            channel->SetAttribute("BitErrorRate", DoubleValue(link.bitErrorRate));
        }
        channel->Attach(port, m_ports[link.b][portB]);
    }
    return {};
}

std::unique_ptr<RdmaFabric>
RdmaFabricBuilder::Finish(std::string& error, int64_t stream)
{
    error = m_fabric->MakeGateways();
    if (!error.empty())
    {
        return nullptr;
    }
    MakeStandIns();
    MakeNics();
    stream = AssignPortStreams(stream);
    {
        const rdma::SetUpPhase phase("computing routes");
        m_fabric->m_linkDown.resize(m_fabric->m_links.size());
        error = CheckRoutes();
        error = error.empty() ? CheckBond() : error;
        error = error.empty() ? m_fabric->ComputeRoutes() : error;
        if (!error.empty())
        {
            return nullptr;
        }
        ReadAttributes();
        SetPathsAcrossRanks();
    }
    error = CheckTrimming();
    if (error.empty())
    {
        error = CheckClasses();
    }
    if (error.empty())
    {
        error = m_fabric->m_linkLayer->Start(*m_fabric, stream);
    }
    if (error.empty())
    {
        error = StartQueueDiscs();
    }
    if (error.empty())
    {
        error = StartShapers();
    }
    if (error.empty())
    {
        error = SetSourceRoutes();
    }
    if (error.empty())
    {
        error = MakeBonds();
    }
    m_fabric->m_standIns.clear();
    return error.empty() ? std::move(m_fabric) : nullptr;
}

void
RdmaFabricBuilder::AddLaws(RdmaNic& nic) const
{
    if (m_settings.prototype)
    {
        nic.SetCongestionOps(m_settings.prototype);
    }
    for (const RdmaTrafficClass& trafficClass : m_settings.classes)
    {
        nic.AddClass(trafficClass);
    }
}

void
RdmaFabricBuilder::MakeStandIns()
{
    auto& standIns = m_fabric->m_standIns;
    standIns[nullptr] = MakeSwitch(nullptr);
    for (uint32_t node = 0; node < m_fabric->GetNNodes(); ++node)
    {
        const RdmaPlaceSettings* settings = m_fabric->GetSettings(node);
        if (m_fabric->IsSwitch(node) && !m_fabric->GetSwitch(node) && !standIns.count(settings))
        {
            standIns[settings] = MakeSwitch(settings);
        }
    }
}

RdmaLinkLayer::Marking
RdmaFabricBuilder::GetMarkingAt(uint32_t nodeBehind) const
{
    const RdmaFabric& fabric = *m_fabric;
    RdmaLinkLayer::Marking marking =
        fabric.m_linkLayer->GetMarking(fabric.GetSwitchAttributes(nodeBehind));
    for (uint32_t node = 0; marking.queue.value == 0 && node < fabric.GetNNodes(); ++node)
    {
        if (fabric.IsSwitch(node))
        {
            marking = fabric.m_linkLayer->GetMarking(fabric.GetSwitchAttributes(node));
        }
    }
    return marking;
}

Ptr<RdmaNic>
RdmaFabricBuilder::MakeNic(uint32_t node, uint32_t end, bool only)
{
    const RdmaLinkSpec& link = m_fabric->GetLink(end);
    const RdmaPlaceSettings* settings[] = {m_fabric->GetSettings(node),
                                           (end % 2 ? link.settingsB : link.settingsA).get()};
    const RdmaPlaceSettings::Scope outer(settings[0]);
    const RdmaPlaceSettings::Scope inner(settings[1]);
    Ptr<RdmaNic> nic = m_settings.nic.Create<RdmaNic>();
    for (const RdmaPlaceSettings* own : settings)
    {
        if (own)
        {
            own->Apply(*nic);
        }
    }
    AddLaws(*nic);
    const uint32_t behind = m_fabric->GetNodeOfEnd(end ^ 1);
    const auto known = m_markingAt.find(behind);
    const RdmaLinkLayer::Marking marking =
        known != m_markingAt.end() ? known->second : m_markingAt[behind] = GetMarkingAt(behind);
    nic->SetMarking(marking.queue, marking.at);
    nic->Attach(m_fabric->m_portOfEnd[end], m_fabric->GetNEndpoints());
    if (only)
    {
        m_fabric->m_nodes.Get(node)->AggregateObject(nic);
    }
    return nic;
}

void
RdmaFabricBuilder::MakeNics()
{
    RdmaFabric& fabric = *m_fabric;
    for (uint32_t node = 0; node < fabric.GetNNodes(); ++node)
    {
        const auto ports = static_cast<uint16_t>(m_ports[node].size());
        for (uint16_t p = 0; !fabric.IsSwitch(node) && p < ports; ++p)
        {
            const uint32_t end = fabric.m_endsOfNode[node][p];
            const bool here = fabric.m_portOfEnd[end] != nullptr;
            fabric.m_nics.push_back(here ? MakeNic(node, end, ports == 1) : nullptr);
            fabric.m_endpoints.push_back({node, p});
        }
    }
    m_markingAt.clear();
    NS_ABORT_MSG_IF(fabric.m_nics.size() > RdmaFrame::MAX_ENDPOINTS,
                    "a fabric has at most " << RdmaFrame::MAX_ENDPOINTS
                                            << " NICs: frames have 24 bits for their numbers");
    fabric.m_queuePairsOf.resize(fabric.m_nics.size());
}

int64_t
RdmaFabricBuilder::AssignPortStreams(int64_t stream)
{
    for (uint32_t end = 0; end < m_fabric->GetNEnds(); ++end)
    {
        // A port whose link has bit errors takes one stream, in whichever rank it is.
        RdmaPort* port = m_fabric->m_portOfEnd[end];
        stream += port ? port->AssignStreams(stream) : m_fabric->m_links[end / 2].bitErrorRate > 0;
    }
    return stream;
}

std::string
RdmaFabricBuilder::CheckTrimming() const
{
    const RdmaTransportScheme* recovery = m_fabric->m_nicDefaults.recovery;
    if (recovery && recovery->check)
    {
        const std::string error = recovery->check(PeekPointer(recovery->makeParameters()));
        if (!error.empty())
        {
            return error;
        }
    }
    UintegerValue packets(0);
    uint32_t wrong = 0; // a switch that does not go with the recovery
    const auto suits = [&](uint32_t node) {
        packets.Set(0); // a class may have no such attribute
        const RdmaSwitchBase& device = m_fabric->GetSwitchAttributes(node);
        const bool trims = device.GetAttributeFailSafe("TrimPackets", packets) && packets.Get() > 0;
        return !m_fabric->IsSwitch(node) || recovery->needsTrimming == trims;
    };
    while (recovery && wrong < m_fabric->GetNNodes() && suits(wrong))
    {
        ++wrong;
    }
    if (!recovery || wrong == m_fabric->GetNNodes())
    {
        return {};
    }
    const bool trims = packets.Get() > 0;
    const std::string error = "ns3::RdmaSwitch::TrimPackets: " + std::to_string(packets.Get()) +
                              ": ns3::RdmaNic::LossRecovery '" + recovery->name + "' ";
    if (!trims)
    {
        return error + "needs switches that trim packets; allowed with it: 1 or more";
    }
    std::string names;
    for (const std::string& name : RdmaTransportSchemes::GetNames())
    {
        const bool knows = RdmaTransportSchemes::Find(name)->needsTrimming;
        names += knows ? (names.empty() ? "" : ", ") + name : "";
    }
    return error + "knows no trimmed packets, so none would be trimmed; allowed with it: 0; with " +
           names + ": 1 or more";
}

std::string
RdmaFabricBuilder::CheckClasses() const
{
    if (m_settings.classes.size() > RdmaNic::MOST_CLASSES)
    {
        return "RdmaFabricHelper::AddTrafficClass: " + std::to_string(m_settings.classes.size()) +
               " classes; allowed: at most " + std::to_string(RdmaNic::MOST_CLASSES);
    }
    for (const RdmaTrafficClass& trafficClass : m_settings.classes)
    {
        // What switches do for these, and their attributes, are of the whole fabric.
        const RdmaTransportScheme* recovery = trafficClass.recovery;
        if (recovery && recovery != m_fabric->m_nicDefaults.recovery &&
            (recovery->needsTrimming || recovery->makeParameters))
        {
            return "RdmaFabricHelper::AddTrafficClass: recovery '" + recovery->name +
                   "' is of all NICs and switches; allowed: as ns3::RdmaNic::LossRecovery, and a "
                   "class for what is not";
        }
    }
    return {};
}

void
RdmaFabricBuilder::ReadAttributes()
{
    RdmaFabric& fabric = *m_fabric;
    if (!fabric.m_nics.empty())
    {
        const auto here = std::find_if(fabric.m_nics.begin(),
                                       fabric.m_nics.end(),
                                       [](const auto& n) { return n != nullptr; });
        Ptr<RdmaNic> nic = here == fabric.m_nics.end() ? nullptr : *here;
        if (!nic) // one as another rank has it
        {
            nic = m_settings.nic.Create<RdmaNic>();
            AddLaws(*nic);
            nic->Attach(m_settings.port.Create<RdmaPort>(), 0);
        }
        fabric.m_mtu = nic->GetMtu();
        fabric.m_ackEvery = nic->GetAckEvery();
        fabric.m_sizes = nic->GetFrameSizes();
        const auto answersEach = [&nic](uint8_t c) {
            return nic->GetTransportScheme(c).ackPerPacket || nic->GetAckEvery() == 1 ||
                   (nic->GetPrototype(c).GetNeeds() & RdmaCongestionOps::ACK_PER_PACKET) != 0;
        };
        fabric.m_answersEach = answersEach(0);
        for (uint8_t c = 1; c < nic->GetNClasses(); ++c)
        {
            fabric.m_classes.push_back(
                {nic->GetFrameSizes(c), &nic->GetTransportScheme(c), answersEach(c)});
        }
        UintegerValue initialPsn;
        nic->GetAttribute("InitialPsn", initialPsn);
        UintegerValue bdpCap;
        nic->GetAttribute("BdpCap", bdpCap);
        fabric.m_nicDefaults.initialPsn = static_cast<uint32_t>(initialPsn.Get());
        fabric.m_nicDefaults.bdpCap = bdpCap.Get();
        fabric.m_nicDefaults.recovery = &nic->GetTransportScheme();
        fabric.m_overtaking = !nic->GetPathSelectorName().empty();
    }
    fabric.m_pipelinePs.resize(fabric.GetNNodes());
    fabric.m_cutThrough.resize(fabric.GetNNodes());
    fabric.m_cutThroughBytes.resize(fabric.GetNNodes());
    const uint32_t overhead =
        fabric.m_ports.empty() ? 0 : fabric.m_ports.front()->GetLineOverhead();
    bool badFramesPass = false;
    for (uint32_t node = 0; node < fabric.GetNNodes(); ++node)
    {
        if (fabric.IsSwitch(node))
        {
            const RdmaSwitchBase& device = fabric.GetSwitchAttributes(node);
            fabric.m_pipelinePs[node] = device.GetLatencyPs();
            fabric.m_cutThrough[node] = device.IsCutThrough();
            fabric.m_cutThroughBytes[node] =
                device.IsCutThrough() ? device.GetCutThroughBytes(overhead) : 0;
            badFramesPass |= fabric.m_cutThroughBytes[node] > 0;
            const Ptr<RdmaLoadBalancer> balancer = device.GetLoadBalancer();
            fabric.m_overtaking |= balancer && !balancer->KeepsFlows();
        }
    }
    for (const auto& port : fabric.m_ports)
    {
        if (badFramesPass) // on both sides of ranks, too
        {
            port->ExpectBadFrames();
        }
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
}

void
RdmaFabricBuilder::SetPathsAcrossRanks()
{
    RdmaFabric& fabric = *m_fabric;
    if (fabric.GetNRanks() < 2)
    {
        return;
    }
    const RdmaTransportScheme* recovery = fabric.m_nicDefaults.recovery;
    const bool needsRtt = ((m_settings.prototype ? m_settings.prototype->GetNeeds() : 0) |
                           (recovery ? recovery->needs : 0)) &
                          RdmaCongestionOps::BASE_RTT;
    const bool needsCap = recovery && recovery->bdpFactor && fabric.m_nicDefaults.bdpCap == 0;
    for (uint32_t e = 0; e < fabric.GetNEndpoints(); ++e)
    {
        const Ptr<RdmaNic> nic = fabric.m_nics[e];
        if (!nic)
        {
            continue;
        }
        TimeValue given;
        nic->GetAttribute("BaseRtt", given);
        if (needsRtt && given.Get().IsZero())
        {
            nic->SetBaseRtt(fabric.GetBaseRtt(e));
        }
        if (needsCap)
        {
            nic->SetAttribute("BdpCap", UintegerValue(fabric.GetBdpCap(e)));
        }
        for (uint8_t c = 1; c < nic->GetNClasses(); ++c)
        {
            if (given.Get().IsZero())
            {
                nic->SetBaseRtt(fabric.GetBaseRtt(e, c), c);
            }
            nic->SetBdpCap(fabric.GetBdpCap(e, c), c);
        }
    }
}

} // namespace ns3
