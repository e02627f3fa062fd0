/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Messages name what was said: --no-pfc as it stands on the command line, and what another option
 * decided with that option. And --help names all values that are names.
 */
#include "scenarios/options/said.h"
#include "tests/unit/scenarios/parse-words.h"

#include <gtest/gtest.h>
#include <set>

using namespace scenario;

namespace
{

std::string
ErrorsOf(const std::string& program, const std::string& words)
{
    std::vector<Error> errors;
    if (program == "traffic")
    {
        errors = ParseWords<TrafficScenario>(words).errors;
    }
    else if (program == "collperf")
    {
        errors = ParseWords<CollperfScenario>(words).errors;
    }
    else
    {
        errors = ParseWords<TrainingScenario>(words).errors;
    }
    std::string text;
    for (const Error& error : errors)
    {
        text += error.Text() + "\n";
    }
    return text;
}

/// Contexts in which many options have no meaning.
const std::vector<std::string> kContexts = {"",
                                            "--fabric=ib ",
                                            "--network=analytic ",
                                            "--transport=uet ",
                                            "--transport=irn ",
                                            "--cc=none "};

} // namespace

TEST(Said, SwitchesHaveNoValueThatNobodyWrote)
{
    for (const OptionTable* table :
         {&TrafficOptionTable(), &CollperfOptionTable(), &TrainingOptionTable()})
    {
        for (const Option& option : table->options)
        {
            if (!option.IsSwitch() || option.path.empty())
            {
                continue;
            }
            for (const std::string context :
                 {"", "--fabric=ib ", "--network=analytic ", "--network=fluid "})
            {
                const std::string errors =
                    ErrorsOf(table->program, context + "--no-" + option.name);
                EXPECT_EQ(errors.find("--no-" + option.name + "="), std::string::npos)
                    << table->program << " " << context << errors;
            }
        }
    }
}

TEST(Said, ErrorsBeginWithWhatWasSaidOrIsMeant)
{
    EXPECT_EQ(ErrorsOf("traffic", "--no-pfc --fabric=ib").rfind("--no-pfc: cannot be combined", 0),
              0u);
    EXPECT_EQ(ErrorsOf("traffic", "--pfc=0 --fabric=ib").rfind("--pfc=0: cannot be combined", 0),
              0u);
    EXPECT_EQ(ErrorsOf("traffic", "--transport=uet --protocol=tcp")
                  .rfind("--transport=uet: --load-balancer=reps: is of RDMA's senders", 0),
              0u);
    EXPECT_EQ(ErrorsOf("traffic", "--transport=uet --protocol=udp --load-balancer=plb")
                  .rfind("--load-balancer=plb: ", 0),
              0u);
    // Whatever meets whatever: no error begins with a value of nobody's.
    for (const std::string& context : kContexts)
    {
        for (const std::string more : {"--protocol=tcp",
                                       "--protocol=udp",
                                       "--load-balancer=spray",
                                       "--load-balancer=valiant",
                                       "--operation=read",
                                       "--loss-recovery=go-back-n",
                                       "--compat=hpcc",
                                       "--pfc-watchdog=1ms",
                                       "--no-ecn",
                                       "--ack-every=4",
                                       "--ets=0:30,3:70",
                                       "--ib-routing=updn"})
        {
            std::istringstream lines(ErrorsOf("traffic", context + more));
            std::string line;
            while (std::getline(lines, line))
            {
                EXPECT_EQ(line.rfind("--", 0), 0u) << context << more << ": " << line;
            }
        }
    }
}

TEST(Said, HelpNamesAllNames)
{
    for (const OptionTable* table :
         {&TrafficOptionTable(), &CollperfOptionTable(), &TrainingOptionTable()})
    {
        std::set<std::string> listed;
        for (const NameList& list : table->lists)
        {
            for (const NamedItem& item :
                 list.title.rfind("--", 0) == 0 ? std::vector<NamedItem>() : list.items())
            {
                listed.insert(item.name);
            }
        }
        const std::string help = HelpText(*table);
        for (const Option& option : table->options)
        {
            if (!option.names || option.name == "help" || option.name == "list")
            {
                continue;
            }
            // In its own words, or in a list at the end.
            const std::string own = " " + Description(*table, option) + " ";
            for (const NamedItem& item : option.names())
            {
                bool found = listed.count(item.name) > 0;
                for (std::size_t at = own.find(item.name); !found && at != std::string::npos;
                     at = own.find(item.name, at + 1))
                {
                    const auto part = [](char c) {
                        return std::isalnum(static_cast<unsigned char>(c)) || c == '-' || c == '_';
                    };
                    found = !part(own[at - 1]) && !part(own[at + item.name.size()]);
                }
                EXPECT_TRUE(found) << table->program << " --" << option.name << ": " << item.name;
            }
        }
        EXPECT_NE(help.find("--load-balancer"), std::string::npos);
    }
}
