/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Which process ("rank") simulates which node, when several processes simulate one network.
 *
 * Hosts are dealt out in contiguous blocks of equal size, whole edge switches at a time, so that
 * neighbours stay together. The other switches follow their neighbours: a switch goes to the rank
 * with most of the switches below it. If several ranks have as many (the cores of a fat-tree), it
 * goes to the one with the fewest ports so far. With fewer edge switches than ranks, blocks of
 * hosts are cut out of the edge switches.
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

/// The rank of every node, 0 to ranks - 1; each rank has at least one host. Throws
/// std::invalid_argument if there are more ranks than hosts, or no rank.
std::vector<uint32_t> PartitionAmongRanks(const Topology& topology, uint32_t ranks);

/// The same with all hosts at rank 0. The switches go to the other ranks, as in
/// PartitionAmongRanks, or in blocks of equal number where that would leave a rank with none.
/// Throws std::invalid_argument if there are more other ranks than switches, or no rank.
std::vector<uint32_t> PartitionSwitchesAmongRanks(const Topology& topology, uint32_t ranks);

} // namespace topo

#endif // TOPOLOGIES_RANK_PARTITION_H
