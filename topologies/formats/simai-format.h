/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Topology files of SimAI (aliyun/SimAI, astra-sim-alibabacloud/inputs/topo), a dialect of HPCC's
 * (link-file.h) that also says what a server is made of:
 *
 *     <nodes> <GPUs a server> <NVSwitches> <switches> <links> <GPU>     "15 4 2 5 20 H100"
 *     <NVSwitch id> ... <switch id> ...
 *     <src> <dst> <rate> <delay> <error rate>                           once a link
 *
 * Nodes are numbered GPUs first, then NVSwitches and switches. GPU g stands in server g / GPUs a
 * server.
 *
 * **Network.** A host is a server, "server-1", with a port for each link from one of its GPUs to a
 * switch, in the order of GPUs, then of the file. Node i is switch "switch-i". Tier is 1 for
 * switches next to a server, then one more a step. NICs are on rails if each switch next to servers
 * has ports of the same NICs of all its servers.
 *
 * **Server.** What a link of a GPU to its server's NVSwitches carries is NVLink's rate. The file
 * says no more: latency and efficiency are those of the first server preset with this GPU. The
 * delay of NVLink's links is a part of that latency: it is at least twice the longest of them.
 * Their error rates are ignored, with a note.
 */
#ifndef TOPOLOGIES_FORMATS_SIMAI_FORMAT_H
#define TOPOLOGIES_FORMATS_SIMAI_FORMAT_H

#include "topologies/family.h"
#include "topologies/server.h"

#include <optional>
#include <string>
#include <vector>

namespace topo
{

/// Whether a file begins as one.
bool IsSimaiTopology(const std::string& path);

/// Reads a file of the family "simai", before checks against the request. `name` is the file's name
/// for messages.
TopologyResult ReadSimaiTopology(const std::string& text, const std::string& name);

/// The servers of the file, which are all alike; nothing, and an error with its line, if it is
/// wrong. Rate and number of NICs are those of the first server.
std::optional<ServerSpec> ReadSimaiServer(const std::string& text,
                                          const std::string& name,
                                          std::vector<Error>& errors);

} // namespace topo

#endif // TOPOLOGIES_FORMATS_SIMAI_FORMAT_H
