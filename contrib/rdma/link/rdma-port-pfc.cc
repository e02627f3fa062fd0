/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * The part of a port that sends and obeys PFC frames; with credits, what holds its lanes back.
 */
#include "rdma-control-frame.h"
#include "rdma-port.h"

#include "ns3/log.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <string>

namespace ns3
{

NS_LOG_COMPONENT_DEFINE("RdmaPortPfc");

namespace
{

/// Of a control ordered set (RdmaLinkRetry, RdmaCellCredits), on the line.
constexpr uint32_t WORD_BYTES = 8;

} // namespace

void
RdmaPort::SendPause(uint8_t mask, uint16_t quanta, int64_t now)
{
    NS_LOG_FUNCTION(this << mask << quanta << now);
    if (m_down)
    {
        return; // the peer hears of what holds then when the link comes up
    }
    RdmaFrame* frame =
        MakeControlFrame(RdmaOpcode::PAUSE, 7, rdma::kMinimumFrameBytes + m_lineOverhead);
    frame->aux = quanta;
    frame->classEnable = mask;
    if (quanta)
    {
        ++m_counters.pausesSent;
    }
    else
    {
        ++m_counters.resumesSent;
    }
    m_control.PushBack(frame);
    m_hasControl = true;
    Kick(now);
}

void
RdmaPort::OnPauseEvent()
{
    const int64_t tick = RdmaClock::Now();
    int64_t heard = 0;
    while (!m_controlInFlight.IsEmpty() && m_controlInFlight.Front()->time <= tick)
    {
        RdmaFrame* frame = m_controlInFlight.PopFront();
        OnPause(frame, frame->time);
        ++heard;
    }
    if (m_hasCredits)
    {
        if (m_unit && !m_countsAhead)
        {
            m_unit->spared += heard - 1; // each counts as one: IbPortCredits::HearAll
        }
        return;
    }
    // Pauses that ran out because no refresh came.
    uint8_t paused = m_paused;
    const uint8_t byCredits = m_cells ? m_cells->GetConfig().sendMask : 0;
    for (uint8_t p = 0; p < PRIORITIES; ++p)
    {
        if (((paused & ~byCredits) >> p & 1) && m_pauses.until[p] <= tick)
        {
            paused &= ~(1U << p);
        }
    }
    if (paused != m_paused)
    {
        SetPaused(paused, tick);
    }
}

void
RdmaPort::OnPause(RdmaFrame* frame, int64_t now)
{
    ++m_rxFrames;
    m_rxWireBytes += frame->wireBytes;
    if (m_errorProne && m_hasCredits)
    {
        m_credits->CountAheadOf(*frame);
        m_credits->CountArrival(frame);
    }
    if (m_errorProne && m_retry && m_faults.IsCorrupted(frame->wireBytes))
    {
        m_retry->DropBad(frame);
        return;
    }
    if (m_errorProne && !m_retry && DropCorrupted(frame, now))
    {
        return;
    }
    if (m_rxTraced)
    {
        m_rxTrace(this, frame, now);
    }
    if (frame->opcode == RdmaOpcode::FLOW_CONTROL)
    {
        OnWord(*frame, now);
        RdmaFramePool::Get().Free(frame);
        return;
    }
    // A quantum is 512 bit times of this port (IEEE 802.3, 31B.2; 802.1Qbb keeps it).
    const int64_t length =
        frame->aux ? static_cast<int64_t>(std::llround(512e12 * frame->aux / m_rate)) : 0;
    const uint8_t mask = frame->classEnable;
    RdmaFramePool::Get().Free(frame);
    for (uint8_t p = 0; p < PRIORITIES; ++p)
    {
        if (mask >> p & 1)
        {
            m_pauses.until[p] = now + length;
        }
    }
    if (length)
    {
        ++m_counters.pausesReceived;
        m_pauseEvent.ScheduleAt(now + length, ControlContext());
        SetPaused((m_paused | mask) & ~m_pauses.ignored, now);
    }
    else
    {
        SetPaused(m_paused & ~mask, now);
    }
}

void
RdmaPort::QueueWord(uint8_t flags, int64_t now)
{
    RdmaFrame* frame = MakeControlFrame(RdmaOpcode::FLOW_CONTROL, 7, WORD_BYTES);
    frame->flags = flags;
    frame->dscp = 0;
    m_control.PushBack(frame);
    m_hasControl = true;
    Kick(now);
}

void
RdmaPort::FillWord(RdmaFrame* frame, int64_t now)
{
    if (frame->flags == RdmaCellCredits::UPDATE)
    {
        m_cells->FillUpdate(frame, now);
    }
    else
    {
        m_retry->FillWord(frame, now);
    }
}

void
RdmaPort::OnWord(const RdmaFrame& frame, int64_t now)
{
    if (m_hasCredits)
    {
        m_credits->OnUpdate(frame, now);
    }
    else if (frame.flags == RdmaCellCredits::UPDATE)
    {
        m_cells->OnUpdate(frame, now);
    }
    else
    {
        m_retry->OnWord(frame, now);
    }
}

std::string
RdmaPort::StartCells(const CellSetUp& setUp)
{
    NS_LOG_FUNCTION(this);
    RdmaCellCredits::Config config;
    config.sendMask = setUp.sendMask;
    config.sendCells =
        static_cast<uint32_t>(std::min<uint64_t>(setUp.sendBytes / RdmaCellCredits::CELL_BYTES,
                                                 RdmaCellCredits::MAX_CELLS));
    config.largestFrameCells = RdmaCellCredits::CellsOf(setUp.largestFrame);
    config.spacingPs = ToPs(8 * uint64_t{m_creditSpacing}, m_rate);
    config.consumes = setUp.consumes;
    if (config.sendMask && config.sendCells < config.largestFrameCells)
    {
        return m_peer->m_name +
               ": ns3::RdmaPort::CreditBuffer: " + std::to_string(setUp.sendBytes) +
               ": allowed: at least " +
               std::to_string(config.largestFrameCells * RdmaCellCredits::CELL_BYTES) +
               ", the credits of the largest frame";
    }
    m_cells = std::make_unique<RdmaCellCredits>(config, *this);
    m_creditMask = setUp.receiveMask;
    m_creditBytes = setUp.receiveBytes;
    m_sendsWithCare = true;
    UpdateSuspicion();
    return {};
}

uint64_t
RdmaPort::GetCreditsForRate(uint32_t largestFrame, int64_t pipelinePs) const
{
    // A frame itself, one that the update waits for, one more that the sender looks for; the
    // update's spacing; and the way there and back.
    const double flight =
        static_cast<double>(2 * m_delay + pipelinePs) * static_cast<double>(m_rate) / 8e12;
    const double bytes = flight + 3.0 * (largestFrame + m_lineOverhead) + m_creditSpacing;
    const double frames = std::ceil(bytes / largestFrame);
    return static_cast<uint64_t>(frames) * RdmaCellCredits::CellsOf(largestFrame) *
           RdmaCellCredits::CELL_BYTES;
}

void
RdmaPort::SetPaused(uint8_t mask, int64_t now)
{
    const uint8_t changed = m_paused ^ mask;
    if (!changed)
    {
        return;
    }
    if (m_hasCredits && (mask & changed))
    {
        m_credits->Listen(); // a lane waits for credits from now on
    }
    // Credits run out with the frame that takes the last ones, and the line rests when it has gone.
    const int64_t from = m_cells ? std::max(now, m_busyUntil) : now;
    m_counters.pausedPs += m_pauses.Change(m_paused, mask, now, from);
    const uint8_t released = m_paused & ~mask;
    m_paused = mask;
    m_everPaused = true;
    NS_LOG_LOGIC(m_name << " paused priorities now " << +mask);
    m_pauseTrace(this, mask, changed, now);
    if (released)
    {
        Kick(now);
    }
}

void
RdmaPort::IgnorePauses(uint8_t mask, int64_t now)
{
    NS_LOG_FUNCTION(this << mask << now);
    m_pauses.ignored = mask;
    uint8_t heard = 0;
    for (uint8_t p = 0; p < PRIORITIES; ++p)
    {
        heard |= m_pauses.until[p] > now ? 1U << p : 0;
    }
    SetPaused(heard & ~mask, now);
}

} // namespace ns3
