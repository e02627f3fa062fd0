/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * What a run of dlserve is, after validation; made by ValidateServing
 * (scenarios/inference/options/serving-options.h), every field resolved.
 */
#ifndef SCENARIOS_JOB_SERVING_SCENARIO_H
#define SCENARIOS_JOB_SERVING_SCENARIO_H

#include "scenarios/inference/kernels-rates.h"
#include "scenarios/inference/quantization.h"
#include "scenarios/inference/serving-spec.h"
#include "scenarios/job/scenario.h"
#include "scenarios/models/gpu-zoo.h"
#include "scenarios/models/model-zoo.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace scenario
{

struct ServingScenario
{
    RunOptions run;
    FabricSpec fabric;
    ClusterSpec cluster; ///< GPUs behind those of the pools are idle
    CollectiveOptions collectives;
    serving::ServingSpec serving;
    training::ModelSpec model;
    /// The model of --speculate, on the GPUs of each engine, with the cuts of its pool.
    std::optional<training::ModelSpec> draft;
    training::GpuSpec gpu;
    training::Dtype dtype = training::Dtype::kBf16; ///< weights and activations
    std::string dtypeName;
    training::Dtype kvDtype = training::Dtype::kBf16;
    double kvElementBytes = 2;
    double kvMemory = 0.9;  ///< share of a GPU's memory for parameters, activations and KV
    serving::KvRoom kvRoom; ///< the same, or as --kv-of says
    std::string engineText; ///< what the preset of --framework has decided, for the plan
    bool kvGiven = false;   ///< --kv-tokens says what there is room for
    serving::Quantization quantization; ///< weights of fewer bits than dtype
    /// Collectives in a server are the engine's (scenarios/inference/engine-collectives.h), not the
    /// library's with a launch each.
    bool engineReduces = false;
    bool engineExchanges = false;
    bool peerAccess = true;              ///< GPUs of a server read each other's memory
    serving::FrameworkProfile framework; ///< whose host time and kernels an iteration has
    double moeSkew = 0;
    /// A network without tokens: a request is a pass of `batch` samples (its `prompt`), and asks
    /// for one output.
    bool plain = false;
    uint32_t batch = 1;
    /// Blocks of a stage, the first ones, whose exchanges between servers are simulated in each
    /// iteration; those of the others take as long as theirs did. 0: all.
    uint32_t packetBlocks = 0;
    /// The largest rate that meets the objectives for this share of requests is searched, from
    /// serving.requests.rate on; nothing: one run.
    std::optional<double> findRate;
    std::vector<double> rates; ///< --sweep-rate: a run each; empty: one run

    /// GPUs of all instances.
    uint32_t UsedGpus() const
    {
        uint32_t last = 0;
        uint32_t gaps = 0;
        for (const serving::PoolSpec& pool : serving.pools)
        {
            gaps += pool.firstGpu - last;
            last = pool.firstGpu + pool.instances * pool.GpusOfInstance();
        }
        return last - gaps;
    }
};

} // namespace scenario

#endif // SCENARIOS_JOB_SERVING_SCENARIO_H
