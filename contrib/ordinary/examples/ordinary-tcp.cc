/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * ns-3's own TCP beside RDMA through one switch: both send to the same host.
 *
 *   ./ns3 run "ordinary-tcp --rdma=1 --weight=8192"
 */
#include "ns3/bulk-send-helper.h"
#include "ns3/core-module.h"
#include "ns3/internet-stack-helper.h"
#include "ns3/ipv4-address-helper.h"
#include "ns3/packet-sink-helper.h"
#include "ns3/packet-sink.h"
#include "ns3/rdma-fabric-helper.h"
#include "ns3/rdma-packet-helper.h"

#include <iostream>

using namespace ns3;

int
main(int argc, char* argv[])
{
    bool rdma = true;
    uint32_t weight = 8192;
    CommandLine cmd(__FILE__);
    cmd.AddValue("rdma", "whether RDMA shares the receiver's link", rdma);
    cmd.AddValue("weight", "of TCP's priority in all ports, bytes a round; RDMA's is 8192", weight);
    cmd.Parse(argc, argv);
    Time::SetResolution(Time::PS);

    // Two senders and a receiver around a switch, 25 Gb/s and 1 us.
    std::vector<RdmaNodeSpec> nodes{{"a", false}, {"b", false}, {"c", false}, {"switch", true}};
    std::vector<RdmaLinkSpec> links;
    for (uint32_t host = 0; host < 3; ++host)
    {
        links.push_back({host, 3, 25000000000, 1000000, 0});
    }
    std::string error;
    const auto fabric = RdmaFabricHelper().Build(nodes, links, error);
    NS_ABORT_MSG_UNLESS(fabric, error);
    for (const auto& port : fabric->GetPorts())
    {
        port->SetWeight(0, weight); // TCP's priority; RDMA's is 3 here
    }

    // The ports of hosts are NetDevices of the fabric from here on.
    const NetDeviceContainer devices = RdmaPacketHelper().Install(*fabric, error);
    NS_ABORT_MSG_UNLESS(error.empty(), error);
    Config::SetDefault("ns3::TcpSocket::SegmentSize", UintegerValue(1448));
    Config::SetDefault("ns3::TcpSocket::SndBufSize", UintegerValue(4000000));
    Config::SetDefault("ns3::TcpSocket::RcvBufSize", UintegerValue(4000000));
    NodeContainer hosts;
    for (uint32_t i = 0; i < devices.GetN(); ++i)
    {
        hosts.Add(devices.Get(i)->GetNode());
    }
    InternetStackHelper().Install(hosts);
    const Ipv4InterfaceContainer interfaces =
        Ipv4AddressHelper("10.0.0.0", "255.0.0.0").Assign(devices);

    const InetSocketAddress address(interfaces.GetAddress(2), 9);
    PacketSinkHelper receiver("ns3::TcpSocketFactory", address);
    const Ptr<PacketSink> sink = DynamicCast<PacketSink>(receiver.Install(hosts.Get(2)).Get(0));
    BulkSendHelper sender("ns3::TcpSocketFactory", address);
    sender.SetAttribute("MaxBytes", UintegerValue(0));
    sender.Install(hosts.Get(0));
    if (rdma)
    {
        RdmaQueuePair* from = fabric->GetNic(1)->CreateQueuePair(3);
        RdmaNic::Connect(from, fabric->GetNic(2)->CreateQueuePair(3));
        from->PostWrite(1000000000, 1);
    }
    const int ms = 50;
    Simulator::Stop(MilliSeconds(ms));
    Simulator::Run();
    const auto gbps = [](double bytes) { return 8e-6 * bytes / ms; };
    std::cout << "TCP  " << gbps(static_cast<double>(sink->GetTotalRx())) << " Gb/s\n"
              << "RDMA " << gbps(static_cast<double>(fabric->GetNicTotals().dataBytes)) << " Gb/s\n"
              << "frames dropped at thresholds: " << fabric->GetDrops(RdmaSwitchBase::THRESHOLD)
              << "\n";
    Simulator::Destroy();
}
