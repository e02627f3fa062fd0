/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "scenarios/training/graphs/training-plan.h"

#include "collectives/core/block-sizes.h"
#include "scenarios/training/fewer-layers.h"
#include "scenarios/training/gpu-kinds.h"
#include "scenarios/training/graphs/collective-chunks.h"
#include "scenarios/training/graphs/memory-pass.h"
#include "scenarios/training/graphs/next-forward.h"
#include "scenarios/training/graphs/offload.h"
#include "scenarios/training/graphs/overlap.h"
#include "scenarios/training/graphs/shared-transfers.h"
#include "scenarios/training/graphs/tensor-sums.h"
#include "scenarios/training/memory-estimate.h"
#include "scenarios/training/spec/bounded-time.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <set>

namespace training
{

StepGraph
ToStepGraph(std::vector<std::string> streams, const RankWork& work, std::vector<Transfer> transfers)
{
    const std::size_t count = work.order.size();
    std::vector<std::vector<uint32_t>> ahead(count);  // transfers, by the computation behind them
    std::vector<std::vector<uint32_t>> behind(count); // and by the one ahead of them
    std::vector<std::vector<uint32_t>> awaited(count);
    for (uint32_t i = 0; i < transfers.size(); ++i)
    {
        const Transfer& t = transfers[i];
        (t.carried          ? ahead[0]
         : t.made == kStart ? ahead[t.ahead == kStart ? t.users.front() : t.ahead]
                            : behind[t.begin])
            .push_back(i);
        for (const Position user : t.users)
        {
            awaited[user].push_back(i);
        }
    }
    StepGraph graph;
    graph.streams = std::move(streams);
    graph.tasks.reserve(count + transfers.size());
    std::vector<TaskId> computed(count);
    std::vector<TaskId> moved(transfers.size());
    const auto add = [&](Task task) {
        std::sort(task.after.begin(), task.after.end());
        task.after.erase(std::unique(task.after.begin(), task.after.end()), task.after.end());
        graph.tasks.push_back(std::move(task));
        return static_cast<TaskId>(graph.tasks.size() - 1);
    };
    const auto move = [&](uint32_t i) {
        Transfer& t = transfers[i];
        if (t.begin != kStart)
        {
            t.task.after.push_back(computed[t.begin]);
        }
        for (const uint32_t other : t.behind)
        {
            t.task.after.push_back(moved[other]);
        }
        moved[i] = add(std::move(t.task));
    };
    for (Position p = 0; p < count; ++p)
    {
        std::for_each(ahead[p].begin(), ahead[p].end(), move);
        const Computation& c = work.order[p];
        Task task;
        task.kind = c.onHost                       ? TaskKind::kHost
                    : c.phase == Phase::kOptimizer ? TaskKind::kMemory
                                                   : TaskKind::kCompute;
        task.phase = c.phase;
        task.stream = c.onHost ? kHostStream : kComputeStream;
        task.duration = c.duration;
        task.name = c.name;
        task.layer = c.phase == Phase::kOptimizer ? kNoLayer : LayerNumber(c.layer);
        for (const uint32_t i : awaited[p])
        {
            task.after.push_back(moved[i]);
        }
        computed[p] = add(std::move(task));
        std::for_each(behind[p].begin(), behind[p].end(), move);
    }
    return graph;
}

namespace
{

/// Streams and groups that are used, numbered anew. Gradients have theirs in any case, as
/// parameters from stage 1 on: what there is does not depend on how many GPUs there are.
void
LeaveOutUnused(const TrainingOptions& o, TrainingPlan& plan)
{
    std::vector<bool> streamUsed(kStreams, false);
    std::vector<bool> groupUsed(kGroupKinds, false);
    streamUsed[kComputeStream] = streamUsed[kGradientStream] = true;
    streamUsed[kParameterStream] = o.sharding.optimizer;
    groupUsed[kGradientGroup] = true;
    groupUsed[kGatherGroup] = o.sharding.parameters;
    for (const StepGraph& role : plan.roles)
    {
        for (const Task& task : role.tasks)
        {
            streamUsed[task.stream] = true;
            if (Communicates(task))
            {
                groupUsed[task.group] = true;
            }
        }
    }
    std::vector<uint8_t> streamOf(kStreams, 0);
    std::vector<std::string> streams;
    for (uint8_t i = 0; i < kStreams; ++i)
    {
        streamOf[i] = static_cast<uint8_t>(streams.size());
        if (streamUsed[i])
        {
            streams.push_back(StreamName(i));
        }
    }
    std::vector<uint32_t> groupOf(kGroupKinds, 0);
    for (uint32_t i = 0; i < kGroupKinds; ++i)
    {
        groupOf[i] = static_cast<uint32_t>(plan.groupKinds.size());
        if (groupUsed[i])
        {
            const auto group = static_cast<GroupOf>(i);
            plan.groupKinds.push_back({GroupName(group), GroupsOf(o.GetLayout(), group)});
        }
    }
    for (StepGraph& role : plan.roles)
    {
        role.streams = streams;
        for (Task& task : role.tasks)
        {
            task.stream = streamOf[task.stream];
            task.group = Communicates(task) ? groupOf[task.group] : 0;
        }
    }
}

/// The ranks of an expert group compute different times if tokens like some experts better.
uint32_t
ExpertRoles(const TrainingOptions& o)
{
    return o.moeSkew > 0 ? o.expert : 1;
}

/// For every rank its place in its expert group; there is a role for each place.
std::vector<uint32_t>
ExpertRoleOf(const TrainingOptions& o)
{
    std::vector<uint32_t> of(o.ranks, 0);
    if (ExpertRoles(o) > 1)
    {
        for (const auto& group : GroupsOf(o.GetLayout(), GroupOf::kExpert))
        {
            for (uint32_t i = 0; i < group.size(); ++i)
            {
                of[group[i]] = i;
            }
        }
    }
    return of;
}

/// Seconds for which a server's input pipeline works on a step: for the copies of the model whose
/// first stage it has, of the server that has most of them.
double
LoadingSeconds(const TrainingOptions& o)
{
    std::map<uint32_t, std::set<uint32_t>> copies; // by server
    const Layout layout = o.GetLayout();
    for (coll::Rank rank = 0; rank < o.ranks; ++rank)
    {
        const Place place = PlaceOf(layout, rank);
        if (place.pipeline == 0)
        {
            copies[rank / o.host.gpus].insert(place.data);
        }
    }
    std::size_t most = 0;
    for (const auto& [server, of] : copies)
    {
        most = std::max(most, of.size());
    }
    return static_cast<double>(most) * o.microBatch * o.accumulation / o.loaderRate;
}

/// Adds the loading of the next step's samples. A step ends when its tasks have ended, so the next
/// one does not begin before its samples are loaded. Loading before the first step is not
/// simulated.
void
AddLoading(const TrainingOptions& o, StepGraph& graph)
{
    Task task;
    task.kind = TaskKind::kHost;
    task.phase = Phase::kLoading;
    task.stream = kLoadingStream;
    task.duration = BoundedTime(LoadingSeconds(o));
    task.name = "load the next batch";
    graph.tasks.push_back(std::move(task));
}

void
AddRole(const TrainingOptions& o,
        const RankWork& work,
        uint32_t stage,
        bool fills,
        TrainingPlan& plan)
{
    std::vector<Transfer> transfers = ModelParallelTransfers(o, work, stage);
    std::vector<Transfer> shared = DataParallelTransfers(o, work);
    ApplyOverlap(o, work, shared);
    shared = WithMemory(o, work, WithHost(o, work, std::move(shared)));
    AddTensorSums(o, work, shared);
    const auto ahead = static_cast<uint32_t>(transfers.size());
    for (Transfer& t : shared)
    {
        for (uint32_t& other : t.behind)
        {
            other += ahead;
        }
        transfers.push_back(std::move(t));
    }
    StepGraph graph = ToStepGraph({}, work, std::move(transfers));
    plan.roles.push_back(o.overlapNextForward ? WithNextForward(work.layers, graph, fills)
                                              : std::move(graph));
    if (o.loaderRate > 0 && stage == 0)
    {
        AddLoading(o, plan.roles.back());
    }
}

using BlockPool = std::vector<std::shared_ptr<const coll::BlockSizes>>;

/// Calls visit(exchange) for those of a layer that have blocks.
template <class Part, class Visit>
void
VisitBlocks(Part& part, const Visit& visit)
{
    for (auto* exchanges : {&part.besideForward,
                            &part.besideBackward,
                            &part.beforeForward,
                            &part.afterForward,
                            &part.beforeBackward,
                            &part.afterBackward})
    {
        for (auto& exchange : *exchanges)
        {
            if (exchange.blocks)
            {
                visit(exchange);
            }
        }
    }
}

/// Exchanges of the same sizes share them: those of large groups are large.
void
ShareBlocks(std::vector<RankLayer>& layers, BlockPool& pool)
{
    const auto pooled = [&pool](const auto& blocks) {
        const auto same = std::find_if(pool.begin(), pool.end(), [&blocks](const auto& other) {
            return coll::SameBlocks(other.get(), blocks.get());
        });
        return same == pool.end() ? pool.emplace_back(blocks) : *same;
    };
    for (RankLayer& layer : layers)
    {
        bool apart = false;
        for (const RankPart& part : layer.parts)
        {
            VisitBlocks(part, [&](const Exchange& exchange) {
                apart = pooled(exchange.blocks) != exchange.blocks || apart;
            });
        }
        if (apart)
        {
            for (RankPart& part : layer.parts.Change())
            {
                VisitBlocks(part,
                            [&](Exchange& exchange) { exchange.blocks = pooled(exchange.blocks); });
            }
        }
    }
}

/// One role a stage and kind of GPU, or for each place in an expert group or, where micro-batches
/// go round a stage's replicas, for each of them. \param fills TrainingPlan::fillRoles
void
AddRoles(const TrainingOptions& given, bool fills, TrainingPlan& plan)
{
    std::vector<TrainingOptions> kinds;                   // the options of each kind
    std::vector<std::vector<std::vector<RankLayer>>> all; // by kind and place
    BlockPool pool;
    for (uint32_t kind = 0; kind < std::max<std::size_t>(1, given.kinds.size()); ++kind)
    {
        kinds.push_back(OnKind(given, kind));
        TrainingOptions o = kinds.back();
        auto& places = all.emplace_back();
        for (o.expertPosition = 0; o.expertPosition < ExpertRoles(o); ++o.expertPosition)
        {
            places.push_back(LayersOfModel(o));
            ShareBlocks(places.back(), pool);
        }
    }
    const auto kindsOf = KindsByStage(given);
    for (uint32_t stage = 0; stage < given.pipeline; ++stage)
    {
        const uint32_t replicas = given.replicas.empty() ? 1 : given.replicas[stage];
        for (const uint32_t kind : kindsOf[stage])
        {
            const TrainingOptions& o = kinds[kind];
            for (uint32_t replica = 0; replica < replicas; ++replica)
            {
                for (const std::vector<RankLayer>& layers : all[kind])
                {
                    const bool early = fills && !Flushes(o);
                    const RankWork work = WorkOfStage(o, layers, stage, replica, early);
                    AddRole(o, work, stage, fills, plan);
                }
            }
        }
    }
}

/// The first role of each stage and kind, as AddRoles() adds them.
std::vector<std::map<uint32_t, uint32_t>>
FirstRoles(const TrainingOptions& o)
{
    std::vector<std::map<uint32_t, uint32_t>> first;
    uint32_t next = 0;
    for (const auto& kinds : KindsByStage(o))
    {
        const auto stage = static_cast<uint32_t>(first.size());
        auto& of = first.emplace_back();
        for (const uint32_t kind : kinds)
        {
            of[kind] = next;
            next += ExpertRoles(o) * (o.replicas.empty() ? 1 : o.replicas[stage]);
        }
    }
    return first;
}

void
SetContention(const TrainingOptions& o, TrainingPlan& plan)
{
    const auto share = [&o](const GpuSpec& gpu) {
        return o.collectiveSms > 0 ? static_cast<double>(o.collectiveSms) / gpu.multiprocessors : 0;
    };
    plan.contention = share(o.gpu);
    for (const GpuKind& kind : o.kinds)
    {
        plan.contentions.insert(plan.contentions.end(), kind.ranks, share(kind.gpu));
    }
}

} // namespace

TrainingPlan
MakePlan(const TrainingOptions& given)
{
    const TrainingOptions o = ResolvedOptions(given);
    TrainingPlan plan;
    plan.ranks = o.ranks;
    plan.sizes.clear();
    plan.blocks = BlocksOf(o.model);
    for (const uint32_t blocks : SizesToSimulate(o))
    {
        plan.sizes.push_back({blocks, static_cast<uint32_t>(plan.roles.size())});
        AddRoles(WithBlocks(o, blocks), false, plan);
    }
    if (!Flushes(o) || o.overlapNextForward)
    {
        plan.fillRoles = static_cast<uint32_t>(plan.roles.size());
        AddRoles(o, true, plan);
    }
    const Layout layout = o.GetLayout();
    const std::vector<uint32_t> expertRole = ExpertRoleOf(o);
    const auto firstRole = FirstRoles(o);
    for (coll::Rank rank = 0; rank < o.ranks; ++rank)
    {
        const Place at = PlaceOf(layout, rank);
        plan.roleOf.push_back(firstRole[at.pipeline].at(KindOfRank(o, rank)) +
                              (o.replicas.empty() ? expertRole[rank] : at.data));
        if (o.pipeline > 1)
        {
            plan.stageOf.push_back(at.pipeline);
        }
    }
    LeaveOutUnused(o, plan);
    plan.nextForward = o.overlapNextForward;
    if (o.order != CollectiveOrder::kFifo || o.inFlight > 1)
    {
        plan.queue = CollectiveQueueSpec{o.order, o.inFlight};
    }
    if (o.chunkBytes > 0)
    {
        SplitQueued(o.chunkBytes, &plan);
    }
    if (o.memory.Any())
    {
        plan.tiers = o.memory.tiers;
        plan.shared = SharedOf(o);
    }
    SetContention(o, plan);
    plan.peakFlops = o.kinds.empty() ? 0 : MeanPeak(o);
    plan.samplesPerStep = o.GlobalBatch();
    plan.flopsPerGpuPerStep = StepFlops(o);
    plan.gpuMemoryBytes = FullestOf(o).memory.Total();
    return plan;
}

} // namespace training
