/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef RDMA_BASE_RTT_H
#define RDMA_BASE_RTT_H

#include "contrib/rdma/core/frame-sizes.h"

#include <cstdint>

namespace ns3
{

class RdmaPort;

/**
 * \ingroup rdma
 * What a NIC finds out of the fabric that it is attached to.
 */
struct RdmaBaseRtt
{
    /**
     * The base round-trip time to the farthest host that a NIC reaches, ps: that of a full packet
     * and its ACK on an idle path: serialization, propagation and pipeline of each link, less what
     * switches save that cut through (Ethernet: rdma::SavedByCutThrough), along the slowest of the
     * paths with the fewest links. Linear in the links of the fabric, once for each switch with
     * hosts; links are read when the first NIC asks, and again when there are more nodes.
     */
    static int64_t Compute(RdmaPort* port, uint32_t mtu, const rdma::FrameSizes& sizes);

    /// What fits into that at line rate, in full packets, rounded up.
    static uint64_t ComputeBdpCap(RdmaPort* port, uint32_t mtu, const rdma::FrameSizes& sizes);
};

} // namespace ns3

#endif /* RDMA_BASE_RTT_H */
