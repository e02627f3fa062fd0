/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef DLTRAIN_WOKEN_SERVER_H
#define DLTRAIN_WOKEN_SERVER_H

#include "contrib/rdma/core/units.h"

#include <cstdint>
#include <vector>

namespace dltrain
{

/**
 * A resource that messages share (topo::NicServer), with the events that were
 * scheduled for the ends of messages. Each new message changes these ends, while a scheduled event
 * stays: an earlier event also takes care of later ends.
 */
template <class Server>
class WokenServer
{
  public:
    Server server;

    /// Call schedule(ps) if an event is needed that is not there.
    template <class Schedule>
    void Wake(const Schedule& schedule)
    {
        const rdma::TimePoint at = server.NextEnd();
        if (at != Server::kNever && (m_wakes.empty() || at.ps < m_wakes.back()))
        {
            m_wakes.push_back(at.ps);
            schedule(at.ps);
        }
    }

    /// Such an event has come. ended(cookie) hears of each message that has. Then: Wake.
    template <class Ended>
    void Woken(int64_t now, const Ended& ended)
    {
        m_wakes.pop_back();
        uint64_t cookie = 0;
        while (server.Ended(rdma::TimePoint(now), cookie))
        {
            ended(cookie);
        }
    }

  private:
    std::vector<int64_t> m_wakes; ///< pending events, the next last
};

} // namespace dltrain

#endif // DLTRAIN_WOKEN_SERVER_H
