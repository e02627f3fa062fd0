/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "event-collector.h"

#include "ranks.h"

#include "ns3/callback.h"

#include <algorithm>
#include <utility>

namespace dltrain
{

using ns3::MakeCallback;
using ns3::RdmaSwitchBase;

namespace
{

constexpr int64_t MILLISECOND = 1000000000;

const char*
FrameName(const ns3::RdmaFrame* frame)
{
    return ns3::IsData(frame->opcode) ? "data"
           : frame->opcode == ns3::RdmaOpcode::ACKNOWLEDGE
               ? (frame->flags & ns3::RdmaFrame::NAK ? "nak" : "ack")
           : frame->opcode == ns3::RdmaOpcode::READ_REQUEST ? "read-request"
           : frame->opcode == ns3::RdmaOpcode::CNP          ? "cnp"
           : frame->opcode == ns3::RdmaOpcode::PAUSE        ? "pause"
                                                            : "packet";
}

} // namespace

/// Knows the numbers of one switch's ports, so that a mark costs an index and not a search.
class EventCollector::SwitchProbe
{
  public:
    SwitchProbe(EventCollector& collector, RdmaSwitchBase& device)
        : m_collector(collector)
    {
        for (uint32_t p = 0; p < device.GetNPorts(); ++p)
        {
            m_ports.push_back(
                collector.m_portIndex.at(PeekPointer(device.GetPort(static_cast<uint16_t>(p)))));
        }
        device.TraceConnectWithoutContext("EcnMark", MakeCallback(&SwitchProbe::OnMark, this));
        device.TraceConnectWithoutContext("Drop",
                                          MakeCallback(&EventCollector::OnDrop, &collector));
    }

  private:
    void OnMark(const ns3::RdmaPort* port, const ns3::RdmaFrame*, uint64_t queueBytes, int64_t now)
    {
        m_collector.OnMark(m_ports[port->GetPortIndex()], queueBytes, now);
    }

    EventCollector& m_collector;
    std::vector<uint32_t> m_ports;
};

EventCollector::EventCollector(const ns3::RdmaFabric& fabric,
                               const std::vector<std::string>& endpointNames,
                               const std::vector<std::string>& portNames,
                               const PortIndex& portIndex,
                               std::unique_ptr<results::EventLog> log)
    : m_fabric(fabric),
      m_endpointNames(endpointNames),
      m_portNames(portNames),
      m_portIndex(portIndex),
      m_log(std::move(log)),
      m_bursts(fabric.GetNEnds())
{
    if (Ranks::Get().Several())
    {
        m_log->KeepLines();
    }
    for (uint32_t e = 0; e < fabric.GetNEndpoints(); ++e)
    {
        if (!fabric.IsLocal(e))
        {
            continue;
        }
        ns3::RdmaNic& nic = *fabric.GetNic(e);
        nic.TraceConnectWithoutContext("GoBack", MakeCallback(&EventCollector::OnGoBack, this));
        nic.TraceConnectWithoutContext("Timeout", MakeCallback(&EventCollector::OnTimeout, this));
        nic.TraceConnectWithoutContext("Error", MakeCallback(&EventCollector::OnError, this));
        nic.TraceConnectWithoutContext("ReceiveDrop",
                                       MakeCallback(&EventCollector::OnNicDrop, this));
    }
    for (const auto& device : fabric.GetSwitches())
    {
        m_switchProbes.push_back(std::make_unique<SwitchProbe>(*this, *device));
    }
    for (const auto& port : fabric.GetPorts())
    {
        port->TraceConnectWithoutContext("Paused", MakeCallback(&EventCollector::OnPaused, this));
        port->TraceConnectWithoutContext("PhyRxDrop",
                                         MakeCallback(&EventCollector::OnCorrupt, this));
    }
}

EventCollector::~EventCollector() = default;

// What went wrong --------------------------------------------------------------------------------

std::string
EventCollector::QueuePairName(const ns3::RdmaQueuePair* qp) const
{
    return m_endpointNames[qp->GetNic()->GetEndpoint()] + "->" +
           m_endpointNames[qp->GetPeerEndpoint()] + " qp " + std::to_string(qp->GetNumber());
}

void
EventCollector::WriteOf(results::EventLog::Kind kind,
                        const ns3::RdmaQueuePair* qp,
                        int64_t now,
                        const char* before,
                        uint64_t psn,
                        const char* behind)
{
    if (m_log->Count(kind))
    {
        m_log->Write(now, kind, QueuePairName(qp), before + std::to_string(psn) + behind);
    }
}

void
EventCollector::OnGoBack(ns3::RdmaQueuePair* qp, uint64_t psn, int64_t now)
{
    WriteOf(results::EventLog::RETRANSMISSION, qp, now, "goes back to psn ", psn, "");
}

void
EventCollector::OnTimeout(ns3::RdmaQueuePair* qp, uint64_t psn, int64_t now)
{
    WriteOf(results::EventLog::TIMEOUT, qp, now, "psn ", psn, " is not acknowledged");
}

void
EventCollector::OnError(ns3::RdmaQueuePair* qp, uint64_t psn, int64_t now)
{
    WriteOf(results::EventLog::QP_ERROR, qp, now, "fails: psn ", psn, " was retried in vain");
}

void
EventCollector::OnDrop(const RdmaSwitchBase* device,
                       const ns3::RdmaPort* port,
                       const ns3::RdmaFrame* frame,
                       RdmaSwitchBase::DropReason reason,
                       int64_t now)
{
    if (m_log->Count(results::EventLog::DROP))
    {
        std::string details = RdmaSwitchBase::GetDropReasonName(reason);
        details += std::string(": ") + FrameName(frame) + " " +
                   m_fabric.GetLinkLayer().DescribeDestination(m_fabric, *frame) + " psn " +
                   std::to_string(frame->psn);
        m_log->Write(now,
                     results::EventLog::DROP,
                     port ? m_portNames[m_portIndex.at(port)] : device->GetName(),
                     details);
    }
}

void
EventCollector::OnCorrupt(const ns3::RdmaPort* port, const ns3::RdmaFrame* frame, int64_t now)
{
    if (m_log->Count(results::EventLog::DROP))
    {
        m_log->Write(now,
                     results::EventLog::DROP,
                     m_portNames[m_portIndex.at(port) ^ 1],
                     std::string("corrupted: ") + FrameName(frame) + " psn " +
                         std::to_string(frame->psn));
    }
}

void
EventCollector::OnNicDrop(const ns3::RdmaPort* port, const ns3::RdmaFrame* frame, int64_t now)
{
    if (m_log->Count(results::EventLog::DROP))
    {
        m_log->Write(now,
                     results::EventLog::DROP,
                     m_portNames[m_portIndex.at(port->GetPeer())],
                     std::string("nic_receive_buffer: ") + FrameName(frame) + " " +
                         m_endpointNames[frame->src] + "->" + m_endpointNames[frame->dst] +
                         " psn " + std::to_string(frame->psn));
    }
}

// Congestion -------------------------------------------------------------------------------------

void
EventCollector::OnMark(uint32_t port, uint64_t queueBytes, int64_t now)
{
    if (now >= m_burstEnd)
    {
        FlushBursts();
        m_burstEnd = (now / MILLISECOND + 1) * MILLISECOND;
    }
    Burst& burst = m_bursts[port];
    if (burst.marks++ == 0)
    {
        m_bursting.push_back(port);
    }
    burst.queueBytes = std::max(burst.queueBytes, queueBytes);
}

void
EventCollector::FlushBursts()
{
    for (const uint32_t port : m_bursting)
    {
        Burst& burst = m_bursts[port];
        if (m_log->Count(results::EventLog::ECN, burst.marks))
        {
            m_log->Write(std::max(m_burstEnd - MILLISECOND, m_measuredFrom),
                         results::EventLog::ECN,
                         m_portNames[port],
                         std::to_string(burst.marks) + " marks in 1 ms, queue up to " +
                             std::to_string(burst.queueBytes) + " B");
        }
        burst = {};
    }
    m_bursting.clear();
}

void
EventCollector::OnPaused(const ns3::RdmaPort* port, uint8_t paused, uint8_t changed, int64_t now)
{
    const uint8_t begun = paused & changed;
    m_pauses += static_cast<uint64_t>(__builtin_popcount(begun));
    for (uint8_t p = 0; p < ns3::RdmaPort::PRIORITIES; ++p)
    {
        if (!(changed >> p & 1))
        {
            continue;
        }
        const results::EventLog::Kind kind =
            begun >> p & 1 ? results::EventLog::PAUSE : results::EventLog::RESUME;
        if (m_log->Count(kind))
        {
            const rdma::LinkWords& words = m_fabric.GetLinkLayer().GetWords();
            std::string details =
                std::string(words.held) + words.priority + " " + std::to_string(p);
            if (const uint64_t bytes = port->GetQueueBytes(p)) // a NIC's data waits in no queue
            {
                details += ", " + std::to_string(bytes) + " B wait";
            }
            m_log->Write(now, kind, m_portNames[m_portIndex.at(port)], details);
        }
    }
}

// Measuring --------------------------------------------------------------------------------------

void
EventCollector::StartMeasuring(int64_t now)
{
    FlushBursts(); // marks of the warm-up
    m_measuredFrom = now;
    m_pausesBefore = m_pauses;
    m_log->StartMeasuring(now);
}

void
EventCollector::Finish(int64_t now)
{
    FlushBursts();
    const Ranks& ranks = Ranks::Get();
    if (ranks.Several())
    {
        m_log->MergeRanks([&ranks](uint64_t n) { return ranks.Sum(n); },
                          [&ranks](const std::string& text) { return ranks.Gather(text); });
    }
    m_log->Finish(now);
}

} // namespace dltrain
