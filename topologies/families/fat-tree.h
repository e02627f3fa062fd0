/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * k-ary fat-tree (Al-Fares, Loukissas, Vahdat, SIGCOMM 2008): k pods of k/2 edge and k/2
 * aggregation switches, (k/2)^2 core switches, all of k ports; k^3/4 server ports. k = 4:
 *
 *        core-0   core-1        core-2   core-3          aggregation switch a of a pod is wired to
 *          |  \    /  |           |  \    /  |           cores a k/2 .. a k/2 + k/2 - 1
 *          |   every pod          |   every pod
 *        agg-0-0 ------.  .------ agg-0-1                within a pod, every edge to every
 *          |            \/          |                    aggregation switch
 *          |            /\          |
 *        edge-0-0 -----'  '----- edge-0-1
 *         |    |                  |    |
 *     server-0 server-1       server-2 server-3          pod 0 of 4
 *
 * Between pods there are (k/2)^2 shortest paths of 6 links, within a pod k/2 of 4, behind one edge
 * switch 1 of 2.
 *
 * **Partly filled.** Server s, NIC n takes server port s x nicsPerServer + n; ports are counted
 * edge switch by edge switch, pod by pod, so the first N servers fill edge switches in order. All
 * switches of the tree are there, as in a machine room where servers are still to come; the ports
 * of missing servers are not.
 *
 * **Oversubscription f** > 1 is the ratio of server to uplink capacity of every edge switch, "4:1
 * at the ToR"; servers stay. As an engineer would, we first take uplinks away: of k/2, u = ceil(k/2
 * linkRate / (f fabricRate)) remain, so a pod has u aggregation switches and the core u k/2
 * switches. A whole number of uplinks may not give the exact ratio; then their rate is lowered.
 * Each has linkRate x (k/2) / (f u), never more than fabricRate. The links to the core have the
 * same rate, and add no further bottleneck. A ratio below that of all k/2 uplinks at fabricRate is
 * an error. Examples, 100 Gb/s:
 *
 *     k = 4, f = 2: 1 uplink of 100 Gb/s an edge switch      k = 8,  f = 4: 1 of 100 Gb/s
 *     k = 4, f = 4: 1 uplink of  50 Gb/s                     k = 16, f = 4: 2 of 100 Gb/s
 *                                                            k = 8,  f = 3: 2 of 66.7 Gb/s
 *
 * **Core oversubscription f2** does the same to the uplinks of every aggregation switch: of k/2,
 * u2 = ceil(k/2 / f2) remain, so the core has u u2 switches, and a link to the core the rate of the
 * edge's uplinks x (k/2) / (f2 u2), never more. So pods share f x f2 among them: k = 8, f = 2,
 * f2 = 4 has 2 uplinks an edge switch, 1 an aggregation switch, 2 cores, and 8:1 between pods.
 */
#ifndef TOPOLOGIES_FAMILIES_FAT_TREE_H
#define TOPOLOGIES_FAMILIES_FAT_TREE_H

#include "topologies/family.h"

namespace topo
{

/// The numbers of a tree before it is built.
struct FatTreeShape
{
    uint32_t k = 0;
    uint32_t uplinks = 0;     ///< uplinks of an edge switch = aggregation switches of a pod
    rdma::BitRate fabricRate; ///< edge to aggregation
    uint32_t coreUplinks = 0; ///< uplinks of an aggregation switch
    rdma::BitRate coreRate;   ///< aggregation to core

    uint32_t Half() const
    {
        return k / 2;
    }

    uint32_t EdgesPerPod() const
    {
        return k / 2;
    }

    uint32_t Cores() const
    {
        return uplinks * coreUplinks;
    }

    uint64_t ServerPorts() const
    {
        return uint64_t(k) * k * k / 4;
    }
};

constexpr uint32_t kLargestFatTree = 128; ///< 524,288 server ports

/// The smallest even k with at least this many server ports; 0 if above kLargestFatTree.
uint32_t SmallestFatTree(uint64_t serverPorts);

/// k even, factors >= 1. \param linkRate of servers; 0: fabricRate
FatTreeShape ShapeOfFatTree(uint32_t k,
                            double oversubscription,
                            rdma::BitRate fabricRate,
                            double coreOversubscription = 1,
                            rdma::BitRate linkRate = {});

} // namespace topo

#endif // TOPOLOGIES_FAMILIES_FAT_TREE_H
