/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * CollectiveRunner: collectives that take the time of a formula instead of that of their messages.
 */
#include "collective-runner.h"
#include "collectives/core/placement.h"
#include "reports/attribution/collective-paths.h"
#include "scenarios/collective/collective-options.h"

#include <algorithm>
#include <cmath>
#include <cstddef>

namespace dltrain
{

using reports::CollectivePaths;

int64_t
CollectiveRunner::LeastBetween(const topo::Topology& topology)
{
    int64_t least = INT64_MAX / 2;
    for (const topo::Link& link : topology.Links())
    {
        least = std::min(least, link.delay.ps);
    }
    return topology.Links().empty() ? 0 : 2 * least;
}

void
CollectiveRunner::TakeFormula(Plan* plan, const coll::Placement& placement) const
{
    const coll::Collective& what = plan->schedule->What();
    coll::Machine machine = m_options.MachineFor(placement);
    const topo::ServerSpec& server = m_cluster.server;
    machine.nicRate /=
        plan->between ? coll::GroupsAtItsNics(placement, server.gpus, server.nics) : 1;
    const std::optional<double> seconds =
        coll::EstimateSeconds(*plan->algorithm,
                              plan->protocol.value_or(topo::Protocol::kSimple),
                              what,
                              placement,
                              m_options.OptionsFor(what.op),
                              machine);
    if (!seconds)
    {
        return; // validation has refused it, but for communicators that it does not know
    }
    plan->formula = std::llround(*seconds * 1e12);
    if (plan->between)
    {
        plan->formula = std::max(plan->formula, LeastBetween(m_cluster.topology));
    }
    CountBytes(plan);
}

void
CollectiveRunner::TakeTimetable(Plan* plan, const Communicator& comm) const
{
    const coll::Collective& what = plan->schedule->What();
    if (!m_options.byDimension || plan->algorithm->Name() != "by-dimension")
    {
        return;
    }
    plan->timetable = coll::TimetableOf(what,
                                        comm.placement,
                                        m_options.OptionsFor(what.op),
                                        *m_options.byDimension);
    plan->formula = plan->timetable.end;
    CountBytes(plan);
}

void
CollectiveRunner::CountBytes(Plan* plan)
{
    const coll::Collective& what = plan->schedule->What();
    // Of a large schedule the first rank stands for all: they differ by the rounding of S / n.
    constexpr uint64_t kMostCounted = 1u << 24;
    uint64_t steps = 0;
    for (coll::Lane lane = 0; lane < plan->schedule->Lanes(0); ++lane)
    {
        steps += plan->schedule->Steps(0, lane);
    }
    const bool all = steps * what.ranks <= kMostCounted;
    for (Rank rank = 0; rank < what.ranks; ++rank)
    {
        if (rank > 0 && !all)
        {
            plan->bytesOf.push_back(plan->bytesOf.front());
            continue;
        }
        uint64_t bytes = 0;
        for (coll::Lane lane = 0; lane < plan->schedule->Lanes(rank); ++lane)
        {
            for (coll::StepIndex i = 0; i < plan->schedule->Steps(rank, lane); ++i)
            {
                const coll::Step step = plan->schedule->At(rank, lane, i);
                bytes += step.sendPeer != coll::kNoRank ? step.sendBytes : 0;
            }
        }
        plan->bytesOf.push_back(bytes);
    }
}

void
CollectiveRunner::Meet(Member& member, const Part& part, int64_t now)
{
    const Plan& plan = *part.plan;
    Communicator& comm = m_communicators[member.communicator];
    const auto meeting = comm.meetings.try_emplace(part.sequence, 0).first;
    if (++meeting->second < comm.ranks.size())
    {
        return;
    }
    comm.meetings.erase(meeting);
    // They all waited for the entry of this member.
    member.cause = m_paths ? m_paths->Enter(member.rank, part.tag, now) : CollectivePaths::NONE;
    for (Rank position = 0; position < comm.ranks.size(); ++position)
    {
        Member& other = comm.members[position];
        GetPart(other, part.sequence).bytesSent = plan.bytesOf[position];
        other.bytesSent += plan.bytesOf[position];
        if (m_paths && position > 0)
        {
            CollectivePaths::Hold(member.cause);
        }
        EventPayload meet{};
        meet.kind = EventKind::MEET;
        meet.member = &other;
        meet.to = member.rank;
        meet.sequence = part.sequence;
        meet.bytes = static_cast<uint64_t>(now);
        meet.path = member.cause;
        Schedule(other, now + plan.formula, meet);
    }
    member.cause = CollectivePaths::NONE; // the events have it
}

void
CollectiveRunner::MeetBetween(const Member& member, uint32_t sequence, int64_t now)
{
    if (m_aborted)
    {
        return;
    }
    Communicator& comm = m_communicators[member.communicator];
    const auto found = comm.meetingsBetween.try_emplace(sequence).first;
    Meeting& meeting = found->second;
    // Notes of a window need not come in the order of time.
    if (now > meeting.last || (now == meeting.last && member.position < meeting.position))
    {
        meeting.last = now;
        meeting.position = member.position;
    }
    if (++meeting.entered < comm.ranks.size())
    {
        return;
    }
    const Meeting all = meeting;
    comm.meetingsBetween.erase(found);
    const Rank last = comm.members[all.position].rank;
    const Plan& first = *GetPart(comm.members.front(), sequence).plan;
    const int64_t end = first.timetable.chunks.empty()
                            ? all.last + first.formula
                            : std::max(m_turns.Take(comm.ranks, first.timetable, all.last),
                                       all.last + LeastBetween(m_cluster.topology));
    for (Rank position = 0; position < comm.ranks.size(); ++position)
    {
        Member& one = comm.members[position];
        Part& part = GetPart(one, sequence);
        const Plan& plan = *part.plan;
        part.bytesSent = plan.bytesOf[position];
        one.bytesSent += plan.bytesOf[position];
        EventPayload meet{};
        meet.kind = EventKind::MEET_BETWEEN;
        meet.member = &one;
        meet.to = last;
        meet.sequence = sequence;
        // A path for each: their servers run apart.
        meet.path = m_paths ? m_paths->Enter(last, part.tag, all.last) : CollectivePaths::NONE;
        Schedule(one, end, meet);
    }
}

} // namespace dltrain
