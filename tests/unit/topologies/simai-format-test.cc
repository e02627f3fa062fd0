/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "results-of.h"
#include "topologies/formats/simai-format.h"
#include "topologies/routes.h"

#include <cstdio>
#include <fstream>
#include <gtest/gtest.h>

namespace
{

using topo::Topology;

/// Two servers of four H100 on four rails, with one spine: GPUs 0 to 7, NVSwitches 8 and 9.
const std::string kTwoServers = "15 4 2 5 20 H100\n"
                                "8 9 10 11 12 13 14\n"
                                "0 8 3600Gbps 0.000025ms 0\n"
                                "1 8 3600Gbps 0.000025ms 0\n"
                                "2 8 3600Gbps 0.000025ms 0\n"
                                "3 8 3600Gbps 0.000025ms 0\n"
                                "4 9 3600Gbps 0.000025ms 0\n"
                                "5 9 3600Gbps 0.000025ms 0\n"
                                "6 9 3600Gbps 0.000025ms 0\n"
                                "7 9 3600Gbps 0.000025ms 0\n"
                                "0 10 400Gbps 0.0005ms 0\n"
                                "1 11 400Gbps 0.0005ms 0\n"
                                "2 12 400Gbps 0.0005ms 0\n"
                                "3 13 400Gbps 0.0005ms 0\n"
                                "4 10 400Gbps 0.0005ms 0\n"
                                "5 11 400Gbps 0.0005ms 0\n"
                                "6 12 400Gbps 0.0005ms 0\n"
                                "7 13 400Gbps 0.0005ms 0\n"
                                "10 14 1600Gbps 0.0005ms 0\n"
                                "11 14 1600Gbps 0.0005ms 0\n"
                                "12 14 1600Gbps 0.0005ms 0\n"
                                "13 14 1600Gbps 0.0005ms 0\n";

std::string
SimaiError(const std::string& from, const std::string& to)
{
    const auto result = topo::ReadSimaiTopology(Edited(kTwoServers, from, to), "a.txt");
    return result.errors.empty() ? "" : result.errors[0].Sentence();
}

TEST(SimaiFormat, Network)
{
    const auto result = topo::ReadSimaiTopology(kTwoServers, "a.txt");
    ASSERT_TRUE(result.topology) << ErrorsOf(result);
    const Topology& t = *result.topology;
    ASSERT_EQ(t.Hosts().size(), 2u);
    EXPECT_EQ(t.SwitchCount(), 5u) << "NVSwitches are inside the servers";
    EXPECT_EQ(t.Endpoints().size(), 8u);
    EXPECT_EQ(t.Links().size(), 12u);
    const auto node = [&](const char* name) { return t.FindNode(name).value(); };
    // NIC n of both servers, GPU n's, is on rail n: switch 10 + n of the file.
    for (uint32_t server = 0; server < 2; ++server)
    {
        for (topo::PortId nic = 0; nic < 4; ++nic)
        {
            const std::string name = "switch-" + std::to_string(10 + nic);
            EXPECT_EQ(t.Peer(t.Hosts()[server], nic), node(name.c_str()));
        }
    }
    EXPECT_EQ(t.Nodes()[node("switch-10")].tier, 1);
    EXPECT_EQ(t.Nodes()[node("switch-14")].tier, 2);
    EXPECT_EQ(t.Links()[0].rate, rdma::Gbps(400));
    EXPECT_EQ(t.Links()[0].delay, rdma::Nanoseconds(500));
    EXPECT_EQ(t.Links()[11].rate, rdma::Gbps(1600));
    EXPECT_EQ(t.About().rails, 4u);
    EXPECT_FALSE(t.About().railsApart) << "a spine joins them";
    const auto routes = topo::ComputeRoutes(t);
    EXPECT_EQ(routes.Hops(0, 4), 2u) << "the same rail";
    EXPECT_EQ(routes.Hops(0, 5), 4u);
}

TEST(SimaiFormat, Server)
{
    std::vector<topo::Error> errors;
    const auto server = topo::ReadSimaiServer(kTwoServers, "a.txt", errors);
    ASSERT_TRUE(server);
    EXPECT_EQ(server->gpus, 4u);
    EXPECT_EQ(server->gpu, "H100");
    EXPECT_EQ(server->nics, 4u);
    EXPECT_EQ(server->nicRate, rdma::Gbps(400));
    EXPECT_EQ(server->scaleUp.kind, topo::ScaleUp::kNvSwitch);
    EXPECT_EQ(server->scaleUp.perGpu, rdma::Gbps(3600));
    const topo::ServerSpec& h100 = *topo::FindServerForGpu(topo::ServerPresets(), "H100");
    EXPECT_EQ(server->scaleUp.latency, h100.scaleUp.latency);
    EXPECT_EQ(server->scaleUp.efficiency, h100.scaleUp.efficiency);

    // One with less NVLink, and a GPU that no preset has.
    const auto less = topo::ReadSimaiServer(Edited(kTwoServers, "H100", "H800"), "a.txt", errors);
    ASSERT_TRUE(less);
    EXPECT_EQ(less->gpu, "H800");
    EXPECT_TRUE(errors.empty());
    EXPECT_FALSE(topo::ReadSimaiServer(Edited(kTwoServers, "H100", "H1000"), "a.txt", errors));
    ASSERT_EQ(errors.size(), 1u);
    EXPECT_EQ(errors[0].Sentence().rfind(
                  "a.txt:1: \"H1000\" is a GPU that no server preset has (did you mean H100?)",
                  0),
              0u)
        << errors[0].Sentence();
    const std::string sentence = errors[0].Sentence();
    for (const char* name : {"A800", "H800"})
    {
        EXPECT_EQ(sentence.find(name), sentence.rfind(name)) << "once: " << sentence;
        EXPECT_NE(sentence.find(name), std::string::npos) << sentence;
    }
}

TEST(SimaiFormat, LongDelaysOfNvLinkCount)
{
    std::vector<topo::Error> errors;
    const auto usual = topo::ReadSimaiServer(kTwoServers, "a.txt", errors);
    const auto far =
        topo::ReadSimaiServer(Edited(kTwoServers, "3600Gbps 0.000025ms", "3600Gbps 4us"),
                              "a.txt",
                              errors);
    ASSERT_TRUE(usual && far);
    EXPECT_EQ(usual->scaleUp.latency, rdma::Nanoseconds(600)) << "the preset's, above 2 x 25 ns";
    EXPECT_EQ(far->scaleUp.latency, rdma::Nanoseconds(8000)) << "GPU, NVSwitch, GPU";
    EXPECT_EQ(far->scaleUp.bulkLatency, rdma::Nanoseconds(8000));
    EXPECT_NE(SimaiError("3600Gbps 0.000025ms", "3600Gbps 1s").find("allowed: at most 500 ms"),
              std::string::npos);
}

TEST(SimaiFormat, ErrorRatesAreOfTheLinksThatHaveThem)
{
    const auto notes = [](const std::string& from, const std::string& to) {
        const auto result = topo::ReadSimaiTopology(Edited(kTwoServers, from, to), "a.txt");
        EXPECT_TRUE(result.topology) << ErrorsOf(result);
        return result.notes;
    };
    EXPECT_TRUE(notes("0 8 3600", "0 8 3600").empty());
    const auto inside = notes("0 8 3600Gbps 0.000025ms 0", "0 8 3600Gbps 0.000025ms 0.01");
    ASSERT_EQ(inside.size(), 1u);
    EXPECT_EQ(inside[0],
              "a.txt: error rates of links to NVSwitches ignored: messages inside a server are not "
              "lost");
    const auto outside = notes("0 10 400Gbps 0.0005ms 0", "0 10 400Gbps 0.0005ms 0.01");
    ASSERT_EQ(outside.size(), 1u);
    EXPECT_EQ(outside[0].rfind("a.txt: error rates are per packet (largest 0.01)", 0), 0u);
}

TEST(SimaiFormat, SeveralNvSwitchesAndPorts)
{
    // A server of two GPUs with two NVSwitches (2, 3), each GPU with two links to switch 4, and one
    // more server like it (GPUs first: 0 to 3, so NVSwitches are 4 to 7).
    std::string text = "9 2 4 1 16 A100\n4 5 6 7 8\n";
    for (int gpu = 0; gpu < 4; ++gpu)
    {
        for (int k = 0; k < 2; ++k)
        {
            text += std::to_string(gpu) + " " + std::to_string(4 + gpu / 2 * 2 + k) +
                    " 1200Gbps 1us 0\n8 " + std::to_string(gpu) + " 200Gbps 1us 0\n";
        }
    }
    const auto result = topo::ReadSimaiTopology(text, "a.txt");
    ASSERT_TRUE(result.topology) << ErrorsOf(result);
    EXPECT_EQ(result.topology->Endpoints().size(), 8u);
    EXPECT_EQ(result.topology->About().rails, 0u) << "one switch has all";
    std::vector<topo::Error> errors;
    const auto server = topo::ReadSimaiServer(text, "a.txt", errors);
    ASSERT_TRUE(server);
    EXPECT_EQ(server->scaleUp.perGpu, rdma::Gbps(2400));
    EXPECT_EQ(server->nics, 4u);
}

TEST(SimaiFormat, ErrorsNameTheLineAndWhatIsAllowed)
{
    EXPECT_EQ(SimaiError("15 4 2 5 20", "15 3 2 5 20"),
              "a.txt:1: 15 nodes less 2 NVSwitches and 5 switches are 8 GPUs, which do not fill "
              "servers of 3; allowed: a multiple of it");
    EXPECT_EQ(SimaiError("15 4 2", "-15 4 2"),
              "a.txt:1: \"-15\" is not the number of nodes (a whole number from 0 to " +
                  std::to_string(topo::detail::kMostNodes) + ")");
    EXPECT_EQ(SimaiError("H100", "100"),
              "a.txt:1: \"100\" is not the type of the GPUs, such as H100");
    EXPECT_EQ(SimaiError("8 9 10", "8 0 10"),
              "a.txt:2: 0 is a switch; allowed: GPUs come first, 0 to 7");
    EXPECT_EQ(SimaiError("4 9 3600", "4 8 3600"),
              "a.txt:7: 4 8 leads to an NVSwitch of server 0, and the GPU stands in server 1; "
              "allowed: an NVSwitch of its own server");
    EXPECT_EQ(SimaiError("4 9 3600", "4 9 1800"),
              "a.txt:1: GPU 4 has 1.8 Tb/s to NVSwitches; allowed: a rate above 0, the same of all "
              "GPUs (GPU 0 has 3.6 Tb/s)");
    EXPECT_EQ(SimaiError("7 13 400", "12 13 400"),
              "a.txt:1: server 1 has 3 links to switches; allowed: 1 to 128, as many as server 0, "
              "4");
    EXPECT_NE(SimaiError("10 14 1600", "9 14 1600").find("a.txt:19: 9 14 joins an NVSwitch"),
              std::string::npos);
    EXPECT_NE(SimaiError("7 13 400", "7 6 400").find("joins two GPUs"), std::string::npos);
    EXPECT_NE(SimaiError("5 20 H100", "5 21 H100").find("the file ends where there should be"),
              std::string::npos);
}

TEST(SimaiFormat, IsRecognizedByItsFirstLine)
{
    const std::string path = testing::TempDir() + "simai-format-test.txt";
    for (const auto& [text, family] : std::vector<std::pair<std::string, std::string>>{
             {kTwoServers, "simai"},
             {"-15 4 2 5 20 H100\n", "simai"},
             {"15 four 2 5 20 H100\n", "simai"},
             {"15 4 2 5 20 100\n", "simai"},
             {"6 2 5\n2 5\n0 2 100Gbps 1us 0\n", "hpcc"},
             {"6 3 5 2 4 5\n0 2 100Gbps 1us 0\n", "hpcc"},
             {"# remark\nNodes 16\nTiers 2\n", "htsim"},
             {"podsize 4\n", "htsim"},
             {"{}", "graph"},
             {"", "hpcc"}})
    {
        std::ofstream(path) << text;
        EXPECT_EQ(topo::FamilyOfFile(path).name, family) << text;
    }
    std::remove(path.c_str());
}

TEST(SimaiFormat, RandomEditsNeverCrash)
{
    ExpectNoCrashOfRandomEdits(kTwoServers, 4, 10, "0123456789 \n.-eGH", [](const auto& text) {
        return topo::ReadSimaiTopology(text, "a.txt");
    });
}

} // namespace
