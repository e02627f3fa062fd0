/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * GPU memory beside tensors: what a job needs that MemoryEstimate has not.
 */
#ifndef SCENARIOS_TRAINING_MEMORY_RESERVE_H
#define SCENARIOS_TRAINING_MEMORY_RESERVE_H

#include "scenarios/training/memory-estimate.h"
#include "scenarios/training/spec/plan-options.h"

#include <cstdint>
#include <string>

namespace training
{

/// Shares of a GPU's memory that no tensor has, bytes. They differ by driver, release and model, so
/// they are a margin, not a part of the estimate.
struct MemoryReserve
{
    uint64_t context = 0; ///< CUDA context and libraries
    uint64_t nccl = 0;    ///< buffers of NCCL's communicators
    uint32_t communicators = 0;
    uint64_t fragments = 0; ///< reserved by the caching allocator and not in use

    uint64_t Total() const
    {
        return context + nccl + fragments;
    }
};

/// Context: 0.4 GB of PyTorch with lazy loading (pytorch/pytorch issues 107667 and 109888: 300 to
/// 400 MB). NCCL: 0.688 GB a communicator of more than two GPUs and 0.544 GB of two (NVIDIA/nccl
/// issue 964, A100); all-to-alls add 3.28 GB inside a server of 8 H100 (issue 1685: 4.34 GB instead
/// of 1.06). Fragments: 5% of the estimate, assumed.
/// \param memory of EstimateMemory()
MemoryReserve ReserveOf(const TrainingOptions& options, const MemoryEstimate& memory);

/// Measured peaks over estimated ones: 10th and 90th percentile of jobs of a recipe.
struct MemorySpread
{
    const char* recipe;
    uint32_t jobs;
    double least;
    double most;
};

/// Of a recipe with five measured jobs or more; else of all software ("").
const MemorySpread& SpreadOf(const std::string& recipe);

/// "measured peaks of 46 jobs of nanotron were 0.88 to 1.33 of such estimates"
std::string SpreadText(const std::string& recipe);

enum class MemoryVerdict : uint8_t
{
    kFits,
    kMayNotFit, ///< the margin or the spread of measured peaks has no room
    kDoesNotFit,
};

/// "fits", "may not fit", "does not fit".
const char* MemoryVerdictName(MemoryVerdict verdict);

/// \param room bytes of the GPU
MemoryVerdict VerdictOf(const TrainingOptions& options,
                        const MemoryEstimate& memory,
                        uint64_t room,
                        const std::string& recipe);

/// Whether a job fits its GPU with this margin.
bool FitsWithReserve(const TrainingOptions& options);

} // namespace training

#endif // SCENARIOS_TRAINING_MEMORY_RESERVE_H
