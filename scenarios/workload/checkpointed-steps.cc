/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "scenarios/workload/checkpointed-steps.h"

#include <utility>

namespace workload
{

CheckpointedSteps::CheckpointedSteps(const training::TrainingPlan& plan,
                                     uint32_t warmup,
                                     uint32_t measured,
                                     uint32_t every,
                                     uint32_t first,
                                     std::vector<bool> absent)
    : m_plan(plan),
      m_warmup(warmup),
      m_steps(warmup + measured),
      m_every(every),
      m_first(first),
      m_absent(std::move(absent)),
      m_begun(plan.ranks, first),
      m_ended(first),
      m_endedOf(plan.ranks, first)
{
    for (coll::Rank rank = 0; rank < plan.ranks; ++rank)
    {
        m_ranks += !IsAbsent(rank);
    }
}

const training::TrainingPlan&
CheckpointedSteps::Plan() const
{
    return m_plan;
}

std::optional<Round>
CheckpointedSteps::Next(coll::Rank rank)
{
    return IsBehindCheckpoint(m_begun[rank]) ? std::nullopt : Woken(rank, 0);
}

std::optional<Round>
CheckpointedSteps::Woken(coll::Rank rank, uint32_t)
{
    if (m_begun[rank] == m_steps || IsAbsent(rank))
    {
        return std::nullopt;
    }
    const uint32_t step = m_begun[rank]++;
    return Round{m_plan.roleOf[rank], step, step >= m_warmup, {}};
}

Notice
CheckpointedSteps::EndOldest()
{
    m_ranksEnded.pop_front();
    ++m_ended;
    Notice notice;
    notice.measure = m_ended == m_warmup;
    notice.end = m_ended == m_steps;
    notice.checkpoint = IsBehindCheckpoint(m_ended);
    for (coll::Rank rank = 0; notice.checkpoint && rank < m_plan.ranks; ++rank)
    {
        if (!IsAbsent(rank))
        {
            notice.wake.emplace_back(rank);
        }
    }
    return notice;
}

Notice
CheckpointedSteps::OnEnded(coll::Rank rank, const Round& round)
{
    // Each rank ends its steps in their order, so they end in their order.
    const uint32_t open = round.number - m_ended;
    if (m_ranksEnded.size() <= open)
    {
        m_ranksEnded.resize(open + 1);
    }
    m_endedOf[rank] = round.number + 1;
    return ++m_ranksEnded[open] == m_ranks ? EndOldest() : Notice();
}

std::vector<Notice>
CheckpointedSteps::Leave(const std::vector<coll::Rank>& ranks)
{
    m_absent.resize(m_plan.ranks);
    for (const coll::Rank rank : ranks)
    {
        m_absent[rank] = true;
        --m_ranks;
        for (std::size_t open = 0; open < m_ranksEnded.size(); ++open)
        {
            m_ranksEnded[open] -= m_endedOf[rank] > m_ended + open;
        }
    }
    std::vector<Notice> notices;
    while (m_ranks > 0 && !m_ranksEnded.empty() && m_ranksEnded.front() == m_ranks)
    {
        notices.push_back(EndOldest());
    }
    return notices;
}

bool
CheckpointedSteps::IsDone() const
{
    return m_ended == m_steps;
}

uint64_t
CheckpointedSteps::CountTasks() const
{
    uint64_t tasks = 0;
    for (coll::Rank rank = 0; rank < m_plan.ranks; ++rank)
    {
        tasks += IsAbsent(rank) ? 0 : m_plan.roles[m_plan.roleOf[rank]].tasks.size();
    }
    return tasks * (m_steps - m_first);
}

} // namespace workload
