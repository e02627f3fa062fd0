/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Packet sequence numbers. The wire has 24 bits, which wrap every 2^24 packets; state in a queue
 * pair is a 64-bit count that never wraps. Of the 2^24 values, the 2^23 before the expected one are
 * old (duplicates), the others are the expected one and those ahead (InfiniBand Architecture
 * Specification vol. 1, 9.7.1).
 */
#ifndef RDMA_CORE_PSN_H
#define RDMA_CORE_PSN_H

#include <cstdint>

namespace rdma
{

constexpr uint64_t kPsnModulus = 1ULL << 24;
constexpr uint32_t kPsnMask = kPsnModulus - 1;

/// The 24 bits on the wire of a 64-bit packet count.
constexpr uint32_t
WirePsn(uint64_t counter)
{
    return static_cast<uint32_t>(counter) & kPsnMask;
}

/// a - b around the wrap, in [-2^23, 2^23): negative if a is before b.
constexpr int32_t
PsnDistance(uint32_t a, uint32_t b)
{
    // The 24-bit difference in the upper bits of a 32-bit word, and back with its sign.
    return static_cast<int32_t>((a - b) << 8) / 256;
}

/// Whether wire PSN a was sent before b.
constexpr bool
PsnBefore(uint32_t a, uint32_t b)
{
    return PsnDistance(a, b) < 0;
}

/// The 64-bit count nearest `expected` whose low 24 bits are `wire` (exactly 2^23 away: the older
/// one). Counts start at zero: where the nearest would be negative, it is the one above.
constexpr uint64_t
ExtendPsn(uint32_t wire, uint64_t expected)
{
    const int64_t counter =
        static_cast<int64_t>(expected) + PsnDistance(wire & kPsnMask, WirePsn(expected));
    return static_cast<uint64_t>(counter < 0 ? counter + static_cast<int64_t>(kPsnModulus)
                                             : counter);
}

} // namespace rdma

#endif // RDMA_CORE_PSN_H
