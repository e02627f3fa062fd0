/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef LOSS_RATE_CONGESTION_OPS_H
#define LOSS_RATE_CONGESTION_OPS_H

#include "contrib/rdma/core/loss-rate.h"
#include "dcqcn-congestion-ops.h"

namespace ns3
{

/**
 * \ingroup rdma
 * DCQCN that takes a NAK and a time-out for a CNP (rdma::kLossRate). Its attributes are DCQCN's.
 */
class RdmaLossRateCongestionOps : public RdmaNamedOps<RdmaLossRateCongestionOps,
                                                      rdma::kLossRate,
                                                      RdmaCongestionOps::QUIET,
                                                      RdmaDcqcnCongestionOps>
{
  public:
    static TypeId GetTypeId();

    void OnNack(RdmaCongestionState& state, rdma::TimePoint now) override;
    void OnTimeout(RdmaCongestionState& state, rdma::TimePoint now) override;
};

} // namespace ns3

#endif /* LOSS_RATE_CONGESTION_OPS_H */
