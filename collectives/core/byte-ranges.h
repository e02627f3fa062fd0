/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef COLLECTIVES_CORE_BYTE_RANGES_H
#define COLLECTIVES_CORE_BYTE_RANGES_H

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

namespace coll
{

/// A set of byte ranges that can be asked for common bytes with another.
class ByteRanges
{
  public:
    void Add(uint64_t begin, uint64_t bytes)
    {
        if (bytes > 0)
        {
            m_ranges.emplace_back(begin, begin + bytes);
        }
    }

    void Sort()
    {
        std::sort(m_ranges.begin(), m_ranges.end());
        std::vector<std::pair<uint64_t, uint64_t>> merged;
        for (const auto& range : m_ranges)
        {
            if (!merged.empty() && range.first <= merged.back().second)
            {
                merged.back().second = std::max(merged.back().second, range.second);
            }
            else
            {
                merged.push_back(range);
            }
        }
        m_ranges = std::move(merged);
    }

    /// Precondition: both sorted.
    std::optional<uint64_t> FirstCommonByte(const ByteRanges& other) const
    {
        for (size_t i = 0, j = 0; i < m_ranges.size() && j < other.m_ranges.size();)
        {
            const uint64_t begin = std::max(m_ranges[i].first, other.m_ranges[j].first);
            if (begin < std::min(m_ranges[i].second, other.m_ranges[j].second))
            {
                return begin;
            }
            m_ranges[i].second < other.m_ranges[j].second ? i++ : j++;
        }
        return std::nullopt;
    }

  private:
    std::vector<std::pair<uint64_t, uint64_t>> m_ranges;
};

} // namespace coll

#endif // COLLECTIVES_CORE_BYTE_RANGES_H
