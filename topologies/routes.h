/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * From a Topology to its ECMP routes (the law itself is rdma::EcmpRoutes). Node and endpoint
 * numbers are the Topology's.
 */
#ifndef TOPOLOGIES_ROUTES_H
#define TOPOLOGIES_ROUTES_H

#include "contrib/rdma/core/ecmp-routes.h"
#include "topologies/topology.h"

#include <vector>

namespace topo
{

inline rdma::EcmpRoutes
ComputeRoutes(const Topology& topology)
{
    std::vector<bool> isHost;
    isHost.reserve(topology.Nodes().size());
    for (const Node& node : topology.Nodes())
    {
        isHost.push_back(node.kind == NodeKind::kHost);
    }
    std::vector<rdma::RouteLink> links;
    links.reserve(topology.Links().size());
    for (const Link& link : topology.Links())
    {
        links.push_back({link.a, link.b, link.portA, link.portB});
    }
    std::vector<rdma::RouteEndpoint> endpoints;
    endpoints.reserve(topology.Endpoints().size());
    for (const Endpoint& endpoint : topology.Endpoints())
    {
        endpoints.push_back({endpoint.host, endpoint.port});
    }
    return rdma::EcmpRoutes::Compute(isHost, links, endpoints);
}

} // namespace topo

#endif // TOPOLOGIES_ROUTES_H
