/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * InfiniBand's cables, credits and codes, from the command line to the plan.
 */
#include "contrib/rdma/core/ib/ib-credit-reach.h"
#include "scenarios/dry-run/plan-text.h"
#include "scenarios/network/infiniband.h"
#include "scenarios/startup/parse.h"

#include <gtest/gtest.h>

using namespace scenario;

namespace
{

ParseResult<TrafficScenario>
Traffic(std::vector<std::string> args)
{
    args.push_back("--dry-run");
    std::vector<const char*> argv{"traffic"};
    for (const auto& a : args)
    {
        argv.push_back(a.c_str());
    }
    return ParseAs<TrafficScenario>(static_cast<int>(argv.size()), argv.data());
}

FabricSpec
Fabric(const std::vector<std::string>& args)
{
    const auto result = Traffic(args);
    EXPECT_TRUE(result.scenario) << (result.errors.empty() ? "" : result.errors[0].Text());
    return result.scenario ? result.scenario->fabric : FabricSpec();
}

std::string
ErrorOf(const std::vector<std::string>& args)
{
    const auto result = Traffic(args);
    EXPECT_EQ(result.errors.size(), 1u);
    return result.errors.empty() ? "" : result.errors[0].Text();
}

/// The warning of credits that do not cover a round trip.
std::string
Warning(const std::vector<std::string>& args)
{
    const auto result = Traffic(args);
    EXPECT_TRUE(result.scenario) << (result.errors.empty() ? "" : result.errors[0].Text());
    std::string all;
    for (const auto& note : result.notes)
    {
        all += note.rfind("warning: the credits of a lane", 0) == 0 ? note + "\n" : "";
    }
    // The plan says the same in a line of its own.
    const std::string plan = result.scenario ? PlanText(*result.scenario) : "";
    const bool few = plan.find("\n  credits         too few: ") != std::string::npos;
    EXPECT_EQ(few, !all.empty()) << plan;
    EXPECT_EQ(plan.find("\n  credits         ") != std::string::npos,
              result.scenario && result.scenario->fabric.infiniBand)
        << plan;
    return all;
}

} // namespace

TEST(InfiniBandCables, AreAsLongAsTheCreditsOfTheirRateReach)
{
    for (const std::string nic : {"SDR", "DDR", "QDR", "FDR10", "FDR", "EDR", "HDR100", "HDR"})
    {
        EXPECT_EQ(Fabric({"--nic=" + nic}).linkDelay.ps, 1000000) << nic;
    }
    for (const std::string nic : {"NDR200", "NDR", "XDR"})
    {
        EXPECT_EQ(Fabric({"--nic=" + nic}).linkDelay.ps, 250000) << nic << ": 50 m";
        EXPECT_EQ(Fabric({"--nic=" + nic, "--link-delay=1us"}).linkDelay.ps, 1000000)
            << nic << ": as asked";
    }
    EXPECT_EQ(Fabric({"--nic=EDR", "--fabric-rate=800Gbps"}).linkDelay.ps, 250000)
        << "the switches' links are XDR";
    EXPECT_EQ(Fabric({"--nic=400GbE"}).linkDelay.ps, 1000000) << "Ethernet has no credits";
    // The configuration as run names it, so that it reads back.
    const auto run = Traffic({"--nic=NDR"});
    EXPECT_EQ(run.scenario->run.asRun["network"]["link_delay"], "250ns");
    EXPECT_EQ(run.scenario->run.asRun["fabric"]["credit_block"], "64");
    EXPECT_FALSE(Traffic({}).scenario->run.asRun["fabric"].contains("credit_block"));
}

TEST(InfiniBandCredits, CoverEveryRateByDefault)
{
    for (const std::string nic :
         {"SDR", "DDR", "QDR", "FDR10", "FDR", "EDR", "HDR100", "HDR", "NDR200", "NDR", "XDR"})
    {
        EXPECT_EQ(Warning({"--nic=" + nic}), "") << nic;
        EXPECT_EQ(
            Warning({"--nic=" + nic, "--topology=leaf-spine", "--leaves=2", "--hosts-per-leaf=4"}),
            "")
            << nic;
    }
    EXPECT_EQ(Warning({}), "") << "Ethernet";
}

TEST(InfiniBandCredits, ThatDoNotCoverTheRoundTripAreTold)
{
    // 128 KiB reach 832.2 ns with error correction's 43.4 towards a switch of 150 ns:
    // ib-credit-reach-test.cc.
    EXPECT_EQ(Warning({"--nic=NDR", "--link-delay=788ns"}), "");
    const std::string note =
        Warning({"--nic=NDR", "--link-delay=789ns", "--topology=single-switch", "--hosts=4"});
    EXPECT_EQ(note.rfind("warning: the credits of a lane, 128KiB, do not cover the round trip of 4 "
                         "of 8 directed links, such as "
                         "server-0->switch-0 (400 Gb/s, 789 ns): a lane that is alone gets about "
                         "100% of its rate; links of 788 ns (158 m) "
                         "are filled; so is this one with --vl-buffer=",
                         0),
              0u)
        << note;
    // Both directions of all, and the 86% of before.
    const std::string far =
        Warning({"--nic=NDR", "--link-delay=1us", "--topology=single-switch", "--hosts=4"});
    EXPECT_NE(far.find("8 of 8 directed links"), std::string::npos) << far;
    EXPECT_NE(far.find("gets about 86% of its rate"), std::string::npos) << far;
    // Lanes that share 800 kB: 97.6 KiB each reach less than 128 KiB. Of EDR 25 kB each.
    EXPECT_EQ(Warning({"--nic=NDR", "--vls=4"}), "");
    EXPECT_EQ(Warning({"--nic=NDR", "--vls=8"}), "");
    EXPECT_NE(Warning({"--nic=NDR", "--vls=8", "--link-delay=700ns"}), "");
    EXPECT_EQ(Warning({"--nic=NDR", "--vls=4", "--link-delay=700ns"}), "");
    EXPECT_NE(Warning({"--nic=EDR", "--vls=8"}), "");
    EXPECT_EQ(Warning({"--nic=EDR", "--vls=4"}), "");
    EXPECT_NE(Warning({"--nic=EDR", "--vl-buffer=8KiB"}), "");
    EXPECT_NE(Warning({"--nic=SDR", "--vl-buffer=8KiB", "--link-delay=10us"}), "");
    EXPECT_NE(Warning({"--nic=EDR",
                       "--fabric-rate=800Gbps",
                       "--link-delay=1us",
                       "--topology=leaf-spine",
                       "--leaves=2",
                       "--hosts-per-leaf=4"}),
              "");
}

TEST(InfiniBandCredits, WhatTheWarningAdvisesSuffices)
{
    for (const std::string nic : {"EDR", "HDR", "NDR", "XDR"})
    {
        for (const std::string delay : {"2us", "5us", "12us", "20us"})
        {
            std::vector<std::string> args = {"--nic=" + nic,
                                             "--link-delay=" + delay,
                                             "--topology=single-switch",
                                             "--hosts=4"};
            const std::string note = Warning(args);
            const size_t advice = note.find("; so is this one with ");
            if (advice == std::string::npos)
            {
                EXPECT_TRUE(note.empty() || nic == "XDR") << note; // 20 us of XDR are more than all
                continue;
            }
            std::string rest = note.substr(advice + 22);
            rest.pop_back(); // the end of the line
            const size_t space = rest.find(' ');
            args.push_back(rest.substr(0, space));
            if (space != std::string::npos)
            {
                args.push_back(rest.substr(space + 1));
            }
            EXPECT_EQ(Warning(args), "") << note;
        }
    }
}

TEST(InfiniBandCredits, LargerBlocksTellMore)
{
    const FabricSpec far = Fabric({"--nic=NDR", "--credit-block=512B"});
    EXPECT_EQ(far.ib.creditBlock, 512u);
    EXPECT_EQ(far.ib.laneBuffer.value, 800000u)
        << "all that a port has, which 2,048 x 512 B can tell";
    EXPECT_EQ(Fabric({"--nic=NDR", "--credit-block=128B"}).ib.laneBuffer.value, 262144u);
    EXPECT_EQ(Warning({"--nic=NDR", "--credit-block=512B", "--link-delay=4us"}), "");
    EXPECT_EQ(ErrorOf({"--nic=NDR", "--credit-block=100B"}).rfind("--credit-block=100B: ", 0), 0u);
    EXPECT_EQ(ErrorOf({"--nic=NDR", "--vl-buffer=256KiB"}),
              "--vl-buffer=256KiB: is more than credits of 64 B can tell; allowed: 4224B to "
              "128KiB, or a larger --credit-block");
    EXPECT_EQ(
        Fabric({"--nic=NDR", "--vl-buffer=256KiB", "--credit-block=128B"}).ib.laneBuffer.value,
        262144u);
    EXPECT_EQ(ErrorOf({"--nic=NDR", "--vl-buffer=5000B", "--credit-block=4096B"})
                  .rfind("--vl-buffer=5000B: does not hold one packet; ", 0),
              0u);
    EXPECT_EQ(ErrorOf({"--credit-block=128B"}),
              "--credit-block=128B: needs --fabric=ib. This run has --fabric=roce.");
}

TEST(InfiniBandCodes, AreOfRateAndWidth)
{
    EXPECT_EQ(FecDelay(Fabric({"--nic=HDR100"}), rdma::Gbps(100)).ps, 88200)
        << "RS(544,514) over two lanes";
    EXPECT_EQ(FecDelay(Fabric({"--nic=EDR"}), rdma::Gbps(100)).ps, 0);
    EXPECT_EQ(FecDelay(Fabric({"--nic=NDR"}), rdma::Gbps(400)).ps, 43400);
    EXPECT_EQ(FecDelay(Fabric({"--nic=NDR", "--ib-fec=RS-544Q"}), rdma::Gbps(400)).ps,
              51200 + 37000)
        << "21,760 bits at 425 Gb/s";
    EXPECT_EQ(FecDelay(Fabric({"--nic=NDR", "--ib-fec=nf"}), rdma::Gbps(400)).ps, 0);
    EXPECT_EQ(FecDelay(Fabric({"--nic=EDR", "--ib-fec=LL"}), rdma::Gbps(100)).ps, 26279 + 37000);
    EXPECT_EQ(FecDelay(Fabric({}), rdma::Gbps(100)).ps, 0) << "Ethernet";
    EXPECT_EQ(ErrorOf({"--nic=NDR", "--ib-fec=RS272"}).rfind("--ib-fec=RS272: ", 0), 0u);
    EXPECT_EQ(ErrorOf({"--ib-fec=RS"}),
              "--ib-fec=RS: needs --fabric=ib. This run has --fabric=roce.");
}
