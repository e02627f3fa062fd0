/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * HPCC with a running network: telemetry on the wire, fairness, convergence, queues (the law itself
 * is tested in tests/unit/core/hpcc-window-test.cc).
 */
#include "rdma-congestion-bed.h"

#include "ns3/hpcc-congestion-ops.h"

using namespace ns3;
using namespace ns3::rdmatest;

/// What switches write, what it adds to frames, and what comes back, by hand.
class RdmaTelemetryTestCase : public TestCase
{
  public:
    RdmaTelemetryTestCase()
        : TestCase("telemetry of two switches: 42 B a packet and ACK, time, bytes, queue, rate")
    {
    }

  private:
    void DoRun() override
    {
        Bed bed;
        bed.Chain({100 * GBPS, 50 * GBPS, 100 * GBPS});
        bed.helper.SetCongestionOps(CreateObject<RdmaHpccCongestionOps>());
        bed.Build();
        std::vector<RdmaTelemetry> data;
        std::vector<RdmaTelemetry> acks;
        std::vector<uint32_t> sizes;
        WatchFrames(bed.fabric->GetNic(1)->GetPort(),
                    "PhyRx",
                    [&](const RdmaPort*, const RdmaFrame* f, int64_t) {
                        data.push_back(f->extra->telemetry);
                        sizes.push_back(f->wireBytes);
                    });
        WatchFrames(bed.fabric->GetNic(0)->GetPort(),
                    "PhyRx",
                    [&](const RdmaPort*, const RdmaFrame* f, int64_t) {
                        acks.push_back(f->extra->telemetry);
                        sizes.push_back(f->wireBytes);
                    });
        bed.Connect(0, 1).first->PostWrite(3 * 4096, 1);
        Simulator::Run();
        NS_TEST_ASSERT_MSG_EQ(data.size(), 3, "packets");
        NS_TEST_ASSERT_MSG_EQ(acks.size(), 3, "an ACK each");
        const uint32_t first = FULL_WIRE + 16 + 42; // with RETH
        const uint32_t full = FULL_WIRE + 42;
        std::sort(sizes.begin(), sizes.end());
        NS_TEST_EXPECT_MSG_EQ(
            (sizes ==
             std::vector<uint32_t>{ACK_WIRE + 42, ACK_WIRE + 42, ACK_WIRE + 42, full, full, first}),
            true,
            "bytes on the wire");
        // At 100 Gb/s a byte takes 80 ps. The packets are at switch a 80 first, 80 (first + full)
        // and so on after the start, and 1 us of link and 500 ns of pipeline later; its port takes
        // 160 ps a byte, so the second and the third wait.
        const int64_t at = 80 * first + 1500 * NS;
        const int64_t times[] = {at, at + 160 * first, at + 160 * (first + full)};
        const uint64_t sent[] = {0, first, first + full};
        for (size_t i = 0; i < 3; ++i)
        {
            const RdmaTelemetry& t = data[i];
            NS_TEST_ASSERT_MSG_EQ(+t.hops, 2, "hops of packet " << i);
            NS_TEST_EXPECT_MSG_EQ(t.hop[0].time, times[i], "time at a, packet " << i);
            NS_TEST_EXPECT_MSG_EQ(t.hop[0].txBytes, sent[i], "bytes before it, packet " << i);
            // When the second goes the third is there (80 < 160); behind the others nothing.
            NS_TEST_EXPECT_MSG_EQ(t.hop[0].queueBytes, (i == 1 ? full - 20 : 0), "queue " << i);
            NS_TEST_EXPECT_MSG_EQ(t.hop[0].rateBps, 50 * GBPS, "rate");
            NS_TEST_EXPECT_MSG_EQ(t.hop[1].rateBps, 100 * GBPS, "rate");
            NS_TEST_EXPECT_MSG_EQ(t.hop[1].queueBytes, 0, "the faster port has none");
            NS_TEST_EXPECT_MSG_EQ(t.hop[1].time,
                                  times[i] + 160 * (i ? full : first) + 1500 * NS,
                                  "time at b, packet " << i);
            // The ACK brings back just that, and collects nothing itself.
            NS_TEST_EXPECT_MSG_EQ(+acks[i].hops, 2, "hops in the ACK");
            NS_TEST_EXPECT_MSG_EQ(acks[i].sent, t.sent, "when the packet was sent");
            NS_TEST_EXPECT_MSG_EQ(acks[i].hop[0].time, t.hop[0].time, "its telemetry");
        }
        NS_TEST_EXPECT_MSG_EQ(RdmaFramePool::Get().GetLive(), 0, "all frames are back");
    }
};

class RdmaHpccFairnessTestCase : public TestCase
{
  public:
    RdmaHpccFairnessTestCase()
        : TestCase("HPCC: four flows that start one after the other share a port; hardly a queue")
    {
    }

  private:
    void DoRun() override
    {
        // A newcomer starts at line rate and takes its first step a round trip after the others,
        // so it gets more than they have; only W_AI evens that out. A round trip takes some 6 us.
        // For N = 10 flows W_AI is W_init / 200: four of them put in equally 1/47 of what is there
        // (0.95 W_init) in each round trip, and multiplication takes it out in proportion, so
        // differences shrink by e in some 0.3 ms. (With the paper's N = 100 it takes ten times
        // that, and more.)
        auto ops = CreateObject<RdmaHpccCongestionOps>();
        ops->SetAttribute("Flows", UintegerValue(10));
        CongestionBed bed(4, 100 * GBPS, ops, MicroSeconds(100));
        bed.Build();
        bed.FlowsInTurn(4, MicroSeconds(100));
        bed.Run(MilliSeconds(15));
        NS_TEST_EXPECT_MSG_GT(bed.Jain(100, 150), 0.95, "fair from 10 to 15 ms");
        // Target: eta = 95% of the line, and W_AI on top.
        NS_TEST_EXPECT_MSG_EQ_TOL(bed.Share(20, 150), 0.95, 0.03, "utilisation");
        const auto queue = bed.Queues(20, 150);
        NS_TEST_EXPECT_MSG_LT(queue[queue.size() / 2], 2 * FULL_FRAME, "median queue near zero");
        NS_TEST_EXPECT_MSG_LT(queue.back(), 50000, "and no long one");
        NS_TEST_EXPECT_MSG_EQ(bed.fabric->GetPortTotals().pausesSent, 0, "no pause");
    }
};

class RdmaHpccTestSuite : public TestSuite
{
  public:
    RdmaHpccTestSuite()
        : TestSuite("rdma-hpcc", UNIT)
    {
        AddTestCase(new RdmaTelemetryTestCase, TestCase::QUICK);
        AddTestCase(new RdmaHpccFairnessTestCase, TestCase::QUICK);
        // When one leaves, U is about one half: every sixth round trip at the latest is a
        // multiplicative one.
        AddTestCase(new JoinTestCase("HPCC",
                                     100 * GBPS,
                                     CreateObject<RdmaHpccCongestionOps>,
                                     {0.95, 0.02, 0.9, 2, 4}),
                    TestCase::QUICK);
    }
};

static RdmaHpccTestSuite g_rdmaHpccTestSuite;
