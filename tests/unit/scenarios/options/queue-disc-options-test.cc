/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * --queue-disc: names, what it cannot be combined with, what follows from it.
 */
#include "contrib/rdma/core/queue-disc-names.h"
#include "scenarios/dry-run/plan-text.h"
#include "scenarios/network/queue-disc-options.h"
#include "tests/unit/scenarios/parse-words.h"

#include <gtest/gtest.h>

using namespace scenario;

namespace
{

// Those of ports make themselves known in programs; these are the tests' own.
const rdma::RegisteredQueueDisc kKeeps{"keeps", "of tests: keeps the order of flows"};
const rdma::RegisteredQueueDisc kMixes{"mixes", "of tests: does not", true};

/// \return the errors, or the notes and the plan
std::string
Outcome(const std::string& options)
{
    const auto result = ParseWords<TrafficScenario>("--hosts=4 " + options);
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

/// \return the value of an ns-3 attribute that the options set
std::string
Attribute(const std::string& options, const std::string& name)
{
    const auto result = ParseWords<TrafficScenario>("--hosts=4 " + options);
    EXPECT_TRUE(result.scenario) << options << Outcome(options);
    std::string found;
    for (const auto& [attribute, value] : result.scenario->run.optionAttributes)
    {
        found = attribute == name ? value : found;
    }
    return found;
}

bool
Has(const std::string& text, const std::string& words)
{
    return text.find(words) != std::string::npos;
}

} // namespace

TEST(QueueDiscOptions, ANameIsThePortsAttribute)
{
    EXPECT_EQ(Attribute("--queue-disc=keeps", "ns3::RdmaPort::QueueDisc"), "keeps");
    EXPECT_EQ(Attribute("--queue-disc=strict", "ns3::RdmaPort::QueueDisc"), "strict");
    EXPECT_TRUE(Has(Outcome("--queue-disc=keeps"), "keeps"));
    EXPECT_FALSE(Has(Outcome("--queue-disc=drr"), "scheduling"));
    EXPECT_TRUE(Has(Outcome("--queue-disc=keepz"),
                    "--queue-disc=keepz: unknown queue discipline; "
                    "allowed: "))
        << Outcome("--queue-disc=keepz");
    EXPECT_TRUE(Has(Outcome("--queue-disc=keepz"), "did you mean 'keeps'?"));
    bool listed = false;
    for (const NamedItem& item : QueueDiscItems())
    {
        listed = listed || item.name == "mixes";
    }
    EXPECT_TRUE(listed);
}

TEST(QueueDiscOptions, ItIsOfEthernetsPackets)
{
    EXPECT_TRUE(Has(Outcome("--queue-disc=keeps --fabric=ib"), "--queue-disc=keeps: "))
        << Outcome("--queue-disc=keeps --fabric=ib");
    EXPECT_TRUE(Has(Outcome("--queue-disc=keeps --network=analytic"), "--network=packet"));
    for (const std::string transport : {"ndp", "eqds", "uet"})
    {
        EXPECT_TRUE(Has(Outcome("--queue-disc=keeps --transport=" + transport),
                        "switches that trim packets have queues of their own"));
        EXPECT_EQ(Attribute("--transport=" + transport, "ns3::RdmaNic::LossRecovery"), transport);
    }
    EXPECT_TRUE(Has(Outcome("--queue-disc=strict --ets=3:50"), "--queue-disc=strict: "));
    EXPECT_FALSE(Has(Outcome("--queue-disc=keeps --ets=3:50"), "--queue-disc=keeps: "));
}

TEST(QueueDiscOptions, WhatOvertakesNeedsARecoveryThatTakesAnyOrder)
{
    const std::string recovery = "ns3::RdmaNic::LossRecovery";
    EXPECT_EQ(Attribute("--queue-disc=mixes", recovery), "out-of-order");
    EXPECT_EQ(Attribute("--queue-disc=keeps", recovery), "go-back-n");
    EXPECT_TRUE(Has(Outcome("--queue-disc=mixes --loss-recovery=go-back-n"),
                    "warning: --loss-recovery=go-back-n with --queue-disc=mixes"));
}
