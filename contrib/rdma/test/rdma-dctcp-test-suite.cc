/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * DCTCP with a running network: fairness, convergence, and the queue of its paper's analysis (the
 * law itself is tested in tests/unit/core/dctcp-window-test.cc).
 */
#include "rdma-congestion-bed.h"

#include "ns3/dctcp-congestion-ops.h"

using namespace ns3;
using namespace ns3::rdmatest;

class RdmaDctcpQueueTestCase : public TestCase
{
  public:
    RdmaDctcpQueueTestCase()
        : TestCase("DCTCP: N flows keep the queue between K + N packets and A below; none idles")
    {
    }

  private:
    void DoRun() override
    {
        // Section 3.3, for N flows in step: Qmax = K + N packets (eq. 9), amplitude
        // A = sqrt(2 N (C RTT + K)) / 2 packets (eq. 8). C RTT is 5.7 us of 100 Gb/s, 17 packets.
        // K is 200 KB. Looked at when a packet leaves, so K + 1 packets stand there at the mark.
        for (const uint32_t n : {2U, 8U})
        {
            CongestionBed bed(n,
                              100 * GBPS,
                              CreateObject<RdmaDctcpCongestionOps>(),
                              MicroSeconds(1));
            bed.helper.SetSwitchAttribute("EcnKmin", UintegerValue(200000));
            bed.helper.SetSwitchAttribute("EcnKmax", UintegerValue(200000));
            bed.helper.SetSwitchAttribute("BufferPer100G", UintegerValue(10000000)); // no pauses
            bed.Build();
            for (uint32_t i = 1; i <= n; ++i)
            {
                bed.Flow(i, MicroSeconds(0), 1000000000);
            }
            bed.Run(MilliSeconds(10));
            const double k = 200000. / FULL_FRAME;
            const double a = std::sqrt(2. * n * (17 + k)) / 2;
            const auto queue = bed.Queues(4000, 10000); // alpha has forgotten the start
            const double highest = queue.back() / FULL_FRAME;
            const double lowest = queue.front() / FULL_FRAME;
            const std::string what = std::to_string(n) + " flows";
            NS_TEST_EXPECT_MSG_LT_OR_EQ(highest, k + n + 2, what << ": Qmax");
            NS_TEST_EXPECT_MSG_GT(highest, k, what << ": reaches K");
            // Flows that are not in step move it less, never more than A and a packet or two.
            NS_TEST_EXPECT_MSG_GT(lowest, k + n - a - 3, what << ": Qmax - A");
            NS_TEST_EXPECT_MSG_EQ_TOL(bed.Share(4000, 10000), 1, 0.005, what << ": full link");
            NS_TEST_EXPECT_MSG_GT(bed.Jain(4000, 10000), 0.95, what << ": fair");
            NS_TEST_EXPECT_MSG_EQ(bed.fabric->GetPortTotals().pausesSent, 0, "no pause");
        }
    }
};

/// With the algorithm's own marking, K = 300 KB: nobody sets the switches.
class RdmaDctcpJoinTestCase : public JoinTestCase
{
  public:
    // A packet a round trip of at most 30 us: 45 packets for the other half of C RTT + K.
    RdmaDctcpJoinTestCase()
        : JoinTestCase("DCTCP",
                       100 * GBPS,
                       CreateObject<RdmaDctcpCongestionOps>,
                       {1, 0.01, 0.97, 1, 11})
    {
    }

  private:
    void Prepare(CongestionBed& bed) override
    {
        bed.helper.SetSwitchAttribute("BufferPer100G", UintegerValue(10000000)); // no pauses
    }

    void Look(CongestionBed& bed) override
    {
        UintegerValue kmin;
        bed.Device()->GetAttribute("EcnKmin", kmin);
        NS_TEST_EXPECT_MSG_EQ(kmin.Get(), 300000, "K of the algorithm");
    }
};

class RdmaDctcpTestSuite : public TestSuite
{
  public:
    RdmaDctcpTestSuite()
        : TestSuite("rdma-dctcp", UNIT)
    {
        AddTestCase(new RdmaDctcpQueueTestCase, TestCase::QUICK);
        AddTestCase(new RdmaDctcpJoinTestCase, TestCase::QUICK);
    }
};

static RdmaDctcpTestSuite g_rdmaDctcpTestSuite;
