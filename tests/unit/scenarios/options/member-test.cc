/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Members of structs as names of options.
 */
#include "scenarios/asked/degrees.h"
#include "scenarios/asked/fabric.h"
#include "scenarios/asked/run.h"
#include "scenarios/asked/training.h"
#include "scenarios/goodput/options/goodput-options.h"
#include "scenarios/job/parse-result.h"
#include "scenarios/layout-search/options/planner-options.h"
#include "scenarios/multiplex/options/multiplex-options.h"
#include "scenarios/options/validation.h"
#include "topologies/family.h"

#include <gtest/gtest.h>
#include <set>
#include <stdexcept>

namespace scenario
{
namespace
{

struct Small
{
    bool flag = false;
    uint32_t count = 0;
    std::optional<rdma::Bytes> size;
    std::optional<NumberOrWord> batch;
    std::vector<std::string> names;
};

OptionTable
SmallTable()
{
    OptionTable table;
    table.program = "small";
    const Section section{"/small", "Small"};
    table.Add({
        section.Flag("flag", "one").As(&Small::flag).Default("0"),
        section.Integer("count", "two").As(&Small::count).Default("3"),
        section.Bytes("size", "three").As(&Small::size),
        section.Integer("batch", "four").As(&Small::batch).OrWord("auto"),
        section.List("names", "five").As(&Small::names).Default("a"),
    });
    table.Finish();
    return table;
}

const OptionTable&
Rows()
{
    static const OptionTable table = SmallTable();
    return table;
}

TEST(Members, EachRowOfEachProgramHasOne)
{
    // Parameters of topology families are made of a registry: their rows have no other name.
    std::set<std::string> registered;
    for (const auto& shared : topo::AllParameters())
    {
        registered.insert(shared.parameter.name);
    }
    for (const OptionTable* table : {&TrainingOptionTable(),
                                     &CollperfOptionTable(),
                                     &TrafficOptionTable(),
                                     &ServingOptionTable(),
                                     &PlannerOptionTable(),
                                     &GoodputOptionTable(),
                                     &MultiplexOptionTable()})
    {
        for (const Option& option : table->options)
        {
            EXPECT_NE(option.member.has_value(), registered.count(option.name) > 0)
                << table->program << " --" << option.name;
            EXPECT_TRUE(!option.member || table->Find(*option.member) == &option);
        }
    }
}

TEST(Members, AreSpelledAsUsersWriteThem)
{
    EXPECT_EQ(Spell(&asked::Training::zero), "--zero");
    EXPECT_EQ(OptionOf(&asked::Degrees::tp), "tp");
    EXPECT_EQ(OptionOf(&asked::Fabric::lossRecovery), "loss-recovery");

    struct Unbound
    {
        int member;
    };

    EXPECT_THROW(OptionOf(&Unbound::member), std::logic_error);
}

TEST(Members, HaveTheValuesOfTheirRows)
{
    const ReadResult read =
        ReadScenarioText(Rows(), R"({"small": {"size": "2MiB", "batch": "auto"}})", "job.json");
    ASSERT_TRUE(read.errors.empty());
    const Values& values = read.values;
    EXPECT_FALSE(values.Get(&Small::flag));
    EXPECT_EQ(values.Get(&Small::count), 3U);
    EXPECT_EQ(values.Get(&Small::size), rdma::Bytes(2 << 20));
    EXPECT_EQ(values.Get(&Small::batch).word, "auto");
    EXPECT_EQ(values.Get(&Small::names), std::vector<std::string>{"a"});
    EXPECT_TRUE(values.Given(&Small::size));
    EXPECT_FALSE(values.Given(&Small::count));
    EXPECT_TRUE(values.Has(&Small::count));
    EXPECT_EQ(values.Where(&Small::size), "job.json: /small/size");
    EXPECT_EQ(values.Where(&Small::count), "--count");
    // An option of another program.
    EXPECT_FALSE(values.Has(&asked::Run::seed));
    EXPECT_EQ(values.Get(&asked::Run::seed), 0U);
}

TEST(Members, AreDecidedInTheirOwnTypes)
{
    Validation v{Rows(), ReadScenarioText(Rows(), "{}", "job.json").values};
    v.Decide(&Small::flag, true);
    v.Decide(&Small::size, rdma::Bytes(3000));
    v.DecideUnlessGiven(&Small::count, 7);
    v.Decide(&Small::batch, {4, ""});
    v.Decide(&Small::names, {"x", "y"});
    EXPECT_EQ(ToJson(Rows(), v.values, {})["small"].dump(),
              R"({"batch":4,"count":7,"flag":true,"names":["x","y"],"size":"3kB"})");
    v.Fail(&Small::size, "is wrong");
    ASSERT_EQ(v.errors.size(), 1U);
    EXPECT_EQ(v.errors[0].Text(), "--size=3kB: is wrong");
}

TEST(Members, RefuseRowsThatAreMistakes)
{
    const Section section{"/small", "Small"};
    EXPECT_THROW(section.Integer("size", "").As(&Small::size), std::logic_error);
    OptionTable twice;
    twice.Add({section.Flag("one", "").As(&Small::flag), section.Flag("two", "").As(&Small::flag)});
    EXPECT_THROW(twice.Finish(), std::logic_error);
}

} // namespace
} // namespace scenario
