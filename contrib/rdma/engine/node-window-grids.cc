/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "node-window-grids.h"

#include "rdma-grid-timer.h"

#include <algorithm>
#include <utility>

namespace ns3
{

void
NodeWindowGrids::Add(RdmaGridTimer* timer)
{
    m_timers.push_back(timer);
    m_next = -1;
}

void
NodeWindowGrids::Remove(RdmaGridTimer* timer)
{
    m_timers.erase(std::remove(m_timers.begin(), m_timers.end(), timer), m_timers.end());
    m_next = -1;
}

int64_t
NodeWindowGrids::Next(int64_t from)
{
    if (m_next < from)
    {
        m_next = INT64_MAX;
        for (const RdmaGridTimer* timer : m_timers)
        {
            m_next = std::min(m_next, timer->NextTick(from));
        }
    }
    return m_next;
}

RdmaGridTimer*
NodeWindowGrids::First() const
{
    RdmaGridTimer* first = nullptr;
    for (RdmaGridTimer* timer : m_timers)
    {
        if (!timer->IsArmed())
        {
            continue;
        }
        // At the same time, timers that all processes fire together come first, in each of them.
        const auto key = [](const RdmaGridTimer& t) {
            return std::make_pair(t.GetDueTick(), t.GetKind());
        };
        if (!first || key(*timer) < key(*first))
        {
            first = timer;
        }
    }
    return first;
}

bool
NodeWindowGrids::IsOwn(int64_t at, uint8_t kind) const
{
    const RdmaGridTimer* first = First();
    return first && first->GetDueTick() == at && first->GetKind() == kind;
}

void
NodeWindowGrids::Fire(int64_t at, uint8_t kind)
{
    if (IsOwn(at, kind))
    {
        First()->Fire();
    }
    else if (kind != RdmaGridTimer::ALONE)
    {
        for (RdmaGridTimer* timer : m_timers)
        {
            if (timer->GetKind() == kind)
            {
                timer->FireWithOthers(at);
            }
        }
    }
    m_next = -1; // one may have another interval now
}

} // namespace ns3
