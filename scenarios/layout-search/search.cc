/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "scenarios/layout-search/search.h"

#include "scenarios/asked/training.h"
#include "scenarios/layout-search/in-order.h"
#include "scenarios/options/format.h"
#include "scenarios/training/gpu-kinds.h"
#include "scenarios/training/memory-reserve.h"
#include "scenarios/training/options/validate-layout.h"
#include "topologies/names.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <iterator>
#include <limits>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <thread>
#include <utility>

namespace planner
{

namespace
{

using scenario::Format;
using scenario::PlannerScenario;
using scenario::TrainingScenario;
using training::Parallelism;

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

    /// A plan with this score or more cannot be among them.
    double Limit() const
    {
        return m_plans.size() < m_scenario.top ? std::numeric_limits<double>::infinity()
                                               : ScoreOf(m_plans.back());
    }

    /// Whether a plan with at least this step could be among them.
    bool Takes(double step, uint32_t gpus) const
    {
        return m_plans.size() < m_scenario.top || Of(step, gpus) < Limit();
    }

    void Keep(const Plan& plan)
    {
        if (Takes(plan.estimate.step, plan.layout.gpus))
        {
            Add(plan);
        }
    }

  private:
    /// Of two plans that only differ in the order of ranks, one stays: the default, unless the
    /// other one is better by more than it takes to tell.
    void Add(Plan plan)
    {
        const auto twin = std::find_if(m_plans.begin(), m_plans.end(), [&plan](const Plan& p) {
            return p.layout.gpus == plan.layout.gpus &&
                   SettingsBut(p.layout) == SettingsBut(plan.layout);
        });
        if (twin != m_plans.end())
        {
            constexpr double kTells = 0.001; // assumed
            const bool isDefault =
                !Has(plan.layout.settings, &scenario::asked::Training::rankOrder);
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

    /// All but the order of ranks.
    static Settings SettingsBut(const Layout& layout)
    {
        return Without(layout.settings, &scenario::asked::Training::rankOrder);
    }

    double Of(double step, uint32_t gpus) const
    {
        return m_scenario.objective->score(step, gpus);
    }

    double ScoreOf(const Plan& plan) const
    {
        return Of(plan.estimate.step, plan.layout.gpus);
    }

    const PlannerScenario& m_scenario;
    std::vector<Plan>& m_plans;
};

/// Refusals of whole runs, by which collectives a step has: groups of GPUs and ZeRO stage decide
/// that, so others with the same are refused, too (assumed: an algorithm that cannot do a size can
/// seldom do another). Asking each layout takes as long as an estimate.
class Refusals
{
  public:
    void Add(const Layout& layout, const scenario::Error& error)
    {
        const std::lock_guard lock(m_mutex);
        m_all.emplace(KeyOf(layout), error);
    }

    std::optional<scenario::Error> Of(const Layout& layout) const
    {
        const std::lock_guard lock(m_mutex);
        const auto at = m_all.empty() ? m_all.end() : m_all.find(KeyOf(layout));
        return at == m_all.end() ? std::nullopt : std::optional(at->second);
    }

  private:
    using Key = std::array<uint32_t, 10>;

    static Key KeyOf(const Layout& l)
    {
        return {static_cast<uint32_t>(l.job),
                l.gpus,
                l.tensor,
                l.pipeline,
                l.context,
                l.expert,
                l.expertTensor,
                l.data,
                l.zero,
                l.sequenceParallel};
    }

    mutable std::mutex m_mutex; ///< guards m_all
    std::map<Key, scenario::Error> m_all;
};

/// Threads that search: each has plans of all ranks in memory, so there are not more (assumed).
constexpr unsigned kMostThreads = 8;

/// Searches one list of layouts after another on the same threads.
class Searcher
{
  public:
    Searcher(const PlannerScenario& scenario,
             const std::vector<TrainingScenario>& clusters,
             const std::function<bool(const Progress&)>& look,
             unsigned threads,
             Found* found)
        : m_scenario(scenario),
          m_clusters(clusters),
          m_look(look),
          m_found(*found),
          m_estimators(threads > 0
                           ? threads
                           : std::clamp(std::thread::hardware_concurrency(), 1U, kMostThreads))
    {
        for (auto& of : m_estimators)
        {
            for (const TrainingScenario& cluster : clusters)
            {
                of.push_back(std::make_unique<StepEstimator>(cluster));
            }
        }
    }

    /// Layouts that fit, with their bounds, the least first.
    std::vector<Layout> Enumerate()
    {
        struct Piece
        {
            std::size_t space;
            SpacePart part;
            SpaceCount count;
            std::vector<Layout> open;
        };

        std::vector<Space> spaces;
        std::vector<Piece> pieces;
        for (std::size_t job = 0; job < m_clusters.size(); ++job)
        {
            const bool anyMemory = m_scenario.values.Get(&scenario::asked::Training::ignoreMemory);
            spaces.push_back({m_clusters[job],
                              m_scenario.jobs[job],
                              m_scenario.search,
                              anyMemory ? std::optional(UINT64_MAX) : std::nullopt,
                              m_scenario.memoryMargin,
                              job});
            for (SpacePart& part : PartsOf(spaces.back()))
            {
                pieces.push_back({job, std::move(part), {}, {}});
            }
        }
        std::atomic<uint64_t> seen = 0;
        std::atomic<uint64_t> tooLarge = 0;
        std::atomic<uint64_t> fit = 0;
        std::atomic<bool> ends = false;
        const auto look = [&] {
            SpaceCount count;
            count.seen = seen;
            count.tooLarge = tooLarge;
            ends = ends || !m_look({&count, fit, 0, 0, nullptr, true});
        };
        Piecework all;
        all.pieces = pieces.size();
        all.work = [&](unsigned thread, std::size_t i) {
            Piece& piece = pieces[i];
            SpaceCount told;
            uint64_t toldFit = 0;
            VisitLayouts(
                spaces[piece.space],
                piece.part,
                &piece.count,
                [&](Layout layout, const training::TrainingOptions& options) {
                    layout.bound = m_estimators[thread][layout.job]->Bound(options);
                    piece.open.push_back(std::move(layout));
                },
                [&] {
                    seen += piece.count.seen - std::exchange(told.seen, piece.count.seen);
                    tooLarge +=
                        piece.count.tooLarge - std::exchange(told.tooLarge, piece.count.tooLarge);
                    fit += piece.open.size() - std::exchange(toldFit, piece.open.size());
                    return !ends;
                });
        };
        std::vector<Layout> open;
        all.take = [&](std::size_t i) {
            Add(pieces[i].count, &m_found.count);
            open.insert(open.end(),
                        std::make_move_iterator(pieces[i].open.begin()),
                        std::make_move_iterator(pieces[i].open.end()));
            look();
            return true; // what has begun is kept
        };
        all.wait = look;
        InOrder(all, static_cast<unsigned>(m_estimators.size()));
        m_found.listed = m_found.whole = !ends;
        m_found.fit = open.size();
        std::stable_sort(open.begin(), open.end(), [this](const Layout& a, const Layout& b) {
            return ScoreOf(a) < ScoreOf(b);
        });
        return open;
    }

    /// Of each kind of layout, with its groups of GPUs, the first one comes first: a search that is
    /// ended soon has tried all kinds. \return how many these are
    static std::size_t KindsFirst(std::vector<Layout>& open)
    {
        std::set<std::array<uint32_t, 6>> kinds;
        const auto rest =
            std::stable_partition(open.begin(), open.end(), [&kinds](const Layout& l) {
                return kinds
                    .insert({l.gpus, l.tensor, l.pipeline, l.context, l.expert, l.expertTensor})
                    .second;
            });
        return static_cast<std::size_t>(rest - open.begin());
    }

    /// Estimates of those that can be among the best. Also of a search that was ended while it
    /// enumerated: the best so far by their bounds.
    void Estimate(std::vector<Layout> open, const Estimates& known)
    {
        struct Tried
        {
            std::optional<scenario::Error> refused; ///< by a rule
            std::optional<StepEstimate> estimate;
        };

        Best best(m_scenario, &m_found.plans);
        Refusals refusals;
        const std::size_t kinds = KindsFirst(open); // behind these, bounds ascend
        const bool enumerated = m_found.whole;
        // Layouts that are tried however soon somebody ends it, and while all are refused.
        constexpr std::size_t kLeast = 3;
        constexpr std::size_t kLeastRefused = 30;
        std::vector<Tried> tried(open.size());
        std::atomic<double> limit = std::numeric_limits<double>::infinity();
        bool ends = !enumerated;
        const auto look = [&] {
            const Plan* const first = m_found.plans.empty() ? nullptr : &m_found.plans.front();
            ends = ends || !m_look({&m_found.count,
                                    m_found.fit,
                                    m_found.pruned,
                                    m_found.estimated,
                                    first,
                                    false,
                                    &m_found.all});
        };
        Piecework all;
        all.pieces = open.size();
        all.ahead = 4 * m_estimators.size();
        all.work = [&](unsigned thread, std::size_t i) {
            const Layout& layout = open[i];
            if (ScoreOf(layout) >= limit || refusals.Of(layout))
            {
                return; // nobody will take it
            }
            const auto read =
                scenario::ValidateLayout(WithLayout(m_scenario.jobs[layout.job], layout),
                                         m_clusters[layout.job]);
            if (!read.options)
            {
                tried[i].refused = read.errors.front();
                return;
            }
            const auto before = known.find(EstimateKey(layout));
            tried[i].estimate = before != known.end()
                                    ? before->second
                                    : m_estimators[thread][layout.job]->Estimate(*read.options);
            auto& estimate = tried[i].estimate;
            if (estimate && estimate->step < layout.bound)
            {
                // Few micro-batches do not show what uneven stages lose in the long run.
                estimate->parts.bubble += layout.bound - estimate->step;
                estimate->mfu *= estimate->step / layout.bound;
                estimate->step = layout.bound;
            }
            if (estimate && m_scenario.objective->score(estimate->step, layout.gpus) < limit)
            {
                tried[i].refused = WhyNotRun(m_scenario.jobs[layout.job], layout);
            }
        };
        all.take = [&](std::size_t i) {
            if (!best.Takes(open[i].bound, open[i].gpus))
            {
                m_found.pruned += i < kinds ? 1 : open.size() - i;
                return i < kinds;
            }
            look();
            if (ends && i >= (m_found.plans.empty() ? kLeastRefused : kLeast))
            {
                EndAt(i, open, best);
                return false;
            }
            // Whether the rules of a run are asked depends on threads; whether it matters does not.
            const auto& estimate = tried[i].estimate;
            if (const auto before = refusals.Of(open[i]))
            {
                Refuse(*before, &m_found.count);
            }
            else if (tried[i].refused && (!estimate || best.Takes(estimate->step, open[i].gpus)))
            {
                if (estimate)
                {
                    refusals.Add(open[i], *tried[i].refused);
                }
                Refuse(*tried[i].refused, &m_found.count);
            }
            else if (!estimate)
            {
                ++m_found.unknown;
            }
            else
            {
                ++m_found.estimated;
                m_found.all.push_back({open[i], *estimate, std::nullopt, ""});
                best.Keep(m_found.all.back());
                limit = best.Limit();
            }
            return true;
        };
        all.wait = look;
        InOrder(all, static_cast<unsigned>(m_estimators.size()));
        m_found.whole = !ends;
    }

  private:
    double ScoreOf(const Layout& layout) const
    {
        return m_scenario.objective->score(layout.bound, layout.gpus);
    }

    /// Counts what somebody who ended the search did not let it try.
    void EndAt(std::size_t next, const std::vector<Layout>& open, const Best& best)
    {
        std::for_each(open.begin() + static_cast<std::ptrdiff_t>(next),
                      open.end(),
                      [&](const Layout& layout) {
                          const bool pruned = !best.Takes(layout.bound, layout.gpus);
                          ++(pruned ? m_found.pruned : m_found.untried);
                          m_found.leastUntried =
                              pruned ? m_found.leastUntried
                                     : std::min(m_found.leastUntried.value_or(layout.bound),
                                                layout.bound);
                      });
    }

    const PlannerScenario& m_scenario;
    const std::vector<TrainingScenario>& m_clusters;
    const std::function<bool(const Progress&)>& m_look;
    Found& m_found;
    std::vector<std::vector<std::unique_ptr<StepEstimator>>> m_estimators; ///< by thread and job
};

} // namespace

std::string
EstimateKey(const Layout& layout)
{
    return std::to_string(layout.gpus) + " " + LayoutOptions(layout);
}

Found
Search(const PlannerScenario& scenario,
       const std::vector<TrainingScenario>& clusters,
       const std::function<bool(const Progress&)>& look,
       const Estimates& known,
       unsigned threads)
{
    Found found;
    Searcher searcher(scenario, clusters, look, threads, &found);
    searcher.Estimate(searcher.Enumerate(), known);
    return found;
}

std::vector<Plan*>
NextToVerify(const scenario::Objective& objective, std::vector<Plan>& plans, std::size_t most)
{
    constexpr double kMostTrusted = 1.1; // estimates are within a tenth: docs/planning.md
    double best = std::numeric_limits<double>::infinity();
    double longer = kMostTrusted;
    for (const Plan& plan : plans)
    {
        if (plan.verified)
        {
            best = std::min(best, objective.score(*plan.verified, plan.layout.gpus));
            longer = std::min(longer, *plan.verified / plan.estimate.step);
        }
    }
    std::vector<Plan*> next;
    for (Plan& plan : plans)
    {
        const bool tried = plan.verified || !plan.notVerified.empty();
        const double expected = objective.score(plan.estimate.step * longer, plan.layout.gpus);
        if (!tried && next.size() < most && expected < best)
        {
            next.push_back(&plan);
        }
    }
    return next;
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
                       scenario::GibText(static_cast<double>(count.leastMemory)) + " of " +
                       scenario::GibText(room) + " (" + LayoutText(least) + ")";
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
    if (read.options->tensor > 1 && !read.options->sequenceParallel &&
        read.options->model.hasSequence)
    {
        consider("--sequence-parallel", [](auto& o) { o.sequenceParallel = true; });
    }
    if (read.options->model.hasSequence && read.options->sequence > 1)
    {
        consider("--seq=" + std::to_string(read.options->sequence / 2),
                 [](auto& o) { o.sequence /= 2; });
    }
    return change.empty()
               ? text
               : text + "; " + change +
                     " helps most: " + scenario::GibText(static_cast<double>(lowest)) +
                     (static_cast<double>(lowest) <= room ? ", which fits" : ", still too much");
}

} // namespace planner
