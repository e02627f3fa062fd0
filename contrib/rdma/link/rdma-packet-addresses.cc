/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "rdma-packet-addresses.h"

namespace ns3
{

uint64_t
RdmaPacketAddresses::NumberOf(Mac48Address address)
{
    uint8_t bytes[6];
    address.CopyTo(bytes);
    uint64_t number = 0;
    for (const uint8_t byte : bytes)
    {
        number = number << 8 | byte;
    }
    return number;
}

void
RdmaPacketAddresses::Add(Mac48Address address, uint32_t endpoint)
{
    m_endpoints[NumberOf(address)] = endpoint;
}

void
RdmaPacketAddresses::Remove(Mac48Address address)
{
    m_endpoints.erase(NumberOf(address));
}

uint32_t
RdmaPacketAddresses::Find(Mac48Address address) const
{
    const auto found = m_endpoints.find(NumberOf(address));
    return found == m_endpoints.end() ? EVERYBODY : found->second;
}

} // namespace ns3
