/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "ib-capture-encoder.h"

#include "contrib/rdma/core/ib/ib-sizes.h"
#include "contrib/rdma/core/ib/ib-wire.h"
#include "rdma-capture-file.h"

#include <algorithm>
#include <cstring>

namespace ns3
{

uint32_t
IbCaptureEncoder::GetLinkType() const
{
    return RdmaCaptureFile::LINK_TYPE_ERF;
}

uint32_t
IbCaptureEncoder::GetHeaderBytes() const
{
    return rdma::kErfHeaderBytes;
}

std::string
IbCaptureEncoder::Check(const rdma::FrameSizes& sizes) const
{
    const rdma::FrameSizes ib = rdma::IbFrameSizes();
    const bool same = sizes.lineOverhead == ib.lineOverhead &&
                      sizes.dataOverhead == ib.dataOverhead && sizes.HasExtensions() &&
                      sizes.ackWire == ib.ackWire && sizes.cnpWire == ib.cnpWire;
    return same ? "" : NoReader("InfiniBand's", "");
}

size_t
IbCaptureEncoder::Encode(const Seen& seen, uint32_t kept)
{
    const RdmaFrame& frame = seen.frame;
    // To the nanosecond, as the capture's own time stamps: readers show either.
    const rdma::TimePoint when(seen.now - seen.now % 1000);
    uint8_t* const at = m_buffer.data();
    size_t length = rdma::kErfFlowControlBytes;
    if (frame.opcode == RdmaOpcode::FLOW_CONTROL)
    {
        rdma::PutErfFlowControl(at,
                                when,
                                {rdma::IbFlowControlOp::kNormal,
                                 frame.priority,
                                 static_cast<uint16_t>(frame.aux),
                                 static_cast<uint16_t>(frame.dmaLength)});
    }
    else
    {
        const size_t packet =
            frame.opcode == RdmaOpcode::PACKET ? EncodeRaw(frame) : EncodeIb(frame, kept);
        rdma::PutErfHeader(at, rdma::kErfInfiniband, when, packet);
        length = rdma::kErfHeaderBytes + packet;
    }
    Put16(at + 10, std::min<size_t>(length, kept)); // length of the record as it is captured
    return length;
}

size_t
IbCaptureEncoder::EncodeIb(const RdmaFrame& frame, uint32_t kept)
{
    rdma::IbFields f;
    SetTransport(f, frame);
    f.vl = frame.priority;
    f.sl = frame.serviceLevel & 15;
    f.dlid = frame.route.GetDestinationLid();
    f.slid = frame.route.GetSourceLid();
    f.fecn = frame.flags & RdmaFrame::CE;
    uint8_t* const lrh = m_buffer.data() + rdma::kErfHeaderBytes;
    const size_t capacity = m_buffer.size() - rdma::kErfHeaderBytes;
    const auto length = static_cast<size_t>(rdma::IbPacketBytes(f.opcode, frame.payload).value);
    if (frame.payload == 0 ||
        kept > rdma::kErfHeaderBytes + length - rdma::kIcrcBytes - rdma::kVcrcBytes)
    {
        f.payload = frame.payload;
        return rdma::EncodeIb(f, lrh, capacity);
    }
    // The CRCs are cut off: as in RdmaRoceCaptureEncoder.
    rdma::EncodeIb(f, lrh, capacity);
    Put16(lrh + 4, rdma::IbPacketWords(rdma::Bytes(length)));
    lrh[rdma::kLrhBytes + 1] |= rdma::PadBytes(frame.payload) << 4; // PadCnt in the BTH
    PutPayload(rdma::kErfHeaderBytes + rdma::kLrhBytes + rdma::kBthBytes +
                   rdma::ExtensionBytes(f.opcode),
               frame.payload,
               kept);
    return length;
}

/// LRH, RWH (InfiniBand Architecture 1, 5.3: 16 bits reserved, EtherType), payload, VCRC.
size_t
IbCaptureEncoder::EncodeRaw(const RdmaFrame& frame)
{
    constexpr size_t RWH_BYTES = 4;
    uint8_t* const at = m_buffer.data() + rdma::kErfHeaderBytes;
    const uint32_t payload = frame.extra->packet->GetSize();
    const size_t length = rdma::kLrhBytes + RWH_BYTES + (payload + 3) / 4 * 4 + rdma::kVcrcBytes;
    std::memset(at, 0, length);
    at[0] = static_cast<uint8_t>(frame.priority << 4);
    Put16(at + 2, rdma::kPermissiveLid);
    Put16(at + 4, std::min<size_t>(2047, rdma::IbPacketWords(rdma::Bytes(length))));
    Put16(at + 6, rdma::kPermissiveLid);
    Put16(at + rdma::kLrhBytes + 2, frame.extra->protocol);
    frame.extra->packet->CopyData(at + rdma::kLrhBytes + RWH_BYTES, payload);
    const uint16_t vcrc = rdma::IbVcrc(at, length - rdma::kVcrcBytes);
    at[length - 2] = static_cast<uint8_t>(vcrc);
    at[length - 1] = static_cast<uint8_t>(vcrc >> 8);
    return length;
}

} // namespace ns3
