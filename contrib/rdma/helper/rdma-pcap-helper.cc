/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "rdma-pcap-helper.h"

#include "rdma-capture-encoder.h"

#include "ns3/log.h"
#include "ns3/node-windows.h"
#include "ns3/simple-ref-count.h"
#include "ns3/simulator-impl.h"
#include "ns3/simulator.h"

#include <algorithm>
#include <cstring>
#include <iostream>
#include <utility>

namespace ns3
{

NS_LOG_COMPONENT_DEFINE("RdmaPcapHelper");

namespace
{

/// Whether a packet answers a request of its receiver: READ responses (0x0d to 0x10), ACKs
/// and NAKs (0x11, 0x12), CNPs (InfiniBand Architecture 1, table 38; annex A17).
bool
IsResponse(RdmaOpcode opcode)
{
    const auto o = static_cast<uint8_t>(opcode);
    return (o >= 0x0d && o <= 0x12) || opcode == RdmaOpcode::CNP;
}

} // namespace

/// What the captures of one helper share.
class RdmaCaptureSession : public SimpleRefCount<RdmaCaptureSession>
{
  public:
    /// \param filter null: everything is captured
    RdmaCaptureSession(std::unique_ptr<RdmaCaptureEncoder> encoder,
                       std::unique_ptr<RdmaPcapHelper::FlowFilter> filter)
        : m_encoder(std::move(encoder)),
          m_filter(std::move(filter))
    {
    }

    bool Wants(const RdmaFrame& frame) const
    {
        if (!m_filter)
        {
            return true;
        }
        switch (frame.opcode)
        {
        case RdmaOpcode::PAUSE:
        case RdmaOpcode::FLOW_CONTROL:
            return m_filter->linkControl;
        case RdmaOpcode::PACKET:
            return false;
        default:
            return m_filter->flows.count(
                       IsResponse(frame.opcode)
                           ? RdmaPcapHelper::FlowFilter::Key(frame.dst, frame.src)
                           : RdmaPcapHelper::FlowFilter::Key(frame.src, frame.dst)) > 0;
        }
    }

    RdmaCaptureEncoder& GetEncoder() const
    {
        return *m_encoder;
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
    const std::unique_ptr<RdmaCaptureEncoder> m_encoder;
    const std::unique_ptr<RdmaPcapHelper::FlowFilter> m_filter;
    bool m_saidFull{false};
};

/// The captures of a helper, where several ranks have its ports.
struct RdmaPcapHelper::OfRanks
{
    /// A frame on its way to the rank that writes; its bytes follow.
    struct Record
    {
        uint32_t capture; //!< in the order in which they were enabled
        RdmaCaptureFile::Direction direction;
        uint32_t length; //!< of the whole frame
        uint32_t kept;   //!< bytes of it here
        int64_t now;     //!< ps
    };

    bool first;
    Tell tell;
    std::vector<std::function<void(const Record& record, const uint8_t* bytes)>> captures;
    std::vector<uint8_t> record; //!< as it is put together
};

namespace
{

/// The capture of one port.
class Capture : public SimpleRefCount<Capture>
{
  public:
    using Direction = RdmaCaptureFile::Direction;

    /// Tells the rank that writes.
    using Teller = std::function<void(Direction, int64_t now, const uint8_t*, size_t length)>;

    /// \param file null: another rank writes it \param tell null: it is written here
    Capture(Ptr<RdmaCaptureSession> session,
            Ptr<RdmaCaptureFile> file,
            uint32_t interface,
            uint32_t snapLength,
            Teller tell)
        : m_session(session),
          m_file(file),
          m_interface(interface),
          m_snapLength(snapLength),
          m_tell(std::move(tell))
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

    void Write(Direction direction, int64_t now, const uint8_t* bytes, size_t length)
    {
        if (m_file->IsOpen() &&
            !m_file->Write(m_interface, direction, now, bytes, static_cast<uint32_t>(length)))
        {
            m_session->SayFull(m_file->GetPath(), now);
        }
    }

  private:
    void OnFrame(const RdmaPort* from, const RdmaFrame& frame, Direction direction, int64_t now)
    {
        if ((m_file && !m_file->IsOpen()) || !m_session->Wants(frame))
        {
            return;
        }
        RdmaCaptureEncoder& encoder = m_session->GetEncoder();
        const size_t length = encoder.Encode({from, frame, now}, m_snapLength);
        if (length == 0)
        {
            return; // no frame
        }
        if (!NodeWindows::InUnit())
        {
            Pass(direction, now, encoder.GetBytes(), length);
            return;
        }
        // A file may be of ports of several nodes.
        std::vector<uint8_t> bytes(encoder.GetBytes(), encoder.GetBytes() + length);
        NodeWindows::NoteCall(
            [self = Ptr<Capture>(this), direction, now, bytes = std::move(bytes)] {
                self->Pass(direction, now, bytes.data(), bytes.size());
            });
    }

    void Pass(Direction direction, int64_t now, const uint8_t* bytes, size_t length)
    {
        if (m_tell)
        {
            m_tell(direction, now, bytes, length);
            return;
        }
        Write(direction, now, bytes, length);
    }

    Ptr<RdmaCaptureSession> m_session;
    Ptr<RdmaCaptureFile> m_file;
    uint32_t m_interface;
    uint32_t m_snapLength;
    Teller m_tell;
};

} // namespace

RdmaPcapHelper::RdmaPcapHelper(const RdmaFabric& fabric)
    : m_fabric(fabric)
{
    Begin(nullptr);
    m_options.linkType = m_session->GetEncoder().GetLinkType();
}

void
RdmaPcapHelper::Begin(std::unique_ptr<FlowFilter> filter)
{
    m_session = Create<RdmaCaptureSession>(m_fabric.GetLinkLayer().MakeCaptureEncoder(m_fabric),
                                           std::move(filter));
}

RdmaPcapHelper::~RdmaPcapHelper() = default;

void
RdmaPcapHelper::SetFormat(Format format)
{
    NS_LOG_FUNCTION(this);
    m_options.format = format;
}

void
RdmaPcapHelper::SetSnapLength(uint32_t bytes)
{
    NS_LOG_FUNCTION(this << bytes);
    const uint32_t header = m_session->GetEncoder().GetHeaderBytes();
    m_options.snapLength = std::min(bytes, RdmaCaptureFile::MAX_SNAP_LENGTH - header) + header;
}

void
RdmaPcapHelper::SetFileSize(uint64_t bytes, uint32_t files)
{
    NS_LOG_FUNCTION(this << bytes << files);
    m_options.maxBytes = bytes;
    m_options.files = bytes ? files : 0;
}

std::string
RdmaPcapHelper::SetFlows(const std::string& flows)
{
    NS_LOG_FUNCTION(this << flows);
    auto filter = flows.empty() ? nullptr : std::make_unique<FlowFilter>();
    const std::string error = filter ? FindFlows(flows, *filter) : "";
    if (error.empty())
    {
        m_filter = flows;
        Begin(std::move(filter)); // captures that are enabled already keep the filter they have
    }
    return error;
}

namespace
{

/// GetFileName without its extension. \param name of the port
std::string
StemOf(std::string name)
{
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
    return StemOf(port->GetName()) + ".pcap";
}

std::string
RdmaPcapHelper::CheckFrames() const
{
    NS_LOG_FUNCTION(this);
    return m_session->GetEncoder().Check(m_fabric.GetFrameSizes());
}

std::function<void(const uint8_t* record)>
RdmaPcapHelper::SetRanks(bool first, Tell tell)
{
    m_ranks = std::make_shared<OfRanks>();
    m_ranks->first = first;
    m_ranks->tell = std::move(tell);
    return [ranks = m_ranks](const uint8_t* bytes) {
        OfRanks::Record record;
        std::memcpy(&record, bytes, sizeof(record));
        ranks->captures.at(record.capture)(record, bytes + sizeof(record));
    };
}

std::string
RdmaPcapHelper::EnablePcap(const std::string& folder, Ptr<RdmaPort> port)
{
    NS_LOG_FUNCTION(this << folder << port);
    return Enable(folder,
                  {port->GetName(),
                   port->GetPeer() ? m_fabric.GetLinkName(PeekPointer(port)) : "",
                   m_filter,
                   port->GetRate()},
                  PeekPointer(port));
}

std::string
RdmaPcapHelper::Enable(const std::string& folder,
                       const RdmaCaptureFile::Interface& interface,
                       RdmaPort* port)
{
    std::string error = CheckFrames();
    if (!error.empty())
    {
        return error;
    }
    const bool writes = !m_ranks || m_ranks->first;
    const bool shared = m_options.format == Format::PCAPNG;
    Ptr<RdmaCaptureFile> file = shared ? m_shared[folder] : nullptr;
    if (writes && !file)
    {
        file = Create<RdmaCaptureFile>();
        const std::string stem = shared ? "capture" : StemOf(interface.name);
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
    error = writes ? file->AddInterface(interface, id) : "";
    if (!error.empty())
    {
        return error;
    }
    Capture::Teller tell;
    if (m_ranks)
    {
        // The capture goes with the ports, this with the rest of what ranks share.
        const auto number = static_cast<uint32_t>(m_ranks->captures.size());
        const uint32_t snapLength = m_options.snapLength;
        tell = [ranks = m_ranks.get(), number, snapLength](RdmaCaptureFile::Direction direction,
                                                           int64_t now,
                                                           const uint8_t* bytes,
                                                           size_t length) {
            const auto kept = static_cast<uint32_t>(std::min<size_t>(length, snapLength));
            const OfRanks::Record record{number,
                                         direction,
                                         static_cast<uint32_t>(length),
                                         kept,
                                         now};
            ranks->record.resize(sizeof(record) + kept);
            std::memcpy(ranks->record.data(), &record, sizeof(record));
            std::memcpy(ranks->record.data() + sizeof(record), bytes, kept);
            ranks->tell(ranks->record.data(), ranks->record.size());
        };
    }
    const Ptr<Capture> capture =
        Create<Capture>(m_session, file, id, m_options.snapLength, std::move(tell));
    if (m_ranks)
    {
        m_ranks->captures.emplace_back(
            [capture](const OfRanks::Record& record, const uint8_t* bytes) {
                capture->Write(record.direction, record.now, bytes, record.length);
            });
    }
    Simulator::GetImplementation(); // there is an engine from here on
    if (NodeWindows* windows = NodeWindows::Active())
    {
        windows->AllowOneThread(); // one encoder for all, which looks at queue pairs of any host
    }
    if (port)
    {
        port->TraceConnectWithoutContext("PhyTx", MakeBoundCallback(&Capture::Sent, capture));
        port->TraceConnectWithoutContext("PhyRx", MakeBoundCallback(&Capture::Received, capture));
    }
    return {};
}

std::string
RdmaPcapHelper::EnablePcap(const std::string& folder, const std::string& selector)
{
    NS_LOG_FUNCTION(this << folder << selector);
    std::vector<uint32_t> ends;
    std::string error = SelectEnds(m_fabric, selector, ends);
    for (size_t i = 0; error.empty() && i < ends.size(); ++i)
    {
        error = Enable(folder,
                       {m_fabric.GetPortName(ends[i]),
                        m_fabric.GetLinkName(ends[i]),
                        m_filter,
                        m_fabric.GetLink(ends[i]).rateBps},
                       m_fabric.GetPortOfEnd(ends[i]));
    }
    return error;
}

} // namespace ns3
