/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef COLLECTIVES_RECALL_RECALL_DOUBT_H
#define COLLECTIVES_RECALL_RECALL_DOUBT_H

#include <algorithm>
#include <cstdint>

namespace coll
{

/// How long at least one of several things lasted: a step waits for one at a time. They are added
/// in about the order of time.
class RecallSpan
{
  public:
    /// \param from,until ps
    void Add(int64_t from, int64_t until)
    {
        m_sum += std::max<int64_t>(0, until - std::max(from, m_until));
        m_until = std::max(m_until, until);
    }

    /// \return ps
    double Get() const
    {
        return static_cast<double>(m_sum);
    }

  private:
    int64_t m_sum = 0;
    int64_t m_until = 0;
};

/// Times that may be wrong, for other reasons than that a record may be.
struct RecallDoubt
{
    RecallSpan slowed; ///< as much as recalled ones were slowed by each other (RecallFlows)
    RecallSpan blind;  ///< in packets beside what was not sent
    /// Launches that were held in vain, ends that were told late, and the time that collectives in
    /// packets had in common with their group's last one, which was not sent.
    RecallSpan lost;

    /// \return ps by which the run may be wrong
    double Get() const
    {
        // Assumed: of recalled pipelines whose messages met others, steps were off by less than
        // these. What is lost is all.
        constexpr double kSlowed = 0.25;
        constexpr double kBlind = 0.5;
        return kSlowed * slowed.Get() + kBlind * blind.Get() + lost.Get();
    }
};

} // namespace coll

#endif // COLLECTIVES_RECALL_RECALL_DOUBT_H
