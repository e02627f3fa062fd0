/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Where the time of messages goes: the parts add up to the whole, to the picosecond, and each cause
 * that is built in on purpose is the one that is named.
 */
#include "rdma-test-fabric.h"

#include "ns3/rdma-journey.h"

#include <numeric>

using namespace ns3;
using namespace ns3::rdmatest;

namespace
{

/// A journey as told, with the time it ended.
struct Told
{
    RdmaJourney journey;
    uint64_t bytes;
    uint32_t from;
    int64_t at;
};

/// `hosts` hosts on one switch at 100 Gb/s, 1 us, whose journeys are noted.
struct Journeys : Bed
{
    explicit Journeys(uint32_t hosts, const std::function<void(RdmaFabricHelper&)>& set = {})
    {
        Star(hosts, 100 * GBPS);
        if (set)
        {
            set(helper);
        }
        Build();
        for (uint32_t i = 0; i < hosts; ++i)
        {
            fabric->GetNic(i)->NoteJourneys();
            Watch<RdmaQueuePair*, const RdmaMessage&, const RdmaJourney&, int64_t>(
                fabric->GetNic(i),
                "Journey",
                [this](RdmaQueuePair* qp, const RdmaMessage& m, const RdmaJourney& j, int64_t now) {
                    told.push_back({j, m.bytes, qp->GetPeerEndpoint(), now});
                });
        }
    }

    /// What is left of the last packet's time in the network: serialization on two links, if
    /// all else is right.
    static int64_t Lines(const Told& t)
    {
        int64_t left = t.at - t.journey.started - 2 * US - 500 * NS;
        for (const auto& hop : t.journey.hops)
        {
            left -= hop.queued + hop.paused;
        }
        return left;
    }

    static int64_t Sender(const RdmaJourney& j)
    {
        return j.backlog + j.ownPackets + j.nicPaused + j.throttled + j.window + j.others +
               j.repeating;
    }

    std::vector<Told> told;
};

} // namespace

class RdmaJourneyTestCase : public TestCase
{
  public:
    RdmaJourneyTestCase()
        : TestCase("each cause is named and the parts add up")
    {
    }

  private:
    void Check(const Journeys& bed, size_t messages, const std::string& what)
    {
        NS_TEST_ASSERT_MSG_EQ(bed.told.size(), messages, what << ": all are told");
        for (const Told& t : bed.told)
        {
            NS_TEST_EXPECT_MSG_EQ(Journeys::Sender(t.journey),
                                  t.journey.started - t.journey.posted,
                                  what << ": the sender's parts add up");
            NS_TEST_EXPECT_MSG_EQ(t.journey.hops.size(), 1, what << ": one switch");
            NS_TEST_EXPECT_MSG_EQ(Journeys::Lines(t),
                                  2 * 80 * static_cast<int64_t>(t.journey.wireBytes),
                                  what << ": the network's parts add up");
        }
    }

    void DoRun() override
    {
        // 100,000 B: 24 packets of 4,096 B and one of 1,696 B; the line time of those before the
        // last: 24 x 4,178 + 16 (RETH) B, 80 ps each.
        const uint64_t bytes = 100000;
        const int64_t others = (24 * 4178 + 16) * 80;
        const int64_t last = (1696 + 82) * 80;
        {
            Journeys bed(2);
            auto* qp = bed.Connect(0, 1).first;
            qp->PostWrite(bytes, 1);
            qp->PostWrite(bytes, 2);
            Simulator::Run();
            Check(bed, 2, "two messages of a queue pair");
            NS_TEST_EXPECT_MSG_EQ(bed.told[0].journey.ownPackets, others, "first: its packets");
            NS_TEST_EXPECT_MSG_EQ(bed.told[0].journey.backlog, 0, "first: no backlog");
            // The first one's first packet, 4,194 B, was on the line when the second was posted: it
            // is no backlog of the queue pair any more.
            NS_TEST_EXPECT_MSG_EQ(bed.told[1].journey.backlog,
                                  others + last - 335520,
                                  "second: the first");
            NS_TEST_EXPECT_MSG_EQ(bed.told[1].journey.others, 335520, "and its first packet");
        }
        {
            // READs note nothing. Behind three WRITEs that are gone, one is under way when a WRITE
            // is posted, whose times are its own.
            Journeys bed(2);
            auto* qp = bed.Connect(0, 1).first;
            for (uint64_t id = 1; id <= 3; ++id)
            {
                qp->PostWrite(bytes, id);
            }
            Simulator::Schedule(MilliSeconds(1), [&] {
                qp->PostRead(bytes, 4);
                qp->PostWrite(bytes, 5);
            });
            Simulator::Run();
            Check(bed, 4, "a READ between WRITEs");
            NS_TEST_EXPECT_MSG_EQ(bed.told[3].journey.ownPackets, others, "the last: its packets");
            NS_TEST_EXPECT_MSG_EQ(bed.told[3].journey.repeating, 0, "and nothing again");
        }
        {
            Journeys bed(3);
            auto* a = bed.Connect(0, 1).first;
            auto* b = bed.Connect(0, 2).first;
            a->PostWrite(bytes, 1);
            b->PostWrite(bytes, 2);
            Simulator::Run();
            Check(bed, 2, "two queue pairs of a NIC");
            // They take turns: while one sends its 24, the other does.
            for (const Told& t : bed.told)
            {
                NS_TEST_EXPECT_MSG_GT(t.journey.others, others - 2 * 335520, "the other's turns");
                NS_TEST_EXPECT_MSG_EQ(t.journey.throttled + t.journey.backlog, 0, "that is all");
            }
        }
        {
            Journeys bed(2, [](RdmaFabricHelper& helper) {
                Ptr<RdmaNoneCongestionOps> ops = CreateObject<RdmaNoneCongestionOps>();
                ops->SetAttribute("Rate", UintegerValue(10 * GBPS));
                helper.SetCongestionOps(ops);
            });
            bed.Connect(0, 1).first->PostWrite(bytes, 1);
            Simulator::Run();
            Check(bed, 1, "a tenth of the rate");
            // Each packet before the last makes the next one wait nine times its own length.
            NS_TEST_EXPECT_MSG_EQ(bed.told[0].journey.throttled, 9 * others, "throttled");
        }
        {
            Journeys bed(2, [](RdmaFabricHelper& helper) {
                helper.SetNicAttribute("Window", UintegerValue(4096));
            });
            bed.Connect(0, 1).first->PostWrite(bytes, 1);
            Simulator::Run();
            Check(bed, 1, "a window of a packet");
            // Between a packet's end and its ACK: its second link, the ACK's two, and 5 us.
            const int64_t wait = 334240 + 2 * 6880 + 5 * US;
            NS_TEST_EXPECT_MSG_EQ(bed.told[0].journey.window, 24 * wait + 16 * 80, "window closed");
        }
        {
            // Two senders to one, no PFC pause: the buffer is large.
            Journeys bed(3, [](RdmaFabricHelper& helper) {
                helper.SetSwitchAttribute("BufferPer100G", UintegerValue(100000000));
                helper.SetCongestionOps(CreateObject<RdmaNoneCongestionOps>());
            });
            bed.Connect(0, 2).first->PostWrite(bytes, 1);
            bed.Connect(1, 2).first->PostWrite(bytes, 2);
            Simulator::Run();
            Check(bed, 2, "incast");
            const Told& late = bed.told[1];
            // The last packet of the later one waits for what the other had put before it: nearly
            // as long as one message is.
            NS_TEST_EXPECT_MSG_GT(late.journey.hops[0].queued, others - 3 * 335520, "queued");
            NS_TEST_EXPECT_MSG_EQ(late.journey.hops[0].paused, 0, "not paused");
            NS_TEST_EXPECT_MSG_EQ(late.journey.hops[0].behind.known, true, "behind somebody");
            NS_TEST_EXPECT_MSG_EQ(late.journey.hops[0].behind.label,
                                  late.journey.hops[0].behind.src + 1,
                                  "what it was posted with");
            NS_TEST_EXPECT_MSG_EQ(
                (late.journey.hops[0].egress == PeekPointer(bed.fabric->GetPorts()[5])),
                true,
                "at the port of host 2");
        }
        {
            // The same with small buffers: PFC pauses the NICs, and what was lost in the switch's
            // queue before is lost in the sender now.
            Journeys bed(3, [](RdmaFabricHelper& helper) {
                helper.SetSwitchAttribute("BufferPer100G", UintegerValue(100000));
                helper.SetSwitchAttribute("Ecn", BooleanValue(false));
                helper.SetCongestionOps(CreateObject<RdmaNoneCongestionOps>());
            });
            bed.Connect(0, 2).first->PostWrite(10 * bytes, 1);
            bed.Connect(1, 2).first->PostWrite(10 * bytes, 2);
            Simulator::Run();
            Check(bed, 2, "incast, small buffer");
            for (const Told& t : bed.told)
            {
                NS_TEST_EXPECT_MSG_GT(t.journey.nicPaused,
                                      (t.at - t.journey.posted) / 3,
                                      "paused: half of the time, less what the buffer holds");
                NS_TEST_EXPECT_MSG_EQ(t.journey.throttled, 0, "nothing else holds it up");
            }
        }
        for (const std::string recovery : {"go-back-n", "selective-repeat"})
        {
            RngSeedManager::SetRun(1);
            Bed lossy;
            lossy.Star(2, 100 * GBPS, US, 3e-7);
            lossy.helper.SetNicAttribute("LossRecovery", StringValue(recovery));
            lossy.helper.SetNicAttribute("TimeoutExponent", UintegerValue(4));
            lossy.Build();
            uint32_t repeated = 0;
            uint32_t late = 0;
            uint32_t told = 0;
            for (uint32_t i = 0; i < 2; ++i)
            {
                lossy.fabric->GetNic(i)->NoteJourneys();
                Watch<RdmaQueuePair*, const RdmaMessage&, const RdmaJourney&, int64_t>(
                    lossy.fabric->GetNic(i),
                    "Journey",
                    [&](RdmaQueuePair*, const RdmaMessage&, const RdmaJourney& j, int64_t) {
                        ++told;
                        repeated += j.repeating > 0 || j.lateByLoss > 0;
                        late += j.lateByLoss > 0 || j.overtook > 0;
                        NS_TEST_EXPECT_MSG_EQ(Journeys::Sender(j), j.started - j.posted, recovery);
                    });
            }
            auto* qp = lossy.Connect(0, 1).first;
            for (uint64_t i = 0; i < 100; ++i)
            {
                qp->PostWrite(bytes, i);
            }
            Simulator::Run();
            NS_TEST_EXPECT_MSG_EQ(lossy.notes.messages.size(), 100, recovery << ": all arrive");
            NS_TEST_EXPECT_MSG_EQ(told, 100, recovery << ": all are told");
            // Go-back-N takes packets in order only: the last one completes its message.
            NS_TEST_EXPECT_MSG_EQ((late > 0),
                                  (recovery == "selective-repeat"),
                                  recovery << ": last packets that others come behind");
            NS_TEST_EXPECT_MSG_GT(repeated, 5, recovery << ": what repeating costs is told");
            lossy.Destroy();
            NS_TEST_EXPECT_MSG_EQ(RdmaFramePool::Get().GetLive(), 0, "no frame left over");
        }
    }
};

/// What goes again is "repeating" whatever recovers, and not the time of earlier messages: of 200
/// full packets, 4,178 B x 80 ps each and 16 B in the first, one is lost.
class RdmaRepeatingJourneyTestCase : public TestCase
{
  public:
    explicit RdmaRepeatingJourneyTestCase(const std::string& recovery)
        : TestCase("what goes again is told as that: " + recovery),
          m_recovery(recovery),
          m_trims(recovery == "ndp" || recovery == "eqds" || recovery == "uet")
    {
    }

  private:
    static constexpr int64_t SLOT = 4178 * 80;
    static constexpr uint32_t PACKETS = 200;

    void Run(uint32_t lost)
    {
        Journeys bed(2, [this](RdmaFabricHelper& helper) {
            helper.SetNicAttribute("LossRecovery", StringValue(m_recovery));
            helper.SetNicAttribute("TimeoutExponent", UintegerValue(6));
            if (m_trims)
            {
                helper.SetNicAttribute("AckPriority", UintegerValue(5));
                helper.SetSwitchAttribute("Pfc", BooleanValue(false));
                helper.SetSwitchAttribute("TrimPackets", UintegerValue(8));
            }
        });
        bool done = false;
        Loser loser(bed.fabric->GetNic(1)->GetPort(), [&](const RdmaFrame& frame, int64_t) {
            const bool here = IsData(frame.opcode) && frame.psn == lost && !done;
            done = done || here;
            if (here && m_trims && lost + 1 < PACKETS) // else nobody hears of it for a while
            {
                const_cast<RdmaFrame&>(frame).flags |= RdmaFrame::TRIMMED;
                return false;
            }
            return here;
        });
        bed.Connect(0, 1).first->PostWrite(PACKETS * 4096, 1);
        Simulator::Run();
        NS_TEST_ASSERT_MSG_EQ(bed.told.size(), 1, m_recovery << ": told");
        const RdmaJourney& j = bed.told[0].journey;
        const auto again =
            static_cast<int64_t>(bed.fabric->GetNic(0)->GetCounters().retransmittedPackets);
        NS_TEST_EXPECT_MSG_GT(again, 0, m_recovery);
        NS_TEST_EXPECT_MSG_EQ(Journeys::Sender(j), j.started - j.posted, m_recovery);
        NS_TEST_EXPECT_MSG_EQ(j.backlog, 0, m_recovery << ": there was no earlier message");
        NS_TEST_EXPECT_MSG_EQ(j.others, 0, m_recovery << ": there is no other queue pair");
        NS_TEST_EXPECT_MSG_EQ(j.ownPackets, (PACKETS - 1) * SLOT + 16 * 80, m_recovery);
        if (lost + 1 < PACKETS)
        {
            // All of it before the last packet goes; the first has an RETH.
            NS_TEST_EXPECT_MSG_EQ(j.repeating,
                                  again * SLOT + (lost == 0 ? 16 * 80 : 0),
                                  m_recovery);
        }
        else
        {
            // From when it went first until it goes again: at least its way there and back.
            NS_TEST_EXPECT_MSG_GT(j.repeating, 4 * US, m_recovery);
            NS_TEST_EXPECT_MSG_EQ(j.repeating,
                                  j.started - j.posted - j.ownPackets - j.window - j.throttled,
                                  m_recovery);
        }
    }

    void DoRun() override
    {
        for (const uint32_t lost : {0U, 5U, 101U, PACKETS - 1})
        {
            Run(lost);
        }
    }

    std::string m_recovery;
    bool m_trims;
};

/// Whose a frame is: what it was posted with, also what a responder sends.
class RdmaLabelTestCase : public TestCase
{
  public:
    explicit RdmaLabelTestCase(std::string recovery)
        : TestCase("frames have the label of what was posted: " + recovery),
          m_recovery(std::move(recovery))
    {
    }

  private:
    /// \param lost the first of how many packets is lost once
    void Run(uint32_t lost)
    {
        constexpr uint64_t WRITE = 0x7'89abcdefULL;
        constexpr uint64_t READ = 0x8'00000012ULL;
        Bed bed;
        bed.Star(2, 100 * GBPS);
        bed.helper.SetNicAttribute("LossRecovery", StringValue(m_recovery));
        bed.Build();
        uint32_t seen = 0;
        uint32_t responses = 0;
        uint32_t answers = 0;
        const auto label = [](uint64_t id) { return static_cast<uint32_t>(id); };
        Loser there(bed.fabric->GetNic(1)->GetPort(), [&](const RdmaFrame& f, int64_t) {
            const bool read = f.opcode == RdmaOpcode::READ_REQUEST;
            NS_TEST_EXPECT_MSG_EQ(f.GetLabel(), label(read ? READ : WRITE), m_recovery);
            NS_TEST_EXPECT_MSG_EQ(f.src, 0, "next to which nothing else has changed");
            NS_TEST_EXPECT_MSG_EQ(f.dst, 1, m_recovery);
            return seen++ == lost;
        });
        Loser here(bed.fabric->GetNic(0)->GetPort(), [&](const RdmaFrame& f, int64_t) {
            const bool read = IsReadResponse(f.opcode);
            responses += read;
            answers += !read;
            // What comes out of order may be answered, and a READ's request may.
            const bool either = f.flags & RdmaFrame::NAK;
            NS_TEST_EXPECT_MSG_EQ((f.GetLabel() == label(read ? READ : WRITE) ||
                                   (either && f.GetLabel() == label(READ))),
                                  true,
                                  m_recovery << ", lost " << lost << ": " << f.GetLabel());
            return false;
        });
        auto* qp = bed.Connect(0, 1).first;
        qp->PostWrite(3 * 4096, WRITE);
        qp->PostRead(2 * 4096, READ);
        Simulator::Run();
        NS_TEST_EXPECT_MSG_GT(seen, 3, "three packets and a request");
        NS_TEST_EXPECT_MSG_EQ(responses, 2, m_recovery << ": what was read");
        NS_TEST_EXPECT_MSG_GT(answers, 0, m_recovery << ": what was written is acknowledged");
        Simulator::Destroy();
    }

    void DoRun() override
    {
        for (const uint32_t lost : {99U, 0U, 1U}) // none; the READ is held until the gap is filled
        {
            Run(lost);
        }
    }

    std::string m_recovery;
};

class RdmaJourneyTestSuite : public TestSuite
{
  public:
    RdmaJourneyTestSuite()
        : TestSuite("rdma-journey", UNIT)
    {
        AddTestCase(new RdmaJourneyTestCase, TestCase::QUICK);
        for (const char* recovery : {"go-back-n", "selective-repeat", "ndp", "eqds", "uet"})
        {
            AddTestCase(new RdmaRepeatingJourneyTestCase(recovery), TestCase::QUICK);
        }
        for (const char* recovery : {"go-back-n", "selective-repeat"})
        {
            AddTestCase(new RdmaLabelTestCase(recovery), TestCase::QUICK);
        }
    }
};

static RdmaJourneyTestSuite g_rdmaJourneyTestSuite;
