/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef SCENARIOS_WORKLOAD_CHECKPOINTED_STEPS_H
#define SCENARIOS_WORKLOAD_CHECKPOINTED_STEPS_H

#include "scenarios/workload/workload.h"

#include <cstdint>
#include <deque>
#include <optional>
#include <vector>

namespace workload
{

/**
 * RepeatedSteps of a job that checkpoints, or that goes on after a failure: from any step on, and
 * without ranks that have left. After every so many steps, counted from the first of the job, all
 * ranks rest when they have ended them; a Notice with `checkpoint` wakes them when it is written.
 * There is no checkpoint after the last step.
 */
class CheckpointedSteps : public Workload
{
  public:
    /// \param plan kept by reference, of one size, and no fillRoles
    /// \param every 0: no checkpoints
    /// \param first first step; its number as if earlier steps had been done
    /// \param absent by rank: has left; empty: none has left
    CheckpointedSteps(const training::TrainingPlan& plan,
                      uint32_t warmup,
                      uint32_t measured,
                      uint32_t every,
                      uint32_t first,
                      std::vector<bool> absent);

    const training::TrainingPlan& Plan() const override;
    std::optional<Round> Next(coll::Rank rank) override;
    std::optional<Round> Woken(coll::Rank rank, uint32_t word) override;
    Notice OnEnded(coll::Rank rank, const Round& round) override;
    std::vector<Notice> Leave(const std::vector<coll::Rank>& ranks) override;
    bool IsDone() const override;
    uint64_t CountTasks() const override;

    /// The number of ranks that have not left.
    uint32_t CountRanks() const
    {
        return m_ranks;
    }

  private:
    bool IsAbsent(coll::Rank rank) const
    {
        return !m_absent.empty() && m_absent[rank];
    }

    /// \return whether a checkpoint comes before this step
    bool IsBehindCheckpoint(uint32_t step) const
    {
        return m_every > 0 && step > m_first && step < m_steps && step % m_every == 0;
    }

    /// All ranks have ended the oldest step that is open.
    Notice EndOldest();

    const training::TrainingPlan& m_plan;
    uint32_t m_warmup;
    uint32_t m_steps;
    uint32_t m_every;
    uint32_t m_first;
    std::vector<bool> m_absent;
    uint32_t m_ranks = 0;
    std::vector<uint32_t> m_begun; ///< by rank, for itself
    // Counts over all ranks:
    /// For each step that not all ranks have ended: the number that have.
    std::deque<uint32_t> m_ranksEnded;
    uint32_t m_ended;                ///< steps that all have
    std::vector<uint32_t> m_endedOf; ///< by rank
};

} // namespace workload

#endif // SCENARIOS_WORKLOAD_CHECKPOINTED_STEPS_H
