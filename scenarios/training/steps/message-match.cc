/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "scenarios/training/steps/message-match.h"

#include <algorithm>
#include <map>
#include <tuple>

namespace training
{

namespace
{

std::string
Named(coll::Rank rank, const Task& task)
{
    return "\"" + task.name + "\" of rank " + std::to_string(rank);
}

/// Messages of one order: those of a group kind from one rank to another with one tag.
using Order = std::tuple<uint32_t, coll::Rank, coll::Rank, uint16_t>;

struct Ends
{
    std::vector<RankTask> sends;
    std::vector<RankTask> receives;
};

} // namespace

coll::Rank
PeerOf(const TrainingPlan& plan, coll::Rank rank, const Task& task)
{
    for (const auto& group : plan.groupKinds.at(task.group).groups)
    {
        // In a group of all ranks, as recorded messages have, a rank stands at its own number.
        const auto found = rank < group.size() && group[rank] == rank
                               ? group.begin() + rank
                               : std::find(group.begin(), group.end(), rank);
        if (found != group.end())
        {
            const int64_t position = (found - group.begin()) + int64_t{task.peerOffset};
            return position >= 0 && position < static_cast<int64_t>(group.size())
                       ? group[static_cast<std::size_t>(position)]
                       : coll::kNoRank;
        }
    }
    return coll::kNoRank;
}

namespace
{

template <class AfterOf>
bool
NearBehind(const AfterOf& afterOf, TaskId before, TaskId task)
{
    const auto has = [before](const std::vector<TaskId>& after) {
        return std::find(after.begin(), after.end(), before) != after.end();
    };
    const std::vector<TaskId>& own = afterOf(task);
    return has(own) || std::any_of(own.begin(), own.end(), [&](TaskId between) {
               return has(afterOf(between));
           });
}

/// Whether a message begins behind another of its order.
bool
BeginsBehind(const StepGraph& graph, TaskId other, TaskId task)
{
    const Task& a = graph.tasks[other];
    const Task& b = graph.tasks[task];
    if (a.stream == b.stream || std::find(b.after.begin(), b.after.end(), other) != b.after.end())
    {
        return true;
    }
    const auto afterOf = [&](TaskId id) -> const std::vector<TaskId>& {
        return graph.tasks[id].after;
    };
    return a.kind == TaskKind::kSend && a.stream < b.stream &&
           std::all_of(a.after.begin(), a.after.end(), [&](TaskId before) {
               return NearBehind(afterOf, before, task);
           });
}

} // namespace

bool
IsNearBehind(const std::vector<std::vector<TaskId>>& after, TaskId before, TaskId task)
{
    return NearBehind([&](TaskId id) -> const std::vector<TaskId>& { return after[id]; },
                      before,
                      task);
}

MessageMatch::MessageMatch(const TrainingPlan& plan)
{
    if (std::none_of(plan.roles.begin(), plan.roles.end(), [](const StepGraph& graph) {
            return std::any_of(graph.tasks.begin(), graph.tasks.end(), IsMessage);
        }))
    {
        return;
    }
    std::map<Order, Ends> orders;
    const auto taskOf = [&plan](const RankTask& at) -> const Task& {
        return plan.roles[plan.roleOf[at.rank]].tasks[at.task];
    };
    for (coll::Rank rank = 0; rank < plan.ranks; ++rank)
    {
        const StepGraph& graph = plan.roles[plan.roleOf[rank]];
        for (TaskId id = 0; id < graph.tasks.size(); ++id)
        {
            const Task& task = graph.tasks[id];
            if (!IsMessage(task))
            {
                continue;
            }
            const coll::Rank peer = PeerOf(plan, rank, task);
            if (peer == coll::kNoRank || peer == rank || task.tag > kMostTag)
            {
                m_problems.push_back(
                    Named(rank, task) + ": " +
                    (task.tag > kMostTag ? "its tag is " + std::to_string(task.tag) +
                                               "; allowed: at most " + std::to_string(kMostTag)
                     : peer == rank ? "a message to itself"
                                    : "no rank is " + std::to_string(task.peerOffset) +
                                          " away from it in its group of \"" +
                                          plan.groupKinds[task.group].name + "\""));
                continue;
            }
            const bool sends = task.kind == TaskKind::kSend;
            Ends& ends = orders[{task.group, sends ? rank : peer, sends ? peer : rank, task.tag}];
            std::vector<RankTask>& own = sends ? ends.sends : ends.receives;
            if (!own.empty() && !BeginsBehind(graph, own.back().task, id))
            {
                m_problems.push_back(Named(rank, task) + " and \"" + taskOf(own.back()).name +
                                     "\" have the same peer and tag but stand on two streams: "
                                     "which comes first is not known");
            }
            own.push_back({rank, id});
        }
    }
    for (const auto& [order, ends] : orders)
    {
        const auto& [group, from, to, tag] = order;
        const std::size_t pairs = std::min(ends.sends.size(), ends.receives.size());
        for (std::size_t k = 0; k < pairs; ++k)
        {
            const RankTask& send = ends.sends[k];
            const RankTask& receive = ends.receives[k];
            if (taskOf(send).bytes != taskOf(receive).bytes)
            {
                m_problems.push_back(Named(to, taskOf(receive)) + " expects " +
                                     std::to_string(taskOf(receive).bytes) + " B, and " +
                                     Named(from, taskOf(send)) + " sends it " +
                                     std::to_string(taskOf(send).bytes));
            }
            m_sendOf[uint64_t{to} << 32 | receive.task] = send;
        }
        for (std::size_t k = pairs; k < ends.sends.size(); ++k)
        {
            m_unmatched.push_back(Named(from, taskOf(ends.sends[k])) + " sends what rank " +
                                  std::to_string(to) + " never receives");
        }
        for (std::size_t k = pairs; k < ends.receives.size(); ++k)
        {
            m_unmatched.push_back(Named(to, taskOf(ends.receives[k])) + " receives what rank " +
                                  std::to_string(from) + " never sends");
        }
    }
}

const RankTask*
MessageMatch::SendOf(coll::Rank rank, TaskId receive) const
{
    const auto found = m_sendOf.find(uint64_t{rank} << 32 | receive);
    return found == m_sendOf.end() ? nullptr : &found->second;
}

} // namespace training
