/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * HPCC-PINT: a byte on the wire, the busiest port's utilisation in it, and HPCC's behaviour by it.
 */
#include "contrib/rdma/core/pint.h"
#include "rdma-congestion-bed.h"

#include "ns3/hpcc-congestion-ops.h"
#include "ns3/hpcc-pint-congestion-ops.h"

#include <algorithm>
#include <map>

using namespace ns3;
using namespace ns3::rdmatest;

/// Data packets and ACKs have one byte more; what an ACK brings back is what its packet met.
class RdmaPintTelemetryTestCase : public TestCase
{
  public:
    RdmaPintTelemetryTestCase()
        : TestCase("PINT: a byte, the largest of the ports on the way, back in the ACK")
    {
    }

  private:
    void DoRun() override
    {
        Bed bed;
        bed.helper.SetCongestionOps(CreateObject<RdmaHpccPintCongestionOps>());
        const auto [x, y] = bed.HostsNamed("x", "y");
        const auto [a, b] = bed.SwitchesNamed("a", "b");
        bed.Link(x, a, 100 * GBPS);
        bed.Link(a, b, 50 * GBPS); // the busiest: each byte takes twice as long
        bed.Link(b, y, 100 * GBPS);
        bed.Build();
        std::map<uint32_t, RdmaTelemetry> data;
        uint32_t acks = 0;
        uint8_t most = 0;
        WatchFrames(bed.fabric->GetNic(1)->GetPort(),
                    "PhyRx",
                    [&](const RdmaPort*, const RdmaFrame* f, int64_t) {
                        data[f->psn] = f->extra->telemetry;
                        NS_TEST_EXPECT_MSG_LT_OR_EQ(f->wireBytes, FULL_WIRE + 16 + 1, "a byte");
                        NS_TEST_EXPECT_MSG_EQ(+f->extra->telemetry.hops, 0, "no readings");
                    });
        WatchFrames(bed.fabric->GetNic(0)->GetPort(),
                    "PhyRx",
                    [&](const RdmaPort*, const RdmaFrame* f, int64_t) {
                        NS_TEST_EXPECT_MSG_EQ(f->wireBytes, ACK_WIRE + 1, "a byte");
                        NS_TEST_EXPECT_MSG_EQ(+f->extra->telemetry.pint, +data[f->psn].pint, "its");
                        most = std::max(most, f->extra->telemetry.pint);
                        ++acks;
                    });
        bed.Connect(0, 1).first->PostWrite(4096 * 4000, 1);
        Simulator::Run();
        NS_TEST_EXPECT_MSG_EQ(acks, 4000, "an ACK each");
        // It begins at twice the rate of the middle link, so this is full, and has a queue.
        NS_TEST_EXPECT_MSG_GT(rdma::PintDecode(most), 1.0, "more than full");
        // In the end near eta, 0.95, and a step of the code (5%) beside it.
        NS_TEST_EXPECT_MSG_EQ_TOL(rdma::PintDecode(data.rbegin()->second.pint), 0.95, 0.1, "eta");
        NS_TEST_EXPECT_MSG_EQ(RdmaFramePool::GetLive(), 0, "all frames are back");
    }
};

class RdmaPintFairnessTestCase : public TestCase
{
  public:
    explicit RdmaPintFairnessTestCase(double probability)
        : TestCase("HPCC-PINT: four flows share a port, hardly a queue; part of ACKs: " +
                   std::to_string(probability)),
          m_probability(probability)
    {
    }

  private:
    void DoRun() override
    {
        // As HPCC's own test; its bounds, but for what a code's step of 5% adds.
        auto ops = CreateObject<RdmaHpccPintCongestionOps>();
        ops->SetAttribute("Flows", UintegerValue(10));
        ops->SetAttribute("SampleProbability", DoubleValue(m_probability));
        CongestionBed bed(4, 100 * GBPS, ops, MicroSeconds(100));
        bed.Build();
        bed.FlowsInTurn(4, MicroSeconds(100));
        bed.Run(MilliSeconds(15));
        NS_TEST_EXPECT_MSG_GT(bed.Jain(100, 150), 0.9, "fair from 10 to 15 ms");
        NS_TEST_EXPECT_MSG_EQ_TOL(bed.Share(20, 150), 0.95, 0.05, "utilisation");
        const auto queue = bed.Queues(20, 150);
        NS_TEST_EXPECT_MSG_LT(queue[queue.size() / 2], 4 * FULL_FRAME, "median queue near zero");
        NS_TEST_EXPECT_MSG_LT(queue.back(), 100000, "and no long one");
        NS_TEST_EXPECT_MSG_EQ(bed.fabric->GetPortTotals().pausesSent, 0, "no pause");
    }

    double m_probability;
};

class RdmaHpccPintTestSuite : public TestSuite
{
  public:
    RdmaHpccPintTestSuite()
        : TestSuite("rdma-hpcc-pint", UNIT)
    {
        AddTestCase(new RdmaPintTelemetryTestCase, TestCase::QUICK);
        AddTestCase(new RdmaPintFairnessTestCase(1), TestCase::QUICK);
        AddTestCase(new RdmaPintFairnessTestCase(0.25), TestCase::QUICK);
        AddTestCase(new JoinTestCase("HPCC-PINT",
                                     100 * GBPS,
                                     CreateObject<RdmaHpccPintCongestionOps>,
                                     {0.95, 0.05, 0.85, 2, 4}),
                    TestCase::QUICK);
    }
};

static RdmaHpccPintTestSuite g_rdmaHpccPintTestSuite;
