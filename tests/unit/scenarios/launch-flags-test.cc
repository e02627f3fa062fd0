/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Flags of a plan for Megatron-LM and DeepSpeed: every option of dltrain is in them or in a note.
 */
#include "launched-job.h"

#include <set>

namespace
{

/// Options that the frameworks have no say in: they describe the job, or how it is simulated.
const std::set<std::string> kOfTheJob = {
    // the model, its data, and the machine
    "model",
    "gpu",
    "workload",
    "launch-gap",
    "slow-gpu",
    "gpu-spread",
    "host-link",
    "host-memory-rate",
    "jitter",
    "loader",
    "moe-skew",
    "profile",
    "profile-model",
    "profile-batch",
    "profile-floor",
    // what other software's own code does, which is no setting of these two
    "eager-bytes",
    "score-bytes",
    "host-launch",
    "recompute-keep",
    "norm",
    "loss",
    "logits",
    "kept-gathers",
    "gradient-copies",
    "bucketing",
    "overlap-share",
    "accumulate",
    // multiprocessors of NCCL's kernels
    "collective-sms",
    // memory beyond the GPU
    "memory",
    "place",
    "prefetch-layers",
    "memory-servers",
    "memory-rate",
    "memory-sweep",
    "remote-memory",
    // the run
    "steps",
    "warmup",
    "ignore-memory",
    "layers",
    "trace",
    "trace-ranks",
    "replicate",
    "export",
    // other options' names
    "recipe",
    "dp",
    "accumulation",
    // the network's
    "service-levels",
    // dlplan refuses them
    "overlap-next-forward",
    "study",
    "replicas",
    "vertical-sync",
    "auto-parallel",
    "shard",
    "shard-file",
    "shard-cost",
    "device-matrix",
    "shard-verify",
    "explain-sharding",
    "strategy",
    "fetch-every",
    "push-every",
    "backup-workers",
    "lbfgs-history"};

/// Options that DeepSpeed leaves to the script, which makes the model.
const std::set<std::string> kOfTheScript = {"mtp",
                                            "seq",
                                            "tp",
                                            "pp",
                                            "cp",
                                            "ep",
                                            "etp",
                                            "sequence-parallel",
                                            "tp-overlap",
                                            "tp-comm-overlap",
                                            "gradient-accumulation-fusion",
                                            "fused-attention",
                                            "attention-kernel",
                                            "kernels",
                                            "capacity-factor"};

/// An option that changes a job.
struct ToldOption
{
    const char* option;
    const char* value;
    std::string job;
};

std::vector<ToldOption>
ToldOptions()
{
    const std::string one = "--model=llama2-7b --seq=4096 --server=dgx-h100 --servers=2 ";
    const std::string zero3 = one + "--zero=3 ";
    const std::string deepSpeed3 = zero3 + "--zero-impl=deepspeed ";
    const std::string tensor = one + "--tp=2 --zero=1 --accumulation=8 ";
    const std::string stages = one + "--pp=4 --zero=1 --accumulation=8 ";
    // Its embedding and head weigh as much as four blocks each.
    const std::string uneven = stages + "--model=llama3.2-1b ";
    const std::string experts =
        "--model=deepseek-v2-lite --seq=2048 --server=dgx-h100 --servers=2 --ep=16 --zero=1 ";
    const std::string deepEp = experts + "--moe-dispatcher=deepep ";
    return {
        {"mtp", "1", "--model=deepseek-v3 --seq=2048 --server=dgx-h100 --servers=2 --zero=1"},
        {"zero", "1", one + "--zero=0"},
        {"zero-impl", "deepspeed", zero3},
        {"micro-batch", "2", one},
        {"global-batch", "512", one},
        {"seq", "2048", "--model=llama2-7b --server=dgx-h100 --servers=2"},
        {"dtype", "fp16", one},
        {"dtype", "tf32", one},
        {"dtype", "fp8-blockwise", one},
        {"dtype", "fp8", one},
        {"buckets", "64MiB", one},
        {"buckets", "64MiB", one + "--overlap=0"},
        {"gather-bytes", "100MB", one + "--zero=1"},
        {"prefetch", "100MB", zero3},
        {"overlap", "0", one},
        {"recompute", "full", one},
        {"recompute", "selective", one + "--fused-attention=0"},
        {"recompute", "selective", zero3},
        {"recompute-modules", "layernorm", one},
        {"recompute-modules", "mlp_act", one},
        {"fused-attention", "0", one},
        {"attention-kernel", "flash2", one + "--zero=1"},
        {"attention-kernel", "vendor", one + "--zero=1"},
        {"kernels", "eager", one + "--fused-attention=0"},
        {"master-weights", "0", one + "--zero=1"},
        {"first-bucket", "4MiB", one + "--zero=0"},
        {"reduce-dtype", "fp32", one},
        {"sharding", "hybrid", zero3},
        {"sharding", "hybrid", one + "--zero=1"},
        {"shard-size", "4", zero3 + "--sharding=hybrid"},
        {"zero-quantized-weights", "1", zero3},
        {"zero-hpz-partition-size", "8", zero3},
        {"zero-quantized-gradients", "1", zero3},
        {"persistence-threshold", "1000000", deepSpeed3},
        {"zero-tensor-lists", "1", deepSpeed3},
        {"cycle-time", "5ms", one + "--zero=0 --zero-impl=horovod"},
        {"gradient-compression", "topk:0.01", one + "--zero=0"},
        {"gradient-compression", "fp16", one + "--zero=0 --dtype=fp32"},
        {"collective-order", "priority", one},
        {"collective-chunk", "4MB", one},
        {"in-flight", "2", one},
        {"offload", "optimizer", one + "--zero=1"},
        {"offload", "all", zero3},
        {"optimizer", "sgd", one},
        {"optimizer", "momentum", one},
        {"optimizer", "lamb", one + "--zero=0"},
        {"optimizer", "adafactor", one + "--zero=0"},
        {"capacity-factor", "1.25", experts + "--moe-skew=1"},
        {"tp", "2", one},
        {"pp", "2", one},
        {"cp", "2", one},
        {"ep", "2", "--model=mixtral-8x7b --seq=2048 --server=dgx-h100 --servers=2 --zero=1"},
        {"etp",
         "1",
         "--model=mixtral-8x7b --seq=2048 --server=dgx-h100 --tp=2 --sequence-parallel"},
        {"moe-overlap", "1", experts + "--accumulation=4"},
        {"moe-shared-expert-overlap", "1", experts},
        {"moe-dispatcher", "deepep", experts},
        {"moe-node-limit", "1", deepEp},
        {"moe-dispatch-type", "fp8", deepEp},
        {"moe-combine-type", "fp8", deepEp},
        {"rank-order", "tp-cp-ep-pp-dp", stages},
        {"rank-order", "pp-tp-cp-ep-dp", stages},
        {"sequence-parallel", "1", tensor},
        {"tp-overlap", "0", tensor},
        {"tp-comm-overlap", "1", tensor + "--sequence-parallel"},
        {"gradient-accumulation-fusion", "0", tensor},
        {"gradient-accumulation-fusion", "1", one + "--zero=1 --accumulation=8"},
        {"context-exchange", "all-gather", one + "--cp=2"},
        {"context-exchange", "ulysses", one + "--cp=2"},
        {"pipeline-schedule", "gpipe", stages},
        {"pipeline-schedule", "zero-bubble", stages},
        {"pipeline-schedule", "dualpipev", stages},
        {"partition", "balanced", uneven},
        {"partition", "parameters", uneven},
        {"pipeline-layout", "Et*7|t*8|t*8|t*9L", stages},
        {"account-for-embedding-in-pipeline-split",
         "1",
         stages + "--account-for-loss-in-pipeline-split --virtual-stages=1 --model=llama3-405b"},
        {"account-for-loss-in-pipeline-split",
         "1",
         stages + "--account-for-embedding-in-pipeline-split --virtual-stages=1 "
                  "--model=llama3-405b"},
        {"partition-fill",
         "front",
         stages + "--model=gpt2 --seq=1024 --partition=type:Transformer|Embedding"},
        {"pipeline-sends", "background", stages},
        {"pipeline-sends", "awaited", stages + "--virtual-stages=2"},
        {"pipeline-sends", "deepspeed", stages},
        {"virtual-stages", "2", stages},
    };
}

} // namespace

// Each option that changes the step changes the flags of both frameworks, or their notes. A new
// option of dltrain has to be told, or to be among those that describe the job.
TEST(LaunchFlags, TellEveryOption)
{
    std::set<std::string> told;
    for (const ToldOption& case_ : ToldOptions())
    {
        const std::string option = case_.option;
        const std::string words = case_.job + " --" + option + "=" + case_.value;
        SCOPED_TRACE(words);
        // The job without it; accounts need both, or neither, for 126 blocks.
        std::string without = case_.job;
        if (option.rfind("account-for", 0) == 0)
        {
            without = without.substr(0, without.find("--account-for")) + "--model=llama3-405b";
            without.replace(without.find("--pp=4"), 6, "--pp=2");
        }
        const LaunchedJob base(without);
        const LaunchedJob job(words);
        ASSERT_TRUE(base.options) << without << ": " << base.why;
        ASSERT_TRUE(job.options) << job.why;
        EXPECT_NE(base.Megatron(), job.Megatron());
        if (kOfTheScript.count(option) == 0)
        {
            // Names that DeepSpeed's script has, and its own ways, change nothing there.
            const bool isOwn =
                (option == "pipeline-sends" && case_.value == std::string("deepspeed")) ||
                (option == "partition" && case_.value == std::string("parameters"));
            EXPECT_EQ(base.DeepSpeed() == job.DeepSpeed(), isOwn);
        }
        told.insert(option);
    }
    for (const scenario::Option& option : scenario::TrainingOptionTable().options)
    {
        if (option.path.rfind("/training/", 0) == 0)
        {
            EXPECT_EQ(told.count(option.name) + kOfTheJob.count(option.name), 1U) << option.name;
        }
    }
}

// 126 blocks and two layers that count as one each: 128 / (16 x 8) is one layer a piece.
TEST(LaunchFlags, CountEmbeddingAndLoss)
{
    const LaunchedJob job("--model=llama3-405b --server=dgx-h100 --servers=32 --seq=8192 --tp=8 "
                          "--pp=16 --virtual-stages=8 --zero=1 --micro-batch=1 --accumulation=32 "
                          "--sequence-parallel --account-for-embedding-in-pipeline-split "
                          "--account-for-loss-in-pipeline-split --recompute-modules=mlp_act");
    ASSERT_TRUE(job.options) << job.why;
    auto a = Arguments(job.megatron);
    EXPECT_EQ(a["--num-layers-per-virtual-pipeline-stage"], "1");
    EXPECT_EQ(a.count("--account-for-embedding-in-pipeline-split"), 1U);
    EXPECT_EQ(a.count("--account-for-loss-in-pipeline-split"), 1U);
    EXPECT_EQ(a.count("--recompute-granularity"), 0U);
    EXPECT_TRUE(job.HasNote("no flag for --recompute-modules=mlp_act"));
    EXPECT_TRUE(job.HasNote("CUDA_DEVICE_MAX_CONNECTIONS=1"));
    EXPECT_NE(job.DeepSpeed().find("no key for --virtual-stages=8"), std::string::npos);
}

// 32 blocks on three stages: 11, 11 and 10, as dltrain has them.
TEST(LaunchFlags, SayUnevenStages)
{
    const LaunchedJob uneven("--model=llama2-7b --server=dgx-h100 --servers=3 --pp=3 --zero=1 "
                             "--accumulation=6");
    ASSERT_TRUE(uneven.options) << uneven.why;
    EXPECT_EQ(Arguments(uneven.megatron)["--pipeline-model-parallel-layout"], "'Et*11|t*11|t*10L'");
    const LaunchedJob even("--model=llama2-7b --server=dgx-h100 --servers=1 --pp=2 --zero=1 "
                           "--accumulation=6");
    EXPECT_EQ(Arguments(even.megatron).count("--pipeline-model-parallel-layout"), 0U);
    // Modules that predict stand before the loss.
    const LaunchedJob mtp("--model=deepseek-v3 --server=dgx-h100 --servers=8 --pp=4 --zero=1 "
                          "--accumulation=8 --mtp=1 --seq=2048");
    ASSERT_TRUE(mtp.options) << mtp.why;
    EXPECT_EQ(Arguments(mtp.megatron)["--pipeline-model-parallel-layout"],
              "'Et*16|t*15|t*15|t*15mL'"); // 61 blocks
}

// Names and values of single flags.
TEST(LaunchFlags, HaveTheFrameworksValues)
{
    const std::string one = "--model=llama2-7b --seq=4096 --server=dgx-h100 --servers=2 ";
    const std::vector<std::tuple<std::string, std::string, std::string>> flags = {
        {"--cp=2 --context-exchange=ring", "--cp-comm-type", "p2p"},
        {"--cp=2 --context-exchange=all-gather", "--cp-comm-type", "all_gather"},
        {"--cp=2 --context-exchange=ulysses", "--cp-comm-type", "a2a"},
        {"--zero=1 --buckets=64MiB", "--ddp-bucket-size", "33554432"}, // of bf16
        {"--zero=1 --buckets=64MiB --reduce-dtype=fp32", "--ddp-bucket-size", "16777216"},
        {"--zero=3 --prefetch=100MB", "--suggested-communication-unit-size", "50000000"},
        {"--zero=2", "--data-parallel-sharding-strategy", "optim_grads"},
        {"--zero=3", "--data-parallel-sharding-strategy", "optim_grads_params"},
        {"--zero=1 --shard-size=4 --sharding=hybrid", "--num-distributed-optimizer-instances", "4"},
        {"--optimizer=sgd", "--sgd-momentum", "0.0"},
        {"--fused-attention=0", "--attention-backend", "unfused"},
        {"--zero=3", "--attention-backend", "flash"},
        {"--recipe=megatron", "--attention-backend", "fused"},
        {"--recipe=megatron", "--accumulate-allreduce-grads-in-fp32", ""},
        {"--zero=1", "--attention-backend", "auto"},
        {"--zero=1", "--grad-reduce-in-bf16", ""},
        {"--recompute-modules=layernorm,core_attn", "--recompute-modules", "layernorm core_attn"},
        {"--dtype=fp8-blockwise", "--fp8-recipe", "blockwise"}};
    for (const auto& [words, flag, value] : flags)
    {
        const LaunchedJob job(one + words);
        ASSERT_TRUE(job.options) << job.why;
        auto a = Arguments(job.megatron);
        EXPECT_EQ(a.count(flag), 1U) << words << "\n" << job.Megatron();
        EXPECT_EQ(a[flag], value) << words;
    }
    // Of fp32 nothing is said: it is what Megatron-LM does without --bf16.
    const LaunchedJob wide(one + "--dtype=fp32");
    for (const char* flag : {"--bf16", "--fp16", "--grad-reduce-in-bf16"})
    {
        EXPECT_EQ(Arguments(wide.megatron).count(flag), 0U);
    }
    const auto zero = [&one](const std::string& words) {
        return LaunchedJob(one + words).deepSpeed.config;
    };
    EXPECT_EQ(
        zero(
            "--zero=3 --zero-hpz-partition-size=8")["zero_optimization"]["zero_hpz_partition_size"],
        8);
    EXPECT_EQ(
        zero("--zero=3 --zero-impl=deepspeed --shard-size=8 --sharding=hybrid")["zero_optimization"]
                                                                               ["mics_shard_size"],
        8);
    EXPECT_EQ(zero("--zero=3 --offload=all")["zero_optimization"]["offload_param"]["device"],
              "cpu");
    EXPECT_EQ(zero("--zero=3 --prefetch=100MB")["zero_optimization"]["stage3_prefetch_bucket_size"],
              50000000);
    EXPECT_EQ(zero("--zero=1 --reduce-dtype=fp32")["data_types"]["grad_accum_dtype"], "fp32");
    EXPECT_EQ(zero("--zero=1 --master-weights=0")["bf16"]["bf16_optimizer_states"], true);
    EXPECT_EQ(zero("--zero=1 --optimizer=momentum")["zero_allow_untested_optimizer"], true);
}

// NCCL's variables say what dltrain was told, and dltrain reads them as the same.
TEST(LaunchFlags, TellNccl)
{
    const std::string one = "--model=llama2-7b --seq=4096 --server=dgx-h100 --servers=2 --zero=1 ";
    const auto notes = [&one](const std::string& words) {
        return planner::NcclNotes(ReadJob(one + words).values);
    };
    EXPECT_TRUE(notes("").empty());
    EXPECT_EQ(notes("--channels=16 --protocol=ll128").at(0),
              "NCCL needs NCCL_PROTO=LL128 NCCL_MIN_CTAS=16 NCCL_MAX_CTAS=16 in its environment");
    const auto some =
        notes("--algorithm=all_gather=hierarchical,all_reduce=double-binary-tree,ring");
    ASSERT_EQ(some.size(), 2U);
    EXPECT_EQ(some[0], "NCCL needs NCCL_ALGO=Ring;allreduce:Tree in its environment");
    EXPECT_EQ(some[1], "NCCL has no variable for --algorithm=all_gather=hierarchical");
    EXPECT_EQ(notes("--nccl-env=NCCL_ALGO=Ring,NCCL_PROTO=Simple").at(0),
              "NCCL needs NCCL_ALGO=Ring NCCL_PROTO=Simple in its environment");
    EXPECT_EQ(LaunchedJob(one + "--nccl-env=NCCL_ALGO=Ring;allreduce:Tree,NCCL_PROTO=LL128").why,
              "");
}

TEST(LaunchFlags, KnowNoPictures)
{
    const LaunchedJob job("--model=resnet-50 --server=dgx-h100 --servers=1");
    ASSERT_TRUE(job.options) << job.why;
    EXPECT_TRUE(job.megatron.flags.empty());
    EXPECT_TRUE(job.HasNote("Megatron-LM has no model like resnet-50"));
    EXPECT_EQ(job.deepSpeed.config["train_micro_batch_size_per_gpu"], job.options->microBatch);
}
