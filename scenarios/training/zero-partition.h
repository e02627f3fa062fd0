/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * How ZeRO divides psi parameters among the ranks of data parallelism.
 */
#ifndef SCENARIOS_TRAINING_ZERO_PARTITION_H
#define SCENARIOS_TRAINING_ZERO_PARTITION_H

#include "scenarios/training/rank-layers.h"
#include "scenarios/training/spec/plan-options.h"

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

/// Elements of a layer in tensors that stage 3 does not share out (persistElements).
uint64_t PersistentElements(const TrainingOptions& options, const RankLayer& layer);

/// Bytes of one all-gather of stage 3, padding included. They are elements of the datatype, or 8
/// bits and the scales of a rank's share, as DeepSpeed quantizes it (CUDAQuantizer of
/// deepspeed/runtime/zero/partition_parameters.py: 8 bits, a 32-bit scale for some 8,000 of them).
/// \param sharers ranks that hold a share of the elements each
/// \param ranks ranks that gather; their number divides the sharers
uint64_t GatheredBytes(const TrainingOptions& options,
                       uint64_t elements,
                       uint32_t sharers,
                       uint32_t ranks);

/// Elements of a rank's share in 4 bits, with their scales.
uint64_t FourBitBytes(uint64_t elements);

/// Elements in all, without experts'.
uint64_t ParametersOf(const std::vector<RankLayer>& layers);

} // namespace training

#endif // SCENARIOS_TRAINING_ZERO_PARTITION_H
