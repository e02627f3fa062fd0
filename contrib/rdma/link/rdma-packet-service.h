/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef RDMA_PACKET_SERVICE_H
#define RDMA_PACKET_SERVICE_H

#include "ns3/mac48-address.h"
#include "ns3/packet.h"

#include <cstdint>

namespace ns3
{

/**
 * \ingroup rdma
 * Carries ordinary packets across a fabric for a device (RdmaPackets); without it a device reaches
 * the other end of its link only.
 */
class RdmaPacketService
{
  public:
    virtual ~RdmaPacketService() = default;

    /// As NetDevice::SendFrom.
    virtual bool Send(Ptr<Packet> packet,
                      Mac48Address source,
                      Mac48Address destination,
                      uint16_t protocol) = 0;
    /// \return whether frames can be so large
    virtual bool SetMtu(uint16_t mtu) = 0;
    virtual uint16_t GetMtu() const = 0;
    /// The device has another address. \param before the last one
    virtual void OnAddress(Mac48Address before) = 0;
};

} // namespace ns3

#endif /* RDMA_PACKET_SERVICE_H */
