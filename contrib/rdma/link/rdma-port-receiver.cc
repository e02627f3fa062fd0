/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * The part of a port that receives: frames in flight, and what becomes of them here.
 */
#include "rdma-gateway.h"
#include "rdma-port.h"

#include "ns3/abort.h"

#include <algorithm>

namespace ns3
{

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
    if (IsControl(frame))
    {
        m_controlInFlight.PushBack(frame);
        if (m_hasCredits && m_credits->GoesUnheard())
        {
            return;
        }
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
RdmaPort::DropLostOnWire(RdmaFrame* frame, int64_t now)
{
    if (m_faults.lostOnWire && !m_hasCredits && frame->opcode != RdmaOpcode::PAUSE &&
        (frame->dscp & RdmaFrame::LOST))
    {
        --m_faults.lostOnWire;
        UpdateSuspicion();
        // It has not been received after all.
        --m_rxFrames;
        m_rxWireBytes -= frame->wireBytes;
        ++m_counters.linkDownLost;
        LoseWithLink(frame, now);
        return true;
    }
    return false;
}

bool
RdmaPort::DropCorrupted(RdmaFrame* frame, int64_t now)
{
    if (DropLostOnWire(frame, now))
    {
        return true;
    }
    // With credits it was found out when the frame was counted.
    if (!IsBadHere(*frame) &&
        (!m_errorProne || !(m_hasCredits ? frame->serviceLevel & RdmaFrame::CORRUPTED
                                         : m_faults.IsCorrupted(GetFrameBytes(frame)))))
    {
        return m_faults.DropsSilently() && DropSilently(frame, now);
    }
    if (m_cutThrough && !m_hasCredits && frame->opcode != RdmaOpcode::PACKET && !IsControl(frame))
    {
        frame->dscp |= RdmaFrame::BAD; // its end is still to come
        return false;
    }
    if (m_hasCredits && (frame->serviceLevel & RdmaFrame::WIRE_LOST))
    {
        --m_rxFrames;
        m_rxWireBytes -= frame->wireBytes;
        ++m_counters.linkDownLost;
        LoseWithLink(frame, now);
        return true;
    }
    LoseBad(frame, now);
    return true;
}

void
RdmaPort::LoseBad(RdmaFrame* frame, int64_t now)
{
    ++m_counters.corrupted;
    m_corruptTrace(this, frame, now);
    RdmaFramePool::Get().Free(frame);
}

void
RdmaPort::Deliver(RdmaFrame* frame, int64_t now)
{
    ++m_rxFrames;
    m_rxWireBytes += frame->wireBytes;
    if (m_suspicious)
    {
        if (m_retry)
        {
            m_retry->Receive(frame, now);
            return;
        }
        if (m_hasCredits)
        {
            m_credits->CountIfNotYet(frame);
        }
        if (DropCorrupted(frame, now))
        {
            return;
        }
        CountCells(*frame, now);
    }
    else if (m_hasCredits)
    {
        m_credits->Count(frame->priority, GetBlocks(frame));
    }
    HandOver(frame, now);
}

void
RdmaPort::HandOver(RdmaFrame* frame, int64_t now)
{
    if (m_rxTraced)
    {
        m_rxTrace(this, frame, now);
    }
    if (m_hasCredits && (m_credits->config.consumes || frame->opcode == RdmaOpcode::PACKET))
    {
        ReturnCredits(frame->priority, GetBlocks(frame), now);
    }
    if (frame->opcode != RdmaOpcode::PACKET)
    {
        m_user->OnFrame(this, frame, now);
        return;
    }
    const Ptr<Packet> packet = frame->extra->packet;
    const uint16_t protocol = frame->extra->protocol;
    RdmaFramePool::Get().Free(frame);
    PassUp(packet, protocol, m_peer->GetAddress(), GetAddress(), PACKET_HOST);
}

} // namespace ns3
