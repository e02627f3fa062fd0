/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "collective-runner-at-once.h"

#include "reports/attribution/collective-paths.h"

#include "ns3/assert.h"
#include "ns3/rdma-event.h"

#include <algorithm>
#include <utility>

namespace dltrain
{

bool
CollectiveRunner::AtOnce::Suits(const CollectiveRunner& runner,
                                const Communicator& comm,
                                const Plan& plan)
{
    const coll::Collective& what = plan.schedule->What();
    const std::vector<coll::NetworkNode> nodes = plan.schedule->NetworkNodes();
    const bool inside = std::all_of(nodes.begin(), nodes.end(), [](const auto& node) {
        return node.kind != coll::NetworkNode::kFabricSwitch;
    });
    // Times are whole picoseconds, and ranks send at once.
    return !runner.m_options.insideOneByOne && runner.m_options.stepLatency.ps == 0 &&
           ns3::RdmaClock::TickAt(1) == 1 && ns3::RdmaClock::TicksToPs(1) == 1 &&
           runner.m_interconnect.GetPlaces().HasTurns() && plan.formula < 0 && !plan.between &&
           coll::NeedsAll(what) && inside && what.ranks > 1 && what.ranks == comm.ranks.size();
}

CollectiveRunner::AtOnce::AtOnce(CollectiveRunner& runner, const Member& first)
    : m_runner(runner),
      m_inside(runner.m_interconnect.Inside()),
      m_communicator(first.communicator),
      m_server(first.server)
{
    const uint32_t gpus = m_runner.m_cluster.server.gpus;
    if (m_inside.HasBridge(m_server))
    {
        for (uint32_t gpu = 0; gpu < gpus; ++gpu)
        {
            m_gpus.push_back(gpu);
        }
        return;
    }
    for (const Rank rank : m_runner.m_communicators[m_communicator].ranks)
    {
        m_gpus.push_back(m_runner.m_interconnect.GetPlaces().GpuOf(rank));
    }
}

CollectiveRunner::AtOnce::~AtOnce()
{
    if (m_plan)
    {
        m_inside.StopLending(m_server);
    }
}

std::vector<CollectiveRunner::Member>&
CollectiveRunner::AtOnce::Members()
{
    return m_runner.m_communicators[m_communicator].members;
}

bool
CollectiveRunner::AtOnce::HasBegun(const Part& part)
{
    const std::vector<Member>& members = Members();
    return std::any_of(members.begin(), members.end(), [&part](const Member& member) {
        const Part* its = FindPart(member, part.sequence);
        return its &&
               std::any_of(its->lanes.begin(), its->lanes.end(), [&member](const LaneState& lane) {
                   return !lane.arrivals.IsEmpty() || (lane.started && member.kind == Kind::RANK);
               });
    });
}

void
CollectiveRunner::AtOnce::Rest()
{
    m_rest = m_nextRest;
    m_nextRest = std::min(2 * m_nextRest, MOST_REST);
}

bool
CollectiveRunner::AtOnce::Launch(Member& member, const Part& part, int64_t now)
{
    if (!m_plan)
    {
        if (HasBegun(part))
        {
            return false;
        }
        if (m_rest > 0)
        {
            --m_rest;
            return false;
        }
        if (!m_inside.Hold(m_server, now, m_gpus, *this))
        {
            Rest();
            return false;
        }
        Begin(part);
    }
    if (part.sequence != m_sequence || !m_ends.empty())
    {
        return false; // its messages will end this one
    }
    m_launches.push_back({member.position, now, m_runner.HoldCause(member)});
    if (m_launches.size() == m_plan->schedule->What().ranks)
    {
        WorkOut(now);
    }
    return true;
}

void
CollectiveRunner::AtOnce::Begin(const Part& part)
{
    m_plan = part.plan;
    m_sequence = part.sequence;
    m_tag = part.tag;
    ++m_turn;
    m_launches.clear();
    m_ends.clear();
    m_ended = 0;
}

const CollectiveRunner::AtOnce::Launched&
CollectiveRunner::AtOnce::LaunchOf(Rank position) const
{
    return *std::find_if(m_launches.begin(), m_launches.end(), [position](const Launched& one) {
        return one.position == position;
    });
}

const CollectiveRunner::AtOnce::Known&
CollectiveRunner::AtOnce::FindKnown()
{
    const int64_t first = m_launches.front().at;
    for (const Known& known : m_known)
    {
        const bool same =
            known.plan == m_plan->id &&
            std::equal(known.launches.begin(),
                       known.launches.end(),
                       m_launches.begin(),
                       [first](const auto& before, const Launched& one) {
                           return before.first == one.position && before.second == one.at - first;
                       });
        if (same)
        {
            return known;
        }
    }
    Run(INT64_MAX);
    Known known{m_plan->id, {}, m_runEnds, m_model->BytesPosted().value};
    for (const Launched& one : m_launches)
    {
        known.launches.emplace_back(one.position, one.at - first);
    }
    for (PartEnd& end : known.ends)
    {
        end.at -= first;
    }
    if (m_known.size() < MOST_KNOWN)
    {
        m_known.push_back(std::move(known));
        return m_known.back();
    }
    Known& place = m_known[m_oldest];
    m_oldest = (m_oldest + 1) % MOST_KNOWN;
    place = std::move(known);
    return place;
}

void
CollectiveRunner::AtOnce::WorkOut(int64_t now)
{
    const Known& known = FindKnown();
    m_bytes = known.bytes;
    m_ends = known.ends;
    for (PartEnd& end : m_ends)
    {
        end.at += m_launches.front().at;
        NS_ASSERT_MSG(end.at >= now, "a rank has ended before all had launched");
    }
    while (m_ended < m_ends.size() && m_ends[m_ended].byLaunch)
    {
        const PartEnd end = m_ends[m_ended++];
        EndPart(end, now);
    }
    ScheduleEnds(now);
}

void
CollectiveRunner::AtOnce::ScheduleEnds(int64_t now)
{
    if (m_ended == m_ends.size())
    {
        m_inside.LetGo(m_server, m_gpus, m_bytes, m_bytes);
        m_nextRest = 1;
        Clear();
        return;
    }
    NS_ASSERT(m_ends[m_ended].at >= now);
    Member& first = Members().front();
    EventPayload ends{};
    ends.kind = EventKind::AT_ONCE;
    ends.member = &first;
    ends.sequence = m_turn;
    const Places& places = m_runner.m_interconnect.GetPlaces();
    m_runner.m_events[m_server].Schedule(m_ends[m_ended].at,
                                         places.ContextOfTurn(m_server, Places::Turn::INSIDE),
                                         ends);
}

void
CollectiveRunner::AtOnce::OnEnds(uint32_t turn, int64_t now)
{
    if (turn != m_turn || !m_plan)
    {
        return; // given back meanwhile
    }
    while (m_ended < m_ends.size() && m_ends[m_ended].at == now)
    {
        const PartEnd end = m_ends[m_ended++];
        EndPart(end, now);
    }
    ScheduleEnds(now);
}

void
CollectiveRunner::AtOnce::EndPart(const PartEnd& end, int64_t now)
{
    Member& member = Members()[end.position];
    Part& part = GetPart(member, m_sequence);
    part.bytesSent = end.sent;
    part.lanesLeft = 0;
    member.bytesSent += end.sent;
    member.cause = PathTo(end.origin, end.position, now);
    member.causeGiven = false;
    member.gotInside = !end.byLaunch;
    m_runner.EndRank(member, part, now);
    member.gotInside = false;
    m_runner.DropCause(member);
}

reports::PathRecord*
CollectiveRunner::AtOnce::PathTo(const Origin& origin, Rank position, int64_t at)
{
    if (!m_runner.m_paths)
    {
        return reports::CollectivePaths::NONE;
    }
    const Launched& launch = LaunchOf(origin.rank);
    reports::CollectivePaths::Hold(launch.entry);
    return origin.messages == 0 ? launch.entry
                                : m_runner.m_paths->ArriveAlong(launch.entry,
                                                                Members()[origin.rank].rank,
                                                                Members()[position].rank,
                                                                launch.at,
                                                                at,
                                                                origin.messages);
}

void
CollectiveRunner::AtOnce::Clear()
{
    if (m_runner.m_paths)
    {
        for (const Launched& one : m_launches)
        {
            m_runner.m_paths->Drop(one.entry);
        }
    }
    m_launches.clear();
    m_ends.clear();
    m_ended = 0;
    m_plan = nullptr;
    ++m_turn;
}

CollectiveRunner::AtOnce::Actor&
CollectiveRunner::AtOnce::ActorAt(Rank position)
{
    return *std::find_if(
        m_actors.begin() + std::min<std::ptrdiff_t>(position, m_actors.size() - 1),
        m_actors.end(),
        [position](const Actor& actor) { return actor.member->position == position; });
}

void
CollectiveRunner::AtOnce::Run(int64_t until)
{
    if (!m_model)
    {
        m_model = std::make_unique<topo::ScaleUpModel>(m_inside.MakeModel(m_server));
    }
    m_model->Clear();
    m_sent.clear();
    m_freeSent.clear();
    m_runEnds.clear();
    m_arrived = 0;
    const Rank ranks = m_plan->schedule->What().ranks;
    m_actors.clear();
    m_actors.resize(ranks + m_plan->positions.size());
    for (Rank i = 0; i < m_actors.size(); ++i)
    {
        Actor& actor = m_actors[i];
        actor.as = i;
        actor.member = &Members()[i < ranks ? i : m_plan->positions[i - ranks]];
        actor.lanes.resize(m_plan->schedule->Lanes(i));
        actor.lanesLeft = static_cast<uint32_t>(actor.lanes.size() + 1);
        for (coll::Lane lane = 0; lane < actor.lanes.size(); ++lane)
        {
            LaneState& state = actor.lanes[lane];
            state.steps = m_plan->schedule->Steps(i, lane);
            if (state.steps)
            {
                SetStep(*m_plan, i, lane, state);
            }
        }
    }
    for (Rank i = ranks; i < m_actors.size(); ++i)
    {
        RunLaunch(m_actors[i], Origin(), m_launches.front().at); // it waits for messages first
    }
    std::size_t launched = 0;
    while (true)
    {
        const int64_t wake = m_model->NextWake().ps;
        if (launched < m_launches.size() && m_launches[launched].at <= wake)
        {
            const Launched& one = m_launches[launched++];
            RunLaunch(ActorAt(one.position), {one.position, 0}, one.at);
            continue;
        }
        if (wake >= until || wake == topo::ScaleUpModel::kNever.ps)
        {
            return;
        }
        uint64_t number = 0;
        while (m_model->Arrived(rdma::TimePoint(wake), number))
        {
            const Sent sent = m_sent[number];
            m_freeSent.push_back(static_cast<uint32_t>(number));
            RunArrival(sent, wake);
        }
    }
}

void
CollectiveRunner::AtOnce::RunLaunch(Actor& actor, const Origin& origin, int64_t now)
{
    actor.launched = true;
    for (LaneState& lane : actor.lanes)
    {
        lane.started = true;
    }
    for (coll::Lane lane = 0; lane < actor.lanes.size(); ++lane)
    {
        RunSteps(actor, lane, origin, now);
    }
    if (--actor.lanesLeft == 0)
    {
        RunEnd(actor, origin, now, true);
    }
}

void
CollectiveRunner::AtOnce::RunArrival(const Sent& sent, int64_t now)
{
    m_arrived += sent.bytes;
    Actor& actor = ActorAt(sent.to);
    LaneState& lane = actor.lanes[sent.lane];
    lane.arrivals.Add(sent.from);
    if (!lane.started || lane.index >= lane.steps || lane.recvPeer != sent.from)
    {
        return;
    }
    const Origin origin{sent.origin.rank, sent.origin.messages + 1};
    RunSteps(actor, sent.lane, origin, now);
    if (actor.lanesLeft == 0)
    {
        RunEnd(actor, origin, now, false);
    }
}

void
CollectiveRunner::AtOnce::RunSteps(Actor& actor, coll::Lane lane, const Origin& origin, int64_t now)
{
    LaneState& state = actor.lanes[lane];
    Member& member = *actor.member;
    while (state.index < state.steps)
    {
        if (state.recvPeer != coll::kNoRank && !state.arrivals.Take(state.recvPeer))
        {
            return;
        }
        if (state.sendPeer != coll::kNoRank)
        {
            const ChannelId channel =
                m_runner.GetConnection(member, *m_plan, state.sendPeer, lane).channel;
            const ScaleUpTransport::Ports ports = m_inside.PortsOf(channel);
            uint32_t number = static_cast<uint32_t>(m_sent.size());
            if (m_freeSent.empty())
            {
                m_sent.emplace_back();
            }
            else
            {
                number = m_freeSent.back();
                m_freeSent.pop_back();
            }
            m_sent[number] =
                {member.position, state.sendPeer, lane, channel, state.sendBytes, now, origin};
            m_model->Post(ports.from,
                          ports.to,
                          rdma::Bytes(state.sendBytes),
                          rdma::TimePoint(now),
                          number,
                          m_plan->parts,
                          m_plan->times.how,
                          rdma::BitRate(MostInside(*m_plan, state.sendBytes)));
            actor.sent += state.sendBytes;
        }
        if (++state.index < state.steps)
        {
            SetStep(*m_plan, actor.as, lane, state);
        }
    }
    --actor.lanesLeft;
}

void
CollectiveRunner::AtOnce::RunEnd(Actor& actor, const Origin& origin, int64_t now, bool byLaunch)
{
    actor.ended = true;
    m_runEnds.push_back({now, actor.member->position, actor.sent, origin, byLaunch});
}

uint64_t
CollectiveRunner::AtOnce::CountSent(int64_t until)
{
    if (!m_plan)
    {
        return 0;
    }
    Run(until);
    uint64_t bytes = 0;
    for (const Actor& actor : m_actors)
    {
        bytes += actor.ended || actor.member->kind != Kind::RANK ? 0 : actor.sent;
    }
    return bytes;
}

void
CollectiveRunner::AtOnce::GiveBack(int64_t now)
{
    Rest();
    // A post comes before what arrives inside the server now, unless that has had its turn.
    const bool hadTurn =
        m_ended > 0 && !m_ends[m_ended - 1].byLaunch && m_ends[m_ended - 1].at == now;
    End(now, hadTurn ? now + 1 : now);
}

void
CollectiveRunner::AtOnce::End(int64_t now, int64_t until)
{
    if (!m_plan)
    {
        return;
    }
    Run(until);
    const uint64_t posted = m_model->BytesPosted().value;
    std::vector<ScaleUpTransport::Lent> back(m_sent.size());
    std::vector<bool> free(m_sent.size(), false);
    for (const uint32_t number : m_freeSent)
    {
        free[number] = true;
    }
    for (std::size_t i = 0; i < m_sent.size(); ++i)
    {
        if (!free[i])
        {
            const Sent& sent = m_sent[i];
            back[i].channel = sent.channel;
            back[i].immediate = m_sequence;
            back[i].bytes = sent.bytes;
            back[i].id = m_tag;
            back[i].posted = sent.posted;
            back[i].cause = PathTo(sent.origin, sent.from, sent.posted);
        }
    }
    TellRanks();
    m_inside.LetGo(m_server, m_gpus, 0, m_arrived);
    Clear();
    m_inside.TakeOver(m_server, now, *m_model, back);
    NS_ASSERT(posted >= m_arrived);
}

void
CollectiveRunner::AtOnce::TellRanks()
{
    for (Actor& actor : m_actors)
    {
        const bool got = std::any_of(actor.lanes.begin(), actor.lanes.end(), [](const auto& lane) {
            return !lane.arrivals.IsEmpty();
        });
        if (actor.ended || (!actor.launched && !got))
        {
            continue; // it has been told, or nothing has come for it
        }
        Member& member = *actor.member;
        Part& part = GetPart(member, m_sequence);
        part.lanes.clear();
        for (LaneState& lane : actor.lanes)
        {
            part.lanes.push_back(std::move(lane));
        }
        part.lanesLeft = static_cast<uint16_t>(actor.lanesLeft);
        part.bytesSent = actor.sent;
        member.bytesSent += actor.sent;
    }
}

} // namespace dltrain
