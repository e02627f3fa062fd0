/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Messages that are taken out of the model, and put back.
 */
#include "topologies/scale-up/scale-up-model.h"

#include <algorithm>

namespace topo
{

ScaleUpModel::Timing
ScaleUpModel::TimingOf(rdma::Bytes bytes, uint64_t parts, uint8_t how) const
{
    const uint8_t way = WayOf(bytes.value, parts, how, 0);
    return {Rounded(WorkOf(bytes.value, way)), m_ways[way].latency};
}

bool
ScaleUpModel::Lend(rdma::TimePoint now, std::vector<Lent>* lent)
{
    Advance(now.ps);
    // From behind: one that has nothing left changes places with the last one.
    for (std::size_t i = m_active.size(); i-- > 0;)
    {
        CatchUp(m_active[i], now.ps);
    }
    const auto isTaken = [this](uint32_t number) {
        const Message& message = m_messages[number];
        return message.pair != kNone && message.most == kFull && message.bytes != 0;
    };
    DropRecalled();
    if (m_shareOutAt != kNeverPs)
    {
        return false;
    }
    std::vector<Arrival> flying;
    for (const Arrival& arrival : m_arrivals)
    {
        const Message& message = m_messages[arrival.message];
        if (message.order != arrival.order || message.arrival != arrival.time)
        {
            continue; // recalled
        }
        if (!isTaken(arrival.message))
        {
            return false;
        }
        if (m_pairs[message.pair].head != arrival.message)
        {
            flying.push_back(arrival);
        }
    }
    for (const uint32_t number : m_active)
    {
        const Pair& pair = m_pairs[number];
        if (pair.left != WorkOf(m_messages[pair.head]))
        {
            return false; // it had shared its port, and has a part of a picosecond left to send
        }
        for (uint32_t waits = pair.head; waits != kNone; waits = m_messages[waits].next)
        {
            if (!pair.alone || pair.bridged || !isTaken(waits))
            {
                return false;
            }
        }
    }
    std::sort(flying.begin(), flying.end(), [](const Arrival& a, const Arrival& b) {
        return b < a; // for a heap
    });
    // One that was recalled, and arrives when it would have before, is there twice.
    flying.erase(std::unique(flying.begin(),
                             flying.end(),
                             [](const Arrival& a, const Arrival& b) { return a.order == b.order; }),
                 flying.end());
    const auto give = [&](uint32_t number, int64_t finish, int64_t arrival) {
        lent->push_back({m_messages[number].cookie, finish, arrival});
        FreeMessage(number);
    };
    for (const Arrival& arrival : flying)
    {
        give(arrival.message, now.ps, arrival.time); // it left by now, the latest
    }
    while (!m_active.empty())
    {
        const uint32_t number = m_active.back();
        Pair& pair = m_pairs[number];
        int64_t finish = pair.finish;
        for (uint32_t waits = pair.head; waits != kNone;)
        {
            const uint32_t next = m_messages[waits].next;
            give(waits, finish, m_messages[waits].arrival);
            finish = kNeverPs;
            waits = next;
        }
        pair.head = pair.tail = kNone;
        pair.alone = false;
        Deactivate(number);
    }
    m_arrivals.clear();
    return true;
}

void
ScaleUpModel::PutBack(uint32_t fromGpu,
                      uint32_t toGpu,
                      rdma::Bytes bytes,
                      rdma::TimePoint now,
                      uint64_t parts,
                      uint8_t how,
                      const Lent& lent)
{
    const uint8_t way = WayOf(bytes.value, parts, how, 0);
    const uint32_t number = MakeMessage(bytes.value, lent.cookie, way);
    const uint32_t pairNumber = PairOf(fromGpu, toGpu);
    m_messages[number].pair = pairNumber;
    Pair& pair = m_pairs[pairNumber];
    if (lent.finish <= now.ps)
    {
        pair.lastArrival = lent.arrival;
        Fly(number, lent.arrival);
        return;
    }
    if (pair.head != kNone)
    {
        m_messages[pair.tail].next = number;
        pair.tail = number;
        return;
    }
    pair.head = pair.tail = number;
    Activate(pairNumber, lent.finish - Rounded(WorkOf(bytes.value, way)));
}

} // namespace topo
