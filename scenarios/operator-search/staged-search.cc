/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "scenarios/operator-search/staged-search.h"

#include <algorithm>
#include <cstdio>
#include <map>
#include <numeric>
#include <utility>

namespace sharding
{

namespace
{

/// Of gradients' reductions, the part that nothing hides, while strategies are searched (assumed;
/// their time in a stage's seconds is that of the step graph).
constexpr double kExposed = 0.5;
/// Prices of memory, as in sharding-search.cc.
constexpr double kStagePriceStep = 16;
constexpr int kMostStageResults = 12;
constexpr double kFirstStagePrice = 1e-3 / 80e9;

struct Result
{
    std::vector<Strategy> strategies;
    double seconds = 0; ///< of a micro-batch
    double state = 0;   ///< bytes
    double kept = 0;    ///< bytes, of a micro-batch
};

/// A stage on a number of devices: results that take less and less memory.
class StageOptions
{
  public:
    StageOptions(StageGraph stage,
                 const StagedSettings& settings,
                 uint32_t devices,
                 const SliceKernels& kernels,
                 std::shared_ptr<CommunicationTimes> times)
        : m_stage(std::move(stage)),
          m_settings(settings),
          m_devices(devices),
          m_kernels(kernels),
          m_times(std::move(times)),
          m_cost(kernels, *m_times, devices, settings.passes)
    {
        m_cost.SetExposed(kExposed);
        Devices all;
        all.count = devices;
        m_space = MakeSearchSpace(m_stage.graph, all, {}, m_cost);
    }

    /// The first that fits with activations of so many micro-batches.
    const Result* Fitting(uint32_t microBatches)
    {
        for (std::size_t i = 0;; ++i)
        {
            if (i == m_results.size() && !AddResult())
            {
                return nullptr;
            }
            const Result& r = m_results[i];
            if (m_settings.memory <= 0 || r.state + r.kept * microBatches <= m_settings.memory)
            {
                return &r;
            }
        }
    }

    const StageGraph& Stage() const
    {
        return m_stage;
    }

  private:
    bool AddResult()
    {
        if (m_results.size() == kMostStageResults)
        {
            return false;
        }
        if (!m_results.empty())
        {
            m_price = m_price > 0 ? m_price * kStagePriceStep : kFirstStagePrice;
            m_cost.SetMemoryPrice(m_price);
            CountOperators(m_cost, &m_space);
        }
        const auto choice = ByElimination(m_space, nullptr);
        if (!choice)
        {
            return false; // its tables would be too large
        }
        Result r;
        r.strategies = m_space.StrategiesOf(*choice);
        const auto walk = [&](uint32_t passes) {
            return StepSeconds(
                       MakeShardedPlan(m_stage.graph, r.strategies, m_kernels, m_devices, passes),
                       *m_times)
                .value_or(1e30);
        };
        const double two = walk(2);
        const double each = walk(3) - two;
        const double once = std::max(0.0, two - 2 * each);
        r.seconds = each + once / m_settings.passes;
        for (uint32_t i = 0; i < m_stage.graph.operators.size(); ++i)
        {
            r.state += StateBytes(m_stage.graph, i, r.strategies[i], m_kernels.Options());
            r.kept += KeptBytes(m_stage.graph, i, r.strategies[i]);
        }
        m_results.push_back(std::move(r));
        return true;
    }

    StageGraph m_stage;
    const StagedSettings& m_settings;
    uint32_t m_devices;
    const SliceKernels& m_kernels;
    std::shared_ptr<CommunicationTimes> m_times;
    SimulatorCost m_cost;
    SearchSpace m_space;
    double m_price = 0;
    std::vector<Result> m_results;
};

} // namespace

std::vector<uint32_t>
MeshesOf(uint32_t devices, uint32_t serverDevices)
{
    std::vector<uint32_t> meshes;
    for (uint32_t n = 1; n < serverDevices && n <= devices; n *= 2)
    {
        meshes.push_back(n);
    }
    for (uint32_t n = serverDevices; n <= devices; n += serverDevices)
    {
        meshes.push_back(n);
    }
    return meshes;
}

namespace
{

class StagedSearcher
{
  public:
    StagedSearcher(
        const Graph& graph,
        const StagedSettings& settings,
        const SliceKernels& kernels,
        const std::function<std::shared_ptr<CommunicationTimes>(uint32_t devices)>& times)
        : m_graph(graph),
          m_settings(settings),
          m_kernels(kernels),
          m_times(times)
    {
        std::vector<double> flops;
        for (uint32_t i = 0; i < graph.operators.size(); ++i)
        {
            flops.push_back(kernels.Flops(graph.operators[i]) + 1);
        }
        m_units = UnitsOf(graph, flops);
    }

    std::optional<StagedSharding> Run(std::string* why)
    {
        StageProblem problem;
        problem.units = static_cast<uint32_t>(m_units.size());
        problem.devices = m_settings.devices;
        problem.meshes = MeshesOf(m_settings.devices, m_settings.serverDevices);
        problem.passes = m_settings.passes;
        problem.seconds = [this](uint32_t begin, uint32_t end, uint32_t mesh, uint32_t behind) {
            const Result* const r = ResultOf(begin, end, mesh, behind);
            return r ? std::optional(r->seconds) : std::nullopt;
        };
        const auto found = FindStages(problem);
        if (!found)
        {
            char text[160];
            std::snprintf(text,
                          sizeof text,
                          "finds no stages that fit %.1f GiB a GPU; allowed: more GPUs, a smaller "
                          "batch, or --ignore-memory",
                          m_settings.memory / (1ULL << 30));
            *why = text;
            return std::nullopt;
        }
        return Told(*found);
    }

  private:
    StageOptions& OptionsOf(uint32_t begin, uint32_t end, uint32_t mesh)
    {
        const std::string key = ContentOf(m_units, begin, end) + "on " + std::to_string(mesh);
        auto& options = m_options[key];
        if (!options)
        {
            auto& times = m_timesOf[mesh];
            times = times ? times : m_times(mesh);
            options = std::make_unique<StageOptions>(StageOf(m_graph, m_units, begin, end),
                                                     m_settings,
                                                     mesh,
                                                     m_kernels,
                                                     times);
        }
        return *options;
    }

    const Result* ResultOf(uint32_t begin, uint32_t end, uint32_t mesh, uint32_t behind)
    {
        // 1F1B: a stage has as many micro-batches at a time as there are stages from it on.
        return OptionsOf(begin, end, mesh).Fitting(std::min(behind + 1, m_settings.passes));
    }

    StagedSharding Told(const FoundStages& found)
    {
        StagedSharding staged;
        staged.units = m_units;
        staged.seconds = found.seconds;
        const auto count = static_cast<uint32_t>(found.stages.size());
        for (uint32_t s = 0; s < count; ++s)
        {
            const FoundStage& f = found.stages[s];
            const uint32_t behind = count - 1 - s;
            const Result& r = *ResultOf(f.begin, f.end, f.mesh, behind);
            ShardedStage stage;
            stage.stage = StageOf(m_graph, m_units, f.begin, f.end);
            stage.seconds = f.seconds;
            stage.sharding = Described(stage.stage.graph, r, f.mesh);
            stage.sharding.memory = r.state + r.kept * std::min(behind + 1, m_settings.passes);
            stage.sharding.step = f.seconds;
            staged.stages.push_back(std::move(stage));
        }
        Place(&staged);
        return staged;
    }

    Sharding Described(const Graph& graph, const Result& r, uint32_t mesh)
    {
        Sharding s;
        s.graph = graph;
        s.settings.devices.count = mesh;
        s.settings.passes = m_settings.passes;
        s.strategies = r.strategies;
        s.choices.assign(graph.operators.size(), 1);
        SimulatorCost cost(m_kernels, *m_timesOf.at(mesh), mesh, m_settings.passes);
        const SearchSpace fixed = FixedSpace(s.graph, s.strategies, cost);
        for (const auto& costs : fixed.ofOperator)
        {
            s.ofOperator.push_back(costs[0]);
            s.total += costs[0];
        }
        for (const auto& costs : fixed.ofEdge)
        {
            s.ofEdge.push_back(costs[0]);
            s.total += costs[0];
        }
        s.unit = cost.Unit();
        return s;
    }

    /// Ranks: the largest stages first, so that sizes that divide each other lie in servers.
    static void Place(StagedSharding* staged)
    {
        std::vector<std::size_t> order(staged->stages.size());
        std::iota(order.begin(), order.end(), std::size_t{0});
        const auto sizeOf = [&](std::size_t s) {
            return staged->stages[s].sharding.settings.devices.count;
        };
        std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
            return sizeOf(a) > sizeOf(b);
        });
        uint32_t rank = 0;
        for (const std::size_t s : order)
        {
            staged->stages[s].firstRank = rank;
            rank += sizeOf(s);
        }
    }

    const Graph& m_graph;
    const StagedSettings& m_settings;
    const SliceKernels& m_kernels;
    const std::function<std::shared_ptr<CommunicationTimes>(uint32_t devices)>& m_times;
    std::vector<Unit> m_units;
    std::map<uint32_t, std::shared_ptr<CommunicationTimes>> m_timesOf; ///< by devices
    std::map<std::string, std::unique_ptr<StageOptions>> m_options;
};

} // namespace

std::optional<StagedSharding>
FindStagedSharding(
    const Graph& graph,
    const StagedSettings& settings,
    const SliceKernels& kernels,
    const std::function<std::shared_ptr<CommunicationTimes>(uint32_t devices)>& times,
    std::string* why)
{
    return StagedSearcher(graph, settings, kernels, times).Run(why);
}

} // namespace sharding
