/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "topologies/routes.h"
#include "topologies/topology.h"

#include <cmath>
#include <gtest/gtest.h>

namespace
{

using topo::Topology;

constexpr rdma::BitRate kRate = rdma::Gbps(100);
constexpr rdma::Duration kDelay = rdma::Microseconds(1);

TEST(Topology, PortsAndEndpointsAreNumberedInOrder)
{
    // h0 has two ports, h1 one; a switch stands between them in node order.
    Topology t;
    const auto h0 = t.AddHost("h0");
    const auto s = t.AddSwitch("s", 1);
    const auto h1 = t.AddHost("h1");
    t.Connect(h1, s, kRate, kDelay);
    t.Connect(h0, s, kRate, kDelay);
    t.Connect(s, h0, kRate, kDelay);

    ASSERT_EQ(t.Endpoints().size(), 3u);
    EXPECT_EQ(t.Endpoints()[0].host, h0);
    EXPECT_EQ(t.Endpoints()[1].host, h0);
    EXPECT_EQ(t.Endpoints()[1].port, 1);
    EXPECT_EQ(t.Endpoints()[2].host, h1);
    EXPECT_EQ(t.EndpointOf(0, 1), 1u);
    EXPECT_EQ(t.EndpointOf(1, 0), 2u) << "host number, not node number";
    EXPECT_THROW(t.EndpointOf(1, 1), std::out_of_range);
    EXPECT_THROW(t.EndpointOf(2, 0), std::out_of_range);
    EXPECT_EQ(t.Links()[2].portA, 2) << "third link of s";
    EXPECT_EQ(t.Links()[2].portB, 1);
    EXPECT_EQ(t.Peer(s, 0), h1);
    EXPECT_EQ(t.Peer(h0, 0), s);
    EXPECT_EQ(t.SwitchCount(), 1u);

    t.Connect(t.AddHost("h2"), s, kRate, kDelay);
    EXPECT_EQ(t.Endpoints().size(), 4u) << "endpoints follow later additions";
    EXPECT_EQ(t.EndpointOf(2, 0), 3u);
}

TEST(Topology, LinkNamesAreUniqueAndFound)
{
    Topology t;
    const auto a = t.AddSwitch("a", 1);
    const auto b = t.AddSwitch("b", 1);
    t.Connect(a, b, kRate, kDelay);
    t.Connect(b, a, kRate, kDelay);
    EXPECT_EQ(t.LinkName(0, true), "a->b");
    EXPECT_EQ(t.LinkName(0, false), "b->a");
    EXPECT_EQ(t.LinkName(1, true), "b->a#1");
    EXPECT_EQ(t.LinkName(1, false), "a->b#1");
    for (topo::LinkId link = 0; link < 2; ++link)
    {
        for (const bool fromA : {true, false})
        {
            const auto found = t.FindLink(t.LinkName(link, fromA));
            ASSERT_TRUE(found);
            EXPECT_EQ(found->link, link);
            EXPECT_EQ(found->fromA, fromA);
        }
    }
    for (const char* name : {"", "->", "a", "a->", "a->c", "c->a", "a->b#2", "a->b#", "a-b"})
    {
        EXPECT_FALSE(t.FindLink(name)) << name;
    }
    EXPECT_EQ(t.FindNode("b"), b);
    EXPECT_FALSE(t.FindNode("c"));
}

TEST(Topology, MistakesOfTheProgramThrow)
{
    Topology t;
    const auto a = t.AddHost("a");
    const auto b = t.AddHost("b");
    EXPECT_THROW(t.AddHost("a"), std::invalid_argument);
    EXPECT_THROW(t.AddSwitch("b", 1), std::invalid_argument);
    EXPECT_THROW(t.Connect(a, 7, kRate, kDelay), std::invalid_argument);
    EXPECT_THROW(t.Connect(a, a, kRate, kDelay), std::invalid_argument);
    EXPECT_THROW(t.Connect(a, b, rdma::BitRate(0), kDelay), std::invalid_argument);
    EXPECT_THROW(t.Connect(a, b, kRate, rdma::Duration(-1)), std::invalid_argument);
    EXPECT_THROW(t.Connect(a, b, kRate, kDelay, 1.0), std::invalid_argument);
    EXPECT_THROW(t.Connect(a, b, kRate, kDelay, std::nan("")), std::invalid_argument);
    EXPECT_TRUE(t.Links().empty());
    EXPECT_TRUE(t.Nodes()[a].ports.empty());
}

TEST(Topology, RoutesUseItsNumbers)
{
    Topology t;
    const auto s = t.AddSwitch("s", 1);
    const auto h0 = t.AddHost("h0");
    const auto h1 = t.AddHost("h1");
    t.Connect(s, h1, kRate, kDelay);
    t.Connect(h0, s, kRate, kDelay);
    const auto routes = topo::ComputeRoutes(t);
    ASSERT_EQ(routes.NextHops(s, 0).size, 1u);
    EXPECT_EQ(routes.NextHops(s, 0)[0], 1) << "h0 is endpoint 0, behind port 1";
    EXPECT_EQ(routes.NextHops(s, 1)[0], 0);
}

} // namespace
