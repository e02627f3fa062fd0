/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * The other searches: exhaustive, propagation and recursive.
 *
 *   propagation   breadth first from the given operators: each neighbour takes the strategy that
 *                 costs least on the tensor between them: first communication, then computation,
 *                 then the operator's own communication, then the first strategy in order
 *                 (GetNextOpStrategyByPrevOpStrategyWithMiniComm of edge_costmodel.cc,
 *                 mindspore-ai/mindspore)
 *   recursive     log2(devices) rounds; in each, operators by weight halve one axis: that of least
 *                 cost of its own and of redistribution to neighbours that are already cut in this
 *                 round (auto_parallel/rec_core/rec_cost.cc, rec_partition.cc there)
 */
#ifndef SCENARIOS_OPERATOR_SEARCH_SEARCHES_H
#define SCENARIOS_OPERATOR_SEARCH_SEARCHES_H

#include "scenarios/operator-search/search-space.h"

#include <optional>
#include <string>
#include <vector>

namespace sharding
{

constexpr double kMostCombinations = 1e6;

/// The choice of least total of all combinations; of equal ones the last. \pre space.Size() is at
/// most kMostCombinations
Choice Exhaustively(const SearchSpace& space);

/// An operator that got its strategy from a neighbour.
struct Propagated
{
    uint32_t op = 0;
    int32_t from = kNone; ///< kNone: it was given, or began
};

/// \param given their strategies are the only ones in the space. Without any, and for parts of the
/// graph without one, the first operator begins with its cheapest strategy.
Choice ByPropagation(const SearchSpace& space, const Given& given, std::vector<Propagated>* order);

/// An operator's cut in a round.
struct Halving
{
    uint32_t round = 0;
    uint32_t op = 0;
    int32_t axis = kNone; ///< kNone: no axis can be halved; the work is repeated
};

/// \pre the number of devices is a power of two
std::vector<Strategy> Recursively(const Graph& graph,
                                  uint32_t devices,
                                  const Given& given,
                                  std::vector<Halving>* order);

} // namespace sharding

#endif // SCENARIOS_OPERATOR_SEARCH_SEARCHES_H
