/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Topology files of HPCC's ns-3 code and its descendants (simulation/mix/fat.txt in
 * alibaba-edu/High-Precision-Congestion-Control):
 *
 *     <nodes> <switches> <links>
 *     <switch id> <switch id> ...                   ids are 0 .. nodes-1; the rest are hosts
 *     <src> <dst> <rate> <delay> <error rate>       once a link: "0 320 100Gbps 1000ns 0.000000"
 *
 * As for that code, any white space separates (the ids may run over several lines), a missing final
 * newline is fine, and text after the last link is a comment - but a line that looks like one more
 * link is an error, as is everything else. Errors have the field "file:line".
 *
 * Numbers. Node i of the file is NodeId i, named "server-i" or "switch-i", so original ids need no
 * table; endpoints are in the order of host ids. Tier is 0 for hosts, 1 for switches next to a
 * host, then one more a step (2, 3).
 *
 * Error rate. In that code it is the loss of a *packet*, whatever its size. Links here have
 * independent bit errors: the rate taken is the one at which a packet of 1,048 B (that code's
 * default, 1,000 B payload and 48 B headers) has that loss; a note says so.
 */
#ifndef TOPOLOGIES_HPCC_FORMAT_H
#define TOPOLOGIES_HPCC_FORMAT_H

#include "topologies/family.h"

#include <string>

namespace topo
{

/// Reads a file of the family "hpcc", before checks against the request. `name` is the file's name
/// for messages. It checks the graph alone, not whether hosts reach each other.
TopologyResult ReadHpccTopology(const std::string& text, const std::string& name);

} // namespace topo

#endif // TOPOLOGIES_HPCC_FORMAT_H
