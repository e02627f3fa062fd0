/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Fat-trees of htsim and its descendants, described by tiers (.topo):
 *
 *     Nodes 16                  hosts
 *     Tiers 2                   2: leaves and spines; 3: edge, aggregation, core
 *     Podsize 16                hosts of a pod; of two tiers all are one
 *
 *     Tier 0                    the switches next to hosts; a section each
 *     Downlink_speed_Gbps 100   of links to the tier below; likewise the latency
 *     Radix_Down 4              links of a switch to the tier below
 *     Radix_Up 2                links of a switch to the tier above, none of the last tier
 *     Downlink_Latency_ns 500
 *     Switch_Latency_ns 0       optional, with Oversubscribed and Bundle (parallel links downwards)
 *
 * As Broadcom/csg-htsim reads them, sim/datacenter/fat_tree_topology.cpp (52ff02fc), and its
 * descendants: a key and a number a line, keys in any case, '#' begins a remark. Every key is
 * checked, and what contradicts another is an error. Queue sizes are ignored, with a note.
 *
 * The network is that of the family leaf-spine or fat-tree with this shape, down to names and order
 * of links. (htsim numbers core switches in another order.)
 *
 * A network here has one switch latency (HtsimSwitchLatency). Where tiers differ it is the least of
 * them. What a tier has beyond it is in the delays of the links at its switches, half of
 * it in each: a path through the switch takes two of them.
 */
#ifndef TOPOLOGIES_FORMATS_HTSIM_FORMAT_H
#define TOPOLOGIES_FORMATS_HTSIM_FORMAT_H

#include "topologies/family.h"

#include <optional>
#include <string>

namespace topo
{

/// Reads a file of the family "htsim", before checks against the request. `name` is the file's name
/// for messages.
TopologyResult ReadHtsimTopology(const std::string& text, const std::string& name);

/// The switches' latency of such a text; nothing if it does not say, or is no such text.
std::optional<rdma::Duration> HtsimSwitchLatency(const std::string& text);
/// The same of a file, whatever its kind.
std::optional<rdma::Duration> SwitchLatencyOfFile(const std::string& path);

} // namespace topo

#endif // TOPOLOGIES_FORMATS_HTSIM_FORMAT_H
