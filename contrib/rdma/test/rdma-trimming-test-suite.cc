/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * EQDS and Ultra Ethernet's transport over switches that trim: whatever is trimmed, lost and posted
 * late, each message arrives once and whole; what they take; what is refused.
 */
#include "rdma-trimming-bed.h"

#include <algorithm>
#include <map>
#include <random>

using namespace ns3;
using namespace ns3::rdmatest;

namespace
{

/// A transport as it is set up.
struct Transport
{
    std::string name; //!< RdmaNic::LossRecovery
    bool credits;     //!< receivers give them

    std::string Words() const
    {
        return name + (name == "uet" && credits ? " with credits" : "");
    }
};

const std::vector<Transport> TRANSPORTS = {{"eqds", true}, {"uet", false}, {"uet", true}};

class TransportBed : public TrimmingBed
{
  public:
    explicit TransportBed(const Transport& transport)
        : TrimmingBed(transport.name)
    {
        Config::SetDefault("ns3::UetParameters::ReceiverCredits",
                           BooleanValue(transport.name == "uet" && transport.credits));
        helper.SetSwitchAttribute("TrimReturn", BooleanValue(false));
        if (transport.name == "uet")
        {
            helper.SetNicAttribute("PathSelector", StringValue("reps"));
            helper.SetSwitchAttribute("LoadBalancer", StringValue("ecmp"));
            helper.SetSwitchAttribute("EcnKmin", UintegerValue(37500));
            helper.SetSwitchAttribute("EcnKmax", UintegerValue(112500));
            helper.SetSwitchAttribute("EcnPmax", DoubleValue(1));
        }
    }

    ~TransportBed()
    {
        Config::SetDefault("ns3::UetParameters::ReceiverCredits", BooleanValue(false));
    }
};

} // namespace

class RdmaTrimmingTestCase : public TrimmingTestCase
{
  public:
    using TrimmingTestCase::TrimmingTestCase;

  protected:
    /// What CheckArrived does, and what counters say.
    void Check(TransportBed& bed, const std::string& what, bool lossless = true)
    {
        const uint64_t packets = CheckArrived(bed, what);
        const RdmaNicCounters nics = bed.Totals();
        const RdmaTrimCounters trims = bed.fabric->GetTrimTotals();
        NS_TEST_EXPECT_MSG_EQ(trims.returned, 0, what << ": nothing comes back");
        if (lossless && bed.Drops() == 0 && nics.timeouts == 0)
        {
            // Each packet sent came whole or as a header; whoever came as a header went again.
            NS_TEST_EXPECT_MSG_EQ(nics.retransmittedPackets, trims.trimmed, what);
            NS_TEST_EXPECT_MSG_EQ(trims.trimmed, nics.trimmedReceived, what);
            NS_TEST_EXPECT_MSG_EQ(nics.duplicatesReceived, 0, what);
            NS_TEST_EXPECT_MSG_EQ(nics.acksSent, packets, what << ": an ACK a packet");
            NS_TEST_EXPECT_MSG_EQ(nics.naksSent, nics.trimmedReceived, what);
        }
    }
};

/// One flow on an idle network is as fast as its line.
class RdmaTrimmingSingleTestCase : public RdmaTrimmingTestCase
{
  public:
    RdmaTrimmingSingleTestCase()
        : RdmaTrimmingTestCase("one flow takes the time of its bytes on the line")
    {
    }

  private:
    void DoRun() override
    {
        for (const Transport& transport : TRANSPORTS)
        {
            for (const uint64_t bytes : {1ULL, 4096ULL, 4097ULL, 65537ULL, 1000003ULL, 10000019ULL})
            {
                for (const int64_t delay : {100 * NS, 1 * US, 7 * US})
                {
                    TransportBed bed(transport);
                    bed.Star(2, 100 * GBPS, delay);
                    bed.Build();
                    bed.Send(0, 1, bytes);
                    Simulator::Run();
                    const std::string what = transport.Words() + ", " + std::to_string(bytes) +
                                             " B, " + std::to_string(delay) + " ps";
                    Check(bed, what);
                    // As in rdma-ndp-test-suite.cc: 80 ps a byte, the switch 500 ns.
                    int64_t leftHost = 0;
                    int64_t leftSwitch = 0;
                    for (const uint32_t wire : Wires(bytes, 4096))
                    {
                        leftHost += wire * 80;
                        leftSwitch = std::max(leftSwitch, leftHost + delay + 500 * NS) + wire * 80;
                    }
                    const int64_t least = leftSwitch + delay;
                    NS_TEST_EXPECT_MSG_GT_OR_EQ(bed.LastArrival(), least, what);
                    // A pull of four packets comes up to four packets' times later.
                    const int64_t more =
                        transport.name == "uet" && transport.credits ? 8 * FULL_WIRE * 80 : 0;
                    NS_TEST_EXPECT_MSG_LT_OR_EQ(bed.LastArrival(),
                                                least + more,
                                                what << ": " << bed.Totals().pullsSent << " pulls, "
                                                     << bed.Totals().requestsToSend << " requests, "
                                                     << bed.Totals().timeouts << " time-outs, "
                                                     << bed.Totals().retransmittedPackets
                                                     << " again");
                }
            }
        }
    }
};

/// Incasts: all arrives, in little more than the receiver's line needs.
class RdmaTrimmingIncastTestCase : public RdmaTrimmingTestCase
{
  public:
    RdmaTrimmingIncastTestCase(const Transport& transport, uint32_t senders, uint64_t bytes)
        : RdmaTrimmingTestCase(transport.Words() + ": incast of " + std::to_string(senders) +
                               " x " + std::to_string(bytes) + " B"),
          m_recovery(transport),
          m_senders(senders),
          m_bytes(bytes)
    {
    }

  private:
    void DoRun() override
    {
        TransportBed bed(m_recovery);
        bed.Star(m_senders + 1, 100 * GBPS);
        bed.Build();
        uint64_t wire = 0;
        for (uint32_t s = 0; s < m_senders; ++s)
        {
            const uint64_t bytes = m_bytes + 13 * s;
            bed.Send(1 + s, 0, bytes);
            for (const uint32_t packet : Wires(bytes, 4096))
            {
                wire += packet;
            }
        }
        Simulator::Run();
        Check(bed, GetName());
        const int64_t least = static_cast<int64_t>(wire) * 80 + 2500 * NS;
        NS_TEST_EXPECT_MSG_GT_OR_EQ(bed.LastArrival(), least, GetName());
        // Headers of what was trimmed are on the same line; besides, a time-out (headers without
        // room) and what the last packets wait for: 20%.
        const int64_t headers = static_cast<int64_t>(bed.fabric->GetTrimTotals().trimmed) * 98 * 80;
        NS_TEST_EXPECT_MSG_LT_OR_EQ(bed.LastArrival(),
                                    least * 12 / 10 + headers + 2500 * US,
                                    GetName()
                                        << ": " << bed.fabric->GetTrimTotals().trimmed
                                        << " trimmed, " << bed.Totals().timeouts << " time-outs");
    }

    Transport m_recovery;
    uint32_t m_senders;
    uint64_t m_bytes;
};

/// Many connections over many paths; messages posted at any time, also while others are under way.
class RdmaTrimmingPostsTestCase : public RdmaTrimmingTestCase
{
  public:
    RdmaTrimmingPostsTestCase()
        : RdmaTrimmingTestCase("messages posted at any time arrive in order")
    {
    }

  private:
    void DoRun() override
    {
        for (const Transport& transport : TRANSPORTS)
        {
            for (const uint32_t seed : {1U, 2U, 3U, 4U, 5U})
            {
                RngSeedManager::SetRun(seed);
                std::mt19937 random(seed);
                TransportBed bed(transport);
                bed.helper.SetNicAttribute("InitialPsn", UintegerValue(0xffff80));
                bed.LeafSpine(3, 3);
                bed.Build();
                std::map<RdmaQueuePair*, uint64_t> bytes;
                std::map<RdmaQueuePair*, uint64_t> next;
                uint32_t posts = 0;
                for (uint32_t h = 0; h < 9; ++h)
                {
                    for (const uint32_t to : {(h + 4) % 9, (h + 7) % 9})
                    {
                        const auto [sender, receiver] = bed.Connect(h, to);
                        for (uint32_t m = 0; m < 12; ++m, ++posts)
                        {
                            const uint64_t size = 1 + random() % (m % 3 ? 9001 : 300007);
                            bytes[receiver] += size;
                            RdmaQueuePair* qp = sender;
                            Simulator::ScheduleWithContext(
                                h,
                                NanoSeconds(random() % 400000),
                                [qp, size, m] {
                                    if (m % 2)
                                    {
                                        qp->PostWrite(size, m);
                                        return;
                                    }
                                    qp->PostWriteWithImmediate(size, m, 77);
                                });
                        }
                    }
                }
                Simulator::Run();
                const std::string what = transport.Words() + ", seed " + std::to_string(seed);
                NS_TEST_EXPECT_MSG_EQ(bed.notes.messages.size(), posts, what);
                for (const Notes::Message& message : bed.notes.messages)
                {
                    NS_TEST_EXPECT_MSG_EQ(message.message.sequence, next[message.qp]++, what);
                    NS_TEST_EXPECT_MSG_EQ(message.message.immediate,
                                          (message.message.hasImmediate ? 77 : 0),
                                          what << ": nothing but what was posted");
                }
                for (const auto& [receiver, expected] : bytes)
                {
                    NS_TEST_EXPECT_MSG_EQ(receiver->GetBytesReceived(), expected, what);
                }
                NS_TEST_EXPECT_MSG_EQ(bed.Totals().outOfOrderDropped, 0, "any order is taken");
                NS_TEST_EXPECT_MSG_EQ(bed.Totals().failedQps, 0, what);
                NS_TEST_EXPECT_MSG_EQ(RdmaFramePool::GetLive(), 0, what << ": frames left");
            }
        }
        RngSeedManager::SetRun(1);
    }
};

/// Whatever is lost, each message arrives once and whole.
class RdmaTrimmingLossTestCase : public RdmaTrimmingTestCase
{
  public:
    RdmaTrimmingLossTestCase()
        : RdmaTrimmingTestCase("lost data, headers, answers, pulls and requests are made good")
    {
    }

  private:
    void DoRun() override
    {
        std::map<std::string, Loses> kinds = KindsToLose();
        kinds.emplace("requests to send", LosesOf(RdmaOpcode::REQUEST_TO_SEND));
        for (const Transport& transport : TRANSPORTS)
        {
            for (const auto& [kind, loses] : kinds)
            {
                for (const uint32_t share : {2U, 7U, 50U}) // one of so many
                {
                    TransportBed bed(transport);
                    RunWithLosses(bed, loses, share);
                    Check(bed,
                          transport.Words() + ": " + kind + ", one of " + std::to_string(share),
                          false);
                }
            }
            for (const double rate : {1e-7, 1e-6})
            {
                TransportBed bed(transport);
                bed.Star(6, 100 * GBPS, US, rate);
                bed.Build();
                for (uint32_t s = 1; s < 6; ++s)
                {
                    bed.Send(s, 0, 2000003);
                }
                Simulator::Run();
                NS_TEST_EXPECT_MSG_GT(bed.fabric->GetPortTotals().corrupted, 0, rate);
                Check(bed, transport.Words() + ": bit errors", false);
            }
        }
    }
};

/// Nobody answers: the queue pair fails as late as with other recoveries.
class RdmaTrimmingFailTestCase : public RdmaTrimmingTestCase
{
  public:
    RdmaTrimmingFailTestCase()
        : RdmaTrimmingTestCase("a silent receiver: the queue pair fails with its error")
    {
    }

  private:
    void DoRun() override
    {
        for (const Transport& transport : TRANSPORTS)
        {
            TransportBed bed(transport);
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
            NS_TEST_ASSERT_MSG_EQ(bed.notes.completions.size(), 1, transport.Words() << ": told");
            NS_TEST_EXPECT_MSG_EQ((bed.notes.completions[0].status == RdmaStatus::RETRY_EXCEEDED),
                                  true,
                                  "why");
            // Not before three time-outs of 1048.576 us; found out by a time-out of its own, of
            // 1, 2 and 4 ms at most (it asks ever more seldom).
            NS_TEST_EXPECT_MSG_GT_OR_EQ(bed.notes.completions[0].at, 3145728000, "when");
            NS_TEST_EXPECT_MSG_LT_OR_EQ(bed.notes.completions[0].at, 8000 * US, "when");
        }
    }
};

/// What cannot work is refused, with what is allowed.
class RdmaTrimmingRefusalTestCase : public RdmaTrimmingTestCase
{
  public:
    RdmaTrimmingRefusalTestCase()
        : RdmaTrimmingTestCase("what cannot work is refused; SENDs wait for receive requests")
    {
    }

  private:
    void DoRun() override
    {
        for (const std::string name : {"ndp", "eqds", "uet"})
        {
            TrimmingBed bed(name);
            bed.helper.SetSwitchAttribute("TrimPackets", UintegerValue(0));
            bed.Star(2, 100 * GBPS);
            std::string error;
            bed.fabric = bed.helper.Build(bed.nodes, bed.links, error);
            NS_TEST_EXPECT_MSG_EQ((error.find("TrimPackets: 0") != std::string::npos &&
                                   error.find("'" + name + "'") != std::string::npos),
                                  true,
                                  error);
        }
        for (const std::string name : {"ndp", "eqds"})
        {
            TrimmingBed bed(name);
            bed.helper.SetNicAttribute("PathSelector", StringValue("reps"));
            bed.Star(2, 100 * GBPS);
            std::string error;
            bed.fabric = bed.helper.Build(bed.nodes, bed.links, error);
            NS_TEST_EXPECT_MSG_EQ((error.find("have no room for") != std::string::npos),
                                  true,
                                  error);
        }
        for (const Transport& transport : TRANSPORTS)
        {
            TransportBed bed(transport);
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
            NS_TEST_EXPECT_MSG_EQ(a->GetTransport().GetName(), transport.name, "agreed");
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
            NS_TEST_EXPECT_MSG_EQ(bed.notes.messages.size(), 9, transport.Words() << ": all");
            NS_TEST_EXPECT_MSG_EQ(b->GetBytesReceived(), 9 * 50021, "once");
            NS_TEST_EXPECT_MSG_GT(bed.Of(1).rnrNaksSent, 0, "some had to wait");
            NS_TEST_EXPECT_MSG_EQ(bed.Totals().failedQps, 0, "none fails");
        }
    }
};

/// TrimPackets is of a port of TrimRate; others in proportion.
class RdmaTrimRateTestCase : public RdmaTrimmingTestCase
{
  public:
    RdmaTrimRateTestCase()
        : RdmaTrimmingTestCase("queues scale with the rate of their port")
    {
    }

  private:
    void DoRun() override
    {
        // Two senders of 100 Gb/s to a receiver of 25, 50 or 200: 8 packets at 100 Gb/s.
        for (const uint64_t rate : {25ULL, 50ULL})
        {
            TransportBed bed({"eqds", true});
            bed.helper.SetSwitchAttribute("TrimRate", StringValue("100Gbps"));
            const auto [a, b, c] = bed.HostsNamed("a", "b", "c");
            const uint32_t s = bed.Switch("s");
            bed.Link(a, s, 100 * GBPS);
            bed.Link(b, s, 100 * GBPS);
            bed.Link(c, s, rate * GBPS);
            bed.Build();
            uint64_t most = 0;
            Watch<const RdmaPort*, uint8_t, uint64_t, int64_t>(
                bed.Device()->GetPort(2),
                "Queue",
                [&](const RdmaPort*, uint8_t priority, uint64_t bytes, int64_t) {
                    most = priority == 3 ? std::max(most, bytes) : most;
                });
            bed.Send(0, 2, 3000017);
            bed.Send(1, 2, 3000017);
            Simulator::Run();
            const uint64_t packets = 8 * rate / 100;
            NS_TEST_EXPECT_MSG_GT(most, (packets - 1) * FULL_FRAME, rate);
            NS_TEST_EXPECT_MSG_LT_OR_EQ(most, packets * (FULL_FRAME + 20), rate);
        }
    }
};

class RdmaTrimmingTestSuite : public TestSuite
{
  public:
    RdmaTrimmingTestSuite()
        : TestSuite("rdma-trimming", UNIT)
    {
        AddTestCase(new RdmaTrimmingSingleTestCase, TestCase::QUICK);
        for (const Transport& transport : TRANSPORTS)
        {
            for (const uint32_t senders : {3U, 7U, 16U, 41U, 100U})
            {
                for (const uint64_t bytes : {5003ULL, 135001ULL, 450007ULL})
                {
                    AddTestCase(new RdmaTrimmingIncastTestCase(transport, senders, bytes),
                                TestCase::QUICK);
                }
            }
        }
        AddTestCase(new RdmaTrimmingPostsTestCase, TestCase::QUICK);
        AddTestCase(new RdmaTrimmingLossTestCase, TestCase::QUICK);
        AddTestCase(new RdmaTrimmingFailTestCase, TestCase::QUICK);
        AddTestCase(new RdmaTrimmingRefusalTestCase, TestCase::QUICK);
        AddTestCase(new RdmaTrimRateTestCase, TestCase::QUICK);
    }
};

static RdmaTrimmingTestSuite g_rdmaTrimmingTestSuite;
