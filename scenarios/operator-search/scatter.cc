/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "scenarios/operator-search/scatter.h"

#include "scenarios/operator-search/redistribution.h"

#include <algorithm>

namespace sharding
{

namespace
{

bool
IsPartOf(const Digit& digit, const Digits& digits)
{
    return std::any_of(digits.begin(), digits.end(), [&digit](const Digit& whole) {
        return digit.stride >= whole.stride && digit.stride % whole.stride == 0 &&
               whole.stride * whole.size % (digit.stride * digit.size) == 0;
    });
}

/// Whether some devices differ in both.
bool
Overlaps(const Digit& digit, const Digits& digits)
{
    return std::any_of(digits.begin(), digits.end(), [&digit](const Digit& other) {
        return digit.stride < other.stride * other.size && other.stride < digit.stride * digit.size;
    });
}

} // namespace

Digits
ScatteredDigits(const Digits& partial, const Layout& from, const Layout& to)
{
    Digits scattered;
    const bool cuts = std::any_of(to.begin(), to.end(), [&partial](const Digits& dimension) {
        return std::any_of(dimension.begin(), dimension.end(), [&partial](const Digit& digit) {
            return Overlaps(digit, partial);
        });
    });
    if (!cuts || from == to)
    {
        return scattered; // most are none: quickly
    }
    for (const MoveStep& step : StepsBetween(from, to))
    {
        if (step.move != Move::kSplit)
        {
            break; // slices come first
        }
        if (IsPartOf(step.digits.front(), partial))
        {
            scattered.push_back(step.digits.front());
        }
    }
    return Joined(std::move(scattered));
}

std::vector<MoveCollective>
SumsOf(const Digits& partial, const Digits& scattered, double bytes, uint32_t devices)
{
    if (scattered.empty())
    {
        return {{coll::Op::kAllReduce, bytes, partial}};
    }
    std::vector<MoveCollective> sums = {{coll::Op::kReduceScatter, bytes, scattered}};
    Digits kept = Others(partial, devices);
    kept.insert(kept.end(), scattered.begin(), scattered.end());
    const Digits rest = Others(Joined(std::move(kept)), devices);
    if (!rest.empty())
    {
        sums.push_back({coll::Op::kAllReduce, bytes / CountOf(scattered), rest});
    }
    return sums;
}

std::vector<bool>
SoleEdges(const Graph& graph)
{
    std::vector<uint32_t> readers(graph.operators.size(), 0);
    for (const Edge& edge : graph.edges)
    {
        readers[edge.from] += edge.fromInput == kNone ? 1 : 0;
    }
    std::vector<bool> sole;
    for (const Edge& edge : graph.edges)
    {
        const bool alike = graph.operators[edge.from].segment == graph.operators[edge.to].segment ||
                           (graph.Times(edge.from) == 1 && graph.Times(edge.to) == 1);
        sole.push_back(edge.fromInput == kNone && !edge.next && alike && readers[edge.from] == 1);
    }
    return sole;
}

Scatters::Scatters(const Graph& graph, const std::vector<Strategy>& strategies)
    : m_forward(graph.operators.size())
{
    const std::vector<bool> sole = SoleEdges(graph);
    for (std::size_t e = 0; e < graph.edges.size(); ++e)
    {
        const Edge& edge = graph.edges[e];
        Digits& backward = m_backward.emplace_back();
        if (edge.fromInput != kNone)
        {
            continue;
        }
        const Operator& maker = graph.operators[edge.from];
        const Operator& reader = graph.operators[edge.to];
        const Layout from = LayoutOf(maker.output, strategies[edge.from]);
        const Layout to = LayoutOf(reader.inputs[edge.toInput], strategies[edge.to]);
        if (sole[e] && maker.summedElements == 1)
        {
            m_forward[edge.from] =
                ScatteredDigits(SummedDigits(maker, strategies[edge.from]), from, to);
        }
        backward =
            ScatteredDigits(GradientDigits(reader, strategies[edge.to], edge.toInput), to, from);
    }
}

} // namespace sharding
