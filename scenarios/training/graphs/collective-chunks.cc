/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "scenarios/training/graphs/collective-chunks.h"

#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

namespace training
{

namespace
{

StepGraph
GraphInChunks(uint64_t most, const std::vector<uint64_t>& units, const StepGraph& whole)
{
    StepGraph graph;
    graph.streams = whole.streams;
    std::vector<std::pair<TaskId, TaskId>> chunks; // by task: the first, and behind the last
    for (const Task& task : whole.tasks)
    {
        Task chunk = task;
        chunk.after.clear();
        for (const TaskId before : task.after)
        {
            for (TaskId id = chunks[before].first; id < chunks[before].second; ++id)
            {
                chunk.after.push_back(id);
            }
        }
        const auto first = static_cast<TaskId>(graph.tasks.size());
        if (!IsQueued(task) || task.bytes <= most)
        {
            graph.tasks.push_back(std::move(chunk));
        }
        else
        {
            const EqualChunks equal(task.bytes, most, units[task.group]);
            for (uint64_t i = 0; i < equal.count; ++i)
            {
                chunk.bytes = std::min(equal.size, task.bytes - i * equal.size);
                graph.tasks.push_back(chunk);
            }
        }
        chunks.emplace_back(first, static_cast<TaskId>(graph.tasks.size()));
    }
    return graph;
}

} // namespace

EqualChunks::EqualChunks(uint64_t bytes, uint64_t most, uint64_t unit)
{
    const auto up = [](uint64_t a, uint64_t b) { return (a + b - 1) / b; };
    size = up(up(bytes, up(bytes, most)), unit) * unit;
    count = up(bytes, size);
}

void
SplitQueued(uint64_t most, TrainingPlan* plan)
{
    constexpr uint64_t kElement = 4;
    std::vector<uint64_t> units; // by group kind
    for (const GroupKind& kind : plan->groupKinds)
    {
        std::size_t ranks = 1;
        for (const auto& group : kind.groups)
        {
            ranks = std::max(ranks, group.size());
        }
        units.push_back(kElement * ranks);
    }
    for (StepGraph& role : plan->roles)
    {
        role = GraphInChunks(most, units, role);
    }
}

} // namespace training
