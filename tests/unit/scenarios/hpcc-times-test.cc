/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * HPCC's window and standalone times against numbers worked out by hand from
 * simulation/scratch/third.cc, and what
 * --compat decides.
 */
#include "scenarios/startup/parse.h"
#include "scenarios/traffic/hpcc-times.h"
#include "topologies/families/fat-tree.h"

#include <fstream>
#include <gtest/gtest.h>
#include <unistd.h>

using namespace scenario;
using namespace rdma;

namespace
{

/// Hosts 0 to 2 around a switch, as in the golden runs.
topo::Topology
GoldenTopology()
{
    topo::Topology t;
    const auto a = t.AddHost("a");
    const auto b = t.AddHost("b");
    const auto c = t.AddHost("c");
    const auto s = t.AddSwitch("s", 1);
    t.Connect(a, s, Gbps(10), Microseconds(1));
    t.Connect(b, s, Gbps(100000), Microseconds(1));
    t.Connect(c, s, Gbps(10), Microseconds(1));
    return t;
}

ParseResult<TrafficScenario>
Traffic(std::vector<const char*> args)
{
    args.insert(args.begin(), "traffic");
    args.push_back("--dry-run");
    return ParseAs<TrafficScenario>(static_cast<int>(args.size()), args.data());
}

} // namespace

TEST(HpccTimes, WindowIsTheLargestBandwidthDelayProduct)
{
    // 0 to 2: (4 x 1000 + 2 x 800) ns x 10 Gb/s / 8 = 7000 B; by way of host 1 only 4800 ns.
    EXPECT_EQ(HpccWindow(GoldenTopology(), 1000), 7000u);
    // Payloads of 1024 B take 819.2 ns, cut to 819: 5638 x 10 / 8 = 7047.5, cut.
    EXPECT_EQ(HpccWindow(GoldenTopology(), 1024), 7047u);
    // Farthest hosts first found over the switch next to them: 2 x 3 us + 3 x 80 ns at 100 Gb/s.
    topo::Topology chain;
    const auto a = chain.AddHost("a");
    const auto s = chain.AddSwitch("s", 1);
    const auto t = chain.AddSwitch("t", 1);
    const auto b = chain.AddHost("b");
    chain.Connect(a, s, Gbps(100), Microseconds(1));
    chain.Connect(s, t, Gbps(100), Microseconds(1));
    chain.Connect(t, b, Gbps(100), Microseconds(1));
    EXPECT_EQ(HpccWindow(chain, 1000), 6240u * 100 / 8);
}

TEST(HpccTimes, StandaloneTime)
{
    const std::vector<PathLink> path{{Gbps(10), Microseconds(1), Duration(0)},
                                     {Gbps(100000), Microseconds(1), Duration(0)}};
    // 4000 + 800 + 0.08, cut to 0; then (17,215 + 18 x 48) x 0.8 = 14,463.2.
    EXPECT_EQ(HpccStandaloneNs(path, 17215, 1000), 4800u + 14463u);
    // 1000 B are one packet, 1001 B two.
    EXPECT_EQ(HpccStandaloneNs(path, 1000, 1000), 4800u + 838u);
    EXPECT_EQ(HpccStandaloneNs(path, 1001, 1000), 4800u + 877u);
}

std::string
Attribute(const RunOptions& run, const std::string& name)
{
    for (const auto& [attribute, text] : run.optionAttributes)
    {
        if (attribute == name)
        {
            return text;
        }
    }
    return "";
}

TEST(Compat, DecidesWhatIsNotGiven)
{
    const auto none = Traffic({"--topology=single-switch", "--hosts=4"});
    ASSERT_TRUE(none.scenario);
    EXPECT_EQ(none.scenario->fabric.mtu, 4096u);
    EXPECT_TRUE(none.scenario->fabric.frames.AreStandard());
    EXPECT_EQ(none.scenario->fabric.timeUnit.ps, 0);
    EXPECT_EQ(none.scenario->fabric.windowBytes, 0u);
    // RoCE: ACKs travel in their queue pair's class, CNPs in 6.
    EXPECT_EQ(none.scenario->fabric.ackPriority, 8);
    EXPECT_EQ(Attribute(none.scenario->run, "ns3::RdmaNic::CnpPriority"), "6");
    const auto priorities =
        Traffic({"--topology=single-switch", "--hosts=4", "--ack-priority=5", "--cnp-priority=7"});
    ASSERT_TRUE(priorities.scenario);
    EXPECT_EQ(priorities.scenario->fabric.ackPriority, 5);
    EXPECT_EQ(Attribute(priorities.scenario->run, "ns3::RdmaNic::CnpPriority"), "7");
    EXPECT_FALSE(none.scenario->fabric.variableWindow || none.scenario->fabric.ecnBehind ||
                 none.scenario->completionAtSender);

    const auto hpcc = Traffic({"--topology=single-switch", "--hosts=4", "--compat=hpcc"});
    ASSERT_TRUE(hpcc.scenario);
    const FabricSpec& f = hpcc.scenario->fabric;
    EXPECT_EQ(f.mtu, 1000u);
    EXPECT_EQ(f.frames.DataWire(RoceOpcode::kWriteOnly, 1000), 1048u);
    EXPECT_EQ(f.frames.ackWire, 60u);
    EXPECT_EQ(f.ackEvery, 1u);
    EXPECT_EQ(f.ackPriority, 3);
    EXPECT_EQ(Attribute(hpcc.scenario->run, "ns3::RdmaNic::CnpPriority"), "3");
    EXPECT_EQ(f.timeUnit, Nanoseconds(1));
    EXPECT_EQ(Attribute(hpcc.scenario->run, "ns3::RdmaNic::NakInterval"), "500000000ps");
    EXPECT_EQ(f.switchLatency.ps, 0);
    EXPECT_EQ(f.windowBytes, (4000u + 2 * 80u) * 100 / 8); // 100 Gb/s, 1 us a link
    EXPECT_TRUE(f.variableWindow && f.ecnBehind && f.pfc && f.ecn);
    EXPECT_FALSE(hpcc.scenario->completionAtSender);
    for (const char* key : {"payload",
                            "header_bytes",
                            "ack_bytes",
                            "line_overhead",
                            "time_unit",
                            "window",
                            "variable_window",
                            "ack_priority",
                            "extension_headers",
                            "ecn_behind",
                            "switch_latency",
                            "ack_every",
                            "buffer"})
    {
        EXPECT_TRUE(hpcc.scenario->run.asRun["fabric"].contains(key)) << key;
    }
    EXPECT_FALSE(hpcc.scenario->run.asRun["fabric"].contains("mtu"));

    const auto given = Traffic({"--topology=single-switch",
                                "--hosts=4",
                                "--compat=hpcc",
                                "--mtu=512",
                                "--window=0",
                                "--ack-every=4",
                                "--switch-latency=1us",
                                "--ecn-behind=0",
                                "--time-unit=0",
                                "--completion=sender"});
    ASSERT_TRUE(given.scenario);
    EXPECT_EQ(given.scenario->fabric.mtu, 512u);
    EXPECT_EQ(given.scenario->fabric.windowBytes, 0u);
    EXPECT_EQ(given.scenario->fabric.ackEvery, 4u);
    EXPECT_EQ(given.scenario->fabric.switchLatency, Microseconds(1));
    EXPECT_EQ(given.scenario->fabric.timeUnit.ps, 0);
    EXPECT_FALSE(given.scenario->fabric.ecnBehind);
    EXPECT_TRUE(given.scenario->completionAtSender);
}

TEST(Compat, StartsAreWholeUnits)
{
    const auto jittered =
        Traffic({"--topology=single-switch", "--hosts=4", "--compat=hpcc", "--start-jitter=10us"});
    ASSERT_TRUE(jittered.scenario);
    bool later = false;
    for (const Flow& flow : jittered.scenario->flows)
    {
        EXPECT_EQ(flow.start.ps % 1000, 0);
        later = later || flow.start.ps > 0;
    }
    EXPECT_TRUE(later);
}
