/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef TIMELY_CONGESTION_OPS_H
#define TIMELY_CONGESTION_OPS_H

#include "contrib/rdma/core/hpcc-code-rates.h"
#include "contrib/rdma/core/timely-rate.h"
#include "rdma-congestion-ops.h"

#include "ns3/nstime.h"

namespace ns3
{

/**
 * \ingroup rdma
 * TIMELY (Mittal et al., SIGCOMM 2015) and patched TIMELY (Zhu et al., CoNEXT 2016): the law is
 * rdma::TimelyRate. Round-trip times are those of packets by the NIC's clock, of which one counts
 * for each segment; packets are paced one by one, where TIMELY sends segments as bursts.
 */
class RdmaTimelyCongestionOps
    : public RdmaLawOps<RdmaTimelyCongestionOps,
                        rdma::kTimely,
                        rdma::TimelyRate,
                        RdmaCongestionOps::ACK_PER_PACKET | RdmaCongestionOps::TIME_STAMP>
{
  public:
    static TypeId GetTypeId();

    RdmaHeaderBytes GetHeaderBytes() const override;
    void Init(RdmaCongestionState& state) override;
    void OnAck(RdmaCongestionState& state, const RdmaAckInfo& ack, rdma::TimePoint now) override;

    /// \return the constants, preset and overrides applied
    rdma::TimelyParameters GetParameters(const RdmaCongestionState& state) const;

  private:
    void Publish(RdmaCongestionState& state) const;

    rdma::TimelyPreset m_preset;
    bool m_additions;
    double m_alpha;
    double m_beta;
    uint64_t m_delta;
    Time m_tLow;
    Time m_tHigh;
    Time m_minRtt;
    Time m_rttReference;
    uint64_t m_segment;
    uint64_t m_minimumRate;
    uint64_t m_hyperIncrease;

    RdmaOwnLaw<rdma::TimelyRate> m_rate;
    RdmaOwnLaw<rdma::TimelyCodeRate> m_code;
    uint64_t m_acked{0}; //!< acknowledged bytes of the segment under way
};

} // namespace ns3

#endif /* TIMELY_CONGESTION_OPS_H */
