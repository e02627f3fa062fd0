/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Loading data beside a step, and optimizers other than Adam.
 */
#include "scenarios/training/checks/plan-check.h"
#include "scenarios/training/graphs/training-plan.h"
#include "scenarios/training/memory-estimate.h"
#include "scenarios/training/spec/kernel-time.h"
#include "tests/unit/scenarios/example-options.h"
#include "tests/unit/scenarios/problem-option.h"
#include "tests/unit/scenarios/step-times.h"

#include <gtest/gtest.h>

using namespace training;

namespace
{

std::string
FirstError(const TrainingOptions& o)
{
    for (const Problem& p : Check(o))
    {
        if (p.error)
        {
            return AboutOf(p);
        }
    }
    return "";
}

} // namespace

// A server of g GPUs has g / (tp cp) copies of the model, at least one, if its stages lie on other
// servers; each takes micro-batch x accumulation samples a step.
TEST(Loading, StepTakesTheLongerOfTheTwo)
{
    struct Case
    {
        uint32_t ranks, perServer, tensor, pipeline, copies;
    };

    for (const Case& c : {Case{1, 1, 1, 1, 1},
                          Case{16, 8, 1, 1, 8},
                          Case{24, 8, 3, 1, 4}, // ranks 8; 9 to 11; 12 to 14; 15
                          Case{16, 8, 4, 1, 2},
                          Case{16, 8, 4, 4, 1},
                          Case{16, 8, 2, 2, 4},
                          Case{8, 8, 2, 2, 2}})
    {
        TrainingOptions o = OptionsOf("gpt2", c.ranks, 1, 4);
        o.microBatch = 3;
        o.tensor = c.tensor;
        o.pipeline = c.pipeline;
        o.host.gpus = c.perServer;
        const double computing = StepSeconds(MakePlan(o).roles[0]);
        for (const double seconds : {computing / 3, computing * 2.5})
        {
            o.loaderRate = c.copies * 12 / seconds;
            const TrainingPlan plan = MakePlan(o);
            EXPECT_NEAR(StepSeconds(plan.roles[0]), std::max(seconds, computing), 1e-9)
                << c.ranks << " " << c.tensor << " " << c.pipeline;
            // Samples go in at the first stage.
            for (uint32_t stage = 0; stage < c.pipeline; ++stage)
            {
                uint32_t loads = 0;
                for (const Task& task : plan.roles[stage].tasks)
                {
                    loads += task.phase == Phase::kLoading;
                }
                EXPECT_EQ(loads, stage == 0 ? 1u : 0u);
            }
        }
    }
}

TEST(Loading, IsNoStraightLineOverLayers)
{
    TrainingOptions o = OptionsOf("gpt2", 4, 1);
    o.layers = 6;
    EXPECT_EQ(FirstError(o), "");
    o.loaderRate = 100;
    EXPECT_EQ(FirstError(o), "loader");
}

// fp32 master copy 4 (16-bit datatypes), momentum 4, variance 4.
TEST(Optimizers, StatesOfAParameter)
{
    const std::pair<Optimizer, uint32_t> all[] = {{Optimizer::kSgd, 4},
                                                  {Optimizer::kMomentum, 8},
                                                  {Optimizer::kAdam, 12},
                                                  {Optimizer::kLamb, 12},
                                                  {Optimizer::kAdafactor, 4}};
    for (const auto& [optimizer, bytes] : all)
    {
        EXPECT_EQ(ParseOptimizer(OptimizerName(optimizer)), optimizer);
        EXPECT_EQ(OptimizerStateBytes(optimizer, Dtype::kBf16), bytes);
        EXPECT_EQ(OptimizerStateBytes(optimizer, Dtype::kTf32), bytes - 4);
        for (const uint32_t n : {1u, 3u, 8u})
        {
            for (const uint32_t zero : {0u, 2u})
            {
                TrainingOptions o = OptionsOf("bloom-560m", n, zero);
                o.optimizer = optimizer;
                if (zero > 0 && NeedsWholeTensors(optimizer))
                {
                    EXPECT_EQ(FirstError(o), "optimizer");
                    continue;
                }
                EXPECT_EQ(FirstError(o), "");
                const uint64_t mine = PaddedModel(o) / (zero > 0 ? n : 1);
                EXPECT_EQ(EstimateMemory(o).optimizer, bytes * mine);
                const StepGraph graph = MakePlan(o).roles[0];
                for (const Task& task : graph.tasks)
                {
                    if (task.phase == Phase::kOptimizer)
                    {
                        EXPECT_NEAR(
                            task.duration.Seconds(),
                            OptimizerSeconds(optimizer, static_cast<double>(mine), o.gpu, o.dtype),
                            1e-11);
                    }
                }
            }
        }
    }
    EXPECT_FALSE(ParseOptimizer("Adam "));
}

// Adafactor reads the gradient twice (2 + 2), writes and reads the update (4 + 4), reads and writes
// the parameter (8) and writes its 16-bit copy (2).
TEST(Optimizers, BytesOfAdafactor)
{
    EXPECT_EQ(OptimizerBytes(Optimizer::kAdafactor, Dtype::kBf16), 22);
    EXPECT_EQ(OptimizerBytes(Optimizer::kAdafactor, Dtype::kFp32), 24);
}
