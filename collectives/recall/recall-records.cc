/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "collectives/recall/recall-records.h"

#include <algorithm>
#include <cstdlib>
#include <utility>

namespace coll
{

bool
AreAlike(const RecallTimes& a, const RecallTimes& b, int64_t most)
{
    return std::equal(a.begin(), a.end(), b.begin(), [most](int64_t one, int64_t other) {
        return std::abs(one - other) <= most;
    });
}

double
MissOf(const RecallRecord& before, const RecallRecord& now)
{
    int64_t most = 0;
    for (std::size_t rank = 0; rank < now.ends.size(); ++rank)
    {
        most = std::max(most, std::abs(now.ends[rank] - before.ends[rank]));
    }
    return static_cast<double>(most) / static_cast<double>(std::max<int64_t>(1, now.duration));
}

const RecallRecord*
RecallRecords::Find(const RecallContext& context, const RecallTimes& before, double tolerance) const
{
    const auto found =
        std::find_if(m_records.rbegin(), m_records.rend(), [&](const RecallRecord& record) {
            const double most = tolerance * static_cast<double>(record.duration);
            return record.context == context &&
                   AreAlike(record.before, before, static_cast<int64_t>(most));
        });
    return found == m_records.rend() ? nullptr : &*found;
}

std::optional<RecallRecord>
RecallRecords::Keep(RecallRecord record, double tolerance)
{
    std::optional<RecallRecord> replaced;
    if (const RecallRecord* same = Find(record.context, record.before, tolerance))
    {
        replaced = *same;
        record.isChecked = true;
        m_records.erase(m_records.begin() + (same - m_records.data()));
    }
    if (m_records.size() == kMost)
    {
        m_records.erase(m_records.begin());
    }
    m_records.push_back(std::move(record));
    return replaced;
}

bool
RecallHistory::Add(uint32_t track)
{
    m_previous = m_last;
    m_last = m_last.track == track ? Place{track, m_last.count + 1, m_last.behind}
                                   : Place{track, 1, m_last.track};
    const bool isNext = std::exchange(m_asksNext, false);
    const auto asked = std::find(m_asked.begin(), m_asked.end(), m_last);
    if (asked == m_asked.end())
    {
        return isNext;
    }
    m_asked.erase(asked);
    return true;
}

} // namespace coll
