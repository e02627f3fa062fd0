// SPDX-License-Identifier: GPL-2.0-only
#include "scenarios/launch/mpi-hosts.h"
#include "scenarios/launch/mpirun-words.h"

#include <algorithm>
#include <cstdlib>
#include <gtest/gtest.h>
#include <set>

namespace
{

using scenario::MpiHost;

std::vector<MpiHost>
Hosts(const std::vector<std::string>& texts)
{
    std::vector<MpiHost> hosts;
    EXPECT_EQ(scenario::ReadHosts(texts, &hosts), "");
    return hosts;
}

TEST(MpiHosts, NamesAndNumbersAreRead)
{
    EXPECT_EQ(Hosts({"node1", "me@node2.local:4", "10.0.0.3:64"}),
              (std::vector<MpiHost>{{"node1", 0}, {"me@node2.local", 4}, {"10.0.0.3", 64}}));
    EXPECT_EQ(scenario::RanksOf(Hosts({"a", "b:4"})), 5U);
    for (const std::string& text : std::vector<std::string>{"",
                                                            ":2",
                                                            "a:",
                                                            "a:0",
                                                            "a:65",
                                                            "a:x",
                                                            "a:1000",
                                                            "-oX",
                                                            "a b",
                                                            "a;b",
                                                            "a:2:2",
                                                            "$(a)"})
    {
        std::vector<MpiHost> hosts;
        EXPECT_NE(scenario::ReadHosts({text}, &hosts), "") << text;
    }
    std::vector<MpiHost> hosts;
    EXPECT_NE(scenario::ReadHosts({"a:1", "a:2"}, &hosts), "");
}

TEST(MpiHosts, SharesAreEqualAndComplete)
{
    for (uint32_t count = 1; count < 12; ++count)
    {
        for (uint32_t ranks = 1; ranks < 40; ++ranks)
        {
            std::vector<MpiHost> hosts(count);
            const bool fits = count <= ranks;
            ASSERT_EQ(scenario::SpreadRanks(ranks, &hosts).empty(), fits) << count << " " << ranks;
            if (fits)
            {
                ASSERT_EQ(scenario::RanksOf(hosts), ranks);
                ASSERT_LE(hosts.front().ranks - hosts.back().ranks, 1U);
                ASSERT_GE(hosts.back().ranks, 1U);
            }
        }
    }
    std::vector<MpiHost> said = Hosts({"a:3", "b:1"});
    EXPECT_EQ(scenario::SpreadRanks(4, &said), "");
    EXPECT_EQ(scenario::HostList(said), "a:3,b:1");
    EXPECT_EQ(scenario::HostText(said), "a (3) and b (1)");
    EXPECT_NE(scenario::SpreadRanks(5, &said), "");
    std::vector<MpiHost> some = Hosts({"a:3", "b"});
    EXPECT_NE(scenario::SpreadRanks(4, &some), "");
}

TEST(MpiHosts, RanksOfALostHost)
{
    const std::vector<MpiHost> hosts = Hosts({"a:3", "me@b.local:1", "c:2"});
    EXPECT_EQ(scenario::RanksText(hosts, "a"), "ranks 0 to 2");
    EXPECT_EQ(scenario::RanksText(hosts, "b"), "rank 3"); // as a daemon of MPI calls it
    EXPECT_EQ(scenario::RanksText(hosts, "b.local"), "rank 3");
    EXPECT_EQ(scenario::RanksText(hosts, "c"), "ranks 4 and 5");
    EXPECT_EQ(scenario::RanksText(hosts, "d"), "");
    EXPECT_EQ(scenario::DescribeEnd({3, 11, 0}, 6, hosts),
              "rank 3 of 6 on me@b.local was killed by signal 11 (SIGSEGV): results are "
              "incomplete");
}

TEST(MpiHosts, AnAllocationOfSeveralNodes)
{
    const auto nodes = [](const char* job, const char* count, const char* tasks) {
        const std::pair<const char*, const char*> all[] = {{"SLURM_JOB_ID", job},
                                                           {"SLURM_JOB_NUM_NODES", count},
                                                           {"SLURM_STEP_NUM_TASKS", tasks}};
        for (const auto& [name, value] : all)
        {
            value ? ::setenv(name, value, 1) : ::unsetenv(name);
        }
        const uint32_t found = scenario::FindAllocation().nodes;
        for (const auto& [name, value] : all)
        {
            ::unsetenv(name);
        }
        return found;
    };
    EXPECT_EQ(nodes(nullptr, nullptr, nullptr), 0U);
    EXPECT_EQ(nodes("12", "4", nullptr), 4U);
    EXPECT_EQ(nodes("12", "4", "1"), 4U); // a shell of srun
    EXPECT_EQ(nodes("12", "4", "8"), 0U); // one of several tasks
    EXPECT_EQ(nodes("12", "1", nullptr), 0U);
    EXPECT_EQ(nodes(nullptr, "4", nullptr), 0U);
}

TEST(MpiHosts, TheAgentIsMpisOwn)
{
    ::setenv("OMPI_MCA_plm_rsh_agent", "rsh -q", 1);
    EXPECT_EQ(scenario::ScriptOnHost("b", false, "echo 'a'"),
              (std::vector<std::string>{"rsh", "-q", "b", "sh -c 'echo '\\''a'\\'''"}));
    ::unsetenv("OMPI_MCA_plm_rsh_agent");
    const auto words = scenario::ScriptOnHost("b", false, "x");
    EXPECT_EQ(words.front(), "ssh");
    EXPECT_EQ(words[words.size() - 2], "b");
    EXPECT_TRUE(scenario::IsThisMachine("localhost"));
    EXPECT_TRUE(scenario::IsThisMachine("me@127.0.0.1"));
    EXPECT_FALSE(scenario::IsThisMachine("192.0.2.1")); // RFC 5737: of documents only
}

TEST(MpiHosts, OpenMpisOwnWordsAreKeptAside)
{
    const std::string rule = std::string(74, '-') + "\n";
    const std::string lost = rule +
                             "ORTE has lost communication with a remote daemon.\n\n"
                             "  HNP daemon   : [[42250,0],0] on node ha\n"
                             "  Remote daemon: [[42250,0],1] on node hb\n\n"
                             "This is usually due to either a failure of the TCP network\n"
                             "connection to the node, or possibly an internal failure of\n"
                             "the daemon itself. We cannot recover from this failure, and\n"
                             "therefore will terminate the job.\n" +
                             rule;
    const std::string text = "traffic: a\n" + lost +
                             "[ha:26677] 1 more process has sent help message help-mpi.txt\n"
                             "mpirun: Forwarding signal 10 to job\n"
                             "[x] is no word of MPI's\n"
                             "mpi is a word\n" +
                             rule + "ORTE was unable to reliably start one or more daemons.\n" +
                             rule + "b\n12% done\r[ha:1] c\nd";
    for (std::size_t piece = 1; piece < text.size(); piece += 3)
    {
        scenario::MpirunErrors errors;
        errors.KeepOthersAside();
        std::string passed;
        for (std::size_t at = 0; at < text.size(); at += piece)
        {
            passed += errors.Take(text.substr(at, piece));
        }
        passed += errors.Flush();
        EXPECT_EQ(passed, "traffic: a\n[x] is no word of MPI's\nmpi is a word\nb\n12% done\rd")
            << piece;
        EXPECT_EQ(errors.LostHost(), "hb");
        EXPECT_NE(errors.Aside().find("ORTE was unable"), std::string::npos);
        EXPECT_NE(errors.Aside().find("[ha:1] c"), std::string::npos);
    }
}

} // namespace
