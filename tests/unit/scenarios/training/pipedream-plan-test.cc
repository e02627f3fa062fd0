/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Plans of a pipeline without a flush, with stages of different numbers of replicas: steps in a row
 * on a network without contention, messages, rounds, memory, and what is refused.
 */
#include "scenarios/training/checks/plan-check.h"
#include "scenarios/training/memory-estimate.h"
#include "scenarios/training/rank-work.h"
#include "scenarios/training/stage-layers.h"
#include "scenarios/training/steps/volumes.h"
#include "tests/unit/scenarios/example-options.h"
#include "tests/unit/scenarios/problem-option.h"
#include "tests/unit/scenarios/steps-runner.h"

#include <gtest/gtest.h>
#include <map>
#include <numeric>
#include <set>

using namespace training;

namespace
{

/// Layers of 1 ms forward and 2 ms backward for each replica of their stage, one layer a stage: all
/// stages are equally fast. No optimizer time.
TrainingOptions
Balanced(const std::vector<uint32_t>& replicas, uint32_t accumulation)
{
    nlohmann::json layers = nlohmann::json::array();
    for (const uint32_t count : replicas)
    {
        layers.push_back({{"name", "stage " + std::to_string(layers.size())},
                          {"forward_us", 1000 * count},
                          {"backward_us", 2000 * count},
                          {"activation_bytes", 400},
                          {"parameter_bytes", 4000}});
    }
    std::vector<topo::Error> errors;
    TrainingOptions o;
    o.profile =
        ParseProfileJson({{"name", "even"}, {"batch", 4}, {"optimizer_us", 0}, {"layers", layers}},
                         "x.json",
                         errors);
    EXPECT_TRUE(errors.empty());
    o.model = ModelOfProfile(*o.profile, "");
    o.gpu = *FindGpu("A100");
    o.dtype = Dtype::kFp32;
    o.microBatch = 4;
    o.accumulation = accumulation;
    o.schedule = "pipedream";
    o.pipeline = static_cast<uint32_t>(replicas.size());
    o.ranks = std::accumulate(replicas.begin(), replicas.end(), 0U);
    o.replicas = replicas;
    if (std::all_of(replicas.begin(), replicas.end(), [&](uint32_t r) { return r == replicas[0]; }))
    {
        o.replicas.clear();
    }
    return o;
}

std::string
Errors(const TrainingOptions& o)
{
    std::string text;
    for (const Problem& problem : Check(o))
    {
        text += problem.error ? AboutOf(problem) + ": " + problem.text + '\n' : "";
    }
    return text;
}

uint32_t
Rounds(const std::vector<uint32_t>& replicas)
{
    uint32_t rounds = 1;
    for (const uint32_t count : replicas)
    {
        rounds = std::lcm(rounds, count);
    }
    return rounds;
}

const std::vector<std::vector<uint32_t>> kShapes = {{1},
                                                    {3},
                                                    {1, 1},
                                                    {2, 1, 1},
                                                    {7, 1},
                                                    {1, 2},
                                                    {3, 2, 1},
                                                    {1, 5, 2},
                                                    {2, 2},
                                                    {4, 3},
                                                    {1, 1, 1, 1, 1, 1, 1},
                                                    {9, 5, 1, 1}};

} // namespace

// A pipeline that never empties computes all the time: a step of m micro-batches of 3 ms takes 3 m
// ms, from the first one on that does not fill it. The run is p - 1 passes longer than that.
TEST(PipeDreamPlan, ComputesAllTheTime)
{
    for (uint32_t p = 1; p <= 7; ++p)
    {
        for (const uint32_t m : {1U, 2U, 3U, 5U, 8U})
        {
            const auto o = Balanced(std::vector<uint32_t>(p, 1), m);
            ASSERT_EQ(Errors(o), "");
            const TrainingPlan plan = MakePlan(o);
            const uint32_t steps = 8 + p;
            const auto ends = StepsRunner(plan, steps).Run();
            ASSERT_EQ(ends.size(), steps) << p << ' ' << m;
            for (uint32_t s = p; s < steps; ++s)
            {
                EXPECT_NEAR(ends[s] - ends[s - 1], 3e-3 * m, 1e-9) << p << ' ' << m << ' ' << s;
            }
            EXPECT_NEAR(ends.back(), 3e-3 * (m * steps + p - 1), 1e-9) << p << ' ' << m;
        }
    }
}

// What waiting at the end of a step for one's own messages costs: in a step no more than the way of
// one message forward and of one back, and nothing where they cost nothing.
TEST(PipeDreamPlan, StepsAreHeldUpByMessagesUnderWayOnly)
{
    for (const uint32_t p : {2U, 3U, 5U})
    {
        for (const uint32_t m : {1U, 4U, 16U})
        {
            for (const double delay : {0.0, 0.2e-3, 0.9e-3})
            {
                const TrainingPlan plan = MakePlan(Balanced(std::vector<uint32_t>(p, 1), m));
                NetworkOfSteps network;
                network.latency = delay;
                const auto ends = StepsRunner(plan, 40, network).Run();
                network.joined = true;
                const auto joined = StepsRunner(plan, 40, network).Run();
                ASSERT_EQ(ends.size(), 40U);
                ASSERT_EQ(joined.size(), 40U);
                const double more = (ends[39] - ends[19] - joined[39] + joined[19]) / 20;
                EXPECT_GE(more, -1e-9);
                EXPECT_LE(more, 2 * delay + 1e-9) << p << ' ' << m << ' ' << delay;
            }
        }
    }
}

// 1F1B-RR: micro-batch m is computed on each stage by replica m mod R, forward and backward, once;
// what a stage sends is what the next one receives; and all runs to its end.
TEST(PipeDreamPlan, RoundRobin)
{
    for (const auto& replicas : kShapes)
    {
        for (const uint32_t times : {1U, 3U})
        {
            const uint32_t m = times * Rounds(replicas);
            const auto o = Balanced(replicas, m);
            ASSERT_EQ(Errors(o), "");
            const bool uneven = !o.replicas.empty();
            for (uint32_t stage = 0; stage < replicas.size(); ++stage)
            {
                const uint32_t count = uneven ? replicas[stage] : 1;
                std::multiset<uint32_t> forward;
                std::multiset<uint32_t> backward;
                for (uint32_t r = 0; r < count; ++r)
                {
                    for (const PipelineAction& a : ActionsOf(o, stage, r, false))
                    {
                        EXPECT_EQ(a.microBatch % count, r);
                        (a.kind == PipelineAction::Kind::kForward ? forward : backward)
                            .insert(a.microBatch);
                    }
                }
                EXPECT_EQ(forward.size(), m);
                EXPECT_EQ(backward.size(), m);
                EXPECT_EQ(std::set<uint32_t>(forward.begin(), forward.end()).size(), m);
                // A step's backward passes are its own micro-batches'.
                EXPECT_EQ(*backward.begin(), 0U);
                EXPECT_EQ(*backward.rbegin(), m - 1);
                EXPECT_EQ(std::set<uint32_t>(backward.begin(), backward.end()).size(), m);
            }
            const TrainingPlan plan = MakePlan(o);
            EXPECT_EQ(plan.ranks, o.ranks);
            EXPECT_EQ(plan.roles.size(), 2 * plan.UsualRoles());
            const MessageMatch match(plan);
            EXPECT_TRUE(match.Problems().empty()) << match.Problems().front();
            EXPECT_TRUE(match.Unmatched().empty()) << match.Unmatched().front();
            StepsRunner runner(plan, 6, {1e-4, 1e7, 1e7});
            EXPECT_EQ(runner.Run().size(), 6U) << ReplicasText(o) << ": " << runner.waiting;
            auto waits = o;
            waits.overlap = false;
            const TrainingPlan waiting = MakePlan(waits);
            StepsRunner other(waiting, 6, {1e-4, 1e7, 1e7});
            EXPECT_EQ(other.Run().size(), 6U) << ReplicasText(o) << ": " << other.waiting;
        }
    }
}

// Stages that are equally fast with all their replicas: 2-1-1, 7-1 and the like compute all the
// time (pipedream.cc says which do not), a micro-batch every 3 ms, if they need not wait for one
// another behind each micro-batch. If they do, 2-1-1 takes 4.5: both replicas forward at once, and
// the gradient of the second comes 3 ms behind that of the first.
TEST(PipeDreamPlan, BalancedReplicasComputeAllTheTime)
{
    const std::vector<std::vector<uint32_t>> shapes = {{2, 1, 1}, {7, 1}, {15, 1}, {1, 2}, {2, 2}};
    for (const auto& replicas : shapes)
    {
        const uint32_t m = 2 * Rounds(replicas);
        auto o = Balanced(replicas, m);
        if (o.replicas.empty())
        {
            o.accumulation = m / replicas[0]; // of each copy
        }
        const auto ends = StepsRunner(MakePlan(o), 30).Run();
        ASSERT_EQ(ends.size(), 30U);
        EXPECT_NEAR((ends[29] - ends[9]) / 20, 3e-3 * m, 1e-9) << ReplicasText(o);
    }
    auto o = Balanced({2, 1, 1}, 4);
    o.overlap = false;
    const auto ends = StepsRunner(MakePlan(o), 30).Run();
    ASSERT_EQ(ends.size(), 30U);
    EXPECT_NEAR((ends[29] - ends[9]) / 20, 4 * 4.5e-3, 1e-9);
}

// The replicas of a stage add up their gradients once a round; a stage with one replica adds up
// nothing. A rank sends what it computes: of R replicas m / R micro-batches' activations of 400 B,
// to the next stage and back, and of the all-reduce 2 (R - 1)/R of its 4,000 B a round.
TEST(PipeDreamPlan, Volumes)
{
    for (const auto& replicas : kShapes)
    {
        const uint32_t m = 2 * Rounds(replicas);
        const auto o = Balanced(replicas, m);
        const TrainingPlan plan = MakePlan(o);
        const uint32_t of = o.replicas.empty() ? 1 : 0; // of one copy of the pipeline m each
        double reduced = 0;
        for (const uint32_t count : replicas)
        {
            const double rounds = of == 1 ? m : m / count;
            reduced += count * rounds * 2 * (count - 1) / count * 4000;
        }
        const double copies = of == 1 ? replicas[0] : 1;
        const double sent = 2 * (static_cast<double>(replicas.size()) - 1) * m * copies * 400;
        const auto moved = BytesMovedPerGpu(plan);
        const auto total = [&](const char* op) {
            return moved.count(op) > 0 ? moved.at(op) * plan.ranks : 0;
        };
        EXPECT_NEAR(total("all_reduce"), reduced, 1e-6 * reduced);
        EXPECT_NEAR(total("send"), sent, 1e-6 * sent);
        EXPECT_EQ(plan.samplesPerStep, static_cast<uint64_t>(4 * m * copies));
    }
}

// A stage i of p has p - i versions of its weights and the activations of as many micro-batches;
// with vertical sync all stages have p versions (pipedream.cc).
TEST(PipeDreamPlan, Memory)
{
    for (const uint32_t p : {1U, 2U, 4U, 7U})
    {
        auto o = Balanced(std::vector<uint32_t>(p, 1), 3);
        for (uint32_t stage = 0; stage < p; ++stage)
        {
            const MemoryEstimate memory = EstimateStageMemory(o, stage);
            EXPECT_EQ(memory.parameters, 4000U * (p - stage));
            EXPECT_EQ(memory.gradients, 4000U);
            EXPECT_EQ(memory.optimizer, 8000U);
            EXPECT_EQ(memory.activations, 400U * (p - stage));
            o.verticalSync = true;
            EXPECT_EQ(EstimateStageMemory(o, stage).parameters, 4000U * p);
            o.verticalSync = false;
        }
        o.schedule = "1f1b";
        EXPECT_EQ(EstimateStageMemory(o, 0).parameters, 4000U);
    }
    // NOAM of 2-1-1 is 2 on the first stage: ceil(4 / 2), ceil(2 / 1), 1.
    auto o = Balanced({2, 1, 1}, 4);
    for (const auto& [stage, versions] : {std::pair{0U, 2U}, {1U, 2U}, {2U, 1U}})
    {
        // Behind the next round: a second buffer, and an update later.
        const uint32_t later = stage == 0 ? 1 : 0;
        EXPECT_EQ(EstimateStageMemory(o, stage).gradients, 4000U * (1 + later));
        EXPECT_EQ(StalenessOf(ResolvedOptions(o), stage), versions - 1 + later);
        EXPECT_EQ(EstimateStageMemory(o, stage).parameters, 4000U * versions);
        EXPECT_EQ(EstimateStageMemory(o, stage).activations, 400U * versions);
    }
}

TEST(PipeDreamPlan, RanksOfReplicatedStages)
{
    Layout layout;
    layout.tensor = 2;
    layout.pipeline = 3;
    layout.data = 3;
    layout.stageReplicas = {3, 1, 2};
    EXPECT_EQ(layout.World(), 12U);
    for (coll::Rank rank = 0; rank < 12; ++rank)
    {
        EXPECT_EQ(RankAt(layout, PlaceOf(layout, rank)), rank);
    }
    using Groups = std::vector<std::vector<coll::Rank>>;
    EXPECT_EQ(GroupsOf(layout, GroupOf::kGradient),
              (Groups{{0, 2, 4}, {1, 3, 5}, {6}, {7}, {8, 10}, {9, 11}}));
    EXPECT_EQ(GroupsOf(layout, GroupOf::kTensor),
              (Groups{{0, 1}, {2, 3}, {4, 5}, {6, 7}, {8, 9}, {10, 11}}));
    EXPECT_EQ(GroupsOf(layout, GroupOf::kReplica).size(), 1U);
}

// With a tensor group in the place of each GPU: its ranks send to those of the same place.
TEST(PipeDreamPlan, WithTensorParallelism)
{
    for (const std::vector<uint32_t>& replicas : {std::vector<uint32_t>{2, 1}, {1, 3}, {1, 1}})
    {
        auto o = OptionsOf("llama2-7b", 0, 0, 6);
        o.gpu = *FindGpu("H100");
        o.microBatch = 1;
        o.ignoreMemory = true;
        o.tensor = 2;
        o.pipeline = 2;
        o.schedule = "pipedream";
        o.ranks = 2 * std::accumulate(replicas.begin(), replicas.end(), 0U);
        o.replicas = replicas[0] == replicas[1] ? std::vector<uint32_t>{} : replicas;
        ASSERT_EQ(Errors(o), "");
        const TrainingPlan plan = MakePlan(o);
        EXPECT_TRUE(MessageMatch(plan).Problems().empty());
        StepsRunner runner(plan, 4);
        EXPECT_EQ(runner.Run().size(), 4U) << runner.waiting;
    }
}

TEST(PipeDreamPlan, Refused)
{
    const auto has = [](const TrainingOptions& o, const std::string& part) {
        const std::string errors = Errors(o);
        EXPECT_NE(errors.find(part), std::string::npos) << errors;
    };
    auto o = Balanced({3, 1}, 4);
    has(o, "accumulation: is 4, but pipedream gives the 3 replicas of stage 0 as many");
    o = Balanced({2, 1}, 4);
    o.schedule = "1f1b";
    has(o, "replicas: is 2-1, but 1f1b has one replica of each stage");
    o = Balanced({1, 1}, 4);
    o.sharding = ZeroStage(1);
    has(o, "zero: is 1, but --pipeline-schedule=pipedream keeps several versions");
    o = OptionsOf("gpt2", 2, 0, 4);
    o.pipeline = 2;
    o.schedule = "pipedream";
    has(o, "shares a matrix");
    o.pipeline = 1;
    EXPECT_EQ(Errors(o), "");
    o = OptionsOf("llama2-7b", 4, 0, 4);
    o.pipeline = 2;
    o.context = 2;
    o.schedule = "pipedream";
    has(o, "cp: is 2");
}

// Without a pipeline it is data parallelism that updates after every micro-batch.
TEST(PipeDreamPlan, OneStage)
{
    auto o = Balanced({3}, 4);
    o.overlap = false;
    const TrainingPlan plan = MakePlan(o);
    o.schedule = "1f1b";
    o.sharding = ZeroStage(0);
    o.accumulation = 1;
    const TrainingPlan synchronous = MakePlan(o);
    const NetworkOfSteps network{0, 1e6, 1e6, false};
    const auto ends = StepsRunner(plan, 3, network).Run();
    const auto other = StepsRunner(synchronous, 12, network).Run();
    ASSERT_EQ(ends.size(), 3U);
    ASSERT_EQ(other.size(), 12U);
    EXPECT_NEAR(ends.back(), other.back(), 1e-9);
}
