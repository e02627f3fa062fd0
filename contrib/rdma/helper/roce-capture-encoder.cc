/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "roce-capture-encoder.h"

#include "contrib/rdma/core/flow-hash.h"
#include "contrib/rdma/core/ip-packet.h"
#include "contrib/rdma/core/telemetry-wire.h"
#include "rdma-capture-file.h"
#include "rdma-connections.h"
#include "rdma-fabric.h"

#include "ns3/mac48-address.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace ns3
{

namespace
{

uint32_t
AddressOf(uint32_t endpoint)
{
    return 10U << 24 | ((endpoint + 1) & 0xffffff);
}

rdma::MacAddress
MacOf(uint32_t endpoint)
{
    const uint32_t ip = AddressOf(endpoint);
    return {0x02,
            0x00,
            static_cast<uint8_t>(ip >> 24),
            static_cast<uint8_t>(ip >> 16),
            static_cast<uint8_t>(ip >> 8),
            static_cast<uint8_t>(ip)};
}

rdma::MacAddress
BytesOf(Mac48Address address)
{
    rdma::MacAddress mac{};
    address.CopyTo(mac.data());
    return mac;
}

rdma::MacAddress
MacOf(const RdmaPort* port)
{
    return BytesOf(Mac48Address::ConvertFrom(port->GetAddress()));
}

/// What a path selector has made of a flow's port for this packet: RdmaRoute::WithEntropy.
uint16_t
WithEntropy(const RdmaFrame& frame, uint16_t port)
{
    const uint32_t own = rdma::FlowHash({frame.src, frame.dst, port});
    const uint32_t entropy = frame.route.GetFlowHash() ^ own;
    return entropy & ~uint32_t{RdmaRoute::ENTROPY_MASK} ? port
                                                        : static_cast<uint16_t>(port ^ entropy);
}

} // namespace

RdmaRoceCaptureEncoder::RdmaRoceCaptureEncoder(const RdmaFabric& fabric)
    : m_fabric(fabric)
{
}

uint32_t
RdmaRoceCaptureEncoder::GetLinkType() const
{
    return RdmaCaptureFile::LINK_TYPE_ETHERNET;
}

std::string
RdmaRoceCaptureEncoder::Check(const rdma::FrameSizes& sizes) const
{
    return sizes.AreStandard() ? "" : NoReader("RoCEv2's", "");
}

size_t
RdmaRoceCaptureEncoder::Encode(const Seen& seen, uint32_t kept)
{
    switch (seen.frame.opcode)
    {
    case RdmaOpcode::PAUSE:
        return EncodePause(seen.from, seen.frame);
    case RdmaOpcode::FLOW_CONTROL:
        return 0; // an ordered set of the PCS: no tap of frames sees it
    case RdmaOpcode::PACKET:
        return EncodePacket(seen.frame, MacOf(seen.from), MacOf(seen.from->GetPeer()));
    case RdmaOpcode::ETHERNET:
        return EncodePacket(seen.frame,
                            BytesOf(seen.frame.extra->source),
                            BytesOf(seen.frame.extra->destination));
    default:
        return EncodeRoce(seen.frame, kept);
    }
}

size_t
RdmaRoceCaptureEncoder::EncodeRoce(const RdmaFrame& frame, uint32_t kept)
{
    rdma::RoceFields f;
    f.destinationMac = MacOf(frame.dst);
    f.sourceMac = MacOf(frame.src);
    f.sourceIp = AddressOf(frame.src);
    f.destinationIp = AddressOf(frame.dst);
    f.dscp = frame.dscp & 0x3f; // above are not on the wire
    f.ecn = frame.flags & RdmaFrame::CE ? 3 : (frame.flags & RdmaFrame::ECT ? 2 : 0);
    f.sourcePort = SourcePort(frame);
    SetTransport(f, frame);
    f.trailerBytes = PutControl(frame);
    f.trailer = m_control.data();
    const size_t length = rdma::EncodedRoceBytes(f.opcode, frame.payload, f.trailerBytes);
    if (frame.payload == 0 || kept > length - rdma::kIcrcBytes)
    {
        f.payload = frame.payload;
        return rdma::EncodeRoce(f, m_buffer.data(), m_buffer.size());
    }
    // The ICRC is cut off, and so need not be computed: the headers, as of a packet without
    // payload, then what depends on the payload's length, then as much payload as is kept.
    const uint32_t behind = std::exchange(f.trailerBytes, 0);
    rdma::EncodeRoce(f, m_buffer.data(), m_buffer.size());
    const size_t headers = rdma::kEthernetHeaderBytes + rdma::kIpv4HeaderBytes +
                           rdma::kUdpHeaderBytes + rdma::kBthBytes + rdma::ExtensionBytes(f.opcode);
    uint8_t* const ip = m_buffer.data() + rdma::kEthernetHeaderBytes;
    const size_t ipLength = length - rdma::kEthernetHeaderBytes;
    Put16(ip + 2, ipLength);
    Put16(ip + 10, rdma::Ipv4HeaderChecksum(ip));
    uint8_t* const udp = ip + rdma::kIpv4HeaderBytes;
    Put16(udp + 4, ipLength - rdma::kIpv4HeaderBytes);
    udp[rdma::kUdpHeaderBytes + 1] |= rdma::PadBytes(frame.payload) << 4; // PadCnt in the BTH
    PutPayload(headers, frame.payload, kept);
    const size_t control = length - rdma::kIcrcBytes - behind;
    if (kept > control)
    {
        std::memcpy(m_buffer.data() + control, m_control.data(), behind);
    }
    return length;
}

const rdma::FrameSizes&
RdmaRoceCaptureEncoder::SizesOf(const RdmaFrame& frame) const
{
    // By the frame's own length: its queue pairs may be in other processes.
    for (uint8_t c = 1; c < m_fabric.GetNClasses(); ++c)
    {
        const rdma::FrameSizes& sizes = m_fabric.GetFrameSizes(c);
        const uint32_t wire =
            frame.opcode == RdmaOpcode::ACKNOWLEDGE
                ? sizes.ackWire
                : sizes.DataWire(static_cast<rdma::RoceOpcode>(frame.opcode), frame.payload);
        if (wire == frame.wireBytes)
        {
            return sizes;
        }
    }
    return m_fabric.GetFrameSizes();
}

uint32_t
RdmaRoceCaptureEncoder::PutControl(const RdmaFrame& frame)
{
    const rdma::FrameSizes& sizes = SizesOf(frame);
    const bool answers = frame.opcode == RdmaOpcode::ACKNOWLEDGE;
    const uint32_t bytes = answers                                           ? sizes.controlAck
                           : IsData(frame.opcode) || IsRequest(frame.opcode) ? sizes.controlData
                                                                             : 0;
    m_control.assign(bytes, 0);
    if (bytes == 0 || !frame.extra || !frame.extra->hasTelemetry)
    {
        return bytes;
    }
    const RdmaTelemetry& telemetry = frame.extra->telemetry;
    const auto put = [this, bytes](uint32_t at, uint64_t value, uint32_t width) {
        for (uint32_t i = 0; i < width && at + i < bytes; ++i)
        {
            m_control[at + i] = static_cast<uint8_t>(value >> 8 * (width - 1 - i));
        }
    };
    // Answers collect nothing and bring back what the data found.
    if ((telemetry.collects || telemetry.hops > 0) && bytes >= rdma::kHpccTelemetryBytes)
    {
        rdma::PutTelemetry(telemetry.hop.data(), telemetry.hops, m_control.data());
    }
    else if (telemetry.pintPeriod)
    {
        put(0, telemetry.pint, 1);
    }
    else if (answers)
    {
        put(0, telemetry.switches, 1);
        put(4, static_cast<uint64_t>(telemetry.held / 1000), 4);
    }
    else
    {
        put(0, static_cast<uint64_t>(telemetry.sent / 1000), 8);
    }
    return bytes;
}

size_t
RdmaRoceCaptureEncoder::EncodePause(const RdmaPort* from, const RdmaFrame& frame)
{
    rdma::PfcFields f;
    f.sourceMac = MacOf(from);
    f.classEnable = frame.classEnable;
    for (size_t p = 0; p < f.quanta.size(); ++p)
    {
        f.quanta[p] = frame.classEnable >> p & 1 ? static_cast<uint16_t>(frame.aux) : 0;
    }
    return rdma::EncodePfc(f, m_buffer.data(), m_buffer.size());
}

size_t
RdmaRoceCaptureEncoder::EncodePacket(const RdmaFrame& frame,
                                     const rdma::MacAddress& source,
                                     const rdma::MacAddress& to)
{
    const uint32_t payload = frame.extra->packet->GetSize();
    const size_t length = std::max<size_t>(60, rdma::kEthernetHeaderBytes + payload);
    uint8_t* at = m_buffer.data();
    std::memset(at, 0, length);
    std::memcpy(at, to.data(), to.size());
    std::memcpy(at + 6, source.data(), source.size());
    at[12] = static_cast<uint8_t>(frame.extra->protocol >> 8);
    at[13] = static_cast<uint8_t>(frame.extra->protocol);
    frame.extra->packet->CopyData(at + rdma::kEthernetHeaderBytes, payload);
    if (frame.flags & RdmaFrame::CE) // of PACKET nobody sets it
    {
        rdma::MarkIpCe(frame.extra->protocol, at + rdma::kEthernetHeaderBytes, payload);
    }
    return length;
}

/// The port that the flow's hash was made of, which both queue pairs know, and of connections that
/// another rank has opened who was told of it. Else 14 bits of the flow's hash: another number, but
/// one a queue pair and direction too.
uint16_t
RdmaRoceCaptureEncoder::SourcePort(const RdmaFrame& frame) const
{
    if (rdma::IsDatagram(static_cast<rdma::RoceOpcode>(frame.opcode)))
    {
        return rdma::RoceSourcePort(frame.dmaLength, frame.destQp);
    }
    if (const RdmaQueuePair* sender = m_fabric.FindSender(frame.src, frame.dst, frame.destQp))
    {
        return WithEntropy(frame, sender->GetSourcePort());
    }
    if (const RdmaQueuePair* receiver = m_fabric.FindQueuePair(frame.dst, frame.destQp))
    {
        return WithEntropy(frame, receiver->GetPeerSourcePort());
    }
    const RdmaConnections* connections = m_fabric.FindConnections();
    if (const auto learnt =
            connections ? connections->GetLearntSourcePort(frame.src, frame.dst, frame.destQp)
                        : std::nullopt)
    {
        return WithEntropy(frame, *learnt);
    }
    return static_cast<uint16_t>(0xC000 | frame.route.GetFlowHash() >> 18);
}

} // namespace ns3
