/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "job-runner.h"

#include "scenarios/training/message-match.h"

#include "ns3/assert.h"

namespace dltrain
{

using training::Task;
using training::TaskKind;

namespace
{

/// Lines of ranks in a description of what is not done.
constexpr std::size_t MOST_LINES = 8;

} // namespace

JobRunner::JobRunner(workload::Workload& workload,
                     JobListener& listener,
                     const std::function<uint32_t(const std::string&)>& tagOf)
    : m_workload(workload),
      m_plan(workload.Plan()),
      m_listener(listener),
      m_tasks(workload.CountTasks())
{
    for (const training::StepGraph& graph : m_plan.roles)
    {
        m_graphs.emplace_back(graph, tagOf);
    }
}

void
JobRunner::SetServices(const RankServices& services)
{
    m_collectives = &services.collectives;
    m_messages = &services.messages;
    std::vector<std::vector<Seat>> seats(m_plan.ranks, std::vector<Seat>(m_plan.groupKinds.size()));
    for (std::size_t kind = 0; kind < m_plan.groupKinds.size(); ++kind)
    {
        for (const auto& group : m_plan.groupKinds[kind].groups)
        {
            const uint32_t communicator = m_collectives->AddCommunicator(group);
            for (Rank position = 0; position < group.size(); ++position)
            {
                seats[group[position]][kind] = {communicator, position, &group};
            }
            m_rankAt.push_back(group);
        }
    }
    for (Rank rank = 0; rank < m_plan.ranks; ++rank)
    {
        m_ranks.emplace_back(rank,
                             m_plan.slowness.empty() ? 1 : m_plan.slowness[rank],
                             std::move(seats[rank]),
                             services,
                             *this);
    }
}

std::string
JobRunner::WhyNot(Rank rank, const Task& task) const
{
    if (task.kind != TaskKind::kCollective)
    {
        return {};
    }
    const Seat& seat = m_ranks[rank].GetSeat(task.group);
    if (!seat.group)
    {
        return "rank " + std::to_string(rank) + " is in no group of \"" +
               m_plan.groupKinds[task.group].name + "\"";
    }
    if (seat.position != 0)
    {
        return {}; // the first of the group has been asked
    }
    coll::Collective what;
    what.op = task.op;
    what.bytes = task.bytes;
    what.ranks = m_collectives->GetNRanks(seat.communicator);
    return m_collectives->WhyNot(seat.communicator, what);
}

std::string
JobRunner::Start()
{
    const training::MessageMatch match(m_plan);
    if (!match.Problems().empty())
    {
        return match.Problems().front();
    }
    for (Rank rank = 0; rank < m_plan.ranks; ++rank)
    {
        for (const Task& task : m_plan.roles[m_plan.roleOf[rank]].tasks)
        {
            const std::string why = WhyNot(rank, task);
            if (!why.empty())
            {
                return "task \"" + task.name + "\": " + why;
            }
        }
    }
    const int64_t now = ns3::RdmaClock::Now();
    for (Rank rank = 0; rank < m_plan.ranks; ++rank)
    {
        BeginNext(rank, now);
    }
    return {};
}

void
JobRunner::BeginNext(Rank rank, int64_t now)
{
    const std::optional<workload::Round> round = m_workload.Next(rank);
    if (!round)
    {
        return;
    }
    if (round->number >= m_begun)
    {
        m_begun = round->number + 1;
        m_listener.OnRoundBegin(round->number);
    }
    m_ranks[rank].Begin(*round, m_graphs[round->graph], now);
}

JobRunner::OpenRound&
JobRunner::Open(uint32_t number)
{
    NS_ASSERT_MSG(number >= m_closed, "round " << number << " has ended");
    while (m_open.size() <= number - m_closed)
    {
        m_open.emplace_back();
    }
    return m_open[number - m_closed];
}

void
JobRunner::OnCollectiveDone(uint32_t, const CollectiveRecord& record, int64_t)
{
    m_ended = record;
}

void
JobRunner::OnRankDone(uint32_t communicator, Rank position, uint64_t cookie, int64_t now)
{
    RankRunner& rank = m_ranks[m_rankAt[communicator][position]];
    if (m_ended)
    {
        Open(rank.GetRound().number).record.collectives.push_back(*m_ended);
        m_ended.reset();
    }
    rank.EndTask(static_cast<training::TaskId>(cookie), now);
}

void
JobRunner::OnMessageDone(Rank rank, uint64_t cookie, int64_t now)
{
    m_ranks[rank].EndTask(static_cast<training::TaskId>(cookie), now);
}

void
JobRunner::OnCall(const results::CallRecord& call, int64_t communicated)
{
    ++m_tasksDone;
    results::StepRecord& record = Open(call.step).record;
    const double share = 1.0 / m_plan.ranks;
    if (call.task->stream == 0)
    {
        record.computePs += static_cast<double>(call.end - call.start) * share;
    }
    record.communicationPs += static_cast<double>(communicated) * share;
    m_listener.OnCall(call);
}

void
JobRunner::OnRoundEnd(Rank rank, const workload::Round& round, int64_t now)
{
    if (++Open(round.number).ranksDone == m_plan.ranks)
    {
        // Each rank ends its rounds in their order: this number is the oldest of those open.
        results::StepRecord ended = std::move(m_open.front().record);
        m_open.pop_front();
        ended.end = now;
        ++m_closed;
        m_listener.OnRoundEnd(round.number, ended);
    }
    const workload::Notice notice = m_workload.OnEnded(rank);
    if (notice.measure)
    {
        m_listener.OnMeasure(now);
    }
    if (notice.end)
    {
        m_listener.OnJobEnd();
    }
    BeginNext(rank, now);
    for (const Rank other : notice.wake)
    {
        BeginNext(other, now);
    }
}

std::vector<std::string>
JobRunner::DescribeUnfinished() const
{
    std::vector<std::string> lines;
    for (auto rank = m_ranks.begin(); rank != m_ranks.end() && lines.size() < MOST_LINES; ++rank)
    {
        const auto more = rank->DescribeUnfinished();
        lines.insert(lines.end(), more.begin(), more.end());
    }
    for (const auto& more : {m_messages->DescribeUnfinished(), m_collectives->DescribeUnfinished()})
    {
        lines.insert(lines.end(), more.begin(), more.end());
    }
    return lines;
}

} // namespace dltrain
