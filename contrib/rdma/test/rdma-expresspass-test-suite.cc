/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * ExpressPass: what links carry by closed form, queues, ways, shares, and what becomes of what is
 * lost.
 */
#include "rdma-disc-bench.h"
#include "rdma-trimming-bed.h"

#include "ns3/rdma-port.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>
#include <vector>

using namespace ns3;
using namespace ns3::rdmatest;

namespace
{

/// Wire bytes of a credit: 62 of headers, 8 of an answer, preamble and gap 20.
constexpr uint32_t CREDIT_WIRE = 90;

/// Time between credits that a line of 100 Gb/s allows, ps: 341.44 ns.
constexpr int64_t CREDIT_GAP = (CREDIT_WIRE + FULL_WIRE) * 80;

constexpr uint8_t CREDITS = 7; //!< priority

/// A fabric that shapes credits.
class ExpressPassBed : public TrimmingBed
{
  public:
    ExpressPassBed()
        : TrimmingBed("expresspass")
    {
        helper.SetNicAttribute("AckPriority", UintegerValue(8));
        helper.SetNicAttribute("PullPriority", UintegerValue(CREDITS));
        helper.SetSwitchAttribute("TrimPackets", UintegerValue(0));
        helper.SetSwitchAttribute("LoadBalancer", StringValue("ecmp"));
        helper.SetSwitchAttribute("BufferPolicy", StringValue("credit"));
        helper.SetPortAttribute("QueueDisc", StringValue("credit"));
        Config::SetDefault("ns3::CreditQueueDisc::DataBytes", UintegerValue(FULL_WIRE));
        Config::SetDefault("ns3::EcmpLoadBalancer::HashSeed", UintegerValue(1));
    }

    ~ExpressPassBed()
    {
        Config::SetDefault("ns3::CreditQueueDisc::DataBytes", UintegerValue(1538));
        Config::SetDefault("ns3::EcmpLoadBalancer::HashSeed", UintegerValue(0));
    }

    /// Notes wire bytes of data that a port sends between two times, by sender, and the longest
    /// queues of data and of credits at all ports of switches.
    void Note(Ptr<RdmaPort> port, int64_t from, int64_t until)
    {
        WatchFrames(port,
                    "PhyTx",
                    [this, from, until](const RdmaPort*, const RdmaFrame* f, int64_t now) {
                        if (IsData(f->opcode) && now >= from && now < until)
                        {
                            carried[f->src] += f->wireBytes;
                        }
                    });
    }

    void NoteQueues(uint32_t switches)
    {
        for (uint32_t s = 0; s < switches; ++s)
        {
            for (uint32_t p = 0; p < Device(s)->GetNPorts(); ++p)
            {
                Watch<const RdmaPort*, uint8_t, uint64_t, int64_t>(
                    Device(s)->GetPort(static_cast<uint16_t>(p)),
                    "Queue",
                    [this](const RdmaPort*, uint8_t priority, uint64_t bytes, int64_t) {
                        uint64_t& longest = priority == CREDITS ? longestCredits : longestData;
                        longest = std::max(longest, bytes);
                    });
            }
        }
    }

    std::map<uint32_t, uint64_t> carried;
    uint64_t longestData{0};
    uint64_t longestCredits{0};
};

} // namespace

/// So many to one: of the line into the receiver data takes at most 4178 / (4178 + 90) = 97.89%, a
/// flow alone just that, and no data packet is lost.
class RdmaExpressPassShareTestCase : public TrimmingTestCase
{
  public:
    explicit RdmaExpressPassShareTestCase(uint32_t senders)
        : TrimmingTestCase(std::to_string(senders) + " to one"),
          m_senders(senders)
    {
    }

  private:
    void DoRun() override
    {
        ExpressPassBed bed;
        bed.Star(m_senders + 1, 100 * GBPS);
        bed.Build();
        const int64_t from = 200 * US;
        const int64_t until = 1200 * US;
        bed.Note(bed.Device()->GetPort(0), from, until);
        bed.NoteQueues(1);
        const uint64_t packets = 4200 / m_senders; // 1.43 ms
        for (uint32_t s = 1; s <= m_senders; ++s)
        {
            bed.Send(s, 0, packets * 4096);
        }
        Simulator::Run();
        CheckArrived(bed, GetName());
        uint64_t carried = 0;
        for (const auto& [sender, bytes] : bed.carried)
        {
            carried += bytes;
        }
        const double most = static_cast<double>(until - from) / CREDIT_GAP * FULL_WIRE;
        // A flow alone has all, to 0.5%. Several change their rates each round trip, by the loss of
        // a few credits: what they leave is bounded, not derived (measured: 1 to 4%).
        const double least = m_senders == 1 ? 0.995 : 0.94;
        NS_TEST_EXPECT_MSG_LT(static_cast<double>(carried), 1.005 * most, GetName());
        NS_TEST_EXPECT_MSG_GT(static_cast<double>(carried), least * most, GetName());
        const RdmaNicCounters nics = bed.Totals();
        NS_TEST_EXPECT_MSG_EQ(nics.retransmittedPackets + nics.timeouts, 0, "nothing is lost");
        NS_TEST_EXPECT_MSG_EQ(nics.requestsToSend, m_senders, "a request a message");
        NS_TEST_EXPECT_MSG_EQ(nics.acksSent, m_senders, "an ACK a message");
        // One at a time on equal ways: a packet waits for the one before, and for one that a burst
        // of two credits or a request put before it.
        NS_TEST_EXPECT_MSG_LT_OR_EQ(bed.longestData, 4 * FULL_FRAME, "data");
        NS_TEST_EXPECT_MSG_LT_OR_EQ(bed.longestCredits, 8 * 70, "eight credits");
    }

    uint32_t m_senders;
};

/// Two flows share a link in the middle; the second begins later and soon has its share.
class RdmaExpressPassConvergenceTestCase : public TrimmingTestCase
{
  public:
    RdmaExpressPassConvergenceTestCase()
        : TrimmingTestCase("a second flow has its share within a few round trips")
    {
    }

  private:
    void DoRun() override
    {
        ExpressPassBed bed;
        bed.Dumbbell(2, {100 * GBPS, 100 * GBPS});
        bed.Build();
        // A round trip is 12 us on the cables and some in switches: within ten of them, for ten.
        const int64_t start = 300 * US;
        bed.Note(bed.Device(0)->GetPort(2), start + 150 * US, start + 300 * US);
        bed.NoteQueues(2);
        bed.Send(0, 2, 2500 * 4096);
        Simulator::Schedule(PicoSeconds(start), [&bed] { bed.Send(1, 3, 1500 * 4096); });
        Simulator::Run();
        CheckArrived(bed, GetName());
        const auto first = static_cast<double>(bed.carried[0]);
        const auto second = static_cast<double>(bed.carried[1]);
        NS_TEST_EXPECT_MSG_GT(second, 0.65 * first, "the second");
        NS_TEST_EXPECT_MSG_GT(first, 0.65 * second, "the first");
        const double most = 150. * US / CREDIT_GAP * FULL_WIRE;
        NS_TEST_EXPECT_MSG_GT(first + second, 0.97 * most, "the link is busy");
        NS_TEST_EXPECT_MSG_EQ(bed.Totals().retransmittedPackets, 0, "no data is lost");
        NS_TEST_EXPECT_MSG_LT_OR_EQ(bed.longestData, 8 * FULL_FRAME, "data");
        NS_TEST_EXPECT_MSG_LT_OR_EQ(bed.longestCredits, 8 * 70, "eight credits");
    }
};

/// Between two leaves there are four ways: data of a connection takes that of its credits.
class RdmaExpressPassWaysTestCase : public TrimmingTestCase
{
  public:
    RdmaExpressPassWaysTestCase()
        : TrimmingTestCase("data comes the way that credits went")
    {
    }

  private:
    void DoRun() override
    {
        ExpressPassBed bed;
        bed.LeafSpine(2, 4);
        bed.Build();
        using Pair = std::pair<uint32_t, uint32_t>; // sender and receiver of data
        std::map<Pair, std::set<uint32_t>> data;
        std::map<Pair, std::set<uint32_t>> credits;
        for (uint32_t spine = 2; spine < 6; ++spine)
        {
            for (uint16_t p = 0; p < 2; ++p)
            {
                WatchFrames(bed.Device(spine)->GetPort(p),
                            "PhyTx",
                            [&data, &credits, spine](const RdmaPort*, const RdmaFrame* f, int64_t) {
                                if (IsData(f->opcode))
                                {
                                    data[{f->src, f->dst}].insert(spine);
                                }
                                else if (f->opcode == RdmaOpcode::NDP_PULL)
                                {
                                    credits[{f->dst, f->src}].insert(spine);
                                }
                            });
            }
        }
        for (uint32_t h = 0; h < 4; ++h)
        {
            for (uint32_t other = 4; other < 8; ++other)
            {
                // Both directions, on connections of their own.
                bed.Send(h, other, 100000);
                bed.Send(other, h, 100000);
            }
        }
        Simulator::Run();
        CheckArrived(bed, GetName());
        NS_TEST_EXPECT_MSG_EQ(data.size(), 32, "all pairs");
        NS_TEST_EXPECT_MSG_EQ((data == credits), true, "the same ways");
        std::set<uint32_t> spines;
        for (const auto& [pair, ways] : data)
        {
            NS_TEST_EXPECT_MSG_EQ(ways.size(), 1, "one way");
            spines.insert(*ways.begin());
        }
        NS_TEST_EXPECT_MSG_EQ(spines.size(), 4, "every spine is somebody's");
    }
};

/// What is lost comes again, and several messages of a connection, with pauses, arrive.
class RdmaExpressPassLossTestCase : public TrimmingTestCase
{
  public:
    RdmaExpressPassLossTestCase()
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
                ExpressPassBed bed;
                const uint32_t lost = RunWithLosses(bed, loses, share);
                CheckArrived(bed, what);
                NS_TEST_EXPECT_MSG_EQ(
                    (lost > 0 || what == "headers" || what == "NACKs" || what == "ACKs"),
                    true,
                    what);
            }
        }
        ExpressPassBed bed;
        bed.LeafSpine(2, 4);
        bed.Build();
        const auto pair = bed.Connect(0, 7);
        uint64_t bytes = 0;
        for (uint32_t m = 0; m < 60; ++m)
        {
            const uint64_t size = 1 + 9770 * m % 200110;
            bytes += size;
            // Some while credits flow, some after a rest.
            Simulator::Schedule(MicroSeconds(20 * m + (m > 30 ? 5000 : 0)),
                                [&pair, size, m] { pair.first->PostWrite(size, m); });
        }
        // The other direction of the same connection.
        pair.second->PostWrite(1000000, 100);
        Simulator::Run();
        NS_TEST_EXPECT_MSG_EQ(bed.notes.messages.size(), 61, "all arrive");
        NS_TEST_EXPECT_MSG_EQ(bed.notes.completions.size(), 61, "and are complete");
        NS_TEST_EXPECT_MSG_EQ(pair.second->GetBytesReceived(), bytes, "whole");
        NS_TEST_EXPECT_MSG_EQ(bed.Totals().retransmittedPackets, 0, "each packet once");
        NS_TEST_EXPECT_MSG_EQ(bed.Totals().timeouts, 0, "no time-out");
    }
};

/// A port alone: credits one each time of a credit and a data packet, the first two at once; data
/// has what they leave.
class CreditQueueDiscTestCase : public TestCase
{
  public:
    CreditQueueDiscTestCase()
        : TestCase("credits pass a bucket of two")
    {
    }

  private:
    void DoRun() override
    {
        Config::SetDefault("ns3::CreditQueueDisc::Jitter", DoubleValue(0));
        // 90 and 1538 B at 80 ps.
        const int64_t gap = 1628 * 80;
        {
            DiscBench bench("credit");
            for (uint32_t i = 0; i < 50; ++i)
            {
                bench.Enqueue({CREDITS, 90, 0, i, 0});
            }
            Simulator::Run();
            NS_TEST_ASSERT_MSG_EQ(bench.sent.size(), 50, "all leave");
            for (uint32_t i = 0; i < 50; ++i)
            {
                const int64_t at = i == 1 ? 90 * 80 : (i ? i - 1 : 0) * gap;
                NS_TEST_EXPECT_MSG_EQ(bench.sent[i].at, at, "credit " << i);
            }
        }
        {
            DiscBench bench("credit");
            for (uint32_t i = 0; i < 200; ++i)
            {
                bench.Enqueue({3, 1538, 1, i, 0});
                bench.Enqueue({CREDITS, 90, 0, i, 0});
            }
            Simulator::Run();
            NS_TEST_ASSERT_MSG_EQ(bench.sent.size(), 400, "all leave");
            // The line is never idle until all have left: 200 (90 + 1538) B; credits keep their
            // rate, a data packet late at most.
            NS_TEST_EXPECT_MSG_LT_OR_EQ(bench.sent.back().at, 200 * gap, "never idle");
            uint32_t credits = 0;
            for (const DiscBench::Sent& sent : bench.sent)
            {
                if (sent.priority == CREDITS)
                {
                    NS_TEST_EXPECT_MSG_GT_OR_EQ(sent.at, (int64_t{credits} - 1) * gap, credits);
                    NS_TEST_EXPECT_MSG_LT_OR_EQ(sent.at, credits * gap + 1538 * 80, credits);
                    ++credits;
                }
            }
        }
        Config::SetDefault("ns3::CreditQueueDisc::Jitter", DoubleValue(8. / 84));
    }
};

class RdmaExpressPassTestSuite : public TestSuite
{
  public:
    RdmaExpressPassTestSuite()
        : TestSuite("rdma-expresspass", UNIT)
    {
        AddTestCase(new CreditQueueDiscTestCase, TestCase::QUICK);
        for (const uint32_t senders : {1, 2, 8, 60})
        {
            AddTestCase(new RdmaExpressPassShareTestCase(senders), TestCase::QUICK);
        }
        AddTestCase(new RdmaExpressPassConvergenceTestCase, TestCase::QUICK);
        AddTestCase(new RdmaExpressPassWaysTestCase, TestCase::QUICK);
        AddTestCase(new RdmaExpressPassLossTestCase, TestCase::QUICK);
    }
};

static RdmaExpressPassTestSuite g_rdmaExpressPassTestSuite;
