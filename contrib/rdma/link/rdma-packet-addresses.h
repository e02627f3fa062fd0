/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef RDMA_PACKET_ADDRESSES_H
#define RDMA_PACKET_ADDRESSES_H

#include "rdma-frame.h"

#include "ns3/mac48-address.h"
#include "ns3/simple-ref-count.h"

#include <cstdint>
#include <unordered_map>

namespace ns3
{

/**
 * \ingroup rdma
 * Which NIC has which address: what the switches of a real network learn from the packets that
 * they see. One of these a fabric.
 */
class RdmaPacketAddresses : public SimpleRefCount<RdmaPacketAddresses>
{
  public:
    /// For all NICs, along a tree (RdmaSwitchBase::SetBroadcastPorts). No endpoint has this number.
    static constexpr uint32_t EVERYBODY = RdmaFrame::MAX_ENDPOINTS;

    void Add(Mac48Address address, uint32_t endpoint);
    void Remove(Mac48Address address);

    /// \return endpoint; EVERYBODY: of groups, and of addresses that no NIC has
    uint32_t Find(Mac48Address address) const;

    /// \return the address as a number, its first byte the highest
    static uint64_t NumberOf(Mac48Address address);

  private:
    std::unordered_map<uint64_t, uint32_t> m_endpoints;
};

} // namespace ns3

#endif // RDMA_PACKET_ADDRESSES_H
