/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "scenarios/layout-search/step-estimate.h"

#include "scenarios/layout-search/first-ranks.h"
#include "scenarios/layout-search/unequal-stages.h"
#include "scenarios/training/gpu-kinds.h"
#include "scenarios/training/graphs/training-plan.h"
#include "scenarios/training/rank-work.h"

#include <algorithm>
#include <limits>
#include <numeric>

namespace planner
{

namespace
{

using training::TrainingOptions;
using training::TrainingPlan;

/// Tasks of a walk: assumed to be more than any layout needs after the extension.
constexpr std::size_t kMostTasks = 3'000'000;

/// The groups of a plan's ranks, with their times.
class PlanTimes
{
  public:
    PlanTimes(const TrainingPlan& plan, uint32_t gpus, CollectiveTimes* times)
        : m_plan(plan),
          m_gpus(gpus),
          m_times(*times)
    {
    }

    training::StepWalk::Time Of(coll::Rank rank, const training::Task& task)
    {
        const auto& [members, position, group] = SeatOf(rank, task.group);
        if (task.kind == training::TaskKind::kCollective)
        {
            return {m_times.Collective(group, task.op, task.bytes, task.blocks),
                    m_times.IsBetween(group)};
        }
        const auto peer = static_cast<std::size_t>(int64_t{position} + task.peerOffset);
        return {m_times.Message(rank, (*members)[peer], task.bytes, SendersBeside(rank)), false};
    }

  private:
    struct Seat
    {
        const std::vector<coll::Rank>* members = nullptr;
        uint32_t position = 0;
        uint32_t group = 0;
    };

    const Seat& SeatOf(coll::Rank rank, uint32_t kind)
    {
        const auto [at, isNew] = m_seats.try_emplace({rank, kind});
        if (isNew)
        {
            for (const auto& group : m_plan.groupKinds[kind].groups)
            {
                const auto found = std::find(group.begin(), group.end(), rank);
                if (found != group.end())
                {
                    at->second = {&group,
                                  static_cast<uint32_t>(found - group.begin()),
                                  m_times.GroupOf(group)};
                    break;
                }
            }
        }
        return at->second;
    }

    /// Ranks of its server and stage: all send at the same time.
    uint32_t SendersBeside(coll::Rank rank) const
    {
        const coll::Rank first = rank / m_gpus * m_gpus;
        uint32_t count = 0;
        for (coll::Rank r = first; r < first + m_gpus && r < m_plan.stageOf.size(); ++r)
        {
            count += m_plan.stageOf[r] == m_plan.stageOf[rank];
        }
        return std::max(1U, count);
    }

    const TrainingPlan& m_plan;
    uint32_t m_gpus;
    CollectiveTimes& m_times;
    std::map<std::pair<coll::Rank, uint32_t>, Seat> m_seats;
};

} // namespace

std::optional<StepEstimate>
StepEstimator::Walk(const TrainingOptions& options)
{
    const TrainingPlan plan = training::MakePlan(options);
    if (plan.HasActors() || plan.fillRoles > 0)
    {
        return {};
    }
    std::optional<StepEstimate> slowest;
    for (const coll::Rank first : FirstRanks(options, m_on.cluster.server.gpus))
    {
        const auto e = WalkFrom(plan, first);
        if (!e)
        {
            return {};
        }
        slowest = slowest && slowest->step >= e->step ? slowest : e;
    }
    return slowest;
}

std::optional<StepEstimate>
StepEstimator::WalkFrom(const TrainingPlan& plan, coll::Rank first)
{
    PlanTimes times(plan, m_on.cluster.server.gpus, &m_times);
    training::StepWalk walk(plan, first, kMostTasks, [&times](coll::Rank rank, const auto& task) {
        return times.Of(rank, task);
    });
    if (walk.CountTasks() > kMostTasks)
    {
        return {};
    }
    const auto begin = walk.Step();
    const auto both = begin ? walk.Step() : begin;
    if (!both)
    {
        return {};
    }
    StepEstimate e;
    e.step = static_cast<double>(*both - *begin) * 1e-12;
    e.parts = walk.Parts();
    e.parts.computing *= 1e-12;
    e.parts.bubble *= 1e-12;
    for (double& exposed : e.parts.exposed)
    {
        exposed *= 1e-12;
    }
    e.flops = plan.flopsPerGpuPerStep;
    return e;
}

std::optional<StepEstimate>
StepEstimator::Estimate(const TrainingOptions& given)
{
    TrainingOptions options = given;
    const uint32_t all = options.accumulation;
    const FewerMicroBatches fewer(options.pipeline);
    std::optional<StepEstimate> e;
    if (all <= fewer.more)
    {
        e = Walk(options);
    }
    else
    {
        options.accumulation = fewer.less;
        const auto a = Walk(options);
        options.accumulation = fewer.more;
        e = a ? Walk(options) : std::nullopt;
        if (e)
        {
            const auto extend = [&](double* b, double of) {
                *b = std::max(0.0, fewer.Extended(of, *b, all));
            };
            extend(&e->step, a->step);
            extend(&e->flops, a->flops);
            extend(&e->parts.computing, a->parts.computing);
            extend(&e->parts.bubble, a->parts.bubble);
            for (std::size_t i = 0; i < e->parts.exposed.size(); ++i)
            {
                extend(&e->parts.exposed[i], a->parts.exposed[i]);
            }
        }
    }
    if (e)
    {
        e->mfu = e->flops / e->step / training::MeanPeak(options);
    }
    return e;
}

double
StepEstimator::Bound(const TrainingOptions& o)
{
    const auto layersOf = unequal::LayersOfKinds(o);
    const auto kindsOf = training::KindsByStage(o);
    const auto stages = training::LayersByStage(o);
    const auto layout = o.GetLayout();
    const bool inLine = !o.piecewiseOverlap && !o.expertOverlap && o.tensor > 1;
    const uint32_t group =
        inLine ? m_times.GroupOf(training::GroupsOf(layout, training::GroupOf::kTensor).front())
               : 0;
    const auto exchanged = [&](const training::Exchanges& exchanges) {
        double seconds = 0;
        for (const training::Exchange& exchange : exchanges)
        {
            seconds +=
                inLine && exchange.group == training::GroupOf::kTensor
                    ? static_cast<double>(
                          m_times.Collective(group, exchange.op, exchange.bytes, exchange.blocks)) *
                          1e-12
                    : 0;
        }
        return seconds;
    };
    double bound = 0;
    double filling = 0; // the first micro-batch on the stages ahead, the last one's way back
    const bool fills = training::FindPipelineSchedule(o.schedule)->FillsInLine();
    for (std::size_t number = 0; number < stages.size(); ++number)
    {
        double slowest = 0;
        double leastAhead = std::numeric_limits<double>::infinity();
        for (const uint32_t kind : kindsOf[number])
        {
            double stage = 0;
            double ahead = 0;
            for (std::size_t chunk = 0; chunk < stages[number].size(); ++chunk)
            {
                for (const uint32_t i : stages[number][chunk])
                {
                    const training::RankLayer& layer = layersOf[kind][i];
                    stage += layer.Forward() + layer.Backward();
                    for (const training::RankPart& part : layer.parts)
                    {
                        stage += exchanged(part.beforeForward) + exchanged(part.afterForward);
                        ahead += chunk == 0 ? part.forward + part.backwardInput : 0;
                    }
                }
            }
            slowest = std::max(slowest, stage);
            leastAhead = std::min(leastAhead, ahead);
        }
        bound = std::max(bound, slowest * o.accumulation + filling);
        filling += fills ? leastAhead : 0;
    }
    // On unequal servers, the busiest place may be on the fastest GPUs.
    return o.moeSkew > 0 && !o.kinds.empty() ? 0 : bound;
}

} // namespace planner
