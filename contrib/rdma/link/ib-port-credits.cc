/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "ib-port-credits.h"

#include "rdma-control-frame.h"
#include "rdma-port.h"

#include "ns3/abort.h"

#include <algorithm>

namespace ns3
{

IbPortCredits::IbPortCredits(const IbPortConfig& config, RdmaPort& port)
    : IbLinkCredits(config),
      m_port(port),
      m_event(this),
      m_timer(this)
{
}

void
IbPortCredits::Start(IbPortCredits& peer)
{
    for (uint32_t v = 0; v < LANES; ++v)
    {
        const uint16_t fccl = peer.lanes[v].receiver.Fccl();
        peer.lanes[v].toldFccl = fccl;
        lanes[v].sender.OnFlowControl(fccl);
    }
}

uint8_t
IbPortCredits::WithCredits(uint8_t candidates, int64_t now)
{
    uint8_t paused = m_port.m_paused;
    for (uint8_t waiting = candidates & m_port.m_waiting; waiting; waiting &= waiting - 1)
    {
        const int lane = __builtin_ctz(waiting);
        if (!lanes[lane].sender.CanSend(m_port.GetBlocks(m_port.m_queue[lane].list.Front())))
        {
            ++m_port.m_counters.creditStalls;
            paused |= 1U << lane;
        }
    }
    m_port.SetPaused(paused, now);
    return candidates & ~paused;
}

RdmaFrame*
IbPortCredits::Next(int64_t now)
{
    uint8_t candidates = (m_port.m_waiting | m_port.m_pull) & ~m_port.m_paused;
    if (config.lanes > 1 && !m_port.m_cut)
    {
        candidates = WithCredits(candidates, now);
    }
    while (candidates)
    {
        // Frames that queue are older than what a NIC makes on demand.
        uint8_t lane = config.lanes == 1
                           ? __builtin_ctz(candidates)
                           : static_cast<uint8_t>(arbiter.Next(candidates, [this](int v) {
                                 const RdmaFrame* front = m_port.m_queue[v].list.Front();
                                 return front ? m_port.GetFrameBytes(front) : m_port.GetLinkMtu();
                             }));
        uint8_t bit = 1U << lane;
        const uint8_t asked = bit;
        RdmaFrame* frame = m_port.m_queue[lane].list.Front();
        const bool queued = frame != nullptr;
        if (!queued)
        {
            frame = m_port.m_user->Pull(&m_port, static_cast<uint8_t>(~bit), now);
            if (!frame)
            {
                candidates &= ~bit;
                continue;
            }
            lane = frame->priority; // of a datagram, the path's
            bit = 1U << lane;
        }
        const uint32_t blocks = m_port.GetBlocks(frame);
        rdma::IbCreditSender& sender = lanes[lane].sender;
        if (m_port.m_cut)
        {
            // It is lost, whatever the peer has room for.
        }
        else if ((m_port.m_paused & bit) || !sender.CanSend(blocks))
        {
            if (!queued)
            {
                // It is made, so it waits at the head of its lane.
                frame->time = now;
                m_port.m_queue[lane].list.PushBack(frame);
                m_port.m_queue[lane].bytes += m_port.GetFrameBytes(frame);
                m_port.m_queuedBytes += m_port.GetFrameBytes(frame);
                m_port.m_maxQueueBytes = std::max(m_port.m_maxQueueBytes, m_port.m_queuedBytes);
                m_port.m_waiting |= bit;
            }
            candidates &= ~(bit | asked);
            m_port.m_counters.creditStalls += !(m_port.m_paused & bit);
            m_port.SetPaused(m_port.m_paused | bit, now);
            continue;
        }
        if (!m_port.m_cut)
        {
            sender.OnSent(blocks);
            if (m_port.m_errorProne) // its loss is to be told
            {
                StartTimer(now);
            }
        }
        if (queued)
        {
            return m_port.Dequeue(bit, now);
        }
        m_port.m_busyUntil = now + m_port.GetSerialization(frame->wireBytes);
        return frame;
    }
    return nullptr;
}

void
IbPortCredits::CountArrival(RdmaFrame* frame)
{
    if (m_port.m_errorProne && m_port.m_faults.IsCorrupted(m_port.GetFrameBytes(frame)))
    {
        frame->serviceLevel |= RdmaFrame::CORRUPTED;
        return;
    }
    Lane& lane = lanes[frame->priority];
    rdma::IbCreditReceiver& receiver = lane.receiver;
    if (frame->opcode == RdmaOpcode::FLOW_CONTROL)
    {
        const uint32_t lost = receiver.OnFlowControl(static_cast<uint16_t>(frame->aux));
        if (lost)
        {
            m_port.m_counters.creditBlocksLost += lost;
            lane.untold += lost;
            StartTimer(RdmaClock::Now());
        }
    }
    else
    {
        const bool room = receiver.OnReceived(m_port.GetBlocks(frame));
        NS_ABORT_MSG_UNLESS(room, m_port.m_name << ": a packet came without credits");
    }
}

void
IbPortCredits::CountIfNotYet(RdmaFrame* frame)
{
    if (!(frame->serviceLevel & RdmaFrame::COUNTED))
    {
        CountArrival(frame);
    }
    frame->serviceLevel &= static_cast<uint8_t>(~RdmaFrame::COUNTED);
}

void
IbPortCredits::CountAheadOf(const RdmaFrame& control)
{
    for (RdmaFrame* frame = m_port.m_inFlight.Front();
         frame && frame->time - m_port.m_receiveLatency < control.time;
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
IbPortCredits::Return(uint8_t index, uint32_t blocks, int64_t at, int64_t now)
{
    Lane& lane = lanes[index];
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
    if (lane.untold < config.updateBlocks)
    {
        StartTimer(now);
    }
    else if (at <= now)
    {
        QueueUpdate(index, now);
    }
    else
    {
        lane.updateScheduled = true;
        lane.updateAt = at;
        m_event.ScheduleAt(at, RdmaEventOrder::NodeOf(m_port.m_context));
    }
}

void
IbPortCredits::OnEvent()
{
    const int64_t now = RdmaClock::Now();
    for (uint8_t v = 0; v < config.lanes; ++v)
    {
        Lane& lane = lanes[v];
        if (lane.updateScheduled && lane.updateAt <= now)
        {
            lane.updateScheduled = false;
            QueueUpdate(v, now);
        }
    }
}

void
IbPortCredits::QueueUpdate(uint8_t index, int64_t now)
{
    lanes[index].updateQueued = true;
    RdmaFrame* frame = MakeControlFrame(RdmaOpcode::FLOW_CONTROL,
                                        index,
                                        rdma::kIbFlowControlBytes + m_port.m_lineOverhead);
    frame->serviceLevel = 0;
    m_port.m_control.PushBack(frame);
    m_port.m_hasControl = true;
    m_port.Kick(now);
}

void
IbPortCredits::FillUpdate(RdmaFrame* frame, int64_t now)
{
    Lane& lane = lanes[frame->priority];
    lane.updateQueued = false;
    lane.untold = 0;
    std::size_t kept = 0;
    for (const Leaving& leaving : lane.leaving)
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
        lane.repeats = REPEATS;
    }
    lane.toldFctbs = lane.sender.Fctbs();
    lane.toldFccl = lane.receiver.Fccl();
    frame->aux = lane.toldFctbs;
    frame->dmaLength = lane.toldFccl;
    ++m_port.m_counters.creditUpdatesSent;
    if (lane.untold >= config.updateBlocks)
    {
        lane.updateScheduled = true;
        lane.updateAt = lane.leaving.back().at;
        m_event.ScheduleAt(lane.updateAt, RdmaEventOrder::NodeOf(m_port.m_context));
    }
    else if (lane.untold)
    {
        StartTimer(now);
    }
}

void
IbPortCredits::OnUpdate(const RdmaFrame& frame, int64_t now)
{
    ++m_port.m_counters.creditUpdatesReceived;
    const uint8_t bit = 1U << frame.priority;
    Lane& lane = lanes[frame.priority];
    rdma::IbCreditSender& sender = lane.sender;
    sender.OnFlowControl(static_cast<uint16_t>(frame.dmaLength));
    const RdmaFrame* front = m_port.m_queue[frame.priority].list.Front();
    if ((m_port.m_paused & bit) && (!front || sender.CanSend(m_port.GetBlocks(front))))
    {
        lane.stalledUntil = now;
        m_port.SetPaused(m_port.m_paused & ~bit, now);
    }
}

void
IbPortCredits::StartTimer(int64_t now)
{
    if (!timerPending)
    {
        timerPending = true;
        m_timer.ScheduleAt(now + config.updatePeriodPs, RdmaEventOrder::NodeOf(m_port.m_context));
    }
}

void
IbPortCredits::OnTimer()
{
    timerPending = false;
    if (m_port.m_down)
    {
        return; // all of it is told when the link comes up
    }
    const int64_t now = RdmaClock::Now();
    bool again = false;
    for (uint8_t v = 0; v < config.lanes; ++v)
    {
        Lane& lane = lanes[v];
        bool news = lane.untold > 0;
        if (m_port.m_errorProne && !news)
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
            QueueUpdate(v, now);
        }
    }
    if (again)
    {
        StartTimer(now);
    }
}

void
IbPortCredits::TellAnew(int64_t now)
{
    for (uint8_t lane = 0; lane < config.lanes; ++lane)
    {
        if (!lanes[lane].updateQueued)
        {
            QueueUpdate(lane, now);
        }
    }
}

} // namespace ns3
