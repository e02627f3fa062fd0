/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * How Megatron-LM is told which layers each stage of a pipeline has. One of three ways:
 *
 *   even      blocks in equal numbers; with virtual stages --num-layers-per-virtual-pipeline-stage
 *   counted   the same where embedding or loss count as blocks
 *             (--account-for-embedding-in-pipeline-split, --account-for-loss-in-pipeline-split)
 *   text      --pipeline-model-parallel-layout, alone: it excludes the other flags
 *
 * Rules: validate_args of megatron/training/arguments.py (NVIDIA/Megatron-LM@000c4ac), "PP layout"
 * in megatron/core/transformer/transformer_config.py (@002526d), validate_layer_layout of
 * megatron/core/transformer/pipeline_parallel_layer_layout.py (@00caa53).
 */
#ifndef SCENARIOS_LAYOUT_SEARCH_MEGATRON_LAYOUT_H
#define SCENARIOS_LAYOUT_SEARCH_MEGATRON_LAYOUT_H

#include "scenarios/training/spec/plan-options.h"

#include <optional>
#include <string>
#include <vector>

namespace planner
{

/// "Ett|t*11|tL": E embedding, t block, m prediction module, L norm, head and loss; nothing: the
/// cut is between layers that Megatron-LM keeps together.
std::optional<std::string> MegatronLayout(const training::TrainingOptions& options);

/// Flags of the pipeline's cut; nothing: as MegatronLayout. \pre a pipeline
std::optional<std::vector<std::string>> MegatronCut(const training::TrainingOptions& options);

} // namespace planner

#endif // SCENARIOS_LAYOUT_SEARCH_MEGATRON_LAYOUT_H
