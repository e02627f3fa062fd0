/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * A search of shardings from a graph to a step. With the cost in seconds, dynamic programming and
 * the exhaustive search run several times, with more or less of the gradients' reductions hidden by
 * backward. Of their results, and data parallelism, the one is taken whose step graph ends first
 * (StepSeconds), and then a faster one beside it (alternatives.h). Where it does not fit a device's
 * memory, memory gets a price that grows until one does.
 */
#ifndef SCENARIOS_OPERATOR_SEARCH_SHARDING_SEARCH_H
#define SCENARIOS_OPERATOR_SEARCH_SHARDING_SEARCH_H

#include "scenarios/operator-search/elimination.h"
#include "scenarios/operator-search/searches.h"
#include "scenarios/operator-search/sharded-plan.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace sharding
{

enum class Mode : uint8_t
{
    kSemi,        ///< what is not given is cut along the batch
    kPropagation, ///< from what is given
    kProgramming,
    kRecursive,
    kExhaustive,
};

/// "semi", "sharding-propagation", "dynamic-programming", "recursive", "exhaustive".
const char* ModeName(Mode mode);
/// Also MindSpore's "recursive_programming", and all with '_'.
std::optional<Mode> ParseMode(std::string_view text);

struct SearchSettings
{
    Mode mode = Mode::kProgramming;
    bool seconds = true; ///< the cost is simulated seconds, not MindSpore's
    Devices devices;
    Given given;
    uint32_t passes = 1; ///< micro-batches of a step
    double memory = 0;   ///< bytes of a device; 0: no limit
    uint32_t ranked = 0; ///< of the best results so many are kept, to be run (Sharding::ranked)
};

/// A result that was compared with others.
struct Compared
{
    std::string what; ///< "data parallel"
    double step = 0;  ///< seconds
    double memory = 0;
};

struct Sharding;

/// One of the best results, by the step of its graph.
struct Ranked
{
    std::shared_ptr<const Sharding> sharding;
    std::string what;             ///< "dense otherwise"
    std::optional<double> step{}; ///< s, simulated
    std::string why{};            ///< there is none
};

struct ShardedStage;

struct Sharding
{
    Graph graph;
    SearchSettings settings;
    std::vector<Strategy> strategies; ///< by operator
    std::vector<std::size_t> choices; ///< by operator: strategies that there were
    double combinations = 1;
    std::vector<Cost> ofOperator; ///< of the strategies, by operator, folded ones together
    std::vector<Cost> ofEdge;
    Cost total;
    std::string unit;           ///< of the cost: "s" or ""
    double memory = 0;          ///< bytes of a device
    std::optional<double> step; ///< s, by formula
    std::vector<Compared> compared;
    std::vector<Compared> improved; ///< faster steps beside the best of those, one after another
    // In which order strategies were found, by mode.
    std::vector<Elimination> eliminated;
    std::vector<Propagated> propagated;
    std::vector<Halving> halved;
    std::vector<Ranked> ranked; ///< best first, this one too; empty: none were asked for
    /// The stages of a pipeline (--pp=auto). Only graph, settings, step and memory are of all.
    std::vector<std::shared_ptr<const ShardedStage>> stages;
};

/// \return nothing, with the reason, where there is no result: too many combinations, a number of
/// devices that the recursive search cannot halve, or nothing that fits the memory
std::optional<Sharding> FindSharding(const Graph& graph,
                                     const SearchSettings& settings,
                                     const SliceKernels& kernels,
                                     CommunicationTimes& times,
                                     std::string* why);

} // namespace sharding

#endif // SCENARIOS_OPERATOR_SEARCH_SHARDING_SEARCH_H
