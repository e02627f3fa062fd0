/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Queue pairs where something goes wrong at an awkward moment: losses just before a READ, errors
 * among packets that came out of order, queue pairs that are reset or used again from within what
 * they tell, frames of a former connection, datagrams that cannot be sent.
 */
#include "rdma-test-fabric.h"

#include "ns3/nstime.h"
#include "ns3/rdma-completion-queue.h"

#include <algorithm>

using namespace ns3;
using namespace ns3::rdmatest;

namespace
{

using State = RdmaQueuePair::State;

/// Two hosts on one switch, 100 Gb/s, 1 us; a frame can be lost or seen on its way into a NIC.
struct Pair : VerbsBed
{
    explicit Pair(bool selective = false,
                  const std::function<void(RdmaFabricHelper&)>& set = {},
                  uint32_t capacity = 0)
        : m_capacity(capacity)
    {
        Star(2, 100 * GBPS);
        helper.SetNicAttribute("LossRecovery",
                               StringValue(selective ? "selective-repeat" : "go-back-n"));
        helper.SetNicAttribute("BdpCap", UintegerValue(100));
        if (set)
        {
            set(helper);
        }
        Build();
        for (uint32_t i = 0; i < 2; ++i)
        {
            into[i] = std::make_unique<Loser>(fabric->GetNic(i)->GetPort());
        }
    }

    void Create(RdmaService service = RdmaService::RC)
    {
        RdmaQueuePairInit init;
        init.service = service;
        CreateQueuePairs(init, m_capacity);
    }

    Pair& Connected()
    {
        Create();
        RdmaNic::Connect(qp[0], qp[1]);
        return *this;
    }

    Pair& Datagrams()
    {
        Create(RdmaService::UD);
        for (RdmaQueuePair* end : qp)
        {
            MakeReady(end);
        }
        return *this;
    }

    /// Both ends anew, with PSNs of their own: what is under way of the former connection is old.
    void Reconnect(uint32_t psn)
    {
        const std::string recovery = qp[0]->GetNic()->GetTransportScheme().name;
        for (uint32_t i = 0; i < 2; ++i)
        {
            RdmaQueuePairAttributes to;
            to.peerEndpoint = 1 - i;
            to.peerNumber = qp[1 - i]->GetNumber();
            to.receivePsn = to.sendPsn = psn;
            to.lossRecovery = recovery;
            to.peerBdpCap = 100;
            NS_ABORT_IF(!qp[i]->Modify(State::RESET).empty());
            MakeReady(qp[i], to);
        }
    }

    /// Loses the first frame with this PSN into a host.
    void LoseOnce(uint32_t host, uint32_t psn)
    {
        into[host]->loses = [psn, done = false](const RdmaFrame& f, int64_t) mutable {
            const bool lost = !done && f.psn == psn && f.opcode != RdmaOpcode::CNP;
            done = done || lost;
            return lost;
        };
    }

    std::unique_ptr<Loser> into[2]; //!< what a host's frames pass on their way in

  private:
    uint32_t m_capacity;
};

} // namespace

class RdmaFaultsReadBehindGapTestCase : public TestCase
{
  public:
    RdmaFaultsReadBehindGapTestCase()
        : TestCase("a READ that waited behind a lost packet is answered when that has come")
    {
    }

  private:
    void DoRun() override
    {
        for (const bool selective : {false, true})
        {
            Pair bed(selective);
            bed.Connected();
            bed.LoseOnce(1, 0);
            bed.qp[0]->PostWrite(1000, 1);
            bed.qp[0]->PostRead(20000, 2);
            Simulator::Run();
            NS_TEST_ASSERT_MSG_EQ(bed.notes.completions.size(), 2, "both");
            NS_TEST_EXPECT_MSG_EQ(bed.qp[0]->GetBytesRead(), 20000, "all of it");
            NS_TEST_EXPECT_MSG_EQ(bed.Of(0).timeouts, 0, "without a time-out");
        }
    }
};

class RdmaFaultsTooLongTestCase : public TestCase
{
  public:
    RdmaFaultsTooLongTestCase()
        : TestCase(
              "a SEND too long for its receive request, kept behind a gap, is not acknowledged")
    {
    }

  private:
    void DoRun() override
    {
        Pair bed(true);
        bed.Connected();
        bed.LoseOnce(1, 0);
        bed.qp[1]->PostReceive(9999, 1);
        bed.qp[0]->PostWrite(1000, 1);
        bed.qp[0]->PostSend(10000, 2);
        bed.qp[0]->PostWrite(1000, 3);
        Simulator::Run();
        const auto sent = PollAll(bed.sendQueue[0]);
        NS_TEST_ASSERT_MSG_EQ(sent.size(), 3, "each once");
        NS_TEST_EXPECT_MSG_EQ((sent[0].status == RdmaStatus::SUCCESS), true, "before it");
        NS_TEST_EXPECT_MSG_EQ((sent[1].status == RdmaStatus::REMOTE_INVALID_REQUEST), true, "it");
        NS_TEST_EXPECT_MSG_EQ((sent[2].status == RdmaStatus::FLUSHED), true, "behind it");
        const auto received = PollAll(bed.receiveQueue[1]);
        NS_TEST_ASSERT_MSG_EQ(received.size(), 1, "its receive request");
        NS_TEST_EXPECT_MSG_EQ((received[0].status == RdmaStatus::LOCAL_LENGTH_ERROR), true, "too");
        NS_TEST_EXPECT_MSG_EQ(bed.notes.messages.size(), 1, "the WRITE before it");
        NS_TEST_EXPECT_MSG_EQ((bed.qp[1]->GetState() == State::ERROR), true, "both ends fail");
    }
};

class RdmaFaultsPassiveEndTestCase : public TestCase
{
  public:
    RdmaFaultsPassiveEndTestCase()
        : TestCase("an end that is only ready to receive recovers as its peer does")
    {
    }

  private:
    void DoRun() override
    {
        Pair bed(true);
        bed.Create();
        for (uint32_t i = 0; i < 2; ++i)
        {
            RdmaQueuePairAttributes to;
            to.peerEndpoint = 1 - i;
            to.peerNumber = bed.qp[1 - i]->GetNumber();
            to.lossRecovery = "selective-repeat";
            NS_TEST_EXPECT_MSG_EQ(bed.qp[i]->Modify(State::INIT), "", "INIT");
            NS_TEST_EXPECT_MSG_NE(bed.qp[i]->Modify(State::READY_TO_RECEIVE, to),
                                  "",
                                  "a window of nothing");
            to.peerBdpCap = 100;
            NS_TEST_EXPECT_MSG_EQ(bed.qp[i]->Modify(State::READY_TO_RECEIVE, to), "", "RTR");
        }
        NS_TEST_EXPECT_MSG_EQ(bed.qp[0]->Modify(State::READY_TO_SEND), "", "RTS");
        NS_TEST_EXPECT_MSG_EQ(bed.qp[1]->GetTransport().GetName(),
                              "selective-repeat",
                              "ready to receive so");
        bed.LoseOnce(1, 5);
        bed.qp[0]->PostWrite(40 * 4096, 1);
        Simulator::Run();
        NS_TEST_ASSERT_MSG_EQ(bed.notes.completions.size(), 1, "complete");
        NS_TEST_EXPECT_MSG_EQ(bed.Of(0).retransmittedPackets, 1, "just what was lost");
        // And sends, later, from a PSN of its own.
        RdmaQueuePairAttributes rts;
        rts.sendPsn = 0;
        NS_TEST_EXPECT_MSG_EQ(bed.qp[1]->Modify(State::READY_TO_SEND, rts), "", "RTS");
        bed.LoseOnce(0, 7);
        bed.qp[1]->PostWrite(40 * 4096, 2);
        bed.qp[0]->PostWrite(40 * 4096, 3);
        Simulator::Run();
        NS_TEST_ASSERT_MSG_EQ(bed.notes.completions.size(), 3, "complete");
        NS_TEST_EXPECT_MSG_EQ(bed.Of(1).retransmittedPackets, 1, "just what was lost");
        NS_TEST_EXPECT_MSG_EQ(bed.Of(0).timeouts + bed.Of(1).timeouts, 0, "no time-out");
    }
};

class RdmaFaultsPatienceTestCase : public TestCase
{
  public:
    RdmaFaultsPatienceTestCase()
        : TestCase("selective repeat: waiting for a receiver is no time without progress")
    {
    }

  private:
    void DoRun() override
    {
        // The receiver asks for 655.36 ms; the queue pair's patience without an answer is 8 x 67 ms
        // = 537 ms. What is sent after the wait is lost once.
        Pair bed(true, [](RdmaFabricHelper& helper) {
            helper.SetNicAttribute("MinRnrTimer", UintegerValue(0));
        });
        bed.Connected();
        uint32_t sends = 0;
        bed.into[1]->loses = [&sends](const RdmaFrame& f, int64_t) {
            return IsRequest(f.opcode) && ++sends == 2;
        };
        bed.qp[0]->PostSend(100, 1);
        Simulator::Schedule(MilliSeconds(1), [&bed]() { bed.qp[1]->PostReceive(100, 1); });
        Simulator::Run();
        NS_TEST_EXPECT_MSG_EQ(sends, 3, "refused, lost, taken");
        NS_TEST_ASSERT_MSG_EQ(bed.notes.completions.size(), 1, "complete");
        NS_TEST_EXPECT_MSG_EQ((bed.notes.completions[0].status == RdmaStatus::SUCCESS), true, "ok");
    }
};

class RdmaFaultsReuseTestCase : public TestCase
{
  public:
    RdmaFaultsReuseTestCase()
        : TestCase("a queue pair is reset, connected and used again from within what it tells")
    {
    }

  private:
    void DoRun() override
    {
        for (const bool selective : {false, true})
        {
            for (const bool byMessage : {false, true})
            {
                Pair bed(selective);
                bed.Connected();
                bed.LoseOnce(1, 0); // so that selective repeat releases several at once
                bool again = true;
                const auto reuse = [&]() {
                    if (!std::exchange(again, false))
                    {
                        return;
                    }
                    bed.Reconnect(1000);
                    for (uint64_t i = 0; i < 4; ++i)
                    {
                        bed.qp[0]->PostWrite(100, 10 + i);
                    }
                };
                bed.notes.onCompletion = [&](Notes::Completion) {
                    if (!byMessage)
                    {
                        reuse();
                    }
                };
                bed.notes.onMessage = [&](Notes::Message) {
                    if (byMessage)
                    {
                        reuse();
                    }
                };
                for (uint64_t i = 0; i < 4; ++i)
                {
                    bed.qp[0]->PostWrite(100, i);
                }
                Simulator::Run();
                std::vector<uint64_t> ids;
                for (const auto& c : bed.notes.completions)
                {
                    ids.push_back(c.id);
                }
                std::vector<uint64_t> expected{10, 11, 12, 13};
                if (!byMessage)
                {
                    expected.insert(expected.begin(), 0); // in which it was reset
                }
                NS_TEST_EXPECT_MSG_EQ((ids == expected), true, "those after it, once each");
                for (size_t i = byMessage ? 0 : 1; i < ids.size(); ++i)
                {
                    NS_TEST_EXPECT_MSG_GT(bed.notes.completions[i].at,
                                          bed.notes.completions[i].posted + 2 * US,
                                          "not before they were sent");
                }
                NS_TEST_EXPECT_MSG_EQ(bed.qp[0]->GetBytesAcknowledged(), 400, "the law holds");
                NS_TEST_EXPECT_MSG_EQ(bed.qp[1]->GetBytesReceived(), 400, "the law holds");
            }
        }
        // In the middle of a flush.
        Pair bed;
        bed.Connected();
        bool again = true;
        bed.notes.onCompletion = [&](Notes::Completion c) {
            if (c.status == RdmaStatus::FLUSHED && std::exchange(again, false))
            {
                bed.Reconnect(1000);
                bed.qp[0]->PostReceive(100, 7);
                bed.qp[0]->PostWrite(100, 8);
            }
        };
        bed.qp[0]->PostWrite(100, 1);
        bed.qp[0]->PostWrite(100, 2);
        bed.qp[0]->Modify(State::ERROR);
        NS_TEST_EXPECT_MSG_EQ(bed.notes.completions.size(), 1, "the others are forgotten");
        NS_TEST_EXPECT_MSG_EQ(bed.qp[0]->GetNReceives(), 1, "not flushed");
        NS_TEST_EXPECT_MSG_EQ((bed.qp[0]->GetState() == State::READY_TO_SEND), true, "works");
        Simulator::Run();
        NS_TEST_ASSERT_MSG_EQ(bed.notes.completions.size(), 2, "and the new one");
        NS_TEST_EXPECT_MSG_EQ((bed.notes.completions[1].status == RdmaStatus::SUCCESS), true, "ok");
    }
};

class RdmaFaultsOverrunTestCase : public TestCase
{
  public:
    RdmaFaultsOverrunTestCase()
        : TestCase("a completion queue that overruns: what one ACK completes is told in order")
    {
    }

  private:
    void DoRun() override
    {
        Pair bed(false, {}, 2); // room for 2
        bed.Connected();
        // One ACK for the first four; the others are under way then, or not sent.
        uint32_t acks = 0;
        bed.into[0]->loses = [&acks](const RdmaFrame& f, int64_t) {
            return f.opcode == RdmaOpcode::ACKNOWLEDGE && ++acks < 4;
        };
        for (uint64_t i = 0; i < 8; ++i)
        {
            bed.qp[0]->PostWrite(100, i);
        }
        Simulator::Run();
        NS_TEST_ASSERT_MSG_EQ(bed.notes.completions.size(), 8, "each once");
        for (uint64_t i = 0; i < 8; ++i)
        {
            const auto& c = bed.notes.completions[i];
            NS_TEST_EXPECT_MSG_EQ(c.id, i, "in order");
            NS_TEST_EXPECT_MSG_EQ((c.status == (i < 4 ? RdmaStatus::SUCCESS : RdmaStatus::FLUSHED)),
                                  true,
                                  "acknowledged is done");
        }
        NS_TEST_EXPECT_MSG_EQ((bed.qp[0]->GetState() == State::ERROR), true, "fails");
        NS_TEST_EXPECT_MSG_EQ(bed.sendQueue[0]->GetSize(), 2, "full");
        NS_TEST_EXPECT_MSG_EQ(bed.sendQueue[0]->GetOverruns(), 6, "the others");
    }
};

class RdmaFaultsFormerConnectionTestCase : public TestCase
{
  public:
    RdmaFaultsFormerConnectionTestCase()
        : TestCase("frames of a former connection do not count for the next one")
    {
    }

  private:
    void DoRun() override
    {
        // NAKs that say that PSN 6 and up have come are under way while the new connection, with
        // the same PSNs, begins. Its own PSNs 8 and 10 are lost: 10 must not pass for
        // received.
        Pair bed(true);
        bed.Connected();
        bed.LoseOnce(1, 0);
        bed.qp[0]->PostWrite(31 * 4096, 1);
        bool first = true;
        bed.into[0]->loses = [&](const RdmaFrame& f, int64_t) {
            const bool now = first && (f.flags & RdmaFrame::NAK) && f.aux == 5;
            if (now)
            {
                first = false;
                for (RdmaQueuePair* qp : bed.qp)
                {
                    qp->Modify(State::RESET);
                }
                RdmaNic::Connect(bed.qp[0], bed.qp[1]);
                bed.qp[0]->PostWrite(4096, 2);
                Simulator::Schedule(MicroSeconds(20), [&bed]() {
                    bed.into[1]->loses = [left = 2](const RdmaFrame& f, int64_t) mutable {
                        const bool lost = left > 0 && f.psn == 12U - 2 * left;
                        left -= lost;
                        return lost;
                    };
                    bed.qp[0]->PostWrite(30 * 4096, 3);
                });
            }
            return now;
        };
        Simulator::Run();
        NS_TEST_ASSERT_MSG_EQ(bed.notes.completions.size(), 2, "of the new connection");
        NS_TEST_EXPECT_MSG_EQ((bed.notes.completions[1].status == RdmaStatus::SUCCESS), true, "ok");
        NS_TEST_EXPECT_MSG_EQ(bed.Of(0).timeouts, 0, "both gaps show");
        NS_TEST_EXPECT_MSG_EQ(first, false, "put to the test");
    }
};

class RdmaFaultsDatagramsTestCase : public TestCase
{
  public:
    RdmaFaultsDatagramsTestCase()
        : TestCase("datagrams: windows, errors, oneself, nobody")
    {
    }

  private:
    void DoRun() override
    {
        {
            // A window of one datagram: the next goes when the one before it has left.
            Pair bed(false, [](RdmaFabricHelper& helper) {
                helper.SetNicAttribute("Window", UintegerValue(1000));
            });
            bed.Datagrams();
            for (uint64_t i = 0; i < 5; ++i)
            {
                bed.qp[1]->PostReceive(1000, i);
                bed.qp[0]->Post(Datagram(bed.qp[1], 1000, i));
            }
            Simulator::Run();
            NS_TEST_EXPECT_MSG_EQ(PollAll(bed.receiveQueue[1]).size(), 5, "all arrive");
        }
        {
            // Each request completes once and in order, whatever happens.
            for (const bool error : {false, true})
            {
                Pair bed;
                bed.Datagrams();
                for (uint64_t i = 0; i < 5; ++i)
                {
                    bed.qp[0]->Post(Datagram(bed.qp[1], i == 3 ? 5000 : 1000, i));
                }
                if (error)
                {
                    bed.qp[0]->Modify(State::ERROR);
                }
                Simulator::Run();
                const auto sent = PollAll(bed.sendQueue[0]);
                NS_TEST_ASSERT_MSG_EQ(sent.size(), 5, "each once");
                for (uint64_t i = 0; i < 5; ++i)
                {
                    NS_TEST_EXPECT_MSG_EQ(sent[i].id, i, "in order");
                }
                NS_TEST_EXPECT_MSG_EQ((sent[0].status == RdmaStatus::SUCCESS), true, "has left");
                NS_TEST_EXPECT_MSG_EQ(
                    (sent[2].status == (error ? RdmaStatus::FLUSHED : RdmaStatus::SUCCESS)),
                    true,
                    "before the failure");
                NS_TEST_EXPECT_MSG_EQ((sent[3].status == RdmaStatus::LOCAL_LENGTH_ERROR) || error,
                                      true,
                                      "the failure");
                NS_TEST_EXPECT_MSG_EQ((sent[4].status == RdmaStatus::FLUSHED), true, "behind it");
            }
        }
        {
            // To oneself: through the switch and back.
            Pair bed;
            bed.Datagrams();
            bed.qp[0]->PostReceive(1000, 1);
            bed.qp[0]->Post(Datagram(bed.qp[0], 1000, 1));
            Simulator::Run();
            const auto received = PollAll(bed.receiveQueue[0]);
            NS_TEST_ASSERT_MSG_EQ(received.size(), 1, "arrives");
            NS_TEST_EXPECT_MSG_EQ(received[0].peerEndpoint, 0, "from oneself");
        }
        {
            // To oneself without a switch: the other host does not take it. To nobody.
            Bed bed;
            bed.Host("a");
            bed.Host("b");
            bed.Link(0, 1, 100 * GBPS);
            bed.Build();
            RdmaQueuePairInit init;
            init.service = RdmaService::UD;
            RdmaQueuePair* qp[2];
            for (uint32_t i = 0; i < 2; ++i)
            {
                qp[i] = bed.fabric->GetNic(i)->CreateQueuePair(init);
                for (const State to : {State::INIT, State::READY_TO_RECEIVE, State::READY_TO_SEND})
                {
                    qp[i]->Modify(to);
                }
                qp[i]->PostReceive(1000, i);
            }
            qp[0]->Post(Datagram(qp[0], 1000, 1));
            Simulator::Run();
            NS_TEST_EXPECT_MSG_EQ(bed.notes.messages.size(), 0, "nobody has it");
            NS_TEST_EXPECT_MSG_EQ(bed.fabric->GetNic(1)->GetCounters().notReadyDropped, 1, "lost");
        }
        {
            Pair bed;
            bed.Datagrams();
            RdmaSendRequest request = Datagram(bed.qp[1], 1000, 1);
            request.peerEndpoint = 99;
            bed.qp[0]->Post(request);
            Simulator::Run();
            NS_TEST_EXPECT_MSG_EQ(bed.fabric->GetDrops(RdmaSwitch::NO_ROUTE), 1, "no such host");
            NS_TEST_EXPECT_MSG_EQ(PollAll(bed.sendQueue[0]).size(), 1, "it has left");
        }
    }
};

class RdmaVerbsFaultsTestSuite : public TestSuite
{
  public:
    RdmaVerbsFaultsTestSuite()
        : TestSuite("rdma-verbs-faults", UNIT)
    {
        AddTestCase(new RdmaFaultsReadBehindGapTestCase, TestCase::QUICK);
        AddTestCase(new RdmaFaultsTooLongTestCase, TestCase::QUICK);
        AddTestCase(new RdmaFaultsPassiveEndTestCase, TestCase::QUICK);
        AddTestCase(new RdmaFaultsPatienceTestCase, TestCase::QUICK);
        AddTestCase(new RdmaFaultsReuseTestCase, TestCase::QUICK);
        AddTestCase(new RdmaFaultsOverrunTestCase, TestCase::QUICK);
        AddTestCase(new RdmaFaultsFormerConnectionTestCase, TestCase::QUICK);
        AddTestCase(new RdmaFaultsDatagramsTestCase, TestCase::QUICK);
    }
};

static RdmaVerbsFaultsTestSuite g_rdmaVerbsFaultsTestSuite;
