/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Which packets of a window that slides over packet counts have been seen: one bit a packet, in a
 * ring of 64-bit words.
 *
 *             base            base + capacity
 *   ... before | 1 0 1 1 0 0 0 0 |  beyond: Covers() is false
 *
 * A selective-repeat receiver keeps one of what arrived out of order, the sender one of what was
 * selectively acknowledged (Mittal et al., SIGCOMM 2018: both as large as the cap on packets in
 * flight), and one where trimmed packets are to be sent again, of these.
 */
#ifndef RDMA_CORE_RECEIVE_BITMAP_H
#define RDMA_CORE_RECEIVE_BITMAP_H

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace rdma
{

class ReceiveBitmap
{
  public:
    /// The window starts as [base, base + capacity), empty; capacity > 0.
    ReceiveBitmap(uint64_t base, uint64_t capacity)
        : m_words(RingWords(capacity)),
          m_base(base),
          m_capacity(capacity)
    {
    }

    uint64_t Base() const
    {
        return m_base;
    }

    uint64_t Capacity() const
    {
        return m_capacity;
    }

    /// Whether the window holds n.
    bool Covers(uint64_t n) const
    {
        return n >= m_base && n - m_base < m_capacity;
    }

    /// Bits set.
    uint64_t Count() const
    {
        return m_count;
    }

    bool Test(uint64_t n) const
    {
        return Covers(n) && (m_words[Word(n)] >> (n % 64) & 1);
    }

    /// Sets the bit of n, which the window must cover. Returns whether it was clear before.
    bool Set(uint64_t n)
    {
        uint64_t& word = m_words[Word(n)];
        const uint64_t bit = 1ULL << (n % 64);
        const bool fresh = !(word & bit);
        word |= bit;
        m_count += fresh;
        return fresh;
    }

    bool IsEmpty() const
    {
        return m_count == 0;
    }

    /// What the window does not cover is clear already.
    void Clear(uint64_t n)
    {
        if (Test(n))
        {
            m_words[Word(n)] &= ~(1ULL << (n % 64));
            --m_count;
        }
    }

    /// The first whose bit is set. \pre not empty
    uint64_t FirstSet() const
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

    /// The first n in [from, limit) whose bit is clear, or limit. What the window does not cover is
    /// clear.
    uint64_t FirstClear(uint64_t from, uint64_t limit) const
    {
        while (from < limit)
        {
            if (!Covers(from))
            {
                return from;
            }
            // A word at a time; beyond the window's end its ring position may hold bits of the
            // beginning.
            const uint64_t inWord =
                std::min({64 - from % 64, limit - from, m_base + m_capacity - from});
            const uint64_t clear = ~m_words[Word(from)] >> (from % 64);
            const uint64_t skip = clear ? static_cast<uint64_t>(__builtin_ctzll(clear)) : 64;
            if (skip < inWord)
            {
                return from + skip;
            }
            from += inWord;
        }
        return limit;
    }

    /// The window starts at `base`, not before where it did; what falls out is forgotten.
    void AdvanceTo(uint64_t base)
    {
        if (m_count)
        {
            const uint64_t end = std::min(base, m_base + m_capacity);
            for (uint64_t n = m_base; n < end;)
            {
                const uint64_t inWord = std::min(64 - n % 64, end - n);
                const uint64_t mask = (inWord == 64 ? ~0ULL : (1ULL << inWord) - 1) << (n % 64);
                uint64_t& word = m_words[Word(n)];
                m_count -= static_cast<uint64_t>(__builtin_popcountll(word & mask));
                word &= ~mask;
                n += inWord;
            }
        }
        m_base = base;
    }

  private:
    /// A power of two of words, with room for the window wherever it begins in a word.
    static size_t RingWords(uint64_t capacity)
    {
        size_t words = 1;
        while (words * 64 < capacity + 63)
        {
            words *= 2;
        }
        return words;
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

#endif // RDMA_CORE_RECEIVE_BITMAP_H
