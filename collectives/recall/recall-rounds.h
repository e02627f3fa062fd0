/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Rounds: whole training steps in packets, or recalled.
 *
 *     round   0        1         2 3      4 5       6 7      8 .. 11   12 13
 *             packets  recalled  packets  recalled  packets  recalled  packets
 *                                  check              check               check
 *
 * Groups whose messages meet in the network slow each other, and how depends on all of them: some
 * in packets and others not would find it too empty. So they are in packets together for a round,
 * and are recalled for the next N: each collective ends as it did at its place in that round. Ranks
 * begin the first one behind recalled ones as far apart as those have left them: only the one
 * behind that tells. N doubles as long as rounds in packets take as long as each other, and else is
 * 1 again.
 */
#ifndef COLLECTIVES_RECALL_RECALL_ROUNDS_H
#define COLLECTIVES_RECALL_RECALL_ROUNDS_H

#include <cstdint>
#include <vector>

namespace coll
{

class RecallRounds
{
  public:
    /// \param error a round that differs by more from the last one in packets does not agree
    /// \param checks N is at most 2^checks
    RecallRounds(double error, uint32_t checks)
        : m_error(error),
          m_checks(checks)
    {
    }

    /// A rank begins a round; the first one decides. Rounds begin in order, and none before the
    /// last rank has begun the last but one.
    void Begin(uint32_t round, int64_t now);

    /// From the next round on: groups are known to meet, which were thought not to. That round is
    /// in packets, too, but tells nothing: ranks begin it as far apart as what was recalled so far
    /// has left them.
    void Use();

    /// \return whether any meet
    bool AreUsed() const
    {
        return m_areUsed;
    }

    bool IsRecalled(uint32_t round) const
    {
        return round < m_isRecalled.size() && m_isRecalled[round];
    }

    /// \return whether it is in packets for all that meet, and tells something
    bool Tells(uint32_t round) const
    {
        return round >= m_validFrom && !IsRecalled(round) && !(round > 0 && IsRecalled(round - 1));
    }

    /// \return ps: when the last round began
    int64_t GetBegin() const
    {
        return m_begins.empty() ? 0 : m_begins.back();
    }

    /// \return the same at the end of the run: its last rounds are known
    RecallRounds Ended(int64_t now) const;

    /// \param pipelines whether messages of two ranks are recalled, too
    /// \return ps by which the time until now may be wrong
    double GetDoubt(int64_t now, bool pipelines) const;

    uint64_t GetChecks() const
    {
        return m_misses;
    }

    /// \return of checks: differences of rounds, as a share of the round
    double GetMissSum() const
    {
        return m_missSum;
    }

    double GetMissMost() const
    {
        return m_missMost;
    }

  private:
    /// Counts what a round took, when that is known.
    void End(uint32_t round, int64_t until);

    double m_error;
    uint32_t m_checks;
    bool m_areUsed = false;
    std::vector<bool> m_isRecalled; ///< by round
    uint32_t m_validFrom = 0;       ///< round
    std::vector<int64_t> m_begins;  ///< ps, by round: of the last rank
    uint32_t m_ended = 0;           ///< rounds
    int64_t m_last = 0;             ///< ps that the last one in packets took; 0: there was none
    uint64_t m_step = 1;            ///< N
    uint64_t m_since = 0;           ///< rounds recalled since the last one in packets
    uint64_t m_misses = 0;
    double m_missSum = 0;
    double m_missMost = 0;
    std::vector<double> m_lastMisses; ///< few
    int64_t m_doubtFrom = -1;         ///< ps: when the first recalled one began,-1: none has
};

} // namespace coll

#endif // COLLECTIVES_RECALL_RECALL_ROUNDS_H
