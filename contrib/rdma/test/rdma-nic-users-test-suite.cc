/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Several users of a NIC: each hears of its own queue pairs, at both ends, whatever the operation
 * and however it ends; the NIC's user hears of the others.
 */
#include "rdma-test-fabric.h"

#include <algorithm>
#include <string>

using namespace ns3;
using namespace ns3::rdmatest;

class RdmaNicUsersTestCase : public TestCase
{
  public:
    RdmaNicUsersTestCase()
        : TestCase("each user hears of its own queue pairs, the NIC's of the others")
    {
    }

  private:
    void DoRun() override
    {
        Bed bed(2, 100 * GBPS);
        bed.Build();
        Notes users[2];
        Notes& others = bed.notes;
        std::pair<RdmaQueuePair*, RdmaQueuePair*> ends[3];
        for (uint32_t i = 0; i < 3; ++i)
        {
            ends[i] = bed.Connect(0, 1);
            if (i < 2)
            {
                ends[i].first->SetUser(&users[i]);
                ends[i].second->SetUser(&users[i]);
                NS_TEST_EXPECT_MSG_EQ(ends[i].first->GetUser(), &users[i], "its own");
            }
            // One WRITE, i SENDs (what needs no receive request here), one READ.
            ends[i].first->PostWrite(10000, 10 * i);
            for (uint32_t k = 0; k < i; ++k)
            {
                ends[i].first->PostSend(100, 10 * i + 1);
            }
            ends[i].first->PostRead(5000, 10 * i + 2);
        }
        NS_TEST_EXPECT_MSG_EQ(ends[2].first->GetUser(), &others, "the NIC's");
        Simulator::Run();
        // Completions at the sender: WRITE, i SENDs, READ. Messages at the receiver: all but READ.
        const Notes* all[] = {&users[0], &users[1], &others};
        for (uint32_t i = 0; i < 3; ++i)
        {
            NS_TEST_ASSERT_MSG_EQ(all[i]->completions.size(), 2 + i, "completions of user " << i);
            NS_TEST_ASSERT_MSG_EQ(all[i]->messages.size(), 1 + i, "messages of user " << i);
            for (const Notes::Completion& completion : all[i]->completions)
            {
                NS_TEST_EXPECT_MSG_EQ(completion.id / 10, i, "whose request it is");
                NS_TEST_EXPECT_MSG_EQ(completion.qp, ends[i].first, "where it was posted");
            }
            for (const Notes::Message& message : all[i]->messages)
            {
                NS_TEST_EXPECT_MSG_EQ(message.qp, ends[i].second, "where it came");
            }
        }
    }
};

class RdmaNicUsersEndTestCase : public TestCase
{
  public:
    RdmaNicUsersEndTestCase()
        : TestCase("a failure is told to the queue pair's user; without a user nobody is told")
    {
    }

  private:
    void DoRun() override
    {
        Bed bed(2, 100 * GBPS);
        bed.Build();
        Notes own;
        const auto failing = bed.Connect(0, 1);
        failing.first->SetUser(&own);
        failing.first->PostWrite(10000, 7);
        failing.first->Modify(RdmaQueuePair::State::ERROR);
        NS_TEST_ASSERT_MSG_EQ(own.completions.size(), 1, "told");
        NS_TEST_EXPECT_MSG_EQ(static_cast<int>(own.completions[0].status),
                              static_cast<int>(RdmaStatus::FLUSHED),
                              "as flushed");
        NS_TEST_EXPECT_MSG_EQ(bed.notes.completions.size(), 0, "and nobody else");

        // A reset keeps the user, as it keeps the cookie; null gives it back to the NIC's.
        failing.first->Modify(RdmaQueuePair::State::RESET);
        NS_TEST_EXPECT_MSG_EQ(failing.first->GetUser(), &own, "after a reset");
        failing.first->SetUser(nullptr);
        NS_TEST_EXPECT_MSG_EQ(failing.first->GetUser(), &bed.notes, "the NIC's again");

        const auto alone = bed.Connect(0, 1);
        bed.fabric->GetNic(0)->SetUser(nullptr);
        bed.fabric->GetNic(1)->SetUser(nullptr);
        NS_TEST_EXPECT_MSG_EQ(alone.first->GetUser(), nullptr, "nobody");
        alone.first->PostWrite(10000, 8);
        Simulator::Run();
        NS_TEST_EXPECT_MSG_EQ(bed.notes.completions.size(), 0, "nobody hears");
        NS_TEST_EXPECT_MSG_EQ(bed.notes.messages.size(), 0, "nobody hears");
        NS_TEST_EXPECT_MSG_EQ(alone.second->GetBytesReceived(), 10000, "and it arrives");
    }
};

/// Notes letters, as the trace sources' callbacks do: P, C, M, and p, c, m of these.
class Watcher : public RdmaNicWatcher
{
  public:
    void OnPost(RdmaQueuePair*, const RdmaWorkRequest&) override
    {
        heard += 'P';
    }

    void OnCompletion(RdmaQueuePair*, const RdmaWorkRequest&, RdmaStatus, int64_t) override
    {
        heard += 'C';
    }

    void OnMessage(RdmaQueuePair*, const RdmaMessage&, int64_t) override
    {
        heard += 'M';
    }

    void TracePost(RdmaQueuePair*, const RdmaWorkRequest&)
    {
        heard += 'p';
    }

    void TraceCompletion(RdmaQueuePair*, const RdmaWorkRequest&, RdmaStatus, int64_t)
    {
        heard += 'c';
    }

    void TraceMessage(RdmaQueuePair*, const RdmaMessage&, int64_t)
    {
        heard += 'm';
    }

    std::string heard;
};

class RdmaNicWatcherTestCase : public TestCase
{
  public:
    RdmaNicWatcherTestCase()
        : TestCase("a watcher hears what trace sources tell, before them, with and without any")
    {
    }

  private:
    std::string Run(bool watched, bool traced)
    {
        Bed bed(2, 100 * GBPS);
        bed.Build();
        Watcher watcher;
        for (uint32_t e = 0; e < 2; ++e)
        {
            RdmaNic& nic = *bed.fabric->GetNic(e);
            nic.SetWatcher(watched ? &watcher : nullptr);
            if (traced)
            {
                nic.TraceConnectWithoutContext("Post", MakeCallback(&Watcher::TracePost, &watcher));
                nic.TraceConnectWithoutContext("Completion",
                                               MakeCallback(&Watcher::TraceCompletion, &watcher));
                nic.TraceConnectWithoutContext("Message",
                                               MakeCallback(&Watcher::TraceMessage, &watcher));
            }
        }
        RdmaQueuePair* qp = bed.Connect(0, 1).first;
        qp->PostWrite(10000, 0);
        qp->PostSend(100, 1);
        qp->PostRead(5000, 2);
        Simulator::Run();
        return watcher.heard;
    }

    void DoRun() override
    {
        // All is posted at once. The WRITE and the SEND arrive, as their last packets do; nobody
        // tells the other end of a READ. Then come their ACK and the READ's response.
        const std::string watched = Run(true, false);
        NS_TEST_EXPECT_MSG_EQ(watched.substr(0, 4), "PPPM", "the posts, and what arrives first");
        NS_TEST_EXPECT_MSG_EQ(std::count(watched.begin(), watched.end(), 'M'), 2, "messages");
        NS_TEST_EXPECT_MSG_EQ(std::count(watched.begin(), watched.end(), 'C'), 3, "completions");
        NS_TEST_EXPECT_MSG_EQ(watched.size(), 8, "nothing else");
        std::string traced;
        std::string both;
        for (const char c : watched)
        {
            const char small = static_cast<char>(c - 'A' + 'a');
            traced += small;
            both += {c, small};
        }
        NS_TEST_EXPECT_MSG_EQ(Run(false, true), traced, "trace sources alone");
        NS_TEST_EXPECT_MSG_EQ(Run(true, true), both, "the watcher first");
    }
};

class RdmaNicUsersTestSuite : public TestSuite
{
  public:
    RdmaNicUsersTestSuite()
        : TestSuite("rdma-nic-users", UNIT)
    {
        AddTestCase(new RdmaNicUsersTestCase, TestCase::QUICK);
        AddTestCase(new RdmaNicUsersEndTestCase, TestCase::QUICK);
        AddTestCase(new RdmaNicWatcherTestCase, TestCase::QUICK);
    }
};

static RdmaNicUsersTestSuite g_rdmaNicUsersTestSuite;
