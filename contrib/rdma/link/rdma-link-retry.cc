/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "rdma-link-retry.h"

#include "rdma-gateway.h"
#include "rdma-port.h"

#include "ns3/log.h"

#include <algorithm>
#include <memory>
#include <utility>

namespace ns3
{

NS_LOG_COMPONENT_DEFINE("RdmaLinkRetry");

namespace
{

/// \return a frame like this one, with attachments of its own
RdmaFrame*
CopyWithExtra(const RdmaFrame& frame)
{
    RdmaFramePool& pool = RdmaFramePool::Get();
    RdmaFrame* copy = pool.Allocate();
    *copy = frame;
    copy->next = nullptr;
    if (!frame.extra)
    {
        return copy;
    }
    const RdmaFrameExtra& from = *frame.extra;
    RdmaFrameExtra& to = *pool.AllocateExtra();
    copy->extra = &to;
    to.packet = from.packet;
    to.protocol = from.protocol;
    to.hasTelemetry = from.hasTelemetry;
    to.hasTag = from.hasTag;
    to.joined = from.joined;
    to.tag = from.tag;
    to.rank = from.rank;
    to.telemetry = from.telemetry;
    to.source = from.source;
    to.destination = from.destination;
    if (from.journey)
    {
        to.journey = std::make_unique<RdmaJourney>(*from.journey);
    }
    return copy;
}

} // namespace

RdmaLinkRetry::RdmaLinkRetry(const Config& config, RdmaPort& port)
    : m_config(config),
      m_port(port),
      m_deadlineEvent(this),
      m_spacingEvent(this),
      m_passingEvent(this)
{
}

RdmaLinkRetry::~RdmaLinkRetry()
{
    m_kept.Clear();
    m_passing.Clear();
}

// Sender -----------------------------------------------------------------------------------------

RdmaFrame*
RdmaLinkRetry::Next(int64_t now)
{
    if (!m_replay)
    {
        return IsFull() || m_blocked ? nullptr
               : m_port.m_disc       ? m_port.m_disc->Next(now)
                                     : m_port.NextFrame(now);
    }
    RdmaFrame* frame = CopyWithExtra(*m_replay);
    if (frame->extra && frame->extra->journey && !frame->extra->journey->wayOnly)
    {
        // The time since it went first is this queue's, or of packets that go again.
        RdmaJourney& journey = *frame->extra->journey;
        const int64_t late = now - m_replay->time;
        if (!journey.hops.empty() && journey.hops.back().egress == &m_port)
        {
            journey.hops.back().queued += late;
        }
        else
        {
            journey.repeating += late;
            journey.started += late;
        }
    }
    m_replay = m_replay->next;
    m_again = true;
    ++m_port.m_counters.framesReplayed;
    m_port.m_busyUntil = now + m_port.GetSerialization(frame->wireBytes);
    return frame;
}

bool
RdmaLinkRetry::OnSent(RdmaFrame* frame, int64_t now)
{
    const bool isNew = !std::exchange(m_again, false);
    if (isNew)
    {
        if (GetOutstanding() == 0)
        {
            SetDeadline(m_port.m_busyUntil + m_config.timerPs);
        }
        frame->inPort = m_next++; // of no use to a receiver
        RdmaFrame* copy = CopyWithExtra(*frame);
        copy->time = now;
        m_bytes += copy->wireBytes;
        m_kept.PushBack(copy);
    }
    return isNew;
}

void
RdmaLinkRetry::GoOn()
{
    if (m_replay && !m_port.m_txPending)
    {
        m_port.ScheduleTransmit();
    }
}

void
RdmaLinkRetry::StartReplay(int64_t now)
{
    if (m_config.limit && m_inVain == m_config.limit)
    {
        NS_LOG_INFO(m_port.m_name << ": given up");
        m_replay = nullptr;
        m_blocked = true;
        return;
    }
    ++m_inVain;
    m_replay = m_kept.Front();
    ++m_port.m_counters.linkReplays;
    SetDeadline(now + m_config.timerPs);
    m_port.Kick(now);
}

void
RdmaLinkRetry::OnCableWhole(int64_t now)
{
    m_blocked = false;
    m_inVain = 0;
    if (GetOutstanding())
    {
        StartReplay(now);
    }
}

void
RdmaLinkRetry::SetTimes(int64_t timerPs, int64_t spacingPs)
{
    // The event of an earlier deadline finds the later one.
    m_deadline += std::max<int64_t>(0, timerPs - m_config.timerPs);
    m_config.timerPs = timerPs;
    m_config.spacingPs = spacingPs;
}

void
RdmaLinkRetry::SetDeadline(int64_t at)
{
    m_deadline = at;
    if (!m_deadlinePending)
    {
        m_deadlinePending = true;
        m_deadlineEvent.ScheduleAt(at, m_port.GetContext());
    }
}

void
RdmaLinkRetry::OnDeadline()
{
    m_deadlinePending = false;
    if (GetOutstanding() == 0 || m_port.m_down || m_blocked)
    {
        return;
    }
    const int64_t now = RdmaClock::Now();
    if (m_deadline > now)
    {
        SetDeadline(m_deadline);
        return;
    }
    NS_LOG_INFO(m_port.m_name << ": the replay timer has run out");
    ++m_port.m_counters.replayTimeouts;
    StartReplay(now);
}

void
RdmaLinkRetry::OnWord(const RdmaFrame& frame, int64_t now)
{
    ++m_port.m_counters.retryWordsReceived;
    const uint16_t acknowledged = static_cast<uint16_t>(frame.aux + 1 - m_first);
    if (acknowledged > GetOutstanding())
    {
        return; // overtaken by what this end has heard since
    }
    const bool full = IsFull();
    for (uint16_t i = 0; i < acknowledged; ++i)
    {
        RdmaFrame* kept = m_kept.PopFront();
        m_replay = m_replay == kept ? m_kept.Front() : m_replay;
        m_bytes -= kept->wireBytes;
        RdmaFramePool::Get().Free(kept);
    }
    m_first = static_cast<uint16_t>(m_first + acknowledged);
    if (acknowledged)
    {
        m_inVain = 0;
        m_blocked = false;
    }
    if (acknowledged && GetOutstanding())
    {
        SetDeadline(now + m_config.timerPs);
    }
    if ((frame.flags & NACK) && GetOutstanding())
    {
        StartReplay(now);
    }
    else if (full && !IsFull())
    {
        m_port.Kick(now);
    }
}

// Receiver ---------------------------------------------------------------------------------------

bool
RdmaLinkRetry::Accept(RdmaFrame* frame)
{
    const bool next = frame->inPort == m_expected;
    const bool bad =
        m_port.m_errorProne && m_port.m_faults.IsCorrupted(m_port.GetFrameBytes(frame));
    const int64_t now = frame->time;
    if (next && !bad)
    {
        ++m_expected;
        m_nacked = false;
        Acknowledge(now);
        return true;
    }
    const bool behind = static_cast<int16_t>(frame->inPort - m_expected) < 0;
    if (behind)
    {
        Acknowledge(now); // the peer has not heard that it came
    }
    else if (next || !m_nacked)
    {
        m_nacked = true;
        m_toldNack = false;
        QueueWord(now);
    }
    if (bad)
    {
        DropBad(frame);
        return false;
    }
    ++m_port.m_counters.retryDiscarded;
    RdmaFramePool::Get().Free(frame);
    return false;
}

void
RdmaLinkRetry::DropBad(RdmaFrame* frame)
{
    ++m_port.m_counters.retryCorrupted;
    RdmaFramePool::Get().Free(frame);
}

void
RdmaLinkRetry::Receive(RdmaFrame* frame, int64_t now)
{
    frame->time = now;
    if (m_port.DropLostOnWire(frame, now) || !Accept(frame))
    {
        return;
    }
    if (m_latency == 0)
    {
        PassOn(frame, now);
        return;
    }
    const bool pending = !m_passing.IsEmpty();
    frame->time = now + m_latency;
    m_passing.PushBack(frame);
    if (!pending)
    {
        m_passingEvent.ScheduleAt(frame->time, m_port.GetContext());
    }
}

void
RdmaLinkRetry::OnPassing()
{
    const int64_t tick = RdmaClock::Now();
    while (!m_passing.IsEmpty() && m_passing.Front()->time <= tick)
    {
        RdmaFrame* frame = m_passing.PopFront();
        PassOn(frame, frame->time);
    }
    if (!m_passing.IsEmpty())
    {
        m_passingEvent.ScheduleAt(m_passing.Front()->time, m_port.GetContext());
    }
}

void
RdmaLinkRetry::PassOn(RdmaFrame* frame, int64_t now)
{
    if (m_port.IsBadHere(*frame))
    {
        m_port.LoseBad(frame, now); // so it was sent: a switch has passed it on
        return;
    }
    if (m_port.m_faults.DropsSilently() && m_port.DropSilently(frame, now))
    {
        return;
    }
    m_port.CountCells(*frame, now);
    m_port.HandOver(frame, now);
}

void
RdmaLinkRetry::Acknowledge(int64_t now)
{
    m_untold = true;
    if (m_wordQueued || m_spacingPending)
    {
        return;
    }
    if (now >= m_nextWord)
    {
        QueueWord(now);
        return;
    }
    m_spacingPending = true;
    m_spacingEvent.ScheduleAt(m_nextWord, m_port.GetContext());
}

void
RdmaLinkRetry::OnSpacing()
{
    m_spacingPending = false;
    if (m_untold)
    {
        QueueWord(RdmaClock::Now());
    }
}

void
RdmaLinkRetry::QueueWord(int64_t now)
{
    if (m_wordQueued || m_port.m_down)
    {
        return;
    }
    m_wordQueued = true;
    m_port.QueueWord(0, now);
}

void
RdmaLinkRetry::FillWord(RdmaFrame* frame, int64_t now)
{
    m_wordQueued = false;
    m_untold = false;
    m_nextWord = now + m_config.spacingPs;
    frame->aux = static_cast<uint16_t>(m_expected - 1);
    frame->flags = m_toldNack ? 0 : NACK;
    ++(m_toldNack ? m_port.m_counters.retryAcksSent : m_port.m_counters.retryNacksSent);
    m_toldNack = true;
}

void
RdmaLinkRetry::Forget()
{
    m_kept.Clear();
    m_bytes = 0;
    m_replay = nullptr;
    m_first = m_next = m_expected = 0;
    m_inVain = 0;
    m_blocked = m_again = m_wordQueued = m_nacked = m_untold = false;
    m_toldNack = true;
}

// Of the port -------------------------------------------------------------------------------------

std::string
RdmaPort::StartRetry(uint32_t largestFrame)
{
    NS_LOG_FUNCTION(this << largestFrame);
    if (m_cutThrough)
    {
        return m_name + ": ns3::RdmaPort::LinkRetry: what arrives is judged when it is whole; "
                        "allowed without cut-through at the switches of the link";
    }
    RdmaLinkRetry::Config config;
    config.bufferBytes = m_replayBuffer;
    config.limit = m_replayLimit;
    config.largestFrame = largestFrame;
    const int64_t latency = m_receiveLatency;
    SetReceiveLatency(0);
    m_retry = std::make_unique<RdmaLinkRetry>(config, *this);
    TimeRetry();
    m_retry->SetLatency(latency);
    m_ownOrder = m_sendsWithCare = true;
    UpdateSuspicion();
    if (m_peer->m_remote)
    {
        m_peer->m_gateway->SetNumbered();
    }
    return {};
}

void
RdmaPort::TimeRetry()
{
    int64_t timer = m_replayTimer.GetPicoSeconds();
    if (timer == 0)
    {
        // Twice the longest that an ACK takes: the frame itself is counted from its end. The ACK
        // goes by the peer's rate, which a fault may have made another one.
        const uint64_t largest = m_retry->GetConfig().largestFrame;
        const uint64_t bytes = 2 * (largest + m_lineOverhead) + m_ackSpacing;
        timer = 2 * (2 * m_delay + ToPs(8 * bytes, std::min(m_rate, m_peer->m_rate)));
    }
    m_retry->SetTimes(timer, ToPs(8 * uint64_t{m_ackSpacing}, m_rate));
}

} // namespace ns3
