/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef IB_CONGESTION_OPS_H
#define IB_CONGESTION_OPS_H

#include "contrib/rdma/core/ib/ib-congestion.h"
#include "rdma-congestion-ops.h"

#include <memory>

namespace ns3
{

/**
 * \ingroup rdma
 * InfiniBand's congestion control at the channel adapter (InfiniBand Architecture 1, annex A10):
 * the law is rdma::IbCcRate, for each queue pair; switches mark (IbSwitch::CongestionThreshold).
 *
 * A packet with FECN is answered by a CN packet with BECN (a real adapter may set BECN in an ACK
 * that goes anyway). An attribute set to other than its default (-1: from the preset) overrides
 * that constant.
 */
class IbCongestionOps : public RdmaNamedOps<IbCongestionOps, rdma::kIbCc, RdmaCongestionOps::QUIET>
{
  public:
    static TypeId GetTypeId();

    Ptr<RdmaCongestionOps> Fork() const override;
    std::string Check(const RdmaCongestionState& state) const override;
    void Init(RdmaCongestionState& state) override;
    void OnUpdate(RdmaCongestionState& state, rdma::TimePoint now) override;
    void OnCnp(RdmaCongestionState& state, rdma::TimePoint now) override;
    bool OnDataReceived(const RdmaFrame& frame, rdma::TimePoint now) override;

    /// \return the constants, preset and overrides applied
    rdma::IbCcParameters GetParameters() const;

    /// \return CCTI
    uint32_t GetIndex(rdma::TimePoint now);

  private:
    void Publish(RdmaCongestionState& state);

    rdma::IbCcPreset m_preset;
    uint32_t m_hosts;
    int32_t m_increase;
    int32_t m_limit;
    int32_t m_minimum;
    int32_t m_timer;
    /// Shared by all forks of a prototype.
    mutable std::shared_ptr<const rdma::IbCcParameters> m_parameters;
    RdmaOwnLaw<rdma::IbCcRate> m_rate; //!< none before the first BECN
};

} // namespace ns3

#endif /* IB_CONGESTION_OPS_H */
