/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "results-of.h"
#include "topologies/formats/hpcc-format.h"
#include "topologies/routes.h"

#include <cmath>
#include <gtest/gtest.h>

namespace
{

using topo::NodeKind;
using topo::Topology;

/// Two switches (2 and 5), four hosts.
const std::string kSmall = "6 2 5\n"
                           "2 5\n"
                           "0 2 100Gbps 1000ns 0.000000\n"
                           "1 2 100Gbps 1000ns 0.000000\n"
                           "3 5 25Gbps 1us 0\n"
                           "4 5 25Gbps 0.001ms 0\n"
                           "2 5 400Gbps 2us 0.01\n";

std::string
Error(const std::string& text)
{
    const auto result = topo::ReadHpccTopology(text, "fat.txt");
    EXPECT_NE(result.topology.has_value(), !result.errors.empty());
    EXPECT_LE(result.errors.size(), 1u);
    return result.errors.empty() ? "" : result.errors[0].Sentence();
}

std::string
Edited(const std::string& from, const std::string& to)
{
    return ::Edited(kSmall, from, to);
}

TEST(HpccFormat, Reads)
{
    const auto result = topo::ReadHpccTopology(kSmall, "fat.txt");
    ASSERT_TRUE(result.topology);
    const Topology& t = *result.topology;
    ASSERT_EQ(t.Nodes().size(), 6u);
    // Node numbers are the file's.
    EXPECT_EQ(t.Hosts(), (std::vector<topo::NodeId>{0, 1, 3, 4}));
    EXPECT_EQ(t.Nodes()[3].name, "server-3");
    EXPECT_EQ(t.Nodes()[5].name, "switch-5");
    EXPECT_EQ(t.Nodes()[5].kind, NodeKind::kSwitch);
    EXPECT_EQ(t.Nodes()[5].tier, 1);
    EXPECT_EQ(t.EndpointOf(2, 0), 2u) << "server-3 is the third host";
    EXPECT_EQ(t.Links()[2].rate, rdma::Gbps(25));
    EXPECT_EQ(t.Links()[0].delay, rdma::Microseconds(1));
    EXPECT_EQ(t.Links()[3].delay, rdma::Microseconds(1));
    EXPECT_EQ(t.Links()[0].bitErrorRate, 0);
    // 1% of packets of 1,048 B: (1 - b)^(8 x 1048) = 0.99.
    EXPECT_NEAR(std::pow(1 - t.Links()[4].bitErrorRate, 8 * 1048), 0.99, 1e-9);
    ASSERT_EQ(result.notes.size(), 1u);
    EXPECT_NE(result.notes[0].find("per packet"), std::string::npos);
    EXPECT_EQ(topo::ComputeRoutes(t).Hops(0, 3), 3u);
}

TEST(HpccFormat, WhatToolsWrite)
{
    std::string noNewline = kSmall;
    noNewline.pop_back();
    EXPECT_EQ(Error(noNewline), "");
    EXPECT_EQ(Error("\n\n " + kSmall + "\n\n"), "");
    std::string windows;
    for (const char c : kSmall)
    {
        windows += c == '\n'  ? std::string("\r\n")
                   : c == ' ' ? std::string(" \t ")
                              : std::string(1, c);
    }
    EXPECT_EQ(Error("\xEF\xBB\xBF" + windows), "");
    EXPECT_EQ(Error(Edited("\n2 5\n", "\n2\n5 \n")), "") << "ids over several lines";
    // HPCC's own example ends with its format in words.
    const auto result =
        topo::ReadHpccTopology(kSmall + "\nFirst line: total node #, switch node #, link #\n",
                               "t.txt");
    ASSERT_TRUE(result.topology);
    EXPECT_EQ(result.notes.at(0), "t.txt:9: text after the last link ignored");
    // Two hosts on a wire.
    EXPECT_EQ(Error("2 0 1\n\n0 1 10Gbps 1us 0\n"), "");
}

TEST(HpccFormat, TheTreeOfTheHpccPaper)
{
    // fat.txt: 320 hosts in 20 racks of 16; pods of 4 racks and 4 aggregation switches with 400G;
    // 16 core switches.
    std::string text = "376 56 480\n";
    for (int i = 320; i < 376; ++i)
    {
        text += std::to_string(i) + " ";
    }
    text += "\n";
    const auto link = [&](int a, int b, const char* rate) {
        text += std::to_string(a) + " " + std::to_string(b) + " " + rate + " 1000ns 0.000000\n";
    };
    for (int h = 0; h < 320; ++h)
    {
        link(h, 320 + h / 16, "100Gbps");
    }
    for (int tor = 0; tor < 20; ++tor)
    {
        for (int a = 0; a < 4; ++a)
        {
            link(320 + tor, 340 + tor / 4 * 4 + a, "400Gbps");
        }
    }
    for (int a = 0; a < 20; ++a)
    {
        for (int c = 0; c < 4; ++c)
        {
            link(340 + a, 360 + a % 4 * 4 + c, "400Gbps");
        }
    }
    const auto result = topo::ReadHpccTopology(text, "fat.txt");
    ASSERT_TRUE(result.topology);
    const Topology& t = *result.topology;
    EXPECT_EQ(t.Hosts().size(), 320u);
    EXPECT_EQ(t.Nodes()[320].tier, 1);
    EXPECT_EQ(t.Nodes()[340].tier, 2);
    EXPECT_EQ(t.Nodes()[360].tier, 3);
    const auto r = topo::ComputeRoutes(t);
    EXPECT_EQ(r.Hops(0, 15), 2u);
    EXPECT_EQ(r.Hops(0, 63), 4u);
    EXPECT_EQ(r.Hops(0, 319), 6u);
    EXPECT_EQ(r.NextHops(320, 319).size, 4u);
    EXPECT_EQ(r.NextHops(340, 319).size, 4u);
}

TEST(HpccFormat, ErrorsNameTheLineAndWhatIsExpected)
{
    EXPECT_EQ(Error(""),
              "fat.txt:1: the file ends where there should be the number of nodes (a whole number "
              "from 0 to 1048576)");
    EXPECT_EQ(Error("6 2"),
              "fat.txt:1: the file ends where there should be the number of links (a whole number "
              "from 0 to 8388608)");
    EXPECT_EQ(Error("6 7 5\n"),
              "fat.txt:1: \"7\" is not the number of switches (a whole number from 0 to 6)");
    EXPECT_EQ(Error(Edited("\n2 5\n", "\n2 6\n")),
              "fat.txt:2: \"6\" is not a switch id (0 to 5), 2 of 2");
    EXPECT_EQ(Error(Edited("\n2 5\n", "\n2 2\n")),
              "fat.txt:2: \"2\" is in the list of switches twice");
    EXPECT_EQ(Error(Edited("1 2 100Gbps", "1 9 100Gbps")),
              "fat.txt:4: \"9\" is not a destination id (0 to 5), of link 2 of 5");
    EXPECT_EQ(Error(Edited("1 2 100Gbps", "1 1 100Gbps")),
              "fat.txt:4: \"1\" is not another node than the source, of link 2 of 5");
    EXPECT_EQ(Error(Edited("3 5 25Gbps", "3 5 25Gbs")),
              "fat.txt:5: \"25Gbs\" is not a rate such as 100Gbps, 25Gb/s, 400G or 50GBps (bytes), "
              "1kbps to 1000Tbps, of "
              "link 3 of 5");
    // As options: a rate that a packet takes no time at, one at which it takes days, a far cable, a
    // link that lets nothing through.
    EXPECT_EQ(Error(Edited("3 5 25Gbps", "3 5 2147483648Gbps")),
              "fat.txt:5: \"2147483648Gbps\" is not a rate such as 100Gbps, 25Gb/s, 400G or 50GBps "
              "(bytes), 1kbps to "
              "1000Tbps, of link 3 of 5");
    EXPECT_EQ(Error(Edited("3 5 25Gbps", "3 5 1000Tbps")), "");
    EXPECT_EQ(Error(Edited("3 5 25Gbps", "3 5 1kbps")), "");
    EXPECT_NE(Error(Edited("3 5 25Gbps", "3 5 1001Tbps")), "");
    EXPECT_NE(Error(Edited("3 5 25Gbps", "3 5 999bps")), "");
    EXPECT_EQ(Error(Edited("1us 0", "10s 0")), "");
    EXPECT_NE(Error(Edited("1us 0", "10001ms 0")), "");
    EXPECT_EQ(
        Error(Edited("0.01", "0.9999999999999")),
        "fat.txt:7: \"0.9999999999999\" is not an error rate that lets some packets through, of "
        "link 5 of 5");
    EXPECT_EQ(Error(Edited("1us 0", "1 0")),
              "fat.txt:5: \"1\" is not a time such as 500ns, 1us, 2.5ms or 1s, at most 10s, of "
              "link 3 of 5");
    EXPECT_EQ(Error(Edited("0.01", "1.01")),
              "fat.txt:7: \"1.01\" is not an error rate (at least 0, below 1), of link 5 of 5");
    EXPECT_EQ(
        Error(Edited("6 2 5", "6 2 6")),
        "fat.txt:8: the file ends where there should be a source id (0 to 5), of link 6 of 6");
    EXPECT_NE(Error("99999999999999999999999999 1 1"), "");
}

// As HPCC's code, which takes as many links as the first line says, and hosts without a link.
TEST(HpccFormat, IgnoresWhatFollowsTheAnnouncedLinks)
{
    const auto more = topo::ReadHpccTopology(Edited("6 2 5", "6 2 4"), "fat.txt");
    ASSERT_TRUE(more.topology);
    EXPECT_EQ(more.topology->Links().size(), 4u);
    EXPECT_EQ(more.notes,
              std::vector<std::string>{"fat.txt:7: the first line announces 4 links; lines behind "
                                       "these are ignored"});
    const auto apart = topo::ReadHpccTopology("5 1 2\n0\n0 1 10Gbps 1us 0\n0 3 10Gbps 1us 0\n"
                                              "0 4 10Gbps 1us 0\n",
                                              "t.txt");
    ASSERT_TRUE(apart.topology);
    const Topology& t = *apart.topology;
    ASSERT_EQ(t.Hosts().size(), 2u);
    EXPECT_EQ(t.Nodes()[t.Hosts()[1]].name, "server-3");
    EXPECT_EQ(t.About().nodeOfNumber,
              (std::vector<topo::NodeId>{0, 1, topo::kNoNode, 2, topo::kNoNode}));
    ASSERT_EQ(apart.notes.size(), 2u);
    EXPECT_EQ(apart.notes[1], "t.txt: 2 hosts without a link left out, the first: 2");
}

// Nodes, switches, top-of-rack switches, links; rates in bit/s, as ns3::DataRate reads them.
TEST(HpccFormat, ReadsAHeadOfFourNumbers)
{
    const auto result = topo::ReadHpccTopology("5 1 1 4\n4\n0 4 25000000000.0 1us 0\n"
                                               "1 4 25000000000.0 1us 0\n2 4 40000000000 1us 0\n"
                                               "3 4 25Gbps 1us 0\n",
                                               "t.txt");
    ASSERT_TRUE(result.topology);
    EXPECT_EQ(result.topology->Hosts().size(), 4u);
    EXPECT_EQ(result.topology->Links()[0].rate, rdma::Gbps(25));
    EXPECT_EQ(result.topology->Links()[2].rate, rdma::Gbps(40));
    // The fourth number is an id where a link follows.
    EXPECT_EQ(Error("2 1 1 1\n0 1 25Gbps 1us 0\n"), "");
    EXPECT_EQ(
        Error("5 1 6 4\n4\n"),
        "fat.txt:1: \"6\" is not the number of top-of-rack switches (a whole number from 0 to "
        "5)");
    EXPECT_NE(Error("2 0 1\n0 1 999 1us 0\n"), "") << "slower than any link";
    EXPECT_NE(Error("2 0 1\n0 1 1.2.3 1us 0\n"), "");
}

TEST(HpccFormat, RandomEditsNeverCrash)
{
    ExpectNoCrashOfRandomEdits(kSmall, 4, 10, "0123456789 \n.-eG", [](const auto& text) {
        return topo::ReadHpccTopology(text, "fat.txt");
    });
}

} // namespace
