/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Can packets on shortest paths wait for each other in a circle? On a lossless network (PFC) that
 * is a deadlock that can happen: the channel dependency graph of all shortest paths has a cycle
 * (Dally & Seitz, IEEE ToC C-36(5), 1987; as rdma::IbCheckTables has it for InfiniBand's tables).
 *
 *     a->b is followed by b->c     if some pair of hosts on different switches has a shortest
 *                                  path with both links; ECMP may take any such path
 *
 * Links of hosts are left out: a host takes packets whatever it waits for itself. Whole trees have
 * no such circle. Rings of five or more, grids, dragonflies and trees with failed links may have
 * one.
 */
#ifndef TOPOLOGIES_ROUTE_CYCLES_H
#define TOPOLOGIES_ROUTE_CYCLES_H

#include "topologies/topology.h"

#include <cstdint>
#include <optional>
#include <vector>

namespace topo
{

/// The links of a circle. Packets on each link wait for the next link, and packets on the last for
/// the first. Empty: there is no circle. Nothing if the search would take more than `budget` steps:
/// switches with hosts x pairs of links in a row.
std::optional<std::vector<DirectedLink>> FindRouteCycle(const Topology& topology,
                                                        uint64_t budget = 100000000);

} // namespace topo

#endif // TOPOLOGIES_ROUTE_CYCLES_H
