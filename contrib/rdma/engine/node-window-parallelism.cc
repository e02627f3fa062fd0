/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "node-window-parallelism.h"

#include <algorithm>
#include <utility>

namespace ns3
{

void
NodeWindowParallelism::Reset(bool always)
{
    *this = NodeWindowParallelism();
    m_always = m_parallel = always;
    m_begin = Clock::now();
}

bool
NodeWindowParallelism::EndPeriod()
{
    const Clock::time_point now = Clock::now();
    const double cost =
        std::chrono::duration<double>(now - m_begin).count() / static_cast<double>(m_events);
    const bool crowded = m_events >= LEAST_EVENTS * m_windows;
    m_begin = now;
    m_events = 0;
    m_windows = 0;
    Decide(cost, crowded);
    return true;
}

void
NodeWindowParallelism::BeginTrial()
{
    m_parallel = !m_parallel;
    m_trying = m_settling = true;
    m_tried = 0;
    m_slow = false;
}

void
NodeWindowParallelism::EndTrial()
{
    const bool parallel = m_cost[1] < GAIN * m_cost[0];
    m_trying = false;
    m_settling = parallel != m_parallel;
    if (!m_settling) // it has won: several threads may have to be looked at again at once
    {
        m_interval = parallel ? SOON : AT_ONCE;
    }
    m_left = m_interval;
    m_interval = std::min(std::max(2 * m_interval, SOON), SELDOM);
    m_parallel = parallel;
}

void
NodeWindowParallelism::Decide(double cost, bool crowded)
{
    if (m_settling)
    {
        m_settling = false;
        return;
    }
    double& mine = m_cost[m_parallel];
    if (m_trying)
    {
        mine = m_tried++ ? std::min(mine, cost) : cost;
        if (m_tried == TRIAL || cost > LOST * m_cost[!m_parallel])
        {
            EndTrial();
        }
        return;
    }
    if (m_parallel && mine > 0 && cost > LOST * mine)
    {
        if (!std::exchange(m_slow, true))
        {
            return; // the next one says whether it stays so
        }
        mine = cost;
        BeginTrial(); // see now whether one is faster
        return;
    }
    m_slow = false;
    mine = mine == 0 ? cost : (mine + cost) / 2;
    if (m_left > 1)
    {
        --m_left;
    }
    else if (m_parallel || crowded)
    {
        BeginTrial();
    }
}

} // namespace ns3
