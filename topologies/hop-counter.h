/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * The number of links on a shortest path, where routes themselves are not needed:
 * rdma::EcmpRoutes::Hops without the tables. Those of a fat-tree with 524,288 hosts would be 21 GB.
 *
 *   memory   nodes, and 2 B x switches with hosts for each such switch that was asked for
 *   time     one breadth-first search over the switches (its ports are counted as work) for each
 *            switch with hosts that paths of pairs lead to; none after `budget` ports
 */
#ifndef TOPOLOGIES_HOP_COUNTER_H
#define TOPOLOGIES_HOP_COUNTER_H

#include "topologies/topology.h"

#include <cstdint>
#include <optional>
#include <vector>

namespace topo
{

class HopCounter
{
  public:
    /// `topology` must live as long. 6 x 10^7 ports are half a second: all of a fat-tree of k = 40.
    explicit HopCounter(const Topology& topology, uint64_t budget = 60000000);

    /// Links on a shortest path; 0 if both are the same endpoint or there is no path. Nothing if
    /// the budget is spent and no earlier search has the answer.
    std::optional<uint32_t> Hops(EndpointId from, EndpointId to);

  private:
    static constexpr uint32_t kNone = UINT32_MAX;
    static constexpr uint16_t kUnreached = 0xffff;

    void Search(uint32_t attachment);

    const Topology& m_topology;
    uint64_t m_budget;
    std::vector<uint32_t>
        m_attachmentOf;             ///< by endpoint: index of the switch it is wired to, or kNone
    std::vector<uint32_t> m_direct; ///< by endpoint: the endpoint it is wired to, or kNone
    std::vector<NodeId> m_attachments;
    std::vector<uint32_t> m_index;                  ///< by node: index into m_attachments, or kNone
    std::vector<std::vector<uint16_t>> m_distances; ///< by attachment: to each other, in links
                                                    ///< between switches; empty: not asked for
    std::vector<uint32_t> m_distance;               ///< distance of each node in the current search
    std::vector<NodeId> m_queue;
};

} // namespace topo

#endif // TOPOLOGIES_HOP_COUNTER_H
