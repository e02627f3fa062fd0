/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * A NIC's port as a NetDevice of the whole fabric: addresses, broadcasts, priorities, sizes,
 * losses; UDP and ping.
 */
#include "ordinary-bed.h"

#include "ns3/on-off-helper.h"
#include "ns3/udp-socket-factory.h"
#include "ns3/v4ping-helper.h"
#include "ns3/v4ping.h"

#include <map>
#include <set>

using namespace ns3;
using namespace ns3::ordinarytest;

namespace
{

/// What a device hands up.
struct Heard
{
    uint32_t endpoint;
    uint32_t size;
    uint16_t protocol;
    NetDevice::PacketType type;
    Address from;
    int64_t at;
};

/// Devices without a stack above: raw packets in and out.
class RawBed : public OrdinaryBed
{
  public:
    using OrdinaryBed::OrdinaryBed;

    void BuildRaw()
    {
        Build();
        std::string error;
        devices = packets.Install(*fabric, error);
        NS_ABORT_MSG_IF(!error.empty(), error);
        for (uint32_t i = 0; i < devices.GetN(); ++i)
        {
            devices.Get(i)->SetPromiscReceiveCallback([this, i](Ptr<NetDevice>,
                                                                Ptr<const Packet> packet,
                                                                uint16_t protocol,
                                                                const Address& from,
                                                                const Address&,
                                                                NetDevice::PacketType type) {
                heard.push_back({i, packet->GetSize(), protocol, type, from, RdmaClock::Now()});
                return true;
            });
        }
    }

    std::multiset<uint32_t> WhoHeard() const
    {
        std::multiset<uint32_t> who;
        for (const Heard& one : heard)
        {
            who.insert(one.endpoint);
        }
        return who;
    }

    NetDeviceContainer devices;
    std::vector<Heard> heard;
};

/// `leaves` x `spines`, with hosts at each leaf, some with two NICs.
void
MakeLeafSpine(Bed& bed, uint32_t leaves, uint32_t spines, uint32_t hosts, uint64_t bps, bool two)
{
    std::vector<uint32_t> all;
    for (uint32_t i = 0; i < leaves * hosts; ++i)
    {
        all.push_back(bed.Host("h" + std::to_string(i)));
    }
    std::vector<uint32_t> leaf;
    for (uint32_t i = 0; i < leaves; ++i)
    {
        leaf.push_back(bed.Switch("leaf" + std::to_string(i)));
    }
    for (uint32_t i = 0; i < leaves * hosts; ++i)
    {
        bed.Link(all[i], leaf[i / hosts], bps);
        if (two && i % 2)
        {
            bed.Link(all[i], leaf[(i / hosts + 1) % leaves], bps);
        }
    }
    for (uint32_t s = 0; s < spines; ++s)
    {
        const uint32_t spine = bed.Switch("spine" + std::to_string(s));
        for (uint32_t i = 0; i < leaves; ++i)
        {
            bed.Link(leaf[i], spine, bps);
        }
    }
}

/// A packet for all, for one, for an address that nobody has, for a group.
class AddressesCase : public OrdinaryCase
{
  public:
    AddressesCase(uint32_t leaves, uint32_t spines, uint32_t hosts, bool two)
        : OrdinaryCase(std::to_string(leaves) + " leaves, " + std::to_string(spines) + " spines, " +
                       std::to_string(hosts) + " hosts each" + (two ? ", two NICs" : "") +
                       ": who hears what, once"),
          m_leaves(leaves),
          m_spines(spines),
          m_hosts(hosts),
          m_two(two)
    {
    }

  private:
    void DoRun() override
    {
        RawBed bed;
        MakeLeafSpine(bed, m_leaves, m_spines, m_hosts, 10 * GBPS, m_two);
        bed.BuildRaw();
        const uint32_t n = bed.devices.GetN();
        for (uint32_t from = 0; from < n; ++from)
        {
            const auto all = [&](const Address& to) {
                bed.heard.clear();
                bed.devices.Get(from)->Send(Create<Packet>(200), to, 0x88b5);
                Simulator::Run();
                std::multiset<uint32_t> expected;
                for (uint32_t i = 0; i < n; ++i)
                {
                    if (i != from)
                    {
                        expected.insert(i);
                    }
                }
                NS_TEST_EXPECT_MSG_EQ((bed.WhoHeard() == expected),
                                      true,
                                      "everybody but the sender, once: from " << from << ", heard "
                                                                              << bed.heard.size());
            };
            all(Mac48Address::GetBroadcast());
            NS_TEST_EXPECT_MSG_EQ(bed.heard.front().type, NetDevice::PACKET_BROADCAST, "type");
            all(Mac48Address::GetMulticast(Ipv4Address("224.0.0.5")));
            NS_TEST_EXPECT_MSG_EQ(bed.heard.front().type, NetDevice::PACKET_MULTICAST, "type");
            all(Mac48Address("02:00:00:ff:ff:ff"));
            NS_TEST_EXPECT_MSG_EQ(bed.heard.front().type, NetDevice::PACKET_OTHERHOST, "type");
            const uint32_t to = (from + 1) % n;
            bed.heard.clear();
            bed.devices.Get(from)->Send(Create<Packet>(200), bed.devices.Get(to)->GetAddress(), 7);
            Simulator::Run();
            NS_TEST_ASSERT_MSG_EQ(bed.heard.size(), 1, "one");
            NS_TEST_EXPECT_MSG_EQ(bed.heard[0].endpoint, to, "who it is for");
            NS_TEST_EXPECT_MSG_EQ(bed.heard[0].type, NetDevice::PACKET_HOST, "type");
            NS_TEST_EXPECT_MSG_EQ(bed.heard[0].protocol, 7, "EtherType");
            NS_TEST_EXPECT_MSG_EQ(bed.heard[0].from,
                                  bed.devices.Get(from)->GetAddress(),
                                  "its sender");
        }
        // A new address is found at once, the old one no more.
        const Address old = bed.devices.Get(0)->GetAddress();
        bed.devices.Get(0)->SetAddress(Mac48Address("02:11:22:33:44:55"));
        bed.heard.clear();
        bed.devices.Get(1)->Send(Create<Packet>(50), Mac48Address("02:11:22:33:44:55"), 1);
        Simulator::Run();
        NS_TEST_EXPECT_MSG_EQ(bed.heard.size(), 1, "the new address");
        bed.heard.clear();
        bed.devices.Get(1)->Send(Create<Packet>(50), old, 1);
        Simulator::Run();
        NS_TEST_EXPECT_MSG_EQ(bed.heard.size(), n - 1, "nobody has the old one: to all");
        // SendFrom has the source that it is told.
        bed.heard.clear();
        bed.devices.Get(1)->SendFrom(Create<Packet>(50),
                                     Mac48Address("02:00:00:00:00:77"),
                                     bed.devices.Get(0)->GetAddress(),
                                     1);
        Simulator::Run();
        NS_TEST_EXPECT_MSG_EQ(bed.heard.at(0).from,
                              Address(Mac48Address("02:00:00:00:00:77")),
                              "SendFrom");
        End(bed);
    }

    uint32_t m_leaves;
    uint32_t m_spines;
    uint32_t m_hosts;
    bool m_two;
};

/// The tree of broadcasts is another one when a link fails.
class TreeCase : public OrdinaryCase
{
  public:
    TreeCase()
        : OrdinaryCase("each link down in turn: a broadcast reaches everybody that has a way, once")
    {
    }

  private:
    void DoRun() override
    {
        RawBed bed;
        MakeLeafSpine(bed, 3, 2, 2, 10 * GBPS, false);
        bed.BuildRaw();
        for (uint32_t link = 0; link < bed.links.size(); ++link)
        {
            NS_TEST_ASSERT_MSG_EQ(bed.fabric->SetLinkDown(link, true), "", "goes down");
            const bool ofHost = link < 6; // hosts' links come first
            for (uint32_t from = 0; from < 6; ++from)
            {
                bed.heard.clear();
                const bool sent = bed.devices.Get(from)->Send(Create<Packet>(100),
                                                              Mac48Address::GetBroadcast(),
                                                              1);
                Simulator::Run();
                const bool cutOff = ofHost && from == link;
                NS_TEST_EXPECT_MSG_EQ(sent, !cutOff, "who is cut off cannot send");
                NS_TEST_EXPECT_MSG_EQ(bed.heard.size(),
                                      (cutOff ? 0U : (ofHost ? 4U : 5U)),
                                      "link " << link << ", from " << from);
            }
            NS_TEST_ASSERT_MSG_EQ(bed.fabric->SetLinkDown(link, false), "", "comes up");
        }
        End(bed);
    }
};

/// Sizes and times on the line.
class SizesCase : public OrdinaryCase
{
  public:
    SizesCase()
        : OrdinaryCase("frames take the line's time for their bytes; MTUs up to jumbo frames")
    {
    }

  private:
    void DoRun() override
    {
        for (const uint32_t mtu : {68U, 1500U, 4160U, 9000U})
        {
            RawBed bed(2, 10 * GBPS);
            bed.packets.SetAttribute("Mtu", UintegerValue(mtu));
            bed.helper.SetLargestFrame(mtu + 18);
            bed.BuildRaw();
            NS_TEST_EXPECT_MSG_EQ(bed.devices.Get(0)->GetMtu(), mtu, "MTU");
            for (const uint32_t size : {1U, 46U, 47U, mtu})
            {
                bed.heard.clear();
                const int64_t begin = RdmaClock::Now();
                const bool taken = bed.devices.Get(0)->Send(Create<Packet>(size),
                                                            bed.devices.Get(1)->GetAddress(),
                                                            1);
                Simulator::Run();
                NS_TEST_EXPECT_MSG_EQ(taken, true, size << " B of " << mtu);
                NS_TEST_ASSERT_MSG_EQ(bed.heard.size(), 1, "arrived");
                NS_TEST_EXPECT_MSG_EQ(bed.heard[0].size, size, "without padding");
                // Twice: at least 64 B of frame (header 14, FCS 4), preamble 8 and gap 12, at 0.8
                // ns a byte, 1 us of cable; and 0.5 us in the switch.
                const int64_t line = (std::max<int64_t>(64, size + 18) + 20) * 800;
                NS_TEST_EXPECT_MSG_EQ_TOL(bed.heard[0].at - begin,
                                          2 * (line + US) + 500 * NS,
                                          2 * NS,
                                          "when");
            }
            NS_TEST_EXPECT_MSG_EQ(bed.devices.Get(0)->Send(Create<Packet>(mtu + 1),
                                                           bed.devices.Get(1)->GetAddress(),
                                                           1),
                                  false,
                                  "more than the MTU");
            NS_TEST_EXPECT_MSG_EQ(bed.devices.Get(0)->SetMtu(mtu + 1),
                                  (mtu + 19 <= bed.fabric->GetLargestFrame()),
                                  "as buffers are prepared for");
            End(bed);
        }
        // Without the helper being told: RDMA's frames are the largest.
        RawBed bed(2, 10 * GBPS);
        bed.packets.SetAttribute("Mtu", UintegerValue(9000));
        bed.Build();
        std::string error;
        bed.packets.Install(*bed.fabric, error);
        NS_TEST_EXPECT_MSG_EQ(error,
                              "ns3::RdmaPackets::Mtu: 9000 B; allowed: 68 to 4160, as buffers are "
                              "prepared for frames of 4178 B (RdmaFabricHelper::SetLargestFrame)",
                              "refused");
    }
};

/// What cannot be is refused in words.
class RefusedCase : public OrdinaryCase
{
  public:
    RefusedCase()
        : OrdinaryCase("InfiniBand, scanning NICs, wrong maps, twice: refused")
    {
    }

  private:
    void DoRun() override
    {
        Expect("InfiniBand", [](OrdinaryBed& bed) { bed.helper.SetInfiniBand({}); });
        Expect("Scheduling: 'scan'", [](OrdinaryBed& bed) {
            bed.helper.SetNicAttribute("Scheduling", StringValue("scan"));
        });
        Expect("ns3::RdmaPackets::DscpPriorities: '46:8'; allowed: a list", [](OrdinaryBed& bed) {
            bed.packets.SetAttribute("DscpPriorities", StringValue("46:8"));
        });
        Expect("ns3::RdmaPackets::DscpPriorities: '64:1'", [](OrdinaryBed& bed) {
            bed.packets.SetAttribute("DscpPriorities", StringValue("64:1"));
        });
        OrdinaryBed bed(2, 10 * GBPS);
        bed.Build();
        std::string error;
        bed.packets.Install(*bed.fabric, error);
        NS_TEST_EXPECT_MSG_EQ(error, "", "once");
        bed.packets.Install(*bed.fabric, error);
        NS_TEST_EXPECT_MSG_EQ((error.find("already") != std::string::npos), true, error);
    }

    void Expect(const std::string& text, const std::function<void(OrdinaryBed&)>& set)
    {
        OrdinaryBed bed(2, 10 * GBPS);
        set(bed);
        bed.Build();
        std::string error;
        const NetDeviceContainer devices = bed.packets.Install(*bed.fabric, error);
        NS_TEST_EXPECT_MSG_EQ(devices.GetN(), 0, "no device");
        NS_TEST_EXPECT_MSG_EQ((error.find(text) != std::string::npos), true, error);
    }
};

/// UDP at twice the rate of the way out: what does not arrive has been dropped somewhere.
class UdpLossCase : public OrdinaryCase
{
  public:
    explicit UdpLossCase(uint8_t dscp)
        : OrdinaryCase("UDP at twice the rate with DSCP " + std::to_string(dscp) +
                       ": sent = received + dropped; its priority is the DSCP's"),
          m_dscp(dscp)
    {
    }

  private:
    void DoRun() override
    {
        OrdinaryBed bed;
        bed.Star(std::vector<uint64_t>{100 * GBPS, 10 * GBPS, 10 * GBPS});
        bed.helper.SetSwitchAttribute("BufferBytes", UintegerValue(200000));
        bed.packets.SetAttribute("DscpPriorities", StringValue("46:5,8:1"));
        bed.BuildAll();
        bed.stack->Introduce(0, 1);
        const uint8_t priority = m_dscp == 46 ? 5 : (m_dscp == 8 ? 1 : 0);
        std::map<uint8_t, uint64_t> seen;
        WatchFrames(bed.fabric->GetPorts()[3],
                    "PhyTx",
                    [&](const RdmaPort*, const RdmaFrame* frame, int64_t) {
                        if (frame->opcode == RdmaOpcode::ETHERNET && frame->payload > 1000)
                        {
                            ++seen[frame->priority];
                        }
                    });
        InetSocketAddress address(bed.stack->GetAddress(1), 9);
        address.SetTos(static_cast<uint8_t>(m_dscp << 2));
        PacketSinkHelper receiver("ns3::UdpSocketFactory",
                                  InetSocketAddress(bed.stack->GetAddress(1), 9));
        const auto sink = DynamicCast<PacketSink>(receiver.Install(bed.stack->GetNode(1)).Get(0));
        OnOffHelper sender("ns3::UdpSocketFactory", address);
        sender.SetConstantRate(DataRate("20Gbps"), 1400);
        sender.SetAttribute("MaxBytes", UintegerValue(14000000)); // 10,000 packets
        sender.Install(bed.stack->GetNode(0));
        Simulator::Stop(MilliSeconds(100));
        Simulator::Run();
        const uint64_t drops = bed.Drops();
        NS_TEST_EXPECT_MSG_EQ(sink->GetTotalRx() % 1400, 0, "whole packets");
        NS_TEST_EXPECT_MSG_EQ(sink->GetTotalRx() / 1400 + drops, 10000, "none is forgotten");
        NS_TEST_EXPECT_MSG_EQ(seen.size(), 1, "one priority");
        NS_TEST_EXPECT_MSG_EQ(seen[priority], sink->GetTotalRx() / 1400, "the DSCP's");
        // 1,466 B a packet on the line with 20 Gb/s x 1466 / 1400 in: 10 of these 20.94 get out,
        // but for what the buffer still holds at the end, 100 kB at alpha 1.
        NS_TEST_EXPECT_MSG_EQ_TOL(static_cast<double>(drops),
                                  10000 * (1 - 10 / (20. * 1466 / 1400)) - 100000 / 1446.,
                                  60,
                                  "drops");
        End(bed);
    }

    uint8_t m_dscp;
};

/// Ping: times as derived.
class PingCase : public OrdinaryCase
{
  public:
    PingCase()
        : OrdinaryCase("ping over a leaf-spine: a round trip is what links and switches take")
    {
    }

  private:
    void DoRun() override
    {
        OrdinaryBed bed;
        MakeLeafSpine(bed, 2, 2, 2, 10 * GBPS, false);
        bed.BuildAll();
        V4PingHelper ping(bed.stack->GetAddress(3));
        ping.SetAttribute("Interval", TimeValue(MilliSeconds(10)));
        const auto app = ping.Install(bed.stack->GetNode(0)).Get(0);
        std::vector<Time> times;
        Watch<Time>(app, "Rtt", [&](Time rtt) { times.push_back(rtt); });
        app->SetStopTime(MilliSeconds(45));
        Simulator::Stop(MilliSeconds(60));
        Simulator::Run();
        NS_TEST_ASSERT_MSG_EQ(times.size(), 5, "answers");
        // 56 B of data, ICMP 8 + 4 of V4Ping... what the line carries is measured below.
        const RdmaPacketCounters& c = bed.fabric->GetNic(3)->GetPackets()->GetCounters();
        // Of 4 links 1 us each and 3 switches 0.5 us, both ways: 11 us, and 8 times the line's time
        // of a packet, 0.8 ns a byte.
        const uint64_t arp = 28; // the request that all hear, h0's
        const double packet =
            static_cast<double>(c.receivedBytes - arp - (c.received - 6) * arp) / 5;
        const double expected = 11000 + 8 * 0.8 * (packet + 38);
        NS_TEST_EXPECT_MSG_EQ_TOL(times.back().GetNanoSeconds(), expected, 20, "round trip");
        End(bed);
    }
};

/// Links go down under traffic, and come up again.
class FailingCase : public OrdinaryCase
{
  public:
    FailingCase()
        : OrdinaryCase("links that fail under TCP: all bytes arrive, packets are counted or freed")
    {
    }

  private:
    void DoRun() override
    {
        for (uint32_t link = 0; link < 8; ++link)
        {
            OrdinaryBed bed;
            MakeLeafSpine(bed, 2, 2, 2, 10 * GBPS, false);
            bed.BuildAll();
            const auto sink = bed.Bulk(0, 2, 3000000);
            const auto other = bed.Bulk(3, 1, 3000000);
            for (int i = 0; i < 3; ++i)
            {
                for (const bool down : {true, false})
                {
                    Simulator::ScheduleWithContext(
                        Simulator::NO_CONTEXT,
                        MicroSeconds(500 + 900 * i + (down ? 0 : 300)),
                        [&bed, link, down] { bed.fabric->SetLinkDown(link, down); });
                }
            }
            Simulator::Stop(Seconds(60));
            Simulator::Run();
            NS_TEST_EXPECT_MSG_EQ(sink->GetTotalRx(), 3000000, "link " << link);
            NS_TEST_EXPECT_MSG_EQ(other->GetTotalRx(), 3000000, "link " << link);
            End(bed);
        }
        // Cut off in the middle: what is queued and under way is freed with the simulation.
        OrdinaryBed bed;
        MakeLeafSpine(bed, 2, 2, 2, 10 * GBPS, true);
        bed.BuildAll();
        for (uint32_t from = 1; from < 6; ++from)
        {
            bed.Bulk(from, 0, 0, 100 + from);
        }
        Simulator::Stop(MicroSeconds(777));
        Simulator::Run();
        NS_TEST_EXPECT_MSG_GT(RdmaFramePool::Get().GetLive(), 0, "frames under way");
        End(bed);
    }
};

/// A full NIC refuses, or stops a queue disc.
class QueueCase : public OrdinaryCase
{
  public:
    QueueCase()
        : OrdinaryCase("the NIC's queue holds what it is told, the rest is refused and counted")
    {
    }

  private:
    void DoRun() override
    {
        RawBed bed(2, 10 * GBPS);
        bed.packets.SetAttribute("QueuePackets", UintegerValue(7));
        bed.BuildRaw();
        uint32_t taken = 0;
        const Ptr<NetDeviceQueueInterface> above =
            bed.devices.Get(0)->GetObject<NetDeviceQueueInterface>();
        for (int i = 0; i < 20; ++i)
        {
            taken +=
                bed.devices.Get(0)->Send(Create<Packet>(1000), bed.devices.Get(1)->GetAddress(), 1);
        }
        NS_TEST_EXPECT_MSG_EQ(taken, 8, "one on the line, seven behind it");
        NS_TEST_EXPECT_MSG_EQ(above->GetTxQueue(0)->IsStopped(), true, "stopped");
        Simulator::Run();
        NS_TEST_EXPECT_MSG_EQ(above->GetTxQueue(0)->IsStopped(), false, "and woken");
        const RdmaPacketCounters& c = bed.fabric->GetNic(0)->GetPackets()->GetCounters();
        NS_TEST_EXPECT_MSG_EQ(c.refused, 12, "refused");
        NS_TEST_EXPECT_MSG_EQ(bed.heard.size(), 8, "arrived");
        End(bed);
    }
};

class OrdinaryDeviceTestSuite : public TestSuite
{
  public:
    OrdinaryDeviceTestSuite()
        : TestSuite("ordinary-device", UNIT)
    {
        AddTestCase(new AddressesCase(2, 2, 2, false), TestCase::QUICK);
        AddTestCase(new AddressesCase(3, 5, 1, false), TestCase::QUICK);
        AddTestCase(new AddressesCase(5, 3, 3, true), TestCase::QUICK);
        AddTestCase(new TreeCase, TestCase::QUICK);
        AddTestCase(new SizesCase, TestCase::QUICK);
        AddTestCase(new RefusedCase, TestCase::QUICK);
        for (const uint8_t dscp : {0, 8, 10, 46})
        {
            AddTestCase(new UdpLossCase(dscp), TestCase::QUICK);
        }
        AddTestCase(new PingCase, TestCase::QUICK);
        AddTestCase(new FailingCase, TestCase::QUICK);
        AddTestCase(new QueueCase, TestCase::QUICK);
    }
};

OrdinaryDeviceTestSuite g_ordinaryDeviceTestSuite;

} // namespace
