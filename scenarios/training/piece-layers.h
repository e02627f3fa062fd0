/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Which piece of a pipeline (stages x virtual stages) each layer of a model is in.
 */
#ifndef SCENARIOS_TRAINING_PIECE_LAYERS_H
#define SCENARIOS_TRAINING_PIECE_LAYERS_H

#include "scenarios/training/pipeline/partition.h"
#include "scenarios/training/spec/plan-options.h"

#include <cstdint>
#include <vector>

namespace training
{

/// \return layers of the model that are repeated
uint32_t BlocksOf(const ModelSpec& model);

/// Whether a stage of a pipeline counts the layer as one of its blocks. Blocks are the repeated
/// layers. In models whose first blocks have an MLP where later ones have experts, those first
/// blocks count, too (DeepSeek's configurations count them in num_hidden_layers, and so does
/// Megatron-LM's --num-layers).
bool IsBlock(const ModelSpec& model, const LayerSpec& layer);

/// \return layers for which IsBlock holds
uint32_t StageBlocksOf(const ModelSpec& model);

/// Blocks and the layers around them, for Partition::kUniform with options.countEmbedding or
/// countLoss.
UniformLayers UniformLayersOf(const TrainingOptions& options);

/// The number of layers of pieces that have so many blocks. Layers ahead of the blocks are in the
/// first piece, those behind them in the last, those between two blocks with the earlier one.
/// \param blocks at least one piece; together those of the model
std::vector<uint32_t> LayersOfPieces(const ModelSpec& model, const std::vector<uint32_t>& blocks);

/// The piece of each layer. \param options resolved
std::vector<uint32_t> PiecesOfLayers(const TrainingOptions& options);

} // namespace training

#endif // SCENARIOS_TRAINING_PIECE_LAYERS_H
