/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * dlserve's options of engines: what a preset of --framework decides, and room for KV.
 */
#include "scenarios/inference/engine-preset.h"
#include "scenarios/inference/options/served-model.h"
#include "scenarios/inference/options/serving-options.h"
#include "scenarios/inference/options/serving-words.h"
#include "tests/unit/scenarios/parse-words.h"

#include <gtest/gtest.h>
#include <string>

using namespace scenario;

namespace
{

ServingScenario
Engine(const std::string& options)
{
    const auto result = ParseWords<ServingScenario>(options);
    EXPECT_TRUE(result.scenario) << options;
    return result.scenario.value_or(ServingScenario());
}

std::string
RefusedEngine(const std::string& options)
{
    const auto result = ParseWords<ServingScenario>(options);
    EXPECT_FALSE(result.scenario) << options;
    return result.errors.empty() ? "" : result.errors.front().Text();
}

} // namespace

TEST(EngineOptions, APresetDecidesWhatIsNotGiven)
{
    const ServingScenario s = Engine("--model=llama3-8b --server=dgx-h100 --framework=trtllm-1");
    EXPECT_EQ(s.serving.scheduler, "no-evict");
    EXPECT_EQ(s.serving.tokenBudget, 8192U);
    EXPECT_EQ(s.serving.maxBatch, 2048U);
    EXPECT_FALSE(s.serving.chunkedPrefill);
    EXPECT_EQ(s.kvRoom.of, serving::KvRoom::Of::kFree);
    EXPECT_DOUBLE_EQ(s.kvRoom.share, 0.9);
    EXPECT_NE(s.engineText.find("scheduler=no-evict"), std::string::npos);

    const ServingScenario own =
        Engine("--model=llama3-8b --server=dgx-h100 --framework=trtllm-1 --scheduler=vllm "
               "--token-budget=4096 --max-batch=64 --kv-memory=0.8");
    EXPECT_EQ(own.serving.scheduler, "vllm");
    EXPECT_EQ(own.serving.tokenBudget, 4096U);
    EXPECT_EQ(own.serving.maxBatch, 64U);
    EXPECT_EQ(own.kvRoom.of, serving::KvRoom::Of::kAll);
    EXPECT_DOUBLE_EQ(own.kvRoom.share, 0.8);
}

TEST(EngineOptions, BudgetsOfVllmFollowTheGpu)
{
    // 8,192 and 1,024 from 70 GiB on but for A100; H100's and H200's alone before 0.10.
    const auto budget = [](const std::string& framework, const std::string& server) {
        const auto s =
            Engine("--model=llama3-8b --framework=" + framework + " --server=" + server).serving;
        return std::to_string(s.tokenBudget) + " " + std::to_string(s.maxBatch);
    };
    EXPECT_EQ(budget("vllm-0.14", "dgx-h100"), "8192 1024");
    EXPECT_EQ(budget("vllm-0.14", "dgx-a100"), "2048 256");
    EXPECT_EQ(budget("vllm-0.8", "dgx-h200"), "8192 256");
    EXPECT_EQ(budget("vllm-0.8", "dgx-b200"), "2048 256");
    EXPECT_EQ(budget("vllm", "dgx-h100"), "2048 256");
    // V0 has whole prompts within the context of the model, 8,192 here.
    EXPECT_EQ(budget("vllm-0.5", "dgx-h100"), "8192 256");
    EXPECT_EQ(Engine("--model=llama3-8b --framework=vllm-0.5").serving.scheduler, "prefill-first");
}

TEST(EngineOptions, EveryPresetRuns)
{
    for (const auto* preset : serving::RegisteredEnginePreset::All())
    {
        const ServingScenario s =
            Engine("--model=llama3-8b --server=dgx-h100 --framework=" + preset->name);
        EXPECT_EQ(s.framework.name, preset->name);
        EXPECT_GT(s.serving.kvBlocks.front(), 0U);
    }
}

TEST(EngineOptions, RoomForKvByRule)
{
    const std::string base = "--model=llama3-8b --server=dgx-h100 --framework=ideal --kv-of=";
    const auto tokens = [&](const std::string& of) {
        const ServingScenario s = Engine(base + of);
        const ServingMemory memory = ServingMemoryOf(s.model,
                                                     s.dtype,
                                                     s.kvElementBytes,
                                                     s.serving.pools[0],
                                                     s.serving.tokenBudget,
                                                     s.serving.maxBatch);
        const auto all = static_cast<double>(s.gpu.memoryBytes);
        const double fixed = memory.parameters + memory.activations;
        const double room = of == "free:0.5"     ? 0.5 * (all - fixed)
                            : of == "static:0.5" ? 0.5 * all - memory.parameters
                                                 : 0.5 * all - fixed;
        EXPECT_EQ(s.serving.kvBlocks[0],
                  static_cast<uint64_t>(room / (memory.kvToken * s.serving.kvBlock)))
            << of;
        return s.serving.kvBlocks[0];
    };
    EXPECT_LT(tokens("all:0.5"), tokens("static:0.5"));
    EXPECT_LT(tokens("static:0.5"), tokens("free:0.5"));
    EXPECT_EQ(tokens("all:0.5"),
              Engine("--model=llama3-8b --server=dgx-h100 --framework=ideal --kv-memory=0.5")
                  .serving.kvBlocks[0]);
}

TEST(EngineOptions, WordsOfEngines)
{
    EXPECT_EQ(ParseKvRoom("free:90%").value->share, 0.9);
    EXPECT_EQ(ParseKvRoom("fre:0.9").nearest, "free");
    EXPECT_FALSE(ParseKvRoom("free:0").value);
    EXPECT_FALSE(ParseKvRoom("free").value);
    EXPECT_EQ(ParseBatchWait("20:0.9").value->iterations, 20U);
    EXPECT_EQ(ParseBatchWait("20:0.9").value->share, 0.9);
    EXPECT_EQ(ParseBatchWait("20").value->share, 1);
    EXPECT_FALSE(ParseBatchWait("0").value);
    EXPECT_FALSE(ParseBatchWait("20:2").value);
}

TEST(EngineOptions, Refusals)
{
    EXPECT_NE(RefusedEngine("--kv-of=free:0.9 --kv-memory=0.8").find("kv-memory"),
              std::string::npos);
    EXPECT_NE(RefusedEngine("--batch-wait=20:0.9").find("no-evict"), std::string::npos);
    EXPECT_NE(RefusedEngine("--enforce-eager --cuda-graphs=8").find("cuda-graphs"),
              std::string::npos);
    EXPECT_EQ(Engine("--enforce-eager").framework.graph, 0);
    EXPECT_EQ(Engine("--cuda-graphs=64").framework.graph, 64);
    EXPECT_DOUBLE_EQ(Engine("--answer-time=5ms").serving.answerTime, 5e-3);
    EXPECT_EQ(Engine("--poll-interval=30").serving.pollInterval, 30U);
}
