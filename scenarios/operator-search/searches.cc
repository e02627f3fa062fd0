/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "scenarios/operator-search/searches.h"

#include <algorithm>
#include <deque>
#include <limits>
#include <numeric>
#include <tuple>

namespace sharding
{

Choice
Exhaustively(const SearchSpace& space)
{
    Choice choice(space.strategies.size(), 0);
    Choice best = choice;
    double least = std::numeric_limits<double>::infinity();
    for (;;)
    {
        const double total = space.CostOf(choice).total;
        if (total <= least)
        {
            least = total;
            best = choice;
        }
        std::size_t i = choice.size();
        while (i > 0 && ++choice[i - 1] == space.Width(static_cast<uint32_t>(i - 1)))
        {
            choice[--i] = 0;
        }
        if (i == 0)
        {
            return best;
        }
    }
}

namespace
{

/// The strategy of an operator that goes best with a neighbour's.
uint32_t
BestBeside(const SearchSpace& space, uint32_t edge, bool forward, uint32_t known)
{
    const Edge& e = space.graph->edges[edge];
    const uint32_t op = forward ? e.to : e.from;
    using Key = std::tuple<double, double, double>;
    uint32_t best = 0;
    Key least;
    for (uint32_t s = 0; s < space.Width(op); ++s)
    {
        const Cost& move = forward ? space.OfEdge(edge, known, s) : space.OfEdge(edge, s, known);
        const Key key{move.communication, move.computation, space.ofOperator[op][s].communication};
        if (s == 0 || key < least)
        {
            best = s;
            least = key;
        }
    }
    return best;
}

uint32_t
Cheapest(const std::vector<Cost>& costs)
{
    return static_cast<uint32_t>(
        std::min_element(costs.begin(),
                         costs.end(),
                         [](const Cost& a, const Cost& b) { return a.total < b.total; }) -
        costs.begin());
}

} // namespace

Choice
ByPropagation(const SearchSpace& space, const Given& given, std::vector<Propagated>* order)
{
    const Graph& graph = *space.graph;
    const auto beside = EdgesBeside(graph);
    Choice choice(graph.operators.size(), 0);
    std::vector<bool> known(graph.operators.size(), false);
    std::deque<uint32_t> open;
    const auto take = [&](uint32_t op, uint32_t strategy, int32_t from) {
        choice[op] = strategy;
        known[op] = true;
        open.push_back(op);
        if (order != nullptr)
        {
            order->push_back({op, from});
        }
    };
    for (const auto& [op, strategy] : given)
    {
        take(op, 0, kNone);
    }
    for (uint32_t first = 0; first < known.size();)
    {
        if (open.empty())
        {
            if (known[first])
            {
                ++first;
                continue;
            }
            take(first, Cheapest(space.ofOperator[first]), kNone);
        }
        const uint32_t op = open.front();
        open.pop_front();
        for (const uint32_t e : beside[op])
        {
            const Edge& edge = graph.edges[e];
            if (edge.from == op && !known[edge.to])
            {
                take(edge.to, BestBeside(space, e, true, choice[op]), static_cast<int32_t>(op));
            }
            else if (edge.to == op && !known[edge.from])
            {
                take(edge.from, BestBeside(space, e, false, choice[op]), static_cast<int32_t>(op));
            }
        }
    }
    return choice;
}

namespace
{

// Of rec_cost.h: rows of a product cost a quarter, a redistribution 16 elements for each.
constexpr double kRowsShare = 0.25;
constexpr double kRedistribution = 16;

constexpr double kNever = std::numeric_limits<double>::infinity();

class Halver
{
  public:
    Halver(const Graph& graph, uint32_t devices, const Given& given)
        : m_graph(graph),
          m_beside(EdgesBeside(graph)),
          m_devices(devices),
          m_given(given)
    {
        for (const Operator& op : graph.operators)
        {
            m_parts.emplace_back(op.axes.size(), 1);
        }
    }

    std::vector<Strategy> Run(std::vector<Halving>* order)
    {
        std::vector<uint32_t> byWeight(m_graph.operators.size());
        std::iota(byWeight.begin(), byWeight.end(), 0U);
        uint32_t round = 0;
        for (uint32_t left = m_devices; left > 1; left /= 2, ++round)
        {
            std::stable_sort(byWeight.begin(), byWeight.end(), [this](uint32_t a, uint32_t b) {
                return WeightOf(a) > WeightOf(b);
            });
            m_cut.assign(m_graph.operators.size(), kUndecided);
            for (const uint32_t op : byWeight)
            {
                const bool isGiven = m_given.count(op) > 0;
                m_cut[op] = isGiven ? kNone : BestAxis(op);
                if (order != nullptr && !isGiven)
                {
                    order->push_back({round, op, m_cut[op]});
                }
            }
            for (uint32_t op = 0; op < m_cut.size(); ++op)
            {
                if (m_cut[op] >= 0)
                {
                    m_parts[op][static_cast<std::size_t>(m_cut[op])] *= 2;
                }
            }
        }
        std::vector<Strategy> strategies;
        for (uint32_t op = 0; op < m_parts.size(); ++op)
        {
            const auto given = m_given.find(op);
            strategies.push_back(given != m_given.end() ? given->second
                                                        : WithParts(m_parts[op], m_devices));
        }
        return strategies;
    }

  private:
    static constexpr int32_t kUndecided = -2;

    double Part(uint32_t op, int32_t axis) const
    {
        return axis == kNone
                   ? 1
                   : static_cast<double>(
                         m_graph.operators[op].axes[static_cast<std::size_t>(axis)].size) /
                         m_parts[op][static_cast<std::size_t>(axis)];
    }

    /// Elements of an operand's slice so far.
    double Slice(uint32_t op, const Operand& operand) const
    {
        double elements = m_graph.tensors[operand.tensor].Elements();
        for (const int32_t axis : operand.axes)
        {
            elements /= axis == kNone ? 1 : m_parts[op][static_cast<std::size_t>(axis)];
        }
        return elements;
    }

    /// An axis' own cost: half of what has to be the same on both halves.
    double OwnCost(uint32_t op, uint32_t axis) const
    {
        const Operator& of = m_graph.operators[op];
        if (of.kind != Kind::kProduct && of.kind != Kind::kConvolution)
        {
            return 0;
        }
        const auto a = static_cast<int32_t>(axis);
        if (a == of.columns)
        {
            return Slice(op, of.inputs[0]) / 2;
        }
        if (a == of.inner)
        {
            return Slice(op, of.output) / 2;
        }
        return Slice(op, of.inputs[1]) / 2 * (of.kind == Kind::kProduct ? kRowsShare : 1);
    }

    /// Of products the largest own cost, of convolutions the least.
    double WeightOf(uint32_t op) const
    {
        const Operator& of = m_graph.operators[op];
        double most = 0;
        double least = kNever;
        for (uint32_t a = 0; a < of.axes.size(); ++a)
        {
            most = std::max(most, OwnCost(op, a));
            least = std::min(least, OwnCost(op, a));
        }
        return of.kind == Kind::kConvolution ? least : most;
    }

    /// The dimension of an operand that an axis is; kNone: none.
    static int32_t DimensionOf(const Operand& operand, int32_t axis)
    {
        const auto at = std::find(operand.axes.begin(), operand.axes.end(), axis);
        return axis == kNone || at == operand.axes.end()
                   ? kNone
                   : static_cast<int32_t>(at - operand.axes.begin());
    }

    double MoveCost(uint32_t op, int32_t axis) const
    {
        double cost = 0;
        for (const uint32_t e : m_beside[op])
        {
            const Edge& edge = m_graph.edges[e];
            const bool in = edge.to == op;
            if (edge.from == edge.to || m_cut[in ? edge.from : edge.to] == kUndecided)
            {
                continue;
            }
            const Operand& from = m_graph.OperandOf(edge.from, edge.fromInput);
            const Operand& to = m_graph.operators[edge.to].inputs[edge.toInput];
            const int32_t other = DimensionOf(in ? from : to, m_cut[in ? edge.from : edge.to]);
            const Operand& own = in ? to : from;
            cost += DimensionOf(own, axis) != other ? kRedistribution * Slice(op, own) : 0;
        }
        return cost;
    }

    int32_t BestAxis(uint32_t op) const
    {
        const Operator& of = m_graph.operators[op];
        int32_t best = kNone;
        double least = kNever;
        for (uint32_t a = 0; a < of.axes.size(); ++a)
        {
            const uint64_t parts = m_parts[op][a];
            const double cost = of.axes[a].granules % (2 * parts) == 0
                                    ? OwnCost(op, a) + MoveCost(op, static_cast<int32_t>(a))
                                    : kNever;
            if (cost < least)
            {
                least = cost;
                best = static_cast<int32_t>(a);
            }
        }
        return best;
    }

    const Graph& m_graph;
    std::vector<std::vector<uint32_t>> m_beside; ///< edges, by operator
    uint32_t m_devices;
    const Given& m_given;
    std::vector<std::vector<uint32_t>> m_parts;
    std::vector<int32_t> m_cut; ///< axes of this round
};

} // namespace

std::vector<Strategy>
Recursively(const Graph& graph, uint32_t devices, const Given& given, std::vector<Halving>* order)
{
    return Halver(graph, devices, given).Run(order);
}

} // namespace sharding
