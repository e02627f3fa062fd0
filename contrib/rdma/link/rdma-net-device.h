/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef RDMA_NET_DEVICE_H
#define RDMA_NET_DEVICE_H

#include "ns3/channel.h"
#include "ns3/mac48-address.h"
#include "ns3/net-device.h"
#include "ns3/node.h"
#include "ns3/traced-callback.h"

#include <cstdint>

namespace ns3
{

class RdmaPacketService;

/**
 * \ingroup rdma
 * What of a port is a NetDevice: address, MTU, node, channel, and ordinary packets beside RDMA.
 * With a packet service it is a device of the whole fabric; else it is one end of a cable. Its
 * TypeId is RdmaPort's.
 */
class RdmaNetDevice : public NetDevice
{
  public:
    RdmaNetDevice();

    /// From now on a NetDevice of the whole fabric. \param packets aggregated to it
    void SetPackets(RdmaPacketService* packets);
    /// A packet of the fabric is here: to those that SetReceiveCallback and
    /// SetPromiscReceiveCallback named.
    void PassUp(Ptr<Packet> packet,
                uint16_t protocol,
                const Address& source,
                const Address& destination,
                PacketType type);

    void SetIfIndex(const uint32_t index) override;
    uint32_t GetIfIndex() const override;
    Ptr<Channel> GetChannel() const override;
    void SetAddress(Address address) override;
    Address GetAddress() const override;
    bool SetMtu(const uint16_t mtu) override;
    uint16_t GetMtu() const override;
    void AddLinkChangeCallback(Callback<void> callback) override;
    bool IsBroadcast() const override;
    Address GetBroadcast() const override;
    bool IsMulticast() const override;
    Address GetMulticast(Ipv4Address group) const override;
    Address GetMulticast(Ipv6Address group) const override;
    bool IsBridge() const override;
    bool IsPointToPoint() const override;
    /// Ordinary traffic. With a packet service: to whoever in the fabric has the address. Else to
    /// the port at the other end of the link, whatever the address; queued with priority 0.
    bool Send(Ptr<Packet> packet, const Address& dest, uint16_t protocol) override;
    bool SendFrom(Ptr<Packet> packet,
                  const Address& source,
                  const Address& dest,
                  uint16_t protocol) override;
    Ptr<Node> GetNode() const override;
    void SetNode(Ptr<Node> node) override;
    bool NeedsArp() const override;
    void SetReceiveCallback(NetDevice::ReceiveCallback callback) override;
    void SetPromiscReceiveCallback(NetDevice::PromiscReceiveCallback callback) override;
    bool SupportsSendFrom() const override;

  protected:
    void DoDispose() override;

    /// A packet for the other end of the link, which is up.
    virtual void SendOnLink(Ptr<Packet> packet, uint16_t protocol) = 0;

    void SetChannel(Ptr<Channel> channel)
    {
        m_channel = channel;
    }

    /// \return the MTU of the link, also with a packet service
    uint32_t GetLinkMtu() const
    {
        return m_mtu;
    }

    TracedCallback<> m_linkChange;

  private:
    Ptr<Channel> m_channel;
    Ptr<Node> m_node;
    uint32_t m_ifIndex{0};
    uint16_t m_mtu{4096};
    Mac48Address m_address;
    NetDevice::ReceiveCallback m_receive;
    NetDevice::PromiscReceiveCallback m_promiscReceive;
    RdmaPacketService* m_packets{nullptr}; //!< null: ordinary packets cross one link
};

} // namespace ns3

#endif /* RDMA_NET_DEVICE_H */
