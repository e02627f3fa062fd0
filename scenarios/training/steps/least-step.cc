/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "scenarios/training/steps/least-step.h"

#include "scenarios/training/steps/step-walk.h"

#include <optional>

namespace training
{

namespace
{

struct Steps
{
    int64_t second = 0; ///< ps
    double waiting = 0; ///< at the end of the first one, ps
};

/// The second of two steps counts, as some stages of a pipeline go on while others still compute.
std::optional<Steps>
TwoSteps(StepWalk& ranks)
{
    if (ranks.CountTasks() > kMostTasksOfLeastStep)
    {
        return {};
    }
    const auto first = ranks.Step();
    const double waiting = first ? ranks.MeanWaiting() : 0;
    const auto both = first ? ranks.Step() : first;
    if (!both)
    {
        return {};
    }
    return Steps{*both - *first, waiting};
}

} // namespace

rdma::Duration
LeastStep(const TrainingPlan& plan, coll::Rank rank)
{
    if (plan.HasActors() || plan.fillRoles > 0)
    {
        return {};
    }
    StepWalk ranks(plan, rank, kMostTasksOfLeastStep);
    rdma::Duration least;
    least.ps = TwoSteps(ranks).value_or(Steps()).second;
    return least;
}

std::optional<IdealStep>
LeastStepInParts(const TrainingPlan& plan, coll::Rank rank)
{
    StepWalk ranks(plan, rank, kMostTasksOfLeastStep);
    const auto steps = TwoSteps(ranks);
    if (!steps)
    {
        return {};
    }
    return IdealStep{static_cast<double>(steps->second) * 1e-12,
                     ranks.MeanComputing() * 1e-12,
                     steps->waiting * 1e-12};
}

} // namespace training
