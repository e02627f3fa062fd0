/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * The part of a port that has credits: see IbLinkCredits.
 */
#include "ib-link-credits.h"
#include "rdma-port.h"

#include "ns3/abort.h"

namespace ns3
{

void
RdmaPort::UseCredits(const IbPortConfig& config)
{
    m_credits = std::make_unique<IbLinkCredits>(config);
    m_creditEvent = std::make_unique<RdmaTimer<RdmaPort, &RdmaPort::OnCreditEvent>>(this);
    m_creditTimer = std::make_unique<RdmaTimer<RdmaPort, &RdmaPort::OnCreditTimer>>(this);
    m_hasCredits = true;
}

void
RdmaPort::StartCredits()
{
    for (uint32_t v = 0; v < IbLinkCredits::LANES; ++v)
    {
        const uint16_t fccl = m_peer->m_credits->lanes[v].receiver.Fccl();
        m_peer->m_credits->lanes[v].toldFccl = fccl;
        m_credits->lanes[v].sender.OnFlowControl(fccl);
    }
}

void
RdmaPort::SetCutThrough(bool cutThrough)
{
    m_cutThrough = cutThrough;
}

/// \return those of the lanes whose next frame, if it is known, has credits; the others wait
uint8_t
RdmaPort::WithCredits(uint8_t lanes, int64_t now)
{
    uint8_t paused = m_paused;
    for (uint8_t waiting = lanes & m_waiting; waiting; waiting &= waiting - 1)
    {
        const int lane = __builtin_ctz(waiting);
        if (!m_credits->lanes[lane].sender.CanSend(GetBlocks(m_queue[lane].list.Front())))
        {
            ++m_counters.creditStalls;
            paused |= 1U << lane;
        }
    }
    SetPaused(paused, now);
    return lanes & ~paused;
}

RdmaFrame*
RdmaPort::NextWithCredits(int64_t now)
{
    IbLinkCredits& credits = *m_credits;
    uint8_t candidates = (m_waiting | m_pull) & ~m_paused;
    if (credits.config.lanes > 1 && !m_cut)
    {
        candidates = WithCredits(candidates, now);
    }
    while (candidates)
    {
        // Frames that queue are older than what a NIC makes on demand.
        uint8_t lane = credits.config.lanes == 1
                           ? __builtin_ctz(candidates)
                           : static_cast<uint8_t>(credits.arbiter.Next(candidates, [this](int v) {
                                 const RdmaFrame* front = m_queue[v].list.Front();
                                 return front ? GetFrameBytes(front) : uint32_t{m_mtu};
                             }));
        uint8_t bit = 1U << lane;
        const uint8_t asked = bit;
        RdmaFrame* frame = m_queue[lane].list.Front();
        const bool queued = frame != nullptr;
        if (!queued)
        {
            frame = m_user->Pull(this, static_cast<uint8_t>(~bit), now);
            if (!frame)
            {
                candidates &= ~bit;
                continue;
            }
            lane = frame->priority; // of a datagram, the path's
            bit = 1U << lane;
        }
        const uint32_t blocks = GetBlocks(frame);
        rdma::IbCreditSender& sender = credits.lanes[lane].sender;
        if (m_cut)
        {
            // It is lost, whatever the peer has room for.
        }
        else if ((m_paused & bit) || !sender.CanSend(blocks))
        {
            if (!queued)
            {
                // It is made, so it waits at the head of its lane.
                frame->time = now;
                m_queue[lane].list.PushBack(frame);
                m_queue[lane].bytes += GetFrameBytes(frame);
                m_queuedBytes += GetFrameBytes(frame);
                m_maxQueueBytes = std::max(m_maxQueueBytes, m_queuedBytes);
                m_waiting |= bit;
            }
            candidates &= ~(bit | asked);
            m_counters.creditStalls += !(m_paused & bit);
            SetPaused(m_paused | bit, now);
            continue;
        }
        if (!m_cut)
        {
            sender.OnSent(blocks);
            if (m_errorProne) // its loss is to be told
            {
                StartCreditTimer(now);
            }
        }
        if (queued)
        {
            return Dequeue(bit, now);
        }
        m_busyUntil = now + GetSerialization(frame->wireBytes);
        return frame;
    }
    return nullptr;
}

/// On the wire, frames come one after another; what is behind the wire (a switch's latency) differs
/// between data and flow-control packets. So blocks are counted in the order of the wire: without
/// bit errors as soon as a frame is known of (FCCL, their sum with what is free, is the same either
/// way), with them, which are found then, when it is here or a flow-control packet behind it is.
void
RdmaPort::CountArrival(RdmaFrame* frame)
{
    if (m_errorProne && IsCorrupted(frame))
    {
        frame->serviceLevel |= RdmaFrame::CORRUPTED;
        return;
    }
    IbLinkCredits::Lane& lane = m_credits->lanes[frame->priority];
    rdma::IbCreditReceiver& receiver = lane.receiver;
    if (frame->opcode == RdmaOpcode::FLOW_CONTROL)
    {
        const uint32_t lost = receiver.OnFlowControl(static_cast<uint16_t>(frame->aux));
        if (lost)
        {
            m_counters.creditBlocksLost += lost;
            lane.untold += lost;
            StartCreditTimer(RdmaClock::Now());
        }
    }
    else
    {
        const bool room = receiver.OnReceived(GetBlocks(frame));
        NS_ABORT_MSG_UNLESS(room, m_name << ": a packet came without credits");
    }
}

void
RdmaPort::CountIfNotYet(RdmaFrame* frame)
{
    if (m_hasCredits && !(frame->serviceLevel & RdmaFrame::COUNTED))
    {
        CountArrival(frame);
    }
    frame->serviceLevel &= m_hasCredits ? static_cast<uint8_t>(~RdmaFrame::COUNTED) : 0xff;
}

/// Of packets in the pipeline, those that were ahead of this one on the wire.
void
RdmaPort::CountAheadOf(const RdmaFrame& control)
{
    for (RdmaFrame* frame = m_inFlight.Front();
         frame && frame->time - m_receiveLatency < control.time;
         frame = frame->next)
    {
        if (!(frame->serviceLevel & RdmaFrame::COUNTED))
        {
            CountArrival(frame);
            frame->serviceLevel |= RdmaFrame::COUNTED;
        }
    }
}

void
RdmaPort::ReturnCredits(uint8_t index, uint32_t blocks, int64_t at, int64_t now)
{
    IbLinkCredits::Lane& lane = m_credits->lanes[index];
    lane.untold += blocks;
    if (at <= now)
    {
        lane.receiver.OnFreed(blocks);
    }
    else
    {
        lane.leaving.push_back({at, blocks});
    }
    if (lane.updateQueued || lane.updateScheduled)
    {
        return;
    }
    if (lane.untold < m_credits->config.updateBlocks)
    {
        StartCreditTimer(now);
    }
    else if (at <= now)
    {
        QueueCreditUpdate(index, now);
    }
    else
    {
        lane.updateScheduled = true;
        lane.updateAt = at;
        m_creditEvent->ScheduleAt(at, RdmaEventOrder::NodeOf(m_context));
    }
}

void
RdmaPort::OnCreditEvent()
{
    const int64_t now = RdmaClock::Now();
    for (uint8_t v = 0; v < m_credits->config.lanes; ++v)
    {
        IbLinkCredits::Lane& lane = m_credits->lanes[v];
        if (lane.updateScheduled && lane.updateAt <= now)
        {
            lane.updateScheduled = false;
            QueueCreditUpdate(v, now);
        }
    }
}

void
RdmaPort::QueueCreditUpdate(uint8_t index, int64_t now)
{
    m_credits->lanes[index].updateQueued = true;
    RdmaFrame* frame = RdmaFramePool::Get().Allocate();
    frame->wireBytes = rdma::kIbFlowControlBytes + m_lineOverhead;
    frame->src = frame->dst = 0;
    frame->route = RdmaRoute::None();
    frame->destQp = frame->psn = frame->aux = frame->dmaLength = 0;
    frame->SetLabel(RdmaFrame::NO_LABEL);
    frame->payload = 0;
    frame->inPort = 0;
    frame->opcode = RdmaOpcode::FLOW_CONTROL;
    frame->priority = index;
    frame->flags = 0;
    frame->serviceLevel = 0;
    m_control.PushBack(frame);
    m_hasControl = true;
    Kick(now);
}

/// What it says holds when it is sent, not when it joined the queue.
void
RdmaPort::FillCreditUpdate(RdmaFrame* frame, int64_t now)
{
    IbLinkCredits::Lane& lane = m_credits->lanes[frame->priority];
    lane.updateQueued = false;
    lane.untold = 0;
    std::size_t kept = 0;
    for (const IbLinkCredits::Leaving& leaving : lane.leaving)
    {
        if (leaving.at <= now)
        {
            lane.receiver.OnFreed(leaving.blocks);
        }
        else
        {
            lane.untold += leaving.blocks;
            lane.leaving[kept++] = leaving;
        }
    }
    lane.leaving.resize(kept);
    if (lane.toldFctbs != lane.sender.Fctbs() || lane.toldFccl != lane.receiver.Fccl())
    {
        lane.repeats = IbLinkCredits::REPEATS;
    }
    lane.toldFctbs = lane.sender.Fctbs();
    lane.toldFccl = lane.receiver.Fccl();
    frame->aux = lane.toldFctbs;
    frame->dmaLength = lane.toldFccl;
    ++m_counters.creditUpdatesSent;
    if (lane.untold >= m_credits->config.updateBlocks)
    {
        lane.updateScheduled = true;
        lane.updateAt = lane.leaving.back().at;
        m_creditEvent->ScheduleAt(lane.updateAt, RdmaEventOrder::NodeOf(m_context));
    }
    else if (lane.untold)
    {
        StartCreditTimer(now);
    }
}

void
RdmaPort::OnCreditUpdate(const RdmaFrame& frame, int64_t now)
{
    ++m_counters.creditUpdatesReceived;
    const uint8_t bit = 1U << frame.priority;
    IbLinkCredits::Lane& lane = m_credits->lanes[frame.priority];
    rdma::IbCreditSender& sender = lane.sender;
    sender.OnFlowControl(static_cast<uint16_t>(frame.dmaLength));
    const RdmaFrame* front = m_queue[frame.priority].list.Front();
    if ((m_paused & bit) && (!front || sender.CanSend(GetBlocks(front))))
    {
        lane.stalledUntil = now;
        SetPaused(m_paused & ~bit, now);
    }
}

void
RdmaPort::StartCreditTimer(int64_t now)
{
    if (!m_credits->timerPending)
    {
        m_credits->timerPending = true;
        m_creditTimer->ScheduleAt(now + m_credits->config.updatePeriodPs,
                                  RdmaEventOrder::NodeOf(m_context));
    }
}

void
RdmaPort::OnCreditTimer()
{
    m_credits->timerPending = false;
    if (m_down)
    {
        return; // all of it is told when the link comes up
    }
    const int64_t now = RdmaClock::Now();
    bool again = false;
    for (uint8_t v = 0; v < m_credits->config.lanes; ++v)
    {
        IbLinkCredits::Lane& lane = m_credits->lanes[v];
        bool news = lane.untold > 0;
        if (m_errorProne && !news)
        {
            // What is corrupted is said again. Whether it arrived, the sender cannot know, and a
            // real one goes on for ever.
            news = lane.sender.Fctbs() != lane.toldFctbs || lane.receiver.Fccl() != lane.toldFccl;
            if (!news && lane.repeats)
            {
                --lane.repeats;
                news = true;
            }
        }
        again |= news;
        if (news && !lane.updateQueued)
        {
            QueueCreditUpdate(v, now);
        }
    }
    if (again)
    {
        StartCreditTimer(now);
    }
}

} // namespace ns3
