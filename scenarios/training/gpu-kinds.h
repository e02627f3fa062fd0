/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Ranks on unequal GPUs (--server-kinds). Each rank's kernels take the time of its own GPU; a stage
 * of a pipeline is as fast as the slowest of its ranks, and has the memory of the smallest.
 *
 *     ranks 0 .. 31 on A100, 32 .. 63 on H100, --tp=8 --pp=2      stage 0: A100, stage 1: H100
 *     the same, --tp=8 --pp=1                                     stage 0: both
 */
#ifndef SCENARIOS_TRAINING_GPU_KINDS_H
#define SCENARIOS_TRAINING_GPU_KINDS_H

#include "scenarios/training/memory-estimate.h"
#include "scenarios/training/spec/plan-options.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace training
{

/// Index into TrainingOptions::kinds; 0 if all ranks have the same GPU.
uint32_t KindOfRank(const TrainingOptions& options, coll::Rank rank);

/// The same options with `gpu` of a kind.
TrainingOptions OnKind(TrainingOptions options, uint32_t kind);

/// The kinds of each stage's ranks, ascending. Without kinds: 0.
std::vector<std::vector<uint32_t>> KindsByStage(const TrainingOptions& options);

/// "A100 + H100": names of the GPUs, each once.
std::string GpuNames(const TrainingOptions& options);

/// FLOP/s, mean over the ranks.
double MeanPeak(const TrainingOptions& options);

/// Why a group of tensor parallelism cannot be where it is: all of its ranks wait for the slowest
/// in every layer.
std::optional<std::string> WhyNotTensorGroups(const TrainingOptions& options);

/// The GPU with the least memory left, as a share of its own.
struct FullestGpu
{
    MemoryEstimate memory;
    GpuSpec gpu;
    uint32_t stage = 0;

    bool Fits() const
    {
        return memory.Total() <= gpu.memoryBytes;
    }
};

/// Without kinds: a GPU of the stage that needs most (EstimateMemory).
FullestGpu FullestOf(const TrainingOptions& options);

} // namespace training

#endif // SCENARIOS_TRAINING_GPU_KINDS_H
