/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * What a congestion control adds to packets, as bytes for captures.
 *
 * In-band telemetry has the fields and widths of HPCC's ns-3 code (IntHop and IntHeader,
 * alibaba-edu/High-Precision-Congestion-Control, simulation/src/network/utils/int-header.h, commit
 * 8551d5bf): five hops of 64 bits, then how many of them are filled.
 *
 *     63    61 60           37 36           17 16            0
 *    +--------+---------------+---------------+---------------+
 *    | rate   | time, ns      | sent, 128 B   | queue, 80 B   |  x 5, then 16 bits: hops
 *    +--------+---------------+---------------+---------------+
 *
 * rate: 0 to 4 are 25, 50, 100, 200 and 400 Gb/s; 7 is any other one (assumed). Time and bytes
 * wrap around. That code keeps a header in the memory of its machine; network byte order is
 * assumed.
 *
 * Where these bytes stand is assumed, too: behind payload and padding and before the ICRC, so that
 * readers of RoCEv2 find every header where they expect it and show these bytes as data.
 */
#ifndef RDMA_CORE_TELEMETRY_WIRE_H
#define RDMA_CORE_TELEMETRY_WIRE_H

#include "telemetry-hop.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>

namespace rdma
{

constexpr std::size_t kTelemetryWireHops = 5;

/// One hop as a number of 64 bits, as above.
constexpr uint64_t
TelemetryWord(const TelemetryHop& hop)
{
    constexpr uint64_t kRates[] = {25, 50, 100, 200, 400}; // Gb/s
    uint64_t rate = 7;
    for (std::size_t i = 0; i < std::size(kRates); ++i)
    {
        rate = hop.rateBps == kRates[i] * 1000000000 ? i : rate;
    }
    const auto time = static_cast<uint64_t>(hop.time / 1000) & 0xffffff;
    const uint64_t sent = hop.txBytes / 128 & 0xfffff;
    const uint64_t queue = std::min<uint64_t>(hop.queueBytes / 80, 0x1ffff);
    return rate << 61 | time << 37 | sent << 17 | queue;
}

/// Writes kHpccTelemetryBytes. \param hops filled ones of `hop`, of which at most five are written
inline void
PutTelemetry(const TelemetryHop* hop, std::size_t hops, uint8_t* at)
{
    const auto put = [&at](uint64_t value, int bytes) {
        for (int i = bytes - 1; i >= 0; --i)
        {
            *at++ = static_cast<uint8_t>(value >> 8 * i);
        }
    };
    const std::size_t filled = std::min(hops, kTelemetryWireHops);
    for (std::size_t i = 0; i < kTelemetryWireHops; ++i)
    {
        put(i < filled ? TelemetryWord(hop[i]) : 0, 8);
    }
    put(filled, 2);
}

} // namespace rdma

#endif // RDMA_CORE_TELEMETRY_WIRE_H
