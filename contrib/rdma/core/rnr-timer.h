/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * The 5-bit timer code of an RNR NAK: how long the requester waits at least before it sends the
 * refused SEND again. InfiniBand Architecture Specification vol. 1, 9.7.5.2.8, table of RNR NAK
 * timer values: code 0 is the longest, codes 1 to 31 grow by alternate factors near 4/3 and 3/2,
 * doubling every two codes from code 4 on.
 */
#ifndef RDMA_CORE_RNR_TIMER_H
#define RDMA_CORE_RNR_TIMER_H

#include "units.h"

#include <array>
#include <cstdint>

namespace rdma
{

constexpr uint8_t kRnrTimerCodes = 32;

/// RNR retry count that means "for ever" (9.7.5.2.8; the field has 3 bits).
constexpr uint8_t kRnrRetryInfinite = 7;

/// The wait of a code in [0, 31]; the code is taken modulo 32.
constexpr Duration
RnrDelay(uint8_t code)
{
    // In units of 10 us.
    constexpr std::array<int64_t, kRnrTimerCodes> table{
        65536, 1,    2,    3,    4,    6,     8,     12,    16,    24,   32,
        48,    64,   96,   128,  192,  256,   384,   512,   768,   1024, 1536,
        2048,  3072, 4096, 6144, 8192, 12288, 16384, 24576, 32768, 49152};
    return Duration(table[code % kRnrTimerCodes] * 10000000);
}

} // namespace rdma

#endif // RDMA_CORE_RNR_TIMER_H
