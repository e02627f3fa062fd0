/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Racks and pods of ranks, from the network.
 */
#include "scenarios/network/cluster-options.h"
#include "scenarios/placement/switch-groups.h"
#include "topologies/family.h"

#include <gtest/gtest.h>
#include <map>
#include <numeric>

namespace scenario
{
namespace
{

using Groups = std::vector<std::vector<uint32_t>>;

/// Servers of g GPUs on a fat-tree of k, logical server i at host hosts[i].
ClusterSpec
OnFatTree(uint32_t k, const std::vector<uint32_t>& hosts, uint32_t gpus)
{
    topo::Topology tree;
    for (uint32_t pod = 0; pod < k; pod++)
    {
        for (uint32_t edge = 0; edge < k / 2; edge++)
        {
            const auto at = tree.AddSwitchAt("edge", 1, {pod, edge});
            for (uint32_t port = 0; port < k / 2; port++)
            {
                const auto number = (pod * k / 2 + edge) * k / 2 + port;
                const auto host = tree.AddHost("server-" + std::to_string(number));
                tree.Connect(host, at, rdma::BitRate(100000000000), rdma::Duration(1000));
            }
        }
    }
    topo::Description about;
    about.part = "pod";
    tree.Describe(about);
    ClusterSpec cluster;
    cluster.topology = std::move(tree);
    cluster.servers = hosts.size();
    cluster.hostOfServer = hosts;
    cluster.server.gpus = gpus;
    return cluster;
}

std::vector<uint32_t>
FirstHosts(uint32_t count)
{
    std::vector<uint32_t> hosts(count);
    std::iota(hosts.begin(), hosts.end(), 0);
    return hosts;
}

/// Groups by the order in which they come.
Groups
Numbered(const Groups& levels)
{
    Groups numbered;
    for (const auto& level : levels)
    {
        std::map<uint32_t, uint32_t> numbers;
        numbered.emplace_back();
        for (const uint32_t group : level)
        {
            numbered.back().push_back(numbers.emplace(group, numbers.size()).first->second);
        }
    }
    return numbered;
}

Groups
OfAll(const ClusterSpec& cluster)
{
    return Numbered(RankPlacement(cluster).groupOf);
}

TEST(SwitchGroups, RacksAndPodsOfAFatTree)
{
    // k ports: k pods of k / 2 racks of k / 2 servers.
    for (const uint32_t k : {4, 6, 8})
    {
        for (const uint32_t gpus : {1, 2, 3})
        {
            const auto groups = OfAll(OnFatTree(k, FirstHosts(k * k * k / 4), gpus));
            ASSERT_EQ(groups.size(), 2U);
            for (uint32_t rank = 0; rank < k * k * k / 4 * gpus; rank++)
            {
                EXPECT_EQ(groups[0][rank], rank / gpus / (k / 2));
                EXPECT_EQ(groups[1][rank], rank / gpus / (k / 2) / (k / 2));
            }
        }
    }
}

TEST(SwitchGroups, FollowThePlacementAndTheGroup)
{
    // k = 4: hosts 0 1 | 2 3 || 4 5 | 6 7 || 8 ...; servers at 8, 0, 1, 10, 4, 9.
    const auto cluster = OnFatTree(4, {8, 0, 1, 10, 4, 9}, 2);
    EXPECT_EQ(OfAll(cluster),
              (Groups{{0, 0, 1, 1, 1, 1, 2, 2, 3, 3, 0, 0}, {0, 0, 1, 1, 1, 1, 0, 0, 2, 2, 0, 0}}));
    // The second GPUs of servers 3, 0 and 1 alone: each in a rack of its own, two of a pod.
    EXPECT_EQ(Numbered(PlacementOf(cluster, {7, 1, 3}).groupOf), (Groups{{0, 0, 1}}));
    // Servers of one rack, of racks with a server each, one server, none.
    EXPECT_EQ(PlacementOf(cluster, {2, 3, 4, 5}).groupOf, Groups{});
    EXPECT_EQ(PlacementOf(cluster, {0, 2, 8}).groupOf, Groups{});
    EXPECT_EQ(PlacementOf(cluster, {0, 1}).groupOf, Groups{});
    EXPECT_EQ(PlacementOf(cluster, {}).groupOf, Groups{});
}

TEST(SwitchGroups, NetworksWithoutParts)
{
    auto cluster = OnFatTree(4, FirstHosts(16), 1);
    cluster.topology.Describe({});
    EXPECT_EQ(OfAll(cluster), (Groups{{0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5, 6, 6, 7, 7}}));

    // Two servers on a cable.
    topo::Topology cable;
    cable.Connect(cable.AddHost("a"),
                  cable.AddHost("b"),
                  rdma::BitRate(100000000000),
                  rdma::Duration(1000));
    cluster.topology = cable;
    cluster.servers = 2;
    cluster.hostOfServer = {0, 1};
    EXPECT_EQ(OfAll(cluster), Groups{});
}

TEST(PlacementOf, IsWhereRanksAre)
{
    auto cluster = OnFatTree(4, FirstHosts(4), 3);
    cluster.server.nics = 2;
    const coll::Placement placement = PlacementOf(cluster, {11, 0, 4});
    EXPECT_EQ(placement.serverOf, (std::vector<uint32_t>{3, 0, 1}));
    EXPECT_EQ(placement.gpuOf, (std::vector<uint32_t>{2, 0, 1}));
    EXPECT_EQ(placement.nicsPerServer, 2U);
    EXPECT_EQ(placement.gpusPerServer, 3U);
}

} // namespace
} // namespace scenario
