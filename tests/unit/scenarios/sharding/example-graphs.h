/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef TESTS_UNIT_SCENARIOS_SHARDING_EXAMPLE_GRAPHS_H
#define TESTS_UNIT_SCENARIOS_SHARDING_EXAMPLE_GRAPHS_H

#include "scenarios/models/model-zoo.h"
#include "scenarios/operator-search/graph-of-nodes.h"
#include "scenarios/operator-search/strategy.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

namespace sharding
{

/// The graph of the entries of "graph", with elements of 4 bytes.
inline Graph
GraphOf(const std::string& entries)
{
    std::vector<topo::Error> errors;
    const auto model = training::ParseModelJson(
        nlohmann::json::parse(R"({"name": "test", "graph": )" + entries + "}"),
        "test.json",
        errors);
    EXPECT_TRUE(model) << (errors.empty() ? "" : errors[0].Sentence());
    NodeError error;
    auto graph = model ? GraphOfNodes(*model, 4, &error) : std::nullopt;
    EXPECT_TRUE(graph) << error.text;
    return graph ? *graph : Graph{};
}

/// Strategies of operators by name: "dense=((2,1),(1,4));relu=((2,4))".
inline Given
GivenIn(const Graph& graph, const Devices& devices, const std::string& text)
{
    Given given;
    std::string why;
    const auto shards = ParseShards(text, &why);
    EXPECT_TRUE(shards) << why;
    for (const auto& [name, cuts] : *shards)
    {
        const uint32_t op = graph.Find(name).value();
        const auto strategy = StrategyWith(graph.operators[op], cuts, devices, &why);
        EXPECT_TRUE(strategy) << why;
        given.emplace(op, *strategy);
    }
    return given;
}

/// "((2,1),(1,4))" of an operator.
inline std::string
CutsOf(const Graph& graph, const std::vector<Strategy>& strategies, const std::string& name)
{
    const uint32_t op = graph.Find(name).value();
    return StrategyText(graph.operators[op], strategies[op]);
}

} // namespace sharding

#endif // TESTS_UNIT_SCENARIOS_SHARDING_EXAMPLE_GRAPHS_H
