/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "rdma-net-device.h"

#include "rdma-packet-service.h"

#include "ns3/log.h"

namespace ns3
{

NS_LOG_COMPONENT_DEFINE("RdmaNetDevice");

RdmaNetDevice::RdmaNetDevice()
    : m_address(Mac48Address::Allocate())
{
}

void
RdmaNetDevice::DoDispose()
{
    m_channel = nullptr;
    m_node = nullptr;
    m_packets = nullptr;
    m_receive =
        MakeNullCallback<bool, Ptr<NetDevice>, Ptr<const Packet>, uint16_t, const Address&>();
    m_promiscReceive = NetDevice::PromiscReceiveCallback();
    NetDevice::DoDispose();
}

void
RdmaNetDevice::SetIfIndex(const uint32_t index)
{
    NS_LOG_FUNCTION(this << index);
    m_ifIndex = index;
}

uint32_t
RdmaNetDevice::GetIfIndex() const
{
    return m_ifIndex;
}

Ptr<Channel>
RdmaNetDevice::GetChannel() const
{
    return m_channel;
}

void
RdmaNetDevice::SetAddress(Address address)
{
    NS_LOG_FUNCTION(this << address);
    const Mac48Address before = m_address;
    m_address = Mac48Address::ConvertFrom(address);
    if (m_packets)
    {
        m_packets->OnAddress(before);
    }
}

Address
RdmaNetDevice::GetAddress() const
{
    return m_address;
}

bool
RdmaNetDevice::SetMtu(const uint16_t mtu)
{
    NS_LOG_FUNCTION(this << mtu);
    if (m_packets)
    {
        return m_packets->SetMtu(mtu);
    }
    m_mtu = mtu;
    return true;
}

uint16_t
RdmaNetDevice::GetMtu() const
{
    return m_packets ? m_packets->GetMtu() : m_mtu;
}

void
RdmaNetDevice::AddLinkChangeCallback(Callback<void> callback)
{
    NS_LOG_FUNCTION(this);
    m_linkChange.ConnectWithoutContext(callback);
}

bool
RdmaNetDevice::IsBroadcast() const
{
    return true;
}

Address
RdmaNetDevice::GetBroadcast() const
{
    return Mac48Address::GetBroadcast();
}

bool
RdmaNetDevice::IsMulticast() const
{
    return m_packets != nullptr;
}

Address
RdmaNetDevice::GetMulticast(Ipv4Address group) const
{
    return Mac48Address::GetMulticast(group);
}

Address
RdmaNetDevice::GetMulticast(Ipv6Address group) const
{
    return Mac48Address::GetMulticast(group);
}

bool
RdmaNetDevice::IsBridge() const
{
    return false;
}

bool
RdmaNetDevice::IsPointToPoint() const
{
    return m_packets == nullptr;
}

bool
RdmaNetDevice::Send(Ptr<Packet> packet, const Address& dest, uint16_t protocol)
{
    NS_LOG_FUNCTION(this << packet << dest << protocol);
    return SendFrom(packet, m_address, dest, protocol);
}

bool
RdmaNetDevice::SendFrom(Ptr<Packet> packet,
                        const Address& source,
                        const Address& dest,
                        uint16_t protocol)
{
    NS_LOG_FUNCTION(this << packet << source << dest << protocol);
    if (m_packets)
    {
        return m_packets->Send(packet,
                               Mac48Address::ConvertFrom(source),
                               Mac48Address::ConvertFrom(dest),
                               protocol);
    }
    if (!IsLinkUp() || packet->GetSize() > m_mtu)
    {
        return false;
    }
    SendOnLink(packet, protocol);
    return true;
}

Ptr<Node>
RdmaNetDevice::GetNode() const
{
    return m_node;
}

void
RdmaNetDevice::SetNode(Ptr<Node> node)
{
    NS_LOG_FUNCTION(this << node);
    m_node = node;
}

bool
RdmaNetDevice::NeedsArp() const
{
    return m_packets != nullptr;
}

void
RdmaNetDevice::SetPackets(RdmaPacketService* packets)
{
    NS_LOG_FUNCTION(this << packets);
    m_packets = packets;
}

void
RdmaNetDevice::PassUp(Ptr<Packet> packet,
                      uint16_t protocol,
                      const Address& source,
                      const Address& destination,
                      PacketType type)
{
    NS_LOG_FUNCTION(this << packet << protocol << source << destination);
    if (!m_promiscReceive.IsNull())
    {
        m_promiscReceive(this, packet, protocol, source, destination, type);
    }
    if (type != PACKET_OTHERHOST && !m_receive.IsNull())
    {
        m_receive(this, packet, protocol, source);
    }
}

void
RdmaNetDevice::SetReceiveCallback(NetDevice::ReceiveCallback callback)
{
    NS_LOG_FUNCTION(this);
    m_receive = callback;
}

void
RdmaNetDevice::SetPromiscReceiveCallback(NetDevice::PromiscReceiveCallback callback)
{
    NS_LOG_FUNCTION(this);
    m_promiscReceive = callback;
}

bool
RdmaNetDevice::SupportsSendFrom() const
{
    NS_LOG_FUNCTION(this);
    return true;
}

} // namespace ns3
