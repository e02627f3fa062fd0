/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "scenarios/asked/training.h"
#include "scenarios/layout-search/megatron-layout.h"
#include "scenarios/layout-search/megatron-writer.h"
#include "scenarios/options/format.h"
#include "scenarios/training/expert-load.h"
#include "scenarios/training/pipeline/schedule.h"

#include <utility>

namespace planner
{

using scenario::Format;
using training::Dtype;
using training::TrainingOptions;

void
MegatronWriter::AddParallel()
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

void
MegatronWriter::AddPipeline()
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
    const auto cut = training::FindPipelineSchedule(o.schedule)->Folds()
                         ? std::vector<std::string>()
                         : MegatronCut(o);
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
    else if (!isInterleaved && !o.awaitedSends &&
             IsGiven(&scenario::asked::Training::pipelineSends))
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

void
MegatronWriter::AddExperts()
{
    const TrainingOptions& o = m_options;
    if (o.model.predictors > 0)
    {
        Add("mtp-num-layers", o.model.predictors);
    }
    if (!training::RoutingOf(o.model))
    {
        return;
    }
    // Products of all experts of a rank are one kernel here, and so is sorting their tokens: flags
    // of megatron/training/arguments.py that are off by default. It asserts bf16 for the first.
    if (training::WideOf(o.dtype) == Dtype::kBf16 ||
        (o.recomputeModules & training::kModuleActivation) != 0) // which needs it
    {
        Add("moe-grouped-gemm");
    }
    else
    {
        HasNone(Typed("dtype", training::DtypeName(o.dtype)) + " with experts in one kernel",
                "--moe-grouped-gemm needs bf16");
    }
    Add("moe-permute-fusion");
    if (o.expert > 1)
    {
        Add("expert-model-parallel-size", o.expert);
    }
    if (o.Folded())
    {
        Add("expert-tensor-parallel-size", o.expertTensor);
    }
    if (SharesExperts())
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

void
MegatronWriter::AddDispatcher()
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
void
MegatronWriter::AddExpertOverlap()
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

void
MegatronWriter::AddBatch()
{
    const TrainingOptions& o = m_options;
    Add("micro-batch-size", o.microBatch);
    Add("global-batch-size", o.GlobalBatch());
    if (o.model.hasSequence)
    {
        Add("seq-length", o.sequence);
    }
}

void
MegatronWriter::AddTensor()
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
    if (IsFsdp() || (!o.fusedAccumulation && o.accumulation > 1))
    {
        // Required with Megatron-FSDP:
        // docs/discussions/megatron-fsdp-user-guide/megatron-fsdp-user-guide.md.
        Add("no-gradient-accumulation-fusion");
    }
    if (IsFsdp() && o.fusedAccumulation && o.accumulation > 1)
    {
        HasNone("gradient-accumulation-fusion=1 " + Typed("--zero", Stage()),
                "its FSDP works without it");
    }
}

} // namespace planner
