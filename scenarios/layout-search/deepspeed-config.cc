/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Keys and rules: deepspeedai/DeepSpeed, deepspeed/runtime/zero/config.py@1b88ac3 and
 * deepspeed/runtime/constants.py@088be89, where no other file is named.
 */
#include "scenarios/asked/training.h"
#include "scenarios/layout-search/launch-flags.h"
#include "scenarios/options/format.h"
#include "scenarios/training/fewer-layers.h"
#include "scenarios/training/recomputation.h"
#include "scenarios/training/stage-layers.h"

#include <algorithm>
#include <utility>

namespace planner
{

namespace
{

using nlohmann::ordered_json;
using scenario::Format;
using training::Dtype;
using training::TrainingOptions;

/// Writes the configuration of one plan.
class DeepSpeedWriter
{
  public:
    DeepSpeedWriter(const TrainingOptions& options, const scenario::Values* given)
        : m_options(options),
          m_given(given)
    {
    }

    DeepSpeedLaunch Write()
    {
        const TrainingOptions& o = m_options;
        ordered_json& json = m_launch.config;
        json["train_batch_size"] = o.GlobalBatch();
        json["train_micro_batch_size_per_gpu"] = o.microBatch;
        json["gradient_accumulation_steps"] = o.accumulation;
        AddZero(json["zero_optimization"]);
        AddTypes(json);
        AddOptimizer(json);
        AddRecomputation(json);
        SayPipeline();
        SayRest();
        return std::move(m_launch);
    }

  private:
    bool IsGiven(scenario::Member option) const
    {
        return m_given && m_given->Given(option);
    }

    bool IsDeepSpeed() const
    {
        return m_options.zeroImpl == training::ZeroImpl::kDeepSpeed;
    }

    void HasNone(const std::string& typed, const std::string& why = "")
    {
        m_launch.notes.push_back("DeepSpeed has no key for --" + typed +
                                 (why.empty() ? "" : ": " + why));
    }

    void Refuses(const std::string& typed, const std::string& why)
    {
        m_launch.notes.push_back("DeepSpeed refuses --" + typed + ": " + why);
    }

    void AddZero(ordered_json& zero)
    {
        const TrainingOptions& o = m_options;
        zero["stage"] = o.sharding.Stage();
        zero["overlap_comm"] = o.overlap.value_or(true);
        if (o.bucketBytes && *o.bucketBytes > 0)
        {
            zero["reduce_bucket_size"] = *o.bucketBytes / o.GradientBytes();
        }
        const uint64_t element = training::DtypeBytes(o.dtype);
        if (o.sharding.optimizer && !o.sharding.parameters && o.gatherBytes)
        {
            zero["allgather_bucket_size"] = *o.gatherBytes / element;
        }
        if (o.sharding.parameters)
        {
            AddStage3(zero, element);
        }
        else if (o.shard > 0)
        {
            HasNone(Format("shard-size=%u", o.shard), "it has MiCS at stage 3");
        }
        AddOffload(zero);
        if (IsGiven(&scenario::asked::Training::firstBucket))
        {
            HasNone("first-bucket");
        }
        if (o.Replicas() > 1 && o.zeroImpl == training::ZeroImpl::kHorovod)
        {
            HasNone(IsGiven(&scenario::asked::Training::cycleTime)
                        ? "zero-impl=horovod --cycle-time"
                        : "zero-impl=horovod");
        }
        for (const std::string& typed : training::OrderTyped(o))
        {
            HasNone(typed);
        }
        if (o.sharding.gradients && o.pipeline > 1)
        {
            // deepspeed/runtime/pipe/engine.py asserts it.
            Refuses(Format("zero=%u with --pp", o.sharding.Stage()), "its pipelines have 0 and 1");
        }
        if (o.sharding.parameters && o.expert > 1)
        {
            // deepspeed/runtime/engine.py: "MoE not supported with Stage 3".
            Refuses("zero=3 with --ep", "its layers of experts have stages 0 to 2");
        }
    }

    void AddStage3(ordered_json& zero, uint64_t element)
    {
        const TrainingOptions& o = m_options;
        if (o.prefetchBytes && (IsDeepSpeed() || IsGiven(&scenario::asked::Training::prefetch)))
        {
            zero["stage3_prefetch_bucket_size"] = *o.prefetchBytes / element;
        }
        if (o.persistElements && IsDeepSpeed())
        {
            zero["stage3_param_persistence_threshold"] = *o.persistElements;
        }
        if (o.reuseElements && IsDeepSpeed())
        {
            zero["stage3_max_reuse_distance"] = *o.reuseElements;
        }
        if (o.shard > 0)
        {
            zero["mics_shard_size"] = o.shard;
        }
        if (o.quantizedWeights)
        {
            zero["zero_quantized_weights"] = true;
        }
        if (o.secondary > 1)
        {
            zero["zero_hpz_partition_size"] = o.secondary;
        }
        if (o.quantizedGradients > 0)
        {
            zero["zero_quantized_gradients"] = true;
        }
        if (o.tensorLists)
        {
            HasNone("zero-tensor-lists=1", "it has flat buffers since 2021");
        }
    }

    /// deepspeed/runtime/zero/offload_config.py@1978617.
    void AddOffload(ordered_json& zero)
    {
        const training::Offload offload = m_options.offload;
        const ordered_json cpu = {{"device", "cpu"}, {"pin_memory", true}};
        if (offload != training::Offload::kNone)
        {
            zero["offload_optimizer"] = cpu;
        }
        if (offload == training::Offload::kAll)
        {
            zero["offload_param"] = cpu;
        }
    }

    void AddTypes(ordered_json& json)
    {
        const TrainingOptions& o = m_options;
        const Dtype wide = training::WideOf(o.dtype);
        const bool isHalf = wide == Dtype::kFp16 || wide == Dtype::kBf16;
        if (isHalf)
        {
            json[wide == Dtype::kFp16 ? "fp16" : "bf16"] = {{"enabled", true}};
        }
        if (!o.masterWeights && wide == Dtype::kBf16 && o.sharding.optimizer)
        {
            // deepspeed/runtime/precision_config.py@0ac4684: of ZeRO's optimizer.
            json["bf16"]["bf16_master_weights_and_grads"] = true;
            json["bf16"]["bf16_optimizer_states"] = true;
        }
        else if (!o.masterWeights && isHalf)
        {
            HasNone("master-weights=0", "only with bf16 and --zero from 1 on");
        }
        if (isHalf && o.wideReduction)
        {
            json["communication_data_type"] = "fp32";
            json["data_types"] = {{"grad_accum_dtype", "fp32"}};
        }
        else if (wide == Dtype::kBf16 && !o.sharding.optimizer)
        {
            // Without ZeRO, bf16 is added up in fp32 by default (get_data_types of
            // deepspeed/runtime/engine.py).
            json["data_types"] = {{"grad_accum_dtype", "bf16"}};
        }
        if (o.compression == training::Compression::kFp16 && !o.wideReduction)
        {
            json["communication_data_type"] = "fp16";
        }
        else if (o.compression == training::Compression::kFp16)
        {
            HasNone("gradient-compression=fp16", "gradients go as --reduce-dtype=fp32 says");
        }
        else if (o.compression == training::Compression::kTopK)
        {
            HasNone(Format("gradient-compression=topk:%.6g", o.topRatio));
        }
        if (training::NarrowOf(o.dtype) || o.dtype == Dtype::kTf32)
        {
            HasNone("dtype=" + training::DtypeName(o.dtype), "it is set in the script");
        }
    }

    /// The names are those of deepspeed/runtime/config.py's DEEPSPEED_OPTIMIZERS and, for others,
    /// of torch.optim (_configure_basic_optimizer of deepspeed/runtime/engine.py). SGD is not among
    /// ZERO_SUPPORTED_OPTIMIZERS (deepspeed/runtime/zero/utils.py).
    void AddOptimizer(ordered_json& json)
    {
        const TrainingOptions& o = m_options;
        const bool isSgd = o.optimizer == training::Optimizer::kSgd ||
                           o.optimizer == training::Optimizer::kMomentum;
        if (isSgd)
        {
            const double momentum = o.optimizer == training::Optimizer::kMomentum ? 0.9 : 0;
            json["optimizer"] = {{"type", "SGD"}, {"params", {{"momentum", momentum}}}};
            if (o.sharding.optimizer)
            {
                json["zero_allow_untested_optimizer"] = true;
            }
        }
        else if (o.optimizer == training::Optimizer::kLamb)
        {
            json["optimizer"] = {{"type", "Lamb"}};
        }
        else if (o.optimizer == training::Optimizer::kAdam &&
                 IsGiven(&scenario::asked::Training::optimizer))
        {
            json["optimizer"] = {{"type", "Adam"}};
        }
        else if (o.optimizer == training::Optimizer::kAdafactor)
        {
            HasNone("optimizer=adafactor", "it is made in the script");
        }
    }

    void AddRecomputation(ordered_json& json)
    {
        const TrainingOptions& o = m_options;
        if (o.recompute == training::Recompute::kFull)
        {
            json["activation_checkpointing"] = {{"partition_activations", false}};
        }
        else if (o.recomputeModules > 0)
        {
            HasNone("recompute-modules", "the script says what is recomputed");
        }
        else if (o.recompute == training::Recompute::kSelective)
        {
            HasNone("recompute=selective", "the script says what is recomputed");
        }
    }

    /// Stages, tensor groups and experts are the script's; these it has not at all
    /// (deepspeed/runtime/pipe/module.py, schedule.py and topology.py).
    void SayPipeline()
    {
        const TrainingOptions& o = m_options;
        if (o.pipeline == 1)
        {
            return;
        }
        if (o.virtualStages > 1)
        {
            HasNone(Format("virtual-stages=%u", o.virtualStages), "its pipelines are 1f1b");
        }
        else if (o.schedule != "1f1b")
        {
            HasNone("pipeline-schedule=" + o.schedule, "its pipelines are 1f1b");
        }
        const bool isUneven = o.partition == training::Partition::kGiven ||
                              o.partition == training::Partition::kBalanced ||
                              o.partition == training::Partition::kPipeDream;
        if (isUneven)
        {
            HasNone(o.partition == training::Partition::kGiven
                        ? std::string("pipeline-layout")
                        : "partition=" + training::PartitionName(o.partition),
                    "it divides by layers, parameters, or type:REGEX");
        }
        if (training::IsCounted(o) && o.partition == training::Partition::kUniform)
        {
            const std::string embedding = "account-for-embedding-in-pipeline-split";
            const std::string loss = "account-for-loss-in-pipeline-split";
            HasNone(o.countEmbedding && o.countLoss ? embedding + ", --" + loss
                    : o.countEmbedding              ? embedding
                                                    : loss,
                    "it counts all layers alike");
        }
        if (o.partitionFront)
        {
            HasNone("partition-fill=front", "it fills evenly since October 2023");
        }
        if (IsGiven(&scenario::asked::Training::pipelineSends) && !o.deepSpeedSends)
        {
            HasNone(std::string("pipeline-sends=") + (o.awaitedSends ? "awaited" : "background"));
        }
    }

    void SayRest()
    {
        const TrainingOptions& o = m_options;
        if (o.rankOrder != *training::ParseDimensionOrder(kCopiesFirst) &&
            (o.pipeline > 1 || o.rankOrder != *training::ParseDimensionOrder(kPipelineFirst)))
        {
            HasNone("rank-order=" + training::DimensionOrderName(o.rankOrder));
        }
        if (o.context > 1 && o.contextExchange != training::ContextExchange::kUlysses)
        {
            HasNone("context-exchange=" + training::ContextExchangeName(o.contextExchange),
                    "its sequence parallelism is Ulysses");
        }
        if (o.expert <= 1)
        {
            return;
        }
        const bool isDeepEp = o.dispatcher == training::Dispatcher::kDeepEp;
        const std::pair<bool, std::string> others[] = {
            {o.expertOverlap, "moe-overlap=1"},
            {o.sharedOverlap, "moe-shared-expert-overlap=1"},
            {isDeepEp, "moe-dispatcher=deepep"},
            {isDeepEp && o.nodeLimit > 0, Format("moe-node-limit=%u", o.nodeLimit)},
            {IsOther(o.dispatchType), "moe-dispatch-type=" + TokenTypeName(o.dispatchType)},
            {IsOther(o.combineType), "moe-combine-type=" + TokenTypeName(o.combineType)}};
        for (const auto& [is, option] : others)
        {
            if (is)
            {
                HasNone(option);
            }
        }
    }

    /// Tokens that travel in another type than they are computed with.
    bool IsOther(training::TokenType type) const
    {
        return type != training::TokenType::kAsComputed &&
               TokenTypeName(type) != training::DtypeName(training::WideOf(m_options.dtype));
    }

    const TrainingOptions& m_options;
    const scenario::Values* const m_given;
    DeepSpeedLaunch m_launch;
};

} // namespace

DeepSpeedLaunch
LaunchOfDeepSpeed(const TrainingOptions& options, const scenario::Values* given)
{
    return DeepSpeedWriter(options, given).Write();
}

} // namespace planner
