/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Swift with a running network (the law itself is tested in tests/unit/core/swift-window-test.cc).
 */
#include "rdma-congestion-bed.h"

#include "ns3/data-rate.h"
#include "ns3/rdma-nic-limits.h"
#include "ns3/swift-congestion-ops.h"

using namespace ns3;
using namespace ns3::rdmatest;

namespace
{

constexpr uint64_t BPS = 100 * GBPS;
/// Two links each way, 1 us each, 500 ns of pipeline each way, 80 ps a byte: what an idle network
/// takes of a full packet and its ACK (8 B longer than others), in us.
constexpr double BASE = 4 + 1 + 2 * 80e-6 * (FULL_WIRE + ACK_WIRE + 8);
constexpr double BYTES_PER_US = 12500;

Ptr<RdmaCongestionOps>
Swift()
{
    return CreateObject<RdmaSwiftCongestionOps>();
}

/// Where n equal flows rest on average: \return (delay of the fabric, window in packets), from
/// n cwnd packets = line x target(cwnd), and target = 25 us + 1 hop x 1 us + flow scaling, which
/// is alpha / sqrt(cwnd) + beta with alpha = 25 us / (1 / sqrt(0.1) - 1 / sqrt(100)) = 8.1638 us,
/// beta = -0.81638 us, at most 25 us.
std::pair<double, double>
Rest(double n)
{
    double cwnd = 1;
    double target = 0;
    for (int i = 0; i < 100; ++i)
    {
        target = 26 + std::clamp(8.1638 / std::sqrt(cwnd) - 0.81638, 0.0, 25.0);
        cwnd = target * BYTES_PER_US / FULL_WIRE / n;
    }
    return {target, cwnd};
}

} // namespace

class RdmaSwiftDelaysTestCase : public TestCase
{
  public:
    RdmaSwiftDelaysTestCase()
        : TestCase("what ACKs bring back: switches on the way, time in the receiving host")
    {
    }

  private:
    void DoRun() override
    {
        // All at 100 Gb/s; buses of 50 Gb/s: 4,096 B take 655,360 ps.
        Bed bed;
        bed.Chain({BPS, BPS, BPS});
        bed.helper.SetCongestionOps(Swift());
        bed.helper.SetNicAttribute("PcieBandwidth", DataRateValue(DataRate("50Gb/s")));
        bed.Build();
        std::vector<RdmaTelemetry> acks;
        WatchFrames(bed.fabric->GetNic(0)->GetPort(),
                    "PhyRx",
                    [&](const RdmaPort*, const RdmaFrame* f, int64_t) {
                        acks.push_back(f->extra->telemetry);
                        NS_TEST_EXPECT_MSG_EQ(f->wireBytes, ACK_WIRE + 8, "bytes of an ACK");
                    });
        bed.Connect(0, 1).first->PostWrite(3 * 4096, 1);
        Simulator::Run();
        NS_TEST_ASSERT_MSG_EQ(acks.size(), 3, "an ACK each");
        for (size_t i = 0; i < 3; ++i)
        {
            NS_TEST_EXPECT_MSG_EQ(+acks[i].switches, 2, "switches of packet " << i);
            // The sender's bus sends them so far apart that none waits for the one before: but the
            // first is longer by 16 B on three lines, so the second comes sooner after it.
            const int64_t wait = i ? 3 * 16 * 80 : 0;
            NS_TEST_EXPECT_MSG_EQ(acks[i].held, 655360 + wait, "in the host, packet " << i);
        }
    }
};

class RdmaSwiftFairnessTestCase : public TestCase
{
  public:
    explicit RdmaSwiftFairnessTestCase(uint32_t flows)
        : TestCase("Swift: " + std::to_string(flows) +
                   " flows share a port; the queue is what the target leaves for one"),
          m_flows(flows)
    {
    }

  private:
    void DoRun() override
    {
        CongestionBed bed(m_flows, BPS, Swift(), MicroSeconds(100));
        bed.Build();
        bed.FlowsInTurn(m_flows, MicroSeconds(100));
        bed.Run(MilliSeconds(20));
        NS_TEST_EXPECT_MSG_GT(bed.Jain(100, 200), 0.95, "fair from 10 to 20 ms");
        NS_TEST_EXPECT_MSG_EQ_TOL(bed.Share(100, 200), 1, 0.01, "full link");
        // All grow by a packet in each round trip, so the queue swings around the target by that
        // and by what a cut takes.
        const auto queue = bed.Queues(100, 200);
        const double expected = (Rest(m_flows).first - BASE) * BYTES_PER_US;
        NS_TEST_EXPECT_MSG_EQ_TOL(queue[queue.size() / 2] / expected, 1, 0.15, "median queue");
        NS_TEST_EXPECT_MSG_LT(queue.back() / expected, 1.5, "largest queue");
        NS_TEST_EXPECT_MSG_EQ(bed.Drops(), 0, "no drop");
    }

    uint32_t m_flows;
};

class RdmaSwiftIncastTestCase : public TestCase
{
  public:
    RdmaSwiftIncastTestCase()
        : TestCase("Swift: 400 flows of 100 hosts to one port, windows below a packet: full link, "
                   "short queue, nothing lost, without PFC")
    {
    }

  private:
    void DoRun() override
    {
        // Swift's network has no PFC. The first windows (17 packets each, 28 MB) must fit.
        auto ops = Swift();
        CongestionBed bed(100, BPS, ops, MicroSeconds(100));
        bed.helper.SetSwitchAttribute("Pfc", BooleanValue(false));
        bed.helper.SetSwitchAttribute("BufferPer100G", UintegerValue(100000000));
        bed.Build();
        for (uint32_t i = 0; i < 400; ++i)
        {
            bed.Flow(1 + i % 100, MicroSeconds(0), 100000000);
        }
        bed.Run(MilliSeconds(60));
        const auto [target, cwnd] = Rest(400);
        NS_TEST_ASSERT_MSG_LT(cwnd, 0.5, "less than half a packet each");
        double sum = 0;
        for (RdmaQueuePair* qp : bed.senders)
        {
            sum +=
                DynamicCast<RdmaSwiftCongestionOps>(qp->GetCongestionOps())->GetWindow().Window();
        }
        NS_TEST_EXPECT_MSG_LT(sum / 400, 1, "paced");
        // A flow hears of the queue once in rtt / cwnd, three round trips or more, and adds a whole
        // packet at a time: the queue swings, and shares even out over many of these (40 ms have
        // some 300 packets of each flow).
        NS_TEST_EXPECT_MSG_GT(bed.Jain(200, 600), 0.95, "fair from 20 to 60 ms");
        NS_TEST_EXPECT_MSG_GT(bed.Share(200, 600), 0.99, "full link");
        const auto queue = bed.Queues(200, 600);
        const double expected = (target - BASE) * BYTES_PER_US;
        NS_TEST_EXPECT_MSG_EQ_TOL(queue[queue.size() / 2] / expected, 1.25, 0.5, "median queue");
        // Windows of a packet would be 400 packets less the 17 that the idle network holds.
        NS_TEST_EXPECT_MSG_LT(queue.back(), 0.75 * 383 * FULL_FRAME, "largest queue");
        NS_TEST_EXPECT_MSG_EQ(bed.Drops(), 0, "no drop");
        uint64_t timeouts = 0;
        for (uint32_t i = 1; i <= 100; ++i)
        {
            timeouts += bed.fabric->GetNic(i)->GetCounters().timeouts;
        }
        NS_TEST_EXPECT_MSG_EQ(timeouts, 0, "no time-out");
    }
};

class RdmaSwiftEndpointTestCase : public TestCase
{
  public:
    RdmaSwiftEndpointTestCase()
        : TestCase("Swift: a slow receiving host is held at its own target by the other window")
    {
    }

  private:
    void DoRun() override
    {
        // Buses of 50 Gb/s: two flows fill the receiver's, and the line in front of it is half
        // idle: no queue there, so the fabric's windows grow to the largest.
        CongestionBed bed(2, BPS, Swift(), MicroSeconds(100));
        bed.helper.SetNicAttribute("PcieBandwidth", DataRateValue(DataRate("50Gb/s")));
        bed.Build();
        bed.Flow(1, MicroSeconds(100), 1000000000);
        bed.Flow(2, MicroSeconds(200), 1000000000);
        std::vector<double> held;
        for (uint32_t i = 0; i < 100; ++i)
        {
            Simulator::Schedule(MilliSeconds(10) + MicroSeconds(100 * i), [&]() {
                held.push_back(
                    static_cast<double>(bed.fabric->GetNic(0)->GetLimits()->GetHeldBytes()));
            });
        }
        bed.Run(MilliSeconds(20));
        for (RdmaQueuePair* qp : bed.senders)
        {
            const auto& window =
                DynamicCast<RdmaSwiftCongestionOps>(qp->GetCongestionOps())->GetWindow();
            NS_TEST_EXPECT_MSG_LT(window.EndpointWindow(), 0.8 * window.FabricWindow(), "binds");
        }
        NS_TEST_EXPECT_MSG_GT(bed.Jain(100, 200), 0.95, "fair from 10 to 20 ms");
        // EndpointTarget is 25 us: 25 us at 50 Gb/s are 156,250 B of payload.
        std::sort(held.begin(), held.end());
        NS_TEST_EXPECT_MSG_EQ_TOL(held[50] / 156250, 1, 0.2, "what waits in the host");
        NS_TEST_EXPECT_MSG_EQ_TOL(bed.Share(100, 200) * 100 * 4096 / FULL_WIRE, 50, 1, "full bus");
    }
};

class RdmaSwiftTestSuite : public TestSuite
{
  public:
    RdmaSwiftTestSuite()
        : TestSuite("rdma-swift", UNIT)
    {
        AddTestCase(new RdmaSwiftDelaysTestCase, TestCase::QUICK);
        AddTestCase(new RdmaSwiftFairnessTestCase(4), TestCase::QUICK);
        AddTestCase(new RdmaSwiftFairnessTestCase(16), TestCase::QUICK);
        // Its half of the queue of 26 us keeps the line busy for 13 us, half of the window is more
        // than the idle network holds: it is never idle.
        AddTestCase(new JoinTestCase("Swift", BPS, [] { return Swift(); }, {1, 0.01, 0.99, 1, 3}),
                    TestCase::QUICK);
        AddTestCase(new RdmaSwiftIncastTestCase, TestCase::QUICK);
        AddTestCase(new RdmaSwiftEndpointTestCase, TestCase::QUICK);
    }
};

static RdmaSwiftTestSuite g_rdmaSwiftTestSuite;
