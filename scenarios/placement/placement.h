/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Which hosts of a network the servers of a job stand at.
 *
 *               edge 0    edge 1    edge 2    edge 3      4 servers on 8 hosts
 *     linear    0 1       2 3       . .       . .         host by host
 *     packed    0 1       2 3       . .       . .         edge switch by edge switch
 *     spread    0 .       2 .       1 .       3 .         edges in turn, those of other pods first
 *     random    . 2       0 .       . 3       1 .         a shuffle by the seed
 *     rail      the smallest group of switches that has room: see below
 *     fragmented packed into what others have left: a seeded share of the hosts is taken
 *
 * A host's place is read off the graph. Its edge is the switch of its first NIC. Its pod is the
 * part that topo::Description::part names. Its rails are the set of all switches of its NICs. A
 * host without a switch is an edge of its own.
 *
 * `rail` looks for the smallest set of hosts with room for all servers. It tries hosts with the
 * same rails first, then a pod, then the network. Where each NIC has a switch of its own, hosts
 * with the same rails reach each other over their rails' switches alone; with one NIC per server
 * they are the hosts of one edge. Among sets of one kind with room, it takes the one with the
 * fewest free hosts. In it, groups with most free hosts are filled first, so that few groups are
 * crossed.
 */
#ifndef SCENARIOS_PLACEMENT_PLACEMENT_H
#define SCENARIOS_PLACEMENT_PLACEMENT_H

#include "scenarios/job/scenario.h"
#include "topologies/topology.h"

#include <cstdint>
#include <string>
#include <vector>

namespace scenario
{

/// The hosts a policy can choose from, and how many it needs.
struct PlacementRequest
{
    PlacementPolicy policy = PlacementPolicy::kLinear;
    uint32_t servers = 0;
    uint32_t hosts = 0;      ///< the first so many of topo::Topology::Hosts()
    double occupied = 0;     ///< kFragmented: share of the hosts that others occupy, 0 to 1
    std::vector<bool> taken; ///< by host: other jobs stand there; those behind its end are free
    uint64_t seed = 1;
};

/// \return the policy of a name that PlacementItems() has
PlacementPolicy ParsePlacement(const std::string& name);
std::string PlacementName(PlacementPolicy policy);

/// Whether it looks at where hosts are, and so chooses among all hosts of the network.
bool ChoosesAmongAll(PlacementPolicy policy);

/// How many hosts it can choose from.
uint32_t FreeHosts(const PlacementRequest& request);

/// \return the host of each server, no two the same; with too few free hosts, as many as there are.
/// The same request gives the same hosts on every machine.
std::vector<uint32_t> PlaceServers(const PlacementRequest& request, const topo::Topology& topology);

} // namespace scenario

#endif // SCENARIOS_PLACEMENT_PLACEMENT_H
