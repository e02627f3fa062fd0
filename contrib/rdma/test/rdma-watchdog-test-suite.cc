/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * PFC watchdog: a storm is found when it is as old as said, its frames are dropped or forwarded,
 * the queue is restored, and a deadlock dissolves.
 */
#include "rdma-test-fabric.h"

#include "ns3/pfc-deadlock.h"

using namespace ns3;
using namespace ns3::rdmatest;

namespace
{

struct Storm
{
    const RdmaPort* port;
    uint8_t priority;
    bool begins;
    int64_t at;
};

void
WatchStorms(Ptr<RdmaSwitch> device, std::vector<Storm>& storms)
{
    Watch<const RdmaPort*, uint8_t, bool, int64_t>(
        device,
        "PfcStorm",
        [&storms](const RdmaPort* port, uint8_t priority, bool begins, int64_t now) {
            storms.push_back({port, priority, begins, now});
        });
}

} // namespace

/// h0 sends to h1; h1's MAC asks for pause after pause, as a broken NIC does.
class RdmaStormTestCase : public TestCase
{
  public:
    RdmaStormTestCase(bool drop)
        : TestCase(std::string("a storm out of a broken NIC: ") + (drop ? "drop" : "forward")),
          m_drop(drop)
    {
    }

  private:
    void DoRun() override
    {
        Bed bed(2, 100 * GBPS);
        bed.helper.SetSwitchAttribute("PfcWatchdogDetection", TimeValue(MicroSeconds(300)));
        bed.helper.SetSwitchAttribute("PfcWatchdogRestoration", TimeValue(MicroSeconds(100)));
        bed.helper.SetSwitchAttribute("PfcWatchdogAction",
                                      StringValue(m_drop ? "drop" : "forward"));
        bed.helper.SetNicAttribute("TimeoutExponent", UintegerValue(8)); // 1 ms
        bed.Build();
        std::vector<Storm> storms;
        WatchStorms(bed.Device(), storms);
        // Pauses of 335.5 us every 200 us, ten of them; the last ends at 1.8 ms + 335.5 us.
        const Ptr<RdmaPort> broken = bed.fabric->GetPorts()[2];
        for (int i = 0; i < 10; ++i)
        {
            Simulator::Schedule(MicroSeconds(200 * i),
                                [broken] { broken->SendPause(1 << 3, 65535, RdmaClock::Now()); });
        }
        std::vector<int64_t> sent; // by the stormy port, while the storm lasts
        const Ptr<RdmaPort> stormy = bed.fabric->GetPorts()[3];
        WatchFrames(stormy, "PhyTx", [&](const RdmaPort*, const RdmaFrame* f, int64_t now) {
            if (IsData(f->opcode) && storms.size() == 1)
            {
                sent.push_back(now);
            }
        });
        RdmaQueuePair* qp = bed.Connect(0, 1).first;
        qp->PostWrite(3000000, 7);
        Simulator::Run();

        // The pause is there at 1,006.72 ns; the first frame joins the queue later: 4,194 B x 80 ps
        // + 1 us + 500 ns pipeline = 1,835.52 ns. 300 us on the storm begins; the watchdog looks at
        // whole ns here.
        NS_TEST_ASSERT_MSG_EQ(storms.size(), 2, "one storm, one end");
        NS_TEST_EXPECT_MSG_EQ((storms[0].port == PeekPointer(stormy)), true, "which port");
        NS_TEST_EXPECT_MSG_EQ(+storms[0].priority, 3, "which priority");
        NS_TEST_EXPECT_MSG_EQ(storms[0].begins, true, "begin");
        NS_TEST_EXPECT_MSG_GT_OR_EQ(storms[0].at, 300 * US + 1835520, "not before");
        NS_TEST_EXPECT_MSG_LT(storms[0].at, 300 * US + 1835520 + 1000, "nor later");
        NS_TEST_EXPECT_MSG_EQ(storms[1].begins, false, "end");
        // Last pause: sent at 1.8 ms or behind an ACK under way (86 B x 80 ps), 6.72 + 1,000 ns on
        // the way, 65,535 x 5.12 ns long, and 100 us.
        const int64_t end = 1800 * US + 1006720 + 65535 * 5120LL + 100 * US;
        NS_TEST_EXPECT_MSG_GT_OR_EQ(storms[1].at, end, "not before");
        NS_TEST_EXPECT_MSG_LT(storms[1].at, end + 6880 + 1000, "nor later");
        NS_TEST_EXPECT_MSG_EQ(bed.Device()->GetPfcStorms(), 1, "counted");

        const uint64_t drops = bed.fabric->GetDrops(RdmaSwitch::PFC_WATCHDOG);
        const uint64_t retransmitted = bed.fabric->GetNicTotals().retransmittedPackets;
        if (m_drop)
        {
            // What the switch held, at the least: up to the threshold, 1/8 of the free pool.
            NS_TEST_EXPECT_MSG_GT(drops, 30, "drops");
            NS_TEST_EXPECT_MSG_EQ(drops, bed.Drops(), "for no other reason");
            NS_TEST_EXPECT_MSG_GT(retransmitted, 0, "repaired");
            NS_TEST_EXPECT_MSG_EQ(sent.size(), 0, "a stormy queue sends nothing");
        }
        else
        {
            NS_TEST_EXPECT_MSG_EQ(bed.Drops(), 0, "no drop");
            NS_TEST_EXPECT_MSG_EQ(retransmitted, 0, "nothing sent twice");
            NS_TEST_ASSERT_MSG_GT(sent.size(), 700, "all of it in spite of the pauses");
            NS_TEST_EXPECT_MSG_EQ(sent.front(), storms[0].at, "at once");
        }
        NS_TEST_ASSERT_MSG_EQ(bed.notes.messages.size(), 1, "arrives all the same");
        NS_TEST_EXPECT_MSG_EQ(bed.notes.messages[0].message.bytes, 3000000, "whole");
        NS_TEST_EXPECT_MSG_EQ(qp->GetBytesAcknowledged(), 3000000, "acknowledged");
        const Ptr<RdmaSwitch> device = bed.Device();
        NS_TEST_EXPECT_MSG_EQ(device->GetReceived(),
                              device->GetForwarded() + bed.Drops(),
                              "received = forwarded + dropped");
        NS_TEST_EXPECT_MSG_EQ(device->GetBuffer().Stored(), 0, "buffer empty");
        NS_TEST_EXPECT_MSG_EQ(stormy->GetQueuedBytes(), 0, "queue empty");
        bed.Destroy();
        NS_TEST_EXPECT_MSG_EQ(RdmaFramePool::Get().GetLive(), 0, "no frame left over");
    }

    bool m_drop;
};

class RdmaNoStormTestCase : public TestCase
{
  public:
    RdmaNoStormTestCase()
        : TestCase("pauses shorter than the detection time are no storm, and change nothing")
    {
    }

  private:
    void DoRun() override
    {
        int64_t last[2];
        uint64_t events[2];
        for (const bool watched : {false, true})
        {
            Bed bed(17, 100 * GBPS);
            bed.helper.SetSwitchAttribute("BufferPer100G", UintegerValue(60000));
            bed.helper.SetSwitchAttribute("PfcWatchdogDetection",
                                          TimeValue(MilliSeconds(watched ? 2 : 0)));
            bed.Build();
            for (uint32_t i = 1; i <= 16; ++i)
            {
                bed.Connect(i, 0).first->PostWrite(300000, i);
            }
            Simulator::Run();
            NS_TEST_EXPECT_MSG_EQ(bed.notes.messages.size(), 16, "arrived");
            NS_TEST_EXPECT_MSG_EQ(bed.Drops(), 0, "no drop");
            NS_TEST_EXPECT_MSG_EQ(bed.Device()->GetPfcStorms(), 0, "no storm");
            last[watched] = bed.notes.messages.back().at;
            events[watched] = Simulator::GetEventCount();
        }
        NS_TEST_EXPECT_MSG_EQ(last[0], last[1], "to the picosecond");
        NS_TEST_EXPECT_MSG_LT(events[1] - events[0], 5, "a look or two, whatever the traffic");
    }
};

/// The ring of rdma-deadlock, with a watchdog.
class RdmaRecoveryTestCase : public TestCase
{
  public:
    RdmaRecoveryTestCase(bool drop)
        : TestCase(std::string("a deadlocked ring recovers: ") + (drop ? "drop" : "forward")),
          m_drop(drop)
    {
    }

  private:
    void DoRun() override
    {
        const uint32_t n = 5;
        Bed bed;
        bed.Ring(n);
        bed.helper.SetSwitchAttribute("Ecn", BooleanValue(false));
        bed.helper.SetSwitchAttribute("PfcWatchdogDetection", TimeValue(MicroSeconds(500)));
        bed.helper.SetSwitchAttribute("PfcWatchdogAction",
                                      StringValue(m_drop ? "drop" : "forward"));
        bed.helper.SetNicAttribute("TimeoutExponent", UintegerValue(10)); // 4 ms
        bed.Build();
        const uint64_t bytes = 10000000;
        for (uint32_t i = 0; i < 2 * n; ++i)
        {
            bed.Connect(i, (i + 4) % (2 * n)).first->PostWrite(bytes, i);
        }
        uint32_t cycles = 0;
        RdmaPfcDeadlockDetector detector(bed.fabric->GetPorts(), MicroSeconds(250), [&](auto&&...) {
            ++cycles;
        });
        Simulator::Run(); // comes to its end by itself

        NS_TEST_EXPECT_MSG_GT(cycles, 0, "there was a deadlock");
        NS_TEST_ASSERT_MSG_EQ(bed.notes.messages.size(), 2 * n, "every flow is finished");
        uint64_t storms = 0;
        for (uint32_t i = 0; i < n; ++i)
        {
            const Ptr<RdmaSwitch> device = bed.Device(i);
            storms += device->GetPfcStorms();
            uint64_t drops = 0;
            for (uint8_t r = 0; r < RdmaSwitch::DROP_REASONS; ++r)
            {
                drops += device->GetDrops(static_cast<RdmaSwitch::DropReason>(r));
            }
            NS_TEST_EXPECT_MSG_EQ(device->GetReceived(),
                                  device->GetForwarded() + drops,
                                  "received = forwarded + dropped");
            NS_TEST_EXPECT_MSG_EQ(device->GetBuffer().Stored(), 0, "buffer empty");
        }
        NS_TEST_EXPECT_MSG_GT(storms, 0, "storms");
        NS_TEST_EXPECT_MSG_EQ(bed.fabric->GetNicTotals().failedQps, 0, "nobody gave up");
        const uint64_t byWatchdog = bed.fabric->GetDrops(RdmaSwitch::PFC_WATCHDOG);
        const uint64_t byHeadroom = bed.fabric->GetDrops(RdmaSwitch::HEADROOM_FULL);
        NS_TEST_EXPECT_MSG_EQ(byWatchdog + byHeadroom, bed.Drops(), "counted by reason");
        NS_TEST_EXPECT_MSG_EQ((byWatchdog > 0), m_drop, "dropped by the watchdog");
        for (uint32_t i = 0; i < 2 * n; ++i)
        {
            NS_TEST_EXPECT_MSG_EQ(bed.fabric->GetNic(i)->GetQueuePair(0)->GetBytesPosted() +
                                      bed.fabric->GetNic(i)->GetQueuePair(1)->GetBytesPosted(),
                                  bytes,
                                  "posted");
        }
    }

    bool m_drop;
};

class RdmaWatchdogTestSuite : public TestSuite
{
  public:
    RdmaWatchdogTestSuite()
        : TestSuite("rdma-watchdog", UNIT)
    {
        AddTestCase(new RdmaStormTestCase(true), TestCase::QUICK);
        AddTestCase(new RdmaStormTestCase(false), TestCase::QUICK);
        AddTestCase(new RdmaNoStormTestCase, TestCase::QUICK);
        AddTestCase(new RdmaRecoveryTestCase(true), TestCase::QUICK);
        AddTestCase(new RdmaRecoveryTestCase(false), TestCase::QUICK);
    }
};

static RdmaWatchdogTestSuite g_rdmaWatchdogTestSuite;
