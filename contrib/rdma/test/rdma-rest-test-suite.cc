/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Queue pairs that only receive, or rest, keep no requester's state of their own: they show one
 * that they share. What they count goes on where it was.
 */
#include "rdma-congestion-bed.h"

#include "ns3/dcqcn-congestion-ops.h"

using namespace ns3;
using namespace ns3::rdmatest;

namespace
{

/// Whether two queue pairs of one NIC show the same state.
bool
Share(const RdmaQueuePair* a, const RdmaQueuePair* b)
{
    return &a->GetCongestionState() == &b->GetCongestionState();
}

} // namespace

class RdmaRestTestCase : public TestCase
{
  public:
    explicit RdmaRestTestCase(uint32_t initialPsn)
        : TestCase("who rests gives its state back and goes on from there, first PSN " +
                   std::to_string(initialPsn)),
          m_initialPsn(initialPsn)
    {
    }

  private:
    void DoRun() override
    {
        Bed bed(2, 100 * GBPS);
        bed.helper.SetNicAttribute("InitialPsn", UintegerValue(m_initialPsn));
        bed.Build();
        uint32_t rates = 0;
        Watch<RdmaQueuePair*, uint64_t, int64_t>(
            bed.fabric->GetNic(0),
            "Rate",
            [&rates](RdmaQueuePair*, uint64_t, int64_t) { ++rates; });
        const auto [idle, idleReceiver] = bed.Connect(0, 1);
        const auto [sender, receiver] = bed.Connect(0, 1);
        NS_TEST_EXPECT_MSG_EQ(rates, 2, "each queue pair tells the rate that it begins with");
        NS_TEST_EXPECT_MSG_EQ(Share(idle, sender), true, "nothing has been posted");
        NS_TEST_EXPECT_MSG_EQ(idle->GetCongestionState().rateBps, 100 * GBPS, "it is readable");

        std::vector<uint32_t> psns;
        WatchFrames(bed.fabric->GetNic(0)->GetPort(),
                    "PhyTx",
                    [&psns](const RdmaPort*, const RdmaFrame* frame, int64_t) {
                        psns.push_back(frame->psn);
                    });
        // 10 MB at 100 Gb/s are 0.8 ms: rest at 1 ms, the second message at 2 ms.
        uint64_t posted = 0;
        const uint64_t bytes = 10000000;
        for (const int64_t ms : {0, 2})
        {
            Simulator::Schedule(MilliSeconds(ms), [&, sender = sender]() {
                sender->PostWrite(bytes, posted);
                posted += bytes;
            });
            Simulator::Schedule(
                MilliSeconds(ms) + MicroSeconds(400),
                [&, idle = idle, sender = sender, receiver = receiver, other = idleReceiver]() {
                    NS_TEST_EXPECT_MSG_EQ(Share(idle, sender), false, "at work");
                    NS_TEST_EXPECT_MSG_EQ(Share(receiver, other), true, "a receiver has none");
                    NS_TEST_EXPECT_MSG_LT(sender->GetBytesAcknowledged(), posted, "not yet");
                    NS_TEST_EXPECT_MSG_EQ(sender->GetCongestionState().ackedPosition,
                                          sender->GetBytesAcknowledged(),
                                          "positions go on");
                });
            Simulator::Schedule(MilliSeconds(ms + 1), [&, idle = idle, sender = sender]() {
                NS_TEST_EXPECT_MSG_EQ(Share(idle, sender), true, "at rest");
                NS_TEST_EXPECT_MSG_EQ(sender->GetBytesAcknowledged(), posted, "all of it");
            });
        }
        Simulator::Run(); // its time-out, too, finds nothing to do
        NS_TEST_EXPECT_MSG_EQ(receiver->GetBytesReceived(), 2 * bytes, "both");
        NS_TEST_ASSERT_MSG_EQ(bed.notes.messages.size(), 2, "both");
        NS_TEST_EXPECT_MSG_EQ(bed.notes.messages[1].message.sequence, 1, "counted on");
        NS_TEST_ASSERT_MSG_EQ(psns.size(), 2 * 2442, "10 MB in packets of 4,096 B, none twice");
        for (size_t i = 0; i < psns.size(); ++i)
        {
            const uint32_t expected = (m_initialPsn + i) & 0xffffff;
            NS_TEST_ASSERT_MSG_EQ(psns[i], expected, "no PSN left out");
        }
        NS_TEST_EXPECT_MSG_EQ(rates, 2, "a rate that is taken up again is no new one");
        NS_TEST_EXPECT_MSG_EQ(bed.fabric->GetNic(0)->GetCounters().timeouts, 0, "no time-out");
    }

    uint32_t m_initialPsn;
};

class RdmaNoRestTestCase : public TestCase
{
  public:
    RdmaNoRestTestCase()
        : TestCase("who has been told of congestion does not forget it")
    {
    }

  private:
    void DoRun() override
    {
        // Four hosts send 5 MB each to one at the same time, which marks and brings CNPs.
        CongestionBed bed(4, 100 * GBPS, CreateObject<RdmaDcqcnCongestionOps>(), MilliSeconds(1));
        bed.Build();
        std::vector<RdmaQueuePair*> others;
        for (uint32_t i = 1; i <= 4; ++i)
        {
            bed.Flow(i, Seconds(0), 5000000);
            others.push_back(bed.Connect(i, 0).first);
        }
        bed.Run(MilliSeconds(10));
        for (uint32_t i = 0; i < 4; ++i)
        {
            NS_TEST_EXPECT_MSG_EQ(bed.senders[i]->GetBytesAcknowledged(), 5000000, "done");
            const bool told = bed.fabric->GetNic(i + 1)->GetCounters().cnpsReceived > 0;
            NS_TEST_EXPECT_MSG_EQ(told, true, "congestion");
            NS_TEST_EXPECT_MSG_EQ(Share(bed.senders[i], others[i]), false, "kept");
            // Asked for, a congestion control is the queue pair's own.
            NS_TEST_EXPECT_MSG_NE(PeekPointer(bed.senders[i]->GetCongestionOps()),
                                  PeekPointer(others[i]->GetCongestionOps()),
                                  "its own");
        }
    }
};

class RdmaRestTestSuite : public TestSuite
{
  public:
    RdmaRestTestSuite()
        : TestSuite("rdma-rest", UNIT)
    {
        AddTestCase(new RdmaRestTestCase(0), TestCase::QUICK);
        AddTestCase(new RdmaRestTestCase(0xfffff0), TestCase::QUICK);
        AddTestCase(new RdmaNoRestTestCase, TestCase::QUICK);
    }
};

static RdmaRestTestSuite g_rdmaRestTestSuite;
