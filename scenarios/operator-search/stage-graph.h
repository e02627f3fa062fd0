/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * A graph as a row of units, between which a pipeline may be cut, and the graph of a stage: its
 * operators, and for each tensor from another stage an operator that receives it.
 */
#ifndef SCENARIOS_OPERATOR_SEARCH_STAGE_GRAPH_H
#define SCENARIOS_OPERATOR_SEARCH_STAGE_GRAPH_H

#include "scenarios/operator-search/graph.h"

#include <cstdint>
#include <string>
#include <vector>

namespace sharding
{

/// Operators in a row, or some turns of a folded row.
struct Unit
{
    uint32_t segment = 0;
    uint32_t begin = 0; ///< operators
    uint32_t end = 0;
    uint32_t firstTurn = 0;
    uint32_t turns = 1;
};

/// At most about 16 (assumed, as Alpa clusters operators to layers): of folded blocks several make
/// one; of other graphs operators in a row with about as many FLOPs. \param flops by operator
std::vector<Unit> UnitsOf(const Graph& graph, const std::vector<double>& flops);

/// A tensor from another stage.
struct Received
{
    uint32_t maker = 0; ///< operator of the whole graph
    bool next = false;  ///< of the block before, not of the last one
    uint32_t op = 0;    ///< of the stage's graph, which receives it
};

struct StageGraph
{
    Graph graph;
    std::vector<int32_t> whole; ///< by operator: its number in the whole graph; kNone: it receives
    std::vector<Received> received;
    uint32_t begin = 0; ///< units
    uint32_t end = 0;
};

/// Units `begin` to `end` - 1. A parameter that operators of several stages read is a copy in each.
StageGraph StageOf(const Graph& graph,
                   const std::vector<Unit>& units,
                   uint32_t begin,
                   uint32_t end);

/// What the time of a stage depends on: equal texts are equal stages.
std::string ContentOf(const std::vector<Unit>& units, uint32_t begin, uint32_t end);

} // namespace sharding

#endif // SCENARIOS_OPERATOR_SEARCH_STAGE_GRAPH_H
