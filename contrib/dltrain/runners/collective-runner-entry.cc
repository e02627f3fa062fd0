/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * How ranks and switches enter collectives, and leave them.
 */
#include "collective-runner-at-once.h"
#include "collective-runner-cookies.h"
#include "collective-runner-recall.h"
#include "collective-runner-relay.h"
#include "collective-runner.h"
#include "reports/attribution/collective-paths.h"

#include "ns3/assert.h"
#include "ns3/node-windows.h"
#include "ns3/rdma-owner.h"

#include <algorithm>

namespace dltrain
{

using reports::CollectivePaths;

void
CollectiveRunner::Start(uint32_t communicator,
                        Rank position,
                        const coll::Collective& what,
                        uint32_t tag,
                        uint64_t cookie,
                        int64_t now)
{
    Member& member = m_communicators[communicator].members[position];
    ns3::RdmaOwner::Check(member.context, "starts a collective of a rank");
    const Plan* plan = FindPlan(communicator, what);
    if (!plan)
    {
        Prepare(communicator, what);
        plan = FindPlan(communicator, what);
    }
    const uint32_t sequence = member.entered++;
    Part& part = Enter(member, sequence, *plan, position, now);
    part.cookie = cookie;
    part.tag = tag;
    if (m_aborted)
    {
        return;
    }
    if (plan->formula >= 0 && plan->between)
    {
        ns3::NodeWindows::NoteCall(
            [this, &member, sequence, now] { MeetBetween(member, sequence, now); });
        return;
    }
    if (plan->formula >= 0)
    {
        Meet(member, part, now);
        return;
    }
    StartServerSwitch(member, sequence, *plan, now);
    member.cause = m_paths ? m_paths->Enter(member.rank, tag, now) : CollectivePaths::NONE;
    if (plan->times.launch)
    {
        EventPayload launch{};
        launch.kind = EventKind::LAUNCH;
        launch.member = &member;
        launch.sequence = sequence;
        launch.path = HoldCause(member);
        Schedule(member, now + plan->times.launch, launch);
    }
    else
    {
        Launch(member, part, now);
    }
    DropCause(member);
}

CollectiveRunner::Part&
CollectiveRunner::Enter(Member& member, uint32_t sequence, const Plan& plan, Rank as, int64_t now)
{
    Part& part = GetPart(member, sequence); // there may be one, of what has come before
    part.plan = &plan;
    part.as = as;
    part.entered = now;
    const coll::Lane lanes = plan.formula < 0 ? plan.schedule->Lanes(as) : 0;
    NS_ASSERT(part.lanes.size() <= lanes);
    part.lanes.reserve(lanes); // and no more
    part.lanes.resize(lanes);
    // One more than there are, so that the rank cannot be done before the last lane has been looked
    // at.
    part.lanesLeft = static_cast<uint16_t>(lanes + 1);
    for (coll::Lane lane = 0; lane < lanes; ++lane)
    {
        LaneState& state = part.lanes[lane];
        state.steps = plan.schedule->Steps(as, lane);
        if (state.steps)
        {
            SetStep(plan, as, lane, state);
        }
    }
    return part;
}

void
CollectiveRunner::StartServerSwitch(const Member& member,
                                    uint32_t sequence,
                                    const Plan& plan,
                                    int64_t now)
{
    if (plan.positions.empty())
    {
        return;
    }
    Communicator& comm = m_communicators[member.communicator];
    for (const auto kind : {coll::NetworkNode::kServerSwitch, coll::NetworkNode::kServerCopier})
    {
        const auto found = comm.nodes.find(NodeKey({kind, member.server}));
        if (found == comm.nodes.end() ||
            std::find(plan.positions.begin(), plan.positions.end(), found->second) ==
                plan.positions.end())
        {
            continue;
        }
        Member& node = comm.members[found->second];
        if (sequence >= node.entered) // else another rank of the server has been here
        {
            StartNode(node, sequence, plan, now);
        }
    }
}

void
CollectiveRunner::StartNode(Member& node, uint32_t sequence, const Plan& plan, int64_t now)
{
    const Rank ranks = plan.schedule->What().ranks;
    const auto at = std::find(plan.positions.begin(), plan.positions.end(), node.position);
    NS_ASSERT(at != plan.positions.end());
    node.entered = std::max(node.entered, sequence + 1);
    Part& part =
        Enter(node, sequence, plan, ranks + static_cast<Rank>(at - plan.positions.begin()), now);
    // Nothing launches in a switch, and it waits for messages before it sends any.
    Launch(node, part, now);
}

uint32_t
CollectiveRunner::UnitImmediate(const Plan& plan, uint32_t sequence)
{
    return plan.number << SEQUENCE_BITS | (sequence & SEQUENCE_MASK);
}

uint32_t
CollectiveRunner::StartUnit(Member& unit, uint32_t immediate, int64_t now)
{
    const Communicator& comm = m_communicators[unit.communicator];
    // The nearest to those it has seen.
    const uint32_t half = 1U << (SEQUENCE_BITS - 1);
    const uint32_t least = unit.entered > half ? unit.entered - half : 0;
    const uint32_t sequence = least + ((immediate - least) & SEQUENCE_MASK);
    if (!FindPart(unit, sequence))
    {
        StartNode(unit, sequence, *comm.numbered[immediate >> SEQUENCE_BITS], now);
    }
    return sequence;
}

void
CollectiveRunner::Launch(Member& member, Part& part, int64_t now)
{
    const bool recalls = part.plan->track != UINT32_MAX && member.kind == Kind::RANK;
    if (recalls && m_recall->Launch(member, part, now))
    {
        return;
    }
    if (part.plan->atOnce && LaunchAtOnce(member, part, now))
    {
        return;
    }
    LaunchLanes(member, part, now);
}

void
CollectiveRunner::LaunchLanes(Member& member, Part& part, int64_t now)
{
    for (LaneState& state : part.lanes)
    {
        state.started = true;
    }
    for (coll::Lane lane = 0; lane < part.lanes.size(); ++lane)
    {
        Advance(member, part, lane, now);
    }
    if (--part.lanesLeft == 0)
    {
        EndRank(member, part, now); // nothing to wait for (a single rank)
    }
}

bool
CollectiveRunner::LaunchAtOnce(Member& member, const Part& part, int64_t now)
{
    if (m_speeds || member.kind != Kind::RANK)
    {
        return false;
    }
    std::unique_ptr<AtOnce>& atOnce = m_communicators[member.communicator].atOnce;
    if (!atOnce)
    {
        atOnce = std::make_unique<AtOnce>(*this, member);
    }
    return atOnce->Launch(member, part, now);
}

void
CollectiveRunner::EndRank(Member& member, const Part& part, int64_t now)
{
    if (part.plan->track != UINT32_MAX && member.kind == Kind::RANK)
    {
        now += part.log ? part.log->late : 0;
        m_recall->NoteEnd(member, part, now);
    }
    const bool isLate = part.log && part.log->late > 0;
    if (!isLate && member.gotInside && member.kind == Kind::RANK)
    {
        m_interconnect.Leaves().Add(member.server,
                                    {member.rank,
                                     member.communicator,
                                     part.sequence,
                                     member.position,
                                     HoldCause(member),
                                     this},
                                    now);
        return;
    }
    // Told through the event loop: never from within Start.
    EventPayload leave{};
    leave.kind = EventKind::LEAVE;
    leave.member = &member;
    leave.sequence = part.sequence;
    leave.path = HoldCause(member);
    Schedule(member, now, leave);
}

void
CollectiveRunner::OnLeave(const Leaving& leaving, int64_t now)
{
    if (!m_aborted)
    {
        Leave(m_communicators[leaving.communicator].members[leaving.position],
              leaving.sequence,
              leaving.path,
              now);
    }
}

void
CollectiveRunner::Leave(Member& member, uint32_t sequence, CollectivePaths::Path path, int64_t now)
{
    if (member.kind != Kind::RANK)
    {
        ErasePart(member, sequence);
        if (m_paths)
        {
            m_paths->Drop(path);
        }
        return;
    }
    const Part& own = *FindPart(member, sequence);
    const coll::Collective& what = own.plan->schedule->What();
    reports::CollectivePart part;
    part.communicator = member.communicator;
    part.sequence = sequence;
    part.position = member.position;
    part.op = what.op;
    part.algorithm = own.plan->algorithm;
    part.protocol = own.plan->protocol;
    part.bytes = what.bytes;
    part.blocks = what.blocks.get();
    part.ranks = what.ranks;
    part.tag = own.tag;
    part.bytesSent = own.bytesSent;
    part.entered = own.entered;
    part.left = now;
    const uint64_t cookie = own.cookie;
    ErasePart(member, sequence);
    m_user->OnRankDone(part, cookie, path);
    if (m_paths)
    {
        m_paths->Drop(path);
    }
}

} // namespace dltrain
