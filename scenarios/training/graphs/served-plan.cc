/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "scenarios/training/graphs/served-plan.h"

#include "scenarios/training/graphs/training-plan.h"
#include "scenarios/training/spec/kernel-time.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <tuple>

namespace training
{

namespace
{

constexpr std::array<std::pair<Strategy, const char*>, 4> kStrategyNames = {{
    {Strategy::kSync, "sync"},
    {Strategy::kDownpour, "downpour"},
    {Strategy::kSandblaster, "sandblaster"},
    {Strategy::kBackupWorkers, "backup-workers"},
}};

/// Messages of a replica and a server.
enum Tag : uint16_t
{
    kRequest,
    kParameters,
    kGradients,
};

// Streams of a replica, behind kComputeStream.
constexpr uint8_t kReceiveStream = 1;
constexpr uint8_t kFirstSendStream = 2;

Task
MessageTask(TaskKind kind, Tag tag, uint64_t bytes, int32_t peerOffset, uint8_t stream)
{
    Task task;
    task.kind = kind;
    task.phase = tag == kGradients ? Phase::kGradient : Phase::kParameter;
    task.stream = stream;
    task.bytes = bytes;
    task.peerOffset = peerOffset;
    task.tag = tag;
    task.name = tag == kRequest      ? "request of parameters"
                : tag == kParameters ? "parameters of a server"
                                     : "gradients to a server";
    return task;
}

bool
IsOptimizer(const Task& task)
{
    return task.phase == Phase::kOptimizer;
}

} // namespace

std::string
StrategyName(Strategy strategy)
{
    return kStrategyNames[static_cast<std::size_t>(strategy)].second;
}

std::optional<Strategy>
ParseStrategy(std::string_view text)
{
    const auto* const found =
        std::find_if(kStrategyNames.begin(), kStrategyNames.end(), [text](const auto& pair) {
            return pair.second == text;
        });
    return found == kStrategyNames.end() ? std::nullopt : std::optional(found->first);
}

uint32_t
LbfgsBytesPerParameter(uint32_t history)
{
    constexpr uint32_t kBytes = 4;
    return kBytes * (history * 2 * (2 + 3) + 2 + 3 + (2 + 3) + 2);
}

/// The parts of a replica's graph, in this order.
struct ServedPlan::Parts
{
    bool asks = false;
    bool receives = false;
    std::vector<Task> computing;
    bool pushes = false;
    bool apart = false; ///< none waits for another
};

ServedPlan::ServedPlan(const TrainingOptions& options, const ServedOptions& served)
    : m_served(served),
      m_replicas(options.ranks),
      m_pieces(options.ranks * options.accumulation),
      m_overlaps(served.strategy == Strategy::kDownpour && options.overlap.value_or(true))
{
    TrainingOptions one = options;
    one.toServers = true;
    if (served.strategy == Strategy::kSandblaster)
    {
        one.accumulation = 1; // a piece
    }
    const TrainingPlan step = MakePlan(one);
    const uint64_t whole = options.model.parameters;
    for (uint32_t s = 0; s < served.shards; ++s)
    {
        const uint64_t elements =
            whole / served.shards + (s < whole % served.shards ? 1 : 0); // of more than all: none
        m_shardBytes.push_back(elements * DtypeBytes(options.dtype));
    }

    m_plan.ranks = options.ranks;
    m_plan.sizes = {{step.sizes.front().blocks, 0}};
    m_plan.blocks = step.blocks;
    std::vector<coll::Rank> all(options.ranks);
    std::iota(all.begin(), all.end(), 0);
    m_plan.groupKinds.push_back({"replicas", {all}});
    rdma::Duration optimizer;
    for (const Task& task : step.roles[0].tasks)
    {
        if (task.stream == kComputeStream && IsOptimizer(task))
        {
            optimizer = rdma::Duration(optimizer.ps + task.duration.ps);
        }
    }
    AddReplicas(step.roles[0]);
    AddConnections();
    AddUpdaters(optimizer, options);

    const double counted = static_cast<double>(Counted()) / m_replicas;
    m_plan.samplesPerStep =
        static_cast<uint64_t>(Counted()) * options.microBatch * options.accumulation;
    m_plan.flopsPerGpuPerStep = StepFlops(options) * counted;
    m_plan.gpuMemoryBytes = step.gpuMemoryBytes;
}

uint32_t
ServedPlan::LocalShard(coll::Rank replica) const
{
    for (uint32_t s = 0; s < Shards(); ++s)
    {
        if (IsLocal(replica, s))
        {
            return s;
        }
    }
    return Shards();
}

ServedPlan::Who
ServedPlan::WhoIs(coll::Rank runner) const
{
    if (runner < m_replicas)
    {
        return {Kind::kReplica, runner, Shards()};
    }
    if (runner < Updater(0))
    {
        const uint32_t i = runner - m_replicas;
        return {Kind::kConnection, i / Shards(), i % Shards()};
    }
    return runner < Sender(0) ? Who{Kind::kUpdater, m_replicas, runner - Updater(0)}
                              : Who{Kind::kSender, runner - Sender(0), Shards()};
}

uint32_t
ServedPlan::AddReplicaGraph(coll::Rank replica, const Parts& parts)
{
    // Replicas begin with the shard behind them, so that they do not all begin with the same.
    std::vector<uint32_t> shards;
    for (uint32_t s = 0; s < Shards(); ++s)
    {
        if (!IsLocal(replica, s))
        {
            shards.push_back(s);
        }
    }
    std::rotate(shards.begin(),
                std::find_if(shards.begin(),
                             shards.end(),
                             [&](uint32_t s) { return ServerOf(s) > replica; }),
                shards.end());

    StepGraph graph;
    graph.streams = {"compute", "parameters"};
    const auto atOnce = std::min<std::size_t>(shards.size(), kMessagesAtOnce);
    for (std::size_t i = 0; i < atOnce; ++i)
    {
        graph.streams.push_back("send " + std::to_string(i));
    }
    const auto toAll = [&](TaskKind kind, Tag tag, const std::vector<TaskId>& after) {
        std::vector<TaskId> ids;
        for (std::size_t i = 0; i < shards.size(); ++i)
        {
            const uint32_t s = shards[i];
            const auto offset = static_cast<int32_t>(ServerOf(s)) - static_cast<int32_t>(replica);
            const auto stream = kind == TaskKind::kRecv
                                    ? kReceiveStream
                                    : static_cast<uint8_t>(kFirstSendStream + i % atOnce);
            Task task = MessageTask(kind,
                                    tag,
                                    tag == kRequest ? kRequestBytes : ShardBytes(s),
                                    offset,
                                    stream);
            task.after = after;
            ids.push_back(static_cast<TaskId>(graph.tasks.size()));
            graph.tasks.push_back(std::move(task));
        }
        return ids;
    };
    if (parts.asks)
    {
        toAll(TaskKind::kSend, kRequest, {});
    }
    std::vector<TaskId> there;
    if (parts.receives)
    {
        there = toAll(TaskKind::kRecv, kParameters, {});
    }
    std::vector<TaskId> computed;
    for (Task task : parts.computing)
    {
        if (computed.empty() && !parts.apart)
        {
            task.after = there;
        }
        computed = {static_cast<TaskId>(graph.tasks.size())};
        graph.tasks.push_back(std::move(task));
    }
    if (parts.pushes)
    {
        toAll(TaskKind::kSend, kGradients, parts.apart ? std::vector<TaskId>() : computed);
    }
    m_plan.roles.push_back(std::move(graph));
    return static_cast<uint32_t>(m_plan.roles.size() - 1);
}

void
ServedPlan::AddReplicas(const StepGraph& step)
{
    std::vector<Task> computing;
    for (const Task& task : step.tasks)
    {
        if (task.stream == kComputeStream && !IsOptimizer(task))
        {
            computing.push_back(task);
            computing.back().after.clear();
        }
    }
    for (coll::Rank r = 0; r < m_replicas; ++r)
    {
        std::array<uint32_t, 4> graphs{};
        switch (m_served.strategy)
        {
        case Strategy::kDownpour:
            for (uint32_t pattern = 0; pattern < graphs.size(); ++pattern)
            {
                const bool fetches = pattern % 2 == 1;
                const bool pushes = pattern / 2 == 1;
                // Every step does, unless its interval is longer; overlapping, the first one
                // pushes nothing.
                const bool occurs = (fetches || m_served.fetchEvery > 1) &&
                                    (pushes || m_served.pushEvery > 1 || m_overlaps);
                graphs[pattern] =
                    occurs ? AddReplicaGraph(r, {fetches, fetches, computing, pushes, m_overlaps})
                           : UINT32_MAX;
            }
            break;
        case Strategy::kSandblaster:
            graphs[0] = AddReplicaGraph(r, {false, true, {}, false, false});
            graphs[1] = AddReplicaGraph(r, {false, false, computing, false, false});
            graphs[2] = AddReplicaGraph(r, {false, false, {}, true, false});
            break;
        default:
            graphs[0] = AddReplicaGraph(r, {false, true, computing, true, false});
        }
        m_replicaGraphs.push_back(graphs);
        // The usual role is the graph with most calls.
        m_plan.roleOf.push_back(m_served.strategy == Strategy::kDownpour      ? graphs[3]
                                : m_served.strategy == Strategy::kSandblaster ? graphs[1]
                                                                              : graphs[0]);
    }
}

void
ServedPlan::AddConnections()
{
    // The same for all pairs that are as far from each other, and for shards of one size.
    std::map<std::tuple<TaskKind, Tag, int32_t, uint64_t>, uint32_t> made;
    const auto graphOf = [&](TaskKind kind, Tag tag, uint64_t bytes, int32_t offset) {
        const auto [found, isNew] = made.try_emplace({kind, tag, offset, bytes},
                                                     static_cast<uint32_t>(m_plan.roles.size()));
        if (isNew)
        {
            StepGraph graph;
            graph.streams = {"", "server"};
            graph.tasks.push_back(MessageTask(kind, tag, bytes, offset, 1));
            m_plan.roles.push_back(std::move(graph));
        }
        return found->second;
    };
    const auto none = static_cast<uint32_t>(m_plan.roles.size()); // of those that never begin
    m_plan.roles.emplace_back();
    for (coll::Rank r = 0; r < m_replicas; ++r)
    {
        for (uint32_t s = 0; s < Shards(); ++s)
        {
            const auto offset = static_cast<int32_t>(r) - static_cast<int32_t>(ServerOf(s));
            std::array<uint32_t, 3> graphs{none, none, none};
            if (!IsLocal(r, s))
            {
                graphs = {graphOf(TaskKind::kRecv, kRequest, kRequestBytes, offset),
                          graphOf(TaskKind::kSend, kParameters, ShardBytes(s), offset),
                          graphOf(TaskKind::kRecv, kGradients, ShardBytes(s), offset)};
            }
            m_connectionGraphs.push_back(graphs);
            m_plan.actorAt.push_back(ServerOf(s));
            m_plan.roleOf.push_back(none);
        }
    }
}

void
ServedPlan::AddUpdaters(rdma::Duration wholeOptimizer, const TrainingOptions& options)
{
    // The optimizer's time for all parameters is that of its memory traffic; a shard's is its
    // share, and another algorithm's as much longer as it moves more bytes.
    const double bytes = OptimizerBytes(Optimizer::kAdam, options.dtype, options.masterWeights);
    const double algorithm = m_served.strategy == Strategy::kSandblaster
                                 ? LbfgsBytesPerParameter(m_served.history) / bytes
                                 : 1;
    const double whole = static_cast<double>(options.model.parameters) * DtypeBytes(options.dtype);
    for (uint32_t s = 0; s < Shards(); ++s)
    {
        Task task;
        task.kind = TaskKind::kMemory;
        task.phase = Phase::kOptimizer;
        task.stream = 1;
        task.name = "update of a shard";
        task.duration =
            rdma::Duration(static_cast<int64_t>(static_cast<double>(wholeOptimizer.ps) * algorithm *
                                                    static_cast<double>(ShardBytes(s)) / whole +
                                                0.5));
        StepGraph graph;
        graph.streams = {"", "server"};
        graph.tasks.push_back(std::move(task));
        m_updateGraphs.push_back(static_cast<uint32_t>(m_plan.roles.size()));
        m_plan.roleOf.push_back(m_updateGraphs.back());
        m_plan.roles.push_back(std::move(graph));
        m_plan.actorAt.push_back(ServerOf(s));
    }
    if (m_served.strategy == Strategy::kSandblaster)
    {
        m_plan.senders = m_replicas;
        for (coll::Rank r = 0; r < m_replicas; ++r)
        {
            m_plan.actorAt.push_back(r);
            m_plan.roleOf.push_back(Send(r));
        }
    }
}

} // namespace training
