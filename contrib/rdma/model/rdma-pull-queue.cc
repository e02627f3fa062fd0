/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "rdma-pull-queue.h"

#include "rdma-loss-recovery.h"
#include "rdma-nic.h"

#include <algorithm>

namespace ns3
{

RdmaPullQueue::RdmaPullQueue(RdmaNic* nic)
    : m_nic(nic),
      m_ring(16),
      m_timer(this)
{
}

void
RdmaPullQueue::GoOnFrom(int64_t now)
{
    m_next = now + m_nic->GetPort()->GetSerialization(m_nic->GetFrameSizes().dataOverhead +
                                                      m_nic->GetMtu());
}

bool
RdmaPullQueue::Take(int64_t now)
{
    const bool free = m_first == m_end && now >= m_next;
    if (free)
    {
        GoOnFrom(now);
    }
    return free;
}

void
RdmaPullQueue::Add(RdmaQueuePair* qp, int64_t now)
{
    if (m_end - m_first == m_ring.size())
    {
        std::vector<RdmaQueuePair*> larger(2 * m_ring.size());
        for (uint64_t i = m_first; i < m_end; ++i)
        {
            larger[i & (larger.size() - 1)] = m_ring[i & (m_ring.size() - 1)];
        }
        m_ring.swap(larger);
    }
    m_ring[m_end++ & (m_ring.size() - 1)] = qp;
    if (!m_pending)
    {
        Serve(now);
    }
}

void
RdmaPullQueue::OnTurn()
{
    m_pending = false;
    Serve(std::max(m_next, RdmaClock::Now()));
}

void
RdmaPullQueue::Serve(int64_t now)
{
    while (m_first < m_end && now >= m_next)
    {
        RdmaQueuePair* qp = m_ring[m_first++ & (m_ring.size() - 1)];
        // Of a connection that is complete, or has been reset meanwhile, none is sent.
        switch (qp->GivePull(now))
        {
        case RdmaLossRecovery::Pull::NONE:
            break;
        case RdmaLossRecovery::Pull::MORE:
            m_ring[m_end++ & (m_ring.size() - 1)] = qp; // there is the room that it has left
            [[fallthrough]];
        case RdmaLossRecovery::Pull::LAST:
            GoOnFrom(now);
            break;
        }
    }
    if (m_first < m_end)
    {
        m_pending = true;
        m_timer.ScheduleAt(m_next, m_nic->GetPort()->GetContext());
    }
}

} // namespace ns3
