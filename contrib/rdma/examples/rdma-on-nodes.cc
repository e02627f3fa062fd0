/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Four nodes on a CSMA network. Two of them get RDMA NICs as well, and a third one is their switch.
 *
 * Closed forms. 1 MB is 245 packets of at most 4,096 B, each with 82 B of headers, preamble and
 * gap, the first with a RETH of 16 B: 1,020,106 B on the line. At 100 Gb/s the first packet
 * (4,194 B) crosses the first link, then all cross the second one: 81.944 us. Two cables of 1 us
 * and 500 ns in the switch make 84.444 us. The ACK (86 B) goes back in 2.51376 us: in all
 * 86.95776 us. On CSMA 1,018 B at 100 Mb/s and a cable of 6.56 us make 88 us.
 */
#include "ns3/core-module.h"
#include "ns3/csma-helper.h"
#include "ns3/rdma-helper.h"

#include <iostream>

using namespace ns3;

void
Done(std::string nic, Ptr<const RdmaQueuePair>, uint64_t bytes, Time start, Time end)
{
    std::cout << nic << ": " << bytes << " B acknowledged after " << (end - start).As(Time::US)
              << "\n";
}

bool
Heard(Ptr<NetDevice> device, Ptr<const Packet> packet, uint16_t, const Address&)
{
    std::cout << "CSMA, node " << device->GetNode()->GetId() << ": " << packet->GetSize()
              << " B at " << Simulator::Now().As(Time::US) << "\n";
    return true;
}

int
main()
{
    Time::SetResolution(Time::PS);

    NodeContainer nodes(4);
    CsmaHelper csma;
    csma.SetChannelAttribute("DataRate", StringValue("100Mbps"));
    csma.SetChannelAttribute("Delay", StringValue("6560ns"));
    NetDeviceContainer lan = csma.Install(nodes);
    lan.Get(1)->SetReceiveCallback(MakeCallback(&Heard));

    RdmaHelper rdma;
    rdma.SetLinkAttribute("DataRate", StringValue("100Gbps"));
    rdma.SetLinkAttribute("Delay", StringValue("1us"));
    NetDeviceContainer nics = rdma.InstallNics(NodeContainer(nodes.Get(0), nodes.Get(1)));
    rdma.InstallSwitches(nodes.Get(2));
    rdma.Connect(nodes.Get(0), nodes.Get(2));
    rdma.Connect(nodes.Get(1), nodes.Get(2));
    rdma.Finish();
    Config::Connect("/NodeList/*/$ns3::RdmaHost/NicList/*/MessageDone", MakeCallback(&Done));

    RdmaQueuePair* from = RdmaHelper::GetNic(nics.Get(0))->CreateQueuePair(3); // 3: lossless
    RdmaNic::Connect(from, RdmaHelper::GetNic(nics.Get(1))->CreateQueuePair(3));
    from->PostWrite(1000000, 1);
    lan.Get(0)->Send(Create<Packet>(1000), lan.Get(1)->GetAddress(), 0x800);
    Simulator::Run();
    Simulator::Destroy();
}
