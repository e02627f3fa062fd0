/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * ECN marking by the switch, CNPs by the receiver, and what DCQCN makes of them with a running
 * network (the law itself is tested in tests/unit/core/dcqcn-rate-test.cc).
 */
#include "rdma-test-fabric.h"

#include <cmath>

using namespace ns3;
using namespace ns3::rdmatest;

namespace
{

/// What a switch's egress port did to each ECN-capable frame.
struct MarkStatistics
{
    uint64_t frames{0};
    uint64_t marked{0};
    uint64_t below{0};       //!< queue < Kmin
    uint64_t markedBelow{0}; //!< of these
    uint64_t above{0};       //!< queue >= Kmax
    uint64_t markedAbove{0}; //!< of these
    uint64_t between{0};
    uint64_t markedBetween{0};
    double expected{0}; //!< sum of probabilities between Kmin and Kmax
    double variance{0};

    void Watch(Ptr<RdmaPort> egress, double kmin, double kmax, double pmax)
    {
        WatchFrames(egress,
                    "PhyTx",
                    [this, kmin, kmax, pmax](const RdmaPort* port, const RdmaFrame* f, int64_t) {
                        const bool ce = f->flags & RdmaFrame::CE;
                        marked += ce;
                        if (!IsData(f->opcode))
                        {
                            return;
                        }
                        ++frames;
                        // The frame has left its queue; the law looks at what was there with it.
                        const double queue =
                            static_cast<double>(port->GetQueueBytes(3) + f->FrameBytes());
                        if (queue < kmin)
                        {
                            ++below;
                            markedBelow += ce;
                        }
                        else if (queue >= kmax)
                        {
                            ++above;
                            markedAbove += ce;
                        }
                        else
                        {
                            ++between;
                            markedBetween += ce;
                            const double p = pmax * (queue - kmin) / (kmax - kmin);
                            expected += p;
                            variance += p * (1 - p);
                        }
                    });
    }
};

/// Two windows of so many packets each, from two hosts to host 0, keep a standing queue there.
void
DescribeStanding(Bed& bed, uint64_t bps, uint32_t window)
{
    bed.Host("h0");
    bed.Host("h1");
    bed.Host("h2");
    bed.Switch("s");
    bed.Link(0, 3, bps);
    bed.Link(1, 3, 100 * GBPS);
    bed.Link(2, 3, 100 * GBPS);
    bed.helper.SetNicAttribute("Window", UintegerValue(window * 4096));
    bed.helper.SetNicAttribute("AckEvery", UintegerValue(1));
    bed.helper.SetSwitchAttribute("BufferPer100G", UintegerValue(10000000)); // no pauses
    bed.helper.SetSwitchAttribute("EcnKmin", UintegerValue(200000));
    bed.helper.SetSwitchAttribute("EcnKmax", UintegerValue(600000));
    bed.helper.SetSwitchAttribute("EcnPmax", DoubleValue(0.3));
}

} // namespace

class RdmaEcnTestCase : public TestCase
{
  public:
    RdmaEcnTestCase()
        : TestCase(
              "RED marks none below Kmin, all from Kmax, the right share between; scaled by rate")
    {
    }

  private:
    void DoRun() override
    {
        // Windows of 2 x 60 and 2 x 40 packets less some 70 KB of bandwidth x delay: queues of
        // about 430 and 260 KB, on the slope. 2 x 90: about 680 KB, above Kmax, and the slope on
        // the way.
        Check(100 * GBPS, 40);
        Check(100 * GBPS, 60);
        Check(100 * GBPS, 90);
        // At 25 Gb/s all thresholds are a quarter: 50 and 150 KB. 2 x 15 packets: about 110 KB.
        Check(25 * GBPS, 15);
        Check(25 * GBPS, 5); // about 40 KB less 17: never
    }

    void Check(uint64_t bps, uint32_t window)
    {
        Bed bed;
        DescribeStanding(bed, bps, window);
        bed.Build();
        MarkStatistics s;
        const double scale = static_cast<double>(bps) / 100e9;
        s.Watch(bed.Device()->GetPort(0), 200000 * scale, 600000 * scale, 0.3);
        for (const uint32_t host : {1, 2})
        {
            bed.Connect(host, 0).first->PostWrite(10000 * 4096, 1);
        }
        Simulator::Run();
        const std::string what = std::to_string(bps) + " bit/s, window " + std::to_string(window);
        NS_TEST_EXPECT_MSG_EQ(s.frames, 20000, what);
        NS_TEST_EXPECT_MSG_EQ(s.markedBelow, 0, what << ": none below Kmin");
        NS_TEST_EXPECT_MSG_EQ(s.markedAbove, s.above, what << ": all from Kmax");
        // A sum of independent draws of known probabilities: 5 sigma, wrong once in 1.7 million.
        NS_TEST_EXPECT_MSG_EQ_TOL(static_cast<double>(s.markedBetween),
                                  s.expected,
                                  5 * std::sqrt(s.variance) + 1e-9,
                                  what << ": between");
        const bool slope = window == 40 || window == 60 || window == 15;
        NS_TEST_EXPECT_MSG_EQ((s.between > 15000), slope, what << ": where the queue stood");
        NS_TEST_EXPECT_MSG_EQ((s.above > 15000), (window == 90), what << ": where the queue stood");
        NS_TEST_EXPECT_MSG_EQ((s.below == 20000), (window == 5), what << ": where it stood");
        NS_TEST_EXPECT_MSG_EQ(s.marked, s.markedBetween + s.markedAbove, what << ": ACKs never");
        NS_TEST_EXPECT_MSG_EQ(bed.fabric->GetPortTotals().ecnMarks, s.marked, what << ": counted");
        NS_TEST_EXPECT_MSG_EQ(bed.fabric->GetNic(0)->GetCounters().ecnMarkedReceived,
                              s.marked,
                              what << ": all marks arrive");
    }
};

class RdmaEcnVariantsTestCase : public TestCase
{
  public:
    RdmaEcnVariantsTestCase()
        : TestCase("marking on enqueue looks at the queue that a frame joins; off is off")
    {
    }

  private:
    void DoRun() override
    {
        uint64_t onDequeue = 0;
        for (const std::string variant : {"dequeue", "enqueue", "off"})
        {
            Bed bed;
            DescribeStanding(bed, 100 * GBPS, 60);
            bed.helper.SetSwitchAttribute("EcnMarkOnEnqueue", BooleanValue(variant == "enqueue"));
            bed.helper.SetSwitchAttribute("Ecn", BooleanValue(variant != "off"));
            bed.Build();
            uint64_t marks = 0;
            uint64_t least = UINT64_MAX;
            Watch<const RdmaPort*, const RdmaFrame*, uint64_t, int64_t>(
                bed.Device(),
                "EcnMark",
                [&](const RdmaPort*, const RdmaFrame* f, uint64_t queue, int64_t) {
                    ++marks;
                    least = std::min(least, queue);
                    NS_TEST_EXPECT_MSG_EQ(bool(f->flags & RdmaFrame::CE), true, "marked");
                });
            for (const uint32_t host : {1, 2})
            {
                bed.Connect(host, 0).first->PostWrite(5000 * 4096, 1);
            }
            Simulator::Run();
            NS_TEST_EXPECT_MSG_EQ(bed.fabric->GetPortTotals().ecnMarks, marks, variant);
            if (variant == "off")
            {
                NS_TEST_EXPECT_MSG_EQ(marks, 0, "off");
                continue;
            }
            NS_TEST_EXPECT_MSG_GT_OR_EQ(least, 200000, variant << ": none below Kmin");
            onDequeue = variant == "dequeue" ? marks : onDequeue;
        }
        // The standing queue of 430 KB: p = 0.3 x 230 / 400 = 0.17; a frame joins one shorter by
        // itself.
        NS_TEST_EXPECT_MSG_EQ_TOL(onDequeue / 10000.0, 0.17, 0.04, "about the slope's share");
    }
};

class RdmaCnpTestCase : public TestCase
{
  public:
    RdmaCnpTestCase()
        : TestCase("CNPs: one at the first mark, then no sooner than the interval, per queue pair")
    {
    }

  private:
    void DoRun() override
    {
        Bed bed(3, 100 * GBPS);
        bed.helper.SetSwitchAttribute("EcnKmin", UintegerValue(1)); // everything that queues
        bed.helper.SetSwitchAttribute("EcnKmax", UintegerValue(1));
        auto dcqcn = CreateObject<RdmaDcqcnCongestionOps>();
        dcqcn->SetAttribute("CnpInterval", TimeValue(MicroSeconds(7)));
        bed.helper.SetCongestionOps(dcqcn);
        bed.Build();
        std::map<uint32_t, std::vector<int64_t>> sent; // by queue pair, as they leave the receiver
        WatchFrames(bed.fabric->GetNic(0)->GetPort(),
                    "PhyTx",
                    [&](const RdmaPort*, const RdmaFrame* f, int64_t now) {
                        if (f->opcode == RdmaOpcode::CNP)
                        {
                            sent[f->dst].push_back(now);
                            NS_TEST_EXPECT_MSG_EQ(+f->priority, 6, "CnpPriority");
                        }
                        else // an ACK
                        {
                            NS_TEST_EXPECT_MSG_EQ(+f->priority, 3, "of its queue pair");
                        }
                    });
        std::map<uint32_t, int64_t> firstMark; // at the receiver
        WatchFrames(bed.fabric->GetNic(0)->GetPort(),
                    "PhyRx",
                    [&](const RdmaPort*, const RdmaFrame* f, int64_t now) {
                        if (f->flags & RdmaFrame::CE)
                        {
                            firstMark.emplace(f->src, now);
                        }
                    });
        for (const uint32_t host : {1, 2})
        {
            bed.Connect(host, 0).first->PostWrite(1000000, 1);
        }
        Simulator::Run();
        uint64_t total = 0;
        for (const uint32_t host : {1, 2})
        {
            const auto& s = sent[host];
            total += s.size();
            NS_TEST_ASSERT_MSG_GT(s.size(), 5, "CNPs");
            // An ACK or CNP under way delays by 98 B x 80 ps = 7.84 ns at most, so a spacing at the
            // wire may be that much shorter than at the decision.
            NS_TEST_EXPECT_MSG_LT_OR_EQ(s[0] - firstMark[host], 7840, "the first at once");
            for (size_t i = 1; i < s.size(); ++i)
            {
                NS_TEST_EXPECT_MSG_GT_OR_EQ(s[i] - s[i - 1], 7 * US - 7840, "spacing");
            }
        }
        const RdmaNicCounters c = bed.fabric->GetNicTotals();
        NS_TEST_EXPECT_MSG_EQ(c.cnpsSent, total, "counted");
        NS_TEST_EXPECT_MSG_EQ(c.cnpsReceived, total, "all arrive");
    }
};

class RdmaDcqcnFairnessTestCase : public TestCase
{
  public:
    RdmaDcqcnFairnessTestCase()
        : TestCase(
              "DCQCN: a late flow gets its share of a port; the early one recovers when it leaves")
    {
    }

  private:
    void DoRun() override
    {
        // The set of the SIGCOMM 2015 paper at its 40 Gb/s. Flow 1 alone for 1 ms; flow 2 joins at
        // line rate and leaves when its 50 MB are through.
        //
        // Fairness: every cut scales both rates by (1 - alpha / 2), every increase adds the same
        // R_AI to both targets, so the difference shrinks with each cycle of cut and increase and
        // the sum stays (Chiu & Jain 1989: additive increase, multiplicative decrease). 50 MB at
        // half of 40 Gb/s last 20 ms, some 360 increase timers of 55 us. Asked of the last 5 ms:
        // Jain's index above 0.9, which for two flows is a ratio below 2 (seen: 0.99).
        //
        // Recovery, flow 2 gone: the target needs at most (40 - 20) Gb/s / R_AI 40 Mb/s = 500
        // increases, 55 us each by timer alone: 27.5 ms, the byte counter and hyper increase (200
        // Mb/s) only speed it up. Then the rate halves its distance to the target with each.
        Bed bed(3, 40 * GBPS);
        auto dcqcn = CreateObject<RdmaDcqcnCongestionOps>();
        dcqcn->SetAttribute("Preset", EnumValue(rdma::kDcqcnSigcomm15));
        bed.helper.SetCongestionOps(dcqcn);
        // The paper's ECN: 5 and 200 KB at 40 Gb/s, 1%; 10 MB of buffer.
        bed.helper.SetSwitchAttribute("EcnKmin", UintegerValue(12500));
        bed.helper.SetSwitchAttribute("EcnKmax", UintegerValue(500000));
        bed.helper.SetSwitchAttribute("EcnPmax", DoubleValue(0.01));
        bed.helper.SetSwitchAttribute("BufferPer100G", UintegerValue(8000000));
        bed.Build();
        RdmaQueuePair* one;
        RdmaQueuePair* two;
        RdmaQueuePair* oneEnd;
        RdmaQueuePair* twoEnd;
        std::tie(one, oneEnd) = bed.Connect(1, 0);
        std::tie(two, twoEnd) = bed.Connect(2, 0);
        one->PostWrite(1000000000, 1);
        Simulator::Schedule(MilliSeconds(1), [two]() { two->PostWrite(50000000, 2); });
        std::vector<uint64_t> a; // bytes received in each 100 us
        std::vector<uint64_t> b;
        uint64_t lastA = 0;
        uint64_t lastB = 0;
        int64_t left = 0; // when flow 2 was through
        bed.notes.onMessage = [&](Notes::Message m) { left = m.qp == twoEnd ? m.at : left; };
        for (uint32_t i = 1; i <= 700; ++i)
        {
            Simulator::Schedule(MicroSeconds(100 * i), [&]() {
                a.push_back(oneEnd->GetBytesReceived() - lastA);
                b.push_back(twoEnd->GetBytesReceived() - lastB);
                lastA = oneEnd->GetBytesReceived();
                lastB = twoEnd->GetBytesReceived();
            });
        }
        Simulator::Stop(MilliSeconds(70));
        Simulator::Run();

        // Alone: 40 Gb/s x 4096 / 4178 = 490 KB in 100 us.
        const double alone = 40e9 / 8 * 100e-6 * 4096 / 4178;
        NS_TEST_EXPECT_MSG_EQ_TOL(a[5] / alone, 1, 0.01, "line rate while alone");
        NS_TEST_ASSERT_MSG_GT(left, 15000 * US, "flow 2 did not get more than its share by far");
        NS_TEST_ASSERT_MSG_LT(left, 40000 * US, "flow 2 is through");
        const size_t end = static_cast<size_t>(left / (100 * US));
        double sumA = 0;
        double sumB = 0;
        for (size_t i = end - 50; i < end; ++i)
        {
            sumA += static_cast<double>(a[i]);
            sumB += static_cast<double>(b[i]);
        }
        const double jain = (sumA + sumB) * (sumA + sumB) / (2 * (sumA * sumA + sumB * sumB));
        NS_TEST_EXPECT_MSG_GT(jain, 0.9, "fair: " << sumA << " and " << sumB << " B in 5 ms");
        NS_TEST_EXPECT_MSG_GT((sumA + sumB) / (50 * alone), 0.9, "and the port is well used");
        const size_t recovered = end + 290; // 29 ms later
        NS_TEST_ASSERT_MSG_GT(a.size(), recovered + 10, "long enough");
        NS_TEST_EXPECT_MSG_GT(a[recovered] / alone, 0.95, "recovered");
        for (size_t i = end + 2; i < recovered; ++i)
        {
            // Never down again: within a packet or two of 100 us.
            NS_TEST_EXPECT_MSG_GT_OR_EQ(a[i + 1] + 2 * 4096, a[i], "recovers steadily");
        }
        NS_TEST_EXPECT_MSG_EQ(bed.Drops(), 0, "no drop");
        NS_TEST_EXPECT_MSG_EQ((one->GetCongestionState().rateBps <= 40 * GBPS), true, "<= line");
    }
};

class RdmaDcqcnQueueTestCase : public TestCase
{
  public:
    RdmaDcqcnQueueTestCase()
        : TestCase(
              "DCQCN shortens the queue and spares the pauses that the same incast has without it")
    {
    }

  private:
    void DoRun() override
    {
        uint64_t pauses[2];
        double mean[2];
        for (const bool dcqcn : {false, true})
        {
            Bed bed(9, 100 * GBPS);
            if (dcqcn)
            {
                bed.helper.SetCongestionOps(CreateObject<RdmaDcqcnCongestionOps>());
            }
            bed.Build();
            for (uint32_t i = 1; i < 9; ++i)
            {
                bed.Connect(i, 0).first->PostWrite(5000000, i);
            }
            uint64_t sum = 0;
            uint32_t samples = 0;
            for (uint32_t us = 1000; us < 2500; us += 10) // when the start is over
            {
                Simulator::Schedule(MicroSeconds(us), [&]() {
                    sum += bed.Device()->GetPort(0)->GetQueuedBytes();
                    ++samples;
                });
            }
            Simulator::Run();
            NS_TEST_EXPECT_MSG_EQ(bed.notes.messages.size(), 8, "arrived");
            NS_TEST_EXPECT_MSG_EQ(bed.Drops(), 0, "no drop");
            pauses[dcqcn] = bed.fabric->GetPortTotals().pausesSent;
            mean[dcqcn] = static_cast<double>(sum) / samples;
            if (dcqcn)
            {
                NS_TEST_EXPECT_MSG_GT(bed.fabric->GetNicTotals().cnpsReceived, 0, "CNPs");
            }
        }
        NS_TEST_EXPECT_MSG_LT(pauses[1] * 4, pauses[0], "pauses");
        NS_TEST_EXPECT_MSG_LT(mean[1] * 2, mean[0], "queue");
    }
};

class RdmaCongestionTestSuite : public TestSuite
{
  public:
    RdmaCongestionTestSuite()
        : TestSuite("rdma-congestion", UNIT)
    {
        AddTestCase(new RdmaEcnTestCase, TestCase::QUICK);
        AddTestCase(new RdmaEcnVariantsTestCase, TestCase::QUICK);
        AddTestCase(new RdmaCnpTestCase, TestCase::QUICK);
        AddTestCase(new RdmaDcqcnFairnessTestCase, TestCase::QUICK);
        AddTestCase(new RdmaDcqcnQueueTestCase, TestCase::QUICK);
    }
};

static RdmaCongestionTestSuite g_rdmaCongestionTestSuite;
