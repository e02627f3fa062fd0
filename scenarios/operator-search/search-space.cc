/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "scenarios/operator-search/search-space.h"

#include "scenarios/operator-search/scatter.h"

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

/// What reduce-scatters save of the partial sums of one side's strategies, for each layout of the
/// other side.
class Savings
{
  public:
    Savings(const CostModel& cost,
            const TensorInfo& tensor,
            const LayoutsOf& here,
            const std::vector<Digits>& partial,
            const LayoutsOf& there)
    {
        std::map<std::pair<Digits, uint32_t>, int32_t> known;
        for (std::size_t s = 0; s < partial.size(); ++s)
        {
            if (partial[s].empty())
            {
                m_row.push_back(-1);
                continue;
            }
            const uint32_t from = here.of[s];
            const auto [at, isNew] =
                known.try_emplace({partial[s], from}, static_cast<int32_t>(m_rows.size()));
            m_row.push_back(at->second);
            if (isNew)
            {
                const Layout& layout = here.layouts[from];
                const double bytes = SliceOf(tensor, layout) * tensor.bytes;
                auto& row = m_rows.emplace_back();
                for (const Layout& to : there.layouts)
                {
                    row.push_back(cost.OfScatter(partial[s], layout, to, bytes));
                }
            }
        }
    }

    /// Null: nothing.
    const Cost* Of(std::size_t strategy, uint32_t to) const
    {
        const int32_t row = m_row[strategy];
        return row < 0 ? nullptr : &m_rows[static_cast<std::size_t>(row)][to];
    }

  private:
    std::vector<int32_t> m_row; ///< by strategy
    std::vector<std::vector<Cost>> m_rows;
};

/// Adds what reduce-scatters save to an edge's costs, and backward to that of gradients alone.
void
AddScatters(const CostModel& cost,
            const SearchSpace& space,
            const Edge& edge,
            bool sole,
            const LayoutsOf& from,
            const LayoutsOf& to,
            std::vector<Cost>* costs,
            std::vector<double>* back)
{
    const Graph& graph = *space.graph;
    const Operator& maker = graph.operators[edge.from];
    const Operator& reader = graph.operators[edge.to];
    const TensorInfo& tensor = graph.tensors[reader.inputs[edge.toInput].tensor];
    std::vector<Digits> sums;
    std::vector<Digits> gradients;
    for (const Strategy& strategy : space.strategies[edge.from])
    {
        sums.push_back(sole && maker.summedElements == 1 ? SummedDigits(maker, strategy)
                                                         : Digits());
    }
    for (const Strategy& strategy : space.strategies[edge.to])
    {
        gradients.push_back(GradientDigits(reader, strategy, edge.toInput));
    }
    const Savings forward(cost, tensor, from, sums, to);
    const Savings backward(cost, tensor, to, gradients, from);
    const std::size_t width = to.of.size();
    for (std::size_t a = 0; a < from.of.size(); ++a)
    {
        for (std::size_t b = 0; b < width; ++b)
        {
            Cost& sum = (*costs)[a * width + b];
            if (const Cost* const saved = forward.Of(a, to.of[b]))
            {
                sum += *saved * edge.times;
            }
            if (const Cost* const saved = backward.Of(b, from.of[a]))
            {
                sum += *saved * edge.times;
                (*back)[a * width + b] += saved->total;
            }
        }
    }
}

/// Takes off what runs beside backward of the reader. \param back seconds of gradients, by pair
void
Hide(const CostModel& cost,
     const SearchSpace& space,
     const Edge& edge,
     const std::vector<double>& back,
     std::vector<Cost>* costs)
{
    const auto& readers = space.strategies[edge.to];
    for (std::size_t b = 0; b < readers.size(); ++b)
    {
        const Beside beside = cost.OfBeside(*space.graph, edge.to, readers[b]);
        for (std::size_t i = b; i < back.size(); i += readers.size())
        {
            const double more = beside.Exposed(back[i]) - beside.Exposed();
            (*costs)[i].total += (more - back[i]) * edge.times;
        }
    }
}

void
AddEdges(const CostModel& cost, SearchSpace* space)
{
    const Graph& graph = *space->graph;
    const std::vector<bool> sole = SoleEdges(graph);
    for (std::size_t e = 0; e < graph.edges.size(); ++e)
    {
        const Edge& edge = graph.edges[e];
        const LayoutsOf from(graph.OperandOf(edge.from, edge.fromInput),
                             space->strategies[edge.from]);
        const LayoutsOf to(graph.OperandOf(edge.to, static_cast<int32_t>(edge.toInput)),
                           space->strategies[edge.to]);
        // Parameters that two operators read are reduced behind backward.
        const bool hides = cost.Hides() && edge.fromInput == kNone;
        std::vector<Cost> between;
        std::vector<double> backOf;
        between.reserve(from.layouts.size() * to.layouts.size());
        for (const Layout& a : from.layouts)
        {
            for (const Layout& b : to.layouts)
            {
                between.push_back(a == b ? Cost{} : cost.OfMove(graph, edge, a, b) * edge.times);
                backOf.push_back(a == b || !hides ? 0 : cost.OfMoveBack(graph, edge, a, b));
            }
        }
        auto& costs = space->ofEdge.emplace_back();
        costs.reserve(from.of.size() * to.of.size());
        std::vector<double> back;
        back.reserve(from.of.size() * to.of.size());
        for (const uint32_t a : from.of)
        {
            for (const uint32_t b : to.of)
            {
                costs.push_back(between[a * to.layouts.size() + b]);
                back.push_back(backOf[a * to.layouts.size() + b]);
            }
        }
        if (edge.fromInput == kNone && cost.Scatters())
        {
            AddScatters(cost, *space, edge, sole[e], from, to, &costs, &back);
        }
        if (hides)
        {
            Hide(cost, *space, edge, back, &costs);
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
