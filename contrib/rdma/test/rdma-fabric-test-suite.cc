/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * ECMP over a fabric, what the fabric helper refuses, and that a scenario repeats to the last
 * counter.
 */
#include "rdma-test-fabric.h"

#include <cmath>

using namespace ns3;
using namespace ns3::rdmatest;

namespace
{

/// All that a run leaves behind, as text.
std::string
Outcome(const Bed& bed)
{
    std::ostringstream text;
    for (const auto& port : bed.fabric->GetPorts())
    {
        const RdmaPortCounters& c = port->GetCounters();
        text << port->GetName() << ' ' << c.txFrames << ' ' << c.txWireBytes << ' ' << c.rxFrames
             << ' ' << c.corrupted << ' ' << c.ecnMarks << ' ' << c.pausesSent << ' '
             << c.resumesSent << ' ' << c.pausesReceived << ' ' << c.pausedPs << ' '
             << c.maxQueueBytes << '\n';
    }
    for (uint32_t i = 0; i < bed.fabric->GetNEndpoints(); ++i)
    {
        const RdmaNicCounters& c = bed.fabric->GetNic(i)->GetCounters();
        text << i << ' ' << c.dataPackets << ' ' << c.retransmittedPackets << ' ' << c.acksSent
             << ' ' << c.naksSent << ' ' << c.cnpsSent << ' ' << c.timeouts << ' '
             << c.ecnMarkedReceived << ' ' << c.outOfOrderDropped << ' ' << c.duplicatesReceived
             << '\n';
    }
    for (const auto& device : bed.fabric->GetSwitches())
    {
        text << device->GetReceived() << ' ' << device->GetForwarded() << ' '
             << AsEthernet(device)->GetBuffer().StoredPeak() << ' '
             << AsEthernet(device)->GetBuffer().HeadroomPeak() << '\n';
    }
    for (const auto& m : bed.notes.messages)
    {
        text << m.at << ' ' << m.message.bytes << '\n';
    }
    for (const auto& c : bed.notes.completions)
    {
        text << c.at << ' ' << c.id << '\n';
    }
    return text.str();
}

/// 8 leaves of 4 hosts, 4 spines, 100 Gb/s.
void
DescribeLeafSpine(Bed& bed, double ber = 0)
{
    for (int i = 0; i < 32; ++i)
    {
        bed.Host("h" + std::to_string(i));
    }
    for (int i = 0; i < 8; ++i)
    {
        bed.Switch("leaf" + std::to_string(i));
    }
    for (int i = 0; i < 4; ++i)
    {
        bed.Switch("spine" + std::to_string(i));
    }
    for (uint32_t i = 0; i < 32; ++i)
    {
        bed.Link(i, 32 + i / 4, 100 * GBPS, US, ber);
    }
    for (uint32_t leaf = 0; leaf < 8; ++leaf)
    {
        for (uint32_t spine = 0; spine < 4; ++spine)
        {
            bed.Link(32 + leaf, 40 + spine, 100 * GBPS);
        }
    }
}

/// Something of everything: ECMP, loss, ECN marks, CNPs, pauses, time-outs.
std::string
RunEverything(uint64_t run,
              const std::string& scheduler = "ns3::MapScheduler",
              RdmaNicCounters* nics = nullptr,
              RdmaPortCounters* ports = nullptr)
{
    const uint64_t before = RngSeedManager::GetRun();
    RngSeedManager::SetRun(run);
    GlobalValue::Bind("SchedulerType", StringValue(scheduler));
    std::string outcome;
    {
        Bed bed;
        DescribeLeafSpine(bed, 1e-8);
        bed.helper.SetSwitchAttribute("BufferPer100G", UintegerValue(150000));
        bed.helper.SetSwitchAttribute("EcnKmin", UintegerValue(10000));
        bed.helper.SetSwitchAttribute("EcnKmax", UintegerValue(60000));
        bed.helper.SetNicAttribute("TimeoutExponent", UintegerValue(9)); // 2 ms
        bed.helper.SetCongestionOps(CreateObject<RdmaDcqcnCongestionOps>());
        bed.Build();
        for (uint32_t i = 1; i < 32; ++i)
        {
            bed.Connect(i, i % 3 ? 0 : (i + 7) % 32).first->PostWrite(400000 + 1000 * i, i);
        }
        Simulator::Run();
        outcome = Outcome(bed);
        if (nics && ports)
        {
            *nics = bed.fabric->GetNicTotals();
            *ports = bed.fabric->GetPortTotals();
        }
    }
    GlobalValue::Bind("SchedulerType", StringValue("ns3::MapScheduler"));
    RngSeedManager::SetRun(before);
    return outcome;
}

} // namespace

class RdmaEcmpTestCase : public TestCase
{
  public:
    RdmaEcmpTestCase()
        : TestCase(
              "ECMP spreads flows evenly, keeps each on one path, and depends on the run number")
    {
    }

  private:
    void DoRun() override
    {
        const auto first = Spread(1);
        NS_TEST_EXPECT_MSG_EQ((first == Spread(1)), true, "the same run: the same paths");
        NS_TEST_EXPECT_MSG_EQ((first == Spread(2)), false, "another run: other seeds, other paths");
    }

    std::vector<uint64_t> Spread(uint64_t run)
    {
        const uint64_t before = RngSeedManager::GetRun();
        RngSeedManager::SetRun(run);
        Bed bed;
        DescribeLeafSpine(bed);
        bed.Build();
        RngSeedManager::SetRun(before);
        // 400 queue pairs from leaf 0 to leaf 1, 3 packets each, one after the other.
        const uint32_t flows = 400;
        for (uint32_t i = 0; i < flows; ++i)
        {
            RdmaQueuePair* qp = bed.Connect(i % 4, 4 + i / 4 % 4).first;
            Simulator::Schedule(MicroSeconds(i), [qp]() { qp->PostWrite(3 * 4096, 1); });
        }
        Simulator::Run();
        NS_TEST_EXPECT_MSG_EQ(bed.notes.messages.size(), flows, "arrived");
        NS_TEST_EXPECT_MSG_EQ(bed.fabric->GetNicTotals().outOfOrderDropped, 0, "in order");
        // Leaf 0's ports to the spines: links 32 to 35, ends 64, 66, 68, 70.
        std::vector<uint64_t> counts;
        uint64_t sum = 0;
        double chi = 0;
        for (uint32_t spine = 0; spine < 4; ++spine)
        {
            const uint64_t frames = bed.fabric->GetPorts()[64 + 2 * spine]->GetCounters().txFrames;
            NS_TEST_EXPECT_MSG_EQ(frames % 3, 0, "a flow stays on its path");
            counts.push_back(frames);
            sum += frames;
            chi += std::pow(static_cast<double>(frames) / 3 - flows / 4.0, 2) / (flows / 4.0);
        }
        NS_TEST_EXPECT_MSG_EQ(sum, 3 * flows, "all over the spines");
        // Chi-square with 3 degrees of freedom exceeds 21.1 with probability 1e-4.
        NS_TEST_EXPECT_MSG_LT(chi, 21.1, "evenly");
        return counts;
    }
};

class RdmaPolarizationTestCase : public TestCase
{
  public:
    RdmaPolarizationTestCase()
        : TestCase("two switches in a row choose independently: each has a seed of its own")
    {
    }

  private:
    void DoRun() override
    {
        //            c
        //     a <         > e
        // s <      x            t      s to a or b, a and b each to c or d
        //     b <         >
        //            d
        Bed bed;
        const auto [from, to] = bed.HostsNamed("from", "to");
        const auto [s, a, b, c, d, t] = bed.SwitchesNamed("s", "a", "b", "c", "d", "t");
        bed.Link(from, s, 100 * GBPS);
        bed.Link(s, a, 100 * GBPS);
        bed.Link(s, b, 100 * GBPS);
        for (const auto& [upper, lower] : {std::make_pair(a, c),
                                           std::make_pair(a, d),
                                           std::make_pair(b, c),
                                           std::make_pair(b, d)})
        {
            bed.Link(upper, lower, 100 * GBPS); // links 3 to 6
        }
        bed.Link(c, t, 100 * GBPS);
        bed.Link(d, t, 100 * GBPS);
        bed.Link(t, to, 100 * GBPS);
        bed.Build();
        for (uint32_t i = 0; i < 400; ++i)
        {
            bed.Connect(0, 1).first->PostWrite(0, i); // one packet each
        }
        Simulator::Run();
        for (uint32_t link = 3; link <= 6; ++link)
        {
            // 400 draws with probability 1/4: 100 +- 8.7; 5 sigma. With one seed for both choices
            // two of the four links would carry nothing.
            NS_TEST_EXPECT_MSG_EQ_TOL(
                static_cast<double>(bed.fabric->GetPorts()[2 * link]->GetCounters().txDataFrames),
                100,
                44,
                bed.fabric->GetLinkName(PeekPointer(bed.fabric->GetPorts()[2 * link])));
        }
    }
};

class RdmaDeterminismTestCase : public TestCase
{
  public:
    RdmaDeterminismTestCase()
        : TestCase("the same run twice in one process: every counter and every time the same")
    {
    }

  private:
    void DoRun() override
    {
        RdmaNicCounters nics;
        RdmaPortCounters ports;
        const std::string once = RunEverything(1, "ns3::MapScheduler", &nics, &ports);
        NS_TEST_EXPECT_MSG_GT(ports.ecnMarks, 0, "marks");
        NS_TEST_EXPECT_MSG_GT(ports.pausesSent, 0, "pauses");
        NS_TEST_EXPECT_MSG_GT(ports.corrupted, 0, "bit errors");
        NS_TEST_EXPECT_MSG_GT(nics.cnpsSent, 0, "CNPs");
        NS_TEST_EXPECT_MSG_GT(nics.retransmittedPackets, 0, "retransmissions");
        NS_TEST_EXPECT_MSG_EQ((once == RunEverything(1)), true, "the same");
        NS_TEST_EXPECT_MSG_EQ((once == RunEverything(2)), false, "another run number");
        NS_TEST_EXPECT_MSG_EQ((once == RunEverything(1, "ns3::HeapScheduler")),
                              true,
                              "which of ns-3's schedulers makes no difference");
        // This one has an order of its own for what happens at one time: RdmaEventOrder.
        const std::string ordered = RunEverything(1, "ns3::QuadHeapScheduler");
        NS_TEST_EXPECT_MSG_EQ((ordered == RunEverything(1, "ns3::QuadHeapScheduler")),
                              true,
                              "the same in the fabric's own order");
    }
};

class RdmaHelperErrorsTestCase : public TestCase
{
  public:
    RdmaHelperErrorsTestCase()
        : TestCase("what cannot be built is refused with a reason")
    {
    }

  private:
    void DoRun() override
    {
        const auto refuse = [this](const std::vector<RdmaLinkSpec>& links, const std::string& why) {
            RdmaFabricHelper helper;
            std::string error;
            const auto fabric =
                helper.Build({{"a", false}, {"b", false}, {"s", true}}, links, error);
            NS_TEST_EXPECT_MSG_EQ((fabric == nullptr), true, why);
            NS_TEST_EXPECT_MSG_NE(error.find(why), std::string::npos, error);
            Simulator::Destroy();
        };
        refuse({{0, 3, GBPS, 0, 0}}, "link 0");
        refuse({{0, 2, 100 * GBPS, 0, 0}, {1, 1, 100 * GBPS, 0, 0}}, "link 1");
        refuse({{0, 2, 0, 0, 0}}, "rate");
        refuse({{0, 2, GBPS, -1, 0}}, "delay");
        // 1 ms of cable at 100 Gb/s: 25 MB of headroom do not fit into 1 MB a port.
        refuse({{0, 2, 100 * GBPS, 1000 * US, 0}, {1, 2, 100 * GBPS, US, 0}}, "headroom");
    }
};

class RdmaFabricTestSuite : public TestSuite
{
  public:
    RdmaFabricTestSuite()
        : TestSuite("rdma-fabric", UNIT)
    {
        AddTestCase(new RdmaEcmpTestCase, TestCase::QUICK);
        AddTestCase(new RdmaPolarizationTestCase, TestCase::QUICK);
        AddTestCase(new RdmaDeterminismTestCase, TestCase::QUICK);
        AddTestCase(new RdmaHelperErrorsTestCase, TestCase::QUICK);
    }
};

static RdmaFabricTestSuite g_rdmaFabricTestSuite;
