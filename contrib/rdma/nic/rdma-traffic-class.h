/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef RDMA_TRAFFIC_CLASS_H
#define RDMA_TRAFFIC_CLASS_H

#include "contrib/rdma/core/frame-sizes.h"
#include "contrib/rdma/core/units.h"

#include "ns3/rdma-congestion-ops.h"

#include <cstdint>

namespace ns3
{

struct RdmaTransportScheme;

/**
 * \ingroup rdma
 * Queue pairs of one congestion control, transport and rate, beside others on the same NICs.
 *
 * All NICs of a fabric have the same classes, in the same order: both ends of a connection name
 * theirs by its number (RdmaNic::CreateQueuePair, RdmaConnectionRequest::trafficClass). Class 0 is
 * what the NIC's attributes and RdmaNic::SetCongestionOps say. The priority is a queue pair's own:
 * classes may share one.
 */
struct RdmaTrafficClass
{
    Ptr<RdmaCongestionOps> prototype;             //!< forked for each queue pair; null: class 0's
    const RdmaTransportScheme* recovery{nullptr}; //!< null: RdmaNic::LossRecovery
    /// Most that a queue pair sends at, bit/s on the wire: its congestion control takes it for the
    /// line rate; 0: as RdmaNic::MaxRate
    uint64_t maxRateBps{0};
    /// From which queue on switches mark the class's priority (RdmaNic::SetMarking), of a port of
    /// `markingAt`; `markingAt` 0: as the NIC was told
    rdma::Bytes marking{0};
    rdma::BitRate markingAt{0};
};

} // namespace ns3

#endif /* RDMA_TRAFFIC_CLASS_H */
