/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * RdmaPort as an ordinary ns-3 NetDevice, the attributes' names, and that nothing is left over.
 */
#include "rdma-test-fabric.h"

#include "ns3/packet.h"

#include <numeric>

using namespace ns3;
using namespace ns3::rdmatest;

class RdmaNetDeviceTestCase : public TestCase
{
  public:
    RdmaNetDeviceTestCase()
        : TestCase("a packet crosses a link as over any NetDevice, between RDMA frames")
    {
    }

  private:
    void DoRun() override
    {
        Bed bed(2, 100 * GBPS);
        bed.Build();
        Ptr<NetDevice> host = bed.fabric->GetPorts()[0];
        Ptr<NetDevice> peer = bed.fabric->GetPorts()[1];
        NS_TEST_EXPECT_MSG_EQ(host->IsPointToPoint(), true, "a cable has two ends");
        NS_TEST_EXPECT_MSG_EQ(host->IsBroadcast(), true, "broadcast");
        NS_TEST_EXPECT_MSG_EQ(host->IsMulticast(), false, "multicast");
        NS_TEST_EXPECT_MSG_EQ(host->IsBridge(), false, "bridge");
        NS_TEST_EXPECT_MSG_EQ(host->NeedsArp(), false, "ARP");
        NS_TEST_EXPECT_MSG_EQ(host->SupportsSendFrom(), true, "SendFrom");
        NS_TEST_EXPECT_MSG_EQ(host->IsLinkUp(), true, "link");
        NS_TEST_EXPECT_MSG_EQ(host->GetIfIndex(), 0, "first device of its node");
        NS_TEST_EXPECT_MSG_EQ(host->GetNode(), bed.fabric->GetNodes().Get(0), "node");
        NS_TEST_EXPECT_MSG_EQ(host->GetChannel()->GetNDevices(), 2, "channel");
        NS_TEST_EXPECT_MSG_EQ(host->GetChannel()->GetDevice(1), peer, "the other end");
        TimeValue delay;
        host->GetChannel()->GetAttribute("Delay", delay);
        NS_TEST_EXPECT_MSG_EQ(delay.Get(),
                              MicroSeconds(1),
                              "what a distributed simulator asks for");

        std::vector<std::pair<uint16_t, uint32_t>> received;
        int64_t at = 0;
        Address from;
        Receiver receiver{[&](Ptr<const Packet> p, uint16_t protocol, const Address& source) {
            received.emplace_back(protocol, p->GetSize());
            at = RdmaClock::Now();
            from = source;
        }};
        peer->SetReceiveCallback(MakeCallback(&Receiver::OnPacket, &receiver));
        uint8_t bytes[100];
        std::iota(bytes, bytes + 100, 0);
        Ptr<Packet> packet = Create<Packet>(bytes, 100);
        NS_TEST_EXPECT_MSG_EQ(host->Send(packet, peer->GetAddress(), 0x0800), true, "taken");
        NS_TEST_EXPECT_MSG_EQ(host->Send(Create<Packet>(5000), peer->GetAddress(), 1),
                              false,
                              "larger than the MTU of 4,096 B");
        Simulator::Run();
        NS_TEST_ASSERT_MSG_EQ(received.size(), 1, "one packet");
        NS_TEST_EXPECT_MSG_EQ(received[0].first, 0x0800, "its protocol");
        NS_TEST_EXPECT_MSG_EQ(received[0].second, 100, "its size");
        NS_TEST_EXPECT_MSG_EQ(from, host->GetAddress(), "its sender");
        // (100 + 18 + 20) B x 80 ps + 1 us + the switch's pipeline: 1,511.04 ns, at the next ns.
        NS_TEST_EXPECT_MSG_EQ(at, 1512 * NS, "when");

        // Between data frames: priority 0 waits for nothing but the frame under way, since queued
        // frames go before what a NIC makes on demand.
        bed.Connect(0, 1).first->PostWrite(20 * 4096, 1);
        host->Send(packet, peer->GetAddress(), 0x86dd);
        Simulator::Run();
        NS_TEST_EXPECT_MSG_EQ(received.size(), 2, "arrived");
        NS_TEST_EXPECT_MSG_EQ(bed.notes.messages.size(), 1, "arrived");
        NS_TEST_EXPECT_MSG_EQ(bed.Device()->GetReceived() - bed.Device()->GetForwarded(),
                              0,
                              "a switch does not forward ordinary packets, nor count them");
    }

    struct Receiver
    {
        std::function<void(Ptr<const Packet>, uint16_t, const Address&)> f;

        bool OnPacket(Ptr<NetDevice>, Ptr<const Packet> packet, uint16_t protocol, const Address& a)
        {
            f(packet, protocol, a);
            return true;
        }
    };
};

class RdmaBarePortsTestCase : public TestCase
{
  public:
    RdmaBarePortsTestCase()
        : TestCase("two ports without NIC or switch behind them are a plain point-to-point link")
    {
    }

  private:
    void DoRun() override
    {
        RdmaClock::Update();
        Ptr<RdmaPort> ports[2];
        for (auto& port : ports)
        {
            port = CreateObject<RdmaPort>();
            port->SetRate(10 * GBPS);
            CreateObject<Node>()->AddDevice(port);
        }
        CreateObject<RdmaChannel>()->Attach(ports[0], ports[1]);
        ports[1]->SetReceiveCallback(MakeCallback(&RdmaBarePortsTestCase::OnPacket, this));
        for (int i = 0; i < 3; ++i)
        {
            ports[0]->Send(Create<Packet>(1000), ports[1]->GetAddress(), 0x0800);
        }
        Simulator::Run();
        // 3 x 1,038 B x 800 ps + 1 us = 3,491.2 ns
        NS_TEST_EXPECT_MSG_EQ(m_packets, 3, "arrived");
        NS_TEST_EXPECT_MSG_EQ(Simulator::Now(), NanoSeconds(3492), "back to back");
        Simulator::Destroy();
    }

    bool OnPacket(Ptr<NetDevice>, Ptr<const Packet>, uint16_t, const Address&)
    {
        ++m_packets;
        return true;
    }

    int m_packets{0};
};

class RdmaPoolTestCase : public TestCase
{
  public:
    RdmaPoolTestCase()
        : TestCase("frames go back to the pool: when a run ends, and when it is cut off")
    {
    }

  private:
    void DoRun() override
    {
        RdmaFramePool& pool = RdmaFramePool::Get();
        NS_TEST_ASSERT_MSG_EQ(pool.GetLive(), 0, "nothing before");
        for (const int64_t us : {1, 3, 10, 33, 100, 100000})
        {
            Bed bed(9, 100 * GBPS, US, 1e-7);
            bed.helper.SetSwitchAttribute("BufferPer100G", UintegerValue(60000));
            bed.helper.SetNicAttribute("TimeoutExponent", UintegerValue(6));
            bed.helper.SetCongestionOps(CreateObject<RdmaDcqcnCongestionOps>());
            bed.Build();
            for (uint32_t i = 1; i < 9; ++i)
            {
                bed.Connect(i, 0).first->PostWrite(500000, i);
            }
            bed.fabric->GetPorts()[0]->Send(Create<Packet>(10), Mac48Address(), 1);
            Simulator::Stop(MicroSeconds(us));
            Simulator::Run();
            if (us < 100000)
            {
                // In queues, on links, in the control list of a port, with a packet attached.
                NS_TEST_EXPECT_MSG_GT(pool.GetLive(), 0, "under way after " << us << " us");
            }
            else
            {
                NS_TEST_EXPECT_MSG_EQ(pool.GetLive(), 0, "all delivered");
            }
            bed.Destroy();
            NS_TEST_EXPECT_MSG_EQ(pool.GetLive(), 0, "none after Destroy at " << us << " us");
        }
    }
};

class RdmaOpsNamesTestCase : public TestCase
{
  public:
    RdmaOpsNamesTestCase()
        : TestCase("congestion control is found by name")
    {
    }

  private:
    void DoRun() override
    {
        bool ok = false;
        NS_TEST_EXPECT_MSG_EQ(RdmaCongestionOps::LookupByName("dcqcn", ok),
                              RdmaDcqcnCongestionOps::GetTypeId(),
                              "dcqcn");
        NS_TEST_EXPECT_MSG_EQ(ok, true, "dcqcn");
        NS_TEST_EXPECT_MSG_EQ(RdmaCongestionOps::LookupByName("none", ok),
                              RdmaNoneCongestionOps::GetTypeId(),
                              "none");
        NS_TEST_EXPECT_MSG_EQ(ok, true, "none");
        RdmaCongestionOps::LookupByName("dcqn", ok);
        NS_TEST_EXPECT_MSG_EQ(ok, false, "a typing error");
        const auto names = RdmaCongestionOps::GetNames();
        for (const char* name : {"dcqcn", "none"})
        {
            NS_TEST_EXPECT_MSG_EQ(std::count_if(names.begin(),
                                                names.end(),
                                                [name](const auto& n) { return n.first == name; }),
                                  1,
                                  "listed once");
        }
        for (const auto& [name, description] : names)
        {
            NS_TEST_EXPECT_MSG_EQ(description.empty(), false, name << " is described");
        }
    }
};

class RdmaDeviceTestSuite : public TestSuite
{
  public:
    RdmaDeviceTestSuite()
        : TestSuite("rdma-device", UNIT)
    {
        AddTestCase(new RdmaNetDeviceTestCase, TestCase::QUICK);
        AddTestCase(new RdmaBarePortsTestCase, TestCase::QUICK);
        AddTestCase(new RdmaPoolTestCase, TestCase::QUICK);
        AddTestCase(new RdmaOpsNamesTestCase, TestCase::QUICK);
    }
};

static RdmaDeviceTestSuite g_rdmaDeviceTestSuite;
