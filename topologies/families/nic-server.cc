/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "topologies/families/nic-server.h"

#include <algorithm>

namespace topo
{

const NicServer::Class*
NicServer::Served() const
{
    for (auto c = m_classes.rbegin(); m_size && c != m_classes.rend(); ++c)
    {
        if (!c->heap.empty())
        {
            return &*c;
        }
    }
    return nullptr;
}

NicServer::Class*
NicServer::Served()
{
    return const_cast<Class*>(static_cast<const NicServer*>(this)->Served());
}

void
NicServer::Advance(int64_t now)
{
    if (Class* served = Served())
    {
        served->v += (static_cast<Clock>(now - m_now) << kFractionBits) /
                     static_cast<Clock>(served->heap.size());
    }
    m_now = now;
}

void
NicServer::Add(rdma::Duration work, uint8_t priority, uint64_t cookie, rdma::TimePoint now)
{
    Advance(now.ps);
    Class& c = m_classes[priority];
    if (c.heap.empty())
    {
        c.v = 0;
    }
    c.heap.push_back({c.v + (static_cast<Clock>(work.ps) << kFractionBits), m_added++, cookie});
    std::push_heap(c.heap.begin(), c.heap.end());
    ++m_size;
}

rdma::TimePoint
NicServer::NextEnd() const
{
    const Class* served = Served();
    if (!served)
    {
        return kNever;
    }
    // Rounded up: at that picosecond Advance brings V to the end or past it.
    const Clock left = std::max<Clock>(0, served->heap.front().end - served->v) *
                       static_cast<Clock>(served->heap.size());
    const Clock one = Clock{1} << kFractionBits;
    return rdma::TimePoint(m_now + static_cast<int64_t>((left + one - 1) >> kFractionBits));
}

bool
NicServer::Ended(rdma::TimePoint now, uint64_t& cookie)
{
    Advance(now.ps);
    Class* served = Served();
    if (!served || served->heap.front().end > served->v)
    {
        return false;
    }
    cookie = served->heap.front().cookie;
    std::pop_heap(served->heap.begin(), served->heap.end());
    served->heap.pop_back();
    --m_size;
    return true;
}

} // namespace topo
