/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * --partition: which layers the stages of a pipeline have, against all partitions there are and
 * against PipeDream's table, whose runs are made here on a network without contention.
 */
#include "scenarios/training/checks/plan-check.h"
#include "scenarios/training/fewer-layers.h"
#include "scenarios/training/rank-work.h"
#include "scenarios/training/stage-layers.h"
#include "scenarios/training/steps/volumes.h"
#include "tests/unit/scenarios/example-options.h"
#include "tests/unit/scenarios/problem-option.h"
#include "tests/unit/scenarios/steps-runner.h"
#include "tests/unit/scenarios/two-stages.h"
#include "tests/unit/scenarios/vgg16-profile.h"

#include <algorithm>
#include <cmath>
#include <fstream>
#include <gtest/gtest.h>
#include <limits>
#include <numeric>
#include <random>

using namespace training;

namespace
{

/// Of the stage that computes longest, a micro-batch.
double
SlowestStage(const TrainingOptions& o)
{
    double slowest = 0;
    const auto all = LayersOfModel(ResolvedOptions(o));
    for (const auto& chunks : LayersByStage(o))
    {
        double seconds = 0;
        for (const auto& chunk : chunks)
        {
            for (const uint32_t layer : chunk)
            {
                seconds += all[layer].Forward() + all[layer].Backward();
            }
        }
        slowest = std::max(slowest, seconds);
    }
    return slowest;
}

/// VGG16 as PipeDream profiled it, on machines of cluster A: Titan X, 25 Gb/s, 32 samples. What is
/// assumed for that is in pipeline-partition-test.cc.
TrainingOptions
Vgg16On(uint32_t machines)
{
    TrainingOptions o;
    o.profile = Vgg16();
    o.profile->batch = 128;
    o.profile->optimizerSeconds = 0;
    o.model = ModelOfProfile(*o.profile, "vgg16");
    o.profileFloor = true;
    o.gpu = *FindGpu("TitanX-Pascal");
    o.dtype = Dtype::kFp32;
    o.microBatch = 32;
    o.overlap = false;
    o.ranks = machines;
    o.links = {{machines, 12.5e9 / 8}};
    return o;
}

/// Bytes a second in each direction: half of the links' 25 Gb/s, as their measured data parallelism
/// says (scripts/cluster_simulator/published/rows.py).
constexpr double kRate = 12.5e9 / 8;

double
SamplesPerSecond(const TrainingOptions& o)
{
    const TrainingPlan plan = MakePlan(o);
    StepsRunner runner(plan, 12, {0, kRate, kRate, false});
    const auto ends = runner.Run();
    EXPECT_EQ(ends.size(), 12U) << runner.waiting;
    return ends.empty() ? 0 : static_cast<double>(plan.samplesPerStep) * 6 / (ends[11] - ends[5]);
}

double
Sent(const TrainingOptions& o)
{
    const TrainingPlan plan = MakePlan(o);
    double sum = 0;
    for (const auto& [op, bytes] : BytesMovedPerGpu(plan))
    {
        sum += bytes * plan.ranks;
    }
    return sum / static_cast<double>(plan.samplesPerStep);
}

} // namespace

TEST(StageLayers, BalancedIsNoSlowerThanUniform)
{
    for (const char* model : {"gpt2", "llama2-7b", "t5-base", "resnet50", "vgg16", "inception-v3"})
    {
        for (const uint32_t stages : {2U, 3U, 5U})
        {
            for (const uint32_t chunks : {1U, 2U})
            {
                auto o = OptionsOf(model, stages, 0, stages);
                o.pipeline = stages;
                o.virtualStages = chunks;
                o.dtype = Dtype::kFp32;
                const double uniform = SlowestStage(o);
                o.partition = Partition::kBalanced;
                o = Partitioned(o);
                ASSERT_EQ(o.pieceLayers.size(), o.Pieces()) << model;
                EXPECT_EQ(std::accumulate(o.pieceLayers.begin(), o.pieceLayers.end(), 0U),
                          o.model.layers.size());
                EXPECT_GT(*std::min_element(o.pieceLayers.begin(), o.pieceLayers.end()), 0U);
                if (chunks == 1)
                {
                    EXPECT_LE(SlowestStage(o), uniform * (1 + 1e-9)) << model << ' ' << stages;
                }
            }
        }
    }
}

// A single block is no row of blocks to be shared out: layers are, as of models without blocks.
TEST(StageLayers, OneBlockIsCutAsLayers)
{
    for (const uint32_t stages : {2U, 3U, 4U})
    {
        auto o = WithBlocks(OptionsOf("gpt2", 2 * stages, 1, 3), 1);
        o.pipeline = stages;
        const auto problems = Check(o);
        if (stages == 4) // embedding, block, head
        {
            ASSERT_FALSE(problems.empty());
            EXPECT_NE(problems.front().text.find("has 3 layers"), std::string::npos);
            continue;
        }
        EXPECT_TRUE(problems.empty()) << problems.front().text;
        std::vector<std::size_t> sizes;
        for (const auto& chunks : LayersByStage(o))
        {
            sizes.push_back(chunks.front().size());
        }
        EXPECT_EQ(sizes,
                  stages == 2 ? std::vector<std::size_t>({2, 1})
                              : std::vector<std::size_t>({1, 1, 1}));
        EXPECT_EQ(MakePlan(o).ranks, 2 * stages);
    }
}

// DeepSpeed's partition_method, on a model of 7 blocks between embedding and head.
TEST(StageLayers, ByTypesAndParameters)
{
    using Counts = std::vector<uint32_t>;
    auto o = OptionsOf("gpt2", 3, 0, 3);
    o = WithBlocks(o, 7);
    o.pipeline = 3;
    const auto cut = [&o](const std::string& types, bool front) {
        o.partition = Partition::kTypes;
        o.partitionTypes = types;
        o.partitionFront = front;
        EXPECT_EQ(WhyNotPartitioned(o).value_or(""), "");
        return Partitioned(o).pieceLayers;
    };
    // 3, 2 and 2 blocks, or 3, 3 and 1; the embedding goes with the first, the head with the last.
    EXPECT_EQ(cut("transformer", false), (Counts{4, 2, 3}));
    EXPECT_EQ(cut("transformer", true), (Counts{4, 3, 2}));
    EXPECT_EQ(cut("^PARALLELtransformer", true), (Counts{4, 3, 2}));
    EXPECT_EQ(cut("block", false), (Counts{4, 2, 3})); // their name here
    // 9 layers; GPT-2's head uses the embedding's matrix and is an EmbeddingPipe.
    EXPECT_EQ(cut("transformer|embedding", false), (Counts{3, 3, 3}));
    EXPECT_EQ(cut(".", false), (Counts{3, 3, 3}));
    // 4 on 3 pieces: of equals the one whose last cuts come latest.
    EXPECT_EQ(cut("block [0-2]|head", false), (Counts{3, 5, 1}));

    // In millions of parameters: embedding 39.4 (positions too), blocks 7.09 each, head 38.6, whose
    // matrix is counted with both. 39.4, 42.5 (6 blocks), 45.7 (1 and the head) are 6.3 apart; the
    // blocks by themselves (49.6) 11.0, and 46.5, 42.5, 38.6 are 7.9.
    o.partition = Partition::kParameters;
    o.partitionFront = false;
    EXPECT_EQ(Partitioned(o).pieceLayers, (Counts{1, 6, 2}));

    // What cannot be.
    const auto why = [&o](const std::string& types) {
        o.partition = Partition::kTypes;
        o.partitionTypes = types;
        return WhyNotPartitioned(o).value_or("");
    };
    EXPECT_NE(why("conv").find("of the 0 layers"), std::string::npos) << why("conv");
    EXPECT_NE(why("conv").find("block 0 (ParallelTransformerLayerPipe)"), std::string::npos);
    EXPECT_NE(why("head|block 0").find("of the 2 layers"), std::string::npos);
    EXPECT_NE(why("").find("names no layers"), std::string::npos);
    EXPECT_NE(why("(").find("is no regular expression"), std::string::npos);
    EXPECT_NE(why("(a)\\1").find("is no regular expression"), std::string::npos);
    EXPECT_NE(why(std::string(300, 'a')).find("300 letters"), std::string::npos);
    // One that takes 2^28 steps backwards and forwards.
    EXPECT_NE(why("(.|.)*(.|.)*(.|.)*!").find("of the 0 layers"), std::string::npos);
    o.ranks = 6;
    o.pipeline = 6; // 2, 2, 2, 1 and none
    o.partitionFront = true;
    EXPECT_NE(why("transformer").find("leaves piece 5 of 6 no layers"), std::string::npos)
        << why("transformer");
    // On one stage there is nothing to cut, but what is no expression is said.
    o.pipeline = 1;
    EXPECT_EQ(why("conv"), "");
    EXPECT_NE(why("(").find("is no regular expression"), std::string::npos);
}

// All ways to cut small models, by the formulas.
TEST(StageLayers, CutsForReplicasAreTheBestOfAll)
{
    std::mt19937 random(5);
    for (uint32_t round = 0; round < 300; ++round)
    {
        std::vector<PartitionLayer> layers(1 + random() % 7);
        for (PartitionLayer& layer : layers)
        {
            layer = {1.0 + random() % 9, double(random() % 30), double(random() % 60)};
        }
        std::vector<uint32_t> replicas(1 + random() % layers.size());
        for (uint32_t& count : replicas)
        {
            count = 1 + random() % 4;
        }
        const double rates[] = {0.5, 7, 1e12};
        const double rate = rates[random() % 3];
        const bool hide = random() % 2 == 0;
        double best = std::numeric_limits<double>::infinity();
        // A bit for each place between layers: a cut.
        for (uint32_t cuts = 0; cuts < 1U << (layers.size() - 1); ++cuts)
        {
            std::vector<PipeDreamStage> stages = {{0, 0, 0}};
            for (uint32_t i = 1; i < layers.size(); ++i)
            {
                if ((cuts >> (i - 1) & 1) != 0)
                {
                    stages.push_back({i, i, 0});
                }
                stages.back().last = i;
            }
            if (stages.size() != replicas.size())
            {
                continue;
            }
            for (std::size_t s = 0; s < stages.size(); ++s)
            {
                stages[s].replicas = replicas[s];
            }
            best = std::min(best, PipeDreamSeconds(layers, stages, rate, hide));
        }
        const auto found = CutForReplicas(layers, replicas, rate, hide);
        ASSERT_EQ(found.size(), replicas.size());
        EXPECT_EQ(found.front().first, 0U);
        EXPECT_EQ(found.back().last + 1, layers.size());
        for (std::size_t s = 0; s < found.size(); ++s)
        {
            EXPECT_EQ(found[s].replicas, replicas[s]);
            EXPECT_LE(found[s].first, found[s].last);
            EXPECT_TRUE(s == 0 || found[s].first == found[s - 1].last + 1);
        }
        EXPECT_NEAR(PipeDreamSeconds(layers, found, rate, hide), best, 1e-9 * best);
    }
}

TEST(StageLayers, Refused)
{
    auto o = Vgg16On(4);
    o.partition = Partition::kPipeDream;
    o.pipeline = 2;
    o.virtualStages = 2;
    o.schedule = "interleaved";
    o.accumulation = 4;
    EXPECT_NE(WhyNotPartitioned(o).value_or("").find("--virtual-stages=2"), std::string::npos);
    o.virtualStages = 1;
    EXPECT_EQ(WhyNotPartitioned(o), std::nullopt);
    o.pipeline = 30;
    EXPECT_NE(WhyNotPartitioned(o).value_or("").find("narrow places"), std::string::npos);
    o.partition = Partition::kBalanced;
    EXPECT_EQ(WhyNotPartitioned(o), std::nullopt);
    o.pipeline = 41;
    EXPECT_NE(WhyNotPartitioned(o).value_or("").find("40 layers"), std::string::npos);
}

// PipeDream, table 1 (tests/golden/training/pipedream.csv): the partitioner finds 2-1-1 and 7-1;
// over data parallelism it is 2.13 and 2.99 times as fast, within 30%; and what machines send a
// sample is less by 90 and 95%, within 5 points.
TEST(StageLayers, PipeDreamsTable)
{
    const struct
    {
        uint32_t machines;
        const char* replicas;
        double overBsp;
        double less;
    } rows[] = {{4, "2-1-1", 2.13, 0.90}, {8, "7-1", 2.99, 0.95}};

    for (const auto& row : rows)
    {
        auto bsp = Vgg16On(row.machines);
        auto o = bsp;
        o.partition = Partition::kPipeDream;
        o = WithStagesFound(o);
        EXPECT_EQ(ReplicasText(o), row.replicas);
        o.schedule = "pipedream";
        o.overlap = true; // the pipeline goes on while replicas add up
        o.accumulation = 2 * row.machines * (row.machines == 8 ? 7 : 1);
        for (const auto* options : {&bsp, &o})
        {
            for (const Problem& problem : Check(*options))
            {
                EXPECT_FALSE(problem.error) << AboutOf(problem) << ": " << problem.text;
            }
        }
        const double ratio = SamplesPerSecond(o) / SamplesPerSecond(bsp);
        EXPECT_NEAR(ratio, row.overBsp, 0.3 * row.overBsp) << row.machines;
        const double less = 1 - Sent(o) / Sent(bsp);
        EXPECT_NEAR(less, row.less, 0.05) << row.machines;
    }
}

// The times of a profile are scaled to the micro-batch; those below the FLOPs of --gpu are raised.
TEST(StageLayers, ProfileIsTheModel)
{
    auto o = Vgg16On(1);
    EXPECT_EQ(o.model.parameters, 138357544U);
    EXPECT_EQ(o.model.layers.size(), 40U);
    std::set<std::string> names;
    for (const LayerSpec& layer : o.model.layers)
    {
        names.insert(layer.name);
    }
    EXPECT_EQ(names.size(), 40U);
    const auto sum = [](const TrainingOptions& options) {
        double seconds = 0;
        for (const RankLayer& layer : LayersOfModel(ResolvedOptions(options)))
        {
            seconds += layer.Forward() + layer.Backward();
        }
        return seconds;
    };
    o.profileFloor = false;
    // 251.87 + 438.63 ms for 128 samples, without 17.972 of the input.
    EXPECT_NEAR(sum(o), (0.25187 + 0.43863 - 0.017972) / 4, 1e-5);
    o.microBatch = 128;
    EXPECT_NEAR(sum(o), 0.25187 + 0.43863 - 0.017972, 1e-5);
    o.profileFloor = true;
    EXPECT_GT(sum(o), 3 * 15.47e9 * 2 * 128 / o.gpu.Peak(Dtype::kFp32));
    EXPECT_EQ(CheckProfile(*o.profile, o.model).size(), 0U);
    o.profile->layers.pop_back();
    EXPECT_EQ(CheckProfile(*o.profile, o.model).size(), 1U);
}

// The two-GPU perceptron of tests/golden/training/perceptron.csv: 10 epochs of 1,875 steps of 32
// samples take 3.90 minutes on one GPU and 2.81 in a pipeline, to which overhead and rate of its
// profile are fitted; 2.57 with the two large layers shared out, which is predicted within 10%.
TEST(StageLayers, Perceptron)
{
    const auto read = [](const std::string& name) {
        std::ifstream in(DLTRAIN_ROOT "/tests/golden/training/" + name);
        return nlohmann::json::parse(in);
    };
    const auto minutes = [](const TrainingOptions& o) {
        for (const Problem& problem : Check(o))
        {
            EXPECT_FALSE(problem.error) << AboutOf(problem) << ": " << problem.text;
        }
        const TrainingPlan plan = MakePlan(o);
        StepsRunner runner(plan, 8, {10e-6, 10e9, 10e9, false});
        const auto ends = runner.Run();
        EXPECT_EQ(ends.size(), 8U) << runner.waiting;
        return (ends.back() - ends[3]) / 4 / o.accumulation * 18750 / 60;
    };
    std::vector<topo::Error> errors;
    TrainingOptions o;
    o.profile = ParseProfileJson(read("perceptron-profile.json"), "p.json", errors);
    ASSERT_TRUE(o.profile);
    o.model = ModelOfProfile(*o.profile, "");
    EXPECT_EQ(o.model.parameters, 785U * 512 + 513 * 512 + 513 * 10);
    o.gpu = *FindGpu("A100");
    o.dtype = Dtype::kFp32;
    o.microBatch = 32;
    const double one = minutes(o);
    EXPECT_NEAR(one, 3.90, 0.01);

    TrainingOptions pipeline = o;
    pipeline.ranks = pipeline.pipeline = 2;
    pipeline.accumulation = 25;
    pipeline.schedule = "pipedream";
    pipeline.partition = Partition::kBalanced;
    pipeline = Partitioned(pipeline);
    EXPECT_EQ(pipeline.pieceLayers, (std::vector<uint32_t>{1, 2}));
    const double piped = minutes(pipeline);
    EXPECT_NEAR(piped, 2.81, 0.02);

    TrainingOptions tensor = o;
    tensor.model = *ParseModelJson(read("perceptron-model.json"), "m.json", errors);
    EXPECT_EQ(tensor.model.parameters, o.model.parameters);
    tensor.profile = ParseProfileJson(read("perceptron-tensor-profile.json"), "t.json", errors);
    ASSERT_TRUE(tensor.profile);
    tensor.ranks = tensor.tensor = 2;
    const double shared = minutes(tensor);
    EXPECT_NEAR(shared, 2.57, 0.1 * 2.57);
    EXPECT_LT(shared, piped);
    EXPECT_LT(piped, one);
}

// Two equal stages, GPipe, m micro-batches of F and B, a message of tau. In the background forward
// passes follow each other, or messages do where they take longer: 2 F + (m - 1) max(F, tau) + tau,
// and the same of B. Awaited, each is followed by its message: (m + 1)(F + B) + 2 m tau.
TEST(PipelineSends, AwaitedAreAddedUp)
{
    for (const uint32_t m : {1u, 2u, 3u, 7u, 16u})
    {
        for (const double tau : {0.0, 1e-4, 0.0137})
        {
            TrainingOptions o = TwoStageOptions(2e-3, 5e-3, m);
            o.schedule = "gpipe";
            for (const bool awaited : {false, true})
            {
                o.awaitedSends = awaited;
                const TrainingPlan plan = MakePlan(o);
                NetworkOfSteps network;
                network.latency = tau;
                const auto ends = StepsRunner(plan, 1, network).Run();
                ASSERT_EQ(ends.size(), 1U);
                const auto way = [&](double pass) {
                    return awaited ? (m + 1) * pass + m * tau
                                   : 2 * pass + (m - 1) * std::max(pass, tau) + tau;
                };
                EXPECT_NEAR(ends[0], way(2e-3) + way(5e-3), 1e-9)
                    << m << ' ' << tau << ' ' << awaited;
            }
        }
    }
}

// In every schedule: it ends, is no faster than with sends in the background and as fast where
// messages take no time, and nothing is computed behind an action before its message is there.
TEST(PipelineSends, OfEverySchedule)
{
    for (const PipelineSchedule* schedule : PipelineSchedules())
    {
        for (const uint32_t stages : {2u, 3u, 4u})
        {
            TrainingOptions o = OptionsOf("gpt2", stages, schedule->Flushes() ? 1 : 0, 2 * stages);
            o.pipeline = stages;
            o.schedule = schedule->Name();
            o.virtualStages = schedule->Name() == std::string("interleaved") ? 2 : 1;
            if (!Check(o).empty() && Check(o).front().error)
            {
                continue;
            }
            for (const double latency : {0.0, 1e-3, 0.05})
            {
                NetworkOfSteps network;
                network.latency = latency;
                o.awaitedSends = false;
                const auto background = StepsRunner(MakePlan(o), 3, network).Run();
                o.awaitedSends = true;
                const TrainingPlan plan = MakePlan(o);
                const auto awaited = StepsRunner(plan, 3, network).Run();
                ASSERT_EQ(awaited.size(), 3U) << schedule->Name();
                EXPECT_GE(awaited[2], background[2] - 1e-9) << schedule->Name();
                EXPECT_TRUE(latency > 0 || awaited[2] < background[2] + 1e-9) << schedule->Name();
                for (const StepGraph& role : plan.roles)
                {
                    std::vector<TaskId> sent; // that nobody has waited for yet
                    for (TaskId id = 0; id < role.tasks.size(); ++id)
                    {
                        const Task& task = role.tasks[id];
                        if (task.kind == TaskKind::kSend)
                        {
                            sent.push_back(id);
                        }
                        for (; Computes(task) && !sent.empty(); sent.pop_back())
                        {
                            EXPECT_TRUE(std::find(task.after.begin(),
                                                  task.after.end(),
                                                  sent.back()) != task.after.end())
                                << schedule->Name() << ": " << task.name;
                        }
                    }
                }
            }
        }
    }
}

// A list of layers whose outputs fall, so that there is a place to cut behind each of them.
TEST(StageLayers, WhatWouldTakeTooLongIsNotBegun)
{
    const auto options = [](uint32_t layers, std::vector<PartitionLevel> links) {
        TrainingOptions o;
        o.profile.emplace();
        for (uint32_t i = 0; i < layers; ++i)
        {
            ProfiledLayer layer;
            layer.forwardSeconds = layer.backwardSeconds = 1e-3;
            layer.activationBytes = 4.0 * (layers - i);
            o.profile->layers.push_back(layer);
        }
        o.profile->batch = 1;
        o.model = ModelOfProfile(*o.profile, "long");
        o.gpu = *FindGpu("A100");
        o.microBatch = 1;
        o.partition = Partition::kPipeDream;
        o.links = std::move(links);
        o.ranks = 1;
        for (const PartitionLevel& level : o.links)
        {
            o.ranks *= level.machines;
        }
        return o;
    };
    // 4,000^3 / 6 * 8^2 / 2 = 3.4e11; 40 layers are nothing.
    const auto large = WhyNoStagesFound(options(4000, {{8, 1e11}, {4, 1e10}}));
    ASSERT_TRUE(large);
    EXPECT_NE(large->find("4000 layers of long for 8 x 4 GPUs"), std::string::npos) << *large;
    EXPECT_FALSE(WhyNoStagesFound(options(40, {{8, 1e11}, {4, 1e10}})));
    // 30,000^2 / 2 * 32 = 1.4e10
    TrainingOptions cut = options(30000, {{32, 1e10}});
    cut.pipeline = 32;
    ASSERT_TRUE(WhyNotPartitioned(cut));
    EXPECT_NE(WhyNotPartitioned(cut)->find("for 32 stages"), std::string::npos);
    cut.partition = Partition::kBalanced;
    EXPECT_FALSE(WhyNotPartitioned(cut));
    EXPECT_EQ(Partitioned(cut).pieceLayers.size(), 32U);
}

// Without FLOPs half of a measured backward is for the weights, so zero-bubble has something to
// delay: p stages of F = 1 and B = W = 1 ms a layer have bubbles of (p - 1)(F + B - W) instead of
// 1F1B's (p - 1)(F + B + W). Layers without parameters have nothing for weights.
TEST(StageLayers, MeasuredBackwardHasItsWeights)
{
    TrainingOptions o;
    LayerProfile profile;
    profile.batch = 1;
    profile.elementBytes = 2;
    for (uint32_t i = 0; i < 5; ++i)
    {
        profile.layers.push_back({"fc " + std::to_string(i), 1e-3, 2e-3, 200, 400, 0});
    }
    profile.layers.push_back({"relu", 1e-3, 2e-3, 200, 0, 0});
    profile.inOrder = true;
    profile.optimizerSeconds = 0;
    o.profile = profile;
    o.model = ModelOfProfile(*o.profile, "net");
    o.gpu = *FindGpu("A100");
    o.microBatch = 1;
    const auto all = LayersOfModel(ResolvedOptions(o));
    ASSERT_EQ(all.size(), 6u);
    for (const RankLayer& layer : all)
    {
        const bool weighs = layer.name != "relu";
        EXPECT_NEAR(layer.parts[0].backwardWeights, weighs ? 1e-3 : 0, 1e-12) << layer.name;
        EXPECT_NEAR(layer.Backward(), 2e-3, 1e-12) << layer.name;
    }
}
