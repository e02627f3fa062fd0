/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Layouts on unequal servers: pipeline stages sized by the speed of their GPUs.
 */
#ifndef SCENARIOS_LAYOUT_SEARCH_UNEQUAL_STAGES_H
#define SCENARIOS_LAYOUT_SEARCH_UNEQUAL_STAGES_H

#include "scenarios/layout-search/layout-space.h"
#include "scenarios/training/rank-layers.h"

#include <string>
#include <vector>

namespace planner::unequal
{

/// Whether servers are unequal and nobody has said how layers become stages.
bool AreStagesOpen(const scenario::Values& values);

/// Sets a pipeline's --pipeline-layout by speed, as a setting and in the options. If a stage would
/// have no block, the settings get --partition=balanced.
void SizeStages(Settings* settings, training::TrainingOptions* options);

/// "4xdgx-a100,4xdgx-h100": the cluster's --server-kinds, in its order.
std::string WordsOfKinds(const scenario::ClusterSpec& cluster);

/// Blocks of the pieces of a pipeline, each once that are alike in a row: "2, 30x3, 2".
std::string PiecesText(const training::TrainingOptions& options);

/// Blocks and GPUs of stages in a row that are alike: "2x10 H100, 2x6 A100".
std::string StagesText(const training::TrainingOptions& options);

/// All layers, on the GPU of each kind; experts' are those of the rank that gets most tokens.
std::vector<std::vector<training::RankLayer>> LayersOfKinds(
    const training::TrainingOptions& options);

} // namespace planner::unequal

#endif // SCENARIOS_LAYOUT_SEARCH_UNEQUAL_STAGES_H
