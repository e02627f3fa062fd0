/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * A serving engine of some versions: its host's time, and what it does where nobody says otherwise.
 * A preset is a row of a file of engine-presets/, which registers it.
 */
#ifndef SCENARIOS_INFERENCE_ENGINE_PRESET_H
#define SCENARIOS_INFERENCE_ENGINE_PRESET_H

#include "scenarios/inference/kernels-rates.h"
#include "scenarios/models/gpu-zoo.h"
#include "topologies/registered.h"

#include <cstdint>
#include <string>

namespace serving
{

/// What a preset decides of options that are not given.
struct EngineDefaults
{
    std::string scheduler;    ///< name (scheduler.h)
    uint32_t tokenBudget = 0; ///< tokens of an iteration
    uint32_t maxBatch = 0;    ///< requests that run at once
    bool chunkedPrefill = true;
    std::string kvOf; ///< value of --kv-of
};

struct EnginePreset
{
    static constexpr const char* kWhat = "engine presets";

    std::string name;
    int rank;
    std::string description; ///< of --help
    FrameworkProfile host;   ///< its name is the preset's
    /// \param sequence tokens that the model is made for. Null: dlserve's own defaults
    EngineDefaults (*defaults)(const training::GpuSpec& gpu, uint32_t sequence) = nullptr;
    /// What is otherwise on a GPU, in `host`. Null: nothing
    void (*onGpu)(const training::GpuSpec& gpu, FrameworkProfile* host) = nullptr;
};

/// Of servers by HTTP: s, and s for each token of a prompt. Fitted on first tokens of 8,192 and
/// 1,024 tokens, gpt-oss, Llama 70B, MiniMax-M2 and Kimi-K2.5 with vLLM, 40 rows; others assumed as
/// these.
constexpr double kAnswer = 3e-3;
/// Of engines whose iterations are scheduled ahead: first tokens come out one later.
constexpr double kAnswerBehind = 7e-3;
constexpr double kAnswerToken = 10e-6;

using RegisteredEnginePreset = topo::Registered<EnginePreset>;

} // namespace serving

#endif // SCENARIOS_INFERENCE_ENGINE_PRESET_H
