/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Queue disciplines of ports: closed forms, bounds, laws.
 */
#include "contrib/rdma/core/queue-disc-names.h"
#include "rdma-disc-bench.h"

#include "ns3/rdma-priority-queue-disc.h"

#include <algorithm>
#include <map>
#include <string>
#include <utility>
#include <vector>

using namespace ns3;
using namespace ns3::rdmatest;

namespace
{

/// Sends at most a frame each 5 us.
class SlowQueueDisc : public RdmaPriorityQueueDisc
{
  public:
    static constexpr int64_t GAP = 5 * US;

    static TypeId GetTypeId()
    {
        static TypeId tid = TypeId("ns3::SlowQueueDiscOfTests")
                                .SetParent<RdmaPriorityQueueDisc>()
                                .SetGroupName("Rdma")
                                .AddConstructor<SlowQueueDisc>();
        return tid;
    }

    std::string GetName() const override
    {
        return "slow-of-tests";
    }

    RdmaFrame* Pop(uint8_t eligible, int64_t now) override
    {
        if (now < m_next)
        {
            return nullptr;
        }
        m_next = now + GAP;
        return RdmaPriorityQueueDisc::Pop(eligible, now);
    }

    int64_t NotBefore(uint8_t, int64_t) override
    {
        return m_next;
    }

  protected:
    uint8_t Pick(uint8_t eligible, int64_t) override
    {
        return static_cast<uint8_t>(31 - __builtin_clz(eligible));
    }

  private:
    int64_t m_next{0};
};

NS_OBJECT_ENSURE_REGISTERED(SlowQueueDisc);

const rdma::RegisteredQueueDisc g_slow{"slow-of-tests", "a frame each 5 us"};

} // namespace

class RdmaWeightedSharesTestCase : public TestCase
{
  public:
    RdmaWeightedSharesTestCase()
        : TestCase("shares: DWRR by bytes, WRR by frames, both to the digit")
    {
    }

  private:
    void DoRun() override
    {
        // Goodput of full packets: 100 Gb/s x 4096/4178 = 98.04, in parts of 10:20:70.
        const auto dwrr = Shares("", {{0, 4178, 1}, {2, 4178, 2}, {3, 4178, 7}});
        const std::map<uint8_t, double> expected{{0, 9.80}, {2, 19.61}, {3, 68.63}};
        for (const auto& [priority, gbps] : expected)
        {
            NS_TEST_EXPECT_MSG_EQ_TOL(100.0 * 4096 / 4178 * dwrr.at(priority),
                                      gbps,
                                      0.01 * gbps,
                                      "goodput of priority " << +priority);
        }
        // Frame for frame: 4178 / (4178 + 1106) of the line.
        const auto wrr = Shares("wrr", {{1, 4178, 1}, {5, 1106, 1}});
        NS_TEST_EXPECT_MSG_EQ_TOL(wrr.at(1), 0.7907, 0.0001, "large frames");
        NS_TEST_EXPECT_MSG_EQ_TOL(wrr.at(5), 0.2093, 0.0001, "small frames");
        // The same by bytes: halves.
        NS_TEST_EXPECT_MSG_EQ_TOL(Shares("drr", {{1, 4178, 1}, {5, 1106, 1}}).at(1), 0.5, 0.01, "");
    }

    struct Class
    {
        uint8_t priority;
        uint32_t wire;
        uint32_t weight;
    };

    /// \return shares of wire bytes while all have frames
    std::map<uint8_t, double> Shares(const std::string& disc, const std::vector<Class>& classes)
    {
        DiscBench bench(disc);
        for (const Class& c : classes)
        {
            bench->SetWeight(c.priority, 1600 * c.weight);
            for (uint32_t i = 0; i < 4000; ++i)
            {
                bench.Enqueue({c.priority, c.wire, c.priority, i, 0});
            }
        }
        Simulator::Run();
        NS_TEST_EXPECT_MSG_EQ(bench.sent.size(), 4000 * classes.size(), "all are sent");
        NS_TEST_EXPECT_MSG_EQ(bench->GetQueuedBytes(), 0, "nothing is left");
        std::map<uint8_t, double> bytes;
        std::map<uint8_t, uint32_t> frames;
        double sum = 0;
        for (const auto& s : bench.sent)
        {
            bytes[s.priority] += s.wire;
            sum += s.wire;
            if (++frames[s.priority] == 4000)
            {
                break;
            }
        }
        for (auto& [priority, share] : bytes)
        {
            share /= sum;
        }
        return bytes;
    }
};

class RdmaWrrBoundTestCase : public TestCase
{
  public:
    RdmaWrrBoundTestCase()
        : TestCase("WRR with random weights and sizes: frames over weights never differ by a round "
                   "and a frame")
    {
    }

  private:
    void DoRun() override
    {
        auto random = CreateObject<UniformRandomVariable>();
        random->SetStream(78);
        for (int round = 0; round < 12; ++round)
        {
            DiscBench bench("wrr", 0x80);
            const uint8_t classes = static_cast<uint8_t>(random->GetInteger(2, 7));
            std::vector<uint32_t> weights(classes);
            for (uint8_t p = 0; p < 8; ++p)
            {
                const uint32_t weight = random->GetInteger(1, 100);
                bench->SetWeight(p, weight);
                if (p < classes)
                {
                    weights[p] = weight;
                }
            }
            std::vector<uint32_t> eight;
            for (uint8_t p = 0; p < 8; ++p)
            {
                eight.push_back(bench->GetWeight(p));
            }
            const double least = *std::min_element(eight.begin(), eight.end());
            std::vector<uint32_t> left(classes);
            for (uint8_t p = 0; p < classes; ++p)
            {
                left[p] = random->GetInteger(100, 400);
                for (uint32_t i = 0; i < left[p]; ++i)
                {
                    bench.Enqueue({p, random->GetInteger(84, 4178), p, i, 0});
                }
            }
            bench.Enqueue({7, 600, 7, 0, 0});
            Simulator::Run();
            NS_TEST_EXPECT_MSG_EQ(+bench.sent[1].priority, 7, "strict does not wait");
            // A frame costs `least`. After R rounds p has been given R w, and has spent it but for
            // credit in (-least, w]: frames x least / w is in [R - 1, R + least / w), so two of
            // them differ by less than 1 + least / w <= 2.
            std::vector<uint32_t> frames(classes);
            for (const auto& s : bench.sent)
            {
                if (s.priority == 7)
                {
                    continue;
                }
                ++frames[s.priority];
                if (--left[s.priority] == 0)
                {
                    break;
                }
                for (uint8_t a = 0; a < classes; ++a)
                {
                    for (uint8_t b = 0; b < classes; ++b)
                    {
                        NS_TEST_ASSERT_MSG_LT_OR_EQ(frames[a] * least / weights[a] -
                                                        frames[b] * least / weights[b],
                                                    2 + 1e-9,
                                                    "rounds of " << +a << " and " << +b);
                    }
                }
            }
        }
    }
};

class RdmaSrptTestCase : public TestCase
{
  public:
    RdmaSrptTestCase()
        : TestCase("srpt: three messages of 250, 500 and 750 packets end exactly in that order")
    {
    }

  private:
    void DoRun() override
    {
        // The first packet has an RETH: 4,194 B, 335.52 ns; the others 334.24 ns. It is at the
        // egress after 335.52 + 1,000 + 500 ns. From then on the line to the receiver never rests,
        // and the message that ends as the k-th has all packets of the k least ahead of it, k of
        // them with an RETH. + 1,000 ns.
        Config::SetDefault("ns3::SrptQueueDisc::Queues", UintegerValue(65536)); // no collisions
        Check("srpt", {86396800, 253518080, 504199360});
        Config::SetDefault("ns3::SrptQueueDisc::Queues", UintegerValue(128));
        // First in, first out: the three share the line until the least is through, each packet of
        // it behind two others.
        const std::vector<int64_t> fifo = Run("drr");
        NS_TEST_EXPECT_MSG_EQ_TOL(fifo[0], 252000000, 2500000, "the least waits for all");
        NS_TEST_EXPECT_MSG_EQ(fifo[2], 504199360, "the last ends as ever");
    }

    void Check(const std::string& disc, const std::vector<int64_t>& expected)
    {
        const std::vector<int64_t> ends = Run(disc);
        for (std::size_t i = 0; i < expected.size(); ++i)
        {
            NS_TEST_EXPECT_MSG_EQ(ends[i], expected[i], "end of message " << i);
        }
    }

    static std::vector<int64_t> Run(const std::string& disc)
    {
        Bed bed(4, 100 * GBPS);
        bed.helper.SetPortAttribute("QueueDisc", StringValue(disc));
        bed.Build();
        std::vector<RdmaQueuePair*> receivers;
        for (uint32_t i = 0; i < 3; ++i)
        {
            const auto [from, to] = bed.Connect(i, 3);
            from->PostWrite(uint64_t{4096} * 250 * (i + 1), i);
            receivers.push_back(to);
        }
        Simulator::Run();
        std::vector<int64_t> ends(3);
        for (const auto& message : bed.notes.messages)
        {
            const auto at = std::find(receivers.begin(), receivers.end(), message.qp);
            ends[at - receivers.begin()] = message.at;
        }
        return ends;
    }
};

class RdmaEvictionTestCase : public TestCase
{
  public:
    RdmaEvictionTestCase()
        : TestCase("srpt evicts the largest rank of the priority; nothing is lost count of")
    {
    }

  private:
    void DoRun() override
    {
        DiscBench bench("srpt");
        // The first is sent at once. Flow 1 sends 9,000 to 5,000, flow 2 8,000 and 7,000.
        bench.Enqueue({3, 1020, 1, 0, 9000});
        for (uint32_t i = 1; i <= 4; ++i)
        {
            bench.Enqueue({3, 1020, 1, i, 9000 - 1000 * i});
        }
        bench.Enqueue({3, 1020, 2, 5, 8500});
        bench.Enqueue({3, 1020, 2, 6, 7500});
        bench.Enqueue({0, 1020, 3, 7, 99000}); // of another priority
        NS_TEST_EXPECT_MSG_EQ(bench->GetQueueBytes(3), 6000, "six wait");
        RdmaFrame* arriving = DiscBench::Make({3, 1020, 4, 8, 7000});
        std::vector<uint32_t> evicted;
        while (RdmaFrame* frame = bench->Evict(*arriving, 0))
        {
            evicted.push_back(frame->extra->rank);
            RdmaFramePool::Get().Free(frame);
        }
        RdmaFramePool::Get().Free(arriving);
        const std::vector<uint32_t> expected{8500, 8000, 7500};
        NS_TEST_EXPECT_MSG_EQ((evicted == expected), true, "the largest first, none below 7,000");
        NS_TEST_EXPECT_MSG_EQ(bench->GetQueueBytes(3), 3000, "three wait");
        NS_TEST_EXPECT_MSG_EQ(bench.queueBytes, 3000, "and are told of");
        NS_TEST_EXPECT_MSG_EQ(bench->GetQueueBytes(0), 1000, "another priority's stay");
        uint32_t seen = 0;
        bench->ForEachQueued(3, [&seen](const RdmaFrame&) { ++seen; });
        NS_TEST_EXPECT_MSG_EQ(seen, 3, "as many frames");
        RdmaFrameList taken = bench->TakeQueue(3, 0);
        uint32_t count = 0;
        while (!taken.IsEmpty())
        {
            ++count;
            RdmaFramePool::Get().Free(taken.PopFront());
        }
        NS_TEST_EXPECT_MSG_EQ(count, 3, "taken");
        Simulator::Run();
        NS_TEST_EXPECT_MSG_EQ(bench.sent.size(), 2, "the first, and priority 0");
    }
};

class RdmaPifoTestCase : public TestCase
{
  public:
    RdmaPifoTestCase()
        : TestCase("pifo: the least rank first, equal ones as they came; srpt keeps flows in order")
    {
    }

  private:
    void DoRun() override
    {
        const std::vector<DiscBench::Frame> frames{{3, 1020, 9, 0, 1},
                                                   {3, 1020, 1, 1, 500},
                                                   {3, 1020, 2, 2, 300},
                                                   {3, 1020, 1, 3, 400},
                                                   {3, 1020, 1, 4, 300},
                                                   {3, 1020, 2, 5, 200},
                                                   {3, 1020, 3, 6, 0}};
        Expect("pifo", frames, {0, 6, 5, 2, 4, 3, 1});
        // Flow 2 has the least rank, 200, and sends its oldest first; then flow 1.
        Expect("srpt", frames, {0, 6, 2, 5, 1, 3, 4});
    }

    void Expect(const std::string& disc,
                const std::vector<DiscBench::Frame>& frames,
                const std::vector<uint32_t>& order)
    {
        DiscBench bench(disc);
        for (const auto& frame : frames)
        {
            bench.Enqueue(frame);
        }
        Simulator::Run();
        NS_TEST_EXPECT_MSG_EQ((bench.Numbers() == order), true, "order of " << disc);
        for (std::size_t i = 0; i < bench.sent.size(); ++i)
        {
            NS_TEST_EXPECT_MSG_EQ(bench.sent[i].at, 81600 * static_cast<int64_t>(i), "no gap");
        }
    }
};

class RdmaDiscPauseTestCase : public TestCase
{
  public:
    RdmaDiscPauseTestCase()
        : TestCase("PFC holds a priority of every discipline, and no other; a shaper keeps its gap")
    {
    }

  private:
    void DoRun() override
    {
        for (const std::string disc : {"fq", "pifo", "srpt", "wrr"})
        {
            DiscBench bench(disc);
            for (uint32_t i = 0; i < 40; ++i)
            {
                bench.Enqueue({1, 1020, 1, i, 40 - i});
                bench.Enqueue({3, 1020, 3, i, 40 - i});
            }
            // As in rdma-scheduling: held from 1,006.72 ns on, for 100 quanta of 5.12 ns.
            bench->GetPeer()->SendPause(1 << 3, 100, 0);
            Simulator::Run();
            uint32_t others = 0;
            for (const auto& s : bench.sent)
            {
                const bool held = s.at >= 1006720 && s.at < 1006720 + 512000;
                NS_TEST_EXPECT_MSG_EQ((held && s.priority == 3), false, disc << " at " << s.at);
                others += held && s.priority == 1;
            }
            NS_TEST_EXPECT_MSG_GT(others, 5, "priority 1 goes on");
            NS_TEST_EXPECT_MSG_EQ(bench.sent.size(), 80, "all in the end");
            NS_TEST_EXPECT_MSG_EQ(bench.sent.back().at, 79 * 81600, "the line never rests");
        }
        DiscBench bench("slow-of-tests");
        for (uint32_t i = 0; i < 5; ++i)
        {
            bench.Enqueue({3, 1020, 3, i, 0});
        }
        Simulator::Schedule(NanoSeconds(7000), [&bench] { bench.Enqueue({5, 1020, 3, 9, 0}); });
        Simulator::Run();
        const std::vector<uint32_t> order{0, 1, 9, 2, 3, 4};
        NS_TEST_EXPECT_MSG_EQ((bench.Numbers() == order), true, "the higher priority");
        for (std::size_t i = 0; i < bench.sent.size(); ++i)
        {
            NS_TEST_EXPECT_MSG_EQ(bench.sent[i].at,
                                  SlowQueueDisc::GAP * static_cast<int64_t>(i),
                                  "a frame each 5 us");
        }
    }
};

class RdmaDiscNamesTestCase : public TestCase
{
  public:
    RdmaDiscNamesTestCase()
        : TestCase("every discipline is known by both names; what cannot have one says so")
    {
    }

  private:
    void DoRun() override
    {
        for (const auto& [name, type] : RdmaQueueDisc::GetNames())
        {
            NS_TEST_EXPECT_MSG_EQ(rdma::QueueDiscs().count(name), 1, name << " has no line");
            NS_TEST_EXPECT_MSG_EQ(RdmaQueueDisc::CheckName(type), "", "the TypeId is a name, too");
        }
        NS_TEST_EXPECT_MSG_EQ(RdmaQueueDisc::GetNames().size() + 2,
                              rdma::QueueDiscs().size(),
                              "drr and strict have no class");
        const std::string unknown = ErrorOf("srtp");
        NS_TEST_EXPECT_MSG_NE(unknown.find("ns3::RdmaPort::QueueDisc: 'srtp' is unknown; allowed: "
                                           "drr, strict, credit, fq, "),
                              std::string::npos,
                              unknown);
        NS_TEST_EXPECT_MSG_NE(unknown.find("did you mean srpt?"), std::string::npos, unknown);
        const auto trims = [](RdmaFabricHelper& helper) {
            helper.SetSwitchAttribute("Pfc", BooleanValue(false));
            helper.SetSwitchAttribute("TrimPackets", UintegerValue(8));
            helper.SetNicAttribute("LossRecovery", StringValue("ndp"));
            helper.SetNicAttribute("AckPriority", UintegerValue(5));
        };
        NS_TEST_EXPECT_MSG_NE(ErrorOf("fq", trims).find("a switch that trims"),
                              std::string::npos,
                              ErrorOf("fq", trims));
        const auto infiniBand = [](RdmaFabricHelper& helper) { helper.SetInfiniBand({}); };
        NS_TEST_EXPECT_MSG_NE(ErrorOf("wrr", infiniBand).find("arbitrate virtual lanes"),
                              std::string::npos,
                              ErrorOf("wrr", infiniBand));
        NS_TEST_EXPECT_MSG_EQ(ErrorOf("drr", infiniBand), "", "the port's own is none");
    }

    static std::string ErrorOf(const std::string& disc,
                               const std::function<void(RdmaFabricHelper&)>& change = {})
    {
        Bed bed(2, 100 * GBPS);
        if (change)
        {
            change(bed.helper);
        }
        bed.helper.SetPortAttribute("QueueDisc", StringValue(disc));
        std::string error;
        bed.fabric = bed.helper.Build(bed.nodes, bed.links, error);
        return error;
    }
};

class RdmaDiscLawsTestCase : public TestCase
{
  public:
    RdmaDiscLawsTestCase()
        : TestCase("with losses, a link that fails and evictions: all messages arrive, all frames "
                   "are accounted for")
    {
    }

  private:
    void DoRun() override
    {
        for (const std::string disc : {"fq", "pifo", "srpt", "wrr"})
        {
            const uint64_t live = RdmaFramePool::GetLive();
            {
                Bed bed(5, 100 * GBPS);
                bed.helper.SetPortAttribute("QueueDisc", StringValue(disc));
                bed.helper.SetSwitchAttribute("Pfc", BooleanValue(false));
                bed.helper.SetSwitchAttribute("BufferBytes", UintegerValue(200000));
                bed.helper.SetNicAttribute("LossRecovery", StringValue("out-of-order"));
                bed.helper.SetNicAttribute("Window", UintegerValue(100000));
                bed.Build();
                for (uint32_t i = 0; i < 4; ++i)
                {
                    bed.Connect(i, 4).first->PostWrite(1000000 * (i + 1), i);
                }
                for (const bool down : {true, false})
                {
                    Simulator::ScheduleWithContext(
                        Simulator::NO_CONTEXT,
                        MicroSeconds(down ? 150 : 170),
                        [&bed, down] { bed.fabric->SetLinkDown(4, down); });
                }
                Simulator::Run();
                NS_TEST_EXPECT_MSG_EQ(bed.notes.messages.size(), 4, "all arrive with " << disc);
                const Ptr<RdmaSwitch> device = bed.Device();
                NS_TEST_EXPECT_MSG_GT(bed.Drops(), 0, "some are dropped");
                NS_TEST_EXPECT_MSG_EQ(device->GetReceived(),
                                      device->GetForwarded() + bed.Drops(),
                                      "frames of the switch, with " << disc);
                NS_TEST_EXPECT_MSG_EQ(device->GetBuffer().Stored(), 0, "the buffer is empty");
            }
            NS_TEST_EXPECT_MSG_EQ(RdmaFramePool::GetLive(), live, "no frame is left over");
        }
    }
};

class RdmaQueueingTestSuite : public TestSuite
{
  public:
    RdmaQueueingTestSuite()
        : TestSuite("rdma-queueing", UNIT)
    {
        AddTestCase(new RdmaWeightedSharesTestCase, TestCase::QUICK);
        AddTestCase(new RdmaWrrBoundTestCase, TestCase::QUICK);
        AddTestCase(new RdmaSrptTestCase, TestCase::QUICK);
        AddTestCase(new RdmaEvictionTestCase, TestCase::QUICK);
        AddTestCase(new RdmaPifoTestCase, TestCase::QUICK);
        AddTestCase(new RdmaDiscPauseTestCase, TestCase::QUICK);
        AddTestCase(new RdmaDiscNamesTestCase, TestCase::QUICK);
        AddTestCase(new RdmaDiscLawsTestCase, TestCase::QUICK);
    }
};

static RdmaQueueingTestSuite g_rdmaQueueingTestSuite;
