/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "scenarios/training/spec/plan-options.h"

#include "scenarios/models/zoo-json.h"

#include <initializer_list>

namespace training
{

namespace
{

constexpr uint64_t kDeepSpeedBucket = 500'000'000;  // elements: zero/config.py of DeepSpeed@1b88ac3
constexpr uint64_t kDeepSpeedPrefetch = 50'000'000; // elements
constexpr uint64_t kDeepSpeedReuse = 1'000'000'000; // elements
constexpr uint64_t kDeepSpeedPersist = 100'000;     // elements
// SetTensorFusionThresholdBytes of horovod/horovod horovod/common/operations.cc.
constexpr uint64_t kHorovodFusion = 128ULL << 20;
constexpr uint64_t kPaperBucketBytes = 25ULL << 20;
// dist._DEFAULT_FIRST_BUCKET_BYTES; it serves where bucket_cap_mb is not given (_ddp_init_helper of
// pytorch/pytorch torch/nn/parallel/distributed.py, rebuild_buckets of
// torch/csrc/distributed/c10d/reducer.cpp).
constexpr uint64_t kFirstBucketBytes = 1ULL << 20;

/// The one of some values that is called so.
template <class T>
std::optional<T>
Named(std::initializer_list<T> values, std::string (*nameOf)(T), std::string_view text)
{
    for (const T value : values)
    {
        if (text == nameOf(value))
        {
            return value;
        }
    }
    return std::nullopt;
}

} // namespace

std::string
ZeroImplName(ZeroImpl impl)
{
    constexpr const char* kNames[] = {"paper", "deepspeed", "horovod"};
    return kNames[static_cast<uint32_t>(impl)];
}

std::optional<ZeroImpl>
ParseZeroImpl(std::string_view text)
{
    return Named({ZeroImpl::kPaper, ZeroImpl::kDeepSpeed, ZeroImpl::kHorovod},
                 ZeroImplName,
                 PlainName(text));
}

std::string
ContextExchangeName(ContextExchange exchange)
{
    constexpr const char* kNames[] = {"ring", "all-gather", "ulysses"};
    return kNames[static_cast<uint32_t>(exchange)];
}

std::optional<ContextExchange>
ParseContextExchange(std::string_view text)
{
    return Named({ContextExchange::kRing, ContextExchange::kAllGather, ContextExchange::kUlysses},
                 ContextExchangeName,
                 text);
}

std::string
DispatcherName(Dispatcher dispatcher)
{
    constexpr const char* kNames[] = {"alltoall", "deepep"};
    return kNames[static_cast<uint32_t>(dispatcher)];
}

std::optional<Dispatcher>
ParseDispatcher(std::string_view text)
{
    return Named({Dispatcher::kAllToAll, Dispatcher::kDeepEp}, DispatcherName, text);
}

std::string
TokenTypeName(TokenType type)
{
    constexpr const char* kNames[] = {"as computed", "fp8", "bf16", "fp32"};
    return kNames[static_cast<uint32_t>(type)];
}

std::optional<TokenType>
ParseTokenType(std::string_view text)
{
    return Named({TokenType::kAsComputed, TokenType::kFp8, TokenType::kBf16, TokenType::kFp32},
                 TokenTypeName,
                 text);
}

std::string
PartitionName(Partition partition)
{
    constexpr const char* kNames[] =
        {"uniform", "balanced", "pipedream", "parameters", "type", "layout"};
    return kNames[static_cast<uint32_t>(partition)];
}

std::optional<std::pair<Partition, std::string>>
ParsePartition(std::string_view text)
{
    constexpr std::string_view kOfTypes = "type:";
    if (text.substr(0, kOfTypes.size()) == kOfTypes)
    {
        return std::pair{Partition::kTypes, std::string(text.substr(kOfTypes.size()))};
    }
    const auto partition = Named(
        {Partition::kUniform, Partition::kBalanced, Partition::kPipeDream, Partition::kParameters},
        PartitionName,
        PlainName(text));
    return partition ? std::optional(std::pair{*partition, std::string()}) : std::nullopt;
}

std::string
RecomputeName(Recompute recompute)
{
    constexpr const char* kNames[] = {"none", "selective", "full"};
    return kNames[static_cast<uint32_t>(recompute)];
}

std::optional<Recompute>
ParseRecompute(std::string_view text)
{
    return Named({Recompute::kNone, Recompute::kSelective, Recompute::kFull}, RecomputeName, text);
}

std::string
KernelSetName(KernelSet kernels)
{
    constexpr const char* kNames[] = {"fused", "eager", "megatron"};
    return kNames[static_cast<uint32_t>(kernels)];
}

std::optional<KernelSet>
ParseKernelSet(std::string_view text)
{
    return Named({KernelSet::kFused, KernelSet::kEager, KernelSet::kMegatron}, KernelSetName, text);
}

std::string
AttentionKernelName(AttentionKernel kernel)
{
    constexpr const char* kNames[] = {"vendor", "flash2", "flash3", "triton"};
    return kNames[static_cast<uint32_t>(kernel)];
}

std::optional<AttentionKernel>
ParseAttentionKernel(std::string_view text)
{
    return Named({AttentionKernel::kVendor,
                  AttentionKernel::kFlash2,
                  AttentionKernel::kFlash3,
                  AttentionKernel::kTriton},
                 AttentionKernelName,
                 text);
}

std::string
NormKernelsName(NormKernels norm)
{
    return norm == NormKernels::kTorch ? "torch" : "kernels";
}

std::optional<NormKernels>
ParseNormKernels(std::string_view text)
{
    return Named({NormKernels::kOfSet, NormKernels::kTorch}, NormKernelsName, text);
}

std::string
LossName(Loss loss)
{
    constexpr const char* kNames[] = {"plain", "float", "unfused"};
    return kNames[static_cast<uint32_t>(loss)];
}

std::optional<Loss>
ParseLoss(std::string_view text)
{
    return Named({Loss::kPlain, Loss::kFloat, Loss::kUnfused}, LossName, text);
}

GpuSpec
WithAttention(GpuSpec gpu, AttentionKernel kernel)
{
    KernelRates& rates = gpu.rates;
    const auto take = [&rates](double forward, double backward) {
        rates.attention = forward;
        rates.attentionBackward = backward;
    };
    switch (kernel)
    {
    case AttentionKernel::kVendor:
        break;
    case AttentionKernel::kFlash2:
        if (rates.flash2 > 0)
        {
            take(rates.flash2, rates.flash2Backward);
        }
        break;
    case AttentionKernel::kFlash3:
        if (rates.flash3 > 0)
        {
            take(rates.flash3, rates.flash3Backward);
        }
        break;
    case AttentionKernel::kTriton:
        if (rates.triton > 0)
        {
            take(rates.triton, rates.tritonBackward);
        }
        break;
    }
    return gpu;
}

std::string
OffloadName(Offload offload)
{
    constexpr const char* kNames[] = {"none", "optimizer", "all"};
    return kNames[static_cast<uint32_t>(offload)];
}

std::optional<Offload>
ParseOffload(std::string_view text)
{
    return Named({Offload::kNone, Offload::kOptimizer, Offload::kAll}, OffloadName, text);
}

namespace
{

/// Bytes of a bucket by o.bucketing.
uint64_t
BucketOf(const TrainingOptions& o)
{
    // __init__ of NVIDIA/Megatron-LM@001199 megatron/core/distributed/
    // distributed_data_parallel.py. There stages behind the first have one bucket; here all have
    // the first one's.
    constexpr uint64_t kLeastElements = 40'000'000;
    constexpr uint64_t kElementsOfRank = 1'000'000;
    uint64_t largest = 0;
    switch (o.bucketing)
    {
    case Bucketing::kMegatron:
        return o.GradientBytes() * std::max(kLeastElements, kElementsOfRank * o.Replicas());
    case Bucketing::kBlock:
        for (const LayerSpec& layer : o.model.layers)
        {
            largest = std::max(largest, layer.repeated ? layer.Parameters() : 0);
        }
        return largest > 0 ? o.GradientBytes() * std::max<uint64_t>(largest / o.tensor, 1)
                           : kPaperBucketBytes;
    case Bucketing::kSize:
        break;
    }
    return kPaperBucketBytes;
}

} // namespace

std::optional<Bucketing>
ParseBucketing(std::string_view text)
{
    return text == "size"       ? std::optional(Bucketing::kSize)
           : text == "megatron" ? std::optional(Bucketing::kMegatron)
           : text == "block"    ? std::optional(Bucketing::kBlock)
                                : std::nullopt;
}

std::string
CollectiveOrderName(CollectiveOrder order)
{
    switch (order)
    {
    case CollectiveOrder::kLifo:
        return "lifo";
    case CollectiveOrder::kPriority:
        return "priority";
    default:
        return "fifo";
    }
}

std::optional<CollectiveOrder>
ParseCollectiveOrder(std::string_view text)
{
    return text == "fifo"       ? std::optional(CollectiveOrder::kFifo)
           : text == "lifo"     ? std::optional(CollectiveOrder::kLifo)
           : text == "priority" ? std::optional(CollectiveOrder::kPriority)
                                : std::nullopt;
}

std::vector<std::string>
OrderTyped(const TrainingOptions& o)
{
    const auto typed = [](auto member, const std::string& value) {
        return scenario::OptionOf(member) + "=" + value;
    };
    std::vector<std::string> all;
    if (o.order != CollectiveOrder::kFifo)
    {
        all.push_back(typed(&asked::Training::collectiveOrder, CollectiveOrderName(o.order)));
    }
    if (o.chunkBytes > 0)
    {
        all.push_back(typed(&asked::Training::collectiveChunk, std::to_string(o.chunkBytes) + "B"));
    }
    if (o.inFlight > 1)
    {
        all.push_back(typed(&asked::Training::inFlight, std::to_string(o.inFlight)));
    }
    return all;
}

TrainingOptions
ResolvedOptions(TrainingOptions o)
{
    const bool deepSpeed = o.zeroImpl == ZeroImpl::kDeepSpeed;
    const bool horovod = o.zeroImpl == ZeroImpl::kHorovod;
    const uint64_t element = DtypeBytes(o.dtype);
    const auto fill = [](auto& field, auto value) { field = field ? *field : value; };
    const bool first = !o.bucketBytes && o.bucketing == Bucketing::kSize && !o.sharding.optimizer &&
                       o.zeroImpl == ZeroImpl::kPaper && o.tensor == 1 && o.pipeline == 1;
    fill(o.bucketBytes,
         deepSpeed ? kDeepSpeedBucket * o.GradientBytes()
         : horovod ? kHorovodFusion
                   : BucketOf(o));
    fill(o.firstBucketBytes, first ? kFirstBucketBytes : *o.bucketBytes);
    fill(o.persistElements, deepSpeed && o.sharding.parameters ? kDeepSpeedPersist : 0);
    fill(o.gatherBytes, kDeepSpeedBucket * element);
    fill(o.prefetchBytes, deepSpeed ? kDeepSpeedPrefetch * element : 0);
    fill(o.reuseElements, deepSpeed ? kDeepSpeedReuse : 0);
    fill(o.overlap, !deepSpeed || o.sharding.parameters);
    if (o.dispatcher == Dispatcher::kDeepEp && !o.expertSpan)
    {
        o.expertSpan = ExpertSpanOf(o.GetLayout());
    }
    return o;
}

} // namespace training
