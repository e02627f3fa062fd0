/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * A job before its first event.
 */
#include "contrib/dltrain/base/part-note.h"
#include "contrib/dltrain/ranks/rank-notes.h"
#include "job-runner.h"
#include "scenarios/training/steps/message-match.h"

#include "ns3/assert.h"
#include "ns3/simulator.h"

#include <algorithm>

namespace dltrain
{

using training::Task;
using training::TaskKind;

JobRunner::JobRunner(workload::Workload& workload,
                     JobListener& listener,
                     const std::function<uint32_t(const std::string&)>& tagOf,
                     JobStart start)
    : m_workload(workload),
      m_plan(workload.Plan()),
      m_start(std::move(start)),
      m_groupKinds(m_plan.groupKinds),
      m_ranksHere(m_plan.ranks),
      m_listener(listener),
      m_decide([this](const workload::Notice& notice) {
          ns3::Simulator::ScheduleWithContext(ns3::Simulator::NO_CONTEXT,
                                              ns3::Time(0),
                                              [this, notice] { Act(notice); });
      }),
      m_choose([this](const CollectiveChoice& choice) {
          ns3::Simulator::ScheduleWithContext(ns3::Simulator::NO_CONTEXT,
                                              ns3::Time(0),
                                              [this, choice] { Act(choice); });
      }),
      m_roundsEnded(m_plan.ranks, m_start.first),
      m_closed(m_start.first),
      m_begun(m_start.first),
      m_tasks(workload.CountTasks())
{
    const auto isAbsent = [this](Rank rank) { return m_start.IsAbsent(rank); };
    for (training::GroupKind& kind : m_groupKinds)
    {
        for (std::vector<Rank>& group : kind.groups)
        {
            group.erase(std::remove_if(group.begin(), group.end(), isAbsent), group.end());
        }
    }
    for (Rank rank = 0; rank < m_plan.ranks; ++rank)
    {
        m_ranksHere -= m_start.IsAbsent(rank);
    }
    for (const training::StepGraph& graph : m_plan.roles)
    {
        m_graphs.emplace_back(graph, m_plan, tagOf);
    }
}

void
JobRunner::SetNotes(RankNotes* notes)
{
    m_notes = notes;
    if (notes)
    {
        m_kinds.begin = notes->Add<uint32_t>([this](uint32_t round) { HearBegin(round); });
        m_kinds.part = notes->Add<PartNote>([this](const PartNote& n) { HearPart(n.GetPart()); });
        m_kinds.call = notes->Add<CallNote>([this](const CallNote& n) { HearCall(CallOf(n)); });
        m_kinds.choice =
            notes->Add<CollectiveChoice>([this](const CollectiveChoice& c) { m_choose(c); });
        m_kinds.roundEnd = notes->Add<RoundEnd>([this](const RoundEnd& e) { HearRoundEnd(e); });
    }
}

void
JobRunner::SetServices(const RankServices& services)
{
    m_collectives = services.collectives;
    m_messages = services.messages;
    // What goes first may differ from step to step.
    if (m_plan.HasActors() || m_plan.queue)
    {
        m_collectives->Distrust();
    }
    std::vector<uint8_t> priorities;
    for (const training::GroupKind& kind : m_groupKinds)
    {
        priorities.push_back(kind.priority);
    }
    m_messages->SetPriorities(std::move(priorities));
    const std::vector<std::vector<Seat>> seats = MakeSeats();
    m_ranks.resize(m_plan.Runners());
    for (Rank runner = 0; runner < m_plan.Runners(); ++runner)
    {
        const Rank rank = m_plan.PlaceOf(runner);
        if (m_collectives->IsHere(rank) && !m_start.IsAbsent(rank))
        {
            // A slow GPU does not slow down the servers beside it.
            const bool slow = runner < m_plan.ranks && !m_start.HasMoved(rank);
            m_ranks[runner] = std::make_unique<RankRunner>(
                runner,
                rank,
                slow ? m_plan.SlownessOf(rank) : 1,
                runner < m_plan.ranks ? m_plan.jitter : training::Jitter{},
                m_plan.ContentionOf(rank),
                runner < m_plan.ranks ? FindSpeed(rank) : nullptr,
                seats[rank],
                services,
                *this);
            if (m_plan.queue && runner < m_plan.ranks)
            {
                m_ranks[runner]->SetQueue(*m_plan.queue);
            }
            if (m_plan.SendsForItsRank(runner))
            {
                m_ranks[runner]->SendFor(*m_ranks[rank]);
            }
        }
    }
}

std::vector<std::vector<Seat>>
JobRunner::MakeSeats()
{
    std::vector<std::vector<Seat>> seats(m_plan.ranks, std::vector<Seat>(m_groupKinds.size()));
    for (std::size_t kind = 0; kind < m_groupKinds.size(); ++kind)
    {
        for (const auto& group : m_groupKinds[kind].groups)
        {
            if (group.empty())
            {
                continue; // all have left
            }
            const uint32_t communicator =
                m_collectives->AddCommunicator(group, m_groupKinds[kind].priority);
            for (Rank position = 0; position < group.size(); ++position)
            {
                seats[group[position]][kind] = {communicator, position, &group};
            }
            m_rankAt.push_back(group);
        }
    }
    return seats;
}

const training::SpeedProfile*
JobRunner::FindSpeed(Rank rank) const
{
    const auto& speeds = m_start.speeds ? *m_start.speeds : m_plan.speeds;
    const auto found = speeds.find(rank);
    return found == speeds.end() ? nullptr : &found->second;
}

std::string
JobRunner::Prepare(Rank rank, const Task& task) const
{
    if (task.kind != TaskKind::kCollective)
    {
        return {};
    }
    const Seat& seat = m_ranks[rank]->GetSeat(task.group);
    if (!seat.group)
    {
        return "rank " + std::to_string(rank) + " is in no group of \"" +
               m_plan.groupKinds[task.group].name + "\"";
    }
    const coll::Collective what = m_ranks[rank]->CollectiveOf(task);
    if (m_collectives->Knows(seat.communicator, what))
    {
        return {}; // another rank of the group has asked
    }
    std::string why = m_collectives->WhyNot(seat.communicator, what);
    if (why.empty())
    {
        m_collectives->Prepare(seat.communicator, what);
    }
    return why;
}

std::string
JobRunner::Prepare()
{
    const training::MessageMatch match(m_plan);
    if (!match.Problems().empty())
    {
        return match.Problems().front();
    }
    return PrepareCollectives();
}

std::string
JobRunner::PrepareCollectives()
{
    for (Rank rank = 0; rank < m_plan.ranks; ++rank)
    {
        if (!m_ranks[rank] || m_start.IsAbsent(rank))
        {
            continue;
        }
        for (const training::PlanSize& size : m_plan.sizes)
        {
            for (const Task& task : m_plan.roles[size.firstRole + m_plan.roleOf[rank]].tasks)
            {
                const std::string why = Prepare(rank, task);
                if (!why.empty())
                {
                    return "task \"" + task.name + "\": " + why;
                }
            }
        }
    }
    return {};
}

} // namespace dltrain
