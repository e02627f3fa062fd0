/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * How DeepSpeed divides the layers of a pipeline by weights (partition_balanced of
 * deepspeed/runtime/utils.py), for its partition_method `parameters`, where a layer weighs its
 * parameters, and `type:REGEX`, where it weighs 1 if its class has such a name and else nothing.
 * There are two versions; the first was replaced in October 2023 (microsoft/DeepSpeed#4312, whose
 * example is five equal layers on four stages: 2, 2, 1 and none).
 *
 *     78 blocks, 12 stages    even    7 7 7 7 7 7 6 6 6 6 6 6
 *                             front   7 7 7 7 7 7 7 7 7 7 7 1    as BLOOM's engineers found it
 *
 * Both are written anew from what they do: the first from its commit 029615a, the second from the
 * version before, as microsoft/DeepSpeed@581e44d has it.
 */
#ifndef SCENARIOS_TRAINING_PIPELINE_DEEPSPEED_PARTITION_H
#define SCENARIOS_TRAINING_PIPELINE_DEEPSPEED_PARTITION_H

#include <cstdint>
#include <vector>

namespace training
{

/// Layers of each piece, at least one. From the first piece on, the best pieces of all beginnings
/// are those whose heaviest weighs least above their lightest; of equals the one whose last piece
/// begins latest. A beginning is extended by what was best for it alone, so it is not always the
/// best of all. Takes layers^2 x pieces / 2.
/// \pre 1 <= pieces <= weights.size(), weights not negative
std::vector<uint32_t> EvenPartition(const std::vector<double>& weights, uint32_t pieces);

/// The number of layers of each piece, 0 if no layers were left for it. Every piece takes as many
/// layers as weigh no more than the heaviest piece of the division whose heaviest is lightest.
/// \pre as EvenPartition
std::vector<uint32_t> FrontPartition(const std::vector<double>& weights, uint32_t pieces);

} // namespace training

#endif // SCENARIOS_TRAINING_PIPELINE_DEEPSPEED_PARTITION_H
