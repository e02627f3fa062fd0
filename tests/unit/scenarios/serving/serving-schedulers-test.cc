/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Schedulers, iteration by iteration, against sequences made by hand from their definitions: vLLM
 * V1's Scheduler.schedule, Orca's algorithm 1, static batches.
 */
#include "scenarios/inference/engine.h"
#include "tests/unit/scenarios/serving/served-run.h"

#include <gtest/gtest.h>
#include <memory>
#include <string>
#include <vector>

using namespace serving;

namespace
{

ServingSpec
SpecOf(const std::string& scheduler, uint32_t budget, uint32_t maxBatch = 256, uint32_t kvBlock = 4)
{
    ServingSpec spec = served::OneInstance();
    spec.scheduler = scheduler;
    spec.tokenBudget = budget;
    spec.maxBatch = maxBatch;
    spec.kvBlock = kvBlock;
    return spec;
}

void
Give(Engine* engine, uint32_t id, uint32_t prompt, uint32_t output)
{
    auto live = std::make_unique<Live>();
    live->id = id;
    live->prompt = prompt;
    live->output = output;
    engine->Take(std::move(live));
}

/// "0:6 1:4 ": requests of the batch and the tokens that each computes; then it ends.
std::string
Step(Engine* engine, uint32_t accepted = 0)
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
        [accepted] { return accepted; });
    return text;
}

std::vector<uint32_t>
WaitingOf(Engine* engine)
{
    std::vector<uint32_t> ids;
    for (const auto& live : engine->Waiting())
    {
        ids.push_back(live->id);
    }
    return ids;
}

} // namespace

TEST(VllmScheduler, SharesABudgetDecodesFirst)
{
    const ServingSpec spec = SpecOf("vllm", 10);
    Engine engine(spec, 100);
    Give(&engine, 0, 6, 4);
    Give(&engine, 1, 8, 3);
    Give(&engine, 2, 3, 2);
    // 6 of 10 tokens, then a chunk of the second prompt; the third finds no budget.
    EXPECT_EQ(Step(&engine), "0:6 1:4 ");
    // The first decodes, the second's other 4, and the third's 3: 8 tokens.
    EXPECT_EQ(Step(&engine), "0:1 1:4 2:3 ");
    EXPECT_EQ(Step(&engine), "0:1 1:1 2:1 ");
    // 2 has its 2 tokens; the others have 3 and 2.
    EXPECT_EQ(Step(&engine), "0:1 1:1 ");
    EXPECT_EQ(Step(&engine), "");
    EXPECT_EQ(engine.Blocks().Used(), 0U);
}

TEST(VllmScheduler, WithoutChunksAPromptWaitsForABudgetOfItsOwn)
{
    ServingSpec spec = SpecOf("vllm", 10);
    spec.chunkedPrefill = false;
    Engine engine(spec, 100);
    Give(&engine, 0, 6, 2);
    Give(&engine, 1, 8, 1);
    Give(&engine, 2, 3, 1);
    // 4 tokens are left: the second does not fit, and the third does not overtake it.
    EXPECT_EQ(Step(&engine), "0:6 ");
    EXPECT_EQ(Step(&engine), "0:1 1:8 ");
    EXPECT_EQ(Step(&engine), "2:3 ");
}

TEST(VllmScheduler, KeepsTheLargestBatch)
{
    const ServingSpec spec = SpecOf("vllm", 100, 2);
    Engine engine(spec, 100);
    for (uint32_t i = 0; i < 3; ++i)
    {
        Give(&engine, i, 5, i == 0 ? 2 : 3);
    }
    EXPECT_EQ(Step(&engine), "0:5 1:5 ");
    EXPECT_EQ(Step(&engine), "0:1 1:1 ");
    EXPECT_EQ(Step(&engine), "1:1 2:5 ");
}

TEST(VllmScheduler, PreemptsTheLastAndComputesItAnew)
{
    // 5 blocks of 4 tokens: prompts take 2 + 2 + 1.
    const ServingSpec spec = SpecOf("vllm", 100);
    Engine engine(spec, 5);
    Give(&engine, 0, 8, 4);
    Give(&engine, 1, 8, 4);
    Give(&engine, 2, 4, 4);
    EXPECT_EQ(Step(&engine), "0:8 1:8 2:4 ");
    EXPECT_EQ(engine.Blocks().FreeCount(), 0U);
    // The first needs a third block for token 9: the last gives up its own. The second needs one,
    // too, and is the last now: it gives up its own two. Nobody who waits begins in an iteration
    // with preemptions, though two blocks are free.
    EXPECT_EQ(Step(&engine), "0:1 ");
    EXPECT_EQ(WaitingOf(&engine), (std::vector<uint32_t>{1, 2}));
    EXPECT_EQ(engine.Blocks().FreeCount(), 2U);
    // The second has 9 tokens, for 3 blocks. The third behind it would fit (5 tokens, 2 blocks),
    // and waits.
    EXPECT_EQ(Step(&engine), "0:1 ");
    EXPECT_EQ(Step(&engine), "0:1 "); // it has 4 tokens: the end
    EXPECT_EQ(engine.Blocks().FreeCount(), 5U);
    // Prompts and the tokens that were out: 8 + 1, 4 + 1. KV of 8 and of 4 of them was lost.
    const Batch batch = engine.Schedule();
    EXPECT_EQ(batch.load.prefillTokens, 9U + 5);
    EXPECT_EQ(batch.load.repeatedTokens, 8U + 4);
    // Without them a token each remains, which sees its whole context.
    const BatchLoad rest = batch.load.WithoutRepeats();
    EXPECT_EQ(rest.prefillTokens, 2U);
    EXPECT_EQ(rest.prefillSequences, 2U);
    EXPECT_EQ(rest.prefillContext, 9U + 5);
    EXPECT_EQ(rest.prefillPairs, 9U + 5);
    engine.End(
        batch,
        [](Live&, uint32_t, bool) { return false; },
        [] { return 0U; });
    EXPECT_EQ(engine.Running()[0]->produced, 2U);
    EXPECT_EQ(engine.Running()[0]->preemptions, 1U);
    EXPECT_EQ(engine.Running()[1]->preemptions, 1U);
}

TEST(VllmScheduler, ComputesWhatIsNotCached)
{
    const ServingSpec spec = SpecOf("vllm", 100);
    Engine engine(spec, 100);
    auto live = std::make_unique<Live>();
    live->prompt = 10;
    live->output = 2;
    live->cached = live->computed = 8;
    engine.Take(std::move(live));
    const Batch batch = engine.Schedule();
    EXPECT_EQ(batch.load.tokens, 2U);
    EXPECT_EQ(batch.load.prefillContext, 10U);
    EXPECT_EQ(batch.load.prefillPairs, 19U); // tokens 9 and 10 see 9 and 10 keys
    EXPECT_EQ(engine.Blocks().Used(), 1U);   // those of the cache are not its own
}

TEST(VllmScheduler, ChecksNoMoreDraftsThanItsBudgetHasRoomFor)
{
    ServingSpec spec = SpecOf("vllm", 3);
    spec.speculation = SpeculationSpec{"draft", 4, 1};
    Engine engine(spec, 100);
    Give(&engine, 0, 3, 20);
    EXPECT_EQ(Step(&engine, 4), "0:3 ");
    // A token and two drafts of four: at most 3 tokens come out, whatever the model agrees with.
    EXPECT_EQ(Step(&engine, 4), "0:3 ");
    EXPECT_EQ(engine.Running()[0]->produced, 4U);
    EXPECT_EQ(engine.Running()[0]->computed, 6U);
    // One of two is accepted: two come out, and one token's KV goes.
    EXPECT_EQ(Step(&engine, 1), "0:3 ");
    EXPECT_EQ(engine.Running()[0]->produced, 6U);
    EXPECT_EQ(engine.Running()[0]->computed, 8U);
    EXPECT_EQ(engine.Blocks().Used(), 2U);
}

TEST(VllmScheduler, EndsAtTheLastTokenWithDrafts)
{
    ServingSpec spec = SpecOf("vllm", 100);
    spec.speculation = SpeculationSpec{"draft", 4, 1};
    Engine engine(spec, 100);
    Give(&engine, 0, 3, 8);
    EXPECT_EQ(Step(&engine, 4), "0:3 "); // 1 token
    EXPECT_EQ(Step(&engine, 4), "0:5 "); // 6
    EXPECT_EQ(Step(&engine, 4), "0:5 "); // 8, not 11
    EXPECT_EQ(engine.CountRunning(), 0U);
    EXPECT_EQ(engine.Blocks().Used(), 0U);
}

TEST(OrcaScheduler, ReservesAllOfARequest)
{
    // 8 blocks of 4 tokens. A request of 8 + 6 has KV of 13 tokens at its end: 4 blocks.
    const ServingSpec spec = SpecOf("orca", 4);
    Engine engine(spec, 8);
    for (uint32_t i = 0; i < 3; ++i)
    {
        Give(&engine, i, 8, i == 0 ? 5 : 6); // 8 + 5: 12 tokens, 3 blocks
    }
    // Whole prompts, whatever the budget is: Orca has none.
    EXPECT_EQ(Step(&engine), "0:8 1:8 ");
    EXPECT_EQ(engine.Blocks().Used(), 7U);
    for (uint32_t i = 0; i < 4; ++i)
    {
        EXPECT_EQ(Step(&engine), "0:1 1:1 ");
    }
    // The first has gone after 5 tokens.
    EXPECT_EQ(Step(&engine), "1:1 2:8 ");
    EXPECT_EQ(engine.Blocks().Used(), 4U); // the second has gone, too
    EXPECT_EQ(engine.Running()[0]->preemptions, 0U);
}

TEST(OrcaScheduler, KeepsTheLargestBatch)
{
    const ServingSpec spec = SpecOf("orca", 100, 2);
    Engine engine(spec, 100);
    for (uint32_t i = 0; i < 3; ++i)
    {
        Give(&engine, i, 5, 2);
    }
    EXPECT_EQ(Step(&engine), "0:5 1:5 ");
    EXPECT_EQ(Step(&engine), "0:1 1:1 ");
    EXPECT_EQ(Step(&engine), "2:5 ");
}

TEST(StaticScheduler, PadsAndNobodyJoins)
{
    const ServingSpec spec = SpecOf("static", 4, 2);
    Engine engine(spec, 100);
    Give(&engine, 0, 3, 2);
    Give(&engine, 1, 7, 4);
    Give(&engine, 2, 5, 1);
    // Both have 7 tokens: 7 x 8 / 2 pairs each.
    Batch batch = engine.Schedule();
    EXPECT_EQ(batch.load.prefillTokens, 14U);
    EXPECT_EQ(batch.load.prefillPairs, 56U);
    EXPECT_EQ(batch.load.logits, 2U);
    const auto end = [&] {
        engine.End(
            batch,
            [](Live&, uint32_t, bool) { return false; },
            [] { return 0U; });
    };
    end();
    // Two slots to the end, though the first request has all of its tokens after one more.
    for (uint32_t step = 1; step < 4; ++step)
    {
        batch = engine.Schedule();
        EXPECT_EQ(batch.load.decodeTokens, 2U);
        EXPECT_EQ(batch.load.decodeContext, 2U * (7 + step));
        EXPECT_EQ(engine.CountWaiting(), 1U);
        end();
    }
    EXPECT_EQ(engine.CountRunning(), 0U);
    batch = engine.Schedule();
    EXPECT_EQ(batch.load.prefillTokens, 5U);
    end();
    EXPECT_EQ(engine.Blocks().Used(), 0U);
}

TEST(StaticScheduler, ABatchFitsIntoTheKvCache)
{
    // Padded, a request has 8 + 4 - 1 tokens, 3 blocks of 4; of 8 blocks 2 requests.
    const ServingSpec spec = SpecOf("static", 4, 100);
    Engine engine(spec, 8);
    for (uint32_t i = 0; i < 5; ++i)
    {
        Give(&engine, i, 8, 4);
    }
    EXPECT_EQ(Step(&engine), "0:8 1:8 ");
    EXPECT_EQ(engine.Blocks().Used(), 6U);
}

/// Requests that are alike, in batches of B: each takes the prompts' iteration and one for every
/// other token, and the next batch begins when it has ended.
TEST(StaticScheduler, TimeIsTheSumOfItsIterations)
{
    for (const uint32_t count : {1U, 7U, 8U, 9U, 30U})
    {
        for (const uint32_t output : {1U, 2U, 17U})
        {
            constexpr uint32_t kBatch = 8;
            constexpr int64_t kPrompt = 20;
            ServingSpec spec = SpecOf("static", 4, kBatch);
            spec.requests = served::Drawn(RequestsSpec::Kind::kBurst, count, kPrompt, output);
            const served::Cost cost{1000, 10, 3, 0};
            int64_t expected = 0;
            for (uint32_t done = 0; done < count; done += kBatch)
            {
                const int64_t slots = std::min(kBatch, count - done);
                expected += 1000 + slots * kPrompt * 13;
                for (int64_t step = 1; step < output; ++step)
                {
                    expected += 1000 + slots * (10 + 3 * (kPrompt + step));
                }
            }
            EXPECT_EQ(served::Serve(spec, cost).end, expected) << count << " " << output;
        }
    }
}
