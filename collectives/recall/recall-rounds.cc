/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "collectives/recall/recall-rounds.h"

#include <algorithm>
#include <cstdlib>

namespace coll
{

namespace
{

// Rounds that were not checked, and what checks do not see: assumed. Of small jobs on fabrics with
// collisions, the first round and later ones differed by 4% at most, of pipelines by 15%.
constexpr double kUncheckedRound = 0.06;
constexpr double kUncheckedPipelines = 0.15;
constexpr double kCheckedRound = 0.02;

// So many checks tell: a run changes.
constexpr std::size_t kMisses = 4;

} // namespace

void
RecallRounds::Use()
{
    const auto begun = static_cast<uint32_t>(m_isRecalled.size());
    m_areUsed = true;
    m_validFrom = begun == 0 ? 0 : begun + 1;
    m_last = 0;
    m_step = 1;
}

void
RecallRounds::End(uint32_t round, int64_t until)
{
    if (!m_areUsed || !Tells(round))
    {
        return;
    }
    const int64_t took = std::max<int64_t>(1, until - m_begins[round]);
    if (m_last > 0)
    {
        const double miss =
            static_cast<double>(std::abs(took - m_last)) / static_cast<double>(took);
        ++m_misses;
        m_missSum += miss;
        m_missMost = std::max(m_missMost, miss);
        m_step = miss <= m_error ? std::min(2 * m_step, uint64_t{1} << m_checks) : 1;
        m_lastMisses.push_back(miss);
        if (m_lastMisses.size() > kMisses)
        {
            m_lastMisses.erase(m_lastMisses.begin());
        }
    }
    m_last = took;
}

void
RecallRounds::Begin(uint32_t round, int64_t now)
{
    while (m_isRecalled.size() <= round)
    {
        const auto next = static_cast<uint32_t>(m_isRecalled.size());
        // All have begun the last one when one begins the next: until then it took.
        for (; m_ended + 1 < next; ++m_ended)
        {
            End(m_ended, m_begins[m_ended + 1]);
        }
        const bool isRecalled =
            m_areUsed && next > 0 && (IsRecalled(next - 1) ? m_since < m_step : Tells(next - 1));
        m_since = isRecalled ? m_since + 1 : 0;
        m_isRecalled.push_back(isRecalled);
        m_begins.push_back(now);
        m_doubtFrom = isRecalled && m_doubtFrom < 0 ? now : m_doubtFrom;
    }
    m_begins[round] = std::max(m_begins[round], now);
}

RecallRounds
RecallRounds::Ended(int64_t now) const
{
    RecallRounds all = *this;
    for (; all.m_ended < m_begins.size(); ++all.m_ended)
    {
        const bool isLast = all.m_ended + 1 == m_begins.size();
        all.End(all.m_ended, isLast ? now : m_begins[all.m_ended + 1]);
    }
    return all;
}

double
RecallRounds::GetDoubt(int64_t now, bool pipelines) const
{
    if (m_doubtFrom < 0)
    {
        return 0;
    }
    double miss = pipelines ? kUncheckedPipelines : kUncheckedRound;
    if (!m_lastMisses.empty())
    {
        miss = 2 * *std::max_element(m_lastMisses.begin(), m_lastMisses.end()) + kCheckedRound;
    }
    return miss * static_cast<double>(now - m_doubtFrom);
}

} // namespace coll
