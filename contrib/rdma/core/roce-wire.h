/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Frames as bytes, for captures: RoCEv2 over IPv4 and PFC pause frames, from the destination
 * address to the end without the FCS, as captures hold them. Every field is in network byte order.
 *
 *   RoCEv2   Ethernet II | IPv4, don't fragment | UDP to 4791, checksum 0 | BTH | DETH | RETH |
 *            ImmDt | AETH | payload | what a congestion control adds | ICRC (InfiniBand
 * Architecture Specification vol. 1: BTH 9.2, DETH, RETH, AETH and ImmDt 9.3, annex A17; RFC 791,
 * 768) PFC      Ethernet II to 01-80-C2-00-00-01, type 0x8808, opcode 0x0101, class-enable vector,
 *            eight times in quanta of 512 bit times, zeros to 60 bytes (IEEE 802.1Qbb; IEEE 802.3
 *            annex 31D)
 *
 * The payload is a pattern, not data: byte i of a packet's payload is i mod 256; padding is zero.
 */
#ifndef RDMA_CORE_ROCE_WIRE_H
#define RDMA_CORE_ROCE_WIRE_H

#include "icrc.h"
#include "roce-sizes.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <stdexcept>

namespace rdma
{

using MacAddress = std::array<uint8_t, 6>;

constexpr uint16_t kRoceUdpPort = 4791; ///< IANA

// Codes of a NAK (InfiniBand Architecture Specification vol. 1, 9.7.5.2).
constexpr uint8_t kNakPsnSequenceError = 0;
constexpr uint8_t kNakInvalidRequest = 1;
constexpr uint8_t kNakRemoteAccessError = 2;
constexpr uint8_t kNakRemoteOperationalError = 3;

/// Credit count of an ACK that carries none: no end-to-end flow control.
constexpr uint8_t kAckNoCredits = 31;

/// AETH syndrome of an ACK with this credit count (5 bits).
constexpr uint8_t
AckSyndrome(uint8_t credits = kAckNoCredits)
{
    return credits & 0x1f;
}

/// AETH syndrome of a NAK with this code.
constexpr uint8_t
NakSyndrome(uint8_t code)
{
    return 0x60 | (code & 0x1f);
}

/// AETH syndrome of an RNR NAK with this timer code (5 bits).
constexpr uint8_t
RnrNakSyndrome(uint8_t timer)
{
    return 0x20 | (timer & 0x1f);
}

/// The transport's part of a packet, the same on RoCEv2 and InfiniBand. Numbers in host byte order;
/// fields of headers its opcode has not are ignored.
struct TransportFields
{
    RoceOpcode opcode = RoceOpcode::kWriteOnly;
    bool solicited = false;
    bool ackRequest = false;
    uint16_t partitionKey = 0xffff;
    uint32_t destinationQueuePair = 0; ///< 24 bits
    uint32_t psn = 0;                  ///< 24 bits
    uint32_t queueKey = 0;             ///< DETH
    uint32_t sourceQueuePair = 0;      ///< DETH, 24 bits
    uint64_t virtualAddress = 0;       ///< RETH
    uint32_t remoteKey = 0;            ///< RETH
    uint32_t dmaLength = 0;            ///< RETH: bytes of the whole request
    uint32_t immediate = 0;            ///< ImmDt
    uint8_t syndrome = AckSyndrome();  ///< AETH
    uint32_t msn = 0;                  ///< AETH, 24 bits: messages completed by the responder
    uint32_t payload = 0;              ///< bytes; ACKs and CNPs have none
    const uint8_t* trailer = nullptr;  ///< what stands behind payload and padding
    uint32_t trailerBytes = 0;         ///< of `trailer`
};

/// One RoCEv2 packet. Addresses in host byte order.
struct RoceFields : TransportFields
{
    MacAddress destinationMac{};
    MacAddress sourceMac{};
    uint32_t sourceIp = 0;
    uint32_t destinationIp = 0;
    uint8_t dscp = 0; ///< 6 bits
    uint8_t ecn = 0;  ///< 2 bits: 2 is ECT(0), 3 congestion experienced (RFC 3168)
    uint8_t ttl = 64;
    uint16_t identification = 0;
    uint16_t sourcePort = 0xC000;
};

namespace detail
{

/// Writes big-endian fields one after the other.
class FieldWriter
{
  public:
    explicit FieldWriter(uint8_t* at)
        : m_at(at)
    {
    }

    template <size_t N>
    void Put(uint64_t value)
    {
        for (size_t i = 0; i < N; ++i)
        {
            *m_at++ = static_cast<uint8_t>(value >> 8 * (N - 1 - i));
        }
    }

    void PutMac(const MacAddress& mac)
    {
        std::memcpy(m_at, mac.data(), mac.size());
        m_at += mac.size();
    }

    void PutZeros(size_t n)
    {
        std::memset(m_at, 0, n);
        m_at += n;
    }

    uint8_t* At() const
    {
        return m_at;
    }

  private:
    uint8_t* m_at;
};

/// Writes BTH to padding. `congestion` is the BTH's fifth byte: FECN, BECN and six reserved bits.
inline void
PutTransport(FieldWriter& w, const TransportFields& f, uint8_t opcode, uint8_t congestion)
{
    const uint32_t pad = PadBytes(f.payload);
    const bool cnp = f.opcode == RoceOpcode::kCnp;
    w.Put<1>(opcode);
    // Solicited event, migration state (migrated, as without an alternate path; 0 in a CNP),
    // PadCnt, version 0.
    w.Put<1>((f.solicited ? 0x80U : 0) | (cnp ? 0 : 0x40U) | pad << 4);
    w.Put<2>(f.partitionKey);
    w.Put<1>(congestion);
    w.Put<3>(f.destinationQueuePair);
    w.Put<1>(f.ackRequest ? 0x80 : 0);
    w.Put<3>(f.psn);

    if (HasDeth(f.opcode))
    {
        w.Put<4>(f.queueKey);
        w.Put<1>(0);
        w.Put<3>(f.sourceQueuePair);
    }
    if (HasReth(f.opcode))
    {
        w.Put<8>(f.virtualAddress);
        w.Put<4>(f.remoteKey);
        w.Put<4>(f.dmaLength);
    }
    if (HasImmediate(f.opcode))
    {
        w.Put<4>(f.immediate);
    }
    if (HasAeth(f.opcode))
    {
        w.Put<1>(f.syndrome);
        w.Put<3>(f.msn);
    }
    if (HasCredits(f.opcode))
    {
        w.Put<4>(f.immediate); // the PSN that is answered, or credits asked for
        w.Put<4>(f.dmaLength); // pulls given, or packets to be sent again
    }
    if (cnp && opcode == static_cast<uint8_t>(RoceOpcode::kCnp)) // InfiniBand's CN packet has none
    {
        w.PutZeros(kCnpReservedBytes);
    }
    for (uint32_t i = 0; i < f.payload; ++i)
    {
        w.Put<1>(i);
    }
    w.PutZeros(pad);
    for (uint32_t i = 0; i < f.trailerBytes; ++i)
    {
        w.Put<1>(f.trailer[i]);
    }
}

} // namespace detail

/// The internet checksum of an IPv4 header of 20 bytes, its own checksum field counted as zero (RFC
/// 791, RFC 1071).
inline uint16_t
Ipv4HeaderChecksum(const uint8_t* header)
{
    uint32_t sum = 0;
    for (size_t i = 0; i < kIpv4HeaderBytes; i += 2)
    {
        sum += i == 10 ? 0 : static_cast<uint32_t>(header[i]) << 8 | header[i + 1];
    }
    sum = (sum & 0xffff) + (sum >> 16);
    sum = (sum & 0xffff) + (sum >> 16);
    return static_cast<uint16_t>(~sum);
}

/// Bytes that EncodeRoce writes: the frame without its FCS. \param trailer bytes behind padding
constexpr size_t
EncodedRoceBytes(RoceOpcode opcode, uint32_t payload, uint32_t trailer = 0)
{
    return static_cast<size_t>(FrameBytes(opcode, payload).value) + trailer - kFcsBytes;
}

/// Writes the frame without its FCS and returns its length. Throws std::length_error if it is
/// longer than `capacity` or than an IPv4 packet can be.
inline size_t
EncodeRoce(const RoceFields& f, uint8_t* buffer, size_t capacity)
{
    if (f.payload > 65000)
    {
        throw std::length_error("RoCEv2: the payload is longer than a packet can be");
    }
    const size_t length = EncodedRoceBytes(f.opcode, f.payload, f.trailerBytes);
    if (length > capacity)
    {
        throw std::length_error("RoCEv2: the buffer is too small for the frame");
    }
    const uint32_t pad = PadBytes(f.payload);
    // Not all of a frame that is padded to Ethernet's minimum.
    const size_t ipLength = kIpv4HeaderBytes + kUdpHeaderBytes + kBthBytes +
                            ExtensionBytes(f.opcode) + f.payload + pad + f.trailerBytes +
                            kIcrcBytes;

    detail::FieldWriter w(buffer);
    w.PutMac(f.destinationMac);
    w.PutMac(f.sourceMac);
    w.Put<2>(0x0800);

    uint8_t* const ip = w.At();
    w.Put<1>(0x45);
    w.Put<1>(static_cast<uint32_t>(f.dscp) << 2 | (f.ecn & 3));
    w.Put<2>(ipLength);
    w.Put<2>(f.identification);
    w.Put<2>(0x4000); // don't fragment
    w.Put<1>(f.ttl);
    w.Put<1>(17); // UDP
    w.Put<2>(0);  // checksum, below
    w.Put<4>(f.sourceIp);
    w.Put<4>(f.destinationIp);
    detail::FieldWriter(ip + 10).Put<2>(Ipv4HeaderChecksum(ip));

    w.Put<2>(f.sourcePort);
    w.Put<2>(kRoceUdpPort);
    w.Put<2>(ipLength - kIpv4HeaderBytes);
    w.Put<2>(0); // no checksum: the ICRC covers it

    detail::PutTransport(w,
                         f,
                         static_cast<uint8_t>(f.opcode),
                         f.opcode == RoceOpcode::kCnp ? 0x40 : 0); // BECN

    const uint32_t icrc = RoceIcrc(ip, ipLength - kIcrcBytes);
    w.Put<1>(icrc);
    w.Put<1>(icrc >> 8);
    w.Put<1>(icrc >> 16);
    w.Put<1>(icrc >> 24);
    w.PutZeros(static_cast<size_t>(buffer + length - w.At()));
    return length;
}

/// A PFC frame: for each priority whose bit is set in `classEnable`, pause for `quanta` times 512
/// bit times; 0 resumes.
struct PfcFields
{
    MacAddress sourceMac{};
    uint8_t classEnable = 0;
    std::array<uint16_t, 8> quanta{};
};

constexpr size_t kEncodedPfcBytes = kMinimumFrameBytes - kFcsBytes;

/// Writes the 60 bytes of the frame without its FCS and returns their number. Throws
/// std::length_error if `capacity` is less.
inline size_t
EncodePfc(const PfcFields& f, uint8_t* buffer, size_t capacity)
{
    if (kEncodedPfcBytes > capacity)
    {
        throw std::length_error("PFC: the buffer is too small for the frame");
    }
    detail::FieldWriter w(buffer);
    w.PutMac({0x01, 0x80, 0xC2, 0x00, 0x00, 0x01});
    w.PutMac(f.sourceMac);
    w.Put<2>(0x8808);
    w.Put<2>(0x0101);
    w.Put<2>(f.classEnable);
    for (const uint16_t quanta : f.quanta)
    {
        w.Put<2>(quanta);
    }
    w.PutZeros(static_cast<size_t>(buffer + kEncodedPfcBytes - w.At()));
    return kEncodedPfcBytes;
}

} // namespace rdma

#endif // RDMA_CORE_ROCE_WIRE_H
