/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef REPORTS_TABLES_QUEUE_LENGTHS_H
#define REPORTS_TABLES_QUEUE_LENGTHS_H

#include <array>
#include <cstdint>
#include <nlohmann/json.hpp>

namespace reports
{

/**
 * How long queues were at the looks at them: counted in buckets of 1/64 octave, so that a quantile
 * is off by at most 0.8% (half a bucket). Largest and mean are exact. The time between looks is
 * always the same, so this is a distribution over time.
 */
class QueueLengths
{
  public:
    /// A queue that is not empty.
    void Add(uint64_t bytes)
    {
        ++m_buckets[BucketOf(bytes)];
        m_sum += bytes;
        m_max = bytes > m_max ? bytes : m_max;
    }

    void Merge(const QueueLengths& other);
    /// \param looks number of all looks, those at empty queues too
    double Quantile(double p, uint64_t looks) const;
    nlohmann::ordered_json ToJson(uint64_t looks) const;

    uint64_t Max() const
    {
        return m_max;
    }

  private:
    static constexpr int SUB = 6;      //!< 2^6 buckets per octave
    static constexpr int OCTAVES = 34; //!< from 64 B, below which each byte is a bucket

    static uint32_t BucketOf(uint64_t bytes);
    static double Middle(uint32_t bucket);

    std::array<uint32_t, (OCTAVES + 1) << SUB> m_buckets{};
    uint64_t m_sum{0};
    uint64_t m_max{0};
};

} // namespace reports

#endif // REPORTS_TABLES_QUEUE_LENGTHS_H
