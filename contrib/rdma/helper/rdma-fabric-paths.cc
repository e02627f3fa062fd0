/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * The part of RdmaFabric that is about paths: which links, and how long they take when they are
 * idle.
 */
#include "rdma-fabric.h"

#include <algorithm>

namespace ns3
{

std::vector<rdma::PathLink>
RdmaFabric::GetPath(uint32_t from, uint32_t to) const
{
    return GetLinksOf(Walk(from, to, [this, to](uint32_t node) {
        return m_linkLayer->GetNextPort(*this, node, to);
    }));
}

std::vector<uint32_t>
RdmaFabric::GetEndsOfFlow(uint32_t from, uint32_t to, uint32_t flowHash) const
{
    return Walk(from, to, [this, to, flowHash](uint32_t node) {
        return m_linkLayer->GetPortOfFlow(*this, node, to, flowHash);
    });
}

std::vector<rdma::PathLink>
RdmaFabric::GetWholePath(uint32_t from, uint32_t to) const
{
    if (!m_wholeRoutes)
    {
        return GetPath(from, to);
    }
    return GetLinksOf(Walk(
        from,
        to,
        [this, to](uint32_t node) {
            const auto hops = m_wholeRoutes->NextHops(node, to);
            return hops.empty() ? RdmaSwitchBase::NO_PORT : hops[0];
        },
        true));
}

std::vector<uint32_t>
RdmaFabric::Walk(uint32_t from,
                 uint32_t to,
                 const std::function<uint16_t(uint32_t node)>& nextPort,
                 bool evenDown) const
{
    std::vector<uint32_t> ends{m_endsOfNode[m_endpoints[from].host][m_endpoints[from].port]};
    for (;;)
    {
        const uint32_t end = ends.back();
        if (!evenDown && m_linkDown[end / 2])
        {
            return {};
        }
        const uint32_t next = GetNodeOfEnd(end ^ 1);
        if (!m_isSwitch[next])
        {
            return next == m_endpoints[to].host ? ends : std::vector<uint32_t>{};
        }
        const uint16_t own = m_sourceRoutes.empty() ? rdma::SourceRoutes::kNone
                                                    : m_sourceRoutes[next].Find(from, to);
        const uint16_t port = own != rdma::SourceRoutes::kNone ? own : nextPort(next);
        if (port == RdmaSwitchBase::NO_PORT || ends.size() > m_names.size())
        {
            return {};
        }
        ends.push_back(m_endsOfNode[next][port]);
    }
}

std::vector<rdma::PathLink>
RdmaFabric::GetLinksOf(const std::vector<uint32_t>& ends) const
{
    std::vector<rdma::PathLink> path;
    for (const uint32_t end : ends)
    {
        const RdmaLinkSpec& link = m_links[end / 2];
        const uint32_t next = GetNodeOfEnd(end ^ 1);
        path.push_back({rdma::BitRate(link.rateBps),
                        rdma::Duration(link.delayPs),
                        rdma::Duration(m_pipelinePs[next]),
                        rdma::Duration(m_timeUnitPs)});
        // A host acknowledges a packet when it has all of it.
        path.back().cutThrough = m_cutThrough[next];
        if (m_cutThroughBytes[next])
        {
            path.back().headers = rdma::SerializationTime(rdma::Bytes(m_cutThroughBytes[next]),
                                                          path.back().rate,
                                                          path.back().timeUnit);
        }
    }
    return path;
}

uint32_t
RdmaFabric::GetPathClass(uint32_t from, uint32_t to)
{
    const uint64_t pair = static_cast<uint64_t>(from) << 32 | to;
    const auto known = m_classOfPair.find(pair);
    if (known != m_classOfPair.end())
    {
        return known->second;
    }
    if (m_classOfPair.size() >= MOST_REMEMBERED)
    {
        m_classOfPair.clear();
    }
    std::vector<int64_t> signature;
    for (const rdma::PathLink& link : GetWholePath(from, to))
    {
        signature.insert(signature.end(),
                         {static_cast<int64_t>(link.rate.bps),
                          link.delay.ps,
                          link.pipeline.ps,
                          link.cutThrough});
    }
    const uint32_t number = static_cast<uint32_t>(m_pathClasses.size());
    return m_classOfPair[pair] = m_pathClasses.emplace(signature, number).first->second;
}

RdmaFabric::MessageLoad
RdmaFabric::GetLoadOfMessage(uint64_t bytes, bool withImmediate) const
{
    const rdma::FrameSizes& sizes = GetFrameSizes(0);
    MessageLoad load{};
    for (const rdma::FrameRun& run :
         rdma::RoceWriteRuns(rdma::Bytes(bytes), m_mtu, withImmediate, sizes))
    {
        load.frames += run.count;
        load.wireBytes += run.count * run.wireBytes.value;
    }
    const uint32_t every = m_answersEach ? 1 : m_ackEvery;
    load.acks = (load.frames + every - 1) / every;
    load.ackWireBytes = load.acks * sizes.ackWire;
    return load;
}

int64_t
RdmaFabric::GetIdealCompletion(uint32_t from,
                               uint32_t to,
                               uint64_t bytes,
                               bool withImmediate,
                               RdmaOperation operation,
                               bool atSender,
                               uint8_t trafficClass)
{
    const rdma::FrameSizes& sizes = GetFrameSizes(trafficClass);
    int64_t request = 0;
    if (operation == RdmaOperation::READ)
    {
        // The request on its way there; the rest is the way back, to who asked.
        const rdma::FrameRun frame{rdma::Bytes(sizes.DataWire(rdma::RoceOpcode::kReadRequest, 0)),
                                   1,
                                   rdma::Bytes(0)};
        request = rdma::IdealCompletion(GetWholePath(from, to), {frame}).ps;
        std::swap(from, to);
        atSender = false;
    }
    const auto key = std::make_tuple((GetPathClass(from, to) * 2 + withImmediate) * 4 +
                                         static_cast<uint32_t>(operation),
                                     atSender ? GetPathClass(to, from) + 1 : 0,
                                     bytes,
                                     trafficClass);
    const auto known = m_ideal.find(key);
    if (known != m_ideal.end())
    {
        return request + known->second;
    }
    const rdma::Bytes message(bytes);
    auto runs = operation == RdmaOperation::READ ? rdma::RoceReadResponseRuns(message, m_mtu, sizes)
                : operation == RdmaOperation::SEND
                    ? rdma::RoceSendRuns(message, m_mtu, withImmediate, sizes)
                    : rdma::RoceWriteRuns(message, m_mtu, withImmediate, sizes);
    const auto path = GetPathOfMessage(from, to, atSender);
    if (atSender)
    {
        const bool each = trafficClass ? m_classes[trafficClass - 1].ackPerPacket : m_ackEvery == 1;
        rdma::AddAcks(runs, rdma::Bytes(sizes.ackWire), each);
    }
    const int64_t ideal = IdealOf(path, runs);
    if (m_ideal.size() >= MOST_REMEMBERED) // sizes differ, too
    {
        m_ideal.clear();
    }
    m_ideal.emplace(key, ideal);
    return request + ideal;
}

int64_t
RdmaFabric::GetIdealCompletion(uint32_t from,
                               uint32_t to,
                               const std::vector<rdma::FrameRun>& runs,
                               bool atSender) const
{
    return IdealOf(GetPathOfMessage(from, to, atSender), runs);
}

std::vector<rdma::PathLink>
RdmaFabric::GetPathOfMessage(uint32_t from, uint32_t to, bool atSender) const
{
    std::vector<rdma::PathLink> path = GetWholePath(from, to);
    if (atSender)
    {
        for (rdma::PathLink link : GetWholePath(to, from))
        {
            link.carriesAcks = true;
            path.push_back(link);
        }
    }
    return path;
}

int64_t
RdmaFabric::IdealOf(const std::vector<rdma::PathLink>& path,
                    const std::vector<rdma::FrameRun>& runs) const
{
    return (m_overtaking ? rdma::IdealOvertaking(path, runs) : rdma::IdealCompletion(path, runs))
        .ps;
}

// Round-trip times
// ---------------------------------------------------------------------------------

int64_t
RdmaFabric::SerializationOver(uint32_t end, uint32_t wireBytes) const
{
    return rdma::SerializationTime(rdma::Bytes(wireBytes),
                                   rdma::BitRate(m_links[end / 2].rateBps),
                                   rdma::Duration(m_timeUnitPs))
        .ps;
}

rdma::RoundTripLink
RdmaFabric::RoundTripOver(uint32_t end, const rdma::FrameSizes& sizes) const
{
    const RdmaLinkSpec& link = m_links[end / 2];
    rdma::RoundTripLink over;
    over.to = GetNodeOfEnd(end ^ 1);
    over.rate = rdma::BitRate(link.rateBps);
    over.data =
        SerializationOver(end, sizes.DataWire(rdma::RoceOpcode::kWriteOnlyWithImmediate, m_mtu));
    over.ack = SerializationOver(end, sizes.ackWire);
    over.rest = 2 * link.delayPs + m_pipelinePs[link.a] + m_pipelinePs[link.b];
    const uint32_t headers = std::max(m_cutThroughBytes[link.a], m_cutThroughBytes[link.b]);
    over.headers = headers ? SerializationOver(end, headers) : 0;
    return over;
}

int64_t
RdmaFabric::GetBaseRtt(uint32_t endpoint, uint8_t trafficClass)
{
    const rdma::FrameSizes& sizes = GetFrameSizes(trafficClass);
    const auto [known, isNew] = m_roundTrips.try_emplace(trafficClass);
    if (isNew)
    {
        for (uint32_t node = 0; node < GetNNodes(); ++node)
        {
            known->second.AddNode(m_isSwitch[node], m_cutThroughBytes[node] > 0);
            for (const uint32_t end :
                 m_isSwitch[node] ? m_endsOfNode[node] : std::vector<uint32_t>())
            {
                known->second.AddLink(RoundTripOver(end, sizes));
            }
        }
    }
    const uint32_t end = m_endsOfNode[m_endpoints[endpoint].host][m_endpoints[endpoint].port];
    return known->second.ToFarthestHost(RoundTripOver(end, sizes));
}

uint64_t
RdmaFabric::GetBdpCap(uint32_t endpoint, uint8_t trafficClass)
{
    const uint32_t end = m_endsOfNode[m_endpoints[endpoint].host][m_endpoints[endpoint].port];
    const int64_t packet = // at a coarse unit of time it may be 0
        std::max<int64_t>(1, SerializationOver(end, GetFrameSizes(trafficClass).FullWire(m_mtu)));
    const RdmaTransportScheme* recovery = // as RdmaNic::GetBdpCap
        trafficClass ? m_classes[trafficClass - 1].recovery : m_nicDefaults.recovery;
    const uint64_t factor = recovery ? std::max(1U, recovery->bdpFactor) : 1;
    return std::min(
        factor * static_cast<uint64_t>((GetBaseRtt(endpoint, trafficClass) + packet - 1) / packet),
        RdmaQueuePair::MAX_OUTSTANDING);
}

} // namespace ns3
