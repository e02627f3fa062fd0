/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Parameters of families: their values as one types them, their ranges, and the tables of all
 * families there are.
 */
#include "topologies/family.h"
#include "topologies/parameter.h"

#include <gtest/gtest.h>
#include <set>
#include <stdexcept>
#include <utility>

namespace
{

using topo::ParameterValue;
using Sizes = std::vector<uint32_t>;

TEST(Parameter, TextsAreValues)
{
    const auto count = topo::CountParameter("n", "").Range(2, 1048576);
    const auto factor = topo::FactorParameter("f", "").Range(0.5, 8);
    const auto flag = topo::FlagParameter("b", "");
    const auto sizes = topo::SizesParameter("s", "");
    std::string allowed;
    EXPECT_EQ(topo::ParseParameter(count, "12", &allowed), ParameterValue(uint64_t{12}));
    EXPECT_EQ(topo::ParseParameter(factor, "1.5", &allowed), ParameterValue(1.5));
    EXPECT_EQ(topo::ParseParameter(flag, "0", &allowed), ParameterValue(false));
    EXPECT_EQ(topo::ParseParameter(sizes, "3x4", &allowed), ParameterValue(Sizes{3, 4}));
    EXPECT_EQ(allowed, "");
    const std::vector<std::pair<const topo::Parameter*, const char*>> wrong = {{&count, "-1"},
                                                                               {&count, "1.5"},
                                                                               {&count, ""},
                                                                               {&factor, "x"},
                                                                               {&factor, ""},
                                                                               {&factor, "1x"},
                                                                               {&flag, "maybe"},
                                                                               {&sizes, "3x"}};
    for (const auto& [parameter, text] : wrong)
    {
        allowed.clear();
        EXPECT_FALSE(topo::ParseParameter(*parameter, text, &allowed)) << text;
        EXPECT_NE(allowed, "") << text;
    }
    for (const ParameterValue& value : {ParameterValue(uint64_t{12}),
                                        ParameterValue(1.5),
                                        ParameterValue(true),
                                        ParameterValue(Sizes{4, 4, 2})})
    {
        const auto& parameter = std::holds_alternative<uint64_t>(value) ? count
                                : std::holds_alternative<double>(value) ? factor
                                : std::holds_alternative<bool>(value)   ? flag
                                                                        : sizes;
        EXPECT_EQ(topo::ParseParameter(parameter, topo::ValueText(value), &allowed), value);
    }
    EXPECT_EQ(topo::WhyNotValue(count, uint64_t{2}), "");
    EXPECT_EQ(topo::WhyNotValue(count, uint64_t{1}), "is not a number from 2 to 1048576");
    EXPECT_EQ(topo::WhyNotValue(factor, 8.5), "is not a number from 0.5 to 8");
    EXPECT_EQ(topo::WhyNotValue(flag, true), "");
}

TEST(Parameter, ValuesHaveAKind)
{
    topo::Parameters p;
    p.SetCount("n", 3).SetFlag("b", false);
    EXPECT_TRUE(p.Has("n"));
    EXPECT_EQ(p.Count("n"), 3u);
    EXPECT_FALSE(p.Flag("b"));
    EXPECT_EQ(p.Count("none"), 0u) << "the family chooses";
    EXPECT_TRUE(p.Sizes("none").empty());
    EXPECT_THROW(p.Factor("none"), std::invalid_argument);
    EXPECT_THROW(p.Flag("none"), std::invalid_argument);
    EXPECT_THROW(p.Factor("n"), std::invalid_argument) << "of another kind";
    EXPECT_THROW(p.Sizes("b"), std::invalid_argument);
}

TEST(Parameter, TablesAreWhole)
{
    for (const topo::Family& family : topo::Families())
    {
        std::set<std::string> names;
        for (const topo::Parameter& p : family.parameters)
        {
            const std::string what = family.name + ": " + p.name;
            EXPECT_TRUE(names.insert(p.name).second) << what << " twice";
            EXPECT_NE(p.help, "") << what;
            EXPECT_NE(p.standard.empty(), p.chosen.empty())
                << what << ": has a value, or is chosen";
            for (const std::string& text : {p.standard, p.usual, p.example})
            {
                std::string allowed;
                const auto value = topo::ParseParameter(p, text, &allowed);
                EXPECT_TRUE(text.empty() || value) << what << ": " << text;
                EXPECT_TRUE(!value || topo::WhyNotValue(p, *value).empty()) << what << ": " << text;
            }
        }
        for (const std::string& name : family.sizedBy)
        {
            EXPECT_TRUE(names.count(name)) << family.name << " is not sized by " << name;
        }
        EXPECT_TRUE(family.file.empty() || family.parameters.empty()) << family.name;
        EXPECT_TRUE(family.make) << family.name;
    }
}

TEST(Parameter, NobodysIsAnError)
{
    topo::TopologyRequest r;
    r.family = "fat-tree";
    r.hosts = 4;
    r.parameters.SetCount("leafs", 4);
    const auto made = topo::MakeTopology(r);
    ASSERT_EQ(made.errors.size(), 1u);
    EXPECT_EQ(made.errors[0].Sentence(), "leafs: 4 is of no family (did you mean leaves?)");
}

/// A switch's name is made of its coordinates, never the other way round.
TEST(Parameter, NetworksSayWhatTheyAre)
{
    topo::TopologyRequest r;
    r.hosts = 20;
    for (const char* family : {"dragonfly",
                               "dragonfly-plus",
                               "dual-plane",
                               "fat-tree",
                               "hyperx",
                               "leaf-spine",
                               "rail-only",
                               "rail-optimized",
                               "single-switch",
                               "torus",
                               "xgft"})
    {
        r.family = family;
        const auto made = topo::MakeTopology(r);
        ASSERT_TRUE(made.topology) << family;
        const topo::Topology& t = *made.topology;
        EXPECT_EQ(t.About().family, family);
        for (const topo::Parameter& p : topo::FindFamily(family)->parameters)
        {
            const bool none = p.name == "bond"; // one port is no bond
            EXPECT_TRUE(none || t.About().parameters.Has(p.name)) << family << ": " << p.name;
        }
        for (topo::NodeId n = 0; n < t.Nodes().size(); ++n)
        {
            std::string end;
            for (const uint32_t c : t.Coordinates(n))
            {
                end += "-" + std::to_string(c);
            }
            const topo::Node& node = t.Nodes()[n];
            EXPECT_EQ(end.empty(), node.kind == topo::NodeKind::kHost) << node.name;
            EXPECT_TRUE(end.size() <= node.name.size() &&
                        node.name.compare(node.name.size() - end.size(), end.size(), end) == 0)
                << node.name << " is at " << end;
        }
    }
    r.family = "fat-tree"; // k = 6: 54 server ports, 9 a pod
    const auto tree = topo::MakeTopology(r);
    EXPECT_EQ(tree.topology->About().name, "fat-tree k=6") << "4 has 16";
    EXPECT_EQ(tree.topology->About().parameters.Count("k"), 4u + 2);
    EXPECT_EQ(tree.topology->About().partPorts, 9u);
    r.family = "leaf-spine"; // 16 a leaf, so 2 of them; 16 spines for as much as that
    const auto leaves = topo::MakeTopology(r);
    EXPECT_EQ(leaves.topology->About().name, "leaf-spine, 2 leaves, 16 spines");
    EXPECT_EQ(leaves.topology->About().parameters.Count("leaves"), 2u);
    EXPECT_EQ(leaves.topology->About().parameters.Count("spines"), 16u);
    EXPECT_EQ(leaves.topology->About().parameters.Count("hosts-per-leaf"), 16u);
}

} // namespace
