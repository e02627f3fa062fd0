/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Step graphs are well formed, and mean what they should: evaluated here by a list scheduler in
 * which a collective takes alpha + (bytes a rank sends) / bandwidth, alone on its stream.
 */
#include "scenarios/training/graphs/training-plan.h"
#include "scenarios/training/memory-estimate.h"
#include "scenarios/training/zero-partition.h"
#include "tests/unit/scenarios/example-options.h"

#include <gtest/gtest.h>
#include <map>
#include <random>
#include <set>

using namespace training;

namespace
{

/// Of 16 ranks.
TrainingOptions
Options(const std::string& model,
        uint32_t zero,
        uint32_t accumulation = 1,
        ZeroImpl impl = ZeroImpl::kPaper)
{
    return OptionsOf(model, 16, zero, accumulation, impl);
}

struct Timed
{
    double begin = 0;
    double end = 0;
};

double
SentBytes(const Task& task, double n)
{
    return task.bytes * (n - 1) / n * (task.op == coll::Op::kAllReduce ? 2 : 1);
}

/// Begin and end of every task, in seconds. Tasks are in topological order and streams run theirs
/// in that order.
std::vector<Timed>
Evaluate(const TrainingPlan& plan, double bandwidth, double alpha = 20e-6)
{
    const auto& graph = plan.roles.at(0);
    std::vector<Timed> times;
    std::vector<double> free(graph.streams.size(), 0);
    for (const auto& task : graph.tasks)
    {
        Timed t;
        t.begin = free.at(task.stream);
        for (const TaskId id : task.after)
        {
            t.begin = std::max(t.begin, times.at(id).end);
        }
        t.end = t.begin + (task.kind == TaskKind::kCollective
                               ? alpha + SentBytes(task, plan.ranks) / bandwidth
                               : task.duration.Seconds());
        free[task.stream] = t.end;
        times.push_back(t);
    }
    return times;
}

double
StepTime(const TrainingPlan& plan, double bandwidth, double alpha = 20e-6)
{
    double end = 0;
    for (const auto& t : Evaluate(plan, bandwidth, alpha))
    {
        end = std::max(end, t.end);
    }
    return end;
}

double
ComputeTime(const TrainingPlan& plan)
{
    double sum = 0;
    for (const auto& task : plan.roles[0].tasks)
    {
        sum += task.kind == TaskKind::kCollective ? 0 : task.duration.Seconds();
    }
    return sum;
}

/// Every combination worth a look.
std::vector<TrainingOptions>
Variants()
{
    std::vector<TrainingOptions> all;
    for (const char* model : {"bloom-560m", "llama2-7b", "resnet-50"})
    {
        for (uint32_t zero = 0; zero <= 3; ++zero)
        {
            for (const uint32_t m : {1u, 3u})
            {
                for (const auto impl : {ZeroImpl::kPaper, ZeroImpl::kDeepSpeed})
                {
                    for (const int overlap : {-1, 0, 1})
                    {
                        auto o = Options(model, zero, m, impl);
                        if (overlap >= 0)
                        {
                            o.overlap = overlap == 1;
                        }
                        all.push_back(o);
                    }
                }
            }
        }
    }
    return all;
}

bool
Reaches(const StepGraph& graph, TaskId from, TaskId to)
{
    // Does `to` wait for `from`, directly or not? Stream order counts.
    std::vector<bool> marked(graph.tasks.size(), false);
    marked[from] = true;
    std::vector<TaskId> lastOf(graph.streams.size(), UINT32_MAX);
    for (TaskId id = 0; id <= to; ++id)
    {
        const auto& task = graph.tasks[id];
        for (const TaskId before : task.after)
        {
            marked[id] = marked[id] || marked[before];
        }
        const TaskId previous = lastOf[task.stream];
        marked[id] = marked[id] || (previous != UINT32_MAX && marked[previous]);
        lastOf[task.stream] = id;
    }
    return marked[to];
}

} // namespace

TEST(StepGraph, WellFormed)
{
    for (const auto& o : Variants())
    {
        const auto plan = MakePlan(o);
        ASSERT_EQ(plan.roles.size(), 1u);
        ASSERT_EQ(plan.roleOf.size(), plan.ranks);
        const auto& graph = plan.roles[0];
        ASSERT_EQ(graph.streams.at(0), "compute");
        std::set<std::string> names;
        std::map<uint32_t, TaskId> lastOfGroup;
        for (TaskId id = 0; id < graph.tasks.size(); ++id)
        {
            const auto& task = graph.tasks[id];
            EXPECT_LT(task.stream, graph.streams.size());
            EXPECT_TRUE(names.insert(task.name).second) << task.name;
            EXPECT_EQ(task.kind == TaskKind::kCollective, task.stream != 0);
            for (const TaskId before : task.after)
            {
                EXPECT_LT(before, id);
            }
            if (task.kind == TaskKind::kCollective)
            {
                EXPECT_GT(task.bytes, 0u);
                EXPECT_LT(task.group, plan.groupKinds.size());
                // One communicator's collectives never run beside each other, whatever stream they
                // are on.
                const auto last = lastOfGroup.find(task.group);
                EXPECT_TRUE(last == lastOfGroup.end() || Reaches(graph, last->second, id))
                    << task.name;
                lastOfGroup[task.group] = id;
            }
            else
            {
                EXPECT_GE(task.duration.ps, 0);
            }
        }
        EXPECT_EQ(plan.samplesPerStep, 16u * 4 * o.accumulation);
        EXPECT_DOUBLE_EQ(plan.flopsPerGpuPerStep,
                         3.0 * o.accumulation * o.model.ForwardFlops(4, o.sequence));
    }
}

TEST(StepGraph, BackwardIsForwardReversed)
{
    const auto plan = MakePlan(Options("gpt2", 2, 2));
    std::vector<std::string> compute;
    for (const auto& task : plan.roles[0].tasks)
    {
        if (task.stream == 0)
        {
            compute.push_back(task.name);
        }
    }
    ASSERT_EQ(compute.size(), 2u * 2 * 14 + 1);
    EXPECT_EQ(compute[0], "forward embedding micro-batch 0");
    EXPECT_EQ(compute[13], "forward head micro-batch 0");
    EXPECT_EQ(compute[14], "backward head micro-batch 0");
    EXPECT_EQ(compute[27], "backward embedding micro-batch 0");
    EXPECT_EQ(compute[28], "forward embedding micro-batch 1");
    EXPECT_EQ(compute.back(), "optimizer");
}

TEST(StepGraph, SmallForUsualCases)
{
    EXPECT_LT(MakePlan(Options("bloom-560m", 2)).roles[0].tasks.size(), 110u);
    EXPECT_LT(MakePlan(Options("llama2-7b", 3, 4)).roles[0].tasks.size(), 3200u);
}

TEST(StepGraph, OverlapIsFaster)
{
    for (const char* model : {"bloom-560m", "llama2-7b", "resnet-50"})
    {
        for (uint32_t zero = 0; zero <= 3; ++zero)
        {
            for (const uint32_t m : {1u, 2u})
            {
                for (const auto impl : {ZeroImpl::kPaper, ZeroImpl::kDeepSpeed})
                {
                    auto o = Options(model, zero, m, impl);
                    o.bucketBytes =
                        25ULL << 20; // DeepSpeed's 1 GB would leave ResNet-50 nothing to overlap
                    o.overlap = true;
                    const auto with = MakePlan(o);
                    o.overlap = false;
                    const auto without = MakePlan(o);
                    for (const double bandwidth : {1.5e9, 12.5e9, 50e9})
                    {
                        const double fast = StepTime(with, bandwidth);
                        const double slow = StepTime(without, bandwidth);
                        EXPECT_LT(fast, slow) << model << " zero " << zero << " m " << m;
                        // Never below what either resource needs.
                        EXPECT_GE(fast, ComputeTime(with));
                        // Without overlap the two add up, exactly: nothing runs beside anything.
                        double communication = 0;
                        for (const auto& task : without.roles[0].tasks)
                        {
                            communication += task.kind == TaskKind::kCollective
                                                 ? 20e-6 + SentBytes(task, 16) / bandwidth
                                                 : 0;
                        }
                        EXPECT_NEAR(slow, ComputeTime(without) + communication, 1e-9 * slow);
                    }
                    EXPECT_NEAR(StepTime(with, 1e30, 0), ComputeTime(with), 1e-9);
                    EXPECT_NEAR(StepTime(without, 1e30, 0), ComputeTime(with), 1e-9);
                }
            }
        }
    }
}

// A bucket is reduced only after the backward of every layer that has a gradient in it; tied
// matrices come last.
TEST(StepGraph, BucketsWaitForTheirLayers)
{
    for (const auto impl : {ZeroImpl::kPaper, ZeroImpl::kDeepSpeed})
    {
        for (uint32_t zero = 0; zero <= 3; ++zero)
        {
            const auto o = Options("bloom-560m", zero, 1, impl);
            const auto plan = MakePlan(o);
            // Gradient elements that exist when a layer's backward is done, and the same of what
            // was reduced.
            std::vector<TaskId> backward(o.model.layers.size());
            uint64_t reduced = 0;
            for (TaskId id = 0; id < plan.roles[0].tasks.size(); ++id)
            {
                const auto& task = plan.roles[0].tasks[id];
                for (size_t i = 0; i < backward.size(); ++i)
                {
                    backward[i] =
                        task.name == "backward " + o.model.layers[i].name ? id : backward[i];
                }
                if (task.phase != Phase::kGradient)
                {
                    continue;
                }
                reduced += task.bytes / 2;
                ASSERT_EQ(task.after.size(), 1u);
                uint64_t exists = 0;
                for (size_t i = backward.size(); i-- > 0;)
                {
                    exists += backward[i] != 0 && backward[i] <= task.after[0]
                                  ? (o.model.layers[i].Parameters() + 15) / 16 * 16
                                  : 0;
                }
                EXPECT_LE(reduced, exists) << task.name;
            }
            // 46% of this model's gradients are the tied matrix's, which are there only at the end.
            const auto times = Evaluate(plan, 12.5e9);
            double sentAfter = 0;
            for (TaskId id = 0; id < times.size(); ++id)
            {
                const auto& task = plan.roles[0].tasks[id];
                sentAfter +=
                    task.phase == Phase::kGradient && times[id].begin >= times[backward[0]].end
                        ? task.bytes / 2.0
                        : 0;
            }
            EXPECT_GE(sentAfter, 250880.0 * 1024 * 0.9);
        }
    }
}

// Stage 3, paper: besides a tied matrix at most two layers are there, the one that computes and the
// one that comes; never more bytes than EstimateMemory() says. Gathers are issued in the order of
// use. Speeds are varied at random.
TEST(StepGraph, PrefetchKeepsToItsLookAhead)
{
    std::mt19937 random(1);
    for (const char* model : {"bloom-560m", "llama2-7b", "resnet-50"})
    {
        for (const uint32_t m : {1u, 3u})
        {
            for (const auto impl : {ZeroImpl::kPaper, ZeroImpl::kDeepSpeed})
            {
                for (const int64_t prefetch : {-1LL, 0LL, 100'000'000LL, 10'000'000'000LL})
                {
                    auto o = Options(model, 3, m, impl);
                    if (prefetch >= 0)
                    {
                        o.prefetchBytes = prefetch;
                    }
                    const auto resolved = ResolvedOptions(o);
                    const auto plan = MakePlan(o);
                    const auto memory = EstimateMemory(o);
                    const uint64_t bound =
                        memory.buffers -
                        2 * std::min<uint64_t>(*resolved.bucketBytes, PaddedModel(o) * 2);
                    const auto& tasks = plan.roles[0].tasks;
                    const auto times = Evaluate(plan, 1e9 * (1 + random() % 400));

                    // A gather's parameters live from its begin to the end of its last use.
                    struct Change
                    {
                        double time;
                        int order; ///< releases before gathers at the same moment
                        int64_t bytes;
                        int layers;
                    };

                    std::vector<Change> changes;
                    for (TaskId g = 0; g < tasks.size(); ++g)
                    {
                        if (tasks[g].op != coll::Op::kAllGather ||
                            tasks[g].kind != TaskKind::kCollective ||
                            tasks[g].name == "all-gather persistent parameters")
                        {
                            continue;
                        }
                        TaskId use = 0;
                        for (TaskId c = g; c < tasks.size() && use == 0; ++c)
                        {
                            use = std::count(tasks[c].after.begin(), tasks[c].after.end(), g) > 0
                                      ? c
                                      : 0;
                        }
                        ASSERT_GT(use, g);
                        ASSERT_EQ(tasks[use].stream, 0);
                        // "all-gather forward block 3 micro-batch 0": used until "forward block 3
                        // ..", the tied one until the head's, or, where backward does not gather it
                        // again, until "backward block 3 ..".
                        std::string name = tasks[g].name.substr(11);
                        const bool tied = o.model.layers.back().tiedTo == 0 &&
                                          name.find("embedding") != std::string::npos;
                        std::string last = name;
                        const bool forward = name.rfind("forward", 0) == 0;
                        if (forward)
                        {
                            const std::string back = "backward" + name.substr(7);
                            const bool again =
                                std::any_of(tasks.begin(), tasks.end(), [&](const Task& t) {
                                    return t.name == "all-gather " + back;
                                });
                            last = !again ? back : tied ? "forward head" + name.substr(17) : name;
                        }
                        double until = 0;
                        for (TaskId c = 0; c < tasks.size(); ++c)
                        {
                            until = tasks[c].name == last ? times[c].end : until;
                        }
                        ASSERT_GT(until, 0) << last;
                        changes.push_back({times[g].begin,
                                           1,
                                           static_cast<int64_t>(tasks[g].bytes),
                                           tied ? 0 : 1});
                        changes.push_back(
                            {until, 0, -static_cast<int64_t>(tasks[g].bytes), tied ? 0 : -1});
                    }
                    std::sort(changes.begin(), changes.end(), [](const Change& a, const Change& b) {
                        return std::make_pair(a.time, a.order) < std::make_pair(b.time, b.order);
                    });
                    int64_t bytes = 0;
                    int layers = 0;
                    for (const auto& c : changes)
                    {
                        bytes += c.bytes;
                        layers += c.layers;
                        EXPECT_LE(bytes, static_cast<int64_t>(bound))
                            << model << " prefetch " << prefetch << " m " << m;
                        if (impl == ZeroImpl::kPaper && prefetch <= 0)
                        {
                            EXPECT_LE(layers, 2) << model;
                        }
                    }
                    EXPECT_EQ(bytes, 0);
                }
            }
        }
    }
}

// More look-ahead, less waiting: 2 micro-batches of llama2-7b on a network about as fast as needed.
TEST(StepGraph, PrefetchHelps)
{
    auto o = Options("llama2-7b", 3, 2);
    o.microBatch = 1;
    o.overlap = false;
    const double none = StepTime(MakePlan(o), 25e9);
    o.overlap = true;
    const double next = StepTime(MakePlan(o), 25e9);
    o.prefetchBytes = 2'000'000'000;
    const double more = StepTime(MakePlan(o), 25e9);
    EXPECT_LT(next, 0.9 * none);
    EXPECT_LE(more, next);
}

TEST(StepGraph, RecomputationAddsAForward)
{
    auto o = Options("gpt2-xl", 0);
    const double plain = ComputeTime(MakePlan(o));
    o.recompute = Recompute::kFull;
    const double again = ComputeTime(MakePlan(o));
    EXPECT_NEAR(again - plain, 48 * LayersOfModel(o)[1].Forward(), 1e-9);
    // Model FLOPs leave recomputation out.
    EXPECT_DOUBLE_EQ(MakePlan(o).flopsPerGpuPerStep, 3 * o.model.ForwardFlops(4, 1024));
}

TEST(StepGraph, AProfileReplacesTheRoofline)
{
    auto o = Options("gpt2", 2);
    std::vector<topo::Error> errors;
    o.profile = ParseProfileJson(
        nlohmann::json::parse(
            R"({"optimizer_us": 5, "layers": {"*": {"forward_us": 10, "backward_us": 30}}})"),
        "x.json",
        errors);
    ASSERT_TRUE(o.profile);
    EXPECT_NEAR(ComputeTime(MakePlan(o)), 14 * 40e-6 + 5e-6, 1e-12);
    o.recompute = Recompute::kFull; // blocks only: neither the embedding, which computes nothing,
                                    // nor the head
    EXPECT_NEAR(ComputeTime(MakePlan(o)), 14 * 40e-6 + 5e-6 + 12 * 10e-6, 1e-12);
}

// Where every micro-batch is reduced, a slow network holds up the next backward: the gradient
// buffer exists once.
TEST(StepGraph, GradientBuffersAreNotOverwritten)
{
    const auto o = Options("gpt2", 2, 3);
    const auto plan = MakePlan(o);
    const auto times = Evaluate(plan, 1e8);
    std::map<std::string, double> end;
    std::map<std::string, double> begin;
    for (TaskId id = 0; id < times.size(); ++id)
    {
        end[plan.roles[0].tasks[id].name] = times[id].end;
        begin[plan.roles[0].tasks[id].name] = times[id].begin;
    }
    EXPECT_GE(begin.at("backward head micro-batch 1"),
              end.at("reduce-scatter bucket 0 micro-batch 0"));
    EXPECT_GE(begin.at("backward head micro-batch 2"),
              end.at("reduce-scatter bucket 0 micro-batch 1"));
    EXPECT_GE(begin.at("optimizer"), end.at("reduce-scatter bucket 9 micro-batch 2"));
}
