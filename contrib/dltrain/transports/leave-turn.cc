/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "leave-turn.h"

#include <algorithm>
#include <tuple>

namespace dltrain
{

LeaveTurn::LeaveTurn(const Places& places)
    : m_places(places),
      m_leaving(places.GetNHosts())
{
    for (uint32_t server = 0; server < places.GetNHosts(); ++server)
    {
        m_events.emplace_back(this);
    }
}

void
LeaveTurn::Add(uint32_t server, const Leaving& leaving, int64_t now)
{
    if (m_leaving[server].empty())
    {
        m_events[server].Schedule(now, m_places.ContextOfTurn(server, Places::Turn::LEAVE), server);
    }
    m_leaving[server].push_back(leaving);
}

void
LeaveTurn::OnEvent(uint32_t server, int64_t now)
{
    std::vector<Leaving>& all = m_leaving[server];
    std::sort(all.begin(), all.end(), [](const Leaving& a, const Leaving& b) {
        return std::tie(a.rank, a.communicator, a.sequence) <
               std::tie(b.rank, b.communicator, b.sequence);
    });
    for (const Leaving& one : all)
    {
        one.user->OnLeave(one, now); // in which nothing arrives
    }
    all.clear();
}

} // namespace dltrain
