/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "trace-collector.h"

#include "ranks.h"
#include "results/old-results.h"

#include "ns3/callback.h"
#include "ns3/node.h"
#include "ns3/simulator.h"

#include <algorithm>
#include <limits>
#include <utility>

namespace dltrain
{

using ns3::MakeCallback;
using ns3::RdmaClock;
using ns3::RdmaSwitch;

namespace
{

constexpr int64_t MILLISECOND = 1000000000;

std::string
InFolder(const std::string& folder, const char* name)
{
    return folder.empty() ? "" : folder + "/" + name;
}

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
class TraceCollector::SwitchProbe
{
  public:
    SwitchProbe(TraceCollector& collector, RdmaSwitch& device)
        : m_collector(collector)
    {
        WatchMarks(device);
        device.TraceConnectWithoutContext("Drop",
                                          MakeCallback(&TraceCollector::OnDrop, &collector));
    }

    SwitchProbe(TraceCollector& collector, ns3::IbSwitch& device)
        : m_collector(collector)
    {
        WatchMarks(device);
        device.TraceConnectWithoutContext("Drop",
                                          MakeCallback(&TraceCollector::OnIbDrop, &collector));
    }

  private:
    template <typename Device>
    void WatchMarks(Device& device)
    {
        for (uint32_t p = 0; p < device.GetNPorts(); ++p)
        {
            m_ports.push_back(
                m_collector.m_portIndex.at(PeekPointer(device.GetPort(static_cast<uint16_t>(p)))));
        }
        device.TraceConnectWithoutContext("EcnMark", MakeCallback(&SwitchProbe::OnMark, this));
    }

    void OnMark(const ns3::RdmaPort* port, const ns3::RdmaFrame*, uint64_t queueBytes, int64_t now)
    {
        m_collector.OnMark(m_ports[port->GetPortIndex()], queueBytes, now);
    }

    TraceCollector& m_collector;
    std::vector<uint32_t> m_ports;
};

TraceCollector::TraceCollector(ns3::RdmaFabric& fabric, const Options& options)
    : m_fabric(fabric),
      m_options(options),
      m_measuring(!options.warmup),
      m_queuePairs(fabric.GetNEndpoints()),
      m_bursts(fabric.GetNEnds())
{
    if (!options.out.empty())
    {
        results::RemoveOldResults(options.out);
    }
    for (uint32_t e = 0; e < fabric.GetNEndpoints(); ++e)
    {
        m_endpointNames.push_back(fabric.GetEndpointName(e));
    }
    std::unordered_map<std::string, uint32_t> ordinals;
    for (uint32_t end = 0; end < fabric.GetNEnds(); ++end)
    {
        std::string name = fabric.GetLinkName(end);
        if (const uint32_t ordinal = ordinals[name]++)
        {
            name += "#" + std::to_string(ordinal);
        }
        m_portNames.push_back(name);
    }
    for (uint32_t i = 0; i < fabric.GetPorts().size(); ++i)
    {
        m_portIndex[PeekPointer(fabric.GetPorts()[i])] = fabric.GetEnd(i);
    }
    m_flows = std::make_unique<results::FlowTable>(InFolder(options.out, "flows.csv"),
                                                   m_endpointNames,
                                                   m_tags,
                                                   options.seed,
                                                   options.flowRows);
    const std::string outOfPackets = options.packets ? options.out : "";
    m_links = std::make_unique<LinkSampler>(fabric,
                                            InFolder(outOfPackets, "links.csv"),
                                            m_portNames,
                                            options.linkIntervalPs,
                                            options.linkRows);
    m_events = std::make_unique<results::EventLog>(InFolder(outOfPackets, "network_events.log"),
                                                   options.eventLinesPerKind,
                                                   options.warmup);
    if (!options.queuePairs.empty())
    {
        const auto flowOf = [this](const ns3::RdmaQueuePair& qp) {
            const QueuePair& state = Find(qp.GetNic()->GetEndpoint(), qp.GetNumber());
            return state.head == NONE ? QueuePairLog::NO_FLOW : m_pool[state.head].flow;
        };
        m_queuePairLog =
            std::make_unique<QueuePairLog>(fabric, m_endpointNames, options.queuePairs, flowOf);
    }
    if (Ranks::Get().Several())
    {
        m_events->KeepLines();
        m_links->SetOutstanding([this] { return m_outstanding > 0; });
        for (const auto& gateway : fabric.GetGateways())
        {
            gateway->SetArrivalCallback([this] { m_links->Arm(); });
        }
    }
    for (uint32_t e = 0; e < fabric.GetNEndpoints(); ++e)
    {
        if (!fabric.IsLocal(e))
        {
            continue;
        }
        ns3::RdmaNic& nic = *fabric.GetNic(e);
        nic.TraceConnectWithoutContext("Post", MakeCallback(&TraceCollector::OnPost, this));
        nic.TraceConnectWithoutContext("Message", MakeCallback(&TraceCollector::OnMessage, this));
        nic.TraceConnectWithoutContext("Completion",
                                       MakeCallback(&TraceCollector::OnCompletion, this));
        nic.TraceConnectWithoutContext("GoBack", MakeCallback(&TraceCollector::OnGoBack, this));
        nic.TraceConnectWithoutContext("Timeout", MakeCallback(&TraceCollector::OnTimeout, this));
        nic.TraceConnectWithoutContext("Error", MakeCallback(&TraceCollector::OnError, this));
        nic.TraceConnectWithoutContext("ReceiveDrop",
                                       MakeCallback(&TraceCollector::OnNicDrop, this));
    }
    // Between processes frames carry nothing that hangs off them.
    if (options.attribution && !options.atSender && !Ranks::Get().Several())
    {
        m_attribution = std::make_unique<TailAttribution>(fabric,
                                                          m_endpointNames,
                                                          m_portNames,
                                                          m_portIndex,
                                                          m_tags);
        m_resolver = [this](uint32_t src, uint32_t dst, uint32_t destQp) {
            return TagOf(src, dst, destQp);
        };
        for (uint32_t e = 0; e < fabric.GetNEndpoints(); ++e)
        {
            fabric.GetNic(e)->NoteJourneys(m_resolver);
            fabric.GetNic(e)->TraceConnectWithoutContext(
                "Journey",
                MakeCallback(&TraceCollector::OnJourney, this));
        }
    }
    for (const auto& device : fabric.GetSwitches())
    {
        m_switchProbes.push_back(std::make_unique<SwitchProbe>(*this, *device));
    }
    for (const auto& device : fabric.GetIbSwitches())
    {
        m_switchProbes.push_back(std::make_unique<SwitchProbe>(*this, *device));
    }
    for (const auto& port : fabric.GetPorts())
    {
        port->TraceConnectWithoutContext("Paused", MakeCallback(&TraceCollector::OnPaused, this));
        port->TraceConnectWithoutContext("PhyRxDrop",
                                         MakeCallback(&TraceCollector::OnCorrupt, this));
    }
    TakeBaseline(0);
    if (m_measuring)
    {
        m_links->StartMeasuring(0);
    }
}

TraceCollector::~TraceCollector() = default;

uint32_t
TraceCollector::Tag(const std::string& name)
{
    const auto [at, isNew] = m_tagIndex.emplace(name, static_cast<uint32_t>(m_tags.size()));
    if (isNew)
    {
        m_tags.push_back(name);
    }
    return at->second;
}

// Messages ---------------------------------------------------------------------------------------

TraceCollector::QueuePair&
TraceCollector::Find(uint32_t endpoint, uint32_t number)
{
    auto& ofEndpoint = m_queuePairs[endpoint];
    const uint32_t index = number - 2;
    if (index >= ofEndpoint.size())
    {
        ofEndpoint.resize(m_fabric.IsLocal(endpoint) ? m_fabric.GetNic(endpoint)->GetNQueuePairs()
                                                     : index + 1,
                          NONE);
    }
    uint32_t& state = ofEndpoint[index];
    if (state == NONE)
    {
        state = static_cast<uint32_t>(m_senders.size());
        m_senders.emplace_back();
    }
    return m_senders[state];
}

void
TraceCollector::OnPost(ns3::RdmaQueuePair* qp, const ns3::RdmaWorkRequest& request)
{
    m_links->Arm();
    if (qp->GetState() == ns3::RdmaQueuePair::State::ERROR)
    {
        return; // it will never arrive
    }
    const Numbered number = Number(request.id);
    const bool here = m_options.atSender || request.operation == ns3::RdmaOperation::READ;
    if (!IsRemote(qp) || here) // else the other rank expects it
    {
        AddPending(
            Find(qp->GetNic()->GetEndpoint(), qp->GetNumber()),
            {request.posted, number.flow, number.tag, NONE, number.measured, request.operation});
    }
    if (m_queuePairLog)
    {
        // The data of a READ comes from the other end.
        ns3::RdmaQueuePair* sender =
            request.operation == ns3::RdmaOperation::READ
                ? m_fabric.GetNic(qp->GetPeerEndpoint())->GetQueuePair(qp->GetPeerNumber() - 2)
                : qp;
        m_queuePairLog->Begin(sender, ns3::RdmaClock::Now());
    }
}

TraceCollector::Numbered
TraceCollector::Number(uint64_t id)
{
    // Posts are numbered as they come, unless the poster has numbers of its own.
    const uint32_t tag = static_cast<uint32_t>(id);
    m_marked |= (tag & WARMUP) != 0;
    const bool measured = m_marked ? !(tag & WARMUP) : m_measuring;
    const uint64_t flow = id >> 32 ? (id >> 32) - 1 : m_posts;
    m_posts += measured;
    ++m_outstanding;
    return {flow, tag & ~WARMUP, measured};
}

TraceCollector::Numbered
TraceCollector::BeginMessage(uint64_t id)
{
    m_links->Arm(); // for whoever observes it
    return Number(id);
}

void
TraceCollector::EndMessage(const Numbered& numbered, results::FlowRecord record)
{
    --m_outstanding;
    const bool measured =
        m_marked ? numbered.measured : m_measuring && record.start >= m_measuredFrom;
    if (!measured || m_finished)
    {
        return;
    }
    record.flow = numbered.flow;
    record.tag = numbered.tag;
    m_flows->Add(record);
}

void
TraceCollector::AddPending(QueuePair& state, const Pending& pending)
{
    uint32_t entry = m_free;
    if (entry == NONE)
    {
        entry = static_cast<uint32_t>(m_pool.size());
        m_pool.emplace_back();
    }
    else
    {
        m_free = m_pool[entry].next;
    }
    m_pool[entry] = pending;
    if (state.head == NONE)
    {
        state.head = entry;
    }
    else
    {
        m_pool[state.tail].next = entry;
    }
    state.tail = entry;
    ++state.count;
}

void
TraceCollector::ExpectMessage(const ns3::RdmaQueuePair& receiver,
                              int64_t posted,
                              uint64_t id,
                              ns3::RdmaOperation operation)
{
    if (m_options.atSender)
    {
        return;
    }
    AddPending(Find(receiver.GetPeerEndpoint(), receiver.GetPeerNumber()),
               {posted, (id >> 32) - 1, static_cast<uint32_t>(id), NONE, true, operation});
}

void
TraceCollector::NameGpus(const ns3::RdmaQueuePair& sender, uint32_t from, uint32_t to)
{
    QueuePair& state = Find(sender.GetNic()->GetEndpoint(), sender.GetNumber());
    state.fromGpu = from;
    state.toGpu = to;
}

void
TraceCollector::OnJourney(ns3::RdmaQueuePair*,
                          const ns3::RdmaMessage&,
                          const ns3::RdmaJourney& journey,
                          int64_t)
{
    m_journey = &journey; // the message itself is told next
}

uint32_t
TraceCollector::TagOf(uint32_t src, uint32_t dst, uint32_t destQp)
{
    const ns3::RdmaQueuePair* receiver = m_fabric.GetNic(dst)->GetQueuePair(destQp - 2);
    const uint32_t entry = Find(src, receiver->GetPeerNumber()).head;
    return entry == NONE ? UINT32_MAX : m_pool[entry].tag;
}

void
TraceCollector::OnMessage(ns3::RdmaQueuePair* qp, const ns3::RdmaMessage& message, int64_t now)
{
    const ns3::RdmaJourney* journey = std::exchange(m_journey, nullptr);
    m_parts = journey ? &m_attribution->Divide(*journey, now) : nullptr;
    if (!m_options.atSender)
    {
        OnComplete(qp->GetPeerEndpoint(),
                   qp->GetPeerNumber(),
                   qp->GetNic()->GetEndpoint(),
                   message.bytes,
                   message.hasImmediate,
                   false,
                   now);
    }
}

void
TraceCollector::OnComplete(uint32_t from,
                           uint32_t number,
                           uint32_t to,
                           uint64_t bytes,
                           bool hasImmediate,
                           bool read,
                           int64_t now)
{
    QueuePair& state = Find(from, number);
    // READs are told at the other end than all else: what is not of the kind waits for its own.
    uint32_t before = NONE;
    uint32_t entry = state.head;
    while (entry != NONE && (m_pool[entry].operation == ns3::RdmaOperation::READ) != read)
    {
        before = entry;
        entry = m_pool[entry].next;
    }
    if (entry == NONE)
    {
        return; // posted before this collector listened
    }
    const Pending pending = m_pool[entry];
    (before == NONE ? state.head : m_pool[before].next) = pending.next;
    if (state.tail == entry)
    {
        state.tail = before;
    }
    m_pool[entry].next = m_free;
    m_free = entry;
    // A message from or to another rank is outstanding where it was posted, until it is
    // acknowledged: OnCompletion.
    if (!state.failed && m_fabric.IsLocal(from) && m_fabric.IsLocal(to))
    {
        --m_outstanding;
    }
    --state.count;
    if (!pending.measured || m_finished)
    {
        return;
    }
    if (state.idealBytes != bytes || state.idealImmediate != hasImmediate ||
        state.idealOperation != pending.operation || state.idealTo != to)
    {
        state.idealBytes = bytes;
        state.idealTo = to; // a queue pair may be reset and have another peer
        state.idealOperation = pending.operation;
        state.idealImmediate = hasImmediate;
        state.ideal = m_fabric.GetIdealCompletion(from,
                                                  to,
                                                  bytes,
                                                  hasImmediate,
                                                  pending.operation,
                                                  m_options.atSender);
    }
    results::FlowRecord record;
    record.flow = pending.flow;
    record.bytes = bytes;
    record.start = pending.posted;
    record.end = now;
    record.ideal = state.ideal;
    record.src = read ? to : from;
    record.dst = read ? from : to;
    record.tag = pending.tag;
    record.fromGpu = read ? state.toGpu : state.fromGpu;
    record.toGpu = read ? state.fromGpu : state.toGpu;
    if (Ranks::Get().Several())
    {
        m_records.push_back(record);
        return;
    }
    m_flows->Add(record);
    if (m_attribution)
    {
        m_parts && !read ? m_attribution->Add(record, *m_parts) : m_attribution->AddUnknown();
    }
}

void
TraceCollector::OnCompletion(ns3::RdmaQueuePair* qp,
                             const ns3::RdmaWorkRequest& request,
                             ns3::RdmaStatus status,
                             int64_t now)
{
    const bool read = request.operation == ns3::RdmaOperation::READ;
    if ((m_options.atSender || read) && status == ns3::RdmaStatus::SUCCESS)
    {
        OnComplete(qp->GetNic()->GetEndpoint(),
                   qp->GetNumber(),
                   qp->GetPeerEndpoint(),
                   request.bytes,
                   request.hasImmediate,
                   read,
                   now);
    }
    m_failed += status != ns3::RdmaStatus::SUCCESS;
    if (IsRemote(qp) && m_outstanding)
    {
        --m_outstanding; // all that this rank hears of it
    }
}

// What went wrong --------------------------------------------------------------------------------

std::string
TraceCollector::QueuePairName(const ns3::RdmaQueuePair* qp) const
{
    return m_endpointNames[qp->GetNic()->GetEndpoint()] + "->" +
           m_endpointNames[qp->GetPeerEndpoint()] + " qp " + std::to_string(qp->GetNumber());
}

void
TraceCollector::OnGoBack(ns3::RdmaQueuePair* qp, uint64_t psn, int64_t now)
{
    m_links->Arm();
    if (m_events->Count(results::EventLog::RETRANSMISSION))
    {
        m_events->Write(now,
                        results::EventLog::RETRANSMISSION,
                        QueuePairName(qp),
                        "goes back to psn " + std::to_string(psn));
    }
}

void
TraceCollector::OnTimeout(ns3::RdmaQueuePair* qp, uint64_t psn, int64_t now)
{
    m_links->Arm();
    if (m_events->Count(results::EventLog::TIMEOUT))
    {
        m_events->Write(now,
                        results::EventLog::TIMEOUT,
                        QueuePairName(qp),
                        "psn " + std::to_string(psn) + " is not acknowledged");
    }
}

void
TraceCollector::OnError(ns3::RdmaQueuePair* qp, uint64_t psn, int64_t now)
{
    QueuePair& state = Find(qp->GetNic()->GetEndpoint(), qp->GetNumber());
    if (!state.failed)
    {
        state.failed = true;
        m_outstanding -= IsRemote(qp) ? 0 : state.count;
    }
    if (m_events->Count(results::EventLog::QP_ERROR))
    {
        m_events->Write(now,
                        results::EventLog::QP_ERROR,
                        QueuePairName(qp),
                        "fails: psn " + std::to_string(psn) + " was retried in vain");
    }
}

void
TraceCollector::OnDrop(const RdmaSwitch* device,
                       const ns3::RdmaPort* port,
                       const ns3::RdmaFrame* frame,
                       RdmaSwitch::DropReason reason,
                       int64_t now)
{
    if (m_events->Count(results::EventLog::DROP))
    {
        std::string details = RdmaSwitch::GetDropReasonName(reason);
        details += std::string(": ") + FrameName(frame) + " " + m_endpointNames[frame->src] + "->" +
                   m_endpointNames[frame->dst] + " psn " + std::to_string(frame->psn);
        m_events->Write(now,
                        results::EventLog::DROP,
                        port ? m_portNames[m_portIndex.at(port)] : device->GetName(),
                        details);
    }
}

void
TraceCollector::OnIbDrop(const ns3::IbSwitch* device, const ns3::RdmaFrame* frame, int64_t now)
{
    if (m_events->Count(results::EventLog::DROP))
    {
        m_events->Write(now,
                        results::EventLog::DROP,
                        device->GetName(),
                        std::string("no_route: ") + FrameName(frame) + " LID " +
                            std::to_string(frame->flowHash & 0xffff) + " psn " +
                            std::to_string(frame->psn));
    }
}

void
TraceCollector::OnCorrupt(const ns3::RdmaPort* port, const ns3::RdmaFrame* frame, int64_t now)
{
    if (m_events->Count(results::EventLog::DROP))
    {
        m_events->Write(now,
                        results::EventLog::DROP,
                        m_portNames[m_portIndex.at(port) ^ 1],
                        std::string("corrupted: ") + FrameName(frame) + " psn " +
                            std::to_string(frame->psn));
    }
}

void
TraceCollector::OnNicDrop(const ns3::RdmaPort* port, const ns3::RdmaFrame* frame, int64_t now)
{
    if (m_events->Count(results::EventLog::DROP))
    {
        m_events->Write(now,
                        results::EventLog::DROP,
                        m_portNames[m_portIndex.at(port->GetPeer())],
                        std::string("nic_receive_buffer: ") + FrameName(frame) + " " +
                            m_endpointNames[frame->src] + "->" + m_endpointNames[frame->dst] +
                            " psn " + std::to_string(frame->psn));
    }
}

// Congestion -------------------------------------------------------------------------------------

void
TraceCollector::OnMark(uint32_t port, uint64_t queueBytes, int64_t now)
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
TraceCollector::FlushBursts()
{
    for (const uint32_t port : m_bursting)
    {
        Burst& burst = m_bursts[port];
        if (m_events->Count(results::EventLog::ECN, burst.marks))
        {
            m_events->Write(std::max(m_burstEnd - MILLISECOND, m_measuredFrom),
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
TraceCollector::OnPaused(const ns3::RdmaPort* port, uint8_t paused, uint8_t changed, int64_t now)
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
        if (m_events->Count(kind))
        {
            std::string details =
                (m_fabric.GetSubnet() ? "no credits, VL " : "priority ") + std::to_string(p);
            if (const uint64_t bytes = port->GetQueueBytes(p)) // a NIC's data waits in no queue
            {
                details += ", " + std::to_string(bytes) + " B wait";
            }
            m_events->Write(now, kind, m_portNames[m_portIndex.at(port)], details);
        }
    }
}

// Measuring --------------------------------------------------------------------------------------

void
TraceCollector::TakeBaseline(int64_t now)
{
    m_measuredFrom = now;
    m_baseline.nics = m_fabric.GetNicTotals();
    m_baseline.ports = m_fabric.GetPortTotals();
    m_baseline.pauses = m_pauses;
    m_baseline.rerouted = 0;
    for (const auto& device : m_fabric.GetIbSwitches())
    {
        m_baseline.rerouted += device->GetRerouted();
    }
    m_baseline.drops.clear();
    for (uint8_t reason = 0; reason < RdmaSwitch::DROP_REASONS; ++reason)
    {
        m_baseline.drops.push_back(m_fabric.GetDrops(static_cast<RdmaSwitch::DropReason>(reason)));
    }
    m_baseline.txWireBytes.clear();
    m_baseline.pausedPs.clear();
    for (const auto& port : m_fabric.GetPorts())
    {
        m_baseline.txWireBytes.push_back(port->GetCounters().txWireBytes);
        m_baseline.pausedPs.push_back(port->GetPausedPs(now));
    }
}

void
TraceCollector::StartMeasuring(int64_t nowPs)
{
    m_measuring = true;
    if (!m_marked)
    {
        for (Pending& pending : m_pool)
        {
            pending.measured = false;
        }
        m_posts = 0;
        m_flows->Clear();
        if (m_attribution)
        {
            m_attribution->Clear();
        }
    }
    m_links->StartMeasuring(nowPs);
    FlushBursts(); // marks of the warm-up
    TakeBaseline(nowPs);
    m_events->StartMeasuring(nowPs);
}

void
TraceCollector::Finish(int64_t nowPs)
{
    if (m_finished)
    {
        return;
    }
    m_finished = true;
    FlushBursts();
    if (m_attribution && !m_options.out.empty())
    {
        m_attribution->Write(InFolder(m_options.out, "attribution.csv"));
    }
    if (m_queuePairLog && !m_options.out.empty())
    {
        m_queuePairLog->Write(InFolder(m_options.out, "queue_pairs.csv"));
    }
    const Ranks& ranks = Ranks::Get();
    if (ranks.Several())
    {
        // As they would have come in one process: by time, then by host and port, which is how
        // endpoints are numbered and ns3::RdmaEventOrder goes.
        std::vector<results::FlowRecord> records = ranks.GatherAll(m_records);
        m_records = {};
        const auto where =
            m_options.atSender ? &results::FlowRecord::src : &results::FlowRecord::dst;
        std::sort(records.begin(),
                  records.end(),
                  [where](const results::FlowRecord& a, const results::FlowRecord& b) {
                      return std::make_pair(a.end, a.*where) < std::make_pair(b.end, b.*where);
                  });
        for (const results::FlowRecord& record : records)
        {
            m_flows->Add(record);
        }
        m_links->MergeRanks(nowPs);
        m_events->MergeRanks([](uint64_t n) { return Ranks::Get().Sum(n); },
                             [](const std::string& text) { return Ranks::Get().Gather(text); });
    }
    m_flows->Finish();
    m_links->Finish(nowPs);
    m_events->Finish(nowPs);
}

} // namespace dltrain
