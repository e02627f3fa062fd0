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
class RdmaDctcpCongestionOps
    : public RdmaLawOps<RdmaDctcpCongestionOps,
                        rdma::kDctcp,
                        rdma::DctcpWindow,
                        RdmaCongestionOps::ACK_PER_PACKET | RdmaCongestionOps::ECN_ECHO |
                            RdmaCongestionOps::BASE_RTT>
{
  public:
    static TypeId GetTypeId();

    void Init(RdmaCongestionState& state) override;
    void OnAck(RdmaCongestionState& state, const RdmaAckInfo& ack, rdma::TimePoint now) override;

    /// \return what the attributes say of the law's constants
    rdma::DctcpParameters GetParameters(const RdmaCongestionState& state) const;

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
