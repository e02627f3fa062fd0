/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * InfiniBand packets as bytes, for captures: from the LRH to the VCRC, without delimiters. Every
 * field is in network byte order but for the CRCs, which go least significant byte first.
 *
 *   data          LRH | GRH | BTH | DETH | RETH | ImmDt | AETH | payload | pad | ICRC | VCRC
 *   flow control  Op 4 bits, FCTBS 12 | VL 4, FCCL 12 | CRC 16
 *
 * ICRC: Ethernet's CRC-32 (icrc.h) from LRH to padding, with ones in place of what switches and
 * routers change: without a GRH the LRH's VL, with a GRH the whole LRH and the GRH's traffic class,
 * flow label and hop limit; in both the BTH's fifth byte (FECN, BECN and six reserved bits). VCRC
 * and the CRC of flow-control packets: CRC-16 with polynomial 0x100B, bits reflected, all ones
 * before and inverted after, over everything before it.
 *
 * Two link types of pcap files hold them. 247 (LINKTYPE_INFINIBAND) is the bare packet and knows no
 * flow-control packets; Wireshark 4.0 does not read it. 197 (LINKTYPE_ERF), the format of Endace's
 * capture cards and of Mellanox's ibdump, has a header of 16 bytes before each record with its
 * type, 21 for packets and 25 for link packets, and a time in 2^-32 s; Wireshark reads it.
 *
 * The payload is a pattern, not data: byte i of a packet's payload is i mod 256; padding is zero.
 *
 * Sources: InfiniBand Architecture Specification vol. 1, 7.7 (LRH), 7.8.1 (ICRC), 7.8.2 (VCRC),
 * 7.9.4 (flow-control packet), 8.3 (GRH), 9.2 (BTH), annex A10 (FECN, BECN, CN packet with opcode
 * 0x80); tcpdump.org, "Link-layer header types"; Endace, "ERF types reference guide" (16 bytes:
 * timestamp, type, flags, record length, loss counter or color, wire length).
 */
#ifndef CONTRIB_RDMA_CORE_IB_IB_WIRE_H
#define CONTRIB_RDMA_CORE_IB_IB_WIRE_H

#include "contrib/rdma/core/icrc.h"
#include "contrib/rdma/core/roce-wire.h"
#include "ib-credits.h"
#include "ib-sizes.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <stdexcept>

namespace rdma
{

constexpr uint32_t kLinkTypeInfiniband = 247; ///< of a pcap file: bare packets
constexpr uint32_t kLinkTypeErf =
    197; ///< of a pcap file: packets behind a header that names their type
constexpr uint8_t kIbCnOpcode = 0x80;    ///< of a CN packet; RoCEv2's CNP has 0x81
constexpr uint8_t kLnhLocal = 2;         ///< link next header: BTH
constexpr uint8_t kLnhGlobal = 3;        ///< link next header: GRH
constexpr uint8_t kGrhNextHeader = 0x1b; ///< of a GRH before a BTH
constexpr uint16_t kPermissiveLid = 0xffff;

using IbGid = std::array<uint8_t, 16>;

/// One InfiniBand packet. LIDs in host byte order, GIDs as on the wire.
struct IbFields : TransportFields
{
    uint8_t vl = 0; ///< 4 bits
    uint8_t sl = 0; ///< 4 bits
    uint16_t dlid = 0;
    uint16_t slid = 0;
    bool fecn = false; ///< a switch found congestion on the packet's way
    bool becn = false; ///< the other end saw a FECN
    bool global = false;
    uint8_t trafficClass = 0; ///< GRH
    uint32_t flowLabel = 0;   ///< GRH, 20 bits
    uint8_t hopLimit = 64;    ///< GRH
    IbGid sgid{};             ///< GRH
    IbGid dgid{};             ///< GRH
};

namespace detail
{

constexpr std::array<uint16_t, 256>
MakeVcrcTable()
{
    std::array<uint16_t, 256> table{};
    for (uint32_t byte = 0; byte < 256; ++byte)
    {
        uint32_t crc = byte;
        for (int bit = 0; bit < 8; ++bit)
        {
            crc = (crc >> 1) ^ (crc & 1 ? 0xD008U : 0); // 0x100B, reflected
        }
        table[byte] = static_cast<uint16_t>(crc);
    }
    return table;
}

inline constexpr std::array<uint16_t, 256> kVcrcTable = MakeVcrcTable();

/// Reads big-endian fields one after the other; the caller knows that there are enough.
class FieldReader
{
  public:
    explicit FieldReader(const uint8_t* at)
        : m_at(at)
    {
    }

    template <size_t N>
    uint64_t Get()
    {
        uint64_t value = 0;
        for (size_t i = 0; i < N; ++i)
        {
            value = value << 8 | *m_at++;
        }
        return value;
    }

    const uint8_t* At() const
    {
        return m_at;
    }

    void Skip(size_t n)
    {
        m_at += n;
    }

  private:
    const uint8_t* m_at;
};

} // namespace detail

/// The VCRC over `length` bytes (LRH to ICRC), or the CRC of a flow-control packet over its first
/// four.
inline uint16_t
IbVcrc(const uint8_t* data, size_t length)
{
    uint32_t crc = 0xffff;
    for (size_t i = 0; i < length; ++i)
    {
        crc = crc >> 8 ^ detail::kVcrcTable[(crc ^ data[i]) & 0xff];
    }
    return static_cast<uint16_t>(~crc);
}

/// The ICRC of a packet from its LRH to the end of its padding; `length` is at least that of LRH,
/// GRH if the LRH says so, and BTH.
inline uint32_t
IbIcrc(const uint8_t* packet, size_t length)
{
    std::array<uint8_t, kLrhBytes + kGrhBytes + kBthBytes> masked;
    const bool global = (packet[1] & 3) == kLnhGlobal;
    const size_t bth = kLrhBytes + (global ? kGrhBytes : 0);
    const size_t headers = bth + kBthBytes;
    std::memcpy(masked.data(), packet, headers);
    if (global)
    {
        std::memset(masked.data(), 0xff, kLrhBytes);
        uint8_t* const grh = masked.data() + kLrhBytes;
        grh[0] |= 0x0f; // traffic class and flow label
        grh[1] = grh[2] = grh[3] = 0xff;
        grh[7] = 0xff; // hop limit
    }
    else
    {
        masked[0] |= 0xf0; // VL
    }
    masked[bth + 4] = 0xff; // FECN, BECN and reserved
    Crc32 crc;
    crc.Add(masked.data(), headers);
    crc.Add(packet + headers, length - headers);
    return crc.Value();
}

/// Bytes that EncodeIb writes, LRH to VCRC.
constexpr size_t
EncodedIbBytes(const IbFields& f)
{
    return static_cast<size_t>(IbPacketBytes(f.opcode, f.payload, f.global).value);
}

/// Writes the packet and returns its length. Throws std::length_error if it is longer than
/// `capacity` or than an InfiniBand packet can be.
inline size_t
EncodeIb(const IbFields& f, uint8_t* buffer, size_t capacity)
{
    if (f.payload > 4096)
    {
        throw std::length_error("InfiniBand: the payload is longer than a packet can be");
    }
    const size_t length = EncodedIbBytes(f);
    if (length > capacity)
    {
        throw std::length_error("InfiniBand: the buffer is too small for the packet");
    }
    detail::FieldWriter w(buffer);
    w.Put<1>((f.vl & 0xfU) << 4); // link version 0
    w.Put<1>((f.sl & 0xfU) << 4 | (f.global ? kLnhGlobal : kLnhLocal));
    w.Put<2>(f.dlid);
    w.Put<2>(IbPacketWords(Bytes(length)));
    w.Put<2>(f.slid);
    if (f.global)
    {
        w.Put<4>(6U << 28 | static_cast<uint32_t>(f.trafficClass) << 20 | (f.flowLabel & 0xfffff));
        w.Put<2>(length - kLrhBytes - kGrhBytes - kVcrcBytes);
        w.Put<1>(kGrhNextHeader);
        w.Put<1>(f.hopLimit);
        for (const IbGid* gid : {&f.sgid, &f.dgid})
        {
            for (const uint8_t byte : *gid)
            {
                w.Put<1>(byte);
            }
        }
    }
    const bool cn = f.opcode == RoceOpcode::kCnp;
    detail::PutTransport(w,
                         f,
                         cn ? kIbCnOpcode : static_cast<uint8_t>(f.opcode),
                         static_cast<uint8_t>((f.fecn ? 0x80 : 0) | (f.becn || cn ? 0x40 : 0)));
    const uint32_t icrc = IbIcrc(buffer, length - kIcrcBytes - kVcrcBytes);
    w.Put<1>(icrc);
    w.Put<1>(icrc >> 8);
    w.Put<1>(icrc >> 16);
    w.Put<1>(icrc >> 24);
    const uint16_t vcrc = IbVcrc(buffer, length - kVcrcBytes);
    w.Put<1>(vcrc);
    w.Put<1>(static_cast<uint32_t>(vcrc) >> 8);
    return length;
}

/// Reads a packet that EncodeIb or a capture wrote. Nothing if it is cut short, its lengths
/// contradict each other, a CRC is wrong, or its transport is not one of RoceOpcode's.
inline std::optional<IbFields>
DecodeIb(const uint8_t* packet, size_t length)
{
    if (length < IbHeaderBytes())
    {
        return std::nullopt;
    }
    IbFields f;
    detail::FieldReader r(packet);
    const uint64_t lrh = r.Get<8>();
    f.vl = lrh >> 60 & 0xf;
    f.sl = lrh >> 52 & 0xf;
    f.dlid = static_cast<uint16_t>(lrh >> 32);
    f.slid = static_cast<uint16_t>(lrh);
    const uint8_t next = lrh >> 48 & 3;
    f.global = next == kLnhGlobal;
    if ((lrh >> 56 & 0xf) != 0 || next < kLnhLocal ||
        (lrh >> 16 & 0x7ff) * 4 + kVcrcBytes != length || length < IbHeaderBytes(f.global))
    {
        return std::nullopt;
    }
    if (f.global)
    {
        const uint64_t head = r.Get<8>();
        f.trafficClass = static_cast<uint8_t>(head >> 52);
        f.flowLabel = head >> 32 & 0xfffff;
        f.hopLimit = static_cast<uint8_t>(head);
        if (head >> 60 != 6 ||
            (head >> 16 & 0xffff) != length - kLrhBytes - kGrhBytes - kVcrcBytes ||
            (head >> 8 & 0xff) != kGrhNextHeader)
        {
            return std::nullopt;
        }
        std::memcpy(f.sgid.data(), r.At(), f.sgid.size());
        r.Skip(f.sgid.size());
        std::memcpy(f.dgid.data(), r.At(), f.dgid.size());
        r.Skip(f.dgid.size());
    }
    const uint8_t opcode = static_cast<uint8_t>(r.Get<1>());
    f.opcode = opcode == kIbCnOpcode ? RoceOpcode::kCnp : static_cast<RoceOpcode>(opcode);
    if (opcode != kIbCnOpcode && opcode > static_cast<uint8_t>(RoceOpcode::kAcknowledge) &&
        !IsDatagram(f.opcode))
    {
        return std::nullopt;
    }
    const uint8_t flags = static_cast<uint8_t>(r.Get<1>());
    f.solicited = flags & 0x80;
    const uint32_t pad = flags >> 4 & 3;
    f.partitionKey = static_cast<uint16_t>(r.Get<2>());
    const uint8_t congestion = static_cast<uint8_t>(r.Get<1>());
    f.fecn = congestion & 0x80;
    f.becn = congestion & 0x40;
    f.destinationQueuePair = static_cast<uint32_t>(r.Get<3>());
    f.ackRequest = r.Get<1>() & 0x80;
    f.psn = static_cast<uint32_t>(r.Get<3>());
    const size_t headers = IbHeaderBytes(f.global) + IbExtensionBytes(f.opcode);
    if (length < headers + pad || (!HasPayload(f.opcode) && length != headers))
    {
        return std::nullopt;
    }
    f.payload = static_cast<uint32_t>(length - headers - pad);
    if (PadBytes(f.payload) != pad)
    {
        return std::nullopt;
    }
    if (HasDeth(f.opcode))
    {
        f.queueKey = static_cast<uint32_t>(r.Get<4>());
        f.sourceQueuePair = r.Get<4>() & 0xffffff;
    }
    if (HasReth(f.opcode))
    {
        f.virtualAddress = r.Get<8>();
        f.remoteKey = static_cast<uint32_t>(r.Get<4>());
        f.dmaLength = static_cast<uint32_t>(r.Get<4>());
    }
    if (HasImmediate(f.opcode))
    {
        f.immediate = static_cast<uint32_t>(r.Get<4>());
    }
    if (HasAeth(f.opcode))
    {
        f.syndrome = static_cast<uint8_t>(r.Get<1>());
        f.msn = static_cast<uint32_t>(r.Get<3>());
    }
    const uint8_t* const end = packet + length;
    const uint32_t icrc = end[-6] | static_cast<uint32_t>(end[-5]) << 8 |
                          static_cast<uint32_t>(end[-4]) << 16 |
                          static_cast<uint32_t>(end[-3]) << 24;
    const uint32_t vcrc = end[-2] | static_cast<uint32_t>(end[-1]) << 8;
    if (icrc != IbIcrc(packet, length - kIcrcBytes - kVcrcBytes) ||
        vcrc != IbVcrc(packet, length - kVcrcBytes))
    {
        return std::nullopt;
    }
    return f;
}

using IbFlowControlBytes = std::array<uint8_t, kIbFlowControlBytes>;

/// A flow-control packet as bytes, without its delimiters.
inline IbFlowControlBytes
EncodeIbFlowControl(const IbFlowControl& f)
{
    IbFlowControlBytes bytes;
    detail::FieldWriter w(bytes.data());
    w.Put<2>((static_cast<uint32_t>(f.op) & 0xf) << 12 | (f.fctbs & 0xfffU));
    w.Put<2>((f.vl & 0xfU) << 12 | (f.fccl & 0xfffU));
    const uint16_t crc = IbVcrc(bytes.data(), 4);
    w.Put<1>(crc);
    w.Put<1>(static_cast<uint32_t>(crc) >> 8);
    return bytes;
}

/// Nothing if the CRC is wrong or the packet is neither normal nor init.
inline std::optional<IbFlowControl>
DecodeIbFlowControl(const IbFlowControlBytes& bytes)
{
    const uint16_t crc = IbVcrc(bytes.data(), 4);
    if (bytes[4] != (crc & 0xff) || bytes[5] != crc >> 8 || bytes[0] >> 4 > 1)
    {
        return std::nullopt;
    }
    IbFlowControl f;
    f.op = static_cast<IbFlowControlOp>(bytes[0] >> 4);
    f.fctbs = static_cast<uint16_t>((bytes[0] & 0xf) << 8 | bytes[1]);
    f.vl = bytes[2] >> 4;
    f.fccl = static_cast<uint16_t>((bytes[2] & 0xf) << 8 | bytes[3]);
    return f;
}

// ---------------------------------------------------------------------------------------------
// ERF records, for captures with flow-control packets.

constexpr size_t kErfHeaderBytes = 16;
constexpr uint8_t kErfInfiniband = 21;     ///< record of a packet
constexpr uint8_t kErfInfinibandLink = 25; ///< record of a link packet

/// Writes the header of an ERF record that is followed by `bytes` bytes; these are captured whole.
/// \param interface 0 to 3
inline void
PutErfHeader(uint8_t* buffer, uint8_t type, TimePoint when, size_t bytes, uint8_t interface = 0)
{
    constexpr int64_t kSecond = 1000000000000LL;
    const uint64_t seconds = static_cast<uint64_t>(when.ps / kSecond);
    // Fixed point with 32 bits of fraction, least significant byte first.
    const uint64_t fraction =
        static_cast<uint64_t>((static_cast<unsigned __int128>(when.ps % kSecond) << 32) / kSecond);
    const uint64_t time = seconds << 32 | fraction;
    for (int i = 0; i < 8; ++i)
    {
        buffer[i] = static_cast<uint8_t>(time >> 8 * i);
    }
    detail::FieldWriter w(buffer + 8);
    w.Put<1>(type);
    w.Put<1>(0x04U | (interface & 3U)); // records of varying length
    w.Put<2>(kErfHeaderBytes + bytes);
    w.Put<2>(0); // nothing was lost
    w.Put<2>(bytes);
}

/// Bytes of the record of a flow-control packet: its 6 are filled up with zeros to 48. Wireshark
/// 4.0 reads the fields rightly but also takes the packet for an LRH to fill its address columns,
/// and calls it malformed if the LRH and GRH that the count's last bits may announce are not there.
constexpr size_t kErfFlowControlBytes = kErfHeaderBytes + kLrhBytes + kGrhBytes;

/// Writes the record of a flow-control packet, header included.
inline void
PutErfFlowControl(uint8_t* buffer, TimePoint when, const IbFlowControl& f, uint8_t interface = 0)
{
    PutErfHeader(buffer,
                 kErfInfinibandLink,
                 when,
                 kErfFlowControlBytes - kErfHeaderBytes,
                 interface);
    const IbFlowControlBytes packet = EncodeIbFlowControl(f);
    std::memset(buffer + kErfHeaderBytes, 0, kErfFlowControlBytes - kErfHeaderBytes);
    std::memcpy(buffer + kErfHeaderBytes, packet.data(), packet.size());
}

} // namespace rdma

#endif // CONTRIB_RDMA_CORE_IB_IB_WIRE_H
