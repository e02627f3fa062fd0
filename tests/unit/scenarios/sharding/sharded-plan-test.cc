/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * From cut graphs to steps: what is sent, and what the searches find by simulated seconds.
 */
#include "example-graphs.h"
#include "scenarios/models/gpu-zoo.h"
#include "scenarios/operator-search/graph-of-model.h"
#include "scenarios/operator-search/mindspore-file.h"
#include "scenarios/operator-search/sharding-report.h"

#include <gtest/gtest.h>
#include <map>
#include <random>
#include <string>
#include <tuple>
#include <vector>

namespace sharding
{
namespace
{

/// A network on which n ranks' collectives take 5 us and their bytes at 100 GB/s, of a ring.
class RingTimes : public CommunicationTimes
{
  public:
    double Seconds(coll::Op op, double bytes, const Digits& digits) override
    {
        const double n = CountOf(digits);
        return 5e-6 + (op == coll::Op::kAllReduce ? 2 : 1) * bytes * (n - 1) / n / 100e9;
    }
};

training::TrainingOptions
Options(uint32_t ranks, training::Dtype dtype = training::Dtype::kBf16)
{
    training::TrainingOptions o;
    o.gpu = *training::FindGpu("A100");
    o.ranks = ranks;
    o.dtype = dtype;
    o.bucketBytes = 25 << 20;
    return o;
}

/// (operation, bytes, ranks of a group) of a plan's collectives, with their number.
using Sent = std::map<std::tuple<coll::Op, uint64_t, std::size_t>, int>;

Sent
SentBy(const training::TrainingPlan& plan, training::Phase phase)
{
    Sent sent;
    for (const training::Task& task : plan.roles[0].tasks)
    {
        if (task.kind == training::TaskKind::kCollective && task.phase == phase)
        {
            ++sent[{task.op, task.bytes, plan.groupKinds[task.group].groups[0].size()}];
        }
    }
    return sent;
}

constexpr auto kSum = coll::Op::kAllReduce;

// B = 32, H = 64, F = 128, elements of 4 bytes; dense ((2,1),(1,4)) on 8:
//   forward   partial sums of dense2: (B/2) H 4 = 4,096 B over 4
//   backward  the gradient of x, as large, over 4
//   gradients W and V in 4 parts each, in one bucket: 2 (64 x 128 / 4) 4 = 16,384 B over 2
TEST(ShardedPlan, AFeedForwardNetworkSendsWhatTheCutsLeave)
{
    const Graph graph = GraphOf(R"([["x", "input", [32, 64]], ["w", "parameter", [64, 128]],
        ["v", "parameter", [128, 64]], ["dense", "matmul", "x", "w"], ["relu", "relu", "dense"],
        ["dense2", "matmul", "relu", "v"]])");
    const Devices devices{8, {}, false};
    const Given given =
        GivenIn(graph, devices, "dense=((2,1),(1,4));relu=((2,4));dense2=((2,4),(4,1))");
    std::vector<Strategy> strategies;
    for (const auto& [op, strategy] : given)
    {
        strategies.push_back(strategy);
    }
    const SliceKernels kernels(Options(8, training::Dtype::kFp32));
    for (const uint32_t passes : {1U, 3U})
    {
        const int n = static_cast<int>(passes);
        const auto plan = MakeShardedPlan(graph, strategies, kernels, 8, passes);
        EXPECT_EQ(SentBy(plan, training::Phase::kForward), (Sent{{{kSum, 4096, 4}, n}}));
        EXPECT_EQ(SentBy(plan, training::Phase::kBackward), (Sent{{{kSum, 4096, 4}, n}}));
        EXPECT_EQ(SentBy(plan, training::Phase::kGradient), (Sent{{{kSum, 16384, 2}, 1}}));
        EXPECT_EQ(plan.samplesPerStep, 32 * passes);
        // 3 x 2 B (H F + F H), shared by 8.
        EXPECT_DOUBLE_EQ(plan.flopsPerGpuPerStep, 3.0 * passes * 2 * 32 * 2 * 64 * 128 / 8);
        RingTimes times;
        EXPECT_GT(StepSeconds(plan, times).value(), 0);
    }
}

// Y = X W in 2 x 2 parts, Z = Y V from partial sums: B/2 x columns of V x 4 bytes in each pair.
TEST(ShardedPlan, PartialSumsOfPairs)
{
    const Graph graph = GraphOf(R"([["X", "data", [8, 16]], ["W", "parameter", [16, 32]],
        ["V", "parameter", [32, 4]], ["Y", "matmul", "X", "W"], ["Z", "matmul", "Y", "V"]])");
    const Given given = GivenIn(graph, {4, {}, false}, "Y=((2,1),(1,2));Z=((2,2),(2,1))");
    const SliceKernels kernels(Options(4, training::Dtype::kFp32));
    const auto plan = MakeShardedPlan(graph, {given.at(0), given.at(1)}, kernels, 4, 1);
    EXPECT_EQ(SentBy(plan, training::Phase::kForward), (Sent{{{kSum, 8 / 2 * 4 * 4, 2}, 1}}));
    // X is data: nobody wants its gradient.
    EXPECT_TRUE(SentBy(plan, training::Phase::kBackward).empty());
}

// A column of a product that is gathered: (rows, columns / 4) to whole rows of all columns, and its
// gradient back by a slice, which costs nothing.
TEST(ShardedPlan, ARedistributionIsACollective)
{
    const Graph graph = GraphOf(R"([["x", "data", [32, 64]], ["w", "parameter", [64, 128]],
        ["m", "matmul", "x", "w"], ["n", "softmax", "m"]])");
    const Given given = GivenIn(graph, {4, {}, false}, "m=((1,1),(1,4));n=((1,1))");
    const SliceKernels kernels(Options(4, training::Dtype::kFp32));
    const auto plan = MakeShardedPlan(graph, {given.at(0), given.at(1)}, kernels, 4, 1);
    EXPECT_EQ(SentBy(plan, training::Phase::kForward),
              (Sent{{{coll::Op::kAllGather, 32 * 128 * 4, 4}, 1}}));
    EXPECT_TRUE(SentBy(plan, training::Phase::kBackward).empty());
}

Graph
RandomLayers(std::mt19937& random)
{
    constexpr uint64_t kSizes[] = {8, 12, 64, 240, 1024};
    nlohmann::json entries = nlohmann::json::array();
    const auto draw = [&random](uint32_t to) { return static_cast<uint32_t>(random() % to); };
    uint64_t columns = kSizes[draw(5)];
    entries.push_back({"x", draw(2) == 0 ? "input" : "data", {kSizes[draw(5)], columns}});
    std::string last = "x";
    std::string before = "x";
    uint64_t columnsBefore = columns;
    const uint32_t count = 2 + draw(6);
    for (uint32_t i = 0; i < count; ++i)
    {
        const std::string name = "o" + std::to_string(i);
        const uint32_t kind = draw(4);
        const std::string from = last;
        const uint64_t now = columns;
        if (kind < 2)
        {
            columns = kSizes[draw(5)];
            entries.push_back({"w" + name, "parameter", {now, columns}});
            entries.push_back({name, "matmul", last, "w" + name});
        }
        else if (kind == 2 && before != last && columnsBefore == columns)
        {
            entries.push_back({name, "add", last, before});
        }
        else
        {
            entries.push_back({name, kind == 2 ? "layernorm" : "gelu", last});
        }
        last = name;
        if (draw(2) == 0)
        {
            before = from;
            columnsBefore = now;
        }
    }
    return GraphOf(entries.dump());
}

// By simulated seconds as by MindSpore's cost: both searches are exact.
TEST(ShardedPlan, DynamicProgrammingFindsTheLeastSecondsOfAll)
{
    std::mt19937 random(7);
    RingTimes times;
    uint32_t compared = 0;
    while (compared < 200)
    {
        const Graph graph = RandomLayers(random);
        const uint32_t devices = 2 + compared % 7;
        const SliceKernels kernels(Options(devices));
        const SimulatorCost cost(kernels, times, devices, 1 + compared % 3);
        const SearchSpace space =
            MakeSearchSpace(graph, {devices, {}, compared % 3 == 0}, {}, cost);
        if (space.Size() > 2e4)
        {
            continue; // seconds
        }
        ++compared;
        const double exhaustive = space.CostOf(Exhaustively(space)).total;
        const double programmed = space.CostOf(ByElimination(space, nullptr).value()).total;
        EXPECT_NEAR(programmed, exhaustive, 1e-9 * exhaustive) << "graph " << compared;
    }
}

std::optional<Graph>
GraphOfZoo(const std::string& name, uint64_t samples, uint32_t sequence)
{
    std::string why;
    auto graph = GraphOfModel(*training::FindModel(name), samples, sequence, 2, &why);
    EXPECT_TRUE(graph) << name << ": " << why;
    return graph;
}

TEST(GraphOfModel, EqualBlocksAreFolded)
{
    for (const char* name : {"gpt3-175b", "bloom-560m", "llama-2-7b", "llama3-70b", "bert-large"})
    {
        const auto model = training::FindModel(name);
        const auto graph = GraphOfZoo(name, 32, 128);
        ASSERT_TRUE(graph);
        EXPECT_LT(graph->operators.size(), 30U) << name;
        // All parameters are there, folded blocks as often as they are.
        EXPECT_DOUBLE_EQ(graph->Parameters(), static_cast<double>(model->parameters)) << name;
        double flops = 0;
        const SliceKernels kernels(Options(1));
        for (uint32_t i = 0; i < graph->operators.size(); ++i)
        {
            flops += kernels.Flops(graph->operators[i]) * graph->Times(i);
        }
        EXPECT_NEAR(flops / model->ForwardFlops(32, 128), 1, 1e-9) << name;
    }
}

TEST(GraphOfModel, PicturesKeepTheirBranches)
{
    for (const char* name : {"resnet-50", "vgg16", "alexnet", "inception-v3"})
    {
        const auto model = training::FindModel(name);
        ASSERT_TRUE(model) << name;
        const auto graph = GraphOfZoo(name, 64, 1);
        ASSERT_TRUE(graph);
        EXPECT_DOUBLE_EQ(graph->Parameters(), static_cast<double>(model->parameters)) << name;
        double flops = 0;
        const SliceKernels kernels(Options(1));
        for (uint32_t i = 0; i < graph->operators.size(); ++i)
        {
            flops += kernels.Flops(graph->operators[i]) * graph->Times(i);
        }
        EXPECT_NEAR(flops / model->ForwardFlops(64, 1), 1, 1e-9) << name;
    }
}

TEST(GraphOfModel, ExpertsAreRefused)
{
    std::string why;
    EXPECT_FALSE(GraphOfModel(*training::FindModel("mixtral-8x7b"), 8, 128, 2, &why));
    EXPECT_NE(why.find("experts"), std::string::npos) << why;
}

// A plan of folded blocks is that of all blocks one after another: the partial sums of each, and of
// the gradients of each.
TEST(ShardedPlan, FoldedBlocksExchangeAsOftenAsTheyAre)
{
    const auto model = training::FindModel("bloom-560m"); // 24 blocks
    const auto graph = GraphOfZoo("bloom-560m", 8, 128);
    const Devices devices{4, {}, false};
    const Given given = GivenIn(*graph,
                                devices,
                                "block.qkv=((1,1,1),(1,4));block.attention=((1,1,4));"
                                "block.projection=((1,1,4),(4,1));block.up=((1,1,1),(1,4));"
                                "block.activation=((1,1,4));block.down=((1,1,4),(4,1))");
    std::vector<Strategy> strategies;
    for (uint32_t i = 0; i < graph->operators.size(); ++i)
    {
        const auto at = given.find(i);
        strategies.push_back(at != given.end()
                                 ? at->second
                                 : Strategy{std::vector<Digits>(graph->operators[i].axes.size())});
    }
    const auto plan = MakeShardedPlan(*graph, strategies, SliceKernels(Options(4)), 4, 1);
    // Megatron's g and f: two all-reduces forward and two backward a block, 8 x 128 x 1,024 x 2 B.
    const uint64_t bytes = 8 * 128 * uint64_t{model->transformer->hidden} * 2;
    EXPECT_EQ(SentBy(plan, training::Phase::kForward), (Sent{{{kSum, bytes, 4}, 2 * 24}}));
    EXPECT_EQ(SentBy(plan, training::Phase::kBackward), (Sent{{{kSum, bytes, 4}, 2 * 24}}));
}

TEST(ShardingReport, AFileReadsBackAsTheSameStrategies)
{
    const Graph graph = GraphOf(R"([["x", "data", [32, 64]], ["w", "parameter", [64, 128]],
        ["v", "parameter", [128, 64]], ["dense", "matmul", "x", "w"], ["relu", "relu", "dense"],
        ["dense2", "matmul", "relu", "v"]])");
    const SliceKernels kernels(Options(8));
    RingTimes times;
    for (const Mode mode :
         {Mode::kSemi, Mode::kPropagation, Mode::kProgramming, Mode::kRecursive, Mode::kExhaustive})
    {
        SearchSettings settings;
        settings.mode = mode;
        settings.devices.count = 8;
        std::string why;
        const auto found = FindSharding(graph, settings, kernels, times, &why);
        ASSERT_TRUE(found) << ModeName(mode) << " " << why;
        const auto json = nlohmann::json::parse(ShardingJson(*found).dump());
        const auto shards = ShardsOfJson(json, &why);
        ASSERT_TRUE(shards) << why;
        ASSERT_EQ(shards->size(), 3U);
        for (const auto& [name, cuts] : *shards)
        {
            const uint32_t op = *graph.Find(name);
            EXPECT_EQ(StrategyWith(graph.operators[op], cuts, {8, {}, false}, &why),
                      found->strategies[op])
                << ModeName(mode);
        }
        EXPECT_NE(TableText(*found).find("dense2"), std::string::npos);
        EXPECT_NE(ExplainText(*found).find("(d) Order"), std::string::npos);
        EXPECT_NE(ShardingSvg(*found).find("</svg>"), std::string::npos);
    }
}

// The recursive search halves, and the exhaustive one has a bound.
TEST(ShardingSearch, RefusesWhatItCannotDo)
{
    const Graph graph = GraphOf(R"([["x", "data", [36, 36]], ["w", "parameter", [36, 36]],
        ["m", "matmul", "x", "w"]])");
    const SliceKernels kernels(Options(6));
    RingTimes times;
    SearchSettings settings;
    settings.mode = Mode::kRecursive;
    settings.devices.count = 6;
    std::string why;
    EXPECT_FALSE(FindSharding(graph, settings, kernels, times, &why));
    EXPECT_NE(why.find("no power of two"), std::string::npos) << why;
    settings.mode = Mode::kProgramming;
    settings.memory = 100; // bytes
    EXPECT_FALSE(FindSharding(graph, settings, kernels, times, &why));
    EXPECT_NE(why.find("finds nothing that fits"), std::string::npos) << why;
}

} // namespace
} // namespace sharding
