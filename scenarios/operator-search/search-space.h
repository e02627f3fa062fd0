/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * All strategies of all operators with their costs: what every search chooses from.
 */
#ifndef SCENARIOS_OPERATOR_SEARCH_SEARCH_SPACE_H
#define SCENARIOS_OPERATOR_SEARCH_SEARCH_SPACE_H

#include "scenarios/operator-search/cost.h"
#include "scenarios/operator-search/strategy.h"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace sharding
{

/// For each operator the index of its strategy.
using Choice = std::vector<uint32_t>;

struct SearchSpace
{
    const Graph* graph = nullptr;
    std::vector<std::vector<Strategy>> strategies; ///< by operator, ascending
    std::vector<std::vector<Cost>> ofOperator;     ///< the same, of all folded ones
    /// By edge: [strategy of `from` x strategies of `to` + strategy of `to`], of all folded ones.
    std::vector<std::vector<Cost>> ofEdge;

    uint32_t Width(uint32_t op) const
    {
        return static_cast<uint32_t>(strategies[op].size());
    }

    const Cost& OfEdge(uint32_t edge, uint32_t from, uint32_t to) const
    {
        return ofEdge[edge][std::size_t{from} * Width(graph->edges[edge].to) + to];
    }

    Cost CostOf(const Choice& choice) const;

    /// Combinations, as a floating-point number.
    double Size() const;

    std::vector<Strategy> StrategiesOf(const Choice& choice) const;
};

/// \param given operators with one strategy only
SearchSpace MakeSearchSpace(const Graph& graph,
                            const Devices& devices,
                            const Given& given,
                            const CostModel& cost);

/// Costs of operators anew, those of edges as they are: of a cost whose weights have changed.
void CountOperators(const CostModel& cost, SearchSpace* space);

/// The space with one strategy for each operator. \param strategies by operator
SearchSpace FixedSpace(const Graph& graph,
                       const std::vector<Strategy>& strategies,
                       const CostModel& cost);

} // namespace sharding

#endif // SCENARIOS_OPERATOR_SEARCH_SEARCH_SPACE_H
