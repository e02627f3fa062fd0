/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Topology files of HPCC's ns-3 code and its descendants (simulation/mix/fat.txt in
 * alibaba-edu/High-Precision-Congestion-Control):
 *
 *     <nodes> <switches> <links>
 *     <switch id> <switch id> ...                   ids are 0 .. nodes-1; the rest are hosts
 *     <src> <dst> <rate> <delay> <error rate>       once a link (link-file.h)
 *
 * A first line of four numbers is that of inet-tub/ns3-datacenter: <nodes> <switches> <top-of-rack
 * switches> <links>, of which its code does not use the third.
 *
 * Numbers. Node i of the file is named "server-i" or "switch-i"; Description::nodeOfNumber has its
 * NodeId. A host without a link, which that code takes, is left out with a note. Endpoints are in
 * the order of host ids. Tier is 0 for hosts, 1 for switches next to a
 * host, then one more a step (2, 3).
 */
#ifndef TOPOLOGIES_FORMATS_HPCC_FORMAT_H
#define TOPOLOGIES_FORMATS_HPCC_FORMAT_H

#include "topologies/family.h"

#include <string>

namespace topo
{

/// Reads a file of the family "hpcc", before checks against the request. `name` is the file's name
/// for messages. It checks the graph alone, not whether hosts reach each other.
TopologyResult ReadHpccTopology(const std::string& text, const std::string& name);

} // namespace topo

#endif // TOPOLOGIES_FORMATS_HPCC_FORMAT_H
