/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "topologies/scale-up/fair-link.h"

#include <algorithm>

namespace topo
{

FairLink::FairLink(rdma::BitRate rate)
    : m_rate(rate.bps)
{
}

FairLink::Class&
FairLink::ClassOf(uint8_t priority, uint64_t speed)
{
    if (m_classes.size() > kMostIdle)
    {
        const auto idle = [](const Class& c) { return c.heap.empty(); };
        m_classes.erase(std::remove_if(m_classes.begin(), m_classes.end(), idle), m_classes.end());
    }
    const auto at =
        std::find_if(m_classes.begin(), m_classes.end(), [priority, speed](const Class& c) {
            return c.priority < priority || (c.priority == priority && c.speed >= speed);
        });
    if (at != m_classes.end() && at->priority == priority && at->speed == speed)
    {
        return *at;
    }
    Class made;
    made.priority = priority;
    made.speed = speed;
    return *m_classes.insert(at, std::move(made));
}

void
FairLink::Advance(int64_t now)
{
    const Work past = now - m_now;
    for (Class& c : m_classes)
    {
        c.v += c.given * past;
    }
    m_now = now;
}

void
FairLink::Share()
{
    m_next = kNever;
    uint64_t left = m_rate;
    for (auto first = m_classes.begin(); first != m_classes.end();)
    {
        const auto last = std::find_if(first, m_classes.end(), [first](const Class& c) {
            return c.priority != first->priority;
        });
        uint64_t waiting = 0; // messages of this priority without a share yet
        for (auto c = first; c != last; ++c)
        {
            waiting += c->heap.size();
        }
        // the slowest first: the others get the rate that they leave
        for (auto c = first; c != last; ++c)
        {
            const uint64_t messages = c->heap.size();
            c->given = messages ? std::min(c->speed, left / waiting) : 0;
            waiting -= messages;
            left -= c->given * messages;
            if (c->given)
            {
                // Rounded up: at that picosecond V is at the end or past it.
                const Work work = std::max<Work>(0, c->heap.front().end - c->v);
                const Work takes = (work + c->given - 1) / c->given;
                // The rest of a rate may be bits a second: practically for ever.
                if (takes < m_next.ps - m_now)
                {
                    m_next = rdma::TimePoint(m_now + static_cast<int64_t>(takes));
                }
            }
        }
        first = last;
    }
}

void
FairLink::Add(rdma::Duration alone,
              rdma::BitRate speed,
              uint8_t priority,
              uint64_t cookie,
              rdma::TimePoint now)
{
    Advance(now.ps);
    Class& c = ClassOf(priority, speed.bps);
    if (c.heap.empty())
    {
        c.v = 0;
    }
    c.heap.push_back({c.v + static_cast<Work>(alone.ps) * speed.bps, m_added++, cookie});
    std::push_heap(c.heap.begin(), c.heap.end());
    ++m_size;
    Share();
}

bool
FairLink::Ended(rdma::TimePoint now, uint64_t& cookie)
{
    Advance(now.ps);
    for (Class& c : m_classes)
    {
        if (!c.heap.empty() && c.heap.front().end <= c.v)
        {
            cookie = c.heap.front().cookie;
            std::pop_heap(c.heap.begin(), c.heap.end());
            c.heap.pop_back();
            --m_size;
            Share();
            return true;
        }
    }
    return false;
}

} // namespace topo
