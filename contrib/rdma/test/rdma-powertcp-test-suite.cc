/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * PowerTCP and theta-PowerTCP with a running network (the laws themselves are tested in
 * tests/unit/core/powertcp-window-test.cc).
 */
#include "rdma-congestion-bed.h"

#include "ns3/powertcp-congestion-ops.h"
#include "ns3/theta-powertcp-congestion-ops.h"

using namespace ns3;
using namespace ns3::rdmatest;

namespace
{

constexpr uint64_t BPS = 100 * GBPS;

/// beta of one flow, bytes: a tenth of line x tau, where tau is that of the longest packet (with
/// RETH and immediate data, 20 B) over two links each way of 1 us and a pipeline of 500 ns each
/// way.
double
Beta(bool theta)
{
    const double bytes = FULL_WIRE + 20 + ACK_WIRE + (theta ? 0 : 2 * 42);
    return (5 + 2 * 80e-6 * bytes) * 12500 / 10;
}

Ptr<RdmaCongestionOps>
Ops(bool theta)
{
    if (theta)
    {
        return CreateObject<RdmaThetaPowertcpCongestionOps>();
    }
    return CreateObject<RdmaPowertcpCongestionOps>();
}

std::string
Name(bool theta)
{
    return theta ? "theta-PowerTCP: " : "PowerTCP: ";
}

} // namespace

class RdmaPowertcpFairnessTestCase : public TestCase
{
  public:
    explicit RdmaPowertcpFairnessTestCase(bool theta)
        : TestCase(Name(theta) + "eight flows that start one after the other share a port; its "
                                 "queue is the sum of their beta"),
          m_theta(theta)
    {
    }

  private:
    void DoRun() override
    {
        CongestionBed bed(8, BPS, Ops(m_theta), MicroSeconds(100));
        bed.Build();
        bed.FlowsInTurn(8, MicroSeconds(100));
        bed.Run(MilliSeconds(10));
        // In each round trip a difference of windows becomes 1 / Gamma of it, and Gamma = 1 + 8
        // beta / (b tau) = 1.8: e times less in two round trips of 10 us. 200 us after the last
        // came:
        NS_TEST_EXPECT_MSG_GT(bed.Jain(10, 12), 0.95, "fair from 1 to 1.2 ms");
        NS_TEST_EXPECT_MSG_GT(bed.Jain(50, 100), 0.99, "and later");
        NS_TEST_EXPECT_MSG_EQ_TOL(bed.Share(20, 100), 1, 0.012, "full link");
        // Section 3.3: the queue is the sum of all beta. Windows are whole packets: up to one more
        // of each flow.
        const auto queue = bed.Queues(20, 100);
        const double expected = 8 * Beta(m_theta);
        NS_TEST_EXPECT_MSG_EQ_TOL(queue[queue.size() / 2] / expected, 1.05, 0.1, "median queue");
        NS_TEST_EXPECT_MSG_GT(queue.front() / expected, 0.8, "at rest");
        NS_TEST_EXPECT_MSG_LT(queue.back() / expected, 1.3, "at rest");
        NS_TEST_EXPECT_MSG_EQ(bed.fabric->GetPortTotals().pausesSent, 0, "no pause");
    }

    bool m_theta;
};

class RdmaPowertcpQueueTestCase : public TestCase
{
  public:
    RdmaPowertcpQueueTestCase()
        : TestCase("PowerTCP: with a small beta a full link and hardly a queue")
    {
    }

  private:
    void DoRun() override
    {
        // N = 100: four flows rest at 4 / 100 of line x tau, 2.8 kB, less than a packet.
        auto ops = CreateObject<RdmaPowertcpCongestionOps>();
        ops->SetAttribute("Flows", UintegerValue(100));
        CongestionBed bed(4, BPS, ops, MicroSeconds(100));
        bed.Build();
        bed.FlowsInTurn(4, MicroSeconds(100));
        bed.Run(MilliSeconds(10));
        // Gamma at rest is 1.04: e times less in 25 round trips of 6 us.
        NS_TEST_EXPECT_MSG_GT(bed.Jain(20, 100), 0.95, "fair from 2 ms on");
        NS_TEST_EXPECT_MSG_GT(bed.Share(20, 100), 0.98, "full link");
        const auto queue = bed.Queues(20, 100);
        NS_TEST_EXPECT_MSG_LT(queue[queue.size() / 2], 2 * FULL_FRAME, "median queue near zero");
        NS_TEST_EXPECT_MSG_LT(queue.back(), 50000, "and no long one");
        NS_TEST_EXPECT_MSG_EQ(bed.fabric->GetPortTotals().pausesSent, 0, "no pause");
    }
};

class RdmaPowertcpJoinTestCase : public TestCase
{
  public:
    explicit RdmaPowertcpJoinTestCase(bool theta)
        : TestCase(Name(theta) +
                   "a flow makes room for one that joins, and takes it back when it leaves"),
          m_theta(theta)
    {
    }

  private:
    void DoRun() override
    {
        CongestionBed bed(2, BPS, Ops(m_theta), MicroSeconds(100));
        bed.Build();
        const int64_t left = bed.JoinAndLeave();
        NS_TEST_EXPECT_MSG_EQ_TOL(bed.Share(5, 10, 0), 1, 0.012, "alone");
        NS_TEST_EXPECT_MSG_GT(bed.Jain(11, 13), 0.95, "fair 100 to 300 us after it joined");
        NS_TEST_ASSERT_MSG_GT(left, 10000 * US, "flow 2 got its share and no more");
        NS_TEST_ASSERT_MSG_LT(left, 12000 * US, "flow 2 is through");
        const size_t end = static_cast<size_t>(left / (100 * US));
        // Gamma falls to 1/2 within a round trip, and the window doubles.
        NS_TEST_EXPECT_MSG_GT(bed.Share(end + 1, end + 3, 0), 0.97, "all of it again after 100 us");
    }

    bool m_theta;
};

class RdmaPowertcpTestSuite : public TestSuite
{
  public:
    RdmaPowertcpTestSuite()
        : TestSuite("rdma-powertcp", UNIT)
    {
        AddTestCase(new RdmaPowertcpQueueTestCase, TestCase::QUICK);
        for (const bool theta : {false, true})
        {
            AddTestCase(new RdmaPowertcpFairnessTestCase(theta), TestCase::QUICK);
            AddTestCase(new RdmaPowertcpJoinTestCase(theta), TestCase::QUICK);
        }
    }
};

static RdmaPowertcpTestSuite g_rdmaPowertcpTestSuite;
