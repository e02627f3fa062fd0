/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "scenarios/training/pipeline/pipedream-partition.h"

#include <algorithm>
#include <limits>

namespace training
{

namespace
{

/// Sums of the layers before each, and T.
class Costs
{
  public:
    Costs(const std::vector<PartitionLayer>& layers, bool hide)
        : m_layers(layers),
          m_hide(hide),
          m_seconds(layers.size() + 1, 0),
          m_parameters(layers.size() + 1, 0)
    {
        for (size_t i = 0; i < layers.size(); ++i)
        {
            m_seconds[i + 1] = m_seconds[i] + layers[i].seconds;
            m_parameters[i + 1] = m_parameters[i] + layers[i].parameterBytes;
        }
    }

    double Seconds(size_t first, size_t last) const
    {
        return m_seconds[last + 1] - m_seconds[first];
    }

    /// \param one what one machine takes for these layers
    double Stage(double one, size_t first, size_t last, uint32_t machines, double rate) const
    {
        const double m = machines;
        const double bytes = m_parameters[last + 1] - m_parameters[first];
        const double sync = 4 * (m - 1) / m * bytes / rate;
        return (m_hide ? std::max(one, sync) : one + sync) / m;
    }

    double Transfer(size_t after, double rate) const
    {
        return 2 * m_layers[after].activationBytes / rate;
    }

  private:
    const std::vector<PartitionLayer>& m_layers;
    bool m_hide;
    std::vector<double> m_seconds;
    std::vector<double> m_parameters;
};

/// The best for layers i ... j on m machines of a level.
struct Best
{
    double seconds = 0;
    int32_t cut = -1;      ///< the last layer before the last stage; -1: one stage
    uint32_t machines = 0; ///< machines of the last stage
};

/// The programme of one level, for all stages that begin with a layer of [0, firsts).
class Level
{
  public:
    Level(const Costs& costs,
          const PartitionLevel& level,
          const Level* inner,
          size_t layers,
          size_t firsts)
        : m_costs(costs),
          m_level(level),
          m_inner(inner),
          m_layers(layers)
    {
        for (size_t first = 0; first < firsts; ++first)
        {
            m_best.emplace_back((layers - first) * level.machines);
            Solve(first);
        }
    }

    const Best& At(size_t first, size_t last, uint32_t machines) const
    {
        return m_best[first][(last - first) * m_level.machines + machines - 1];
    }

    /// The time of one machine of this level, which is all machines of the level inside.
    double One(size_t first, size_t last) const
    {
        return m_inner == nullptr ? m_costs.Seconds(first, last)
                                  : m_inner->At(first, last, m_inner->m_level.machines).seconds;
    }

    /// The stages of layers first ... last on so many machines, each `times` times.
    void Stages(size_t first,
                size_t last,
                uint32_t machines,
                uint32_t times,
                std::vector<PipeDreamStage>* stages) const
    {
        const Best& best = At(first, last, machines);
        size_t begin = first;
        if (best.cut >= 0)
        {
            Stages(first, best.cut, machines - best.machines, times, stages);
            begin = best.cut + 1;
        }
        if (m_inner == nullptr)
        {
            stages->push_back(
                {static_cast<uint32_t>(begin), static_cast<uint32_t>(last), times * best.machines});
            return;
        }
        m_inner->Stages(begin, last, m_inner->m_level.machines, times * best.machines, stages);
    }

  private:
    void Solve(size_t first)
    {
        // Sums of doubles: a partition is better only if it is by more than they are off.
        constexpr double kBetter = 1 - 1e-12;
        const double rate = m_level.bytesPerSecond;
        // Nothing of the last stage depends on how many machines are before it.
        for (size_t last = first; last < m_layers; ++last)
        {
            for (uint32_t m = 1; m <= m_level.machines; ++m)
            {
                Best best{m_costs.Stage(One(first, last), first, last, m, rate), -1, m};
                for (size_t cut = first; cut < last; ++cut)
                {
                    const double transfer = m_costs.Transfer(cut, rate);
                    if (transfer >= best.seconds * kBetter)
                    {
                        continue;
                    }
                    const double one = One(cut + 1, last);
                    for (uint32_t n = 1; n < m; ++n)
                    {
                        const double seconds =
                            std::max({At(first, cut, m - n).seconds,
                                      transfer,
                                      m_costs.Stage(one, cut + 1, last, n, rate)});
                        if (seconds < best.seconds * kBetter)
                        {
                            best = {seconds, static_cast<int32_t>(cut), n};
                        }
                    }
                }
                m_best[first][(last - first) * m_level.machines + m - 1] = best;
            }
        }
    }

    const Costs& m_costs;
    PartitionLevel m_level;
    const Level* m_inner; ///< nullptr: a machine is one
    size_t m_layers;
    std::vector<std::vector<Best>> m_best; ///< by first layer; then last layer and machines
};

} // namespace

std::string
PipeDreamPartition::Text() const
{
    std::string text;
    for (const PipeDreamStage& stage : stages)
    {
        text += (text.empty() ? "" : "-") + std::to_string(stage.replicas);
    }
    return text;
}

double
PipeDreamSteps(std::size_t layers, const std::vector<PartitionLevel>& levels)
{
    const auto n = static_cast<double>(layers);
    double steps = 0;
    for (const PartitionLevel& level : levels)
    {
        const bool outermost = &level == &levels.back();
        const double pairs = static_cast<double>(level.machines) * level.machines / 2;
        steps += pairs * (outermost ? n * n / 2 : n * n * n / 6);
    }
    return steps;
}

double
CutSteps(std::size_t layers, std::size_t stages)
{
    const auto n = static_cast<double>(layers);
    return n * n / 2 * static_cast<double>(stages);
}

PipeDreamPartition
PartitionPipeDream(const std::vector<PartitionLayer>& layers, const PipeDreamOptions& options)
{
    const Costs costs(layers, options.hideSynchronization);
    std::vector<Level> levels;
    levels.reserve(options.levels.size()); // a level has the address of the one inside
    for (const PartitionLevel& level : options.levels)
    {
        const bool outermost = levels.size() + 1 == options.levels.size();
        levels.emplace_back(costs,
                            level,
                            levels.empty() ? nullptr : &levels.back(),
                            layers.size(),
                            outermost ? 1 : layers.size());
    }
    const uint32_t machines = options.levels.back().machines;
    PipeDreamPartition partition;
    partition.seconds = levels.back().At(0, layers.size() - 1, machines).seconds;
    levels.back().Stages(0, layers.size() - 1, machines, 1, &partition.stages);
    return partition;
}

std::vector<PipeDreamStage>
CutForReplicas(const std::vector<PartitionLayer>& layers,
               const std::vector<uint32_t>& replicas,
               double bytesPerSecond,
               bool hideSynchronization)
{
    const Costs costs(layers, hideSynchronization);
    const std::size_t count = layers.size();
    constexpr double kNone = std::numeric_limits<double>::infinity();
    // For the first stages and layers [0, end): the slowest time, and the begin of the last stage.
    std::vector<std::vector<double>> best(replicas.size() + 1,
                                          std::vector<double>(count + 1, kNone));
    std::vector<std::vector<uint32_t>> begin(replicas.size() + 1,
                                             std::vector<uint32_t>(count + 1, 0));
    best[0][0] = 0;
    for (std::size_t s = 0; s < replicas.size(); ++s)
    {
        for (std::size_t end = s + 1; end <= count; ++end)
        {
            for (std::size_t first = s; first < end; ++first)
            {
                if (best[s][first] == kNone)
                {
                    continue;
                }
                const double transfer = first > 0 ? costs.Transfer(first - 1, bytesPerSecond) : 0;
                const double stage = costs.Stage(costs.Seconds(first, end - 1),
                                                 first,
                                                 end - 1,
                                                 replicas[s],
                                                 bytesPerSecond);
                const double slowest = std::max({best[s][first], transfer, stage});
                // Sums of doubles: better only if it is by more than they are off.
                if (slowest < best[s + 1][end] * (1 - 1e-12) || best[s + 1][end] == kNone)
                {
                    best[s + 1][end] = slowest;
                    begin[s + 1][end] = static_cast<uint32_t>(first);
                }
            }
        }
    }
    std::vector<PipeDreamStage> stages(replicas.size());
    auto end = static_cast<uint32_t>(count);
    for (std::size_t s = replicas.size(); s-- > 0;)
    {
        const uint32_t first = begin[s + 1][end];
        stages[s] = {first, end - 1, replicas[s]};
        end = first;
    }
    return stages;
}

std::vector<uint32_t>
NarrowGroups(const std::vector<PartitionLayer>& layers)
{
    std::vector<uint32_t> groups;
    double narrowest = std::numeric_limits<double>::infinity();
    uint32_t open = 0; // layers of the group that is not closed
    for (std::size_t i = 0; i < layers.size(); ++i)
    {
        ++open;
        const bool computes = layers[i].seconds + layers[i].parameterBytes > 0;
        if ((computes && layers[i].activationBytes < narrowest) || i + 1 == layers.size())
        {
            narrowest = layers[i].activationBytes;
            groups.push_back(open);
            open = 0;
        }
    }
    return groups;
}

double
PipeDreamSeconds(const std::vector<PartitionLayer>& layers,
                 const std::vector<PipeDreamStage>& stages,
                 double bytesPerSecond,
                 bool hideSynchronization)
{
    const Costs costs(layers, hideSynchronization);
    double seconds = 0;
    for (const PipeDreamStage& stage : stages)
    {
        seconds = std::max(seconds,
                           costs.Stage(costs.Seconds(stage.first, stage.last),
                                       stage.first,
                                       stage.last,
                                       stage.replicas,
                                       bytesPerSecond));
        if (stage.last + 1 < layers.size())
        {
            seconds = std::max(seconds, costs.Transfer(stage.last, bytesPerSecond));
        }
    }
    return seconds;
}

} // namespace training
