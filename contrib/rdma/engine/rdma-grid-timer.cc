/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "rdma-grid-timer.h"

#include "rdma-event-order.h"

#include "ns3/abort.h"
#include "ns3/simulator-impl.h"

#include <algorithm>
#include <utility>

namespace ns3
{

RdmaGridTimer::RdmaGridTimer(int64_t intervalPs, Callback callback)
    : m_interval(intervalPs),
      m_callback(std::move(callback)),
      m_timer(this)
{
    NS_ABORT_MSG_IF(intervalPs <= 0, "a grid needs an interval");
    Simulator::GetImplementation(); // there is an engine from here on
    if (NodeWindows* windows = NodeWindows::Active())
    {
        windows->GetGrids().Add(this);
    }
}

RdmaGridTimer::~RdmaGridTimer()
{
    if (NodeWindows* windows = NodeWindows::Active())
    {
        windows->GetGrids().Remove(this);
    }
}

void
RdmaGridTimer::SetInterval(int64_t intervalPs)
{
    NS_ABORT_MSG_IF(intervalPs <= 0, "a grid needs an interval");
    m_interval = intervalPs;
}

void
RdmaGridTimer::ArmAt(int64_t ps)
{
    if (NodeWindows::Active())
    {
        int64_t due = m_due.load(std::memory_order_relaxed);
        while (ps < due && !m_due.compare_exchange_weak(due, ps, std::memory_order_relaxed))
        {
        }
        return;
    }
    m_due = ps;
    m_timer.ScheduleAt(ps, RdmaEventOrder::GRID);
}

int64_t
RdmaGridTimer::NextTick(int64_t tick) const
{
    const int64_t ps = RdmaClock::TicksToPs(tick);
    return RdmaClock::TickAt((ps + m_interval - 1) / m_interval * m_interval);
}

void
RdmaGridTimer::Fire()
{
    const int64_t due = m_due;
    m_due = NEVER;
    m_callback(due);
}

void
RdmaGridTimer::FireWithOthers(int64_t tick)
{
    if (NextTick(tick) != tick)
    {
        return; // its interval has grown, and those of all will be as long
    }
    const int64_t interval = m_interval;
    const int64_t due = (RdmaClock::TicksToPs(tick) + interval - 1) / interval * interval;
    if (m_due <= due)
    {
        m_due = NEVER;
    }
    m_callback(due);
}

void
RdmaGridTimer::OnTimer()
{
    if (RdmaClock::Now() >= m_due)
    {
        Fire();
    }
}

} // namespace ns3
