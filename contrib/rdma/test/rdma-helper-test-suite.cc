/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * RdmaHelper: NICs and switches on nodes that exist, the times of which are closed forms and those
 * of RdmaFabricHelper; trace sources with Time and DataRate. What it refuses:
 * rdma-helper-mistakes-test-suite.cc.
 */
#include "rdma-test-fabric.h"

#include "ns3/dctcp-congestion-ops.h"
#include "ns3/rdma-helper.h"
#include "ns3/simple-net-device-helper.h"

#include <algorithm>
#include <sstream>

using namespace ns3;
using namespace ns3::rdmatest;

namespace
{

/// All that a run leaves behind, as text.
std::string
Outcome(const RdmaFabric& fabric, const Notes& notes)
{
    std::ostringstream text;
    for (const auto& port : fabric.GetPorts())
    {
        const RdmaPortCounters& c = port->GetCounters();
        text << port->GetEnd() << ' ' << c.txFrames << ' ' << c.txWireBytes << ' ' << c.rxFrames
             << ' ' << c.corrupted << ' ' << c.ecnMarks << ' ' << c.pausesSent << ' ' << c.pausedPs
             << ' ' << c.maxQueueBytes << '\n';
    }
    const RdmaNicCounters sum = fabric.GetNicTotals();
    text << sum.dataPackets << ' ' << sum.retransmittedPackets << ' ' << sum.acksSent << ' '
         << sum.naksSent << ' ' << sum.cnpsSent << ' ' << sum.timeouts << '\n';
    for (const auto& m : notes.messages)
    {
        text << m.at << ' ' << m.message.bytes << '\n';
    }
    for (const auto& c : notes.completions)
    {
        text << c.at << ' ' << c.id << '\n';
    }
    return text.str();
}

/// Five hosts on two switches: one cable of odd rate, delay and bit errors, the others alike.
struct Plan
{
    static constexpr uint32_t HOSTS = 5;

    struct Cable
    {
        uint32_t a;
        uint32_t b;
        uint64_t bps;
        int64_t ns;
        double errors;
    };

    std::vector<Cable> cables{{0, 5, 100 * GBPS, 1000, 0},
                              {1, 5, 33333333333, 777, 1e-7},
                              {2, 5, 25 * GBPS, 1, 0},
                              {3, 6, 100 * GBPS, 1000, 0},
                              {4, 6, 100 * GBPS, 1000, 0},
                              {5, 6, 40 * GBPS, 12345, 0}};

    /// A fabric of either helper.
    template <class Helper>
    void Set(Helper& helper, bool infiniBand) const
    {
        if (infiniBand)
        {
            helper.SetInfiniBand({});
        }
        else
        {
            helper.SetNicAttribute("TimeoutExponent", UintegerValue(9)); // 2 ms
            helper.SetSwitchAttribute("BufferPer100G", UintegerValue(150000));
            helper.SetCongestionOps(CreateObject<RdmaDcqcnCongestionOps>());
        }
        helper.SetNicAttribute("Mtu", UintegerValue(1024));
        helper.SetPortAttribute("StrictPriorities", UintegerValue(0x80));
    }

    /// All send to host 4, and it sends to host 0.
    std::string Run(RdmaFabric& fabric) const
    {
        Notes notes;
        for (uint32_t e = 0; e < HOSTS; ++e)
        {
            fabric.GetNic(e)->SetUser(&notes);
        }
        for (uint32_t e = 0; e < HOSTS; ++e)
        {
            const uint32_t to = e == 4 ? 0 : 4;
            fabric.ConnectQueuePairs(e, to, 3).first->PostWrite(300000 + 1000 * e, e);
        }
        Simulator::Run();
        return Outcome(fabric, notes);
    }
};

} // namespace

class RdmaHelperEqualTestCase : public TestCase
{
  public:
    RdmaHelperEqualTestCase(bool infiniBand, const std::string& scheduler)
        : TestCase(std::string("the same as RdmaFabricHelper's, to the last counter: ") +
                   (infiniBand ? "InfiniBand, " : "Ethernet, ") + scheduler),
          m_infiniBand(infiniBand),
          m_scheduler(scheduler)
    {
    }

  private:
    std::string WithFabricHelper() const
    {
        Bed bed;
        for (uint32_t host = 0; host < Plan::HOSTS; ++host)
        {
            bed.Host("h" + std::to_string(host));
        }
        bed.SwitchesNamed("left", "right");
        for (const Plan::Cable& cable : m_plan.cables)
        {
            bed.Link(cable.a, cable.b, cable.bps, cable.ns * NS, cable.errors);
        }
        m_plan.Set(bed.helper, m_infiniBand);
        bed.Build();
        return m_plan.Run(*bed.fabric);
    }

    std::string WithHelper() const
    {
        // With other nodes between, and devices of another kind on all of them.
        NodeContainer hosts;
        NodeContainer switches;
        NodeContainer all;
        for (uint32_t i = 0; i < Plan::HOSTS + 2; ++i)
        {
            NodeContainer pair(2);
            (i < Plan::HOSTS ? hosts : switches).Add(pair.Get(1));
            all.Add(pair);
        }
        SimpleNetDeviceHelper().Install(all);
        const auto node = [&](uint32_t i) {
            return i < Plan::HOSTS ? hosts.Get(i) : switches.Get(i - Plan::HOSTS);
        };
        RdmaHelper helper;
        m_plan.Set(helper, m_infiniBand);
        helper.InstallNics(hosts);
        helper.InstallSwitches(switches);
        for (const Plan::Cable& cable : m_plan.cables)
        {
            helper.SetLinkAttribute("BitErrorRate", DoubleValue(cable.errors));
            helper.Connect(node(cable.a),
                           node(cable.b),
                           DataRate(cable.bps),
                           NanoSeconds(static_cast<uint64_t>(cable.ns)));
        }
        const std::string outcome = m_plan.Run(helper.Finish());
        Simulator::Destroy();
        return outcome;
    }

    void DoRun() override
    {
        GlobalValue::Bind("SchedulerType", StringValue(m_scheduler));
        const std::string expected = WithFabricHelper();
        const std::string found = WithHelper();
        GlobalValue::Bind("SchedulerType", StringValue("ns3::MapScheduler"));
        NS_TEST_EXPECT_MSG_GT(expected.size(), 300, "something has happened");
        NS_TEST_EXPECT_MSG_EQ(found, expected, "the same fabric");
    }

    Plan m_plan;
    bool m_infiniBand;
    std::string m_scheduler;
};

/// Who listens to the trace sources with ns-3's types.
struct Listener
{
    void Done(std::string context, Ptr<const RdmaQueuePair> qp, uint64_t bytes, Time from, Time to)
    {
        text << "done " << context << ' ' << qp->GetNumber() << ' ' << bytes << ' '
             << from.GetNanoSeconds() << ' ' << to.GetNanoSeconds() << '\n';
    }

    void Arrived(std::string context, Ptr<const RdmaQueuePair>, uint64_t bytes, Time end)
    {
        text << "arrived " << context << ' ' << bytes << ' ' << end.GetNanoSeconds() << '\n';
    }

    void ConnectAll()
    {
        const std::string all = "/NodeList/*/$ns3::RdmaHost/NicList/*/";
        Config::Connect(all + "MessageDone", MakeCallback(&Listener::Done, this));
        Config::Connect(all + "MessageArrived", MakeCallback(&Listener::Arrived, this));
    }

    std::string Path(Ptr<NetDevice> port, const std::string& source) const
    {
        return "/NodeList/" + std::to_string(port->GetNode()->GetId()) +
               "/$ns3::RdmaHost/NicList/0/" + source;
    }

    std::ostringstream text;
};

class RdmaHelperTimesTestCase : public TestCase
{
  public:
    RdmaHelperTimesTestCase()
        : TestCase("a host with two kinds of devices; times by hand; the helper is gone by then")
    {
    }

  private:
    /// Two hosts with a network of their own and a NIC each, on a switch of 100 Gb/s and 1 us.
    NetDeviceContainer Make(const NodeContainer& nodes)
    {
        RdmaHelper helper;
        const NetDeviceContainer nics =
            helper.InstallNics(NodeContainer(nodes.Get(0), nodes.Get(1)));
        helper.InstallSwitches(nodes.Get(2));
        helper.SetLinkAttribute("DataRate", StringValue("100Gbps"));
        helper.SetLinkAttribute("Delay", TimeValue(MicroSeconds(1)));
        const NetDeviceContainer link = helper.Connect(nics.Get(0), nodes.Get(2));
        NS_TEST_EXPECT_MSG_EQ(link.Get(0), nics.Get(0), "the NIC's port");
        NS_TEST_EXPECT_MSG_EQ(link.Get(1)->GetNode(), nodes.Get(2), "the switch's port");
        helper.Connect(nodes.Get(2), nodes.Get(1));
        const RdmaFabric& fabric = helper.Finish();
        NS_TEST_EXPECT_MSG_EQ(fabric.GetNEndpoints(), 2, "two NICs");
        NS_TEST_EXPECT_MSG_EQ(fabric.GetNodeName(0),
                              "n" + std::to_string(nodes.Get(0)->GetId()),
                              "a name");
        m_ideal = helper.GetIdealCompletion(nics.Get(0), nics.Get(1), 1000000);
        return nics;
    }

    bool Heard(Ptr<NetDevice>, Ptr<const Packet> packet, uint16_t, const Address&)
    {
        m_heard += packet->GetSize();
        return true;
    }

    void DoRun() override
    {
        NodeContainer nodes(3);
        const NetDeviceContainer lan = SimpleNetDeviceHelper().Install(nodes);
        lan.Get(1)->SetReceiveCallback(MakeCallback(&RdmaHelperTimesTestCase::Heard, this));
        const NetDeviceContainer nics = Make(nodes);
        NS_TEST_EXPECT_MSG_EQ(nics.Get(0)->GetIfIndex(), 1, "behind the device that was there");
        NS_TEST_EXPECT_MSG_EQ(nodes.Get(0)->GetDevice(1), nics.Get(0), "a device of the node");
        NS_TEST_EXPECT_MSG_EQ(nodes.Get(2)->GetNDevices(), 3, "the switch: one and two");
        const Ptr<RdmaNic> from = RdmaHelper::GetNic(nics.Get(0));
        const Ptr<RdmaNic> to = RdmaHelper::GetNic(nics.Get(1));
        NS_TEST_EXPECT_MSG_EQ(nodes.Get(0)->GetObject<RdmaNic>(), from, "the node's only NIC");

        Listener listener;
        listener.ConnectAll();
        RdmaQueuePair* qp = from->CreateQueuePair(3);
        RdmaNic::Connect(qp, to->CreateQueuePair(3));
        qp->PostWrite(1000000, 1);
        lan.Get(0)->Send(Create<Packet>(100), lan.Get(1)->GetAddress(), 0x800);
        Simulator::Run();
        // 244 packets of 4,096 B and one of 576 B, 82 B each, RETH 16 B: 1,020,106 B; the first
        // one, 4,194 B, once more. 80 ps a byte, two links of 1 us, 500 ns. The ACK: 86 B.
        const int64_t arrival = (1020106 + 4194) * 80 + 2 * US + 500 * NS;
        const int64_t done = arrival + 2 * 86 * 80 + 2 * US + 500 * NS;
        std::ostringstream expected;
        expected << "arrived " << listener.Path(nics.Get(1), "MessageArrived") << " 1000000 "
                 << arrival / NS << "\ndone " << listener.Path(nics.Get(0), "MessageDone") << ' '
                 << qp->GetNumber() << " 1000000 0 " << (done + NS - 1) / NS << '\n';
        NS_TEST_EXPECT_MSG_EQ(listener.text.str(), expected.str(), "by hand");
        NS_TEST_EXPECT_MSG_EQ(m_ideal, NanoSeconds(arrival / NS), "the closed form");
        NS_TEST_EXPECT_MSG_EQ(m_heard, 100, "the other device works, too");

        // A READ is done when all of it is here; what fails is not told of.
        listener.text.str("");
        const Time before = Simulator::Now();
        qp->PostRead(1000, 2);
        Simulator::Run();
        const std::string read = listener.text.str();
        NS_TEST_EXPECT_MSG_EQ((read.find("done ") == 0 &&
                               read.find(" 1000 " + std::to_string(before.GetNanoSeconds()) +
                                         ' ') != std::string::npos),
                              true,
                              read);
        listener.text.str("");
        qp->Modify(RdmaQueuePair::State::ERROR);
        qp->PostWrite(1000, 3);
        NS_TEST_EXPECT_MSG_EQ(listener.text.str(), "", "flushed");
        Simulator::Destroy();
    }

    Time m_ideal;
    uint32_t m_heard{0};
};

class RdmaHelperPairTestCase : public TestCase
{
  public:
    RdmaHelperPairTestCase()
        : TestCase("two NICs a node, back to back, in an order of one's own; odd rates and delays")
    {
    }

  private:
    void DoRun() override
    {
        NodeContainer nodes(2);
        RdmaHelper helper;
        helper.SetNicAttribute("Mtu", UintegerValue(256));
        const NetDeviceContainer first = helper.InstallNics(nodes);
        const NetDeviceContainer second =
            helper.InstallNics(NodeContainer(nodes.Get(1), nodes.Get(0)));
        // The second NICs are connected first, and a node takes what is left.
        helper.Connect(second.Get(0), second.Get(1), DataRate("7777777777bps"), NanoSeconds(13));
        helper.Connect(nodes.Get(0), nodes.Get(1), DataRate("1Mbps"), Time(0));
        RdmaFabric& fabric = helper.Finish();
        NS_TEST_ASSERT_MSG_EQ(fabric.GetNEndpoints(), 4, "endpoints");
        for (uint32_t n = 0; n < 2; ++n)
        {
            const Ptr<RdmaHost> host = nodes.Get(n)->GetObject<RdmaHost>();
            NS_TEST_EXPECT_MSG_EQ(host->GetNic(0), RdmaHelper::GetNic(first.Get(n)), "the first");
            NS_TEST_EXPECT_MSG_EQ(host->GetNic(1),
                                  RdmaHelper::GetNic(second.Get(1 - n)),
                                  "the second");
            NS_TEST_EXPECT_MSG_EQ(nodes.Get(n)->GetObject<RdmaNic>(), nullptr, "there are two");
        }
        for (uint32_t e = 0; e < 4; ++e)
        {
            NS_TEST_EXPECT_MSG_EQ(fabric.GetEndpointName(e),
                                  "n" + std::to_string(nodes.Get(e / 2)->GetId()) + ":" +
                                      std::to_string(e % 2),
                                  "endpoint");
        }
        // 256 B, 82 B, RETH 16 B.
        const std::pair<NetDeviceContainer, int64_t> cases[] = {
            {NetDeviceContainer(first.Get(0), first.Get(1)), 354 * 8 * US},
            {NetDeviceContainer(second.Get(0), second.Get(1)),
             (354LL * 8 * 1000000000000 + 7777777777 / 2) / 7777777777 + 13 * NS}};
        for (const auto& [ports, expected] : cases)
        {
            Notes notes;
            const Ptr<RdmaNic> to = RdmaHelper::GetNic(ports.Get(1));
            to->SetUser(&notes);
            RdmaQueuePair* qp = RdmaHelper::GetNic(ports.Get(0))->CreateQueuePair(3);
            RdmaNic::Connect(qp, to->CreateQueuePair(3));
            const int64_t before = RdmaClock::Now();
            qp->PostWrite(256, 1);
            Simulator::Run();
            NS_TEST_ASSERT_MSG_EQ(notes.messages.size(), 1, "one message");
            NS_TEST_EXPECT_MSG_EQ(notes.messages[0].at - before, expected, "ps, by hand");
            NS_TEST_EXPECT_MSG_EQ(helper.GetIdealCompletion(ports.Get(0), ports.Get(1), 256),
                                  RdmaClock::At(expected),
                                  "the closed form");
        }
        Simulator::Destroy();
    }
};

class RdmaHelperSecondFabricTestCase : public TestCase
{
  public:
    RdmaHelperSecondFabricTestCase()
        : TestCase("a second fabric on nodes that were there when the first one looked at paths")
    {
    }

  private:
    void DoRun() override
    {
        NodeContainer nodes(5);
        RdmaHelper pair;
        pair.InstallNics(NodeContainer(nodes.Get(0), nodes.Get(1)));
        pair.Connect(nodes.Get(0), nodes.Get(1));
        RdmaFabric& first = pair.Finish();
        NS_TEST_EXPECT_MSG_EQ(first.GetNic(0)->GetBaseRtt(), first.GetBaseRtt(0), "two cables");
        RdmaHelper star;
        star.InstallNics(NodeContainer(nodes.Get(2), nodes.Get(3)));
        star.InstallSwitches(nodes.Get(4));
        star.Connect(nodes.Get(2), nodes.Get(4));
        star.Connect(nodes.Get(3), nodes.Get(4));
        RdmaFabric& second = star.Finish();
        NS_TEST_EXPECT_MSG_EQ(second.GetNic(0)->GetBaseRtt(), second.GetBaseRtt(0), "a switch");
        NS_TEST_EXPECT_MSG_GT(second.GetBaseRtt(0), first.GetBaseRtt(0), "longer");
        Simulator::Destroy();
    }
};

class RdmaRateTraceTestCase : public TestCase
{
  public:
    RdmaRateTraceTestCase()
        : TestCase("SendingRate tells as DataRate and Time what Rate tells")
    {
    }

  private:
    void DoRun() override
    {
        NodeContainer nodes(4);
        RdmaHelper helper;
        helper.SetCongestionOps(CreateObject<RdmaDcqcnCongestionOps>());
        const NodeContainer hosts(nodes.Get(0), nodes.Get(1), nodes.Get(2));
        const NetDeviceContainer nics = helper.InstallNics(hosts);
        helper.InstallSwitches(nodes.Get(3));
        for (uint32_t i = 0; i < 3; ++i)
        {
            helper.Connect(nics.Get(i), nodes.Get(3));
        }
        helper.Finish();
        std::ostringstream plain;
        std::ostringstream typed;
        for (uint32_t i = 0; i < 3; ++i)
        {
            const Ptr<RdmaNic> nic = RdmaHelper::GetNic(nics.Get(i));
            Watch<RdmaQueuePair*, uint64_t, int64_t>(
                nic,
                "Rate",
                [&plain](RdmaQueuePair* qp, uint64_t bps, int64_t now) {
                    plain << qp << ' ' << bps << ' ' << (now + NS - 1) / NS << '\n';
                });
            Watch<Ptr<const RdmaQueuePair>, DataRate, Time>(
                nic,
                "SendingRate",
                [&typed](Ptr<const RdmaQueuePair> qp, DataRate rate, Time at) {
                    typed << PeekPointer(qp) << ' ' << rate.GetBitRate() << ' '
                          << at.GetNanoSeconds() << '\n';
                });
        }
        for (uint32_t i = 0; i < 2; ++i)
        {
            RdmaQueuePair* qp = RdmaHelper::GetNic(nics.Get(i))->CreateQueuePair(3);
            RdmaNic::Connect(qp, RdmaHelper::GetNic(nics.Get(2))->CreateQueuePair(3));
            qp->PostWrite(3000000, 1);
        }
        Simulator::Run();
        const std::string told = typed.str();
        NS_TEST_EXPECT_MSG_EQ(told, plain.str(), "the same");
        NS_TEST_EXPECT_MSG_GT(std::count(told.begin(), told.end(), '\n'), 6, "rates change");
        NS_TEST_EXPECT_MSG_NE(told.find(" 100000000000 0\n"), std::string::npos, "line rate first");
        Simulator::Destroy();
    }
};

class RdmaLiveEcnTestCase : public TestCase
{
  public:
    RdmaLiveEcnTestCase()
        : TestCase("ECN's thresholds act from the moment on at which Config::Set changes them")
    {
    }

  private:
    /// From then on a threshold of 0 B marks each data packet that leaves for the receiver, and
    /// until then one of 1 GB marks none.
    void DoRun() override
    {
        NodeContainer nodes(4);
        RdmaHelper helper;
        helper.SetCongestionOps(CreateObject<RdmaDcqcnCongestionOps>());
        helper.SetSwitchAttribute("EcnKmin", UintegerValue(1000000000));
        helper.SetSwitchAttribute("EcnKmax", UintegerValue(1000000000));
        helper.InstallNics(NodeContainer(nodes.Get(0), nodes.Get(1), nodes.Get(2)));
        helper.InstallSwitches(nodes.Get(3));
        for (uint32_t host = 0; host < 3; ++host)
        {
            helper.Connect(nodes.Get(host), nodes.Get(3));
        }
        RdmaFabric& fabric = helper.Finish();
        for (uint32_t sender = 0; sender < 2; ++sender)
        {
            fabric.ConnectQueuePairs(sender, 2, 3).first->PostWrite(2000000, sender);
        }
        const RdmaPort& down = *fabric.GetPorts()[5]; // to the receiver
        uint64_t frames = 0;
        Simulator::Schedule(MicroSeconds(50), [&] {
            NS_TEST_EXPECT_MSG_EQ(down.GetCounters().ecnMarks, 0, "none before");
            frames = down.GetCounters().txFrames;
            Config::Set("/NodeList/*/$ns3::RdmaSwitch/EcnKmin", UintegerValue(0));
            Config::Set("/NodeList/*/$ns3::RdmaSwitch/EcnKmax", UintegerValue(0));
        });
        Simulator::Run();
        NS_TEST_EXPECT_MSG_GT(frames, 0, "some before");
        NS_TEST_EXPECT_MSG_EQ_TOL(static_cast<double>(down.GetCounters().ecnMarks),
                                  static_cast<double>(down.GetCounters().txFrames - frames),
                                  1,
                                  "all after, but for one on its way");
        Simulator::Destroy();
    }
};

class RdmaLateCongestionOpsTestCase : public TestCase
{
  public:
    RdmaLateCongestionOpsTestCase()
        : TestCase("a congestion control is set before Finish, and switches mark as it wants")
    {
    }

  private:
    enum Moment
    {
        NEVER,
        FIRST,
        LATE
    };

    /// \return EcnKmin of two switches, the second of which has its own
    static std::pair<uint64_t, uint64_t> Thresholds(Moment moment)
    {
        NodeContainer nodes(4);
        RdmaHelper helper;
        const auto ops = CreateObject<RdmaDctcpCongestionOps>();
        if (moment == FIRST)
        {
            helper.SetCongestionOps(ops);
        }
        helper.InstallNics(NodeContainer(nodes.Get(0), nodes.Get(1)));
        helper.InstallSwitches(NodeContainer(nodes.Get(2), nodes.Get(3)));
        nodes.Get(3)->GetObject<RdmaSwitch>()->SetAttribute("EcnKmin", UintegerValue(7));
        helper.Connect(nodes.Get(0), nodes.Get(2));
        helper.Connect(nodes.Get(2), nodes.Get(3));
        helper.Connect(nodes.Get(3), nodes.Get(1));
        if (moment == LATE)
        {
            helper.SetCongestionOps(CreateObject<RdmaDcqcnCongestionOps>());
            helper.SetCongestionOps(ops); // the last one counts
        }
        RdmaFabric& fabric = helper.Finish();
        std::pair<uint64_t, uint64_t> found;
        UintegerValue kmin;
        fabric.GetSwitch(2)->GetAttribute("EcnKmin", kmin);
        found.first = kmin.Get();
        fabric.GetSwitch(3)->GetAttribute("EcnKmin", kmin);
        found.second = kmin.Get();
        fabric.ConnectQueuePairs(0, 1, 3).first->PostWrite(100000, 1);
        Simulator::Run();
        Simulator::Destroy();
        return found;
    }

    void DoRun() override
    {
        const auto first = Thresholds(FIRST);
        NS_TEST_EXPECT_MSG_NE(first.first, Thresholds(NEVER).first, "a law's own thresholds");
        const auto late = Thresholds(LATE);
        NS_TEST_EXPECT_MSG_EQ(late.first, first.first, "the same, later");
        NS_TEST_EXPECT_MSG_EQ(late.second, 7, "what the user has set stays");
    }
};

class RdmaHelperTestSuite : public TestSuite
{
  public:
    RdmaHelperTestSuite()
        : TestSuite("rdma-helper", UNIT)
    {
        for (const std::string scheduler : {"ns3::MapScheduler", "ns3::QuadHeapScheduler"})
        {
            AddTestCase(new RdmaHelperEqualTestCase(false, scheduler), TestCase::QUICK);
            AddTestCase(new RdmaHelperEqualTestCase(true, scheduler), TestCase::QUICK);
        }
        AddTestCase(new RdmaHelperTimesTestCase, TestCase::QUICK);
        AddTestCase(new RdmaHelperPairTestCase, TestCase::QUICK);
        AddTestCase(new RdmaHelperSecondFabricTestCase, TestCase::QUICK);
        AddTestCase(new RdmaRateTraceTestCase, TestCase::QUICK);
        AddTestCase(new RdmaLiveEcnTestCase, TestCase::QUICK);
        AddTestCase(new RdmaLateCongestionOpsTestCase, TestCase::QUICK);
    }
};

static RdmaHelperTestSuite g_rdmaHelperTestSuite;
