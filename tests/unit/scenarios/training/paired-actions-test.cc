/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * --moe-overlap: the all-to-alls of experts beside the computing of another micro-batch. Times by
 * the rules of one-step.h: a collective takes 5 us and 20 ps a byte.
 */
#include "scenarios/training/checks/plan-check.h"
#include "scenarios/training/fewer-layers.h"
#include "scenarios/training/graphs/training-plan.h"
#include "scenarios/training/memory-estimate.h"
#include "scenarios/training/steps/message-match.h"
#include "scenarios/training/steps/volumes.h"
#include "tests/unit/scenarios/example-options.h"
#include "tests/unit/scenarios/one-step.h"
#include "tests/unit/scenarios/problem-option.h"

#include <algorithm>
#include <gtest/gtest.h>
#include <map>

using namespace training;

namespace
{

TrainingOptions
Mixture(const char* model, uint32_t blocks, uint32_t ranks, uint32_t expert, uint32_t accumulation)
{
    TrainingOptions o = WithBlocks(OptionsOf(model, ranks, 0, accumulation), blocks);
    o.microBatch = 1;
    o.expert = expert;
    o.ignoreMemory = true;
    return o;
}

/// The first error, as "option text".
std::string
ErrorOf(const TrainingOptions& o)
{
    for (const Problem& problem : Check(o))
    {
        if (problem.error)
        {
            return AboutOf(problem) + " " + problem.text;
        }
    }
    return "";
}

struct Sums
{
    std::map<std::string, int64_t> computing; ///< ps by name: nothing is left out or doubled
    std::map<std::string, uint64_t> bytes;    ///< of what is sent, by name
    int64_t computed = 0;
    int64_t experts = 0; ///< ps of the experts' collectives by one-step.h
};

Sums
SumsOf(const TrainingPlan& plan, uint32_t role)
{
    Sums sums;
    for (const Task& task : plan.roles[role].tasks)
    {
        if (Computes(task))
        {
            sums.computing[task.name] += task.duration.ps;
            sums.computed += task.duration.ps;
            continue;
        }
        sums.bytes[task.name] += task.bytes;
        if (task.kind == TaskKind::kCollective && plan.groupKinds[task.group].name == "ep")
        {
            sums.experts += 5000000 + 20 * static_cast<int64_t>(task.bytes);
        }
    }
    return sums;
}

} // namespace

// Without a pipeline m micro-batches make m - 1 pairs, each of a backward and a forward pass: 2 L
// all-to-alls there and 2 L here. Where each of them is shorter than the computing of the other
// beside it, they are all hidden; those of the first forward and the last backward pass are not.
TEST(PairedActions, HideWhatIsShorterThanComputing)
{
    for (const uint32_t expert : {2u, 4u})
    {
        for (const uint32_t blocks : {1u, 3u})
        {
            for (const uint32_t m : {2u, 3u, 7u})
            {
                auto o = Mixture("mixtral-8x7b", blocks, 4, expert, m);
                o.gpu.peakBf16 /= 8; // slow enough
                const auto plain = MakePlan(o);
                o.expertOverlap = true;
                ASSERT_EQ(ErrorOf(o), "");
                const auto paired = MakePlan(o);
                int64_t one = 0;
                for (const Task& task : plain.roles[0].tasks)
                {
                    if (task.kind == TaskKind::kCollective && task.op == coll::Op::kAllToAll)
                    {
                        one = 5000000 + 20 * static_cast<int64_t>(task.bytes);
                    }
                }
                EXPECT_EQ(onestep::Run(plain).time - onestep::Run(paired).time,
                          int64_t{m - 1} * 4 * blocks * one)
                    << expert << " " << blocks << " " << m;
            }
        }
    }
}

// Whatever takes longer: never less than computing, never less than the experts' stream. Without a
// pipeline never longer than without pairs, in one where exchanging takes most of the time: stages
// wait for whole pairs of the others, which costs a little where there is little to hide.
TEST(PairedActions, AreNoFasterThanWhatTheyDo)
{
    for (const char* model : {"mixtral-8x7b", "deepseek-v2-lite"})
    {
        for (const double slower : {0.01, 1.0, 30.0})
        {
            for (const auto& [tensor, pipeline] : {std::pair{1u, 1u}, {2u, 1u}, {1u, 2u}, {2u, 2u}})
            {
                auto o = Mixture(model, 3 * pipeline, 4 * tensor * pipeline, 4, 6);
                o.tensor = tensor;
                o.pipeline = pipeline;
                o.virtualStages = pipeline;
                o.schedule = pipeline > 1 ? "interleaved" : "1f1b";
                o.sequenceParallel = tensor > 1;
                o.gpu.peakBf16 /= slower;
                const auto plain = MakePlan(o);
                o.expertOverlap = true;
                const auto paired = MakePlan(o);
                const Sums sums = SumsOf(paired, 0);
                const int64_t time = onestep::Run(paired).time;
                EXPECT_GE(time, sums.computed);
                EXPECT_GE(time, sums.experts);
                if (pipeline == 1 || slower < 1)
                {
                    EXPECT_LT(time, onestep::Run(plain).time) << model << " " << slower;
                }
            }
        }
    }
}

// With everything else there is: the same is computed, the same bytes are sent, ranks of a group do
// the same in the same order, and nobody waits for ever.
TEST(PairedActions, EveryCombinationEnds)
{
    uint32_t ran = 0;
    for (const uint32_t tensor : {1u, 2u})
    {
        for (const uint32_t pipeline : {1u, 2u, 3u, 4u})
        {
            for (const uint32_t context : {1u, 2u})
            {
                for (uint32_t zero = 0; zero <= 2; ++zero)
                {
                    for (const uint32_t accumulation : {2u, 3u, 6u, 8u})
                    {
                        const uint32_t chunks = pipeline > 1 ? 2 + zero % 2 : 1;
                        auto o = Mixture(zero == 1 ? "deepseek-v2-lite" : "mixtral-8x7b",
                                         pipeline * chunks,
                                         tensor * pipeline * context * 2,
                                         2 * context,
                                         accumulation);
                        o.sequence = 512;
                        o.sharding = ZeroStage(zero);
                        o.tensor = tensor;
                        o.pipeline = pipeline;
                        o.context = context;
                        o.contextExchange = static_cast<ContextExchange>(accumulation % 3);
                        o.virtualStages = chunks;
                        o.schedule = pipeline > 1 ? "interleaved" : "1f1b";
                        o.sequenceParallel = tensor > 1 && zero == 1;
                        o.piecewiseOverlap = o.sequenceParallel && context == 1;
                        o.fusedAccumulation = pipeline == 2;
                        o.recompute = static_cast<Recompute>((zero + pipeline) % 3);
                        o.moeSkew = accumulation == 6 ? 0.7 : 0;
                        o.overlap = accumulation != 8;
                        o.awaitedSends = accumulation == 3;
                        if (o.accumulation % o.pipeline != 0)
                        {
                            continue;
                        }
                        const auto plain = MakePlan(o);
                        o.expertOverlap = true;
                        ASSERT_EQ(ErrorOf(o), "");
                        const auto paired = MakePlan(o);
                        const MessageMatch match(paired);
                        EXPECT_TRUE(match.Problems().empty());
                        EXPECT_TRUE(match.Unmatched().empty());
                        ASSERT_EQ(paired.roles.size(), plain.roles.size());
                        for (uint32_t role = 0; role < plain.roles.size(); ++role)
                        {
                            EXPECT_EQ(SumsOf(paired, role).computing,
                                      SumsOf(plain, role).computing);
                            EXPECT_EQ(SumsOf(paired, role).bytes, SumsOf(plain, role).bytes);
                        }
                        EXPECT_EQ(BytesMovedPerGpu(paired), BytesMovedPerGpu(plain));
                        const auto result = onestep::Run(paired);
                        EXPECT_EQ(result.ended, result.tasks)
                            << tensor << " " << pipeline << " " << context << " " << zero << " "
                            << accumulation;
                        for (uint32_t role = 0; role < plain.roles.size(); ++role)
                        {
                            EXPECT_GE(result.time, SumsOf(paired, role).computed);
                        }
                        ++ran;
                    }
                }
            }
        }
    }
    EXPECT_GT(ran, 80u);
}

// A pair keeps one more micro-batch (of a chunk): the forward pass goes on while the backward one
// has freed nothing yet. Without a pipeline two instead of one.
TEST(PairedActions, KeepOneMoreMicroBatch)
{
    auto o = Mixture("mixtral-8x7b", 2, 4, 2, 4);
    const uint64_t one = EstimateMemory(o).activations;
    o.expertOverlap = true;
    EXPECT_EQ(EstimateMemory(o).activations, 2 * one);
    // Megatron-LM's 2 (p - i - 1) + (v - 1) p + 1 forward passes ahead of stage 0's first backward,
    // which is one more for p = v = 2 (5 instead of 4 in flight, of 8 passes).
    o = Mixture("mixtral-8x7b", 4, 8, 2, 4);
    o.pipeline = 2;
    o.virtualStages = 2;
    o.schedule = "interleaved";
    const uint64_t before = EstimateStageMemory(o, 0).activations;
    o.expertOverlap = true;
    EXPECT_GT(EstimateStageMemory(o, 0).activations, before);
    EXPECT_LE(EstimateStageMemory(o, 0).activations, 2 * before);
}

// What cannot be is refused with what is allowed.
TEST(PairedActions, WhatCannotBeIsRefused)
{
    const auto refused = [](auto change, const char* words) {
        auto o = Mixture("mixtral-8x7b", 4, 4, 2, 4);
        o.expertOverlap = true;
        ASSERT_EQ(ErrorOf(o), "");
        change(o);
        EXPECT_NE(ErrorOf(o).find(words), std::string::npos) << ErrorOf(o);
        EXPECT_EQ(ErrorOf(o).rfind("moe-overlap ", 0), 0u) << ErrorOf(o);
    };
    refused([](TrainingOptions& o) { o.expert = 1; }, "--ep from 2 on");
    refused([](TrainingOptions& o) { o.sharding = ZeroStage(3); }, "--zero=0, 1 or 2");
    refused([](TrainingOptions& o) { o.accumulation = 1; }, "2 and more");
    refused([](TrainingOptions& o) { o.schedule = "gpipe"; }, "--pipeline-schedule=1f1b");
    refused([](TrainingOptions& o) { o.pipeline = 2; }, "--virtual-stages");
    refused(
        [](TrainingOptions& o) {
            o.pipeline = 2;
            o.schedule = "zero-bubble";
        },
        "--virtual-stages");
}
