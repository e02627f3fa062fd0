/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Dragonfly, dragonfly+, HyperX and generalized fat-trees: counts, diameters, numbers of paths and
 * bisections against their formulas.
 */
#include "measures.h"
#include "results-of.h"
#include "topologies/families/fat-tree.h"
#include "topologies/family.h"

#include <algorithm>
#include <gtest/gtest.h>
#include <map>

namespace
{

using topo::Topology;
using topo::TopologyRequest;
using Sizes = std::vector<uint32_t>;

TopologyRequest
Request(const char* family, uint32_t servers = 0)
{
    TopologyRequest r;
    r.family = family;
    r.hosts = servers;
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

TopologyRequest
DragonflyOf(uint32_t p, uint32_t a, uint32_t h, uint32_t g)
{
    TopologyRequest r = Request("dragonfly", a * p * g);
    r.parameters.SetCount("groups", g)
        .SetCount("group-switches", a)
        .SetCount("hosts-per-switch", p)
        .SetCount("global-links", h);
    return r;
}

/// Between every two groups floor(a h / (g - 1)) links, a (a - 1) / 2 in a group; no switch has
/// more than h global links, all of them have h if it comes out even; at most 3 links between
/// switches.
TEST(Dragonfly, Formulas)
{
    for (const uint32_t p : {1u, 3u})
    {
        for (const uint32_t a : {1u, 2u, 3u, 4u, 7u})
        {
            for (const uint32_t h : {1u, 2u, 3u})
            {
                for (uint32_t g = 1; g <= a * h + 1; g += 1 + g / 5)
                {
                    SCOPED_TRACE("p " + std::to_string(p) + " a " + std::to_string(a) + " h " +
                                 std::to_string(h) + " g " + std::to_string(g));
                    const Topology t = Make(DragonflyOf(p, a, h, g));
                    const uint32_t each = g > 1 ? a * h / (g - 1) : 0;
                    ASSERT_EQ(t.SwitchCount(), a * g);
                    ASSERT_EQ(t.Hosts().size(), a * p * g);
                    ASSERT_EQ(FabricLinks(t), g * a * (a - 1) / 2 + g * (g - 1) / 2 * each);
                    std::map<std::pair<uint32_t, uint32_t>, uint32_t> between;
                    std::map<topo::NodeId, uint32_t> global;
                    for (const topo::Link& l : t.Links())
                    {
                        if (t.Nodes()[l.a].kind == topo::NodeKind::kHost)
                        {
                            continue;
                        }
                        const uint32_t x = t.Coordinates(l.a)[0];
                        const uint32_t y = t.Coordinates(l.b)[0];
                        if (x != y)
                        {
                            ++between[{std::min(x, y), std::max(x, y)}];
                            ++global[l.a];
                            ++global[l.b];
                        }
                    }
                    ASSERT_EQ(between.size(), g * (g - 1) / 2);
                    for (const auto& [pair, links] : between)
                    {
                        ASSERT_EQ(links, each);
                    }
                    for (const topo::NodeId n : SwitchesOf(t, 1))
                    {
                        ASSERT_LE(global[n], h);
                        if (g > 1 && a * h % (g - 1) == 0)
                        {
                            ASSERT_EQ(global[n], h);
                        }
                        const Reach reach = ReachOf(t, n);
                        for (const topo::NodeId m : SwitchesOf(t, 1))
                        {
                            ASSERT_LE(reach.distance[m], 3u);
                        }
                    }
                    // Half of the groups against the other half: floor(g/2) ceil(g/2) pairs.
                    EXPECT_EQ(
                        Across(t, [&](topo::NodeId n) { return t.Coordinates(n)[0] < g / 2; }),
                        g / 2 * ((g + 1) / 2) * each);
                }
            }
        }
    }
}

/// The example of the paper: p = h = 2, a = 4, so 9 groups of 8 servers.
TEST(Dragonfly, ChosenShape)
{
    const Topology t = Make(Request("dragonfly", 72));
    EXPECT_EQ(t.About().parameters.Count("groups"), 9u);
    EXPECT_EQ(t.About().parameters.Count("group-switches"), 4u);
    EXPECT_EQ(t.About().parameters.Count("hosts-per-switch"), 2u);
    EXPECT_EQ(t.About().parameters.Count("global-links"), 2u);
    // One more does not fit: p = 3, a = 6, 18 servers a group.
    const Topology more = Make(Request("dragonfly", 73));
    EXPECT_EQ(more.About().parameters.Count("hosts-per-switch"), 3u);
    EXPECT_EQ(more.About().parameters.Count("groups"), 5u);
    for (uint32_t servers = 1; servers < 200; servers += 7)
    {
        TopologyRequest r = Request("dragonfly", servers);
        r.nicsPerServer = 1 + servers % 3;
        const Topology any = Make(r);
        const auto routes = topo::ComputeRoutes(any);
        for (topo::EndpointId e = 1; e < any.Endpoints().size(); ++e)
        {
            ASSERT_GT(routes.Hops(0, e), 0u);
            ASSERT_LE(routes.Hops(0, e), 5u);
        }
    }
}

TEST(Dragonfly, Errors)
{
    EXPECT_EQ(Errors(Request("dragonfly")),
              "hosts: a dragonfly needs a number of servers, or all of groups, group switches and "
              "hosts per switch\n");
    EXPECT_EQ(
        Errors(DragonflyOf(1, 2, 1, 4)),
        "groups: 4 ask each for links to 3 others, but a group has 2 global links; allowed: at "
        "most 3\n");
    TopologyRequest r = DragonflyOf(1, 2, 1, 3);
    r.hosts = 7;
    EXPECT_EQ(Errors(r),
              "groups: 3 of 2 switches with 1 server port have 6, but 7 servers need 7\n");
}

/// Leaves l, spines s, h global links a spine, p server ports a leaf: between groups shortest paths
/// have 3 links between switches, as many as there are links between the two groups; in a group 2,
/// s of them.
TEST(DragonflyPlus, Formulas)
{
    for (const uint32_t l : {1u, 2u, 3u, 5u})
    {
        for (const uint32_t s : {1u, 2u, 3u})
        {
            for (const uint32_t h : {1u, 2u, 4u})
            {
                for (uint32_t g = 1; g <= s * h + 1; ++g)
                {
                    const uint32_t p = 1 + l % 2;
                    SCOPED_TRACE("l " + std::to_string(l) + " s " + std::to_string(s) + " h " +
                                 std::to_string(h) + " g " + std::to_string(g));
                    TopologyRequest r = Request("dragonfly-plus", l * p * g);
                    r.parameters.SetCount("groups", g)
                        .SetCount("group-leaves", l)
                        .SetCount("group-spines", s)
                        .SetCount("hosts-per-leaf", p)
                        .SetCount("global-links", h);
                    const Topology t = Make(r);
                    const uint32_t each = g > 1 ? s * h / (g - 1) : 0;
                    ASSERT_EQ(SwitchesOf(t, 1).size(), l * g);
                    ASSERT_EQ(SwitchesOf(t, 2).size(), s * g);
                    ASSERT_EQ(FabricLinks(t), g * l * s + g * (g - 1) / 2 * each);
                    for (const topo::NodeId n : SwitchesOf(t, 1))
                    {
                        const Reach reach = ReachOf(t, n);
                        for (const topo::NodeId m : SwitchesOf(t, 1))
                        {
                            const bool same = t.Coordinates(n)[0] == t.Coordinates(m)[0];
                            ASSERT_EQ(reach.distance[m], n == m ? 0u : same ? 2u : 3u);
                            ASSERT_EQ(reach.paths[m], n == m ? 1u : same ? s : each);
                        }
                    }
                }
            }
        }
    }
}

TEST(DragonflyPlus, ChosenShapeAndErrors)
{
    // 2 leaves of 2 ports, 2 spines of 2: 5 groups of 4.
    const Topology t = Make(Request("dragonfly-plus", 20));
    EXPECT_EQ(SwitchesOf(t, 1).size(), 10u);
    EXPECT_EQ(SwitchesOf(t, 2).size(), 10u);
    // 3 and 3: 10 groups of 9; of 21 servers 3.
    EXPECT_EQ(SwitchesOf(Make(Request("dragonfly-plus", 21)), 1).size(), 9u);
    EXPECT_EQ(Errors(Request("dragonfly-plus")),
              "hosts: a dragonfly+ needs a number of servers, or all of groups, group leaves and "
              "hosts per leaf\n");
    TopologyRequest r = Request("dragonfly-plus", 100);
    r.parameters.SetCount("groups", 3).SetCount("group-leaves", 2).SetCount("hosts-per-leaf", 4);
    EXPECT_EQ(Errors(r),
              "groups: 3 of 2 leaves with 4 server ports have 24, but 100 servers need 100\n");
}

/// Where the sizes say how many server ports there are, that is how many servers there are.
TEST(LowDiameter, AllServersThatFit)
{
    for (const uint32_t g : {2u, 5u, 9u})
    {
        for (const uint32_t nics : {1u, 2u, 3u})
        {
            TopologyRequest r = Request("dragonfly");
            r.nicsPerServer = nics;
            r.parameters.SetCount("groups", g)
                .SetCount("group-switches", 8)
                .SetCount("hosts-per-switch", 1);
            EXPECT_EQ(Make(r).Hosts().size(), g * 8 / nics);
            TopologyRequest plus = Request("dragonfly-plus");
            plus.nicsPerServer = nics;
            plus.parameters.SetCount("groups", g)
                .SetCount("group-leaves", 3)
                .SetCount("hosts-per-leaf", 4);
            const Topology t = Make(plus);
            EXPECT_EQ(t.Hosts().size(), g * 12 / nics);
            // s spines of s links join s x s + 1 groups: 1 joins 2 of them, 2 join 5, 3 join 10.
            const uint32_t spines = g == 2 ? 1 : g == 5 ? 2 : 3;
            EXPECT_EQ(SwitchesOf(t, 2).size(), g * spines);
        }
    }
    TopologyRequest r = DragonflyOf(1, 2, 1, 3);
    r.hosts = 0;
    r.nicsPerServer = 7;
    EXPECT_EQ(Errors(r), "nicsPerServer: 7 NICs find no place in this network\n");
}

/// Ahn et al., section 2: switches that differ in j coordinates are j links apart, by j! paths; a
/// dimension of size S has P / S x S (S - 1) / 2 links, and cut in two halves P / S x floor(S/2) x
/// ceil(S/2) of them cross.
TEST(HyperX, Formulas)
{
    for (const Sizes& sizes : {Sizes{2},
                               Sizes{5},
                               Sizes{2, 2},
                               Sizes{4, 3},
                               Sizes{2, 2, 2, 2},
                               Sizes{3, 2, 5},
                               Sizes{7, 3}})
    {
        for (const uint32_t ports : {1u, 3u})
        {
            SCOPED_TRACE(topo::SizesText(sizes));
            TopologyRequest r = Request("hyperx");
            r.parameters.SetSizes("hyperx", sizes).SetCount("hosts-per-switch", ports);
            const Topology t = Make(r);
            uint32_t switches = 1;
            for (const uint32_t s : sizes)
            {
                switches *= s;
            }
            uint32_t links = 0;
            for (size_t d = 0; d < sizes.size(); ++d)
            {
                const uint32_t s = sizes[d];
                links += switches / s * s * (s - 1) / 2;
                EXPECT_EQ(Across(t, [&](topo::NodeId n) { return t.Coordinates(n)[d] < s / 2; }),
                          switches / s * (s / 2) * ((s + 1) / 2));
            }
            EXPECT_EQ(t.SwitchCount(), switches);
            EXPECT_EQ(t.Hosts().size(), ports * switches);
            EXPECT_EQ(FabricLinks(t), links);
            for (const topo::NodeId n : SwitchesOf(t, 1))
            {
                const Reach reach = ReachOf(t, n);
                for (const topo::NodeId m : SwitchesOf(t, 1))
                {
                    uint32_t differ = 0;
                    uint64_t orders = 1;
                    for (size_t d = 0; d < sizes.size(); ++d)
                    {
                        if (t.Coordinates(n)[d] != t.Coordinates(m)[d])
                        {
                            orders *= ++differ;
                        }
                    }
                    ASSERT_EQ(reach.distance[m], differ);
                    ASSERT_EQ(reach.paths[m], orders);
                }
            }
        }
    }
}

TEST(HyperX, ChosenShapeAndErrors)
{
    // 3 x 3 switches of 3 are enough for 27; 28 need a side of 4: 4 a switch, 7 switches, 4 x 2.
    EXPECT_EQ(Make(Request("hyperx", 27)).About().name, "HyperX 3x3");
    EXPECT_EQ(Make(Request("hyperx", 28)).About().name, "HyperX 4x2");
    for (uint32_t servers = 1; servers < 100; servers += 3)
    {
        const Topology t = Make(Request("hyperx", servers));
        EXPECT_EQ(t.Hosts().size(), servers);
    }
    EXPECT_EQ(Errors(Request("hyperx")),
              "hosts: a HyperX needs a number of servers or its sizes\n");
    TopologyRequest r = Request("hyperx", 9);
    r.parameters.SetSizes("hyperx", {2, 2}).SetCount("hosts-per-switch", 2);
    EXPECT_EQ(
        Errors(r),
        "hosts-per-switch: 2 server ports at each of the 4 switches of a HyperX 2x2 are 8, but "
        "9 servers need 9; 3 a switch are enough\n");
}

/// Oehring et al. 1995: m(l+1) .. mh w1 .. wl switches of level l; below a nearest common ancestor
/// of level l, 2 l links between servers, by w2 .. wl paths.
TEST(Xgft, Formulas)
{
    const std::pair<Sizes, Sizes> trees[] = {{{3}, {}},
                                             {{4, 3}, {2}},
                                             {{2, 5}, {1}},
                                             {{3, 2, 2}, {2, 1}},
                                             {{2, 3, 4}, {3, 2}},
                                             {{1, 2, 3, 2}, {1, 3, 2}}};
    for (const auto& [m, w] : trees)
    {
        SCOPED_TRACE(topo::SizesText(m) + " / " + topo::SizesText(w));
        TopologyRequest r = Request("xgft");
        r.parameters.SetSizes("children", m);
        if (!w.empty())
        {
            r.parameters.SetSizes("parents", w);
        }
        const Topology t = Make(r);
        uint32_t servers = 1;
        for (const uint32_t children : m)
        {
            servers *= children;
        }
        ASSERT_EQ(t.Hosts().size(), servers);
        uint32_t above = servers;
        uint32_t copies = 1;
        std::vector<uint64_t> paths; // by level of the ancestor
        for (size_t l = 0; l < m.size(); ++l)
        {
            above /= m[l];
            copies *= l ? w[l - 1] : 1;
            paths.push_back(copies);
            const auto switches = SwitchesOf(t, static_cast<uint8_t>(l + 1));
            ASSERT_EQ(switches.size(), above * copies);
            for (const topo::NodeId n : switches)
            {
                ASSERT_EQ(t.Nodes()[n].ports.size(), m[l] + (l + 1 < m.size() ? w[l] : 0));
            }
        }
        for (uint32_t a = 0; a < servers; ++a)
        {
            const Reach reach = ReachOf(t, t.Hosts()[a]);
            for (uint32_t b = 0; b < servers; ++b)
            {
                size_t level = 0;
                for (uint32_t x = a, y = b; x != y; ++level)
                {
                    x /= m[level];
                    y /= m[level];
                }
                ASSERT_EQ(reach.distance[t.Hosts()[b]], 2 * level) << a << " " << b;
                ASSERT_EQ(reach.paths[t.Hosts()[b]], level ? paths[level - 1] : 1u);
            }
        }
    }
}

/// k/2 x k/2 x k children and k/2 x k/2 parents are the k-ary fat-tree: as many switches, links and
/// paths between any two servers.
TEST(Xgft, KaryFatTree)
{
    for (const uint32_t k : {2u, 4u, 6u})
    {
        TopologyRequest r = Request("xgft");
        r.parameters.SetSizes("children", {k / 2, k / 2, k}).SetSizes("parents", {k / 2, k / 2});
        const Topology a = Make(r);
        TopologyRequest f = Request("fat-tree");
        f.parameters.SetCount("k", k);
        const Topology b = Make(f);
        ASSERT_EQ(a.Hosts().size(), b.Hosts().size());
        ASSERT_EQ(a.SwitchCount(), b.SwitchCount());
        ASSERT_EQ(a.Links().size(), b.Links().size());
        for (size_t s = 0; s < a.Hosts().size(); ++s)
        {
            const Reach x = ReachOf(a, a.Hosts()[s]);
            const Reach y = ReachOf(b, b.Hosts()[s]);
            for (size_t d = 0; d < a.Hosts().size(); ++d)
            {
                ASSERT_EQ(x.distance[a.Hosts()[d]], y.distance[b.Hosts()[d]]);
                ASSERT_EQ(x.paths[a.Hosts()[d]], y.paths[b.Hosts()[d]]);
            }
        }
    }
}

TEST(Xgft, ChosenShapeAndErrors)
{
    // 40 ports: 3 switches of 16, with 16 parents.
    const Topology t = Make(Request("xgft", 40));
    EXPECT_EQ(SwitchesOf(t, 1).size(), 3u);
    EXPECT_EQ(SwitchesOf(t, 2).size(), 16u);
    TopologyRequest r = Request("xgft", 13);
    r.parameters.SetSizes("children", {3, 2, 2}).SetSizes("parents", {2, 1});
    EXPECT_EQ(Errors(r), "children: \"3x2x2\" has 12 server ports, but 13 servers need 13\n");
    r.parameters.SetSizes("parents", {2});
    EXPECT_EQ(Errors(r),
              "parents: \"2\" has to have a number for each level but the top one, 2: "
              "--children=3x2x2 has 3 levels\n");
    EXPECT_EQ(Errors(Request("xgft")),
              "hosts: such a tree needs a number of servers or its children\n");
    r.parameters.SetSizes("children", {2, 0, 2}).SetSizes("parents", {2, 1});
    EXPECT_EQ(Errors(r), "children: \"2x0x2\" has a level of no switches\n");
}

/// --core-oversubscription: capacities of the tiers' uplinks relative to their downlinks.
TEST(FatTree, OversubscriptionOfTheCore)
{
    for (const uint32_t k : {4u, 6u, 8u, 10u})
    {
        for (const double f : {1.0, 2.0, 3.0})
        {
            for (const double f2 : {1.0, 1.5, 2.0, 4.0, 5.0})
            {
                TopologyRequest r = Request("fat-tree");
                r.parameters.SetCount("k", k)
                    .SetFactor("oversubscription", f)
                    .SetFactor("core-oversubscription", f2);
                const Topology t = Make(r);
                std::map<topo::NodeId, double> down;
                std::map<topo::NodeId, double> up;
                for (const topo::Link& l : t.Links())
                {
                    // Links are made from the lower node to the higher one.
                    up[l.a] += static_cast<double>(l.rate.bps);
                    down[l.b] += static_cast<double>(l.rate.bps);
                }
                for (const topo::NodeId edge : SwitchesOf(t, 1))
                {
                    ASSERT_NEAR(down[edge] / up[edge], f, 1e-6);
                }
                for (const topo::NodeId agg : SwitchesOf(t, 2))
                {
                    ASSERT_NEAR(down[agg] / up[agg], f2, 1e-6);
                }
                const auto routes = topo::ComputeRoutes(t);
                for (topo::EndpointId e = 1; e < t.Endpoints().size(); ++e)
                {
                    ASSERT_GT(routes.Hops(0, e), 0u);
                }
            }
        }
    }
}

} // namespace
