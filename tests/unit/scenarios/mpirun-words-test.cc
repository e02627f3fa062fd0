// SPDX-License-Identifier: GPL-2.0-only
#include "scenarios/launch/mpirun-words.h"
#include "scenarios/startup/parse.h"

#include <csignal>
#include <cstdlib>
#include <gtest/gtest.h>
#include <set>
#include <vector>

namespace
{

using scenario::MissingMpiSettings;
using scenario::MpirunErrors;

// As Open MPI 4.1.4 writes them.
const std::string kRule = std::string(74, '-') + "\n";
const std::string kJob = kRule +
                         "Primary job  terminated normally, but 1 process returned\n"
                         "a non-zero exit code. Per user-direction, the job has been aborted.\n" +
                         kRule;
const std::string kKilled =
    kRule +
    "mpirun noticed that process rank 1 with PID 0 on node vm exited on signal 9 (Killed).\n" +
    kRule;
const std::string kEnded =
    kRule +
    "mpirun detected that one or more processes exited with non-zero status, thus causing\n"
    "the job to be terminated. The first process to do so was:\n\n"
    "  Process name: [[31291,1],12]\n"
    "  Exit code:    2\n" +
    kRule;
const std::string kOther = kRule + "There are not enough slots available in the system\n" + kRule;

TEST(MpirunErrors, NoticesAreTakenOutHoweverTheyCome)
{
    const std::string all = "traffic: a\n" + kJob + kJob + "b\n" + kKilled + "half a line";
    for (std::size_t piece = 1; piece < all.size(); ++piece)
    {
        MpirunErrors errors;
        std::string passed;
        for (std::size_t at = 0; at < all.size(); at += piece)
        {
            passed += errors.Take(all.substr(at, piece));
        }
        passed += errors.Flush();
        EXPECT_EQ(passed, "traffic: a\nb\nhalf a line") << piece;
        ASSERT_TRUE(errors.GetEnd()) << piece;
        EXPECT_EQ(errors.GetEnd()->rank, 1u);
        EXPECT_EQ(errors.GetEnd()->signal, 9);
    }
}

TEST(MpirunErrors, TheFirstNoticeCounts)
{
    MpirunErrors errors;
    EXPECT_EQ(errors.Take(kJob), "");
    EXPECT_FALSE(errors.GetEnd()) << "it names no process";
    EXPECT_EQ(errors.Take(kEnded + kKilled), "");
    ASSERT_TRUE(errors.GetEnd());
    EXPECT_EQ(errors.GetEnd()->rank, 12u);
    EXPECT_EQ(errors.GetEnd()->signal, 0);
    EXPECT_EQ(errors.GetEnd()->status, 2);
}

TEST(MpirunErrors, NothingElseIsLost)
{
    for (const std::string& text :
         std::vector<std::string>{kOther,
                                  "no line",
                                  "---\n",
                                  kRule,
                                  "-" + kRule,
                                  kRule + kRule,
                                  kRule + "a line\n",
                                  "mpirun noticed that process rank 1 with PID 0 on node vm exited "
                                  "on signal 9 (Killed).\n",
                                  kRule + std::string(3000, 'x') + "\n" + kRule})
    {
        MpirunErrors errors;
        std::string passed = errors.Take(text);
        passed += errors.Flush();
        EXPECT_EQ(passed, text);
        EXPECT_FALSE(errors.Holds());
        EXPECT_FALSE(errors.GetEnd());
    }
}

TEST(MpirunErrors, ANoticeIsFoundBehindWhatIsNone)
{
    for (const std::string& before :
         std::vector<std::string>{kOther, kRule, kRule + "a line\n", "half "})
    {
        MpirunErrors errors;
        std::string passed = errors.Take(before + kKilled);
        passed += errors.Flush();
        EXPECT_EQ(passed, before);
        EXPECT_TRUE(errors.GetEnd()) << before;
    }
}

TEST(MpirunErrors, WhatIsNoNoticeIsNotHeldBack)
{
    MpirunErrors errors;
    EXPECT_EQ(errors.Take("traffic: 10% done"), "traffic: 10% done");
    EXPECT_FALSE(errors.Holds());
    EXPECT_EQ(errors.Take("\n--"), "\n");
    EXPECT_TRUE(errors.Holds());
    EXPECT_EQ(errors.Take("seed"), "--seed");
}

TEST(MpirunEnd, OnlyWhatHasNoWordOfItsOwnIsDescribed)
{
    EXPECT_EQ(scenario::DescribeEnd({1, SIGKILL, 0}, 2),
              "rank 1 of 2 was killed by signal 9 (SIGKILL): results are incomplete (the system "
              "does so where memory runs out)");
    EXPECT_EQ(scenario::DescribeEnd({0, SIGSEGV, 0}, 16),
              "rank 0 of 16 was killed by signal 11 (SIGSEGV): results are incomplete");
    EXPECT_EQ(scenario::DescribeEnd({3, 0, 127}, 4),
              "rank 3 of 4 ended with status 127: results are incomplete");
    for (const int status : {0, 1, 2, 3, 129, 130, 143})
    {
        EXPECT_EQ(scenario::DescribeEnd({0, 0, status}, 2), "") << status;
    }
    EXPECT_EQ(scenario::SignalText(1000), "1000");
}

TEST(MpiSettings, WhatIsSetStays)
{
    const auto names = [](const std::set<std::string>& given) {
        std::set<std::string> all;
        for (const std::string& text :
             MissingMpiSettings(3, [&](const char* name) { return given.count(name) > 0; }))
        {
            all.insert(text);
        }
        return all;
    };
    const std::set<std::string> all = names({});
    for (const char* one : {"OMPI_MCA_btl_tcp_if_include=lo",
                            "OMPI_MCA_oob_tcp_if_include=lo",
                            "OMPI_MCA_orte_default_dash_host=localhost:3",
                            "OMPI_ALLOW_RUN_AS_ROOT=1"})
    {
        EXPECT_EQ(all.count(one), 1u) << one;
    }
    std::set<std::string> given;
    for (const std::string& text : all)
    {
        given.insert(text.substr(0, text.find('=')));
        EXPECT_EQ(names(given).size(), all.size() - given.size()) << text;
    }
    // Open MPI refuses to be given both.
    EXPECT_EQ(names({"OMPI_MCA_btl_tcp_if_exclude"}).count("OMPI_MCA_btl_tcp_if_include=lo"), 0u);
}

/// Errors of a run of traffic that a launcher may have started.
std::string
ErrorUnder(const char* started, const char* option)
{
    if (started)
    {
        setenv("OMPI_COMM_WORLD_SIZE", started, 1);
        setenv("OMPI_COMM_WORLD_RANK", "0", 1);
    }
    const char* argv[] = {"traffic", "--k=4", "--dry-run", option};
    const auto result = scenario::ParseAs<scenario::TrafficScenario>(4, argv);
    unsetenv("OMPI_COMM_WORLD_SIZE");
    unsetenv("OMPI_COMM_WORLD_RANK");
    return result.errors.empty() ? "" : result.errors.front().Text();
}

TEST(MpiRanks, NeedFilesOfSomeLength)
{
    EXPECT_EQ(
        scenario::WhyFilesAreTooShort(40960),
        "files may have 40960 B at most (ulimit -f), and processes share memory by files of 4 "
        "MiB; allowed: 1, or a limit of 4300800 B or more");
    EXPECT_EQ(scenario::WhyFilesAreTooShort(4300800), "");
    EXPECT_NE(scenario::WhyFilesAreTooShort(4300799), "");
}

TEST(MpiRanks, AgreeWithMpirunThatStartedThem)
{
    EXPECT_EQ(ErrorUnder("4", "--mpi-ranks=2"),
              "--mpi-ranks=2: mpirun -np 4 has started 4 processes already; allowed: one of the "
              "two");
    EXPECT_EQ(ErrorUnder("1", "--mpi-ranks=2"),
              "--mpi-ranks=2: mpirun -np 1 has started 1 process already; allowed: one of the two");
    EXPECT_EQ(ErrorUnder("2", "--mpi-ranks=2"), "");
    EXPECT_EQ(ErrorUnder("2", "--mpi-ranks=1"), "") << "as without the option";
    EXPECT_EQ(ErrorUnder(nullptr, "--mpi-ranks=16"), "");
    EXPECT_EQ(ErrorUnder(nullptr, "--mpi-ranks=65"),
              "--mpi-ranks=65: allowed: a whole number, 1 to 64");
}

TEST(MpiRanks, AreInTheConfigurationAndThatThereIsNoAttribution)
{
    const char* argv[] = {"traffic", "--k=4", "--dry-run", "--mpi-ranks=8"};
    const auto several = scenario::ParseAs<scenario::TrafficScenario>(4, argv);
    const auto one = scenario::ParseAs<scenario::TrafficScenario>(3, argv);
    ASSERT_TRUE(several.scenario && one.scenario);
    nlohmann::json expected = one.scenario->run.asRun;
    expected["run"]["attribution"] = false;
    expected["run"]["mpi_ranks"] = 8;
    expected["given"] = {"k", "mpi-ranks"};
    EXPECT_EQ(several.scenario->run.asRun, expected);
}

} // namespace
