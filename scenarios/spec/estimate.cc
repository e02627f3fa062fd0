/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "scenarios/spec/estimate.h"

#include "collectives/placement.h"
#include "collectives/registry.h"
#include "contrib/rdma/core/roce-sizes.h"
#include "scenarios/spec/aggregators.h"
#include "scenarios/spec/cluster-options.h"
#include "scenarios/spec/collective-options.h"
#include "scenarios/spec/jobs.h"
#include "scenarios/spec/rail-options.h"
#include "scenarios/training/served-plan.h"
#include "topologies/hop-counter.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <tuple>
#include <unordered_set>
#include <utility>

namespace scenario
{

namespace
{

/// Beyond this a schedule is sampled.
constexpr double kMostSteps = 4e6;

// Bytes, measured: peaks of the resident set of optimized builds (x86-64, GCC 12, glibc), of runs
// that differ in one of these (networks of 48 to 24,576 links, 16 to 160,000 connections, up to 4
// million messages).
constexpr double kProgram = 16e6;
constexpr double kMpi = 22e6; ///< more, in one of several processes
/// Of what is not the program, what each of several processes has of all: docs/ranks.md, k = 24 in
/// one, two and four.
constexpr double kOfAll = 1.0 / 9;
constexpr double kIdleLink = 6000; ///< both ends
constexpr double kIdleIbLink = 13000;
constexpr double kBusyLink = 4500;         ///< more, once frames have crossed it
constexpr double kConnection = 1500;       ///< both ends, and one message
constexpr double kConnectionJourney = 350; ///< for the attribution of time
constexpr double kConnectionTelemetry = 550;
constexpr double kMessage = 64; ///< of flows.csv
constexpr double kMostMessages =
    1e6; ///< rows of flows.csv; beyond that it is written again at the end
constexpr double kSampledMessage = 100;
constexpr double kRank = 1000;
constexpr double kLane = 200;
constexpr double kPathRecord = 256;
/// Until a queue pair serves another flow, with --queue-pairs=reused: it rests for 2 ms; as long
/// again for the flow (assumed).
constexpr rdma::Duration kReuseTime = rdma::Milliseconds(4);
/// CriticalPath::RECORDS: at least one for each rank's collectives and messages of a step, though.
constexpr double kMostPathRecords = 65536;

/// Adds up messages.
class Counter
{
  public:
    Counter(const topo::Topology& topology,
            const FabricSpec& fabric,
            const ConnectionSpec& connections = {})
        : m_topology(topology),
          m_fabric(fabric),
          m_connection(connections),
          m_hops(topology),
          m_out(topology.Endpoints().size()),
          m_in(topology.Endpoints().size())
    {
    }

    const topo::Topology& Network() const
    {
        return m_topology;
    }

    /// `times` messages of `bytes`, each in as many parts as its connection makes of it.
    void Add(topo::EndpointId from, topo::EndpointId to, uint64_t bytes, double times)
    {
        const uint32_t parts = m_connection.split ? m_connection.queuePairs : 1;
        for (uint32_t i = 0; i < parts; ++i)
        {
            const uint64_t part = m_connection.split ? m_connection.PartOf(bytes, i) : bytes;
            AddPart(from, to, part, AcksOfEach(Packets(part), times), times);
        }
    }

    /// A flow of TCP or UDP.
    void AddOrdinary(topo::EndpointId from,
                     topo::EndpointId to,
                     uint64_t bytes,
                     const ProtocolSpec& protocol)
    {
        // IPv4 and TCP with time stamps, or UDP; Ethernet with preamble and gap (as
        // ordinary-setup.h and the frames on the wire have them).
        constexpr uint32_t kTcp = 20 + 20 + 12;
        constexpr uint32_t kUdp = 20 + 8;
        constexpr uint32_t kEthernet = 14 + 4 + 8 + 12;
        const uint32_t headers = protocol.IsTcp() ? kTcp : kUdp;
        const uint64_t payload = protocol.packetMtu - headers;
        const uint64_t packets = std::max<uint64_t>(1, (bytes + payload - 1) / payload);
        const double acks = protocol.IsTcp() ? static_cast<double>(packets) + 3 : 0;
        AddPackets(from, to, bytes, packets, headers + kEthernet, acks, 1);
    }

    /// Bytes that are fetched: a request for them, which their arrival answers.
    void AddRead(topo::EndpointId from, topo::EndpointId to, uint64_t bytes)
    {
        AddPart(from, to, bytes, 0, 1);
        m_sum.frameHops += Hops(to, from);
    }

    /// What a rank sends of a collective or of messages of its own.
    void Send(const std::string& what, double bytes)
    {
        m_sum.sent[what] += bytes;
    }

    /// A message that crosses no network, `times`.
    void AddInside(double times)
    {
        m_sum.messagesInside += times;
    }

    void Compute(double seconds)
    {
        m_sum.computeSeconds += seconds;
    }

    void Load(double seconds)
    {
        m_sum.loadingSeconds += seconds;
    }

    void Sampled()
    {
        m_sum.sampled = true;
    }

    /// Connections, and lanes of all ranks, of one more communicator or flow.
    void Connect(double connections, double lanes)
    {
        m_sum.connections += connections * m_connection.queuePairs;
        m_lanes += lanes;
    }

    /// \param ranks, paths see MemoryNeeds; \param times of all messages
    MemoryNeeds Memory(const RunOptions& run, double ranks, double paths, double times) const
    {
        MemoryNeeds needs;
        needs.links = static_cast<double>(m_topology.Links().size());
        const double switches =
            static_cast<double>(m_topology.Nodes().size() - m_topology.Hosts().size());
        needs.routes = switches * static_cast<double>(m_topology.Endpoints().size());
        needs.connections = m_sum.connections;
        needs.bytesPerConnection = ConnectionBytes(m_fabric, run.attribution);
        needs.messages = m_sum.messages * times;
        needs.usedLinks = m_usedLinks;
        needs.ranks = ranks;
        needs.lanes = m_lanes;
        needs.paths = paths;
        needs.infiniBand = m_fabric.infiniBand;
        return needs;
    }

    Estimate Result(const RunOptions& run) const
    {
        Estimate e = m_sum;
        SpeedNeeds& needs = e.speedNeeds;
        needs.links = static_cast<double>(m_topology.Links().size());
        needs.infiniBand = m_fabric.infiniBand;
        needs.windows = run.engine == "windows";
        needs.processes = run.processes;
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
            needs.hosts += m_out[i] + m_in[i] > 0 ? 1 : 0;
        }
        e.speed = AssumeSpeed(needs);
        return e;
    }

  private:
    uint64_t Packets(uint64_t bytes) const
    {
        return std::max<uint64_t>(1, (bytes + m_fabric.mtu - 1) / m_fabric.mtu);
    }

    /// The last packet of a message asks for an ACK, and so does every ackEvery-th of its queue
    /// pair, whose PSNs go on from message to message. The first begins with PSN 0; where later
    /// ones begin in such a row is any multiple of what both numbers have in common, each as often.
    double AcksOfEach(uint64_t packets, double times) const
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

    /// What goes over one queue pair, and is acknowledged by so many ACKs.
    void AddPart(topo::EndpointId from,
                 topo::EndpointId to,
                 uint64_t bytes,
                 double acks,
                 double times)
    {
        // Of a whole packet: a short frame is padded.
        const double header =
            static_cast<double>(
                m_fabric.frames.DataWire(rdma::RoceOpcode::kWriteMiddle, m_fabric.mtu)) -
            m_fabric.mtu;
        AddPackets(from, to, bytes, Packets(bytes), header, acks, times);
    }

    void AddPackets(topo::EndpointId from,
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
        const double wire =
            (static_cast<double>(bytes) + static_cast<double>(packets) * header) * times;
        m_out[from] += wire;
        m_in[to] += wire;
    }

    /// Of a network whose routes would take minutes: of the paths that are not looked at, the
    /// others' mean.
    double Hops(topo::EndpointId from, topo::EndpointId to)
    {
        if (const auto hops = m_hops.Hops(from, to))
        {
            ++m_knownPaths;
            m_knownHops += *hops;
            return *hops;
        }
        Sampled();
        return m_knownPaths > 0 ? m_knownHops / m_knownPaths : 0;
    }

    const topo::Topology& m_topology;
    const FabricSpec& m_fabric;
    const ConnectionSpec m_connection;
    topo::HopCounter m_hops;
    double m_knownPaths = 0;
    double m_knownHops = 0;
    std::vector<double> m_out; ///< wire bytes per endpoint
    std::vector<double> m_in;
    Estimate m_sum;
    double m_dataHops = 0;
    double m_usedLinks = 0; ///< at most
    double m_lanes = 0;
};

/// What a communicator keeps: the most that any of its collectives needs.
struct Kept
{
    double connections = 0;
    double lanes = 0;
};

/// Of a NIC, the port in the first plane: all planes are alike.
topo::PortId
PortOf(const topo::Topology& topology, uint32_t nic)
{
    return static_cast<topo::PortId>(nic * topology.About().planes);
}

/// One collective over all `members` (ranks of the run), `times` over.
Kept
AddCollective(Counter* counter,
              const coll::Collective& what,
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
    const auto& topology = counter->Network();
    const auto endpointOf = [&](uint32_t host, uint32_t towards, topo::PortId nic) {
        if (host < cluster.servers)
        {
            return topology.EndpointOf(cluster.hostOfServer[host], PortOf(topology, nic));
        }
        const Aggregators& switches = *cluster.aggregators;
        const uint32_t unit = host - cluster.servers;
        return topology.EndpointOf(switches.Units()[unit].host,
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
        counter->Sampled();
    }
    const uint32_t nics = std::max(1u, cluster.server.nics);
    Kept kept;
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
                    counter->Send(coll::OpName(what.op),
                                  static_cast<double>(step.sendBytes) * weight);
                }
                const uint32_t to = hostOf(step.sendPeer);
                if (to == from)
                {
                    counter->AddInside(weight);
                    continue;
                }
                ++sends;
                peers += metIn[step.sendPeer] == lane ? 0 : 1;
                metIn[step.sendPeer] = lane;
                counter->Add(endpointOf(from, to, nic),
                             endpointOf(to, from, own ? nicOf(step.sendPeer) : nic),
                             static_cast<uint64_t>(
                                 std::ceil(wire.OnWire(static_cast<double>(step.sendBytes)))),
                             weight);
            }
            // In a sample where nobody comes twice, those between the samples are others still.
            kept.connections += peers == sends ? std::min(peers * stride, what.ranks - 1.0) : peers;
        }
    }
    return kept;
}

/// Of the NIC by which a rank's messages leave its server.
topo::EndpointId
EndpointOf(const ClusterSpec& cluster, const CollectiveOptions& options, coll::Rank rank)
{
    const uint32_t gpus = cluster.server.gpus;
    const uint32_t nics = std::max(1u, cluster.server.nics);
    const uint32_t nic =
        options.ownNics ? coll::NicNearGpu(rank % gpus, gpus, nics) : rank % gpus % nics;
    return cluster.topology.EndpointOf(cluster.hostOfServer[rank / gpus],
                                       PortOf(cluster.topology, nic));
}

/// Messages between ranks.
void
AddMessages(Counter* counter, const TrainingScenario& s)
{
    // By role: peer offset, group kind, bytes.
    std::vector<std::map<std::tuple<int32_t, uint32_t, uint64_t>, double>> sends;
    for (const auto& role : s.plan.roles)
    {
        auto& ofRole = sends.emplace_back();
        for (const auto& task : role.tasks)
        {
            if (task.kind == training::TaskKind::kSend)
            {
                ofRole[{task.peerOffset, task.group, task.bytes}] += 1;
            }
        }
    }
    const uint32_t gpus = s.cluster.server.gpus;
    for (uint32_t kind = 0; kind < s.plan.groupKinds.size(); ++kind)
    {
        for (const auto& group : s.plan.groupKinds[kind].groups)
        {
            for (std::size_t position = 0; position < group.size(); ++position)
            {
                const coll::Rank from = group[position];
                for (const auto& [key, times] : sends[s.plan.roleOf[from]])
                {
                    const auto& [offset, of, bytes] = key;
                    if (of != kind)
                    {
                        continue;
                    }
                    counter->Send("send", static_cast<double>(bytes) * times);
                    const coll::Rank to = group[position + offset];
                    if (from / gpus == to / gpus)
                    {
                        counter->AddInside(times);
                        continue;
                    }
                    counter->Add(EndpointOf(s.cluster, s.collectives, from),
                                 EndpointOf(s.cluster, s.collectives, to),
                                 bytes,
                                 times);
                }
            }
        }
    }
}

/// A step of parameter servers, if all replicas are equally fast.
void
AddServed(Counter* counter, const TrainingScenario& s)
{
    const training::ServedPlan& served = *s.served;
    const training::ServedOptions& o = served.Options();
    const bool sandblaster = o.strategy == training::Strategy::kSandblaster;
    const double pushes = !sandblaster ? 1.0 / o.pushEvery
                          : o.pushEvery > 0
                              ? std::ceil(static_cast<double>(s.accumulation) / o.pushEvery)
                              : 1;
    const double fetches = sandblaster ? 1 : 1.0 / o.fetchEvery;
    const bool asks = o.strategy == training::Strategy::kDownpour;
    const uint32_t gpus = s.cluster.server.gpus;
    for (coll::Rank r = 0; r < served.Replicas(); ++r)
    {
        for (uint32_t shard = 0; shard < served.Shards(); ++shard)
        {
            const coll::Rank at = served.ServerOf(shard);
            if (at == r)
            {
                continue;
            }
            if (at / gpus == r / gpus)
            {
                counter->AddInside(pushes + fetches * (asks ? 2 : 1));
                continue;
            }
            const topo::EndpointId replica = EndpointOf(s.cluster, s.collectives, r);
            const topo::EndpointId server = EndpointOf(s.cluster, s.collectives, at);
            counter->Add(replica, server, served.ShardBytes(shard), pushes);
            counter->Add(server, replica, served.ShardBytes(shard), fetches);
            if (asks)
            {
                counter->Add(replica, server, training::kRequestBytes, fetches);
            }
            counter->Connect(asks ? 3 : 2, 0);
        }
    }
}

/// The plan's step, and what its communicators keep.
Counter
CountStep(const TrainingScenario& s)
{
    Counter counter(s.cluster.topology, s.fabric, s.cluster.connections);
    if (s.served)
    {
        AddServed(&counter, s);
    }

    std::vector<double> computing; // seconds, of each role
    double loading = 0;            // of the role that loads longest

    // All-to-alls of unequal blocks that have the same bytes lie one way and back.
    struct Done
    {
        double times = 0;
        std::shared_ptr<const coll::BlockSizes> blocks;
    };

    std::vector<std::map<std::tuple<uint32_t, coll::Op, uint64_t>, Done>> collectives;
    for (const auto& role : s.plan.roles)
    {
        double seconds = 0;
        auto& ofRole = collectives.emplace_back(); // by group kind
        for (const auto& task : role.tasks)
        {
            if (task.kind == training::TaskKind::kCollective)
            {
                Done& done = ofRole[{task.group, task.op, task.bytes}];
                done.times += 1;
                done.blocks = task.blocks;
            }
            else if (task.stream == 0)
            {
                seconds += task.duration.Seconds();
            }
            else if (task.phase == training::Phase::kLoading)
            {
                loading = std::max(loading, task.duration.Seconds());
            }
        }
        computing.push_back(seconds);
    }
    // (The step that fills a pipeline, which nobody's usual role is, is one of many.)
    // Of the GPU that computes longest; of replicas of servers, which do not wait for it, if all
    // were as fast as the fastest.
    double compute = 0;
    const std::vector<double>& slowness = s.plan.slowness;
    const double fastest =
        slowness.empty() ? 1 : *std::min_element(slowness.begin(), slowness.end());
    for (coll::Rank rank = 0; rank < s.plan.ranks; ++rank)
    {
        const double slow = s.served || slowness.empty() ? fastest : slowness[rank];
        compute = std::max(compute, slow * computing[s.plan.roleOf[rank]]);
    }
    std::map<std::pair<uint32_t, std::size_t>, Kept> communicators;
    for (uint32_t kind = 0; kind < s.plan.groupKinds.size(); ++kind)
    {
        const auto& groups = s.plan.groupKinds[kind].groups;
        for (std::size_t g = 0; g < groups.size(); ++g)
        {
            // Ranks of a group do the same collectives, if they do more besides.
            for (const auto& [key, done] : collectives[s.plan.roleOf[groups[g].front()]])
            {
                const auto& [group, op, bytes] = key;
                if (group != kind)
                {
                    continue;
                }
                coll::Collective what;
                what.op = op;
                what.bytes = bytes;
                what.ranks = static_cast<coll::Rank>(groups[g].size());
                what.blocks = done.blocks;
                const Kept kept =
                    AddCollective(&counter, what, groups[g], s.cluster, s.collectives, done.times);
                Kept& most = communicators[{group, g}];
                most.connections = std::max(most.connections, kept.connections);
                most.lanes = std::max(most.lanes, kept.lanes);
            }
        }
    }
    if (!s.served)
    {
        AddMessages(&counter, s);
    }
    for (const auto& [which, kept] : communicators)
    {
        counter.Connect(kept.connections, kept.lanes);
    }
    const bool inPieces =
        s.served && s.served->Options().strategy == training::Strategy::kSandblaster;
    counter.Compute(compute * (inPieces ? s.accumulation : 1));
    counter.Load(loading);
    return counter;
}

/// Flows, and the queue pairs that they need. \return when the last of them starts
rdma::TimePoint
AddFlows(Counter* counter,
         const std::vector<Flow>& flows,
         FlowOperation operation,
         const ProtocolSpec& protocol,
         QueuePairUse queuePairs)
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
            counter->AddOrdinary(f.src, f.dst, f.bytes, protocol);
        }
        else if (operation == FlowOperation::kRead)
        {
            counter->AddRead(f.src, f.dst, f.bytes);
        }
        else
        {
            counter->Add(f.src, f.dst, f.bytes, 1);
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
    counter->Connect(static_cast<double>(most), 0);
    return lastStart;
}

Estimate
Times(Estimate e, double n)
{
    e.messages *= n;
    e.messagesInside *= n;
    e.networkBytes *= n;
    e.dataPackets *= n;
    e.ackPackets *= n;
    e.frameHops *= n;
    e.busiestPortSeconds *= n;
    e.computeSeconds *= n;
    e.loadingSeconds *= n;
    for (auto& [what, bytes] : e.sent)
    {
        bytes *= n;
    }
    return e;
}

/// What both come to, one after the other; memory and ways are of `sum`, the larger one.
void
Add(const Estimate& e, Estimate* sum)
{
    sum->messages += e.messages;
    sum->messagesInside += e.messagesInside;
    sum->networkBytes += e.networkBytes;
    sum->dataPackets += e.dataPackets;
    sum->ackPackets += e.ackPackets;
    sum->frameHops += e.frameHops;
    sum->busiestPortSeconds += e.busiestPortSeconds;
    sum->computeSeconds += e.computeSeconds;
    sum->loadingSeconds += e.loadingSeconds;
    for (const auto& [what, bytes] : e.sent)
    {
        sum->sent[what] += bytes;
    }
}

/// The plan of one of its numbers of blocks alone.
training::TrainingPlan
PlanOfSize(const training::TrainingPlan& plan, std::size_t size)
{
    training::TrainingPlan one = plan;
    const auto at = [&](std::size_t i) {
        return i < plan.sizes.size() ? plan.sizes[i].firstRole : plan.UsualRoles();
    };
    one.roles.assign(plan.roles.begin() + static_cast<std::ptrdiff_t>(at(size)),
                     plan.roles.begin() + static_cast<std::ptrdiff_t>(at(size + 1)));
    one.sizes = {{plan.sizes[size].blocks, 0}};
    return one;
}

} // namespace

MemoryEstimate
EstimateMemory(const MemoryNeeds& needs)
{
    MemoryEstimate e;
    e.program = kProgram;
    e.network = needs.links * (needs.infiniBand ? kIdleIbLink : kIdleLink) + 2 * needs.routes +
                std::min(needs.links, needs.usedLinks) * kBusyLink;
    e.connections = needs.connections * needs.bytesPerConnection;
    e.messages = needs.messages <= kMostMessages ? needs.messages * kMessage
                                                 : kMostMessages * kSampledMessage;
    e.ranks = needs.ranks * kRank + needs.lanes * kLane + needs.paths * kPathRecord;
    return e;
}

MemoryEstimate
EstimateProcess(const MemoryEstimate& alone, const Processes& processes)
{
    MemoryEstimate e = alone;
    if (!processes.Several())
    {
        return e;
    }
    e.program += kMpi;
    const double share =
        processes.hostsApart ? kOfAll + (1 - kOfAll) / static_cast<double>(processes.count) : 1;
    for (double* part : {&e.network, &e.connections, &e.messages, &e.ranks})
    {
        *part *= share;
    }
    return e;
}

double
ConnectionBytes(const FabricSpec& fabric, bool attribution)
{
    const bool telemetry = fabric.cc == "hpcc" || fabric.cc == "powertcp";
    return kConnection + (attribution ? kConnectionJourney : 0) +
           (telemetry ? kConnectionTelemetry : 0);
}

Estimate
EstimateStep(const TrainingScenario& s, std::size_t size)
{
    if (s.plan.sizes.size() > 1)
    {
        TrainingScenario one = s;
        one.plan = PlanOfSize(s.plan, size);
        return EstimateStep(one);
    }
    const Counter counter = CountStep(s);
    Estimate e = counter.Result(s.run);
    const double steps = static_cast<double>(s.steps) + s.warmupSteps;
    const double paths =
        s.run.attribution
            ? std::max(kMostPathRecords, static_cast<double>(s.plan.CountCommunicating()))
            : 0;
    e.memoryNeeds = counter.Memory(s.run, s.plan.ranks, std::min(paths, e.messages * steps), steps);
    e.memory = EstimateMemory(e.memoryNeeds);
    return e;
}

Estimate
EstimateJob(const Job& job, const TrainingScenario& together)
{
    if (job.kind != JobKind::kFlows)
    {
        return EstimateRun(*job.scenario);
    }
    Counter counter(together.cluster.topology, together.fabric, together.cluster.connections);
    // Each flow has a queue pair: FlowJob::queuePairs, of which jobs say nothing.
    const rdma::TimePoint last =
        AddFlows(&counter, job.flows, job.operation, job.protocol, QueuePairUse::kPerFlow);
    Estimate e = counter.Result(together.run);
    e.lastStartSeconds = static_cast<double>(last.ps - job.start.ps) * 1e-12;
    e.memoryNeeds = counter.Memory(together.run, 0, 0, 1);
    e.memory = EstimateMemory(e.memoryNeeds);
    return e;
}

Estimate
EstimateTogether(const TrainingScenario& s, const std::vector<Estimate>& ofJobs)
{
    // None of them ends sooner than it would alone.
    Estimate all;
    double links = 0; // that packets of all of them cross
    for (std::size_t i = 0; i < ofJobs.size(); ++i)
    {
        const Job& job = s.jobs->jobs[i];
        const Estimate& e = ofJobs[i];
        const double busiest = std::max(all.busiestPortSeconds, e.busiestPortSeconds);
        const double end = static_cast<double>(job.start.ps) * 1e-12 + e.LowerBoundSeconds();
        links += e.meanHops * e.dataPackets;
        Add(e, &all);
        all.busiestPortSeconds = busiest;
        all.computeSeconds = all.loadingSeconds = 0; // in `end`
        all.lastStartSeconds = std::max(all.lastStartSeconds, end);
        all.connections += e.connections;
        all.sampled = all.sampled || e.sampled;
        const double hosts = all.speedNeeds.hosts + e.speedNeeds.hosts;
        all.speedNeeds = e.speedNeeds;
        all.speedNeeds.hosts = hosts;
        MemoryNeeds needs = e.memoryNeeds; // of the network: the same for all
        const MemoryNeeds& others = all.memoryNeeds;
        needs.connections += others.connections;
        needs.messages += others.messages;
        needs.usedLinks += others.usedLinks;
        needs.ranks += others.ranks;
        needs.lanes += others.lanes;
        needs.paths = 0; // there is no critical path
        all.memoryNeeds = needs;
    }
    all.meanHops = all.dataPackets > 0 ? links / all.dataPackets : 0;
    all.memory = EstimateMemory(all.memoryNeeds);
    all.speed = AssumeSpeed(all.speedNeeds);
    return all;
}

Estimate
EstimateRun(const TrainingScenario& s)
{
    if (s.jobs)
    {
        std::vector<Estimate> ofJobs;
        for (const Job& job : s.jobs->jobs)
        {
            ofJobs.push_back(EstimateJob(job, s));
        }
        return EstimateTogether(s, ofJobs);
    }
    Estimate all = EstimateStep(s);
    for (std::size_t size = 1; size < s.plan.sizes.size(); ++size)
    {
        Add(EstimateStep(s, size), &all);
    }
    const double steps = static_cast<double>(s.steps) + s.warmupSteps;
    all = Times(std::move(all), steps);
    if (s.served)
    {
        // Nobody waits for the last pushes, nor for what has been fetched ahead by the end.
        const training::ServedOptions& o = s.served->Options();
        const double unawaited = std::max({1U, o.pushEvery, o.fetchEvery});
        all.busiestPortSeconds *= std::max(0.0, steps - unawaited) / steps;
    }
    return all;
}

Estimate
EstimateRun(const CollperfScenario& s)
{
    Counter counter(s.cluster.topology, s.fabric, s.cluster.connections);
    std::vector<coll::Rank> members(s.ranks);
    for (coll::Rank r = 0; r < s.ranks; ++r)
    {
        members[r] = r;
    }
    Kept most;
    for (const CollectiveOptions* choice : s.Choices())
    {
        // Each has connections of its own.
        Kept mostOfOne;
        for (const uint64_t bytes : s.sizes)
        {
            const Kept kept = AddCollective(&counter,
                                            s.CollectiveOf(bytes),
                                            members,
                                            s.cluster,
                                            *choice,
                                            static_cast<double>(s.iterations) + s.warmupIterations);
            mostOfOne.connections = std::max(mostOfOne.connections, kept.connections);
            mostOfOne.lanes = std::max(mostOfOne.lanes, kept.lanes);
        }
        most.connections += mostOfOne.connections;
        most.lanes = std::max(most.lanes, mostOfOne.lanes);
    }
    counter.Connect(most.connections, most.lanes);
    Estimate e = counter.Result(s.run);
    e.memoryNeeds = counter.Memory(s.run, s.ranks, 0, 1);
    e.memory = EstimateMemory(e.memoryNeeds);
    return e;
}

Estimate
EstimateRun(const TrafficScenario& s)
{
    Counter counter(s.topology, s.fabric);
    const rdma::TimePoint lastStart =
        AddFlows(&counter, s.flows, s.operation, s.run.protocol, s.queuePairs);
    Estimate e = counter.Result(s.run);
    e.lastStartSeconds = static_cast<double>(lastStart.ps) * 1e-12;
    e.memoryNeeds = counter.Memory(s.run, 0, 0, 1);
    e.memory = EstimateMemory(e.memoryNeeds);
    const double stop = static_cast<double>(s.stopAfter.ps) * 1e-12;
    if (stop > 0 && stop < e.LowerBoundSeconds())
    {
        const double share = stop / e.LowerBoundSeconds();
        for (double* counted : {&e.dataPackets, &e.ackPackets, &e.frameHops})
        {
            *counted *= share;
        }
        e.stopSeconds = stop;
    }
    return e;
}

} // namespace scenario
