/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef THETA_POWERTCP_CONGESTION_OPS_H
#define THETA_POWERTCP_CONGESTION_OPS_H

#include "contrib/rdma/core/powertcp-window.h"
#include "rdma-congestion-ops.h"

#include <memory>

namespace ns3
{

/**
 * \ingroup rdma
 * theta-PowerTCP (Addanki et al., NSDI 2022, algorithm 2), which needs nothing of switches: the law
 * is rdma::ThetaPowertcpWindow. Round-trip times are those of packets by the NIC's clock.
 */
class ThetaPowertcpCongestionOps : public RdmaCongestionOps
{
  public:
    static TypeId GetTypeId();

    ThetaPowertcpCongestionOps();
    ThetaPowertcpCongestionOps(const ThetaPowertcpCongestionOps& other);
    ~ThetaPowertcpCongestionOps() override;

    std::string GetName() const override;
    uint16_t GetNeeds() const override;
    Ptr<RdmaCongestionOps> Fork() const override;
    void Init(RdmaCongestionState& state) override;
    void OnAck(RdmaCongestionState& state, const RdmaAckInfo& ack, int64_t now) override;

  private:
    void Publish(RdmaCongestionState& state) const;

    double m_gamma;
    uint32_t m_flows;

    std::unique_ptr<rdma::ThetaPowertcpWindow> m_window;
};

} // namespace ns3

#endif /* THETA_POWERTCP_CONGESTION_OPS_H */
