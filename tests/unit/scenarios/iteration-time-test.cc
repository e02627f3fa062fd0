/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "scenarios/inference/iteration-time.h"

#include <gtest/gtest.h>

using namespace serving;
using training::Dtype;
using training::FindGpu;
using training::FindModel;

namespace
{

const char* const kModels[] = {"llama3-8b", "mixtral-8x7b", "deepseek-v3", "gpt-oss-20b"};
const char* const kGpus[] = {"A100", "H100", "B200", "RTX-4090", "RTX-PRO-6000", "MI300X"};

IterationTime
TimeOf(const char* model,
       const StageCut& cut = {},
       const char* gpu = "H100",
       const char* framework = "ideal",
       Dtype kv = Dtype::kBf16)
{
    return IterationTime(*FindModel(model),
                         *FindGpu(gpu),
                         cut,
                         Dtype::kBf16,
                         kv,
                         *FindFramework(framework));
}

StageCut
Cut(uint32_t tensor, uint32_t expert = 1)
{
    StageCut cut;
    cut.tensor = tensor;
    cut.expert = expert;
    return cut;
}

IterationBatch
Decodes(int sequences, double context)
{
    IterationBatch batch;
    for (int i = 0; i < sequences; ++i)
    {
        batch.AddDecode(context);
    }
    return batch;
}

IterationBatch
Chunk(double tokens, double before)
{
    IterationBatch batch;
    batch.AddChunk(tokens, before);
    return batch;
}

template <class Check>
void
ForAll(Check check)
{
    for (const char* model : kModels)
    {
        for (const char* gpu : kGpus)
        {
            SCOPED_TRACE(std::string(model) + " on " + gpu);
            check(model, gpu);
        }
    }
}

} // namespace

// 2 (keys and values) x 80 layers x 8 heads x 128 numbers x 2 bytes.
TEST(IterationTime, KvBytesOfLlama70b)
{
    EXPECT_EQ(TimeOf("llama3-70b").KvBytesPerToken(), 327680);
    EXPECT_EQ(TimeOf("llama3-70b", Cut(8)).KvBytesPerToken(), 327680 / 8);
    // 16 ranks have 8 heads: each is on two.
    EXPECT_EQ(TimeOf("llama3-70b", Cut(16)).KvBytesPerToken(), 327680 / 8);
    EXPECT_EQ(TimeOf("llama3-70b", Cut(8), "H100", "ideal", Dtype::kFp8).KvBytesPerToken(),
              327680 / 16);
}

// 512 latent numbers and 64 with positions, 2 bytes each, in 61 layers, on every rank.
TEST(IterationTime, KvBytesOfDeepSeekV3)
{
    EXPECT_EQ(TimeOf("deepseek-v3").KvBytesPerToken(), 61 * 576 * 2);
    EXPECT_EQ(TimeOf("deepseek-v3", Cut(8, 8)).KvBytesPerToken(), 61 * 576 * 2);
}

TEST(IterationTime, ParametersAreTheModels)
{
    for (const char* name : kModels)
    {
        const auto model = *FindModel(name);
        const double all = 2.0 * static_cast<double>(model.parameters);
        EXPECT_NEAR(TimeOf(name).ParameterBytes(), all, 1e-9 * all) << name;
        // What tensor parallelism does not divide is little: norms, routers, narrow products.
        const double four = 4 * TimeOf(name, Cut(4)).ParameterBytes();
        EXPECT_GE(four, all * (1 - 1e-9)) << name;
        EXPECT_LT(four, 1.06 * all) << name;
        double stages = 0;
        for (uint32_t stage = 0; stage < 3; ++stage)
        {
            stages += TimeOf(name, EvenStage(model, 3, stage, 1)).ParameterBytes();
        }
        EXPECT_NEAR(stages, all, 1e-9 * all) << name;
    }
}

// fp8: matrices of blocks have 1 byte, embedding, head, norms and routers 2. Llama 3 8B: 8,030,261,
// 248 parameters, 2 x 128,256 x 4,096 in embedding and head, 65 norms of 4,096.
TEST(IterationTime, NarrowParameters)
{
    const IterationTime time(*FindModel("llama3-8b"),
                             *FindGpu("H100"),
                             {},
                             Dtype::kFp8,
                             Dtype::kFp8,
                             *FindFramework("ideal"));
    EXPECT_EQ(time.ParameterBytes(), 8030261248.0 + 2 * 128256 * 4096.0 + 65 * 4096);
    EXPECT_EQ(time.KvBytesPerToken(), 2 * 32 * 8 * 128);
}

TEST(IterationTime, GrowsWithTokensAndContext)
{
    ForAll([](const char* model, const char* gpu) {
        const IterationTime time = TimeOf(model, {}, gpu, "vllm");
        double before = 0;
        for (const int sequences : {1, 2, 3, 8, 17, 64, 200, 256, 300, 512})
        {
            const double now = time.Seconds(Decodes(sequences, 1000)).Total();
            EXPECT_GT(now, before) << sequences;
            before = now;
        }
        before = 0;
        for (const double context : {1., 100., 1000., 1001., 5000., 100000.})
        {
            const double now = time.Seconds(Decodes(16, context)).decode;
            EXPECT_GE(now, before) << context;
            before = now;
        }
        before = 0;
        for (const double tokens : {1., 7., 64., 65., 100., 512., 2000., 2048., 8192., 1e5})
        {
            const double now = time.Seconds(Chunk(tokens, 0)).Total();
            EXPECT_GT(now, before) << tokens;
            EXPECT_GE(time.Seconds(Chunk(tokens, 4096)).Total(), now) << tokens;
            before = now;
        }
    });
}

TEST(IterationTime, NoLessThanBytesAndFlops)
{
    ForAll([](const char* model, const char* name) {
        const auto gpu = *FindGpu(name);
        const IterationTime time = TimeOf(model, {}, name);
        const auto spec = *FindModel(model);
        // A token meets all but the experts that it is not sent to, and the embedding.
        const double embedding = double(spec.transformer->vocabulary) * spec.transformer->hidden;
        const double met = double(spec.ActiveParameters()) - embedding;
        EXPECT_GE(time.Seconds(Decodes(1, 1)).Total(), 2 * met / gpu.memoryBandwidth);
        EXPECT_GE(time.Seconds(Chunk(4096, 0)).Total(),
                  2 * 4096 * (met - embedding) / gpu.Peak(Dtype::kBf16));
        EXPECT_GE(time.Seconds(Decodes(64, 50000)).Total(),
                  0.5 * 64 * 50000 * time.KvBytesPerToken() / gpu.memoryBandwidth);
    });
}

// With 4,096 tokens that choose 8 of 256 each, an expert is missed with (1 - 1/32)^4096, so never:
// the time is no less than that of reading all experts' weights; with one token, that of 8.
TEST(IterationTime, ExpertsAreReadAsFarAsTheyAreHit)
{
    const auto gpu = *FindGpu("H100");
    const IterationTime time = TimeOf("deepseek-v3");
    const double expert = 3.0 * 7168 * 2048 * 2 * 58 / gpu.memoryBandwidth;
    EXPECT_GT(time.Seconds(Decodes(4096, 10)).experts, 256 * expert);
    const double one = time.Seconds(Decodes(1, 10)).experts;
    EXPECT_GT(one, 8 * expert);
    EXPECT_LT(one, 8 * expert * 1.5);
    IterationBatch all = Decodes(256, 10);
    all.expertsHit = 256;
    EXPECT_GT(time.Seconds(all).experts, 256 * expert);
    IterationBatch few = Decodes(256, 10);
    few.expertsHit = 8;
    EXPECT_LT(time.Seconds(few).experts, 30 * expert);
}

TEST(IterationTime, NothingIsExchangedAlone)
{
    for (const char* model : kModels)
    {
        const StageExchanges e = TimeOf(model).Exchanges();
        EXPECT_EQ(e.Reductions(), 0U);
        EXPECT_EQ(e.reductionBytes, 0);
        EXPECT_EQ(e.dispatches, 0U);
        EXPECT_EQ(e.sendBytes, 0);
        EXPECT_EQ(e.logitsBytes, 0);
    }
}

// Llama 3 70B: 80 blocks of 8,192 numbers, 128,256 words.
TEST(IterationTime, ExchangesOfLlama70b)
{
    const auto model = *FindModel("llama3-70b");
    StageExchanges e = TimeOf("llama3-70b", Cut(8)).Exchanges();
    EXPECT_EQ(e.attentionReductions, 80U);
    EXPECT_EQ(e.mlpReductions, 80U);
    EXPECT_EQ(e.embeddingReductions, 1U);
    EXPECT_EQ(e.reductionBytes, 16384);
    EXPECT_EQ(e.logitsBytes, 128256 / 8 * 2);
    EXPECT_EQ(e.sendBytes, 0);
    e = TimeOf("llama3-70b", EvenStage(model, 2, 0, 4)).Exchanges();
    EXPECT_EQ(e.attentionReductions, 40U);
    EXPECT_EQ(e.sendBytes, 16384);
    EXPECT_EQ(e.logitsBytes, 0);
}

TEST(IterationTime, ExchangesOfExperts)
{
    const StageExchanges e = TimeOf("deepseek-v3", Cut(1, 16)).Exchanges();
    EXPECT_EQ(e.dispatches, 58U); // the first three blocks have MLPs
    EXPECT_EQ(e.topK, 8U);
    EXPECT_EQ(e.dispatchBytes, 7168 * 2);
    EXPECT_EQ(e.combineBytes, 7168 * 2);
    EXPECT_EQ(e.Reductions(), 0U);
}

// 61 blocks in 4 stages: 15 each, and one more for the last but one. In 8: 7 each, and one more for
// the five before the last.
TEST(IterationTime, StagesAreEven)
{
    const auto model = *FindModel("deepseek-v3");
    for (const auto& [stages, expected] :
         std::map<uint32_t, std::vector<uint32_t>>{{4, {15, 15, 16, 15}},
                                                   {8, {7, 7, 8, 8, 8, 8, 8, 7}}})
    {
        uint32_t first = 0;
        for (uint32_t stage = 0; stage < stages; ++stage)
        {
            const StageCut cut = EvenStage(model, stages, stage, 1);
            EXPECT_EQ(cut.firstBlock, first);
            EXPECT_EQ(cut.blocks, expected[stage]);
            EXPECT_EQ(cut.embedding, stage == 0);
            EXPECT_EQ(cut.head, stage + 1 == stages);
            first += cut.blocks;
        }
        EXPECT_EQ(first, BlocksOf(model));
    }
}

TEST(IterationTime, AWindowBoundsAttention)
{
    // gpt-oss: every other block sees 128 keys, so twice the context is less than twice the time.
    const IterationTime time = TimeOf("gpt-oss-20b");
    const double once = time.Seconds(Decodes(64, 100000)).decode;
    EXPECT_LT(time.Seconds(Decodes(64, 200000)).decode, 2 * once);
    EXPECT_GT(time.Seconds(Decodes(64, 200000)).decode, 1.8 * once);
}

TEST(IterationTime, HostsWorkIsAddedOrHidden)
{
    const auto total = [](const char* framework, double tokens) {
        return TimeOf("llama3-8b", {}, "A100", framework).Seconds(Chunk(tokens, 0)).Total();
    };
    EXPECT_GT(total("vllm-0.2", 1), 1.5 * total("ideal", 1));
    EXPECT_LT(total("vllm-0.2", 32768), 1.05 * total("ideal", 32768));
    const IterationTime graphs = TimeOf("llama3-8b", {}, "A100", "vllm");
    const IterationTime eager = TimeOf("llama3-8b", {}, "A100", "vllm-0.2");
    EXPECT_LT(graphs.Seconds(Decodes(1, 100)).host, eager.Seconds(Decodes(1, 100)).host);
    EXPECT_EQ(graphs.Seconds({}).Total(), 0);
}

TEST(IterationTime, WhatIsNotServed)
{
    for (const char* name : {"bert-large", "resnet-50", "t5-11b", "vit-l-16"})
    {
        const auto model = FindModel(name);
        if (model)
        {
            EXPECT_NE(NotServed(*model), "") << name;
        }
    }
    for (const char* name : kModels)
    {
        EXPECT_EQ(NotServed(*FindModel(name)), "") << name;
    }
    const auto llama = *FindModel("llama3-8b");
    EXPECT_EQ(NotCut(llama, Cut(8)), "");
    EXPECT_EQ(NotCut(llama, Cut(3)), "tensor parallelism of 3 does not divide its 32 heads");
    EXPECT_EQ(NotCut(llama, Cut(1, 2)), "it has no experts to divide among 2 ranks");
    EXPECT_EQ(NotCut(*FindModel("mixtral-8x7b"), Cut(1, 16)),
              "expert parallelism of 16 is more than its 8 experts");
    StageCut beyond;
    beyond.firstBlock = 30;
    beyond.blocks = 3;
    EXPECT_EQ(NotCut(llama, beyond), "it has 32 blocks, fewer than stages need");
}

TEST(IterationTime, FrameworksByName)
{
    for (const auto& name : FrameworkNames())
    {
        ASSERT_TRUE(FindFramework(name)) << name;
        EXPECT_EQ(FindFramework(name)->name, name);
        EXPECT_NE(FindFramework(name)->source, "");
    }
    EXPECT_EQ(FindFramework("FasterTransformer")->name, "fastertransformer");
    EXPECT_FALSE(FindFramework("triton"));
}

// A recorded run of vLLM 0.19 (serving_vllm_runs.json): 41,408 tokens fit into 90% of an RTX 4090,
// with at most 2,048 tokens and 256 sequences in an iteration.
TEST(IterationTime, TokensThatFit)
{
    const auto gpu = *FindGpu("RTX-4090");
    const IterationTime time = TimeOf("llama3-8b", {}, "RTX-4090", "vllm");
    const double left = 0.9 * static_cast<double>(gpu.memoryBytes) - time.ParameterBytes() -
                        time.ActivationBytes(2048, 256) - FindFramework("vllm")->reserve;
    EXPECT_NEAR(left / time.KvBytesPerToken(), 41408, 0.01 * 41408);
}
