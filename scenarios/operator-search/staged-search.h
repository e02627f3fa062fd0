/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Stages of a pipeline with a sharding each (--pp=auto): FindStages() over the sharding search.
 * A stage's seconds are those of one more micro-batch of its step graph, and its share of what
 * comes once a step (gradients' reductions, the optimizer). Messages between stages are not in
 * them.
 *
 * A stage has a power of two of a server's devices, or whole servers. The largest stages have the
 * first ranks, so that none begins inside of another's server.
 */
#ifndef SCENARIOS_OPERATOR_SEARCH_STAGED_SEARCH_H
#define SCENARIOS_OPERATOR_SEARCH_STAGED_SEARCH_H

#include "scenarios/operator-search/sharding-search.h"
#include "scenarios/operator-search/stage-graph.h"
#include "scenarios/operator-search/stage-search.h"

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace sharding
{

struct StagedSettings
{
    uint32_t devices = 1;
    uint32_t serverDevices = 1;
    uint32_t passes = 1; ///< micro-batches of a step
    double memory = 0;   ///< bytes of a device; 0: no limit
};

struct ShardedStage
{
    StageGraph stage;
    Sharding sharding;      ///< of stage.graph
    uint32_t firstRank = 0; ///< its devices are ranks in a row
    double seconds = 0;     ///< of a micro-batch
};

struct StagedSharding
{
    std::vector<ShardedStage> stages;
    std::vector<Unit> units;
    double seconds = 0; ///< of a step, by the search
};

/// 1, 2, 4, .. of a server's devices, then whole servers, up to all.
std::vector<uint32_t> MeshesOf(uint32_t devices, uint32_t serverDevices);

/// \param times of groups on the first so many devices
std::optional<StagedSharding> FindStagedSharding(
    const Graph& graph,
    const StagedSettings& settings,
    const SliceKernels& kernels,
    const std::function<std::shared_ptr<CommunicationTimes>(uint32_t devices)>& times,
    std::string* why);

} // namespace sharding

#endif // SCENARIOS_OPERATOR_SEARCH_STAGED_SEARCH_H
