/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Placement policies: what holds on every network, and what each of them promises.
 */
#include "scenarios/placement/placement.h"
#include "scenarios/placement/switch-groups.h"
#include "tests/unit/scenarios/parse-words.h"
#include "topologies/family.h"

#include <algorithm>
#include <gtest/gtest.h>
#include <map>
#include <set>

namespace scenario
{
namespace
{

topo::Topology
Made(const topo::TopologyRequest& request)
{
    auto made = topo::MakeTopology(request);
    EXPECT_TRUE(made.topology) << request.family;
    return std::move(*made.topology);
}

topo::Topology
FatTree(uint32_t k)
{
    topo::TopologyRequest r;
    r.family = "fat-tree";
    r.parameters.SetCount("k", k);
    return Made(r);
}

topo::Topology
LeafSpine(uint32_t leaves, uint32_t perLeaf)
{
    topo::TopologyRequest r;
    r.family = "leaf-spine";
    r.parameters.SetCount("leaves", leaves).SetCount("hosts-per-leaf", perLeaf);
    return Made(r);
}

topo::Topology
Torus()
{
    topo::TopologyRequest r;
    r.family = "torus";
    topo::Parameters sizes;
    for (const auto& shared : topo::AllParameters())
    {
        if (shared.parameter.name == "torus")
        {
            std::string allowed;
            r.parameters.Set("torus", *topo::ParseParameter(shared.parameter, "3x5", &allowed));
        }
    }
    r.parameters.SetCount("hosts-per-switch", 2);
    return Made(r);
}

/// Switches with so many hosts each, whose hosts do not stand in their order; a host between two
/// hosts without a switch is not there, as no family makes one.
topo::Topology
Uneven(const std::vector<uint32_t>& hostsOf)
{
    topo::Topology graph;
    const topo::NodeId hub = graph.AddSwitch("hub", 2);
    std::vector<topo::NodeId> edges;
    for (std::size_t i = 0; i < hostsOf.size(); ++i)
    {
        edges.push_back(graph.AddSwitch("e" + std::to_string(i), 1));
        graph.Connect(edges.back(), hub, rdma::Gbps(100), rdma::Microseconds(1));
    }
    std::vector<uint32_t> left = hostsOf;
    for (uint32_t number = 0;
         std::any_of(left.begin(), left.end(), [](uint32_t n) { return n > 0; });)
    {
        for (std::size_t i = 0; i < left.size(); ++i)
        {
            if (left[i] > 0)
            {
                --left[i];
                const auto host = graph.AddHost("h" + std::to_string(number++));
                graph.Connect(host, edges[i], rdma::Gbps(100), rdma::Microseconds(1));
            }
        }
    }
    return graph;
}

/// Groups of `perGroup` hosts with `rails` NICs, NIC i of all of a group on the group's switch i.
topo::Topology
Rails(uint32_t groups, uint32_t perGroup, uint32_t rails)
{
    topo::Topology graph;
    const topo::NodeId hub = graph.AddSwitch("hub", 2);
    for (uint32_t g = 0; g < groups; ++g)
    {
        std::vector<topo::NodeId> of;
        for (uint32_t r = 0; r < rails; ++r)
        {
            of.push_back(graph.AddSwitch("rail-" + std::to_string(g) + "-" + std::to_string(r), 1));
            graph.Connect(of.back(), hub, rdma::Gbps(100), rdma::Microseconds(1));
        }
        for (uint32_t h = 0; h < perGroup; ++h)
        {
            const auto host = graph.AddHost("s" + std::to_string(g * perGroup + h));
            for (const topo::NodeId rail : of)
            {
                graph.Connect(host, rail, rdma::Gbps(100), rdma::Microseconds(1));
            }
        }
    }
    return graph;
}

std::vector<topo::Topology>
AllNetworks()
{
    std::vector<topo::Topology> networks;
    networks.push_back(FatTree(4));
    networks.push_back(FatTree(6));
    networks.push_back(LeafSpine(5, 3));
    networks.push_back(LeafSpine(3, 7));
    networks.push_back(Torus());
    networks.push_back(Uneven({1, 4, 2, 5}));
    networks.push_back(Rails(3, 5, 4));
    return networks;
}

const std::vector<PlacementPolicy> kPolicies = {PlacementPolicy::kLinear,
                                                PlacementPolicy::kPacked,
                                                PlacementPolicy::kSpread,
                                                PlacementPolicy::kRandom,
                                                PlacementPolicy::kRail,
                                                PlacementPolicy::kFragmented};

PlacementRequest
Ask(PlacementPolicy policy, uint32_t servers, const topo::Topology& network)
{
    PlacementRequest request;
    request.policy = policy;
    request.servers = servers;
    request.hosts = static_cast<uint32_t>(network.Hosts().size());
    return request;
}

/// Servers by edge switch.
std::map<uint32_t, uint32_t>
ByEdge(const topo::Topology& network, const std::vector<uint32_t>& hosts)
{
    std::map<uint32_t, uint32_t> count;
    for (const uint32_t host : hosts)
    {
        ++count[PlaceOfHost(network, host).rack];
    }
    return count;
}

std::map<uint32_t, uint32_t>
AllByEdge(const topo::Topology& network)
{
    std::vector<uint32_t> all(network.Hosts().size());
    for (uint32_t i = 0; i < all.size(); ++i)
    {
        all[i] = i;
    }
    return ByEdge(network, all);
}

TEST(Placement, EveryPolicyIsInjectiveAndRepeats)
{
    for (const topo::Topology& network : AllNetworks())
    {
        const auto hosts = static_cast<uint32_t>(network.Hosts().size());
        for (const PlacementPolicy policy : kPolicies)
        {
            for (const uint32_t servers : {1u, 2u, 3u, 7u, hosts - 1, hosts})
            {
                PlacementRequest request = Ask(policy, servers, network);
                const auto placed = PlaceServers(request, network);
                ASSERT_EQ(placed.size(), servers) << PlacementName(policy);
                const std::set<uint32_t> distinct(placed.begin(), placed.end());
                EXPECT_EQ(distinct.size(), servers) << PlacementName(policy);
                EXPECT_LT(*distinct.rbegin(), hosts) << PlacementName(policy);
                EXPECT_EQ(placed, PlaceServers(request, network)) << PlacementName(policy);
            }
        }
    }
}

TEST(Placement, HostsThatAreTakenAreLeftAlone)
{
    for (const topo::Topology& network : AllNetworks())
    {
        const auto hosts = static_cast<uint32_t>(network.Hosts().size());
        for (const PlacementPolicy policy : kPolicies)
        {
            PlacementRequest request = Ask(policy, hosts, network);
            for (uint32_t host = 0; host < hosts; ++host)
            {
                request.taken.push_back(host % 3 == 1);
            }
            const auto placed = PlaceServers(request, network);
            EXPECT_EQ(placed.size(), hosts - (hosts + 1) / 3); // 1, 4, 7, ... of them are taken
            for (const uint32_t host : placed)
            {
                EXPECT_NE(host % 3, 1u) << PlacementName(policy);
            }
        }
    }
}

TEST(Placement, PackedFillsEdges)
{
    for (const topo::Topology& network : AllNetworks())
    {
        const std::map<uint32_t, uint32_t> room = AllByEdge(network);
        for (uint32_t servers = 1; servers <= network.Hosts().size(); ++servers)
        {
            const auto placed =
                PlaceServers(Ask(PlacementPolicy::kPacked, servers, network), network);
            uint32_t partly = 0;
            for (const auto& [edge, count] : ByEdge(network, placed))
            {
                partly += count < room.at(edge);
            }
            EXPECT_LE(partly, 1u) << servers; // all are full but the last
        }
    }
}

TEST(Placement, SpreadBalancesWithinOne)
{
    for (const topo::Topology& network : AllNetworks())
    {
        const std::map<uint32_t, uint32_t> room = AllByEdge(network);
        for (uint32_t servers = 1; servers <= network.Hosts().size(); ++servers)
        {
            const auto placed =
                PlaceServers(Ask(PlacementPolicy::kSpread, servers, network), network);
            auto count = ByEdge(network, placed);
            uint32_t most = 0;
            for (const auto& [edge, n] : count)
            {
                most = std::max(most, n);
            }
            for (const auto& [edge, n] : room)
            {
                // One that has room for more is at most one behind.
                EXPECT_GE(count[edge] + 1, std::min(most, n + 1)) << servers;
            }
        }
    }
}

TEST(Placement, SpreadTakesPodsInTurn)
{
    const topo::Topology network = FatTree(6); // 6 pods
    const auto placed = PlaceServers(Ask(PlacementPolicy::kSpread, 8, network), network);
    std::map<uint32_t, uint32_t> pods;
    for (const uint32_t host : placed)
    {
        ++pods[PlaceOfHost(network, host).part];
    }
    EXPECT_EQ(pods.size(), 6u);
    for (const auto& [pod, count] : pods)
    {
        EXPECT_LE(count, 2u);
    }
}

TEST(Placement, RailTakesTheSmallestGroupThatHasRoom)
{
    // Groups of 5 hosts, of which the first has 1 and the second 3 free: a job of 3 goes to the
    // second, one of 4 to the third.
    const topo::Topology rails = Rails(3, 5, 4);
    PlacementRequest request = Ask(PlacementPolicy::kRail, 3, rails);
    request.taken = {true, true, true, true, false, false, true, false, true, false};
    EXPECT_EQ(PlaceServers(request, rails), (std::vector<uint32_t>{5, 7, 9}));
    request.servers = 4;
    EXPECT_EQ(PlaceServers(request, rails), (std::vector<uint32_t>{10, 11, 12, 13}));
    // Of 7 no group has room: the fullest come first, so two groups are enough, and the third one's
    // rest is not touched.
    request.servers = 7;
    EXPECT_EQ(PlaceServers(request, rails), (std::vector<uint32_t>{10, 11, 12, 13, 14, 5, 7}));

    // With one NIC a group is an edge: k = 6 has 3 hosts at each, 9 in a pod.
    const topo::Topology tree = FatTree(6);
    request = Ask(PlacementPolicy::kRail, 3, tree);
    request.taken = {true};
    EXPECT_EQ(PlaceServers(request, tree), (std::vector<uint32_t>{3, 4, 5}));
    // 8 fit into the first pod, which is the smallest with room; its edge with 2 comes last.
    request.servers = 8;
    EXPECT_EQ(PlaceServers(request, tree), (std::vector<uint32_t>{3, 4, 5, 6, 7, 8, 1, 2}));
}

TEST(Placement, FragmentedLeavesTheShareOfOthers)
{
    for (const topo::Topology& network : AllNetworks())
    {
        const auto hosts = static_cast<uint32_t>(network.Hosts().size());
        for (const double share : {0.0, 0.25, 0.5, 0.9, 1.0})
        {
            PlacementRequest request = Ask(PlacementPolicy::kFragmented, hosts, network);
            request.occupied = share;
            const auto others = static_cast<uint32_t>(std::llround(share * hosts));
            EXPECT_EQ(FreeHosts(request), hosts - others);
            EXPECT_EQ(PlaceServers(request, network).size(), hosts - others);
        }
        PlacementRequest request = Ask(PlacementPolicy::kFragmented, 1, network);
        request.occupied = 0.5;
        request.servers = FreeHosts(request);
        std::set<std::vector<uint32_t>> seen;
        for (uint64_t seed = 1; seed <= 5; ++seed)
        {
            request.seed = seed;
            seen.insert(PlaceServers(request, network));
        }
        EXPECT_GT(seen.size(), 1u); // of binomial(12, 6) = 924 ways and more, five times the same
    }
}

TEST(Placement, RandomIsASeededShuffle)
{
    const topo::Topology network = LeafSpine(4, 25);
    PlacementRequest request = Ask(PlacementPolicy::kRandom, 100, network);
    auto all = PlaceServers(request, network);
    request.seed = 2;
    EXPECT_NE(all, PlaceServers(request, network));
    std::sort(all.begin(), all.end());
    EXPECT_EQ(all, PlaceServers(Ask(PlacementPolicy::kLinear, 100, network), network));
    // Among the hosts that are there, and no others.
    request.hosts = 8;
    request.servers = 5;
    for (const uint32_t host : PlaceServers(request, network))
    {
        EXPECT_LT(host, 8u);
    }
}

std::string
ErrorOf(const std::string& options)
{
    const auto result = ParseWords<CollperfScenario>(options);
    EXPECT_EQ(result.errors.size(), 1u) << options;
    return result.errors.empty() ? "" : result.errors.front().Text();
}

TEST(Placement, Options)
{
    // Linear and random stand on the servers of the network, the others look at all of it.
    const std::string cluster = "--ranks=4 --topology=fat-tree --k=4 --placement=";
    for (const PlacementPolicy policy : kPolicies)
    {
        const auto result = ParseWords<CollperfScenario>(cluster + PlacementName(policy));
        ASSERT_TRUE(result.scenario) << PlacementName(policy);
        EXPECT_EQ(result.scenario->cluster.placement, policy);
        EXPECT_EQ(result.scenario->run.asRun["cluster"]["servers"],
                  ChoosesAmongAll(policy) ? 16 : 4);
        // The configuration as run means the same.
        const auto again = ValidateCollperf(ReadScenarioText(CollperfOptionTable(),
                                                             result.scenario->run.asRun.dump(),
                                                             "again.json"));
        ASSERT_TRUE(again.scenario) << again.errors.front().Text();
        EXPECT_EQ(again.scenario->cluster.hostOfServer, result.scenario->cluster.hostOfServer);
    }
    const auto spread = ParseWords<CollperfScenario>(cluster + "spread");
    EXPECT_EQ(spread.scenario->cluster.hostOfServer, (std::vector<uint32_t>{0, 4, 8, 12}));

    EXPECT_NE(ErrorOf(cluster + "packed --occupied=0.5").find("--occupied=0.5"), std::string::npos);
    // 13 of 16 hosts are the others', and 3 are left.
    const std::string few = ErrorOf(cluster + "fragmented --occupied=0.8");
    EXPECT_NE(few.find("--placement=fragmented"), std::string::npos) << few;
    EXPECT_NE(few.find("13 of 16 hosts"), std::string::npos) << few;
    EXPECT_NE(few.find("at most 3"), std::string::npos) << few;
    EXPECT_NE(ErrorOf(cluster + "fragmented --occupied=1.5").find("0 to 1"), std::string::npos);
    EXPECT_NE(ErrorOf(cluster + "best").find("packed"), std::string::npos);
}

} // namespace
} // namespace scenario
