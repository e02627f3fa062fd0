/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "scenarios/training/memory-estimate.h"
#include "scenarios/training/plan-check.h"
#include "scenarios/training/training-plan.h"

#include <gtest/gtest.h>

using namespace training;

namespace
{

TrainingOptions
Options(const std::string& model, uint32_t ranks, uint32_t zero)
{
    TrainingOptions o;
    o.model = *FindModel(model);
    o.gpu = *FindGpu("A100");
    o.ranks = ranks;
    o.zero = zero;
    o.sequence = o.model.sequence;
    return o;
}

bool
Warns(const TrainingOptions& o, const std::string& path)
{
    for (const auto& p : Check(o))
    {
        if (!p.error && p.path == path)
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
        if (p.error && p.path == path)
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
    EXPECT_NEAR(ModelStateBytes(7.5e9, 64, 0) / 1e9, 120, 0.05);
    EXPECT_NEAR(ModelStateBytes(7.5e9, 64, 1) / 1e9, 31.4, 0.05);
    EXPECT_NEAR(ModelStateBytes(7.5e9, 64, 2) / 1e9, 16.6, 0.05);
    EXPECT_NEAR(ModelStateBytes(7.5e9, 64, 3) / 1e9, 1.9, 0.05);
}

// The same paper, table 1, 1 T parameters: 16,000 GB at one GPU and 15.6 GB at stage 3 on 1,024.
TEST(PlanMemory, ZeroTable1)
{
    EXPECT_NEAR(ModelStateBytes(1e12, 1, 3) / 1e9, 16000, 1);
    EXPECT_NEAR(ModelStateBytes(1e12, 1024, 3) / 1e9, 15.6, 0.05);
    EXPECT_NEAR(ModelStateBytes(1e12, 1024, 2) / 1e9, 2013, 1);
}

TEST(PlanMemory, EstimateAgreesWithTheFormula)
{
    for (uint32_t zero = 0; zero <= 3; ++zero)
    {
        const auto o = Options("megatron-7.5b", 64, zero);
        const auto m = EstimateMemory(o);
        EXPECT_NEAR((m.parameters + m.gradients + m.optimizer) /
                        ModelStateBytes(o.model.parameters, 64, zero),
                    1,
                    1e-6);
        EXPECT_EQ(MakeDataParallelPlan(o).gpuMemoryBytes, m.Total());
    }
}

// Korthikanti et al. 2022, sections 4 and 5: 34 s b h + 5 a s^2 b bytes a layer; 2 s b h with full
// recomputation; fused attention spares 5 a s^2 b.
TEST(PlanMemory, ActivationsByHand)
{
    auto o = Options("megatron-7.5b", 64, 3);
    o.microBatch = 2;
    const double sbh = 2048.0 * 2 * 4096;
    const double pairs = 5.0 * 32 * 2048 * 2048 * 2;
    const double embedding = sbh; // dropout's mask
    const double head =
        sbh * (2 + 2) + 2048.0 * 2 * 4 * 51200; // norm's and projection's inputs, logits
    EXPECT_NEAR(EstimateMemory(o).activations, 36 * (34 * sbh + pairs) + embedding + head, 1);
    o.fusedAttention = true;
    EXPECT_NEAR(EstimateMemory(o).activations, 36 * 34 * sbh + embedding + head, 1);
    o.recompute = true;
    EXPECT_NEAR(EstimateMemory(o).activations, 36 * 2 * sbh + 34 * sbh + embedding + head, 1);
}

TEST(PlanCheck, TooLargeIsAWarning)
{
    EXPECT_FALSE(Warns(Options("bloom-560m", 128, 2), "model"));
    EXPECT_TRUE(Warns(Options("bloom-176b", 128, 0), "model"));
    auto o = Options("gpt3-175b", 384, 3);
    o.recompute = true;
    EXPECT_FALSE(Warns(o, "model")); // SC'21, table 2, ran this: 384 GPUs of 80 GB, micro-batch 4
    o.zero = 0;
    EXPECT_TRUE(Warns(o, "model"));
    EXPECT_EQ(Check(o).size(), 1u);
}

TEST(PlanCheck, MistakesAreNamed)
{
    const auto good = Options("gpt2", 8, 2);
    EXPECT_TRUE(Check(good).empty());
    auto o = good;
    o.ranks = 0;
    EXPECT_TRUE(Errs(o, "gpus"));
    o = good;
    o.zero = 4;
    EXPECT_TRUE(Errs(o, "zero"));
    o = good;
    o.microBatch = 0;
    EXPECT_TRUE(Errs(o, "micro-batch"));
    o = good;
    o.accumulation = 0;
    EXPECT_TRUE(Errs(o, "accumulation"));
    o = good;
    o.sequence = 0;
    EXPECT_TRUE(Errs(o, "seq"));
    o = good;
    o.bucketBytes = 1;
    EXPECT_TRUE(Errs(o, "buckets"));
    o = good;
    o.bucketBytes = 25; // MiB forgotten
    EXPECT_TRUE(Errs(o, "buckets"));
    o = good;
    o.accumulation = 1000000000;
    EXPECT_TRUE(Errs(o, "accumulation"));
    o = good;
    o.gpu = *FindGpu("V100");
    EXPECT_TRUE(Errs(o, "dtype")); // no bf16
    o = good;
    o.sequence = 4096;
    EXPECT_TRUE(Warns(o, "seq"));
    o = good;
    o.ranks = 1;
    EXPECT_TRUE(Warns(o, "zero"));
}

TEST(PlanOptions, DefaultsOfTheTwoImplementations)
{
    auto o = Options("gpt2", 8, 2);
    auto r = ResolvedOptions(o);
    EXPECT_EQ(*r.bucketBytes, 25u << 20);
    EXPECT_TRUE(*r.overlap);
    // deepspeed/runtime/zero/config.py: 5e8, 5e7, 1e9 elements; overlap_comm true at stage 3 only.
    o.zeroImpl = ZeroImpl::kDeepSpeed;
    r = ResolvedOptions(o);
    EXPECT_EQ(*r.bucketBytes, 1000000000u);
    EXPECT_EQ(*r.prefetchBytes, 100000000u);
    EXPECT_EQ(*r.reuseElements, 1000000000u);
    EXPECT_FALSE(*r.overlap);
    o.zero = 3;
    EXPECT_TRUE(*ResolvedOptions(o).overlap);
    o.overlap = false;
    EXPECT_FALSE(*ResolvedOptions(o).overlap);
    EXPECT_EQ(ParseZeroImpl("DeepSpeed"), ZeroImpl::kDeepSpeed);
    EXPECT_FALSE(ParseZeroImpl("fsdp"));
}
