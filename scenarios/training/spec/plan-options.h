/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * What is trained and how: what all passes (training-plan.h) are given.
 */
#ifndef SCENARIOS_TRAINING_SPEC_PLAN_OPTIONS_H
#define SCENARIOS_TRAINING_SPEC_PLAN_OPTIONS_H

#include "contrib/rdma/core/units.h"
#include "scenarios/asked/cluster.h"
#include "scenarios/asked/degrees.h"
#include "scenarios/asked/model.h"
#include "scenarios/asked/training.h"
#include "scenarios/models/gpu-zoo.h"
#include "scenarios/models/model-zoo.h"
#include "scenarios/training/spec/kernel-time.h"
#include "scenarios/training/spec/layer-profile.h"
#include "scenarios/training/spec/memory-place.h"
#include "scenarios/training/spec/sharding.h"
#include "scenarios/training/steps/layout.h"
#include "scenarios/training/steps/step-graph.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace training
{

namespace asked = scenario::asked;
using scenario::Member;
using scenario::Spell;

enum class ZeroImpl : uint8_t
{
    kPaper,     ///< reduce-scatter and all-gather, overlapped
    kDeepSpeed, ///< as DeepSpeed does it by default
    kHorovod,   ///< stage 0: buckets of the gradients that a cycle finds
};

/// "paper", "deepspeed", "horovod".
std::string ZeroImplName(ZeroImpl impl);
std::optional<ZeroImpl> ParseZeroImpl(std::string_view text);

/// Compression of the gradients that are sent (stage 0).
enum class Compression : uint8_t
{
    kNone,
    kFp16, ///< for 32-bit gradients
    kTopK, ///< the largest, with their indices
};

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

/// How tokens get to their experts (expert-dispatch.h).
enum class Dispatcher : uint8_t
{
    kAllToAll,
    kDeepEp,
};

/// "alltoall", "deepep".
std::string DispatcherName(Dispatcher dispatcher);
std::optional<Dispatcher> ParseDispatcher(std::string_view text);

/// Data type of tokens between ranks.
enum class TokenType : uint8_t
{
    kAsComputed, ///< that of activations
    kFp8,
    kBf16,
    kFp32,
};

/// "as computed", "fp8", "bf16", "fp32".
std::string TokenTypeName(TokenType type);
std::optional<TokenType> ParseTokenType(std::string_view text);

/// How the layers of a model become the pieces of a pipeline.
enum class Partition : uint8_t
{
    kUniform,   ///< blocks in equal numbers; of models without blocks, layers
    kBalanced,  ///< the piece that computes longest, as short as it can be
    kPipeDream, ///< the same with messages and synchronization (pipeline/pipedream-partition.h)
    // DeepSpeed's (pipeline/deepspeed-partition.h):
    kParameters, ///< by the number of parameters
    kTypes,      ///< by the number of layers whose type is one that a regular expression finds
    kGiven,      ///< blocks of each piece as pieceBlocks says
};

/// "uniform", "balanced", "pipedream", "parameters", "type", "layout".
std::string PartitionName(Partition partition);
/// The one that is called so, with its regular expression for "type:transformer|embedding"; nothing
/// if none is. "type:" has an empty one.
std::optional<std::pair<Partition, std::string>> ParsePartition(std::string_view text);

/// Which activations are computed again in backward instead of being kept.
enum class Recompute : uint8_t
{
    kNone,
    kSelective, ///< the core of attention (Korthikanti et al. 2022, section 5)
    kFull,      ///< every layer, from its input
};

/// "none", "selective", "full".
std::string RecomputeName(Recompute recompute);
std::optional<Recompute> ParseRecompute(std::string_view text);

/// Products of attention whose outputs kFull keeps, as JAX names them.
enum KeptProduct : uint8_t
{
    kKeptQkv = 1, ///< "qkv_proj"
    kKeptOut = 2, ///< "out_proj"
};

/// The set of kernels that a transformer's layers launch.
enum class KernelSet : uint8_t
{
    kFused, ///< kernels of Megatron-LM and NVIDIA's scripts (layer-kernels.h)
    kEager, ///< PyTorch's, operator by operator (eager-kernels.h)
    /// As kFused, with each pass over a causal attention's scores counted (layer-kernels.h).
    kMegatron,
};

/// "fused", "eager", "megatron".
std::string KernelSetName(KernelSet kernels);
std::optional<KernelSet> ParseKernelSet(std::string_view text);

/// The library of fused attention.
enum class AttentionKernel : uint8_t
{
    kVendor, ///< cuDNN's, which Transformer Engine calls
    kFlash2, ///< FlashAttention 2, which PyTorch's scaled_dot_product_attention calls
    kFlash3, ///< FlashAttention 3, of Hopper
    kTriton, ///< Triton's, of 2022 and 2023
};

/// "vendor", "flash2", "flash3", "triton".
std::string AttentionKernelName(AttentionKernel kernel);
std::optional<AttentionKernel> ParseAttentionKernel(std::string_view text);

/// The GPU with that kernel's rates as its rates of attention.
GpuSpec WithAttention(GpuSpec gpu, AttentionKernel kernel);

/// The kernels of norms.
enum class NormKernels : uint8_t
{
    kOfSet, ///< as KernelSet has them
    kTorch, ///< RMSNorm written with PyTorch's operators
};

/// "kernels", "torch".
std::string NormKernelsName(NormKernels norm);
std::optional<NormKernels> ParseNormKernels(std::string_view text);

/// How the loss is computed from the logits.
enum class Loss : uint8_t
{
    kPlain,   ///< PyTorch's cross_entropy on 16 bits, which keeps fp32 probabilities
    kFloat,   ///< of logits made fp32 before: both are kept
    kUnfused, ///< as kFloat, an operator a kernel; the gradient of the fp32 logits stands beside
};

/// "plain", "float", "unfused".
std::string LossName(Loss loss);
std::optional<Loss> ParseLoss(std::string_view text);

/// The state that is in the server's memory instead of the GPU's (host-work.h).
enum class Offload : uint8_t
{
    kNone,
    kOptimizer, ///< its states; the CPU updates (ZeRO-Offload, arXiv 2101.06840)
    kAll,       ///< the parameters too
};

/// "none", "optimizer", "all".
std::string OffloadName(Offload offload);
std::optional<Offload> ParseOffload(std::string_view text);

/// A GPU's server. The rates are for --offload.
struct HostSpec
{
    double linkRate = 0;   ///< bytes/s of a GPU over PCIe, each way
    double memoryRate = 0; ///< bytes/s of the server's memory, shared by its GPUs
    uint32_t gpus = 1;     ///< GPUs of a server
};

/// Ranks in a row with the same GPU.
struct GpuKind
{
    GpuSpec gpu;
    uint32_t ranks = 0;
};

/// How gradients are cut into buckets, where bucketBytes does not say.
enum class Bucketing : uint8_t
{
    kSize,     ///< one size, the implementation's
    kMegatron, ///< 40M elements, 1M a data-parallel rank if that is more
    kBlock,    ///< the gradients of a block
};

std::optional<Bucketing> ParseBucketing(std::string_view text);

/// "fifo", "lifo", "priority".
std::string CollectiveOrderName(CollectiveOrder order);
std::optional<CollectiveOrder> ParseCollectiveOrder(std::string_view text);

struct TrainingOptions;
/// As one types them, without "--": "collective-order=priority". \return those that are not usual
std::vector<std::string> OrderTyped(const TrainingOptions& options);

/// Fields that are std::optional take the implementation's default (ResolvedOptions()).
struct TrainingOptions
{
    ModelSpec model;
    GpuSpec gpu;
    std::string recipe; ///< --recipe, whose software it is; empty: none is named
    /// GPUs that are not all as `gpu`, in the order of ranks (gpu-kinds.h); empty: they are.
    std::vector<GpuKind> kinds;
    uint32_t ranks = 1; ///< in all: tensor x context x data x pipeline
    uint32_t tensor = 1;
    uint32_t context = 1;
    ContextExchange contextExchange = ContextExchange::kRing;
    uint32_t expert = 1;        ///< times ExpertTensor() it divides tensor x data x context
    uint32_t expertTensor = 0;  ///< ranks that share every expert; 0: as tensor
    bool expertOverlap = false; ///< paired-actions.h
    Dispatcher dispatcher = Dispatcher::kAllToAll;
    uint32_t nodeLimit = 0; ///< servers that have a token's experts, at most; 0: all
    TokenType dispatchType = TokenType::kAsComputed;
    TokenType combineType = TokenType::kAsComputed;
    uint32_t pipeline = 1;
    DimensionOrder rankOrder = Layout{}.order;
    /// Norms, dropout and residuals on a share of the tokens; reduce-scatter and all-gather instead
    /// of tensor parallelism's all-reduces (Korthikanti et al. 2022, section 4.2).
    bool sequenceParallel = false;
    /// A tensor group's exchange after a backward runs beside the weight gradients at its entry.
    bool tensorOverlap = true;
    /// With sequenceParallel: the gathers and reduce-scatters at a part's ends in pieces, beside
    /// the products there (Megatron-LM's tp_comm_overlap, which asks for sequence_parallel).
    bool piecewiseOverlap = false;
    /// Gradients of micro-batches are added up by the products that make them.
    bool fusedAccumulation = false;
    std::string schedule = "1f1b"; ///< name of a schedule in pipeline::Schedules
    uint32_t virtualStages = 1;    ///< chunks of layers a stage
    Partition partition = Partition::kUniform;
    std::string partitionTypes;        ///< kTypes: the regular expression
    std::vector<uint32_t> pieceBlocks; ///< kGiven (pipeline/layout-text.h)
    /// kUniform: what stands before the blocks counts as one of them, and what stands behind them
    /// (account_for_embedding_in_pipeline_split and account_for_loss_in_pipeline_split of
    /// Megatron-LM).
    bool countEmbedding = false;
    bool countLoss = false;
    /// kParameters, kTypes: FrontPartition, not EvenPartition (pipeline/deepspeed-partition.h).
    bool partitionFront = false;
    /// For kPipeDream: machines and their links, as the partitioner counts them.
    std::vector<PartitionLevel> links;
    /// Computing waits after an action until its message has arrived at the other stage
    /// (_communicate of NVIDIA/Megatron-LM@178beeb megatron/p2p_communication.py, which waits for
    /// its sends and for the device; send of microsoft/DeepSpeed@077e674
    /// deepspeed/runtime/pipe/p2p.py).
    bool awaitedSends = false;
    /// And what stages exchange goes as in DeepSpeed's pipelines (model-parallel.cc): one message
    /// after another, shares put together by copies, a stage's output gathered again for backward.
    bool deepSpeedSends = false;
    /// Layers of each piece of the pipeline, in the order of the model; empty: as kUniform.
    std::vector<uint32_t> pieceLayers;
    /// Replicas of each stage, if stages differ (PipeDream's "2-1-1"): micro-batch m runs on
    /// replica m mod R. `accumulation` counts the micro-batches of all replicas together. Empty:
    /// Data() each.
    std::vector<uint32_t> replicas;
    /// For schedules without a flush: a micro-batch takes weights of one version on all stages.
    bool verticalSync = false;
    uint32_t layers = 0; ///< blocks to simulate; the step is extrapolated from them; 0: all
    Sharding sharding;
    ZeroImpl zeroImpl = ZeroImpl::kPaper;
    uint32_t microBatch = 4;   ///< samples of a rank in one forward and backward
    uint32_t accumulation = 1; ///< micro-batches a step
    uint32_t sequence = 2048;  ///< ignored by models of images
    Dtype dtype = Dtype::kBf16;
    /// Bucket of gradients, as they are reduced. Paper: 25 MiB (PyTorch DDP's too); DeepSpeed: 5e8
    /// elements.
    std::optional<uint64_t> bucketBytes;
    Bucketing bucketing = Bucketing::kSize;
    /// Stage 0, paper: size of the bucket that is reduced first. 1 MiB where bucketBytes is the
    /// default too, as DDP has it (no tensor or pipeline parallelism); else bucketBytes.
    std::optional<uint64_t> firstBucketBytes;
    bool toServers = false;     ///< gradients go to parameter servers, and into no buckets
    bool wideReduction = false; ///< gradients are kept and reduced in 32 bits
    /// Ranks among which ZeRO shares out a copy of the parameters; 0: all that hold the same ones.
    uint32_t shard = 0;
    /// Stage 3: tensors of up to so many elements are not shared out. Paper: 0; DeepSpeed: 1e5.
    std::optional<uint64_t> persistElements;
    /// Stage 3, DeepSpeed: collectives of lists of tensors, which are copied (communication.h).
    bool tensorLists = false;
    // ZeRO++ (arXiv 2306.10209), stage 3:
    bool quantizedWeights = false; ///< gathered in 8 bits
    uint32_t secondary = 1;        ///< ranks of a second partition of the parameters; 1: none
    /// Gradients go by two all-to-alls in 4 bits, the first one among so many ranks; 0: as always.
    uint32_t quantizedGradients = 0;
    Compression compression = Compression::kNone;
    double topRatio = 0; ///< kTopK: the share that is sent
    /// Horovod: time between two looks at the available gradients.
    rdma::Duration cycleTime = rdma::Milliseconds(1);
    /// Stages 1, 2: largest all-gather after the optimizer. 5e8 elements.
    std::optional<uint64_t> gatherBytes;
    /// Stage 3: parameters gathered ahead beyond the next layer. Paper: 0; DeepSpeed: 5e7 elements.
    std::optional<uint64_t> prefetchBytes;
    /// Stage 3: layers used again within so many elements stay. Paper: 0; DeepSpeed: 1e9.
    std::optional<uint64_t> reuseElements;
    /// Communication beside computation. Paper: yes; DeepSpeed: at stage 3 only.
    std::optional<bool> overlap;
    Recompute recompute = Recompute::kNone;
    uint8_t recomputeModules = 0; ///< Module bits, instead of what kSelective repeats
    bool sharedOverlap = false;   ///< shared experts compute beside the all-to-alls of routed ones
    Offload offload = Offload::kNone;
    HostSpec host;
    std::optional<ExpertSpan> expertSpan; ///< of kDeepEp
    Optimizer optimizer = Optimizer::kAdam;
    bool masterWeights = true; ///< with 16 bits, the optimizer has a copy and its states in fp32
    double loaderRate = 0; ///< samples/s that a server's input pipeline makes; 0: they are there
    /// Capacity factor of experts (expert-load.h); 0: they take all tokens.
    double capacityFactor = 0;
    double moeSkew = 0;
    uint64_t seed = 1;           ///< seed of the skew
    uint32_t expertPosition = 0; ///< place in an expert group whose layers are wanted
    bool fusedAttention = false; ///< FlashAttention
    KernelSet kernels = KernelSet::kFused;
    // What some software does otherwise than NVIDIA's tuned kernels (options/software-options.h).
    double eagerBytes = 0;    ///< of a token, hidden unit and block, beyond what kEager counts
    double hostLaunch = 0;    ///< seconds of the host for a kernel; 0: it is always ahead
    uint8_t keptProducts = 0; ///< KeptProduct bits: outputs that full recomputation keeps
    double scoreBytes = 0;    ///< of a score of unfused attention, beyond what the set counts
    NormKernels norm = NormKernels::kOfSet;
    Loss loss = Loss::kPlain;
    bool wholeLogits = false; ///< every rank of a tensor group has those of the whole vocabulary
    bool keptGathers = false; ///< sequence parallelism: what products gather is kept for backward
    bool gradientCopies = false;    ///< 16-bit gradients stay beside the sum in 32 bits
    bool wholeAccumulation = false; ///< stages 2, 3: gradients are reduced once a step
    double overlapShare = 1;        ///< of buckets and gathers, with `overlap`
    MemoryPlace memory;             ///< what lies beyond the GPU
    CollectiveOrder order = CollectiveOrder::kFifo;
    uint32_t inFlight = 1;           ///< collectives of a group of ranks at once
    uint64_t chunkBytes = 0;         ///< largest part of a queued collective; 0: all of it
    bool overlapNextForward = false; ///< graphs/next-forward.h
    uint32_t collectiveSms = 0;      ///< multiprocessors that a collective takes from computing
    bool ignoreMemory = false;       ///< run what would not fit a GPU
    std::optional<LayerProfile> profile;
    /// No pass of the profile takes less than its FLOPs at the GPU's peak: of one measured on a
    /// faster GPU.
    bool profileFloor = false;

    /// Number of pieces of the model in a pipeline.
    uint64_t Pieces() const
    {
        return static_cast<uint64_t>(pipeline) * virtualStages;
    }

    /// Ranks that hold the same parameters, except those of experts. If stages differ, the largest
    /// number.
    uint32_t Replicas() const
    {
        return replicas.empty() ? ranks / (tensor * pipeline)
                                : *std::max_element(replicas.begin(), replicas.end());
    }

    uint32_t ReplicasOf(uint32_t stage) const
    {
        return replicas.empty() ? Replicas() : replicas[stage];
    }

    /// Copies of the whole pipeline: 1, where its stages are replicated one by one.
    uint32_t Data() const
    {
        return replicas.empty() ? Replicas() / context : 1;
    }

    uint32_t ExpertTensor() const
    {
        return expertTensor > 0 ? expertTensor : tensor;
    }

    /// Whether experts are shared out in another way than what all tokens go through.
    bool Folded() const
    {
        return ExpertTensor() != tensor;
    }

    /// Ranks that hold the same experts.
    uint32_t ExpertReplicas() const
    {
        return tensor * Replicas() / (ExpertTensor() * expert);
    }

    /// Ranks that divide one copy of their common parameters; for experts, the second function.
    uint32_t Sharers() const
    {
        return shard > 0 ? shard : Replicas();
    }

    uint32_t ExpertSharers() const
    {
        return shard > 0 ? shard : ExpertReplicas();
    }

    Layout GetLayout() const
    {
        Layout layout{tensor,
                      context,
                      expert,
                      replicas.empty() ? Data() : Replicas(),
                      pipeline,
                      rankOrder};
        layout.shard = shard;
        layout.local = quantizedGradients;
        layout.secondary = secondary;
        layout.stageReplicas = replicas;
        layout.expertTensor = expertTensor;
        layout.serverGpus = host.gpus;
        return layout;
    }

    /// Samples of a step, of all ranks.
    uint64_t GlobalBatch() const
    {
        return static_cast<uint64_t>(Data()) * microBatch * accumulation;
    }

    /// Bytes of a gradient, as it is reduced.
    uint32_t GradientBytes() const
    {
        return wideReduction ? 4 : DtypeBytes(dtype);
    }

    uint32_t Sequence() const ///< of a sample; 1 for models that have none
    {
        return model.hasSequence ? sequence : 1;
    }
};

/// The same with every optional field filled in (profile aside).
TrainingOptions ResolvedOptions(TrainingOptions options);

} // namespace training

#endif // SCENARIOS_TRAINING_SPEC_PLAN_OPTIONS_H
