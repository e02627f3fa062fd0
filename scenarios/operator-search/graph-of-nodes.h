/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * From a model's free graph (scenarios/models/model-graph.h) to operators with axes.
 */
#ifndef SCENARIOS_OPERATOR_SEARCH_GRAPH_OF_NODES_H
#define SCENARIOS_OPERATOR_SEARCH_GRAPH_OF_NODES_H

#include "scenarios/operator-search/graph.h"

#include <cstdint>
#include <optional>
#include <string>

namespace sharding
{

/// The entry of a graph that does not fit its inputs.
struct NodeError
{
    uint32_t node = 0;
    std::string text;
};

/// \param elementBytes of entries that do not say it
std::optional<Graph> GraphOfNodes(const training::ModelSpec& model,
                                  uint32_t elementBytes,
                                  NodeError* error);

} // namespace sharding

#endif // SCENARIOS_OPERATOR_SEARCH_GRAPH_OF_NODES_H
