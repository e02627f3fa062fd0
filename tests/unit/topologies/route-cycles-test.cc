/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Circles of links that shortest paths make: which networks have them, and that a circle that is
 * told is one. Damaged trees too.
 */
#include "contrib/rdma/core/ib/ib-deadlock.h"
#include "contrib/rdma/core/ib/ib-discovery.h"
#include "contrib/rdma/core/ib/ib-routing.h"
#include "measures.h"
#include "results-of.h"
#include "topologies/family.h"
#include "topologies/route-cycles.h"

#include <algorithm>
#include <gtest/gtest.h>
#include <random>

namespace
{

using topo::Topology;
using topo::TopologyRequest;
using Sizes = std::vector<uint32_t>;

Topology
Make(const TopologyRequest& r)
{
    auto made = topo::MakeTopology(r);
    EXPECT_EQ(ErrorsOf(made), "");
    return std::move(*made.topology);
}

Topology
Grid(const char* family, const Sizes& sizes, bool wrap = true)
{
    TopologyRequest r;
    r.family = family;
    r.parameters.SetSizes(family, sizes).SetCount("hosts-per-switch", 1);
    if (std::string(family) == "torus")
    {
        r.parameters.SetFlag("wrap", wrap);
    }
    return Make(r);
}

Topology
Of(const char* family, uint32_t servers, uint32_t nics = 1)
{
    TopologyRequest r;
    r.family = family;
    r.hosts = servers;
    r.nicsPerServer = nics;
    return Make(r);
}

topo::NodeId
Start(const Topology& t, const topo::DirectedLink& l)
{
    return l.fromA ? t.Links()[l.link].a : t.Links()[l.link].b;
}

topo::NodeId
End(const Topology& t, const topo::DirectedLink& l)
{
    return l.fromA ? t.Links()[l.link].b : t.Links()[l.link].a;
}

/// Of two links in a row, whether a shortest path between two switches with hosts has both: by
/// distances, for each pair.
bool
InARow(const Topology& t, const topo::DirectedLink& first, const topo::DirectedLink& second)
{
    std::vector<topo::NodeId> with;
    for (const topo::NodeId host : t.Hosts())
    {
        with.push_back(t.Peer(host, 0));
    }
    const Reach before = ReachOf(t, Start(t, first)); // links carry both directions
    const Reach behind = ReachOf(t, End(t, second));
    for (const topo::NodeId a : with)
    {
        const Reach from = ReachOf(t, a);
        for (const topo::NodeId b : with)
        {
            if (before.distance[a] != UINT32_MAX && behind.distance[b] != UINT32_MAX &&
                from.distance[b] == before.distance[a] + 2 + behind.distance[b])
            {
                return true;
            }
        }
    }
    return false;
}

/// Whether there is a circle; one that is told is checked link by link.
bool
HasCircle(const Topology& t)
{
    const auto cycle = topo::FindRouteCycle(t);
    EXPECT_TRUE(cycle.has_value());
    for (size_t i = 0; i < cycle->size(); ++i)
    {
        const auto& link = (*cycle)[i];
        const auto& next = (*cycle)[(i + 1) % cycle->size()];
        EXPECT_EQ(End(t, link), Start(t, next));
        EXPECT_TRUE(InARow(t, link, next));
    }
    return !cycle->empty();
}

/// A ring of n switches: paths have up to n / 2 links, so two in a row from n = 4 on, and all rings
/// from there on have a circle. In a mesh of two dimensions paths turn both ways, so there is one
/// as soon as both have two switches; in a line none.
TEST(RouteCycles, RingsGridsTrees)
{
    for (uint32_t n = 2; n <= 9; ++n)
    {
        EXPECT_EQ(HasCircle(Grid("torus", {n})), n >= 4) << n;
        EXPECT_FALSE(HasCircle(Grid("torus", {n}, false))) << n;
        EXPECT_FALSE(HasCircle(Grid("hyperx", {n}))) << n << ": all linked, no two in a row";
    }
    for (const Sizes& sizes : {Sizes{2, 2}, Sizes{3, 2}, Sizes{3, 3}, Sizes{2, 2, 2}})
    {
        EXPECT_TRUE(HasCircle(Grid("hyperx", sizes)));
        EXPECT_TRUE(HasCircle(Grid("torus", sizes, false)));
    }
    for (const uint32_t servers : {1u, 5u, 16u, 40u})
    {
        for (const char* tree :
             {"fat-tree", "leaf-spine", "xgft", "dragonfly-plus", "rail-optimized", "rail-only"})
        {
            EXPECT_FALSE(HasCircle(Of(tree, servers, 2))) << tree << " " << servers;
        }
    }
    // One group is all linked; of two or more, local links wait for global ones and these for local
    // ones.
    EXPECT_FALSE(HasCircle(Of("dragonfly", 2)));
    for (const uint32_t servers : {16u, 40u, 72u})
    {
        EXPECT_TRUE(HasCircle(Of("dragonfly", servers))) << servers;
    }
}

TEST(RouteCycles, Budget)
{
    const Topology t = Of("dragonfly", 72);
    EXPECT_FALSE(topo::FindRouteCycle(t, 1000).has_value());
    EXPECT_TRUE(topo::FindRouteCycle(t, 1000000).has_value());
}

/// The same network without some links between switches.
Topology
Damaged(const Topology& t, const std::vector<topo::LinkId>& gone)
{
    Topology rest;
    for (const topo::Node& n : t.Nodes())
    {
        n.kind == topo::NodeKind::kHost ? rest.AddHost(n.name) : rest.AddSwitch(n.name, n.tier);
    }
    for (topo::LinkId l = 0; l < t.Links().size(); ++l)
    {
        if (std::find(gone.begin(), gone.end(), l) == gone.end())
        {
            const auto& link = t.Links()[l];
            rest.Connect(link.a, link.b, link.rate, link.delay);
        }
    }
    return rest;
}

/// Seeded links taken out of trees and grids: routes are those of the graph that is left. Every
/// pair that a search of its own finds joined has next hops that lead one link nearer at each
/// switch, as many paths as that search counts; the others have none.
TEST(RouteCycles, DamagedGraphs)
{
    uint32_t apart = 0;
    uint32_t circles = 0;
    for (uint32_t seed = 0; seed < 60; ++seed)
    {
        std::mt19937 rng(seed);
        const char* families[] =
            {"fat-tree", "leaf-spine", "dragonfly", "dragonfly-plus", "hyperx", "rail-optimized"};
        const Topology whole = Of(families[seed % 6], 12 + seed % 7);
        std::vector<topo::LinkId> fabric;
        for (topo::LinkId l = 0; l < whole.Links().size(); ++l)
        {
            if (whole.Nodes()[whole.Links()[l].a].kind == topo::NodeKind::kSwitch)
            {
                fabric.push_back(l);
            }
        }
        std::shuffle(fabric.begin(), fabric.end(), rng);
        fabric.resize(fabric.size() * (1 + seed % 4) / 8);
        const Topology t = Damaged(whole, fabric);
        const auto routes = topo::ComputeRoutes(t);
        for (size_t a = 0; a < t.Hosts().size(); ++a)
        {
            const Reach from = ReachOf(t, t.Hosts()[a]);
            for (size_t b = 0; b < t.Hosts().size(); ++b)
            {
                if (a == b)
                {
                    continue;
                }
                const bool joined = from.paths[t.Hosts()[b]] > 0;
                apart += !joined;
                const auto end = static_cast<topo::EndpointId>(b); // one NIC each
                ASSERT_EQ(routes.Hops(static_cast<topo::EndpointId>(a), end),
                          joined ? from.distance[t.Hosts()[b]] : 0)
                    << seed;
                // Paths that the tables make, counted switch by switch towards b.
                std::vector<std::pair<topo::NodeId, uint32_t>> order;
                for (topo::NodeId n = 0; n < t.Nodes().size(); ++n)
                {
                    if (from.distance[n] != UINT32_MAX)
                    {
                        order.emplace_back(n, from.distance[n]);
                    }
                }
                std::stable_sort(order.begin(), order.end(), [](const auto& x, const auto& y) {
                    return x.second < y.second;
                });
                std::vector<uint64_t> paths(t.Nodes().size(), 0);
                paths[t.Peer(t.Hosts()[a], 0)] = 1;
                for (const auto& [n, d] : order)
                {
                    if (t.Nodes()[n].kind == topo::NodeKind::kSwitch && paths[n] > 0)
                    {
                        for (const uint16_t port : routes.NextHops(n, end))
                        {
                            ASSERT_EQ(from.distance[t.Peer(n, port)], d + 1);
                            paths[t.Peer(n, port)] += paths[n];
                        }
                    }
                }
                ASSERT_EQ(paths[t.Hosts()[b]], from.paths[t.Hosts()[b]]) << seed;
            }
        }
        circles += HasCircle(t);
    }
    EXPECT_GT(apart, 0u) << "some have to fall apart";
    EXPECT_GT(circles, 0u);
}

/// By the subnet manager: dfsssp's tables for these networks are whole and free of deadlock with
/// two virtual lanes or more (a dragonfly's not with one). Minhop's have a circle where shortest
/// paths have.
TEST(RouteCycles, InfiniBandOfDragonflyAndHyperX)
{
    for (const Topology& t : {Of("dragonfly", 72),
                              Of("dragonfly", 30),
                              Of("dragonfly-plus", 45),
                              Grid("hyperx", {4, 3}),
                              Grid("hyperx", {3, 3, 2})})
    {
        rdma::IbFabric fabric;
        for (const topo::Node& n : t.Nodes())
        {
            fabric.isHost.push_back(n.kind == topo::NodeKind::kHost);
        }
        for (const topo::Link& l : t.Links())
        {
            fabric.links.push_back({l.a, l.b, l.portA, l.portB});
        }
        for (const topo::Endpoint& e : t.Endpoints())
        {
            fabric.endpoints.push_back({e.host, e.port});
        }
        const rdma::IbSubnet subnet = rdma::DiscoverIbSubnet(fabric);
        for (uint8_t vls = 1; vls <= 4; ++vls)
        {
            rdma::IbRoutingOptions options;
            options.vls = vls;
            const bool dragonfly = t.About().family == "dragonfly";
            SCOPED_TRACE(t.About().name + ", " + std::to_string(vls) + " VLs");
            if (vls == 1 && dragonfly)
            {
                EXPECT_THROW(rdma::IbRouteDfsssp(subnet, options), rdma::IbRoutingError);
                continue;
            }
            const auto check = rdma::IbCheckTables(subnet, rdma::IbRouteDfsssp(subnet, options));
            EXPECT_TRUE(check.Good()) << check.firstBroken << check.CycleText(subnet);
            EXPECT_LE(check.vls, vls);
        }
        const auto minhop =
            rdma::IbCheckTables(subnet,
                                rdma::IbRoute(subnet, {"minhop"}, rdma::IbRoutingOptions()));
        EXPECT_EQ(minhop.broken, 0u);
        // One of the shortest paths each: theirs are among all of them.
        EXPECT_TRUE(minhop.cycle.empty() || !topo::FindRouteCycle(t)->empty()) << t.About().name;
        EXPECT_TRUE(!minhop.cycle.empty() || t.About().family != "dragonfly") << t.About().name;
    }
}

} // namespace
