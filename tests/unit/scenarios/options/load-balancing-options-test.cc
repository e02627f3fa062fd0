/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * --load-balancer and what follows from it; the split of messages over queue pairs.
 */
#include "scenarios/dry-run/plan-text.h"
#include "scenarios/job/connections.h"
#include "scenarios/network/load-balancing-options.h"
#include "tests/unit/scenarios/parse-words.h"

#include <gtest/gtest.h>

using namespace scenario;

namespace
{

/// A fat-tree, unless it is said or makes no sense.
std::string
Words(const std::string& options)
{
    const bool other = options.find("--topology") != std::string::npos;
    const bool detours =
        options.find("valiant") != std::string::npos || options.find("ugal") != std::string::npos;
    return (other ? "" : (detours ? "--topology=hyperx --hosts=9 " : "--k=4 ")) + options;
}

/// \return the errors, or the plan and the notes
std::string
Outcome(const std::string& options)
{
    const auto result = ParseWords<TrafficScenario>(Words(options));
    std::string text;
    for (const auto& error : result.errors)
    {
        text += error.Text() + "\n";
    }
    for (const auto& note : result.notes)
    {
        text += note + "\n";
    }
    return result.scenario ? text + PlanText(*result.scenario) : text;
}

std::string
Recovery(const std::string& options)
{
    const auto result = ParseWords<TrafficScenario>(Words(options));
    EXPECT_TRUE(result.scenario) << options << Outcome(options);
    for (const auto& [attribute, value] : result.scenario
                                              ? result.scenario->run.optionAttributes
                                              : std::vector<std::pair<std::string, std::string>>{})
    {
        if (attribute == "ns3::RdmaNic::LossRecovery")
        {
            return value;
        }
    }
    return "";
}

bool
Has(const std::string& text, const std::string& part)
{
    return text.find(part) != std::string::npos;
}

} // namespace

TEST(LoadBalancingOptions, EachSetsUpWhatItNeeds)
{
    for (const NamedItem& item : LoadBalancerItems())
    {
        const LoadBalancer* scheme = FindLoadBalancer(item.name);
        ASSERT_NE(scheme, nullptr);
        for (const bool infiniBand : {false, true})
        {
            const std::string words =
                "--load-balancer=" + item.name + (infiniBand ? " --fabric=ib" : "");
            const char* why = infiniBand ? scheme->notInfiniBand : scheme->notEthernet;
            if (why)
            {
                EXPECT_TRUE(Has(Outcome(words), why)) << Outcome(words);
                continue;
            }
            const auto result = ParseWords<TrafficScenario>(Words(words));
            ASSERT_TRUE(result.scenario) << Outcome(words);
            const FabricSpec& fabric = result.scenario->fabric;
            EXPECT_EQ(fabric.balancing.name, item.name);
            EXPECT_EQ(fabric.ib.adaptiveRouting, infiniBand && item.name == "adaptive");
            const bool anyOrder = scheme->order == LoadBalancer::Order::kLost || item.name == "plb";
            EXPECT_EQ(Recovery(words), anyOrder ? "out-of-order" : "go-back-n") << words;
            const bool usual = item.name == (infiniBand ? "tables" : "ecmp");
            EXPECT_EQ(Has(PlanText(*result.scenario), item.name), !usual) << item.name;
            // Given, it stays, with a warning where it suffers.
            if (!(infiniBand && item.name == "adaptive"))
            {
                const std::string own = words + " --loss-recovery=selective-repeat";
                EXPECT_EQ(Recovery(own), "selective-repeat");
                EXPECT_EQ(Has(Outcome(own), "packets overtake each other"), anyOrder);
            }
        }
    }
}

TEST(LoadBalancingOptions, AgreeWithAdaptiveRouting)
{
    const auto balancer = [](const std::string& words) {
        const auto result = ParseWords<TrafficScenario>("--k=4 --fabric=ib " + words);
        return result.scenario ? result.scenario->fabric.balancing.name : "refused";
    };
    EXPECT_EQ(balancer(""), "tables");
    EXPECT_EQ(balancer("--adaptive-routing"), "adaptive");
    EXPECT_EQ(balancer("--no-adaptive-routing"), "tables");
    EXPECT_EQ(balancer("--adaptive-routing --load-balancer=adaptive"), "adaptive");
    EXPECT_EQ(balancer("--no-adaptive-routing --load-balancer=spray"), "spray");
    EXPECT_EQ(balancer("--adaptive-routing --load-balancer=spray"), "refused");
    EXPECT_EQ(balancer("--no-adaptive-routing --load-balancer=adaptive"), "refused");
}

TEST(LoadBalancingOptions, BelongToTheirSchemes)
{
    EXPECT_TRUE(Has(Outcome("--spray=round-robin"), "needs --load-balancer=spray"));
    EXPECT_TRUE(Has(Outcome("--load-balancer=drill --flowlet-gap=1us"), "flowlet or conga"));
    EXPECT_TRUE(Has(Outcome("--load-balancer=spray --ecmp-resilient"), "cannot be combined"));
    EXPECT_TRUE(Has(Outcome("--load-balancer=spray --spray=least-queue"), "spray (least-queue)"));
    EXPECT_TRUE(Has(Outcome("--load-balancer=spray --network=analytic"), "needs --network=packet"));
    for (const std::string words : {"--spray=random",
                                    "--load-balancer=conga --flowlet-gap=1us",
                                    "--load-balancer=reps --ecmp-resilient",
                                    "--flowlet-gap=100us"}) // what holds without it
    {
        EXPECT_FALSE(Has(Outcome(words), "meaning")) << words;
    }
    // HPCC compares hops from packet to packet.
    EXPECT_TRUE(
        Has(Outcome("--load-balancer=reps --cc=hpcc"), "--cc=hpcc with --load-balancer=reps"));
    EXPECT_FALSE(Has(Outcome("--load-balancer=flowlet --cc=hpcc"), "warning: --cc=hpcc"));
}

// Detours: where there is a third group, and by themselves without PFC.
TEST(LoadBalancingOptions, DetoursNeedAThirdGroup)
{
    const std::string dragonfly = "--topology=dragonfly --group-switches=2 --global-links=1 "
                                  "--hosts-per-switch=1 ";
    for (const std::string name : {"valiant", "ugal"})
    {
        const std::string with = "--load-balancer=" + name;
        EXPECT_TRUE(Has(Outcome(with + " --topology=fat-tree --k=4"), "nothing to gain"));
        EXPECT_TRUE(Has(Outcome(with + " --topology=leaf-spine --hosts=8"), "dragonfly-plus"));
        EXPECT_TRUE(Has(Outcome(with + " --topology=rail-only --hosts=8"), "up and down"));
        EXPECT_TRUE(Has(Outcome(with + " --topology=single-switch --hosts=8"), "nothing to gain"));
        EXPECT_TRUE(Has(Outcome(dragonfly + "--groups=2 --hosts=4 " + with), "hang on 2;"));
        EXPECT_TRUE(Has(Outcome("--topology=hyperx --hyperx=2 --hosts=4 " + with), "hang on 2;"));
        EXPECT_TRUE(Has(Outcome(dragonfly + "--groups=3 --hosts=4 " + with),
                        "hang on 2 of 3: --hosts=4 leaves the others empty; allowed: more"));
        EXPECT_TRUE(
            Has(Outcome("--topology=torus --torus=5 --hosts-per-switch=3 --hosts=5 " + with),
                "hang on 2 of 5: --hosts=5 leaves"));
        for (const std::string& network : {dragonfly + "--groups=3 --hosts=6 ",
                                           dragonfly + "--groups=3 ",
                                           std::string("--topology=dragonfly-plus --hosts=18 "),
                                           std::string("--topology=hyperx --hyperx=3 --hosts=5 "),
                                           std::string("--topology=torus --torus=3x3 --hosts=9 ")})
        {
            const auto result = ParseWords<TrafficScenario>(network + with);
            ASSERT_TRUE(result.scenario) << Outcome(network + with);
            EXPECT_FALSE(result.scenario->fabric.pfc);
            EXPECT_TRUE(Has(Outcome(network + with), "runs without PFC"));
        }
    }
}

TEST(LoadBalancingOptions, DetoursWithPfcAreAskedFor)
{
    const auto pfc = [](const std::string& words) {
        const auto result = ParseWords<TrafficScenario>(Words("--load-balancer=ugal " + words));
        return result.scenario && result.scenario->fabric.pfc;
    };
    EXPECT_FALSE(pfc(""));
    EXPECT_FALSE(pfc("--no-pfc"));
    EXPECT_TRUE(pfc("--pfc"));
    EXPECT_TRUE(pfc("--pfc-watchdog=10ms"));
    EXPECT_TRUE(Has(Outcome("--load-balancer=ugal --pfc"), "warning: PFC can deadlock"));
    EXPECT_FALSE(Has(Outcome("--load-balancer=ugal --pfc-watchdog=10ms"), "warning: PFC"));
    EXPECT_FALSE(Has(Outcome("--load-balancer=ugal"), "warning: PFC"));
}

// No vendor's scheme has been modelled: the help says so.
TEST(LoadBalancing, AdaptiveIsCalledAssumed)
{
    for (const NamedItem& item : LoadBalancerItems())
    {
        EXPECT_EQ(item.description.find("assumed") != std::string::npos, item.name == "adaptive");
    }
}

// NCCL: equal parts, rounded up to 128 B, the last ones shorter or empty.
TEST(QueuePairs, PartsAddUpToTheMessage)
{
    for (const uint32_t n : {1U, 2U, 3U, 4U, 7U, 16U, 128U})
    {
        const ConnectionSpec spec{n, true};
        for (const uint64_t bytes :
             {0ULL, 1ULL, 127ULL, 128ULL, 129ULL, 255ULL, 256ULL, 1000ULL, 4096ULL, 1000003ULL})
        {
            uint64_t sum = 0;
            uint64_t before = UINT64_MAX;
            for (uint32_t i = 0; i < n; ++i)
            {
                const uint64_t part = spec.PartOf(bytes, i);
                EXPECT_LE(part, before);
                EXPECT_TRUE(part % 128 == 0 || sum + part == bytes) << bytes << " over " << n;
                before = part;
                sum += part;
            }
            EXPECT_EQ(sum, bytes) << n;
            // ceil(ceil(bytes / n) / 128) x 128, or all.
            const uint64_t equal = ((bytes + n - 1) / n + 127) / 128 * 128;
            EXPECT_EQ(spec.PartOf(bytes, 0), std::min(bytes, equal));
        }
    }
}
