/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef QUAD_HEAP_H
#define QUAD_HEAP_H

#include <algorithm>
#include <cstdint>
#include <memory>
#include <utility>

namespace ns3
{

/**
 * \ingroup rdma
 * Events as a 4-ary heap in one array, the least rank first. A node's children are adjacent.
 *
 * TakeFront leaves a hole at the front, which the next push fills: an event that schedules another,
 * the usual case, costs one walk down the heap instead of a walk down and a walk up.
 *
 * Push, Front and TakeFront O(log4 n) without allocation once grown; Find O(n).
 *
 * \tparam Event copied as bytes \tparam Rank unsigned __int128 of an event: one comparison without
 * a branch between its parts
 */
template <class Event, class Rank>
class RdmaQuadHeap
{
  public:
    static constexpr uint32_t ARITY = 4;

    void Push(const Event& event)
    {
        if (m_hole)
        {
            m_hole = false;
            SiftDown(0, event);
            return;
        }
        if (m_size == m_capacity)
        {
            Grow();
        }
        SiftUp(m_size++, event);
    }

    bool IsEmpty() const
    {
        return m_size == (m_hole ? 1 : 0);
    }

    /// \return the first event, which stays; null: there is none
    const Event* Front()
    {
        FillHole();
        return m_size ? &m_events[0] : nullptr;
    }

    /// \pre Front has said that there is one
    Event TakeFront()
    {
        m_hole = true;
        return m_events[0];
    }

    /// Removes the front, which the caller has read.
    void DropFront()
    {
        m_hole = true;
    }

    /// The children of the front: one of them is the next Front, unless something is pushed.
    std::pair<const Event*, uint32_t> Heirs() const
    {
        return {&m_events[1], std::min(ARITY, m_size - 1)};
    }

    /// \return all of them, in no order, and a few that have been taken: what may be needed soon
    const Event* begin() const
    {
        return m_events.get();
    }

    const Event* end() const
    {
        return m_events.get() + m_size;
    }

    /// \return null: none is such
    template <class Predicate>
    const Event* Find(Predicate is)
    {
        FillHole();
        const Event* begin = m_events.get();
        const Event* found = std::find_if(begin, begin + m_size, is);
        return found == begin + m_size ? nullptr : found;
    }

    /// \pre Find found it
    void Erase(const Event* event)
    {
        const auto hole = static_cast<uint32_t>(event - m_events.get());
        const Event last = m_events[--m_size];
        if (hole == m_size)
        {
            return;
        }
        if (hole > 0 && Rank()(last) < Rank()(m_events[(hole - 1) / ARITY]))
        {
            SiftUp(hole, last);
        }
        else
        {
            SiftDown(hole, last);
        }
    }

  private:
    void Grow()
    {
        const uint32_t capacity = std::max(8U, 2 * m_capacity);
        auto events = std::make_unique<Event[]>(capacity);
        std::copy_n(m_events.get(), m_size, events.get());
        m_events = std::move(events);
        m_capacity = capacity;
    }

    void FillHole()
    {
        if (m_hole)
        {
            m_hole = false;
            if (--m_size > 0)
            {
                const Event last = m_events[m_size];
                SiftDown(0, last);
            }
        }
    }

    void SiftUp(uint32_t hole, const Event& event)
    {
        const auto rank = Rank()(event);
        while (hole > 0)
        {
            const uint32_t parent = (hole - 1) / ARITY;
            if (Rank()(m_events[parent]) <= rank)
            {
                break;
            }
            m_events[hole] = m_events[parent];
            hole = parent;
        }
        m_events[hole] = event;
    }

    void SiftDown(uint32_t hole, const Event& event)
    {
        const auto rank = Rank()(event);
        for (;;)
        {
            const uint32_t first = hole * ARITY + 1;
            if (first >= m_size)
            {
                break;
            }
            const uint32_t end = std::min(first + ARITY, m_size);
            uint32_t least = first;
            auto leastRank = Rank()(m_events[first]);
            for (uint32_t child = first + 1; child < end; ++child)
            {
                const auto childRank = Rank()(m_events[child]);
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
            m_events[hole] = m_events[least];
            hole = least;
        }
        m_events[hole] = event;
    }

    std::unique_ptr<Event[]> m_events;
    uint32_t m_size{0}; //!< the hole included
    uint32_t m_capacity{0};
    bool m_hole{false}; //!< the first one has been taken
};

} // namespace ns3

#endif /* QUAD_HEAP_H */
