/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef DLTRAIN_LEAVE_TURN_H
#define DLTRAIN_LEAVE_TURN_H

#include "contrib/dltrain/base/event-pool.h"
#include "contrib/dltrain/base/transport.h"

#include <cstdint>
#include <deque>
#include <vector>

namespace reports
{
struct PathRecord;
} // namespace reports

namespace dltrain
{

class LeaveUser;

/// A rank that leaves a collective.
struct Leaving
{
    uint32_t rank; ///< place
    uint32_t communicator;
    uint32_t sequence; ///< of the communicator's collectives
    uint32_t position; ///< of the rank in its communicator
    reports::PathRecord* path;
    LeaveUser* user;
};

/// Hears of those that it added.
class LeaveUser
{
  public:
    virtual ~LeaveUser() = default;
    virtual void OnLeave(const Leaving& leaving, int64_t now) = 0;
};

/**
 * Ranks of a server whose collectives end at one picosecond with messages inside the server leave
 * in the order of their numbers. So what they do next does not depend on the order in which these
 * messages were posted, which nobody knows where collectives are worked out at once.
 */
class LeaveTurn
{
  public:
    explicit LeaveTurn(const Places& places);

    /// In an event of the server, which is Places::Turn::INSIDE.
    void Add(uint32_t server, const Leaving& leaving, int64_t now);

    // of the event pools
    void OnEvent(uint32_t server, int64_t now);

  private:
    const Places& m_places;
    std::vector<std::vector<Leaving>> m_leaving; ///< by server
    std::deque<EventPool<LeaveTurn, uint32_t>> m_events;
};

} // namespace dltrain

#endif // DLTRAIN_LEAVE_TURN_H
