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
#include "scenarios/training/kernel-time.h"
#include "scenarios/training/layout.h"

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

/// How attention gets at the keys and values of a sequence that is shared out.
enum class ContextExchange : uint8_t
{
    kRing,      ///< they go round while attention computes (Liu et al. 2023, ring attention)
    kAllGather, ///< they are gathered before it (Llama 3, arXiv 2407.21783, section 3.3.2)
    kUlysses,   ///< tokens are swapped for heads before and after it (Jacobs et al. 2023)
};

/// "ring", "all-gather", "ulysses".
std::string ContextExchangeName(ContextExchange exchange);
std::optional<ContextExchange> ParseContextExchange(std::string_view text);

/// What of the activations is computed again in backward instead of being kept.
enum class Recompute : uint8_t
{
    kNone,
    kSelective, ///< the core of attention (Korthikanti et al. 2022, section 5)
    kFull,      ///< every layer, from its input
};

/// "none", "selective", "full".
std::string RecomputeName(Recompute recompute);
std::optional<Recompute> ParseRecompute(std::string_view text);

/// What lives in the server's memory instead of the GPU's (host-work.h).
enum class Offload : uint8_t
{
    kNone,
    kOptimizer, ///< its states; the CPU updates (ZeRO-Offload, arXiv 2101.06840)
    kAll,       ///< the parameters too
};

/// "none", "optimizer", "all".
std::string OffloadName(Offload offload);
std::optional<Offload> ParseOffload(std::string_view text);

/// A GPU's server. Rates are of --offload.
struct HostSpec
{
    double linkRate = 0;   ///< bytes/s of a GPU over PCIe, each way
    double memoryRate = 0; ///< bytes/s of the server's memory, shared by its GPUs
    uint32_t gpus = 1;     ///< of a server
};

/// Fields that are std::optional take the implementation's default (ResolvedOptions()).
struct TrainingOptions
{
    ModelSpec model;
    GpuSpec gpu;
    uint32_t ranks = 1; ///< in all: tensor x context x data x pipeline
    uint32_t tensor = 1;
    uint32_t context = 1;
    ContextExchange contextExchange = ContextExchange::kRing;
    uint32_t expert = 1; ///< divides data x context
    uint32_t pipeline = 1;
    DimensionOrder rankOrder = Layout{}.order;
    /// Norms, dropout and residuals on a share of the tokens; reduce-scatter and all-gather instead
    /// of tensor parallelism's all-reduces (Korthikanti et al. 2022, section 4.2).
    bool sequenceParallel = false;
    /// What a tensor group exchanges behind a backward runs beside the gradients of the weights at
    /// its entry.
    bool tensorOverlap = true;
    /// With sequenceParallel: the gathers and reduce-scatters at a part's ends in pieces, beside
    /// the products there (Megatron-LM's tp_comm_overlap, which asks for sequence_parallel).
    bool piecewiseOverlap = false;
    /// Gradients of micro-batches are added up by the products that make them.
    bool fusedAccumulation = false;
    std::string schedule = "1f1b"; ///< of pipeline::Schedules
    uint32_t virtualStages = 1;    ///< chunks of layers a stage
    uint32_t layers = 0; ///< blocks to simulate, of which the step is extrapolated; 0: all
    uint32_t zero = 0;   ///< 0..3
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
    Recompute recompute = Recompute::kNone;
    Offload offload = Offload::kNone;
    HostSpec host;
    Optimizer optimizer = Optimizer::kAdam;
    double loaderRate = 0; ///< samples/s that a server's input pipeline makes; 0: they are there
    double capacityFactor = 0; ///< of experts (expert-load.h); 0: they take all tokens
    double moeSkew = 0;
    uint64_t seed = 1;           ///< of the skew
    uint32_t expertPosition = 0; ///< whose layers are asked for, in an expert group
    bool fusedAttention = false; ///< FlashAttention
    uint32_t collectiveSms = 0;  ///< multiprocessors that a collective takes from computing
    bool ignoreMemory = false;   ///< run what would not fit a GPU
    std::optional<Profile> profile;

    /// Of the model that a pipeline is cut into.
    uint64_t Pieces() const
    {
        return static_cast<uint64_t>(pipeline) * virtualStages;
    }

    /// Ranks that hold the same parameters, but for experts'.
    uint32_t Replicas() const
    {
        return ranks / (tensor * pipeline);
    }

    uint32_t Data() const
    {
        return Replicas() / context;
    }

    /// Ranks that hold the same experts.
    uint32_t ExpertReplicas() const
    {
        return Replicas() / expert;
    }

    Layout GetLayout() const
    {
        return {tensor, context, expert, Data(), pipeline, rankOrder};
    }

    /// Samples of a step, of all ranks.
    uint64_t GlobalBatch() const
    {
        return static_cast<uint64_t>(Data()) * microBatch * accumulation;
    }

    uint32_t Sequence() const ///< of a sample, 1 for models that have none
    {
        return model.hasSequence ? sequence : 1;
    }
};

/// The same with every optional field filled in (profile aside).
TrainingOptions ResolvedOptions(TrainingOptions options);

} // namespace training

#endif // SCENARIOS_TRAINING_PLAN_OPTIONS_H
