/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef SCENARIOS_TRAINING_MEMORY_ESTIMATE_H
#define SCENARIOS_TRAINING_MEMORY_ESTIMATE_H

#include "scenarios/training/spec/plan-options.h"

#include <array>
#include <cstdint>

namespace training
{

/// Where a GPU's memory goes (estimate), bytes.
struct MemoryEstimate
{
    uint64_t parameters = 0;
    uint64_t gradients = 0;
    uint64_t optimizer = 0;
    uint64_t activations = 0;
    uint64_t buffers = 0; ///< gradient buckets and gathered parameters in flight
    uint64_t host = 0;    ///< offloaded, in the server's memory: not in the total
    /// By Placed, in a tier beyond the GPU: not in the total.
    std::array<uint64_t, kPlaced> placed{};

    uint64_t Total() const
    {
        return parameters + gradients + optimizer + activations + buffers;
    }
};

/// The memory of a GPU of one stage of the pipeline.
MemoryEstimate EstimateStageMemory(const TrainingOptions& options, uint32_t stage);

/// The memory of a GPU of the stage that needs most.
MemoryEstimate EstimateMemory(const TrainingOptions& options);

/// Parameters, gradients and Adam's states of psi parameters over n GPUs: 2 psi + 2 psi + 12 psi,
/// of which stage 1 divides the last by n, stage 2 the last two, stage 3 all (ZeRO, section 3 and
/// figure 1). With 32-bit training 4 + 4 + 8. Bytes.
double ModelStateBytes(double parameters,
                       uint32_t ranks,
                       const Sharding& sharding,
                       Dtype dtype = Dtype::kBf16);

} // namespace training

#endif // SCENARIOS_TRAINING_MEMORY_ESTIMATE_H
