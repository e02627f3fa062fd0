/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "collectives/core/uneven-servers.h"

#include <algorithm>

namespace coll
{

bool
AreEvenServers(const Placement& placement)
{
    const auto servers = RanksByServer(placement);
    return std::all_of(servers.begin(), servers.end(), [&](const auto& ranks) {
        return ranks.size() == servers.front().size();
    });
}

UnevenSchedule::UnevenSchedule(const Collective& what,
                               const Placement& placement,
                               const Shape& shape)
    : Schedule(what),
      m_ring(placement, shape.channels),
      m_servers(m_ring.Servers()),
      m_loops(shape.loops)
{
    for (uint32_t server = 0; server < m_servers; server++)
    {
        m_serverAt.insert(m_serverAt.end(), Size(server), server);
    }
}

Lane
UnevenSchedule::Lanes(Rank /* rank */) const
{
    return m_ring.Channels();
}

uint32_t
UnevenSchedule::Channel(Lane lane) const
{
    return m_ring.ChannelNumber(lane);
}

uint64_t
UnevenSchedule::PartsOfMessage() const
{
    return uint64_t{m_ring.Channels()} * m_loops;
}

UnevenSchedule::Coordinates
UnevenSchedule::Find(Lane lane, Rank rank) const
{
    const uint32_t position = m_ring.Of(lane, rank).position;
    const uint32_t server = m_serverAt[position];
    return {server, position - m_ring.ServerBegin(server), Size(server)};
}

StepIndex
UnevenSchedule::Steps(Rank rank, Lane lane) const
{
    return m_loops * StepsOfLoop(Find(lane, rank));
}

Step
UnevenSchedule::At(Rank rank, Lane lane, StepIndex k) const
{
    const Coordinates me = Find(lane, rank);
    const StepIndex steps = StepsOfLoop(me);
    const uint32_t loop = k / steps;
    return AtLoop(lane, me, uint64_t{lane} * m_loops + loop, k - loop * steps);
}

} // namespace coll
