/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "ordinary-stack.h"

#include "ns3/abort.h"
#include "ns3/arp-cache.h"
#include "ns3/internet-stack-helper.h"
#include "ns3/ipv4-interface-address.h"
#include "ns3/ipv4-l3-protocol.h"
#include "ns3/mac48-address.h"
#include "ns3/socket.h"
#include "ns3/tcp-l4-protocol.h"
#include "ns3/traffic-control-layer.h"

#include <algorithm>

namespace ns3
{

namespace
{

Ipv4Address
AddressOf(uint32_t endpoint)
{
    return Ipv4Address(10U << 24 | ((endpoint + 1) & 0xffffff));
}

} // namespace

std::unique_ptr<OrdinaryStack>
OrdinaryStack::Install(RdmaFabric& fabric,
                       const RdmaPacketHelper& packets,
                       int64_t stream,
                       std::string& error)
{
    const NetDeviceContainer devices = packets.Install(fabric, error);
    if (!error.empty())
    {
        return nullptr;
    }
    NodeContainer hosts;
    for (uint32_t i = 0; i < devices.GetN(); ++i)
    {
        const Ptr<Node> node = devices.Get(i)->GetNode();
        if (hosts.GetN() == 0 || hosts.Get(hosts.GetN() - 1) != node)
        {
            hosts.Add(node);
        }
    }
    InternetStackHelper internet;
    internet.SetIpv6StackInstall(false);
    internet.Install(hosts);
    internet.AssignStreams(hosts, stream);
    std::unique_ptr<OrdinaryStack> stack(new OrdinaryStack);
    for (uint32_t i = 0; i < hosts.GetN(); ++i)
    {
        hosts.Get(i)->GetObject<TrafficControlLayer>()->TraceConnectWithoutContext(
            "TcDrop",
            Callback<void, Ptr<const Packet>>(
                [refused = &stack->m_refused](Ptr<const Packet>) { ++*refused; }));
        const Ptr<TcpL4Protocol> tcp = hosts.Get(i)->GetObject<TcpL4Protocol>();
        const auto down = tcp->GetDownTarget();
        tcp->SetDownTarget(
            IpL4Protocol::DownTargetCallback([stack = stack.get(), down](Ptr<Packet> packet,
                                                                         Ipv4Address source,
                                                                         Ipv4Address destination,
                                                                         uint8_t protocol,
                                                                         Ptr<Ipv4Route> route) {
                stack->SetDscp(packet);
                down(packet, source, destination, protocol, route);
            }));
    }
    stack->m_interfaces.resize(fabric.GetNEndpoints());
    for (uint32_t e = 0; e < fabric.GetNEndpoints(); ++e)
    {
        if (fabric.IsUnit(fabric.GetEndpoints()[e].host))
        {
            continue;
        }
        const Ptr<NetDevice> device = fabric.GetNic(e)->GetPort();
        const Ptr<Ipv4L3Protocol> ipv4 = device->GetNode()->GetObject<Ipv4L3Protocol>();
        const uint32_t number = ipv4->AddInterface(device);
        ipv4->AddAddress(number, Ipv4InterfaceAddress(AddressOf(e), Ipv4Mask("255.0.0.0")));
        ipv4->SetMetric(number, 1);
        ipv4->SetUp(number);
        stack->m_interfaces[e] = ipv4->GetInterface(number);
    }
    return stack;
}

Ipv4Address
OrdinaryStack::GetAddress(uint32_t endpoint) const
{
    return m_interfaces[endpoint]->GetAddress(0).GetLocal();
}

void
OrdinaryStack::SetDscpOfPort(uint16_t port, uint8_t dscp)
{
    NS_ABORT_MSG_IF(dscp > 63, "DSCP " << +dscp << "; allowed: 0 to 63");
    m_dscpOfPort.resize(UINT16_MAX + 1);
    m_dscpOfPort[port] = dscp;
}

void
OrdinaryStack::SetDscp(const Ptr<Packet>& packet) const
{
    uint8_t ports[4]; // TCP's header begins with the source's and the destination's
    if (m_dscpOfPort.empty() || packet->CopyData(ports, sizeof ports) < sizeof ports)
    {
        return;
    }
    const uint8_t dscp =
        std::max(m_dscpOfPort[ports[0] << 8 | ports[1]], m_dscpOfPort[ports[2] << 8 | ports[3]]);
    if (dscp == 0)
    {
        return;
    }
    SocketIpTosTag tag; // without a value of its own
    const uint8_t ecn = packet->RemovePacketTag(tag) ? tag.GetTos() & 3 : 0;
    tag.SetTos(static_cast<uint8_t>(dscp << 2 | ecn));
    packet->AddPacketTag(tag);
}

void
OrdinaryStack::Introduce(uint32_t a, uint32_t b)
{
    for (const auto& [who, whom] : {std::pair(a, b), std::pair(b, a)})
    {
        if (!m_introduced.emplace(who, whom).second)
        {
            continue;
        }
        const Ptr<ArpCache> cache = m_interfaces[who]->GetArpCache();
        ArpCache::Entry* entry = cache->Lookup(GetAddress(whom));
        entry = entry ? entry : cache->Add(GetAddress(whom));
        entry->SetMacAddress(GetDevice(whom)->GetAddress());
        entry->MarkPermanent();
    }
}

} // namespace ns3
