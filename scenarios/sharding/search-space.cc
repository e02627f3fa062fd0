/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "scenarios/sharding/search-space.h"

#include <algorithm>
#include <map>

namespace sharding
{

Cost
SearchSpace::CostOf(const Choice& choice) const
{
    Cost sum;
    for (uint32_t i = 0; i < choice.size(); ++i)
    {
        sum += ofOperator[i][choice[i]];
    }
    for (uint32_t e = 0; e < graph->edges.size(); ++e)
    {
        sum += OfEdge(e, choice[graph->edges[e].from], choice[graph->edges[e].to]);
    }
    return sum;
}

double
SearchSpace::Size() const
{
    double size = 1;
    for (const auto& of : strategies)
    {
        size *= static_cast<double>(of.size());
    }
    return size;
}

std::vector<Strategy>
SearchSpace::StrategiesOf(const Choice& choice) const
{
    std::vector<Strategy> chosen;
    for (uint32_t i = 0; i < choice.size(); ++i)
    {
        chosen.push_back(strategies[i][choice[i]]);
    }
    return chosen;
}

namespace
{

/// Layouts of an operand under all strategies, each once.
struct LayoutsOf
{
    LayoutsOf(const Operand& operand, const std::vector<Strategy>& strategies)
    {
        std::map<Layout, uint32_t> known;
        for (const Strategy& strategy : strategies)
        {
            Layout layout = LayoutOf(operand, strategy);
            const auto [at, isNew] =
                known.try_emplace(layout, static_cast<uint32_t>(layouts.size()));
            if (isNew)
            {
                layouts.push_back(std::move(layout));
            }
            of.push_back(at->second);
        }
    }

    std::vector<Layout> layouts;
    std::vector<uint32_t> of; ///< by strategy
};

void
AddEdges(const CostModel& cost, SearchSpace* space)
{
    const Graph& graph = *space->graph;
    for (const Edge& edge : graph.edges)
    {
        const LayoutsOf from(graph.OperandOf(edge.from, edge.fromInput),
                             space->strategies[edge.from]);
        const LayoutsOf to(graph.OperandOf(edge.to, static_cast<int32_t>(edge.toInput)),
                           space->strategies[edge.to]);
        std::vector<Cost> between;
        between.reserve(from.layouts.size() * to.layouts.size());
        for (const Layout& a : from.layouts)
        {
            for (const Layout& b : to.layouts)
            {
                between.push_back(a == b ? Cost{} : cost.OfMove(graph, edge, a, b) * edge.times);
            }
        }
        auto& costs = space->ofEdge.emplace_back();
        costs.reserve(from.of.size() * to.of.size());
        for (const uint32_t a : from.of)
        {
            for (const uint32_t b : to.of)
            {
                costs.push_back(between[a * to.layouts.size() + b]);
            }
        }
    }
}

} // namespace

void
CountOperators(const CostModel& cost, SearchSpace* space)
{
    const Graph& graph = *space->graph;
    space->ofOperator.clear();
    for (uint32_t i = 0; i < graph.operators.size(); ++i)
    {
        auto& costs = space->ofOperator.emplace_back();
        for (const Strategy& strategy : space->strategies[i])
        {
            costs.push_back(cost.OfOperator(graph, i, strategy) * graph.Times(i));
        }
    }
}

SearchSpace
MakeSearchSpace(const Graph& graph,
                const Devices& devices,
                const Given& given,
                const CostModel& cost)
{
    SearchSpace space;
    space.graph = &graph;
    for (uint32_t i = 0; i < graph.operators.size(); ++i)
    {
        const auto fixed = given.find(i);
        space.strategies.push_back(fixed != given.end()
                                       ? std::vector<Strategy>{fixed->second}
                                       : StrategiesOf(graph.operators[i], devices));
    }
    CountOperators(cost, &space);
    AddEdges(cost, &space);
    return space;
}

SearchSpace
FixedSpace(const Graph& graph, const std::vector<Strategy>& strategies, const CostModel& cost)
{
    SearchSpace space;
    space.graph = &graph;
    for (const Strategy& strategy : strategies)
    {
        space.strategies.push_back({strategy});
    }
    CountOperators(cost, &space);
    AddEdges(cost, &space);
    return space;
}

} // namespace sharding
