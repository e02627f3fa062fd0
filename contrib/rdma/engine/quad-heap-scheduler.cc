/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "quad-heap-scheduler.h"

#include "rdma-event-order.h"

#include "ns3/assert.h"

namespace ns3
{

NS_OBJECT_ENSURE_REGISTERED(RdmaQuadHeapScheduler);

namespace
{

/// As the simulator shall see it: the context is the node's number.
inline Scheduler::Event
Plain(Scheduler::Event ev)
{
    ev.key.m_context = RdmaEventOrder::NodeOf(ev.key.m_context);
    return ev;
}

} // namespace

TypeId
RdmaQuadHeapScheduler::GetTypeId()
{
    static TypeId tid = TypeId("ns3::QuadHeapScheduler")
                            .SetParent<Scheduler>()
                            .SetGroupName("Rdma")
                            .AddConstructor<RdmaQuadHeapScheduler>();
    return tid;
}

RdmaQuadHeapScheduler::RdmaQuadHeapScheduler() = default;

RdmaQuadHeapScheduler::~RdmaQuadHeapScheduler() = default;

void
RdmaQuadHeapScheduler::Insert(const Event& ev)
{
    m_heap.Push(ev);
}

bool
RdmaQuadHeapScheduler::IsEmpty() const
{
    return m_heap.IsEmpty();
}

Scheduler::Event
RdmaQuadHeapScheduler::PeekNext() const
{
    NS_ASSERT(!IsEmpty());
    return Plain(*m_heap.Front());
}

Scheduler::Event
RdmaQuadHeapScheduler::RemoveNext()
{
    NS_ASSERT(!IsEmpty());
    m_heap.Front();
    const Event first = m_heap.TakeFront();
    // The next event is one of these: with thousands of ports its object has long left the cache.
    const auto [heirs, number] = m_heap.Heirs();
    for (uint32_t i = 0; i < number; ++i)
    {
        __builtin_prefetch(heirs[i].impl);
    }
    return Plain(first);
}

void
RdmaQuadHeapScheduler::Remove(const Event& ev)
{
    const Event* found = m_heap.Find([&ev](const Event& e) { return e.key.m_uid == ev.key.m_uid; });
    NS_ASSERT(found);
    m_heap.Erase(found);
}

} // namespace ns3
