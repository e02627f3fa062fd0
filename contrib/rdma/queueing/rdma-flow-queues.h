/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef RDMA_FLOW_QUEUES_H
#define RDMA_FLOW_QUEUES_H

#include "contrib/rdma/core/flow-hash.h"

#include "ns3/rdma-frame.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace ns3
{

/**
 * \ingroup rdma
 * The frames of one priority, in a queue a flow, ordered by a tag of each queue: the least first,
 * of equal ones the queue that got frames first.
 *
 *     flow -> hash -> a set of WAYS queues -> its own, else an empty one, else its home in the set
 *     heap of the queues that have frames
 *
 * A flow is what one queue pair sends to another, or the hash of an ordinary packet's 5-tuple.
 * Flows share a queue where a set has more than WAYS with frames. A flow that has frames in a
 * shared queue goes on to join that one, so a flow is never overtaken by itself.
 *
 * \tparam Tag has operator<
 */
template <class Tag>
class RdmaFlowQueues
{
  public:
    static constexpr uint32_t WAYS = 8; // assumed

    struct Queue
    {
        RdmaFrameList list;
        Tag tag{};          //!< sets its place while it has frames, and stays behind
        uint64_t flow{0};   //!< whose it is, or was last
        uint64_t since{0};  //!< it has frames
        uint32_t place{0};  //!< in the heap, while it has frames
        bool shared{false}; //!< others' frames joined it while it had frames
    };

    /// \param queues 1 or more; above WAYS a multiple of it is used \param seed of the hash
    void Start(uint32_t queues, uint64_t seed)
    {
        m_ways = std::min(WAYS, queues);
        m_sets = queues / m_ways;
        m_queues.assign(m_sets * m_ways, {});
        m_heap.reserve(m_queues.size());
        m_seed = seed;
    }

    bool IsStarted() const
    {
        return !m_queues.empty();
    }

    bool IsEmpty() const
    {
        return m_heap.empty();
    }

    /// \return the queue that a frame joins; its tag is Tag() if it is another flow's no more
    Queue& Find(const RdmaFrame& frame)
    {
        const uint64_t flow = FlowOf(frame);
        const uint64_t hash = rdma::Mix64(flow ^ m_seed);
        // Products instead of divisions, as rdma::EcmpPick.
        Queue* const set = m_queues.data() + ((hash >> 32) * m_sets >> 32) * m_ways;
        Queue& home = set[(hash & UINT32_MAX) * m_ways >> 32];
        Queue* own = nullptr;
        Queue* empty = nullptr;
        for (Queue* queue = set; queue < set + m_ways; ++queue)
        {
            const bool isEmpty = queue->list.IsEmpty();
            if (queue->flow == flow)
            {
                if (!isEmpty)
                {
                    return *queue;
                }
                own = queue;
            }
            empty = isEmpty && !empty ? queue : empty;
        }
        if (home.shared && !home.list.IsEmpty())
        {
            return home; // which may have frames of this flow
        }
        if (!empty)
        {
            home.shared = true;
            return home;
        }
        Queue& chosen = own ? *own : *empty;
        if (!own)
        {
            chosen.flow = flow;
            chosen.tag = {};
        }
        chosen.shared = false;
        return chosen;
    }

    /// A queue that has a first frame now.
    void Insert(Queue& queue)
    {
        queue.since = m_inserted++;
        queue.place = static_cast<uint32_t>(m_heap.size());
        m_heap.push_back(&queue);
        Rise(queue);
    }

    /// \return the queue of the least tag. \pre not empty
    Queue& Least() const
    {
        return *m_heap.front();
    }

    /// Its tag is another one, and it has frames.
    void Move(Queue& queue)
    {
        Rise(queue);
        Sink(queue);
    }

    /// It has no frames any more.
    void Remove(Queue& queue)
    {
        Queue& last = *m_heap.back();
        m_heap.pop_back();
        if (&last != &queue)
        {
            last.place = queue.place;
            m_heap[last.place] = &last;
            Move(last);
        }
    }

    /// \return the frames of all queues, flow by flow; all are empty now
    RdmaFrameList TakeAll()
    {
        std::sort(m_heap.begin(), m_heap.end(), [](const Queue* a, const Queue* b) {
            return IsBefore(*a, *b);
        });
        RdmaFrameList all;
        for (Queue* queue : m_heap)
        {
            all.Append(queue->list.Front(), queue->list.Back());
            queue->list.Release();
        }
        m_heap.clear();
        return all;
    }

    /// \param visit void (const Queue&), of those that have frames
    template <class Visit>
    void ForEachQueue(const Visit& visit) const
    {
        for (const Queue* queue : m_heap)
        {
            visit(*queue);
        }
    }

    /// The same, and they may be changed but for what sets their places.
    template <class Visit>
    void ForEachQueue(const Visit& visit)
    {
        for (Queue* queue : m_heap)
        {
            visit(*queue);
        }
    }

  private:
    static uint64_t FlowOf(const RdmaFrame& frame)
    {
        const uint64_t ends = uint64_t{frame.src} << 24 | frame.dst;
        const bool ordinary = frame.opcode == RdmaOpcode::ETHERNET;
        const uint64_t more = ordinary ? uint64_t{1} << 32 | frame.route.GetKey() : frame.destQp;
        return rdma::Mix64(ends + 0x9e3779b97f4a7c15ULL) ^ more;
    }

    static bool IsBefore(const Queue& a, const Queue& b)
    {
        return a.tag < b.tag || (!(b.tag < a.tag) && a.since < b.since);
    }

    void Swap(Queue& a, Queue& b)
    {
        std::swap(a.place, b.place);
        m_heap[a.place] = &a;
        m_heap[b.place] = &b;
    }

    void Rise(Queue& queue)
    {
        while (queue.place > 0 && IsBefore(queue, *m_heap[(queue.place - 1) / 2]))
        {
            Swap(queue, *m_heap[(queue.place - 1) / 2]);
        }
    }

    void Sink(Queue& queue)
    {
        for (;;)
        {
            std::size_t least = queue.place;
            const std::size_t first = 2 * least + 1;
            for (std::size_t child = first; child < std::min(first + 2, m_heap.size()); ++child)
            {
                least = IsBefore(*m_heap[child], *m_heap[least]) ? child : least;
            }
            if (least == queue.place)
            {
                return;
            }
            Swap(queue, *m_heap[least]);
        }
    }

    uint64_t m_seed{0};
    uint64_t m_inserted{0};
    uint64_t m_sets{1};
    uint32_t m_ways{1};
    std::vector<Queue> m_queues;
    std::vector<Queue*> m_heap;
};

} // namespace ns3

#endif /* RDMA_FLOW_QUEUES_H */
