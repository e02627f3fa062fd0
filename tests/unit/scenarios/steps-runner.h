/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Runs several steps of a plan in a row, as the workload "steps" gives them to ranks, on a network
 * where messages and collectives do not slow each other down: a message of b bytes takes latency +
 * b / rate behind its send's beginning, and its receive ends with it; an all-reduce of b bytes
 * among n ranks takes 2 (n - 1)/n b / rate from when the last rank has come. The k-th receive of a
 * rank from another, with one tag, takes the k-th send, whatever steps the two are in.
 */
#ifndef TESTS_UNIT_SCENARIOS_STEPS_RUNNER_H
#define TESTS_UNIT_SCENARIOS_STEPS_RUNNER_H

#include "scenarios/training/graphs/training-plan.h"
#include "scenarios/training/steps/message-match.h"
#include "scenarios/workload/repeated-steps.h"

#include <algorithm>
#include <gtest/gtest.h>
#include <limits>
#include <map>
#include <string>
#include <tuple>
#include <vector>

struct NetworkOfSteps
{
    double latency = 0;                                      ///< s
    double rate = std::numeric_limits<double>::infinity();   ///< bytes/s
    double adding = std::numeric_limits<double>::infinity(); ///< of collectives, bytes/s
    bool joined = false; ///< a rank does not wait at the end of a step for what is under way
};

class StepsRunner
{
  public:
    using Rank = coll::Rank;

    StepsRunner(const training::TrainingPlan& plan, uint32_t steps, NetworkOfSteps network = {})
        : m_plan(plan),
          m_network(network),
          m_steps(steps)
    {
        workload::RepeatedSteps workload(plan, 0, steps);
        for (Rank rank = 0; rank < plan.ranks; ++rank)
        {
            m_ranks.emplace_back();
            while (const auto round = workload.Next(rank))
            {
                Append(m_ranks.back(), plan.roles[round->graph]);
            }
            tasks += m_ranks.back().tasks.size();
        }
        EXPECT_EQ(workload.CountTasks(), tasks);
        for (const training::GroupKind& kind : plan.groupKinds)
        {
            auto& groupOf = m_groupOf.emplace_back(plan.ranks, UINT32_MAX);
            for (uint32_t g = 0; g < kind.groups.size(); ++g)
            {
                for (const Rank rank : kind.groups[g])
                {
                    groupOf[rank] = g;
                }
            }
        }
    }

    /// \return when the last rank ends each step, s; empty: they wait for one another for ever
    std::vector<double> Run()
    {
        for (bool moved = true; moved;)
        {
            moved = false;
            for (Rank rank = 0; rank < m_ranks.size(); ++rank)
            {
                for (auto& stream : m_ranks[rank].streams)
                {
                    while (stream.next < stream.tasks.size() && TryStart(rank, stream))
                    {
                        moved = true;
                    }
                }
            }
        }
        std::vector<double> ends(m_steps, 0);
        for (const Walk& walk : m_ranks)
        {
            for (const Entry& entry : walk.tasks)
            {
                if (entry.end < 0)
                {
                    waiting = entry.task->name;
                    return {};
                }
                ends[entry.step] = std::max(ends[entry.step], entry.end);
            }
        }
        return ends;
    }

    uint64_t tasks = 0;
    std::string waiting; ///< a task that never ends

  private:
    struct Entry
    {
        const training::Task* task;
        uint32_t step;
        std::size_t first; ///< of the step
        double end = -1;
        bool begun = false;
    };

    struct Stream
    {
        std::vector<std::size_t> tasks;
        std::size_t next = 0;
        double free = 0;
    };

    struct Walk
    {
        std::vector<Entry> tasks;
        std::vector<Stream> streams;
        uint32_t steps = 0;
    };

    using Order = std::tuple<uint32_t, Rank, Rank, uint16_t>;

    struct Open
    {
        std::vector<std::pair<Rank, std::size_t>> members;
        double begin = 0;
    };

    static void Append(Walk& walk, const training::StepGraph& graph)
    {
        const std::size_t first = walk.tasks.size();
        walk.streams.resize(std::max(walk.streams.size(), graph.streams.size()));
        for (const training::Task& task : graph.tasks)
        {
            walk.streams[task.stream].tasks.push_back(walk.tasks.size());
            walk.tasks.push_back({&task, walk.steps, first});
        }
        ++walk.steps;
    }

    /// \return false: it cannot begin yet
    bool Ready(const Walk& walk, const Entry& entry, double& begin) const
    {
        for (const training::TaskId before : entry.task->after)
        {
            const double end = walk.tasks[entry.first + before].end;
            if (end < 0)
            {
                return false;
            }
            begin = std::max(begin, end);
        }
        if (m_network.joined || entry.step == 0)
        {
            return true;
        }
        for (std::size_t i = entry.first; i-- > 0 && walk.tasks[i].step + 1 == entry.step;)
        {
            if (walk.tasks[i].end < 0)
            {
                return false;
            }
            begin = std::max(begin, walk.tasks[i].end);
        }
        return true;
    }

    bool TryStart(Rank rank, Stream& stream)
    {
        Walk& walk = m_ranks[rank];
        Entry& entry = walk.tasks[stream.tasks[stream.next]];
        const training::Task& task = *entry.task;
        double begin = stream.free;
        if (!Ready(walk, entry, begin))
        {
            return false;
        }
        switch (task.kind)
        {
        case training::TaskKind::kCompute:
        case training::TaskKind::kMemory:
        case training::TaskKind::kHost:
            return Finish(entry, stream, begin + task.duration.Seconds());
        case training::TaskKind::kSend: {
            const double end = begin + m_network.latency + task.bytes / m_network.rate;
            m_sent[OrderOf(rank, task)].emplace_back(end, task.bytes);
            return Finish(entry, stream, end);
        }
        case training::TaskKind::kRecv: {
            auto& taken = m_taken[OrderOf(rank, task)];
            const auto& sent = m_sent[OrderOf(rank, task)];
            if (taken == sent.size())
            {
                return false;
            }
            EXPECT_EQ(sent[taken].second, task.bytes) << task.name;
            return Finish(entry, stream, std::max(begin, sent[taken++].first));
        }
        case training::TaskKind::kCollective:
            return Join(rank, stream, entry, begin);
        }
        return false;
    }

    bool Join(Rank rank, Stream& stream, Entry& entry, double begin)
    {
        const training::Task& task = *entry.task;
        const auto& members = m_plan.groupKinds[task.group].groups[m_groupOf[task.group][rank]];
        Open& open = m_open[{task.group, m_groupOf[task.group][rank]}];
        if (!entry.begun)
        {
            entry.begun = true;
            open.members.emplace_back(rank, stream.tasks[stream.next]);
            open.begin = std::max(open.begin, begin);
        }
        if (open.members.size() < members.size())
        {
            return false;
        }
        const Open done = std::move(open);
        m_open.erase({task.group, m_groupOf[task.group][rank]});
        const double n = static_cast<double>(members.size());
        const double factor = task.op == coll::Op::kAllReduce ? 2 : 1;
        const double end = done.begin + factor * (n - 1) / n * task.bytes / m_network.adding;
        for (const auto& [member, index] : done.members)
        {
            Entry& other = m_ranks[member].tasks[index];
            EXPECT_EQ(other.task->bytes, task.bytes) << task.name;
            EXPECT_EQ(other.task->op, task.op) << task.name;
            Finish(other, m_ranks[member].streams[other.task->stream], end);
        }
        return true;
    }

    static bool Finish(Entry& entry, Stream& stream, double end)
    {
        entry.end = end;
        stream.free = end;
        ++stream.next;
        return true;
    }

    Order OrderOf(Rank rank, const training::Task& task) const
    {
        const Rank peer = training::PeerOf(m_plan, rank, task);
        const bool sends = task.kind == training::TaskKind::kSend;
        return {task.group, sends ? rank : peer, sends ? peer : rank, task.tag};
    }

    const training::TrainingPlan& m_plan;
    NetworkOfSteps m_network;
    uint32_t m_steps;
    std::vector<Walk> m_ranks;
    std::vector<std::vector<uint32_t>> m_groupOf;
    std::map<Order, std::vector<std::pair<double, uint64_t>>> m_sent;
    std::map<Order, std::size_t> m_taken;
    std::map<std::pair<uint32_t, uint32_t>, Open> m_open;
};

#endif // TESTS_UNIT_SCENARIOS_STEPS_RUNNER_H
