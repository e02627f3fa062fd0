/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * What a GPU sends in a step equals the formulas: communication.h has the table and its sources.
 */
#include "scenarios/training/graphs/training-plan.h"
#include "scenarios/training/steps/volumes.h"
#include "scenarios/training/zero-partition.h"
#include "tests/unit/scenarios/example-options.h"

#include <gtest/gtest.h>

using namespace training;

namespace
{

double
Total(const std::map<std::string, double>& moved)
{
    double sum = 0;
    for (const auto& [op, bytes] : moved)
    {
        sum += bytes;
    }
    return sum;
}

} // namespace

// In units of 2 psi' (n-1)/n bytes (bf16), psi' = psi padded as PaddedParameters() says.
TEST(ZeroVolume, PaperFormulas)
{
    for (const char* model : {"bloom-560m", "gpt2", "llama2-7b", "resnet-50", "vgg-16"})
    {
        for (const uint32_t n : {2u, 3u, 8u, 128u, 3072u})
        {
            for (const uint32_t m : {1u, 2u, 3u, 8u})
            {
                for (uint32_t zero = 0; zero <= 3; ++zero)
                {
                    const auto o = OptionsOf(model, n, zero, m);
                    const double unit = 2.0 * PaddedModel(o) * (n - 1) / n;
                    const auto moved = BytesMovedPerGpu(MakePlan(o));
                    const double factor[] = {2, 2, m + 1.0, 3.0 * m};
                    EXPECT_NEAR(Total(moved) / unit, factor[zero], 1e-9)
                        << model << " n " << n << " m " << m << " zero " << zero;
                    if (zero == 0)
                    {
                        EXPECT_NEAR(moved.at("all_reduce") / unit, 2, 1e-9);
                        EXPECT_EQ(moved.size(), 1u);
                    }
                    else
                    {
                        const double scatter[] = {0, 1, 1.0 * m, 1.0 * m};
                        EXPECT_NEAR(moved.at("reduce_scatter") / unit, scatter[zero], 1e-9);
                        EXPECT_EQ(moved.count("all_reduce"), 0u);
                    }
                }
            }
        }
    }
}

TEST(ZeroVolume, DeepSpeedFormulas)
{
    for (const char* model : {"bloom-560m", "gpt2", "bloom-7b1"})
    {
        for (const uint32_t n : {2u, 3u, 128u})
        {
            for (const uint32_t m : {1u, 2u, 3u, 8u})
            {
                for (uint32_t zero = 0; zero <= 3; ++zero)
                {
                    auto o = OptionsOf(model, n, zero, m, ZeroImpl::kDeepSpeed);
                    o.reuseElements = 0;
                    o.persistElements = 0; // data-parallel-test.cc has those
                    const auto moved = BytesMovedPerGpu(MakePlan(o));
                    const double plain = 2.0 * o.model.parameters * (n - 1) / n;
                    const double padded = 2.0 * PaddedModel(o) * (n - 1) / n;
                    const double expected[] = {2 * plain,
                                               2 * plain + padded,
                                               2 * m * plain + padded,
                                               3 * m * padded};
                    EXPECT_NEAR(Total(moved) / expected[zero], 1, 1e-12)
                        << model << " n " << n << " m " << m << " zero " << zero;
                }
            }
        }
    }
}

// stage3_max_reuse_distance 1e9: a layer is not gathered again in backward if fewer elements than
// that are used in between.
TEST(ZeroVolume, DeepSpeedKeepsWhatItUsesAgainSoon)
{
    // bloom-560m: even the first block sees 2 x 302 M elements in between, and the tied matrix is
    // held: 2 m psi.
    auto o = OptionsOf("bloom-560m", 8, 3, 2, ZeroImpl::kDeepSpeed);
    o.persistElements = 0;
    const double unit = 2.0 * PaddedModel(o) * 7 / 8;
    EXPECT_NEAR(Total(BytesMovedPerGpu(MakePlan(o))) / unit, 4, 1e-12);

    // llama2-7b: head 131,076,096 and blocks of 202,383,360 elements. Twice what lies above: head
    // 0, block 31 262 M, block 30 667 M, block 29 1,072 M. So the head and two blocks stay:
    // 535,842,816 elements are gathered once instead of twice.
    o = OptionsOf("llama2-7b", 8, 3, 1, ZeroImpl::kDeepSpeed);
    o.persistElements = 0;
    EXPECT_NEAR(Total(BytesMovedPerGpu(MakePlan(o))),
                (3.0 * 6738415616 - 535842816) * 2 * 7 / 8,
                1);
}

TEST(ZeroVolume, PaddingIsSmall)
{
    for (const auto& name : ModelNames())
    {
        const auto model = *FindModel(name);
        for (const uint32_t n : {1u, 7u, 128u, 3072u})
        {
            TrainingOptions o;
            o.model = model;
            o.ranks = n;
            o.sharding = ZeroStage(0);
            EXPECT_EQ(PaddedModel(o), model.parameters);
            for (const uint32_t zero : {1u, 2u})
            {
                o.sharding = ZeroStage(zero);
                EXPECT_LE(PaddedModel(o) - model.parameters, 2 * (n - 1)); // experts' and others'
                EXPECT_EQ(PaddedModel(o) % n, 0u);
            }
            o.sharding = ZeroStage(3);
            EXPECT_LE(PaddedModel(o) - model.parameters, 2 * (n - 1) * model.layers.size());
            EXPECT_EQ(PaddedModel(o) % n, 0u);
        }
    }
}

TEST(ZeroVolume, OneGpuIsSilentAndWideTypesAreTwiceAsLarge)
{
    for (uint32_t zero = 0; zero <= 3; ++zero)
    {
        for (const auto impl : {ZeroImpl::kPaper, ZeroImpl::kDeepSpeed})
        {
            EXPECT_TRUE(BytesMovedPerGpu(MakePlan(OptionsOf("gpt2", 1, zero, 2, impl))).empty());
        }
        auto o = OptionsOf("gpt2", 4, zero, 1);
        const double narrow = Total(BytesMovedPerGpu(MakePlan(o)));
        o.dtype = Dtype::kFp32;
        EXPECT_DOUBLE_EQ(Total(BytesMovedPerGpu(MakePlan(o))), 2 * narrow);
    }
}

// The size of buckets and gathers, and the overlap, change when things are sent, never how much.
TEST(ZeroVolume, ChoicesOfTimingMoveTheSameBytes)
{
    for (uint32_t zero = 0; zero <= 3; ++zero)
    {
        auto o = OptionsOf("bloom-560m", 24, zero, 2);
        const double total = Total(BytesMovedPerGpu(MakePlan(o)));
        for (const uint64_t bucket : {100000ULL, 1ULL << 20, 1ULL << 33})
        {
            o.bucketBytes = bucket;
            o.gatherBytes = bucket;
            o.prefetchBytes = bucket;
            for (const bool overlap : {false, true})
            {
                o.overlap = overlap;
                EXPECT_NEAR(Total(BytesMovedPerGpu(MakePlan(o))) / total, 1, 1e-12);
            }
        }
    }
}

// Buckets by hand. bloom-560m, bf16, 25 MiB = 13,107,200 elements.
TEST(ZeroBuckets, SizesByHand)
{
    const auto sizes = [](const TrainingOptions& o, coll::Op op) {
        std::vector<uint64_t> bytes;
        const auto plan = MakePlan(o);
        for (const auto& task : plan.roles[0].tasks)
        {
            if (task.kind == TaskKind::kCollective && task.op == op)
            {
                bytes.push_back(task.bytes);
            }
        }
        return bytes;
    };
    // Stage 2 on 128 ranks: 13,107,200 = 128 x 102,400 elements, so 559,214,592 = 42 x 13,107,200 +
    // 8,712,192.
    auto cut = sizes(OptionsOf("bloom-560m", 128, 2, 1), coll::Op::kReduceScatter);
    ASSERT_EQ(cut.size(), 43u);
    for (size_t i = 0; i < 42; ++i)
    {
        EXPECT_EQ(cut[i], 26214400u);
    }
    EXPECT_EQ(cut[42], 8712192u * 2);

    // Stage 0 keeps tensors whole. From the end: head norm 2,048; block 23: MLP out 1,024 +
    // 4,194,304, MLP in 4,096 + 4,194,304, norm 2,048, attention out 1,024 + 1,048,576, qkv 3,072 +
    // 3,145,728, norm 2,048: 12,598,272 in all with the head's norm; then block 22's 1,024 +
    // 4,194,304 reach 16,793,600 >= 13,107,200.
    auto stage0 = OptionsOf("bloom-560m", 128, 0, 1);
    stage0.firstBucketBytes = 25u << 20;
    EXPECT_EQ(sizes(stage0, coll::Op::kAllReduce).front(), 16793600u * 2);
    // A first bucket of 1 MiB = 524,288 elements is full with the head's norm and the MLP out of
    // block 23: 4,197,376. The next one: what is left of block 23 (8,400,896), MLP out and in of
    // block 22: 16,794,624.
    stage0.firstBucketBytes.reset();
    const auto whole = sizes(stage0, coll::Op::kAllReduce);
    EXPECT_EQ(whole[0], 4197376u * 2);
    EXPECT_EQ(whole[1], 16794624u * 2);
    // The embedding is one tensor: the last bucket but its two norms' worth ahead of it.
    EXPECT_GE(whole.back(), 250880u * 1024 * 2);

    // DeepSpeed: 5e8 elements, closed before the tensor that would exceed it: all but the embedding
    // matrix (with its norm) in one.
    const auto deep =
        sizes(OptionsOf("bloom-560m", 128, 2, 1, ZeroImpl::kDeepSpeed), coll::Op::kAllReduce);
    ASSERT_EQ(deep.size(), 2u);
    EXPECT_EQ(deep[0], (559214592u - 250880u * 1024) * 2);
    EXPECT_EQ(deep[1], 250880u * 1024 * 2);
}
