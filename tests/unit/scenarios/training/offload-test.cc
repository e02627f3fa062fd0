/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * What --offload moves, keeps and takes (host-work.h has the closed forms).
 */
#include "scenarios/training/checks/plan-check.h"
#include "scenarios/training/graphs/training-plan.h"
#include "scenarios/training/host-work.h"
#include "scenarios/training/memory-estimate.h"
#include "scenarios/training/spec/kernel-time.h"
#include "tests/unit/scenarios/example-options.h"
#include "tests/unit/scenarios/problem-option.h"
#include "tests/unit/scenarios/step-times.h"

#include <gtest/gtest.h>
#include <map>

using namespace training;

namespace
{

TrainingOptions
Offloaded(const std::string& model,
          uint32_t ranks,
          uint32_t zero,
          uint32_t accumulation,
          Offload offload,
          ZeroImpl impl = ZeroImpl::kPaper)
{
    TrainingOptions o = OptionsOf(model, ranks, zero, accumulation, impl);
    o.microBatch = 1;
    o.offload = offload;
    o.host = {25e9, 100e9, 4};
    return o;
}

/// Bytes of all tasks on a stream.
uint64_t
BytesOn(const StepGraph& graph, const std::string& stream)
{
    uint64_t bytes = 0;
    for (const Task& task : graph.tasks)
    {
        bytes += graph.streams[task.stream] == stream ? task.bytes : 0;
    }
    return bytes;
}

} // namespace

TEST(Offload, VolumesOverPcie)
{
    for (const char* model : {"gpt2", "bloom-560m", "resnet-50", "mixtral-8x7b"})
    {
        for (const uint32_t n : {1u, 2u, 3u, 7u})
        {
            for (const uint32_t m : {1u, 3u})
            {
                for (uint32_t zero = 1; zero <= 3; ++zero)
                {
                    const auto o = Offloaded(model, n, zero, m, Offload::kOptimizer);
                    const StepGraph graph = MakePlan(o).roles[0];
                    const uint64_t share = 2 * PaddedModel(o) / n;
                    EXPECT_EQ(BytesOn(graph, "to host"), share * (zero >= 2 ? m : 1))
                        << model << " n " << n << " m " << m << " zero " << zero;
                    EXPECT_EQ(BytesOn(graph, "from host"), share);
                }
                const auto o = Offloaded(model, n, 3, m, Offload::kAll);
                const StepGraph graph = MakePlan(o).roles[0];
                const uint64_t share = 2 * PaddedModel(o) / n;
                EXPECT_EQ(BytesOn(graph, "to host"), share * m);
                // Forward and backward; a matrix that is tied stays in between.
                const bool tied = std::any_of(o.model.layers.begin(),
                                              o.model.layers.end(),
                                              [](const auto& l) { return l.tiedTo != kNotTied; });
                const uint64_t both = 2 * m * share;
                if (tied)
                {
                    EXPECT_LE(BytesOn(graph, "from host"), both);
                    EXPECT_GT(BytesOn(graph, "from host"), both / 2);
                }
                else
                {
                    EXPECT_EQ(BytesOn(graph, "from host"), both) << model << " n " << n;
                }
            }
        }
    }
}

TEST(Offload, NothingIsUpdatedBeforeItsGradientsOrUsedBeforeItIsThere)
{
    struct Case
    {
        const char* model;
        uint32_t ranks, zero, accumulation, pipeline;
        Offload offload;
        bool overlap;
    };

    for (const Case& c : {Case{"gpt2", 1, 2, 1, 1, Offload::kOptimizer, true},
                          Case{"gpt2", 3, 1, 3, 1, Offload::kOptimizer, true},
                          Case{"gpt2", 3, 2, 3, 1, Offload::kOptimizer, false},
                          Case{"gpt2", 5, 3, 2, 1, Offload::kOptimizer, true},
                          Case{"gpt2", 5, 3, 2, 1, Offload::kAll, true},
                          Case{"gpt2", 1, 3, 2, 1, Offload::kAll, false},
                          Case{"gpt2", 4, 1, 4, 4, Offload::kOptimizer, true}, // one replica
                          Case{"gpt2", 12, 1, 4, 4, Offload::kOptimizer, true},
                          Case{"gpt2", 6, 2, 3, 2, Offload::kOptimizer, true},
                          Case{"mixtral-8x7b", 6, 3, 2, 1, Offload::kAll, true}})
    {
        TrainingOptions o = Offloaded(c.model, c.ranks, c.zero, c.accumulation, c.offload);
        o.pipeline = c.pipeline;
        o.overlap = c.overlap;
        const TrainingPlan plan = MakePlan(o);
        ASSERT_EQ(plan.roles.size(), c.pipeline);
        for (const StepGraph& graph : plan.roles)
        {
            const auto times = TimesOf(graph);
            double computed = 0;
            double gradients = 0;
            double update = 1e9;
            double updated = 0;
            for (std::size_t i = 0; i < times.size(); ++i)
            {
                const Task& task = graph.tasks[i];
                if (Computes(task))
                {
                    EXPECT_NE(task.phase, Phase::kOptimizer); // the GPU updates nothing
                    computed = std::max(computed, times[i].end);
                }
                if (task.phase == Phase::kGradient)
                {
                    gradients = std::max(gradients, times[i].end);
                }
                if (task.phase == Phase::kOptimizer)
                {
                    EXPECT_EQ(graph.streams[task.stream], "host");
                    update = std::min(update, times[i].start);
                    updated = std::max(updated, times[i].end);
                }
            }
            EXPECT_GE(update, gradients) << c.model << " " << c.ranks << " " << c.zero;
            EXPECT_GE(update, computed);
            for (std::size_t i = 0; i < times.size(); ++i)
            {
                const Task& task = graph.tasks[i];
                if (c.zero < 3 && Communicates(task) && task.phase == Phase::kParameter)
                {
                    EXPECT_GE(times[i].start, updated);
                }
            }
        }
    }
}

// One GPU with a link that takes no time: computing, and then what the CPU takes for its 28 bytes a
// parameter (kernel-time.h) at a quarter of the memory's rate.
TEST(Offload, StepOfOneGpu)
{
    for (const char* model : {"gpt2", "bloom-560m"})
    {
        TrainingOptions o = Offloaded(model, 1, 2, 2, Offload::kOptimizer);
        TrainingOptions plain = o;
        plain.offload = Offload::kNone;
        const double psi = static_cast<double>(o.model.parameters);
        const double onGpu = OptimizerSeconds(Optimizer::kAdam, psi, o.gpu, o.dtype);
        // Nor does the GPU add up its share of the gradients of the second micro-batch.
        double adding = 0;
        for (const RankLayer& layer : LayersOfModel(ResolvedOptions(plain)))
        {
            adding += layer.accumulate;
        }
        EXPECT_GE(adding, psi * 6 / o.gpu.memoryBandwidth);
        const double computing = StepSeconds(MakePlan(plain).roles[0]) - onGpu - adding;
        o.host.linkRate = 1e18;
        const double step = StepSeconds(MakePlan(o).roles[0]);
        EXPECT_NEAR(step, computing + psi * 28 * 4 / 100e9, 1e-6 * step) << model;
        // A slower link makes no step faster, and no step longer than all of its copies would.
        double before = step;
        for (const double rate : {400e9, 50e9, 25e9, 3e9, 1e9})
        {
            o.host.linkRate = rate;
            const double now = StepSeconds(MakePlan(o).roles[0]);
            EXPECT_GE(now, before);
            // Two micro-batches' gradients, and the parameters.
            EXPECT_LE(now, step + 3 * 2 * psi / rate + 1e-6);
            before = now;
        }
    }
}

TEST(Offload, WhatIsUpdatedGoesBackMeanwhile)
{
    // 7.1 billion: 53 tiles; all but the last one's copy is hidden behind slower updates.
    const TrainingOptions o = Offloaded("bloom-7b1", 1, 2, 1, Offload::kOptimizer);
    const StepGraph graph = MakePlan(o).roles[0];
    const auto times = TimesOf(graph);
    double updated = 0;
    double back = 0;
    for (std::size_t i = 0; i < times.size(); ++i)
    {
        const std::string& stream = graph.streams[graph.tasks[i].stream];
        updated = stream == "host" ? times[i].end : updated;
        back = stream == "from host" ? times[i].end : back;
    }
    const uint64_t last = HostTiles(o.model.parameters).back();
    EXPECT_GT(HostTiles(o.model.parameters).size(), 2u);
    EXPECT_LE(last, kHostTile);
    EXPECT_NEAR(back - updated, 2.0 * static_cast<double>(last) / 25e9, 1e-6);
}

TEST(Offload, WhatLeavesTheGpuIsOnTheHost)
{
    for (const uint32_t n : {2u, 3u, 16u})
    {
        for (uint32_t zero = 1; zero <= 3; ++zero)
        {
            TrainingOptions o = Offloaded("llama2-7b", n, zero, 1, Offload::kNone);
            const MemoryEstimate plain = EstimateMemory(o);
            EXPECT_EQ(plain.host, 0u);
            o.offload = Offload::kOptimizer;
            const MemoryEstimate off = EstimateMemory(o);
            EXPECT_EQ(off.optimizer, 0u);
            EXPECT_EQ(off.parameters, plain.parameters);
            EXPECT_EQ(off.activations, plain.activations);
            EXPECT_EQ(off.buffers, plain.buffers);
            // Adam's 12 bytes a parameter and the gradients' 2, of this rank's partition.
            EXPECT_EQ(off.host, PaddedModel(o) / n * 14) << "n " << n << " zero " << zero;
            EXPECT_EQ(off.gradients, zero == 1 ? plain.gradients : 0u);
            if (zero == 3)
            {
                o.offload = Offload::kAll;
                const MemoryEstimate all = EstimateMemory(o);
                EXPECT_EQ(all.parameters, 0u);
                EXPECT_EQ(all.host, PaddedModel(o) / n * 16);
                EXPECT_EQ(all.buffers, plain.buffers);
            }
        }
    }
}

TEST(Offload, NeedsTheStagesThatDeepSpeedHasItFor)
{
    for (uint32_t zero = 0; zero <= 3; ++zero)
    {
        for (const Offload offload : {Offload::kOptimizer, Offload::kAll})
        {
            bool refused = false;
            for (const Problem& p : Check(Offloaded("gpt2", 2, zero, 1, offload)))
            {
                refused = refused || (p.error && AboutOf(p) == "offload");
            }
            EXPECT_EQ(refused, offload == Offload::kAll ? zero < 3 : zero < 1);
        }
    }
}
