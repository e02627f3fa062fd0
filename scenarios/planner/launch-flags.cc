/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "scenarios/planner/launch-flags.h"

#include "scenarios/options/cluster/server-kinds.h"
#include "scenarios/planner/layout-space.h"
#include "scenarios/planner/unequal-stages.h"
#include "scenarios/training/fewer-layers.h"

namespace planner
{

namespace
{

void
AddNarrow(std::vector<std::string>& flags, training::Dtype dtype)
{
    switch (dtype)
    {
    case training::Dtype::kFp8:
        flags.emplace_back("--fp8-format hybrid");
        break;
    case training::Dtype::kFp8Tensorwise:
        flags.insert(flags.end(), {"--fp8-format hybrid", "--fp8-recipe tensorwise"});
        break;
    case training::Dtype::kFp8Blockwise:
        flags.insert(flags.end(), {"--fp8-format e4m3", "--fp8-recipe blockwise"});
        break;
    case training::Dtype::kMxFp8:
        flags.insert(flags.end(), {"--fp8-format e4m3", "--fp8-recipe mxfp8"});
        break;
    case training::Dtype::kNvFp4:
        flags.insert(flags.end(), {"--fp4-format e2m1", "--fp4-recipe nvfp4"});
        break;
    default:
        break;
    }
}

} // namespace

std::vector<std::string>
MegatronFlags(const training::TrainingOptions& o)
{
    std::vector<std::string> flags;
    const auto add = [&flags](const char* name, uint64_t number) {
        flags.push_back(std::string("--") + name + " " + std::to_string(number));
    };
    add("tensor-model-parallel-size", o.tensor);
    add("pipeline-model-parallel-size", o.pipeline);
    if (o.partition == training::Partition::kGiven)
    {
        flags.push_back("--pipeline-model-parallel-layout '" + unequal::MegatronLayout(o) + "'");
    }
    else if (o.virtualStages > 1)
    {
        add("num-layers-per-virtual-pipeline-stage", training::StageBlocksOf(o.model) / o.Pieces());
    }
    if (o.context > 1)
    {
        add("context-parallel-size", o.context);
    }
    if (o.expert > 1)
    {
        add("expert-model-parallel-size", o.expert);
    }
    if (o.expertTensor > 0 && o.expertTensor != o.tensor)
    {
        add("expert-tensor-parallel-size", o.expertTensor);
    }
    if (o.pipeline > 1 && o.rankOrder == training::ParseDimensionOrder(kPipelineFirst))
    {
        flags.emplace_back("--use-tp-pp-dp-mapping");
    }
    add("micro-batch-size", o.microBatch);
    add("global-batch-size", o.GlobalBatch());
    if (o.model.hasSequence)
    {
        add("seq-length", o.sequence);
    }
    if (o.sequenceParallel && o.tensor > 1)
    {
        flags.emplace_back("--sequence-parallel");
    }
    if (o.sharding.parameters || o.sharding.gradients)
    {
        flags.emplace_back("--use-megatron-fsdp");
        flags.push_back(std::string("--data-parallel-sharding-strategy ") +
                        (o.sharding.parameters ? "optim_grads_params" : "optim_grads"));
    }
    if (o.sharding.optimizer)
    {
        flags.emplace_back("--use-distributed-optimizer");
    }
    if (o.overlap.value_or(true) && o.Replicas() > 1)
    {
        flags.emplace_back("--overlap-grad-reduce");
        if (o.sharding.optimizer)
        {
            flags.emplace_back("--overlap-param-gather");
        }
    }
    if (o.recompute == training::Recompute::kFull)
    {
        flags.emplace_back("--recompute-granularity full");
        flags.emplace_back("--recompute-method uniform");
        flags.emplace_back("--recompute-num-layers 1");
    }
    else if (o.recompute == training::Recompute::kSelective)
    {
        flags.emplace_back("--recompute-granularity selective");
    }
    if (o.fusedAttention)
    {
        flags.emplace_back("--attention-backend " +
                           std::string(o.sharding.parameters ? "flash" : "auto"));
    }
    if (o.dtype == training::Dtype::kFp16)
    {
        flags.emplace_back("--fp16");
    }
    else if (training::WideOf(o.dtype) == training::Dtype::kBf16)
    {
        flags.emplace_back("--bf16");
    }
    AddNarrow(flags, o.dtype);
    return flags;
}

nlohmann::ordered_json
DeepSpeedConfig(const training::TrainingOptions& o)
{
    nlohmann::ordered_json json;
    json["train_batch_size"] = o.GlobalBatch();
    json["train_micro_batch_size_per_gpu"] = o.microBatch;
    json["gradient_accumulation_steps"] = o.accumulation;
    auto& zero = json["zero_optimization"];
    zero["stage"] = o.sharding.Stage();
    zero["overlap_comm"] = o.overlap.value_or(true);
    if (o.bucketBytes && *o.bucketBytes > 0)
    {
        zero["reduce_bucket_size"] = *o.bucketBytes / o.GradientBytes();
    }
    if (o.sharding.optimizer && !o.sharding.parameters && o.gatherBytes)
    {
        zero["allgather_bucket_size"] = *o.gatherBytes / training::DtypeBytes(o.dtype);
    }
    if (o.dtype == training::Dtype::kFp16)
    {
        json["fp16"] = {{"enabled", true}};
    }
    else if (training::WideOf(o.dtype) == training::Dtype::kBf16)
    {
        json["bf16"] = {{"enabled", true}};
    }
    if (o.recompute != training::Recompute::kNone)
    {
        json["activation_checkpointing"] = {{"partition_activations", false}};
    }
    return json;
}

std::string
TorchrunLine(const scenario::TrainingScenario& cluster)
{
    return "torchrun --nnodes=" + std::to_string(cluster.cluster.servers) +
           " --nproc-per-node=" + std::to_string(cluster.cluster.server.gpus) +
           " --rdzv-backend=c10d --rdzv-endpoint=$HEAD_NODE:29500 train.py" +
           (cluster.cluster.kinds.empty()
                ? ""
                : " # node ranks in this order: " + scenario::ServerKindsText(cluster.cluster));
}

} // namespace planner
