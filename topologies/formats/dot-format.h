/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Networks in DOT, Graphviz' language (graphviz.org/doc/info/lang.html):
 *
 *     graph fabric {
 *       edge [rate="400Gbps", delay="1us"]
 *       node [kind=switch] leaf0; leaf1; spine;
 *       node [kind=host]
 *       leaf0 -- spine -- leaf1
 *       leaf0 -- {a b} [rate="100Gbps"]
 *       leaf1 -- c
 *     }
 *
 * What attributes mean is in drawn-network.h. Subgraphs have defaults of their own; ports of nodes
 * ("a:n") and everything about looks are skipped.
 */
#ifndef TOPOLOGIES_FORMATS_DOT_FORMAT_H
#define TOPOLOGIES_FORMATS_DOT_FORMAT_H

#include "topologies/formats/drawn-network.h"

#include <string>

namespace topo
{

/// Whether a file begins as DOT does: graph, digraph or strict, behind remarks.
bool IsDotTopology(const std::string& path);

/// \param delay of links that say none
TopologyResult ReadDotTopology(const std::string& text,
                               const std::string& name,
                               rdma::Duration delay);

} // namespace topo

#endif // TOPOLOGIES_FORMATS_DOT_FORMAT_H
