/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "scenarios/training/training-plan.h"

#include "scenarios/training/fewer-layers.h"
#include "scenarios/training/memory-estimate.h"
#include "scenarios/training/overlap.h"

#include <algorithm>
#include <numeric>

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
         : t.made == kStart ? ahead[t.users.front()]
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
        task.kind = c.phase == Phase::kOptimizer ? TaskKind::kMemory : TaskKind::kCompute;
        task.phase = c.phase;
        task.stream = kComputeStream;
        task.duration = c.duration;
        task.name = c.name;
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
    streamUsed[kParameterStream] = o.zero >= 1;
    groupUsed[kGradientGroup] = true;
    groupUsed[kGatherGroup] = o.zero == 3;
    const auto communicates = [](const Task& task) {
        return task.kind != TaskKind::kCompute && task.kind != TaskKind::kMemory;
    };
    for (const StepGraph& role : plan.roles)
    {
        for (const Task& task : role.tasks)
        {
            streamUsed[task.stream] = true;
            if (communicates(task))
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
            task.group = communicates(task) ? groupOf[task.group] : 0;
        }
    }
}

StepGraph
GraphOf(const TrainingOptions& o, const RankWork& work, uint32_t stage)
{
    std::vector<Transfer> transfers = ModelParallelTransfers(o, work, stage);
    std::vector<Transfer> shared = DataParallelTransfers(o, work);
    ApplyOverlap(o, work, shared);
    const auto ahead = static_cast<uint32_t>(transfers.size());
    for (Transfer& t : shared)
    {
        for (uint32_t& other : t.behind)
        {
            other += ahead;
        }
        transfers.push_back(std::move(t));
    }
    return ToStepGraph({}, work, std::move(transfers));
}

/// One role a stage or, where micro-batches go round its replicas, one a replica.
/// \param fills of the first step of a pipeline that is never empty
void
AddRoles(const TrainingOptions& o, bool fills, TrainingPlan& plan)
{
    const std::vector<RankLayer> all = LayersOfModel(o);
    for (uint32_t stage = 0; stage < o.pipeline; ++stage)
    {
        const uint32_t replicas = o.replicas.empty() ? 1 : o.replicas[stage];
        for (uint32_t replica = 0; replica < replicas; ++replica)
        {
            plan.roles.push_back(GraphOf(o, WorkOfStage(o, all, stage, replica, fills), stage));
        }
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
    if (!Flushes(o))
    {
        plan.fillRoles = static_cast<uint32_t>(plan.roles.size());
        AddRoles(o, true, plan);
    }
    const Layout layout = o.GetLayout();
    for (coll::Rank rank = 0; rank < o.ranks; ++rank)
    {
        const Place at = PlaceOf(layout, rank);
        plan.roleOf.push_back(o.replicas.empty() ? at.pipeline
                                                 : layout.RanksBefore(at.pipeline) + at.data);
    }
    LeaveOutUnused(o, plan);
    plan.contention =
        o.collectiveSms > 0 ? static_cast<double>(o.collectiveSms) / o.gpu.multiprocessors : 0;
    plan.samplesPerStep = o.GlobalBatch();
    plan.flopsPerGpuPerStep = StepFlops(o);
    plan.gpuMemoryBytes = EstimateMemory(o).Total();
    return plan;
}

} // namespace training
