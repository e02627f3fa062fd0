/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Ethernet's link layer: link-level retry and credits, against closed forms.
 *
 * Two hosts and a switch, 100 Gb/s, links of d, pipeline P = 500 ns. A full packet of 4,096 B takes
 * S = 4,178 B / 100 Gb/s = 334.24 ns, an ordered set of 8 B 640 ps.
 */
#include "rdma-test-fabric.h"

#include <cmath>

using namespace ns3;
using namespace ns3::rdmatest;

namespace
{

constexpr int64_t FULL_TIME = FULL_WIRE * 80; //!< S, ps
constexpr int64_t WORD_TIME = 640;            //!< ps
constexpr int64_t PIPELINE = 500 * NS;

/// A star with attributes of all ports.
struct LinkBed : Bed
{
    LinkBed(uint32_t hosts, int64_t delayPs, bool retry, bool credits)
        : Bed(hosts, 100 * GBPS, delayPs)
    {
        // One ACK at the end: each is acknowledged by its link, 640 ps of the other direction.
        helper.SetNicAttribute("AckEvery", UintegerValue(1 << 20));
        helper.SetPortAttribute("LinkRetry", BooleanValue(retry));
        helper.SetPortAttribute("FlowControl", EnumValue(credits ? RdmaPort::CBFC : RdmaPort::PFC));
    }

    /// A message of so many full packets from h0 to h1. \return when its last bit is there, ps
    int64_t Run(uint64_t packets)
    {
        int64_t arrived = -1;
        WatchFrames(fabric->GetPorts()[2],
                    "PhyRx",
                    [&](const RdmaPort*, const RdmaFrame* frame, int64_t now) {
                        arrived = IsData(frame->opcode) ? now : arrived;
                    });
        Connect(0, 1).first->PostWrite(packets * 4096, 1);
        Simulator::Run();
        return arrived;
    }

    /// \return whether every credit that was taken has been told to be free again
    bool AreCreditsBack() const
    {
        bool back = true;
        for (const auto& port : fabric->GetPorts())
        {
            for (uint8_t p = 0; port->GetCells() && p < RdmaPort::PRIORITIES; ++p)
            {
                back = back && port->GetCells()->GetInUse(p) == 0;
            }
        }
        return back;
    }
};

} // namespace

/**
 * One frame with bit errors. Frame k starts at k S, is judged at (k + 1) S + d, and its NACK is at
 * the sender after 640 ps and d more: (1 + (2 d + 640 ps) / S) S after its start, in the middle of
 * a frame. With d = 900 ns that is 6.387 S; the replay begins at 7 S. All that follows is 7 S late.
 */
class RdmaLinkRetryDelayTestCase : public TestCase
{
  public:
    RdmaLinkRetryDelayTestCase()
        : TestCase("a frame with bit errors makes the others late by the link's round trip")
    {
    }

  private:
    static constexpr int64_t DELAY = 900 * NS;

    int64_t Run(bool error)
    {
        LinkBed bed(2, DELAY, true, false);
        bed.Build();
        const Ptr<RdmaPort> judge = bed.fabric->GetPorts()[1];
        judge->MayFail(100);
        // The 51st frame's last bit: the first one has an RETH of 16 B more.
        const int64_t at = 51 * FULL_TIME + 16 * 80 + DELAY;
        for (const bool on : {true, false})
        {
            const int64_t switched = at + (on ? -100 : 100) * NS;
            Simulator::Schedule(PicoSeconds(static_cast<uint64_t>(switched)), [judge, on, error] {
                judge->SetBitErrorRate(on && error ? 0.5 : 0);
            });
        }
        const int64_t arrived = bed.Run(200);
        const RdmaPortCounters sender = bed.fabric->GetPorts()[0]->GetCounters();
        const RdmaPortCounters receiver = judge->GetCounters();
        NS_TEST_EXPECT_MSG_EQ(sender.linkReplays, error, "replays");
        NS_TEST_EXPECT_MSG_EQ(sender.framesReplayed, error ? 7 : 0, "that one and six more");
        NS_TEST_EXPECT_MSG_EQ(sender.replayTimeouts, 0, "by the NACK");
        NS_TEST_EXPECT_MSG_EQ(receiver.retryNacksSent, error, "one NACK");
        NS_TEST_EXPECT_MSG_EQ(receiver.retryCorrupted, error, "one bad frame");
        NS_TEST_EXPECT_MSG_EQ(receiver.retryDiscarded, error ? 6 : 0, "behind it");
        NS_TEST_EXPECT_MSG_EQ(bed.Of(0).retransmittedPackets, 0, "no loss for the transport");
        NS_TEST_EXPECT_MSG_EQ(bed.notes.messages.size(), 1, "whole");
        NS_TEST_EXPECT_MSG_EQ(bed.fabric->GetPorts()[0]->GetRetry()->GetOutstanding(),
                              0,
                              "all acknowledged");
        return arrived;
    }

    void DoRun() override
    {
        // 200 frames back to back over the first link, and the last one over the second. The first
        // one has an RETH, for which both links take 16 B more; the gap of the replay hides the
        // second one's.
        constexpr int64_t expected = 201 * FULL_TIME + 16 * 80 + 2 * DELAY + PIPELINE;
        NS_TEST_EXPECT_MSG_EQ(Run(false), expected + 16 * 80, "as without link-level retry");
        NS_TEST_EXPECT_MSG_EQ(Run(true), expected + 7 * FULL_TIME, "to the picosecond");
    }
};

/**
 * Go-back-N: a frame with bit errors, probability p, takes N = 7 frame times (as above) instead of
 * one, again and again until it is good: (1 - p) / (1 - p + p N) of the rate.
 */
class RdmaLinkRetryEfficiencyTestCase : public TestCase
{
  public:
    explicit RdmaLinkRetryEfficiencyTestCase(double p)
        : TestCase("efficiency of go-back-N with " + std::to_string(p) + " of the frames bad"),
          m_p(p)
    {
    }

  private:
    void DoRun() override
    {
        constexpr int64_t delay = 900 * NS;
        constexpr uint64_t frames = 20000;
        LinkBed bed(2, delay, true, false);
        // (1 - rate)^bits = 1 - p
        bed.links[0].bitErrorRate = -std::expm1(std::log1p(-m_p) / (8.0 * FULL_FRAME));
        bed.Build();
        const int64_t took = bed.Run(frames) - 2 * delay - PIPELINE - FULL_TIME;
        const double efficiency =
            static_cast<double>(frames * FULL_TIME) / static_cast<double>(took);
        const double expected = (1 - m_p) / (1 - m_p + m_p * 7);
        NS_TEST_EXPECT_MSG_EQ_TOL(efficiency, expected, 0.02 * expected, "closed form");
        NS_TEST_EXPECT_MSG_EQ(bed.Of(0).retransmittedPackets, 0, "no loss for the transport");
        NS_TEST_EXPECT_MSG_EQ(bed.notes.messages.size(), 1, "whole");
    }

    double m_p;
};

/// A cable that is cut for 3 us, and nobody notices: links send again what was lost.
class RdmaLinkRetryFlapTestCase : public TestCase
{
  public:
    RdmaLinkRetryFlapTestCase()
        : TestCase("a cable that is cut for a moment")
    {
    }

  private:
    void DoRun() override
    {
        LinkBed bed(2, US, true, false);
        bed.Build();
        const Ptr<RdmaPort> ends[] = {bed.fabric->GetPorts()[0], bed.fabric->GetPorts()[1]};
        for (int i = 0; i < 2; ++i)
        {
            const Ptr<RdmaPort> end = ends[i];
            end->MayFail(100 + 2 * i);
            Simulator::Schedule(MicroSeconds(10), [end] { end->Cut(RdmaClock::Now()); });
            Simulator::Schedule(MicroSeconds(13), [end] { end->Mend(RdmaClock::Now()); });
        }
        bed.Run(200);
        const RdmaPortCounters sender = ends[0]->GetCounters();
        NS_TEST_EXPECT_MSG_GT(sender.linkDownSent + ends[1]->GetCounters().linkDownLost, 8, "lost");
        NS_TEST_EXPECT_MSG_GT(sender.framesReplayed, 8, "sent again");
        NS_TEST_EXPECT_MSG_EQ(bed.Of(0).retransmittedPackets, 0, "no loss for the transport");
        NS_TEST_EXPECT_MSG_EQ(bed.notes.messages.size(), 1, "whole");
    }
};

/**
 * A cable that is cut for 30 us, of which the switch hears after 10 us, and its host nothing: what
 * RdmaFaults does to a host's cable. The switch forgets its numbers, so the NIC has to.
 */
class RdmaLinkRetryRepairTestCase : public TestCase
{
  public:
    /// \param link 0: the sender's, 1: the receiver's
    explicit RdmaLinkRetryRepairTestCase(uint32_t link)
        : TestCase("a switch is told that the link of host " + std::to_string(link) + " is down"),
          m_link(link)
    {
    }

  private:
    void DoRun() override
    {
        LinkBed bed(2, US, true, false);
        bed.helper.SetNicAttribute("TimeoutExponent", UintegerValue(5)); // 131 us
        // So that it is full before the cable is whole: it has to be emptied, too.
        bed.helper.SetPortAttribute("ReplayBuffer", UintegerValue(50000));
        bed.Build();
        const Ptr<RdmaPort> host = bed.fabric->GetPorts()[2 * m_link];
        const Ptr<RdmaPort> device = bed.fabric->GetPorts()[2 * m_link + 1];
        host->MayFail(100);
        device->MayFail(102);
        Simulator::Schedule(MicroSeconds(10), [host, device] {
            host->Cut(RdmaClock::Now());
            device->Cut(RdmaClock::Now());
        });
        Simulator::Schedule(MicroSeconds(20),
                            [device] { device->SetLinkUp(false, RdmaClock::Now()); });
        Simulator::Schedule(MicroSeconds(40), [host, device] {
            host->Mend(RdmaClock::Now());
            device->Mend(RdmaClock::Now());
            device->SetLinkUp(true, RdmaClock::Now());
        });
        bed.Run(400);
        NS_TEST_EXPECT_MSG_EQ(bed.notes.messages.size(), 1, "the transport repairs it");
        NS_TEST_EXPECT_MSG_GT(bed.Of(0).retransmittedPackets, 0, "what the link had not delivered");
        for (const Ptr<RdmaPort>& end : {host, device})
        {
            NS_TEST_EXPECT_MSG_EQ(end->GetRetry()->GetOutstanding(), 0, "all acknowledged");
            NS_TEST_EXPECT_MSG_LT(end->GetCounters().replayTimeouts, 10, "none once it is whole");
        }
    }

    uint32_t m_link;
};

/**
 * A link that a fault makes 100 times slower, and whole again. A frame takes 33.4 us at 1 Gb/s; the
 * replay timer of 100 Gb/s is 2 (2 d + 2 x 4,178 B + 2,048 B) = 5.7 us.
 */
class RdmaLinkRetrySlowTestCase : public TestCase
{
  public:
    RdmaLinkRetrySlowTestCase()
        : TestCase("the replay timer is that of the rate as it is now")
    {
    }

  private:
    void DoRun() override
    {
        LinkBed bed(2, US, true, false);
        bed.Build();
        const Ptr<RdmaPort> ends[] = {bed.fabric->GetPorts()[0], bed.fabric->GetPorts()[1]};
        const RdmaLinkRetry::Config whole = ends[0]->GetRetry()->GetConfig();
        for (const Ptr<RdmaPort>& end : ends)
        {
            Simulator::Schedule(MicroSeconds(10), [end] { end->SetRate(GBPS); });
            Simulator::Schedule(MicroSeconds(1000), [this, end, whole] {
                NS_TEST_EXPECT_MSG_EQ(end->GetRetry()->GetConfig().spacingPs,
                                      100 * whole.spacingPs,
                                      "ACKs are as many bytes apart");
                end->SetRate(100 * GBPS);
            });
        }
        bed.Run(100);
        for (const Ptr<RdmaPort>& end : ends)
        {
            NS_TEST_EXPECT_MSG_EQ(end->GetCounters().linkReplays, 0, "nothing is lost");
            NS_TEST_EXPECT_MSG_EQ(end->GetRetry()->GetConfig().timerPs, whole.timerPs, "as before");
        }
        NS_TEST_EXPECT_MSG_EQ(bed.notes.messages.size(), 1, "whole");
    }
};

/// A link that nothing gets through gives up.
class RdmaLinkRetryLimitTestCase : public TestCase
{
  public:
    RdmaLinkRetryLimitTestCase()
        : TestCase("replays in vain have an end")
    {
    }

  private:
    void DoRun() override
    {
        LinkBed bed(2, US, true, false);
        bed.helper.SetPortAttribute("ReplayLimit", UintegerValue(3));
        bed.helper.SetNicAttribute("TimeoutExponent", UintegerValue(4));
        bed.Build();
        bed.fabric->GetPorts()[1]->MayFail(100);
        bed.fabric->GetPorts()[1]->SetBitErrorRate(0.5);
        bed.Run(200);
        NS_TEST_EXPECT_MSG_EQ(bed.fabric->GetPorts()[0]->GetCounters().linkReplays, 3, "replays");
        NS_TEST_EXPECT_MSG_EQ(bed.notes.messages.size(), 0, "nothing has come");
    }
};

/**
 * Credits of two frames, C = 2 x 17 cells. A frame's credits are at the sender again after
 * T = S + d + P + 640 ps + d: the frame, the way, the pipeline (it leaves at once), the update, the
 * way back. Two frames a T: the line rests from the end of the second one, 2 S, to T, and that long
 * the priority counts as paused.
 */
class RdmaCellCreditsRateTestCase : public TestCase
{
  public:
    RdmaCellCreditsRateTestCase()
        : TestCase("throughput is the credits over the round trip, or the rate")
    {
    }

  private:
    /// \param bytes 0: what the whole rate needs
    int64_t Run(uint64_t bytes, bool credits)
    {
        LinkBed bed(2, US, false, credits);
        bed.helper.SetPortAttribute("CreditBuffer", UintegerValue(bytes));
        bed.helper.SetPortAttribute("CreditUpdateSpacing", UintegerValue(bytes ? 8 : 6400));
        bed.Build();
        const int64_t arrived = bed.Run(1000);
        NS_TEST_EXPECT_MSG_EQ(bed.fabric->GetPortTotals().pausesSent, 0, "no PFC frame");
        NS_TEST_EXPECT_MSG_EQ(bed.notes.messages.size(), 1, "whole");
        NS_TEST_EXPECT_MSG_EQ(bed.AreCreditsBack(), true, "conservation");
        m_paused = bed.fabric->GetPorts()[0]->GetPausedPs(RdmaClock::Now());
        return arrived;
    }

    void DoRun() override
    {
        const int64_t roundTrip = FULL_TIME + 2 * US + PIPELINE + WORD_TIME;
        // 500 pairs; the first frame has an RETH, on both links, the last one goes over both.
        const int64_t expected = 499 * roundTrip + 2 * 16 * 80 + 3 * FULL_TIME + 2 * US + PIPELINE;
        NS_TEST_EXPECT_MSG_EQ_TOL(static_cast<double>(Run(2 * 17 * 256, true)),
                                  static_cast<double>(expected),
                                  1e-5 * static_cast<double>(expected),
                                  "C / T");
        const double rest = 500.0 * static_cast<double>(roundTrip - 2 * FULL_TIME);
        NS_TEST_EXPECT_MSG_EQ_TOL(static_cast<double>(m_paused), rest, 1e-3 * rest, "rest");
        NS_TEST_EXPECT_MSG_EQ(Run(0, true), Run(0, false), "the whole rate");
    }

    uint64_t m_paused{0}; //!< of the sender, ps
};

/// Four senders, one receiver: nothing is lost, and nobody is paused; with bit errors neither.
class RdmaCellCreditsIncastTestCase : public TestCase
{
  public:
    explicit RdmaCellCreditsIncastTestCase(double ber)
        : TestCase("incast with credits" + std::string(ber > 0 ? ", and bit errors" : "")),
          m_ber(ber)
    {
    }

  private:
    void DoRun() override
    {
        LinkBed bed(5, US, m_ber > 0, true);
        for (RdmaLinkSpec& link : bed.links)
        {
            link.bitErrorRate = m_ber;
        }
        bed.helper.SetSwitchAttribute("Ecn", BooleanValue(false));
        bed.Build();
        for (uint32_t host = 1; host < 5; ++host)
        {
            bed.Connect(host, 0).first->PostWrite(1000000, host);
        }
        Simulator::Run();
        const RdmaPortCounters ports = bed.fabric->GetPortTotals();
        NS_TEST_EXPECT_MSG_EQ(bed.Drops(), 0, "no drop");
        NS_TEST_EXPECT_MSG_EQ(ports.pausesSent, 0, "no PFC frame");
        NS_TEST_EXPECT_MSG_GT(ports.creditStalls, 100, "credits hold the senders back");
        NS_TEST_EXPECT_MSG_EQ(bed.notes.messages.size(), 4, "whole");
        NS_TEST_EXPECT_MSG_EQ(bed.AreCreditsBack(), true, "conservation");
        NS_TEST_EXPECT_MSG_EQ((ports.retryCorrupted > 0), (m_ber > 0), "bad frames");
        for (uint32_t host = 0; host < 5; ++host)
        {
            NS_TEST_EXPECT_MSG_EQ(bed.Of(host).retransmittedPackets, 0, "no loss");
        }
        // No ingress holds more than its credits.
        const uint64_t credits = bed.fabric->GetPorts()[1]->GetCreditBytes();
        NS_TEST_EXPECT_MSG_LT(bed.Device()->GetBuffer().StoredPeak(), 4 * credits + 1, "bound");
    }

    double m_ber;
};

class RdmaLinkLayerTestSuite : public TestSuite
{
  public:
    RdmaLinkLayerTestSuite()
        : TestSuite("rdma-link-layer", UNIT)
    {
        AddTestCase(new RdmaLinkRetryDelayTestCase, TestCase::QUICK);
        for (const double p : {0.001, 0.003, 0.01, 0.03, 0.1, 0.2})
        {
            AddTestCase(new RdmaLinkRetryEfficiencyTestCase(p), TestCase::QUICK);
        }
        AddTestCase(new RdmaLinkRetryFlapTestCase, TestCase::QUICK);
        AddTestCase(new RdmaLinkRetryRepairTestCase(0), TestCase::QUICK);
        AddTestCase(new RdmaLinkRetryRepairTestCase(1), TestCase::QUICK);
        AddTestCase(new RdmaLinkRetrySlowTestCase, TestCase::QUICK);
        AddTestCase(new RdmaLinkRetryLimitTestCase, TestCase::QUICK);
        AddTestCase(new RdmaCellCreditsRateTestCase, TestCase::QUICK);
        AddTestCase(new RdmaCellCreditsIncastTestCase(0), TestCase::QUICK);
        AddTestCase(new RdmaCellCreditsIncastTestCase(1e-6), TestCase::QUICK);
    }
};

static RdmaLinkLayerTestSuite g_rdmaLinkLayerTestSuite;
