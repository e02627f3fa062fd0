/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Sizes of RoCEv2 packets over IPv4, untagged Ethernet.
 *
 *   preamble+SFD | Ethernet | IPv4 | UDP | BTH | RETH, ImmDt, AETH | payload | pad | ICRC | FCS | gap
 *        8            14       20     8    12     16, 4, 4              n      0..3    4     4    12
 *                |<-------------------------------- frame bytes ------------------------------->|
 *   |<----------------------------------------- wire bytes ------------------------------------------->|
 *
 * Frame bytes are what buffers hold and count. Wire bytes are what a link is occupied for; a frame counts as delivered
 * when its occupancy ends, gap included: simple, the same for every frame, and late by 12 B of line time.
 *
 * Sources: IEEE 802.3 clauses 3 and 4.4.2 (Ethernet), RFC 791 and 768 (IPv4, UDP), InfiniBand Architecture
 * Specification vol. 1 chapter 9 (BTH 9.2, extended transport headers 9.3, PadCnt) and annex A17 (RoCEv2, CNP).
 */
#ifndef RDMA_CORE_ROCE_SIZES_H
#define RDMA_CORE_ROCE_SIZES_H

#include "units.h"

#include <cstdint>

namespace rdma
{

constexpr uint32_t kPreambleBytes = 8;         ///< preamble and start frame delimiter
constexpr uint32_t kInterFrameGapBytes = 12;   ///< least gap between frames
constexpr uint32_t kEthernetHeaderBytes = 14;  ///< destination, source, type
constexpr uint32_t kFcsBytes = 4;              ///< frame check sequence
constexpr uint32_t kMinimumFrameBytes = 64;    ///< FCS included
constexpr uint32_t kIpv4HeaderBytes = 20;      ///< without options
constexpr uint32_t kUdpHeaderBytes = 8;        ///< ports, length, checksum
constexpr uint32_t kBthBytes = 12;             ///< base transport header
constexpr uint32_t kRethBytes = 16;            ///< RDMA extended transport header
constexpr uint32_t kAethBytes = 4;             ///< ACK extended transport header
constexpr uint32_t kImmDtBytes = 4;            ///< immediate data
constexpr uint32_t kIcrcBytes = 4;             ///< invariant CRC
constexpr uint32_t kCnpReservedBytes = 16;     ///< after the BTH of a congestion notification packet
constexpr uint64_t kMaxRequestBytes = 1ULL << 31; ///< of one work request: RETH's length has 32 bits, messages 2^31 B

/// Opcodes of the base transport header (reliable connection; CNP of annex A17).
enum class RoceOpcode : uint8_t
{
    kWriteFirst = 0x06,
    kWriteMiddle = 0x07,
    kWriteLast = 0x08,
    kWriteLastWithImmediate = 0x09,
    kWriteOnly = 0x0a,
    kWriteOnlyWithImmediate = 0x0b,
    kAcknowledge = 0x11,
    kCnp = 0x81,
};

constexpr bool
HasReth(RoceOpcode o)
{
    return o == RoceOpcode::kWriteFirst || o == RoceOpcode::kWriteOnly || o == RoceOpcode::kWriteOnlyWithImmediate;
}

constexpr bool
HasImmediate(RoceOpcode o)
{
    return o == RoceOpcode::kWriteLastWithImmediate || o == RoceOpcode::kWriteOnlyWithImmediate;
}

constexpr bool
HasAeth(RoceOpcode o)
{
    return o == RoceOpcode::kAcknowledge;
}

/// The opcode of a packet of an RDMA WRITE by its place in the request.
constexpr RoceOpcode
WriteOpcode(bool first, bool last, bool withImmediate)
{
    if (last)
    {
        return first ? (withImmediate ? RoceOpcode::kWriteOnlyWithImmediate : RoceOpcode::kWriteOnly)
                     : (withImmediate ? RoceOpcode::kWriteLastWithImmediate : RoceOpcode::kWriteLast);
    }
    return first ? RoceOpcode::kWriteFirst : RoceOpcode::kWriteMiddle;
}

/// Headers between BTH and payload; for a CNP its reserved bytes.
constexpr uint32_t
ExtensionBytes(RoceOpcode o)
{
    return (HasReth(o) ? kRethBytes : 0) + (HasImmediate(o) ? kImmDtBytes : 0) + (HasAeth(o) ? kAethBytes : 0) +
           (o == RoceOpcode::kCnp ? kCnpReservedBytes : 0);
}

/// Bytes of padding behind a payload, to a multiple of 4: PadCnt.
constexpr uint32_t
PadBytes(uint32_t payload)
{
    return (4 - payload % 4) % 4;
}

/// A frame with its FCS, as buffers count it.
constexpr Bytes
FrameBytes(RoceOpcode o, uint32_t payload = 0)
{
    const uint32_t bytes = kEthernetHeaderBytes + kIpv4HeaderBytes + kUdpHeaderBytes + kBthBytes + ExtensionBytes(o) +
                           payload + PadBytes(payload) + kIcrcBytes + kFcsBytes;
    return Bytes(bytes < kMinimumFrameBytes ? kMinimumFrameBytes : bytes);
}

/// What a frame occupies a link for: with preamble and gap.
constexpr Bytes
WireBytes(Bytes frame)
{
    return frame + Bytes(kPreambleBytes + kInterFrameGapBytes);
}

constexpr Bytes kAckFrameBytes = FrameBytes(RoceOpcode::kAcknowledge); ///< 66 B
constexpr Bytes kCnpFrameBytes = FrameBytes(RoceOpcode::kCnp);         ///< 78 B
constexpr Bytes kPfcFrameBytes{kMinimumFrameBytes};                    ///< IEEE 802.3 annex 31D: padded to the minimum

} // namespace rdma

#endif // RDMA_CORE_ROCE_SIZES_H
