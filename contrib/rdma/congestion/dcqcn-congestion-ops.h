/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef DCQCN_CONGESTION_OPS_H
#define DCQCN_CONGESTION_OPS_H

#include "contrib/rdma/core/dcqcn-rate.h"
#include "rdma-congestion-ops.h"

#include "ns3/nstime.h"

namespace ns3
{

/**
 * \ingroup rdma
 * DCQCN (Zhu et al., SIGCOMM 2015): the law is rdma::DcqcnRate; this class adds attributes and the
 * notification point.
 *
 * `Preset` fills every constant for the port's rate (their sources are in core/dcqcn-rate.h); an
 * attribute set by the user to other than its default (0 or -1: from the preset) overrides that
 * constant.
 */
class RdmaDcqcnCongestionOps : public RdmaLawOps<RdmaDcqcnCongestionOps,
                                                 rdma::kDcqcn,
                                                 rdma::DcqcnRate,
                                                 RdmaCongestionOps::QUIET>
{
  public:
    static TypeId GetTypeId();

    uint16_t GetNeeds() const override;
    void Init(RdmaCongestionState& state) override;
    void OnUpdate(RdmaCongestionState& state, rdma::TimePoint now) override;
    void OnAck(RdmaCongestionState& state, const RdmaAckInfo& ack, rdma::TimePoint now) override;
    void OnCnp(RdmaCongestionState& state, rdma::TimePoint now) override;
    bool OnDataReceived(const RdmaFrame& frame, rdma::TimePoint now) override;

    /// \return the constants for this state's line, preset and overrides applied
    rdma::DcqcnParameters GetParameters(const RdmaCongestionState& state) const;

  protected:
    /// Attributes of the constants and the preset, which derived classes have too. \param preset
    /// the default \param presets checker of the attribute Preset
    static TypeId AddConstants(TypeId tid,
                               rdma::DcqcnPreset preset,
                               Ptr<const AttributeChecker> presets);

  private:
    void Publish(RdmaCongestionState& state) const;

    // Overrides, shared by all forks of a prototype.
    rdma::DcqcnPreset m_preset;
    double m_g;
    Time m_alphaPeriod;
    Time m_rateDecreaseInterval;
    Time m_increaseTimer;
    uint64_t m_byteCounter;
    uint32_t m_fastRecovery;
    uint64_t m_additiveIncrease;
    uint64_t m_hyperIncrease;
    uint64_t m_minimumRate;
    Time m_cnpInterval;

    RdmaOwnLaw<rdma::DcqcnRate> m_rate; //!< none before the first CNP
    int64_t m_cnpIntervalPs{-1};
    int64_t m_lastCnp{-1};
};

} // namespace ns3

#endif /* DCQCN_CONGESTION_OPS_H */
