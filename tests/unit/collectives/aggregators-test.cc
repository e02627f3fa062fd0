/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Units of switches that add up, and their trees, on networks of several families.
 */
#include "collectives/aggregation/aggregators.h"
#include "topologies/family.h"

#include <algorithm>
#include <gtest/gtest.h>
#include <map>
#include <random>
#include <set>

namespace
{

using coll::AggregationTree;
using coll::Aggregators;
using topo::NodeId;

constexpr uint32_t kNone = AggregationTree::kNone;

topo::Topology
Network(const std::string& family, uint32_t hosts, uint32_t nics, uint32_t k = 0)
{
    topo::TopologyRequest request;
    request.family = family;
    request.hosts = hosts;
    request.nicsPerServer = nics;
    if (k)
    {
        request.parameters.SetCount("k", k);
    }
    auto result = topo::MakeTopology(request);
    EXPECT_TRUE(result.errors.empty()) << result.errors.at(0).Sentence();
    return *result.topology;
}

/// What holds of any network: see each line.
void
Check(topo::Topology topology, const std::vector<uint32_t>& hostOfServer, uint32_t nics)
{
    const std::size_t hosts = topology.Hosts().size();
    const std::size_t endpoints = topology.Endpoints().size();
    const Aggregators made(&topology, hostOfServer, nics, rdma::Nanoseconds(100));
    const auto servers = static_cast<uint32_t>(hostOfServer.size());

    // Servers keep their numbers; units come behind them, one a switch, beside it.
    ASSERT_EQ(topology.Hosts().size(), hosts + made.Units().size());
    EXPECT_GE(topology.Endpoints().size(), endpoints);
    std::set<NodeId> switches;
    for (std::size_t i = 0; i < made.Units().size(); ++i)
    {
        const coll::Aggregator& unit = made.Units()[i];
        EXPECT_EQ(unit.host, hosts + i);
        EXPECT_TRUE(switches.insert(unit.at).second);
        const NodeId host = topology.Hosts()[unit.host];
        EXPECT_EQ(topology.Nodes()[host].name, "sharp-" + topology.Nodes()[unit.at].name);
        for (topo::PortId port = 0; port < topology.Nodes()[host].ports.size(); ++port)
        {
            EXPECT_EQ(topology.Peer(host, port), unit.at);
        }
    }
    ASSERT_EQ(made.Trees().size(), servers > 1 ? nics : 0);
    std::map<uint32_t, std::set<uint32_t>> portsOf; // by unit
    std::size_t edges = 0;
    for (uint32_t nic = 0; nic < made.Trees().size(); ++nic)
    {
        const AggregationTree& tree = made.Trees()[nic];
        const std::size_t stations = tree.nodes.size();
        ASSERT_EQ(tree.parent.size(), stations);
        ASSERT_EQ(tree.stationOf.size(), servers);
        // One root; everybody comes to it; nobody has a single child.
        EXPECT_EQ(std::count(tree.parent.begin(), tree.parent.end(), kNone), 1);
        std::vector<uint32_t> children(stations, 0);
        for (uint32_t station = 0; station < stations; ++station)
        {
            uint32_t steps = 0;
            for (uint32_t s = station; tree.parent[s] != kNone; s = tree.parent[s])
            {
                ASSERT_LT(++steps, stations + 1) << "a circle";
            }
            if (tree.parent[station] != kNone)
            {
                ++children[tree.parent[station]];
                // An edge between stations has a port at both ends, none used by another edge.
                const uint32_t above = tree.nodes[tree.parent[station]];
                const uint32_t below = tree.nodes[station];
                EXPECT_TRUE(portsOf[above].insert(made.PortToUnit(nic, above, below)).second);
                EXPECT_TRUE(portsOf[below].insert(made.PortToUnit(nic, below, above)).second);
                edges += 2;
            }
        }
        for (uint32_t server = 0; server < servers; ++server)
        {
            ASSERT_LT(tree.stationOf[server], stations);
            ++children[tree.stationOf[server]];
            const uint32_t unit = tree.nodes[tree.stationOf[server]];
            const uint32_t port = made.PortToServer(nic, unit, server);
            EXPECT_TRUE(portsOf[unit].insert(port).second);
            ++edges;
            // As fast as the server's NIC where they meet at the same switch.
            const NodeId host = topology.Hosts()[hostOfServer[server]];
            const coll::Aggregator& at = made.Units()[unit];
            if (topology.Peer(host, static_cast<topo::PortId>(nic)) == at.at)
            {
                const NodeId its = topology.Hosts()[at.host];
                EXPECT_EQ(topology.Links()[topology.Nodes()[its].ports[port]].rate,
                          topology.Links()[topology.Nodes()[host].ports[nic]].rate);
            }
            // From every station above it the port is that of the child on the way.
            for (uint32_t s = tree.stationOf[server]; tree.parent[s] != kNone; s = tree.parent[s])
            {
                const uint32_t above = tree.nodes[tree.parent[s]];
                EXPECT_EQ(made.PortToServer(nic, above, server),
                          made.PortToUnit(nic, above, tree.nodes[s]));
            }
        }
        EXPECT_GE(*std::min_element(children.begin(), children.end()), 2u);
    }
    EXPECT_EQ(topology.Endpoints().size(), endpoints + edges) << "ports that nobody uses";
}

std::vector<uint32_t>
Some(uint32_t servers, uint32_t hosts, uint32_t seed)
{
    std::vector<uint32_t> all(hosts);
    for (uint32_t h = 0; h < hosts; ++h)
    {
        all[h] = h;
    }
    std::mt19937 rng(seed);
    std::shuffle(all.begin(), all.end(), rng);
    all.resize(servers);
    return all;
}

TEST(Aggregators, AllNetworksAndPlacements)
{
    for (const uint32_t nics : {1, 2, 3, 8})
    {
        for (const char* family : {"fat-tree", "leaf-spine", "single-switch"})
        {
            const uint32_t hosts = 15;
            const topo::Topology network = Network(family, hosts, nics);
            for (const uint32_t servers : {1, 2, 3, 7, 15})
            {
                SCOPED_TRACE(std::string(family) + ", NICs " + std::to_string(nics) + ", servers " +
                             std::to_string(servers));
                Check(network, Some(servers, hosts, servers * 31 + nics), nics);
            }
        }
    }
    Check(Network("fat-tree", 54, 1, 6), Some(54, 54, 1), 1);
    Check(Network("fat-tree", 54, 1, 6), Some(11, 54, 2), 1);
}

TEST(Aggregators, TreeOfAFatTree)
{
    // k = 4, 16 servers: an edge switch joins 2, an aggregation switch 2 edge switches, and a core
    // switch the 4 pods: 8 + 4 + 1 switches of all 20.
    topo::Topology topology = Network("fat-tree", 16, 1, 4);
    std::vector<uint32_t> all = Some(16, 16, 0);
    std::sort(all.begin(), all.end());
    const Aggregators made(&topology, all, 1, rdma::Nanoseconds(100));
    std::map<std::string, uint32_t> kinds;
    for (const coll::Aggregator& unit : made.Units())
    {
        const std::string& name = topology.Nodes()[unit.at].name;
        ++kinds[name.substr(0, name.find('-'))];
    }
    EXPECT_EQ(kinds, (std::map<std::string, uint32_t>{{"agg", 4}, {"core", 1}, {"edge", 8}}));
    const AggregationTree& tree = made.Trees().at(0);
    EXPECT_EQ(tree.stationOf[0], tree.stationOf[1]);
    EXPECT_NE(tree.stationOf[1], tree.stationOf[2]);
    EXPECT_EQ(tree.parent[tree.stationOf[1]], tree.parent[tree.stationOf[2]]);

    // Two servers behind one switch need that only; two of different pods the core.
    topo::Topology again = Network("fat-tree", 16, 1, 4);
    EXPECT_EQ(Aggregators(&again, {4, 5}, 1, rdma::Nanoseconds(100)).Units().size(), 1u);
    topo::Topology far = Network("fat-tree", 16, 1, 4);
    const Aggregators meet(&far, {0, 15}, 1, rdma::Nanoseconds(100));
    ASSERT_EQ(meet.Units().size(), 1u);
}

TEST(Aggregators, TreesOfNicsUseLinksOfTheirOwn)
{
    // k = 8, 4 servers of 8 NICs: two servers a pod, on two edge switches each, whose 4 NICs have 4
    // uplinks. So no link need carry two trees: a tree has a switch in each pod, where two servers
    // meet, and a core switch. The trees of a server's other edge switch can have the same 4
    // aggregation switches, but their links to the core are others: 2 x 4 + 8 switches.
    topo::Topology topology = Network("fat-tree", 4, 8, 8);
    const Aggregators made(&topology, {0, 1, 2, 3}, 8, rdma::Nanoseconds(100));
    std::set<NodeId> roots;
    for (const AggregationTree& tree : made.Trees())
    {
        ASSERT_EQ(tree.nodes.size(), 3u);
        const auto root = std::find(tree.parent.begin(), tree.parent.end(), kNone);
        roots.insert(
            made.Units()[tree.nodes[static_cast<std::size_t>(root - tree.parent.begin())]].at);
    }
    EXPECT_EQ(roots.size(), 8u);
    EXPECT_EQ(made.Units().size(), 16u);
}

TEST(Aggregators, NicsHaveRootsOfTheirOwn)
{
    // Leaf-spine with several spines: each NIC's tree takes the next one.
    topo::Topology topology = Network("leaf-spine", 32, 4);
    const Aggregators made(&topology, Some(32, 32, 3), 4, rdma::Nanoseconds(100));
    std::set<NodeId> roots;
    uint32_t spines = 0;
    for (const topo::Node& node : topology.Nodes())
    {
        spines += node.kind == topo::NodeKind::kSwitch && node.tier == 2;
    }
    for (const AggregationTree& tree : made.Trees())
    {
        const auto root = std::find(tree.parent.begin(), tree.parent.end(), kNone);
        roots.insert(
            made.Units()[tree.nodes[static_cast<std::size_t>(root - tree.parent.begin())]].at);
    }
    EXPECT_EQ(roots.size(), std::min(4u, spines));
}

} // namespace
