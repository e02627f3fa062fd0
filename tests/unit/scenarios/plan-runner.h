/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Runs a plan with actors on a network without contention: what JobRunner does, without a
 * simulator. A message is there after `latency` and `psPerByte`, and its send ends with it; a
 * Notice is acted upon `decision` later.
 */
#ifndef TESTS_PLAN_RUNNER_H
#define TESTS_PLAN_RUNNER_H

#include "scenarios/workload/workload.h"

#include <deque>
#include <gtest/gtest.h>
#include <map>
#include <queue>
#include <tuple>
#include <vector>

namespace planrunner
{

using coll::Rank;
using training::TaskKind;

struct Costs
{
    int64_t latency = 0;   ///< ps
    int64_t psPerByte = 0; ///< of a message
    int64_t decision = 0;  ///< ps
};

class PlanRunner
{
  public:
    PlanRunner(const training::TrainingPlan& plan, workload::Workload& workload, Costs costs)
        : m_plan(plan),
          m_workload(workload),
          m_costs(costs),
          m_runners(plan.Runners())
    {
    }

    /// Until the workload says that it is over, or nothing happens any more.
    void Run()
    {
        for (Rank runner = 0; runner < m_plan.Runners(); ++runner)
        {
            Begin(runner, m_workload.Next(runner));
        }
        while (!m_events.empty() && !over)
        {
            const Event event = m_events.top();
            m_events.pop();
            now = event.time;
            switch (event.what)
            {
            case What::kTask:
                EndTask(event.runner, event.task);
                break;
            case What::kArrival:
                Arrive(event.order);
                break;
            case What::kNotice:
                Act(event.notice);
                break;
            case What::kBegun:
                GoOn(event.runner);
                break;
            }
        }
    }

    /// Bytes of a tag that were sent, by (from, to).
    uint64_t Sent(uint16_t tag, Rank from, Rank to) const
    {
        const auto found = sent.find({tag, from, to});
        return found == sent.end() ? 0 : found->second;
    }

    int64_t now = 0;
    bool over = false;
    int64_t measuredFrom = 0;
    int64_t lastStep = 0; ///< ps
    uint32_t steps = 0;
    std::map<std::tuple<uint16_t, Rank, Rank>, uint64_t> sent;
    std::map<Rank, uint32_t> rounds; ///< ended, by runner

  private:
    using Order = std::tuple<uint32_t, Rank, Rank, uint16_t>;

    enum class What
    {
        kTask,
        kArrival,
        kNotice,
        kBegun,
    };

    struct Event
    {
        int64_t time;
        uint64_t number;
        What what;
        Rank runner;
        training::TaskId task;
        Order order;
        std::size_t notice;

        bool operator<(const Event& other) const
        {
            return std::tie(other.time, other.number) < std::tie(time, number);
        }
    };

    struct Runner
    {
        bool inRound = false;
        workload::Round round;
        const training::StepGraph* graph = nullptr;
        std::vector<std::size_t> waiting;
        std::vector<std::deque<training::TaskId>> streams;
        std::vector<bool> busy;
        std::size_t left = 0;
        bool stopped = false;
    };

    struct Waiting
    {
        std::deque<uint64_t> arrived; ///< bytes
        std::deque<uint64_t> sent;    ///< bytes, on their way
        std::deque<std::pair<Rank, training::TaskId>> receives;
    };

    void At(int64_t time, What what, Rank runner, training::TaskId task, const Order& order = {})
    {
        m_events.push({time, m_number++, what, runner, task, order, 0});
    }

    void Begin(Rank runner, const std::optional<workload::Round>& round)
    {
        if (!round)
        {
            return;
        }
        Runner& of = m_runners[runner];
        ASSERT_FALSE(of.inRound) << "runner " << runner << " is in a round";
        ASSERT_LT(round->graph, m_plan.roles.size());
        of.inRound = true;
        of.stopped = false;
        of.round = *round;
        of.graph = &m_plan.roles[round->graph];
        of.left = of.graph->tasks.size();
        of.streams.assign(of.graph->streams.size(), {});
        of.busy.assign(of.graph->streams.size(), false);
        of.waiting.clear();
        for (training::TaskId id = 0; id < of.left; ++id)
        {
            of.waiting.push_back(of.graph->tasks[id].after.size());
            of.streams[of.graph->tasks[id].stream].push_back(id);
        }
        At(now, What::kBegun, runner, 0);
    }

    void GoOn(Rank runner)
    {
        Runner& of = m_runners[runner];
        if (of.left == 0)
        {
            of.inRound = false;
            ++rounds[runner];
            const workload::Notice notice = m_workload.OnEnded(runner, of.round);
            if (notice.step)
            {
                ++steps;
                lastStep = now;
            }
            if (notice.measure)
            {
                measuredFrom = now;
            }
            if (!notice.IsEmpty())
            {
                m_notices.push_back(notice);
                m_events.push({now + m_costs.decision,
                               m_number++,
                               What::kNotice,
                               0,
                               0,
                               {},
                               m_notices.size() - 1});
            }
            Begin(runner, m_workload.Next(runner));
            return;
        }
        for (std::size_t s = 0; s < of.streams.size(); ++s)
        {
            if (!of.busy[s] && !of.streams[s].empty() && of.waiting[of.streams[s].front()] == 0)
            {
                of.busy[s] = true;
                const training::TaskId id = of.streams[s].front();
                of.streams[s].pop_front();
                Start(runner, id);
            }
        }
    }

    void Start(Rank runner, training::TaskId id)
    {
        const training::Task& task = m_runners[runner].graph->tasks[id];
        const Rank place = m_plan.PlaceOf(runner);
        const Rank peer = place + static_cast<Rank>(task.peerOffset);
        if (task.kind == TaskKind::kSend)
        {
            ASSERT_LT(peer, m_plan.ranks);
            ASSERT_NE(peer, place) << "a message to itself";
            const Order order{task.group, place, peer, task.tag};
            sent[{task.tag, place, peer}] += task.bytes;
            m_messages[order].sent.push_back(task.bytes);
            const int64_t there =
                now + m_costs.latency + m_costs.psPerByte * static_cast<int64_t>(task.bytes);
            At(there, What::kArrival, runner, id, order);
            At(there, What::kTask, runner, id);
        }
        else if (task.kind == TaskKind::kRecv)
        {
            const Order order{task.group, peer, place, task.tag};
            m_messages[order].receives.emplace_back(runner, id);
            Match(order);
        }
        else
        {
            const bool slow = runner < m_plan.ranks && !m_plan.slowness.empty();
            const double factor = slow ? m_plan.slowness[runner] : 1;
            At(now + static_cast<int64_t>(static_cast<double>(task.duration.ps) * factor + 0.5),
               What::kTask,
               runner,
               id);
        }
    }

    void Arrive(const Order& order)
    {
        Waiting& of = m_messages[order];
        of.arrived.push_back(of.sent.front());
        of.sent.pop_front();
        Match(order);
    }

    void Match(const Order& order)
    {
        Waiting& of = m_messages[order];
        while (!of.arrived.empty() && !of.receives.empty())
        {
            const auto [runner, id] = of.receives.front();
            EXPECT_EQ(m_runners[runner].graph->tasks[id].bytes, of.arrived.front());
            of.arrived.pop_front();
            of.receives.pop_front();
            At(now, What::kTask, runner, id);
        }
    }

    void EndTask(Rank runner, training::TaskId id)
    {
        Runner& of = m_runners[runner];
        of.busy[of.graph->tasks[id].stream] = false;
        for (training::TaskId next = 0; next < of.waiting.size(); ++next)
        {
            for (const training::TaskId before : of.graph->tasks[next].after)
            {
                of.waiting[next] -= before == id;
            }
        }
        of.left = of.stopped ? 0 : of.left - 1;
        GoOn(runner);
    }

    void Act(std::size_t number)
    {
        const workload::Notice notice = m_notices[number];
        over = over || notice.end;
        for (const Rank rank : notice.stop)
        {
            m_runners[rank].stopped = true;
        }
        for (const workload::Wake& wake : notice.wake)
        {
            Begin(wake.rank, m_workload.Woken(wake.rank, wake.word));
        }
    }

    const training::TrainingPlan& m_plan;
    workload::Workload& m_workload;
    Costs m_costs;
    std::vector<Runner> m_runners;
    std::map<Order, Waiting> m_messages;
    std::deque<workload::Notice> m_notices;
    std::priority_queue<Event> m_events;
    uint64_t m_number = 0;
};

} // namespace planrunner

#endif // TESTS_PLAN_RUNNER_H
