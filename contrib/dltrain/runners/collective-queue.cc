/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "collective-queue.h"

#include <algorithm>
#include <cstddef>

namespace dltrain
{

using training::CollectiveOrder;
using training::TaskId;

CollectiveQueue::CollectiveQueue(const training::CollectiveQueueSpec& spec,
                                 const std::vector<uint32_t>& communicators,
                                 const std::vector<bool>& leads)
    : m_spec(spec),
      m_groups(communicators.size())
{
    for (std::size_t kind = 0; kind < m_groups.size(); ++kind)
    {
        m_groups[kind].communicator = communicators[kind];
        m_groups[kind].leads = leads[kind];
        m_groups[kind].free = spec.inFlight;
    }
}

void
CollectiveQueue::Begin(const training::StepGraph& graph, const Tables& tables, uint32_t round)
{
    m_graph = &graph;
    m_tables = &tables;
    m_round = round;
    for (std::size_t kind = 0; kind < m_groups.size(); ++kind)
    {
        m_groups[kind].next = 0;
        m_groups[kind].readyAt.assign(tables.tasks[kind].size(), -1);
    }
}

void
CollectiveQueue::OnReady(TaskId id, int64_t now)
{
    const training::Task& task = m_graph->tasks[id];
    Group& group = m_groups[task.group];
    const uint32_t index = m_tables->places[id];
    group.readyAt[index] = now;
    if (Chooses(group))
    {
        // Chunks of a bucket are ready at one time, and go in their order.
        group.ready.emplace(m_spec.order == CollectiveOrder::kLifo ? -now : task.layer, index);
    }
}

std::optional<TaskId>
CollectiveQueue::Next(int64_t now)
{
    for (std::size_t kind = 0; kind < m_groups.size(); ++kind)
    {
        Group& group = m_groups[kind];
        uint32_t index = 0;
        if (m_spec.order == CollectiveOrder::kFifo)
        {
            index = group.next;
            if (group.free == 0 || index == group.readyAt.size() || group.readyAt[index] < 0)
            {
                continue;
            }
            ++group.next;
            --group.free;
        }
        else
        {
            // Another rank may be in a later round, and have told of it.
            if (group.told.empty() || group.told.front().first != m_round ||
                group.readyAt[group.told.front().second] < 0)
            {
                continue;
            }
            index = group.told.front().second;
            group.told.pop_front();
        }
        const TaskId id = m_tables->tasks[kind][index];
        m_underWay[id] = {group.readyAt[index], now};
        return id;
    }
    return std::nullopt;
}

CollectiveQueue::Times
CollectiveQueue::End(TaskId id)
{
    const auto found = m_underWay.find(id);
    const Times times = found->second;
    m_underWay.erase(found);
    Group& group = m_groups[m_graph->tasks[id].group];
    group.free += m_spec.order == CollectiveOrder::kFifo || group.leads;
    return times;
}

bool
CollectiveQueue::MayChoose() const
{
    return std::any_of(m_groups.begin(), m_groups.end(), [](const Group& group) {
        return group.free > 0 && !group.ready.empty();
    });
}

std::vector<CollectiveChoice>
CollectiveQueue::Choose()
{
    std::vector<CollectiveChoice> choices;
    for (std::size_t kind = 0; kind < m_groups.size(); ++kind)
    {
        Group& group = m_groups[kind];
        for (; group.free > 0 && !group.ready.empty(); --group.free)
        {
            choices.push_back({group.communicator,
                               static_cast<uint32_t>(kind),
                               m_round,
                               group.ready.begin()->second});
            group.ready.erase(group.ready.begin());
        }
    }
    return choices;
}

void
CollectiveQueue::OnTold(const CollectiveChoice& choice)
{
    m_groups[choice.kind].told.emplace_back(choice.round, choice.index);
}

} // namespace dltrain
