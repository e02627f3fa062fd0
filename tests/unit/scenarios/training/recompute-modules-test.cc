/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * --recompute-modules: what a layer keeps less, what backward computes again for it, and what the
 * way of tokens to their experts costs once more.
 */
#include "scenarios/training/checks/plan-check.h"
#include "scenarios/training/graphs/training-plan.h"
#include "scenarios/training/layer-kernels.h"
#include "scenarios/training/memory-estimate.h"
#include "scenarios/training/rank-work.h"
#include "scenarios/training/recomputation.h"
#include "scenarios/training/spec/kernel-time.h"
#include "tests/unit/scenarios/example-options.h"

#include <algorithm>
#include <gtest/gtest.h>
#include <string>

using namespace training;

namespace
{

TrainingOptions
Job(const std::string& model, uint8_t modules, uint32_t ranks = 1)
{
    auto o = OptionsOf(model, ranks, 1, 2);
    o.ignoreMemory = true;
    o.fusedAttention = true;
    o.microBatch = 1;
    o.recomputeModules = modules;
    return o;
}

RankLayer
LayerNamed(const TrainingOptions& o, const std::string& name)
{
    const auto layers = LayersOfModel(ResolvedOptions(o));
    return *std::find_if(layers.begin(), layers.end(), [&](const RankLayer& layer) {
        return layer.name == name;
    });
}

/// Bytes a token that a layer does not keep for these modules.
double
DroppedOf(const std::string& model, const std::string& layer, uint8_t modules)
{
    const auto o = Job(model, modules);
    const RankLayer with = LayerNamed(o, layer);
    const double less = LayerNamed(Job(model, 0), layer).keptBytes - with.keptBytes;
    EXPECT_NEAR(with.againBytes, less, 1e-6 * less);
    return less / o.sequence;
}

std::size_t
AllToAlls(const TrainingOptions& o)
{
    const TrainingPlan plan = MakePlan(o);
    return std::count_if(plan.roles[0].tasks.begin(),
                         plan.roles[0].tasks.end(),
                         [](const Task& task) {
                             return task.kind == TaskKind::kCollective &&
                                    task.op == coll::Op::kAllToAll;
                         });
}

} // namespace

// DeepSeek-V2-Lite: h = 2,048, 16 heads of 128 + 64 (queries and keys) and 128 (values), experts of
// 1,408 columns, of which a token has 6, two shared ones, 10,944 columns in the dense block. 2
// bytes a number.
TEST(RecomputeModules, WhatIsMadeAnewIsNotKept)
{
    const std::string model = "deepseek-v2-lite";
    const double h = 2048;
    // Outputs of two norms.
    EXPECT_DOUBLE_EQ(DroppedOf(model, "block 7", kModuleNorm), 2 * 2 * h);
    // Queries, keys, values.
    EXPECT_DOUBLE_EQ(DroppedOf(model, "block 7", kModuleLatent), 2 * 16 * (192 + 192 + 128));
    // Of three numbers a column (two factors and the input's activation) and the product: the last
    // two.
    EXPECT_NEAR(DroppedOf(model, "block 7", kModuleActivation), 2 * 6 * 2 * 1408, 1e-6);
    EXPECT_DOUBLE_EQ(DroppedOf(model, "block 7", kModuleShared), 2 * 4 * 2 * 1408);
    // Four numbers a column, and what comes in and goes out, of six experts; the shared ones; 64
    // scores of the router.
    EXPECT_DOUBLE_EQ(DroppedOf(model, "block 7", kModuleMoe),
                     2 * (6 * (4 * 1408 + 2 * h) + 4 * 2 * 1408 + 64));
    EXPECT_DOUBLE_EQ(DroppedOf(model, "block 0", kModuleMlp), 2 * 4 * 10944);
    EXPECT_DOUBLE_EQ(DroppedOf(model, "block 7", kModuleMlp), 0); // a dense block's alone
    // The product and its activated factor; both factors stay.
    EXPECT_NEAR(DroppedOf(model, "block 0", kModuleMlpActivation), 2 * 2 * 10944, 1e-6);
    EXPECT_DOUBLE_EQ(DroppedOf(model, "block 7", kModuleMlpActivation), 0);
    // Without a gate: the activation's output of 4 h columns.
    EXPECT_NEAR(DroppedOf("gpt2", "block 3", kModuleMlpActivation), 2 * 4 * 768, 1e-6);
}

// Backward takes as much longer as the module's kernels of forward take.
TEST(RecomputeModules, BackwardRepeatsItsKernels)
{
    for (const uint8_t module :
         {kModuleNorm, kModuleLatent, kModuleActivation, kModuleShared, kModuleCore})
    {
        const auto o = Job("deepseek-v2-lite", module);
        double again = 0;
        for (const Part& part : o.model.layers[8].parts)
        {
            for (const Operator& op : part.operators)
            {
                for (const Kernel& kernel : KernelsOf(op, part, Pass::kForward, o))
                {
                    again += (op.modules & module) == 0
                                 ? 0
                                 : Seconds(kernel, InTraining(o.gpu), o.dtype);
                }
            }
        }
        EXPECT_GT(again, 0);
        EXPECT_NEAR(LayerNamed(o, "block 7").Backward(),
                    LayerNamed(Job("deepseek-v2-lite", 0), "block 7").Backward() + again,
                    1e-12);
    }
    // All of a dense block's MLP.
    const double mlp = LayerNamed(Job("llama3-8b", kModuleMlp), "block 7").Backward() -
                       LayerNamed(Job("llama3-8b", 0), "block 7").Backward();
    EXPECT_GT(mlp, 0.9 * LayerNamed(Job("llama3-8b", 0), "block 7").parts[1].forward);
    EXPECT_LT(mlp, LayerNamed(Job("llama3-8b", 0), "block 7").parts[1].forward);
}

// A layer of experts has four all-to-alls a micro-batch, six where it is repeated.
TEST(RecomputeModules, ExpertsAreReachedAgain)
{
    auto o = Job("deepseek-v2-lite", 0, 8);
    o.expert = 8;
    EXPECT_EQ(AllToAlls(o), 2U * 26 * 4);
    o.recomputeModules = kModuleMoe;
    EXPECT_EQ(AllToAlls(o), 2U * 26 * 6);
    o.recomputeModules = kModuleActivation;
    EXPECT_EQ(AllToAlls(o), 2U * 26 * 4);
}

// One layer's share is there while its backward runs.
TEST(RecomputeModules, MemoryIsThatOfAllLayersLessOne)
{
    const auto plain = EstimateMemory(Job("llama3-8b", 0));
    const auto again = EstimateMemory(Job("llama3-8b", kModuleMlp));
    EXPECT_EQ(plain.activations - again.activations, 31ULL * 2 * 4 * 14336 * 8192);
}

TEST(RecomputeModules, NamesAreMegatrons)
{
    EXPECT_EQ(ParseModule("mla-up-proj"), kModuleLatent);
    EXPECT_EQ(ParseModule("moe_act"), kModuleActivation);
    EXPECT_EQ(ParseModule("moes"), 0);
    EXPECT_EQ(ModulesText(ModulesOf(*FindModel("llama3-8b"))),
              "layernorm, core_attn, mlp, mlp_act");
    EXPECT_EQ(ModulesText(ModulesOf(*FindModel("deepseek-v3"))),
              "layernorm, mla_up_proj, core_attn, moe_act, mlp, mlp_act, shared_experts, moe");
}
