/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * The part of a port that has a queue discipline or shapers.
 */
#include "rdma-port-disc.h"

#include "contrib/rdma/core/queue-disc-names.h"
#include "contrib/rdma/core/shown-text.h"
#include "rdma-port.h"

#include "ns3/abort.h"
#include "ns3/log.h"

#include <algorithm>
#include <utility>

namespace ns3
{

NS_LOG_COMPONENT_DEFINE("RdmaPortDisc");

RdmaPortDisc::RdmaPortDisc(Ptr<RdmaQueueDisc> disc, RdmaPort& port)
    : m_disc(std::move(disc)),
      m_port(port),
      m_wakeEvent(this)
{
}

RdmaFrame*
RdmaPortDisc::Next(int64_t now)
{
    if (const uint8_t ready = m_port.m_waiting & ~m_port.m_paused)
    {
        const uint8_t held = m_shapers ? m_shapers->GetHeld(ready, now) : 0;
        const auto eligible = static_cast<uint8_t>(ready & ~held);
        RdmaFrame* frame = eligible ? Pop(eligible, now) : nullptr;
        if (frame && m_shapers)
        {
            m_shapers->Charge(*frame, now);
        }
        if (frame)
        {
            return frame;
        }
        if (eligible)
        {
            WakeAt(m_disc->NotBefore(eligible, now), now);
        }
        if (held)
        {
            WakeAt(m_shapers->GetDue(held), now);
        }
    }
    RdmaFrame* frame = m_port.m_user->Pull(&m_port, m_port.m_paused, now);
    if (frame)
    {
        m_port.m_busyUntil = now + m_port.GetSerialization(frame->wireBytes);
    }
    return frame;
}

/// \return null: only a discipline has it so
RdmaFrame*
RdmaPortDisc::Pop(uint8_t eligible, int64_t now)
{
    if (!m_disc)
    {
        return m_port.Dequeue(eligible, now);
    }
    RdmaFrame* frame = m_disc->Pop(eligible, now);
    if (frame)
    {
        NS_ASSERT_MSG(eligible >> frame->priority & 1, "a frame that may not go");
        const uint64_t before = m_port.m_queue[frame->priority].bytes;
        m_port.OnDiscLeft(*frame, now);
        // Busy before the user hears of it, as in RdmaPort::Dequeue.
        m_port.m_busyUntil = now + m_port.GetSerialization(frame->wireBytes);
        m_port.m_user->OnDequeue(&m_port, frame, before, now);
    }
    return frame;
}

void
RdmaPortDisc::WakeAt(int64_t at, int64_t now)
{
    NS_ABORT_MSG_IF(at <= now,
                    m_port.m_name << ": queue discipline '" << m_disc->GetName()
                                  << "' sends nothing now, and NotBefore says " << at
                                  << " ps; allowed: later than now, " << now << " ps");
    if (at < m_wakeAt)
    {
        m_wakeAt = at;
        m_wakeEvent.ScheduleAt(at, m_port.GetContext());
    }
}

void
RdmaPortDisc::OnWake()
{
    if (m_wakeAt > RdmaClock::Now())
    {
        return; // an event for a later time than the one that overtook it
    }
    m_port.Kick(std::exchange(m_wakeAt, RdmaQueueDisc::NEVER));
}

// Of the port -------------------------------------------------------------------------------------

std::string
RdmaPort::StartQueueDisc(uint64_t seed)
{
    NS_LOG_FUNCTION(this << seed);
    std::string error = RdmaQueueDisc::CheckName(m_discName);
    if (error.empty() && m_hasCredits && !m_discName.empty() && m_discName != rdma::kPortDwrr)
    {
        error = "ns3::RdmaPort::QueueDisc: '" + m_discName +
                "': InfiniBand's ports arbitrate virtual lanes; allowed there: none";
    }
    if (!error.empty())
    {
        return m_name + ": " + error;
    }
    if (m_discName == rdma::kPortStrict)
    {
        SetStrictMask(0xff);
    }
    if (rdma::IsPortsOwn(m_discName))
    {
        return {};
    }
    Ptr<RdmaQueueDisc> disc = RdmaQueueDisc::Make(m_discName);
    error = disc->Attach(*this, seed);
    if (!error.empty())
    {
        return m_name + ": " + error;
    }
    m_disc = std::make_unique<RdmaPortDisc>(disc, *this);
    m_ownOrder = true;
    m_queueTrace.ListenAlways();
    return {};
}

std::string
RdmaPort::StartShapers(const std::string& ofSwitch)
{
    NS_LOG_FUNCTION(this << ofSwitch);
    const std::string& text = m_shaper.empty() ? ofSwitch : m_shaper;
    if (text.empty() || text == rdma::kNoShapers)
    {
        return {};
    }
    const std::string shown = m_name + ": ns3::RdmaPort::Shaper: '" + rdma::Shown(text, 60) + "'";
    const auto shapers = rdma::ParseShapers(text);
    if (!shapers)
    {
        return shown + "; allowed: " + rdma::kShapersAllowed;
    }
    if (m_hasCredits)
    {
        return shown + ": InfiniBand's ports arbitrate virtual lanes; allowed there: none";
    }
    if (!m_disc)
    {
        m_disc = std::make_unique<RdmaPortDisc>(nullptr, *this);
    }
    m_disc->SetShapers(*shapers);
    m_ownOrder = true;
    return {};
}

void
RdmaPort::OnQueued(RdmaFrame* frame, int64_t now)
{
    const uint8_t priority = frame->priority;
    Queue& queue = m_queue[priority];
    if (RdmaQueueDisc* disc = m_disc ? m_disc->Find() : nullptr)
    {
        queue.list.Release(); // it held this frame alone
        disc->Push(frame, now);
    }
    m_queueTrace(this, priority, queue.bytes, now);
}

void
RdmaPort::OnDiscLeft(const RdmaFrame& frame, int64_t now)
{
    Queue& queue = m_queue[frame.priority];
    const uint32_t bytes = GetFrameBytes(&frame);
    queue.bytes -= bytes;
    m_queuedBytes -= bytes;
    if (queue.bytes == 0)
    {
        m_waiting &= ~(1U << frame.priority);
    }
    m_queueTrace(this, frame.priority, queue.bytes, now);
}

RdmaFrame*
RdmaPort::Evict(const RdmaFrame& arriving, int64_t now)
{
    NS_LOG_FUNCTION(this << now);
    RdmaQueueDisc* disc = m_disc ? m_disc->Find() : nullptr;
    RdmaFrame* evicted =
        disc && GetQueueBytes(arriving.priority) ? disc->Evict(arriving, now) : nullptr;
    if (evicted)
    {
        NS_ABORT_MSG_UNLESS(evicted->priority == arriving.priority,
                            m_name << ": a frame of another priority is evicted");
        OnDiscLeft(*evicted, now);
    }
    return evicted;
}

const RdmaQueueDisc*
RdmaPortState::GetQueueDisc() const
{
    return m_disc ? m_disc->Find() : nullptr;
}

void
RdmaPortState::ForEachQueued(uint8_t priority, const RdmaQueueDisc::Visitor& visit) const
{
    for (const RdmaFrame* frame = GetQueueFront(priority); frame; frame = frame->next)
    {
        visit(*frame);
    }
    if (const RdmaQueueDisc* disc = GetQueueDisc())
    {
        disc->ForEach(priority, visit);
    }
}

} // namespace ns3
