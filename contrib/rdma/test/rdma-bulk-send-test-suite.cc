/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * RdmaBulkSendApplication: when it starts, how fast it sends, when it stops.
 */
#include "rdma-test-fabric.h"

#include "ns3/rdma-bulk-send-application.h"

using namespace ns3;
using namespace ns3::rdmatest;

namespace
{

class BulkSendTestCase : public TestCase
{
  public:
    BulkSendTestCase()
        : TestCase("it sends at line rate from its start to its stop, or to MaxBytes")
    {
    }

  private:
    /// WRITEs of 256 packets, 1,048,576 B.
    static constexpr uint64_t MESSAGE = 256 * 4096;

    static Ptr<RdmaBulkSendApplication> Make(Bed& bed, uint64_t most)
    {
        Ptr<RdmaBulkSendApplication> app = CreateObject<RdmaBulkSendApplication>();
        app->SetAttribute("MessageBytes", UintegerValue(MESSAGE));
        app->SetAttribute("MaxBytes", UintegerValue(most));
        app->Connect(bed.fabric->GetNic(0), bed.fabric->GetNic(1));
        bed.fabric->GetNodes().Get(0)->AddApplication(app);
        app->SetStartTime(MicroSeconds(10));
        return app;
    }

    void DoRun() override
    {
        {
            Bed bed(2, 100 * GBPS);
            bed.Build();
            // Two and a half messages, back to back.
            const auto app = Make(bed, MESSAGE * 5 / 2);
            int64_t last = 0;
            uint64_t told = 0;
            Watch<uint64_t>(app, "Acknowledged", [&](uint64_t bytes) {
                told += bytes;
                last = RdmaClock::Now();
            });
            Simulator::Run();
            NS_TEST_EXPECT_MSG_EQ(app->GetAcknowledged(), MESSAGE * 5 / 2, "all of them");
            NS_TEST_EXPECT_MSG_EQ(told, app->GetAcknowledged(), "the trace");
            // 640 packets of 4,096 B, each with 82 B around it, and a RETH of 16 B in the first of
            // each message, at 80 ps a byte. The last packet crosses the second link too (2 us of
            // cables, 500 ns in the switch); its ACK of 86 B goes the same way back.
            const int64_t bytes = 640 * 4178 + 3 * 16;
            const int64_t expected = 10 * US + 80 * (bytes + 4178 + 2 * 86) + 5 * US;
            // Its clock goes by ticks of ns3::Time: 1 ns.
            NS_TEST_EXPECT_MSG_EQ_TOL(last, expected, 2 * NS, "at line rate");
        }
        Bed bed(2, 100 * GBPS);
        bed.Build();
        const auto app = Make(bed, 0);
        app->SetStopTime(MilliSeconds(1));
        Simulator::Run();
        // 990 us at 100 Gb/s are 12.375 MB on the wire: 11 whole messages of 1.07 MB. What was
        // posted ahead is sent, too.
        NS_TEST_EXPECT_MSG_EQ(app->GetAcknowledged(), app->GetPosted(), "all that was posted");
        NS_TEST_EXPECT_MSG_EQ(app->GetPosted() / MESSAGE, 13, "two more than have come");
    }
};

class BulkSendTestSuite : public TestSuite
{
  public:
    BulkSendTestSuite()
        : TestSuite("rdma-bulk-send", UNIT)
    {
        AddTestCase(new BulkSendTestCase, TestCase::QUICK);
    }
};

BulkSendTestSuite g_bulkSendTestSuite;

} // namespace
