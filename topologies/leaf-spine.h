/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Leaf-spine: two layers, every leaf wired once to every spine.
 *
 *        spine-0     spine-1            spines
 *        /  |   \   /   |  \
 *       /   |    \ /    |   \           one link of the fabric rate from every leaf to every spine
 *      /    |    / \    |    \
 *     leaf-0    leaf-1     leaf-2       leaves
 *     | | |     | | |      | | |        hostsPerLeaf server ports a leaf
 *     servers 0, 1, 2, ...              filled leaf by leaf
 *
 * Server s, NIC n takes server port s x nicsPerServer + n, counted leaf by leaf.
 * Between leaves there are `spines` shortest paths of 4 links.
 *
 * What is not given is chosen: hostsPerLeaf = server ports / leaves, rounded up, or 16 if leaves is
 * not given either (as in HPCC's network; fewer if there are fewer ports); leaves so that the
 * servers fit; spines so that the uplinks of a leaf carry what its server ports do.
 *
 * Oversubscription f divides the uplink capacity of a leaf by f. If spines is not given, there are
 * ceil(hostsPerLeaf x linkRate / (f x fabricRate)) spines, and with f > 1 the rate of their links
 * is lowered to meet the ratio exactly; if it is given, it stays and the rate of the links is
 * fabricRate / f.
 */
#ifndef TOPOLOGIES_LEAF_SPINE_H
#define TOPOLOGIES_LEAF_SPINE_H

#include "topologies/family.h"

namespace topo
{

TopologyResult MakeLeafSpine(const TopologyRequest& request);

} // namespace topo

#endif // TOPOLOGIES_LEAF_SPINE_H
