/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Sequence parallelism: gradients that a rank of a tensor group has of its own tokens only.
 */
#include "scenarios/training/graphs/training-plan.h"
#include "tests/unit/scenarios/example-options.h"
#include "tests/unit/scenarios/steps-runner.h"

#include <algorithm>
#include <gtest/gtest.h>

using namespace training;

namespace
{

/// What is added up over a tensor group's ranks beside the three numbers of each token's loss.
std::vector<const Task*>
Sums(const TrainingPlan& plan, uint32_t role)
{
    std::vector<const Task*> sums;
    for (const Task& task : plan.roles[role].tasks)
    {
        if (task.kind == TaskKind::kCollective && task.op == coll::Op::kAllReduce &&
            plan.groupKinds[task.group].name == "tp" && task.phase == Phase::kGradient)
        {
            sums.push_back(&task);
        }
    }
    return sums;
}

TrainingOptions
SequenceParallel(const std::string& model, uint32_t ranks, uint32_t tensor, uint32_t zero)
{
    auto o = OptionsOf(model, ranks, zero, 4);
    o.microBatch = 1;
    o.tensor = tensor;
    o.sequenceParallel = true;
    o.ignoreMemory = true;
    return o;
}

uint64_t
BytesOf(const TrainingOptions& o, uint32_t role = 0)
{
    const auto plan = MakePlan(o);
    const auto sums = Sums(plan, role);
    EXPECT_EQ(sums.size(), 1u);
    return sums.empty() ? 0 : sums[0]->bytes;
}

} // namespace

// GPT-2 medium: 24 blocks with two norms of 2 h and two biases of h behind row-parallel products,
// one norm ahead of the head; h 1,024. Not the positions, which all ranks add to all tokens.
TEST(TensorSums, BytesAreThoseOfNormsAndBiases)
{
    constexpr uint64_t kElements = (24 * 6 + 2) * 1024;
    for (const uint32_t tensor : {2u, 4u, 8u})
    {
        for (const uint32_t zero : {0u, 1u})
        {
            const auto o = SequenceParallel("gpt2-medium", 2 * tensor, tensor, zero);
            EXPECT_EQ(BytesOf(o), 2 * kElements);
        }
    }
    auto o = SequenceParallel("gpt2-medium", 8, 4, 1);
    o.wideReduction = true;
    EXPECT_EQ(BytesOf(o), 4 * kElements);
    o.sequenceParallel = false;
    EXPECT_TRUE(Sums(MakePlan(o), 0).empty());
    // Replicas that have shared them out add up their shares.
    for (const uint32_t zero : {2u, 3u})
    {
        EXPECT_EQ(BytesOf(SequenceParallel("gpt2-medium", 10, 2, zero)), 2 * ((kElements + 4) / 5));
    }
}

// Llama has no biases and norms without offsets: 2 h a block and h; Mixtral's routers have 8 rows
// of h each. BERT-large has norms of 2 h behind the embedding and in each block two, and two biases
// there; in pre-training the product ahead of the vocabulary with its bias and norm, h h + 3 h. Not
// the pooler, which all ranks compute of the same token.
TEST(TensorSums, OtherModels)
{
    EXPECT_EQ(BytesOf(SequenceParallel("llama2-7b", 4, 4, 0)), 2u * (32 * 2 + 1) * 4096);
    auto mixtral = SequenceParallel("mixtral-8x7b", 4, 2, 1);
    EXPECT_EQ(BytesOf(mixtral), 2u * (32 * (2 + 8) + 1) * 4096);
    mixtral.expert = 2;
    EXPECT_EQ(BytesOf(mixtral), 2u * (32 * (2 + 8) + 1) * 4096);
    const auto bert = SequenceParallel("bert-large", 2, 2, 0);
    EXPECT_EQ(BytesOf(bert), 2u * 1024 * (2 + 24 * 6));
    const auto pretraining = SequenceParallel("bert-large-pretraining", 2, 2, 0);
    EXPECT_EQ(BytesOf(pretraining), 2u * (1024 * (2 + 24 * 6 + 3) + 1024 * 1024));
}

// Each stage those of its own blocks, the last one's head as well.
TEST(TensorSums, StagesHaveTheirOwn)
{
    for (const char* schedule : {"1f1b", "zero-bubble", "gpipe"})
    {
        auto o = SequenceParallel("gpt2-medium", 12, 2, 1);
        o.pipeline = 3;
        o.schedule = schedule;
        const auto plan = MakePlan(o);
        for (uint32_t stage = 0; stage < 3; ++stage)
        {
            const auto sums = Sums(plan, stage);
            ASSERT_EQ(sums.size(), 1u);
            EXPECT_EQ(sums[0]->bytes, 2u * (8 * 6 + (stage == 2 ? 2 : 0)) * 1024);
        }
    }
    // Without a flush weights change with each of the four micro-batches.
    auto o = SequenceParallel("gpt2-medium", 4, 2, 0);
    o.pipeline = 2;
    o.schedule = "pipedream";
    const auto plan = MakePlan(o);
    const auto sums = Sums(plan, plan.roleOf[0]);
    ASSERT_EQ(sums.size(), 4u);
    for (const Task* sum : sums)
    {
        EXPECT_EQ(sum->bytes, 2u * 12 * 6 * 1024);
    }
}

// Behind what replicas add up (the last of it), and the optimizer waits for it.
TEST(TensorSums, StandBetweenReductionAndOptimizer)
{
    for (const bool overlap : {true, false})
    {
        for (const Offload offload : {Offload::kNone, Offload::kOptimizer})
        {
            auto o = SequenceParallel("gpt2", 6, 2, 1);
            o.overlap = overlap;
            o.offload = offload;
            o.host = {25e9, 100e9, 4};
            const auto plan = MakePlan(o);
            const StepGraph& graph = plan.roles[0];
            const auto sums = Sums(plan, 0);
            ASSERT_EQ(sums.size(), 1u);
            const auto at = static_cast<TaskId>(sums[0] - graph.tasks.data());
            ASSERT_EQ(sums[0]->after.size(), 2u);
            const Task& flat = graph.tasks[sums[0]->after.back()];
            EXPECT_EQ(flat.name, "flatten gradients of own tokens");
            EXPECT_TRUE(std::any_of(flat.after.begin(), flat.after.end(), [&](TaskId before) {
                const Task& task = graph.tasks[before];
                return task.phase == Phase::kGradient &&
                       (task.kind == TaskKind::kCollective || task.kind == TaskKind::kHost);
            }));
            const auto optimizer =
                std::find_if(graph.tasks.begin(), graph.tasks.end(), [](const Task& task) {
                    return task.phase == Phase::kOptimizer;
                });
            ASSERT_NE(optimizer, graph.tasks.end());
            EXPECT_TRUE(std::find(optimizer->after.begin(), optimizer->after.end(), at) !=
                        optimizer->after.end());
            EXPECT_FALSE(StepsRunner(plan, 1).Run().empty());
        }
    }
}
