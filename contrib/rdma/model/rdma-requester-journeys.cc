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

// These are inline, and what they return is kept in registers: a record that is put together part
// by part and then read as a whole keeps a processor waiting until it has reached the cache.

inline RdmaSenderClock::Base
RdmaRequester::ReadClock(int64_t now) const
{
    RdmaSenderClock::Base base;
    base.line = m_sender->clock->line;
    base.paused = m_qp->m_nic->m_port->GetPausedPs(m_qp->m_priority, now);
    base.throttled = m_sender->clock->throttled;
    base.window = m_sender->clock->window;
    base.again = m_sender->clock->again;
    return base;
}

void
RdmaRequester::StartClock(int64_t now)
{
    Sender& own = *m_sender;
    if (!own.clock)
    {
        own.clock = std::make_unique<RdmaSenderClock>();
    }
    RdmaSenderClock::Base& base = own.clock->bases.emplace_back();
    base = ReadClock(now);
    const RdmaJourney::Wanted* ways = m_qp->m_nic->m_ways;
    own.clock->ways = ways && (*ways)(m_qp->m_nic->m_endpoint, m_qp->m_peerEndpoint);
    if (own.nextSend > now) // the pace of what was sent before is still to be waited for
    {
        base.throttled -= own.nextSend - now;
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

inline RdmaSenderClock::Last
RdmaRequester::TimeInSender(const RdmaWorkRequest& request,
                            const RdmaSenderClock::Base& base,
                            int64_t now) const
{
    const RdmaSenderClock::Base here = ReadClock(now);
    int64_t left = now - request.posted;
    const auto take = [&left](int64_t share) {
        share = std::min(std::max<int64_t>(share, 0), left);
        left -= share;
        return share;
    };
    const int64_t own = here.line - m_sender->clock->lineBefore; // at the rates of their times
    RdmaSenderClock::Last last;
    last.started = now;
    last.ownPackets = take(own);
    last.backlog = take(here.line - base.line - own);
    last.repeating = take(here.again - base.again);
    last.nicPaused = take(here.paused - base.paused);
    last.throttled = take(here.throttled - base.throttled);
    last.window = take(here.window - base.window);
    last.others = left;
    return last;
}

inline void
RdmaRequester::KeepLast(const RdmaSenderClock::Last& last)
{
    auto& sent = m_sender->clock->sent;
    if (sent.size() == sent.capacity()) // make room before it grows
    {
        const auto acked = [this](const auto& other) { return other.psn < m_sender->ackedPsn; };
        sent.erase(std::remove_if(sent.begin(), sent.end(), acked), sent.end());
    }
    sent.emplace_back() = last;
}

void
RdmaRequester::StartJourney(RdmaFrame& frame, const RdmaWorkRequest& request, int64_t now)
{
    RdmaSenderClock& clock = *m_sender->clock;
    RdmaPort& port = *m_qp->m_nic->m_port;
    auto journey = std::make_unique<RdmaJourney>();
    journey->resolver = m_qp->m_nic->m_journeys;
    journey->nic = &port;
    journey->line = port.GetSerialization(frame.wireBytes);
    journey->reach = port.GetReachPs();
    journey->posted = request.posted;
    journey->started = now;
    journey->wireBytes = frame.wireBytes;
    journey->request = request.id;
    journey->counts = clock.ways;

    const uint64_t psn = request.firstPsn + request.packets - 1;
    RdmaSenderClock::Last last;
    if (!(frame.flags & RdmaFrame::RETRANSMITTED) && clock.first < clock.bases.size())
    {
        last = TimeInSender(request, clock.bases[clock.first++], now);
        if (clock.first * 2 > clock.bases.size())
        {
            clock.bases.erase(clock.bases.begin(),
                              clock.bases.begin() + static_cast<std::ptrdiff_t>(clock.first));
            clock.first = 0;
        }
        last.psn = psn;
        KeepLast(last);
    }
    else
    {
        const auto sent = std::find_if(clock.sent.begin(),
                                       clock.sent.end(),
                                       [psn](const auto& other) { return other.psn == psn; });
        if (sent != clock.sent.end())
        {
            last = *sent;
            last.repeating += now - last.started;
        }
        else // it was posted before journeys were noted
        {
            last.others = now - request.posted;
        }
    }
    journey->backlog = last.backlog;
    journey->ownPackets = last.ownPackets;
    journey->nicPaused = last.nicPaused;
    journey->throttled = last.throttled;
    journey->window = last.window;
    journey->others = last.others;
    journey->repeating = last.repeating;
    Attach(frame, std::move(journey));
}

void
RdmaRequester::StartWay(RdmaFrame& frame, const RdmaWorkRequest& request)
{
    auto journey = std::make_unique<RdmaJourney>();
    journey->wayOnly = journey->counts = true;
    journey->request = request.id;
    journey->posted = request.posted;
    journey->nic = PeekPointer(m_qp->m_nic->m_port);
    Attach(frame, std::move(journey));
}

} // namespace ns3
