/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "node-window-balancer.h"

#include "node-window-team.h"

#include <algorithm>
#include <map>

namespace ns3
{

namespace
{

/// \return which units take turns with which: each thread gets its share of either side, too
uint32_t
KindOf(const NodeWindowUnit& unit)
{
    return NodeWindowTeam::MOST_SIDES * unit.kind + unit.side;
}

} // namespace

bool
NodeWindowBalancer::EndPeriod()
{
    constexpr uint32_t SELDOM = 64;
    if (m_distributed && ++m_periods < m_interval)
    {
        return false;
    }
    m_interval = m_distributed && !m_shuffles ? std::min(2 * m_interval, SELDOM) : 1;
    m_periods = 0;
    if (m_distributed && !m_shuffles && !IsUneven())
    {
        Restart();
        return false;
    }
    return true;
}

bool
NodeWindowBalancer::IsUneven() const
{
    double sum = 0;
    double most = 0;
    for (const Busy& busy : m_busy)
    {
        sum += busy.s;
        most = std::max(most, busy.s);
    }
    return most * static_cast<double>(m_busy.size()) > 1.1 * sum;
}

void
NodeWindowBalancer::Restart()
{
    std::fill(m_busy.begin(), m_busy.end(), Busy());
}

void
NodeWindowBalancer::Weigh(const std::deque<NodeWindowUnit>& units,
                          const std::vector<uint32_t>& threadOf)
{
    double together = 0; // the first thread's
    double beside = 0;   // its others
    double others = 0;   // of the other threads
    for (std::size_t i = 0; i < units.size(); ++i)
    {
        const auto load = static_cast<double>(units[i].load);
        (units[i].together ? together : threadOf[i] ? others : beside) += load;
    }
    double busy = 0;
    for (std::size_t t = 1; t < m_busy.size(); ++t)
    {
        busy += m_busy[t].s;
    }
    if (together > 0 && others > 0 && busy > 0 && m_busy[0].s > 0)
    {
        const double weight = (m_busy[0].s / (busy / others) - beside) / together;
        m_weight = (m_weight + std::clamp(weight, 0.2, 20.0)) / 2;
    }
}

void
NodeWindowBalancer::Shuffle(const std::deque<NodeWindowUnit>& units,
                            std::vector<uint32_t>& threadOf)
{
    ++m_distributions;
    for (std::size_t i = 0; i < units.size(); ++i)
    {
        threadOf[i] = units[i].together
                          ? 0
                          : static_cast<uint32_t>((i * 7 + m_distributions) % m_busy.size());
    }
}

void
NodeWindowBalancer::Distribute(const std::deque<NodeWindowUnit>& units,
                               std::vector<uint32_t>& threadOf)
{
    m_distributed = true;
    if (m_shuffles)
    {
        Shuffle(units, threadOf);
        return;
    }
    Weigh(units, threadOf);
    Restart();
    double together = 0;
    double others = 0;
    std::map<uint32_t, double> ofKind;
    for (const NodeWindowUnit& unit : units)
    {
        const auto load = static_cast<double>(unit.load);
        (unit.together ? together : others) += load;
        if (!unit.together)
        {
            ofKind[KindOf(unit)] += load;
        }
    }
    together *= m_weight;
    // The first thread has what is together, and else as much as all.
    const double threads = static_cast<double>(m_busy.size());
    const double share = (together + others) / threads;
    const double left = std::max(0.0, share - together); // for what else the first one does
    for (const auto& [kind, load] : ofKind)
    {
        const double first = others > 0 ? left * load / others : 0;
        DistributeKind(kind, first, (load - first) / (threads - 1), units, threadOf);
    }
}

void
NodeWindowBalancer::DistributeKind(uint32_t kind,
                                   double left,
                                   double share,
                                   const std::deque<NodeWindowUnit>& units,
                                   std::vector<uint32_t>& threadOf) const
{
    const auto threads = static_cast<uint32_t>(m_busy.size());
    uint32_t thread = 0;
    for (std::size_t i = 0; i < units.size(); ++i)
    {
        if (units[i].together)
        {
            threadOf[i] = 0;
            continue;
        }
        if (KindOf(units[i]) != kind)
        {
            continue;
        }
        const auto load = static_cast<double>(units[i].load);
        while (left < load / 2 && thread + 1 < threads)
        {
            left += share;
            ++thread;
        }
        left -= load;
        threadOf[i] = thread;
    }
}

} // namespace ns3
