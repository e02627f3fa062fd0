/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * --transport: what it sets of other options, and what it refuses.
 */
#include "scenarios/network/transport-options.h"
#include "scenarios/startup/parse.h"

#include <cstdio>
#include <fstream>
#include <gtest/gtest.h>

using namespace scenario;

namespace
{

template <class Scenario>
ParseResult<Scenario>
Parse(const std::string& program, std::vector<std::string> args)
{
    args.push_back("--dry-run");
    std::vector<const char*> argv{program.c_str()};
    for (const auto& a : args)
    {
        argv.push_back(a.c_str());
    }
    return ParseAs<Scenario>(static_cast<int>(argv.size()), argv.data());
}

ParseResult<TrafficScenario>
Traffic(const std::vector<std::string>& args)
{
    return Parse<TrafficScenario>("traffic", args);
}

FabricSpec
Fabric(const std::vector<std::string>& args)
{
    const auto result = Traffic(args);
    EXPECT_TRUE(result.scenario) << (result.errors.empty() ? "" : result.errors[0].Text());
    return result.scenario ? result.scenario->fabric : FabricSpec();
}

std::string
Attribute(const std::vector<std::string>& args, const std::string& name)
{
    const auto result = Traffic(args);
    std::string value = "none";
    for (const auto& [key, text] : result.scenario ? result.scenario->run.optionAttributes
                                                   : decltype(RunOptions::optionAttributes){})
    {
        value = key == name ? text : value;
    }
    return value;
}

std::string
ErrorOf(const std::vector<std::string>& args)
{
    const auto result = Traffic(args);
    EXPECT_EQ(result.errors.size(), 1u) << args[0];
    return result.errors.empty() ? "" : result.errors[0].Text();
}

const char* const LOSS_RECOVERY = "ns3::RdmaNic::LossRecovery";

} // namespace

TEST(Transport, RcSetsNothing)
{
    for (const std::string recovery : {"go-back-n", "selective-repeat", "out-of-order"})
    {
        for (const std::string pfc : {"0", "1"})
        {
            const std::vector<std::string> args = {"--transport=rc",
                                                   "--loss-recovery=" + recovery,
                                                   "--pfc=" + pfc};
            EXPECT_EQ(Fabric(args).pfc, pfc == "1");
            EXPECT_EQ(Attribute(args, LOSS_RECOVERY), recovery);
        }
    }
    EXPECT_EQ(Fabric({}).transport.name, "rc");
    EXPECT_TRUE(Fabric({}).pfc);
}

TEST(Transport, IrnIsSelectiveRepeatWithoutPfc)
{
    const FabricSpec fabric = Fabric({"--transport=irn"});
    EXPECT_EQ(fabric.transport.name, "irn");
    EXPECT_FALSE(fabric.pfc);
    EXPECT_EQ(fabric.cc, "dcqcn") << "the paper has it with and without one (4.2)";
    EXPECT_EQ(Attribute({"--transport=irn"}, LOSS_RECOVERY), "selective-repeat");
    EXPECT_EQ(Attribute({"--transport=irn"}, "ns3::RdmaSwitch::Pfc"), "0");

    EXPECT_EQ(Attribute({"--transport=irn", "--loss-recovery=selective-repeat"}, LOSS_RECOVERY),
              "selective-repeat");
    for (const std::string recovery : {"go-back-n", "out-of-order"})
    {
        EXPECT_EQ(ErrorOf({"--transport=irn", "--loss-recovery=" + recovery}),
                  "--loss-recovery=" + recovery +
                      ": is not how IRN recovers; allowed with --transport=irn: selective-repeat");
    }
    const auto with = Traffic({"--transport=irn", "--pfc"});
    ASSERT_TRUE(with.scenario);
    EXPECT_TRUE(with.scenario->fabric.pfc);
    ASSERT_FALSE(with.notes.empty());
    EXPECT_EQ(with.notes[0].rfind("--transport=irn is meant for a network without PFC", 0), 0u);
}

TEST(Transport, NdpTrimsAndSpraysAndHasNoOtherControl)
{
    const std::vector<std::string> ndp = {"--transport=ndp"};
    const FabricSpec fabric = Fabric(ndp);
    EXPECT_EQ(fabric.transport.name, "ndp");
    EXPECT_FALSE(fabric.pfc);
    EXPECT_FALSE(fabric.ecn);
    EXPECT_EQ(fabric.cc, "none");
    EXPECT_EQ(Attribute(ndp, LOSS_RECOVERY), "ndp");
    EXPECT_EQ(Attribute(ndp, "ns3::RdmaSwitch::TrimPackets"), "8");
    EXPECT_EQ(fabric.balancing.name, "spray");
    EXPECT_EQ(Fabric({"--transport=ndp", "--load-balancer=drill"}).balancing.name, "drill");
    EXPECT_EQ(Fabric({"--transport=irn"}).balancing.name, "ecmp");
    EXPECT_EQ(Attribute(ndp, "ns3::RdmaNic::AckPriority"), "5") << "the switches' TrimPriority";
    EXPECT_EQ(Attribute({"--transport=irn"}, "ns3::RdmaSwitch::TrimPackets"), "none");

    // What it has anyway may be said.
    EXPECT_EQ(Fabric({"--transport=ndp", "--cc=none", "--pfc=0", "--no-ecn", "--ack-every=16"})
                  .transport.name,
              "ndp");
    const std::vector<std::pair<std::string, std::string>> refused = {
        {"--cc=dcqcn", "--cc=dcqcn: has no part in NDP, "},
        {"--pfc=1", "--pfc=1: would hold packets up, "},
        {"--ecn=1", "--ecn=1: has nobody to hear of marks "},
        {"--loss-recovery=out-of-order", "--loss-recovery=out-of-order: takes the place of "},
        {"--loss-recovery=go-back-n", "--loss-recovery=go-back-n: takes the place of "}, // default
        {"--ack-every=4", "--ack-every=4: has no meaning with NDP, "},
        {"--nak-interval=5us", "--nak-interval=5us: has no meaning with NDP, "},
        {"--ack-priority=3", "--ack-priority=3: is that of the queue of headers "},
        {"--load-balancer=reps", "--load-balancer=reps: chooses by what ACKs "},
        {"--operation=read", "--operation=read: has no NDP: "}};
    for (const auto& [option, error] : refused)
    {
        const std::string text = ErrorOf({"--transport=ndp", option});
        EXPECT_EQ(text.rfind(error, 0), 0u) << text;
        EXPECT_NE(text.find("; allowed with --transport="), std::string::npos) << text;
    }
    const auto hpcc = Traffic({"--transport=ndp", "--compat=hpcc"});
    EXPECT_FALSE(hpcc.errors.empty());
}

TEST(Transport, EqdsIsNdpWithCreditsOnDemand)
{
    const std::vector<std::string> eqds = {"--transport=eqds"};
    const FabricSpec fabric = Fabric(eqds);
    EXPECT_EQ(fabric.transport.name, "eqds");
    EXPECT_FALSE(HasReads(fabric.transport));
    EXPECT_TRUE(HasReads(Fabric({"--transport=irn"}).transport));
    EXPECT_FALSE(fabric.pfc);
    EXPECT_FALSE(fabric.ecn);
    EXPECT_EQ(fabric.cc, "none");
    EXPECT_EQ(fabric.balancing.name, "spray");
    EXPECT_EQ(Attribute(eqds, LOSS_RECOVERY), "eqds");
    EXPECT_EQ(Attribute(eqds, "ns3::RdmaSwitch::TrimPackets"), "35");
    EXPECT_EQ(Attribute(eqds, "ns3::RdmaSwitch::TrimReturn"), "0");
    for (const std::string option : {"--cc=dcqcn",
                                     "--pfc=1",
                                     "--ecn=1",
                                     "--loss-recovery=go-back-n",
                                     "--load-balancer=reps",
                                     "--operation=read"})
    {
        const std::string text = ErrorOf({"--transport=eqds", option});
        EXPECT_EQ(text.rfind(option + ": ", 0), 0u) << text;
        EXPECT_NE(text.find("; allowed with --transport="), std::string::npos) << text;
    }
}

TEST(Transport, HomaGrantsByPrioritiesWithoutTrimming)
{
    const std::vector<std::string> homa = {"--transport=homa"};
    const FabricSpec fabric = Fabric(homa);
    EXPECT_EQ(fabric.transport.name, "homa");
    EXPECT_FALSE(HasReads(fabric.transport));
    EXPECT_FALSE(fabric.pfc);
    EXPECT_FALSE(fabric.ecn);
    EXPECT_EQ(fabric.cc, "none");
    EXPECT_EQ(fabric.balancing.name, "spray");
    EXPECT_EQ(Attribute(homa, LOSS_RECOVERY), "homa");
    EXPECT_EQ(Attribute(homa, "ns3::RdmaSwitch::TrimPackets"), "0");
    EXPECT_EQ(Attribute(homa, "ns3::RdmaNic::AckPriority"), "7") << "grants before all";
    EXPECT_EQ(Attribute(homa, "ns3::RdmaPort::StrictPriorities"), "255");
    const std::vector<std::pair<std::string, std::string>> refused = {
        {"--pfc=1", "--pfc=1: would hold up packets of Homa, "},
        {"--priority=4", "--priority=4: has no meaning with Homa, "},
        {"--ets=3:90,4:10", "--ets=3:90,4:10: would share links by weight, "},
        {"--ack-priority=3", "--ack-priority=3: is the highest with Homa"}};
    for (const auto& [option, error] : refused)
    {
        const std::string text = ErrorOf({"--transport=homa", option});
        EXPECT_EQ(text.rfind(error, 0), 0u) << text;
    }
}

TEST(Transport, ExpressPassShapesCreditsAndKeepsWays)
{
    const std::vector<std::string> credits = {"--transport=expresspass"};
    const FabricSpec fabric = Fabric(credits);
    EXPECT_EQ(fabric.transport.name, "expresspass");
    EXPECT_FALSE(HasReads(fabric.transport));
    EXPECT_FALSE(fabric.pfc);
    EXPECT_FALSE(fabric.ecn);
    EXPECT_EQ(fabric.cc, "none");
    EXPECT_EQ(fabric.balancing.name, "ecmp");
    EXPECT_EQ(Attribute(credits, LOSS_RECOVERY), "expresspass");
    EXPECT_EQ(Attribute(credits, "ns3::RdmaPort::QueueDisc"), "credit");
    EXPECT_EQ(Attribute(credits, "ns3::RdmaSwitch::BufferPolicy"), "credit");
    EXPECT_EQ(Attribute(credits, "ns3::RdmaNic::PullPriority"), "7");
    EXPECT_EQ(Attribute(credits, "ns3::EcmpLoadBalancer::HashSeed"), "1");
    // 82 B of headers, preamble and gap.
    EXPECT_EQ(
        Attribute({"--transport=expresspass", "--mtu=1024"}, "ns3::CreditQueueDisc::DataBytes"),
        "1106");
    EXPECT_EQ(Fabric({"--transport=expresspass", "--load-balancer=ecmp"}).balancing.name, "ecmp");
    const std::vector<std::pair<std::string, std::string>> refused = {
        {"--pfc=1", "--pfc=1: would hold up packets of ExpressPass, whose credits "},
        {"--priority=7", "--priority=7: is that of ExpressPass's credits; "},
        {"--queue-disc=strict", "--queue-disc=strict: takes the place of "},
        {"--buffer-policy=static", "--buffer-policy=static: takes the place of "},
        {"--load-balancer=spray", "--load-balancer=spray: gives data other ways "},
        {"--load-balancer=reps", "--load-balancer=reps: gives data other ways "},
        {"--ack-priority=3", "--ack-priority=3: is that of data with ExpressPass"},
        {"--cc=dcqcn", "--cc=dcqcn: has no part in ExpressPass, "},
        {"--operation=read", "--operation=read: has no ExpressPass: "}};
    for (const auto& [option, error] : refused)
    {
        const std::string text = ErrorOf({"--transport=expresspass", option});
        EXPECT_EQ(text.rfind(error, 0), 0u) << text;
    }
    EXPECT_FALSE(ErrorOf({"--transport=expresspass", "--class=bulk:priority=4"}).empty());
}

TEST(Transport, UetHearsOfMarksAndChoosesWaysItself)
{
    const std::vector<std::string> uet = {"--transport=uet"};
    const FabricSpec fabric = Fabric(uet);
    EXPECT_EQ(fabric.transport.name, "uet");
    EXPECT_FALSE(fabric.pfc);
    EXPECT_TRUE(fabric.ecn);
    EXPECT_EQ(fabric.ecnKmin.value, 37500u);
    EXPECT_EQ(fabric.cc, "none");
    EXPECT_EQ(fabric.balancing.name, "reps");
    EXPECT_EQ(Attribute(uet, LOSS_RECOVERY), "uet");
    EXPECT_EQ(Attribute(uet, "ns3::RdmaSwitch::TrimRate"), "100Gbps");
    // 15 us and six queues of a round trip, 12 us: main_uec.cpp of the consortium's simulator.
    EXPECT_EQ(Attribute(uet, "ns3::RdmaNic::CreditTimeout"), "87000000ps");
    EXPECT_EQ(Fabric({"--transport=uet", "--ecn-kmin=20kB"}).ecnKmin.value, 20000u);
    EXPECT_EQ(Fabric({"--transport=uet", "--load-balancer=spray"}).balancing.name, "spray");
    EXPECT_NE(ErrorOf({"--transport=uet", "--ecn=0"}).find("allowed with --transport=uet: 1"),
              std::string::npos);
    EXPECT_NE(ErrorOf({"--transport=uet", "--cc=swift"}).find("has no part in UET"),
              std::string::npos);
}

// A configuration as run has every default: the command line overrides it.
TEST(Transport, OfTheCommandLineOverridesAFile)
{
    const std::string file = ::testing::TempDir() + "transport-options-test.json";
    std::ofstream(file) << R"({"fabric": {"pfc": true, "loss_recovery": "go-back-n"}})";
    EXPECT_FALSE(Fabric({"--scenario=" + file, "--transport=irn"}).pfc);
    EXPECT_EQ(Attribute({"--scenario=" + file, "--transport=irn"}, LOSS_RECOVERY),
              "selective-repeat");

    std::ofstream(file)
        << R"({"fabric": {"transport": "irn", "pfc": true, "loss_recovery": "go-back-n"}})";
    EXPECT_EQ(ErrorOf({"--scenario=" + file}).rfind(file, 0), 0u) << "one file that contradicts";

    const auto run = Traffic({"--transport=irn"});
    ASSERT_TRUE(run.scenario);
    std::ofstream(file) << run.scenario->run.asRun.dump();
    EXPECT_FALSE(Fabric({"--scenario=" + file}).pfc) << "as run";
    EXPECT_EQ(Fabric({"--scenario=" + file}).transport.name, "irn");

    // A run's configuration with another transport than it had, and back.
    for (const std::string from : {"rc", "irn", "ndp", "eqds", "uet", "homa", "expresspass"})
    {
        const auto first = Traffic({"--transport=" + from});
        ASSERT_TRUE(first.scenario);
        for (const std::string to : {"rc", "irn", "ndp", "eqds", "uet", "homa", "expresspass"})
        {
            std::ofstream(file) << first.scenario->run.asRun.dump();
            const FabricSpec same = Fabric({"--scenario=" + file});
            EXPECT_EQ(same.transport.name, from);
            EXPECT_EQ(same.pfc, from == "rc");
            if (from == "rc" || from == to) // what was decided for another is given then
            {
                EXPECT_EQ(Fabric({"--scenario=" + file, "--transport=" + to}).transport.name, to);
            }
        }
    }
    std::remove(file.c_str());
}

// A round trip of 12 us at 100 Gb/s with packets of 4,178 B; of others it differs by six times
// their own on the line. The queue is what the line sends in it, in packets.
TEST(Transport, UetsQueuesAndTargetFollowRatesAndPackets)
{
    struct Case
    {
        std::vector<std::string> network;
        std::string packets;
        std::string rate;
        std::string target; ///< 0.75 round trips
        uint64_t kmin;      ///< a quarter of the queue, at 100 Gb/s
    };

    const std::vector<Case> cases = {
        {{}, "36", "100Gbps", "9000000ps", 37500},
        // 9,082 B take 7,265.6 ns instead of 334.24: 12 + 6 x 6.93136 us, 66,985 B.
        {{"--nic=10GbE", "--payload=9000", "--no-extension-headers"},
         "7",
         "10Gbps",
         "40191120ps",
         167463},
        // 1,106 B take 11.06 ns: 12 - 6 x 0.32318 us, 1,006,092 B.
        {{"--nic=800GbE", "--mtu=1024"}, "910", "800Gbps", "7545690ps", 31440},
        // 4,178 B take 1,336.96 ns: 12 + 6 x 1.00272 us, 56,301 B.
        {{"--nic=25GbE"}, "13", "25Gbps", "13512240ps", 56301},
    };
    for (const Case& c : cases)
    {
        std::vector<std::string> args = c.network;
        args.push_back("--transport=uet");
        EXPECT_EQ(Attribute(args, "ns3::RdmaSwitch::TrimPackets"), c.packets);
        EXPECT_EQ(Attribute(args, "ns3::RdmaSwitch::TrimRate"), c.rate);
        EXPECT_EQ(Attribute(args, "ns3::UetParameters::TargetDelay"), c.target);
        EXPECT_EQ(Fabric(args).ecnKmin.value, c.kmin) << c.rate;
        EXPECT_NEAR(static_cast<double>(Fabric(args).ecnKmax.value),
                    3 * static_cast<double>(c.kmin),
                    2)
            << c.rate;
    }
}

TEST(Transport, InfiniBandHasOnlyTheReliableConnection)
{
    EXPECT_EQ(Fabric({"--nic=EDR", "--transport=rc"}).transport.name, "rc");
    for (const auto& item : TransportItems())
    {
        if (item.name != "rc")
        {
            EXPECT_EQ(ErrorOf({"--nic=EDR", "--transport=" + item.name})
                          .rfind("--transport=" + item.name + ": is for Ethernet, ", 0),
                      0u);
        }
    }
}

TEST(Transport, HasNoMeaningWithoutPackets)
{
    for (const auto& item : TransportItems())
    {
        const auto result =
            Parse<TrainingScenario>("dltrain", {"--network=analytic", "--transport=" + item.name});
        // What the transport would decide of other options is nobody's fault.
        ASSERT_EQ(result.errors.size(), 1u) << item.name;
        EXPECT_EQ(result.errors[0].Text().rfind("--transport=" + item.name +
                                                    ": cannot be combined with --network=analytic.",
                                                0),
                  0u)
            << result.errors[0].Text();
    }
}
