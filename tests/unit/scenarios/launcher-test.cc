// SPDX-License-Identifier: GPL-2.0-only
#include "scenarios/launch/launcher.h"
#include "tests/unit/full.h"

#include <csignal>
#include <cstdlib>
#include <gtest/gtest.h>

namespace
{

using scenario::FindLauncher;
using scenario::Launcher;

class LauncherTest : public testing::Test
{
  protected:
    void SetUp() override
    {
        Clear();
    }

    void TearDown() override
    {
        Clear();
    }

    static void Clear()
    {
        for (const char* name : {"OMPI_COMM_WORLD_SIZE",
                                 "OMPI_COMM_WORLD_RANK",
                                 "PMI_SIZE",
                                 "PMI_RANK",
                                 "MV2_COMM_WORLD_SIZE",
                                 "MV2_COMM_WORLD_RANK"})
        {
            unsetenv(name);
        }
    }
};

TEST_F(LauncherTest, NobodyIsOneProcess)
{
    EXPECT_FALSE(FindLauncher().Several());
    EXPECT_TRUE(FindLauncher().IsFirst());
    EXPECT_FALSE(FindLauncher().started);
}

TEST_F(LauncherTest, EachLauncherIsUnderstood)
{
    for (const std::string prefix : {"OMPI_COMM_WORLD_", "PMI_", "MV2_COMM_WORLD_"})
    {
        Clear();
        setenv((prefix + "SIZE").c_str(), "4", 1);
        setenv((prefix + "RANK").c_str(), "3", 1);
        const Launcher launcher = FindLauncher();
        EXPECT_EQ(launcher.ranks, 4U) << prefix;
        EXPECT_EQ(launcher.rank, 3U) << prefix;
        EXPECT_TRUE(launcher.Several());
        EXPECT_FALSE(launcher.IsFirst());
    }
}

TEST_F(LauncherTest, HalfOfItOrNonsenseIsNobody)
{
    setenv("PMI_SIZE", "4", 1);
    EXPECT_FALSE(FindLauncher().Several()) << "no rank";
    for (const char* rank : {"", "x", "4", "1x"})
    {
        setenv("PMI_RANK", rank, 1);
        EXPECT_FALSE(FindLauncher().Several()) << rank;
        EXPECT_TRUE(FindLauncher().IsFirst()) << rank;
    }
}

TEST_F(LauncherTest, OneProcessIsSilentForNobody)
{
    setenv("OMPI_COMM_WORLD_SIZE", "1", 1);
    setenv("OMPI_COMM_WORLD_RANK", "0", 1);
    EXPECT_FALSE(FindLauncher().Several());
    EXPECT_TRUE(FindLauncher().started);
}

TEST_F(LauncherTest, OnlyTheFirstTellsAStatus)
{
    setenv("OMPI_COMM_WORLD_SIZE", "2", 1);
    setenv("OMPI_COMM_WORLD_RANK", "0", 1);
    EXPECT_EQ(scenario::StatusAmongRanks(130), 130);
    setenv("OMPI_COMM_WORLD_RANK", "1", 1);
    // The launcher's SIGTERM, which comes as the first one ends, does not end this one.
    EXPECT_EXIT(
        {
            const int status = scenario::StatusAmongRanks(130);
            raise(SIGTERM);
            exit(status);
        },
        testing::ExitedWithCode(0),
        "^$");
}

} // namespace
