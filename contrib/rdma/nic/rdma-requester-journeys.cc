/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Requester: where the time of a message goes before its last packet leaves (RdmaJourney).
 */
#include "rdma-nic.h"
#include "rdma-queue-pair.h"

#include <algorithm>
#include <utility>

namespace ns3
{

namespace
{

void
Attach(RdmaFrame& frame, std::unique_ptr<RdmaJourney> journey)
{
    if (!frame.extra)
    {
        frame.extra = RdmaFramePool::Get().AllocateExtra();
    }
    frame.extra->journey = std::move(journey);
    frame.extra->joined = 0;
}

} // namespace

inline RdmaRequestTimes::Base
RdmaRequester::ReadClock(int64_t now) const
{
    const RdmaSenderClock& clock = *m_sender->clock;
    return {clock.line,
            clock.again,
            m_qp->m_nic->m_port->GetPausedPs(m_qp->m_priority, now),
            clock.throttled,
            clock.window};
}

void
RdmaRequester::StartClock(int64_t now)
{
    Sender& own = *m_sender;
    if (!own.clock)
    {
        own.clock = std::make_unique<RdmaSenderClock>();
    }
    RdmaSenderClock& clock = *own.clock;
    const RdmaJourney::Wanted* ways = m_qp->m_nic->m_ways;
    clock.ways = ways && (*ways)(m_qp->m_nic->m_endpoint, m_qp->m_peerEndpoint);
    if (own.requests.size() == 1) // what is noted is of those before, which are gone
    {
        clock.times.clear();
    }
    clock.times.resize(own.requests.size()); // longer or, as READs note nothing, shorter
    RdmaRequestTimes& times = clock.times.back();
    times.started = RdmaRequestTimes::WAITS;
    times.base = ReadClock(now);
    if (own.nextSend > now) // the pace of what was sent before is still to be waited for
    {
        times.base.throttled -= own.nextSend - now;
    }
}

void
RdmaRequester::NoteWindow(int64_t now)
{
    Sender& own = *m_sender;
    const bool closed = own.nextPsn < own.sendEnd && !CanSend();
    if (closed && own.clock->windowSince < 0)
    {
        own.clock->windowSince = now;
    }
    else if (!closed && own.clock->windowSince >= 0)
    {
        own.clock->window += std::max<int64_t>(0, now - own.clock->windowSince);
        own.clock->windowSince = -1;
    }
}

// Inline, and what it returns is kept in registers: a record that is put together part by part and
// then read as a whole keeps a processor waiting until it has reached the cache.
inline RdmaRequestTimes::Spent
RdmaRequester::TimeInSender(const RdmaWorkRequest& request,
                            const RdmaRequestTimes::Base& base,
                            int64_t now) const
{
    const RdmaRequestTimes::Base here = ReadClock(now);
    int64_t left = now - request.posted;
    const auto take = [&left](int64_t share) {
        share = std::min(std::max<int64_t>(share, 0), left);
        left -= share;
        return share;
    };
    const int64_t own = here.line - m_sender->clock->lineBefore; // at the rates of their times
    RdmaRequestTimes::Spent spent;
    spent.ownPackets = take(own);
    spent.backlog = take(here.line - base.line - own);
    spent.repeating = take(here.again - base.again);
    spent.nicPaused = take(here.paused - base.paused);
    spent.throttled = take(here.throttled - base.throttled);
    spent.window = take(here.window - base.window);
    spent.others = left;
    return spent;
}

void
RdmaRequester::StartJourney(RdmaFrame& frame, const RdmaWorkRequest& request, int64_t now)
{
    RdmaSenderClock& clock = *m_sender->clock;
    RdmaPort& port = *m_qp->m_nic->m_port;
    auto journey = std::make_unique<RdmaJourney>();
    journey->nic = port.GetEnd();
    journey->line = port.GetSerialization(frame.wireBytes);
    journey->reach = port.GetReachPs();
    journey->posted = request.posted;
    journey->started = now;
    journey->wireBytes = frame.wireBytes;
    journey->request = request.id;
    journey->counts = clock.ways;

    const std::size_t place = m_sender->cursor;
    RdmaRequestTimes* times = place < clock.times.size() ? &clock.times[place] : nullptr;
    RdmaRequestTimes::Spent spent{};
    if (!times || times->started == RdmaRequestTimes::NOT_NOTED)
    {
        spent.others = now - request.posted; // it was posted before journeys were noted
    }
    else if (times->started == RdmaRequestTimes::WAITS)
    {
        spent = TimeInSender(request, times->base, now);
        times->started = now;
        times->spent = spent;
    }
    else
    {
        spent = times->spent;
        spent.repeating += now - times->started;
    }
    journey->backlog = spent.backlog;
    journey->ownPackets = spent.ownPackets;
    journey->nicPaused = spent.nicPaused;
    journey->throttled = spent.throttled;
    journey->window = spent.window;
    journey->others = spent.others;
    journey->repeating = spent.repeating;
    Attach(frame, std::move(journey));
}

void
RdmaRequester::StartWay(RdmaFrame& frame, const RdmaWorkRequest& request)
{
    auto journey = std::make_unique<RdmaJourney>();
    journey->wayOnly = journey->counts = true;
    journey->request = request.id;
    journey->posted = request.posted;
    journey->nic = m_qp->m_nic->m_port->GetEnd();
    Attach(frame, std::move(journey));
}

} // namespace ns3
