/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "journey-collector.h"

#include "reports/attribution/message-id.h"
#include "scenarios/placement/queue-pair-pattern.h"

#include "ns3/callback.h"

#include <algorithm>
#include <utility>

namespace dltrain
{

using reports::MessageId;

namespace
{

std::vector<scenario::QueuePairPattern>
Parsed(const std::vector<std::string>& texts)
{
    std::vector<scenario::QueuePairPattern> patterns(texts.size());
    std::transform(texts.begin(), texts.end(), patterns.begin(), scenario::QueuePairPattern::Parse);
    return patterns;
}

} // namespace

JourneyCollector::JourneyCollector(ns3::RdmaFabric& fabric,
                                   const Names& names,
                                   const std::vector<std::string>& paths)
    : m_fabric(fabric),
      m_names(names),
      m_parts(fabric),
      m_attribution(names.endpoints, names.ports, names.tags, names.words)
{
    m_attribution.SetNotes(&names.notes);
    if (!paths.empty())
    {
        ChoosePaths(paths);
    }
    for (uint32_t e = 0; e < m_fabric.GetNEndpoints(); ++e)
    {
        m_fabric.GetNic(e)->NoteJourneys();
        if (m_paths)
        {
            m_fabric.GetNic(e)->NoteWays(m_wanted);
            m_fabric.GetNic(e)->TraceConnectWithoutContext(
                "Way",
                ns3::MakeCallback(&JourneyCollector::OnWay, this));
        }
    }
}

void
JourneyCollector::ChoosePaths(const std::vector<std::string>& texts)
{
    const auto isWanted = [this, patterns = Parsed(texts)](uint32_t from, uint32_t to) {
        return std::any_of(patterns.begin(),
                           patterns.end(),
                           [&](const scenario::QueuePairPattern& pattern) {
                               return pattern.Covers(m_names.endpoints[from],
                                                     m_names.endpoints[to]);
                           });
    };
    m_paths = std::make_unique<reports::PathTable>(m_names.endpoints, m_names.ports, isWanted);
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

void
JourneyCollector::OnWay(ns3::RdmaQueuePair* qp, const ns3::RdmaJourney& journey, int64_t)
{
    if (MessageId::IsWarmup(journey.request) || journey.posted < m_packetsSince)
    {
        return;
    }
    reports::Way way{journey.nic};
    for (const ns3::RdmaJourney::Hop& hop : journey.hops)
    {
        way.push_back(hop.end);
    }
    ++m_packets[qp->GetNic()->GetEndpoint()][{qp->GetPeerEndpoint(), std::move(way)}];
}

void
JourneyCollector::Divide(const ns3::RdmaJourney& journey, int64_t now, reports::MessageParts& parts)
{
    m_parts.Divide(journey, now, parts);
}

void
JourneyCollector::AddOwner(const std::string& name)
{
    if (!m_interference)
    {
        m_interference = std::make_unique<reports::Interference>(m_names.ports);
    }
    m_interference->AddOwner(name);
}

void
JourneyCollector::AddOrdinary(int64_t beginPs, int64_t endPs, uint64_t bytes)
{
    if (m_interference && m_ownerOfOrdinary)
    {
        m_interference->AddOrdinary(beginPs, endPs, bytes);
    }
}

void
JourneyCollector::NoteOrdinary(const FabricBaseline& baseline, int64_t nowPs)
{
    if (!m_interference || !m_ownerOfOrdinary)
    {
        return;
    }
    std::vector<uint64_t> bytes(m_fabric.GetNEnds());
    for (uint32_t i = 0; i < m_fabric.GetPorts().size(); ++i)
    {
        const uint64_t before = i < baseline.ordinaryBytes.size() ? baseline.ordinaryBytes[i] : 0;
        bytes[m_fabric.GetEnd(i)] = m_fabric.GetPorts()[i]->GetCounters().ordinaryBytes - before;
    }
    m_interference->SetOrdinary(*m_ownerOfOrdinary, bytes, nowPs);
}

void
JourneyCollector::Add(const reports::FlowRecord& record,
                      uint64_t queuePair,
                      bool& wayNoted,
                      const reports::MessageParts* parts,
                      const reports::FlowTable& flows)
{
    if (parts && !std::exchange(wayNoted, true))
    {
        m_flowWays.Add(queuePair, *parts);
    }
    if (m_interference && parts)
    {
        m_interference->Add(
            record,
            *parts,
            flows.OwnerOf(record.tag),
            [&flows](uint32_t tag) { return flows.OwnerOf(tag); },
            m_ownerOfOrdinary.value_or(0));
    }
    if (!flows.IsAside(record.tag))
    {
        parts ? m_attribution.Add(record, *parts) : m_attribution.AddUnknown();
    }
    if (m_paths && parts)
    {
        m_paths->Add(record, *parts);
    }
}

void
JourneyCollector::AddUnmeasured(const reports::Interference::Passing& message,
                                const reports::MessageParts& parts,
                                uint32_t owner)
{
    if (m_interference)
    {
        m_interference->AddUnmeasured(message, parts, owner);
    }
}

void
JourneyCollector::StartMeasuring(int64_t nowPs)
{
    m_flowWays.Clear();
    m_attribution.Clear();
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

void
JourneyCollector::Finish(const std::string& folder)
{
    for (uint32_t to = 0; to < m_packets.size(); ++to)
    {
        for (const auto& [way, packets] : m_packets[to])
        {
            m_paths->AddPackets(way.first, to, way.second, packets);
        }
    }
    if (folder.empty())
    {
        return;
    }
    m_attribution.Write(folder + "/attribution.csv");
    if (m_paths)
    {
        m_paths->Write(folder + "/paths.csv");
    }
}

} // namespace dltrain
