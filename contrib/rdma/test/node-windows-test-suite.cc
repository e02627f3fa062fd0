/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * The node-window engine: ns-3's meaning of events is kept, observers hear in the order of time,
 * and fabrics of random shapes leave behind what they leave behind under ns-3's own engine.
 */
#include "node-window-engines.h"
#include "rdma-test-fabric.h"

#include "ns3/hpcc-congestion-ops.h"
#include "ns3/node-window-foreseen.h"
#include "ns3/node-window-simulator-impl.h"
#include "ns3/node.h"
#include "ns3/rdma-grid-timer.h"

#include <algorithm>
#include <array>
#include <deque>
#include <random>
#include <sstream>

using namespace ns3;
using namespace ns3::rdmatest;

namespace
{

/// Two nodes and a cable of 1 us.
struct Pair
{
    Pair()
    {
        for (auto* node : {&a, &b})
        {
            *node = CreateObject<Node>();
            const auto port = CreateObject<RdmaPort>();
            (*node)->AddDevice(port);
            ports.push_back(port);
        }
        const auto channel = CreateObject<RdmaChannel>();
        channel->SetDelayPs(US);
        channel->Attach(ports[0], ports[1]);
    }

    Ptr<Node> a;
    Ptr<Node> b;
    std::vector<Ptr<RdmaPort>> ports;
};

/// Notes letters.
struct Listener
{
    std::string heard;

    void Tell(const char& letter)
    {
        heard += letter;
        times.push_back(Simulator::Now());
    }

    std::vector<Time> times;
};

} // namespace

class NodeWindowEventsTestCase : public TestCase
{
  public:
    NodeWindowEventsTestCase()
        : TestCase("events: order, ties, cancel, remove, expiry, contexts, stop, and to go on")
    {
    }

  private:
    void DoRun() override
    {
        const uint64_t expected = CountOf(Kind::NS3);
        for (const Kind kind : WINDOW_KINDS)
        {
            NS_TEST_EXPECT_MSG_EQ(CountOf(kind), expected, "events of " << NameOf(kind));
        }
    }

    /// The same under both engines. \return events
    uint64_t CountOf(Kind kind)
    {
        const Engine engine(kind);
        const Pair pair;
        std::string order;
        const auto add = [&order](int64_t ns, char c) {
            return Simulator::Schedule(NanoSeconds(ns), [&order, c] { order += c; });
        };
        const auto at = [&order](const Ptr<Node>& node, int64_t ns, char c) {
            Simulator::ScheduleWithContext(node->GetId(), NanoSeconds(ns), [&order, c, node] {
                order += Simulator::GetContext() == node->GetId() ? c : '!';
            });
        };
        add(30, 'e');
        add(10, 'b'); // without a node: behind all nodes
        const EventId cancelled = add(20, '!');
        at(pair.a, 10, 'a');
        const EventId removed = add(15, '!');
        add(20, 'c');
        add(20, 'd');
        at(pair.b, 5000000, 'z'); // far beyond the windows that are kept in lists
        add(50, 'x');
        NS_TEST_EXPECT_MSG_EQ(Simulator::GetDelayLeft(cancelled), NanoSeconds(20), "to go");
        Simulator::Cancel(cancelled);
        NS_TEST_EXPECT_MSG_EQ(cancelled.IsExpired(), true, "cancelled");
        Simulator::Remove(removed);
        NS_TEST_EXPECT_MSG_EQ(removed.IsExpired(), true, "removed");

        // Events of a node, scheduled by its own events: at once, later, and taken back at the same
        // time.
        EventId own;
        Simulator::ScheduleWithContext(pair.a->GetId(), NanoSeconds(12), [&] {
            Simulator::ScheduleNow([&] { order += 'n'; });
            own = Simulator::Schedule(NanoSeconds(3), [&] { order += '!'; });
            NS_TEST_EXPECT_MSG_EQ(own.IsExpired(), false, "it is to come");
            NS_TEST_EXPECT_MSG_EQ(Simulator::Now(), NanoSeconds(12), "the node's time");
        });
        Simulator::ScheduleWithContext(pair.a->GetId(), NanoSeconds(15), [&] {
            order += own.IsExpired() ? 'r' : '!'; // scheduled earlier, so this is behind it
        });
        Simulator::ScheduleWithContext(pair.a->GetId(), NanoSeconds(14), [&] { own.Cancel(); });
        Simulator::Stop(NanoSeconds(40));
        Simulator::Run();
        NS_TEST_EXPECT_MSG_EQ(order, "abnrcde", "by time, nodes first, then by insertion");
        NS_TEST_EXPECT_MSG_EQ(Simulator::Now(), NanoSeconds(40), "stopped");
        NS_TEST_EXPECT_MSG_EQ(Simulator::GetContext(), Simulator::NO_CONTEXT, "no node's");
        NS_TEST_EXPECT_MSG_EQ(Simulator::IsFinished(), true, "stopped, says ns-3");
        Simulator::Run();
        NS_TEST_EXPECT_MSG_EQ(order, "abnrcdexz", "the rest");
        NS_TEST_EXPECT_MSG_EQ(Simulator::Now(), NanoSeconds(5000000), "the last one's time");
        NS_TEST_EXPECT_MSG_EQ(Simulator::IsFinished(), true, "that was all");
        return Simulator::GetEventCount();
    }
};

class NodeWindowOrderTestCase : public TestCase
{
  public:
    NodeWindowOrderTestCase()
        : TestCase("observers of several nodes, grids and what is to be before hear in the order "
                   "of time, under both engines")
    {
    }

  private:
    static std::string Hear(Kind kind)
    {
        const Engine engine(kind);
        const Pair pair;
        Listener listener;
        // Ahead of all of its time, so the first that is scheduled.
        Simulator::ScheduleWithContext(BeforeAll(kind), NanoSeconds(300), [&] {
            listener.Tell('<');
        });
        RdmaGridTimer grid(300 * NS, [&](int64_t) { listener.Tell('#'); });
        Simulator::Schedule(NanoSeconds(300), [&] { listener.Tell('>'); });
        const auto tell = [&](const Ptr<Node>& node, int64_t ns, char c, bool arm = false) {
            Simulator::ScheduleWithContext(node->GetId(), NanoSeconds(ns), [&, c, arm] {
                NodeWindows::Note<&Listener::Tell>(&listener, c);
                if (arm)
                {
                    grid.Arm();
                }
            });
        };
        tell(pair.b, 100, 'b');
        tell(pair.b, 299, 'd', true);
        tell(pair.b, 300, 'f');
        tell(pair.b, 700, 'h');
        tell(pair.a, 50, 'a');
        tell(pair.a, 200, 'c');
        tell(pair.a, 300, 'e');
        tell(pair.a, 600, 'g', true); // on the grid: for the next point
        tell(pair.a, 901, 'i');
        // Cables of 1 us: what is told of one side waits for the other, which is a window behind.
        tell(pair.b, 3200, 'm');
        tell(pair.a, 3100, 'l');
        tell(pair.b, 2700, 'k', true);
        tell(pair.a, 2600, 'j');
        tell(pair.a, 4999, 'n');
        tell(pair.b, 5000, 'o');
        tell(pair.a, 5000, 'o');
        Simulator::Run();
        std::ostringstream text;
        text << listener.heard;
        for (const Time& time : listener.times)
        {
            text << ' ' << time.GetNanoSeconds();
        }
        return text.str();
    }

    void DoRun() override
    {
        const std::string expected =
            "abcd<ef#>gh#ijk#lmnoo 50 100 200 299 300 300 300 300 300 600 700 900 901 2600 2700 "
            "3000 3100 3200 4999 5000 5000";
        NS_TEST_EXPECT_MSG_EQ(Hear(Kind::NS3), expected, NameOf(Kind::NS3));
        for (const Kind kind : WINDOW_KINDS)
        {
            NS_TEST_EXPECT_MSG_EQ(Hear(kind), expected, NameOf(kind));
        }
    }
};

/// The same of events at random times: grids and what has no node cut windows anywhere, one side's
/// twice while what it has to tell waits for the other.
class NodeWindowRandomOrderTestCase : public TestCase
{
  public:
    explicit NodeWindowRandomOrderTestCase(uint32_t seed)
        : TestCase("what is told at random times is heard in their order, seed " +
                   std::to_string(seed)),
          m_seed(seed)
    {
    }

  private:
    /// What a node's event does, and those behind it on the same node.
    struct Act
    {
        int64_t afterNs;
        char letter;
        bool arms;
    };

    std::string Hear(Kind kind)
    {
        const Engine engine(kind);
        std::mt19937_64 random(m_seed);
        const auto upTo = [&random](uint64_t n) { return static_cast<int64_t>(random() % n); };
        const Pair pair;
        Listener listener;
        RdmaGridTimer grid((50 + upTo(900)) * NS, [&](int64_t) { listener.Tell('#'); });
        const int64_t span = 2000 + upTo(20000); // ns
        const auto anyTime = [&] { return NanoSeconds(upTo(span)); };
        for (int64_t n = upTo(6); n > 0; --n)
        {
            Simulator::Schedule(anyTime(), [&] { listener.Tell('>'); });
            Simulator::ScheduleWithContext(BeforeAll(kind), anyTime(), [&] { listener.Tell('<'); });
        }
        std::vector<std::vector<Act>> chains(10 + upTo(20));
        const auto act = [&](const auto& self, uint32_t node, const Act* next, const Act* end) {
            if (next == end)
            {
                return;
            }
            Simulator::ScheduleWithContext(node,
                                           NanoSeconds(next->afterNs),
                                           [&, self, node, next, end] {
                                               NodeWindows::Note<&Listener::Tell>(&listener,
                                                                                  next->letter);
                                               if (next->arms)
                                               {
                                                   grid.Arm();
                                               }
                                               self(self, node, next + 1, end);
                                           });
        };
        for (std::vector<Act>& chain : chains)
        {
            chain.resize(1 + upTo(4));
            for (Act& one : chain)
            {
                one = {&one == &chain[0] ? upTo(span) : upTo(400),
                       static_cast<char>('a' + upTo(26)),
                       upTo(3) == 0};
            }
            const uint32_t node = (upTo(2) ? pair.a : pair.b)->GetId();
            act(act, node, chain.data(), chain.data() + chain.size());
        }
        Simulator::Run();
        std::ostringstream text;
        for (std::size_t i = 0; i < listener.times.size(); ++i)
        {
            text << listener.heard[i] << listener.times[i].GetNanoSeconds() << ' ';
        }
        return text.str();
    }

    void DoRun() override
    {
        const std::string expected = Hear(Kind::NS3);
        for (const Kind kind : WINDOW_KINDS)
        {
            NS_TEST_EXPECT_MSG_EQ(Hear(kind), expected, NameOf(kind));
        }
    }

    uint32_t m_seed;
};

/// Counters of all fabrics of random shapes.
uint64_t g_marks = 0;
uint64_t g_pauses = 0;
uint64_t g_corrupted = 0;
uint64_t g_lost = 0;

/// A fabric of a random shape with random traffic, under all engines.
class NodeWindowFabricsTestCase : public TestCase
{
  public:
    explicit NodeWindowFabricsTestCase(uint32_t seed)
        : TestCase("a fabric of random shape leaves the same behind, seed " + std::to_string(seed)),
          m_seed(seed)
    {
    }

  private:
    std::string Leave(Kind kind, RdmaPortCounters* totals)
    {
        const Engine engine(kind);
        std::mt19937_64 random(m_seed);
        const auto upTo = [&random](uint64_t n) { return random() % n; };
        // 0: one unit. 1 ps: less than a tick. Cables in a rack, in a building, between two.
        const int64_t delays[] = {0, 1, 5 * NS, 50 * NS + 1, US, 3 * US + 7};
        const bool mixed = upTo(2);
        const int64_t all = delays[2 + upTo(4)];
        const auto delay = [&] { return mixed ? delays[upTo(6)] : all; };
        const uint64_t rates[] = {10 * GBPS, 25 * GBPS, 100 * GBPS, 400 * GBPS};
        const auto rate = [&] { return rates[upTo(4)]; };
        const double ber = upTo(3) == 0 ? 1e-6 : 0;

        const uint32_t switches = 1 + upTo(5);
        const uint32_t hosts = 2 + upTo(9);
        std::vector<Notes> notes(hosts); // each host's own: it may have a thread of its own
        Bed bed;
        for (uint32_t i = 0; i < switches; ++i)
        {
            bed.Switch("s" + std::to_string(i));
            if (i)
            {
                bed.Link(upTo(i), i, rate(), delay(), ber);
            }
        }
        for (uint32_t i = 0; i + 1 < switches; ++i) // more ways, so that ECMP has a choice
        {
            bed.Link(i, i + 1, rate(), delay(), ber);
        }
        for (uint32_t i = 0; i < hosts; ++i)
        {
            bed.Link(bed.Host("h" + std::to_string(i)), upTo(switches), rate(), delay(), ber);
        }
        bed.helper.SetSwitchAttribute("BufferBytes", UintegerValue(4000000));
        bed.helper.SetSwitchAttribute("EcnKmin", UintegerValue(10000));
        bed.helper.SetSwitchAttribute("EcnKmax", UintegerValue(60000));
        bed.helper.SetSwitchAttribute("Alpha", DoubleValue(0.02));       // pauses
        bed.helper.SetNicAttribute("TimeoutExponent", UintegerValue(9)); // 2 ms
        switch (upTo(3))
        {
        case 0:
            bed.helper.SetCongestionOps(CreateObject<RdmaDcqcnCongestionOps>());
            break;
        case 1:
            bed.helper.SetCongestionOps(CreateObject<RdmaHpccCongestionOps>());
            break;
        default:
            break;
        }
        bed.Build();
        NodeWindows* engineUnderTest = NodeWindows::Active();
        for (uint32_t i = 0; i < hosts; ++i)
        {
            bed.fabric->GetNic(i)->SetUser(&notes[i]);
            if (engineUnderTest && m_seed % 2)
            {
                engineUnderTest->KeepTogether(bed.fabric->GetNic(i)->GetPort()->GetNode()->GetId());
            }
        }
        for (uint32_t i = 0; i < 4 * hosts; ++i)
        {
            const uint32_t from = upTo(hosts);
            const uint32_t to = upTo(3) ? 0 : upTo(hosts);
            if (from == to)
            {
                continue;
            }
            RdmaQueuePair* qp = bed.Connect(from, to).first;
            const uint64_t bytes = upTo(200000);
            const auto at = NanoSeconds(static_cast<int64_t>(upTo(20000)));
            const uint32_t node = bed.fabric->GetNic(from)->GetPort()->GetNode()->GetId();
            Simulator::ScheduleWithContext(node, at, [qp, bytes, i] { qp->PostWrite(bytes, i); });
        }
        if (upTo(2))
        {
            const uint32_t link = upTo(bed.links.size());
            Simulator::Schedule(MicroSeconds(7),
                                [&bed, link] { bed.fabric->SetLinkDown(link, true); });
            Simulator::Schedule(MicroSeconds(19),
                                [&bed, link] { bed.fabric->SetLinkDown(link, false); });
        }
        Simulator::Stop(MilliSeconds(20));
        Simulator::Run();
        *totals = bed.fabric->GetPortTotals();

        std::vector<std::string> lines;
        const auto add = [&lines](const auto&... words) {
            std::ostringstream text;
            ((text << words << ' '), ...);
            lines.push_back(text.str());
        };
        for (const auto& port : bed.fabric->GetPorts())
        {
            const RdmaPortCounters& c = port->GetCounters();
            add(port->GetName(), c.txFrames, c.txWireBytes, c.rxFrames, c.corrupted, c.ecnMarks);
            add(port->GetName(), c.pausesSent, c.resumesSent, c.pausedPs, c.maxQueueBytes);
            add(port->GetName(), c.linkDownLost, c.linkDownQueued, port->GetBusyUntil());
        }
        for (uint32_t i = 0; i < bed.fabric->GetNEndpoints(); ++i)
        {
            const RdmaNicCounters& c = bed.fabric->GetNic(i)->GetCounters();
            add(i, c.dataPackets, c.retransmittedPackets, c.acksSent, c.naksSent, c.cnpsSent);
        }
        for (const Notes& ofHost : notes)
        {
            for (const auto& m : ofHost.messages)
            {
                add("message", m.qp->GetNumber(), m.at, m.message.bytes);
            }
            for (const auto& c : ofHost.completions)
            {
                add("completion", c.id, c.at, static_cast<int>(c.status));
            }
        }
        add("events", Simulator::GetEventCount(), Simulator::Now().GetTimeStep());
        std::sort(lines.begin(), lines.end()); // nodes take turns in another order
        std::string outcome;
        for (const std::string& line : lines)
        {
            outcome += line + '\n';
        }
        return outcome;
    }

    void DoRun() override
    {
        RdmaPortCounters totals;
        RdmaPortCounters again;
        const std::string expected = Leave(Kind::NS3, &totals);
        for (const Kind kind : WINDOW_KINDS)
        {
            NS_TEST_EXPECT_MSG_EQ(Leave(kind, &again), expected, NameOf(kind));
        }
        NS_TEST_EXPECT_MSG_GT(totals.txFrames, 0, "something was sent");
        g_marks += totals.ecnMarks;
        g_pauses += totals.pausesReceived;
        g_corrupted += totals.corrupted;
        g_lost += totals.linkDownLost;
    }

    uint32_t m_seed;
};

/// Sends a frame back where it came from, a number of times, and notes when each came.
class Returner : public RdmaPortUser
{
  public:
    std::ostringstream heard;

    static RdmaFrame* Make(uint32_t times)
    {
        RdmaFrame* frame = RdmaFramePool::Get().Allocate();
        *frame = {};
        frame->wireBytes = 1000;
        frame->opcode = RdmaOpcode::WRITE_ONLY;
        frame->psn = times;
        return frame;
    }

    void OnFrame(RdmaPort* port, RdmaFrame* frame, int64_t now) override
    {
        heard << port->GetIfIndex() << ' ' << frame->psn << ' ' << now << '\n';
        if (frame->psn == 0)
        {
            RdmaFramePool::Get().Free(frame);
            return;
        }
        --frame->psn;
        port->Enqueue(frame, now);
    }

    void OnDequeue(RdmaPort*, RdmaFrame*, uint64_t, int64_t) override
    {
    }

    RdmaFrame* Pull(RdmaPort*, uint8_t, int64_t) override
    {
        return nullptr;
    }
};

class NodeWindowNewLinkTestCase : public TestCase
{
  public:
    /// What each run adds: links from each node, or from each even one, to the one so far on.
    struct Added
    {
        uint32_t distance;
        bool everyNode;
    };

    NodeWindowNewLinkTestCase(uint32_t nodes, std::vector<Added> runs, const std::string& what)
        : TestCase("a link that is added between two runs leads to wherever its other end runs: " +
                   what),
          m_nodes(nodes),
          m_runs(std::move(runs))
    {
    }

  private:
    uint32_t m_nodes;
    std::vector<Added> m_runs;

    std::string Leave(Kind kind)
    {
        const Engine engine(kind);
        std::vector<Ptr<Node>> nodes(m_nodes);
        std::deque<Returner> users(m_nodes);
        for (Ptr<Node>& node : nodes)
        {
            node = CreateObject<Node>();
        }
        const auto link = [&](uint32_t a, uint32_t b) {
            std::array<Ptr<RdmaPort>, 2> ports;
            for (int side = 0; side < 2; ++side)
            {
                ports[side] = CreateObject<RdmaPort>();
                const uint32_t index = nodes[side ? b : a]->AddDevice(ports[side]);
                ports[side]->SetArrivalOrder(index);
                ports[side]->SetUser(&users[side ? b : a], static_cast<uint16_t>(index));
            }
            const auto channel = CreateObject<RdmaChannel>();
            channel->SetDelayPs(US);
            channel->Attach(ports[0], ports[1]);
            const Ptr<RdmaPort> port = ports[0];
            Simulator::ScheduleWithContext(nodes[a]->GetId(), NanoSeconds(10 * a + b), [port] {
                port->Enqueue(Returner::Make(150), RdmaClock::Now());
            });
        };
        for (const Added& added : m_runs)
        {
            for (uint32_t i = 0; i < m_nodes; i += added.everyNode ? 1 : 2)
            {
                link(i, (i + added.distance) % m_nodes);
            }
            if (&added != &m_runs.back())
            {
                Simulator::Stop(MicroSeconds(90)); // 32 windows and more, so nodes have moved
            }
            Simulator::Run();
        }
        std::string all;
        for (const Returner& user : users)
        {
            all += user.heard.str() + "---\n";
        }
        return all;
    }

    void DoRun() override
    {
        const std::string expected = Leave(Kind::NS3);
        uint32_t links = 0;
        for (const Added& added : m_runs)
        {
            links += added.everyNode ? m_nodes : (m_nodes + 1) / 2;
        }
        // Each of the frames comes 151 times.
        NS_TEST_EXPECT_MSG_EQ(std::count(expected.begin(), expected.end(), '\n'),
                              links * 151 + m_nodes,
                              "all frames came");
        for (const Kind kind : WINDOW_KINDS)
        {
            NS_TEST_EXPECT_MSG_EQ(Leave(kind), expected, NameOf(kind));
        }
    }
};

/// Notes how it is asked for what it will need.
class Foreseen : public NodeWindowForeseen
{
  public:
    void Prefetch(uint32_t depth) const override
    {
        depths.push_back(depth);
    }

    mutable std::vector<uint32_t> depths;
    std::size_t before{0}; //!< depths so far when it ran
    std::size_t later{0};  //!< of `next` then
    const Foreseen* next{nullptr};
    uint32_t runs{0};

  protected:
    void Notify() override
    {
        before = depths.size();
        later = next ? next->depths.size() : 0;
        ++runs;
    }
};

class NodeWindowForeseenTestCase : public TestCase
{
  public:
    NodeWindowForeseenTestCase()
        : TestCase("an event is asked what it will need while the units before its own run")
    {
    }

  private:
    void DoRun() override
    {
        // A window of fewer than 64 units fetches nothing ahead, of fewer than 256 no more than
        // three levels.
        Run(40, 3);
        Run(130, 5);
    }

    /// \param levels how many units ahead they are asked, and how deep
    void Run(std::size_t count, uint32_t levels)
    {
        const Engine engine(Kind::WINDOWS);
        std::vector<Pair> pairs(count); // of units
        std::vector<Ptr<Foreseen>> first;
        std::vector<Ptr<Foreseen>> second;
        Simulator::GetImplementation();
        NodeWindows& windows = *NodeWindows::Active();
        for (const Pair& pair : pairs)
        {
            for (const Ptr<Node>& node : {pair.a, pair.b})
            {
                // In the first window, which is as long as the cable's delay, and in a later one.
                for (auto* events : {&first, &second})
                {
                    const Ptr<Foreseen> event(new Foreseen, false);
                    event->Ref(); // the event set's
                    windows.ScheduleForeseen(node->GetId(),
                                             events == &first ? 100 : 50000,
                                             PeekPointer(event));
                    events->push_back(event);
                }
                first.back()->next = PeekPointer(second.back());
            }
        }
        Simulator::Run();
        // Asked at depth d when the unit `levels` - d places before it is about to run.
        for (uint32_t place = 0; place < first.size(); ++place)
        {
            std::vector<uint32_t> depths;
            for (uint32_t d = place < levels ? levels - place : 0; d < levels; ++d)
            {
                depths.push_back(d);
            }
            for (const Ptr<Foreseen>& event : {first[place], second[place]})
            {
                NS_TEST_EXPECT_MSG_EQ(event->runs, 1, "place " << place);
                NS_TEST_EXPECT_MSG_EQ((event->depths == depths), true, "place " << place);
                NS_TEST_EXPECT_MSG_EQ(event->before, depths.size(), "before it runs");
            }
            NS_TEST_EXPECT_MSG_EQ(first[place]->later, 0, "of another window");
        }
    }
};

class NodeWindowCoverTestCase : public TestCase
{
  public:
    NodeWindowCoverTestCase()
        : TestCase("among those fabrics was something of everything")
    {
    }

  private:
    void DoRun() override
    {
        NS_TEST_EXPECT_MSG_GT(g_marks, 100, "marks");
        NS_TEST_EXPECT_MSG_GT(g_pauses, 100, "pauses");
        NS_TEST_EXPECT_MSG_GT(g_corrupted, 100, "bit errors");
        NS_TEST_EXPECT_MSG_GT(g_lost, 20, "frames lost with their link");
    }
};

class NodeWindowTestSuite : public TestSuite
{
  public:
    NodeWindowTestSuite()
        : TestSuite("node-windows", UNIT)
    {
        AddTestCase(new NodeWindowEventsTestCase, TestCase::QUICK);
        AddTestCase(new NodeWindowOrderTestCase, TestCase::QUICK);
        for (uint32_t seed = 1; seed <= 40; ++seed)
        {
            AddTestCase(new NodeWindowRandomOrderTestCase(seed), TestCase::QUICK);
        }
        for (uint32_t seed = 1; seed <= 60; ++seed)
        {
            AddTestCase(new NodeWindowFabricsTestCase(seed), TestCase::QUICK);
        }
        using NewLink = NodeWindowNewLinkTestCase;
        AddTestCase(new NewLink(7, {{1, true}, {2, true}, {3, true}, {4, true}}, "odd rings"),
                    TestCase::QUICK);
        AddTestCase(new NewLink(8, {{1, true}, {3, true}, {2, true}}, "two sides, then none"),
                    TestCase::QUICK);
        // 0-1, 2-3, 4-5, 6-7; then 0-4 and 2-6: 4 to 7 change sides.
        AddTestCase(new NewLink(8, {{1, false}, {4, false}, {4, true}}, "nodes change sides"),
                    TestCase::QUICK);
        AddTestCase(new NodeWindowForeseenTestCase, TestCase::QUICK);
        AddTestCase(new NodeWindowCoverTestCase, TestCase::QUICK);
    }
};

static NodeWindowTestSuite g_nodeWindowTestSuite;
