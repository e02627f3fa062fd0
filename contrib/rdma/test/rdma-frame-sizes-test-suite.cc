/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Frames of other sizes and times cut to a unit: what it takes to be compatible with other models
 * (core/frame-sizes.h), and that completion at the sender equals its closed form.
 */
#include "rdma-test-fabric.h"

using namespace ns3;
using namespace ns3::rdmatest;

namespace
{

/// The frames of HPCC's ns-3 code, and its switches without a pipeline.
void
BeLikeHpcc(Bed& bed)
{
    bed.helper.SetNicAttribute("Mtu", UintegerValue(1000));
    bed.helper.SetNicAttribute("HeaderBytes", UintegerValue(48));
    bed.helper.SetNicAttribute("ExtensionHeaders", BooleanValue(false));
    bed.helper.SetNicAttribute("AckFrameBytes", UintegerValue(60));
    bed.helper.SetNicAttribute("CnpFrameBytes", UintegerValue(60));
    bed.helper.SetNicAttribute("AckEvery", UintegerValue(1));
    bed.helper.SetPortAttribute("LineOverhead", UintegerValue(0));
    bed.helper.SetPortAttribute("TransmitTimeUnit", TimeValue(NanoSeconds(1)));
    bed.helper.SetSwitchAttribute("PipelineLatency", TimeValue(Time(0)));
}

} // namespace

class RdmaFrameSizesByHandTestCase : public TestCase
{
  public:
    RdmaFrameSizesByHandTestCase()
        : TestCase("three packets with other headers and times, derived by hand")
    {
    }

  private:
    void DoRun() override
    {
        Bed bed(2, 10 * GBPS);
        BeLikeHpcc(bed);
        bed.Build();
        // At the host's end of its link: what leaves it, and the ACKs that come in.
        std::vector<uint32_t> data;
        std::vector<uint32_t> acks;
        WatchFrames(bed.fabric->GetPorts()[0],
                    "PhyTx",
                    [&](const RdmaPort* port, const RdmaFrame* f, int64_t) {
                        data.push_back(f->wireBytes);
                        NS_TEST_EXPECT_MSG_EQ(port->GetFrameBytes(f), f->wireBytes, "no overhead");
                    });
        WatchFrames(
            bed.fabric->GetPorts()[0],
            "PhyRx",
            [&](const RdmaPort*, const RdmaFrame* f, int64_t) { acks.push_back(f->wireBytes); });
        bed.Connect(0, 1).first->PostWrite(2002, 1);
        Simulator::Run();
        const std::vector<uint32_t> sent{1048, 1048, 50}; // no RETH, and 2 B are not padded
        NS_TEST_EXPECT_MSG_EQ((data == sent), true, "sizes of data packets");
        NS_TEST_EXPECT_MSG_EQ((acks == std::vector<uint32_t>(3, 60)), true, "an ACK each");
        // 1048 B take 838.4 ns, cut to 838; 50 B take 40, of which 39 are left. The second packet
        // is at the switch at 1676 + 1000 ns and through the second link 838 later; the third
        // behind it, 39 more, and 1000 to the receiver.
        const int64_t arrived = (1676 + 1000 + 838 + 39 + 1000) * NS;
        NS_TEST_ASSERT_MSG_EQ(bed.notes.messages.size(), 1, "one message");
        NS_TEST_EXPECT_MSG_EQ(bed.notes.messages[0].at, arrived, "last byte");
        NS_TEST_EXPECT_MSG_EQ(bed.fabric->GetIdealCompletion(0, 1, 2002, false), arrived, "ideal");
        // ACKs of 60 B take 48 ns, of which 47 are left. That of the second packet leaves the
        // receiver 39 ns before the third packet is there, so its own waits for 8 ns; the same
        // distance on the second link.
        const int64_t acked = arrived + (8 + 47 + 1000 + 47 + 1000) * NS;
        NS_TEST_ASSERT_MSG_EQ(bed.notes.completions.size(), 1, "one completion");
        NS_TEST_EXPECT_MSG_EQ(bed.notes.completions[0].at, acked, "last ACK");
        NS_TEST_EXPECT_MSG_EQ(
            bed.fabric->GetIdealCompletion(0, 1, 2002, false, RdmaOperation::WRITE, true),
            acked,
            "ideal at the sender");
        // Captures would be of frames that no reader knows.
        NS_TEST_EXPECT_MSG_EQ(bed.fabric->GetFrameSizes().AreStandard(), false, "not RoCEv2");
    }
};

class RdmaSenderCompletionTestCase : public TestCase
{
  public:
    RdmaSenderCompletionTestCase()
        : TestCase("completion at the sender equals its closed form, standard frames and others")
    {
    }

  private:
    void DoRun() override
    {
        const std::vector<std::vector<uint64_t>> chains = {
            {100 * GBPS},
            {10 * GBPS, 100 * GBPS},
            {100 * GBPS, 10 * GBPS, 25 * GBPS},
            {100000 * GBPS, 10 * GBPS},
        };
        uint32_t runs = 0;
        for (const bool hpcc : {false, true})
        {
            for (const auto& rates : chains)
            {
                for (const uint64_t bytes : {1, 11, 1000, 1001, 4099, 100003, 1000000})
                {
                    Bed bed;
                    uint32_t last = bed.Host("a");
                    for (size_t i = 0; i < rates.size(); ++i)
                    {
                        const bool end = i + 1 == rates.size();
                        const uint32_t next =
                            end ? bed.Host("b") : bed.Switch("s" + std::to_string(i));
                        bed.Link(last, next, rates[i], 1234 * NS);
                        last = next;
                    }
                    if (hpcc)
                    {
                        BeLikeHpcc(bed);
                    }
                    bed.helper.SetNicAttribute("AckEvery", UintegerValue(1));
                    bed.Build();
                    bed.Connect(0, 1).first->PostWrite(bytes, 1);
                    Simulator::Run();
                    NS_TEST_ASSERT_MSG_EQ(bed.notes.completions.size(), 1, "one completion");
                    NS_TEST_EXPECT_MSG_EQ(bed.notes.messages[0].at,
                                          bed.fabric->GetIdealCompletion(0, 1, bytes, false),
                                          "at the receiver, " << bytes << " B");
                    NS_TEST_EXPECT_MSG_EQ(
                        bed.notes.completions[0].at,
                        bed.fabric
                            ->GetIdealCompletion(0, 1, bytes, false, RdmaOperation::WRITE, true),
                        "at the sender, " << bytes << " B");
                    ++runs;
                }
            }
        }
        NS_TEST_EXPECT_MSG_EQ(runs, 2 * 4 * 7, "all of them");
    }
};

class RdmaLongPostTestCase : public TestCase
{
  public:
    RdmaLongPostTestCase()
        : TestCase("without extension headers a post is one request, packets of any size")
    {
    }

  private:
    void DoRun() override
    {
        // 2^31 + 1000 B in packets of 9000 B: none of them is cut at 2^31.
        const uint64_t bytes = (1ULL << 31) + 1000;
        Bed bed(2, 400 * GBPS);
        BeLikeHpcc(bed);
        bed.helper.SetNicAttribute("Mtu", UintegerValue(9000));
        bed.Build();
        auto [a, b] = bed.Connect(0, 1);
        a->PostWrite(bytes, 1);
        Simulator::Run();
        NS_TEST_ASSERT_MSG_EQ(bed.notes.messages.size(), 1, "one message");
        NS_TEST_EXPECT_MSG_EQ(b->GetBytesReceived(), bytes, "all of it");
        NS_TEST_EXPECT_MSG_EQ(a->GetNic()->GetCounters().dataPackets,
                              (bytes + 8999) / 9000,
                              "packets");
        NS_TEST_EXPECT_MSG_EQ(bed.notes.messages[0].at,
                              bed.fabric->GetIdealCompletion(0, 1, bytes, false),
                              "in the time of the closed form");
    }
};

class RdmaVariableWindowTestCase : public TestCase
{
  public:
    RdmaVariableWindowTestCase()
        : TestCase("the window follows the rate, derived by hand")
    {
    }

  private:
    void DoRun() override
    {
        // 10 packets of 1000 B at 4 Gb/s of 10: 4800 B x 0.4 = 1920 B, two packets. A packet takes
        // 1048 x 2 = 2096 ns of that rate, of which 2095 are left, so the second one goes then. The
        // ACK of the first is back after 838 + 1000 + 838 + 1000 and 2 (47 + 1000) = 5770 ns and
        // lets the third go, and that of the second, 2095 later, the fourth. The tenth goes at
        // 4 x 5770 + 2095 and arrives 3676 later.
        const int64_t windowed = (4 * 5770 + 2095 + 3676) * NS;
        // With 4800 B, five packets, the pace alone counts: the tenth goes at 9 x 2095.
        const int64_t paced = (9 * 2095 + 3676) * NS;
        for (const bool variable : {true, false})
        {
            Bed bed(2, 10 * GBPS);
            BeLikeHpcc(bed);
            bed.helper.SetNicAttribute("Window", UintegerValue(4800));
            bed.helper.SetNicAttribute("VariableWindow", BooleanValue(variable));
            auto none = CreateObject<RdmaNoneCongestionOps>();
            none->SetAttribute("Rate", UintegerValue(4 * GBPS));
            bed.helper.SetCongestionOps(none);
            bed.Build();
            RdmaQueuePair* qp = bed.Connect(0, 1).first;
            NS_TEST_EXPECT_MSG_EQ(qp->GetCongestionState().windowBytes,
                                  (variable ? 1920U : 4800U),
                                  "window at its rate");
            qp->PostWrite(10000, 1);
            Simulator::Run();
            NS_TEST_ASSERT_MSG_EQ(bed.notes.messages.size(), 1, "one message");
            NS_TEST_EXPECT_MSG_EQ(bed.notes.messages[0].at,
                                  (variable ? windowed : paced),
                                  "last byte");
        }
    }
};

class RdmaEcnBehindTestCase : public TestCase
{
  public:
    RdmaEcnBehindTestCase()
        : TestCase("marks by the queue behind a frame, or with the frame; bytes of other frames")
    {
    }

  private:
    void DoRun() override
    {
        // Five packets come ten times as fast as they leave, so each but the first and the last one
        // leaves others behind. Marked from K = 1 B on, so with its own bytes each of them is.
        for (const bool behind : {true, false})
        {
            Bed bed;
            const uint32_t a = bed.Host("a");
            const uint32_t b = bed.Host("b");
            const uint32_t s = bed.Switch("s");
            bed.Link(a, s, 10 * GBPS);
            bed.Link(s, b, 1 * GBPS);
            BeLikeHpcc(bed);
            bed.helper.SetSwitchAttribute("EcnBehind", BooleanValue(behind));
            bed.helper.SetSwitchAttribute("EcnKmin", UintegerValue(100)); // of 1 Gb/s: 1 B
            bed.helper.SetSwitchAttribute("EcnKmax", UintegerValue(100));
            bed.Build();
            std::vector<bool> marked;
            std::vector<uint64_t> queue;
            WatchFrames(bed.fabric->GetPorts()[3],
                        "PhyRx",
                        [&](const RdmaPort*, const RdmaFrame* f, int64_t) {
                            marked.push_back(f->flags & RdmaFrame::CE);
                        });
            Watch<const RdmaPort*, uint8_t, uint64_t, int64_t>(
                bed.fabric->GetPorts()[2],
                "Queue",
                [&](const RdmaPort*, uint8_t, uint64_t bytes, int64_t) { queue.push_back(bytes); });
            bed.Connect(0, 1).first->PostWrite(5000, 1);
            Simulator::Run();
            const std::vector<bool> expected =
                behind ? std::vector<bool>{false, true, true, true, false}
                       : std::vector<bool>(5, true);
            NS_TEST_EXPECT_MSG_EQ((marked == expected), true, "which packets are marked");
            for (const uint64_t bytes : queue)
            {
                NS_TEST_EXPECT_MSG_EQ(bytes % 1048, 0, "the buffer counts whole packets");
            }
            NS_TEST_EXPECT_MSG_EQ(queue.size(), 10, "five in, five out");
        }
    }
};

class RdmaFrameSizesTestSuite : public TestSuite
{
  public:
    RdmaFrameSizesTestSuite()
        : TestSuite("rdma-frame-sizes", UNIT)
    {
        AddTestCase(new RdmaFrameSizesByHandTestCase, TestCase::QUICK);
        AddTestCase(new RdmaSenderCompletionTestCase, TestCase::QUICK);
        AddTestCase(new RdmaLongPostTestCase, TestCase::QUICK);
        AddTestCase(new RdmaVariableWindowTestCase, TestCase::QUICK);
        AddTestCase(new RdmaEcnBehindTestCase, TestCase::QUICK);
    }
};

static RdmaFrameSizesTestSuite g_rdmaFrameSizesTestSuite;
