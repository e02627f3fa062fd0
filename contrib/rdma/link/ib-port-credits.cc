/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "ib-port-credits.h"

#include "rdma-control-frame.h"
#include "rdma-port.h"

#include "ns3/node-windows.h"

#include <algorithm>
#include <utility>

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

uint32_t
IbLinkCredits::Lane::FreeLeft(int64_t now)
{
    std::size_t kept = 0;
    uint32_t blocks = 0;
    for (const Leaving& one : before)
    {
        if (one.at <= now)
        {
            receiver.OnFreed(one.blocks);
        }
        else
        {
            blocks += one.blocks;
            before[kept++] = one;
        }
    }
    before.resize(kept);
    if (leaving.at > now)
    {
        return blocks + leaving.blocks;
    }
    receiver.OnFreed(leaving.blocks);
    leaving.blocks = 0;
    return blocks;
}

uint32_t
IbLinkCredits::Lane::GetLeaving() const
{
    uint32_t blocks = leaving.blocks;
    for (const Leaving& one : before)
    {
        blocks += one.blocks;
    }
    return blocks;
}

const std::string&
IbPortCredits::GetPortName() const
{
    return m_port.m_name;
}

uint8_t
IbPortCredits::WithCredits(uint8_t candidates, int64_t now)
{
    uint8_t paused = m_port.m_paused;
    for (uint8_t waiting = candidates & m_port.m_waiting; waiting; waiting &= waiting - 1)
    {
        const int lane = __builtin_ctz(waiting);
        if (!HasCredits(lanes[lane], m_port.GetBlocks(m_port.m_queue[lane].list.Front())))
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
    TellAlong();
    uint8_t candidates = (m_port.m_waiting | m_port.m_pull) & ~m_port.m_paused;
    if (!hasOneLane || m_port.m_countsAhead || !(candidates & 1))
    {
        return NextOfAny(candidates, now);
    }
    // As NextOfAny has it, where there is nothing to choose.
    candidates &= 0xfe;
    const RdmaFrame* front = m_port.m_queue[0].list.Front();
    RdmaFrame* made = front ? nullptr : m_port.m_user->Pull(&m_port, 0xfe, now);
    const RdmaFrame* frame = front ? front : made;
    if (!frame)
    {
        return NextOfAny(candidates, now);
    }
    const uint8_t lane = made ? made->priority : 0;
    const uint32_t blocks = m_port.GetBlocks(frame);
    if ((m_port.m_paused >> lane & 1) || !HasCredits(lanes[lane], blocks))
    {
        Hold(made, lane, now);
        return NextOfAny(candidates & ~(1U << lane), now);
    }
    lanes[lane].sender.OnSent(blocks);
    if (!made)
    {
        return m_port.Dequeue(1, now);
    }
    m_port.m_busyUntil = now + m_port.GetSerialization(made->wireBytes);
    return made;
}

RdmaFrame*
IbPortCredits::NextOfAny(uint8_t candidates, int64_t now)
{
    if (!hasOneLane && !m_port.m_cut)
    {
        candidates = WithCredits(candidates, now);
    }
    while (candidates)
    {
        // Frames that queue are older than what a NIC makes on demand.
        uint8_t lane = hasOneLane
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
        if (m_port.m_cut)
        {
            // It is lost, whatever the peer has room for.
        }
        else if ((m_port.m_paused & bit) || !HasCredits(lanes[lane], blocks))
        {
            Hold(queued ? nullptr : frame, lane, now);
            candidates &= ~(bit | asked);
            continue;
        }
        if (!m_port.m_cut)
        {
            lanes[lane].sender.OnSent(blocks);
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
IbPortCredits::Hold(RdmaFrame* made, uint8_t lane, int64_t now)
{
    const uint8_t bit = 1U << lane;
    if (made)
    {
        // It waits at the head of its lane.
        made->time = now;
        m_port.m_queue[lane].list.PushBack(made);
        m_port.m_queue[lane].bytes += m_port.GetFrameBytes(made);
        m_port.m_queuedBytes += m_port.GetFrameBytes(made);
        m_port.m_maxQueueBytes = std::max(m_port.m_maxQueueBytes, m_port.m_queuedBytes);
        m_port.m_waiting |= bit;
    }
    m_port.m_counters.creditStalls += !(m_port.m_paused & bit);
    m_port.SetPaused(m_port.m_paused | bit, now);
}

void
IbPortCredits::CountArrival(RdmaFrame* frame)
{
    if (m_port.m_faults.IsCorrupted(m_port.GetFrameBytes(frame)))
    {
        frame->serviceLevel |= RdmaFrame::CORRUPTED;
        return;
    }
    if (frame->opcode == RdmaOpcode::FLOW_CONTROL)
    {
        Lane& lane = lanes[frame->priority];
        const uint32_t lost = lane.receiver.OnFlowControl(static_cast<uint16_t>(frame->aux));
        if (lost)
        {
            m_port.m_counters.creditBlocksLost += lost;
            lane.untold += lost;
            StartTimer(RdmaClock::Now());
        }
    }
    else
    {
        Count(frame->priority, m_port.GetBlocks(frame));
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
IbPortCredits::TellOrWait(uint8_t index, int64_t at, int64_t now, IbPortCredits* out)
{
    Lane& lane = lanes[index];
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
        if (!out || !out->TakesAlong(*this))
        {
            m_event.ScheduleAt(at, RdmaEventOrder::NodeOf(m_port.m_context));
        }
    }
}

bool
IbPortCredits::TakesAlong(IbPortCredits& other)
{
    // The port schedules that event as the next of its node, so what is done first in it comes when
    // it would in an event of its own. On a link that may fail it may never come.
    if (!m_port.GoesOn() || !m_port.m_unit || m_port.m_countsAhead || &other == this)
    {
        return false;
    }
    m_along = &other;
    return true;
}

void
IbPortCredits::TellOther()
{
    ++m_port.m_unit->spared;
    std::exchange(m_along, nullptr)->OnEvent();
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
    TellAlong();
    Lane& lane = lanes[frame->priority];
    lane.updateQueued = false;
    lane.untold = lane.FreeLeft(now);
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
        lane.updateAt = lane.leaving.at > now ? lane.leaving.at : lane.before.back().at;
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

bool
IbPortCredits::GoesUnheard()
{
    if (!m_port.m_unit || m_port.m_paused || m_port.m_errorProne || m_port.m_rxTraced)
    {
        return false;
    }
    m_unheard = true;
    return true;
}

void
IbPortCredits::HearAll()
{
    const NodeWindows* windows = NodeWindows::Active(); // null: all is over
    const uint32_t context = m_port.ControlContext();
    const RdmaFrame* front = m_port.m_controlInFlight.Front();
    while (front && windows && windows->HasPassed(RdmaClock::TickAt(front->time), context))
    {
        RdmaFrame* frame = m_port.m_controlInFlight.PopFront();
        m_port.OnPause(frame, frame->time);
        ++m_port.m_unit->spared;
        front = m_port.m_controlInFlight.Front();
    }
    m_unheard = front != nullptr;
}

void
IbPortCredits::Listen()
{
    Hear();
    if (!m_unheard)
    {
        return;
    }
    for (const RdmaFrame* frame = m_port.m_controlInFlight.Front(); frame; frame = frame->next)
    {
        m_port.m_pauseEvent.ScheduleAt(frame->time, m_port.ControlContext());
    }
    m_unheard = false;
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
