/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Searches of shardings: published strategies, and agreement among the searches.
 */
#include "example-graphs.h"
#include "scenarios/operator-search/elimination.h"
#include "scenarios/operator-search/mindspore-cost.h"
#include "scenarios/operator-search/redistribution.h"
#include "scenarios/operator-search/searches.h"

#include <gtest/gtest.h>
#include <random>
#include <string>
#include <vector>

namespace sharding
{
namespace
{

SearchSpace
MindSporeSpace(const Graph& graph, uint32_t devices, const Given& given = {})
{
    return MakeSearchSpace(graph, {devices, {}, true}, given, MindSporeCost(devices));
}

std::vector<Strategy>
Programmed(const Graph& graph, uint32_t devices)
{
    const SearchSpace space = MindSporeSpace(graph, devices);
    return space.StrategiesOf(ByElimination(space, nullptr).value());
}

std::vector<Strategy>
PropagatedFrom(const Graph& graph, uint32_t devices, const std::string& given)
{
    const Given from = GivenIn(graph, {devices, {}, true}, given);
    const SearchSpace space = MindSporeSpace(graph, devices, from);
    return space.StrategiesOf(ByPropagation(space, from, nullptr));
}

/// n operators of w strategies each that cost nothing, with these edges.
SearchSpace
SpaceOf(Graph* graph, uint32_t n, uint32_t w, const std::vector<std::pair<uint32_t, uint32_t>>& all)
{
    SearchSpace space;
    space.graph = graph;
    graph->operators.resize(n);
    space.strategies.assign(n, std::vector<Strategy>(w));
    space.ofOperator.assign(n, std::vector<Cost>(w));
    for (const auto& [from, to] : all)
    {
        Edge edge;
        edge.from = from;
        edge.to = to;
        graph->edges.push_back(edge);
        space.ofEdge.emplace_back(std::size_t{w} * w);
    }
    return space;
}

// A chain of n: each end has one neighbour, w^2 combinations; the last operator has none: w.
// A complete graph: w^n, w^(n-1), ..., w. Two edges between two operators are one neighbour.
TEST(Elimination, KnowsItsSumsBeforehand)
{
    Graph chain;
    SearchSpace space = SpaceOf(&chain, 7, 5, {{0, 1}, {1, 2}, {2, 3}, {3, 4}, {4, 5}, {5, 6}});
    EXPECT_EQ(EliminationSums(space), 6 * 25 + 5);
    std::vector<double> told;
    EXPECT_TRUE(ByElimination(space, nullptr, [&told](double sums) { told.push_back(sums); }));
    // At the beginning of each operator.
    EXPECT_EQ(told, (std::vector<double>{0, 25, 50, 75, 100, 125, 150}));
    Graph complete;
    space = SpaceOf(&complete, 4, 3, {{0, 1}, {0, 1}, {0, 2}, {0, 3}, {1, 2}, {1, 3}, {2, 3}});
    EXPECT_EQ(EliminationSums(space), 81 + 27 + 9 + 3);
}

// Nine operators of ten strategies, each beside all others: a table of 10^9 at once. Twenty rows of
// seven operators with twelve, each row complete: 20 x (12^7 + ...) = 7.8 10^8 sums are allowed,
// 160 rows' 6.3 10^9 are too many.
TEST(Elimination, RefusesWhatTakesTooLongAtOnce)
{
    const auto rows = [](uint32_t count, uint32_t of) {
        std::vector<std::pair<uint32_t, uint32_t>> edges;
        for (uint32_t row = 0; row < count; ++row)
        {
            for (uint32_t a = 0; a < of; ++a)
            {
                for (uint32_t b = a + 1; b < of; ++b)
                {
                    edges.emplace_back(row * of + a, row * of + b);
                }
            }
        }
        return edges;
    };
    Graph dense;
    const SearchSpace large = SpaceOf(&dense, 9, 10, rows(1, 9));
    EXPECT_FALSE(EliminationSums(large));
    EXPECT_FALSE(ByElimination(large, nullptr));
    Graph some;
    EXPECT_NEAR(EliminationSums(SpaceOf(&some, 140, 12, rows(20, 7))).value_or(0), 7.8e8, 1e7);
    Graph many;
    EXPECT_FALSE(EliminationSums(SpaceOf(&many, 1120, 12, rows(160, 7))));
}

// The strategies that MindSpore's own tests expect: tests/ut/python/parallel and tests/ut/cpp of
// mindspore-ai/mindspore, copied in ../shared/reference/mindspore_strategies.json.

// test_auto_parallel_two_matmul.py@0d208e00.
TEST(MindSporeCases, TwoProductsCutRowsOnly)
{
    const Graph graph = GraphOf(R"([["x", "input", [128, 32]], ["y", "input", [32, 64]],
        ["b", "input", [64, 64]], ["m1", "matmul", "x", "y"], ["m2", "matmul", "m1", "b"]])");
    const auto found = Programmed(graph, 16);
    EXPECT_EQ(CutsOf(graph, found, "m1"), "((16,1),(1,1))");
    EXPECT_EQ(CutsOf(graph, found, "m2"), "((16,1),(1,1))");
}

// test_auto_parallel_arithmetic.py, of the versions whose default search is dynamic programming: no
// redistribution, and the fewest bytes to read are those of 2 x 4 parts: (64/2) 32 + 32 (128/4) =
// 2,048 elements, with 8 x 1 parts (64/8) 32 + 32 128 = 4,352. Later versions, whose default is the
// recursive search, expect ((8,1),(1,1)).
TEST(MindSporeCases, AProductAndAnElementwiseOperator)
{
    const Graph graph = GraphOf(R"([["x", "input", [64, 32]], ["y", "input", [32, 128]],
        ["b", "input", [64, 128]], ["m", "matmul", "x", "y"], ["d", "elementwise", "m", "b"]])");
    const auto found = Programmed(graph, 8);
    EXPECT_EQ(CutsOf(graph, found, "m"), "((2,1),(1,4))");
    EXPECT_EQ(CutsOf(graph, found, "d"), "((2,4),(2,4))");
}

// The same file, test_auto_parallel_arithmetic_broadcast_right: 4 x 2 parts read (64/4) 32 +
// 32 (32/2) = 1,024 elements of the product's, others at least 1,280.
TEST(MindSporeCases, ABroadcastInput)
{
    const Graph graph = GraphOf(R"([["x", "input", [64, 32]], ["y", "input", [32, 32]],
        ["b", "input", [32]], ["m", "matmul", "x", "y"], ["d", "floordiv", "m", "b"]])");
    const auto found = Programmed(graph, 8);
    EXPECT_EQ(CutsOf(graph, found, "m"), "((4,1),(1,2))");
    EXPECT_EQ(CutsOf(graph, found, "d"), "((4,2),(2))");
}

// test_auto_parallel_matmul_prelu.py@0eb32593. All cuts but of the 3 channels cost the same.
TEST(MindSporeCases, OfEqualCostsTheBatchIsCut)
{
    const Graph graph = GraphOf(R"([["x", "input", [16, 3, 128, 32]],
        ["y", "input", [16, 3, 128, 32]], ["b", "input", [3]],
        ["m", "elementwise", "x", "y"], ["p", "prelu", "m", "b"]])");
    const auto found = Programmed(graph, 16);
    EXPECT_EQ(CutsOf(graph, found, "m"), "((16,1,1,1),(16,1,1,1))");
    EXPECT_EQ(CutsOf(graph, found, "p"), "((16,1,1,1),(1))");
}

// test_out_strategy_propagate1: the product's output is cut (4,1) and repeated twice; the sum uses
// all devices, and a slice costs no communication.
TEST(MindSporeCases, PropagationUsesAllDevices)
{
    const Graph graph = GraphOf(R"([["x", "input", [64, 32]],
        ["w", "parameter", [8, 32], "transposed"], ["b", "input", [64, 8]],
        ["m", "matmul", "x", "w"], ["a", "add", "m", "b"], ["r", "relu", "a"]])");
    const auto found = PropagatedFrom(graph, 8, "m=((4,2),(1,2))");
    EXPECT_EQ(CutsOf(graph, found, "a"), "((4,2),(4,2))");
    EXPECT_EQ(CutsOf(graph, found, "r"), "((4,2))");
}

TEST(MindSporeCases, PropagationOverThreeInputs)
{
    const Graph graph = GraphOf(R"([["x", "input", [4, 8, 4, 8]], ["y", "input", [4, 8, 4, 8]],
        ["z", "input", [4, 8, 4, 8]], ["s", "select", "x", "y", "z"],
        ["e", "betainc", "s", "y", "z"]])");
    const auto found = PropagatedFrom(graph, 64, "s=((1,2,4,8),(1,2,4,8),(1,2,4,8))");
    EXPECT_EQ(CutsOf(graph, found, "e"), "((1,2,4,8),(1,2,4,8),(1,2,4,8))");
}

// rec_partition_test.cc@0bb38be7, test_PartitionNode.
TEST(MindSporeCases, TheRecursiveSearchHalvesRowsFirst)
{
    const Graph graph = GraphOf(R"([["x", "input", [3000, 1000]], ["y", "input", [1000, 4000]],
        ["m", "matmul", "x", "y"]])");
    const auto found = Recursively(graph, 2, {}, nullptr);
    EXPECT_EQ(CutsOf(graph, found, "m"), "((2,1),(1,1))");
}

// MindSpore's documentation, "operator-level parallelism": X W V on 4 devices.
TEST(MindSporeCases, RowsAndColumnsThenPartialSums)
{
    const Graph graph = GraphOf(R"([["X", "input", [8, 16]], ["W", "parameter", [16, 32]],
        ["V", "parameter", [32, 4]], ["Y", "matmul", "X", "W"], ["Z", "matmul", "Y", "V"]])");
    const Devices devices{4, {}, false};
    const Given given = GivenIn(graph, devices, "Y=((2,1),(1,2));Z=((2,2),(2,1))");
    const Operator& z = graph.operators[1];
    EXPECT_EQ(LayoutOf(graph.operators[0].output, given.at(0)), LayoutOf(z.inputs[0], given.at(1)));
    const auto groups = GroupsAlong(SummedDigits(z, given.at(1)), 4);
    EXPECT_EQ(groups, (std::vector<std::vector<coll::Rank>>{{0, 1}, {2, 3}}));
    // B/2 x columns of V on each device.
    EXPECT_EQ(SliceOf(graph.tensors[z.output.tensor], LayoutOf(z.output, given.at(1))), 8 / 2 * 4);
}

// docs of MindSpore r2.4.0, model_train/parallel/sharding_propagation: dense.matmul.shard.
TEST(MindSporeCases, PropagationThroughAFeedForwardNetwork)
{
    const Graph graph = GraphOf(R"([["x", "input", [32, 64]], ["w", "parameter", [64, 128]],
        ["v", "parameter", [128, 64]], ["dense", "matmul", "x", "w"], ["relu", "relu", "dense"],
        ["dense2", "matmul", "relu", "v"]])");
    const auto found = PropagatedFrom(graph, 8, "dense=((2,1),(1,4))");
    EXPECT_EQ(CutsOf(graph, found, "relu"), "((2,4))");
    EXPECT_EQ(CutsOf(graph, found, "dense2"), "((2,4),(4,1))");
    for (const Edge& edge : graph.edges)
    {
        EXPECT_EQ(LayoutOf(graph.operators[edge.from].output, found[edge.from]),
                  LayoutOf(graph.operators[edge.to].inputs[edge.toInput], found[edge.to]));
    }
    const uint32_t dense = *graph.Find("dense");
    const uint32_t dense2 = *graph.Find("dense2");
    const auto& operators = graph.operators;
    // Forward: partial sums of dense2 over 4. Backward: of the gradient of x over 4, and of the
    // parameters over 2.
    EXPECT_TRUE(SummedDigits(operators[dense], found[dense]).empty());
    EXPECT_EQ(CountOf(SummedDigits(operators[dense2], found[dense2])), 4U);
    EXPECT_EQ(CountOf(GradientDigits(operators[dense], found[dense], 0)), 4U);
    EXPECT_TRUE(GradientDigits(operators[dense2], found[dense2], 0).empty());
    EXPECT_EQ(CountOf(CopyDigits(LayoutOf(operators[dense].inputs[1], found[dense]), 8)), 2U);
    EXPECT_EQ(CountOf(CopyDigits(LayoutOf(operators[dense2].inputs[1], found[dense2]), 8)), 2U);
}

/// Random graphs of products and elementwise operators on one [rows, columns] shape or another.
Graph
RandomGraph(std::mt19937& random)
{
    const auto draw = [&random](uint32_t from, uint32_t to) {
        return from + random() % (to - from + 1);
    };
    constexpr uint64_t kSizes[] = {4, 6, 8, 12, 24, 30};
    const uint64_t rows = kSizes[draw(0, 5)];

    struct Made
    {
        std::string name;
        uint64_t columns;
    };

    std::vector<Made> made{{"x", kSizes[draw(0, 5)]}};
    nlohmann::json entries = nlohmann::json::array();
    entries.push_back({"x", draw(0, 1) == 0 ? "input" : "data", {rows, made[0].columns}});
    const uint32_t count = draw(2, 7);
    for (uint32_t i = 0; i < count; ++i)
    {
        const std::string name = "o" + std::to_string(i);
        const Made from = made[draw(0, static_cast<uint32_t>(made.size() - 1))];
        std::vector<Made> alike;
        for (const Made& m : made)
        {
            if (m.columns == from.columns && m.name != from.name)
            {
                alike.push_back(m);
            }
        }
        const uint32_t kind = draw(0, 4);
        if (kind < 2)
        {
            const uint64_t columns = kSizes[draw(0, 5)];
            entries.push_back({"w" + name, "parameter", {from.columns, columns}});
            entries.push_back({name, "matmul", from.name, "w" + name});
            made.push_back({name, columns});
            continue;
        }
        if (kind == 2 && !alike.empty())
        {
            const Made& other = alike[draw(0, static_cast<uint32_t>(alike.size() - 1))];
            entries.push_back({name, "add", from.name, other.name});
        }
        else
        {
            entries.push_back({name, kind == 3 ? "softmax" : "relu", from.name});
        }
        made.push_back({name, from.columns});
    }
    return GraphOf(entries.dump());
}

// Both are exact, so their totals are equal but for the order of summation.
TEST(ShardingSearch, DynamicProgrammingFindsTheLeastCostOfAll)
{
    std::mt19937 random(64);
    uint32_t compared = 0;
    while (compared < 200)
    {
        const Graph graph = RandomGraph(random);
        const uint32_t devices = 2 + compared % 7;
        const Devices all{devices, {}, compared % 2 == 0};
        const SearchSpace space = MakeSearchSpace(graph, all, {}, MindSporeCost(devices));
        if (space.Size() > 2e4)
        {
            continue; // seconds
        }
        ++compared;
        const double exhaustive = space.CostOf(Exhaustively(space)).total;
        std::vector<Elimination> order;
        const double programmed = space.CostOf(ByElimination(space, &order).value()).total;
        EXPECT_NEAR(programmed, exhaustive, 1e-9 * exhaustive) << "graph " << compared;
        EXPECT_EQ(order.size(), graph.operators.size());
        // A search with fewer choices finds nothing cheaper.
        EXPECT_GE(space.CostOf(ByPropagation(space, {}, nullptr)).total, exhaustive * (1 - 1e-12));
    }
}

/// What each rank has of a tensor: for each dimension its part of how many.
std::vector<std::vector<std::pair<uint32_t, uint32_t>>>
PartsOfRanks(const Layout& layout, uint32_t ranks)
{
    std::vector<std::vector<std::pair<uint32_t, uint32_t>>> parts;
    for (uint32_t rank = 0; rank < ranks; ++rank)
    {
        auto& of = parts.emplace_back();
        for (const Digits& digits : layout)
        {
            uint32_t part = 0;
            for (const Digit& digit : digits)
            {
                part = part * digit.size + rank / digit.stride % digit.size;
            }
            of.emplace_back(part, CountOf(digits));
        }
    }
    return parts;
}

// Steps keep the size of what a device has: a slice leaves 1/n, a gather makes n times as much, an
// all-to-all neither. So the last step ends with the slice of the wanted layout.
TEST(Redistribution, EndsWithTheSliceThatIsWanted)
{
    const Graph graph = GraphOf(R"([["x", "input", [720, 720]], ["w", "parameter", [720, 720]],
        ["m", "matmul", "x", "w"]])");
    for (const uint32_t devices : {2U, 4U, 6U, 8U, 12U, 16U})
    {
        const auto strategies = StrategiesOf(graph.operators[0], {devices, {}, false});
        for (const Strategy& a : strategies)
        {
            for (const Strategy& b : strategies)
            {
                const Layout from = LayoutOf(graph.operators[0].output, a);
                const Layout to = LayoutOf(graph.operators[0].inputs[0], b);
                const auto steps = StepsBetween(from, to);
                const TensorInfo& x = graph.tensors[0];
                double part = SliceOf(x, from) / x.Elements();
                for (const MoveStep& step : steps)
                {
                    EXPECT_DOUBLE_EQ(step.before, part);
                    const double n = CountOf(step.digits);
                    part *= step.move == Move::kGather ? n : step.move == Move::kSplit ? 1 / n : 1;
                }
                EXPECT_NEAR(part, SliceOf(x, to) / x.Elements(), 1e-12);
                EXPECT_EQ(steps.empty(), PartsOfRanks(from, devices) == PartsOfRanks(to, devices));
            }
        }
    }
}

// MindSpore's rules on the examples of its documentation: a whole dimension is sliced for nothing,
// a digit that moves is an all-to-all, one that goes is an all-gather.
TEST(Redistribution, TakesTheCheapestOperator)
{
    const Digit four{1, 4};
    const auto moves = [](const Layout& from, const Layout& to) {
        std::string text;
        for (const MoveStep& step : StepsBetween(from, to))
        {
            text += (text.empty() ? "" : ", ") + std::string(MoveName(step.move));
        }
        return text;
    };
    EXPECT_EQ(moves({{}, {}}, {{four}, {}}), "slice");
    EXPECT_EQ(moves({{four}, {}}, {{}, {four}}), "all-to-all");
    EXPECT_EQ(moves({{four}, {}}, {{}, {}}), "all-gather");
    EXPECT_EQ(moves({{four}, {}}, {{{2, 2}}, {}}), "all-gather");
    EXPECT_EQ(moves({{{2, 2}}, {}}, {{four}, {}}), "slice");
    EXPECT_EQ(moves({{{1, 2}}, {}}, {{four}, {}}), "all-to-all, slice");
}

// 6 = 2 x 3 and 3 x 2 have no digits in common.
TEST(Redistribution, OfPartsThatDoNotFitGathersAll)
{
    const auto steps = StepsBetween({{{3, 2}}, {}}, {{{2, 3}}, {}});
    ASSERT_EQ(steps.size(), 2U);
    EXPECT_EQ(steps[0].move, Move::kGather);
    EXPECT_EQ(steps[1].move, Move::kSplit);
}

// total = alpha computation + beta communication. x and w are sliced to 4 x 8 and 8 x 4 numbers of
// 4 bytes; the inner dimension is whole, and the parameter, in 2 parts on 4 devices, is summed:
// computation (32 + 32 + 32) 4; backward 128 bytes are at most 2,048, so 3,072 x gamma.
TEST(MindSporeCost, OfAProductIsAsMindSporeCountsIt)
{
    const Graph graph = GraphOf(R"([["x", "input", [8, 8]], ["w", "parameter", [8, 8]],
        ["m", "matmul", "x", "w"]])");
    const Given given = GivenIn(graph, {4, {}, true}, "m=((2,1),(1,2))");
    const Cost cost = MindSporeCost(4).OfOperator(graph, 0, given.at(0));
    EXPECT_DOUBLE_EQ(cost.computation, (32 + 32 + 32) * 4);
    EXPECT_DOUBLE_EQ(cost.total, (32 + 32 + 32) * 4 + 400 * 0.001 * 3072);
}

// Bytes of 1,024 x 1,024 numbers in 4 parts: 1 MiB a device. All-gather of 4: forward 0.5 x 4 MiB,
// backward 0.5 MiB, each 1,024 more.
TEST(MindSporeCost, OfAGatherCountsBothWays)
{
    const Graph graph = GraphOf(R"([["x", "input", [1024, 1024]], ["r", "relu", "x"],
        ["s", "softmax", "r"]])");
    const double mib = 1 << 20;
    const Cost cost = MindSporeCost(4).OfMove(graph, graph.edges[0], {{}, {{1, 4}}}, {{}, {}});
    EXPECT_DOUBLE_EQ(cost.total, 400 * (0.5 * 4 * mib + 1024 + 0.5 * mib + 1024));
}

TEST(Strategies, OfAMatrixGoAlongItsDimensions)
{
    const Graph graph = GraphOf(R"([["x", "input", [16, 16]], ["w", "parameter", [16, 16]],
        ["m", "matmul", "x", "w"]])");
    const Operator& op = graph.operators[0];
    // Each of the two dimensions goes to one of three axes or to none.
    EXPECT_EQ(StrategiesOf(op, {8, {2, 4}, false}).size(), 16U);
    EXPECT_EQ(StrategiesOf(op, {8, {2, 4}, true}).size(), 9U);
    std::string why;
    EXPECT_TRUE(StrategyWith(op, {{2, 1}, {1, 4}}, {8, {2, 4}, false}, &why));
    EXPECT_TRUE(StrategyWith(op, {{8, 1}, {1, 1}}, {8, {2, 4}, false}, &why));
    EXPECT_FALSE(StrategyWith(op, {{2, 2}, {2, 2}}, {8, {2, 4}, false}, &why));
    EXPECT_NE(why.find("device matrix 2,4"), std::string::npos) << why;
}

TEST(Strategies, MistakesAreNamed)
{
    const Graph graph = GraphOf(R"([["x", "input", [6, 16]], ["w", "parameter", [16, 16]],
        ["m", "matmul", "x", "w"], ["n", "layernorm", "m"]])");
    const auto why = [&](uint32_t op, const Cuts& cuts) {
        std::string text;
        EXPECT_FALSE(StrategyWith(graph.operators[op], cuts, {8, {}, false}, &text));
        return text;
    };
    EXPECT_NE(why(0, {{4, 1}, {1, 2}}).find("allowed: a divisor of 6"), std::string::npos);
    EXPECT_NE(why(0, {{2, 4}, {2, 1}}).find("allowed: 4"), std::string::npos);
    EXPECT_NE(why(0, {{2, 1}}).find("cuts 1 input; allowed: the 2"), std::string::npos);
    EXPECT_NE(why(0, {{2, 1}, {1}}).find("allowed: 2, one a dimension"), std::string::npos);
    EXPECT_NE(why(0, {{2, 2}, {2, 4}}).find("makes 16 parts"), std::string::npos);
    EXPECT_NE(why(0, {{3, 1}, {1, 1}}).find("do not divide the 8 GPUs"), std::string::npos);
    EXPECT_NE(why(0, {{1ULL << 32, 1}, {1, 1}}).find("into 4294967296 parts"), std::string::npos);
    EXPECT_NE(why(1, {{1, 2}}).find("the norm's axis; allowed: 1"), std::string::npos);
    std::string text;
    for (const char* shards : {"m",
                               "m=",
                               "m=(2,1)",
                               "m=((2,1),(1,4)",
                               "m=((2,1))n=((1))",
                               "",
                               "m=((1));m=((1))",
                               "=((1))",
                               "m=((9223372036854775808))"})
    {
        EXPECT_FALSE(ParseShards(shards, &text)) << shards;
    }
    EXPECT_TRUE(ParseShards(" m = ((2, 1), (1, 4)) ; n=((2,),)", &text)) << text;
}

} // namespace
} // namespace sharding
