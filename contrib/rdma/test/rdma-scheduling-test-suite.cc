/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Who sends next: priorities and DWRR in a port, queue pairs in a NIC, rate and window of a queue
 * pair.
 */
#include "rdma-test-fabric.h"

#include <numeric>

using namespace ns3;
using namespace ns3::rdmatest;

namespace
{

/// Two ports on a cable, driven by hand: frames go in by Enqueue, what is sent is noted.
class PortBench : public RdmaPortUser
{
  public:
    explicit PortBench(uint8_t strict)
    {
        RdmaClock::Update();
        for (auto& port : m_ports)
        {
            port = CreateObject<RdmaPort>();
            port->SetRate(100 * GBPS);
            port->SetStrictMask(strict);
            Ptr<Node> node = CreateObject<Node>();
            node->AddDevice(port);
            port->SetUser(this, 0);
        }
        CreateObject<RdmaChannel>()->Attach(m_ports[0], m_ports[1]);
        WatchFrames(m_ports[0], "PhyTx", [this](const RdmaPort*, const RdmaFrame* f, int64_t now) {
            sent.push_back({f->priority, f->FrameBytes(), now, f->psn});
        });
    }

    ~PortBench() override
    {
        Simulator::Destroy();
    }

    void Enqueue(uint8_t priority, uint32_t frameBytes, uint32_t number = 0)
    {
        RdmaFrame* f = RdmaFramePool::Get().Allocate();
        f->wireBytes = frameBytes + RdmaFrame::WIRE_ONLY_BYTES;
        f->priority = priority;
        f->opcode = RdmaOpcode::WRITE_MIDDLE;
        f->flags = 0;
        f->psn = number;
        m_ports[0]->Enqueue(f, RdmaClock::Now());
    }

    void OnFrame(RdmaPort*, RdmaFrame* frame, int64_t) override
    {
        RdmaFramePool::Get().Free(frame);
    }

    void OnDequeue(RdmaPort*, RdmaFrame*, uint64_t, int64_t) override
    {
    }

    RdmaFrame* Pull(RdmaPort*, uint8_t, int64_t) override
    {
        return nullptr;
    }

    Ptr<RdmaPort> operator->()
    {
        return m_ports[0];
    }

    struct Sent
    {
        uint8_t priority;
        uint32_t bytes;
        int64_t at;
        uint32_t number;
    };

    std::vector<Sent> sent;

  private:
    std::array<Ptr<RdmaPort>, 2> m_ports;
};

/// Start times of the data frames of each queue pair (by the peer's number), from now on.
std::shared_ptr<std::map<uint32_t, std::vector<int64_t>>>
WatchStarts(Bed& bed)
{
    auto starts = std::make_shared<std::map<uint32_t, std::vector<int64_t>>>();
    WatchFrames(bed.fabric->GetNic(0)->GetPort(),
                "PhyTx",
                [starts](const RdmaPort*, const RdmaFrame* f, int64_t now) {
                    if (IsData(f->opcode))
                    {
                        (*starts)[f->destQp].push_back(now);
                    }
                });
    return starts;
}

} // namespace

class RdmaStrictTestCase : public TestCase
{
  public:
    RdmaStrictTestCase()
        : TestCase("strict priorities in order, first in first out within each, no gap between")
    {
    }

  private:
    void DoRun() override
    {
        PortBench bench(0xff);
        // The first frame finds the line idle and goes at once, whatever its priority.
        bench.Enqueue(0, 1000, 0);
        for (uint32_t round = 1; round <= 3; ++round)
        {
            for (uint8_t p = 0; p < 8; ++p)
            {
                bench.Enqueue(p, 1000, round);
            }
        }
        Simulator::Run();
        NS_TEST_ASSERT_MSG_EQ(bench.sent.size(), 25, "enqueued = sent");
        for (uint32_t i = 0; i < 25; ++i)
        {
            const auto& s = bench.sent[i];
            NS_TEST_EXPECT_MSG_EQ(s.at, i * 1020 * 80, "back to back: 1020 B x 80 ps");
            if (i > 0)
            {
                NS_TEST_EXPECT_MSG_EQ(+s.priority, 7 - (i - 1) / 3, "7 first");
                NS_TEST_EXPECT_MSG_EQ(s.number, (i - 1) % 3 + 1, "in order");
            }
        }
        NS_TEST_EXPECT_MSG_EQ(bench->GetQueuedBytes(), 0, "empty");
        NS_TEST_EXPECT_MSG_EQ(bench->GetCounters().maxQueueBytes, 24000, "peak");
    }
};

class RdmaDwrrTestCase : public TestCase
{
  public:
    RdmaDwrrTestCase()
        : TestCase("DWRR: bytes follow the weights whatever the frame sizes; strict goes before")
    {
    }

  private:
    void DoRun() override
    {
        PortBench bench(0x80);
        const std::map<uint8_t, uint32_t> weights = {{0, 3000}, {2, 6000}, {3, 12000}, {5, 1500}};
        for (const auto& [priority, weight] : weights)
        {
            bench->SetWeight(priority, weight);
        }
        auto random = CreateObject<UniformRandomVariable>();
        random->SetStream(1);
        // 2 MB a queue, frames of 64 to 1,518 B, small ones in the one with the largest weight.
        for (const auto& [priority, weight] : weights)
        {
            for (uint64_t bytes = 0; bytes < 2000000;)
            {
                const uint32_t frame = random->GetInteger(64, priority == 3 ? 200 : 1518);
                bench.Enqueue(priority, frame);
                bytes += frame;
            }
        }
        bench.Enqueue(7, 500);
        Simulator::Run();
        NS_TEST_EXPECT_MSG_EQ(+bench.sent[1].priority, 7, "strict does not wait for its turn");
        // All four are backlogged until the largest weight has sent its 2 MB.
        std::map<uint8_t, double> bytes;
        for (const auto& s : bench.sent)
        {
            bytes[s.priority] += s.bytes;
            if (bytes[3] > 1990000)
            {
                break;
            }
        }
        bytes.erase(7);
        const double total =
            std::accumulate(bytes.begin(), bytes.end(), 0.0, [](double a, const auto& b) {
                return a + b.second;
            });
        for (const auto& [priority, weight] : weights)
        {
            // Deviation of DWRR: a quantum and a frame, < 0.7% of 1.99 MB x 22.5 / 12 here.
            NS_TEST_EXPECT_MSG_EQ_TOL(bytes[priority] / total / (weight / 22500.0),
                                      1,
                                      0.02,
                                      "share of priority " << +priority);
        }
    }
};

class RdmaDwrrPauseTestCase : public TestCase
{
  public:
    RdmaDwrrPauseTestCase()
        : TestCase(
              "DWRR leaves out a paused priority, which sends no more than its share afterwards")
    {
    }

  private:
    void DoRun() override
    {
        PortBench bench(0);
        for (uint32_t i = 0; i < 400; ++i)
        {
            bench.Enqueue(1, 1000);
            bench.Enqueue(3, 1000);
        }
        // Pause priority 3 of the sender for 100 quanta = 512 ns from the arrival of the frame, at
        // 84 B x 80 ps + 1 us = 1,006.72 ns.
        RdmaPort* peer = bench->GetPeer();
        peer->SendPause(1 << 3, 100, 0);
        Simulator::Run();
        const int64_t from = 1006720;
        const int64_t to = from + 512 * NS;
        int before = 0;
        int after = 0;
        for (const auto& s : bench.sent)
        {
            NS_TEST_EXPECT_MSG_EQ((s.priority == 3 && s.at >= from && s.at < to),
                                  false,
                                  "a paused priority starts no frame, at " << s.at);
            (s.at < from ? before : after) += s.priority == 3 ? 1 : 0;
        }
        NS_TEST_EXPECT_MSG_EQ(before + after, 400, "all sent in the end");
        // 512 ns are 6.3 frames of 81.6 ns. Equal weights before and after, so priority 1 is ahead
        // by about those when it runs empty; one turn (8,192 B: 9 frames) either way.
        int lead = 0;
        for (const auto& s : bench.sent)
        {
            lead += s.priority == 1 ? 1 : -1;
            NS_TEST_EXPECT_MSG_LT(lead, 7 + 18, "priority 3 is not starved");
            NS_TEST_EXPECT_MSG_GT(lead, -18, "priority 3 does not catch up what it lost");
        }
    }
};

class RdmaRoundRobinTestCase : public TestCase
{
  public:
    RdmaRoundRobinTestCase()
        : TestCase("queue pairs take turns packet by packet; a higher priority goes first")
    {
    }

  private:
    void DoRun() override
    {
        Bed bed(2, 100 * GBPS);
        bed.Build();
        std::vector<uint32_t> order;
        WatchFrames(bed.fabric->GetNic(0)->GetPort(),
                    "PhyTx",
                    [&](const RdmaPort*, const RdmaFrame* f, int64_t) {
                        if (IsData(f->opcode))
                        {
                            order.push_back(f->destQp);
                        }
                    });
        std::vector<RdmaQueuePair*> low;
        for (int i = 0; i < 3; ++i)
        {
            low.push_back(bed.Connect(0, 1, 3).first);
        }
        RdmaQueuePair* high = bed.Connect(0, 1, 5).first;
        low[0]->PostWrite(20 * 4096, 0);
        low[1]->PostWrite(20 * 4096, 0);
        low[2]->PostWrite(5 * 4096, 0);
        // While packet 12 is sent: 1.28 x 3 + 12 x 334.24 = 4,014 ns to 4,348 ns.
        Simulator::Schedule(NanoSeconds(4100), [high]() { high->PostWrite(4 * 4096, 0); });
        Simulator::Run();
        // 0 goes at once, then 0 again because it is the only one ready when the line gets idle?
        // No: 1 and 2 were posted meanwhile and 0 stands behind none of them.
        std::vector<uint32_t> expected;
        const auto add = [&expected](std::initializer_list<uint32_t> numbers, int times) {
            for (; times > 0; --times)
            {
                expected.insert(expected.end(), numbers);
            }
        };
        expected = {2};
        add({2, 3, 4}, 4); // packets 1 to 12
        add({5}, 4);
        add({2, 3, 4}, 1); // the third is through
        add({2, 3}, 14);
        add({3}, 1);
        NS_TEST_ASSERT_MSG_EQ(order.size(), 49, "all packets");
        NS_TEST_EXPECT_MSG_EQ((order == expected), true, "turns");
    }
};

/// Two hosts whose queue pairs all send at a fixed rate, bit/s.
struct PacedBed : Bed
{
    explicit PacedBed(uint64_t rate)
    {
        Star(2, 100 * GBPS);
        auto ops = CreateObject<RdmaNoneCongestionOps>();
        ops->SetAttribute("Rate", UintegerValue(rate));
        helper.SetCongestionOps(ops);
        Build();
    }
};

class RdmaPacingTestCase : public TestCase
{
  public:
    RdmaPacingTestCase()
        : TestCase("a fixed rate is kept exactly from the first packet on, by each queue pair")
    {
    }

  private:
    void DoRun() override
    {
        PacedBed bed(25 * GBPS);
        const auto starts = WatchStarts(bed);
        for (int i = 0; i < 2; ++i)
        {
            RdmaQueuePair* qp = bed.Connect(0, 1).first;
            Simulator::Schedule(NanoSeconds(600 * i), [qp]() { qp->PostWrite(100 * 4096, 1); });
        }
        Simulator::Run();
        // At 25 Gb/s, 320 ps/B: FIRST 4194 B = 1,342.08 ns, the others 4178 B = 1,336.96 ns. On the
        // line they take a quarter of that, and the second queue pair's start in the other half.
        for (uint32_t i = 0; i < 2; ++i)
        {
            const auto& s = starts->at(2 + i);
            NS_TEST_ASSERT_MSG_EQ(s.size(), 100, "all packets");
            for (uint32_t k = 0; k < 100; ++k)
            {
                const int64_t expected = 600 * i * NS + (k == 0 ? 0 : 1342080 + (k - 1) * 1336960);
                NS_TEST_ASSERT_MSG_EQ(s[k], expected, "start of packet " << k << " of " << i);
            }
        }
        // 100 packets at 25 Gb/s: the last one's bits end at the line's rate.
        NS_TEST_EXPECT_MSG_EQ(bed.notes.messages.at(0).at,
                              1342080 + 98 * 1336960 + 2 * 334240 + 2500 * NS,
                              "completion");
    }
};

class RdmaOddPacingTestCase : public TestCase
{
  public:
    RdmaOddPacingTestCase()
        : TestCase("paced queue pairs share a line that their rates fill: nobody exceeds its rate")
    {
    }

  private:
    void DoRun() override
    {
        // Five queue pairs of 30 Gb/s want 150 Gb/s of a line of 100: each gets a fifth.
        PacedBed bed(30 * GBPS);
        const auto starts = WatchStarts(bed);
        for (int i = 0; i < 5; ++i)
        {
            bed.Connect(0, 1).first->PostWrite(1000 * 4096, 1);
        }
        Simulator::Stop(MilliSeconds(1));
        Simulator::Run();
        for (const auto& [qp, s] : *starts)
        {
            for (size_t k = 1; k < s.size(); ++k)
            {
                NS_TEST_ASSERT_MSG_GT_OR_EQ(s[k] - s[k - 1], 4178 * 800 / 3, "30 Gb/s at most");
            }
            // 1 ms / 334.24 ns / 5 = 598.4
            NS_TEST_EXPECT_MSG_EQ_TOL(static_cast<double>(s.size()), 598.4, 2, "a fifth");
        }
    }
};

class RdmaWindowTestCase : public TestCase
{
  public:
    RdmaWindowTestCase()
        : TestCase("the window limits throughput to window / round trip, as derived")
    {
    }

  private:
    void DoRun() override
    {
        // Round trip of a packet at 100 Gb/s over one switch: data 2 x 334.24 + 2 x 1000 + 500, ACK
        // 2 x 6.88 + 2 x 1000 + 500 = 5,682.24 ns. Packets in a window of W bytes: W / 4096.
        //
        // ACK for each packet: packet k + n starts when the ACK of packet k comes.
        Check(1, 16, 5682240);
        Check(1, 3, 5682240);
        // One ACK for a window: its last packet asks for it (16th packet, or window closed), n - 1
        // packets behind the first.
        Check(16, 16, 5682240 + 15 * 334240);
        Check(15, 5, 5682240 + 4 * 334240);
        Check(1000, 7, 5682240 + 6 * 334240);
    }

    void Check(uint32_t ackEvery, uint32_t packets, int64_t roundTrip)
    {
        for (const bool byNic : {true, false}) // the NIC's own limit, the congestion control's
        {
            Bed bed(2, 100 * GBPS);
            bed.helper.SetNicAttribute("AckEvery", UintegerValue(ackEvery));
            auto ops = CreateObject<RdmaNoneCongestionOps>();
            const UintegerValue window(packets * 4096);
            byNic ? bed.helper.SetNicAttribute("Window", window)
                  : ops->SetAttribute("Window", window);
            bed.helper.SetCongestionOps(ops);
            bed.Build();
            const auto starts = WatchStarts(bed);
            bed.Connect(0, 1).first->PostWrite(1000 * 4096, 1);
            Simulator::Run();
            const auto& s = starts->at(2);
            NS_TEST_ASSERT_MSG_EQ(s.size(), 1000, "all packets");
            // The first round is 2.56 ns longer: the FIRST packet has 16 B more on two links.
            for (size_t k = packets; k + packets < 1000; ++k)
            {
                NS_TEST_ASSERT_MSG_EQ(s[k + packets] - s[k],
                                      roundTrip,
                                      "ACK every " << ackEvery << ", window " << packets
                                                   << ", packet " << k);
            }
        }
    }
};

/// 1 Gb/s until 10 us, then line rate: a rate that rises by itself.
class RisingCongestionOps : public RdmaCongestionOps
{
  public:
    std::string GetName() const override
    {
        return "rising";
    }

    Ptr<RdmaCongestionOps> Fork() const override
    {
        return Create<RisingCongestionOps>();
    }

    void Init(RdmaCongestionState& state) override
    {
        state.rateBps = GBPS;
        state.nextUpdate = 10 * US;
    }

    void OnUpdate(RdmaCongestionState& state, rdma::TimePoint) override
    {
        state.rateBps = state.line.bps;
        state.nextUpdate = RdmaCongestionState::NEVER;
    }
};

/**
 * At 1 Gb/s the first packet (4096 + 82 + 16 B) gives the second 33.552 us to wait. The rate rises
 * at 10 us: the second packet goes then, and not 23 us later.
 */
class RdmaRisingRateTestCase : public TestCase
{
  public:
    RdmaRisingRateTestCase()
        : TestCase("a queue pair that waits for its rate notices that the rate rises")
    {
    }

  private:
    void DoRun() override
    {
        Bed bed(2, 100 * GBPS);
        bed.helper.SetCongestionOps(Create<RisingCongestionOps>());
        bed.Build();
        const auto starts = WatchStarts(bed);
        bed.Connect(0, 1).first->PostWrite(3 * 4096, 1);
        Simulator::Run();
        const auto& s = starts->at(2);
        NS_TEST_ASSERT_MSG_EQ(s.size(), 3, "all packets");
        NS_TEST_ASSERT_MSG_EQ(s[0], 0, "the first goes at once");
        NS_TEST_ASSERT_MSG_EQ(s[1], 10 * US, "the second when the rate rises");
        // Behind the second one at line rate: (4096 + 82) B x 80 ps.
        NS_TEST_ASSERT_MSG_EQ(s[2], 10 * US + 4178 * 80, "the third back to back");
    }
};

class RdmaSchedulingTestSuite : public TestSuite
{
  public:
    RdmaSchedulingTestSuite()
        : TestSuite("rdma-scheduling", UNIT)
    {
        AddTestCase(new RdmaStrictTestCase, TestCase::QUICK);
        AddTestCase(new RdmaDwrrTestCase, TestCase::QUICK);
        AddTestCase(new RdmaDwrrPauseTestCase, TestCase::QUICK);
        AddTestCase(new RdmaRoundRobinTestCase, TestCase::QUICK);
        AddTestCase(new RdmaPacingTestCase, TestCase::QUICK);
        AddTestCase(new RdmaOddPacingTestCase, TestCase::QUICK);
        AddTestCase(new RdmaRisingRateTestCase, TestCase::QUICK);
        AddTestCase(new RdmaWindowTestCase, TestCase::QUICK);
    }
};

static RdmaSchedulingTestSuite g_rdmaSchedulingTestSuite;
