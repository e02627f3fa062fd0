/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Tori, meshes and rings: counts, names and distances against their formulas.
 */
#include "contrib/rdma/core/ib/ib-discovery.h"
#include "contrib/rdma/core/ib/ib-routing.h"
#include "results-of.h"
#include "topologies/family.h"
#include "topologies/routes.h"

#include <gtest/gtest.h>
#include <numeric>

namespace
{

using topo::Topology;
using topo::TopologyRequest;
using Sizes = std::vector<uint32_t>;

TopologyRequest
Request(Sizes sizes, uint32_t hostsPerSwitch = 1, bool wrap = true)
{
    TopologyRequest r;
    r.family = "torus";
    r.parameters.SetSizes("torus", std::move(sizes))
        .SetCount("hosts-per-switch", hostsPerSwitch)
        .SetFlag("wrap", wrap);
    return r;
}

std::string
Errors(const TopologyRequest& request)
{
    return ErrorsOf(topo::MakeTopology(request));
}

/// Links from the first switch to all others.
std::vector<uint32_t>
Distances(const Topology& t, topo::NodeId from)
{
    std::vector<uint32_t> distance(t.Nodes().size(), UINT32_MAX);
    std::vector<topo::NodeId> queue(1, from);
    distance[from] = 0;
    for (size_t i = 0; i < queue.size(); ++i)
    {
        for (topo::PortId p = 0; p < t.Nodes()[queue[i]].ports.size(); ++p)
        {
            const topo::NodeId to = t.Peer(queue[i], p);
            if (t.Nodes()[to].kind == topo::NodeKind::kSwitch && distance[to] == UINT32_MAX)
            {
                distance[to] = distance[queue[i]] + 1;
                queue.push_back(to);
            }
        }
    }
    return distance;
}

TEST(Torus, Sizes)
{
    EXPECT_EQ(topo::ParseSizes("4x4x2"), (Sizes{4, 4, 2}));
    EXPECT_EQ(topo::ParseSizes("6"), (Sizes{6}));
    EXPECT_EQ(topo::ParseSizes("3X05"), (Sizes{3, 5}));
    EXPECT_EQ(topo::ParseSizes("65535x2"), (Sizes{65535, 2}));
    for (const char* bad : {"",
                            "x",
                            "4x",
                            "x4",
                            "4xx4",
                            "1x4",
                            "0",
                            "65536",
                            "4 x 4",
                            "4x4,2",
                            "-4",
                            "4.5",
                            "2x2x2x2x2x2x2",
                            "999999999999"})
    {
        EXPECT_FALSE(topo::ParseSizes(bad)) << bad;
    }
    EXPECT_EQ(topo::SizesText({4, 4, 2}), "4x4x2");
}

TEST(Torus, CountsAndDiameter)
{
    for (const bool wrap : {true, false})
    {
        for (const Sizes& sizes :
             {Sizes{2}, {3}, {6}, {7}, {4, 4}, {5, 3}, {4, 4, 2}, {3, 3, 3, 3}, {2, 2, 2, 2, 2, 2}})
        {
            const std::string what = topo::SizesText(sizes) + (wrap ? "" : " mesh");
            const Topology t = *topo::MakeTopology(Request(sizes, 2, wrap)).topology;
            const uint32_t switches =
                std::accumulate(sizes.begin(), sizes.end(), 1u, std::multiplies<>());
            EXPECT_EQ(t.SwitchCount(), switches) << what;
            EXPECT_EQ(t.Hosts().size(), 2 * switches) << what;
            // A dimension of size n: switches / n lines or rings of n - 1 or n links; of 2, one.
            uint32_t links = 2 * switches;
            uint32_t diameter = 0;
            for (const uint32_t n : sizes)
            {
                links += switches / n * (wrap && n > 2 ? n : n - 1);
                diameter += wrap ? n / 2 : n - 1;
            }
            EXPECT_EQ(t.Links().size(), links) << what;
            const topo::NodeId origin = static_cast<topo::NodeId>(t.Hosts().size());
            uint32_t farthest = 0;
            for (uint32_t s = 0; s < switches; ++s)
            {
                farthest = std::max(farthest, Distances(t, origin)[origin + s]);
            }
            EXPECT_EQ(farthest, diameter) << what;
        }
    }
}

TEST(Torus, NamesAndNeighbours)
{
    const Topology t = *topo::MakeTopology(Request({4, 3})).topology;
    // 4 x 3, the last coordinate first: server 4 is at 1 x 3 + 1.
    EXPECT_EQ(t.Nodes()[t.Peer(*t.FindNode("server-4"), 0)].name, "sw-1-1");
    for (const char* link :
         {"sw-0-0->sw-1-0", "sw-3-2->sw-0-2", "sw-1-0->sw-1-1", "sw-2-2->sw-2-0"})
    {
        EXPECT_TRUE(t.FindLink(link)) << link;
    }
    EXPECT_FALSE(t.FindLink("sw-0-0->sw-2-0"));
    EXPECT_FALSE(t.FindLink("sw-0-0->sw-1-1"));
    const Topology mesh = *topo::MakeTopology(Request({4, 3}, 1, false)).topology;
    EXPECT_FALSE(mesh.FindLink("sw-3-2->sw-0-2"));
    // A ring of two has one link, not two.
    EXPECT_FALSE(topo::MakeTopology(Request({2})).topology->FindLink("sw-0->sw-1#1"));
    EXPECT_TRUE(topo::MakeTopology(Request({2})).topology->FindLink("sw-0->sw-1"));
}

TEST(Torus, RatesAndServersOfSeveralNics)
{
    TopologyRequest r = Request({3, 3}, 4);
    r.nicsPerServer = 2;
    r.fabricRate = rdma::Gbps(400);
    r.bitErrorRate = 1e-12;
    const Topology t = *topo::MakeTopology(r).topology;
    EXPECT_EQ(t.Hosts().size(), 18u);      // 36 ports
    EXPECT_EQ(t.Peer(2, 1), t.Peer(3, 0)); // ports 5 and 6, both at sw-0-1
    for (const auto& link : t.Links())
    {
        EXPECT_EQ(link.rate,
                  t.Nodes()[link.a].kind == topo::NodeKind::kHost ? rdma::Gbps(100)
                                                                  : rdma::Gbps(400));
        EXPECT_EQ(link.bitErrorRate, 1e-12);
    }
}

TEST(Torus, ChosenShape)
{
    TopologyRequest r;
    r.family = "torus";
    const auto shape = [&r](uint32_t hosts, uint32_t perSwitch) {
        r.hosts = hosts;
        r.parameters = {};
        if (perSwitch)
        {
            r.parameters.SetCount("hosts-per-switch", perSwitch);
        }
        const auto made = topo::MakeTopology(r);
        if (!made.topology)
        {
            return Errors(r);
        }
        // The last switch stands in the last corner of what the network says it is.
        const auto last = static_cast<topo::NodeId>(made.topology->Nodes().size() - 1);
        Sizes sizes = made.topology->Coordinates(last);
        for (uint32_t& size : sizes)
        {
            ++size;
        }
        EXPECT_EQ(sizes, made.topology->About().parameters.Sizes("torus"));
        return made.topology->Nodes().back().name;
    };
    EXPECT_EQ(shape(16, 0), "sw-3-3");
    EXPECT_EQ(shape(20, 0), "sw-4-3");
    EXPECT_EQ(shape(17, 0), "sw-4-3") << "5 x 4: the squarest with room for 17";
    EXPECT_EQ(shape(64, 4), "sw-3-3");
    EXPECT_EQ(shape(5, 0), "sw-4") << "a ring";
    EXPECT_EQ(shape(1, 0), "sw-1");
    r.parameters = {};
    r.parameters.SetSizes("torus", {4, 4});
    r.hosts = 33;
    const Topology t = *topo::MakeTopology(r).topology;
    EXPECT_EQ(t.Peer(2, 0), t.Peer(0, 0)) << "33 servers at 16 switches: three each";
    EXPECT_NE(t.Peer(3, 0), t.Peer(0, 0));
}

TEST(Torus, Errors)
{
    TopologyRequest none;
    none.family = "torus";
    EXPECT_EQ(Errors(none), "hosts: a torus needs a number of servers or its sizes\n");
    TopologyRequest r = Request({4, 4}, 2);
    r.hosts = 33;
    EXPECT_EQ(
        Errors(r),
        "hosts-per-switch: 2 server ports at each of the 16 switches of a torus 4x4 are 32, but "
        "33 servers need 33; 3 a switch are enough\n");
    EXPECT_EQ(Errors(Request({4, 1})), "torus: \"4x1\" has a dimension of fewer than 2 switches\n");
    EXPECT_NE(Errors(Request({2048, 2048})).find("nodes that can be simulated"), std::string::npos);
    EXPECT_NE(Errors(Request({65535, 65535, 65535, 65535, 65535, 65535})).find("nodes that can be"),
              std::string::npos);
    EXPECT_NE(Errors(Request({4}, 65535)).find("more than 65535 ports"), std::string::npos);
    EXPECT_NE(Errors(Request({1000, 1000})).find("network larger than"), std::string::npos);
    TopologyRequest other = Request({4});
    other.family = "fat-tree";
    other.parameters.SetFlag("wrap", false);
    EXPECT_EQ(Errors(other),
              "hosts-per-switch: 1 has no meaning for fat-tree; it belongs to dragonfly, hyperx or "
              "torus\n"
              "torus: \"4\" has no meaning for fat-tree; it belongs to torus\n"
              "wrap: 0 has no meaning for fat-tree; it belongs to torus\n");
}

/// InfiniBand's torus engine finds the coordinates in the cabling alone; so this is a torus.
TEST(Torus, RoutedAsOne)
{
    for (const Sizes& sizes : {Sizes{6}, {5, 5}, {4, 6}, {3, 4, 5}})
    {
        for (const bool wrap : {true, false})
        {
            const Topology t = *topo::MakeTopology(Request(sizes, 2, wrap)).topology;
            rdma::IbFabric fabric;
            for (const auto& node : t.Nodes())
            {
                fabric.isHost.push_back(node.kind == topo::NodeKind::kHost);
            }
            for (const auto& link : t.Links())
            {
                fabric.links.push_back({link.a, link.b, link.portA, link.portB});
            }
            for (const auto& endpoint : t.Endpoints())
            {
                fabric.endpoints.push_back({endpoint.host, endpoint.port});
            }
            const rdma::IbSubnet subnet = rdma::DiscoverIbSubnet(fabric);
            rdma::IbRoutingOptions options;
            options.vls = wrap ? 2 : 1;
            const rdma::IbTables tables = rdma::IbRoute(subnet, {"torus"}, options);
            const rdma::IbCheck check = rdma::IbCheckTables(subnet, tables);
            EXPECT_TRUE(check.Good())
                << topo::SizesText(sizes) << check.firstBroken << check.CycleText(subnet);
            EXPECT_GT(check.paths, 0u);
        }
    }
}

} // namespace
