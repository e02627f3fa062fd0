/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "rdma-pcap-helper.h"

#include "rdma-capture-encoder.h"

#include "ns3/node-windows.h"
#include "ns3/simple-ref-count.h"
#include "ns3/simulator-impl.h"
#include "ns3/simulator.h"

#include <algorithm>
#include <iostream>
#include <utility>

namespace ns3
{

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
        RdmaCaptureEncoder& encoder = m_session->GetEncoder();
        const size_t length = encoder.Encode({from, frame, now}, m_file->GetSnapLength());
        if (!NodeWindows::InUnit())
        {
            Write(direction, now, encoder.GetBytes(), length);
            return;
        }
        // A file may be of ports of several nodes.
        std::vector<uint8_t> bytes(encoder.GetBytes(), encoder.GetBytes() + length);
        NodeWindows::NoteCall(
            [self = Ptr<Capture>(this), direction, now, bytes = std::move(bytes)] {
                self->Write(direction, now, bytes.data(), bytes.size());
            });
    }

    void Write(Direction direction, int64_t now, const uint8_t* bytes, size_t length)
    {
        if (m_file->IsOpen() &&
            !m_file->Write(m_interface, direction, now, bytes, static_cast<uint32_t>(length)))
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
    m_options.format = format;
}

void
RdmaPcapHelper::SetSnapLength(uint32_t bytes)
{
    const uint32_t header = m_session->GetEncoder().GetHeaderBytes();
    m_options.snapLength = std::min(bytes, RdmaCaptureFile::MAX_SNAP_LENGTH - header) + header;
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
RdmaPcapHelper::CheckFrames() const
{
    return m_session->GetEncoder().Check(m_fabric.GetFrameSizes());
}

std::string
RdmaPcapHelper::EnablePcap(const std::string& folder, Ptr<RdmaPort> port)
{
    std::string error = CheckFrames();
    if (!error.empty())
    {
        return error;
    }
    const bool shared = m_options.format == Format::PCAPNG;
    Ptr<RdmaCaptureFile> file = shared ? m_shared[folder] : nullptr;
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
    Simulator::GetImplementation(); // there is an engine from here on
    if (NodeWindows* windows = NodeWindows::Active())
    {
        windows->AllowOneThread(); // one encoder for all, which looks at queue pairs of any host
    }
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
