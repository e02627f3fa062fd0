/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef HPCC_PINT_CONGESTION_OPS_H
#define HPCC_PINT_CONGESTION_OPS_H

#include "contrib/rdma/core/hpcc-pint.h"
#include "contrib/rdma/core/hpcc-window.h"
#include "rdma-congestion-ops.h"

namespace ns3
{

/**
 * \ingroup rdma
 * HPCC-PINT: HPCC's law (rdma::HpccWindow) with one byte of telemetry (rdma::PintLink) in data
 * packets and ACKs. Switches keep the mean that HPCC's sender keeps of each link, and the packet
 * brings back the largest. Of ACKs only SampleProbability are looked at, by chance.
 */
class RdmaHpccPintCongestionOps
    : public RdmaLawOps<RdmaHpccPintCongestionOps,
                        rdma::kHpccPint,
                        rdma::HpccWindow,
                        RdmaCongestionOps::ACK_PER_PACKET | RdmaCongestionOps::TIME_STAMP |
                            RdmaCongestionOps::BASE_RTT | RdmaCongestionOps::PINT>
{
  public:
    static TypeId GetTypeId();

    RdmaHeaderBytes GetHeaderBytes() const override;
    void Init(RdmaCongestionState& state) override;
    void OnAck(RdmaCongestionState& state, const RdmaAckInfo& ack, rdma::TimePoint now) override;

    /// \return the constants for this state's base round-trip time
    rdma::HpccParameters GetParameters(const RdmaCongestionState& state) const;

  private:
    void Publish(RdmaCongestionState& state) const;

    rdma::HpccPintPreset m_preset;
    double m_eta;
    uint32_t m_maxStage;
    uint32_t m_flows;
    uint64_t m_minimumRate;
    double m_sampleProbability;
    uint64_t m_acks{0};

    RdmaOwnLaw<rdma::HpccWindow> m_window;
};

} // namespace ns3

#endif /* HPCC_PINT_CONGESTION_OPS_H */
