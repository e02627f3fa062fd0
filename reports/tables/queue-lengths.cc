/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "reports/tables/queue-lengths.h"

#include <algorithm>
#include <cmath>

namespace reports
{

uint32_t
QueueLengths::BucketOf(uint64_t bytes)
{
    if (bytes < 1U << SUB)
    {
        return static_cast<uint32_t>(bytes);
    }
    const int octave = std::min(63 - __builtin_clzll(bytes) - SUB, OCTAVES - 1);
    const uint64_t place = std::min<uint64_t>(bytes >> octave, (2U << SUB) - 1);
    return static_cast<uint32_t>(((octave + 1) << SUB) + (place - (1U << SUB)));
}

double
QueueLengths::Middle(uint32_t bucket)
{
    const int octave = static_cast<int>(bucket >> SUB) - 1;
    if (octave <= 0)
    {
        return bucket; // one byte wide
    }
    const double place = (bucket & ((1U << SUB) - 1)) + (1U << SUB) + 0.5;
    return std::ldexp(place, octave);
}

void
QueueLengths::Merge(const QueueLengths& other)
{
    for (std::size_t i = 0; i < m_buckets.size(); ++i)
    {
        m_buckets[i] += other.m_buckets[i];
    }
    m_sum += other.m_sum;
    m_max = std::max(m_max, other.m_max);
}

double
QueueLengths::Quantile(double p, uint64_t looks) const
{
    // From above: looks in no bucket found an empty queue.
    const auto rank =
        static_cast<uint64_t>(std::ceil(p * static_cast<double>(looks) * (1 - 1e-12)));
    uint64_t above = looks - std::min(looks, rank); // looks that may be longer
    for (uint32_t bucket = static_cast<uint32_t>(m_buckets.size()); bucket-- > 0;)
    {
        if (m_buckets[bucket] > above)
        {
            return std::min(Middle(bucket), static_cast<double>(m_max));
        }
        above -= m_buckets[bucket];
    }
    return 0;
}

nlohmann::ordered_json
QueueLengths::ToJson(uint64_t looks) const
{
    return {
        {"p50", Quantile(0.5, looks)},
        {"p90", Quantile(0.9, looks)},
        {"p99", Quantile(0.99, looks)},
        {"p999", Quantile(0.999, looks)},
        {"max", m_max},
        {"mean", static_cast<double>(m_sum) / static_cast<double>(std::max<uint64_t>(1, looks))}};
}

} // namespace reports
