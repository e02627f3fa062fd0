/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * How long one step of a plan takes on a network without contention, by the rules of step-graph.h:
 * what the simulator does, without one. For tests that compare plans.
 */
#ifndef TESTS_UNIT_SCENARIOS_ONE_STEP_H
#define TESTS_UNIT_SCENARIOS_ONE_STEP_H

#include "scenarios/training/steps/message-match.h"
#include "scenarios/training/steps/step-graph.h"

#include <algorithm>
#include <cstdint>
#include <deque>
#include <map>
#include <queue>
#include <tuple>
#include <vector>

namespace onestep
{

using coll::Rank;
using training::TaskId;
using training::TaskKind;

/// Of all ranks, ps; and how many tasks have ended, which are all unless ranks wait for ever.
struct Result
{
    int64_t time = 0;
    std::size_t ended = 0;
    std::size_t tasks = 0;
};

/// A message takes 1 us and 10 ps a byte, a collective 5 us and 20 ps a byte from its last rank on.
class Step
{
  public:
    explicit Step(const training::TrainingPlan& plan)
        : m_plan(plan),
          m_ranks(plan.ranks)
    {
    }

    Result Run()
    {
        for (Rank rank = 0; rank < m_plan.ranks; ++rank)
        {
            const auto& graph = GraphOf(rank);
            Own& own = m_ranks[rank];
            own.streams.resize(graph.streams.size());
            own.busy.resize(graph.streams.size());
            own.behind.resize(graph.tasks.size());
            for (TaskId id = 0; id < graph.tasks.size(); ++id)
            {
                own.waits.push_back(graph.tasks[id].after.size());
                own.streams[graph.tasks[id].stream].push_back(id);
                for (const TaskId before : graph.tasks[id].after)
                {
                    own.behind[before].push_back(id);
                }
            }
            m_result.tasks += graph.tasks.size();
        }
        for (Rank rank = 0; rank < m_plan.ranks; ++rank)
        {
            GoOn(rank);
        }
        while (!m_events.empty())
        {
            const auto [time, number, rank, id] = m_events.top();
            m_events.pop();
            m_now = time;
            End(rank, id);
        }
        m_result.time = m_now;
        return m_result;
    }

  private:
    struct Own
    {
        std::vector<std::size_t> waits;
        std::vector<std::deque<TaskId>> streams;
        std::vector<bool> busy;
        std::vector<std::vector<TaskId>> behind;
        std::map<uint32_t, uint32_t> calls; ///< by kind of groups
    };

    using Event = std::tuple<int64_t, uint64_t, Rank, TaskId>;
    using Order = std::tuple<uint32_t, Rank, Rank, uint16_t>;

    struct Waiting
    {
        std::deque<int64_t> arrivals;
        std::deque<TaskId> receives;
    };

    const training::StepGraph& GraphOf(Rank rank) const
    {
        return m_plan.roles[m_plan.roleOf[rank]];
    }

    void At(int64_t time, Rank rank, TaskId id)
    {
        m_events.emplace(time, m_number++, rank, id);
    }

    void End(Rank rank, TaskId id)
    {
        ++m_result.ended;
        Own& own = m_ranks[rank];
        own.busy[GraphOf(rank).tasks[id].stream] = false;
        for (const TaskId behind : own.behind[id])
        {
            --own.waits[behind];
        }
        GoOn(rank);
    }

    void GoOn(Rank rank)
    {
        Own& own = m_ranks[rank];
        for (std::size_t s = 0; s < own.streams.size(); ++s)
        {
            if (!own.busy[s] && !own.streams[s].empty() && own.waits[own.streams[s].front()] == 0)
            {
                own.busy[s] = true;
                const TaskId id = own.streams[s].front();
                own.streams[s].pop_front();
                Start(rank, id);
            }
        }
    }

    void Start(Rank rank, TaskId id)
    {
        const training::Task& task = GraphOf(rank).tasks[id];
        const Rank peer = task.kind == TaskKind::kSend || task.kind == TaskKind::kRecv
                              ? training::PeerOf(m_plan, rank, task)
                              : 0;
        switch (task.kind)
        {
        case TaskKind::kSend: {
            const int64_t there = m_now + 1000000 + 10 * static_cast<int64_t>(task.bytes);
            At(there, rank, id);
            Waiting& waiting = m_messages[{task.group, rank, peer, task.tag}];
            if (waiting.receives.empty())
            {
                waiting.arrivals.push_back(there);
                return;
            }
            At(there, peer, waiting.receives.front());
            waiting.receives.pop_front();
            return;
        }
        case TaskKind::kRecv: {
            Waiting& waiting = m_messages[{task.group, peer, rank, task.tag}];
            if (waiting.arrivals.empty())
            {
                waiting.receives.push_back(id);
                return;
            }
            At(std::max(m_now, waiting.arrivals.front()), rank, id);
            waiting.arrivals.pop_front();
            return;
        }
        case TaskKind::kCollective: {
            const auto& groups = m_plan.groupKinds[task.group].groups;
            const auto group = std::find_if(groups.begin(), groups.end(), [rank](const auto& of) {
                return std::find(of.begin(), of.end(), rank) != of.end();
            });
            const uint32_t call = m_ranks[rank].calls[task.group]++;
            auto& in = m_calls[{task.group, group - groups.begin(), call}];
            in.emplace_back(rank, id);
            if (in.size() == group->size())
            {
                for (const auto& [member, of] : in)
                {
                    At(m_now + 5000000 + 20 * static_cast<int64_t>(task.bytes), member, of);
                }
            }
            return;
        }
        default:
            At(m_now + task.duration.ps, rank, id);
        }
    }

    const training::TrainingPlan& m_plan;
    std::vector<Own> m_ranks;
    std::priority_queue<Event, std::vector<Event>, std::greater<>> m_events;
    std::map<Order, Waiting> m_messages;
    std::map<std::tuple<uint32_t, std::ptrdiff_t, uint32_t>, std::vector<std::pair<Rank, TaskId>>>
        m_calls;
    uint64_t m_number = 0;
    int64_t m_now = 0;
    Result m_result;
};

inline Result
Run(const training::TrainingPlan& plan)
{
    return Step(plan).Run();
}

} // namespace onestep

#endif // TESTS_UNIT_SCENARIOS_ONE_STEP_H
