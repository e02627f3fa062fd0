/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef SCENARIOS_WORKLOAD_REPEATED_STEPS_H
#define SCENARIOS_WORKLOAD_REPEATED_STEPS_H

#include "scenarios/workload/workload.h"

#include <cstdint>
#include <deque>
#include <optional>
#include <vector>

namespace workload
{

/**
 * Training: every rank does its role's step over and over, the warm-up steps first. If the plan
 * has several sizes, it does so of each in turn, the largest last: messages, links and calls that
 * are counted are those of the largest alone, and all before is their warm-up. A rank begins its
 * next step when all its tasks of this one are done. Measuring begins when the last rank has ended
 * the last step before the measured ones of the largest size; the run is over when it has ended
 * the last step.
 */
class RepeatedSteps : public Workload
{
  public:
    /// \param plan kept by reference \param warmup steps before the measured ones
    RepeatedSteps(const training::TrainingPlan& plan, uint32_t warmup, uint32_t measured);

    const training::TrainingPlan& Plan() const override;
    std::optional<Round> Next(coll::Rank rank) override;
    Notice OnEnded(coll::Rank rank, const Round& round) override;
    bool IsDone() const override;
    uint64_t CountTasks() const override;

  private:
    const training::TrainingPlan& m_plan;
    uint32_t m_ofSize;             ///< steps of one size, with its warm-up
    uint32_t m_steps;              ///< in all
    uint32_t m_unmeasured;         ///< number of first steps whose messages and calls do not count
    std::vector<uint32_t> m_begun; ///< by rank, for itself
    // Counts over all ranks:
    /// For each step that not all ranks have ended: the number that have.
    std::deque<uint32_t> m_ranksEnded;
    uint32_t m_ended = 0; ///< steps that all have
};

} // namespace workload

#endif // SCENARIOS_WORKLOAD_REPEATED_STEPS_H
