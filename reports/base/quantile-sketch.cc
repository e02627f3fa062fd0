/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "reports/base/quantile-sketch.h"

#include <algorithm>
#include <cmath>
#include <cstring>

namespace reports
{

namespace
{

// A double's bits are monotonic in its value: exponent, then mantissa. The bucket is the exponent
// and the first eight bits of the mantissa; values outside 2^-32 .. 2^64 go to the outermost
// buckets.
constexpr int MANTISSA_BITS = 8;
constexpr int SHIFT = 52 - MANTISSA_BITS;
constexpr uint64_t FIRST = static_cast<uint64_t>(1023 - 32) << MANTISSA_BITS;
constexpr uint64_t LAST = static_cast<uint64_t>(1023 + 64) << MANTISSA_BITS;

std::size_t
BucketOf(double value)
{
    uint64_t bits = 0;
    std::memcpy(&bits, &value, sizeof(bits));
    return static_cast<std::size_t>(std::clamp(bits >> SHIFT, FIRST, LAST - 1) - FIRST);
}

double
LowerEnd(std::size_t bucket)
{
    const uint64_t bits = (FIRST + bucket) << SHIFT;
    double value = 0;
    std::memcpy(&value, &bits, sizeof(value));
    return value;
}

} // namespace

QuantileSketch::QuantileSketch(std::size_t exactLimit)
    : m_exactLimit(exactLimit)
{
}

void
QuantileSketch::Clear()
{
    *this = QuantileSketch(m_exactLimit);
}

void
QuantileSketch::Add(double value)
{
    ++m_count;
    m_sum += value;
    m_max = std::max(m_max, value);
    if (!m_buckets.empty())
    {
        AddToBucket(value);
        return;
    }
    m_values.push_back(value);
    m_sorted = false;
    if (m_values.size() > m_exactLimit)
    {
        m_buckets.resize(LAST - FIRST);
        for (const double v : m_values)
        {
            AddToBucket(v);
        }
        m_values = {};
    }
}

void
QuantileSketch::AddToBucket(double value)
{
    ++m_buckets[BucketOf(std::max(value, 0.0))];
}

double
QuantileSketch::Mean() const
{
    return m_count ? m_sum / static_cast<double>(m_count) : 0;
}

double
QuantileSketch::Quantile(double p) const
{
    if (m_count == 0)
    {
        return 0;
    }
    const double n = static_cast<double>(m_count);
    // p n, but for the rounding that makes 0.9 x 10 a little more than 9.
    const uint64_t rank =
        std::clamp<uint64_t>(static_cast<uint64_t>(std::ceil(p * n * (1 - 1e-12))), 1, m_count);
    if (m_buckets.empty())
    {
        if (!m_sorted)
        {
            std::sort(m_values.begin(), m_values.end());
            m_sorted = true;
        }
        return m_values[rank - 1];
    }
    if (rank == m_count)
    {
        return m_max;
    }
    uint64_t seen = 0;
    std::size_t bucket = 0;
    while ((seen += m_buckets[bucket]) < rank)
    {
        ++bucket;
    }
    return std::min(m_max, (LowerEnd(bucket) + LowerEnd(bucket + 1)) / 2);
}

} // namespace reports
