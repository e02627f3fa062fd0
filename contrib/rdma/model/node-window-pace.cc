/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "node-window-pace.h"

#include <algorithm>

namespace ns3
{

void
NodeWindowPace::Reset(bool always)
{
    *this = NodeWindowPace();
    m_always = m_parallel = always;
    m_begin = Clock::now();
}

bool
NodeWindowPace::EndPeriod()
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
NodeWindowPace::Decide(double cost, bool crowded)
{
    if (m_settling)
    {
        m_settling = false;
        return;
    }
    double& mine = m_cost[m_parallel];
    if (m_parallel && !m_trying && mine > 0 && cost > LOST * mine)
    {
        m_interval = SOON;
        m_left = 1; // see now whether one is faster
    }
    mine = m_trying || mine == 0 ? cost : (mine + cost) / 2;
    if (m_trying)
    {
        m_trying = false;
        const bool parallel = m_cost[1] < GAIN * m_cost[0];
        m_interval = parallel == m_parallel ? SOON : std::min(2 * m_interval, SELDOM);
        m_left = m_interval;
        m_settling = parallel != m_parallel;
        m_parallel = parallel;
    }
    else if (m_left > 1)
    {
        --m_left;
    }
    else if (m_parallel || crowded)
    {
        m_parallel = !m_parallel;
        m_trying = m_settling = true;
    }
}

} // namespace ns3
