/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Every mistake that RdmaHelper refuses, and what it says.
 */
#include "ns3/config.h"
#include "ns3/data-rate.h"
#include "ns3/double.h"
#include "ns3/rdma-helper.h"
#include "ns3/simple-net-device-helper.h"
#include "ns3/simulator.h"
#include "ns3/string.h"
#include "ns3/test.h"
#include "ns3/uinteger.h"

#include <array>
#include <csignal>
#include <functional>
#include <string>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

using namespace ns3;

class RdmaHelperMistakesTestCase : public TestCase
{
  public:
    RdmaHelperMistakesTestCase()
        : TestCase("a mistake ends the program, and the message says where and what is allowed")
    {
    }

  private:
    /// Hosts 0 to 2 and a switch, node 3; host 0 has another device, too.
    struct Scene
    {
        Scene()
            : nodes(5)
        {
            other = SimpleNetDeviceHelper().Install(nodes.Get(0)).Get(0);
            nics = helper.InstallNics(NodeContainer(nodes.Get(0), nodes.Get(1)));
            helper.InstallSwitches(nodes.Get(3));
        }

        NodeContainer nodes;
        RdmaHelper helper;
        Ptr<NetDevice> other;
        NetDeviceContainer nics;
    };

    /// Host 0 and 1 hang on the switch.
    static void Finish(Scene& s)
    {
        s.helper.Connect(s.nodes.Get(0), s.nodes.Get(3));
        s.helper.Connect(s.nodes.Get(1), s.nodes.Get(3));
        s.helper.Finish();
    }

    /// \return what a process said that did this, and died
    std::string Died(const std::function<void(Scene&)>& what)
    {
        int ends[2];
        NS_ABORT_MSG_IF(pipe(ends) != 0, "no pipe");
        const pid_t child = fork();
        if (child == 0)
        {
            // Not the test runner's handlers: whoever aborts ends here.
            std::signal(SIGABRT, SIG_DFL);
            dup2(ends[1], STDERR_FILENO);
            Scene scene;
            what(scene);
            _exit(0);
        }
        close(ends[1]);
        std::string said;
        char buffer[4096];
        for (ssize_t n = 0; (n = read(ends[0], buffer, sizeof buffer)) > 0;)
        {
            said.append(buffer, static_cast<std::size_t>(n));
        }
        close(ends[0]);
        int status = 0;
        waitpid(child, &status, 0);
        NS_TEST_EXPECT_MSG_EQ(WIFSIGNALED(status), true, "it goes on: " << said);
        return said;
    }

    void DoRun() override
    {
        struct Mistake
        {
            std::string said;
            std::function<void(Scene&)> deed;
        };

        const std::vector<Mistake> mistakes{
            {"InstallNics: node 3: the node is a switch; allowed: nodes without a switch",
             [](Scene& s) { s.helper.InstallNics(s.nodes.Get(3)); }},
            {"InstallSwitches: node 1: the node has NICs; allowed: nodes without NICs",
             [](Scene& s) { s.helper.InstallSwitches(s.nodes.Get(1)); }},
            {"InstallSwitches: node 3: the node is a switch already; allowed: each node once",
             [](Scene& s) { s.helper.InstallSwitches(s.nodes.Get(3)); }},
            {"InstallNics: node 0: the node belongs to another fabric; allowed: one RdmaHelper or "
             "RdmaFabricHelper a node",
             [](Scene& s) { RdmaHelper().InstallNics(s.nodes.Get(0)); }},
            {"InstallSwitches: node 3: the node belongs to another fabric",
             [](Scene& s) { RdmaHelper().InstallSwitches(s.nodes.Get(3)); }},
            {"Connect: node 2 to node 3: node 2 has neither a NIC nor a switch of this helper; "
             "allowed: nodes of InstallNics() and InstallSwitches()",
             [](Scene& s) { s.helper.Connect(s.nodes.Get(2), s.nodes.Get(3)); }},
            {"Connect: node 3 to node 0: node 0 has no NIC without a link: 1 installed, the last "
             "one leads to node 1; allowed: one link a NIC. InstallNics() adds a NIC",
             [](Scene& s) {
                 s.helper.Connect(s.nodes.Get(0), s.nodes.Get(1));
                 s.helper.Connect(s.nodes.Get(3), s.nodes.Get(0));
             }},
            {"Connect: node 0 to node 3: node 0, device 1 has a link already, to node 1; allowed: "
             "one link a NIC",
             [](Scene& s) {
                 s.helper.Connect(s.nics.Get(0), s.nics.Get(1));
                 s.helper.Connect(s.nics.Get(0), s.nodes.Get(3));
             }},
            {"Connect: node 0 to node 3: node 0, device 0 is a ns3::SimpleNetDevice that is no "
             "NIC's of this helper; allowed: what InstallNics() returned",
             [](Scene& s) { s.helper.Connect(s.other, s.nodes.Get(3)); }},
            {"Connect: node 3 to node 3: allowed: two different nodes",
             [](Scene& s) { s.helper.Connect(s.nodes.Get(3), s.nodes.Get(3)); }},
            {"Connect: an end is a null pointer; allowed: nodes and ports of NICs",
             [](Scene& s) { s.helper.Connect(s.nodes.Get(0), Ptr<Node>()); }},
            {"Connect: node 0 to node 3: link 0: ends must be two different nodes, the rate "
             "positive and at most 1000Tbps",
             [](Scene& s) {
                 s.helper.Connect(s.nodes.Get(0), s.nodes.Get(3), DataRate(0), NanoSeconds(1));
             }},
            {"Connect: node 0 to node 3: a delay of -1000 ps; allowed: 0 or more",
             [](Scene& s) {
                 s.helper.Connect(s.nodes.Get(0), s.nodes.Get(3), DataRate("1Gbps"), Time("-1ns"));
             }},
            {"SetLinkAttribute: Dataratee: links have no such attribute; allowed: DataRate, Delay, "
             "BitErrorRate; did you mean DataRate?",
             [](Scene& s) { s.helper.SetLinkAttribute("Dataratee", StringValue("1Gbps")); }},
            {"SetLinkAttribute: Delay: this value is none; allowed: a time as 500ns, 0 or more",
             [](Scene& s) { s.helper.SetLinkAttribute("Delay", TimeValue(Time("-5ns"))); }},
            {"SetLinkAttribute: BitErrorRate: this value is none; allowed: 0 to 1",
             [](Scene& s) { s.helper.SetLinkAttribute("BitErrorRate", DoubleValue(2)); }},
            {"SetNicAttribute: Mtu: all NICs and switches of a helper are alike; allowed: before "
             "the first InstallNics() or InstallSwitches()",
             [](Scene& s) { s.helper.SetNicAttribute("Mtu", UintegerValue(256)); }},
            {"Finish: nothing is installed; allowed: after InstallNics()",
             [](Scene&) { RdmaHelper().Finish(); }},
            {"Finish: node 1, device 0 is a NIC without a link; allowed: Connect() for each NIC",
             [](Scene& s) {
                 s.helper.Connect(s.nodes.Get(0), s.nodes.Get(3));
                 s.helper.Finish();
             }},
            {"Finish: ns3::RdmaSwitch::TrimPackets: 0: ns3::RdmaNic::LossRecovery 'ndp' needs "
             "switches that trim packets",
             [](Scene& s) {
                 RdmaHelper helper;
                 helper.SetNicAttribute("LossRecovery", StringValue("ndp"));
                 helper.InstallNics(s.nodes.Get(2));
                 helper.InstallSwitches(s.nodes.Get(4));
                 helper.Connect(s.nodes.Get(2), s.nodes.Get(4));
                 helper.Finish();
             }},
            {"Finish: ns3::RdmaSwitch::TrimPackets: 8: ns3::RdmaNic::LossRecovery "
             "'selective-repeat' knows no trimmed packets, so none would be trimmed; allowed with "
             "it: 0; with eqds, ndp, uet: 1 or more",
             [](Scene& s) {
                 RdmaHelper helper;
                 helper.SetNicAttribute("LossRecovery", StringValue("selective-repeat"));
                 helper.SetSwitchAttribute("TrimPackets", UintegerValue(8));
                 helper.InstallNics(s.nodes.Get(2));
                 helper.InstallSwitches(s.nodes.Get(4));
                 helper.Connect(s.nodes.Get(2), s.nodes.Get(4));
                 helper.Finish();
             }},
            {"Connect: the fabric is finished; allowed: before Finish(), or another RdmaHelper "
             "with other nodes",
             [](Scene& s) {
                 s.helper.Connect(s.nodes.Get(0), s.nodes.Get(1));
                 s.helper.Finish();
                 s.helper.Connect(s.nodes.Get(3), s.nodes.Get(0));
             }},
            {"GetNic: node 0, device 1: the port has no NIC; allowed: ports of InstallNics(), "
             "after Finish()",
             [](Scene& s) { RdmaHelper::GetNic(s.nics.Get(0)); }},
            {"GetNic: node 0, device 0: this is a ns3::SimpleNetDevice; allowed: ports of "
             "InstallNics()",
             [](Scene& s) { RdmaHelper::GetNic(s.other); }},
            {"InstallNics: a node is a null pointer; allowed: nodes",
             [](Scene& s) { s.helper.InstallNics(NodeContainer(Ptr<Node>())); }},
            {"InstallSwitches: a node is a null pointer; allowed: nodes",
             [](Scene& s) { s.helper.InstallSwitches(NodeContainer(Ptr<Node>())); }},
            {"GetNic: the port is a null pointer; allowed: ports of InstallNics()",
             [](Scene&) { RdmaHelper::GetNic(nullptr); }},
            {"GetNic: the port has no node; allowed: ports of InstallNics(), before "
             "Simulator::Destroy()",
             [](Scene& s) {
                 Finish(s);
                 Simulator::Destroy();
                 RdmaHelper::GetNic(s.nics.Get(0));
             }},
            {"GetIdealCompletion: there is no fabric yet; allowed: after Finish()",
             [](Scene& s) { s.helper.GetIdealCompletion(s.nics.Get(0), s.nics.Get(1), 1); }},
        };
        for (const Mistake& mistake : mistakes)
        {
            const std::string said = Died(mistake.deed);
            NS_TEST_EXPECT_MSG_NE(said.find("RdmaHelper::" + mistake.said),
                                  std::string::npos,
                                  "expected: " << mistake.said << "\nsaid: " << said);
        }
        // Attributes of what runs: a path of ns-3, its attribute, a value.
        const std::vector<std::array<std::string, 3>> late{
            {"/NodeList/3/$ns3::RdmaSwitch/BufferPolicy", "ns3::RdmaSwitch::BufferPolicy", "none"},
            {"/NodeList/*/$ns3::RdmaSwitch/XonOffset", "ns3::RdmaSwitch::XonOffset", "1"},
            {"/NodeList/3/$ns3::RdmaSwitch/LoadBalancer", "ns3::RdmaSwitch::LoadBalancer", "x"},
            {"/NodeList/0/$ns3::RdmaHost/NicList/0/Mtu", "ns3::RdmaNic::Mtu", "256"},
            {"/NodeList/1/DeviceList/*/$ns3::RdmaPort/LineOverhead",
             "ns3::RdmaPort::LineOverhead",
             "0"},
            {"/ChannelList/*/$ns3::RdmaChannel/Delay", "ns3::RdmaChannel::Delay", "5us"}};
        for (const auto& [path, attribute, value] : late)
        {
            const std::string said = Died([path = path, value = value](Scene& s) {
                Finish(s);
                Config::Set(path, StringValue(value));
            });
            const std::string text = attribute + " is read when a fabric is made, so a change now "
                                                 "would have no effect; allowed: before Finish()";
            NS_TEST_EXPECT_MSG_NE(said.find(text), std::string::npos, text << "\nsaid: " << said);
        }
        const std::string said = Died([](Scene& s) {
            Finish(s);
            Config::Set("/NodeList/3/$ns3::RdmaSwitch/EcnKmin", UintegerValue(5000000));
        });
        const std::string text = "ns3::RdmaSwitch::EcnKmin: 5000000 is above EcnKmax, 1600000";
        NS_TEST_EXPECT_MSG_NE(said.find(text), std::string::npos, text << "\nsaid: " << said);
        const std::string faster = Died([](Scene& s) {
            Finish(s);
            Config::Set("/NodeList/3/$ns3::RdmaSwitch/PipelineLatency", StringValue("499ns"));
        });
        NS_TEST_EXPECT_MSG_NE(faster.find("PipelineLatency: 499000 ps is less than the 500000 ps"),
                              std::string::npos,
                              "said: " << faster);
    }
};

class RdmaHelperMistakesTestSuite : public TestSuite
{
  public:
    RdmaHelperMistakesTestSuite()
        : TestSuite("rdma-helper-mistakes", UNIT)
    {
        AddTestCase(new RdmaHelperMistakesTestCase, TestCase::QUICK);
    }
};

static RdmaHelperMistakesTestSuite g_rdmaHelperMistakesTestSuite;
