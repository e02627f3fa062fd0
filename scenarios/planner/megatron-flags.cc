/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Names and rules: NVIDIA/Megatron-LM, megatron/training/arguments.py@000c4ac (the arguments, and
 * validate_args) and megatron/core/transformer/transformer_config.py@002526d (__post_init__), where
 * no other file is named.
 */
#include "scenarios/options/format.h"
#include "scenarios/planner/launch-flags.h"
#include "scenarios/planner/megatron-layout.h"
#include "scenarios/training/expert-load.h"
#include "scenarios/training/recomputation.h"

#include <algorithm>
#include <utility>

namespace planner
{

namespace
{

using scenario::Format;
using training::Dtype;
using training::TrainingOptions;

/// An option as one types it, without "--": "zero-impl=deepspeed".
std::string
Typed(const char* option, const std::string& value)
{
    return std::string(option) + "=" + value;
}

std::string
Typed(const char* option, uint64_t value)
{
    return Typed(option, std::to_string(value));
}

/// Words with a blank between.
std::string
Blanks(std::string list)
{
    list.erase(std::remove(list.begin(), list.end(), ','), list.end());
    return list;
}

/// Writes the flags of one plan.
class MegatronWriter
{
  public:
    MegatronWriter(const TrainingOptions& options, const scenario::Values* given)
        : m_options(options),
          m_given(given)
    {
    }

    MegatronLaunch Write()
    {
        if (!m_options.model.transformer)
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

  private:
    bool IsGiven(const char* option) const
    {
        return m_given && m_given->Given(option);
    }

    void Add(const char* name)
    {
        m_launch.flags.push_back(std::string("--") + name);
    }

    void Add(const char* name, const std::string& value)
    {
        m_launch.flags.push_back(std::string("--") + name + " " + value);
    }

    void Add(const char* name, uint64_t value)
    {
        Add(name, std::to_string(value));
    }

    /// \param typed without "--" \param why may be empty
    void HasNone(const std::string& typed, const std::string& why = "")
    {
        m_launch.notes.push_back("Megatron-LM has no flag for --" + typed +
                                 (why.empty() ? "" : ": " + why));
    }

    void Refuses(const std::string& typed, const std::string& why)
    {
        m_launch.notes.push_back("Megatron-LM refuses --" + typed + ": " + why);
    }

    bool HasExperts() const
    {
        return !!training::RoutingOf(m_options.model);
    }

    /// ZeRO 2 and 3.
    bool IsFsdp() const
    {
        return m_options.sharding.gradients;
    }

    bool IsShared() const
    {
        return m_options.expert > 1 || m_options.Folded();
    }

    void AddParallel()
    {
        const TrainingOptions& o = m_options;
        Add("tensor-model-parallel-size", o.tensor);
        Add("pipeline-model-parallel-size", o.pipeline);
        if (o.context > 1)
        {
            // TEDotProductAttention of megatron/core/extensions/transformer_engine.py hands the
            // word on to Transformer Engine, which knows all_gather.
            constexpr const char* kExchanges[] = {"p2p", "all_gather", "a2a"};
            Add("context-parallel-size", o.context);
            Add("cp-comm-type", kExchanges[static_cast<uint32_t>(o.contextExchange)]);
        }
        const auto order = [](const char* text) { return *training::ParseDimensionOrder(text); };
        if (o.pipeline > 1 && o.rankOrder == order(kPipelineFirst))
        {
            Add("use-tp-pp-dp-mapping");
            if (IsFsdp())
            {
                // src/megatron/bridge/training/config.py of NVIDIA-NeMo/Megatron-Bridge.
                Refuses(Typed("rank-order", kPipelineFirst) + Format(" --zero=%u", Stage()),
                        "its FSDP needs the usual order");
            }
        }
        else if (o.rankOrder != order(kCopiesFirst) && o.rankOrder != order(kPipelineFirst))
        {
            HasNone(Typed("rank-order", training::DimensionOrderName(o.rankOrder)));
        }
    }

    uint32_t Stage() const
    {
        return m_options.sharding.Stage();
    }

    void AddPipeline()
    {
        const TrainingOptions& o = m_options;
        if (o.pipeline == 1)
        {
            return;
        }
        const bool isInterleaved = o.virtualStages > 1;
        if (o.schedule != (isInterleaved ? "interleaved" : "1f1b"))
        {
            HasNone(Typed("pipeline-schedule", o.schedule), "its schedules are 1f1b, interleaved");
        }
        const auto cut = o.schedule == "dualpipev" ? std::vector<std::string>() : MegatronCut(o);
        if (cut)
        {
            m_launch.flags.insert(m_launch.flags.end(), cut->begin(), cut->end());
        }
        else
        {
            HasNone("partition, which cuts between layers that it keeps together");
        }
        if (o.deepSpeedSends)
        {
            HasNone("pipeline-sends=deepspeed");
        }
        else if (isInterleaved && o.awaitedSends)
        {
            if (o.pipeline > 2)
            {
                Add("no-overlap-p2p-communication");
            }
            else
            {
                Refuses("pipeline-sends=awaited --pp=2 --virtual-stages",
                        "two ranks would have several sends between them");
            }
        }
        else if (!isInterleaved && !o.awaitedSends && IsGiven("pipeline-sends"))
        {
            HasNone("pipeline-sends=background without --virtual-stages",
                    "its 1f1b waits for what it sends");
        }
        if (IsFsdp())
        {
            // docs/user-guide/features/custom_fsdp.md: tensor, expert and context parallelism.
            HasNone(Typed("zero", Stage()) + " with --pp", "its FSDP has tp, cp and ep beside it");
        }
    }

    void AddExperts()
    {
        const TrainingOptions& o = m_options;
        if (o.model.predictors > 0)
        {
            Add("mtp-num-layers", o.model.predictors);
        }
        if (!HasExperts())
        {
            return;
        }
        if (o.expert > 1)
        {
            Add("expert-model-parallel-size", o.expert);
        }
        if (o.Folded())
        {
            Add("expert-tensor-parallel-size", o.expertTensor);
        }
        if (IsShared())
        {
            AddDispatcher();
        }
        if (o.sharedOverlap)
        {
            Add("moe-shared-expert-overlap");
        }
        if (o.expertOverlap && o.expert > 1)
        {
            AddExpertOverlap();
        }
        if (o.capacityFactor > 0)
        {
            Add("moe-expert-capacity-factor", Format("%.6g", o.capacityFactor));
        }
        if (o.tensor > 1 && !o.sequenceParallel)
        {
            // MoELayer.forward of megatron/core/transformer/moe/moe_layer.py raises it.
            Refuses(Typed("tp", o.tensor), "experts need --sequence-parallel beside it");
        }
        if (o.expert > 1 && o.dtype == Dtype::kFp16)
        {
            Refuses(Typed("ep", o.expert), "not with --dtype=fp16");
        }
    }

    void AddDispatcher()
    {
        const TrainingOptions& o = m_options;
        if (o.dispatcher == training::Dispatcher::kDeepEp)
        {
            // Later versions take --moe-flex-dispatcher-backend deepep, too.
            Add("moe-token-dispatcher-type", "flex");
            Add("moe-enable-deepep");
        }
        else
        {
            Add("moe-token-dispatcher-type", "alltoall");
        }
        if (o.nodeLimit > 0 && o.dispatcher == training::Dispatcher::kDeepEp)
        {
            const uint32_t servers = o.expertSpan ? o.expertSpan->servers : 0;
            const uint32_t experts = training::RoutingOf(o.model)->experts;
            if (servers > 0 && experts % servers == 0 && o.nodeLimit <= servers)
            {
                Add("moe-router-num-groups", servers);
                Add("moe-router-group-topk", o.nodeLimit);
            }
            else
            {
                HasNone(Typed("moe-node-limit", o.nodeLimit),
                        Format("%u servers share the experts", servers));
            }
        }
        // Its dispatchers send what the layer computes with.
        for (const auto& [option, type] : {std::pair("moe-dispatch-type", o.dispatchType),
                                           std::pair("moe-combine-type", o.combineType)})
        {
            if (o.expert > 1 && type != training::TokenType::kAsComputed &&
                training::TokenTypeName(type) != training::DtypeName(training::WideOf(o.dtype)))
            {
                HasNone(Typed(option, training::TokenTypeName(type)));
            }
        }
    }

    /// Asserted "if self.overlap_moe_expert_parallel_comm".
    void AddExpertOverlap()
    {
        const TrainingOptions& o = m_options;
        Add("overlap-moe-expert-parallel-comm");
        const std::string option = "moe-overlap";
        if (o.pipeline > 1 && o.virtualStages == 1)
        {
            Refuses(option, "a pipeline needs --virtual-stages above 1 beside it");
        }
        if (o.recompute == training::Recompute::kFull)
        {
            Refuses(option, "not with --recompute=full");
        }
        if ((o.recomputeModules & training::kModuleMoe) != 0)
        {
            Refuses(option, "not with --recompute-modules=moe");
        }
        if (training::DtypeBytes(o.dtype) != 2)
        {
            Refuses(option, "only with bf16 or fp16");
        }
        if (o.model.predictors > 1)
        {
            Refuses(option, "only with one module of --mtp");
        }
    }

    void AddBatch()
    {
        const TrainingOptions& o = m_options;
        Add("micro-batch-size", o.microBatch);
        Add("global-batch-size", o.GlobalBatch());
        if (o.model.hasSequence)
        {
            Add("seq-length", o.sequence);
        }
    }

    void AddTensor()
    {
        const TrainingOptions& o = m_options;
        if (o.tensor > 1 && o.sequenceParallel)
        {
            Add("sequence-parallel");
            if (o.piecewiseOverlap)
            {
                Add("tp-comm-overlap");
            }
        }
        if (o.tensor > 1 && !o.tensorOverlap)
        {
            HasNone("tp-overlap=0", "--no-async-tensor-model-parallel-allreduce is ignored");
        }
        if (IsFsdp() || !o.fusedAccumulation)
        {
            // Required with Megatron-FSDP:
            // docs/discussions/megatron-fsdp-user-guide/megatron-fsdp-user-guide.md.
            Add("no-gradient-accumulation-fusion");
        }
        if (IsFsdp() && o.fusedAccumulation && o.accumulation > 1)
        {
            Refuses(Typed("zero", Stage()), "its FSDP needs --gradient-accumulation-fusion=0");
        }
    }

    void AddDataParallel()
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
            if (IsShared() && o.ExpertReplicas() % copies != 0)
            {
                // initialize_model_parallel of megatron/core/parallel_state.py.
                Refuses(Typed("shard-size", o.shard),
                        Format("%u ranks hold the same experts, in %u copies",
                               o.ExpertReplicas(),
                               copies));
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
            {o.zeroImpl == training::ZeroImpl::kHorovod && IsGiven("cycle-time"), "cycle-time"},
            {o.sharding.parameters && IsGiven("persistence-threshold"), "persistence-threshold"}};
        for (const auto& [is, option] : others)
        {
            if (is)
            {
                HasNone(option);
            }
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
    void AddBuckets(bool isOverlapped)
    {
        const TrainingOptions& o = m_options;
        if (o.Replicas() == 1)
        {
            return;
        }
        if (IsGiven("buckets") && o.bucketBytes)
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
        if (IsGiven("first-bucket"))
        {
            HasNone("first-bucket");
        }
        if (IsGiven("gather-bytes") && o.sharding.optimizer && !o.sharding.parameters)
        {
            HasNone("gather-bytes", "it gathers by the buckets of gradients");
        }
        if (IsGiven("prefetch") && o.sharding.parameters && o.prefetchBytes)
        {
            Add("suggested-communication-unit-size",
                std::max<uint64_t>(1, *o.prefetchBytes / training::DtypeBytes(o.dtype)));
        }
    }

    /// With --bf16 gradients are in fp32 unless --grad-reduce-in-bf16 is there, with --fp16 the
    /// other way round.
    void AddReduction()
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

    void AddOptimizer()
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

    void AddRecomputation()
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

    void AddModules()
    {
        const TrainingOptions& o = m_options;
        const uint8_t known =
            o.recomputeModules & static_cast<uint8_t>(~training::kModuleMlpActivation);
        if (known > 0)
        {
            Add("recompute-granularity", "selective");
            Add("recompute-modules", Blanks(training::ModulesText(known)));
        }
        if (known != o.recomputeModules)
        {
            // SwiGLUFunction of megatron/core/fusions/fused_bias_swiglu.py@00caa53 keeps its input
            // and makes the activated factor anew. Its output is kept for the next product.
            HasNone("recompute-modules=mlp_act", "its fused activation keeps its output");
        }
        if ((known & training::kModuleActivation) != 0)
        {
            Add("moe-grouped-gemm");
            if (training::WideOf(o.dtype) != Dtype::kBf16)
            {
                Refuses("recompute-modules=moe_act", "only with --dtype=bf16 or fp8");
            }
        }
        constexpr uint8_t kOutputs = training::kModuleActivation | training::kModuleNorm;
        if (o.dtype == Dtype::kFp8 && (known & kOutputs) != 0)
        {
            Refuses("recompute-modules=" +
                        training::ModulesText(static_cast<uint8_t>(known & kOutputs)),
                    "not with --dtype=fp8, whose scales are of earlier steps");
        }
    }

    void AddAttention()
    {
        const TrainingOptions& o = m_options;
        if (!o.fusedAttention)
        {
            Add("attention-backend", "unfused");
            if (o.context > 1)
            {
                // get_attention_backend of transformer_engine/pytorch/attention/
                // dot_product_attention/utils.py (NVIDIA/TransformerEngine).
                Refuses("fused-attention=0 with --cp",
                        "Transformer Engine has it with fused alone");
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
    std::string AttentionBackend() const
    {
        const std::string recipe = IsGiven("recipe") ? m_given->Text("recipe") : "";
        const std::string kernel = IsGiven("attention-kernel") ? m_given->Text("attention-kernel")
                                   : recipe == "megatron"      ? "vendor"
                                   : !recipe.empty() || m_options.sharding.parameters ? "flash2"
                                                                                      : "";
        return kernel == "flash2" ? "flash" : kernel == "vendor" ? "fused" : "auto";
    }

    void AddType()
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
    void AddEnvironment()
    {
        const TrainingOptions& o = m_options;
        const char* const before[] = {"Volta", "Turing", "Ampere", "Ada", "Hopper"};
        const bool isOld =
            std::find(std::begin(before), std::end(before), o.gpu.generation) != std::end(before);
        if (IsFsdp() || (o.expertOverlap && o.expert > 1))
        {
            m_launch.notes.emplace_back(
                "Megatron-LM needs CUDA_DEVICE_MAX_CONNECTIONS above 1, or not set");
        }
        else if (isOld && (o.tensor > 1 || o.context > 1))
        {
            m_launch.notes.emplace_back("Megatron-LM needs CUDA_DEVICE_MAX_CONNECTIONS=1");
        }
    }

    const TrainingOptions& m_options;
    const scenario::Values* const m_given;
    MegatronLaunch m_launch;
};

} // namespace

MegatronLaunch
LaunchOfMegatron(const TrainingOptions& options, const scenario::Values* given)
{
    return MegatronWriter(options, given).Write();
}

} // namespace planner
