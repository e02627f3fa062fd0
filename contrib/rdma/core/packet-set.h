/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Packets of a window that slides over packet counts, the lowest of which can be found: those that
 * a sender has to send again. One bit a packet, in a ring of 64-bit words.
 *
 *             base            base + capacity
 *   ... before | 0 1 1 0 0 1 0 0 |  beyond: Covers() is false
 */
#ifndef RDMA_CORE_PACKET_SET_H
#define RDMA_CORE_PACKET_SET_H

#include <cstddef>
#include <cstdint>
#include <vector>

namespace rdma
{

class PacketSet
{
  public:
    /// The window starts as [base, base + capacity), empty; capacity > 0.
    PacketSet(uint64_t base, uint64_t capacity)
        : m_base(base),
          m_capacity(capacity)
    {
        size_t words = 1;
        while (words * 64 < capacity + 63) // wherever it begins in a word
        {
            words *= 2;
        }
        m_words.resize(words);
    }

    bool Covers(uint64_t n) const
    {
        return n >= m_base && n - m_base < m_capacity;
    }

    bool IsEmpty() const
    {
        return m_count == 0;
    }

    uint64_t Count() const
    {
        return m_count;
    }

    bool Has(uint64_t n) const
    {
        return Covers(n) && (m_words[Word(n)] & Bit(n));
    }

    /// Returns whether it was not there. \pre Covers(n)
    bool Insert(uint64_t n)
    {
        uint64_t& word = m_words[Word(n)];
        const bool fresh = !(word & Bit(n));
        word |= Bit(n);
        m_count += fresh;
        return fresh;
    }

    void Erase(uint64_t n)
    {
        if (Has(n))
        {
            m_words[Word(n)] &= ~Bit(n);
            --m_count;
        }
    }

    /// The lowest. \pre not empty
    uint64_t First() const
    {
        uint64_t n = m_base;
        uint64_t rest = m_words[Word(n)] >> (n % 64);
        while (!rest)
        {
            n += 64 - n % 64;
            rest = m_words[Word(n)];
        }
        return n + static_cast<uint64_t>(__builtin_ctzll(rest));
    }

    /// The window starts at `base`, not before where it did; what falls out is forgotten.
    void AdvanceTo(uint64_t base)
    {
        while (m_count && First() < base)
        {
            Erase(First());
        }
        m_base = base;
    }

  private:
    static uint64_t Bit(uint64_t n)
    {
        return 1ULL << (n % 64);
    }

    size_t Word(uint64_t n) const
    {
        return static_cast<size_t>(n / 64) & (m_words.size() - 1);
    }

    std::vector<uint64_t> m_words;
    uint64_t m_base;
    uint64_t m_capacity;
    uint64_t m_count = 0;
};

} // namespace rdma

#endif // RDMA_CORE_PACKET_SET_H
