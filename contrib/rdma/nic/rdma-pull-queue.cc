/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "rdma-pull-queue.h"

#include "rdma-nic.h"

#include <algorithm>

namespace ns3
{

RdmaPullQueue::RdmaPullQueue(RdmaNic* nic)
    : m_nic(nic),
      m_timer(this)
{
}

void
RdmaPullQueue::Ring::PushBack(RdmaQueuePair* qp)
{
    if (end - first == places.size())
    {
        std::vector<RdmaQueuePair*> larger(2 * places.size());
        for (uint64_t i = first; i < end; ++i)
        {
            larger[i & (larger.size() - 1)] = places[i & (places.size() - 1)];
        }
        places.swap(larger);
    }
    places[end++ & (places.size() - 1)] = qp;
}

RdmaQueuePair*
RdmaPullQueue::Ring::PopFront()
{
    return places[first++ & (places.size() - 1)];
}

void
RdmaPullQueue::GoOnFrom(int64_t now, uint32_t packets)
{
    const int64_t packet =
        m_nic->GetPort()->GetSerialization(m_nic->GetFrameSizes().FullWire(m_nic->GetMtu()));
    const double rate = m_nic->GetPullRate();
    const int64_t took =
        rate == 1 ? packet : static_cast<int64_t>(static_cast<double>(packet) / rate);
    m_next = now + packets * took;
}

bool
RdmaPullQueue::Take(int64_t now)
{
    const bool free = IsEmpty() && now >= m_next;
    if (free)
    {
        GoOnFrom(now, 1);
    }
    return free;
}

void
RdmaPullQueue::Add(RdmaQueuePair* qp, bool urgent, int64_t now)
{
    m_rings[urgent].PushBack(qp);
    if (!m_pending && !m_serving)
    {
        Serve(now, now);
    }
}

void
RdmaPullQueue::OnTurn()
{
    m_pending = false;
    // Where the clock is coarser than ps it is later than it was to be: turns do not slip by that.
    Serve(std::max(m_next, RdmaClock::Now()), m_next);
}

void
RdmaPullQueue::Serve(int64_t now, int64_t turn)
{
    m_serving = true;
    while (!IsEmpty() && now >= m_next)
    {
        const bool urgent = !m_rings[1].IsEmpty();
        RdmaQueuePair* qp = m_rings[urgent].PopFront();
        // No pull for a connection that is complete, or has been reset meanwhile.
        const RdmaPullTransport::Pull pull = qp->GivePull(urgent, now);
        if (pull.more)
        {
            m_rings[urgent].PushBack(qp);
        }
        if (pull.packets)
        {
            GoOnFrom(turn, pull.packets);
            turn = m_next;
        }
    }
    m_serving = false;
    if (!IsEmpty())
    {
        m_pending = true;
        m_timer.ScheduleAt(m_next, m_nic->GetPort()->GetContext());
    }
}

} // namespace ns3
