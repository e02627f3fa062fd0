// SPDX-License-Identifier: GPL-2.0-only
#include "topologies/family.h"
#include "topologies/hop-counter.h"
#include "topologies/routes.h"

#include <gtest/gtest.h>

namespace
{

topo::Topology
Make(const topo::TopologyRequest& request)
{
    auto made = topo::MakeTopology(request);
    EXPECT_TRUE(made.topology);
    return std::move(*made.topology);
}

topo::TopologyRequest
Request(const std::string& family, uint32_t hosts, uint32_t nics)
{
    topo::TopologyRequest request;
    request.family = family;
    request.hosts = hosts;
    request.nicsPerServer = nics;
    request.linkRate = rdma::Gbps(100);
    request.linkDelay = rdma::Microseconds(1);
    return request;
}

/// All pairs: as the routes have it, in any order of asking.
void
ExpectSameAsRoutes(const topo::Topology& t)
{
    const auto routes = topo::ComputeRoutes(t);
    topo::HopCounter counter(t);
    const auto n = static_cast<topo::EndpointId>(t.Endpoints().size());
    for (topo::EndpointId a = 0; a < n; ++a)
    {
        for (topo::EndpointId b = n; b-- > 0;)
        {
            ASSERT_EQ(counter.Hops(a, b), routes.Hops(a, b)) << a << " to " << b;
        }
    }
}

TEST(HopCounter, AgreesWithTheRoutes)
{
    ExpectSameAsRoutes(Make(Request("fat-tree", 54, 1))); // k = 6
    ExpectSameAsRoutes(Make(Request("fat-tree", 16, 2)));
    ExpectSameAsRoutes(Make(Request("leaf-spine", 21, 1)));
    ExpectSameAsRoutes(Make(Request("single-switch", 5, 3)));
    auto torus = Request("torus", 0, 1);
    torus.parameters.SetSizes("torus", {3, 4, 2});
    ExpectSameAsRoutes(Make(torus));
    torus.parameters.SetFlag("wrap", false);
    ExpectSameAsRoutes(Make(torus));
}

TEST(HopCounter, HostsDoNotForward)
{
    // a - b without a switch; c, d at one switch; e at another, which only hosts would connect.
    topo::Topology t;
    const auto a = t.AddHost("a");
    const auto b = t.AddHost("b");
    const auto c = t.AddHost("c");
    const auto d = t.AddHost("d");
    const auto e = t.AddHost("e");
    const auto s = t.AddSwitch("s", 1);
    const auto r = t.AddSwitch("r", 1);
    const auto connect = [&](topo::NodeId x, topo::NodeId y) {
        t.Connect(x, y, rdma::Gbps(100), rdma::Microseconds(1));
    };
    connect(a, b);
    connect(c, s);
    connect(s, d);
    connect(e, r);
    connect(d, r);
    ExpectSameAsRoutes(t);
    topo::HopCounter counter(t);
    EXPECT_EQ(counter.Hops(t.EndpointOf(0, 0), t.EndpointOf(1, 0)), 1U);
    EXPECT_EQ(counter.Hops(t.EndpointOf(2, 0), t.EndpointOf(3, 0)), 2U);
    EXPECT_EQ(counter.Hops(t.EndpointOf(2, 0), t.EndpointOf(4, 0)), 0U);
}

TEST(HopCounter, StopsWhenItsBudgetIsSpent)
{
    const auto t = Make(
        Request("fat-tree", 128, 1)); // k = 8: 32 edge switches, a search looks at 80 x 8 ports
    topo::HopCounter counter(t, 700); // so two searches
    const auto last = static_cast<topo::EndpointId>(127);
    EXPECT_EQ(counter.Hops(last, 0), 6U);
    EXPECT_EQ(counter.Hops(last, 4), 6U);
    EXPECT_FALSE(counter.Hops(last, 8));
    EXPECT_FALSE(counter.Hops(64, 96));
    // What needs no search, or has one behind it in either direction, is known.
    EXPECT_EQ(counter.Hops(8, 9), 2U);
    EXPECT_EQ(counter.Hops(0, 96), 6U);
    EXPECT_EQ(counter.Hops(12, 5), 4U);
}

} // namespace
