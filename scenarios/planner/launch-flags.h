/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * A plan as other programs are started with it.
 */
#ifndef SCENARIOS_PLANNER_LAUNCH_FLAGS_H
#define SCENARIOS_PLANNER_LAUNCH_FLAGS_H

#include "scenarios/planner/layout-space.h"

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace planner
{

/// Arguments of Megatron-LM's pretrain scripts (megatron/training/arguments.py), a word or a pair
/// each. The model's shape is not among them, nor data and tokenizer.
std::vector<std::string> MegatronFlags(const training::TrainingOptions& options);

/// DeepSpeed's configuration. Its tensor and pipeline parallelism are the script's.
nlohmann::ordered_json DeepSpeedConfig(const training::TrainingOptions& options);

/// "torchrun --nnodes=32 --nproc-per-node=8 ..."
std::string TorchrunLine(const scenario::TrainingScenario& cluster);

} // namespace planner

#endif // SCENARIOS_PLANNER_LAUNCH_FLAGS_H
