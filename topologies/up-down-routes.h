/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Routes that never wait in a circle on any network of switches, whatever is missing in it: up any
 * number of links, then down, in one order of all switches (rdma::IbUpDownSearch, as an InfiniBand
 * subnet manager does it). The first switch of the order is the middle of the network.
 */
#ifndef TOPOLOGIES_UP_DOWN_ROUTES_H
#define TOPOLOGIES_UP_DOWN_ROUTES_H

#include "contrib/rdma/core/ib/ib-routing-updn.h"
#include "topologies/topology.h"

#include <cstdint>
#include <optional>
#include <vector>

namespace topo
{

/// One port for each pair of switches. Of several that are as good it is one by a hash of the pair,
/// so that the same network always has the same routes.
class UpDownRoutes
{
  public:
    /// \param topology outlives this, and is complete
    explicit UpDownRoutes(const Topology& topology);
    UpDownRoutes(const UpDownRoutes&) = delete;
    UpDownRoutes& operator=(const UpDownRoutes&) = delete;

    /// Finds the ports towards a switch.
    void Search(NodeId to);

    /// The port of switch `at` towards the switch searched for; nothing of that switch itself, and
    /// where no path leads there.
    std::optional<PortId> PortOf(NodeId at) const;

  private:
    rdma::IbSwitchGraph m_graph;
    std::vector<NodeId> m_nodes;    ///< by switch of m_graph
    std::vector<uint32_t> m_number; ///< by node: its number in m_graph
    std::vector<PortId> m_ports;    ///< by arc of m_graph
    std::optional<rdma::IbUpDownSearch> m_search;
    uint32_t m_to = 0;
};

} // namespace topo

#endif // TOPOLOGIES_UP_DOWN_ROUTES_H
