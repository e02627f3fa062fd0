/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Any network, from JSON:
 *
 *     {
 *       "description": "two racks, one slow trunk",            optional
 *       "defaults": {"rate": "100Gbps", "delay": "1us"},       optional: for links that do not say
 *       "nodes": [
 *         {"name": "a", "kind": "host"},
 *         {"name": "b", "kind": "host"},
 *         {"name": "s", "kind": "switch", "tier": 1,           tier optional: a number (0 to 9),
 *          "set": {"ecn_kmin": "1MB"}}                         or in all switches a name
 *       ],
 *       "links": [
 *         {"from": "a", "to": "s"},
 *         {"from": "s", "to": "b", "rate": "25Gbps", "delay": "500ns",
 *          "bit_error_rate": 1e-12, "count": 2,                optional; count: parallel links
 *          "set_from": {}, "set_to": {}}                       optional: of the port at that end
 *       ],
 *       "routes": [{"at": "s", "to": ["b"], "via": ["t"]}],    optional: next hops of one's own
 *       "paths": [{"from": "a", "to": "b", "via": ["s", "t"]}], optional: paths of pairs
 *       "bond": 2,                                             optional: ports of a NIC
 *       "circuits": {...}                                      optional: graph-circuits.h
 *     }
 *
 * At switch "at" frames for the hosts "to" (or ports of them, "b:1") go to the neighbours "via", by
 * the hash if these are several; all other ways are the shortest. Routes that go in circles or end
 * on the way are errors.
 *
 * A path is for all frames from one host (or port, "a:1") to another: via these switches, the
 * sender's first and the receiver's last; "t#1" is reached by the second of several cables. It
 * goes before routes. ACKs go back as any frame, or by a path of their own.
 *
 * With "bond" ports k n to k n + n - 1 of every host are one NIC's and stand in for each other.
 *
 * Every link needs a rate and a delay, its own or from "defaults"; the error rate is 0 and the
 * count 1 if not given; links carry both directions. Hosts and endpoints are numbered in file
 * order, ports in link order. Names: letters, digits and _ . : - (they become file names and CSV
 * fields), at most 64 of them, unique.
 *
 * Tiers with names are numbered from the hosts up: the one with the fewest links to a host is 1. Of
 * settings only the form is checked here (topo::PlaceSetting): their keys are options of programs.
 *
 * Nothing is ignored: an unknown or repeated key is an error. Errors have the JSON path as field
 * ("/links/3/rate"), or, when the text is not JSON, an empty field and a message with line and
 * column.
 */
#ifndef TOPOLOGIES_GRAPH_H
#define TOPOLOGIES_GRAPH_H

#include "topologies/family.h"

#include <string>

namespace topo
{

/// Reads a file of the family "graph", before checks against the request. `name` is the file's name
/// for messages. It checks the graph alone, not whether hosts reach each other.
TopologyResult ReadGraph(const std::string& text, const std::string& name);

/// Whether a file is no such graph, but a run's topology.json (formats/run-format.h), by its first
/// key.
bool IsRunTopology(const std::string& path);

} // namespace topo

#endif // TOPOLOGIES_GRAPH_H
