/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * --background: flows of traffic's keys beside a job.
 */
#include "scenarios/network/background.h"
#include "tests/unit/scenarios/parse-words.h"

#include <cmath>
#include <gtest/gtest.h>
#include <set>

namespace scenario
{
namespace
{

const std::string kNetwork =
    "--ranks=8 --servers=15 --topology=leaf-spine --leaves=3 --hosts-per-leaf=5 ";

std::shared_ptr<const Background>
Made(const std::string& text)
{
    const auto result = ParseWords<CollperfScenario>(kNetwork + "--background=" + text);
    EXPECT_TRUE(result.scenario) << (result.errors.empty() ? "" : result.errors.front().Text());
    return result.scenario ? result.scenario->run.background : nullptr;
}

std::string
ErrorOf(const std::string& text)
{
    const auto result = ParseWords<CollperfScenario>(kNetwork + "--background=" + text);
    EXPECT_EQ(result.errors.size(), 1u) << text;
    return result.errors.empty() ? "" : result.errors.front().Text();
}

TEST(Background, NoneUnlessAskedFor)
{
    const auto result = ParseWords<CollperfScenario>(kNetwork);
    ASSERT_TRUE(result.scenario);
    EXPECT_EQ(result.scenario->run.background, nullptr);
}

TEST(Background, EpochsHaveTheLoadThatWasAskedFor)
{
    for (const double load : {0.1, 0.4})
    {
        const auto background =
            Made("pattern=random,load=" + std::to_string(load) + ",sizes=fb-hadoop");
        ASSERT_TRUE(background);
        EXPECT_EQ(background->pattern, "poisson");
        EXPECT_FALSE(background->repeats);
        EXPECT_EQ(background->hosts, 15u);
        EXPECT_EQ(background->rateBps, 15 * 100000000000ULL);
        double bytes = 0;
        double squares = 0;
        uint64_t flows = 0;
        const uint32_t epochs = 20;
        std::set<uint64_t> firsts;
        for (uint32_t epoch = 0; epoch < epochs; ++epoch)
        {
            const auto made = background->flows(epoch);
            ASSERT_FALSE(made.empty());
            firsts.insert(static_cast<uint64_t>(made.front().start.ps));
            EXPECT_EQ(made.size(), background->flows(epoch).size()); // again the same
            for (const Flow& flow : made)
            {
                EXPECT_LT(flow.start.ps, background->epoch.ps);
                EXPECT_NE(flow.src, flow.dst);
                EXPECT_LT(std::max(flow.src, flow.dst), 15u);
                bytes += static_cast<double>(flow.bytes);
                squares += static_cast<double>(flow.bytes) * static_cast<double>(flow.bytes);
                ++flows;
            }
        }
        EXPECT_EQ(firsts.size(), epochs); // each epoch is another one
        // A sum of a Poisson number of sizes has the variance number x E(size^2): here estimated by
        // the sum of squares. Four standard deviations.
        const double seconds = static_cast<double>(background->epoch.ps) * 1e-12 * epochs;
        const double asked = load * static_cast<double>(background->rateBps) / 8 * seconds;
        EXPECT_NEAR(bytes, asked, 4 * std::sqrt(squares)) << flows;
    }
}

TEST(Background, OthersRepeat)
{
    const auto background = Made("pattern=incast,fan_in=3,target=1,bytes=1MB,64KiB,hosts=2-4,9,14");
    ASSERT_TRUE(background);
    EXPECT_TRUE(background->repeats);
    const auto flows = background->flows(0);
    ASSERT_EQ(flows.size(), 3u);
    const std::set<uint32_t> hosts{2, 3, 4, 9, 14};
    for (const Flow& flow : flows)
    {
        EXPECT_EQ(flow.dst, 3u); // the second of them
        EXPECT_TRUE(hosts.count(flow.src)) << flow.src;
    }
    // Sizes in turn, as traffic has them: a list goes on behind its comma.
    EXPECT_EQ(flows[0].bytes, 1000000u);
    EXPECT_EQ(flows[1].bytes, 65536u);
    EXPECT_EQ(flows[2].bytes, 1000000u);
}

TEST(Background, ServersWithSeveralNics)
{
    const auto result = ParseWords<CollperfScenario>(
        "--ranks=4 --nics-per-server=2 --servers=4 --topology=single-switch "
        "--background=pattern=all-to-all,bytes=1MB,hosts=1-3");
    ASSERT_TRUE(result.scenario);
    const auto& background = *result.scenario->run.background;
    EXPECT_EQ(background.rateBps, 3 * 2 * 100000000000ULL);
    for (const Flow& flow : background.flows(0))
    {
        // Endpoints 2 to 7 are those of servers 1 to 3.
        EXPECT_GE(std::min(flow.src, flow.dst), 2u);
        EXPECT_LT(std::max(flow.src, flow.dst), 8u);
        EXPECT_NE(flow.src / 2, flow.dst / 2);
    }
}

TEST(Background, WhatIsWrongNamesTheKey)
{
    const std::vector<std::pair<std::string, std::string>> cases = {
        {"pattern=randm", "--background: pattern=randm"},
        {"load=0.3", "load"}, // permutation, the default, has none
        {"pattern=random,load=eleven", "--background: load=eleven"},
        {"pattern=random,load=11", "--background: load=11"},
        {"pattern=random,laod=0.3", "did you mean 'load'"},
        {"pattern=random,load=0.3,load=0.4", "twice"},
        {"pattern=random,bytes=1MB", "bytes"},
        {"pattern=random,hosts=0-15", "--background: hosts=0-15"},
        {"pattern=random,hosts=3-1", "hosts 0 to 14"},
        {"pattern=random,hosts=1,1", "twice"},
        {"pattern=random,hosts=0-3,hosts=4-7", "hosts=4-7: stands there twice; allowed: once"},
        {"pattern=random,hosts=4", "a flow needs two"},
        {"pattern=incast,fan_in=15", "1 to 14"},
        {"pattern=incast,operation=read", "operation"},
        {"pattern=random,warm-up=1ms", "unknown key"},
        {"pattern", "KEY=VALUE"},
        {"pattern=random,sizes=nothing.txt", "nothing.txt"},
    };
    for (const auto& [text, word] : cases)
    {
        const std::string error = ErrorOf(text);
        EXPECT_NE(error.find(word), std::string::npos) << text << ": " << error;
    }
    const auto several =
        ParseWords<CollperfScenario>(kNetwork + "--background=pattern=random --mpi-ranks=2");
    ASSERT_EQ(several.errors.size(), 1u);
    EXPECT_NE(several.errors.front().Text().find("one process"), std::string::npos);
}

} // namespace
} // namespace scenario
