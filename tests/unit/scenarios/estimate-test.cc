/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * The memory that a run is said to take, against runs that were measured: the largest resident set
 * (GNU time -v) of optimized builds of this project on x86-64, without report, timeline and
 * progress; November 2026.
 */
#include "parse-words.h"
#include "scenarios/dry-run/background-count.h"
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
        // without a report: 52.4 and 68.3 MiB
        {"--protocol=tcp --hosts=40 --topology=leaf-spine --pattern=random-permutation "
         "--bytes=1500kB",
         54.9},
        {"--protocol=tcp --hosts=40 --topology=leaf-spine --pattern=random-permutation "
         "--bytes=4MB",
         71.6},
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
    const std::string line = "--op=all_reduce --ranks=24 --gpus-per-server=8 -b 1M -n 3";
    const auto estimate = EstimateOf<CollperfScenario>(line);
    EXPECT_DOUBLE_EQ(estimate.messages, 3 * 2 * 23 * 3);
    EXPECT_DOUBLE_EQ(estimate.messagesInside, 3 * 2 * 23 * 21);
    // A ring passes them on, worked out when one enters a server; else each has its events.
    const auto of = [](const Estimate& e, WorkKind kind) { return RunWork(e)[kind]; };
    EXPECT_DOUBLE_EQ(of(estimate, WorkKind::kPassedOn), estimate.messagesInside);
    EXPECT_DOUBLE_EQ(of(estimate, WorkKind::kInside), 0);
    const auto each = EstimateOf<CollperfScenario>(line + " --in-server=one-by-one");
    EXPECT_DOUBLE_EQ(of(each, WorkKind::kInside), estimate.messagesInside);
    const std::string one = "--op=all_reduce --ranks=8 --gpus-per-server=8 -b 1M -n 3";
    const auto alone = EstimateOf<CollperfScenario>(one);
    EXPECT_GT(alone.messagesInside, 0);
    EXPECT_DOUBLE_EQ(of(alone, WorkKind::kAtOnce), alone.messagesInside);
    const auto formula = EstimateOf<CollperfScenario>(one + " --in-server=formula");
    EXPECT_DOUBLE_EQ(formula.messagesInside, 0);
    EXPECT_DOUBLE_EQ(of(formula, WorkKind::kTask), 3 * 8);
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

/// ns.
double
FrameHopOf(double hosts, bool windows = true, bool infiniBand = false)
{
    SpeedNeeds needs;
    needs.hosts = hosts;
    needs.windows = windows;
    needs.infiniBand = infiniBand;
    return 1e9 * AssumeSpeed(needs)[WorkKind::kFrameHop].seconds;
}

// The lines of assumed-speed.cc.
TEST(AssumedSpeed, IsWhatWasMeasured)
{
    EXPECT_NEAR(FrameHopOf(16), 52, 1e-6);
    EXPECT_NEAR(FrameHopOf(128), 78, 1e-6);
    EXPECT_NEAR(FrameHopOf(1024), 109, 1e-6);
    EXPECT_NEAR(FrameHopOf(8192), 176, 1e-6);
    EXPECT_NEAR(FrameHopOf(1024, false), 292, 1e-6);
    EXPECT_NEAR(FrameHopOf(16, true, true), 52 * 1.45 / 1.27, 1e-6);
    EXPECT_EQ(FrameHopOf(2), FrameHopOf(16)) << "of the nearest that was measured";
    EXPECT_EQ(FrameHopOf(1e6), FrameHopOf(8192));
    for (double hosts = 17; hosts < 8192; hosts *= 1.3)
    {
        EXPECT_GT(FrameHopOf(hosts), FrameHopOf(hosts / 1.3)) << hosts;
    }
    // 16 hosts with 1,344 pairs of queue pairs look up as much as 128 hosts.
    SpeedNeeds needs;
    needs.hosts = 16;
    needs.connections = 1344;
    EXPECT_NEAR(AssumeSpeed(needs)[WorkKind::kFrameHop].seconds, 78e-9, 1e-15);
}

TEST(AssumedSpeed, HasSetUpThreadsAndProcesses)
{
    // Measured: 27,648 hosts on a fat-tree of k = 48, 82,944 links: 5.4 s.
    SpeedNeeds needs;
    needs.hosts = 27648;
    needs.links = 82944;
    EXPECT_NEAR(AssumeSpeed(needs).setUpSeconds, 5.4, 1);
    Work work;
    work[WorkKind::kFrameHop] = 1e9;
    work[WorkKind::kRecorded] = 1e6;
    const AssumedSpeed one = AssumeSpeed(needs);
    const double hops = one.Seconds(work, WorkOf::kPackets);
    const double outputs = one.Seconds(work, WorkOf::kOutputs);
    EXPECT_NEAR(hops, 176, 1e-6);
    EXPECT_NEAR(one.Seconds(work), one.setUpSeconds + hops + outputs, 1e-6);
    needs.threads = 2;
    const AssumedSpeed two = AssumeSpeed(needs);
    EXPECT_NEAR(two.Seconds(work), one.setUpSeconds + hops / 1.5 + outputs, 1e-6);
    needs.windows = false; // has one thread
    EXPECT_DOUBLE_EQ(AssumeSpeed(needs).gain, 1);
    needs.windows = true;
    needs.processes.count = 2;
    needs.processes.hostsApart = true;
    EXPECT_DOUBLE_EQ(AssumeSpeed(needs).gain, 1.8); // docs/ranks.md, k = 8
    needs.processes.hostsApart = false;
    needs.processes.busyHosts = 16;
    EXPECT_DOUBLE_EQ(AssumeSpeed(needs).gain, 1.1); // there, the main job
    needs.processes.busyHosts = 4;
    EXPECT_DOUBLE_EQ(AssumeSpeed(needs).gain, 1) << "they do not gain";
}

// A share that is simulated in packets leaves messages and outputs as they are.
TEST(RunWork, HasAShareInPackets)
{
    Work work;
    work[WorkKind::kFrameHop] = 100;
    work[WorkKind::kTcpFrame] = 100;
    work[WorkKind::kMessage] = 100;
    work[WorkKind::kRecorded] = 100;
    work.KeepPackets(0.25);
    EXPECT_DOUBLE_EQ(work[WorkKind::kFrameHop], 25);
    EXPECT_DOUBLE_EQ(work[WorkKind::kTcpFrame], 25);
    EXPECT_DOUBLE_EQ(work[WorkKind::kMessage], 100);
    EXPECT_DOUBLE_EQ(work[WorkKind::kRecorded], 100);
}

// 4 flows of TCP over two links: packets of 1,500 B hold 1,448 B, so 10 kB are 7 segments, each
// with an ACK, and 3 packets open the connection.
TEST(RunWork, KindsOfOrdinaryPackets)
{
    const std::string line = "--topology=single-switch --hosts=4 --offset=1 --bytes=10kB ";
    const Work tcp = RunWork(EstimateOf<TrafficScenario>(line + "--protocol=tcp"));
    EXPECT_DOUBLE_EQ(tcp[WorkKind::kTcpFlow], 4);
    EXPECT_DOUBLE_EQ(tcp[WorkKind::kTcpConnection], 4);
    EXPECT_DOUBLE_EQ(tcp[WorkKind::kTcpFrame], 4 * (7 + 7 + 3));
    EXPECT_DOUBLE_EQ(tcp[WorkKind::kTcpHop], 2 * 4 * (7 + 7 + 3));
    EXPECT_DOUBLE_EQ(tcp[WorkKind::kFrameHop], 0);
    EXPECT_DOUBLE_EQ(tcp[WorkKind::kQueuePair], 0);
    // Flows of a load take an idle connection: two hosts have at most one each way.
    const Work loaded = RunWork(EstimateOf<TrafficScenario>(
        "--topology=single-switch --hosts=2 --pattern=poisson --sizes=google-rpc --protocol=tcp "
        "--duration=1ms"));
    EXPECT_GT(loaded[WorkKind::kTcpFlow], 100);
    EXPECT_DOUBLE_EQ(loaded[WorkKind::kTcpConnection], 2);
    // 1,472 B in a packet of UDP, and nothing comes back.
    const Work udp = RunWork(EstimateOf<TrafficScenario>(line + "--protocol=udp"));
    EXPECT_DOUBLE_EQ(udp[WorkKind::kUdpFlow], 4);
    EXPECT_DOUBLE_EQ(udp[WorkKind::kUdpFrame], 4 * 7);
    const Work rdma = RunWork(EstimateOf<TrafficScenario>(line));
    EXPECT_DOUBLE_EQ(rdma[WorkKind::kFlow], 4);
    EXPECT_DOUBLE_EQ(rdma[WorkKind::kFrame], 4 * (3 + 1));
    EXPECT_DOUBLE_EQ(rdma[WorkKind::kQueuePair], 4);
    EXPECT_DOUBLE_EQ(rdma[WorkKind::kRecorded], 4);
}

// N senders to one receiver share its link: N / 150 CNPs a packet, 245 packets of 1 MB each.
TEST(Congested, AnIncastAndAnOversubscribedSwitch)
{
    const std::string incast = "--topology=single-switch --hosts=31 --pattern=incast --fan-in=30 ";
    const std::string megabyte = "--bytes=1MB ";
    EXPECT_NEAR(EstimateOf<TrafficScenario>(incast + megabyte).cnps, 30 * 245 * 30 / 150.0, 1e-6);
    EXPECT_EQ(EstimateOf<TrafficScenario>(incast + megabyte + "--cc=none").cnps, 0);
    EXPECT_EQ(EstimateOf<TrafficScenario>(incast + megabyte + "--fabric=ib --nic=EDR").cnps, 0);
    // One after the other they do not meet: 1 MB takes some 80 us, all some 2.4 ms.
    EXPECT_EQ(EstimateOf<TrafficScenario>(incast + megabyte + "--start-jitter=10ms").cnps, 0);
    // 16 hosts of a leaf send to as many of the other, over 16 uplinks or over 4, four queue pairs
    // on each.
    const std::string leaves =
        "--topology=leaf-spine --hosts=32 --hosts-per-leaf=16 --offset=16 " + megabyte;
    EXPECT_EQ(EstimateOf<TrafficScenario>(leaves).cnps, 0);
    EXPECT_NEAR(EstimateOf<TrafficScenario>(leaves + "--oversubscription=4").cnps,
                32 * 245 * 4 / 150.0,
                1e-6);
}

TEST(Background, SlowsARingToItsSlowestLink)
{
    // One link: 1 + r + r^2 + ... = 1 / (1 - r), within what is left out.
    EXPECT_NEAR(RingBesideLoad(0.5, 1), 2, 0.01);
    EXPECT_NEAR(RingBesideLoad(0, 32), 1, 1e-9);
    // 32 links at 0.3: of k = 0, 1, ... the sum of 1 - (1 - 0.3^(k + 1))^32 is 1.000 + 0.951 +
    // 0.584 + 0.229 + 0.075 + 0.023 + 0.007 + 0.002 + 0.001. Measured: collperf --ranks=16 -b 64M
    // --background=pattern=poisson,load=0.3 takes 3.9 times its least time.
    EXPECT_NEAR(RingBesideLoad(0.3, 32), 3.87, 0.01);
}

// Flows that repeat beside a ring have half of each link while it runs.
TEST(Background, IsCountedForAsLongAsTheRun)
{
    const auto with = [](const std::string& background) {
        const auto result = ParseWords<CollperfScenario>(
            "--ranks=4 --gpus-per-server=1 --algorithm=ring --library=none --link-delay=5ns "
            "--switch-latency=0ns -b 64M --background=" +
            background);
        EXPECT_TRUE(result.scenario);
        Estimate e = EstimateRun(*result.scenario);
        CountBackground(result.scenario->run,
                        result.scenario->fabric,
                        result.scenario->cluster.topology,
                        &e);
        return e;
    };
    const Estimate repeated = with("pattern=permutation,bytes=1MB");
    EXPECT_NEAR(repeated.chainedShare, 5 / 6.0, 1e-9) << "of 6 steps only the first does not wait";
    EXPECT_NEAR(repeated.background.seconds, 2 * repeated.busiestPortSeconds, 1e-6);
    // 100 Gb/s: half of 4 links for that time.
    EXPECT_NEAR(repeated.background.bytes, 4 * 6.25e9 * repeated.background.seconds, 1e3);
    EXPECT_NEAR(repeated.background.flows, repeated.background.bytes / 1e6, 1);
    const Estimate loaded = with("pattern=poisson,load=0.2,sizes=google-rpc");
    EXPECT_NEAR(loaded.background.seconds,
                loaded.busiestPortSeconds * (5 * RingBesideLoad(0.2, 8) + 1 / 0.8) / 6,
                1e-5);
    // Sizes are drawn: thousands of flows give the load within a tenth.
    const double bytes = 0.2 * 4 * 12.5e9 * loaded.background.seconds;
    EXPECT_NEAR(loaded.background.bytes, bytes, 0.1 * bytes);
    EXPECT_GT(RunWork(loaded)[WorkKind::kFlow], 1000);
}

} // namespace
