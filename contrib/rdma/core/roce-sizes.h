/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Sizes of RoCEv2 packets over IPv4, untagged Ethernet.
 *
 *   preamble+SFD | Ethernet | IPv4 | UDP | BTH | RETH, ImmDt, AETH | payload | pad | ICRC | FCS |
 *   gap
 *        8            14       20     8    12     16, 4, 4              n      0..3    4     4   12
 *                |<-------------------------------- frame bytes ------------------------------->|
 *   |<----------------------------------------- wire bytes
 *   ------------------------------------------->|
 *
 * Frame bytes are what buffers hold and count. Wire bytes are what a link is occupied for; a frame
 * counts as delivered when its occupancy ends, gap included: simple, the same for every frame, and
 * late by 12 B of line time.
 *
 * Sources: IEEE 802.3 clauses 3 and 4.4.2 (Ethernet), RFC 791 and 768 (IPv4, UDP), InfiniBand
 * Architecture Specification vol. 1 chapter 9 (BTH 9.2, extended transport headers 9.3, PadCnt) and
 * annex A17 (RoCEv2, CNP).
 */
#ifndef RDMA_CORE_ROCE_SIZES_H
#define RDMA_CORE_ROCE_SIZES_H

#include "units.h"

#include <cstdint>

namespace rdma
{

constexpr uint32_t kPreambleBytes = 8;        ///< preamble and start frame delimiter
constexpr uint32_t kInterFrameGapBytes = 12;  ///< least gap between frames
constexpr uint32_t kEthernetHeaderBytes = 14; ///< destination, source, type
constexpr uint32_t kFcsBytes = 4;             ///< frame check sequence
constexpr uint32_t kMinimumFrameBytes = 64;   ///< FCS included
constexpr uint32_t kIpv4HeaderBytes = 20;     ///< without options
constexpr uint32_t kUdpHeaderBytes = 8;       ///< ports, length, checksum
constexpr uint32_t kBthBytes = 12;            ///< base transport header
constexpr uint32_t kRethBytes = 16;           ///< RDMA extended transport header
constexpr uint32_t kAethBytes = 4;            ///< ACK extended transport header
constexpr uint32_t kImmDtBytes = 4;           ///< immediate data
constexpr uint32_t kDethBytes = 8;            ///< datagram extended transport header
constexpr uint32_t kIcrcBytes = 4;            ///< invariant CRC
constexpr uint32_t kCnpReservedBytes = 16;    ///< after the BTH of a congestion notification packet
constexpr uint32_t kNdpAnswerBytes = 8;       ///< PSN answered and pulls given, 32 bits each; or
                                              ///< credits asked for, and of these again
constexpr uint64_t kMaxRequestBytes =
    1ULL << 31; ///< of one work request: RETH's length has 32 bits, messages 2^31 B

/// Opcodes of the base transport header: reliable connection, unreliable datagram (InfiniBand
/// Architecture Specification vol. 1, 9.2.1 and its table of opcodes), CNP of annex A17.
enum class RoceOpcode : uint8_t
{
    kSendFirst = 0x00,
    kSendMiddle = 0x01,
    kSendLast = 0x02,
    kSendLastWithImmediate = 0x03,
    kSendOnly = 0x04,
    kSendOnlyWithImmediate = 0x05,
    kWriteFirst = 0x06,
    kWriteMiddle = 0x07,
    kWriteLast = 0x08,
    kWriteLastWithImmediate = 0x09,
    kWriteOnly = 0x0a,
    kWriteOnlyWithImmediate = 0x0b,
    kReadRequest = 0x0c,
    kReadResponseFirst = 0x0d,
    kReadResponseMiddle = 0x0e,
    kReadResponseLast = 0x0f,
    kReadResponseOnly = 0x10,
    kAcknowledge = 0x11,
    kDatagramSendOnly = 0x64,
    kDatagramSendOnlyWithImmediate = 0x65,
    kCnp = 0x81,
    // Opcodes from 0xc0 on are left to manufacturers (9.2.1). These are our own:
    kNdpAck = 0xc0,
    kNdpNack = 0xc1,
    kNdpPull = 0xc2,
    kReturned = 0xc3,      ///< a packet without payload that a switch sends back
    kRequestToSend = 0xc4, ///< a sender asks for credits
    kSwitchReport = 0xc5,  ///< what switches tell each other
};

namespace detail
{

/// A set of opcodes of the reliable connection as bits, and whether it holds one.
constexpr bool
IsOneOf(RoceOpcode o, uint32_t bits)
{
    return static_cast<uint32_t>(o) < 32 && (bits >> static_cast<uint32_t>(o) & 1);
}

} // namespace detail

constexpr bool
IsDatagram(RoceOpcode o)
{
    return o == RoceOpcode::kDatagramSendOnly || o == RoceOpcode::kDatagramSendOnlyWithImmediate;
}

/// Whether the packet carries message data.
constexpr bool
HasPayload(RoceOpcode o)
{
    return detail::IsOneOf(o, 0x1efff) || IsDatagram(o); // all of 0x00 to 0x10 but the READ request
}

constexpr bool
HasReth(RoceOpcode o)
{
    return detail::IsOneOf(o, 1U << 0x06 | 1U << 0x0a | 1U << 0x0b | 1U << 0x0c);
}

constexpr bool
HasImmediate(RoceOpcode o)
{
    return detail::IsOneOf(o, 1U << 0x03 | 1U << 0x05 | 1U << 0x09 | 1U << 0x0b) ||
           o == RoceOpcode::kDatagramSendOnlyWithImmediate;
}

constexpr bool
HasAeth(RoceOpcode o)
{
    return detail::IsOneOf(o, 1U << 0x0d | 1U << 0x0f | 1U << 0x10 | 1U << 0x11);
}

constexpr bool
HasDeth(RoceOpcode o)
{
    return IsDatagram(o);
}

constexpr bool
IsNdpAnswer(RoceOpcode o)
{
    return o >= RoceOpcode::kNdpAck && o <= RoceOpcode::kNdpPull;
}

/// Whether two numbers of 32 bits stand behind the BTH.
constexpr bool
HasCredits(RoceOpcode o)
{
    return IsNdpAnswer(o) || o == RoceOpcode::kRequestToSend || o == RoceOpcode::kSwitchReport;
}

/// The opcode of a packet of an RDMA WRITE by its place in the request.
constexpr RoceOpcode
WriteOpcode(bool first, bool last, bool withImmediate)
{
    if (last)
    {
        return first
                   ? (withImmediate ? RoceOpcode::kWriteOnlyWithImmediate : RoceOpcode::kWriteOnly)
                   : (withImmediate ? RoceOpcode::kWriteLastWithImmediate : RoceOpcode::kWriteLast);
    }
    return first ? RoceOpcode::kWriteFirst : RoceOpcode::kWriteMiddle;
}

/// The same of a SEND: in the same order, from 0x00 on.
constexpr RoceOpcode
SendOpcode(bool first, bool last, bool withImmediate)
{
    return static_cast<RoceOpcode>(static_cast<uint8_t>(WriteOpcode(first, last, withImmediate)) -
                                   static_cast<uint8_t>(RoceOpcode::kWriteFirst));
}

/// The same of the response to an RDMA READ.
constexpr RoceOpcode
ReadResponseOpcode(bool first, bool last)
{
    return last ? (first ? RoceOpcode::kReadResponseOnly : RoceOpcode::kReadResponseLast)
                : (first ? RoceOpcode::kReadResponseFirst : RoceOpcode::kReadResponseMiddle);
}

/// Headers between BTH and payload; for a CNP its reserved bytes.
constexpr uint32_t
ExtensionBytes(RoceOpcode o)
{
    return (HasDeth(o) ? kDethBytes : 0) + (HasReth(o) ? kRethBytes : 0) +
           (HasImmediate(o) ? kImmDtBytes : 0) + (HasAeth(o) ? kAethBytes : 0) +
           (o == RoceOpcode::kCnp ? kCnpReservedBytes : 0) + (HasCredits(o) ? kNdpAnswerBytes : 0);
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
    const uint32_t bytes = kEthernetHeaderBytes + kIpv4HeaderBytes + kUdpHeaderBytes + kBthBytes +
                           ExtensionBytes(o) + payload + PadBytes(payload) + kIcrcBytes + kFcsBytes;
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
constexpr Bytes kPfcFrameBytes{kMinimumFrameBytes}; ///< IEEE 802.3 annex 31D: padded to the minimum

} // namespace rdma

#endif // RDMA_CORE_ROCE_SIZES_H
