/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Homa: times of a message alone by closed form, priorities, the shortest message first, and what
 * becomes of what is lost.
 */
#include "rdma-trimming-bed.h"

#include <set>

using namespace ns3;
using namespace ns3::rdmatest;

namespace
{

/// Time of a full packet on a line of 100 Gb/s, ps: 4178 B at 80 ps.
constexpr int64_t PACKET = FULL_WIRE * 80;

/// A fabric without trimming, whose grants have the highest priority.
class HomaBed : public TrimmingBed
{
  public:
    HomaBed()
        : TrimmingBed("homa")
    {
        helper.SetNicAttribute("AckPriority", UintegerValue(7));
        helper.SetSwitchAttribute("TrimPackets", UintegerValue(0));
        helper.SetPortAttribute("StrictPriorities", UintegerValue(255));
    }

    /// \return when a host's last message arrived, ps
    int64_t ArrivalAt(const RdmaQueuePair* receiver) const
    {
        for (const Notes::Message& message : notes.messages)
        {
            if (message.qp == receiver)
            {
                return message.at;
            }
        }
        return -1;
    }
};

} // namespace

/// One message on an idle network is as fast as its line, however long: grants come before what is
/// unscheduled has left.
class RdmaHomaSingleTestCase : public TrimmingTestCase
{
  public:
    RdmaHomaSingleTestCase()
        : TrimmingTestCase("one message takes the time of its bytes on the line")
    {
    }

  private:
    void DoRun() override
    {
        for (const uint64_t bytes : {1ULL, 4097ULL, 65537ULL, 1000003ULL, 10000019ULL})
        {
            for (const int64_t delay : {100 * NS, 1 * US, 7 * US})
            {
                HomaBed bed;
                bed.Star(2, 100 * GBPS, delay);
                bed.Build();
                bed.Send(0, 1, bytes);
                Simulator::Run();
                const std::string what =
                    std::to_string(bytes) + " B, " + std::to_string(delay) + " ps";
                const uint64_t packets = CheckArrived(bed, what);
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
                const RdmaNicCounters nics = bed.Totals();
                NS_TEST_EXPECT_MSG_EQ(nics.acksSent, 1, what << ": one ACK a message");
                NS_TEST_EXPECT_MSG_EQ(nics.requestsToSend + nics.timeouts, 0, what);
                // A grant a packet, but for the first window and what is granted whole.
                const uint64_t window = bed.fabric->GetNic(0)->GetBdpCap() / 16;
                NS_TEST_EXPECT_MSG_EQ(nics.pullsSent, packets - std::min(packets, window), what);
            }
        }
    }
};

/// Priorities on the line into the receiver: by size while unscheduled, then the lowest, as there
/// is but one message.
class RdmaHomaPriorityTestCase : public TrimmingTestCase
{
  public:
    RdmaHomaPriorityTestCase()
        : TrimmingTestCase("priorities follow sizes and grants")
    {
    }

  private:
    static std::vector<uint8_t> Priorities(uint64_t bytes)
    {
        HomaBed bed;
        bed.Star(2, 100 * GBPS);
        bed.Build();
        std::vector<uint8_t> priorities; // in order, each once in a row
        WatchFrames(bed.Device()->GetPort(1),
                    "PhyTx",
                    [&priorities](const RdmaPort*, const RdmaFrame* frame, int64_t) {
                        if (IsData(frame->opcode) &&
                            (priorities.empty() || priorities.back() != frame->priority))
                        {
                            priorities.push_back(frame->priority);
                        }
                    });
        bed.Send(0, 1, bytes);
        Simulator::Run();
        return priorities;
    }

    void DoRun() override
    {
        using Levels = std::vector<uint8_t>;
        NS_TEST_EXPECT_MSG_EQ((Priorities(200) == Levels{7}), true, "up to 200 B");
        NS_TEST_EXPECT_MSG_EQ((Priorities(201) == Levels{6}), true, "up to 2,800 B");
        // Two packets count as 8,192 B, four as 16,384 B.
        NS_TEST_EXPECT_MSG_EQ((Priorities(5000) == Levels{5}), true, "up to 15,000 B");
        NS_TEST_EXPECT_MSG_EQ((Priorities(15000) == Levels{4}), true, "longer");
        NS_TEST_EXPECT_MSG_EQ((Priorities(1000000) == Levels{4, 0}), true, "then granted");
    }
};

/// Two messages for one host: the shorter one first, and the line is never idle.
class RdmaHomaShortestFirstTestCase : public TrimmingTestCase
{
  public:
    explicit RdmaHomaShortestFirstTestCase(uint32_t overcommitment)
        : TrimmingTestCase("the shorter of two first, overcommitment " +
                           std::to_string(overcommitment)),
          m_overcommitment(overcommitment)
    {
    }

  private:
    void DoRun() override
    {
        Config::SetDefault("ns3::HomaParameters::Overcommitment", UintegerValue(m_overcommitment));
        HomaBed bed;
        bed.Star(3, 100 * GBPS);
        bed.Build();
        bed.Send(1, 0, 300 * 4096);
        bed.Send(2, 0, 100 * 4096);
        Simulator::Run();
        Config::SetDefault("ns3::HomaParameters::Overcommitment", UintegerValue(0));
        CheckArrived(bed, GetName());
        const auto window = static_cast<int64_t>(bed.fabric->GetNic(0)->GetBdpCap() / 16);
        // Over the first link, the pipeline of 500 ns, and the second link's delay.
        const int64_t way = PACKET + 2 * US + 500 * NS;
        const int64_t shorter = bed.ArrivalAt(bed.sent[1].receiver);
        const int64_t longer = bed.ArrivalAt(bed.sent[0].receiver);
        // The longer one's unscheduled packets share the line with the shorter one's; then those
        // wait for at most a packet that has begun. RETHs take 16 B each.
        NS_TEST_EXPECT_MSG_GT_OR_EQ(shorter, way + 100 * PACKET, "its own bytes");
        NS_TEST_EXPECT_MSG_LT_OR_EQ(shorter, way + (100 + window + 2) * PACKET, "the shorter");
        NS_TEST_EXPECT_MSG_GT_OR_EQ(longer, way + 400 * PACKET, "all bytes");
        // Two RETHs on the last link, and one of them on the first, too.
        NS_TEST_EXPECT_MSG_LT_OR_EQ(longer, way + 400 * PACKET + 3 * 16 * 80, "never idle");
    }

    uint32_t m_overcommitment;
};

/// Many to one, more than the buffer has room for at once would be; and losses of every kind.
class RdmaHomaLossTestCase : public TrimmingTestCase
{
  public:
    RdmaHomaLossTestCase()
        : TrimmingTestCase("what is lost comes again")
    {
    }

  private:
    void DoRun() override
    {
        for (const auto& [what, loses] : KindsToLose())
        {
            for (const uint32_t share : {7, 50})
            {
                HomaBed bed;
                const uint32_t lost = RunWithLosses(bed, loses, share);
                CheckArrived(bed, what);
                // There are five ACKs, and no header is ever cut off.
                NS_TEST_EXPECT_MSG_EQ(
                    (lost > 0 || what == "headers" || what == "NACKs" || what == "ACKs"),
                    true,
                    what);
            }
        }
        // Several messages of a connection, sprayed.
        HomaBed bed;
        bed.LeafSpine(2, 4);
        bed.Build();
        const auto pair = bed.Connect(0, 7);
        uint64_t bytes = 0;
        for (uint32_t m = 0; m < 60; ++m)
        {
            pair.first->PostWrite(1 + 9770 * m % 200110, m);
            bytes += 1 + 9770 * m % 200110;
        }
        bed.Send(1, 7, 3000000);
        Simulator::Run();
        NS_TEST_EXPECT_MSG_EQ(bed.notes.messages.size(), 61, "all arrive");
        NS_TEST_EXPECT_MSG_EQ(bed.notes.completions.size(), 61, "and are complete");
        NS_TEST_EXPECT_MSG_EQ(pair.second->GetBytesReceived(), bytes, "whole");
        // Who waits for grants for longer than CreditTimeout asks, and nothing is missing.
        NS_TEST_EXPECT_MSG_EQ(bed.Totals().retransmittedPackets, 0, "each packet once");
    }
};

class RdmaHomaTestSuite : public TestSuite
{
  public:
    RdmaHomaTestSuite()
        : TestSuite("rdma-homa", UNIT)
    {
        AddTestCase(new RdmaHomaSingleTestCase, TestCase::QUICK);
        AddTestCase(new RdmaHomaPriorityTestCase, TestCase::QUICK);
        for (const uint32_t overcommitment : {0, 1})
        {
            AddTestCase(new RdmaHomaShortestFirstTestCase(overcommitment), TestCase::QUICK);
        }
        AddTestCase(new RdmaHomaLossTestCase, TestCase::QUICK);
    }
};

static RdmaHomaTestSuite g_rdmaHomaTestSuite;
