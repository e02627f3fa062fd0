/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "scenarios/asked/training.h"
#include "scenarios/layout-search/launch-flags.h"
#include "scenarios/layout-search/megatron-writer.h"
#include "scenarios/options/format.h"
#include "scenarios/training/recomputation.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace planner
{

using scenario::Format;
using training::Dtype;
using training::TrainingOptions;

MegatronLaunch
MegatronWriter::Write()
{
    if (!m_options.model.transformer || !m_options.model.hasSequence)
    {
        m_launch.notes.push_back("Megatron-LM has no model like " + m_options.model.name);
        return std::move(m_launch);
    }
    AddParallel();
    AddPipeline();
    AddExperts();
    AddBatch();
    AddTensor();
    AddDataParallel();
    AddReduction();
    AddOptimizer();
    AddRecomputation();
    AddAttention();
    AddType();
    AddEnvironment();
    return std::move(m_launch);
}

void
MegatronWriter::AddDataParallel()
{
    const TrainingOptions& o = m_options;
    if (IsFsdp())
    {
        Add("use-megatron-fsdp");
        Add("data-parallel-sharding-strategy",
            o.sharding.parameters ? "optim_grads_params" : "optim_grads");
        Add("ckpt-format", "fsdp_dtensor");
    }
    if (o.sharding.optimizer)
    {
        Add("use-distributed-optimizer");
    }
    const uint32_t copies = o.shard > 0 ? o.Replicas() / o.shard : 1;
    if (o.sharding.optimizer && copies > 1)
    {
        Add("num-distributed-optimizer-instances", copies);
        if (SharesExperts() && o.ExpertReplicas() % copies != 0)
        {
            // initialize_model_parallel of megatron/core/parallel_state.py.
            Refuses(
                Typed("shard-size", o.shard),
                Format("%u ranks hold the same experts, in %u copies", o.ExpertReplicas(), copies));
        }
    }
    const bool isOverlapped = o.overlap.value_or(true) && o.Replicas() > 1;
    if (isOverlapped)
    {
        Add("overlap-grad-reduce");
        if (o.sharding.optimizer)
        {
            Add("overlap-param-gather");
        }
    }
    AddBuckets(isOverlapped);
    if (o.Replicas() > 1 && o.zeroImpl != training::ZeroImpl::kPaper)
    {
        HasNone(Typed("zero-impl", training::ZeroImplName(o.zeroImpl)));
    }
    const std::pair<bool, const char*> others[] = {
        {o.quantizedWeights, "zero-quantized-weights=1"},
        {o.quantizedGradients > 0, "zero-quantized-gradients=1"},
        {o.tensorLists, "zero-tensor-lists=1"},
        {o.compression == training::Compression::kFp16, "gradient-compression=fp16"},
        {o.zeroImpl == training::ZeroImpl::kHorovod &&
             IsGiven(&scenario::asked::Training::cycleTime),
         "cycle-time"},
        {o.sharding.parameters && IsGiven(&scenario::asked::Training::persistenceThreshold),
         "persistence-threshold"}};
    for (const auto& [is, option] : others)
    {
        if (is)
        {
            HasNone(option);
        }
    }
    for (const std::string& typed : training::OrderTyped(o))
    {
        HasNone(typed);
    }
    if (o.secondary > 1)
    {
        HasNone(Typed("zero-hpz-partition-size", o.secondary));
    }
    if (o.compression == training::Compression::kTopK)
    {
        HasNone(Typed("gradient-compression", Format("topk:%.6g", o.topRatio)));
    }
}

/// Sizes as given alone: its own defaults grow with the ranks (40 million parameters, a million
/// a rank and more, of megatron/core/distributed/distributed_data_parallel.py).
void
MegatronWriter::AddBuckets(bool isOverlapped)
{
    const TrainingOptions& o = m_options;
    if (o.Replicas() == 1)
    {
        return;
    }
    if (IsGiven(&scenario::asked::Training::buckets) && o.bucketBytes)
    {
        if (isOverlapped)
        {
            Add("ddp-bucket-size", std::max<uint64_t>(1, *o.bucketBytes / o.GradientBytes()));
        }
        else
        {
            HasNone("buckets with --overlap=0", "it reduces all gradients at once");
        }
    }
    if (IsGiven(&scenario::asked::Training::firstBucket))
    {
        HasNone("first-bucket");
    }
    if (IsGiven(&scenario::asked::Training::gatherBytes) && o.sharding.optimizer &&
        !o.sharding.parameters)
    {
        HasNone("gather-bytes", "it gathers by the buckets of gradients");
    }
    if (IsGiven(&scenario::asked::Training::prefetch) && o.sharding.parameters && o.prefetchBytes)
    {
        Add("suggested-communication-unit-size",
            std::max<uint64_t>(1, *o.prefetchBytes / training::DtypeBytes(o.dtype)));
    }
}

/// With --bf16 gradients are in fp32 unless --grad-reduce-in-bf16 is there, with --fp16 the
/// other way round.
void
MegatronWriter::AddReduction()
{
    const Dtype wide = training::WideOf(m_options.dtype);
    if (m_options.wideReduction)
    {
        Add("accumulate-allreduce-grads-in-fp32");
    }
    else if (wide == Dtype::kBf16)
    {
        Add("grad-reduce-in-bf16");
    }
}

void
MegatronWriter::AddOptimizer()
{
    const TrainingOptions& o = m_options;
    switch (o.optimizer)
    {
    case training::Optimizer::kAdam:
        break;
    case training::Optimizer::kSgd:
        Add("optimizer", "sgd");
        Add("sgd-momentum", "0.0");
        break;
    case training::Optimizer::kMomentum:
        Add("optimizer", "sgd");
        break;
    default:
        HasNone(Typed("optimizer", training::OptimizerName(o.optimizer)));
    }
    if (o.offload != training::Offload::kNone)
    {
        // The second flag is asserted with the first, and needs Adam (__post_init__ of
        // megatron/core/optimizer/optimizer_config.py@0075637).
        Add("optimizer-cpu-offload");
        Add("use-precision-aware-optimizer");
        if (o.offload == training::Offload::kAll)
        {
            HasNone("offload=all", "the optimizer alone is offloaded");
        }
        if (o.optimizer != training::Optimizer::kAdam)
        {
            Refuses(Typed("offload", training::OffloadName(o.offload)),
                    "only with --optimizer=adam");
        }
    }
    if (!o.masterWeights && training::DtypeBytes(o.dtype) == 2)
    {
        HasNone("master-weights=0", "its optimizer has parameters in fp32");
    }
}

void
MegatronWriter::AddRecomputation()
{
    const TrainingOptions& o = m_options;
    if (o.recompute == training::Recompute::kFull)
    {
        Add("recompute-granularity", "full");
        Add("recompute-method", "uniform");
        Add("recompute-num-layers", 1);
        return;
    }
    if (o.recomputeModules > 0)
    {
        AddModules();
        return;
    }
    if (o.recompute != training::Recompute::kSelective)
    {
        return;
    }
    if (training::RepeatsByOperator(o))
    {
        HasNone("recompute=selective with --zero=3",
                "it repeats modules, not torchtitan's choice of operators");
        return;
    }
    Add("recompute-granularity", "selective");
    Add("recompute-modules", "core_attn");
}

void
MegatronWriter::AddModules()
{
    const TrainingOptions& o = m_options;
    const uint8_t known =
        o.recomputeModules & static_cast<uint8_t>(~training::kModuleMlpActivation);
    if (known > 0)
    {
        Add("recompute-granularity", "selective");
        std::string names = training::ModulesText(known);
        names.erase(std::remove(names.begin(), names.end(), ','), names.end());
        Add("recompute-modules", names);
    }
    if (known != o.recomputeModules)
    {
        // SwiGLUFunction of megatron/core/fusions/fused_bias_swiglu.py@00caa53 keeps its input
        // and makes the activated factor anew. Its output is kept for the next product.
        HasNone("recompute-modules=mlp_act", "its fused activation keeps its output");
    }
    if ((known & training::kModuleActivation) != 0 && training::WideOf(o.dtype) != Dtype::kBf16)
    {
        Refuses("recompute-modules=moe_act", "only with --dtype=bf16 or fp8");
    }
    constexpr uint8_t kOutputs = training::kModuleActivation | training::kModuleNorm;
    if (o.dtype == Dtype::kFp8 && (known & kOutputs) != 0)
    {
        Refuses("recompute-modules=" +
                    training::ModulesText(static_cast<uint8_t>(known & kOutputs)),
                "not with --dtype=fp8, whose scales are of earlier steps");
    }
}

void
MegatronWriter::AddAttention()
{
    const TrainingOptions& o = m_options;
    if (!o.fusedAttention)
    {
        Add("attention-backend", "unfused");
        if (o.context > 1)
        {
            // get_attention_backend of transformer_engine/pytorch/attention/
            // dot_product_attention/utils.py (NVIDIA/TransformerEngine).
            Refuses("fused-attention=0 with --cp", "Transformer Engine has it with fused alone");
        }
    }
    else
    {
        Add("attention-backend", AttentionBackend());
    }
    if (o.kernels == training::KernelSet::kEager)
    {
        HasNone("kernels=eager", "--no-bias-gelu-fusion and others are for one kernel each");
    }
}

/// auto: Transformer Engine chooses.
std::string
MegatronWriter::AttentionBackend() const
{
    const std::string recipe = IsGiven(&scenario::asked::Training::recipe)
                                   ? m_given->Get(&scenario::asked::Training::recipe)
                                   : "";
    const std::string kernel = IsGiven(&scenario::asked::Training::attentionKernel)
                                   ? m_given->Get(&scenario::asked::Training::attentionKernel)
                               : recipe == "megatron"                             ? "vendor"
                               : !recipe.empty() || m_options.sharding.parameters ? "flash2"
                                                                                  : "";
    return kernel == "flash2" ? "flash" : kernel == "vendor" ? "fused" : "auto";
}

void
MegatronWriter::AddType()
{
    switch (training::WideOf(m_options.dtype))
    {
    case Dtype::kFp16:
        Add("fp16");
        break;
    case Dtype::kBf16:
        Add("bf16");
        break;
    case Dtype::kTf32:
        HasNone("dtype=tf32", "torch.set_float32_matmul_precision(\"high\") in the script");
        break;
    default:
        break;
    }
    switch (m_options.dtype)
    {
    case Dtype::kFp8:
        Add("fp8-format", "hybrid");
        break;
    case Dtype::kFp8Tensorwise:
        Add("fp8-format", "hybrid");
        Add("fp8-recipe", "tensorwise");
        break;
    case Dtype::kFp8Blockwise:
        Add("fp8-format", "e4m3");
        Add("fp8-recipe", "blockwise");
        break;
    case Dtype::kMxFp8:
        Add("fp8-format", "e4m3");
        Add("fp8-recipe", "mxfp8");
        break;
    case Dtype::kNvFp4:
        Add("fp4-format", "e2m1");
        Add("fp4-recipe", "nvfp4");
        break;
    default:
        break;
    }
}

/// Kernels of several streams begin in the order of their launches with 1, which tensor and
/// context parallelism need before Blackwell; FSDP and the overlap of experts need more.
void
MegatronWriter::AddEnvironment()
{
    const TrainingOptions& o = m_options;
    const char* const before[] = {"Volta", "Turing", "Ampere", "Ada", "Hopper"};
    const bool isOld =
        std::find(std::begin(before), std::end(before), o.gpu.generation) != std::end(before);
    if (IsFsdp() || (o.expertOverlap && o.expert > 1))
    {
        m_launch.notes.emplace_back("Megatron-LM needs CUDA_DEVICE_MAX_CONNECTIONS above 1, or "
                                    "not set, in its environment");
    }
    else if (isOld && (o.tensor > 1 || o.context > 1))
    {
        m_launch.notes.emplace_back(
            "Megatron-LM needs CUDA_DEVICE_MAX_CONNECTIONS=1 in its environment");
    }
}

MegatronLaunch
LaunchOfMegatron(const TrainingOptions& options, const scenario::Values* given)
{
    return MegatronWriter(options, given).Write();
}

} // namespace planner
