/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "contrib/rdma/core/ecmp-routes.h"

#include <chrono>
#include <deque>
#include <gtest/gtest.h>
#include <random>
#include <utility>

namespace
{

using rdma::EcmpRoutes;
using rdma::RouteEndpoint;
using rdma::RouteLink;

/// A graph that numbers ports in the order in which links are added, and one endpoint a host port.
struct Graph
{
    std::vector<bool> isHost;
    std::vector<RouteLink> links;
    std::vector<uint16_t> degree;

    uint32_t Add(bool host)
    {
        isHost.push_back(host);
        degree.push_back(0);
        return static_cast<uint32_t>(isHost.size() - 1);
    }

    uint32_t Host()
    {
        return Add(true);
    }

    uint32_t Switch()
    {
        return Add(false);
    }

    std::pair<uint32_t, uint32_t> TwoSwitches()
    {
        const uint32_t first = Switch();
        return {first, Switch()};
    }

    void Link(uint32_t a, uint32_t b)
    {
        const uint16_t pa = degree[a]++;
        const uint16_t pb = degree[b]++;
        links.push_back({a, b, pa, pb});
    }

    std::vector<RouteEndpoint> Endpoints() const
    {
        std::vector<RouteEndpoint> all;
        for (uint32_t n = 0; n < isHost.size(); ++n)
        {
            for (uint16_t p = 0; isHost[n] && p < degree[n]; ++p)
            {
                all.push_back({n, p});
            }
        }
        return all;
    }

    EcmpRoutes Routes() const
    {
        return EcmpRoutes::Compute(isHost, links, Endpoints());
    }
};

std::vector<uint16_t>
List(EcmpRoutes::Ports ports)
{
    return {ports.begin(), ports.end()};
}

using Ports = std::vector<uint16_t>;

/// k-ary fat-tree after Al-Fares et al.: pods of k/2 edge and k/2 aggregation switches, (k/2)^2
/// core switches.
Graph
FatTree(uint32_t k)
{
    Graph g;
    const uint32_t half = k / 2;
    std::vector<uint32_t> core(half * half);
    for (auto& c : core)
    {
        c = g.Switch();
    }
    for (uint32_t pod = 0; pod < k; ++pod)
    {
        std::vector<uint32_t> agg(half);
        for (uint32_t a = 0; a < half; ++a)
        {
            agg[a] = g.Switch();
            for (uint32_t c = 0; c < half; ++c)
            {
                g.Link(agg[a], core[a * half + c]);
            }
        }
        for (uint32_t e = 0; e < half; ++e)
        {
            const uint32_t edge = g.Switch();
            for (uint32_t h = 0; h < half; ++h)
            {
                g.Link(g.Host(), edge);
            }
            for (const uint32_t a : agg)
            {
                g.Link(edge, a);
            }
        }
    }
    return g;
}

TEST(EcmpRoutes, Star)
{
    Graph g;
    const uint32_t sw = g.Switch();
    for (int i = 0; i < 3; ++i)
    {
        g.Link(sw, g.Host());
    }
    const auto r = g.Routes();
    for (uint32_t e = 0; e < 3; ++e)
    {
        EXPECT_EQ(List(r.NextHops(sw, e)), Ports{static_cast<uint16_t>(e)});
        EXPECT_TRUE(r.NextHops(1, e).empty()) << "hosts do not forward";
    }
    EXPECT_TRUE(r.GroupOfEndpoint(1).empty());
    EXPECT_EQ(r.GroupOfEndpoint(sw).size(), 3u);
    EXPECT_EQ(r.Hops(0, 2), 2u);
    EXPECT_EQ(r.Hops(1, 1), 0u);
}

TEST(EcmpRoutes, ParallelLinksAreSeparatePorts)
{
    //  h0 - s0 ===(3 links)=== s1 - h1       ports of s0: 0 to h0, 1..3 to s1
    Graph g;
    const auto [s0, s1] = g.TwoSwitches();
    g.Link(g.Host(), s0);
    for (int i = 0; i < 3; ++i)
    {
        g.Link(s0, s1);
    }
    g.Link(s1, g.Host());
    const auto r = g.Routes();
    EXPECT_EQ(List(r.NextHops(s0, 1)), (Ports{1, 2, 3}));
    EXPECT_EQ(List(r.NextHops(s1, 0)), (Ports{0, 1, 2}));
    EXPECT_EQ(List(r.NextHops(s1, 1)), (Ports{3}));
    EXPECT_EQ(r.Hops(0, 1), 3u);
}

TEST(EcmpRoutes, OneHostWithTwoPortsIsTwoEndpoints)
{
    // h0 has port 0 on s0 and port 1 on s1; s0 - s1. A frame for port 1 must cross s1, and never
    // h0.
    Graph g;
    const auto [s0, s1] = g.TwoSwitches();
    const uint32_t h = g.Host();
    g.Link(h, s0);
    g.Link(h, s1);
    g.Link(s0, s1);
    const auto r = g.Routes();
    EXPECT_EQ(List(r.NextHops(s0, 0)), Ports{0});
    EXPECT_EQ(List(r.NextHops(s0, 1)), Ports{1});
    EXPECT_EQ(List(r.NextHops(s1, 0)), Ports{1});
    EXPECT_EQ(List(r.NextHops(s1, 1)), Ports{0});
    EXPECT_EQ(r.Hops(0, 1), 3u);
}

TEST(EcmpRoutes, HostsDoNotForward)
{
    // s0 and s1 are joined by host h0 (two ports) only: what is behind s1 is unreachable from s0.
    Graph g;
    const auto [s0, s1] = g.TwoSwitches();
    const uint32_t h0 = g.Host(); // endpoints 0 and 1
    g.Link(h0, s0);
    g.Link(h0, s1);
    g.Link(g.Host(), s1); // endpoint 2
    const auto r = g.Routes();
    EXPECT_TRUE(r.NextHops(s0, 2).empty());
    EXPECT_EQ(r.GroupOfEndpoint(s0)[2], EcmpRoutes::kNoGroup);
    EXPECT_EQ(r.Hops(0, 2), 0u);
    EXPECT_EQ(r.Hops(1, 2), 2u);
}

TEST(EcmpRoutes, DirectlyWiredHosts)
{
    Graph g;
    const uint32_t a = g.Host();
    const uint32_t b = g.Host();
    g.Link(a, b);
    g.Link(a, b);
    const auto r = g.Routes(); // endpoints: a.0, a.1, b.0, b.1
    EXPECT_EQ(r.Hops(0, 2), 1u);
    EXPECT_EQ(r.Hops(2, 0), 1u);
    EXPECT_EQ(r.Hops(1, 3), 1u);
    EXPECT_EQ(r.Hops(0, 3), 0u) << "another cable";
}

TEST(EcmpRoutes, SeparatePartsLooseEndsAndSelfLinks)
{
    Graph g;
    const auto [s0, s1] = g.TwoSwitches();
    const uint32_t h0 = g.Host();
    const uint32_t h1 = g.Host();
    const uint32_t h2 = g.Host();
    g.Link(s0, s0);
    g.Link(h0, s0);
    g.Link(h1, s1);
    g.Link(h2, h2);
    const auto r = EcmpRoutes::Compute(g.isHost, g.links, {{h0, 0}, {h1, 0}, {h2, 0}, {h1, 7}});
    EXPECT_EQ(List(r.NextHops(s0, 0)), Ports{2});
    for (const uint32_t e : {1u, 2u, 3u})
    {
        EXPECT_TRUE(r.NextHops(s0, e).empty());
        EXPECT_EQ(r.Hops(0, e), 0u);
    }
}

TEST(EcmpRoutes, Empty)
{
    EXPECT_NO_THROW(EcmpRoutes::Compute({}, {}, {}));
    const auto r = EcmpRoutes::Compute({false}, {}, {});
    EXPECT_TRUE(r.GroupOfEndpoint(0).empty());
    EXPECT_EQ(r.GroupCount(0), 0u);
}

TEST(EcmpRoutes, MistakesOfTheCallerThrow)
{
    EXPECT_THROW(EcmpRoutes::Compute({true}, {{0, 1, 0, 0}}, {}), std::invalid_argument);
    EXPECT_THROW(EcmpRoutes::Compute({false}, {}, {{0, 0}}), std::invalid_argument);
    EXPECT_THROW(EcmpRoutes::Compute({true}, {}, {{1, 0}}), std::invalid_argument);
    EXPECT_THROW(EcmpRoutes::Compute({true, false, true}, {{0, 1, 0, 0}, {2, 1, 0, 0}}, {}),
                 std::invalid_argument);
}

TEST(EcmpRoutes, FatTreePathCounts)
{
    // Between pods (k/2)^2 shortest paths of 6 links, within a pod k/2 of 4, behind one edge switch
    // 1 of 2.
    for (const uint32_t k : {2u, 4u, 8u})
    {
        const Graph g = FatTree(k);
        const auto r = g.Routes();
        const auto endpoints = g.Endpoints();
        std::vector<std::vector<uint32_t>> peer(g.isHost.size());
        for (uint32_t n = 0; n < g.isHost.size(); ++n)
        {
            peer[n].resize(g.degree[n]);
        }
        for (const auto& l : g.links)
        {
            peer[l.a][l.portA] = l.b;
            peer[l.b][l.portB] = l.a;
        }
        const uint32_t half = k / 2;
        for (uint32_t from = 0; from < endpoints.size(); from += 3)
        {
            for (uint32_t to = 0; to < endpoints.size(); ++to)
            {
                if (from == to)
                {
                    continue;
                }
                // Walk all shortest paths, counting them.
                std::deque<std::pair<uint32_t, uint32_t>> walk{{peer[endpoints[from].host][0], 1}};
                uint32_t paths = 0;
                const uint32_t hops = r.Hops(from, to);
                while (!walk.empty())
                {
                    const auto [node, crossed] = walk.front();
                    walk.pop_front();
                    if (node == endpoints[to].host)
                    {
                        ++paths;
                        EXPECT_EQ(crossed, hops);
                        continue;
                    }
                    ASSERT_FALSE(r.NextHops(node, to).empty());
                    for (const uint16_t p : r.NextHops(node, to))
                    {
                        walk.emplace_back(peer[node][p], crossed + 1);
                    }
                }
                const bool sameEdge = from / half == to / half;
                const bool samePod = from / (half * half) == to / (half * half);
                EXPECT_EQ(paths, sameEdge ? 1 : samePod ? half : half * half);
                EXPECT_EQ(hops, sameEdge ? 2u : samePod ? 4u : 6u);
            }
        }
    }
}

TEST(EcmpRoutes, RandomGraphsAgainstFloydWarshall)
{
    // Reference distances by the triple loop over switches only; every next hop is one nearer, none
    // is missing.
    for (uint32_t seed = 0; seed < 200; ++seed)
    {
        std::mt19937 rng(seed);
        Graph g;
        const uint32_t switches = 1 + rng() % 12;
        for (uint32_t i = 0; i < switches; ++i)
        {
            g.Switch();
            if (i > 0 && rng() % 10 != 0) // mostly connected
            {
                g.Link(i, rng() % i);
            }
        }
        for (uint32_t extra = rng() % 15; extra > 0; --extra)
        {
            g.Link(rng() % switches, rng() % switches); // parallel and self links happen
        }
        for (uint32_t i = rng() % 10 + 1; i > 0; --i)
        {
            const uint32_t h = g.Host();
            for (uint32_t p = rng() % 3; p > 0; --p)
            {
                g.Link(h, rng() % switches);
            }
        }
        std::shuffle(g.links.begin(), g.links.end(), rng);
        const auto endpoints = g.Endpoints();
        const auto r = g.Routes();

        const uint32_t far = 1000;
        std::vector<std::vector<uint32_t>> d(switches, std::vector<uint32_t>(switches, far));
        for (uint32_t i = 0; i < switches; ++i)
        {
            d[i][i] = 0;
        }
        for (const auto& l : g.links)
        {
            if (!g.isHost[l.a] && !g.isHost[l.b] && l.a != l.b)
            {
                d[l.a][l.b] = d[l.b][l.a] = 1;
            }
        }
        for (uint32_t m = 0; m < switches; ++m)
        {
            for (uint32_t i = 0; i < switches; ++i)
            {
                for (uint32_t j = 0; j < switches; ++j)
                {
                    d[i][j] = std::min(d[i][j], d[i][m] + d[m][j]);
                }
            }
        }
        std::vector<uint32_t> attachment(endpoints.size());
        for (uint32_t e = 0; e < endpoints.size(); ++e)
        {
            uint16_t last = 0;
            for (const auto& l : g.links)
            {
                if (l.a == endpoints[e].host && l.portA == endpoints[e].port)
                {
                    attachment[e] = l.b;
                    last = l.portB;
                }
            }
            for (uint32_t s = 0; s < switches; ++s)
            {
                Ports want;
                if (s == attachment[e])
                {
                    want = {last};
                }
                else if (d[s][attachment[e]] < far)
                {
                    for (const auto& l : g.links)
                    {
                        if (g.isHost[l.a] || g.isHost[l.b])
                        {
                            continue;
                        }
                        if (l.a == s && d[l.b][attachment[e]] + 1 == d[s][attachment[e]])
                        {
                            want.push_back(l.portA);
                        }
                        if (l.b == s && d[l.a][attachment[e]] + 1 == d[s][attachment[e]])
                        {
                            want.push_back(l.portB);
                        }
                    }
                    std::sort(want.begin(), want.end());
                }
                ASSERT_EQ(List(r.NextHops(s, e)), want)
                    << "seed " << seed << " switch " << s << " endpoint " << e;
            }
        }
        for (uint32_t i = 0; i < endpoints.size(); ++i)
        {
            for (uint32_t j = 0; j < endpoints.size(); ++j)
            {
                const uint32_t between = d[attachment[i]][attachment[j]];
                ASSERT_EQ(r.Hops(i, j), i == j || between >= far ? 0 : between + 2);
            }
        }
        // Groups of a switch are all different.
        for (uint32_t s = 0; s < switches; ++s)
        {
            for (uint32_t x = 0; x < r.GroupCount(s); ++x)
            {
                for (uint32_t y = 0; y < x; ++y)
                {
                    ASSERT_NE(List(r.Group(s, x)), List(r.Group(s, y)));
                }
            }
        }
    }
}

TEST(EcmpRoutes, Sixteen)
{
    // k = 16: 1,024 hosts, 320 switches, 3 x 1,024 links. Groups: an edge switch 8 hosts + 1 up, an
    // aggregation switch 8 edges + 1 up, a core switch 16 pods.
    const Graph g = FatTree(16);
    ASSERT_EQ(g.links.size(), 3072u);
    const auto start = std::chrono::steady_clock::now();
    const auto r = g.Routes();
    const double s =
        std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    RecordProperty("milliseconds", static_cast<int>(s * 1e3));
    EXPECT_LT(r.MemoryBytes(), 4u << 20);
    uint32_t most = 0;
    for (uint32_t n = 0; n < g.isHost.size(); ++n)
    {
        most = std::max(most, r.GroupCount(n));
    }
    EXPECT_EQ(most, 16u);
}

} // namespace
