/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * How the layers of a model become the pieces of a pipeline (p stages times v virtual stages):
 * consecutive layers, at least one a piece, given as the number of layers of each piece. By
 * measured costs: pipedream-partition.h.
 */
#ifndef SCENARIOS_TRAINING_PIPELINE_PARTITION_H
#define SCENARIOS_TRAINING_PIPELINE_PARTITION_H

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace training
{

/// The partition with the cheapest costliest piece. Among several, the one with the earliest first
/// cut, then the earliest second cut, and so on: early stages of 1F1B hold the activations of most
/// micro-batches. Takes layers x pieces x log layers.
/// \pre 1 <= pieces <= costs.size(), costs not negative
std::vector<uint32_t> BalancedPartition(const std::vector<double>& costs, uint32_t pieces);

/// Megatron-LM's partition: transformer blocks evenly, layers before them on the first piece,
/// layers after them on the last (get_num_layers_to_build of
/// megatron/core/transformer/transformer_block.py).
struct UniformLayers
{
    uint32_t blocks = 0;
    uint32_t before = 0;      ///< layers before the blocks, such as the embedding
    uint32_t after = 0;       ///< behind them: the last norm, the language model's head, the loss
    bool countBefore = false; ///< account_for_embedding_in_pipeline_split: as one block
    bool countAfter = false;  ///< account_for_loss_in_pipeline_split: as one block
};

/// Why blocks cannot be divided so; nothing if they can.
std::optional<std::string> WhyNotUniform(const UniformLayers& layers, uint32_t pieces);

/// \pre !WhyNotUniform(layers, pieces)
std::vector<uint32_t> UniformPartition(const UniformLayers& layers, uint32_t pieces);

} // namespace training

#endif // SCENARIOS_TRAINING_PIPELINE_PARTITION_H
