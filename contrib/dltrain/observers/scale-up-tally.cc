/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "scale-up-tally.h"

#include <algorithm>

namespace dltrain
{

void
ScaleUpTally::Add(const topo::ScaleUpPackets* server)
{
    m_seen = true;
    m_servers.push_back(server);
}

void
ScaleUpTally::Remove(const topo::ScaleUpPackets* server)
{
    Sum(*server, &m_gone);
    m_servers.erase(std::remove(m_servers.begin(), m_servers.end(), server), m_servers.end());
}

void
ScaleUpTally::Sum(const topo::ScaleUpPackets& server, topo::ScaleUpPackets::Counters* into)
{
    const topo::ScaleUpPackets::Counters& one = server.GetCounters();
    into->messages += one.messages;
    into->frames += one.frames;
    into->flits += one.flits;
    into->data += one.data;
    into->hops += one.hops;
    into->stalled += one.stalled;
    into->deepest = std::max(into->deepest, one.deepest);
}

topo::ScaleUpPackets::Counters
ScaleUpTally::GetCounters() const
{
    topo::ScaleUpPackets::Counters all = m_gone;
    for (const topo::ScaleUpPackets* server : m_servers)
    {
        Sum(*server, &all);
    }
    return all;
}

} // namespace dltrain
