/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef QUAD_HEAP_SCHEDULER_H
#define QUAD_HEAP_SCHEDULER_H

#include "quad-heap.h"

#include "ns3/scheduler.h"

namespace ns3
{

/**
 * \ingroup rdma
 * An event set as a RdmaQuadHeap.
 *
 * The fabric holds few pending events (at most a handful a link) and never removes one, which is
 * where ns-3's schedulers spend their time: MapScheduler allocates a node an event,
 * PriorityQueueScheduler's binary heap is twice as deep. A node's four children fill 96 adjacent
 * bytes.
 *
 * Order is by (time, context, uid): of one node, or without a context, events of one time come in
 * the order they were scheduled, as ns-3 demands; but different nodes take turns by their number,
 * and frames that arrive come last (RdmaEventOrder). So results do not depend on how a fabric is
 * split among processes.
 */
class RdmaQuadHeapScheduler : public Scheduler
{
  public:
    static TypeId GetTypeId();

    RdmaQuadHeapScheduler();
    ~RdmaQuadHeapScheduler() override;

    void Insert(const Event& ev) override;
    bool IsEmpty() const override;
    Event PeekNext() const override;
    Event RemoveNext() override;
    void Remove(const Event& ev) override;

  private:
    /// Time, context and uid.
    struct Rank
    {
        unsigned __int128 operator()(const Event& event) const
        {
            const uint64_t tie = static_cast<uint64_t>(event.key.m_context) << 32 | event.key.m_uid;
            return static_cast<unsigned __int128>(event.key.m_ts) << 64 | tie;
        }
    };

    mutable RdmaQuadHeap<Event, Rank> m_heap; //!< PeekNext puts it in order
};

} // namespace ns3

#endif /* QUAD_HEAP_SCHEDULER_H */
