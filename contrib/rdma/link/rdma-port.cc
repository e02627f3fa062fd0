/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "rdma-port.h"

#include "contrib/rdma/core/flow-hash.h"
#include "rdma-channel.h"

#include "ns3/abort.h"
#include "ns3/hash.h"
#include "ns3/log.h"
#include "ns3/node.h"
#include "ns3/rng-seed-manager.h"

#include <algorithm>
#include <utility>

namespace ns3
{

NS_LOG_COMPONENT_DEFINE("RdmaPort");

namespace
{

/// Behind a port that has neither NIC nor switch: an end of a plain point-to-point link.
class NoUser : public RdmaPortUser
{
  public:
    void OnFrame(RdmaPort*, RdmaFrame* frame, int64_t) override
    {
        RdmaFramePool::Get().Free(frame);
    }

    void OnDequeue(RdmaPort*, RdmaFrame*, uint64_t, int64_t) override
    {
    }

    RdmaFrame* Pull(RdmaPort*, uint8_t, int64_t) override
    {
        return nullptr;
    }
};

NoUser g_noUser;

} // namespace

RdmaPort::RdmaPort()
    : m_txEvent(this),
      m_rxEvent(this),
      m_pauseEvent(this)
{
    m_user = &g_noUser;
    SetRate(m_rate);
}

RdmaPort::~RdmaPort() = default;

void
RdmaPort::DoDispose()
{
    m_inFlight.Clear();
    m_controlInFlight.Clear();
    m_control.Clear();
    for (Queue& queue : m_queue)
    {
        queue.list.Clear();
    }
    RdmaQueueDisc* disc = m_disc ? m_disc->Find() : nullptr;
    for (uint8_t p = 0; disc && p < PRIORITIES; ++p)
    {
        disc->Take(p).Clear();
    }
    m_disc.reset();
    m_retry.reset();
    m_cells.reset();
    m_peer = nullptr;
    m_user = &g_noUser;
    m_faults = {};
    RdmaPortState::DoDispose();
}

void
RdmaPort::SetUser(RdmaPortUser* user, uint16_t index)
{
    NS_LOG_FUNCTION(this << user << index);
    m_user = user;
    m_index = index;
}

void
RdmaPort::AttachTo(Ptr<RdmaChannel> channel, Ptr<RdmaPort> peer)
{
    NS_LOG_FUNCTION(this << channel << peer);
    SetChannel(channel);
    m_peer = PeekPointer(peer);
    m_delay = channel->GetDelayPs() + GetInterfaceDelayPs(m_rate);
    m_faults.Start(channel->GetBitErrorRate());
    m_errorProne = m_faults.GetBitErrorRate() > 0;
    UpdateSuspicion();
}

void
RdmaPort::SetRate(uint64_t bps)
{
    NS_LOG_FUNCTION(this << bps);
    NS_ABORT_MSG_IF(bps == 0, "a port needs a rate");
    if (bps != m_rate)
    {
        m_rates.Change(m_rate, RdmaClock::Now());
    }
    m_rate = bps;
    const uint64_t perByte = 8000000000000ULL % bps == 0 ? 8000000000000ULL / bps : 0;
    const bool fits = perByte <= UINT32_MAX && perByte % static_cast<uint64_t>(m_timeUnit) == 0;
    m_psPerByte = fits && m_clock == 1 ? static_cast<uint32_t>(perByte) : 0;
    m_serialization = {};
    if (m_retry)
    {
        TimeRetry();
    }
    if (m_peer && m_peer->m_retry)
    {
        m_peer->TimeRetry();
    }
    if (m_cells)
    {
        m_cells->SetSpacing(ToPs(8 * uint64_t{m_creditSpacing}, m_rate));
    }
}

void
RdmaPort::SetClockTolerance(double ppm)
{
    m_clockTolerance = ppm;
    if (ppm == 0 && m_clock == 1)
    {
        return;
    }
    // By name, so that it does not depend on who makes which port first, or in which process.
    const uint64_t run = uint64_t{RngSeedManager::GetSeed()} << 32 ^ RngSeedManager::GetRun();
    const uint64_t drawn = rdma::Mix64(run ^ Hash64(m_name));
    m_clock = 1 + 1e-6 * ppm * (static_cast<double>(drawn >> 11) * 0x1p-52 - 1);
    SetRate(m_rate);
}

double
RdmaPort::GetClockTolerance() const
{
    return m_clockTolerance;
}

void
RdmaPort::SetTransmitTimeUnit(Time unit)
{
    m_timeUnit = std::max<int64_t>(1, unit.GetPicoSeconds());
    SetRate(m_rate);
}

Time
RdmaPort::GetTransmitTimeUnit() const
{
    return m_timeUnit > 1 ? PicoSeconds(static_cast<uint64_t>(m_timeUnit)) : Time(0);
}

bool
RdmaPort::IsLinkUp() const
{
    return m_peer != nullptr && !m_down;
}

void
RdmaPort::SetNode(Ptr<Node> node)
{
    NS_LOG_FUNCTION(this << node);
    RdmaPortState::SetNode(node);
    m_context = node->GetId();
}

void
RdmaPort::SetCutThrough(bool cutThrough)
{
    NS_LOG_FUNCTION(this << cutThrough);
    m_cutThrough = cutThrough;
}

void
RdmaPort::ExpectBadFrames()
{
    NS_LOG_FUNCTION(this);
    m_expectsBad = true;
    UpdateSuspicion();
}

void
RdmaPort::UseCredits(const IbPortConfig& config)
{
    NS_LOG_FUNCTION(this);
    m_credits = std::make_unique<IbPortCredits>(config, *this);
    m_hasCredits = m_ownOrder = true;
    UpdateSuspicion();
}

void
RdmaPort::StartCredits()
{
    NS_LOG_FUNCTION(this);
    m_credits->Start(*m_peer->m_credits);
}

void
RdmaPort::SetReceiveLatency(int64_t ps)
{
    NS_LOG_FUNCTION(this << ps);
    if (m_retry)
    {
        m_retry->SetLatency(ps); // what it takes is whole, and not judged later
        return;
    }
    m_receiveLatency = ps;
    if (m_peer && m_peer->m_peerUnit)
    {
        m_peer->m_reach = m_peer->m_delay + ps;
    }
}

void
RdmaPort::SetName(std::string name)
{
    NS_LOG_FUNCTION(this << name);
    m_name = std::move(name);
    SetClockTolerance(m_clockTolerance);
}

void
RdmaPort::SetStrictMask(uint8_t mask)
{
    NS_LOG_FUNCTION(this << mask);
    m_strict = mask;
}

void
RdmaPort::SetWeight(uint8_t priority, uint32_t bytes)
{
    NS_LOG_FUNCTION(this << priority << bytes);
    NS_ABORT_MSG_IF(priority >= PRIORITIES || bytes == 0, "no such priority, or no weight");
    m_queue[priority].weight = bytes;
}

void
RdmaPort::SetArrivalOrder(uint32_t number)
{
    NS_LOG_FUNCTION(this << number);
    m_context = RdmaEventOrder::ArrivalContext(GetNode()->GetId(), number);
}

uint32_t
RdmaPort::ControlContext() const
{
    const bool ordered = RdmaEventOrder::NodeOf(m_context) != m_context;
    return ordered ? m_context | RdmaEventOrder::CONTROL : m_context;
}

int64_t
RdmaPort::AssignStreams(int64_t stream)
{
    NS_LOG_FUNCTION(this << stream);
    return m_faults.AssignStreams(stream);
}

void
RdmaPort::SendOnLink(Ptr<Packet> packet, uint16_t protocol)
{
    RdmaFrame* frame = RdmaFramePool::Get().Allocate();
    frame->wireBytes =
        std::max<uint32_t>(packet->GetSize() + rdma::kEthernetHeaderBytes + rdma::kFcsBytes,
                           rdma::kMinimumFrameBytes) +
        m_lineOverhead;
    frame->src = frame->dst = 0;
    frame->route = RdmaRoute::None();
    frame->destQp = frame->psn = frame->aux = frame->dmaLength = 0;
    frame->SetLabel(RdmaFrame::NO_LABEL);
    frame->payload = static_cast<uint16_t>(packet->GetSize());
    frame->inPort = UINT16_MAX; // not a frame that a switch's buffer holds
    frame->opcode = RdmaOpcode::PACKET;
    frame->priority = 0;
    frame->flags = 0;
    frame->classEnable = 0;
    frame->extra = RdmaFramePool::Get().AllocateExtra();
    frame->extra->packet = packet->Copy();
    frame->extra->protocol = protocol;
    Enqueue(frame, RdmaClock::Now());
}

// Transmitter ------------------------------------------------------------------------------------

void
RdmaPort::ScheduleTransmit()
{
    m_txPending = true;
    const uint32_t node = RdmaEventOrder::NodeOf(m_context);
    if (m_unit)
    {
        NodeWindows::Active()->Schedule(
            *m_unit,
            RdmaClock::TickAt(m_busyUntil),
            node,
            reinterpret_cast<uintptr_t>(static_cast<NodeWindowPort*>(this)) |
                NodeWindowEvent::PORT);
        return;
    }
    m_txEvent.ScheduleAt(m_busyUntil, node);
}

void
RdmaPort::OnTransmitEvent()
{
    if (m_down)
    {
        m_txScheduled = false;
        return;
    }
    m_txPending = false;
    StartNext(m_busyUntil, true); // nothing is sent while the event is pending
}

void
RdmaPort::StartNext(int64_t now, bool isAll)
{
    RdmaFrame* frame;
    bool isUpdate = false;
    if (m_hasControl)
    {
        frame = m_control.PopFront();
        m_hasControl = !m_control.IsEmpty();
        m_busyUntil = now + GetSerialization(frame->wireBytes);
        if (m_hasCredits)
        {
            m_credits->FillUpdate(frame, now);
            isUpdate = isAll && m_unit && !m_countsAhead;
        }
        else if (frame->opcode == RdmaOpcode::FLOW_CONTROL)
        {
            FillWord(frame, now);
        }
    }
    else
    {
        frame = !m_ownOrder ? NextFrame(now)
                : m_retry   ? m_retry->Next(now)
                : m_disc    ? m_disc->Next(now)
                            : m_credits->Next(now);
        if (!frame)
        {
            return;
        }
    }
    Transmit(frame, now);
    if (isUpdate && GoesOn() &&
        m_unit->RunOn(RdmaClock::TickAt(m_busyUntil), RdmaEventOrder::NodeOf(m_context)))
    {
        StartNext(m_busyUntil, true); // a flow-control packet takes next to no time
        return;
    }
    GoOn();
}

RdmaFrame*
RdmaPort::Dequeue(uint8_t eligible, int64_t now)
{
    const uint8_t strict = eligible & m_strict;
    uint8_t priority;
    if (strict)
    {
        priority = 31 - __builtin_clz(strict);
    }
    else if ((eligible & (eligible - 1)) == 0)
    {
        priority = __builtin_ctz(eligible);
    }
    else
    {
        priority = PickDwrr(eligible);
    }
    Queue& queue = m_queue[priority];
    RdmaFrame* frame = queue.list.PopFront();
    // In a long queue it has been out of every cache since it joined; there is a frame's time left.
    PrefetchLine(queue.list.Front());
    const uint64_t before = queue.bytes;
    queue.bytes -= GetFrameBytes(frame);
    m_queuedBytes -= GetFrameBytes(frame);
    if (queue.list.IsEmpty())
    {
        m_waiting &= ~(1U << priority);
        queue.deficit = 0;
    }
    if (m_queueTraced)
    {
        m_queueTrace(this, priority, queue.bytes, now);
    }
    // Busy before the user hears of it: what it does now (a resume out of this very port) must
    // queue behind.
    m_busyUntil = now + GetSerialization(frame->wireBytes);
    m_user->OnDequeue(this, frame, before, now);
    return frame;
}

uint8_t
RdmaPort::PickDwrr(uint8_t eligible)
{
    for (;;)
    {
        if (eligible >> m_dwrrNext & 1)
        {
            Queue& queue = m_queue[m_dwrrNext];
            const uint32_t bytes = GetFrameBytes(queue.list.Front());
            if (queue.deficit >= bytes)
            {
                queue.deficit -= bytes;
                return m_dwrrNext;
            }
        }
        // This queue's turn is over; the next one in the round gets its quantum.
        m_dwrrNext = (m_dwrrNext + 1) % PRIORITIES;
        if (eligible >> m_dwrrNext & 1)
        {
            m_queue[m_dwrrNext].deficit += m_queue[m_dwrrNext].weight;
        }
    }
}

void
RdmaPort::Transmit(RdmaFrame* frame, int64_t now)
{
    NS_LOG_LOGIC(m_name << " sends opcode " << +static_cast<uint8_t>(frame->opcode) << " psn "
                        << frame->psn << " to endpoint " << frame->dst << " at " << now << " ps");
    ++m_txFrames;
    m_txWireBytes += frame->wireBytes;
    m_txDataFrames += IsData(frame->opcode);
    if (m_txTraced)
    {
        m_txTrace(this, frame, now);
    }
    if (m_sendsWithCare)
    {
        const bool isNew = !IsControl(frame) && (!m_retry || m_retry->OnSent(frame, now));
        if (isNew && m_cells)
        {
            m_cells->OnSent(*frame, now);
        }
        if (m_retry)
        {
            m_retry->GoOn();
        }
        if (m_cut)
        {
            LoseSent(frame, now);
            return;
        }
    }
    if (m_peerUnit)
    {
        SendToUnit(frame, now);
        return;
    }
    m_peer->Arrive(frame, now + m_delay, m_busyUntil + m_delay);
}

// Between units ----------------------------------------------------------------------------------

void
RdmaPort::UseWindows()
{
    NS_LOG_FUNCTION(this);
    m_peerUnit = nullptr;
    if (m_peer->m_remote || !m_peer->m_unit || m_peer->m_unit == m_unit)
    {
        return;
    }
    m_peerUnit = m_peer->m_unit;
    m_peerSlot = m_peer->m_slot;
    m_peerShard = static_cast<uint8_t>(m_peerUnit->shard->GetIndex());
    m_reach = m_delay + m_peer->m_receiveLatency;
    m_peerCutsThrough = m_peer->m_cutThrough;
}

inline void
RdmaPort::SendToUnit(RdmaFrame* frame, int64_t now)
{
    // As DeliveryTime has it, without a look at the peer unless need be: it is cold.
    const bool plain = !IsControl(frame);
    frame->time = plain ? (m_peerCutsThrough ? now : m_busyUntil) + m_reach
                  : frame->opcode == RdmaOpcode::FLOW_CONTROL
                      ? m_busyUntil + m_delay
                      : m_peer->DeliveryTime(frame, now + m_delay, m_busyUntil + m_delay);
    NodeWindows::Unit* unit = NodeWindows::Unit::Running();
    if (!unit)
    {
        NodeWindows::Active()->Send(
            *m_peerUnit,
            m_peerShard,
            {RdmaClock::TickAt(frame->time), frame, m_peerSlot, plain && !m_countsAhead});
        return;
    }
    if (unit->shard->GetNear() == m_peerShard)
    {
        PrefetchLine(m_peerUnit);
    }
    NodeWindowSent& sent = unit->outbox.Add();
    sent.mail.ts = RdmaClock::TickAt(frame->time);
    sent.mail.frame = frame;
    sent.mail.slot = m_peerSlot;
    sent.mail.plain = plain && !m_countsAhead;
    sent.to = m_peerUnit;
    sent.shard = m_peerShard;
}

// Queues ------------------------------------------------------------------------------------------

RdmaFrameList
RdmaPort::TakeQueue(uint8_t priority, int64_t now)
{
    NS_LOG_FUNCTION(this << priority << now);
    Queue& queue = m_queue[priority];
    RdmaQueueDisc* disc = m_disc ? m_disc->Find() : nullptr;
    const RdmaFrameList frames = disc ? disc->Take(priority) : queue.list;
    queue.list = {};
    m_queuedBytes -= queue.bytes;
    queue.bytes = 0;
    queue.deficit = 0;
    m_waiting &= ~(1U << priority);
    if (!frames.IsEmpty() && m_queueTraced)
    {
        m_queueTrace(this, priority, 0, now);
    }
    return frames;
}

void
RdmaPort::ExchangeLast(uint8_t priority, RdmaFrame& frame, int64_t now)
{
    NS_LOG_FUNCTION(this << priority << now);
    Queue& queue = m_queue[priority];
    RdmaFrame* last = queue.list.Back();
    const uint64_t more = uint64_t{GetFrameBytes(&frame)} - GetFrameBytes(last); // modulo 2^64
    std::swap(*last, frame);
    last->next = nullptr;
    queue.bytes += more;
    m_queuedBytes += more;
    m_maxQueueBytes = std::max(m_maxQueueBytes, m_queuedBytes);
    if (m_queueTraced)
    {
        m_queueTrace(this, priority, queue.bytes, now);
    }
}

void
RdmaPort::TakeQueued(uint8_t priority, RdmaFrame& frame, RdmaFrame* before, int64_t now)
{
    NS_LOG_FUNCTION(this << priority << now);
    Queue& queue = m_queue[priority];
    queue.list.PopBehind(before);
    queue.bytes -= GetFrameBytes(&frame);
    m_queuedBytes -= GetFrameBytes(&frame);
    if (queue.list.IsEmpty())
    {
        queue.deficit = 0;
        m_waiting &= ~(1U << priority);
    }
    if (m_queueTraced)
    {
        m_queueTrace(this, priority, queue.bytes, now);
    }
}

void
NoteLeaving(RdmaPort& port, RdmaFrame& frame, int64_t now)
{
    RdmaFrameExtra& extra = *frame.extra;
    if (extra.journey)
    {
        extra.journey->Leave(port, frame, frame.time, now);
    }
    if (frame.opcode == RdmaOpcode::ETHERNET)
    {
        port.Count().ordinaryBytes += frame.payload;
    }
    RdmaTelemetry& telemetry = extra.telemetry;
    if (!extra.hasTelemetry || frame.opcode == RdmaOpcode::ACKNOWLEDGE || IsNdpAnswer(frame.opcode))
    {
        return; // an ACK brings back what its packet has
    }
    ++telemetry.switches;
    if (telemetry.pintPeriod)
    {
        telemetry.pint = std::max(telemetry.pint, port.GetPint(telemetry.pintPeriod, now));
    }
    if (telemetry.collects && telemetry.hops < RdmaTelemetry::MAX_HOPS)
    {
        telemetry.hop[telemetry.hops++] = {now,
                                           port.GetTxWireBytes(),
                                           port.GetQueuedBytes(),
                                           port.GetRate()};
    }
}

} // namespace ns3
