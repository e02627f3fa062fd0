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
        bed.Ring(m_n);
        bed.helper.SetSwitchAttribute("Ecn", BooleanValue(false));
        bed.Build();
        const uint64_t bytes = 10000000;
        for (uint32_t i = 0; i < 2 * m_n; ++i)
        {
            bed.Connect(i, (i + 2 * m_hops) % (2 * m_n)).first->PostWrite(bytes, i);
        }
        const auto& ports = bed.fabric->GetPorts();
        std::vector<std::vector<uint32_t>> told;
        int64_t toldAt = 0;
        PfcDeadlockDetector detector(ports,
                                     MilliSeconds(1),
                                     [&](const std::vector<uint32_t>& cycle, int64_t now) {
                                         told.push_back(cycle);
                                         toldAt = now;
                                     });
        Simulator::Stop(MilliSeconds(20));
        Simulator::Run();

        const RdmaPortCounters totals = bed.fabric->GetPortTotals();
        NS_TEST_EXPECT_MSG_GT(totals.pausesReceived, 0, "pauses");
        NS_TEST_EXPECT_MSG_EQ(bed.Drops(), 0, "lossless");
        const std::vector<uint32_t> now = FindPfcCycle(ports);
        if (m_hops == 1)
        {
            // Each flow leaves the ring at the next switch: no circle, and all arrive.
            NS_TEST_EXPECT_MSG_EQ(told.size(), 0, "nothing told");
            NS_TEST_EXPECT_MSG_EQ(now.size(), 0, "no cycle in the end");
            NS_TEST_EXPECT_MSG_EQ(bed.notes.messages.size(), 2 * m_n, "all arrive");
            NS_TEST_EXPECT_MSG_EQ(DescribePfcCycle(ports, now), "", "nothing to describe");
            return;
        }
        NS_TEST_ASSERT_MSG_EQ(told.size(), 1, "told once");
        NS_TEST_EXPECT_MSG_EQ(bed.notes.messages.size(), 0, "nothing arrives any more");
        NS_TEST_EXPECT_MSG_GT_OR_EQ(toldAt, 1000 * US, "not before it is old");
        NS_TEST_EXPECT_MSG_LT(toldAt, 3000 * US, "but soon");
        // From the lowest index on: ring links in order, 2 (2 n + i) being the end at s(i).
        std::vector<uint32_t> ring;
        std::string text;
        for (uint32_t i = 0; i < m_n; ++i)
        {
            ring.push_back(2 * (2 * m_n + i));
            text += (i ? " waits for s" : "s") + std::to_string(i) + "->s" +
                    std::to_string((i + 1) % m_n);
        }
        NS_TEST_EXPECT_MSG_EQ((told[0] == ring), true, "the ring, each port before the next");
        NS_TEST_EXPECT_MSG_EQ(DescribePfcCycle(ports, told[0]), text, "named");
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
        bed.Ring(m_n);
        bed.helper.SetSwitchAttribute("Ecn", BooleanValue(false));
        bed.Build();
        const uint32_t hosts = 2 * m_n;
        for (uint32_t i = 0; i < hosts; ++i)
        {
            const uint32_t far = i % 2 ? hosts - 2 * m_hops : 2 * m_hops;
            bed.Connect(i, (i + far) % hosts).first->PostWrite(10000000, i);
        }
        const auto& ports = bed.fabric->GetPorts();
        std::vector<std::vector<uint32_t>> told;
        PfcDeadlockDetector detector(
            ports,
            MilliSeconds(1),
            [&](const std::vector<uint32_t>& cycle, int64_t) { told.push_back(cycle); });
        Simulator::Stop(MilliSeconds(20));
        Simulator::Run();

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
        PfcDeadlockDetector detector(bed.fabric->GetPorts(), MicroSeconds(50), [&](auto&&...) {
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
