/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "scenarios/training/graphs/ideal-step.h"

#include "scenarios/training/fewer-layers.h"
#include "scenarios/training/graphs/training-plan.h"

#include <algorithm>
#include <cstddef>

namespace training
{

std::optional<IdealStep>
IdealStepOf(const TrainingOptions& options, const TrainingPlan& plan, uint32_t blocks)
{
    const uint32_t all = BlocksOf(options.model);
    const bool pipeline = plan.CountStages() > 1;
    if (!pipeline || plan.HasActors() || plan.fillRoles > 0 || blocks == 0 || blocks > all)
    {
        return {};
    }
    std::size_t tasks = 0; // of one GPU per stage
    for (uint32_t stage = 0; stage < plan.CountStages(); ++stage)
    {
        const auto rank = std::find(plan.stageOf.begin(), plan.stageOf.end(), stage);
        tasks += plan.roles[plan.roleOf[static_cast<std::size_t>(rank - plan.stageOf.begin())]]
                     .tasks.size();
    }
    if (tasks * blocks / std::max(plan.sizes.front().blocks, 1U) > kMostTasksOfLeastStep)
    {
        return {};
    }
    TrainingOptions o = ResolvedOptions(options);
    o.layers = 0;
    TrainingPlan whole = MakePlan(WithBlocks(o, blocks));
    whole.slowness = plan.slowness;
    return LeastStepInParts(whole, 0);
}

} // namespace training
