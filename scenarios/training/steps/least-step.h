/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * How long a step takes whatever the network does: ranks compute what their graphs say, and wait
 * for each other's messages and collectives, which take no time themselves. So the bubble of a
 * pipeline is in it: with m equal micro-batches on p equal stages (p - 1)/m of the computing
 * (Narayanan et al., arXiv 2104.04473, section 2.2.1).
 */
#ifndef SCENARIOS_TRAINING_STEPS_LEAST_STEP_H
#define SCENARIOS_TRAINING_STEPS_LEAST_STEP_H

#include "scenarios/training/steps/step-graph.h"

#include <cstddef>
#include <optional>

namespace training
{

/// A lower bound of the time of each step, if several steps of the first size follow each other. It
/// covers only `rank` and all ranks that it exchanges messages with, directly or through others (in
/// a pipeline one GPU per stage). With the ranks outside, which do the same or take longer, a step
/// can only take as long or longer. Jitter, ranks that slow down (TrainingPlan::speeds) and
/// collectives' use of computing are left out.
///
/// \return zero where that is not known: plans with actors or a pipeline that is never empty, more
/// than some million tasks, and ranks that wait for each other for ever
rdma::Duration LeastStep(const TrainingPlan& plan, coll::Rank rank);

/// A step of a pipeline over a network that takes no time.
struct IdealStep
{
    double stepSeconds = 0;
    double computeSeconds = 0; ///< computing in it, mean over the stages
    /// Mean over the stages: from a stage's end of a first step to the end of the last stage.
    double waitingSeconds = 0;
};

/// The same with the computing in it. \pre no actors, and steps are alike
std::optional<IdealStep> LeastStepInParts(const TrainingPlan& plan, coll::Rank rank);

/// Tasks of all ranks that are looked at: a second or so, and some 300 MB.
constexpr std::size_t kMostTasksOfLeastStep = 3'000'000;

} // namespace training

#endif // SCENARIOS_TRAINING_STEPS_LEAST_STEP_H
