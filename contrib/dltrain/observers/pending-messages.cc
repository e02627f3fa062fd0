/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "pending-messages.h"

#include "ns3/prefetch-line.h"

namespace dltrain
{

PendingMessages::PendingMessages(uint32_t endpoints)
    : m_queuePairs(endpoints)
{
}

PendingMessages::Sender&
PendingMessages::Find(uint32_t endpoint, uint32_t number)
{
    rdma::NumberTable<uint32_t>& ofEndpoint = m_queuePairs[endpoint];
    if (const uint32_t* sender = ofEndpoint.Find(number))
    {
        return m_senders[*sender];
    }
    const uint32_t sender = m_senders.Take();
    ofEndpoint[number] = sender;
    return m_senders[sender] = Sender();
}

const PendingMessages::Sender*
PendingMessages::Known(uint32_t endpoint, uint32_t number) const
{
    const uint32_t* sender = m_queuePairs[endpoint].Find(number);
    return sender ? &m_senders[*sender] : nullptr;
}

void
PendingMessages::Prefetch(uint32_t endpoint, uint32_t number, uint32_t depth) const
{
    const rdma::NumberTable<uint32_t>& ofEndpoint = m_queuePairs[endpoint];
    if (depth == 0)
    {
        ns3::PrefetchLine(&ofEndpoint);
    }
    else if (depth == 1)
    {
        ns3::PrefetchLine(ofEndpoint.Where(number));
    }
    else if (const Sender* sender = Known(endpoint, number))
    {
        if (depth == 2)
        {
            ns3::PrefetchLines(sender, sender + 1);
        }
        else if (sender->m_head != NONE)
        {
            ns3::PrefetchLine(&m_pool[sender->m_head]);
        }
    }
}

void
PendingMessages::Forget(uint32_t endpoint, uint32_t number)
{
    if (const uint32_t* sender = m_queuePairs[endpoint].Find(number))
    {
        m_senders.Give(*sender);
        m_queuePairs[endpoint].Erase(number);
    }
}

void
PendingMessages::Add(Sender& sender, const Message& message)
{
    uint32_t entry = m_free;
    if (entry == NONE)
    {
        entry = static_cast<uint32_t>(m_pool.size());
        m_pool.emplace_back();
    }
    else
    {
        m_free = m_pool[entry].next;
    }
    m_pool[entry] = {message, NONE};
    (sender.m_head == NONE ? sender.m_head : m_pool[sender.m_tail].next) = entry;
    sender.m_tail = entry;
}

bool
PendingMessages::Take(Sender& sender, bool read, Message& message)
{
    uint32_t before = NONE;
    uint32_t entry = sender.m_head;
    while (entry != NONE && (m_pool[entry].message.operation == ns3::RdmaOperation::READ) != read)
    {
        before = entry;
        entry = m_pool[entry].next;
    }
    if (entry == NONE)
    {
        return false;
    }
    message = m_pool[entry].message;
    (before == NONE ? sender.m_head : m_pool[before].next) = m_pool[entry].next;
    if (sender.m_tail == entry)
    {
        sender.m_tail = before;
    }
    m_pool[entry].next = m_free;
    m_free = entry;
    return true;
}

uint32_t
PendingMessages::Count(const Sender& sender) const
{
    uint32_t count = 0;
    for (uint32_t entry = sender.m_head; entry != NONE; entry = m_pool[entry].next)
    {
        ++count;
    }
    return count;
}

void
PendingMessages::ForgetMeasured(int64_t now)
{
    ForgetWays();
    for (Entry& entry : m_pool)
    {
        Message& message = entry.message;
        message.measured = message.measured && message.posted >= now;
    }
}

void
PendingMessages::ForgetWays()
{
    m_senders.ForEach([](Sender& sender) { sender.wayNoted = false; });
}

} // namespace dltrain
