/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Requester: where the time of a message goes before its last packet leaves (RdmaJourney).
 */
#include "contrib/rdma/core/roce-sizes.h"
#include "contrib/rdma/core/roce-wire.h"
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
}

} // namespace

RdmaSenderClock::Base
RdmaRequester::ReadClock(int64_t now) const
{
    RdmaSenderClock::Base base;
    base.line = m_sender->clock->line;
    base.paused = m_qp->m_nic->m_port->GetPausedPs(m_qp->m_priority, now);
    base.throttled = m_sender->clock->throttled;
    base.window = m_sender->clock->window;
    base.retransmitted = m_sender->clock->retransmitted;
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
    own.clock->bases.push_back(ReadClock(now));
    const RdmaJourney::Wanted* ways = m_qp->m_nic->m_ways;
    own.clock->ways = ways && (*ways)(m_qp->m_nic->m_endpoint, m_qp->m_peerEndpoint);
    if (own.nextSend > now) // the pace of what was sent before is still to be waited for
    {
        own.clock->bases.back().throttled -= own.nextSend - now;
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

void
RdmaRequester::StartJourney(RdmaFrame& frame, const RdmaWorkRequest& request, int64_t now)
{
    const RdmaSenderClock::Base here = ReadClock(now);
    RdmaSenderClock::Base base;
    if (!(frame.flags & RdmaFrame::RETRANSMITTED) &&
        m_sender->clock->first < m_sender->clock->bases.size())
    {
        base = m_sender->clock->lastBase = m_sender->clock->bases[m_sender->clock->first++];
        if (m_sender->clock->first * 2 > m_sender->clock->bases.size())
        {
            m_sender->clock->bases.erase(m_sender->clock->bases.begin(),
                                         m_sender->clock->bases.begin() +
                                             static_cast<std::ptrdiff_t>(m_sender->clock->first));
            m_sender->clock->first = 0;
        }
        m_sender->clock->lastPsn = request.firstPsn;
    }
    else
    {
        // One goes again: of those before the last how it began is forgotten.
        base = request.firstPsn == m_sender->clock->lastPsn ? m_sender->clock->lastBase : here;
    }
    auto journey = std::make_unique<RdmaJourney>();
    journey->resolver = m_qp->m_nic->m_journeys;
    RdmaPort& port = *m_qp->m_nic->m_port;
    journey->nic = &port;
    journey->line = port.GetSerialization(frame.wireBytes);
    journey->reach = port.GetReachPs();
    journey->request = request.id;
    journey->counts = m_sender->clock->ways;
    journey->posted = request.posted;
    journey->started = now;
    journey->wireBytes = frame.wireBytes;
    int64_t left = now - request.posted;
    const auto take = [&left](int64_t share) {
        share = std::min(std::max<int64_t>(share, 0), left);
        left -= share;
        return share;
    };
    // All packets but the last are full, and the first is longer by an RETH.
    const rdma::FrameSizes& sizes = m_qp->m_nic->m_sizes;
    const uint64_t others = request.packets - 1;
    const int64_t full =
        port.GetSerialization(sizes.DataWire(rdma::RoceOpcode::kWriteMiddle, m_qp->m_nic->m_mtu));
    const int64_t first = port.GetSerialization(
        sizes.DataWire(request.operation == RdmaOperation::SEND ? rdma::RoceOpcode::kSendFirst
                                                                : rdma::RoceOpcode::kWriteFirst,
                       m_qp->m_nic->m_mtu));
    const int64_t own = others ? first + full * static_cast<int64_t>(others - 1) : 0;
    journey->ownPackets = take(own);
    journey->backlog = take(here.line - base.line - own);
    journey->nicPaused = take(here.paused - base.paused);
    journey->throttled = take(here.throttled - base.throttled);
    journey->window = take(here.window - base.window);
    (here.retransmitted > base.retransmitted ? journey->repeating : journey->others) = left;
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
