/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "ib-switch.h"

#include "ns3/boolean.h"
#include "ns3/enum.h"
#include "ns3/ib-link-credits.h"
#include "ns3/log.h"
#include "ns3/node.h"
#include "ns3/ns3-compat.h"
#include "ns3/nstime.h"
#include "ns3/rdma-fixed-attribute.h"
#include "ns3/string.h"
#include "ns3/uinteger.h"

#include <algorithm>

namespace ns3
{

NS_LOG_COMPONENT_DEFINE("IbSwitch");

NS_OBJECT_ENSURE_REGISTERED(IbSwitch);

namespace
{

/// The earliest on top; ties by input, so that runs repeat.
constexpr auto DUE_LATER = [](const auto& a, const auto& b) { return a > b; };

} // namespace

TypeId
IbSwitch::GetTypeId()
{
    static TypeId tid =
        TypeId("ns3::IbSwitch")
            .SetParent<RdmaSwitchBase>()
            .SetGroupName("Rdma")
            .AddConstructor<IbSwitch>()
            .AddAttribute("Latency",
                          "Time from a packet's first bit in to its first bit out; of a stored "
                          "packet, from its last bit in",
                          TimeValue(NanoSeconds(90)),
                          RdmaFixed<IbSwitch>(MakeTimeAccessor(&IbSwitch::m_latency)),
                          MakeTimeChecker(Time(0), Seconds(1)))
            .AddAttribute("CutThrough",
                          "Packets are passed on while they still come in",
                          BooleanValue(true),
                          RdmaFixed<IbSwitch>(MakeBooleanAccessor(&IbSwitch::m_cutThrough)),
                          MakeBooleanChecker())
            .AddAttribute(
                "CongestionThreshold",
                "Queue of an output and VL above which packets get FECN: (16 - this) / 16 of a "
                "VL's buffer; 15 is the shortest, 0 never (InfiniBand Architecture 1, A10)",
                UintegerValue(0),
                RdmaFixed<IbSwitch>(MakeUintegerAccessor(&IbSwitch::m_threshold)),
                MakeUintegerChecker<uint8_t>(0, 15))
            .AddAttribute("MarkingRate",
                          "Packets that could be marked and are not between two that are; 10: "
                          "Mellanox OFED 2.2 manual",
                          UintegerValue(rdma::IbMarkingManagerDefaults(false).markingRate),
                          RdmaFixed<IbSwitch>(MakeUintegerAccessor(&IbSwitch::m_markingRate)),
                          MakeUintegerChecker<uint16_t>())
            .AddAttribute("MarkingPacketSize",
                          "Shorter packets are not marked (64 B each); 8: Mellanox OFED 2.2 manual",
                          UintegerValue(rdma::IbMarkingManagerDefaults(false).packetSize),
                          RdmaFixed<IbSwitch>(MakeUintegerAccessor(&IbSwitch::m_packetSize)),
                          MakeUintegerChecker<uint8_t>())
            .AddAttribute("VictimMask",
                          "Outputs that mark though they wait for credits, so that the root of the "
                          "congestion is behind them; assumed",
                          EnumValue(ADAPTERS),
                          RdmaFixed<IbSwitch>(MakeEnumMemberAccessor(&IbSwitch::m_victims)),
                          MakeEnumChecker(NONE, "none", ADAPTERS, "adapters", ALL, "all"))
            .AddAttribute("LoadBalancer",
                          "By which of several shortest ways a packet goes: adaptive (routing), "
                          "spray, ecmp, or another RdmaLoadBalancer; empty: as the forwarding "
                          "table says",
                          StringValue(""),
                          RdmaFixed<IbSwitch>(MakeStringAccessor(&IbSwitch::SetLoadBalancer,
                                                                 &IbSwitch::GetLoadBalancerName)),
                          MakeStringChecker());
    return tid;
}

IbSwitch::IbSwitch()
    : m_heldEvent(this)
{
}

IbSwitch::~IbSwitch() = default;

void
IbSwitch::DoDispose()
{
    for (Input& input : m_inputs)
    {
        input.held.Clear();
    }
    RdmaSwitchBase::DoDispose();
}

void
IbSwitch::SetTables(std::vector<uint16_t> forwarding, std::vector<uint8_t> lanes)
{
    NS_LOG_FUNCTION(this);
    m_forwarding = std::move(forwarding);
    m_lanes = std::move(lanes);
}

std::string
IbSwitch::Start(uint32_t)
{
    NS_LOG_FUNCTION(this);
    std::string error = CheckLoadBalancer(false);
    const Ptr<RdmaLoadBalancer> balancer = GetLoadBalancer();
    if (error.empty() && balancer && balancer->NeedsCapacity())
    {
        error = "ns3::IbSwitch::LoadBalancer: '" + GetLoadBalancerName() +
                "' weighs ways by their capacity, which a subnet manager's tables do not have; "
                "allowed: adaptive, drill, ecmp, flowlet, spray";
    }
    else if (error.empty() && balancer && (balancer->NeedsFrames() || balancer->TakesFrames()))
    {
        error = "ns3::IbSwitch::LoadBalancer: '" + GetLoadBalancerName() +
                "' tells switches of each other in a tag of Ethernet's frames; allowed: adaptive, "
                "drill, ecmp, flowlet, spray";
    }
    if (!error.empty())
    {
        return GetName() + ": " + error;
    }
    if (m_ports.size() > PORT_MASK + 1U)
    {
        return GetName() + ": " + std::to_string(m_ports.size()) + " ports; allowed: at most " +
               std::to_string(PORT_MASK + 1U);
    }
    const std::size_t lanes = m_ports.size() * m_ports.size() * SERVICE_LEVELS;
    if (!m_lanes.empty() && m_lanes.size() != lanes)
    {
        return GetName() + ": the table of VLs has " + std::to_string(m_lanes.size()) +
               " entries, not " + std::to_string(lanes);
    }
    uint64_t fastest = 0;
    for (const auto& port : m_ports)
    {
        m_rates.push_back(port->GetRate());
        fastest = std::max(fastest, port->GetRate());
    }
    m_inputs.resize(m_ports.size());
    for (std::size_t i = 0; i < m_ports.size(); ++i)
    {
        if (!m_ports[i]->GetCredits())
        {
            return GetName() + ": its port " + std::to_string(i) + " has no credits";
        }
        m_inputs[i].slow = m_cutThrough && m_rates[i] < fastest;
        m_ports[i]->SetCutThrough(m_cutThrough);
        m_ports[i]->SetReceiveLatency(m_latency.GetPicoSeconds());
        if (m_threshold)
        {
            const rdma::Bytes buffer(64 * m_ports[i]->GetCredits()->config.bufferBlocks);
            const bool adapter = m_ports[i]->GetPeer()->GetCredits()->config.adapter;
            for (uint32_t v = 0; v < RdmaPort::PRIORITIES; ++v)
            {
                m_markers.emplace_back(
                    rdma::IbMarkingParameters{m_threshold,
                                              m_markingRate,
                                              m_packetSize,
                                              m_victims == ALL ||
                                                  (m_victims == ADAPTERS && adapter)},
                    buffer);
            }
        }
    }
    return {};
}

uint64_t
IbSwitch::GetBufferBytesPerPort() const
{
    const IbPortConfig& config = m_ports.front()->GetCredits()->config;
    return uint64_t{64} * config.bufferBlocks * config.lanes;
}

// Data plane -------------------------------------------------------------------------------------

void
IbSwitch::OnFrame(RdmaPort* port, RdmaFrame* frame, int64_t now)
{
    NS_LOG_FUNCTION(this << port << frame << now);
    CountReceived(*port, *frame, now);
    const uint16_t in = port->GetPortIndex();
    Input& input = m_inputs[in];
    if (input.slow)
    {
        const uint32_t lid = frame->route.GetDestinationLid();
        const uint16_t out = lid < m_forwarding.size() ? m_forwarding[lid] : NO_PORT;
        // A link that is faster would run dry: so it starts when all is here. Those behind it for
        // the same output wait as well, they have come later.
        if (out < DEAD_PORT && m_rates[out] > m_rates[in])
        {
            frame->time = now + port->GetSerialization(frame->wireBytes);
            input.held.PushBack(frame);
            m_due.emplace_back(frame->time, in);
            std::push_heap(m_due.begin(), m_due.end(), DUE_LATER);
            m_heldEvent.ScheduleAt(frame->time, port->GetNode()->GetId());
            return;
        }
    }
    Forward(in, frame, now);
}

void
IbSwitch::OnHeld()
{
    const int64_t tick = RdmaClock::Now();
    while (!m_due.empty() && m_due.front().first <= tick)
    {
        const auto [at, in] = m_due.front();
        std::pop_heap(m_due.begin(), m_due.end(), DUE_LATER);
        m_due.pop_back();
        Forward(in, m_inputs[in].held.PopFront(), at);
    }
}

void
IbSwitch::Forward(uint16_t in, RdmaFrame* frame, int64_t now)
{
    const uint16_t out = FindPort(*frame, now);
    const uint8_t laneIn = frame->priority;
    uint8_t laneOut = 0;
    if (!m_lanes.empty() && out < DEAD_PORT)
    {
        laneOut =
            m_lanes[(in * m_ports.size() + out) * SERVICE_LEVELS + (frame->serviceLevel & 15)];
    }
    if (out >= DEAD_PORT || laneOut >= RdmaPort::PRIORITIES) // VL 15: to be dropped (7.6.6)
    {
        RdmaPort* port = PeekPointer(m_ports[in]);
        const uint32_t blocks = port->GetBlocks(frame);
        Drop(nullptr, frame, out == DEAD_PORT ? DEAD_NEXT_HOP : NO_ROUTE, now);
        port->ReturnCredits(laneIn, blocks, now);
        return;
    }
    RdmaPort* egress = PeekPointer(m_ports[out]);
    frame->inPort = static_cast<uint16_t>(in | laneIn << PORT_BITS);
    frame->priority = laneOut;
    frame->time = now; // queued since
    if (frame->extra && frame->extra->journey)
    {
        frame->extra->journey->Join(egress, *frame, now);
    }
    egress->EnqueueOnLane(frame, now);
}

uint16_t
IbSwitch::FindPort(const RdmaFrame& frame, int64_t now)
{
    const uint32_t lid = frame.route.GetDestinationLid();
    const uint16_t table = lid < m_forwarding.size() ? m_forwarding[lid] : NO_PORT;
    if (table == NO_PORT || !HasLoadBalancer())
    {
        return table;
    }
    Candidates ways = FindCandidates(lid);
    if (ways.size == 0)
    {
        return table;
    }
    ways.table = table == DEAD_PORT ? NO_PORT : table;
    const uint16_t chosen = Choose(ways, frame, now);
    NS_LOG_LOGIC(GetName() << ": port " << chosen << " for LID " << lid << ", whose table entry is "
                           << table << ", at " << now << " ps");
    m_rerouted += chosen != table;
    return chosen;
}

void
IbSwitch::OnLinkDown(RdmaPort* port, RdmaFrameList frames, int64_t now)
{
    NS_LOG_FUNCTION(this << port << now);
    while (!frames.IsEmpty())
    {
        RdmaFrame* frame = frames.PopFront();
        if (frame->inPort == UINT16_MAX) // ordinary traffic of this node itself
        {
            port->LoseWithLink(frame, now);
            continue;
        }
        RdmaPort* ingress = PeekPointer(m_ports[PortOf(frame->inPort)]);
        const uint8_t lane = LaneOf(frame->inPort);
        const uint32_t blocks = port->GetBlocks(frame);
        Drop(port, frame, LINK_DOWN, now);
        ingress->ReturnCredits(lane, blocks, now);
    }
}

void
IbSwitch::OnRateChange(uint16_t port)
{
    NS_LOG_FUNCTION(this << port);
    m_rates[port] = m_ports[port]->GetRate();
    const uint64_t fastest = *std::max_element(m_rates.begin(), m_rates.end());
    for (std::size_t i = 0; i < m_inputs.size(); ++i)
    {
        m_inputs[i].slow = m_cutThrough && m_rates[i] < fastest;
    }
}

void
IbSwitch::OnDequeue(RdmaPort* port, RdmaFrame* frame, uint64_t queueBytes, int64_t now)
{
    NS_LOG_FUNCTION(this << port << frame << queueBytes << now);
    if (frame->inPort == UINT16_MAX) // ordinary traffic of this node itself
    {
        return;
    }
    ++m_forwarded;
    if (!m_markers.empty() && (frame->flags & RdmaFrame::ECT))
    {
        const uint8_t lane = frame->priority;
        // A root of congestion only gets more than its link takes. Where a packet has waited while
        // there were no credits the root is behind.
        const bool waited = port->GetCredits()->lanes[lane].stalledUntil > frame->time;
        if (m_markers[port->GetPortIndex() * RdmaPort::PRIORITIES + lane]
                .Mark(port->GetFrameBytes(frame), rdma::Bytes(queueBytes), waited))
        {
            Mark(port, frame, queueBytes, now);
        }
    }
    if (frame->extra)
    {
        NoteLeaving(*port, *frame, now);
    }
    RdmaPort* ingress = PeekPointer(m_ports[PortOf(frame->inPort)]);
    ingress->ReturnCreditsAfter(LaneOf(frame->inPort), port->GetBlocks(frame), *port, now);
}

} // namespace ns3
