/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Paths that senders name: frames from one endpoint to another go over these switches.
 */
#ifndef TOPOLOGIES_SOURCE_PATHS_H
#define TOPOLOGIES_SOURCE_PATHS_H

#include "contrib/rdma/core/source-routes.h"
#include "topologies/topology.h"

#include <string>
#include <vector>

namespace topo
{

/// Adds the hops of a path. \param via names of its switches, the sender's first and the receiver's
/// last; "spine-1#1" is reached by the second of several cables \return what is wrong, or nothing
std::string AddSourcePath(const Topology& topology,
                          EndpointId from,
                          EndpointId to,
                          const std::vector<std::string>& via,
                          std::vector<rdma::SourceHop>* hops);

} // namespace topo

#endif // TOPOLOGIES_SOURCE_PATHS_H
