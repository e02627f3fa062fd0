/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * The part of a port whose link goes down and comes up again.
 */
#include "rdma-port.h"

#include "ns3/abort.h"
#include "ns3/log.h"
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
    m_linkDownTrace(this, frame, now);
    RdmaFramePool::Get().Free(frame);
}

void
RdmaPort::SetLinkUp(bool up, int64_t now)
{
    NS_ABORT_MSG_IF(m_hasCredits || m_remote, "only an Ethernet link of one process goes down");
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
RdmaPort::GoDown(int64_t now)
{
    m_down = true;
    m_txScheduled = m_txPending;
    m_txPending = true; // so that nobody starts to send
    // Frames are in the list by arrival, and what has arrived whole is in the pipeline behind it.
    const auto lose = [this, now](RdmaFrame& frame) {
        if (frame.time - m_receiveLatency > now && !(frame.dscp & RdmaFrame::LOST))
        {
            frame.dscp |= RdmaFrame::LOST;
            ++m_lost;
        }
    };
    if (m_unit)
    {
        m_unit->TakeInbox();
        for (const NodeWindowBin& bin : m_unit->bins)
        {
            for (const NodeWindowArrival& arrival : bin)
            {
                if (arrival.GetSlot() == m_slot)
                {
                    lose(*arrival.frame);
                }
            }
        }
    }
    for (RdmaFrame* frame = m_inFlight.Front(); frame; frame = frame->next)
    {
        lose(*frame);
    }
    m_suspicious = m_errorProne || m_lost;
    RdmaFrameList arrived;
    while (!m_controlInFlight.IsEmpty())
    {
        RdmaFrame* frame = m_controlInFlight.PopFront();
        if (frame->time - GetPauseResponsePs() <= now)
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
    m_control.Clear();
    m_hasControl = false;
    m_pausedUntil.fill(now);
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
    // A pause that this port heard of before may be over, and one that it did not hear of may hold.
    const uint8_t wanted = m_peer->m_user->GetPausing(m_peer);
    const int64_t until = now + ToPs(512 * uint64_t{UINT16_MAX}, m_rate);
    for (uint8_t p = 0; p < PRIORITIES; ++p)
    {
        m_pausedUntil[p] = wanted >> p & 1 ? until : now;
    }
    if (wanted)
    {
        m_pauseEvent.ScheduleAt(until, ControlContext());
    }
    SetPaused(wanted & ~m_ignored, now);
    Kick(now);
}

} // namespace ns3
