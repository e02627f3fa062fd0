/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Messages of some GPUs that were run in a model of their own.
 */
#include "topologies/scale-up/scale-up-model.h"

#include <algorithm>

namespace topo
{

void
ScaleUpModel::Clear()
{
    m_bytes = rdma::Bytes();
    m_underWay = 0;
    m_active.clear();
    m_messages.clear();
    m_freeMessage = kNone;
    m_arrivals.clear();
    m_nextFinish = m_shareOutAt = kNeverPs;
    for (Pair& pair : m_pairs)
    {
        m_ports[pair.from].egress = m_ports[pair.to].ingress = Side();
        Pair idle;
        idle.from = pair.from;
        idle.to = pair.to;
        idle.bridged = pair.bridged;
        pair = idle;
    }
}

std::vector<uint32_t>
ScaleUpModel::ListUnderWay() const
{
    std::vector<uint32_t> found;
    for (const uint32_t number : m_active)
    {
        for (uint32_t next = m_pairs[number].head; next != kNone; next = m_messages[next].next)
        {
            found.push_back(next);
        }
    }
    for (const Arrival& arrival : m_arrivals)
    {
        const Message& message = m_messages[arrival.message];
        const bool counts = message.order == arrival.order && message.arrival == arrival.time;
        const bool queued = message.pair != kNone && m_pairs[message.pair].head == arrival.message;
        if (counts && !queued)
        {
            found.push_back(arrival.message);
        }
    }
    std::sort(found.begin(), found.end(), [this](uint32_t a, uint32_t b) {
        return m_messages[a].order < m_messages[b].order;
    });
    // One that was recalled, and arrives when it would have before, is in the heap twice.
    found.erase(std::unique(found.begin(), found.end()), found.end());
    return found;
}

void
ScaleUpModel::TakePairs(const ScaleUpModel& apart, const std::vector<uint32_t>& here)
{
    // Ports of links between islands follow the others.
    const auto placeOf = [this](uint32_t port) {
        return port >= 3 * m_switch ? port - 3 * m_switch : port;
    };
    std::vector<uint32_t> numbers;
    for (const Pair& pair : apart.m_pairs)
    {
        const uint32_t number = PairOf(placeOf(pair.from), placeOf(pair.to));
        numbers.push_back(number);
        Pair& its = m_pairs[number];
        its.lastArrival = std::max(its.lastArrival, pair.lastArrival);
        if (pair.head == kNone)
        {
            continue;
        }
        its.left = pair.left;
        its.head = here[pair.head];
        its.tail = here[pair.tail];
        its.alone = pair.alone;
        its.share = pair.share;
        its.since = pair.since;
        its.finish = pair.finish;
        for (uint32_t one = pair.head; one != kNone; one = apart.m_messages[one].next)
        {
            const uint32_t next = apart.m_messages[one].next;
            m_messages[here[one]].next = next == kNone ? kNone : here[next];
        }
        Join(number);
    }
    for (std::size_t i = 0; i < here.size(); ++i)
    {
        if (here[i] != kNone && apart.m_messages[i].pair != kNone)
        {
            m_messages[here[i]].pair = numbers[apart.m_messages[i].pair];
        }
    }
    for (const Arrival& arrival : apart.m_arrivals)
    {
        const Message& message = apart.m_messages[arrival.message];
        if (message.order == arrival.order && message.arrival == arrival.time)
        {
            Fly(here[arrival.message], arrival.time);
        }
    }
    m_nextFinish = std::min(m_nextFinish, apart.m_nextFinish);
    m_shareOutAt = std::min(m_shareOutAt, apart.m_shareOutAt);
}

} // namespace topo
