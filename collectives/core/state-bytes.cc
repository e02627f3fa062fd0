/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "collectives/core/state-bytes.h"

#include <algorithm>
#include <map>

namespace coll
{

namespace
{

/// Bytes of a buffer, as ranges that do not touch each other.
class ByteSet
{
  public:
    uint64_t Count() const
    {
        return m_count;
    }

    void Add(uint64_t begin, uint64_t end)
    {
        if (begin >= end)
        {
            return;
        }
        auto range = m_ranges.upper_bound(begin);
        if (range != m_ranges.begin() && std::prev(range)->second >= begin)
        {
            --range;
        }
        while (range != m_ranges.end() && range->first <= end)
        {
            begin = std::min(begin, range->first);
            end = std::max(end, range->second);
            m_count -= range->second - range->first;
            range = m_ranges.erase(range);
        }
        m_ranges[begin] = end;
        m_count += end - begin;
    }

    void Remove(uint64_t begin, uint64_t end)
    {
        if (begin >= end)
        {
            return;
        }
        auto range = m_ranges.upper_bound(begin);
        if (range != m_ranges.begin() && std::prev(range)->second > begin)
        {
            --range;
        }
        while (range != m_ranges.end() && range->first < end)
        {
            const auto [first, last] = *range;
            m_count -= last - first;
            range = m_ranges.erase(range);
            if (first < begin)
            {
                m_ranges[first] = begin;
                m_count += begin - first;
            }
            if (last > end)
            {
                m_ranges[end] = last;
                m_count += last - end;
            }
        }
    }

  private:
    std::map<uint64_t, uint64_t> m_ranges; ///< begin, end
    uint64_t m_count = 0;
};

} // namespace

uint64_t
MostBytesInUse(const Schedule& schedule, Rank node)
{
    uint64_t all = 0;
    for (Lane lane = 0; lane < schedule.Lanes(node); lane++)
    {
        // From the end: the bytes that are sent later and not received anew before that.
        ByteSet needed;
        uint64_t most = 0;
        for (StepIndex k = schedule.Steps(node, lane); k-- > 0;)
        {
            const Step step = schedule.At(node, lane, k);
            const uint64_t begin = step.recvOffset;
            const uint64_t end = begin + step.recvBytes;
            needed.Add(step.sendOffset, step.sendOffset + step.sendBytes);
            ByteSet inUse = needed;
            inUse.Add(begin, end);
            most = std::max(most, inUse.Count());
            if (!step.reduce)
            {
                needed.Remove(begin, end);
            }
        }
        all += most;
    }
    return all;
}

} // namespace coll
