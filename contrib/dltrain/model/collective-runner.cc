/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "collective-runner.h"

#include "collectives/block-sizes.h"
#include "collectives/registry.h"
#include "results/collective-paths.h"
#include "scenarios/spec/cluster-options.h"
#include "scenarios/spec/collective-options.h"

#include "ns3/assert.h"
#include "ns3/prefetch-line.h"
#include "ns3/rdma-owner.h"

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <utility>

namespace dltrain
{

namespace
{

/// Lanes for which the connection used last is remembered; others are looked up.
constexpr std::size_t CACHED_LANES = 8;
using results::CollectivePaths;

constexpr CollectivePaths::Path NO_PATH = CollectivePaths::NONE;

/**
 * What a channel's cookie says to both of its ends. Positions are less than 2^20 (coll::Problem).
 *
 *     63           40 39   20 19  0
 *     [ communicator |  from |  to ]
 */
constexpr uint32_t POSITION_BITS = 20;
constexpr uint32_t MOST_COMMUNICATORS = 1U << 24;

struct Address
{
    uint32_t communicator;
    Rank from; ///< positions
    Rank to;
};

uint64_t
CookieOf(const Address& address)
{
    return static_cast<uint64_t>(address.communicator) << 2 * POSITION_BITS |
           static_cast<uint64_t>(address.from) << POSITION_BITS | address.to;
}

Address
AddressOf(uint64_t cookie)
{
    constexpr uint64_t POSITION = (1U << POSITION_BITS) - 1;
    return {static_cast<uint32_t>(cookie >> 2 * POSITION_BITS),
            static_cast<Rank>(cookie >> POSITION_BITS & POSITION),
            static_cast<Rank>(cookie & POSITION)};
}

} // namespace

CollectiveRunner::CollectiveRunner(const scenario::ClusterSpec& cluster,
                                   const scenario::CollectiveOptions& options,
                                   Interconnect& interconnect,
                                   CollectiveUser* user,
                                   uint32_t job)
    : m_options(options),
      m_interconnect(interconnect),
      m_user(user),
      m_job(job),
      m_cluster(cluster),
      m_nicsPerServer(cluster.server.nics)
{
    m_interconnect.AddUser(*this);
    for (uint32_t server = 0; server < interconnect.GetPlaces().GetNServers(); ++server)
    {
        m_events.emplace_back(this);
    }
}

CollectiveRunner::~CollectiveRunner() = default;

uint32_t
CollectiveRunner::AddCommunicator(std::vector<Rank> ranks)
{
    const auto number = static_cast<uint32_t>(m_communicators.size());
    if (number == MOST_COMMUNICATORS)
    {
        throw std::length_error("more than 2^24 communicators");
    }
    Communicator& comm = m_communicators.emplace_back();
    comm.members.resize(ranks.size());
    for (Rank position = 0; position < ranks.size(); ++position)
    {
        const Rank rank = ranks[position];
        Member& member = comm.members[position];
        member.communicator = number;
        member.position = position;
        member.rank = rank;
        member.server = m_interconnect.GetPlaces().ServerOf(rank);
        member.context = ContextOf(rank);
    }
    comm.placement = scenario::PlacementOf(m_cluster, ranks);
    comm.ranks = std::move(ranks);
    return number;
}

uint32_t
CollectiveRunner::GetNRanks(uint32_t communicator) const
{
    return static_cast<uint32_t>(m_communicators[communicator].ranks.size());
}

uint64_t
CollectiveRunner::GetBytes() const
{
    uint64_t bytes = 0;
    for (const Communicator& comm : m_communicators)
    {
        for (const Member& member : comm.members)
        {
            bytes += member.bytesSent;
        }
    }
    return bytes;
}

std::string
CollectiveRunner::WhyNot(uint32_t communicator, const coll::Collective& what) const
{
    const Communicator& comm = m_communicators[communicator];
    return scenario::ChoiceOf(m_options, what, comm.placement)
        .algorithm->WhyNot(what, comm.placement, m_options.OptionsFor(what.op));
}

const CollectiveRunner::Plan*
CollectiveRunner::FindPlan(uint32_t communicator, const coll::Collective& what) const
{
    const auto [begin, end] = m_communicators[communicator].plans.equal_range(what.bytes);
    const auto found = std::find_if(begin, end, [&what](const auto& known) {
        return known.second.schedule->What() == what;
    });
    return found == end ? nullptr : &found->second;
}

void
CollectiveRunner::Prepare(uint32_t communicator, const coll::Collective& what)
{
    ns3::RdmaOwner::Check(ns3::Simulator::NO_CONTEXT, "makes a schedule for the ranks");
    if (FindPlan(communicator, what))
    {
        return;
    }
    Communicator& comm = m_communicators[communicator];
    const coll::Choice choice = scenario::ChoiceOf(m_options, what, comm.placement);
    comm.plans.emplace(
        what.bytes,
        MakePlan(choice,
                 choice.algorithm->Make(what, comm.placement, m_options.OptionsFor(what.op))));
}

CollectiveRunner::Plan
CollectiveRunner::MakePlan(const coll::Choice& choice,
                           std::unique_ptr<const coll::Schedule> schedule) const
{
    Plan plan{choice.algorithm, std::move(schedule), choice.protocol};
    if (choice.protocol)
    {
        const topo::LibraryModel& library = m_options.machine.library;
        const topo::ProtocolTimes& times = library.Of(*choice.protocol);
        const bool exchange = *choice.protocol == topo::Protocol::kExchange;
        plan.launch = (exchange ? library.exchangeLaunch : library.launch).ps + times.base.ps;
        plan.outside = times.outside.ps;
        plan.wireShare = times.outsideShare;
        plan.how = static_cast<uint8_t>(1 + static_cast<uint8_t>(*choice.protocol));
        plan.nics = exchange ? std::min(library.exchangeNics, m_nicsPerServer) : 0;
        plan.ownNic = plan.schedule->What().op == coll::Op::kSendRecv;
    }
    plan.outside += m_options.stepLatency.ps;
    return plan;
}

void
CollectiveRunner::Forget(uint32_t communicator)
{
    m_communicators[communicator].plans.clear();
}

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
    Part& part = GetPart(member, sequence); // there may be one, of what has come before
    part.plan = plan;
    part.cookie = cookie;
    part.entered = now;
    part.tag = tag;
    const coll::Lane lanes = plan->schedule->Lanes(position);
    NS_ASSERT(part.lanes.size() <= lanes);
    part.lanes.reserve(lanes); // and no more
    part.lanes.resize(lanes);
    // One more than there are, so that the rank cannot be done before the last lane has been looked
    // at.
    part.lanesLeft = static_cast<uint16_t>(lanes + 1);
    for (coll::Lane lane = 0; lane < lanes; ++lane)
    {
        LaneState& state = part.lanes[lane];
        state.steps = plan->schedule->Steps(position, lane);
        if (state.steps)
        {
            state.SetStep(plan->schedule->At(position, lane, 0));
        }
    }
    member.cause = m_paths ? m_paths->Enter(member.rank, tag, now) : NO_PATH;
    if (plan->launch)
    {
        EventPayload launch{};
        launch.kind = EventKind::LAUNCH;
        launch.member = &member;
        launch.sequence = sequence;
        launch.path = HoldCause(member);
        Schedule(member, now + plan->launch, launch);
    }
    else
    {
        Launch(member, part, now);
    }
    DropCause(member);
}

void
CollectiveRunner::Launch(Member& member, Part& part, int64_t now)
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

void
CollectiveRunner::Schedule(const Member& member, int64_t at, const EventPayload& payload)
{
    m_events[member.server].Schedule(at, member.context, payload);
}

void
CollectiveRunner::EndRank(Member& member, const Part& part, int64_t now)
{
    // Told through the event loop: never from within Start.
    EventPayload leave{};
    leave.kind = EventKind::LEAVE;
    leave.member = &member;
    leave.sequence = part.sequence;
    leave.path = HoldCause(member);
    Schedule(member, now, leave);
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
    member.cause = NO_PATH;
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
            state.SetStep(part.plan->schedule->At(member.position, lane, state.index));
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
    EventPayload send{};
    send.kind = EventKind::SEND;
    send.lane = lane;
    send.to = to;
    send.member = &member;
    send.sequence = part.sequence;
    send.tag = part.tag;
    send.bytes = bytes;
    send.plan = part.plan; // the rank may have left when the latency is over
    const Connection& connection = GetConnection(member, send);
    const int64_t latency = connection.inside ? m_options.stepLatency.ps : part.plan->outside;
    if (latency)
    {
        send.path = HoldCause(member);
        Schedule(member, now + latency, send);
        return;
    }
    Transfer(member, send, connection);
}

void
CollectiveRunner::Transfer(Member& member, const EventPayload& send, const Connection& connection)
{
    const Plan& plan = *send.plan;
    TransportPost post;
    post.bytes = send.bytes;
    if (!connection.inside && plan.wireShare != 1)
    {
        post.bytes =
            static_cast<uint64_t>(std::ceil(static_cast<double>(send.bytes) / plan.wireShare));
    }
    post.id = send.tag;
    post.hasImmediate = true;
    post.immediate = send.sequence;
    post.parts = plan.schedule->PartsOfMessage();
    post.how = plan.how;
    post.cause = HoldCause(member);
    connection.transport->Post(connection.channel, post);
}

const CollectiveRunner::Connection&
CollectiveRunner::GetConnection(Member& member, const EventPayload& send)
{
    const coll::Schedule& schedule = *send.plan->schedule;
    const uint32_t nics = send.plan->nics ? send.plan->nics : m_nicsPerServer;
    const uint32_t first =
        send.plan->ownNic ? member.rank % m_gpusPerServer * m_nicsPerServer / m_gpusPerServer : 0;
    const auto rail = static_cast<uint16_t>((first + schedule.Channel(send.lane)) % nics);
    if (send.lane >= CACHED_LANES)
    {
        return GetConnection(member, send.to, send.lane, rail);
    }
    if (send.lane && member.lastOfLanes.size() <= send.lane)
    {
        const std::size_t lanes = schedule.Lanes(member.position);
        member.lastOfLanes.resize(std::min(lanes, CACHED_LANES));
    }
    Connection& cached = send.lane ? member.lastOfLanes[send.lane] : member.last;
    if (cached.peer != send.to || cached.rail != rail)
    {
        cached = GetConnection(member, send.to, send.lane, rail);
    }
    return cached;
}

const CollectiveRunner::Connection&
CollectiveRunner::GetConnection(Member& member, Rank to, coll::Lane lane, uint16_t rail)
{
    Connection& connection = member.connections[ConnectionKey(to, lane, rail)];
    if (!connection.transport)
    {
        const Communicator& comm = m_communicators[member.communicator];
        ChannelName name;
        name.job = m_job;
        name.communicator = member.communicator;
        name.from = member.rank;
        name.to = comm.ranks[to];
        name.lane = lane;
        name.rail = rail;
        Transport& transport = m_interconnect.Serving(name.from, name.to);
        connection.peer = to;
        connection.inside = comm.placement.serverOf[member.position] == comm.placement.serverOf[to];
        connection.rail = rail;
        connection.channel =
            transport.Open(name, *this, CookieOf({member.communicator, member.position, to}));
        connection.transport = &transport;
    }
    return connection;
}

void
CollectiveRunner::OnEvent(const EventPayload& e, int64_t now)
{
    if (e.kind == EventKind::SEND)
    {
        e.member->cause = e.path; // it is the member's now
        Transfer(*e.member, e, GetConnection(*e.member, e));
        DropCause(*e.member);
        return;
    }
    if (e.kind == EventKind::LAUNCH)
    {
        e.member->cause = e.path;
        Launch(*e.member, GetPart(*e.member, e.sequence), now);
        DropCause(*e.member);
        return;
    }
    Leave(*e.member, e.sequence, e.path, now);
}

void
CollectiveRunner::Leave(Member& member, uint32_t sequence, CollectivePaths::Path path, int64_t now)
{
    const Part& own = *FindPart(member, sequence);
    const coll::Collective& what = own.plan->schedule->What();
    results::CollectivePart part;
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
    if (m_paths)
    {
        m_paths->SetLeaving(path);
    }
    m_user->OnRankDone(part, cookie);
    if (m_paths)
    {
        m_paths->Drop(path);
    }
}

void
CollectiveRunner::OnDelivered(const Delivery& delivery, int64_t now)
{
    const Address address = AddressOf(delivery.cookie);
    Member& member = m_communicators[address.communicator].members[address.to];
    ns3::RdmaOwner::Check(member.context, "delivers a collective's message to a rank");
    if (m_paths)
    {
        const Rank from = delivery.name.from;
        member.cause =
            delivery.posted >= 0
                ? m_paths->ArriveInside(delivery.cause, from, member.rank, delivery.posted, now)
                : m_paths->Arrive(delivery.cause, from, member.rank, now);
    }
    Deliver(member,
            delivery.immediate,
            static_cast<coll::Lane>(delivery.name.lane),
            address.from,
            now);
    DropCause(member);
}

void
CollectiveRunner::Prefetch(uint64_t cookie, const results::PathRecord* cause) const
{
    const Address address = AddressOf(cookie);
    const Member& member = m_communicators[address.communicator].members[address.to];
    ns3::PrefetchLines(&member, &member.others);
    if (cause)
    {
        ns3::PrefetchLine(&cause->at); // what CollectivePaths::ArriveInside changes
    }
}

void
CollectiveRunner::OnSent(ChannelId channel, uint64_t cookie, uint64_t, bool failed, int64_t now)
{
    // A rank goes on when data arrives, not when its own sends are acknowledged; of what failed the
    // collective is found unfinished.
    if (!failed)
    {
        return;
    }
    const Address address = AddressOf(cookie);
    const Communicator& comm = m_communicators[address.communicator];
    Member& member = m_communicators[address.communicator].members[address.from];
    ns3::RdmaOwner::Check(member.context, "tells of a failed message of a rank");
    if (!member.failure)
    {
        const Rank to = comm.ranks[address.to];
        member.failure = std::make_unique<Failure>();
        member.failure->since = now;
        member.failure->first = "rank " + std::to_string(member.rank) + "'s for rank " +
                                std::to_string(to) + " (" +
                                m_interconnect.Serving(member.rank, to).Describe(channel) + ")";
    }
    ++member.failure->messages;
}

std::string
CollectiveRunner::DescribeUnfinished(const Communicator& comm, uint32_t sequence) const
{
    uint32_t here = 0;
    uint32_t entered = 0;
    uint32_t left = 0;
    const Plan* plan = nullptr;
    std::string waits;
    for (const Member& member : comm.members)
    {
        const bool isHere = m_interconnect.GetPlaces().IsHere(member.rank);
        here += isHere;
        if (!isHere || member.entered <= sequence)
        {
            continue;
        }
        ++entered;
        const Part* part = FindPart(member, sequence);
        if (!part)
        {
            ++left;
            continue;
        }
        plan = part->plan;
        for (const LaneState& lane : part->lanes)
        {
            if (waits.empty() && lane.index < lane.steps && lane.recvPeer != coll::kNoRank)
            {
                waits = "; rank " + std::to_string(member.rank) + " waits for rank " +
                        std::to_string(comm.ranks[lane.recvPeer]) + " at step " +
                        std::to_string(lane.index) + " of " + std::to_string(lane.steps);
            }
        }
    }
    if (left == here)
    {
        return {};
    }
    std::string what = "a collective"; // those who knew have left
    if (plan)
    {
        const coll::Collective& collective = plan->schedule->What();
        what = coll::OpName(collective.op) + " of " + std::to_string(collective.bytes) + " B";
    }
    return what + ": " + std::to_string(entered) + " of " + std::to_string(here) + " ranks " +
           (here == comm.ranks.size() ? "" : "of this process ") + "entered, " +
           std::to_string(left) + " left" + waits;
}

std::vector<std::string>
CollectiveRunner::DescribeUnfinished() const
{
    std::vector<std::string> lines;
    uint64_t failed = 0;
    const Failure* first = nullptr;
    for (const Communicator& comm : m_communicators)
    {
        // Those that some ranks have entered and not all have left.
        uint32_t begin = UINT32_MAX;
        uint32_t end = 0;
        for (const Member& member : comm.members)
        {
            if (!m_interconnect.GetPlaces().IsHere(member.rank))
            {
                continue;
            }
            begin = std::min(begin, member.entered);
            end = std::max(end, member.entered);
            if (member.part.used)
            {
                begin = std::min(begin, member.part.sequence);
            }
            if (!member.others.empty())
            {
                begin = std::min(begin, member.others.begin()->first);
            }
            if (member.failure)
            {
                failed += member.failure->messages;
                first =
                    !first || member.failure->since < first->since ? member.failure.get() : first;
            }
        }
        for (uint32_t sequence = begin; sequence < end; ++sequence)
        {
            const std::string line = DescribeUnfinished(comm, sequence);
            if (!line.empty())
            {
                lines.push_back(line);
            }
        }
    }
    if (failed)
    {
        lines.push_back("messages that failed: " + std::to_string(failed) + ", the first " +
                        first->first);
    }
    return lines;
}

} // namespace dltrain
