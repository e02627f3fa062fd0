/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef HPCC_CONGESTION_OPS_H
#define HPCC_CONGESTION_OPS_H

#include "contrib/rdma/core/hpcc-code-rates.h"
#include "contrib/rdma/core/hpcc-window.h"
#include "rdma-congestion-ops.h"

namespace ns3
{

/**
 * \ingroup rdma
 * HPCC (Li et al., SIGCOMM 2019): the law is rdma::HpccWindow. Switches write telemetry into data
 * packets, which have 42 B for it; so have the ACKs that carry it back, one for each packet.
 */
class RdmaHpccCongestionOps
    : public RdmaLawOps<RdmaHpccCongestionOps,
                        rdma::kHpcc,
                        rdma::HpccWindow,
                        RdmaCongestionOps::ACK_PER_PACKET | RdmaCongestionOps::TELEMETRY |
                            RdmaCongestionOps::BASE_RTT>
{
  public:
    static TypeId GetTypeId();

    RdmaHeaderBytes GetHeaderBytes() const override;
    std::string Check(const RdmaCongestionState& state) const override;
    void Init(RdmaCongestionState& state) override;
    void OnAck(RdmaCongestionState& state, const RdmaAckInfo& ack, rdma::TimePoint now) override;

    /// \return the constants for this state's base round-trip time
    rdma::HpccParameters GetParameters(const RdmaCongestionState& state) const;

  private:
    void Publish(RdmaCongestionState& state) const;

    rdma::HpccPreset m_preset;
    double m_eta;
    uint32_t m_maxStage;
    uint32_t m_flows;
    uint64_t m_minimumRate;
    bool m_fastReact;
    uint64_t m_additiveIncrease;
    uint32_t m_telemetryMultiple;

    RdmaOwnLaw<rdma::HpccWindow> m_window;
    RdmaOwnLaw<rdma::HpccCodeRate> m_code;
};

} // namespace ns3

#endif /* HPCC_CONGESTION_OPS_H */
