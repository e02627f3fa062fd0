/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Bytes of a NIC's frames, as numbers that can be set: RoCEv2's by default, another model's where
 * its results are to be reproduced. HPCC's ns-3 code
 * (alibaba-edu/High-Precision-Congestion-Control), for one, has
 *
 *   PPP standing for Ethernet | IPv4 | UDP | sequence number and priority | telemetry     | payload
 *              14                20     8                6                  0, 8 (TIMELY), 42     n
 *
 * which is 48 B a packet without telemetry; no FCS, preamble or gap; no RETH, immediate data or
 * padding; ACKs and NAKs padded to 60 B; and no work requests that a flow would be cut into.
 */
#ifndef RDMA_CORE_FRAME_SIZES_H
#define RDMA_CORE_FRAME_SIZES_H

#include "roce-sizes.h"

#include <cstdint>

namespace rdma
{

struct FrameSizes
{
    uint32_t lineOverhead =
        kPreambleBytes + kInterFrameGapBytes; ///< of wire bytes: never in a buffer
    /// Wire bytes of a data packet without extension headers and payload.
    uint32_t dataOverhead =
        static_cast<uint32_t>(WireBytes(FrameBytes(RoceOpcode::kWriteMiddle, 4)).value) - 4;
    uint32_t rethBytes = kRethBytes;
    uint32_t immediateBytes = kImmDtBytes;
    uint32_t aethBytes = kAethBytes; ///< of READ responses; those of ACKs are in ackWire
    uint32_t dethBytes = kDethBytes;
    uint32_t padMask = 3; ///< payloads are padded to a multiple of this + 1, a power of two
    /// Bytes of header for each 256 B of payload behind the first, whose header is in dataOverhead:
    /// of scale-up links, which pack several payloads into a frame.
    uint32_t flitBytes = 0;
    uint32_t leastWire = static_cast<uint32_t>(WireBytes(Bytes(kMinimumFrameBytes)).value);
    uint32_t ackWire = static_cast<uint32_t>(WireBytes(kAckFrameBytes).value);
    uint32_t cnpWire = static_cast<uint32_t>(WireBytes(kCnpFrameBytes).value);
    /// Of dataOverhead and ackWire: what the congestion control adds (telemetry).
    uint32_t controlData = 0;
    uint32_t controlAck = 0;
    uint64_t requestBytes =
        kMaxRequestBytes; ///< a post is cut into requests of this many, a power of two

    /// \param header frame bytes of a data packet besides extension headers, payload and padding
    /// \param extensions whether there are RETH, AETH, DETH, immediate data, padding (to the least
    /// frame too), and requests of 2^31 B at most
    static constexpr FrameSizes Make(uint32_t lineOverhead,
                                     uint32_t header,
                                     bool extensions,
                                     uint32_t ackFrame,
                                     uint32_t cnpFrame)
    {
        FrameSizes s;
        s.leastWire = s.leastWire - s.lineOverhead + lineOverhead;
        s.lineOverhead = lineOverhead;
        s.dataOverhead = lineOverhead + header;
        s.ackWire = lineOverhead + ackFrame;
        s.cnpWire = lineOverhead + cnpFrame;
        if (!extensions)
        {
            s.rethBytes = s.immediateBytes = s.aethBytes = s.dethBytes = s.padMask = s.leastWire =
                0;
            s.requestBytes = 1ULL << 62;
        }
        return s;
    }

    constexpr bool HasExtensions() const
    {
        return rethBytes != 0;
    }

    /// Frames of scale-up links: flits of so many bytes (a power of two), one of them a header for
    /// each 256 B of payload, and one to answer a message. No verbs' headers, no delimiters.
    static constexpr FrameSizes OfFlits(uint32_t flit)
    {
        FrameSizes s = Make(0, flit, false, flit, flit);
        s.SetFlits(flit);
        return s;
    }

    /// As OfFlits, of data; 0: nothing.
    constexpr void SetFlits(uint32_t flit)
    {
        padMask = flit ? flit - 1 : padMask;
        flitBytes = flit;
    }

    /// Bytes of the headers behind the first one.
    constexpr uint32_t FlitHeaders(uint32_t payload) const
    {
        return ((payload - (payload != 0)) >> 8) * flitBytes;
    }

    /// Wire bytes of a full packet without extension headers.
    constexpr uint32_t FullWire(uint32_t mtu) const
    {
        return dataOverhead + mtu + FlitHeaders(mtu);
    }

    /// Wire bytes of a packet, but for ACKs, NAKs and CNPs.
    constexpr uint32_t DataWire(RoceOpcode o, uint32_t payload) const
    {
        const uint32_t wire = dataOverhead + (HasReth(o) ? rethBytes : 0) +
                              (HasImmediate(o) ? immediateBytes : 0) +
                              (HasAeth(o) ? aethBytes : 0) + (HasDeth(o) ? dethBytes : 0) +
                              ((payload + padMask) & ~padMask) + FlitHeaders(payload);
        return wire < leastWire ? leastWire : wire;
    }

    /// Frame bytes of the largest packet: what a switch must be prepared for.
    constexpr uint32_t LargestFrame(uint32_t mtu) const
    {
        return DataWire(RoceOpcode::kWriteOnlyWithImmediate, mtu) - lineOverhead;
    }

    /// Whether these are RoCEv2's, but for what the congestion control adds, so that a capture of
    /// such frames can be read.
    constexpr bool AreStandard() const
    {
        const FrameSizes s;
        return flitBytes == 0 && lineOverhead == s.lineOverhead &&
               dataOverhead - controlData == s.dataOverhead && HasExtensions() &&
               ackWire - controlAck == s.ackWire && cnpWire == s.cnpWire;
    }
};

} // namespace rdma

#endif // RDMA_CORE_FRAME_SIZES_H
