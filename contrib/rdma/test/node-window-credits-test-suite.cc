/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * InfiniBand's credits in the node-window engine: flow-control packets that nobody waits for have
 * no event there, and whoever looks at a port sees what he would see under ns-3's own engine.
 */
#include "node-window-engines.h"
#include "rdma-test-fabric.h"

#include "ns3/node-windows.h"
#include "ns3/node.h"

#include <algorithm>
#include <random>
#include <sstream>
#include <string>
#include <vector>

using namespace ns3;
using namespace ns3::rdmatest;

namespace
{

uint64_t g_stalls = 0;
uint64_t g_blocksLost = 0;
uint64_t g_spared = 0; //!< events

/// What a port shows of its credits.
std::string
Look(const RdmaPort& port)
{
    std::ostringstream text;
    const RdmaPortCounters c = port.GetCounters();
    text << port.GetName() << ' ' << c.txFrames << ' ' << c.txWireBytes << ' ' << c.rxFrames << ' '
         << c.rxWireBytes << ' ' << c.creditUpdatesSent << ' ' << c.creditUpdatesReceived << ' '
         << c.creditStalls << ' ' << c.pausedPs << ' ' << c.creditBlocksLost << ' ' << c.corrupted
         << ' ' << port.GetBusyUntil();
    const IbLinkCredits& credits = *port.GetCredits();
    for (uint32_t v = 0; v < credits.config.lanes; ++v)
    {
        const IbLinkCredits::Lane& lane = credits.lanes[v];
        text << ' ' << lane.sender.Limit() << ' ' << lane.sender.Available() << ' '
             << lane.receiver.Occupied() - lane.GetLeaving() << ' ' << lane.toldFccl;
    }
    return text.str();
}

/// A fabric of two stages with random cables, buffers and messages, under all engines. Somebody
/// looks at all ports every now and then, before and behind the nodes' events of that tick, and
/// each node looks at its own.
class NodeWindowCreditsTestCase : public TestCase
{
  public:
    explicit NodeWindowCreditsTestCase(uint32_t seed)
        : TestCase("credits look the same whenever somebody looks, seed " + std::to_string(seed)),
          m_seed(seed)
    {
    }

  private:
    std::string Leave(Kind kind)
    {
        const Engine engine(kind);
        std::mt19937_64 random(m_seed);
        const auto upTo = [&random](uint64_t n) { return random() % n; };
        const uint64_t rates[] = {25 * GBPS, 100 * GBPS, 200 * GBPS};
        const int64_t delays[] = {25 * NS, 50 * NS + 1, US, 3 * US + 7};
        const int64_t delay = delays[upTo(4)];
        const bool hasUnits = upTo(4) == 0; // a host and its switch are one
        const double ber = upTo(4) == 0 ? 1e-6 : 0;
        const uint32_t hosts = 6;
        Bed bed;
        for (uint32_t h = 0; h < hosts; ++h)
        {
            bed.Host("h" + std::to_string(h));
        }
        const auto leaves = bed.SwitchesNamed("l0", "l1");
        const auto spines = bed.SwitchesNamed("p0", "p1");
        for (uint32_t h = 0; h < hosts; ++h)
        {
            bed.Link(h, leaves[h / 3], rates[upTo(3)], hasUnits && h == 2 ? 0 : delay, ber);
        }
        for (const uint32_t leaf : leaves)
        {
            for (const uint32_t spine : spines)
            {
                bed.Link(leaf, spine, rates[upTo(3)], delay, ber);
            }
        }
        IbFabricConfig config;
        config.routing = "updn";
        config.lanes = 1U << upTo(2);
        config.laneBuffer = upTo(2) ? 16384 : 131072;
        if (upTo(2))
        {
            config.updateShare = 0.001; // each packet's credits are told at once
        }
        bed.helper.SetInfiniBand(config);
        bed.helper.SetNicAttribute("TimeoutExponent", UintegerValue(8)); // 1 ms
        bed.Build();
        std::vector<std::string> seen; // by all
        std::vector<std::vector<std::string>> own(bed.nodes.size());
        const auto look = [&seen, &bed] {
            for (const auto& port : bed.fabric->GetPorts())
            {
                seen.push_back(Look(*port));
            }
        };
        for (uint32_t i = 1; i <= 30; ++i)
        {
            const int64_t at = 700 * i;
            Simulator::ScheduleWithContext(BeforeAll(kind), NanoSeconds(at + 1), look);
            Simulator::Schedule(NanoSeconds(at), look);
            for (const auto& port : bed.fabric->GetPorts())
            {
                const uint32_t node = port->GetNode()->GetId();
                auto& lines = own[node];
                RdmaPort* its = PeekPointer(port);
                Simulator::ScheduleWithContext(node, NanoSeconds(at + 2), [&lines, its] {
                    lines.push_back(Look(*its));
                });
            }
        }
        std::vector<Notes> notes(hosts); // each host's own: it may have a thread of its own
        for (uint32_t h = 0; h < hosts; ++h)
        {
            bed.fabric->GetNic(h)->SetUser(&notes[h]);
        }
        for (uint32_t i = 0; i < 4 * hosts; ++i)
        {
            const uint32_t from = upTo(hosts);
            const uint32_t to = upTo(3) ? 0 : upTo(hosts);
            if (from == to)
            {
                continue;
            }
            RdmaQueuePair* qp =
                bed.Connect(from, to, static_cast<uint8_t>(upTo(config.lanes))).first;
            const uint64_t bytes = upTo(150000);
            const auto at = NanoSeconds(static_cast<int64_t>(upTo(10000)));
            const uint32_t node = bed.fabric->GetNic(from)->GetPort()->GetNode()->GetId();
            Simulator::ScheduleWithContext(node, at, [qp, bytes, i] { qp->PostWrite(bytes, i); });
        }
        Simulator::Run();
        look();
        const RdmaPortCounters totals = bed.fabric->GetPortTotals();
        g_stalls += totals.creditStalls;
        g_blocksLost += totals.creditBlocksLost;
        g_spared += NodeWindows::Active() ? NodeWindows::Active()->GetSparedEvents() : 0;
        seen.push_back("events " + std::to_string(Simulator::GetEventCount()));
        std::string outcome;
        for (const auto& lines : own)
        {
            seen.insert(seen.end(), lines.begin(), lines.end());
        }
        for (const Notes& ofHost : notes)
        {
            for (const auto& m : ofHost.messages)
            {
                seen.push_back("message " + std::to_string(m.at));
            }
        }
        for (const std::string& line : seen)
        {
            outcome += line + '\n';
        }
        return outcome + std::to_string(Simulator::Now().GetTimeStep());
    }

    void DoRun() override
    {
        const std::string expected = Leave(Kind::NS3);
        for (const Kind kind : WINDOW_KINDS)
        {
            NS_TEST_EXPECT_MSG_EQ(Leave(kind), expected, NameOf(kind));
        }
    }

    uint32_t m_seed;
};

class NodeWindowCreditsCoverTestCase : public TestCase
{
  public:
    NodeWindowCreditsCoverTestCase()
        : TestCase(
              "among those fabrics some waited for credits, some lost them, some spared events")
    {
    }

  private:
    void DoRun() override
    {
        NS_TEST_EXPECT_MSG_GT(g_stalls, 0, "waits");
        NS_TEST_EXPECT_MSG_GT(g_blocksLost, 0, "blocks lost");
        NS_TEST_EXPECT_MSG_GT(g_spared, 0, "events spared");
    }
};

class NodeWindowCreditsTestSuite : public TestSuite
{
  public:
    NodeWindowCreditsTestSuite()
        : TestSuite("node-window-credits", UNIT)
    {
        for (uint32_t seed = 1; seed <= 30; ++seed)
        {
            AddTestCase(new NodeWindowCreditsTestCase(seed), TestCase::QUICK);
        }
        AddTestCase(new NodeWindowCreditsCoverTestCase, TestCase::QUICK);
    }
};

NodeWindowCreditsTestSuite g_nodeWindowCreditsTestSuite;

} // namespace
