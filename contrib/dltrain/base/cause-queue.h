/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef DLTRAIN_CAUSE_QUEUE_H
#define DLTRAIN_CAUSE_QUEUE_H

#include "ns3/assert.h"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <new>

namespace reports
{
struct PathRecord;
}

namespace dltrain
{

/**
 * What the messages under way on a channel were posted after, first in, first out: the sender's
 * host adds, the receiver's takes, in whatever thread each is. Neither waits for the other.
 *
 * The few of most channels are in the queue itself, two cache lines: with thousands of channels
 * each is out of the cache when it is needed. Where more wait, the sender goes on in a
 * ring of twice the size, and the receiver follows when it has taken all that the one before has;
 * that serves again no more.
 *
 *     first ring (8)  o o o o o o o o --next-->  ring of 16  o o o . . . ...
 *                     ^ taken from                                ^ added to
 */
class alignas(64) CauseQueue
{
  public:
    CauseQueue() = default;

    ~CauseQueue()
    {
        for (Ring* ring = m_first; ring;)
        {
            Ring* next = ring->next.load();
            Free(ring);
            ring = next;
        }
    }

    CauseQueue(const CauseQueue&) = delete;
    CauseQueue& operator=(const CauseQueue&) = delete;

    /// By the sender.
    void Add(reports::PathRecord* cause)
    {
        uint32_t added = m_last->added.load(std::memory_order_relaxed);
        const uint32_t size = SizeOf(m_last);
        if (added - m_last->taken.load(std::memory_order_acquire) == size)
        {
            Ring* more = Make(2 * size);
            m_last->next.store(more, std::memory_order_release);
            m_last = more;
            added = 0;
        }
        SlotOf(m_last, added) = cause;
        m_last->added.store(added + 1, std::memory_order_release);
    }

    /// By the receiver. \pre one was added that was not taken
    reports::PathRecord* Take()
    {
        uint32_t taken = m_first->taken.load(std::memory_order_relaxed);
        if (taken == m_first->added.load(std::memory_order_acquire))
        {
            Ring* next = m_first->next.load(std::memory_order_acquire);
            // Between the two looks one may have been added here, and then more elsewhere.
            if (next && taken == m_first->added.load(std::memory_order_acquire))
            {
                Free(m_first);
                m_first = next;
                taken = 0;
            }
            NS_ASSERT_MSG(taken != m_first->added.load(std::memory_order_acquire),
                          "a message that nobody has posted");
        }
        reports::PathRecord* cause = SlotOf(m_first, taken);
        m_first->taken.store(taken + 1, std::memory_order_release);
        return cause;
    }

    /// By the receiver, of which the queue's own line has been fetched: \return what Take would;
    /// null: not known without looking further
    reports::PathRecord* Peek() const
    {
        const uint32_t taken = m_ring.taken.load(std::memory_order_relaxed);
        return m_first == &m_ring && taken != m_ring.added.load(std::memory_order_acquire)
                   ? m_slots[taken % OWN]
                   : nullptr;
    }

    /// \return the number of places. To be called while neither end does anything
    std::size_t GetSize() const
    {
        std::size_t size = 0;
        for (Ring* ring = m_first; ring; ring = ring->next.load())
        {
            size += SizeOf(ring);
        }
        return size;
    }

  private:
    static constexpr uint32_t OWN = 8;

    /// Counts go round.
    struct Ring
    {
        std::atomic<Ring*> next{nullptr};
        std::atomic<uint32_t> added{0}; ///< the sender's
        std::atomic<uint32_t> taken{0}; ///< the receiver's
    };

    /// Its slots are behind it.
    struct Larger : Ring
    {
        uint64_t size; ///< a power of two

        reports::PathRecord** Slots()
        {
            return reinterpret_cast<reports::PathRecord**>(this + 1);
        }
    };

    static Larger* Make(uint32_t size)
    {
        void* memory = ::operator new(sizeof(Larger) + size * sizeof(reports::PathRecord*));
        auto* ring = new (memory) Larger;
        ring->size = size;
        return ring;
    }

    void Free(Ring* ring) const
    {
        if (ring != &m_ring)
        {
            auto* larger = static_cast<Larger*>(ring);
            larger->~Larger();
            ::operator delete(larger);
        }
    }

    uint32_t SizeOf(Ring* ring) const
    {
        return ring == &m_ring ? OWN : static_cast<uint32_t>(static_cast<Larger*>(ring)->size);
    }

    reports::PathRecord*& SlotOf(Ring* ring, uint32_t count)
    {
        return ring == &m_ring ? m_slots[count % OWN]
                               : static_cast<Larger*>(ring)->Slots()[count & (SizeOf(ring) - 1)];
    }

    Ring m_ring;
    reports::PathRecord* m_slots[OWN]{};
    Ring* m_first{&m_ring}; ///< the receiver's
    Ring* m_last{&m_ring};  ///< the sender's
};

static_assert(sizeof(CauseQueue) == 128);

} // namespace dltrain

#endif // DLTRAIN_CAUSE_QUEUE_H
