/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "scenarios/training/training-plan.h"

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
        (t.made == kStart ? ahead[t.users.front()] : behind[t.begin]).push_back(i);
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

TrainingPlan
MakeDataParallelPlan(const TrainingOptions& given)
{
    const TrainingOptions o = ResolvedOptions(given);
    const RankWork work = WorkOfRank(o);
    std::vector<Transfer> transfers = DataParallelTransfers(o, work);
    ApplyOverlap(o, work, transfers);
    std::vector<std::string> streams{"compute", "gradients"};
    if (o.zero >= 1)
    {
        streams.emplace_back("parameters");
    }
    TrainingPlan plan;
    plan.ranks = o.ranks;
    plan.roles.push_back(ToStepGraph(std::move(streams), work, std::move(transfers)));
    plan.roleOf.assign(o.ranks, 0);
    std::vector<coll::Rank> all(o.ranks);
    std::iota(all.begin(), all.end(), 0);
    plan.groupKinds.push_back({"dp", {all}});
    if (o.zero == 3)
    {
        plan.groupKinds.push_back({"dp-parameters", {all}});
    }
    plan.samplesPerStep = static_cast<uint64_t>(o.ranks) * o.microBatch * o.accumulation;
    plan.flopsPerGpuPerStep = StepFlops(o);
    plan.gpuMemoryBytes = EstimateMemory(o).Total();
    return plan;
}

} // namespace training
