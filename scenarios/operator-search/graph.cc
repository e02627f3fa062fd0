/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "scenarios/operator-search/graph.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

namespace sharding
{

Axis
Cuttable(std::string name, uint64_t size, bool summed)
{
    Axis axis;
    axis.name = std::move(name);
    axis.size = axis.granules = size;
    axis.summed = summed;
    return axis;
}

Axis
Uncut(std::string name, uint64_t size, std::string why)
{
    Axis axis;
    axis.name = std::move(name);
    axis.size = size;
    axis.whole = std::move(why);
    return axis;
}

double
TensorInfo::Elements() const
{
    double elements = 1;
    for (const uint64_t dimension : shape)
    {
        elements *= static_cast<double>(dimension);
    }
    return elements;
}

std::optional<uint32_t>
Graph::Find(const std::string& operatorName) const
{
    for (uint32_t i = 0; i < operators.size(); ++i)
    {
        if (operators[i].name == operatorName)
        {
            return i;
        }
    }
    return std::nullopt;
}

bool
Graph::HasGradient(uint32_t op, uint32_t input) const
{
    return tensors[operators[op].inputs[input].tensor].role != TensorRole::kData;
}

double
Graph::Parameters() const
{
    double sum = 0;
    std::set<uint32_t> counted;
    for (uint32_t i = 0; i < operators.size(); ++i)
    {
        for (const Operand& input : operators[i].inputs)
        {
            if (tensors[input.tensor].role == TensorRole::kParameter &&
                counted.insert(input.tensor).second)
            {
                sum += tensors[input.tensor].Elements() * Times(i);
            }
        }
    }
    return sum;
}

void
Connect(Graph* graph)
{
    if (graph->segments.empty())
    {
        graph->segments.push_back({0, static_cast<uint32_t>(graph->operators.size()), 1});
    }
    for (uint32_t s = 0; s < graph->segments.size(); ++s)
    {
        for (uint32_t i = graph->segments[s].begin; i < graph->segments[s].end; ++i)
        {
            graph->operators[i].segment = s;
        }
    }
    std::map<uint32_t, std::pair<uint32_t, uint32_t>> userOf; // of a parameter, the first
    for (uint32_t i = 0; i < graph->operators.size(); ++i)
    {
        Operator& op = graph->operators[i];
        for (uint32_t k = 0; k < op.inputs.size(); ++k)
        {
            const uint32_t tensor = op.inputs[k].tensor;
            const TensorInfo& info = graph->tensors[tensor];
            if (info.role == TensorRole::kMade)
            {
                const auto maker = static_cast<uint32_t>(info.maker);
                const bool inside = graph->operators[maker].segment == op.segment;
                graph->edges.push_back({maker, kNone, i, k, inside ? graph->Times(i) : 1, false});
            }
            else if (info.role == TensorRole::kParameter)
            {
                const auto [at, isFirst] = userOf.try_emplace(tensor, i, k);
                if (!isFirst)
                {
                    op.inputs[k].shared = true;
                    graph->edges.push_back({at->second.first,
                                            static_cast<int32_t>(at->second.second),
                                            i,
                                            k,
                                            1,
                                            false});
                }
            }
        }
    }
}

std::vector<std::vector<uint32_t>>
EdgesInto(const Graph& graph)
{
    std::vector<std::vector<uint32_t>> into(graph.operators.size());
    for (uint32_t e = 0; e < graph.edges.size(); ++e)
    {
        into[graph.edges[e].to].push_back(e);
    }
    return into;
}

std::vector<std::vector<uint32_t>>
EdgesBeside(const Graph& graph)
{
    std::vector<std::vector<uint32_t>> beside(graph.operators.size());
    for (uint32_t e = 0; e < graph.edges.size(); ++e)
    {
        const Edge& edge = graph.edges[e];
        beside[edge.from].push_back(e);
        if (edge.to != edge.from)
        {
            beside[edge.to].push_back(e);
        }
    }
    return beside;
}

} // namespace sharding
