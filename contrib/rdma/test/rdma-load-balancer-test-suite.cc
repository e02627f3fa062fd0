/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Load balancers, on both fabrics: what they choose, what they may keep, that runs repeat, and what
 * becomes of their choice when a link fails.
 */
#include "rdma-test-fabric.h"

#include "ns3/rdma-load-balancer.h"

#include <algorithm>
#include <array>
#include <numeric>
#include <set>

using namespace ns3;
using namespace ns3::rdmatest;

namespace
{

constexpr uint32_t SPINES = 4;
constexpr uint32_t HOSTS = 4; // a leaf

/// Uses all that a load balancer may: its first port until a timer fires 10 us after the first
/// packet, then, for each flow, a port by its own random numbers; counts what comes back.
class TurningLoadBalancer : public RdmaLoadBalancer
{
  public:
    TurningLoadBalancer()
        : m_random(CreateObject<UniformRandomVariable>()),
          m_timer(this)
    {
    }

    static TypeId GetTypeId()
    {
        static TypeId tid = TypeId("ns3::rdmatest::TurningLoadBalancer")
                                .SetParent<RdmaLoadBalancer>()
                                .SetGroupName("Rdma")
                                .AddConstructor<TurningLoadBalancer>();
        return tid;
    }

    std::string GetName() const override
    {
        return "test-turning";
    }

    uint16_t Choose(const Candidates& candidates,
                    const RdmaFrame& frame,
                    const RdmaQueues& queues,
                    rdma::TimePoint now) override
    {
        wrong += candidates.size < 1 || candidates.set >= sets ||
                 !std::is_sorted(candidates.begin(), candidates.end());
        for (const uint16_t port : candidates)
        {
            wrong += queues.GetRate(port) != 100 * GBPS;
        }
        if (!m_armed)
        {
            m_armed = true;
            m_timer.ScheduleAt(now.ps + 10 * US, GetNode());
        }
        if (!turnedAt)
        {
            return candidates.ports[0];
        }
        const auto [flow, isNew] = m_flows.emplace(std::make_pair(frame.src, frame.dst), 0);
        if (isNew)
        {
            flow->second = m_random->GetInteger(0, candidates.size - 1);
        }
        return candidates.ports[flow->second % candidates.size];
    }

    void OnRoutes(uint32_t number) override
    {
        sets = number;
    }

    bool NeedsFeedback() const override
    {
        return true;
    }

    void OnFeedback(const RdmaFrame& frame, uint16_t inPort, rdma::TimePoint) override
    {
        wrong += IsData(frame.opcode);
        ++feedback[inPort];
    }

    int64_t AssignStreams(int64_t stream) override
    {
        m_random->SetStream(stream);
        return 1;
    }

    uint32_t wrong{0};
    uint32_t sets{0};
    int64_t turnedAt{0}; //!< ps
    std::map<uint16_t, uint64_t> feedback;

  private:
    void Turn()
    {
        turnedAt = RdmaClock::Now();
    }

    Ptr<UniformRandomVariable> m_random;
    RdmaTimer<TurningLoadBalancer, &TurningLoadBalancer::Turn> m_timer;
    bool m_armed{false};
    std::map<std::pair<uint32_t, uint32_t>, uint32_t> m_flows;
};

NS_OBJECT_ENSURE_REGISTERED(TurningLoadBalancer);

using Split = std::array<uint64_t, SPINES>;

/// Two leaves of four hosts, four spines, 100 Gb/s everywhere. h0 .. h3 are on leaf 0.
class LeafSpine : public Bed
{
  public:
    LeafSpine(bool credits, const std::string& balancer)
    {
        for (uint32_t h = 0; h < 2 * HOSTS; ++h)
        {
            Host("h" + std::to_string(h));
        }
        const uint32_t leaf[2] = {Switch("l0"), Switch("l1")};
        for (uint32_t h = 0; h < 2 * HOSTS; ++h)
        {
            Link(h, leaf[h / HOSTS], 100 * GBPS, 100 * NS);
        }
        for (uint32_t s = 0; s < SPINES; ++s)
        {
            const uint32_t spine = Switch("p" + std::to_string(s));
            Link(leaf[0], spine, 100 * GBPS, 100 * NS);
            Link(leaf[1], spine, 100 * GBPS, 100 * NS);
        }
        if (credits)
        {
            helper.SetInfiniBand({});
        }
        helper.SetSwitchAttribute("LoadBalancer", StringValue(balancer));
        helper.SetNicAttribute("LossRecovery", StringValue("out-of-order"));
    }

    Ptr<RdmaPort> Uplink(uint32_t spine) const
    {
        return fabric->GetSwitches()[0]->GetPort(static_cast<uint16_t>(HOSTS + spine));
    }

    /// \return the number of the cable from a leaf to a spine
    static uint32_t Cable(uint32_t leaf, uint32_t spine)
    {
        return 2 * HOSTS + 2 * spine + leaf;
    }

    /// \return data packets that leaf 0 sent to each spine
    Split UpPackets() const
    {
        Split sent;
        for (uint32_t s = 0; s < SPINES; ++s)
        {
            sent[s] = Uplink(s)->GetCounters().txDataFrames;
        }
        return sent;
    }

    /// 1 MB from each of the first hosts of leaf 0 to its own on leaf 1: 245 packets of 4096 B.
    void Send(uint32_t flows)
    {
        for (uint32_t h = 0; h < flows; ++h)
        {
            Connect(h, HOSTS + h, 3 * !fabric->GetLinkLayer().HasCredits())
                .first->PostWrite(1000000, h);
        }
    }
};

constexpr uint64_t PACKETS = 245; // ceil(1,000,000 / 4096)

std::string
Words(const char* what, bool credits)
{
    return std::string(what) + (credits ? ", InfiniBand" : ", Ethernet");
}

uint64_t
Sum(const Split& split)
{
    return std::accumulate(split.begin(), split.end(), uint64_t{0});
}

} // namespace

/// What goes up where, by name.
class RdmaLoadBalancerSplitTestCase : public TestCase
{
  public:
    explicit RdmaLoadBalancerSplitTestCase(bool credits)
        : TestCase(Words("how packets are split over uplinks", credits)),
          m_credits(credits)
    {
    }

  private:
    Split Run(const std::string& balancer, uint32_t flows, uint64_t run = 1, bool turns = false)
    {
        RngSeedManager::SetRun(run);
        Config::SetDefault("ns3::SprayLoadBalancer::Order",
                           StringValue(turns ? "round-robin" : "random"));
        LeafSpine bed(m_credits, balancer);
        bed.Build();
        bed.Send(flows);
        Simulator::Run();
        RngSeedManager::SetRun(1);
        Config::SetDefault("ns3::SprayLoadBalancer::Order", StringValue("random"));
        NS_TEST_EXPECT_MSG_EQ(bed.notes.messages.size(), flows, balancer << ": all arrive, once");
        NS_TEST_EXPECT_MSG_EQ(bed.fabric->GetNicTotals().retransmittedPackets,
                              0,
                              balancer << ": in any order");
        NS_TEST_EXPECT_MSG_EQ(bed.Drops(), 0, balancer);
        const Split split = bed.UpPackets();
        NS_TEST_EXPECT_MSG_EQ(Sum(split), flows * PACKETS, balancer << ": each packet once");
        return split;
    }

    void DoRun() override
    {
        // A flow has one way, and so has a table's destination.
        for (const std::string balancer : {"ecmp", m_credits ? "" : "ns3::EcmpLoadBalancer"})
        {
            const Split one = Run(balancer, 1);
            NS_TEST_EXPECT_MSG_EQ(*std::max_element(one.begin(), one.end()), PACKETS, balancer);
        }
        // Nothing queues for a flow alone, so adaptive routing never leaves its way. All four
        // flows: as soon as two meet, packets go around, and no uplink is left out or alone.
        const Split alone = Run("adaptive", 1);
        NS_TEST_EXPECT_MSG_EQ(*std::max_element(alone.begin(), alone.end()), PACKETS, "adaptive");
        const Split around = Run("adaptive", 4);
        NS_TEST_EXPECT_MSG_GT(*std::min_element(around.begin(), around.end()), 0, "adaptive");

        // In turns: to the packet, for each set of ports.
        const Split turns = Run("spray", 1, 1, true);
        for (const uint64_t packets : turns)
        {
            NS_TEST_EXPECT_MSG_EQ_TOL(static_cast<double>(packets), PACKETS / 4., 1, "in turns");
        }
        // By chance: binomial, 980 packets, a quarter each: 245, standard deviation
        // sqrt(980 x 3 / 16) = 13.6; within five of them but once in a million.
        const Split chance = Run("spray", 4);
        for (const uint64_t packets : chance)
        {
            NS_TEST_EXPECT_MSG_EQ_TOL(static_cast<double>(packets), 245., 68, "by chance");
        }
        NS_TEST_EXPECT_MSG_EQ((Run("spray", 4) == chance), true, "the same run again");
        NS_TEST_EXPECT_MSG_EQ((Run("spray", 4, 2) == chance), false, "another run");
    }

    bool m_credits;
};

/// What the spraying of packets costs a recovery that takes an overtaken packet for a lost one.
class RdmaLoadBalancerOrderTestCase : public TestCase
{
  public:
    RdmaLoadBalancerOrderTestCase()
        : TestCase("packets that overtake each other, by loss recovery")
    {
    }

  private:
    RdmaNicCounters Run(const std::string& balancer, const std::string& recovery)
    {
        LeafSpine bed(false, balancer);
        bed.helper.SetNicAttribute("LossRecovery", StringValue(recovery));
        bed.Build();
        bed.Send(4);
        Simulator::Run();
        NS_TEST_EXPECT_MSG_EQ(bed.notes.messages.size(), 4, balancer << ", " << recovery);
        NS_TEST_EXPECT_MSG_EQ(bed.Drops(), 0, "nothing is lost");
        return bed.fabric->GetNicTotals();
    }

    void DoRun() override
    {
        for (const std::string recovery : {"go-back-n", "selective-repeat"})
        {
            NS_TEST_EXPECT_MSG_EQ(Run("ecmp", recovery).retransmittedPackets, 0, "in order");
            NS_TEST_EXPECT_MSG_GT(Run("spray", recovery).retransmittedPackets, 0, recovery);
        }
        const RdmaNicCounters any = Run("spray", "out-of-order");
        NS_TEST_EXPECT_MSG_EQ(any.retransmittedPackets + any.naksSent + any.timeouts, 0, "any");
    }
};

/// A cable fails while packets are sprayed.
class RdmaLoadBalancerFailureTestCase : public TestCase
{
  public:
    RdmaLoadBalancerFailureTestCase(bool credits, uint32_t leaf)
        : TestCase(Words(leaf ? "a far cable fails" : "a near cable fails", credits)),
          m_credits(credits),
          m_leaf(leaf)
    {
    }

  private:
    void DoRun() override
    {
        LeafSpine bed(m_credits, "spray");
        bed.Build();
        bed.Send(4);
        // 1 MB is 82 us of a host's line.
        uint64_t atFailure = 0;
        uint64_t queued = 0;
        uint64_t atRepair = 0;
        Simulator::Schedule(MicroSeconds(20), [&] {
            queued = bed.Uplink(2)->GetQueuedBytes() / 4096;
            atFailure = bed.UpPackets()[2];
            NS_TEST_EXPECT_MSG_EQ(bed.fabric->SetLinkDown(LeafSpine::Cable(m_leaf, 2), true),
                                  "",
                                  "down");
        });
        Simulator::Schedule(MicroSeconds(50), [&] {
            atRepair = bed.UpPackets()[2];
            NS_TEST_EXPECT_MSG_EQ(bed.fabric->SetLinkDown(LeafSpine::Cable(m_leaf, 2), false),
                                  "",
                                  "up");
        });
        Simulator::Run();
        NS_TEST_EXPECT_MSG_GT(atFailure, 0, "used before");
        // What waits for it is dropped, or still sent: on InfiniBand, or if the cable is the far
        // one.
        NS_TEST_EXPECT_MSG_LT_OR_EQ(atRepair - atFailure, queued, "no other packet goes there");
        NS_TEST_EXPECT_MSG_GT(bed.UpPackets()[2], atRepair, "used again");
        NS_TEST_EXPECT_MSG_EQ(bed.notes.messages.size(), 4, "all arrive, once");
    }

    bool m_credits;
    uint32_t m_leaf;
};

/// A class of a user's own: timer, random stream, state of flows, the receiver's word.
class RdmaLoadBalancerSeamTestCase : public TestCase
{
  public:
    explicit RdmaLoadBalancerSeamTestCase(bool credits)
        : TestCase(Words("a load balancer of one's own", credits)),
          m_credits(credits)
    {
    }

  private:
    void DoRun() override
    {
        LeafSpine bed(m_credits, "test-turning");
        bed.helper.SetNicAttribute("AckEvery", UintegerValue(1));
        bed.Build();
        std::vector<Split> looks;
        Simulator::Schedule(MicroSeconds(9), [&] { looks.push_back(bed.UpPackets()); });
        Simulator::Schedule(MicroSeconds(30), [&] { looks.push_back(bed.UpPackets()); });
        bed.Send(4);
        Simulator::Run();
        NS_TEST_EXPECT_MSG_EQ(bed.notes.messages.size(), 4, "all arrive");
        const auto own =
            DynamicCast<TurningLoadBalancer>(bed.fabric->GetSwitches()[0]->GetLoadBalancer());
        NS_TEST_ASSERT_MSG_NE(own, nullptr, "made by name");
        NS_TEST_EXPECT_MSG_EQ(own->wrong, 0, "what it is given");
        // Its hosts one by one, and the way up, which all others share.
        NS_TEST_EXPECT_MSG_EQ(own->sets, HOSTS + 1, "sets");
        NS_TEST_EXPECT_MSG_GT(looks[0][0], 0, "the first port");
        NS_TEST_EXPECT_MSG_EQ(looks[0][1] + looks[0][2] + looks[0][3], 0, "nothing else yet");
        // The first packet is at the leaf after some 1 us.
        NS_TEST_EXPECT_MSG_GT_OR_EQ(own->turnedAt, 10 * US, "the timer");
        NS_TEST_EXPECT_MSG_LT(own->turnedAt, 12 * US, "the timer");
        NS_TEST_EXPECT_MSG_GT(looks[1][1] + looks[1][2] + looks[1][3], 0, "others since");
        // All ACKs come from the spines; a packet that overtook another is not answered at once.
        uint64_t back = 0;
        for (const auto& [port, acks] : own->feedback)
        {
            NS_TEST_EXPECT_MSG_GT_OR_EQ(port, HOSTS, "from above");
            back += acks;
        }
        NS_TEST_EXPECT_MSG_EQ(back, bed.fabric->GetNicTotals().acksSent, "what the receivers say");
        NS_TEST_EXPECT_MSG_GT(back, 2 * PACKETS, "most packets are answered");
    }

    bool m_credits;
};

/// What the other schemes do with the same flows.
class RdmaLoadBalancerSchemesTestCase : public TestCase
{
  public:
    explicit RdmaLoadBalancerSchemesTestCase(bool credits)
        : TestCase(Words("flowlets, queues, feedback", credits)),
          m_credits(credits)
    {
    }

  private:
    /// \param selector of NICs \return data packets by uplink
    Split Run(const std::string& balancer, uint32_t flows, const std::string& selector = "")
    {
        LeafSpine bed(m_credits, balancer);
        bed.helper.SetNicAttribute("PathSelector", StringValue(selector));
        bed.Build();
        bed.Send(flows);
        Simulator::Run();
        m_nics = bed.fabric->GetNicTotals();
        NS_TEST_EXPECT_MSG_EQ(bed.notes.messages.size(), flows, balancer << selector);
        NS_TEST_EXPECT_MSG_EQ(m_nics.retransmittedPackets, 0, balancer << selector);
        const Split split = bed.UpPackets();
        NS_TEST_EXPECT_MSG_EQ(Sum(split), flows * PACKETS, balancer << selector);
        return split;
    }

    static uint64_t Most(const Split& split)
    {
        return *std::max_element(split.begin(), split.end());
    }

    void DoRun() override
    {
        // Packets of 334 ns on a line that nobody shares: no gap of 100 us, so one flowlet.
        NS_TEST_EXPECT_MSG_EQ(Most(Run("flowlet", 1)), PACKETS, "one flowlet");
        NS_TEST_EXPECT_MSG_EQ(m_nics.outOfOrderReceived, 0, "in order");
        // With gaps of 0 each packet is one: by chance, as spraying (see there for the bound).
        Config::SetDefault("ns3::FlowletLoadBalancer::Gap", TimeValue(Time(0)));
        for (const uint64_t packets : Run("flowlet", 4))
        {
            NS_TEST_EXPECT_MSG_EQ_TOL(static_cast<double>(packets), 245., 68, "each packet");
        }
        Config::SetDefault("ns3::FlowletLoadBalancer::Gap", TimeValue(MicroSeconds(100)));
        // Four flows fill four uplinks: whoever sees the queues leaves none idle, and as none may
        // be longer than the others for long, they are even to some packets.
        Config::SetDefault("ns3::DrillLoadBalancer::Samples", UintegerValue(64));
        for (const std::string balancer : {"drill", "spray"})
        {
            Config::SetDefault("ns3::SprayLoadBalancer::Order", StringValue("least-queue"));
            NS_TEST_EXPECT_MSG_LT(Most(Run(balancer, 4)), 245 + 25, balancer);
        }
        Config::SetDefault("ns3::SprayLoadBalancer::Order", StringValue("random"));
        Config::SetDefault("ns3::DrillLoadBalancer::Samples", UintegerValue(2));
        NS_TEST_EXPECT_MSG_LT(Most(Run("drill", 4)), 245 + 40, "two choices and a memory");
        NS_TEST_EXPECT_MSG_GT(m_nics.outOfOrderReceived, 0, "overtaken");
        NS_TEST_EXPECT_MSG_GT(m_nics.largestReorder, 0, "by some");
        NS_TEST_EXPECT_MSG_GT(m_nics.largestHeldBytes, 4095, "kept");
        // A flow that is alone stays where it is, and those that meet part once, not packet by
        // packet.
        Run("adaptive", 4);
        const uint64_t restless = m_nics.outOfOrderReceived;
        Config::SetDefault("ns3::AdaptiveLoadBalancer::Sticky", BooleanValue(true));
        Run("adaptive", 4);
        NS_TEST_EXPECT_MSG_LT_OR_EQ(m_nics.outOfOrderReceived, restless, "sticky");
        Config::SetDefault("ns3::AdaptiveLoadBalancer::Sticky", BooleanValue(false));
        if (m_credits)
        {
            return;
        }
        // Entropies: as many ways as there are, and each of them was told of.
        const Split reps = Run("ecmp", 4, "reps");
        for (const uint64_t packets : reps)
        {
            NS_TEST_EXPECT_MSG_EQ_TOL(static_cast<double>(packets), 245., 68, "reps");
        }
        NS_TEST_EXPECT_MSG_GT(m_nics.pathChanges, 3 * PACKETS / 2, "most packets go elsewhere");
        NS_TEST_EXPECT_MSG_EQ(m_nics.acksSent, 4 * PACKETS, "every packet is answered");
        NS_TEST_EXPECT_MSG_EQ(Most(Run("ecmp", 1, "plb")), PACKETS, "nothing is congested");
        NS_TEST_EXPECT_MSG_EQ(m_nics.pathChanges, 0, "plb");
    }

    bool m_credits;
    RdmaNicCounters m_nics;
};

/// A flow that begins while another one is under way takes another uplink: CONGA sees it, a hash
/// does not.
class RdmaLoadBalancerCongaTestCase : public TestCase
{
  public:
    RdmaLoadBalancerCongaTestCase()
        : TestCase("CONGA keeps out of the way of what is there")
    {
    }

  private:
    /// \return uplinks that two flows used, the second one 300 us after the first
    uint32_t Used(const std::string& balancer, uint64_t run)
    {
        RngSeedManager::SetRun(run);
        LeafSpine bed(false, balancer);
        bed.Build();
        const auto first = bed.Connect(0, HOSTS, 3).first;
        const auto second = bed.Connect(1, HOSTS + 1, 3).first;
        first->PostWrite(8000000, 0); // 660 us of its line
        Simulator::Schedule(MicroSeconds(300), [&] { second->PostWrite(1000000, 1); });
        Simulator::Run();
        RngSeedManager::SetRun(1);
        NS_TEST_EXPECT_MSG_EQ(bed.notes.messages.size(), 2, balancer);
        uint32_t used = 0;
        for (const uint64_t packets : bed.UpPackets())
        {
            used += packets > 0;
        }
        return used;
    }

    void DoRun() override
    {
        uint32_t hashed = 0;
        for (uint64_t run = 1; run <= 24; ++run)
        {
            NS_TEST_EXPECT_MSG_EQ(Used("conga", run), 2, "run " << run);
            hashed += Used("ecmp", run) == 1;
        }
        // A quarter of them meet: none of 24 do but once in a thousand.
        NS_TEST_EXPECT_MSG_GT(hashed, 0, "hashes meet");
    }
};

/// A name that nobody has.
class RdmaLoadBalancerNameTestCase : public TestCase
{
  public:
    explicit RdmaLoadBalancerNameTestCase(bool credits)
        : TestCase(Words("an unknown name", credits)),
          m_credits(credits)
    {
    }

  private:
    void DoRun() override
    {
        for (const std::string name : {"sprai", ""})
        {
            LeafSpine bed(m_credits, name);
            std::string error;
            const auto fabric = bed.helper.Build(bed.nodes, bed.links, error);
            const bool refused = !name.empty() || !m_credits; // a table needs none
            NS_TEST_EXPECT_MSG_EQ((fabric == nullptr), refused, error);
            const std::string expected =
                std::string("l0: ns3::") + (m_credits ? "IbSwitch" : "RdmaSwitch") +
                "::LoadBalancer: '" + name +
                "' is unknown; allowed: adaptive, conga, conweave, drill, ecmp";
            NS_TEST_EXPECT_MSG_EQ(error.substr(0, refused ? expected.size() : 0),
                                  (refused ? expected : ""),
                                  "the names there are");
        }
        std::set<std::string> names;
        for (const auto& [name, type] : RdmaLoadBalancer::GetNames())
        {
            names.insert(name);
            NS_TEST_EXPECT_MSG_EQ(RdmaLoadBalancer::Make(type)->GetName(), name, "by its TypeId");
        }
        NS_TEST_EXPECT_MSG_EQ(names.size(), RdmaLoadBalancer::GetNames().size(), "different");
    }

    bool m_credits;
};

/// --spray=permuted: each of a flow's packets in turn, at each of two tiers.
class RdmaLoadBalancerPermutedTestCase : public TestCase
{
  public:
    RdmaLoadBalancerPermutedTestCase()
        : TestCase("permuted: a flow takes each way once before it takes one again")
    {
    }

  private:
    void DoRun() override
    {
        Config::SetDefault("ns3::SprayLoadBalancer::Order", StringValue("permuted"));
        {
            LeafSpine bed(false, "spray");
            bed.Build();
            std::array<std::vector<uint64_t>, SPINES> psns;
            for (uint32_t s = 0; s < SPINES; ++s)
            {
                WatchFrames(bed.Uplink(s),
                            "PhyTx",
                            [&psns, s](const RdmaPort*, const RdmaFrame* frame, int64_t) {
                                psns[s].push_back(frame->psn);
                            });
            }
            bed.Send(1);
            Simulator::Run();
            NS_TEST_EXPECT_MSG_EQ(bed.notes.messages.size(), 1, "all arrive");
            uint32_t turned = 0;
            for (uint32_t s = 0; s < SPINES; ++s)
            {
                NS_TEST_EXPECT_MSG_EQ_TOL(static_cast<double>(psns[s].size()), 245 / 4., 1, s);
                for (size_t i = 0; i < psns[s].size(); ++i)
                {
                    NS_TEST_EXPECT_MSG_EQ(psns[s][i] / 4, i, "one of each four in a row");
                    turned += i && psns[s][i] % 4 != psns[s][i - 1] % 4;
                }
            }
            // By chance another one each time: of 244 three quarters, 183, deviation 6.8.
            NS_TEST_EXPECT_MSG_EQ_TOL(static_cast<double>(turned), 183., 60, "in no fixed order");
        }
        for (uint32_t run = 1; run <= 5; ++run)
        {
            // Two pods of two edges and two switches above, four cores.
            RngSeedManager::SetRun(run);
            Bed bed;
            for (uint32_t h = 0; h < 4; ++h)
            {
                bed.Host("h" + std::to_string(h));
            }
            std::vector<uint32_t> edge;
            std::vector<uint32_t> agg;
            std::vector<uint32_t> core;
            for (uint32_t i = 0; i < 4; ++i)
            {
                edge.push_back(bed.Switch("e" + std::to_string(i)));
                bed.Link(i, edge[i], 100 * GBPS);
            }
            for (uint32_t i = 0; i < 4; ++i)
            {
                agg.push_back(bed.Switch("a" + std::to_string(i)));
                bed.Link(edge[i / 2 * 2], agg[i], 100 * GBPS);
                bed.Link(edge[i / 2 * 2 + 1], agg[i], 100 * GBPS);
            }
            for (uint32_t i = 0; i < 4; ++i)
            {
                core.push_back(bed.Switch("c" + std::to_string(i)));
                bed.Link(agg[i / 2], core[i], 100 * GBPS);
                bed.Link(agg[2 + i / 2], core[i], 100 * GBPS);
            }
            bed.helper.SetSwitchAttribute("LoadBalancer", StringValue("spray"));
            bed.helper.SetNicAttribute("LossRecovery", StringValue("out-of-order"));
            bed.Build();
            std::array<uint64_t, 4> sent{};
            for (uint32_t c = 0; c < 4; ++c)
            {
                WatchFrames(bed.fabric->GetSwitches()[8 + c]->GetPort(1),
                            "PhyTx",
                            [&sent, c](const RdmaPort*, const RdmaFrame* frame, int64_t) {
                                sent[c] += IsData(frame->opcode);
                            });
            }
            bed.Connect(0, 3).first->PostWrite(1000000, 0);
            Simulator::Run();
            NS_TEST_EXPECT_MSG_EQ(bed.notes.messages.size(), 1, "all arrive");
            for (uint32_t c = 0; c < 4; ++c)
            {
                NS_TEST_EXPECT_MSG_EQ_TOL(static_cast<double>(sent[c]),
                                          245 / 4.,
                                          2,
                                          "core " << c << ", run " << run);
            }
        }
        RngSeedManager::SetRun(1);
        Config::SetDefault("ns3::SprayLoadBalancer::Order", StringValue("random"));
    }
};

class RdmaLoadBalancerTestSuite : public TestSuite
{
  public:
    RdmaLoadBalancerTestSuite()
        : TestSuite("rdma-load-balancer", UNIT)
    {
        for (const bool credits : {false, true})
        {
            AddTestCase(new RdmaLoadBalancerSplitTestCase(credits), TestCase::QUICK);
            AddTestCase(new RdmaLoadBalancerSeamTestCase(credits), TestCase::QUICK);
            AddTestCase(new RdmaLoadBalancerNameTestCase(credits), TestCase::QUICK);
            AddTestCase(new RdmaLoadBalancerSchemesTestCase(credits), TestCase::QUICK);
            for (uint32_t leaf = 0; leaf < 2; ++leaf)
            {
                AddTestCase(new RdmaLoadBalancerFailureTestCase(credits, leaf), TestCase::QUICK);
            }
        }
        AddTestCase(new RdmaLoadBalancerOrderTestCase, TestCase::QUICK);
        AddTestCase(new RdmaLoadBalancerPermutedTestCase, TestCase::QUICK);
        AddTestCase(new RdmaLoadBalancerCongaTestCase, TestCase::QUICK);
    }
};

static RdmaLoadBalancerTestSuite g_rdmaLoadBalancerTestSuite;
