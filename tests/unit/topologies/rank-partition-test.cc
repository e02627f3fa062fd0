// SPDX-License-Identifier: GPL-2.0-only
#include "topologies/family.h"
#include "topologies/rank-partition.h"

#include <algorithm>
#include <gtest/gtest.h>
#include <map>
#include <set>
#include <stdexcept>

namespace
{

using topo::PartitionAmongRanks;
using topo::Topology;

constexpr rdma::BitRate kRate{100000000000};
constexpr rdma::Duration kDelay{1000000};

/// `leaves` leaf switches with `hosts` hosts each, and `spines` spines. Hosts come first.
Topology
LeafSpine(uint32_t leaves, uint32_t hosts, uint32_t spines)
{
    Topology t;
    for (uint32_t i = 0; i < leaves * hosts; ++i)
    {
        t.AddHost("h" + std::to_string(i));
    }
    std::vector<topo::NodeId> leaf;
    for (uint32_t i = 0; i < leaves; ++i)
    {
        leaf.push_back(t.AddSwitch("leaf" + std::to_string(i), 1));
        for (uint32_t h = 0; h < hosts; ++h)
        {
            t.Connect(i * hosts + h, leaf.back(), kRate, kDelay);
        }
    }
    for (uint32_t s = 0; s < spines; ++s)
    {
        const auto spine = t.AddSwitch("spine" + std::to_string(s), 2);
        for (const auto l : leaf)
        {
            t.Connect(l, spine, kRate, kDelay);
        }
    }
    return t;
}

TEST(RankPartition, OneRankHasEverything)
{
    const Topology t = LeafSpine(2, 2, 2);
    EXPECT_EQ(PartitionAmongRanks(t, 1), std::vector<uint32_t>(t.Nodes().size(), 0));
}

TEST(RankPartition, HostsStayWithTheirLeafAndSpinesAreSpread)
{
    const Topology t = LeafSpine(4, 3, 2);
    const auto ranks = PartitionAmongRanks(t, 2);
    for (uint32_t host = 0; host < 12; ++host)
    {
        EXPECT_EQ(ranks[host], host / 6) << host;
        EXPECT_EQ(ranks[host], ranks[t.Peer(host, 0)]) << host;
    }
    EXPECT_NE(ranks[16], ranks[17]) << "both spines see as many leaves of each rank";
}

TEST(RankPartition, PodsOfAFatTreeStayTogether)
{
    topo::TopologyRequest request;
    request.family = "fat-tree";
    request.parameters.SetCount("k", 4);
    const Topology t = *topo::MakeTopology(request).topology;
    for (const uint32_t n : {2U, 4U})
    {
        const auto ranks = PartitionAmongRanks(t, n);
        std::map<uint32_t, uint32_t> cores;
        for (uint32_t node = 0; node < t.Nodes().size(); ++node)
        {
            const auto at = t.Coordinates(node);
            if (at.size() == 2) // pod and number
            {
                EXPECT_EQ(ranks[node], at[0] * n / 4) << t.Nodes()[node].name;
            }
            else if (at.size() == 1) // of the core
            {
                ++cores[ranks[node]];
            }
        }
        EXPECT_EQ(cores.size(), n) << "every rank has cores";
        EXPECT_EQ(cores[0], 4 / n);
    }
}

TEST(RankPartition, FewerSwitchesThanRanksCutTheHostsOff)
{
    const Topology t = LeafSpine(1, 6, 0);
    const auto ranks = PartitionAmongRanks(t, 3);
    EXPECT_EQ(ranks, (std::vector<uint32_t>{0, 0, 1, 1, 2, 2, 0}));
}

TEST(RankPartition, NodesThatNoHostReachesAreSomewhere)
{
    Topology t;
    t.AddHost("a");
    t.AddHost("b");
    t.AddSwitch("alone", 0);
    EXPECT_EQ(PartitionAmongRanks(t, 2), (std::vector<uint32_t>{0, 1, 0}));
}

TEST(RankPartition, EveryRankHasAHostWhateverTheNumbers)
{
    for (uint32_t leaves = 1; leaves <= 7; ++leaves)
    {
        for (uint32_t hosts = 1; hosts <= 4; ++hosts)
        {
            const Topology t = LeafSpine(leaves, hosts, 3);
            for (uint32_t n = 1; n <= leaves * hosts; ++n)
            {
                const auto ranks = PartitionAmongRanks(t, n);
                ASSERT_EQ(ranks.size(), t.Nodes().size());
                EXPECT_LT(*std::max_element(ranks.begin(), ranks.end()), n);
                const std::set<uint32_t> of(ranks.begin(), ranks.begin() + leaves * hosts);
                EXPECT_EQ(of.size(), n) << leaves << " leaves, " << hosts << " hosts";
                EXPECT_TRUE(std::is_sorted(ranks.begin(), ranks.begin() + leaves * hosts))
                    << "contiguous blocks";
            }
        }
    }
}

TEST(RankPartition, MoreRanksThanHostsAreRefused)
{
    const Topology t = LeafSpine(2, 2, 1);
    EXPECT_THROW(PartitionAmongRanks(t, 5), std::invalid_argument);
    EXPECT_THROW(PartitionAmongRanks(t, 0), std::invalid_argument);
}

// All hosts stay with the first rank, and each of the others has a switch, whatever the shape.
TEST(RankPartition, SwitchesAloneGoToOtherRanks)
{
    for (const Topology& t : {LeafSpine(4, 3, 2), LeafSpine(1, 5, 0), LeafSpine(3, 1, 7)})
    {
        for (uint32_t ranks = 1; ranks <= t.SwitchCount() + 1; ++ranks)
        {
            const auto rankOf = topo::PartitionSwitchesAmongRanks(t, ranks);
            std::set<uint32_t> used;
            for (uint32_t node = 0; node < t.Nodes().size(); ++node)
            {
                const bool isSwitch = t.Nodes()[node].kind == topo::NodeKind::kSwitch;
                EXPECT_EQ(rankOf[node] > 0, isSwitch && ranks > 1) << node;
                used.insert(rankOf[node]);
            }
            EXPECT_EQ(used.size(), ranks);
            EXPECT_EQ(*used.rbegin(), ranks - 1);
        }
        EXPECT_THROW(topo::PartitionSwitchesAmongRanks(t, t.SwitchCount() + 2),
                     std::invalid_argument);
        EXPECT_THROW(topo::PartitionSwitchesAmongRanks(t, 0), std::invalid_argument);
    }
}

} // namespace
