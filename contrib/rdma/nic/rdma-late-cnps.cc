/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "rdma-late-cnps.h"

#include "rdma-nic.h"

namespace ns3
{

RdmaLateCnps::RdmaLateCnps(RdmaNic* nic, int64_t delay)
    : m_nic(nic),
      m_delay(delay),
      m_timer(this)
{
}

void
RdmaLateCnps::Add(uint32_t number, uint32_t label, int64_t now)
{
    m_cnps.push_back({now + m_delay, number, label});
    if (m_cnps.size() == 1)
    {
        m_timer.ScheduleAt(m_cnps.front().at, m_nic->m_port->GetContext());
    }
}

void
RdmaLateCnps::OnDue()
{
    const int64_t now = m_cnps.front().at;
    while (!m_cnps.empty() && m_cnps.front().at <= now)
    {
        const Cnp cnp = m_cnps.front();
        m_cnps.pop_front();
        // It may have been closed, or reset, meanwhile.
        RdmaQueuePair* qp = m_nic->FindQueuePair(cnp.number);
        if (qp && qp->CanReceive())
        {
            ++m_nic->m_counters.cnpsSent;
            m_nic->SendControl(qp, {RdmaOpcode::CNP, 0, 0, 0, 0, cnp.label}, now);
        }
    }
    if (!m_cnps.empty())
    {
        m_timer.ScheduleAt(m_cnps.front().at, m_nic->m_port->GetContext());
    }
}

} // namespace ns3
