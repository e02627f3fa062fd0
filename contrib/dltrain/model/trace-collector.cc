/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "trace-collector.h"

#include "rank-notes.h"
#include "ranks.h"
#include "results/message-id.h"
#include "results/old-results.h"
#include "scenarios/spec/queue-pair-pattern.h"

#include "ns3/callback.h"
#include "ns3/node-windows.h"
#include "ns3/simulator.h"

#include <algorithm>
#include <optional>
#include <utility>

namespace dltrain
{

using ns3::MakeCallback;
using ns3::NodeWindows;
using ns3::RdmaClock;
using results::MessageId;

namespace
{

std::string
InFolder(const std::string& folder, const char* name)
{
    return folder.empty() ? "" : folder + "/" + name;
}

std::vector<scenario::QueuePairPattern>
Parsed(const std::vector<std::string>& texts)
{
    std::vector<scenario::QueuePairPattern> patterns(texts.size());
    std::transform(texts.begin(), texts.end(), patterns.begin(), scenario::QueuePairPattern::Parse);
    return patterns;
}

/// What a thread's event knows of the message that it tells of.
struct Telling
{
    const ns3::RdmaJourney* journey = nullptr; ///< of the message that is told next
    bool divided = false;                      ///< `parts` are of the message told last
    results::MessageParts parts;
};

thread_local Telling t_telling;

} // namespace

void
TraceCollector::ForgetMessageParts()
{
    t_telling.divided = false;
}

const results::MessageParts*
TraceCollector::GetMessageParts()
{
    return t_telling.divided ? &t_telling.parts : nullptr;
}

TraceCollector::TraceCollector(ns3::RdmaFabric& fabric, const Options& options)
    : m_fabric(fabric),
      m_options(options),
      m_measuring(!options.warmup),
      m_pending(fabric.GetNEndpoints())
{
    if (!options.out.empty())
    {
        results::RemoveOldResults(options.out);
    }
    m_words = fabric.GetLinkLayer().GetWords();
    NameAll();
    m_flows = std::make_unique<results::FlowTable>(InFolder(options.out, "flows.csv"),
                                                   m_endpointNames,
                                                   m_tags,
                                                   options.seed,
                                                   options.flowRows);
    const std::string outOfPackets = options.law.empty() ? options.out : "";
    m_links = std::make_unique<LinkSampler>(fabric,
                                            InFolder(outOfPackets, "links.csv"),
                                            m_portNames,
                                            options.linkIntervalPs,
                                            options.linkRows);
    m_events = std::make_unique<EventCollector>(
        fabric,
        m_endpointNames,
        m_portNames,
        m_portIndex,
        std::make_unique<results::EventLog>(InFolder(outOfPackets, "network_events.log"),
                                            options.eventLinesPerKind,
                                            options.warmup));
    if (!options.queuePairs.empty())
    {
        const auto flowOf = [this](uint32_t endpoint, uint32_t number) {
            const PendingMessages::Message* oldest = m_pending.Oldest(Find(endpoint, number));
            return oldest ? oldest->flow : results::QueuePairTable::NO_FLOW;
        };
        m_queuePairLog =
            std::make_unique<QueuePairLog>(fabric, m_endpointNames, options.queuePairs, flowOf);
    }
    ListenToNotes();
    Listen();
    NoteJourneys();
    m_baseline = FabricBaseline(fabric, 0);
    if (m_measuring)
    {
        m_links->StartMeasuring(0);
    }
}

TraceCollector::~TraceCollector() = default;

void
TraceCollector::NameAll()
{
    for (uint32_t e = 0; e < m_fabric.GetNEndpoints(); ++e)
    {
        m_endpointNames.push_back(m_fabric.GetEndpointName(e));
    }
    std::unordered_map<std::string, uint32_t> ordinals;
    for (uint32_t end = 0; end < m_fabric.GetNEnds(); ++end)
    {
        std::string name = m_fabric.GetLinkName(end);
        if (const uint32_t ordinal = ordinals[name]++)
        {
            name += "#" + std::to_string(ordinal);
        }
        m_portNames.push_back(name);
    }
    for (uint32_t i = 0; i < m_fabric.GetPorts().size(); ++i)
    {
        m_portIndex[PeekPointer(m_fabric.GetPorts()[i])] = m_fabric.GetEnd(i);
    }
}

void
TraceCollector::Listen()
{
    // What is throttled is quiet for a while, though nobody posts anything.
    m_links->SetOutstanding([this] { return m_outstanding > 0; });
    if (Ranks::Get().Several())
    {
        for (const auto& gateway : m_fabric.GetGateways())
        {
            gateway->SetArrivalCallback([this] {
                m_links->Arm();
                if (m_onArrival)
                {
                    m_onArrival();
                }
            });
        }
    }
    const auto onRetry = MakeCallback(&TraceCollector::OnRetry, this); // of all NICs
    const auto onError = MakeCallback(&TraceCollector::OnError, this);
    for (uint32_t e = 0; e < m_fabric.GetNEndpoints(); ++e)
    {
        if (!m_fabric.IsLocal(e))
        {
            continue;
        }
        ns3::RdmaNic& nic = *m_fabric.GetNic(e);
        nic.SetWatcher(this);
        nic.TraceConnectWithoutContext("GoBack", onRetry);
        nic.TraceConnectWithoutContext("Timeout", onRetry);
        nic.TraceConnectWithoutContext("Error", onError);
    }
}

void
TraceCollector::ListenToNotes()
{
    if (RankNotes* notes = m_options.notes)
    {
        m_kinds.post = notes->Add<Post>([this](const Post& post) { HearPost(post); });
        m_kinds.begin = notes->Add<Connection>([this](const Connection& c) { HearBegin(c); });
        m_kinds.end = notes->Add<End>([this](const End& ended) { HearEnd(ended); });
        m_kinds.complete = notes->Add<Completion>([this](const Completion& c) { HearPlain(c); });
    }
}

void
TraceCollector::NoteJourneys()
{
    // Between processes frames carry nothing that hangs off them.
    if (!m_options.attribution || m_options.atSender || Ranks::Get().Several())
    {
        return;
    }
    if (const char* waitedFor = m_fabric.GetNic(0)->GetWaitedFor()) // all have the same transport
    {
        m_words.windowClosed = waitedFor;
    }
    m_attribution =
        std::make_unique<results::TailAttribution>(m_endpointNames, m_portNames, m_tags, m_words);
    m_attribution->SetNotes(&m_linkNotes);
    if (!m_options.paths.empty())
    {
        const auto isWanted = [this, patterns = Parsed(m_options.paths)](uint32_t from,
                                                                         uint32_t to) {
            return std::any_of(patterns.begin(),
                               patterns.end(),
                               [&](const scenario::QueuePairPattern& pattern) {
                                   return pattern.Covers(m_endpointNames[from],
                                                         m_endpointNames[to]);
                               });
        };
        m_paths = std::make_unique<results::PathTable>(m_endpointNames, m_portNames, isWanted);
        m_packets.resize(m_fabric.GetNEndpoints());
        // Asked of each message: patterns are texts.
        m_wanted = [isWanted, known = std::unordered_map<uint64_t, bool>()](uint32_t from,
                                                                            uint32_t to) mutable {
            const auto [at, isNew] = known.try_emplace(uint64_t{from} << 32 | to, false);
            if (isNew)
            {
                at->second = isWanted(from, to);
            }
            return at->second;
        };
    }
    m_journeys = std::make_unique<JourneyParts>(m_fabric);
    m_resolver = [this](uint32_t src, uint32_t dst, uint32_t destQp) {
        return TagOf(src, dst, destQp);
    };
    for (uint32_t e = 0; e < m_fabric.GetNEndpoints(); ++e)
    {
        m_fabric.GetNic(e)->NoteJourneys(m_resolver);
        if (m_paths)
        {
            m_fabric.GetNic(e)->NoteWays(m_wanted);
            m_fabric.GetNic(e)->TraceConnectWithoutContext(
                "Way",
                MakeCallback(&TraceCollector::OnWay, this));
        }
    }
}

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

uint32_t
TraceCollector::Tag(const std::string& name, uint32_t owner)
{
    const uint32_t tag = Tag(name);
    m_flows->SetOwner(tag, owner);
    return tag;
}

uint32_t
TraceCollector::AddOwner(const std::string& name, bool aside)
{
    const uint32_t owner = m_flows->AddOwner(aside);
    if (m_attribution)
    {
        if (!m_interference)
        {
            m_interference = std::make_unique<results::Interference>(m_portNames);
        }
        m_interference->AddOwner(name);
    }
    return owner;
}

// Messages ---------------------------------------------------------------------------------------

PendingMessages::Sender&
TraceCollector::Find(uint32_t endpoint, uint32_t number)
{
    return m_pending.Find(endpoint, number);
}

TraceCollector::End
TraceCollector::EndOf(const ns3::RdmaQueuePair& qp)
{
    return {qp.GetNic()->GetEndpoint(), qp.GetNumber(), qp.GetPeerEndpoint(), qp.GetPeerNumber()};
}

void
TraceCollector::OnPost(ns3::RdmaQueuePair* qp, const ns3::RdmaWorkRequest& request)
{
    m_links->Arm();
    if (qp->GetState() == ns3::RdmaQueuePair::State::ERROR)
    {
        return; // it will never arrive
    }
    NodeWindows::Note<&TraceCollector::TellPost>(
        this,
        Post{EndOf(*qp), request.id, request.posted, request.operation});
    // The data of a READ comes from the other end, which is not there yet: OnAccepted.
    if (m_queuePairLog && request.operation != ns3::RdmaOperation::READ)
    {
        NodeWindows::Note<&QueuePairLog::Begin>(m_queuePairLog.get(),
                                                QueuePairLog::Sight::Of(*qp, RdmaClock::Now()));
    }
}

void
TraceCollector::TellPost(const Post& post)
{
    ++m_outstanding;
    if (m_options.notes)
    {
        m_options.notes->Tell(m_kinds.post, post);
        return;
    }
    HearPost(post);
}

void
TraceCollector::EndOne()
{
    m_outstanding -= m_outstanding > 0;
}

void
TraceCollector::HearPost(const Post& post)
{
    const PendingMessages::Message message = Number(post.id, post.posted, post.operation);
    const bool here = m_options.atSender || post.operation == ns3::RdmaOperation::READ;
    // Else the other rank expects it.
    if (m_options.notes || !IsRemote(post.end) || here)
    {
        m_pending.Add(Find(post.end.endpoint, post.end.number), message);
    }
}

PendingMessages::Message
TraceCollector::Number(uint64_t id, int64_t posted, ns3::RdmaOperation operation)
{
    // Posts are numbered as they come, unless the poster has numbers of its own.
    m_marked |= MessageId::IsWarmup(id);
    const bool measured = m_marked ? !MessageId::IsWarmup(id) : m_measuring;
    const uint64_t flow = MessageId::HasFlow(id) ? MessageId::Flow(id) : m_posts;
    m_posts += measured;
    return {posted, flow, MessageId::Tag(id), measured, operation};
}

PendingMessages::Message
TraceCollector::BeginMessage(uint64_t id, int64_t now, ns3::RdmaOperation operation)
{
    m_links->Arm(); // for whoever observes it
    return CountMessage(id, now, operation);
}

PendingMessages::Message
TraceCollector::CountMessage(uint64_t id, int64_t now, ns3::RdmaOperation operation)
{
    ++m_outstanding;
    return Number(id, now, operation);
}

void
TraceCollector::EndMessage(const PendingMessages::Message& message, results::FlowRecord record)
{
    --m_outstanding;
    if (m_interference && m_ownerOfOrdinary && !m_finished)
    {
        m_interference->AddOrdinary(message.posted, record.end, record.bytes);
    }
    const bool measured =
        m_marked ? message.measured : m_measuring && message.posted >= m_baseline.time;
    if (!measured || m_finished)
    {
        return;
    }
    record.flow = message.flow;
    record.tag = message.tag;
    record.start = message.posted;
    m_flows->Add(record);
}

void
TraceCollector::FailMessage()
{
    --m_outstanding;
    ++m_failed;
}

void
TraceCollector::NoteSending(int64_t beginPs, int64_t endPs, uint64_t bytes)
{
    if (m_interference && m_ownerOfOrdinary && !m_finished)
    {
        m_interference->AddOrdinary(beginPs, endPs, bytes);
    }
}

void
TraceCollector::AddMessage(uint64_t id, int64_t posted, results::FlowRecord record)
{
    const PendingMessages::Message message = Number(id, posted, ns3::RdmaOperation::WRITE);
    const bool measured =
        m_marked ? message.measured : m_measuring && message.posted >= m_baseline.time;
    if (measured && !m_finished)
    {
        record.flow = message.flow;
        record.tag = message.tag;
        record.start = message.posted;
        m_flows->Add(record);
    }
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
    m_pending.Add(Find(receiver.GetPeerEndpoint(), receiver.GetPeerNumber()),
                  {posted, MessageId::Flow(id), MessageId::Tag(id), true, operation});
}

void
TraceCollector::BeginConnection(const ns3::RdmaQueuePair& sender, uint32_t from, uint32_t to)
{
    NodeWindows::Note<&TraceCollector::TellBegin>(this, Connection{EndOf(sender), from, to});
}

void
TraceCollector::TellBegin(const Connection& begun)
{
    if (m_options.notes)
    {
        m_options.notes->Tell(m_kinds.begin, begun);
        return;
    }
    HearBegin(begun);
}

void
TraceCollector::HearBegin(const Connection& begun)
{
    PendingMessages::Sender& state = Find(begun.end.endpoint, begun.end.number);
    state.fromGpu = begun.from;
    state.toGpu = begun.to;
}

void
TraceCollector::EndConnection(const ns3::RdmaQueuePair& sender)
{
    NodeWindows::Note<&TraceCollector::TellEnd>(this, EndOf(sender));
}

void
TraceCollector::AbandonConnection(const ns3::RdmaQueuePair& sender)
{
    TellError(EndOf(sender));
}

void
TraceCollector::TellEnd(const End& ended)
{
    if (m_options.notes)
    {
        m_options.notes->Tell(m_kinds.end, ended);
        return;
    }
    HearEnd(ended);
}

void
TraceCollector::HearEnd(const End& ended)
{
    m_pending.Forget(ended.endpoint, ended.number);
}

void
TraceCollector::OnAccepted(ns3::RdmaQueuePair& qp)
{
    if (m_queuePairLog)
    {
        NodeWindows::Note<&TraceCollector::TellAccepted>(
            this,
            QueuePairLog::Sight::Of(qp, RdmaClock::Now()));
    }
}

void
TraceCollector::TellAccepted(const QueuePairLog::Sight& accepted)
{
    const PendingMessages::Sender* sender = m_pending.Known(accepted.dst, accepted.peerNumber);
    const PendingMessages::Message* oldest = sender ? m_pending.Oldest(*sender) : nullptr;
    if (oldest && oldest->operation == ns3::RdmaOperation::READ)
    {
        m_queuePairLog->Begin(accepted);
    }
}

void
TraceCollector::OnJourney(ns3::RdmaQueuePair*,
                          const ns3::RdmaMessage&,
                          const ns3::RdmaJourney& journey,
                          int64_t)
{
    t_telling.journey = &journey; // the message itself is told next
}

void
TraceCollector::OnWay(ns3::RdmaQueuePair* qp, const ns3::RdmaJourney& journey, int64_t)
{
    if (MessageId::IsWarmup(journey.request) || journey.posted < m_packetsSince)
    {
        return;
    }
    results::Way way{journey.nic->GetEnd()};
    for (const ns3::RdmaJourney::Hop& hop : journey.hops)
    {
        way.push_back(hop.end);
    }
    ++m_packets[qp->GetNic()->GetEndpoint()][{qp->GetPeerEndpoint(), std::move(way)}];
}

uint32_t
TraceCollector::TagOf(uint32_t src, uint32_t dst, uint32_t destQp)
{
    if (m_tags.size() == 1) // all are that; finding out whose it is costs a line of memory a step
    {
        return 0;
    }
    const std::optional<uint32_t> number = m_fabric.FindSenderNumber(src, dst, destQp);
    const PendingMessages::Sender* sender = number ? m_pending.Known(src, *number) : nullptr;
    const PendingMessages::Message* oldest = sender ? m_pending.Oldest(*sender) : nullptr;
    return oldest ? oldest->tag : UINT32_MAX;
}

void
TraceCollector::OnMessage(ns3::RdmaQueuePair* qp, const ns3::RdmaMessage& message, int64_t now)
{
    Telling& telling = t_telling;
    const ns3::RdmaJourney* journey = std::exchange(telling.journey, nullptr);
    telling.divided = journey;
    if (journey)
    {
        m_journeys->Divide(*journey, now, telling.parts);
    }
    if (m_options.atSender)
    {
        return;
    }
    const Completion completion{
        {qp->GetPeerEndpoint(), qp->GetPeerNumber(), qp->GetNic()->GetEndpoint(), qp->GetNumber()},
        message.bytes,
        now,
        message.hasImmediate,
        false};
    if (journey)
    {
        NodeWindows::NoteCall(
            [this, completion, parts = telling.parts] { HearComplete(completion, &parts); });
        return;
    }
    NodeWindows::Note<&TraceCollector::TellPlain>(this, completion);
}

void
TraceCollector::TellPlain(const Completion& completion)
{
    if (m_options.notes)
    {
        m_options.notes->Tell(m_kinds.complete, completion);
        return;
    }
    HearPlain(completion);
}

void
TraceCollector::HearPlain(const Completion& completion)
{
    HearComplete(completion, nullptr);
}

void
TraceCollector::HearComplete(const Completion& completion, const results::MessageParts* parts)
{
    const uint32_t from = completion.end.endpoint;
    const uint32_t to = completion.end.peer;
    const bool read = completion.read;
    PendingMessages::Sender& state = Find(from, completion.end.number);
    PendingMessages::Message pending;
    if (!m_pending.Take(state, read, pending))
    {
        return; // posted before this collector listened
    }
    // A message from or to another rank is outstanding where it was posted, until it is
    // acknowledged: OnCompletion.
    if (!m_options.notes && !state.failed && m_fabric.IsLocal(from) && m_fabric.IsLocal(to))
    {
        --m_outstanding;
    }
    if (!pending.measured && m_marked && m_interference && parts && !m_finished)
    {
        // Warm-up of one job beside the measured time of another.
        m_interference->AddUnmeasured({pending.posted, completion.time, completion.bytes},
                                      *parts,
                                      m_flows->OwnerOf(pending.tag));
    }
    if (!pending.measured || m_finished)
    {
        return;
    }
    if (state.idealBytes != completion.bytes || state.idealImmediate != completion.hasImmediate ||
        state.idealOperation != pending.operation || state.idealTo != to)
    {
        state.idealBytes = completion.bytes;
        state.idealTo = to; // a queue pair may be reset and have another peer
        state.idealOperation = pending.operation;
        state.idealImmediate = completion.hasImmediate;
        state.ideal = m_fabric.GetIdealCompletion(from,
                                                  to,
                                                  completion.bytes,
                                                  completion.hasImmediate,
                                                  pending.operation,
                                                  m_options.atSender);
    }
    results::FlowRecord record;
    record.flow = pending.flow;
    record.bytes = completion.bytes;
    record.start = pending.posted;
    record.end = completion.time;
    record.ideal = state.ideal;
    record.src = read ? to : from;
    record.dst = read ? from : to;
    record.tag = pending.tag;
    record.fromGpu = read ? state.toGpu : state.fromGpu;
    record.toGpu = read ? state.fromGpu : state.toGpu;
    if (!m_options.notes && Ranks::OfHosts().Several())
    {
        m_records.push_back(record);
        return;
    }
    m_flows->Add(record);
    if (parts)
    {
        m_flowWays.Add(uint64_t{from} << 32 | completion.end.number, *parts);
    }
    if (m_interference && parts)
    {
        m_interference->Add(
            record,
            *parts,
            m_flows->OwnerOf(record.tag),
            [this](uint32_t tag) { return m_flows->OwnerOf(tag); },
            m_ownerOfOrdinary.value_or(0));
    }
    if (m_attribution && !m_flows->IsAside(record.tag))
    {
        parts ? m_attribution->Add(record, *parts) : m_attribution->AddUnknown();
    }
    if (m_paths && parts)
    {
        m_paths->Add(record, *parts);
    }
}

void
TraceCollector::OnCompletion(ns3::RdmaQueuePair* qp,
                             const ns3::RdmaWorkRequest& request,
                             ns3::RdmaStatus status,
                             int64_t now)
{
    const bool read = request.operation == ns3::RdmaOperation::READ;
    const bool success = status == ns3::RdmaStatus::SUCCESS;
    const Completion completion{EndOf(*qp), request.bytes, now, request.hasImmediate, read};
    if ((m_options.atSender || read) && success)
    {
        NodeWindows::Note<&TraceCollector::TellPlain>(this, completion);
    }
    if (!success || m_options.notes || IsRemote(completion.end))
    {
        NodeWindows::Note<&TraceCollector::TellStatus>(this, Status{completion.end, success});
    }
}

void
TraceCollector::TellStatus(const Status& status)
{
    m_failed += !status.success;
    if (m_options.notes || IsRemote(status.end))
    {
        EndOne(); // all that this rank hears of it
    }
}

void
TraceCollector::OnRetry(ns3::RdmaQueuePair*, uint64_t, int64_t)
{
    m_links->Arm();
}

void
TraceCollector::OnError(ns3::RdmaQueuePair* qp, uint64_t, int64_t)
{
    NodeWindows::Note<&TraceCollector::TellError>(this, EndOf(*qp));
}

void
TraceCollector::TellError(const End& failed)
{
    if (m_options.notes)
    {
        return; // what is flushed is told of one by one
    }
    PendingMessages::Sender& sender = Find(failed.endpoint, failed.number);
    if (!sender.failed)
    {
        sender.failed = true;
        m_outstanding -= IsRemote(failed) ? 0 : sender.count;
    }
}

// Measuring --------------------------------------------------------------------------------------

void
TraceCollector::StartMeasuring(int64_t nowPs)
{
    m_measuring = true;
    if (!m_marked)
    {
        m_pending.ForgetMeasured();
        m_posts = 0;
        m_flows->Clear();
        m_flowWays.Clear();
        if (m_attribution)
        {
            m_attribution->Clear();
        }
        if (m_paths)
        {
            m_paths->Clear();
            m_packetsSince = nowPs;
            for (auto& packets : m_packets)
            {
                packets.clear();
            }
        }
        if (m_interference)
        {
            m_interference->Clear(nowPs);
        }
    }
    m_links->StartMeasuring(nowPs);
    m_baseline = FabricBaseline(m_fabric, nowPs);
    m_baseline.carried = m_carried;
    m_events->StartMeasuring(nowPs);
}

void
TraceCollector::NoteOrdinary(int64_t nowPs)
{
    if (!m_interference || !m_ownerOfOrdinary)
    {
        return;
    }
    std::vector<uint64_t> bytes(m_fabric.GetNEnds());
    for (uint32_t i = 0; i < m_fabric.GetPorts().size(); ++i)
    {
        const uint64_t before =
            i < m_baseline.ordinaryBytes.size() ? m_baseline.ordinaryBytes[i] : 0;
        bytes[m_fabric.GetEnd(i)] = m_fabric.GetPorts()[i]->GetCounters().ordinaryBytes - before;
    }
    m_interference->SetOrdinary(*m_ownerOfOrdinary, bytes, nowPs);
}

void
TraceCollector::Finish(int64_t nowPs)
{
    if (m_finished)
    {
        return;
    }
    m_finished = true;
    if (m_attribution && !m_options.out.empty())
    {
        m_attribution->Write(InFolder(m_options.out, "attribution.csv"));
    }
    for (uint32_t to = 0; to < m_packets.size(); ++to)
    {
        for (const auto& [way, packets] : m_packets[to])
        {
            m_paths->AddPackets(way.first, to, way.second, packets);
        }
    }
    if (m_paths && !m_options.out.empty())
    {
        m_paths->Write(InFolder(m_options.out, "paths.csv"));
    }
    if (m_queuePairLog && !m_options.out.empty() && Ranks::Get().IsFirst())
    {
        m_queuePairLog->GetTable().Write(InFolder(m_options.out, "queue_pairs.csv"));
    }
    const Ranks& ranks = Ranks::OfHosts();
    if (ranks.Several() && !m_options.notes)
    {
        // As they would have come in one process: by time, then by host and port, which is how
        // endpoints are numbered and ns3::RdmaEventOrder goes; an endpoint's own as they came (a
        // packet that was missing may complete several at once).
        std::vector<results::FlowRecord> records = ranks.GatherAll(m_records);
        m_records = {};
        const auto where =
            m_options.atSender ? &results::FlowRecord::src : &results::FlowRecord::dst;
        std::stable_sort(records.begin(),
                         records.end(),
                         [where](const results::FlowRecord& a, const results::FlowRecord& b) {
                             return std::make_pair(a.end, a.*where) <
                                    std::make_pair(b.end, b.*where);
                         });
        for (const results::FlowRecord& record : records)
        {
            m_flows->Add(record);
        }
    }
    if (Ranks::Get().Several())
    {
        m_links->MergeRanks(nowPs);
    }
    m_flows->Finish();
    m_links->Finish(nowPs);
    m_events->Finish(nowPs);
}

} // namespace dltrain
