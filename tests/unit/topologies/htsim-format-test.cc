/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "results-of.h"
#include "topologies/formats/htsim-format.h"

#include <gtest/gtest.h>

namespace
{

using topo::Topology;

/// Four leaves of four hosts of 100 Gb/s, two uplinks of 200 Gb/s each.
const std::string kLeafSpine = "Nodes 16\n"
                               "Tiers 2\n"
                               "Podsize 16\n"
                               "\n"
                               "Tier 0\n"
                               "Downlink_speed_Gbps 100\n"
                               "Radix_Down 4\n"
                               "Radix_Up 2\n"
                               "Downlink_Latency_ns 500\n"
                               "\n"
                               "Tier 1\n"
                               "Downlink_speed_Gbps 200\n"
                               "Radix_Down 4\n"
                               "Downlink_Latency_ns 500\n";

/// k = 4 with one uplink less at each edge, and bundles of two above the aggregation.
const std::string kThreeTiers = "# made by hand\n"
                                "Nodes 16\nTiers 3\nPodsize 4\n"
                                "Tier 0\nOversubscribed 2\nDownlink_speed_Gbps 100\n"
                                "Radix_Down 2\nRadix_Up 1\nDownlink_Latency_ns 1000\n"
                                "Switch_Latency_ns 300\n"
                                "Tier 1\ndownlink_speed_gbps 100\nRadix_Down 2\nRadix_Up 2\n"
                                "Downlink_Latency_ns 2000\nSwitch_Latency_ns 300\nBundle 1\n"
                                "Tier 2\nDownlink_speed_Gbps 100\nRadix_Down 8\nBundle 2\n"
                                "Downlink_Latency_ns 3000\nSwitch_Latency_ns 400\n";

std::string
HtsimError(const std::string& from, const std::string& to, const std::string& text = kLeafSpine)
{
    const auto result = topo::ReadHtsimTopology(Edited(text, from, to), "a.topo");
    return result.errors.empty() ? "" : result.errors[0].Sentence();
}

/// All that a simulation sees of it.
std::string
Told(const Topology& t)
{
    std::string text;
    for (const topo::Node& node : t.Nodes())
    {
        text += node.name + " " + std::to_string(node.tier) + "\n";
    }
    for (const topo::Link& link : t.Links())
    {
        text += t.LinkName(&link - t.Links().data(), true) + " " + std::to_string(link.rate.bps) +
                " " + std::to_string(link.delay.ps) + "\n";
    }
    return text;
}

TEST(HtsimFormat, LeafSpineIsTheFamilys)
{
    const auto result = topo::ReadHtsimTopology(kLeafSpine, "a.topo");
    ASSERT_TRUE(result.topology) << ErrorsOf(result);
    topo::TopologyRequest r;
    r.family = "leaf-spine";
    r.hosts = 16;
    r.fabricRate = rdma::Gbps(200);
    r.linkDelay = rdma::Nanoseconds(500);
    r.parameters.SetCount("leaves", 4).SetCount("spines", 2).SetCount("hosts-per-leaf", 4);
    EXPECT_EQ(Told(*result.topology), Told(*topo::MakeTopology(r).topology));
    EXPECT_FALSE(topo::HtsimSwitchLatency(kLeafSpine)) << "the file does not say";
}

TEST(HtsimFormat, FatTreeIsTheFamilys)
{
    const std::string text =
        Edited(Edited(Edited(kThreeTiers, "Bundle 2\n", ""), "Radix_Down 8", "Radix_Down 4"),
               "Oversubscribed 2\nDownlink_speed_Gbps 100\nRadix_Down 2\nRadix_Up 1",
               "Downlink_speed_Gbps 100\nRadix_Down 2\nRadix_Up 2");
    const auto result = topo::ReadHtsimTopology(text, "a.topo");
    ASSERT_TRUE(result.topology) << ErrorsOf(result);
    topo::TopologyRequest r;
    r.family = "fat-tree";
    r.parameters.SetCount("k", 4);
    const Topology tree = *topo::MakeTopology(r).topology;
    ASSERT_EQ(result.topology->Links().size(), tree.Links().size());
    for (topo::LinkId l = 0; l < tree.Links().size(); ++l)
    {
        EXPECT_EQ(result.topology->LinkName(l, true), tree.LinkName(l, true));
    }
}

TEST(HtsimFormat, BundlesAndLatencies)
{
    const auto result = topo::ReadHtsimTopology(kThreeTiers, "a.topo");
    ASSERT_TRUE(result.topology) << ErrorsOf(result);
    const Topology& t = *result.topology;
    // 8 edges, 4 aggregation switches with one core each, two links to it.
    EXPECT_EQ(t.SwitchCount(), 8u + 4u + 1u);
    EXPECT_EQ(t.Links().size(), 16u + 8u + 4u * 2u);
    EXPECT_TRUE(t.FindLink("agg-3-0->core-0#1"));
    const auto delay = [&](const char* name) {
        return t.Links()[t.FindLink(name).value().link].delay.ps;
    };
    // The core's 100 ns more than the least are in its links, half in each of the two that a path
    // takes.
    EXPECT_EQ(topo::HtsimSwitchLatency(kThreeTiers), rdma::Nanoseconds(300));
    EXPECT_EQ(delay("server-0->edge-0-0"), 1000000);
    EXPECT_EQ(delay("edge-0-0->agg-0-0"), 2000000);
    EXPECT_EQ(delay("agg-0-0->core-0"), 3050000);
    ASSERT_EQ(result.notes.size(), 1u);
    EXPECT_EQ(result.notes[0],
              "a.topo: tiers of different Switch_Latency_ns: taken as --switch-latency=300ns, with "
              "the rest in the delays of links at switches of the other tiers");
    const auto without =
        topo::ReadHtsimTopology(Edited(kThreeTiers, "Switch_Latency_ns 300\nTier 1", "Tier 1"),
                                "a.topo");
    ASSERT_EQ(without.notes.size(), 1u);
    EXPECT_EQ(without.notes[0].rfind("a.topo: tiers of different Switch_Latency_ns (none is 0): "
                                     "taken as --switch-latency=0ns, with",
                                     0),
              0u)
        << without.notes[0];

    // Of a tier in the middle, half goes to each side.
    const auto middle = topo::ReadHtsimTopology(
        Edited(kThreeTiers, "2000\nSwitch_Latency_ns 300", "2000\nSwitch_Latency_ns 501"),
        "a.topo");
    ASSERT_TRUE(middle.topology);
    EXPECT_EQ(middle.topology->Links()[16].delay.ps, 2000000 + 100500);
    EXPECT_EQ(middle.topology->Links()[24].delay.ps, 3000000 + 50000 + 100500);
}

TEST(HtsimFormat, ErrorsNameTheLineAndWhatIsRight)
{
    EXPECT_EQ(HtsimError("Radix_Down 4\nDownlink", "Radix_Down 5\nDownlink"),
              "a.topo:13: Tier 1: Radix_Down 5 contradicts other keys; allowed: 4, a bundle of 1 "
              "for each of 4 leaves");
    EXPECT_EQ(HtsimError("Radix_Up 2", "Radix_Up 2\nOversubscribed 2"),
              "a.topo:9: Tier 0: Oversubscribed 2 contradicts other keys: 4 downlinks of 100 Gb/s "
              "and 2 uplinks of 200 Gb/s are 1:1");
    EXPECT_EQ(HtsimError("Radix_Up 2", "Radix_Upp 2"),
              "a.topo:8: \"Radix_Upp\" is no key (did you mean Radix_Up?); allowed here: "
              "Downlink_speed_Gbps, Downlink_Latency_ns, Switch_Latency_ns, Radix_Down, Radix_Up, "
              "Oversubscribed, Bundle, Queue_Up, Queue_Down or Tier");
    EXPECT_EQ(HtsimError("Radix_Up 2\n", ""), "a.topo:5: Tier 0: Radix_Up is missing");
    EXPECT_EQ(HtsimError("Radix_Up 2", "Radix_Up two"),
              "a.topo:8: \"two\" is not the value of Radix_Up; allowed: a whole number from 1 to "
              "65535");
    EXPECT_EQ(HtsimError("Podsize 16", "Podsize 8"),
              "a.topo:3: Podsize 8 of two tiers is not all 16 nodes");
    EXPECT_EQ(HtsimError("Tiers 2", "Tiers 3"), "a.topo:2: Tier 2 is missing");
    EXPECT_EQ(HtsimError("Tier 1\n", "Tier 0\n"), "a.topo:11: Tier 0 a second time; allowed: once");
    EXPECT_EQ(HtsimError("Nodes 16\n", ""), "a.topo:1: Nodes is missing");
    EXPECT_NE(HtsimError("Tiers 2", "Connections 2").find("is of a connection matrix"),
              std::string::npos);
    EXPECT_EQ(HtsimError("Nodes 16", "Nodes 18", kThreeTiers),
              "a.topo:4: Podsize 4 does not divide the 18 nodes");
    EXPECT_NE(HtsimError("Radix_Up 2\nDown", "Radix_Up 3\nDown", kThreeTiers)
                  .find("Radix_Up 3 is not a multiple of the bundle of Tier 2, 2"),
              std::string::npos);
}

TEST(HtsimFormat, PublishedFiles)
{
    // Broadcom/csg-htsim: sim/datacenter/topologies/zrs.topo (82c1ab22): 12 pods of 6 x 6 hosts,
    // two cores above each aggregation switch, by three links.
    const auto result = topo::ReadHtsimTopology(
        "Nodes 432\nTiers 3\nPodsize 36\n\nTier 0\nDownlink_speed_Gbps 100\nRadix_Down 6\n"
        "Radix_Up 6\nDownlink_Latency_ns 1000\n\nTier 1\nDownlink_speed_Gbps 100\nRadix_Down 6\n"
        "Radix_Up 6\nDownlink_Latency_ns 1000\n\nTier 2\nDownlink_speed_Gbps 100\nRadix_Down 36\n"
        "Downlink_Latency_ns 600000\nBundle 3",
        "zrs.topo");
    ASSERT_TRUE(result.topology) << ErrorsOf(result);
    EXPECT_EQ(result.topology->SwitchCount(), 12u * (6 + 6) + 12);
    EXPECT_EQ(result.topology->Links().size(), 432u * 3);
}

TEST(HtsimFormat, RandomEditsNeverCrash)
{
    for (const std::string& valid : {kLeafSpine, kThreeTiers})
    {
        ExpectNoCrashOfRandomEdits(valid, 4, 10, "0123456789 \n#T_", [](const auto& text) {
            return topo::ReadHtsimTopology(text, "a.topo");
        });
    }
}

} // namespace
