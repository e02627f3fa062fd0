/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef QUAD_HEAP_SCHEDULER_H
#define QUAD_HEAP_SCHEDULER_H

#include "ns3/scheduler.h"

#include <vector>

namespace ns3
{

/**
 * \ingroup rdma
 * An event set as a 4-ary heap in one array.
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
 *
 * RemoveNext leaves a hole at the root which the next Insert fills: an event that schedules
 * another, the usual case, costs one walk down the heap instead of a walk down and a walk up.
 *
 * Insert and RemoveNext O(log4 n) without allocation once grown; Remove O(n).
 */
class QuadHeapScheduler : public Scheduler
{
  public:
    static TypeId GetTypeId();

    QuadHeapScheduler();
    ~QuadHeapScheduler() override;

    void Insert(const Event& ev) override;
    bool IsEmpty() const override;
    Event PeekNext() const override;
    Event RemoveNext() override;
    void Remove(const Event& ev) override;

  private:
    void SiftUp(std::size_t hole, const Event& ev);
    void SiftDown(std::size_t hole, const Event& ev);

    /// Put the root in order again if it has been taken and nothing was inserted since.
    void FillHole();

    std::vector<Event> m_heap;
    bool m_hole{false}; //!< the root has been taken: the next event inserted goes there
};

} // namespace ns3

#endif /* QUAD_HEAP_SCHEDULER_H */
