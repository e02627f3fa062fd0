/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * What software does otherwise than tuned kernels: seconds, messages and memory of each cause.
 */
#include "scenarios/training/graphs/training-plan.h"
#include "scenarios/training/memory-estimate.h"
#include "scenarios/training/rank-layers.h"
#include "tests/unit/scenarios/example-options.h"

#include <algorithm>
#include <gtest/gtest.h>

using namespace training;

namespace
{

/// llama3-8b on H100: 32 blocks, hidden 4,096, vocabulary 128,256; 8,192 tokens a micro-batch.
TrainingOptions
Llama(uint32_t zero = 1, uint32_t accumulation = 2)
{
    TrainingOptions o = OptionsOf("llama3-8b", 8, zero, accumulation);
    o.gpu = *FindGpu("H100");
    o.sequence = 8192;
    o.microBatch = 1;
    o.fusedAttention = true;
    return o;
}

constexpr double kTokens = 8192;
constexpr double kHidden = 4096;
constexpr double kVocabulary = 128256;

double
Computing(const TrainingOptions& o)
{
    double seconds = 0;
    for (const RankLayer& layer : LayersOfModel(o))
    {
        seconds += layer.Forward() + layer.Backward();
    }
    return seconds;
}

double
Pointwise(const TrainingOptions& o)
{
    return o.gpu.memoryBandwidth * o.gpu.rates.pointwise;
}

/// Reductions of gradients in the plan of a rank.
std::size_t
Reductions(const TrainingOptions& o)
{
    std::size_t count = 0;
    const TrainingPlan plan = MakePlan(o);
    for (const Task& task : plan.roles.front().tasks)
    {
        count += task.phase == Phase::kGradient ? 1 : 0;
    }
    return count;
}

} // namespace

// 175 bytes of a token, hidden unit and block at H100's 0.911 of 3,350 GB/s.
TEST(Software, EagerBytesAreMemoryTraffic)
{
    const TrainingOptions o = Llama();
    TrainingOptions more = o;
    more.eagerBytes = 175;
    const double seconds = 175 * kTokens * kHidden * 32 / Pointwise(o);
    EXPECT_NEAR((Computing(more) - Computing(o)) / seconds, 1, 1e-6);
    // A rank of a tensor group has its share of the tokens with sequence parallelism.
    TrainingOptions shared = o;
    shared.tensor = 8;
    shared.sequenceParallel = true;
    TrainingOptions sharedMore = shared;
    sharedMore.eagerBytes = 175;
    EXPECT_NEAR((Computing(sharedMore) - Computing(shared)) / (seconds / 8), 1, 1e-6);
}

// Forward 13 units of 2 bytes and backward 40 of an element, where the fused set has 2 and its own
// share: 65 norms (two a block, one ahead of the head).
TEST(Software, NormOfTorchReadsAndWritesEachOperator)
{
    TrainingOptions o = Llama();
    o.norm = NormKernels::kTorch;
    const double fused = Computing(Llama());
    const double elements = 65 * kTokens * kHidden;
    const double least = (13 + 40 - 8) * 2 * elements / Pointwise(o);
    const double most = (13 + 40) * 2 * elements / Pointwise(o) + 65 * 16 * o.gpu.rates.launch;
    EXPECT_GT(Computing(o) - fused, least);
    EXPECT_LT(Computing(o) - fused, most);
}

// 52 bytes a logit instead of 36; fp32 logits are kept beside the probabilities, 4 bytes each.
TEST(Software, LossMovesAndKeepsLogits)
{
    const TrainingOptions o = Llama();
    TrainingOptions unfused = o;
    unfused.loss = Loss::kUnfused;
    const double logits = kTokens * kVocabulary;
    EXPECT_NEAR((Computing(unfused) - Computing(o)) / (16 * logits / Pointwise(o)), 1, 1e-6);
    TrainingOptions wide = o;
    wide.loss = Loss::kFloat;
    EXPECT_EQ(Computing(wide), Computing(o));
    const auto memory = [](const TrainingOptions& of) {
        return static_cast<double>(EstimateMemory(of).activations);
    };
    EXPECT_NEAR((memory(wide) - memory(o)) / (4 * logits), 1, 1e-6);
    EXPECT_NEAR((memory(unfused) - memory(o)) / (8 * logits), 1, 1e-6);
    // With --tp=4 a rank has a quarter, unless it has all.
    TrainingOptions whole = o;
    whole.tensor = 4;
    TrainingOptions quarter = whole;
    whole.wholeLogits = true;
    EXPECT_NEAR((memory(whole) - memory(quarter)) / (4 * logits * 3 / 4), 1, 1e-6);
    EXPECT_GT(Computing(whole), Computing(quarter));
}

// Two inputs of a block and that of the head, all tokens, 2 bytes.
TEST(Software, KeptGathersAreOfAllTokens)
{
    TrainingOptions o = Llama();
    o.tensor = 4;
    o.sequenceParallel = true;
    const auto before = EstimateMemory(o).activations;
    o.keptGathers = true;
    const double more = static_cast<double>(EstimateMemory(o).activations - before);
    EXPECT_NEAR(more / (2 * kTokens * kHidden * (2 * 32 + 1)), 1, 1e-6);
}

TEST(Software, GradientsStayBesideTheirSums)
{
    TrainingOptions o = Llama();
    o.wideReduction = true;
    const auto before = EstimateMemory(o).gradients;
    o.gradientCopies = true;
    const double parameters = static_cast<double>(before) / 4;
    EXPECT_NEAR((EstimateMemory(o).gradients - before) / (2 * parameters), 1, 1e-6);
}

// Stage 3 reduces once a step instead of with each of two micro-batches, and holds whole gradients
// until then.
TEST(Software, UnshardedGradientsAreReducedOnce)
{
    TrainingOptions o = Llama(3);
    o.wideReduction = true;
    TrainingOptions once = o;
    once.wholeAccumulation = true;
    EXPECT_EQ(2 * Reductions(once), Reductions(o));
    const double whole = static_cast<double>(o.model.parameters) * 4;
    EXPECT_NEAR(EstimateMemory(once).gradients / whole, 1, 0.01);
    EXPECT_NEAR(EstimateMemory(o).gradients / (whole / 8), 1, 0.01);
    once.accumulation = o.accumulation = 1;
    EXPECT_EQ(EstimateMemory(once).gradients, EstimateMemory(o).gradients);
}

// Of the buckets of the last micro-batch, half wait for the end of its backward.
TEST(Software, AShareOverlaps)
{
    const auto waiting = [](double share) {
        TrainingOptions o = Llama(1, 1);
        o.overlapShare = share;
        const TrainingPlan plan = MakePlan(o);
        const auto& tasks = plan.roles.front().tasks;
        TaskId last = 0; // of backward
        for (TaskId i = 0; i < tasks.size(); ++i)
        {
            last = tasks[i].phase == Phase::kBackward ? i : last;
        }
        std::size_t count = 0;
        for (const Task& task : tasks)
        {
            const bool waits =
                std::find(task.after.begin(), task.after.end(), last) != task.after.end();
            count += task.phase == Phase::kGradient && waits ? 1 : 0;
        }
        return count;
    };
    // Buckets of the embedding, the last layer of backward, wait for it in any case.
    const auto all = static_cast<double>(waiting(0));
    const auto least = static_cast<double>(waiting(1));
    EXPECT_GT(all, 10 * least);
    EXPECT_NEAR(static_cast<double>(waiting(0.5)), (all + least) / 2, 1);
}

// Full recomputation that keeps Q, K and V does not repeat their product, and keeps 6,144 outputs
// of a token in each block (32 heads and twice 8 of 128).
TEST(Software, KeptProductsAreNotRepeated)
{
    TrainingOptions o = Llama(3, 1);
    o.recompute = Recompute::kFull;
    TrainingOptions kept = o;
    kept.keptProducts = kKeptQkv;
    EXPECT_LT(Computing(kept), Computing(o));
    const double more = static_cast<double>(EstimateMemory(kept).activations) -
                        static_cast<double>(EstimateMemory(o).activations);
    EXPECT_NEAR(more / (2 * kTokens * 6144 * 32), 1, 0.01);
    TrainingOptions both = kept;
    both.keptProducts |= kKeptOut;
    EXPECT_LT(Computing(both), Computing(kept));
}

// A host of 1 ms a kernel is slower than any kernel of a block; one of 1 ns is always ahead.
TEST(Software, TheGpuWaitsForASlowHost)
{
    TrainingOptions o = Llama();
    const double device = Computing(o);
    o.hostLaunch = 1e-9;
    EXPECT_EQ(Computing(o), device);
    o.hostLaunch = 1e-3;
    EXPECT_GT(Computing(o), 32 * 20 * 1e-3);
}

// Llama-3 8B: a block has 2 x 4096^2 (queries, output) + 2 x 4096 x 1024 (keys, values) + 3 x 4096
// x 14336 + 2 x 4096 (norms) = 218,112,000 parameters, 2 bytes each. Megatron-LM: 40M elements up
// to 40 data-parallel ranks, then 1M each.
TEST(Software, BucketsOfFrameworks)
{
    const auto bucket = [](Bucketing bucketing, uint32_t ranks, uint32_t tensor = 1) {
        TrainingOptions o = Llama();
        o.bucketing = bucketing;
        o.ranks = ranks;
        o.tensor = tensor;
        return *ResolvedOptions(o).bucketBytes;
    };
    EXPECT_EQ(bucket(Bucketing::kSize, 8), 25U << 20);
    EXPECT_EQ(bucket(Bucketing::kMegatron, 8), 80'000'000U);
    EXPECT_EQ(bucket(Bucketing::kMegatron, 64), 128'000'000U);
    EXPECT_EQ(bucket(Bucketing::kMegatron, 64, 8), 80'000'000U);
    EXPECT_EQ(bucket(Bucketing::kBlock, 8), 2 * 218'112'000U);
    TrainingOptions o = Llama();
    o.bucketing = Bucketing::kBlock;
    o.bucketBytes = 1000;
    EXPECT_EQ(*ResolvedOptions(o).bucketBytes, 1000U);
}
