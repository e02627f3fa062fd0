/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Flows, and the queue pairs that they need.
 */
#include "contrib/rdma/core/roce-sizes.h"
#include "scenarios/dry-run/message-counter.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <unordered_set>
#include <vector>

namespace scenario
{

namespace
{

/// Until a queue pair serves another flow, with --queue-pairs=reused: it rests for 2 ms, after the
/// flow's time: assumed to be ten times that of the mean flow alone, 2 ms at most.
constexpr double kRest = 2e-3;
constexpr double kSlowdown = 10;
constexpr double kBuffer = 4e6; ///< bytes of a TCP connection (docs/tcp.md)

uint64_t
PairOf(const Flow& flow)
{
    return static_cast<uint64_t>(flow.src) << 32 | flow.dst;
}

} // namespace

/// Flows of TCP or UDP, one after the other.
void
MessageCounter::AddOrdinary(const Flow& flow,
                            const ProtocolSpec& protocol,
                            QueuePairUse use,
                            double times)
{
    constexpr double kHandshake = 3; // packets
    constexpr uint32_t kEthernet = rdma::kEthernetHeaderBytes + rdma::kFcsBytes +
                                   rdma::kPreambleBytes + rdma::kInterFrameGapBytes;
    const uint32_t headers = protocol.HeaderBytes();
    const uint64_t payload = protocol.packetMtu - headers;
    const uint64_t packets = std::max<uint64_t>(1, (flow.bytes + payload - 1) / payload);
    const auto header = static_cast<double>(headers + kEthernet);
    if (!protocol.IsTcp())
    {
        AddPackets(flow.src,
                   flow.dst,
                   flow.bytes,
                   {packets, header, 0},
                   {WorkKind::kUdpFlow, WorkKind::kUdpFrame, WorkKind::kUdpHop},
                   times);
        return;
    }
    // An idle connection between the same two serves again: each pair is assumed to open one.
    const bool opens = use == QueuePairUse::kPerFlow || m_tcpPairs.insert(PairOf(flow)).second;
    const double opened = !opens ? 0 : use == QueuePairUse::kPerFlow ? times : 1;
    m_sum.connections += opened;
    m_sum.work[WorkKind::kTcpConnection] += opened;
    AddPackets(flow.src,
               flow.dst,
               flow.bytes,
               {packets, header, static_cast<double>(packets) + kHandshake * opened / times},
               {WorkKind::kTcpFlow, WorkKind::kTcpFrame, WorkKind::kTcpHop},
               times);
}

/// Bytes that are fetched: a request for them, which their arrival answers.
void
MessageCounter::AddRead(const Flow& flow, double times)
{
    const Kinds kinds = KindsOf(true);
    AddPart(flow.src, flow.dst, flow.bytes, 0, kinds, times);
    const double hops = Hops(flow.dst, flow.src) * times;
    m_sum.frameHops += hops;
    m_sum.work[kinds.hop] += hops;
    m_sum.work[kinds.frame] += times;
}

void
MessageCounter::AddFlow(const Flow& flow,
                        FlowOperation operation,
                        const ProtocolSpec& protocol,
                        QueuePairUse use,
                        double times)
{
    if (protocol.IsOrdinary())
    {
        AddOrdinary(flow, protocol, use, times);
    }
    else if (operation == FlowOperation::kRead)
    {
        AddRead(flow, times);
    }
    else
    {
        AddMessage(flow.src, flow.dst, flow.bytes, KindsOf(true), times);
    }
}

/// From the start of a flow until its queue pair may serve another one, in the mean.
rdma::Duration
MessageCounter::ReuseTime(const std::vector<Flow>& flows) const
{
    double seconds = 0;
    for (const Flow& flow : flows)
    {
        const topo::Endpoint& at = m_topology.Endpoints()[flow.src];
        const topo::LinkId link = m_topology.Nodes()[at.host].ports[at.port];
        seconds += 8 * static_cast<double>(flow.bytes) /
                   static_cast<double>(m_topology.Links()[link].rate.bps);
    }
    const double mean = seconds / std::max(1.0, static_cast<double>(flows.size()));
    return rdma::Duration(static_cast<int64_t>(1e12 * (kRest + std::min(kRest, kSlowdown * mean))));
}

rdma::TimePoint
MessageCounter::AddFlows(const std::vector<Flow>& flows,
                         FlowOperation operation,
                         const ProtocolSpec& protocol,
                         QueuePairUse queuePairs,
                         const FlowWindow& window)
{
    std::unordered_set<uint64_t> pairs;
    std::size_t resting = 0; // the first flow whose queue pair is not yet free for another
    std::size_t most = 0;
    rdma::TimePoint lastStart;
    const rdma::Duration reuse = ReuseTime(flows);
    for (std::size_t i = 0; i < flows.size(); ++i)
    {
        const Flow& f = flows[i];
        lastStart = std::max(lastStart, f.start);
        AddFlow(f, operation, protocol, queuePairs, 1);
        switch (queuePairs)
        {
        case QueuePairUse::kPerFlow:
            most = i + 1;
            break;
        case QueuePairUse::kReused:
            while (flows[resting].start.ps + reuse.ps < f.start.ps)
            {
                ++resting;
            }
            most = std::max(most, i + 1 - resting);
            break;
        case QueuePairUse::kPerPair:
            pairs.insert(PairOf(f));
            most = pairs.size();
            break;
        }
    }
    const double connections = static_cast<double>(most);
    if (protocol.IsOrdinary())
    {
        m_sum.connections += protocol.IsTcp() ? 0 : connections; // those of TCP are counted
        double bytes = 0;
        for (const Flow& flow : flows)
        {
            bytes += std::min(kBuffer, static_cast<double>(flow.bytes));
        }
        m_buffered += bytes * connections / std::max(1.0, static_cast<double>(flows.size()));
        return lastStart;
    }
    Connect({window.outstanding && queuePairs == QueuePairUse::kReused
                 ? std::min(connections, Reused(flows, operation, window))
                 : connections,
             0});
    AddCnpsOf(flows, lastStart);
    return lastStart;
}

/// The CNPs of flows that begin together, or nearly: before the busiest link is half done.
void
MessageCounter::AddCnpsOf(const std::vector<Flow>& flows, rdma::TimePoint lastStart)
{
    constexpr double kTogether = 0.5; // assumed
    if (!HasCnps(m_fabric) || flows.size() < 2 || flows.size() > kMostAtOnce ||
        static_cast<double>(lastStart.ps - flows.front().start.ps) * 1e-12 >
            kTogether * BusiestPortSeconds())
    {
        return;
    }
    std::vector<SendAtOnce> sends;
    sends.reserve(flows.size());
    for (const Flow& flow : flows)
    {
        sends.push_back({flow.src, flow.dst, static_cast<double>(Packets(flow.bytes))});
    }
    AddCnps(sends);
}

double
MessageCounter::Reused(const std::vector<Flow>& flows,
                       FlowOperation operation,
                       const FlowWindow& window) const
{
    const auto& endpoints = m_topology.Endpoints();
    std::vector<double> count(endpoints.size());
    std::vector<double> bytes(endpoints.size());
    for (const Flow& f : flows)
    {
        const uint32_t poster = operation == FlowOperation::kRead ? f.dst : f.src;
        ++count[poster];
        bytes[poster] += static_cast<double>(f.bytes);
    }
    double sum = 0;
    for (size_t i = 0; i < endpoints.size(); ++i)
    {
        // As many as the NIC's rate lets end while one rests, and those under way.
        const topo::Node& host = m_topology.Nodes()[endpoints[i].host];
        const auto rate =
            static_cast<double>(m_topology.Links()[host.ports[endpoints[i].port]].rate.bps);
        const double seconds = static_cast<double>(window.rest.ps) * 1e-12;
        const double ended = rate * seconds / 8 / std::max(1.0, bytes[i]) * count[i];
        sum += std::min(count[i], window.outstanding + ended);
    }
    return sum;
}

} // namespace scenario
