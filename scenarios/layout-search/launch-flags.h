/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * A plan as other programs are started with it. What a framework cannot be told, or refuses, is a
 * note: an option of dltrain that changes the step is in the flags or in a note.
 *
 * Options that describe the job or the network (model, GPU, jitter, skew of experts) are neither.
 * Collectives are NCCL's.
 */
#ifndef SCENARIOS_LAYOUT_SEARCH_LAUNCH_FLAGS_H
#define SCENARIOS_LAYOUT_SEARCH_LAUNCH_FLAGS_H

#include "scenarios/layout-search/layout-space.h"

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace planner
{

/// Arguments of Megatron-LM's pretrain scripts (megatron/training/arguments.py), a word or a pair
/// each. The model's shape is not among them, nor data and tokenizer.
struct MegatronLaunch
{
    std::vector<std::string> flags;
    std::vector<std::string> notes; ///< "Megatron-LM has no flag for --loader=200"
};

/// \param options resolved \param given options as typed; null: none is known to be
MegatronLaunch LaunchOfMegatron(const training::TrainingOptions& options,
                                const scenario::Values* given = nullptr);

/// The flags alone.
std::vector<std::string> MegatronFlags(const training::TrainingOptions& options,
                                       const scenario::Values* given = nullptr);

/// DeepSpeed's configuration. Its tensor, pipeline and expert parallelism are the script's.
struct DeepSpeedLaunch
{
    nlohmann::ordered_json config;
    std::vector<std::string> notes;
};

DeepSpeedLaunch LaunchOfDeepSpeed(const training::TrainingOptions& options,
                                  const scenario::Values* given = nullptr);

/// The configuration alone.
nlohmann::ordered_json DeepSpeedConfig(const training::TrainingOptions& options,
                                       const scenario::Values* given = nullptr);

/// NCCL's variables of the collectives that are given, and what it has none for.
std::vector<std::string> NcclNotes(const scenario::Values& given);

/// "torchrun --nnodes=32 --nproc-per-node=8 ..."
std::string TorchrunLine(const scenario::TrainingScenario& cluster);

} // namespace planner

#endif // SCENARIOS_LAYOUT_SEARCH_LAUNCH_FLAGS_H
