/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * The reliable connection under loss: random (bit errors) and chosen (a filter in front of a NIC).
 */
#include "rdma-test-fabric.h"

using namespace ns3;
using namespace ns3::rdmatest;

namespace
{

/// Time-out of a pair, by default: 4.096 us x 2^4.
constexpr int64_t TIMEOUT = 65536 * NS;

} // namespace

class RdmaRandomLossTestCase : public TestCase
{
  public:
    RdmaRandomLossTestCase(uint32_t initialPsn, uint64_t run)
        : TestCase("random loss, first PSN " + std::to_string(initialPsn) + ", run " +
                   std::to_string(run) + ": every byte once and in order"),
          m_initialPsn(initialPsn),
          m_run(run)
    {
    }

  private:
    static uint64_t SizeOf(uint32_t post)
    {
        return post % 7 == 0 ? post : post * 4096 * 2 / 3;
    }

    void DoRun() override
    {
        const uint64_t before = RngSeedManager::GetRun();
        RngSeedManager::SetRun(m_run);
        LossyPair bed(4, 7, m_initialPsn, 1e-6);
        uint64_t lostData = 0;
        for (const auto& port : bed.fabric->GetPorts())
        {
            WatchFrames(port, "PhyRxDrop", [&](const RdmaPort*, const RdmaFrame* frame, int64_t) {
                lostData += IsData(frame->opcode);
            });
        }
        // Sizes around the MTU, and enough packets (about 1,500) to wrap the PSN of the second
        // case.
        const uint32_t posts = 60;
        uint64_t bytes = 0;
        uint64_t packets = 0;
        for (uint32_t i = 0; i < posts; ++i)
        {
            const uint64_t size = SizeOf(i);
            bed.sender->PostWriteWithImmediate(size, i, 1000 + i);
            bytes += size;
            packets += std::max<uint64_t>(1, (size + 4095) / 4096);
        }
        Simulator::Run(); // returns: nothing keeps itself alive
        RngSeedManager::SetRun(before);

        NS_TEST_ASSERT_MSG_EQ(bed.notes.messages.size(), posts, "all messages");
        NS_TEST_ASSERT_MSG_EQ(bed.notes.completions.size(), posts, "all completions");
        for (uint32_t i = 0; i < posts; ++i)
        {
            const auto& message = bed.notes.messages[i].message;
            NS_TEST_EXPECT_MSG_EQ(message.sequence, i, "order");
            NS_TEST_EXPECT_MSG_EQ(message.bytes, SizeOf(i), "size of " << i);
            NS_TEST_EXPECT_MSG_EQ(message.immediate, 1000 + i, "immediate of " << i);
            NS_TEST_EXPECT_MSG_EQ(bed.notes.completions[i].id, i, "completions in order");
            NS_TEST_EXPECT_MSG_EQ((bed.notes.completions[i].status == RdmaStatus::SUCCESS),
                                  true,
                                  "success");
        }
        NS_TEST_EXPECT_MSG_EQ(bed.receiver->GetBytesReceived(), bytes, "bytes, each once");
        NS_TEST_EXPECT_MSG_EQ(bed.sender->GetBytesAcknowledged(), bytes, "acknowledged = posted");
        const RdmaNicCounters s = bed.fabric->GetNic(0)->GetCounters();
        const RdmaNicCounters r = bed.fabric->GetNic(1)->GetCounters();
        NS_TEST_EXPECT_MSG_GT(lostData, 0, "some loss");
        NS_TEST_EXPECT_MSG_EQ(s.dataPackets,
                              packets + s.retransmittedPackets,
                              "sent = new + retransmitted");
        NS_TEST_EXPECT_MSG_EQ(s.dataPackets,
                              packets + r.outOfOrderDropped + r.duplicatesReceived + lostData,
                              "sent = taken + out of order + duplicate + lost");
        // A frame of 4,158 B survives two links with (1 - 1e-6)^(2 x 33,264) = 0.936: of some 2,000
        // packets 128 +- 11 are lost. 6 sigma, and room for the number of retransmissions.
        NS_TEST_EXPECT_MSG_GT(lostData, s.dataPackets * 0.064 * 0.4, "about as many as expected");
        NS_TEST_EXPECT_MSG_LT(lostData, s.dataPackets * 0.064 * 1.6, "about as many as expected");
        NS_TEST_EXPECT_MSG_EQ(s.failedQps, 0, "alive");
    }

    uint32_t m_initialPsn;
    uint64_t m_run;
};

class RdmaNakTestCase : public TestCase
{
  public:
    explicit RdmaNakTestCase(uint32_t initialPsn)
        : TestCase("one lost packet: one NAK, one go-back, all numbers derived; first PSN " +
                   std::to_string(initialPsn)),
          m_initialPsn(initialPsn)
    {
    }

  private:
    void DoRun() override
    {
        LossyPair bed(4, 7, m_initialPsn);
        bool once = true;
        const uint32_t victim = (m_initialPsn + 5) & 0xffffff;
        bed.LoseAt(1, [&](const RdmaFrame& frame) {
            return IsData(frame.opcode) && frame.psn == victim && std::exchange(once, false);
        });
        bed.sender->PostWrite(100 * 4096, 1);
        Simulator::Run();
        // Packet 0 takes 4194 B x 80 ps = 335.52 ns of the line, each of the others 334.24 ns;
        // packet k > 0 starts at 1.28 + 334.24 k. Packet 6 is the first behind the gap. It reaches
        // the receiver at 1.28 + 8 x 334.24 + 2 x 1050 + 500 = 5,275.2 ns; the NAK (2 x 6.88 + 2 x
        // 1050 + 500) the sender at 7,888.96 ns, while packet 23 is sent (7,688.8 to 8,023.04). So
        // 24 packets went out; 5 to 23 go again, of which 6 to 23 came out of order.
        const RdmaNicCounters s = bed.fabric->GetNic(0)->GetCounters();
        const RdmaNicCounters r = bed.fabric->GetNic(1)->GetCounters();
        NS_TEST_EXPECT_MSG_EQ(r.naksSent, 1, "one NAK a gap");
        NS_TEST_EXPECT_MSG_EQ(r.outOfOrderDropped, 18, "6 to 23");
        NS_TEST_EXPECT_MSG_EQ(s.retransmittedPackets, 19, "5 to 23");
        NS_TEST_EXPECT_MSG_EQ(s.dataPackets, 119, "100 + 19");
        NS_TEST_EXPECT_MSG_EQ(s.timeouts, 0, "no time-out");
        NS_TEST_EXPECT_MSG_EQ(r.duplicatesReceived, 0, "no duplicate");
        NS_TEST_ASSERT_MSG_EQ(bed.goBacks.size(), 1, "went back once");
        NS_TEST_EXPECT_MSG_EQ(bed.goBacks[0].first, m_initialPsn + 5, "to the lost one");
        NS_TEST_EXPECT_MSG_EQ(bed.goBacks[0].second, 7890240, "when the NAK came");
        // Packet 5 starts again at 8,023.04 ns; 95 of 334.24 ns from there, one more on link 2 with
        // its lag.
        NS_TEST_ASSERT_MSG_EQ(bed.notes.messages.size(), 1, "arrived");
        NS_TEST_EXPECT_MSG_EQ(bed.notes.messages[0].at,
                              8023040 + 1280 + 96 * 334240 + 2 * 1050 * NS + 500 * NS,
                              "completion");
    }

    uint32_t m_initialPsn;
};

class RdmaNakAgainTestCase : public TestCase
{
  public:
    RdmaNakAgainTestCase()
        : TestCase("a NAK is repeated for the same gap after an interval, if there is one")
    {
    }

  private:
    void DoRun() override
    {
        // Packet 5 of 20 is lost twice. The first NAK goes back when 6 arrives; 6 arrives again at
        // least a round trip later, 4 x 1,050 ns + 2 x 500 ns and serialization, more than 5 us,
        // and 19 comes 13 x 335 ns after it, less than 5 us: one more NAK, and no time-out. Within
        // 20 us nothing comes any more, so that it takes a time-out (65.536 us).
        for (const int64_t interval : {5, 20, 0})
        {
            Config::SetDefault("ns3::RdmaNic::NakInterval", TimeValue(MicroSeconds(interval)));
            LossyPair bed;
            Config::SetDefault("ns3::RdmaNic::NakInterval", TimeValue(Time(0)));
            uint32_t lost = 0;
            bed.LoseAt(1, [&](const RdmaFrame& f) {
                return IsData(f.opcode) && f.psn == 5 && lost < 2 && ++lost;
            });
            bed.sender->PostWrite(20 * 4096, 1);
            Simulator::Run();
            const uint32_t naks = interval == 5 ? 2 : 1;
            NS_TEST_EXPECT_MSG_EQ(bed.notes.messages.size(), 1, "arrived");
            NS_TEST_EXPECT_MSG_EQ(bed.receiver->GetNic()->GetCounters().naksSent, naks, "NAKs");
            NS_TEST_EXPECT_MSG_EQ(bed.sender->GetNic()->GetCounters().timeouts,
                                  2 - naks,
                                  "time-outs");
            NS_TEST_EXPECT_MSG_EQ(bed.goBacks.size(), 2, "went back twice");
        }
    }
};

class RdmaTimeoutTestCase : public TestCase
{
  public:
    RdmaTimeoutTestCase()
        : TestCase("what a NAK cannot repair, the time-out does")
    {
    }

  private:
    void DoRun() override
    {
        LostTwice();
        LostNak();
        LostTail();
        LostLastAck();
        LostAcksInBetween();
        FewPacketsARound();
    }

    /// The retransmission is lost too: no second NAK for the same gap, so the time-out.
    void LostTwice()
    {
        LossyPair bed;
        int times = 2;
        bed.LoseAt(1, [&](const RdmaFrame& f) {
            return IsData(f.opcode) && f.psn == 5 && times-- > 0;
        });
        bed.sender->PostWrite(100 * 4096, 1);
        Simulator::Run();
        NS_TEST_EXPECT_MSG_EQ(bed.notes.messages.size(), 1, "arrived");
        NS_TEST_EXPECT_MSG_EQ(bed.fabric->GetNic(1)->GetCounters().naksSent, 1, "one NAK a gap");
        NS_TEST_EXPECT_MSG_EQ(bed.fabric->GetNic(0)->GetCounters().timeouts, 1, "one time-out");
        NS_TEST_ASSERT_MSG_EQ(bed.goBacks.size(), 2, "NAK and time-out");
        // The timer restarts with packet 5, which was nothing else outstanding then: see RdmaNak.
        NS_TEST_EXPECT_MSG_EQ(bed.goBacks[1].second,
                              (8023040 + TIMEOUT + 999) / 1000 * 1000,
                              "65.536 us later (a timer: rounded up to the resolution, 1 ns)");
    }

    void LostNak()
    {
        LossyPair bed;
        bool once = true;
        bed.LoseAt(1, [&](const RdmaFrame& f) {
            return IsData(f.opcode) && f.psn == 5 && std::exchange(once, false);
        });
        bed.LoseAt(0, [](const RdmaFrame& f) { return f.flags & RdmaFrame::NAK; });
        bed.sender->PostWrite(50 * 4096, 1);
        Simulator::Run();
        NS_TEST_EXPECT_MSG_EQ(bed.losers[1]->lost, 1, "the NAK was lost");
        NS_TEST_EXPECT_MSG_EQ(bed.notes.messages.size(), 1, "arrived");
        NS_TEST_EXPECT_MSG_EQ(bed.fabric->GetNic(0)->GetCounters().timeouts, 1, "one time-out");
        // The NAK would have acknowledged 0 to 4; the first ACK is packet 15's. So all go again.
        NS_TEST_EXPECT_MSG_EQ(bed.fabric->GetNic(0)->GetCounters().retransmittedPackets, 50, "all");
        NS_TEST_EXPECT_MSG_EQ(bed.fabric->GetNic(1)->GetCounters().duplicatesReceived, 5, "0 to 4");
    }

    /// The last packet is lost: nothing comes behind it to reveal the gap.
    void LostTail()
    {
        LossyPair bed;
        bool once = true;
        bed.LoseAt(1, [&](const RdmaFrame& f) {
            return IsData(f.opcode) && f.psn == 39 && std::exchange(once, false);
        });
        bed.sender->PostWrite(40 * 4096, 1);
        Simulator::Run();
        NS_TEST_EXPECT_MSG_EQ(bed.notes.messages.size(), 1, "arrived");
        NS_TEST_EXPECT_MSG_EQ(bed.fabric->GetNic(1)->GetCounters().naksSent, 0, "no NAK");
        NS_TEST_EXPECT_MSG_EQ(bed.fabric->GetNic(0)->GetCounters().timeouts, 1, "one time-out");
        // ACKs every 16 packets: after packets 15 and 31. So 32 to 39 go again.
        NS_TEST_EXPECT_MSG_EQ(bed.fabric->GetNic(0)->GetCounters().retransmittedPackets,
                              8,
                              "32-39");
        NS_TEST_EXPECT_MSG_EQ(bed.fabric->GetNic(1)->GetCounters().duplicatesReceived, 7, "32-38");
    }

    void LostLastAck()
    {
        LossyPair bed;
        bool once = true;
        bed.LoseAt(0, [&](const RdmaFrame& f) {
            return f.opcode == RdmaOpcode::ACKNOWLEDGE && f.psn == 2 && std::exchange(once, false);
        });
        bed.sender->PostWrite(3 * 4096, 1);
        Simulator::Run();
        NS_TEST_EXPECT_MSG_EQ(bed.notes.messages.size(), 1, "arrived once, though sent twice");
        NS_TEST_EXPECT_MSG_EQ(bed.receiver->GetBytesReceived(), 3 * 4096, "counted once");
        NS_TEST_EXPECT_MSG_EQ(bed.notes.completions.size(), 1, "completed once");
        NS_TEST_EXPECT_MSG_EQ(bed.fabric->GetNic(1)->GetCounters().duplicatesReceived, 3, "0 to 2");
        // The first time packet 2's; then that of the first duplicate, and packet 2's again.
        NS_TEST_EXPECT_MSG_EQ(bed.fabric->GetNic(1)->GetCounters().acksSent, 3, "lost, 0 and 2");
    }

    /// After a time-out the first duplicate brings an ACK, although it does not ask for one: so a
    /// sender whose every round gets only a few packets through does not send the same ones for
    /// ever.
    void FewPacketsARound()
    {
        LossyPair bed;
        uint32_t arrived = 0; // in this round: 5 packets, and nothing that would reveal a gap
        bed.LoseAt(1, [&](const RdmaFrame& f) { return IsData(f.opcode) && ++arrived > 5; });
        Watch<RdmaQueuePair*, uint64_t, int64_t>(bed.fabric->GetNic(0), "Timeout", [&](auto...) {
            arrived = 0;
        });
        bed.sender->PostWrite(40 * 4096, 1); // ACKs are asked for by packets 15, 31 and 39
        Simulator::Run();
        // One round brings 5 packets, the next their duplicates and so the ACK: never more than two
        // time-outs without progress.
        NS_TEST_EXPECT_MSG_EQ(bed.notes.messages.size(), 1, "arrived");
        NS_TEST_EXPECT_MSG_EQ(bed.fabric->GetNic(0)->GetCounters().failedQps, 0, "goes on");
        NS_TEST_EXPECT_MSG_GT(bed.fabric->GetNic(0)->GetCounters().timeouts, 7, "slowly");
    }

    /// A later ACK stands for the lost ones: no retransmission at all.
    void LostAcksInBetween()
    {
        LossyPair bed;
        bed.LoseAt(0, [&](const RdmaFrame& f) {
            return f.opcode == RdmaOpcode::ACKNOWLEDGE && f.psn < 90;
        });
        bed.sender->PostWrite(100 * 4096, 1);
        Simulator::Run();
        NS_TEST_EXPECT_MSG_EQ(bed.losers[0]->lost, 5, "ACKs of packets 15, 31, 47, 63, 79");
        NS_TEST_EXPECT_MSG_EQ(bed.fabric->GetNic(0)->GetCounters().retransmittedPackets, 0, "none");
        NS_TEST_EXPECT_MSG_EQ(bed.sender->GetBytesAcknowledged(), 100 * 4096, "acknowledged");
    }
};

class RdmaRepostTestCase : public TestCase
{
  public:
    RdmaRepostTestCase()
        : TestCase("one ACK completes several posts, and the poster posts again on each")
    {
    }

  private:
    void DoRun() override
    {
        // The ACKs of the first two posts are lost; the third's completes all three at once. Each
        // completion posts one more, until 10 have been posted.
        LossyPair bed;
        bed.LoseAt(0, [](const RdmaFrame& f) { return f.psn < 2; });
        uint64_t posted = 3;
        bed.notes.onCompletion = [&](Notes::Completion) {
            if (posted < 10)
            {
                bed.sender->PostWrite(100, posted++);
            }
        };
        for (uint64_t id = 0; id < posted; ++id)
        {
            bed.sender->PostWrite(100, id);
        }
        Simulator::Run();
        NS_TEST_ASSERT_MSG_EQ(bed.notes.completions.size(), 10, "each once");
        for (uint64_t id = 0; id < 10; ++id)
        {
            NS_TEST_EXPECT_MSG_EQ(bed.notes.completions[id].id, id, "in order");
        }
        NS_TEST_EXPECT_MSG_EQ(bed.sender->GetBytesAcknowledged(), 1000, "10 x 100 B");
    }
};

class RdmaRetryExceededTestCase : public TestCase
{
  public:
    RdmaRetryExceededTestCase()
        : TestCase("no way through: error state, flushed posts, and the run ends")
    {
    }

  private:
    void DoRun() override
    {
        LossyPair bed(3, 2); // 32.768 us, 2 retries
        bed.LoseAt(1, [](const RdmaFrame& f) { return IsData(f.opcode) && f.psn >= 10; });
        int64_t failed = 0;
        Watch<RdmaQueuePair*, uint64_t, int64_t>(bed.fabric->GetNic(0),
                                                 "Error",
                                                 [&](RdmaQueuePair*, uint64_t psn, int64_t now) {
                                                     failed = now;
                                                     NS_TEST_EXPECT_MSG_EQ(psn, 10, "the lost one");
                                                 });
        bed.sender->PostWrite(10 * 4096, 0); // arrives
        bed.sender->PostWrite(30 * 4096, 1);
        bed.sender->PostWrite(1, 2);
        bool again = true;
        bed.notes.onCompletion = [&](Notes::Completion c) {
            if (c.status != RdmaStatus::SUCCESS && std::exchange(again, false))
            {
                bed.sender->PostWrite(5, 3); // in the error state
            }
        };
        Simulator::Run();
        // Packet 9, the last to arrive, asks for an ACK, which reaches the sender at
        // 2.56 + 11 x 334.24 + 2 x 2100 + 2 x 500 + 2 x 6.88 = 8,892.96 ns. Nothing moves from
        // there: time-outs 32.768 us after it, then after each retransmission (at once: the line is
        // idle; the timers fire at whole ns), the third one fails.
        NS_TEST_EXPECT_MSG_EQ(failed, 8893 * NS + 3 * 32768 * NS, "after retries + 1 time-outs");
        NS_TEST_EXPECT_MSG_EQ(bed.fabric->GetNic(0)->GetCounters().timeouts, 3, "time-outs");
        NS_TEST_EXPECT_MSG_EQ(bed.fabric->GetNic(0)->GetCounters().failedQps, 1, "one failed");
        NS_TEST_EXPECT_MSG_EQ((bed.sender->GetState() == RdmaQueuePair::State::ERROR),
                              true,
                              "state");
        NS_TEST_ASSERT_MSG_EQ(bed.notes.completions.size(), 4, "each post comes back once");
        const RdmaStatus expected[] = {RdmaStatus::SUCCESS,
                                       RdmaStatus::RETRY_EXCEEDED,
                                       RdmaStatus::FLUSHED,
                                       RdmaStatus::FLUSHED};
        for (const auto& c : bed.notes.completions)
        {
            NS_TEST_EXPECT_MSG_EQ((c.status == expected[c.id]), true, "status of post " << c.id);
        }
        NS_TEST_EXPECT_MSG_EQ(bed.notes.messages.size(), 1, "only the first arrived");
        bed.Destroy();
        NS_TEST_EXPECT_MSG_EQ(RdmaFramePool::Get().GetLive(), 0, "no frame left over");
    }
};

class RdmaNoTimerTestCase : public TestCase
{
  public:
    RdmaNoTimerTestCase()
        : TestCase("without a time-out a lost tail stays lost, and the run ends all the same")
    {
    }

  private:
    void DoRun() override
    {
        LossyPair bed(0);
        bed.LoseAt(1, [](const RdmaFrame& f) { return IsData(f.opcode) && f.psn == 2; });
        bed.sender->PostWrite(3 * 4096, 0);
        Simulator::Run();
        NS_TEST_EXPECT_MSG_EQ(bed.notes.messages.size(), 0, "lost");
        NS_TEST_EXPECT_MSG_EQ(bed.sender->GetBytesPosted() - bed.sender->GetBytesAcknowledged(),
                              3 * 4096,
                              "still outstanding");
    }
};

class RdmaGoBackNTestSuite : public TestSuite
{
  public:
    RdmaGoBackNTestSuite()
        : TestSuite("rdma-go-back-n", UNIT)
    {
        for (const uint64_t run : {1, 2, 3})
        {
            AddTestCase(new RdmaRandomLossTestCase(0, run), TestCase::QUICK);
            AddTestCase(new RdmaRandomLossTestCase(0xfffff0, run), TestCase::QUICK);
        }
        AddTestCase(new RdmaNakTestCase(0), TestCase::QUICK);
        AddTestCase(new RdmaNakTestCase(0xfffffa), TestCase::QUICK); // the victim is 0xffffff
        AddTestCase(new RdmaNakTestCase(0xfffffb), TestCase::QUICK); // the victim is 0
        AddTestCase(new RdmaNakAgainTestCase, TestCase::QUICK);
        AddTestCase(new RdmaTimeoutTestCase, TestCase::QUICK);
        AddTestCase(new RdmaRepostTestCase, TestCase::QUICK);
        AddTestCase(new RdmaRetryExceededTestCase, TestCase::QUICK);
        AddTestCase(new RdmaNoTimerTestCase, TestCase::QUICK);
    }
};

static RdmaGoBackNTestSuite g_rdmaGoBackNTestSuite;
