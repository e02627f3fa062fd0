/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * A network as drawing programs keep it: nodes and edges with attributes that are text.
 *
 *     kind     kind, type, role: host (server, gpu, npu, compute) or switch (router, leaf, spine,
 *              core, tor, aggregation, edge). Else shape: boxes are switches, others hosts. Without
 *              either on any node, nodes of one link are hosts.
 *     rate     rate, bandwidth, capacity, speed: "400Gbps"; or rate_gbps, bandwidth_gbps: a number
 *     delay    delay, latency: "1us"; or delay_ns, delay_us, latency_ns, latency_us. Without it:
 *              the request's delay of links (--link-delay)
 *     name     name, else label, if all nodes have one and no two the same; else the file's id
 *
 * Of several keys of one row the first counts. Keys are compared in lower case. In a name, a
 * character that names here do not have becomes '-'. An edge is a link of both directions; of a
 * directed drawing, an edge and its reverse are one.
 */
#ifndef TOPOLOGIES_FORMATS_DRAWN_NETWORK_H
#define TOPOLOGIES_FORMATS_DRAWN_NETWORK_H

#include "topologies/family.h"

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace topo
{

using DrawnAttributes = std::map<std::string, std::string>; ///< keys in lower case

struct DrawnNode
{
    std::string id;
    DrawnAttributes attributes;
    uint32_t line = 0;
};

struct DrawnEdge
{
    uint32_t from = 0; ///< index of nodes
    uint32_t to = 0;
    DrawnAttributes attributes;
    uint32_t line = 0;
};

struct Drawing
{
    std::vector<DrawnNode> nodes;
    std::vector<DrawnEdge> edges;
    bool directed = false;

    /// The node of an id, made if there is none. \return nothing if there would be too many
    std::optional<uint32_t> NodeOf(const std::string& id, uint32_t line);

  private:
    std::unordered_map<std::string, uint32_t> m_byId;
};

/// A problem of a file's text, and its line.
struct DrawnProblem
{
    uint32_t line = 0;
    std::string text; ///< empty: there is none
};

/// The network of a drawing. \param file name for messages \param delay of links that say none
TopologyResult MakeDrawn(const Drawing& drawing, const std::string& file, rdma::Duration delay);

/// The result of a file whose text has a problem.
TopologyResult DrawnFailure(const std::string& file, const DrawnProblem& problem);

/// A name without the characters that names of nodes do not have, at most 64 of them.
std::string PlainName(const std::string& text);

/// Lower case.
std::string LowerCase(std::string_view text);

} // namespace topo

#endif // TOPOLOGIES_FORMATS_DRAWN_NETWORK_H
