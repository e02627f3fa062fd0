/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "rdma-switch.h"

#include "ns3/log.h"
#include "ns3/node.h"
#include "ns3/rdma-packet-addresses.h"

#include <algorithm>

namespace ns3
{

NS_LOG_COMPONENT_DEFINE("RdmaSwitch");

RdmaSwitch::RdmaSwitch()
    : m_refreshEvent(this)
{
}

RdmaSwitch::~RdmaSwitch() = default;

void
RdmaSwitch::DoDispose()
{
    m_watchdog.reset();
    m_markers.clear();
    m_bufferPolicy = nullptr;
    if (m_passing)
    {
        m_passing->Clear();
    }
    RdmaSwitchBase::DoDispose();
}

[[gnu::always_inline]] inline bool
RdmaSwitch::Admit(uint16_t index, RdmaPort* port, RdmaPort* egress, RdmaFrame* frame, int64_t now)
{
    const uint64_t queueBytes = egress->GetQueueBytes(frame->priority);
    const uint32_t bytes = FrameBytes(frame);
    switch (m_buffer.Admit(port->GetPortIndex(), frame->priority, bytes, queueBytes, index, now))
    {
    case rdma::SharedBuffer::Verdict::kStored:
        break;
    case rdma::SharedBuffer::Verdict::kStoredSendXoff:
        Pause(port, frame->priority, true, now);
        break;
    case rdma::SharedBuffer::Verdict::kDropPoolFull:
        if (!AdmitAfterAll(port, egress, frame, POOL_FULL, now))
        {
            return false;
        }
        break;
    case rdma::SharedBuffer::Verdict::kDropThreshold:
        if (!AdmitAfterAll(port, egress, frame, THRESHOLD, now))
        {
            return false;
        }
        break;
    case rdma::SharedBuffer::Verdict::kDropHeadroomFull:
        Drop(egress, frame, HEADROOM_FULL, now);
        return false;
    }
    frame->inPort = port->GetPortIndex();
    return true;
}

[[gnu::always_inline]] inline void
RdmaSwitch::Join(uint16_t index, RdmaPort* egress, RdmaFrame* frame, int64_t now)
{
    frame->time = now; // queued since
    if (frame->extra && frame->extra->journey)
    {
        frame->extra->journey->Join(egress, *frame, now);
    }
    if (m_looksAtJoins)
    {
        if (m_marksJoining)
        {
            MarkJoining(egress, frame, egress->GetQueueBytes(frame->priority), now);
        }
        if (Lottery* lottery = FindLottery(index, frame->priority))
        {
            lottery->OnJoin(frame, frame->inPort, FrameBytes(frame), now);
        }
    }
    if (!m_watchdog)
    {
        egress->Enqueue(frame, now);
        return;
    }
    const uint8_t priority = frame->priority; // it may be gone at once
    egress->Enqueue(frame, now);
    m_watchdog->OnQueued(egress, priority, now);
}

[[gnu::always_inline]] inline void
RdmaSwitch::ForwardBy(uint16_t index, RdmaPort* port, RdmaFrame* frame, int64_t now)
{
    RdmaPort* egress = PeekPointer(m_ports[index]);
    if (m_watchdog && m_watchdog->IsDropping(index, frame->priority))
    {
        Drop(egress, frame, PFC_WATCHDOG, now);
        return;
    }
    if (m_trimBytes)
    {
        frame = MakeRoom(port, egress, frame, now);
        if (!frame)
        {
            return;
        }
    }
    if (Admit(index, port, egress, frame, now))
    {
        Join(index, egress, frame, now);
    }
}

bool
RdmaSwitch::AdmitAfterAll(RdmaPort* port,
                          RdmaPort* egress,
                          RdmaFrame* frame,
                          DropReason reason,
                          int64_t now)
{
    if (!egress->GetQueueDisc())
    {
        return ReplaceQueued(port, egress, frame, reason, now);
    }
    using Verdict = rdma::SharedBuffer::Verdict;
    const uint8_t priority = frame->priority;
    while (RdmaFrame* evicted = egress->Evict(*frame, now))
    {
        DropQueued(egress, evicted, reason, now);
        const Verdict verdict = m_buffer.Admit(port->GetPortIndex(),
                                               priority,
                                               FrameBytes(frame),
                                               egress->GetQueueBytes(priority),
                                               egress->GetPortIndex(),
                                               now);
        if (verdict == Verdict::kStored || verdict == Verdict::kStoredSendXoff)
        {
            if (verdict == Verdict::kStoredSendXoff)
            {
                Pause(port, priority, true, now);
            }
            return true;
        }
    }
    Drop(egress, frame, reason, now);
    return false;
}

bool
RdmaSwitch::ReplaceQueued(RdmaPort* port,
                          RdmaPort* egress,
                          RdmaFrame* frame,
                          DropReason reason,
                          int64_t now)
{
    const uint8_t priority = frame->priority;
    const uint16_t index = egress->GetPortIndex();
    const uint32_t queue = index * RdmaPort::PRIORITIES + priority;
    if (m_arrivals == FIXED || m_trimBytes)
    {
        Drop(egress, frame, reason, now);
        return false;
    }
    m_lotteries.resize(m_ports.size() * RdmaPort::PRIORITIES);
    m_looksAtJoins = true;
    std::unique_ptr<Lottery>& lottery = m_lotteries[queue];
    if (!lottery)
    {
        // Draws of its own: marks are drawn as without it. m_draws begin with lower numbers.
        lottery =
            std::make_unique<Lottery>(GetNPorts(), rdma::Mix64(m_drawSeed | 0x80000000U | queue));
    }
    const uint32_t bytes = FrameBytes(frame);
    const Lottery::Loser loser = lottery->Lose(port->GetPortIndex(),
                                               bytes,
                                               now,
                                               std::max(port->GetSerialization(frame->wireBytes),
                                                        egress->GetSerialization(frame->wireBytes)),
                                               egress->GetQueueBytes(priority),
                                               [&lottery] { return Draw(lottery->draws); });
    RdmaFrame* other = loser.frame;
    // What this node sends itself joins queues without a word, so the lottery may be wrong.
    if (!other || (loser.before ? loser.before->next : egress->GetQueueFront(priority)) != other ||
        other->inPort == UINT16_MAX)
    {
        lottery->Forfeit();
        Drop(egress, frame, reason, now);
        return false;
    }
    egress->TakeQueued(priority, *other, loser.before, now);
    m_buffer.Release(other->inPort, priority, FrameBytes(other), index, now);
    m_buffer.Replace(port->GetPortIndex(), priority, bytes, index, now);
    Drop(egress, other, reason, now);
    return true;
}

void
RdmaSwitch::Forward(RdmaPort* port, RdmaFrame* frame, int64_t now)
{
    const Candidates ways = FindCandidates(TargetOf(*frame, now));
    if (ways.size == 0)
    {
        ForwardToAll(port, frame, ways.set, now);
        return;
    }
    const uint16_t chosen = ways.size == 1 ? ways.ports[0] : Choose(ways, *frame, now);
    NS_LOG_LOGIC(GetName() << ": port " << chosen << " of " << ways.size << " for endpoint "
                           << frame->dst << ", flow " << frame->route.GetKey() << ", at " << now
                           << " ps");
    ForwardBy(chosen, port, frame, now);
}

uint16_t
RdmaSwitch::Find(const RdmaPort& port, RdmaFrame& frame, int64_t now)
{
    CountReceived(port, frame, now);
    const Candidates ways = FindCandidates(TargetOf(frame, now));
    if (ways.size == 0)
    {
        return NO_PORT;
    }
    return ways.size == 1 ? ways.ports[0] : Choose(ways, frame, now);
}

void
RdmaSwitch::Pass(uint16_t way, RdmaPort* port, RdmaFrame* frame, int64_t now)
{
    if (way == NO_PORT)
    {
        Forward(port, frame, now);
        return;
    }
    ForwardBy(way, port, frame, now);
}

void
RdmaSwitch::ForwardToAll(RdmaPort* port, RdmaFrame* frame, uint16_t set, int64_t now)
{
    if (frame->opcode != RdmaOpcode::ETHERNET || frame->dst != RdmaPacketAddresses::EVERYBODY)
    {
        // A datagram may be for an endpoint that does not exist.
        port->ReturnCells(frame->priority, FrameBytes(frame), now); // it is in no buffer
        Drop(nullptr, frame, set == NO_SET ? NO_ROUTE : DEAD_NEXT_HOP, now);
        return;
    }
    for (const auto& [index, copy] : Multiply(*port, frame, now))
    {
        ForwardBy(index, port, copy, now);
    }
}

void
RdmaSwitch::OnFrame(RdmaPort* port, RdmaFrame* frame, int64_t now)
{
    NS_LOG_FUNCTION(this << port << frame << now);
    if (!CountReceived(*port, *frame, now))
    {
        Forward(port, frame, now);
    }
}

bool
RdmaSwitch::Store(RdmaFrame* frame, uint16_t inPort, int64_t now)
{
    NS_LOG_FUNCTION(this << frame << inPort << now);
    const Candidates ways = FindCandidates(frame->dst);
    if (ways.size == 0)
    {
        m_ports[inPort]->ReturnCells(frame->priority, FrameBytes(frame), now);
        Drop(nullptr, frame, ways.set == NO_SET ? NO_ROUTE : DEAD_NEXT_HOP, now);
        return false;
    }
    const uint16_t index = ways.ports[0];
    RdmaPort* egress = PeekPointer(m_ports[index]);
    if (!Admit(index, PeekPointer(m_ports[inPort]), egress, frame, now))
    {
        return false;
    }
    frame->time = index; // until it joins the queue there
    return true;
}

void
RdmaSwitch::Resume(RdmaFrame* frame, int64_t now)
{
    NS_LOG_FUNCTION(this << frame << now);
    const auto index = static_cast<uint16_t>(frame->time);
    RdmaPort* egress = PeekPointer(m_ports[index]);
    const Candidates ways = FindCandidates(frame->dst);
    if (ways.size && ways.ports[0] == index)
    {
        Join(index, egress, frame, now);
        return;
    }
    DropQueued(egress, frame, LINK_DOWN, now); // its host has gone
}

void
RdmaSwitch::PutBack(RdmaFrame* frame, uint16_t inPort, int64_t now)
{
    NS_LOG_FUNCTION(this << frame << inPort << now);
    Forward(PeekPointer(m_ports[inPort]), frame, now);
}

void
RdmaSwitch::SendAlong(uint16_t way, const RdmaPort& in, RdmaFrame* frame, int64_t now)
{
    NS_LOG_FUNCTION(this << way << frame << now);
    if (m_ports[way]->IsDown())
    {
        Drop(PeekPointer(m_ports[way]), frame, DEAD_NEXT_HOP, now);
        return;
    }
    ForwardBy(way, PeekPointer(m_ports[in.GetPortIndex()]), frame, now);
}

void
RdmaSwitch::Prefetch(const NodeWindowBin& arrivals, uint32_t depth) const
{
    RdmaSwitchBase::Prefetch(arrivals, depth);
    if (depth == 0)
    {
        PrefetchLines(&m_buffer, &m_buffer + 1);
    }
    else if (depth == 1 && !arrivals.IsEmpty())
    {
        const auto* frame = static_cast<const RdmaFrame*>(arrivals.begin()->frame);
        m_buffer.Prefetch(frame->priority, PrefetchLines);
    }
}

void
RdmaSwitch::OnDequeue(RdmaPort* port, RdmaFrame* frame, uint64_t queueBytes, int64_t now)
{
    NS_LOG_FUNCTION(this << port << frame << queueBytes << now);
    if (frame->inPort == UINT16_MAX) // ordinary traffic of this node itself
    {
        return;
    }
    ++m_forwarded;
    const uint16_t index = port->GetPortIndex();
    const uint32_t bytes = FrameBytes(frame);
    uint64_t length = queueBytes - (bytes & m_markWithout);
    if (m_markBySojourn)
    {
        // At a resolution coarser than ps a frame may be sent a moment "before" it came.
        length = static_cast<uint64_t>(std::max<int64_t>(0, now - frame->time));
    }
    if (length >= m_leastKmin)
    {
        MarkLeaving(port, frame, queueBytes, length, now);
    }
    if (frame->extra)
    {
        NoteLeaving(*port, *frame, now);
        if (!m_toldQueues.empty())
        {
            TellOfQueue(*port, *frame, now);
        }
        TellLeaving(*port, *frame, now);
    }
    if (m_buffer.Release(frame->inPort, frame->priority, bytes, index, now))
    {
        Pause(PeekPointer(m_ports[frame->inPort]), frame->priority, false, now);
    }
}

void
RdmaSwitch::DropQueued(RdmaPort* port, RdmaFrame* frame, DropReason reason, int64_t now)
{
    if (frame->inPort == UINT16_MAX) // ordinary traffic of this node itself: not in the buffer
    {
        RdmaFramePool::Get().Free(frame);
        return;
    }
    RdmaPort* ingress = PeekPointer(m_ports[frame->inPort]);
    const uint8_t priority = frame->priority;
    const bool resume =
        m_buffer.Release(frame->inPort, priority, FrameBytes(frame), port->GetPortIndex(), now);
    Drop(port, frame, reason, now);
    if (resume)
    {
        Pause(ingress, priority, false, now);
    }
}

void
RdmaSwitch::OnLinkDown(RdmaPort* port, RdmaFrameList frames, int64_t now)
{
    NS_LOG_FUNCTION(this << port << now);
    while (!frames.IsEmpty())
    {
        DropQueued(port, frames.PopFront(), LINK_DOWN, now);
    }
}

uint8_t
RdmaSwitch::GetPausing(const RdmaPort* port) const
{
    uint8_t mask = 0;
    for (uint8_t p = 0; p < RdmaPort::PRIORITIES; ++p)
    {
        mask |= m_buffer.IsPaused(port->GetPortIndex(), p) ? 1U << p : 0;
    }
    return mask;
}

void
RdmaSwitch::Pause(RdmaPort* port, uint8_t priority, bool pause, int64_t now)
{
    if (port->GetCreditMask() >> priority & 1)
    {
        return; // credits do what a pause is for
    }
    m_pfcTrace(port, priority, pause, m_buffer.StoredOf(port->GetPortIndex(), priority), now);
    port->SendPause(static_cast<uint8_t>(1U << priority), pause ? m_pauseQuanta : 0, now);
    if (!pause)
    {
        --m_pausedUpstreams;
        return;
    }
    ++m_pausedUpstreams;
    if (!m_refreshPending)
    {
        ScheduleRefresh(now);
    }
}

void
RdmaSwitch::ScheduleRefresh(int64_t now)
{
    // Half of the shortest pause (the fastest port's), so that a refresh is there before any of
    // them runs out.
    uint64_t fastest = 1;
    for (const auto& port : m_ports)
    {
        fastest = std::max(fastest, port->GetRate());
    }
    m_refreshPending = true;
    m_refreshEvent.ScheduleAt(
        now + static_cast<int64_t>(256e12 * m_pauseQuanta / static_cast<double>(fastest)),
        m_ports.front()->GetNode()->GetId());
}

void
RdmaSwitch::OnRefresh()
{
    m_refreshPending = false;
    if (m_pausedUpstreams == 0)
    {
        return; // sleeps until the next pause
    }
    const int64_t now = RdmaClock::Now();
    for (const auto& port : m_ports)
    {
        if (const uint8_t mask = GetPausing(PeekPointer(port)))
        {
            port->SendPause(mask, m_pauseQuanta, now);
        }
    }
    ScheduleRefresh(now);
}

} // namespace ns3
