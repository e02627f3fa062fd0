/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * A table from small numbers to small numbers, in which neighbours often have the same value: which
 * set of ports leads to a host, where hosts of a rack, and racks of a pod, follow each other.
 *
 *     key      0 1 2 3 4 5 6 7 8 ...         begin    0  4  5  6  7  8
 *     value    9 9 9 9 0 1 2 3 9 ...         value    9  0  1  2  3  9
 *
 * Ranges are found by counting those that begin no later, which a processor does for many at once;
 * a switch of a fat-tree has as many as ports, and so needs a few cache lines of each switch where
 * a plain table would need one for some hosts. Where that fits into some lines too, or with many
 * ranges, it is a plain table all the same, which takes fewer steps.
 */
#ifndef RDMA_CORE_RANGE_TABLE_H
#define RDMA_CORE_RANGE_TABLE_H

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace rdma
{

class RangeTable
{
  public:
    /// Ranges are compared by so many at a time; a table of more than MOST ranges is a plain one,
    static constexpr std::size_t STEP = 16;
    static constexpr std::size_t MOST = 8 * STEP;
    /// and so is one of no more values than that: 1 KiB.
    static constexpr std::size_t FEW = 512;

    RangeTable() = default;

    /// \param values by key
    explicit RangeTable(std::vector<uint16_t> values)
        : m_size(static_cast<uint32_t>(values.size()))
    {
        std::size_t ranges = values.size() > FEW ? 1 : MOST + 1;
        for (std::size_t i = 1; i < values.size(); ++i)
        {
            ranges += values[i] != values[i - 1];
        }
        if (ranges > MOST)
        {
            m_value = std::move(values);
            return;
        }
        for (std::size_t i = 0; i < values.size(); ++i)
        {
            if (i == 0 || values[i] != values[i - 1])
            {
                m_begin.push_back(static_cast<int32_t>(i));
                m_value.push_back(values[i]);
            }
        }
        while (m_begin.size() % STEP)
        {
            m_begin.push_back(INT32_MAX); // no key is so large
        }
    }

    uint32_t Size() const
    {
        return m_size;
    }

    /// \param fetch is told where the table lies, from and to: an array or two. Of a plain table
    /// nothing, which few look-ups need all of
    template <class Fetch>
    void Prefetch(Fetch fetch) const
    {
        if (!m_begin.empty())
        {
            fetch(m_begin.data(), m_begin.data() + m_begin.size());
            fetch(m_value.data(), m_value.data() + m_value.size());
        }
    }

    /// \pre key < Size(), and that is less than 2^31
    uint16_t operator[](uint32_t key) const
    {
        if (m_begin.empty())
        {
            return m_value[key];
        }
        const int32_t* begin = m_begin.data();
        const auto wanted = static_cast<int32_t>(key);
        int32_t before = 0;
        for (std::size_t step = 0; step < m_begin.size(); step += STEP)
        {
            for (std::size_t i = 0; i < STEP; ++i)
            {
                before += begin[step + i] <= wanted;
            }
        }
        return m_value[static_cast<std::size_t>(before - 1)];
    }

  private:
    uint32_t m_size = 0;
    std::vector<int32_t> m_begin;  ///< of each range; empty: m_value is by key
    std::vector<uint16_t> m_value; ///< of each range
};

} // namespace rdma

#endif // RDMA_CORE_RANGE_TABLE_H
