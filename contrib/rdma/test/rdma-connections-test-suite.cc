/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Connections whose ends are made by their own hosts: RdmaConnections.
 */
#include "rdma-test-fabric.h"

#include "ns3/rdma-connections.h"

#include <string>
#include <vector>

using namespace ns3;
using namespace ns3::rdmatest;

namespace
{

/// Hears of what is accepted, and of what arrives there.
struct Passive : RdmaConnectionUser, RdmaNicUser
{
    void OnAccepted(RdmaQueuePair* qp, uint64_t data, int64_t) override
    {
        accepted.push_back({qp, data});
        acceptedIn.push_back(Simulator::GetContext());
        qp->SetUser(this);
    }

    void OnMessage(RdmaQueuePair* qp, const RdmaMessage& message, int64_t now) override
    {
        messages.push_back(message.bytes);
        if (single)
        {
            connections->CloseSingle(qp, now);
        }
    }

    void OnCompletion(RdmaQueuePair*, const RdmaWorkRequest&, RdmaStatus, int64_t) override
    {
    }

    struct Accepted
    {
        RdmaQueuePair* qp;
        uint64_t data;
    };

    RdmaConnections* connections = nullptr;
    bool single = false;
    std::vector<Accepted> accepted;
    std::vector<uint32_t> acceptedIn;
    std::vector<uint64_t> messages;
};

/// Hears of what is acknowledged.
struct Active : RdmaNicUser
{
    void OnMessage(RdmaQueuePair*, const RdmaMessage&, int64_t) override
    {
    }

    void OnCompletion(RdmaQueuePair*,
                      const RdmaWorkRequest& request,
                      RdmaStatus status,
                      int64_t now) override
    {
        (status == RdmaStatus::SUCCESS ? done : failed).push_back(request.id);
        last = now;
    }

    std::vector<uint64_t> done;
    std::vector<uint64_t> failed;
    int64_t last = 0;
};

RdmaConnectionRequest
Request(uint32_t from, uint32_t to, uint64_t name, Passive& passive)
{
    RdmaConnectionRequest request;
    request.from = from;
    request.to = to;
    request.name = name;
    request.user = &passive;
    request.data = name * 10;
    return request;
}

/// `hosts` on one switch, 100 Gb/s, 1 us.
void
Star(Bed& bed, uint32_t hosts)
{
    for (uint32_t h = 0; h < hosts; ++h)
    {
        bed.nodes.push_back({"h" + std::to_string(h), false});
    }
    bed.nodes.push_back({"s", true});
    for (uint32_t h = 0; h < hosts; ++h)
    {
        bed.links.push_back({h, hosts, 100 * GBPS, US, 0});
    }
}

} // namespace

class RdmaPassiveOpenTestCase : public TestCase
{
  public:
    RdmaPassiveOpenTestCase()
        : TestCase("the passive end is made by the first packet, in its own host's event; numbers "
                   "and ports follow from who it is")
    {
    }

  private:
    void DoRun() override
    {
        std::vector<std::vector<uint32_t>> seen;
        for (const bool reversed : {false, true})
        {
            Bed bed;
            Star(bed, 3);
            bed.Build();
            RdmaConnections& connections = bed.fabric->GetConnections();
            Passive passive;
            Active active;
            std::vector<RdmaQueuePair*> qps(3);
            const auto open = [&](uint32_t from, uint32_t to, uint32_t name) {
                qps[name] = connections.Open(Request(from, to, name, passive));
                qps[name]->SetUser(&active);
                NS_TEST_EXPECT_MSG_EQ((connections.GetPassive(qps[name]) == nullptr),
                                      true,
                                      "nothing has come");
                qps[name]->PostWrite(5000 + name, name);
            };
            // Events of different hosts: the order must not matter.
            if (reversed)
            {
                open(1, 2, 2);
                open(0, 2, 1);
            }
            else
            {
                open(0, 2, 1);
                open(1, 2, 2);
            }
            Simulator::Run();
            NS_TEST_EXPECT_MSG_EQ(passive.accepted.size(), 2, "both");
            NS_TEST_EXPECT_MSG_EQ(active.done.size(), 2, "acknowledged");
            NS_TEST_EXPECT_MSG_EQ(connections.GetQueuePairs(), 4, "made");
            for (const uint32_t node : passive.acceptedIn)
            {
                NS_TEST_EXPECT_MSG_EQ(node, bed.fabric->GetNodes().Get(2)->GetId(), "its own");
            }
            std::vector<uint32_t> numbers;
            for (const uint32_t name : {1U, 2U})
            {
                const RdmaQueuePair* there = connections.GetPassive(qps[name]);
                NS_TEST_ASSERT_MSG_NE(there, nullptr, "made");
                NS_TEST_EXPECT_MSG_EQ(there->GetPeerNumber(), qps[name]->GetNumber(), "its peer");
                NS_TEST_EXPECT_MSG_EQ(there->GetPeerSourcePort(), qps[name]->GetSourcePort(), "");
                NS_TEST_EXPECT_MSG_EQ(there->GetSourcePort(), qps[name]->GetPeerSourcePort(), "");
                numbers.insert(numbers.end(),
                               {qps[name]->GetNumber(),
                                there->GetNumber(),
                                qps[name]->GetSourcePort(),
                                there->GetSourcePort()});
            }
            seen.push_back(numbers);
        }
        NS_TEST_EXPECT_MSG_EQ((seen[0] == seen[1]), true, "whichever was opened first");
    }
};

class RdmaUnknownQueuePairTestCase : public TestCase
{
  public:
    RdmaUnknownQueuePairTestCase()
        : TestCase("what comes for a queue pair that nobody opened is dropped")
    {
    }

  private:
    void DoRun() override
    {
        Bed bed;
        Star(bed, 2);
        bed.Build();
        bed.fabric->GetConnections();
        RdmaQueuePair* qp = bed.fabric->GetNic(0)->CreateQueuePair(3);
        // 5: a passive number, as if host 0 had opened it; 4: an active one.
        for (const uint32_t number : {3U, 4U})
        {
            qp->Modify(RdmaQueuePair::State::RESET);
            RdmaNic::ConnectRemote(qp, bed.fabric->Describe(1, number));
            qp->PostWrite(100, number);
            Simulator::Stop(MicroSeconds(10));
            Simulator::Run();
            NS_TEST_EXPECT_MSG_EQ(bed.fabric->GetNic(1)->GetNQueuePairs(), 0, "none is made");
        }
        NS_TEST_EXPECT_MSG_GT(bed.fabric->GetNic(1)->GetCounters().notReadyDropped, 1, "counted");
    }
};

/// A connection sends at its own most, beside others, and the next one of its queue pair does not.
class RdmaConnectionRateTestCase : public TestCase
{
  public:
    explicit RdmaConnectionRateTestCase(bool infiniBand)
        : TestCase(std::string("a most of the rate is the connection's, ") +
                   (infiniBand ? "InfiniBand" : "Ethernet")),
          m_infiniBand(infiniBand)
    {
    }

  private:
    /// \return ps from a post of so many full packets to the last acknowledgement
    int64_t Send(RdmaConnections& connections, uint64_t mostBps, uint64_t bytes)
    {
        Passive passive;
        Active active;
        RdmaConnectionRequest request = Request(0, 1, ++m_name, passive);
        request.maxRateBps = mostBps;
        RdmaQueuePair* qp = nullptr;
        const int64_t start = RdmaClock::Now() + 3000 * US;
        Simulator::ScheduleWithContext(m_context, PicoSeconds(3000 * US), [&] {
            qp = connections.Open(request);
            qp->SetUser(&active);
            qp->PostWrite(bytes, 1);
        });
        Simulator::Run();
        NS_TEST_EXPECT_MSG_EQ(active.done.size(), 1, "acknowledged");
        connections.Close(qp);
        return active.last - start;
    }

    void DoRun() override
    {
        Bed bed;
        Star(bed, 3);
        if (m_infiniBand)
        {
            bed.helper.SetInfiniBand({});
        }
        bed.Build();
        RdmaConnections& connections = bed.fabric->GetConnections();
        const Ptr<RdmaNic> nic = bed.fabric->GetNic(0);
        m_context = nic->GetPort()->GetNode()->GetId();
        const uint64_t packets = 500;
        const uint64_t bytes = packets * nic->GetMtu();
        const double wire = nic->GetFrameSizes().dataOverhead + nic->GetMtu();
        // Packets of `wire` bytes one after the other; the way there and back is some 6 us more.
        // Rates that are more than the line are the line's, and none is.
        for (const auto& [mostBps, bps] : {std::pair<uint64_t, double>{25 * GBPS, 25e9},
                                           {0, 100e9},
                                           {7 * GBPS, 7e9},
                                           {400 * GBPS, 100e9},
                                           {0, 100e9}})
        {
            const double expected = static_cast<double>(packets) * wire * 8e12 / bps;
            const auto took = static_cast<double>(Send(connections, mostBps, bytes));
            NS_TEST_EXPECT_MSG_EQ_TOL(took,
                                      expected + 6e6,
                                      0.01 * expected + 3e6,
                                      "at most " << mostBps);
        }
        NS_TEST_EXPECT_MSG_LT(connections.GetQueuePairs(), 10, "they were used again");
    }

    bool m_infiniBand;
    uint32_t m_context{0};
    uint64_t m_name{0};
};

class RdmaLostLastAckTestCase : public TestCase
{
  public:
    RdmaLostLastAckTestCase()
        : TestCase("a single message whose ACK is lost is repeated to an end that has been taken "
                   "again: it is acknowledged, and delivered once")
    {
    }

  private:
    void DoRun() override
    {
        Bed bed;
        Star(bed, 3);
        // 4.096 us x 2^10 = 4.2 ms: after the passive end has rested for 2 ms.
        bed.helper.SetNicAttribute("TimeoutExponent", UintegerValue(10));
        bed.Build();
        RdmaConnections& connections = bed.fabric->GetConnections();
        Passive passive;
        passive.connections = &connections;
        passive.single = true;
        Active active;
        const auto open = [&](uint32_t from, uint32_t to, uint32_t name, uint64_t bytes) {
            RdmaQueuePair* qp = connections.Open(Request(from, to, name, passive));
            qp->SetUser(&active);
            qp->PostWrite(bytes, name);
        };
        // 3 packets, 10,262 B on the wire, take 0.82 us on a link, the last of them 0.16 us on the
        // next; with two cables of 1 us and the switch's 0.5 us they are there at 3.5 us. Their ACK
        // comes to link 0 1.5 us later: it is down then.
        open(0, 2, 1, 10000);
        Simulator::Schedule(NanoSeconds(4200), [&] {
            NS_TEST_EXPECT_MSG_EQ(passive.messages.size(), 1, "it is there");
            bed.fabric->SetLinkDown(0, true);
        });
        Simulator::Schedule(MicroSeconds(100), [&] { bed.fabric->SetLinkDown(0, false); });
        // Takes the passive end that has rested.
        Simulator::Schedule(MilliSeconds(3), [&] { open(1, 2, 2, 20000); });
        Simulator::Run();
        NS_TEST_ASSERT_MSG_EQ(passive.messages.size(), 2, "each once");
        NS_TEST_EXPECT_MSG_EQ(passive.messages[0], 10000, "");
        NS_TEST_EXPECT_MSG_EQ(passive.messages[1], 20000, "");
        NS_TEST_EXPECT_MSG_EQ(active.done.size(), 2, "both are acknowledged");
        NS_TEST_EXPECT_MSG_EQ(active.failed.size(), 0, "none fails");
        NS_TEST_EXPECT_MSG_GT(active.last, 4000 * US, "the first by its repetition");
        NS_TEST_EXPECT_MSG_EQ((passive.accepted[0].qp == passive.accepted[1].qp),
                              true,
                              "the second took the first one's queue pair");
    }
};

class RdmaConnectionsTestSuite : public TestSuite
{
  public:
    RdmaConnectionsTestSuite()
        : TestSuite("rdma-connections", UNIT)
    {
        AddTestCase(new RdmaPassiveOpenTestCase, TestCase::QUICK);
        AddTestCase(new RdmaUnknownQueuePairTestCase, TestCase::QUICK);
        AddTestCase(new RdmaLostLastAckTestCase, TestCase::QUICK);
        for (const bool infiniBand : {false, true})
        {
            AddTestCase(new RdmaConnectionRateTestCase(infiniBand), TestCase::QUICK);
        }
    }
};

static RdmaConnectionsTestSuite g_rdmaConnectionsTestSuite;
