/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * The routes of a graph in JSON (topologies/graph.h).
 */
#ifndef TOPOLOGIES_GRAPH_ROUTES_H
#define TOPOLOGIES_GRAPH_ROUTES_H

#include "topologies/json-reader.h"
#include "topologies/topology.h"

#include <optional>

namespace topo
{
namespace detail
{

/// The node that a member of an object names.
std::optional<NodeId> ReadEnd(JsonObject& object, const char* key, const Topology& t);

/// The key "routes". \pre nodes and links are there
void ReadRoutes(JsonObject& root, Topology& t, Description& about);

/// The key "paths". \pre nodes and links are there
void ReadPaths(JsonObject& root, const Topology& t, Description& about);

} // namespace detail
} // namespace topo

#endif // TOPOLOGIES_GRAPH_ROUTES_H
