/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * The registry, what all families share, and the two small ones: leaf-spine and single switch.
 */
#include "results-of.h"
#include "topologies/family.h"
#include "topologies/names.h"
#include "topologies/routes.h"

#include <algorithm>
#include <gtest/gtest.h>

namespace
{

using topo::Topology;
using topo::TopologyRequest;

std::string
Errors(const TopologyRequest& request)
{
    return ErrorsOf(topo::MakeTopology(request));
}

TopologyRequest
Request(const char* family, uint32_t hosts)
{
    TopologyRequest r;
    r.family = family;
    r.hosts = hosts;
    return r;
}

TEST(Family, Registry)
{
    // By name, those that read files last; others may come between.
    const auto names = topo::FamilyNames();
    auto at = names.begin();
    for (const char* name :
         {"fat-tree", "leaf-spine", "single-switch", "torus", "graph", "hpcc", "htsim", "simai"})
    {
        at = std::find(at, names.end(), name);
        EXPECT_NE(at, names.end()) << name;
    }
    for (const auto& family : topo::Families())
    {
        EXPECT_GT(family.description.size(), 10u);
    }
    EXPECT_EQ(Errors(Request("fattree", 4)),
              "topology: \"fattree\" is not one of " + topo::JoinNames(names) +
                  " (did you mean fat-tree?)\n");
}

TEST(Family, NothingIsIgnored)
{
    TopologyRequest r = Request("single-switch", 4);
    r.parameters.SetCount("k", 4).SetFactor("oversubscription", 2);
    EXPECT_EQ(Errors(r),
              "oversubscription: 2 has no meaning for single-switch; it belongs to dual-plane, "
              "fat-tree, leaf-spine, rail-only or rail-optimized\n"
              "k: 4 has no meaning for single-switch; it belongs to fat-tree\n");
    r = Request("fat-tree", 4);
    r.file = "net.json";
    r.parameters.SetCount("spines", 3);
    EXPECT_EQ(
        Errors(r),
        "spines: 3 has no meaning for fat-tree; it belongs to dual-plane, leaf-spine, rail-only or "
        "rail-optimized\n"
        "file: \"net.json\" has no meaning for fat-tree; it belongs to astra, dot, graph, graphml, "
        "hpcc, htsim, ibnet, run or "
        "simai\n");
}

TEST(Family, AllMistakesAtOnce)
{
    TopologyRequest r = Request("single-switch", 2000000);
    r.linkRate = rdma::BitRate(0);
    r.linkDelay = rdma::Duration(-1000);
    r.nicsPerServer = 0;
    r.bitErrorRate = 1;
    const std::string errors = Errors(r);
    for (const char* field : {"linkRate: ",
                              "linkDelay: -1 ns",
                              "nicsPerServer: 0 ",
                              "hosts: 2000000 ",
                              "bitErrorRate: 1 "})
    {
        EXPECT_NE(errors.find(field), std::string::npos) << field << " in " << errors;
    }
}

TEST(SingleSwitch, Star)
{
    TopologyRequest r = Request("single-switch", 3);
    r.nicsPerServer = 2;
    r.bitErrorRate = 1e-12;
    r.linkDelay = rdma::Nanoseconds(500);
    const Topology t = *topo::MakeTopology(r).topology;
    EXPECT_EQ(t.Nodes().size(), 4u);
    EXPECT_EQ(t.Links().size(), 6u);
    for (const auto& link : t.Links())
    {
        EXPECT_EQ(link.rate, rdma::Gbps(100));
        EXPECT_EQ(link.delay, rdma::Nanoseconds(500));
        EXPECT_EQ(link.bitErrorRate, 1e-12);
    }
    // Endpoint e is behind port e.
    const auto routes = topo::ComputeRoutes(t);
    for (uint32_t e = 0; e < 6; ++e)
    {
        EXPECT_EQ(routes.NextHops(*t.FindNode("switch-0"), e)[0], e);
    }
    EXPECT_EQ(Errors(Request("single-switch", 0)),
              "hosts: a single switch needs a number of servers\n");
    EXPECT_NE(Errors(Request("single-switch", 65536)).find("65535 ports"), std::string::npos);
}

TEST(LeafSpine, GivenShape)
{
    TopologyRequest r = Request("leaf-spine", 0);
    r.parameters.SetCount("leaves", 4).SetCount("spines", 3).SetCount("hosts-per-leaf", 5);
    const Topology t = *topo::MakeTopology(r).topology;
    EXPECT_EQ(t.Hosts().size(), 20u);
    EXPECT_EQ(t.SwitchCount(), 7u);
    EXPECT_EQ(t.Links().size(), 20u + 12u);
    EXPECT_EQ(t.Links().back().rate, rdma::Gbps(100)) << "as given: 5:3";
    const auto routes = topo::ComputeRoutes(t);
    EXPECT_EQ(routes.Hops(0, 4), 2u);
    EXPECT_EQ(routes.Hops(0, 5), 4u);
    EXPECT_EQ(routes.NextHops(*t.FindNode("leaf-0"), 5).size, 3u) << "one path a spine";
    EXPECT_TRUE(t.FindLink("server-19->leaf-3"));
    EXPECT_TRUE(t.FindLink("leaf-3->spine-2"));
}

TEST(LeafSpine, ChosenShape)
{
    // 40 servers: leaves of 16, so 3 of them; 16 spines of 100G for no oversubscription.
    const Topology full = *topo::MakeTopology(Request("leaf-spine", 40)).topology;
    EXPECT_EQ(full.SwitchCount(), 3u + 16u);
    // 400G uplinks: 16 x 100 / 400 = 4 spines.
    TopologyRequest r = Request("leaf-spine", 40);
    r.fabricRate = rdma::Gbps(400);
    EXPECT_EQ(topo::MakeTopology(r).topology->SwitchCount(), 3u + 4u);
    // f = 3: 1600 / 3 = 533.3 Gb/s a leaf: 2 spines of 266.67.
    r.parameters.SetFactor("oversubscription", 3);
    const Topology over = *topo::MakeTopology(r).topology;
    EXPECT_EQ(over.SwitchCount(), 3u + 2u);
    EXPECT_EQ(over.Links().back().rate.bps, 266666666667u);
}

/// Spines say the ratio themselves: another one beside them is a contradiction.
TEST(LeafSpine, SpinesAndOversubscriptionHaveToAgree)
{
    for (const uint64_t spines : {1, 2, 3, 5, 8, 16})
    {
        for (const double f : {1.0, 1.5, 2.0, 3.2, 16.0})
        {
            TopologyRequest r = Request("leaf-spine", 40); // leaves of 16 ports of 100G
            r.parameters.SetCount("spines", spines).SetFactor("oversubscription", f);
            // 1 is what it is unless it is given.
            const bool agree = f == 1 || f * static_cast<double>(spines) == 16;
            const topo::TopologyResult made = topo::MakeTopology(r);
            ASSERT_EQ(made.topology.has_value(), agree) << spines << " " << f;
            if (!agree)
            {
                EXPECT_EQ(Errors(r).rfind("oversubscription: ", 0), 0u) << Errors(r);
                continue;
            }
            EXPECT_EQ(made.topology->SwitchCount(), 3u + spines);
            EXPECT_EQ(made.topology->Links().back().rate, rdma::Gbps(100));
        }
    }
}

TEST(LeafSpine, Errors)
{
    EXPECT_EQ(Errors(Request("leaf-spine", 0)),
              "hosts: a leaf-spine needs a number of servers, or both leaves and hosts per leaf\n");
    TopologyRequest r = Request("leaf-spine", 10);
    r.parameters.SetCount("leaves", 2).SetCount("hosts-per-leaf", 4);
    EXPECT_EQ(Errors(r),
              "leaves: 2 leaves of 4 server ports have 8, but 10 servers need 10; 3 leaves, or 5 "
              "ports a leaf, are "
              "enough\n");
    r.hosts = 0;
    r.parameters.SetCount("leaves", 4000000000u).SetCount("hosts-per-leaf", 4000000000u);
    EXPECT_EQ(Errors(r),
              "hosts-per-leaf: 4000000000 is not a number from 1 to 65535\n"
              "leaves: 4000000000 is not a number from 1 to 65535\n");
    r.parameters.SetCount("leaves", 60000).SetCount("hosts-per-leaf", 1).SetCount("spines", 60000);
    EXPECT_NE(Errors(r).find("larger than"), std::string::npos);
}

} // namespace
