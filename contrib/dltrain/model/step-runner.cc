/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "step-runner.h"

#include "results/message-id.h"

#include "ns3/assert.h"

#include <algorithm>

namespace dltrain
{

using training::Task;
using training::TaskId;
using training::TaskKind;

StepRunner::StepRunner(const training::TrainingPlan& plan,
                       uint32_t steps,
                       uint32_t warmup,
                       std::function<void(uint32_t)> onBegin,
                       std::function<void(uint32_t, const StepRecord&)> onStep,
                       std::function<uint32_t(const std::string&)> tagOf)
    : m_plan(plan),
      m_steps(steps),
      m_warmup(warmup),
      m_onBegin(std::move(onBegin)),
      m_onStep(std::move(onStep)),
      m_ranks(plan.ranks),
      m_events(this)
{
    for (const training::StepGraph& graph : plan.roles)
    {
        Role role;
        role.graph = &graph;
        role.dependencies.resize(graph.tasks.size());
        role.after.resize(graph.tasks.size());
        role.streams.resize(graph.streams.size());
        std::vector<uint32_t> tags;
        for (TaskId id = 0; id < graph.tasks.size(); ++id)
        {
            const Task& task = graph.tasks[id];
            role.dependencies[id] = static_cast<uint16_t>(task.after.size());
            for (const TaskId before : task.after)
            {
                role.after[before].push_back(id);
            }
            role.streams[task.stream].push_back(id);
            tags.push_back(task.kind == TaskKind::kCollective ? tagOf(task.name) : 0);
        }
        m_roles.push_back(std::move(role));
        m_tagOfTask.push_back(std::move(tags));
    }
    for (Rank rank = 0; rank < plan.ranks; ++rank)
    {
        m_calls += static_cast<uint64_t>(steps) * plan.roles[plan.roleOf[rank]].tasks.size();
    }
}

void
StepRunner::SetRunner(CollectiveRunner* runner)
{
    m_runner = runner;
    for (const training::GroupKind& kind : m_plan.groupKinds)
    {
        std::vector<uint32_t> communicatorOf(m_plan.ranks, UINT32_MAX);
        std::vector<Rank> positionOf(m_plan.ranks);
        for (const auto& group : kind.groups)
        {
            const uint32_t communicator = runner->AddCommunicator(group);
            for (Rank position = 0; position < group.size(); ++position)
            {
                communicatorOf[group[position]] = communicator;
                positionOf[group[position]] = position;
            }
            m_rankAt.push_back(group);
        }
        m_communicatorOf.push_back(std::move(communicatorOf));
        m_positionOf.push_back(std::move(positionOf));
    }
    m_collectivesDone.resize(m_rankAt.size());
    m_collectivesPerStep.resize(m_rankAt.size());
    for (std::size_t c = 0; c < m_rankAt.size(); ++c)
    {
        const Rank first = m_rankAt[c].front();
        for (const Task& task : m_plan.roles[m_plan.roleOf[first]].tasks)
        {
            m_collectivesPerStep[c] +=
                task.kind == TaskKind::kCollective && m_communicatorOf[task.group][first] == c;
        }
    }
}

void
StepRunner::SetCallListener(std::function<void(const CallRecord&)> onCall)
{
    m_onCall = std::move(onCall);
}

std::string
StepRunner::Start()
{
    for (Rank rank = 0; rank < m_plan.ranks; ++rank)
    {
        const Role& role = m_roles[m_plan.roleOf[rank]];
        for (const Task& task : role.graph->tasks)
        {
            if (task.kind == TaskKind::kSend || task.kind == TaskKind::kRecv)
            {
                return "task \"" + task.name +
                       "\": point-to-point messages need pipeline parallelism, which this release "
                       "does not have";
            }
            if (task.kind == TaskKind::kCollective &&
                rank == m_rankAt[m_communicatorOf[task.group][rank]].front())
            {
                coll::Collective what;
                what.op = task.op;
                what.bytes = task.bytes;
                what.ranks = m_runner->GetNRanks(m_communicatorOf[task.group][rank]);
                const std::string why = m_runner->WhyNot(m_communicatorOf[task.group][rank], what);
                if (!why.empty())
                {
                    return "task \"" + task.name + "\": " + why;
                }
            }
        }
    }
    const int64_t now = ns3::RdmaClock::Now();
    for (Rank rank = 0; rank < m_plan.ranks; ++rank)
    {
        m_ranks[rank].streams.resize(m_roles[m_plan.roleOf[rank]].graph->streams.size());
        BeginStep(rank, now);
    }
    return {};
}

StepRunner::OpenStep&
StepRunner::Open(uint32_t step)
{
    NS_ASSERT_MSG(step >= m_stepsDone, "step " << step << " has ended");
    while (m_open.size() <= step - m_stepsDone)
    {
        m_open.emplace_back();
    }
    return m_open[step - m_stepsDone];
}

void
StepRunner::BeginStep(Rank rank, int64_t now)
{
    RankState& state = m_ranks[rank];
    if (state.step == m_stepsBegun)
    {
        m_onBegin(m_stepsBegun++);
    }
    const Role& role = m_roles[m_plan.roleOf[rank]];
    state.waiting = role.dependencies;
    state.left = static_cast<uint32_t>(role.graph->tasks.size());
    for (Stream& stream : state.streams)
    {
        stream = Stream();
    }
    for (uint32_t s = 0; s < state.streams.size(); ++s)
    {
        TryStart(rank, s, now);
    }
}

void
StepRunner::TryStart(Rank rank, uint32_t s, int64_t now)
{
    RankState& state = m_ranks[rank];
    const uint32_t role = m_plan.roleOf[rank];
    Stream& stream = state.streams[s];
    const auto& order = m_roles[role].streams[s];
    if (stream.busy || stream.next == order.size() || state.waiting[order[stream.next]] > 0)
    {
        return;
    }
    const TaskId id = order[stream.next++];
    const Task& task = m_roles[role].graph->tasks[id];
    stream.busy = true;
    stream.since = now;
    if (task.kind != TaskKind::kCollective)
    {
        int64_t duration = task.duration.ps;
        if (!m_plan.slowness.empty())
        {
            duration =
                static_cast<int64_t>(static_cast<double>(duration) * m_plan.slowness[rank] + 0.5);
        }
        m_events.Schedule(now + duration, m_runner->ContextOf(rank), {rank, id});
        return;
    }
    if (state.communicating++ == 0)
    {
        state.communicatingSince = now;
    }
    m_runner->Start(m_communicatorOf[task.group][rank],
                    m_positionOf[task.group][rank],
                    task.op,
                    task.bytes,
                    0,
                    m_tagOfTask[role][id] |
                        (state.step < m_warmup ? results::MessageId::WARMUP : 0),
                    id,
                    now);
}

void
StepRunner::OnEvent(const EventPayload& e, int64_t now)
{
    EndTask(e.rank, e.task, now);
}

void
StepRunner::OnRankDone(uint32_t communicator, Rank position, uint64_t cookie, int64_t now)
{
    EndTask(m_rankAt[communicator][position], static_cast<TaskId>(cookie), now);
}

void
StepRunner::OnCollectiveDone(uint32_t communicator, const CollectiveRecord& record, int64_t)
{
    Open(m_collectivesDone[communicator]++ / m_collectivesPerStep[communicator])
        .record.collectives.push_back(record);
}

void
StepRunner::EndTask(Rank rank, TaskId id, int64_t now)
{
    RankState& state = m_ranks[rank];
    const Role& role = m_roles[m_plan.roleOf[rank]];
    const Task& task = role.graph->tasks[id];
    Stream& stream = state.streams[task.stream];
    stream.busy = false;
    ++m_callsDone;
    StepRecord& record = Open(state.step).record;
    const double share = 1.0 / m_plan.ranks;
    if (task.stream == 0)
    {
        record.computePs += static_cast<double>(now - stream.since) * share;
    }
    if (task.kind == TaskKind::kCollective && --state.communicating == 0)
    {
        record.communicationPs += static_cast<double>(now - state.communicatingSince) * share;
    }
    if (m_onCall)
    {
        m_onCall({stream.since, now, rank, &task, role.graph, state.step});
    }
    --state.left;
    for (const TaskId next : role.after[id])
    {
        --state.waiting[next];
    }
    if (state.left == 0)
    {
        const uint32_t step = state.step++;
        if (++Open(step).ranksDone == m_plan.ranks)
        {
            // Each rank ends its steps in their order: this is the oldest of those open.
            StepRecord ended = std::move(m_open.front().record);
            m_open.pop_front();
            ended.end = now;
            ++m_stepsDone;
            m_onStep(step, ended);
        }
        if (state.step < m_steps)
        {
            BeginStep(rank, now);
        }
        return;
    }
    for (uint32_t s = 0; s < state.streams.size(); ++s)
    {
        TryStart(rank, s, now);
    }
}

std::vector<std::string>
StepRunner::DescribeUnfinished() const
{
    std::vector<std::string> lines;
    for (Rank rank = 0; rank < m_plan.ranks && lines.size() < 8; ++rank)
    {
        const RankState& state = m_ranks[rank];
        const Role& role = m_roles[m_plan.roleOf[rank]];
        for (uint32_t s = 0; s < state.streams.size(); ++s)
        {
            if (state.streams[s].busy)
            {
                const Task& task = role.graph->tasks[role.streams[s][state.streams[s].next - 1]];
                lines.push_back("rank " + std::to_string(rank) + ", step " +
                                std::to_string(state.step) + ", stream " + role.graph->streams[s] +
                                ": in \"" + task.name + "\"");
            }
        }
    }
    const auto more = m_runner->DescribeUnfinished();
    lines.insert(lines.end(), more.begin(), more.end());
    return lines;
}

} // namespace dltrain
