/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * The step graph of data parallelism with ZeRO stages 0 to 3 (Rajbhandari et al., SC'20). Sizes and
 * order: training-plan.cc.
 */
#ifndef SCENARIOS_TRAINING_TRAINING_PLAN_H
#define SCENARIOS_TRAINING_TRAINING_PLAN_H

#include "scenarios/models/gpu-zoo.h"
#include "scenarios/models/model-zoo.h"
#include "scenarios/training/compute-model.h"
#include "scenarios/training/step-graph.h"

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

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

/// What is trained and how. Fields that are std::optional take the implementation's default
/// (ResolvedOptions()).
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

/// Errors (values out of range, datatype the GPU does not have) and warnings (does not fit the
/// GPU's memory). MakeDataParallelPlan may be called only if none is an error.
std::vector<Problem> Check(const TrainingOptions& options);

/// Group kind 0 is "dp" (gradients; parameters after the optimizer), at stage 3 kind 1 is
/// "dp-parameters": the same ranks in a second communicator, since gathers and reductions run
/// beside each other. Streams: "compute", "gradients", from stage 1 on "parameters".
TrainingPlan MakeDataParallelPlan(const TrainingOptions& options);

/// psi as collectives carry it, in elements: stage 0 and DeepSpeed's all-reduces as it is; else
/// rounded up to a multiple of the ranks, as a whole (stages 1 and 2) or layer by layer (stage 3),
/// as flattened partitions are.
uint64_t PaddedParameters(const TrainingOptions& options);

/// Where a GPU's memory goes (estimate), bytes.
struct MemoryEstimate
{
    uint64_t parameters = 0;
    uint64_t gradients = 0;
    uint64_t optimizer = 0;
    uint64_t activations = 0;
    uint64_t buffers = 0; ///< gradient buckets and gathered parameters in flight

    uint64_t Total() const
    {
        return parameters + gradients + optimizer + activations + buffers;
    }
};

MemoryEstimate EstimateMemory(const TrainingOptions& options);

/// Parameters, gradients and Adam's states of psi parameters over n GPUs: 2 psi + 2 psi + 12 psi,
/// of which stage 1 divides the last by n, stage 2 the last two, stage 3 all (ZeRO, section 3 and
/// figure 1). With 32-bit training 4 + 4 + 8. Bytes.
double ModelStateBytes(double parameters,
                       uint32_t ranks,
                       uint32_t zero,
                       Dtype dtype = Dtype::kBf16);

/// Bytes a rank sends in one step, by collective ("all_reduce", "reduce_scatter", "all_gather",
/// ...), if every algorithm is bandwidth-optimal (ring): all-reduce 2 S (n-1)/n, reduce-scatter and
/// all-gather S (n-1)/n. Broadcast is counted as S (n-1)/n, all-to-all S (n-1)/n, point to point
/// the message. Of role 0.
std::map<std::string, double> BytesMovedPerGpu(const TrainingPlan& plan);

/// Model FLOPs of a step per GPU: 3 x forward of all micro-batches, recomputation not counted.
double StepFlops(const TrainingOptions& options);

} // namespace training

#endif // SCENARIOS_TRAINING_TRAINING_PLAN_H
