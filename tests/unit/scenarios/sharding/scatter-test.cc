/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Partial sums that are scattered on their way, and strategies as MindSpore keeps them.
 */
#include "example-graphs.h"
#include "scenarios/operator-search/mindspore-file.h"
#include "scenarios/operator-search/scatter.h"
#include "scenarios/operator-search/sharding-report.h"

#include <gtest/gtest.h>

using namespace sharding;

TEST(Scatter, OfPartialSumsThatAreWantedCut)
{
    const Digits four = {{1, 4}};
    // Rows cut along the devices that have the sums: each keeps its rows' sums.
    EXPECT_EQ(ScatteredDigits(four, {{}, {}}, {four, {}}), four);
    // Whole, or cut along other devices: an all-reduce.
    EXPECT_TRUE(ScatteredDigits(four, {{}, {}}, {{}, {}}).empty());
    EXPECT_TRUE(ScatteredDigits(four, {{}, {}}, {{{4, 2}}, {}}).empty());
    EXPECT_TRUE(ScatteredDigits({}, {{}, {}}, {four, {}}).empty());
    // Along half of them: the rest is all-reduced, with half of the bytes.
    const Digits half = ScatteredDigits(four, {{}, {}}, {{{2, 2}}, {}});
    EXPECT_EQ(half, (Digits{{2, 2}}));
    const auto sums = SumsOf(four, half, 1000, 8);
    ASSERT_EQ(sums.size(), 2U);
    EXPECT_EQ(sums[0].op, coll::Op::kReduceScatter);
    EXPECT_DOUBLE_EQ(sums[0].bytes, 1000);
    EXPECT_EQ(sums[0].digits, (Digits{{2, 2}}));
    EXPECT_EQ(sums[1].op, coll::Op::kAllReduce);
    EXPECT_DOUBLE_EQ(sums[1].bytes, 500);
    EXPECT_EQ(sums[1].digits, (Digits{{1, 2}}));
}

TEST(Scatter, OnlyWhereOneReaderWantsIt)
{
    const std::string graph = R"([["x", "input", [64, 64]], ["w", "parameter", [64, 64]],
        ["m", "matmul", "x", "w"], ["r", "relu", "m"], ["g", "gelu", "r"]])";
    const Graph g = GraphOf(graph);
    const Devices devices{4, {}, false};
    const Given given =
        GivenIn(g, devices, "m=((1,4),(4,1));r=((4,1));g=((4,1))"); // inner cut, then rows
    std::vector<Strategy> strategies;
    for (uint32_t i = 0; i < g.operators.size(); ++i)
    {
        strategies.push_back(given.at(i));
    }
    const Scatters scatters(g, strategies);
    EXPECT_EQ(scatters.Forward(g.Find("m").value()), (Digits{{1, 4}}));
    // Two readers: the sums are added up before either.
    const Graph two = GraphOf(R"([["x", "input", [64, 64]], ["w", "parameter", [64, 64]],
        ["m", "matmul", "x", "w"], ["r", "relu", "m"], ["g", "gelu", "m"]])");
    const Given both = GivenIn(two, devices, "m=((1,4),(4,1));r=((4,1));g=((4,1))");
    EXPECT_TRUE(Scatters(two, {both.at(0), both.at(1), both.at(2)}).Forward(0).empty());
}

TEST(MindSporeFile, HasStrategiesAndComesBack)
{
    Sharding s;
    s.graph = GraphOf(R"([["x", "input", [64, 32]], ["w", "parameter", [32, 128]],
        ["dense", "matmul", "x", "w"], ["relu", "relu", "dense"]])");
    s.settings.devices.count = 8;
    const Given given = GivenIn(s.graph, s.settings.devices, "dense=((2,1),(1,4));relu=((2,4))");
    s.strategies = {given.at(0), given.at(1)};
    const auto json = MindSporeJson(s);
    EXPECT_EQ(json["current_stage"], 0);
    EXPECT_EQ(json["parallel_strategy_item"]["dense"]["parallel_strategy"].dump(), "[[2,1],[1,4]]");
    // w is cut into 4 columns by the matrix' last dimension; its rows are whole.
    const auto& w = json["parallel_layout_item"]["w"];
    EXPECT_EQ(w["tensor_map"].dump(), "[-1,0]");
    EXPECT_EQ(w["dev_matrix"].dump(), "[2,4]");
    EXPECT_EQ(w["tensor_shape"].dump(), "[32,128]");
    std::string why;
    const auto shards = ShardsOfJson(nlohmann::json::parse(json.dump()), &why);
    ASSERT_TRUE(shards) << why;
    EXPECT_EQ(shards->size(), 2U);
    for (const auto& [name, cuts] : *shards)
    {
        EXPECT_EQ(CutsText(cuts), name == "dense" ? "((2,1),(1,4))" : "((2,4))");
    }
    EXPECT_NE(MindSporeLines(s).find("dense.shard(((2, 1), (1, 4)))\nrelu.shard(((2, 4),))"),
              std::string::npos);
    // A name is never code: where it is no word it is a text.
    s.graph.operators[0].name = "import os\"'\\";
    s.graph.operators[1].name = "block.lambda";
    EXPECT_NE(MindSporeLines(s).find("operators[\"import os\\\"'\\\\\"].shard(((2, 1), (1, 4)))\n"
                                     "operators[\"block.lambda\"].shard(((2, 4),))"),
              std::string::npos)
        << MindSporeLines(s);
    // Files of others are said to be wrong by their own paths.
    EXPECT_FALSE(ShardsOfJson({{"parallel_strategy_item", {{"dense", {{"stage", 0}}}}}}, &why));
}

TEST(Graph, PaddingIsLessThanTheWindow)
{
    std::vector<topo::Error> errors;
    for (const auto& [padding, good] : {std::pair{2, true}, {3, false}, {1048576, false}})
    {
        const auto model = training::ParseModelJson(
            nlohmann::json::parse(R"({"name": "t", "graph": [["x", "input", [8, 3, 32, 32]],
                ["f", "parameter", [16, 3, 3, 3]],
                ["c", "conv", "x", "f", {"padding": )" +
                                  std::to_string(padding) + "}]]}"),
            "t.json",
            errors);
        ASSERT_TRUE(model);
        NodeError error;
        const auto graph = GraphOfNodes(*model, 4, &error);
        EXPECT_EQ(graph.has_value(), good) << padding;
        if (!good)
        {
            EXPECT_NE(error.text.find("allowed: 0 to 2"), std::string::npos) << error.text;
        }
    }
}
