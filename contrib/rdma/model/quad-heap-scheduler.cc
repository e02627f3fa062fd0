/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "quad-heap-scheduler.h"

#include "rdma-event-order.h"

#include "ns3/assert.h"

#include <algorithm>

namespace ns3
{

NS_OBJECT_ENSURE_REGISTERED(QuadHeapScheduler);

namespace
{

constexpr std::size_t ARITY = 4;

/// Time, context and uid as one 128-bit number: one comparison without a branch between them.
inline unsigned __int128
Rank(const Scheduler::Event& ev)
{
    const uint64_t tie = static_cast<uint64_t>(ev.key.m_context) << 32 | ev.key.m_uid;
    return static_cast<unsigned __int128>(ev.key.m_ts) << 64 | tie;
}

/// As the simulator shall see it: the context is the node's number.
inline Scheduler::Event
Plain(Scheduler::Event ev)
{
    ev.key.m_context = RdmaEventOrder::NodeOf(ev.key.m_context);
    return ev;
}

} // namespace

TypeId
QuadHeapScheduler::GetTypeId()
{
    static TypeId tid = TypeId("ns3::QuadHeapScheduler")
                            .SetParent<Scheduler>()
                            .SetGroupName("Rdma")
                            .AddConstructor<QuadHeapScheduler>();
    return tid;
}

QuadHeapScheduler::QuadHeapScheduler()
{
    m_heap.reserve(1024);
}

QuadHeapScheduler::~QuadHeapScheduler() = default;

void
QuadHeapScheduler::SiftUp(std::size_t hole, const Event& ev)
{
    const auto rank = Rank(ev);
    while (hole > 0)
    {
        const std::size_t parent = (hole - 1) / ARITY;
        if (Rank(m_heap[parent]) <= rank)
        {
            break;
        }
        m_heap[hole] = m_heap[parent];
        hole = parent;
    }
    m_heap[hole] = ev;
}

void
QuadHeapScheduler::SiftDown(std::size_t hole, const Event& ev)
{
    const std::size_t size = m_heap.size();
    const auto rank = Rank(ev);
    for (;;)
    {
        const std::size_t first = hole * ARITY + 1;
        if (first >= size)
        {
            break;
        }
        std::size_t least = first;
        auto leastRank = Rank(m_heap[first]);
        const std::size_t end = std::min(first + ARITY, size);
        for (std::size_t child = first + 1; child < end; ++child)
        {
            const auto childRank = Rank(m_heap[child]);
            if (childRank < leastRank)
            {
                least = child;
                leastRank = childRank;
            }
        }
        if (rank <= leastRank)
        {
            break;
        }
        m_heap[hole] = m_heap[least];
        hole = least;
    }
    m_heap[hole] = ev;
}

void
QuadHeapScheduler::FillHole()
{
    m_hole = false;
    const Event last = m_heap.back();
    m_heap.pop_back();
    if (!m_heap.empty())
    {
        SiftDown(0, last);
    }
}

void
QuadHeapScheduler::Insert(const Event& ev)
{
    if (m_hole)
    {
        m_hole = false;
        SiftDown(0, ev);
        return;
    }
    m_heap.push_back(ev);
    SiftUp(m_heap.size() - 1, ev);
}

bool
QuadHeapScheduler::IsEmpty() const
{
    return m_heap.size() == (m_hole ? 1 : 0);
}

Scheduler::Event
QuadHeapScheduler::PeekNext() const
{
    NS_ASSERT(!IsEmpty());
    if (!m_hole)
    {
        return Plain(m_heap.front());
    }
    // The least of the root's children.
    std::size_t least = 1;
    for (std::size_t child = 2; child <= ARITY && child < m_heap.size(); ++child)
    {
        least = Rank(m_heap[child]) < Rank(m_heap[least]) ? child : least;
    }
    return Plain(m_heap[least]);
}

Scheduler::Event
QuadHeapScheduler::RemoveNext()
{
    NS_ASSERT(!IsEmpty());
    if (m_hole)
    {
        FillHole();
    }
    m_hole = true;
    // The next event is one of these: with thousands of ports its object has long left the cache.
    for (std::size_t child = 1; child <= ARITY && child < m_heap.size(); ++child)
    {
        __builtin_prefetch(m_heap[child].impl);
    }
    return Plain(m_heap.front());
}

void
QuadHeapScheduler::Remove(const Event& ev)
{
    if (m_hole)
    {
        FillHole();
    }
    const auto found = std::find_if(m_heap.begin(), m_heap.end(), [&ev](const Event& e) {
        return e.key.m_uid == ev.key.m_uid;
    });
    NS_ASSERT(found != m_heap.end());
    const std::size_t hole = static_cast<std::size_t>(found - m_heap.begin());
    const Event last = m_heap.back();
    m_heap.pop_back();
    if (hole == m_heap.size())
    {
        return;
    }
    if (hole > 0 && Rank(last) < Rank(m_heap[(hole - 1) / ARITY]))
    {
        SiftUp(hole, last);
    }
    else
    {
        SiftDown(hole, last);
    }
}

} // namespace ns3
