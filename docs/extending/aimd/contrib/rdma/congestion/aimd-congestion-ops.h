/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef AIMD_CONGESTION_OPS_H
#define AIMD_CONGESTION_OPS_H

#include "contrib/rdma/core/aimd-rate.h"
#include "rdma-congestion-ops.h"

#include <optional>

namespace ns3
{

/**
 * \ingroup rdma
 * Additive increase, multiplicative decrease by CNPs: the law is rdma::AimdRate.
 */
class AimdCongestionOps : public RdmaCongestionOps
{
  public:
    static TypeId GetTypeId();

    std::string GetName() const override;
    Ptr<RdmaCongestionOps> Fork() const override;
    std::string Check(const RdmaCongestionState& state) const override;
    void Init(RdmaCongestionState& state) override;
    void OnCnp(RdmaCongestionState& state, rdma::TimePoint now) override;
    void OnUpdate(RdmaCongestionState& state, rdma::TimePoint now) override;
    bool OnDataReceived(const RdmaFrame& frame, rdma::TimePoint now) override;

  private:
    rdma::AimdParameters GetParameters() const;
    void Publish(RdmaCongestionState& state) const;

    double m_decrease;
    uint64_t m_increase;
    uint64_t m_least;
    Time m_period;
    std::optional<rdma::AimdRate> m_rate; //!< of the sender
    int64_t m_nextCnp{0};                 //!< of the receiver
};

} // namespace ns3

#endif /* AIMD_CONGESTION_OPS_H */
