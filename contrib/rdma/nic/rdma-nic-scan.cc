/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "rdma-nic-scan.h"

#include "rdma-nic.h"

#include "ns3/log.h"
#include "ns3/node.h"

#include <algorithm>

namespace ns3
{

NS_LOG_COMPONENT_DEFINE("RdmaNicScan");

RdmaNicScan::RdmaNicScan(RdmaNic* nic)
    : m_nic(nic)
{
}

void
RdmaNicScan::Activate(RdmaQueuePair* qp, int64_t now)
{
    NS_LOG_FUNCTION(this << qp << now);
    qp->m_requester.Send();
    if (qp->m_requester.m_schedule == RdmaRequester::Schedule::IDLE &&
        (qp->m_requester.m_sender->nextPsn < qp->m_requester.m_endPsn || qp->m_respond))
    {
        qp->m_requester.m_schedule = RdmaRequester::Schedule::READY; // in the list
        qp->m_requester.m_sender->nextSend = std::max(qp->m_requester.m_sender->nextSend, now);
        m_list.push_back(qp);
        m_nic->m_port->SetPullMask(0xff);
    }
    else if (qp->m_requester.m_sender->cc.repace == RdmaCongestionState::Repace::SHIFT)
    {
        OnShift(qp->m_requester.m_sender->nextSend,
                now); // that code does so with every ACK that it reacts to
    }
    m_nic->m_port->Kick(now);
}

RdmaFrame*
RdmaNicScan::Pull(uint8_t pausedMask, int64_t now)
{
    NS_LOG_FUNCTION(this << pausedMask << now);
    const size_t none = m_list.size();
    const size_t n = m_list.size();
    size_t found = none;
    size_t firstDone = none;
    const auto isDone = [](const RdmaQueuePair* qp) {
        return qp->m_requester.m_sender->ackedPsn >= qp->m_requester.m_endPsn && !qp->m_respond;
    };
    for (size_t i = 1; i <= n; ++i)
    {
        const size_t index = (i + m_last) % n;
        RdmaQueuePair* qp = m_list[index];
        qp->m_requester.UpdateIfDue(now);
        if (!(pausedMask >> qp->m_priority & 1) && qp->CanSend())
        {
            if (qp->m_requester.m_sender->nextSend <= now)
            {
                found = index;
                break;
            }
        }
        else if (isDone(qp))
        {
            firstDone = std::min(firstDone, index);
        }
    }
    if (firstDone < none)
    {
        size_t to = firstDone;
        m_list[firstDone]->m_requester.m_schedule = RdmaRequester::Schedule::IDLE;
        for (size_t i = firstDone + 1; i < n; ++i)
        {
            if (isDone(m_list[i]))
            {
                m_list[i]->m_requester.m_schedule = RdmaRequester::Schedule::IDLE;
                continue;
            }
            found = i == found ? to : found;
            m_list[to++] = m_list[i];
        }
        m_list.resize(to);
        m_nic->m_port->SetPullMask(m_list.empty() ? 0 : 0xff);
    }
    if (found != none)
    {
        m_last = found;
        return m_list[found]->MakeFrame(now);
    }
    int64_t earliest = RdmaNic::NEVER;
    for (const RdmaQueuePair* qp : m_list)
    {
        if (qp->m_requester.m_sender->nextPsn < qp->m_requester.m_sender->sendEnd || qp->m_respond)
        {
            earliest = std::min(earliest, qp->m_requester.m_sender->nextSend);
        }
    }
    if (m_nic->m_wakeDue == RdmaNic::NEVER && earliest != RdmaNic::NEVER && earliest > now)
    {
        WakeAt(earliest);
    }
    return nullptr;
}

void
RdmaNicScan::OnShift(int64_t next, int64_t now)
{
    NS_LOG_FUNCTION(this << next << now);
    if (m_nic->m_wakeDue != RdmaNic::NEVER && next < m_nic->m_wakeDue)
    {
        WakeAt(std::max(next, now));
    }
}

void
RdmaNicScan::WakeAt(int64_t at)
{
    m_nic->m_wakeDue = at;
    m_nic->m_wakeEvent.ScheduleAt(at, m_nic->m_port->GetContext());
}

} // namespace ns3
