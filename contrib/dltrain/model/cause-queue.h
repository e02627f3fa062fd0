/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef DLTRAIN_CAUSE_QUEUE_H
#define DLTRAIN_CAUSE_QUEUE_H

#include "ns3/assert.h"
#include "ns3/prefetch-line.h"

#include <atomic>
#include <cstddef>

namespace results
{
struct PathRecord;
}

namespace dltrain
{

/**
 * What the messages under way on a channel were posted after, first in, first out: the sender's
 * host adds, the receiver's takes, in whatever thread each is. Neither waits for the other, and
 * nodes serve again:
 *
 *     m_oldest -> o -> o -> m_first -> o -> o -> m_last
 *                taken         under way
 */
class CauseQueue
{
  public:
    CauseQueue()
        : m_first(new Node),
          m_oldest(m_first.load()),
          m_seen(m_oldest),
          m_last(m_oldest)
    {
    }

    ~CauseQueue()
    {
        while (m_oldest)
        {
            Node* next = m_oldest->next.load();
            delete m_oldest;
            m_oldest = next;
        }
    }

    CauseQueue(const CauseQueue&) = delete;
    CauseQueue& operator=(const CauseQueue&) = delete;

    /// By the sender.
    void Add(results::PathRecord* cause)
    {
        Node* node = TakeNode();
        node->cause = cause;
        node->next.store(nullptr, std::memory_order_relaxed);
        m_last->next.store(node, std::memory_order_release);
        m_last = node;
    }

    /// Add will soon be called; this has been fetched.
    void PrefetchAdd() const
    {
        ns3::PrefetchLine(m_last);
        ns3::PrefetchLine(m_oldest);
    }

    /// By the receiver. \pre one was added that was not taken
    results::PathRecord* Take()
    {
        Node* first = m_first.load(std::memory_order_relaxed);
        Node* next = first->next.load(std::memory_order_acquire);
        NS_ASSERT_MSG(next, "a message that nobody has posted");
        results::PathRecord* cause = next->cause;
        m_first.store(next, std::memory_order_release);
        return cause;
    }

    /// \return nodes there are. Of a moment when neither end does anything
    std::size_t GetSize() const
    {
        std::size_t size = 0;
        for (const Node* node = m_oldest; node; node = node->next.load())
        {
            ++size;
        }
        return size;
    }

  private:
    struct Node
    {
        std::atomic<Node*> next{nullptr};
        results::PathRecord* cause{nullptr};
    };

    /// \return one that the receiver is done with, or a new one
    Node* TakeNode()
    {
        if (m_oldest == m_seen)
        {
            m_seen = m_first.load(std::memory_order_acquire);
        }
        if (m_oldest == m_seen)
        {
            return new Node;
        }
        Node* node = m_oldest;
        m_oldest = node->next.load(std::memory_order_relaxed);
        return node;
    }

    std::atomic<Node*> m_first; ///< the one taken last, in front of those under way: the receiver's
    Node* m_oldest;             ///< the sender's, and so the next ones
    Node* m_seen;               ///< m_first, when it was last looked at
    Node* m_last;
};

} // namespace dltrain

#endif // DLTRAIN_CAUSE_QUEUE_H
