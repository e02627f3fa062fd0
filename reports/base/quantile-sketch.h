/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef REPORTS_BASE_QUANTILE_SKETCH_H
#define REPORTS_BASE_QUANTILE_SKETCH_H

#include <cstddef>
#include <cstdint>
#include <vector>

namespace reports
{

/**
 * Quantiles of positive numbers, by nearest rank: Quantile(p) is the smallest value that at least
 * the share p of all values does not exceed.
 *
 * Exact up to `exactLimit` values (a million: 8 MB). Beyond, values are counted in buckets of 1/256
 * of an octave's lower end, so a quantile is off by at most 0.2% (half a bucket); Max, Mean and
 * Count stay exact. O(1) a value.
 */
class QuantileSketch
{
  public:
    explicit QuantileSketch(std::size_t exactLimit = 1000000);

    void Add(double value);
    void Clear();

    uint64_t Count() const
    {
        return m_count;
    }

    double Max() const
    {
        return m_max;
    }

    /// \return 0 if there are no values
    double Mean() const;
    /// \param p in (0, 1]. \return 0 if there are no values
    double Quantile(double p) const;

    bool IsExact() const
    {
        return m_buckets.empty();
    }

  private:
    void AddToBucket(double value);

    std::size_t m_exactLimit;
    mutable std::vector<double> m_values; //!< sorted when asked
    mutable bool m_sorted{true};
    std::vector<uint64_t> m_buckets;
    uint64_t m_count{0};
    double m_max{0};
    double m_sum{0};
};

} // namespace reports

#endif /* REPORTS_BASE_QUANTILE_SKETCH_H */
