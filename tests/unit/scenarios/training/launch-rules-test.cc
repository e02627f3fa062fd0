/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Megatron-LM's own rules hold for the flags of every plan.
 */
#include "scenarios/training/expert-load.h"
#include "scenarios/training/piece-layers.h"
#include "scenarios/training/pipeline/layout-text.h"
#include "tests/unit/scenarios/launched-job.h"

#include <numeric>
#include <random>
#include <set>

namespace
{

using training::TrainingOptions;

/// Arguments of NVIDIA/Megatron-LM@000c4ac megatron/training/arguments.py that a plan may have.
const std::set<std::string> kArguments = {"--account-for-embedding-in-pipeline-split",
                                          "--account-for-loss-in-pipeline-split",
                                          "--accumulate-allreduce-grads-in-fp32",
                                          "--attention-backend",
                                          "--bf16",
                                          "--ckpt-format",
                                          "--context-parallel-size",
                                          "--cp-comm-type",
                                          "--data-parallel-sharding-strategy",
                                          "--ddp-bucket-size",
                                          "--expert-model-parallel-size",
                                          "--expert-tensor-parallel-size",
                                          "--fp16",
                                          "--fp4-format",
                                          "--fp4-recipe",
                                          "--fp8-format",
                                          "--fp8-recipe",
                                          "--global-batch-size",
                                          "--grad-reduce-in-bf16",
                                          "--micro-batch-size",
                                          "--moe-enable-deepep",
                                          "--moe-expert-capacity-factor",
                                          "--moe-grouped-gemm",
                                          "--moe-permute-fusion",
                                          "--moe-router-group-topk",
                                          "--moe-router-num-groups",
                                          "--moe-shared-expert-overlap",
                                          "--moe-token-dispatcher-type",
                                          "--mtp-num-layers",
                                          "--no-gradient-accumulation-fusion",
                                          "--no-overlap-p2p-communication",
                                          "--num-distributed-optimizer-instances",
                                          "--num-layers-per-virtual-pipeline-stage",
                                          "--optimizer",
                                          "--optimizer-cpu-offload",
                                          "--overlap-grad-reduce",
                                          "--overlap-moe-expert-parallel-comm",
                                          "--overlap-param-gather",
                                          "--pipeline-model-parallel-layout",
                                          "--pipeline-model-parallel-size",
                                          "--recompute-granularity",
                                          "--recompute-method",
                                          "--recompute-modules",
                                          "--recompute-num-layers",
                                          "--seq-length",
                                          "--sequence-parallel",
                                          "--sgd-momentum",
                                          "--suggested-communication-unit-size",
                                          "--tensor-model-parallel-size",
                                          "--tp-comm-overlap",
                                          "--use-distributed-optimizer",
                                          "--use-megatron-fsdp",
                                          "--use-precision-aware-optimizer",
                                          "--use-tp-pp-dp-mapping"};

/// What validate_args and TrainingConfig's checks assert (scenarios/layout-search/megatron-flags.cc
/// has the sources), of the arguments alone.
void
CheckRules(const LaunchedJob& job, const std::string& words)
{
    SCOPED_TRACE(words + "\n" + job.Megatron());
    const TrainingOptions& o = *job.options;
    auto a = Arguments(job.megatron);
    const auto has = [&a](const char* name) { return a.count(std::string("--") + name) > 0; };
    const auto number = [&](const char* name, uint64_t otherwise) -> uint64_t {
        return has(name) ? std::stoull(a[std::string("--") + name]) : otherwise;
    };
    const auto needs = [&](const char* one, std::initializer_list<const char*> others) {
        for (const char* other : others)
        {
            EXPECT_TRUE(!has(one) || has(other)) << one << " needs " << other;
        }
    };
    for (const auto& [name, value] : a)
    {
        EXPECT_EQ(kArguments.count(name), 1U) << name;
        EXPECT_NE(value, "0") << name;
    }
    const uint64_t tp = number("tensor-model-parallel-size", 1);
    const uint64_t pp = number("pipeline-model-parallel-size", 1);
    const uint64_t cp = number("context-parallel-size", 1);
    const uint64_t model = tp * pp * cp;
    ASSERT_EQ(o.ranks % model, 0U);
    EXPECT_EQ(number("global-batch-size", 0) % (number("micro-batch-size", 0) * (o.ranks / model)),
              0U);
    EXPECT_TRUE(cp == 1 || number("seq-length", 1) % (2 * cp) == 0);

    // The pipeline: one way to say its cut, and stages of as many layers.
    const uint64_t counted = uint64_t{has("account-for-embedding-in-pipeline-split")} +
                             uint64_t{has("account-for-loss-in-pipeline-split")};
    const uint64_t blocks = training::StageBlocksOf(o.model);
    if (has("pipeline-model-parallel-layout"))
    {
        EXPECT_FALSE(has("num-layers-per-virtual-pipeline-stage"));
        EXPECT_EQ(counted, 0U);
        std::string layout = a["--pipeline-model-parallel-layout"];
        ASSERT_GT(layout.size(), 2U);
        EXPECT_EQ(layout.front(), '\'');
        layout = layout.substr(1, layout.size() - 2);
        EXPECT_EQ(layout.front(), 'E');
        EXPECT_EQ(layout.back(), 'L');
        const auto read = training::ParsePipelineLayout(layout);
        EXPECT_EQ(read.problem, "");
        EXPECT_EQ(read.blocks.size(), o.Pieces());
        EXPECT_EQ(std::accumulate(read.blocks.begin(), read.blocks.end(), uint64_t{0}), blocks);
        EXPECT_EQ(read.predictors.value_or(0), number("mtp-num-layers", 0));
        // Each piece has the blocks that it has in dltrain.
        std::vector<uint32_t> own(o.Pieces(), 0);
        const auto pieces = training::PiecesOfLayers(o);
        for (std::size_t i = 0; i < pieces.size(); ++i)
        {
            own[pieces[i]] += training::IsBlock(o.model, o.model.layers[i]) ? 1 : 0;
        }
        EXPECT_EQ(read.blocks, own);
    }
    else if (pp > 1 && o.schedule != "dualpipev" && !job.HasNote("--partition"))
    {
        ASSERT_EQ((blocks + counted) % pp, 0U);
        const uint64_t each = number("num-layers-per-virtual-pipeline-stage", 0);
        EXPECT_EQ(each > 0, o.virtualStages > 1);
        EXPECT_TRUE(each == 0 || (blocks + counted) / pp == each * o.virtualStages);
    }
    EXPECT_TRUE(!has("no-overlap-p2p-communication") || pp > 2);
    EXPECT_TRUE(pp > 1 || (!has("num-layers-per-virtual-pipeline-stage") && counted == 0));

    EXPECT_TRUE(!has("sequence-parallel") || tp > 1);
    EXPECT_TRUE(!has("cp-comm-type") || cp > 1);
    needs("tp-comm-overlap", {"sequence-parallel"});
    needs("overlap-param-gather", {"overlap-grad-reduce", "use-distributed-optimizer"});
    needs("use-megatron-fsdp",
          {"data-parallel-sharding-strategy",
           "use-distributed-optimizer",
           "no-gradient-accumulation-fusion",
           "ckpt-format"});
    needs("data-parallel-sharding-strategy", {"use-megatron-fsdp"});
    needs("ckpt-format", {"use-megatron-fsdp"});
    needs("suggested-communication-unit-size", {"use-megatron-fsdp"});
    needs("num-distributed-optimizer-instances", {"use-distributed-optimizer"});
    needs("ddp-bucket-size", {"overlap-grad-reduce"});
    needs("optimizer-cpu-offload", {"use-precision-aware-optimizer", "use-distributed-optimizer"});
    needs("moe-enable-deepep", {"moe-token-dispatcher-type"});
    const bool isMixture = training::RoutingOf(o.model).has_value();
    // One kernel of all experts, as they are timed; "only supports bf16 dtype".
    EXPECT_EQ(has("moe-grouped-gemm") && has("bf16"), isMixture && has("bf16"));
    EXPECT_TRUE(has("bf16") || !has("moe-grouped-gemm") || has("recompute-modules"));
    EXPECT_EQ(has("moe-permute-fusion"), isMixture);
    needs("moe-shared-expert-overlap", {"moe-token-dispatcher-type"});
    needs("overlap-moe-expert-parallel-comm",
          {"moe-token-dispatcher-type", "expert-model-parallel-size"});
    needs("moe-router-group-topk", {"moe-router-num-groups"});
    needs("fp8-recipe", {"fp8-format", "bf16"});
    needs("fp4-format", {"bf16"});
    needs("grad-reduce-in-bf16", {"bf16"});
    EXPECT_FALSE(has("fp8-format") && has("fp4-format"));
    EXPECT_FALSE(has("fp16") && has("bf16"));
    EXPECT_FALSE(has("grad-reduce-in-bf16") && has("accumulate-allreduce-grads-in-fp32"));
    EXPECT_TRUE(!has("moe-enable-deepep") || a["--moe-token-dispatcher-type"] == "flex");
    if (has("moe-router-num-groups"))
    {
        const uint64_t groups = number("moe-router-num-groups", 1);
        EXPECT_LE(number("moe-router-group-topk", 0), groups);
        EXPECT_EQ(training::RoutingOf(o.model)->experts % groups, 0U);
    }

    // Recomputation: a method with full, none with selective, and modules that are known.
    const std::string granularity = a["--recompute-granularity"];
    EXPECT_EQ(has("recompute-method"), granularity == "full");
    EXPECT_EQ(has("recompute-num-layers"), granularity == "full");
    EXPECT_EQ(has("recompute-modules"), granularity == "selective");
    std::istringstream modules(a["--recompute-modules"]);
    const std::set<std::string> known =
        {"core_attn", "moe_act", "layernorm", "mla_up_proj", "mlp", "moe", "shared_experts"};
    for (std::string module; modules >> module;)
    {
        EXPECT_EQ(known.count(module), 1U) << module;
        EXPECT_TRUE(module != "moe_act" || has("moe-grouped-gemm"));
    }
    const auto refused = [&](bool is, const std::string& what) {
        EXPECT_EQ(is, job.HasNote("Megatron-LM refuses " + what)) << what;
    };
    refused(training::RoutingOf(o.model) && tp > 1 && !has("sequence-parallel"), "--tp=");
    refused(number("expert-model-parallel-size", 1) > 1 && has("fp16"), "--ep=");
    refused(has("use-megatron-fsdp") && has("use-tp-pp-dp-mapping"), "--rank-order=");
    refused(a["--attention-backend"] == "unfused" && cp > 1, "--fused-attention=0");
}

/// One of them.
template <class T>
T
Draw(std::mt19937* random, std::vector<T> values)
{
    return values[(*random)() % values.size()];
}

/// A job at random; many are refused.
std::string
RandomJob(std::mt19937* random)
{
    const auto draw = [random](std::vector<std::string> values) {
        return Draw(random, std::move(values));
    };
    const std::string model =
        draw({"llama2-7b", "gpt2", "mixtral-8x7b", "deepseek-v2-lite", "llama3-8b"});
    std::string words = "--model=" + model + " --seq=2048 --server=dgx-h100 --servers=3";
    words += " --tp=" + draw({"1", "1", "2", "4"});
    const std::string stages = draw({"1", "2", "3", "4"});
    words += " --pp=" + stages;
    words += " --cp=" + draw({"1", "1", "1", "2"});
    words += " --micro-batch=" + draw({"1", "2"}) + " --accumulation=" + draw({"4", "8", "12"});
    words += " --zero=" + draw({"0", "1", "1", "2", "3"});
    words += stages == "1" ? "" : draw({"", "", " --virtual-stages=2"});
    words += draw({"", " --sequence-parallel"});
    words += draw({"", "", " --recompute=full", " --recompute=selective"});
    words += draw({"", "", " --recompute-modules=mlp", " --recompute-modules=layernorm,core_attn"});
    const std::string embedding = " --account-for-embedding-in-pipeline-split";
    const std::string loss = " --account-for-loss-in-pipeline-split";
    words += draw({"",
                   "",
                   " --partition=balanced",
                   " --partition=parameters",
                   embedding,
                   loss,
                   embedding + loss});
    words += draw({"", "", " --rank-order=tp-cp-ep-pp-dp"});
    words += draw({"", " --overlap=0", " --buckets=64MiB"});
    words += draw({"", " --reduce-dtype=fp32"});
    words += draw({"", "", " --dtype=fp16", " --dtype=fp8", " --dtype=fp32"});
    words += draw({"", "", "", " --fused-attention=0"});
    words += draw({"", "", " --offload=optimizer"});
    if (model == "mixtral-8x7b" || model == "deepseek-v2-lite")
    {
        words += " --ep=" + draw({"1", "2", "4", "8"});
        words += draw({"", "", " --etp=1"});
        words += draw({"", " --moe-dispatcher=deepep", " --moe-overlap"});
        words += draw({"", " --moe-shared-expert-overlap", " --recompute-modules=moe_act"});
    }
    return words;
}

} // namespace

// Megatron-LM's own assertions, over jobs at random.
TEST(LaunchRules, HoldForRandomJobs)
{
    std::mt19937 random(1);
    int valid = 0;
    int pipelines = 0;
    for (int i = 0; i < 300; ++i)
    {
        const std::string words = RandomJob(&random);
        const LaunchedJob job(words);
        if (job.options)
        {
            ++valid;
            pipelines += job.options->pipeline > 1 ? 1 : 0;
            CheckRules(job, words);
        }
    }
    EXPECT_GT(valid, 80);
    EXPECT_GT(pipelines, 40);
}

// The same of the published layout of Llama-3 405B, and of a plan with all that experts have.
TEST(LaunchRules, HoldForLargeJobs)
{
    for (const std::string& words :
         {"--model=llama3-405b --server=dgx-h100 --servers=32 --seq=8192 --tp=8 --pp=16 "
          "--virtual-stages=8 --zero=1 --micro-batch=1 --accumulation=32 --sequence-parallel "
          "--account-for-embedding-in-pipeline-split --account-for-loss-in-pipeline-split",
          "--model=deepseek-v3 --server=dgx-h100 --servers=32 --seq=2048 --pp=4 --ep=32 --zero=1 "
          "--micro-batch=1 --accumulation=8 --moe-dispatcher=deepep --moe-node-limit=2 --mtp=1 "
          "--moe-shared-expert-overlap --recompute-modules=layernorm,mla_up_proj,moe_act"})
    {
        const LaunchedJob job(words);
        ASSERT_TRUE(job.options) << job.why;
        CheckRules(job, words);
    }
}
