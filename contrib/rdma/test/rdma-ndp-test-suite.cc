/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * NDP: trimming switches, pulls, and what becomes of losses.
 */
#include "rdma-trimming-bed.h"

#include <algorithm>
#include <map>

using namespace ns3;
using namespace ns3::rdmatest;

namespace
{

/// The same with NICs that pull.
class NdpBed : public TrimmingBed
{
  public:
    NdpBed()
        : TrimmingBed("ndp")
    {
    }
};

} // namespace

/// A test case that can check beds.
class RdmaNdpTestCase : public TrimmingTestCase
{
  public:
    using TrimmingTestCase::TrimmingTestCase;

  protected:
    /// What CheckArrived does, and what NDP's counters say. \param lossless nothing is lost on the
    /// way but by trimming
    void Check(NdpBed& bed, const std::string& what, bool lossless = true)
    {
        const uint64_t packets = CheckArrived(bed, what);
        for (const Notes::Message& message : bed.notes.messages)
        {
            const auto of =
                std::find_if(bed.sent.begin(), bed.sent.end(), [&](const NdpBed::Sent& sent) {
                    return sent.receiver == message.qp;
                });
            NS_TEST_EXPECT_MSG_EQ(message.message.bytes, of->bytes, what);
        }
        const RdmaNicCounters nics = bed.Totals();
        const RdmaTrimCounters trims = bed.fabric->GetTrimTotals();
        if (!lossless)
        {
            return;
        }
        // Each packet sent came whole, or as a header, or came back.
        NS_TEST_EXPECT_MSG_EQ(bed.Drops(), 0, what << ": nothing is dropped");
        NS_TEST_EXPECT_MSG_EQ(nics.retransmittedPackets, trims.trimmed, what);
        NS_TEST_EXPECT_MSG_EQ(trims.trimmed, nics.trimmedReceived + nics.returnedReceived, what);
        NS_TEST_EXPECT_MSG_EQ(trims.returned, nics.returnedReceived, what);
        NS_TEST_EXPECT_MSG_EQ(nics.duplicatesReceived, 0, what);
        NS_TEST_EXPECT_MSG_EQ(nics.timeouts, 0, what);
        NS_TEST_EXPECT_MSG_EQ(nics.acksSent, packets, what << ": an ACK a packet");
        NS_TEST_EXPECT_MSG_EQ(nics.naksSent, nics.trimmedReceived, what << ": a NACK a header");
        NS_TEST_EXPECT_MSG_LT_OR_EQ(nics.pullsSent, packets + nics.naksSent, what);
    }
};

/// One flow on an idle network is as fast as its line: the first window lasts until pulls come.
class RdmaNdpSingleTestCase : public RdmaNdpTestCase
{
  public:
    RdmaNdpSingleTestCase()
        : RdmaNdpTestCase("one flow takes the time of its bytes on the line")
    {
    }

  private:
    void DoRun() override
    {
        for (const uint64_t bytes :
             {1ULL, 3ULL, 4096ULL, 4097ULL, 65537ULL, 1000003ULL, 10000019ULL})
        {
            for (const int64_t delay : {100 * NS, 1 * US, 7 * US})
            {
                NdpBed bed;
                bed.Star(2, 100 * GBPS, delay);
                bed.Build();
                bed.Send(0, 1, bytes);
                Simulator::Run();
                const std::string what =
                    std::to_string(bytes) + " B, " + std::to_string(delay) + " ps";
                Check(bed, what);
                NS_TEST_EXPECT_MSG_EQ(bed.fabric->GetTrimTotals().trimmed, 0, what);
                // 80 ps a byte; the switch starts a packet 500 ns after its last bit has come, if
                // the one before has left.
                int64_t leftHost = 0;
                int64_t leftSwitch = 0;
                for (const uint32_t wire : Wires(bytes, 4096))
                {
                    leftHost += wire * 80;
                    leftSwitch = std::max(leftSwitch, leftHost + delay + 500 * NS) + wire * 80;
                }
                NS_TEST_EXPECT_MSG_EQ(bed.LastArrival(), leftSwitch + delay, what);
            }
        }
    }
};

/// Incast: conservation, and a completion time near what the receiver's line allows.
class RdmaNdpIncastTestCase : public RdmaNdpTestCase
{
  public:
    RdmaNdpIncastTestCase(uint32_t senders, uint64_t bytes)
        : RdmaNdpTestCase("incast of " + std::to_string(senders) + " x " + std::to_string(bytes) +
                          " B"),
          m_senders(senders),
          m_bytes(bytes)
    {
    }

  private:
    void DoRun() override
    {
        NdpBed bed;
        bed.Star(m_senders + 1, 100 * GBPS);
        bed.Build();
        uint64_t wire = 0;
        uint64_t packets = 0;
        for (uint32_t s = 0; s < m_senders; ++s)
        {
            const uint64_t bytes = m_bytes + 13 * s;
            bed.Send(1 + s, 0, bytes);
            for (const uint32_t packet : Wires(bytes, 4096))
            {
                wire += packet;
                ++packets;
            }
        }
        Simulator::Run();
        Check(bed, GetName());
        // No less than all packets on the receiver's line, one behind the other, after one link,
        // the pipeline, and before the other link. No more than that with each packet a full one,
        // as pulls are paced, the headers of what was trimmed (98 B at most), and three round
        // trips: one until the first pulls, one at the end (the last packets are pulled when those
        // before have come), and one for the queues. A round trip is 2 x 2.5 us and two full
        // packets.
        const int64_t least = static_cast<int64_t>(wire) * 80 + 2500 * NS;
        const int64_t most = static_cast<int64_t>(packets) * FULL_WIRE * 80 +
                             static_cast<int64_t>(bed.fabric->GetTrimTotals().trimmed) * 98 * 80 +
                             3 * (5 * US + 2 * FULL_WIRE * 80);
        NS_TEST_EXPECT_MSG_GT_OR_EQ(bed.LastArrival(), least, GetName());
        NS_TEST_EXPECT_MSG_LT_OR_EQ(bed.LastArrival(),
                                    most + 2500 * NS,
                                    GetName() << ": " << bed.fabric->GetTrimTotals().trimmed
                                              << " trimmed");
    }

    uint32_t m_senders;
    uint64_t m_bytes;
};

/// Packets of many flows over many paths: in any order, all of them, and messages of a connection
/// in theirs.
class RdmaNdpSprayTestCase : public RdmaNdpTestCase
{
  public:
    RdmaNdpSprayTestCase()
        : RdmaNdpTestCase("sprayed packets arrive in any order, messages in theirs")
    {
    }

  private:
    void DoRun() override
    {
        for (const uint64_t seed : {1ULL, 2ULL, 3ULL})
        {
            RngSeedManager::SetRun(seed);
            NdpBed bed;
            bed.helper.SetNicAttribute("InitialPsn", UintegerValue(0xffff80));
            bed.LeafSpine(3, 4);
            bed.Build();
            for (uint32_t h = 0; h < 12; ++h)
            {
                bed.Send(h, (h + 5) % 12, 3000017 + 1009 * h);
            }
            Simulator::Run();
            Check(bed, "permutation");
            NS_TEST_EXPECT_MSG_EQ(bed.Totals().outOfOrderDropped, 0, "any order is taken");
        }
        RngSeedManager::SetRun(1);
        // Many messages of one connection.
        NdpBed bed;
        bed.LeafSpine(2, 4);
        bed.Build();
        const auto [sender, receiver] = bed.Connect(0, 7);
        const auto other = bed.Connect(1, 7).first;
        uint64_t bytes = 0;
        for (uint32_t m = 0; m < 200; ++m)
        {
            sender->PostWrite(1 + 977 * m % 20011, m);
            other->PostWrite(5003, m);
            bytes += 1 + 977 * m % 20011;
        }
        Simulator::Run();
        std::map<RdmaQueuePair*, uint64_t> next;
        for (const Notes::Message& message : bed.notes.messages)
        {
            NS_TEST_EXPECT_MSG_EQ(message.message.sequence, next[message.qp]++, "in order");
        }
        NS_TEST_EXPECT_MSG_EQ(next[receiver], 200, "all");
        NS_TEST_EXPECT_MSG_EQ(receiver->GetBytesReceived(), bytes, "all of it");
    }
};

/// Headers without room go back to their sender, or are lost.
class RdmaNdpReturnTestCase : public RdmaNdpTestCase
{
  public:
    RdmaNdpReturnTestCase()
        : RdmaNdpTestCase("a header without room is returned, or lost and sent again")
    {
    }

  private:
    void DoRun() override
    {
        for (const bool returns : {true, false})
        {
            NdpBed bed;
            bed.helper.SetSwitchAttribute("TrimHeaderBytes", UintegerValue(2000));
            bed.helper.SetSwitchAttribute("TrimReturn", BooleanValue(returns));
            bed.Star(34, 100 * GBPS);
            bed.Build();
            for (uint32_t s = 1; s < 34; ++s)
            {
                bed.Send(s, 0, 250007);
            }
            Simulator::Run();
            Check(bed, returns ? "returned" : "dropped", returns);
            const RdmaTrimCounters trims = bed.fabric->GetTrimTotals();
            NS_TEST_EXPECT_MSG_EQ((trims.returned > 0), returns, "returned");
            NS_TEST_EXPECT_MSG_EQ((bed.fabric->GetDrops(RdmaSwitchBase::HEADER_QUEUE_FULL) > 0),
                                  !returns,
                                  "dropped");
            NS_TEST_EXPECT_MSG_EQ((bed.Totals().timeouts > 0), !returns, "time-outs");
        }
    }
};

/// Whatever is lost, each message arrives once and whole.
class RdmaNdpLossTestCase : public RdmaNdpTestCase
{
  public:
    RdmaNdpLossTestCase()
        : RdmaNdpTestCase("lost data, headers, answers and pulls are made good")
    {
    }

  private:
    void DoRun() override
    {
        for (const auto& [kind, loses] : KindsToLose())
        {
            for (const uint32_t share : {2U, 7U, 50U}) // one of so many
            {
                NdpBed bed;
                const uint32_t lost = RunWithLosses(bed, loses, share);
                const std::string what = kind + ", one of " + std::to_string(share);
                NS_TEST_EXPECT_MSG_GT(lost, 0, what);
                Check(bed, what, false);
            }
        }
        // Bit errors: 1e-6 loses one full packet of 30.
        for (const double rate : {1e-7, 1e-6})
        {
            NdpBed bed;
            bed.Star(6, 100 * GBPS, US, rate);
            bed.Build();
            for (uint32_t s = 1; s < 6; ++s)
            {
                bed.Send(s, 0, 2000003);
            }
            Simulator::Run();
            NS_TEST_EXPECT_MSG_GT(bed.fabric->GetPortTotals().corrupted, 0, rate);
            Check(bed, "bit errors", false);
        }
    }
};

/// Nobody answers: the queue pair fails as late as with other recoveries.
class RdmaNdpFailTestCase : public RdmaNdpTestCase
{
  public:
    RdmaNdpFailTestCase()
        : RdmaNdpTestCase("a silent receiver: the queue pair fails with its error")
    {
    }

  private:
    void DoRun() override
    {
        NdpBed bed;
        bed.helper.SetNicAttribute("TimeoutExponent", UintegerValue(8)); // 1048.576 us
        bed.helper.SetNicAttribute("RetryCount", UintegerValue(2));
        bed.Star(2, 100 * GBPS);
        bed.Build();
        Loser loser(bed.fabric->GetNic(1)->GetPort(),
                    [](const RdmaFrame&, int64_t) { return true; });
        const auto sender = bed.Connect(0, 1).first;
        sender->PostWrite(500009, 7);
        Simulator::Run();
        NS_TEST_EXPECT_MSG_EQ(bed.notes.messages.size(), 0, "nothing arrives");
        NS_TEST_ASSERT_MSG_EQ(bed.notes.completions.size(), 1, "told");
        NS_TEST_EXPECT_MSG_EQ((bed.notes.completions[0].status == RdmaStatus::RETRY_EXCEEDED),
                              true,
                              "why");
        // Three time-outs of 1048.576 us, found out at the next of those of 1 ms.
        NS_TEST_EXPECT_MSG_EQ(bed.notes.completions[0].at, 4000 * US, "when");
    }
};

/// Verbs: SENDs wait for receive requests, READs are refused.
class RdmaNdpVerbsTestCase : public RdmaNdpTestCase
{
  public:
    RdmaNdpVerbsTestCase()
        : RdmaNdpTestCase("SENDs without a receive request are sent again; there are no READs")
    {
    }

  private:
    void DoRun() override
    {
        NdpBed bed;
        bed.Star(2, 100 * GBPS);
        bed.Build();
        RdmaQueuePairInit init;
        Ptr<RdmaCompletionQueue> queue = CreateObject<RdmaCompletionQueue>();
        init.sendQueue = init.receiveQueue = PeekPointer(queue);
        RdmaQueuePair* a = bed.fabric->GetNic(0)->CreateQueuePair(init);
        RdmaQueuePair* b = bed.fabric->GetNic(1)->CreateQueuePair(init);
        RdmaNic::Connect(a, b);
        NS_TEST_EXPECT_MSG_EQ((a->PostRead(4096, 1) == RdmaPostResult::NOT_SUPPORTED),
                              true,
                              "READ");
        NS_TEST_EXPECT_MSG_EQ(a->GetTransport().GetName(), "ndp", "agreed");
        for (uint32_t m = 0; m < 9; ++m)
        {
            a->PostSend(50021, m);
        }
        for (uint32_t m = 0; m < 9; ++m)
        {
            Simulator::Schedule(MicroSeconds(m < 2 ? 0 : 700 * m),
                                [b, m] { b->PostReceive(60000, 100 + m); });
        }
        Simulator::Run();
        NS_TEST_EXPECT_MSG_EQ(bed.notes.messages.size(), 9, "all");
        NS_TEST_EXPECT_MSG_EQ(b->GetBytesReceived(), 9 * 50021, "once");
        NS_TEST_EXPECT_MSG_GT(bed.Of(1).rnrNaksSent, 0, "some had to wait");
        NS_TEST_EXPECT_MSG_EQ(bed.Totals().failedQps, 0, "none fails");
    }
};

/// Only what may be trimmed is; a switch that pauses does not trim.
class RdmaNdpSwitchTestCase : public RdmaNdpTestCase
{
  public:
    RdmaNdpSwitchTestCase()
        : RdmaNdpTestCase("a switch trims what may be trimmed, half of it from its queue's end")
    {
    }

  private:
    void DoRun() override
    {
        {
            NdpBed bed;
            bed.helper.SetSwitchAttribute("Pfc", BooleanValue(true));
            bed.Star(2, 100 * GBPS);
            std::string error;
            bed.fabric = bed.helper.Build(bed.nodes, bed.links, error);
            NS_TEST_EXPECT_MSG_EQ((error.find("allowed with Pfc: 0") != std::string::npos),
                                  true,
                                  error);
        }
        {
            // Go-back-N knows no trimmed packets: the switch would trim none, without a word.
            NdpBed bed;
            bed.helper.SetNicAttribute("LossRecovery", StringValue("go-back-n"));
            bed.Star(4, 100 * GBPS);
            std::string error;
            bed.fabric = bed.helper.Build(bed.nodes, bed.links, error);
            NS_TEST_EXPECT_MSG_EQ((error.find("knows no trimmed packets") != std::string::npos),
                                  true,
                                  error);
        }
        // With two flows at once the queue never holds more than 8 full packets, and either flow
        // loses about as much.
        NdpBed bed;
        bed.Star(3, 100 * GBPS);
        bed.Build();
        const Ptr<RdmaSwitch> device = bed.Device();
        uint64_t most = 0;
        Watch<const RdmaPort*, uint8_t, uint64_t, int64_t>(
            device->GetPort(0),
            "Queue",
            [&](const RdmaPort*, uint8_t priority, uint64_t bytes, int64_t) {
                most = priority == 3 ? std::max(most, bytes) : most;
            });
        std::map<uint32_t, uint64_t> trimmed;
        Watch<const RdmaPort*, const RdmaFrame*, int64_t>(
            device,
            "Trim",
            [&](const RdmaPort* port, const RdmaFrame* frame, int64_t) {
                ++trimmed[frame->src];
                NS_TEST_EXPECT_MSG_EQ(frame->payload, 0, "no payload");
                NS_TEST_EXPECT_MSG_LT_OR_EQ(frame->wireBytes, 98, "headers");
                NS_TEST_EXPECT_MSG_EQ(port->GetPortIndex(), 0, "where");
            });
        bed.Send(1, 0, 3000017);
        bed.Send(2, 0, 3000017);
        Simulator::Run();
        Check(bed, "two flows");
        NS_TEST_EXPECT_MSG_GT(most, 7 * FULL_FRAME, "full");
        NS_TEST_EXPECT_MSG_LT_OR_EQ(most, 8 * (FULL_FRAME + 20), "8 packets, of any kind");
        NS_TEST_EXPECT_MSG_EQ(trimmed.size(), 2, "of both");
    }
};

class RdmaNdpTestSuite : public TestSuite
{
  public:
    RdmaNdpTestSuite()
        : TestSuite("rdma-ndp", UNIT)
    {
        AddTestCase(new RdmaNdpSingleTestCase, TestCase::QUICK);
        for (const uint32_t senders : {3U, 7U, 16U, 41U, 100U})
        {
            for (const uint64_t bytes : {5003ULL, 135001ULL, 450007ULL})
            {
                AddTestCase(new RdmaNdpIncastTestCase(senders, bytes), TestCase::QUICK);
            }
        }
        AddTestCase(new RdmaNdpSprayTestCase, TestCase::QUICK);
        AddTestCase(new RdmaNdpReturnTestCase, TestCase::QUICK);
        AddTestCase(new RdmaNdpLossTestCase, TestCase::QUICK);
        AddTestCase(new RdmaNdpFailTestCase, TestCase::QUICK);
        AddTestCase(new RdmaNdpVerbsTestCase, TestCase::QUICK);
        AddTestCase(new RdmaNdpSwitchTestCase, TestCase::QUICK);
    }
};

static RdmaNdpTestSuite g_rdmaNdpTestSuite;
