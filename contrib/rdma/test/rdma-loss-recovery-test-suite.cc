/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * The seam between queue pair and loss recovery: all recoveries on the same link with the same
 * losses, agreement of both ends, and a recovery that exists in this file only.
 */
#include "rdma-test-fabric.h"

#include "ns3/rdma-transport-schemes.h"

#include <algorithm>
#include <set>
#include <utility>

using namespace ns3;
using namespace ns3::rdmatest;

namespace
{

/// Go-back-N whose responder answers every packet out of order, so that a lost NAK costs nothing;
/// the requester goes back once for a missing packet. All that it takes is this class and the line
/// below it.
class EagerRecovery : public RdmaLossRecovery
{
  public:
    std::string GetName() const override
    {
        return "eager";
    }

    void OnNak(RdmaRequester& requester, uint64_t expected, rdma::TimePoint now) override
    {
        if (expected != m_goneBackTo)
        {
            m_goneBackTo = expected;
            requester.TellCongestionOfNak(now);
            requester.GoBack(now);
        }
    }

    void OnTimeout(RdmaRequester& requester, rdma::TimePoint now) override
    {
        m_goneBackTo = UINT64_MAX;
        requester.GoBack(now);
    }

    void OnRefused(RdmaRequester& requester,
                   uint64_t,
                   rdma::TimePoint,
                   rdma::TimePoint now) override
    {
        requester.GoBack(now);
    }

    void OnResponseMissing(RdmaRequester& requester, rdma::TimePoint now) override
    {
        requester.GoBack(now);
    }

    void OnOutOfOrder(RdmaResponder& responder,
                      uint64_t,
                      RdmaFrame& frame,
                      bool,
                      rdma::TimePoint now) override
    {
        responder.CountDropped();
        responder.SendSequenceNak(0, frame, now);
    }

  private:
    uint64_t m_goneBackTo{UINT64_MAX};
};

const RdmaTransportSchemes::Registered g_eager{
    {"eager", [](const RdmaTransportScheme::Setting&) -> Ptr<RdmaTransport> {
         return Create<EagerRecovery>();
     }}};

constexpr uint32_t MESSAGES = 3;

/// What is lost of the three messages: data packets the first time, and one answer.
struct Losses
{
    enum Answer
    {
        NONE,
        LAST_ACK,
        FIRST_NAK
    };

    std::string name;
    std::set<uint32_t> packets; //!< counted from 0
    Answer answer;
};

/// Takes so many packets in all; at least one comes after each but the last.
std::vector<Losses>
GetLosses(uint32_t packets)
{
    std::set<uint32_t> burst;
    for (uint32_t i = 0; i < std::clamp(packets / 6, 1U, 5U); ++i)
    {
        burst.insert(packets / 3 + i);
    }
    return {{"nothing", {}, Losses::NONE},
            {"the first packet", {0}, Losses::NONE},
            {"a packet in the middle", {packets / 2}, Losses::NONE},
            {"the last packet", {packets - 1}, Losses::NONE},
            {"packets in a row", burst, Losses::NONE},
            {"the last ACK", {}, Losses::LAST_ACK},
            {"a packet and its NAK", {packets / 2}, Losses::FIRST_NAK}};
}

} // namespace

class RdmaLossPatternTestCase : public TestCase
{
  public:
    RdmaLossPatternTestCase(const std::string& recovery, uint32_t mtu, uint32_t initialPsn)
        : TestCase(recovery + ": whatever is lost once, MTU " + std::to_string(mtu) +
                   ", first PSN " + std::to_string(initialPsn)),
          m_recovery(recovery),
          m_mtu(mtu),
          m_initialPsn(initialPsn)
    {
    }

  private:
    void DoRun() override
    {
        for (const uint32_t packets : {1, 2, 40})
        {
            for (const Losses& losses : GetLosses(MESSAGES * packets))
            {
                Try(packets, losses);
            }
        }
    }

    void Try(uint32_t packets, const Losses& losses)
    {
        const uint32_t all = MESSAGES * packets;
        const uint64_t bytes = uint64_t{packets} * m_mtu - 3;
        const std::string what = losses.name + " of " + std::to_string(all);
        Bed bed(2, 100 * GBPS, 1050 * NS);
        bed.helper.SetNicAttribute("LossRecovery", StringValue(m_recovery));
        bed.helper.SetNicAttribute("Mtu", UintegerValue(m_mtu));
        bed.helper.SetNicAttribute("InitialPsn", UintegerValue(m_initialPsn));
        bed.helper.SetNicAttribute("TimeoutExponent", UintegerValue(6)); // 262 us
        bed.Build();
        const auto [sender, receiver] = bed.Connect(0, 1);
        NS_TEST_EXPECT_MSG_EQ(sender->GetTransport().GetName(), m_recovery, "agreed");
        std::set<uint32_t> victims = losses.packets;
        const auto indexOf = [this](const RdmaFrame& frame) {
            return (frame.psn - m_initialPsn) & 0xffffff;
        };
        Loser data(bed.fabric->GetNic(1)->GetPort(), [&](const RdmaFrame& frame, int64_t) {
            return IsData(frame.opcode) && victims.erase(indexOf(frame));
        });
        bool once = losses.answer != Losses::NONE;
        Loser answers(bed.fabric->GetNic(0)->GetPort(), [&](const RdmaFrame& frame, int64_t) {
            const bool nak = frame.flags & RdmaFrame::NAK;
            return frame.opcode == RdmaOpcode::ACKNOWLEDGE &&
                   (losses.answer == Losses::FIRST_NAK ? nak : !nak && indexOf(frame) == all - 1) &&
                   std::exchange(once, false);
        });
        for (uint32_t i = 0; i < MESSAGES; ++i)
        {
            sender->PostWrite(bytes, i);
        }
        Simulator::Run();

        NS_TEST_ASSERT_MSG_EQ(bed.notes.completions.size(), MESSAGES, what << ": completions");
        const RdmaNicCounters s = bed.fabric->GetNic(0)->GetCounters();
        const RdmaNicCounters r = bed.fabric->GetNic(1)->GetCounters();
        NS_TEST_EXPECT_MSG_EQ(data.lost, losses.packets.size(), what << ": lost");
        NS_TEST_EXPECT_MSG_EQ(bed.notes.completions[0].id, 0, what << ": in order");
        if (m_recovery == "none" && (data.lost || answers.lost))
        {
            // The message of what was lost fails, those behind it are flushed, nothing goes again.
            const uint32_t failing =
                losses.packets.empty() ? MESSAGES - 1 : *losses.packets.begin() / packets;
            for (uint32_t i = 0; i < MESSAGES; ++i)
            {
                const RdmaStatus status = i < failing    ? RdmaStatus::SUCCESS
                                          : i == failing ? RdmaStatus::RETRY_EXCEEDED
                                                         : RdmaStatus::FLUSHED;
                NS_TEST_EXPECT_MSG_EQ(GetStatusName(bed.notes.completions[i].status),
                                      std::string(GetStatusName(status)),
                                      what << ": status of " << i);
            }
            NS_TEST_EXPECT_MSG_EQ(s.retransmittedPackets, 0, what << ": nothing goes again");
            NS_TEST_EXPECT_MSG_EQ(s.failedQps, 1, what << ": it fails");
            return;
        }
        // Every message once, whole and in order; every packet is accounted for.
        NS_TEST_ASSERT_MSG_EQ(bed.notes.messages.size(), MESSAGES, what << ": messages");
        for (uint32_t i = 0; i < MESSAGES; ++i)
        {
            NS_TEST_EXPECT_MSG_EQ(bed.notes.messages[i].message.sequence, i, what << ": order");
            NS_TEST_EXPECT_MSG_EQ(bed.notes.messages[i].message.bytes, bytes, what << ": size");
            NS_TEST_EXPECT_MSG_EQ((bed.notes.completions[i].status == RdmaStatus::SUCCESS),
                                  true,
                                  what << ": success");
        }
        NS_TEST_EXPECT_MSG_EQ(receiver->GetBytesReceived(), MESSAGES * bytes, what << ": bytes");
        NS_TEST_EXPECT_MSG_EQ(sender->GetBytesAcknowledged(), MESSAGES * bytes, what << ": acked");
        NS_TEST_EXPECT_MSG_EQ(s.dataPackets, all + s.retransmittedPackets, what << ": sent");
        NS_TEST_EXPECT_MSG_EQ(s.dataPackets,
                              all + r.outOfOrderDropped + r.duplicatesReceived + data.lost,
                              what << ": sent = taken + out of order + duplicate + lost");
        NS_TEST_EXPECT_MSG_EQ(s.failedQps, 0, what << ": alive");

        const bool silent = losses.answer == Losses::LAST_ACK || losses.packets.count(all - 1);
        const uint32_t behind = all - 1 - all / 2; // of the packet in the middle
        if (!data.lost && !answers.lost)
        {
            NS_TEST_EXPECT_MSG_EQ(s.retransmittedPackets + s.timeouts + r.naksSent, 0, what);
        }
        else if (silent) // nothing behind it tells of it
        {
            NS_TEST_EXPECT_MSG_EQ(s.timeouts, 1, what << ": time-outs");
            NS_TEST_EXPECT_MSG_EQ(r.naksSent, 0, what << ": NAKs");
        }
        else if (m_recovery == "out-of-order")
        {
            NS_TEST_EXPECT_MSG_GT(s.timeouts, 0, what << ": time-outs");
            NS_TEST_EXPECT_MSG_EQ(r.naksSent, 0, what << ": what overtakes is no news");
        }
        else if (losses.answer == Losses::NONE)
        {
            NS_TEST_EXPECT_MSG_EQ(s.timeouts, 0, what << ": a NAK tells");
        }
        else if (m_recovery == "go-back-n" || behind == 1)
        {
            NS_TEST_EXPECT_MSG_EQ(s.timeouts, 1, what << ": the only NAK of the gap");
        }
        else
        {
            NS_TEST_EXPECT_MSG_EQ(s.timeouts, 0, what << ": the next packet tells again");
        }
        if (m_recovery == "go-back-n")
        {
            NS_TEST_EXPECT_MSG_EQ(r.naksSent, data.lost && !silent ? 1 : 0, what << ": one a gap");
        }
        else if (m_recovery == "selective-repeat")
        {
            // Just what was lost; of a lost ACK, the packet that it was for; of a lost NAK, the
            // packet that it named, if the next one tells that there is a gap.
            NS_TEST_EXPECT_MSG_EQ(s.retransmittedPackets,
                                  data.lost + (losses.answer == Losses::LAST_ACK) +
                                      (losses.answer == Losses::FIRST_NAK && behind > 1),
                                  what << ": sent again");
            NS_TEST_EXPECT_MSG_EQ(r.outOfOrderDropped, 0, what << ": all is kept");
        }
    }

    std::string m_recovery;
    uint32_t m_mtu;
    uint32_t m_initialPsn;
};

class RdmaLossDatagramTestCase : public TestCase
{
  public:
    RdmaLossDatagramTestCase()
        : TestCase("datagrams have no recovery: what is lost is lost, and nobody is told")
    {
    }

  private:
    void DoRun() override
    {
        Bed bed(2, 100 * GBPS);
        bed.Build();
        RdmaQueuePair* ends[2];
        for (uint32_t i = 0; i < 2; ++i)
        {
            RdmaQueuePairInit init;
            init.service = RdmaService::UD;
            ends[i] = bed.fabric->GetNic(i)->CreateQueuePair(init);
            using State = RdmaQueuePair::State;
            for (const State to : {State::INIT, State::READY_TO_RECEIVE, State::READY_TO_SEND})
            {
                NS_TEST_EXPECT_MSG_EQ(ends[i]->Modify(to), "", "ready");
            }
            NS_TEST_EXPECT_MSG_EQ(ends[i]->GetTransport().GetName(), "none", "none");
        }
        Loser data(bed.fabric->GetNic(1)->GetPort(), [](const RdmaFrame& frame, int64_t) {
            return frame.psn == 0 || frame.psn == 7 || frame.psn == 8 || frame.psn == 19;
        });
        for (uint32_t i = 0; i < 20; ++i)
        {
            ends[1]->PostReceive(4096, i);
            ends[0]->Post(Datagram(ends[1], 1000 + i, i));
        }
        Simulator::Run();
        NS_TEST_EXPECT_MSG_EQ(bed.notes.completions.size(), 20, "posted = completed");
        NS_TEST_ASSERT_MSG_EQ(bed.notes.messages.size(), 16, "what was not lost");
        NS_TEST_EXPECT_MSG_EQ(bed.notes.messages[6].message.bytes, 1009, "7 and 8 are missing");
        const RdmaNicCounters s = bed.fabric->GetNic(0)->GetCounters();
        const RdmaNicCounters r = bed.fabric->GetNic(1)->GetCounters();
        NS_TEST_EXPECT_MSG_EQ(s.dataPackets, 20, "each once");
        NS_TEST_EXPECT_MSG_EQ(s.timeouts + r.acksSent + r.naksSent, 0, "nobody is told");
        NS_TEST_EXPECT_MSG_EQ(ends[1]->GetNReceives(), 4, "room for them is left");
    }
};

class RdmaLossAgreementTestCase : public TestCase
{
  public:
    RdmaLossAgreementTestCase()
        : TestCase("both ends recover alike: as both NICs do, or by go-back-N")
    {
    }

  private:
    void DoRun() override
    {
        const std::vector<std::string> names = RdmaTransportSchemes::GetNames();
        NS_TEST_ASSERT_MSG_EQ(names.front(), "go-back-n", "the default is first");
        const std::set<std::string> all(names.begin(), names.end());
        for (const char* name : {"go-back-n", "selective-repeat", "out-of-order", "none", "eager"})
        {
            NS_TEST_EXPECT_MSG_EQ(all.count(name), 1, name);
        }
        NS_TEST_EXPECT_MSG_EQ((RdmaTransportSchemes::Find("eage") == nullptr), true, "whole names");

        for (const std::string& a : names)
        {
            for (const std::string& b : names)
            {
                Bed bed(2, 100 * GBPS);
                bed.Build();
                for (uint32_t i = 0; i < 2; ++i)
                {
                    NS_TEST_EXPECT_MSG_EQ(
                        bed.fabric->GetNic(i)->SetAttributeFailSafe("LossRecovery",
                                                                    StringValue(i ? b : a)),
                        true,
                        "a name");
                }
                const auto [x, y] = bed.Connect(0, 1);
                const std::string agreed = a == b ? a : "go-back-n";
                NS_TEST_EXPECT_MSG_EQ(x->GetTransport().GetName(), agreed, a << ", " << b);
                NS_TEST_EXPECT_MSG_EQ(y->GetTransport().GetName(), agreed, a << ", " << b);
                const RdmaTransportScheme* scheme = RdmaTransportSchemes::Find(agreed);
                NS_TEST_EXPECT_MSG_EQ(x->GetMaxOutstanding(),
                                      scheme->bdpFactor ? bed.fabric->GetNic(0)->GetBdpCap()
                                                        : RdmaQueuePair::MAX_OUTSTANDING,
                                      agreed << ": most packets outstanding");
                // A reset forgets the agreement.
                x->Modify(RdmaQueuePair::State::RESET);
                NS_TEST_EXPECT_MSG_EQ(x->GetTransport().GetName(), "go-back-n", "reset");
            }
        }
    }
};

class RdmaLossRecoveryTestSuite : public TestSuite
{
  public:
    RdmaLossRecoveryTestSuite()
        : TestSuite("rdma-loss-recovery", UNIT)
    {
        for (const char* name : {"go-back-n", "selective-repeat", "out-of-order", "none", "eager"})
        {
            AddTestCase(new RdmaLossPatternTestCase(name, 4096, 0), TestCase::QUICK);
            AddTestCase(new RdmaLossPatternTestCase(name, 1024, 0xfffff0), TestCase::QUICK);
            AddTestCase(new RdmaLossPatternTestCase(name, 256, 5), TestCase::QUICK);
        }
        AddTestCase(new RdmaLossDatagramTestCase, TestCase::QUICK);
        AddTestCase(new RdmaLossAgreementTestCase, TestCase::QUICK);
    }
};

static RdmaLossRecoveryTestSuite g_rdmaLossRecoveryTestSuite;
