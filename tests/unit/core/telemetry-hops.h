/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Telemetry of a port at 100 Gb/s, as the tests of the laws that read it write it.
 */
#ifndef TESTS_UNIT_CORE_TELEMETRY_HOPS_H
#define TESTS_UNIT_CORE_TELEMETRY_HOPS_H

#include "contrib/rdma/core/telemetry-hop.h"
#include "contrib/rdma/core/units.h"

#include <cstdint>

constexpr uint64_t kLine = 100000000000;

/// A port at 100 Gb/s at a time in us.
inline rdma::TelemetryHop
Hop(double us, uint64_t txBytes, uint64_t queue)
{
    return {static_cast<int64_t>(us * 1e6), txBytes, queue, kLine};
}

/// The parameters of a law on a path of 10 us.
template <class P>
P
OfTenMicroseconds()
{
    P p;
    p.baseRtt = rdma::Microseconds(10);
    return p;
}

#endif // TESTS_UNIT_CORE_TELEMETRY_HOPS_H
