/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Schedulers of engines, iteration by iteration, against sequences made by hand from their
 * definitions: TensorRT-LLM's without eviction, prompts first as SGLang's, looks for requests.
 */
#include "scenarios/inference/engine.h"
#include "tests/unit/scenarios/serving/served-run.h"

#include <gtest/gtest.h>
#include <memory>
#include <string>
#include <utility>

using namespace serving;

namespace
{

ServingSpec
EngineSpec(const std::string& scheduler, uint32_t budget, bool chunks)
{
    ServingSpec spec = served::OneInstance();
    spec.scheduler = scheduler;
    spec.tokenBudget = budget;
    spec.chunkedPrefill = chunks;
    spec.kvBlock = 4;
    return spec;
}

void
Ask(Engine* engine, uint32_t id, uint32_t prompt, uint32_t output)
{
    auto live = std::make_unique<Live>();
    live->id = id;
    live->prompt = prompt;
    live->output = output;
    engine->Take(std::move(live));
}

/// "0:6 1:4 ": requests of the batch and the tokens that each computes; then it ends.
std::string
Turn(Engine* engine)
{
    const Batch batch = engine->Schedule();
    std::string text;
    for (const Batch::Entry& entry : batch.entries)
    {
        text += std::to_string(entry.request->id) + ":" + std::to_string(entry.tokens) + " ";
    }
    engine->End(
        batch,
        [](Live&, uint32_t, bool) { return false; },
        [] { return 0U; });
    return text;
}

} // namespace

TEST(NoEvictScheduler, ReservesPromptAndAnswer)
{
    const ServingSpec spec = EngineSpec("no-evict", 100, false);
    // 0 keeps KV of 6 + 7 - 1 = 12 tokens: 3 blocks of 4. 1 needs as many, and 5 are there.
    Engine engine(spec, 5);
    Ask(&engine, 0, 6, 7);
    Ask(&engine, 1, 6, 7);
    EXPECT_EQ(Turn(&engine), "0:6 ");
    EXPECT_EQ(engine.Blocks().Used(), 3U);
    for (int token = 0; token < 6; ++token)
    {
        EXPECT_EQ(Turn(&engine), "0:1 ");
    }
    EXPECT_EQ(Turn(&engine), "1:6 ");
}

TEST(NoEvictScheduler, PromptsAreWholeBesideDecoding)
{
    const ServingSpec spec = EngineSpec("no-evict", 10, false);
    Engine engine(spec, 100);
    Ask(&engine, 0, 6, 9);
    Ask(&engine, 1, 8, 9);
    Ask(&engine, 2, 14, 2);
    // 4 tokens are left: 8 do not fit. One above the budget is shared out.
    EXPECT_EQ(Turn(&engine), "0:6 ");
    EXPECT_EQ(Turn(&engine), "0:1 1:8 2:1 ");
    EXPECT_EQ(Turn(&engine), "0:1 1:1 2:8 ");
    EXPECT_EQ(Turn(&engine), "0:1 1:1 2:5 ");
    EXPECT_EQ(Turn(&engine), "0:1 1:1 2:1 ");
}

TEST(NoEvictScheduler, PromptsWaitForMore)
{
    ServingSpec spec = EngineSpec("no-evict", 20, false);
    spec.waitIterations = 2;
    spec.waitShare = 0.5;
    Engine engine(spec, 100);
    // Nobody decodes: the first does not wait.
    Ask(&engine, 0, 4, 20);
    EXPECT_EQ(Turn(&engine), "0:4 ");
    // 1 + 4 tokens are less than 0.5 x 20: two iterations without it, not three.
    Ask(&engine, 1, 4, 20);
    EXPECT_EQ(Turn(&engine), "0:1 ");
    EXPECT_EQ(Turn(&engine), "0:1 ");
    EXPECT_EQ(Turn(&engine), "0:1 1:4 ");
    // 2 + 9 tokens are more.
    Ask(&engine, 2, 9, 20);
    EXPECT_EQ(Turn(&engine), "0:1 1:1 2:9 ");
}

TEST(PrefillFirstScheduler, NobodyDecodesWhilePromptsWait)
{
    const ServingSpec spec = EngineSpec("prefill-first", 10, true);
    Engine engine(spec, 100);
    Ask(&engine, 0, 6, 3);
    EXPECT_EQ(Turn(&engine), "0:6 ");
    Ask(&engine, 1, 13, 2);
    EXPECT_EQ(Turn(&engine), "1:10 ");
    // The chunk that is left, and what fits beside it.
    Ask(&engine, 2, 4, 2);
    EXPECT_EQ(Turn(&engine), "1:3 2:4 ");
    EXPECT_EQ(Turn(&engine), "0:1 1:1 2:1 ");
    EXPECT_EQ(Turn(&engine), "0:1 ");
    EXPECT_EQ(Turn(&engine), "");
    EXPECT_EQ(engine.Blocks().Used(), 0U);
}

TEST(PrefillFirstScheduler, WithoutChunksPromptsAreWhole)
{
    const ServingSpec spec = EngineSpec("prefill-first", 10, false);
    Engine engine(spec, 100);
    Ask(&engine, 0, 6, 2);
    Ask(&engine, 1, 6, 2);
    EXPECT_EQ(Turn(&engine), "0:6 ");
    EXPECT_EQ(Turn(&engine), "1:6 ");
    EXPECT_EQ(Turn(&engine), "0:1 1:1 ");
}

TEST(PrefillFirstScheduler, TheLastGivesUpItsBlocks)
{
    const ServingSpec spec = EngineSpec("prefill-first", 100, true);
    // Two blocks each for 8 tokens; the fifth is 0's ninth token's, and 1 finds none.
    Engine engine(spec, 5);
    Ask(&engine, 0, 8, 3);
    Ask(&engine, 1, 8, 3);
    EXPECT_EQ(Turn(&engine), "0:8 1:8 ");
    EXPECT_EQ(Turn(&engine), "0:1 ");
    EXPECT_EQ(engine.CountWaiting(), 1U);
}

TEST(PollInterval, RequestsAreSeenAfterSoManyIterations)
{
    ServingSpec spec = EngineSpec("prefill-first", 100, true);
    spec.pollInterval = 3;
    Engine engine(spec, 100);
    Ask(&engine, 0, 4, 20);
    EXPECT_EQ(Turn(&engine), "0:4 ");
    // After an iteration with prompts it looks at once; then every third.
    EXPECT_EQ(Turn(&engine), "0:1 ");
    Ask(&engine, 1, 4, 20);
    EXPECT_EQ(engine.CountWaiting(), 1U);
    EXPECT_EQ(Turn(&engine), "0:1 ");
    EXPECT_EQ(Turn(&engine), "0:1 ");
    EXPECT_EQ(Turn(&engine), "1:4 ");
}

TEST(Ahead, ARequestIsInTheNextIterationButOne)
{
    ServingSpec spec = EngineSpec("vllm", 100, true);
    spec.ahead = true;
    Engine engine(spec, 100);
    // An engine that rests takes it at once.
    Ask(&engine, 0, 4, 20);
    EXPECT_EQ(Turn(&engine), "0:4 ");
    Ask(&engine, 1, 4, 20);
    EXPECT_EQ(Turn(&engine), "0:1 ");
    EXPECT_EQ(Turn(&engine), "0:1 1:4 ");
}
