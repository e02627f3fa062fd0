/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "event-collector.h"

#include "contrib/dltrain/ranks/ranks.h"

#include "ns3/callback.h"
#include "ns3/node-windows.h"

#include <algorithm>
#include <utility>

namespace dltrain
{

using ns3::MakeCallback;
using ns3::NodeWindows;
using ns3::RdmaSwitchBase;

namespace
{

constexpr int64_t MILLISECOND = 1000000000;

const char*
FrameName(const ns3::RdmaFrame* frame)
{
    if (frame->flags & ns3::RdmaFrame::TRIMMED && ns3::IsRequest(frame->opcode))
    {
        return "trimmed";
    }
    switch (frame->opcode)
    {
    case ns3::RdmaOpcode::NDP_ACK:
        return "ack";
    case ns3::RdmaOpcode::NDP_NACK:
        return "nak";
    case ns3::RdmaOpcode::NDP_PULL:
        return "pull";
    case ns3::RdmaOpcode::REQUEST_TO_SEND:
        return "request-to-send";
    case ns3::RdmaOpcode::SWITCH_REPORT:
        return "switch-report";
    case ns3::RdmaOpcode::RETURNED:
        return "returned";
    default:
        break;
    }
    return ns3::IsData(frame->opcode) ? "data"
           : frame->opcode == ns3::RdmaOpcode::ACKNOWLEDGE
               ? (frame->flags & ns3::RdmaFrame::NAK ? "nak" : "ack")
           : frame->opcode == ns3::RdmaOpcode::READ_REQUEST ? "read-request"
           : frame->opcode == ns3::RdmaOpcode::CNP          ? "cnp"
           : frame->opcode == ns3::RdmaOpcode::PAUSE        ? "pause"
                                                            : "packet";
}

} // namespace

/**
 * Counts the marks of one switch, by port: an index and not a search for each, and nothing that
 * another switch has to do with.
 */
class EventCollector::SwitchProbe
{
  public:
    /// Marks of an egress port in the current millisecond.
    struct Burst
    {
        uint32_t end{0}; //!< end in the fabric
        uint64_t marks{0};
        uint64_t queueBytes{0};
    };

    SwitchProbe(EventCollector& collector, RdmaSwitchBase& device)
        : m_timer(collector.m_burstTimer)
    {
        for (uint32_t p = 0; p < device.GetNPorts(); ++p)
        {
            m_bursts.push_back(
                {collector.m_portIndex.at(PeekPointer(device.GetPort(static_cast<uint16_t>(p))))});
        }
        device.TraceConnectWithoutContext("EcnMark", MakeCallback(&SwitchProbe::OnMark, this));
        device.TraceConnectWithoutContext("Drop",
                                          MakeCallback(&EventCollector::OnDrop, &collector));
    }

    /// \param to gets the bursts that are over
    void TakeBursts(std::vector<Burst>& to)
    {
        if (!m_any)
        {
            return;
        }
        m_any = false;
        for (Burst& burst : m_bursts)
        {
            if (burst.marks)
            {
                to.push_back(burst);
                burst.marks = burst.queueBytes = 0;
            }
        }
    }

  private:
    void OnMark(const ns3::RdmaPort* port, const ns3::RdmaFrame*, uint64_t queueBytes, int64_t)
    {
        if (!m_any)
        {
            m_any = true;
            m_timer.Arm();
        }
        Burst& burst = m_bursts[port->GetPortIndex()];
        ++burst.marks;
        burst.queueBytes = std::max(burst.queueBytes, queueBytes);
    }

    ns3::RdmaGridTimer& m_timer;
    bool m_any{false};
    std::vector<Burst> m_bursts;
};

EventCollector::EventCollector(const ns3::RdmaFabric& fabric,
                               const std::vector<std::string>& endpointNames,
                               const std::vector<std::string>& portNames,
                               const PortIndex& portIndex,
                               std::unique_ptr<reports::EventLog> log)
    : m_fabric(fabric),
      m_endpointNames(endpointNames),
      m_portNames(portNames),
      m_portIndex(portIndex),
      m_log(std::move(log)),
      m_burstTimer(MILLISECOND, [this](int64_t now) { FlushBursts(now); })
{
    if (Ranks::Get().Several())
    {
        m_log->KeepLines([this] { return OrderNow(); });
    }
    // One callback serves all that it is connected to: of 50,000 ports each one's own would be 60
    // MB.
    const auto onGoBack = MakeCallback(&EventCollector::OnGoBack, this);
    const auto onTimeout = MakeCallback(&EventCollector::OnTimeout, this);
    const auto onError = MakeCallback(&EventCollector::OnError, this);
    const auto onNicDrop = MakeCallback(&EventCollector::OnNicDrop, this);
    for (uint32_t e = 0; e < fabric.GetNEndpoints(); ++e)
    {
        if (!fabric.IsLocal(e))
        {
            continue;
        }
        ns3::RdmaNic& nic = *fabric.GetNic(e);
        nic.TraceConnectWithoutContext("GoBack", onGoBack);
        nic.TraceConnectWithoutContext("Timeout", onTimeout);
        nic.TraceConnectWithoutContext("Error", onError);
        nic.TraceConnectWithoutContext("ReceiveDrop", onNicDrop);
    }
    for (const auto& device : fabric.GetSwitches())
    {
        m_switchProbes.push_back(std::make_unique<SwitchProbe>(*this, *device));
    }
    const auto onPaused = MakeCallback(&EventCollector::OnPaused, this);
    const auto onCorrupt = MakeCallback(&EventCollector::OnCorrupt, this);
    const auto onLinkDown = MakeCallback(&EventCollector::OnLinkDown, this);
    const auto onCutSent = MakeCallback(&EventCollector::OnCutSent, this);
    const auto onSilentDrop = MakeCallback(&EventCollector::OnSilentDrop, this);
    for (const auto& port : fabric.GetPorts())
    {
        port->TraceConnectWithoutContext("Paused", onPaused);
        port->TraceConnectWithoutContext("PhyRxDrop", onCorrupt);
        port->TraceConnectWithoutContext("LinkDown", onLinkDown);
        port->TraceConnectWithoutContext("CutSent", onCutSent);
        port->TraceConnectWithoutContext("SilentDrop", onSilentDrop);
    }
}

EventCollector::~EventCollector() = default;

// What went wrong --------------------------------------------------------------------------------

std::string
EventCollector::NameOf(const OfQueuePair& event) const
{
    return m_endpointNames[event.from] + "->" + m_endpointNames[event.to] + " qp " +
           std::to_string(event.number);
}

void
EventCollector::NoteOf(reports::EventLog::Kind kind,
                       const ns3::RdmaQueuePair* qp,
                       int64_t now,
                       const char* before,
                       uint64_t psn,
                       const char* behind)
{
    NodeWindows::Note<&EventCollector::TellQueuePair>(this,
                                                      OfQueuePair{kind,
                                                                  qp->GetNic()->GetEndpoint(),
                                                                  qp->GetPeerEndpoint(),
                                                                  qp->GetNumber(),
                                                                  psn,
                                                                  before,
                                                                  behind,
                                                                  now});
}

void
EventCollector::TellQueuePair(const OfQueuePair& event)
{
    if (m_log->Count(event.kind))
    {
        m_log->Write(event.time,
                     event.kind,
                     NameOf(event),
                     event.before + std::to_string(event.psn) + event.behind);
    }
}

void
EventCollector::OnGoBack(ns3::RdmaQueuePair* qp, uint64_t psn, int64_t now)
{
    NoteOf(reports::EventLog::RETRANSMISSION, qp, now, "goes back to psn ", psn, "");
}

void
EventCollector::OnTimeout(ns3::RdmaQueuePair* qp, uint64_t psn, int64_t now)
{
    NoteOf(reports::EventLog::TIMEOUT, qp, now, "psn ", psn, " is not acknowledged");
}

void
EventCollector::OnError(ns3::RdmaQueuePair* qp, uint64_t psn, int64_t now)
{
    NoteOf(reports::EventLog::QP_ERROR, qp, now, "fails: psn ", psn, " was retried in vain");
}

EventCollector::Drop
EventCollector::DropOf(const ns3::RdmaPort* port, const ns3::RdmaFrame& frame, int64_t now)
{
    Drop drop{};
    drop.port = port;
    drop.frame = frame;
    drop.frame.extra = nullptr;
    drop.time = now;
    return drop;
}

void
EventCollector::OnDrop(const RdmaSwitchBase* device,
                       const ns3::RdmaPort* port,
                       const ns3::RdmaFrame* frame,
                       RdmaSwitchBase::DropReason reason,
                       int64_t now)
{
    Drop drop = DropOf(port, *frame, now);
    drop.device = device;
    drop.reason = reason;
    NodeWindows::NoteCall([this, drop] { TellDrop(drop); });
}

void
EventCollector::TellDrop(const Drop& drop)
{
    if (m_log->Count(reports::EventLog::DROP))
    {
        std::string details = RdmaSwitchBase::GetDropReasonName(drop.reason);
        details += std::string(": ") + FrameName(&drop.frame) + " " +
                   m_fabric.GetLinkLayer().DescribeDestination(m_fabric, drop.frame) + " psn " +
                   std::to_string(drop.frame.psn);
        m_log->Write(drop.time,
                     reports::EventLog::DROP,
                     drop.port ? m_portNames[m_portIndex.at(drop.port)] : drop.device->GetName(),
                     details);
    }
}

void
EventCollector::OnCorrupt(const ns3::RdmaPort* port, const ns3::RdmaFrame* frame, int64_t now)
{
    NodeWindows::NoteCall([this, drop = DropOf(port, *frame, now)] { TellCorrupt(drop); });
}

void
EventCollector::TellCorrupt(const Drop& drop)
{
    if (m_log->Count(reports::EventLog::DROP))
    {
        m_log->Write(drop.time,
                     reports::EventLog::DROP,
                     m_portNames[m_portIndex.at(drop.port) ^ 1],
                     std::string("corrupted: ") + FrameName(&drop.frame) + " psn " +
                         std::to_string(drop.frame.psn));
    }
}

void
EventCollector::OnLinkDown(const ns3::RdmaPort* port, const ns3::RdmaFrame* frame, int64_t now)
{
    NoteFault(*frame, m_portIndex.at(port) ^ 1, "lost_with_link: ", now);
}

void
EventCollector::OnCutSent(const ns3::RdmaPort* port, const ns3::RdmaFrame* frame, int64_t now)
{
    NoteFault(*frame, m_portIndex.at(port), "lost_with_link: ", now);
}

void
EventCollector::OnSilentDrop(const ns3::RdmaPort* port, const ns3::RdmaFrame* frame, int64_t now)
{
    NoteFault(*frame, m_portIndex.at(port) ^ 1, "silent_drop: ", now);
}

void
EventCollector::NoteFault(const ns3::RdmaFrame& frame, uint32_t end, const char* how, int64_t now)
{
    const std::string details =
        std::string(how) + FrameName(&frame) + " psn " + std::to_string(frame.psn);
    NodeWindows::NoteCall([this, end, details, now] {
        if (m_log->Count(reports::EventLog::DROP))
        {
            m_log->Write(now, reports::EventLog::DROP, m_portNames[end], details);
        }
    });
}

void
EventCollector::OnNicDrop(const ns3::RdmaPort* port, const ns3::RdmaFrame* frame, int64_t now)
{
    NodeWindows::NoteCall([this, drop = DropOf(port, *frame, now)] { TellNicDrop(drop); });
}

void
EventCollector::TellNicDrop(const Drop& drop)
{
    if (m_log->Count(reports::EventLog::DROP))
    {
        m_log->Write(drop.time,
                     reports::EventLog::DROP,
                     m_portNames[m_portIndex.at(drop.port->GetPeer())],
                     std::string("nic_receive_buffer: ") + FrameName(&drop.frame) + " " +
                         m_endpointNames[drop.frame.src] + "->" + m_endpointNames[drop.frame.dst] +
                         " psn " + std::to_string(drop.frame.psn));
    }
}

// Congestion -------------------------------------------------------------------------------------

void
EventCollector::FlushBursts(int64_t now)
{
    std::vector<SwitchProbe::Burst> bursts;
    for (const auto& probe : m_switchProbes)
    {
        probe->TakeBursts(bursts);
    }
    std::sort(bursts.begin(), bursts.end(), [](const auto& a, const auto& b) {
        return a.end < b.end;
    });
    const int64_t begin = std::max((now - 1) / MILLISECOND * MILLISECOND, m_measuredFrom);
    for (const SwitchProbe::Burst& burst : bursts)
    {
        m_order = {now, ns3::Simulator::NO_CONTEXT, burst.end};
        if (m_log->Count(reports::EventLog::ECN, burst.marks))
        {
            m_log->Write(begin,
                         reports::EventLog::ECN,
                         m_portNames[burst.end],
                         std::to_string(burst.marks) + " marks in 1 ms, queue up to " +
                             std::to_string(burst.queueBytes) + " B");
        }
    }
    m_order.reset();
}

reports::EventLog::Order
EventCollector::OrderNow() const
{
    if (m_order)
    {
        return *m_order;
    }
    const NodeWindows* windows = NodeWindows::Active();
    const uint32_t context = windows ? windows->GetNoteContext() : ns3::Simulator::GetContext();
    // Lines about the whole network come after lines about its ports.
    const uint32_t port = context == ns3::Simulator::NO_CONTEXT ? UINT32_MAX : 0;
    return {ns3::RdmaClock::Now(), context, port};
}

void
EventCollector::OnPaused(const ns3::RdmaPort* port, uint8_t paused, uint8_t changed, int64_t now)
{
    Pause pause{port, paused, changed, now, {}};
    for (uint8_t p = 0; p < ns3::RdmaPort::PRIORITIES; ++p)
    {
        pause.queueBytes[p] = port->GetQueueBytes(p);
    }
    NodeWindows::Note<&EventCollector::TellPause>(this, pause);
}

void
EventCollector::TellPause(const Pause& pause)
{
    const uint8_t begun = pause.paused & pause.changed;
    m_pauses += static_cast<uint64_t>(__builtin_popcount(begun));
    for (uint8_t p = 0; p < ns3::RdmaPort::PRIORITIES; ++p)
    {
        if (!(pause.changed >> p & 1))
        {
            continue;
        }
        const reports::EventLog::Kind kind =
            begun >> p & 1 ? reports::EventLog::PAUSE : reports::EventLog::RESUME;
        if (m_log->Count(kind))
        {
            const rdma::LinkWords& words = m_fabric.GetLinkLayer().GetWords();
            std::string details =
                std::string(words.held) + words.priority + " " + std::to_string(p);
            if (pause.queueBytes[p]) // a NIC's data waits in no queue
            {
                details += ", " + std::to_string(pause.queueBytes[p]) + " B wait";
            }
            m_log->Write(pause.time, kind, m_portNames[m_portIndex.at(pause.port)], details);
        }
    }
}

// Measuring --------------------------------------------------------------------------------------

void
EventCollector::StartMeasuring(int64_t now)
{
    FlushBursts(now); // marks of the warm-up
    m_measuredFrom = now;
    m_pausesBefore = m_pauses;
    if (Ranks::Get().IsFirst())
    {
        m_log->StartMeasuring(now);
    }
    else
    {
        m_log->StartCounting(); // the first rank says so
    }
}

void
EventCollector::Finish(int64_t now)
{
    FlushBursts(now);
    const Ranks& ranks = Ranks::Get();
    if (ranks.Several())
    {
        m_log->MergeRanks([&ranks](uint64_t n) { return ranks.Sum(n); },
                          [&ranks](const std::string& text) { return ranks.Gather(text); });
    }
    m_log->Finish(now);
}

} // namespace dltrain
