/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * topology.json: the network of a run, for drawing. links.csv names only links that carried
 * something, and does not tell hosts from switches.
 *
 *     {"schema_version": 1, "name": "fat-tree k=4", "family": "fat-tree",
 *      "parameters": {"k": 4, "oversubscription": 1.0}, "part": "pod",
 *      "tiers": ["edge", "aggregation", "core"],
 *      "nodes": [{"name": "server-0", "kind": "host", "tier": 0}, ...
 *                {"name": "edge-0-1", "kind": "switch", "tier": 1, "coordinates": [0, 1]}, ...],
 *      "links": [{"link": "server-0->edge-0-0", "a": 0, "b": 16, "rate_gbps": 100, "delay_us": 1}],
 *      "hosts_of_servers": [0, 1, ...]}
 *
 * `a` and `b` index `nodes`; `link` is the name of the direction from a to b in links.csv. `tier`:
 * 0 hosts, 1 edge or leaf, 2 aggregation or spine, 3 core; 0 for a switch whose tier is not known.
 * The family's description of its network (topo::Description) is included where it exists:
 * parameters with the family's choices; the names of tiers, and of the sets of switches whose first
 * coordinate, of several, is the same; "grid": true where coordinates are places on a grid.
 * Networks of dimensions have them, "dimensions": [{"kind": "ring", "size": 4, "rate_gbps": 2400,
 * "delay_us": 0.05}], the nearest first, and hosts have their place there, "at": [3, 0]. The file
 * is a network of --topology again (topologies/formats/run-format.h).
 * hosts_of_servers (where there are ranks): the node at which server i stands, whose ranks are i x
 * gpus_per_server and on.
 */
#ifndef REPORTS_TABLES_TOPOLOGY_FILE_H
#define REPORTS_TABLES_TOPOLOGY_FILE_H

#include "topologies/topology.h"

#include <cstdint>
#include <string>
#include <vector>

namespace reports
{

/// Writes it into the folder `out`, and network.yml, ASTRA-sim's file of the same network, where
/// that has words for it (topologies/formats/astra-format.h); nothing if that is empty.
/// OutputErrors reports failures. \param hostOfServer indices into Hosts(), empty if there are no
/// ranks
void WriteTopology(const std::string& out,
                   const std::string& name,
                   const topo::Topology& topology,
                   const std::vector<uint32_t>& hostOfServer = {});

} // namespace reports

#endif /* REPORTS_TABLES_TOPOLOGY_FILE_H */
