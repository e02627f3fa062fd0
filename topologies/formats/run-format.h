/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * topology.json of a run (reports/tables/topology-file.h) as a network again: its nodes and links,
 * or, if it has "dimensions", the network of these.
 *
 * What that file does not have, the network has not: bit error rates, routes, settings of places.
 */
#ifndef TOPOLOGIES_FORMATS_RUN_FORMAT_H
#define TOPOLOGIES_FORMATS_RUN_FORMAT_H

#include "topologies/family.h"

#include <string>

namespace topo
{

/// A file without dimensions.
TopologyResult ReadRunTopology(const std::string& text, const std::string& name);

} // namespace topo

#endif // TOPOLOGIES_FORMATS_RUN_FORMAT_H
