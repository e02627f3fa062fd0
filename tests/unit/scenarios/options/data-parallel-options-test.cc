/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Options of data parallelism: what is decided, what is refused, and that a configuration as run
 * can be read back.
 */
#include "scenarios/dry-run/plan-text.h"
#include "scenarios/training/options/data-parallel-options.h"
#include "tests/unit/scenarios/parse-words.h"

#include <fstream>
#include <gtest/gtest.h>
#include <string>
#include <vector>

using namespace scenario;

namespace
{

/// 8 servers of 4 GPUs.
constexpr const char* kSmall = "--model=gpt2 --servers=8 --gpus-per-server=4 ";

ParseResult<TrainingScenario>
Train(const std::string& more)
{
    return ParseWords<TrainingScenario>(kSmall + more);
}

void
ExpectError(const std::string& more, const std::vector<std::string>& words)
{
    const auto read = Train(more);
    ASSERT_EQ(read.errors.size(), 1u) << more;
    const std::string error = read.errors[0].Text();
    for (const std::string& word : words)
    {
        EXPECT_NE(error.find(word), std::string::npos) << more << ": " << error;
    }
}

const std::vector<std::string> kGood = {
    "--zero=0",
    "--zero=0 --first-bucket=4MiB",
    "--zero=0 --buckets=10MiB",
    "--zero=2",
    "--reduce-dtype=fp32",
    "--reduce-dtype=parameters",
    "--accumulate-allreduce-grads-in-fp32",
    "--sharding=full",
    "--sharding=hybrid",
    "--shard-size=2 --zero=3",
    "--sharding=hybrid --shard-size=16 --zero=1",
    "--zero=3 --zero-impl=deepspeed --mics-shard-size=8",
    "--zero=3 --zero-quantized-weights --zero-hpz-partition-size=8 --zero-quantized-gradients",
    "--zero=2 --zero-hpz-partition-size=1 --no-zero-quantized-weights",
    "--zero=3 --zero-impl=deepspeed",
    "--zero=3 --zero-impl=deepspeed --stage3-param-persistence-threshold=0",
    "--zero=3 --zero-impl=deepspeed --zero-tensor-lists",
    "--zero=2 --no-zero-tensor-lists",
    "--zero=0 --zero-impl=horovod --cycle-time=5ms --fusion-threshold=64MiB",
    "--zero=0 --zero-impl=horovod --fusion-threshold=0",
    "--zero=0 --dtype=fp32 --gradient-compression=fp16",
    "--zero=0 --gradient-compression=topk:0.01",
    "--zero=0 --gradient-compression=none",
};

} // namespace

TEST(DataParallelOptions, AreDecided)
{
    const auto plain = Train("--zero=0");
    ASSERT_TRUE(plain.scenario);
    EXPECT_EQ(plain.scenario->run.asRun["training"]["first_bucket"], "1MiB");
    EXPECT_EQ(*plain.scenario->options.firstBucketBytes, 1u << 20);

    const auto own = Train("--zero=0 --buckets=10MiB");
    ASSERT_TRUE(own.scenario);
    EXPECT_EQ(own.scenario->run.asRun["training"]["first_bucket"], "10MiB");

    // As many ranks as hold the same in a server of 4 GPUs.
    EXPECT_EQ(Train("--sharding=hybrid").scenario->options.shard, 4u);
    EXPECT_EQ(Train("--sharding=hybrid --tp=2").scenario->options.shard, 2u);
    EXPECT_EQ(Train("--shard-size=8").scenario->run.asRun["training"]["sharding"], "hybrid");
    EXPECT_EQ(Train("--zero=3 --zero-quantized-gradients").scenario->options.quantizedGradients,
              4u);
    EXPECT_FALSE(Train("--shard-size=32").notes.empty()) << "all of them";

    const auto deep = Train("--zero=3 --zero-impl=deepspeed");
    EXPECT_EQ(deep.scenario->run.asRun["training"]["persistence_threshold"], 100000);
    EXPECT_EQ(Train("--zero=0 --zero-impl=horovod").scenario->options.bucketBytes, 128u << 20);
}

TEST(DataParallelOptions, AsRunReadsBack)
{
    for (const std::string& good : kGood)
    {
        const auto once = Train(good);
        ASSERT_TRUE(once.scenario)
            << good << ": " << (once.errors.empty() ? "" : once.errors[0].Text());
        const std::string file = testing::TempDir() + "/data-parallel-as-run.json";
        std::ofstream(file) << once.scenario->run.asRun.dump();
        const auto again = ParseWords<TrainingScenario>("--scenario=" + file);
        ASSERT_TRUE(again.scenario)
            << good << ": " << (again.errors.empty() ? "" : again.errors[0].Text());
        EXPECT_EQ(again.scenario->run.asRun, once.scenario->run.asRun) << good;
        EXPECT_EQ(again.scenario->plan.roles[0].tasks.size(),
                  once.scenario->plan.roles[0].tasks.size());
    }
}

TEST(DataParallelOptions, AreRefusedWhereTheyDoNothing)
{
    ExpectError("--zero=2 --first-bucket=4MiB", {"--first-bucket", "--zero=0"});
    ExpectError("--zero=0 --zero-impl=deepspeed --first-bucket=4MiB", {"--zero-impl=paper"});
    ExpectError("--zero=0 --first-bucket=1", {"--first-bucket", "2 bytes"});
    ExpectError("--zero=0 --sharding=hybrid", {"--sharding", "--zero=1, 2 or 3"});
    ExpectError("--sharding=full --shard-size=4", {"--shard-size", "--sharding=hybrid"});
    ExpectError("--shard-size=5", {"--shard-size", "5", "32 ranks"});
    ExpectError("--sharding=hybrid --tp=4", {"--shard-size", "shares nothing out"});
    ExpectError("--zero-impl=deepspeed --sharding=hybrid", {"MiCS", "--zero=3"});
    ExpectError("--zero=2 --zero-quantized-weights", {"--zero-quantized-weights", "--zero=3"});
    ExpectError("--zero=2 --zero-hpz-partition-size=4", {"--zero=3"});
    ExpectError("--zero=3 --zero-hpz-partition-size=3", {"does not divide", "32"});
    ExpectError("--zero=3 --sharding=hybrid --zero-quantized-weights", {"--sharding=full"});
    ExpectError("--zero=3 --persistence-threshold=5", {"--zero-impl=deepspeed"});
    ExpectError("--zero=3 --zero-tensor-lists", {"--zero-tensor-lists", "--zero-impl=deepspeed"});
    ExpectError("--zero=2 --zero-impl=deepspeed --zero-tensor-lists", {"--zero=3"});
    ExpectError("--zero=3 --zero-impl=deepspeed --zero-tensor-lists --zero-hpz-partition-size=8",
                {"ZeRO++"});
    ExpectError("--zero=2 --zero-impl=horovod", {"--zero-impl", "--zero=0"});
    ExpectError("--zero=0 --cycle-time=2ms", {"--cycle-time", "horovod"});
    ExpectError("--zero=0 --fusion-threshold=0",
                {"--fusion-threshold", "is 0", "--zero-impl=horovod"});
    ExpectError("--zero=2 --zero-impl=deepspeed --buckets=0", {"--buckets", "horovod", "2 bytes"});
    ExpectError("--zero=0 --zero-impl=horovod --buckets=1", {"--buckets", "2 bytes"});
    ExpectError("--zero=2 --gradient-compression=topk:0.1", {"--zero=0"});
    ExpectError("--zero=0 --gradient-compression=fp16", {"16 bits already", "--dtype=fp32"});
    for (const char* bad : {"topk", "topk:", "topk:0", "topk:2", "topk:0.1x", "topk:nan", "fp8"})
    {
        ExpectError(std::string("--zero=0 --gradient-compression=") + bad, {bad, "topk:RATIO"});
    }
    for (const Option& row : DataParallelOptionRows())
    {
        const std::string& name = row.name;
        const std::string value = name == "sharding"               ? "=full"
                                  : name == "zero-tensor-lists"    ? ""
                                  : name == "reduce-dtype"         ? "=fp32"
                                  : name == "gradient-compression" ? "=none"
                                  : name == "cycle-time"           ? "=1ms"
                                  : name.rfind("zero-q", 0) == 0   ? ""
                                                                   : "=4";
        ExpectError("--strategy=downpour --" + name + value, {"--" + name, "downpour"});
    }
}

TEST(DataParallelOptions, ThePlanTells)
{
    const auto text = PlanText(*Train("--zero=3 --sharding=hybrid --reduce-dtype=fp32").scenario);
    EXPECT_NE(text.find("gradients in fp32"), std::string::npos) << text;
    EXPECT_NE(text.find("hybrid sharding (4 ranks a copy)"), std::string::npos) << text;
    EXPECT_NE(text.find("dp-copies, 4 groups of 8"), std::string::npos) << text;
}
