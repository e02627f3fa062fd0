/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * What is trained and how: what all passes (training-plan.h) are given.
 */
#ifndef SCENARIOS_TRAINING_PLAN_OPTIONS_H
#define SCENARIOS_TRAINING_PLAN_OPTIONS_H

#include "scenarios/models/gpu-zoo.h"
#include "scenarios/models/model-zoo.h"
#include "scenarios/training/compute-model.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace training
{

enum class ZeroImpl : uint8_t
{
    kPaper,     ///< reduce-scatter and all-gather, overlapped
    kDeepSpeed, ///< as DeepSpeed does it by default
};

/// "paper", "deepspeed".
std::string ZeroImplName(ZeroImpl impl);
std::optional<ZeroImpl> ParseZeroImpl(std::string_view text);

/// Fields that are std::optional take the implementation's default (ResolvedOptions()).
struct TrainingOptions
{
    ModelSpec model;
    GpuSpec gpu;
    uint32_t ranks = 1;
    uint32_t zero = 0; ///< 0..3
    ZeroImpl zeroImpl = ZeroImpl::kPaper;
    uint32_t microBatch = 4;   ///< samples of a rank in one forward and backward
    uint32_t accumulation = 1; ///< micro-batches a step
    uint32_t sequence = 2048;  ///< ignored by models of images
    Dtype dtype = Dtype::kBf16;
    /// Of gradients. Paper: 25 MiB (PyTorch DDP's too); DeepSpeed: 5e8 elements.
    std::optional<uint64_t> bucketBytes;
    /// Stages 1, 2: largest all-gather after the optimizer. 5e8 elements.
    std::optional<uint64_t> gatherBytes;
    /// Stage 3: parameters gathered ahead beyond the next layer. Paper: 0; DeepSpeed: 5e7 elements.
    std::optional<uint64_t> prefetchBytes;
    /// Stage 3: layers used again within so many elements stay. Paper: 0; DeepSpeed: 1e9.
    std::optional<uint64_t> reuseElements;
    /// Communication beside computation. Paper: yes; DeepSpeed: at stage 3 only.
    std::optional<bool> overlap;
    /// Activation checkpointing of every block: forward again before each backward.
    bool recompute = false;
    bool fusedAttention = false; ///< FlashAttention
    std::optional<Profile> profile;
};

/// The same with every optional field filled in (profile aside).
TrainingOptions ResolvedOptions(TrainingOptions options);

} // namespace training

#endif // SCENARIOS_TRAINING_PLAN_OPTIONS_H
