/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Who reaches whom, and on which shortest path, where rdma::EcmpRoutes would take too much: its
 * tables have 2 B for each switch and endpoint, those of a million hosts 70 GB.
 *
 *   Reach          O(links) once, O(1) a pair
 *   ShortestPath   O(links of switches) a pair
 */
#ifndef TOPOLOGIES_REACH_H
#define TOPOLOGIES_REACH_H

#include "topologies/topology.h"

#include <utility>
#include <vector>

namespace topo
{

/// Which endpoints have a path through switches alone: hosts do not forward.
class Reach
{
  public:
    explicit Reach(const Topology& topology);

    bool IsThere(EndpointId from, EndpointId to) const;

  private:
    const Topology& m_topology;
    std::vector<NodeId> m_part; ///< by node: a switch of its part; of a host itself
};

/// The ports out of which a frame goes on a shortest path: of the host, then of switches, the
/// lowest of those that lead nearer (the first of EcmpRoutes::NextHops). Empty without a path.
std::vector<std::pair<NodeId, PortId>> ShortestPath(const Topology& topology,
                                                    EndpointId from,
                                                    EndpointId to);

} // namespace topo

#endif // TOPOLOGIES_REACH_H
