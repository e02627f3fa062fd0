/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "scenarios/operator-search/sharding-search.h"

#include "contrib/rdma/core/set-up-phase.h"
#include "scenarios/operator-search/alternatives.h"
#include "scenarios/operator-search/mindspore-cost.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <iterator>
#include <memory>

namespace sharding
{

namespace
{

constexpr std::array<const char*, 5> kModeNames = {"semi",
                                                   "sharding-propagation",
                                                   "dynamic-programming",
                                                   "recursive",
                                                   "exhaustive"};

} // namespace

const char*
ModeName(Mode mode)
{
    return kModeNames[static_cast<std::size_t>(mode)];
}

std::optional<Mode>
ParseMode(std::string_view text)
{
    std::string name(text);
    std::replace(name.begin(), name.end(), '_', '-');
    name = name == "recursive-programming" ? "recursive" : name == "semi-auto" ? "semi" : name;
    const auto* const at = std::find(kModeNames.begin(), kModeNames.end(), name);
    return at == kModeNames.end() ? std::nullopt
                                  : std::optional(static_cast<Mode>(at - kModeNames.begin()));
}

namespace
{

/// Prices of memory: each this many times the one before, up to so many (assumed: from nothing to
/// more than any computation).
constexpr double kPriceStep = 4;
constexpr int kMostPrices = 24;
/// Where prices begin: a second for each so many bytes (assumed: a GPU's memory, a thousand times).
constexpr double kFirstPrice = 1e-3 / 80e9;

/// Bounds of the search for a faster step, so that it takes less than half a second (assumed):
/// tasks walked, sums of eliminations for each share of exposed reductions, changes of one
/// operator.
constexpr double kMostWalked = 2e5;
constexpr double kMostSums = 1e8;
constexpr std::size_t kMostChanges = 400;
/// Of an operator: forward, its sum, backward, its gradient's sum, backward of weights, a bucket.
constexpr double kTasksOfOperator = 6;
/// Rounding is no gain.
constexpr double kLeastGain = 1e-6;

/// Parts of the gradients' reductions that nothing hides.
constexpr double kExposures[] = {1, 0.5, 0};

class Searcher
{
  public:
    Searcher(const Graph& graph,
             const SearchSettings& settings,
             const SliceKernels& kernels,
             CommunicationTimes& times)
        : m_graph(graph),
          m_kernels(kernels),
          m_times(times),
          m_seconds(kernels, times, settings.devices.count, settings.passes),
          m_mindspore(settings.devices.count, {1, 50}) // beta of GPUs
    {
        m_found.graph = graph;
        m_found.settings = settings;
    }

    std::optional<Sharding> Run(std::string* why)
    {
        const SearchSettings& s = m_found.settings;
        if (s.mode == Mode::kRecursive && (s.devices.count & (s.devices.count - 1)) != 0)
        {
            *why = "halves the GPUs, and " + std::to_string(s.devices.count) +
                   " is no power of two; allowed: dynamic-programming";
            return std::nullopt;
        }
        if (s.mode == Mode::kRecursive && !s.devices.matrix.empty())
        {
            *why = "makes a device matrix of its own for each operator; allowed: without one";
            return std::nullopt;
        }
        const bool several =
            s.seconds && (s.mode == Mode::kProgramming || s.mode == Mode::kExhaustive);
        if (!(several ? BestOfSeveral(why) : Search(why)))
        {
            return std::nullopt;
        }
        Tell(&m_found);
        if (several && s.ranked > 0)
        {
            Rank();
        }
        return std::move(m_found);
    }

  private:
    const CostModel& TheCost() const
    {
        return m_found.settings.seconds ? static_cast<const CostModel&>(m_seconds) : m_mindspore;
    }

    /// One search. \return whether there is a result
    bool Search(std::string* why)
    {
        const SearchSettings& s = m_found.settings;
        // MindSpore uses all devices; with seconds, repeated work is one of the choices.
        Devices devices = s.devices;
        devices.all = !s.seconds;
        m_found.eliminated.clear();
        m_found.propagated.clear();
        m_found.halved.clear();
        if (s.mode == Mode::kSemi)
        {
            m_found.strategies = ByBatch();
            m_found.choices.assign(m_found.strategies.size(), 1);
            return true;
        }
        if (s.mode == Mode::kRecursive)
        {
            m_found.strategies = Recursively(m_graph, s.devices.count, s.given, &m_found.halved);
            m_found.choices.assign(m_found.strategies.size(), 1);
            return true;
        }
        if (s.mode == Mode::kPropagation)
        {
            devices.all = true;
        }
        if (!m_space)
        {
            const rdma::SetUpPhase phase("computing costs of strategies");
            m_space = MakeSearchSpace(m_graph, devices, s.given, TheCost());
        }
        else
        {
            CountOperators(TheCost(), &*m_space);
        }
        const SearchSpace& space = *m_space;
        m_found.choices.clear();
        for (const auto& strategies : space.strategies)
        {
            m_found.choices.push_back(strategies.size());
        }
        m_found.combinations = space.Size();
        Choice choice;
        if (s.mode == Mode::kExhaustive)
        {
            if (space.Size() > kMostCombinations)
            {
                char text[160];
                std::snprintf(text,
                              sizeof text,
                              "has %.3g combinations of strategies; allowed: at most %.0g; "
                              "dynamic-programming finds the same",
                              space.Size(),
                              kMostCombinations);
                *why = text;
                return false;
            }
            choice = Exhaustively(space);
        }
        else if (s.mode == Mode::kPropagation)
        {
            choice = ByPropagation(space, s.given, &m_found.propagated);
        }
        else
        {
            const auto sums = EliminationSums(space);
            if (!sums)
            {
                *why = "makes tables too large for this graph; allowed: --device-matrix with few "
                       "dimensions, recursive, sharding-propagation, or fewer GPUs";
                return false;
            }
            const rdma::SetUpPhase phase("searching strategies",
                                         static_cast<uint64_t>(*sums) *
                                             (m_searches + 1 + m_searchesLeft));
            const auto tell = [&](double done) {
                phase.Done(static_cast<uint64_t>(*sums * m_searches + done));
            };
            choice = ByElimination(space, &m_found.eliminated, tell).value();
            ++m_searches;
        }
        m_found.strategies = space.StrategiesOf(choice);
        return true;
    }

    std::vector<Strategy> ByBatch() const
    {
        std::vector<Strategy> strategies;
        for (uint32_t i = 0; i < m_graph.operators.size(); ++i)
        {
            const auto given = m_found.settings.given.find(i);
            strategies.push_back(
                given != m_found.settings.given.end()
                    ? given->second
                    : DataParallel(m_graph.operators[i], m_found.settings.devices));
        }
        return strategies;
    }

    double Memory(const std::vector<Strategy>& strategies) const
    {
        return MemoryOf(m_graph, strategies, m_kernels.Options());
    }

    bool Fits(const std::vector<Strategy>& strategies) const
    {
        return m_found.settings.memory <= 0 || Memory(strategies) <= m_found.settings.memory;
    }

    double Step(const std::vector<Strategy>& strategies)
    {
        const SearchSettings& s = m_found.settings;
        // Passes are alike: the first, and each later one as long as the second.
        const auto walk = [&](uint32_t passes) {
            return StepSeconds(
                       MakeShardedPlan(m_graph, strategies, m_kernels, s.devices.count, passes),
                       m_times)
                .value_or(0);
        };
        if (s.passes <= 3)
        {
            return walk(s.passes);
        }
        const double two = walk(2);
        return two + (walk(3) - two) * (s.passes - 2.0);
    }

    /// Whether no strategies take less memory, whatever its price is.
    bool IsLeastMemory() const
    {
        for (uint32_t i = 0; i < m_graph.operators.size(); ++i)
        {
            const auto bytes = [&](const Strategy& strategy) {
                return StateBytes(m_graph, i, strategy, m_kernels.Options()) +
                       KeptBytes(m_graph, i, strategy);
            };
            const double own = bytes(m_found.strategies[i]);
            for (const Strategy& strategy : m_space->strategies[i])
            {
                if (bytes(strategy) < own * (1 - 1e-9))
                {
                    return false;
                }
            }
        }
        return true;
    }

    bool BestOfSeveral(std::string* why)
    {
        std::optional<Sharding> best;
        double least = 0; // memory of what does not fit
        const auto compare = [&](const std::string& what) {
            const double step = Step(m_found.strategies);
            const double memory = Memory(m_found.strategies);
            m_found.compared.push_back({what, step, memory});
            least = least == 0 ? memory : std::min(least, memory);
            if (Fits(m_found.strategies))
            {
                m_candidates.push_back({m_found.strategies, step, what});
            }
            if (Fits(m_found.strategies) && (!best || step < *best->step))
            {
                m_found.step = step;
                const auto compared = m_found.compared;
                best = m_found;
            }
        };
        double first = kFirstPrice;
        m_searchesLeft = std::size(kExposures);
        for (const double exposed : kExposures)
        {
            --m_searchesLeft;
            m_seconds.SetExposed(exposed);
            // A price that was too low once is so again.
            double price = first;
            m_seconds.SetMemoryPrice(price > kFirstPrice ? price : 0);
            for (int i = 0; i < kMostPrices; ++i, price *= kPriceStep)
            {
                if (!Search(why))
                {
                    return false;
                }
                if (Fits(m_found.strategies) || IsLeastMemory())
                {
                    break;
                }
                m_seconds.SetMemoryPrice(price);
            }
            first = std::max(kFirstPrice, price / (kPriceStep * kPriceStep));
            char text[60];
            std::snprintf(text, sizeof text, "%.0f%% of reductions exposed", 100 * exposed);
            compare(text);
            if (!best)
            {
                break; // no price makes it fit
            }
        }
        m_seconds.SetExposed(1);
        m_seconds.SetMemoryPrice(0);
        m_found.strategies = ByBatch();
        compare("data parallel");
        if (!best)
        {
            char text[160];
            std::snprintf(text,
                          sizeof text,
                          "finds nothing that fits %.1f GiB a GPU: the least is %.1f GiB; allowed: "
                          "more GPUs, a smaller batch, or --ignore-memory",
                          m_found.settings.memory / (1ULL << 30),
                          least / (1ULL << 30));
            *why = text;
            return false;
        }
        best->compared = m_found.compared;
        {
            const rdma::SetUpPhase phase("looking for a faster step beside the best");
            Improve(&*best);
        }
        m_found = std::move(*best);
        return true;
    }

    void Tell(Sharding* found)
    {
        const SearchSpace fixed = FixedSpace(m_graph, found->strategies, TheCost());
        found->ofOperator.clear();
        found->ofEdge.clear();
        found->total = {};
        for (const auto& costs : fixed.ofOperator)
        {
            found->ofOperator.push_back(costs[0]);
            found->total += costs[0];
        }
        for (const auto& costs : fixed.ofEdge)
        {
            found->ofEdge.push_back(costs[0]);
            found->total += costs[0];
        }
        found->unit = TheCost().Unit();
        found->memory = Memory(found->strategies);
        found->step = found->step ? found->step : Step(found->strategies);
    }

    struct Candidate
    {
        std::vector<Strategy> strategies;
        double step = 0;
        std::string what;
    };

    /// Strategies' numbers in the space; empty: one is not in it.
    Choice ChoiceOf(const std::vector<Strategy>& strategies) const
    {
        Choice choice;
        for (uint32_t i = 0; i < m_graph.operators.size(); ++i)
        {
            const auto& all = m_space->strategies[i];
            const auto at = std::find(all.begin(), all.end(), strategies[i]);
            if (at == all.end())
            {
                return {};
            }
            choice.push_back(static_cast<uint32_t>(at - all.begin()));
        }
        return choice;
    }

    /// Tasks that a step's walks go through.
    double TasksOfStep() const
    {
        double tasks = 0;
        for (uint32_t i = 0; i < m_graph.operators.size(); ++i)
        {
            tasks += kTasksOfOperator * m_graph.Times(i);
        }
        const uint32_t passes = m_found.settings.passes;
        return tasks * (passes <= 3 ? passes : 5);
    }

    /// Compares a result's step with the best; walks are counted. \return whether it is faster
    bool Try(const Alternative& other, const char* how, Sharding* best)
    {
        Candidate candidate{m_space->StrategiesOf(other.choice),
                            0,
                            m_graph.operators[other.op].name + how};
        if (!Fits(candidate.strategies))
        {
            return false;
        }
        m_walked += TasksOfStep();
        candidate.step = Step(candidate.strategies);
        const bool faster = candidate.step < *best->step * (1 - kLeastGain);
        if (faster)
        {
            best->strategies = candidate.strategies;
            best->step = candidate.step;
            best->improved.push_back({candidate.what, candidate.step, Memory(best->strategies)});
        }
        m_candidates.push_back(std::move(candidate));
        return faster;
    }

    /// Looks for a faster step beside the best one: around each operator's strategies, then by
    /// changes of one operator until none is faster.
    void Improve(Sharding* best)
    {
        for (const double exposed : {1.0, 0.0})
        {
            m_seconds.SetExposed(exposed);
            CountOperators(TheCost(), &*m_space);
            const Choice choice = ChoiceOf(best->strategies);
            if (choice.empty())
            {
                break;
            }
            for (const Alternative& other : AroundOneOperator(*m_space, choice, kMostSums))
            {
                if (m_walked < kMostWalked / 2)
                {
                    Try(other, " otherwise, others around it", best);
                }
            }
        }
        m_seconds.SetExposed(1);
        CountOperators(TheCost(), &*m_space);
        for (bool faster = true; faster && m_walked < kMostWalked;)
        {
            faster = false;
            const Choice choice = ChoiceOf(best->strategies);
            for (const Alternative& other : OfOneOperator(*m_space, choice, kMostChanges))
            {
                faster = m_walked < kMostWalked && Try(other, " otherwise", best);
                if (faster)
                {
                    break;
                }
            }
        }
    }

    /// The best results, each of them once.
    void Rank()
    {
        std::stable_sort(m_candidates.begin(),
                         m_candidates.end(),
                         [](const Candidate& a, const Candidate& b) { return a.step < b.step; });
        std::vector<Ranked> ranked;
        for (const Candidate& c : m_candidates)
        {
            const bool known = std::any_of(ranked.begin(), ranked.end(), [&c](const Ranked& r) {
                return r.sharding->strategies == c.strategies;
            });
            if (known || ranked.size() == m_found.settings.ranked)
            {
                continue;
            }
            auto sharding = std::make_shared<Sharding>(m_found);
            sharding->strategies = c.strategies;
            sharding->step = c.step;
            Tell(sharding.get());
            ranked.push_back({std::move(sharding), c.what});
        }
        m_found.ranked = std::move(ranked);
    }

    const Graph& m_graph;
    const SliceKernels& m_kernels;
    CommunicationTimes& m_times;
    SimulatorCost m_seconds;
    MindSporeCost m_mindspore;
    std::optional<SearchSpace> m_space;
    std::vector<Candidate> m_candidates;
    double m_walked = 0;         ///< tasks of steps
    uint32_t m_searches = 0;     ///< by elimination, done
    uint32_t m_searchesLeft = 0; ///< at least so many follow
    Sharding m_found;
};

} // namespace

std::optional<Sharding>
FindSharding(const Graph& graph,
             const SearchSettings& settings,
             const SliceKernels& kernels,
             CommunicationTimes& times,
             std::string* why)
{
    return Searcher(graph, settings, kernels, times).Run(why);
}

} // namespace sharding
