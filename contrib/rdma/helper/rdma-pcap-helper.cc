/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "rdma-pcap-helper.h"

#include "contrib/rdma/core/flow-hash.h"
#include "contrib/rdma/core/ib-wire.h"
#include "contrib/rdma/core/nearest-name.h"
#include "contrib/rdma/core/port-selector.h"
#include "contrib/rdma/core/roce-wire.h"
#include "contrib/rdma/core/shown-text.h"

#include "ns3/mac48-address.h"
#include "ns3/simple-ref-count.h"
#include "ns3/simulator.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <iostream>
#include <set>
#include <unordered_set>

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
MacOf(const RdmaPort* port)
{
    rdma::MacAddress mac{};
    Mac48Address::ConvertFrom(port->GetAddress()).CopyTo(mac.data());
    return mac;
}

/// Whether a packet answers a request of its receiver: READ responses (0x0d to 0x10), ACKs
/// and NAKs (0x11, 0x12), CNPs (InfiniBand Architecture 1, table 38; annex A17).
bool
IsResponse(RdmaOpcode opcode)
{
    const auto o = static_cast<uint8_t>(opcode);
    return (o >= 0x0d && o <= 0x12) || opcode == RdmaOpcode::CNP;
}

uint64_t
FlowKey(uint32_t from, uint32_t to)
{
    return static_cast<uint64_t>(from) << 32 | to;
}

const std::string&
NodeNameOf(const RdmaFabric& fabric, const RdmaPort* port)
{
    return fabric.GetNodeName(port->GetNode()->GetId() - fabric.GetNodes().Get(0)->GetId());
}

/// Whether one selector (no comma) means this port.
bool
Selects(const RdmaFabric& fabric, const std::string& selector, const RdmaPort* port)
{
    static const std::string nobody;
    const RdmaPort* peer = port->GetPeer();
    return rdma::SelectsPort(selector,
                             NodeNameOf(fabric, port),
                             port->GetIfIndex(),
                             peer ? NodeNameOf(fabric, peer) : nobody) != rdma::Selection::kNo;
}

/// Endpoints of a host, or the one of a port.
std::vector<uint32_t>
EndpointsOf(const RdmaFabric& fabric, const std::string& name)
{
    std::vector<uint32_t> endpoints;
    for (uint32_t e = 0; e < fabric.GetNEndpoints(); ++e)
    {
        const RdmaPort* port = PeekPointer(fabric.GetNic(e)->GetPort());
        if (rdma::SelectsByNode(name, NodeNameOf(fabric, port), port->GetIfIndex()) !=
            rdma::Selection::kNo)
        {
            endpoints.push_back(e);
        }
    }
    return endpoints;
}

/// The parts of a list separated by commas, empty ones too.
std::vector<std::string>
Split(const std::string& list)
{
    std::vector<std::string> parts;
    for (size_t begin = 0; begin <= list.size();)
    {
        const size_t end = std::min(list.find(',', begin), list.size());
        parts.push_back(list.substr(begin, end - begin));
        begin = end + 1;
    }
    return parts;
}

/// "; the nearest name is "x"", or "" if none is near.
std::string
NearestHint(const std::string& text, const std::vector<std::string>& names)
{
    std::string nearest = rdma::NearestName(text, names);
    const size_t arrow = text.find("->");
    if (arrow != std::string::npos && nearest.find("->") == std::string::npos)
    {
        // Of two nodes without a link: a link of the first.
        const auto link = std::find_if(names.begin(), names.end(), [&](const std::string& name) {
            return name.compare(0, arrow + 2, text, 0, arrow + 2) == 0;
        });
        nearest = link == names.end() ? nearest : *link;
    }
    return nearest.empty() ? "" : "; the nearest name is \"" + nearest + "\"";
}

;

} // namespace

/// What the captures of one helper share. Frames become bytes here, one at a time.
class RdmaCaptureSession : public SimpleRefCount<RdmaCaptureSession>
{
  public:
    explicit RdmaCaptureSession(const RdmaFabric& fabric)
        : m_fabric(fabric),
          m_infiniBand(fabric.GetSubnet())
    {
    }

    /// Flows that are captured, and whether what links say to each other is: PFC frames,
    /// flow-control packets; no call: everything.
    void SetFilter(std::unordered_set<uint64_t> flows, bool linkControl)
    {
        m_filtered = true;
        m_flows = std::move(flows);
        m_linkControl = linkControl;
    }

    bool Wants(const RdmaFrame& frame) const
    {
        if (!m_filtered)
        {
            return true;
        }
        switch (frame.opcode)
        {
        case RdmaOpcode::PAUSE:
        case RdmaOpcode::FLOW_CONTROL:
            return m_linkControl;
        case RdmaOpcode::PACKET:
            return false;
        default:
            return m_flows.count(IsResponse(frame.opcode) ? FlowKey(frame.dst, frame.src)
                                                          : FlowKey(frame.src, frame.dst)) > 0;
        }
    }

    /// \return length of the record, of which the first `kept` bytes at least are in GetBytes()
    size_t Encode(const RdmaPort* from, const RdmaFrame& frame, uint32_t kept, int64_t now)
    {
        if (m_infiniBand)
        {
            return EncodeErf(frame, kept, now);
        }
        switch (frame.opcode)
        {
        case RdmaOpcode::PAUSE:
            return EncodePause(from, frame);
        case RdmaOpcode::PACKET:
            return EncodePacket(from, frame);
        default:
            return EncodeRoce(frame, kept);
        }
    }

    const uint8_t* GetBytes() const
    {
        return m_buffer.data();
    }

    /// Once, however many files there are.
    void SayFull(const std::string& path, int64_t now)
    {
        if (!m_saidFull)
        {
            m_saidFull = true;
            std::cerr << "rdma: " << path << " is full after "
                      << static_cast<double>(now / 1000) / 1000
                      << " us: its capture stops there, and that of others when they are full"
                      << std::endl;
        }
    }

  private:
    size_t EncodeRoce(const RdmaFrame& frame, uint32_t kept)
    {
        rdma::RoceFields f;
        f.destinationMac = MacOf(frame.dst);
        f.sourceMac = MacOf(frame.src);
        f.sourceIp = AddressOf(frame.src);
        f.destinationIp = AddressOf(frame.dst);
        f.dscp = frame.dscp;
        f.ecn = frame.flags & RdmaFrame::CE ? 3 : (frame.flags & RdmaFrame::ECT ? 2 : 0);
        f.sourcePort = SourcePort(frame);
        SetTransport(f, frame);
        const size_t length = rdma::EncodedRoceBytes(f.opcode, frame.payload);
        if (frame.payload == 0 || kept > length - rdma::kIcrcBytes)
        {
            f.payload = frame.payload;
            return rdma::EncodeRoce(f, m_buffer.data(), m_buffer.size());
        }
        // The ICRC is cut off, and so need not be computed: the headers, as of a packet without
        // payload, then what depends on the payload's length, then as much payload as is kept.
        rdma::EncodeRoce(f, m_buffer.data(), m_buffer.size());
        const size_t headers = rdma::kEthernetHeaderBytes + rdma::kIpv4HeaderBytes +
                               rdma::kUdpHeaderBytes + rdma::kBthBytes +
                               rdma::ExtensionBytes(f.opcode);
        uint8_t* const ip = m_buffer.data() + rdma::kEthernetHeaderBytes;
        const size_t ipLength = length - rdma::kEthernetHeaderBytes;
        Put16(ip + 2, ipLength);
        Put16(ip + 10, rdma::Ipv4HeaderChecksum(ip));
        uint8_t* const udp = ip + rdma::kIpv4HeaderBytes;
        Put16(udp + 4, ipLength - rdma::kIpv4HeaderBytes);
        udp[rdma::kUdpHeaderBytes + 1] |= rdma::PadBytes(frame.payload) << 4; // PadCnt in the BTH
        PutPayload(headers, frame.payload, kept);
        return length;
    }

    /// All but the payload.
    static void SetTransport(rdma::TransportFields& f, const RdmaFrame& frame)
    {
        f.opcode = static_cast<rdma::RoceOpcode>(frame.opcode);
        f.ackRequest = frame.flags & RdmaFrame::ACK_REQUEST;
        f.destinationQueuePair = frame.destQp;
        f.psn = frame.psn;
        f.dmaLength = frame.dmaLength;
        f.sourceQueuePair = frame.dmaLength;
        f.immediate = frame.aux;
        f.syndrome = static_cast<uint8_t>(frame.dmaLength);
        f.msn = frame.aux;
    }

    /// As much payload and padding from `at` on as is kept of a frame.
    void PutPayload(size_t at, uint32_t payload, uint32_t kept)
    {
        for (size_t i = 0; at + i < kept; ++i)
        {
            m_buffer[at + i] = i < payload ? static_cast<uint8_t>(i) : 0;
        }
    }

    size_t EncodeErf(const RdmaFrame& frame, uint32_t kept, int64_t now)
    {
        // To the nanosecond, as the capture's own time stamps: readers show either.
        const rdma::TimePoint when(now - now % 1000);
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

    size_t EncodeIb(const RdmaFrame& frame, uint32_t kept)
    {
        rdma::IbFields f;
        SetTransport(f, frame);
        f.vl = frame.priority;
        f.sl = frame.serviceLevel & 15;
        f.dlid = static_cast<uint16_t>(frame.flowHash);
        f.slid = static_cast<uint16_t>(frame.flowHash >> 16);
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
        // The CRCs are cut off: as in EncodeRoce.
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
    size_t EncodeRaw(const RdmaFrame& frame)
    {
        constexpr size_t RWH_BYTES = 4;
        uint8_t* const at = m_buffer.data() + rdma::kErfHeaderBytes;
        const uint32_t payload = frame.extra->packet->GetSize();
        const size_t length =
            rdma::kLrhBytes + RWH_BYTES + (payload + 3) / 4 * 4 + rdma::kVcrcBytes;
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

    static void Put16(uint8_t* at, size_t value)
    {
        at[0] = static_cast<uint8_t>(value >> 8);
        at[1] = static_cast<uint8_t>(value);
    }

    size_t EncodePause(const RdmaPort* from, const RdmaFrame& frame)
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

    size_t EncodePacket(const RdmaPort* from, const RdmaFrame& frame)
    {
        const uint32_t payload = frame.extra->packet->GetSize();
        const size_t length = std::max<size_t>(60, rdma::kEthernetHeaderBytes + payload);
        uint8_t* at = m_buffer.data();
        std::memset(at, 0, length);
        const rdma::MacAddress to = MacOf(from->GetPeer());
        const rdma::MacAddress source = MacOf(from);
        std::memcpy(at, to.data(), to.size());
        std::memcpy(at + 6, source.data(), source.size());
        at[12] = static_cast<uint8_t>(frame.extra->protocol >> 8);
        at[13] = static_cast<uint8_t>(frame.extra->protocol);
        frame.extra->packet->CopyData(at + rdma::kEthernetHeaderBytes, payload);
        return length;
    }

    /// The port that the flow's hash was made of: from the sending queue pair's number, which the
    /// receiving one knows. Where the receiver is not simulated here, 14 bits of the flow's hash:
    /// another number, but one a queue pair and direction too.
    uint16_t SourcePort(const RdmaFrame& frame) const
    {
        if (rdma::IsDatagram(static_cast<rdma::RoceOpcode>(frame.opcode)))
        {
            return rdma::RoceSourcePort(frame.dmaLength, frame.destQp);
        }
        if (frame.dst < m_fabric.GetNEndpoints())
        {
            const Ptr<RdmaNic> nic = m_fabric.GetNic(frame.dst);
            const uint32_t index = frame.destQp - 2;
            if (nic && index < nic->GetNQueuePairs())
            {
                return rdma::RoceSourcePort(nic->GetQueuePair(index)->GetPeerNumber(),
                                            frame.destQp);
            }
        }
        return static_cast<uint16_t>(0xC000 | frame.flowHash >> 18);
    }

    const RdmaFabric& m_fabric;
    const bool m_infiniBand;
    bool m_filtered{false};
    bool m_linkControl{false};
    bool m_saidFull{false};
    std::unordered_set<uint64_t> m_flows;
    std::vector<uint8_t> m_buffer =
        std::vector<uint8_t>(66000); //!< the largest MTU of a port, and headers
};

namespace
{

/// The capture of one port.
class Capture : public SimpleRefCount<Capture>
{
  public:
    using Direction = RdmaCaptureFile::Direction;

    Capture(Ptr<RdmaCaptureSession> session, Ptr<RdmaCaptureFile> file, uint32_t interface)
        : m_session(session),
          m_file(file),
          m_interface(interface)
    {
    }

    static void Sent(Ptr<Capture> self, const RdmaPort* port, const RdmaFrame* frame, int64_t now)
    {
        self->OnFrame(port, *frame, Direction::OUTBOUND, now);
    }

    static void Received(Ptr<Capture> self,
                         const RdmaPort* port,
                         const RdmaFrame* frame,
                         int64_t now)
    {
        self->OnFrame(port->GetPeer(), *frame, Direction::INBOUND, now);
    }

  private:
    void OnFrame(const RdmaPort* from, const RdmaFrame& frame, Direction direction, int64_t now)
    {
        if (!m_file->IsOpen() || !m_session->Wants(frame))
        {
            return;
        }
        const size_t length = m_session->Encode(from, frame, m_file->GetSnapLength(), now);
        if (!m_file->Write(m_interface,
                           direction,
                           now,
                           m_session->GetBytes(),
                           static_cast<uint32_t>(length)))
        {
            m_session->SayFull(m_file->GetPath(), now);
        }
    }

    Ptr<RdmaCaptureSession> m_session;
    Ptr<RdmaCaptureFile> m_file;
    uint32_t m_interface;
};

} // namespace

RdmaPcapHelper::RdmaPcapHelper(const RdmaFabric& fabric)
    : m_fabric(fabric),
      m_infiniBand(fabric.GetSubnet()),
      m_session(Create<RdmaCaptureSession>(fabric))
{
    m_options.linkType =
        m_infiniBand ? RdmaCaptureFile::LINK_TYPE_ERF : RdmaCaptureFile::LINK_TYPE_ETHERNET;
}

RdmaPcapHelper::~RdmaPcapHelper() = default;

void
RdmaPcapHelper::SetFormat(Format format)
{
    m_options.format = format;
}

void
RdmaPcapHelper::SetSnapLength(uint32_t bytes)
{
    const uint32_t erf = m_infiniBand ? rdma::kErfHeaderBytes : 0;
    m_options.snapLength = std::min(bytes, RdmaCaptureFile::MAX_SNAP_LENGTH - erf) + erf;
}

void
RdmaPcapHelper::SetFileSize(uint64_t bytes, uint32_t files)
{
    m_options.maxBytes = bytes;
    m_options.files = bytes ? files : 0;
}

std::string
RdmaPcapHelper::SetFlows(const std::string& flows)
{
    std::unordered_set<uint64_t> keys;
    bool linkControl = false;
    const std::string control = m_infiniBand ? "credits" : "pfc";
    for (const std::string& one : flows.empty() ? std::vector<std::string>{} : Split(flows))
    {
        if (one == control)
        {
            linkControl = true;
            continue;
        }
        const size_t arrow = one.find("->");
        if (arrow == std::string::npos)
        {
            return "\"" + rdma::Shown(one, 60) +
                   "\" is no flow (allowed: a->b, of hosts or their ports, host:port; " + control +
                   ")";
        }
        const std::string names[] = {one.substr(0, arrow), one.substr(arrow + 2)};
        std::vector<uint32_t> ends[2];
        for (int side = 0; side < 2; ++side)
        {
            ends[side] = EndpointsOf(m_fabric, names[side]);
            if (!ends[side].empty())
            {
                continue;
            }
            std::vector<std::string> known;
            for (uint32_t e = 0; e < m_fabric.GetNEndpoints(); ++e)
            {
                const RdmaPort* port = PeekPointer(m_fabric.GetNic(e)->GetPort());
                known.push_back(NodeNameOf(m_fabric, port));
                known.push_back(port->GetName());
            }
            return "no host or port of a host is called \"" + rdma::Shown(names[side], 60) + "\"" +
                   NearestHint(names[side], known);
        }
        if (ends[0] == ends[1])
        {
            return "\"" + rdma::Shown(one, 60) + "\" is from a host to itself";
        }
        for (const uint32_t from : ends[0])
        {
            for (const uint32_t to : ends[1])
            {
                keys.insert(FlowKey(from, to));
            }
        }
    }
    // Captures that are enabled already keep the filter they have.
    m_session = Create<RdmaCaptureSession>(m_fabric);
    m_filter = flows;
    if (!flows.empty())
    {
        m_session->SetFilter(std::move(keys), linkControl);
    }
    return {};
}

std::string
RdmaPcapHelper::Select(const RdmaFabric& fabric,
                       const std::string& selector,
                       std::vector<Ptr<RdmaPort>>& ports)
{
    ports.clear();
    std::set<Ptr<RdmaPort>> selected;
    for (const std::string& one : Split(selector))
    {
        bool any = false;
        for (const auto& port : fabric.GetPorts())
        {
            if (Selects(fabric, one, PeekPointer(port)))
            {
                any = true;
                selected.insert(port);
            }
        }
        if (any)
        {
            continue;
        }
        std::vector<std::string> known{"all"};
        for (const auto& port : fabric.GetPorts())
        {
            known.push_back(NodeNameOf(fabric, PeekPointer(port)));
            known.push_back(port->GetName());
            known.push_back(fabric.GetLinkName(PeekPointer(port)));
        }
        ports.clear();
        return "no port is called \"" + one + "\"" + NearestHint(one, known) +
               " (allowed: all, a node, node:port, a->b)";
    }
    for (const auto& port : fabric.GetPorts())
    {
        if (selected.count(port))
        {
            ports.push_back(port);
        }
    }
    return {};
}

namespace
{

bool
AreInfiniBand(const rdma::FrameSizes& sizes)
{
    const rdma::FrameSizes ib = rdma::IbFrameSizes();
    return sizes.lineOverhead == ib.lineOverhead && sizes.dataOverhead == ib.dataOverhead &&
           sizes.HasExtensions() && sizes.ackWire == ib.ackWire && sizes.cnpWire == ib.cnpWire;
}

/// GetFileName without its extension.
std::string
StemOf(const RdmaPort* port)
{
    std::string name = port->GetName();
    const size_t colon = name.rfind(':');
    if (colon != std::string::npos)
    {
        name[colon] = '-';
    }
    std::replace(name.begin(), name.end(), '/', '_');
    return name;
}

} // namespace

std::string
RdmaPcapHelper::GetFileName(const RdmaPort* port)
{
    return StemOf(port) + ".pcap";
}

std::string
RdmaPcapHelper::EnablePcap(const std::string& folder, Ptr<RdmaPort> port)
{
    if (m_infiniBand && !AreInfiniBand(m_fabric.GetFrameSizes()))
    {
        return "the frames are not InfiniBand's (RdmaNic::HeaderBytes, ExtensionHeaders, "
               "AckFrameBytes, CnpFrameBytes, RdmaPort::LineOverhead), so no reader of captures "
               "would understand them";
    }
    if (!m_infiniBand && !m_fabric.GetFrameSizes().AreStandard())
    {
        return "the frames are not RoCEv2's (RdmaNic::HeaderBytes, ExtensionHeaders, "
               "AckFrameBytes, CnpFrameBytes, RdmaPort::LineOverhead, or telemetry of the "
               "congestion "
               "control), so no reader of captures would understand them";
    }
    const bool shared = m_options.format == Format::PCAPNG;
    Ptr<RdmaCaptureFile> file = shared ? m_shared[folder] : nullptr;
    std::string error;
    if (!file)
    {
        file = Create<RdmaCaptureFile>();
        const std::string stem = shared ? "capture" : StemOf(PeekPointer(port));
        error = file->Open(folder + "/" + stem, m_options);
        if (!error.empty())
        {
            return error;
        }
        Simulator::ScheduleDestroy(&RdmaCaptureFile::Close, file);
        if (shared)
        {
            m_shared[folder] = file;
        }
    }
    uint32_t id = 0;
    error = file->AddInterface({port->GetName(),
                                port->GetPeer() ? m_fabric.GetLinkName(PeekPointer(port)) : "",
                                m_filter,
                                port->GetRate()},
                               id);
    if (!error.empty())
    {
        return error;
    }
    const Ptr<Capture> capture = Create<Capture>(m_session, file, id);
    port->TraceConnectWithoutContext("PhyTx", MakeBoundCallback(&Capture::Sent, capture));
    port->TraceConnectWithoutContext("PhyRx", MakeBoundCallback(&Capture::Received, capture));
    return {};
}

std::string
RdmaPcapHelper::EnablePcap(const std::string& folder, const std::string& selector)
{
    std::vector<Ptr<RdmaPort>> ports;
    std::string error = Select(m_fabric, selector, ports);
    for (size_t i = 0; error.empty() && i < ports.size(); ++i)
    {
        error = EnablePcap(folder, ports[i]);
    }
    return error;
}

} // namespace ns3
