/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "rdma-nic-limits.h"

#include "contrib/rdma/core/shared-buffer.h"
#include "contrib/rdma/core/units.h"
#include "rdma-nic.h"

#include "ns3/log.h"
#include "ns3/node.h"

#include <algorithm>

namespace ns3
{

NS_LOG_COMPONENT_DEFINE("RdmaNicLimits");

namespace
{

/// Length of a pause: the longest there is, as switches send by default.
constexpr uint16_t PAUSE_QUANTA = 65535;

} // namespace

std::string
RdmaNicLimits::Find(Thresholds& thresholds,
                    const Config& config,
                    const RdmaPort& port,
                    uint8_t losslessMask,
                    uint32_t largestFrameBytes)
{
    const uint64_t buffer = config.receiveBufferBytes;
    thresholds = {buffer, 0};
    if (!buffer)
    {
        return {};
    }
    // What still arrives after XOFF, and two frames between XOFF and XON, as in a switch.
    const uint64_t headroom =
        losslessMask ? rdma::HeadroomBytes(rdma::BitRate(port.GetRate()),
                                           rdma::Duration(port.GetDelayPs()),
                                           rdma::Duration(0),
                                           rdma::Duration(port.GetPeer()->GetPauseResponsePs()),
                                           rdma::Bytes(largestFrameBytes),
                                           rdma::Duration(port.GetTransmitTimeUnitPs()))
                           .value
                     : 0;
    const uint64_t least = headroom + 2 * uint64_t{largestFrameBytes};
    if (buffer < least)
    {
        return "ns3::RdmaNic::PcieReceiveBuffer: " + std::to_string(buffer) + " B do not hold " +
               (losslessMask ? "what still arrives after a pause, " + std::to_string(headroom) +
                                   " B, and two frames"
                             : std::string("two frames")) +
               "; allowed: at least " + std::to_string(least) + ", or 0 for no limit";
    }
    thresholds.xoff = buffer - headroom;
    thresholds.xon = thresholds.xoff - 2 * uint64_t{largestFrameBytes};
    return {};
}

RdmaNicLimits::RdmaNicLimits(RdmaNic* nic,
                             const Config& config,
                             uint8_t losslessMask,
                             const Thresholds& thresholds)
    : m_nic(nic),
      m_lineOverhead(nic->GetPort()->GetLineOverhead()),
      m_config(config),
      m_cache(std::max<uint32_t>(1, config.qpCacheEntries)),
      m_wakeDue(RdmaNic::NEVER),
      m_preparedEvent(this),
      m_losslessMask(losslessMask),
      m_thresholds(thresholds),
      m_receiveEvent(this),
      m_refreshEvent(this)
{
    if (config.messagesPerSecond)
    {
        m_slotPs = static_cast<int64_t>((1000000000000 + config.messagesPerSecond / 2) /
                                        config.messagesPerSecond);
    }
    Grow(nic->GetNQueuePairs());
}

RdmaNicLimits::~RdmaNicLimits()
{
    for (RdmaFrame* frame : m_prepared)
    {
        if (frame)
        {
            RdmaFramePool::Get().Free(frame);
        }
    }
    m_held.Clear();
}

void
RdmaNicLimits::Grow(uint32_t queuePairs)
{
    NS_LOG_FUNCTION(this << queuePairs);
    if (m_config.qpCacheEntries)
    {
        m_cache.Grow(queuePairs);
    }
    if (m_slotPs)
    {
        m_slots.resize(queuePairs);
    }
}

int64_t
RdmaNicLimits::Cost(uint32_t qpIndex, uint32_t payload)
{
    int64_t cost = 0;
    if (m_config.qpCacheEntries && !m_cache.Touch(qpIndex))
    {
        ++m_nic->m_counters.qpCacheMisses;
        cost = m_config.qpCacheMissPs;
    }
    if (m_config.pcieBps)
    {
        cost += rdma::SerializationTime(rdma::Bytes(payload), rdma::BitRate(m_config.pcieBps)).ps;
    }
    return cost;
}

// Sending ----------------------------------------------------------------------------------------

void
RdmaNicLimits::Prepare(uint8_t pausedMask, int64_t now)
{
    NS_LOG_FUNCTION(this << pausedMask << now);
    if (m_nic->m_preparedMask & ~pausedMask)
    {
        return; // one at a time; what is paused does not count
    }
    // One packet a priority at most, so that they keep their order.
    RdmaFrame* frame = m_nic->Choose<true>(pausedMask | m_nic->m_preparedMask, now);
    if (frame)
    {
        m_prepared[frame->priority] = frame;
        m_nic->m_preparedMask |= 1U << frame->priority;
        m_nic->UpdatePullMask();
    }
}

RdmaFrame*
RdmaNicLimits::Pull(uint8_t pausedMask, int64_t now)
{
    NS_LOG_FUNCTION(this << pausedMask << now);
    Prepare(pausedMask, now);
    int64_t earliest = RdmaNic::NEVER;
    for (uint8_t left = m_nic->m_preparedMask & ~pausedMask; left;)
    {
        const uint8_t priority = 31 - __builtin_clz(left);
        RdmaFrame* frame = m_prepared[priority];
        if (frame->time <= now)
        {
            m_nic->m_preparedMask &= ~(1U << priority);
            m_prepared[priority] = nullptr;
            m_nic->UpdatePullMask();
            Prepare(pausedMask, now); // the next one, while this one is sent
            return frame;
        }
        earliest = std::min(earliest, frame->time);
        left &= ~(1U << priority);
    }
    if (earliest < m_wakeDue)
    {
        m_wakeDue = earliest;
        m_preparedEvent.ScheduleAt(earliest, m_nic->m_port->GetContext());
    }
    return nullptr;
}

void
RdmaNicLimits::OnPrepared()
{
    const int64_t due = m_wakeDue;
    if (due > RdmaClock::Now())
    {
        return; // an event for a later time than the one that overtook it
    }
    m_wakeDue = RdmaNic::NEVER;
    m_nic->m_port->Kick(due);
}

int64_t
RdmaNicLimits::MessageSlot(uint32_t qpIndex, uint64_t firstPsn, int64_t now)
{
    NS_LOG_FUNCTION(this << qpIndex << firstPsn << now);
    if (!m_slotPs)
    {
        return now;
    }
    Slot& slot = m_slots[qpIndex];
    if (slot.psn != firstPsn)
    {
        slot.psn = firstPsn;
        slot.at = std::max(now, m_nextSlot);
        m_nextSlot = slot.at + m_slotPs;
    }
    return slot.at;
}

// Receiving --------------------------------------------------------------------------------------

void
RdmaNicLimits::Receive(uint32_t qpIndex, RdmaFrame* frame, int64_t now)
{
    NS_LOG_FUNCTION(this << qpIndex << frame << now);
    const uint32_t bytes = FrameBytes(frame);
    if (m_config.receiveBufferBytes)
    {
        const bool lossless = m_losslessMask >> frame->priority & 1;
        if (m_heldBytes + bytes > (lossless ? m_config.receiveBufferBytes : m_thresholds.xoff))
        {
            ++m_nic->m_counters.receiveBufferDrops;
            m_nic->m_receiveDropTrace(PeekPointer(m_nic->m_port), frame, now);
            RdmaFramePool::Get().Free(frame);
            return;
        }
    }
    frame->time = m_receiving.Serve(now, Cost(qpIndex, frame->payload));
    if (frame->extra && frame->extra->hasTelemetry)
    {
        frame->extra->telemetry.held = std::max<int64_t>(0, frame->time - now);
    }
    if (frame->time <= now && m_held.IsEmpty())
    {
        m_nic->Deliver(frame, now);
        return;
    }
    m_heldBytes += bytes;
    m_held.PushBack(frame);
    if (!m_receivePending)
    {
        m_receivePending = true;
        m_receiveEvent.ScheduleAt(frame->time, m_nic->m_port->GetContext());
    }
    if (m_config.receiveBufferBytes && m_losslessMask && !m_pausing &&
        m_heldBytes > m_thresholds.xoff)
    {
        Pause(true, now);
    }
}

void
RdmaNicLimits::OnReceived()
{
    // At a resolution coarser than ps several packets may fall into one tick.
    int64_t now = m_held.Front()->time;
    const int64_t tick = std::max(now, RdmaClock::Now());
    for (;;)
    {
        RdmaFrame* frame = m_held.PopFront();
        m_heldBytes -= FrameBytes(frame);
        if (m_pausing && m_heldBytes <= m_thresholds.xon)
        {
            Pause(false, now);
        }
        m_nic->Deliver(frame, now);
        if (m_held.IsEmpty())
        {
            m_receivePending = false;
            return;
        }
        now = m_held.Front()->time;
        if (now > tick)
        {
            m_receiveEvent.ScheduleAt(now, m_nic->m_port->GetContext());
            return;
        }
    }
}

void
RdmaNicLimits::Pause(bool pause, int64_t now)
{
    NS_LOG_LOGIC("endpoint " << m_nic->GetEndpoint()
                             << (pause ? " pauses its peer" : " lets its peer go on") << " with "
                             << m_heldBytes << " B in the receive buffer at " << now << " ps");
    m_pausing = pause;
    m_nic->m_counters.nicPauses += pause;
    m_nic->m_port->SendPause(m_losslessMask, pause ? PAUSE_QUANTA : 0, now);
    if (pause && !m_refreshPending)
    {
        ScheduleRefresh(now);
    }
}

void
RdmaNicLimits::ScheduleRefresh(int64_t now)
{
    m_refreshPending = true;
    // Half of a pause: quanta are of 512 bits.
    m_refreshEvent.ScheduleAt(
        now + static_cast<int64_t>(256e12 * PAUSE_QUANTA /
                                   static_cast<double>(m_nic->m_port->GetRate())),
        m_nic->m_port->GetContext());
}

void
RdmaNicLimits::OnRefresh()
{
    m_refreshPending = false;
    if (!m_pausing)
    {
        return; // sleeps until the next pause
    }
    const int64_t now = RdmaClock::Now();
    m_nic->m_port->SendPause(m_losslessMask, PAUSE_QUANTA, now);
    ScheduleRefresh(now);
}

} // namespace ns3
