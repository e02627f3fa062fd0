/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * A step's time without a network: the ranks of one pipeline go through their graphs side by side
 * (training::StepWalk), and communication takes the time of a formula. Micro-batches of a steady
 * pipeline are alike, so steps with many of them are extended from two steps with fewer.
 *
 *   T(m) = T(b) + (m - b) (T(b) - T(a)) / (b - a)        a, b: 1 and 2 rounds of the pipeline
 */
#ifndef SCENARIOS_LAYOUT_SEARCH_STEP_ESTIMATE_H
#define SCENARIOS_LAYOUT_SEARCH_STEP_ESTIMATE_H

#include "scenarios/collective/collective-times.h"
#include "scenarios/training/spec/plan-options.h"
#include "scenarios/training/steps/step-walk.h"

#include <algorithm>
#include <cstdint>
#include <optional>

namespace planner
{

using scenario::CollectiveTimes;

/// Seconds, mean over the stages of the pipeline.
struct StepEstimate
{
    double step = 0;
    training::StepParts parts; ///< seconds here
    double flops = 0;          ///< model FLOPs of a GPU in a step
    double mfu = 0;            ///< 0 to 1
};

/// Steps from which one with more micro-batches follows.
struct FewerMicroBatches
{
    explicit FewerMicroBatches(uint32_t pipeline)
        : less(std::max(2U, pipeline)),
          more(std::max(3U, 2 * pipeline))
    {
    }

    /// The value for `all` micro-batches from those of `less` and `more`.
    double Extended(double ofLess, double ofMore, uint32_t all) const
    {
        return ofMore + (ofMore - ofLess) * (double(all) - more) / (double(more) - less);
    }

    uint32_t less;
    uint32_t more;
};

class StepEstimator
{
  public:
    explicit StepEstimator(const scenario::TrainingScenario& on)
        : m_times(on),
          m_on(on)
    {
    }

    /// Nothing: the step is not known (no flush, ranks that wait for each other, or too many
    /// tasks). \param options of scenario::ValidateLayout
    std::optional<StepEstimate> Estimate(const training::TrainingOptions& options);

    /// No step is shorter, s: the busiest stage's computing and tensor-parallel exchanges, and what
    /// the stages ahead of it do with the first and the last micro-batch.
    double Bound(const training::TrainingOptions& options);

  private:
    std::optional<StepEstimate> Walk(const training::TrainingOptions& options);
    /// The pipeline of one rank.
    std::optional<StepEstimate> WalkFrom(const training::TrainingPlan& plan, coll::Rank first);

    CollectiveTimes m_times;
    const scenario::TrainingScenario& m_on;
};

} // namespace planner

#endif // SCENARIOS_LAYOUT_SEARCH_STEP_ESTIMATE_H
