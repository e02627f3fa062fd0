/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "scenarios/workload/repeated-steps.h"

#include "scenarios/workload/registry.h"

namespace workload
{

namespace
{

const RegisteredWorkload<RepeatedSteps> g_steps(
    "steps",
    "step after step, each GPU at its own pace: they wait for one another in communication only");

} // namespace

RepeatedSteps::RepeatedSteps(const training::TrainingPlan& plan, uint32_t warmup, uint32_t measured)
    : m_plan(plan),
      m_ofSize(warmup + measured),
      m_steps(m_ofSize * static_cast<uint32_t>(plan.sizes.size())),
      m_unmeasured(plan.StepsBeforeCounting(warmup, measured)),
      m_begun(plan.ranks)
{
}

const training::TrainingPlan&
RepeatedSteps::Plan() const
{
    return m_plan;
}

std::optional<Round>
RepeatedSteps::Next(coll::Rank rank)
{
    if (m_begun[rank] == m_steps)
    {
        return std::nullopt;
    }
    const uint32_t step = m_begun[rank]++;
    const uint32_t first = m_plan.sizes[m_plan.SizeInTurn(step / m_ofSize)].firstRole;
    return Round{first + m_plan.RoleIn(step, rank), step, step >= m_unmeasured, {}};
}

Notice
RepeatedSteps::OnEnded(coll::Rank, const Round& round)
{
    // Each rank ends its steps in their order, so they end in their order.
    const uint32_t open = round.number - m_ended;
    if (m_ranksEnded.size() <= open)
    {
        m_ranksEnded.resize(open + 1);
    }
    Notice notice;
    if (++m_ranksEnded[open] == m_plan.ranks)
    {
        m_ranksEnded.pop_front();
        ++m_ended;
        notice.measure = m_ended == m_unmeasured;
        notice.end = m_ended == m_steps;
    }
    return notice;
}

bool
RepeatedSteps::IsDone() const
{
    return m_ended == m_steps;
}

uint64_t
RepeatedSteps::CountTasks() const
{
    uint64_t tasks = 0;
    for (const training::PlanSize& size : m_plan.sizes)
    {
        for (const uint32_t role : m_plan.roleOf)
        {
            tasks += m_plan.roles[size.firstRole + role].tasks.size();
        }
    }
    tasks *= m_ofSize;
    for (coll::Rank rank = 0; m_plan.fillRoles > 0 && rank < m_plan.ranks; ++rank)
    {
        tasks += m_plan.roles[m_plan.RoleIn(0, rank)].tasks.size();
        tasks -= m_plan.roles[m_plan.roleOf[rank]].tasks.size();
    }
    return tasks;
}

} // namespace workload
