/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "scenarios/operator-search/sharded-plan.h"

#include "scenarios/operator-search/plan-builder.h"
#include "scenarios/training/steps/step-walk.h"

#include <cmath>
#include <string>
#include <utility>

namespace sharding
{

namespace
{

using training::Task;
using training::TrainingPlan;

/// Tasks of a walk, as for the planner's: assumed.
constexpr std::size_t kMostTasks = 3'000'000;

} // namespace

TrainingPlan
MakeShardedPlan(const Graph& graph,
                const std::vector<Strategy>& strategies,
                const SliceKernels& kernels,
                uint32_t devices,
                uint32_t passes)
{
    return PlanBuilder(graph, strategies, kernels, devices, passes).Build();
}

Digits
DigitsOfGroup(const std::string& name)
{
    Digits digits;
    std::size_t at = name.find('-');
    while (at != std::string::npos)
    {
        Digit digit;
        std::size_t used = 0;
        digit.size = static_cast<uint32_t>(std::stoul(name.substr(at + 1), &used));
        at += 1 + used;
        if (at < name.size() && name[at] == 'x')
        {
            digit.stride = static_cast<uint32_t>(std::stoul(name.substr(at + 1), &used));
            at += 1 + used;
        }
        digits.push_back(digit);
        at = at < name.size() && name[at] == '+' ? at : std::string::npos;
    }
    return digits;
}

std::optional<double>
StepSeconds(const TrainingPlan& plan, CommunicationTimes& times)
{
    std::vector<Digits> digits;
    for (const training::GroupKind& kind : plan.groupKinds)
    {
        digits.push_back(DigitsOfGroup(kind.name));
    }
    training::StepWalk walk(plan, 0, kMostTasks, [&](coll::Rank, const Task& task) {
        const double seconds =
            times.Seconds(task.op, static_cast<double>(task.bytes), digits[task.group]);
        return training::StepWalk::Time{std::llround(seconds * 1e12),
                                        times.TakesNics(digits[task.group])};
    });
    if (walk.CountTasks() > kMostTasks)
    {
        return std::nullopt;
    }
    const auto end = walk.Step();
    return end ? std::optional(static_cast<double>(*end) * 1e-12) : std::nullopt;
}

double
MemoryOf(const Graph& graph,
         const std::vector<Strategy>& strategies,
         const training::TrainingOptions& options)
{
    double bytes = 0;
    for (uint32_t i = 0; i < graph.operators.size(); ++i)
    {
        bytes += StateBytes(graph, i, strategies[i], options) + KeptBytes(graph, i, strategies[i]);
    }
    return bytes;
}

} // namespace sharding
