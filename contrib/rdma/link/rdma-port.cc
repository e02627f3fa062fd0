/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "rdma-port.h"

#include "contrib/rdma/core/flow-hash.h"
#include "ib-link-credits.h"
#include "rdma-channel.h"
#include "rdma-gateway.h"

#include "ns3/log.h"
#include "ns3/node.h"

#include <algorithm>
#include <cmath>
#include <cstddef>

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

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Winvalid-offsetof" // g++ and clang++ know it of such classes, too

void
RdmaPort::CheckLines()
{
    static_assert(offsetof(RdmaPort, m_busyUntil) - offsetof(RdmaPort, m_rxFrames) == 64);
    static_assert(offsetof(RdmaPort, m_queue) - offsetof(RdmaPort, m_busyUntil) == 64);
}

#pragma GCC diagnostic pop

RdmaPort::RdmaPort()
    : m_errorProne(false),
      m_remote(false),
      m_cutThrough(false),
      m_hasCredits(false),
      m_suspicious(false),
      m_down(false),
      m_cut(false),
      m_hasControl(false),
      m_peerCutsThrough(false),
      m_everPaused(false),
      m_txEvent(this),
      m_rxEvent(this),
      m_pauseEvent(this)
{
    m_user = &g_noUser;
    SetRate(m_rate);
    m_address = Mac48Address::Allocate();
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
    m_peer = nullptr;
    m_user = &g_noUser;
    m_channel = nullptr;
    m_nodeObject = nullptr;
    m_packets = nullptr;
    m_errors = nullptr;
    m_dropsAtRandom = nullptr;
    m_receive =
        MakeNullCallback<bool, Ptr<NetDevice>, Ptr<const Packet>, uint16_t, const Address&>();
    m_promiscReceive = NetDevice::PromiscReceiveCallback();
    NetDevice::DoDispose();
}

void
RdmaPort::SetUser(RdmaPortUser* user, uint16_t index)
{
    m_user = user;
    m_index = index;
}

void
RdmaPort::AttachTo(Ptr<RdmaChannel> channel, Ptr<RdmaPort> peer)
{
    m_channel = channel;
    m_peer = PeekPointer(peer);
    m_delay = channel->GetDelayPs() + GetInterfaceDelayPs(m_rate);
    m_bitErrorRate = channel->GetBitErrorRate();
    m_errorProne = m_suspicious = m_bitErrorRate > 0;
    if (m_errorProne)
    {
        m_errors = CreateObject<ExponentialRandomVariable>();
        m_bitsToError = -1; // drawn at the first frame, once streams are assigned
    }
}

void
RdmaPort::SetRate(uint64_t bps)
{
    NS_ABORT_MSG_IF(bps == 0, "a port needs a rate");
    const int64_t now = RdmaClock::Now();
    const bool held = m_pastRates.empty() ? now > 0 : now > m_pastRates.back().until;
    if (bps != m_rate && held)
    {
        m_pastRates.push_back({now, m_rate});
    }
    m_rate = bps;
    const uint64_t perByte = 8000000000000ULL % bps == 0 ? 8000000000000ULL / bps : 0;
    const bool fits = perByte <= UINT32_MAX && perByte % static_cast<uint64_t>(m_timeUnit) == 0;
    m_psPerByte = fits ? static_cast<uint32_t>(perByte) : 0;
    m_serialization = {};
}

double
RdmaPort::GetMeanRate(int64_t from, int64_t until) const
{
    auto past = std::find_if(m_pastRates.begin(), m_pastRates.end(), [from](const PastRate& rate) {
        return rate.until > from;
    });
    if (past == m_pastRates.end() || from >= until)
    {
        return static_cast<double>(past == m_pastRates.end() ? m_rate : past->bps);
    }
    if (past->until >= until)
    {
        return static_cast<double>(past->bps);
    }
    double bits = 0; // x 1e12
    int64_t begin = from;
    for (; past != m_pastRates.end() && begin < until; ++past)
    {
        const int64_t end = std::min(past->until, until);
        bits += static_cast<double>(past->bps) * static_cast<double>(end - begin);
        begin = end;
    }
    bits += static_cast<double>(m_rate) * static_cast<double>(until - begin);
    return bits / static_cast<double>(until - from);
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

int64_t
RdmaPort::ComputeSerialization(uint32_t wireBytes) const
{
    return rdma::SerializationTime(rdma::Bytes(wireBytes),
                                   rdma::BitRate(m_rate),
                                   rdma::Duration(m_timeUnit))
        .ps;
}

int64_t
RdmaPort::ToPs(uint64_t bits, uint64_t rateBps)
{
    return std::llround(static_cast<double>(bits) * 1e12 / static_cast<double>(rateBps));
}

void
RdmaPort::SetReceiveLatency(int64_t ps)
{
    m_receiveLatency = ps;
}

void
RdmaPort::SetName(std::string name)
{
    m_name = std::move(name);
}

void
RdmaPort::SetStrictMask(uint8_t mask)
{
    m_strict = mask;
}

void
RdmaPort::SetWeight(uint8_t priority, uint32_t bytes)
{
    NS_ABORT_MSG_IF(priority >= PRIORITIES || bytes == 0, "no such priority, or no weight");
    m_queue[priority].weight = bytes;
}

void
RdmaPort::SetArrivalOrder(uint32_t number)
{
    m_context = RdmaEventOrder::ArrivalContext(m_nodeObject->GetId(), number);
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
    if (!m_errors)
    {
        return 0;
    }
    m_errors->SetStream(stream);
    return 1;
}

// Transmitter ------------------------------------------------------------------------------------

void
RdmaPort::ScheduleTransmit()
{
    m_txPending = true;
    const uint32_t node = RdmaEventOrder::NodeOf(m_context);
    if (m_unit)
    {
        NodeWindows::Active()->Schedule(*m_unit,
                                        RdmaClock::TickAt(m_busyUntil),
                                        node,
                                        reinterpret_cast<uintptr_t>(this) | NodeWindowEvent::PORT);
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
    StartNext(m_busyUntil); // nothing is sent while the event is pending
}

void
RdmaPort::StartNext(int64_t now)
{
    RdmaFrame* frame;
    if (m_hasControl)
    {
        frame = m_control.PopFront();
        m_hasControl = !m_control.IsEmpty();
        m_busyUntil = now + GetSerialization(frame->wireBytes);
        if (m_hasCredits)
        {
            FillCreditUpdate(frame, now);
        }
    }
    else if (m_hasCredits)
    {
        frame = NextWithCredits(now);
        if (!frame)
        {
            return;
        }
    }
    else if (const uint8_t eligible = m_waiting & ~m_paused)
    {
        frame = Dequeue(eligible, now);
    }
    else
    {
        frame = m_user->Pull(this, m_paused, now);
        if (!frame)
        {
            return;
        }
        m_busyUntil = now + GetSerialization(frame->wireBytes);
    }
    Transmit(frame, now);
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
    if (m_cut)
    {
        LoseSent(frame, now);
        return;
    }
    if (m_peerUnit)
    {
        Send(frame, now);
        return;
    }
    m_peer->Arrive(frame, now + m_delay, m_busyUntil + m_delay);
}

// Between units ----------------------------------------------------------------------------------

void
RdmaPort::SetSlot(NodeWindows::Unit& unit, uint32_t slot)
{
    NS_ABORT_MSG_IF(slot > UINT16_MAX,
                    "nodes that links without delay join have more than 65536 ports; allowed "
                    "with ns-3's own engines");
    m_unit = &unit;
    m_slot = static_cast<uint16_t>(slot);
    if (m_rxInTable)
    {
        ScheduleReceive(); // of a run before
    }
}

void
RdmaPort::UseWindows()
{
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
RdmaPort::Send(RdmaFrame* frame, int64_t now)
{
    // As DeliveryTime has it, without a look at the peer unless need be: it is cold.
    frame->time = IsControl(frame)
                      ? m_peer->DeliveryTime(frame, now + m_delay, m_busyUntil + m_delay)
                      : (m_peerCutsThrough ? now : m_busyUntil) + m_reach;
    // With credits a frame is counted by its place on the wire: CountArrival.
    const bool plain = !m_hasCredits && !IsControl(frame);
    NodeWindows::Unit* unit = NodeWindows::Unit::Running();
    if (!unit)
    {
        NodeWindows::Active()->Send(*m_peerUnit,
                                    m_peerShard,
                                    {RdmaClock::TickAt(frame->time), frame, m_peerSlot, plain});
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
    sent.mail.plain = plain;
    sent.to = m_peerUnit;
    sent.shard = m_peerShard;
}

// Receiver ---------------------------------------------------------------------------------------

void
RdmaPort::SetRemote(RdmaGateway* gateway, uint32_t link)
{
    m_remote = true;
    m_gateway = gateway;
    m_gatewayLink = link;
}

void
RdmaPort::ArriveFromRemote(RdmaFrame* frame, int64_t at)
{
    // It started to be sent its serialization time earlier, at the rate that both ends have; and it
    // is known by then that its first bit is here (rdma::LookAhead).
    Arrive(frame, m_cutThrough ? at - GetSerialization(frame->wireBytes) : at, at);
}

bool
RdmaPort::IsControl(const RdmaFrame* frame)
{
    return frame->opcode == RdmaOpcode::PAUSE || frame->opcode == RdmaOpcode::FLOW_CONTROL;
}

int64_t
RdmaPort::DeliveryTime(const RdmaFrame* frame, int64_t from, int64_t at) const
{
    if (IsControl(frame))
    {
        // The MAC takes it: no pipeline before it.
        return at + (frame->opcode == RdmaOpcode::PAUSE ? GetPauseResponsePs() : 0);
    }
    return (m_cutThrough ? from : at) + m_receiveLatency;
}

void
RdmaPort::Arrive(RdmaFrame* frame, int64_t from, int64_t at)
{
    if (m_remote)
    {
        m_gateway->Send(m_gatewayLink, frame, from, at);
        return;
    }
    frame->time = DeliveryTime(frame, from, at);
    ArriveAsTold(frame);
}

void
RdmaPort::ArriveAsTold(RdmaFrame* frame)
{
    if (m_hasCredits && !m_errorProne)
    {
        CountArrival(frame);
    }
    if (IsControl(frame))
    {
        m_controlInFlight.PushBack(frame);
        m_pauseEvent.ScheduleAt(frame->time, ControlContext());
        return;
    }
    m_inFlight.PushBack(frame);
    ExpectFrames();
}

void
RdmaPort::ExpectFrames()
{
    if (!m_rxPending)
    {
        m_rxPending = true;
        ScheduleReceive();
    }
}

inline void
RdmaPort::ScheduleReceive()
{
    const int64_t at = m_inFlight.Front()->time;
    if (m_unit)
    {
        m_rxInTable = true;
        NodeWindows::Expect(*m_unit, m_slot, RdmaClock::TickAt(at));
        return;
    }
    m_rxEvent.ScheduleAt(at, m_context);
}

void
RdmaPort::OnReceiveEvent()
{
    // At picosecond resolution one frame is due; at a coarser one several may fall into the same
    // tick.
    int64_t now = m_inFlight.Front()->time;
    const int64_t tick = std::max(now, RdmaClock::Now());
    for (;;)
    {
        RdmaFrame* frame = m_inFlight.PopFront();
        if (const RdmaFrame* next = m_inFlight.Front())
        {
            PrefetchLine(next->next); // its time is asked for when `next` has come
        }
        Deliver(frame, now);
        if (m_inFlight.IsEmpty())
        {
            m_rxPending = false;
            return;
        }
        now = m_inFlight.Front()->time;
        if (now > tick)
        {
            ScheduleReceive();
            return;
        }
    }
}

bool
RdmaPort::IsCorrupted(const RdmaFrame* frame)
{
    if (m_bitErrorRate <= 0) // a link that may fail
    {
        return false;
    }
    if (m_bitsToError < 0)
    {
        m_bitsToError = m_errors->GetValue(1 / m_bitErrorRate, 0);
    }
    m_bitsToError -= 8.0 * GetFrameBytes(frame);
    if (m_bitsToError > 0)
    {
        return false;
    }
    // Errors are memoryless: how many there are in this frame does not matter, the next distance
    // starts behind it.
    m_bitsToError = m_errors->GetValue(1 / m_bitErrorRate, 0);
    return true;
}

bool
RdmaPort::DropCorrupted(RdmaFrame* frame, int64_t now)
{
    if (m_lost && !m_hasCredits && frame->opcode != RdmaOpcode::PAUSE &&
        (frame->dscp & RdmaFrame::LOST))
    {
        --m_lost;
        UpdateSuspicion();
        // It has not been received after all.
        --m_rxFrames;
        m_rxWireBytes -= frame->wireBytes;
        ++m_counters.linkDownLost;
        LoseWithLink(frame, now);
        return true;
    }
    // With credits it was found out when the frame was counted.
    if (!m_errorProne ||
        !(m_hasCredits ? frame->serviceLevel & RdmaFrame::CORRUPTED : IsCorrupted(frame)))
    {
        return m_silentDrops > 0 && DropSilently(frame, now);
    }
    if (m_hasCredits && (frame->serviceLevel & RdmaFrame::WIRE_LOST))
    {
        --m_rxFrames;
        m_rxWireBytes -= frame->wireBytes;
        ++m_counters.linkDownLost;
        LoseWithLink(frame, now);
        return true;
    }
    ++m_counters.corrupted;
    m_corruptTrace(this, frame, now);
    RdmaFramePool::Get().Free(frame);
    return true;
}

void
RdmaPort::Deliver(RdmaFrame* frame, int64_t now)
{
    ++m_rxFrames;
    m_rxWireBytes += frame->wireBytes;
    if (m_suspicious)
    {
        CountIfNotYet(frame);
        if (DropCorrupted(frame, now))
        {
            return;
        }
    }
    if (m_rxTraced)
    {
        m_rxTrace(this, frame, now);
    }
    if (m_hasCredits && (m_credits->config.consumes || frame->opcode == RdmaOpcode::PACKET))
    {
        ReturnCredits(frame->priority, GetBlocks(frame), now, now);
    }
    if (frame->opcode != RdmaOpcode::PACKET)
    {
        m_user->OnFrame(this, frame, now);
        return;
    }
    const Ptr<Packet> packet = frame->extra->packet;
    const uint16_t protocol = frame->extra->protocol;
    RdmaFramePool::Get().Free(frame);
    if (!m_promiscReceive.IsNull())
    {
        m_promiscReceive(this, packet, protocol, m_peer->GetAddress(), m_address, PACKET_HOST);
    }
    if (!m_receive.IsNull())
    {
        m_receive(this, packet, protocol, m_peer->GetAddress());
    }
}

RdmaFrameList
RdmaPort::TakeQueue(uint8_t priority, int64_t now)
{
    Queue& queue = m_queue[priority];
    const RdmaFrameList frames = queue.list;
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

uint8_t
RdmaPort::GetPint(int64_t period, int64_t now)
{
    const double utilization = m_pint.OnPacket(now, m_txWireBytes, m_queuedBytes, m_rate, period);
    const uint64_t chance = rdma::Mix64(m_txWireBytes ^ static_cast<uint64_t>(now) << 20);
    return rdma::PintEncode(utilization, static_cast<uint32_t>(chance));
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
