/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * The next forward beside reductions, collectives in chunks, and their checks.
 */
#include "scenarios/training/checks/plan-check.h"
#include "scenarios/training/graphs/collective-chunks.h"
#include "scenarios/training/graphs/training-plan.h"
#include "tests/unit/scenarios/example-options.h"
#include "tests/unit/scenarios/problem-option.h"
#include "tests/unit/scenarios/step-times.h"

#include <algorithm>
#include <gtest/gtest.h>
#include <map>
#include <set>
#include <string>

using namespace training;

namespace
{

/// Whether a task begins only when another has ended: by dependencies and the order of the
/// computing stream.
bool
IsBehind(const StepGraph& graph, TaskId task, TaskId other)
{
    std::vector<bool> behind(graph.tasks.size(), false);
    behind[other] = true;
    bool computed = false; // what computes is behind it
    for (TaskId id = other; id < graph.tasks.size(); ++id)
    {
        const Task& t = graph.tasks[id];
        for (const TaskId before : t.after)
        {
            behind[id] = behind[id] || behind[before];
        }
        behind[id] = behind[id] || (Computes(t) && computed);
        computed = computed || (Computes(t) && behind[id]);
    }
    return behind[task];
}

std::vector<TrainingOptions>
TurnedOptions()
{
    std::vector<TrainingOptions> all;
    for (const char* const model : {"gpt2", "vgg-19", "mixtral-8x7b"})
    {
        for (const uint32_t accumulation : {1u, 3u})
        {
            for (const auto impl : {ZeroImpl::kPaper, ZeroImpl::kDeepSpeed, ZeroImpl::kHorovod})
            {
                TrainingOptions o = OptionsOf(model, 4, 0, accumulation, impl);
                o.ignoreMemory = true;
                o.overlapNextForward = true;
                o.expert = std::string(model) == "mixtral-8x7b" ? 2 : 1;
                all.push_back(o);
            }
        }
    }
    return all;
}

uint64_t
BytesOf(const StepGraph& graph)
{
    uint64_t bytes = 0;
    for (const Task& task : graph.tasks)
    {
        bytes += task.kind == TaskKind::kCollective ? task.bytes : 0;
    }
    return bytes;
}

} // namespace

TEST(NextForward, ComputesAndSendsAsMuchAsTheUsualStep)
{
    for (TrainingOptions o : TurnedOptions())
    {
        const TrainingPlan turned = MakePlan(o);
        o.overlapNextForward = false;
        const TrainingPlan usual = MakePlan(o);
        ASSERT_EQ(turned.fillRoles, usual.roles.size());
        ASSERT_EQ(turned.roles.size(), 2 * usual.roles.size());
        std::map<Phase, int64_t> times[3];
        for (std::size_t i = 0; i < 3; ++i)
        {
            const StepGraph& graph = i == 0   ? usual.roles[0]
                                     : i == 1 ? turned.roles[0]
                                              : turned.roles[turned.fillRoles];
            for (const Task& task : graph.tasks)
            {
                times[i][task.phase] += task.duration.ps;
            }
        }
        EXPECT_EQ(times[0], times[1]) << o.model.name;
        // The first step has one forward of a micro-batch more.
        EXPECT_EQ(times[2][Phase::kForward] * o.accumulation,
                  times[1][Phase::kForward] * (o.accumulation + 1))
            << o.model.name;
        EXPECT_EQ(times[2][Phase::kOptimizer], times[1][Phase::kOptimizer]);
        EXPECT_EQ(BytesOf(turned.roles[0]), BytesOf(usual.roles[0]));
    }
}

TEST(NextForward, ALayerWaitsForItsOwnGradients)
{
    for (const TrainingOptions& o : TurnedOptions())
    {
        const TrainingPlan plan = MakePlan(o);
        const StepGraph& graph = plan.roles[0];
        TaskId lastBackward = 0;
        TaskId lastReduction = 0;
        std::map<int16_t, TaskId> forwards; // by layer: the first computation, of the next step
        for (TaskId id = 0; id < graph.tasks.size(); ++id)
        {
            const Task& task = graph.tasks[id];
            if (Computes(task) && task.phase == Phase::kBackward)
            {
                lastBackward = id;
                forwards.clear();
            }
            else if (Computes(task) && task.phase == Phase::kForward)
            {
                forwards.emplace(task.layer, id);
            }
            lastReduction = IsQueued(task) ? id : lastReduction;
        }
        ASSERT_FALSE(forwards.empty());
        EXPECT_LT(lastBackward, forwards.begin()->second);
        uint32_t free = 0; // pairs in which the forward need not wait
        for (TaskId id = 0; id <= lastReduction; ++id)
        {
            if (!IsQueued(graph.tasks[id]))
            {
                continue;
            }
            for (const auto& [layer, forward] : forwards)
            {
                const bool waits = IsBehind(graph, forward, id);
                EXPECT_TRUE(waits || layer < graph.tasks[id].layer)
                    << o.model.name << ": layer " << layer << ", " << graph.tasks[id].name;
                free += !waits;
            }
        }
        // DeepSpeed's one bucket of gpt2 and vgg-19 has all layers.
        EXPECT_TRUE(free > 0 || o.zeroImpl == ZeroImpl::kDeepSpeed)
            << o.model.name << ' ' << ZeroImplName(o.zeroImpl);
    }
}

TEST(NextForward, EachLayerUpdatesItsShare)
{
    TrainingOptions o = OptionsOf("gpt2", 4, 0);
    o.overlapNextForward = true;
    const TrainingPlan plan = MakePlan(o);
    const RankWork work = WorkOfRank(ResolvedOptions(o));
    const auto whole = static_cast<double>(work.order.back().duration.ps);
    uint64_t parameters = 0;
    for (const RankLayer& layer : work.layers)
    {
        parameters += layer.parameters;
    }
    std::size_t layer = 0;
    for (const Task& task : plan.roles[0].tasks)
    {
        if (task.phase == Phase::kOptimizer)
        {
            EXPECT_EQ(task.name, "optimizer " + work.layers[layer].name);
            EXPECT_NEAR(static_cast<double>(task.duration.ps),
                        whole * static_cast<double>(work.layers[layer].parameters) /
                            static_cast<double>(parameters),
                        2);
            ++layer;
        }
    }
    EXPECT_EQ(layer, work.layers.size());
}

TEST(NextForward, Refused)
{
    const auto first = [](const TrainingOptions& o) {
        for (const Problem& p : Check(o))
        {
            if (p.error && AboutOf(p).find("overlap") != std::string::npos)
            {
                return p.text;
            }
        }
        return std::string();
    };
    TrainingOptions o = OptionsOf("gpt2", 4, 0);
    o.overlapNextForward = true;
    EXPECT_EQ(first(o), "");
    TrainingOptions zero = o;
    zero.sharding = ZeroStage(2);
    EXPECT_NE(first(zero).find("zero=0"), std::string::npos) << first(zero);
    TrainingOptions loader = o;
    loader.loaderRate = 100;
    EXPECT_NE(first(loader), "");
    TrainingOptions layers = o;
    layers.layers = 4;
    EXPECT_NE(first(layers), "");
}

// 10 B in chunks of at most 4, of whole 1 B: 4, 4, 2 would be three; so are 4, 4, 2 by equal shares
// of 10/3 rounded up. In units of 3 B a share is 6.
TEST(CollectiveChunks, AreAlikeAndFew)
{
    EXPECT_EQ(EqualChunks(10, 4, 1).size, 4u);
    EXPECT_EQ(EqualChunks(10, 4, 1).count, 3u);
    EXPECT_EQ(EqualChunks(12, 5, 1).size, 4u);
    EXPECT_EQ(EqualChunks(10, 4, 3).size, 6u);
    EXPECT_EQ(EqualChunks(10, 4, 3).count, 2u);
    EXPECT_EQ(EqualChunks(8, 8, 8).count, 1u);
}

TEST(CollectiveChunks, WaitForWhatTheWholeWaitedFor)
{
    for (const uint32_t zero : {0u, 1u, 2u})
    {
        TrainingOptions o = OptionsOf("gpt2", 4, zero, 2);
        const TrainingPlan whole = MakePlan(o);
        o.chunkBytes = 1 << 20;
        const TrainingPlan plan = MakePlan(o);
        EXPECT_EQ(BytesOf(plan.roles[0]), BytesOf(whole.roles[0]));
        EXPECT_GT(plan.roles[0].tasks.size(), 2 * whole.roles[0].tasks.size());
        for (const Task& task : plan.roles[0].tasks)
        {
            if (IsQueued(task))
            {
                EXPECT_LE(task.bytes, o.chunkBytes + 4 * o.ranks) << task.name;
            }
            std::set<TaskId> after(task.after.begin(), task.after.end());
            EXPECT_EQ(after.size(), task.after.size());
        }
        // What waits for a bucket waits for each chunk: the optimizer for all of the last pass.
        EXPECT_NEAR(StepSeconds(plan.roles[0]), StepSeconds(whole.roles[0]), 1e-9);
    }
}
