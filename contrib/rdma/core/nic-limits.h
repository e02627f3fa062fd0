/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * What bounds a NIC beside its line, as two small laws: how many queue pairs' contexts it holds,
 * and a unit that serves one thing at a time (the bus that payload crosses, the start of work
 * requests).
 *
 * Times are picoseconds. Nothing here allocates after set-up; every call is O(1).
 */
#ifndef RDMA_CORE_NIC_LIMITS_H
#define RDMA_CORE_NIC_LIMITS_H

#include <cstdint>
#include <vector>

namespace rdma
{

/// Which of many numbered things are in a cache of a few: the least recently used one goes.
/// Law (asserted in tests): touches = hits + misses; at most `capacity` are held.
class LruCache
{
  public:
    /// \param capacity most entries held; at least 1
    explicit LruCache(uint32_t capacity)
        : m_capacity(capacity),
          m_nodes(1)
    {
    }

    /// Keys below `keys` may be touched from now on (set-up; what is held stays held).
    void Grow(uint32_t keys)
    {
        if (keys + std::size_t{1} > m_nodes.size())
        {
            m_nodes.resize(keys + std::size_t{1});
        }
    }

    /// Use `key`; it is held from now on, as the most recently used. \return whether it was held
    bool Touch(uint32_t key)
    {
        const uint32_t at = key + 1; // 0 is the ring's head
        Node& node = m_nodes[at];
        const bool hit = node.held;
        if (hit)
        {
            Unlink(node);
        }
        else if (m_held == m_capacity)
        {
            Node& oldest = m_nodes[m_nodes[0].previous];
            Unlink(oldest);
            oldest.held = false;
        }
        else
        {
            ++m_held;
        }
        node.held = true;
        node.previous = 0;
        node.next = m_nodes[0].next;
        m_nodes[node.next].previous = at;
        m_nodes[0].next = at;
        return hit;
    }

    bool Holds(uint32_t key) const
    {
        return m_nodes[key + 1].held;
    }

    uint32_t Held() const
    {
        return m_held;
    }

  private:
    /// In a ring through 0, most recently used first.
    struct Node
    {
        uint32_t previous = 0;
        uint32_t next = 0;
        bool held = false;
    };

    void Unlink(const Node& node)
    {
        m_nodes[node.previous].next = node.next;
        m_nodes[node.next].previous = node.previous;
    }

    uint32_t m_capacity;
    uint32_t m_held = 0;
    std::vector<Node> m_nodes;
};

/// A unit that serves one thing at a time, in the order in which they come.
class SerialUnit
{
  public:
    /// \return when something is through that comes at `now` and takes `cost`
    int64_t Serve(int64_t now, int64_t cost)
    {
        m_freeAt = (m_freeAt > now ? m_freeAt : now) + cost;
        return m_freeAt;
    }

    /// Nothing is served before.
    int64_t FreeAt() const
    {
        return m_freeAt;
    }

  private:
    int64_t m_freeAt = 0;
};

} // namespace rdma

#endif // RDMA_CORE_NIC_LIMITS_H
