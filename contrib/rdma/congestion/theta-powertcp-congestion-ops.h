/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef THETA_POWERTCP_CONGESTION_OPS_H
#define THETA_POWERTCP_CONGESTION_OPS_H

#include "powertcp-congestion-ops.h"

namespace ns3
{

/**
 * \ingroup rdma
 * theta-PowerTCP (algorithm 2), which needs nothing of switches. Round-trip times are those of
 * packets by the NIC's clock.
 */
class RdmaThetaPowertcpCongestionOps
    : public RdmaNamedOps<
          RdmaThetaPowertcpCongestionOps,
          rdma::kThetaPowertcp,
          RdmaCongestionOps::ACK_PER_PACKET | RdmaCongestionOps::TIME_STAMP |
              RdmaCongestionOps::BASE_RTT,
          RdmaPowertcpOpsBase<rdma::ThetaPowertcpWindow, rdma::ThetaPowertcpNs3Rate>>
{
  public:
    static TypeId GetTypeId();

    void OnAck(RdmaCongestionState& state, const RdmaAckInfo& ack, rdma::TimePoint now) override;

  private:
    double GetNs3Gamma() const override;
};

} // namespace ns3

#endif /* THETA_POWERTCP_CONGESTION_OPS_H */
