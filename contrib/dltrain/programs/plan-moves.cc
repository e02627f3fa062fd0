/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "plan-moves.h"

#include "scenarios/layout-search/moves.h"
#include "scenarios/training/options/validate-layout.h"

#include <algorithm>
#include <optional>

namespace dltrain
{

namespace
{

/// A change counts from so much of the step on: assumed, below it layouts are as good.
constexpr double LEAST_GAIN = 0.001;

/// The plan with another value of an option, with an estimate where there is one.
std::optional<planner::Plan>
WithMove(const scenario::PlannerScenario& scenario,
         const planner::Plan& plan,
         planner::TriedMove& move)
{
    planner::Plan moved;
    moved.layout = planner::Moved(plan.layout,
                                  *scenario::TrainingOptionTable().Find(move.option)->member,
                                  move.value);
    const auto read = planner::WithLayout(scenario.jobs[plan.layout.job], moved.layout);
    const auto cluster = scenario::ValidateCluster(read);
    const auto layout = cluster.scenario ? scenario::ValidateLayout(read, *cluster.scenario)
                                         : scenario::LayoutResult{{}, cluster.errors};
    if (!layout.options)
    {
        move.why = layout.errors.front().Text();
        return {};
    }
    planner::Layout its =
        planner::LayoutOf(*layout.options, moved.layout.settings, plan.layout.job);
    its.bound = plan.layout.bound;
    its.stages = moved.layout.stages;
    moved.layout = std::move(its);
    const auto estimate = planner::StepEstimator(*cluster.scenario).Estimate(*layout.options);
    moved.estimate = estimate.value_or(plan.estimate);
    return moved;
}

} // namespace

void
TryMoves(const scenario::PlannerScenario& scenario,
         const std::vector<scenario::TrainingScenario>& clusters,
         planner::Found* found,
         const Watched& watch)
{
    planner::Plan best = found->plans.front();
    const double before = *best.verified;
    const scenario::ReadResult& job = scenario.jobs[best.layout.job];
    const auto options =
        scenario::ValidateLayout(planner::WithLayout(job, best.layout), clusters[best.layout.job])
            .options;
    std::size_t left = scenario.moves;
    for (const planner::Move& move : planner::MovesOf(job, best.layout, *options))
    {
        std::vector<planner::TriedMove> tried;
        std::vector<planner::Plan> plans;
        for (const std::string& value : move.values)
        {
            planner::TriedMove& one = tried.emplace_back(
                planner::TriedMove{scenario::OptionOf(move.option), value, {}, "", false});
            auto plan = plans.size() < left ? WithMove(scenario, best, one) : std::nullopt;
            if (plan)
            {
                plans.push_back(std::move(*plan));
            }
            else if (one.why.empty())
            {
                tried.pop_back(); // no run is left
            }
        }
        if (!watch.goesOn())
        {
            break;
        }
        left -= plans.size();
        std::vector<planner::Plan*> runs;
        std::transform(plans.begin(), plans.end(), std::back_inserter(runs), [](auto& plan) {
            return &plan;
        });
        RunPlans(scenario, clusters, runs, watch);
        const double least = *best.verified * (1 - LEAST_GAIN);
        const planner::Plan* better = nullptr;
        auto one = tried.begin();
        for (const planner::Plan& plan : plans)
        {
            one = std::find_if(one, tried.end(), [](const auto& t) { return t.why.empty(); });
            one->step = plan.verified;
            one->why = plan.notVerified;
            if (plan.verified && *plan.verified < (better ? *better->verified : least))
            {
                better = &plan;
            }
            ++one;
        }
        if (better)
        {
            for (planner::TriedMove& t : tried)
            {
                t.isKept = t.step == better->verified;
            }
            best = *better;
        }
        found->moves.insert(found->moves.end(), tried.begin(), tried.end());
    }
    if (*best.verified < before)
    {
        found->plans.insert(found->plans.begin(), std::move(best));
    }
}

} // namespace dltrain
