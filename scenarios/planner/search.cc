/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "scenarios/planner/search.h"

#include "scenarios/options/format.h"
#include "scenarios/options/training/validate-layout.h"
#include "scenarios/plan/plan-lines.h"
#include "scenarios/training/gpu-kinds.h"
#include "scenarios/training/memory-reserve.h"
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

    /// Of two plans that only differ in the order of ranks, one stays: the default, unless the
    /// other one is better by more than it takes to tell.
    void Add(Plan plan)
    {
        const auto twin = std::find_if(m_plans.begin(), m_plans.end(), [&plan](const Plan& p) {
            return p.layout.gpus == plan.layout.gpus && BaseOf(p.layout) == BaseOf(plan.layout);
        });
        if (twin != m_plans.end())
        {
            constexpr double kTells = 0.001; // assumed
            const bool isDefault = BaseOf(plan.layout) == plan.layout.words;
            const double tells = isDefault ? 1 + kTells : 1 - kTells;
            if (plan.estimate.step >= twin->estimate.step * tells)
            {
                return;
            }
            m_plans.erase(twin);
        }
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
    static Words BaseOf(const Layout& layout)
    {
        Words words = layout.words;
        words.erase(std::remove_if(words.begin(),
                                   words.end(),
                                   [](const auto& word) { return word.first == "rank-order"; }),
                    words.end());
        return words;
    }

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

std::string
EstimateKey(const Layout& layout)
{
    return std::to_string(layout.gpus) + " " + LayoutOptions(layout);
}

Found
Search(const PlannerScenario& scenario,
       const std::vector<TrainingScenario>& clusters,
       const std::function<bool(const Progress&)>& look,
       const Estimates& known)
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
                          scenario.values.Flag("ignore-memory") ? std::optional(UINT64_MAX)
                                                                : std::nullopt,
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
    const auto keep = [&](Plan plan) {
        found.all.push_back(plan);
        if (best.Takes(plan.estimate.step, plan.layout.gpus))
        {
            best.Add(std::move(plan));
        }
    };
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
        const auto before = known.find(EstimateKey(open[i]));
        const auto estimate = before != known.end()
                                  ? before->second
                                  : estimators[open[i].job]->Estimate(*read.options);
        if (!estimate)
        {
            ++found.unknown;
            continue;
        }
        ++found.estimated;
        keep({std::move(open[i]), *estimate, std::nullopt, ""});
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
    const auto room = static_cast<double>(least.fullest);
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
    const auto memory = [&](const training::TrainingOptions& o) {
        const training::MemoryEstimate its = training::FullestOf(o).memory;
        return its.Total() + (scenario.memoryMargin
                                  ? static_cast<uint64_t>(*scenario.memoryMargin * room)
                                  : training::ReserveOf(o, its).Total());
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
