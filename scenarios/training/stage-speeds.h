/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Stages of a pipeline on unequal GPUs, sized by the speed of each stage's slowest GPU. With equal
 * GPUs they are those of --partition=balanced.
 */
#ifndef SCENARIOS_TRAINING_STAGE_SPEEDS_H
#define SCENARIOS_TRAINING_STAGE_SPEEDS_H

#include "scenarios/training/spec/plan-options.h"

#include <cstdint>
#include <string>
#include <vector>

namespace training
{

/// Forward and backward of each layer on the slowest GPU of each stage, s: [stage][layer].
std::vector<std::vector<double>> SecondsByStage(const TrainingOptions& options);

/// Layers of each piece; a cut is anywhere between two layers. \param options resolved, with kinds
std::vector<uint32_t> LayersBySpeed(const TrainingOptions& options);

/// Blocks of each piece, as --pipeline-layout has them: embedding, head and loss stay with the
/// first and the last block. Empty: there are fewer blocks than pieces. \param options resolved
std::vector<uint32_t> BlocksBySpeed(const TrainingOptions& options);

/// "11-21", for --pipeline-layout.
std::string BlocksText(const std::vector<uint32_t>& blocks);

} // namespace training

#endif // SCENARIOS_TRAINING_STAGE_SPEEDS_H
