/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Cutting bytes into nearly equal parts, exactly and quickly: part i of S bytes in n parts is
 * [floor(i S / n), floor((i + 1) S / n)), as schedule.h defines pieces. The parts are S / n long,
 * rounded down or up, and a part cut again into m parts has the same borders as S cut into n m
 * parts when n divides evenly.
 *
 * Steps are computed hundreds of millions of times, so no division happens after construction:
 * floor(i S / n) = i floor(S / n) + floor(i (S mod n) / n), and the last division is a
 * multiplication by 2^64 / n.
 */
#ifndef COLLECTIVES_CORE_PARTITION_H
#define COLLECTIVES_CORE_PARTITION_H

#include <cstdint>

namespace coll
{

/**
 * Division by a number known beforehand. Exact while dividend * divisor < 2^64 (Granlund &
 * Montgomery, PLDI 1994, with a rounded-up reciprocal); Partition stays within that up to kLargest
 * parts and divides beyond.
 */
class Divider
{
  public:
    static constexpr uint64_t kLargest = 2642245; ///< its cube is just below 2^64

    explicit Divider(uint64_t divisor = 1)
        : m_divisor(divisor),
          m_reciprocal(divisor > 1 && divisor <= kLargest ? UINT64_MAX / divisor + 1 : 0)
    {
    }

    /// Precondition: dividend < max(2^32, divisor^2).
    uint64_t operator()(uint64_t dividend) const
    {
        __extension__ typedef unsigned __int128 Wide;
        return m_reciprocal != 0
                   ? static_cast<uint64_t>(static_cast<Wide>(dividend) * m_reciprocal >> 64)
                   : dividend / m_divisor;
    }

  private:
    uint64_t m_divisor;
    uint64_t m_reciprocal;
};

struct Range
{
    uint64_t offset = 0;
    uint64_t bytes = 0;
};

/// S bytes in n parts.
class Partition
{
  public:
    Partition() = default;

    Partition(uint64_t bytes, uint32_t parts)
        : m_each(bytes / parts),
          m_rest(bytes % parts),
          m_divide(parts)
    {
    }

    /// Where part i begins; i may be the number of parts.
    uint64_t Offset(uint64_t i) const
    {
        return i * m_each + m_divide(i * m_rest);
    }

    Range Part(uint64_t i) const
    {
        const uint64_t begin = Offset(i);
        return {begin, Offset(i + 1) - begin};
    }

    /// The shorter of the two lengths parts have.
    uint64_t Each() const
    {
        return m_each;
    }

  private:
    uint64_t m_each = 0;
    uint64_t m_rest = 0;
    Divider m_divide;
};

/// S bytes in outer parts, each cut into inner parts.
class Grid
{
  public:
    Grid(uint64_t bytes, uint32_t outer, uint32_t inner)
        : m_outer(bytes, outer),
          m_inner{Partition(m_outer.Each(), inner), Partition(m_outer.Each() + 1, inner)}
    {
    }

    /// `count` inner parts from `first` on, of an outer part.
    Range Part(uint64_t outer, uint64_t first, uint64_t count = 1) const
    {
        const Range part = m_outer.Part(outer);
        const Partition& inner = m_inner[part.bytes - m_outer.Each()];
        const uint64_t begin = inner.Offset(first);
        return {part.offset + begin, inner.Offset(first + count) - begin};
    }

  private:
    Partition m_outer;
    Partition m_inner[2];
};

} // namespace coll

#endif // COLLECTIVES_CORE_PARTITION_H
