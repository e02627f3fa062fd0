/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * CoDel as a marker: Nichols, Jacobson, McGregor & Iyengar, RFC 8289 (2018).
 *
 *     sojourn >= target for a whole interval   marking begins: the frame that leaves is marked
 *     k-th mark at t                           the next one at t + interval / sqrt(k)
 *     sojourn < target, or at most one full    marking ends; if it begins again within 16
 *     frame waits behind                       intervals, k goes on from where it was
 *
 * So marks in a queue that stays are interval, interval / sqrt(2), interval / sqrt(3) apart. What
 * the RFC drops is marked; one frame gets one mark, so of several that are due the rest follow with
 * the next frames (as in Linux's codel_impl.h with ECN).
 *
 * Interval 100 us and target 5 us: assumed. The RFC has 100 ms and 5 ms for the Internet, a worst
 * round trip and 5% of it; 100 us is one of a loaded data centre.
 */
#ifndef RDMA_CORE_CODEL_LAW_H
#define RDMA_CORE_CODEL_LAW_H

#include "contrib/rdma/core/registered-part.h"

#include <algorithm>
#include <cmath>
#include <cstdint>

namespace rdma
{

inline const RegisteredMarker kCodelMarker{
    MarkerName{{"codel", "by the least time in the queue, ever more often (RFC 8289)"}}};

/// Of one queue. Times are ps.
class CodelLaw
{
  public:
    static constexpr int64_t kTargetPs = 5 * 1000000LL;
    static constexpr int64_t kIntervalPs = 100 * 1000000LL;

    CodelLaw() = default;

    CodelLaw(int64_t target, int64_t interval)
        : m_target(target),
          m_interval(interval)
    {
    }

    /// A frame leaves. \param behind bytes that wait behind it \return whether it is marked
    bool OnLeaving(uint32_t bytes, uint64_t behind, int64_t sojourn, int64_t now)
    {
        m_largest = std::max(m_largest, bytes);
        const bool above = StaysAbove(behind, sojourn, now);
        if (!above)
        {
            m_marking = false;
            return false;
        }
        if (!m_marking)
        {
            m_marking = true;
            const uint32_t more = m_count - m_firstCount;
            m_count = more > 1 && now - m_next < 16 * m_interval ? more : 1;
            m_firstCount = m_count;
            m_next = now + Gap();
            return true;
        }
        if (now < m_next)
        {
            return false;
        }
        ++m_count;
        m_next += Gap();
        return true;
    }

  private:
    int64_t Gap() const
    {
        return std::llround(static_cast<double>(m_interval) /
                            std::sqrt(static_cast<double>(m_count)));
    }

    /// \return whether frames have waited for the target or longer throughout an interval
    bool StaysAbove(uint64_t behind, int64_t sojourn, int64_t now)
    {
        if (sojourn < m_target || behind <= m_largest)
        {
            m_aboveSince = -1;
            return false;
        }
        if (m_aboveSince < 0)
        {
            m_aboveSince = now;
        }
        return now - m_aboveSince >= m_interval;
    }

    int64_t m_target = kTargetPs;
    int64_t m_interval = kIntervalPs;
    int64_t m_aboveSince = -1; ///< -1: the last frame was not
    int64_t m_next = 0;        ///< when the next mark is due
    uint32_t m_count = 0;      ///< marks since marking began
    uint32_t m_firstCount = 0; ///< m_count when it began
    uint32_t m_largest = 0;    ///< largest frame so far
    bool m_marking = false;
};

} // namespace rdma

#endif // RDMA_CORE_CODEL_LAW_H
