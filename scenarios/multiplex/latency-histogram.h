/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Quantiles of millions of latencies in a few kB.
 */
#ifndef SCENARIOS_MULTIPLEX_LATENCY_HISTOGRAM_H
#define SCENARIOS_MULTIPLEX_LATENCY_HISTOGRAM_H

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

namespace multiplex
{

/// Counts of positive numbers in buckets of 1 / 1,024 of a power of two, so a quantile is off by
/// less than 0.05%. The least and the largest are exact.
class LatencyHistogram
{
  public:
    void Add(int64_t value)
    {
        const std::size_t bucket = BucketOf(value);
        if (bucket >= m_counts.size())
        {
            m_counts.resize(bucket + 1, 0);
        }
        ++m_counts[bucket];
        ++m_count;
        m_least = std::min(m_least, value);
        m_largest = std::max(m_largest, value);
    }

    uint64_t Count() const
    {
        return m_count;
    }

    /// The least number that at least this share of all does not exceed. \pre Count() > 0
    double Quantile(double share) const
    {
        const auto wanted = static_cast<uint64_t>(
            std::max(1.0, std::ceil(share * static_cast<double>(m_count) - 1e-9)));
        uint64_t seen = 0;
        for (std::size_t bucket = 0; bucket < m_counts.size(); ++bucket)
        {
            seen += m_counts[bucket];
            if (seen >= wanted)
            {
                return std::clamp(MiddleOf(bucket),
                                  static_cast<double>(m_least),
                                  static_cast<double>(m_largest));
            }
        }
        return static_cast<double>(m_largest);
    }

  private:
    static constexpr int BITS = 10;
    static constexpr uint64_t PARTS = 1ULL << BITS;

    static std::size_t BucketOf(int64_t value)
    {
        const auto v = static_cast<uint64_t>(std::max<int64_t>(value, 0));
        if (v < PARTS)
        {
            return v;
        }
        const int shift = 63 - __builtin_clzll(v) - BITS;
        return (static_cast<uint64_t>(shift) + 1) * PARTS + ((v >> shift) - PARTS);
    }

    static double MiddleOf(std::size_t bucket)
    {
        if (bucket < PARTS)
        {
            return static_cast<double>(bucket);
        }
        const auto shift = static_cast<int>(bucket / PARTS - 1);
        const auto low = static_cast<double>(bucket % PARTS + PARTS);
        return std::ldexp(low + 0.5, shift);
    }

    std::vector<uint64_t> m_counts;
    uint64_t m_count = 0;
    int64_t m_least = INT64_MAX;
    int64_t m_largest = 0;
};

} // namespace multiplex

#endif // SCENARIOS_MULTIPLEX_LATENCY_HISTOGRAM_H
