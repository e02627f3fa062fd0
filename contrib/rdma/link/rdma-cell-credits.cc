/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "rdma-cell-credits.h"

#include "rdma-port.h"

#include "ns3/log.h"

namespace ns3
{

NS_LOG_COMPONENT_DEFINE("RdmaCellCredits");

RdmaCellCredits::RdmaCellCredits(const Config& config, RdmaPort& port)
    : m_config(config),
      m_port(port),
      m_spacingEvent(this),
      m_repeatEvent(this)
{
}

bool
RdmaCellCredits::IsCounted(const RdmaFrame& frame) const
{
    return frame.opcode != RdmaOpcode::PACKET; // no switch's buffer holds one
}

void
RdmaCellCredits::OnSent(const RdmaFrame& frame, int64_t now)
{
    const uint8_t priority = frame.priority;
    if (!(m_config.sendMask >> priority & 1) || !IsCounted(frame))
    {
        return;
    }
    m_sent[priority] = (m_sent[priority] + CellsOf(m_port.GetFrameBytes(&frame))) & MAX_CELLS;
    if (!HasRoom(priority))
    {
        ++m_port.m_counters.creditStalls;
        m_port.SetPaused(m_port.m_paused | 1U << priority, now);
    }
}

void
RdmaCellCredits::OnUpdate(const RdmaFrame& frame, int64_t now)
{
    ++m_port.m_counters.creditUpdatesReceived;
    const uint8_t priority = frame.priority;
    m_heard[priority] = frame.aux;
    if ((m_port.m_paused >> priority & 1) && HasRoom(priority))
    {
        m_port.SetPaused(m_port.m_paused & ~(1U << priority), now);
    }
}

void
RdmaCellCredits::OnArrival(const RdmaFrame& frame, int64_t now)
{
    if (m_config.consumes && IsCounted(frame))
    {
        Return(frame.priority, m_port.GetFrameBytes(&frame), now);
    }
}

void
RdmaCellCredits::Return(uint8_t priority, uint64_t bytes, int64_t now)
{
    if (!(m_port.m_creditMask >> priority & 1))
    {
        return;
    }
    m_freed[priority] = (m_freed[priority] + CellsOf(bytes)) & MAX_CELLS;
    m_untold |= 1U << priority;
    m_repeats = REPEATS;
    Tell(now);
}

void
RdmaCellCredits::Tell(int64_t now)
{
    if (m_wordQueued || m_spacingPending)
    {
        return;
    }
    if (now >= m_nextWord)
    {
        m_wordQueued = true;
        m_port.QueueWord(UPDATE, now);
        return;
    }
    m_spacingPending = true;
    m_spacingEvent.ScheduleAt(m_nextWord, m_port.GetContext());
}

void
RdmaCellCredits::OnSpacing()
{
    m_spacingPending = false;
    if (m_untold)
    {
        Tell(RdmaClock::Now());
    }
}

void
RdmaCellCredits::OnRepeat()
{
    m_repeatPending = false;
    if (!m_untold && m_repeats)
    {
        --m_repeats;
        m_untold = m_used;
        Tell(RdmaClock::Now());
    }
}

void
RdmaCellCredits::FillUpdate(RdmaFrame* frame, int64_t now)
{
    m_wordQueued = false;
    // In turns, from the priority behind the last one on.
    do
    {
        m_last = (m_last + 1) % PRIORITIES;
    } while (!(m_untold >> m_last & 1));
    const auto bit = static_cast<uint8_t>(1U << m_last);
    m_untold &= static_cast<uint8_t>(~bit);
    m_used |= bit;
    frame->priority = m_last;
    frame->aux = m_freed[m_last];
    m_nextWord = now + m_config.spacingPs;
    ++m_port.m_counters.creditUpdatesSent;
    if (m_untold)
    {
        Tell(now);
    }
    else if (m_port.m_errorProne && !m_repeatPending && m_repeats)
    {
        m_repeatPending = true;
        m_repeatEvent.ScheduleAt(now + REPEAT_SPACINGS * m_config.spacingPs, m_port.GetContext());
    }
}

} // namespace ns3
