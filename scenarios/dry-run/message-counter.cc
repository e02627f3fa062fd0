/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "scenarios/dry-run/message-counter.h"

#include "collectives/aggregation/aggregators.h"
#include "collectives/core/placement.h"
#include "collectives/core/registry.h"
#include "contrib/rdma/core/roce-sizes.h"
#include "scenarios/collective/collective-options.h"
#include "scenarios/network/cluster-options.h"
#include "scenarios/network/rail-options.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <unordered_set>

namespace scenario
{

namespace
{

/// Beyond this a schedule is sampled.
constexpr double kMostSteps = 4e6;
/// Until a queue pair serves another flow, with --queue-pairs=reused: it rests for 2 ms; as long
/// again for the flow (assumed).
constexpr rdma::Duration kReuseTime = rdma::Milliseconds(4);

} // namespace

MessageCounter::MessageCounter(const topo::Topology& topology,
                               const FabricSpec& fabric,
                               const ConnectionSpec& connections)
    : m_topology(topology),
      m_fabric(fabric),
      m_connection(connections),
      m_hops(topology),
      m_out(topology.Endpoints().size()),
      m_in(topology.Endpoints().size())
{
    for (const topo::Link& link : topology.Links())
    {
        m_errorRate = std::max(m_errorRate, link.bitErrorRate);
    }
}

void
MessageCounter::Add(topo::EndpointId from, topo::EndpointId to, uint64_t bytes, double times)
{
    const uint32_t parts = m_connection.split ? m_connection.queuePairs : 1;
    for (uint32_t i = 0; i < parts; ++i)
    {
        const uint64_t part = m_connection.split ? m_connection.PartOf(bytes, i) : bytes;
        AddPart(from, to, part, AcksOfEach(Packets(part), times), times);
    }
}

/// A flow of TCP or UDP.
void
MessageCounter::AddOrdinary(const Flow& flow, const ProtocolSpec& protocol)
{
    constexpr uint32_t kEthernet = rdma::kEthernetHeaderBytes + rdma::kFcsBytes +
                                   rdma::kPreambleBytes + rdma::kInterFrameGapBytes;
    const uint32_t headers = protocol.HeaderBytes();
    const uint64_t payload = protocol.packetMtu - headers;
    const uint64_t packets = std::max<uint64_t>(1, (flow.bytes + payload - 1) / payload);
    const double acks = protocol.IsTcp() ? static_cast<double>(packets) + 3 : 0;
    AddPackets(flow.src, flow.dst, flow.bytes, packets, headers + kEthernet, acks, 1);
}

/// Bytes that are fetched: a request for them, which their arrival answers.
void
MessageCounter::AddRead(const Flow& flow)
{
    AddPart(flow.src, flow.dst, flow.bytes, 0, 1);
    m_sum.frameHops += Hops(flow.dst, flow.src);
}

CommunicatorNeeds
MessageCounter::AddCollective(const coll::Collective& what,
                              const std::vector<coll::Rank>& members,
                              const ClusterSpec& cluster,
                              const CollectiveOptions& options,
                              double times)
{
    const coll::Placement placement = PlacementOf(cluster, members);
    const coll::Choice choice = ChoiceOf(options, what, placement);
    const auto schedule =
        choice.algorithm->Make(what, placement, options.OptionsFor(what.op, choice));
    const topo::ProtocolTimes wire =
        choice.protocol ? options.machine.library.Of(*choice.protocol) : topo::ProtocolTimes{};

    // A member's server; a switch between servers: a number behind them.
    const auto hostOf = [&](coll::Rank member) {
        if (member < what.ranks)
        {
            return placement.serverOf[member];
        }
        const coll::NetworkNode& node = schedule->NetworkNodes()[member - what.ranks];
        return node.kind == coll::NetworkNode::kFabricSwitch ? cluster.servers + node.where
                                                             : node.where;
    };
    const auto endpointOf = [&](uint32_t host, uint32_t towards, topo::PortId nic) {
        if (host < cluster.servers)
        {
            return m_topology.EndpointOf(cluster.hostOfServer[host], PortOf(m_topology, nic));
        }
        const coll::Aggregators& switches = *cluster.aggregators;
        const uint32_t unit = host - cluster.servers;
        return m_topology.EndpointOf(
            switches.Units()[unit].host,
            static_cast<topo::PortId>(switches.PortTo(nic, unit, towards)));
    };

    double steps = 0;
    for (coll::Rank r = 0; r < schedule->Members(); ++r)
    {
        for (coll::Lane l = 0; l < schedule->Lanes(r); ++l)
        {
            steps += schedule->Steps(r, l);
        }
    }
    // Evenly: steps stride/2, stride/2 + stride, ... of a lane stand for stride steps each.
    const uint32_t stride =
        steps > kMostSteps ? static_cast<uint32_t>(std::ceil(steps / kMostSteps)) : 1;
    if (stride > 1)
    {
        m_sum.sampled = true;
    }
    const uint32_t nics = std::max(1u, cluster.server.nics);
    CommunicatorNeeds kept;
    // The last lane of a member that sent to this one.
    std::vector<uint32_t> metIn(schedule->Members(), 0);
    uint32_t lane = 0;
    for (coll::Rank r = 0; r < schedule->Members(); ++r)
    {
        const uint32_t from = hostOf(r);
        for (coll::Lane l = 0; l < schedule->Lanes(r); ++l)
        {
            ++lane;
            kept.lanes += 1;
            double peers = 0;
            double sends = 0;
            double posted = 0;
            double postedInside = 0;
            const coll::StepIndex count = schedule->Steps(r, l);
            const coll::StepIndex samples = (count + stride - 1) / stride;
            if (samples == 0)
            {
                continue;
            }
            const double weight = static_cast<double>(count) / samples * times;
            const uint32_t channel = schedule->Channel(l);
            const bool own = OwnNics(options, *choice.algorithm, what.op);
            // As CollectiveRunner has it.
            const auto nicOf = [&](coll::Rank rank) {
                const uint32_t beside =
                    own ? coll::NicNearGpu(placement.gpuOf[rank], cluster.server.gpus, nics) : 0;
                return static_cast<topo::PortId>((beside + channel) % nics);
            };
            const topo::PortId nic = r < what.ranks ? nicOf(r) : channel % nics;
            for (coll::StepIndex i = 0; i < samples; ++i)
            {
                const coll::Step step =
                    schedule->At(r, l, std::min(count - 1, i * stride + stride / 2));
                if (step.sendPeer == coll::kNoRank)
                {
                    continue;
                }
                if (r < what.ranks)
                {
                    Send(coll::OpName(what.op), static_cast<double>(step.sendBytes) * weight);
                }
                const uint32_t to = hostOf(step.sendPeer);
                if (step.recvPeer == coll::kNoRank)
                {
                    (to == from ? postedInside : posted) += static_cast<double>(count) / samples;
                }
                if (to == from)
                {
                    AddInside(weight);
                    continue;
                }
                ++sends;
                peers += metIn[step.sendPeer] == lane ? 0 : 1;
                metIn[step.sendPeer] = lane;
                const bool peers = own && options.peersRail;
                Add(endpointOf(from, to, peers ? nicOf(step.sendPeer) : nic),
                    endpointOf(to, from, own ? nicOf(step.sendPeer) : nic),
                    wire.BytesOnWire(step.sendBytes),
                    weight);
            }
            constexpr double kMany = 1000; // less is a few hundred kB
            kept.posted += posted > kMany ? posted : 0;
            kept.postedInside += postedInside > kMany ? postedInside : 0;
            // If no peer comes twice in a sample, the peers between the samples are others still.
            kept.connections += peers == sends ? std::min(peers * stride, what.ranks - 1.0) : peers;
        }
    }
    return kept;
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
    for (std::size_t i = 0; i < flows.size(); ++i)
    {
        const Flow& f = flows[i];
        lastStart = std::max(lastStart, f.start);
        if (protocol.IsOrdinary())
        {
            AddOrdinary(f, protocol);
        }
        else if (operation == FlowOperation::kRead)
        {
            AddRead(f);
        }
        else
        {
            Add(f.src, f.dst, f.bytes, 1);
        }
        switch (queuePairs)
        {
        case QueuePairUse::kPerFlow:
            most = i + 1;
            break;
        case QueuePairUse::kReused:
            while (flows[resting].start.ps + kReuseTime.ps < f.start.ps)
            {
                ++resting;
            }
            most = std::max(most, i + 1 - resting);
            break;
        case QueuePairUse::kPerPair:
            pairs.insert(static_cast<uint64_t>(f.src) << 32 | f.dst);
            most = pairs.size();
            break;
        }
    }
    const double connections = static_cast<double>(most);
    Connect({window.outstanding && queuePairs == QueuePairUse::kReused
                 ? std::min(connections, Reused(flows, operation, window))
                 : connections,
             0});
    return lastStart;
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

Estimate
MessageCounter::Result(const RunOptions& run, double ranks, double paths, double times) const
{
    Estimate e = m_sum;
    const auto links = static_cast<double>(m_topology.Links().size());
    SpeedNeeds& speed = e.speedNeeds;
    speed.links = links;
    speed.infiniBand = m_fabric.infiniBand;
    speed.windows = run.engine == "windows";
    speed.processes = run.processes;
    e.meanHops = e.dataPackets > 0 ? m_dataHops / e.dataPackets : 0;
    const auto& endpoints = m_topology.Endpoints();
    for (size_t i = 0; i < endpoints.size(); ++i)
    {
        const auto& link =
            m_topology.Links()[m_topology.Nodes()[endpoints[i].host].ports[endpoints[i].port]];
        e.busiestPortSeconds =
            std::max(e.busiestPortSeconds,
                     std::max(m_out[i], m_in[i]) * 8 /
                         (static_cast<double>(link.rate.bps) * m_topology.About().planes));
        speed.hosts += m_out[i] + m_in[i] > 0 ? 1 : 0;
    }
    e.speed = AssumeSpeed(speed);

    MemoryNeeds& memory = e.memoryNeeds;
    memory.links = links;
    memory.usedLinks = m_usedLinks;
    const double switches =
        static_cast<double>(m_topology.Nodes().size() - m_topology.Hosts().size());
    memory.routes = switches * static_cast<double>(endpoints.size());
    memory.connections = m_sum.connections;
    memory.bytesPerConnection = ConnectionBytes(m_fabric, run.attribution);
    memory.messages = m_sum.messages * times;
    memory.ranks = ranks;
    memory.lanes = m_lanes;
    memory.posted = m_posted;
    memory.postedInside = m_postedInside;
    memory.paths = paths;
    memory.infiniBand = m_fabric.infiniBand;
    e.memory = EstimateMemory(memory);
    return e;
}

uint64_t
MessageCounter::Packets(uint64_t bytes) const
{
    return std::max<uint64_t>(1, (bytes + m_fabric.mtu - 1) / m_fabric.mtu);
}

/// The last packet of a message asks for an ACK, and so does every ackEvery-th of its queue
/// pair, whose PSNs go on from message to message. The first begins with PSN 0; where later
/// ones begin in such a row is any multiple of what both numbers have in common, each as often.
double
MessageCounter::AcksOfEach(uint64_t packets, double times) const
{
    const uint64_t every = m_fabric.ackEvery;
    const auto first = static_cast<double>((packets + every - 1) / every);
    if (times <= 1)
    {
        return first;
    }
    const uint64_t common = std::gcd(packets, every);
    const double later = 1 + static_cast<double>(packets - common) / static_cast<double>(every);
    return (first + (times - 1) * later) / times;
}

/// Adds messages over one queue pair, each with so many ACKs.
void
MessageCounter::AddPart(topo::EndpointId from,
                        topo::EndpointId to,
                        uint64_t bytes,
                        double acks,
                        double times)
{
    // The header of a whole packet: a short frame is padded.
    const double header =
        static_cast<double>(
            m_fabric.frames.DataWire(rdma::RoceOpcode::kWriteMiddle, m_fabric.mtu)) -
        m_fabric.mtu;
    AddPackets(from, to, bytes, Packets(bytes), header, acks, times);
}

void
MessageCounter::AddPackets(topo::EndpointId from,
                           topo::EndpointId to,
                           uint64_t bytes,
                           uint64_t packets,
                           double header,
                           double acks,
                           double times)
{
    const double hops = Hops(from, to);
    const double n = static_cast<double>(packets) * times;
    m_usedLinks += hops;
    m_sum.messages += times;
    m_sum.networkBytes += static_cast<double>(bytes) * times;
    m_sum.dataPackets += n;
    m_sum.ackPackets += acks * times;
    m_sum.frameHops += hops * (n + acks * times);
    m_dataHops += hops * n;
    const double frame = static_cast<double>(bytes) / static_cast<double>(packets) + header -
                         m_fabric.frames.lineOverhead;
    m_sum.arriving += n * std::exp(8 * frame * hops * std::log1p(-m_errorRate));
    const double wire =
        (static_cast<double>(bytes) + static_cast<double>(packets) * header) * times;
    m_out[from] += wire;
    m_in[to] += wire;
}

/// The hops of a pair. If the routes of a network would take minutes, the paths that are not looked
/// at have the others' mean.
double
MessageCounter::Hops(topo::EndpointId from, topo::EndpointId to)
{
    if (const auto hops = m_hops.Hops(from, to))
    {
        ++m_knownPaths;
        m_knownHops += *hops;
        return *hops;
    }
    m_sum.sampled = true;
    return m_knownPaths > 0 ? m_knownHops / m_knownPaths : 0;
}

} // namespace scenario
