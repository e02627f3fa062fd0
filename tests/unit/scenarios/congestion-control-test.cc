/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Congestion controls make themselves known in their headers, all of which are part of this
 * program; the expected values are those that their sources have (named in the headers).
 */
#include "contrib/rdma/core/congestion-control.h"

#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <iterator>
#include <set>

using namespace rdma;

TEST(CongestionControl, EveryLawThatSaysItsNameIsKnown)
{
    size_t said = 0;
    for (const auto& header : std::filesystem::recursive_directory_iterator(
             std::string(DLTRAIN_ROOT) + "/contrib/rdma/core"))
    {
        if (!header.is_regular_file())
        {
            continue;
        }
        std::ifstream in(header.path());
        const std::string text{std::istreambuf_iterator<char>(in), {}};
        for (size_t at = 0; (at = text.find("\ninline const RegisteredCongestionControl ", at)) !=
                            std::string::npos;
             ++at)
        {
            const size_t name = text.find('"', at) + 1;
            EXPECT_TRUE(FindCongestionControl(text.substr(name, text.find('"', name) - name)))
                << header.path();
            ++said;
        }
    }
    EXPECT_EQ(CongestionControls().size(), said);
    EXPECT_GE(said, 9u);
}

TEST(CongestionControl, NamesAndPresetsAreUniqueAndTold)
{
    std::map<std::string, const CongestionPreset*> presets;
    for (const auto& [name, control] : CongestionControls())
    {
        EXPECT_EQ(name, control.name);
        EXPECT_FALSE(control.description.empty()) << name;
        std::set<std::string> names;
        std::set<int> values;
        for (const auto& preset : control.presets)
        {
            EXPECT_TRUE(names.insert(preset.name).second && values.insert(preset.value).second)
                << name << " " << preset.name;
            EXPECT_LE(preset.marking.kmin, preset.marking.kmax) << preset.name;
            // One that several have is one thing: lists name it once.
            const auto known = presets.emplace(preset.name, &preset).first->second;
            EXPECT_EQ(known->description, preset.description) << preset.name;
            EXPECT_EQ(known->marking.kmin, preset.marking.kmin) << preset.name;
            EXPECT_EQ(known->marking.kmax, preset.marking.kmax) << preset.name;
            EXPECT_EQ(known->marking.pmax, preset.marking.pmax) << preset.name;
        }
    }
}

TEST(CongestionControl, MarkingIsThePresets)
{
    // 65 packets of 1,500 B at 10 Gb/s.
    EXPECT_EQ(MarkingOf("dctcp", "sigcomm10").kmin, Bytes(65 * 1500 * 10));
    EXPECT_EQ(MarkingOf("dctcp", "sigcomm10").kmax, Bytes(975000));
    // 5 and 200 KB at 40 Gb/s, Pmax 1%.
    EXPECT_EQ(MarkingOf("dcqcn", "sigcomm15").kmin, Bytes(12500));
    EXPECT_EQ(MarkingOf("dcqcn", "sigcomm15").kmax, Bytes(500000));
    EXPECT_EQ(MarkingOf("dcqcn", "sigcomm15").pmax, 0.01);
    EXPECT_EQ(MarkingOf("none", "nvidia-nic").pmax, 1);
}

// A law that says nothing of presets: switches mark as they do by themselves, and not everything.
TEST(CongestionControl, OneWithoutPresetsHasTheUsualMarking)
{
    {
        const RegisteredCongestionControl plain{"plain", "of this test", {}};
        ASSERT_TRUE(FindCongestionControl("plain"));
        EXPECT_EQ(MarkingOf("plain", "").kmin, EcnParameters().kmin);
        EXPECT_GT(MarkingOf("plain", "").kmin.value, 0u);
        EXPECT_THROW(RegisteredCongestionControl("plain", "", {}), std::logic_error);
        EXPECT_TRUE(FindCongestionControl("plain")); // the first
    }
    EXPECT_FALSE(FindCongestionControl("plain")); // nobody sees it after the test
}
