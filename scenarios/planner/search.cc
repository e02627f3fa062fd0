/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "scenarios/planner/search.h"

#include "scenarios/options/format.h"
#include "scenarios/options/training/validate-layout.h"
#include "scenarios/plan/plan-lines.h"
#include "scenarios/training/memory-estimate.h"
#include "topologies/names.h"

#include <algorithm>
#include <memory>
#include <utility>

namespace planner
{

namespace
{

using scenario::Format;
using scenario::PlannerScenario;
using scenario::TrainingScenario;
using training::Parallelism;

std::string
GibText(double bytes)
{
    return Format("%.1f GiB", bytes / (1ULL << 30));
}

bool
IsSearched(const PlannerScenario& scenario, const std::string& option)
{
    return std::find(scenario.search.begin(), scenario.search.end(), option) !=
           scenario.search.end();
}

uint64_t
RoomOf(const PlannerScenario& scenario, const Layout& layout)
{
    return static_cast<uint64_t>(static_cast<double>(layout.fullest) * (1 - scenario.memoryMargin));
}

/// The best so far.
class Best
{
  public:
    Best(const PlannerScenario& scenario, std::vector<Plan>* plans)
        : m_scenario(scenario),
          m_plans(*plans)
    {
    }

    /// Whether a plan with at least this step could be among them.
    bool Takes(double step, uint32_t gpus) const
    {
        return m_plans.size() < m_scenario.top || Of(step, gpus) < ScoreOf(m_plans.back());
    }

    void Add(Plan plan)
    {
        const auto at = std::upper_bound(
            m_plans.begin(),
            m_plans.end(),
            plan,
            [this](const Plan& a, const Plan& b) { return ScoreOf(a) < ScoreOf(b); });
        m_plans.insert(at, std::move(plan));
        if (m_plans.size() > m_scenario.top)
        {
            m_plans.pop_back();
        }
    }

  private:
    double Of(double step, uint32_t gpus) const
    {
        return Score(m_scenario.objective, step, gpus);
    }

    double ScoreOf(const Plan& plan) const
    {
        return Of(plan.estimate.step, plan.layout.gpus);
    }

    const PlannerScenario& m_scenario;
    std::vector<Plan>& m_plans;
};

} // namespace

double
Score(scenario::Objective objective, double step, uint32_t gpus)
{
    // Of one model and one global batch: MFU falls, and the price of a token grows, with the
    // GPU-seconds of a step.
    return objective == scenario::Objective::kStep ? step : step * gpus;
}

Found
Search(const PlannerScenario& scenario,
       const std::vector<TrainingScenario>& clusters,
       const std::function<bool(const Progress&)>& look)
{
    Found found;
    std::vector<Layout> open;
    std::vector<std::unique_ptr<StepEstimator>> estimators;
    const auto goesOn = [&] {
        const Plan* const best = found.plans.empty() ? nullptr : &found.plans.front();
        found.whole =
            found.whole && look({&found.count, found.fit, found.pruned, found.estimated, best});
        return found.whole;
    };
    for (std::size_t job = 0; job < clusters.size(); ++job)
    {
        StepEstimator& estimator =
            *estimators.emplace_back(std::make_unique<StepEstimator>(clusters[job]));
        const Space space{clusters[job],
                          scenario.jobs[job],
                          scenario.search,
                          scenario.memoryMargin,
                          job};
        const auto visit = [&](Layout layout, const training::TrainingOptions& options) {
            ++found.fit;
            layout.bound = estimator.Bound(options);
            open.push_back(std::move(layout));
        };
        VisitLayouts(space, &found.count, visit, goesOn);
    }
    std::stable_sort(open.begin(), open.end(), [&](const Layout& a, const Layout& b) {
        return Score(scenario.objective, a.bound, a.gpus) <
               Score(scenario.objective, b.bound, b.gpus);
    });
    Best best(scenario, &found.plans);
    // Also of a search that was ended while it enumerated: the best so far by their bounds.
    const bool enumerated = std::exchange(found.whole, true);
    for (std::size_t i = 0; i < open.size(); ++i)
    {
        if (!best.Takes(open[i].bound, open[i].gpus))
        {
            found.pruned = open.size() - i;
            break;
        }
        if ((!enumerated || !goesOn()) &&
            found.plans.size() >= std::min<std::size_t>(3, open.size()))
        {
            found.whole = false;
            break;
        }
        const auto& job = scenario.jobs[open[i].job];
        const auto& cluster = clusters[open[i].job];
        const auto read = scenario::ValidateLayout(WithLayout(job, open[i]), cluster);
        if (!read.options)
        {
            Refuse(read.errors.front(), &found.count);
            continue;
        }
        const auto estimate = estimators[open[i].job]->Estimate(*read.options);
        if (!estimate)
        {
            ++found.unknown;
            continue;
        }
        ++found.estimated;
        if (best.Takes(estimate->step, open[i].gpus))
        {
            best.Add({std::move(open[i]), *estimate, std::nullopt, ""});
        }
    }
    found.whole = found.whole && enumerated;
    return found;
}

std::string
WhyNotBest(const Plan& plan, const Plan& best)
{
    if (plan.layout.gpus != best.layout.gpus)
    {
        return topo::Counted(plan.layout.gpus, "GPU");
    }
    const training::StepParts& its = plan.estimate.parts;
    const training::StepParts& other = best.estimate.parts;
    std::string why = "computing";
    double most = its.computing - other.computing;
    if (plan.layout.recompute != best.layout.recompute)
    {
        why = plan.layout.recompute == "none" ? why : "recomputation";
    }
    else if (plan.layout.microBatch != best.layout.microBatch)
    {
        why = "kernels of another micro-batch";
    }
    const auto consider = [&](const char* what, double more) {
        if (more > most)
        {
            most = more;
            why = what;
        }
    };
    consider("bubble", its.bubble - other.bubble);
    for (std::size_t i = 0; i < training::kParallelisms; ++i)
    {
        consider(training::ParallelismWord(static_cast<Parallelism>(i)),
                 its.exposed[i] - other.exposed[i]);
    }
    return most > 0 ? why + " +" + scenario::SecondsText(most) : "as good";
}

std::string
WhyNothingFits(const PlannerScenario& scenario,
               const std::vector<TrainingScenario>& clusters,
               const SpaceCount& count)
{
    const Layout& least = count.least;
    const TrainingScenario& cluster = clusters[least.job];
    const auto room = static_cast<double>(RoomOf(scenario, least));
    std::string text = "no layout of " + cluster.model + " fits " + std::to_string(least.gpus) +
                       " x " + cluster.gpu + ": the least memory is " +
                       GibText(static_cast<double>(count.leastMemory)) + " of " + GibText(room) +
                       " (" + LayoutText(least) + ")";
    const auto read =
        scenario::ValidateLayout(WithLayout(scenario.jobs[least.job], least), cluster);
    if (!read.options)
    {
        return text;
    }
    const auto memory = [](const training::TrainingOptions& o) {
        return training::EstimateMemory(o).Total();
    };
    uint64_t lowest = count.leastMemory;
    std::string change;
    const auto consider = [&](const std::string& what, auto apply) {
        training::TrainingOptions o = *read.options;
        apply(o);
        if (const uint64_t its = memory(o); its < lowest)
        {
            lowest = its;
            change = what;
        }
    };
    const bool openZero = IsSearched(scenario, "zero");
    for (const uint32_t more : {2U, 4U, 8U})
    {
        const std::string gpus = std::to_string(more * least.gpus) + " GPUs";
        consider(gpus, [&](auto& o) {
            o.ranks *= more;
            if (openZero)
            {
                o.sharding = training::ZeroStage(o.pipeline > 1 ? 1 : 3);
            }
        });
        if (static_cast<double>(lowest) <= room)
        {
            break;
        }
    }
    if (read.options->offload == training::Offload::kNone && read.options->sharding.optimizer)
    {
        consider("--offload=optimizer", [](auto& o) { o.offload = training::Offload::kOptimizer; });
    }
    if (read.options->recompute != training::Recompute::kFull)
    {
        consider("--recompute=full", [](auto& o) { o.recompute = training::Recompute::kFull; });
    }
    if (read.options->model.hasSequence && read.options->sequence > 1)
    {
        consider("--seq=" + std::to_string(read.options->sequence / 2),
                 [](auto& o) { o.sequence /= 2; });
    }
    return change.empty()
               ? text
               : text + "; " + change + " helps most: " + GibText(static_cast<double>(lowest)) +
                     (static_cast<double>(lowest) <= room ? ", which fits" : ", still too much");
}

} // namespace planner
