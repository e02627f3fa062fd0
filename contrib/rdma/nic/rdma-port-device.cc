/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * The part of a port that is a NetDevice: ordinary packets beside RDMA.
 */
#include "rdma-packets.h"

#include "ns3/node.h"
#include "ns3/rdma-channel.h"
#include "ns3/rdma-port.h"

#include <algorithm>

namespace ns3
{

void
RdmaPort::SetIfIndex(const uint32_t index)
{
    m_ifIndex = index;
}

uint32_t
RdmaPort::GetIfIndex() const
{
    return m_ifIndex;
}

Ptr<Channel>
RdmaPort::GetChannel() const
{
    return m_channel;
}

void
RdmaPort::SetAddress(Address address)
{
    const Mac48Address before = m_address;
    m_address = Mac48Address::ConvertFrom(address);
    if (m_packets)
    {
        m_packets->OnAddress(before);
    }
}

Address
RdmaPort::GetAddress() const
{
    return m_address;
}

bool
RdmaPort::SetMtu(const uint16_t mtu)
{
    if (m_packets)
    {
        return m_packets->SetMtu(mtu);
    }
    m_mtu = mtu;
    return true;
}

uint16_t
RdmaPort::GetMtu() const
{
    return m_packets ? m_packets->GetMtu() : m_mtu;
}

bool
RdmaPort::IsLinkUp() const
{
    return m_peer != nullptr && !m_down;
}

void
RdmaPort::AddLinkChangeCallback(Callback<void> callback)
{
    m_linkChange.ConnectWithoutContext(callback);
}

bool
RdmaPort::IsBroadcast() const
{
    return true;
}

Address
RdmaPort::GetBroadcast() const
{
    return Mac48Address::GetBroadcast();
}

bool
RdmaPort::IsMulticast() const
{
    return m_packets != nullptr;
}

Address
RdmaPort::GetMulticast(Ipv4Address group) const
{
    return Mac48Address::GetMulticast(group);
}

Address
RdmaPort::GetMulticast(Ipv6Address group) const
{
    return Mac48Address::GetMulticast(group);
}

bool
RdmaPort::IsBridge() const
{
    return false;
}

bool
RdmaPort::IsPointToPoint() const
{
    return m_packets == nullptr;
}

bool
RdmaPort::Send(Ptr<Packet> packet, const Address& dest, uint16_t protocol)
{
    return SendFrom(packet, m_address, dest, protocol);
}

bool
RdmaPort::SendFrom(Ptr<Packet> packet,
                   const Address& source,
                   const Address& dest,
                   uint16_t protocol)
{
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
    RdmaFrame* frame = RdmaFramePool::Get().Allocate();
    frame->wireBytes =
        std::max<uint32_t>(packet->GetSize() + rdma::kEthernetHeaderBytes + rdma::kFcsBytes,
                           rdma::kMinimumFrameBytes) +
        m_lineOverhead;
    frame->src = frame->dst = 0;
    frame->route = RdmaRoute::None();
    frame->destQp = frame->psn = frame->aux = frame->dmaLength = 0;
    frame->SetLabel(RdmaFrame::NO_LABEL);
    frame->payload = static_cast<uint16_t>(packet->GetSize());
    frame->inPort = UINT16_MAX; // not a frame that a switch's buffer holds
    frame->opcode = RdmaOpcode::PACKET;
    frame->priority = 0;
    frame->flags = 0;
    frame->classEnable = 0;
    frame->extra = RdmaFramePool::Get().AllocateExtra();
    frame->extra->packet = packet->Copy();
    frame->extra->protocol = protocol;
    Enqueue(frame, RdmaClock::Now());
    return true;
}

Ptr<Node>
RdmaPort::GetNode() const
{
    return m_nodeObject;
}

void
RdmaPort::SetNode(Ptr<Node> node)
{
    m_nodeObject = node;
    m_context = node->GetId();
}

bool
RdmaPort::NeedsArp() const
{
    return m_packets != nullptr;
}

void
RdmaPort::SetPackets(RdmaPackets* packets)
{
    m_packets = packets;
}

void
RdmaPort::PassUp(Ptr<Packet> packet,
                 uint16_t protocol,
                 Mac48Address source,
                 Mac48Address destination,
                 PacketType type)
{
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
RdmaPort::SetReceiveCallback(NetDevice::ReceiveCallback callback)
{
    m_receive = callback;
}

void
RdmaPort::SetPromiscReceiveCallback(NetDevice::PromiscReceiveCallback callback)
{
    m_promiscReceive = callback;
}

bool
RdmaPort::SupportsSendFrom() const
{
    return true;
}

} // namespace ns3
