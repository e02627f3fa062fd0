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

#include <string>
#include <vector>

namespace topo
{

inline std::vector<rdma::StaticRoute>
StaticRoutes(const Topology& topology)
{
    std::vector<rdma::StaticRoute> routes;
    for (const StaticRoute& route : topology.About().routes)
    {
        routes.push_back({route.at, route.to, route.out});
    }
    return routes;
}

/// Static routes of a topology file included.
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
    rdma::EcmpRoutes routes = rdma::EcmpRoutes::Compute(isHost, links, endpoints);
    routes.Apply(StaticRoutes(topology));
    return routes;
}

/// What is wrong with the routes to an endpoint that has static ones: "go s -> t -> s in a circle",
/// "end at t"; empty if all switches that have a way to it lead there.
std::string WhyNoRoute(const Topology& topology,
                       const rdma::EcmpRoutes& routes,
                       EndpointId endpoint);

} // namespace topo

#endif // TOPOLOGIES_ROUTES_H
