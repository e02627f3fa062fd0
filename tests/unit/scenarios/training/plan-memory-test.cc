/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "scenarios/training/checks/plan-check.h"
#include "scenarios/training/graphs/training-plan.h"
#include "scenarios/training/memory-estimate.h"
#include "tests/unit/scenarios/example-options.h"
#include "tests/unit/scenarios/problem-option.h"

#include <algorithm>
#include <cstdlib>
#include <gtest/gtest.h>
#include <map>
#include <sstream>
#include <string>
#include <vector>

using namespace training;

namespace
{

bool
Warns(const TrainingOptions& o, const std::string& path)
{
    for (const auto& p : Check(o))
    {
        if (!p.error && AboutOf(p) == path)
        {
            return true;
        }
    }
    return false;
}

bool
Errs(const TrainingOptions& o, const std::string& path)
{
    for (const auto& p : Check(o))
    {
        if (p.error && AboutOf(p) == path)
        {
            return true;
        }
    }
    return false;
}

} // namespace

// Rajbhandari et al., SC'20, figure 1: 7.5 B parameters on 64 GPUs, K = 12.
TEST(PlanMemory, ZeroFigure1)
{
    EXPECT_NEAR(ModelStateBytes(7.5e9, 64, ZeroStage(0)) / 1e9, 120, 0.05);
    EXPECT_NEAR(ModelStateBytes(7.5e9, 64, ZeroStage(1)) / 1e9, 31.4, 0.05);
    EXPECT_NEAR(ModelStateBytes(7.5e9, 64, ZeroStage(2)) / 1e9, 16.6, 0.05);
    EXPECT_NEAR(ModelStateBytes(7.5e9, 64, ZeroStage(3)) / 1e9, 1.9, 0.05);
}

// The same paper, table 1, 1 T parameters: 16,000 GB at one GPU and 15.6 GB at stage 3 on 1,024.
TEST(PlanMemory, ZeroTable1)
{
    EXPECT_NEAR(ModelStateBytes(1e12, 1, ZeroStage(3)) / 1e9, 16000, 1);
    EXPECT_NEAR(ModelStateBytes(1e12, 1024, ZeroStage(3)) / 1e9, 15.6, 0.05);
    EXPECT_NEAR(ModelStateBytes(1e12, 1024, ZeroStage(2)) / 1e9, 2013, 1);
}

TEST(PlanMemory, EstimateAgreesWithTheFormula)
{
    for (uint32_t zero = 0; zero <= 3; ++zero)
    {
        const auto o = OptionsOf("megatron-7.5b", 64, zero);
        const auto m = EstimateMemory(o);
        EXPECT_NEAR((m.parameters + m.gradients + m.optimizer) /
                        ModelStateBytes(o.model.parameters, 64, ZeroStage(zero)),
                    1,
                    1e-6);
        EXPECT_EQ(MakePlan(o).gpuMemoryBytes, m.Total());
    }
}

// Korthikanti et al. 2022, sections 4 and 5: 34 s b h + 5 a s^2 b bytes a layer; 2 s b h with full
// recomputation; fused attention spares 5 a s^2 b.
TEST(PlanMemory, ActivationsByHand)
{
    auto o = OptionsOf("megatron-7.5b", 64, 3);
    o.microBatch = 2;
    const double sbh = 2048.0 * 2 * 4096;
    const double pairs = 5.0 * 32 * 2048 * 2048 * 2;
    const double embedding = sbh; // dropout's mask
    const double head =
        sbh * (2 + 2) + 2048.0 * 2 * 4 * 51200; // norm's and projection's inputs, logits
    EXPECT_NEAR(EstimateMemory(o).activations, 36 * (34 * sbh + pairs) + embedding + head, 1);
    o.fusedAttention = true;
    EXPECT_NEAR(EstimateMemory(o).activations, 36 * 34 * sbh + embedding + head, 1);
    o.recompute = Recompute::kFull;
    EXPECT_NEAR(EstimateMemory(o).activations, 36 * 2 * sbh + 34 * sbh + embedding + head, 1);
}

TEST(PlanCheck, TooLargeIsRefused)
{
    EXPECT_FALSE(Errs(OptionsOf("bloom-560m", 128, 2), "model"));
    EXPECT_TRUE(Errs(OptionsOf("bloom-176b", 128, 0), "model"));
    auto o = OptionsOf("gpt3-175b", 384, 3);
    o.recompute = Recompute::kFull;
    EXPECT_FALSE(Errs(o, "model")); // SC'21, table 2, ran this: 384 GPUs of 80 GB, micro-batch 4
    o.sharding = ZeroStage(0);
    EXPECT_TRUE(Errs(o, "model"));
    EXPECT_EQ(Check(o).size(), 1u);
    o.ignoreMemory = true;
    EXPECT_FALSE(Errs(o, "model"));
    EXPECT_TRUE(Warns(o, "model"));
}

namespace
{

/// The options of an offer, "--tp=4 --recompute=full".
void
Apply(const std::string& offer, TrainingOptions& o)
{
    std::istringstream words(offer);
    for (std::string word; words >> word;)
    {
        const std::size_t equals = word.find('=');
        const std::string name = word.substr(0, equals);
        const std::string value = equals == std::string::npos ? "" : word.substr(equals + 1);
        const auto number =
            static_cast<uint32_t>(value.empty() ? 0 : std::strtoul(value.c_str(), nullptr, 10));
        if (name == "--fused-attention")
        {
            o.fusedAttention = true;
        }
        else if (name == "--recompute")
        {
            o.recompute = value == "full" ? Recompute::kFull : Recompute::kSelective;
        }
        else if (name == "--zero")
        {
            o.sharding = ZeroStage(number);
        }
        else if (name == "--offload")
        {
            o.offload = value == "all" ? Offload::kAll : Offload::kOptimizer;
        }
        else
        {
            const std::map<std::string, uint32_t TrainingOptions::*> degrees = {
                {"--micro-batch", &TrainingOptions::microBatch},
                {"--tp", &TrainingOptions::tensor},
                {"--pp", &TrainingOptions::pipeline},
                {"--cp", &TrainingOptions::context}};
            ASSERT_TRUE(degrees.count(name)) << offer;
            o.*degrees.at(name) = number;
        }
    }
}

/// What the refusal of a job offers; each fits, and of a pair neither does alone.
std::vector<std::string>
OffersThatFit(const TrainingOptions& o)
{
    const auto problems = Check(o);
    EXPECT_EQ(problems.size(), 1u);
    std::string text = problems[0].text;
    EXPECT_NE(text.find("; or run it anyway: --ignore-memory"), std::string::npos) << text;
    const std::string begin = "it fits with ";
    const std::size_t at = text.find(begin);
    if (at == std::string::npos)
    {
        return {};
    }
    text = text.substr(at + begin.size(), text.rfind(';') - at - begin.size());
    text = text.rfind("one of ", 0) == 0 ? text.substr(7) : text;
    const std::string with = " (with --micro-batch=" + std::to_string(o.microBatch) + ")";
    if (const std::size_t micro = text.rfind(with); micro != std::string::npos)
    {
        text.resize(micro); // as it is here
    }
    std::vector<std::string> offers;
    for (std::size_t from = 0; from < text.size();)
    {
        const std::size_t end = std::min(text.find(", ", from), text.size());
        offers.push_back(text.substr(from, end - from));
        from = end + 2;
        auto changed = o;
        Apply(offers.back(), changed);
        EXPECT_FALSE(Errs(changed, "model")) << offers.back();
        std::istringstream words(offers.back());
        const bool pair = offers.back().find(' ') != std::string::npos;
        for (std::string word; pair && words >> word;)
        {
            auto half = o;
            Apply(word, half);
            EXPECT_TRUE(!Check(half).empty()) << word;
        }
    }
    return offers;
}

} // namespace

// What is said to make it fit does, and is all that a user changes.
TEST(PlanCheck, WhatIsOfferedFits)
{
    for (const char* model : {"gpt3-6.7b", "gpt3-13b", "bloom-7b1", "llama2-70b"})
    {
        auto o = OptionsOf(model, 64, 0);
        o.microBatch = 8;
        OffersThatFit(o);
        o.microBatch = 2;
        EXPECT_FALSE(OffersThatFit(o).empty()) << model;
    }
}

TEST(PlanCheck, OffersPairsWhereNoSingleChangeFits)
{
    auto o = OptionsOf("llama3-70b", 64, 0);
    o.microBatch = 1;
    EXPECT_EQ(Check(o)[0].text.rfind("llama3-70b, 70.6 B parameters, needs about ", 0), 0u);
    const auto offers = OffersThatFit(o);
    ASSERT_FALSE(offers.empty());
    EXPECT_NE(offers[0].find(' '), std::string::npos) << offers[0];
}

// 8 of them: 1,129 GB are more than 8 x 80 GiB, and 14 GPUs have it, full.
TEST(PlanCheck, SaysHowManyGpusItTakes)
{
    const auto problems = Check(OptionsOf("llama3-70b", 8, 0));
    ASSERT_EQ(problems.size(), 1u);
    EXPECT_NE(problems[0].text.find("parameters, gradients and optimizer take 1051 GiB: "
                                    "--zero=3 on more than 14 such GPUs"),
              std::string::npos)
        << problems[0].text;
}

TEST(PlanCheck, MistakesAreNamed)
{
    const auto good = OptionsOf("gpt2", 8, 2);
    EXPECT_TRUE(Check(good).empty());
    const auto with = [&good](auto TrainingOptions::*field, auto value) {
        auto o = good;
        o.*field = value;
        return o;
    };
    EXPECT_TRUE(Errs(with(&TrainingOptions::ranks, 0), "gpus"));
    EXPECT_TRUE(Errs(with(&TrainingOptions::sharding, Sharding{false, false, true}), "zero"));
    EXPECT_TRUE(Errs(with(&TrainingOptions::microBatch, 0), "micro-batch"));
    EXPECT_TRUE(Errs(with(&TrainingOptions::accumulation, 0), "accumulation"));
    EXPECT_TRUE(Errs(with(&TrainingOptions::accumulation, 1000000000), "accumulation"));
    EXPECT_TRUE(Errs(with(&TrainingOptions::sequence, 0), "seq"));
    EXPECT_TRUE(Warns(with(&TrainingOptions::sequence, 4096), "seq"));
    EXPECT_TRUE(Errs(with(&TrainingOptions::bucketBytes, 1), "buckets"));
    EXPECT_TRUE(Errs(with(&TrainingOptions::bucketBytes, 25), "buckets"));     // MiB forgotten
    EXPECT_TRUE(Errs(with(&TrainingOptions::gpu, *FindGpu("V100")), "dtype")); // no bf16
    EXPECT_TRUE(Warns(with(&TrainingOptions::ranks, 1), "zero"));
}

TEST(PlanOptions, DefaultsOfTheTwoImplementations)
{
    auto o = OptionsOf("gpt2", 8, 2);
    auto r = ResolvedOptions(o);
    EXPECT_EQ(*r.bucketBytes, 25u << 20);
    EXPECT_TRUE(*r.overlap);
    // DDP's first bucket is smaller where bucket_cap_mb is not given.
    o.sharding = ZeroStage(0);
    EXPECT_EQ(*ResolvedOptions(o).firstBucketBytes, 1u << 20);
    o.bucketBytes = 10u << 20;
    EXPECT_EQ(*ResolvedOptions(o).firstBucketBytes, 10u << 20);
    o.bucketBytes.reset();
    o.tensor = 2;
    EXPECT_EQ(*ResolvedOptions(o).firstBucketBytes, 25u << 20);
    o.tensor = 1;
    o.sharding = ZeroStage(2);
    // deepspeed/runtime/zero/config.py: 5e8, 5e7, 1e9 elements; overlap_comm true at stage 3 only.
    o.zeroImpl = ZeroImpl::kDeepSpeed;
    r = ResolvedOptions(o);
    EXPECT_EQ(*r.bucketBytes, 1000000000u);
    EXPECT_EQ(*r.prefetchBytes, 100000000u);
    EXPECT_EQ(*r.reuseElements, 1000000000u);
    EXPECT_FALSE(*r.overlap);
    EXPECT_EQ(*r.persistElements, 0u);
    o.sharding = ZeroStage(3);
    EXPECT_EQ(*ResolvedOptions(o).persistElements, 100000u);
    EXPECT_TRUE(*ResolvedOptions(o).overlap);
    o.overlap = false;
    EXPECT_FALSE(*ResolvedOptions(o).overlap);
    EXPECT_EQ(ParseZeroImpl("DeepSpeed"), ZeroImpl::kDeepSpeed);
    EXPECT_FALSE(ParseZeroImpl("fsdp"));
}

// Mixtral's 47 B parameters, 45 B of them experts', in 16 bits with 16-bit gradients are 187 GB on
// each GPU; shared out among 8 ranks the experts' are 23 GB of it. That is named, and it is true.
TEST(PlanMemory, ExpertsAndSequencesAreSharedOutToFit)
{
    auto o = OptionsOf("mixtral-8x7b", 24, 1);
    o.microBatch = 1;
    o.sequence = 512; // few activations, as there is a margin beside the estimate
    const auto advice = [](const TrainingOptions& options) {
        std::string text;
        for (const Problem& p : Check(options))
        {
            text += AboutOf(p) == "model" ? p.text : "";
        }
        return text;
    };
    EXPECT_NE(advice(o).find("--ep=8"), std::string::npos) << advice(o);
    o.expert = 8;
    EXPECT_EQ(advice(o), "");
    // Of a long sequence the activations.
    o = OptionsOf("gpt2", 8, 1);
    o.microBatch = 1;
    o.model.sequence = o.sequence = 1 << 19;
    o.fusedAttention = true;
    ASSERT_NE(advice(o), "");
    const std::string text = advice(o);
    const std::size_t at = text.find("--cp=");
    ASSERT_NE(at, std::string::npos) << text;
    const std::size_t value = at + std::string("--cp=").size();
    o.context = static_cast<uint32_t>(std::stoul(text.substr(value)));
    EXPECT_EQ(advice(o), "");
    o.context /= 2;
    EXPECT_NE(advice(o), "") << "the least is named";
}
