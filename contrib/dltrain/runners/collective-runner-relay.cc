/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "collective-runner-relay.h"

#include "collective-runner-cookies.h"
#include "reports/attribution/collective-paths.h"

#include "ns3/assert.h"
#include "ns3/prefetch-line.h"
#include "ns3/rdma-event.h"

#include <algorithm>
#include <utility>

namespace dltrain
{

CollectiveRunner::Relay::Relay(CollectiveRunner& runner, uint32_t server)
    : m_runner(runner),
      m_inside(runner.m_interconnect.Inside()),
      m_server(server)
{
}

CollectiveRunner::Relay::~Relay()
{
    if (m_entry)
    {
        m_inside.StopLending(m_server);
    }
}

bool
CollectiveRunner::Relay::FindStations(Member& entry, const Part& part)
{
    std::vector<Member>& members = m_runner.m_communicators[entry.communicator].members;
    m_links = 0;
    Rank before = coll::kNoRank;
    for (Member* member = &entry;;)
    {
        const Part& its = member->part;
        if (!its.used || its.sequence != part.sequence || its.plan != part.plan ||
            its.lanes.size() != 1)
        {
            return false;
        }
        const LaneState& lane = its.lanes[0];
        if (!lane.started || lane.index == 0 || lane.index + 1 >= lane.steps ||
            (before != coll::kNoRank && lane.recvPeer != before) || !lane.arrivals.IsEmpty())
        {
            return false;
        }
        Member& next = members[lane.sendPeer];
        const Connection& connection = member->last;
        m_stations[m_links] = {member, connection.channel, 0, 0};
        if (next.server != m_server)
        {
            m_exit = member;
            return m_links > 0;
        }
        if (&next == &entry || m_links == MOST_LINKS || !connection.inside ||
            connection.peer != lane.sendPeer || connection.plan != part.plan->id ||
            !m_inside.IsPlain(connection.channel))
        {
            return false;
        }
        ++m_links;
        before = member->position;
        member = &next;
    }
}

uint32_t
CollectiveRunner::Relay::LinkOf(const ScaleUpTransport::Lent& message) const
{
    const Address address = AddressOf(message.cookie);
    uint32_t link = 0;
    while (link < m_links && m_stations[link].member->position != address.from)
    {
        ++link;
    }
    const Member& first = *m_stations[0].member;
    return message.user == &m_runner && address.communicator == first.communicator &&
                   message.lane == 0 && message.immediate == first.part.sequence
               ? link
               : m_links;
}

topo::ScaleUpModel::Timing
CollectiveRunner::Relay::TimingOf(uint64_t bytes) const
{
    TransportPost post;
    post.bytes = bytes;
    post.parts = m_plan->parts;
    post.how = m_plan->times.how;
    return m_inside.TimingOf(m_stations[0].channel, post);
}

bool
CollectiveRunner::Relay::OwnsAll() const
{
    std::array<uint32_t, MOST_LINKS> found{};
    bool own = true;
    m_inside.ForEachUnderWay(m_server, [&](const ScaleUpTransport::Lent& message) {
        const uint32_t link = LinkOf(message);
        own = own && link < m_links && TimingOf(message.bytes).latency == m_latency;
        found[std::min(link, MOST_LINKS - 1)] += 1;
    });
    for (uint32_t link = 0; own && link < m_links; ++link)
    {
        // The first step sends only, so a GPU that is at its step k has sent k, and got k - 1.
        const coll::StepIndex sent = m_stations[link].member->part.lanes[0].index;
        const coll::StepIndex got = m_stations[link + 1].member->part.lanes[0].index - 1;
        own = sent - got == found[link];
    }
    return own;
}

void
CollectiveRunner::Relay::Rest()
{
    m_rest = m_nextRest;
    m_nextRest = std::min(2 * m_nextRest, MOST_REST);
}

void
CollectiveRunner::Relay::GiveBack(int64_t now)
{
    if (m_step - m_firstStep < WORTH)
    {
        Rest();
    }
    else
    {
        m_nextRest = 1;
    }
    End(now, now);
}

bool
CollectiveRunner::Relay::Begin(Member& entry, const Part& part, int64_t now)
{
    if (m_entry || (part.log && part.log->steps > 0))
    {
        return false;
    }
    if (m_rest > 0)
    {
        --m_rest;
        return false;
    }
    if (!FindStations(entry, part))
    {
        Rest();
        return false;
    }
    m_plan = part.plan;
    const LaneState& lane = part.lanes[0];
    m_endStep = lane.steps - 1 - m_links;
    m_step = m_firstStep = lane.index;
    m_latency = TimingOf(lane.sendBytes).latency;
    std::vector<ScaleUpTransport::Lent> lent;
    if (m_step >= m_endStep || !OwnsAll() || !m_inside.Lend(m_server, now, *this, &lent))
    {
        Rest();
        return false;
    }
    m_entry = &entry;
    m_sequence = part.sequence;
    m_as = part.as;
    ++m_turn;
    m_sizeKnown = UINT64_MAX; // of no message
    m_begin = m_end = 0;
    m_passed = 0;
    m_passedBytes = m_posted = m_arrived = 0;
    entry.relay = m_exit->relay = this;
    TakeOver(lent, now);
    return true;
}

void
CollectiveRunner::Relay::TakeOver(std::vector<ScaleUpTransport::Lent>& lent, int64_t now)
{
    for (uint32_t link = 0; link < m_links; ++link)
    {
        m_finish[link] = now;
        m_noEarlier[link] = m_inside.LastArrival(m_stations[link].channel);
    }
    // The message farther along goes first.
    std::stable_sort(lent.begin(), lent.end(), [this](const auto& a, const auto& b) {
        return LinkOf(a) > LinkOf(b);
    });
    for (const ScaleUpTransport::Lent& message : lent)
    {
        Passing& passing = Add();
        const uint32_t link = LinkOf(message);
        const topo::ScaleUpModel::Timing timing = TimingOf(message.bytes);
        passing.bytes = message.bytes;
        passing.cause = message.cause;
        passing.posted = message.posted;
        passing.first = link;
        passing.cameIn = false;
        passing.finish[link] = message.finish;
        passing.arrival = message.arrival;
        if (message.finish == topo::ScaleUpModel::kNever.ps)
        {
            passing.finish[link] = std::max(message.posted, m_finish[link]) + timing.sending;
            passing.arrival = std::max(m_noEarlier[link], passing.finish[link] + timing.latency);
        }
        m_finish[link] = passing.finish[link];
        Run(passing, link, passing.arrival, timing.sending);
    }
}

CollectiveRunner::Relay::Passing&
CollectiveRunner::Relay::Add()
{
    if (m_end - m_begin == m_passing.size())
    {
        std::vector<Passing> more(std::max<std::size_t>(4, 2 * m_passing.size()));
        for (uint32_t i = m_begin; i != m_end; ++i)
        {
            more[i & (more.size() - 1)] = PassingAt(i);
        }
        m_passing = std::move(more);
    }
    return PassingAt(m_end++);
}

void
CollectiveRunner::Relay::Run(Passing& passing, uint32_t link, int64_t at, int64_t sending)
{
    for (++link; link < m_links; ++link)
    {
        const int64_t finish = std::max(at, m_finish[link]) + sending;
        m_finish[link] = passing.finish[link] = finish;
        at = std::max(m_noEarlier[link], finish + m_latency);
    }
    EventPayload out{};
    out.kind = EventKind::SEND_OUT;
    out.member = m_exit;
    out.sequence = m_turn;
    m_runner.ScheduleSend(*m_exit, at + m_plan->times.outside, true, out);
}

bool
CollectiveRunner::Relay::Pass(reports::PathRecord* cause, int64_t now)
{
    if (m_step >= m_endStep)
    {
        End(now, now);
        return false;
    }
    const uint64_t bytes = m_plan->schedule->At(m_as, 0, m_step).sendBytes;
    if (bytes != m_sizeKnown)
    {
        const topo::ScaleUpModel::Timing timing = TimingOf(bytes);
        if (bytes == 0 || timing.latency != m_latency)
        {
            GiveBack(now);
            return false;
        }
        m_sizeKnown = bytes;
        m_sending = timing.sending;
    }
    ++m_step;
    Passing& passing = Add();
    passing.bytes = bytes;
    passing.cause = cause;
    passing.posted = now;
    passing.first = 0;
    passing.cameIn = true;
    passing.finish[0] = m_finish[0] = std::max(now, m_finish[0]) + m_sending;
    passing.arrival = std::max(m_noEarlier[0], passing.finish[0] + m_latency);
    Run(passing, 0, passing.arrival, m_sending);
    return true;
}

int64_t
CollectiveRunner::Relay::ArrivalOf(const Passing& passing, uint32_t link) const
{
    return link == passing.first ? passing.arrival
                                 : std::max(m_noEarlier[link], passing.finish[link] + m_latency);
}

CollectiveRunner::Relay::Whereabouts
CollectiveRunner::Relay::Find(const Passing& passing, int64_t until) const
{
    uint32_t link = passing.first;
    int64_t posted = passing.posted;
    int64_t arrival = passing.arrival;
    while (arrival < until && link + 1 < m_links)
    {
        ++link;
        posted = arrival;
        arrival = ArrivalOf(passing, link);
    }
    return {link, posted, arrival, arrival < until};
}

uint64_t
CollectiveRunner::Relay::CountSent(int64_t until) const
{
    if (!m_entry)
    {
        return 0;
    }
    uint64_t bytes = m_passedBytes * m_links;
    for (uint32_t i = 0; i < m_links; ++i)
    {
        bytes += m_stations[i].sent;
    }
    for (uint32_t i = m_begin; i != m_end; ++i)
    {
        const Passing& passing = PassingAt(i);
        const Whereabouts is = Find(passing, until);
        const uint32_t sends = (is.isOut ? m_links : is.link) + passing.cameIn - passing.first;
        bytes += passing.bytes * sends;
    }
    return bytes;
}

reports::PathRecord*
CollectiveRunner::Relay::PathTo(const Passing& passing, uint32_t station, int64_t at)
{
    if (!m_runner.m_paths || station == passing.first)
    {
        return passing.cause;
    }
    return m_runner.m_paths->ArriveAlong(passing.cause,
                                         m_stations[passing.first].member->rank,
                                         m_stations[station].member->rank,
                                         passing.posted,
                                         at,
                                         station - passing.first);
}

void
CollectiveRunner::Relay::Count(const Passing& passing, uint32_t last)
{
    for (uint32_t station = passing.cameIn ? 0 : passing.first + 1; station <= last; ++station)
    {
        ++m_stations[station].received;
        m_arrived += station > 0 ? passing.bytes : 0;
        if (station < m_links)
        {
            m_stations[station].sent += passing.bytes;
            m_posted += passing.bytes;
        }
    }
}

void
CollectiveRunner::Relay::SendOut(uint32_t turn, int64_t now)
{
    if (turn != m_turn || !m_entry)
    {
        return; // it has ended meanwhile
    }
    const Passing& passing = PassingAt(m_begin++);
    const uint64_t bytes = passing.bytes;
    if (passing.cameIn)
    {
        ++m_passed;
        m_passedBytes += bytes;
    }
    else
    {
        Count(passing, m_links);
    }
    Member& member = *m_exit;
    const Part& part = member.part;
    member.bytesSent += bytes;
    member.part.bytesSent += bytes;
    member.cause = PathTo(passing, m_links, now - m_plan->times.outside);
    m_runner.Transfer(member,
                      {m_plan, bytes, m_sequence, part.tag},
                      m_runner.GetConnection(member, *m_plan, part.lanes[0].sendPeer, 0));
    m_runner.DropCause(member);
}

void
CollectiveRunner::Relay::LeaveToSoftware(const Passing& passing, int64_t at)
{
    Member& member = *m_exit;
    Part& part = member.part;
    member.bytesSent += passing.bytes;
    part.bytesSent += passing.bytes;
    EventPayload send{};
    send.kind = EventKind::SEND;
    send.to = part.lanes[0].sendPeer;
    send.member = &member;
    send.sequence = part.sequence;
    send.tag = part.tag;
    send.bytes = passing.bytes;
    send.plan = m_plan;
    send.path = PathTo(passing, m_links, at);
    m_runner.ScheduleSend(member, at + m_plan->times.outside, true, send);
}

void
CollectiveRunner::Relay::End(int64_t now, int64_t until)
{
    if (!m_entry)
    {
        return;
    }
    std::vector<ScaleUpTransport::Lent> back;
    for (; m_begin != m_end; ++m_begin)
    {
        const Passing& passing = PassingAt(m_begin);
        const Whereabouts is = Find(passing, until);
        Count(passing, is.isOut ? m_links : is.link);
        if (is.isOut)
        {
            LeaveToSoftware(passing, is.arrival);
            continue;
        }
        const Station& station = m_stations[is.link];
        back.push_back({station.channel,
                        &m_runner,
                        0, // lane
                        0, // the channel's cookie: it knows
                        m_sequence,
                        passing.bytes,
                        station.member->part.tag,
                        is.posted,
                        PathTo(passing, is.link, is.posted),
                        passing.finish[is.link],
                        is.arrival});
    }
    // Each channel's are in their order already.
    std::stable_sort(back.begin(), back.end(), [](const auto& a, const auto& b) {
        return a.posted < b.posted;
    });
    m_posted += m_passedBytes * m_links;
    m_arrived += m_passedBytes * m_links;
    TellStations();
    m_entry->relay = m_exit->relay = nullptr;
    m_entry = nullptr;
    ++m_turn;
    TransportPost like;
    like.parts = m_plan->parts;
    like.how = m_plan->times.how;
    m_inside.PutBack(m_server, now, back, like, m_posted, m_arrived);
}

void
CollectiveRunner::Relay::TellStations()
{
    for (uint32_t i = 0; i <= m_links; ++i)
    {
        const Station& station = m_stations[i];
        Member& member = *station.member;
        const uint64_t sent = station.sent + (i < m_links ? m_passedBytes : 0);
        member.bytesSent += sent;
        member.part.bytesSent += sent;
        LaneState& lane = member.part.lanes[0];
        lane.index += station.received + m_passed;
        NS_ASSERT(lane.index < lane.steps);
        SetStep(*member.part.plan, member.part.as, 0, lane);
    }
}

void
CollectiveRunner::Relay::Prefetch(int64_t until, uint32_t depth) const
{
    if (depth == 0)
    {
        ns3::PrefetchLines(this, &m_nextRest);
        return;
    }
    if (m_passing.empty())
    {
        return;
    }
    const Passing& oldest = PassingAt(m_begin);
    if (depth == 1)
    {
        const Passing& next = PassingAt(m_end);
        ns3::PrefetchLines(&oldest, oldest.finish.data() + m_links);
        ns3::PrefetchLines(&next, next.finish.data() + m_links);
    }
    else if (depth == 2 && m_begin != m_end && oldest.cause &&
             ArrivalOf(oldest, m_links - 1) + m_plan->times.outside < until)
    {
        ns3::PrefetchLines(oldest.cause, oldest.cause + 1);
    }
}

} // namespace dltrain
