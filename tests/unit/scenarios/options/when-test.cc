/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Where options apply: each condition of a row is about something that there is, and from it come
 * error, note, help and list.
 */
#include "scenarios/inference/options/serving-options.h"
#include "scenarios/job/parse-result.h"
#include "scenarios/options/when.h"
#include "tests/unit/scenarios/parse-words.h"

#include <gtest/gtest.h>
#include <string>
#include <utility>
#include <vector>

using namespace scenario;

namespace
{

std::vector<const OptionTable*>
Tables()
{
    return {&TrainingOptionTable(),
            &CollperfOptionTable(),
            &TrafficOptionTable(),
            &ServingOptionTable()};
}

template <class T>
std::string
ErrorOf(const std::string& words)
{
    const auto result = ParseWords<T>(words);
    return result.errors.size() == 1 ? result.errors[0].Text()
                                     : std::to_string(result.errors.size());
}

} // namespace

TEST(When, EachConditionIsOfAnOptionThatThereIs)
{
    uint32_t conditions = 0;
    for (const OptionTable* table : Tables())
    {
        for (const Option& option : table->options)
        {
            for (const Condition& condition : option.conditions)
            {
                ++conditions;
                const When& when = condition.when;
                EXPECT_FALSE(when.needs.empty()) << option.name;
                bool known = false;
                for (const OptionTable* other : Tables())
                {
                    known = known || when.IsIn(*other);
                }
                EXPECT_TRUE(known) << option.name << " needs " << when.needs;
                EXPECT_NE(when.option, option.name);
            }
        }
    }
    EXPECT_GT(conditions, 300u);
}

TEST(When, HelpAndListSayIt)
{
    for (const OptionTable* table : Tables())
    {
        const auto list = nlohmann::json::parse(OptionsJson(*table))["options"];
        for (std::size_t i = 0; i < table->options.size(); ++i)
        {
            const Option& option = table->options[i];
            const std::vector<std::string> all = table->Needs(option, true);
            EXPECT_EQ(list[i].count("needs"), all.empty() ? 0u : 1u) << option.name;
            const std::string text = Description(*table, option);
            for (const std::string& needs : table->Needs(option, false))
            {
                EXPECT_NE(text.find(needs), std::string::npos) << option.name << ": " << text;
            }
        }
    }
    const Option& gap = *TrafficOptionTable().Find("flowlet-gap");
    EXPECT_EQ(TrafficOptionTable().Needs(gap, true),
              (std::vector<std::string>{"--network=packet", "--load-balancer=flowlet or conga"}));
    EXPECT_EQ(TrafficOptionTable().Needs(gap, false),
              std::vector<std::string>{"--load-balancer=flowlet or conga"});
}

TEST(When, ErrorsNameBothOptions)
{
    EXPECT_EQ(ErrorOf<TrafficScenario>("--load-balancer=spray --flowlet-gap=5us"),
              "--flowlet-gap=5us: cannot be combined with --load-balancer=spray. It needs "
              "--load-balancer=flowlet or conga.");
    EXPECT_EQ(ErrorOf<TrafficScenario>("--flowlet-gap=5us"),
              "--flowlet-gap=5us: needs --load-balancer=flowlet or conga. This run has "
              "--load-balancer=ecmp.");
    EXPECT_EQ(ErrorOf<TrafficScenario>("--fabric=ib --no-pfc"),
              "--no-pfc: cannot be combined with --fabric=ib, whose links have credits and whose "
              "switches mark by --fecn-threshold. It needs --fabric=roce.");
    EXPECT_EQ(
        ErrorOf<TrafficScenario>("--fabric=ib --adaptive-routing --load-balancer=drill"),
        "--load-balancer=drill: cannot be combined with --adaptive-routing. Use one of them.");
    EXPECT_EQ(ErrorOf<TrainingScenario>("--capture-steps=2"), "--capture-steps=2: needs --launch");
    EXPECT_EQ(ErrorOf<TrainingScenario>("--strategy=downpour --buckets=1MiB"),
              "--buckets=1MiB: cannot be combined with --strategy=downpour, which has neither "
              "collectives nor stages. It needs --strategy=sync.");
}
