/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Networks in GraphML (graphml.graphdrawing.org), as NetworkX and yEd write it:
 *
 *     <graphml>
 *       <key id="d0" for="node" attr.name="kind" attr.type="string"/>
 *       <key id="d1" for="edge" attr.name="rate"
 * attr.type="string"><default>400Gbps</default></key> <graph edgedefault="undirected"> <node
 * id="leaf0"><data key="d0">switch</data></node> <node id="a"><data key="d0">host</data></node>
 *         <edge source="a" target="leaf0"><data key="d1">100Gbps</data></edge>
 *       </graph>
 *     </graphml>
 *
 * What attributes mean is in drawn-network.h. A node's label in yEd is its attribute "label". Nodes
 * of graphs inside nodes (groups) belong to the one network. Hyperedges are an error.
 */
#ifndef TOPOLOGIES_FORMATS_GRAPHML_FORMAT_H
#define TOPOLOGIES_FORMATS_GRAPHML_FORMAT_H

#include "topologies/formats/drawn-network.h"

#include <string>

namespace topo
{

/// Whether a file has the root element of GraphML in its first 4 KiB.
bool IsGraphmlTopology(const std::string& path);

/// \param delay of links that say none
TopologyResult ReadGraphmlTopology(const std::string& text,
                                   const std::string& name,
                                   rdma::Duration delay);

} // namespace topo

#endif // TOPOLOGIES_FORMATS_GRAPHML_FORMAT_H
