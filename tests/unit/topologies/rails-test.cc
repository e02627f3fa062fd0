/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Rails, joined and apart, and planes: counts, who hangs where, who reaches whom.
 */
#include "measures.h"
#include "results-of.h"
#include "topologies/family.h"

#include <gtest/gtest.h>

namespace
{

using topo::Topology;
using topo::TopologyRequest;

TopologyRequest
Request(const char* family, uint32_t servers, uint32_t nics)
{
    TopologyRequest r;
    r.family = family;
    r.hosts = servers;
    r.nicsPerServer = nics;
    return r;
}

Topology
Make(const TopologyRequest& r)
{
    auto made = topo::MakeTopology(r);
    EXPECT_EQ(ErrorsOf(made), "");
    return std::move(*made.topology);
}

std::string
Errors(const TopologyRequest& request)
{
    return ErrorsOf(topo::MakeTopology(request));
}

/// NVIDIA, DGX SuperPOD reference architecture with DGX B200, "DGX SuperPOD Architecture": SUs of
/// 32 servers with 8 NICs; leaves, spines, cables to servers, cables between switches.
TEST(Rails, AsTheSuperPodTable)
{
    const uint32_t table[][5] = {{2, 16, 8, 512, 512},
                                 {4, 32, 16, 1024, 1024},
                                 {8, 64, 32, 2048, 2048}};
    for (const auto& [units, leaves, spines, toServers, between] : table)
    {
        const Topology t = Make(Request("rail-optimized", units * 32, 8));
        EXPECT_EQ(SwitchesOf(t, 1).size(), leaves) << units;
        EXPECT_EQ(SwitchesOf(t, 2).size(), spines) << units;
        EXPECT_EQ(t.Links().size() - FabricLinks(t), toServers) << units;
        EXPECT_EQ(FabricLinks(t), between) << units;
    }
    // The next one has 128 leaves, which spines of 64 ports cannot join in two tiers.
    TopologyRequest r = Request("rail-optimized", 512, 8);
    r.parameters.SetCount("switch-ports", 64);
    EXPECT_EQ(Errors(r),
              "switch-ports: 64 ports are too few for a spine that joins 128 rail switches; larger "
              "groups, or more ports, have room\n");
}

/// NIC i of every server of a group is one switch from NIC i of any other of it, by that switch
/// alone; of another group or rail two more links, by every spine (and every cable to it) as long
/// as rails are joined, and nowhere if they are not.
TEST(Rails, WhoReachesWhom)
{
    for (const uint32_t nics : {1u, 3u, 8u})
    {
        for (const uint32_t servers : {1u, 2u, 5u, 7u})
        {
            for (const uint32_t perRail : {1u, 2u, 3u})
            {
                for (const char* family : {"rail-optimized", "rail-only"})
                {
                    const bool apart = std::string(family) == "rail-only";
                    TopologyRequest r = Request(family, servers, nics);
                    r.parameters.SetCount("hosts-per-rail", perRail);
                    SCOPED_TRACE(std::string(family) + " " + std::to_string(servers) + " of " +
                                 std::to_string(nics) + ", " + std::to_string(perRail));
                    const Topology t = Make(r);
                    const uint32_t groups = (servers + perRail - 1) / perRail;
                    ASSERT_EQ(SwitchesOf(t, 1).size(), groups * nics);
                    ASSERT_EQ(t.About().rails, nics);
                    EXPECT_EQ(t.About().railsApart, apart && nics > 1);
                    // A rail switch has as many uplinks as server ports, unless it is alone.
                    const bool alone = groups * (apart ? 1 : nics) == 1;
                    EXPECT_EQ(FabricLinks(t), alone ? 0 : groups * nics * perRail);
                    for (uint32_t a = 0; a < servers; ++a)
                    {
                        for (uint32_t i = 0; i < nics; ++i)
                        {
                            const topo::NodeId at = t.Peer(t.Hosts()[a], static_cast<uint16_t>(i));
                            ASSERT_EQ(t.Coordinates(at), (std::vector<uint32_t>{a / perRail, i}));
                            const Reach reach = ReachOf(t, at);
                            for (const topo::NodeId other : SwitchesOf(t, 1))
                            {
                                const uint32_t rail = t.Coordinates(other)[1];
                                const bool joined = !apart || rail == i;
                                ASSERT_EQ(reach.distance[other],
                                          other == at ? 0u
                                          : joined    ? 2u
                                                      : UINT32_MAX)
                                    << t.Nodes()[other].name;
                            }
                        }
                    }
                }
            }
        }
    }
}

/// Every rail switch has as many cables to each spine, and no switch more ports than it may have,
/// whatever does not divide.
TEST(Rails, SpinesAreEven)
{
    for (uint32_t radix = 4; radix <= 24; ++radix)
    {
        for (const uint32_t servers : {3u, 7u, 16u, 29u})
        {
            TopologyRequest r = Request("rail-optimized", servers, 3);
            r.parameters.SetCount("switch-ports", radix);
            const auto made = topo::MakeTopology(r);
            const uint32_t half = radix / 2;
            const uint32_t leaves = (servers + half - 1) / half * 3;
            SCOPED_TRACE(std::to_string(radix) + ", " + std::to_string(servers));
            // With at most as many leaves as ports, u spines of one cable each always do.
            ASSERT_EQ(made.topology.has_value(), leaves <= radix);
            if (!made.topology)
            {
                continue;
            }
            const Topology& t = *made.topology;
            for (const uint8_t tier : {1, 2})
            {
                for (const topo::NodeId n : SwitchesOf(t, tier))
                {
                    EXPECT_LE(t.Nodes()[n].ports.size(), radix);
                }
            }
            const auto spines = SwitchesOf(t, 2);
            for (const topo::NodeId leaf : SwitchesOf(t, 1))
            {
                std::vector<uint32_t> cables(t.Nodes().size(), 0);
                for (topo::PortId p = 0; p < t.Nodes()[leaf].ports.size(); ++p)
                {
                    ++cables[t.Peer(leaf, p)];
                }
                for (const topo::NodeId spine : spines)
                {
                    EXPECT_EQ(cables[spine], cables[spines.front()]);
                    EXPECT_GE(cables[spine], 1u);
                }
            }
        }
    }
}

/// Uplinks carry what the server ports do, divided by the oversubscription.
TEST(Rails, Oversubscription)
{
    for (const double f : {1.0, 1.5, 2.0, 3.0, 4.0})
    {
        for (const uint32_t fabric : {100u, 200u, 400u})
        {
            for (const uint32_t spines : {0u, 1u, 3u})
            {
                TopologyRequest r = Request("rail-optimized", 10, 2);
                r.fabricRate = rdma::Gbps(fabric);
                r.parameters.SetFactor("oversubscription", f).SetCount("hosts-per-rail", 5);
                if (spines != 0)
                {
                    r.parameters.SetCount("spines", spines);
                }
                const Topology t = Make(r);
                double up = 0;
                for (const topo::LinkId l : t.Nodes()[SwitchesOf(t, 1)[2]].ports)
                {
                    const bool toServer = t.Nodes()[t.Links()[l].a].kind == topo::NodeKind::kHost;
                    up += toServer ? 0 : static_cast<double>(t.Links()[l].rate.bps);
                }
                const double full = 500e9 / f;
                EXPECT_GE(up, full * (1 - 1e-9));
                if (f > 1 || spines != 0)
                {
                    EXPECT_NEAR(up / full, 1, 1e-9) << f << ", " << fabric << ", " << spines;
                }
            }
        }
    }
}

/// Fewer rails than NICs: NICs i and i + rails share one. More (traffic): neighbours are on
/// different ones.
TEST(Rails, OtherNumbersOfRails)
{
    TopologyRequest r = Request("rail-only", 3, 6);
    r.parameters.SetCount("rails", 3);
    const Topology few = Make(r);
    for (uint16_t nic = 0; nic < 6; ++nic)
    {
        EXPECT_EQ(few.Coordinates(few.Peer(few.Hosts()[1], nic))[1], nic % 3u);
    }
    r = Request("rail-only", 7, 1);
    r.parameters.SetCount("rails", 3);
    const Topology many = Make(r);
    for (uint32_t s = 0; s < 7; ++s)
    {
        EXPECT_EQ(many.Coordinates(many.Peer(many.Hosts()[s], 0))[1], s % 3);
    }
    r.parameters.SetCount("rails", 8);
    EXPECT_EQ(Errors(r),
              "rails: 8 rails are more than the 7 NICs of all servers; allowed: at most 7\n");
}

TEST(Rails, Errors)
{
    EXPECT_EQ(Errors(Request("rail-only", 0, 2)), "hosts: rails need a number of servers\n");
    TopologyRequest r = Request("rail-only", 4, 2);
    r.parameters.SetCount("spines", 2);
    EXPECT_EQ(Errors(r),
              "spines: 2 join nothing: every rail is one switch, as there is one group of servers; "
              "leave it out\n");
    r = Request("rail-optimized", 8, 2);
    r.parameters.SetCount("switch-ports", 8).SetCount("hosts-per-rail", 5);
    EXPECT_EQ(
        Errors(r),
        "switch-ports: 8 ports are too few for a rail switch of 5 server ports and 5 uplinks\n");
}

/// N planes are N copies with 1/N of the rates; NIC n has its ports n N and on, all else is as in
/// one plane; and no path leads from one to another.
TEST(Planes, Copies)
{
    for (const char* family : {"leaf-spine", "fat-tree", "single-switch", "rail-optimized", "xgft"})
    {
        for (const uint32_t nics : {1u, 3u})
        {
            TopologyRequest r = Request(family, 5, nics);
            r.fabricRate =
                std::string(family) == "single-switch" ? rdma::BitRate() : rdma::Gbps(300);
            const Topology one = Make(r);
            for (const uint32_t planes : {2u, 3u})
            {
                SCOPED_TRACE(std::string(family) + " " + std::to_string(nics) + " " +
                             std::to_string(planes));
                r.parameters.SetCount("planes", planes);
                const Topology t = Make(r);
                ASSERT_EQ(t.About().planes, planes);
                ASSERT_EQ(t.SwitchCount(), planes * one.SwitchCount());
                ASSERT_EQ(t.Links().size(), planes * one.Links().size());
                ASSERT_EQ(t.Endpoints().size(), planes * one.Endpoints().size());
                for (uint32_t s = 0; s < 5; ++s)
                {
                    for (uint32_t n = 0; n < nics; ++n)
                    {
                        const auto& was = one.Links()[one.Nodes()[one.Hosts()[s]].ports[n]];
                        for (uint32_t p = 0; p < planes; ++p)
                        {
                            const auto port = static_cast<topo::PortId>(n * planes + p);
                            const auto& is = t.Links()[t.Nodes()[t.Hosts()[s]].ports[port]];
                            EXPECT_NEAR(static_cast<double>(is.rate.bps) * planes,
                                        static_cast<double>(was.rate.bps),
                                        planes);
                            EXPECT_EQ(t.Nodes()[t.Peer(t.Hosts()[s], port)].name,
                                      "p" + std::to_string(p) + "-" +
                                          one.Nodes()[one.Peer(one.Hosts()[s], n)].name);
                        }
                    }
                }
                const auto routes = topo::ComputeRoutes(t);
                const auto before = topo::ComputeRoutes(one);
                for (topo::EndpointId a = 0; a < t.Endpoints().size(); ++a)
                {
                    for (topo::EndpointId b = 0; b < t.Endpoints().size(); ++b)
                    {
                        EXPECT_EQ(routes.Hops(a, b),
                                  a % planes != b % planes ? 0
                                                           : before.Hops(a / planes, b / planes));
                    }
                }
            }
        }
    }
}

TEST(Planes, DualPlaneIsLeafSpineTwice)
{
    TopologyRequest dual = Request("dual-plane", 12, 2);
    dual.parameters.SetCount("hosts-per-leaf", 4).SetCount("spines", 3);
    const Topology a = Make(dual);
    TopologyRequest other = dual;
    other.family = "leaf-spine";
    other.parameters.SetCount("planes", 2);
    const Topology b = Make(other);
    ASSERT_EQ(a.Links().size(), b.Links().size());
    for (size_t l = 0; l < a.Links().size(); ++l)
    {
        EXPECT_EQ(a.LinkName(static_cast<topo::LinkId>(l), true),
                  b.LinkName(static_cast<topo::LinkId>(l), true));
        EXPECT_EQ(a.Links()[l].rate, rdma::Gbps(50));
    }
    EXPECT_EQ(a.SwitchCount(), 2 * (6u + 3u)) << "24 ports: 6 leaves, in each plane";
    dual.parameters.SetCount("planes", 1);
    EXPECT_EQ(Make(dual).SwitchCount(), 6u + 3u);
}

TEST(Planes, Errors)
{
    TopologyRequest r = Request("leaf-spine", 2, 100);
    r.parameters.SetCount("planes", 2);
    EXPECT_EQ(Errors(r),
              "planes: 2 of 100 NICs are more than the 128 ports that a server may have\n");
    r = Request("leaf-spine", 2, 1);
    r.linkRate = rdma::BitRate(1500);
    r.parameters.SetCount("planes", 2);
    EXPECT_EQ(Errors(r), "planes: 2 leave a port less than 1kbps to 1000Tbps\n");
    r = Request("torus", 4, 1);
    r.parameters.SetCount("planes", 2);
    EXPECT_NE(Errors(r).find("planes: 2 has no meaning for torus; it belongs to "),
              std::string::npos);
}

} // namespace
