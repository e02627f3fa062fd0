/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * PFC deadlock: a ring of switches whose buffers depend on each other in a circle comes to rest for
 * good, and the circle is named; congestion without a circle is not taken for one.
 */
#include "rdma-test-fabric.h"

#include "ns3/pfc-deadlock.h"

#include <algorithm>

using namespace ns3;
using namespace ns3::rdmatest;

namespace
{

/// What a detector says of deadlocks, and when it said so last, ps.
struct Told
{
    std::vector<std::vector<uint32_t>> cycles;
    int64_t at{0};
};

/// A ring of n switches with two hosts each, which all send. \param hops clockwise, of a host's
/// flow
template <class Hops>
Told
RunRing(Bed& bed, uint32_t n, Hops hops)
{
    bed.Ring(n);
    bed.helper.SetSwitchAttribute("Ecn", BooleanValue(false));
    bed.Build();
    const uint64_t bytes = 10000000;
    for (uint32_t i = 0; i < 2 * n; ++i)
    {
        bed.Connect(i, (i + 2 * hops(i)) % (2 * n)).first->PostWrite(bytes, i);
    }
    Told told;
    RdmaPfcDeadlockDetector detector(bed.fabric->GetPorts(),
                                     MilliSeconds(1),
                                     [&told](const std::vector<uint32_t>& cycle, int64_t now) {
                                         told.cycles.push_back(cycle);
                                         told.at = now;
                                     });
    Simulator::Stop(MilliSeconds(20));
    Simulator::Run();
    return told;
}

} // namespace

class RdmaDeadlockTestCase : public TestCase
{
  public:
    /// \param hops of each flow from switch to switch, all clockwise; the shortest way only if less
    /// than n / 2
    RdmaDeadlockTestCase(uint32_t n, uint32_t hops)
        : TestCase("a ring of " + std::to_string(n) + " switches, flows of " +
                   std::to_string(hops) + " hops" + (hops > 1 ? ": deadlock" : ": no deadlock")),
          m_n(n),
          m_hops(hops)
    {
    }

  private:
    void DoRun() override
    {
        Bed bed;
        const Told told = RunRing(bed, m_n, [this](uint32_t) { return m_hops; });
        const auto& ports = bed.fabric->GetPorts();

        const RdmaPortCounters totals = bed.fabric->GetPortTotals();
        NS_TEST_EXPECT_MSG_GT(totals.pausesReceived, 0, "pauses");
        NS_TEST_EXPECT_MSG_EQ(bed.Drops(), 0, "lossless");
        const std::vector<uint32_t> now = FindPfcCycle(ports);
        if (m_hops == 1)
        {
            // Each flow leaves the ring at the next switch: no circle, and all arrive.
            NS_TEST_EXPECT_MSG_EQ(told.cycles.size(), 0, "nothing told");
            NS_TEST_EXPECT_MSG_EQ(now.size(), 0, "no cycle in the end");
            NS_TEST_EXPECT_MSG_EQ(bed.notes.messages.size(), 2 * m_n, "all arrive");
            NS_TEST_EXPECT_MSG_EQ(DescribePfcCycle(ports, now), "", "nothing to describe");
            return;
        }
        NS_TEST_ASSERT_MSG_EQ(told.cycles.size(), 1, "told once");
        NS_TEST_EXPECT_MSG_EQ(bed.notes.messages.size(), 0, "nothing arrives any more");
        NS_TEST_EXPECT_MSG_GT_OR_EQ(told.at, 1000 * US, "not before it is old");
        NS_TEST_EXPECT_MSG_LT(told.at, 3000 * US, "but soon");
        // From the lowest index on: ring links in order, 2 (2 n + i) being the end at s(i).
        std::vector<uint32_t> ring;
        std::string text;
        for (uint32_t i = 0; i < m_n; ++i)
        {
            ring.push_back(2 * (2 * m_n + i));
            text += (i ? " waits for s" : "s") + std::to_string(i) + "->s" +
                    std::to_string((i + 1) % m_n);
        }
        NS_TEST_EXPECT_MSG_EQ((told.cycles[0] == ring),
                              true,
                              "the ring, each port before the next");
        NS_TEST_EXPECT_MSG_EQ(DescribePfcCycle(ports, told.cycles[0]), text, "named");
        std::vector<uint32_t> sorted = now;
        std::sort(sorted.begin(), sorted.end());
        NS_TEST_EXPECT_MSG_EQ((sorted == ring), true, "and still there");
    }

    uint32_t m_n;
    uint32_t m_hops;
};

class RdmaBothWaysTestCase : public TestCase
{
  public:
    /// \param hops of each flow, half of them clockwise and half the other way
    RdmaBothWaysTestCase(uint32_t n, uint32_t hops)
        : TestCase("a ring of " + std::to_string(n) + " switches, flows of " +
                   std::to_string(hops) + " hops both ways round: what is named is a ring"),
          m_n(n),
          m_hops(hops)
    {
    }

  private:
    void DoRun() override
    {
        Bed bed;
        std::vector<std::vector<uint32_t>> told =
            RunRing(bed, m_n, [this](uint32_t i) { return i % 2 ? m_n - m_hops : m_hops; }).cycles;
        const auto& ports = bed.fabric->GetPorts();

        NS_TEST_ASSERT_MSG_GT(told.size(), 0, "both rings stand still");
        told.push_back(FindPfcCycle(ports));
        // A frame never goes back over the link that it came by: a circle goes all the way round,
        // one way.
        for (const std::vector<uint32_t>& cycle : told)
        {
            NS_TEST_ASSERT_MSG_EQ(cycle.size(), m_n, "a link of each switch");
            for (uint32_t i = 0; i < m_n; ++i)
            {
                const RdmaPort& at = *ports[cycle[i]];
                const RdmaPort& next = *ports[cycle[(i + 1) % m_n]];
                NS_TEST_EXPECT_MSG_EQ((at.GetPeer()->GetNode() == next.GetNode()),
                                      true,
                                      "in a row");
                NS_TEST_EXPECT_MSG_EQ((at.GetNode() == next.GetPeer()->GetNode()),
                                      false,
                                      "and not back");
            }
        }
    }

    uint32_t m_n;
    uint32_t m_hops;
};

class RdmaCongestionTreeTestCase : public TestCase
{
  public:
    RdmaCongestionTreeTestCase()
        : TestCase("a tree of pauses is no deadlock, however long it lasts; the detector sleeps "
                   "when it is over")
    {
    }

  private:
    void DoRun() override
    {
        // h0 .. h7 - left - right - h8 at 1 Gb/s: pauses of left and of all hosts, for 65 ms.
        Bed bed;
        bed.Dumbbell(8, {1 * GBPS});
        bed.helper.SetSwitchAttribute("Ecn", BooleanValue(false));
        bed.helper.SetNicAttribute("TimeoutExponent", UintegerValue(20));
        bed.Build();
        for (uint32_t i = 0; i < 8; ++i)
        {
            bed.Connect(i, 8).first->PostWrite(1000000, i);
        }
        uint32_t told = 0;
        RdmaPfcDeadlockDetector detector(bed.fabric->GetPorts(), MicroSeconds(50), [&](auto&&...) {
            ++told;
        });
        Simulator::Run(); // ends: nothing keeps itself alive
        NS_TEST_EXPECT_MSG_EQ(told, 0, "no cycle");
        NS_TEST_EXPECT_MSG_EQ(bed.notes.messages.size(), 8, "all arrive");
        const Ptr<RdmaPort> trunk = bed.fabric->GetPorts()[16];
        NS_TEST_EXPECT_MSG_GT(trunk->GetCounters().pausedPs, 50000 * US, "paused for long");
    }
};

class RdmaDeadlockTestSuite : public TestSuite
{
  public:
    RdmaDeadlockTestSuite()
        : TestSuite("rdma-deadlock", UNIT)
    {
        AddTestCase(new RdmaDeadlockTestCase(5, 2), TestCase::QUICK);
        AddTestCase(new RdmaDeadlockTestCase(7, 3), TestCase::QUICK);
        AddTestCase(new RdmaDeadlockTestCase(5, 1), TestCase::QUICK);
        AddTestCase(new RdmaBothWaysTestCase(5, 2), TestCase::QUICK);
        AddTestCase(new RdmaBothWaysTestCase(8, 3), TestCase::QUICK);
        AddTestCase(new RdmaCongestionTreeTestCase, TestCase::QUICK);
    }
};

static RdmaDeadlockTestSuite g_rdmaDeadlockTestSuite;
