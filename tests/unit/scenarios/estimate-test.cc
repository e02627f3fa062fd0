/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * The memory that a run is said to take, against runs that were measured: the largest resident set
 * (GNU time -v) of optimized builds of this project on x86-64, without report, timeline and
 * progress; November 2026.
 */
#include "parse-words.h"
#include "scenarios/dry-run/estimate.h"

#include <cmath>
#include <gtest/gtest.h>

using namespace scenario;

namespace
{

template <class T>
Estimate
EstimateOf(const std::string& options)
{
    const auto result = ParseWords<T>(options);
    EXPECT_TRUE(result.scenario) << options;
    return result.scenario ? EstimateRun(*result.scenario) : Estimate();
}

struct Measured
{
    const char* options;
    double megabytes;
};

void
ExpectWithinHalf(double estimate, const Measured& run)
{
    EXPECT_LT(estimate, 1.5 * run.megabytes * 1e6) << run.options;
    EXPECT_GT(estimate, run.megabytes * 1e6 / 1.5) << run.options;
}

// Errors of bits are independent: of n bits none is wrong with probability (1 - p)^n. A packet of
// 4,096 B has some 62 B of headers, and crosses two links.
TEST(Estimate, PacketsThatHaveNoBitError)
{
    const std::string line = "--topology=single-switch --hosts=2 --bytes=4096 --mtu=4096";
    const auto with = [&line](const std::string& rate) {
        return EstimateOf<TrafficScenario>(line + " --bit-error-rate=" + rate);
    };
    EXPECT_EQ(ArrivingShare(with("0")), 1);
    EXPECT_NEAR(ArrivingShare(with("1e-6")), std::pow(1 - 1e-6, 8 * 2 * 4158), 1e-3);
    EXPECT_EQ(NoteOfBitErrors(with("1e-6")), "");
    EXPECT_LT(ArrivingShare(with("0.001")), 1e-20);
    EXPECT_EQ(NoteOfBitErrors(with("0.001")).find("warning: of data packets a share of "), 0U);
}

TEST(MemoryEstimate, Collperf)
{
    const Measured runs[] = {
        {"--op=all_reduce --ranks=2 --gpus-per-server=1 -b 64K -e 64K", 34.5},
        {"--op=alltoall --ranks=200 --gpus-per-server=1 -b 64K -e 64K", 148.5},
        {"--op=alltoall --ranks=256 --gpus-per-server=1 --topology=fat-tree -b 64K -e 64K", 262.5},
        {"--op=alltoall --ranks=256 --gpus-per-server=1 --topology=fat-tree -b 64K -e 64K "
         "--no-attribution",
         181.7},
        {"--op=alltoall --ranks=256 --gpus-per-server=8 --topology=fat-tree -b 64K -e 64K "
         "--fabric=ib",
         187},
        {"--op=all_reduce --ranks=1024 --gpus-per-server=1 --algorithm=ring -b 64K -e 64K", 146.9},
        {"--op=barrier --ranks=2 --gpus-per-server=1 --topology=fat-tree --k=24", 80.1},
        {"--op=barrier --ranks=2 --gpus-per-server=1 --topology=fat-tree --k=24 --fabric=ib "
         "--nic=EDR",
         129.5},
        {"--op=barrier --ranks=4096 --gpus-per-server=8", 114.4},
        {"--op=all_reduce --ranks=1024 --gpus-per-server=8 --algorithm=ring -b 64K -e 64K", 60.6},
    };
    for (const Measured& run : runs)
    {
        ExpectWithinHalf(EstimateOf<CollperfScenario>(run.options).memory.Total(), run);
    }
}

TEST(MemoryEstimate, Traffic)
{
    const Measured runs[] = {
        {"--topology=fat-tree --k=8 --pattern=permutation --bytes=10kB", 37.4},
        {"--topology=fat-tree --k=16 --pattern=permutation --bytes=10kB", 65.6},
        {"--topology=fat-tree --k=32 --pattern=permutation --bytes=10kB", 295.6},
        {"--topology=single-switch --hosts=256 --pattern=all-to-all --bytes=10kB", 207.3},
        {"--topology=single-switch --hosts=256 --pattern=all-to-all --bytes=10kB --cc=hpcc", 243},
    };
    for (const Measured& run : runs)
    {
        ExpectWithinHalf(EstimateOf<TrafficScenario>(run.options).memory.Total(), run);
    }
}

TEST(Estimate, CountsMessagesInsideServers)
{
    // A ring of n ranks in servers of g: all-reduce has 2 (n - 1) steps of n messages, of which one
    // a server leaves it.
    const auto estimate =
        EstimateOf<CollperfScenario>("--op=all_reduce --ranks=24 --gpus-per-server=8 -b 1M -n 3");
    EXPECT_DOUBLE_EQ(estimate.messages, 3 * 2 * 23 * 3);
    EXPECT_DOUBLE_EQ(estimate.messagesInside, 3 * 2 * 23 * 21);
    EXPECT_NEAR(estimate.speed.Seconds(0, 1e9),
                estimate.speed.setUpSeconds +
                    AssumedSpeed::kInside * 1e9 / estimate.speed.frameHopsPerSecond,
                1e-9);
}

TEST(MemoryEstimate, Training)
{
    ExpectWithinHalf(EstimateOf<TrainingScenario>("").memory.Total(), {"the default job", 68.3});
    // Jobs on one network, one of them flows.
    ExpectWithinHalf(
        EstimateOf<TrainingScenario>("--jobs=" DLTRAIN_ROOT
                                     "/scenarios/jobs/two-rings-and-a-copy.json --alone=0")
            .memory.Total(),
        {"jobs", 45.4});
}

TEST(MemoryEstimate, IsASumOfItsNeeds)
{
    // A pure function: with nothing to simulate only the program is left, and each need adds what
    // it takes.
    MemoryNeeds needs;
    const double program = EstimateMemory(needs).Total();
    EXPECT_GT(program, 0);
    needs.connections = 1000;
    needs.bytesPerConnection = 2000;
    EXPECT_DOUBLE_EQ(EstimateMemory(needs).Total(), program + 2e6);
    needs = {};
    needs.links = 100;
    const double ethernet = EstimateMemory(needs).Total();
    EXPECT_GT(ethernet, program);
    needs.infiniBand = true;
    EXPECT_GT(EstimateMemory(needs).Total(), ethernet);
    // flows.csv remembers a million messages, however many there are.
    needs = {};
    needs.messages = 1e7;
    const double many = EstimateMemory(needs).Total();
    needs.messages = 1e9;
    EXPECT_EQ(EstimateMemory(needs).Total(), many);
}

TEST(MemoryEstimate, CountsQueuePairs)
{
    // A ring has one connection a rank that sends out of its server and lane; direct all-to-all n
    // (n - 1), less those inside servers.
    EXPECT_EQ(EstimateOf<CollperfScenario>(
                  "--op=all_reduce --algorithm=ring --servers=4 --gpus-per-server=8 -b 1M -e 1M")
                  .connections,
              4);
    EXPECT_EQ(
        EstimateOf<CollperfScenario>("--op=alltoall --servers=4 --gpus-per-server=8 -b 1M -e 1M")
            .connections,
        32 * 24);
    EXPECT_EQ(
        EstimateOf<CollperfScenario>("--op=alltoall --servers=13 --gpus-per-server=1 -b 1K -e 1M")
            .connections,
        13 * 12);
    EXPECT_EQ(EstimateOf<TrafficScenario>(
                  "--topology=single-switch --hosts=10 --pattern=all-to-all --bytes=1kB")
                  .connections,
              90);
}

TEST(MemoryEstimate, OfSeveralProcesses)
{
    // docs/ranks.md, k = 24, MiB: 124 in one, 97 and 94 in two, 75 and three times 72 in four.
    MemoryEstimate alone;
    alone.program = 16 << 20;
    alone.network = 108 << 20;
    Processes processes;
    processes.hostsApart = true;
    processes.count = 2;
    EXPECT_NEAR(EstimateProcess(alone, processes).Total() / (1 << 20), 97, 5);
    processes.count = 4;
    EXPECT_NEAR(EstimateProcess(alone, processes).Total() / (1 << 20), 75, 5);
}

double
SpeedOf(double hosts, bool windows = true, bool infiniBand = false)
{
    SpeedNeeds needs;
    needs.hosts = hosts;
    needs.windows = windows;
    needs.infiniBand = infiniBand;
    return AssumeSpeed(needs).frameHopsPerSecond;
}

TEST(AssumedSpeed, IsWhatWasMeasured)
{
    // docs/measured.md: the permutations on one core.
    EXPECT_NEAR(SpeedOf(16), 13.6e6, 1);
    EXPECT_NEAR(SpeedOf(128), 10.4e6, 1);
    EXPECT_NEAR(SpeedOf(1024), 5.90e6, 1);
    EXPECT_NEAR(SpeedOf(8192), 2.78e6, 1);
    EXPECT_NEAR(SpeedOf(1024, false), 1.41e6, 1);
    // main-job-ib, of the speed of main-job-roce.
    EXPECT_NEAR(SpeedOf(16, true, true), 13.6e6 * 9.54 / 13.5, 1);
    EXPECT_EQ(SpeedOf(2), SpeedOf(16)) << "of the nearest that was measured";
    EXPECT_EQ(SpeedOf(1e6), SpeedOf(8192));
    for (double hosts = 17; hosts < 8192; hosts *= 1.3)
    {
        EXPECT_LT(SpeedOf(hosts), SpeedOf(hosts / 1.3)) << hosts;
    }
}

TEST(AssumedSpeed, HasSetUpAndProcesses)
{
    // Measured: 27,648 hosts on a fat-tree of k = 48, 82,944 links: 5.4 s.
    SpeedNeeds needs;
    needs.hosts = 27648;
    needs.links = 82944;
    EXPECT_NEAR(AssumeSpeed(needs).setUpSeconds, 5.4, 1);
    const double one = AssumeSpeed(needs).Seconds(1e9, 0);
    needs.processes.count = 2;
    needs.processes.hostsApart = true;
    const AssumedSpeed two = AssumeSpeed(needs);
    EXPECT_DOUBLE_EQ(two.gain, 1.8); // docs/ranks.md, k = 8
    EXPECT_NEAR(one - two.Seconds(1e9, 0), 1e9 / two.frameHopsPerSecond * (1 - 1 / 1.8), 1e-6);
    needs.processes.hostsApart = false;
    needs.processes.busyHosts = 16;
    EXPECT_DOUBLE_EQ(AssumeSpeed(needs).gain, 1.1); // there, the main job
    needs.processes.busyHosts = 4;
    EXPECT_DOUBLE_EQ(AssumeSpeed(needs).gain, 1) << "they do not gain";
}

} // namespace
