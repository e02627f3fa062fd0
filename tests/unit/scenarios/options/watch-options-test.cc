/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * --watch and --outstanding: which ports names mean, what queue pairs a window needs; the law of
 * networks that lose packets.
 */
#include "scenarios/dry-run/estimate.h"
#include "scenarios/startup/parse.h"

#include <algorithm>
#include <gtest/gtest.h>
#include <string>
#include <vector>

using namespace scenario;

namespace
{

ParseResult<TrafficScenario>
Watching(std::vector<std::string> args)
{
    args.insert(
        args.begin(),
        {"traffic", "--dry-run", "--topology=leaf-spine", "--leaves=2", "--spines=3", "--hosts=8"});
    std::vector<const char*> argv;
    for (const auto& a : args)
    {
        argv.push_back(a.c_str());
    }
    return ParseAs<TrafficScenario>(static_cast<int>(argv.size()), argv.data());
}

/// "leaf-0->spine-1" and others: those that send.
std::vector<std::string>
PortsOf(const std::string& names)
{
    const auto result = Watching({"--watch=" + names});
    std::vector<std::string> ports;
    if (!result.scenario)
    {
        ADD_FAILURE() << result.errors.front().Text();
        return ports;
    }
    for (const uint32_t end : result.scenario->run.watch.ends)
    {
        ports.push_back(result.scenario->topology.LinkName(end / 2, end % 2 == 0));
    }
    std::sort(ports.begin(), ports.end());
    return ports;
}

std::string
LawOf(const std::vector<std::string>& args)
{
    const auto result = Watching(args);
    return result.scenario ? result.scenario->fabric.cc : result.errors.front().Text();
}

} // namespace

TEST(WatchOptions, NamesMeanThePortsThatSend)
{
    using Names = std::vector<std::string>;
    EXPECT_EQ(PortsOf("leaf-0->spine-1"), Names{"leaf-0->spine-1"});
    EXPECT_EQ(PortsOf("spine-1->leaf-0"), Names{"spine-1->leaf-0"});
    EXPECT_EQ(PortsOf("server-2"), Names{"server-2->leaf-0"});
    EXPECT_EQ(PortsOf("spine-2,spine-2:0"), (Names{"spine-2->leaf-0", "spine-2->leaf-1"}));
    EXPECT_EQ(PortsOf("spine").size(), 3U * 2);    // a port to each leaf
    EXPECT_EQ(PortsOf("leaf").size(), 8U + 2 * 3); // hosts, and the other ends
    EXPECT_EQ(PortsOf("all").size(), 2U * (8 + 6));
    // As --set has places.
    EXPECT_EQ(PortsOf("tier-2"), PortsOf("spine"));
    EXPECT_EQ(PortsOf("leaf-*"), PortsOf("leaf"));
    EXPECT_EQ(PortsOf("hosts").size(), 8U);
    EXPECT_EQ(PortsOf("leaf-*->spine-1"), (Names{"leaf-0->spine-1", "leaf-1->spine-1"}));
}

TEST(WatchOptions, BadNamesNameWhatIsAllowed)
{
    for (const char* name : {"leaf-2", "spines", "leaf-0->server-7", "leaf-0:9"})
    {
        const auto result = Watching({std::string("--watch=") + name});
        ASSERT_EQ(result.errors.size(), 1U) << name;
        EXPECT_EQ(result.errors[0].Text().find(std::string("--watch=") + name + ": "), 0U);
    }
}

// A window needs the queue pairs under way, and those that rest. All 56 flows have one without.
TEST(WatchOptions, AWindowOfFlowsReusesQueuePairs)
{
    const auto all = Watching({"--pattern=all-to-all", "--bytes=4kB"});
    const auto window = Watching(
        {"--pattern=all-to-all", "--bytes=4kB", "--outstanding=2", "--queue-pair-rest=1us"});
    ASSERT_TRUE(all.scenario && window.scenario);
    EXPECT_EQ(all.scenario->queuePairs, QueuePairUse::kPerFlow);
    EXPECT_EQ(window.scenario->queuePairs, QueuePairUse::kReused);
    EXPECT_EQ(window.scenario->outstanding, 2U);
    const double perFlow = EstimateRun(*all.scenario).memoryNeeds.connections;
    const double reused = EstimateRun(*window.scenario).memoryNeeds.connections;
    EXPECT_EQ(perFlow, 56);
    // 2 under way, and 100 Gb/s x 1 us / 8 / 4,000 B = 3.125 at rest, of each of 8 hosts
    EXPECT_NEAR(reused, 8 * (2 + 3.125), 1e-9);
}

TEST(WatchOptions, LossesAreTheLastThingThatSlowsSendersDown)
{
    EXPECT_EQ(LawOf({}), "dcqcn");
    EXPECT_EQ(LawOf({"--no-pfc"}), "dcqcn");
    EXPECT_EQ(LawOf({"--no-ecn"}), "dcqcn");
    EXPECT_EQ(LawOf({"--no-pfc", "--no-ecn"}), "loss-rate");
    EXPECT_EQ(LawOf({"--no-pfc", "--no-ecn", "--cc=dcqcn"}), "dcqcn");
    EXPECT_EQ(LawOf({"--transport=irn", "--no-ecn"}), "dcqcn");
    EXPECT_EQ(LawOf({"--fabric=ib"}), "none");
}
