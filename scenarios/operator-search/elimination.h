/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Dynamic programming over the cost graph: operators are eliminated one after another, the one
 * whose neighbours have the fewest combinations first. For each of these the best strategy of the
 * eliminated operator is kept, with what it costs.
 *
 *   no neighbour     the end of a part of the graph
 *   one              merge elimination        a - b          ->  a'
 *   two              operator elimination     a - b - c      ->  a - c
 *   more             star elimination         a - b (- d) - c ->  a table of a, c and d
 *
 * Edges between the same operators are added up (edge elimination). The result is exact.
 * MindSpore's names (graph_costmodel.h of mindspore-ai/mindspore); it keeps a bounded number of
 * costs and is not exact beyond.
 */
#ifndef SCENARIOS_OPERATOR_SEARCH_ELIMINATION_H
#define SCENARIOS_OPERATOR_SEARCH_ELIMINATION_H

#include "scenarios/operator-search/search-space.h"

#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace sharding
{

struct Elimination
{
    uint32_t op = 0;
    std::vector<uint32_t> neighbours;
};

/// Sums that ByElimination adds up: of each operator, when it is eliminated, the combinations of
/// its strategies with its neighbours'. Computed from their numbers, at once. Nothing: a table
/// would be too large, or the sums would take too long.
std::optional<double> EliminationSums(const SearchSpace& space);

/// The choice of least total. Of equal ones, that which cuts the first dimensions of the operators
/// eliminated last into more parts. Nothing: as EliminationSums. \param order gets who was
/// eliminated; may be null \param tell is called now and then with the sums that are done
std::optional<Choice> ByElimination(const SearchSpace& space,
                                    std::vector<Elimination>* order,
                                    const std::function<void(double sums)>& tell = {});

/// "merge", "operator", "star" elimination.
const char* EliminationName(const Elimination& elimination);

} // namespace sharding

#endif // SCENARIOS_OPERATOR_SEARCH_ELIMINATION_H
