/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "conweave-load-balancer.h"

#include "contrib/rdma/core/roce-sizes.h"

#include "ns3/log.h"
#include "ns3/rdma-switch-base.h"
#include "ns3/uinteger.h"

#include <algorithm>
#include <utility>

namespace ns3
{

NS_LOG_COMPONENT_DEFINE("ConweaveLoadBalancer");

NS_OBJECT_ENSURE_REGISTERED(RdmaConweaveLoadBalancer);

namespace
{

/// Headers, and two numbers of 32 bits: 70 B, Ethernet to FCS.
constexpr uint32_t REPORT_BYTES =
    RdmaFrame::DATA_OVERHEAD_BYTES - RdmaFrame::WIRE_ONLY_BYTES + rdma::kNdpAnswerBytes;

} // namespace

TypeId
RdmaConweaveLoadBalancer::GetTypeId()
{
    // Numbers are those of the authors' simulator for two tiers (run.py).
    static TypeId tid =
        TypeId("ns3::ConweaveLoadBalancer")
            .SetParent<RdmaEcmpLoadBalancer>()
            .SetGroupName("Rdma")
            .AddConstructor<RdmaConweaveLoadBalancer>()
            .AddAttribute("ReplyDeadline",
                          "An answer that takes so much longer than without queues is late: the "
                          "flow changes its path",
                          TimeValue(MicroSeconds(4)),
                          MakeTimeAccessor(&RdmaConweaveLoadBalancer::m_reply),
                          MakeTimeChecker(Time(0), Seconds(1000)))
            .AddAttribute("PathPause",
                          "A path on which a packet was marked is not taken for so long",
                          TimeValue(MicroSeconds(16)),
                          MakeTimeAccessor(&RdmaConweaveLoadBalancer::m_pause),
                          MakeTimeChecker(Time(0), Seconds(1000)))
            .AddAttribute("FlushTime",
                          "Held packets wait so much longer than the old path's last one should "
                          "take",
                          TimeValue(MicroSeconds(16)),
                          MakeTimeAccessor(&RdmaConweaveLoadBalancer::m_flush),
                          MakeTimeChecker(Time(0), Seconds(1000)))
            .AddAttribute("HoldTime",
                          "The same while nothing of the old path has come",
                          TimeValue(MicroSeconds(200)),
                          MakeTimeAccessor(&RdmaConweaveLoadBalancer::m_hold),
                          MakeTimeChecker(Time(0), Seconds(1000)))
            .AddAttribute("IdleTime",
                          "A flow without packets for so long may take another path at once",
                          TimeValue(MicroSeconds(300)),
                          MakeTimeAccessor(&RdmaConweaveLoadBalancer::m_idle),
                          MakeTimeChecker(Time(0), Seconds(1000)))
            .AddAttribute("ReportPriority",
                          "Priority of what switches tell each other (the simulator: that of ACKs, "
                          "the highest; 6 is strict by default: assumed)",
                          UintegerValue(6),
                          MakeUintegerAccessor(&RdmaConweaveLoadBalancer::m_priority),
                          MakeUintegerChecker<uint8_t>(0, 7));
    return tid;
}

RdmaConweaveLoadBalancer::RdmaConweaveLoadBalancer()
    : m_random(CreateObject<UniformRandomVariable>()),
      m_timer(this)
{
}

RdmaConweaveLoadBalancer::~RdmaConweaveLoadBalancer()
{
    for (Receiver* receiver : m_holding)
    {
        receiver->held.Clear();
    }
}

uint64_t
RdmaConweaveLoadBalancer::KeyOf(uint32_t src, uint32_t dst, uint32_t destQp)
{
    return rdma::Mix64(rdma::Mix64(uint64_t{src} << 32 | dst) + destQp);
}

uint32_t
RdmaConweaveLoadBalancer::EdgeOf(uint32_t endpoint) const
{
    return m_edges && endpoint < m_edges->edgeOf.size() ? m_edges->edgeOf[endpoint]
                                                        : RdmaEdges::NONE;
}

void
RdmaConweaveLoadBalancer::OnRoutes(uint32_t)
{
    m_parameters = {m_reply.GetPicoSeconds(),
                    m_pause.GetPicoSeconds(),
                    m_flush.GetPicoSeconds(),
                    m_hold.GetPicoSeconds(),
                    m_idle.GetPicoSeconds()};
}

void
RdmaConweaveLoadBalancer::OnPlace(RdmaPlace place)
{
    m_edges = std::move(place.edges);
    m_own = place.own;
    m_near = std::move(place.near);
    m_busyUntil.resize(m_own == RdmaEdges::NONE ? 0 : m_edges->edges);
}

int64_t
RdmaConweaveLoadBalancer::AssignStreams(int64_t stream)
{
    m_random->SetStream(stream);
    return 1;
}

bool
RdmaConweaveLoadBalancer::Take(RdmaFrame* frame, uint16_t inPort, rdma::TimePoint now)
{
    if (m_own == RdmaEdges::NONE)
    {
        return false;
    }
    const uint32_t to = EdgeOf(frame->dst);
    if (to == m_own)
    {
        if (frame->opcode == RdmaOpcode::SWITCH_REPORT)
        {
            Hear(frame, now.ps);
            return true;
        }
        return frame->extra && frame->extra->hasTag && Receive(frame, inPort, now.ps);
    }
    if (to != RdmaEdges::NONE && m_near[to] && IsData(frame->opcode) && EdgeOf(frame->src) == m_own)
    {
        Send(*frame, to, now.ps);
    }
    return false;
}

uint16_t
RdmaConweaveLoadBalancer::Choose(const Candidates& candidates,
                                 const RdmaFrame& frame,
                                 const RdmaQueues&,
                                 rdma::TimePoint)
{
    const bool tagged = frame.extra && frame.extra->hasTag && EdgeOf(frame.src) == m_own;
    return tagged ? frame.extra->tag.port : PortOfFlow(candidates, frame);
}

// First switch -----------------------------------------------------------------------------------

int64_t&
RdmaConweaveLoadBalancer::BusyUntil(uint32_t to, uint16_t port)
{
    std::vector<int64_t>& ports = m_busyUntil[to];
    if (port >= ports.size())
    {
        ports.resize(port + std::size_t{1});
    }
    return ports[port];
}

uint16_t
RdmaConweaveLoadBalancer::PickPort(const Candidates& candidates, uint32_t to, int64_t now)
{
    for (uint32_t trial = 0; trial < 2; ++trial)
    {
        const uint16_t port = candidates.ports[m_random->GetInteger(0, candidates.size - 1)];
        if (BusyUntil(to, port) <= now)
        {
            return port;
        }
    }
    return NO_PORT;
}

int64_t
RdmaConweaveLoadBalancer::GetBaseRtt(uint16_t index, uint32_t wireBytes) const
{
    const RdmaSwitchBase& device = *GetSwitch();
    const Ptr<RdmaPort> port = device.GetPort(index);
    return 2 * (port->GetSerialization(wireBytes) +
                port->GetSerialization(REPORT_BYTES + port->GetLineOverhead())) +
           4 * (port->GetDelayPs() + device.GetLatencyPs());
}

void
RdmaConweaveLoadBalancer::Send(RdmaFrame& frame, uint32_t to, int64_t now)
{
    const Candidates candidates = RdmaWays(*GetSwitch()).Find(frame.dst);
    if (candidates.size < 2)
    {
        return;
    }
    Sender& sender = m_senders[KeyOf(frame.src, frame.dst, frame.destQp)];
    const bool gone =
        std::find(candidates.begin(), candidates.end(), sender.port) == candidates.end();
    const int64_t baseRtt = GetBaseRtt(gone ? candidates.ports[0] : sender.port, frame.wireBytes);
    const auto decision = sender.law.OnData(now, baseRtt, m_parameters);
    const uint16_t other = decision.pathNow || decision.pathAfter || gone
                               ? PickPort(candidates, to, now)
                               : uint16_t{NO_PORT};
    const uint16_t before = sender.port;
    if (gone) // a new flow, or its link has failed
    {
        sender.port = other != NO_PORT
                          ? other
                          : candidates.ports[m_random->GetInteger(0, candidates.size - 1)];
    }
    else if (decision.pathNow && other != NO_PORT)
    {
        sender.port = other;
    }
    const uint16_t port = sender.port;
    if (decision.pathAfter && other != NO_PORT)
    {
        sender.port = other;
    }
    if (before != NO_PORT && before != sender.port)
    {
        ++m_pathChanges;
        NS_LOG_LOGIC("switch " << GetNode() << ": flow " << frame.route.GetKey() << " from port "
                               << before << " to " << sender.port << " at " << now << " ps");
    }
    if (!frame.extra)
    {
        frame.extra = RdmaFramePool::Get().AllocateExtra();
    }
    frame.extra->hasTag = true;
    RdmaFrameTag& tag = frame.extra->tag;
    tag.port = port;
    tag.kind = static_cast<uint8_t>(decision.kind);
    tag.phase = decision.phase;
    tag.epoch = sender.law.Epoch();
    tag.sent = now;
    tag.tail = sender.law.Tail();
}

void
RdmaConweaveLoadBalancer::Hear(RdmaFrame* frame, int64_t now)
{
    const auto kind = static_cast<rdma::ConweaveKind>(frame->dmaLength >> 16);
    if (kind == rdma::ConweaveKind::kNotify)
    {
        // From an endpoint of the edge that the path leads to.
        BusyUntil(EdgeOf(frame->src), static_cast<uint16_t>(frame->dmaLength)) =
            now + m_parameters.pause;
    }
    else
    {
        const auto sender = m_senders.find(KeyOf(frame->dst, frame->src, frame->destQp));
        if (sender != m_senders.end())
        {
            sender->second.law.OnAnswer(kind, frame->aux, now);
        }
    }
    GetSwitch()->Consume(frame);
}

// Last switch ------------------------------------------------------------------------------------

void
RdmaConweaveLoadBalancer::Report(rdma::ConweaveKind kind,
                                 const RdmaFrame& data,
                                 const RdmaFrameTag& tag,
                                 uint16_t inPort,
                                 int64_t now)
{
    RdmaFrame* frame = RdmaFramePool::Get().Allocate();
    frame->wireBytes = REPORT_BYTES + GetSwitch()->GetPort(inPort)->GetLineOverhead();
    frame->src = data.dst;
    frame->dst = data.src;
    frame->destQp = data.destQp;
    frame->psn = 0;
    frame->SetLabel(RdmaFrame::NO_LABEL);
    frame->route = data.route;
    frame->aux = tag.epoch;
    frame->dmaLength = static_cast<uint32_t>(kind) << 16 | tag.port;
    frame->payload = 0;
    frame->inPort = inPort;
    frame->opcode = RdmaOpcode::SWITCH_REPORT;
    frame->priority = m_priority;
    frame->flags = 0;
    frame->dscp = static_cast<uint8_t>(m_priority << 3); // the class selector of its number
    GetSwitch()->Originate(frame, inPort, now);
}

bool
RdmaConweaveLoadBalancer::Receive(RdmaFrame* frame, uint16_t inPort, int64_t now)
{
    const RdmaFrameTag tag = frame->extra->tag;
    frame->extra->hasTag = false;
    const auto kind = static_cast<rdma::ConweaveKind>(tag.kind);
    Receiver& receiver = m_receivers[KeyOf(frame->src, frame->dst, frame->destQp)];
    const bool held = receiver.law.IsHolding();
    const auto verdict =
        receiver.law.OnData({kind, tag.phase, tag.epoch, tag.sent, tag.tail}, now, m_parameters);
    if (verdict.old)
    {
        return false;
    }
    if (verdict.flushBefore)
    {
        Flush(receiver, now);
    }
    if (frame->flags & RdmaFrame::CE)
    {
        Report(rdma::ConweaveKind::kNotify, *frame, tag, inPort, now);
    }
    if (kind == rdma::ConweaveKind::kRequest)
    {
        Report(rdma::ConweaveKind::kReply, *frame, tag, inPort, now);
    }
    else if (kind == rdma::ConweaveKind::kTail)
    {
        Report(rdma::ConweaveKind::kClear, *frame, tag, inPort, now);
    }
    if (receiver.law.IsHolding())
    {
        receiver.due = verdict.due;
        Arm(verdict.due);
    }
    if (verdict.hold)
    {
        if (!held || verdict.flushBefore)
        {
            m_holding.push_back(&receiver);
            m_mostHolding = std::max(m_mostHolding, static_cast<uint32_t>(m_holding.size()));
        }
        ++m_held;
        if (GetSwitch()->Store(frame, inPort, now))
        {
            receiver.held.PushBack(frame);
        }
        return true;
    }
    if (verdict.flushAfter)
    {
        GetSwitch()->PutBack(frame, inPort, now);
        receiver.law.OnFlushed();
        Flush(receiver, now);
        return true;
    }
    return false;
}

void
RdmaConweaveLoadBalancer::Flush(Receiver& receiver, int64_t now)
{
    m_holding.erase(std::find(m_holding.begin(), m_holding.end(), &receiver));
    receiver.due = NEVER;
    while (!receiver.held.IsEmpty())
    {
        GetSwitch()->Resume(receiver.held.PopFront(), now);
    }
}

void
RdmaConweaveLoadBalancer::Arm(int64_t at)
{
    if (at < m_timerAt)
    {
        m_timerAt = at;
        m_timer.ScheduleAt(at, GetNode());
    }
}

void
RdmaConweaveLoadBalancer::OnTimer()
{
    const int64_t now = RdmaClock::Now();
    if (now < m_timerAt)
    {
        return; // of a time that another one has come before
    }
    m_timerAt = NEVER;
    for (std::size_t i = 0; i < m_holding.size();)
    {
        Receiver& receiver = *m_holding[i];
        if (receiver.due <= now)
        {
            receiver.law.OnFlushed();
            Flush(receiver, now);
        }
        else
        {
            Arm(receiver.due);
            ++i;
        }
    }
}

} // namespace ns3
