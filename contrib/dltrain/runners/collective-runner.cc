/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "collective-runner.h"

#include "collective-runner-at-once.h"
#include "collective-runner-cookies.h"
#include "collective-runner-recall.h"
#include "collective-runner-relay.h"
#include "reports/attribution/collective-paths.h"
#include "scenarios/collective/collective-options.h"

#include "ns3/prefetch-line.h"
#include "ns3/rdma-owner.h"

#include <algorithm>
#include <cstddef>
#include <utility>

namespace dltrain
{

using reports::CollectivePaths;

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Winvalid-offsetof" // g++ and clang++ know it of such classes, too

void
CollectiveRunner::CheckLines()
{
    static_assert(offsetof(Member, part) + offsetof(Part, entered) <= 64 * Member::LINES);
}

#pragma GCC diagnostic pop

CollectiveRunner::CollectiveRunner(const scenario::ClusterSpec& cluster,
                                   const scenario::CollectiveOptions& options,
                                   Interconnect& interconnect,
                                   CollectiveUser* user,
                                   uint32_t job)
    : m_options(options),
      m_interconnect(interconnect),
      m_user(user),
      m_job(job),
      m_cluster(cluster)
{
    m_interconnect.AddUser(*this);
    for (uint32_t server = 0; server < interconnect.GetPlaces().GetNHosts(); ++server)
    {
        m_events.emplace_back(this);
    }
    m_relays.resize(interconnect.GetPlaces().GetNServers());
    if (options.recall)
    {
        m_recall = std::make_unique<Recall>(*this, *options.recall);
    }
}

CollectiveRunner::~CollectiveRunner() = default;

void
CollectiveRunner::BeginRound(Rank rank, uint32_t round, int64_t now)
{
    if (m_recall)
    {
        m_recall->BeginRound(rank, round, now);
    }
}

void
CollectiveRunner::Distrust()
{
    if (m_recall)
    {
        m_recall->Distrust();
    }
}

void
CollectiveRunner::SetStep(const Plan& plan, Rank as, coll::Lane lane, LaneState& state)
{
    coll::Step step = plan.schedule->At(as, lane, state.index);
    if (!plan.positions.empty())
    {
        const Rank ranks = plan.schedule->What().ranks;
        for (Rank* peer : {&step.recvPeer, &step.sendPeer})
        {
            *peer =
                *peer != coll::kNoRank && *peer >= ranks ? plan.positions[*peer - ranks] : *peer;
        }
    }
    state.SetStep(step);
}

void
CollectiveRunner::Schedule(const Member& member, int64_t at, const EventPayload& payload)
{
    m_events[member.server].Schedule(at, member.context, payload);
}

void
CollectiveRunner::ScheduleSend(const Member& member,
                               int64_t at,
                               bool gotInside,
                               const EventPayload& payload)
{
    // In an order that does not depend on when they were scheduled, as with a Relay that is sooner.
    const auto turn = gotInside ? Places::Turn::SEND_INSIDE : Places::Turn::SEND;
    const Places& places = m_interconnect.GetPlaces();
    m_events[member.server].Schedule(at, places.ContextOfTurn(member.server, turn), payload);
}

CollectivePaths::Path
CollectiveRunner::HoldCause(Member& member)
{
    if (m_paths && std::exchange(member.causeGiven, true))
    {
        CollectivePaths::Hold(member.cause);
    }
    return member.cause;
}

void
CollectiveRunner::DropCause(Member& member)
{
    if (m_paths && !member.causeGiven)
    {
        m_paths->Drop(member.cause);
    }
    member.causeGiven = false;
    member.cause = CollectivePaths::NONE;
}

const CollectiveRunner::Part*
CollectiveRunner::FindPart(const Member& member, uint32_t sequence)
{
    if (member.part.used && member.part.sequence == sequence)
    {
        return &member.part;
    }
    const auto found = member.others.find(sequence);
    return found == member.others.end() ? nullptr : &found->second;
}

CollectiveRunner::Part&
CollectiveRunner::GetPart(Member& member, uint32_t sequence)
{
    if (member.part.used && member.part.sequence == sequence)
    {
        return member.part;
    }
    const auto found = member.others.find(sequence);
    if (found != member.others.end())
    {
        return found->second;
    }
    Part& part = member.part.used ? member.others[sequence] : member.part;
    part.used = true;
    part.sequence = sequence;
    return part;
}

void
CollectiveRunner::ErasePart(Member& member, uint32_t sequence)
{
    if (member.part.used && member.part.sequence == sequence)
    {
        member.part = Part();
        return;
    }
    member.others.erase(sequence);
}

void
CollectiveRunner::Deliver(Member& member,
                          uint32_t sequence,
                          coll::Lane lane,
                          Rank from,
                          int64_t now)
{
    if (m_recall && !m_recall->Hear(member, sequence, lane, now))
    {
        return;
    }
    Part& part = GetPart(member, sequence);
    if (!part.plan && part.lanes.size() <= lane)
    {
        part.lanes.resize(lane + 1U); // not entered: how many there will be is not known here
    }
    LaneState& state = part.lanes[lane];
    state.arrivals.Add(from);
    // Only the one a lane waits for moves it.
    if (state.started && state.index < state.steps && state.recvPeer == from)
    {
        Advance(member, part, lane, now);
        if (part.lanesLeft == 0)
        {
            EndRank(member, part, now);
        }
    }
}

void
CollectiveRunner::Advance(Member& member, Part& part, coll::Lane lane, int64_t now)
{
    LaneState& state = part.lanes[lane];
    while (state.index < state.steps)
    {
        if (state.recvPeer != coll::kNoRank && !state.arrivals.Take(state.recvPeer))
        {
            return;
        }
        if (state.sendPeer != coll::kNoRank)
        {
            Send(member, part, state.sendPeer, lane, state.sendBytes, now);
        }
        if (++state.index < state.steps)
        {
            SetStep(*part.plan, part.as, lane, state);
        }
    }
    --part.lanesLeft;
}

void
CollectiveRunner::Send(Member& member,
                       Part& part,
                       Rank to,
                       coll::Lane lane,
                       uint64_t bytes,
                       int64_t now)
{
    part.bytesSent += bytes;
    member.bytesSent += bytes;
    const Connection& connection = GetConnection(member, *part.plan, to, lane);
    const int64_t latency = member.kind != Kind::RANK ? 0
                            : connection.inside       ? m_options.stepLatency.ps
                                                      : part.plan->times.outside;
    int64_t at = m_speeds ? CanSendAt(member, now + latency) : now + latency;
    if (part.plan->times.post > 0 && !connection.inside && at != training::SpeedProfile::NEVER)
    {
        at = std::max(at, member.postsFrom);
        member.postsFrom = at + part.plan->times.post;
    }
    if (at == now)
    {
        Transfer(member, {part.plan, bytes, part.sequence, part.tag}, connection);
        return;
    }
    if (at == training::SpeedProfile::NEVER)
    {
        return; // it is never sent
    }
    EventPayload send{};
    send.kind = EventKind::SEND;
    send.lane = lane;
    send.to = to;
    send.member = &member;
    send.sequence = part.sequence;
    send.tag = part.tag;
    send.bytes = bytes;
    send.plan = part.plan; // the rank may have left when the latency is over
    send.path = HoldCause(member);
    if (connection.inside)
    {
        Schedule(member, at, send);
        return;
    }
    ScheduleSend(member, at, member.gotInside, send);
}

int64_t
CollectiveRunner::CanSendAt(const Member& member, int64_t now) const
{
    const auto found = member.kind == Kind::RANK ? m_speeds->find(member.rank) : m_speeds->end();
    return found == m_speeds->end() ? now : found->second.ResumesAt(now);
}

uint64_t
CollectiveRunner::MostInside(const Plan& plan, uint64_t bytes)
{
    if (plan.protocol != topo::Protocol::kExchange)
    {
        return 0;
    }
    const coll::Collective& what = plan.schedule->What();
    return plan.rates.Inside(what.op == coll::Op::kSendRecv ? what.bytes : bytes).bps;
}

void
CollectiveRunner::Transfer(Member& member, const Message& message, const Connection& connection)
{
    const Plan& plan = *message.plan;
    TransportPost post;
    post.bytes = message.bytes;
    if (!connection.inside)
    {
        post.bytes = plan.times.wire.BytesOnWire(message.bytes);
    }
    else
    {
        post.mostBps = MostInside(plan, message.bytes);
    }
    post.id = message.tag;
    post.hasImmediate = true;
    post.immediate = connection.toUnit ? UnitImmediate(plan, message.sequence) : message.sequence;
    post.parts = plan.parts;
    post.how = plan.times.how;
    post.cause = HoldCause(member);
    connection.transport->Post(connection.channel, post);
}

void
CollectiveRunner::OnEvent(const EventPayload& e, int64_t now)
{
    if (m_aborted)
    {
        return;
    }
    if (e.kind == EventKind::SEND)
    {
        e.member->cause = e.path; // it is the member's now
        Transfer(*e.member,
                 {e.plan, e.bytes, e.sequence, e.tag},
                 GetConnection(*e.member, *e.plan, e.to, e.lane));
        DropCause(*e.member);
        return;
    }
    if (e.kind == EventKind::SEND_OUT)
    {
        if (e.member->relay)
        {
            e.member->relay->SendOut(e.sequence, now);
        }
        return;
    }
    if (e.kind == EventKind::AT_ONCE)
    {
        m_communicators[e.member->communicator].atOnce->OnEnds(e.sequence, now);
        return;
    }
    if (e.kind == EventKind::RECALLED)
    {
        m_recall->OnEnd(e, now);
        return;
    }
    if (e.kind == EventKind::CUT)
    {
        m_recall->OnCut(e, now);
        return;
    }
    if (e.kind == EventKind::LAUNCH_HELD)
    {
        m_recall->LaunchLate(*e.member, e.sequence, now);
        return;
    }
    if (e.kind == EventKind::LAUNCH)
    {
        e.member->cause = e.path;
        Launch(*e.member, GetPart(*e.member, e.sequence), now);
        DropCause(*e.member);
        return;
    }
    CollectivePaths::Path path = e.path;
    if (e.kind == EventKind::MEET && m_paths)
    {
        path =
            m_paths->ArriveInside(path, e.to, e.member->rank, static_cast<int64_t>(e.bytes), now);
    }
    if (e.kind == EventKind::MEET_BETWEEN && m_paths)
    {
        path = m_paths->Arrive(path, e.to, e.member->rank, nullptr, now);
    }
    Leave(*e.member, e.sequence, path, now);
}

void
CollectiveRunner::PrefetchEvent(const EventPayload& e, uint32_t depth) const
{
    const Member& member = *e.member;
    if (depth == 0)
    {
        member.PrefetchLines();
        if (e.path)
        {
            ns3::PrefetchLine(e.path);
        }
        return;
    }
    const bool sends = e.kind == EventKind::SEND || e.kind == EventKind::SEND_OUT;
    if (!sends || (e.lane && e.lane >= member.lastOfLanes.size()))
    {
        return;
    }
    const Connection& connection = e.lane ? member.lastOfLanes[e.lane] : member.last;
    if (e.lane && depth == 1)
    {
        ns3::PrefetchLine(&connection);
    }
    else if (connection.transport && (e.kind == EventKind::SEND_OUT || connection.peer == e.to))
    {
        connection.transport->PrefetchPost(connection.channel, depth - (e.lane ? 2 : 1));
    }
}

void
CollectiveRunner::OnDelivered(const Delivery& delivery, int64_t now)
{
    if (m_aborted)
    {
        return;
    }
    const Address address = AddressOf(delivery.cookie);
    Member& member = m_communicators[address.communicator].members[address.to];
    ns3::RdmaOwner::Check(member.context, "delivers a collective's message to a rank");
    if (m_paths)
    {
        const Rank from = delivery.name.from;
        member.cause =
            delivery.posted >= 0
                ? m_paths->ArriveInside(delivery.cause, from, member.rank, delivery.posted, now)
                : m_paths->Arrive(delivery.cause, from, member.rank, delivery.parts, now);
    }
    const uint32_t sequence = member.kind == Kind::FABRIC_SWITCH
                                  ? StartUnit(member, delivery.immediate, now)
                                  : delivery.immediate;
    const auto lane = static_cast<coll::Lane>(delivery.name.lane);
    if (delivery.posted >= 0 || !PassOn(member, sequence, lane, now))
    {
        member.gotInside = delivery.posted >= 0;
        Deliver(member, sequence, lane, address.from, now);
        member.gotInside = false;
        DropCause(member);
    }
}

bool
CollectiveRunner::PassOn(Member& member, uint32_t sequence, coll::Lane lane, int64_t now)
{
    if (!member.relay)
    {
        const Part& part = member.part;
        if (lane != 0 || !part.used || part.sequence != sequence || !part.plan ||
            !part.plan->relays || m_speeds)
        {
            return false;
        }
        std::unique_ptr<Relay>& relay = m_relays[member.server];
        if (!relay)
        {
            relay = std::make_unique<Relay>(*this, member.server);
        }
        if (!relay->Begin(member, part, now))
        {
            return false;
        }
    }
    if (lane != 0 || !member.relay->Relays(member, sequence) ||
        !member.relay->Pass(member.cause, now))
    {
        return false;
    }
    member.causeGiven = false;
    member.cause = CollectivePaths::NONE;
    return true;
}

uint64_t
CollectiveRunner::CountRelayed() const
{
    uint64_t bytes = 0;
    for (const auto& relay : m_relays)
    {
        bytes += relay ? relay->CountSent(ns3::RdmaClock::Now() + 1) : 0;
    }
    for (const Communicator& comm : m_communicators)
    {
        bytes += comm.atOnce ? comm.atOnce->CountSent(ns3::RdmaClock::Now() + 1) : 0;
    }
    return bytes;
}

void
CollectiveRunner::EndRelays() const
{
    for (const auto& relay : m_relays)
    {
        if (relay)
        {
            const int64_t now = ns3::RdmaClock::Now();
            // messages that arrive now have arrived: nodes have had their turn
            relay->End(now, now + 1);
        }
    }
    for (const Communicator& comm : m_communicators)
    {
        if (comm.atOnce)
        {
            const int64_t now = ns3::RdmaClock::Now();
            comm.atOnce->End(now, now + 1);
        }
    }
}

void
CollectiveRunner::Prefetch(uint64_t cookie, const reports::PathRecord* cause, uint32_t turn) const
{
    const Address address = AddressOf(cookie);
    const Member& member = m_communicators[address.communicator].members[address.to];
    if (turn == 0)
    {
        member.PrefetchLines();
        if (cause)
        {
            ns3::PrefetchLine(&cause->at); // CollectivePaths::ArriveInside changes it
        }
        return;
    }
    if (cause)
    {
        ns3::PrefetchLines(cause, cause + 1); // CollectivePaths copies it
    }
    if (member.last.transport && !member.relay)
    {
        // it sends because of this arrival
        member.last.transport->PrefetchPost(member.last.channel, 0);
    }
}

void
CollectiveRunner::OnSent(ChannelId channel, uint64_t cookie, uint64_t, bool failed, int64_t now)
{
    // A rank goes on when data arrives, not when its own sends are acknowledged; of what failed the
    // collective is found unfinished.
    if (!failed || m_aborted)
    {
        return;
    }
    const Address address = AddressOf(cookie);
    const Communicator& comm = m_communicators[address.communicator];
    Member& member = m_communicators[address.communicator].members[address.from];
    ns3::RdmaOwner::Check(member.context, "tells of a failed message of a rank");
    if (!member.failure)
    {
        const Rank to = comm.members[address.to].rank;
        member.failure = std::make_unique<Failure>();
        member.failure->since = now;
        member.failure->first = "rank " + std::to_string(member.rank) + "'s for rank " +
                                std::to_string(to) + " (" +
                                m_interconnect.Serving(member.rank, to).Describe(channel) + ")";
        if (m_onFailure)
        {
            m_onFailure(member.failure->first);
        }
    }
    ++member.failure->messages;
    member.failure->to.insert(address.to);
}

} // namespace dltrain
