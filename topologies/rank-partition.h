/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Who simulates what, when several processes ("ranks") simulate one network.
 *
 * Hosts are dealt out in contiguous blocks of equal size, whole edge switches at a time, so that
 * neighbours stay together. The other switches follow their neighbours: a switch goes where most of
 * the switches below it are; when several ranks have as many (the cores of a fat-tree), to the one
 * of them with the fewest ports so far. With fewer edge switches than ranks, blocks of hosts are
 * cut out of the edge switches.
 *
 * Simple and sound, not optimal: it looks neither at delays nor at traffic.
 */
#ifndef TOPOLOGIES_RANK_PARTITION_H
#define TOPOLOGIES_RANK_PARTITION_H

#include "topologies/topology.h"

#include <cstdint>
#include <vector>

namespace topo
{

/// The rank of every node, 0 to ranks - 1; each has at least one host. Throws std::invalid_argument
/// if there are more ranks than hosts, or none.
std::vector<uint32_t> PartitionAmongRanks(const Topology& topology, uint32_t ranks);

/// The same with all hosts at rank 0: the switches go to the other ranks, as PartitionAmongRanks
/// has it, or in blocks of equal number where that leaves one with none. Throws
/// std::invalid_argument if there are more other ranks than switches, or no rank.
std::vector<uint32_t> PartitionSwitchesAmongRanks(const Topology& topology, uint32_t ranks);

} // namespace topo

#endif // TOPOLOGIES_RANK_PARTITION_H
