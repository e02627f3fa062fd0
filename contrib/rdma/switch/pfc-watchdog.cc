/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "pfc-watchdog.h"

#include "ns3/log.h"
#include "ns3/node.h"

#include <utility>

namespace ns3
{

NS_LOG_COMPONENT_DEFINE("PfcWatchdog");

RdmaPfcWatchdog::RdmaPfcWatchdog(std::vector<Ptr<RdmaPort>> ports,
                                 const Config& config,
                                 StormCallback storm,
                                 DropCallback drop)
    : m_ports(std::move(ports)),
      m_states(m_ports.size() * RdmaPort::PRIORITIES),
      m_config(config),
      m_storm(std::move(storm)),
      m_drop(std::move(drop)),
      m_timer(this)
{
    const auto onPaused = MakeCallback(&RdmaPfcWatchdog::OnPaused, this);
    for (const auto& port : m_ports)
    {
        port->TraceConnectWithoutContext("Paused", onPaused);
    }
}

void
RdmaPfcWatchdog::OnPaused(const RdmaPort* port, uint8_t paused, uint8_t changed, int64_t now)
{
    for (uint8_t p = 0; p < RdmaPort::PRIORITIES; ++p)
    {
        if (!(changed >> p & 1))
        {
            continue;
        }
        State& state = At(port, p);
        state.heldSince = -1;
        if ((paused >> p & 1) && port->GetQueueBytes(p) > 0)
        {
            state.heldSince = now;
            Arm(now + m_config.detection);
        }
    }
}

uint8_t
RdmaPfcWatchdog::StormMask(const RdmaPort* port)
{
    uint8_t mask = 0;
    for (uint8_t p = 0; p < RdmaPort::PRIORITIES; ++p)
    {
        mask |= At(port, p).storm ? 1U << p : 0;
    }
    return mask;
}

void
RdmaPfcWatchdog::Begin(RdmaPort* port, uint8_t priority, int64_t now)
{
    NS_LOG_INFO(port->GetName() << " priority " << +priority << ": pause storm");
    State& state = At(port, priority);
    state.storm = true;
    state.heldSince = -1;
    ++m_storms;
    m_storm(port, priority, true, now);
    if (m_config.action == FORWARD)
    {
        port->IgnorePauses(StormMask(port), now);
        return;
    }
    RdmaFrameList frames = port->TakeQueue(priority, now);
    while (!frames.IsEmpty())
    {
        m_drop(port, frames.PopFront(), now);
    }
}

void
RdmaPfcWatchdog::End(RdmaPort* port, uint8_t priority, int64_t now)
{
    NS_LOG_INFO(port->GetName() << " priority " << +priority << ": pause storm over");
    At(port, priority).storm = false;
    if (m_config.action == FORWARD)
    {
        port->IgnorePauses(StormMask(port), now);
    }
    m_storm(port, priority, false, now);
}

void
RdmaPfcWatchdog::Arm(int64_t ps)
{
    if (m_armed < 0 || ps < m_armed)
    {
        m_armed = ps;
        m_timer.ScheduleAt(ps, m_ports.front()->GetNode()->GetId());
    }
}

void
RdmaPfcWatchdog::OnLook()
{
    const int64_t now = RdmaClock::Now();
    if (m_armed < 0 || m_armed > now)
    {
        return; // an event from before an earlier one was needed
    }
    m_armed = -1;
    for (const auto& port : m_ports)
    {
        for (uint8_t p = 0; p < RdmaPort::PRIORITIES; ++p)
        {
            const State& state = At(PeekPointer(port), p);
            const int64_t restore = port->GetPauseEnd(p) + m_config.restoration;
            if (state.storm && restore <= now)
            {
                End(PeekPointer(port), p, now);
            }
            else if (!state.storm && state.heldSince >= 0 &&
                     state.heldSince + m_config.detection <= now)
            {
                Begin(PeekPointer(port), p, now);
            }
        }
    }
    // What is left to wait for, after all that the storms set free.
    for (const auto& port : m_ports)
    {
        for (uint8_t p = 0; p < RdmaPort::PRIORITIES; ++p)
        {
            const State& state = At(PeekPointer(port), p);
            if (state.storm)
            {
                Arm(port->GetPauseEnd(p) + m_config.restoration);
            }
            else if (state.heldSince >= 0)
            {
                Arm(state.heldSince + m_config.detection);
            }
        }
    }
}

} // namespace ns3
