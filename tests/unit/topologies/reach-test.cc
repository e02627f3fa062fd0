/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Against rdma::EcmpRoutes, of every pair.
 */
#include "results-of.h"
#include "topologies/reach.h"
#include "topologies/routes.h"

#include <gtest/gtest.h>

namespace
{

void
ExpectSameAsRoutes(const topo::Topology& topology)
{
    const auto routes = topo::ComputeRoutes(topology);
    const topo::Reach reach(topology);
    const auto endpoints = static_cast<topo::EndpointId>(topology.Endpoints().size());
    for (topo::EndpointId from = 0; from < endpoints; ++from)
    {
        for (topo::EndpointId to = 0; to < endpoints; ++to)
        {
            const auto path = topo::ShortestPath(topology, from, to);
            ASSERT_EQ(path.size(), routes.Hops(from, to)) << from << " " << to;
            ASSERT_EQ(reach.IsThere(from, to), !path.empty()) << from << " " << to;
            for (size_t i = 1; i < path.size(); ++i)
            {
                ASSERT_EQ(path[i].second, routes.NextHops(path[i].first, to)[0]);
                ASSERT_EQ(topology.Peer(path[i - 1].first, path[i - 1].second), path[i].first);
            }
        }
    }
}

TEST(Reach, IsThatOfRoutes)
{
    for (const char* family : {"fat-tree", "dragonfly", "torus", "rail-only", "single-switch"})
    {
        topo::TopologyRequest request;
        request.family = family;
        request.hosts = 12;
        request.nicsPerServer = std::string(family) == "rail-only" ? 2 : 1;
        request.linkRate = rdma::Gbps(100);
        const auto made = topo::MakeTopology(request);
        ASSERT_TRUE(made.topology) << family << ErrorsOf(made);
        ExpectSameAsRoutes(*made.topology);
    }
}

// Two hosts wired to each other, a host between two switches, and a part of its own.
TEST(Reach, GoesThroughSwitchesAlone)
{
    topo::Topology t;
    std::vector<topo::NodeId> hosts;
    for (const char* name : {"a", "b", "c", "d", "e", "f"})
    {
        hosts.push_back(t.AddHost(name));
    }
    const topo::NodeId s = t.AddSwitch("s", 1);
    const topo::NodeId u = t.AddSwitch("u", 1);
    for (const auto& [one, other] :
         std::vector<std::pair<topo::NodeId, topo::NodeId>>{{hosts[0], hosts[1]},
                                                            {hosts[1], s},
                                                            {hosts[2], s},
                                                            {hosts[2], u},
                                                            {hosts[3], u},
                                                            {hosts[4], u},
                                                            {hosts[4], hosts[5]}})
    {
        t.Connect(one, other, rdma::Gbps(100), rdma::Microseconds(1));
    }
    ExpectSameAsRoutes(t);
}

} // namespace
