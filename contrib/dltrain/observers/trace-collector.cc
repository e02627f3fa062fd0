/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "trace-collector.h"

#include "contrib/dltrain/ranks/rank-notes.h"
#include "contrib/dltrain/ranks/ranks.h"
#include "reports/base/old-results.h"

#include "ns3/callback.h"

#include <algorithm>
#include <utility>

namespace dltrain
{

using ns3::MakeCallback;

namespace
{

std::string
InFolder(const std::string& folder, const char* name)
{
    return folder.empty() ? "" : folder + "/" + name;
}

} // namespace

namespace
{

std::vector<std::string>
NamesOf(const std::vector<scenario::TrafficClass>& classes)
{
    std::vector<std::string> names;
    for (const scenario::TrafficClass& of : classes)
    {
        names.push_back(of.name);
    }
    return names;
}

} // namespace

TraceCollector::TraceCollector(ns3::RdmaFabric& fabric, const Options& options)
    : m_fabric(fabric),
      m_options(options),
      m_measuring(!options.warmup),
      m_pending(fabric.GetNEndpoints())
{
    if (!options.out.empty())
    {
        reports::RemoveOldResults(options.out, options.inputs);
    }
    m_words = fabric.GetLinkLayer().GetWords();
    NameAll();
    m_flows = std::make_unique<reports::FlowTable>(InFolder(options.out, "flows.csv"),
                                                   m_endpointNames,
                                                   m_tags,
                                                   options.seed,
                                                   options.flowRows,
                                                   10000,
                                                   NamesOf(options.classes));
    const std::string outOfPackets = options.law.empty() ? options.out : "";
    m_links =
        std::make_unique<LinkSampler>(fabric,
                                      InFolder(options.links ? outOfPackets : "", "links.csv"),
                                      m_portNames,
                                      options.linkIntervalPs,
                                      options.linkRows);
    if (!options.watch.ends.empty() && options.law.empty())
    {
        m_watch = std::make_unique<PortWatch>(fabric,
                                              InFolder(options.out, "watch.csv"),
                                              options.watch.ends,
                                              LinkSampler::LinksOf(fabric, m_portNames),
                                              options.watch.interval.ps,
                                              [this] { return m_links->IsAwake(); });
        m_links->SetWatch(m_watch.get());
    }
    m_events = std::make_unique<EventCollector>(
        fabric,
        m_endpointNames,
        m_portNames,
        m_portIndex,
        std::make_unique<reports::EventLog>(InFolder(outOfPackets, "network_events.log"),
                                            options.eventLinesPerKind,
                                            options.warmup));
    if (!options.queuePairs.empty())
    {
        const auto flowOf = [this](uint32_t endpoint, uint32_t number) {
            const PendingMessages::Message* oldest = m_pending.Oldest(Find(endpoint, number));
            return oldest ? oldest->flow : reports::QueuePairTable::NO_FLOW;
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
        if (m_watch)
        {
            m_watch->StartMeasuring(0);
        }
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
    // Throttled queue pairs are quiet for a while, though there are no posts.
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
    const auto onRetry = MakeCallback(&TraceCollector::OnRetry, this); // for all NICs
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
    m_journeys = std::make_unique<JourneyCollector>(
        m_fabric,
        JourneyCollector::Names{m_endpointNames, m_portNames, m_tags, m_words, m_linkNotes},
        m_options.paths);
    m_journeys->SetCollectives(&m_collectiveTags);
    m_arriving.resize(m_endpointNames.size());
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
    if (m_journeys)
    {
        m_journeys->AddOwner(name);
    }
    return owner;
}

RecalledLoads&
TraceCollector::GetRecalledLoads(uint32_t ranks, const coll::RecallSettings& settings)
{
    if (!m_recalled)
    {
        m_recalled = std::make_unique<RecalledLoads>(m_fabric.GetNEnds(), ranks, settings);
        if (m_links)
        {
            m_links->SetRecalled(m_recalled.get());
        }
    }
    return *m_recalled;
}

void
TraceCollector::StartMeasuring(int64_t nowPs)
{
    m_measuring = true;
    if (!m_marked)
    {
        m_pending.ForgetMeasured(nowPs);
        m_posts = 0;
        m_flows->Clear();
        if (m_journeys)
        {
            m_journeys->StartMeasuring(nowPs);
        }
    }
    m_links->StartMeasuring(nowPs);
    if (m_watch)
    {
        m_watch->StartMeasuring(nowPs);
    }
    m_baseline = FabricBaseline(m_fabric, nowPs);
    m_baseline.carried = m_carried;
    m_baseline.recalledMessages = m_recalled ? m_recalled->GetMessageBytes() : 0;
    for (uint32_t i = 0; m_recalled && i < m_fabric.GetPorts().size(); ++i)
    {
        m_baseline.recalledBytes.push_back(m_recalled->GetBytes(m_fabric.GetEnd(i), nowPs));
    }
    m_events->StartMeasuring(nowPs);
}

void
TraceCollector::MergeRecords()
{
    // As they would have come in one process: by time, then by host and port, which is how
    // endpoints are numbered and ns3::RdmaEventOrder goes; an endpoint's own as they came (a
    // packet that was missing may complete several at once).
    std::vector<reports::FlowRecord> records = Ranks::OfHosts().GatherAll(m_records);
    m_records = {};
    const auto where = m_options.atSender ? &reports::FlowRecord::src : &reports::FlowRecord::dst;
    std::stable_sort(records.begin(),
                     records.end(),
                     [where](const reports::FlowRecord& a, const reports::FlowRecord& b) {
                         return std::make_pair(a.end, a.*where) < std::make_pair(b.end, b.*where);
                     });
    for (const reports::FlowRecord& record : records)
    {
        m_flows->Add(record);
    }
}

void
TraceCollector::Finish(int64_t nowPs)
{
    if (m_finished)
    {
        return;
    }
    m_finished = true;
    if (m_journeys)
    {
        m_journeys->Finish(m_options.out);
    }
    if (m_queuePairLog && !m_options.out.empty() && Ranks::Get().IsFirst())
    {
        m_queuePairLog->GetTable().Write(InFolder(m_options.out, "queue_pairs.csv"));
    }
    if (Ranks::OfHosts().Several() && !m_options.notes)
    {
        MergeRecords();
    }
    if (Ranks::Get().Several())
    {
        m_links->MergeRanks(nowPs);
        if (m_watch)
        {
            m_watch->MergeRanks(nowPs);
        }
    }
    m_flows->Finish();
    m_links->Finish(nowPs);
    if (m_watch)
    {
        m_watch->Finish(nowPs);
    }
    m_events->Finish(nowPs);
}

} // namespace dltrain
