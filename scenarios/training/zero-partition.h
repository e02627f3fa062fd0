/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * How ZeRO divides psi parameters among the ranks of data parallelism.
 */
#ifndef SCENARIOS_TRAINING_ZERO_PARTITION_H
#define SCENARIOS_TRAINING_ZERO_PARTITION_H

#include "scenarios/training/plan-options.h"
#include "scenarios/training/rank-layers.h"

#include <cstdint>
#include <vector>

namespace training
{

/// x rounded up to a multiple of n.
uint64_t RoundUp(uint64_t x, uint64_t n);
/// x rounded down to a multiple of n, but at least n.
uint64_t RoundDownToAtLeast(uint64_t x, uint64_t n);

/// Elements of each layer as stage 3 partitions it: a multiple of the ranks.
std::vector<uint64_t> PartitionedSizes(const std::vector<RankLayer>& layers, uint32_t ranks);

/// psi as collectives carry it, in elements: stage 0 and DeepSpeed's all-reduces as it is; else
/// rounded up to a multiple of the ranks, as a whole (stages 1 and 2) or layer by layer (stage 3),
/// as flattened partitions are.
/// \param layers of the rank \param ranks that share them
uint64_t PaddedParameters(const TrainingOptions& options,
                          const std::vector<RankLayer>& layers,
                          uint32_t ranks);

/// Elements in all, without experts'.
uint64_t ParametersOf(const std::vector<RankLayer>& layers);

} // namespace training

#endif // SCENARIOS_TRAINING_ZERO_PARTITION_H
