/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * In-band telemetry: what a switch says of the port that it sends a packet out of, at the moment at
 * which it does. The fields are those of HPCC's header (Li et al., SIGCOMM 2019, figure 7), not cut
 * to its bits: TS, txBytes, qLen, B.
 */
#ifndef RDMA_CORE_TELEMETRY_HOP_H
#define RDMA_CORE_TELEMETRY_HOP_H

#include <cstdint>

namespace rdma
{

struct TelemetryHop
{
    int64_t time;        ///< the packet starts to be sent, ps
    uint64_t txBytes;    ///< sent by the port before it, as the line counts them
    uint64_t queueBytes; ///< behind it, of all priorities, as buffers count them
    uint64_t rateBps;    ///< of the port
};

/// Wire size of HPCC's header: 2 B and 8 B for each of 5 hops.
constexpr uint32_t kHpccTelemetryBytes = 42;

} // namespace rdma

#endif // RDMA_CORE_TELEMETRY_HOP_H
