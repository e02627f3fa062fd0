/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "rdma-pcap-helper.h"

#include "contrib/rdma/core/flow-hash.h"
#include "contrib/rdma/core/roce-wire.h"

#include "ns3/log.h"
#include "ns3/mac48-address.h"
#include "ns3/simple-ref-count.h"
#include "ns3/simulator.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <set>

namespace ns3
{

NS_LOG_COMPONENT_DEFINE("RdmaPcapHelper");

namespace
{

/// A pcap file in the byte order of this machine. Whole records are handed to the system at once.
class PcapWriter
{
  public:
    ~PcapWriter()
    {
        Close();
    }

    /// \return why not, empty if it is open
    std::string Open(const std::string& path, uint32_t snapLength)
    {
        m_path = path;
        m_file = std::fopen(path.c_str(), "wb");
        if (!m_file)
        {
            return "cannot write " + path + ": " + std::strerror(errno);
        }
        std::setvbuf(m_file, nullptr, _IONBF, 0); // the buffer is ours: stdio cuts records in two
        m_snapLength = std::min<uint32_t>(snapLength, 262144); // the largest that readers accept
        m_buffer.reserve(RdmaPcapHelper::BUFFER_BYTES);
        // https://www.ietf.org/archive/id/draft-ietf-opsawg-pcap-05.html: magic of nanosecond
        // files, version 2.4, two reserved fields, snap length, LINKTYPE_ETHERNET.
        const uint32_t header[] = {0xa1b23c4d, 4U << 16 | 2, 0, 0, m_snapLength, 1};
        Append(header, sizeof(header));
        return Flush() ? "" : "cannot write " + path + ": " + std::strerror(errno);
    }

    void Write(int64_t ps, const uint8_t* bytes, uint32_t length)
    {
        if (!m_file)
        {
            return;
        }
        const uint32_t kept = std::min(length, m_snapLength);
        const uint32_t header[] = {static_cast<uint32_t>(ps / 1000000000000),
                                   static_cast<uint32_t>(ps % 1000000000000 / 1000),
                                   kept,
                                   length};
        if (m_buffer.size() + sizeof(header) + kept > RdmaPcapHelper::BUFFER_BYTES && !Flush())
        {
            Complain();
            std::fclose(m_file);
            m_file = nullptr;
            return;
        }
        Append(header, sizeof(header));
        Append(bytes, kept);
    }

    void Close()
    {
        if (!m_file)
        {
            return;
        }
        const bool flushed = Flush();
        if (std::fclose(m_file) != 0 || !flushed)
        {
            Complain();
        }
        m_file = nullptr;
    }

  private:
    void Append(const void* from, size_t bytes)
    {
        const auto* at = static_cast<const uint8_t*>(from);
        m_buffer.insert(m_buffer.end(), at, at + bytes);
    }

    bool Flush()
    {
        const bool good =
            std::fwrite(m_buffer.data(), 1, m_buffer.size(), m_file) == m_buffer.size();
        m_buffer.clear();
        return good;
    }

    void Complain() const
    {
        NS_LOG_UNCOND("rdma: " << m_path << " is incomplete: " << std::strerror(errno));
    }

    std::string m_path;
    std::FILE* m_file{nullptr};
    uint32_t m_snapLength{0};
    std::vector<uint8_t> m_buffer;
};

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

/// The capture of one port.
class Capture : public SimpleRefCount<Capture>
{
  public:
    explicit Capture(const RdmaFabric& fabric)
        : m_fabric(fabric)
    {
    }

    std::string Open(const std::string& path, uint32_t snapLength)
    {
        return m_writer.Open(path, snapLength);
    }

    void Close()
    {
        m_writer.Close();
    }

    void OnFrame(const RdmaPort* from, const RdmaFrame* frame, int64_t now)
    {
        size_t length;
        switch (frame->opcode)
        {
        case RdmaOpcode::PAUSE:
            length = EncodePause(from, *frame);
            break;
        case RdmaOpcode::PACKET:
            length = EncodePacket(from, *frame);
            break;
        default:
            length = EncodeRoce(*frame);
        }
        m_writer.Write(now, m_buffer.data(), static_cast<uint32_t>(length));
    }

    static void Sent(Ptr<Capture> self, const RdmaPort* port, const RdmaFrame* frame, int64_t now)
    {
        self->OnFrame(port, frame, now);
    }

    static void Received(Ptr<Capture> self,
                         const RdmaPort* port,
                         const RdmaFrame* frame,
                         int64_t now)
    {
        self->OnFrame(port->GetPeer(), frame, now);
    }

  private:
    size_t EncodeRoce(const RdmaFrame& frame)
    {
        rdma::RoceFields f;
        f.destinationMac = MacOf(frame.dst);
        f.sourceMac = MacOf(frame.src);
        f.sourceIp = AddressOf(frame.src);
        f.destinationIp = AddressOf(frame.dst);
        f.dscp = frame.priority << 3;
        f.ecn = frame.flags & RdmaFrame::CE ? 3 : (frame.flags & RdmaFrame::ECT ? 2 : 0);
        f.sourcePort = SourcePort(frame);
        f.opcode = static_cast<rdma::RoceOpcode>(frame.opcode);
        f.ackRequest = frame.flags & RdmaFrame::ACK_REQUEST;
        f.destinationQueuePair = frame.destQp;
        f.psn = frame.psn;
        f.dmaLength = frame.dmaLength;
        f.immediate = frame.aux;
        f.syndrome = frame.flags & RdmaFrame::NAK ? rdma::NakSyndrome(rdma::kNakPsnSequenceError)
                                                  : rdma::AckSyndrome();
        f.msn = frame.aux;
        f.payload = frame.payload;
        return rdma::EncodeRoce(f, m_buffer.data(), m_buffer.size());
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
    PcapWriter m_writer;
    std::vector<uint8_t> m_buffer =
        std::vector<uint8_t>(66000); //!< the largest MTU of a port, and headers
};

size_t
EditDistance(const std::string& a, const std::string& b)
{
    std::vector<size_t> row(b.size() + 1);
    for (size_t j = 0; j <= b.size(); ++j)
    {
        row[j] = j;
    }
    for (size_t i = 0; i < a.size(); ++i)
    {
        size_t diagonal = row[0];
        row[0] = i + 1;
        for (size_t j = 0; j < b.size(); ++j)
        {
            const size_t above = row[j + 1];
            row[j + 1] = std::min({above + 1, row[j] + 1, diagonal + (a[i] != b[j])});
            diagonal = above;
        }
    }
    return row.back();
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
    const std::string& node = NodeNameOf(fabric, port);
    if (selector == "all" || selector == node || selector == port->GetName())
    {
        return true;
    }
    if (!port->GetPeer())
    {
        return false;
    }
    const std::string& peer = NodeNameOf(fabric, port->GetPeer());
    return selector == node + "->" + peer || selector == node + "-" + peer;
}

} // namespace

RdmaPcapHelper::RdmaPcapHelper(const RdmaFabric& fabric)
    : m_fabric(fabric)
{
}

void
RdmaPcapHelper::SetSnapLength(uint32_t bytes)
{
    m_snapLength = bytes;
}

std::string
RdmaPcapHelper::Select(const RdmaFabric& fabric,
                       const std::string& selector,
                       std::vector<Ptr<RdmaPort>>& ports)
{
    ports.clear();
    std::set<Ptr<RdmaPort>> selected;
    for (size_t begin = 0; begin <= selector.size();)
    {
        const size_t end = std::min(selector.find(',', begin), selector.size());
        const std::string one = selector.substr(begin, end - begin);
        begin = end + 1;
        bool any = false;
        std::string nearest = "all";
        size_t least = EditDistance(one, nearest);
        const auto consider = [&](const std::string& name) {
            const size_t distance = EditDistance(one, name);
            if (distance < least)
            {
                least = distance;
                nearest = name;
            }
        };
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
        for (const auto& port : fabric.GetPorts())
        {
            consider(NodeNameOf(fabric, PeekPointer(port)));
            consider(port->GetName());
            consider(fabric.GetLinkName(PeekPointer(port)));
        }
        ports.clear();
        return "no port is called \"" + one + "\"; the nearest name is \"" + nearest +
               "\" (allowed: all, a node, node:port, a->b)";
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

std::string
RdmaPcapHelper::GetFileName(const RdmaPort* port)
{
    std::string name = port->GetName();
    const size_t colon = name.rfind(':');
    if (colon != std::string::npos)
    {
        name[colon] = '-';
    }
    std::replace(name.begin(), name.end(), '/', '_');
    return name + ".pcap";
}

std::string
RdmaPcapHelper::EnablePcap(const std::string& folder, Ptr<RdmaPort> port)
{
    Ptr<Capture> capture(new Capture(m_fabric), false);
    const std::string error =
        capture->Open(folder + "/" + GetFileName(PeekPointer(port)), m_snapLength);
    if (!error.empty())
    {
        return error;
    }
    port->TraceConnectWithoutContext("PhyTx", MakeBoundCallback(&Capture::Sent, capture));
    port->TraceConnectWithoutContext("PhyRx", MakeBoundCallback(&Capture::Received, capture));
    Simulator::ScheduleDestroy(&Capture::Close, capture);
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
