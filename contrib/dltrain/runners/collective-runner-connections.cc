/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * CollectiveRunner: the channels that ranks send over.
 */
#include "collective-runner-cookies.h"
#include "collective-runner.h"

#include <algorithm>
#include <cstddef>

namespace dltrain
{

namespace
{

/// Lanes for which the connection used last is remembered; others are looked up.
constexpr std::size_t CACHED_LANES = 8;

} // namespace

const CollectiveRunner::Connection&
CollectiveRunner::GetConnection(Member& member, const Plan& plan, Rank to, coll::Lane lane)
{
    // A lane sends to the same one again and again.
    if (lane == 0)
    {
        Connection& last = member.last;
        if (last.plan != plan.id || last.peer != to)
        {
            Change(last, member, plan, to, lane);
        }
        return last;
    }
    if (lane >= CACHED_LANES)
    {
        return FindConnection(member, plan, to, lane, RailOf(member, plan, to, lane));
    }
    if (member.lastOfLanes.size() <= lane)
    {
        const std::size_t lanes =
            member.kind == Kind::RANK ? plan.schedule->Lanes(member.position) : CACHED_LANES;
        member.lastOfLanes.resize(std::min(lanes, CACHED_LANES));
    }
    Connection& last = member.lastOfLanes[lane];
    if (last.plan != plan.id || last.peer != to)
    {
        Change(last, member, plan, to, lane);
    }
    return last;
}

void
CollectiveRunner::Change(Connection& last,
                         Member& member,
                         const Plan& plan,
                         Rank to,
                         coll::Lane lane)
{
    const uint16_t rail = RailOf(member, plan, to, lane);
    if (last.peer != to || last.rail != rail || last.limited != plan.limited ||
        last.ownNics != plan.ownNics)
    {
        last = FindConnection(member, plan, to, lane, rail);
    }
    last.plan = plan.id;
}

uint16_t
CollectiveRunner::RailOf(const Member& member, const Plan& plan, Rank to, coll::Lane lane) const
{
    const uint32_t nics = plan.times.nics ? plan.times.nics : m_cluster.server.nics;
    const bool peers = plan.ownNics && m_options.peersRail;
    const Rank beside = peers ? m_communicators[member.communicator].members[to].rank : member.rank;
    const uint32_t first =
        plan.ownNic ? beside % m_cluster.server.gpus * m_cluster.server.nics / m_cluster.server.gpus
                    : 0;
    return static_cast<uint16_t>((first + plan.schedule->Channel(lane)) % nics);
}

ChannelName
CollectiveRunner::NameOf(const Member& member,
                         const Plan& plan,
                         Rank to,
                         coll::Lane lane,
                         uint16_t rail) const
{
    const Communicator& comm = m_communicators[member.communicator];
    const Member& peer = comm.members[to];
    ChannelName name;
    name.priority = comm.priority;
    name.job = static_cast<uint16_t>(m_job);
    name.communicator = member.communicator;
    name.from = member.rank;
    name.to = peer.rank;
    name.lane = lane;
    name.rail = rail;
    name.turn = static_cast<uint8_t>(lane / m_cluster.server.nics);
    if (plan.ownNics)
    {
        name.railThere = static_cast<uint8_t>(
            (m_interconnect.GetPlaces().NicBeside(peer.rank) + plan.schedule->Channel(lane)) %
            m_cluster.server.nics);
    }
    return name;
}

const CollectiveRunner::Connection&
CollectiveRunner::FindConnection(Member& member,
                                 const Plan& plan,
                                 Rank to,
                                 coll::Lane lane,
                                 uint16_t rail)
{
    Connection& connection = member.connections[ConnectionKey(to, lane, rail, plan)];
    if (!connection.transport)
    {
        const Member& peer = m_communicators[member.communicator].members[to];
        const ChannelName name = NameOf(member, plan, to, lane, rail);
        Transport& transport = m_interconnect.Serving(name.from, name.to);
        connection.peer = to;
        connection.inside = member.server == peer.server;
        connection.toUnit = peer.kind == Kind::FABRIC_SWITCH;
        connection.limited = plan.limited;
        connection.ownNics = plan.ownNics;
        connection.rail = rail;
        connection.channel = transport.Open(name,
                                            *this,
                                            CookieOf({member.communicator, member.position, to}),
                                            plan.limited ? plan.rates.Outside().bps : 0);
        connection.transport = &transport;
    }
    return connection;
}

} // namespace dltrain
