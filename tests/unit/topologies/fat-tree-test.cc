/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "topologies/families/fat-tree.h"
#include "topologies/routes.h"

#include <chrono>
#include <cmath>
#include <gtest/gtest.h>
#include <map>

namespace
{

using topo::NodeKind;
using topo::Topology;
using topo::TopologyRequest;

Topology
Make(const TopologyRequest& request)
{
    auto result = topo::MakeTopology(request);
    EXPECT_TRUE(result.errors.empty()) << result.errors.at(0).Sentence();
    return *result.topology;
}

TopologyRequest
FatTree(uint32_t k, double oversubscription = 1, uint32_t hosts = 0)
{
    TopologyRequest r;
    r.family = "fat-tree";
    if (k)
    {
        r.parameters.SetCount("k", k);
    }
    r.parameters.SetFactor("oversubscription", oversubscription);
    r.hosts = hosts;
    return r;
}

/// Sum of the rates of links between these two tiers.
double
Capacity(const Topology& t, uint8_t low, uint8_t high)
{
    double bps = 0;
    for (const auto& link : t.Links())
    {
        if (t.Nodes()[link.a].tier == low && t.Nodes()[link.b].tier == high)
        {
            bps += static_cast<double>(link.rate.bps);
        }
    }
    return bps;
}

/// Number of shortest paths, by summing over next hops.
uint64_t
Paths(const Topology& t, const rdma::EcmpRoutes& r, topo::NodeId node, uint32_t to)
{
    if (node == t.Endpoints()[to].host)
    {
        return 1;
    }
    uint64_t sum = 0;
    for (const uint16_t port : r.NextHops(node, to))
    {
        sum += Paths(t, r, t.Peer(node, port), to);
    }
    return sum;
}

TEST(FatTree, Counts)
{
    // k^3/4 hosts; k^2/2 edge, k^2/2 aggregation and k^2/4 core switches, all of k ports; three
    // layers of k^3/4 links.
    for (uint32_t k = 2; k <= 16; k += 2)
    {
        const Topology t = Make(FatTree(k));
        const uint32_t third = k * k * k / 4;
        EXPECT_EQ(t.Hosts().size(), third);
        EXPECT_EQ(t.Endpoints().size(), third);
        EXPECT_EQ(t.SwitchCount(), 5 * k * k / 4);
        EXPECT_EQ(t.Links().size(), 3 * third);
        std::map<int, uint32_t> perTier;
        for (const auto& node : t.Nodes())
        {
            ++perTier[node.tier];
            EXPECT_EQ(node.ports.size(), node.kind == NodeKind::kHost ? 1 : k) << node.name;
        }
        EXPECT_EQ(perTier[1], k * k / 2);
        EXPECT_EQ(perTier[2], k * k / 2);
        EXPECT_EQ(perTier[3], k * k / 4);
    }
}

TEST(FatTree, NamesAndPorts)
{
    const Topology t = Make(FatTree(4));
    EXPECT_TRUE(t.FindLink("server-5->edge-1-0")) << "2 servers an edge switch, 4 a pod";
    EXPECT_TRUE(t.FindLink("edge-3-1->agg-3-0"));
    EXPECT_TRUE(t.FindLink("agg-2-1->core-3"));
    EXPECT_FALSE(t.FindLink("agg-2-1->core-1")) << "core-1 belongs to aggregation switches 0";
    const auto edge = *t.FindNode("edge-0-0");
    EXPECT_EQ(t.Nodes()[t.Peer(edge, 0)].name, "server-0");
    EXPECT_EQ(t.Nodes()[t.Peer(edge, 2)].name, "agg-0-0");
    const auto core = *t.FindNode("core-2");
    for (uint16_t p = 0; p < 4; ++p)
    {
        EXPECT_EQ(t.Nodes()[t.Peer(core, p)].name, "agg-" + std::to_string(p) + "-1");
    }
}

TEST(FatTree, PathsAndHops)
{
    for (const uint32_t k : {2u, 4u, 6u, 8u, 12u})
    {
        const Topology t = Make(FatTree(k));
        const auto r = topo::ComputeRoutes(t);
        const uint32_t half = k / 2;
        for (uint32_t to = 1; to < t.Endpoints().size(); ++to)
        {
            const bool sameEdge = to < half;
            const bool samePod = to < half * half;
            EXPECT_EQ(r.Hops(0, to), sameEdge ? 2u : samePod ? 4u : 6u);
            EXPECT_EQ(Paths(t, r, t.Peer(t.Hosts()[0], 0), to),
                      sameEdge  ? 1
                      : samePod ? half
                                : half * half);
        }
    }
}

TEST(FatTree, BisectionAndOversubscription)
{
    // Half of the pods to the other half crosses the core: its links to pods 0..k/2-1 carry k^3/8 x
    // rate in a full tree, that is half of all servers at once, and 1/f of it when oversubscribed.
    for (const uint32_t k : {2u, 4u, 6u, 8u, 12u, 16u})
    {
        for (const double f : {1.0, 1.5, 2.0, 3.0, 4.0, 7.0})
        {
            const Topology t = Make(FatTree(k, f));
            const double servers = k * k * k / 4.0;
            const double rate = 100e9;
            EXPECT_EQ(t.Hosts().size(), servers) << "servers stay";
            EXPECT_NEAR(Capacity(t, 0, 1), servers * rate, 1);
            EXPECT_NEAR(Capacity(t, 1, 2) * f, servers * rate, 1e3 * k * k * k);
            EXPECT_NEAR(Capacity(t, 2, 3) * f, servers * rate, 1e3 * k * k * k);
            double half = 0;
            for (const auto& link : t.Links())
            {
                if (t.Nodes()[link.b].tier == 3 && link.portB < k / 2)
                {
                    half += static_cast<double>(link.rate.bps);
                }
                EXPECT_LE(link.rate, rdma::Gbps(100)) << "no link is faster than the fabric rate";
            }
            EXPECT_NEAR(half * f, servers / 2 * rate, 1e3 * k * k * k);
        }
    }
}

TEST(FatTree, OversubscriptionTakesUplinksFirstThenRate)
{
    struct Case
    {
        uint32_t k;
        double f;
        uint32_t uplinks;
        uint64_t bps;
    };

    // u = ceil(k/2 / f), rate = 100G x (k/2) / (f u)
    for (const Case& c : {Case{4, 1, 2, 100000000000},
                          Case{4, 2, 1, 100000000000},
                          Case{4, 4, 1, 50000000000},
                          Case{8, 3, 2, 66666666667}, // 4/3 uplinks -> 2 of 2/3
                          Case{8, 4, 1, 100000000000},
                          Case{16, 4, 2, 100000000000},
                          Case{2, 4, 1, 25000000000},
                          Case{8, 4.0 / 3, 3, 100000000000}}) // 3 but for rounding
    {
        const auto shape = topo::ShapeOfFatTree(c.k, c.f, rdma::Gbps(100));
        EXPECT_EQ(shape.uplinks, c.uplinks) << c.k << " " << c.f;
        EXPECT_EQ(shape.fabricRate.bps, c.bps) << c.k << " " << c.f;
    }
    const Topology t = Make(FatTree(4, 4));
    EXPECT_EQ(t.SwitchCount(), 8u + 4u + 2u) << "8 edge, 1 aggregation a pod, 2 core";
    EXPECT_FALSE(t.FindNode("agg-0-1"));
    // Everybody still reaches everybody.
    const auto r = topo::ComputeRoutes(t);
    for (uint32_t i = 0; i < 16; ++i)
    {
        for (uint32_t j = 0; j < 16; ++j)
        {
            EXPECT_EQ(r.Hops(i, j) == 0, i == j);
        }
    }
}

TEST(FatTree, FabricRate)
{
    TopologyRequest q = FatTree(4);
    q.fabricRate = rdma::Gbps(400);
    const Topology t = Make(q);
    EXPECT_EQ(t.Links().front().rate, rdma::Gbps(100));
    EXPECT_EQ(t.Links().back().rate, rdma::Gbps(400));
}

// Servers of 100 Gb/s, k/2 = 3 of them an edge switch. Their ratio to its uplinks is what is asked
// for, whatever these are made of: 300 / 3 = 100 = one of 100 (of 400 at most); 300 / 2 = 150 =
// one; 300 / 1.5 = 200 = one; with 60 Gb/s 300 / 2 = 150 = three of 50.
TEST(FatTree, OversubscriptionOfOtherRates)
{
    struct Case
    {
        double f;
        uint64_t fabric; // Gb/s
        uint32_t uplinks;
        uint64_t rate;
    };

    for (const Case& c :
         {Case{3, 400, 1, 100}, {2, 400, 1, 150}, {1.5, 400, 1, 200}, {2, 60, 3, 50}})
    {
        TopologyRequest q = FatTree(6);
        q.fabricRate = rdma::Gbps(c.fabric);
        q.parameters.SetFactor("oversubscription", c.f);
        const Topology t = Make(q);
        const auto& edge = t.Nodes()[*t.FindNode("edge-0-0")];
        ASSERT_EQ(edge.ports.size(), 3 + c.uplinks) << c.f << " " << c.fabric;
        for (uint32_t u = 0; u < c.uplinks; ++u)
        {
            EXPECT_EQ(t.Links()[edge.ports[3 + u]].rate, rdma::Gbps(c.rate)) << c.f;
        }
    }
    // Three uplinks of 50 are 2:1.
    TopologyRequest q = FatTree(6);
    q.fabricRate = rdma::Gbps(50);
    q.parameters.SetFactor("oversubscription", 1.5);
    const auto made = topo::MakeTopology(q);
    ASSERT_EQ(made.errors.size(), 1u);
    EXPECT_NE(made.errors[0].problem.find("allowed: 1 (all of them), or from 2 on"),
              std::string::npos)
        << made.errors[0].problem;
}

TEST(FatTree, PartlyFilledKeepsTheSwitches)
{
    // 384 servers on k = 12 (432 ports): edge switches of 6, so 64 of 72 are full and 8 empty.
    const Topology t = Make(FatTree(12, 1, 384));
    EXPECT_EQ(t.Hosts().size(), 384u);
    EXPECT_EQ(t.SwitchCount(), 180u);
    EXPECT_EQ(t.Links().size(), 384u + 2 * 432u);
    EXPECT_EQ(t.Nodes()[*t.FindNode("edge-10-3")].ports.size(), 12u)
        << "edge 63 is the last with servers";
    EXPECT_EQ(t.Nodes()[*t.FindNode("edge-10-4")].ports.size(), 6u);
    const auto r = topo::ComputeRoutes(t);
    EXPECT_EQ(r.Hops(0, 383), 6u);
    EXPECT_EQ(Paths(t, r, t.Peer(t.Hosts()[0], 0), 383), 36u);
}

TEST(FatTree, SeveralNics)
{
    // 2 servers of 4 NICs on k = 4: 8 of 16 ports; server 0 fills pod 0, server 1 pod 1.
    TopologyRequest q = FatTree(4, 1, 2);
    q.nicsPerServer = 4;
    const Topology t = Make(q);
    EXPECT_EQ(t.Endpoints().size(), 8u);
    EXPECT_EQ(t.EndpointOf(1, 3), 7u);
    EXPECT_TRUE(t.FindLink("server-0->edge-0-1#1"));
    EXPECT_TRUE(t.FindLink("server-1->edge-1-0"));
    q.hosts = 0;
    EXPECT_EQ(Make(q).Hosts().size(), 4u) << "as many as fit";
    q.hosts = 5;
    EXPECT_FALSE(topo::MakeTopology(q).topology);
}

TEST(FatTree, ChoosesK)
{
    EXPECT_EQ(topo::SmallestFatTree(1), 2u);
    EXPECT_EQ(topo::SmallestFatTree(2), 2u);
    EXPECT_EQ(topo::SmallestFatTree(3), 4u);
    EXPECT_EQ(topo::SmallestFatTree(16), 4u);
    EXPECT_EQ(topo::SmallestFatTree(384), 12u); // 10: 250, 12: 432
    EXPECT_EQ(topo::SmallestFatTree(524288), 128u);
    EXPECT_EQ(topo::SmallestFatTree(524289), 0u);
    const auto result = topo::MakeTopology(FatTree(0, 1, 128));
    ASSERT_TRUE(result.topology);
    EXPECT_EQ(result.topology->SwitchCount(), 80u); // k = 8
    ASSERT_EQ(result.notes.size(), 1u);
    EXPECT_NE(result.notes[0].find("k=8"), std::string::npos);
}

std::string
OnlyError(const TopologyRequest& request)
{
    const auto result = topo::MakeTopology(request);
    EXPECT_FALSE(result.topology);
    EXPECT_EQ(result.errors.size(), 1u);
    return result.errors.empty() ? "" : result.errors[0].Sentence();
}

TEST(FatTree, Errors)
{
    EXPECT_EQ(OnlyError(FatTree(4, 1, 17)),
              "k: 4 is too small: a fat-tree of k=4 has 16 server ports (k^3/4), 17 servers need "
              "17; k=6 is enough");
    EXPECT_EQ(OnlyError(FatTree(5)), "k: 5 is not an even number from 2 to 128");
    EXPECT_EQ(OnlyError(FatTree(130)), "k: 130 is not a number from 2 to 128");
    EXPECT_EQ(OnlyError(FatTree(0)), "k: a fat-tree needs k or a number of servers");
    EXPECT_EQ(OnlyError(FatTree(4, 0.5)), "oversubscription: 0.5 is not a number from 1 to 1000");
    EXPECT_EQ(OnlyError(FatTree(4, std::nan(""))),
              "oversubscription: nan is not a number from 1 to 1000");
    EXPECT_NE(OnlyError(FatTree(0, 1, 600000)).find("more than the largest fat-tree"),
              std::string::npos);
}

TEST(FatTree, SixteenIsQuick)
{
    const auto start = std::chrono::steady_clock::now();
    const Topology t = Make(FatTree(16));
    const auto r = topo::ComputeRoutes(t);
    const double s =
        std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    RecordProperty("milliseconds", static_cast<int>(s * 1e3));
    EXPECT_LT(r.MemoryBytes(), 4u << 20);
    EXPECT_EQ(r.Hops(0, 1023), 6u);
}

} // namespace
