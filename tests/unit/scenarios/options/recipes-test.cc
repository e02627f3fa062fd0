/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * --recipe: what it sets, what overrides it, and that a configuration as run is the same run.
 */
#include "tests/unit/scenarios/parse-words.h"

#include <gtest/gtest.h>
#include <string>

using namespace scenario;

namespace
{

ParseResult<TrainingScenario>
Train(const std::string& more)
{
    return ParseWords<TrainingScenario>("--model=gpt2 --servers=2 --gpus-per-server=4 " + more);
}

std::string
NoteOf(const ParseResult<TrainingScenario>& read)
{
    for (const std::string& note : read.notes)
    {
        if (note.rfind("--recipe", 0) == 0)
        {
            return note;
        }
    }
    return "";
}

} // namespace

TEST(Recipes, SetOptionsAndSaySo)
{
    const auto read = Train("--recipe=megatron --tp=2");
    ASSERT_TRUE(read.scenario);
    const auto& o = read.scenario->options;
    EXPECT_EQ(o.sharding.Stage(), 1U);
    EXPECT_TRUE(o.fusedAttention);
    EXPECT_TRUE(o.wideReduction);
    EXPECT_TRUE(o.sequenceParallel);
    EXPECT_EQ(NoteOf(read),
              "--recipe=megatron sets --bucketing=megatron --zero=1 --fused-attention=1 "
              "--attention-kernel=vendor --reduce-dtype=fp32 --sequence-parallel=1");
}

TEST(Recipes, ThatDoNotFitAreOneError)
{
    const auto read = Train("--recipe=megatron --strategy=downpour");
    ASSERT_EQ(read.errors.size(), 1U);
    EXPECT_NE(read.errors[0].Text().find("It needs --strategy=sync"), std::string::npos)
        << read.errors[0].Text();
}

TEST(Recipes, AreListedWithWhatTheySet)
{
    const auto read = Train("--help=recipes");
    EXPECT_TRUE(read.errors.empty());
    ASSERT_TRUE(read.text);
    EXPECT_NE(read.text->find("\nmegatron: Megatron-LM: distributed optimizer"), std::string::npos)
        << *read.text;
    EXPECT_NE(read.text->find("  --zero=1\n"), std::string::npos);
    EXPECT_NE(read.text->find("  --reduce-dtype=fp32, with bf16\n"), std::string::npos);
}

TEST(Recipes, ParametersOfModelsAreInOneUnit)
{
    const auto read = Train("--help=models");
    ASSERT_TRUE(read.text);
    EXPECT_NE(read.text->find("6.74 B parameters"), std::string::npos);
    EXPECT_EQ(read.text->find(" G parameters"), std::string::npos);
}

// --tp=1 has nothing to share out, and fp32 parameters have gradients of 32 bits.
TEST(Recipes, SetOnlyWhatApplies)
{
    const auto read = Train("--recipe=megatron --dtype=fp32");
    ASSERT_TRUE(read.scenario);
    EXPECT_EQ(NoteOf(read),
              "--recipe=megatron sets --bucketing=megatron --zero=1 --fused-attention=1 "
              "--attention-kernel=vendor");
}

TEST(Recipes, AnyOptionOverridesThem)
{
    const auto read = Train("--recipe=fsdp2 --zero=2 --reduce-dtype=parameters");
    ASSERT_TRUE(read.scenario);
    EXPECT_EQ(read.scenario->options.sharding.Stage(), 2U);
    EXPECT_FALSE(read.scenario->options.wideReduction);
    EXPECT_TRUE(read.scenario->options.fusedAttention);
}

TEST(Recipes, NamesAreChecked)
{
    const auto read = Train("--recipe=megatrn");
    ASSERT_EQ(read.errors.size(), 1U);
    EXPECT_NE(read.errors[0].Text().find("did you mean 'megatron'"), std::string::npos)
        << read.errors[0].Text();
}

// Fused attention of H100: 600 TFLOP/s forward by cuDNN and 370 by FlashAttention 2, of heads of
// 128 and 8,192 tokens (arXiv 2407.08608, figure 5). The rates are of products alone.
TEST(Recipes, FlashAttention2IsSlowerOnHopper)
{
    const auto h100 = *training::FindGpu("H100");
    const auto flash2 = training::WithAttention(h100, training::AttentionKernel::kFlash2);
    const double product = h100.Peak(training::Dtype::kBf16) * h100.rates.tensorProduct;
    EXPECT_NEAR(product * h100.rates.attention * 1e-12, 600, 3);
    EXPECT_NEAR(product * flash2.rates.attention * 1e-12, 370, 3);
}

// A100's own rate was fitted to steps with Triton's attention; FlashAttention 2 has 205 TFLOP/s
// forward and 180 backward there (assumed).
TEST(Recipes, AttentionOfA100IsTritons)
{
    using training::AttentionKernel;
    const auto a100 = *training::FindGpu("A100");
    const double product = a100.Peak(training::Dtype::kBf16) * a100.rates.tensorProduct * 1e-12;
    const auto triton = training::WithAttention(a100, AttentionKernel::kTriton).rates;
    EXPECT_EQ(triton.attention, a100.rates.attention);
    EXPECT_EQ(triton.attentionBackward, a100.rates.attentionBackward);
    const auto flash2 = training::WithAttention(a100, AttentionKernel::kFlash2).rates;
    EXPECT_NEAR(product * flash2.attention, 205, 1);
    EXPECT_NEAR(product * flash2.attention * flash2.attentionBackward, 180, 1);
    // Without an option a job keeps the fitted rate, sharded or not.
    for (const char* zero : {"--zero=1", "--zero=3"})
    {
        const auto read = Train(std::string("--gpu=A100 --fused-attention ") + zero);
        ASSERT_TRUE(read.scenario);
        EXPECT_EQ(read.scenario->options.gpu.rates.attention, a100.rates.attention);
    }
}

TEST(Recipes, OfOtherSoftwareSetWhatItDoes)
{
    const auto read = Train("--recipe=nanotron --tp=2 --zero=1");
    ASSERT_TRUE(read.scenario) << (read.errors.empty() ? "" : read.errors[0].Text());
    const auto& o = read.scenario->options;
    EXPECT_EQ(o.kernels, training::KernelSet::kEager);
    EXPECT_EQ(o.eagerBytes, 175);
    EXPECT_EQ(o.loss, training::Loss::kUnfused);
    EXPECT_TRUE(o.gradientCopies && o.keptGathers && o.wideReduction);
    EXPECT_EQ(read.scenario->recipe, "nanotron");
    // Products in fp8 have kernels of their own beside them.
    const auto narrow = Train("--recipe=llm-foundry --gpu=H100 --dtype=fp8");
    ASSERT_TRUE(narrow.scenario) << (narrow.errors.empty() ? "" : narrow.errors[0].Text());
    EXPECT_EQ(narrow.scenario->options.kernels, training::KernelSet::kFused);
}

TEST(Recipes, WhatSoftwareDoesIsChecked)
{
    for (const char* wrong : {"--accumulate=unsharded --zero=1",
                              "--gradient-copies",
                              "--recompute-keep=qkv_proj",
                              "--recompute=full --recompute-keep=scores",
                              "--overlap-share=1.5",
                              "--loss=chunked"})
    {
        EXPECT_EQ(Train(wrong).errors.size(), 1U) << wrong;
    }
    const auto idle = Train("--kept-gathers");
    ASSERT_TRUE(idle.scenario);
}

// FSDP's attention is PyTorch's, whatever else is taken.
TEST(Recipes, ShardedParametersBringFlashAttention2)
{
    const auto sharded = Train("--gpu=H100 --fused-attention --zero=3");
    const auto whole = Train("--gpu=H100 --fused-attention --zero=1");
    ASSERT_TRUE(sharded.scenario && whole.scenario);
    EXPECT_LT(sharded.scenario->options.gpu.rates.attention,
              whole.scenario->options.gpu.rates.attention);
}
