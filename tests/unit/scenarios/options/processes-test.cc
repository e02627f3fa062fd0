// SPDX-License-Identifier: GPL-2.0-only
// What several processes cannot simulate is refused before any is started, and by a dry run alike.
#include "scenarios/dry-run/plan-text.h"
#include "scenarios/network/processes.h"
#include "tests/unit/scenarios/parse-words.h"

#include <cstdlib>
#include <gtest/gtest.h>
#include <string>

using namespace scenario;

namespace
{

template <class T>
std::string
ErrorOf(const std::string& options)
{
    const auto result = ParseWords<T>(options);
    EXPECT_EQ(result.errors.empty(), result.scenario.has_value()) << options;
    EXPECT_LE(result.errors.size(), 1u) << options;
    return result.errors.empty() ? "" : result.errors.front().Text();
}

TEST(Processes, AreNoMoreThanThereIsForThem)
{
    // k = 4: 16 hosts, 20 switches.
    EXPECT_EQ(ErrorOf<TrafficScenario>("--k=4 --mpi-ranks=16"), "");
    EXPECT_EQ(ErrorOf<TrafficScenario>("--k=4 --mpi-ranks=17"),
              "--mpi-ranks=17: the network has 16 hosts; allowed: at most one process a host");
    // Flows that take a queue pair after another keep hosts together: one process has them all.
    EXPECT_EQ(ErrorOf<TrafficScenario>("--k=4 --mpi-ranks=21 --queue-pairs=reused"), "");
    EXPECT_EQ(ErrorOf<TrafficScenario>("--k=4 --mpi-ranks=22 --queue-pairs=reused"),
              "--mpi-ranks=22: one process has all hosts, and the network has 20 switches for "
              "others; allowed: at most one process a switch, and one");
    const std::string cluster = "--topology=single-switch --ranks=16 --gpus-per-server=4";
    EXPECT_EQ(ErrorOf<CollperfScenario>(cluster + " --mpi-ranks=4"), "");
    EXPECT_EQ(ErrorOf<CollperfScenario>(cluster + " --mpi-ranks=5"),
              "--mpi-ranks=5: the network has 4 hosts; allowed: at most one process a host");
    // A queue pair's changes are seen by who has all of them.
    EXPECT_EQ(ErrorOf<CollperfScenario>(cluster + " --mpi-ranks=2 --trace-qps=*"), "");
    EXPECT_EQ(ErrorOf<CollperfScenario>(cluster + " --mpi-ranks=3 --trace-qps=*"),
              "--mpi-ranks=3: one process has all hosts, and the network has 1 switch for others; "
              "allowed: at most one process a switch, and one");
}

TEST(Processes, RefuseWhatOneCanDo)
{
    EXPECT_EQ(ErrorOf<TrainingScenario>("--pcap=all --mpi-ranks=2"), "");
    EXPECT_EQ(ErrorOf<TrafficScenario>("--k=4 --pcap=all --mpi-ranks=2 --engine=ns3"),
              "--pcap=all: ns-3's engine captures in one process only; allowed: with "
              "--engine=windows, or without --mpi-ranks=2");
    EXPECT_EQ(ErrorOf<TrainingScenario>("--engine=ns3 --mpi-ranks=2"),
              "--engine=ns3: runs several processes of traffic alone; allowed: windows, or without "
              "--mpi-ranks=2");
    EXPECT_EQ(ErrorOf<TrafficScenario>("--k=4 --engine=ns3 --mpi-ranks=2"), "");
    EXPECT_EQ(ErrorOf<TrafficScenario>("--k=4 --engine=ns3 --mpi-ranks=2 --queue-pairs=reused")
                  .rfind("--engine=ns3: several processes measure all flows with it; allowed: ", 0),
              0u);
    EXPECT_EQ(ErrorOf<CollperfScenario>("--attribution=1 --mpi-ranks=2"),
              "--attribution=1: a frame's journey does not cross processes; allowed: 0, or without "
              "--mpi-ranks=2");
    EXPECT_EQ(ErrorOf<TrafficScenario>("--k=4 --network=analytic --mpi-ranks=2"),
              "--network=analytic: is one process; allowed with --mpi-ranks=2: packet");
    EXPECT_EQ(ErrorOf<CollperfScenario>("--network=analytic --collective-times=formula "
                                        "--mpi-ranks=2"),
              "--network=analytic: is one process; allowed with --mpi-ranks=2: packet");
}

TEST(Processes, NeedTimeBetweenThem)
{
    const std::string error = ErrorOf<TrafficScenario>("--k=4 --link-delay=0ns --mpi-ranks=2");
    EXPECT_EQ(error.rfind("--link-delay=0ns: link ", 0), 0u) << error;
    EXPECT_NE(error.find("is cut between ranks 0 and 1, and has a delay of 0 ps"),
              std::string::npos)
        << error;
    EXPECT_EQ(ErrorOf<TrafficScenario>("--k=4 --link-delay=1ps --mpi-ranks=2"), "");
    // InfiniBand's error correction takes some time on every cable (FecDelay).
    EXPECT_EQ(ErrorOf<TrafficScenario>(
                  "--k=4 --link-delay=0ns --mpi-ranks=2 --fabric=ib --nic=HDR --cc=none"),
              "");
}

TEST(Processes, AreToldInTheWordsThatAskedForThem)
{
    setenv("OMPI_COMM_WORLD_SIZE", "17", 1);
    setenv("OMPI_COMM_WORLD_RANK", "0", 1);
    const std::string tail = ": the network has 16 hosts; allowed: at most one process a host";
    EXPECT_EQ(ErrorOf<TrafficScenario>("--k=4"), "mpirun -np 17" + tail);
    EXPECT_EQ(ErrorOf<TrafficScenario>("--k=4 --mpi-ranks=17"), "--mpi-ranks=17" + tail);
    unsetenv("OMPI_COMM_WORLD_SIZE");
    unsetenv("OMPI_COMM_WORLD_RANK");
}

TEST(Processes, AreInThePlan)
{
    const auto traffic = ParseWords<TrafficScenario>("--k=4 --mpi-ranks=2");
    ASSERT_TRUE(traffic.scenario);
    EXPECT_NE(
        PlanText(*traffic.scenario)
            .find("\n  processes       2: each has hosts and switches; no attribution of time"),
        std::string::npos)
        << PlanText(*traffic.scenario);
    EXPECT_NE(PlanText(*traffic.scenario).find(" in each of 2 processes"), std::string::npos);
    const auto one = ParseWords<TrafficScenario>("--k=4");
    ASSERT_TRUE(one.scenario);
    EXPECT_EQ(PlanText(*one.scenario).find("process"), std::string::npos);
    EXPECT_EQ(ProcessesText(one.scenario->run.processes), "");
}

TEST(Processes, ThatArePerhapsSlowerThanOneSayIt)
{
    const auto text = [](const std::string& options) {
        const auto result = ParseWords<TrainingScenario>(options + " --attribution=0");
        return result.scenario ? ProcessesText(result.scenario->run.processes) : "?";
    };
    EXPECT_EQ(text("--mpi-ranks=3"), "3: each has hosts and switches");
    // docs/ranks.md: 16 hosts gain in two processes, fewer lose, more processes gain no more.
    EXPECT_EQ(text("--trace-qps=* --mpi-ranks=2"), "2: one has all hosts, the other switches");
    EXPECT_EQ(text("--trace-qps=* --mpi-ranks=2 --servers=15"),
              "2: one has all hosts, the other switches; slower than one process with fewer than "
              "16 hosts (docs/ranks.md)");
    EXPECT_EQ(text("--trace-qps=* --mpi-ranks=3"),
              "3: one has all hosts, the others switches; no faster than 2 (docs/ranks.md)");
}

} // namespace
