/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Switches between servers that add up what NICs send and copy the sum to them: where they are in a
 * network, and the trees they make.
 *
 *                  core-0 = (sharp)          A switch with aggregation has a unit of its own behind
 *                  /     \                   ports of its own, one for each link of the tree, of
 *         agg-0-0           agg-1-0          that link's rate: a host in the topology, "sharp-..."
 *            |                 |             To what comes over such a link there is a port of the
 *         edge-0-0 =(sharp) edge-1-0 =(sharp) same rate, so adding up goes at line rate.
 *          /    \            /    \
 *      server-0 server-1  server-2 ...       Switches with a single child only pass on.
 *
 * After the SHARP paper (Graham et al., "Scalable Hierarchical Aggregation Protocol (SHArP): A
 * Hardware Architecture for Efficient Data Reduction", COM-HPC 2016): aggregation nodes are
 * endpoints at a switch, the edges of their tree reliable connections, which may span several
 * switches. Each NIC of a server has a tree of its own. The root is the switch with the fewest hops
 * to the farthest server, then to all servers. Among equal ones it is the switch whose tree shares
 * links with the fewest trees of other NICs.
 */
#ifndef COLLECTIVES_AGGREGATION_AGGREGATORS_H
#define COLLECTIVES_AGGREGATION_AGGREGATORS_H

#include "collectives/core/schedule.h"
#include "topologies/topology.h"

#include <cstdint>
#include <vector>

namespace coll
{

/// A switch's unit.
struct Aggregator
{
    topo::NodeId at = 0; ///< the switch
    uint32_t host = 0;   ///< its unit, of Topology::Hosts()
};

class Aggregators
{
  public:
    /**
     * Adds the units and links to a topology that these servers can use.
     * \param hostOfServer index into Topology::Hosts(), by server
     * \param nics NICs of each server
     * \param delay of the links to the units, so a message takes twice that in one, and its ports
     */
    Aggregators(topo::Topology* topology,
                const std::vector<uint32_t>& hostOfServer,
                uint32_t nics,
                rdma::Duration delay);

    /// By what NetworkNode::where says.
    const std::vector<Aggregator>& Units() const
    {
        return m_units;
    }

    /// The trees, by NIC. Empty: no switch where two servers meet.
    const std::vector<AggregationTree>& Trees() const
    {
        return m_trees;
    }

    /// The port of a unit that leads to a server, in the tree of its NIC.
    uint32_t PortToServer(uint32_t tree, uint32_t unit, uint32_t server) const;
    /// The port of a unit that leads to another one.
    uint32_t PortToUnit(uint32_t tree, uint32_t unit, uint32_t other) const;

    /// The same of either. \param host a server, or a unit's number behind those of servers
    uint32_t PortTo(uint32_t tree, uint32_t unit, uint32_t host) const;

  private:
    /// Ports of the edges of a tree, at the end that has the unit.
    struct Ports
    {
        std::vector<uint32_t> up;        ///< by station: its own, to its parent
        std::vector<uint32_t> down;      ///< by station: its parent's
        std::vector<uint32_t> toServer;  ///< by server: of its station
        std::vector<uint32_t> stationOf; ///< by unit, those of this tree
    };

    uint32_t StationOf(uint32_t tree, uint32_t unit) const;
    /// The port of a station that leads to another station, if that is below it, else to its
    /// parent.
    uint32_t PortTowards(uint32_t tree, uint32_t station, uint32_t other) const;

    std::vector<Aggregator> m_units;
    std::vector<AggregationTree> m_trees;
    std::vector<Ports> m_ports; ///< by tree
};

} // namespace coll

#endif // COLLECTIVES_AGGREGATION_AGGREGATORS_H
