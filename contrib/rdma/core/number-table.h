/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * A table from numbers to small values, as a NIC needs it to find the queue pair of a packet: one
 * line of memory a look-up, however the numbers lie.
 */
#ifndef RDMA_CORE_NUMBER_TABLE_H
#define RDMA_CORE_NUMBER_TABLE_H

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace rdma
{

/**
 * Keys are numbers above 0. Linear probing in a power of two of places, at most half of them taken;
 * what is erased leaves no trace (the places behind it move up), so a table in which numbers come
 * and go does not grow. Memory: 2 to 4 entries a number; nothing while it is empty.
 */
template <class Value>
class NumberTable
{
  public:
    /// \return its value; null: it is not in the table. Valid until the table changes
    Value* Find(uint32_t number)
    {
        const std::size_t at = PlaceOf(number);
        return at == NOWHERE ? nullptr : &m_entries[at].value;
    }

    const Value* Find(uint32_t number) const
    {
        const std::size_t at = PlaceOf(number);
        return at == NOWHERE ? nullptr : &m_entries[at].value;
    }

    /// \param number above 0. \return its value, made if it was not there
    Value& operator[](uint32_t number)
    {
        if (Value* known = Find(number))
        {
            return *known;
        }
        if (2 * (m_size + 1) > m_entries.size())
        {
            Grow();
        }
        ++m_size;
        return Insert(number);
    }

    /// \return whether it was there
    bool Erase(uint32_t number)
    {
        std::size_t hole = PlaceOf(number);
        if (hole == NOWHERE)
        {
            return false;
        }
        --m_size;
        // Entries behind it that it had pushed on move up, so that each is found from its home.
        for (std::size_t at = (hole + 1) & m_mask; m_entries[at].number; at = (at + 1) & m_mask)
        {
            const std::size_t home = Home(m_entries[at].number);
            if (((at - home) & m_mask) >= ((at - hole) & m_mask))
            {
                m_entries[hole] = std::move(m_entries[at]);
                hole = at;
            }
        }
        m_entries[hole] = Entry();
        return true;
    }

    std::size_t Size() const
    {
        return m_size;
    }

    /// \return where Find begins to look, to be fetched into the cache
    const void* Where(uint32_t number) const
    {
        return m_entries.empty() ? nullptr : &m_entries[Home(number)];
    }

  private:
    struct Entry
    {
        uint32_t number = 0; ///< 0: free
        Value value{};
    };

    static constexpr std::size_t LEAST = 8;
    static constexpr std::size_t NOWHERE = SIZE_MAX;

    /// Multiplicative hashing by 2^32 over the golden ratio (Knuth, The Art of Computer
    /// Programming 3, 6.4): neighbours lie far apart, whatever their distance.
    std::size_t Home(uint32_t number) const
    {
        return static_cast<std::size_t>(number * 0x9e3779b9U >> m_shift);
    }

    std::size_t PlaceOf(uint32_t number) const
    {
        if (m_entries.empty())
        {
            return NOWHERE;
        }
        for (std::size_t at = Home(number);; at = (at + 1) & m_mask)
        {
            if (m_entries[at].number == number)
            {
                return at;
            }
            if (m_entries[at].number == 0)
            {
                return NOWHERE;
            }
        }
    }

    /// \pre it is not there, and there is room
    Value& Insert(uint32_t number)
    {
        std::size_t at = Home(number);
        while (m_entries[at].number)
        {
            at = (at + 1) & m_mask;
        }
        m_entries[at].number = number;
        return m_entries[at].value;
    }

    void Grow()
    {
        std::vector<Entry> old(m_entries.empty() ? LEAST : 2 * m_entries.size());
        old.swap(m_entries);
        m_mask = m_entries.size() - 1;
        m_shift = 32;
        for (std::size_t places = m_entries.size(); places > 1; places /= 2)
        {
            --m_shift;
        }
        for (Entry& entry : old)
        {
            if (entry.number)
            {
                Insert(entry.number) = std::move(entry.value);
            }
        }
    }

    std::vector<Entry> m_entries;
    std::size_t m_size = 0;
    std::size_t m_mask = 0;
    uint32_t m_shift = 32;
};

} // namespace rdma

#endif // RDMA_CORE_NUMBER_TABLE_H
