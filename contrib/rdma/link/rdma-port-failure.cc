/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * The part of a port whose link goes down and comes up again.
 */
#include "rdma-port.h"

#include "ns3/abort.h"
#include "ns3/log.h"
#include "ns3/node-window-loop.h"
#include "ns3/node.h"

namespace ns3
{

NS_LOG_COMPONENT_DEFINE("RdmaPortFailure");

void
RdmaPortUser::OnLinkDown(RdmaPort* port, RdmaFrameList frames, int64_t now)
{
    while (!frames.IsEmpty())
    {
        ++port->Count().linkDownQueued;
        port->LoseWithLink(frames.PopFront(), now);
    }
}

void
RdmaPort::LoseWithLink(RdmaFrame* frame, int64_t now)
{
    NS_LOG_FUNCTION(this << frame << now);
    m_linkDownTrace(this, frame, now);
    m_counters.ordinaryLost += frame->opcode == RdmaOpcode::ETHERNET;
    RdmaFramePool::Get().Free(frame);
}

void
RdmaPort::SetLinkUp(bool up, int64_t now)
{
    NS_LOG_FUNCTION(this << up << now);
    NS_ABORT_MSG_IF(m_remote || (m_hasCredits && !m_errorProne),
                    "only a link of one process goes down, and with credits one that may fail");
    if (up == !m_down)
    {
        return;
    }
    NS_LOG_INFO(m_name << (up ? ": link up" : ": link down"));
    if (up)
    {
        ComeUp(now);
    }
    else
    {
        GoDown(now);
    }
    m_linkChange();
}

void
RdmaPort::LoseFrameOnWire(RdmaFrame& frame, int64_t now)
{
    if (frame.time - m_receiveLatency <= now)
    {
        return; // here, in the pipeline behind the wire
    }
    if (m_hasCredits)
    {
        // Its blocks are missed when the cable is whole again: FCTBS tells.
        if (!(frame.serviceLevel & RdmaFrame::COUNTED))
        {
            frame.serviceLevel |= RdmaFrame::COUNTED | RdmaFrame::CORRUPTED | RdmaFrame::WIRE_LOST;
        }
        return;
    }
    if (!(frame.dscp & RdmaFrame::LOST))
    {
        frame.dscp |= RdmaFrame::LOST;
        ++m_faults.lostOnWire;
    }
}

void
RdmaPort::LoseWire(int64_t now)
{
    // Frames are in the list by arrival, and what has arrived whole is in the pipeline behind it.
    if (m_unit)
    {
        m_unit->TakeInbox<RdmaPort>();
        for (const NodeWindowBin& bin : m_unit->bins)
        {
            for (const NodeWindowArrival& arrival : bin)
            {
                if (arrival.GetSlot() == m_slot)
                {
                    LoseFrameOnWire(*Of(arrival.frame), now);
                }
            }
        }
    }
    for (RdmaFrame* frame = m_inFlight.Front(); frame; frame = frame->next)
    {
        LoseFrameOnWire(*frame, now);
    }
    UpdateSuspicion();
    RdmaFrameList arrived;
    while (!m_controlInFlight.IsEmpty())
    {
        RdmaFrame* frame = m_controlInFlight.PopFront();
        const int64_t response =
            frame->opcode == RdmaOpcode::PAUSE ? GetPauseResponsePs() : 0; // of the MAC
        if (frame->time - response <= now)
        {
            arrived.PushBack(frame);
        }
        else
        {
            ++m_counters.linkDownLost;
            LoseWithLink(frame, now);
        }
    }
    m_controlInFlight = arrived;
}

void
RdmaPort::LoseSent(RdmaFrame* frame, int64_t now)
{
    ++m_counters.linkDownSent;
    m_cutSentTrace(this, frame, now);
    m_counters.ordinaryLost += frame->opcode == RdmaOpcode::ETHERNET;
    RdmaFramePool::Get().Free(frame);
}

void
RdmaPort::GoDown(int64_t now)
{
    m_down = true;
    m_txScheduled = m_txPending;
    m_txPending = true; // so that nobody starts to send
    LoseWire(now);
    while (!m_control.IsEmpty())
    {
        RdmaFrame* frame = m_control.PopFront();
        if (m_hasCredits)
        {
            m_credits->lanes[frame->priority].updateQueued = false;
        }
        RdmaFramePool::Get().Free(frame);
    }
    m_hasControl = false;
    if (m_retry)
    {
        m_retry->Forget();
    }
    m_pauses.until.fill(now);
    SetPaused(0, now);
    for (uint8_t p = 0; p < PRIORITIES; ++p)
    {
        const RdmaFrameList frames = TakeQueue(p, now);
        if (!frames.IsEmpty())
        {
            m_user->OnLinkDown(this, frames, now);
        }
    }
}

void
RdmaPort::ComeUp(int64_t now)
{
    m_down = false;
    m_txPending = m_txScheduled;
    m_txScheduled = false;
    if (m_hasCredits)
    {
        m_credits->TellAnew(now);
        Kick(now);
        return;
    }
    // A pause that this port heard of before may be over, and one that it did not hear of may hold.
    const uint8_t wanted = m_peer->m_user->GetPausing(m_peer);
    const int64_t until = now + ToPs(512 * uint64_t{UINT16_MAX}, m_rate);
    for (uint8_t p = 0; p < PRIORITIES; ++p)
    {
        m_pauses.until[p] = wanted >> p & 1 ? until : now;
    }
    if (wanted)
    {
        m_pauseEvent.ScheduleAt(until, ControlContext());
    }
    SetPaused(wanted & ~m_pauses.ignored, now);
    Kick(now);
}

// Faults -----------------------------------------------------------------------------------------

void
RdmaPort::MayFail(int64_t stream)
{
    NS_LOG_FUNCTION(this << stream);
    NS_ABORT_MSG_IF(m_remote || m_peer->m_remote, "only a link of one process may fail");
    NS_ABORT_MSG_IF(m_cells,
                    m_name << ": ns3::RdmaPort::FlowControl=cbfc: credits of lost frames do not "
                              "come back; allowed on a link that may fail: pfc");
    m_faults.Allow(stream);
    // Without credits nothing has to be known before.
    m_errorProne = m_faults.GetBitErrorRate() > 0 || m_hasCredits;
    UpdateSuspicion();
}

void
RdmaPort::SetBitErrorRate(double rate)
{
    NS_LOG_FUNCTION(this << rate);
    NS_ABORT_MSG_UNLESS(m_faults.AreAllowed(), m_name << " is not one that may fail");
    m_faults.SetBitErrorRate(rate);
    m_errorProne = rate > 0 || m_hasCredits;
    UpdateSuspicion();
}

void
RdmaPort::SetSilentDrops(double probability)
{
    NS_LOG_FUNCTION(this << probability);
    NS_ABORT_MSG_UNLESS(m_faults.AreAllowed(), m_name << " is not one that may fail");
    m_faults.SetSilentDrops(probability);
    UpdateSuspicion();
}

bool
RdmaPort::DropSilently(RdmaFrame* frame, int64_t now)
{
    if (IsControl(frame) || !m_faults.IsDropped())
    {
        return false;
    }
    ++m_counters.silentDrops;
    m_silentDropTrace(this, frame, now);
    if (m_hasCredits) // it has been in the buffer
    {
        ReturnCredits(frame->priority, GetBlocks(frame), now);
    }
    RdmaFramePool::Get().Free(frame);
    return true;
}

void
RdmaPort::Cut(int64_t now)
{
    NS_LOG_FUNCTION(this << now);
    NS_ABORT_MSG_UNLESS(m_faults.AreAllowed(), m_name << " is not one that may fail");
    NS_LOG_INFO(m_name << ": cable cut");
    m_cut = m_sendsWithCare = true;
    LoseWire(now);
    if (m_hasCredits && !m_down)
    {
        SetPaused(0, now); // it needs no credits now
    }
}

void
RdmaPort::Mend(int64_t now)
{
    NS_LOG_FUNCTION(this << now);
    NS_LOG_INFO(m_name << ": cable whole");
    m_cut = false;
    m_sendsWithCare = m_retry || m_cells;
    if (m_retry && (m_down || m_peer->m_down))
    {
        // One end was told, a switch, and a host was not: neither's numbers mean anything now.
        m_retry->Forget();
        Kick(now); // the replay buffer may have been full
    }
    else if (m_retry)
    {
        m_retry->OnCableWhole(now);
    }
    if (m_hasCredits && !m_down)
    {
        m_credits->TellAnew(now);
    }
}

} // namespace ns3
