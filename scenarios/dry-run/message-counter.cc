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
#include "scenarios/network/network-kinds.h"
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

/// How CollectiveRunner works out the messages of a collective inside servers.
WorkKind
InsideKind(const coll::Collective& what,
           const coll::Placement& placement,
           const coll::Schedule& schedule,
           const coll::Choice& choice,
           const CollectiveOptions& options)
{
    if (options.insideOneByOne || options.stepLatency.ps > 0)
    {
        return WorkKind::kInside;
    }
    if (coll::HasSeveralServers(placement))
    {
        return schedule.PassesOn() && choice.protocol != topo::Protocol::kExchange
                   ? WorkKind::kPassedOn
                   : WorkKind::kInside;
    }
    return coll::NeedsAll(what) ? WorkKind::kAtOnce : WorkKind::kInside;
}

} // namespace

MessageCounter::MessageCounter(const topo::Topology& topology,
                               const FabricSpec& fabric,
                               const ConnectionSpec& connections)
    : m_topology(topology),
      m_fabric(fabric),
      m_connection(connections),
      m_hasPackets(HasPackets(fabric)),
      m_hops(topology),
      m_out(topology.Endpoints().size()),
      m_in(topology.Endpoints().size())
{
    for (const topo::Link& link : topology.Links())
    {
        m_errorRate = std::max(m_errorRate, link.bitErrorRate);
    }
}

MessageCounter::Kinds
MessageCounter::KindsOf(bool flow) const
{
    return {m_fabric.network == "fluid" ? WorkKind::kFluidMessage
            : m_fabric.network == "analytic" || m_fabric.network == "dims"
                ? WorkKind::kAnalyticMessage
            : flow ? WorkKind::kFlow
                   : WorkKind::kMessage,
            WorkKind::kFrame,
            WorkKind::kFrameHop};
}

void
MessageCounter::Add(topo::EndpointId from, topo::EndpointId to, uint64_t bytes, double times)
{
    AddMessage(from, to, bytes, KindsOf(false), times);
}

void
MessageCounter::AddMessage(topo::EndpointId from,
                           topo::EndpointId to,
                           uint64_t bytes,
                           const Kinds& kinds,
                           double times)
{
    const uint32_t parts = m_connection.split ? m_connection.queuePairs : 1;
    for (uint32_t i = 0; i < parts; ++i)
    {
        const uint64_t part = m_connection.split ? m_connection.PartOf(bytes, i) : bytes;
        AddPart(from, to, part, AcksOfEach(Packets(part), times), kinds, times);
    }
}

void
MessageCounter::AddCnps(const std::vector<SendAtOnce>& sends)
{
    const std::vector<double> shares = CnpsOfPackets(m_topology, sends);
    for (std::size_t i = 0; i < sends.size(); ++i)
    {
        const double cnps = shares[i] * sends[i].packets;
        if (cnps > 0)
        {
            const double hops = cnps * Hops(sends[i].to, sends[i].from);
            m_sum.cnps += cnps;
            m_sum.frameHops += hops;
            m_sum.work[WorkKind::kFrame] += cnps;
            m_sum.work[WorkKind::kFrameHop] += hops;
        }
    }
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
    const WorkKind inside = InsideKind(what, placement, *schedule, choice, options);
    const bool byFormula =
        options.insideByFormula && (options.allByFormula || !coll::HasSeveralServers(placement));
    std::vector<SendAtOnce> atOnce; // of every lane
    const bool meets = HasCnps(m_fabric);
    double chain = 0;    // steps of the longest lane that wait for a message
    double all = 0;      // messages
    double between = 0;  // servers
    double farthest = 0; // links
    double first = 0;    // messages between servers that wait for none
    std::unordered_set<topo::EndpointId> senders;
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
            double chained = 0;
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
                if (byFormula)
                {
                    continue;
                }
                const uint32_t to = hostOf(step.sendPeer);
                const bool waits = step.recvPeer != coll::kNoRank;
                chained += waits ? static_cast<double>(count) / samples : 0;
                all += weight;
                if (!waits)
                {
                    (to == from ? postedInside : posted) += static_cast<double>(count) / samples;
                }
                if (to == from)
                {
                    AddInside(weight, inside);
                    continue;
                }
                ++sends;
                peers += metIn[step.sendPeer] == lane ? 0 : 1;
                metIn[step.sendPeer] = lane;
                const bool peers = own && options.peersRail;
                const topo::EndpointId sender =
                    endpointOf(from, to, peers ? nicOf(step.sendPeer) : nic);
                const topo::EndpointId receiver =
                    endpointOf(to, from, own ? nicOf(step.sendPeer) : nic);
                const uint64_t bytes = wire.BytesOnWire(step.sendBytes);
                const double before = m_wireBytes;
                Add(sender, receiver, bytes, weight);
                between += weight;
                farthest = std::max(farthest, Hops(sender, receiver));
                if (waits)
                {
                    m_chainedBytes += m_wireBytes - before;
                }
                else
                {
                    first += static_cast<double>(count) / samples;
                    senders.insert(sender);
                    if (meets && atOnce.size() < kMostAtOnce)
                    {
                        const auto packets = static_cast<double>(Packets(bytes));
                        atOnce.push_back({sender, receiver, packets * weight});
                    }
                }
            }
            chain = std::max(chain, chained);
            constexpr double kMany = 1000; // less is a few hundred kB
            kept.posted += posted > kMany ? posted : 0;
            kept.postedInside += postedInside > kMany ? postedInside : 0;
            // If no peer comes twice in a sample, the peers between the samples are others still.
            kept.connections += peers == sends ? std::min(peers * stride, what.ranks - 1.0) : peers;
            if (m_fabric.network == "fluid" && posted > 1)
            {
                // Each begins and ends beside half of the others.
                m_sum.work[WorkKind::kFluidSharer] += posted * posted * times;
            }
        }
    }
    if (atOnce.size() > 1)
    {
        AddCnps(atOnce);
    }
    if (!senders.empty())
    {
        m_sideBySide = std::max(m_sideBySide, first / static_cast<double>(senders.size()));
    }
    // Of a chain's messages as large a share is between servers as of all.
    const double outside = wire.outside.Seconds() + farthest * m_fabric.linkDelay.Seconds() +
                           std::max(0.0, farthest - 1) * m_fabric.switchLatency.Seconds();
    const double share = all > 0 ? between / all : 0;
    kept.chainSeconds = chain * (share * outside + (1 - share) * wire.inside.Seconds());
    return kept;
}

Estimate
MessageCounter::Result(const RunOptions& run, double ranks, double paths, double times) const
{
    constexpr double kMany = 0.1; // CNPs of a packet
    Estimate e = m_sum;
    const auto links = static_cast<double>(m_topology.Links().size());
    SpeedNeeds& speed = e.speedNeeds;
    speed = SpeedNeedsOf(run, m_fabric);
    speed.links = links;
    speed.connections = m_sum.queuePairs;
    speed.mixed = m_sum.cnps > kMany * m_sum.dataPackets;
    e.meanHops = e.dataPackets > 0 ? m_dataHops / e.dataPackets : 0;
    e.chainedShare = m_wireBytes > 0 ? m_chainedBytes / m_wireBytes : 0;
    e.usedLinks = std::min(m_usedLinks, 2 * links);
    e.sideBySide = m_sideBySide;
    e.busiestPortSeconds = BusiestPortSeconds();
    const auto& endpoints = m_topology.Endpoints();
    for (size_t i = 0; i < endpoints.size(); ++i)
    {
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
    memory.buffered = m_buffered;
    memory.ordinary = m_sum.work[WorkKind::kTcpFlow] + m_sum.work[WorkKind::kUdpFlow] > 0;
    memory.infiniBand = m_fabric.infiniBand;
    e.memory = EstimateMemory(memory);
    return e;
}

double
MessageCounter::BusiestPortSeconds() const
{
    double most = 0;
    const auto& endpoints = m_topology.Endpoints();
    for (size_t i = 0; i < endpoints.size(); ++i)
    {
        const auto& link =
            m_topology.Links()[m_topology.Nodes()[endpoints[i].host].ports[endpoints[i].port]];
        most = std::max(most,
                        std::max(m_out[i], m_in[i]) * 8 /
                            (static_cast<double>(link.rate.bps) * m_topology.About().planes));
    }
    return most;
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
                        const Kinds& kinds,
                        double times)
{
    // The header of a whole packet: a short frame is padded.
    const double header =
        static_cast<double>(
            m_fabric.frames.DataWire(rdma::RoceOpcode::kWriteMiddle, m_fabric.mtu)) -
        m_fabric.mtu;
    AddPackets(from, to, bytes, {Packets(bytes), header, acks}, kinds, times);
}

void
MessageCounter::AddPackets(topo::EndpointId from,
                           topo::EndpointId to,
                           uint64_t bytes,
                           const Framing& framing,
                           const Kinds& kinds,
                           double times)
{
    const double hops = Hops(from, to);
    const double n = static_cast<double>(framing.packets) * times;
    const double acks = framing.acks * times;
    m_usedLinks += hops;
    m_sum.messages += times;
    m_sum.networkBytes += static_cast<double>(bytes) * times;
    m_sum.dataPackets += n;
    m_sum.ackPackets += acks;
    m_sum.frameHops += hops * (n + acks);
    m_sum.work[kinds.message] += times;
    if (m_hasPackets)
    {
        m_sum.work[kinds.frame] += n + acks;
        m_sum.work[kinds.hop] += hops * (n + acks);
    }
    m_dataHops += hops * n;
    const double frame = static_cast<double>(bytes) / static_cast<double>(framing.packets) +
                         framing.header - m_fabric.frames.lineOverhead;
    m_sum.arriving += n * std::exp(8 * frame * hops * std::log1p(-m_errorRate));
    const double wire = static_cast<double>(bytes) * times + n * framing.header;
    m_out[from] += wire;
    m_in[to] += wire;
    m_wireBytes += wire;
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
