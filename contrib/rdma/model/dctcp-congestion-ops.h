/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef DCTCP_CONGESTION_OPS_H
#define DCTCP_CONGESTION_OPS_H

#include "contrib/rdma/core/dctcp-window.h"
#include "contrib/rdma/core/hpcc-code-rates.h"
#include "rdma-congestion-ops.h"

namespace ns3
{

/**
 * \ingroup rdma
 * DCTCP (Alizadeh et al., SIGCOMM 2010): the law is rdma::DctcpWindow. Each packet's ACK echoes its
 * mark; the rate is the line's, so that a window alone limits a flow.
 */
class DctcpCongestionOps : public RdmaCongestionOps
{
  public:
    static TypeId GetTypeId();

    std::string GetName() const override;
    uint16_t GetNeeds() const override;
    Ptr<RdmaCongestionOps> Fork() const override;
    std::string Check(const RdmaCongestionState& state) const override;
    void Init(RdmaCongestionState& state) override;
    void OnAck(RdmaCongestionState& state, const RdmaAckInfo& ack, int64_t now) override;

  private:
    void Publish(RdmaCongestionState& state) const;

    rdma::DctcpPreset m_preset;
    double m_g;
    uint64_t m_initialWindow;
    uint64_t m_additiveIncrease;
    uint64_t m_minimumRate;

    RdmaOwnLaw<rdma::DctcpWindow> m_window;
    RdmaOwnLaw<rdma::DctcpCodeRate> m_code;
};

} // namespace ns3

#endif /* DCTCP_CONGESTION_OPS_H */
