/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * "minhop": shortest paths; among the ports on one, that with the fewest LIDs so far.
 *
 * OpenSM's default engine, as its document "current-routing" describes it. Nothing keeps it from
 * deadlock: on a ring of 5 switches or more its tables have a cycle of channels (ib-deadlock.h).
 *
 * On a fat-tree it balances badly, as OpenSM's does without its option port_shifting: every switch
 * deals out LIDs to its ports in the same order, so the LIDs for which packets come up to a switch
 * mostly leave it through few of its ports (k = 16: a third of the dependencies between channels
 * that ftree uses). Take ftree there. "updn" deals alike.
 *
 * One breadth-first search a destination switch: O(switches x (links + LIDs)) time.
 */
#ifndef CONTRIB_RDMA_CORE_IB_IB_ROUTING_MINHOP_H
#define CONTRIB_RDMA_CORE_IB_IB_ROUTING_MINHOP_H

#include "ib-routing-tables.h"

namespace rdma
{

inline IbTables
IbRouteMinHop(const IbSubnet& subnet, const IbRoutingOptions& options)
{
    const IbSwitchGraph graph = IbSwitchGraph::Of(subnet);
    IbTables tables = IbEmptyTables(subnet, "minhop", options.vls);
    IbAssignLastHops(graph, tables);
    IbPortBalance balance(graph);
    std::vector<uint32_t> distance;
    std::vector<uint32_t> order;
    for (uint32_t t = 0; t < graph.Size(); ++t)
    {
        IbDistances(graph, t, distance, order);
        for (size_t i = 1; i < order.size(); ++i)
        {
            const uint32_t s = order[i];
            balance.AssignAll(s, t, tables.lft[s], [&](uint32_t a) {
                return distance[graph.arcs[a].to] + 1 == distance[s];
            });
        }
    }
    return tables;
}

} // namespace rdma

#endif // CONTRIB_RDMA_CORE_IB_IB_ROUTING_MINHOP_H
