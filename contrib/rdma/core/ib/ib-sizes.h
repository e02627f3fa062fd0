/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Sizes of InfiniBand packets.
 *
 *   SDP | LRH | GRH | BTH | DETH, RETH, ImmDt, AETH | payload | pad | ICRC | VCRC | EGP
 *    1     8   0, 40  12       8, 16, 4, 4               n      0..3    4      2     1
 *         |<--------------- words of LRH's packet length ---------------->|
 *         |<-------------------------- packet bytes ---------------------------->|
 *   |<------------------------------- line bytes (IbLink::LineBytes) --------------------->|
 *
 * Packet bytes are what buffers hold and count, in blocks of 64, rounded up for each packet: from
 * the first byte of the LRH to the last of the VCRC. That the VCRC counts is our reading; it
 * matters only where LRH to ICRC are a multiple of 64 bytes.
 *
 * A flow-control packet has 6 bytes (Op 4 bits, FCTBS 12, VL 4, FCCL 12, CRC 16), 8 with its
 * delimiters; it takes no credits.
 *
 * Sources: InfiniBand Architecture Specification vol. 1, 7.7 (LRH; packet length), 7.8 (ICRC,
 * VCRC), 7.9 (blocks, flow control packets), 8.3 (GRH), chapter 9 (transport headers), annex A10
 * (CN packet).
 *
 * A CN packet is LRH, BTH, ICRC and VCRC, 26 bytes, without the 16 reserved bytes of RoCEv2's CNP
 * (annex A17). Source: Linux, drivers/infiniband/hw/hfi1/ud.c, return_cnp()
 * (torvalds/linux@0128fce): 5 words of header, LRH and BTH, and the CRCs, opcode CNP, BECN set, PSN
 * 0. That is Omni-Path's, in its packets of InfiniBand's format; that InfiniBand's are the same is
 * assumed.
 */
#ifndef CONTRIB_RDMA_CORE_IB_IB_SIZES_H
#define CONTRIB_RDMA_CORE_IB_IB_SIZES_H

#include "contrib/rdma/core/frame-sizes.h"
#include "contrib/rdma/core/roce-sizes.h"
#include "contrib/rdma/core/units.h"
#include "ib-link.h"

#include <cstdint>

namespace rdma
{

constexpr uint32_t kLrhBytes = 8;           ///< local route header
constexpr uint32_t kGrhBytes = 40;          ///< global route header: between subnets
constexpr uint32_t kVcrcBytes = 2;          ///< variant CRC, new on each link
constexpr uint32_t kIbBlockBytes = 64;      ///< unit of credits and of VL arbitration weights
constexpr uint32_t kIbFlowControlBytes = 6; ///< of a flow-control packet, without its delimiters
constexpr uint32_t kIbMaxOverheadBytes =
    126; ///< a packet is at most this longer than the MTU (vol. 1, 7.7)
inline constexpr uint32_t kIbMtus[] = {256, 512, 1024, 2048, 4096};

/// Bytes of a packet without extension headers and payload: LRH, BTH, ICRC, VCRC, and the GRH if it
/// has one.
constexpr uint32_t
IbHeaderBytes(bool global = false)
{
    return kLrhBytes + (global ? kGrhBytes : 0) + kBthBytes + kIcrcBytes + kVcrcBytes;
}

/// Bytes of the headers behind the BTH.
constexpr uint32_t
IbExtensionBytes(RoceOpcode o)
{
    return o == RoceOpcode::kCnp ? 0 : ExtensionBytes(o);
}

/// Bytes from LRH to VCRC.
constexpr Bytes
IbPacketBytes(RoceOpcode o, uint32_t payload = 0, bool global = false)
{
    return Bytes(IbHeaderBytes(global) + IbExtensionBytes(o) + payload + PadBytes(payload));
}

/// The LRH's packet length: words of 4 bytes from LRH to ICRC. `packet` is from LRH to VCRC.
constexpr uint32_t
IbPacketWords(Bytes packet)
{
    return static_cast<uint32_t>((packet.value - kVcrcBytes) / 4);
}

/// Blocks of 64 bytes that a packet takes in a buffer, and its credits. `packetBytes` is from LRH
/// to VCRC.
constexpr uint32_t
IbBlocks(uint32_t packetBytes)
{
    return (packetBytes + kIbBlockBytes - 1) / kIbBlockBytes;
}

/// The same of a packet as a port counts it, with its delimiters.
constexpr uint32_t
IbBlocksOfWire(uint32_t wireBytes)
{
    return IbBlocks(wireBytes - kIbDelimiterBytes);
}

/// Blocks of the largest packet that a VL may have to take: less than this many and a full packet
/// never passes.
constexpr uint32_t
IbLargestPacketBlocks(uint32_t mtu)
{
    return IbBlocks(mtu + kIbMaxOverheadBytes);
}

constexpr Bytes kIbAckBytes = IbPacketBytes(RoceOpcode::kAcknowledge); ///< 30 B
constexpr Bytes kIbCnBytes = IbPacketBytes(RoceOpcode::kCnp);          ///< 26 B

/// Line bytes of a flow-control packet on up to four lanes: 8.
constexpr uint32_t kIbFlowControlWire = kIbFlowControlBytes + kIbDelimiterBytes;

/// A NIC's frames on InfiniBand. The line overhead are the delimiters (a column that is filled up,
/// as on 8x and 12x links, is left to IbLink::LineBytes); packets are padded to 4 bytes, and none
/// is too short.
constexpr FrameSizes
IbFrameSizes(bool global = false)
{
    const uint32_t grh = global ? kGrhBytes : 0;
    FrameSizes s = FrameSizes::Make(kIbDelimiterBytes,
                                    IbHeaderBytes(global),
                                    true,
                                    static_cast<uint32_t>(kIbAckBytes.value) + grh,
                                    static_cast<uint32_t>(kIbCnBytes.value) + grh);
    s.leastWire = 0;
    return s;
}

/// Share of a link's data rate that payload of `payload` bytes a packet gets, flow-control packets
/// aside.
constexpr double
IbPayloadShare(RoceOpcode o, uint32_t payload, IbLink link, bool global = false)
{
    return static_cast<double>(payload) /
           static_cast<double>(link.LineBytes(IbPacketBytes(o, payload, global).value));
}

} // namespace rdma

#endif // CONTRIB_RDMA_CORE_IB_IB_SIZES_H
