/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "pending-messages.h"

#include <algorithm>

namespace dltrain
{

PendingMessages::PendingMessages(uint32_t endpoints)
    : m_queuePairs(endpoints)
{
}

PendingMessages::Sender&
PendingMessages::Find(uint32_t endpoint, uint32_t number, uint32_t most)
{
    auto& ofEndpoint = m_queuePairs[endpoint];
    const uint32_t index = number - 2;
    if (index >= ofEndpoint.size())
    {
        ofEndpoint.resize(std::max(most, index + 1), NONE);
    }
    uint32_t& sender = ofEndpoint[index];
    if (sender == NONE)
    {
        sender = static_cast<uint32_t>(m_senders.size());
        m_senders.emplace_back();
    }
    return m_senders[sender];
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
    ++sender.count;
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
    --sender.count;
    return true;
}

void
PendingMessages::ForgetMeasured()
{
    for (Entry& entry : m_pool)
    {
        entry.message.measured = false;
    }
}

} // namespace dltrain
