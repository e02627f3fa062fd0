/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Sizes and times that the tests of InfiniBand fabrics reckon with.
 */
#ifndef RDMA_IB_TIMES_H
#define RDMA_IB_TIMES_H

#include "rdma-test-fabric.h"

namespace ns3
{
namespace rdmatest
{

/// LRH 8 + BTH 12 + ICRC 4 + VCRC 2 + delimiters 2.
constexpr uint32_t OVERHEAD = 28;
/// With AETH 4.
constexpr uint32_t ACK_PACKET = OVERHEAD + 4;
/// Latency of a switch: the attribute's default.
constexpr int64_t LATENCY = 90 * NS;

/// 8e12 * bytes / bps, to the nearest picosecond.
constexpr int64_t
LineTime(uint32_t bytes, uint64_t bps)
{
    return static_cast<int64_t>((16000000000000ULL * bytes / bps + 1) / 2);
}

} // namespace rdmatest
} // namespace ns3

#endif /* RDMA_IB_TIMES_H */
