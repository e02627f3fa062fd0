/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * What a switch reads of an ordinary packet, and the one thing that it writes: the mark of ECN.
 *
 *     IPv4 (RFC 791)           0: version 4, header length / 4
 *                              1: DSCP, 6 bits (RFC 2474); ECN, 2 bits (RFC 3168)
 *                            6, 7: flags, fragment offset
 *                              9: protocol    10, 11: checksum    12: source    16: destination
 *     IPv6 (RFC 8200)        0-3: version 6, traffic class (DSCP, ECN), flow label
 *                              6: next header    8: source    24: destination
 *     TCP, UDP                 0: source port    2: destination port
 */
#ifndef RDMA_CORE_IP_PACKET_H
#define RDMA_CORE_IP_PACKET_H

#include "contrib/rdma/core/flow-hash.h"

#include <cstddef>
#include <cstdint>

namespace rdma
{

constexpr uint16_t kEtherTypeIpv4 = 0x0800;
constexpr uint16_t kEtherTypeArp = 0x0806;
constexpr uint16_t kEtherTypeIpv6 = 0x86dd;

/// As much of a packet as has to be read: the longest IPv4 header, and two ports.
constexpr size_t kIpReadBytes = 64;

/// Fields of an ordinary packet.
struct IpFields
{
    bool isIp = false;
    uint8_t dscp = 0; ///< 0 of what is not IP
    uint8_t ecn = 0;  ///< 0: not ECN-capable, 3: CE
    /// Hash of the 5-tuple. Fragments are hashed without ports, so that all of a packet take one
    /// path. 0: not IP.
    uint32_t hash = 0;
};

namespace detail
{

constexpr uint8_t kTcp = 6;
constexpr uint8_t kUdp = 17;
constexpr size_t kIpv6HeaderBytes = 40;

constexpr uint32_t
Get(const uint8_t* at, int bytes)
{
    uint32_t value = 0;
    for (int i = 0; i < bytes; ++i)
    {
        value = value << 8 | at[i];
    }
    return value;
}

/// \return bytes of the IPv4 header; 0: it is none
constexpr size_t
Ipv4Bytes(const uint8_t* packet, size_t size)
{
    const size_t length = size >= 20 && packet[0] >> 4 == 4 ? 4U * (packet[0] & 0xf) : 0;
    return length >= 20 && length <= size ? length : 0;
}

constexpr bool
IsIpv6(const uint8_t* packet, size_t size)
{
    return size >= kIpv6HeaderBytes && packet[0] >> 4 == 6;
}

/// The ones' complement sum of RFC 1071 over whole words.
constexpr uint32_t
OnesSum(const uint8_t* at, size_t bytes)
{
    uint32_t sum = 0;
    for (size_t i = 0; i + 1 < bytes; i += 2)
    {
        sum += Get(at + i, 2);
    }
    sum = (sum & 0xffff) + (sum >> 16);
    return (sum & 0xffff) + (sum >> 16);
}

} // namespace detail

/// \param packet from its IP header on \param size bytes there are of it, kIpReadBytes are enough
constexpr IpFields
ReadIp(uint16_t etherType, const uint8_t* packet, size_t size)
{
    using detail::Get;
    using detail::Ipv4Bytes;
    using detail::IsIpv6;
    using detail::kIpv6HeaderBytes;
    using detail::kTcp;
    using detail::kUdp;
    IpFields fields;
    FlowTuple flow;
    flow.destinationPort = 0;
    size_t header = 0; // 0: no ports behind it
    uint8_t trafficClass = 0;
    if (etherType == kEtherTypeIpv4 && Ipv4Bytes(packet, size))
    {
        trafficClass = packet[1];
        flow.source = Get(packet + 12, 4);
        flow.destination = Get(packet + 16, 4);
        flow.protocol = packet[9];
        const bool fragment = Get(packet + 6, 2) & 0x3fff; // More Fragments, or an offset
        header = fragment ? 0 : Ipv4Bytes(packet, size);
    }
    else if (etherType == kEtherTypeIpv6 && IsIpv6(packet, size))
    {
        trafficClass = static_cast<uint8_t>(Get(packet, 2) >> 4);
        for (size_t i = 0; i < 16; i += 4)
        {
            flow.source = Mix32(flow.source ^ Get(packet + 8 + i, 4));
            flow.destination = Mix32(flow.destination ^ Get(packet + 24 + i, 4));
        }
        flow.protocol = packet[6];
        header = kIpv6HeaderBytes;
    }
    else
    {
        return fields;
    }
    if (header && size >= header + 4 && (flow.protocol == kTcp || flow.protocol == kUdp))
    {
        flow.sourcePort = static_cast<uint16_t>(Get(packet + header, 2));
        flow.destinationPort = static_cast<uint16_t>(Get(packet + header + 2, 2));
    }
    fields.isIp = true;
    fields.dscp = trafficClass >> 2;
    fields.ecn = trafficClass & 3;
    fields.hash = FlowHash(flow);
    return fields;
}

/**
 * Congestion experienced: both bits of ECN are set. An IPv4 header whose checksum was right has a
 * right one again, by RFC 1624; one that was not (as of hosts that compute none) keeps it.
 * \return bytes of the header, all of which may have changed; 0: it is no IP packet
 */
constexpr size_t
MarkIpCe(uint16_t etherType, uint8_t* packet, size_t size)
{
    using detail::Get;
    using detail::Ipv4Bytes;
    using detail::IsIpv6;
    using detail::kIpv6HeaderBytes;
    using detail::OnesSum;
    if (etherType == kEtherTypeIpv6 && IsIpv6(packet, size))
    {
        packet[1] |= 0x30;
        return kIpv6HeaderBytes;
    }
    const size_t length = etherType == kEtherTypeIpv4 ? Ipv4Bytes(packet, size) : 0;
    if (length == 0)
    {
        return 0;
    }
    const bool right = OnesSum(packet, length) == 0xffff;
    const uint32_t before = Get(packet, 2);
    packet[1] |= 3;
    if (right)
    {
        // HC' = ~(~HC + ~m + m')
        uint32_t sum = (~Get(packet + 10, 2) & 0xffff) + (~before & 0xffff) + Get(packet, 2);
        sum = (sum & 0xffff) + (sum >> 16);
        sum = (sum & 0xffff) + (sum >> 16);
        packet[10] = static_cast<uint8_t>(~sum >> 8);
        packet[11] = static_cast<uint8_t>(~sum);
    }
    return length;
}

} // namespace rdma

#endif // RDMA_CORE_IP_PACKET_H
