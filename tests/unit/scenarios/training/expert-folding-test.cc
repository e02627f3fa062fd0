/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Experts shared out over tensor, context and data parallel ranks, with a tensor parallelism of
 * their own (--etp).
 */
#include "scenarios/training/checks/plan-check.h"
#include "scenarios/training/graphs/training-plan.h"
#include "scenarios/training/memory-estimate.h"
#include "scenarios/training/steps/volumes.h"
#include "tests/unit/scenarios/example-options.h"
#include "tests/unit/scenarios/parse-words.h"

#include <algorithm>
#include <gtest/gtest.h>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

using namespace training;

namespace
{

using Groups = std::vector<std::vector<coll::Rank>>;

Layout
Folded(uint32_t tensor, uint32_t context, uint32_t data, uint32_t expert, uint32_t expertTensor)
{
    Layout layout;
    layout.tensor = tensor;
    layout.context = context;
    layout.data = data;
    layout.expert = expert;
    layout.expertTensor = expertTensor;
    return layout;
}

TrainingOptions
OnStage(uint32_t tensor, uint32_t ranks, uint32_t expert, uint32_t expertTensor)
{
    auto o = OptionsOf("deepseek-v2-lite", ranks, 1, 2);
    o.ignoreMemory = true;
    o.tensor = tensor;
    o.sequenceParallel = tensor > 1;
    o.expert = expert;
    o.expertTensor = expertTensor;
    return o;
}

/// Bytes of a step, by group and operation, of a role.
std::map<std::pair<std::string, coll::Op>, uint64_t>
BytesOfStep(const TrainingPlan& plan)
{
    std::map<std::pair<std::string, coll::Op>, uint64_t> sums;
    for (const Task& task : plan.roles[0].tasks)
    {
        if (task.kind == TaskKind::kCollective)
        {
            sums[{plan.groupKinds[task.group].name, task.op}] += task.bytes;
        }
    }
    return sums;
}

bool
IsFine(const TrainingOptions& o)
{
    const auto problems = Check(o);
    return std::none_of(problems.begin(), problems.end(), [](const Problem& p) { return p.error; });
}

double
ForwardFlops(const TrainingOptions& o)
{
    double flops = 0;
    for (const RankLayer& layer : LayersOfModel(ResolvedOptions(o)))
    {
        flops += layer.flops;
    }
    return flops * o.ranks / o.Data();
}

} // namespace

// Megatron-LM (megatron/core/parallel_state.py, expert_decoder_rank_generator): the order is that
// of the other dimensions, without cp, with etp in the place of tp.
TEST(ExpertFolding, GroupsAreCountedAsMegatronDoes)
{
    // tp 4 x dp 2 = etp 1 x ep 8.
    EXPECT_EQ(GroupsOf(Folded(4, 1, 2, 8, 1), GroupOf::kExpert),
              (Groups{{0, 1, 2, 3, 4, 5, 6, 7}}));
    // tp 4 x dp 2 = etp 2 x ep 2 x edp 2.
    const Layout two = Folded(4, 1, 2, 2, 2);
    EXPECT_EQ(GroupsOf(two, GroupOf::kExpertTensor), (Groups{{0, 1}, {2, 3}, {4, 5}, {6, 7}}));
    EXPECT_EQ(GroupsOf(two, GroupOf::kExpert), (Groups{{0, 2}, {1, 3}, {4, 6}, {5, 7}}));
    EXPECT_EQ(GroupsOf(two, GroupOf::kExpertGradient), (Groups{{0, 4}, {1, 5}, {2, 6}, {3, 7}}));
    EXPECT_EQ(GroupsOf(two, GroupOf::kTensor), (Groups{{0, 1, 2, 3}, {4, 5, 6, 7}}));
    // cp is folded like tp, and another pipeline stage has groups of its own.
    Layout stages = Folded(1, 2, 2, 4, 1);
    stages.expertTensor = 1;
    stages.tensor = 2;
    stages.data = 1;
    stages.pipeline = 2;
    EXPECT_EQ(GroupsOf(stages, GroupOf::kExpert), (Groups{{0, 1, 2, 3}, {4, 5, 6, 7}}));
    // Experts on more ranks than attention: etp 4, tp 1.
    EXPECT_EQ(GroupsOf(Folded(1, 1, 8, 2, 4), GroupOf::kExpertTensor),
              (Groups{{0, 1, 2, 3}, {4, 5, 6, 7}}));
}

// Every kind of group has each rank once, and etp x ep x edp are the ranks of a stage.
TEST(ExpertFolding, GroupsPartitionTheRanks)
{
    for (const uint32_t tensor : {1u, 2u, 6u})
    {
        for (const uint32_t expertTensor : {1u, 2u, 3u})
        {
            for (const uint32_t expert : {1u, 2u, 4u})
            {
                if (tensor * 12 % (expert * expertTensor) != 0)
                {
                    continue;
                }
                Layout layout = Folded(tensor, 3, 4, expert, expertTensor);
                layout.pipeline = 2;
                const std::map<GroupOf, uint32_t> sizes = {
                    {GroupOf::kExpertTensor, expertTensor},
                    {GroupOf::kExpert, expert},
                    {GroupOf::kExpertGradient, tensor * 12 / expert / expertTensor}};
                for (const auto& [kind, size] : sizes)
                {
                    std::set<coll::Rank> seen;
                    for (const auto& group : GroupsOf(layout, kind))
                    {
                        ASSERT_EQ(group.size(), size) << GroupName(kind);
                        seen.insert(group.begin(), group.end());
                        for (const coll::Rank rank : group)
                        {
                            ASSERT_EQ(PlaceOf(layout, rank).pipeline,
                                      PlaceOf(layout, group.front()).pipeline);
                        }
                    }
                    ASSERT_EQ(seen.size(), layout.World());
                }
            }
        }
    }
    Layout between = Folded(2, 1, 4, 2, 1);
    between.pipeline = 2;
    EXPECT_TRUE(FoldsExperts(between));
    between.order = *ParseDimensionOrder("tp-cp-pp-ep-dp");
    EXPECT_FALSE(FoldsExperts(between));
}

// DeepSeek-V2-Lite: 26 layers of experts, top 6 of 64, tokens of 2,048 elements of 2 bytes. With tp
// t and sequence parallelism a rank has s b / t tokens. Forward and backward each send them topK
// times to the ep group and bring them back: 4 topK s b h / t bytes x 2. A group of etp ranks
// gathers what each of its ranks got, as many: etp times that, forward and backward, and shares it
// out again.
TEST(ExpertFolding, TokensGoOverExpertGroups)
{
    for (const uint32_t tensor : {2u, 4u})
    {
        for (const uint32_t expertTensor : {1u, 2u, 8u})
        {
            if (expertTensor == tensor)
            {
                continue;
            }
            const auto o = OnStage(tensor, 32, 4, expertTensor);
            ASSERT_TRUE(IsFine(o));
            const auto sums = BytesOfStep(MakePlan(o));
            const uint64_t once = 2ull * o.accumulation * o.microBatch * o.sequence * 2048 * 26;
            const uint64_t sent = 6 * once / tensor;
            EXPECT_EQ(sums.at({"ep", coll::Op::kAllToAll}), 4 * sent);
            const auto gathered = sums.find({"etp", coll::Op::kAllGather});
            ASSERT_EQ(gathered != sums.end(), expertTensor > 1);
            if (expertTensor > 1)
            {
                EXPECT_EQ(gathered->second, 2 * expertTensor * sent);
                EXPECT_EQ(sums.at({"etp", coll::Op::kReduceScatter}), 2 * expertTensor * sent);
            }
        }
    }
}

// Whoever has the experts, all ranks together compute the same, and have each parameter of an
// expert in as many copies as edp says. A gradient is reduced among these.
TEST(ExpertFolding, WorkAndParametersAreShared)
{
    const uint64_t experts = 26ull * 64 * 3 * 2048 * 1408;
    for (const uint32_t tensor : {1u, 2u, 4u})
    {
        const double flops = ForwardFlops(OnStage(tensor, 32, 1, 0));
        for (const uint32_t expertTensor : {1u, 2u, 4u})
        {
            for (const uint32_t expert : {1u, 4u, 8u})
            {
                const auto o = OnStage(tensor, 32, expert, expertTensor);
                ASSERT_TRUE(IsFine(o));
                EXPECT_NEAR(ForwardFlops(o), flops, 1e-9 * flops);
                uint64_t own = 0;
                for (const RankLayer& layer : LayersOfModel(ResolvedOptions(o)))
                {
                    own += layer.expertParameters;
                }
                EXPECT_EQ(own, experts / expert / expertTensor);
                EXPECT_EQ(o.ExpertReplicas(), 32 / expert / expertTensor);
                if (o.ExpertReplicas() > 1)
                {
                    const auto sums = BytesOfStep(MakePlan(o));
                    EXPECT_EQ(sums.at({"edp", coll::Op::kReduceScatter}), 2 * own);
                }
            }
        }
    }
}

// ZeRO-1 shards the optimizer's 12 bytes a parameter of experts over edp, not over dp: with etp 1
// instead of 4, a rank has four times the parameters of experts, and as many states of them.
TEST(ExpertFolding, OptimizerIsShardedOverTheExpertsCopies)
{
    const auto narrow = EstimateMemory(OnStage(4, 32, 8, 4));
    const auto whole = EstimateMemory(OnStage(4, 32, 8, 1));
    const uint64_t experts = 26ull * 64 * 3 * 2048 * 1408 / 8;
    EXPECT_EQ(whole.parameters - narrow.parameters, 2 * (experts - experts / 4));
    EXPECT_EQ(whole.optimizer, narrow.optimizer);
}

// --etp as --tp is what there was without the option.
TEST(ExpertFolding, TheTensorGroupsOwnIsTheDefault)
{
    for (const bool sequenceParallel : {false, true})
    {
        auto o = OnStage(4, 32, 4, 0);
        o.sequenceParallel = sequenceParallel;
        auto same = o;
        same.expertTensor = 4;
        const auto a = MakePlan(o);
        const auto b = MakePlan(same);
        ASSERT_EQ(a.roles[0].tasks.size(), b.roles[0].tasks.size());
        for (std::size_t i = 0; i < a.roles[0].tasks.size(); ++i)
        {
            EXPECT_EQ(a.roles[0].tasks[i].duration, b.roles[0].tasks[i].duration);
            EXPECT_EQ(a.roles[0].tasks[i].bytes, b.roles[0].tasks[i].bytes);
        }
        EXPECT_EQ(a.gpuMemoryBytes, b.gpuMemoryBytes);
    }
}

// DeepSeek-V3 on 1,024 GPUs, TP 2, PP 8, EP 64: 128 ranks of a stage = etp 1 x ep 64 x edp 2.
TEST(ExpertFolding, PublishedLayoutsAreSaid)
{
    const std::string job = "--server=dgx-h100 --servers=128 --tp=2 --pp=8 "
                            "--sequence-parallel --zero=1 --micro-batch=1 --ignore-memory ";
    const auto folded = scenario::ParseWords<scenario::TrainingScenario>(
        job + "--model=deepseek-v3 --ep=64 --etp=1");
    ASSERT_TRUE(folded.scenario) << folded.errors.front().Text();
    EXPECT_EQ(folded.scenario->options.ExpertReplicas(), 2U);

    const std::vector<std::pair<std::string, std::string>> refused = {
        {"--ep=128",
         "--ep=128: is 128, which does not divide dp 64 x cp 1 = 64; allowed: 1, 2, 4, "
         "8, 16, 32, 64, or --etp=1"},
        {"--ep=64 --etp=4",
         "--ep=64: is 64, which does not divide tp x cp x dp / etp = 32; allowed: "
         "1, 2, 4, 8, 16, 32"},
        {"--ep=3 --etp=1", "--ep=3: is 3, which does not divide the 256 experts of deepseek-v3"},
        {"--etp=3", "--etp=3: is 3, which does not divide the 128 GPUs of a pipeline stage"},
        {"--ep=8 --etp=1 --rank-order=tp-cp-pp-ep-dp", "allowed: pp first or last in it"},
        {"--ep=8 --etp=1 --no-sequence-parallel", "allowed: with --sequence-parallel"},
        {"--model=llama3-8b --etp=1", "but llama3-8b has no experts; allowed: --tp"},
    };
    for (const auto& [words, message] : refused)
    {
        const std::string model = words.find("--model") == 0 ? "" : "--model=deepseek-v3 ";
        const auto result = scenario::ParseWords<scenario::TrainingScenario>(job + model + words);
        ASSERT_FALSE(result.errors.empty()) << words;
        std::string all;
        for (const auto& error : result.errors)
        {
            all += error.Text() + "\n";
        }
        EXPECT_NE(all.find(message), std::string::npos) << all;
        EXPECT_EQ(result.errors.size(), 1U) << all;
    }
}
